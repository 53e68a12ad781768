"""The metascheduler over 5000 cycles beside the paper of Toporkov et al.: tables 1 to 3, figures 7 and 9.

24 nodes, 20 jobs a cycle. The paper gives no sizes, lengths or loads of its batches; ours are the library's defaults,
and the load of each table is the one whose number of alternatives, or share of failures, is the paper's.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from checks import Ledger
from market_loads import HIGH, IDLE, LOW, MEDIUM, SOURCE
from measuring import Report, arguments

from fedsched.market import Bsf, Cycles, Environment, Jobs, Slicer, cycles_of, schedule

if TYPE_CHECKING:
    from checks import Table

    from fedsched.market import Domain

CRITERIA = {"min_start": "start", "min_runtime": "runtime", "min_finish": "finish", "min_cost": "cost"}
GROUPS = (1, 2, 3, 5, 6, 10, 20)
CSS = Slicer(groups=1, search="amp")
SLICED_CSS = Slicer(groups=5, search="amp")
SLICER = Slicer(groups=5)
CHECKS = Ledger("bench_market_cycles", SOURCE)
TABLE_1 = {
    "min_start": (12.8, 171.7, 56.1, 227.8, 1281.1),
    "min_runtime": (10.6, 214.5, 39.3, 253.9, 1278.5),
    "min_finish": (12.2, 169.6, 45.0, 205.5, 1283.2),
    "min_cost": (12.9, 262.6, 55.5, 318.0, 1098.3),
    "css": (12.1, 222.0, 50.3, 272.3, 1248.4),
}
PRICES = {
    2: (527.1, 0.44, 0.0),
    4: (939.6, 0.39, 0.001),
    6: (1112.3, 0.31, 0.013),
    8: (878.7, 0.18, 0.024),
    10: (710.3, 0.12, 0.025),
}
LOADS = (("high", HIGH, 0.3, 0.05), ("medium", MEDIUM, 0.03, 0.005), ("low", IDLE, 0.0002, 0.0002))
TABLE_3 = {
    "backfilling": (187.7, 115.1, 69.0, 37.3),
    "css": (150.1, 90.4, 281.2, 281.2),
    "slicer": (138.6, 83.5, 223.8, 223.8),
}


def table_1(cycles: int) -> None:
    """Print what users get for their criterion: five groups, alternatives by AEP against alternatives by AMP."""
    done = cycles_of({"slicer": SLICER, "css": SLICED_CSS}, domain=LOW, cycles=cycles)
    columns = ("alternatives", "start", "runtime", "finish", "cost")
    table = CHECKS.table(f"Table 1: what users get for their criterion, {cycles} cycles")
    ours = {
        name: {
            column: done["css"].mean(column) if name == "css" else done["slicer"].mean(column, criterion=name)
            for column in columns
        }
        for name in TABLE_1
    }
    for name, paper in TABLE_1.items():
        for column, value in zip(columns, paper, strict=True):
            table.near(f"{name}: {column}", value, ours[name][column], within=0.15)
    groups = [name for name in TABLE_1 if name != "css"]
    for name, column in CRITERIA.items():
        best = min(groups, key=lambda group: ours[group][column])
        expected = "min_finish" if name == "min_start" else name
        table.holds(f"least {column}: the jobs that want", best == expected, paper=expected, ours=best)
    for name, column, paper in (
        ("min_start", "start", 23.0),
        ("min_finish", "finish", 23.0),
        ("min_runtime", "runtime", 21.0),
        ("min_cost", "cost", 12.0),
    ):
        gain = 100 * (1 - ours[name][column] / ours["css"][column])
        table.at_least(f"{name} lowers {column} against CSS by, %", paper, gain, share=0.75)


def owner(cycles: int, price: float) -> tuple[float, float, float]:
    """Return profit, utilisation and failures when the owner of a middling node asks a price."""
    profits, used, failed = [], [], []
    for seed in range(cycles):
        drawn = MEDIUM.environment(seed)
        performance, prices = drawn.performance.copy(), drawn.price.copy()
        performance[0], prices[0] = 6.0, price
        environment = Environment(
            slots=drawn.slots,
            performance=performance,
            price=prices,
            watts=drawn.watts,
            interval=drawn.interval,
            reference=drawn.reference,
        )
        plan = schedule(Jobs().batch(seed, domain=MEDIUM), environment, method=SLICED_CSS)
        sold = plan.owners()
        profits.append(sold.profit[0])
        used.append(sold.utilisation[0])
        failed.append(plan.failed)
    return float(np.mean(profits)), float(np.mean(used)), float(np.mean(failed))


def table_2(cycles: int) -> None:
    """Print an owner's profit and utilisation by the price asked (figure 8)."""
    ours = {price: owner(cycles, price) for price in PRICES}
    table = CHECKS.table(f"Table 2: one owner's price, {cycles} cycles a price")
    for price, paper in PRICES.items():
        for what, published, value in zip(("profit", "utilisation", "failures Y"), paper, ours[price], strict=True):
            if what == "failures Y":
                table.close(f"price {price}: {what}", published, value, within=0.01)
            else:
                table.near(f"price {price}: {what}", published, value, within=0.15)
    best = max(ours, key=lambda price: ours[price][0])
    table.holds("profit is greatest at price", best == 6, paper="6", ours=str(best))
    shares, failures = ([ours[price][k] for price in PRICES] for k in (1, 2))
    table.holds("utilisation falls as the price rises", shares == sorted(shares, reverse=True))
    table.holds("failures rise with it", failures == sorted(failures))


def figure_7(cycles: int) -> None:
    """Print node time against the number of sub-batches at three loads."""
    for load, domain, paper, near in LOADS:
        done, whole = sliced(domain, "amp", cycles)
        table = CHECKS.table(f"Figure 7, {load} load, {domain.nodes} nodes, slices of AMP windows: {cycles} cycles")
        table.close("failures Y at k = 1", paper, done[1].failures, within=near)
        table.shown("cycles that are whole for every k", float(whole.mean()))
        for k in GROUPS:
            table.shown(f"k = {k}: T_CPU", done[k].mean("cpu", cycles=whole))
            table.shown(f"k = {k}: failures Y", done[k].failures)
            table.shown(f"k = {k}: mean cost", done[k].mean("cost", cycles=whole))
        least(table, load, done, whole)
        more = [done[k].failures for k in GROUPS]
        ends = f"{more[0]:.3f}/{more[-1]:.3f}"
        table.holds("failures are least at k = 1, from/to", more[0] == min(more), ours=ends)
        costs = [done[k].mean("cost", cycles=whole) for k in GROUPS]
        falls = costs == sorted(costs, reverse=True)
        table.holds("cost falls with k, from/to", falls, ours=f"{costs[0]:.0f}/{costs[-1]:.0f}")
        few, many = (done[k].mean("alternatives") for k in (1, 20))
        table.holds("alternatives rise with k, from/to", few < many, ours=f"{few:.1f}/{many:.1f}")


def figure_7_by_criteria(cycles: int) -> None:
    """Print the same with windows by each job's own criterion, as the slicer is described."""
    table = CHECKS.table(f"Figure 7, slices of AEP windows by the jobs' criteria: {cycles} cycles")
    for load, domain, _, _ in LOADS:
        done, whole = sliced(domain, "aep", cycles)
        for k in GROUPS:
            table.shown(f"{load} load, k = {k}: T_CPU", done[k].mean("cpu", cycles=whole))
        least(table, load, done, whole, f"{load} load: ")


def sliced(domain: Domain, search: str, cycles: int) -> tuple[dict[int, Cycles], np.ndarray]:
    """Return what each number of sub-batches gives, and the cycles that are whole for all."""
    methods = {str(k): Slicer(groups=k, search=search) for k in GROUPS}
    done = {int(k): one for k, one in cycles_of(methods, domain=domain, cycles=cycles).items()}
    return done, ~np.any([one.failed for one in done.values()], axis=0)


def least(table: Table, load: str, done: dict[int, Cycles], whole: np.ndarray, where: str = "") -> None:
    """Print at how many sub-batches node time is least."""
    best = min(GROUPS, key=lambda k: done[k].mean("cpu", cycles=whole)) if whole.any() else 0
    wanted, agreed = {
        "high": ("less than 5", 0 < best < 5),
        "medium": ("5", best == 5),
        "low": ("more than 5", best > 5),
    }[load]
    table.holds(f"{where}T_CPU is least at k =", agreed, paper=wanted, ours=str(best or "no cycle is whole"))


def figure_9(cycles: int) -> None:
    """Print node time and start against the share of the batch that the slicer gets."""
    shares = (0, 4, 8, 12, 16, 20)
    methods = {str(first): Bsf(first=first, slicer=CSS) for first in shares}
    done = cycles_of(methods, domain=MEDIUM, cycles=cycles)
    table = CHECKS.table(f"Figure 9: BSF, {cycles} cycles")
    times = [done[str(first)].mean("cpu") for first in shares]
    starts = [done[str(first)].mean("start") for first in shares]
    for first, cpu, start in zip(shares, times, starts, strict=True):
        table.shown(f"{first} of 20 jobs by CSS: T_CPU", cpu)
        table.shown(f"{first} of 20 jobs by CSS: T_start", start)
    table.holds("T_CPU falls with the share", times == sorted(times, reverse=True))
    table.holds("T_start rises with the share", starts == sorted(starts))


def table_3(cycles: int) -> None:
    """Print reserved and real times, jobs using from a fifth of their reservations to all."""
    methods = {"backfilling": "backfilling", "css": CSS, "slicer": SLICER}
    done = cycles_of(methods, domain=LOW, cycles=cycles, shortest=0.2)
    table = CHECKS.table(f"Table 3: scheduled and real, {cycles} cycles")
    for name, paper in TABLE_3.items():
        figures = (("T_CPU scheduled", "cpu"), ("T_CPU real", "real_cpu"), ("start scheduled", "start"),
                   ("start real", "real_start"))  # fmt: skip
        for (what, column), value in zip(figures, paper, strict=True):
            table.near(f"{name}: {what}", value, done[name].mean(column), within=0.15)
    for kind, paper in (("cpu", 26.2), ("real_cpu", 27.5)):
        gain = 100 * (1 - done["slicer"].mean(kind) / done["backfilling"].mean(kind))
        table.at_least(f"slicer's {kind} below backfilling's, %", paper, gain, share=0.75)
    moved = 100 * (1 - done["backfilling"].mean("real_start") / done["backfilling"].mean("start"))
    table.at_least("early releases move backfilled starts forward by, %", 46.0, moved, share=0.75)


def ablation(cycles: int) -> None:
    """Print what the open readings change: the VO's budget, and users' budgets from 40 % of the market value on."""
    report = Report(f"What the readings change, {cycles} cycles")
    for budget in ("mean", "profit"):
        methods = {str(k): Slicer(groups=k, search="amp", budget=budget) for k in GROUPS}
        done = cycles_of(methods, domain=MEDIUM, cycles=cycles)
        whole = ~np.any([one.failed for one in done.values()], axis=0)
        for k in GROUPS:
            report.row(f"b* by {budget}, k = {k}: T_CPU", done[str(k)].mean("cpu", cycles=whole), "")
    poor = cycles_of({"backfilling": "backfilling"}, jobs=replace(Jobs(), budget=(0.4, 1.6)), cycles=cycles)
    report.row("budgets U[.4, 1.6]: jobs without a window", 100 * _missing(poor["backfilling"]), "%")
    report.row("budgets U[.4, 1.6]: cycles that fail", 100 * poor["backfilling"].failures, "%")


def _missing(done: Cycles) -> float:
    return float(np.isnan(done.start).mean())


def main() -> None:
    """Print all tables."""
    smoke = arguments(__doc__ or "").smoke
    cycles = 4 if smoke else 5000
    parts = ((table_1, 1), (table_2, 1), (figure_7, 1), (figure_7_by_criteria, 5), (figure_9, 1), (table_3, 1),
             (ablation, 5))  # fmt: skip
    for part, share in parts:
        begun = time.perf_counter()
        part(max(1, cycles // share))
        print(f"({time.perf_counter() - begun:.0f} s)")
    if not smoke:
        CHECKS.save()


if __name__ == "__main__":
    main()
