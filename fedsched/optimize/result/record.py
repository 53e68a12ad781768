"""Result: what a search found, with policies' baselines and lower bounds to compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.cost.charges import is_useful
from fedsched.core.errors import unknown_name
from fedsched.core.text import duration, one_line
from fedsched.engine.codes import Dispatch, Placement
from fedsched.model.foresight import depend_on_idle_power, foresight, perfect_forecasts
from fedsched.model.jobs.assumed import assumptions
from fedsched.model.jobs.unmodelled import unmodelled
from fedsched.model.reading import CLAIRVOYANT, Read, Reading, in_words
from fedsched.model.schedule.metrics import NAMES
from fedsched.model.schedule.node_use import unmodelled_when_shared
from fedsched.optimize.result.convenience import FrontConvenience, ResultConvenience
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


BASELINES = "baselines"  # listed in `unverified` if they were not simulated again


@dataclass(frozen=True, slots=True, eq=False)
class PlannedQueue:
    """A plan: queue order, caps and rules; or the name of a policy; or, from a search in packages, the whole schedule.

    Examples
    --------
    >>> plan = fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1).front.plans[0]
    >>> plan.order is not None or plan.policy != ""
    True
    """

    order: NDArray[np.int64] | None = None
    caps: NDArray[np.int64] | None = None
    alternatives: NDArray[np.int64] | None = None  # each job's chosen shape, if plans choose shapes
    delays: NDArray[np.int64] | None = None  # seconds by which each job is delayed, if plans may delay jobs
    dispatch: str = "greedy"
    placement: str = "fastest"
    policy: str = ""
    schedule: Schedule | None = None

    @property
    def rules(self) -> tuple[int, int]:
        """Return the numbers of the dispatch and placement rules, as in a search's rows."""
        return int(Dispatch[self.dispatch.upper()]), int(Placement[self.placement.upper()])

    def __str__(self) -> str:
        if self.schedule is not None:
            return "a plan of packages"
        return one_line(self.policy) or f"a plan ({self.dispatch} on {self.placement})"


@dataclass(frozen=True, slots=True)
class Settings(Read):
    """The arguments of a search and its reading of the problem, as needed to repeat the search.

    Examples
    --------
    >>> settings = fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1).settings
    >>> settings.evaluations, settings.submits
    (500, 'now')
    """

    submits: str = "now"
    reading: Reading = CLAIRVOYANT
    t0: float | None = None
    seconds: float | None = None
    evaluations: int | None = None
    target: float | None = None
    seeds: str = "structured"
    package: int = 0
    initial: int = 0  # number of plans to begin with
    own_rules: bool = False  # whether the user gave stopping rules
    encoding: str = ""  # of the method's plans, if not the default
    deadline: float | None = None  # the time by which all jobs end
    sharing: NodeSharing | None = None  # None: a task has a node of its own


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Front(FrontConvenience):
    """The plans of which none is dominated by another found plan, sorted by the first objective.

    They are chosen by what is known at t0; their `values` are what really came.

    Examples
    --------
    >>> front = fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1).front
    >>> front.objectives, len(front.plans) == len(front.values)
    (('makespan', 'energy'), True)
    """

    objectives: tuple[str, ...]
    values: NDArray[np.float64]  # plans × objectives, in the metrics' own units and senses
    plans: tuple[PlannedQueue, ...]
    planned: NDArray[np.float64] | None = None  # the values by which plans are chosen, if they differ
    missing: tuple[int, ...] = ()  # per plan, jobs without an end or cancelled; empty if there are none

    def __len__(self) -> int:
        return len(self.plans)

    @property
    def signs(self) -> NDArray[np.float64]:
        """Return one sign for each objective: −1 if it is maximised, else 1."""
        return signs_of(self.objectives)

    def minimised(self) -> NDArray[np.float64]:
        """Return the values by which plans are chosen (plans × objectives), negated for maximised objectives."""
        return (self.values if self.planned is None else self.planned) * self.signs

    def best_index(self, objective: str) -> int:
        """Return the index of the plan that is best by an objective; raise if the front lacks the objective."""
        if objective not in self.objectives:
            raise unknown_name("objective", objective, self.objectives)
        return int(np.argmin(self.minimised()[:, self.objectives.index(objective)]))

    def scaled(self) -> NDArray[np.float64]:
        """Return the values by which plans are chosen, scaled by objective: 0 is the front's best, 1 its worst."""
        values = self.minimised()
        extent = np.ptp(values, axis=0)
        return (values - values.min(axis=0)) / np.where(extent > 0, extent, 1.0)

    def knee_index(self, among: NDArray[np.int64] | None = None) -> int:
        """Return the index of the knee: the plan with the least sum of scaled objectives.

        With `among`, a list of plans, it is the index within that list.
        """
        scaled = self.scaled()
        return int(np.argmin((scaled if among is None else scaled[among]).sum(axis=1)))


@dataclass(frozen=True, slots=True)
class Baseline:
    """A policy's objective values on the same problem with the same knowledge, for comparison.

    Examples
    --------
    >>> result = fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1)
    >>> [baseline.policy for baseline in result.baselines][:2]
    ['fcfs', 'easy']
    """

    policy: str
    values: tuple[float, ...]
    planned: tuple[float, ...] | None = None  # by what was known at the decision, if they differ
    missing: int = 0  # jobs that have no end
    late: float = 0.0  # seconds after the deadline, if there is one


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Result(ResultConvenience):
    """The result of a search: the front, and everything needed to judge and to repeat it.

    Examples
    --------
    >>> result = fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1)
    >>> result.evaluations, result.objectives
    (500, ('makespan', 'energy'))
    >>> round(result.best("makespan").makespan) == round(result.value("makespan"))
    True
    """

    workload: Workload  # as planned: with submits="now" all jobs wait at t0
    federation: Federation
    settings: Settings
    method: str
    seed: int
    objectives: tuple[str, ...]
    weights: tuple[float, ...]
    front: Front
    baselines: tuple[Baseline, ...]
    lower_bounds: dict[str, float]  # by metric name; NaN: none is proven
    bound_front: NDArray[np.float64]  # lower bounds on makespan and energy together, if these are the objectives
    energy_penalty: float  # `LowerBounds.penalty`, an estimate; NaN if not computed
    history: tuple[Moment, ...]
    evaluations: int
    seconds: float
    stop_reason: str
    versions: dict[str, str]
    packages: int = 0
    islands: int = 1
    running: RunningJobs | None = None  # jobs that already ran at t0
    left_out: tuple[str, ...] = ()  # baselines and bounds for which there was no time, or no solver (extra `exact`)
    refused: dict[str, str] = field(default_factory=dict)  # policies that cannot place every job, each with the reason
    warm_up: float = 0.0  # seconds of compiling and loading, outside of any budget
    unverified: tuple[str, ...] = ()  # parts of a result from a file that were not checked
    _packed: SearchProblem | None = field(default=None, init=False, repr=False)

    # ---- plans --------------------------------------------------------------------------------------------------

    def schedule(self, index: int) -> Schedule:
        """Return the schedule of one plan of the front, simulated anew unless the search was in packages."""
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
        """Return the search problem of the result; it is packed at the first use, if it is not stored."""
        packed = self._packed
        if packed is None:
            from fedsched.model.schedule.power_draw import Pricing
            from fedsched.search.problem.objectives import Objectives, priced_by_signals
            from fedsched.search.problem.shared import problem_for

            told = priced_by_signals(
                self.objectives, Pricing(self.federation)
            ) or ("energy",) * depend_on_idle_power(self.objectives)
            packed = problem_for(
                self.workload,
                self.federation,
                Objectives(told or ("makespan",)),  # others may be functions
                sharing=self.settings.sharing,
                submits="keep",  # the workload is as planned
                reading=self.settings.reading,
                t0=self.settings.t0,
                running=self.running,
                delays=self.workload.slack is not None,
                deadline=self.settings.deadline,
            )
            self.keep(packed)
        return packed

    def keep(self, problem: SearchProblem) -> Result:
        """Store the packed problem, so that schedules of plans need not pack it again, and return the Result."""
        object.__setattr__(self, "_packed", problem)
        return self

    def best(self, objective: str | None = None) -> Schedule:
        """Return the schedule of the plan that is best by an objective, by default the first objective."""
        return self.schedule(self.front.best_index(objective or self.objectives[0]))

    def knee(self) -> Schedule:
        """Return the schedule of the front's knee: the plan with the least sum of scaled objectives."""
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
            "knee", the balanced plan (the default), or an objective: the best plan by it.
        weights
            In place of `by`: the weight of each objective, scaled from the front's best to its worst.
        within
            Limits on objectives that the plan must keep, as numbers or relative to a baseline's value:
            `result.choose("energy", within={"mean_wait": "easy+5%"})` is the least energy with a mean wait at most 5 %
            above EASY's.

        Examples
        --------
        >>> result = fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1)
        >>> result.choose("makespan").makespan <= result.choose("energy").makespan
        True
        """
        from fedsched.optimize.result.choosing import chosen_index

        return self.schedule(chosen_index(self, by, weights, within))

    def value(self, objective: str | None = None) -> float:
        """Return the value of the best plan by an objective, by default the first objective."""
        name = objective or self.objectives[0]
        return float(self.front.values[self.front.best_index(name), self.objectives.index(name)])

    def bound(self, objective: str | None = None) -> float:
        """Return the lower bound on an objective, by default the first; NaN if there is no useful one.

        The objective may be any metric: raise an UnknownNameError for other names.
        """
        name = objective or self.objectives[0]
        if name not in self.objectives and name not in NAMES:
            raise unknown_name("objective", name, {*self.objectives, *NAMES})
        known = self.lower_bounds.get(name, np.nan)
        return known if is_useful(name, known) else float("nan")

    def gap(self, objective: str | None = None) -> float:
        """Return value/bound − 1 of the best plan: the most by which it exceeds the optimum. NaN without a bound."""
        return self.value(objective) / self.bound(objective) - 1.0

    def gain(self, policy: str, objective: str | None = None) -> float:
        """Return the share by which the best plan improves on a baseline's value; negative if it is worse.

        NaN if the two have different numbers of jobs with an end; 0 if the baseline's value is 0.

        Parameters
        ----------
        policy
            The name of the baseline.
        objective
            The objective; None: the first.
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
        """Return the method's name, with the encoding of its plans if it is not the default."""
        return f"{self.method} ({self.settings.encoding})" if self.settings.encoding else self.method

    @property
    def mark(self) -> str:
        """Return " (unverified)" if the baselines' values were not checked, to follow their names; else ""."""
        return " (unverified)" if BASELINES in self.unverified else ""

    @property
    def unmodelled(self) -> tuple[str, ...]:
        """Return short texts: what the log contains and the model or the federation lacks."""
        if self.settings.sharing is not None:
            return unmodelled_when_shared(self.workload, self.federation)
        return unmodelled(self.workload, self.federation)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Return short texts: what is assumed of the machine, of jobs' communication and of what plans know."""
        return (*assumptions(self.federation, self.workload), *perfect_forecasts(self.federation, self.objectives))

    @property
    def foresight(self) -> str:
        """Return a short text: what plans did not know, and its consequence; empty if they knew everything."""
        t0 = float(self.settings.t0 or 0.0)
        return foresight(self.workload, self.federation, t0, self.objectives, packages=self.packages > 0)

    @property
    def reading(self) -> str:
        """Return the reading of the problem in words: which jobs waited, and what plans and baselines knew."""
        said = in_words(self.settings.submits, self.settings.reading, "plans know", self.workload)
        if self.settings.deadline is not None:
            said += f"; plans end within {duration(self.settings.deadline - float(self.settings.t0 or 0.0))}"
        if self.settings.sharing is not None:
            said += f"; {self.settings.sharing}"
        return said if self.workload.feedback is None else f"{said}; jobs that follow others are submitted after these"

