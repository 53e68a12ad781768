"""Set the cluster and begin time of jobs as `place` chose them: record what they had, check the effect, and undo."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedsched.core.errors import SteerError
from fedsched.site.steer.commands import RefusedError, begin_at, bind, look_at, run_change
from fedsched.site.steer.jobs_read import REVOKED
from fedsched.site.steer.private_files import check_writable
from fedsched.site.steer.reading import ClusterRunner, read_siblings
from fedsched.site.steer.rights import check_rights
from fedsched.site.steer.state_files import read_state, write_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fedsched.site.steer.commands import Command, Runner
    from fedsched.site.steer.placing import Placement, Placing
    from fedsched.site.steer.queue import Queue, SlurmJob

KIND = "fedsched placed 2"


@dataclass(frozen=True, slots=True)
class FormerPlacement:
    """What a job had before it was placed (user, clusters and begin time), and the cluster that fedsched gave it."""

    user: str
    clusters: str
    begin: float
    cluster: str


@dataclass(slots=True)
class PlacementUndo:
    """The placements that can be undone, in memory and in a file; without a path, in memory only."""

    path: Path | None
    jobs: dict[int, FormerPlacement] = field(default_factory=dict)
    strangers: frozenset[int] = frozenset()  # entries for job numbers that now belong to another user
    unread: frozenset[int] = frozenset()  # entries of jobs that are in the queue and cannot be read

    @classmethod
    def open(cls, path: str | Path | None, *, only_read: bool = False) -> PlacementUndo:
        """Return the placements in a file, none if there is no file yet; raise if the path cannot be written.

        Parameters
        ----------
        only_read
            Whether the file is never written; then the path is not checked.
        """
        if path is None:
            return cls(None)
        where = Path(path)
        otherwise = "it is no file of placed jobs ({}); name the right one."
        jobs = read_state(where, KIND, _jobs, otherwise=otherwise) or {}
        if only_read:
            return cls(None, jobs)
        check_writable(where)
        return cls(where, jobs)

    def remember(self, one: Placement) -> None:
        """Record what a job has before it is changed, and write the file; an entry that the job already has is kept."""
        known = self.jobs.get(one.job.number)
        if known is None or known.user != one.job.user:
            before = FormerPlacement(one.job.user, ",".join(one.job.siblings), one.job.eligible, one.cluster)
            self.jobs = {**self.jobs, one.job.number: before}
        self.save()

    def follow(self, queues: Mapping[str, Queue], told: Callable[[str], None] = lambda _: None) -> None:
        """Drop the entries of jobs that no longer wait on the cluster that they were given.

        An entry is kept, but ignored, if its job number now belongs to another user, or if its job cannot be read.

        Parameters
        ----------
        told
            Called with a line for each entry that takes no effect.
        """
        there = dict(_placed_jobs(queues, self.jobs))
        strangers = {number for number, job in there.items() if job.user != self.jobs[number].user}
        for number in sorted(strangers - self.strangers):
            job, was = there[number], self.jobs[number].user
            told(f"job {job.target}: it belongs to {job.user}, but the change was made to a job of {was}; left alone")
        self.strangers = frozenset(strangers)
        unread = {number for number, one in self.jobs.items() if one.cluster in queues
                  and number in queues[one.cluster].unread}  # fmt: skip
        for number in sorted(unread - self.unread):
            told(f"job {number}: it cannot be read, so the file of placed jobs keeps what it had")
        self.unread = frozenset(unread)
        if there.keys() | unread != self.jobs.keys():
            self.jobs = {number: one for number, one in self.jobs.items() if number in there or number in unread}
            self.save()

    def undoable(self, queues: Mapping[str, Queue]) -> Iterator[tuple[SlurmJob, FormerPlacement]]:
        """Give the jobs that still wait on the cluster that they were given, and what each had before.

        Jobs of another user with a recorded number are left out.
        """
        for number, job in _placed_jobs(queues, self.jobs):
            if job.user == self.jobs[number].user:
                yield job, self.jobs[number]

    def save(self) -> None:
        """Write the file, or remove it if there is nothing to undo."""
        write_state(self.path, {"kind": KIND, "jobs": {str(number): asdict(one) for number, one in self.jobs.items()}})


def _jobs(said: Mapping[str, Any]) -> dict[int, FormerPlacement]:
    return {
        int(number): FormerPlacement(str(one["user"]), str(one["clusters"]), float(one["begin"]), str(one["cluster"]))
        for number, one in said["jobs"].items()
    }


def _placed_jobs(queues: Mapping[str, Queue], jobs: Mapping[int, FormerPlacement]) -> Iterator[tuple[int, SlurmJob]]:
    """Give number and job of those recorded jobs that wait on the cluster that they were given, and on no other."""
    for name, queue in queues.items():
        for job in queue.jobs:
            one = jobs.get(job.number)
            if one is not None and one.cluster == name and job.waits and set(job.siblings) <= {name}:
                yield job.number, job


def placing_commands(one: Placement, now: float) -> list[Command]:
    """Return the commands that place a job: one restricts it to its cluster, the next sets its begin time to now.

    In this order no other cluster starts the job. The first command is left out if no other cluster may start it.
    """
    cluster = [] if one.job.siblings == (one.cluster,) else [bind(one.job.target, one.cluster)]
    return [*cluster, begin_at(one.job.target, now)]


@dataclass(frozen=True, slots=True)
class PlacementChanger:
    """Runs the commands that place jobs on their chosen clusters, and undoes placements.

    Parameters
    ----------
    runner
        Runs the commands.
    placed
        Records the placements, to be undone later.
    told
        Called with each command before it is run.
    refused
        Jobs that Slurm refuses to change, by their numbers.
    """

    runner: Runner
    placed: PlacementUndo
    told: Callable[[str], None] = lambda _: None
    refused: set[int] = field(default_factory=set)

    def carry_out(self, placing: Placing, due: Sequence[Placement]) -> int:
        """Give the jobs in `due` their clusters and set their begin times to now; return how many of them were placed.

        Jobs that no longer wait are not counted. A job that Slurm refuses to change is left alone from then on. Raise
        if Slurm refuses a job and no other job is placed.
        """
        self.placed.follow(placing.queues, self.told)
        for name, queue in placing.queues.items():
            check_rights(self.runner, queue, [one.job for one in due if one.cluster == name])
        done, failed = 0, None
        for one in due:
            if one.job.number in self.refused:
                continue
            try:
                done += self._place(one, placing.now)
            except RefusedError as error:
                self.told(f"{error} Job {one.job.target} is left alone from now on.")
                self.refused.add(one.job.number)
                failed = failed or error
        if failed is not None and not done:
            raise failed
        return done

    def _place(self, one: Placement, now: float) -> bool:
        self.placed.remember(one)
        for command in placing_commands(one, now):
            if not run_change(self.runner, one.job, command, self.told):
                return False
        self._look_at(one)
        return True

    def _look_at(self, one: Placement) -> None:
        """Raise if the cluster to which a job was given says that the job belongs to another cluster."""
        said = ClusterRunner(self.runner, one.cluster).run(look_at(one.job.number))
        if any(line.endswith(f"|{REVOKED}") for line in said.split()):
            raise SteerError(
                f"Job {one.job.target}: {one.cluster} says that it belongs to another cluster, after "
                f"Clusters={one.cluster}; "
                "nothing more is changed. `scontrol show job` says where it may start."
            )

    def undo(self) -> list[Command]:
        """Give waiting jobs back their former clusters, and begin times still ahead; return the commands that were run.

        Entries stay in the file only for job numbers that belong to another user, and jobs that cannot be read.
        """
        queues = read_siblings(self.runner)
        self.placed.follow(queues, self.told)
        now = next(iter(queues.values())).now
        found: list[tuple[SlurmJob, Command]] = []
        for job, before in self.placed.undoable(queues):
            if before.begin > now:
                found.append((job, begin_at(job.target, before.begin)))
            if before.clusters != before.cluster:
                found.append((job, bind(job.target, before.clusters)))
        for job, command in found:
            run_change(self.runner, job, command, self.told)
        kept = self.placed.strangers | self.placed.unread
        self.placed.jobs = {number: self.placed.jobs[number] for number in sorted(kept)}
        self.placed.save()
        return [command for _, command in found]
