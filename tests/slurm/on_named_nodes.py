"""Conservative backfilling on nodes that have names, as Slurm plans it, in place of our counts of nodes.

Not Slurm, and no prediction: only as much of it as tells whether a start differs for this. Who is passed over for
maintenance, or falls behind in the list, was found in the days "maintenance" and "array"; on others it holds less well.
Nodes are those of select/linear: the smallest block of neighbours that is enough, else the largest blocks first. A
plan holds the nodes that were chosen first, where our rules keep as many as are needed, whichever they are.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slurm.script import MINUTE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurm.recording import Recording

NEVER = math.inf


@dataclass(frozen=True)
class Held:
    """Nodes that are not to be had for a time."""

    nodes: frozenset[int]
    begin: float
    end: float


@dataclass
class Machine:
    """A machine in the course of a day: who has started and ended, and on which nodes who runs."""

    recording: Recording
    scheduler: str  # "builtin": the main scheduler; "backfill": backfilling beside it; "alone": without it
    start: dict[int, float] = field(default_factory=dict)
    end: dict[int, float] = field(default_factory=dict)
    on: dict[int, frozenset[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.all = frozenset(range(1, self.recording.nodes + 1))
        self.works = [Held(numbered(one.on), one.begin, one.end) for one in self.recording.maintenance]
        self.known = [one.known_from for one in self.recording.maintenance]

    def eligible(self, row: int) -> float:
        """Return from when on a job may start, infinite while that is not known."""
        job = self.recording.jobs[row]
        moments = [job.submit, job.begin or 0.0]
        for condition in filter(None, job.after.split(",")):
            kind, *others = condition.split(":")
            if kind == "singleton":
                alike = [k for k in range(row) if self.recording.jobs[k].name == job.name]
                moments += [self.end.get(k, NEVER) for k in alike]
            for other in others:
                number, _, lag = other.partition("+")
                moments += [self._holds(k, kind) + MINUTE * float(lag or 0) for k in self._rows(int(number))]
        return max(moments)

    def _rows(self, number: int) -> list[int]:
        return [k for k, job in enumerate(self.recording.jobs) if job.job == number]

    def _holds(self, row: int, kind: str) -> float:
        well = self.recording.jobs[row].state == "COMPLETED"
        if (kind == "afterok" and not well) or (kind == "afternotok" and well):
            return NEVER
        return (self.start if kind == "after" else self.end).get(row, NEVER)

    def running(self, now: float) -> list[int]:
        """Return who runs."""
        return [row for row in self.start if self.start[row] <= now < self.end[row]]

    def at_its_limit(self, row: int, now: float) -> bool:
        """Return whether so many tasks of a job's array run that it may not start, and holds up nobody."""
        job = self.recording.jobs[row]
        alike = sum(self.recording.jobs[k].job == job.job for k in self.running(now))
        return job.at_once is not None and alike >= job.at_once

    def known_works(self, now: float) -> list[Held]:
        """Return the maintenance that is known of and not over."""
        return [work for work, since in zip(self.works, self.known, strict=True) if since <= now < work.end]

    def begin(self, row: int, now: float, nodes: frozenset[int]) -> None:
        """Start a job."""
        job = self.recording.jobs[row]
        runs = job.end - job.start if job.start is not None and job.end is not None else job.limit
        self.start[row], self.end[row], self.on[row] = now, now + max(runs, 1.0), nodes

    def go_on(self, now: float) -> None:
        """Do what the schedulers do at a moment: those who can start in their order, then backfilling by a plan."""
        waiting = [k for k, _ in enumerate(self.recording.jobs) if k not in self.start and self.eligible(k) <= now]
        if self.scheduler == "builtin":
            waiting.sort(key=self._in_the_list_since)
        for row in waiting if self.scheduler != "alone" else ():
            if self.at_its_limit(row, now):
                continue
            if self._room(row, now, self.known_works(now)) is None:
                continue  # maintenance leaves it too few nodes, be they free or not: so it holds up nobody in this pass
            nodes = self._room(row, now, self._held(now, planned=False))
            if nodes is None:
                break
            self.begin(row, now, nodes)
        held = self._held(now, planned=True)
        for row in waiting if self.scheduler != "builtin" else ():
            if row in self.start or self.at_its_limit(row, now):
                continue
            for moment in sorted({now, *(one.end for one in held if one.end > now)}):
                nodes = self._room(row, moment, held)
                if nodes is not None:
                    if moment == now:
                        self.begin(row, now, nodes)
                    held.append(Held(nodes, moment, moment + self.recording.jobs[row].limit))
                    break

    def _in_the_list_since(self, row: int) -> float:
        """Return when a job's record came into Slurm's list.

        As a task starts, what is left of its array becomes a new record. Without backfill jobs go by that list: so who
        waits at the limit falls behind all that was submitted since.
        """
        job = self.recording.jobs[row]
        return max([job.submit, *(self.start[k] for k in self._rows(job.job) if k in self.start)])

    def _held(self, now: float, *, planned: bool) -> list[Held]:
        running = [
            Held(self.on[k], now, max(now + 1.0, self.start[k] + self.recording.jobs[k].limit) if planned else NEVER)
            for k in self.running(now)
        ]
        return running + self.known_works(now)

    def _room(self, row: int, moment: float, held: list[Held]) -> frozenset[int] | None:
        job = self.recording.jobs[row]
        gone = (one.nodes for one in held if one.begin < moment + job.limit and moment < one.end)
        return neighbours(self.all.difference(*gone), job.nodes)


def neighbours(free: Iterable[int], wanted: int) -> frozenset[int] | None:
    """Return the smallest block of neighbours that is enough, else the largest blocks first; None: too few are free."""
    blocks: list[list[int]] = []
    for node in sorted(free):
        if blocks and blocks[-1][-1] == node - 1:
            blocks[-1].append(node)
        else:
            blocks.append([node])
    enough = [block for block in blocks if len(block) >= wanted]
    ordered = [min(enough, key=len)] if enough else sorted(blocks, key=len, reverse=True)
    chosen = [node for block in ordered for node in block]
    return frozenset(chosen[:wanted]) if len(chosen) >= wanted else None


def numbered(on: str) -> frozenset[int]:
    """Return the numbers in "n[1-3,5]"."""
    found: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", on):
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def starts_on_named_nodes(recording: Recording, scheduler: str) -> tuple[dict[int, float], dict[int, float]]:
    """Return the starts and ends of the recorded jobs, by their rows."""
    machine = Machine(recording, scheduler)
    moments = {moment for job in recording.jobs for moment in (job.submit, job.begin or 0.0)}
    moments |= {moment for work in machine.works for moment in (work.begin, work.end)} | set(machine.known)
    now = -1.0
    while True:
        eligible = (machine.eligible(k) for k, _ in enumerate(recording.jobs) if k not in machine.start)
        coming = {*moments, *machine.end.values(), *eligible}
        now = min((moment for moment in coming if now < moment < NEVER), default=NEVER)
        if now == NEVER:
            return machine.start, machine.end
        before = -1
        while before != len(machine.start):  # a start may make others eligible at once
            before = len(machine.start)
            machine.go_on(now)
