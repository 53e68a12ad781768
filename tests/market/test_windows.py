"""Windows: AMP, ALP and every AEP strategy against trying all of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from reference import market_naive as naive
from support.market_cases import cases, environment_of, request_of
from support.tiers import tries

from fedsched import market
from fedsched.core.errors import InfeasibleError, UnknownNameError

CRITERIA = ("min_start", "min_finish", "min_runtime", "min_cost", "min_cpu", "min_energy")


def same(window: market.Window | None, found: naive.Found | None) -> bool:
    """Return whether both are the same window."""
    if window is None or found is None:
        return window is found
    return (window.start, window.nodes) == (found.start, found.nodes)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_aep_is_the_best_of_all_windows(criterion: str) -> None:
    """On hundreds of small slot lists no window at all is better by the criterion than the one that AEP finds."""
    found = 0
    for domain, ask in cases(tries(300)):
        window = market.find_window(environment_of(domain), request_of(ask), criterion=criterion, window="exact")
        every = [naive.value(domain, ask, one, criterion) for one in naive.every_window(domain, ask)]
        assert (window is None) == (not every)
        if window is not None:
            assert window.value(criterion) == min(every)
            found += 1
    assert found > tries(150)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_aep_settles_ties_as_the_plain_scan(criterion: str) -> None:
    """Of equally good windows it takes the earlier, then the cheaper, then the one of lower nodes."""
    for domain, ask in cases(tries(300)):
        for choice in ("exact", "cheapest"):
            window = market.find_window(environment_of(domain), request_of(ask), criterion=criterion, window=choice)
            assert same(window, naive.scan(domain, ask, "aep", criterion=criterion, choice=choice))


@pytest.mark.parametrize("method", ["amp", "alp"])
def test_first_fit_is_that_of_the_plain_scan(method: str) -> None:
    """AMP and ALP stop at the step at which the plain scan stops, with the same nodes."""
    for domain, ask in cases(tries(400)):
        assert same(market.find_window(environment_of(domain), request_of(ask), method=method),
                    naive.scan(domain, ask, method))  # fmt: skip


def test_amp_finds_wherever_alp_does_and_not_later() -> None:
    """A window whose slots each keep their share of the budget is within the budget: ALP can only be later."""
    later = 0
    for domain, ask in cases(tries(400)):
        environment, request = environment_of(domain), request_of(ask)
        first, local = (market.find_window(environment, request, method=name) for name in ("amp", "alp"))
        if local is not None:
            assert first is not None
            assert first.start <= local.start
            later += first.start < local.start
        else:
            later += first is not None
    assert later >= tries(21)


@pytest.mark.compiled
@pytest.mark.parametrize("window", ["cheapest", "random"])
def test_simplified_choices_are_windows_but_not_the_best(window: str) -> None:
    """The simplified and the random form of min_cpu give windows within budget, never better than the exact one."""
    worse = 0
    for seed, (domain, ask) in enumerate(cases(300)):
        environment, request = environment_of(domain), request_of(ask)
        simple = market.find_window(environment, request, criterion="min_cpu", window=window, seed=seed)
        best = market.find_window(environment, request, criterion="min_cpu", window="exact")
        if simple is None:
            assert best is None or window == "random"  # a random draw may miss every window within budget
            continue
        assert best is not None
        assert simple.cost <= ask.budget
        assert naive.Found(simple.start, simple.nodes) in naive.every_window(domain, ask)
        assert simple.cpu >= best.cpu
        worse += simple.cpu > best.cpu
    assert worse >= 3


def test_random_choice_follows_its_seed() -> None:
    """The same seed draws the same window, another seed another one somewhere."""
    environment = market.Domain(nodes=12).environment(3)
    request = market.Request(nodes=3, length=60, criterion="min_cpu")
    drawn = [market.find_window(environment, request, window="random", seed=seed) for seed in (1, 1, 2, 3, 4)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1


@pytest.mark.compiled
def test_exact_choice_on_made_domains_is_the_best() -> None:
    """On domains of the paper's kind, with prices that grow with performance, the knapsack is solved exactly."""
    for seed in range(25):
        environment = market.Domain(nodes=9, interval=150).environment(seed)
        request = market.Request(nodes=3, length=100, budget=630, criterion="min_cpu")
        slots = environment.slots
        domain = naive.Domain(
            environment.performance.tolist(),
            environment.price.tolist(),
            environment.watts.tolist(),
            list(zip(slots.start.tolist(), slots.node.tolist(), slots.end.tolist(), strict=True)),
            environment.reference,
        )
        ask = naive.Ask(3, 100, budget=630)
        for criterion in ("min_cpu", "min_energy"):
            window = market.find_window(environment, request, criterion=criterion, window="exact")
            every = [naive.value(domain, ask, one, criterion) for one in naive.every_window(domain, ask)]
            assert (window is None) == (not every)
            if window is not None:
                assert window.value(criterion) == pytest.approx(min(every), rel=1e-12)


def test_a_swap_may_spend_the_budget_to_the_last() -> None:
    """Algorithm 2 takes the shorter slot that costs exactly the budget."""
    environment = market.Environment(
        slots=market.Slots([0, 1], [0.0, 1.0], [30.0, 30.0]), performance=[1.0, 4.0], price=[1.0, 10.0]
    )
    window = market.find_window(environment, market.Request(nodes=1, length=8, budget=20, criterion="min_runtime"))
    assert window is not None
    assert (window.nodes, window.cost) == ((1,), 20.0)


def test_a_swap_that_gains_nothing_is_not_made() -> None:
    """Where not all of the longest slots can be replaced, the cheapest window stays."""
    environment = market.Environment(
        slots=market.Slots([0, 1, 2, 3], [0.0, 0.0, 0.0, 1.0], [30.0] * 4),
        performance=[4.0, 1.0, 1.0, 4.0],
        price=[12.5, 2.5, 2.625, 0.5],
    )
    window = market.find_window(environment, market.Request(nodes=3, length=8, budget=50, criterion="min_runtime"))
    assert window is not None
    assert (window.nodes, window.cost) == ((1, 2, 3), 42.0)


def test_the_exact_choice_settles_ties_by_nodes() -> None:
    """Of windows equally light and equally dear, found in one step, the one of lower nodes is taken."""
    environment = market.Environment(
        slots=market.Slots([0, 1, 2, 3, 4], [0.0] * 4 + [1.0], [30.0] * 5),
        performance=[3.0, 3.0, 6.0, 2.0, 6.0],
        price=[1.5, 1.5, 5.0, 1 / 3, 0.0],
    )
    window = market.find_window(
        environment, market.Request(nodes=3, length=6, budget=6, criterion="min_cpu"), window="exact"
    )
    assert window is not None
    assert (window.nodes, window.cost, window.cpu) == ((0, 1, 4), 6.0, 5.0)


@pytest.mark.compiled
def test_equal_nodes_do_not_make_the_exact_choice_endless() -> None:
    """On 60 equal nodes every subset of 8 is as good: the lowest nodes are taken, after few looks."""
    environment = market.Environment(
        slots=market.Slots(list(range(60)), [0.0] * 60, [50.0] * 60), performance=[2.0] * 60, price=1.0
    )
    for budget in (float("inf"), 45.0):
        request = market.Request(nodes=8, length=10, budget=budget, criterion="min_cpu")
        window = market.find_window(environment, request, window="exact")
        assert window is not None
        assert window.nodes == tuple(range(8))


@pytest.mark.compiled
def test_algorithm_2_is_the_threshold_form() -> None:
    """Replacing the longest slot one by one ends where a limit on length, then the m cheapest, ends."""
    for seed in range(60):
        environment = market.Domain(nodes=15).environment(seed)
        request = market.Request(nodes=4, length=120, budget=1000)
        window = market.find_window(environment, request, criterion="min_runtime")
        lengths = request.length * environment.reference / environment.performance
        cost = lengths * environment.price
        best = np.inf
        slots = environment.slots
        for start in slots.start:
            held = slots.node[(slots.start <= start) & (slots.end - start >= lengths[slots.node])]
            for limit in lengths[held]:
                short = np.sort(cost[held][lengths[held] <= limit])
                if len(short) >= 4 and short[:4].sum() <= request.budget:
                    best = min(best, float(limit))
        assert (window is None) == (best == np.inf)
        if window is not None:
            assert window.runtime == best


@pytest.mark.compiled
def test_all_windows_are_disjoint_and_inside_their_slots() -> None:
    """The windows of CSA share no time of a node, and each lies inside one slot of each of its nodes."""
    for seed in range(20):
        environment = market.Domain(nodes=20).environment(seed)
        request = market.Request(nodes=3, length=90, budget=700)
        windows = market.find_windows(environment, request)
        assert len(windows) > 10
        taken = sorted(slot for window in windows for slot in window.slots)
        for (node, _, end), (other, start, _) in pairwise(taken):
            assert node != other or start >= end - 1e-9
        for node, start, end in taken:
            assert any(a <= start and end <= b + 1e-9 for a, b in environment.slots.on_node(node))
        assert all(window.cost <= 700 for window in windows)
        assert market.find_windows(environment, request, most=4) == windows[:4]
        assert market.best_of(windows, "min_start") == windows[0]
        assert market.best_of(windows, "min_cost").cost == min(window.cost for window in windows)


def test_a_window_says_what_it_is() -> None:
    """Figures follow from nodes, lengths and prices; the right edge is rough."""
    environment = market.Environment(
        slots=market.Slots([0, 1], [0.0, 2.0], [20.0, 30.0]),
        performance=[1.0, 2.0],
        price=[3.0, 4.0],
        watts=[10.0, 30.0],
    )
    window = market.find_window(environment, market.Request(nodes=2, length=8))
    assert window == market.Window(0, 2.0, (0, 1), (8.0, 4.0), 40.0, 200.0)
    assert (window.runtime, window.finish, window.cpu) == (8.0, 10.0, 12.0)
    assert window.slots == ((0, 2.0, 10.0), (1, 2.0, 6.0))


def test_nothing_within_budget_is_no_window() -> None:
    """A budget below the cheapest window, a deadline before any, and too high a performance give None."""
    environment = market.Domain(nodes=6).environment(1)
    for request in (
        market.Request(nodes=2, length=100, budget=1.0),
        market.Request(nodes=2, length=100, deadline=5.0),
        market.Request(nodes=2, length=100, min_performance=99.0),
    ):
        for method in ("amp", "alp", "aep"):
            assert market.find_window(environment, request, method=method) is None
    assert market.find_windows(environment, market.Request(nodes=2, length=100, budget=1.0)) == []


def test_wrong_names_and_sizes_are_named() -> None:
    """Unknown names offer the nearest; more nodes than there are is an error that says both numbers."""
    environment = market.Domain(nodes=6).environment(1)
    request = market.Request(nodes=2, length=100, name="7")
    with pytest.raises(UnknownNameError, match="Did you mean 'min_cost'"):
        market.find_window(environment, request, criterion="mincost")
    with pytest.raises(UnknownNameError, match=r"Unknown method 'app'.*Known: aep, alp, amp"):
        market.find_window(environment, request, method="app")
    with pytest.raises(UnknownNameError, match="Did you mean 'exact'"):
        market.find_window(environment, request, window="exakt")
    with pytest.raises(InfeasibleError, match="Job 9: nodes=7 exceeds the environment's 6 nodes"):
        market.find_window(environment, market.Request(nodes=7, length=1, name="9"))
    with pytest.raises(ValueError, match="most=0 must be at least 1"):
        market.find_windows(environment, request, most=0)
    with pytest.raises(ValueError, match="no window to choose from"):
        market.best_of([], "min_cost")
