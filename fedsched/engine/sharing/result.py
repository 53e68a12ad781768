"""The schedule of jobs that share nodes: one like any other, and which tasks of each job were on which node."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.core.errors import ScheduleError
from fedsched.engine.compatibility import refused
from fedsched.model.power.watts import extra_joules, have_own_watts, shared_node_measures, watts_of
from fedsched.model.schedule.lost import RunTable
from fedsched.model.schedule.power_draw import power_measures
from fedsched.model.schedule.schedule import Schedule

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.engine.sharing.noun import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.metrics import Metrics
    from fedsched.model.schedule.node_use import NodeUse


class Played(NamedTuple):
    """What there is of a run on shared nodes beside starts and counts of tasks."""

    sharing: NodeSharing
    use: NodeUse
    lost: NodeUse | None = None  # of the runs that came to nothing, a row of jobs each; none where there are none


class SharedSchedule(Schedule):
    """A schedule on nodes that jobs share: its counts are of tasks.

    `simulate(sharing=)` returns one. `use` has the tasks of each job on each node, `sharing` how the nodes were shared.

    Examples
    --------
    >>> node = fs.NodeGroup(2, resources=(("cpu", 4),))
    >>> jobs = fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[60, 60], demand={"cpu": [2, 2]})
    >>> schedule = fs.simulate(jobs, node, sharing="first")
    >>> schedule.nodes_of(0), schedule.nodes_of(1)
    ((0,), (0,))
    """

    __slots__ = ("played",)

    played: Played | None

    def __init__(self, *, played: Played | None = None, **columns: Any) -> None:
        super().__init__(**columns)
        object.__setattr__(self, "played", played)

    @property
    def shares_nodes(self) -> bool:
        """Return that several jobs may run on a node at a time."""
        return True

    @property
    def sharing(self) -> NodeSharing:
        """Return how nodes were shared."""
        return self._known().sharing

    @property
    def use(self) -> NodeUse:
        """Return which tasks of each job were on which node."""
        return self._known().use

    @property
    def lost_use(self) -> NodeUse | None:
        """Return which tasks of each lost run were on which node, its jobs the runs of `lost`; None without any."""
        return self._known().lost

    def nodes_of(self, row: int) -> tuple[int, ...]:
        """Return the numbers of a job's nodes, from 0 on through the federation's clusters."""
        return tuple(np.unique(self.use.node[self.use.job == row]).tolist())

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return who has no end and why, and how much of each resource was in use, and how much stranded."""
        use = self.use
        if self.lost_use is not None:
            from fedsched.model.schedule.node_use import every_run

            use = every_run(self, use, self.lost_use, np.flatnonzero(~np.isnan(self.finish)))[1]
        return (*super().remarks, *use.in_words())

    @property
    def unmodelled(self) -> tuple[str, ...]:
        """Return what the jobs' log holds and this model does not; of how jobs share nodes it knows."""
        return self.use.unmodelled

    def metrics(self, *, users: bool = True) -> Metrics:
        """Return the metric row: a node is busy by the share of its cores that is taken, all by a job alone there."""
        row, taken = super().metrics(users=users), self.use.taken_seconds(self.t0)
        if self.lost_use is not None:
            wasted = self.lost_use.taken_seconds(self.t0)
            row, taken = replace(row, wasted_node_seconds=float(wasted.sum())), taken + wasted
        row = replace(row, **shared_node_measures(self.federation, taken, row.makespan, self._joules_beyond()))
        return replace(row, **power_measures(self, row))

    def _joules_beyond(self) -> float:
        # By how much more than by busy watts jobs took that say what they draw.
        if not have_own_watts(self.workload):
            return 0.0
        runs, watts = self.drawing()
        return float(extra_joules(watts, self.federation.groups, runs, self.t0).sum())

    def drawing(self) -> tuple[RunTable, NDArray[np.float64]]:
        """Return who had which share of how many nodes from when to when, and what a whole one draws under each job."""
        done = np.flatnonzero(~np.isnan(self.finish))
        runs = RunTable(done, self.start[done], self.finish[done], self.use.shares[done])
        if (lost := self.lost_use) is not None:
            also = RunTable(self.lost.job, lost.start, lost.finish, lost.shares)
            runs = runs.joined_with(also)
        return runs, watts_of(self.workload, self.federation.groups)

    def take(self, rows: NDArray[Any]) -> SharedSchedule:
        """Return the schedule of some of the jobs, by mask or by row."""
        rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        some = super().take(rows)
        names = [name for name in Schedule.__slots__ if hasattr(some, name)]
        columns = {name: getattr(some, name) for name in names}
        return SharedSchedule(**columns, played=self._played_by(rows, some.workload))

    def _played_by(self, rows: NDArray[np.int64], workload: Workload) -> Played:
        # Of these jobs, which are those of this workload.
        played = self._known()._replace(use=self.use.take(rows, workload))
        if played.lost is None:
            return played
        runs = np.flatnonzero(np.isin(self.lost.job, rows))
        lost = played.lost.take(runs, played.lost.workload.take(runs)) if runs.size else None
        return played._replace(lost=lost)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a row for each job and node, with its tasks: what `fedsched.io.read_node_use` reads.

        Runs that came to nothing are not in it: `lost_use` has them.
        """
        from fedsched.io.tables.node_use import write_node_use

        write_node_use(self.use, path)

    def violations(
        self, *, tolerance: float = 1e-9, caps: NDArray[np.int64] | None = None, claimed: Metrics | None = None
    ) -> list[str]:
        """Return everything about the schedule that breaks the model, one line each."""
        from fedsched.model.verify.shared_nodes_check import violations

        if caps is not None:
            raise refused("shared nodes", "caps")
        return violations(self, self.use, self.lost_use, tolerance=tolerance, claimed=claimed)

    def _known(self) -> Played:
        if self.played is None:
            raise ScheduleError("Schedule: it was made of another's columns, which do not tell; ask that one.")
        return self.played
