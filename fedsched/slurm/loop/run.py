"""A workload through Slurm's event loop, from nouns to a schedule."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import InfeasibleError, ScheduleError
from fedsched.core.text import counted
from fedsched.engine.run.simulation import unfinished_note
from fedsched.engine.shared_nodes.arrays import Number
from fedsched.engine.sharing.result import Played as OnNodes
from fedsched.engine.sharing.run import use_of, use_of_lost
from fedsched.model.constraints.dependencies import replace_singletons
from fedsched.model.constraints.feedback import submits_after
from fedsched.model.schedule.integrals import NOT_KNOWN
from fedsched.model.schedule.lost import LostRuns
from fedsched.slurm.conf.memory import (
    notes_before_run,
    partition_notes,
    refuse_other_sharing,
    with_memory,
    with_whole_nodes,
)
from fedsched.slurm.loop import event_loop
from fedsched.slurm.loop.pack import pack, refuse_on_slurm, seconds_of_runs
from fedsched.slurm.loop.pack_shared import shared_of
from fedsched.slurm.loop.pack_waits import closed_nodes
from fedsched.slurm.loop.structs import Counter, Setting, new_state
from fedsched.slurm.nodes.named_downtimes import with_named_nodes
from fedsched.slurm.nodes.shared_nodes import first_over
from fedsched.slurm.result.clock_ensemble import draw_clocks
from fedsched.slurm.result.schedule import Played, SharedSlurmSchedule, SlurmSchedule, joined_runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.engine.arrays.structs import RunningJobs
    from fedsched.engine.sharing import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.slurm.conf.policy import Slurm
    from fedsched.slurm.loop.pack import Packed
    from fedsched.slurm.loop.structs import Problem, State

ITS_NODES = "the lowest free nodes of their groups, in the order of starts"
SLICE = 20_000  # instants between two looks at Ctrl-C and progress


def scheduled(
    workload: Workload,
    federation: Federation,
    slurm: Slurm,
    reading: Reading,
    progress: Callable[[int, int], None] | None = None,
    sharing: NodeSharing | None = None,
    *,
    t0: float | None = None,
    running: RunningJobs | None = None,
) -> SlurmSchedule | SharedSlurmSchedule:
    """Return the schedule that Slurm makes of these jobs from t0 on, or until Ctrl-C.

    Without `sharing` nodes are given whole; without t0 the clocks begin with the first submit. Jobs that are `running`
    hold nodes at t0.
    """
    refuse_on_slurm(workload, federation, slurm, reading)
    of_node = federation.group_of_node
    federation, named = with_named_nodes(federation)
    if sharing is not None:
        refuse_other_sharing(slurm)
        workload, by_node = with_memory(with_whole_nodes(workload, slurm), slurm)
    packed: Packed = pack(workload, federation, slurm, reading, sharing, t0=t0, running=running, of_node=of_node)
    runs: list[SlurmSchedule | SharedSlurmSchedule] = []
    for member in range(max(1, slurm.ensemble)):
        one, sooner = draw_clocks(packed, member)
        shared = None
        if sharing is not None:
            weight, taking = one.problem.machine.weight, closed_nodes(federation)[one.problem.windows.taking]
            run = None if running is None else running.renumbered(one.rows)
            shared = shared_of(workload.take(one.rows), federation, by_node[one.rows], weight, taking, run)
        state = new_state(one.problem, one.priorities, shared)
        _refuse_over_limits(workload, one, state)
        event_loop.begin(one.problem, state)
        state.counter[Counter.NEXT_MAIN] -= sooner
        status = _to_the_end(one.problem, state, progress)
        runs.append(_schedule(workload, federation, slurm, reading, state, one, status, sharing, running, named))
        if status == event_loop.PAUSED:
            break
    return runs[0] if len(runs) == 1 else joined_runs(runs)


def _refuse_over_limits(workload: Workload, packed: Packed, state: State) -> None:
    job = first_over(packed.problem, state)
    if job >= 0:
        assert state.shared is not None
        row, nodes = packed.rows[job], int(state.shared.work.number[Number.FOUND])
        raise InfeasibleError(
            f"Job {workload.id[row]}: even on the empty machine its {counted(int(workload.tasks[row]), 'task')} are "
            f"given {counted(nodes, 'node')}, and a limit allows fewer; drop it, or give a wider limit."
        )


def _to_the_end(problem: Problem, state: State, progress: Callable[[int, int], None] | None) -> int:
    """Return what the loop says at its end, or that it goes on where Ctrl-C has stopped it."""
    status = int(event_loop.PAUSED)
    try:
        while status == event_loop.PAUSED:
            status = event_loop.run(problem, state, SLICE)
            if progress is not None:
                progress(int(state.counter[Counter.FINISHED]), problem.jobs.tasks.size)
    except KeyboardInterrupt:
        return int(event_loop.PAUSED)
    blind = problem.settings[Setting.MAIN] == 0 and problem.settings[Setting.OWN_CLOCK] == 0
    if status == event_loop.STUCK and blind:
        raise ScheduleError(
            f"{counted(int(state.counter[Counter.WAITING]), 'job')} would wait for ever: there is no main "
            "scheduler (sched_interval=-1), and no backfill pass after the last one that is given."
        )
    return int(status)


def _schedule(
    workload: Workload,
    federation: Federation,
    slurm: Slurm,
    reading: Reading,
    state: State,
    packed: Packed,
    status: int,
    sharing: NodeSharing | None,
    running: RunningJobs | None,
    named: list[str],
) -> SlurmSchedule | SharedSlurmSchedule:
    jobs, rows, base = len(workload), packed.rows, packed.base
    start, by, held = np.full(jobs, np.nan), np.zeros(jobs, dtype=np.int64), np.zeros_like(state.held)
    start[rows] = state.start + base
    by[rows], held[rows] = state.by, state.held
    finish = np.maximum(start + seconds_of_runs(workload, federation, reading), np.nextafter(start, np.inf))
    lost = _lost_in(state, packed, federation)
    if running is not None:
        _with_exact_times(running, start, finish, lost)
    if lost is not None:
        start[lost.killed], finish[lost.killed] = np.nan, np.nan
        held[np.isnan(start)] = 0
    now = float(state.counter[Counter.NOW] + base)
    notes = [*notes_before_run(slurm, workload, shared=sharing is not None), *named]
    if running is not None and running.rows.size and sharing is None:
        notes.append(f"assumed of {counted(running.rows.size, 'job')} running at {packed.t0:g} s: {ITS_NODES}")
    interrupted = status == event_loop.PAUSED
    if status == event_loop.STUCK:
        notes.append(unfinished_note(int(state.counter[Counter.FINISHED]), jobs))
    if interrupted:
        finish = np.where(finish <= now, finish, np.nan)
        done = int((~np.isnan(finish)).sum())
        notes.append(f"interrupted at {now:g} s: {done} of {counted(jobs, 'job')} finished")
    workload = _as_submitted(workload, packed, state, finish, now, lost)
    columns: dict[str, Any] = {
        "workload": workload, "federation": federation, "start": start, "finish": finish, "reading": reading,
        "t0": packed.t0, "notes": tuple(notes), "until": now if interrupted else np.inf, "lost": lost,
    }  # fmt: skip
    if sharing is None or state.shared is None:
        played = Played(by, held, int(state.counter[Counter.PASSES]), int(state.counter[Counter.TESTS]))
        return SlurmSchedule(**columns, policy=str(slurm), counts=_counts(held, federation), played=played)
    ordered = use_of(workload.take(rows), federation, start[rows], finish[rows], state.shared.work, None)
    use = ordered.take(np.argsort(rows), workload)
    columns["notes"] = (*notes, *partition_notes(use))
    if lost is not None:
        there = use_of_lost(workload, federation, lost, state.shared.work, None)
        columns["lost"], gone = lost._replace(counts=there.counts), there
    else:
        gone = None
    return SharedSlurmSchedule(
        **columns, policy=f"{slurm}, {sharing}", counts=use.counts, played=OnNodes(sharing, use, gone), by=by,
        integrals=NOT_KNOWN._replace(saturated_seconds=0.0),
    )  # fmt: skip


def _lost_in(state: State, packed: Packed, federation: Federation) -> LostRuns | None:
    """Return the runs that downtimes have ended; None if there are none."""
    runs, lost, windows = int(state.counter[Counter.LOST]), state.lost, packed.problem.windows
    if runs == 0:
        return None
    window = lost.window[:runs]
    return LostRuns(
        packed.rows[lost.job[:runs]],
        (lost.start[:runs] + packed.base).astype(np.float64),
        windows.exact[window],
        _counts(lost.nodes[:runs], federation),
        windows.kills[window] == 0,
    )


def _with_exact_times(running: RunningJobs, start: np.ndarray, finish: np.ndarray, lost: LostRuns | None) -> None:
    """Set the exact starts and ends of jobs that ran at the begin; the loop knows whole seconds."""
    for row, begun, ended in zip(running.rows.tolist(), running.start.tolist(), running.finish.tolist(), strict=True):
        again = [] if lost is None else np.flatnonzero(lost.job == row).tolist()
        if lost is not None and again:
            lost.start[again[0]] = begun
        else:
            start[row], finish[row] = begun, ended


def _as_submitted(
    workload: Workload, packed: Packed, state: State, finish: np.ndarray, now: float, lost: LostRuns | None
) -> Workload:
    """Return the workload with the submits that came out, if jobs follow others [45]."""
    if workload.feedback is None:
        return workload
    over, gone = np.where(finish <= now, finish, np.nan), np.zeros(len(workload), dtype=np.bool_)
    gone[packed.rows] = state.waiting.gone == 1
    if lost is not None:
        over[lost.killed] = lost.end[~lost.requeued]
    if workload.cancel_at is not None:
        gone &= workload.cancel_at.times <= now
        over[gone] = workload.cancel_at.times[gone]
    return replace(workload, submit=submits_after(workload, over, gone), after=replace_singletons(workload))


def _counts(held: np.ndarray, federation: Federation) -> np.ndarray:
    members = np.unpackbits(np.ascontiguousarray(held).astype("<u8").view(np.uint8), axis=1, bitorder="little")
    of_node = federation.group_of_node
    here = members[:, : of_node.size]
    each = [here[:, of_node == g].sum(axis=1, dtype=np.int64) for g in range(len(federation.groups))]
    return np.stack(each, axis=1)
