"""Checks of a saved result: plans and baselines are simulated again; parts that cannot be checked are named."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import FedschedError
from fedsched.engine.run.simulation import have_other_sizes
from fedsched.model.schedule.metrics import NAMES, Column
from fedsched.optimize.result.record import BASELINES, Baseline
from fedsched.policies import is_policy
from fedsched.search.problem.objectives import lateness, signs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.optimize.result.record import PlannedQueue, Result
    from fedsched.search.problem.problem import SearchProblem
    from fedsched.simulate import RunningJobs

FEW = 5000  # up to this number of jobs, simulating the baselines takes a moment
ROUNDING = 1e-9  # relative difference that another machine may make


class DeniedError(FedschedError):
    """The error about a saved result that states values which its own jobs and plans do not have."""


def verified(result: Result, *, baselines: bool | None = None) -> tuple[str, ...]:
    """Return the names of the parts of a saved result that are not checked; raise DeniedError if another part is wrong.

    Plans and baselines are simulated again, and schedules of packages verified. Their values are compared with the
    stated ones and with the bounds. By default baselines of more than 5000 jobs are not checked: a policy may take
    a minute for them.
    """
    if baselines is None:
        baselines = len(result.workload) <= FEW
    if result.running is not None:
        check_running(result.running, result.workload, result.federation, shared=result.settings.sharing is not None)
    try:
        problem = result.problem
    except ValueError as error:
        raise DeniedError(f"its jobs cannot be planned: {error}") from error
    for claim in (*_plans(result, problem), *_came(result, problem), *_baselines(result, problem, made=baselines)):
        check(claim, result.objectives)
    _check_front(result)
    _check_bounds(result)
    functions = [f"the values of {name!r}" for name in result.objectives if name not in NAMES]
    left = (BASELINES,) if result.baselines and not baselines else ()
    return (*functions, *left, "bounds", "history", "what the search took")


class Claim(NamedTuple):
    """A plan's or baseline's values as a file states them, and the metric row that it really has."""

    what: str
    given: Sequence[float]
    made: Floats


def check(claim: Claim, objectives: Sequence[str]) -> None:
    """Raise DeniedError if a stated value differs from the real one by more than rounding.

    Values of a user's functions are not compared.
    """
    for name, given in zip(objectives, claim.given, strict=True):
        now = claim.made[NAMES.index(name)] if name in NAMES else given
        if not np.isclose(given, now, rtol=ROUNDING, atol=ROUNDING, equal_nan=True):
            raise DeniedError(f"{claim.what} is said to have {name}={given:.9g}, but it gives {now:.9g}")


def claim_of(baseline: Baseline, schedule: Schedule) -> Claim:
    """Return a Claim with a baseline's stated values and the metrics of its schedule."""
    return Claim(f"the baseline {baseline.policy!r}", baseline.values, _row(schedule))


def _plans(result: Result, problem: SearchProblem) -> Iterator[Claim]:
    rows, places, values = [], [], (result.front.minimised() * result.front.signs).tolist()
    for place, plan in enumerate(result.front.plans):
        if plan.schedule is not None:
            yield Claim(_named(place), values[place], _of_schedule(plan, place))
        elif plan.order is None:
            yield Claim(_named(place), values[place], _ranked(_by(plan.policy, problem), problem))
        else:
            rows.append(_row_of(plan, problem, place))
            places.append(place)
    if rows:
        for place, made in zip(places, problem.metrics(np.array(rows)), strict=True):
            if made[Column.MAKESPAN] > problem.objectives.latest:
                raise DeniedError(f"{_named(place)} ends after the deadline")
            yield Claim(_named(place), values[place], made)


def _came(result: Result, problem: SearchProblem) -> Iterator[Claim]:
    # What came of plans that were chosen by what was known; a schedule of packages is already what came.
    front, apart = result.front, problem.scores_differ and not result.packages
    if (front.planned is not None) != apart or len(front.missing) != (len(front) if apart else len(front.missing)):
        raise DeniedError("its plans lack the values by which they were chosen, or those that came of them")
    for place, missing in enumerate(front.missing):
        schedule = result.schedule(place)
        _check_missing(_named(place), missing, schedule, problem.truth)
        yield Claim(_named(place), front.values[place].tolist(), _row(schedule))


def _check_missing(what: str, given: int, schedule: Schedule, problem: SearchProblem) -> None:
    if given != (missing := problem.missed(schedule.finish)):
        raise DeniedError(f"{what} is said to leave {given} jobs without an end, but leaves {missing}")


def _baselines(result: Result, problem: SearchProblem, *, made: bool) -> Iterator[Claim]:
    for baseline in result.baselines:
        if len(baseline.values) != len(result.objectives):
            raise DeniedError(f"the baseline {baseline.policy!r} has values for other objectives")
        if (baseline.planned is not None) != problem.scores_differ:
            raise DeniedError(f"the baseline {baseline.policy!r} does not say what was known and what came")
        if not made:
            continue
        schedule = _by(baseline.policy, problem.truth)
        _check_missing(f"the baseline {baseline.policy!r}", baseline.missing, schedule, problem.truth)
        late = float(lateness(np.nan_to_num(schedule.makespan), problem.objectives.latest))
        if not np.isclose(late, baseline.late, rtol=ROUNDING, atol=1e-6):
            raise DeniedError(f"the baseline {baseline.policy!r} ends {late:g} s late, not {baseline.late:g} s")
        yield claim_of(baseline, schedule)
        if baseline.planned is not None:
            planned = _ranked(_by(baseline.policy, problem), problem)
            yield Claim(f"the baseline {baseline.policy!r} as planned", baseline.planned, planned)


def _named(place: int) -> str:
    return f"plan {place + 1} of the front"


def _row_of(plan: PlannedQueue, problem: SearchProblem, place: int) -> Ints:
    layout, limits = problem.layout, problem.space.limits
    rules = np.array([plan.rules])
    caps = limits if plan.caps is None else plan.caps
    if plan.order is None or plan.order.shape != (layout.jobs,) or caps.shape != limits.shape:
        raise DeniedError(f"{_named(place)} has an order or caps of other jobs or nodes")
    choices = problem.choices_of(plan.alternatives)
    delays = np.zeros(layout.jobs, dtype=np.int64) if plan.delays is None else plan.delays
    if delays.shape != (layout.jobs,) or (plan.delays is not None and not layout.delayed):
        raise DeniedError(f"{_named(place)} puts off jobs, but not these by their slack")
    row = layout.pack(plan.order[None], caps[None], rules, None if choices is None else choices[None], delays[None])
    if not problem.holds(row):
        raise DeniedError(f"{_named(place)} does not fit these jobs: its order, caps or rules are impossible")
    return row[0]


def _by(policy: str, problem: SearchProblem) -> Schedule:
    if not is_policy(policy):
        raise DeniedError(f"there is no policy {policy!r}")
    return problem.simulated(policy)


def _row(schedule: Schedule) -> Floats:
    return np.array(tuple(schedule.metrics(users=False).as_dict().values()))


def _ranked(schedule: Schedule, problem: SearchProblem) -> Floats:
    return problem.ranked(_row(schedule), schedule.finish)


def _of_schedule(plan: PlannedQueue, place: int) -> Floats:
    """Return the metric row of a plan's schedule after verifying the schedule; only its started jobs are verified.

    Raise DeniedError if the plan has no schedule or the schedule breaks the model.
    """
    schedule = plan.schedule
    if schedule is None:
        raise DeniedError(f"{_named(place)} has no schedule")
    begun = ~np.isnan(schedule.start)
    wrong = (schedule if begun.all() else schedule.take(begun)).violations() if begun.any() else []
    if wrong:
        raise DeniedError(f"{_named(place)} breaks the model: {wrong[0].rstrip('.')}")
    return _row(schedule)


def _check_front(result: Result) -> None:
    values = result.front.minimised()
    if len(values) != len(result.front.plans):
        raise DeniedError(f"the front has {len(values)} rows of values for {len(result.front.plans)} plans")
    if (np.diff(values[:, 0]) < 0).any():
        raise DeniedError("the front is not in the order of its first objective")
    for place, row in enumerate(values):
        if ((values <= row).all(axis=1) & (values < row).any(axis=1)).any():
            raise DeniedError(f"{_named(place)} is beaten by another plan, so it does not belong to the front")


def _check_bounds(result: Result) -> None:
    for name, sign in zip(result.objectives, signs_of(result.objectives), strict=True):
        bound = result.lower_bounds.get(name, np.nan)
        if sign > 0 and len(result.front) and bound > result.value(name) + ROUNDING * abs(bound):
            raise DeniedError(f"no schedule is said to have {name} below {bound:.9g}, but one of its plans has")


def check_running(
    running: RunningJobs, workload: Workload, federation: Federation, *, shared: bool = False
) -> None:
    """Raise DeniedError unless these are jobs that can run on the federation at the same time.

    If they share nodes (`shared`), what they hold there is checked as the problem is packed.

    Kernels do not check array bounds, so a damaged file must not reach them.
    """
    rows, counts = running.rows, running.counts
    sizes = np.array([group.count for group in federation.groups])
    fitting = (
        rows.ndim == 1
        and counts.shape == (rows.size, sizes.size)
        and all(column.shape == rows.shape for column in (running.start, running.finish, *_rates(running)))
        and ((rows >= 0) & (rows < len(workload))).all()
        and np.unique(rows).size == rows.size
        and (counts >= 0).all()
        and shared == (running.held is not None)
        and (shared or (counts.sum(axis=0) <= sizes).all())
        and not have_other_sizes(counts, workload.take(rows), federation, shared=shared).size
        and np.isfinite(running.time)
        and (running.start <= running.time).all()
        and (running.finish >= running.time).all()
        and all(np.isfinite(column).all() for column in (running.finish, *_rates(running)))
        and (running.tc > 0).all()
    )
    if not fitting:
        raise DeniedError("its running jobs are not jobs of its workload on nodes of its federation at one time")


def _rates(running: RunningJobs) -> tuple[Floats, ...]:
    return running.planned_end, running.tc, running.work_left, running.estimate_left, running.since
