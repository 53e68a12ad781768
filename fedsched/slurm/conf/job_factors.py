"""The request of a job, and the priority factors of the job that follow from it and do not change with time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fedsched.core.errors import TraceError
from fedsched.core.text import first_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.slurm.priority.associations import Associations
    from fedsched.slurm.priority.priority_parameters import PartitionPriority, PriorityParameters

# Resources of nodes: with MAX_TRES the most expensive one of these and of the GRES is billed, plus all others.
OF_NODES = ("cpu", "mem", "node")


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a job's priority and limits depend on: its owner, partition, QOS and requested resources.

    `amounts` is by resource, with memory in MB.
    """

    user: str = ""
    account: str = ""  # "": the user's default account
    partition: str = ""
    qos: str = ""  # "": the association's default QOS, else normal
    nodes: int = 1
    cpus: int = 1
    limit: float = math.inf  # seconds
    amounts: Mapping[str, float] = field(default_factory=dict)
    given: Mapping[str, float] | None = None  # its allocation while it runs; None: as requested
    nice: int = 0
    site: int = 0
    aged: float = 0.0  # seconds, its age when it becomes eligible


@dataclass(frozen=True, slots=True)
class FixedFactors:
    """The priority factors of a job that do not change with time, each times its weight.

    Also its association (account and user), and the usage that each of its seconds is charged for.
    """

    association: int  # index; -1: none
    assoc: float
    size: float
    partition: float
    qos: float
    tres: Mapping[str, float]
    billing: float  # per second
    usage_factor: float


NO_FACTORS = FixedFactors(-1, 0.0, 0.0, 0.0, 0.0, {}, billing=0.0, usage_factor=1.0)


class Scales:
    """Computes the priority factors of jobs that do not change with time, under one configuration and its accounts."""

    def __init__(self, parameters: PriorityParameters, associations: Associations | None) -> None:
        self.parameters, self.associations = parameters, associations
        self._partition = max((1, *(one.job_factor for one in parameters.partitions.values())))
        if associations is not None:
            self._assoc = max(one.priority for one in associations.members)
            self._qos = max((0, *(one.priority for one in associations.qos.values())))
        self._places: dict[tuple[str, str, str], int] = {}

    def fixed_factors(self, job: JobRequest) -> FixedFactors:
        """Return the priority factors of a job that do not change with time, each times its weight.

        They are 0 under priority/basic. Raise TraceError if the slurm.conf does not have the job's partition.
        """
        parameters, associations = self.parameters, self.associations
        partition = parameters.partitions.get(job.partition)
        if partition is None and parameters.partitions:
            raise TraceError(
                f"a job requests the partition {job.partition!r}, which the slurm.conf does not have; "
                f"it has {first_of(parameters.partitions)}."
            )
        if not parameters.multifactor:  # priority/basic uses no factors
            return NO_FACTORS if associations is None else replace(NO_FACTORS, association=self._place(job))
        place, assoc, qos, usage_factor, of_partition = -1, 0.0, 0.0, 1.0, 0.0
        if partition is not None:
            of_partition = _part(partition.job_factor, self._partition, parameters.normal("PART"))
        if associations is not None:
            place = self._place(job)
            mine = associations.members[place]
            quality = associations.quality(job.qos or mine.default_qos or "normal")
            usage_factor = quality.usage_factor
            assoc = _part(mine.priority, self._assoc, parameters.normal("ASSOC"))
            qos = _part(quality.priority, self._qos, parameters.normal("QOS"))
        return FixedFactors(
            association=place,
            assoc=assoc * parameters.assoc,
            size=size_factor(job, parameters) * parameters.size,
            partition=of_partition * parameters.partition,
            qos=qos * parameters.qos,
            tres=_of_resources(job, partition, parameters),
            billing=billing_of(job, partition, parameters),
            usage_factor=usage_factor,
        )

    def _place(self, job: JobRequest) -> int:
        assert self.associations is not None
        owner = (job.user, job.account, job.partition)
        if owner not in self._places:
            self._places[owner] = self.associations.place(*owner)
        return self._places[owner]


def _part(value: float, highest: float, normal: bool) -> float:
    if not normal:
        return float(value)
    return value / highest if highest > 0 else 0.0


def size_factor(job: JobRequest, parameters: PriorityParameters) -> float:
    """Return the size factor of a job, from 0 to 1; it grows with nodes and CPUs, or falls if small jobs are favoured.

    With SMALL_RELATIVE_TO_TIME the size is divided by the minutes of the job's time limit.
    """
    nodes, cpus = float(parameters.nodes), float(parameters.cpus)
    if "SMALL_RELATIVE_TO_TIME" in parameters.flags:
        minutes = max(1.0, job.limit // 60) if math.isfinite(job.limit) else 4294967295.0
        size = max(job.cpus, job.nodes * cpus / nodes) / minutes / cpus
        size = 1.0 - size if parameters.favor_small else size
    elif parameters.favor_small:
        size = ((nodes - job.nodes) / nodes + (cpus - job.cpus) / cpus) / 2
    else:
        size = (job.nodes / nodes + job.cpus / cpus) / 2
    return min(1.0, max(0.0, size))


def _of_resources(
    job: JobRequest, partition: PartitionPriority | None, parameters: PriorityParameters
) -> dict[str, float]:
    found = {}
    for name, weight in parameters.tres.items():
        amount = float(job.amounts.get(name, 0.0))
        if parameters.normal("TRES"):
            whole = partition.amounts.get(name, 0.0) if partition is not None else 0.0
            amount = amount / whole if whole else 0.0
        found[name] = amount * weight
    return found


def billing_of(job: JobRequest, partition: PartitionPriority | None, parameters: PriorityParameters) -> float:
    """Return what one second of a job costs: its CPUs, or the sum weighted by its partition's TRESBillingWeights.

    With MAX_TRES only the most expensive of the nodes' resources counts in this sum.
    """
    given = job.amounts if job.given is None else job.given
    if partition is None or partition.billing is None:
        return float(given.get("cpu", job.cpus))
    dearest, rest = 0.0, 0.0
    for name, weight in partition.billing.items():
        cost = float(given.get(name, 0.0)) * weight
        if "MAX_TRES" in parameters.flags and (name in OF_NODES or name.startswith("gres/")):
            dearest = max(dearest, cost)
        elif name != "billing":
            rest += cost
    return dearest + rest
