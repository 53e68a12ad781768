"""What signals make of jobs that share nodes: by hand, against the reference, as searches seek it, and checked."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from interpreted import tries
from naive_measures import Steps
from naive_sharing import priced
from sharing_cases import BOUND, case

import fedsched as fs
from fedsched.errors import InfeasibleError
from fedsched.search.objectives import Objectives
from fedsched.search.packed import PLAN_DISPATCH
from fedsched.search.shared import SharedProblem

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


@pytest.mark.parametrize("seed", range(tries(12)))
def test_what_a_plan_costs_is_what_its_schedule_does(seed: int) -> None:
    """Tests that values of plans are those of their schedules, to the bit, where the signal is as forecast or not."""
    one = case(23000 + seed, jobs=8, bound=("downtimes",) if seed % 2 else ())
    forecast = ((0.0, 6.0), (3.0, 1.0)) if seed % 3 == 0 else None
    told = {} if forecast is None else {"forecast": fs.Signal(*forecast, "EUR/kWh", until=99.0, beyond="last")}
    signal = fs.Signal((0.0, 5.0, 9.0), (1.0, 8.0, 2.0), "EUR/kWh", until=99.0, beyond="last", **told)
    federation = replace(one.federation, signals=(signal,))
    words = {"objectives": ("makespan", "cost", "peak_watts"), "evaluations": 40, "seed": seed, "submits": "keep"}
    if any(not np.isfinite(downtime.end) or not downtime.end_known for downtime in federation.calendar):
        with pytest.raises(InfeasibleError, match="ask for the ends of all jobs"):
            fs.optimize(one.workload, federation, sharing=one.sharing, **words)
        return
    result = fs.optimize(one.workload, federation, sharing=one.sharing, **words)
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
    with pytest.raises(InfeasibleError, match="whose lost runs plans do not price"):
        fs.optimize(jobs, takes, sharing="first", objectives="cost", evaluations=20)
