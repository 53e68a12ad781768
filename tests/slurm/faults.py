"""What fails beside who steers: the controller dies and comes back, with another clock even, and squeue fails."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slurm.cluster import WAYS, SlurmError
from support.beside_slurm import Beside

from fedsched.core.errors import SteerError
from fedsched.site.steer import read_queue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from slurm.cluster import SlurmCluster

SQUEUE = """\
#!/bin/sh
PATH={path}
case $(cat {mode}) in
whole) exec squeue "$@" ;;
half) squeue "$@" | head -c 3000 ;;
nothing) ;;
*) echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1 ;;
esac
"""
FAILURES = ("fails", "half", "nothing")


class Squeue:
    """A squeue that does as it is told: it says all, half of that or nothing of it, or fails."""

    def __init__(self, folder: Path) -> None:
        self._mode, broken = folder / "mode", folder / "broken"
        broken.mkdir()
        self.does("whole")
        (broken / "squeue").write_text(SQUEUE.format(mode=self._mode, path=WAYS), encoding="utf-8")
        (broken / "squeue").chmod(0o755)
        self.first = f"{broken}{os.pathsep}{WAYS}"  # where commands are looked for, so that this one is found

    def does(self, how: str) -> None:
        """Do so from now on."""
        self._mode.write_text(how, encoding="utf-8")

    @contextmanager
    def failing(self, how: str) -> Iterator[None]:
        """Fail so while the with statement lasts."""
        self.does(how)
        yield
        self.does("whole")


def kill_controller(slurm: SlurmCluster) -> None:
    """End slurmctld as one ends what does not listen, once it has written its jobs: it forgets who came since."""
    slurm._wait_for("jobs that are written", lambda: _has_written(slurm))
    [controller] = [running for name, running in slurm._daemons if name == "slurmctld"]
    controller.kill()
    controller.wait()
    slurm._daemons = [one for one in slurm._daemons if one[0] != "slurmctld"]


def begin_controller(slurm: SlurmCluster, **environment: str) -> None:
    """Start it on what it had written, and wait until it answers, and knows its nodes again."""
    slurm._start_in({**slurm._environment, **environment}, "slurmctld", "-D")
    slurm._wait_for("the controller", lambda: _knows_nodes(slurm))


def _knows_nodes(slurm: SlurmCluster) -> bool:
    try:
        return any(node.is_up for node in read_queue(Beside(slurm), clocks=False).nodes)
    except (SlurmError, SteerError):
        return False


def _has_written(slurm: SlurmCluster) -> bool:
    """Return whether each name of a job that it knows stands as often in what a next controller would read."""
    try:
        written = (slurm.folder / "state" / "job_state").read_bytes()
    except FileNotFoundError:  # for a moment, as Slurm puts the next one in its place
        return False
    names = Counter(slurm.ask("squeue", "-h", "-t", "all", "-o", "%j").splitlines())
    return all(written.count(name.encode() + b"\0") >= many for name, many in names.items())


@contextmanager
def without_controller(slurm: SlurmCluster) -> Iterator[None]:
    """Let there be none while the with statement lasts."""
    kill_controller(slurm)
    yield
    begin_controller(slurm)


@contextmanager
def with_its_clock_ahead(slurm: SlurmCluster, seconds: int) -> Iterator[None]:
    """Let the controller's clock be so far ahead while the with statement lasts; it is read anew by a new one alone."""
    kill_controller(slurm)
    begin_controller(slurm, FAKETIME=f"{seconds:+d} x{slurm.clock.factor:g}")
    yield
    kill_controller(slurm)
    begin_controller(slurm)
    # Who began in a future that was none keeps others from reading until it has ended.
    slurm._wait_for("a queue of the present", lambda: _reads(slurm))


def _reads(slurm: SlurmCluster) -> bool:
    try:
        return bool(read_queue(Beside(slurm)).nodes)
    except SteerError:
        return False
