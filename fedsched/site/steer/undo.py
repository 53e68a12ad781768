"""The undo file records what each job had before it was changed; it is written before a command is run."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedsched.core.errors import SteerError
from fedsched.core.values import digits_of
from fedsched.site.steer.plan import Promises
from fedsched.site.steer.private_files import check_writable
from fedsched.site.steer.state_files import read_state, write_state

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from fedsched.site.steer.queue import SlurmJob

KIND = "fedsched undo 2"


@dataclass(frozen=True, slots=True)
class Former:
    """An entry of the undo file: what a job had before, and what fedsched has given it since.

    Parameters
    ----------
    user
        The job's user.
    submit
        When it was submitted, in seconds since 1970.
    nice
        Its Nice before.
    given
        Each Nice that it may have from fedsched.
    begins
        Each begin time that it may have from fedsched and that may still be ahead, in seconds since 1970. Slurm says
        which one it has: a command may fail, or come late, and a controller that dies forgets the last ones.
    """

    target: str
    user: str
    submit: float
    nice: int
    given: tuple[int, ...] = ()
    begins: tuple[int, ...] = ()

    @classmethod
    def of(cls, job: SlurmJob) -> Former:
        """Return a new entry for a job that was not changed yet."""
        return cls(job.target, job.user, job.submit, job.nice)

    def is_of(self, job: SlurmJob) -> bool:
        """Return whether this entry's user is the job's; if not, the job is another one with the same number."""
        return job.user == self.user

    def has_our_begin(self, job: SlurmJob) -> bool:
        """Return whether a job waits and has a begin time that fedsched gave it."""
        return self.is_of(job) and job.waits and job.eligible in self.begins

    def has_our_nice(self, job: SlurmJob) -> bool:
        """Return whether a job has a Nice that fedsched gave it and that differs from its former one."""
        return self.is_of(job) and job.nice != self.nice and job.nice in self.given

    def now(self, job: SlurmJob) -> Former:
        """Return this entry for the job as it is now.

        If the submit time differs, the job was requeued, since Slurm then records a new time; or it is another job of
        the same user with the same number. Then what it had is not known, and a former Nice below 0, which its user
        could not give it, becomes 0.
        """
        if job.submit == self.submit or (math.isnan(job.submit) and math.isnan(self.submit)):
            return self
        return replace(self, submit=job.submit, nice=max(0, self.nice))


@dataclass(slots=True)
class Undo:
    """The changes to undo on one cluster, in memory and in a file; without a path, in memory only.

    Parameters
    ----------
    path
        The undo file; None: in memory only.
    cluster
        The cluster's name.
    jobs
        What each job had before, by number.
    deadlines, promised
        The current deadline of each job, and its first deadline, in seconds since 1970.
    strangers
        Entries for job numbers that now belong to another user.
    unread
        Entries of jobs that are in the queue and cannot be read.

    Examples
    --------
    >>> from fedsched.site import steer
    >>> undo = steer.Undo(None, "north")
    >>> dict(undo.former)
    {}
    """

    path: Path | None
    cluster: str
    jobs: dict[int, Former] = field(default_factory=dict)
    deadlines: dict[int, float] = field(default_factory=dict)
    promised: dict[int, float] = field(default_factory=dict)  # the first deadlines
    strangers: frozenset[int] = frozenset()  # entries for job numbers that now belong to another user
    unread: frozenset[int] = frozenset()  # entries of jobs that are in the queue and cannot be read

    @classmethod
    def open(cls, path: str | Path | None, cluster: str, *, only_read: bool = False) -> Undo:
        """Return the changes in a file, or an empty `Undo` if there is no file yet.

        Raise if the file is another cluster's, or if the path cannot be written.

        Parameters
        ----------
        only_read
            Whether the file is never written; then the path is not checked.
        """
        if path is None:
            return cls(None, cluster)
        where = Path(path)
        otherwise = "it is not an undo file ({}); name another file."
        found = read_state(where, KIND, lambda said: _undo(where, said), otherwise=otherwise) or cls(where, cluster)
        if found.cluster != cluster:
            raise SteerError(f"{where}: it is of the cluster {found.cluster!r}, not {cluster!r}; name another file.")
        if only_read:
            found.path = None
        else:
            check_writable(where)
        return found

    @property
    def former(self) -> Mapping[int, int]:
        """Return the Nice that jobs had before fedsched changed them, by number, without numbers in `strangers`."""
        return {number: one.nice for number, one in self.jobs.items() if number not in self.strangers}

    def _former(self, job: SlurmJob) -> Former:
        one = self.jobs.get(job.number)
        return one if one is not None and one.is_of(job) else Former.of(job)

    def remember(self, job: SlurmJob, *, nice: int) -> None:
        """Record what a job has, before it is given another Nice, and write the file.

        Parameters
        ----------
        job
            The job.
        nice
            The Nice that it will get.
        """
        one = self._former(job)
        if nice not in one.given:
            one = replace(one, given=(*one.given, nice))
        self.jobs[job.number] = one
        self.save()

    def remember_begin(self, job: SlurmJob, begin: int, now: float) -> None:
        """Record a begin time that a job may have from now on, before it is set, and write the file.

        Parameters
        ----------
        job
            The job.
        begin, now
            The begin time, and the present time, in seconds since 1970.
        """
        one = self._former(job)
        still = (had for had in one.begins if had > now and had != begin)
        self.jobs[job.number] = replace(one, begins=(*still, begin))
        self.save()

    def promises(self, turn: Sequence[int] = ()) -> Promises:
        """Return the recorded deadlines as `Promises`; `turn` was the jobs' order then, without fedsched's changes."""
        return Promises(self.promised, self.deadlines, turn)

    def promise(self, deadlines: Mapping[int, float]) -> None:
        """Record the deadlines of jobs, and write the file if they changed; each first deadline is kept as well."""
        before = self.deadlines, self.promised
        self.deadlines = {**self.deadlines, **deadlines}
        self.promised = {**deadlines, **self.promised}
        if (self.deadlines, self.promised) != before:
            self.save()

    def follow(
        self,
        jobs: Sequence[SlurmJob],
        told: Callable[[str], None] = lambda _: None,
        *,
        unread: Collection[int] = (),
    ) -> list[SlurmJob]:
        """Update the entries to the jobs in the queue now, and return those with a Nice from outside fedsched.

        Such a Nice becomes the one that the job gets back. Entries of jobs that have left the queue are dropped.
        Running jobs keep their entries, since they may be requeued with the Nice that they have; so do tasks that have
        left their array. An entry is ignored if its job number now belongs to another user, and kept until that number
        leaves the queue.

        Parameters
        ----------
        told
            Called with a line for each entry that takes no effect, or less than it says.
        unread
            Numbers of jobs that are in the queue and cannot be read; their entries are kept.
        """
        there = {job.number: job for job in jobs if job.waits or job.holds_nodes}
        followed: dict[int, Former] = {}
        others, strangers = [], set()
        for number, job in there.items():
            said = self._entry_of(job)
            if said is None:
                continue
            if not said.is_of(job):
                strangers.add(number)
                followed[number] = said
                if number not in self.strangers:
                    told(
                        f"job {job.target}: it belongs to {job.user}, but the change was made to a job of {said.user}; "
                        "left alone"
                    )
                continue
            former = said.now(job)
            if former.nice != said.nice:
                told(f"job {job.target}: it was submitted again, so it gets back Nice 0 and not {said.nice}")
            if job.nice != former.nice and job.nice not in former.given:
                others += [job] if former.given else []
                former = replace(former, nice=job.nice, given=())
            followed[number] = former
        self.strangers = frozenset(strangers)
        cannot = frozenset(unread) & self.jobs.keys()
        for number in sorted(cannot - self.unread):
            told(f"job {self.jobs[number].target}: it cannot be read, so the undo file keeps what it had")
        self.unread = cannot
        followed |= {number: self.jobs[number] for number in cannot}
        promised = {number for number, job in there.items() if job.waits and number not in strangers} | set(unread)
        if followed == self.jobs and self.deadlines.keys() <= promised:
            return others
        self.jobs = followed
        self.deadlines = {number: when for number, when in self.deadlines.items() if number in promised}
        self.promised = {number: when for number, when in self.promised.items() if number in promised}
        self.save()
        return others

    def _entry_of(self, job: SlurmJob) -> Former | None:
        """Return the entry of a job; for a task that has left its array since, a copy of the array's entry.

        None if there is no entry, or if the task has nothing that fedsched gave the array.
        """
        whole, _, task = job.target.partition("_")
        array = self.jobs.get(digits_of(whole) or 0) if task else None
        own = self.jobs.get(job.number)
        if own is not None or array is None or not array.is_of(job):
            return own
        changed = job.nice in array.given or array.has_our_begin(job)
        return replace(array, target=job.target) if changed else None

    def save(self) -> None:
        """Write the file, or remove it if there is nothing to undo."""
        said = {
            "kind": KIND,
            "cluster": self.cluster,
            "jobs": {str(number): asdict(one) for number, one in self.jobs.items()},
            "deadlines": {str(number): when for number, when in self.deadlines.items()},
            "promised": {str(number): when for number, when in self.promised.items()},
        }
        write_state(self.path, said)


def _undo(path: Path, said: Mapping[str, Any]) -> Undo:
    return Undo(
        path,
        str(said["cluster"]),
        {int(number): _former(one) for number, one in said["jobs"].items()},
        {int(number): float(when) for number, when in said["deadlines"].items()},
        {int(number): float(when) for number, when in said["promised"].items()},
    )


def _former(said: Mapping[str, Any]) -> Former:
    given, begins = (tuple(map(int, said[name])) for name in ("given", "begins"))
    return Former(str(said["target"]), str(said["user"]), float(said["submit"]), int(said["nice"]), given, begins)
