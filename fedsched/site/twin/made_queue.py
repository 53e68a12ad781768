"""The queue of a made dump: what squeue would print as the dump is taken, of running and waiting jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.site.twin.commands import PARTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Mask = NDArray[np.bool_]

COLUMNS = (
    "JOBID", "PARTITION", "USER", "STATE", "REASON", "PRIORITY", "SUBMIT_TIME", "END_TIME", "START_TIME", "TIME_LIMIT",
    "NODES", "ACCOUNT", "QOS", "DEPENDENCY", "FEATURES", "RESERVATION", "NODELIST", "NICE", "CPUS",
    "REQ_NODES", "EXC_NODES", "TRES_PER_NODE", "LICENSES",
)  # fmt: skip
HEAD = PARTED.join(COLUMNS)  # as squeue prints it
AGE, OLDEST = 1000, 7 * 86_400.0  # as the made configuration weighs
FIRST = 4_294_901_759  # priority/basic's first one


def priorities(submit: Column, eligible: Column, points: Column, now: float, *, in_order: bool) -> NDArray[np.int64]:
    """Return the priorities of waiting jobs: by age, queue and QOS, or in order of submission."""
    if in_order:
        return FIRST - np.argsort(np.argsort(submit, kind="stable"), kind="stable")
    age = np.clip((now - eligible) / OLDEST, 0.0, 1.0)
    return (1 + np.floor(age * AGE + points)).astype(np.int64)


def reasons(priority: NDArray[np.int64], held: Mask, depends: Mask, full: Sequence[str], enough: Mask) -> list[str]:
    """Return Slurm's reason why each job waits: a hold, a dependency, a full limit, nodes, or the jobs ahead of it.

    Of the remaining jobs, only the one of highest priority waits for nodes, and only if too few are free.
    """
    limited = np.array(["Limit" in one for one in full], dtype=np.bool_)
    free = ~held & ~depends & ~limited
    first = int(np.argmax(np.where(free, priority, -1))) if free.any() else -1
    return [
        "JobHeldUser" if held[k] else "Dependency" if depends[k] else full[k] if limited[k]
        else "Resources" if k == first and not enough[k] else "Priority"
        for k in range(len(priority))
    ]  # fmt: skip


def node_lists(sizes: Sequence[int], bounds: Sequence[tuple[int, int]]) -> list[str]:
    """Return a node list for each of several jobs that run at once, within the bounds of its queue; bounds nest."""
    taken: set[int] = set()
    found = [""] * len(sizes)
    for k in sorted(range(len(sizes)), key=lambda k: bounds[k][1] - bounds[k][0]):
        first, last = bounds[k]
        mine = [node for node in range(first, last + 1) if node not in taken][: sizes[k]]
        taken.update(mine)
        found[k] = _listed(mine)
    return found


def _listed(nodes: Sequence[int]) -> str:
    """Return nodes as Slurm lists them: n7, n[1-3], n[1-3,9]."""
    if len(nodes) == 1:
        return f"n{nodes[0]}"
    spans: list[list[int]] = []
    for node in nodes:
        if spans and node == spans[-1][1] + 1:
            spans[-1][1] = node
        else:
            spans.append([node, node])
    return f"n[{','.join(f'{low}-{high}' if low < high else f'{low}' for low, high in spans)}]"
