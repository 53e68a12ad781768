"""Evaluation of many candidate plans of one problem at once, by simulation, on one thread or several."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.engine.arrays.new_state import new_state
from fedsched.engine.codes import Dispatch, needs_of
from fedsched.engine.pack.problem import measured_of
from fedsched.engine.placement.tasks_per_node import most_of_groups
from fedsched.engine.plans import plan_in_order
from fedsched.engine.run.evaluate import NO_JOB_IS_MISSING, Common, Layout, evaluate_rows, no_running_jobs
from fedsched.model.schedule.metrics import Column

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from fedsched.engine.arrays.structs import Floats, Problem, State
    from fedsched.engine.codes import Needs

SLICE = 20_000  # job placements between two looks at Ctrl-C: about ten milliseconds


class Evaluator:
    """Simulates many candidate plans of one problem, and returns their metrics.

    It keeps a workspace per thread and rule, so that a call allocates only its result.
    """

    def __init__(self, problem: Problem, *, threads: int = 1, users: bool = False) -> None:
        if problem.running.size > 0:
            raise ValueError("Evaluator: the problem has running jobs; candidates start from an empty federation.")
        jobs = problem.submit.size
        self.problem = problem
        self.threads = max(1, threads)
        self._users = int(problem.user.max()) + 1 if users else 0
        self._spaces: dict[Needs, list[tuple[State, Floats]]] = {}
        self._layout = Layout(jobs, problem.groups.nodes.size)
        self._common = Common(
            shared=plan_in_order(np.arange(jobs), self.default_caps()),
            running=no_running_jobs(problem.groups.nodes.size),
            measured=measured_of(problem),
            missing=NO_JOB_IS_MISSING,
            missed=0,
        )

    def _workspaces(self, needs: Needs) -> list[tuple[State, Floats]]:
        # A workspace with room for more than a rule needs serves it too, but slower: it keeps more up to date.
        if needs not in self._spaces:
            self._spaces[needs] = [
                (
                    new_state(self.problem, needs=needs, separate_backfill=False),
                    np.zeros((self._users, 2)),
                )
                for _ in range(self.threads)
            ]
        return self._spaces[needs]

    def default_caps(self) -> NDArray[np.int64]:
        """Return the caps that forbid nothing, jobs × groups: the most nodes of each group that a job can take."""
        every = np.arange(self.problem.tasks.size)
        return np.minimum(self.problem.groups.nodes, most_of_groups(self.problem, every, self.problem.tasks))

    def __call__(
        self,
        orders: ArrayLike,
        *,
        caps: ArrayLike | None = None,
        dispatch: ArrayLike = Dispatch.GREEDY,
        placement: ArrayLike = 0,
    ) -> Floats:
        """Simulate the candidates, and return one row of metrics per candidate; columns are those of `Column`.

        Parameters
        ----------
        orders
            Candidates × jobs: each candidate's queue order, a permutation of the jobs.
        caps
            Candidates × jobs × groups; the default forbids nothing.
        dispatch, placement
            One rule for all candidates, or one each.
        """
        orders = np.asarray(orders, dtype=np.int64)
        candidates, jobs = orders.shape
        if jobs != self._layout.jobs or not _permutations(orders):
            raise ValueError(f"orders: each row must hold the jobs 0..{self._layout.jobs - 1} exactly once.")
        table = np.broadcast_to(self.default_caps(), (candidates, jobs, self._layout.groups)) if caps is None else caps
        table = np.asarray(table, dtype=np.int64)
        if table.shape != (candidates, jobs, self._layout.groups):
            raise ValueError(f"caps: shape {table.shape} must be (candidates, jobs, groups).")
        rules = np.stack([np.broadcast_to(rule, candidates) for rule in (dispatch, placement)], axis=1)
        plans = self._layout.pack(orders, table, rules)
        rows = np.full((candidates, len(Column)), np.nan)
        spaces = self._workspaces(needs_of(*np.unique(rules[:, 0]).tolist()))

        def work(thread: int, first: int, last: int) -> None:
            state, user_sums = spaces[thread]
            failed = evaluate_rows(self.problem, self._common, plans, state, user_sums, rows, first, last)
            if failed >= 0:
                raise InfeasibleError(f"Candidate {failed} has a job that its caps and placement never let start.")

        in_slices(work, candidates, jobs=jobs, threads=self.threads)
        return rows


def in_slices(work: Callable[[int, int, int], None], plans: int, *, jobs: int, threads: int) -> None:
    """Call work(thread, first, last) until it has been called for all plans, then return.

    Each thread gets a part of them, in slices, so that Ctrl-C works in between; `last` is not included.
    """
    threads = threads if plans >= 2 * threads else 1
    edges = np.linspace(0, plans, threads + 1).astype(int).tolist()
    step = plans_in_a_slice(jobs)

    def stretch(thread: int) -> None:
        with np.errstate(all="ignore"):  # random numbers overflow on purpose; only uncompiled numpy warns
            for first in range(edges[thread], edges[thread + 1], step):
                work(thread, first, min(first + step, edges[thread + 1]))

    if threads == 1:
        stretch(0)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(stretch, range(threads)))


def plans_in_a_slice(jobs: int) -> int:
    """Return how many plans of `jobs` jobs are evaluated before Python looks at Ctrl-C: about ten milliseconds."""
    return max(1, SLICE // max(jobs, 1))


def _permutations(orders: NDArray[np.int64]) -> bool:
    candidates, jobs = orders.shape
    if orders.size == 0 or orders.min() < 0 or orders.max() >= jobs:
        return orders.size == 0
    seen = np.zeros((candidates, jobs), dtype=np.bool_)
    np.put_along_axis(seen, orders, True, axis=1)
    return bool(seen.all())
