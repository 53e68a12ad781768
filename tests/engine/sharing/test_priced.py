"""What signals make of jobs that share nodes: by hand, against the reference, as searches seek it, and checked."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from reference.naive_measures import Steps
from reference.naive_sharing import priced
from support.sharing_cases import BOUND, Case, case
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import InfeasibleError
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.packed import PLAN_DISPATCH
from fedsched.search.problem.shared import SharedProblem

HOUR = 3600.0
NODE = fs.NodeGroup(2, 1.0, 900.0, 100.0, resources={"cpu": 4}, off_watts=0.0)
STEPS = fs.Signal((0.0, HOUR, 2 * HOUR), (10.0, 100.0, 20.0), "EUR/MWh", until=9 * HOUR)
SITE = fs.Federation((fs.Cluster("m", (NODE,)),), signals=(STEPS,))


def test_a_share_of_a_node_costs_its_share() -> None:
    """Tests cost and peak of two jobs of one node by hand, and that whoever is alone there draws all of it."""
    jobs = fs.Workload(submit=[0, 0], tasks=[1, 2], runtime=[HOUR, 2 * HOUR], layout={"exclusive": [0, 0]})
    schedule = fs.simulate(jobs, SITE, "easy", sharing="first")
    row = schedule.metrics()
    schedule.verify(claimed=row)
    assert row.cost == pytest.approx((0.8 * 10 + 0.6 * 100) / 1000, rel=1e-12)
    assert row.peak_watts == pytest.approx(800.0)
    assert schedule.power().watts.tolist() == [pytest.approx([800.0, 600.0, 0.0])]
    alone = fs.simulate(replace(jobs, layout={"exclusive": [0, 1]}), SITE, "easy", sharing="first")
    assert alone.metrics().peak_watts == pytest.approx(200 + 200 + 800)
    for name in ("cost", "peak_watts"):
        (line,) = schedule.violations(claimed=replace(row, **{name: getattr(row, name) * 1.01}))
        assert line.startswith(f"Schedule: {name} is given as")
        assert schedule.violations(claimed=replace(row, **{name: np.nan}))


def test_a_share_of_what_a_job_says_that_its_nodes_draw() -> None:
    """Tests energy, cost and peak by hand of a job that says its watts beside one in a gear, and what bounds say."""
    geared = replace(SITE, clusters=(fs.Cluster("m", (replace(NODE, gears=((0.5, 500.0),)),)),))
    jobs = fs.Workload(
        submit=[0, 0], tasks=[1, 2], runtime=[HOUR, 2 * HOUR], watts=[300.0, -1.0], gear=[0, 1],
        layout={"exclusive": [0, 0]},
    )  # fmt: skip
    schedule = fs.simulate(jobs, geared, "easy", sharing="first")
    row = schedule.metrics()
    schedule.verify(claimed=row)
    above = 0.25 * (300 - 100) * HOUR + 0.5 * (500 - 100) * 2 * HOUR
    assert row.energy == pytest.approx(2 * 100 * 2 * HOUR + above, rel=1e-12)
    assert row.busy_energy == pytest.approx(0.25 * 300 * HOUR + 0.5 * 500 * 2 * HOUR, rel=1e-12)
    assert row.cost == pytest.approx((0.45 * 10 + 0.4 * 100) / 1000, rel=1e-12)
    assert row.peak_watts == pytest.approx(450.0)
    assert not any("draw" in line for line in schedule.unmodelled)
    full_speed = fs.simulate(replace(jobs, gear=None), geared, "easy", sharing="first").metrics()
    assert [line.split()[1] for line in schedule.violations(claimed=full_speed)] == [
        "busy_energy", "energy", "peak_watts", "cost",
    ]  # fmt: skip
    problem = SharedProblem(jobs, geared, Objectives(("energy",)), sharing=fs.NodeSharing(), submits="keep")
    bounds = problem.bounds()
    assert bounds is not None
    assert bounds.of("energy") == pytest.approx(row.energy, rel=1e-9)
    assert bounds.of("busy_energy") == pytest.approx(row.busy_energy, rel=1e-9)
    assert bounds.of("cost") == pytest.approx((0.2 * (10 + 100) + 0.05 * 10 + 0.2 * 2 * 20) / 1000, rel=1e-8)


def test_a_job_may_draw_less_than_idle_nodes() -> None:
    """Tests that the bound on energy holds where a whole node draws less under a job than idle."""
    jobs = fs.Workload(submit=[0, 0], tasks=[4, 4], runtime=[HOUR, 2 * HOUR], watts=[20.0, 600.0])
    row = fs.simulate(jobs, SITE, "easy", sharing="first").metrics()
    assert row.energy == pytest.approx((2 * 100 * 2 - 80 + 500 * 2) * HOUR, rel=1e-12)
    problem = SharedProblem(jobs, SITE, Objectives(("energy",)), sharing=fs.NodeSharing(), submits="keep")
    bounds = problem.bounds()
    assert bounds is not None
    assert 0 < bounds.of("energy") <= row.energy
    assert 0 < bounds.of("cost") <= row.cost


def test_one_price_is_that_of_the_energy() -> None:
    """Tests that a constant signal makes the cost the energy of the shares times the price, to the bit."""
    jobs = fs.Workload(submit=[0, 0], tasks=[1, 2], runtime=[HOUR, 2 * HOUR])
    constant = replace(SITE, signals=(fs.Signal((0.0,), (50.0,), "EUR/MWh"), fs.Signal((0.0,), (300.0,), "g/kWh")))
    row = fs.simulate(jobs, constant, "easy", sharing="first").metrics()
    assert row.cost == row.energy * 50.0 / 3.6e9
    assert row.carbon == pytest.approx(row.energy / 3.6e6 * 0.3)


@pytest.mark.filterwarnings("ignore:overflow encountered")  # of the random numbers, where nothing is compiled
@pytest.mark.parametrize("seed", range(tries(60)))
def test_costs_are_as_the_reference_has_them(seed: int) -> None:
    """Tests cost and greatest power of random jobs and nodes, of lost runs too."""
    draw = Random(seed)
    one = case(21000 + seed, bound=(*BOUND, "downtimes", "taking", "counted") if seed % 2 else ())
    times = tuple(sorted(draw.sample(range(1, 40), 3)))
    signals, steps = [], []
    for cluster in one.federation.clusters:
        values = tuple(draw.choice((0.0, 10.0, 25.0, 80.0)) for _ in range(4))
        signals.append(fs.Signal((0.0, *map(float, times)), values, "EUR/kWh", cluster.name, until=50.0, beyond="last"))
        steps.append(Steps([0.0, *map(float, times)], list(values), 50.0, "last", 1 / 3.6e6))
    one.federation = replace(one.federation, signals=tuple(signals))
    if seed % 3:
        let_draw_their_own(draw, one)
    schedule, run = one.simulate(), one.naive
    run.run()
    if np.isnan(schedule.finish).all():
        return
    cost, peak = priced(run, steps, schedule.t0)
    row = schedule.metrics()
    assert row.cost == pytest.approx(cost, rel=1e-9, abs=1e-12)
    assert row.peak_watts == pytest.approx(peak, rel=1e-9)
    if schedule.complete:
        schedule.verify(claimed=row)


def let_draw_their_own(draw: Random, one: Case) -> None:
    """Let some jobs say what their nodes draw, and some run in a gear, here and in the reference."""
    jobs, machine = one.naive.jobs, one.naive.machine
    watts = [draw.choice((-1.0, 20.0, 70.0, 160.0)) for _ in jobs]
    gears = [draw.choice((0, 0, 1, 2)) for _ in jobs]
    one.workload = replace(one.workload, watts=watts, gear=gears)
    one.naive.jobs[:] = [
        replace(job, watts=None if own < 0 else own, gear=gear)
        for job, own, gear in zip(jobs, watts, gears, strict=True)
    ]
    speeds = ((0.5, 70.0), (0.25, 55.0))
    one.federation = replace(
        one.federation,
        clusters=tuple(
            replace(cluster, groups=tuple(replace(group, gears=speeds) for group in cluster.groups))
            for cluster in one.federation.clusters
        ),
    )
    one.naive.machine = replace(machine, groups=[replace(group, gears=(70.0, 55.0)) for group in machine.groups])


@pytest.mark.parametrize("seed", range(tries(12)))
def test_what_a_plan_costs_is_what_its_schedule_does(seed: int) -> None:
    """Tests that values of plans are those of their schedules, to the bit, where the signal is as forecast or not."""
    one = case(23000 + seed, jobs=8, bound=("downtimes",) if seed % 2 else ())
    if seed % 4 > 1:
        let_draw_their_own(Random(seed), one)
    forecast = ((0.0, 6.0), (3.0, 1.0)) if seed % 3 == 0 else None
    told = {} if forecast is None else {"forecast": fs.Signal(*forecast, "EUR/kWh", until=99.0, beyond="last")}
    signal = fs.Signal((0.0, 5.0, 9.0), (1.0, 8.0, 2.0), "EUR/kWh", until=99.0, beyond="last", **told)
    federation = replace(one.federation, signals=(signal,))
    sought = ("makespan", "energy", "cost", "peak_watts")
    words = {"objectives": sought, "evaluations": 40, "seed": seed, "submits": "keep"}
    if any(not np.isfinite(downtime.end) or not downtime.end_known for downtime in federation.calendar):
        with pytest.raises(InfeasibleError, match="need the ends of all jobs"):
            fs.optimize(one.workload, federation, sharing=one.sharing, **words)
        return
    result = fs.optimize(one.workload, federation, sharing=one.sharing, **words)
    for name in ("makespan", "energy", "cost"):
        least = result.lower_bounds[name]
        assert 0 < least <= result.front.values[:, result.objectives.index(name)].min() * (1 + 1e-12)
    for k, values in enumerate(result.front.values):
        schedule = result.schedule(k)
        row = schedule.metrics()
        schedule.verify(claimed=row)
        assert [getattr(row, name) for name in result.objectives] == values.tolist()


def test_a_search_puts_work_into_cheap_hours() -> None:
    """Tests that of the orders of a long and a short job the one is found that has the dear hour idle."""
    jobs = fs.Workload(submit=[0, 0, HOUR], tasks=[8, 8, 8], runtime=[HOUR, 2 * HOUR, HOUR])
    result = fs.optimize(jobs, SITE, sharing="first", objectives="cost", evaluations=60, submits="keep")
    problem = SharedProblem(jobs, SITE, Objectives(("cost",)), sharing=fs.NodeSharing(), submits="keep")
    orders = ([0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 0, 1], [1, 2, 0], [2, 1, 0])
    rows = [problem.row(order, rules=(dispatch, 0)) for order in orders for dispatch in PLAN_DISPATCH]
    assert result.value() == problem.values(np.array(rows)).min()


def test_costs_need_a_signal() -> None:
    """Tests that a search for cost is refused by name without prices, and where downtimes take nodes from jobs."""
    jobs, plain = fs.Workload(submit=[0], tasks=1, runtime=1), replace(SITE, signals=())
    with pytest.raises(InfeasibleError, match="'cost' needs a price signal"):
        fs.optimize(jobs, plain, sharing="first", objectives="cost", evaluations=20)
    takes = replace(SITE, calendar=(fs.Downtime("m", 1.0, 2.0, on_running="requeue"),))
    with pytest.raises(InfeasibleError, match="and plans do not price these"):
        fs.optimize(jobs, takes, sharing="first", objectives="cost", evaluations=20)
