"""`fedsched watch`: plans again whenever the set of a Slurm's jobs changes, and undoes all of it at the end."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from fedsched.cli import steering
from fedsched.cli.shared import say

if TYPE_CHECKING:
    from types import FrameType


def command(
    *,
    steered: steering.Steered = steering.STEERED,
    interval: Annotated[float, Parameter(help="Seconds between two looks at the queue.")] = 30.0,
    strict: Annotated[
        bool, Parameter(help="By begin times, which are renewed while this lives, in place of Nice.")
    ] = False,
    lease: Annotated[float, Parameter(help="strict: how many seconds ahead a begin time is.")] = 300.0,
    looks: Annotated[int | None, Parameter(help="End after so many looks. Default: at Ctrl-C or SIGTERM.")] = None,
    undo_file: Annotated[Path, Parameter(help="Where what jobs had before is kept until it is undone.")] = Path(
        "fedsched-undo.json"
    ),
) -> int:
    """Plan again whenever the set of a Slurm's jobs changes, and undo all of it at the end.

    Each look reads the queue; nothing is done where it is as it was, or where one job waits. However it ends, by
    itself, by Ctrl-C or SIGTERM, all jobs get back what they had. Where it is killed, Nice above 0 and begin times that
    run out are all that is left, no job is ever held, and the undo file has what there is to undo.

    Examples
    --------
    fedsched watch --account physics --slack 1800
    fedsched watch --strict --lease 600
    """
    from fedsched.steer import Undo, Watch, read_queue

    runner = steering.runner_of(None, quiet=True)
    watch = Watch(
        runner,
        Undo.open(undo_file, read_queue(runner).cluster),
        steered.aims(),
        interval=interval,
        lease=lease if strict else None,
        told=_said,
    )
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        watch.run(time.sleep, looks=looks)
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _said(text: str) -> None:
    say(f"{time.strftime('%m-%d %H:%M:%S')} {text}")
    sys.stdout.flush()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
