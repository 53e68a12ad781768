"""Recorded days as folders that `fedsched twin dump` could have written, in sacct's and scontrol's words."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from slurm import logs
from slurm.accounts_dumped import tables
from slurm.played_logs import PERIOD
from slurm.recording import Recording
from slurm.watched_days import DAYS
from slurm.watched_days import RECORDED as WATCHED

from fedsched.site.twin import commands

HERE = Path(__file__).parent / "recorded"
SHARED = Path(__file__).parents[3] / "shared" / "slurm" / "recorded"
KTH = HERE / "kth"  # the one of them that has accounts
EPOCH = 1_800_000_000
CLUSTER = "referee"
COLUMNS = (
    "JobIDRaw|JobID|Cluster|Partition|User|Account|QOS|JobName|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|"
    "AllocCPUS|ReqCPUS|NNodes|Priority|Reason|Flags|NodeList|SubmitLine"
)


class Run(NamedTuple):
    """A job of a recorded day; seconds since that began."""

    job: int
    user: str
    account: str
    partition: str
    qos: str
    nodes: int
    limit: float
    submit: float
    start: float
    end: float
    priority: int
    on: str
    by: str = ""  # which scheduler started it: Main, Backfill


@dataclass(frozen=True)
class Recorded:
    """A recorded day, of whatever kind its files are."""

    nodes: int
    settings: str
    partitions: str
    runs: tuple[Run, ...]
    accounts: str = ""  # a script of sacctmgr's commands
    epoch: int = EPOCH  # second 0 since 1970: Slurm's passes round by such seconds
    booted: float | None = None  # when slurmctld came up, and its clock that ages usage began

    def write(self, folder: Path) -> Path:
        """Write the dump into a new folder, taken when the last job has ended; return that."""
        folder.mkdir()
        taken = self._clock(max(run.end for run in self.runs) + 1.0)
        config = [f"Configuration data as of {taken}", f"ClusterName = {CLUSTER}"]
        if self.booted is not None:
            config.append(f"BOOT_TIME = {self._clock(self.booted)}")
        config += [line.replace("=", " = ", 1) for line in self.settings.splitlines() if "=" in line]
        nodes = [f"NodeName=n{k} CPUTot=1 RealMemory=1000 State=IDLE Partitions={','.join(self._names())}"
                 for k in range(1, self.nodes + 1)]  # fmt: skip
        texts = {
            commands.MANIFEST: f"fedsched dump 1\nsince {self._clock(-1.0)}",
            commands.CONFIG: "\n".join(config),
            commands.NODES: "\n".join(nodes),
            commands.PARTITIONS: self.partitions.replace("=ALL", f"=n[1-{self.nodes}]"),
            commands.JOBS: "\n".join([COLUMNS, *map(self._line, self.runs)]),
        }
        if self.accounts:
            texts[commands.ACCOUNTS], texts[commands.QOS] = tables(self.accounts, CLUSTER)
        for name, text in texts.items():
            (folder / name).write_text(text + "\n", encoding="utf-8")
        return folder

    def _names(self) -> list[str]:
        return re.findall(r"PartitionName=(\w+)", self.partitions)

    def _clock(self, seconds: float) -> str:
        return str(np.datetime64(int(self.epoch + seconds), "s"))

    def _line(self, run: Run) -> str:
        submit, start, end = self._clock(run.submit), self._clock(run.start), self._clock(run.end)
        cells = (run.job, run.job, CLUSTER, run.partition, run.user, run.account, run.qos, "job", submit, submit, start,
                 end, int(run.end) - int(run.start), max(1, round(run.limit / 60)), "COMPLETED", *[run.nodes] * 3,
                 run.priority, "None", f"Sched{run.by}" if run.by else "", run.on, "sbatch job")  # fmt: skip
        return "|".join(map(str, cells))


def names() -> list[str]:
    """Return what can be written: of the shared recordings those that are at hand, one of them always."""
    shared = sorted({path.stem for folder in (KTH, SHARED) for path in folder.glob("*.csv")})
    return [*shared, *(f"log {name}" for name in logs.LOGS), *(f"day {name}" for name in DAYS)]


def recorded(name: str) -> Recorded:
    """Return a recorded day by its name."""
    kind, _, which = name.partition(" ")
    if kind == "log":
        return _of_log(which)
    return _of_day(which) if kind == "day" else _of_shared(name)


def _of_shared(name: str) -> Recorded:
    folder = KTH if (KTH / f"{name}.csv").is_file() else SHARED
    text = (folder / f"{name}.conf").read_text(encoding="utf-8")
    lines = text.splitlines()
    weighed = any(line.startswith("PriorityType=priority/multifactor") for line in lines)
    runs = tuple(
        Run(int(row["job"]), f"u{row['user']}", f"u{row['user']}" if weighed else "", "p", "", int(row["tasks"]),
            float(row["limit"]), float(row["submit"]), float(row["start"]), float(row["end"]), int(row["priority"]),
            row["nodes"].replace(";", ","))
        for row in _rows(folder / f"{name}.csv")
    )  # fmt: skip
    accounts = sorted({run.account for run in runs} - {""})
    there = [line for line in lines if line.startswith("PartitionName=")]
    settings = [line for line in lines if not line.startswith(("PartitionName=", "NodeName="))]
    clock = json.loads((folder / f"{name}.clock.json").read_text(encoding="utf-8"))
    script = [f"add account {name}\nadd user {name} account={name}" for name in accounts]
    return Recorded(100, "\n".join(settings), "\n".join(there), runs, "\n".join(script),
                    clock["epoch"], clock.get("decay_thread_started"))  # fmt: skip


def _of_log(name: str) -> Recorded:
    log = logs.LOGS[name]
    runs = tuple(
        Run(int(row["job"]), row["user"] or "root", row["account"], row["partition"] or "p", row["qos"],
            int(row["nodes"]), float(row["limit"]), float(row["submit"]), float(row["start"]), float(row["end"]),
            int(row["priority"]), row["on"], row["by"])
        for row in _rows(HERE / "logs" / f"{name}.csv")
    )  # fmt: skip
    said = json.loads((HERE / "logs" / f"{name}.json").read_text(encoding="utf-8"))
    booted = None if said["tick"] is None else said["tick"] % PERIOD - PERIOD
    return Recorded(logs.NODES, log.settings, log.partitions, runs, log.accounts, said["epoch"], booted)


def _of_day(name: str) -> Recorded:
    recording = Recording.read(WATCHED / f"{name}-alone")
    asked = {one.key: one.partition for one in DAYS[name].day.events}
    settings = [line for line in recording.settings.splitlines() if not line.startswith("PartitionName=")]
    there = [f"PartitionName=main Nodes=n[1-{recording.nodes}] Default=YES MaxTime=INFINITE State=UP"]
    there += [line for line in recording.settings.splitlines() if line.startswith("PartitionName=")]
    runs = tuple(
        Run(job.job, "root", "", asked[job.key] or "main", "", job.nodes, job.limit, job.submit, job.start, job.end,
            0, job.on, job.started_by)
        for job in recording.jobs
        if job.start is not None and job.end is not None
    )  # fmt: skip
    return Recorded(recording.nodes, "\n".join(settings), "\n".join(there), runs)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
