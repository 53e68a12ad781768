"""Which data each dispatch rule needs in addition to the running jobs and the queue."""

from __future__ import annotations

from enum import IntFlag

from fedsched.core.jit import constant, inlined
from fedsched.engine.codes import Dispatch


class Needs(IntFlag):
    """Data that cost time or memory, and are kept only for the rules that need them."""

    NOTHING = 0
    ENDS = 1  # the planned ends of running jobs, and each job's shortest duration
    PROFILE = 2  # room for a plan of every job that waits
    PACKING = 4  # room for a table of sums
    CLASSES = 8  # room to group a long queue if many placements of a scan fail


NEEDS = {
    Dispatch.STRICT: Needs.NOTHING,
    Dispatch.GREEDY: Needs.CLASSES,
    Dispatch.LOCAL: Needs.NOTHING,
    Dispatch.EASY: Needs.ENDS | Needs.CLASSES,
    Dispatch.CONSERVATIVE: Needs.ENDS | Needs.PROFILE,
    Dispatch.LOOKAHEAD: Needs.ENDS | Needs.PACKING | Needs.CLASSES,
}
_ENDS = tuple(constant(Needs.ENDS in NEEDS[rule]) for rule in Dispatch)  # kernels know neither dicts nor flags


@inlined
def needs_ends(dispatch: int) -> bool:
    """Return whether a rule looks at planned ends."""
    return _ENDS[dispatch] == 1


def needs_of(*dispatch: int) -> Needs:
    """Return the union of what these rules need."""
    needs = Needs.NOTHING
    for rule in dispatch:
        needs |= NEEDS[Dispatch(rule)]
    return needs
