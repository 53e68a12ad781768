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
# # The claims of the federated-cluster thesis, on our own runs
#
# You learn
#
# - which of five claims about searches on federations hold here;
# - when makespan and energy want different plans;
# - how a fuzzy controller steers the hybrid search.
#
# It takes about 40 seconds cold, compiling included. Open it with `jupyter lab notebooks/thesis.ipynb`.
#
# The thesis schedules packages of jobs on federations of clusters that share uplinks, with searches over queue order
# and "blacklists" of nodes. Five of its claims can be looked at here:
#
# 1. a genetic algorithm on makespan and flow (GA-MF) lowers both against the heuristics;
# 2. a particle swarm (PSO-EA) comes to the energy of a genetic algorithm (GA-EA) in less time;
# 3. NSGA-II (MOGA) beats the heuristics on makespan and energy at once;
# 4. the front of the two is nearly a point where idle power dominates, and opens where fast nodes are hungry;
# 5. the fuzzy hybrid (MPSO-FGA) comes near MOGA with a tenth of its evaluations.
#
# `benchmarks/bench_thesis.py` prints the verdicts over five packages; this notebook draws one package.

# %%
import os
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import fedsched as fs
from fedsched.generate import lublin
from fedsched.plot import convergence, pareto, surface
from fedsched.search.methods.mpso_fga import promotion

# %matplotlib inline

SMALL = os.environ.get("FEDSCHED_BUDGET") == "small"
SCALE = 20 if SMALL else 1
JOBS = 30 if SMALL else 100
RULES = ("fcfs", "easy", "jpr", "sjf-greedy", "ljf-greedy", "laf-greedy")

# %% [markdown]
# ## The jobs and the federations
#
# A package of the HPC2N log where it is at hand (name the folder of the archive logs in `FEDSCHED_TRACES`), else of a
# Lublin-Feitelson workload. As in the thesis, each job computes for 70 % of its time and communicates for the rest.
#
# The four clusters differ in size and speed; what a federation draws is set by two numbers: idle power as a share of
# busy power, and the power of speed by which busy power grows.

# %%
log = Path(os.environ.get("FEDSCHED_TRACES", "../../shared/traces")) / "HPC2N-2002-2.2-cln.swf.gz"
trace = fs.read(log) if log.exists() else lublin(jobs=10_000, nodes=128, seed=1)
trace = trace.filter((trace.tasks <= 128) & (trace.runtime >= 60))
package = trace.take(np.arange(4000, 4000 + JOBS))
package = replace(package, compute_fraction=np.full(JOBS, 0.7), task_bandwidth=np.full(JOBS, 2e6))


def federation(*, idle: float, hungry: float) -> fs.Federation:
    """Return four clusters behind uplinks of 1 GB/s."""
    clusters = []
    for k, (nodes, speed) in enumerate(((64, 1.0), (48, 1.25), (32, 1.6), (32, 2.0))):
        busy = 200.0 * speed**hungry
        clusters.append(fs.Cluster(f"C{k}", (fs.NodeGroup(nodes, speed, busy, idle * busy),), 1e9))
    return fs.Federation(tuple(clusters))


usual = federation(idle=0.5, hungry=1.0)
print(package)
print(usual)


# %%
def search(method: str, evaluations: int, machine: fs.Federation = usual, **more: object) -> fs.Result:
    """Return what a method finds from random plans, as in the papers."""
    options = {"seed": 1, "seeds": "random", "baselines": RULES, **more}
    return fs.optimize(package, machine, method=method, evaluations=evaluations // SCALE, **options)


def gains(result: fs.Result) -> None:
    """Print by how much a result's best plans are below each rule."""
    for k, name in enumerate(result.objectives):
        best = result.front.values[:, k].min()
        ours = "  ".join(f"{b.policy} {1 - best / b.values[k]:+.1%}" for b in result.baselines)
        print(f"{result.method:>9} lowers {name:<9} against  {ours}")


# %% [markdown]
# ## 1. GA-MF: makespan and flow

# %%
gains(search("ga-mf", 20_000))

# %% [markdown]
# The rules of the papers (FCFS, backfilling, JPR) are beaten by far. Shortest-job-first, which they do not name, is
# hard to beat in flow from random plans; begun with structured seeds, as `optimize` does unless told otherwise, GA-MF
# is below every rule:

# %%
gains(search("ga-mf", 20_000, seeds="structured"))

# %% [markdown]
# ## 2. PSO-EA beside GA-EA: energy over time

# %%
genetic, swarm = search("ga-ea", 20_000), search("pso-ea", 4_000)
for result in (genetic, swarm):
    gains(result)
    print(f"{'':>9} {result.evaluations:,} evaluations, {result.seconds:.2f} s")


def progress(result: fs.Result, k: int = 0) -> tuple[list[int], list[float]]:
    """Return evaluations and the best value after them."""
    return [m.evaluations for m in result.history], [m.best[k] / 3.6e6 for m in result.history]


runs = {"GA-EA": [progress(genetic)], "PSO-EA": [progress(swarm)]}
convergence.draw(runs, value="energy, kWh", title="Energy of the best plan").figure

# %% [markdown]
# ## 3. and 4. MOGA, and when makespan and energy want different plans
#
# The front collapses where idle power dominates: to end sooner is then to save energy. It opens where fast nodes are
# disproportionately hungry. The diamonds are rules, the line is a bound of linear programming that no plan can cross.

# %%
machines = {
    "idle 70 % of busy: one plan is best by both": federation(idle=0.7, hungry=1.0),
    "idle 5 %, power ~ speed$^{2.5}$: a real choice": federation(idle=0.05, hungry=2.5),
}
figure, axes = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
for ax, (title, machine) in zip(axes, machines.items(), strict=True):
    front = search("moga", 10_000, machine)
    ours = fs.optimize(package, machine, evaluations=60_000 // SCALE, seed=1, baselines=RULES)
    pareto.draw(
        {"MOGA": front.front.values, "memetic": ours.front.values},
        baselines={b.policy: b.values for b in front.baselines},
        bound=ours.bound_front,
        title=title,
        ax=ax,
    )
    print(f"{title}: the bound's energy at least makespan is {ours.energy_penalty:.1%} above its least energy")

# %% [markdown]
# ## 5. MPSO-FGA: near MOGA with a tenth of the evaluations

# %%
moga, hybrid = search("moga", 10_000), search("mpso-fga", 1_000)
for result in (moga, hybrid):
    gains(result)
    print(f"{'':>9} {result.evaluations:,} evaluations, {result.seconds:.2f} s, {len(result.front)} plans")
for k, name in enumerate(hybrid.objectives):
    print(f"MPSO-FGA's {name} above MOGA's: {hybrid.front.values[:, k].min() / moga.front.values[:, k].min() - 1:.1%}")

# %% [markdown]
# Which particles become parents is for a fuzzy controller to say, from how much each has gained over its personal best:

# %%
surface.draw(promotion, output="probability of promotion").figure
