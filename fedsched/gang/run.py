"""simulate(): a workload of gangs and local jobs through the compiled event loop."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from fedsched.gang.schedule import GangSchedule
from fedsched.gang.system import ROUTINGS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.gang.system import GangSystem
    from fedsched.workload import Workload


def simulate(
    workload: Workload,
    system: GangSystem,
    *,
    max_completions: int | None = None,
    time_limit: float = math.inf,
    seed: int = 0,
) -> GangSchedule:
    """Return what happens to the workload on the system: when and where every job runs.

    A job of one task that names a site (`origin`) is a local job of that site; every other job is a gang that arrives
    at the grid. Gangs too large for the system are turned away and named in the result's notes; the others go on.

    Parameters
    ----------
    max_completions
        Stop after so many completed jobs; default: when all are done.
    time_limit
        Stop at this time.
    seed
        What the ties between equally short queues are broken by.
    """
    from fedsched.gang.kernel import Counter, Inputs, State, run_events

    if max_completions is not None and operator.index(max_completions) < 1:
        raise ValueError(f"simulate: max_completions={max_completions} must be at least 1.")
    if math.isnan(time_limit):
        raise ValueError("simulate: time_limit=nan must be a number; leave it out for no limit.")
    if operator.index(seed) < 0:
        raise ValueError(f"simulate: seed={seed} must be at least 0.")
    local = (workload.tasks == 1) & (workload.origin >= 0)
    beyond = local & (workload.origin >= len(system.processors))
    if beyond.any():
        row = int(np.flatnonzero(beyond)[0])
        raise ValueError(
            f"Job {workload.id[row]}: origin={workload.origin[row]} names no site of this system, which has "
            f"{len(system.processors)}; give the system as many sites as the workload."
        )
    fits = workload.tasks <= system.largest
    kept = np.flatnonzero(fits)
    rows = kept[np.lexsort((workload.id[kept], workload.submit[kept]))]
    jobs, processors = rows.size, system.total
    size = np.ascontiguousarray(workload.tasks[rows])
    offset = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    inputs = Inputs(
        submit=np.ascontiguousarray(workload.submit[rows]),
        size=size,
        service=np.ascontiguousarray(workload.runtime[rows]),
        home=np.where(local, workload.origin, -1)[rows].astype(np.int64),
        offset=offset,
        drawn=_drawn(int(seed), jobs),
        site_first=np.concatenate(([0], np.cumsum(system.processors))).astype(np.int64),
        approach=system.approach,
        routing=ROUTINGS.index(system.routing),
        overhead=float(system.overhead),
        threshold=float(system.threshold),
        max_completions=jobs if max_completions is None else int(max_completions),
        time_limit=float(time_limit),
    )
    state = State(
        start=np.full(jobs, np.nan),
        finish=np.full(jobs, np.nan),
        length=np.full(jobs, np.nan),
        placed=np.full(offset[-1], -1, dtype=np.int64),
        next_task=np.full(offset[-1], -1, dtype=np.int64),
        running=np.full(processors, -1, dtype=np.int64),
        busy_until=np.zeros(processors),
        head=np.full(processors, -1, dtype=np.int64),
        tail=np.full(processors, -1, dtype=np.int64),
        queued=np.zeros(processors, dtype=np.int64),
        grid_next=np.full(jobs, -1, dtype=np.int64),
        grid_ends=np.full(2, -1, dtype=np.int64),
        heap=np.zeros(processors + 1, dtype=np.int64),
        waiting_of_size=np.zeros(system.largest + 1, dtype=np.int64),
        chosen=np.zeros(processors, dtype=np.int64),
        clock=np.array([inputs.submit[0] if jobs else 0.0, 0.0]),
        counter=np.zeros(len(Counter), dtype=np.int64),
    )
    state.counter[Counter.IDLE] = processors
    status = int(run_events(inputs, state, np.repeat(np.arange(jobs), size)))
    end = float(state.clock[0])
    notes = []
    if not fits.all():
        turned_away = workload.id[~fits]
        notes.append(
            f"{turned_away.size} jobs need more than the {system.largest} processors that approach {system.approach} "
            f"can give a gang, and were turned away; the first is job {turned_away[0]}"
        )
    done = int(state.counter[Counter.COMPLETED])
    if status:
        arrived = int(state.counter[Counter.ARRIVED])
        why = ("", "limit of completions", "time limit", "end of all events")[status]
        notes.append(
            f"stopped at the {why} at {end:g}: {done} of {jobs} jobs done, "
            f"{arrived - done} arrived and unfinished, {jobs - arrived} yet to arrive"
        )

    def full(values: NDArray[np.float64]) -> NDArray[np.float64]:
        column = np.full(len(workload), np.nan)
        column[rows] = values
        return column

    cut = full(state.finish)
    cut[np.greater(cut, end, where=~np.isnan(cut), out=np.zeros(len(workload), dtype=bool))] = np.nan
    if status == 1:  # a job due at this very instant was not taken from the heap any more
        cut[rows[state.heap[: state.counter[Counter.RUNNING]]]] = np.nan
    first = np.zeros(len(workload) + 1, dtype=np.int64)
    placed_size = np.where(fits, workload.tasks, 0)
    np.cumsum(placed_size, out=first[1:])
    processor = np.full(int(first[-1]), -1, dtype=np.int64)
    begin = np.repeat(first[rows], size) + np.arange(offset[-1]) - np.repeat(offset[:-1], size)
    processor[begin] = state.placed
    return GangSchedule(
        workload=workload,
        system=system,
        start=full(state.start),
        finish=cut,
        length=full(state.length),
        first=first,
        processor=processor,
        local=local,
        rejected=~fits,
        end=end,
        lost=float(state.clock[1]),
        backfilled=int(state.counter[Counter.BACKFILLED]),
        events=int(state.counter[Counter.EVENTS]),
        notes=tuple(notes),
    )


def _drawn(seed: int, jobs: int) -> NDArray[np.int64]:
    """Return splitmix64 of (seed, job) for every job, without the two lowest bits: what ties are broken by."""
    x = np.arange(1, jobs + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x += np.uint64(seed * 0xD1342543DE82EF95 % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((x ^ (x >> np.uint64(31))) >> np.uint64(2)).astype(np.int64)
