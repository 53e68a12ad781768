"""The search of a long workload package by package, each from the state that the plan of the previous one leaves."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.core.text import counted
from fedsched.engine.run.evaluate import unpack_row
from fedsched.engine.run.simulation import idle_nodes, unfinished_note
from fedsched.engine.sharing.result import SharedSchedule, shared_schedule
from fedsched.model.constraints.dependencies import Dependencies, End, Kind, conditions_of, edges_of, ends_of
from fedsched.model.constraints.feedback import followers_of, submits_after
from fedsched.model.jobs.alternatives import present_shapes
from fedsched.model.jobs.shaping import with_shapes
from fedsched.model.power.power_cap import is_capped
from fedsched.model.power.switching import is_switching
from fedsched.model.schedule.lost import LostRuns, no_runs
from fedsched.model.schedule.promises import Promises
from fedsched.model.schedule.schedule import Schedule
from fedsched.optimize.baselines import bound_on, measured, rows_of, yardsticks
from fedsched.optimize.result import Front, PlannedQueue, Result
from fedsched.optimize.searching import (
    Search,
    baselines_of,
    comparable,
    planned_queue,
    problem_of,
    search_once,
    shielded_from_interrupt,
    versions,
)
from fedsched.search.problem.deadline import MORE, is_late, refuse_late, refuse_unreachable
from fedsched.search.run.checkpoint_arrays import saved_plans, saved_values
from fedsched.search.run.clock import AT_ONCE
from fedsched.search.run.run import INTERRUPTED, ended_early, history_of, history_state
from fedsched.search.run.stopping import MaxSeconds
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.engine.run.simulation import Simulation
    from fedsched.engine.sharing import NodeSharing
    from fedsched.io.trees import Plain, Saved
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.reading import Reading
    from fedsched.optimize.searching import Found
    from fedsched.search.problem.problem import SearchProblem
    from fedsched.search.run.checkpoint import Checkpoint
    from fedsched.search.run.clock import Clock
    from fedsched.search.run.run import Moment
    from fedsched.simulate import RunningJobs

NOBODY_WAITS = "all jobs run already"
NOBODY_STARTS = "none of its jobs can start"
LEAST = 0.02  # least seconds of a package's search: preparing the first plan takes as long
WANTED = {Kind.AFTEROK: End.WELL, Kind.AFTERNOTOK: End.BADLY}


def refuse_links_across(workload: Workload, packages: Sequence[Ints]) -> None:
    """Raise InfeasibleError if a job waits for, or follows, a job of a later package."""
    number = np.full(len(workload), -1)  # -1: runs already, or never starts
    for k, rows in enumerate(packages):
        number[rows] = k
    edges = edges_of(workload)
    for job, on in zip(edges.job.tolist(), edges.on.tolist(), strict=True):
        if 0 <= number[job] < number[on]:
            raise InfeasibleError(
                f"optimize: job {workload.id[job]} waits for job {workload.id[on]}, which is in a later package; "
                "leave package= out, or make packages larger."
            )


def last_submit(workload: Workload, rows: Ints, earliest: float) -> float:
    """Return the latest submit time of these jobs, but at least `earliest`.

    Jobs that follow others do not count.
    """
    alone = rows[~np.isin(rows, followers_of(workload)[0])]
    return float(workload.submit[alone].max(initial=earliest))


class Before:
    """The jobs of earlier packages, with the times at which each started and ended: NaN if it did not.

    `lost` are their runs that downtimes have ended so far.
    """

    def __init__(self, workload: Workload, reading: Reading, start: Floats, finish: Floats, lost: LostRuns) -> None:
        self.workload = workload  # jobs of earlier packages have the shapes that their plans chose
        self._start, self._finish, self.lost = start, finish, lost
        self._ends, self._edges = ends_of(workload, reading), edges_of(workload)
        self._following = followers_of(workload)[0].size  # these edges come last
        self._gone = np.full(len(workload), np.inf) if workload.cancel_at is None else workload.cancel_at.times

    def part(self, fresh: Ints, still: Ints) -> tuple[Workload, Ints]:
        """Return the jobs still running and the fresh jobs that can start, as a workload and its rows in the whole one.

        A fresh job may wait for a job outside these rows. That job has ended, was cancelled, or never starts:
        the fresh job's begin is set accordingly, or the fresh job is left out. Jobs that follow others get
        their submits in the same way.
        """
        workload, rows = self.workload, np.concatenate([still, fresh])
        submit = workload.submit.copy()
        begin = np.zeros(len(workload)) if workload.begin is None else workload.begin.begin.copy()
        hopeless = np.zeros(begin.size, dtype=np.bool_)
        begun = (self._edges.kind == Kind.AFTER) & np.isin(self._edges.on, self.lost.job)  # and again, perhaps
        mine = np.isin(self._edges.job, fresh) & (begun | ~np.isin(self._edges.on, rows))
        ties = self._edges.job.size - self._following
        outside = np.flatnonzero(mine).tolist()
        for nth in outside:
            job, on, kind, lag = (column[nth] for column in self._edges)
            moment, had_hope = self._moment(on, Kind(kind)) + lag, not hopeless[job]
            hopeless[job] |= np.isnan(moment)
            if nth < ties:
                begin[job] = np.fmax(begin[job], moment)
            else:
                submit[job] = moment
                hopeless[job] |= moment > self._gone[job]  # it had left before its user would have submitted it
            if had_hope and hopeless[job]:  # it is left out as well
                outside += np.flatnonzero((self._edges.on == job) & np.isin(self._edges.job, fresh) & ~mine).tolist()
        rows = rows[~hopeless[rows]]
        part = workload.take(rows)
        if begun[mine].any():
            part = replace(part, after=_without_starts(part, workload.id[self.lost.job]))
        return (replace(part, begin=begin[rows], submit=submit[rows]) if outside and rows.size else part), rows

    def _moment(self, on: int, kind: Kind) -> float:
        # When the condition of the wait held; NaN if it never can.
        ran, ended = not np.isnan(self._start[on]), float(self._finish[on])
        lost = self.lost.job == on
        if kind is Kind.AFTER:
            return float(np.fmin.reduce([self._start[on], *self.lost.start[lost]]))
        if (killed := lost & ~self.lost.requeued).any():
            return float("nan") if kind is Kind.AFTEROK else float(self.lost.end[killed][0])
        if not ran:
            gone = float(self._gone[on])
            return gone if kind not in WANTED and gone < np.inf else float("nan")
        return ended if kind not in WANTED or self._ends[on] == WANTED[kind] else float("nan")


def _without_starts(workload: Workload, begun: Ints) -> Dependencies | None:
    """Return the dependencies of the jobs without conditions on the starts of the jobs with these ids."""
    texts = [] if workload.after is None else workload.after.texts.tolist()
    return Dependencies.of(
        [
            ",".join(str(one) for one in conditions_of(text) if one.kind is not Kind.AFTER or one.on not in begun)
            for text in texts
        ],
        workload.id[: len(texts)],
    )


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """The result of one package's search, whether found now or read from a checkpoint."""

    row: Ints | None  # the best plan; None if the search was cut short before its first
    value: float  # its value, minimised
    history: Sequence[Moment]
    evaluations: int
    seconds: float
    stop_reason: str

    @classmethod
    def by(cls, found: Found) -> Ended:
        """Return the package's result from a finished search: the archive's best plan, and what was spent."""
        run, row, value = found.run, None, float("inf")
        if len(run.archive.values):
            best = int(np.argmin(run.archive.values[:, 0]))
            row, value = run.archive.entries[best].row, float(run.archive.values[best, 0])
        return cls(row, value, tuple(run.history), run.evaluations, run.seconds, found.reason)

    @classmethod
    def at_once(cls, problem: SearchProblem, clock: Clock) -> Ended:
        """Return a result without a search, if there is no time for one: the jobs in the order of arrival."""
        row = problem.row(np.argsort(problem.problem.arrival_rank, kind="stable"))
        value = float(problem.values(row[None])[0, 0])
        return cls(row, value, (), 1, 0.0, MaxSeconds(clock.seconds or AT_ONCE).reason)

    @classmethod
    def of(cls, saved: Saved, problem: SearchProblem) -> Ended:
        """Return a package's result read from a checkpoint; raise UnfitError if it does not fit the problem."""
        (row,) = saved_plans(saved, "row", problem, 1)
        return cls(
            row=row,
            value=float(saved_values(saved, "value", problem, 1)[0, 0]),
            history=history_of(saved.part("history"), 1),
            evaluations=saved.whole("evaluations"),
            seconds=saved.number("seconds"),
            stop_reason=saved.text("stop_reason"),
        )

    def state(self) -> dict[str, Plain]:
        """Return the result as plain data for a checkpoint."""
        rows = [] if self.row is None else [self.row]
        return {
            "row": np.array(rows, dtype=np.int64),
            "value": np.array([[self.value]]),
            "history": history_state(self.history, 1),
            "evaluations": self.evaluations,
            "seconds": self.seconds,
            "stop_reason": self.stop_reason,
        }


NOTHING = Ended(np.zeros(0, dtype=np.int64), math.inf, (), 0, 0.0, NOBODY_STARTS)


def optimize_in_packages(
    search: Search,
    whole: SearchProblem,
    package: int,
    saved: Checkpoint,
    clock: Clock,
    initial: Iterable[object] = (),
) -> Result:
    """Return a Result with one schedule of the whole problem, made package by package, and one history.

    A budget in seconds is the whole call's: each package gets an equal share of what is left when it begins. If its
    share is below 0.02 s, it gets its jobs in the order of arrival.

    A package is searched from the moment when the last job of the packages before starts or leaves; a job that loses
    its nodes to a downtime has to start again before. With submits="keep" this is not before the package's own last
    submit (of jobs that do not follow others). Jobs that still run then continue beside it. Jobs that follow others are
    assigned to packages by their recorded submits. Each package takes the order, caps, shapes and delays of its own
    jobs from the plans `initial`. Raise InfeasibleError if a package cannot keep the deadline. Ctrl-C ends the call
    with the packages done so far.
    """
    workload, cluster, t0 = whole.workload, whole.truth.federation, whole.problem.t0
    jobs, latest, deadline = len(workload), whole.objectives.latest, search.settings.deadline
    given = [row for plan in initial for row in rows_of(whole, plan)]
    shapes = None if whole.shapes is None else present_shapes(workload)
    delays = None if whole.delays is None else np.zeros(jobs)
    start, finish = np.full(jobs, np.nan), np.full(jobs, np.nan)
    counts = np.zeros((jobs, len(cluster.groups)), dtype=np.int64)
    done: list[Ended] = []
    history: list[Moment] = []
    lost: list[LostRuns] = []
    promises = Gathered(jobs)
    left_off: Simulation | None = None  # what ran before the next package
    if is_switching(cluster.power):  # no job has begun yet
        left_off = whole.truth.started(whole.row(np.arange(whole.layout.jobs)))
    used: list[tuple[Schedule, Ints]] = []  # schedules of packages, and the rows of the jobs that began there
    now, running, still = t0, whole.running, np.zeros(0, dtype=np.int64)
    waiting = whole.truth.problem.arrival
    waiting = waiting[np.argsort(whole.truth.problem.arrival_rank[waiting])]
    if running is not None:  # they run alone until the first package's jobs are submitted
        still, waiting = running.rows, waiting[~np.isin(waiting, running.rows)]
        now = last_submit(workload, waiting[:package], now)
        alone = _run_without_waiting(whole, still).advance(until=now)
        start[still], finish[still], counts[still] = alone.state.start, alone.state.finish, alone.state.counts
        used.append((alone.schedule(), still))
        lost.append(_lost_by(now, used[-1][0], still))
        promises.add(still, used[0][0])
        left_off = alone
        running, still = _running_at(now, alone, still)
    packages = [waiting[begin : begin + package] for begin in range(0, len(waiting), package)]
    refuse_links_across(workload, packages)
    ahead = Before(workload, whole.reading, start, finish, _joined(lost, len(cluster.groups)))
    measures = yardsticks(whole, search.baselines, clock, search.say)
    if measures.bounds is not None and whole.truth is whole:
        refuse_unreachable(latest, measures.bounds.makespan)
    before = 0.0 if clock.seconds is None else clock.elapsed  # seconds spent outside of packages
    with saved.reading():
        clock.spend(sum(package.number("seconds") for package in saved.packages))
    first = len(saved.packages) + 1  # the first to be searched, perhaps from a checkpoint
    hasty = 0
    beside = 0.0  # the most seconds so far that a package took outside of its search
    reason = INTERRUPTED if packages else NOBODY_WAITS
    with suppress(KeyboardInterrupt):  # between packages; within one, Ctrl-C ends its search
        for number, fresh in enumerate(packages, 1):
            begun = clock.elapsed
            now = last_submit(workload, fresh, now)
            part, rows = ahead.part(fresh, still)
            known = number < first
            if not rows.size:
                done.append(NOTHING)
                if not known:
                    saved.end_package(NOTHING.state())
                reason = NOTHING.stop_reason
                continue
            begins = f"package {number} of {len(packages)} begins at {now:.15g} s: "
            if deadline is not None and now >= deadline:
                raise InfeasibleError(f"optimize: {begins}the deadline is at {deadline:.15g} s; {MORE}.")
            settings = replace(search.settings, submits="keep", t0=now)
            inner = replace(search, settings=settings, baselines=(), part=begins)
            since = None if whole.delays is None else whole.delays.since[rows]
            idle = None if left_off is None else idle_nodes(left_off, now)
            problem = problem_of(inner, part, cluster, running=running, delays_since=since, idle=idle)
            plans = (planned_queue(problem, part_of_plan(whole, row, problem, rows)) for row in given)
            budget = clock.part(len(packages) - number + 1, kept=beside)
            searched = clock.elapsed
            if known:
                with saved.reading():
                    ended = Ended.of(saved.packages[number - 1], problem)
            elif budget.seconds is None or budget.seconds >= LEAST or number == first:
                hasty += clock.left() <= 0.0
                ended = _searched(inner, problem, saved, clock, budget, plans)
            else:
                hasty += 1
                ended = Ended.at_once(problem, clock)
            searched = clock.elapsed - searched
            history += _later(ended.history, done, before)
            early = ended_early(ended.stop_reason)
            if is_late(ended.value, problem.objectives.latest) and ended.row is not None:
                if not early:
                    refuse_late(ended.value, problem.objectives.latest, begins)
                ended = replace(ended, row=None)  # a search to its end may find a plan in time
            done.append(ended)
            if ended.row is not None:  # else it was cut short before its first plan
                best = problem.truth.schedule(ended.row)
                start[rows], finish[rows], counts[rows] = best.start, best.finish, best.counts
                own = slice(len(still), None)  # the package's own jobs; the first rows still run
                promises.add(np.where(np.arange(rows.size) < len(still), -1, rows), best)
                used.append((best, np.where(np.arange(rows.size) < len(still), -1, rows)))
                if shapes is not None and (chosen := problem.alternatives_of(ended.row)) is not None:
                    shapes[rows[own]] = chosen[own]
                    ahead.workload = with_shapes(workload, cluster, shapes)
                if delays is not None and (put_off := problem.delays_of(ended.row)) is not None:
                    delays[rows[own]] = put_off[own]
                if known:
                    saved.check(problem.objectives, np.array([[ended.value]]), problem.values(ended.row[None]))
                elif not early:
                    saved.end_package(ended.state())
            if early or ended.row is None or number == len(packages):
                if ended.row is not None:
                    lost.append(_lost_by(math.inf, best, rows))
                reason = ended.stop_reason
                break
            now = last_submit(workload, packages[number], max(now, _when_all_left(best, rows.size - len(still))))
            lost.append(_lost_by(now, best, rows))
            ahead.lost = _joined(lost, len(cluster.groups))
            left_off = problem.truth.started(ended.row).advance(until=now)
            running, still = _running_at(now, left_off, rows)
            beside = max(beside, clock.elapsed - begun - searched) if number > first else 0.0  # the first one loads
    cut = len(done) < len(packages) or any(one.row is None for one in done)
    missing = 0 if cut else whole.truth.missed(finish)
    gone_at = np.full(jobs, np.inf) if workload.cancel_at is None else workload.cancel_at.times
    lost_runs, over = _joined(lost, len(cluster.groups)), finish.copy()
    over[lost_runs.killed] = lost_runs.end[~lost_runs.requeued]
    gone = np.isnan(start) & np.isnan(over) & (gone_at < np.inf)
    left = workload.id[np.isnan(start) & np.isnan(over) & ~gone]
    submit = submits_after(workload, np.where(gone, gone_at, over), gone)
    schedule = Schedule(
        workload=ahead.workload if workload.feedback is None else replace(ahead.workload, submit=submit),
        federation=cluster,
        start=start,
        finish=finish,
        counts=counts,
        t0=t0,
        reading=search.settings.reading,
        delays=delays,
        lost=lost_runs,
        promises=promises.in_turn(t0) if is_switching(cluster.power) else None,
        policy=f"{search.info.title} in packages of {package}",
        notes=(
            *((f"interrupted in package {len(done)} of {len(packages)}",) if cut else ()),
            *((unfinished_note(jobs - missing, jobs, left=left if is_capped(cluster) else None),) if missing else ()),
        ),
    )
    schedule = on_shared_nodes(schedule, whole.sharing, used)
    (objective,) = search.objectives.names
    value = measured(whole, [schedule]) * search.objectives.signs
    baselines = baselines_of(measures, whole)
    measures = comparable(measures, whole, [] if cut else [schedule])
    return Result(
        workload=workload,
        federation=cluster,
        settings=replace(search.settings, t0=t0),
        method=search.info.name,
        seed=search.seed,
        objectives=search.objectives.names,
        weights=search.objectives.weights,
        front=Front(
            search.objectives.names,
            value,
            (PlannedQueue(schedule=schedule, alternatives=shapes),),
            missing=(missing,) if missing else (),
        ),
        baselines=baselines,
        lower_bounds={objective: bound_on(measures.bounds, objective)},
        bound_front=np.zeros((0, 2)),
        energy_penalty=float("nan"),
        history=tuple(history),
        evaluations=sum(result.evaluations for result in done),
        seconds=before + sum(result.seconds for result in done),
        stop_reason=reason,
        versions=versions(*search.releases),
        packages=len(packages),
        islands=search.islands,
        running=whole.running,
        left_out=(*measures.left_out, *([f"the search of {counted(hasty, 'package')}"] if hasty else ())),
        refused=measures.refused,
        warm_up=clock.uncounted,
    )


class Gathered:
    """When the jobs of all packages were promised their nodes, gathered package by package."""

    def __init__(self, jobs: int) -> None:
        self._time, self._place = np.full(jobs, np.nan), np.zeros((2, jobs), dtype=np.int64)
        self._packages = 0

    def add(self, rows: Ints, schedule: Schedule) -> None:
        """Add the promises of a package's schedule; `rows` has the row of each of its jobs among all, or -1."""
        if schedule.promises is None:
            return
        own = np.flatnonzero(rows >= 0)
        self._time[rows[own]] = schedule.promises.time[own]
        self._place[:, rows[own]] = schedule.promises.turn[own], np.full(own.size, self._packages)
        self._packages += 1

    def in_turn(self, t0: float) -> Promises:
        """Return the promises with each job's turn among all of them."""
        turn = np.zeros(self._time.size, dtype=np.int64)
        order = np.lexsort((*self._place, np.maximum(self._time, t0)))
        turn[order] = np.arange(order.size)
        return Promises(self._time, turn)


def on_shared_nodes(
    schedule: Schedule, sharing: NodeSharing | None, used: Sequence[tuple[Schedule, Ints]]
) -> Schedule:
    """Return the schedule with the nodes of its jobs, by the schedules of packages; itself if jobs share no nodes.

    `used` has the schedule of each package, and the row of each of its jobs among all jobs; -1 if it ran before.
    """
    if sharing is None:
        return schedule
    parts = [(one.use, rows) for one, rows in used if isinstance(one, SharedSchedule)]
    return shared_schedule(schedule, sharing, parts)


def _lost_by(time: float, schedule: Schedule, rows: Ints) -> LostRuns:
    """Return the runs that downtimes end by a time; `rows` are the jobs of the schedule among all jobs."""
    lost, kept = schedule.lost, schedule.lost.end <= time
    return LostRuns(rows[lost.job[kept]], lost.start[kept], lost.end[kept], lost.counts[kept], lost.requeued[kept])


def _joined(lost: Sequence[LostRuns], groups: int) -> LostRuns:
    """Return the lost runs of all packages so far."""
    return LostRuns(*(np.concatenate(columns) for columns in zip(no_runs(groups), *lost, strict=True)))


def _when_all_left(schedule: Schedule, fresh: int) -> float:
    """Return the time at which the last of the jobs starts, for the last time, or is cancelled; −inf if none does.

    The package's own jobs are the last `fresh` rows. The others ran before: they count if downtimes took their nodes.
    """
    times, gone = schedule.start.copy(), schedule.cancelled
    if schedule.workload.cancel_at is not None:
        times[gone] = schedule.workload.cancel_at.times[gone]
    lost = schedule.lost.start
    times = times if lost.size else times[times.size - fresh :]
    return float(np.nanmax(np.append(times, lost), initial=-np.inf))  # killed ones have no start


def part_of_plan(whole: SearchProblem, row: Ints, problem: SearchProblem, rows: Ints) -> Ints:
    """Return the plan of a package (`problem`, of the jobs `rows`) that takes its jobs from a plan of all jobs.

    These keep their order, caps, shapes and delays, and the plan's rules where they place all of them.
    """
    place = np.full(len(whole.workload), -1)
    place[rows] = np.arange(rows.size)
    order, caps, *rules = unpack_row(whole.layout, row)
    order = place[order]
    chosen, delays = whole.alternatives_of(row), whole.delays_of(row)
    return problem.row(
        order[order >= 0],
        caps[rows],
        (rules[0], rules[1]) if rules[1] in problem.space.placements else None,
        None if chosen is None else problem.choices_of(chosen[rows], strict=False),
        None if delays is None else delays[rows],
    )


def _searched(
    search: Search,
    problem: SearchProblem,
    saved: Checkpoint,
    clock: Clock,
    budget: Clock,
    initial: Iterable[object],
) -> Ended:
    """Return a package's result from a search within `budget`, the package's share of the call's time."""
    found = search_once(search, problem, saved, budget, initial=initial)
    ended = shielded_from_interrupt(partial(Ended.by, found))
    if budget.seconds and clock.seconds and ended.stop_reason == MaxSeconds(budget.seconds).reason:
        return replace(ended, stop_reason=MaxSeconds(clock.seconds).reason)
    return ended


def _later(history: Sequence[Moment], done: list[Ended], before: float) -> list[Moment]:
    # A package's history, with the counts of earlier packages added.
    evaluations = sum(ended.evaluations for ended in done)
    seconds = before + sum(ended.seconds for ended in done)
    return [
        replace(moment, evaluations=evaluations + moment.evaluations, seconds=seconds + moment.seconds)
        for moment in history
    ]


def _run_without_waiting(problem: SearchProblem, rows: Ints) -> Simulation:
    """Return a simulation of the jobs that already run at t0 (`rows`), without the waiting ones."""
    return prepare(
        problem.workload.take(rows),
        problem.federation,
        "fcfs",
        sharing=problem.sharing,
        reading=problem.reading,
        t0=problem.problem.t0,
        running=None if problem.running is None else problem.running.renumbered(rows),
    )


def _running_at(time: float, run: Simulation, rows: Ints) -> tuple[RunningJobs, Ints]:
    """Return the jobs of a run that still run at a time, and their rows among all jobs.

    In the first they are numbered from 0, as the first rows of the next package.
    """
    state = run.running()
    return state._replace(time=time, rows=np.arange(len(state.rows))), rows[state.rows]
