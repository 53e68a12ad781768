"""Flows: who waits, who is served when, what stays sold, and who is overtaken or gives up."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from reference import market_naive as naive
from support.market_cases import batch_of, environment_of
from support.tiers import tries

from fedsched import market
from fedsched.core.errors import InfeasibleError, UnknownNameError


def crowded(seed: int, *, cycles: int = 5) -> tuple[naive.Domain, list[list[naive.Ask]], dict[str, float]]:
    """Return a small domain over the whole time, batches that are too much for it, and period and horizon."""
    rng = random.Random(seed)
    period = rng.choice((10.0, 16.0))
    horizon = period + rng.choice((0.0, 5.0, 12.0))
    domain = naive.random_domain(rng, 4, horizon=int(period * (cycles - 1) + horizon))
    batches = [[naive.random_ask(rng, 4) for _ in range(rng.randrange(0, 7))] for _ in range(cycles)]
    return domain, batches, {"period": period, "horizon": horizon}


def over(domain: naive.Domain, end: float) -> market.Environment:
    """Return the package's environment from 0 to the flow's end."""
    made = environment_of(domain)
    inside = made.slots.start < end
    return market.Environment(
        slots=market.Slots(made.slots.node[inside], made.slots.start[inside], np.minimum(made.slots.end[inside], end)),
        performance=made.performance,
        price=made.price,
        watts=made.watts,
        interval=(0.0, end),
        reference=made.reference,
    )


@pytest.mark.parametrize("order", ["oldest", "newest"])
@pytest.mark.parametrize("patience", [None, 2])
def test_a_flow_is_that_of_the_plain_reference(order: str, patience: int | None) -> None:
    """Who is served in which cycle, in which window, who waits and who has gone, is as slow plain Python has it."""
    fates = {"served": 0, "gone": 0, "waiting": 0}
    late = 0
    for seed in range(tries(60)):
        domain, batches, times = crowded(seed)
        if not any(batches):
            continue
        end = times["period"] * (len(batches) - 1) + times["horizon"]
        plain = naive.flow(domain, batches, order=order, patience=np.inf if patience is None else patience, **times)
        flow = market.schedule_flow(
            [batch_of(batch) for batch in batches],
            over(domain, end),
            method="backfilling",
            order=order,
            patience=patience,
            **times,
        )
        for j, (fate, cycle, window) in enumerate(plain):
            fates[fate] += 1
            assert flow.served[j] == (cycle if fate == "served" else -1)
            assert flow.gone[j] == (cycle if fate == "gone" else -1)
            assert flow.waiting[j] == (fate == "waiting")
            if window is not None:
                late += cycle > flow.arrived[j]
                assert flow.figures[j, 0] == window.start
                assert tuple(flow.nodes[j][flow.nodes[j] >= 0].tolist()) == window.nodes
    assert min(fates["served"], fates["waiting"] if patience is None else fates["gone"]) > tries(15)
    assert late > tries(5)


@pytest.mark.compiled
@pytest.mark.parametrize("method", ["css", "slicer", "backfilling", "bsf"])
def test_what_is_sold_stays_sold(method: str) -> None:
    """Windows of all cycles together are disjoint, in free slots, within their cycle's sight, and not in the past."""
    flow = market.flows_of({"it": method}, cycles=5, period=150.0, jobs=market.Jobs(jobs=16), first=3)["it"]
    assert flow.waiting.any()
    assert (flow.wait[flow.served >= 0] > 0).any()
    taken = []
    for j in np.flatnonzero(flow.served >= 0).tolist():
        now = flow.begin[flow.served[j]]
        nodes = flow.nodes[j][flow.nodes[j] >= 0]
        lengths = flow.jobs[j].length * flow.environment.reference / flow.environment.performance[nodes]
        start = flow.figures[j, 0]
        assert now <= start
        assert start + lengths.max() <= now + flow.horizon + 1e-9
        for node, length in zip(nodes.tolist(), lengths.tolist(), strict=True):
            assert any(a <= start and start + length <= b + 1e-9 for a, b in flow.environment.slots.on_node(node))
            taken.append((node, start, start + length))
    taken.sort()
    for (node, _, end), (other, start, _) in pairwise(taken):
        assert node != other or start >= end - 1e-9


@pytest.mark.compiled
def test_a_flow_of_one_cycle_is_a_cycle() -> None:
    """Where nobody has to wait for anybody, a flow says what `schedule` says."""
    domain, jobs = market.Domain(), market.Jobs()
    flow = market.flows_of({"css": "css"}, cycles=1, first=7)["css"]
    plan = market.schedule(jobs.batch(7, domain=domain), domain.environment(7), method="css", seed=7)
    np.testing.assert_array_equal(flow.figures, plan.figures)
    np.testing.assert_array_equal(flow.nodes[flow.nodes >= 0], plan.nodes[plan.nodes >= 0])
    assert flow.totals().served == plan.totals().scheduled
    assert flow.cycles().sold[0] == pytest.approx(plan.totals().utilisation)


def one_node(lengths: list[list[float]], **options: object) -> market.Flow:
    """Return a flow on one node that is always free, cycles of 10."""
    end = 10.0 * len(lengths)
    environment = market.Environment(slots=market.Slots([0], [0.0], [end]), performance=[1.0], price=[1.0])
    batches = [[market.Request(nodes=1, length=length) for length in batch] for batch in lengths]
    return market.schedule_flow(batches, environment, method="backfilling", period=10.0, **options)


def test_the_numbers_of_a_flow_by_hand() -> None:
    """Waiting, ages, overtaking and shares of a flow small enough to count."""
    # Job 1 (9 long) never fits behind job 0 or 2; it is first in line from cycle 1 on, and served then.
    flow = one_node([[5.0, 9.0], [6.0], [], [20.0]])
    assert flow.served.tolist() == [0, 1, 2, -1]
    assert flow.wait.tolist() == [0, 1, 1, 1]
    assert flow.overtaken.tolist() == [0, 0, 0, 0]
    assert flow.delay[:3].tolist() == [0.0, 10.0, 10.0]
    assert flow.waiting.tolist() == [False, False, False, True]
    rows = flow.cycles()
    assert rows.arrived.tolist() == [2, 1, 0, 1]
    assert rows.carried.tolist() == [0, 1, 1, 0]
    assert rows.served.tolist() == [1, 1, 1, 0]
    assert rows.waiting.tolist() == [1, 1, 0, 1]
    assert rows.oldest.tolist() == [1, 1, 0, 1]
    assert rows.age.tolist() == [1.0, 1.0, 0.0, 1.0]
    assert rows.wait[:3].tolist() == [0.0, 1.0, 1.0]
    assert np.isnan(rows.wait[3])
    assert rows.sold.tolist() == [0.5, 0.9, 0.6, 0.0]
    assert rows.cost.tolist() == [5.0, 9.0, 6.0, 0.0]
    total = flow.totals()
    assert (total.jobs, total.served, total.gone, total.waiting, total.longest) == (4, 3, 0, 1, 1)
    assert (total.waited, total.sold) == (0.75, 0.5)
    assert "3 of 4 jobs served in 4 cycles, one every 10, 1 wait, 0 have gone" in str(flow)


def test_the_newest_first_starve_the_oldest() -> None:
    """With new jobs first a job may be overtaken for ever; with patience it gives up; in order of age it is served."""
    batches = [[5.0, 9.0], [5.0], [5.0], [5.0]]
    starved = one_node(batches, order="newest")
    assert starved.served.tolist() == [0, -1, 1, 2, 3]
    assert starved.overtaken.tolist() == [0, 3, 0, 0, 0]
    assert starved.batches == ((0, 1), (2, 1), (3, 1), (4, 1))
    assert starved.totals().longest == 4
    tired = one_node(batches, order="newest", patience=2)
    assert tired.gone.tolist() == [-1, 1, -1, -1, -1]
    assert tired.wait.tolist() == [0, 2, 0, 0, 0]
    assert tired.cycles().gone.tolist() == [0, 1, 0, 0]
    assert one_node(batches).served.tolist() == [0, 1, 2, 2, 3]


def test_a_job_whose_deadline_has_passed_leaves() -> None:
    """A deadline is a time, not a number of cycles: the job that waited past it takes no further part."""
    environment = market.Environment(slots=market.Slots([0], [0.0], [30.0]), performance=[1.0], price=[1.0])
    batches = [[market.Request(nodes=1, length=9), market.Request(nodes=1, length=9, deadline=18)], [], []]
    flow = market.schedule_flow(batches, environment, method="backfilling", period=10.0)
    assert flow.served.tolist() == [0, -1]
    assert flow.gone.tolist() == [-1, 1]
    assert flow.batches == ((0, 1), (1,), ())
    assert flow.plans[2] is None


def test_more_sight_than_period_sells_ahead() -> None:
    """A horizon beyond the period lets a window reach into the next cycle's time, where it stays."""
    environment = market.Environment(slots=market.Slots([0], [0.0], [25.0]), performance=[1.0], price=[1.0])
    batches = [[market.Request(nodes=1, length=14)], [market.Request(nodes=1, length=5)]]
    flow = market.schedule_flow(batches, environment, method="backfilling", period=10.0, horizon=15.0)
    assert flow.served.tolist() == [0, 1]
    assert flow.figures[1, 0] == 14.0
    assert flow.cycles().sold.tolist() == [1.0, 0.9]


def test_bad_flows_are_refused() -> None:
    """What cannot be a flow is an error that says which value, and what would do."""
    environment = market.Environment(slots=market.Slots([0], [0.0], [30.0]), performance=[1.0], price=[1.0])
    batch = [market.Request(nodes=1, length=1)]
    with pytest.raises(ValueError, match="batches is empty"):
        market.schedule_flow([], environment, period=10.0)
    with pytest.raises(ValueError, match="period=0 must be finite and above 0"):
        market.schedule_flow([batch], environment, period=0)
    with pytest.raises(ValueError, match=r"horizon=5\.0 must be at least period=10"):
        market.schedule_flow([batch], environment, period=10.0, horizon=5.0)
    with pytest.raises(ValueError, match="4 cycles every 10 see up to 40, but the environment ends at 30"):
        market.schedule_flow([batch] * 4, environment, period=10.0)
    with pytest.raises(ValueError, match="patience=0 must be at least 1"):
        market.schedule_flow([batch], environment, period=10.0, patience=0)
    with pytest.raises(UnknownNameError, match="Did you mean 'oldest'"):
        market.schedule_flow([batch], environment, period=10.0, order="oldst")
    with pytest.raises(InfeasibleError, match="nodes=2 exceeds"):
        market.schedule_flow([batch, [market.Request(nodes=2, length=1)]], environment, period=10.0)
    with pytest.raises(ValueError, match="cycles=0 must be at least 1"):
        market.flows_of({"css": "css"}, cycles=0)
