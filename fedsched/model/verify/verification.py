"""The independent check behind `Schedule.verify()`, which runs the checks of all rules.

Here are the checks of capacity, node numbers and finishes. Finishes are computed anew from start times and node counts;
the code shares nothing with the simulation.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.constraints.holds import broken_holds
from fedsched.model.constraints.slack import broken_delays
from fedsched.model.machine.counters import counters_of
from fedsched.model.schedule.promises import broken_turns
from fedsched.model.time.reservations import reservation_of_jobs
from fedsched.model.verify.claimed_switching import broken_boots, off_times_of, switching_measures
from fedsched.model.verify.claims import broken_caps, broken_claims, cost_measures, drain_loss, workflow_measures
from fedsched.model.verify.limits_check import LimitsLeft, broken_limits
from fedsched.model.verify.lost_nodes_check import broken_losses, job_name, runs_of
from fedsched.model.verify.placement_check import broken_places
from fedsched.model.verify.queue_check import broken_cancellations, broken_submits, unstarted
from fedsched.model.verify.rates_check import broken_calendar, broken_rates, demand_of
from fedsched.model.verify.shapes_check import broken_shapes
from fedsched.model.verify.starts_check import broken_conditions, broken_pools, broken_starts, eligible_in, hopeless_in
from fedsched.model.verify.tasks_per_node_check import uneven_rows, what_is_wrong

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fedsched.model.schedule.metrics import Metrics
    from fedsched.model.schedule.node_numbers import Intervals
    from fedsched.model.schedule.schedule import Schedule

    Floats = NDArray[np.float64]



def violations(
    schedule: Schedule,
    *,
    tolerance: float,
    caps: NDArray[np.int64] | None,
    claimed: Metrics | None,
    nodes: Sequence[Intervals] | None = None,
) -> list[str]:
    """Return all ways in which a schedule violates the model, one line each; [] if it is valid.

    If starts, nodes, conditions or lost runs are wrong, only these errors are returned. `tolerance` is the largest
    relative error of times. `caps` (jobs × groups) is the most nodes that a job may use. `claimed` are metrics, and
    `nodes` the node numbers of each job, to check as well.
    """
    gone = unstarted(schedule)
    stuck = hopeless_in(schedule, gone)
    away = stuck & ~gone
    found = [*broken_starts(schedule, away, gone), *broken_cancellations(schedule, gone), *_nodes_per_job(schedule)]
    found += [*broken_places(schedule, caps), *_times(schedule), *broken_submits(schedule, gone)]
    found += [*broken_conditions(schedule), *broken_delays(schedule), *broken_holds(schedule)]
    found += [*broken_losses(schedule), *broken_shapes(schedule), *broken_turns(schedule)]
    if found:
        return found  # other violations would only follow from these
    away |= gone
    away[schedule.lost.killed] = True
    runs = runs_of(schedule, np.flatnonzero(~away), np.flatnonzero(gone & ~stuck))
    counters = counters_of(schedule.workload, schedule.federation)
    reserved = reservation_of_jobs(schedule.workload, schedule.federation)[runs.job]
    found += [*_capacity(runs.all), *broken_pools(runs.all), *broken_calendar(runs.all, reserved, runs.given)]
    found += [*broken_limits(schedule, counters, runs), *broken_caps(runs, schedule)]
    if nodes is not None:
        found += _node_numbers(runs.ended, list(compress(nodes, ~away)))
    found += broken_rates(runs.all, runs.cut, tolerance)
    off_times = off_times_of(runs, schedule)
    found += broken_boots(runs, schedule, off_times)
    eligible = eligible_in(schedule)[~away]
    of_all = {}
    if claimed is not None and runs.job.size:
        inside = reservation_of_jobs(schedule.workload, schedule.federation) >= 0
        of_all = {"drain_loss": drain_loss(schedule, runs, LimitsLeft(counters), inside)}
        of_all |= workflow_measures(schedule) | cost_measures(runs.all, off_times.stretches)
        of_all |= switching_measures(runs, schedule, off_times)
    found += broken_claims(
        runs, LimitsLeft(counters), demand_of(runs.all), reserved, eligible, of_all, off_times, claimed, tolerance
    )
    return found


def _nodes_per_job(schedule: Schedule) -> Iterator[str]:
    counts, tasks = schedule.counts, schedule.workload.tasks
    sizes = np.array([group.count for group in schedule.federation.groups])
    for row, g in np.argwhere(counts < 0):
        yield f"{job_name(schedule, row)}: {counts[row, g]} nodes of group {g} is below 0."
    alike, uneven = np.ones(len(schedule), dtype=np.bool_), uneven_rows(schedule.workload)
    alike[uneven] = False
    for row in np.flatnonzero((counts.sum(axis=1) != tasks) & ~np.isnan(schedule.start) & alike):
        yield f"{job_name(schedule, row)}: it has {counts[row].sum()} nodes for {tasks[row]} tasks."
    for row in uneven[~np.isnan(schedule.start[uneven])].tolist():
        if reason := what_is_wrong(schedule.workload, schedule.federation, row, counts[row]):
            yield f"{job_name(schedule, row)}: {reason}."
    for row, g in np.argwhere(counts > sizes):
        yield f"{job_name(schedule, row)}: {counts[row, g]} nodes of group {g}, which has {sizes[g]}."


def _times(schedule: Schedule) -> Iterator[str]:
    start, finish, submit = schedule.start, schedule.finish, schedule.workload.submit
    for row in np.flatnonzero(start < submit):
        yield f"{job_name(schedule, row)}: it starts at {start[row]:g}, before its submit at {submit[row]:g}."
    for row in np.flatnonzero(finish < start):
        yield f"{job_name(schedule, row)}: it finishes at {finish[row]:g}, before its start at {start[row]:g}."


def _capacity(schedule: Schedule) -> Iterator[str]:
    # At one instant, ends come before starts: a node may be handed over.
    start, finish = schedule.start, schedule.finish
    times = np.concatenate([finish, start])
    kind = np.repeat([0, 1], len(start))
    order = np.lexsort((kind, times))
    for g, group in enumerate(schedule.federation.groups):
        change = np.concatenate([-schedule.counts[:, g], schedule.counts[:, g]])[order]
        # a job that ends as it starts releases its nodes before it takes them
        over = np.flatnonzero(np.cumsum(change) > group.count)
        if over.size:
            event = order[over[0]]
            used = int(np.cumsum(change)[over[0]])
            row = int(event % len(start))
            yield (
                f"{job_name(schedule, row)}: at {times[event]:g} group {g} has {used} nodes in use, "
                f"but only {group.count} nodes."
            )


def _node_numbers(schedule: Schedule, nodes: Sequence[Intervals]) -> Iterator[str]:
    for row, intervals in enumerate(nodes):
        held = sum(last - first + 1 for first, last in intervals)
        if held != schedule.counts[row].sum():
            yield f"{job_name(schedule, row)}: it is given {held} node numbers for its tasks."
    # Nodes in use over time, stored as disjoint runs sorted by first node, because runs are few and nodes many. At one
    # instant, ends come before starts.
    start, finish = schedule.start.tolist(), schedule.finish.tolist()
    runs = [(row, (first, last, row)) for row, intervals in enumerate(nodes) for first, last in intervals]
    events = [(start[row], 1, run) for row, run in runs] + [(finish[row], 0, run) for row, run in runs]
    taken: list[tuple[int, ...]] = []
    for _, begins, run in sorted(events):
        first, last, row = run
        place = bisect_left(taken, run)
        if not begins:
            del taken[place : place + (run in taken[place : place + 1])]
            continue
        near = taken[max(place - 1, 0) : bisect_left(taken, (last + 1,))]
        clashes = [one for one in near if one[1] >= first]
        for begin, _, other in clashes:
            user = job_name(schedule, other).lower()
            yield f"{job_name(schedule, row)}: node {max(first, begin)} is still used by {user}."
        if not clashes and start[row] < finish[row]:
            taken.insert(place, run)
