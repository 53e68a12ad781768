"""A compile-time flag: whether optional features other than closures are in use.

The arrays of a feature that is not in use are empty, and each module of the engine checks those of its own feature.
Each event, start and end makes many such checks. If closures are the only feature, all other modules get None for the
extras, and the compiler leaves their code out. Tiers and tasks per node count as closures here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, only_if_none, unless_none

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, Problem

MORE = constant(1)


def as_used(extras: Extras) -> Extras:
    """Return the extras with the flag `more` set: 1 if other features than closures are in use, else None."""
    of_jobs = extras.precedence.conditions.size + extras.cancellations.job.size + extras.holds.first.size
    of_queues = extras.limits.amount.size + extras.reserved.of_job.size + extras.moldable.which.size
    of_machines = extras.pools.amount.size + extras.ceilings.period.size + extras.saving.timeout.size
    return extras._replace(more=MORE if of_jobs + of_queues + of_machines > 0 else None)


@unless_none("more")
def more_than_closing(extras: Extras | None) -> Extras | None:
    """Return the extras; None if there are none, or closures are the only feature in use."""
    return None if extras is None or extras.more is None else extras


@only_if_none("sharing")
def counted_nodes(problem: Problem) -> Problem | None:
    """Return the problem if nodes are counted, or None if jobs share nodes."""
    return problem if problem.sharing is None else None


@inlined
def more_is(extras: Extras | None) -> bool:
    """Return whether optional features other than closures are in use."""
    return more_than_closing(extras) is not None
