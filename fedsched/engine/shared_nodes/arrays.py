"""What the loop of shared nodes works on beside the engine's own arrays: nodes, kinds of jobs, and what is free."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference, constant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

WHOLE = constant(1000)  # thousandths of a GPU


class Choice(IntEnum):
    """Which nodes of a group come first."""

    FIRST = 0
    BEST = 1
    LEAST_LOADED = 2
    PACK = 3
    SPREAD = 4
    BLOCK = 5
    GAINED = 6  # of a reservation: where the fewest tasks fit now


class Reservation(IntEnum):
    """What planned ends free."""

    RESOURCES = 0
    NODES = 1


@by_reference
class Nodes(NamedTuple):
    """The nodes, counted through the federation group by group."""

    first: Ints  # of each group, and one past the last
    group: Ints  # of each node
    number: Ints  # of each node: its own one, by which nodes are side by side
    has: Ints  # resource x group
    gpus: Ints  # devices of each group's nodes


@by_reference
class Kinds(NamedTuple):
    """Jobs that are alike in all that decides where they fit."""

    of_job: Ints
    tasks: Ints
    need: Ints  # kind x resource: of a task
    share: Ints  # thousandths of one GPU that a task takes; 0: it takes whole ones, or none
    chunk: Ints  # tasks that stand together on a node; 0: any number
    alone: Ints  # 1: nobody else on its nodes
    opened: Ints  # kind x group: 1: its nodes may be used


@by_reference
class Closures(NamedTuple):
    """Downtimes in the orders in which they are looked at; without any they are of no size."""

    first: Ints  # of each group, and one past the last
    of_group: Ints  # group by group, by their begins
    by_end: Ints  # those that are planned to end, by that
    planned_end: Floats  # theirs


@by_reference
class Counted(NamedTuple):
    """What counts the nodes that jobs are on; of no size where nothing does."""

    amount: Ints  # counter: the most nodes that its jobs may be on together
    first: Ints  # job: its counters stand from here to the next job's
    counter: Ints
    least: Ints  # job: on so many nodes it must be at least
    most: Ints  # job


@by_reference
class Sharing(NamedTuple):
    """What is shared, and how."""

    nodes: Nodes
    kinds: Kinds
    closures: Closures
    counted: Counted
    gpu: int  # which resource is counted in devices, or -1
    choice: int
    reservation: int
    leaf: Ints  # job: its place among those of its kind, in a fixed order
    begin: Ints  # kind: the first of these places


@by_reference
class Stock(NamedTuple):
    """What is free on every node."""

    free: Ints  # resource x node; of GPUs those that are wholly free
    jobs: Ints  # node: how many jobs are there
    left: Ints  # node x device: thousandths


@by_reference
class Held(NamedTuple):
    """What jobs hold on which nodes: a job's pieces stand together, and so do its devices."""

    first: Ints  # job
    pieces: Ints  # job
    node: Ints
    tasks: Ints
    first_device: Ints  # job
    devices: Ints  # job
    device_node: Ints
    device: Ints
    amount: Ints


@by_reference
class Gone(NamedTuple):
    """What lost runs held, a row a run: as in `Held`; where no downtime takes nodes from jobs of no size."""

    first: Ints
    pieces: Ints
    first_device: Ints
    devices: Ints


@by_reference
class Line(NamedTuple):
    """Who waits of each kind, in the order of the scan."""

    shortest: Floats  # binary tree over places: least planned duration; infinite where nobody waits
    job: Ints  # place -> job
    place: Ints  # job -> place
    waiting: Ints  # kind: how many
    kinds: Ints  # those of which somebody waits
    at: Ints  # kind: where it stands among these
    next: Ints  # kind: the place of its next candidate
    heap: Ints  # kinds, by their candidates' places in the queue
    beside: Ints  # kind: 1: it fits beside the head's reservation


class Number(IntEnum):
    """Whole numbers of the state."""

    PIECES = 0
    DEVICES = 1
    KINDS = 2  # of which somebody waits
    FREED = 3  # nodes since the last pass
    HEAP = 4
    FOUND = 5  # pieces of the choice at hand
    FOUND_DEVICES = 6
    BOUNDED = 7  # the kind whose bound is kept where only the head is looked at


@by_reference
class Work(NamedTuple):
    """Everything that the loop knows of shared nodes between two calls."""

    number: Ints
    now: Stock
    later: Stock  # when the head is to start, beside it
    both: Stock  # the least of both
    held: Held
    present: Held  # what jobs that run at t0 hold
    gone: Gone  # what runs held that came to nothing
    line: Line
    bound: Ints  # kind: tasks that fit now, at most
    freed: Ints
    room: Ints  # group: tasks of the job at hand that fit
    fit: Ints  # node: the same
    order: Ints  # a heap of nodes
    ended: Ints  # group: the first of its closures that has not ended
    on: Ints  # counter x node: how many of the counter's jobs are there
    left: Ints  # counter: on how many more nodes they may be
