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
# # Quickstart
#
# You learn
#
# - how to read a log and a federation, and simulate policies by name;
# - how to search plans for makespan and energy at once, and read their front;
# - what communication between nodes changes.
#
# It takes about 35 seconds cold, compiling included. Open it with `jupyter lab notebooks/quickstart.ipynb`.
#
# [The quickstart page](../docs/start/quickstart.md) is shorter; `help(fs.simulate)` lists every option.

# %%
import os
from dataclasses import replace

import matplotlib.pyplot as plt

import fedsched as fs
from fedsched.plot.style import LINES, dress

# %matplotlib inline

SMALL = os.environ.get("FEDSCHED_BUDGET") == "small"
EVALUATIONS = 1_000 if SMALL else 40_000

# %% [markdown]
# ## A log and a federation
#
# `fs.read("log.swf.gz")` reads a log of your own; a sample ships with the package, as does a federation of four
# clusters.

# %%
workload = fs.Workload.example().head(300)
cluster = fs.Federation.example()
print(workload)
print(cluster)

# %% [markdown]
# What the jobs are like: how wide and how long, and what their users asked for.

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
axes[0].loglog(workload.runtime / 3600, workload.tasks, ".", color=LINES[0], alpha=0.6)
dress(axes[0], x="run time, h", y="tasks", title="the jobs")
axes[1].loglog(workload.runtime / 3600, workload.estimate / 3600, ".", color=LINES[1], alpha=0.6)
low, high = axes[1].get_xlim()
axes[1].loglog([low, high], [low, high], color="black", linewidth=0.8, label="exact")
axes[1].legend(fontsize=8)
dress(axes[1], x="run time, h", y="requested, h", title="what users asked for")
plt.show()

# %% [markdown]
# ## A policy
#
# `simulate` runs one by name, or any object with a method `rules`. A schedule prints its metrics, checks itself without
# the engine, and draws itself: a row a node, clusters one above the other, a colour a job.

# %%
easy = fs.simulate(workload, cluster, "easy")
easy.verify()
easy

# %%
easy.plot().figure

# %% [markdown]
# Which policy is best depends on what you ask for:

# %%
policies = ("fcfs", "easy", "easy-sjbf", "conservative", "lookahead", "sjf-easy", "min-min")
metrics = {name: fs.simulate(workload, cluster, name).metrics() for name in policies}
shown = {"mean_wait": "mean wait, h", "bounded_slowdown": "bounded slowdown", "energy": "energy, MWh"}
scale = {"mean_wait": 3600.0, "bounded_slowdown": 1.0, "energy": 3.6e9}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), sharey=True, layout="constrained")
for ax, (metric, label) in zip(axes, shown.items(), strict=True):
    values = [getattr(m, metric) / scale[metric] for m in metrics.values()]
    ax.barh(policies, values, color=[LINES[0] if value == min(values) else "#bbbbbb" for value in values])
    dress(ax, x=label, y="")
axes[0].invert_yaxis()
plt.show()

# %% [markdown]
# ## A plan
#
# Take a hundred jobs as a package: all of them wait now. `optimize` searches their order and the nodes that each may
# use, for makespan and energy at once. Each row of the table is a plan or a policy; below it stand bounds that no plan
# can beat.

# %%
package = workload.filter((workload.tasks <= 48) & (workload.runtime < 4 * 3600)).head(40 if SMALL else 100)
awake = fs.optimize(package, cluster, objectives=("makespan", "energy"), evaluations=EVALUATIONS // 4, seed=1)
awake

# %% [markdown]
# There is next to nothing to choose between the two: idle nodes draw power until the last job ends, so the plan that
# ends soonest is nearly the leanest. On nodes that sleep when they idle it is another matter, and the result is a
# front. Marks are policies; what is hatched is proven to be impossible.

# %%
asleep = replace(
    cluster,
    clusters=tuple(
        replace(c, groups=tuple(replace(g, idle_watts=0.03 * g.busy_watts) for g in c.groups)) for c in cluster.clusters
    ),
)
result = fs.optimize(package, asleep, objectives=("makespan", "energy"), evaluations=EVALUATIONS, seed=1)
result

# %%
result.plot()

# %% [markdown]
# The front's plans are schedules. Its ends, and the knee between them:

# %%
for label, plan in (("soonest", result.best("makespan")), ("knee", result.knee()), ("leanest", result.best("energy"))):
    plan.verify()
    print(f"{label:<8} {plan.makespan / 3600:6.2f} h  {plan.energy / 3.6e6:7.1f} kWh")

# %% [markdown]
# ## Communication
#
# Logs do not say what jobs send. Draw it, and jobs that span clusters slow each other where an uplink is too thin; then
# it may pay not to span them.

# %%
talkative = workload.filter(workload.tasks <= 64).with_communication(bandwidth=3e7, seed=1)
for placement in ("fastest", "single", "link_aware"):
    m = fs.simulate(talkative, cluster, "easy", placement=placement).metrics()
    print(
        f"{placement:<11} mean response {m.mean_response / 3600:5.2f} h, {m.coallocated:3.0f} jobs over several "
        f"clusters, {m.saturated_seconds / 3600:5.1f} h of saturated uplink"
    )

# %% [markdown]
# ## Save it
#
# `result.save("result.json")`, `plan.to_csv("plan.csv")`, `plan.gantt("plan.svg")`; `docs/how-to/export.md` lists the
# rest.
