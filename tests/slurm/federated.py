"""Two real Slurms in one federation: each with its own controller and nodes, accounts kept by the first for both."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from slurm.accounted import AccountedCluster
from slurm.cluster import SlurmCluster, SlurmError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("north", "south")
ACCOUNTS = [
    *(f"add cluster {name}" for name in NAMES), "add account all cluster=north,south",
    *(f"add user {user} account=all cluster=north,south" for user in ("root", "games", "lp")),
]  # fmt: skip
COME_TOGETHER = 120  # looks


@contextmanager
def federated(
    folder: Path, *, nodes: tuple[int, int], settings: str, factor: float
) -> Iterator[tuple[SlurmCluster, SlurmCluster]]:
    """Give two clusters that are one federation, with so many nodes; all ends with the with statement."""
    with ExitStack() as undo:
        north = AccountedCluster(
            folder / NAMES[0], accounts=ACCOUNTS, nodes=nodes[0], settings=settings, factor=factor, name=NAMES[0]
        )
        undo.enter_context(north)
        south = SlurmCluster(
            folder / NAMES[1], nodes=nodes[1], settings=settings + north.kept_here, factor=factor, name=NAMES[1],
            beside=north,
        )  # fmt: skip
        undo.enter_context(south)
        north.tell("sacctmgr", "-i", "add", "federation", "both", f"clusters={','.join(NAMES)}")
        for _ in range(COME_TOGETHER):
            if all("Synced:Yes" in one.ask("scontrol", "show", "federation") for one in (north, south)):
                break
            time.sleep(0.5)
        else:
            raise SlurmError("the two clusters have not found each other")
        yield north, south
