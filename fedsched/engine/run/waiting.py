"""Why a job waits: a run of the event loop, asked after each dispatch pass what keeps one job from starting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import ScheduleError
from fedsched.core.text import counted, first_of
from fedsched.engine.codes import Dispatch, Status
from fedsched.engine.loop.event_loop import run as run_loop
from fedsched.engine.run.simulation import cancelled_jobs, held_jobs, joined_in, lost_in, submits_in
from fedsched.engine.run.waiting_reasons import Reason, first_in_queue, reason_now
from fedsched.model.constraints.dependencies import edges_of
from fedsched.model.machine.counters import counters_of
from fedsched.model.machine.limits import without_node_limits
from fedsched.model.time.reservations import in_reservations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.engine.arrays.structs import Ints
    from fedsched.engine.run.simulation import Simulation
    from fedsched.model.schedule.schedule import Schedule


OF_RESERVATION = "it waits for the nodes of its reservation"


@dataclass(frozen=True, slots=True)
class Wait:
    """One stretch of a job's wait.

    Parameters
    ----------
    begin, end
        When it begins and ends, in seconds.
    reason
        What kept the job from starting.
    """

    begin: float
    end: float
    reason: str


@dataclass(frozen=True, slots=True)
class Waits:
    """Why a job started when it did: what kept it from starting, from its submit on.

    Parameters
    ----------
    job
        The job's id.
    submit, start
        When it was submitted, and when it started; NaN: it never starts.
    waits
        The stretches of its wait, in order.

    Examples
    --------
    >>> jobs = fs.Workload(submit=[0, 0, 0], tasks=[3, 4, 1], runtime=[600, 600, 900])
    >>> print(fs.simulate(jobs, 4).why(3))
    Job 3, submitted at 0 s, starts at 1,200 s.
         0 to   600 s  it fits, but its nodes are reserved for job 2, the first in the queue
       600 to 1,200 s  it needs 1 node; 0 of those that it may use are free
    """

    job: int
    submit: float
    start: float
    waits: tuple[Wait, ...]

    def __str__(self) -> str:
        starts = "never starts" if np.isnan(self.start) else f"starts at {_text(self.start)} s"
        ends = ["the end" if one.end == np.inf else f"{_text(one.end)} s" for one in self.waits]
        rows = [(_text(one.begin), end, one.reason) for one, end in zip(self.waits, ends, strict=True)]
        first, second = (max((len(row[k]) for row in rows), default=0) for k in (0, 1))
        lines = [f"  {begin:>{first}} to {end:>{second}}  {reason}" for begin, end, reason in rows]
        return "\n".join([f"Job {self.job}, submitted at {_text(self.submit)} s, {starts}.", *lines])


def _text(seconds: float) -> str:
    return f"{seconds:,.0f}" if abs(seconds) >= 1000.0 else f"{seconds:.6g}"


@dataclass(slots=True)
class _Stretch:
    # Instants in a row with the same reason; of free nodes the fewest and the most.
    begin: float
    reason: Reason
    detail: str
    least: int
    most: int


def waits_of(run: Simulation, row: int) -> Waits:
    """Run a simulation that has not begun until a job starts for the last time; return why it did not start before."""
    stretches: list[_Stretch] = []
    edges = edges_of(run.actual)
    before = np.unique(edges.on[edges.job == row])
    until, status, cancelled = np.nan, int(Status.MORE), False
    submit = float(submits_in(run.problem, run.state)[row])
    if run.actual.feedback is None:  # else the submit is known when it comes
        status = run_loop(run.problem, run.plan, run.state, np.iinfo(np.int64).max, np.nextafter(submit, -np.inf))
    while status in (Status.MORE, Status.PAUSED):
        status = run_loop(run.problem, run.plan, run.state, 1, np.inf)
        now = run.time
        if now < submits_in(run.problem, run.state)[row]:
            continue
        until = now
        cancelled = bool(cancelled_jobs(run.state)[row])
        if cancelled or (run.all_stay and not np.isnan(run.state.start[row])):
            break
        _note(stretches, run, row, before)
    start, lost = float(run.state.start[row]), lost_in(run.state)
    if held_jobs(run.state)[row] or cancelled or (lost is not None and row in lost.killed):
        start = np.nan
    if stretches and stretches[-1].reason == Reason.RUNS:
        until = stretches.pop().begin
    elif np.isnan(start) and not cancelled:
        until = np.inf
    begins = [one.begin for one in stretches]
    ends = [*begins[1:], until][: len(begins)]
    submit = float(submits_in(run.problem, run.state)[row])
    waits = (Wait(max(one.begin, submit), end, _said(run, row, one)) for one, end in zip(stretches, ends, strict=True))
    return Waits(int(run.actual.id[row]), submit, start, tuple(one for one in waits if one.end > one.begin))


def _note(stretches: list[_Stretch], run: Simulation, row: int, before: Ints) -> None:
    reason = _reason_of(run, row)
    free = _room(run, row) if reason == Reason.NODES else 0
    detail = "".join(_details(run, row, reason, before))
    last = stretches[-1] if stretches else None
    if last is not None and (last.reason, last.detail) == (reason, detail):
        last.least, last.most = min(last.least, free), max(last.most, free)
    else:
        stretches.append(_Stretch(run.time, reason, detail, free, free))


def _reason_of(run: Simulation, row: int) -> Reason:
    problem, state = run.problem, run.state
    if held_jobs(state)[row]:
        return Reason.CONDITION
    if not np.isnan(state.start[row]):
        return Reason.RUNS
    if row not in joined_in(problem, state):
        return Reason.CONDITION
    return Reason(reason_now(problem, run.plan, state, row))


def _details(run: Simulation, row: int, reason: Reason, before: Ints) -> Iterator[str]:
    """Yield what a reason is about, such as the numbers of the counters of limits; `before`: the jobs it waits for."""
    problem, extras, state = run.problem, run.problem.extras, run.state.extras
    if reason == Reason.CONDITION:
        yield _condition(run, row, before)
    elif reason == Reason.LIMIT and extras is not None and state is not None and extras.limits.kind.size:
        kind = int(state.limited.kind[row])
        first, last = extras.limits.first[kind : kind + 2].tolist()
        over = [i for i in range(first, last) if extras.limits.weight[i] > state.limited.left[extras.limits.counter[i]]]
        yield " ".join(str(extras.limits.counter[i]) for i in over)
    elif reason == Reason.POOL and extras is not None and state is not None:
        short = np.flatnonzero(extras.pools.need[row] > state.pools.free).tolist()
        yield ", ".join(repr(run.federation.pools[p].name) for p in short)
    elif reason == Reason.TURN:
        head = int(first_in_queue(problem, run.state))
        yield "" if head in (row, -1) else str(run.actual.id[head])


def _room(run: Simulation, row: int) -> int:
    """Return how many free nodes of the groups that a job may use there are; of shared nodes, how many tasks fit."""
    if run.state.work is not None:
        return int(run.state.work.room.sum())  # as the reason was found
    caps = run.plan.caps[run.plan.cap_row[row]]
    return int(np.minimum(run.state.free, caps).sum())


def _said(run: Simulation, row: int, one: _Stretch) -> str:
    match one.reason:
        case Reason.CONDITION:
            return one.detail
        case Reason.RUNS:
            return "it runs, and loses its nodes to a downtime"
        case Reason.LIMIT:
            return _limit(run, one.detail)
        case Reason.POOL:
            return f"too little of pool {one.detail} is free"
        case Reason.RESERVATION:
            return OF_RESERVATION
        case Reason.NODES:
            return _too_few(run, row, one)
        case Reason.DOWNTIME:
            return "it fits, but nodes that it needs close before its requested time ends"
        case Reason.POWER:
            return "it fits, but a power cap does not allow it"
    return _turn(run, row, one.detail)


def _limit(run: Simulation, counters: str) -> str:
    if not counters:
        return "its nodes would exceed a limit"
    federation = run.federation if run.problem.sharing is None else without_node_limits(run.federation)
    names = counters_of(run.actual, federation).names
    return f"the limit of {', '.join(names[int(c)] for c in counters.split())} is reached"


def _too_few(run: Simulation, row: int, one: _Stretch) -> str:
    tasks = int(run.problem.tasks[row])
    some = f"{one.least:,}" if one.least == one.most else f"{one.least:,} to {one.most:,}"
    if run.state.work is not None and one.most >= tasks:
        return f"it has {counted(tasks, 'task')}; there is room for {some}, but its placement rule cannot combine it"
    if run.state.work is not None:
        return f"it has {counted(tasks, 'task')}; there is room for {some} on the nodes that it may use"
    if one.most >= tasks:
        return f"it needs {counted(tasks, 'node')}; {some} are free, but its placement rule cannot combine them"
    are = "is" if some == "1" else "are"
    return f"it needs {counted(tasks, 'node')}; {some} of those that it may use {are} free"


def _turn(run: Simulation, row: int, head: str) -> str:
    if not head:
        loaded = run.state.load.size > 1 and run.state.work is None
        return "it fits, but the uplinks that it needs are loaded" if loaded else "it fits, but the pass passes it over"
    extras = run.problem.extras
    needs_pools = extras is not None and bool(extras.pools.need[row].any())
    its = "what it needs is" if needs_pools else "its nodes are"
    if run.plan.dispatch == Dispatch.STRICT:
        return f"it fits, but job {head} is before it in the queue, and none is passed"
    if run.plan.dispatch == Dispatch.CONSERVATIVE:
        return f"it fits, but {its} reserved for jobs before it in the queue, first job {head}"
    if run.plan.dispatch == Dispatch.LOCAL:
        return f"it fits, but a job before it waits for the same cluster, first job {head}"
    return f"it fits, but {its} reserved for job {head}, the first in the queue"


def _condition(run: Simulation, row: int, before: Ints) -> str:
    if held_jobs(run.state)[row]:
        return "it is held"
    runs = before[~(run.state.finish[before] <= run.time)]
    if runs.size:
        return f"it waits for job {first_of(run.actual.id[runs])}"
    if in_reservations(run.actual, run.federation)[row]:
        return OF_RESERVATION
    if run.actual.begin is None and not before.size:
        return "it is held"
    return "it may not begin before a time of its own"


def why(schedule: Schedule, job: int) -> Waits:
    """Return why a job of a schedule waited, by a run like the one that made the schedule."""
    if schedule.replay is None:
        raise ScheduleError(
            "why: this schedule does not say how it was made (it was read, taken apart or pickled, or is of Slurm's "
            "scheduler, a rolling search, packages, or optimize on shared nodes); ask one that simulate returns."
        )
    rows = np.flatnonzero(schedule.workload.id == job)
    if not rows.size:
        raise ScheduleError(f"why: no job has the id {job!r}; give one of schedule.workload.id.")
    return waits_of(schedule.replay(), int(rows[0]))
