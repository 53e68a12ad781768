"""Pools, one call at a time, and under each dispatch rule: cases worked out by hand from readings 30 and 31."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from support.plain import NO_CALENDAR, NOTHING_CLOSED, begun, jobs, nothing_of, plain

import fedsched as fs
from fedsched.engine.arrays.structs import (
    Draw,
    Extras,
    ExtraState,
    Limited,
    Limits,
    Lost,
    Pools,
    PoolsLeft,
    Precedence,
    Waiting,
)
from fedsched.engine.loop.feature_flags import MORE
from fedsched.engine.optional_features.cancellations import Cancellations, Cancelled
from fedsched.engine.optional_features.holds import HeldJobs, Holds
from fedsched.engine.optional_features.moldable import Moldable, Molded
from fedsched.engine.optional_features.power_caps import PowerCapState
from fedsched.engine.optional_features.power_states import Powered
from fedsched.engine.optional_features.reservation_queues import ReservationMembers, ReservationQueues
from fedsched.engine.pack.power_cap_arrays import no_power_caps
from fedsched.engine.placement.tasks_per_node import TasksPerNode
from fedsched.model.schedule.node_stack import Saving, new_stacks

pools = plain("fedsched.engine.optional_features.pools")
BREAKPOINTS = 4


def two_pools(*needs: tuple[int, int]) -> tuple[Extras, ExtraState]:
    """Return jobs with these needs of two pools, of which there are 5 and 3, all left."""
    before, after = (nothing_of(Precedence), NO_CALENDAR), (Limits, ReservationMembers, Cancellations, Holds, Moldable)
    of_one_tier = np.zeros(0, dtype=np.int64)
    parts = (
        *before, *map(nothing_of, after), of_one_tier, nothing_of(Saving), no_power_caps(), nothing_of(TasksPerNode)
    )
    extras = Extras(Pools(np.array([5, 3]), np.array(needs)), *parts, MORE)
    left = PoolsLeft(*(np.zeros(2, dtype=np.int64) for _ in range(3)), np.zeros((2, BREAKPOINTS), dtype=np.int64))
    others = (nothing_of(part) for part in (Lost, Draw, Limited, ReservationQueues, Cancelled, HeldJobs, Molded))
    nothing = np.zeros(0, dtype=np.int64)
    powered = Powered(new_stacks(0, 0, 0, paced=False), np.zeros(0), np.zeros(0), np.zeros(0), nothing, np.zeros(2))
    state = ExtraState(left, nothing_of(Waiting), NOTHING_CLOSED, *others, powered, nothing_of(PowerCapState))
    pools.reset(extras, state)
    return extras, state


def machine(nodes: int, **amounts: int) -> fs.Federation:
    """Return one cluster with pools."""
    whole = fs.Federation.homogeneous(nodes)
    return fs.Federation(whole.clusters, pools=[fs.Pool(name, amount) for name, amount in amounts.items()])


def hooks() -> list[str]:
    """Return the names of the functions that the engine calls."""
    own = [one for _, one in inspect.getmembers(pools, inspect.isfunction) if one.__module__ == pools.__name__]
    return [one.__name__ for one in own if "extras" in inspect.signature(one).parameters]


@pytest.mark.parametrize("name", hooks())
def test_without_extras_nothing_is_done(name: str) -> None:
    """Where a problem has no extras, every hook does nothing, and says that nothing stands in the way."""
    hook = getattr(pools, name)
    given = [None, None, *[0] * 9][: len(inspect.signature(hook).parameters)]
    assert hook(*given) in {"is_blocked": (False,), "bits": (0,), "needed": (0,)}.get(name, (None, True))


def test_what_a_job_takes_is_missing_until_it_gives_it_back() -> None:
    """A job fits while enough of every pool is left, one that needs nothing always."""
    extras, state = two_pools((4, 1), (2, 0), (0, 3), (0, 0))
    pools.take(extras, state, 0)
    assert state.pools.free.tolist() == [1, 2]
    assert [pools.suffice(extras, state, j) for j in range(4)] == [False, False, False, True]
    pools.give_back(extras, state, 0)
    assert [pools.suffice(extras, state, j) for j in range(4)] == [True] * 4


def test_waiting_jobs_hold_the_pools_that_they_need() -> None:
    """Whoever needs a pool that a waiting job needs is held, until the next pass begins."""
    extras, state = two_pools((1, 0), (1, 1), (0, 1))
    pools.block(extras, state, 0)
    assert [pools.is_blocked(extras, state, j) for j in range(3)] == [True, True, False]
    pools.unblock_all(extras, state)
    assert not pools.is_blocked(extras, state, 0)


def test_the_reservation_counts_what_comes_back_by_then() -> None:
    """At the shadow time there is what is left now and what ends by then, less what is reserved."""
    extras, state = two_pools((4, 3), (3, 0), (2, 0))
    pools.take(extras, state, 0)
    pools.look_ahead(extras, state)
    assert not pools.suffice_then(extras, state, 1)
    pools.look_past(extras, state, 0)
    assert state.pools.extra.tolist() == [5, 3]
    pools.reserve(extras, state, 1)
    assert state.pools.extra.tolist() == [2, 3]
    assert pools.suffice_then(extras, state, 2)
    assert not pools.suffice_then(extras, state, 1)
    assert state.pools.free.tolist() == [1, 0]  # now is another matter


def test_a_window_of_a_plan_needs_enough_at_each_of_its_breakpoints() -> None:
    """What is planned is a step function: a breakpoint begins as the one before it, and a window is half open."""
    extras, state = two_pools((4, 3), (2, 0))
    times = np.array([0.0, 10.0, 20.0, 30.0])
    pools.take(extras, state, 0)
    pools.begin_profile(extras, state)
    pools.repeat_breakpoint(extras, state, 1)
    pools.end_at(extras, state, 1, 0)
    pools.insert_breakpoint(extras, state, 2, 2)
    pools.reserve_over(extras, state, 0, 2, 3)
    pools.insert_breakpoint(extras, state, 3, 3)
    pools.end_at(extras, state, 3, 0)
    assert state.pools.planned.tolist() == [[1, 5, 1, 5], [0, 3, 0, 3]]

    def fits(begin: int, end: float) -> bool:
        return pools.suffice_until(extras, state, times, 4, 1, begin, end)

    assert [fits(0, 10.0), fits(1, 20.0), fits(1, 20.5), fits(2, 30.0), fits(3, 99.0)] == [
        False, True, False, False, True,
    ]  # fmt: skip
    assert fits(1, 10.0)  # a window holds its begin, however short it is
    pools.move_breakpoints(extras, state, 2, 0, 2)
    assert state.pools.planned[:, :2].tolist() == [[1, 5], [0, 3]]


def starts(dispatch: str, nodes: int, workload: fs.Workload, **amounts: int) -> list[float]:
    """Return when each job starts."""
    schedule = fs.simulate(workload, machine(nodes, **amounts), fs.Rules(dispatch=dispatch))
    schedule.verify(claimed=schedule.metrics())
    return schedule.start.tolist()


# Six nodes and two licences: 0 takes both for 10 s, 1 wants one, 2 and 3 none, 3 runs longer than 0; 4 wants one.
NEEDS = {"lm": [2, 1, 0, 0, 1]}
QUEUE = jobs([1, 1, 1, 1, 1], [10.0, 5.0, 4.0, 30.0, 20.0], pools=NEEDS)


@pytest.mark.parametrize(
    ("dispatch", "expected"),
    [
        ("strict", [0, 10, 10, 10, 10]),  # the head waits for its licence, and all wait for the head
        ("greedy", [0, 10, 0, 0, 10]),  # whoever needs none passes
        ("local", [0, 10, 10, 10, 10]),  # one cluster, one queue
        ("easy", [0, 10, 0, 0, 10]),  # nodes suffice for all: only licences are short
        ("lookahead", [0, 10, 0, 0, 10]),
        ("conservative", [0, 10, 0, 0, 10]),
    ],
)
def test_jobs_wait_for_licences_as_the_rule_has_it(dispatch: str, expected: list[float]) -> None:
    """A licence that is missing blocks, or is passed by, as a node that is missing would be."""
    assert starts(dispatch, 6, QUEUE, lm=2) == expected


@pytest.mark.parametrize("dispatch", ["easy", "lookahead", "conservative"])
def test_a_reserved_licence_is_not_taken_by_who_comes_late(dispatch: str) -> None:
    """The head has licences reserved; a job that would still hold one then waits, one that is done by then does not."""
    queue = jobs([1, 1, 1, 1], [10.0, 5.0, 20.0, 9.0], pools={"lm": [1, 3, 1, 1]})
    assert starts(dispatch, 8, queue, lm=3) == [0.0, 10.0, 15.0, 0.0]
    assert starts("greedy", 8, queue, lm=3) == [0.0, 20.0, 0.0, 0.0]


def test_local_queues_keep_the_order_of_a_pool() -> None:
    """On two clusters a licence's queue is one: who waits for it on one keeps it from those behind on the other."""
    whole = fs.Federation.of(2, 2)
    shared = fs.Federation(whole.clusters, pools=(fs.Pool("lm", 2),))
    workload = fs.Workload(
        submit=[0.0] * 4, tasks=[1, 1, 1, 1], runtime=[10.0, 5.0, 5.0, 5.0], pools={"lm": [1, 2, 1, 0]},
        allowed=[[True, False], [True, False], [False, True], [False, True]], sites=("C1", "C2"),
    )  # fmt: skip
    schedule = fs.simulate(workload, shared, fs.Rules(dispatch="local"))
    assert schedule.start.tolist() == [0.0, 10.0, 15.0, 15.0]  # the last one is behind the third on its cluster
    free = fs.simulate(workload, whole, fs.Rules(dispatch="local"))
    assert free.start.tolist() == [0.0, 0.0, 0.0, 0.0]


def test_jobs_that_run_already_hold_their_pools() -> None:
    """A run that starts in the midst of another one begins with what its jobs hold."""
    workload = jobs([1, 1], [10.0, 5.0], submit=[0.0, 4.0], pools={"lm": [1, 1]})
    federation = machine(4, lm=1)
    problem, _, state = begun(workload, federation, dispatch="easy")
    assert problem.extras is not None
    assert state.extras is not None
    assert state.extras.pools.free.tolist() == [1]
    running = plain("fedsched.engine.loop.running")
    state.counts[0, 0] = 1
    state.finish[0] = state.planned_end[0] = 10.0
    running.enter(problem, state, 0)
    assert state.extras.pools.free.tolist() == [0]
    running.release(problem, state, 0)
    assert state.extras.pools.free.tolist() == [1]
