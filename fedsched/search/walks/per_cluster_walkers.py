"""Walkers over plans that keep every job within a unit (a part of the machine that is simulated on its own).

Here is when they apply, their start plans, and how their evaluations are counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.core.random import begin_stream
from fedsched.engine.codes import Dispatch, Placement, Status
from fedsched.model.schedule.integrals import Integrals
from fedsched.model.schedule.metrics import BOUND_SECONDS, Column
from fedsched.search.encoding.genome import ANY_NODES
from fedsched.search.problem.subfederation_runs import Parts
from fedsched.search.problem.subfederations import one_unit, units_of
from fedsched.search.run.run import BudgetSpent
from fedsched.search.walks.per_cluster_walk import walk_per_cluster
from fedsched.search.walks.queue_walk import Sums, Term, walk_queues
from fedsched.search.walks.rebuilding import Ruin, rebuild
from fedsched.search.walks.walkers import LATE, Walkers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Plain, Saved
    from fedsched.search.problem.packed import PackedProblem
    from fedsched.search.problem.subfederation_runs import Units
    from fedsched.search.run.run import Run

STREAM = 2  # number of the random stream, to keep it apart from that of the walkers over whole plans
REBUILDING = 3  # number of the random stream of the walkers that ruin and recreate
QUEUES = 4  # number of the random stream of the walkers over strict queues
FEW_JOBS = 40  # most jobs for ruin and recreate: with more, walks that move one job or two are better
OF_THE_WHOLE = Integrals._fields  # metrics that only a run of the whole machine can sum up
TERMS = {  # objectives that are sums over jobs
    "flow": Term.RESPONSE, "mean_response": Term.RESPONSE, "weighted_response": Term.RESPONSE,
    "mean_wait": Term.WAIT, "mean_wait_eligible": Term.WAIT,
    "mean_slowdown": Term.SLOWDOWN, "weighted_slowdown": Term.SLOWDOWN, "bounded_slowdown": Term.BOUNDED,
}  # fmt: skip


def _all_wait(problem: PackedProblem) -> bool:
    # Whether all jobs are submitted by t0, none runs, and neither shapes nor extra features are in use.
    packed = problem.problem
    return (
        packed.extras is None
        and problem.shapes is None
        and packed.running.size == 0
        and bool((packed.submit <= packed.t0).all())
    )


def can_walk_per_cluster(problem: PackedProblem) -> bool:
    """Return whether the machine splits into several units that no running job, feature or objective connects.

    All jobs must be submitted by t0.
    """
    return (
        problem.problem.groups.uplink.size > 1
        and _all_wait(problem)
        and not problem.objectives.uncompiled
        and not any(name in OF_THE_WHOLE for name in problem.objectives.names)
        and units_of(problem) is not None
    )


class PerClusterWalkers(Walkers):
    """Walkers with trials that simulate only the changed units.

    A start plan's jobs are first bound to homes: clusters or units.
    """

    stream = STREAM  # number of the random stream
    dispatch = Dispatch.GREEDY  # of the plans

    def __init__(self, run: Run, *, members: int, late: int = LATE) -> None:
        super().__init__(run, members=members, late=late)
        for k, walker in enumerate(self.walkers):
            begin_stream(walker.stream, run.seed, self.stream, k)
        self._units = self._cut(run.problem)
        self._layout = run.problem.layout
        threads = min(run.problem.threads, members)
        self._owed = np.zeros(members, dtype=np.int64)  # simulated jobs that are not yet counted as evaluations
        self._parts = [_parts(run.problem, len(self._units.first_group) - 1) for _ in range(threads)]

    def state(self) -> dict[str, Plain]:
        """Return the walkers' states and goals, and the simulated jobs that are not yet counted."""
        return {**super().state(), "owed": self._owed}

    def restore(self, saved: Saved, run: Run, *, most: int) -> None:
        """Replace the walkers by saved ones, at most `most`; raise UnfitError if they do not fit."""
        super().restore(saved, run, most=most)
        self._owed = saved.ints("owed", (len(self),), 0)

    def _cut(self, problem: PackedProblem) -> Units:
        units = units_of(problem)
        if units is None:
            raise ValueError("The machine is one unit.")
        return units

    @property
    def are_set(self) -> bool:
        """Return whether all walkers have a start plan."""
        return all(np.isfinite(walker.value[1]) for walker in self.walkers)

    def set_out(self, run: Run, k: int, row: Ints, *, slack: float = 0.0, if_better: bool = False) -> None:
        """Start a walker from a plan after binding its jobs to homes and evaluating it.

        With `if_better` do so only if the bound plan is better than the walker's own best. With `slack` the
        walker at first accepts relatively worse plans. Raise BudgetSpent if there is no budget left.
        """
        if not run.left or not run.trials(1):
            raise BudgetSpent
        bound = self.bound(run, row)
        values = run.evaluate(bound[None])[0]
        if not if_better or self.scalar(k, values) < self.best(k):
            self.place(k, bound, values, slack=slack)

    def start_again(self, run: Run, k: int, row: Ints, *, slack: float) -> None:
        """Start a walker that is stuck from a plan, as `set_out` does."""
        self.set_out(run, k, row, slack=slack)

    def are_bound(self, rows: Ints) -> NDArray[np.bool_]:
        """Return for each plan whether it has these walkers' dispatch rule and keeps every job within one home."""
        outside = (self._layout.caps(rows) > 0).astype(np.int64) @ (1 - self._units.covers).T  # row × job × home
        ruled = self._layout.rules(rows)[:, 0] == self.dispatch
        return np.asarray((outside == 0).any(axis=2).all(axis=1) & ruled)

    def bound(self, run: Run, row: Ints) -> Ints:
        """Simulate a plan, and return it with every job bound to the cluster with most of its nodes.

        Jobs are in order of the starts. A job too wide for each cluster is bound to the unit of several
        clusters. The simulation counts as an evaluation.
        """
        problem = run.problem
        problem.metrics(row[None])
        run.account(1, np.zeros((0, len(self.ideal))), [])
        state, groups = problem.states[0], problem.problem.groups
        jobs = problem.layout.jobs
        starts, counts = state.start[:jobs], state.counts[:jobs]
        nodes = np.add.reduceat(counts, groups.cluster_begin[:-1], axis=1)
        fits = self._units.allowed[:, : nodes.shape[1]] > 0
        home = np.where(fits, nodes, -1).argmax(axis=1)  # ties go to the first cluster
        home[~fits.any(axis=1)] = nodes.shape[1]  # too wide for each cluster
        place = np.empty(jobs, dtype=np.int64)
        place[row[:jobs]] = np.arange(jobs)
        caps = problem.space.limits * self._units.covers[home]
        placement = row[-1] if self._suits(int(row[-1])) else problem.default_rules()[1]
        order = np.lexsort((place, starts))
        return problem.layout.pack(order[None], caps[None], np.array([[self.dispatch, placement]]))[0]

    def _suits(self, placement: int) -> bool:
        # Whether a placement rule places every job within any home.
        single = len(self._units.unit) == self._units.first_cluster[-1]
        return placement in ANY_NODES or (single and placement != Placement.HOME)

    def walk_one(self, run: Run, k: int, trials: int, thread: int) -> int:
        """Let one walker simulate as many jobs as `trials` whole plans have, if there is time.

        Return the number of plans to count as evaluations: simulated jobs divided by the jobs of a plan.
        """
        problem, metrics = run.problem, np.zeros(len(Column))
        parts, jobs = self._parts[thread], problem.layout.jobs
        done, fresh = 0, True
        parts.jobs_run[0] = self._owed[k]
        while plans := run.trials(trials - done, plans=2 if fresh else 1):  # first all units, then one or two
            began, before = run.seconds, done
            status = int(Status.DONE)
            if parts.jobs_run[0] < (done + plans) * jobs:
                status = self._go_on(run, k, thread, fresh, (done + plans) * jobs, metrics)
                fresh = False
            if status != Status.DONE:
                raise InfeasibleError("A plan has a job that its caps and placement never let start.")
            done = min(int(parts.jobs_run[0]) // jobs, trials)
            run.note_trials(max(done - before, 1), began)
        self._owed[k] = parts.jobs_run[0] - done * jobs  # the last move may exceed the limit
        return done

    def _go_on(self, run: Run, k: int, thread: int, fresh: bool, most: int, metrics: Floats) -> int:
        problem = run.problem
        return walk_per_cluster(
            problem.problem,
            problem.space,
            self._units,
            self.goal(k),
            self.walkers[k],
            self._parts[thread],
            problem.states[thread],
            problem.no_users,
            metrics,
            fresh,
            most,
        )


class Rebuilders(PerClusterWalkers):
    """Walkers that ruin and recreate plans: they remove jobs from a plan and insert them again.

    They are only for problems that `can_rebuild` allows: at most 40 jobs, with makespan as the only objective.
    """

    stream = REBUILDING

    def __init__(self, run: Run, *, members: int, late: int = LATE) -> None:
        super().__init__(run, members=members, late=late)
        self._ruins = [_ruin(run.problem, self._units) for _ in self._parts]

    def _cut(self, problem: PackedProblem) -> Units:
        packed = problem.problem
        alike = np.ptp(packed.groups.slowdown) == 0 and not packed.bandwidth.any()
        units = None if alike else units_of(problem)
        return one_unit(problem) if units is None else units

    def _go_on(self, run: Run, k: int, thread: int, fresh: bool, most: int, metrics: Floats) -> int:
        problem = run.problem
        return rebuild(
            problem.problem,
            problem.space,
            self._units,
            self.goal(k),
            self.walkers[k],
            self._parts[thread],
            self._ruins[thread],
            problem.states[thread],
            metrics,
            fresh,
            most,
        )


class QueueWalkers(PerClusterWalkers):
    """A walker over plans with a strict queue for each cluster (`local` dispatch), for one objective that is a sum.

    It is only for problems that `can_walk_queues` allows.
    """

    stream = QUEUES
    dispatch = Dispatch.LOCAL

    def __init__(self, run: Run, *, members: int = 1, late: int = LATE) -> None:
        super().__init__(run, members=members, late=late)
        self._sums = _sums(run.problem, self._units)

    def _cut(self, problem: PackedProblem) -> Units:
        return one_unit(problem) if problem.problem.groups.uplink.size == 1 else super()._cut(problem)

    def _suits(self, placement: int) -> bool:
        return placement == Placement.FASTEST  # the only one by which queues run

    def start_again(self, run: Run, k: int, row: Ints, *, slack: float) -> None:
        """Let the walker accept worse plans than its best one, from which it goes on; the given plan is not used."""
        walker = self.walkers[k]
        self.place(k, walker.best.copy(), walker.objectives[1].copy(), slack=slack)

    def walk(self, run: Run, trials: int) -> None:
        """Make `trials` trials; then evaluate the best plan, if it is new, by a whole run."""
        self._found = False
        super().walk(run, max(trials - 1, min(trials, 1)))
        walker = self.walkers[0]
        if self._found and run.left:
            rows = walker.best[None].copy()
            values = run.problem.values(rows)
            walker.objectives[1] = values[0]
            walker.value[1] = min(walker.value[1], self.scalar(0, values[0]))  # they differ by rounding
            run.account(1, values, rows)

    def _go_on(self, run: Run, k: int, thread: int, fresh: bool, most: int, metrics: Floats) -> int:
        problem = run.problem
        self._found |= walk_queues(
            problem.problem,
            problem.space,
            self._units,
            self.goal(k),
            self.walkers[k],
            self._parts[thread],
            self._sums,
            metrics,
            fresh,
            most,
        )
        return int(Status.DONE)


def can_walk_queues(problem: PackedProblem) -> bool:
    """Return whether plans of strict queues can be walked over: one objective, a sum over jobs that all wait at t0.

    Each job must fit into one cluster, no extra feature may be in use, and plans may have such queues.
    """
    (name, *others) = problem.objectives.names
    if others or name not in TERMS or Dispatch.LOCAL not in problem.space.dispatches or not _all_wait(problem):
        return False
    packed, limits = problem.problem, problem.space.limits
    room = np.add.reduceat(limits, packed.groups.cluster_begin[:-1], axis=1).max(axis=1)
    return bool((room >= packed.tasks[: len(limits)]).all()) and Placement.FASTEST in problem.space.placements


def _sums(problem: PackedProblem, units: Units) -> Sums:
    (name,), packed, jobs = problem.objectives.names, problem.problem, problem.layout.jobs
    term, tasks, slowdown = TERMS[name], packed.tasks[:jobs], packed.groups.slowdown
    weight = np.ones(jobs) if name == "flow" else np.full(jobs, 1.0 / jobs)
    if name.startswith("weighted"):
        weight = tasks / tasks.sum()
    sigma = packed.sigma[:jobs]
    run, longest = (packed.runtime[:jobs] * (sigma * cost + 1.0 - sigma) for cost in (slowdown.min(), slowdown.max()))
    floor = BOUND_SECONDS if term == Term.BOUNDED else np.finfo(float).tiny
    least, rate = run, np.ones(jobs)
    if term == Term.WAIT:
        least = np.zeros(jobs)
    elif term != Term.RESPONSE:
        least, rate = run / np.maximum(run, floor), 1.0 / np.maximum(longest, floor)
    clusters = len(units.first_group) - 1
    groups = int(np.diff(units.first_group).max())
    return Sums(
        term=np.array([term], dtype=np.int64),
        weight=weight,
        least=weight * least,
        rate=weight * rate,
        share=np.zeros(clusters),
        best=np.zeros((clusters, jobs), dtype=np.int64),
        best_length=np.zeros(clusters, dtype=np.int64),
        stale=np.zeros(clusters, dtype=np.int64),
        free=np.zeros(groups, dtype=np.int64),
        ends=np.zeros(jobs),
        running=np.zeros(max(jobs, clusters), dtype=np.int64),
        taken=np.zeros((jobs, groups), dtype=np.int64),
    )


def can_rebuild(problem: PackedProblem) -> bool:
    """Return whether ruin and recreate applies: only makespan is sought, at most 40 jobs wait at t0, and none runs.

    Shapes and extra features must not be in use.
    """
    return problem.layout.jobs <= FEW_JOBS and problem.objectives.names == ("makespan",) and _all_wait(problem)


def _ruin(problem: PackedProblem, units: Units) -> Ruin:
    jobs, packed = problem.layout.jobs, problem.problem
    machine = len(units.first_group) - 1
    power = units.groups.nodes * units.groups.speed
    return Ruin(
        left=np.zeros(jobs, dtype=np.int64),
        old_queue=np.zeros((machine, jobs), dtype=np.int64),
        old_length=np.zeros(machine, dtype=np.int64),
        old_home=np.zeros(jobs, dtype=np.int64),
        old_end=np.zeros(machine),
        power=np.add.reduceat(power, units.first_group[:-1]),
        size=np.maximum(packed.tasks * packed.runtime, np.finfo(float).tiny)[:jobs],
    )


def _parts(problem: PackedProblem, units: int) -> Parts:
    jobs, groups = problem.space.limits.shape
    queue = np.zeros((units, jobs), dtype=np.int64)
    arrival = queue.view()
    arrival.setflags(write=False)
    return Parts(
        queue=queue,
        arrival=arrival,
        length=np.zeros(units, dtype=np.int64),
        home=np.zeros(jobs, dtype=np.int64),
        cap_row=np.zeros(jobs, dtype=np.int64),
        start=np.full(jobs, np.nan),
        finish=np.full(jobs, np.nan),
        counts=np.zeros((jobs, groups), dtype=np.int64),
        end=np.zeros(units),
        old_queue=np.zeros((2, jobs), dtype=np.int64),
        old_home=np.zeros(jobs, dtype=np.int64),
        old_start=np.zeros(jobs),
        old_finish=np.zeros(jobs),
        old_counts=np.zeros((jobs, groups), dtype=np.int64),
        old_end=np.zeros(2),
        jobs_run=np.zeros(1, dtype=np.int64),
    )
