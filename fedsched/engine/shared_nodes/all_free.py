"""What fits while all nodes are free, and the begin of a run: all nodes are free but for jobs that run at t0 [36]."""

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
    """Free all nodes, and close those that downtimes have closed by t0; no job waits."""
    work.number[:] = 0
    line.begin(work)
    open_all(sharing, work.now)
    counted.open_all(sharing, work)
    closing.open_all(problem.extras, state.extras, sharing, work, problem.t0)


@kernel
def first_unfit(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> int:
    """Return the first job that fits on no nodes even while all are free, or -1."""
    state.load[:] = 0.0
    open_all(sharing, work.now)
    tested = work.bound  # kind: 1 where one of it was tried
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
    """Return the first job that is given nodes, while all are free, that are too many or too few of them, or -1.

    Each fits while all nodes are free.
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
    """Fill how many tasks of each kind fit on each group while all nodes are free, or enough where there is one."""
    open_all(sharing, work.now)
    for kind in range(room.shape[0]):
        measure_room(sharing, work.now, kind, room[kind])


@kernel
def take_up(state: State, sharing: Sharing, work: Work) -> None:
    """Let what jobs that run hold be taken, and all else be free, as a run goes on of which no more is known."""
    open_all(sharing, work.now)
    counted.open_all(sharing, work)
    for place in range(state.counter[Counter.RUNNING]):
        hold_again(sharing, work, state.heap.job[place])
