"""Assignment: the window that each job of a batch got in a scheduling cycle, with metrics and checks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import ScheduleError
from fedsched.core.text import counted, one_line
from fedsched.market import metrics
from fedsched.market.codes import Figure
from fedsched.market.requests import name_of
from fedsched.market.windows import Window, find_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.market.arrays import Needs
    from fedsched.market.environment import Environment
    from fedsched.market.metrics import Owners, Totals, Users
    from fedsched.market.requests import Request

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assignment:
    """The window that each job got in one scheduling cycle; a job without a window has NaN figures and nodes -1.

    Parameters
    ----------
    environment, batch, method
        The nodes with their free slots, the jobs, and the method's name.
    figures
        A row for each job: start, run time, cost, CPU time, energy.
    nodes
        A row for each job, ascending; unused columns have -1.
    alternatives
        The number of alternatives that each job had.
    backfilled
        Which jobs got their window by backfilling: `replay` may move them earlier if other jobs end early.
    limits
        Notes about choices that could not keep their limit.

    Examples
    --------
    >>> batch = fs.market.Jobs(jobs=5).batch(seed=1)
    >>> plan = fs.market.schedule(batch, fs.market.Domain().environment(seed=1), method="css")
    >>> plan.scheduled
    array([ True,  True,  True,  True,  True])
    >>> plan.verify()
    """

    environment: Environment
    batch: tuple[Request, ...]
    method: str
    figures: Floats  # a row a job: start, run time, cost, CPU time, energy
    nodes: Ints  # a row a job, ascending; unused columns hold -1
    alternatives: Ints  # the number that each job had to choose from
    backfilled: Bools  # may move to an earlier start if other jobs end early
    limits: tuple[str, ...] = ()  # notes about choices that could not keep their limit

    @classmethod
    def of_windows(
        cls,
        batch: Sequence[Request],
        environment: Environment,
        start: Sequence[float],
        nodes: Sequence[Sequence[int]],
        *,
        method: str = "",
    ) -> Assignment:
        """Return the assignment in which each job has the given nodes from its start on; `verify` checks it.

        Parameters
        ----------
        batch, environment
            As of `schedule`.
        start, nodes
            The start and the nodes of each job.
        method
            A name for the result.
        """
        jobs = len(batch)
        figures = np.full((jobs, len(Figure)), np.nan)
        table = np.full((jobs, max(map(len, nodes), default=0)), -1, np.int64)
        for j, (request, begin, mine) in enumerate(zip(batch, start, nodes, strict=True)):
            table[j, : len(mine)] = sorted(mine)
            length = request.length * environment.reference / environment.performance[list(mine)]
            figures[j, Figure.START], figures[j, Figure.RUNTIME] = begin, length.max(initial=0.0)
            figures[j, Figure.COST] = environment.cost_of(mine, begin, length).sum()
            figures[j, Figure.CPU] = length.sum()
            figures[j, Figure.ENERGY] = (length * environment.watts[list(mine)]).sum()
        none = np.zeros(jobs, np.int64)
        return cls(
            environment=environment, batch=tuple(batch), method=method, figures=figures, nodes=table, alternatives=none,
            backfilled=none.astype(np.bool_),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def start(self) -> Floats:
        """Return the start of every job's window; NaN without one, as in the other figures."""
        return self.figures[:, Figure.START]

    @property
    def runtime(self) -> Floats:
        """Return the run time of every job: the length of its longest slot."""
        return self.figures[:, Figure.RUNTIME]

    @property
    def finish(self) -> Floats:
        """Return the end of the longest slot of every job."""
        return self.start + self.runtime

    @property
    def cost(self) -> Floats:
        """Return the cost of every job."""
        return self.figures[:, Figure.COST]

    @property
    def cpu(self) -> Floats:
        """Return the node time of every job: the sum of its slots."""
        return self.figures[:, Figure.CPU]

    @property
    def energy(self) -> Floats:
        """Return the energy of every job: the sum over its slots of length × the node's watts."""
        return self.figures[:, Figure.ENERGY]

    @property
    def scheduled(self) -> Bools:
        """Return which jobs have a window."""
        return ~np.isnan(self.start)

    @property
    def failed(self) -> bool:
        """Return whether a job has no window: the cycle then counts as a failure (Y)."""
        return not bool(self.scheduled.all())

    @property
    def windows(self) -> list[Window | None]:
        """Return every job's window; None if it has none."""
        return [self.window(j) for j in range(len(self))]

    def window(self, j: int) -> Window | None:
        """Return job j's window; None if it has none."""
        if np.isnan(self.start[j]):
            return None
        request, nodes = self.batch[j], self.nodes[j][self.nodes[j] >= 0]
        lengths = request.length * self.environment.reference / self.environment.performance[nodes]
        return Window(
            j,
            float(self.start[j]),
            tuple(nodes.tolist()),
            tuple(lengths.tolist()),
            float(self.cost[j]),
            float(self.energy[j]),
        )

    def users(self) -> Users:
        """Return each job's start, finish, cost, saving and other figures, for its user."""
        return metrics.users(self)

    def owners(self) -> Owners:
        """Return each node's sold time, utilisation, share of local tasks, and profit, for its owner."""
        return metrics.owners(self)

    def totals(self) -> Totals:
        """Return the cycle's sums and means over all jobs, for the virtual organisation."""
        return metrics.totals(self)

    def verify(self) -> None:
        """Raise ScheduleError at the first violation of the model: no window, or one of wrong nodes, times or cost."""
        from fedsched.market.verification import violations

        for line in violations(self):
            raise ScheduleError(line)

    def unscheduled(self) -> dict[int, str]:
        """Return, by row, why each job without a window has none, judged by what the environment offers it alone."""
        return {j: self._reason(j) for j in np.flatnonzero(~self.scheduled).tolist()}

    def _reason(self, j: int) -> str:
        request = self.batch[j]
        if find_window(self.environment, request, criterion="min_cost") is not None:
            return "other jobs have taken the slots that it could have had"
        cheapest = find_window(self.environment, replace(request, budget=math.inf), criterion="min_cost")
        if cheapest is None:
            return (
                f"no {request.nodes} suitable nodes are free together for long enough (length {request.length:g}, "
                f"min_performance {request.min_performance:g}, deadline {request.deadline:g})"
            )
        return f"its budget of {request.budget:,.6g} is below {cheapest.cost:,.6g}, the cost of its cheapest window"

    def __str__(self) -> str:
        total = self.totals()
        lines = [
            f"{self.method}: {total.scheduled} of {counted(total.jobs, 'job')} have windows on "
            f"{counted(len(self.environment), 'node')}",
            *(f"  note: {note}" for note in self.limits),
            *(f"  job {one_line(name_of(self.batch, j))}: {reason}" for j, reason in self.unscheduled().items()),
            *(f"  {name:<14} {value:,.6g}" for name, value in total.as_dict().items()),
        ]
        return "\n".join(lines)


class Builder:
    """The windows of a batch collected so far, from several searches; `finished` makes an assignment of them."""

    def __init__(self, batch: Sequence[Request], environment: Environment, needs: Needs) -> None:
        jobs = len(batch)
        self.batch = tuple(batch)
        self.environment = environment
        self.figures = np.full((jobs, len(Figure)), np.nan)
        self.nodes = np.full((jobs, int(needs.nodes.max())), -1, np.int64)
        self.alternatives = np.zeros(jobs, np.int64)
        self.backfilled = np.zeros(jobs, np.bool_)
        self.limits: list[str] = []

    def finished(self, method: str, order: Sequence[int] | None = None) -> Assignment:
        """Return the assignment; with `order`, this builder's job k becomes the assignment's row order[k]."""
        place = np.arange(len(self.batch)) if order is None else np.argsort(order)
        figures, nodes = self.figures[place], self.nodes[place]
        alternatives, backfilled = self.alternatives[place], self.backfilled[place]
        for column in (figures, nodes, alternatives, backfilled):
            column.setflags(write=False)
        return Assignment(
            environment=self.environment,
            batch=tuple(self.batch[k] for k in place.tolist()),
            method=method,
            figures=figures,
            nodes=nodes,
            alternatives=alternatives,
            backfilled=backfilled,
            limits=tuple(self.limits),
        )
