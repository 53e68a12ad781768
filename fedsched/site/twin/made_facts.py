"""Kinds of made clusters (queues, QOS, limits), and random facts about their jobs, drawn before scheduling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.generate.estimates import tsafrir_estimates
from fedsched.model.jobs.workload import Workload
from fedsched.model.time.downtimes import Downtime
from fedsched.site.twin.records import YEAR
from fedsched.site.twin.replay_problem import SLURM, unsupported_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.slurm.passes.limits_of_accounts import Part

    Column = NDArray[np.float64]

# Columns of sacctmgr and their values: a share of all CPUs for TRES columns, else a number.
Limits = Mapping[str, float]
HOUR = 3600.0
CLUSTER = "made"
EPOCH = 1_767_600_000  # Monday, 2026-01-05 08:00:00
CORES = 8  # of a node
ACCOUNT_COUNT = 5


@dataclass(frozen=True, slots=True)
class Queue:
    """A partition of a made cluster: the nodes from share `first` to share `last` of all, the longest run time, etc.

    `hours` is the longest run time (0: no limit).
    """

    name: str
    hours: float = 0.0
    first: float = 0.0
    last: float = 1.0
    factor: int = 1  # PriorityJobFactor
    tier: int = 1
    qos: str = "N/A"  # its jobs keep to this QOS's limits
    share: float = 1.0  # of the jobs that fit in it and are in no queue before it

    def of(self, nodes: int) -> tuple[int, int]:
        """Return its first and its last node, numbered from 1, in a cluster of `nodes` nodes."""
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
        """Return the index of each job's queue: the first with enough time and nodes that also draws it by its share.

        Jobs that no queue draws are in the last one.
        """
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


def account_of(user: int) -> str:
    """Return the account of a user."""
    return f"a{user % ACCOUNT_COUNT}"


LONGEST = 86_400.0  # seconds of a job


@dataclass(slots=True)
class Facts:
    """The drawn facts about the jobs of a made cluster, one row a run; times are seconds of the jobs' clock."""

    site: MadeSite
    work: Workload
    limit: Column
    user: NDArray[np.int64]
    quality: NDArray[np.int64]  # an index into the site's QOS, as `queue` is into its queues
    queue: NDArray[np.int64]
    unsaid: NDArray[np.bool_]  # names no limit, and gets its queue's
    held: Column  # held until; 0 = not held
    depends: NDArray[np.int64]  # the row that it depends on; -1 = none
    again: NDArray[np.int64]  # the row of the same job's run before it; -1 = none
    gone: Column  # when it is cancelled in the queue; -1 = never
    array: NDArray[np.int64]  # the first row of its job array; -1 = none
    part: NDArray[np.int64]  # its number in a heterogeneous job; -1 = none
    reserved: NDArray[np.bool_]
    calendar: tuple[Downtime, ...]
    submit: Column = field(init=False)
    eligible: Column = field(init=False)


def drawn_facts(
    site: MadeSite, work: Workload, nodes: int, rng: np.random.Generator, policy: str, *, troubles: bool
) -> Facts:
    """Return random facts about these jobs for a kind of cluster; troubles that the policy lacks are not drawn."""
    jobs = len(work)
    runtime = np.clip(np.round(work.runtime), 1.0, LONGEST)
    limit = 60.0 * np.ceil(np.maximum(tsafrir_estimates(runtime, maximum=LONGEST, seed=1), runtime) / 60.0)
    tasks = np.minimum(work.tasks, max(1, int(site.widest * nodes)))
    work = Workload(submit=np.floor(work.submit), tasks=tasks, runtime=runtime, nodes=nodes, name=CLUSTER)
    users = max(3, min(200, jobs // 50))
    shares = np.array([one.share for one in site.qualities[:0:-1]])
    facts = Facts(
        site=site,
        work=work,
        limit=limit,
        user=np.minimum(rng.zipf(1.6, jobs) - 1, users - 1),
        quality=(rng.random(jobs)[:, None] < np.cumsum(shares)).sum(axis=1),
        queue=np.zeros(jobs, dtype=np.int64),
        unsaid=np.zeros(jobs, dtype=np.bool_),
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
    _add_queues(facts, nodes, rng)
    return facts


def _add_queues(facts: Facts, nodes: int, rng: np.random.Generator) -> None:
    """Draw which jobs have no time limit, the queue of each job, and which jobs get the limit of their queue.

    The facts are changed in place.
    """
    site, jobs = facts.site, len(facts.work)
    if site.endless:
        facts.limit[rng.random(jobs) < site.endless] = YEAR
    facts.queue = site.queues_of(facts.limit, facts.work.tasks, nodes, rng)
    longest = np.array([one.hours * HOUR for one in site.queues])[facts.queue]
    facts.unsaid = (longest > 0) & (rng.random(jobs) < site.unsaid)
    facts.limit = np.where(facts.unsaid, longest, facts.limit)


def _add_troubles(facts: Facts, nodes: int, rng: np.random.Generator, policy: str) -> None:
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
            facts.user[row], facts.quality[row] = facts.user[row - 1], facts.quality[row - 1]
            facts.array[row] = facts.part[row] = facts.array[row - 1] = facts.part[row - 1] = -1
    if _supports(policy, "cancel_at"):
        facts.gone[gone] = submit[gone] + np.round(rng.uniform(60, 6_000, gone.size))
    if _supports(policy, "calendar"):
        span, begin = float(submit[-1]), float(np.floor(0.45 * submit[-1]))
        service = Downtime(CLUSTER, begin, begin + 14_400.0, nodes="all", kind="maintenance", name="service")
        # A dump does not say on which nodes jobs run as it begins. Under a policy that tells nodes apart, an outage of
        # some nodes would hit other jobs in the replay.
        lost = f"{max(1, nodes // 8)} of all"
        down = [Downtime(CLUSTER, np.floor(at * span), np.floor(at * span) + 20_000.0, nodes=lost, kind="outage")
                for at in (0.3, 0.6) if policy != SLURM]  # fmt: skip
        facts.calendar = (*down, service)


def _supports(policy: str, feature: str) -> bool:
    """Return whether a policy supports a feature beyond the plain model."""
    return feature not in unsupported_features(policy)


def ids_of(facts: Facts) -> NDArray[np.int64]:
    """Return a unique number for each run."""
    return np.arange(1, len(facts.work) + 1) + 1000


def labels_of(facts: Facts) -> dict[str, NDArray[Any]]:
    """Return, by label, the names of the user, account, QOS and partition of each run."""
    users = facts.user.tolist()
    found = {
        "user": [f"u{user}" for user in users],
        "account": [account_of(user) for user in users],
        "qos": [facts.site.qualities[k].name for k in facts.quality.tolist()],
        "partition": [facts.site.queues[k].name for k in facts.queue.tolist()],
    }
    return {name: np.array(texts, dtype=object) for name, texts in found.items()}


def numbers_of(facts: Facts) -> NDArray[np.int64]:
    """Return the job number of each run; runs of one job share it."""
    number = ids_of(facts).copy()
    for row in np.flatnonzero(facts.again >= 0).tolist():
        number[row] = number[facts.again[row]]
    return number


def limit_of(facts: Facts, row: int) -> str:
    """Return a run's time limit as Slurm prints it: a text with its minutes, or UNLIMITED."""
    return "UNLIMITED" if facts.limit[row] >= YEAR else str(int(facts.limit[row]) // 60)


def recorded_limit(facts: Facts, row: int) -> str:
    """Return a run's time limit as sacct prints it: `limit_of`, or "Partition_Limit" if the job names none."""
    return "Partition_Limit" if facts.unsaid[row] else limit_of(facts, row)


def job_id_text(facts: Facts, number: NDArray[np.int64], row: int) -> str:
    """Return Slurm's JobID of a run: 17, 17_3 in an array, 17+1 in a heterogeneous job."""
    if (first := int(facts.array[row])) >= 0:
        return f"{number[first]}_{row - first}"
    if facts.part[row] >= 0:
        return f"{number[row - int(facts.part[row])]}+{facts.part[row]}"
    return str(number[row])


def full_limits(parts: Sequence[Sequence[Part]], start: Column, finish: Column, moment: Column) -> list[str]:
    """Return, for each job, Slurm's reason for the first limit that was full for it at its moment, "" if none was.

    Parameters
    ----------
    parts
        The limits that each job counts towards, with how much it takes of each.
    start, finish
        When each job ran; NaN if it did not.
    moment
        The moment of each job; NaN skips the job.
    """
    members: dict[str, list[tuple[int, float]]] = {}
    for row, taken in enumerate(parts):
        for part in taken:
            members.setdefault(part.of, []).append((row, part.weight))
    of = {name: (np.array([row for row, _ in rows]), np.array([weight for _, weight in rows]))
          for name, rows in members.items()}  # fmt: skip
    found = [""] * len(parts)
    for row in np.flatnonzero(np.isfinite(moment)).tolist():
        for part in parts[row]:
            rows, weights = of[part.of]
            runs = (start[rows] <= moment[row]) & ~(finish[rows] <= moment[row]) & (rows != row)
            if part.binds and weights[runs].sum() + part.weight > part.amount:
                found[row] = reason_of(part.of)
                break
    return found


def reason_of(limit: str) -> str:
    """Return Slurm's reason, such as AssocGrpCpuLimit, for a job that waits for `grptres=cpu of account 'a1'`."""
    name, _, whose = limit.partition(" of ")
    field, _, resource = name.partition("=")
    of = "QOS" if whose.startswith("QOS") else "Assoc"
    kind = "Grp" if field.startswith("grp") else "Max"
    what = resource.capitalize() or "Jobs"
    each = "PerUser" if field.endswith("pu") else "PerAccount" if field.endswith("pa") else ""
    return f"{of}{kind}{what}{each}Limit"
