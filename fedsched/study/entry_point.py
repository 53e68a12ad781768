"""The function `study`, which simulates scenarios on one log or dump, beside the present state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import FedschedError, FieldError, TraceError
from fedsched.core.text import counted
from fedsched.core.values import seed_or_fresh
from fedsched.model.jobs.admission import refusals
from fedsched.model.jobs.workload import Workload
from fedsched.model.machine.federation import Federation
from fedsched.simulate import simulate
from fedsched.slurm import Slurm
from fedsched.study.changes import change_of, scenarios_of
from fedsched.study.record import Outcome, Recorded, Study, blocks_of, figures_of
from fedsched.study.study_case import Case, case_of, federated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.core.names import PolicyName
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.policies import Policy
    from fedsched.study.changes import Change
    from fedsched.study.scenario import Scenario

    Base = Case | Scenario | Workload | str | PathLike[str]

HOME = "home"
MOST_BOUNDED = 5_000  # jobs up to which bounds are proven; above, bounds take longer than everything else
BOUND_SECONDS = 20.0


def study(
    base: Base | Sequence[Base],
    scenarios: Mapping[str, Change] | Iterable[Change] | Change,
    *,
    policy: PolicyName | str | Policy | None = None,
    bounds: bool = True,
    seed: int | None = 0,
    told: Callable[[str], None] | None = None,
) -> Study:
    """Simulate scenarios and the present state ("as it is") on the same jobs, and return a `Study` of the outcomes.

    Parameters
    ----------
    base
        A folder that `fedsched twin dump` has written, a workload file, a `Scenario` or its TOML file, a workload, or a
        `study.Case`. Several of them become clusters that scenarios may federate.
    scenarios
        A mapping from names to changes. A change is words ("nodes=+20%", "policy=fcfs", "set.bf_interval=60
        estimates=exact") or a function from a case to a case. In a list, a change is named by its words, or by a name
        before them ("more nodes: nodes=+20%").
    policy
        A policy in place of the default: a dump's own scheduler, easy for a log, a scenario's own policy.
    bounds
        Whether to prove a lower bound of the mean wait for each scenario; for at most 5,000 jobs.
    seed
        The seed of resampling; None draws a fresh one. The study holds it.
    told
        Called with each scenario's name before it is simulated.

    Notes
    -----
    A job that does not fit in one of the scenarios is left out of all, so that all are about the same jobs.

    Examples
    --------
    >>> print(fs.study(fs.read("sample").head(100), ["more nodes: nodes=+20%"], bounds=False))
    1 scenario beside what is, 100 jobs
    more nodes: mean wait -8,707 s
    """
    changes = scenarios_of(scenarios)
    if not changes:
        raise ValueError("study: there is no scenario; give some by name: {'more nodes': 'nodes=+20%'}.")
    seed = seed_or_fresh("study", seed)
    single = isinstance(base, str | Path | Workload | Case) or not isinstance(base, Sequence)
    given: Sequence[Base] = [base] if single else list(base)  # type: ignore[list-item,arg-type]
    start = federated([case_of(one, policy=policy) for one in given])
    cases = {"as it is": start}
    for name, change in changes.items():
        if name in cases:
            raise ValueError(f"study: two scenarios are named {name!r}; give one another name.")
        try:
            cases[name] = change_of(change)(start)
        except FieldError as error:
            raise FieldError(f"Scenario {name}: ".replace("{", "{{").replace("}", "}}") + error.words,
                             *error.values) from None  # fmt: skip
    rows, notes = _common(cases)
    cases = {name: case.take(rows) for name, case in cases.items()}
    energy = any(case.federation.power is not None for case in cases.values())
    outcomes = []
    for name, case in cases.items():
        if told is not None:
            told(name)
        outcomes.append(_outcome(name, changes.get(name, ""), case, bounds=bounds, energy=energy))
    outcomes = [outcomes[0], *(_unchanged_told(one, outcomes[0]) for one in outcomes[1:])]
    first = cases["as it is"]
    mine = np.flatnonzero(first.compared)
    submit = first.workload.submit[mine]
    block, days = blocks_of(submit)
    return Study(
        base=outcomes[0],
        scenarios=tuple(outcomes[1:]),
        size=first.workload.tasks[mine],
        user=first.workload.user[mine],
        block=block,
        days_of_block=days,
        seed=seed,
        notes=tuple(dict.fromkeys([*start.notes, *notes])),
        names=_names(first.workload),
        recorded=_recorded(first, outcomes[0]),
        unit="node" if first.sharing is None else "task",
    )


def _unchanged_told(outcome: Outcome, base: Outcome) -> Outcome:
    """Return the outcome, with a note if its jobs wait and run as in the base, so that the scenario changes nothing."""
    same = outcome.metrics == base.metrics and np.array_equal(outcome.wait, base.wait, equal_nan=True)
    closes = "maintenance=" in outcome.change
    told = "changes nothing: no job starts at another time" + ", as no node-time is taken from jobs" * closes
    return replace(outcome, notes=(*outcome.notes, told)) if same else outcome


def _recorded(case: Case, outcome: Outcome) -> Recorded | None:
    """Return the mean recorded wait and the simulated one, over jobs that start in both; None without a record."""
    if case.began is None:
        return None
    mine = np.flatnonzero(case.compared)
    wait = case.began[mine] - case.workload.submit[mine]
    both = ~np.isnan(wait) & ~np.isnan(outcome.wait)
    if not both.any():
        return None
    return Recorded(int(both.sum()), float(wait[both].mean()), float(outcome.wait[both].mean()), int((~both).sum()))


def _names(workload: Workload) -> dict[int, str]:
    """Return the users' names by user number, from the jobs' labels; empty if jobs have none."""
    called = {} if workload.labels is None else workload.labels.texts
    return dict(zip(workload.user.tolist(), called.get("user", np.zeros(0)).tolist(), strict=False))


def _common(cases: Mapping[str, Case]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the rows of the jobs that fit in every scenario, and a list with a note on how many do not, if any.

    Raise TraceError if a scenario lacks jobs, or if no job fits.
    """
    start = next(iter(cases.values()))
    jobs = len(start.workload)
    stay = np.ones(jobs, dtype=np.bool_)
    for name, case in cases.items():
        if len(case.workload) != jobs:
            raise TraceError(f"Scenario {name}: it has {len(case.workload)} of {jobs} jobs; it must have all.")
        stay &= _fits(case)
    if not stay.any():
        raise TraceError("study: no job fits all of the scenarios; leave the smallest machines out.")
    lost = jobs - int(stay.sum())
    notes = [f"left out of all scenarios: {counted(lost, 'job')} that one of them has no room for"] * bool(lost)
    return np.flatnonzero(stay), notes


def _fits(case: Case) -> NDArray[np.bool_]:
    """Return which jobs are admitted, and fit on the empty machine under the case's placement."""
    tasks, room = case.workload.tasks, _room(case)
    if len(case.federation.clusters) > 1 and case.placement == "single":
        return np.asarray(room.max(axis=1) >= tasks)
    if len(case.federation.clusters) > 1 and case.placement == "home":
        return np.asarray(room[np.arange(tasks.size), case.workload.origin] >= tasks)
    return np.asarray(room.sum(axis=1) >= tasks)


def _room(case: Case) -> NDArray[np.int64]:
    """Return how many tasks of each job each cluster holds while it is empty, jobs × clusters; 0 if it is refused."""
    machine = case.federation
    if case.sharing is None:
        room = np.tile([cluster.nodes for cluster in machine.clusters], (len(case.workload), 1))
        room[list(refusals(case.workload, machine))] = 0
        return room
    from fedsched.engine.sharing.trials import room_when_free

    of_group = np.array(machine.group_cluster)[:, None] == np.arange(len(machine.clusters))
    return np.asarray(room_when_free(case.workload, machine, case.sharing, case.reading) @ of_group)


def _outcome(name: str, change: Change, case: Case, *, bounds: bool, energy: bool) -> Outcome:
    measured = energy or case.sharing is not None
    if case.placement == HOME and len(case.federation.clusters) > 1:
        start, finish, policy, drawn, busy = _each_alone(case, measured=measured)
    else:
        schedule = _simulated(case)
        start, finish, policy = schedule.start, schedule.finish, str(schedule.policy)
        drawn, busy = _used(schedule) if measured else (0.0, 0.0)
    rows = np.flatnonzero(case.compared)
    metrics, wait = figures_of(case.workload, start, finish, rows, case.federation.nodes)
    if case.sharing is not None:
        metrics["utilisation"] = busy / (case.federation.nodes * metrics["makespan"])
    if energy:
        metrics["energy"] = drawn
    bound, why = _bound(case) if bounds else (float("nan"), ())
    return Outcome(
        name=name,
        change=change if isinstance(change, str) else getattr(change, "__name__", "a function"),
        policy=policy,
        nodes=case.federation.nodes,
        metrics=metrics,
        wait=wait,
        bound=bound,
        notes=(*case.notes, *why),
        dropped=case.dropped,
    )


def _simulated(case: Case) -> Schedule:
    placement = None if isinstance(case.policy, Slurm) else case.placement
    schedule = simulate(
        case.workload, case.federation, case.policy, placement=placement, reading=case.reading, sharing=case.sharing
    )
    if not schedule.complete:
        raise KeyboardInterrupt  # a partial schedule beside complete ones would mislead
    return schedule


def _used(schedule: Schedule) -> tuple[float, float]:
    """Return joules, and node-seconds in use; of shared nodes, by the share of the cores that jobs hold."""
    row = schedule.metrics()
    return row.energy, row.utilisation * schedule.federation.nodes * row.makespan


def _each_alone(case: Case, *, measured: bool) -> tuple[NDArray[np.float64], NDArray[np.float64], str, float, float]:
    """Simulate each cluster alone with its own jobs; return starts, finishes, the policy's name, joules, node-seconds.

    The last two are 0 unless `measured` is set.
    """
    jobs = len(case.workload)
    start, finish, policy, used = np.full(jobs, np.nan), np.full(jobs, np.nan), "", np.zeros(2)
    for k, cluster in enumerate(case.federation.clusters):
        rows = np.flatnonzero(case.workload.origin == k)
        if not rows.size:
            continue
        own = replace(case.workload.take(rows), origin=np.full(rows.size, -1), sites=(), allowed=None)
        calendar = tuple(one for one in case.federation.calendar if one.cluster == cluster.name)
        alone = Federation((cluster,), name=cluster.name, calendar=calendar, power=case.federation.power)
        schedule = _simulated(replace(case, workload=own, federation=alone, placement=None, counted=None))
        start[rows], finish[rows], policy = schedule.start, schedule.finish, str(schedule.policy)
        used += _used(schedule) if measured else 0.0
    return start, finish, f"{policy}, each cluster alone", float(used[0]), float(used[1])


def _bound(case: Case) -> tuple[float, tuple[str, ...]]:
    """Return a lower bound of the compared jobs' mean wait, NaN if none is proven, and notes why there is none."""
    from fedsched.bounds import lower_bounds

    workload = case.workload
    if case.sharing is not None:
        return float("nan"), ("no bound: nodes are shared",)
    if len(workload) > MOST_BOUNDED:
        return float("nan"), (f"no bound: {len(workload):,} jobs are more than {MOST_BOUNDED:,}",)
    if not case.compared.all():
        # Removing the jobs that ran before only lets the others start earlier: the bound stays valid.
        workload = workload.take(np.flatnonzero(case.compared))
    try:
        found = lower_bounds(workload, replace(case.federation, calendar=()), method="auto", seconds=BOUND_SECONDS)
        return (found.of("mean_wait"), ()) if "mean_wait" not in found.unproven else (float("nan"), ())
    except FedschedError as error:
        return float("nan"), (f"no bound: {error}",)
