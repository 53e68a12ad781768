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
# # Your own algorithm
#
# You learn
#
# - how to write your own objective and your own policy;
# - how to run your own search in pymoo, in DEAP or in plain Python on the compiled evaluator;
# - how to compare it with others at equal budgets.
#
# It takes about 65 seconds cold, compiling included. Open it with `jupyter lab notebooks/your_algorithm.ipynb`.
#
# [The tutorial](../docs/tutorials/your-own-search.md) is shorter.

# %%
import os
import random

import numpy as np
from deap import algorithms, tools
from pymoo.core.algorithm import Algorithm
from pymoo.core.population import Population
from pymoo.optimize import minimize

import fedsched as fs
from fedsched.compare import Outcome
from fedsched.plot import convergence, pareto
from fedsched.search import Objectives, SearchProblem, deap_individual_toolbox, deap_toolbox, pymoo_problem

# %matplotlib inline

SMALL = os.environ.get("FEDSCHED_BUDGET") == "small"
GENERATIONS = 6 if SMALL else 100
SIZE = 20 if SMALL else 50
log, cluster = fs.Workload.example(), fs.Federation.example()
jobs = log.take(range(200, 230 if SMALL else 260))

# %% [markdown]
# ## An objective of your own
#
# A function of the metrics: it gets all columns by name, one value a plan, and returns one value a plan. Here euros:
# energy at 25 cent a kWh, and half a euro to the network's owner for each job that spans clusters.


# %%
def euros(metrics):
    """Return what a schedule costs: its energy, and a fee for each job that spans clusters."""
    return 0.25 * metrics["energy"] / 3.6e6 + 0.5 * metrics["coallocated"]


result = fs.optimize(jobs, cluster, objectives=("mean_response", euros), evaluations=SIZE * GENERATIONS, seed=1)
ax = pareto.draw(
    {result.method: result.front.values},
    objectives=("mean_response", "euros"),
    baselines={b.policy: b.values for b in result.baselines if b.policy in ("easy", "easy-sjbf", "sjf-greedy")},
    title="Response times and euros",
)
ax.figure

# %% [markdown]
# ## A policy of your own
#
# Any object with a method `rules(workload, federation)`. This one gives each job a class by what its user asks for,
# short ones first within it, and keeps small jobs off the fastest nodes.


# %%
class Classes:
    """Three queues by requested node-seconds, shortest request first within each; small jobs leave fast nodes alone."""

    def __init__(self, *, least_tasks: int = 8) -> None:
        self.least_tasks = least_tasks

    def rules(self, workload: fs.Workload, federation: fs.Federation) -> fs.Rules:
        """Return the rules to run this workload by."""
        asked = workload.tasks * workload.estimate
        queue = np.digitize(asked, np.quantile(asked, [0.5, 0.9]))
        order = np.lexsort((workload.id, workload.submit, workload.estimate, queue))
        speed = np.array([group.speed for group in federation.groups])
        caps = np.tile([group.count for group in federation.groups], (len(workload), 1))
        caps[np.ix_(workload.tasks < self.least_tasks, speed == speed.max())] = 0
        return fs.Rules(order=order, dispatch="easy", caps=caps, name="classes")


for policy in ("easy", "sjf-easy", Classes()):
    schedule = fs.simulate(log, cluster, policy)
    schedule.verify()
    m = schedule.metrics()
    print(f"{schedule.policy:<22} bounded slowdown {m.bounded_slowdown:6.1f}, mean wait {m.mean_wait / 3600:5.2f} h")

# %% [markdown]
# ## An algorithm of your own in pymoo
#
# To pymoo the problem is a vector of numbers in [0, 1]: a key for each job, whose ranking is the queue order, and a
# weight for each job and node group, which says how many of the group's nodes are forbidden. `rows_of_keys` makes plans
# of them.
#
# Below, differential evolution from scratch: a subclass of pymoo's `Algorithm` that proposes a whole population at a
# time. pymoo brings the loop, termination, history, checkpoints.

# %%
problem = SearchProblem(jobs, cluster, Objectives.of("mean_response"))


class Differential(Algorithm):
    """Differential evolution: each vector is challenged by one built from the best and a difference of two others."""

    def __init__(self, *, size: int, step: float = 0.6, crossover: float = 0.3, **options: object) -> None:
        super().__init__(**options)
        self.size, self.step, self.crossover = size, step, crossover
        self.rng = np.random.default_rng(1)

    def _initialize_infill(self) -> Population:
        return Population.new(X=self.rng.random((self.size, self.problem.n_var)))

    def _initialize_advance(self, infills: Population, **options: object) -> None:
        self.pop = infills

    def _infill(self) -> Population:
        x, best = self.pop.get("X"), self.pop.get("F")[:, 0].argmin()
        a, b = (x[self.rng.permutation(self.size)] for _ in range(2))
        mutant = x + self.step * (x[best] - x) + self.step * (a - b)
        crossed = np.where(self.rng.random(x.shape) < self.crossover, mutant, x)
        return Population.new(X=np.clip(crossed, 0.0, 1.0))

    def _advance(self, infills: Population, **options: object) -> None:
        better = infills.get("F")[:, 0] <= self.pop.get("F")[:, 0]
        self.pop[better] = infills[better]


found = minimize(pymoo_problem(problem), Differential(size=SIZE), ("n_gen", GENERATIONS), save_history=True)
plan = problem.schedule(problem.rows_of_keys(np.atleast_2d(found.X))[0])
plan.verify()
print(f"differential evolution: mean response {plan.metrics().mean_response / 3600:.3f} h")

# %% [markdown]
# ## A loop of your own in DEAP
#
# Two ways. `deap_individual_toolbox` gives DEAP its individuals one at a time, with fitness, crossover and mutation,
# for DEAP's own algorithms: you bring selection and loop.

# %%
random.seed(1)  # DEAP's algorithms draw from the module
toolbox = deap_individual_toolbox(problem, seed=1)
toolbox.register("select", tools.selTournament, tournsize=3)
population = toolbox.population(SIZE)
for individual, fitness in zip(population, toolbox.map(toolbox.evaluate, population), strict=True):
    individual.fitness.values = fitness
least = tools.Statistics(lambda individual: individual.fitness.values[0])
least.register("best", min)
_, logbook = algorithms.eaMuPlusLambda(
    population, toolbox, SIZE, SIZE, cxpb=0.6, mutpb=0.4, ngen=GENERATIONS - 1, stats=least, verbose=False
)
best_individual = min(population, key=lambda individual: individual.fitness.values[0])
problem.schedule(best_individual).verify()
print(f"mu + lambda, by individuals: mean response {best_individual.fitness.values[0] / 3600:.3f} h")

# %% [markdown]
# `deap_toolbox` works on whole arrays of rows, a population at a time, and is many times faster. Here a (mu + lambda)
# scheme that draws parents by tournament, written out. Crossover takes pairs of row numbers, mutation a number of moves
# for each row.

# %%
rng = np.random.default_rng(1)
whole = deap_toolbox(problem, seed=1)
rows = whole.rows(SIZE)
values = whole.map(whole.evaluate, rows)
curve = [values.min()]
for generation in range(1, GENERATIONS):
    whole = deap_toolbox(problem, seed=1, generation=generation)  # its operators draw from (seed, generation)
    parents = np.stack([whole.select(values, SIZE, rng), whole.select(values, SIZE, rng)], axis=1)
    children = whole.mutate(whole.mate(rows, parents), rng.integers(0, 3, SIZE))
    all_rows = np.concatenate([rows, children])
    all_values = np.concatenate([values, whole.map(whole.evaluate, children)])
    kept = np.argsort(all_values, kind="stable")[:SIZE]
    rows, values = all_rows[kept], all_values[kept]
    curve.append(values[0])
problem.schedule(rows[0]).verify()
print(f"mu + lambda, by arrays: mean response {values[0] / 3600:.3f} h")

# %% [markdown]
# Beside the library's own at the same number of evaluations, from random plans as these, and as it begins by default:

# %%
budget = SIZE * GENERATIONS
evaluations = np.arange(1, GENERATIONS + 1) * SIZE
runs = {
    "differential (pymoo)": [(evaluations, [step.pop.get("F").min() / 3600 for step in found.history])],
    "mu + lambda (DEAP)": [(evaluations, [best / 3600 for best in logbook.select("best")])],
    "mu + lambda, arrays": [(evaluations, [best / 3600 for best in curve])],
}
for label, seeds in (("memetic, random plans", "random"), ("memetic", "structured")):
    run = fs.optimize(jobs, cluster, objectives="mean_response", evaluations=budget, seed=1, seeds=seeds, baselines=())
    runs[label] = [([m.evaluations for m in run.history], [m.best[0] / 3600 for m in run.history])]
bound = fs.bounds.lower_bounds(jobs, cluster).of("mean_response") / 3600
convergence.draw(runs, value="mean response, h", bound=bound, title="One package, one seed").figure

# %% [markdown]
# ## An entrant of your own
#
# One package and one seed prove nothing. `compare` takes anything with a name and a `run` that returns an `Outcome`,
# and puts it beside methods and policies, on several instances, over seeds, each with the same budget. What it raises
# is a failed run, not the end of the comparison.


# %%
class Arrays:
    """The loop above as an entrant."""

    name = "mine"

    def run(self, instance: fs.Instance, seed: int, budget: fs.Budget) -> Outcome:
        """Return the best value found within the budget."""
        own = SearchProblem(instance.workload, instance.federation, Objectives.of(instance.objectives))
        rng = np.random.default_rng(seed)
        rows, values = np.zeros((0, 0), dtype=np.int64), np.zeros(0)
        for generation in range(budget.evaluations // SIZE):
            toolbox = deap_toolbox(own, seed=seed, generation=generation)
            if not len(rows):
                rows = toolbox.rows(SIZE)
                values = toolbox.map(toolbox.evaluate, rows)
                continue
            parents = np.stack([toolbox.select(values, SIZE, rng), toolbox.select(values, SIZE, rng)], axis=1)
            children = toolbox.mutate(toolbox.mate(rows, parents), rng.integers(0, 3, SIZE))
            all_rows = np.concatenate([rows, children])
            all_values = np.concatenate([values, toolbox.map(toolbox.evaluate, children)])
            kept = np.argsort(all_values, kind="stable")[:SIZE]
            rows, values = all_rows[kept], all_values[kept]
        return Outcome(front=[[values[0]]], evaluations=budget.evaluations)


width = 20 if SMALL else 50
instances = [
    fs.Instance(f"jobs {begin}", log.take(range(begin, begin + width)), cluster, ("mean_response",))
    for begin in range(0, 160 if SMALL else 400, width)
]
comparison = fs.compare(
    instances,
    (Arrays(), "memetic", "ga", "random", "sjf-easy"),
    range(1 if SMALL else 5),
    fs.Budget(evaluations=SIZE * (10 if SMALL else 40)),
)
print(comparison.pairs(against="mine"))

# %%
comparison.plot_ranks().figure

# %% [markdown]
# `docs/explanation/compare.md` explains the tests; `docs/explanation/searches.md` what the library's own searches do.
