"""The arrays for nodes that jobs share: Sharing (nodes and kinds of jobs, read-only) and Work (what is free and held).

They come in addition to those of arrays/structs.py. "Per node", "per kind" and so on mean one entry for each.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, constant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

WHOLE = constant(1000)  # a whole GPU, in thousandths


class Choice(IntEnum):
    """Rules for the order in which the nodes of a group are taken: see `CHOICES` in engine/sharing/noun.py."""

    FIRST = 0
    BEST = 1
    LEAST_LOADED = 2
    PACK = 3
    SPREAD = 4
    BLOCK = 5
    GAINED = 6  # for the head's reservation only: nodes on which the fewest of its tasks fit now come first


class Reservation(IntEnum):
    """What the planned end of a job frees, as the reservation for EASY's head sees it."""

    RESOURCES = 0  # what the job holds
    NODES = 1  # nothing, until the last job of a node ends: then the whole node


@by_reference
class Nodes(NamedTuple):
    """The nodes of the federation, sorted by group; a node is known by its place in this order.

    Slurm's loop has the nodes in the order of their numbers instead, and does not use `first`.
    """

    first: Ints  # nodes of group g: first[g] .. first[g + 1]
    group: Ints  # per node: its group
    number: Ints  # per node: its number in the federation; nodes with successive numbers are neighbours
    has: Ints  # resource x group: the amount on each node
    gpus: Ints  # per group: the GPU devices of each node


@by_reference
class Kinds(NamedTuple):
    """The kinds of jobs: jobs of one kind are alike in all that decides where they fit."""

    of_job: Ints  # per job: its kind
    tasks: Ints  # per kind: the tasks of each of its jobs
    need: Ints  # kind x resource: what a task takes
    share: Ints  # per kind: thousandths of one GPU that a task takes; 0: it takes whole ones, or none
    chunk: Ints  # per kind: tasks that run together on a node (the last node may have fewer); 0: any number
    alone: Ints  # per kind, 1: a job shares its nodes with no other job
    opened: Ints  # kind x group, 1: jobs may use the group


@by_reference
class Closures(NamedTuple):
    """The closures of the calendar (engine/arrays/structs.py), sorted by group and by end; empty without closures."""

    first: Ints  # entries of group g in `of_group`: first[g] .. first[g + 1]
    of_group: Ints  # the closures, group by group, by their begins
    by_end: Ints  # the closures with a known end, by that end
    planned_end: Floats  # per entry of `by_end`: the end


@by_reference
class Counted(NamedTuple):
    """Limits on numbers of nodes, and partitions with bounds on a job's nodes; empty if there are none.

    A counter is one limit of one user, account, QOS or partition.
    """

    amount: Ints  # per counter: the most nodes that its jobs may be on together
    first: Ints  # entries of job j in `counter`: first[j] .. first[j + 1]
    counter: Ints
    least: Ints  # per job: the least number of nodes it may be on
    most: Ints  # per job: the largest number of nodes it may be on


@by_reference
class Sharing(NamedTuple):
    """The nodes that jobs share, the kinds of jobs, and the rules by which tasks take nodes."""

    nodes: Nodes
    kinds: Kinds
    closures: Closures
    counted: Counted
    gpu: int  # the resource that consists of devices, or -1
    choice: int  # a Choice
    reservation: int  # a Reservation
    leaf: Ints  # per job: its place in `Line`, if the queue order is fixed; kinds have their places one after another
    begin: Ints  # places of kind k: begin[k] .. begin[k + 1]


@by_reference
class Stock(NamedTuple):
    """What is free on every node."""

    free: Ints  # resource x node: the free amount; of GPUs, the devices that are wholly free
    jobs: Ints  # per node: the jobs on it
    left: Ints  # node x device: what is free of a GPU, in thousandths


@by_reference
class Held(NamedTuple):
    """What jobs hold on which nodes.

    A piece is a node with some tasks of one job. A part is what one job, or one task of it, takes of one GPU device.
    The pieces of a job follow one another, and so do its parts.
    """

    first: Ints  # per job: its first piece
    pieces: Ints  # per job: its number of pieces, which is its number of nodes
    node: Ints  # per piece
    tasks: Ints  # per piece
    first_device: Ints  # per job: its first part
    devices: Ints  # per job: its number of parts
    device_node: Ints  # per part: the node
    device: Ints  # per part: the device on the node
    amount: Ints  # per part: thousandths of the device

    def of(self, jobs: Ints) -> Held:
        """Return what these jobs hold, as jobs 0, 1, …: the entries of each follow those of the one before."""
        pieces, devices = self.pieces[jobs], self.devices[jobs]
        piece, part = entries(self.first[jobs], pieces), entries(self.first_device[jobs], devices)
        return Held(
            first=np.cumsum(pieces) - pieces,
            pieces=pieces,
            node=self.node[piece],
            tasks=self.tasks[piece],
            first_device=np.cumsum(devices) - devices,
            devices=devices,
            device_node=self.device_node[part],
            device=self.device[part],
            amount=self.amount[part],
        )

    def as_rows(self, rows: Ints, jobs: int) -> Held:
        """Return the same with jobs 0, 1, … as these rows of `jobs` jobs; the others hold nothing."""
        spread = {name: np.zeros(jobs, dtype=np.int64) for name in ("first", "pieces", "first_device", "devices")}
        for name, column in spread.items():
            column[rows] = getattr(self, name)
        return self._replace(**spread)


def entries(first: Ints, count: Ints) -> Ints:
    """Return the indices first[k] .. first[k] + count[k] of each k, one after another."""
    return np.arange(count.sum()) + np.repeat(first - (np.cumsum(count) - count), count)


@by_reference
class Gone(NamedTuple):
    """What lost runs held, one entry per run; empty if no downtime takes nodes from jobs.

    Entries point to pieces and parts of `Held`, which are never overwritten.
    """

    first: Ints
    pieces: Ints
    first_device: Ints
    devices: Ints


@by_reference
class Line(NamedTuple):
    """The waiting jobs of each kind, in the order in which a pass scans them."""

    shortest: Floats  # binary tree over places: shortest planned duration; infinite if no job waits at the place
    job: Ints  # place -> job
    place: Ints  # job -> place
    waiting: Ints  # per kind: its waiting jobs
    kinds: Ints  # list of the kinds with waiting jobs
    at: Ints  # per kind: its index in `kinds`
    next: Ints  # per kind: the place of its next candidate, a job that may start
    heap: Ints  # heap of kinds, by the positions of their candidates in the queue
    beside: Ints  # per kind: whether it fits beside the head's reservation, as codes of passes.py


class Number(IntEnum):
    """Indices into `Work.number`: numbers of entries in use of the arrays of Work, and one kind of jobs."""

    PIECES = 0  # pieces in `Held`; they are never removed
    DEVICES = 1  # parts of devices in `Held`
    KINDS = 2  # kinds with waiting jobs
    FREED = 3  # entries of `Work.freed`
    HEAP = 4  # entries of `Line.heap`
    FOUND = 5  # pieces that were chosen last; they follow the pieces in use
    FOUND_DEVICES = 6  # parts of devices that were chosen last
    BOUNDED = 7  # the kind with a valid bound under the strict rule, which looks only at the head; -1: none


class PlannedNumber(IntEnum):
    """The index of each number in `PlannedJobs.number`."""

    CHANGES = 0
    PIECES = 1
    DEVICES = 2
    KIND = 3  # of the job that was planned last; -1: the walk cannot go on from there
    JOB = 4
    LAST = 5  # the next planned end of a running job on that walk
    PASSED = 6  # the next change on that walk


@by_reference
class PlannedJobs(NamedTuple):
    """The reservations of a conservative pass; under other rules most arrays are of size 0."""

    number: Ints  # indexed by PlannedNumber
    time: Floats  # of begins and ends of reservations, in ascending order; at one instant ends come first
    job: Ints
    begins: Ints  # 1: the reservation begins, 0: it ends
    held: Held
    stock: Stock  # scratch: a walk through a job's run
    not_before: Floats  # per kind: the start of its job that was planned last in this pass
    shortest: Floats  # per kind: how long that job takes at least
    time_of: Floats  # [0]: before this time the job at hand cannot start; [1]: the start of the job planned last
    pool: Ints  # per pool: what is free at the time that is looked at
    walked_pool: Ints  # scratch: a walk through a job's run
    least_pool: Ints  # per pool: the least during that run


@by_reference
class Work(NamedTuple):
    """The state of shared nodes, from which the event loop continues at its next call."""

    number: Ints  # indexed by Number
    now: Stock  # what is free now
    later: Stock  # what is free at the shadow time beside the head's reservation
    both: Stock  # the least of `now` and `later`; in a conservative pass the least during a job's run
    held: Held
    planned: PlannedJobs
    present: Held  # what jobs that run at t0 hold
    gone: Gone
    line: Line
    bound: Ints  # per kind: an upper bound on its tasks that fit now
    freed: Ints  # nodes that jobs have left since the last pass; if all entries are in use, perhaps more
    room: Ints  # scratch, per group: tasks of a job that fit
    fit: Ints  # scratch, per node: tasks of a job that fit
    order: Ints  # scratch: a heap of nodes
    ended: Ints  # per group: index in `Closures.of_group` of its first closure that has not ended
    on: Ints  # counter x node: jobs of the counter on the node
    left: Ints  # per counter: on how many more nodes its jobs may be
