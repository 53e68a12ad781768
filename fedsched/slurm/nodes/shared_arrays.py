"""What Slurm's event loop works on beside its other arrays where jobs share nodes: free vectors, and who holds what."""

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
    """The nodes and what jobs ask of them, what is free there, how many jobs complete on each node.

    `by_node` says whose memory is asked of a node: of its cores all that are free then count where nodes are chosen.
    `for_gpus` has of each kind how many GPUs its tasks on a node ask for, and `with_gpus` the nodes that have any, both
    of no size where that never matters; `weight` is that of each node as backfill looks ahead.
    `refused` has of each kind of jobs the shortest limit that has found no room in the backfill pass at hand.
    """

    sharing: Sharing
    work: Work
    completing: Ints
    by_node: Ints
    refused: Ints
    for_gpus: Ints
    with_gpus: Ints
    weight: Ints
