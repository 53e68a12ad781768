"""What became of a scripted day on a real Slurm, kept in two small files: the jobs, and how they were recorded."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SELDOM = ("partitions", "each", "accounts", "epoch", "tick")
# Columns that only some days have.
GROUPS = (("reservation", "user"), ("partition", "account", "qos", "features"), ("cores", "memory"), ("gpus",))


@dataclass(frozen=True)
class Job:
    """A job, or a task of an array, as Slurm tells of it; times in seconds since the day began."""

    key: str
    job: int  # Slurm's number of it, of a task that of its array
    task: int | None
    name: str
    nodes: int
    limit: float
    submit: float
    begin: float | None  # the earliest start that was asked for
    after: str
    at_once: int | None  # how many tasks of its array may run at once
    eligible: float | None
    start: float | None
    end: float | None
    state: str
    reason: str
    waits_for: str  # what is left of its conditions
    started_by: str
    on: str
    reservation: str = ""
    user: str = ""
    partition: str = ""
    account: str = ""
    qos: str = ""
    features: str = ""
    cores: int | None = None
    memory: int | None = None
    gpus: int | None = None

    @property
    def called(self) -> str:
        """Return its key, of a task with its number."""
        return self.key if self.task is None else f"{self.key}_{self.task}"


@dataclass(frozen=True)
class Maintenance:
    """Nodes that were reserved, and since when that was known; for whom, where that was not for maintenance."""

    key: str
    known_from: float
    begin: float
    end: float
    on: str
    user: str = ""


@dataclass(frozen=True)
class Recording:
    """A day's jobs, and what decisions depended on beside them; the last of it where it is not as usual."""

    command: str
    version: str
    nodes: int
    factor: float
    settings: str
    slowest_command: float  # seconds of Slurm's clock: what happened within less cannot be told apart
    maintenance: tuple[Maintenance, ...]
    jobs: tuple[Job, ...]
    partitions: str = ""  # the lines of slurm.conf
    each: tuple[str, ...] = ()  # what each node has
    accounts: tuple[str, ...] = ()  # the commands of sacctmgr
    epoch: int = 0  # of the day's begin
    tick: int | None = None  # a moment at which priorities were computed anew

    def write(self, stem: Path) -> None:
        """Write both files."""
        said = asdict(self)
        del said["jobs"]
        said["maintenance"] = [{k: v for k, v in one.items() if k != "user" or v} for one in said["maintenance"]]
        said["settings"] = self.settings.split("\n")
        said = {name: value for name, value in said.items() if name not in SELDOM or value not in (None, "", 0, ())}
        stem.with_suffix(".json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
        with stem.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
            said_of = {name for group in GROUPS if any(getattr(job, name) for job in self.jobs for name in group)
                       for name in group}  # fmt: skip
            left_out = {name for group in GROUPS for name in group} - said_of
            names = [field.name for field in fields(Job) if field.name not in left_out]
            table = csv.DictWriter(file, names, lineterminator="\n", extrasaction="ignore")
            table.writeheader()
            table.writerows({name: _cell(value) for name, value in asdict(job).items()} for job in self.jobs)

    @classmethod
    def read(cls, stem: Path) -> Recording:
        """Read both files."""
        said = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
        said["settings"] = "\n".join(said["settings"])
        said["maintenance"] = tuple(Maintenance(**one) for one in said["maintenance"])
        said |= {name: tuple(said[name]) for name in ("each", "accounts") if name in said}
        with stem.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
            return cls(**said, jobs=tuple(_job(row) for row in csv.DictReader(file)))


def _cell(value: object) -> object:
    return int(value) if isinstance(value, float) and value == int(value) else value


def _job(row: dict[str, str]) -> Job:
    said: dict[str, object] = {}
    for field in fields(Job):
        text, kind = row.get(field.name, ""), str(field.type)  # older files know no reservations
        number = float if "float" in kind else int
        said[field.name] = text if kind == "str" else number(text) if text else None
    return Job(**said)  # type: ignore[arg-type]
