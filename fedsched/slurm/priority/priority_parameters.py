"""The priority settings of a slurm.conf: weights, the highest age, the decay of usage, and each partition's factor."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fedsched.core.errors import FederationError, shortened
from fedsched.io.slurm_files.slurm_keys import GLOBAL, KEYS, Treatment, names_of, not_modelled_of
from fedsched.io.slurm_files.slurm_values import NOTHING, cpus_of, gpus_of, is_on, seconds_of, whole_of
from fedsched.slurm.conf.parameters import value_or_default

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fedsched.io.slurm_files.slurm_conf import Line, SlurmConf

MULTIFACTOR, BASIC = "priority/multifactor", "priority/basic"
FLAGS = names_of("PriorityFlags", Treatment.MODELLED)
RESETS = ("NONE", "NOW", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY")
WEIGHTS = {"age": "Age", "assoc": "Assoc", "fairshare": "Fairshare", "size": "JobSize", "partition": "Partition",
           "qos": "QOS"}  # fmt: skip
WEEK = "7-0"
_WEIGHT = re.compile(r"(-?(?:\d+(?:\.\d*)?|\.\d+))([KMGTP]?)", re.ASCII | re.IGNORECASE)
_MEGABYTES = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}


@dataclass(frozen=True, slots=True)
class PartitionPriority:
    """What a partition contributes to priorities: its tier, its factor, billing weights, and total resources."""

    name: str
    tier: int = 1
    job_factor: int = 1
    billing: Mapping[str, float] | None = None  # by resource; None: its CPUs
    amounts: Mapping[str, float] = field(default_factory=dict)  # by resource, the total over its nodes
    default: bool = False


@dataclass(frozen=True, slots=True)
class PriorityParameters:
    """The priority settings of a slurm.conf: times in seconds, weights by name, flags in upper case."""

    multifactor: bool = False
    age: int = 0
    assoc: int = 0
    fairshare: int = 0
    size: int = 0
    partition: int = 0
    qos: int = 0
    tres: Mapping[str, float] = field(default_factory=dict)
    max_age: float = 604800.0
    half_life: float = 604800.0
    calc_period: float = 300.0
    reset: str = "NONE"
    favor_small: bool = False
    damping: float = 1.0
    flags: frozenset[str] = frozenset()
    charges_ends: bool = False  # usage since the last tick is charged when a job ends
    partitions: Mapping[str, PartitionPriority] = field(default_factory=dict)
    nodes: int = 1
    cpus: int = 1
    left_out: tuple[str, ...] = ()  # what the file contains but is not modelled, a few words each

    @classmethod
    def of(cls, conf: SlurmConf) -> PriorityParameters:
        """Return the priority settings of a slurm.conf; raise FederationError if a value is invalid."""
        said, where = conf.parameters, conf.path
        kind = value_or_default(conf, "PriorityType")
        if kind not in (BASIC, MULTIFACTOR):
            raise FederationError(f"{where}: PriorityType={shortened(kind)} is neither {BASIC} nor {MULTIFACTOR}.")
        flags = _flags(said.get("priorityflags", ""))
        weights = {name: whole_of(said.get(f"priorityweight{text.lower()}", "0"), where, f"PriorityWeight{text}")
                   for name, text in WEIGHTS.items()}  # fmt: skip
        reset = said.get("priorityusageresetperiod", "NONE").upper()
        if reset not in RESETS:
            raise FederationError(
                f"{where}: PriorityUsageResetPeriod={shortened(reset)} is none of {', '.join(RESETS)}."
            )
        period = _seconds(said, "PriorityCalcPeriod", "5", where)
        if not 0.0 < period < math.inf:
            raise FederationError(f"{where}: PriorityCalcPeriod={shortened(said['prioritycalcperiod'])} is no period.")
        damping = _damping(said.get("fairsharedampeningfactor", "1"), where)
        enforced = [word.strip().lower() for word in said.get("accountingstorageenforce", "").split(",")]
        tres = weights_of(said.get("priorityweighttres", ""), where, "PriorityWeightTRES")
        partitions = {name: _partition(conf, name, line) for name, line in conf.partitions.items()}
        return cls(
            multifactor=kind == MULTIFACTOR,
            **weights,
            tres=tres,
            max_age=_seconds(said, "PriorityMaxAge", WEEK, where),
            half_life=_seconds(said, "PriorityDecayHalfLife", WEEK, where),
            calc_period=period,
            reset=reset,
            favor_small=is_on(said.get("priorityfavorsmall", "no"), where, "PriorityFavorSmall"),
            damping=damping,
            flags=flags,
            charges_ends=any(word in ("limits", "safe", "1", "all") for word in enforced),
            partitions=partitions,
            nodes=len(conf.nodes),
            cpus=sum(cpus_of(line.words, line.where) for line in conf.nodes.values()),
            left_out=tuple(_left_out(said, tres, partitions.values())) if kind == MULTIFACTOR else (),
        )

    @property
    def fair_tree(self) -> bool:
        """Return whether fair share is computed by the fair tree (the default), not by the classic rule."""
        return "NO_FAIR_TREE" not in self.flags

    def normal(self, what: str) -> bool:
        """Return whether a factor is normalised; `what` is ASSOC, PART, QOS or TRES.

        A normalised factor is divided by the largest value of all, TRES by the total amount in the job's partition.
        """
        return not self.flags & {f"NO_NORMAL_{what}", "NO_NORMAL_ALL"}

    @property
    def decay(self) -> float:
        """Return the factor by which usage decays in one second; 1 if it never decays."""
        return 1.0 - 0.693 / self.half_life if self.half_life > 0.0 else 1.0


def weights_of(text: str, where: str, name: str) -> dict[str, float]:
    """Return the weights in a text like CPU=1.0,Mem=0.25G,GRES/gpu=2, by resource in lower case; memory per MB.

    Raise FederationError if one is invalid.
    """
    found = {}
    for part in filter(None, text.strip('"').split(",")):
        resource, mark, value = part.strip().partition("=")
        match = _WEIGHT.fullmatch(value)
        if not mark or match is None:
            raise FederationError(f"{where}: {name} has {shortened(repr(part))}, which is no weight like Mem=0.25G.")
        small, unit = resource.lower(), match[2].upper()
        if unit and small not in ("mem", "vmem") and not small.startswith("bb/"):
            raise FederationError(f"{where}: {name} has {shortened(repr(part))}, but only memory has units.")
        found[small] = float(match[1]) / _MEGABYTES[unit]
    return found


def _flags(text: str) -> frozenset[str]:
    words = [word.strip().upper() for word in text.split(",")]
    known = {word for word in words if word in FLAGS}
    if "DEPTH_OBLIVIOUS" in words:  # it switches the fair tree off, too
        known.add("NO_FAIR_TREE")
    return frozenset(known)


def _seconds(said: Mapping[str, str], name: str, usual: str, where: str) -> float:
    return seconds_of(said.get(name.lower(), usual), f"{where}: {name}")


def _damping(text: str, where: str) -> float:
    try:
        damping = float(text)
    except ValueError:
        damping = 0.0
    if not 0.0 < damping < math.inf:
        raise FederationError(f"{where}: FairShareDampeningFactor={shortened(text)} is no number above 0.")
    return damping


def _partition(conf: SlurmConf, name: str, line: Line) -> PartitionPriority:
    words, where = line.words, line.where
    both = words.get("priority", "1")  # an old name that sets both
    billing = words.get("tresbillingweights", "")
    amounts: dict[str, float] = {}
    for host in conf.hosts_of_partition(name):
        node = conf.nodes[host]
        amounts["node"] = amounts.get("node", 0.0) + 1.0
        amounts["cpu"] = amounts.get("cpu", 0.0) + cpus_of(node.words, node.where)
        memory = float(whole_of(node.words.get("realmemory", "1"), node.where, "RealMemory"))
        amounts["mem"] = amounts.get("mem", 0.0) + memory
        for device, number in gpus_of(node.words.get("gres", "")).items():
            amounts[f"gres/{device}"] = amounts.get(f"gres/{device}", 0.0) + number
    return PartitionPriority(
        name=name,
        tier=whole_of(words.get("prioritytier", both), where, "PriorityTier"),
        job_factor=whole_of(words.get("priorityjobfactor", both), where, "PriorityJobFactor"),
        billing=weights_of(billing, where, "TRESBillingWeights") if billing.lower() not in NOTHING else None,
        amounts=amounts,
        default=is_on(words.get("default", "no"), where, "Default"),
    )


def _left_out(
    said: Mapping[str, str], tres: Mapping[str, float], partitions: Iterable[PartitionPriority]
) -> Iterator[str]:
    for key, value in not_modelled_of(GLOBAL, said):
        if key.name == "PriorityFlags":
            yield from (f"PriorityFlags={flag}" for flag in value.split(","))
        elif key.name == "PrioritySiteFactorPlugin":
            yield f"{key.name}={value} (a job's SiteFactor is taken as its file has it)"
        elif key.name.startswith("Priority"):
            yield f"{key.name}={value}"
    yield from (f"{name}={said[name]}" for name in said if name.startswith("priority") and name not in KEYS[GLOBAL])
    there = {name for one in partitions for name in one.amounts}
    yield from (f"PriorityWeightTRES of {name}, which no node has" for name in tres if there and name not in there)
