"""More arrays for Slurm's event loop if jobs share nodes: the free resources of nodes, and what each job holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fedsched.engine.sharing.arrays import Sharing, Work

    Ints = NDArray[np.int64]


@by_reference
class Shared(NamedTuple):
    """The nodes, the requests of jobs, the free resources, and how many jobs complete on each node.

    `by_node` is 1 for jobs that request memory per node: all free cores of a node then count in the choice of nodes.
    `for_gpus` has for each kind of jobs the GPUs that its tasks on one node request, and `with_gpus` the nodes that
    have GPUs; both are empty if GPUs do not affect the order of nodes. `weight` is each node's weight in backfill's
    look ahead. `refused` has for each kind of jobs the shortest time limit that found no room in this backfill pass.
    """

    sharing: Sharing
    work: Work
    completing: Ints
    by_node: Ints
    refused: Ints
    for_gpus: Ints
    with_gpus: Ints
    weight: Ints
