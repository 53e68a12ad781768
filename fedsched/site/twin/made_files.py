"""Writes the files of a made dump: what Slurm's commands would print about its cluster, its jobs and its queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.site.twin import commands
from fedsched.site.twin.commands import PARTED
from fedsched.site.twin.made_facts import (
    ACCOUNT_COUNT,
    CLUSTER,
    CORES,
    EPOCH,
    job_id_text,
    labels_of,
    limit_of,
    numbers_of,
    recorded_limit,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.downtimes import Downtime
    from fedsched.site.twin.made_facts import Facts, Limits, MadeSite, Queue

    Column = NDArray[np.float64]
    Mask = NDArray[np.bool_]

FACULTIES = 2
CONFIG = """\
Configuration data as of {taken}
AccountingStorageEnforce = {enforced}
BOOT_TIME               = {booted}
ClusterName             = {cluster}
KillWait                = 30 sec
OverTimeLimit           = 0 min
PriorityType            = priority/{priority}
PriorityWeightAge       = 1000
PriorityMaxAge          = 7-00:00:00
PriorityWeightPartition = {partitions}
PriorityWeightQOS       = 500
SchedulerParameters     = bf_interval=60,bf_continue,bf_max_job_test=1000
SchedulerType           = sched/backfill
SelectType              = select/linear
SLURM_VERSION           = 22.05.8

Slurmctld(primary) at {cluster} is UP
"""
OF_MEMBERS = ("GrpJobs", "GrpTRES", "MaxJobs", "MaxTRES", "MaxWall")
OF_QOS = ("GrpTRES", "GrpJobs", "MaxTRES", "MaxWall", "MaxTRESPU", "MaxJobsPU", "MaxTRESPA", "MaxJobsPA")


def clock(seconds: NDArray[np.float64]) -> list[str]:
    """Return times in seconds since 1970 as texts, as Slurm prints them; "Unknown" for NaN and infinity."""
    known = np.where(np.isfinite(seconds), seconds, 0).astype("int64").astype("datetime64[s]")
    texts = np.datetime_as_string(known, unit="s").tolist()
    return [text if there else "Unknown" for text, there in zip(texts, np.isfinite(seconds).tolist(), strict=True)]


def write_machine(folder: Path, site: MadeSite, nodes: int, booted: str, taken: str, priority: str) -> None:
    """Write what scontrol prints of configuration, nodes, queues and (no) reservations, and sacctmgr of QOS."""
    weight = 500 if len(site.queues) > 1 else 0
    config = CONFIG.format(
        taken=taken, booted=booted, cluster=CLUSTER, priority=priority, enforced=site.enforced, partitions=weight
    )  # fmt: skip
    (folder / commands.CONFIG).write_text(config, encoding="utf-8")
    bounds = {queue.name: queue.of(nodes) for queue in site.queues}
    lines = []
    for k in range(1, nodes + 1):
        there = ",".join(name for name, (first, last) in bounds.items() if first <= k <= last)
        lines.append(f"NodeName=n{k} CPUTot={CORES} RealMemory=16000 State=IDLE Partitions={there}")
    _write(folder / commands.NODES, lines)
    last = site.queues[-1].name
    _write(folder / commands.PARTITIONS, [_partition(one, nodes, default=one.name == last) for one in site.queues])
    rows = ["|".join(("Name", "Priority", "GraceTime", "UsageFactor", *OF_QOS))]
    for one in site.qualities:
        rows.append(f"{one.name}|{one.priority}|00:00:00|1.000000|{_cells(one.limits, OF_QOS, nodes)}")
    _write(folder / commands.QOS, rows)

def _partition(queue: Queue, nodes: int, *, default: bool) -> str:
    first, last = queue.of(nodes)
    longest = f"{int(queue.hours) // 24}-{int(queue.hours) % 24:02}:00:00" if queue.hours else "UNLIMITED"
    usual = "YES" if default else "NO"
    return (
        f"PartitionName={queue.name} AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL Default={usual} "
        f"QoS={queue.qos} DefaultTime=NONE MaxTime={longest} MaxNodes=UNLIMITED MinNodes=0 Nodes=n[{first}-{last}] "
        f"PriorityJobFactor={queue.factor} PriorityTier={queue.tier} State=UP TotalNodes={last - first + 1}"
    )


def _cells(limits: Limits, columns: tuple[str, ...], nodes: int) -> str:
    """Return limits as cells of sacctmgr's table, joined by "|"; the cell of a limit that is not set is empty."""
    return "|".join(
        "" if name not in limits
        else f"cpu={CORES * int(limits[name] * nodes)}" if "TRES" in name
        else f"{limits[name]:g}"
        for name in columns
    )  # fmt: skip


def write_accounts(folder: Path, site: MadeSite, users: Iterable[int], nodes: int) -> None:
    """Write what sacctmgr prints of accounts and users, each below its parent account."""
    by_account: dict[int, list[int]] = {}
    for user in sorted(set(users), key=lambda one: (one % ACCOUNT_COUNT, one)):
        by_account.setdefault(user % ACCOUNT_COUNT, []).append(user)
    rows = ["|".join(("Cluster", "Account", "User", "Share", *OF_MEMBERS))]
    depth = 0

    def add(account: str, user: str, limits: Limits) -> None:
        rows.append(f"{CLUSTER}|{' ' * depth}{account}|{user}|1|{_cells(limits, OF_MEMBERS, nodes)}")

    add("root", "", {})
    for group in range(1 if site.faculties is None else FACULTIES):
        depth = 1
        if site.faculties is not None:
            add(f"f{group}", "", site.faculties)
            depth = 2
        for account, members in by_account.items():
            if site.faculties is not None and account % FACULTIES != group:
                continue
            add(f"a{account}", "", site.accounts)
            depth += 1
            for user in members:
                add(f"a{account}", f"u{user}", site.users)
            depth -= 1
    _write(folder / commands.ACCOUNTS, rows)


def write_closed(
    folder: Path, calendar: Iterable[Downtime], nodes: int, until: float, elsewhere: Iterable[str]
) -> None:
    """Write what sacctmgr prints of nodes that were down and of reservations, and scontrol of those after `until`."""
    events = ["Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User"]
    shown: list[str] = []
    past = ["Cluster|Name|TRES|TimeStart|TimeEnd|NodeName|Flags"]  # asked for as Start, End and NodeNames
    for one in calendar:
        begin, end = clock(np.array([one.begin, one.end]) + EPOCH)
        if one.kind == "outage":
            lost = max(1, nodes // 8)
            events += [f"{CLUSTER}|n{k}|{begin}|{end}|DOWN*|not responding|root" for k in range(1, lost + 1)]
        else:
            past.append(f"{CLUSTER}|{one.name}|cpu={CORES * nodes}|{begin}|{end}|n[1-{nodes}]|{RESERVED_FLAGS}")
            if one.end > until:
                where = f"Nodes=n[1-{nodes}] Flags={RESERVED_FLAGS}"
                shown.append(f"ReservationName={one.name} StartTime={begin} EndTime={end} {where}")
    begin, end = clock(np.array([0.0, until]) + EPOCH)
    events += [f"{other}|n1|{begin}|{end}|DOWN*|not responding|root" for other in elsewhere]
    _write(folder / commands.EVENTS, events)
    _write(folder / commands.PAST_RESERVATIONS, past)
    _write(folder / commands.RESERVATIONS, shown or ["No reservations in the system"])


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


RESERVED_FLAGS = "MAINT,SPEC_NODES"  # of a made reservation
QUEUE_COLUMNS = (
    "JOBID", "PARTITION", "USER", "STATE", "REASON", "PRIORITY", "SUBMIT_TIME", "END_TIME", "START_TIME", "TIME_LIMIT",
    "NODES", "ACCOUNT", "QOS", "DEPENDENCY", "FEATURES", "RESERVATION", "NODELIST", "NICE", "CPUS",
    "REQ_NODES", "EXC_NODES", "TRES_PER_NODE", "LICENSES",
)  # fmt: skip
QUEUE_HEAD = PARTED.join(QUEUE_COLUMNS)  # as squeue prints it
AGE_WEIGHT, AGE_LIMIT = 1000, 7 * 86_400.0  # as the made configuration weighs
FIRST_BASIC_PRIORITY = 4_294_901_759  # priority/basic's first one


def queue_priorities(
    submit: Column, eligible: Column, points: Column, now: float, *, in_order: bool
) -> NDArray[np.int64]:
    """Return the priorities of waiting jobs: by age, queue and QOS or, with `in_order`, by order of submission."""
    if in_order:
        return FIRST_BASIC_PRIORITY - np.argsort(np.argsort(submit, kind="stable"), kind="stable")
    age = np.clip((now - eligible) / AGE_LIMIT, 0.0, 1.0)
    return (1 + np.floor(age * AGE_WEIGHT + points)).astype(np.int64)


def queue_reasons(
    priority: NDArray[np.int64], held: Mask, depends: Mask, full: Sequence[str], enough: Mask
) -> list[str]:
    """Return Slurm's reason why each job waits: a hold, a dependency, a full limit, nodes, or the jobs ahead of it.

    Of the remaining jobs, only the one of highest priority waits for nodes, and only if too few are free.
    """
    limited = np.array(["Limit" in one for one in full], dtype=np.bool_)
    free = ~held & ~depends & ~limited
    first = int(np.argmax(np.where(free, priority, -1))) if free.any() else -1
    return [
        "JobHeldUser" if held[k] else "Dependency" if depends[k] else full[k] if limited[k]
        else "Resources" if k == first and not enough[k] else "Priority"
        for k in range(len(priority))
    ]  # fmt: skip


def node_lists(sizes: Sequence[int], bounds: Sequence[tuple[int, int]]) -> list[str]:
    """Return a node list for each of several jobs that run at once: different nodes, within the bounds of its queue.

    Jobs with the narrowest bounds choose first, since bounds nest.
    """
    taken: set[int] = set()
    found = [""] * len(sizes)
    for k in sorted(range(len(sizes)), key=lambda k: bounds[k][1] - bounds[k][0]):
        first, last = bounds[k]
        mine = [node for node in range(first, last + 1) if node not in taken][: sizes[k]]
        taken.update(mine)
        found[k] = _listed(mine)
    return found


def _listed(nodes: Sequence[int]) -> str:
    """Return nodes as Slurm lists them: n7, n[1-3], n[1-3,9]."""
    if len(nodes) == 1:
        return f"n{nodes[0]}"
    spans: list[list[int]] = []
    for node in nodes:
        if spans and node == spans[-1][1] + 1:
            spans[-1][1] = node
        else:
            spans.append([node, node])
    return f"n[{','.join(f'{low}-{high}' if low < high else f'{low}' for low, high in spans)}]"


RECORD_COLUMNS = (
    "JobIDRaw", "JobID", "Cluster", "Partition", "User", "Account", "QOS", "JobName", "Submit", "Eligible", "Start",
    "End", "ElapsedRaw", "TimelimitRaw", "State", "AllocCPUS", "ReqCPUS", "NNodes", "Reason", "Flags", "SubmitLine",
)  # fmt: skip
FLAGS = {"backfill": "SchedBackfill", "main": "SchedMain"}


def write_jobs(
    folder: Path,
    facts: Facts,
    schedule: Schedule,
    since: float,
    until: float,
    reasons: list[str],
    elsewhere: list[str],
) -> None:
    """Write what sacct prints of the runs between two times, of this cluster and of the clusters in `elsewhere`."""
    start, finish = schedule.start, schedule.finish
    begun = start <= until
    over = finish <= until
    gone = np.isnan(start) & (facts.gone >= 0) & (facts.gone <= until)
    ended = np.where(over, finish, np.where(gone, facts.gone, np.nan))
    there = (facts.submit <= until) & ~(ended < since)
    number = numbers_of(facts)
    lost = np.zeros(len(start), dtype=np.bool_)
    lost[facts.again[facts.again >= 0]] = True
    state = np.where(gone, "CANCELLED by 1000", np.where(~begun, "PENDING", np.where(~over, "RUNNING", "COMPLETED")))
    state = np.where(lost & over, "NODE_FAIL", state)
    state = np.where(over & (finish - start >= facts.limit) & ~lost, "TIMEOUT", state)
    texts = {
        "submit": clock(facts.submit + EPOCH),
        "eligible": clock(facts.eligible + EPOCH),
        "start": clock(np.where(begun, start, np.nan) + EPOCH),
        "end": clock(ended + EPOCH),
    }
    elapsed = np.where(begun, np.minimum(np.where(over, finish, until), until) - start, 0.0)
    by = getattr(schedule, "started_by", [""] * len(start))
    labels, letters = labels_of(facts), facts.site.letters
    lines = ["|".join(RECORD_COLUMNS)]
    for row in np.flatnonzero(there).tolist():
        name = job_id_text(facts, number, row)
        other, nodes = int(facts.depends[row]), int(facts.work.tasks[row])
        cells = (
            number[row], name, CLUSTER, *(labels[one][row] for one in ("partition", "user", "account", "qos")),
            "job", texts["submit"][row], texts["eligible"][row],
            texts["start"][row], texts["end"][row], int(elapsed[row]), recorded_limit(facts, row), state[row][:letters],
            CORES * nodes if begun[row] else 0, CORES * nodes, nodes, reasons[row],
            FLAGS.get(by[row], "SchedSubmit") if begun[row] else "",
            f"sbatch --dependency=afterany:{number[other]} job" if other >= 0 else "sbatch job",
        )  # fmt: skip
        lines.append("|".join(map(str, cells)))
        for step in (".batch", ".extern", ".0") if facts.site.steps and begun[row] else ():
            lines.append("|".join(map(str, (f"{cells[0]}{step}", f"{name}{step}", CLUSTER, "", "", *cells[5:]))))
        # Other clusters' jobs differ only in the cluster's name: a reader must not mix them up with these.
        lines += ["|".join(map(str, (*cells[:2], other, *cells[3:]))) for other in elsewhere]
    (folder / commands.JOBS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_queue(
    folder: Path, facts: Facts, schedule: Schedule, until: float, reasons: list[str], *, in_order: bool
) -> None:
    """Write what squeue prints of the jobs that run or wait at the time `until`."""
    number = numbers_of(facts)
    begun, over = schedule.start <= until, schedule.finish <= until
    gone = (facts.gone >= 0) & (facts.gone <= until)
    runs = np.flatnonzero(begun & ~over)
    waits = np.flatnonzero(~begun & ~gone & (facts.submit <= until))
    later = facts.eligible[waits] > until
    depends = later & (facts.depends[waits] >= 0)
    held = later & ~depends & (facts.held[waits] > until)
    priority = queue_priorities(
        facts.submit[waits],
        facts.eligible[waits],
        facts.site.points(facts.queue, facts.quality)[waits],
        until,
        in_order=in_order,
    )
    enough = facts.work.tasks[waits] <= facts.work.nodes - facts.work.tasks[runs].sum()
    why = queue_reasons(priority, held, depends, [reasons[row] for row in waits.tolist()], enough)
    priority[held] = 0
    bounds = [facts.site.queues[k].of(facts.work.nodes) for k in facts.queue[runs].tolist()]
    hosts = node_lists(facts.work.tasks[runs].tolist(), bounds)
    submit, start = clock(facts.submit + EPOCH), clock(schedule.start + EPOCH)
    end = clock(schedule.start + facts.limit + EPOCH)
    labels, lines = labels_of(facts), [QUEUE_HEAD]

    def line(row: int, *, state: str, reason: str, priority: int, hosts: str) -> str:
        nodes, other = int(facts.work.tasks[row]), int(facts.depends[row])
        runs = state == "RUNNING"
        condition = f"afterany:{number[other]}(unfulfilled)" if reason == "Dependency" else "(null)"
        cells = (
            job_id_text(facts, number, row), labels["partition"][row], labels["user"][row], state, reason, priority,
            submit[row], end[row] if runs else "N/A", start[row] if runs else "N/A", limit_of(facts, row), nodes,
            labels["account"][row], labels["qos"][row], condition, "(null)", "(null)", hosts, 0,
            CORES * nodes, "", "", "N/A", "(null)",
        )  # fmt: skip
        return commands.PARTED.join(map(str, cells))

    for row, names in zip(runs.tolist(), hosts, strict=True):
        lines.append(line(row, state="RUNNING", reason="None", priority=1, hosts=names))
    for k, row in enumerate(waits.tolist()):
        lines.append(line(row, state="PENDING", reason=why[k], priority=int(priority[k]), hosts=""))
    (folder / commands.QUEUE).write_text("\n".join(lines) + "\n", encoding="utf-8")
