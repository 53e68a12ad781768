"""`fedsched watch`: plan and apply again whenever a Slurm cluster's set of jobs changes; undo it all at the end."""

from __future__ import annotations

import signal
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import print_json, say
from fedsched.cli.slurm import steering

if TYPE_CHECKING:
    from types import FrameType


# In the short help.
FIRST = (
    "--pause", "--looks", "--dry-run", "--partition",
    "--user", "--slack", "--most", "--recorded", "--json",
)  # fmt: skip


def command(
    *,
    steered: steering.Steered = steering.STEERED,
    pause: steering.Pause = 30.0,
    strict: Annotated[
        bool,
        Parameter(
            group=steering.CHANGES,
            help="Order jobs by begin times, which are renewed while the command runs, instead of Nice.",
        ),
    ] = False,
    lease: Annotated[
        float, Parameter(group=steering.CHANGES, help="strict: how far in the future begin times are, in seconds.")
    ] = 300.0,
    looks: Annotated[
        int | None,
        Parameter(group=steering.QUEUE, help="End after this many looks at the queue. Default: at Ctrl-C or SIGTERM."),
    ] = None,
    dry_run: steering.DryRun = False,
    undo_file: steering.UndoFile = None,
    state: steering.State = None,
    recorded: steering.Recorded = None,
    json: options.Json = False,
) -> int:
    """Plan and apply again whenever a Slurm cluster's set of jobs changes; undo all changes at the end.

    Each look reads the queue; nothing is changed if the queue is as before, or if only one job waits. When the command
    ends by itself, by Ctrl-C, by SIGTERM or with its terminal, all jobs get back the values that they had. If it is
    killed, only positive Nice and begin times that expire are left; no job is ever held, and the undo file in the state
    folder has what there is to undo.

    Examples
    --------
    fedsched watch --recorded sample --looks 1
    fedsched watch --recorded sample --looks 1 --dry-run --strict --lease 600
    """
    from fedsched.site.steer import Undo, Watch, read_queue
    from fedsched.site.steer.runners import RehearsalRunner
    from fedsched.site.steer.state_files import state_file

    only_said = dry_run or recorded is not None
    runner = steering.runner_of(recorded, sparing=True)
    cluster = read_queue(runner).cluster
    file = None if only_said else state_file("undo", cluster, file=undo_file, folder=state)
    watch = Watch(
        RehearsalRunner(runner) if only_said else runner,
        Undo.open(file, cluster),
        steered.aims(),
        interval=pause,
        lease=lease if strict else None,
        told=(lambda _: None) if json and only_said else partial(_said, aside=json),
    )
    before = {number: signal.signal(number, _interrupt) for number in _ends()}
    try:
        watch.run(time.sleep, looks=looks)
    except KeyboardInterrupt:
        if watch.undo.jobs:  # interrupted while undoing
            return steering.interrupted(steering.TO_UNDO)
        return steering.interrupted("all jobs have their former values")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if json:
        print_json({"plans": watch.plans, "slowest_look": watch.slowest, "dry_run": only_said})
    return 0


def _said(text: str, *, aside: bool) -> None:
    say(f"{time.strftime('%m-%d %H:%M:%S')} {text}", err=aside)
    sys.stdout.flush()


def _ends() -> list[signal.Signals]:
    """Return the signals that end the command: SIGTERM, and SIGHUP (the terminal closes) unless nohup ignores it."""
    ends = [signal.SIGTERM]
    gone: signal.Signals | None = getattr(signal, "SIGHUP", None)
    if gone is not None and signal.getsignal(gone) is not signal.SIG_IGN:
        ends.append(gone)
    return ends


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
