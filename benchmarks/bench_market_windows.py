"""Slot windows: the AEP study of Toporkov et al. (figure 5) beside the paper, exactness, and time against slots.

5000 domains of 100 nodes; a job of 5 slots of 150 within a budget of 1500.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from checks import Ledger
from market_loads import SOURCE
from measuring import ROOT, Report, arguments, best_of, record

from fedsched.market import (
    STRATEGIES,
    Domain,
    Pricing,
    Request,
    Searches,
    Strategy,
    find_windows,
    searches_of,
)

if TYPE_CHECKING:
    from checks import Table

FIGURE = ROOT / "out" / "market_time.png"
ASKED = Request(nodes=5, length=150, budget=1500)
CHECKS = Ledger("bench_market_windows", SOURCE)
COSTS = {
    "MinCost": 1027.3,
    "MinProcTime": 1342.1,
    "CSA": 1352.0,
    "AMP": 1445.2,
    "MinFinish": 1464.2,
    "MinRunTime": 1464.9,
}
RUNTIMES = {"AMP": 100.2, "MinCost": 114.7, "MinRunTime": 33.0, "MinFinish": 34.4, "CSA": 38.0, "MinProcTime": 38.0}
# The prices and local tasks, among those tried, whose run times come closest to figure 5 b.
NEAREST = Domain(nodes=100, local=(100.0, 300.0), pricing=Pricing(exponent=0.1, deviation=0.18))


def study(cycles: int) -> None:
    """Print mean costs, each strategy's own criterion, and the order of costs."""
    searches = searches_of(ASKED, cycles=cycles)
    table = CHECKS.table(f"Mean cost of a window, {cycles} domains (budget 1500)")
    for name, paper in COSTS.items():
        table.near(name, paper, searches.mean(name, "min_cost"), within=0.02)
    means = [searches.mean(name, "min_cost") for name in COSTS]
    order = [means[0], means[1], *means[3:5]]
    table.holds(
        "MinCost < MinProcTime < CSA < AMP < MinFinish ≈ MinRunTime (± 1 %)",
        means[:5] == sorted(means[:5]) and abs(means[4] / means[5] - 1) <= 0.01,
        ours=" < ".join(sorted(COSTS, key=lambda name: means[list(COSTS).index(name)])),
    )
    apart = abs(means[1] / means[2] - 1)
    table.holds(
        "the same order but for MinProcTime and CSA, and those within 2 % of each other",
        order == sorted(order) and apart <= 0.02,
        paper="0.7 % apart",
        ours=f"{100 * apart:.1f} % apart",
    )
    own(table, searches)
    table.shown("disjoint AMP windows in a domain (CSA)", float(searches.alternatives.mean()))


def own(table: Table, searches: Searches) -> None:
    """Print whether each strategy is the best at its own criterion."""
    for name, criterion in (
        ("AMP", "min_start"),
        ("MinFinish", "min_finish"),
        ("MinRunTime", "min_runtime"),
        ("MinCost", "min_cost"),
    ):
        best = min(searches.mean(other, criterion) for other in searches.found)
        table.holds(f"{name} is the best at {criterion}", searches.mean(name, criterion) <= best * (1 + 1e-9))
    gap = 100 * (searches.mean("MinProcTime", "min_cpu") / searches.mean("CSA", "min_cpu") - 1)
    table.holds("MinProcTime's CPU time above CSA's, about 2 %", gap <= 2.5, paper="2 %", ours=f"{gap:.1f} %")


def runtimes(cycles: int) -> None:
    """Print run times as far as figure 5 b can be read, for the paper's settings and for those that come closest."""
    for title, domain in (("the paper's settings as read", Domain(nodes=100)), ("the nearest settings", NEAREST)):
        searches = searches_of(ASKED, domain=domain, cycles=cycles)
        table = CHECKS.table(f"Mean run time of a window (figure 5 b), {title}, {cycles} domains")
        for name, paper in RUNTIMES.items():
            table.near(name, paper, searches.mean(name, "min_runtime"), within=0.1)
        worst = max(abs(searches.mean(name, "min_cost") / paper - 1) for name, paper in COSTS.items())
        table.shown("mean costs off the paper's by at most, %", 100 * worst)


def exactness(cycles: int) -> None:
    """Print how far the simplified and the random form of MinProcTime are from the exact one."""
    forms = {name: Strategy(criterion="min_cpu", window=name) for name in ("exact", "cheapest", "random")}
    searches = searches_of(ASKED, strategies=forms, csa=False, cycles=cycles)
    report = Report(f"CPU time of MinProcTime's forms, {cycles} domains")
    exact = searches.mean("exact", "min_cpu")
    report.row("exact (knapsack at each step)", exact, "")
    for name in ("cheapest", "random"):
        report.row(f"{name}: above the exact one", 100 * (searches.mean(name, "min_cpu") / exact - 1), "%")


def seconds_of(domain: Domain, strategy: Strategy, rounds: int) -> tuple[float, float]:
    """Return mean slots and mean seconds of a search over several domains, packing included, each at its least."""
    drawn = [domain.environment(seed) for seed in range(8)]
    times = best_of(rounds, *[lambda e=environment: strategy.find(e, ASKED) for environment in drawn])
    return float(np.mean([len(environment.slots) for environment in drawn])), float(np.mean(times))


def scaling(smoke: bool) -> None:
    """Print time against slots at 100 nodes and growing intervals, and against nodes at an interval of 600."""
    intervals = [600, 1200, 1800] if smoke else [600, 1200, 1800, 2400, 3000, 3600]
    sizes = [50, 100] if smoke else [50, 100, 200, 300, 400]
    rounds = 2 if smoke else 20
    # AMP and MinFinish stop where no later window can be better.
    timed = {name: strategy for name, strategy in STRATEGIES.items() if name not in ("AMP", "MinFinish")}
    exact = Strategy(criterion="min_cpu", window="exact")
    report = Report("Time against slots: 100 nodes, intervals from 600 to 3600")
    curves = {}
    for name, strategy in {**timed, "MinProcTime, exact": exact}.items():
        points = [seconds_of(Domain(nodes=100, interval=length), strategy, rounds) for length in intervals]
        slots, seconds = np.array(points).T
        curves[name] = slots, seconds
        slope, start = np.polyfit(slots, seconds, 1)
        fitted = 1 - float(((seconds - slope * slots - start) ** 2).sum() / ((seconds - seconds.mean()) ** 2).sum())
        report.row(f"{name}: slope of the line", 1e9 * slope, "ns/slot")
        if name == "MinCost":
            line = {"slots": [slots.min(), slots.max()], "slope": 1e9 * slope, "fitted": fitted}
        aims = (0.99, 1.15) if strategy is not exact else (None, None)
        report.row("  share of the variance that the line explains", fitted, "", aims[0])
        late = slice(len(slots) // 2 - 1, None)
        exponent = float(np.polyfit(np.log(slots[late]), np.log(seconds[late]), 1)[0])
        report.row("  exponent of slots over the longer half", exponent, "", aims[1], at_most=True)
    for name in ("AMP", "MinFinish"):
        _, seconds = seconds_of(Domain(nodes=100, interval=intervals[-1]), STRATEGIES[name], rounds)
        report.row(f"{name}, which stops early, at the longest interval", 1e6 * seconds, "µs")
    longest = Domain(nodes=100, interval=intervals[-1]).environment(1)
    found = len(find_windows(longest, ASKED))
    seconds_csa = best_of(1 if smoke else 3, lambda: find_windows(longest, ASKED))[0]
    report.row(f"CSA, an alternative of {found}, at the longest interval", 1e6 * seconds_csa / found, "µs")
    report = Report("Time against nodes, interval 600")
    for name, strategy in timed.items():
        seconds = np.array([seconds_of(Domain(nodes=size), strategy, rounds)[1] for size in sizes])
        report.row(f"{name}: {sizes[-1]} nodes", 1e3 * seconds[-1], "ms")
        exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        report.row("  exponent of nodes (paper: quadratic)", exponent, "", 2.1, at_most=True)
    if not smoke:
        draw(curves)
        record("bench_market_windows", line)


def draw(curves: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Draw time against slots."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for (name, (slots, seconds)), style in zip(curves.items(), ("o-", "s--", "^-.", "D:"), strict=True):
        axes.plot(slots, 1e3 * seconds, style, label=name)
    axes.set(xlabel="slots", ylabel="ms a search", xscale="log", yscale="log")
    axes.legend()
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=110)
    print(f"drawn: {FIGURE.relative_to(ROOT)}")


def main() -> None:
    """Print all tables."""
    options = arguments(__doc__ or "", claims=True)
    smoke = options.smoke
    cycles = 5 if smoke else 5000
    study(cycles)
    runtimes(cycles // 5)
    exactness(cycles // 5)
    if not smoke:
        CHECKS.save()
    if not options.claims:
        scaling(smoke)


if __name__ == "__main__":
    main()
