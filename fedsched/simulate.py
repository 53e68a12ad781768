"""simulate(): a policy run over a workload on a federation."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.codes import SameTime, Saturation
from fedsched.engine.pack import checked_caps, pack
from fedsched.engine.simulation import RunningJobs, Simulation, start_of
from fedsched.errors import TraceError, unknown_name
from fedsched.policies import POLICIES, ListHeuristic, OnlinePolicy, Policy, Rules, policy_named
from fedsched.schedule import Schedule
from fedsched.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fedsched.federation import Federation
    from fedsched.workload import Workload

__all__ = ["POLICIES", "ListHeuristic", "OnlinePolicy", "Policy", "Rules", "RunningJobs", "prepare", "simulate"]

KNOWLEDGE = ("estimate", "runtime")


def _choice(kind: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise unknown_name(kind, value, known)
    return value


def _as_planned(workload: Workload, *, knowledge: str, kill_at_estimate: bool) -> Workload:
    # Policies look at estimates; where plans may know run times, these are the estimates.
    if knowledge == "estimate":
        return workload
    known = np.minimum(workload.runtime, workload.estimate) if kill_at_estimate else workload.runtime
    return replace(workload, estimate=known)


def prepare(
    workload: Workload,
    cluster: Federation,
    policy: str | Policy = "easy",
    *,
    placement: str | None = None,
    same_time: str = "batch",
    saturation: str = "dynamic",
    knowledge: str = "estimate",
    kill_at_estimate: bool = False,
    caps: NDArray[np.int64] | None = None,
    t0: float | None = None,
    running: RunningJobs | None = None,
) -> Simulation:
    """Return the run that `simulate` would make, not yet begun: to be advanced, looked at and resumed.

    The parameters are those of `simulate`.
    """
    if len(workload) == 0:
        raise TraceError(f"Workload {workload.name!r} is empty: there is nothing to simulate.")
    _choice("knowledge", knowledge, KNOWLEDGE)
    t0 = start_of("simulate", t0, running)
    seen = _as_planned(workload, knowledge=knowledge, kill_at_estimate=kill_at_estimate)
    chosen = policy_named(policy, placement=placement)
    if isinstance(chosen, ListHeuristic):
        if caps is not None:
            caps = checked_caps(caps, len(workload), len(cluster.groups))
        rules = chosen.rules(seen, cluster, caps=caps, t0=t0, running=running)
    else:
        rules = chosen.rules(seen, cluster)
    problem = pack(
        workload,
        cluster,
        same_time=SameTime[_choice("same_time", same_time, ("batch", "sequential")).upper()],
        saturation=Saturation[_choice("saturation", saturation, ("dynamic", "static")).upper()],
        knowledge=knowledge,
        kill_at_estimate=kill_at_estimate,
        t0=t0,
        running=() if running is None else tuple(running.rows.tolist()),
    )
    run = Simulation(workload, cluster, rules, problem, caps=caps, running=running)
    if isinstance(chosen, OnlinePolicy):
        chosen.planner(run)
    return run


def simulate(
    workload: Workload,
    cluster: Federation,
    policy: str | Policy = "easy",
    *,
    placement: str | None = None,
    same_time: str = "batch",
    saturation: str = "dynamic",
    knowledge: str = "estimate",
    kill_at_estimate: bool = False,
    caps: NDArray[np.int64] | None = None,
    t0: float | None = None,
    running: RunningJobs | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Schedule:
    """Return the schedule that a policy makes of a workload on a federation.

    Parameters
    ----------
    workload, cluster
        The jobs, and what they run on.
    policy
        A name of `POLICIES` ("fcfs", "easy", "easy-sjbf", "lookahead", "min-min", "wfp3-easy", …), `Rules`,
        `ListHeuristic`, or any object with a method `rules(workload, federation)`; `Rolling`, or any other
        `OnlinePolicy`, plans anew on the way.
    placement
        A name of `PLACEMENTS` in place of the policy's own.
    same_time
        "batch": all finishes of an instant, then its submissions, then one dispatch pass. "sequential": one event
        at a time, a pass after each.
    saturation
        "dynamic": rates follow the load of the uplinks. "static": a job's rate is fixed at its start.
    knowledge
        "estimate": plans see what users asked for. "runtime": they see true run times (clairvoyant).
    kill_at_estimate
        A job runs min(runtime, estimate).
    caps
        Jobs × groups: how many nodes of each group a job may use.
    t0
        The time's origin; the earliest submit when not given.
    running
        Jobs of the workload that run already at its time, from `Simulation.running()`.
    progress
        Called with (jobs finished, jobs in all) every few hundredths of a second.

    Notes
    -----
    Ctrl-C ends a run early: the schedule then holds what was started until then, and says so in its notes.
    """
    run = prepare(
        workload,
        cluster,
        policy,
        placement=placement,
        same_time=same_time,
        saturation=saturation,
        knowledge=knowledge,
        kill_at_estimate=kill_at_estimate,
        caps=caps,
        t0=t0,
        running=running,
    )
    with contextlib.suppress(KeyboardInterrupt):
        run.advance(progress=progress)
    notes = (
        ()
        if run.done
        else (f"interrupted at {run.time:g} s: {run.finished} of {counted(len(workload), 'job')} finished",)
    )
    state = run.state
    over = state.finish <= run.time
    return Schedule(
        workload=workload,
        federation=cluster,
        start=state.start,
        finish=state.finish if run.done else np.where(over, state.finish, np.nan),
        counts=state.counts,
        t0=run.problem.t0,
        saturation=saturation,
        policy=run.description,
        kill_at_estimate=kill_at_estimate,
        same_time=same_time,
        knowledge=knowledge,
        loss_of_capacity=run.loss_of_capacity,
        saturated_seconds=run.saturated_seconds,
        notes=notes,
    )
