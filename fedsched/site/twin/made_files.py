"""Files of a made dump that describe the cluster: configuration, nodes, queues, QOS, accounts and downtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.site.twin import commands

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from fedsched.model.time.downtimes import Downtime
    from fedsched.site.twin.made_sites import Limits, MadeSite, Queue

CLUSTER = "made"
EPOCH = 1_767_600_000  # Monday, 2026-01-05 08:00:00
CORES = 8  # of a node
ACCOUNTS = 5
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
    """Return times as Slurm prints them; Unknown for NaN and infinity."""
    known = np.where(np.isfinite(seconds), seconds, 0).astype("int64").astype("datetime64[s]")
    texts = np.datetime_as_string(known, unit="s").tolist()
    return [text if there else "Unknown" for text, there in zip(texts, np.isfinite(seconds).tolist(), strict=True)]


def account_of(user: int) -> str:
    """Return the account of a user."""
    return f"a{user % ACCOUNTS}"


def write_machine(folder: Path, site: MadeSite, nodes: int, booted: str, taken: str, priority: str) -> None:
    """Write what scontrol prints of configuration, nodes and queues, and what sacctmgr prints of QOS."""
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
    (folder / commands.RESERVATIONS).write_text("No reservations in the system\n", encoding="utf-8")


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
    """Return limits as cells of sacctmgr's table, empty if there is none."""
    return "|".join(
        "" if name not in limits
        else f"cpu={CORES * int(limits[name] * nodes)}" if "TRES" in name
        else f"{limits[name]:g}"
        for name in columns
    )  # fmt: skip


def write_accounts(folder: Path, site: MadeSite, users: Iterable[int], nodes: int) -> None:
    """Write what sacctmgr prints of accounts and users, each below its parent account."""
    by_account: dict[int, list[int]] = {}
    for user in sorted(set(users), key=lambda one: (one % ACCOUNTS, one)):
        by_account.setdefault(user % ACCOUNTS, []).append(user)
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
    """Write what sacctmgr prints of nodes that were down and of past reservations."""
    events = ["Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User"]
    past = ["Cluster|Name|TRES|TimeStart|TimeEnd|NodeName|Flags"]  # asked for as Start, End and NodeNames
    for one in calendar:
        begin, end = clock(np.array([one.begin, one.end]) + EPOCH)
        if one.kind == "outage":
            lost = max(1, nodes // 8)
            events += [f"{CLUSTER}|n{k}|{begin}|{end}|DOWN*|not responding|root" for k in range(1, lost + 1)]
        else:
            past.append(f"{CLUSTER}|{one.name}|cpu={CORES * nodes}|{begin}|{end}|n[1-{nodes}]|MAINT,SPEC_NODES")
    begin, end = clock(np.array([0.0, until]) + EPOCH)
    events += [f"{other}|n1|{begin}|{end}|DOWN*|not responding|root" for other in elsewhere]
    _write(folder / commands.EVENTS, events)
    _write(folder / commands.PAST_RESERVATIONS, past)


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
