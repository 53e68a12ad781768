"""A process that steers a running Slurm until it is killed: `python -m slurm.driver FOLDER [LEASE]`.

FOLDER has the environment of Slurm's commands in `environment.json`, and gets the undo file. What is done is printed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.site.steer import Aims, Undo, Watch, plan, read_queue
from fedsched.site.steer.commands import Shell
from fedsched.site.steer.runners import RecordedRunner

if TYPE_CHECKING:
    from collections.abc import Callable

ENVIRONMENT, UNDO = "environment.json", "undo.json"
AIMS = Aims(evaluations=100, seconds=1.0)
PAUSE = 0.2  # seconds of the world between two looks


class OnItsClock(Shell):
    """Runs commands in the environment of a Slurm whose clock is not the world's."""

    def now(self) -> float:
        """Return the time by that clock."""
        said = subprocess.run(("date", "+%s.%N"), env=self._environment, capture_output=True, check=True)
        return float(said.stdout)


def steer(folder: str | Path, lease: float | None, tell: Callable[[str], None]) -> None:
    """Steer for ever, and tell what is done."""
    told = json.loads(Path(folder, ENVIRONMENT).read_text(encoding="utf-8"))
    runner = OnItsClock(told)
    watch = Watch(runner, Undo.open(Path(folder, UNDO), "referee"), AIMS, interval=10.0, lease=lease, told=tell)

    def pause(_: float) -> None:
        tell("looked")
        time.sleep(PAUSE)

    tell("ready")
    watch.run(pause)


def main(folder: str, lease: str = "") -> None:
    """Steer for ever, and print what is done."""
    # Loads the kernels: what comes after "ready" is watching alone.
    plan(read_queue(RecordedRunner("sample")), AIMS)
    steer(folder, float(lease) if lease else None, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
