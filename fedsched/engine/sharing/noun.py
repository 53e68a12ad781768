"""NodeSharing: the rules by which jobs share nodes."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from fedsched.core.errors import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.core.names import SharedReservationName, SharingName

CHOICES: Mapping[str, str] = MappingProxyType(
    {
        "first": "the lowest node number first",
        "best": "the node with the least free first",
        "least_loaded": "the node with the most free first",
        "pack": "as few nodes as possible",
        "spread": "as many nodes as possible, a task a node in turn",
        "block": "the smallest block of nodes side by side that has room for all, as Slurm's cons_tres does",
    }
)
RESERVATIONS: Mapping[str, str] = MappingProxyType(
    {
        "resources": "what each job frees at its planned end counts",
        "nodes": "a shared node counts as free when its last job is planned to end",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSharing:
    """How jobs share nodes: which nodes tasks take, and what planned ends free for the reservation of EASY's head.

    Parameters
    ----------
    choice
        Which nodes of a group tasks take first, a name of `CHOICES`; of equal nodes, the one with the lowest number.
    reservation
        A name of `RESERVATIONS`. "resources" is exact: each planned end frees what the job holds. With "nodes" a shared
        node becomes free as a whole, at the planned end of its last job.

    Examples
    --------
    >>> node = fs.NodeGroup(1, resources=(("cpu", 4),))
    >>> jobs = fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[60, 60], demand={"cpu": [2, 2]})
    >>> fs.simulate(jobs, node, sharing=fs.NodeSharing(choice="best")).start
    array([0., 0.])
    >>> fs.simulate(jobs, node).start
    array([ 0., 60.])
    """

    choice: SharingName = "first"
    reservation: SharedReservationName = "resources"

    def __post_init__(self) -> None:
        if self.choice not in CHOICES:
            raise unknown_name("choice of nodes", self.choice, CHOICES)
        if self.reservation not in RESERVATIONS:
            raise unknown_name("reservation on shared nodes", self.reservation, RESERVATIONS)

    @classmethod
    def of(cls, given: NodeSharing | SharingName) -> NodeSharing:
        """Return a NodeSharing as it is; for the name of a choice, return the NodeSharing with this choice."""
        if isinstance(given, NodeSharing):
            return given
        if not isinstance(given, str):
            raise TypeError(f"sharing={given!r} must be a NodeSharing, or the name of a choice: {', '.join(CHOICES)}.")
        return cls(choice=given)

    def __str__(self) -> str:
        coarse = ", counted free whole" if self.reservation == "nodes" else ""
        return f"shared nodes ({self.choice}{coarse})"
