"""Entrants of a comparison: searches and policies by name, or any object with the same methods."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast, runtime_checkable

from fedsched.comparison.code import hash_of
from fedsched.comparison.instances import Instance
from fedsched.core.errors import InfeasibleError
from fedsched.core.plugins import METHODS as OF_METHODS
from fedsched.core.plugins import offered
from fedsched.core.text import counted
from fedsched.optimize import optimize
from fedsched.optimize.baselines import baseline_schedule, bound_on, bounds_of, measured
from fedsched.optimize.entry_point import SEEDS
from fedsched.optimize.searching import versions
from fedsched.policies import POLICIES, Rules, check_policy_name
from fedsched.policies.named import policy_release
from fedsched.search.methods.methods import ALIASES, METHODS, method_named
from fedsched.search.problem.objectives import Objectives, signs_of
from fedsched.search.problem.shared import problem_for
from fedsched.search.run.run import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.comparison.instances import Budget
    from fedsched.core.names import FirstPlans
    from fedsched.optimize.result import Result
    from fedsched.policies import Policy
    from fedsched.search.problem.problem import SearchProblem


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one run: the rows of a front in the instance's objectives, and proven bounds if known.

    Parameters
    ----------
    front
        Rows of values, one for each plan of the front.
    bounds
        A lower bound for each objective; None: not known.
    evaluations, seconds, stop_reason
        What the run took, and why it ended.
    versions
        The versions of the programs that were used.
    history
        A row (evaluations, seconds, value) for each improvement of the first objective's best value.

    Examples
    --------
    >>> from fedsched.compare import Outcome
    >>> Outcome(front=((3600.0, 5e8),), evaluations=100).front
    ((3600.0, 500000000.0),)
    """

    front: tuple[tuple[float, ...], ...]
    bounds: tuple[float | None, ...] = ()
    evaluations: int = 0
    seconds: float = 0.0
    stop_reason: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    history: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "history", tuple(tuple(float(value) for value in row) for row in self.history))
        object.__setattr__(self, "front", tuple(tuple(float(value) for value in row) for row in self.front))
        object.__setattr__(self, "bounds", tuple(_known(value) for value in self.bounds))
        # JSON takes Python's numbers, not numpy's.
        object.__setattr__(self, "evaluations", int(self.evaluations))
        object.__setattr__(self, "seconds", float(self.seconds))

    @classmethod
    def of_one(cls, figures: object, objectives: Sequence[str], *, seconds: float) -> Outcome:
        """Return the outcome of one simulation: the attributes of `figures` that have the objectives' names.

        Parameters
        ----------
        figures
            What was simulated: an object with the objectives as attributes.
        objectives
            The names of the objectives.
        seconds
            How long the simulation took.
        """
        row = tuple(float(getattr(figures, name)) for name in objectives)
        return cls((row,), evaluations=1, seconds=seconds, stop_reason="simulated", versions=versions())

    @classmethod
    def of(cls, result: Result) -> Outcome:
        """Return the outcome of a search's result."""
        _same_jobs(result.method, result.front.missing, result.problem.truth)
        return cls(
            front=result.front.values.tolist(),
            bounds=tuple(result.lower_bounds[name] for name in result.objectives),
            evaluations=result.evaluations,
            seconds=result.seconds,
            stop_reason=result.stop_reason,
            versions=result.versions,
            history=_improvements(result),
        )


def _improvements(result: Result) -> tuple[tuple[float, ...], ...]:
    rows: list[tuple[float, ...]] = []
    sign = signs_of(result.objectives[:1])[0]
    for moment in result.history:
        if not rows or moment.best[0] < rows[-1][2] * sign:
            rows.append((float(moment.evaluations), moment.seconds, float(moment.best[0] * sign)))
    return tuple(rows)


def _known(value: float | None) -> float | None:
    return None if value is None or value != value else float(value)


@runtime_checkable
class Entrant(Protocol):
    """A method that runs on an instance of its kind with a seed and a budget; an exception makes a failed run.

    An entrant that knows all submissions in advance, as searches do, sets `plans_ahead = True`: it is marked
    clairvoyant if jobs keep their submit times. An entrant that gives the same with every seed, as policies do, sets
    `deterministic = True`: it runs once. Of entrants with an equal `does`, only one runs.

    Examples
    --------
    >>> from fedsched.compare import Outcome
    >>> class Serial:
    ...     name = "serial"
    ...     def run(self, instance, seed, budget):
    ...         return Outcome(front=((float(instance.workload.runtime.sum()),),))
    >>> problem = fs.Instance("two", fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[60, 30]), 2)
    >>> fs.compare(problem, ["easy", Serial()], [0], fs.Budget(evaluations=10)).medians()
    {'two': {'easy': 60.0, 'serial': 90.0}}
    """

    @property
    def name(self) -> str:
        """Return its name in tables; runs in a file are found by it."""
        ...

    def run(self, instance: Any, seed: int, budget: Budget) -> Outcome:
        """Return the outcome of one run.

        Parameters
        ----------
        instance
            The problem.
        seed
            The seed of all random numbers of the run.
        budget
            The limits of the run.
        """
        ...


@dataclass(frozen=True, slots=True)
class SearchEntrant:
    """A search of `fedsched.search.METHODS`; `ga:random` is `ga` with `seeds="random"`."""

    name: str
    baselines: Sequence[str] | None = None
    plans_ahead: ClassVar[bool] = True
    runs_on: ClassVar[type] = Instance

    @property
    def does(self) -> object:
        """Return the search's steps and seeds: searches that share these are the same if objectives are named."""
        return method_named(self.method).maker, self.seeds

    @property
    def releases(self) -> tuple[str, ...]:
        """Return the names and versions of the packages that offer the search and baselines that fedsched has not."""
        return tuple(filter(None, (method_named(self.method).release, *map(policy_release, self.baselines or ()))))

    @property
    def method(self) -> str:
        """Return the search's name without its seeds."""
        return self.name.partition(":")[0]

    @property
    def seeds(self) -> FirstPlans:
        """Return the kind of initial plans."""
        return cast("FirstPlans", self.name.partition(":")[2].lower() or SEEDS[0])

    def run(self, instance: Instance, seed: int, budget: Budget) -> Outcome:
        """Return the front that `optimize` finds."""
        _check(self.name, "search", instance)
        result = optimize(
            instance.workload,
            instance.federation,
            objectives=instance.aims,
            method=self.method,
            seed=seed,
            seeds=self.seeds,
            evaluations=budget.evaluations,
            seconds=budget.seconds,
            baselines=self.baselines,
            submits=instance.submits,
            reading=instance.reading,
            sharing=instance.sharing,
            progress=False,  # the comparison's own is enough
        )
        if result.stop_reason == INTERRUPTED:
            raise KeyboardInterrupt
        return Outcome.of(result)


def _same_jobs(name: str, missing: Sequence[int], truth: SearchProblem) -> None:
    """Raise if a plan leaves another number of jobs without an end than first come, first served does [48].

    If jobs may be cancelled, nothing is checked: figures are then of the jobs that ran [44], as the instance's facts
    say.
    """
    if truth.workload.cancel_at is not None:
        return
    usual = truth.space.common.missed
    for jobs in missing:
        if jobs != usual:
            raise InfeasibleError(
                f"{name} leaves {counted(jobs, 'job')} without an end, first come, first served on any nodes {usual}: "
                "figures of other jobs cannot be compared; leave out the downtimes that never end or kill, and the "
                "jobs that miss their reservations."
            )


def _check(name: str, kind: str, instance: object) -> None:
    if not isinstance(instance, Instance):
        raise TypeError(
            f"{name} is a {kind} for jobs and clusters: it runs on an Instance; gangs are compared by presets of "
            "fedsched.gang.presets, markets by methods of fedsched.market."
        )


@dataclass(frozen=True, slots=True)
class PolicyEntrant:
    """A policy, by its name or as an object, simulated under the instance's reading."""

    name: str
    policy: Policy | None = None  # None: that of the name
    runs_on: ClassVar[type] = Instance
    deterministic: ClassVar[bool] = True

    @property
    def does(self) -> object:
        """Return the policy's rules without its name, so that equal policies are found; else the name."""
        if self.policy is not None:
            return self.name
        policy = POLICIES.get(self.name.lower())
        return repr(replace(policy, name="")) if isinstance(policy, Rules) else self.name.lower()

    @property
    def releases(self) -> tuple[str, ...]:
        """Return the name and version of the package that offers the policy; nothing for fedsched's own."""
        if self.policy is not None:
            return tuple(getattr(self.policy, "releases", ()))
        return tuple(filter(None, (policy_release(self.name),)))

    def run(self, instance: Instance, seed: int, budget: Budget) -> Outcome:
        """Return the values of the policy's one schedule."""
        name = self.name if self.policy is not None else self.name.lower()
        if self.policy is None:
            check_policy_name(name, kind="method or policy", also=(*METHODS, *ALIASES, *offered(OF_METHODS)))
        _check(name, "policy", instance)
        began = time.perf_counter()
        problem = _problem_of(instance)
        try:
            schedule = baseline_schedule(problem, self.policy or name)
        except InfeasibleError as error:
            raise InfeasibleError(
                f"Policy {name!r} cannot place every job of {instance.name!r}; leave one of them out. {error}"
            ) from error
        values = measured(problem, [schedule])
        seconds = time.perf_counter() - began
        _same_jobs(name, [problem.missed(schedule.finish)], problem)
        return Outcome(
            front=(values * problem.objectives.signs).tolist(),
            evaluations=1,
            seconds=seconds,
            stop_reason="policy",
            versions=versions(*self.releases),
        )


def bounds_on(instance: Instance) -> tuple[float | None, ...]:
    """Return a proven bound on each objective of an instance; None if nothing is proven."""
    problem = _problem_of(instance)
    bounds = bounds_of(problem)
    return tuple(_known(bound_on(bounds, name)) for name in problem.objectives.names)


def _problem_of(instance: Instance) -> SearchProblem:
    """Return the instance's problem with true values, as policies know nothing in advance."""
    return problem_for(
        instance.workload,
        instance.federation,
        Objectives.of(instance.aims),
        sharing=instance.sharing,
        submits=instance.submits,
        reading=instance.reading,
    ).truth


def policy_entrant(policy: Policy) -> PolicyEntrant:
    """Return a policy object as an entrant: named by its `name`, by its text, or else by its class."""
    name = getattr(policy, "name", "")
    if not (isinstance(name, str) and name):
        name = str(policy) if type(policy).__str__ is not object.__str__ else type(policy).__name__
    return PolicyEntrant(name, policy)


def code_of(entrant: Entrant) -> str:
    """Return a text by which to see that an entrant has changed; "" for methods of fedsched's own that are named.

    For names that another package offers it is the package's name and version. For an object of the user's it is a
    hash of the text of the class, and of attributes that are numbers, texts, arrays or tuples of these.
    """
    releases = [str(one) for one in getattr(entrant, "releases", ())]
    if isinstance(entrant, SearchEntrant) or type(entrant).__module__.startswith("fedsched."):
        entrant = getattr(entrant, "policy", None)  # type: ignore[assignment]
    return ", ".join([*releases, *([] if entrant is None else [hash_of(entrant)])])
