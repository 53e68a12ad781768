"""Delays: the whole seconds by which a plan puts off each job, within the slack that its user grants [71].

Kernels do not read delays. Before a plan runs, its delays are written into the array of the jobs' earliest starts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.engine.compatibility import Use, refuse
from fedsched.engine.loop.feature_flags import MORE
from fedsched.engine.pack.shape_arrays import read_only
from fedsched.model.constraints.slack import delay_origin, slack_of
from fedsched.model.schedule.metrics import PRICED
from fedsched.model.time.reservations import earliest_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Floats, Ints, Problem
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.signal import Curve
    from fedsched.search.encoding.genome import PlanLayout
    from fedsched.search.methods.methods import MethodInfo
    from fedsched.search.problem.objectives import Objectives
    from fedsched.search.problem.packed import PackedProblem

MOVED = 0.35  # chance, for each move of a mutation, that a job also gets a new delay
NEAR = 0.4  # share of the new delays that are close to the old one
AT_ONCE = 0.2  # share of the new delays that are 0
REACH = 0.1  # most change of a close delay, as a share of the slack
MANY = 1000  # jobs for which the cheapest delays are computed together
MOST_STEPS = 1_000_000  # steps of a repeating signal to try for these jobs; if there are more, one period is tried
STREAM = 71  # number of the random stream, to keep it apart from those of the kernels
CURE = "leave the slack out (dataclasses.replace(workload, slack=None); fedsched: --put-off 0)"


class Delays(NamedTuple):
    """The limits of the delays in plans: each job's longest delay, the time it counts from, and the earliest start."""

    slack: Ints  # the longest delay, in whole seconds
    since: Floats  # the time from which its delay counts
    earliest: Floats  # its earliest start, however small its delay

    @property
    def choosers(self) -> Ints:
        """Return the indices of the jobs that a plan may put off: those with at least one second of slack."""
        return np.flatnonzero(self.slack > 0)

    def moments(self, delays: Ints) -> Floats:
        """Return each job's earliest start in seconds under these delays; a job with delay 0 keeps its own."""
        return np.where(delays > 0, np.maximum(self.earliest, self.since + delays), self.earliest)


def delays_on(
    workload: Workload, federation: Federation, t0: float, running: Ints, since: Floats | None = None
) -> Delays | None:
    """Return the limits of the jobs' delays; None if no job has a second of slack.

    Delays count from `since`, by default from each job's `delay_origin`. Running jobs get no slack. Raise if the
    workload or federation has a feature that does not go with slack.
    """
    slack = np.floor(slack_of(workload)).astype(np.int64)
    slack[running] = 0
    if not slack.any():
        return None
    refuse("slack", Use(workload, federation))
    own = earliest_starts(workload, federation)
    since = delay_origin(workload, t0) if since is None else since
    return Delays(slack, since, np.zeros(len(workload)) if own is None else np.array(own))


def with_writable_begins(problem: Problem, delays: Delays) -> tuple[Problem, Floats]:
    """Return the problem with its own array of earliest starts, at first without delays, and that array to write to."""
    assert problem.extras is not None
    moments = delays.earliest.copy()
    precedence = problem.extras.precedence._replace(earliest=read_only(moments))
    return problem._replace(extras=problem.extras._replace(precedence=precedence, more=MORE)), moments


# ---- variation ------------------------------------------------------------------------------------------------------


def random_delays(delays: Delays, count: int, rng: np.random.Generator) -> Ints:
    """Return random delays for `count` plans (plans × jobs), in seconds within the slack; about half of them are 0."""
    drawn = rng.integers(0, delays.slack + 1, size=(count, delays.slack.size))
    return np.where(rng.random(drawn.shape) < 0.5, drawn, 0)


def cheapest_delays(problem: PackedProblem) -> list[Ints]:
    """Return delays in seconds for first plans, one array for each priced objective: each job in its cheapest interval.

    The list is empty if plans delay no jobs or no objective is priced. The interval is as long as the job's run
    time on reference nodes. Its cost is the mean over the clusters that the job may run on, as if the job ran
    alone. It is tried at the job's earliest start, at its latest, and if it begins or ends at a signal's step.
    """
    delays, pricing = problem.delays, problem.pricing
    if delays is None or pricing is None:
        return []
    open_to, t0 = _clusters_of_jobs(problem), problem.problem.t0
    first = np.maximum(np.maximum(delays.since, delays.earliest), t0)
    found, passed = [], (first - delays.since).astype(np.int64)  # whole seconds of a delay that are over by `first`
    for metric in (name for name in problem.objectives.names if name in pricing.tariffs):
        chosen, curves = np.zeros_like(delays.slack), pricing.tariffs[metric].curves
        for jobs in np.array_split(delays.choosers, delays.choosers.size // MANY + 1):
            length = problem.problem.runtime[jobs].astype(np.float64)
            left = np.maximum(delays.slack - passed, 0)[jobs]
            begins = _cheapest_begins(curves, open_to[jobs], first[jobs], left, length)
            chosen[jobs] = np.where(begins > 0, passed[jobs] + begins, 0)
        found.append(chosen)
    return found


def _clusters_of_jobs(problem: PackedProblem) -> NDArray[np.bool_]:
    # Jobs × clusters: may the job run there?
    cluster, may = np.array(problem.problem.groups.cluster), problem.space.limits > 0
    return np.stack([may[:, cluster == k].any(axis=1) for k in range(int(cluster.max()) + 1)], axis=1)


def _cheapest_begins(
    curves: Sequence[Curve], open_to: NDArray[np.bool_], first: Floats, slack: Ints, length: Floats
) -> Ints:
    # The delay of each job with the least sum of its clusters' integrals; ties go to the earliest.
    end = first + slack + length
    jobs, begins = [np.arange(first.size)] * 2, [np.zeros(first.size), slack.astype(np.float64)]
    for curve, may in zip(curves, open_to.T, strict=True):
        reach = max(float(end.max() - first.min()), float((end - first)[may].sum()))
        if math.isfinite(curve.period) and curve.count(0.0, reach) > MOST_STEPS:  # one period stands for all
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
    """Set each child's delays in place: each job gets its delay in one of the two parents, at random."""
    rng = np.random.default_rng([STREAM, seed, generation])
    theirs = layout.delays(parents)
    from_first = rng.random((len(pairs), layout.jobs)) < 0.5
    layout.delays(children)[:] = np.where(from_first, theirs[pairs[:, 0]], theirs[pairs[:, 1]])


def mutate_delays(delays: Delays, layout: PlanLayout, rows: Ints, moves: Ints, *, seed: int, generation: int) -> None:
    """Give random jobs new delays, in place: each of a row's moves changes one job's delay with a fixed chance.

    `moves` has the number of moves of each row. A new delay is close to the old one, random within the slack, or 0.
    """
    rng = np.random.default_rng([STREAM, seed, generation])
    row = np.repeat(np.arange(len(rows)), rng.binomial(moves, MOVED))
    job = rng.choice(delays.choosers, size=row.size)
    slack, kind, present = delays.slack[job], rng.random(row.size), layout.delays(rows)
    near = present[row, job] + np.rint(slack * REACH * rng.uniform(-1.0, 1.0, size=row.size)).astype(np.int64)
    drawn = np.where(kind < NEAR, np.clip(near, 0, slack), rng.integers(0, slack + 1))
    present[row, job] = np.where(kind >= 1.0 - AT_ONCE, 0, drawn)


# ---- refusals -------------------------------------------------------------------------------------------------------


def refuse_slack(info: MethodInfo, objectives: Objectives) -> None:
    """Raise ValueError, for jobs with slack, if no objective can gain by delays or the method cannot delay jobs."""
    if not objectives.priced:
        raise ValueError(
            f"objectives={objectives.names}: jobs have slack, but none of these gains by a delay; choose one of "
            f"{', '.join(PRICED)}, or {CURE}."
        )
    if not info.takes_shapes:
        raise ValueError(
            f"Method {info.title} does not delay jobs, but these have slack; take ga or moga, or {CURE}."
        )
