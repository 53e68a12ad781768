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
# # Fronts of makespan and energy
#
# You learn
#
# - what lies on a front, and what opens and closes it;
# - how far a front is from what can be proven;
# - what several runs of a search attain.
#
# It takes about 50 seconds cold, compiling included. Open it with `jupyter lab notebooks/pareto.ipynb`.

# %%
import os
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.generate import lublin
from fedsched.plot import attainment, convergence, pareto
from fedsched.plot.style import dress

# %matplotlib inline

SMALL = os.environ.get("FEDSCHED_BUDGET") == "small"
JOBS = 25 if SMALL else 80
EVALUATIONS = 600 if SMALL else 40_000
SEEDS = 3 if SMALL else 10

# %% [markdown]
# ## The jobs and the nodes
#
# A package of jobs of the Lublin-Feitelson model, and three clusters whose nodes differ in speed. Two numbers say what
# the federation draws: idle power as a share of busy power, and the power of speed by which busy power grows.

# %%
jobs = lublin(jobs=2000, nodes=64, seed=3)
jobs = jobs.filter((jobs.runtime >= 300) & (jobs.tasks <= 48)).head(JOBS)
jobs = replace(jobs, submit=np.zeros(JOBS))  # a package: all of them wait


def federation(*, idle: float, hungry: float) -> fs.Federation:
    """Return three clusters of speeds 1, 1.5 and 2."""
    clusters = []
    for k, (nodes, speed) in enumerate(((48, 1.0), (32, 1.5), (32, 2.0))):
        busy = 200.0 * speed**hungry
        clusters.append(fs.Cluster(f"C{k + 1}", (fs.NodeGroup(nodes, speed, busy, idle * busy),)))
    return fs.Federation(tuple(clusters))


def search(
    machine: fs.Federation,
    *,
    method: str = "memetic",
    seed: int = 1,
    evaluations: int = EVALUATIONS,
    seeds: str = "structured",
) -> fs.Result:
    """Return a front of makespan and energy."""
    return fs.optimize(
        jobs,
        machine,
        method=method,
        objectives=("makespan", "energy"),
        evaluations=evaluations,
        seed=seed,
        seeds=seeds,
        baselines=("fcfs", "easy", "min-min", "least-energy"),
    )


print(jobs)

# %% [markdown]
# ## A front, and what surrounds it
#
# Steps: what the search found, and all that it dominates. Marks: policies. Hatched: makespans and energies that no
# schedule can have, by linear programming. What is left between steps and hatching is all that any search could gain.

# %%
open_machine = federation(idle=0.05, hungry=2.5)
front = search(open_machine)
ax = pareto.draw(
    {"memetic": front.front.values},
    baselines={baseline.policy: baseline.values for baseline in front.baselines},
    bound=front.bound_front,
    title="Fast nodes that are hungry",
)
ax.figure

# %%
front

# %% [markdown]
# At one end the fast nodes work all the time, at the other they hardly do:

# %%
figure, axes = plt.subplots(2, 1, figsize=(10, 8), layout="constrained")
for ax, name in zip(axes, ("makespan", "energy"), strict=True):
    front.best(name).plot(ax)
plt.show()

# %% [markdown]
# ## What opens a front and what closes it
#
# Idle nodes draw power until the last job ends. Where that is a large share, to end sooner is to save, and both
# objectives want the same plan. The *energy penalty* estimates that before any search: how much more energy the shortest
# schedules need than the leanest. It is the ratio of two bounds, so it proves nothing.

# %%
idle_shares = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7)
powers = (1.0, 1.5, 2.0, 2.5, 3.0)
penalty = np.array(
    [[lower_bounds(jobs, federation(idle=idle, hungry=hungry)).penalty for idle in idle_shares] for hungry in powers]
)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
image = ax.imshow(100 * penalty, origin="lower", cmap="viridis", aspect="auto")
for row, column in np.ndindex(penalty.shape):
    dark = penalty[row, column] < 0.6 * penalty.max()
    ax.text(column, row, f"{penalty[row, column]:.0%}", ha="center", va="center", color="white" if dark else "black")
ax.set_xticks(range(len(idle_shares)), [f"{idle:.0%}" for idle in idle_shares])
ax.set_yticks(range(len(powers)), [f"{power:g}" for power in powers])
dress(
    ax,
    x="idle power, share of busy power",
    y="busy power grows with speed to the",
    title="Energy penalty of the least makespan",
)
ax.grid(visible=False)
figure.colorbar(image, label="%")
plt.show()

# %% [markdown]
# Three of these federations, searched:

# %%
machines = {
    "idle 70 %, power ~ speed: closed": federation(idle=0.7, hungry=1.0),
    "idle 20 %, power ~ speed$^2$": federation(idle=0.2, hungry=2.0),
    "idle 0, power ~ speed$^3$: open": federation(idle=0.0, hungry=3.0),
}
figure, axes = plt.subplots(1, 3, figsize=(15, 4.2), layout="constrained")
for ax, (title, machine) in zip(axes, machines.items(), strict=True):
    result = search(machine)
    pareto.draw({"memetic": result.front.values}, bound=result.bound_front, title=title, ax=ax)
    ax.locator_params(axis="x", nbins=5)
    span = np.ptp(result.front.values, axis=0) / result.front.values.min(axis=0)
    print(
        f"{title}: {len(result.front)} plans, makespan over {span[0]:.1%}, energy over {span[1]:.1%}; "
        f"penalty about {result.energy_penalty:.1%}"
    )
plt.show()

# %% [markdown]
# ## Several runs: attainment surfaces
#
# One run of a search is one draw. The line is what half of the runs attain or better, the band goes from a quarter to
# three quarters of them. On the left the searches begin with random plans, on the right as they do by default: with
# what rules and simple blacklists give.

# %%
methods = ("memetic", "moga", "mpso-fga")
budget = EVALUATIONS // 16
runs = {
    (seeds, name): [
        search(open_machine, method=name, seed=seed, evaluations=budget, seeds=seeds) for seed in range(SEEDS)
    ]
    for seeds in ("random", "structured")
    for name in methods
}
figure, axes = plt.subplots(1, 2, figsize=(13, 4.6), sharex=True, sharey=True, layout="constrained")
for ax, seeds in zip(axes, ("random", "structured"), strict=True):
    attainment.draw(
        {name: [run.front.values for run in runs[seeds, name]] for name in methods},
        title=f"{seeds} seeds: {budget:,} evaluations, {SEEDS} runs",
        ax=ax,
    )
plt.show()

# %% [markdown]
# The same runs over their evaluations: which part of the area that the best front dominates is still missing.

# %%
most = max(run.history[-1].hypervolume for results in runs.values() for run in results)
progress = {
    f"{name}, {seeds} seeds": [
        ([m.evaluations for m in run.history], [100 * (1 - m.hypervolume / most) for m in run.history])
        for run in results
    ]
    for (seeds, name), results in runs.items()
    if name != "mpso-fga"
}
convergence.draw(progress, value="missing hypervolume, %", title="What more evaluations bring").figure

# %% [markdown]
# For a verdict with its error probability, `fs.compare` runs this on several instances and tests it:
# `docs/explanation/compare.md`, section "Several objectives".
