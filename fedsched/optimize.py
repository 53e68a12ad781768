"""optimize(): the composition root of a search."""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

import fedsched
from fedsched.bounds import lower_bounds
from fedsched.engine.codes import Dispatch, Placement
from fedsched.errors import InfeasibleError
from fedsched.federation import Federation
from fedsched.result import Baseline, Front, PlannedQueue, Result, Settings
from fedsched.schedule import Schedule
from fedsched.search.checkpoint import Checkpoint
from fedsched.search.driver import drive
from fedsched.search.genome import unpacked
from fedsched.search.methods import method_named
from fedsched.search.objectives import Objectives
from fedsched.search.problem import SearchProblem
from fedsched.search.run import Run
from fedsched.search.seeds import structured_seeds
from fedsched.search.stopping import MaxEvaluations, MaxSeconds, StoppingRule, Target
from fedsched.simulate import RunningJobs, simulate
from fedsched.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

    from fedsched.bounds import LowerBounds
    from fedsched.engine.arrays import Floats, Ints
    from fedsched.search.methods import MethodInfo

BASELINES = (
    "fcfs", "easy", "easy-sjbf", "conservative", "greedy", "sjf-greedy", "saf-easy", "laf-greedy", "ljf-greedy",
    "wfp3-easy", "jpr", "cbs",
)  # fmt: skip
WORK = 30_000_000  # the default budget: so many job placements, some ten seconds
MOST_SEEDS = 200
SEEDS = ("structured", "random")


@dataclass(frozen=True, slots=True)
class Search:
    """What stays the same from package to package: the method, its budget, and how the problem is read."""

    info: MethodInfo
    objectives: Objectives
    settings: Settings
    seed: int
    stop: tuple[StoppingRule, ...]
    seeds: str
    threads: int
    callback: Callable[[Run], None] | None
    baselines: tuple[str, ...]


def optimize(
    workload: Workload,
    cluster: Federation,
    *,
    objectives: str | Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
    method: str = "auto",
    seconds: float | None = None,
    evaluations: int | None = None,
    target: float | None = None,
    stop: StoppingRule | Iterable[StoppingRule] = (),
    seed: int = 0,
    seeds: str = "structured",
    initial: Iterable[object] = (),
    callback: Callable[[Run], None] | None = None,
    threads: int = 1,
    package: int | None = None,
    submits: str = "now",
    knowledge: str = "runtime",
    saturation: str = "dynamic",
    kill_at_estimate: bool = False,
    t0: float | None = None,
    running: RunningJobs | None = None,
    baselines: Sequence[str] = BASELINES,
    checkpoint: str | PathLike[str] | None = None,
) -> Result:
    """Return the best plans that a search finds for a package of jobs on a federation.

    Parameters
    ----------
    workload, cluster
        The jobs, and what they run on.
    objectives
        Names of metric columns, minimised; by default what the method is after: makespan and energy for "auto".
    weights
        For methods that need one value: the weight of each objective, relative to FCFS's value.
    method
        A name of `fedsched.search.METHODS`; "auto" is "memetic".
    seconds, evaluations
        The budget; by default 30,000,000/jobs evaluations. Same seed and evaluations, same result, on any number of
        threads; a budget in seconds cannot promise that.
    target
        Stop when the first objective is as good.
    stop
        More stopping rules: anything that, called with the run, returns a reason or None.
    seed
        What all random numbers follow from.
    seeds
        "structured": begin with what queue orders, placements and simple blacklists give. "random": with chance.
    initial
        Plans to begin with: schedules, former Results, or pairs of order and caps.
    callback
        Called with the `Run` after each step.
    threads
        How many threads evaluate.
    package
        Cut the workload into successive packages of so many jobs in arrival order, each searched from the state that
        the plan before it leaves. Needs one objective.
    submits
        "now": all jobs wait already. "keep": submit times stay, and the plan knows them: it is clairvoyant.
    knowledge
        "runtime": plans see true run times, as do the baselines. "estimate": what users asked for.
    saturation, kill_at_estimate, t0, running
        As in `simulate`; running jobs go with submits="keep".
    baselines
        Policies to compare with; they enter the front with their own values.
    checkpoint
        A file where the search saves itself every ten seconds, and from which it goes on when called again.

    Notes
    -----
    Ctrl-C ends a search early with the best found so far.
    """
    info = method_named(method)
    rules = _rules(stop, seconds=seconds, evaluations=evaluations, target=target, jobs=package or len(workload))
    if seeds not in SEEDS:
        from fedsched.errors import unknown_name

        raise unknown_name("seeds", seeds, SEEDS)
    search = Search(
        info=info,
        objectives=Objectives.of(info.objectives if objectives is None else objectives, weights),
        settings=Settings(submits, knowledge, saturation, kill_at_estimate, t0),
        seed=seed,
        stop=rules,
        seeds=seeds,
        threads=threads,
        callback=callback,
        baselines=tuple(baselines),
    )
    if package is not None:
        from fedsched.packages import optimize_in_packages

        return optimize_in_packages(search, workload, cluster, package)
    return search_once(search, workload, cluster, initial=initial, running=running, checkpoint=checkpoint)


def search_once(
    search: Search,
    workload: Workload,
    cluster: Federation,
    *,
    initial: Iterable[object] = (),
    running: RunningJobs | None = None,
    checkpoint: str | PathLike[str] | None = None,
) -> Result:
    """Return what one search over the whole workload finds."""
    settings = search.settings
    problem = SearchProblem(
        workload,
        cluster,
        search.objectives,
        submits=settings.submits,
        knowledge=settings.knowledge,
        saturation=settings.saturation,
        kill_at_estimate=settings.kill_at_estimate,
        t0=settings.t0,
        running=running,
        threads=search.threads,
    )
    names, values = baseline_values(problem, search.baselines)
    bounds = bounds_of(problem)
    run = Run(
        problem=problem,
        seed=search.seed,
        stop=search.stop,
        reference=_reference(problem, names, values),
        seeds=_first_plans(problem, search.seeds, initial),
        bounds=np.array([bounds.of(name) for name in search.objectives.names]) * search.objectives.signs,
        callback=search.callback,
    )
    _warm_up(search)
    run.archive.add(values, policies=names)
    saved = Checkpoint(checkpoint, problem, search.info.name, search.seed)
    method = saved.resume(run) or search.info.make(run)
    run.begin_clock()
    reason = drive(run, method, after_step=saved.save_sometimes)
    return result_of(run, search, reason, bounds, names, values)


# ---- before the search ----------------------------------------------------------------------------------------------


def _rules(
    stop: StoppingRule | Iterable[StoppingRule],
    *,
    seconds: float | None,
    evaluations: int | None,
    target: float | None,
    jobs: int,
) -> tuple[StoppingRule, ...]:
    given = [stop] if isinstance(stop, StoppingRule) else list(stop)
    for rule in given:
        if not isinstance(rule, StoppingRule):
            raise TypeError(f"stop={rule!r} must be callable with the run and return a reason or None.")
    rules: list[StoppingRule] = list(given)
    if evaluations is not None:
        rules.append(MaxEvaluations(evaluations))
    if seconds is not None:
        rules.append(MaxSeconds(seconds))
    if target is not None:
        rules.append(Target(target))
    if evaluations is None and seconds is None and not given:
        rules.append(MaxEvaluations(max(1000, WORK // max(jobs, 1))))
    return tuple(rules)


def baseline_values(problem: SearchProblem, policies: Sequence[str]) -> tuple[list[str], Floats]:
    """Return the policies that can place every job, and their objective values with the search's own knowledge."""
    names, values = [], []
    for policy in policies:
        try:
            schedule = simulate(
                problem.workload,
                problem.federation,
                policy,
                saturation=problem.saturation,
                knowledge=problem.knowledge,
                kill_at_estimate=problem.kill_at_estimate,
                t0=problem.problem.t0,
                running=problem.running,
            )
        except InfeasibleError:
            continue  # this policy's placement cannot hold some job; others can, or packing had failed
        metrics = schedule.metrics(users=False).as_dict()
        names.append(policy)
        values.append([metrics[name] for name in problem.objectives.names])
    shape = (len(names), len(problem.objectives.names))
    return names, np.array(values).reshape(shape) * problem.objectives.signs


def _reference(problem: SearchProblem, names: Sequence[str], values: Floats) -> Floats:
    # FCFS on the default placement; where an objective is 0 there, 1 keeps the division harmless.
    if "fcfs" in names:
        reference = values[list(names).index("fcfs")]
    else:
        order = np.argsort(problem.problem.arrival_rank, kind="stable")
        reference = problem.values(problem.row(order)[None])[0]
    return np.where(reference == 0.0, 1.0, reference)


def _first_plans(problem: SearchProblem, seeds: str, initial: Iterable[object]) -> Ints:
    own = [row for plan in initial for row in _rows_of(problem, plan)]
    structured = structured_seeds(problem, limit=MOST_SEEDS) if seeds == "structured" else None
    parts = [np.array(own, dtype=np.int64).reshape(len(own), problem.layout.length)]
    if structured is not None:
        parts.append(structured)
    return np.concatenate(parts)


def _rows_of(problem: SearchProblem, plan: object) -> list[Ints]:
    """Return what a user's plan is as rows."""
    if isinstance(plan, Result):
        return [row for one in plan.front.plans for row in _rows_of(problem, one)]
    if isinstance(plan, PlannedQueue):
        if plan.schedule is not None:
            return _rows_of(problem, plan.schedule)
        if plan.order is None:
            return []  # a policy: the baselines hold it already
        rules = (int(Dispatch[plan.dispatch.upper()]), int(Placement[plan.placement.upper()]))
        return [problem.row(plan.order, plan.caps, rules)]
    if isinstance(plan, Schedule):
        if len(plan) != problem.layout.jobs or not plan.complete:
            raise ValueError(f"initial: the schedule must start all of the {problem.layout.jobs} jobs.")
        return [problem.row(np.argsort(plan.start, kind="stable"), plan.counts)]
    if isinstance(plan, tuple) and len(plan) == 2:
        return [problem.row(plan[0], plan[1])]
    raise TypeError(f"initial: {type(plan).__name__} is no plan; give schedules, Results, or pairs (order, caps).")


def bounds_of(problem: SearchProblem) -> LowerBounds:
    """Return what no schedule of the problem can be below."""
    return lower_bounds(
        problem.workload,
        problem.federation,
        t0=problem.problem.t0,
        knowledge="runtime",  # what is true of the jobs, whatever the plan knows
        kill_at_estimate=problem.kill_at_estimate,
    )


def _warm_up(search: Search) -> None:
    """Compile and import what the method needs, on three jobs, before any clock runs."""
    workload = Workload(submit=[0.0, 0.0, 0.0], tasks=[1, 2, 3], runtime=[1.0, 2.0, 3.0])
    machine = Federation.of(2, 2)
    problem = SearchProblem(workload, machine, search.objectives)
    reference = np.ones(len(search.objectives.names))
    run = Run(problem, 0, [MaxEvaluations(400)], reference, structured_seeds(problem, limit=2), 0.0 * reference)
    drive(run, search.info.make(run))


# ---- after it -------------------------------------------------------------------------------------------------------


def result_of(
    run: Run, search: Search, reason: str, bounds: LowerBounds, names: Sequence[str], values: Floats
) -> Result:
    """Return what a run found."""
    problem = run.problem
    signs = problem.objectives.signs
    order = np.argsort(run.archive.values[:, 0], kind="stable")
    both = set(problem.objectives.names) >= {"makespan", "energy"}
    return Result(
        workload=problem.workload,
        federation=problem.federation,
        settings=replace(search.settings, t0=problem.problem.t0),
        method=search.info.name,
        seed=search.seed,
        objectives=problem.objectives.names,
        weights=problem.objectives.weights,
        front=Front(
            problem.objectives.names,
            run.archive.values[order] * signs,
            tuple(_plan(run, run.archive.entries[k].row, run.archive.entries[k].policy) for k in order.tolist()),
        ),
        baselines=tuple(Baseline(name, tuple((row * signs).tolist())) for name, row in zip(names, values, strict=True)),
        lower_bounds={name: bounds.of(name) for name in problem.objectives.names},
        bound_front=bounds.front() if both else np.zeros((0, 2)),
        energy_penalty=bounds.penalty if both else float("nan"),
        history=tuple(run.history),
        evaluations=run.evaluations,
        seconds=run.seconds,
        stop_reason=reason,
        versions=versions(),
        running=problem.running,
    )


def _plan(run: Run, row: Ints | None, policy: str) -> PlannedQueue:
    if row is None:
        return PlannedQueue(policy=policy)
    order, caps, dispatch, placement = unpacked(run.problem.layout, row)
    return PlannedQueue(
        order=order,
        caps=caps,
        dispatch=Dispatch(dispatch).name.lower(),
        placement=Placement(placement).name.lower(),
    )


def versions() -> dict[str, str]:
    """Return the versions that a repetition needs."""
    import numba

    return {
        "fedsched": fedsched.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }
