"""One search, from its problem to its result: the steps that `optimize` and its packages share."""

from __future__ import annotations

import math
import platform
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import fedsched
from fedsched.core.text import counted
from fedsched.engine.codes import Dispatch, Placement
from fedsched.engine.run.evaluate import unpack_row
from fedsched.model.jobs.workload import Workload
from fedsched.model.machine.federation import Federation, NodeGroup
from fedsched.model.power.switching import is_switching
from fedsched.model.reading import Reading
from fedsched.model.schedule.metrics import NAMES
from fedsched.model.time.downtimes import Downtime
from fedsched.optimize.baselines import MOST_SEEDS, bound_on, first_plans, measured, reference_of, yardsticks
from fedsched.optimize.result import Baseline, Front, PlannedQueue, Result
from fedsched.policies.named import policy_release
from fedsched.search.methods.islands import Archipelago
from fedsched.search.methods.methods import Offered
from fedsched.search.problem.deadline import refuse_late, refuse_unreachable
from fedsched.search.problem.objectives import Objectives, lateness
from fedsched.search.problem.shared import problem_for
from fedsched.search.run.clock import Clock
from fedsched.search.run.run import INTERRUPTED, BudgetSpent, Run, drive
from fedsched.search.run.seeds import structured_seeds
from fedsched.search.run.stopping import MaxEvaluations, MaxSeconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor

    from _typeshed import DataclassInstance

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.model.schedule.node_stack import NodeStacks
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.optimize.baselines import Yardsticks
    from fedsched.optimize.result import Settings
    from fedsched.search.methods.methods import Method, MethodInfo
    from fedsched.search.problem.problem import SearchProblem
    from fedsched.search.run.archive import Archive, Entry
    from fedsched.search.run.checkpoint import Checkpoint
    from fedsched.search.run.stopping import StoppingRule
    from fedsched.simulate import RunningJobs

R = TypeVar("R", bound="DataclassInstance")
AMPLE = 1e6  # seconds: enough for any search of three jobs
WARMING = 300  # evaluations on three jobs for each side of a method, so that each has its turn


@dataclass(frozen=True, slots=True)
class Search:
    """What is the same for all packages of a call: the method, its budget, and the reading of the problem."""

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
    part: str = ""  # which package is searched and when it begins, for errors
    say: Callable[[str], None] = lambda doing: None  # shows what is being done before the search

    @property
    def alone(self) -> bool:
        """Return whether the search is a single one in this process, without islands or an executor."""
        return self.islands == 1 and self.executor is None

    @property
    def releases(self) -> tuple[str, ...]:
        """Return the names and versions of the packages that offer the method and baselines that fedsched has not."""
        return tuple(filter(None, (self.info.release, *map(policy_release, self.baselines))))


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A finished search: its problem, its run, why it ended, and the baselines and bounds of its plans."""

    problem: SearchProblem
    run: Run
    reason: str
    measures: Yardsticks


# ---- before the search ----------------------------------------------------------------------------------------------


def problem_of(
    search: Search,
    workload: Workload,
    cluster: Federation,
    *,
    running: RunningJobs | None = None,
    delays_since: Floats | None = None,
    idle: NodeStacks | None = None,
) -> SearchProblem:
    """Return the search problem of a workload on a federation, with the search's settings.

    `delays_since` has the time from which each job's delay counts, if it is not as in reading 71, and `idle` the nodes
    without jobs, if some of them may be off.
    """
    more: dict[str, Any] = {} if delays_since is None else {"delays_since": delays_since}
    more |= {} if idle is None else {"idle": idle}
    settings = search.settings
    return problem_for(
        workload,
        cluster,
        search.objectives,
        sharing=settings.sharing,
        submits=settings.submits,
        reading=settings.reading,
        t0=settings.t0,
        running=running,
        threads=search.threads,
        delays=workload.slack is not None,
        deadline=settings.deadline,
        **more,
    )


def tiny_problem(search: Search, like: SearchProblem | None = None) -> SearchProblem:
    """Return a search problem of three jobs on four nodes; packing them loads what every problem needs.

    It uses the same kernels as the problem `like`. There are separate ones for downtimes, for other optional
    features, for nodes that boot, for jobs that choose their shapes or are delayed, and for shared nodes.
    """
    wanted = len(search.objectives.names)  # this many metrics replace those that need signals
    objectives = Objectives(NAMES[:wanted]) if search.objectives.uncompiled else search.objectives
    machine, reading, more = Federation.of(2, 2), Reading(), dict[str, Any]()
    if like is not None and search.settings.sharing is not None:
        machine = Federation((replace(machine.clusters[0], groups=(NodeGroup(4, resources=(("cpu", 2),)),)),))
        more["demand"] = {"cpu": [1, 1, 2]}
    if like is not None and like.problem.extras is not None:
        window = Downtime(machine.clusters[0].name, 4.0, 5.0, "1 of all", "maintenance")
        machine = replace(machine, calendar=(window,))
        if like.problem.extras.more is not None:
            more["begin"] = [0.0, 0.0, 1.0]
        if is_switching(like.federation.power):
            groups = tuple(replace(group, off_watts=0.0) for group in machine.clusters[0].groups)
            clusters = tuple(replace(cluster, groups=groups) for cluster in machine.clusters)
            machine = replace(machine, clusters=clusters, power=like.federation.power)
    if like is not None and like.shapes is not None:
        more["alternatives"], reading = {1: [(1, 1.0), (2, 0.6)]}, Reading(alternatives="free")
    if like is not None and like.delays is not None and not search.info.walks:  # walks refuse slack by name
        more["slack"] = [1.0, 1.0, 1.0]
    return problem_for(
        Workload(submit=[0.0, 0.0, 0.0], tasks=[1, 2, 2], runtime=[1.0, 2.0, 3.0], **more),
        machine,
        objectives,
        sharing=None if like is None else search.settings.sharing,
        reading=reading,
        delays="slack" in more,
    )


def warm_up(search: Search, like: SearchProblem, *, saves: bool = False) -> None:
    """Compile and import what the method needs for a problem, by searches of three jobs, outside of any budget.

    If a method of another package will be saved (`saves`) or sent to islands, its state is tried too.
    """
    problem = tiny_problem(search, like)
    if search.settings.seconds is not None:
        yardsticks(problem, ("fcfs",), Clock(None))
    reference, seeds = np.ones(len(search.objectives.names)), structured_seeds(problem, limit=MOST_SEEDS)
    run = Run(problem, 0, [MaxEvaluations(WARMING * search.info.sides)], reference, seeds, 0.0 * reference)
    drive(run, search.info.make(run), after_step=_tried(search.info) if saves or not search.alone else None)
    if search.settings.seconds is not None and search.executor is not None:  # its workers start now, and load the same
        rules: list[StoppingRule] = [MaxEvaluations(100 * search.islands), MaxSeconds(AMPLE)]
        run = Run(problem, 0, rules, reference, run.seeds, run.bounds, cut_at=AMPLE)
        islands = Archipelago(run, search.info, search.islands)
        islands.executor = search.executor
        with suppress(Exception):  # errors are reported by the search itself
            islands.step(run)


def _tried(info: MethodInfo) -> Callable[[Run, Method], None]:
    """Return what checks a method's state after its first step; fedsched's own methods are not checked."""

    def check(run: Run, method: Method) -> None:
        if run.steps == 1 and isinstance(method, Offered):
            method.check_state(info, run)

    return check


# ---- the search -----------------------------------------------------------------------------------------------------


def search_once(
    search: Search, problem: SearchProblem, saved: Checkpoint, clock: Clock, *, initial: Iterable[object] = ()
) -> Found:
    """Run one search over the whole problem, continued from its checkpoint if there is one; return what it found.

    First compute baselines, bounds and first plans. Raise InfeasibleError if a bound shows that no plan keeps the
    deadline.
    """
    measures = yardsticks(problem, search.baselines, clock, search.say)
    search.say("first plans")
    bounds = [bound_on(measures.known_bounds, name) for name in search.objectives.names]
    run = Run(
        problem=problem,
        seed=search.seed,
        stop=search.stop if clock.seconds is None else (*search.stop, MaxSeconds(clock.seconds)),
        reference=reference_of(problem, measures.names, measures.values),
        seeds=np.zeros((0, problem.layout.length), dtype=np.int64),
        bounds=np.array(bounds) * search.objectives.signs,
        callback=search.callback,
    )
    if measures.known_bounds is not None:
        refuse_unreachable(problem.objectives.latest, measures.known_bounds.makespan, search.part)
    if search.seeds == "structured":  # else the search has plans of its own, and baselines stay outside of the front
        run.archive.add(measures.sought, policies=measures.names)
    if clock.seconds is not None:
        _try_one(run, clock.seconds, clock)
    sharing = 1 if clock.seconds is None else search.islands  # islands share the time
    most = min(MOST_SEEDS, max(((run.prospect or MOST_SEEDS) - run.evaluations) // sharing, 1))
    made = first_plans(problem, search.seeds, initial, measures.schedules.values(), clock, most=most)
    run.seeds, left_out = made
    reason = INTERRUPTED
    with suppress(KeyboardInterrupt), _island_executor(search) as executor:  # from here on Ctrl-C loses nothing found
        method = _method(run, search)
        saved.resume(run, method, problem)
        if isinstance(method, Archipelago):
            method.executor = executor
            method.may_be_left, method.saves = search.executor is not None, saved.saves
        run.begin_clock(clock.part(1) if clock.seconds is None else clock)
        reason = drive(run, method, after_step=saved.save_sometimes)
        if not search.settings.package:  # an ended package is saved as such
            saved.save_end(run, method)
        if isinstance(method, Archipelago) and method.late:
            left_out += (f"the last epoch of {counted(method.late, 'island')}",)
    return Found(problem, run, reason, replace(measures, left_out=measures.left_out + left_out))


def _try_one(run: Run, seconds: float, clock: Clock) -> None:
    """Evaluate the plan in order of arrival, if there is time: its duration tells how many more there is time for."""
    run.begin_clock(clock)
    run.cut_at = seconds
    order = np.argsort(run.problem.problem.arrival_rank, kind="stable")
    with suppress(BudgetSpent):
        run.evaluate(run.problem.row(order)[None])


def shielded_from_interrupt(make: Callable[[], R]) -> R:
    """Call a short function and return what it makes.

    After Ctrl-C within it, call it again, and mark its result's search as interrupted.
    """
    try:
        return make()
    except KeyboardInterrupt:
        return replace(make(), stop_reason=INTERRUPTED)


def _method(run: Run, search: Search) -> Method:
    return search.info.make(run) if search.alone else Archipelago(run, search.info, search.islands)


@contextmanager
def _island_executor(search: Search) -> Iterator[Executor | None]:
    # The user's executor, or own threads if there are several islands.
    if search.executor is not None or search.islands == 1:
        yield search.executor
    else:
        with ThreadPoolExecutor(search.threads) as threads:
            yield threads


# ---- after the search -----------------------------------------------------------------------------------------------


def result_of(found: Found, search: Search, clock: Clock) -> Result:
    """Return a finished search as a Result, with what is needed to judge and to repeat it.

    Raise InfeasibleError if all plans end after the deadline.
    """
    problem, run, measures = found.problem, found.run, found.measures
    refuse_late(run.archive.values[:, 0].min(), problem.objectives.latest)
    (front, came), baselines = front_of(run.archive, problem, measures), baselines_of(measures, problem)
    measures = comparable(measures, problem, came)
    result = Result(
        workload=problem.workload,
        federation=problem.truth.federation,
        settings=replace(search.settings, t0=problem.problem.t0),
        method=search.info.name,
        seed=search.seed,
        objectives=problem.objectives.names,
        weights=problem.objectives.weights,
        front=front,
        baselines=baselines,
        lower_bounds={name: bound_on(measures.bounds, name) for name in problem.objectives.names},
        bound_front=measures.bound_front,
        energy_penalty=measures.energy_penalty,
        history=tuple(run.history),
        evaluations=run.evaluations,
        seconds=run.seconds,
        stop_reason=found.reason,
        versions=versions(*search.releases),
        islands=search.islands,
        running=problem.running,
        left_out=measures.left_out,
        refused=measures.refused,
        warm_up=clock.uncounted,
    )
    return result.keep(problem)


def versions(*releases: str) -> dict[str, str]:
    """Return the versions of fedsched, Python, NumPy and Numba, by name, and those of other packages' `releases`."""
    import numba

    return {
        "fedsched": fedsched.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        **dict(one.rsplit(" ", 1) for one in releases),
    }


def front_of(archive: Archive, problem: SearchProblem, measures: Yardsticks) -> tuple[Front, list[Schedule]]:
    """Return an archive's plans as a Front sorted by the first objective, and the schedules that came of them.

    If these may differ from the planned ones, the Front has both values; else the list of schedules is empty.
    """
    signs, names = problem.objectives.signs, problem.objectives.names
    order = np.argsort(archive.values[:, 0], kind="stable").tolist()
    entries = [archive.entries[k] for k in order]
    front = Front(names, archive.values[order] * signs, tuple(_plan(problem, entry) for entry in entries))
    if not problem.scores_differ:
        return front, []
    schedules = [_came(problem.truth, entry, measures) for entry in entries]
    came = measured(problem, schedules) * signs
    return replace(front, values=came, planned=front.values, missing=_missing(problem, schedules)), schedules


def baselines_of(measures: Yardsticks, problem: SearchProblem) -> tuple[Baseline, ...]:
    """Return the baselines of a Result: each policy's values, what was planned if that may differ, and lateness."""
    signs = problem.objectives.signs
    planned = [tuple(row) for row in (measures.values * signs).tolist()]
    latest, schedules = problem.objectives.latest, measures.came.values()
    late = [float(lateness(np.nan_to_num(schedule.makespan), latest)) for schedule in schedules]
    if not problem.scores_differ:
        rows = zip(measures.names, planned, late, strict=True)
        return tuple(Baseline(name, values, late=seconds) for name, values, seconds in rows)
    came = [tuple(row) for row in (measured(problem, schedules) * signs).tolist()]
    return tuple(map(Baseline, measures.names, came, planned, _missing(problem, schedules), late))


def comparable(measures: Yardsticks, problem: SearchProblem, schedules: Iterable[Schedule]) -> Yardsticks:
    """Return the yardsticks, without bounds if a job that is sure to start has no end in some schedule.

    The bounds count such jobs, so they would not hold for figures without them.
    """
    if not problem.truth.misses_sure_jobs(*schedules, *measures.came.values()):
        return measures
    return replace(measures, bounds=None, bound_front=np.zeros((0, 2)), energy_penalty=math.nan)


def _came(truth: SearchProblem, entry: Entry, measures: Yardsticks) -> Schedule:
    if entry.row is not None:
        return truth.schedule(entry.row)
    return measures.came[entry.policy] if entry.policy in measures.came else truth.simulated(entry.policy)


def _missing(problem: SearchProblem, schedules: Iterable[Schedule]) -> tuple[int, ...]:
    return tuple(problem.truth.missed(schedule.finish) for schedule in schedules)


def _plan(problem: SearchProblem, entry: Entry) -> PlannedQueue:
    return PlannedQueue(policy=entry.policy) if entry.row is None else planned_queue(problem, entry.row)


def planned_queue(problem: SearchProblem, row: Ints) -> PlannedQueue:
    """Return the plan of a row of the problem."""
    order, caps, dispatch, placement = unpack_row(problem.layout, row)
    return PlannedQueue(
        order=order,
        caps=caps,
        alternatives=problem.alternatives_of(row),
        delays=problem.delays_of(row),
        dispatch=Dispatch(dispatch).name.lower(),
        placement=Placement(placement).name.lower(),
    )
