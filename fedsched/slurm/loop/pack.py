"""From nouns to Slurm's arrays; what this policy does not have yet is refused by name, with the cure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.core.text import counted
from fedsched.core.values import digits_of
from fedsched.engine.compatibility import Use, refuse
from fedsched.engine.pack.node_caps import caps_table
from fedsched.io.slurm_files.slurm_machine import job_factor_of
from fedsched.model.constraints.feedback import followers_of
from fedsched.model.jobs.admission import partition_of_jobs
from fedsched.model.jobs.layout import requested_nodes
from fedsched.model.machine.limits import users_of, without_node_limits
from fedsched.model.time.reservations import earliest_starts, reservation_of_jobs
from fedsched.slurm.conf.job_factors import JobRequest
from fedsched.slurm.conf.memory import amounts_of
from fedsched.slurm.conf.parameters import tiers_of
from fedsched.slurm.loop.pack_shared import opened_on, refuse_on_shared_nodes
from fedsched.slurm.loop.pack_sizes import sizes_of
from fedsched.slurm.loop.pack_waits import (
    cancelled_by,
    conditions_on,
    feedback_of,
    holds_of,
    initial_of,
    last_releases,
    limits_of,
    tasks_of_arrays,
    windows_of,
)
from fedsched.slurm.loop.structs import NEVER, Jobs, Machine, Passes, Problem, Setting
from fedsched.slurm.nodes.node_sets import words_of
from fedsched.slurm.passes.limits_of_accounts import over_alone, with_accounts
from fedsched.slurm.priority.priorities import pack as pack_priorities

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import RunningJobs
    from fedsched.engine.sharing import NodeSharing
    from fedsched.io.slurm_files.slurm_conf import Line
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.slurm.conf.policy import Slurm
    from fedsched.slurm.loop.structs import Ints, Words
    from fedsched.slurm.priority.priorities import Priorities
    from fedsched.slurm.priority.priority_parameters import PriorityParameters


class Packed(NamedTuple):
    """A problem, its priorities, each job's row, the second of the workload that is second 0 here, and its t0."""

    problem: Problem
    priorities: Priorities
    rows: Ints
    base: int
    t0: float


CRED_EXPIRE = 120  # seconds: the default of AuthInfo's cred_expire
LONGEST = 10**9  # seconds: sums of times stay far from the largest number


def refuse_on_slurm(workload: Workload, federation: Federation, slurm: Slurm, reading: Reading) -> None:
    """Refuse features that Slurm's scheduler does not have here, and nodes of another machine."""
    refuse("slurm", Use(workload, federation, reading))
    there = [host for host, line in slurm.conf.nodes.items() if not is_future(line)]
    if len(there) != federation.nodes:
        raise InfeasibleError(
            f"{slurm.conf.path} has {counted(len(there), 'node')}, but the federation {federation.nodes}; read the "
            "federation from that file."
        )


def pack(
    workload: Workload,
    federation: Federation,
    slurm: Slurm,
    reading: Reading,
    sharing: NodeSharing | None = None,
    *,
    t0: float | None = None,
    running: RunningJobs | None = None,
    of_node: Ints | None = None,
) -> Packed:
    """Return these jobs on these nodes as arrays, with second 0 at t0 or, without it, at the first submit.

    Nodes are given whole without `sharing`. Jobs that are `running` hold nodes from the begin on,
    of the groups `of_node` of the nodes (None: those of the federation).
    """
    if sharing is not None:
        refuse_on_shared_nodes(workload, federation, slurm, sharing)
    rows = np.lexsort((workload.id, workload.submit))
    base = int(np.floor(workload.submit.min()) if t0 is None else np.ceil(t0))
    sets, of_job = _sets(workload, federation, shared=sharing is not None)
    partitions, of_partition, tier = _partitions(workload, federation, slurm)
    room = np.bitwise_count(sets).sum(axis=1)[of_job] if hasattr(np, "bitwise_count") else _sizes(sets)[of_job]
    for row in np.flatnonzero((workload.tasks > room) & (sharing is None))[:1].tolist():
        raise InfeasibleError(
            f"Job {workload.id[row]}: tasks={workload.tasks[row]} exceeds the {room[row]} nodes that it may have; "
            "drop it or use a larger machine."
        )
    begins = earliest_starts(workload, federation)
    submit = np.ceil(workload.submit) - base
    earliest = np.array(submit) if begins is None else np.maximum(submit, np.ceil(begins) - base)
    run = np.zeros(0, dtype=np.int64) if running is None else running.rows
    follows = np.setdiff1d(followers_of(workload)[0], run)
    earliest[follows] = -LONGEST if begins is None else np.ceil(begins[follows]) - base
    earliest = np.maximum(earliest, last_releases(workload, base))
    limit = _limits(workload, reading)
    length = seconds_of_runs(workload, federation, reading)
    _refuse_endless(workload, earliest, limit, length)
    cancel = cancelled_by(workload, base)[rows]
    asked = asked_of(workload, slurm, rows, limit, shared=sharing is not None)
    priorities = _priorities(workload, federation, slurm, asked, base)
    lasts, charged = np.maximum(np.ceil(length), 1.0), np.floor(length)
    if running is not None:
        begun = np.floor(running.start)
        lasts[run], charged[run] = np.ceil(running.finish) - begun, np.floor(running.finish) - begun
    known = submit[rows]
    known[np.isin(rows, follows)] = NEVER
    users = _ints(np.unique(workload.user, return_inverse=True)[1][rows])
    record, successor = tasks_of_arrays(workload, federation, rows)
    jobs = Jobs(
        submit=_ints(known),
        by_submit=_ints([job for job in np.argsort(known, kind="stable") if known[job] < NEVER]),
        earliest=_ints(earliest[rows]),
        tasks=_ints(workload.tasks[rows]),
        limit=_ints(limit[rows]),
        planned=_ints(np.ceil(reading.planned(workload))[rows]),
        runtime=_ints(lasts[rows]),
        charged=_ints(charged[rows]),
        completing=_ints(_completing(workload, slurm)[rows]),
        user=users,
        association=priorities.association if slurm.assoc is not None else users,
        partition=_ints(of_partition[rows]),
        reserves=_reserving(slurm, asked),
        nodes=_ints(of_job[rows]),
        reservation=_ints(reservation_of_jobs(workload, federation)[rows]),
        record=record,
        successor=successor,
        cancel=cancel,
        by_cancel=_ints([row for row in np.argsort(cancel, kind="stable") if cancel[row] < NEVER]),
    )
    weight = np.array([group.weight for group in federation.groups])[federation.group_of_node]
    machine = Machine(
        sets=sets, partitions=partitions, tier=_ints(tier), weight=_ints(weight), lines=words_of(_lines(slurm, weight))
    )
    settings = _settings(slurm, epoch_of(workload, slurm) + base)
    settings[Setting.FIFO] = _is_fifo(slurm, tier)
    settings[Setting.BASE] = base
    settings[Setting.BEGIN] = int(submit.min()) if t0 is None else 0
    t0 = float(workload.submit.min()) if t0 is None else t0
    windows = windows_of(federation, base, t0)
    counting = federation if sharing is None else without_node_limits(federation)  # known as nodes are chosen
    problem = Problem(
        jobs=jobs,
        machine=machine,
        conditions=conditions_on(workload, reading, rows, run),
        feedback=feedback_of(workload, length, rows, running, takes=windows.taking.size > 0),
        initial=initial_of(workload, federation, running, of_node, windows, base, rows),
        holds=holds_of(workload, base, rows),
        windows=windows,
        limits=with_accounts(limits_of(workload, counting, rows), slurm, asked, workload.id[rows]),
        settings=settings,
        passes=_passes(slurm, base),
        sizes=sizes_of(workload, federation, slurm, rows) if sharing is None else None,
    )
    return Packed(problem, priorities, _ints(rows), base, t0)


def _passes(slurm: Slurm, base: int) -> Passes:
    """Return the passes that are given, of one second the first; a second turns in the midst of some."""
    clocks = slurm.clocks
    full = np.unique(np.array([] if clocks is None else clocks.seconds_of_full, dtype=np.int64) - base)
    full = full[full >= 0]
    given = np.array([] if clocks is None else clocks.seconds_of_passes, dtype=np.int64) - base
    seconds, rows = np.unique(given, return_index=True)
    seconds, rows = seconds[seconds >= 0], rows[seconds >= 0]
    if clocks is None or (clocks.turns is None and clocks.broke_off is None):
        return Passes(_ints(seconds), _ints([]), _ints([]), _ints([]), _ints(full))
    turns = [() if clocks.turns is None else clocks.turns[row] for row in rows.tolist()]
    broke_off = [None if clocks.broke_off is None else clocks.broke_off[row] for row in rows.tolist()]
    most = [NEVER if one is None else one for one in broke_off]
    first = np.cumsum([0, *map(len, turns)])
    tested = [one for each in turns for one in each]
    return Passes(_ints(seconds), _ints(first), _ints(tested), _ints(most), _ints(full))


def _limits(workload: Workload, reading: Reading) -> NDArray[np.float64]:
    # Slurm's are of whole minutes.
    return np.maximum(60.0 * np.ceil(reading.planned(workload) / 60.0), 60.0)


def over_limits(workload: Workload, slurm: Slurm, reading: Reading) -> dict[int, str]:
    """Return the rows of jobs that are over a limit of accounts all by themselves, and over which, in words."""
    rows = np.arange(len(workload))
    return over_alone(slurm, asked_of(workload, slurm, rows, _limits(workload, reading)))


def asked_of(
    workload: Workload, slurm: Slurm, rows: Ints, limit: NDArray[np.float64], *, shared: bool = False
) -> list[JobRequest]:
    """Return what the jobs ask for, in the order of their numbers."""
    parameters = slurm.priority
    names = {name: workload.label(name).tolist() for name in ("account", "qos")}
    partitions = workload.partition.tolist()
    users, each = users_of(workload), parameters.cpus // parameters.nodes
    held, cpus, *more = amounts_of(workload) if shared else (workload.tasks, workload.tasks * each)
    if slurm.cpus:
        cpus = np.array([slurm.cpus.get(job, own) for job, own in zip(workload.id.tolist(), cpus, strict=True)])
    nodes = np.where((told := requested_nodes(workload)) > 0, told, held)  # of their sizes
    usual = next((name for name, one in parameters.partitions.items() if one.default), "")
    nice = np.zeros(len(workload), dtype=np.int64) if workload.nice is None else workload.nice.values
    return [
        JobRequest(
            user=str(users[row]),
            account=names["account"][row],
            partition=partitions[row] or usual,
            qos=names["qos"][row],
            nodes=int(nodes[row]),
            cpus=int(cpus[row]),
            limit=float(limit[row]),
            amounts={"cpu": float(cpus[row]), "node": float(held[row])}
            | ({} if not more else {"mem": float(more[0][row]), "gres/gpu": float(more[1][row])}),
            nice=int(nice[row]),
            aged=0.0 if slurm.aged is None else float(slurm.aged.get(int(workload.id[row]), 0.0)),
        )
        for row in rows.tolist()
    ]


def with_factors(federation: Federation, slurm: Slurm) -> PriorityParameters:
    """Return how priorities are computed, with factors of the federation's partitions that the conf says none of."""
    said = {
        one.name: one.factor
        for one in federation.partitions
        if one.factor is not None and one.name in slurm.conf.partitions
    }
    own = {
        name: replace(one, job_factor=said[name])
        for name, one in slurm.priority.partitions.items()
        if name in said and job_factor_of(slurm.conf.partitions[name]) is None
    }
    return replace(slurm.priority, partitions={**slurm.priority.partitions, **own})


def _priorities(
    workload: Workload, federation: Federation, slurm: Slurm, asked: list[JobRequest], base: int
) -> Priorities:
    ticks = slurm.clocks.ticks if slurm.clocks is not None and slurm.clocks.ticks is not None else base
    origin = epoch_of(workload, slurm) + base
    parameters = with_factors(federation, slurm)
    return pack_priorities(parameters, slurm.assoc, asked, phase=float(ticks - base), origin=float(origin))


def seconds_of_runs(workload: Workload, federation: Federation, reading: Reading) -> NDArray[np.float64]:
    """Return how long the jobs run on these nodes, all of one speed."""
    slow, sigma = 1.0 / federation.groups[0].speed, workload.compute_fraction
    return np.asarray(reading.runtime(workload) * (sigma * slow + (1.0 - sigma)))


def epoch_of(workload: Workload, slurm: Slurm) -> int:
    """Return the seconds since 1970 at second 0 of the jobs, as far as anybody says."""
    if slurm.epoch is not None:
        return slurm.epoch
    if slurm.clocks is not None:
        return slurm.clocks.epoch
    said = next((text for label, text in workload.header if label == "UnixStartTime"), "")
    return digits_of(said) or 0


def _refuse_endless(workload: Workload, *times: NDArray[np.float64]) -> None:
    for values in times:
        for row in np.flatnonzero(~(values <= LONGEST))[:1].tolist():
            raise InfeasibleError(
                f"Job {workload.id[row]}: {values[row]:g} s is over the {LONGEST:,} s that policy slurm counts to; "
                "shorten it, or give the jobs in parts."
            )


def _sets(workload: Workload, federation: Federation, *, shared: bool) -> tuple[Words, Ints]:
    caps, of_job = opened_on(workload, federation) if shared else caps_table(workload, federation)
    return words_of((caps > 0)[:, federation.group_of_node]), of_job


def _partitions(workload: Workload, federation: Federation, slurm: Slurm) -> tuple[Words, Ints, Ints]:
    everywhere = np.ones((1, federation.nodes), dtype=np.bool_)
    if not federation.partitions:
        return words_of(everywhere), np.zeros(len(workload), dtype=np.int64), np.ones(1, dtype=np.int64)
    tiers = tiers_of(slurm.conf)
    members = federation.groups_of_partitions()[:, federation.group_of_node]
    of_job = partition_of_jobs(workload, federation)  # -1 is the last: whoever may have every node
    tier = [tiers.get(partition.name, 1) for partition in federation.partitions]
    return words_of(np.concatenate([members, everywhere])), of_job % (len(tier) + 1), _ints([*tier, 1])


def _lines(slurm: Slurm, weight: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return lines × nodes: who stands in which NodeName line, those of the least weight first, then the first ones."""
    there = [line.where for line in slurm.conf.nodes.values() if not is_future(line)]
    place = {where: k for k, where in enumerate(dict.fromkeys(there))}
    of_node = np.array([place[where] for where in there])
    turns = np.lexsort((of_node, weight))
    order = list(dict.fromkeys(zip(weight[turns].tolist(), of_node[turns].tolist(), strict=True)))
    return np.array([(weight == heavy) & (of_node == line) for heavy, line in order], dtype=np.bool_)


def _reserving(slurm: Slurm, asked: list[JobRequest]) -> Ints:
    """Return for which jobs backfill may reserve nodes, as their QOS have it."""
    if slurm.assoc is None:
        return np.ones(len(asked), dtype=np.int64)
    no = {name for name, one in slurm.assoc.qos.items() if any(flag.lower() == "noreserve" for flag in one.flags)}
    usual = {name: slurm.assoc.members[slurm.assoc.place(*name)].default_qos or "normal"
             for name in {(one.user, one.account, one.partition) for one in asked if not one.qos}}  # fmt: skip
    names = (one.qos or usual[one.user, one.account, one.partition] for one in asked)
    return _ints([name.lower() not in no for name in names])


def _is_fifo(slurm: Slurm, tier: Ints) -> bool:
    """Return whether jobs go by their list; the last tier is that of who is in no partition."""
    ranked = slurm.parameters.backfill or slurm.parameters.multifactor
    return not ranked and (tier.size < 3 or bool((tier[:-1] == tier[0]).all()))


def is_future(line: Line) -> bool:
    """Return whether the nodes of a line are not there yet."""
    return line.words.get("state", "").upper().startswith("FUTURE")


def _sizes(sets: Words) -> Ints:
    return _ints(np.unpackbits(np.ascontiguousarray(sets).view(np.uint8), axis=1).sum(axis=1))


def _completing(workload: Workload, slurm: Slurm) -> Ints:
    if isinstance(slurm.completing, int):
        return np.full(len(workload), slurm.completing)
    missing = [job for job in workload.id.tolist() if job not in slurm.completing]
    if missing:
        raise ValueError(f"Slurm: completing= says nothing of job {missing[0]}; give one number, or one for each id.")
    return np.array([slurm.completing[job] for job in workload.id.tolist()], dtype=np.int64)


def _settings(slurm: Slurm, epoch: int) -> Ints:
    found, numbers = slurm.parameters, slurm.parameters.numbers
    settings = np.zeros(len(Setting), dtype=np.int64)
    for name, value in numbers.items():
        settings[Setting[name.upper()]] = value
    given = slurm.clocks is not None and slurm.clocks.passes is not None
    settings[Setting.CONS_TRES] = found.cons_tres
    settings[Setting.MAIN] = numbers["sched_interval"] >= 0
    settings[Setting.BACKFILL] = found.backfill
    settings[Setting.OVERDUE] = found.kill_wait + found.over_time_limit
    settings[Setting.EPOCH] = epoch
    settings[Setting.PHASE] = slurm.phase
    settings[Setting.TIMED] = slurm.passes == "timed"
    settings[Setting.RATE] = slurm.rate
    settings[Setting.OWN_CLOCK] = not given
    settings[Setting.ASSOC_LIMIT_STOP] = found.limits_stop
    expires = re.search(r"\bcred_expire=(\d{1,9})", slurm.conf.parameters.get("authinfo", ""), re.ASCII)
    settings[Setting.REQUEUED] = 1 + (CRED_EXPIRE if expires is None else int(expires[1]))
    return settings


def _ints(values: Any) -> Ints:
    return np.ascontiguousarray(values, dtype=np.int64)
