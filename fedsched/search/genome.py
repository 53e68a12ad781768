"""A plan as one row of whole numbers, and what every search needs of it: decoding, repair, evaluation.

A row is `order (n) | caps (n × groups) | dispatch | placement`: selecting or copying a plan is copying a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.compiled import inlined, kernel, part
from fedsched.engine.arrays import Clock, Plan
from fedsched.engine.codes import Placement, Status
from fedsched.engine.loop import begin, run
from fedsched.engine.meters import loss_of_capacity
from fedsched.engine.placement import place
from fedsched.metrics import Measured, fill_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays import Floats, Ints, Problem, State

RULES = 2  # numbers at the end of a row: dispatch, placement
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of a row lie."""

    jobs: int
    groups: int

    @property
    def length(self) -> int:
        """Return how many numbers a row has."""
        return self.jobs * (1 + self.groups) + RULES

    @property
    def keys_length(self) -> int:
        """Return how many numbers a genome of keys has: one a job, one a job and group."""
        return self.jobs * (1 + self.groups)

    def orders(self, rows: Ints) -> Ints:
        """Return the queue orders of some rows, as a view."""
        return rows[:, : self.jobs]

    def caps(self, rows: Ints) -> Ints:
        """Return the caps of some rows, rows × jobs × groups, as a view."""
        return rows[:, self.jobs : self.jobs * (1 + self.groups)].reshape(len(rows), self.jobs, self.groups)

    def rules(self, rows: Ints) -> Ints:
        """Return dispatch and placement of some rows, as a view."""
        return rows[:, -RULES:]

    def pack(self, orders: Ints, caps: Ints, rules: Ints) -> Ints:
        """Return rows made of their parts."""
        return np.concatenate([orders, caps.reshape(len(orders), -1), rules], axis=1, dtype=np.int64)


class Running(NamedTuple):
    """The jobs that run at t0 already, aligned with `Problem.running`: what each evaluation starts from."""

    start: Floats
    finish: Floats
    planned_end: Floats
    tc: Floats
    work_left: Floats
    estimate_left: Floats
    since: Floats
    counts: Ints


class Space(NamedTuple):
    """What the search kernels know beside the Problem."""

    shared: Plan  # what all candidates have in common
    running: Running
    limits: Ints  # jobs × groups: the caps that forbid nothing; the jobs of a row are the problem's first
    nodes: Ints  # nodes of every group: the empty federation
    no_load: Floats
    placements: Ints  # rules under which every job fits on the empty federation
    dispatches: Ints
    measured: Measured


@inlined
def plan_of(shared: Plan, jobs: int, groups: int, row: Ints) -> Plan:
    """Return the row as the engine's Plan: views, no copies."""
    order = row[:jobs]
    end = jobs * (1 + groups)
    caps = row[jobs:end].reshape((jobs, groups))
    return Plan(
        order,
        shared.order_key,
        order,
        shared.backfill_key,
        shared.separate_backfill,
        caps,
        shared.cap_row,
        row[end],
        row[end + 1],
    )


@part
def _restore(problem: Problem, running: Running, state: State) -> None:
    # A run changes the running jobs' rows; the next one needs them as they were.
    rates = state.rates
    for i in range(problem.running.size):
        j = problem.running[i]
        state.start[j] = running.start[i]
        state.finish[j] = running.finish[i]
        state.planned_end[j] = running.planned_end[i]
        rates.tc[j] = running.tc[i]
        rates.work_left[j] = running.work_left[i]
        rates.estimate_left[j] = running.estimate_left[i]
        rates.since[j] = running.since[i]
        for g in range(state.free.size):
            state.counts[j, g] = running.counts[i, g]


@part
def evaluate_row(problem: Problem, space: Space, row: Ints, state: State, user_sums: Floats, metrics: Floats) -> int:
    """Simulate the plan and fill its metric row; return a Status."""
    if problem.running.size > 0:
        _restore(problem, space.running, state)
    plan = plan_of(space.shared, space.limits.shape[0], space.limits.shape[1], row)
    begin(problem, plan, state)
    status = run(problem, plan, state, np.iinfo(np.int64).max, np.inf)
    fill_row(
        space.measured,
        problem.t0,
        state.start,
        state.finish,
        state.counts,
        state.clock[Clock.SATURATED_SECONDS],
        loss_of_capacity(problem, state),
        user_sums,
        metrics,
    )
    return status


@kernel
def evaluate_rows(
    problem: Problem,
    space: Space,
    rows: Ints,
    state: State,
    user_sums: Floats,
    metrics: Floats,
    first: int,
    last: int,
) -> int:
    """Fill the metric rows of rows first..last; return the first row that no simulation could end, or -1."""
    for c in range(first, last):
        if evaluate_row(problem, space, rows[c], state, user_sums, metrics[c]) != Status.DONE:
            return c
    return -1


@part
def _fits_empty(problem: Problem, space: Space, row: Ints, j: int, state: State) -> bool:
    plan = plan_of(space.shared, space.limits.shape[0], space.limits.shape[1], row)
    return place(problem, plan, j, space.nodes, space.no_load, state)


@inlined
def takes_any_nodes(placement: int) -> bool:
    """Return whether a rule places every job for which enough nodes are allowed, wherever these are."""
    return (
        placement == Placement.FASTEST
        or placement == Placement.BEST_FIT
        or placement == Placement.EFFICIENT
        or placement == Placement.POWERFUL
    )


@inlined
def keep_placeable(problem: Problem, space: Space, row: Ints, j: int, state: State) -> None:
    """Do as `make_placeable` for caps within their limits: most need no more than this look at their sums."""
    jobs, groups = space.limits.shape
    base = jobs + j * groups
    tasks = problem.tasks[j]
    placement = row[jobs * (1 + groups) + 1]
    begin = problem.groups.cluster_begin
    allowed = 0
    for k in range(begin.size - 1):
        here = 0
        for g in range(begin[k], begin[k + 1]):
            here += row[base + g]
        if here >= tasks and placement != Placement.HOME:
            return  # one cluster can hold it, and that is enough for every other rule
        allowed += here
    if allowed < tasks or not takes_any_nodes(placement):
        make_placeable(problem, space, row, j, state)


@part
def make_placeable(problem: Problem, space: Space, row: Ints, j: int, state: State) -> None:
    """Restore whole groups to a job, least forbidden first, until it fits on the empty federation."""
    jobs, groups = space.limits.shape
    base = jobs + j * groups
    allowed = 0
    for g in range(groups):
        row[base + g] = min(max(row[base + g], 0), space.limits[j, g])
        allowed += row[base + g]
    anywhere = takes_any_nodes(row[jobs * (1 + groups) + 1])
    while True:
        if allowed >= problem.tasks[j] and (anywhere or _fits_empty(problem, space, row, j, state)):
            return
        chosen = -1
        least = 2.0
        for g in range(groups):
            limit = space.limits[j, g]
            if row[base + g] < limit:
                weight = (space.nodes[g] - row[base + g]) / space.nodes[g]
                if weight < least:
                    chosen, least = g, weight
        if chosen < 0:
            return  # nothing is forbidden any more; `space.placements` holds only rules under which it fits
        allowed += space.limits[j, chosen] - row[base + chosen]
        row[base + chosen] = space.limits[j, chosen]


@kernel
def repair(problem: Problem, space: Space, rows: Ints, state: State) -> None:
    """Make every row feasible: caps within their limits, and each job placeable on the empty federation."""
    for c in range(rows.shape[0]):
        for j in range(space.limits.shape[0]):
            make_placeable(problem, space, rows[c], j, state)


@kernel
def decode_weights(problem: Problem, space: Space, weights: Floats, rows: Ints, state: State) -> None:
    """Set the rows' caps from weights in [0, 1] (rows × jobs·groups) and write the repaired weights back.

    A weight w forbids ⌊w·count + 1e-9⌋ nodes of the group to the job.
    """
    jobs, groups = space.limits.shape
    for c in range(rows.shape[0]):
        for j in range(jobs):
            for g in range(groups):
                i = j * groups + g
                forbidden = int(np.floor(weights[c, i] * space.nodes[g] + ROUNDING))
                rows[c, jobs + i] = min(space.nodes[g] - forbidden, space.limits[j, g])
            keep_placeable(problem, space, rows[c], j, state)
            for g in range(groups):
                i = j * groups + g
                weights[c, i] = (space.nodes[g] - rows[c, jobs + i]) / space.nodes[g]


def unpacked(layout: Layout, row: NDArray[np.int64]) -> tuple[Ints, Ints, int, int]:
    """Return a row's queue order, caps, dispatch and placement, as copies."""
    rows = row[None]
    dispatch, placement = layout.rules(rows)[0].tolist()
    return layout.orders(rows)[0].copy(), layout.caps(rows)[0].copy(), dispatch, placement
