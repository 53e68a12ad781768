"""shifts(): what a search saves by delaying jobs, by running them elsewhere, and by both, compared with all at home."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import TraceError
from fedsched.core.text import counted, one_line
from fedsched.io.arguments import nouns_of
from fedsched.model.constraints.slack import HOUR
from fedsched.model.reading import CLAIRVOYANT
from fedsched.optimize.convenience import ShiftsConvenience
from fedsched.optimize.entry_point import optimize
from fedsched.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedsched.io.arguments import AnyJobs, AnyMachine
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.model.schedule.schedule import Schedule


class Shift(NamedTuple):
    """One row of the comparison: what may move, the objective's value, its lower bound, and the mean wait.

    Parameters
    ----------
    name
        What may move, in words.
    value, bound
        The objective's value and its lower bound; NaN: nothing is proven, or nothing was searched.
    mean_wait
        The mean wait in seconds.

    Examples
    --------
    >>> from fedsched import shifts
    >>> jobs = fs.Workload(submit=[0, 0], tasks=[2, 2], runtime=[3600, 3600], sites=["north"], origin=[0, 0])
    >>> clean = fs.Signal(times=(0, 3600, 7200), values=(400, 200, 100), unit="g/kWh", beyond="last")
    >>> machine = fs.Federation((fs.Cluster("north", (fs.NodeGroup(2, idle_watts=0),)),), signals=(clean,))
    >>> home = shifts(jobs, machine, slacks=[7200], evaluations=100, seed=1).rows[0]
    >>> home.name, round(home.value, 3)
    ('nothing', 0.162)
    """

    name: str
    value: float
    bound: float  # NaN: nothing is proven, or nothing was searched
    mean_wait: float


@dataclass(frozen=True, slots=True)
class Shifts(ShiftsConvenience):
    """The comparison: what may move, and what that saves; the first row is EASY with every job at home.

    Parameters
    ----------
    objective
        The objective.
    rows, schedules
        A row and a schedule for each case. The schedules have the same jobs: free to move, with the longest slack that
        was asked for.
    remarks
        What is to be known of the rows, a line each.
    workload, asked
        The jobs as given, and the other arguments.

    Examples
    --------
    >>> from fedsched import shifts
    >>> jobs = fs.Workload(submit=[0, 0], tasks=[2, 2], runtime=[3600, 3600], sites=["north"], origin=[0, 0])
    >>> clean = fs.Signal(times=(0, 3600, 7200), values=(400, 200, 100), unit="g/kWh", beyond="last")
    >>> machine = fs.Federation((fs.Cluster("north", (fs.NodeGroup(2, idle_watts=0),)),), signals=(clean,))
    >>> moved = shifts(jobs, machine, slacks=[7200], evaluations=100, seed=1)
    >>> [round(moved.saved(row)[0], 2) for row in moved.rows]
    [0.0, 0.67]
    """

    objective: str
    rows: tuple[Shift, ...]
    remarks: tuple[str, ...]
    schedules: tuple[Schedule, ...]
    workload: Workload
    asked: Mapping[str, object]

    def saved(self, row: Shift) -> tuple[float, float]:
        """Return the share of the value at home that a row saves, and an upper bound on what any schedule saves.

        The second is NaN if the row has no bound.
        """
        home = self.rows[0].value
        return 1.0 - row.value / home, 1.0 - row.bound / home

    def __str__(self) -> str:
        head = f"{'what may move':<22}{one_line(self.objective):>14}{'saved':>9}{'at most':>9}{'mean wait, s':>14}"
        lines = [*map(one_line, self.remarks), head]
        for row in self.rows:
            saved, most = self.saved(row)
            proven = f"{most:>9.1%}" if row.bound == row.bound else f"{'':>9}"
            lines.append(f"{one_line(row.name):<22}{row.value:>14.6g}{saved:>9.1%}{proven}{row.mean_wait:>14,.0f}")
        return "\n".join(lines)


def shifts(
    workload: AnyJobs,
    cluster: AnyMachine,
    objective: str = "carbon",
    *,
    slacks: Sequence[float] = (),
    reading: Reading = CLAIRVOYANT,
    **asked: object,
) -> Shifts:
    """Return what moving jobs in time, in space and in both saves: searches of equal budgets, and their bounds.

    In time, a job stays at the cluster where it was submitted and may be delayed by its slack. In space, it may run
    elsewhere as soon as nodes are free. With one cluster jobs move in time only. Submit times are kept. Jobs without an
    origin are given the clusters in turn as their homes.

    Parameters
    ----------
    workload, cluster
        The jobs, with origins and slack, and what they run on.
    objective
        The objective to save: carbon, cost or peak_watts.
    slacks
        Seconds by which each job may be delayed, in place of its own slack: for each of them one search in time, and
        one in time and space.
    asked
        Other arguments of `optimize`: method, evaluations, seconds, seed.

    Examples
    --------
    >>> from fedsched import shifts
    >>> jobs = fs.Workload(submit=[0, 0], tasks=[2, 2], runtime=[3600, 3600], sites=["north"], origin=[0, 0])
    >>> clean = fs.Signal(times=(0, 3600, 7200), values=(400, 200, 100), unit="g/kWh", beyond="last")
    >>> machine = fs.Federation((fs.Cluster("north", (fs.NodeGroup(2, idle_watts=0),)),), signals=(clean,))
    >>> [row.name for row in shifts(jobs, machine, slacks=[7200], evaluations=100, seed=1).rows]
    ['nothing', 'time, 2 h']
    """
    workload, cluster = nouns_of("shifts", workload, cluster, second="cluster")
    if not _may_be_put_off(workload, slacks):
        raise TraceError("No job may be delayed; give jobs slack, in a column slack or by --put-off 4h.")
    given = workload
    workload, remarks = _with_homes(workload, cluster)
    at_home = workload.origin[:, None] == np.arange(len(workload.sites))
    size = {one.name: one.nodes for one in cluster.clusters}
    wide = workload.tasks > np.array([size.get(name, 0) for name in workload.sites])[workload.origin]
    if wide.any():
        at_home |= wide[:, None]
        remarks.append(f"assumed: {counted(int(wide.sum()), 'job')} too wide for home may run anywhere in any case")
    bound = replace(workload, allowed=at_home if workload.allowed is None else at_home & workload.allowed)
    first = simulate(replace(bound, slack=None), cluster, "easy", reading=reading)
    plans = [replace(first, policy="at home")]
    rows = [Shift("nothing", float(getattr(first.metrics(), objective)), float("nan"), float(first.wait.mean()))]
    searches = _by_slack("time", bound, slacks)
    if len(cluster.clusters) > 1:
        searches |= {"space": replace(workload, slack=None), **_by_slack("time and space", workload, slacks)}
    for name, jobs in searches.items():
        result = optimize(jobs, cluster, objectives=objective, submits="keep", reading=reading, **asked)  # type: ignore[arg-type]
        best = result.best()
        plans.append(replace(best, policy=f"in {name}"))
        rows.append(Shift(name, result.value(), result.bound(), float(best.wait.mean())))
        remarks += [f"{name}: {remark}" for remark in best.remarks]
    free = replace(workload, slack=max(slacks)) if slacks else workload  # type: ignore[arg-type]
    schedules = tuple(replace(plan, workload=free) for plan in plans)
    words: dict[str, object] = {"slacks": tuple(slacks)} if slacks else {}
    words |= {"reading": reading} if reading != CLAIRVOYANT else {}
    return Shifts(objective, tuple(rows), tuple(remarks), schedules, given, {**words, **asked})


def _may_be_put_off(workload: Workload, slacks: Sequence[float]) -> bool:
    if slacks:
        return all(seconds > 0.0 for seconds in slacks)
    return workload.slack is not None and bool(workload.slack.values.any())


def _by_slack(name: str, workload: Workload, slacks: Sequence[float]) -> dict[str, Workload]:
    if not slacks:
        return {name: workload}
    late = {seconds: replace(workload, slack=seconds) for seconds in slacks}  # type: ignore[arg-type]
    return {f"{name}, {seconds / HOUR:.4g} h": jobs for seconds, jobs in late.items()}


def _with_homes(workload: Workload, cluster: Federation) -> tuple[Workload, list[str]]:
    homeless = int((workload.origin < 0).sum())
    if not homeless:
        return workload, []
    if homeless < len(workload) or workload.allowed is not None:
        raise TraceError(
            f"{homeless:,} of {len(workload):,} jobs have no home, so that nothing can be said of moving in space: "
            "give each one, by a column origin."
        )
    names = [one.name for one in cluster.clusters]
    settled = workload.with_sites(names, origin=np.arange(len(workload)) % len(names))
    return settled, [f"assumed: jobs are at home at {', '.join(names)} in turn, for none says where"]
