"""optimize(): the composition root of a search."""

from __future__ import annotations

import platform
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

import fedsched
from fedsched.baselines import bound_on, first_plans, reference_of, usual_baselines, yardsticks
from fedsched.compilation import compiling
from fedsched.engine.codes import Dispatch, Placement
from fedsched.federation import Federation
from fedsched.metrics import NAMES
from fedsched.progress import watched
from fedsched.result import Baseline, Front, PlannedQueue, Result, Settings
from fedsched.search.checkpoint import Checkpoint
from fedsched.search.clock import Clock
from fedsched.search.driver import INTERRUPTED, drive
from fedsched.search.genome import unpacked
from fedsched.search.islands import Archipelago
from fedsched.search.methods import method_named
from fedsched.search.objectives import Objectives
from fedsched.search.problem import SearchProblem
from fedsched.search.run import Run
from fedsched.search.seeds import structured_seeds
from fedsched.search.stopping import MaxEvaluations, MaxSeconds, StoppingRule, Target
from fedsched.values import seed_of, whole
from fedsched.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Executor
    from os import PathLike

    from fedsched.baselines import Yardsticks
    from fedsched.engine.arrays import Floats, Ints
    from fedsched.search.methods import Method, MethodInfo
    from fedsched.search.objectives import Cost
    from fedsched.simulate import RunningJobs

WORK = 30_000_000  # the default budget: so many job placements, some ten seconds
SEEDS = ("structured", "random")
ISLANDS = 4  # with an executor, when the user says nothing: the same number everywhere, so that results are


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
    islands: int
    executor: Executor | None
    say: Callable[[str], None] = lambda doing: None  # what is being done, before the search

    @property
    def alone(self) -> bool:
        """Return whether it is one search, here; else islands live on an executor, were it a single one."""
        return self.islands == 1 and self.executor is None


def optimize(
    workload: Workload,
    cluster: Federation,
    *,
    objectives: str | Cost | Sequence[str | Cost] | None = None,
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
    islands: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    package: int | None = None,
    submits: str = "now",
    knowledge: str = "runtime",
    saturation: str = "dynamic",
    kill_at_estimate: bool = False,
    t0: float | None = None,
    running: RunningJobs | None = None,
    baselines: Sequence[str] | None = None,
    checkpoint: str | PathLike[str] | None = None,
) -> Result:
    """Return the best plans that a search finds for a package of jobs on a federation.

    Parameters
    ----------
    workload, cluster
        The jobs, and what they run on.
    objectives
        What to minimise: names of metric columns, or functions that get all of them by name, one array a metric, and
        return one finite value a plan. By default what the method is after: makespan and energy for "auto".
    weights
        For methods that need one value: the weight of each objective, relative to FCFS's value.
    method
        A name of `fedsched.search.METHODS`; "auto" is "memetic", or "moga" or "ga" where an objective is a function.
    seconds, evaluations
        The budget; by default 30,000,000/jobs evaluations. Same seed and evaluations, same result, on any number of
        threads; a budget in seconds cannot promise that. Seconds count from the call on, compiling and loading apart:
        FCFS and EASY run first, and baselines that would take too long are left out and named in the result.
    target
        Stop when the first objective is as good.
    stop
        More stopping rules: anything that, called with the run, returns a reason or None.
    seed
        What all random numbers follow from.
    seeds
        "structured": begin with what the baselines, queue orders, placements and simple blacklists give. "random": with
        chance.
    initial
        Plans to begin with: schedules, former Results, or pairs of order and caps; not with `package`.
    callback
        Called with the `Run` after each step.
    threads
        How many threads evaluate.
    islands
        How many searches go on side by side, sharing the budget of evaluations and sending each other their best plans;
        by default one, or four with an executor.
    executor
        Where the islands live: any `concurrent.futures.Executor` of threads, processes or other machines. By default so
        many threads. The result is the same on every executor.
    progress
        Whether to show a line of progress on stderr; by default, where someone is watching: in an interactive session.
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
        Policies to compare with; they enter the front with their own values. By default the usual ones; above 1000 jobs
        without conservative and the list heuristics, which would take longer than the search.
    checkpoint
        A file where the search saves itself every ten seconds and after each package, and from which it goes on when
        called again.

    Notes
    -----
    Ctrl-C ends a search early with the best found so far. So does an executor that fails, with a warning that says
    which island it lost.
    """
    aims = None if objectives is None else Objectives.of(objectives, weights)
    if method == "auto" and aims is not None and aims.functions:
        method = "moga" if len(aims.names) > 1 else "ga"
    info = method_named(method)
    rules = _rules(stop, seconds=seconds, evaluations=evaluations, target=target, jobs=package or len(workload))
    seed = seed_of("optimize", seed)
    for field, value in (("islands", islands), ("package", package)):
        if value is not None:
            whole("optimize", field, value, least=1)
    islands = islands or (1 if executor is None else ISLANDS)
    least = min((rule.evaluations for rule in rules if isinstance(rule, MaxEvaluations)), default=islands)
    if least < islands:
        raise ValueError(
            f"evaluations={least} are too few for islands={islands}, which need one each; "
            f"give {islands} evaluations or more, or {least} islands or fewer."
        )
    if seeds not in SEEDS:
        from fedsched.errors import unknown_name

        raise unknown_name("seeds", seeds, SEEDS)
    initial = tuple(initial)
    if initial and package is not None:
        raise ValueError(f"initial: plans of all jobs cannot begin packages of {package}; give one or the other.")
    settings = Settings(
        submits, knowledge, saturation, kill_at_estimate, t0, seconds, evaluations, target, seeds, package or 0,
        initial=len(initial), own_rules=stop != (),
    )  # fmt: skip
    search = Search(
        info=info,
        objectives=Objectives.of(info.objectives, weights) if aims is None else aims,
        settings=settings,
        seed=seed,
        stop=rules,
        seeds=seeds,
        threads=threads,
        callback=callback,
        baselines=usual_baselines(len(workload)) if baselines is None else tuple(baselines),
        islands=islands,
        executor=executor,
    )
    with compiling() as compiled, watched(callback, seconds, show=progress) as line:
        search = replace(search, callback=line.callback, say=line.say)
        clock = Clock(seconds, compiled)
        line.say("loading")
        with clock.warming_up():
            tiny_problem(search)
        problem = problem_of(search, workload, cluster, running=running)
        how = info.name if search.alone else f"{info.name} × {islands}"
        saved = Checkpoint(checkpoint, problem, f"{how}, package={package}", seed, islands=islands)
        with clock.warming_up():
            warm_up(search)
        if package is None:
            return search_once(search, problem, saved, clock, initial=initial)
        from fedsched.packages import optimize_in_packages

        return optimize_in_packages(search, problem, package, saved, clock)


def search_once(
    search: Search, problem: SearchProblem, saved: Checkpoint, clock: Clock, *, initial: Iterable[object] = ()
) -> Result:
    """Return what one search over the whole problem finds, from where it was saved."""
    measures = yardsticks(problem, search.baselines, clock, search.say)
    search.say("first plans")
    bounds = [bound_on(measures.bounds, name) for name in search.objectives.names]
    run = Run(
        problem=problem,
        seed=search.seed,
        stop=search.stop,
        reference=reference_of(problem, measures.names, measures.values),
        seeds=first_plans(problem, search.seeds, initial, measures.schedules.values(), clock),
        bounds=np.array(bounds) * search.objectives.signs,
        callback=search.callback,
    )
    run.archive.add(measures.values, policies=measures.names)
    reason = INTERRUPTED
    with suppress(KeyboardInterrupt), _living_on(search) as executor:  # from here on Ctrl-C costs nothing found
        method = _method(run, search)
        saved.resume(run, method)
        if isinstance(method, Archipelago):
            method.executor = executor
        if clock.seconds is None:
            run.begin_clock()
        else:
            run.begin_clock(clock.elapsed)
            run.cut_at = clock.seconds
        reason = drive(run, method, after_step=saved.save_sometimes)
    return undisturbed(lambda: result_of(run, search, reason, measures, clock))


def undisturbed(make: Callable[[], Result]) -> Result:
    """Return what a short function makes, as if interrupted by the search's end where Ctrl-C strikes within it."""
    try:
        return make()
    except KeyboardInterrupt:
        return replace(make(), stop_reason=INTERRUPTED)


def _method(run: Run, search: Search) -> Method:
    return search.info.make(run) if search.alone else Archipelago(run, search.info, search.islands)


@contextmanager
def _living_on(search: Search) -> Iterator[Executor | None]:
    # The user's executor, or threads of our own where islands need some.
    if search.executor is not None or search.islands == 1:
        yield search.executor
    else:
        with ThreadPoolExecutor(search.threads) as threads:
            yield threads


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


def problem_of(
    search: Search, workload: Workload, cluster: Federation, *, running: RunningJobs | None = None
) -> SearchProblem:
    """Return the workload on the federation, as the search's settings have it read."""
    settings = search.settings
    return SearchProblem(
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


def tiny_problem(search: Search) -> SearchProblem:
    """Return three jobs on four nodes; making it loads what every problem needs."""
    workload = Workload(submit=[0.0, 0.0, 0.0], tasks=[1, 2, 3], runtime=[1.0, 2.0, 3.0])
    wanted = len(search.objectives.names)  # so many metrics stand for the user's functions, which are not to see this
    objectives = Objectives(NAMES[:wanted]) if search.objectives.functions else search.objectives
    return SearchProblem(workload, Federation.of(2, 2), objectives)


def warm_up(search: Search) -> None:
    """Compile and import what the method needs, on three jobs: no clock is to count it."""
    problem = tiny_problem(search)
    if search.settings.seconds is not None:
        yardsticks(problem, ("fcfs",), Clock(None))
    reference = np.ones(len(search.objectives.names))
    run = Run(problem, 0, [MaxEvaluations(400)], reference, structured_seeds(problem, limit=2), 0.0 * reference)
    drive(run, search.info.make(run))


# ---- after it -------------------------------------------------------------------------------------------------------


def result_of(run: Run, search: Search, reason: str, measures: Yardsticks, clock: Clock) -> Result:
    """Return what a run found."""
    problem = run.problem
    signs = problem.objectives.signs
    order = np.argsort(run.archive.values[:, 0], kind="stable")
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
        baselines=baselines_of(measures, signs),
        lower_bounds={name: bound_on(measures.bounds, name) for name in problem.objectives.names},
        bound_front=measures.bound_front,
        energy_penalty=measures.energy_penalty,
        history=tuple(run.history),
        evaluations=run.evaluations,
        seconds=run.seconds,
        stop_reason=reason,
        versions=versions(),
        islands=search.islands,
        running=problem.running,
        left_out=measures.left_out,
        warm_up=clock.apart,
    )


def baselines_of(measures: Yardsticks, signs: Floats) -> tuple[Baseline, ...]:
    """Return the baselines as a result holds them."""
    rows = (measures.values * signs).tolist()
    return tuple(Baseline(name, tuple(row)) for name, row in zip(measures.names, rows, strict=True))


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
