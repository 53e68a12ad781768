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
# # Fronts of carbon and waits
#
# You learn
#
# - what slack saves in time, and another country in space;
# - what lower carbon costs users in waiting;
# - how far all that is from a bound that no schedule beats.
#
# It takes about 55 seconds cold, compiling included. Open it with `jupyter lab notebooks/carbon.ipynb`.
#
# Two countries have clean power at different hours, and jobs may be put off.

# %%
import os
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import fedsched as fs
from fedsched.generate import lublin
from fedsched.plot.style import dress

# %matplotlib inline

SMALL = os.environ.get("FEDSCHED_BUDGET") == "small"
JOBS = 12 if SMALL else 40
EVALUATIONS = 120 if SMALL else 1000
SLACKS = (0, 4) if SMALL else (0, 1, 4, 12)
HOUR, DAY = 3600.0, 86400.0

# %% [markdown]
# ## The hours, the jobs and the nodes
#
# One country has sun at noon, the other wind at night. Idle nodes draw a tenth of what busy ones do. Every second job
# is at home in the south, the others in the north.

# %%
hours = np.arange(24)
sun = 420 - 300 * np.clip(np.sin((hours - 6) * np.pi / 12), 0, 1)
wind = 240 + 120 * np.sin((hours - 6) * np.pi / 12)
signals = tuple(
    fs.Signal(hours * HOUR, values, "g/kWh", name, until=DAY, beyond="repeat")
    for name, values in (("south", sun), ("north", wind))
)
node = fs.NodeGroup(32, 1.0, 350.0, 35.0)
machine = fs.Federation((fs.Cluster("south", (node,)), fs.Cluster("north", (node,))), signals=signals)
drawn = lublin(jobs=2000, nodes=32, seed=5)
drawn = drawn.filter((drawn.runtime >= 900) & (drawn.runtime <= 6 * HOUR) & (drawn.tasks <= 16)).head(JOBS)
home = np.arange(JOBS) % 2
free = replace(
    drawn, submit=np.linspace(0, 12 * HOUR, JOBS).round(), sites=("south", "north"), origin=home, allowed=None
)
at_home = replace(free, allowed=home[:, None] == np.arange(2))
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for name, values in (("south", sun), ("north", wind)):
    ax.step(hours, values, where="post", label=name)
ax.legend(frameon=False)
dress(ax, x="hour of the day", y="g CO2 / kWh")
plt.show()
print(free)

# %% [markdown]
# ## Fronts
#
# Each line is what a search finds between the least carbon and the shortest waits, where every job grants so many hours
# of slack. The dashed line is a bound: no schedule of these jobs, however late they may start, has less carbon.


# %%
def search(jobs: fs.Workload, slack: float) -> fs.Result:
    """Return a front of carbon and mean wait, of jobs that grant so many hours."""
    return fs.optimize(
        replace(jobs, slack=slack * HOUR),
        machine,
        objectives=("carbon", "mean_wait"),
        submits="keep",
        evaluations=EVALUATIONS,
        seed=1,
        baselines=("fcfs", "easy"),
    )


found = {name: {slack: search(jobs, slack) for slack in SLACKS} for name, jobs in (("time", at_home), ("both", free))}
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, (name, results) in zip(axes, found.items(), strict=True):
    for slack, result in results.items():
        carbon, wait = result.front.values.T
        ax.step(carbon, wait / HOUR, where="post", marker="o", markersize=3, label=f"slack {slack} h")
    ax.axvline(results[max(SLACKS)].bound("carbon"), color="black", linestyle="--", label="no schedule below")
    dress(ax, x="carbon, kg", y="mean wait, h", title={"time": "at home: in time", "both": "in time and space"}[name])
axes[0].legend(frameon=False)
plt.show()

# %% [markdown]
# ## What slack alone brings
#
# All against EASY with each job at home. Without slack at home there is only the order of the queue to choose; the
# column of the bound is what could be saved at most.

# %%
easy = fs.simulate(at_home, machine, "easy").metrics().carbon
print(f"{'':<6}{'slack':>6}{'saved':>8}{'at most':>9}{'mean wait':>11}")
for name, results in found.items():
    for slack, result in results.items():
        best = result.best("carbon")
        print(
            f"{name:<6}{slack:>4} h{1 - result.value('carbon') / easy:>8.1%}{1 - result.bound('carbon') / easy:>9.1%}"
            f"{best.wait.mean() / HOUR:>9.1f} h"
        )

# %% [markdown]
# ## A deadline in place of slack
#
# When all have to be done by the morning after, each job may be put off as far as that leaves.

# %%
morning = fs.optimize(
    free, machine, objectives="carbon", submits="keep", deadline=32 * HOUR, evaluations=EVALUATIONS, seed=1
)
print(f"{1 - morning.value() / easy:.1%} less carbon, at most {1 - morning.bound() / easy:.1%}")
print(*morning.best().remarks, sep="\n")

# %% [markdown]
# What the cleanest plan draws over time, in each country:

# %%
power = morning.best().power()
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for cluster, watts in zip(machine.clusters, power.watts, strict=True):
    ax.step(power.times / HOUR, watts / 1000, where="post", label=cluster.name)
ax.legend(frameon=False)
dress(ax, x="hours", y="kW")
plt.show()
