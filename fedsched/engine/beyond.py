"""Whether anything beyond the plain model but nodes that close is in use: if not, one look spares many.

What is not in use has arrays of no size, and each part of the engine looks at its own. At an event, a start or an end
these looks are many: where only nodes close they are all passed over at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.compiled import inlined
from fedsched.engine.numbers import Counter

if TYPE_CHECKING:
    from fedsched.engine.arrays import Extras, Ints


@inlined
def note_what_is(extras: Extras | None, counter: Ints) -> None:
    """Note what is in use, as a run begins."""
    if extras is None:
        return
    of_jobs = extras.precedence.conditions.size + extras.cancellations.job.size + extras.holds.first.size
    of_queues = extras.limits.amount.size + extras.reserved.of_job.size + extras.moldable.which.size
    of_machines = extras.pools.amount.size + extras.ceilings.period.size + extras.saving.timeout.size
    counter[Counter.ONLY_CLOSES] = 1 if of_jobs + of_queues + of_machines == 0 else 0


@inlined
def more_is(extras: Extras | None, counter: Ints) -> bool:
    """Return whether anything is in use but nodes that close."""
    if extras is None:
        return False
    return counter[Counter.ONLY_CLOSES] == 0
