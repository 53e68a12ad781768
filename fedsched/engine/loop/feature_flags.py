"""Whether anything beyond the plain model but nodes that close is in use: if not, kernels are compiled without it.

What is not in use has arrays of no size, and each part of the engine looks at its own. At an event, a start or an end
these looks are many: where only nodes close, all parts but the calendar find no extras, as on a plain machine, and the
compiler leaves them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, unless_none

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras

MORE = constant(1)


def as_used(extras: Extras) -> Extras:
    """Return extras that say whether more of them is in use than nodes that close."""
    of_jobs = extras.precedence.conditions.size + extras.cancellations.job.size + extras.holds.first.size
    of_queues = extras.limits.amount.size + extras.reserved.of_job.size + extras.moldable.which.size
    of_machines = extras.pools.amount.size + extras.ceilings.period.size + extras.saving.timeout.size
    return extras._replace(more=MORE if of_jobs + of_queues + of_machines > 0 else None)


@unless_none("more")
def more_than_closing(extras: Extras | None) -> Extras | None:
    """Return the extras, or None where nodes close and nothing else is in use."""
    return None if extras is None or extras.more is None else extras


@inlined
def more_is(extras: Extras | None) -> bool:
    """Return whether anything is in use but nodes that close."""
    return more_than_closing(extras) is not None
