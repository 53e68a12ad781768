# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gangs in processor queues: three papers' figures from our runs
#
# You learn
#
# - how gangs, whose tasks start together, share processors with local jobs;
# - which published figures come out, and which do not.
#
# It takes about 35 seconds cold, compiling included. Open it with `jupyter lab notebooks/gang.ipynb`.
#
# One system, three configurations: sites of processors with a queue each, gangs whose tasks start together, local jobs
# beside them. The papers:
#
# * S. K. Dimitriadou and H. D. Karatza, "Multi-Site Allocation Policies on a Grid and Local Level";
# * F. A. P. Pinto, C. B. Chaves, L. G. de M. Leite, F. H. L. Vasconcelos and G. C. Barroso, "Analysis of Scheduling
#   Algorithms with Migration Strategies in Distributed Systems", 2014;
# * F. A. P. Pinto, H. J. A. Holanda, C. K. de M. Marques and G. C. Barroso, "Efficient Methods for Scheduling Jobs in a
#   Simulation Model Using a Multicore Multicluster Architecture", 2019.
#
# `docs/explanation/gang.md` says how they are read, and what comes out as published and what does not.

# %%
import os
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import fedsched as fs
from fedsched.gang import presets, replicate

SMALL = os.environ.get("FEDSCHED_BUDGET") == "small"
RUNS = 2 if SMALL else 10
COMPLETIONS = 1000 if SMALL else 40_000
plt.rcParams.update({"figure.dpi": 90, "axes.grid": True, "grid.color": "#dddddd", "axes.axisbelow": True})
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")

# %% [markdown]
# ## A run, seen processor by processor
#
# Two sites of 16 processors. Coloured bars are gangs: all tasks of one start and end together. Grey bars are local jobs.

# %%
workload = presets.DimitriadouKaratza(local_rate=4.0, gang_rate=2.0).workload(1).head(250)
first_run = fs.gang.simulate(workload, presets.DimitriadouKaratza(approach=3).system())
first_run.verify()
figure, (top, bottom) = plt.subplots(2, 1, figsize=(10, 7), layout="constrained", height_ratios=(2, 1))
first_run.gantt(top).grid(False)
first_run.plot_load(bottom)
plt.show()

# %% [markdown]
# ## Dimitriadou and Karatza: three approaches (figures 2 to 7)
#
# λ is the rate of local jobs at each site; gangs arrive at the grid at 0.5. Bars are 95 % intervals.

# %%
RATES = (8.3, 10.0, 12.5)


def over_rates(preset):
    """Return the replicated figures of a preset at every rate."""
    return [replicate(replace(preset, local_rate=rate, completions=COMPLETIONS), replications=RUNS) for rate in RATES]


approaches = {k: over_rates(presets.DimitriadouKaratza(approach=k)) for k in (1, 2, 3)}


def curve(ax, answers, jobs, metric, label, colour, scale=1.0):
    values = [answer[jobs][metric] for answer in answers]
    mean, half = (scale * np.array([getattr(value, part) for value in values]) for part in ("mean", "half_width"))
    ax.errorbar(RATES, mean, half, marker="o", capsize=3, label=label, color=colour)


figure, axes = plt.subplots(2, 3, figsize=(13, 7), layout="constrained")
for ax, (jobs, metric, title, scale) in zip(
    axes.flat,
    (
        ("gangs", "weighted_response", "figure 2: gangs' weighted response time", 1),
        ("gangs", "weighted_slowdown", "figure 3: gangs' weighted slowdown", 1),
        ("gangs", "completed_share", "figure 4: gangs completed (%)", 100),
        ("locals", "mean_response", "figure 6: local jobs' response time", 1),
        ("locals", "mean_slowdown", "figure 7: local jobs' slowdown", 1),
        ("all", "utilisation", "table 2: utilisation (crosses: published)", 1),
    ),
    strict=True,
):
    for k, answers in approaches.items():
        curve(ax, answers, jobs, metric, f"approach {k}", COLOURS[k - 1], scale)
    ax.set(xlabel="λ", title=title)
published = {1: (0.61289, 0.70227, 0.83797), 2: (0.63059, 0.73701, 0.84483), 3: (0.64929, 0.75920, 0.87845)}
for k, values in published.items():
    axes[1, 2].plot(RATES, values, "x", color=COLOURS[k - 1], markersize=9)
axes[0, 0].legend()
plt.show()

# %% [markdown]
# Figure 5, the increase of completed gangs compared with approach 1, and what overhead and threshold do (figures 8 to
# 14).

# %%
figure, axes = plt.subplots(2, 3, figsize=(13, 7), layout="constrained")
shares = {k: np.array([answer["gangs"]["completed_share"].mean for answer in a]) for k, a in approaches.items()}
for k in (2, 3):
    axes[0, 0].plot(RATES, 100 * (shares[k] / shares[1] - 1), marker="o", color=COLOURS[k - 1], label=f"approach {k}")
axes[0, 0].set(title="figure 5: more completed gangs than approach 1 (%)")
axes[0, 0].legend()
for ax, k, number in ((axes[0, 1], 2, 8), (axes[0, 2], 3, 10)):
    low = over_rates(presets.DimitriadouKaratza(approach=k, overhead=0.05))
    curve(ax, low, "gangs", "weighted_response", "overhead 5 %", COLOURS[0])
    curve(ax, approaches[k], "gangs", "weighted_response", "overhead 10 %", COLOURS[1])
    ax.set(title=f"figure {number}: approach {k}, gangs' WRT", yscale="log")
    ax.legend()
thresholds = {0.0: approaches[2]}
thresholds |= {t: over_rates(presets.DimitriadouKaratza(approach=2, threshold=t)) for t in (0.1, 0.15)}
for colour, (t, answers) in zip(COLOURS, thresholds.items(), strict=False):
    curve(axes[1, 0], answers, "gangs", "weighted_response", f"T = {t:g}", colour)
    curve(axes[1, 1], answers, "gangs", "weighted_slowdown", f"T = {t:g}", colour)
    if t > 0:
        before, after = ([a["locals"]["mean_response"].mean for a in answers_] for answers_ in (thresholds[0.0], answers))
        axes[1, 2].plot(RATES, 100 * (1 - np.array(after) / before), marker="o", color=colour, label=f"T = {t:g}")
for ax, title in zip(
    axes[1], ("figure 12: gangs' WRT", "figure 13: gangs' WSLD", "figure 14: decrease of locals' RT (%)"), strict=True
):
    ax.set(title=title, xlabel="λ")
    ax.legend()
plt.show()

# %% [markdown]
# ## Pinto et al. 2019: migration (figures 9 to 14)
#
# 3000 jobs on 128 + 256 processors. The run times and arrivals of the paper's log are not given; ours are drawn, and one
# number, the mean run time, is set so that AFCFS's response time comes near the published one.

# %%
PLAIN, MIGRATING = ("AFCFS", "LXF", "LJFS"), ("AFCFSm", "LXFm", "LJFSm")
SEEDS = range(1 if SMALL else 3)
JOBS = 300 if SMALL else 3000


def run_of(preset, seed):
    """Return a run of a preset, of its first jobs only where the budget is small."""
    return fs.gang.simulate(preset.workload(seed).head(JOBS), preset.system(seed), seed=seed)


runs = {
    (scenario, name): [run_of(presets.Pinto2019(scheduler=name, scenario=scenario), seed) for seed in SEEDS]
    for scenario in (1, 2)
    for name in (*PLAIN, *MIGRATING)
}


COUNTS = (500, 1000, 1500, 2000, 2500, 3000)


def responses(preset, counts):
    """Return the mean response of runs of the first n jobs, for every n: how we read "number of executed jobs"."""
    rows = []
    for count in counts:
        made = [fs.gang.simulate(preset.workload(k).head(count), preset.system(k), seed=k) for k in SEEDS[:2]]
        rows.append(np.mean([run.metrics().mean_response for run in made]))
    return rows


def work_of(made):
    """Return the share of working processors after every event, in per cent, smoothed over a hundred."""
    work = 100 * np.mean([1.0 - run.idle / run.system.total for run in made], axis=0)
    return np.arange(50, len(work) - 49), np.convolve(work, np.ones(100) / 100, mode="valid")


table = {  # tables 3 and 4, in thousands of seconds
    (1, "AFCFS"): (40.1, 85.3, 116.2, 164.3, 190.7, 185.4), (1, "AFCFSm"): (10.7, 19.5, 29.2, 35.4, 42.3, 40.2),
    (1, "LXF"): (57.8, 119.0, 171.6, 240.3, 298.6, 301.5), (1, "LXFm"): (26.2, 59.9, 90.4, 116.7, 147.5, 165.7),
    (1, "LJFS"): (82.6, 197.4, 307.6, 397.4, 492.3, 465.2), (1, "LJFSm"): (46.2, 113.1, 200.5, 278.0, 337.0, 333.4),
    (2, "AFCFS"): (22.4, 61.3, 87.1, 120.6, 149.5, 143.8), (2, "AFCFSm"): (11.9, 20.5, 29.9, 36.0, 42.0, 40.0),
    (2, "LXF"): (43.3, 92.7, 138.1, 193.9, 242.9, 245.4), (2, "LXFm"): (27.8, 62.5, 93.2, 117.6, 147.4, 162.3),
    (2, "LJFS"): (77.0, 170.5, 265.1, 355.9, 445.3, 429.5), (2, "LJFSm"): (50.0, 119.4, 215.6, 284.9, 349.6, 340.0),
}
figure, axes = plt.subplots(2, 2, figsize=(13, 8), layout="constrained")
for column, scenario in enumerate((1, 2)):
    top, bottom = axes[:, column]
    for k, name in enumerate((*PLAIN, *MIGRATING)):
        style, colour = ("--" if name.endswith("m") else "-"), COLOURS[k % 3]
        preset = presets.Pinto2019(scheduler=name, scenario=scenario)
        counts = (200,) if SMALL else COUNTS
        top.plot(counts, np.array(responses(preset, counts)) / 1000, style, color=colour, label=name)
        top.plot(COUNTS, table[scenario, name], "x" if style == "-" else "+", color=colour)
        bottom.plot(*work_of(runs[scenario, name]), style, color=colour, label=name)
    dispatch = ("OLB", "JSEQ")[column]
    top.set(title=f"figure {9 + column}: {dispatch} (crosses: published)", xlabel="jobs", ylabel="ART (1000 s)")
    bottom.set(title=f"figure {13 + column}: {dispatch}", xlabel="interactions", ylabel="utilisation (%)")
axes[0, 0].legend()
plt.show()

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
paper = {1: (50, 50, 50, 3.48, 16.63, 9.63), 2: (50, 50, 50, 3.39, 16.2, 6.89)}
for ax, scenario in zip(axes, (1, 2), strict=True):
    names = (*PLAIN, *MIGRATING)
    ours = [100 * np.mean([run.metrics().loss_of_capacity for run in runs[scenario, name]]) for name in names]
    place = np.arange(6)
    ax.bar(place - 0.2, ours, 0.4, color=COLOURS[0], label="ours")
    ax.bar(place + 0.2, paper[scenario], 0.4, color="#bbbbbb", label="published")
    ax.set_xticks(place, names)
    ax.set(title=f"figure {10 + scenario}: loss of capacity, S{scenario}", ylabel="%")
axes[0].legend()
plt.show()

# %% [markdown]
# ## Pinto et al. 2014: sequential jobs stop gangs (figures 2 to 4)
#
# 1500 jobs on 32 + 64 processors. S1 is without migration, S2 with it, S3 has aLD in place of JSQ too.

# %%
keys = [(name, scenario) for scenario in (1, 2, 3) for name in ("AFCFS", "LGFS")]
of_2014 = {
    (name, scenario): [run_of(presets.Pinto2014(scheduler=name, scenario=scenario), seed) for seed in SEEDS]
    for name, scenario in keys
}
figure, axes = plt.subplots(1, 3, figsize=(14, 4.5), layout="constrained")
for (name, scenario), runs_ in of_2014.items():
    style, colour = ("-", "--", ":")[scenario - 1], COLOURS[0 if name == "AFCFS" else 1]
    label = f"{name}{'m' if scenario > 1 else ''} S{scenario}"
    counts = (300,) if SMALL else range(300, 1501, 300)
    preset = presets.Pinto2014(scheduler=name, scenario=scenario)
    axes[0].plot(counts, np.array(responses(preset, counts)) / 1000, style, color=colour, label=label)
    axes[1].plot(*work_of(runs_), style, color=colour)
axes[0].set(title="figure 2", xlabel="jobs", ylabel="ART (1000 s)")
axes[0].legend()
axes[1].set(title="figure 3", xlabel="interactions", ylabel="utilisation (%)")
loss = [100 * np.mean([run.metrics().loss_of_capacity for run in of_2014[key]]) for key in keys]
axes[2].bar(np.arange(6) - 0.2, loss, 0.4, color=COLOURS[0], label="ours")
axes[2].bar(np.arange(4) + 0.2, (30.4, 31.1, 7.08, 24.3), 0.4, color="#bbbbbb", label="published")
axes[2].set_xticks(np.arange(6), [f"{name}\nS{scenario}" for name, scenario in keys])
axes[2].set(title="figure 4: loss of capacity (%)")
axes[2].legend()
plt.show()
