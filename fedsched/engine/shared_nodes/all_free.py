"""What fits while all nodes are free, and the state of the nodes as a run begins or is resumed [36]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, kernel
from fedsched.engine.numbers import Counter
from fedsched.engine.shared_nodes import closing, counted, line
from fedsched.engine.shared_nodes.allocations import hold_again
from fedsched.engine.shared_nodes.arrays import Number
from fedsched.engine.shared_nodes.choosing import choose
from fedsched.engine.shared_nodes.fitting import fits_ever
from fedsched.engine.shared_nodes.stock import measure_room, open_all

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, State
    from fedsched.engine.shared_nodes.arrays import Ints, Sharing, Work

NO_JOB = constant(-1)


@inlined
def begin(problem: Problem, state: State, sharing: Sharing, work: Work) -> None:
    """Reset for a run: all nodes are free, no job waits, and downtimes are processed until t0."""
    work.number[:] = 0
    line.begin(work)
    open_all(sharing, work.now)
    counted.open_all(sharing, work)
    closing.open_all(problem.extras, state.extras, sharing, work, problem.t0)


@kernel
def first_unfit(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> int:
    """Return the first job that does not fit even while all nodes are free; -1 if each job fits.

    Of jobs of one kind only the first is tested.
    """
    state.load[:] = 0.0
    open_all(sharing, work.now)
    tested = work.bound  # scratch, per kind, 1: one of its jobs has been tested
    tested[:] = 0
    for j in problem.arrival:
        kind = sharing.kinds.of_job[j]
        if tested[kind] == 0:
            tested[kind] = 1
            if not fits_ever(problem, plan, state, sharing, work, j):
                return j
    return NO_JOB


@kernel
def first_over(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> int:
    """Return the first job that gets too many or too few nodes while all nodes are free; -1 if there is none.

    The bounds are those of limits and of the job's partition. `Number.FOUND` is then the number of nodes that the job
    gets. Every job must fit while all nodes are free: see `first_unfit`.
    """
    state.load[:] = 0.0
    open_all(sharing, work.now)
    counted.open_all(sharing, work)
    work.number[Number.PIECES] = 0
    work.number[Number.DEVICES] = 0
    tested = work.bound
    tested[:] = 0
    for j in problem.arrival:
        kind = sharing.kinds.of_job[j]
        if tested[kind] == 0:
            tested[kind] = 1
            fits_ever(problem, plan, state, sharing, work, j)
            choose(sharing, work, work.now, kind, state.scratch.chosen)
            if not counted.suffice(sharing, work, j):
                return j
    return NO_JOB


@kernel
def rooms(sharing: Sharing, work: Work, room: Ints) -> None:
    """Fill `room` (kind x group): how many tasks of a kind fit on a group while all nodes are free.

    If there is one group, counting stops as soon as all tasks of a job fit.
    """
    open_all(sharing, work.now)
    for kind in range(room.shape[0]):
        measure_room(sharing, work.now, kind, room[kind])


@kernel
def take_up(state: State, sharing: Sharing, work: Work) -> None:
    """Set what is free on the nodes of a resumed run: running jobs hold what `work.held` says, all else is free."""
    open_all(sharing, work.now)
    counted.open_all(sharing, work)
    for place in range(state.counter[Counter.RUNNING]):
        if state.ends.released[state.heap.job[place]] == 0:
            hold_again(sharing, work, state.heap.job[place])
