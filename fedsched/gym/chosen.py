"""The shapes that the jobs of runs side by side have taken, as kernels read them [52]."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.engine.shapes import seen
from fedsched.references import by_reference

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Ints, State


@by_reference
class ChosenShapes(NamedTuple):
    """The shapes that the jobs of each run have, run x job, not to be written here; of no size where none choose."""

    tasks: Ints
    runtime: Floats
    estimate: Floats
    on_nodes: Ints  # of no size unless what jobs send counts tasks on nodes

    @classmethod
    def in_states(cls, states: State, runs: int) -> ChosenShapes:
        """Return what the states of these runs say, as views."""
        if states.extras is None:
            whole, real = seen(np.zeros((runs, 0), np.int64)), seen(np.zeros((runs, 0)))
            return cls(whole, real, real, whole)
        molded = states.extras.molded
        return cls(seen(molded.tasks), seen(molded.runtime), seen(molded.estimate), seen(molded.on_nodes))
