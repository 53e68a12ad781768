"""Walkers over plans that keep every job within a unit: where they may walk, from where, and what a trial counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.codes import Dispatch, Placement, Status
from fedsched.errors import InfeasibleError
from fedsched.model.metrics import Column
from fedsched.random_numbers import begin_stream
from fedsched.search.apart import walk_apart
from fedsched.search.genome import ANY_NODES
from fedsched.search.run import BudgetSpent
from fedsched.search.unit_runs import Parts
from fedsched.search.units import units_of
from fedsched.search.walkers import LATE, Walkers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays import Ints
    from fedsched.search.packed import PackedProblem
    from fedsched.search.run import Run

STREAM = 2  # of random numbers: others than those of the walkers over whole plans
OF_THE_WHOLE = ("loss_of_capacity", "saturated_seconds")  # metrics that no cluster knows a part of


def can_walk_apart(problem: PackedProblem) -> bool:
    """Return whether units of the machine know nothing of each other in some plans, and there are several."""
    packed = problem.problem
    return (
        packed.groups.uplink.size > 1
        and packed.extras is None
        and packed.running.size == 0
        and bool((packed.submit <= packed.t0).all())
        and not problem.objectives.functions
        and not any(name in OF_THE_WHOLE for name in problem.objectives.names)
        and units_of(problem) is not None
    )


class ApartWalkers(Walkers):
    """Walkers whose trials simulate only the units that they change; plans are bound before one is set down."""

    def __init__(self, run: Run, *, members: int, late: int = LATE) -> None:
        super().__init__(run, members=members, late=late)
        for k, walker in enumerate(self.walkers):
            begin_stream(walker.stream, run.seed, STREAM, k)
        units = units_of(run.problem)
        if units is None:
            raise ValueError("The machine is one unit.")
        self._units = units
        self._layout = run.problem.layout
        threads = min(run.problem.threads, members)
        self._parts = [_parts(run.problem, len(units.first_group) - 1) for _ in range(threads)]

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

    def are_bound(self, rows: Ints) -> NDArray[np.bool_]:
        """Return which plans keep every job at some home already."""
        outside = (self._layout.caps(rows) > 0).astype(np.int64) @ (1 - self._units.covers).T  # row × job × home
        return np.asarray((outside == 0).any(axis=2).all(axis=1))

    def bound(self, run: Run, row: Ints) -> Ints:
        """Return a plan with every job at home where most of its nodes are, in order of the starts."""
        problem = run.problem
        problem.metrics(row[None])
        run.account(1, np.zeros((0, len(self.ideal))), [])
        state, groups = problem.states[0], problem.problem.groups
        jobs = problem.layout.jobs
        starts, counts = state.start[:jobs], state.counts[:jobs]
        nodes = np.add.reduceat(counts, groups.cluster_begin[:-1], axis=1)
        fits = self._units.allowed[:, : nodes.shape[1]] > 0
        home = np.where(fits, nodes, -1).argmax(axis=1)  # the first of those with most
        home[~fits.any(axis=1)] = nodes.shape[1]  # too wide for each cluster
        place = np.empty(jobs, dtype=np.int64)
        place[row[:jobs]] = np.arange(jobs)
        caps = problem.space.limits * self._units.covers[home]
        placement = row[-1] if self._suits(int(row[-1])) else problem.default_rules()[1]
        order = np.lexsort((place, starts))
        return problem.layout.pack(order[None], caps[None], np.array([[Dispatch.GREEDY, placement]]))[0]

    def _suits(self, placement: int) -> bool:
        # Whether a rule places every job at home, wherever that is.
        single = len(self._units.unit) == self._units.first_cluster[-1]
        return placement in ANY_NODES or (single and placement != Placement.HOME)

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
                self._units,
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
