"""What Toporkov et al. say of job flow, of the choice of BSF's jobs and of prices that change, beside what comes out.

The paper gives one figure for these (7 %); the rest are its statements, and ours. 24 nodes, 20 jobs a cycle, medium
load.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from checks import Ledger
from market_loads import MEDIUM, SOURCE
from measuring import arguments

from fedsched.market import Bsf, Demand, Domain, Hours, Jobs, Slicer, cycles_of, flows_of, schedule

if TYPE_CHECKING:
    from fedsched.market import Environment

CHECKS = Ledger("bench_market_flow", SOURCE)
CSS = Slicer(groups=1, search="amp")
SLICES = {"CSS": CSS, "five slices": Slicer(groups=5, search="amp"), "backfilling": "backfilling"}
SHARES = (0, 5, 10, 15, 20)
DEMANDING = Jobs(min_performance=(0.0, 6.0))


def flow(runs: int, cycles: int) -> None:
    """Print waits, node time and starvation over successive cycles, by what goes first and by the load."""
    table = CHECKS.table(f"Job flow: {runs} flows of {cycles} cycles, 20 jobs each, means")
    found: dict[tuple[str, int, str], dict[str, float]] = {}
    for period in (600, 400):
        for order in ("oldest", "newest"):
            totals: dict[str, list[dict[str, float]]] = {name: [] for name in SLICES}
            for run in range(runs):
                done = flows_of(SLICES, domain=MEDIUM, cycles=cycles, period=period, order=order, first=run * cycles)
                for name, one in done.items():
                    totals[name].append(one.totals().as_dict())
            for name, rows in totals.items():
                mean = {key: float(np.nanmean([row[key] for row in rows])) for key in rows[0]}
                found[name, period, order] = mean
                what = f"{name}, a cycle every {period}, {order} first"
                for key, words in (("cpu", "T_CPU"), ("wait", "cycles waited"), ("longest", "longest wait, cycles")):
                    table.shown(f"{what}: {words}", mean[key])
                table.shown(f"{what}: later jobs served earlier", mean["overtaken"])
    css, sliced = (found[name, 600, "oldest"]["cpu"] for name in ("CSS", "five slices"))
    table.at_least("slices lower T_CPU against CSS in the flow, up to, %", 7.0, 100 * (1 - sliced / css), share=0.75)
    for name in SLICES:
        old, new = (found[name, 400, order]["longest"] for order in ("oldest", "newest"))
        ends = f"{old:.1f}/{new:.1f}"
        table.holds(f"{name}: the longest wait is longer where the newest go first", new > old, paper="", ours=ends)


def selection(cycles: int) -> None:
    """Print node time and start by the share that the slicer gets, and by which jobs it gets."""
    for select in ("order", "cost", "performance"):
        methods = {str(first): Bsf(first=first, slicer=CSS, select=select) for first in SHARES}
        done = cycles_of(methods, domain=MEDIUM, jobs=DEMANDING, cycles=cycles)
        table = CHECKS.table(f"BSF, its jobs by {select}, of jobs that ask for performances up to 6: {cycles} cycles")
        times = [done[str(first)].mean("cpu") for first in SHARES]
        starts = [done[str(first)].mean("start") for first in SHARES]
        for first, cpu, start in zip(SHARES, times, starts, strict=True):
            table.shown(f"{first} of 20 jobs by CSS: T_CPU", cpu)
            table.shown(f"{first} of 20 jobs by CSS: T_start", start)
        table.holds("T_CPU falls with the share", times == sorted(times, reverse=True))
        table.holds("T_start rises with the share", starts == sorted(starts))
        between = times[-1] <= times[2] <= times[0] and starts[0] <= starts[2] <= starts[-1]
        table.holds("half and half lies between CSS and backfilling in both", between)


def halves(environment: Environment, sold: np.ndarray) -> np.ndarray:
    """Return the shares of the domain's time that windows take in each half of the interval."""
    middle = environment.interval[0] + environment.length / 2
    first = np.maximum(np.minimum(sold[:, 1], middle) - sold[:, 0], 0.0).sum()
    whole = (sold[:, 1] - sold[:, 0]).sum()
    return np.array([first, whole - first]) / (len(environment) * environment.length / 2)


def prices(cycles: int) -> None:
    """Print what prices over the interval do to when nodes are used, and to what owners earn."""
    tariffs = {
        "prices that stay": None,
        "× 1.3 in the first half, × 0.7 in the second": Hours(((0.0, 1.3), (300.0, 0.7))),
        "prices by demand, strength 1": Demand(strength=1.0, every=100.0),
    }
    table = CHECKS.table(f"Prices that change over the interval, five slices of AEP windows: {cycles} cycles")
    used, spread, profit = {}, {}, {}
    for name, tariff in tariffs.items():
        domain: Domain = replace(MEDIUM, prices=tariff)
        shares, deviations, earned = [], [], []
        for seed in range(cycles):
            environment = domain.environment(seed)
            plan = schedule(Jobs().batch(seed, domain=MEDIUM), environment, method="slicer")
            sold = np.array([[start, end] for window in plan.windows if window for _, start, end in window.slots])
            shares.append(halves(environment, sold))
            cuts = np.linspace(*environment.interval, 7)
            busy = [spans(sold, a, b) + local(environment, a, b) for a, b in pairwise(cuts.tolist())]
            deviations.append(np.std(busy) / len(environment))
            earned.append(plan.owners().profit.sum())
        used[name], spread[name] = np.mean(shares, axis=0), float(np.mean(deviations))
        profit[name] = float(np.mean(earned))
        table.shown(f"{name}: share of the first half that is sold", used[name][0])
        table.shown(f"{name}: share of the second half", used[name][1])
        table.shown(f"{name}: deviation of the share in use over stretches of 100", spread[name])
        table.shown(f"{name}: profit of all owners", profit[name])
    stay, hours, demand = tariffs
    table.holds("owners move use from a dear half into a cheap one by their prices", used[hours][0] < used[stay][0]
                and used[hours][1] > used[stay][1])  # fmt: skip
    table.holds("prices by demand even out the use of nodes", spread[demand] < spread[stay], paper="")


def spans(sold: np.ndarray, begin: float, end: float) -> float:
    """Return the mean number of slots that are taken between two times."""
    return float(np.maximum(np.minimum(sold[:, 1], end) - np.maximum(sold[:, 0], begin), 0.0).sum() / (end - begin))


def local(environment: Environment, begin: float, end: float) -> float:
    """Return the mean number of nodes that local tasks take between two times."""
    return spans(np.column_stack([environment.busy.start, environment.busy.end]), begin, end)


def main() -> None:
    """Print all tables."""
    smoke = arguments(__doc__ or "").smoke
    flow(1 if smoke else 20, 3 if smoke else 20)
    selection(3 if smoke else 300)
    prices(3 if smoke else 200)
    if not smoke:
        CHECKS.save()


if __name__ == "__main__":
    main()
