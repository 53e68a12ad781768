"""Other people's optimisers as entrants of `compare`: stock pymoo, stock DEAP, CP-SAT and PyJobShop.

Stock means as their own pages begin: their operators, their defaults, a population of 100. Their plans are evaluated by
the library's compiled batch, a whole population a call. Solvers get all cores and a model of modes: a job runs in one
group, or, where it is too wide for each group of a cluster, in several of them at once; the starts that they find give
a plan's order, the modes its caps. All of them answer at least as well as the best baseline, whose plans the library's
own searches begin with, and neither that nor packing is on their clock.
"""

from __future__ import annotations

import importlib.util
import math
import os
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from instances import of_policies

from fedsched.compare import Budget, Instance, Outcome
from fedsched.engine.codes import Dispatch
from fedsched.model.schedule.metrics import BOUND_SECONDS
from fedsched.optimize.baselines import BASELINES, DEAR_BASELINES, values_of
from fedsched.search import Objectives, SearchProblem, pymoo_problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import fedsched as fs
    from fedsched.compare import Entrant

    Ints = NDArray[np.int64]

POPULATION = 100
LONGEST = 60.0  # seconds of a solver whose budget says evaluations alone
RESOLUTION = 1_000_000  # units of a solver's clock in the best baseline's value of makespan
WEIGHTS = 100_000  # the largest weight of a job, where a sum has weights
SOLVED = ("makespan", "energy", "flow", "mean_wait", "bounded_slowdown")  # what the solvers' models have words for


class Start:
    """An instance packed, the best baseline's value, the rules that suit its objective, and a clock that runs."""

    def __init__(self, instance: Instance, budget: Budget) -> None:
        (self.objective,) = instance.objectives
        self.problem = SearchProblem(instance.workload, instance.federation, Objectives.of(self.objective))
        schedules = list(of_policies(self.problem, (*BASELINES, *DEAR_BASELINES)).values())
        self.best = float(values_of(self.problem, schedules)[:, 0].min())
        self.makespan = min(schedule.makespan for schedule in schedules)
        in_order = np.arange(len(instance.workload))
        dispatch = self.problem.default_rules()[0]
        rules = [(dispatch, int(placement)) for placement in self.problem.space.placements]
        plain = [float(self.problem.values(self.problem.row(in_order, rules=each)[None])[0, 0]) for each in rules]
        self.rules = rules[int(np.argmin(plain))]
        self.evaluated = 0
        self.evaluations = budget.evaluations
        self.seconds = budget.seconds or (1.0 if self.evaluations is None else math.inf)
        self.history = [(0.0, 0.0, self.best)]
        self.begun = time.perf_counter()

    def left(self) -> float:
        """Return the seconds that are left: none where all evaluations are spent."""
        if self.evaluations is not None and self.evaluated >= self.evaluations:
            return 0.0
        return self.seconds - (time.perf_counter() - self.begun)

    def values(self, orders: Ints) -> NDArray[np.float64]:
        """Return the values of queue orders that leave everything else to the rules."""
        orders = np.ascontiguousarray(orders, dtype=np.int64)
        limits = np.broadcast_to(self.problem.space.limits, (len(orders), *self.problem.space.limits.shape))
        rules = np.tile(np.array(self.rules, dtype=np.int64), (len(orders), 1))
        return self.valued(self.problem.layout.pack(orders, limits, rules))

    def valued(self, rows: Ints) -> NDArray[np.float64]:
        """Return the values of plans, and remember the best."""
        found = self.problem.values(rows)
        self.evaluated += len(rows)
        if found.min() < self.best:
            self.best = float(found.min())
            self.history.append((float(self.evaluated), time.perf_counter() - self.begun, self.best))
        return found

    def outcome(self) -> Outcome:
        """Return the best value that was found."""
        seconds = time.perf_counter() - self.begun
        return Outcome(((self.best,),), evaluations=self.evaluated, seconds=seconds, history=tuple(self.history))


@dataclass(frozen=True, slots=True)
class PymooKeys:
    """pymoo's GA on real keys: simulated binary crossover and polynomial mutation."""

    name: ClassVar[str] = "pymoo-keys"
    plans_ahead: ClassVar[bool] = True

    def run(self, instance: Instance, seed: int, budget: Budget) -> Outcome:
        """Return the best value."""
        from pymoo.algorithms.soo.nonconvex.ga import GA

        start = Start(instance, budget)
        described = pymoo_problem(start.problem)
        described._evaluate = lambda x, out, *_, **__: out.__setitem__(
            "F", start.valued(start.problem.rows_of_keys(np.array(np.atleast_2d(x), dtype=np.float64)))
        )
        _minimised(start, described, GA(pop_size=POPULATION), seed)
        return start.outcome()


@dataclass(frozen=True, slots=True)
class PymooPermutations:
    """pymoo's GA on permutations, as its page on them has it: order crossover and inversion."""

    name: ClassVar[str] = "pymoo-orders"
    plans_ahead: ClassVar[bool] = True

    def run(self, instance: Instance, seed: int, budget: Budget) -> Outcome:
        """Return the best value."""
        from pymoo.algorithms.soo.nonconvex.ga import GA
        from pymoo.core.problem import Problem
        from pymoo.operators.crossover.ox import OrderCrossover
        from pymoo.operators.mutation.inversion import InversionMutation
        from pymoo.operators.sampling.rnd import PermutationRandomSampling

        start = Start(instance, budget)
        jobs = len(instance.workload)
        described = Problem(n_var=jobs, n_obj=1, xl=0, xu=jobs - 1, vtype=int)
        described._evaluate = lambda x, out, *_, **__: out.__setitem__("F", start.values(x))
        method = GA(
            pop_size=POPULATION,
            sampling=PermutationRandomSampling(),
            mutation=InversionMutation(),
            crossover=OrderCrossover(),
            eliminate_duplicates=True,
        )
        _minimised(start, described, method, seed)
        return start.outcome()


def _minimised(start: Start, described: object, method: object, seed: int) -> None:
    from pymoo.optimize import minimize
    from pymoo.termination.max_eval import MaximumFunctionCallTermination
    from pymoo.termination.max_time import TimeBasedTermination

    many = start.evaluations
    ends = TimeBasedTermination(start.left()) if many is None else MaximumFunctionCallTermination(many)
    minimize(described, method, ends, seed=seed, verbose=False)


@dataclass(frozen=True, slots=True)
class DeapOrders:
    """DEAP's eaSimple on permutations, as its page on the travelling salesman has it."""

    name: ClassVar[str] = "deap-orders"
    plans_ahead: ClassVar[bool] = True

    def run(self, instance: Instance, seed: int, budget: Budget) -> Outcome:
        """Return the best value."""
        from deap import algorithms, base, tools

        class Fitness(base.Fitness):  # type: ignore[misc]
            """One value, minimised."""

            weights = (-1.0,)

        class Order(list):  # type: ignore[type-arg]
            """A queue order."""

            def __init__(self, of: object) -> None:
                super().__init__(of)  # type: ignore[call-overload]
                self.fitness = Fitness()

        start = Start(instance, budget)
        jobs = len(instance.workload)
        random.seed(seed)  # DEAP draws from the module
        toolbox = base.Toolbox()
        toolbox.register("mate", tools.cxPartialyMatched)
        toolbox.register("mutate", tools.mutShuffleIndexes, indpb=0.05)
        toolbox.register("select", tools.selTournament, tournsize=3)
        population = [Order(random.sample(range(jobs), jobs)) for _ in range(POPULATION)]
        while start.left() > 0:
            fresh = [one for one in population if not one.fitness.valid]
            if fresh:
                for one, value in zip(fresh, start.values(np.array(fresh)).tolist(), strict=True):
                    one.fitness.values = tuple(value)
            population = algorithms.varAnd(toolbox.select(population, POPULATION), toolbox, 0.7, 0.2)
        return start.outcome()


def check_solved(name: str, instance: Instance) -> None:
    """Raise where a solver's model has no word for what is asked."""
    unknown = [str(one) for one in instance.objectives if one not in SOLVED]
    if unknown:
        raise ValueError(f"{name} is not after {', '.join(unknown)}: it knows {', '.join(SOLVED)}.")


class Mode(NamedTuple):
    """One way to run a job: nodes of each group, and for how long."""

    counts: tuple[int, ...]
    seconds: float
    joules: float  # above idling


def modes(workload: fs.Workload, federation: fs.Federation) -> list[list[Mode]]:
    """Return each job's modes: one a group that holds it, and one a cluster whose groups hold it together only."""
    groups, clusters, first = federation.groups, federation.clusters, 0
    inside = []
    for cluster in clusters:
        inside.append(range(first, first + len(cluster.groups)))
        first += len(cluster.groups)
    found = []
    for tasks, runtime in zip(workload.tasks.tolist(), workload.runtime.tolist(), strict=True):
        ways = []
        for members in inside:
            alone = [(g,) for g in members if groups[g].count >= tasks]
            together = tuple(sorted(members, key=lambda g: -groups[g].speed))
            wide = [together] if not alone and sum(groups[g].count for g in members) >= tasks else []
            ways += [_mode(groups, chosen, tasks, runtime) for chosen in alone + wide]
        found.append(ways)
    return found


def _mode(groups: tuple[fs.NodeGroup, ...], chosen: tuple[int, ...], tasks: int, runtime: float) -> Mode:
    counts, left = [0] * len(groups), tasks
    for g in chosen:
        counts[g] = min(left, groups[g].count)
        left -= counts[g]
    used = [g for g in chosen if counts[g]]
    seconds = max(runtime / groups[g].speed for g in used)
    joules = seconds * sum(counts[g] * (groups[g].busy_watts - groups[g].idle_watts) for g in used)
    return Mode(tuple(counts), seconds, joules)


def _ran(start: Start, starts: list[int], chosen: list[Mode]) -> Outcome:
    """Return what comes of a solver's answer as a plan, by the dispatch rule that makes most of it.

    Strict dispatch in the order of the starts is the answer itself; under greedy a job may be early and hold up others.
    """
    order, caps = np.argsort(np.array(starts), kind="stable"), np.array([mode.counts for mode in chosen])
    placement = start.problem.default_rules()[1]
    rules = [(int(dispatch), placement) for dispatch in (Dispatch.STRICT, Dispatch.GREEDY)]
    start.valued(np.array([start.problem.row(order, caps, each) for each in rules]))
    return start.outcome()


@dataclass(frozen=True, slots=True)
class CpSat:
    """OR-tools' CP-SAT on all cores: optional intervals, a cumulative constraint a group."""

    name: ClassVar[str] = "cp-sat"
    plans_ahead: ClassVar[bool] = True

    def run(self, instance: Instance, seed: int, budget: Budget) -> Outcome:
        """Return the best value."""
        from ortools.sat.python import cp_model

        check_solved(self.name, instance)
        start = Start(instance, budget)
        unit = start.makespan / RESOLUTION
        ways = modes(instance.workload, instance.federation)
        horizon = 4 * RESOLUTION
        model = cp_model.CpModel()
        begins = [model.new_int_var(0, horizon, "") for _ in ways]
        last = model.new_int_var(0, horizon, "")
        demands: list[list[tuple[object, int]]] = [[] for _ in instance.federation.groups]
        uses, costs = [], []
        for begin, options in zip(begins, ways, strict=True):
            picked = [model.new_bool_var("") for _ in options]
            model.add_exactly_one(picked)
            uses.append(picked)
            for mode, use in zip(options, picked, strict=True):
                length = max(1, round(mode.seconds / unit))
                interval = model.new_optional_fixed_size_interval_var(begin, length, use, "")
                for g, count in enumerate(mode.counts):
                    if count:
                        demands[g].append((interval, count))
                model.add(last >= begin + length).only_enforce_if(use)
                costs.append(self._cost(start.objective, model, begin, use, mode, length, unit, horizon))
        for group, wanted in zip(instance.federation.groups, demands, strict=True):
            model.add_cumulative([one for one, _ in wanted], [count for _, count in wanted], group.count)
        idle = sum(group.count * group.idle_watts for group in instance.federation.groups)
        of_last = {"makespan": 1, "energy": round(idle)}.get(start.objective, 0)
        model.minimize(of_last * last + sum(cost for cost in costs if cost is not None))
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = min(max(start.left(), 0.01), LONGEST)
        solver.parameters.num_workers = os.cpu_count() or 1
        solver.parameters.random_seed = seed
        if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return start.outcome()
        chosen = [
            next(mode for mode, use in zip(options, picked, strict=True) if solver.boolean_value(use))
            for options, picked in zip(ways, uses, strict=True)
        ]
        return _ran(start, [solver.value(begin) for begin in begins], chosen)

    def _cost(
        self, objective: str, model: object, begin: object, use: object, mode: Mode, length: int, unit: float, most: int
    ) -> object | None:
        """Return a mode's part of the sum that is minimised; None where it has none."""
        if objective == "makespan":
            return None
        if objective == "energy":
            return round(mode.joules / unit) * use  # type: ignore[operator]
        waited = model.new_int_var(0, most, "")  # type: ignore[attr-defined]
        model.add(waited >= begin).only_enforce_if(use)  # type: ignore[attr-defined,operator]
        if objective == "flow":
            return waited + length * use  # type: ignore[operator]
        if objective == "mean_wait":
            return waited
        return max(1, round(WEIGHTS * BOUND_SECONDS / max(mode.seconds, BOUND_SECONDS))) * waited


@dataclass(frozen=True, slots=True)
class PyJobShop:
    """PyJobShop on all cores, over the same modes; its nearest objective where it lacks the one that is asked for."""

    name: ClassVar[str] = "pyjobshop"
    plans_ahead: ClassVar[bool] = True

    def run(self, instance: Instance, seed: int, budget: Budget) -> Outcome:
        """Return the best value."""
        import pyjobshop

        check_solved(self.name, instance)
        start = Start(instance, budget)
        unit = start.makespan / RESOLUTION
        ways = modes(instance.workload, instance.federation)
        model = pyjobshop.Model()
        nodes = [model.add_renewable(group.count) for group in instance.federation.groups]
        flat = []
        for runtime, options in zip(instance.workload.runtime.tolist(), ways, strict=True):
            heavy = start.objective == "bounded_slowdown"
            weight = max(1, round(WEIGHTS * BOUND_SECONDS / max(runtime, BOUND_SECONDS))) if heavy else 1
            task = model.add_task(model.add_job(weight=weight))
            for mode in options:
                used = [g for g, count in enumerate(mode.counts) if count]
                length = max(1, round(mode.seconds / unit))
                model.add_mode(task, [nodes[g] for g in used], length, [mode.counts[g] for g in used])
                flat.append(mode)
        if start.objective in ("flow", "mean_wait", "bounded_slowdown"):
            model.set_objective(weight_total_flow_time=1)
        seconds = min(max(start.left(), 0.01), LONGEST)
        found = model.solve(time_limit=seconds, display=False, num_workers=os.cpu_count() or 1, random_seed=seed)
        if found.best is None or not found.best.tasks:
            return start.outcome()
        tasks = found.best.tasks
        return _ran(start, [task.start for task in tasks], [flat[task.mode] for task in tasks])


FRAMEWORKS = (PymooKeys(), PymooPermutations(), DeapOrders())
SOLVERS = (CpSat(), PyJobShop())


def at_hand() -> list[Entrant]:
    """Return the rivals that are installed here, and print which are not."""
    found: list[Entrant] = list(FRAMEWORKS)
    for solver, package in zip(SOLVERS, ("ortools", "pyjobshop"), strict=True):
        if importlib.util.find_spec(package) is None:
            print(f"skipped: {solver.name}; pip install {package}")
        else:
            found.append(solver)
    return found
