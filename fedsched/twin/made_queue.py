"""The queue of a made dump: what squeue would print as the dump is taken, of who runs and who waits, and for what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Mask = NDArray[np.bool_]

HEAD = "JOBID|PARTITION|USER|STATE|REASON|PRIORITY|SUBMIT_TIME|END_TIME|START_TIME|TIME_LIMIT|NODES|ACCOUNT|QOS|DEPENDENCY|FEATURES|RESERVATION|NODELIST|NICE|CPUS"  # noqa: E501 as squeue prints it
AGE, OLDEST, URGENT = 1000, 7 * 86_400.0, 500  # as the made configuration weighs
FIRST = 4_294_901_759  # priority/basic's first one


def priorities(submit: Column, eligible: Column, urgent: Mask, now: float, *, in_order: bool) -> NDArray[np.int64]:
    """Return the priorities of waiting jobs: by age and QOS, or in the order in which they came."""
    if in_order:
        return FIRST - np.argsort(np.argsort(submit, kind="stable"), kind="stable")
    age = np.clip((now - eligible) / OLDEST, 0.0, 1.0)
    return (1 + np.floor(age * AGE + urgent * URGENT)).astype(np.int64)


def reasons(priority: NDArray[np.int64], held: Mask, depends: Mask) -> list[str]:
    """Return why each waiting job waits: the first in turn for nodes, the others for those before them."""
    free = ~held & ~depends
    first = int(np.argmax(np.where(free, priority, -1))) if free.any() else -1
    return [
        "JobHeldUser" if held[k] else "Dependency" if depends[k] else "Resources" if k == first else "Priority"
        for k in range(len(priority))
    ]


def node_lists(sizes: Sequence[int]) -> Iterator[str]:
    """Give the nodes of jobs that run at the same time, one behind the other."""
    first = 1
    for size in sizes:
        yield f"n{first}" if size == 1 else f"n[{first}-{first + size - 1}]"
        first += size
