"""GangSystem: sites of processors with a queue each, and the rules by which gangs and local jobs share them."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

from fedsched.errors import unknown_name

ROUTINGS = ("shortest_waiting", "idle_first")


@dataclass(frozen=True, slots=True, kw_only=True)
class GangSystem:
    """Sites whose every processor has its own queue, and the rules of the grid and local schedulers.

    The model is Dimitriadou and Karatza's "Multi-Site Allocation Policies on a Grid and Local Level".

    Parameters
    ----------
    processors
        How many processors each site has.
    approach
        1: a gang stays on one site; 2: it may also take the idle processors of all sites; 3: it may also wait in the
        empty queues of all sites.
    overhead
        What a gang that spans sites takes longer, as a share of its service time.
    threshold
        T of the backfilling rule: how long a local job that overtakes a waiting gang may delay it.
    routing
        Where a local job goes: `shortest_waiting` (the fewest waiting tasks, the running one not counted, ties at
        random) or `idle_first` (a processor where it starts at once, if there is one).
    """

    processors: tuple[int, ...] = (16, 16)
    approach: int = 1
    overhead: float = 0.1
    threshold: float = 0.0
    routing: str = "shortest_waiting"

    def __post_init__(self) -> None:
        object.__setattr__(self, "processors", tuple(_whole("processors", count) for count in self.processors))
        if not self.processors or min(self.processors) < 1:
            raise ValueError(f"GangSystem: processors={self.processors!r} must give every site at least 1.")
        if _whole("approach", self.approach) not in (1, 2, 3):
            raise ValueError(f"GangSystem: approach={self.approach!r} must be 1, 2 or 3.")
        for name in ("overhead", "threshold"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and math.isfinite(value) and value >= 0):
                raise ValueError(f"GangSystem: {name}={value!r} must be a finite number of at least 0.")
        if self.routing not in ROUTINGS:
            raise unknown_name("routing", self.routing, ROUTINGS)

    @property
    def total(self) -> int:
        """Return how many processors all sites have."""
        return sum(self.processors)

    @property
    def largest(self) -> int:
        """Return the size of the largest gang that can ever start."""
        return max(self.processors) if self.approach == 1 else self.total


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(f"GangSystem: {name}={value!r} must be a whole number.")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"GangSystem: {name}={value!r} must be a whole number.") from None
