"""Lower bounds in closed form, by the longest job, areas and wide jobs, on makespan, responses and waits."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.lower.relaxation import ROUNDING, suffix_bounds

if TYPE_CHECKING:
    from fedsched.bounds.lower.relaxation import Floats, Ints, Relaxation

FAMILIES = 128  # thresholds p of the dual-feasible family that are tried
KEPT_FAMILIES = 3  # the best of them, which the LP uses


def longest_job(relaxation: Relaxation) -> float:
    """Return the bound on the makespan by single jobs: the greatest release plus shortest duration, in seconds."""
    return float((relaxation.release + relaxation.shortest).max())


def area(relaxation: Relaxation) -> float:
    """Return the bound on the makespan by areas: max over releases r of r + (node-seconds released from r on)/N.

    A job's node-seconds are τ_j·d_j,v(τ_j): its tasks times its shortest duration. N is the number of nodes. The
    same holds for each pool, with the jobs' needs and the pool's amount; the greatest bound is returned.
    """
    shares = [(relaxation.tasks, relaxation.total_nodes)]
    shares += [(relaxation.pool_need[:, p], int(amount)) for p, amount in enumerate(relaxation.pool_amount) if amount]
    shortest = relaxation.shortest
    return max(float(suffix_bounds(relaxation.release, need * shortest, of)[1].max()) for need, of in shares)


def dual_feasible(tasks: Ints, threshold: int, nodes: int) -> Floats:
    """Return f_p(τ): N if τ > N − p; τ if p <= τ <= N − p; else 0, for whole p <= (N + 1)/2.

    No set of jobs that fits on N nodes has Σ f_p above N.
    """
    size = np.where(tasks < threshold, 0, tasks)
    return np.asarray(np.where(tasks > nodes - threshold, nodes, size).astype(np.float64))


def threshold_of(row: Floats, tasks: Ints, nodes: int) -> int:
    """Return the threshold p of a row of values f_p (`dual_feasible`) for jobs of these numbers of tasks."""
    wide = tasks[row >= nodes]
    return nodes - int(wide.min()) + 1 if wide.size else int(tasks[row > 0].min(initial=nodes))


def wide_jobs(relaxation: Relaxation) -> tuple[float, Floats]:
    """Return the best area bound with the sizes f_p in place of tasks, and the rows f_p(τ_j) of the best few p.

    The sizes are those of `dual_feasible`. The bound is 0, without rows, if no job takes more than half, but not
    all, of the nodes.
    """
    nodes, tasks = relaxation.total_nodes, relaxation.tasks
    thresholds = np.unique(nodes - tasks + 1)  # the least p with which a job of τ tasks counts as wide as the machine
    thresholds = thresholds[(thresholds > 1) & (thresholds <= (nodes + 1) // 2)]
    if thresholds.size > FAMILIES:
        thresholds = thresholds[np.linspace(0, thresholds.size - 1, FAMILIES).astype(np.int64)]
    if not thresholds.size:
        return 0.0, np.zeros((0, tasks.size))
    sizes = np.stack([dual_feasible(tasks, p, nodes) for p in thresholds.tolist()])
    shortest = relaxation.shortest
    values = np.array([suffix_bounds(relaxation.release, size * shortest, nodes)[1].max() for size in sizes])
    best = np.argsort(-values, kind="stable")[:KEPT_FAMILIES]
    return float(values[best[0]]), sizes[best]


@dataclass(frozen=True, slots=True, eq=False)
class Squashed:
    """The schedule of the jobs one after another on a single machine of rate 1, which may interrupt them."""

    completion: Floats
    mean_busy: Floats  # the mean instant of the work on a job


def squashed(release: Floats, work: Floats, priority: Floats, *, remaining: bool) -> Squashed:
    """Return the single-machine schedule that always runs the released job of least priority value.

    With `remaining` the value of a job falls with its work left; with `priority` = work it is SRPT, which gives the
    least Σ completion. Without `remaining` and with `priority` = work/weight, it gives the least Σ
    weight·mean_busy.
    """
    if release.size and (release == release[0]).all():  # the usual case: without preemption
        order = np.argsort(priority, kind="stable")
        done = np.empty(work.size)
        done[order] = np.cumsum(np.concatenate([release[:1], work[order]]))[1:]
        return Squashed(done, done - work / 2)
    return _preempted(release, work, priority, remaining=remaining)


def _preempted(release: Floats, work: Floats, priority: Floats, *, remaining: bool) -> Squashed:
    # Any releases.
    order = np.argsort(release, kind="stable").tolist()
    begin, left = release.tolist(), work.tolist()
    moments, completion = [0.0] * len(left), [0.0] * len(left)
    waiting: list[tuple[float, int]] = []
    rank = priority.tolist()
    clock, arrived = 0.0, 0
    while arrived < len(order) or waiting:
        if not waiting:
            clock = max(clock, begin[order[arrived]])
        while arrived < len(order) and begin[order[arrived]] <= clock:
            heapq.heappush(waiting, (rank[order[arrived]], order[arrived]))
            arrived += 1
        _, j = waiting[0]
        until = begin[order[arrived]] if arrived < len(order) else np.inf
        spell = min(left[j], until - clock)
        moments[j] += spell * (clock + spell / 2)
        if left[j] <= until - clock:
            clock += left[j]
            left[j] = 0.0
            completion[j] = clock
            heapq.heappop(waiting)
        else:
            left[j] -= spell
            clock = until
            if remaining:
                heapq.heapreplace(waiting, (left[j], j))
    done = np.array(completion)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(work > 0, np.array(moments) / work, done)
    return Squashed(done, mean)


@dataclass(frozen=True, slots=True)
class Responses:
    """Lower bounds on Σ response, Σ τ·response and Σ wait."""

    flow: float
    weighted: float
    wait: float


def responses(relaxation: Relaxation, works: list[Floats]) -> Responses:
    """Return lower bounds on the sums of the jobs' responses, weighted responses and waits, in seconds.

    Give every node-second a price, with sum 1 over all nodes. Each entry of `works` is the jobs' work on a machine
    of rate 1 at such prices, e.g. areas/N. No schedule finishes the work faster than that machine. A job that runs
    from S to C without a break has its mean busy instant at (S + C)/2, so C = mean + run/2. This combines the
    machine's bound (squashed area) with the bound by durations.
    """
    shortest, longest = relaxation.shortest, relaxation.longest
    release, late = relaxation.release, relaxation.late
    tasks = relaxation.tasks.astype(np.float64)
    flow, weighted, wait = float(shortest.sum()), float(tasks @ shortest), 0.0
    for work in works:
        srpt = squashed(release, work, work, remaining=True)
        flow = max(flow, float((srpt.completion - release).sum()))
        even = squashed(release, work, work, remaining=False).mean_busy - release
        flow = max(flow, float((even + shortest / 2).sum()))
        by_tasks = squashed(release, work, work / tasks, remaining=False).mean_busy - release
        weighted = max(weighted, float(tasks @ (by_tasks + shortest / 2)))
        # Contention stretches runs, but with the same starts the unstretched runs fit too: S = mean − run/2.
        # (A rounding error in the difference of two equal times is no wait.)
        wait = max(wait, float((even - longest / 2).sum() - ROUNDING * even.sum()))
    # A job that runs already waits no longer: the others do, and it is no later than they say.
    waited = float((late - relaxation.begun).sum())
    return Responses(flow + float(late.sum()), weighted + float(tasks @ late), wait + waited)


LONG_SETS = 32  # sets of jobs that are tried


def longest_wait(relaxation: Relaxation, works: list[Floats]) -> float:
    """Return a lower bound on the longest wait of a job, in seconds.

    If no job waits longer than W, all jobs have started by their last submit plus W. By then the machine has done
    all their work except that of the jobs running at that instant, which have at most N tasks in all. `works` are
    as in `responses`.
    """
    waited = relaxation.late - relaxation.begun
    best = float(waited.max())
    shortest = relaxation.shortest
    order = np.argsort(shortest, kind="stable")
    submitted = relaxation.release - relaxation.late
    for count in np.unique(np.linspace(1, order.size, LONG_SETS).astype(np.int64)).tolist():
        rows = order[:count]
        rows = rows[relaxation.begun[rows] <= 0.0]
        if not rows.size:
            continue
        tasks = relaxation.tasks[rows].astype(np.float64)
        for work in works:
            of = work[rows]
            dear = np.argsort(-of / tasks, kind="stable")
            room = np.clip(relaxation.total_nodes - np.concatenate([[0.0], tasks[dear].cumsum()[:-1]]), 0.0, None)
            unfinished = float((of[dear] * np.minimum(room / tasks[dear], 1.0)).sum())
            started = float(relaxation.release[rows].min()) + float(of.sum()) - unfinished
            best = max(best, started - float(submitted[rows].max()) - ROUNDING * (started + float(of.sum())))
    return best
