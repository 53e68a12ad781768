"""List heuristics: worked by hand, against the naive reference, and through every face."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from reference import naive, naive_lists
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import InfeasibleError, UnknownNameError
from fedsched.engine.pack.choices import possible_shapes
from fedsched.model.jobs.admission import count_in_nodes
from fedsched.model.jobs.uneven import are_uneven, counted_tasks
from fedsched.policies import DISPATCH, POLICIES
from fedsched.policies.list_heuristics import HEURISTICS, OpenShapes, assign
from fedsched.simulate import prepare

QUICK = settings(derandomize=True, deadline=None, max_examples=40)
# Two clusters of one node, the first twice as fast; seconds on the reference node, which is the second.
UNEQUAL = fs.Federation((fs.Cluster("fast", (fs.NodeGroup(1, 2.0),)), fs.Cluster("slow", (fs.NodeGroup(1, 1.0),))))
SECONDS = (2.5, 4.0, 7.0, 12.0)
FAST, SLOW = (1, 0), (0, 1)
# Per job: where it runs, start and finish; each line follows from the completions that the comments list.
BY_HAND = {
    # 1.25 | 2 | 3.5 | 6, all on fast; then 3.25 | 4.75 | 7.25; then 6.75 on fast against 7; then 12.75 against 12
    "min-min": [(FAST, 0.0, 1.25), (FAST, 1.25, 3.25), (FAST, 3.25, 6.75), (SLOW, 0.0, 12.0)],
    # 6 is the greatest; then 2.5 | 4 | 7 on slow, of which 7; then 7.25 | 8 on fast, of which 8; then 9.25 against 9.5
    "max-min": [(FAST, 8.0, 9.25), (FAST, 6.0, 8.0), (SLOW, 0.0, 7.0), (FAST, 0.0, 6.0)],
    # second − best: 1.25 | 2 | 3.5 | 6; then 4.75 | 4 | 2.5; then 8 − 6.5 | 9.5 − 9.5; then 9.5 against 13.5
    "sufferage": [(SLOW, 0.0, 2.5), (SLOW, 2.5, 6.5), (FAST, 6.0, 9.5), (FAST, 0.0, 6.0)],
    # in turn: 1.25 against 2.5; 3.25 against 4; 6.75 against 7; 12.75 against 12
    "mct": [(FAST, 0.0, 1.25), (FAST, 1.25, 3.25), (FAST, 3.25, 6.75), (SLOW, 0.0, 12.0)],
}


def package(seconds: tuple[float, ...] = SECONDS, **columns: object) -> fs.Workload:
    """Return jobs that all wait at 0, of one task each unless said otherwise."""
    given = {"submit": np.zeros(len(seconds)), "tasks": np.ones(len(seconds), dtype=np.int64), **columns}
    return fs.Workload(runtime=np.array(seconds), **given)


@pytest.mark.parametrize("heuristic", BY_HAND)
def test_the_textbook_example(heuristic: str) -> None:
    """Four tasks on a fast and a slow machine go where, and when, the heuristic's own table says."""
    schedule = fs.simulate(package(), UNEQUAL, heuristic)
    found = list(zip(map(tuple, schedule.counts.tolist()), schedule.start, schedule.finish, strict=True))
    assert found == BY_HAND[heuristic]


def test_mct_takes_the_jobs_in_turn() -> None:
    """In the reverse order of arrival the same four tasks go otherwise: 6; 7 against 9.5; 8; 9.25 against 9.5."""
    schedule = fs.simulate(package(SECONDS[::-1]), UNEQUAL, "mct")
    assert schedule.finish.tolist() == [6.0, 7.0, 8.0, 9.25]
    assert schedule.counts.tolist() == [[1, 0], [0, 1], [1, 0], [1, 0]]


def test_least_energy_counts_idling_past_the_last_end() -> None:
    """10 s: 400 + 30·5 J on fast, 200 + 30·10 on slow; 4 s: 160 against 80 + 30·4; 2 s: 80 against 40 + 30·2."""
    machine = fs.Federation(
        (
            fs.Cluster("fast", (fs.NodeGroup(1, 2.0, 100.0, 20.0),)),
            fs.Cluster("slow", (fs.NodeGroup(1, 1.0, 30.0, 10.0),)),
        )
    )
    schedule = fs.simulate(package((10.0, 4.0, 2.0)), machine, "least-energy")
    assert schedule.counts.tolist() == [[0, 1], [1, 0], [1, 0]]
    assert schedule.start.tolist() == [0.0, 0.0, 2.0]
    joules = schedule.metrics().energy
    assert joules == 10 * 30.0 + 2 * 100.0 + 1 * 100.0 + (10 - 3) * 20.0


def test_a_job_that_no_cluster_holds_is_co_allocated() -> None:
    """On clusters of 2 and 3, four tasks take 3 + 1 nodes; a shorter job of two goes first under Min-Min only."""
    machine = fs.Federation.of(2, 3)
    jobs = package((10.0, 5.0), tasks=np.array([4, 2]))
    in_turn, shortest = fs.simulate(jobs, machine, "mct"), fs.simulate(jobs, machine, "min-min")
    assert in_turn.counts.tolist() == [[1, 3], [2, 0]]
    assert in_turn.start.tolist() == [0.0, 10.0]
    assert shortest.counts.tolist() == [[1, 3], [2, 0]]
    assert shortest.start.tolist() == [5.0, 0.0]


def test_a_job_waits_for_fast_nodes_where_that_ends_sooner() -> None:
    """One fast node (3×) and one slow in a cluster: 6 s end at 4 after waiting for it, 9 s at 9 on the slow one."""
    machine = fs.Federation((fs.Cluster("mixed", (fs.NodeGroup(1, 1.0), fs.NodeGroup(1, 3.0))),))
    schedule = fs.simulate(package((6.0, 6.0, 6.0, 6.0)), machine, "mct")
    assert schedule.finish.tolist() == [2.0, 4.0, 6.0, 8.0]
    assert schedule.counts.tolist() == [[0, 1], [0, 1], [0, 1], [0, 1]]
    schedule = fs.simulate(package((24.0, 9.0)), machine, "mct")
    assert schedule.finish.tolist() == [8.0, 9.0]
    assert schedule.counts.tolist() == [[0, 1], [1, 0]]


def test_a_co_allocated_job_keeps_its_place_in_every_queue() -> None:
    """Three tasks fit beside cluster 3, which one job holds until 5 and another then; bound to all, they start at 5."""
    jobs = package((5.0, 4.0, 2.0), tasks=np.array([2, 2, 3]))
    machine = fs.Federation.of(2, 2, 2)
    caps = np.array([[0, 0, 2], [0, 0, 2], [2, 2, 2]])
    schedule = fs.simulate(jobs, machine, "mct", caps=caps)
    assert schedule.start.tolist() == assign(jobs, machine, "mct", caps=caps).start.tolist() == [0.0, 5.0, 5.0]
    assert schedule.counts[2].tolist() == [2, 1, 0]


def test_a_co_allocated_job_is_in_no_queue_that_it_cannot_use() -> None:
    """Bound to the fast nodes of clusters 2 and 3, a job does not wait for cluster 1, which has slow ones for it."""
    fast = fs.NodeGroup(2, 2.0)
    mixed = fs.Cluster("1", (fs.NodeGroup(1, 2.0), fs.NodeGroup(1, 1.0)))
    machine = fs.Federation((mixed, fs.Cluster("2", (fast,)), fs.Cluster("3", (fast,))))
    jobs = package((5.0, 4.0, 2.0), tasks=np.array([1, 1, 3]))
    caps = np.array([[0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 2, 2]])
    schedule = fs.simulate(jobs, machine, "mct", caps=caps)
    assert schedule.start.tolist() == assign(jobs, machine, "mct", caps=caps).start.tolist() == [0.0, 5.0, 0.0]
    assert schedule.counts[2].tolist() == [0, 0, 2, 1]


def test_of_equal_completions_the_faster_nodes_are_taken() -> None:
    """10 s end at 10 on the fast node behind 10 s more, and on the slow one at once; capped or not, fast wins."""
    machine = fs.Federation((fs.Cluster("mixed", (fs.NodeGroup(1, 2.0), fs.NodeGroup(3, 1.0))),))
    jobs = package((10.0, 10.0))
    for caps in (None, np.array([[1, 2], [1, 2]])):
        schedule = fs.simulate(jobs, machine, "mct", caps=caps)
        assert schedule.counts.tolist() == [[1, 0], [1, 0]]
        assert schedule.finish.tolist() == [5.0, 10.0]


def test_least_energy_knows_how_long_running_jobs_idle_the_rest() -> None:
    """Alone 4 s cost 80 + 30·2 J on fast and 40 + 30·4 on thrifty; where all is on until 10, 80 against 40."""
    thrifty = fs.Cluster("thrifty", (fs.NodeGroup(1, 1.0, 20.0, 10.0),))
    machine = fs.Federation((fs.Cluster("fast", (fs.NodeGroup(2, 2.0, 50.0, 10.0),)), thrifty))
    jobs = package((20.0, 4.0), submit=np.array([0.0, 1.0]))
    running = prepare(jobs, machine, fs.Rules(caps=np.array([[1, 0], [1, 1]]))).advance(until=0.5).running()
    beside = fs.simulate(jobs, machine, "least-energy", running=running)
    alone = fs.simulate(jobs.take([1]), machine, "least-energy")
    assert beside.counts.tolist() == [[1, 0], [0, 1]]
    assert alone.counts.tolist() == [[1, 0]]


def test_decisions_are_made_when_jobs_come_and_are_kept() -> None:
    """A short job that comes later neither undoes what was bound before it nor is foreseen."""
    jobs = package((8.0, 8.0, 2.0), submit=np.array([0.0, 0.0, 1.0]))
    schedule = fs.simulate(jobs, UNEQUAL, "min-min")
    assert schedule.counts.tolist() == [[1, 0], [1, 0], [0, 1]]  # 4; 8 on both, fast is the first; 9 against 3
    assert schedule.start.tolist() == [0.0, 4.0, 1.0]


def naive_schedule(scenario: strategies.Scenario, heuristic: str) -> naive.Result:
    """Return the reference's schedule of a scenario under a list heuristic."""
    choosing = scenario.settings.alternatives == "earliest_finish"
    found, turns = naive_lists.assign(scenario.jobs, scenario.machine, heuristic, choosing=choosing)
    jobs, order = naive_lists.bound_jobs(scenario.jobs, scenario.machine, found, turns)
    jobs = [replace(job, alternatives=()) for job in jobs]  # no more shapes to choose
    chosen = replace(scenario.settings, order=order, backfill_order=None, placement="fastest", alternatives="fixed")
    return replace(scenario, jobs=jobs, settings=chosen).simulate()


def assert_same(scenario: strategies.Scenario, heuristic: str) -> None:
    """Fail unless package and reference predict the same, and run to the same schedule."""
    choosing = scenario.settings.alternatives == "earliest_finish"
    scenario = scenario if choosing else scenario.as_chosen()
    workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
    workload = count_in_nodes(workload, federation)
    scenario = replace(scenario, jobs=[naive.on_whole_nodes(job, scenario.machine) for job in scenario.jobs])
    found, turns = naive_lists.assign(scenario.jobs, scenario.machine, heuristic, choosing=choosing)
    bound, order = naive_lists.bound_jobs(scenario.jobs, scenario.machine, found, turns)
    got = assign(workload, federation, heuristic, shapes=shapes_of(workload, federation, choosing), caps=caps)
    np.testing.assert_array_equal(got.counts, [found[j].counts for j in range(len(found))])
    np.testing.assert_array_equal(got.start, [found[j].start for j in range(len(found))])
    np.testing.assert_array_equal(got.finish, [found[j].end for j in range(len(found))])
    np.testing.assert_array_equal(got.caps, [job.caps for job in bound])
    assert tuple(got.order.tolist()) == order
    chosen = scenario.settings
    schedule = fs.simulate(
        workload,
        federation,
        fs.ListHeuristic(heuristic, chosen.dispatch),
        caps=caps,
        same_time=chosen.same_time,
        saturation=chosen.saturation,
        kill_at_estimate=chosen.kill_at_estimate,
        alternatives=chosen.alternatives,
    )
    expected = naive_schedule(scenario, heuristic)
    np.testing.assert_array_equal(schedule.start, expected.start)
    np.testing.assert_array_equal(schedule.finish, expected.finish)
    np.testing.assert_array_equal(schedule.counts, expected.counts)
    assert schedule.workload.tasks.tolist() == [job.tasks for job in bound]
    assert schedule.workload.runtime.tolist() == [job.runtime for job in bound]
    schedule.verify(caps=caps)


def shapes_of(workload: fs.Workload, federation: fs.Federation, choosing: bool) -> OpenShapes | None:
    """Return the shapes among which jobs choose by their requests; None where they do not."""
    if not choosing or workload.alternatives is None:
        return None
    possible = possible_shapes(workload, federation)
    tasks, wanted = possible.each.tasks, counted_tasks(possible.each)
    return OpenShapes(possible.first, possible.which, tasks, wanted, possible.each.estimate)


@pytest.mark.parametrize("dispatch", naive.DISPATCH)
@pytest.mark.parametrize("heuristic", naive_lists.HEURISTICS)
def test_every_heuristic_agrees_with_the_reference(heuristic: str, dispatch: str) -> None:
    """Random federations, caps, allowed clusters, submits, estimates and contention: the reference's schedule."""
    for seed in range(20_000, 20_000 + tries(8, 2)):
        scenario = strategies.random_scenario(seed, placement="fastest", dispatch=dispatch)
        assert_same(scenario, heuristic)
        assert_same(strategies.on_uneven_nodes(scenario, seed), heuristic)


@pytest.mark.slow
@pytest.mark.parametrize("heuristic", naive_lists.HEURISTICS)
def test_random_scenarios_agree(heuristic: str) -> None:
    """Hundreds of random systems give the reference's schedule."""
    for seed in range(30_000, 30_000 + tries(250, 12)):
        scenario = strategies.random_scenario(seed, placement="fastest", restless=seed % 2 == 1)
        if seed % 5 > 2:  # without limits: on the nodes that a job is bound to it may be over them, which is refused
            scenario = strategies.on_uneven_nodes(scenario.without_limits(), seed)
        assert_same(scenario, heuristic)


@given(scenario=strategies.scenarios(placement="fastest", without_contention=True))
@QUICK
def test_jobs_run_as_predicted(scenario: strategies.Scenario) -> None:
    """Under local and strict, with exact estimates and no contention, start, finish and nodes are as predicted."""
    scenario = scenario.for_the_exact_model().without_limits().without_pools()  # no prediction looks at these
    workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
    workload = replace(workload, estimate=workload.runtime)
    for heuristic in HEURISTICS:
        predicted = assign(workload, federation, heuristic, caps=caps)
        for policy in (heuristic, f"{heuristic}-strict"):
            schedule = fs.simulate(workload, federation, policy, caps=caps)
            np.testing.assert_array_equal(schedule.start, predicted.start)
            np.testing.assert_array_equal(schedule.finish, predicted.finish)
            np.testing.assert_array_equal(schedule.counts, predicted.counts)


def test_jobs_on_nodes_of_several_sizes_run_as_predicted() -> None:
    """The same of jobs that are on as many nodes as their placement makes it [76]."""
    uneven = 0
    for seed in range(60_000, 60_000 + tries(24)):
        scenario = strategies.random_scenario(seed, placement="fastest").for_the_exact_model()
        scenario = scenario.without_limits().without_pools()
        scenario = strategies.on_uneven_nodes(scenario.without_limits(), seed)
        jobs = [replace(job, bandwidth=0.0, estimate=job.runtime) for job in scenario.jobs]
        workload, federation, caps = strategies.to_package(jobs, scenario.machine)
        held, name = count_in_nodes(workload, federation), [*HEURISTICS][seed % len(HEURISTICS)]
        predicted = assign(held, federation, name, caps=caps)
        schedule = fs.simulate(workload, federation, name, caps=caps)
        np.testing.assert_array_equal(schedule.start, predicted.start)
        np.testing.assert_array_equal(schedule.finish, predicted.finish)
        np.testing.assert_array_equal(schedule.counts, predicted.counts)
        uneven += are_uneven(held).sum()
    assert uneven > tries(24)


def test_jobs_that_follow_others_are_bound_when_they_come_as_predicted() -> None:
    """Jobs 3 and 4 come 1 s after the ends of 1 and 2, at 9 and 5: 4 is bound first, to the fast node from 8 on."""
    log = package((16.0, 4.0, 3.0, 6.0), submit=np.zeros(4), feedback={"preceding": [-1, -1, 1, 2],
                                                                     "think_time": [-1, -1, 1.0, 1.0]})  # fmt: skip
    found = assign(log, UNEQUAL, "mct")
    assert found.start.tolist() == [0.0, 0.0, 9.0, 8.0]
    schedule = fs.simulate(log, UNEQUAL, "mct")
    schedule.verify()
    assert schedule.start.tolist() == [0.0, 0.0, 9.0, 8.0]
    assert schedule.workload.submit.tolist() == [0.0, 0.0, 9.0, 5.0]
    run = prepare(log, UNEQUAL, "mct").advance(until=2.0)
    rest = assign(log, UNEQUAL, "mct", running=run.running())
    assert rest.start.tolist() == [0.0, 0.0, 9.0, 8.0]  # after the planned ends of those that run


def test_no_cluster_waits_for_the_queue_of_another() -> None:
    """Where the second job ends at 2 instead of 11, the next of its cluster starts then, before one queued earlier."""
    jobs = package((10.0, 2.0, 10.0, 5.0), estimate=np.array([10.0, 11.0, 10.0, 10.0]))
    machine = fs.Federation.of(1, 1)
    assert assign(jobs, machine, "mct").start.tolist() == [0.0, 0.0, 10.0, 11.0]
    assert fs.simulate(jobs, machine, "mct").start.tolist() == [0.0, 0.0, 10.0, 2.0]
    assert fs.simulate(jobs, machine, "mct-strict").start.tolist() == [0.0, 0.0, 10.0, 10.0]


def test_local_is_strict_where_all_share_a_cluster() -> None:
    """Without caps and allowed clusters every job may use all clusters, and local is strict to the last start."""
    for seed in range(30):
        fixed = {"placement": "fastest", "dispatch": "local"}
        scenario = strategies.random_scenario(40_000 + seed, **fixed)
        scenario = replace(scenario, jobs=[replace(job, caps=None, allowed=None) for job in scenario.jobs])
        workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
        local, strict = (fs.simulate(workload, federation, fs.Rules(dispatch=one)) for one in ("local", "strict"))
        np.testing.assert_array_equal(local.start, strict.start)


@pytest.mark.deep
@given(scenario=strategies.scenarios(placement="fastest"))
@QUICK
def test_run_times_are_not_looked_at(scenario: strategies.Scenario) -> None:
    """Other run times change no prediction; with knowledge="runtime" they take the place of the estimates."""
    scenario = scenario.as_chosen()
    workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
    other = replace(workload, runtime=workload.runtime[::-1])
    for heuristic in HEURISTICS:
        np.testing.assert_array_equal(
            assign(workload, federation, heuristic, caps=caps).counts,
            assign(other, federation, heuristic, caps=caps).counts,
        )
        known = fs.simulate(workload, federation, heuristic, caps=caps, knowledge="runtime")
        exact = fs.simulate(replace(workload, estimate=workload.runtime), federation, heuristic, caps=caps)
        np.testing.assert_array_equal(known.start, exact.start)


def test_running_jobs_keep_their_nodes() -> None:
    """Started from the running jobs of a moment, the rest is mapped as the reference maps it beside them."""
    checked = 0
    for seed in range(120):
        scenario = strategies.random_scenario(
            seed, placement="fastest", dispatch="strict", order="fcfs", backfill_order=None, same_time="batch"
        )
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        run = prepare(workload, federation, "fcfs", caps=caps)
        moment = float(np.median(fs.simulate(workload, federation, "fcfs", caps=caps).start))
        run.advance(until=moment)
        rows = np.flatnonzero(~(run.state.finish <= moment))
        running = run.running().renumbered(rows)
        if running.rows.size in (0, rows.size):
            continue
        held = list(zip(running.planned_end.tolist(), running.counts.tolist(), strict=True))
        already = frozenset(running.rows.tolist())
        jobs = [scenario.jobs[row] for row in rows]
        name = naive_lists.HEURISTICS[seed % len(naive_lists.HEURISTICS)]
        found, _ = naive_lists.assign(jobs, scenario.machine, name, t0=running.time, held=held, already=already)
        got = assign(workload.take(rows), federation, name, caps=caps[rows], running=running)
        for j, place in found.items():
            assert (got.start[j], got.finish[j], got.counts[j].tolist()) == (place.start, place.end, place.counts)
        schedule = fs.simulate(workload.take(rows), federation, name, caps=caps[rows], running=running)
        schedule.verify(caps=caps[rows])
        checked += 1
    assert checked > 30


def test_contention_delays_what_was_predicted() -> None:
    """Two co-allocated jobs that overload an uplink end later than predicted, and the schedule is still sound."""
    machine = fs.Federation((fs.Cluster("a", (fs.NodeGroup(4),), 1.0), fs.Cluster("b", (fs.NodeGroup(4),), 1.0)))
    jobs = package((10.0,), tasks=np.array([6]), compute_fraction=np.array([0.5]), task_bandwidth=np.array([1.0]))
    schedule = fs.simulate(jobs, machine, "min-min")
    # D = 4·1·2/5 = 1.6 over 1: tc = 0.5 + 0.5·1.6
    assert assign(jobs, machine, "min-min").finish.tolist() == [10.0]
    assert schedule.finish.tolist() == pytest.approx([13.0])
    schedule.verify()


def test_names_and_dispatch_rules() -> None:
    """Every heuristic goes with every dispatch rule; a name that is nearly right is offered."""
    for heuristic in HEURISTICS:
        for dispatch in DISPATCH:
            name = heuristic if dispatch == "local" else f"{heuristic}-{dispatch}"
            assert POLICIES[name] == fs.ListHeuristic(heuristic, dispatch)
    with pytest.raises(UnknownNameError, match="'min-min'"):
        fs.simulate(package(), UNEQUAL, "minmin")
    with pytest.raises(UnknownNameError, match="sufferage"):
        fs.ListHeuristic("suferage")
    with pytest.raises(UnknownNameError, match="conservative"):
        fs.ListHeuristic("mct", "conservativ")
    with pytest.raises(UnknownNameError, match="max-min"):
        assign(package(), UNEQUAL, "maxmin")
    with pytest.raises(ValueError, match="chooses its placement"):
        fs.simulate(package(), UNEQUAL, "mct", placement="single")
    assert str(fs.simulate(package(), UNEQUAL, "mct").policy).startswith("mct")


def test_what_cannot_run_is_refused() -> None:
    """A job beyond what it may use is named with what is left to it, and caps of a wrong shape are refused."""
    wide = package((1.0, 1.0), tasks=np.array([1, 2]))
    with pytest.raises(InfeasibleError, match=r"Job 2: tasks=2 exceeds the 1 nodes that it may use"):
        fs.simulate(wide, UNEQUAL, "min-min", caps=np.array([[1, 1], [0, 1]]))
    with pytest.raises(ValueError, match="shape"):
        fs.simulate(wide, UNEQUAL, "min-min", caps=np.ones((1, 2), dtype=np.int64))
    with pytest.raises(ValueError, match="whole number"):
        fs.simulate(wide, UNEQUAL, fs.Rules(caps=np.array([[-1, 1], [1, 1]])))


def test_caps_of_the_rules_and_of_the_call_both_hold() -> None:
    """Each job uses no more of a group than the lesser of the two."""
    wide = package((1.0, 1.0), tasks=np.array([2, 2]))
    machine = fs.Federation.of(2, 2)
    rules = fs.Rules(caps=np.array([[2, 1], [2, 2]]))
    schedule = fs.simulate(wide, machine, rules, caps=np.array([[1, 2], [0, 2]]))
    assert schedule.counts.tolist() == [[1, 1], [0, 2]]
    assert math.isclose(schedule.start[1], 1.0)


def test_an_origin_of_time_after_the_submits_is_when_all_are_mapped() -> None:
    """Jobs submitted before t0 are mapped together at t0."""
    early = package(SECONDS, submit=np.array([0.0, 1.0, 2.0, 3.0]))
    schedule = fs.simulate(early, UNEQUAL, "max-min", t0=100.0)
    together = fs.simulate(package(), UNEQUAL, "max-min")
    np.testing.assert_array_equal(schedule.start, together.start + 100.0)
    np.testing.assert_array_equal(schedule.counts, together.counts)
