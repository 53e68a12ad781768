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
