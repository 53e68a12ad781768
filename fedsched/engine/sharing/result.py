"""The schedule of jobs that share nodes: a Schedule that also has the tasks of each job on each node."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.core.errors import ScheduleError
from fedsched.engine.pack.node_caps import checked_caps
from fedsched.model.jobs.layout import layout_of
from fedsched.model.power.watts import extra_joules, have_own_watts, shared_node_measures, watts_of
from fedsched.model.schedule.integrals import NOT_KNOWN
from fedsched.model.schedule.lost import RunTable
from fedsched.model.schedule.node_use import use_in_parts
from fedsched.model.schedule.power_draw import power_measures
from fedsched.model.schedule.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.engine.sharing.noun import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.metrics import Metrics
    from fedsched.model.schedule.node_use import NodeUse


class Played(NamedTuple):
    """What a run on shared nodes has besides starts, ends and counts: the rules of sharing, and the use of nodes."""

    sharing: NodeSharing
    use: NodeUse
    lost: NodeUse | None = None  # of lost runs, each of which is a job there; None if there are none


class SharedSchedule(Schedule):
    """A schedule on nodes that jobs share; its `counts` are numbers of tasks.

    `simulate(sharing=)` returns one. `use` has the tasks of each job on each node, and `sharing` the rules of sharing.

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
        """Return True: several jobs may run on a node at a time."""
        return True

    @property
    def sharing(self) -> NodeSharing:
        """Return the rules by which jobs shared nodes."""
        return self._known().sharing

    @property
    def use(self) -> NodeUse:
        """Return how many tasks of each job were on which node."""
        return self._known().use

    @property
    def lost_use(self) -> NodeUse | None:
        """Return how many tasks of each lost run were on which node; None if there are no lost runs.

        The jobs of this NodeUse are the runs of `lost`.
        """
        return self._known().lost

    def nodes_of(self, row: int) -> tuple[int, ...]:
        """Return the numbers of a job's nodes; they are counted from 0 through all clusters of the federation."""
        return tuple(np.unique(self.use.node[self.use.job == row]).tolist())

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return the remarks of every schedule, and how much of each resource was in use, and how much was stranded."""
        use = self.use
        if self.lost_use is not None:
            from fedsched.model.schedule.node_use import every_run

            use = every_run(self, use, self.lost_use, np.flatnonzero(~np.isnan(self.finish)))[1]
        return (*super().remarks, *use.in_words())

    @property
    def unmodelled(self) -> tuple[str, ...]:
        """Return, in words, what the jobs' log has and the model of shared nodes ignores."""
        return self.use.unmodelled

    def metrics(self, *, users: bool = True) -> Metrics:
        """Return the metric row; a node is busy by the share of its cores that jobs take.

        A node of an exclusive job is fully busy.
        """
        row, taken = super().metrics(users=users), self.use.taken_seconds(self.t0)
        if self.lost_use is not None:
            wasted = self.lost_use.taken_seconds(self.t0)
            row, taken = replace(row, wasted_node_seconds=float(wasted.sum())), taken + wasted
        row = replace(row, **shared_node_measures(self.federation, taken, row.makespan, self._joules_beyond()))
        return replace(row, **power_measures(self, row))

    def _joules_beyond(self) -> float:
        # Returns the joules of jobs with watts of their own, less those at the busy watts of the groups.
        if not have_own_watts(self.workload):
            return 0.0
        runs, watts = self.drawing()
        return float(extra_joules(watts, self.federation.groups, runs, self.t0).sum())

    def drawing(self) -> tuple[RunTable, NDArray[np.float64]]:
        """Return all ended runs with their shares of nodes in each group, and the watts of a node under each job.

        Lost runs are included. The watts are jobs × groups, empty if all jobs draw the busy watts of the groups.
        """
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
        return SharedSchedule(**_columns(some), played=self._played_by(rows, some.workload))

    def put_off(self, workload: Workload, delays: NDArray[np.float64]) -> SharedSchedule:
        """Return the schedule of a plan that puts off jobs: of these jobs, with their delays in seconds."""
        played = self._known()
        columns = _columns(self) | {"workload": workload, "delays": delays}
        return SharedSchedule(**columns, played=played._replace(use=replace(played.use, workload=workload)))

    def _played_by(self, rows: NDArray[np.int64], workload: Workload) -> Played:
        # Returns the use of nodes by the jobs in these rows; `workload` has these jobs alone.
        played = self._known()._replace(use=self.use.take(rows, workload))
        if played.lost is None:
            return played
        runs = np.flatnonzero(np.isin(self.lost.job, rows))
        lost = played.lost.take(runs, played.lost.workload.take(runs)) if runs.size else None
        return played._replace(lost=lost)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a row for each job and node, with the number of tasks; `fedsched.io.read_node_use` reads the file.

        Lost runs are left out: `lost_use` has them.
        """
        from fedsched.io.tables.node_use import write_node_use

        write_node_use(self.use, path)

    def violations(
        self, *, tolerance: float = 1e-9, caps: NDArray[np.int64] | None = None, claimed: Metrics | None = None
    ) -> list[str]:
        """Return all violations of the model by the schedule, one line each; `caps` are in tasks."""
        from fedsched.model.verify.shared_nodes_check import violations

        if caps is not None:  # of the groups as downtimes of a number of nodes divide them
            caps = checked_caps(caps, len(self), len(self.federation.groups))
        return violations(self, self.use, self.lost_use, tolerance=tolerance, caps=caps, claimed=claimed)

    def _known(self) -> Played:
        if self.played is None:
            raise ScheduleError("Schedule: it was made of another's columns, which do not tell; ask that one.")
        return self.played


def shared_schedule(
    schedule: Schedule, sharing: NodeSharing, parts: Sequence[tuple[NodeUse, NDArray[np.int64]]]
) -> SharedSchedule:
    """Return a schedule with the nodes of its jobs, by the node use of parts of them: see `use_in_parts`."""
    use = use_in_parts(schedule, parts, layout_of(schedule.workload)[1])
    columns = _columns(schedule) | {"integrals": NOT_KNOWN}
    return SharedSchedule(**columns, played=Played(sharing, use))


def _columns(schedule: Schedule) -> dict[str, Any]:
    return {name: getattr(schedule, name) for name in Schedule.__slots__ if hasattr(schedule, name)}
