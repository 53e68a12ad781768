"""What Slurm's event loop works on beside its other arrays where jobs share nodes: free vectors, and who holds what."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedsched.references import by_reference

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fedsched.sharing.arrays import Sharing, Work

    Ints = NDArray[np.int64]


@by_reference
class Shared(NamedTuple):
    """The nodes and what jobs ask of them, what is free there, how many jobs complete on each node.

    `by_node` says whose memory is asked of a node: of its cores all that are free then count where nodes are chosen.
    `refused` has of each kind of jobs the shortest limit that has found no room in the backfill pass at hand.
    """

    sharing: Sharing
    work: Work
    completing: Ints
    by_node: Ints
    refused: Ints
