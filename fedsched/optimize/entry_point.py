"""optimize(): the function that checks a call's arguments, runs the search, and returns its result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from fedsched.core.compilation import compiling
from fedsched.core.errors import InfeasibleError, unknown_name
from fedsched.core.names import FirstPlans
from fedsched.core.values import is_number, origin, seed_or_fresh, whole
from fedsched.engine.compatibility import FIXED_SHAPES, Use, refuse
from fedsched.engine.sharing import NodeSharing
from fedsched.io.arguments import nouns_of
from fedsched.model.power.switching import is_switching
from fedsched.model.reading import CLAIRVOYANT, Reading
from fedsched.optimize.baselines import usual_baselines
from fedsched.optimize.packages import optimize_in_packages
from fedsched.optimize.progress import show_progress
from fedsched.optimize.result import Settings
from fedsched.optimize.searching import (
    Search,
    problem_of,
    result_of,
    search_once,
    shielded_from_interrupt,
    tiny_problem,
    warm_up,
)
from fedsched.search.encoding.delays import refuse_slack
from fedsched.search.methods.methods import METHODS, is_method, method_named
from fedsched.search.problem.deadline import latest_makespan, puts_off, slack_until
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.shared import refuse_to_share
from fedsched.search.run.checkpoint import Checkpoint
from fedsched.search.run.clock import Clock
from fedsched.search.run.stopping import MaxEvaluations, MaxSeconds, StoppingRule, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor
    from os import PathLike

    from fedsched.core.names import (
        Alternatives,
        EncodingName,
        Knowledge,
        MethodName,
        ObjectiveName,
        PolicyName,
        Saturation,
        SharingName,
        Submits,
    )
    from fedsched.io.arguments import AnyJobs, AnyMachine
    from fedsched.optimize.result import Result
    from fedsched.search.methods.methods import MethodInfo
    from fedsched.search.problem.objectives import Cost
    from fedsched.search.run.run import Run
    from fedsched.simulate import RunningJobs

WORK = 30_000_000  # the default budget in job placements, about ten seconds
SEEDS: tuple[str, ...] = get_args(FirstPlans)
ISLANDS = 4  # with an executor, by default; a fixed number, so that results are equal on every executor


def optimize(
    workload: AnyJobs,
    cluster: AnyMachine | None = None,
    objectives: ObjectiveName | str | Cost | Sequence[ObjectiveName | str | Cost] | None = None,
    method: MethodName | str = "auto",
    seconds: float | None = None,
    evaluations: int | None = None,
    seed: int | None = 0,
    *,
    # What is planned.
    submits: Submits = "now",
    reading: Reading = CLAIRVOYANT,
    knowledge: Knowledge | None = None,
    saturation: Saturation | None = None,
    kill_at_estimate: bool | None = None,
    alternatives: Alternatives | None = None,
    sharing: NodeSharing | SharingName | None = None,
    t0: float | None = None,
    running: RunningJobs | None = None,
    deadline: float | None = None,
    package: int | None = None,
    # How it is searched.
    weights: Sequence[float] | None = None,
    encoding: EncodingName | str | None = None,
    seeds: FirstPlans = "structured",
    initial: Iterable[object] = (),
    target: float | None = None,
    stop: StoppingRule | Iterable[StoppingRule] = (),
    islands: int | None = None,
    callback: Callable[[Run], None] | None = None,
    # Where it runs.
    threads: int = 1,
    executor: Executor | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool | None = None,
    # What it is compared with.
    baselines: PolicyName | str | Sequence[PolicyName | str] | None = None,
) -> Result:
    """Return the best plans that a search finds for the jobs of a workload on a federation.

    The page "Searches" explains methods, budgets, first plans and islands.

    Parameters
    ----------
    workload, cluster
        The jobs, and the machine: objects, or as in `simulate` their files' paths, a table, or a number of nodes; by
        default as many nodes as the log says.
    objectives
        What to minimise: names of metrics, or functions of all metrics; by default the objectives of the method.
    method
        A name of `fedsched.search.METHODS`; "auto" is "memetic", or "moga" or "ga" if compiled walks cannot be used.
    seconds, evaluations
        The budget; by default 30,000,000/jobs evaluations. A budget in seconds is not repeatable.
    seed
        The seed of all random numbers. None draws a fresh one, which `result.seed` and the print-out show.
    submits
        "now": all jobs wait already. "keep": submit times stay, and plans know them in advance (clairvoyant).
    reading
        The model's open choices, in one object; plans always use whole instants.
    knowledge
        "runtime" by default: plans and baselines see true run times. "estimate": they see the users' requested times.
    saturation, kill_at_estimate, sharing, t0, running
        As in `simulate`; running jobs go with submits="keep".
    alternatives
        The shape of a job that has several: "fixed", "smallest_area", or "free", in which each plan chooses.
    deadline
        The time by which all jobs must end, on the workload's clock; it is an error if no plan keeps it.
    package
        Cut the workload into successive packages of this many jobs and plan each; needs one objective.
    weights
        For methods that need one value: the weight of each objective, relative to FCFS's value.
    encoding
        For "ga" and "ga-mf": "blacklist", the nodes that a job may not have, or "assignment", the groups of its tasks.
    seeds
        First plans: "structured" (from baselines, orders, placements), or "random" (and no baselines in the front).
    initial
        Plans to begin with: schedules, earlier Results, or pairs of order and caps; with `package`, each package takes
        its own jobs from them.
    target
        Stop once the first objective is at least as good as this.
    stop
        More stopping rules: any callable that takes the run and returns a reason or None.
    islands
        The number of searches side by side, which exchange their best plans; by default one, or four with an executor.
    callback
        Called with the `Run` after each step.
    threads
        The number of threads that evaluate; the result does not depend on it.
    executor
        Where the islands run: any `concurrent.futures.Executor`; the result does not depend on it.
    checkpoint
        A file where the search saves itself every ten seconds and at its end, and from which the same call continues.
    progress
        Whether to show a line of progress on stderr; by default in an interactive session.
    baselines
        Policies to compare with; by default the usual ones. They enter the front, unless seeds="random".

    Notes
    -----
    Ctrl-C ends a search early with the best plans found so far. So does an executor that fails, with a warning
    that names the lost island.

    Examples
    --------
    >>> result = fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1)
    >>> result.gain("fcfs") >= 0
    True
    >>> result.gap() >= 0
    True
    """
    workload, cluster = nouns_of("optimize", workload, cluster, second="cluster", may_be_left_out=True)
    aims = None if objectives is None else Objectives.of(objectives, weights)
    shared = None if sharing is None else NodeSharing.of(sharing)
    if method == "auto" and (deadline is not None or shared is not None or (aims is not None and aims.uncompiled)):
        method = "ga" if aims is not None and len(aims.names) == 1 else "moga"
    _refuse_seeds_in(method)
    info = method_named(method).encoded(encoding)
    rules = _rules(stop, seconds=seconds, evaluations=evaluations, target=target, jobs=package or len(workload))
    if seconds is not None:
        MaxSeconds(seconds)  # says what is wrong with it; each search gets one with its own share
    if seed is None and checkpoint is not None:
        raise ValueError("optimize: seed=None draws another seed in each call, so checkpoint= needs one, as seed=0.")
    seed = seed_or_fresh("optimize", seed)
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
        if is_number(seeds):
            raise TypeError(f"optimize: seeds={seeds} must be one of {', '.join(SEEDS)}; a number is seed={seeds}.")
        raise unknown_name("seeds", seeds, SEEDS)
    initial = tuple(initial) if isinstance(initial, Iterable) else (initial,)
    aims = Objectives.of(info.objectives, weights) if aims is None else aims
    if package is not None and len(aims.names) > 1:
        raise ValueError(
            f"package={package} makes one schedule, so it needs one objective, not {aims.names}; "
            "name one, e.g. objectives='makespan'."
        )
    settings = Settings(
        submits=submits,
        reading=reading.but(
            knowledge=knowledge, saturation=saturation, kill_at_estimate=kill_at_estimate, alternatives=alternatives
        ),
        t0=t0,
        seconds=seconds,
        evaluations=evaluations,
        target=target,
        seeds=seeds,
        package=package or 0,
        initial=len(initial),
        own_rules=stop != (),
        encoding=info.encoding,
        deadline=deadline,
        sharing=shared,
    )
    if shared is not None:
        refuse_to_share(info)
    priced, boots = aims.priced or None, package is not None and is_switching(cluster.power)
    options = {
        "packages": package, "running jobs": running, "deadlines": deadline, "objectives of signals": priced,
    }  # fmt: skip
    given = tuple(name for name, value in options.items() if value is not None)
    use = Use(workload, cluster, settings.reading, given=given)
    shares = package is not None and shared is not None
    for place, is_used in (("packages on shared nodes", shares), ("packages with boots", boots), ("optimize", True)):
        if is_used:
            refuse(place, use)
    if settings.reading.is_free(workload):
        _refuse_to_choose(info)
    if deadline is not None:
        begin = origin("optimize", t0) if running is None else running.time
        begin = float(workload.submit.min()) if begin is None else begin
        latest_makespan(deadline, begin)
        alone = package is None and workload.feedback is None
        if workload.slack is None and alone and puts_off(info, aims):
            workload = slack_until(workload, deadline, begin, submits)
    if workload.slack is not None:
        refuse_slack(info, aims)
    search = Search(
        info=info,
        objectives=aims,
        settings=settings,
        seed=seed,
        stop=rules,
        seeds=seeds,
        threads=threads,
        callback=callback,
        baselines=_baselines(baselines, len(workload), shared=shared is not None),
        islands=islands,
        executor=executor,
    )
    with compiling() as compiled, show_progress(callback, seconds, show=progress) as line:
        search = replace(search, callback=line.callback, say=line.say)
        clock = Clock(seconds, compiled)
        line.say("loading")
        with clock.warming_up():
            tiny_problem(search)
        problem = problem_of(search, workload, cluster, running=running)
        if problem.shapes is None and settings.reading.is_free(problem.workload):
            raise InfeasibleError(f"optimize: no job has an alternative that {cluster.name} can hold; {FIXED_SHAPES}.")
        how = info.title if search.alone else f"{info.title} × {islands}"
        saved = Checkpoint(
            checkpoint, problem, f"{how}, package={package}", seed, islands=islands, releases=search.releases
        )
        with clock.warming_up():
            warm_up(search, problem, saves=saved.saves)
        if package is None:
            found = search_once(search, problem, saved, clock, initial=initial)
            return shielded_from_interrupt(lambda: result_of(found, search, clock))
        return optimize_in_packages(search, problem, package, saved, clock, initial)


def _refuse_seeds_in(method: str) -> None:
    """Raise ValueError for a name of `compare`, such as "ga:random", and say how `optimize` takes it."""
    name, colon, seeds = method.partition(":") if isinstance(method, str) else ("", "", "")
    if colon and seeds.lower() in SEEDS and is_method(name):
        raise ValueError(f"method={method!r} is for compare; here give method={name!r}, seeds={seeds.lower()!r}.")


def _baselines(given: Sequence[str] | None, jobs: int, *, shared: bool) -> tuple[str, ...]:
    if given is not None:
        return (given,) if isinstance(given, str) else tuple(given)
    return usual_baselines(jobs, shared=shared)


def _refuse_to_choose(info: MethodInfo) -> None:
    if not info.takes_shapes:
        able = ", ".join(one.name for one in METHODS.values() if one.takes_shapes)
        raise ValueError(
            f"Plans of method {info.title} say no shapes, which alternatives='free' leaves to them; {FIXED_SHAPES}, "
            f"or take one of {able}."
        )


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
    if target is not None:
        rules.append(Target(target))
    if evaluations is None and seconds is None and not given:
        rules.append(MaxEvaluations(max(1000, WORK // max(jobs, 1))))
    return tuple(rules)
