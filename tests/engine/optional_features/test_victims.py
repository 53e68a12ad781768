"""Jobs that lose their nodes as a downtime begins: cases worked out by hand from readings 42 and 67."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from reference import naive
from support.plain import jobs, plain

import fedsched as fs
from fedsched.core.errors import FederationError, InfeasibleError
from fedsched.engine.numbers import LostNumber
from fedsched.simulate import prepare

victims = plain("fedsched.engine.optional_features.victims")
FOUR = fs.Federation.homogeneous(4, busy_watts=200.0, idle_watts=50.0)
NEVER = math.nan


def outage(begin: float, end: float, nodes: int, becomes: str = "requeue", **words: object) -> fs.Downtime:
    """Return an outage of so many nodes that takes them from jobs."""
    return fs.Downtime("cluster", begin, end, f"{nodes} of all", "outage", on_running=becomes, **words)


def run(workload: fs.Workload, *downtimes: fs.Downtime, rule: str = "greedy", **options: object) -> fs.Schedule:
    """Return the schedule, which the check and its own metrics agree with."""
    schedule = fs.simulate(workload, replace(FOUR, calendar=downtimes), fs.Rules(dispatch=rule), **options)
    schedule.verify(claimed=schedule.metrics())
    return schedule


def lost(schedule: fs.Schedule) -> list[tuple[int, float, float, bool]]:
    """Return whose runs came to nothing, from when to when, and whether the job was queued again."""
    runs = schedule.lost
    ids = schedule.workload.id[runs.job].tolist()
    return list(zip(ids, runs.start.tolist(), runs.end.tolist(), runs.requeued.tolist(), strict=True))


def test_without_extras_nothing_is_done() -> None:
    """A plain problem has no downtimes."""
    assert victims._process_on_counted(None, None, None, None, None) is False
    assert victims._process_on_shared(None, None, None, None, None, None) is False


@pytest.mark.parametrize("rule", ["strict", "greedy", "local", "easy", "conservative", "lookahead"])
@pytest.mark.parametrize("same_time", ["batch", "sequential"])
def test_the_latest_job_runs_anew(rule: str, same_time: str) -> None:
    """Two of four nodes are free and three close: who started last makes room, and starts when they are back."""
    pair = jobs([1, 1], [20.0, 30.0], submit=[0.0, 5.0])
    schedule = run(pair, outage(10.0, 15.0, 3), rule=rule, same_time=same_time)
    assert schedule.start.tolist() == [0.0, 15.0]
    assert schedule.finish.tolist() == [20.0, 45.0]
    assert lost(schedule) == [(2, 5.0, 10.0, True)]
    metrics = schedule.metrics()
    assert (metrics.wasted_node_seconds, metrics.requeues) == (5.0, 1.0)
    assert metrics.busy_energy == 200.0 * (20 + 30 + 5)
    assert metrics.utilisation == (20 + 30 + 5) / (4 * 45)
    assert schedule.wait.tolist() == [0.0, 10.0]
    assert schedule.complete
    assert "queued again by downtimes: 1 job (2)" in schedule.remarks


def test_who_outran_its_request_loses_first() -> None:
    """The older job goes, for it should have been done by now; where none is late, the one that comes last."""
    pair = jobs([1, 1], [20.0, 30.0], submit=[0.0, 5.0], estimate=[8.0, 30.0])
    assert lost(run(pair, outage(10.0, 15.0, 3))) == [(1, 0.0, 10.0, True)]
    alike = jobs([1, 1, 1], [20.0] * 3, id=[7, 9, 8])
    assert lost(run(alike, outage(10.0, 15.0, 2))) == [(9, 0.0, 10.0, True)]
    assert lost(run(alike, outage(10.0, 15.0, 3))) == [(9, 0.0, 10.0, True), (8, 0.0, 10.0, True)]


def test_no_more_jobs_lose_than_it_takes() -> None:
    """A wide victim makes room enough for all, and what is left of its nodes may be used in the same pass."""
    mixed = jobs([1, 3, 2], [20.0, 20.0, 4.0], submit=[0.0, 1.0, 2.0])
    schedule = run(mixed, outage(10.0, 30.0, 1))
    assert lost(schedule) == [(2, 1.0, 10.0, True)]
    assert schedule.start.tolist() == [0.0, 20.0, 10.0]


@pytest.mark.parametrize("same_time", ["batch", "sequential"])
def test_who_ends_as_the_downtime_begins_has_ended(same_time: str) -> None:
    """Nobody loses what it gives up anyway; who ends later does."""
    pair = jobs([2, 2], [10.0, 11.0])
    schedule = run(pair, outage(10.0, 20.0, 4), same_time=same_time)
    assert lost(schedule) == [(2, 0.0, 10.0, True)]
    assert schedule.finish.tolist() == [10.0, 31.0]
    only = run(pair, outage(10.0, 20.0, 2), same_time=same_time)
    assert lost(only) == []
    assert only.metrics().requeues == 0.0


def test_older_downtimes_have_their_nodes_first() -> None:
    """What is owed to an outage that waits is not there for one that takes; what a victim frees pays both."""
    four = jobs([1, 1, 1, 1], [20.0, 21.0, 22.0, 23.0])
    waits = fs.Downtime("cluster", 5.0, 50.0, "1 of all", "outage")
    schedule = run(four, waits, outage(10.0, 60.0, 1))
    assert lost(schedule) == [(4, 0.0, 10.0, True)]
    assert schedule.start.tolist() == [0.0, 0.0, 0.0, 21.0]  # the first that ends pays what the other one is still owed


def test_downtimes_of_one_instant_take_one_after_the_other() -> None:
    """Each counts what the ones before it have closed."""
    four = jobs([1, 1, 1, 1], [20.0] * 4)
    schedule = run(four, outage(10.0, 12.0, 1), outage(10.0, 14.0, 2, "kill"))
    assert lost(schedule) == [(4, 0.0, 10.0, True), (3, 0.0, 10.0, False), (2, 0.0, 10.0, False)]
    assert schedule.metrics().requeues == 1.0


def test_what_began_by_t0_takes_nothing() -> None:
    """A run that goes on from a later time has its jobs where they are."""
    pair = jobs([2, 2], [30.0, 30.0])
    closing = outage(10.0, 40.0, 2)
    whole = replace(FOUR, calendar=(closing,))
    later = prepare(pair, FOUR, fs.Rules(dispatch="greedy")).advance(until=5.0)
    assert later.running().rows.tolist() == [0, 1]
    for t0, taken in ((5.0, 1), (10.0, 0)):
        running = later.running()._replace(time=t0)
        schedule = fs.simulate(pair, whole, fs.Rules(dispatch="greedy"), running=running)
        assert schedule.lost.runs == taken
        schedule.verify(claimed=schedule.metrics())


def test_a_killed_job_has_failed() -> None:
    """It never ends well: who waits for that never starts, who waits for its failure or its end does at once."""
    five = jobs([1] * 5, [20.0, 3.0, 3.0, 3.0, 3.0],
                after={2: "afterok:1", 3: "afternotok:1", 4: "afterany:1+2s", 5: "afterany:2"})  # fmt: skip
    schedule = run(five, outage(10.0, 12.0, 4, "kill"))
    np.testing.assert_array_equal(schedule.start, [NEVER, NEVER, 12.0, 12.0, NEVER])
    assert schedule.hopeless.tolist() == [False, True, False, False, True]
    assert lost(schedule) == [(1, 0.0, 10.0, False)]
    assert schedule.complete
    assert schedule.eligible[2:4].tolist() == [10.0, 12.0]
    assert schedule.metrics().mean_wait == 12.0  # of the two that ran to their ends
    assert schedule.makespan == 15.0
    assert "killed by downtimes: 1 job (1)" in schedule.remarks
    assert any("2 jobs (2, 5)" in line for line in schedule.remarks)


def test_who_ends_well_dooms_those_who_wait_for_its_failure() -> None:
    """Where downtimes kill, that is known only as the job ends; the run ends all the same."""
    three = jobs([1, 1, 1], [5.0, 3.0, 3.0], after={2: "afternotok:1", 3: "after:2"})
    schedule = run(three, outage(10.0, 12.0, 4, "kill"))
    np.testing.assert_array_equal(schedule.start, [0.0, NEVER, NEVER])
    assert schedule.hopeless.tolist() == [False, True, True]
    assert schedule.makespan == 5.0


def test_the_last_job_may_be_killed() -> None:
    """The run lasts until then, and its energy counts."""
    pair = jobs([1, 2], [5.0, 30.0])
    schedule = run(pair, outage(10.0, 12.0, 4, "kill"))
    metrics = schedule.metrics()
    assert (schedule.makespan, metrics.makespan, metrics.flow) == (10.0, 10.0, 5.0)
    assert metrics.energy == 50.0 * 4 * 10 + 150.0 * (5 + 2 * 10)


def test_after_its_start_holds_since_the_first_one() -> None:
    """Who waits for a start need not wait for another."""
    pair = jobs([4, 1], [20.0, 3.0], after={2: "after:1+8s"})
    schedule = run(pair, outage(10.0, 30.0, 2))
    assert schedule.eligible.tolist() == [0.0, 8.0]
    assert schedule.start.tolist() == [30.0, 10.0]


def test_a_job_keeps_its_place_in_the_queue() -> None:
    """Queued again it is as old as it is, and so before those that came later; it may lose its nodes twice."""
    queue = jobs([4, 4, 4], [20.0, 5.0, 5.0], submit=[0.0, 1.0, 2.0])
    schedule = run(queue, outage(10.0, 12.0, 1), outage(15.0, 16.0, 1), rule="strict")
    assert lost(schedule) == [(1, 0.0, 10.0, True), (1, 12.0, 15.0, True)]
    assert schedule.start.tolist() == [16.0, 36.0, 41.0]
    assert schedule.metrics().wasted_node_seconds == 4 * (10 + 3)
    assert "queued again by downtimes: 1 job (2 times) (1)" in schedule.remarks


@pytest.mark.parametrize("order", ["xfactor", "wfp3", "unicef"])
def test_orders_that_change_with_time_hold_it_once(order: str) -> None:
    """A job that is queued again before the order's next look at it is not in it twice."""
    queue = jobs([4, 1, 1], [20.0, 5.0, 5.0], submit=[0.0, 1.0, 2.0])
    taken = replace(FOUR, calendar=(outage(10.0, 12.0, 1), outage(13.0, 14.0, 1)))
    schedule = fs.simulate(queue, taken, fs.Rules(order=order, dispatch="easy"))
    schedule.verify(claimed=schedule.metrics())
    assert schedule.lost.job.tolist()[0] == 0
    assert schedule.complete


@pytest.mark.parametrize("seed", range(6))
def test_outages_that_hit_at_random(seed: int) -> None:
    """As many nodes are hit as close, of those that are not closed; whose they are is drawn by the seed."""
    queue = jobs([1, 2, 1], [20.0] * 3)  # on five nodes: one is free
    five = fs.Federation.homogeneous(5)
    hit = outage(10.0, 15.0, 2, victims="random", seed=seed)
    schedule = fs.simulate(queue, replace(five, calendar=(hit,)), fs.Rules(dispatch="greedy"))
    schedule.verify(claimed=schedule.metrics())
    whose = [1, 2, 2, 3, None]
    for k in range(2):
        place = k + naive.scrambled(seed, 0, k) % (5 - k)
        whose[k], whose[place] = whose[place], whose[k]
    assert [job for job, *_ in lost(schedule)] == sorted({job for job in whose[:2] if job is not None})


def test_random_hits_are_those_of_the_downtimes_own_row() -> None:
    """Downtimes of one seed hit other nodes; those that were over by t0 count among the rows."""
    drawn = {tuple(naive.scrambled(0, row, k) % 97 for k in range(3)) for row in range(20)}
    assert len(drawn) == 20
    queue = jobs([1] * 4, [20.0] * 4)
    over = fs.Downtime("cluster", -20.0, -10.0)
    found = set()
    for before in range(6):
        schedule = run(queue, *[over] * before, outage(10.0, 15.0, 1, victims="random"))
        place = naive.scrambled(0, before, 0) % 4
        assert [job for job, *_ in lost(schedule)] == [1 + place]
        found.add(place)
    assert len(found) > 1


def named(begin: float, end: float, nodes: str, becomes: str = "requeue", **words: object) -> fs.Downtime:
    """Return a recorded outage of these very nodes."""
    return fs.Downtime("cluster", begin, end, nodes, "outage", on_running=becomes, victims="recorded", **words)


@pytest.mark.parametrize("rule", ["strict", "greedy", "local", "easy", "conservative", "lookahead"])
@pytest.mark.parametrize("same_time", ["batch", "sequential"])
def test_a_recorded_outage_hits_whoever_is_there(rule: str, same_time: str) -> None:
    """The first job is on the first node, which fails; that others are free, or have later jobs, is no help."""
    pair = jobs([1, 1], [20.0, 30.0], submit=[0.0, 5.0])
    schedule = run(pair, named(10.0, 15.0, "0"), rule=rule, same_time=same_time)
    assert lost(schedule) == [(1, 0.0, 10.0, True)]
    assert schedule.start.tolist() == [10.0, 5.0]
    assert schedule.counts.tolist() == [[0, 1], [0, 1]]  # node 0, and 1 to 3
    spared = run(pair, named(10.0, 15.0, "3"), rule=rule, same_time=same_time)
    assert lost(spared) == []
    assert spared.start.tolist() == [0.0, 5.0]
    counted = run(pair, outage(10.0, 15.0, 1), rule=rule, same_time=same_time)
    assert lost(counted) == []


def test_a_recorded_outage_takes_all_that_are_on_its_nodes_and_no_others() -> None:
    """In the order of their starts, wide ones with all that they hold; who ends just then has ended."""
    queue = jobs([1, 1, 2], [30.0, 10.0, 30.0])
    schedule = run(queue, named(10.0, 20.0, "1-2", "kill"))
    assert lost(schedule) == [(3, 0.0, 10.0, False)]
    assert schedule.finish.tolist()[:2] == [30.0, 10.0]
    both = run(queue, named(10.0, 20.0, "0,2"))
    assert lost(both) == [(3, 0.0, 10.0, True), (1, 0.0, 10.0, True)]  # of several groups the last one first
    assert both.start.tolist() == [10.0, 0.0, 20.0]
    whole = run(queue, named(9.0, 20.0, "all"))
    assert lost(whole) == [(1, 0.0, 9.0, True), (2, 0.0, 9.0, True), (3, 0.0, 9.0, True)]


def test_nodes_that_are_down_already_stay_so_until_the_last_of_their_outages_ends() -> None:
    """The second one hits nobody, for nobody is there."""
    one = jobs([4], [20.0])
    schedule = run(one, named(5.0, 30.0, "1"), named(10.0, 40.0, "1"), named(12.0, 20.0, "1-2"))
    assert lost(schedule) == [(1, 0.0, 5.0, True)]
    assert schedule.start.tolist() == [40.0]


def test_what_is_owed_elsewhere_is_no_reason_to_lose_nodes() -> None:
    """A counted outage that waits is owed a node; the recorded one takes its own, whoever is on them, and no more."""
    four = jobs([1, 1, 1, 1], [20.0, 21.0, 22.0, 23.0])
    waits = fs.Downtime("cluster", 5.0, 50.0, "1 of 1-3", "outage")
    schedule = run(four, waits, named(10.0, 60.0, "0"))
    assert lost(schedule) == [(1, 0.0, 10.0, True)]
    assert schedule.start.tolist() == [22.0, 0.0, 0.0, 0.0]  # the first of 1 to 3 that ends pays what is owed


def test_a_downtime_without_names_is_no_recorded_one() -> None:
    """How many nodes is not which; and where jobs go on there are no victims."""
    with pytest.raises(FederationError, match=r"'2 of all' says how many, not which; name them \(nodes='0-1'\)"):
        named(1.0, 2.0, "2 of all")
    with pytest.raises(FederationError, match="needs on_running='requeue' or 'kill'"):
        named(1.0, 2.0, "0-1", "wait")


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_of_named_nodes_all_three_ways_hit_the_same_jobs(first: int) -> None:
    """A downtime has its groups whole, so nobody is left to choose from (reading 67); only their order differs."""
    rng = np.random.default_rng(first)
    queue = jobs(rng.integers(1, 4, 30), rng.integers(1, 30, 30) * 1.0, submit=np.sort(rng.integers(0, 80, 30) * 1.0))
    names = ["0", "2-3", "5", "1,4", "all", "2"]
    begins = np.sort(rng.choice(np.arange(1, 120), 12, replace=False)) * 1.0
    windows = [named(b, b + rng.integers(1, 20), names[rng.integers(6)]) for b in begins]
    machine = fs.Federation.homogeneous(6)
    found = []
    for who in ("recorded", "latest", "random"):
        calendar = tuple(replace(one, victims=who) for one in windows)
        schedule = fs.simulate(queue, replace(machine, calendar=calendar), "easy")
        schedule.verify(claimed=schedule.metrics())
        found.append((schedule.start.tolist(), sorted(lost(schedule))))
    assert found[0] == found[1] == found[2]
    assert found[0][1]


@pytest.mark.compiled
def test_a_search_does_not_win_by_losing_jobs() -> None:
    """Whoever kills fewer ranks first; bounds hold where jobs are queued again, of killed ones nothing is proven."""
    queue = jobs([2, 2, 2], [20.0, 10.0, 5.0], estimate=[8.0, 10.0, 5.0])
    deadly = fs.Downtime("cluster", 10.0, 15.0, on_running="kill")
    machine = replace(FOUR, calendar=(deadly,))
    found = fs.optimize(queue, machine, objectives="makespan", evaluations=200, knowledge="estimate")
    assert found.front.missing == (0,)
    assert found.best().lost.killed.size == 0
    assert found.lower_bounds["makespan"] != found.lower_bounds["makespan"]
    killing = next(one for one in found.baselines if one.policy == "fcfs")
    assert killing.missing == 1
    assert killing.values[0] < found.value()
    assert "fcfs (without 1 job)" in str(found)
    assert "nothing is proven" in str(found)
    with pytest.raises(InfeasibleError, match="nothing is proven"):
        fs.bounds.lower_bounds(queue, machine)
    again = replace(FOUR, calendar=(replace(deadly, on_running="requeue"),))
    found = fs.optimize(queue, again, evaluations=200, knowledge="estimate", submits="keep").best()
    found.verify(claimed=found.metrics())
    assert fs.bounds.lower_bounds(queue, again).makespan <= found.makespan


def test_a_run_can_be_stopped_and_goes_on() -> None:
    """What was lost until then is in the schedule of a run that was stopped."""
    pair = jobs([1, 1], [20.0, 30.0], submit=[0.0, 5.0])
    closing = replace(FOUR, calendar=(outage(10.0, 15.0, 3),))
    stopped = prepare(pair, closing, fs.Rules(dispatch="greedy"))
    assert stopped.advance(until=9.0).schedule().lost.runs == 0
    half = stopped.advance(until=10.0)
    assert half.state.extras.lost.number[LostNumber.RUNS] == 1
    assert lost(half.schedule()) == [(2, 5.0, 10.0, True)]
    assert np.isnan(half.schedule().start[1])
    assert stopped.advance().schedule() == run(pair, outage(10.0, 15.0, 3))
