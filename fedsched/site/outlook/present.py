"""What is known of a cluster at an instant: its queue, what users' jobs have used, its limits and its past."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import FedschedError
from fedsched.core.text import counted
from fedsched.core.values import digits_of
from fedsched.io.wall_clock import WallTime
from fedsched.site.outlook.account_limits import Limits, are_enforced
from fedsched.site.outlook.dump_queue import queue_of, runs_by
from fedsched.site.outlook.habits import ENDED, RUNS, Habits, Runs
from fedsched.site.outlook.past import Past
from fedsched.site.steer import CommandError, read_queue
from fedsched.site.steer.runners import RecordedRunner
from fedsched.site.twin import Dump, read_site
from fedsched.site.twin.commands import MANIFEST
from fedsched.site.twin.site import notes_on_jobs
from fedsched.slurm.priority.associations import Associations

if TYPE_CHECKING:
    from fedsched.site.outlook.calibration import Calibration
    from fedsched.site.steer import Queue, Runner

SINCE = "now-28days"
HISTORY = ("sacct", "-a", "-X", "-n", "-P", "-S", SINCE, "-E", "now",
           "--format=User,TimelimitRaw,ElapsedRaw,State,End")  # fmt: skip
ACCOUNTS = ("sacctmgr", "-P", "show", "assoc", "tree")
QOS = ("sacctmgr", "-P", "show", "qos")


@dataclass(frozen=True, slots=True, eq=False)
class Present:
    """What is known of a cluster at an instant.

    Parameters
    ----------
    queue
        Its jobs and nodes.
    habits
        Which part of their limits users' jobs run.
    limits
        The limits of QOS and accounts if these are enforced and known; else None.
    by_the_wall
        Whether times are those of the cluster's wall clock, as a dump has them, and not seconds since 1970.
    notes
        What is assumed or not known.
    past
        The cluster at earlier moments; None if that is not on record.
    free
        The numbers of jobs that forecasts exempt from limits.

    Examples
    --------
    >>> from fedsched.site import outlook
    >>> now = outlook.present("sample")
    >>> now.queue.cluster, now.by_the_wall
    ('sample', False)
    """

    queue: Queue
    habits: Habits
    limits: Limits | None
    by_the_wall: bool
    notes: tuple[str, ...]
    past: Past | None = None
    free: frozenset[int] = frozenset()

    def calibration(self, draws: int, seed: int) -> Calibration | None:
        """Return the calibration from forecasts made for earlier moments; None if the past is not on record.

        Parameters
        ----------
        draws, seed
            As of `forecast`.
        """
        return None if self.past is None else self.past.calibration(draws, seed)

    def clock(self, seconds: float) -> str:
        """Return a time of the queue as text with month, day and time of day; "-" if it is not finite.

        It is the cluster's wall clock if `by_the_wall`, else this machine's local time.
        """
        if not np.isfinite(seconds):
            return "-"
        if self.by_the_wall:
            return str(WallTime(float(np.floor(seconds))))[5:]
        return time.strftime("%m-%d %H:%M:%S", time.localtime(seconds))


def present(source: str | PathLike[str] | Runner) -> Present:
    """Return what is known of a cluster now.

    Parameters
    ----------
    source
        The folder of a dump (now is when it was taken); or a folder that `fedsched plan --keep` has written; or
        "sample", a queue that ships; or a runner of Slurm's commands, as `fedsched.site.steer.Shell()`: these only
        read.

    Examples
    --------
    >>> from fedsched.site import outlook
    >>> now = outlook.present("sample")
    >>> len(now.queue.waiting), len(now.queue.running)
    (15, 1)
    """
    if not isinstance(source, str | PathLike):
        return _of_commands(source)
    folder = Path(source)
    return _of_dump(folder) if (folder / MANIFEST).is_file() else _of_commands(RecordedRunner(folder))


def _of_dump(folder: Path) -> Present:
    site = read_site(Dump(folder))
    queue, notes = queue_of(site)
    habits = Habits.of(runs_by(site, site.dump.taken))
    limits = Limits.of_site(site, queue)
    return Present(queue, habits, limits, True, (*notes, *notes_on_jobs(site.records), *_of_habits(habits)), Past(site))


def _of_commands(runner: Runner) -> Present:
    queue = read_queue(runner)
    notes, past = [], None
    try:
        habits = Habits.of(_runs(runner.run(HISTORY)))
    except CommandError as error:
        habits = Habits.none()
        notes.append(f"no ended jobs are known: {error.said}")
    if habits.known:
        try:
            past = Past.of_commands(runner)
        except FedschedError as error:
            notes.append(f"ranges are not calibrated, since the past is not known: {error}")
    limits = None
    if are_enforced(queue):
        try:
            limits = Limits(_accounts(runner, queue.cluster), {one.name: one.qos for one in queue.partitions})
        except FedschedError as error:
            notes.append(f"limits of accounts are not known: {error}")
    return Present(queue, habits, limits, False, (*notes, *_of_habits(habits)), past)


def _of_habits(habits: Habits) -> list[str]:
    if not habits.known:
        return ["assumed: all jobs run to their limits, since no ended job is known, so ranges are points"]
    return [f"run times are drawn from what {counted(habits.known, 'ended job')} used of their limits, by user"]


def _runs(text: str) -> Runs:
    """Return the runs that sacct lists: ended ones in the order of their ends, then those that still run.

    Runs without a time limit are left out.
    """
    rows = []
    for line in text.splitlines():
        cells = line.split("|")
        state = cells[3].split()[0].rstrip("+") if len(cells) == 5 and cells[3].split() else ""
        if state not in (*ENDED, RUNS):
            continue
        limit, ran = map(digits_of, cells[1:3])
        if limit is None or ran is None:  # no limit, or none that is a number
            continue
        rows.append((state == RUNS, cells[4], cells[0], 60.0 * limit, float(ran)))
    rows.sort(key=lambda row: row[:2])
    return Runs(
        np.array([row[2] for row in rows], dtype=object),
        np.array([row[3] for row in rows], dtype=np.float64),
        np.array([row[4] for row in rows], dtype=np.float64),
        np.array([not row[0] for row in rows], dtype=np.bool_),
    )


def _accounts(runner: Runner, cluster: str) -> Associations:
    """Return the accounts, users and QOS of a cluster that sacctmgr lists."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, command in (("accounts", ACCOUNTS), ("qos", QOS)):
            path = Path(folder) / name
            path.write_text(runner.run(command), encoding="utf-8")
            paths.append(path)
        return Associations.read(*paths, cluster=cluster)
