"""What is done to a Slurm on a scripted day, and when: jobs submitted and cancelled, nodes reserved for maintenance."""

from __future__ import annotations

from dataclasses import dataclass

MINUTE = 60.0


@dataclass(frozen=True)
class Submit:
    """A job; others call it by its key, `after` with the keys in braces: "afterok:{prepare}+2"."""

    key: str
    at: float  # seconds since the day began
    nodes: int
    minutes: int  # its time limit; 0: it asks for none
    runs: float  # seconds, which a start and an end on a busy machine make a little longer
    after: str = ""
    begin: float | None = None  # not before so many seconds after the submit
    name: str = ""
    fails: bool = False
    array: str = ""  # "0-9%2": ten tasks, two at a time
    reservation: str = ""
    user: str = ""  # whose it is, if it is not the one's who plays the day
    partition: str = ""  # if it is not the usual one
    account: str = ""
    qos: str = ""
    features: str = ""  # that its nodes must have
    cores: int = 0  # of its only node, where nodes are shared
    memory: int = 0  # MB of it
    gpus: int = 0  # of each of its nodes

    def command(self, numbers: dict[str, str]) -> list[str]:
        """Return how it is submitted, where Slurm calls the jobs before it by these numbers."""
        words = ["sbatch", "--parsable", "--output=/dev/null", f"--job-name={self.name or self.key}"]
        words.append(f"--nodes={self.nodes}")
        if self.cores:
            words += ["--ntasks=1", f"--cpus-per-task={self.cores}", f"--mem={self.memory}"]
        if self.gpus:
            words.append(f"--gres=gpu:{self.gpus}")
        if self.minutes:
            words.append(f"--time={self.minutes}")
        if self.after:
            words.append(f"--dependency={self.after.format(**numbers)}")
        if self.begin is not None:
            words.append(f"--begin=now+{self.begin:.0f}seconds")
        if self.array:
            words.append(f"--array={self.array}")
        if self.reservation:
            words.append(f"--reservation={self.reservation}")
        told = {name: getattr(self, name) for name in ("partition", "account", "qos")} | {"constraint": self.features}
        words += [f"--{name}={text}" for name, text in told.items() if text]
        if self.user:
            words += [f"--uid={self.user}", "--chdir=/"]
        return [*words, f"--wrap=sleep {self.runs:g}{'; exit 1' if self.fails else ''}"]


@dataclass(frozen=True)
class Cancel:
    """That a job is cancelled, be it waiting or running."""

    key: str
    at: float

    def command(self, numbers: dict[str, str]) -> list[str]:
        """Return how that is said."""
        return ["scancel", numbers[self.key]]


@dataclass(frozen=True)
class Reserve:
    """That nodes are reserved, for maintenance or for a user, from `begin` seconds after the day's begin on."""

    key: str
    at: float
    begin: float
    minutes: int
    nodes: str = "ALL"
    user: str = ""

    def command(self, numbers: dict[str, str]) -> list[str]:
        """Return how that is said."""
        begin = f"StartTime=now+{self.begin - self.at:.0f}seconds"
        words = ["scontrol", "create", "reservation", f"ReservationName={self.key}", begin, f"Duration={self.minutes}"]
        flags = "IGNORE_JOBS" if self.user else "MAINT,IGNORE_JOBS"
        return [*words, f"Nodes={self.nodes}", f"Users={self.user or 'root'}", f"Flags={flags}"]


@dataclass(frozen=True)
class Day:
    """A script for a machine of so many nodes."""

    nodes: int
    events: tuple[Submit | Cancel | Reserve, ...]
