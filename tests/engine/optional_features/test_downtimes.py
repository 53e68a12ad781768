"""Nodes that close, under each dispatch rule: cases worked out by hand from readings 38 to 40."""

from __future__ import annotations

import inspect
import math
from dataclasses import replace

import numpy as np
import pytest
from support.plain import begun, clusters, jobs, plain

import fedsched as fs
from fedsched.engine.numbers import Clock, ClosedNumber, Counter

calendar = plain("fedsched.engine.optional_features.downtimes")
FOUR = fs.Federation.homogeneous(4)


def closing(*downtimes: fs.Downtime, on: fs.Federation = FOUR) -> fs.Federation:
    """Return the machine with these downtimes."""
    return replace(on, calendar=downtimes)


def downtime(begin: float, end: float = math.inf, **words: object) -> fs.Downtime:
    """Return a downtime of the one cluster."""
    return fs.Downtime("cluster", begin, end, **words)


def starts(workload: fs.Workload, *downtimes: fs.Downtime, rule: str = "greedy", **options: object) -> list[float]:
    """Return when each job starts; the check and the metrics must agree."""
    schedule = fs.simulate(workload, closing(*downtimes), fs.Rules(dispatch=rule), **options)
    schedule.verify(claimed=schedule.metrics())
    return schedule.start.tolist()


def hooks() -> list[str]:
    """Return the names of the functions that the engine calls, whatever the problem."""
    own = [one for _, one in inspect.getmembers(calendar, inspect.isfunction) if one.__module__ == calendar.__name__]
    with_none = [one for one in own if "Extras | None" in str(inspect.signature(one))]
    return [one.__name__ for one in with_none if not one.__name__.startswith(("_", "place"))]


@pytest.mark.parametrize("name", hooks())
def test_without_extras_nothing_is_done(name: str) -> None:
    """Where a problem has no extras, every hook does nothing, and says that nothing stands in the way."""
    hook = getattr(calendar, name)
    rest = [None] * len(inspect.signature(hook).parameters)
    assert hook(*rest) in (None, False, np.inf) or name == "keeps_head_nodes"


# 0 ends before the downtime, 1 would run into it, 2 is as short as 0.
QUEUE = jobs([2, 2, 1], [8.0, 12.0, 2.0])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("strict", [0.0, 20.0, 20.0]),
        ("local", [0.0, 20.0, 20.0]),
        ("greedy", [0.0, 20.0, 0.0]),
        ("easy", [0.0, 20.0, 0.0]),
        ("lookahead", [0.0, 20.0, 0.0]),
        ("conservative", [0.0, 20.0, 0.0]),
    ],
)
def test_no_rule_starts_a_job_that_would_run_into_a_downtime(rule: str, expected: list[float]) -> None:
    """Whoever finds no gap is passed over, or holds up the others, as the rule has it."""
    assert starts(QUEUE, downtime(10.0, 20.0), rule=rule) == expected


@pytest.mark.parametrize("rule", ["strict", "greedy", "local", "easy", "conservative", "lookahead"])
@pytest.mark.parametrize("same_time", ["batch", "sequential"])
def test_a_job_may_end_as_a_downtime_begins_and_start_as_it_ends(rule: str, same_time: str) -> None:
    """Both are half open: one job fits exactly between two downtimes, the next starts when the second one is over."""
    two = jobs([4, 4], [10.0, 1.0], submit=[0.0, 1.0])
    assert starts(two, downtime(-5.0, 5.0), downtime(15.0, 25.0), rule=rule, same_time=same_time) == [5.0, 25.0]


def test_what_is_left_may_be_used() -> None:
    """A downtime of some of the nodes leaves the others; two at a time take both their numbers."""
    three = jobs([2, 2, 1], [10.0, 10.0, 10.0])
    assert starts(three, downtime(0.0, 5.0, nodes="2 of all")) == [0.0, 5.0, 10.0]
    assert starts(three, downtime(0.0, 5.0, nodes="2 of all"), downtime(3.0, 6.0, nodes="2 of all")) == [5.0, 6.0, 15.0]


def test_named_nodes_are_the_same_nodes_in_two_downtimes() -> None:
    """Two downtimes of the same nodes at a time take these once; as numbers of nodes they take both."""
    one = jobs([2], [4.0])
    assert starts(one, downtime(0.0, 5.0, nodes="0-1"), downtime(0.0, 9.0, nodes="0-1")) == [0.0]
    assert starts(one, downtime(0.0, 5.0, nodes="2 of all"), downtime(0.0, 9.0, nodes="2 of all")) == [5.0]


def test_an_outage_is_seen_when_it_begins_and_its_end_when_it_comes() -> None:
    """Nobody sees an outage coming; who runs goes on, and who is freed pays; without a known end none plans for it."""
    long = jobs([2, 2, 1], [12.0, 4.0, 2.0], submit=[0.0, 11.0, 11.0])
    down = downtime(10.0, 20.0, nodes="3 of all", kind="outage")
    # At 10 one node is free of the two that do not run, and is closed; at 12 job 0 ends, and one of its nodes is.
    assert starts(long, down) == [0.0, 20.0, 12.0]
    # EASY: whenever the head of two nodes may start is not known; the last node is for whoever comes.
    assert starts(long, down, rule="easy") == [0.0, 20.0, 12.0]
    foreseen = replace(down, known_from=0.0, end_known=True)
    assert starts(long, foreseen) == [20.0, 20.0, 11.0]


def test_a_downtime_that_is_known_later_counts_from_then_on() -> None:
    """Before `known_from` a job starts that will run into the downtime; from then on none does."""
    two = jobs([1, 1], [10.0, 10.0], submit=[0.0, 2.0])
    assert starts(two, downtime(5.0, 8.0, known_from=1.0)) == [0.0, 8.0]
    assert starts(two, downtime(5.0, 8.0, known_from=3.0)) == [0.0, 2.0]
    assert starts(two, downtime(5.0, 8.0)) == [8.0, 8.0]


def test_a_job_past_its_estimate_keeps_its_nodes_and_then_pays() -> None:
    """The downtime has what it is owed as soon as the job ends; nobody else gets it in between."""
    late = jobs([4, 1], [15.0, 2.0], estimate=[10.0, 2.0], submit=[0.0, 1.0])
    for rule in ("strict", "greedy", "easy", "conservative", "lookahead", "local"):
        assert starts(late, downtime(10.0, 20.0), rule=rule) == [0.0, 20.0]


def test_the_nodes_decide_how_long_a_job_runs() -> None:
    """On the fast nodes it would be done before the downtime, on the slow ones not: it waits for the fast ones."""
    two = replace(clusters(((2, 2.0),), ((2, 1.0),)), calendar=(fs.Downtime("c1", 10.0, 20.0),))
    queue = jobs([2, 2], [12.0, 12.0])
    schedule = fs.simulate(queue, two, fs.Rules(dispatch="greedy"))
    schedule.verify(claimed=schedule.metrics())
    assert schedule.start.tolist() == [0.0, 6.0]
    assert schedule.counts.tolist() == [[2, 0], [2, 0]]


def test_who_never_can_start_does_not_keep_the_run_from_ending() -> None:
    """Nodes that never come back leave a job no room; the others run, and the schedule says how many did."""
    queue = jobs([4, 1], [12.0, 5.0])
    drained = closing(downtime(10.0, nodes="1 of all", known_from=0.0))
    for rule, expected in (("greedy", [math.nan, 0.0]), ("easy", [math.nan, 0.0]), ("strict", [math.nan, math.nan])):
        schedule = fs.simulate(queue, drained, fs.Rules(dispatch=rule))
        np.testing.assert_array_equal(schedule.start, expected)
        assert not schedule.complete
        assert "nodes that stay closed leave the others no room" in schedule.notes[0]
        assert any("was never started" in line for line in schedule.violations())


def test_a_job_without_a_place_in_the_plan_starts_with_nobody_else() -> None:
    """[12] Conservative, one group: what is due is due for those who have a reservation; the others wait on."""
    queue = jobs([1, 4, 2, 1], [5.0, 5.0, 5.0, 2.0])
    half = downtime(0.0, 10.0, nodes="2 of all", kind="outage")  # whose end nobody knows: no place for the second job
    assert starts(queue, half, rule="conservative") == [0.0, 10.0, 5.0, 0.0]


def test_a_promise_is_looked_at_beside_what_closes_later() -> None:
    """[12] Conservative, two clusters: who is promised nodes beyond the next downtime leaves it in the plan."""
    two = replace(clusters(((2, 1.0),), ((3, 1.0),)), calendar=(fs.Downtime("c0", 30.0, 40.0),))
    first, second = [True, False], [False, True]
    where = [first, first, second, second, first, second, second]
    queue = jobs(
        [1, 1, 2, 2, 2, 1, 1], [10.0, 5.0, 10.0, 50.0, 25.0, 1.0, 3.0], sites=("c0", "c1"), allowed=np.array(where)
    )
    # At 0 the sixth starts behind the fourth and fifth, who are promised 10 and 40; at 1 the seventh does.
    schedule = fs.simulate(queue, two, fs.Rules(dispatch="conservative", placement="single"))
    schedule.verify(claimed=schedule.metrics())
    assert schedule.start.tolist() == [0.0, 0.0, 0.0, 10.0, 40.0, 0.0, 1.0]


@pytest.mark.parametrize("dispatch", ["greedy", "easy", "conservative"])
def test_a_planned_end_that_moves_is_looked_at_where_it_is(dispatch: str) -> None:
    """[5] A job that its uplinks slow is planned to end later: what is left as nodes close counts it from then."""
    pair = replace(
        clusters(((3, 1.0),), ((2, 1.0),), uplinks=[1.0, 1.0]),
        calendar=(fs.Downtime("c0", 12.0, 20.0, nodes="1 of all"),),
    )
    # Two jobs on a node of each cluster: together they load the uplinks twice, and take 20 in place of 10 seconds.
    either, first = [True, True], [True, False]
    queue = jobs(
        [2, 2, 1], [10.0, 10.0, 13.0], submit=[0.0, 0.0, 1.0], compute_fraction=[0.0, 0.0, 1.0],
        task_bandwidth=[1.0, 1.0, 0.0], sites=("c0", "c1"), allowed=np.array([either, either, first]),
    )  # fmt: skip
    caps = np.array([[1, 1], [1, 1], [3, 0]])
    schedule = fs.simulate(queue, pair, fs.Rules(dispatch=dispatch), caps=caps)
    schedule.verify(claimed=schedule.metrics())
    assert schedule.finish.tolist()[:2] == [20.0, 20.0]
    assert schedule.start[2] == 20.0


def test_what_is_left_at_the_lookouts_follows_each_start_and_end() -> None:
    """`left` counts what runs now and is planned to run then; known downtimes are off it, others not yet."""
    queue = jobs([3, 1], [12.0, 2.0])
    machine = closing(downtime(5.0, 6.0, nodes="1 of all"), downtime(10.0, 11.0, nodes="2 of all", kind="outage"))
    problem, plan, state = begun(queue, machine, dispatch="greedy")
    closed = state.extras.closed
    assert closed.left[:, 0].tolist() == [3, 4]
    assert problem.extras.calendar.lookout.tolist() == [5.0, 10.0]
    loop = plain("fedsched.engine.loop.event_loop")
    loop.run(problem, plan, state, 1, np.inf)  # both start, beside each other until 2
    assert closed.left[:, 0].tolist() == [0, 1]
    assert state.counter[Counter.FREE] == 0
    loop.run(problem, plan, state, 2, np.inf)  # 1 ends; at 5 one node closes
    assert state.counter[Counter.FREE] == 0
    assert closed.number[ClosedNumber.PAST] == 1
    assert closed.owed.tolist() == [0]


def test_the_first_lookout_after_a_time_is_found_wherever_it_is() -> None:
    """It is what a search over all of them finds, however far it is from those that are past."""
    lookouts = np.array([1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 55.0])
    for many in range(lookouts.size + 1):
        some = lookouts[:many]
        for time in (0.0, 1.0, 2.5, 3.0, 12.0, 34.0, 40.0, 55.0, np.inf):
            found = int(np.searchsorted(some, time, side="right"))
            assert [calendar.first_after(some, time, past) for past in range(found + 1)] == [found] * (found + 1)


def test_nothing_is_due_until_something_is_known_closed_or_opened() -> None:
    """An instant at which no page is turned asks only when the next one is."""
    known_later = downtime(10.0, 20.0, nodes="1 of all", known_from=5.0)
    problem, _, state = begun(jobs([1], [1.0]), closing(known_later, downtime(2.0, 3.0, nodes="1 of all")))
    closed, due = state.extras.closed, []
    for now in (1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 9.0, 10.0, 15.0, 20.0, 99.0):
        state.clock[Clock.NOW] = now
        due.append(calendar.is_due(closed, now))
        calendar.process_changes(problem.extras, state.extras, state)
        assert not calendar.is_due(closed, now)
    assert due == [False, True, False, True, False, True, False, True, False, True, False]


def test_energy_and_utilisation_are_of_the_whole_machine() -> None:
    """Closed nodes idle at idle power, and count; no capacity is lost on them."""
    machine = closing(
        downtime(0.0, 10.0, nodes="3 of all"), on=fs.Federation.homogeneous(4, busy_watts=200, idle_watts=100)
    )
    schedule = fs.simulate(jobs([1, 2], [10.0, 10.0]), machine, fs.Rules(dispatch="greedy"))
    measured = schedule.metrics()
    assert schedule.start.tolist() == [0.0, 10.0]
    assert measured.energy == 10 * (200 + 3 * 100) + 10 * (2 * 200 + 2 * 100)
    assert measured.utilisation == 30 / 80
    assert measured.loss_of_capacity == 0.0
