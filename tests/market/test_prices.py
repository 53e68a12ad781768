"""Prices that change over the interval: what slots cost, when windows are tried, and how owners set them."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from reference import market_naive as naive
from support.market_cases import batch_of, environment_of, request_of
from support.tiers import tries

from fedsched import market

CRITERIA = ("min_start", "min_finish", "min_runtime", "min_cost", "min_cpu", "min_energy")


def changing(seed: int, *, nodes: int = 5) -> tuple[random.Random, naive.Domain]:
    """Return a small domain whose prices change; and the numbers that go on from it."""
    rng = random.Random(seed)
    domain = naive.random_domain(rng, nodes)
    domain.changes = naive.random_changes(rng, nodes)
    return rng, domain


@pytest.mark.parametrize("rule", ["amp", "alp", "aep"])
def test_windows_are_those_of_the_plain_scan(rule: str) -> None:
    """Under changing prices every rule and criterion finds the plain reference's window, at its cost."""
    found = 0
    for seed in range(tries(150)):
        rng, domain = changing(seed)
        ask = naive.random_ask(rng, 5)
        if not domain.changes:
            continue
        environment, request = environment_of(domain), request_of(ask)
        for criterion in CRITERIA if rule == "aep" else ("min_start",):
            plain = naive.scan(domain, ask, rule, criterion=criterion, choice="exact")
            window = market.find_window(environment, request, method=rule, criterion=criterion, window="exact")
            assert (window is None) == (plain is None), (seed, criterion)
            if window is not None and plain is not None:
                assert (window.start, window.nodes) == (plain.start, plain.nodes), (seed, criterion)
                assert window.cost == naive.value(domain, ask, plain, "min_cost")
                found += 1
    assert found > tries(60)


def test_min_cost_is_the_least_of_all_starts() -> None:
    """No window at any whole start, nor between, is cheaper than the one found: not only those tried are meant."""
    later = 0
    for seed in range(tries(120)):
        rng, domain = changing(seed, nodes=4)
        ask = naive.random_ask(rng, 4)
        every = [0.5 * start for start in range(160)]
        windows = naive.every_window(domain, replace(ask, budget=float("inf")), every)
        request = replace(request_of(ask), budget=np.inf)
        found = market.find_window(environment_of(domain), request, criterion="min_cost")
        assert (found is None) == (not windows)
        if found is not None:
            assert found.cost == min(naive.value(domain, ask, window, "min_cost") for window in windows)
            later += found.start not in {slot[0] for slot in domain.slots}
    assert later > tries(20)


def test_the_last_start_is_not_lost_by_rounding() -> None:
    """Where prices fall before a slot's end, the cheapest window ends with the slot, whatever its times round to."""
    for seed in range(tries(200)):
        rng = random.Random(seed)
        begin, end, length = rng.uniform(0, 50), rng.uniform(200, 600), rng.uniform(20, 90)
        environment = market.Environment(
            slots=market.Slots([0], [begin], [end]),
            performance=[1.0],
            price=[2.0],
            tariff=market.Tariff([0], [end - length / 2], [1.0]),
        )
        window = market.find_window(environment, market.Request(nodes=1, length=length), criterion="min_cost")
        assert window is not None
        assert window.cost == pytest.approx(1.5 * length)


def test_alternatives_and_backfilling_follow_the_prices() -> None:
    """Alternatives of a batch, and backfilled windows, are those of the plain reference under changing prices."""
    for seed in range(tries(30)):
        rng, domain = changing(seed)
        asks = [naive.random_ask(rng, 5) for _ in range(3)]
        plan = market.schedule(batch_of(asks), environment_of(domain), method="backfilling")
        left = domain
        for j, ask in enumerate(asks):
            window = naive.scan(left, ask, "amp")
            got = plan.window(j)
            assert (got is None) == (window is None)
            if window is not None and got is not None:
                assert (got.start, got.nodes, got.cost) == (
                    window.start, window.nodes, naive.value(domain, ask, window, "min_cost")
                )  # fmt: skip
                left = naive.cut(left, ask, window)
        sliced = market.schedule(batch_of(asks), environment_of(domain), method=market.Slicer(groups=1, search="amp"))
        counts = [0, 0, 0]
        for j, _ in naive.alternatives(domain, asks, "amp"):
            counts[j] += 1
        assert sliced.alternatives.tolist() == counts


def test_a_replay_moves_within_the_budget_of_its_new_time() -> None:
    """A backfilled job moves to an earlier window only where that is within budget at the prices of then."""
    for seed in range(tries(40)):
        rng, domain = changing(seed)
        asks = [naive.random_ask(rng, 5) for _ in range(4)]
        shares = [rng.choice((0.25, 0.5, 1.0)) for _ in asks]
        plan = market.schedule(batch_of(asks), environment_of(domain), method="backfilling")
        done = market.replay(plan, share=shares)
        jobs = [
            naive.Job(ask, naive.Found(window.start, window.nodes), share, movable=True)
            for ask, window, share in zip(asks, plan.windows, shares, strict=True)
            if window is not None
        ]
        real = iter(naive.replay(domain, jobs))
        for j in np.flatnonzero(plan.scheduled).tolist():
            window = next(real)
            assert done.start[j] == window.start
            assert done.figures[j, 2] == naive.value(domain, asks[j], window, "min_cost")


def environment(**options: object) -> market.Environment:
    """Return two nodes over 0..40, one of them busy for a while."""
    slots = market.Slots([0, 1, 1], [0.0, 0.0, 20.0], [40.0, 10.0, 40.0])
    return market.Environment(slots=slots, performance=[1.0, 2.0], price=[2.0, 3.0], interval=(0.0, 40.0), **options)


def test_a_slot_costs_what_each_of_its_time_units_costs() -> None:
    """A slot over a change of price costs both shares; where no price changes all is as without a tariff."""
    made = environment(tariff=market.Tariff([0, 0], [10.0, 20.0], [5.0, 1.0]))
    costs = made.cost_of([0, 0, 0, 1], [0.0, 5.0, 5.0, 5.0], [10.0, 10.0, 20.0, 10.0])
    assert costs.tolist() == [20.0, 35.0, 65.0, 30.0]
    assert made.mean_price.tolist() == [2.25, 3.0]
    plain, empty = environment(), environment(tariff=market.Tariff([], [], []))
    assert empty.tariff is None
    assert plain.mean_price is plain.price
    request = market.Request(nodes=1, length=10, criterion="min_cost")
    window = market.find_window(made, request)
    assert window is not None
    assert (window.start, window.nodes, window.cost) == (20.0, (0,), 10.0)
    cheap = market.Slicer(groups=1, problem="cost", limit=1000.0)
    owners = market.schedule([request], made, method=cheap).owners()
    assert owners.profit.tolist() == [10.0, 0.0]


def test_hours_and_demand_set_prices() -> None:
    """Hours multiply every price from their times on; demand raises prices in stretches where more is taken."""
    since, price = environment().priced(market.Hours(((10.0, 1.5), (30.0, 0.5)))).price_table
    assert since.tolist() == [[-np.inf, 10.0, 30.0]] * 2
    assert price.tolist() == [[2.0, 3.0, 1.0], [3.0, 4.5, 1.5]]
    # 10 of 80 are taken, all of them in the second quarter: there four times the mean.
    for strength, factors in ((1.0, [0.0, 4.0, 0.0, 0.0]), (0.5, [0.5, 2.5, 0.5, 0.5]), (-1.0, [2.0, 0.0, 2.0, 2.0])):
        made = environment().priced(market.Demand(strength=strength, every=10.0))
        assert made.price_table[1][0, 1:].tolist() == pytest.approx([2.0 * factor for factor in factors])
    idle = market.Environment(slots=market.Slots([0], [0.0], [9.0]), performance=[1.0], price=[2.0])
    assert idle.priced(market.Demand(every=4.0)).price_table[1][0].tolist() == [2.0] * 4


@pytest.mark.compiled
def test_demand_follows_what_is_sold() -> None:
    """In a flow prices are set anew in every cycle, by what the cycle sees taken: sold windows raise them."""
    slots = market.Slots([0], [0.0], [40.0])
    whole = market.Environment(slots=slots, performance=[1.0], price=[1.0], interval=(0.0, 40.0))
    batches = [[market.Request(nodes=1, length=15)], [market.Request(nodes=1, length=5)]]
    flow = market.schedule_flow(
        batches, whole, method="backfilling", period=10.0, horizon=20.0, prices=market.Demand(every=10.0)
    )
    # Nothing is taken in the first cycle. In the second 5 of its first 10 are, and none of its last 10: × 2, × 0.
    assert flow.figures[:, 0].tolist() == [0.0, 15.0]
    assert flow.figures[:, 2].tolist() == [15.0, 10.0]
    domain = market.Domain(prices=market.Hours(((300.0, 0.5),)))
    cost = {
        name: market.flows_of({"css": "css"}, domain=made, cycles=2)["css"].totals().cost
        for name, made in (("stay", market.Domain()), ("change", domain))
    }
    assert cost["change"] < cost["stay"]


def test_bad_prices_are_refused() -> None:
    """What cannot be a price is an error that says which row and why."""
    for rows, message in (
        (([0], [0.0], [-1.0]), r"row 0: price=-1\.0 must be finite and at least 0"),
        (([0], [np.inf], [1.0]), r"row 0: start=inf must be finite"),
        (([-1], [0.0], [1.0]), r"row 0: node=-1 must be at least 0"),
        (([0, 0], [1.0, 1.0], [1.0, 2.0]), "node 0 has two prices from 1 on; give one"),
        (([0], [1.0, 2.0], [1.0]), "they must be rows of one length"),
    ):
        with pytest.raises(ValueError, match=message):
            market.Tariff(*rows)
    with pytest.raises(TypeError, match="node must hold whole numbers"):
        market.Tariff([0.5], [0.0], [1.0])
    with pytest.raises(ValueError, match="the tariff has a price of node 2, but performance is given for 2 nodes"):
        environment(tariff=market.Tariff([2], [0.0], [1.0]))
    with pytest.raises(ValueError, match="a finite time and a factor of at least 0"):
        market.Hours(((0.0, -1.0),))
    with pytest.raises(ValueError, match="must rise"):
        market.Hours(((5.0, 1.0), (5.0, 2.0)))
    with pytest.raises(ValueError, match="every=0 must be finite and above 0"):
        market.Demand(every=0)
    with pytest.raises(ValueError, match="strength=nan must be finite"):
        market.Demand(strength=float("nan"))
