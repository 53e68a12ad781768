"""Record scripted days anew on a real Slurm: `PYTHONPATH=tests python -m slurm.record chains-backfill bf_interval`.

Without a name all of them, those on which one parameter decides among them. It takes a minute or two a day; on a busy
machine choose a smaller --factor.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from slurm.admission_days import OF_ADMISSION
from slurm.asking import asked_of, parser_of, tried
from slurm.compared import NAMES as COMPARED
from slurm.compared import RECORDED
from slurm.conf_days import OF_CONF
from slurm.days import DAYS
from slurm.parameter_days import RECORDED as WITH_ONE
from slurm.parameter_days import TRIED as OF_SCHEDULERS
from slurm.recorder import record, settings_of
from slurm.retry_days import OF_RETRIES
from slurm.share_days import OF_SHARES

if TYPE_CHECKING:
    from slurm.script import Day

TRIED = OF_SCHEDULERS | OF_CONF | OF_SHARES | OF_ADMISSION | OF_RETRIES
NAMES = [*COMPARED, "course-builtin", "corners-backfill", *TRIED]
FACTOR = 50.0


def asked_for(name: str) -> tuple[Day, dict[str, object], Path]:
    """Return what a name asks for: a day, what its slurm.conf and accounts say, and where its recording goes."""
    if name in TRIED:
        return TRIED[name].day, TRIED[name].said, WITH_ONE / name
    day, _, scheduler = name.partition("-")
    return DAYS[day](), {"settings": settings_of(scheduler)}, RECORDED / name


def recorded(name: str, factor: float) -> None:
    """Play a day once, and keep what becomes of it."""
    day, said, path = asked_for(name)
    begins = TRIED[name].begins if name in TRIED else 0
    command = f"PYTHONPATH=tests python -m slurm.record {name} --factor {factor:g}"
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        made = record(day, Path(folder), factor=factor, command=command, begins=begins, **said)  # type: ignore
    made.write(path)
    slowest = f"the slowest command took {made.slowest_command:g} s of Slurm's clock"
    print(f"{name}: {len(made.jobs)} jobs; {slowest}", flush=True)


def main() -> None:
    """Record what is asked for."""
    asked = asked_of(parser_of(__doc__, NAMES, FACTOR), NAMES)
    for name in asked.names:
        tried(name, partial(recorded, name, asked.factor))


if __name__ == "__main__":
    main()
