# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Slot windows and the economic metascheduler
#
# You learn
#
# - how jobs buy windows of slots that start together, within a budget;
# - what slicing a batch, an owner's price and backfilling change.
#
# It takes about 40 seconds cold, compiling included. Open it with `jupyter lab notebooks/market.ipynb`.
#
# Toporkov, Yemelyanov, Potekhin, Toporkova and Tselishchev, *Metascheduling and Heuristic Co-Allocation Strategies in
# Distributed Computing* (2015), sell the idle time of nodes that their owners use too: a job buys a *window* of slots
# that start together, within its budget. This notebook draws the paper's figures 5 to 9 from our own runs. The verdicts
# over 5000 cycles are in `benchmarks/bench_market_windows.py` and `bench_market_cycles.py`; `docs/explanation/market.md` says how
# the text is read where it is open.

# %%
import os
import time

import matplotlib.pyplot as plt
import numpy as np

from fedsched import market
from fedsched.market import Bsf, Domain, Environment, Jobs, Request, Slicer, Strategy
from fedsched.plot import cycle
from fedsched.plot.style import LINES, MARKERS, dress

SMALL = os.environ.get("FEDSCHED_BUDGET") == "small"
CYCLES = 4 if SMALL else 600
LOW, MEDIUM, HIGH = Domain(busy=(0.0, 0.2)), Domain(), Domain(busy=(0.215, 0.515))
CSS = Slicer(groups=1, search="amp")

# %% [markdown]
# ## One cycle
#
# 24 nodes, each with its owner's local tasks (grey), and a batch of 20 jobs. CSS searches all the windows that it can,
# first fit, and then chooses one for each job: the combination of least node time within the VO's budget.

# %%
environment = MEDIUM.environment(7)
batch = Jobs().batch(7, domain=MEDIUM)
figure, axes = plt.subplots(2, 1, figsize=(9, 8), layout="constrained")
for ax, method in zip(axes, ("css", "backfilling"), strict=True):
    cycle.draw(market.schedule(batch, environment, method=method), ax=ax)
plt.show()
print(market.schedule(batch, environment, method="css"))

# %% [markdown]
# ## Figure 5: what the strategies find
#
# A job of 5 slots of 150 on 100 nodes, budget 1500. Each strategy is the best at its own criterion, and pays for it:
# MinFinish spends nearly all of the budget, MinCost starts late and runs long.

# %%
asked = Request(nodes=5, length=150, budget=1500)
searches = market.searches_of(asked, cycles=max(4, CYCLES // 3))
panels = {
    "a) start": "min_start",
    "b) run time": "min_runtime",
    "c) finish": "min_finish",
    "d) CPU time": "min_cpu",
    "cost": "min_cost",
}
figure, axes = plt.subplots(1, 5, figsize=(13, 3.4), layout="constrained")
for ax, (title, criterion) in zip(axes, panels.items(), strict=True):
    names = sorted(searches.found, key=lambda name: searches.mean(name, criterion))
    values = [searches.mean(name, criterion) for name in names]
    bars = ax.barh(range(len(names)), values, color=LINES[0])
    ax.bar_label(bars, fmt="%.0f", fontsize=7, padding=2)
    ax.set_yticks(range(len(names)), names, fontsize=7)
    ax.set_xlim(0, 1.25 * max(values))
    dress(ax, x="", y="", title=title)
plt.show()

# %% [markdown]
# ## Figure 6: the time of a search
#
# Linear in the slots (100 nodes, growing intervals), and between linear and quadratic in the nodes. AMP and MinFinish
# stop where no later window can be better.

# %%
def milliseconds(domain: Domain, strategy: Strategy) -> tuple[int, float]:
    """Return the slots of a domain, and the time of a search in it, the least of a few."""
    drawn = domain.environment(1)
    least = np.inf
    for _ in range(2 if SMALL else 12):
        begun = time.perf_counter()
        strategy.find(drawn, asked)
        least = min(least, time.perf_counter() - begun)
    return len(drawn.slots), 1e3 * least


intervals = (600, 1200) if SMALL else (600, 1200, 1800, 2400, 3000, 3600)
sizes = (50, 100) if SMALL else (50, 100, 200, 300, 400)
timed = dict(market.STRATEGIES)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for k, (name, strategy) in enumerate(timed.items()):
    look = {"color": LINES[k], "marker": MARKERS[k], "label": name}
    points = [milliseconds(Domain(nodes=size), strategy) for size in sizes]
    axes[0].plot(sizes, [point[1] for point in points], **look)
    points = [milliseconds(Domain(nodes=100, interval=length), strategy) for length in intervals]
    axes[1].plot(*zip(*points, strict=True), **look)
dress(axes[0], x="nodes", y="ms a search", title="a) interval 600")
dress(axes[1], x="slots", y="ms a search", title="b) 100 nodes, intervals from 600 to 3600")
for ax in axes:
    ax.set_xlim(0, None)
    ax.set_ylim(0, None)
axes[0].legend(fontsize=8, frameon=False)
plt.show()

# %% [markdown]
# ## Figure 7: into how many parts to slice the batch
#
# More parts give each job more alternatives; but each part has to keep its own share of the VO's budget. The least
# node time lies between. Cycles in which every number of parts found windows for all jobs.

# %%
groups = (1, 2, 3, 5, 10, 20)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
idle = Domain(nodes=30, busy=(0.0, 0.2))
for ax, (load, domain) in zip(axes, {"high": HIGH, "medium": MEDIUM, "low": idle}.items(), strict=True):
    methods = {str(k): Slicer(groups=k, search="amp") for k in groups}
    done = market.cycles_of(methods, domain=domain, cycles=max(4, CYCLES // 2))
    whole = ~np.any([one.failed for one in done.values()], axis=0)
    whole = whole if whole.any() else None
    values = [done[str(k)].mean("cpu", cycles=whole) for k in groups]
    ax.plot(range(len(groups)), values, marker="o", color=LINES[0])
    ax.set_xticks(range(len(groups)), groups)
    dress(ax, x="sub-batches k", y="T_CPU", title=f"{load} load: failures Y = {done['1'].failures:.3f} at k = 1")
plt.show()

# %% [markdown]
# ## Figure 8: what an owner earns
#
# The owner of a middling node (r = 6; the market's price is 6.6) asks from 2 to 10. Cheap time is sold out for little,
# dear time is not bought.

# %%
def profit(price: float, cycles: int) -> float:
    """Return an owner's mean profit for a price."""
    earned = []
    for seed in range(cycles):
        drawn = MEDIUM.environment(seed)
        performance, prices = drawn.performance.copy(), drawn.price.copy()
        performance[0], prices[0] = 6.0, price
        changed = Environment(
            slots=drawn.slots,
            performance=performance,
            price=prices,
            interval=drawn.interval,
            reference=drawn.reference,
        )
        plan = market.schedule(Jobs().batch(seed), changed, method=Slicer(groups=5, search="amp"))
        earned.append(plan.owners().profit[0])
    return float(np.mean(earned))


asking = (2, 4, 5, 6, 7, 8, 10)
paper = {2: 527.1, 4: 939.6, 6: 1112.3, 8: 878.7, 10: 710.3}
figure, ax = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
ax.plot(asking, [profit(price, max(4, CYCLES // 3)) for price in asking], "o-", color=LINES[0], label="our runs")
ax.plot(list(paper), list(paper.values()), "s--", color=LINES[1], label="the paper")
ax.set_ylim(0, None)
ax.legend(fontsize=8, frameon=False)
dress(ax, x="price of a time unit", y="profit in a cycle")
plt.show()

# %% [markdown]
# ## Figure 9: slicer and backfilling together (BSF)
#
# The first jobs of the batch are scheduled by CSS, the rest are backfilled: node time against waiting.

# %%
shares = (0, 4, 8, 12, 16, 20)
mixed = {str(first): Bsf(first=first, slicer=CSS) for first in shares}
done = market.cycles_of(mixed, domain=MEDIUM, cycles=CYCLES)
figure, left = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
right = left.twinx()
at = np.array(shares) / 20
left.plot(at, [done[str(first)].mean("cpu") for first in shares], "o-", color=LINES[0], label="T_CPU (left)")
right.plot(at, [done[str(first)].mean("start") for first in shares], "s--", color=LINES[1], label="T_start (right)")
dress(left, x="share of the batch scheduled by CSS", y="T_CPU")
right.set_ylabel("T_start")
left.legend(handles=[left.lines[0], right.lines[0]], fontsize=8, frameon=False, loc="upper center")
plt.show()

# %% [markdown]
# ## Jobs that end early
#
# Real run times are uniform between a fifth of the reservation and all of it. Windows that the VO chose stay; backfilled
# jobs move forward as nodes are released. Slicing keeps its advantage in node time.

# %%
methods = {"backfilling": "backfilling", "css": CSS, "slicer": Slicer()}
done = market.cycles_of(methods, domain=LOW, cycles=CYCLES, shortest=0.2)
print(f"{'':12} {'T_CPU':>7} {'real':>7} {'start':>7} {'real':>7}")
for name, one in done.items():
    row = [one.mean(column) for column in ("cpu", "real_cpu", "start", "real_start")]
    print(f"{name:12}", *(f"{value:7.1f}" for value in row))
