"""Jobs over a limit that sleep by kinds: what is found in the queue is as if all stood there, at a cost that is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.plain import begun, jobs, plain
from support.tiers import tries

import fedsched as fs
from fedsched.engine.queue.parked_jobs import LONGEST, ORDERS, PARKED, UNPARKED
from fedsched.engine.queue.queue_tree import ABSENT

limits = plain("fedsched.engine.optional_features.limits")
parked_jobs = plain("fedsched.engine.queue.parked_jobs")
queues = plain("fedsched.engine.queue.queue_tree")
loop = plain("fedsched.engine.loop.event_loop")
events = plain("fedsched.engine.loop.events")
RULES = ("strict", "greedy", "local", "easy", "conservative", "lookahead")
TWO = fs.Federation((fs.Cluster("c", (fs.NodeGroup(8),)),), limits=(fs.Limit("user", jobs=2),))


def crowded(rng: np.random.Generator, count: int) -> fs.Workload:
    """Return jobs of few users, of few sizes and times, some in arrays of which few tasks may run together."""
    several = rng.random() < 0.5
    return fs.Workload(
        submit=np.sort(rng.integers(0, 30, count)).astype(float),
        tasks=rng.integers(1, 6, count),
        runtime=rng.integers(1, 9, count).astype(float),
        estimate=rng.integers(2, 12, count).astype(float),
        user=rng.integers(0, 3, count),
        labels={"array": rng.choice(["", "a%2", "b%1"], count).tolist() if several else [""] * count},
        cancel_at=np.where(rng.random(count) < 0.2, 40.0, -1.0),
    )


@pytest.mark.parametrize("backfill", [None, "sjf"])
@pytest.mark.parametrize("rule", RULES)
def test_a_run_is_the_same_whether_they_sleep_or_not(rule: str, backfill: str | None) -> None:
    """Every start under every rule is that of a run in which all who wait are awake."""
    bound = (fs.Limit("user", jobs=2), fs.Limit("user", nodes=6))
    for seed in range(tries(8)):
        rng = np.random.default_rng(seed)
        work = crowded(rng, 30)
        outage = fs.Downtime("c", 5.0, 9.0, "8 of all", "outage", on_running="requeue")
        machine = replace(TWO, limits=bound, calendar=(outage,) * int(rng.integers(2)))
        found = []
        for sleep in (True, False):
            problem, plan, state = begun(work, machine, dispatch=rule, backfill_order=backfill, order="fcfs")
            if not sleep:
                limits.stop_parking(problem.extras, state.extras, state)
            asleep = 0
            while loop.run(problem, plan, state, 1, np.inf) not in (0, 2):
                asleep += int((state.extras.limited.sleepers.what == PARKED).sum())
            found.append(state.start.tolist())
            assert (asleep > 0) is sleep
        np.testing.assert_array_equal(*found)


def test_jobs_in_reservations_are_not_parked() -> None:
    """Jobs over a limit are parked, except those in a reservation, which have a queue of their own."""
    work = replace(jobs([1] * 6, [9.0] * 6, user=[1] * 6), labels={"reservation": ["", "", "r", "r", "r", "r"]})
    machine = replace(TWO, calendar=(fs.Downtime("c", 0.0, 90.0, "2 of all", "reservation", name="r"),))
    problem, plan, state = begun(work, machine, dispatch="greedy")
    loop.run(problem, plan, state, 1, np.inf)
    assert state.extras.limited.sleepers.what.tolist() == [PARKED, PARKED, 0, 0, UNPARKED, UNPARKED]


def test_one_stands_for_all_of_its_kind() -> None:
    """The first stands there as small and as short as the least; woken, it is itself, and the next one stands there."""
    work = jobs([1, 1, 5, 3, 4], [9.0, 9.0, 20.0, 30.0, 10.0], user=[1] * 5)
    problem, plan, state = begun(work, TWO, dispatch="easy")
    hidden = state.extras.limited.sleepers
    loop.run(problem, plan, state, 1, np.inf)
    assert hidden.what.tolist() == [0, 0, PARKED, PARKED, PARKED]
    assert state.queue.tasks[1] == ABSENT
    events.take_events(problem, plan, state, 9.0)
    leaves = state.queue.tasks.size >> 1
    assert state.queue.tasks[leaves + 2 : leaves + 5].tolist() == [3, ABSENT, ABSENT]
    assert state.queue.shortest[leaves + 2] == 10.0
    assert limits.expand_entry(problem.extras, state.extras, state, state.queue.order, 2)
    assert state.queue.tasks[leaves + 2 : leaves + 5].tolist() == [5, 3, ABSENT]
    assert state.queue.shortest[leaves + 2 : leaves + 4].tolist() == [20.0, 10.0]
    assert hidden.what.tolist() == [0, 0, UNPARKED, PARKED, PARKED]
    assert not limits.expand_entry(problem.extras, state.extras, state, state.queue.order, 2)
    assert not limits.expand_entry(problem.extras, state.extras, state, state.queue.order, -1)


def test_who_sleeps_may_be_cancelled() -> None:
    """Whoever stands for others and is cancelled leaves that to the next one; nobody is left to stand for at last."""
    work = jobs([1, 1, 2, 3], [9.0, 20.0, 5.0, 5.0], user=[1] * 4, cancel_at=[-1.0, -1.0, 9.0, 8.0])
    problem, plan, state = begun(work, replace(TWO, limits=(fs.Limit("user", jobs=1),)), dispatch="greedy")
    loop.run(problem, plan, state, 1, np.inf)
    assert state.extras.limited.waiting.tolist() == [3]
    events.take_events(problem, plan, state, 8.0)
    assert state.extras.limited.sleepers.what.tolist() == [0, PARKED, PARKED, 0]
    limits.give_back(problem.extras, state.extras, state, 0)  # as the first one's end does
    leaves = state.queue.tasks.size >> 1
    assert state.queue.tasks[leaves : leaves + 4].tolist() == [ABSENT, 1, ABSENT, ABSENT]
    queues.dequeue(problem, plan, state, 1)
    assert limits.note_left(problem.extras, state.extras, state, 1)
    assert state.queue.tasks[leaves : leaves + 4].tolist() == [ABSENT, ABSENT, 2, ABSENT]
    queues.dequeue(problem, plan, state, 2)
    assert limits.note_left(problem.extras, state.extras, state, 2)
    assert state.queue.tasks[1] == ABSENT


@pytest.mark.parametrize("rule", RULES)
def test_an_array_costs_what_it_starts(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the tasks of an array with a limit change little more than twice as much in the trees of the queue."""
    changed = [0]
    plain_leaf = queues.set_leaf

    def counted(*given: object) -> None:
        changed[0] += 1
        plain_leaf(*given)

    for module in (parked_jobs, limits, queues):
        monkeypatch.setattr(module, "set_leaf", counted)
    costs = []
    for count in (40, 80, 160):
        work = jobs([1] * count, [10.0] * count, labels={"array": ["a%2"] * count})
        problem, plan, state = begun(work, fs.Federation.homogeneous(2), dispatch=rule)
        changed[0] = 0
        while loop.run(problem, plan, state, 1000, np.inf) != 0:
            pass
        assert state.start.max() == 10.0 * (count // 2 - 1)
        costs.append(changed[0])
    assert costs[2] - costs[1] <= 2.1 * (costs[1] - costs[0])


def test_where_places_change_all_are_awake() -> None:
    """Orders that change with time let nobody sleep, nor does a queue whose places were changed."""
    work = jobs([1] * 4, [10.0] * 4, user=[1] * 4)
    one = replace(TWO, limits=(fs.Limit("user", jobs=1),))
    for rules in ({"order": "xfactor"}, {"backfill_order": "wfp3", "dispatch": "easy"}):
        problem, plan, state = begun(work, one, **rules)
        loop.run(problem, plan, state, 1, np.inf)
        assert state.extras.limited.sleepers.number[[ORDERS, LONGEST]].tolist() == [0, 4]
        assert state.extras.limited.sleepers.what.tolist() == [0, UNPARKED, UNPARKED, UNPARKED]
    problem, plan, state = begun(work, one)
    loop.run(problem, plan, state, 1, np.inf)
    assert state.extras.limited.sleepers.what.tolist() == [0, PARKED, PARKED, PARKED]
    limits.give_back(problem.extras, state.extras, state, 0)
    limits.unpark_all(problem.extras, state.extras, state)
    assert state.extras.limited.sleepers.what.tolist() == [0, UNPARKED, UNPARKED, UNPARKED]
    leaves = state.queue.tasks.size >> 1
    assert state.queue.tasks[leaves : leaves + 4].tolist() == [ABSENT, 1, 1, 1]
