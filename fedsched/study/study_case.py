"""Cases of a study: each has the jobs, the machine and the policy that one scenario simulates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import FederationError, FieldError, TraceError
from fedsched.core.text import one_line
from fedsched.io.wall_clock import WallTime, clock_of_workload
from fedsched.model.jobs.workload import Workload
from fedsched.model.reading import USUAL, Reading
from fedsched.simulate import is_slurm

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.core.names import PlacementName, PolicyName
    from fedsched.engine.sharing import NodeSharing
    from fedsched.model.machine.federation import Federation
    from fedsched.policies import Policy
    from fedsched.slurm import Slurm
    from fedsched.study.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Jobs, a machine and a policy: what one scenario simulates.

    Parameters
    ----------
    workload, federation, policy, placement, reading
        As for `simulate`.
    counted
        Which jobs' waits are compared: one boolean a job. None: all.
    notes
        What was left out or assumed.
    began
        Recorded starts, in seconds like submits; NaN: not in the span of the record. None: no record.
    zero
        The wall-clock time of second 0, in seconds since 1970. None: as the workload's header tells, if it does.
    dropped
        What a change of the machine has dropped beside the change, in words; differences of waits include its effect.
    sharing
        How jobs share nodes, as in `simulate`; None: each task has its own node.

    Examples
    --------
    >>> from fedsched.study import Case
    >>> case = Case(workload=fs.read("sample").head(100), federation=fs.Federation.of(128), policy="easy-sjbf")
    >>> print(fs.study(case, ["policy=fcfs"], bounds=False))
    1 scenario beside what is, 100 jobs
    policy=fcfs: mean wait +70,027 s
    """

    workload: Workload
    federation: Federation
    policy: PolicyName | str | Policy | Slurm = "easy"
    placement: PlacementName | None = None
    reading: Reading = USUAL
    counted: NDArray[np.bool_] | None = None
    notes: tuple[str, ...] = ()
    began: NDArray[np.float64] | None = None
    zero: float | None = None
    dropped: tuple[str, ...] = ()
    sharing: NodeSharing | None = None

    @property
    def compared(self) -> NDArray[np.bool_]:
        """Return, for each job, whether its wait is compared."""
        return np.ones(len(self.workload), dtype=np.bool_) if self.counted is None else self.counted

    def take(self, rows: NDArray[np.int64]) -> Case:
        """Return a copy of the case with only the jobs in these rows."""
        began = None if self.began is None else self.began[rows]
        return replace(self, workload=self.workload.take(rows), counted=self.compared[rows], began=began)

    def said(self, second: float) -> str:
        """Return a second of the jobs' clock in words: as wall-clock time if that is known, else as a number."""
        if self.zero is not None:
            return str(WallTime(np.floor(self.zero + second)))
        try:
            clock = clock_of_workload(self.workload)
        except FederationError:  # submits were moved
            clock = None
        return f"second {second:,.0f}" if clock is None else str(WallTime(np.floor(clock.moment(second).seconds)))

    def noted(self, note: str) -> Case:
        """Return a copy of the case with one more note."""
        return replace(self, notes=(*self.notes, note))


MACHINE = "its dump's folder, or a scenario (a TOML file with nodes = N or federation = FILE under [machine])"
DECIDED = ("dependency", "limit reached")  # facts that follow from the scheduler's decisions


def case_of(
    base: Case | Scenario | Workload | str | PathLike[str], *, policy: str | Policy | None = None
) -> Case:
    """Return the case that a study begins with, from a dump's folder, a log, a scenario, or a workload.

    Parameters
    ----------
    base
        A folder that `fedsched twin dump` has written, a workload file or a shipped name, a `Scenario` or its TOML
        file, or a workload.
    policy
        A policy in place of the default: slurm for a dump, easy for a log, a scenario's own.
    """
    from fedsched.study.scenario import Log, Scenario

    if isinstance(base, Case):
        return base if policy is None else replace(base, policy=policy)
    if isinstance(base, Workload):
        return _of_workload(base, policy or "easy")
    if isinstance(base, Scenario):
        return _of_scenario(base, policy)
    if Path(base).is_dir():
        return _of_dump(Path(base), policy or "slurm")
    if str(base).lower().endswith(".toml"):
        return _of_scenario(Scenario.load(base), policy)
    return _of_scenario(Scenario(jobs=Log(file=str(base))), policy)


def _of_workload(workload: Workload, policy: str | Policy) -> Case:
    from fedsched.model.machine.federation import Federation

    if not workload.nodes:
        raise TraceError(f"{one_line(workload.name)}: it does not say how many nodes its machine has; give {MACHINE}.")
    return Case(workload=workload, federation=Federation.homogeneous(workload.nodes), policy=policy)


def _of_scenario(scenario: Scenario, policy: str | Policy | None) -> Case:
    own = scenario.policy.policy(seed=scenario.seed)
    if isinstance(policy, str) and policy.lower() == "slurm":
        if not is_slurm(own):
            raise FieldError("{policy}={!r} needs a slurm.conf; give a dump's folder, or a scenario's TOML file with "
                             "name = 'slurm' and conf = FILE under [policy].", policy)  # fmt: skip
        policy = None
    workload = scenario.workload()
    try:
        machine = scenario.cluster(workload)
    except FieldError as error:
        if not {"nodes", "federation"} <= set(error.fields):
            raise
        name = one_line(workload.name)
        raise TraceError(f"{name}: it does not say how many nodes its machine has; give {MACHINE}.") from None
    chosen = own if policy is None else policy
    return Case(
        workload=workload, federation=machine, policy=chosen, reading=scenario.reading, sharing=scenario.policy.shared
    )


def _of_dump(folder: Path, policy: str | Policy) -> Case:
    """Return the case of a dump. Recorded facts that do not depend on scheduling decisions are taken as given.

    Dependencies, limits and backfill passes are simulated: in another scenario they end waits at other times.
    """
    from fedsched.site.twin.replay_facts import default_facts
    from fedsched.site.twin.replay_problem import replay_problem_of
    from fedsched.site.twin.site import read_site

    site = read_site(folder)
    given = tuple(name for name in default_facts(site, clocks=False) if name not in DECIDED)
    problem = replay_problem_of(site, policy, given=given)
    there = ~(problem.start < site.begin)  # jobs that ran before are not scheduled here
    notes = (*site.notes, *problem.notes, f"taken as given: {', '.join(given) or 'nothing'}")
    return Case(
        workload=problem.workload, federation=problem.federation, policy=problem.policy, counted=there, notes=notes,
        began=np.where(problem.compared, problem.start, np.nan), zero=site.zero,
    )  # fmt: skip


def federated(cases: Sequence[Case]) -> Case:
    """Return several cases as one federation: each case is a cluster, and each job runs on its own cluster."""
    from fedsched.model.machine.federation import Federation

    first = cases[0]
    if len(cases) == 1:
        return first
    names = _names([case.federation.name or case.workload.name for case in cases])
    for case in cases:
        if case.sharing != first.sharing:
            raise TraceError(f"{one_line(case.federation.name)}: give all clusters the same sharing of nodes.")
        if len(case.federation.clusters) > 1:
            raise TraceError(f"{one_line(case.federation.name)} is a federation already; give single clusters.")
        there = {
            "partitions": case.federation.partitions,
            "pools": case.federation.pools,
            "limits": case.federation.limits,
            "closed nodes": case.federation.calendar,
            "power saving": case.federation.power is not None,
            "signals and caps": case.federation.signals,
        }
        if left := [name for name, some in there.items() if some]:
            first = first.noted(f"{one_line(case.federation.name)}: left out in a federation: {', '.join(left)}")
    clusters = tuple(replace(case.federation.clusters[0], name=name) for name, case in zip(names, cases, strict=True))
    bare = [replace(case.workload, labels=None) if case.workload.labels else case.workload for case in cases]
    workload = Workload.merge(*bare, sites=names)
    order = np.lexsort((
        np.concatenate([case.workload.id for case in cases]),
        np.repeat(np.arange(len(cases)), [len(case.workload) for case in cases]),
        np.concatenate([case.workload.submit for case in cases]),
    ))  # fmt: skip
    counted = np.concatenate([case.compared for case in cases])[order]
    told = [np.full(len(case.workload), np.nan) if case.began is None else case.began for case in cases]
    began = None if all(case.began is None for case in cases) else np.concatenate(told)[order]
    policy = first.policy
    if not isinstance(policy, str) and type(policy).__module__.startswith("fedsched.slurm"):
        policy = "easy"
        first = first.noted("policy slurm has one cluster; a federation is scheduled by easy")
    return Case(
        workload=workload, federation=Federation(clusters, name=" + ".join(names)), policy=policy, placement="home",
        reading=first.reading, counted=counted, notes=first.notes, began=began, sharing=first.sharing,
    )  # fmt: skip


def _names(names: list[str]) -> list[str]:
    return names if len(set(names)) == len(names) else [f"{name} {k}" for k, name in enumerate(names, 1)]
