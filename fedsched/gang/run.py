"""Run a workload of gangs and local jobs through the compiled event loop: `simulate`."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import counted
from fedsched.core.values import whole
from fedsched.gang.schedule import GangSchedule
from fedsched.gang.system import CLAIMS, DISCIPLINES, DISPATCHES, GRIDS, LOCAL_SITES, PREEMPTS, ROUTINGS, GangSystem
from fedsched.io.arguments import noun_of, workload_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.gang.state import Inputs, State
    from fedsched.io.arguments import AnyJobs
    from fedsched.model.jobs.workload import Workload

STOPPED_AT = ("", "limit of completions", "time limit", "end of all events")


def simulate(
    workload: AnyJobs,
    system: GangSystem,
    *,
    max_completions: int | None = None,
    time_limit: float = math.inf,
    seed: int = 0,
) -> GangSchedule:
    """Simulate a workload on a gang system, and return the GangSchedule: when and where every job runs.

    A job of one task is a local job. Its site is its `origin`; without one the system chooses. Under
    `grid="multi_site"` a job of one task without an origin arrives at the grid as a gang of one. Every other job is a
    gang. Gangs too large for the system are rejected and named in the notes; the others run.

    Parameters
    ----------
    workload, system
        The jobs, and the sites with their rules.
    max_completions
        Stop after this number of completed jobs; default: when all are done.
    time_limit
        Stop at this time.
    seed
        Seed of the random draws: shuffled processors, and ties between sites and between queues.

    Examples
    --------
    >>> jobs = fs.Workload(submit=[0, 0, 1], tasks=[2, 4, 1], runtime=[10, 10, 10])
    >>> schedule = fs.gang.simulate(jobs, fs.gang.GangSystem(processors=(4,)))
    >>> schedule.start, schedule.finish
    (array([ 0., 10., 20.]), array([10., 20., 30.]))
    """
    from fedsched.gang.kernel import Status, run_events

    workload = workload_of("simulate", "workload", workload)
    noun_of("simulate", "system", system, GangSystem, "one, as GangSystem(processors=(16, 8))")
    if max_completions is not None:
        whole("simulate", "max_completions", max_completions, least=1)
    if math.isnan(time_limit):
        raise ValueError("simulate: time_limit=nan must be a number; leave it out for no limit.")
    seed = whole("simulate", "seed", seed, least=0)
    local = _local_jobs(workload, system)
    kept = np.flatnonzero(workload.tasks <= system.largest)
    rows = kept[np.lexsort((workload.id[kept], workload.submit[kept]))]
    inputs = _inputs(workload, system, rows, local, seed, max_completions, time_limit)
    state = _state(inputs, system)
    with np.errstate(over="ignore"):  # splitmix64 wraps around, and without the compiler numpy would warn of it
        while (status := int(run_events(inputs, state))) in (Status.MORE, Status.PAUSE):
            if status == Status.MORE:
                state = _with_longer_record(state, system.total)
    return _schedule(workload, system, rows, local, inputs, state, status)


def _local_jobs(workload: Workload, system: GangSystem) -> NDArray[np.bool_]:
    of_site = (workload.tasks == 1) & (workload.origin >= 0)
    beyond = of_site & (workload.origin >= len(system.processors))
    if beyond.any():
        row = int(np.flatnonzero(beyond)[0])
        raise ValueError(
            f"Job {workload.id[row]}: origin={workload.origin[row]} must be a site of this system, which has "
            f"{len(system.processors)}; give the system as many sites as the workload."
        )
    return of_site if system.grid == "multi_site" else workload.tasks == 1


def _inputs(
    workload: Workload,
    system: GangSystem,
    rows: NDArray[np.int64],
    local: NDArray[np.bool_],
    seed: int,
    max_completions: int | None,
    time_limit: float,
) -> Inputs:
    from fedsched.gang.state import Inputs, Rules

    jobs = rows.size
    size = np.ascontiguousarray(workload.tasks[rows])
    rank = np.empty(jobs, dtype=np.int64)
    rank[np.argsort(workload.id[rows])] = np.arange(jobs)
    clocks = np.full(system.total, system.reference_clock) if system.clocks is None else np.array(system.clocks)
    counts = np.array(system.processors, dtype=np.int64)
    return Inputs(
        submit=np.ascontiguousarray(workload.submit[rows]),
        size=size,
        service=np.ascontiguousarray(workload.runtime[rows]),
        local=local[rows].astype(np.int64),
        home=np.where(local, workload.origin, -1)[rows].astype(np.int64),
        rank=rank,
        offset=np.concatenate(([0], np.cumsum(size))).astype(np.int64),
        job_of=np.repeat(np.arange(jobs), size),
        drawn=_drawn(seed, jobs),
        salt=_drawn(seed + 1, system.total),
        site_first=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        site_of=np.repeat(np.arange(counts.size), counts),
        slow=system.reference_clock / clocks,
        rules=Rules(
            grid=GRIDS.index(system.grid),
            approach=int(system.approach),
            dispatch=DISPATCHES.index(system.dispatch),
            routing=ROUTINGS.index(system.routing),
            local_site=LOCAL_SITES.index(system.local_site),
            discipline=DISCIPLINES.index(system.discipline),
            by_head=int(system.discipline == "afcfs" and system.order == "head"),
            claim=CLAIMS.index(system.claim),
            local_migration=int(system.local_migration),
            external_migration=int(system.external_migration),
            preempts=PREEMPTS.index(system.preempts),
            resume=int(system.preempted == "resume"),
            aging=int(system.aging),
            overhead=float(system.overhead),
            threshold=float(system.threshold),
            latency=float(system.latency),
            latency_per_task=float(system.megabytes / system.bandwidth),
        ),
        max_completions=jobs if max_completions is None else int(max_completions),
        time_limit=float(time_limit),
    )


def _state(inputs: Inputs, system: GangSystem) -> State:
    from fedsched.gang.state import NONE, Clock, Counter, State

    jobs, tasks, processors = inputs.submit.size, int(inputs.offset[-1]), system.total
    sites = len(system.processors)

    def none(*shape: int) -> NDArray[np.int64]:
        return np.full(shape, NONE, dtype=np.int64)

    def zeros(*shape: int) -> NDArray[np.int64]:
        return np.zeros(shape, dtype=np.int64)

    clock = np.zeros(len(Clock))
    clock[Clock.NOW] = inputs.submit[0] if jobs else 0.0
    return State(
        begun=np.full(jobs, np.nan),
        finish=np.full(jobs, np.nan),
        left=inputs.service.copy(),
        site=none(jobs),
        next_job=none(2, jobs),
        previous_job=none(2, jobs),
        key=np.zeros(jobs),
        migrated=zeros(jobs),
        reserved=zeros(jobs),
        overtaken=zeros(jobs),
        aged=zeros(jobs),
        preemptions=zeros(jobs),
        migrations=zeros(jobs),
        seen=zeros(jobs),
        placed=none(tasks),
        next_task=none(tasks),
        running=none(processors),
        head=none(processors),
        tail=none(processors),
        queued=zeros(processors),
        backlog=np.zeros(processors),
        held_for=none(processors),
        claimed=zeros(processors),
        claimer=none(processors),
        order=zeros(processors),
        weight=np.zeros(processors),
        idle=np.array(system.processors, dtype=np.int64),
        first_job=none(2, sites),
        last_job=none(2, sites),
        aged_at=zeros(sites),
        waiting_of_size=zeros(sites + 1, system.total + 1),
        smallest=np.full(sites + 1, system.total + 1, dtype=np.int64),
        grid_ends=none(2),
        heap=zeros(processors + 1),
        clock=clock,
        counter=zeros(len(Counter)),
        segment_job=zeros(jobs + 1),
        segment_start=np.zeros(jobs + 1),
        segment_end=np.zeros(jobs + 1),
        segment_first=zeros(jobs + 1),
        segment_processor=zeros(tasks + processors),
        log_time=np.zeros(2 * jobs),
        log_code=zeros(2 * jobs),
        log_idle=zeros(2 * jobs),
        log_waiting=zeros(2 * jobs),
        log_lost=np.zeros((2 * jobs, 2)),
    )


def _with_longer_record(state: State, processors: int) -> State:
    def twice(values: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate((values, np.zeros_like(values), np.zeros(processors, dtype=values.dtype)))

    names = ("segment_job", "segment_start", "segment_end", "segment_first", "segment_processor")
    return state._replace(**{name: twice(getattr(state, name)) for name in names})


def _schedule(
    workload: Workload,
    system: GangSystem,
    rows: NDArray[np.int64],
    local: NDArray[np.bool_],
    inputs: Inputs,
    state: State,
    status: int,
) -> GangSchedule:
    """Return the record of a run as a GangSchedule, with jobs in the order of the workload."""
    from fedsched.gang.state import Clock, Counter

    counter = {which.name: int(state.counter[which]) for which in Counter}
    ended, end = counter["SEGMENTS"], float(state.clock[Clock.NOW])
    cut = state.heap[: counter["RUNNING"]]  # jobs that still ran when the run stopped
    tasks_of_cut = [state.placed[inputs.offset[j] : inputs.offset[j + 1]] for j in cut]
    job = np.concatenate((state.segment_job[:ended], cut)).astype(np.int64)
    length = inputs.size[job]
    first = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
    code = state.log_code[: counter["EVENTS"]]
    ends = code < 0
    finish = np.full(len(workload), np.nan)
    finish[rows[-1 - code[ends]]] = state.log_time[: code.size][ends]
    per_job = {name: np.zeros(len(workload), dtype=np.int64) for name in ("preemptions", "migrations")}
    for name, column in per_job.items():
        column[rows] = getattr(state, name)
    return GangSchedule(
        workload=workload,
        system=system,
        finish=finish,
        segment_job=rows[job],
        segment_start=np.concatenate((state.segment_start[:ended], state.begun[cut])),
        segment_end=np.concatenate((state.segment_end[:ended], np.full(cut.size, end))),
        segment_first=first,
        segment_processor=np.concatenate((state.segment_processor[: counter["SEGMENT_TASKS"]], *tasks_of_cut)),
        local=local,
        rejected=workload.tasks > system.largest,
        preemptions=per_job["preemptions"],
        migrations=per_job["migrations"],
        end=end,
        event_time=state.log_time[: code.size].copy(),
        event_job=rows[np.where(ends, -1 - code, code)],
        event_ends=ends,
        idle=state.log_idle[: code.size].copy(),
        waiting=state.log_waiting[: code.size].copy(),
        lost=np.concatenate((state.log_lost[: code.size], state.clock[None, Clock.LOST : Clock.LOST_BY_SITE + 1])),
        backfilled=counter["BACKFILLED"],
        local_migrations=counter["LOCAL_MOVES"],
        external_migrations=counter["EXTERNAL_MOVES"],
        moved_tasks=counter["MOVED_TASKS"],
        notes=_notes(workload, system, status, counter, end),
    )


def _notes(workload: Workload, system: GangSystem, status: int, counter: dict[str, int], end: float) -> tuple[str, ...]:
    notes = []
    turned_away = workload.id[workload.tasks > system.largest]
    if turned_away.size:
        where = f"approach {system.approach}" if system.grid == "multi_site" else "the largest site"
        notes.append(
            f"{turned_away.size} {'job needs' if turned_away.size == 1 else 'jobs need'} more than the "
            f"{system.largest} processors that {where} can give a gang, turned away; the first is job {turned_away[0]}"
        )
    if status:
        jobs, arrived, done = len(workload) - turned_away.size, counter["ARRIVED"], counter["COMPLETED"]
        notes.append(
            f"stopped at the {STOPPED_AT[status]} at {end:g}: {done} of {counted(jobs, 'job')} done, "
            f"{arrived - done} arrived and unfinished, {jobs - arrived} yet to arrive"
        )
    ignored = [
        what
        for what, present in (
            ("allowed sites", workload.allowed is not None),
            *((field, True) for field in workload.extras),
            ("communication", bool((workload.compute_fraction != 1.0).any())),
        )
        if present
    ]
    if ignored:
        notes.append(f"the workload's {' and '.join(ignored)} play no part in this model")
    return tuple(notes)


def _drawn(seed: int, count: int) -> NDArray[np.int64]:
    from fedsched.gang.state import draw_all

    drawn = np.zeros(count, dtype=np.int64)
    with np.errstate(over="ignore"):  # as in simulate()
        draw_all(drawn, seed & sys.maxsize)  # kernels use signed 64-bit integers
    return drawn
