"""Which genes are turned: those that are asked for, or all that matter to a given conf and its accounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fedsched.core.errors import unknown_name
from fedsched.core.values import is_number
from fedsched.site.tuning.confs import value_in
from fedsched.site.tuning.genes import ACCOUNTS, FAIR_SHARE, GENES, PARTITIONS, PRIORITY, QUALITIES, SCHEDULER, Gene
from fedsched.site.tuning.limits import limit_asked, limits_that_stand

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.slurm import Slurm


def genes_of(policy: Slurm, asked: Iterable[str] | Mapping[str, tuple[int, int] | None] | None) -> tuple[Gene, ...]:
    """Return the genes that are asked for, with their limits where these are given; of none those that matter."""
    if asked is None:
        usual = (gene for gene in GENES.values() if not gene.seldom or value_in(policy.conf, gene.name) != gene.usual)
        return (*(gene for gene in usual if _matters(gene, policy)), *limits_that_stand(policy))
    by_small = {name.lower(): gene for name, gene in GENES.items()}
    found = []
    for name in asked:
        gene = by_small.get(name.lower()) or limit_asked(policy, name)
        if gene is None:
            raise unknown_name("gene", name, GENES)
        if gene.of != ACCOUNTS and not _matters(gene, policy):
            raise ValueError(f"tune: {gene.name} changes nothing under {policy}: {WHY[gene.of]}.")
        bounds = asked[name] if isinstance(asked, Mapping) else None
        found.append(gene if bounds is None else _within(gene, bounds))
    if not found:
        raise ValueError("tune: genes= names none; leave it out for all that matter.")
    return tuple(found)


WHY = {
    SCHEDULER: "it is of the backfill scheduler, and SchedulerType is sched/builtin",
    PRIORITY: "it is of PriorityType=priority/multifactor",
    FAIR_SHARE: "it is of fair share, which needs PriorityType=priority/multifactor and accounts",
    PARTITIONS: "it is of PriorityType=priority/multifactor with partitions whose PriorityJobFactor differ",
    QUALITIES: "it is of PriorityType=priority/multifactor with QOS whose priorities differ",
}


def _matters(gene: Gene, policy: Slurm) -> bool:
    parameters, priority, accounts = policy.parameters, policy.priority, policy.assoc
    if gene.of == SCHEDULER:
        return parameters.backfill or not gene.name.startswith("bf_")
    if not priority.multifactor:
        return False
    if gene.of == FAIR_SHARE:
        return accounts is not None
    if gene.of == PARTITIONS:
        return len({one.job_factor for one in priority.partitions.values()}) > 1
    if gene.of == QUALITIES:
        return accounts is not None and len({one.priority for one in accounts.qos.values()}) > 1
    return True


def _within(gene: Gene, bounds: tuple[int, int]) -> Gene:
    if gene.choices:
        raise ValueError(f"tune: {gene.name} is {' or '.join(gene.choices)}; give it no limits.")
    low, high = bounds
    if not (is_number(low) and is_number(high) and gene.least <= low < high and float(low) == int(low)):
        raise ValueError(
            f"tune: {gene.name} from {low!r} to {high!r}: give two whole numbers from {gene.least} on, the lower first."
        )
    return Gene(gene.name, int(low), int(high), gene.usual, curved=gene.curved, of=gene.of, word=gene.word)
