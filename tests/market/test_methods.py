"""CSS, batch-slicer, backfilling and BSF: windows that never overlap, groups that see what is left, jobs left out."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from reference import market_naive as naive
from support.market_cases import batch_of, environment_of
from support.tiers import tries

import fedsched as fs
from fedsched import market
from fedsched.core.errors import InfeasibleError, UnknownNameError
from fedsched.market.arrays import needs_of, slot_list
from fedsched.market.windows import search_all, windows_of

METHODS = ("css", "slicer", "backfilling", "bsf")


def cycle(seed: int, *, nodes: int = 16, jobs: int = 12) -> tuple[list[market.Request], market.Environment]:
    """Return a made batch and domain."""
    domain = market.Domain(nodes=nodes)
    return market.Jobs(jobs=jobs).batch(seed, domain=domain), domain.environment(seed)


def assert_sound(plan: market.Assignment) -> None:
    """Fail unless all windows are disjoint, inside the free slots, and within budget, deadline and performance."""
    taken = []
    for request, window in zip(plan.batch, plan.windows, strict=True):
        if window is None:
            continue
        assert len(set(window.nodes)) == request.nodes
        assert window.cost <= request.budget
        assert window.finish <= request.deadline
        for node, start, end in window.slots:
            assert plan.environment.performance[node] >= request.min_performance
            assert any(a <= start and end <= b + 1e-9 for a, b in plan.environment.slots.on_node(node))
            taken.append((node, start, end))
    taken.sort()
    for (node, _, end), (other, start, _) in pairwise(taken):
        assert node != other or start >= end - 1e-9


@pytest.mark.compiled
@pytest.mark.parametrize("method", METHODS)
def test_windows_are_disjoint_and_keep_every_bound(method: str) -> None:
    """No window of any method overlaps another, leaves its slot, or costs more than its budget."""
    for seed in range(25):
        plan = fs.market.schedule(*cycle(seed), method=method)
        assert plan.scheduled.sum() > 6
        assert_sound(plan)


@pytest.mark.parametrize("search", ["amp", "aep"])
def test_alternatives_are_those_of_the_plain_search(search: str) -> None:
    """Round-robin passes find the windows that the plain reference finds, in the same order."""
    for seed in range(tries(40)):
        rng = random.Random(seed)
        domain = naive.random_domain(rng, 5)
        asks = [naive.random_ask(rng, 5) for _ in range(3)]
        environment, batch = environment_of(domain), batch_of(asks)
        needs = needs_of(batch, environment)
        found = windows_of(search_all(slot_list(environment), needs, 0, 3, method=search), needs)
        plain = naive.alternatives(domain, asks, search)
        assert [(w.job, w.start, w.nodes) for w in found] == [(j, w.start, w.nodes) for j, w in plain]


def test_css_chooses_the_best_combination_of_amp_alternatives() -> None:
    """With a cell for each whole number, CSS takes the combination that trying all of them takes."""
    compared = 0
    for seed in range(tries(80)):
        rng = random.Random(seed)
        domain = naive.random_domain(rng, 5)
        asks = [naive.random_ask(rng, 5) for _ in range(3)]
        plain = naive.alternatives(domain, asks, "amp")
        jobs = sorted({j for j, _ in plain})
        if not jobs or len(plain) > 24:
            continue
        own = [[w for k, w in plain if k == j] for j in jobs]
        groups = [
            [(naive.value(domain, asks[j], w, "min_cost"), naive.value(domain, asks[j], w, "min_cpu")) for w in windows]
            for j, windows in zip(jobs, own, strict=True)
        ]
        limit = sum(int(np.ceil(np.mean([time for _, time in group]))) for group in groups)
        (_, _, chosen), _ = naive.best_combination(groups, limit)
        least = sum(min(time for _, time in group) for group in groups)
        method = market.Slicer(groups=1, search="amp", problem="cost", grid=max(1, int(limit - least)))
        plan = market.schedule(batch_of(asks), environment_of(domain), method=method)
        expected = {j: windows[s] for j, windows, s in zip(jobs, own, chosen, strict=True)}
        for j in range(3):
            window = plan.window(j)
            assert (window is None) == (j not in expected)
            if window is not None:
                assert (window.start, window.nodes) == (expected[j].start, expected[j].nodes)
        assert plan.alternatives.tolist() == [len([1 for k, _ in plain if k == j]) for j in range(3)]
        compared += 1
    assert compared > tries(30)


@pytest.mark.compiled
def test_one_group_of_amp_is_css() -> None:
    """The slicer generalises CSS: one group whose alternatives AMP searches gives the same windows."""
    batch, environment = cycle(1)
    one = market.schedule(batch, environment, method=market.Slicer(groups=1, search="amp"))
    css = market.schedule(batch, environment, method="css")
    np.testing.assert_array_equal(one.figures, css.figures)
    np.testing.assert_array_equal(one.nodes, css.nodes)
    assert one.method == css.method == "css, time"


@pytest.mark.compiled
def test_groups_see_what_the_chosen_windows_leave() -> None:
    """Slicing by hand, the chosen windows of each group cut from the slots of the next, gives the slicer's windows."""
    batch, environment = cycle(2, jobs=11)
    plan = market.schedule(batch, environment, method=market.Slicer(groups=3))
    rest = environment
    first = 0
    for size in (4, 4, 3):
        part = market.schedule(batch[first : first + size], rest, method=market.Slicer(groups=1))
        np.testing.assert_allclose(part.figures, plan.figures[first : first + size], rtol=1e-12)
        spans = [
            list(span)
            for span in zip(rest.slots.node.tolist(), rest.slots.start.tolist(), rest.slots.end.tolist(), strict=True)
        ]
        for window in part.windows:
            for node, start, end in () if window is None else window.slots:
                held = next(span for span in spans if span[0] == node and span[1] <= start < span[2])
                spans.remove(held)
                spans += [[node, a, b] for a, b in ((held[1], start), (end, held[2])) if b > a]
        node, start, end = zip(*spans, strict=True)
        rest = market.Environment(
            slots=market.Slots(np.array(node), np.array(start), np.array(end)),
            performance=environment.performance,
            price=environment.price,
            watts=environment.watts,
            reference=environment.reference,
        )
        first += size


@pytest.mark.compiled
def test_more_slices_give_more_alternatives() -> None:
    """A job searched for in a smaller group finds more windows; groups beyond the number of jobs change nothing."""
    batch, environment = cycle(3)
    counts = [
        market.schedule(batch, environment, method=market.Slicer(groups=k)).alternatives.mean() for k in (1, 3, 12)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[2]
    many, each = (market.schedule(batch, environment, method=market.Slicer(groups=k)) for k in (50, 12))
    np.testing.assert_array_equal(many.figures, each.figures)


def test_backfilling_takes_the_earliest_windows_in_order() -> None:
    """Each job gets the AMP window of what those before it leave."""
    for seed in range(tries(40)):
        rng = random.Random(seed)
        domain = naive.random_domain(rng, 5)
        asks = [naive.random_ask(rng, 5) for _ in range(4)]
        plan = market.schedule(batch_of(asks), environment_of(domain), method="backfilling")
        for j, ask in enumerate(asks):
            window = naive.scan(domain, ask, "amp")
            got = plan.window(j)
            assert (got is None) == (window is None)
            if window is not None and got is not None:
                assert (got.start, got.nodes) == (window.start, window.nodes)
                domain = naive.cut(domain, ask, window)
        assert plan.backfilled.tolist() == plan.scheduled.tolist()


@pytest.mark.compiled
def test_bsf_lies_between_slicer_and_backfilling() -> None:
    """All jobs in the first part is the slicer with one group, none of them is backfilling."""
    batch, environment = cycle(4)
    ends = {0: "backfilling", 12: market.Slicer(groups=1)}
    for first, other in ends.items():
        plan = market.schedule(batch, environment, method=market.Bsf(first=first))
        np.testing.assert_array_equal(plan.figures, market.schedule(batch, environment, method=other).figures)
    half = market.schedule(batch, environment, method="bsf")
    assert half.backfilled.tolist() == [False] * 6 + [True] * 6


@pytest.mark.parametrize("select", ["order", "cost", "performance"])
def test_bsf_gives_the_slicer_the_jobs_that_it_is_told_to(select: str) -> None:
    """The slicer gets the first, the dearest or the most critical jobs; the rest is backfilled in batch order."""
    differs = 0
    for seed in range(tries(40)):
        rng = random.Random(seed)
        domain = naive.random_domain(rng, 5)
        asks = [naive.random_ask(rng, 5) for _ in range(6)]
        chosen = naive.for_the_slicer(domain, asks, 3, select)
        rest = [j for j in range(6) if j not in chosen]
        differs += chosen != [0, 1, 2]
        environment, batch = environment_of(domain), batch_of(asks)
        plan = market.schedule(batch, environment, method=market.Bsf(first=3, select=select))
        reordered = market.schedule([batch[j] for j in chosen + rest], environment, method=market.Bsf(first=3))
        np.testing.assert_array_equal(plan.figures[chosen + rest], reordered.figures)
        np.testing.assert_array_equal(plan.nodes[chosen + rest], reordered.nodes)
        np.testing.assert_array_equal(plan.alternatives[chosen + rest], reordered.alternatives)
        assert list(plan.batch) == batch
        assert not plan.backfilled[chosen].any()
        assert plan.backfilled[rest].tolist() == plan.scheduled[rest].tolist()
    assert (differs > tries(30)) == (select != "order")


def test_a_limit_is_reported_of_the_jobs_that_were_selected() -> None:
    """The report of a limit names the jobs by their places in the batch, not by their places in the slicer's part."""
    batch, environment = cycle(6, jobs=4)
    wide = [market.Request(nodes=m, length=100, name=str(m)) for m in (1, 5, 2, 6)]
    method = market.Bsf(first=2, select="performance", slicer=market.Slicer(groups=1, limit=2.0))
    assert market.schedule(wide, environment, method=method).limits[0].startswith("jobs 2, 4: the least possible")
    assert market.schedule(batch, environment, method=market.Bsf(select="cost")).method == (
        "bsf, half by slicer of 1 (aep), time, most expensive first"
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_poor_job_is_reported_and_the_others_are_scheduled(method: str) -> None:
    """A budget below the cheapest window leaves that job out, with the reason; all others have windows."""
    batch, environment = cycle(5, jobs=4)
    batch[1] = market.Request(nodes=2, length=100, budget=10, name="poor")
    batch[2] = market.Request(nodes=2, length=100, deadline=3, name="late")
    plan = market.schedule(batch, environment, method=method)
    assert plan.failed
    assert plan.scheduled.tolist() == [True, False, False, True]
    assert plan.window(1) is None
    assert plan.nodes[1].tolist() == [-1] * plan.nodes.shape[1]
    reasons = plan.unscheduled()
    cheapest = market.find_window(environment, market.Request(nodes=2, length=100, criterion="min_cost"))
    assert cheapest is not None
    assert reasons[1] == f"its budget of 10 is below {cheapest.cost:,.6g}, the cost of its cheapest window"
    assert reasons[2].startswith("no 2 suitable nodes are free together for long enough")
    assert "job poor: its budget of 10" in str(plan)


def test_jobs_that_others_crowd_out_are_reported() -> None:
    """On a single node only so many jobs have room; the rest are told that others were first."""
    environment = market.Environment(slots=market.Slots([0], [0.0], [10.0]), performance=[1.0], price=[1.0])
    plan = market.schedule([market.Request(nodes=1, length=6, name=name) for name in "ab"], environment, method="css")
    assert plan.unscheduled() == {1: "other jobs have taken the slots that it could have had"}


@pytest.mark.parametrize("method", METHODS)
def test_nothing_free_is_no_error(method: str) -> None:
    """Where every node is taken throughout, no job has a window, and each is told so."""
    environment = market.Environment(
        slots=market.Slots([], [], []), performance=[1.0, 1.0], price=1.0, interval=(0.0, 9.0)
    )
    plan = market.schedule([market.Request(nodes=1, length=1)] * 2, environment, method=method)
    assert not plan.scheduled.any()
    assert "no 1 suitable nodes are free" in plan.unscheduled()[1]
    assert market.replay(plan).moves == 0
    assert plan.totals().utilisation == 0.0


def test_a_limit_that_cannot_be_kept_is_reported() -> None:
    """Under a VO budget below the cheapest combination the cheapest is taken, and the report says both numbers."""
    batch, environment = cycle(6, jobs=4)
    plan = market.schedule(batch, environment, method=market.Slicer(groups=2, limit=2.0))
    assert len(plan.limits) == 2
    assert plan.limits[0].startswith("jobs 1..2: the least possible expense is ")
    assert "above the limit of 1;" in plan.limits[0]
    assert not plan.failed


def test_bad_input_is_refused() -> None:
    """Unknown methods, empty batches, jobs larger than the domain and senseless options are errors that say why."""
    batch, environment = cycle(7)
    with pytest.raises(UnknownNameError, match="Did you mean 'slicer'"):
        market.schedule(batch, environment, method="slice")
    with pytest.raises(ValueError, match="The batch is empty"):
        market.schedule([], environment)
    with pytest.raises(InfeasibleError, match="Job big: nodes=17 exceeds the environment's 16 nodes"):
        market.schedule([*batch, market.Request(nodes=17, length=1, name="big")], environment)
    with pytest.raises(ValueError, match="groups=0 must be at least 1"):
        market.Slicer(groups=0)
    with pytest.raises(ValueError, match="limit=-1 must be finite"):
        market.Slicer(limit=-1)
    with pytest.raises(ValueError, match="first=-1 must be at least 0"):
        market.Bsf(first=-1)
    with pytest.raises(UnknownNameError, match="Did you mean 'performance'"):
        market.Bsf(select="performanc")
    with pytest.raises(UnknownNameError, match="Did you mean 'aep'"):
        market.Slicer(search="aepp")


@pytest.mark.compiled
def test_same_seed_same_windows() -> None:
    """Random sub-windows are drawn by the seed, and by nothing else."""
    batch, environment = cycle(8)
    batch = [market.Request(nodes=r.nodes, length=r.length, budget=r.budget, criterion="min_cpu") for r in batch]
    method = market.Slicer(window="random")
    plans = [market.schedule(batch, environment, method=method, seed=seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(plans[0].figures, plans[1].figures)
    assert not np.array_equal(plans[0].figures, plans[2].figures, equal_nan=True)
