"""What made clusters have beside nodes: queues, QOS, limits, and the form of their records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Columns of sacctmgr and their values: a share of all CPUs for TRES columns, else a number.
Limits = Mapping[str, float]
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Queue:
    """A partition: the nodes from share `first` to share `last` of all, and the longest run time (0: no limit)."""

    name: str
    hours: float = 0.0
    first: float = 0.0
    last: float = 1.0
    factor: int = 1  # PriorityJobFactor
    tier: int = 1
    qos: str = "N/A"  # its jobs keep to this QOS's limits
    share: float = 1.0  # of the jobs that fit in it and are in no queue before it

    def of(self, nodes: int) -> tuple[int, int]:
        """Return the numbers of its first and last node."""
        first = min(int(self.first * nodes), nodes - 1)
        return first + 1, max(first + 1, int(self.last * nodes))


@dataclass(frozen=True, slots=True)
class Quality:
    """A QOS, and the share of the jobs that ask for it; jobs that ask for none have the first one."""

    name: str
    priority: int = 0
    share: float = 0.0
    limits: Limits = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MadeSite:
    """A kind of made cluster: its queues, QOS and limits, and the form of its records."""

    queues: tuple[Queue, ...] = (Queue("main"),)  # the last one takes the remaining jobs
    qualities: tuple[Quality, ...] = (Quality("normal"), Quality("urgent", 100, 0.05))
    faculties: Limits | None = None  # of groups of accounts; None: there are none
    accounts: Limits = field(default_factory=dict)
    users: Limits = field(default_factory=dict)
    enforced: str = "associations"
    widest: float = 1.0  # greatest share of the nodes that a job may have
    unsaid: float = 0.0  # share of the jobs that name no time limit and get their queue's
    endless: float = 0.0  # share of the jobs without a time limit
    letters: int | None = None  # length to which states are cut
    others: int = 0  # number of other clusters in the database
    steps: bool = False

    @property
    def limited(self) -> bool:
        """Return whether limits of QOS and accounts hold jobs back."""
        return "limits" in self.enforced

    def queues_of(
        self, limit: NDArray[np.float64], tasks: NDArray[np.int64], nodes: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return the queue of each job: the first one with enough time and nodes that also draws it by its share."""
        found = np.full(len(limit), len(self.queues) - 1)
        for k in range(len(self.queues) - 2, -1, -1):
            queue = self.queues[k]
            first, last = queue.of(nodes)
            fits = (tasks <= last - first + 1) & (limit <= (queue.hours * HOUR or np.inf))
            found[fits & (rng.random(len(limit)) < queue.share)] = k
        return found

    def points(self, queue: NDArray[np.int64], quality: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what queue and QOS add to jobs' priorities, by the weights of the made configuration."""
        factors = np.array([one.factor for one in self.queues]) / max(one.factor for one in self.queues)
        ranks = np.array([one.priority for one in self.qualities]) / max(1, *(one.priority for one in self.qualities))
        return np.asarray(500.0 * factors[queue] * (len(self.queues) > 1) + 500.0 * ranks[quality])


SITES = {
    "plain": MadeSite(),
    # Many queues by run time that share nodes: short jobs go first, and long ones may use fewer nodes.
    "cerit": MadeSite(
        queues=(
            Queue("q_2h", 2, factor=100, tier=2),
            Queue("q_4h", 4, 0.1, factor=50),
            Queue("q_12h", 12, 0.2, factor=20),
            Queue("q_1d", 24, 0.35, factor=10),
            Queue("default", factor=5),
        ),
        qualities=(Quality("normal"), Quality("project", 100, 0.05)),
        unsaid=0.1,
        endless=0.03,
        letters=9,
        others=2,
    ),
    # One queue and a small one for tests; QOS, accounts and faculties have limits.
    "ub": MadeSite(
        queues=(Queue("debug", 1, last=0.125, factor=2, qos="debug", share=0.3), Queue("general-compute")),
        qualities=(
            Quality("general-compute", 10, limits={"MaxTRESPU": 0.4}),
            Quality("supporters", 100, 0.2, {"GrpTRES": 0.7, "MaxJobsPU": 6}),
            Quality("debug", 50, limits={"MaxJobsPU": 2, "MaxTRESPU": 0.125}),
        ),
        faculties={"GrpTRES": 0.9, "GrpJobs": 60},
        accounts={"GrpTRES": 0.6},
        users={"MaxJobs": 8},
        enforced="associations,limits,qos",
        widest=0.4,
        steps=True,
    ),
}
