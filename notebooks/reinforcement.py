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
# # A policy that learns
#
# You learn
#
# - how to use the Gymnasium environments for scheduling;
# - how a policy of eight numbers learns from its rewards, in plain numpy;
# - how to test it on jobs that it has never seen.
#
# It takes about 25 seconds cold, compiling included. Open it with `jupyter lab notebooks/reinforcement.ipynb`.
#
# [Learn a policy](../docs/how-to/learn-a-policy.md) says what actions and rewards mean.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np

import fedsched as fs
from fedsched.gym import SchedulingEnv, SchedulingVectorEnv, WaitingFeature
from fedsched.plot.style import LINES, dress

# %matplotlib inline

SMALL = os.environ.get("FEDSCHED_BUDGET") == "small"
ROUNDS = 15 if SMALL else 80
STRETCHES, TRIES = (4, 6) if SMALL else (8, 8)  # a round: so many stretches of the log, each tried so often
JOBS, PLACES = 100, 16

log, cluster = fs.Workload.example().sorted(), fs.Federation.example()
known, unseen = log.head(700), log.take(range(700, 1000))

# %% [markdown]
# ## Environments
#
# Many simulations in one call of compiled code: those to learn from, and those to be tried on. An episode is a stretch of
# 100 jobs; its rewards add up to the negative of its mean bounded slowdown.

# %%
options = {"jobs": JOBS, "waiting_places": PLACES, "objective": "bounded_slowdown"}
school = SchedulingVectorEnv(known, cluster, num_envs=STRETCHES * TRIES, **options)
tests = np.arange(0, len(unseen) - JOBS + 1, 25)
exam = SchedulingVectorEnv(unseen, cluster, num_envs=len(tests), **options)

# %% [markdown]
# ## A policy
#
# Each waiting job gets a score, a weighted sum of what is seen of it; so does "none", by a constant. Jobs are drawn by
# the softmax of the scores while the policy learns; when it is tried, the highest score counts. A chosen job that does
# not fit waits, and holds up whoever would have fitted: the mask that tells is not used, the policy has to find out.
#
# With all weights at 0 the first job is the highest score: the policy that knows nothing is FCFS.


# %%
def described(seen):
    """Return a row of numbers for each answer: what is seen of the job; for none, a constant."""
    jobs = seen["waiting"]
    rows = np.zeros((len(jobs), PLACES + 1, len(WaitingFeature) + 1))
    rows[:, :-1, :-1], rows[:, -1, -1] = jobs, 1.0
    return rows


def chances(weights, rows):
    """Return with which chance each answer is given: none to places without a job."""
    there = (rows[..., WaitingFeature.PRESENT] == 1) | (rows[..., -1] == 1)
    scores = np.where(there, rows @ weights, -np.inf)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def episodes(env, weights, first, rng=None):
    """Return the objective of each episode and, where answers are drawn, the gradient of their log chance."""
    seen, _ = env.reset(options={"first": first})
    runs = np.arange(env.num_envs)
    value, gradient, under_way = np.zeros(runs.size), np.zeros((runs.size, weights.size)), np.ones(runs.size, dtype=bool)
    while under_way.any():
        rows = described(seen)
        chance = chances(weights, rows)
        limit = 0.5 if rng is None else rng.random((runs.size, 1)) * (1 - 1e-9)
        answer = chance.argmax(axis=1) if rng is None else (chance.cumsum(axis=1) > limit).argmax(axis=1)
        gradient[under_way] += (rows[runs, answer] - np.einsum("bk,bkf->bf", chance, rows))[under_way]
        seen, reward, over, _, _ = env.step(answer)
        value[under_way] -= reward[under_way]
        under_way &= ~over  # whoever is done begins another episode, which does not count
    return value, gradient


def examined(weights):
    """Return the objective on each of the unseen stretches."""
    return episodes(exam, weights, tests)[0]


# %% [markdown]
# What there is to beat, on the same stretches. The policy that knows nothing is FCFS indeed.

# %%
stretches = [unseen.take(range(first, first + JOBS)) for first in tests]
baselines = {
    policy: np.array([fs.simulate(jobs, cluster, policy).metrics().bounded_slowdown for jobs in stretches])
    for policy in ("fcfs", "greedy", "easy")
}
nothing = np.zeros(len(WaitingFeature) + 1)
np.testing.assert_allclose(examined(nothing), baselines["fcfs"], rtol=1e-9)
print({policy: round(values.mean(), 1) for policy, values in baselines.items()})

# %% [markdown]
# ## Learning
#
# A policy gradient: each stretch is tried several times, and the answers of tries that came out better than their
# stretch's mean become likelier, those of the worse ones less likely. Steps are Adam's.

# %%
rng = np.random.default_rng(1)
weights, mean, square = nothing.copy(), 0.0, 0.0
curve, drawn = [], []
for step in range(1, ROUNDS + 1):
    curve.append(examined(weights).mean())
    drawn.append(episodes(exam, weights, tests, np.random.default_rng(step))[0].mean())
    first = np.repeat(rng.integers(0, len(known) - JOBS + 1, STRETCHES), TRIES)
    value, gradient = episodes(school, weights, first, rng)
    logs = np.log(value).reshape(STRETCHES, TRIES)
    better = (logs.mean(axis=1, keepdims=True) - logs) / (logs.std(axis=1, keepdims=True) + 1e-8)
    uphill = (better.reshape(-1, 1) * gradient).mean(axis=0) / JOBS
    mean, square = 0.9 * mean + 0.1 * uphill, 0.99 * square + 0.01 * uphill**2
    weights = weights + 0.05 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
names = [*(feature.name.lower() for feature in WaitingFeature), "none"]
print({name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True)})

# %% [markdown]
# On jobs that it has never seen it is better than FCFS:

# %%
learnt = examined(weights)
better = (learnt < baselines["fcfs"]).sum()
print(f"learnt {learnt.mean():.1f}, FCFS {baselines['fcfs'].mean():.1f}, better on {better} of {len(tests)} stretches")
assert learnt.mean() < baselines["fcfs"].mean()
assert better > len(tests) / 2

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
left.plot(drawn, color=LINES[0], linewidth=0.8, linestyle=":", label="learnt, answers drawn")
left.plot(curve, color=LINES[0], label="learnt, highest score")
for colour, (policy, values) in zip(LINES[1:], baselines.items(), strict=False):
    left.axhline(values.mean(), color=colour, linestyle="--", linewidth=1, label=policy)
left.set_yscale("log")
left.set_yticks([30, 60, 100, 200, 300], ["30", "60", "100", "200", "300"])
left.minorticks_off()
left.legend(fontsize=8, frameon=False)
dress(left, x="rounds of learning", y="mean bounded slowdown", title="Nine stretches that were never learnt from")
places = np.arange(len(tests))
for k, (label, values) in enumerate({"learnt": learnt, **baselines}.items()):
    right.plot(places, values, "o", color=LINES[k], label=label, markersize=5)
right.set_yscale("log")
right.set_yticks([3, 10, 30, 100, 300], ["3", "10", "30", "100", "300"])
right.minorticks_off()
dress(right, x="stretch", y="bounded slowdown", title="Each of them, at the end")
right.legend(fontsize=8, frameon=False)
figure

# %% [markdown]
# Scores only rank, so that for the highest score a little learning goes a long way; answers that are drawn get better
# slowly, as the weights grow. What the numbers have come to is a queue order: those that fit ahead (`fits`), few tasks
# ahead (`tasks` is negative), "none" last. What they cannot say, a network over all that is seen can: how much is free,
# who runs and until when. The environments are Gymnasium's, so whatever learns from those learns from these. An episode
# ends in an ordinary schedule:

# %%
single = SchedulingEnv(unseen, cluster, jobs=JOBS, waiting_places=PLACES)
seen, _ = single.reset(options={"first": 0})
over = False
while not over:
    rows = described({"waiting": seen["waiting"][None]})
    seen, _, over, _, info = single.step(chances(weights, rows).argmax())
schedule = single.schedule()
schedule.verify()
print(f"bounded slowdown {schedule.metrics().bounded_slowdown:.1f}, by the rewards {info['objective']:.1f}")
schedule.plot().figure
