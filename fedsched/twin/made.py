"""A made dump: files as Slurm's commands print them, of a cluster that is none, with all that sites have in them.

Its starts are those of a policy of fedsched's under facts that the files tell: holds, dependencies, runs that were
begun anew, nodes that went down, maintenance. So a replay under that policy with these facts given finds every start.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.errors import OutputError
from fedsched.generate.estimates import tsafrir_estimates
from fedsched.generate.lublin import lublin
from fedsched.model.calendar import Downtime
from fedsched.model.workload import Workload
from fedsched.simulate import simulate
from fedsched.twin import commands, made_queue
from fedsched.twin.folder import Dump
from fedsched.twin.machine import machine_of
from fedsched.twin.problem import SLURM, lacks, policy_in
from fedsched.twin.records import YEAR
from fedsched.twin.site import open_to_all
from fedsched.values import seed_of, whole

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.model.federation import Federation
    from fedsched.model.schedule import Schedule

    Column = NDArray[np.float64]

EPOCH = 1_767_600_000  # Monday, 2026-01-05 08:00:00
CLUSTER = "made"
CORES = 8  # of a node
COLUMNS = (
    "JobIDRaw", "JobID", "Cluster", "Partition", "User", "Account", "QOS", "JobName", "Submit", "Eligible", "Start",
    "End", "ElapsedRaw", "TimelimitRaw", "State", "AllocCPUS", "ReqCPUS", "NNodes", "Reason", "Flags", "SubmitLine",
)  # fmt: skip
FLAGS = {"backfill": "SchedBackfill", "main": "SchedMain"}
LONGEST = 86_400.0  # seconds of a job
ROUNDS = 8  # in which what follows from others' ends settles
CONFIG = """\
Configuration data as of {taken}
AccountingStorageEnforce = associations
ClusterName             = {cluster}
KillWait                = 30 sec
OverTimeLimit           = 0 min
PriorityType            = priority/{priority}
PriorityWeightAge       = 1000
PriorityMaxAge          = 7-00:00:00
PriorityWeightQOS       = 500
SchedulerParameters     = bf_interval=60,bf_continue,bf_max_job_test=1000
SchedulerType           = sched/backfill
SelectType              = select/linear
SLURM_VERSION           = 22.05.8

Slurmctld(primary) at {cluster} is UP
"""
QOS = "Name|Priority|GraceTime|UsageFactor\nnormal|0|00:00:00|1.000000\nurgent|100|00:00:00|1.000000\n"


@dataclass(slots=True)
class _Facts:
    """What is decided of the jobs beside the model's; times on the jobs' clock."""

    work: Workload
    limit: Column
    user: NDArray[np.int64]
    urgent: NDArray[np.bool_]
    held: Column  # until when; 0 = not at all
    depends: NDArray[np.int64]  # on which row; -1 = on none
    again: NDArray[np.int64]  # after which row's run this one is the same job's next; -1 = of none
    gone: Column  # when it is cancelled in the queue; -1 = never
    array: NDArray[np.int64]
    part: NDArray[np.int64]  # of a heterogeneous job; -1 = none
    reserved: NDArray[np.bool_]
    calendar: tuple[Downtime, ...]
    submit: Column = field(init=False)
    eligible: Column = field(init=False)


def made_dump(
    folder: str | PathLike[str],
    *,
    jobs: int = 2000,
    nodes: int = 64,
    load: float = 0.8,
    policy: str = "slurm",
    troubles: bool = True,
    priority: str = "multifactor",
    endless: float = 0.0,
    letters: int | None = None,
    others: int = 0,
    steps: bool = False,
    seed: int = 0,
) -> Path:
    """Write a made dump into a new folder, and return that.

    Parameters
    ----------
    folder
        A new one.
    jobs, nodes, load
        How many jobs, on how many nodes, and how much of these they need.
    policy
        Whose starts are recorded: "slurm", by the configuration in the dump, or another policy's name.
    troubles
        Whether there are holds, dependencies, requeues, cancellations, nodes that go down and a reservation; those
        that the policy has.
    priority
        "multifactor" or "basic".
    endless
        Which part of the jobs has no limit.
    letters
        To so many states are cut, as some sites' programs do: COMPLETIN, REQUEUE_H.
    others
        Of how many other clusters the same database tells, with jobs of the same numbers on nodes of the same names.
    steps
        Whether each run's steps are told of as well, as by a `sacct` without -X.
    seed
        What is drawn follows from it.
    """
    target = Path(folder)
    if target.exists():
        raise OutputError(f"Cannot write {target}: it is there already; give a new folder.")
    jobs, nodes, seed = whole("made_dump", "jobs", jobs), whole("made_dump", "nodes", nodes), seed_of("made_dump", seed)
    rng = np.random.default_rng(seed)
    work = lublin(jobs, nodes, load=load, seed=seed)
    begin, end = np.quantile(np.floor(work.submit), [0.1, 0.98])
    target.mkdir()
    since = _clock(np.array([EPOCH + begin]))[0]
    _write_machine(target, nodes, _clock(np.array([EPOCH + end]))[0], priority)
    (target / commands.JOBS).touch()
    (target / commands.MANIFEST).write_text(f"fedsched dump 1\nsince {since}\n", encoding="utf-8")
    facts = _facts_of(work, nodes, rng, policy, troubles=troubles)
    if endless:
        facts.limit[rng.random(jobs) < endless] = YEAR
    elsewhere = [f"{CLUSTER}{k + 2}" for k in range(others)]
    _write_events(target, facts, nodes, elsewhere)
    (target / commands.ACCOUNTS).write_text(_accounts(facts), encoding="utf-8")
    federation = open_to_all(machine_of(Dump(target)).federation)
    schedule = _settled(target, facts, federation, policy)
    _write_jobs(target, facts, schedule, begin, end, letters, elsewhere, steps=steps)
    _write_queue(target, facts, schedule, end, in_order=policy != SLURM or priority == "basic")
    return target


def _facts_of(work: Workload, nodes: int, rng: np.random.Generator, policy: str, *, troubles: bool) -> _Facts:
    jobs = len(work)
    runtime = np.clip(np.round(work.runtime), 1.0, LONGEST)
    limit = 60.0 * np.ceil(np.maximum(tsafrir_estimates(runtime, maximum=LONGEST, seed=1), runtime) / 60.0)
    work = Workload(submit=np.floor(work.submit), tasks=work.tasks, runtime=runtime, nodes=nodes, name=CLUSTER)
    users = max(3, min(200, jobs // 50))
    facts = _Facts(
        work=work,
        limit=limit,
        user=np.minimum(rng.zipf(1.6, jobs) - 1, users - 1),
        urgent=rng.random(jobs) < 0.05,
        held=np.zeros(jobs),
        depends=np.full(jobs, -1),
        again=np.full(jobs, -1),
        gone=np.full(jobs, -1.0),
        array=np.full(jobs, -1),
        part=np.full(jobs, -1),
        reserved=np.zeros(jobs, dtype=np.bool_),
        calendar=(),
    )
    for first in rng.choice(jobs, max(1, jobs // 100), replace=False).tolist():
        facts.array[first : first + 4] = first
        facts.user[first : first + 4] = facts.user[first]
    for first in rng.choice(jobs - 1, max(1, jobs // 200), replace=False).tolist() if jobs > 1 else []:
        if (facts.array[first : first + 2] < 0).all() and (facts.part[first : first + 2] < 0).all():
            facts.part[first : first + 2] = (0, 1)
    if troubles:
        _add_troubles(facts, nodes, rng, policy)
    return facts


def _add_troubles(facts: _Facts, nodes: int, rng: np.random.Generator, policy: str) -> None:
    jobs, submit = len(facts.work), facts.work.submit
    few = max(1, min(jobs // 60, 300))
    some = rng.permutation(jobs)
    held, waiting, again, gone = some[:few], some[few : 2 * few], some[2 * few : 3 * few], some[3 * few : 4 * few]
    facts.held[held] = submit[held] + np.round(rng.uniform(600, 20_000, held.size))
    for row in waiting.tolist():
        facts.depends[row] = max(0, row - int(rng.integers(1, 8))) if row else -1
    for row in again.tolist():  # the job before it in the log is its first run, which a node's failure ended
        if row and facts.again[row - 1] < 0 and row - 1 not in again and facts.depends[row] < 0:
            facts.again[row] = row - 1
            facts.user[row], facts.urgent[row] = facts.user[row - 1], facts.urgent[row - 1]
            facts.array[row] = facts.part[row] = facts.array[row - 1] = facts.part[row - 1] = -1
    if _has(policy, "cancel_at"):
        facts.gone[gone] = submit[gone] + np.round(rng.uniform(60, 6_000, gone.size))
    if _has(policy, "calendar"):
        span, begin = float(submit[-1]), float(np.floor(0.45 * submit[-1]))
        service = Downtime(CLUSTER, begin, begin + 14_400.0, nodes="all", kind="maintenance", name="service")
        # On which nodes the jobs of a dump's begin are is not given: under a policy that knows nodes, an outage of some
        # would hit other jobs in the replay.
        lost = f"{max(1, nodes // 8)} of all"
        down = [Downtime(CLUSTER, np.floor(at * span), np.floor(at * span) + 20_000.0, nodes=lost, kind="outage")
                for at in (0.3, 0.6) if policy != SLURM]  # fmt: skip
        facts.calendar = (*down, service)


def _has(policy: str, feature: str) -> bool:
    """Return whether a policy has what jobs or machines may have beyond the plain model."""
    return feature not in lacks(policy)


def _settled(folder: Path, facts: _Facts, federation: Federation, policy: str) -> Schedule:
    """Return the schedule, and fill in when runs that follow others were submitted and eligible."""
    submit = facts.work.submit.copy()
    eligible = np.maximum(submit, facts.held)
    follows = np.flatnonzero((facts.depends >= 0) | (facts.again >= 0))
    held = np.setdiff1d(np.flatnonzero(facts.held > submit), follows)
    ids = _ids(facts)
    machine = replace(federation, calendar=facts.calendar)
    chosen = policy_in(folder, policy, zero=EPOCH)
    for _ in range(ROUNDS if follows.size else 1):
        facts.submit, facts.eligible = submit.copy(), eligible.copy()
        labels = {"user": _names("u", facts.user), "account": _names("a", facts.user % 5),
                  "qos": np.where(facts.urgent, "urgent", "normal").astype(object)}  # fmt: skip
        workload = Workload(
            submit=submit, tasks=facts.work.tasks, runtime=facts.work.runtime, estimate=facts.limit, id=ids,
            begin=np.where(eligible > submit, eligible, 0.0), cancel_at=facts.gone,
            held={int(ids[row]): [(submit[row], eligible[row])] for row in held.tolist()}, user=facts.user,
            labels=labels, name=CLUSTER, nodes=federation.nodes,
        )  # fmt: skip
        schedule = simulate(workload, machine, chosen)
        before = (submit.copy(), eligible.copy())
        for row in follows.tolist():
            other = max(facts.depends[row], facts.again[row])
            over = schedule.finish[other]
            over = facts.gone[other] if np.isnan(over) else over
            over = float(np.ceil(over))
            if facts.again[row] >= 0:
                submit[row], eligible[row] = over, over + 121.0
            else:
                eligible[row] = max(facts.work.submit[row], over)
        if (before[0] == submit).all() and (before[1] == eligible).all():
            break
    return schedule


def _ids(facts: _Facts) -> NDArray[np.int64]:
    return np.arange(1, len(facts.work) + 1) + 1000


def _names(letter: str, numbers: NDArray[np.int64]) -> NDArray[Any]:
    return np.array([f"{letter}{number}" for number in numbers.tolist()], dtype=object)


def _clock(seconds: Column) -> list[str]:
    """Return times as Slurm prints them; Unknown where there is none."""
    known = np.where(np.isfinite(seconds), seconds, 0).astype("int64").astype("datetime64[s]")
    texts = np.datetime_as_string(known, unit="s").tolist()
    return [text if there else "Unknown" for text, there in zip(texts, np.isfinite(seconds).tolist(), strict=True)]


def _write_machine(folder: Path, nodes: int, taken: str, priority: str) -> None:
    hosts = f"n[1-{nodes}]"
    (folder / commands.CONFIG).write_text(
        CONFIG.format(taken=taken, cluster=CLUSTER, priority=priority), encoding="utf-8"
    )
    lines = [f"NodeName=n{k} CPUTot={CORES} RealMemory=16000 State=IDLE Partitions=main" for k in range(1, nodes + 1)]
    (folder / commands.NODES).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / commands.PARTITIONS).write_text(
        "PartitionName=main AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL Default=YES DefaultTime=NONE "
        f"MaxTime=UNLIMITED MaxNodes=UNLIMITED MinNodes=0 Nodes={hosts} "
        f"PriorityJobFactor=1 PriorityTier=1 State=UP TotalNodes={nodes}\n",
        encoding="utf-8",
    )
    (folder / commands.QOS).write_text(QOS, encoding="utf-8")
    (folder / commands.RESERVATIONS).write_text("No reservations in the system\n", encoding="utf-8")


def _accounts(facts: _Facts) -> str:
    lines = ["Cluster|Account|User|Share", f"{CLUSTER}|root||1"]
    pairs = sorted(set(zip((facts.user % 5).tolist(), facts.user.tolist(), strict=True)))
    for account in dict.fromkeys(pair[0] for pair in pairs):
        lines.append(f"{CLUSTER}| a{account}||1")
        lines += [f"{CLUSTER}|  a{account}|u{user}|1" for which, user in pairs if which == account]
    return "\n".join(lines) + "\n"


def _write_events(folder: Path, facts: _Facts, nodes: int, elsewhere: list[str]) -> None:
    events = ["Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User"]
    past = ["Cluster|Name|TRES|Start|End|NodeNames|Flags"]
    for one in facts.calendar:
        begin, end = _clock(np.array([one.begin, one.end]) + EPOCH)
        if one.kind == "outage":
            lost = max(1, nodes // 8)
            events += [f"{CLUSTER}|n{k}|{begin}|{end}|DOWN*|not responding|root" for k in range(1, lost + 1)]
        else:
            past.append(f"{CLUSTER}|{one.name}|cpu={CORES * nodes}|{begin}|{end}|n[1-{nodes}]|MAINT,SPEC_NODES")
    begin, end = _clock(np.array([0.0, float(facts.work.submit[-1])]) + EPOCH)
    events += [f"{other}|n1|{begin}|{end}|DOWN*|not responding|root" for other in elsewhere]
    (folder / commands.EVENTS).write_text("\n".join(events) + "\n", encoding="utf-8")
    (folder / commands.PAST_RESERVATIONS).write_text("\n".join(past) + "\n", encoding="utf-8")


def _write_jobs(
    folder: Path,
    facts: _Facts,
    schedule: Schedule,
    since: float,
    until: float,
    letters: int | None,
    elsewhere: list[str],
    *,
    steps: bool,
) -> None:
    start, finish = schedule.start, schedule.finish
    begun = start <= until
    over = finish <= until
    gone = np.isnan(start) & (facts.gone >= 0) & (facts.gone <= until)
    ended = np.where(over, finish, np.where(gone, facts.gone, np.nan))
    there = (facts.submit <= until) & ~(ended < since)
    number = _numbers(facts)
    lost = np.zeros(len(start), dtype=np.bool_)
    lost[facts.again[facts.again >= 0]] = True
    state = np.where(gone, "CANCELLED by 1000", np.where(~begun, "PENDING", np.where(~over, "RUNNING", "COMPLETED")))
    state = np.where(lost & over, "NODE_FAIL", state)
    state = np.where(over & (finish - start >= facts.limit) & ~lost, "TIMEOUT", state)
    texts = {
        "submit": _clock(facts.submit + EPOCH),
        "eligible": _clock(facts.eligible + EPOCH),
        "start": _clock(np.where(begun, start, np.nan) + EPOCH),
        "end": _clock(ended + EPOCH),
    }
    elapsed = np.where(begun, np.minimum(np.where(over, finish, until), until) - start, 0.0)
    by = getattr(schedule, "started_by", [""] * len(start))
    lines = ["|".join(COLUMNS)]
    for row in np.flatnonzero(there).tolist():
        called = _called(facts, number, row)
        other, user, nodes = int(facts.depends[row]), int(facts.user[row]), int(facts.work.tasks[row])
        cells = (
            number[row], called, CLUSTER, "main", f"u{user}", f"a{user % 5}",
            "urgent" if facts.urgent[row] else "normal", "job", texts["submit"][row], texts["eligible"][row],
            texts["start"][row], texts["end"][row], int(elapsed[row]), _limit(facts, row), state[row][:letters],
            CORES * nodes if begun[row] else 0, CORES * nodes, nodes,
            _reason(facts, row, waits=not begun[row] and facts.eligible[row] <= until),
            FLAGS.get(by[row], "SchedSubmit") if begun[row] else "",
            f"sbatch --dependency=afterany:{number[other]} job" if other >= 0 else "sbatch job",
        )  # fmt: skip
        lines.append("|".join(map(str, cells)))
        for step in (".batch", ".extern", ".0") if steps and begun[row] else ():
            lines.append("|".join(map(str, (f"{cells[0]}{step}", f"{called}{step}", CLUSTER, "", "", *cells[5:]))))
        # Theirs were submitted and ended when ours were, and needed nothing else: they must not get in between.
        lines += ["|".join(map(str, (*cells[:2], other, *cells[3:]))) for other in elsewhere]
    (folder / commands.JOBS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _numbers(facts: _Facts) -> NDArray[np.int64]:
    """Return the number of the job that each run is of."""
    number = _ids(facts).copy()
    for row in np.flatnonzero(facts.again >= 0).tolist():
        number[row] = number[facts.again[row]]
    return number


def _limit(facts: _Facts, row: int) -> str:
    """Return a run's limit in minutes, as Slurm has it."""
    return "UNLIMITED" if facts.limit[row] >= YEAR else str(int(facts.limit[row]) // 60)


def _called(facts: _Facts, number: NDArray[np.int64], row: int) -> str:
    """Return what Slurm calls a run's job: 17, 17_3 of an array, 17+1 of a heterogeneous one."""
    if (first := int(facts.array[row])) >= 0:
        return f"{number[first]}_{row - first}"
    if facts.part[row] >= 0:
        return f"{number[row - int(facts.part[row])]}+{facts.part[row]}"
    return str(number[row])


def _write_queue(folder: Path, facts: _Facts, schedule: Schedule, until: float, *, in_order: bool) -> None:
    number = _numbers(facts)
    begun, over = schedule.start <= until, schedule.finish <= until
    gone = (facts.gone >= 0) & (facts.gone <= until)
    runs = np.flatnonzero(begun & ~over)
    waits = np.flatnonzero(~begun & ~gone & (facts.submit <= until))
    later = facts.eligible[waits] > until
    depends = later & (facts.depends[waits] >= 0)
    held = later & ~depends & (facts.held[waits] > until)
    priority = made_queue.priorities(
        facts.submit[waits], facts.eligible[waits], facts.urgent[waits], until, in_order=in_order
    )
    reasons = made_queue.reasons(priority, held, depends)
    priority[held] = 0
    hosts = made_queue.node_lists(facts.work.tasks[runs].tolist())
    submit, start = _clock(facts.submit + EPOCH), _clock(schedule.start + EPOCH)
    end = _clock(schedule.start + facts.limit + EPOCH)
    lines = [made_queue.HEAD]

    def line(row: int, *, state: str, reason: str, priority: int, hosts: str) -> str:
        user, nodes, other = int(facts.user[row]), int(facts.work.tasks[row]), int(facts.depends[row])
        runs = state == "RUNNING"
        condition = f"afterany:{number[other]}(unfulfilled)" if reason == "Dependency" else "(null)"
        cells = (
            _called(facts, number, row), "main", f"u{user}", state, reason, priority, submit[row],
            end[row] if runs else "N/A", start[row] if runs else "N/A", _limit(facts, row), nodes,
            f"a{user % 5}", "urgent" if facts.urgent[row] else "normal", condition, "(null)", "(null)", hosts, 0,
            CORES * nodes,
        )  # fmt: skip
        return "|".join(map(str, cells))

    for row, names in zip(runs.tolist(), hosts, strict=True):
        lines.append(line(row, state="RUNNING", reason="None", priority=1, hosts=names))
    for k, row in enumerate(waits.tolist()):
        lines.append(line(row, state="PENDING", reason=reasons[k], priority=int(priority[k]), hosts=""))
    (folder / commands.QUEUE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _reason(facts: _Facts, row: int, *, waits: bool) -> str:
    """Return why a run waited, or waits: once it is eligible, for nodes or for those before it."""
    if waits:
        return "Priority"
    return "Dependency" if facts.depends[row] >= 0 else "JobHeldUser" if facts.held[row] else "None"
