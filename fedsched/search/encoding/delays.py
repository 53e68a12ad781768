"""Delays: by how many whole seconds a plan puts off each job, within the slack that its user grants [71].

Kernels know nothing of them. What a plan says is written, before the plan runs, where its jobs' earliest starts stand.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.engine.compatibility import Use, refuse
from fedsched.engine.loop.feature_flags import as_used
from fedsched.engine.pack.shape_arrays import seen
from fedsched.model.schedule.delays import counted_from, slack_of
from fedsched.model.schedule.metrics import PRICED
from fedsched.model.time.reservations import earliest_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Floats, Ints, Problem
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.signal import Curve
    from fedsched.search.encoding.layout import PlanLayout
    from fedsched.search.methods.methods import MethodInfo
    from fedsched.search.problem.objectives import Objectives
    from fedsched.search.problem.packed import PackedProblem

MOVED = 0.35  # of the moves of a mutation: how many put off a job anew, beside the others
NEAR = 0.4  # of these: how many by little more or less than before
AT_ONCE = 0.2  # and how many not at all
REACH = 0.1  # how much is little: this share of the slack
MANY = 1000  # jobs whose begins are looked at together
MOST_STEPS = 1_000_000  # of a repeating signal that these jobs look at; if there are more, one period is looked at
STREAM = 71  # of random numbers, beside those of the kernels
CURE = "leave the slack out (dataclasses.replace(workload, slack=None); fedsched: --put-off 0)"


class Delays(NamedTuple):
    """What plans may say of delays."""

    slack: Ints  # of each job, in whole seconds
    since: Floats  # from when its delay counts
    earliest: Floats  # before when it does not start, however small its delay

    @property
    def choosers(self) -> Ints:
        """Return the jobs that may be put off."""
        return np.flatnonzero(self.slack > 0)

    def moments(self, delays: Ints) -> Floats:
        """Return before when no job starts, with these delays."""
        return np.where(delays > 0, np.maximum(self.earliest, self.since + delays), self.earliest)


def delays_on(workload: Workload, federation: Federation, t0: float, running: Ints) -> Delays | None:
    """Return what plans may say of the jobs' delays; None where no job has a second of slack."""
    slack = np.floor(slack_of(workload)).astype(np.int64)
    slack[running] = 0
    if not slack.any():
        return None
    refuse("slack", Use(workload, federation))
    own = earliest_starts(workload, federation)
    return Delays(slack, counted_from(workload, t0), np.zeros(len(workload)) if own is None else np.array(own))


def opened(problem: Problem, delays: Delays) -> tuple[Problem, Floats]:
    """Return a problem with earliest starts of its own, those without delays, and where to write others."""
    assert problem.extras is not None
    moments = delays.earliest.copy()
    precedence = problem.extras.precedence._replace(earliest=seen(moments))
    return problem._replace(extras=as_used(problem.extras._replace(precedence=precedence))), moments


# ---- variation ------------------------------------------------------------------------------------------------------


def random_delays(delays: Delays, count: int, rng: np.random.Generator) -> Ints:
    """Return random delays of so many plans, about half of the jobs put off."""
    drawn = rng.integers(0, delays.slack + 1, size=(count, delays.slack.size))
    return np.where(rng.random(drawn.shape) < 0.5, drawn, 0)


def cheapest_delays(problem: PackedProblem) -> list[Ints]:
    """Return delays for plans to begin with: each job in its cheapest stretch, as if it were alone; by each tariff.

    The stretch is as long as the job runs on reference nodes, and costs what it does in the mean of the clusters that
    the job may run on. It is sought at the job's earliest start, at its latest, and where it begins or ends with a step
    of a signal.
    """
    delays, pricing = problem.delays, problem.pricing
    if delays is None or pricing is None:
        return []
    found, first, open_to = [], np.maximum(delays.since, delays.earliest), _clusters_of_jobs(problem)
    for metric in (name for name in problem.objectives.names if name in pricing.tariffs):
        chosen, curves = np.zeros_like(delays.slack), pricing.tariffs[metric].curves
        for jobs in np.array_split(delays.choosers, delays.choosers.size // MANY + 1):
            length = problem.problem.runtime[jobs].astype(np.float64)
            chosen[jobs] = _cheapest_begins(curves, open_to[jobs], first[jobs], delays.slack[jobs], length)
        found.append(chosen)
    return found


def _clusters_of_jobs(problem: PackedProblem) -> NDArray[np.bool_]:
    # Which clusters each job may run on.
    cluster, may = np.array(problem.problem.groups.cluster), problem.space.limits > 0
    return np.stack([may[:, cluster == k].any(axis=1) for k in range(int(cluster.max()) + 1)], axis=1)


def _cheapest_begins(
    curves: Sequence[Curve], open_to: NDArray[np.bool_], first: Floats, slack: Ints, length: Floats
) -> Ints:
    # By how much each job is put off to where its clusters' curves together have least of it; of equals the earliest.
    end = first + slack + length
    jobs, begins = [np.arange(first.size)] * 2, [np.zeros(first.size), slack.astype(np.float64)]
    for curve, may in zip(curves, open_to.T, strict=True):
        reach = max(float(end.max() - first.min()), float((end - first)[may].sum()))
        if math.isfinite(curve.period) and curve.count(0.0, reach) > MOST_STEPS:  # a step's first time stands for all
            job = np.repeat(np.flatnonzero(may), curve.times.size)
            begun = np.mod(np.resize(curve.times, job.size) - first[job], curve.period)
            ended = np.mod(begun - length[job], curve.period)
        else:
            steps = curve.changes(float(first.min()), float(end.max()))
            low, high = np.searchsorted(steps, first, side="right"), np.searchsorted(steps, end, side="left")
            count = np.where(may, high - low, 0)
            job = np.repeat(np.arange(first.size), count)
            begun = steps[np.arange(job.size) + (low - np.cumsum(count) + count)[job]] - first[job]
            ended = begun - length[job]
        jobs, begins = [*jobs, job, job], [*begins, begun, ended]
    job, begin = np.concatenate(jobs), np.concatenate(begins)
    able = (begin >= 0.0) & (begin <= slack[job])
    job, begin = job[able], np.rint(begin[able])
    since = first[job] + begin
    spans = [curve.integral(since + length[job]) - curve.integral(since) for curve in curves]
    cost = np.where(open_to[job].T, spans, 0.0).sum(axis=0)
    order = np.lexsort((begin, cost, job))
    return begin[order[np.searchsorted(job[order], np.arange(first.size))]].astype(np.int64)


def cross_delays(layout: PlanLayout, parents: Ints, pairs: Ints, children: Ints, *, seed: int, generation: int) -> None:
    """Give each job of each child the delay that it has in either parent."""
    rng = np.random.default_rng([STREAM, seed, generation])
    theirs = layout.delays(parents)
    from_first = rng.random((len(pairs), layout.jobs)) < 0.5
    layout.delays(children)[:] = np.where(from_first, theirs[pairs[:, 0]], theirs[pairs[:, 1]])


def mutate_delays(delays: Delays, layout: PlanLayout, rows: Ints, moves: Ints, *, seed: int, generation: int) -> None:
    """Put off some jobs anew, in place: one after the other for some of so many moves of each plan."""
    rng = np.random.default_rng([STREAM, seed, generation])
    row = np.repeat(np.arange(len(rows)), rng.binomial(moves, MOVED))
    job = rng.choice(delays.choosers, size=row.size)
    slack, kind, present = delays.slack[job], rng.random(row.size), layout.delays(rows)
    near = present[row, job] + np.rint(slack * REACH * rng.uniform(-1.0, 1.0, size=row.size)).astype(np.int64)
    drawn = np.where(kind < NEAR, np.clip(near, 0, slack), rng.integers(0, slack + 1))
    present[row, job] = np.where(kind >= 1.0 - AT_ONCE, 0, drawn)


# ---- what has no delays ---------------------------------------------------------------------------------------------


def refuse_slack(info: MethodInfo, objectives: Objectives) -> None:
    """Refuse by name what cannot put off jobs, or has no reason to, where they have slack."""
    if not objectives.priced:
        raise ValueError(
            f"objectives={objectives.names}: jobs have slack, and none of these is better for a delay; seek one of "
            f"{', '.join(PRICED)}, or {CURE}."
        )
    if not info.takes_shapes:
        raise ValueError(
            f"Plans of method {info.title} put off no jobs, and these have slack; take ga or moga, or {CURE}."
        )
