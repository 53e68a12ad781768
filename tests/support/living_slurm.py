"""A Slurm in the memory whose clock goes: jobs come, start by priority as Slurm starts them, and end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from support.fake_slurm import NOW, FakeSlurm, Job

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slurm.script import Submit

    from fedsched.site.steer import Watch
    from fedsched.site.steer.commands import Command

PASS = 15.0  # seconds between two passes of backfilling
HIGHEST = 4_000_000  # the first job's priority under priority/basic
AGE, SIZE, PARTITION, LONGEST = 1000.0, 1000.0, 100_000.0, 7 * 86_400.0  # what factors weigh


class Began(NamedTuple):
    """When a job was submitted, and when it began, in seconds since the day did."""

    submit: float
    start: float
    nodes: int


@dataclass
class LivingSlurm(FakeSlurm):
    """What it is asked takes it `delay` seconds each, in which it schedules on."""

    script: list[Submit] = field(default_factory=list)
    delay: float = 0.0
    factors: bool = False
    began: dict[str, Began] = field(default_factory=dict)
    runs: dict[int, float] = field(default_factory=dict)  # for how long jobs run, by number
    keys: dict[int, str] = field(default_factory=dict)
    ended: dict[int, Job] = field(default_factory=dict)  # which squeue tells of on
    _next_pass: float = NOW

    @classmethod
    def playing(cls, script: Sequence[Submit], nodes: int, *, factors: bool, delay: float = 0.0) -> LivingSlurm:
        """Return one on which such jobs are submitted, in turn."""
        kind = "priority/multifactor" if factors else "priority/basic"
        short = {"p": (1, nodes), "short": (nodes // 2 + 1, nodes)}
        partitions = short if any(one.partition for one in script) else {}
        return cls(
            {}, nodes=nodes, settings={"PriorityType": kind}, partitions=partitions, factors=factors, delay=delay,
            script=sorted(script, key=lambda one: one.at),
        )  # fmt: skip

    def run(self, command: Command) -> str:
        """Answer a command after a while."""
        if self.delay:
            self.go_to(self.time + self.delay)
        self._weigh()
        return super().run(command)

    def _squeue(self, command: Command) -> str:
        there = self.jobs
        self.jobs = {**self.ended, **there}
        try:
            return super()._squeue(command)
        finally:
            self.jobs = there

    @property
    def is_over(self) -> bool:
        """Return whether all jobs have come and begun."""
        return not self.script and all(job.start for job in self.jobs.values())

    def go_to(self, until: float) -> None:
        """Let time pass."""
        while (then := min(self._moments())) <= until:
            self.time = max(self.time, then)
            self._end()
            self._submit()
            self._main_pass()
            if self.time >= self._next_pass:
                self._backfill()
                self._next_pass = self.time + PASS
        self.time = until

    def _moments(self) -> Iterator[float]:
        yield self._next_pass
        if self.script:
            yield NOW + self.script[0].at
        yield from (job.start + self.runs[job.id] for job in self.jobs.values() if job.start)

    def _end(self) -> None:
        for job in list(self.jobs.values()):
            if job.start and job.start + self.runs[job.id] <= self.time:
                self.ended[job.id] = replace(self.jobs.pop(job.id), state="COMPLETED")

    def _submit(self) -> None:
        while self.script and NOW + self.script[0].at <= self.time:
            one = self.script.pop(0)
            number = len(self.keys) + 1
            self.keys[number], self.runs[number] = one.key, float(one.runs)
            self.jobs[number] = Job(
                number, nodes=one.nodes, minutes=float(one.minutes), submit=self.time, partition=one.partition or "p"
            )
            self._weigh()

    def _weigh(self) -> None:
        for job in self.jobs.values():
            base = HIGHEST - job.id
            if self.factors:
                age = min(1.0, (self.time - job.submit) / LONGEST)
                base = int(PARTITION + SIZE * job.nodes / self.nodes + AGE * age)
            if base != job.base:
                self.jobs[job.id] = replace(job, base=base)

    def _queue(self) -> list[Job]:
        self._weigh()
        there = [job for job in self.jobs.values() if not job.start and job.begin <= self.time]
        return sorted(there, key=lambda job: (-job.priority, job.submit, job.id))

    def _nodes_of(self, job: Job) -> set[int]:
        first, last = self._all_partitions()[job.partition]
        return set(range(first, last + 1))

    def _free(self) -> set[int]:
        taken = {int(host[1:]) for job in self.jobs.values() for host in job.hosts}
        return set(range(1, self.nodes + 1)) - taken

    def _start(self, job: Job, on: set[int]) -> None:
        hosts = tuple(f"n{k}" for k in sorted(on)[: job.nodes])
        self.jobs[job.id] = replace(job, start=self.time, hosts=hosts, state="RUNNING", reason="None")
        self.began[self.keys[job.id]] = Began(job.submit - NOW, self.time - NOW, job.nodes)

    def _main_pass(self) -> None:
        """Start jobs in turn; in each partition nobody behind the first that finds no nodes."""
        closed = set()
        for job in self._queue():
            there = self._free() & self._nodes_of(job)
            if job.partition in closed or len(there) < job.nodes:
                closed.add(job.partition)
            else:
                self._start(job, there)

    def _backfill(self) -> None:
        """Give each its nodes in turn as early as there are, by limits, and start who has them now."""
        taken = [
            (job.start, max(job.start + 60.0 * job.minutes, self.time + 1.0), {int(host[1:]) for host in job.hosts})
            for job in self.jobs.values() if job.start
        ]  # fmt: skip
        for job in self._queue():
            long = 60.0 * job.minutes
            for begin in sorted({self.time, *(end for _, end, _ in taken if end > self.time)}):
                there = self._nodes_of(job)
                for since, until, nodes in taken:
                    if since < begin + long and until > begin:
                        there = there - nodes
                if len(there) >= job.nodes:
                    on = set(sorted(there)[: job.nodes])
                    taken.append((begin, begin + long, on))
                    if begin == self.time:
                        self._start(job, on)
                    break


class Day(NamedTuple):
    """What became of a day: begins by the jobs' keys, first promises and what they have moved to, since it began."""

    began: dict[str, Began]
    promised: dict[str, float]
    until: dict[str, float]

    @property
    def wait(self) -> float:
        """Return the mean wait."""
        return sum(one.start - one.submit for one in self.began.values()) / len(self.began)

    def late(self, *, first: bool = False) -> dict[str, float]:
        """Return by how many seconds jobs began after what they were promised at last, or at first."""
        until = self.promised if first else self.until
        return {key: by for key, when in until.items() if (by := self.began[key].start - when) > 1.0}


def played(slurm: LivingSlurm, watch: Watch | None, interval: float) -> Day:
    """Play it to the end beside a watch, or alone."""
    promised: dict[int, float] = {}
    until: dict[int, float] = {}
    while not slurm.is_over:
        slurm.go_to(slurm.time + interval)
        if watch is not None:
            watch.look()
            promised = watch.undo.deadlines | promised
            until |= watch.undo.deadlines
    keys = slurm.keys
    return Day(
        slurm.began, *({keys[number]: when - NOW for number, when in one.items()} for one in (promised, until))
    )
