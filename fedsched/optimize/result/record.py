"""Result: what a search found, beside what the rules give and what no schedule can beat."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.lower.trivial import is_telling
from fedsched.core.errors import unknown_name
from fedsched.core.text import duration, one_line
from fedsched.engine.codes import Dispatch, Placement
from fedsched.model.foresight import foresight, known_beforehand, weigh_power
from fedsched.model.jobs.assumed import assumptions
from fedsched.model.jobs.unmodelled import unmodelled
from fedsched.model.reading import CLAIRVOYANT, Read, Reading, in_words
from fedsched.model.schedule.node_use import unmodelled_when_shared
from fedsched.optimize.result.convenience import ResultConvenience
from fedsched.search.problem.objectives import signs_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fedsched.engine.sharing import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.search.problem.problem import SearchProblem
    from fedsched.search.run.run import Moment
    from fedsched.simulate import RunningJobs


BASELINES = "baselines"  # among what is `unverified`, where they were not simulated again


@dataclass(frozen=True, slots=True, eq=False)
class PlannedQueue:
    """A plan: queue order, caps and rules; or a policy by name; or, of a search in packages, the schedule itself."""

    order: NDArray[np.int64] | None = None
    caps: NDArray[np.int64] | None = None
    alternatives: NDArray[np.int64] | None = None  # which of its own each job has, where plans choose
    delays: NDArray[np.int64] | None = None  # by how many seconds each job is put off, where plans may
    dispatch: str = "greedy"
    placement: str = "fastest"
    policy: str = ""
    schedule: Schedule | None = None

    @property
    def rules(self) -> tuple[int, int]:
        """Return dispatch and placement as the rows of a search hold them."""
        return int(Dispatch[self.dispatch.upper()]), int(Placement[self.placement.upper()])

    def __str__(self) -> str:
        if self.schedule is not None:
            return "a plan of packages"
        return one_line(self.policy) or f"a plan ({self.dispatch} on {self.placement})"


@dataclass(frozen=True, slots=True)
class Settings(Read):
    """How the search read the problem, and what it was asked for: what a repetition needs."""

    submits: str = "now"
    reading: Reading = CLAIRVOYANT
    t0: float | None = None
    seconds: float | None = None
    evaluations: int | None = None
    target: float | None = None
    seeds: str = "structured"
    package: int = 0
    initial: int = 0  # plans that were given to begin with
    own_rules: bool = False  # stopping rules of the user's
    encoding: str = ""  # of the method's plans, where it is not the usual one
    deadline: float | None = None  # by which all jobs end
    sharing: NodeSharing | None = None  # None: a task has a node of its own


@dataclass(frozen=True, slots=True, eq=False)
class Front:
    """The plans that no other found plan beats on all objectives, by the first objective.

    They are chosen by what was known at the decision; their values are of what came.
    """

    objectives: tuple[str, ...]
    values: NDArray[np.float64]  # plans × objectives, in the metrics' own units and senses
    plans: tuple[PlannedQueue, ...]
    planned: NDArray[np.float64] | None = None  # what plans are chosen by, where that may be other values
    missing: tuple[int, ...] = ()  # of each plan, how many jobs have no end, or were cancelled; empty where none

    def __len__(self) -> int:
        return len(self.plans)

    @property
    def signs(self) -> NDArray[np.float64]:
        """Return −1 for each objective of which more is better, else 1."""
        return signs_of(self.objectives)

    def minimised(self) -> NDArray[np.float64]:
        """Return what plans are chosen by, with what is to be maximised turned round."""
        return (self.values if self.planned is None else self.planned) * self.signs

    def best_index(self, objective: str) -> int:
        """Return which plan is best by an objective."""
        if objective not in self.objectives:
            raise unknown_name("objective", objective, self.objectives)
        return int(np.argmin(self.minimised()[:, self.objectives.index(objective)]))

    def scaled(self) -> NDArray[np.float64]:
        """Return what plans are chosen by from 0, the front's best by an objective, to 1, its worst."""
        values = self.minimised()
        extent = np.ptp(values, axis=0)
        return (values - values.min(axis=0)) / np.where(extent > 0, extent, 1.0)

    def knee_index(self, among: NDArray[np.int64] | None = None) -> int:
        """Return which plan, among some, lies farthest from the plane between the ends, all objectives scaled alike."""
        scaled = self.scaled()
        return int(np.argmin((scaled if among is None else scaled[among]).sum(axis=1)))


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a policy gives on the same problem with the same knowledge."""

    policy: str
    values: tuple[float, ...]
    planned: tuple[float, ...] | None = None  # as far as was known at the decision, where that may be other values
    missing: int = 0  # jobs that have no end
    late: float = 0.0  # seconds after the deadline, where there is one


@dataclass(frozen=True, slots=True, eq=False)
class Result(ResultConvenience):
    """What a search found: the front and everything needed to judge it and to repeat it."""

    workload: Workload  # as planned: with submits="now" all jobs wait at t0
    federation: Federation
    settings: Settings
    method: str
    seed: int
    objectives: tuple[str, ...]
    weights: tuple[float, ...]
    front: Front
    baselines: tuple[Baseline, ...]
    lower_bounds: dict[str, float]  # by metric name; NaN: none is known
    bound_front: NDArray[np.float64]  # makespan and energy that no schedule is below, where these are the objectives
    energy_penalty: float  # LP-measured share of energy that the least makespan costs; NaN where not asked
    history: tuple[Moment, ...]
    evaluations: int
    seconds: float
    stop_reason: str
    versions: dict[str, str]
    packages: int = 0
    islands: int = 1
    running: RunningJobs | None = None  # what ran at t0 already
    left_out: tuple[str, ...] = ()  # baselines, and whether bounds, for which a budget in seconds had no time
    refused: dict[str, str] = field(default_factory=dict)  # policies that cannot place every job, each with the reason
    warm_up: float = 0.0  # seconds of compiling and loading before, which no budget counts
    unverified: tuple[str, ...] = ()  # what is as a file says, where the result is from one
    _packed: SearchProblem | None = field(default=None, init=False, repr=False)

    # ---- plans --------------------------------------------------------------------------------------------------

    def schedule(self, index: int) -> Schedule:
        """Return the schedule of one plan of the front."""
        plan = self.front.plans[index]
        if plan.schedule is not None:
            return plan.schedule
        if plan.order is None:
            return self.problem.truth.simulated(plan.policy)
        choices = self.problem.choices_of(plan.alternatives)
        row = self.problem.row(plan.order, plan.caps, plan.rules, choices, plan.delays)
        return self.problem.truth.schedule(row, policy=self.method)

    @property
    def problem(self) -> SearchProblem:
        """Return what was searched, packed; where the result is from a file, when it is first asked for."""
        packed = self._packed
        if packed is None:
            from fedsched.model.schedule.power_draw import Pricing
            from fedsched.search.problem.costs import told_by
            from fedsched.search.problem.objectives import Objectives
            from fedsched.search.problem.shared import problem_for

            told = told_by(self.objectives, Pricing(self.federation)) or ("energy",) * weigh_power(self.objectives)
            packed = problem_for(
                self.workload,
                self.federation,
                Objectives(told or ("makespan",)),  # others may be functions
                sharing=self.settings.sharing,
                submits="keep",  # the workload is as it was planned
                reading=self.settings.reading,
                t0=self.settings.t0,
                running=self.running,
                delays=self.workload.slack is not None,
                deadline=self.settings.deadline,
            )
            self.keep(packed)
        return packed

    def keep(self, problem: SearchProblem) -> Result:
        """Return itself, with what was searched: schedules of plans need not pack it again."""
        object.__setattr__(self, "_packed", problem)
        return self

    def best(self, objective: str | None = None) -> Schedule:
        """Return the schedule that is best by an objective, by default the first."""
        return self.schedule(self.front.best_index(objective or self.objectives[0]))

    def knee(self) -> Schedule:
        """Return the schedule of the front's knee: the balanced choice."""
        return self.schedule(self.front.knee_index())

    def choose(
        self,
        by: str | None = None,
        *,
        weights: Mapping[str, float] | None = None,
        within: Mapping[str, float | str] | None = None,
    ) -> Schedule:
        """Return the schedule of one plan of the front.

        Parameters
        ----------
        by
            "knee", the balanced plan (the default), or an objective: the best by it.
        weights
            In place of `by`: how much each objective counts, on the scale from the front's best to its worst.
        within
            Of which plans: those that keep each of these objectives to a limit, a number or what a baseline has:
            `result.choose("energy", within={"mean_wait": "easy+5%"})` is the least energy with a mean wait at most 5 %
            above EASY's.
        """
        from fedsched.optimize.result.choosing import chosen_index

        return self.schedule(chosen_index(self, by, weights, within))

    def value(self, objective: str | None = None) -> float:
        """Return the value of the plan that is best by an objective, by default the first."""
        name = objective or self.objectives[0]
        return float(self.front.values[self.front.best_index(name), self.objectives.index(name)])

    def bound(self, objective: str | None = None) -> float:
        """Return what no plan is below by an objective, by default the first; NaN where no bound says anything."""
        name = objective or self.objectives[0]
        known = self.lower_bounds.get(name, np.nan)
        return known if is_telling(name, known) else float("nan")

    def gap(self, objective: str | None = None) -> float:
        """Return value/bound − 1: by how much, at most, the best plan misses the optimum. NaN without a bound."""
        return self.value(objective) / self.bound(objective) - 1.0

    def gain(self, policy: str, objective: str | None = None) -> float:
        """Return by what share the best plan is better than a baseline: below its value, or above a maximised one.

        NaN where another number of jobs has an end.
        """
        name = objective or self.objectives[0]
        for baseline in self.baselines:
            if baseline.policy == policy:
                if self.front.missing and self.front.missing[self.front.best_index(name)] != baseline.missing:
                    return float("nan")
                theirs = baseline.values[self.objectives.index(name)]
                (sign,) = signs_of((name,))
                return float(sign * (1.0 - self.value(name) / theirs)) if theirs else 0.0
        raise unknown_name("baseline", policy, [baseline.policy for baseline in self.baselines])

    @property
    def searched_by(self) -> str:
        """Return the method's name, with the encoding of its plans where that is not the usual one."""
        return f"{self.method} ({self.settings.encoding})" if self.settings.encoding else self.method

    @property
    def mark(self) -> str:
        """Return what stands behind a baseline's name where its values are only what a file says."""
        return " (unverified)" if BASELINES in self.unverified else ""

    @property
    def unmodelled(self) -> tuple[str, ...]:
        """Return what the jobs' log holds and the model or the federation does not, a few words each."""
        if self.settings.sharing is not None:
            return unmodelled_when_shared(self.workload, self.federation)
        return unmodelled(self.workload, self.federation)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Return what is assumed of the machine, of what jobs send and of what plans know, a few words each."""
        return (*assumptions(self.federation, self.workload), *known_beforehand(self.federation, self.objectives))

    @property
    def foresight(self) -> str:
        """Return what plans did not know and what became of it, in a few words; nothing where they knew all."""
        t0 = float(self.settings.t0 or 0.0)
        return foresight(self.workload, self.federation, t0, self.objectives, packages=self.packages > 0)

    @property
    def reading(self) -> str:
        """Return in words under what plans and baselines were made: which jobs waited, and what was known."""
        said = in_words(self.settings.submits, self.settings.reading, "plans know")
        if self.settings.deadline is not None:
            said += f"; plans end within {duration(self.settings.deadline - float(self.settings.t0 or 0.0))}"
        if self.settings.sharing is not None:
            said += f"; {self.settings.sharing}"
        return said if self.workload.feedback is None else f"{said}; jobs that follow others are submitted after these"

