"""Walkers over plans that bind every job to one cluster: where they may walk, from where, and what a trial counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.codes import Dispatch, Placement, Status
from fedsched.errors import InfeasibleError
from fedsched.model.metrics import Column
from fedsched.random_numbers import begin_stream
from fedsched.search.apart import walk_apart
from fedsched.search.cluster_runs import Alone, Parts
from fedsched.search.run import BudgetSpent
from fedsched.search.walkers import Walkers

if TYPE_CHECKING:
    from fedsched.engine.arrays import Ints
    from fedsched.search.packed import PackedProblem
    from fedsched.search.run import Run

STREAM = 2  # of random numbers: others than those of the walkers over whole plans
OF_THE_WHOLE = ("loss_of_capacity", "saturated_seconds")  # metrics that no cluster knows a part of


def can_walk_apart(problem: PackedProblem) -> bool:
    """Return whether clusters know nothing of each other in some plans, and whether every job fits into one."""
    packed = problem.problem
    return (
        packed.groups.uplink.size > 1
        and packed.extras is None
        and packed.running.size == 0
        and bool((packed.submit <= packed.t0).all())
        and not problem.objectives.functions
        and not any(name in OF_THE_WHOLE for name in problem.objectives.names)
        and bool((_allowed(problem).sum(axis=1) > 0).all())
    )


class ApartWalkers(Walkers):
    """Walkers whose trials simulate only the clusters that they change; plans are bound before one is set down."""

    def __init__(self, run: Run, *, members: int) -> None:
        super().__init__(run, members=members)
        for k, walker in enumerate(self.walkers):
            begin_stream(walker.stream, run.seed, STREAM, k)
        self._alone = _alone(run.problem)
        self._parts = [_parts(run.problem) for _ in range(min(run.problem.threads, members))]

    @property
    def are_set(self) -> bool:
        """Return whether all have been set down."""
        return all(np.isfinite(walker.value[1]) for walker in self.walkers)

    def set_out(self, run: Run, k: int, row: Ints, *, slack: float = 0.0, if_better: bool = False) -> None:
        """Set a walker down on a plan, bound; with `if_better` only where that is better than its own best."""
        if not run.left or not run.trials(1):
            raise BudgetSpent
        bound = self.bound(run, row)
        values = run.evaluate(bound[None])[0]
        if not if_better or self.scalar(k, values) < self.best(k):
            self.place(k, bound, values, slack=slack)

    def bound(self, run: Run, row: Ints) -> Ints:
        """Return a plan with every job on the cluster that has most of its nodes, in order of the starts."""
        problem = run.problem
        problem.metrics(row[None])
        run.account(1, np.zeros((0, len(self.ideal))), [])
        state, groups = problem.states[0], problem.problem.groups
        jobs = problem.layout.jobs
        starts, counts = state.start[:jobs], state.counts[:jobs]
        nodes = np.add.reduceat(counts, groups.cluster_begin[:-1], axis=1).astype(np.float64)
        nodes[self._alone.allowed == 0] = -1.0
        home = nodes.argmax(axis=1)
        place = np.empty(jobs, dtype=np.int64)
        place[row[:jobs]] = np.arange(jobs)
        caps = np.where(groups.cluster == home[:, None], problem.space.limits, 0)
        placement = row[-1] if row[-1] != Placement.HOME else problem.default_rules()[1]
        order = np.lexsort((place, starts))
        return problem.layout.pack(order[None], caps[None], np.array([[Dispatch.GREEDY, placement]]))[0]

    def walk_one(self, run: Run, k: int, trials: int, thread: int) -> int:
        """Let one walker simulate as many jobs as so many whole plans have; return how many plans that made."""
        problem, metrics = run.problem, np.zeros(len(Column))
        parts, goal, walker = self._parts[thread], self.goal(k), self.walkers[k]
        jobs = problem.layout.jobs
        done, fresh = 0, True
        parts.jobs_run[0] = 0
        while plans := run.trials(trials - done, plans=2 if fresh else 1):  # all clusters first, then one or two
            began, before = run.seconds, done
            status = walk_apart(
                problem.problem,
                problem.space,
                self._alone,
                goal,
                walker,
                parts,
                problem.states[thread],
                problem.no_users,
                metrics,
                fresh,
                (done + plans) * jobs,
            )
            if status != Status.DONE:
                raise InfeasibleError("A plan has a job that its caps and placement never let start.")
            done = min(int(parts.jobs_run[0]) // jobs, trials)  # the last move may have been one too many
            run.tried(max(done - before, 1), began)
            fresh = False
        return done


def _allowed(problem: PackedProblem) -> Ints:
    limits, groups = problem.space.limits, problem.problem.groups
    room = np.add.reduceat(limits, groups.cluster_begin[:-1], axis=1)
    return (room >= problem.problem.tasks[: len(limits), None]).astype(np.int64)


def _alone(problem: PackedProblem) -> Alone:
    groups, limits = problem.problem.groups, problem.space.limits
    clusters = list(zip(groups.cluster_begin[:-1].tolist(), groups.cluster_begin[1:].tolist(), strict=True))
    within = np.repeat(groups.cluster_begin[:-1], np.diff(groups.cluster_begin))
    return Alone(
        cluster=_fixed(np.zeros_like(within)),
        begin=_fixed(np.array([[0, last - first] for first, last in clusters])),
        fast=_fixed(groups.fast_in_cluster - within),
        cheap=_fixed(groups.cheap_in_cluster - within),
        caps=np.concatenate([limits[:, first:last].ravel() for first, last in clusters]),
        allowed=_allowed(problem),
    )


def _fixed(values: Ints) -> Ints:
    fixed = np.array(values, dtype=np.int64, order="C")
    fixed.setflags(write=False)
    return fixed


def _parts(problem: PackedProblem) -> Parts:
    jobs, groups = problem.space.limits.shape
    clusters = problem.problem.groups.uplink.size
    queue = np.zeros((clusters, jobs), dtype=np.int64)
    arrival = queue.view()
    arrival.setflags(write=False)
    return Parts(
        queue=queue,
        arrival=arrival,
        length=np.zeros(clusters, dtype=np.int64),
        home=np.zeros(jobs, dtype=np.int64),
        start=np.full(jobs, np.nan),
        finish=np.full(jobs, np.nan),
        counts=np.zeros((jobs, groups), dtype=np.int64),
        old_queue=np.zeros((2, jobs), dtype=np.int64),
        old_start=np.zeros(jobs),
        old_finish=np.zeros(jobs),
        old_counts=np.zeros((jobs, groups), dtype=np.int64),
        jobs_run=np.zeros(1, dtype=np.int64),
    )
