"""Newcomers: a pass looks only at who has joined since the last one, and starts whom a look at all would start."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from engine.dispatch.test_greedy import started
from support.backfilled import outrunning, rules
from support.plain import arrived, begun, clusters, jobs, plain
from support.tiers import tries

import fedsched as fs
from fedsched.engine.numbers import Clock, Counter

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, State

backfill = plain("fedsched.engine.dispatch.easy")
events = plain("fedsched.engine.loop.events")
loop = plain("fedsched.engine.loop.event_loop")
queues = plain("fedsched.engine.queue.queue_tree")
incremental_pass = plain("fedsched.engine.queue.incremental_pass")
TEN = fs.Federation.homogeneous(10)
THRIFTY = fs.Federation((fs.Cluster("cluster", (fs.NodeGroup(10, off_watts=0.0),)),), power=fs.policies.Timeout(1e6))
PARTS = (fs.Partition("all", {"cluster": "all"}), fs.Partition("most", {"cluster": "0-6"}))


def passed(
    submit: float, seconds: float, federation: fs.Federation = TEN, **options: object
) -> tuple[Problem, Plan, State]:
    """Return 10 nodes of which 6 run until 10 s, a head of 8 and a job that was refused; another joins later."""
    work = jobs([6, 8, 4, 3], [10.0, 5.0, 99.0, seconds], submit=[0.0, 0.0, 0.0, submit], user=[1, 1, 1, 1])
    problem, plan, state = arrived(work, federation, **{"dispatch": "easy", **options})
    backfill.backfill_around_head(problem, plan, state)
    assert started(state) == [0]
    return problem, plan, state


def join(problem: Problem, plan: Plan, state: State, now: float) -> list[int]:
    """Let whoever is submitted by now join, and return who has started after one more pass."""
    state.clock[Clock.NOW] = now
    events.arrive_all(problem, plan, state)
    backfill.backfill_around_head(problem, plan, state)
    return started(state)


def test_only_who_has_joined_since_is_looked_at() -> None:
    """[11] The job that was refused would fit now, were it looked at; the one that has joined since starts."""
    problem, plan, state = passed(1.0, 9.0)
    assert (state.clock[Clock.SHADOW], state.counter[Counter.FREE_BEFORE]) == (10.0, 4)
    state.scratch.extra[0] = 4  # as if the head left as much
    assert join(problem, plan, state, 1.0) == [0, 3]


def test_what_lasts_takes_of_what_the_reservation_left() -> None:
    """[11] Two nodes are left beside the head: who joins and lasts takes them, and the next one finds none."""
    work = jobs([6, 8, 2, 1], [10.0, 5.0, 99.0, 99.0], submit=[0.0, 0.0, 1.0, 2.0])
    problem, plan, state = arrived(work, TEN, dispatch="easy")
    backfill.backfill_around_head(problem, plan, state)
    assert state.clock[Clock.SHADOW] == np.inf  # nobody could have started, so nothing is reserved
    assert join(problem, plan, state, 1.0) == [0, 2]
    assert incremental_pass.is_incremental(state)
    assert join(problem, plan, state, 2.0) == [0, 2]
    assert incremental_pass.is_incremental(state)


def test_it_falls_when_nodes_are_given_back_or_its_time_has_come() -> None:
    """What is free has become more, or the head's planned start is now: all are looked at anew."""
    _, _, state = passed(1.0, 9.0)
    assert incremental_pass.is_incremental(state)
    state.counter[Counter.FREE] += 1
    assert not incremental_pass.is_incremental(state)
    state.counter[Counter.FREE] -= 1
    state.clock[Clock.NOW] = 10.0
    assert not incremental_pass.is_incremental(state)
    state.clock[Clock.NOW] = 9.0
    assert incremental_pass.is_incremental(state)
    incremental_pass.reset(state)
    assert not incremental_pass.is_incremental(state)


def test_it_falls_when_somebody_joins_before_the_head() -> None:
    """[11] A job that comes first in the queue is the new head; one behind the head leaves it as it is."""
    problem, plan, state = passed(1.0, 1.0, order=[0, 1, 3, 2])
    assert join(problem, plan, state, 1.0) == [0, 3]
    assert incremental_pass.is_incremental(state)
    problem, plan, state = passed(1.0, 1.0, order=[0, 3, 1, 2])
    state.clock[Clock.NOW] = 1.0
    events.arrive_all(problem, plan, state)
    assert state.counter[Counter.PLAN_HOLDS] == 0
    backfill.backfill_around_head(problem, plan, state)
    assert started(state) == [0, 3]


def test_the_scan_begins_where_the_first_of_those_who_joined_stands() -> None:
    """Of several that have joined, the first place of the backfill queue counts."""
    work = jobs([6, 8, 4, 1, 1], [10.0, 5.0, 99.0, 9.0, 9.0], submit=[0.0, 0.0, 0.0, 1.0, 1.0])
    problem, plan, state = arrived(work, TEN, dispatch="easy", backfill_order=[1, 4, 3, 2, 0])
    backfill.backfill_around_head(problem, plan, state)
    assert state.counter[Counter.JOINED_FROM] == 5
    state.clock[Clock.NOW] = 1.0
    events.arrive_all(problem, plan, state)
    assert state.counter[Counter.JOINED_FROM] == 1
    backfill.backfill_around_head(problem, plan, state)
    assert started(state) == [0, 4, 3]


@pytest.mark.parametrize(
    ("federation", "options"),
    [
        (clusters(((5, 1.0),), ((5, 1.0),)), {}),
        (TEN, {"placement": "efficient"}),
        (TEN, {"order": "wfp3"}),
        (TEN, {"backfill_order": "wfp3"}),
        (replace(TEN, limits=(fs.Limit("user", jobs=3),)), {}),
        (replace(TEN, signals=(fs.Signal((0.0,), (1e6,), "W", beyond="last"),)), {}),
        (THRIFTY, {}),
    ],
)
def test_where_more_than_nodes_counts_it_does_not_stand(federation: fs.Federation, options: dict[str, object]) -> None:
    """Several clusters, thrift, changing orders, limits, caps and nodes that boot: all are looked at."""
    _, _, state = passed(1.0, 9.0, federation, **options)
    assert state.counter[Counter.PLAN_HOLDS] == 0


def one_closed(begin: float, end: float, nodes: str = "1 of all", **words: object) -> fs.Downtime:
    """Return a downtime of a node, which is known beforehand, or another one."""
    return fs.Downtime("cluster", begin, end, nodes, **{"kind": "maintenance", **words})


@pytest.mark.parametrize(
    ("downtimes", "at"),
    [
        ((one_closed(5.0, 600.0),), 5.0),
        ((one_closed(0.0, 5.0),), 5.0),
        ((one_closed(0.0, 5.0), one_closed(5.0, 600.0)), 5.0),
        ((one_closed(50.0, 60.0, known_from=5.0),), 5.0),
        ((one_closed(1.0, 600.0, "all", kind="outage"),), 10.0),
    ],
)
def test_it_falls_when_nodes_close_or_open_or_pay(downtimes: tuple[fs.Downtime, ...], at: float) -> None:
    """[39, 40] As many may be free as before, but not as many later: a page was turned, or who has ended has paid."""
    problem, plan, state = passed(99.0, 9.0, replace(TEN, calendar=downtimes))
    events.take_events(problem, plan, state, 2.0)
    backfill.backfill_around_head(problem, plan, state)
    events.take_events(problem, plan, state, 4.0)
    assert incremental_pass.is_incremental(state)
    events.take_events(problem, plan, state, at)
    assert not incremental_pass.is_incremental(state)


def test_a_queue_in_another_order_has_no_reservation_that_stands() -> None:
    """Whoever gives jobs other places or caps ends what stands."""
    problem, plan, state = passed(1.0, 9.0)
    jobs, places, others = np.array([2, 1]), np.array([1, 2]), np.array([], dtype=int)
    plain("fedsched.engine.run.decisions").reorder_queued(problem, plan, state, jobs, places, others)
    assert not incremental_pass.is_incremental(state)


def drawn_calendar(rng: random.Random) -> tuple[fs.Downtime, ...]:
    """Return downtimes, known and not, by which jobs wait or are queued again."""
    downtimes = []
    for _ in range(rng.randint(1, 4)):
        begin = float(rng.randint(0, 80))
        words: dict[str, object] = {"kind": "maintenance", "known_from": rng.choice((-np.inf, begin - 7.0))}
        if rng.random() < 0.5:
            words = {"kind": "outage", "on_running": rng.choice(("wait", "requeue"))}
        nodes = f"{rng.randint(1, 3)} of all"
        downtimes.append(fs.Downtime("cluster", begin, begin + rng.randint(1, 30), nodes, **words))
    return tuple(downtimes)


def drawn(rng: random.Random) -> tuple[fs.Workload, fs.Federation, dict[str, object]]:
    """Return jobs, some of which outrun their estimates, a cluster with parts, pools, downtimes, two speeds; rules."""
    count = rng.randint(5, 40)
    runtime = [float(rng.randint(1, 30)) for _ in range(count)]
    groups = (fs.NodeGroup(4, rng.choice((1.0, 2.0))), fs.NodeGroup(6))
    machine = replace(TEN, clusters=(replace(TEN.clusters[0], groups=groups),), pools=(fs.Pool("licence", 3),))
    columns: dict[str, object] = {}
    if rng.random() < 0.5:
        machine = replace(machine, partitions=PARTS)
        columns["labels"] = {"partition": [rng.choice(("all", "most")) for _ in range(count)]}
    if rng.random() < 0.5:
        columns["pools"] = {"licence": [rng.choice((0, 0, 1, 2)) for _ in range(count)]}
    if rng.random() < 0.5:
        machine = replace(machine, calendar=drawn_calendar(rng))
    tasks = [rng.choice((1, 1, 2, 3, 5, 7)) for _ in range(count)]
    work = outrunning(rng, tasks, runtime, **columns)
    return work, machine, rules(rng, (None, None, "sjf", "wfp3"))


def test_the_same_jobs_start_as_where_all_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """[11] Random logs: every start is that of passes that never rely on the one before; many do rely on it."""
    rng, relied = random.Random(0), 0
    are_enough = incremental_pass.is_incremental

    def counted(state: State) -> bool:
        nonlocal relied
        relied += are_enough(state)
        return are_enough(state)

    for _ in range(tries(120)):
        work, machine, chosen = drawn(rng)
        starts = []
        for answer in (counted, lambda state: False):
            monkeypatch.setattr(incremental_pass, "is_incremental", answer)
            problem, plan, state = begun(work, machine, **chosen)
            loop.run(problem, plan, state, 10_000, np.inf)
            starts.append(state.start.tolist())
        assert starts[0] == starts[1]
        assert not np.isnan(starts[0]).any()
    assert relied > tries(120)
