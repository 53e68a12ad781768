"""The content of a report before it is a page: plans side by side, their objectives, and how they were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import shown
from fedsched.model.schedule.metrics import NAMES
from fedsched.model.schedule.schedule import Schedule
from fedsched.optimize.result.verification import check, claim_of
from fedsched.report import plan_data

if TYPE_CHECKING:
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.optimize.result import Result

ALIKE = 1e-4  # values that differ by a smaller share look the same
LEAST_DRAWN = 4  # plans that are always drawn, thinned if there is no room for all jobs
ALWAYS = ("easy", "fcfs")  # baselines that are always shown with schedules beside a search's plans


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One plan, baseline or schedule that the report shows: its label, its values and, if known, its schedule."""

    label: str
    kind: str  # "plan" of a search, "baseline" beside it, or "schedule"
    about: str
    values: tuple[float, ...]  # of the material's objectives
    schedule: Schedule | None = None  # None: only its values are known
    drawn: bool = True  # whether the page has its Gantt chart


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The content of a report's page: the problem, the plans side by side, and the search that found them.

    Parameters
    ----------
    workload, federation, objectives
        The problem.
    entries, chosen
        What is shown side by side, and which of them first.
    result
        The search's result, if there is one.
    room
        The most jobs of each drawn plan that the page can hold.
    notes
        What the page says in addition.

    Examples
    --------
    >>> from fedsched import report
    >>> material = report.of_schedules([fs.simulate(fs.read("sample").head(50), 128)])
    >>> len(material.entries), len(material.workload)
    (1, 50)
    """

    workload: Workload
    federation: Federation
    objectives: tuple[str, ...]
    entries: tuple[Entry, ...]
    chosen: int  # the entry that is shown first
    result: Result | None = None
    room: int = plan_data.MOST_DRAWN  # how many jobs of each drawn plan the page can hold
    notes: tuple[str, ...] = field(default=())

    @property
    def schedules(self) -> list[Schedule]:
        """Return the schedules of the entries that have one."""
        return [entry.schedule for entry in self.entries if entry.schedule is not None]

    @property
    def shared(self) -> bool:
        """Return whether jobs share nodes in the schedules."""
        return any(getattr(schedule, "shares_nodes", False) for schedule in self.schedules)


def of_result(result: Result) -> Material:
    """Return the content of a report on a search's result: its plans, simulated again, and its baselines.

    Only the usual and the best baselines have a schedule.

    Parameters
    ----------
    result
        What `optimize` returned.

    Examples
    --------
    >>> from fedsched import report
    >>> material = report.of_result(fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1))
    >>> material.objectives
    ('makespan', 'energy')
    """
    front = result.front
    several = len(front) > 1
    entries = [
        Entry(
            label=f"plan {i + 1}" if several else "best plan",
            kind="plan",
            about=str(plan),
            values=tuple(front.values[i].tolist()),
            schedule=result.schedule(i),
        )
        for i, plan in enumerate(front.plans)
    ]
    again = policies_with_schedules(result)
    for baseline in result.baselines:
        schedule = result.problem.truth.simulated(baseline.policy) if baseline.policy in again else None
        if schedule is not None and result.mark:
            check(claim_of(baseline, schedule), result.objectives)
        about = "a policy" if schedule is not None else f"a policy{result.mark}"
        entries.append(Entry(baseline.policy, "baseline", about, tuple(baseline.values), schedule))
    knee = front.knee_index()
    kept, room, notes = _drawn(entries, _first(len(front), knee, entries), result.workload)
    return Material(
        workload=result.workload,
        federation=result.federation,
        objectives=result.objectives,
        entries=kept,
        chosen=knee,
        result=result,
        room=room,
        notes=notes,
    )


def of_schedules(schedules: Sequence[Schedule], *, second: str = "") -> Material:
    """Return the content of a report on schedules of one workload on one federation, side by side.

    They are compared by mean wait and by `second`, a metric: by default energy, or bounded slowdown if watts are
    assumed or all energies are equal.

    Parameters
    ----------
    schedules
        Schedules of the same jobs on the same machine.
    second
        The metric to compare them by besides the mean wait.

    Examples
    --------
    >>> from fedsched import report
    >>> plans = [fs.simulate(fs.read("sample").head(50), 128, name) for name in ("easy", "sjf")]
    >>> [schedule.policy for schedule in report.of_schedules(plans).schedules]
    ['easy on fastest', 'sjf on fastest']
    """
    if not isinstance(schedules, Sequence) or not schedules or not all(isinstance(one, Schedule) for one in schedules):
        raise TypeError(f"report: schedules={shown(schedules)} must be a list of at least one Schedule.")
    first = schedules[0]
    for schedule in schedules:
        if not _same_jobs(schedule.workload, first.workload) or schedule.federation != first.federation:
            raise ValueError(
                f"report: the schedule {schedule.policy!r} has another workload or federation than "
                f"{first.policy!r}; give schedules of the same jobs on the same nodes."
            )
    rows = [schedule.metrics(users=False).as_dict() for schedule in schedules]
    objectives = ("mean_wait", second or _second(rows, first.federation)) if len(schedules) > 1 else ()
    entries = []
    for label, schedule, values in zip(_labels(schedules), schedules, rows, strict=True):
        about = "; ".join(schedule.notes)
        entries.append(Entry(label, "schedule", about, tuple(values[name] for name in objectives), schedule))
    kept, room, notes = _drawn(entries, list(range(len(entries))), first.workload)
    return Material(
        workload=first.workload,
        federation=first.federation,
        objectives=objectives,
        entries=kept,
        chosen=0,
        room=room,
        notes=notes,
    )


def _second(rows: list[dict[str, float]], federation: Federation) -> str:
    # The second axis of the picture at first: energy, unless watts are assumed or all energies look the same.
    energies = np.array([values["energy"] for values in rows])
    alike = np.ptp(energies) <= ALIKE * energies.max()
    return "bounded_slowdown" if federation.watts_assumed or alike else "energy"


def _same_jobs(one: Workload, other: Workload) -> bool:
    # Submits that depend on other jobs' ends, and shapes of jobs with alternatives, may differ between schedules.
    if len(one) != len(other):
        return False
    own = ["submit", "after"] if one.feedback is not None else []
    if one.alternatives is not None:
        own += ["tasks", "runtime", "estimate", "compute_fraction", "layout", "gear"]
    return replace(one, **{name: getattr(other, name) for name in own}) == other


def _labels(schedules: Sequence[Schedule]) -> list[str]:
    # The policies' names; the placement is left out if it is the same for all.
    names = [schedule.policy or "schedule" for schedule in schedules]
    placements = {name.partition(" on ")[2] for name in names}
    return [name.partition(" on ")[0] for name in names] if len(names) > 1 and len(placements) == 1 else names


def policies_with_schedules(result: Result) -> set[str]:
    """Return the baseline policies that the page shows with a schedule: easy, fcfs, and the best by each objective."""
    from fedsched.search.problem.objectives import MAXIMISED

    best = {*ALWAYS}
    for k, name in enumerate(result.objectives):
        sign = -1.0 if name in MAXIMISED else 1.0
        ranked = sorted((sign * baseline.values[k], baseline.policy) for baseline in result.baselines)
        best |= {policy for _, policy in ranked[:1]}
    return best


def _first(plans: int, knee: int, entries: list[Entry]) -> list[int]:
    # The order in which plans are drawn while there is room: the knee, the front's ends, baselines, then the other
    # plans, far apart ones first.
    usual = [i for i, entry in enumerate(entries) if entry.kind == "baseline" and entry.schedule is not None]
    order = [knee, 0, plans - 1, *usual]
    step = plans
    while step >= 1:
        order += range(0, plans, step)
        step //= 2
    return list(dict.fromkeys(order))


def _drawn(
    entries: list[Entry], order: list[int], workload: Workload
) -> tuple[tuple[Entry, ...], int, tuple[str, ...]]:
    # The entries with `drawn` set, how many jobs of each there is room for, and a note on plans that are not drawn.
    most = max(plan_data.MOST_DRAWN // max(len(workload), 1), LEAST_DRAWN)
    chosen = set(order[:most])
    kept = tuple(
        Entry(e.label, e.kind, e.about, e.values, e.schedule, drawn=i in chosen and e.schedule is not None)
        for i, e in enumerate(entries)
    )
    drawn = sum(entry.drawn for entry in kept)
    left = sum(entry.schedule is not None and not entry.drawn for entry in kept)
    room = plan_data.MOST_DRAWN // max(drawn, 1)
    said = f"To keep the page small, {left} of {left + drawn} plans are listed without their Gantt charts."
    return kept, room, (said,) if left else ()


def metrics_of(entry: Entry) -> dict[str, float]:
    """Return the metrics of an entry's schedule by name; all are NaN if it has no schedule."""
    if entry.schedule is None:
        return dict.fromkeys(NAMES, float("nan"))
    return entry.schedule.metrics(users=False).as_dict()
