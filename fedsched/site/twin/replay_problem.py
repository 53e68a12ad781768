"""Builds the problem of a replay: a dump's jobs as a workload, its machine, a policy, and the facts taken as given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import FedschedError, InfeasibleError, TwinError
from fedsched.core.text import counted, first_of
from fedsched.engine.compatibility import Use, refuse
from fedsched.io.slurm_files.slurm_conf import Line, SlurmConf
from fedsched.io.slurm_files.slurm_machine import federation_of
from fedsched.io.wall_clock import wall_time_of
from fedsched.model.constraints.cancellations import may_be_cancelled
from fedsched.model.constraints.dependencies import Dependencies
from fedsched.model.jobs.admission import refusals
from fedsched.model.jobs.labels import Labels
from fedsched.model.jobs.layout import NODES
from fedsched.model.jobs.workload import Workload
from fedsched.model.reading import USUAL
from fedsched.model.time.downtimes import RESERVATION, Downtime
from fedsched.policies import policy_named
from fedsched.site.twin.calendar import reservation_named
from fedsched.site.twin.commands import ACCOUNTS, QOS
from fedsched.site.twin.folder import Dump
from fedsched.site.twin.replay_facts import begins_of, held_runs, passes_of
from fedsched.site.twin.site import admitting_all_jobs, machine_of, qos_of_partitions
from fedsched.slurm import Clocks, Slurm
from fedsched.slurm.loop.pack import over_limits
from fedsched.slurm.passes.limits_of_accounts import are_enforced
from fedsched.slurm.priority.associations import Associations

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation
    from fedsched.policies import Policy
    from fedsched.site.twin.site import Site

    Column = NDArray[np.float64]

SLURM = "slurm"
FURTHER = 20_000  # backfill passes after the last recorded one, so that jobs that still wait can start
# Features beyond the plain model, in the order in which those that a policy lacks are removed.
FEATURES = ("after", "cancel_at", "demand", "calendar")
CALLED = {"after": "conditions between jobs", "cancel_at": "cancellations in the queue", "demand": "demands of nodes",
          "calendar": "closed nodes and reservations"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReplayProblem:
    """What a replay simulates: a workload on a machine under a policy; `rows` are its jobs' rows in the records."""

    workload: Workload
    federation: Federation
    policy: Policy | Slurm
    rows: NDArray[np.int64]
    start: Column  # recorded, on the workload's clock; NaN if the job has not started
    compared: NDArray[np.bool_]  # which recorded starts are in the dump's span
    notes: tuple[str, ...]


def policy_of(site: Site, policy: str | Policy | Slurm = SLURM) -> Policy | Slurm:
    """Return the policy of this name, or the given policy object.

    "slurm" is Slurm's scheduler with the dump's own configuration and accounts.
    """
    if isinstance(policy, str) and policy.lower() == SLURM:
        try:
            return Slurm(site.machine.conf, assoc=site.accounts, epoch=int(site.zero))
        except FedschedError as error:
            raise TwinError(f"{error} Or take another policy: policy='easy' (fedsched: --policy easy).") from error
    return policy if isinstance(policy, Slurm) else policy_named(policy)


def is_slurm(policy: str | Policy | Slurm) -> bool:
    """Return whether a policy is Slurm's own scheduler."""
    return isinstance(policy, Slurm) or (isinstance(policy, str) and policy.lower() == SLURM)


def enforces_limits(site: Site, policy: str | Policy | Slurm) -> bool:
    """Return whether a policy enforces the limits of QOS and accounts itself."""
    chosen = policy_of(site, policy)
    return isinstance(chosen, Slurm) and are_enforced(chosen)


def unsupported_features(policy: str | Policy | Slurm) -> tuple[str, ...]:
    """Return which of `FEATURES` of jobs and machines a policy does not support; all but Slurm's support all."""
    if not is_slurm(policy):
        return ()
    return tuple(feature for feature in FEATURES if _refused(feature))


def _refused(feature: str) -> bool:
    """Return whether Slurm's policy refuses a feature, by checking a small problem that has it."""
    line = Line("here", {"nodename": "n1"})
    conf = SlurmConf("here", {"prioritytype": "priority/basic"}, {"n1": line}, {}, {})
    federation = federation_of(conf)
    given: dict[str, Any] = {"after": ["", "afterany:1"], "cancel_at": [-1.0, 1e6], "demand": {"memory": [0, 1]}}
    group = replace(federation.clusters[0].groups[0], resources=(("memory", 10),))
    federation = replace(federation, clusters=(replace(federation.clusters[0], groups=(group,)),))
    if feature == "calendar":
        federation = replace(federation, calendar=(Downtime(conf.name, 100.0, 200.0, nodes="0"),))
    jobs = Workload(submit=[0, 0], tasks=1, runtime=[1, 1], **{feature: given[feature]} if feature in given else {})
    try:
        refuse("slurm", Use(jobs, federation))
    except InfeasibleError:
        return True
    return False


def policy_in(folder: Path, policy: str, *, zero: int) -> str | Slurm:
    """Return, for "slurm", Slurm's policy as the dump in a folder configures it; else return the policy's name.

    It works without the dump's jobs: made dumps need the policy before their jobs are written. `zero` is second 0 of
    the jobs' clock, in seconds since 1970.
    """
    if policy != SLURM:
        return policy
    dump = Dump(folder)
    accounts = Associations.read(dump.path(ACCOUNTS), dump.path(QOS))
    return Slurm(machine_of(dump).conf, assoc=accounts, epoch=zero)


def replay_problem_of(
    site: Site,
    policy: str | Policy | Slurm = SLURM,
    *,
    given: Collection[str] = (),
    federation: Federation | None = None,
) -> ReplayProblem:
    """Return the workload, machine and policy that a replay simulates.

    Jobs that ran as the dump begins start at their recorded times. Jobs that waited then may start from then on, in
    order of submission. Jobs that still run as the dump ends run to their time limits, as do jobs that still wait.

    Parameters
    ----------
    site
        What a dump says, as `read_site` returns it.
    policy
        "slurm", another policy's name, or a policy.
    given
        The recorded facts to take as given, of `fedsched.site.twin.replay_facts.REPLAY_FACTS`.
    federation
        A machine in place of the dump's own.
    """
    records, chosen = site.records, policy_of(site, policy)
    machine = admitting_all_jobs(site.federation if federation is None else federation)
    keeps_them = isinstance(chosen, Slurm) and are_enforced(chosen)
    notes = [] if keeps_them else [f"not modelled of the machine: {one}" for one in qos_of_partitions(site.machine)]
    submit, start = records.submit - site.zero, records.start - site.zero
    running = start < site.begin
    begin = begins_of(site, given)
    waited = (records.submit < site.since) & ~running
    if isinstance(chosen, Slurm):
        chosen = _slurm_at_begin(site, chosen, waited, begin, clocks="clocks" in given)
    queued = submit
    if "held" in given and isinstance(chosen, Slurm) and not chosen.priority.multifactor:
        queued = np.where(held_runs(site), records.eligible - site.zero, submit)  # [73]
    run = _run_times(site, notes)
    limit = site.limits
    if "preempted" in given:
        limit = np.where(records.preempted, run, limit)
    down = site.down_named if is_slurm(chosen) else site.down
    closed = (down if "node down" in given else ()) + (site.reserved if "reservation" in given else ())
    machine = replace(machine, calendar=closed) if closed and not machine.calendar else machine
    labels = _labels(site, machine, given, notes)
    cancel = np.where(records.gone & (records.end > records.submit), records.end - site.zero, -1.0)
    after = None if records.after is None else records.after.copy()
    if after is not None and "dependency" in given:
        after[:] = ""
    if after is not None:
        after[running] = ""
    whole = Workload(
        submit=np.where(running, start, queued),
        tasks=records.nodes,
        runtime=np.maximum(run, 1.0),
        estimate=np.maximum(limit, 1.0),
        id=records.id,
        user=records.user,
        labels=labels,
        after=None if after is None or not (after != "").any() else Dependencies.of(after.tolist(), records.id),
        begin=np.where(running, 0.0, begin),
        nice=records.nice if records.nice.any() else None,
        cancel_at=cancel,
        layout=_sizes(site, chosen, notes),
        demand={name.partition(".")[2]: _whole(values) for name, values in records.demand.items()} or None,
        log={"wait": np.where(np.isnan(start), -1.0, np.maximum(start - submit, 0.0)) * ~running - running,
             "status": records.status},
        name=site.machine.conf.name,
        nodes=machine.nodes,
    )  # fmt: skip
    # A job cancelled in the second of its submission was never in a queue.
    kept = ~(records.gone & (cancel < 0))
    rows = np.flatnonzero(kept)
    workload, machine = without_unsupported(whole.take(rows), machine, chosen, notes)
    rows = rows[np.isin(records.id[rows], workload.id)]
    refused = refusals(workload, machine)
    if refused:
        stay = np.setdiff1d(np.arange(len(workload)), list(refused))
        why = next(iter(refused.values()))
        notes.append(f"left out: {counted(len(refused), 'run')} that the machine of today does not take ({why})")
        workload, rows = workload.take(stay), rows[stay]
    if isinstance(chosen, Slurm):
        stay, chosen = _within_limits(site, chosen, workload, rows, notes)
        workload, rows = workload.take(stay), rows[stay]
    if not len(workload):
        raise TwinError(f"{site.dump.folder}: no run of it can be simulated ({'; '.join(notes)}).")
    own = start[rows]
    compared = ~np.isnan(own) & (own >= site.begin)
    return ReplayProblem(workload, machine, chosen, rows, own, compared, tuple(notes))


def _within_limits(
    site: Site, policy: Slurm, workload: Workload, rows: NDArray[np.int64], notes: list[str]
) -> tuple[NDArray[np.int64], Slurm]:
    """Return the rows of the workload that stay, and a policy that admits jobs which exceed a limit but did start.

    Meant are jobs that alone, without any other job, exceed a limit of today. Those that never started are dropped,
    since they would wait for ever; `notes` get a line on both. On shared nodes, limits count the CPUs of jobs.
    """
    records = site.records
    if site.machine.shared:
        cpus = dict(zip(records.id[rows].tolist(), np.maximum(records.cpus[rows], 1).tolist(), strict=True))
        policy = replace(policy, cpus=cpus)
    over = over_limits(workload, policy, USUAL.settled("simulate"))
    begun = ~np.isnan(records.start[rows])
    let_in, away = [k for k in over if begun[k]], [k for k in over if not begun[k]]
    for which, said in (
        (let_in, "assumed: no limit binds {} over one all by itself, as on record ({})"),
        (away, "left out: {} over a limit all by itself, which never begins ({})"),
    ):
        if which:
            notes.append(said.format(counted(len(which), "run"), over[which[0]]))
    return np.setdiff1d(np.arange(len(workload)), away), replace(policy, admitted=records.id[rows[let_in]].tolist())


def _slurm_at_begin(site: Site, policy: Slurm, waited: NDArray[np.bool_], begin: Column, *, clocks: bool) -> Slurm:
    """Return Slurm's policy for a replay from the dump's begin: jobs that waited then keep the ages that they had.

    With `clocks`, it runs its passes at the recorded times.
    """
    given = _recorded_clocks(site, policy) if clocks else policy.clocks
    ensemble = 1 if clocks else policy.ensemble
    return replace(policy, clocks=given, aged=_ages(site, waited, begin), ensemble=ensemble)


def _ages(site: Site, waited: NDArray[np.bool_], begin: Column) -> dict[int, float]:
    """Return, by id, the ages in seconds of jobs that waited as the dump begins: from eligible to earliest start.

    Jobs without a positive age are left out.
    """
    seconds = begin - (site.records.eligible - site.zero)
    rows = np.flatnonzero(waited & (seconds > 0.0))  # no age if the time of eligibility is unknown
    return dict(zip(site.records.id[rows].tolist(), seconds[rows].tolist(), strict=True))


def _recorded_clocks(site: Site, policy: Slurm) -> Clocks:
    """Return clocks with the recorded backfill passes, and with regular passes before and after them."""
    passes = passes_of(site)
    interval = site.interval
    before = np.arange(0.0, float(passes.min(initial=site.begin)), interval)
    after = float(passes.max(initial=site.end)) + interval * np.arange(1, FURTHER)
    given = np.concatenate([before, passes, after]).tolist()
    return Clocks(
        epoch=int(site.zero), passes=tuple(given), ticks=_last_tick_before(site, policy),
        full=_main_passes(site, policy),
    )  # fmt: skip


def _last_tick_before(site: Site, policy: Slurm) -> float | None:
    """Return when usage was last decayed before second 0, in seconds of the jobs' clock (so below 0).

    Decays are in step with slurmctld's start. None if that is unknown, or priorities are not multifactor.
    """
    if (booted := _booted(site)) is None or not policy.priority.multifactor:
        return None
    period = policy.priority.calc_period
    return booted % period - period


def _main_passes(site: Site, policy: Slurm) -> tuple[float, ...] | None:
    """Return the times of the main scheduler's full passes until the dump's end, in seconds of the jobs' clock.

    They are in step with slurmctld's start. None if that is unknown, or if there are no such passes.
    """
    interval = policy.parameters.numbers["sched_interval"]
    if (booted := _booted(site)) is None or interval <= 0:
        return None
    return tuple(np.arange(booted % interval, site.end, interval).tolist())


def _booted(site: Site) -> float | None:
    """Return when slurmctld started, in seconds of the jobs' clock; None if unknown."""
    booted = wall_time_of(site.machine.conf.parameters.get("boot_time", "Unknown"))
    return None if booted is None or np.isnan(booted.seconds) else booted.seconds - site.zero


def _sizes(site: Site, policy: Policy | Slurm, notes: list[str]) -> dict[str, NDArray[np.int64]] | None:
    """Return, as a column of the workload, the requested numbers of nodes that differ from the allocated ones, else 0.

    Slurm's multifactor priority counts the requested nodes. None if the policy does not, or if none differs.
    """
    records = site.records
    if not isinstance(policy, Slurm) or not policy.priority.multifactor or policy.priority.size == 0:
        return None
    if untold := int((records.asked == 0).sum()):
        notes.append(f"assumed: {counted(untold, 'run')} asked for as many nodes as they had")
    other = np.where(records.asked != records.nodes, records.asked, 0)
    return {NODES: other} if other.any() else None


def _run_times(site: Site, notes: list[str]) -> Column:
    records = site.records
    run = records.end - records.start
    unknown = np.isnan(run)
    unended = unknown & ~np.isnan(records.start)
    if unended.any():
        notes.append(f"assumed: {counted(int(unended.sum()), 'run')} not over at the dump's end run to their limits")
    sofar = np.where(unended, site.dump.taken - records.start, 0.0)
    return np.where(unknown, np.maximum(site.limits, sofar), run)


def _whole(values: NDArray[Any]) -> NDArray[np.int64]:
    return np.where(np.isfinite(values) & (values > 0), values, 0).astype(np.int64)


def _labels(site: Site, machine: Federation, given: Collection[str], notes: list[str]) -> dict[str, NDArray[Any]]:
    """Return the jobs' labels that the machine knows; a reservation's name becomes the one that the job means."""
    labels = {name: values for name, values in site.records.labels.items() if name != "name"}
    known = {"", *(one.name for one in machine.partitions)}
    strange = [name for name in dict.fromkeys(labels["partition"].tolist()) if name not in known]
    if strange:
        notes.append(f"assumed: jobs of partitions that are no more ({first_of(strange)}) may have every node")
        labels["partition"] = np.array(
            [name if name in known else "" for name in labels["partition"].tolist()], dtype=object
        )
    if "reservation" in given and any(one.kind == RESERVATION for one in machine.calendar):
        asked = labels["reservation"].tolist()
        eligible = (site.records.eligible - site.zero).tolist()
        meant = {
            pair: reservation_named(machine.calendar, *pair)
            for pair in dict.fromkeys(zip(asked, eligible, strict=True))
            if pair[0]
        }
        labels["reservation"] = np.array(
            [meant.get(pair, "") for pair in zip(asked, eligible, strict=True)], dtype=object
        )
    else:
        labels.pop("reservation")
    if not machine.has_features:
        labels.pop("features")
    return labels


def without_unsupported(
    workload: Workload, federation: Federation, policy: Policy | Slurm, notes: list[str]
) -> tuple[Workload, Federation]:
    """Return jobs and machine without the features that the policy does not support; `notes` get a line for each.

    Jobs that may be cancelled are left out if the policy does not support cancellations.
    """
    for feature in unsupported_features(policy):
        if feature == "calendar" and federation.calendar:
            notes.append(_given_up(feature, workload, federation))
            federation = replace(federation, calendar=())
            workload = _without_label(workload, "reservation")
        elif feature == "cancel_at" and workload.cancel_at is not None:
            notes.append(_given_up(feature, workload, federation))
            workload = replace(workload.filter(~may_be_cancelled(workload)), cancel_at=None)
        elif feature == "after" and workload.after is not None:
            notes.append(_given_up(feature, workload, federation))
            workload = replace(workload, after=None)
        elif feature == "demand" and workload.demand is not None:
            notes.append(_given_up(feature, workload, federation))
            workload = replace(workload, demand=None)
    return workload, federation


def _given_up(feature: str, workload: Workload, federation: Federation) -> str:
    if feature == "calendar":
        return f"not modelled by policy slurm: {CALLED[feature]} ({counted(len(federation.calendar), 'downtime')})"
    if feature == "cancel_at":
        gone = counted(int(may_be_cancelled(workload).sum()), "job")
        return f"not modelled by policy slurm: {CALLED[feature]} ({gone}, left out)"
    return f"not modelled by policy slurm: {CALLED[feature]}"


def _without_label(workload: Workload, name: str) -> Workload:
    if workload.labels is None or name not in workload.labels.texts:
        return workload
    kept = {key: values for key, values in workload.labels.texts.items() if key != name}
    return replace(workload, labels=Labels.of(kept, workload.id))
