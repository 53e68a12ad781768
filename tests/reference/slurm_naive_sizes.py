"""Slurm's two schedulers on whole nodes of several sizes, of jobs that ask for CPUs: slow, plain, independent [76]."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reference.slurm_naive import Play

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference.slurm_naive_site import Job


@dataclass
class SizedPlay(Play):
    cpus: list[int] = field(default_factory=list)  # of each node
    wanted: dict[int, int] = field(default_factory=dict)  # CPUs, by each job that does not ask for nodes

    @property
    def of_whole_nodes(self) -> bool:
        return not self.wanted

    def fits(self, nodes: set[int], job: Job, over: Sequence[Job] = ()) -> bool:
        if id(job) not in self.wanted:
            return super().fits(nodes, job, over)
        return sum(self.cpus[node] for node in nodes) >= self.wanted[id(job)]

    def may_fit(self, nodes: set[int], job: Job) -> bool:
        return self.fits(nodes, job)

    def first_lines(self, free: set[int], job: Job) -> set[int]:
        found = set(super().first_lines(free, job))
        several = len({self.cpus[node] for node in found}) > 1
        while several and not self.site.cons_tres and id(job) in self.wanted:
            smallest = min(found, key=lambda node: (self.cpus[node], node))
            if not self.fits(found - {smallest}, job):
                break
            found.remove(smallest)
        return found

    def chosen(self, nodes: set[int], job: Job, over: Sequence[Job] = ()) -> set[int]:
        if id(job) not in self.wanted:
            return super().chosen(nodes, job, over)
        return chosen_by_cpus(self, nodes, self.wanted[id(job)])


def chosen_by_cpus(play: SizedPlay, free: set[int], wanted: int) -> set[int]:
    """Return the nodes that a job of so many CPUs is given of the free ones."""
    site, cpus, found, left = play.site, play.cpus, set[int](), set(free)
    while (lacking := wanted - sum(cpus[node] for node in found)) > 0:
        blocks: list[list[int]] = []
        for node in sorted(left):
            beside = blocks and blocks[-1][-1] == node - 1
            if beside and not (site.cons_tres and site.weights[node] != site.weights[node - 1]):
                blocks[-1].append(node)
            else:
                blocks.append([node])
        size = [sum(cpus[node] for node in block) for block in blocks]
        weight = [site.weights[block[0]] if site.cons_tres else 0 for block in blocks]
        tight = [(False, one) if one >= lacking else (True, -one) for one in size]
        best = blocks[min((weight[k], tight[k], k) for k in range(len(blocks)))[-1]]
        alone = [node for node in best if cpus[node] >= lacking] if site.cons_tres else []
        if alone:
            return found | {min(alone, key=lambda node: (cpus[node], node))}
        for node in best:
            if sum(cpus[one] for one in found) < wanted:
                found.add(node)
        left -= set(best)
    return found
