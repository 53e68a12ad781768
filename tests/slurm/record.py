"""Record scripted days anew on a real Slurm: `PYTHONPATH=tests python -m slurm.record chains-backfill bf_interval`.

Without a name all of them, those on which one parameter decides among them. It takes a minute or two a day; on a busy
machine choose a smaller --factor.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from slurm.cluster import InvalidRun, SlurmError
from slurm.compared import NAMES as COMPARED
from slurm.compared import RECORDED
from slurm.days import DAYS
from slurm.parameter_days import RECORDED as WITH_ONE
from slurm.parameter_days import TRIED
from slurm.recorder import record, settings_of

if TYPE_CHECKING:
    from slurm.script import Day

NAMES = [*COMPARED, "course-builtin", "corners-backfill", *TRIED]
FACTOR = 50.0
TRIES = 3


def asked_for(name: str) -> tuple[Day, str, Path]:
    """Return what a name asks for: a day, the lines of its slurm.conf, and where its recording goes."""
    if name in TRIED:
        return TRIED[name].day, TRIED[name].settings, WITH_ONE / name
    day, _, scheduler = name.partition("-")
    return DAYS[day](), settings_of(scheduler), RECORDED / name


def main() -> None:
    """Record what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--factor", type=float, default=FACTOR, help="how many times as fast as the world's")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the daemons are ended as on any other way out
    if unknown := set(asked.names) - set(NAMES):
        parser.error(f"{', '.join(sorted(unknown))}: none of {', '.join(NAMES)}")
    for name in asked.names or NAMES:
        day, settings, path = asked_for(name)
        command = f"PYTHONPATH=tests python -m slurm.record {name} --factor {asked.factor:g}"
        for left in reversed(range(TRIES)):
            with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
                try:
                    made = record(day, Path(folder), settings=settings, factor=asked.factor, command=command)
                except (InvalidRun, SlurmError) as error:
                    print(f"{name}: {error}", flush=True)
                    if not left:
                        raise
                    continue
            made.write(path)
            slowest = f"the slowest command took {made.slowest_command:g} s of Slurm's clock"
            print(f"{name}: {len(made.jobs)} jobs; {slowest}", flush=True)
            break


if __name__ == "__main__":
    main()
