"""The queue of a cluster at an instant, as Slurm reports it: jobs, nodes, partitions, settings, and its clock."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.errors import SteerError
from fedsched.core.text import counted, first_of

if TYPE_CHECKING:
    from collections.abc import Mapping

HOLDING = frozenset({"RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING",
                     "STAGE_OUT"})  # fmt: skip
OCCUPIED = frozenset({"ALLOCATED", "MIXED"})  # states of nodes that have jobs
# Slurm's reasons for jobs that wait for nodes, or for jobs ahead of them.
IN_TURN = frozenset({"", "NONE", "PRIORITY", "RESOURCES"})
LATER = "BEGINTIME"
NODES_TAKEN = "NODES"  # …_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions
UNAVAILABLE = frozenset({"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "UNKNOWN", "FUTURE",
                         "MAINT", "MAINTENANCE", "NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN",
                         "REBOOT", "REBOOT_REQUESTED", "REBOOT_ISSUED", "INVAL", "INVALID_REG"})  # fmt: skip
YEAR = 365 * 86_400.0  # the limit that Slurm, too, assumes for a job without one
ENDING = 1.0  # seconds until the assumed end of a job that is completing, or over its limit


def wait(states: frozenset[str]) -> bool:
    """Return whether a job in these states waits: it is pending, and has no nodes that it still has to leave."""
    return "PENDING" in states and not states & HOLDING


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A job that waits or holds nodes; times in seconds since 1970, NaN if there is none.

    Parameters
    ----------
    number, target
        Its number, and its name in `scontrol update`: 7, 7_3, 7_[0-2].
    user, account, qos, partition, name, comment
        As Slurm reports them.
    states, reason
        Its states, and why it waits.
    nodes, cpus, hosts
        How many nodes it has, or needs (of an array: each task), its CPUs, and the nodes that it has.
    limit, submit, eligible, start
        Its limit in seconds (infinite without one), and times.
    priority, nice
        Its priority and its Nice.
    tasks
        The number of tasks of an array that wait as one.
    dependency, features, reservation, other_resources
        What it asks for.
    part_of_several, named_nodes, other_partitions, exclusive, siblings
        Whether it is a part of a heterogeneous job, requires or excludes nodes by name, may start in other partitions,
        or shares its nodes with no other job; and the clusters of its federation on which it may start.

    Examples
    --------
    >>> from fedsched.site import outlook
    >>> job = outlook.present("sample").queue.waiting[0]
    >>> job.number, job.nodes, job.waits
    (5, 8, True)
    """

    number: int
    target: str  # what an update calls it: 7, 7_3, 7_[0-2]
    user: str
    account: str
    qos: str
    partition: str
    states: frozenset[str]
    reason: str
    nodes: int  # how many it has, or needs; of an array, for each task
    limit: float  # seconds, infinite without one
    submit: float
    eligible: float
    start: float
    priority: int
    nice: int
    cpus: int = 1
    hosts: tuple[str, ...] = ()
    tasks: int = 1  # the number of tasks of an array that wait as one
    dependency: str = ""
    features: str = ""
    reservation: str = ""
    part_of_several: bool = False  # it is a part of a heterogeneous job
    named_nodes: bool = False  # it requires or excludes nodes by name
    other_partitions: bool = False  # it may start in other partitions as well
    name: str = ""
    comment: str = ""
    siblings: tuple[str, ...] = ()  # clusters of its federation on which it may start
    other_resources: tuple[str, ...] = ()  # what it asks for beside nodes, CPUs and memory: GPUs, licences
    exclusive: bool = False  # no other job is on its nodes

    @property
    def holds_nodes(self) -> bool:
        """Return whether the job has nodes: it runs, completes or is suspended."""
        return bool(self.states & HOLDING)

    @property
    def waits(self) -> bool:
        """Return whether the job is pending and has no nodes."""
        return wait(self.states)

    @property
    def is_in_turn(self) -> bool:
        """Return whether the job's reason says that it waits for nodes or for jobs ahead of it."""
        return self.reason in IN_TURN or self.reason.startswith(NODES_TAKEN)

    @property
    def is_held(self) -> bool:
        """Return whether the job is held, which Slurm shows by priority 0."""
        return self.priority == 0

    def waits_its_turn(self, now: float) -> bool:
        """Return whether the job is eligible and waits only for nodes or for jobs ahead of it."""
        return self.waits and not self.is_held and self.is_in_turn and not self.eligible > now

    def comes_later(self, now: float) -> bool:
        """Return whether the job waits for its begin time, which is still ahead, and for nothing else."""
        return self.waits and not self.is_held and (self.is_in_turn or self.reason == LATER) and self.eligible > now

    def expected_end(self, now: float) -> float:
        """Return when a job with nodes leaves them if it runs to its limit, in seconds since 1970.

        A job that is over its limit, or completing, leaves them a second from now. A job without a limit is taken to
        run for another year.
        """
        if "COMPLETING" in self.states or not self.start + self.limit > now:
            return now + ENDING
        if math.isinf(self.limit):
            return now + YEAR
        return self.start + self.limit


class Unread(NamedTuple):
    """A job that cannot be read: why not, and whether it waits (then it has no nodes)."""

    why: str
    waits: bool


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """A node of a Slurm cluster.

    Parameters
    ----------
    name
        Its name.
    states
        Its base state and its flags.
    partitions, cpus, features
        The names of its partitions, its CPUs, and its features.

    Examples
    --------
    >>> from fedsched.site import outlook
    >>> node = outlook.present("sample").queue.nodes[0]
    >>> node.name, node.is_up
    ('n1', True)
    """

    name: str
    states: frozenset[str]
    partitions: frozenset[str]
    cpus: int
    features: frozenset[str] = frozenset()

    @property
    def is_up(self) -> bool:
        """Return whether the node is up: jobs may run on it."""
        return not self.states & UNAVAILABLE


@dataclass(frozen=True, slots=True)
class SlurmPartition:
    """A partition of a Slurm cluster.

    Parameters
    ----------
    name, nodes
        Its name, and the names of its nodes.
    tier
        Its PriorityTier.
    default
        Whether jobs that name no partition go here.
    is_up
        Whether jobs may start in it.
    qos
        Its QOS; "" if it has none.

    Examples
    --------
    >>> from fedsched.site import outlook
    >>> outlook.present("sample").queue.partitions[0].name
    'main'
    """

    name: str
    nodes: frozenset[str]
    tier: int = 1
    default: bool = False
    is_up: bool = True
    qos: str = ""  # its limits hold for all jobs of the partition


@dataclass(frozen=True, slots=True)
class SlurmReservation:
    """Nodes of a Slurm cluster that are reserved for some users or accounts for a time.

    Parameters
    ----------
    name
        Its name.
    begin, end
        When it begins and ends, in seconds since 1970; NaN if unknown.
    nodes
        The names of its nodes.
    users, accounts
        The users and accounts that may use it.

    Examples
    --------
    >>> from fedsched.site import steer
    >>> steer.SlurmReservation("upgrade", 0.0, 3600.0, frozenset({"n1"})).end
    3600.0
    """

    name: str
    begin: float
    end: float
    nodes: frozenset[str]
    users: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue of a cluster at an instant, with its nodes, partitions and settings.

    Parameters
    ----------
    cluster
        The cluster's name.
    now
        The time by the controller's clock, in seconds since 1970.
    jobs, nodes, partitions, reservations
        What there is in the cluster.
    settings
        The settings in `scontrol show config`, by name in lower case.
    federation
        For each other cluster of this one's federation, whether it is synced.
    unread
        The jobs that are left out as they cannot be read, by their numbers.

    Examples
    --------
    >>> from fedsched.site import outlook
    >>> queue = outlook.present("sample").queue
    >>> queue.cluster, len(queue.waiting), len(queue.nodes)
    ('sample', 15, 8)
    """

    cluster: str
    now: float
    jobs: tuple[SlurmJob, ...]
    nodes: tuple[SlurmNode, ...]
    partitions: tuple[SlurmPartition, ...]
    settings: Mapping[str, str]
    federation: Mapping[str, bool]
    reservations: tuple[SlurmReservation, ...] = ()
    unread: Mapping[int, Unread] = field(default_factory=dict)

    @property
    def running(self) -> tuple[SlurmJob, ...]:
        """Return the jobs that have nodes, in the order of their starts."""
        return tuple(sorted((job for job in self.jobs if job.holds_nodes), key=lambda job: (job.start, job.number)))

    @property
    def waiting(self) -> tuple[SlurmJob, ...]:
        """Return the jobs that wait for nodes, now or from their begin time on, in the order of the queue."""
        found = [job for job in self.jobs if job.waits_its_turn(self.now) or job.comes_later(self.now)]
        return tuple(sorted(found, key=self.turn))

    @property
    def aside(self) -> tuple[SlurmJob, ...]:
        """Return the jobs that wait for something that comes at an unknown time."""
        known = {job.number for job in self.waiting}
        return tuple(job for job in self.jobs if job.waits and job.number not in known)

    def unread_in_words(self) -> list[str]:
        """Return a note on how many jobs are left out as they cannot be read, and why; no note if there are none."""
        if not self.unread:
            return []
        why = next(iter(self.unread.values())).why
        return [f"left out: {counted(len(self.unread), 'job')} that cannot be read ({why})"]

    def aside_in_words(self) -> list[str]:
        """Return a note on how many jobs wait for something at an unknown time, and why; no note if there are none."""
        if not self.aside:
            return []
        reasons = first_of(sorted({job.reason.lower() or "no reason" for job in self.aside}))
        verb = "waits" if len(self.aside) == 1 else "wait"
        named = first_of(job.target for job in self.aside)
        return [f"left aside: {counted(len(self.aside), 'job')} ({named}) {verb} for an unknown time ({reasons})"]

    def tier(self, job: SlurmJob) -> int:
        """Return the PriorityTier of a job's partition; 1 if the partition is not known."""
        return next((one.tier for one in self.partitions if one.name == job.partition), 1)

    def turn(self, job: SlurmJob) -> tuple[float, ...]:
        """Return the key by which Slurm sorts its queue: the first job has the least."""
        return (-self.tier(job), -job.priority, job.submit, job.number)

    def job(self, number: str) -> SlurmJob:
        """Return the job with this number or name, such as 7_3 for a task of an array; raise if there is none."""
        for one in self.jobs:
            if number in (str(one.number), one.target):
                return one
        raise SteerError(f"Job {number}: the queue has no such job (it may have ended); squeue shows the others.")

    def setting(self, name: str) -> str:
        """Return a setting by its name, in any case; "" if there is none."""
        text = self.settings.get(name.lower(), "")
        return "" if text.lower() in ("(null)", "n/a", "none") else text

    def identity(self) -> frozenset[tuple[int, bool]]:
        """Return a set by which to see whether what a plan depends on has changed.

        It tells which jobs wait, which have nodes, and which nodes are up.
        """
        return frozenset((job.number, job.holds_nodes) for job in self.jobs if job.holds_nodes or job.waits) | {
            (-1 - k, node.is_up) for k, node in enumerate(self.nodes)
        }
