"""Record days with power saving anew on a real Slurm: `PYTHONPATH=tests python -m slurm.record_sleeping by_name`.

Without a name all of them; three minutes each. On a busy machine choose a smaller --factor.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from slurm.asking import asked_of, parser_of, tried
from slurm.recorder import record
from slurm.sleeping import Listener, SleepingCluster
from slurm.sleeping_days import DAYS, RECORDED, SUSPEND_TIME, write_switches

FACTOR = 15.0


def recorded(name: str, factor: float) -> None:
    """Play a day once, and keep what becomes of it and of the nodes."""
    command = f"PYTHONPATH=tests python -m slurm.record_sleeping {name} --factor {factor:g}"
    day, listener = DAYS[name], Listener(SUSPEND_TIME + 30.0)
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        made = record(
            day.day, Path(folder), settings=day.settings, factor=factor, command=command, beside=listener,
            cluster=SleepingCluster,
        )  # fmt: skip
    RECORDED.mkdir(parents=True, exist_ok=True)
    made.write(RECORDED / name)
    write_switches(name, listener.switches)
    print(f"{name}: {len(made.jobs)} jobs, {len(listener.switches)} switches", flush=True)


def main() -> None:
    """Record what is asked for."""
    asked = asked_of(parser_of(__doc__, DAYS, FACTOR), DAYS)
    for name in asked.names:
        tried(name, partial(recorded, name, asked.factor))


if __name__ == "__main__":
    main()
