"""The metascheduler over 5000 cycles beside the paper of Toporkov et al.: tables 1 to 3, figures 7 and 9.

24 nodes, 20 jobs a cycle. The paper gives no sizes, lengths or loads of its batches; ours are the library's defaults,
and the load of each table is the one whose number of alternatives, or share of failures, is the paper's.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from market_tables import HIGH, IDLE, LOW, MEDIUM, PaperTable
from measuring import Report, arguments

from fedsched.market import Bsf, Cycles, Environment, Jobs, Slicer, cycles_of, schedule

CRITERIA = {"min_start": "start", "min_runtime": "runtime", "min_finish": "finish", "min_cost": "cost"}
GROUPS = (1, 2, 3, 5, 10, 20)
CSS = Slicer(groups=1, search="amp")
SLICED_CSS = Slicer(groups=5, search="amp")
SLICER = Slicer(groups=5)
TABLE_1 = {
    "min_start": (12.8, 171.7, 56.1, 227.8, 1281.1),
    "min_runtime": (10.6, 214.5, 39.3, 253.9, 1278.5),
    "min_finish": (12.2, 169.6, 45.0, 205.5, 1283.2),
    "min_cost": (12.9, 262.6, 55.5, 318.0, 1098.3),
    "css": (12.1, 222.0, 50.3, 272.3, 1248.4),
}
PRICES = {2: (527.1, 0.44), 4: (939.6, 0.39), 6: (1112.3, 0.31), 8: (878.7, 0.18), 10: (710.3, 0.12)}
TABLE_3 = {
    "backfilling": (187.7, 115.1, 69.0, 37.3),
    "css": (150.1, 90.4, 281.2, 281.2),
    "slicer": (138.6, 83.5, 223.8, 223.8),
}


def table_1(cycles: int) -> None:
    """Print what users get for their criterion: five groups, alternatives by AEP against alternatives by AMP."""
    done = cycles_of({"slicer": SLICER, "css": SLICED_CSS}, domain=LOW, cycles=cycles)
    columns = ("alternatives", "start", "runtime", "finish", "cost")
    table = PaperTable(f"Table 1: what users get for their criterion, {cycles} cycles")
    ours = {
        name: {
            column: done["css"].mean(column) if name == "css" else done["slicer"].mean(column, criterion=name)
            for column in columns
        }
        for name in TABLE_1
    }
    for name, paper in TABLE_1.items():
        for column, value in zip(columns, paper, strict=True):
            table.shown(f"{name}: {column}", value, ours[name][column])
    groups = [name for name in TABLE_1 if name != "css"]
    for name, column in CRITERIA.items():
        best = min(groups, key=lambda group: ours[group][column])
        expected = "min_finish" if name == "min_start" else name
        table.holds(f"least {column}: the jobs that want", expected, best, best == expected)
    for name, column, paper in (
        ("min_start", "start", 23.0),
        ("min_finish", "finish", 23.0),
        ("min_runtime", "runtime", 21.0),
        ("min_cost", "cost", 12.0),
    ):
        gain = 100 * (1 - ours[name][column] / ours["css"][column])
        table.at_least(f"{name} lowers {column} against CSS by, %", paper, gain, share=0.75)
    spread = [ours[group]["alternatives"] for group in groups]
    table.near("alternatives a job", 12.1, float(np.mean(spread)), within=0.1)


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
    table = PaperTable(f"Table 2: one owner's price, {cycles} cycles a price")
    for price, (profit, used) in PRICES.items():
        table.shown(f"price {price}: profit", profit, ours[price][0])
        table.shown(f"price {price}: utilisation", used, ours[price][1])
    best = max(ours, key=lambda price: ours[price][0])
    table.holds("profit is greatest at price", "6", str(best), best == 6)
    shares = [ours[price][1] for price in PRICES]
    falling = shares == sorted(shares, reverse=True)
    table.holds(
        "utilisation falls as the price rises, from/to", ".44/.12", f"{shares[0]:.2f}/{shares[-1]:.2f}", falling
    )
    failures = [ours[price][2] for price in PRICES]
    table.holds("failures rise with it, from/to", "0/.025", f"{failures[0]:.3f}/{failures[-1]:.3f}",
                failures[-1] >= failures[0])  # fmt: skip


def figure_7(cycles: int) -> None:
    """Print node time against the number of sub-batches at three loads."""
    for load, domain, paper in (("high", HIGH, 0.3), ("medium", MEDIUM, 0.03), ("low", IDLE, 0.0002)):
        methods = {str(k): Slicer(groups=k, search="amp") for k in GROUPS}
        done = cycles_of(methods, domain=domain, cycles=cycles)
        whole = ~np.any([one.failed for one in done.values()], axis=0)
        table = PaperTable(f"Figure 7, {load} load: {cycles} cycles, {whole.mean():.1%} of them whole for every k")
        times = {k: done[str(k)].mean("cpu", cycles=whole) for k in GROUPS}
        table.shown("failures Y at k = 1", paper, done["1"].failures)
        for k in GROUPS:
            table.shown(f"k = {k}: T_CPU", None, times[k])
            table.shown(f"k = {k}: failures Y", None, done[str(k)].failures)
            table.shown(f"k = {k}: mean cost", None, done[str(k)].mean("cost", cycles=whole))
        if not whole.any():
            table.holds("a cycle that is whole for every k", "yes", "no", False)
            continue
        best = min(times, key=lambda k: times[k])
        wanted, agreed = {
            "high": ("less than 5", best < 5),
            "medium": ("5", best == 5),
            "low": ("more than 5", best > 5),
        }[load]
        table.holds("T_CPU is least at k =", wanted, str(best), agreed)
        more = [done[str(k)].failures for k in GROUPS]
        ends = f"{more[0]:.3f}/{more[-1]:.3f}"
        table.holds("failures are least at k = 1, from/to", "yes", ends, more[0] == min(more))
        costs = [done[str(k)].mean("cost", cycles=whole) for k in GROUPS]
        table.holds("cost falls with k, from/to", "yes", f"{costs[0]:.0f}/{costs[-1]:.0f}",
                    costs == sorted(costs, reverse=True))  # fmt: skip
        few, many = (done[str(k)].mean("alternatives") for k in (1, 20))
        table.holds("alternatives rise with k, from/to", "yes", f"{few:.1f}/{many:.1f}", few < many)


def figure_9(cycles: int) -> None:
    """Print node time and start against the share of the batch that the slicer gets."""
    shares = (0, 4, 8, 12, 16, 20)
    methods = {str(first): Bsf(first=first, slicer=CSS) for first in shares}
    done = cycles_of(methods, domain=MEDIUM, cycles=cycles)
    table = PaperTable(f"Figure 9: BSF, {cycles} cycles")
    times = [done[str(first)].mean("cpu") for first in shares]
    starts = [done[str(first)].mean("start") for first in shares]
    for first, cpu, start in zip(shares, times, starts, strict=True):
        table.shown(f"{first} of 20 jobs by CSS: T_CPU", None, cpu)
        table.shown(f"{first} of 20 jobs by CSS: T_start", None, start)
    table.holds("T_CPU falls with the share", "yes", *_said(times == sorted(times, reverse=True)))
    table.holds("T_start rises with the share", "yes", *_said(starts == sorted(starts)))


def table_3(cycles: int) -> None:
    """Print reserved and real times, jobs using from a fifth of their reservations to all."""
    methods = {"backfilling": "backfilling", "css": CSS, "slicer": SLICER}
    done = cycles_of(methods, domain=LOW, cycles=cycles, shortest=0.2)
    table = PaperTable(f"Table 3: scheduled and real, {cycles} cycles")
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


def _said(agreed: bool) -> tuple[str, bool]:
    return ("yes" if agreed else "no"), agreed


def main() -> None:
    """Print all tables."""
    smoke = arguments(__doc__ or "").smoke
    cycles = 4 if smoke else 5000
    for part, share in ((table_1, 1), (table_2, 1), (figure_7, 1), (figure_9, 1), (table_3, 1), (ablation, 5)):
        begun = time.perf_counter()
        part(max(1, cycles // share))
        print(f"({time.perf_counter() - begun:.0f} s)")


if __name__ == "__main__":
    main()
