"""Evaluation of plans by simulation, one after the other, as users, searches, benchmarks and tests need it.

A plan is one row of integers, `order (n) | caps (n × groups) | dispatch | placement`. If plans choose the jobs' shapes,
`| choices (n)` follows. So selecting or copying a plan is copying a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, inlined, kernel, part
from fedsched.engine.arrays.structs import Plan, RunningJobs
from fedsched.engine.codes import Status
from fedsched.engine.loop.event_loop import begin, run
from fedsched.engine.loop.metric_integrals import integrals, joules_spared, lost_share
from fedsched.engine.numbers import Counter
from fedsched.engine.optional_features.dependencies import eligible_times
from fedsched.engine.optional_features.lost_runs import wasted
from fedsched.engine.pack.shape_arrays import RULES, Shapes, jobs_of, shape_all
from fedsched.model.schedule.metrics import Column, Measured, fill_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Floats, Ints, Problem, State

@dataclass(frozen=True, slots=True)
class Layout:
    """Tells where the parts of a plan (order, caps, rules, choices of shapes) are in its row of integers."""

    jobs: int
    groups: int
    shaped: bool = False  # whether rows choose the jobs' shapes, too

    @property
    def length(self) -> int:
        """Return how many integers a row has."""
        return self._unshaped + self.jobs * self.shaped

    @property
    def _unshaped(self) -> int:
        return self.jobs * (1 + self.groups) + RULES

    @property
    def keys_length(self) -> int:
        """Return how many numbers a genome has that a search decodes: one per job, and one per job and group."""
        return self.jobs * (1 + self.groups)

    def orders(self, rows: Ints) -> Ints:
        """Return the queue orders of some rows, rows × jobs, as a view."""
        return rows[:, : self.jobs]

    def caps(self, rows: Ints) -> Ints:
        """Return the caps of some rows, rows × jobs × groups, as a view."""
        return rows[:, self.jobs : self.jobs * (1 + self.groups)].reshape(len(rows), self.jobs, self.groups)

    def rules(self, rows: Ints) -> Ints:
        """Return the numbers of the dispatch and placement rules of some rows, rows × 2, as a view."""
        return rows[:, self._unshaped - RULES : self._unshaped]

    def choices(self, rows: Ints) -> Ints:
        """Return the number of each job's shape in some rows, as a view; 0 is the present shape."""
        return rows[:, self._unshaped :]

    def pack(self, orders: Ints, caps: Ints, rules: Ints, choices: Ints | None = None) -> Ints:
        """Return rows made of their parts: orders, caps, rules and choices of shapes.

        If rows have choices, `choices=None` keeps the jobs' present shapes.
        """
        parts = [orders, caps.reshape(len(orders), -1), rules]
        if self.shaped:
            parts.append(np.zeros_like(orders) if choices is None else choices)
        return np.concatenate(parts, axis=1, dtype=np.int64)


def unpack_row(layout: Layout, row: NDArray[np.int64]) -> tuple[Ints, Ints, int, int]:
    """Return a row's queue order, caps, dispatch and placement, as copies."""
    rows = row[None]
    dispatch, placement = layout.rules(rows)[0].tolist()
    return layout.orders(rows)[0].copy(), layout.caps(rows)[0].copy(), dispatch, placement


@by_reference
class Common(NamedTuple):
    """What all plans of a problem share: the running jobs, and everything that rows do not contain."""

    shared: Plan  # gives what rows do not contain
    running: RunningJobs  # aligned with `Problem.running`
    measured: Measured
    missing: Floats  # what each job that never finishes adds to each metric; empty if all jobs finish
    missed: int  # the number of jobs that never finish under any plan
    shapes: Shapes | None = None  # if rows choose them


NO_JOB_IS_MISSING = np.zeros(0)


def no_running_jobs(groups: int) -> RunningJobs:
    """Return a RunningJobs without jobs, for this number of node groups."""
    none, rows = np.zeros(0), np.zeros(0, dtype=np.int64)
    return RunningJobs(0.0, rows, none, none, none, none, none, none, none, np.zeros((0, groups), dtype=np.int64))


@inlined
def plan_of(shared: Plan, jobs: int, groups: int, row: Ints) -> Plan:
    """Return the Plan that a row of integers describes, with views of the row; `shared` gives the rest."""
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
def _restore(problem: Problem, running: RunningJobs, state: State) -> None:
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


@inlined
def _without_end(problem: Problem, state: State) -> int:
    # How many jobs never finish: they were killed, or found no room as nodes stay closed.
    missed = 0
    for j in problem.arrival:
        if np.isnan(state.finish[j]):
            missed += 1
    for j in problem.running:
        if np.isnan(state.finish[j]):
            missed += 1
    return missed


@part
def rank_behind(problem: Problem, common: Common, state: State, status: int, metrics: Floats) -> int:
    """Change a plan's metrics so that it ranks behind all plans in which more jobs finish [48]; return a Status.

    Each job more that never finishes adds `common.missing`. If a job runs forever, nothing changes and the status is
    STUCK, else it is DONE.
    """
    if status == Status.STUCK and state.counter[Counter.RUNNING] > 0:
        return status  # a job runs forever
    if status == Status.STUCK:
        metrics[Column.LOSS_OF_CAPACITY] = lost_share(state.extras, problem.t0, problem.nodes)
    more = _without_end(problem, state) - common.missed
    for k in range(metrics.size):
        if np.isnan(metrics[k]):
            metrics[k] = 0.0
        if more != 0:
            metrics[k] += more * common.missing[k]
    return Status.DONE


@part
def evaluate_row(problem: Problem, common: Common, row: Ints, state: State, user_sums: Floats, metrics: Floats) -> int:
    """Simulate one plan, given as a row, and fill `metrics` with its metrics; return a Status."""
    if problem.running.size > 0:
        _restore(problem, common.running, state)
    groups = problem.groups.nodes.size
    jobs = jobs_of(common.shapes, row.size, groups)
    shape_all(common.shapes, groups, row)
    plan = plan_of(common.shared, jobs, groups, row)
    begin(problem, plan, state)
    status = run(problem, plan, state, np.iinfo(np.int64).max, np.inf)
    fill_row(
        common.measured,
        problem.t0,
        state.start,
        state.finish,
        state.counts,
        eligible_times(state.extras, state.load[:0]),
        wasted(state.extras, state.load[:0]),
        integrals(problem, state),
        user_sums,
        metrics,
    )
    joules = joules_spared(problem, state, metrics[Column.MAKESPAN])
    metrics[Column.ENERGY] -= joules
    metrics[Column.IDLE_ENERGY] -= joules
    if common.missing.size > 0:
        return rank_behind(problem, common, state, status, metrics)
    return status


@kernel
def evaluate_rows(
    problem: Problem,
    common: Common,
    rows: Ints,
    state: State,
    user_sums: Floats,
    metrics: Floats,
    first: int,
    last: int,
) -> int:
    """Simulate the plans in rows `first` to `last` − 1 and fill their rows of metrics.

    Return -1, or the first row that cannot be simulated to its end; later rows are then left out.
    """
    for c in range(first, last):
        if evaluate_row(problem, common, rows[c], state, user_sums, metrics[c]) != Status.DONE:
            return c
    return -1
