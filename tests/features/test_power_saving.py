"""Nodes that go off when they idle: who waits for them, and what that saves [66]."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from engine.test_against_naive import run_engine
from reference import naive, naive_measures
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import FederationError, InfeasibleError, ScheduleError
from fedsched.model.power.switching import power_saving_named
from fedsched.model.schedule.promises import Promises
from fedsched.policies import Planned, Reserve, Timeout
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NODE = {"busy_watts": 100.0, "idle_watts": 50.0, "off_watts": 5.0}
STATES = {"boot_seconds": 30.0, "boot_watts": 80.0, "shutdown_seconds": 10.0, "shutdown_watts": 60.0}


def machine(nodes: int, power: object, **states: float) -> fs.Federation:
    """Return one group of nodes that go off so."""
    return fs.Federation((fs.Cluster("a", (fs.NodeGroup(nodes, 1.0, **NODE, **states),)),), power=power)


def jobs(*rows: tuple[float, int, float]) -> fs.Workload:
    """Return jobs by submit, tasks and run time."""
    return fs.Workload(**dict(zip(("submit", "tasks", "runtime"), zip(*rows, strict=True), strict=True)))


def checked(workload: fs.Workload, federation: fs.Federation, policy: object = "easy") -> fs.Schedule:
    """Return a schedule whose check accepts its row, and no other energy."""
    schedule = fs.simulate(workload, federation, policy)
    row = schedule.metrics()
    schedule.verify(claimed=row)
    for name in ("energy", "idle_energy", "switches", "boot_wait"):
        (line,) = schedule.violations(claimed=replace(row, **{name: getattr(row, name) + 1.0}))
        assert line.startswith(f"Schedule: {name} is given as")
    return schedule


def test_a_node_goes_off_and_comes_back_for_the_next_job() -> None:
    """Idle from 50 on, off from 150, down at 160; who comes at 155 has its node when shutdown and boot are over."""
    schedule = checked(jobs((0, 1, 50), (155, 1, 10), (260, 1, 5)), machine(1, Timeout(100.0), **STATES))
    assert schedule.start.tolist() == [0.0, 190.0, 260.0]
    assert schedule.promises.time.tolist() == [0.0, 155.0, 260.0]
    row = schedule.metrics()
    assert (row.switches, row.boot_wait, row.mean_wait) == (1.0, 35 / 3, 35 / 3)
    assert row.energy == 50 * 100 + 100 * 50 + 10 * 60 + 30 * 80 + 10 * 100 + 60 * 50 + 5 * 100


def test_nodes_that_are_on_are_taken_first_and_some_are_kept() -> None:
    """With one node kept on a job of one never waits, one of two waits for the other's boot."""
    log = jobs((0, 2, 10), (500, 1, 10), (520, 2, 10))
    assert checked(log, machine(2, Timeout(100.0, keep=1), **STATES)).start.tolist() == [0.0, 500.0, 550.0]
    assert checked(log, machine(2, Timeout(100.0), **STATES)).start.tolist() == [0.0, 530.0, 570.0]
    assert checked(log, machine(2, Timeout(1000.0), **STATES)).start.tolist() == [0.0, 500.0, 520.0]


def test_a_promise_holds_all_its_nodes_and_a_backfilled_job_does_not_get_them() -> None:
    """Of three nodes two boot for the first job; who comes meanwhile has the third, or waits."""
    power = machine(3, Timeout(1.0, keep=1), **STATES)
    schedule = checked(jobs((0, 3, 1), (100, 3, 10), (105, 1, 1)), power)
    assert schedule.start.tolist() == [0.0, 130.0, 140.0]


def test_conservative_counts_the_boots_of_a_job_that_it_promises_nodes() -> None:
    """Until 200, when two nodes are reserved, a job of 90 that boots until 131 has no time, and one of 60 has."""
    log = jobs((0, 1, 200), (100, 2, 10), (101, 1, 90), (102, 1, 60))
    power = machine(2, Timeout(10.0), **STATES)
    schedule = checked(log, power, "conservative")
    assert schedule.start.tolist() == [0.0, 200.0, 210.0, 132.0]
    assert schedule.promises.time.tolist() == [0.0, 200.0, 210.0, 102.0]
    assert checked(log, power, "easy").start.tolist()[:3] == [0.0, 251.0, 131.0]
    assert fs.simulate(log, replace(power, power=None), "conservative").start.tolist()[:3] == [0.0, 200.0, 101.0]


def test_lookahead_chooses_as_if_all_nodes_were_on() -> None:
    """Beside the reservation of all nodes at 100 two nodes are promised to the job that takes both."""
    log = jobs((0, 2, 100), (1, 4, 10), (50, 1, 20), (50, 2, 20))
    schedule = checked(log, machine(4, Timeout(10.0), **STATES), fs.Rules(dispatch="lookahead"))
    assert schedule.promises.time.tolist()[1:] == [100.0, 110.0, 50.0]
    assert schedule.start.tolist()[1:] == [100.0, 110.0, 80.0]
    assert checked(log, machine(4, Timeout(10.0), **STATES)).promises.time.tolist()[2:] == [50.0, 140.0]


def test_jobs_choose_shapes_with_the_boots_of_their_nodes() -> None:
    """One node is on, the other boots for 30 s: two nodes end at 158, one at 155; if both were on, two at 128."""
    log = replace(jobs((0, 1, 100), (105, 2, 23)), alternatives={2: "2x23|1x50"})
    power = machine(2, Timeout(20.0), **STATES)
    machines = (power, replace(power, power=None))
    found = [fs.simulate(log, one, "easy", alternatives="earliest_finish") for one in machines]
    assert [(one.workload.tasks[1], one.finish[1]) for one in found] == [(1, 155.0), (2, 128.0)]
    for one in found:
        one.verify(claimed=one.metrics())


def test_nodes_boot_ahead_of_jobs_that_find_them_on() -> None:
    """One node is kept ready, and when somebody takes it another boots: who comes next waits for the rest of that boot.

    From 100 on the first job has one of three nodes, one is kept and one goes off. At 140 the second job finds a node
    on, and the third boots until 170, which the last job has then. Of two that come free, that of 180 goes off at 200.
    """
    log = jobs((100, 1, 100), (140, 1, 100), (150, 1, 10))
    schedule = checked(log, machine(3, Reserve(1), **STATES))
    assert schedule.start.tolist() == [100.0, 140.0, 170.0]
    assert checked(log, machine(3, Timeout(0.0, keep=1), **STATES)).start.tolist() == [100.0, 140.0, 180.0]
    row = schedule.metrics()
    assert (row.switches, row.boot_wait) == (2.0, 20 / 3)
    assert row.energy == 210 * 100 + (40 + 20 + 40) * 50 + 2 * 10 * 60 + (30 + 30) * 5 + 30 * 80


def test_a_reserve_that_nothing_goes_beyond_is_always_on() -> None:
    """Where all nodes of a group are kept ready none goes off; with none kept it is a timeout."""
    log = fs.Workload.example().head(100)
    kept, plain = (fs.simulate(log, machine(128, power, **STATES)) for power in (Reserve(128), None))
    assert kept.start.tolist() == plain.start.tolist()
    assert kept.metrics().energy == plain.metrics().energy
    none, timed = (fs.simulate(log, machine(128, power, **STATES)) for power in (Reserve(0, 60.0), Timeout(60.0)))
    assert none.start.tolist() == timed.start.tolist()
    assert none.metrics() == timed.metrics()
    assert none.metrics().boot_wait > 0.0


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_where_going_off_takes_no_time_no_start_changes(seconds: float) -> None:
    """Nodes without boots and shutdowns start every job as nodes that are always on do."""
    log = fs.Workload.example().head(150)
    there = machine(128, Timeout(seconds))
    plain = fs.simulate(log, replace(there, power=None))
    schedule = fs.simulate(log, there)
    assert schedule.start.tolist() == plain.start.tolist()
    assert schedule.metrics().boot_wait == 0.0
    off, on = schedule.metrics(), plain.metrics()
    assert (off.energy < on.energy) if seconds == 0.0 else off.energy == on.energy


def test_planned_gaps_are_off_where_that_saves_energy() -> None:
    """A gap of 60 s is too short to save, one of 300 s is not; the last one goes without a boot, and nobody waits."""
    log = jobs((0, 1, 10), (70, 1, 10), (380, 1, 10), (390, 2, 10))
    plain = fs.simulate(log, machine(2, None, **STATES))
    schedule = checked(log, machine(2, Planned(), **STATES))
    assert schedule.start.tolist() == plain.start.tolist()
    # One node has the gaps [80, 380) and [390, 390); the other idles until 390.
    slept = [(300, 1), (390, 1)]
    saved = sum((gap * 50) - (10 * 60 + 30 * 80 + (gap - 40) * 5) for gap, _ in slept)
    row = schedule.metrics()
    assert row.energy == plain.metrics().energy - saved
    assert (row.switches, row.boot_wait) == (2.0, 0.0)


def test_a_lower_bound_knows_that_nodes_may_be_off() -> None:
    """The bound of energy lies below what plans with nodes off take, which is below that of nodes always on."""
    log = jobs((0, 1, 10), (1000, 1, 10), (5000, 1, 10))
    asleep = machine(4, Planned(), **STATES)
    bound = fs.bounds.lower_bounds(log, asleep).energy
    assert bound == pytest.approx(30 * 95 + 4 * 5 * 5010)
    assert bound < checked(log, asleep).metrics().energy
    assert checked(log, asleep).metrics().energy < fs.bounds.lower_bounds(log, replace(asleep, power=None)).energy


def test_random_bounds_of_energy_hold_where_nodes_go_off() -> None:
    """No schedule of any rule takes less energy than the bound of its problem says."""
    held = 0
    for seed in range(66_500, 66_500 + tries(100)):
        scenario = strategies.saving_power(seed)
        schedule = run_engine(scenario)
        if np.isnan(schedule.finish).any():
            continue
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        for power in (federation.power, Planned()):
            there = replace(federation, power=power)
            kill = scenario.settings.kill_at_estimate
            try:
                least = fs.bounds.lower_bounds(
                    workload, there, t0=schedule.t0, caps=caps, method="closed", kill_at_estimate=kill
                ).energy
            except InfeasibleError:  # nobody is sure to start, so nothing is proven
                continue
            promises = schedule.promises if power == federation.power else None
            energy = replace(schedule, federation=there, promises=promises).metrics().energy
            assert energy >= least * (1 - 1e-9) - 1e-6, seed
            held += 1
    assert held > tries(100) / 2


def test_checks_find_who_starts_before_his_nodes_are_on() -> None:
    """A schedule that forgets a boot, or promises nodes before a job is there, is refused."""
    schedule = checked(jobs((0, 1, 50), (200, 1, 10)), machine(1, Timeout(100.0), **STATES))
    early = replace(schedule, start=[0.0, 229.0], finish=[50.0, 239.0])
    assert early.violations() == ["Job 2: it starts at 229, but its nodes are on at 230."]
    late = Promises(np.array([0.0, 170.0]), np.array([0, 1]))
    found = replace(schedule, promises=late, start=[0.0, 200.0], finish=[50.0, 210.0]).violations()
    assert found == ["Job 2: it is promised nodes at 170, before its submit."]
    twice = Promises(np.array([0.0, 20.0]), np.array([0, 1]))
    found = replace(schedule, promises=twice).violations()
    assert found[0] == "Job 2: it is promised more nodes than are free or off."
    with pytest.raises(ScheduleError, match="jobs hold more nodes of a group than it has"):
        replace(schedule, promises=twice).metrics()
    for nobody in (Timeout(100.0), Planned()):
        crowded = replace(schedule, federation=replace(schedule.federation, power=nobody), start=[0, 20], promises=None)
        with pytest.raises(ScheduleError, match="jobs hold more nodes of a group than it has"):
            crowded.metrics()
    unknown = Promises(np.array([0.0, np.nan]), np.array([0, 1]))
    with pytest.raises(ScheduleError, match="before they have their nodes"):
        replace(schedule, promises=unknown).metrics()


def test_files_keep_power_saving_and_promises(tmp_path: Path) -> None:
    """A federation's file and a schedule's come back as they were."""
    there = machine(2, Timeout(600.0, keep=1), **STATES | {"shutdown_watts": 0.0})
    there.write(tmp_path / "machine.toml")
    assert fs.Federation.read(tmp_path / "machine.toml") == there
    log = jobs((0, 2, 50), (2000, 2, 10))
    schedule = fs.simulate(log, there)
    schedule.to_csv(tmp_path / "plan.csv")
    back = fs.Schedule.read(tmp_path / "plan.csv", log, there, same_time="batch", knowledge="estimate")
    assert back == schedule
    back.verify(claimed=schedule.metrics())
    assert schedule.take(np.array([1])).promises.time.tolist() == [2000.0]
    text = (tmp_path / "plan.csv").read_text(encoding="utf-8").replace("2000,1\n", "2000,x\n")
    (tmp_path / "plan.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ScheduleError, match="line 3"):
        fs.Schedule.read(tmp_path / "plan.csv", log, there)


@pytest.mark.parametrize(
    ("text", "power"),
    [
        ("always", None),
        ("planned", Planned()),
        ("timeout:90", Timeout(90.0)),
        ("timeout:10m", Timeout(600.0)),
        ("timeout:1.5h:4", Timeout(5400.0, 4)),
        ("reserve:4", Reserve(4)),
        ("reserve:2:10m", Reserve(2, 600.0)),
        ("timeout:1e-09", Timeout(1e-9)),
        ("timeout:0.3333333333333333:2147483647:suspend=2147483647", Timeout(1 / 3, 2**31 - 1, suspend_rate=2**31 - 1)),
    ],
)
def test_power_saving_has_names(text: str, power: object) -> None:
    """What options and files say is one of these, and comes back from its own words."""
    assert power_saving_named(text) == power
    assert power is None or power_saving_named(str(power)) == power


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Timeout(-1.0), r"seconds=-1\.0 must be finite and at least 0"),
        (lambda: Timeout(5.0, keep=1.5), r"keep=1\.5 must be a whole number"),
        (lambda: Reserve(-1), "Reserve: nodes=-1 must be a whole number of at least 0"),
        (lambda: Reserve(1, math.inf), "Reserve: seconds=inf must be finite"),
        (lambda: power_saving_named("reserve:"), "power='reserve:' must be always"),
        (lambda: power_saving_named("off"), "power='off' must be always, planned, timeout"),
        (lambda: machine(1, "timeout:5"), "must be a Timeout, Reserve, Planned or None"),
        (lambda: replace(fs.Federation.homogeneous(4), power=Planned()), "give off_watts= of each NodeGroup"),
        (lambda: fs.NodeGroup(1, off_watts=-1.0), r"off_watts=-1\.0 must be finite"),
        (lambda: fs.NodeGroup(1, boot_seconds=-1.0), r"boot_seconds=-1\.0 must be finite"),
        (lambda: fs.NodeGroup(1, boot_watts=5.0), "need off_watts=; give it too"),
        (lambda: fs.NodeGroup(1, 1.0, 9.0, 5.0, off_watts=6.0), r"off_watts=6\.0 must be at most idle_watts=5\.0"),
    ],
)
def test_wrong_nodes_and_names_are_refused(make: Callable[[], object], message: str) -> None:
    """An error says field, value and rule."""
    with pytest.raises(FederationError, match=message):
        make()


def as_the_reference(scenario: strategies.Scenario, seed: int) -> tuple[fs.Schedule, naive.Result]:
    """Return the schedule of a random system, and the reference's, which has the same starts and ends."""
    schedule, expected = run_engine(scenario), scenario.simulate()
    np.testing.assert_array_equal(schedule.start, expected.start, str(seed))
    np.testing.assert_array_equal(schedule.finish, expected.finish, str(seed))
    return schedule, expected


def test_random_systems_switch_as_the_reference_does() -> None:
    """Starts, ends, promises and all that is measured of nodes that go off are the reference's, and checks agree."""
    waits = switches = 0.0
    for seed in range(66_000, 66_000 + tries(300)):
        scenario = strategies.saving_power(seed)
        schedule, expected = as_the_reference(scenario, seed)
        if not expected.ran:
            continue
        row = schedule.metrics()
        schedule.verify(claimed=row)
        ran = ~np.isnan(schedule.start)
        np.testing.assert_array_equal(schedule.promises.time[ran], np.array(expected.promised)[ran], str(seed))
        lost = naive_measures.metrics(expected)["loss_of_capacity"]
        assert row.loss_of_capacity == pytest.approx(lost, abs=1e-9), seed
        assert row.energy == pytest.approx(naive_measures.energy(expected), rel=1e-9, abs=1e-3), seed
        assert row.peak_watts == pytest.approx(naive_measures.peak_watts(expected)), seed
        assert row.switches == len(expected.nights), seed
        assert row.boot_wait == pytest.approx((schedule.start - schedule.promises.time)[ran].mean(), abs=1e-9)
        waits, switches = waits + row.boot_wait, switches + row.switches
    assert waits > 0
    assert switches > tries(300) / 4


def closing(begin: float, end: float, nodes: str = "1 of all") -> tuple[fs.Downtime, ...]:
    """Return a known downtime."""
    return (fs.Downtime("a", begin, end, nodes=nodes),)


def test_a_node_that_opens_is_on_and_idle() -> None:
    """Of two nodes that are off one is closed from 50 to 100; a job of 60 boots the other, one of 102 finds it on.

    While it is closed the node idles.
    """
    log = jobs((0, 2, 5), (60, 1, 5), (102, 1, 5))
    schedule = checked(log, replace(machine(2, Timeout(10.0), **STATES), calendar=closing(50.0, 100.0)))
    assert schedule.start.tolist() == [0.0, 90.0, 102.0]
    row = schedule.metrics()
    closed = 10 * 50 + 10 * 60 + 25 * 5 + 50 * 50 + 2 * 50
    assert row.energy == 20 * 100 + closed + 10 * 50 + 10 * 60 + 35 * 5 + 30 * 80 + 10 * 50 + 2 * 60
    assert row.switches == 3.0


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", fs.Rules(dispatch="greedy"), "lookahead"])
def test_no_job_boots_into_a_known_downtime(policy: object) -> None:
    """The node is off from 15 on: a job of 60 would boot until 90 and end after 100, when the node closes until 200."""
    log = jobs((0, 1, 5), (60, 1, 20))
    there = replace(machine(1, Timeout(10.0), **STATES), calendar=closing(100.0, 200.0))
    assert checked(log, there, policy).start.tolist() == [0.0, 200.0]
    assert fs.simulate(log, replace(there, power=None), policy).start.tolist() == [0.0, 60.0]
    assert checked(log, replace(there, calendar=closing(110.0, 200.0)), policy).start.tolist() == [0.0, 90.0]


def test_nodes_that_boot_ahead_close_last() -> None:
    """Of four nodes three go off at 50; at 100 a job takes the fourth, and one boots ahead until 130.

    A downtime of all at 120 takes the two that are off, ends the boot, and is owed the node of the job. All open at
    250, three go off at once and boot at 300.
    """
    log = jobs((0, 4, 50), (100, 1, 100), (300, 4, 1))
    there = replace(machine(4, Reserve(1), **STATES), calendar=closing(120.0, 250.0, "4 of all"))
    there = replace(there, calendar=(replace(there.calendar[0], known_from=120.0, kind="outage"),))
    schedule = checked(log, there)
    assert schedule.start.tolist() == [0.0, 100.0, 330.0]
    always = 4 * 331 * 50 + (200 + 100 + 4) * 50
    cut, later = 2 * (60 * 45 - 10 * 10) + (40 * 45 - 10 * 10 - 20 * 30), 3 * (40 * 45 - 10 * 10 - 30 * 30)
    assert schedule.metrics().energy == always - cut - later


def test_random_nodes_go_off_beside_downtimes_as_the_reference_says() -> None:
    """Starts, promises, energy and what downtimes cost are the reference's, and checks agree."""
    closed = booting = compared = 0
    for seed in range(tries(600)):
        scenario = strategies.going_off_with_downtimes(seed)
        if not scenario.machine.closures:
            continue
        schedule, expected = as_the_reference(scenario, seed)
        if not expected.ran:
            continue
        row, ran = schedule.metrics(), ~np.isnan(schedule.start)
        lines = [line for line in schedule.violations(claimed=row) if "never started" not in line]
        assert lines == [], seed
        np.testing.assert_array_equal(schedule.promises.time[ran], np.array(expected.promised)[ran], str(seed))
        assert row.energy == pytest.approx(naive_measures.energy(expected), rel=1e-9, abs=1e-3), seed
        assert row.switches == len(expected.nights), seed
        told = naive_measures.metrics(expected)
        assert row.drain_loss == pytest.approx(told["drain_loss"], rel=1e-9, abs=1e-6), seed
        assert row.loss_of_capacity == pytest.approx(told["loss_of_capacity"], abs=1e-9), seed
        closed += sum(night.until < math.inf for night in expected.nights)
        booting += sum(night.until < math.inf and night.end < math.inf for night in expected.nights)
        compared += 1
    assert compared > tries(600) / 3
    assert closed > tries(600) / 4
    assert booting > 0


def two_clusters(power: object) -> fs.Federation:
    """Return two clusters of six nodes. A job with three tasks on each fills their uplinks, two overload them."""
    groups = fs.NodeGroup(6, 1.0, **NODE, **STATES)
    return fs.Federation(tuple(fs.Cluster(name, (groups,), 9.0) for name in "ab"), power=power)


def test_a_job_uses_uplinks_when_its_nodes_have_booted() -> None:
    """Two jobs of 3 + 3 nodes load each uplink with 18 of its 9: the first has it alone while the second one boots.

    Half of the nodes shut down from 0 to 10, and boot for the second job from 10 to 40. Then the first job has 20 s
    left, which take 40, and after it the second one has 40 left.
    """
    log = fs.Workload(
        submit=[0, 1], tasks=[6, 6], runtime=[60, 60], task_bandwidth=[5.0, 5.0], compute_fraction=[0.0, 0.0],
    )  # fmt: skip
    caps, rules = np.full((2, 2), 3), fs.Rules(dispatch="greedy")
    both = ((Timeout(0.0), [0.0, 40.0], [80.0, 120.0], 80.0), (None, [0.0, 1.0], [119.0, 120.0], 236.0))
    for power, starts, ends, saturated in both:
        schedule = fs.simulate(log, two_clusters(power), rules, caps=caps)
        row = schedule.metrics()
        schedule.verify(claimed=row, caps=caps)
        assert (schedule.start.tolist(), schedule.finish.tolist()) == (starts, ends)
        assert row.saturated_seconds == saturated


def test_random_systems_boot_beside_uplinks_as_the_reference_does() -> None:
    """Starts, ends and saturated time are the reference's under all kinds of sharing, and checks agree."""
    saturated = waited = 0
    for seed in range(tries(240)):
        scenario = strategies.going_off_beside_uplinks(seed)
        schedule, expected = as_the_reference(scenario, seed)
        if not expected.ran:
            continue
        row = schedule.metrics()
        schedule.verify(claimed=row)
        assert row.saturated_seconds == pytest.approx(expected.saturated_seconds, rel=1e-9, abs=1e-9), seed
        uses = zip(expected.jobs, expected.counts, strict=True)
        sends = [any(naive.demands(job, counts, scenario.machine)) for job, counts in uses]
        waited += int(((schedule.start > schedule.promises.time) & sends).sum())
        saturated += expected.saturated_seconds > 0
    assert saturated > tries(240) / 8
    assert waited > tries(240) / 8


def test_jobs_that_run_at_the_begin_hold_nodes_that_are_on() -> None:
    """Two of three nodes are held until 50, the third goes off at 20; a job of 30 boots it, one of 55 finds two on."""
    running = jobs((0, 2, 50), (30, 1, 5), (55, 2, 5))
    run = prepare(running.head(1), machine(3, Timeout(10.0), **STATES), "easy").advance(until=10.0)
    federation = machine(3, Timeout(10.0), **STATES)
    schedule = fs.simulate(running, federation, "easy", running=run.running())
    schedule.verify(claimed=schedule.metrics())
    assert schedule.start.tolist() == [0.0, 60.0, 55.0]
    assert schedule.promises.time.tolist() == [0.0, 30.0, 55.0]
    assert schedule.metrics().switches == 1.0
    late = fs.simulate(running, federation, "easy")
    assert late.start.tolist() == [0.0, 60.0, 55.0]
    boots = prepare(running, federation, "easy").advance(until=40.0)
    with pytest.raises(InfeasibleError, match="Job 2: its nodes still boot as the run begins, at 30 s; begin at"):
        fs.simulate(running, federation, "easy", running=boots.running())


def test_random_runs_beside_jobs_that_run_switch_as_the_reference_does() -> None:
    """Begun anew at the middle start, with all nodes on, a run switches nodes as the reference and the check say."""
    checked = switches = 0
    for seed in range(67_000, 67_000 + tries(160)):
        scenario = strategies.saving_power(seed).without_conditions().without_limits()
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        chosen, whole = scenario.settings, run_engine(scenario)
        rules = fs.Rules(dispatch=chosen.dispatch, placement=chosen.placement)
        options = {"kill_at_estimate": chosen.kill_at_estimate}
        run = prepare(workload, federation, rules, caps=caps, **options)
        moment = float(np.median(whole.start[~np.isnan(whole.start)]))
        held = run.advance(until=moment).running()
        if not held.rows.size or (held.start > held.time).any():
            continue
        rows = np.flatnonzero(~(run.schedule().finish <= held.time))
        running = held.renumbered(rows)
        schedule = fs.simulate(workload.take(rows), federation, rules, caps=caps[rows], running=running, **options)
        names = ("rows", "start", "counts", "tc", "work_left", "estimate_left", "since", "finish", "planned_end")
        columns = (getattr(running, name).tolist() for name in names)
        records = [naive.Running(*row) for row in zip(*columns, strict=True)]
        expected = naive.simulate(
            [scenario.jobs[j] for j in rows], scenario.machine, dispatch=rules.dispatch, placement=rules.placement,
            t0=held.time, running=records, **options,
        )  # fmt: skip
        np.testing.assert_array_equal(schedule.start, expected.start, str(seed))
        np.testing.assert_array_equal(schedule.finish, expected.finish, str(seed))
        np.testing.assert_array_equal(schedule.promises.time, expected.promised, str(seed))
        row = schedule.metrics()
        schedule.verify(claimed=row, caps=caps[rows])
        assert row.switches == len(expected.nights), seed
        assert row.energy == pytest.approx(naive_measures.energy(expected), rel=1e-9, abs=1e-3), seed
        checked, switches = checked + 1, switches + row.switches
    assert checked > tries(160) / 8
    assert switches > checked / 4
