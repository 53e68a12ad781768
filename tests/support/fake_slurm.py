"""A Slurm that lives in the memory: it answers commands as a real one does, and does what updates say."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fedsched.site.steer.commands import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.site.steer.commands import Command

NOW = 1_800_000_000
SETTINGS = {
    "ClusterName": "fake",
    "AccountingStorageEnforce": "none",
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "PriorityType": "priority/multifactor",
    "PriorityFlags": "",
    "PriorityMaxAge": "7-00:00:00",
    "PriorityWeightAge": "1000",
    "PriorityWeightFairShare": "0",
    "SelectType": "select/linear",
    "SlurmUser": "slurm(64030)",
}


@dataclass(frozen=True)
class Job:
    """A job of the fake."""

    id: int
    nodes: int = 1
    minutes: float = 10.0
    user: str = "ann"
    account: str = "physics"
    qos: str = "normal"
    partition: str = "p"
    base: int = 10_000  # priority without nice
    nice: int = 0
    submit: float = NOW - 600
    begin: float = 0.0
    start: float = 0.0
    hosts: tuple[str, ...] = ()
    state: str = "PENDING"
    reason: str = "Priority"
    by_hand: bool = False  # an administrator has set its priority
    held: bool = False
    tasks: str = ""
    accrue: float = 0.0
    features: str = ""
    comment: str = ""
    siblings: str = ""

    @property
    def priority(self) -> int:
        """Return its priority, which ends at 1."""
        if self.held:
            return 0
        return self.base if self.by_hand else max(1, self.base - self.nice)


@dataclass
class FakeSlurm:
    """It counts what it is asked, and fails where it is told to."""

    jobs: dict[int, Job]
    nodes: int = 4
    settings: dict[str, str] = field(default_factory=dict)
    time: float = NOW
    here: float | None = None  # this machine's clock, where it is another
    asked: list[Command] = field(default_factory=list)
    changed: list[Command] = field(default_factory=list)
    fails: Callable[[Command], str | None] = lambda _: None
    before: Callable[[Command], None] = lambda _: None
    newer: bool = False  # whether it writes as data parsers from v0.0.40 on do
    without_json: bool = False
    me: str = "root"
    admins: dict[str, str] = field(default_factory=dict)
    coordinators: dict[str, str] = field(default_factory=dict)
    keeps_accounts: bool = True
    siblings: dict[str, str] = field(default_factory=dict)
    down: frozenset[str] = frozenset()
    busy: frozenset[str] = frozenset()  # nodes with jobs, whatever jobs there are
    partitions: dict[str, tuple[int, int]] = field(default_factory=dict)  # first and last node

    @classmethod
    def of(cls, *jobs: Job, **others: Any) -> FakeSlurm:
        """Return one with these jobs."""
        return cls({job.id: job for job in jobs}, **others)

    # ---- what a runner is
    def now(self) -> float:
        """Return this machine's time."""
        return self.time if self.here is None else self.here

    def run(self, command: Command) -> str:
        """Answer a command."""
        self.before(command)
        self.asked.append(command)
        if said := self.fails(command):
            raise CommandError(command, said)
        if self.without_json and "--json" in command:
            raise CommandError(command, f"{command[0]}: unrecognized option '--json'")
        answer = getattr(self, f"_{command[0]}")(command)
        assert isinstance(answer, str)
        return answer

    def user(self) -> str:
        """Return who asks."""
        return self.me

    # ---- its commands
    def _squeue(self, command: Command) -> str:
        if "--json" in command:
            return json.dumps({"meta": {}, "errors": [], "jobs": [self._as_json(job) for job in self.jobs.values()]})
        number = int(command[command.index("-j") + 1])
        if number not in self.jobs:
            raise CommandError(command, "slurm_load_jobs error: Invalid job id specified")
        job = self.jobs[number]
        return f"{job.id}|{job.priority}|{job.nice}|{job.state}\n" if job.state != "COMPLETED" else ""

    def _as_json(self, job: Job) -> dict[str, Any]:
        def number(value: float | None) -> Any:
            if not self.newer:
                return value
            return {"set": value is not None, "infinite": False, "number": value or 0}

        word: Callable[[str], Any] = (lambda text: [text]) if self.newer else (lambda text: text)
        return {
            "job_id": job.id, "array_job_id": number(job.id if job.tasks else 0), "array_task_id": number(None),
            "array_task_string": job.tasks, "job_state": word(job.state), "state_reason": job.reason,
            "user_name": job.user, "account": job.account, "qos": job.qos, "partition": job.partition,
            "node_count": number(job.nodes), "cpus": number(job.nodes), "nodes": ",".join(job.hosts),
            "time_limit": number(job.minutes if math.isfinite(job.minutes) else None),
            "submit_time": number(job.submit), "eligible_time": number(max(job.submit, job.begin)),
            "start_time": number(job.start), "priority": number(job.priority),
            "nice": job.nice if self.newer else job.nice % 2**32 or None,  # of 32 bits without a sign
            "name": f"job{job.id}", "dependency": "", "features": job.features, "resv_name": "",
            "comment": job.comment, "federation_siblings_viable": job.siblings,
        }  # fmt: skip

    def _sinfo(self, command: Command) -> str:
        names = [f"n{k}" for k in range(1, self.nodes + 1)]
        if self.newer:
            rows = [
                {"nodes": {"nodes": [name]}, "node": {"state": self._states(name)}, "partition": {"name": part},
                 "cpus": {"minimum": 1}, "features": {"total": ""}}
                for name in names for part in self._parts(name)
            ]  # fmt: skip
            return json.dumps({"errors": [], "sinfo": rows})
        nodes = [
            {"name": name, "state": self._states(name)[0].lower(), "state_flags": self._states(name)[1:], "cpus": 1,
             "partitions": self._parts(name), "active_features": "fast" if name == "n1" else ""}
            for name in names
        ]  # fmt: skip
        return json.dumps({"errors": [], "nodes": nodes})

    def _states(self, name: str) -> list[str]:
        busy = name in self.busy or any(name in job.hosts for job in self.jobs.values())
        return ["ALLOCATED" if busy else "IDLE", *(["DRAIN"] if name in self.down else [])]

    def _all_partitions(self) -> dict[str, tuple[int, int]]:
        return self.partitions or {"p": (1, self.nodes)}

    def _parts(self, name: str) -> list[str]:
        number = int(name[1:])
        return [part for part, (first, last) in self._all_partitions().items() if first <= number <= last]

    def _sacctmgr(self, command: Command) -> str:
        if not self.keeps_accounts:
            raise CommandError(command, "You are not running a supported accounting_storage plugin")
        return f"{self.me}|{self.admins.get(self.me, 'None')}|{self.coordinators.get(self.me, '')}\n"

    def _scontrol(self, command: Command) -> str:
        if command[1] == "update":
            return self._update(command)
        what = command[-1]
        if what == "config":
            lines = [f"{name:<23} = {value or '(null)'}" for name, value in {**SETTINGS, **self.settings}.items()]
            return "\n".join([f"Configuration data as of {self.time:.0f}", *lines, ""])
        if what == "federation":
            rows = [f"Sibling:     {name}:127.0.0.1:1 ID:2 FedState:ACTIVE Features:\n  PersistConnSend/Recv:Yes/Yes "
                    f"Synced:{synced}" for name, synced in self.siblings.items()]  # fmt: skip
            own = "Federation: f\nSelf:        fake:127.0.0.1:2 ID:1 FedState:ACTIVE"
            return "\n".join([own, *rows] if rows else [])
        if what == "partition":
            return "\n".join(
                f"PartitionName={name} Default=YES Nodes=n[{first}-{last}] PriorityTier=1 State=UP"
                for name, (first, last) in self._all_partitions().items()
            )
        if what == "reservation":
            return "No reservations in the system"
        if what == "node":
            return "\n".join(
                f"NodeName=n{k} CPUTot=1 State={'+'.join(self._states(f'n{k}'))} ActiveFeatures=(null) "
                f"Partitions={','.join(self._parts(f'n{k}'))}" for k in range(1, self.nodes + 1)
            )  # fmt: skip
        assert what == "job"
        return "\n".join(map(_as_text, self.jobs.values())) or "No jobs in the system"

    def _update(self, command: Command) -> str:
        words = dict(word.split("=", 1) for word in command[2:])
        target = words.pop("JobId")
        number = int(target.partition("_")[0])
        if number not in self.jobs:
            raise CommandError(command, f"Invalid job id specified for job {target}")
        job = self.jobs[number]
        if job.state == "COMPLETED":
            raise CommandError(command, f"Job has already finished for job {target}")
        may = self.me in ("root", "slurm") or self.admins.get(self.me, "None") in ("Operator", "Administrator")
        own = self.me == job.user or job.account in self.coordinators.get(self.me, "").split(",")
        if not may and not own:
            raise CommandError(command, f"Invalid user id for job {target}")
        for name, value in words.items():
            if name == "Nice":
                if int(value) < 0 and not may:
                    raise CommandError(command, f"Access/permission denied for job {target}")
                job = job if job.by_hand else replace(job, nice=int(value))
            elif name == "Clusters":
                job = replace(job, siblings=value)
            else:
                assert name == "StartTime"
                begin = max(self.time, self._moment(value))  # Slurm takes no time that is over by its own clock
                job = replace(job, begin=begin, reason="BeginTime" if begin > self.time else "None")
        self.jobs[number] = job
        self.changed.append(command)
        return ""

    def _moment(self, text: str) -> float:
        """Return what a time means to the command that sends it: "now" is by the clock of its own machine."""
        if text.startswith("uts"):
            return float(text.removeprefix("uts"))
        return self.now() + float(text.removeprefix("now") or 0.0)


def _as_text(job: Job) -> str:
    limit = "UNLIMITED" if math.isinf(job.minutes) else f"{int(job.minutes) // 60:02}:{int(job.minutes) % 60:02}:00"
    array = f"ArrayJobId={job.id} ArrayTaskId={job.tasks} " if job.tasks else ""
    return (
        f"JobId={job.id} {array}JobName=job{job.id} UserId={job.user}(1) Priority={job.priority} Nice={job.nice} "
        f"Account={job.account} QOS={job.qos} JobState={job.state} Reason={job.reason} Dependency=(null) "
        f"TimeLimit={limit} SubmitTime={job.submit:.0f} EligibleTime={max(job.submit, job.begin):.0f} "
        f"StartTime={job.start:.0f} Partition={job.partition} NodeList={','.join(job.hosts) or '(null)'} "
        f"NumNodes={job.nodes}-{job.nodes} NumCPUs={job.nodes} Features={job.features or '(null)'} "
        f"FedViableSiblings={job.siblings or '(null)'} Comment={job.comment}"
    )


@dataclass
class FakeFederation:
    """Some fakes, the first one of which is asked; who is revoked on one has no number there any more."""

    clusters: dict[str, FakeSlurm]
    changed: list[Command] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, one in self.clusters.items():
            one.settings = {**one.settings, "ClusterName": name}
            one.siblings = {other: "Yes" for other in self.clusters if other != name}

    @property
    def first(self) -> FakeSlurm:
        """Return the one that is asked."""
        return next(iter(self.clusters.values()))

    def now(self) -> float:
        """Return this machine's time."""
        return self.first.now()

    def user(self) -> str:
        """Return who asks."""
        return self.first.me

    def run(self, command: Command) -> str:
        """Answer a command; what changes a job reaches all clusters on which it may start."""
        program, *words = command
        there = self.first
        if words[0] == "-M":
            there, words = self.clusters[words[1]], words[2:]
        if program != "scontrol" or words[0] != "update":
            return there.run((program, *words))
        self.changed.append(command)
        number = int(words[1].partition("=")[2].partition("_")[0])
        for name, one in self.clusters.items():
            if number not in one.jobs:
                continue
            one.run((program, *words))
            job = one.jobs[number]
            viable = name in job.siblings.split(",")
            one.jobs[number] = replace(job, state="PENDING" if viable else "REVOKED")
        return ""


def running(number: int, hosts: str, *, minutes: float = 30.0, since: float = 300.0, **others: Any) -> Job:
    """Return a job that runs on these nodes: "1-3" or "2"."""
    first, _, last = hosts.partition("-")
    names = tuple(f"n{k}" for k in range(int(first), int(last or first) + 1))
    began = NOW - since
    return Job(
        number, nodes=len(names), hosts=names, minutes=minutes, start=began, state="RUNNING", reason="None", **others
    )


def is_update(command: Command) -> bool:
    """Return whether a command changes something."""
    return bool(re.match("scontrol update", " ".join(command)))
