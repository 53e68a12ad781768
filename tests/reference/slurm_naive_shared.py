"""Slurm's two schedulers on nodes that jobs share, by what each of them holds where: slow, plain, independent [75]."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reference.slurm_naive import Play

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reference.slurm_naive_site import Job


@dataclass
class Ask:
    """What a task takes, how many of them stand together, and whether nobody else may be there.

    Who names how many nodes has as many tasks on each. Memory that is asked of a node says of no other cores there that
    they are of no use.
    """

    cores: int
    memory: int
    together: int = 0
    alone: bool = False
    by_node: bool = False
    names: bool = False  # for how many nodes it asks
    gpus: int = 0


@dataclass
class SharedPlay(Play):
    has: list[tuple[int, int]] = field(default_factory=list)  # the cores and the memory of each node
    gpus: list[int] = field(default_factory=list)  # of each node, where any has one
    noted: dict[int, int] = field(default_factory=dict)  # of some nodes, what the last look for GPUs left behind
    asks: dict[int, Ask] = field(default_factory=dict)
    holds: dict[int, dict[int, int]] = field(default_factory=dict)  # of each job that has started, node: tasks
    found: dict[int, int] = field(default_factory=dict)  # of the last choice
    most: dict[int, int] = field(default_factory=dict)  # nodes that the jobs of some users may be on at a time
    held: dict[int, list[dict[int, int]]] = field(default_factory=dict)  # by each job in the runs that it has lost

    def size_of(self, job: Job) -> float:
        return (job.least / self.site.nodes + job.cpus / sum(cores for cores, _ in self.has)) / 2

    def idle(self, nodes: set[int]) -> set[int]:
        return nodes - self.completing

    def left(self, nodes: set[int], over: list[Job]) -> set[int]:
        return nodes

    @property
    def of_whole_nodes(self) -> bool:
        return False

    def fits(self, nodes: set[int], job: Job, over: Sequence[Job] = ()) -> bool:
        ask = self.asks[id(job)]
        room = [self.room(node, job, over) for node in nodes]
        return sum(ask.together * (fit >= ask.together) if ask.together else fit for fit in room) >= job.tasks

    def may_fit(self, nodes: set[int], job: Job) -> bool:
        return bool(nodes)

    def room(self, node: int, job: Job, over: Iterable[Job]) -> int:
        """Return how many tasks of a job fit on a node, these others being over."""
        ask, (cores, memory, gpus) = self.asks[id(job)], self._left_on(node, job, over)
        most = min(cores // ask.cores, memory // ask.memory if ask.memory else cores)
        return min(most, gpus // ask.gpus) if ask.gpus else most

    def cores(self, node: int, job: Job, over: Iterable[Job]) -> int:
        """Return how many cores count there for the job, once its tasks fit."""
        ask = self.asks[id(job)]
        return self._left_on(node, job, over)[0] if ask.by_node else self.room(node, job, over) * ask.cores

    def _left_on(self, node: int, job: Job, over: Iterable[Job]) -> tuple[int, int, int]:
        gone = {id(one) for one in over}
        there = [one for one in self.running() if id(one) not in gone and node in self.holds[id(one)]]
        (cores, memory), gpus = self.has[node], self.gpus[node] if self.gpus else 0
        if any(self.asks[id(one)].alone for one in there) or (self.asks[id(job)].alone and there):
            return 0, 0, 0
        for one in there:
            cores -= self.holds[id(one)][node] * self.asks[id(one)].cores
            memory -= self.holds[id(one)][node] * self.asks[id(one)].memory
            gpus -= self.holds[id(one)][node] * self.asks[id(one)].gpus
        return cores, memory, gpus

    def within_limits(self, job: Job, nodes: set[int]) -> bool:
        for user, most in self.most.items():
            there = {n for one in self.running() if one.user == user for n in self.holds[id(one)]}
            if job.user == user and len(there | nodes) > most:
                return False
        return True

    def loses(self, job: Job) -> None:
        self.held.setdefault(id(job), []).append(self.holds[id(job)])

    def looks_for(self, job: Job, free: set[int]) -> None:
        for node in job.may & self.site.partitions[job.partition]:
            self.noted.pop(node, None)
        self.looks_ahead(job, free, ())

    def finds_none(self, job: Job) -> None:
        self.looks_ahead(job, set(job.may & self.site.partitions[job.partition]), self.running())

    def looks_ahead(self, job: Job, nodes: set[int], over: Sequence[Job]) -> None:
        ask = self.asks[id(job)]
        for node in nodes:
            cores, _, gpus = self._left_on(node, job, over)
            if ask.gpus and min(cores // ask.cores, gpus // ask.gpus) >= max(ask.together, 1):
                self.noted[node] = ask.gpus * max(ask.together, 1)

    def chosen(self, nodes: set[int], job: Job, over: Sequence[Job] = ()) -> set[int]:
        return self._chosen(nodes, job, over, [(weight, 0) for weight in self.site.weights])

    def chosen_ahead(self, nodes: set[int], job: Job, over: Sequence[Job]) -> set[int]:
        weights = [(weight, -self.noted.get(node, 0)) for node, weight in enumerate(self.site.weights)]
        return self._chosen(nodes, job, over, weights)

    def _chosen(self, nodes: set[int], job: Job, over: Sequence[Job], weights: list[tuple[int, int]]) -> set[int]:
        ask, left = self.asks[id(job)], job.tasks
        self.found = {}
        for weight in sorted({weights[node] for node in nodes}):
            fit = {n: self.room(n, job, over) for n in nodes if weights[n] == weight}
            fit = {n: most for n, most in fit.items() if most >= max(ask.together, 1)}
            cores = {n: self.cores(n, job, over) for n in fit}
            room = sum(min(most, ask.together or most) for most in fit.values())
            self.found |= self._in_blocks(fit, cores, min(left, room), ask)
            left -= min(left, room)
        return set(self.found)

    def chosen_at_last(self, avail: set[int], job: Job, chosen: set[int]) -> set[int]:
        self.looks_for(job, self.idle(avail))
        return self.chosen(self.idle(avail), job)

    def _in_blocks(self, fit: dict[int, int], cores: dict[int, int], tasks: int, ask: Ask) -> dict[int, int]:
        found: dict[int, int] = {}
        while tasks:
            blocks: list[list[int]] = []
            for n in sorted(set(fit) - set(found)):
                if blocks and blocks[-1][-1] == n - 1:
                    blocks[-1].append(n)
                else:
                    blocks.append([n])
            each, best = ask.together or tasks, (False, 0)
            block: list[int] = []
            for other in blocks:
                size = sum(cores[n] for n in other)
                holds = size >= tasks * ask.cores and len(other) * each >= tasks
                if (holds and not best[0]) or (size < best[1] if holds else size > best[1]):
                    block, best = other, (holds, size)
            one = [n for n in block if min(fit[n], each) >= tasks]
            for n in [min(one, key=lambda n: (cores[n], n))] if one else block:
                if tasks:
                    found[n] = min(fit[n], each, tasks)
                    tasks -= found[n]
        return found

    def begin(self, job: Job, now: int, nodes: set[int], by: str) -> None:
        super().begin(job, now, nodes, by)
        self.holds[id(job)] = dict(self.found)
