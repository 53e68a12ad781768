"""The function `simulate`, which runs a policy on a workload and a federation, and `prepare` for runs step by step."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

from fedsched.core.errors import TraceError
from fedsched.core.values import origin
from fedsched.engine.arrays.structs import RunningJobs
from fedsched.engine.compatibility import refused
from fedsched.engine.pack.choices import possible_shapes
from fedsched.engine.pack.node_caps import caps_of_parts, checked_caps
from fedsched.engine.pack.problem import pack
from fedsched.engine.plans import plan_of_rules
from fedsched.engine.run.simulation import Planner, Simulation, start_of
from fedsched.io.arguments import nouns_of
from fedsched.model.jobs.admission import count_in_nodes, with_default_times
from fedsched.model.jobs.shaping import with_chosen_shapes, with_shapes
from fedsched.model.jobs.transformations import with_submits
from fedsched.model.jobs.uneven import counted_tasks
from fedsched.model.reading import USUAL, Reading
from fedsched.policies import POLICIES, ListHeuristic, OnlinePolicy, Policy, Rules, policy_named
from fedsched.policies.list_heuristics import OpenShapes

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from fedsched.core.names import (
        Alternatives,
        Knowledge,
        PlacementName,
        PolicyName,
        SameTime,
        Saturation,
        SharingName,
        Submits,
    )
    from fedsched.engine.arrays.structs import Problem
    from fedsched.engine.sharing import NodeSharing
    from fedsched.io.arguments import AnyJobs, AnyMachine
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.slurm import Slurm

__all__ = [
    "POLICIES", "ListHeuristic", "OnlinePolicy", "Planner", "Policy", "Reading", "Rules", "RunningJobs", "Simulation",
    "prepare", "simulate",
]  # fmt: skip


def prepare(
    workload: AnyJobs,
    cluster: AnyMachine | None = None,
    policy: PolicyName | str | Policy = "easy",
    *,
    sharing: NodeSharing | SharingName | None = None,
    placement: PlacementName | None = None,
    submits: Submits = "keep",
    reading: Reading = USUAL,
    same_time: SameTime | None = None,
    saturation: Saturation | None = None,
    knowledge: Knowledge | None = None,
    kill_at_estimate: bool | None = None,
    alternatives: Alternatives | None = None,
    caps: NDArray[np.int64] | None = None,
    t0: float | None = None,
    running: RunningJobs | None = None,
) -> Simulation:
    """Return a `Simulation` before its first event, which can be advanced step by step and inspected.

    The parameters are those of `simulate`.

    Parameters
    ----------
    workload, cluster, policy
        As in `simulate`.
    sharing, placement, submits, reading, same_time, saturation, knowledge, kill_at_estimate, alternatives
        As in `simulate`.
    caps, t0, running
        As in `simulate`.

    Examples
    --------
    >>> from fedsched.simulate import prepare
    >>> run = prepare(fs.Workload(submit=[0, 0], tasks=[4, 4], runtime=[600, 900]), 4)
    >>> run.advance(until=700).time, run.finished
    (600.0, 1)
    """
    workload, cluster = nouns_of("simulate", workload, cluster, second="cluster", may_be_left_out=True)
    if len(workload) == 0:
        raise TraceError(f"Workload {workload.name!r} is empty: there is nothing to simulate.")
    workload = with_submits("simulate", workload, submits, origin("simulate", t0), some_run=running is not None)
    reading = reading.but(
        same_time=same_time,
        saturation=saturation,
        knowledge=knowledge,
        kill_at_estimate=kill_at_estimate,
        alternatives=alternatives,
    ).settled("simulate")
    rows = () if running is None else tuple(running.rows.tolist())
    workload = with_default_times(workload, cluster)
    if sharing is None:
        workload = count_in_nodes(workload, cluster)
    else:
        cluster, caps = with_named_nodes(cluster, caps)
    workload = with_chosen_shapes(workload, cluster, reading, running=rows)
    chosen = policy_named(policy, placement=placement)
    t0 = start_of("simulate", t0, running, workload, cluster, shared=sharing is not None)
    if sharing is not None:
        return _on_shared_nodes(workload, cluster, chosen, sharing, reading, caps=caps, t0=t0, running=running)
    problem = pack(workload, cluster, reading=reading, t0=t0, running=rows)
    return begun(workload, cluster, chosen, problem, reading, caps, running)


def begun(
    workload: Workload,
    cluster: Federation,
    policy: Policy,
    problem: Problem,
    reading: Reading,
    caps: NDArray[np.int64] | None = None,
    running: RunningJobs | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Simulation:
    """Return the `Simulation` of a policy, ready to start, on jobs and nodes that are packed into arrays already.

    A list heuristic binds the jobs to nodes here; `progress` is called meanwhile.
    """
    seen = reading.seen(workload)
    if isinstance(policy, ListHeuristic):
        if caps is not None:
            caps = checked_caps(caps, len(workload), len(cluster.groups))
        look = None if progress is None else partial(progress, 0, len(workload))
        shapes = _open_shapes(workload, cluster, reading, caps)
        rules, which = policy.bound(seen, cluster, shapes=shapes, caps=caps, t0=problem.t0, running=running, look=look)
        if shapes is not None:
            workload, problem = _in_these(workload, cluster, which, problem, reading)
    else:
        rules = policy.rules(seen, cluster)
    plan = plan_of_rules(workload, cluster, rules, problem, caps=caps)
    run = Simulation(workload, cluster, problem, plan, reading=reading, description=str(rules), running=running)
    if isinstance(policy, OnlinePolicy):
        policy.planner(run)
    return run


def _open_shapes(
    workload: Workload, cluster: Federation, reading: Reading, caps: NDArray[np.int64] | None
) -> OpenShapes | None:
    """Return the shapes from which a list heuristic chooses for each job; None if the reading leaves it no choice."""
    if not reading.chooses_late(workload):
        return None
    possible = possible_shapes(workload, cluster, caps)
    each = possible.each
    return OpenShapes(possible.first, possible.which, each.tasks, counted_tasks(each), reading.planned(each))


def _in_these(
    workload: Workload, cluster: Federation, which: NDArray[np.int64], problem: Problem, reading: Reading
) -> tuple[Workload, Problem]:
    """Return the jobs with the shapes that the list heuristic chose, and the packed arrays of these."""
    workload = with_shapes(workload, cluster, which)
    settled = reading.but(alternatives="fixed")
    return workload, pack(workload, cluster, reading=settled, t0=problem.t0, running=tuple(problem.running.tolist()))


def to_the_end(run: Simulation, progress: Callable[[int, int], None] | None = None) -> Schedule:
    """Advance a simulation to its end, or until Ctrl-C, and return the schedule made so far."""
    with contextlib.suppress(KeyboardInterrupt):
        run.advance(progress=progress)
    return run.schedule()


def is_slurm(policy: object) -> TypeGuard[Slurm]:
    """Return whether a policy is Slurm's own scheduler, without importing `fedsched.slurm`."""
    return type(policy).__module__ == "fedsched.slurm.conf.policy"


def _on_slurm(
    workload: Workload,
    cluster: Federation,
    policy: Slurm,
    sharing: NodeSharing | SharingName | None,
    reading: Reading,
    given: tuple[str, ...],
    *,
    t0: float | None,
    running: RunningJobs | None,
    progress: Callable[[int, int], None] | None,
) -> Schedule:
    from fedsched.slurm.loop.run import scheduled

    if given:
        raise refused("slurm", given[0])
    if len(workload) == 0:
        raise TraceError(f"Workload {workload.name!r} is empty: there is nothing to simulate.")
    reading, shared = reading.settled("simulate"), sharing is not None
    groups = with_named_nodes(cluster, None)[0] if shared else cluster  # as running jobs on shared nodes have them
    t0 = start_of("simulate", t0, running, workload, groups, shared=shared)
    if sharing is None:
        workload = count_in_nodes(workload, cluster)
        jobs = with_chosen_shapes(with_default_times(workload, cluster), cluster, reading)
        return scheduled(jobs, cluster, policy, reading, progress, t0=t0, running=running)
    from fedsched.engine.sharing import NodeSharing
    from fedsched.engine.sharing.present import with_node_numbers

    workload = with_chosen_shapes(with_default_times(workload, cluster), cluster, reading)
    if running is not None:
        running = with_node_numbers(running, groups)
    return scheduled(workload, cluster, policy, reading, progress, NodeSharing.of(sharing), t0=t0, running=running)


def with_named_nodes(
    cluster: Federation, caps: NDArray[np.int64] | None
) -> tuple[Federation, NDArray[np.int64] | None]:
    """Return the federation with the nodes of its downtimes, and the caps of its groups, which these may divide."""
    from fedsched.engine.sharing.naming import with_names

    named = with_names(cluster)
    return named, caps if caps is None or named is cluster else caps_of_parts(caps, cluster, named)


def _on_shared_nodes(
    workload: Workload,
    cluster: Federation,
    policy: Policy,
    sharing: NodeSharing | SharingName,
    reading: Reading,
    *,
    caps: NDArray[np.int64] | None,
    t0: float | None,
    running: RunningJobs | None,
) -> Simulation:
    from fedsched.engine.sharing import NodeSharing
    from fedsched.engine.sharing.run import prepared

    return prepared(workload, cluster, policy, NodeSharing.of(sharing), reading, t0, running, caps=caps)


def simulate(
    workload: AnyJobs,
    cluster: AnyMachine | None = None,
    policy: PolicyName | str | Policy | Slurm = "easy",
    *,
    sharing: NodeSharing | SharingName | None = None,
    placement: PlacementName | None = None,
    submits: Submits = "keep",
    reading: Reading = USUAL,
    same_time: SameTime | None = None,
    saturation: Saturation | None = None,
    knowledge: Knowledge | None = None,
    kill_at_estimate: bool | None = None,
    alternatives: Alternatives | None = None,
    caps: NDArray[np.int64] | None = None,
    t0: float | None = None,
    running: RunningJobs | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Schedule:
    """Return the schedule that a policy makes of a workload on a federation.

    Parameters
    ----------
    workload, cluster
        The jobs and the machine: a `Workload` and a `Federation`, or paths of their files. Jobs may also be a pandas
        table or a list of `Job`; the machine may be one or several `Cluster`, or a number of nodes. Without it, it is
        one cluster of as many nodes as the log says.
    policy
        A name of `POLICIES` ("fcfs", "easy", "easy-sjbf", "lookahead", "min-min", "wfp3-easy", …), `Rules`,
        `ListHeuristic`, or any object with a method `rules(workload, federation)`; `Rolling`, or any other
        `OnlinePolicy`, plans anew on the way; `policies.Slurm` is Slurm's own scheduler.
    sharing
        Jobs share nodes: each task takes only the resources that it demands. A `NodeSharing`, or the name of its choice
        of nodes: "first", "best", "least_loaded", "pack", "spread" or "block" (Slurm's). None: each task has its own
        node.
    placement
        A name of `PLACEMENTS` that replaces the policy's own placement.
    submits
        "keep": jobs arrive at their submit times. "now": all jobs wait when the first is submitted, or at t0, as in
        `optimize`. With knowledge="runtime", "now" is the problem that `optimize` and `compare` solve.
    reading
        The model's open choices (the next five parameters) in one object: another schedule's, or your own `Reading`.
    same_time
        "batch" unless the reading says otherwise: all finishes of an instant, then its submissions, then one dispatch
        pass. "sequential": one event at a time, a pass after each.
    saturation
        "dynamic" unless the reading says otherwise: rates follow the load of the uplinks. "static": a job's rate is
        fixed at its start. "fair": uplinks are shared max-min fairly.
    knowledge
        "estimate" unless the reading says otherwise: plans see requested times. "runtime": they see true run times
        (clairvoyant).
    kill_at_estimate
        A job runs min(runtime, estimate).
    alternatives
        The shape of a job with alternative shapes. "fixed" unless the reading says otherwise: the recorded one.
        "smallest_area": the one with the least tasks × planned time. "earliest_finish": the one that is planned to end
        first, behind all waiting jobs, as the job joins the queue.
    caps
        Jobs × groups: how many nodes of each group a job may use.
    t0
        The origin of time; by default the earliest submit.
    running
        Jobs of the workload that run already at the start, from `Simulation.running()`.
    progress
        Called with (jobs finished, jobs in all) every few hundredths of a second.

    Notes
    -----
    Ctrl-C ends a run early. The schedule then has the jobs started until then, and says so in its notes; its `until` is
    the time of the end, else infinite. An exception that `progress` raises ends the call without a schedule, except
    KeyboardInterrupt, which counts as Ctrl-C.

    Examples
    --------
    >>> schedule = fs.simulate(fs.read("sample").head(50), fs.read_federation("example"), "easy-sjbf")
    >>> round(schedule.metrics().mean_wait), round(schedule.metrics().bounded_slowdown, 1)
    (9935, 295.0)
    >>> fs.simulate(fs.Workload(submit=[0, 0], tasks=[4, 4], runtime=[600, 900]), 4, "sjf").start
    array([  0., 600.])
    """
    if is_slurm(policy):
        workload, cluster = nouns_of("simulate", workload, cluster, second="cluster", may_be_left_out=True)
        reading = reading.but(
            same_time=same_time,
            saturation=saturation,
            knowledge=knowledge,
            kill_at_estimate=kill_at_estimate,
            alternatives=alternatives,
        )
        workload = with_submits("simulate", workload, submits, origin("simulate", t0), some_run=running is not None)
        options = {"caps": caps, "placements": placement}
        given = tuple(name for name, value in options.items() if value is not None)
        return _on_slurm(workload, cluster, policy, sharing, reading, given, t0=t0, running=running, progress=progress)
    run = prepare(
        workload,
        cluster,
        policy,
        sharing=sharing,
        placement=placement,
        submits=submits,
        reading=reading,
        same_time=same_time,
        saturation=saturation,
        knowledge=knowledge,
        kill_at_estimate=kill_at_estimate,
        alternatives=alternatives,
        caps=caps,
        t0=t0,
        running=running,
    )
    return to_the_end(run, progress)
