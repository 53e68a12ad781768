"""The metascheduler's methods: batch-slicer (the cyclic scheme CSS is a case of it), backfilling, and both (BSF)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.core.values import seed_of, whole
from fedsched.market.arrays import needs_of, slot_list, with_spare_slots
from fedsched.market.assignment import Assignment, Builder
from fedsched.market.codes import BUDGETS, CHOICES, PROBLEMS, RULES, SELECTIONS, Figure, Selection, code_of
from fedsched.market.combination import GRID, choose
from fedsched.market.requests import check_batch
from fedsched.market.windows import search_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.market.arrays import Found, Needs, SlotList
    from fedsched.market.environment import Environment
    from fedsched.market.requests import Request


class Method(Protocol):
    """Anything that assigns windows to the jobs of a batch in an environment."""

    def assign(self, batch: Sequence[Request], environment: Environment, *, seed: int = 0) -> Assignment:
        """Return an assignment: the window of each job that gets one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Slicer:
    """Batch-slicer: splits the batch into consecutive groups, and searches and chooses windows group by group.

    A group sees the slots that the windows chosen for the groups before it have left. With `groups=1, search="amp"`
    it is the published cyclic scheduling scheme (CSS).

    Parameters
    ----------
    groups
        The number of groups; their sizes differ by one at most. There are never more groups than jobs.
    search
        A job's window in each pass: "aep" the best by its criterion, "amp" or "alp" the first (see `find_window`).
    problem, limit, budget, grid
        How each job's window is chosen: see `choose`. Groups share the limit in proportion to their numbers of jobs.
    window
        See `find_window`.

    Examples
    --------
    >>> batch = fs.market.Jobs(jobs=5).batch(seed=1)
    >>> domain = fs.market.Domain().environment(seed=1)
    >>> fs.market.schedule(batch, domain, method=fs.market.Slicer(groups=2)).method
    'slicer of 2 (aep), time'
    """

    groups: int = 5
    search: str = "aep"
    problem: str = "time"
    limit: float | None = None
    budget: str = "mean"
    grid: int = GRID
    window: str = "cheapest"

    def __post_init__(self) -> None:
        whole("Slicer", "groups", self.groups, least=1)
        whole("Slicer", "grid", self.grid, least=1)
        if self.limit is not None and not 0 <= self.limit < np.inf:
            raise ValueError(f"Slicer: limit={self.limit!r} must be finite and at least 0.")
        code_of("search", self.search, RULES)
        code_of("problem", self.problem, PROBLEMS)
        code_of("budget", self.budget, BUDGETS)
        code_of("window", self.window, CHOICES)

    def __str__(self) -> str:
        name = "css" if self.groups == 1 and self.search == "amp" else f"slicer of {self.groups} ({self.search})"
        return f"{name}, {self.problem}"

    def assign(self, batch: Sequence[Request], environment: Environment, *, seed: int = 0) -> Assignment:
        """Return the assignment in which each job has the window chosen among its alternatives.

        Parameters
        ----------
        batch, environment, seed
            As of `schedule`.
        """
        cycle = _Cycle(batch, environment, seed)
        self.assign_jobs(cycle, 0, len(batch))
        return cycle.built.finished(str(self))

    def assign_jobs(self, cycle: _Cycle, first: int, last: int) -> None:
        """Assign windows to jobs first to last − 1 of the cycle, group by group; `cycle` is updated."""
        for group in np.array_split(np.arange(first, last), min(self.groups, last - first)):
            self._assign_group(cycle, int(group[0]), int(group[-1]) + 1)

    def _assign_group(self, cycle: _Cycle, first: int, last: int) -> None:
        found = search_all(
            cycle.copied(),
            cycle.needs,
            first,
            last,
            method=self.search,
            window=self.window,
            seed=cycle.seed,
        )
        used = int(found.used[0])
        figures = found.figures[:used]
        job = found.job[:used]
        limit = None if self.limit is None else self.limit * (last - first) / len(cycle.batch)
        chosen = choose(
            job,
            figures[:, Figure.CPU],
            figures[:, Figure.COST],
            problem=self.problem,
            limit=limit,
            budget=self.budget,
            grid=self.grid,
        )
        if not chosen.within:
            cycle.built.limits.append(
                f"{cycle.called(first, last)}: the least possible expense is {chosen.expense:,.6g}, above the limit of "
                f"{chosen.limit:,.6g}; the combination of least expense was taken"
            )
        cycle.built.alternatives[first:last] = np.bincount(job, minlength=last)[first:last]
        for row in chosen.rows.tolist():
            cycle.take(found, row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilling:
    """Backfilling on slots: in batch order, each job gets its earliest window within budget (AMP).

    A job may start before earlier jobs of the batch, but takes none of their reserved slots.

    Examples
    --------
    >>> batch = fs.market.Jobs(jobs=5).batch(seed=1)
    >>> plan = fs.market.Backfilling().assign(batch, fs.market.Domain().environment(seed=1))
    >>> plan.failed
    False
    """

    def __str__(self) -> str:
        return "backfilling"

    def assign(self, batch: Sequence[Request], environment: Environment, *, seed: int = 0) -> Assignment:
        """Return the assignment in which each job, in batch order, has its earliest window within budget.

        Parameters
        ----------
        batch, environment, seed
            As of `schedule`.
        """
        cycle = _Cycle(batch, environment, seed)
        self.assign_jobs(cycle, 0, len(batch))
        return cycle.built.finished(str(self))

    def assign_jobs(self, cycle: _Cycle, first: int, last: int) -> None:
        """Assign the earliest windows to jobs first to last − 1 of the cycle, in order; `cycle` is updated."""
        found = search_all(cycle.copied(), cycle.needs, first, last, method="amp", most=1)
        for row in range(int(found.used[0])):
            cycle.take(found, row)
            cycle.built.alternatives[found.job[row]] = 1
            cycle.built.backfilled[found.job[row]] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Bsf:
    """Batch-slice-filling: the slicer assigns some jobs of the batch; the rest are backfilled into what is left.

    Parameters
    ----------
    first
        The number of jobs for the slicer; by default half of the batch.
    slicer
        One group by default.
    select
        Which jobs those are: "order" takes the first of the batch, "cost" the most expensive, "performance" the most
        critical in the nodes that they need (docs/explanation/market.md). Both parts keep the order of the batch.

    Examples
    --------
    >>> batch = fs.market.Jobs(jobs=5).batch(seed=1)
    >>> plan = fs.market.schedule(batch, fs.market.Domain().environment(seed=1), method=fs.market.Bsf(first=2))
    >>> plan.backfilled
    array([False, False,  True,  True,  True])
    """

    first: int | None = None
    slicer: Slicer = field(default_factory=lambda: Slicer(groups=1))
    select: str = "order"

    def __post_init__(self) -> None:
        if self.first is not None:
            whole("Bsf", "first", self.first, least=0)
        code_of("select", self.select, SELECTIONS)

    def __str__(self) -> str:
        which = "" if self.select == "order" else f", most {SELECTED[self.select]} first"
        return f"bsf, {'half' if self.first is None else self.first} by {self.slicer}{which}"

    def assign(self, batch: Sequence[Request], environment: Environment, *, seed: int = 0) -> Assignment:
        """Return the assignment with the windows of the slicer's jobs and of the backfilled jobs.

        Parameters
        ----------
        batch, environment, seed
            As of `schedule`.
        """
        first = len(batch) // 2 if self.first is None else min(self.first, len(batch))
        order = self.order(batch, environment, first)
        cycle = _Cycle([batch[j] for j in order], environment, seed, order)
        if first > 0:
            self.slicer.assign_jobs(cycle, 0, first)
        if first < len(batch):
            Backfilling().assign_jobs(cycle, first, len(batch))
        return cycle.built.finished(str(self), order)

    def order(self, batch: Sequence[Request], environment: Environment, first: int) -> list[int]:
        """Return the jobs' places in the batch, with the slicer's jobs in front.

        Parameters
        ----------
        batch, environment
            As of `schedule`.
        first
            The number of jobs for the slicer.
        """
        check_batch(batch, environment)
        code = code_of("select", self.select, SELECTIONS)
        if code == Selection.ORDER:
            return list(range(len(batch)))
        needs = needs_of(batch, environment)
        nodes, suitable = needs.nodes, needs.suitable
        fit = suitable.sum(axis=1)
        if code == Selection.COST:
            rank = [-nodes * np.where(suitable, needs.cost, 0.0).sum(axis=1) / np.maximum(fit, 1)]
        else:
            # Suitable nodes per node that the job needs: the fewer, the more critical. Ties by greater work.
            rank = [-nodes * needs.length.sum(axis=1), fit / nodes]
        chosen = np.lexsort(rank)[:first]
        taken = np.isin(np.arange(len(batch)), chosen)
        return [*np.flatnonzero(taken).tolist(), *np.flatnonzero(~taken).tolist()]


SELECTED = {"cost": "expensive", "performance": "critical"}
METHODS: dict[str, Method] = {
    "css": Slicer(groups=1, search="amp"),
    "slicer": Slicer(),
    "backfilling": Backfilling(),
    "bsf": Bsf(),
}


def schedule(
    batch: Sequence[Request], environment: Environment, *, method: str | Method = "slicer", seed: int = 0
) -> Assignment:
    """Return the assignment of windows to a batch of jobs in one scheduling cycle.

    Parameters
    ----------
    batch
        The jobs in order of priority.
    environment
        The domain's nodes and free slots.
    method
        "css", "slicer", "backfilling" or "bsf", or an instance with other parameters: `Slicer(groups=3)`.
    seed
        The seed of random choices; only window="random" makes any.

    Examples
    --------
    >>> batch = fs.market.Jobs(jobs=5).batch(seed=1)
    >>> plan = fs.market.schedule(batch, fs.market.Domain().environment(seed=1), method="slicer")
    >>> plan.totals().scheduled
    5
    """
    if isinstance(method, str):
        if method not in METHODS:
            raise unknown_name("method", method, METHODS)
        method = METHODS[method]
    return method.assign(batch, environment, seed=seed)


class _Cycle:
    """A method's working state in one cycle: the batch's needs, the slots still free, and the assignment so far."""

    def __init__(
        self, batch: Sequence[Request], environment: Environment, seed: int, order: Sequence[int] | None = None
    ) -> None:
        check_batch(batch, environment)
        self.batch = batch
        self.order = range(len(batch)) if order is None else order  # each job's place in the user's batch
        self.seed = seed_of("schedule", seed)
        self.needs: Needs = needs_of(batch, environment)
        # A window cut from the slots leaves at most one slot more for each of its nodes.
        self.left: SlotList = slot_list(environment, spare=int(self.needs.nodes.sum()))
        self.built = Builder(batch, environment, self.needs)

    def called(self, first: int, last: int) -> str:
        """Return text for jobs first to last − 1 in messages: their places in the user's batch, counted from 1."""
        places = sorted(self.order[first:last])
        if places[-1] - places[0] == len(places) - 1:
            return f"jobs {places[0] + 1}..{places[-1] + 1}"
        return f"jobs {', '.join(str(place + 1) for place in places)}"

    def copied(self) -> SlotList:
        """Return a copy of the free slots that a search may change, with as many unused rows."""
        return with_spare_slots(self.left, int(self.left.used[0]))

    def take(self, found: Found, row: int) -> None:
        """Give a job the window in this row of a search: cut it from the free slots, and enter it in the assignment."""
        from fedsched.market.slot_list_kernels import cut

        j = int(found.job[row])
        cut(self.left, self.needs, j, float(found.figures[row, Figure.START]), found.nodes[row])
        self.built.figures[j] = found.figures[row]
        self.built.nodes[j, : found.nodes.shape[1]] = found.nodes[row]
