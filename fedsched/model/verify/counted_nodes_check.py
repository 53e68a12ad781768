"""Check limits that count nodes if jobs share nodes: each node counts once, however many of a user's jobs use it [55].

It shares no code with the loop that makes schedules.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import one_line
from fedsched.model.machine.limits import bound_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.schedule.node_use import NodeUse


def broken_node_limits(use: NodeUse) -> Iterator[str]:
    """Yield each limit in nodes that is exceeded, at the first start that exceeds it."""
    for limit in use.federation.limits:
        if limit.nodes is None:
            continue
        whose = bound_by(limit, use.workload, use.federation)[use.job]
        for name in sorted(set(whose.tolist()) - {""}):
            called = f"{limit.of} {one_line(name)!r}"
            yield from _too_many(use, np.flatnonzero(whose == name), limit.nodes, called)


def _too_many(use: NodeUse, rows: NDArray[np.int64], most: int, called: str) -> Iterator[str]:
    events = [(float(use.start[use.job[row]]), 1, row) for row in rows.tolist()]
    events += [(float(use.finish[use.job[row]]), 0, row) for row in rows.tolist()]
    on: Counter[int] = Counter()
    for time, begins, row in sorted(events):  # ends come before starts
        node = int(use.node[row])
        on[node] += 1 if begins else -1
        if not on[node]:
            del on[node]
        if len(on) > most:
            yield (
                f"{use.whose(int(use.job[row]))}: at {time:.15g} {len(on)} nodes are in use under the limit of {most} "
                f"of {called}."
            )
            return
