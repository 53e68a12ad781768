"""Optimal schedules of small problems by constraint programming, with a bound that proves them.

The model covers known maintenance, jobs that wait for others or follow them, jobs that leave or are held, pools,
limits, and jobs' own watts, but not contention.
Its bound holds for every schedule; the schedule found is then run with contention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.exact_answers.cp_sat_model import build
from fedsched.bounds.exact_answers.task import cost, left_out, task_of
from fedsched.bounds.lower.relaxation import hidden_by_clock
from fedsched.core.errors import unknown_name
from fedsched.core.text import counted
from fedsched.core.values import whole
from fedsched.io.arguments import nouns_of
from fedsched.model.reading import CLAIRVOYANT, Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.bounds.exact_answers.cp_sat_model import Model, Solved
    from fedsched.bounds.exact_answers.task import Task
    from fedsched.bounds.lower.relaxation import Floats, Ints
    from fedsched.core.names import Alternatives, Knowledge
    from fedsched.io.arguments import AnyJobs, AnyMachine
    from fedsched.model.schedule.schedule import Schedule

OBJECTIVES = ("makespan", "energy", "weighted")
PROVEN = 1e-5  # relative gap within which a schedule counts as optimal
LEAST_TIME = 1e-3  # seconds for each question, even if none are left


@dataclass(slots=True, eq=False)
class ExactSolver:
    """The solver of a task (a checked problem), and the seconds that it has spent.

    `weights` are those of makespan and energy. If a clock rounds times, the model lets jobs start slightly late
    (`latest_starts`). If such an answer cannot be realised, the model is solved again without that allowance: for a
    schedule, not for a bound.
    """

    task: Task
    weights: tuple[float, float]
    seconds: float
    workers: int
    seed: int
    spent: float = 0.0

    def fewest(self, best: Schedule) -> tuple[Schedule, int]:
        """Return a schedule with as few jobs left out as the solver found, and a lower bound on that number.

        The schedule is `best` itself if none is better.
        """
        fewest = len(self.task.rules.barred)
        for strict in (False, True):
            if left_out(best) <= fewest:
                break
            model = self._built(best, None, strict=strict)
            model.leave_out_few()
            solved, best, holds = self._answer(model, best)
            if not strict:
                fewest = max(fewest, min(round(solved.bound), left_out(best)))
            if holds:
                break
        return best, fewest

    def cheapest(self, best: Schedule, horizon: float | None, at_least: float) -> tuple[Schedule, float]:
        """Return the cheapest schedule found, and a lower bound on the cost of all schedules like it.

        Only schedules that leave out no more jobs than `best` count. No better schedule is longer than
        `horizon` seconds, and none is shorter than `at_least`.
        """
        bound = 0.0
        for strict in (False, True):
            model = self._built(best, horizon, strict=strict)
            model.minimise(*self.weights, at_least=at_least)
            solved, best, holds = self._answer(model, best)
            bound = bound if strict else solved.bound
            if holds:
                break
        return best, bound

    def _built(self, best: Schedule, horizon: float | None, *, strict: bool) -> Model:
        task = self.task
        absent = left_out(best) if task.rules.optional else None
        return build(task.relaxation, task.first, scale=task.scale(best), horizon=horizon, hint=best, rules=task.rules,
                     absent_at_most=absent, strict=strict)  # fmt: skip

    def _answer(self, model: Model, best: Schedule) -> tuple[Solved, Schedule, bool]:
        """Solve the model; return the answer, the better schedule, and whether the answer holds in real times.

        It holds if its schedule, in real times, leaves out no more jobs than the answer says, or if it has no schedule.
        """
        left = max(self.seconds - self.spent, LEAST_TIME)
        solved = model.solve(seconds=left, workers=self.workers, seed=self.seed)
        self.spent += solved.seconds
        if solved.starts is None:
            return solved, best, True
        found = self.task.realised(solved)
        better = min(best, found, key=lambda schedule: self.task.rank(schedule, self.weights))
        return solved, better, left_out(found) <= solved.absent


@dataclass(frozen=True, slots=True, eq=False)
class ExactAnswer:
    """The best schedule found, and what is proven about it.

    Schedules that leave out fewer jobs come first.

    Parameters
    ----------
    schedule, value
        The schedule, and its value.
    bound
        No schedule has a smaller value, with contention or without. If jobs may leave, it is for schedules that leave
        out no more jobs than this one.
    status
        "optimal" if the value meets the bound, and if no more jobs are left out than necessary. "feasible" if time ran
        out first or contention adds a cost outside of the model.
    objective, weights
        As in `exact`.
    seconds
        The solver's time.
    fewest
        A lower bound on the number of jobs that never start.

    Examples
    --------
    >>> answer = fs.bounds.exact(fs.Workload(submit=[0, 0, 0], tasks=[2, 1, 1], runtime=[60, 60, 120]), 3)
    >>> round(answer.bound, 6), round(answer.gap, 6)
    (120.0, 0.0)
    """

    schedule: Schedule
    value: float
    bound: float
    status: str
    objective: str
    weights: tuple[float, float]
    seconds: float
    fewest: int = 0

    @property
    def left_out(self) -> int:
        """Return the number of jobs in the schedule that never start."""
        return left_out(self.schedule)

    @property
    def order(self) -> Ints:
        """Return the jobs' rows in order of start; jobs that never start come last."""
        return np.argsort(self.schedule.start, kind="stable")

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return jobs × groups: the nodes of every job; used as caps, they enforce the plan."""
        return self.schedule.counts

    @property
    def gap(self) -> float:
        """Return value/bound − 1, the share by which the value may exceed the optimum; NaN if the bound is 0."""
        return self.value / self.bound - 1.0 if self.bound > 0 else float("nan")

    def __str__(self) -> str:
        out = f"{counted(self.left_out, 'job')} left out (proven: at least {self.fewest}), " if self.left_out else ""
        return (
            f"{self.status}: {self.objective} {self.value:,.6g}, bound {self.bound:,.6g} (gap {self.gap:.2%}), "
            f"{out}{counted(len(self.schedule), 'job')} in {self.seconds:.1f} s"
        )


@dataclass(frozen=True, slots=True, eq=False)
class ExactFront:
    """The Pareto front of makespan and energy of a small problem.

    Parameters
    ----------
    points
        Rows (makespan, energy), shortest first.
    schedules
        A schedule for each point.
    complete
        Whether the points are proven to be the whole front, within the solver's units and without contention.

    Examples
    --------
    >>> front = fs.bounds.exact_front(fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[60, 60]), 2)
    >>> front.complete, len(front.schedules)
    (True, 1)
    """

    points: Floats
    schedules: tuple[Schedule, ...]
    complete: bool


def exact(
    workload: AnyJobs,
    federation: AnyMachine,
    *,
    objective: str = "makespan",
    weights: tuple[float, float] | None = None,
    seconds: float = 60.0,
    workers: int = 2,
    seed: int = 0,
    t0: float | None = None,
    reading: Reading = CLAIRVOYANT,
    knowledge: Knowledge | None = None,
    kill_at_estimate: bool | None = None,
    alternatives: Alternatives | None = None,
    caps: NDArray[np.int64] | None = None,
) -> ExactAnswer:
    """Return the best schedule of a small problem, or the best found in the time, with a proven bound.

    The best schedule has the fewest jobs that never start, and among these the least value. A dozen jobs on a dozen
    nodes of several kinds are proven within seconds; twenty jobs on fifty nodes often are not.

    Parameters
    ----------
    workload, federation
        The jobs, and the machine, given as to `simulate`.
    objective
        "makespan", "energy", or "weighted".
    weights
        Of makespan and energy, for "weighted": weights[0]·seconds + weights[1]·joules.
    seconds
        The solver's time; a schedule is returned however short it is.
    workers, seed
        The solver's threads and seed. The proven optimum does not depend on them; which of several best schedules is
        returned may.
    t0, reading, knowledge, kill_at_estimate, alternatives, caps
        As in `lower_bounds`.

    Examples
    --------
    >>> jobs = fs.Workload(submit=[0, 0, 0], tasks=[2, 1, 1], runtime=[60, 60, 120])
    >>> answer = fs.bounds.exact(jobs, 3)
    >>> answer.value, answer.status
    (120.0, 'optimal')
    """
    workload, federation = nouns_of("exact", workload, federation, second="federation")
    if objective not in OBJECTIVES:
        raise unknown_name("objective of the exact model", objective, OBJECTIVES)
    if (weights is None) == (objective == "weighted"):
        raise ValueError(
            f"exact: objective={objective!r}, weights={weights}; give weights= if and only if objective='weighted'."
        )
    chosen = {"makespan": (1.0, 0.0), "energy": (0.0, 1.0)}.get(objective) or weights or (1.0, 0.0)
    if min(chosen) < 0 or not np.isfinite(chosen).all() or max(chosen) == 0:
        raise ValueError(f"exact: weights={chosen}; both must be finite and at least 0, and one of them above 0.")
    reading = reading.but(
        knowledge=knowledge, kill_at_estimate=kill_at_estimate, alternatives=alternatives
    ).settled("exact")
    task = task_of(workload, federation, t0, reading, caps, seconds, workers, seed)
    best = min(task.heuristics(), key=lambda schedule: task.rank(schedule, chosen))
    solver = ExactSolver(task, chosen, seconds, workers, seed)
    best, fewest = solver.fewest(best)
    makespan, energy = task.known(left_out(best))
    # A better schedule costs less than the best known one, and each second of T costs at least `per_second`.
    per_second = chosen[0] + chosen[1] * task.relaxation.idle_total
    horizon = (cost(best, chosen) + chosen[1] * task.saved()) / per_second if per_second > 0 else None
    best, found = solver.cheapest(best, horizon, makespan)
    value = cost(best, chosen)
    bound = max(chosen[0] * makespan + chosen[1] * energy, found - hidden_by_clock(task.relaxation, chosen))
    if value < bound <= value * (1 + 1e-9):  # rounding: no bound is above an existing schedule
        bound = value
    proven = value <= bound * (1 + PROVEN) and left_out(best) == fewest
    status = "optimal" if proven else "feasible"
    return ExactAnswer(best, value, bound, status, objective, chosen, solver.spent, fewest)


def exact_front(
    workload: AnyJobs,
    federation: AnyMachine,
    *,
    points: int = 50,
    seconds: float = 60.0,
    workers: int = 2,
    seed: int = 0,
    t0: float | None = None,
    reading: Reading = CLAIRVOYANT,
    knowledge: Knowledge | None = None,
    kill_at_estimate: bool | None = None,
    alternatives: Alternatives | None = None,
    caps: NDArray[np.int64] | None = None,
) -> ExactFront:
    """Return the Pareto front of makespan and energy of a tiny problem, without contention.

    The ε-constraint method begins with the least energy. It finds the least makespan with that energy, then the
    least energy with a shorter makespan, until there is none. If time or `points` run out before, only these points
    are returned, and `complete` is False. If jobs may leave, it is the front of the schedules that leave out the
    fewest.

    Parameters
    ----------
    workload, federation
        The jobs, and the machine, given as to `simulate`.
    points
        Stop after this number of points.
    seconds
        For each run of the solver; a point needs two.
    workers, seed, t0, reading, knowledge, kill_at_estimate, alternatives, caps
        As in `exact`.

    Examples
    --------
    >>> fast, slow = fs.NodeGroup(1, speed=2.0, busy_watts=400, idle_watts=10), fs.NodeGroup(1, idle_watts=10)
    >>> jobs = fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[60, 60])
    >>> front = fs.bounds.exact_front(jobs, fs.Cluster("north", (fast, slow)))
    >>> front.points
    array([[   60., 20400.],
           [  120., 17400.]])
    """
    workload, federation = nouns_of("exact_front", workload, federation, second="federation")
    whole("exact_front", "points", points, least=1)
    reading = reading.but(
        knowledge=knowledge, kill_at_estimate=kill_at_estimate, alternatives=alternatives
    ).settled("exact_front")
    task = task_of(workload, federation, t0, reading, caps, seconds, workers, seed)
    some = task.heuristics()
    scale = max(task.scale(schedule) for schedule in some)
    fullest, fewest = ExactSolver(task, (1.0, 0.0), seconds, workers, seed).fewest(min(some, key=left_out))
    absent = left_out(fullest) if task.rules.optional else None
    complete = left_out(fullest) == fewest and task.relaxation.uncontended
    rows: list[tuple[float, float]] = []
    found: list[Schedule] = []
    within: int | None = None
    while len(rows) < points:
        model = build(
            task.relaxation, task.first, scale=scale, rules=task.rules, makespan_at_most=within, absent_at_most=absent
        )
        model.minimise(0.0, 1.0)
        thrifty = model.solve(seconds=seconds, workers=workers, seed=seed)
        if thrifty.infeasible:
            return _front(rows, found, complete=complete)
        if not thrifty.optimal:
            break
        model = build(
            task.relaxation, task.first, scale=scale, rules=task.rules, makespan_at_most=within,
            energy_at_most=thrifty.energy, absent_at_most=absent,
        )  # fmt: skip
        model.minimise(1.0, 0.0)
        short = model.solve(seconds=seconds, workers=workers, seed=seed)
        if not short.optimal or short.starts is None:
            break
        schedule = task.realised(short)
        if left_out(schedule) > left_out(fullest):
            break
        rows.append((schedule.makespan, cost(schedule, (0.0, 1.0))))
        found.append(schedule)
        within = short.makespan - 1
    return _front(rows, found, complete=False)


def _front(rows: list[tuple[float, float]], found: list[Schedule], *, complete: bool) -> ExactFront:
    """Return the front of the points, shortest first; points dominated due to contention or rounding are dropped."""
    order = sorted(range(len(rows)), key=lambda i: rows[i])
    kept: list[int] = []
    for i in order:
        if not kept or rows[i][1] < rows[kept[-1]][1]:
            kept.append(i)
    return ExactFront(np.array([rows[i] for i in kept]).reshape(-1, 2), tuple(found[i] for i in kept), complete)
