"""Caps on power: who may start under them, by hand and beside the reference, and what else must know them [70]."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference import naive, naive_measures
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.comparison.instances import Instance
from fedsched.core.errors import FederationError, InfeasibleError
from fedsched.model.power.power_cap import cap_over_time, most_drawn
from fedsched.model.time.signal import MOST_DRAWN
from fedsched.plot.gantt import figure
from fedsched.plot.load import power
from fedsched.policies import Reserve, Timeout
from fedsched.report.plan_data import plan_of
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from pathlib import Path

NODES = fs.Federation((fs.Cluster("A", (fs.NodeGroup(4, 1.0, 100.0, 20.0),)),))  # 80 W idle, 80 more a busy node


def capped(times: tuple[float, ...], watts: tuple[float, ...], machine: fs.Federation = NODES, **options: object):
    """Return the machine under a cap."""
    signal = fs.Signal(times, watts, "W", beyond="last", **options)
    return replace(machine, signals=(*machine.signals, signal))


def against(scenario: strategies.Scenario) -> naive.Result:
    """Return the reference's result, having compared the engine's with it."""
    result = scenario.simulate()
    workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
    chosen = scenario.settings
    rules = fs.Rules(
        order=chosen.order,
        dispatch=chosen.dispatch,
        placement=chosen.placement,
        backfill_order=chosen.backfill_order,
    )
    schedule = fs.simulate(
        workload,
        federation,
        rules,
        same_time=chosen.same_time,
        saturation=chosen.saturation,
        kill_at_estimate=chosen.kill_at_estimate,
        alternatives=chosen.alternatives,
        caps=caps,
    )
    for name in ("start", "finish", "counts"):
        assert np.array_equal(getattr(schedule, name), getattr(result, name), equal_nan=True), (name, scenario)
    lines = schedule.violations(caps=caps, claimed=schedule.metrics() if result.ran else None)
    assert [line for line in lines if "never started" not in line] == []
    return result


@pytest.mark.parametrize("part", range(4))
def test_random_systems_start_jobs_as_the_reference_does(part: int) -> None:
    """Tests that starts, nodes and finishes under caps of all kinds, beside all else, are the reference's."""
    moved = 0
    for seed in range(60 * part, 60 * part + 60):
        scenario = strategies.under_caps(seed, max_jobs=10)
        result = against(scenario)
        free = replace(scenario, machine=replace(scenario.machine, caps=())).simulate()
        moved += not np.array_equal(result.start, free.start, equal_nan=True)
    assert moved > 20


def begun(jobs: fs.Workload, machine: fs.Federation, policy: str | fs.Rules = "fcfs") -> list[float]:
    """Return the starts of jobs of known length, having had them checked."""
    schedule = fs.simulate(jobs, machine, policy, knowledge="runtime")
    schedule.verify(claimed=schedule.metrics())
    return schedule.start.tolist()


def test_a_job_waits_until_the_cap_leaves_it_its_watts() -> None:
    """Tests the arithmetic of the reading: 80 W idle, 80 more for each busy node, a cap of 240 leaves two of them."""
    jobs = fs.Workload(submit=[0.0, 0.0, 0.0], tasks=[1, 1, 1], runtime=[10.0, 5.0, 10.0])
    assert begun(jobs, capped((0.0,), (240.0,))) == [0.0, 0.0, 5.0]
    assert begun(jobs, capped((0.0,), (239.9,))) == [0.0, 10.0, 15.0]
    assert begun(replace(jobs, watts=[60.0, 60.0, 60.0]), capped((0.0,), (200.0,))) == [0.0, 0.0, 0.0]


def test_caps_are_kept_over_the_whole_run_or_looked_at_now() -> None:
    """Tests that a run that would go on under a lower cap waits for a better time; under "now" it starts."""
    machine = capped((0.0, 8.0, 20.0), (400.0, 160.0, 400.0))
    jobs = fs.Workload(submit=[0.0, 0.0], tasks=[2, 2], runtime=[8.0, 9.0])
    assert begun(jobs, machine) == [0.0, 20.0]
    assert begun(jobs, replace(machine, cap="now")) == [0.0, 0.0]


def test_a_cap_that_falls_below_what_runs_ends_nothing() -> None:
    """Tests that who outruns its estimate stays, and nobody starts until there is room again."""
    machine = capped((0.0, 8.0), (400.0, 239.0))
    jobs = fs.Workload(submit=[0.0, 9.0], tasks=[2, 1], runtime=[30.0, 5.0], estimate=[8.0, 5.0])
    schedule = fs.simulate(jobs, machine, "fcfs")
    assert schedule.start.tolist() == [0.0, 30.0]
    schedule.verify()


def test_easys_head_keeps_its_watts() -> None:
    """Tests that nobody who lasts takes the watts that the head is to have; who ends by then may."""
    machine = capped((0.0,), (240.0,))
    jobs = fs.Workload(submit=[0.0, 1.0, 2.0, 3.0], tasks=[1, 2, 1, 1], runtime=[10.0, 5.0, 9.0, 7.0])
    assert begun(jobs, machine, "easy") == [0.0, 10.0, 15.0, 3.0]
    greedy = fs.Rules(dispatch="greedy")
    assert fs.simulate(jobs, machine, greedy, knowledge="runtime").start.tolist() == [0.0, 17.0, 2.0, 10.0]


def test_a_cap_of_one_cluster_leaves_the_others_alone() -> None:
    """Tests that caps of clusters and one of all hold side by side."""
    both = fs.Federation((*NODES.clusters, fs.Cluster("B", (fs.NodeGroup(4, 1.0, 100.0, 20.0),))))
    jobs = fs.Workload(
        submit=[0.0] * 4, tasks=[4, 4, 1, 1], runtime=[10.0, 10.0, 12.0, 10.0], sites=("A", "B"),
        allowed=[[False, True], [False, True], [True, False], [True, False]],
    )  # fmt: skip
    of_a, of_all = fs.Signal((0.0,), (0.2,), "kW", "A"), fs.Signal((0.0,), (480.0,), "W")
    easy = fs.Rules(dispatch="easy", placement="single")
    assert fs.simulate(jobs, replace(both, signals=(of_a,)), easy).start.tolist() == [0.0, 10.0, 0.0, 12.0]
    assert fs.simulate(jobs, replace(both, signals=(of_a, of_all)), easy).start.tolist() == [0.0, 10.0, 20.0, 32.0]


def test_a_local_queue_waits_for_watts_and_does_not_hold_those_of_all() -> None:
    """Of 240 W for three busy nodes, the head of A waits for two, and holds A; a job of B may take the third."""
    both = fs.Federation((*NODES.clusters, fs.Cluster("B", (fs.NodeGroup(4, 1.0, 100.0, 20.0),))))
    in_a, in_b = [True, False], [False, True]
    jobs = fs.Workload(
        submit=[0.0, 0.0, 0.0, 1.0], tasks=[2, 2, 1, 1], runtime=[10.0, 5.0, 5.0, 20.0], sites=("A", "B"),
        allowed=[in_a, in_a, in_a, in_b],
    )  # fmt: skip
    local, machine = fs.Rules(dispatch="local", placement="single"), capped((0.0,), (400.0,), both)
    assert begun(jobs, machine, local) == [0.0, 10.0, 15.0, 1.0]
    of_a = replace(both, signals=(fs.Signal((0.0,), (240.0,), "W", "A"),))
    assert begun(jobs, of_a, local) == [0.0, 10.0, 15.0, 1.0]
    assert begun(jobs, both, local) == [0.0, 0.0, 5.0, 1.0]
    assert begun(jobs, machine, "mct")[3] == 1.0


def test_lookahead_fills_the_watts_that_are_left() -> None:
    """Six of eight nodes have watts: beside a job of two, two jobs of two use more of them than one of three.

    The head waits for the first job until 10. Beside a head of four nodes two have watts for jobs that last longer.
    """
    machine = fs.Federation((fs.Cluster("A", (fs.NodeGroup(8, 1.0, 100.0, 20.0),)),))
    jobs = fs.Workload(submit=[0.0] * 5, tasks=[2, 6, 3, 2, 2], runtime=[10.0, 5.0, 9.0, 8.0, 7.0])
    lookahead = fs.Rules(dispatch="lookahead")
    assert begun(jobs, capped((0.0,), (640.0,), machine), lookahead) == [0.0, 10.0, 15.0, 0.0, 0.0]
    lasting = fs.Workload(submit=[0.0] * 5, tasks=[3, 4, 1, 2, 1], runtime=[10.0, 5.0, 19.0, 18.0, 17.0])
    assert begun(lasting, capped((0.0,), (640.0,), machine), lookahead) == [0.0, 10.0, 15.0, 0.0, 15.0]


def test_conservative_plans_watts_over_time() -> None:
    """Tests that each job's reservation has its watts: what lasts into one waits behind it, what fits before starts."""
    machine = capped((0.0,), (240.0,))
    jobs = fs.Workload(submit=[0.0, 1.0, 2.0, 3.0, 4.0], tasks=[1, 2, 2, 1, 1], runtime=[10.0, 5.0, 5.0, 8.0, 6.0])
    assert begun(jobs, machine, "conservative") == [0.0, 10.0, 15.0, 20.0, 4.0]
    assert begun(jobs, NODES, "conservative") == [0.0, 1.0, 6.0, 3.0, 10.0]


def test_conservative_plans_begin_as_caps_change() -> None:
    """Tests that a job is planned for the time at which a cap rises, and before it falls."""
    rises = capped((0.0, 8.0, 20.0), (160.0, 400.0, 160.0))
    jobs = fs.Workload(submit=[0.0, 0.0, 0.0, 0.0], tasks=[2, 3, 1, 1], runtime=[5.0, 6.0, 13.0, 8.0])
    assert begun(jobs, rises, "conservative") == [8.0, 13.0, 0.0, 8.0]
    assert begun(jobs, rises, "fcfs") == [8.0, 13.0, 13.0, 26.0]


def test_conservative_plans_look_one_period_past_all_that_is_planned() -> None:
    """Tests that a job of four nodes has its place at 40, in the third period, and one of one node waits for it."""
    again = fs.Signal((0.0, 10.0), (400.0, 320.0), "W", until=20.0, beyond="repeat")
    jobs = fs.Workload(submit=[0.0] * 4, tasks=[3, 2, 4, 1], runtime=[5.0, 30.0, 8.0, 45.0])
    assert begun(jobs, replace(NODES, signals=(again,)), "conservative") == [0.0, 5.0, 40.0, 48.0]


def test_a_plan_under_a_cap_of_now_looks_as_reservations_begin() -> None:
    """A job of one node lasts beyond two reservations of five nodes that begin at 10; beside six it would delay them.

    Until 12 six nodes have watts. From then on two have, which counts only for jobs that start.
    """
    machine = fs.Federation((fs.Cluster("A", (fs.NodeGroup(7, 1.0, 100.0, 20.0),)),))
    falls = replace(capped((0.0, 12.0), (620.0, 300.0), machine), cap="now")
    jobs = fs.Workload(submit=[0.0] * 4, tasks=[5, 3, 2, 1], runtime=[10.0, 20.0, 5.0, 20.0])
    wider = replace(jobs, tasks=[5, 3, 3, 1])
    assert begun(jobs, falls, "conservative") == [0.0, 10.0, 10.0, 0.0]
    assert begun(wider, falls, "conservative") == [0.0, 10.0, 10.0, 30.0]


def test_jobs_choose_shapes_for_which_the_cap_has_watts() -> None:
    """Tests that a wide shape is chosen if its watts come in time: it is planned for when the cap rises."""
    shapes = fs.Workload(submit=[0.0], tasks=[2], runtime=[8.0], alternatives={1: "2x8|4x5|3x6.5"})
    machines = (NODES, capped((0.0,), (240.0,)), *(capped((0.0, rise), (240.0, 400.0)) for rise in (2.0, 4.0)))
    found = [fs.simulate(shapes, machine, "easy", alternatives="earliest_finish") for machine in machines]
    assert [(one.workload.tasks[0], one.start[0]) for one in found] == [(4, 0.0), (2, 0.0), (4, 2.0), (2, 0.0)]
    for one in found:
        one.verify(claimed=one.metrics())
    rolling = fs.simulate(shapes, machines[2], fs.Rolling(evaluations=20), alternatives="earliest_finish")
    assert (rolling.workload.tasks[0], rolling.start[0]) == (4, 2.0)


def test_verify_sees_who_starts_under_a_cap_that_does_not_bear_it() -> None:
    """Tests that a start that is planned to draw too much, now or later, is told with watts and times."""
    machine = capped((0.0, 8.0, 20.0), (400.0, 160.0, 400.0))
    jobs = fs.Workload(submit=[0.0], tasks=[2], runtime=[9.0])
    placed = {"start": [0.0], "finish": [9.0], "counts": [[2]], "t0": 0.0}
    late = fs.Schedule(workload=jobs, federation=machine, knowledge="runtime", **placed)
    assert late.violations() == ["Job 1: as it starts at 0, 240 W are planned at 8, and the power cap is 160 W."]
    assert fs.Schedule(workload=jobs, federation=replace(machine, cap="now"), knowledge="runtime", **placed).complete
    fs.Schedule(workload=jobs, federation=replace(machine, cap="now"), knowledge="runtime", **placed).verify()
    unknown = fs.Schedule(workload=jobs, federation=machine, **placed)
    assert unknown.violations() == []  # nobody says what was planned
    low = fs.Schedule(workload=jobs, federation=capped((0.0,), (239.0,)), **placed)
    assert "240 W are planned at 0, and the power cap is 239 W" in low.violations()[0]


def test_a_cap_that_comes_again_for_ages_is_checked_in_one_period() -> None:
    """What is planned only falls after a start, so a cap that recurs is broken in its first period or never."""
    jobs = fs.Workload(submit=[0.0], tasks=[2], runtime=[1e15])
    for most in (240.0, 239.0):
        cap = fs.Signal((0.0, 8.0), (400.0, most), "W", beyond="repeat", until=10.0)
        machine = replace(NODES, signals=(cap,))
        placed = {"start": [0.0], "finish": [1e15], "counts": [[2]], "t0": 0.0}
        late = fs.Schedule(workload=jobs, federation=machine, knowledge="runtime", **placed)
        told = ["Job 1: as it starts at 0, 240 W are planned at 8, and the power cap is 239 W."]
        assert late.violations() == ([] if most == 240.0 else told)


def test_jobs_that_a_cap_leaves_no_time_are_named() -> None:
    """Tests that a run ends without whoever finds no room for its whole run, in a cap that comes again or not."""
    jobs = fs.Workload(submit=[0.0, 0.0], tasks=[2, 1], runtime=[50.0, 5.0])
    again = fs.Signal((0.0, 10.0), (400.0, 170.0), "W", until=20.0, beyond="repeat")
    for machine in (replace(NODES, signals=(again,)), capped((0.0, 10.0), (400.0, 170.0))):
        schedule = fs.simulate(jobs, machine, "easy")
        assert np.isnan(schedule.start).tolist() == [True, False]
        assert "leave jobs 1 no room: 1 of 2 jobs finished" in schedule.notes[0]


def test_searches_and_rolling_plans_are_under_the_cap() -> None:
    """Tests that plans are simulated under the cap, beside policies that know it, and bounds are below them."""
    jobs = fs.Workload(submit=[0.0] * 5, tasks=[1, 2, 1, 3, 1], runtime=[10.0, 5.0, 9.0, 7.0, 3.0])
    falls = fs.Signal((0.0, 16.0), (340.0, 240.0), "W", until=24.0, beyond="repeat")
    machine = replace(NODES, signals=(falls,))
    result = fs.optimize(jobs, machine, objectives=("makespan",), method="ga", evaluations=60, seed=1)
    best = result.best("makespan")
    best.verify(claimed=best.metrics())
    assert best.metrics().peak_watts <= 340.0
    assert best.makespan > fs.optimize(jobs, NODES, method="ga", evaluations=60, seed=1).best("makespan").makespan
    assert result.bound("makespan") <= best.makespan
    flat = fs.optimize(jobs, capped((0.0,), (330.0,)), objectives=("peak_watts",), method="ga", evaluations=60, seed=1)
    assert flat.best("peak_watts").metrics().peak_watts == 320.0
    rolling = fs.simulate(jobs, machine, fs.Rolling(evaluations=50, seed=1), knowledge="runtime")
    rolling.verify(claimed=rolling.metrics())
    assert "conservative" in {baseline.policy for baseline in result.baselines}


def test_bounds_hold_under_caps() -> None:
    """Tests that what bounds no schedule without a cap bounds none under it."""
    checked = 0
    for seed in range(40):
        scenario = strategies.under_caps(seed, max_jobs=6).for_bounds()
        result = scenario.simulate()
        if any(np.isnan(result.finish)):
            continue
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        killed = scenario.settings.kill_at_estimate
        bounds = fs.bounds.lower_bounds(workload, federation, kill_at_estimate=killed, caps=caps, method="closed")
        measured = naive.metrics(result)
        for name in ("makespan", "energy", "flow", "mean_wait"):
            assert not bounds.of(name) > measured[name], (seed, name)
        checked += 1
    assert checked > 10


def test_files_keep_caps(tmp_path: Path) -> None:
    """Tests that a federation's file says its caps, and what of a job they bind."""
    machine = replace(capped((0.0, 8.0), (400.0, 160.0)), cap="now")
    machine.write(tmp_path / "machine.toml")
    assert fs.read_federation(tmp_path / "machine.toml") == machine
    assert 'cap = "now"' in (tmp_path / "machine.toml").read_text()
    schedule = fs.simulate(fs.Workload(submit=[0.0], tasks=[1], runtime=[10.0]), machine, "easy")
    assert "the power cap known to all beforehand" in schedule.assumed


def test_comparisons_tell_caps_apart() -> None:
    """Tests that runs under another cap, or another way to look at it, are of another instance."""
    jobs = fs.Workload(submit=[0.0], tasks=[1], runtime=[10.0])
    machines = [NODES, capped((0.0,), (240.0,)), capped((0.0,), (250.0,))]
    machines.append(replace(machines[1], cap="now"))
    assert len({Instance("i", jobs, machine).fingerprint() for machine in machines}) == len(machines)


def test_pictures_and_reports_draw_the_cap(tmp_path: Path) -> None:
    """Tests that what all may draw is in the page's data and a line of the charts."""
    both = fs.Federation((*NODES.clusters, fs.Cluster("B", (fs.NodeGroup(4, 1.0, 100.0, 20.0),))))
    signals = (fs.Signal((0.0, 4.0), (700.0, 500.0), "W", beyond="last"), fs.Signal((0.0,), (0.2,), "kW", "A"))
    jobs = fs.Workload(submit=[0.0], tasks=[1], runtime=[10.0])
    schedule = fs.simulate(jobs, replace(both, signals=signals), "easy")
    times, watts = cap_over_time(schedule.federation, 0.0, 10.0)
    assert (times.tolist(), watts.tolist()) == ([0.0, 4.0], [600.0, 500.0])
    assert cap_over_time(NODES, 0.0, 10.0)[0].size == 0
    assert plan_of(schedule, 1.0)["cap"] == {"times": [0.0, 4.0], "watts": [600.0, 500.0]}
    for ax in (power(schedule), *figure(schedule).axes):
        drawn = [line for line in ax.get_lines() if line.get_label() == "cap"]
        assert len(drawn) == ("power" in ax.get_ylabel())


def test_a_cap_that_comes_again_for_ages_is_drawn_by_means() -> None:
    """Two million steps are no more than a picture has: their mean, of what the cluster can draw at all."""
    cap = fs.Signal((0.0, 5.0), (9e9, 100.0), "W", beyond="repeat", until=10.0)
    tracemalloc.start()
    try:
        times, watts = cap_over_time(replace(NODES, signals=(cap,)), 0.0, 1e7)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert times.tolist() == [5000.0 * k for k in range(MOST_DRAWN)]
    assert watts == pytest.approx((most_drawn(NODES) + 100.0) / 2)


def test_a_rolling_run_goes_on_from_its_file_under_the_cap(tmp_path: Path) -> None:
    """Tests that what is taken of a cap, and how far it has come, is kept where a run is saved."""
    jobs = fs.Workload(submit=[0.0, 1.0, 2.0, 3.0], tasks=[1, 2, 1, 3], runtime=[10.0, 5.0, 9.0, 7.0])
    falls = fs.Signal((0.0, 16.0), (340.0, 240.0), "W", until=24.0, beyond="repeat")
    machine = replace(NODES, signals=(falls,))
    policy = fs.Rolling(evaluations=50, seed=1, checkpoint=tmp_path / "run")
    run = prepare(jobs, machine, policy, knowledge="runtime").advance(until=6.0)
    run.planner._file.save(run, run.planner._memory())
    assert prepare(jobs, machine, policy, knowledge="runtime").time == run.time == 6.0
    free = replace(policy, checkpoint=None)
    resumed, whole = (fs.simulate(jobs, machine, one, knowledge="runtime") for one in (policy, free))
    assert resumed == whole


def test_what_a_cap_counts_is_one_of_two_words() -> None:
    """Tests that another one is refused by name."""
    with pytest.raises(FederationError, match="cap='later' is none of run, now"):
        replace(capped((0.0,), (240.0,)), cap="later")


# ---- nodes that boot under caps [66]

OFF = {"off_watts": 2.0, "boot_seconds": 10.0, "boot_watts": 150.0}
BOOTING = fs.Federation((fs.Cluster("A", (fs.NodeGroup(4, 1.0, 100.0, 20.0, **OFF),)),), power=Timeout(10.0))


def test_a_node_counts_with_its_boot_if_that_takes_more() -> None:
    """Of 180 W beside idle nodes two jobs of 80 W have room, and only one that may take 130 W to boot its node."""
    jobs = fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[10.0, 5.0])
    assert begun(jobs, capped((0.0,), (260.0,), replace(BOOTING, power=None))) == [0.0, 0.0]
    assert begun(jobs, capped((0.0,), (260.0,), BOOTING)) == [0.0, 10.0]
    assert begun(jobs, capped((0.0,), (340.0,), BOOTING)) == [0.0, 0.0]
    assert begun(jobs, capped((0.0,), (340.0,), replace(BOOTING, power=Reserve(1)))) == [0.0, 10.0]
    with pytest.raises(InfeasibleError, match="draw 130 W more"):
        fs.simulate(jobs, capped((0.0,), (180.0,), BOOTING))


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_a_cap_must_leave_room_until_the_end_of_a_run_after_boots(policy: str) -> None:
    """Nodes are off from 10 on; a job that comes at 30 would boot until 40 and end at 55, after the cap falls at 50."""
    jobs = fs.Workload(submit=[0.0, 30.0], tasks=[1, 1], runtime=[1.0, 15.0])
    falls = ((0.0, 50.0, 70.0), (400.0, 80.0, 400.0))
    assert begun(jobs, capped(*falls, BOOTING), policy) == [0.0, 80.0]
    assert begun(jobs, capped(*falls, replace(BOOTING, power=None)), policy) == [0.0, 30.0]
    assert begun(jobs, capped(*falls, replace(BOOTING, cap="now")), policy) == [0.0, 40.0]


@pytest.mark.parametrize("part", range(4))
def test_random_nodes_boot_under_caps_as_the_reference_says(part: int) -> None:
    """Starts are the reference's. If jobs keep their requests, nodes never draw more than a cap kept over runs."""
    moved = switches = looked = 0
    for seed in range(60 * part, 60 * part + tries(60, 15)):
        scenario = strategies.going_off_under_caps(seed)
        groups = [replace(one, shutdown=(one.shutdown[0], min(one.idle, 30.0))) for one in scenario.machine.groups]
        jobs = [replace(job, estimate=max(job.estimate, job.runtime), alternatives=()) for job in scenario.jobs]
        jobs = jobs if seed % 3 else scenario.jobs
        scenario = replace(scenario, jobs=jobs, machine=replace(scenario.machine, groups=groups))
        result = against(scenario)
        free = replace(scenario, machine=replace(scenario.machine, caps=())).simulate()
        moved += not np.array_equal(result.start, free.start, equal_nan=True)
        switches += len(result.nights)
        if scenario.machine.cap_at_start or any(job.runtime > job.estimate for job in scenario.jobs) or not result.ran:
            continue
        times = {*result.promised, *result.start, *naive_measures.changes_of(result)}
        for cap in scenario.machine.caps:
            last = max(run.end for run in naive.runs_of(result))
            clusters = {scenario.machine.groups[g].cluster for g in cap.groups}
            for time in (one for one in {*times, *cap.steps(result.t0, last)} if result.t0 <= one < last):
                drawn = sum(naive_measures.watts_at(result, time)[k] for k in clusters)
                idle = sum(groups[g].count * groups[g].idle for g in cap.groups)
                assert drawn <= max(idle, cap.at(time)) + 0.01, seed
                looked += 1
    assert moved > tries(60, 15) / 4
    assert switches > 60
    assert looked > 20
