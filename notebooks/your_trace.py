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

# %% [markdown]
# # Your own trace
#
# You learn
#
# - how to read a log with faults, and see what cleaning changed;
# - how to compare policies on it, for all jobs and for each group of them;
# - how to ask what a change would do, and whether that is chance.
#
# It takes about 35 seconds cold, compiling included. Open it with `jupyter lab notebooks/your_trace.ipynb`.
#
# To use this notebook on your log, put its path in `MY_LOG`.

# %%
import gzip
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import fedsched as fs
from fedsched.generate import lublin
from fedsched.plot.style import LINES, MARKERS, dress

# %matplotlib inline

SMALL = os.environ.get("FEDSCHED_BUDGET") == "small"
JOBS = 800 if SMALL else 6000
MY_LOG = None  # "path/to/mine.swf.gz"

# %% [markdown]
# ## A log with faults
#
# There is none at hand that could be shipped, so here is one made: jobs of the Lublin-Feitelson model with requested
# times as Tsafrir, Etsion and Feitelson found them and forty users, written as a log, and then spoilt in the ways that
# archive logs are: requests missing or endless, jobs that never ran or are wider than the machine, lines out of order,
# text after numbers, and an end that is cut off.

# %%
folder = Path(tempfile.mkdtemp())


def spoilt_log(path: Path) -> Path:
    """Write a log with faults and return its path."""
    rng = np.random.default_rng(7)
    clean = lublin(jobs=JOBS, nodes=128, seed=5).with_estimates("tsafrir", seed=5)
    clean.write(folder / "clean.swf")
    lines = (folder / "clean.swf").read_text().splitlines()
    header = [line for line in lines if line.startswith(";")]
    rows = [line.split() for line in lines if not line.startswith(";")]
    users = rng.zipf(1.6, size=len(rows)) % 40 + 1
    for row, user in zip(rows, users, strict=True):
        row[11] = str(user)
    faults = ((8, "-1", 0.03), (8, "2147483648", 0.01), (3, "-1", 0.02), (4, "100000", 0.002), (1, "-1", 0.001))
    for field, value, share in faults:
        for k in rng.choice(len(rows), size=max(1, int(share * len(rows))), replace=False):
            rows[k][field] = value
    for k in rng.choice(len(rows), size=len(rows) // 20, replace=False):
        rows[k][8] = str(max(1, int(float(rows[k][3])) // 2))  # ran past its request
    rows[10], rows[11] = rows[11], rows[10]
    text = "\n".join([*header, *(" ".join(row) for row in rows)])
    text = text.replace(" ".join(rows[20]), " ".join(rows[20]) + " killed by root", 1)
    path.write_bytes(gzip.compress(text[:-20].encode()))
    return path


path = Path(MY_LOG) if MY_LOG else spoilt_log(folder / "mine.swf.gz")

# %% [markdown]
# ## Reading it
#
# Nothing is dropped or altered without a count. Where a line is no line of numbers, reading stops with file, line and
# field; `on_error="skip"` counts such lines instead.

# %%
try:
    log = fs.read(path)
except fs.errors.TraceError as error:
    print(f"TraceError: {error}\n")
    log = fs.read(path, on_error="skip")
print(log)

# %% [markdown]
# What was out of the ordinary, by itself:

# %%
report = log.cleaning
counted = ("malformed", "no_runtime", "too_wide", "negative_submit")
for reason in (*counted, "missing_request", "unlimited_request", "over_request"):
    print(f"{reason:<18} {getattr(report, reason):>5}")
log = log.rebased().renumbered()
machine = fs.Federation.homogeneous(log.nodes)

# %% [markdown]
# ## What is in it

# %%
hours = log.submit / 3600
figure, axes = plt.subplots(1, 3, figsize=(14, 3.6), layout="constrained")
days = np.arange(0, hours.max() + 24, 24)
work = np.histogram(hours, bins=days, weights=log.tasks * log.runtime)[0] / (log.nodes * 86_400)
axes[0].step(days[:-1] / 24, work, where="post", color=LINES[0])
axes[0].axhline(1.0, color="black", linewidth=0.8, linestyle="--")
dress(axes[0], x="day", y="work submitted, machine-days", title="load")
axes[1].hist(hours % 24, bins=24, color=LINES[1])
dress(axes[1], x="hour of the day", y="jobs", title="when jobs come")
accuracy = log.runtime / log.estimate
axes[2].hist(accuracy, bins=40, color=LINES[2])
dress(axes[2], x="run time / requested time", y="jobs", title="how well users ask")
plt.show()

# %% [markdown]
# ## Policies beside one another
#
# The first and last tenth of the log are left out of the averages, where the machine fills and empties.

# %%
policies = ("fcfs", "easy", "easy-sjbf", "easy-saf", "conservative", "lookahead", "wfp3-easy", "f1-easy")
schedules = {name: fs.simulate(log, machine, name) for name in policies}
trimmed = {name: schedule.trimmed_metrics(warmup=0.1, cooldown=0.1) for name, schedule in schedules.items()}
print(f"{'':<14}{'mean wait':>10}{'max wait':>10}{'bounded slowdown':>18}{'spread over users':>19}")
for name, m in trimmed.items():
    print(
        f"{name:<14}{m.mean_wait / 3600:>8.2f} h{m.max_wait / 3600:>8.1f} h"
        f"{m.bounded_slowdown:>18.1f}{m.user_spread:>19.1f}"
    )

# %% [markdown]
# Averages hide who pays. Mean waits by width and by length of the job, for three of them:

# %%
widths, lengths = np.array([1, 2, 9, 33, 129]), np.array([0, 600, 3600, 6 * 3600, np.inf])
names = ("easy", "easy-saf", "f1-easy")
row_of, column_of = np.digitize(log.tasks, widths) - 1, np.digitize(log.runtime, lengths) - 1
of_class = row_of * 4 + column_of
number = np.bincount(of_class, minlength=16)
waits = {
    name: np.bincount(of_class, weights=schedules[name].wait, minlength=16) / np.maximum(number, 1) for name in names
}
highest = max(table.max() for table in waits.values()) / 3600
figure, axes = plt.subplots(1, 3, figsize=(14, 3.6), layout="constrained", sharey=True)
for ax, name in zip(axes, names, strict=True):
    table = waits[name].reshape(4, 4) / 3600
    ax.imshow(table, cmap="viridis", vmin=0, vmax=highest, aspect="auto")
    for row, column in np.ndindex(table.shape):
        dark = table[row, column] < 0.6 * highest
        ax.text(column, row, f"{table[row, column]:.1f}", ha="center", va="center", color="white" if dark else "black")
    ax.set_xticks(range(4), ["< 10 min", "< 1 h", "< 6 h", "longer"])
    ax.set_yticks(range(4), ["1", "2–8", "9–32", "33–128"])
    dress(ax, x="run time", y="tasks" if name == names[0] else "", title=f"{name}: mean wait, h")
    ax.grid(visible=False)
plt.show()

# %% [markdown]
# ## What would a change do?
#
# From EASY to EASY that backfills small areas first (`easy-saf`): who gains, who loses, and is it luck? The log in
# eight parts is eight looks at the same question; and next year's load is one more.

# %%
before, after = schedules["easy"], schedules["easy-saf"]
change = (after.wait - before.wait) / 3600
print(f"{np.mean(change < 0):.0%} of the jobs start earlier, {np.mean(change > 0):.0%} later")
users = np.unique(log.user)
by_user = np.array([change[log.user == user].mean() for user in users])
work_of = np.array([(log.tasks * log.runtime)[log.user == user].sum() for user in users]) / (3600 * log.nodes)

figure, axes = plt.subplots(1, 3, figsize=(15, 3.8), layout="constrained")
axes[0].axhline(0, color="black", linewidth=0.8)
axes[0].semilogx(work_of, by_user, "o", color=LINES[0], alpha=0.7)
dress(axes[0], x="a user's work, machine-hours", y="change of the mean wait, h", title="who gains (below 0), who loses")

parts = np.array_split(np.arange(len(log)), 8)
gains = []
for rows in parts:
    part = log.take(rows).rebased()
    waits = [fs.simulate(part, machine, name).metrics().bounded_slowdown for name in ("easy", "easy-saf")]
    gains.append(1 - waits[1] / waits[0])
axes[1].axhline(0, color="black", linewidth=0.8)
axes[1].bar(range(1, 9), 100 * np.array(gains), color=[LINES[0] if gain > 0 else "#bbbbbb" for gain in gains])
dress(axes[1], x="part of the log", y="slowdown lower by, %", title="is it luck?")

loads = (0.8, 0.9, 1.0, 1.1, 1.2)
for k, name in enumerate(("easy", "easy-saf", "conservative")):
    values = [fs.simulate(log.scale_load(load), machine, name).metrics().mean_wait / 3600 for load in loads]
    axes[2].plot(loads, values, marker=MARKERS[k], color=LINES[k], label=name)
axes[2].legend(fontsize=8)
dress(axes[2], x="load, times today's", y="mean wait, h", title="next year's load")
plt.show()

# %% [markdown]
# And the part of the waiting that no policy is to blame for: what if users asked for what they need?

# %%
for label, jobs in (
    ("as asked", log),
    ("twice the run time", log.with_estimates("factor", factor=2.0)),
    ("exact", log.with_estimates("exact")),
):
    waits = [fs.simulate(jobs, machine, name).metrics().mean_wait / 3600 for name in ("easy", "easy-saf")]
    print(f"{label:<20} easy {waits[0]:5.2f} h, easy-saf {waits[1]:5.2f} h")

# %% [markdown]
# ## After maintenance: a backlog in packages
#
# The machine was down for its busiest day, and all that day's jobs wait. What could planning do that no rule does? They
# are cut into packages in the order they came, each planned from the state that the one before leaves, its running jobs
# included. All know the run times, rules too, so that a gain over EASY is not one of foresight.
#
# (While jobs still arrive, packages of a fixed number are a bad idea: the first job of each would wait for the last
# one.)

# %%
busiest = int(np.argmax(np.histogram(log.submit / 86_400, bins=np.arange(len(days)))[0]))
backlog = log.window(busiest * 86_400, (busiest + 1) * 86_400).rebased()
backlog = backlog.head(60) if SMALL else backlog
rules = ("fcfs", "easy", "easy-saf", "sjf-greedy")
options = {"objectives": "flow", "evaluations": 300 if SMALL else 10_000, "seed": 1, "baselines": rules}
plans = {
    f"packages of {size}": fs.optimize(backlog, machine, package=size, **options)
    for size in ((20, 40) if SMALL else (25, 75))
}
plans["one package"] = fs.optimize(backlog, machine, **options)
plans["one package"]

# %%
figure, axes = plt.subplots(1, 2, figsize=(13, 4), layout="constrained")
for k, (name, plan) in enumerate(plans.items()):
    response = np.sort(plan.best().response) / 3600
    axes[0].plot(response, np.linspace(0, 1, len(response)), color=LINES[k], label=name)
waiting = plans["one package"].workload  # the same jobs, all waiting
for k, name in enumerate(("easy", "sjf-greedy")):
    response = np.sort(fs.simulate(waiting, machine, name, knowledge="runtime").response) / 3600
    axes[0].plot(response, np.linspace(0, 1, len(response)), color=LINES[k + 3], linestyle="--", label=name)
axes[0].legend(fontsize=8)
dress(axes[0], x="done after, h", y="share of the jobs", title=f"Day {busiest}: {len(backlog)} jobs")
flows = {baseline.policy: baseline.values[0] for baseline in plans["one package"].baselines}
flows |= {name: plan.value() for name, plan in plans.items()}
axes[1].barh(
    list(flows), [flow / len(backlog) / 3600 for flow in flows.values()],
    color=[LINES[0] if name in plans else "#bbbbbb" for name in flows],
)  # fmt: skip
bound = plans["one package"].lower_bounds["flow"] / len(backlog) / 3600
axes[1].axvline(bound, color="black", linestyle="--", linewidth=1)
dress(axes[1], x="mean response, h (dashed: lower bound)", y="")
plt.show()

# %% [markdown]
# One package of them all comes near what no plan can beat. Packages in the order of arrival pay for that order: short
# jobs of a late package wait behind long ones of an early one.
#
# To keep: `schedules["easy"].to_swf("easy.swf.gz")` writes the log as that policy would have made it, and
# `plans["one package"].best().to_csv("plan.csv")` a plan.
