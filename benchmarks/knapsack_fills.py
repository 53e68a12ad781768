"""Plans made from their beginning on: whenever nodes are free, knapsacks choose the jobs that fill them; compiled.

What is free of a group is filled by the jobs that are worth the most together, a node's worth being a taste (for long
jobs, wide ones, those for which others wait) and a number of the job's own. A job may also straddle groups, where not
too much of their speed is lost. Tastes are drawn, those of the best plan are kept, then the jobs' numbers are annealed.
No job is started that would end too late to be of use, so that what is left over at the end has been thought of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np
from free_blocks import Lines
from past_end import problem_to_fill, shared_out

if TYPE_CHECKING:
    from past_end import Filled

    from fedsched.bench import Document

TASTES = 8  # fill, long, wide, waited for, width from which jobs straddle first, loss then, loss afterwards, end
DRAWN = 0.3  # of the tries: tastes are drawn, with other numbers each time
HOT = 3e-4  # of the best value: how much worse a plan is taken when jobs' numbers begin to change
WAITING, RUNNING, OVER = 0, 1, 2


class Case(NamedTuple):
    """What is filled: jobs × groups."""

    tasks: np.ndarray
    run: np.ndarray  # job × group
    allowed: np.ndarray  # job × group
    release: np.ndarray
    before: np.ndarray  # job: those that it waits for, then -1
    tail: np.ndarray  # job: what it and those that wait for it take
    nodes: np.ndarray
    speed: np.ndarray
    by_speed: np.ndarray  # groups, the fastest first
    watts: np.ndarray  # group, more when busy, of all that idle nodes draw
    shut: np.ndarray  # group × window × (begin, end), then infinite
    least_drawn: float
    least_end: float


class Now(NamedTuple):
    """A plan at an instant."""

    free: np.ndarray
    state: np.ndarray
    ready: np.ndarray  # job: may start
    waits: np.ndarray  # job: for how many others
    counts: np.ndarray  # group: what a job is given
    best: np.ndarray  # jobs × nodes: what so many jobs are worth on so many nodes
    plan: Lines


def case_of(of: Filled) -> Case:
    """Return what is filled; groups that close are closed as wholes."""
    jobs, groups = of.tasks.size, of.slow.size
    nodes, allowed = of.free.max(axis=0), np.zeros((jobs, groups), dtype=np.bool_)
    for r, row in enumerate(of.groups):
        allowed[:, row[row >= 0]] |= of.fits[:, r, None]
    shut = np.full((groups, of.since.size + 1, 2), np.inf)
    ends = np.append(of.since[1:], np.inf)
    for g in range(groups):
        closed = np.flatnonzero(of.free[:, g] < nodes[g])
        shut[g, : closed.size] = np.stack([of.since[closed], ends[closed]], axis=1)
    run = of.run[:, None] * (of.share[:, None] * of.slow + 1 - of.share[:, None])
    tail = of.run.astype(float)
    for j in range(jobs - 1, -1, -1):
        for i in of.before[j][of.before[j] >= 0]:
            tail[i] = max(tail[i], of.run[i] + tail[j])
    drawn = np.where(allowed, of.tasks[:, None] * run * of.watts, np.inf).min(axis=1).sum()
    end = (of.tasks * of.run).sum() / (nodes / of.slow).sum()
    return Case(
        tasks=of.tasks, run=run, allowed=allowed, release=of.release, before=of.before, tail=tail, nodes=nodes,
        speed=1 / of.slow, by_speed=np.argsort(of.slow, kind="stable"), watts=of.watts, shut=shut,
        least_drawn=float(drawn), least_end=float(end),
    )  # fmt: skip


@numba.njit(cache=True)
def is_open(case, g, begin, end):
    """Return whether no window of a group is met."""
    met = False
    for window in case.shut[g]:
        met |= window[0] < end and begin < window[1]
    return not met


@numba.njit(cache=True)
def straddled(case, j, free, at, limit, most_lost, counts):
    """Fill in the nodes that a job has of several groups, with the least of their speed lost; return what it takes."""
    groups, best, takes, lowest, highest = case.nodes.size, most_lost, np.inf, -1, -1
    for k in range(groups):
        low = case.by_speed[k]
        if not case.allowed[j, low] or free[low] == 0 or at + case.run[j, low] >= limit:
            continue
        need, speeds = case.tasks[j], 0.0
        for m in range(k, -1, -1):
            g = case.by_speed[m]
            if case.allowed[j, g] and is_open(case, g, at, at + case.run[j, low]):
                here = min(need, free[g])
                need -= here
                speeds += here * case.speed[g]
            if need == 0:
                lost = 1.0 - case.tasks[j] * case.speed[low] / speeds
                if lost < best - 1e-12 or (lowest < 0 and lost <= best):
                    best, takes, lowest, highest = lost, case.run[j, low], k, m
                break
    counts[:] = 0
    need = case.tasks[j]
    if lowest >= 0:
        for m in range(lowest, highest - 1, -1):
            g = case.by_speed[m]
            if case.allowed[j, g] and is_open(case, g, at, at + takes):
                counts[g] = min(need, free[g])
                need -= counts[g]
    return takes


@numba.njit(cache=True)
def worth_of(case, taste, numbers):
    """Return what jobs are worth: each of their nodes by tastes and by the job's own number."""
    worth = np.empty(case.tasks.size)
    for j in range(worth.size):
        longest, wide = case.tail[j] / case.least_end, np.log(float(case.tasks[j]))
        waited_for = (case.tail[j] - case.run[j].min()) / case.least_end
        one = taste[0] + taste[1] * longest + taste[2] * wide + taste[3] * waited_for + numbers[j]
        worth[j] = case.tasks[j] * max(one, 1e-3)
    return worth


@numba.njit(cache=True)
def begin(now, j, at, takes):
    """Start a job on the nodes that it is given."""
    now.plan.start[j], now.plan.finish[j], now.state[j] = at, at + takes, RUNNING
    now.plan.counts[j], now.ready[j] = now.counts, False
    now.free[:] -= now.counts


@numba.njit(cache=True)
def fill(case, now, g, at, limit, order, worth):
    """Start those jobs on a group's free nodes that are worth the most together."""
    here, many, n = np.empty(order.size, dtype=np.int64), 0, now.free[g]
    if n == 0:
        return
    for j in order:
        end = at + case.run[j, g]
        fits = now.ready[j] and case.tasks[j] <= n and case.allowed[j, g] and end < limit
        if fits and is_open(case, g, at, end):
            size, here[many] = case.tasks[j], j
            now.best[many + 1, :size] = now.best[many, :size]
            for k in range(size, n + 1):
                now.best[many + 1, k] = max(now.best[many, k], now.best[many, k - size] + worth[j])
            many += 1
    for m in range(many - 1, -1, -1):
        if now.best[m + 1, n] > now.best[m, n]:
            j = here[m]
            n -= case.tasks[j]
            now.counts[:] = 0
            now.counts[g] = case.tasks[j]
            begin(now, j, at, case.run[j, g])


@numba.njit(cache=True)
def straddle(case, now, at, limit, order, width, most_lost):
    """Start jobs of that width or more across groups, where no more of their speed is lost."""
    if most_lost <= 0.0:
        return
    room = now.free.sum()
    for j in order:
        if now.ready[j] and width <= case.tasks[j] <= room:
            takes = straddled(case, j, now.free, at, limit, most_lost, now.counts)
            if takes < np.inf:
                begin(now, j, at, takes)
                room -= case.tasks[j]


@numba.njit(cache=True)
def next_instant(case, now, at):
    """Return when something ends, comes or opens next."""
    then = np.inf
    for j in range(case.tasks.size):
        if now.state[j] == RUNNING:
            then = min(then, now.plan.finish[j])
        elif now.state[j] == WAITING and case.release[j] > at:
            then = min(then, case.release[j])
    for windows in case.shut:
        for window in windows:
            if window[1] > at:
                then = min(then, window[1])
    return then


@numba.njit(cache=True)
def end_jobs(case, now, at):
    """Let the jobs end that have run."""
    for j in range(case.tasks.size):
        if now.state[j] == RUNNING and now.plan.finish[j] <= at:
            now.state[j] = OVER
            now.free[:] += now.plan.counts[j]
            for i in range(case.tasks.size if case.before.shape[1] else 0):
                for k in case.before[i]:
                    now.waits[i] -= k == j


@numba.njit(cache=True)
def played(case, taste, numbers, plan, limit):
    """Fill in the plan of tastes and numbers; return its value, or infinity from a limit on."""
    jobs, groups = case.tasks.size, case.nodes.size
    now = Now(
        case.nodes.copy(), np.zeros(jobs, dtype=np.int8), np.zeros(jobs, dtype=np.bool_),
        np.zeros(jobs, dtype=np.int64), np.zeros(groups, dtype=np.int64),
        np.zeros((jobs + 1, case.nodes.max() + 1)), plan,
    )  # fmt: skip
    for j in range(jobs):
        for i in case.before[j]:
            now.waits[j] += i >= 0
    worth = worth_of(case, taste, numbers)
    order = np.argsort(-worth)
    last = min(limit - case.least_drawn, case.least_end * taste[7])
    at, idle, speeds = 0.0, 0.0, (case.nodes * case.speed).sum()
    while True:
        now.ready[:] = (now.state == WAITING) & (now.waits == 0) & (case.release <= at)
        straddle(case, now, at, last, order, taste[4], taste[5])
        for g in case.by_speed:
            fill(case, now, g, at, last, order, worth)
        straddle(case, now, at, last, order, 2, taste[6])
        then = next_instant(case, now, at)
        if then == np.inf or (now.state == RUNNING).sum() + (now.state == OVER).sum() == jobs:
            break
        for g in range(groups):
            idle += now.free[g] * case.speed[g] * (then - at)
        if case.least_end + idle / speeds >= last:
            return np.inf
        at = then
        end_jobs(case, now, at)
    if (now.state == WAITING).any():
        return np.inf
    drawn = 0.0
    for j in range(jobs):
        for g in range(groups):
            drawn += plan.counts[j, g] * case.watts[g] * (plan.finish[j] - plan.start[j])
    return plan.finish.max() + drawn


@numba.njit(cache=True)
def best_played(case, tries, rng):
    """Return the best of so many plans, and its value."""
    jobs, groups = case.tasks.size, case.nodes.size
    now = Lines(np.zeros(jobs), np.zeros(jobs), np.zeros((jobs, groups), dtype=np.int64))
    found = Lines(np.zeros(jobs), np.zeros(jobs), np.zeros((jobs, groups), dtype=np.int64))
    taste, numbers = np.ones(TASTES), np.zeros(jobs)
    best_taste, best_numbers, best, value = taste, numbers, np.inf, np.inf
    for n in range(tries):
        draws = n < DRAWN * tries or best == np.inf
        if draws:
            new = np.exp(rng.uniform(0.0, 4.0, TASTES))
            new[1] = np.exp(rng.uniform(-1.0, 4.0))
            new[2] = np.exp(rng.uniform(-3.0, 1.5))
            new[3] = np.exp(rng.uniform(-1.0, 4.0)) if rng.random() < 0.5 else 0.0
            new[4] = case.tasks[rng.integers(0, jobs)]
            new[5], new[6] = rng.uniform(-0.2, 0.5), rng.uniform(-0.2, 0.3)
            new[7] = 1e9 if case.least_drawn == 0.0 else 1.0 + np.exp(rng.uniform(-5.0, -1.5))
            new_numbers = np.exp(rng.uniform(-4.0, -1.0)) * rng.normal(0.0, 1.0, jobs) * (rng.random() < 0.7)
            limit = best
        else:
            if n - 1 < DRAWN * tries:
                taste, numbers, value = best_taste, best_numbers, best
            new, new_numbers = taste.copy(), numbers.copy()
            for _ in range(1 + int(20 * rng.random() ** 2)):
                new_numbers[rng.integers(0, jobs)] += rng.normal(0.0, 0.5)
            if rng.random() < 0.3:
                new[rng.integers(0, TASTES)] *= np.exp(rng.normal(0.0, 0.2))
            limit = value - HOT * best * (1.0 - n / tries) * np.log(1.0 - rng.random())
        tried = played(case, new, new_numbers, now, limit)
        if tried < limit:
            taste, numbers, value = new, new_numbers, tried
            if value < best:
                best, best_taste, best_numbers = value, new, new_numbers
                found.start[:], found.finish[:], found.counts[:] = now.start, now.finish, now.counts
    return best, found


def best_knapsacks(document: Document, ask: str, tries: int, seed: int) -> Lines:
    """Return the best of so many plans that knapsacks make."""
    whole, lists, part = problem_to_fill(document, ask)
    best, found = best_played(case_of(whole), tries, np.random.default_rng(seed))
    if best == np.inf:
        raise ValueError(f"{document.name}: knapsacks found no plan")
    if part.size == whole.slow.size:
        return found
    nodes = np.bincount(lists.free.of, weights=lists.free.many)[: part.size].astype(np.int64)
    return shared_out(found, part, nodes)
