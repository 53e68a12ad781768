"""Partitions: named sets of nodes, and the conditions that a job must meet to use them [37]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import FederationError
from fedsched.core.values import is_number
from fedsched.model.jobs.validation import check_labels
from fedsched.model.machine.node_ranges import check_node_count, named_nodes, ranges_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

HIGHEST_TIER = 65_533


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition: a named set of nodes for the jobs that ask for it by name; partitions may overlap.

    Parameters
    ----------
    name
        The name by which jobs ask for it: their label "partition".
    nodes
        By cluster: "all", or ranges of node numbers, counted from 0 through the cluster: "0-15,20".
    max_time
        The longest requested time of a job here, in seconds.
    default_time
        The requested time, in seconds, of a job here without one in its log; if None, its run time is used instead.
    min_nodes, max_nodes
        The fewest and the most nodes of a job here.
    tier
        Jobs of a higher tier come first in every queue order.
    accounts
        The accounts that may use it, by the jobs' label "account"; none (default) = all.
    qos
        The qualities of service that may use it, by the jobs' label "qos"; none (default) = all. Jobs without that
        label may use it.
    default
        Jobs that ask for no partition are here; without a default partition they may use every node.
    factor
        The partition's weight in the priorities of its jobs, as Slurm's PriorityJobFactor; None (default) = 1. A factor
        in the scheduler's slurm.conf takes precedence.

    Examples
    --------
    >>> short = fs.Partition("short", (("north", "0-3"),), max_time=3600)
    >>> machine = fs.Federation((fs.Cluster("north", (fs.NodeGroup(16),)),), partitions=(short,))
    >>> machine.partitions[0].name
    'short'
    """

    name: str
    nodes: tuple[tuple[str, str], ...]
    max_time: float = math.inf
    min_nodes: int = 1
    max_nodes: int | None = None
    accounts: tuple[str, ...] = ()
    default: bool = False
    default_time: float | None = None
    tier: int = 1
    qos: tuple[str, ...] = ()
    factor: int | None = None

    def __post_init__(self) -> None:
        try:
            check_labels("Partition: name", (self.name,))
        except ValueError as error:
            raise FederationError(str(error)) from None
        given = self.nodes.items() if isinstance(self.nodes, Mapping) else self.nodes
        object.__setattr__(self, "nodes", tuple((str(cluster), str(text).strip()) for cluster, text in given))
        for field in ("accounts", "qos"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if not self.nodes:
            raise FederationError(f"Partition {self.name!r}: it has no nodes; give nodes={{cluster: 'all'}}.")
        for cluster, text in self.nodes:
            list(ranges_of(text, f"Partition {self.name!r}: nodes of {cluster!r}"))
        if not (is_number(self.max_time) or self.max_time == math.inf) or not self.max_time > 0:
            raise FederationError(f"Partition {self.name!r}: max_time={self.max_time!r} must be above 0 seconds.")
        usual = self.default_time
        if usual is not None and not (is_number(usual) and 0 < usual <= self.max_time):
            raise FederationError(
                f"Partition {self.name!r}: default_time={usual!r} must be above 0 seconds and no longer than its "
                f"max_time, {self.max_time!r}."
            )
        for field in ("min_nodes", "max_nodes"):
            value = getattr(self, field)
            if value is not None and (not is_number(value) or int(value) != value or value < 1):
                raise FederationError(
                    f"Partition {self.name!r}: {field}={value!r} must be a whole number of at least 1."
                )
        for field, number in (("tier", self.tier), ("factor", 0 if self.factor is None else self.factor)):
            if not is_number(number) or int(number) != number or not 0 <= number <= HIGHEST_TIER:
                raise FederationError(
                    f"Partition {self.name!r}: {field}={number!r} must be a whole number from 0 to {HIGHEST_TIER}."
                )
        if self.max_nodes is not None and self.max_nodes < self.min_nodes:
            raise FederationError(
                f"Partition {self.name!r}: max_nodes={self.max_nodes} is below min_nodes={self.min_nodes}."
            )

    def members(self, clusters: Mapping[str, int]) -> dict[str, NDArray[np.bool_]]:
        """Return, for each cluster, which of its nodes the partition has.

        `clusters` maps cluster names to numbers of nodes.
        """
        for cluster, nodes in clusters.items():
            check_node_count(cluster, nodes)
        found = {cluster: np.zeros(nodes, dtype=np.bool_) for cluster, nodes in clusters.items()}
        for cluster, text in self.nodes:
            there = named_nodes(cluster, text, clusters, f"Partition {self.name!r}: nodes of {cluster!r}")
            found[cluster] |= there
        return found

    def refusals(
        self,
        nodes: NDArray[np.int64],
        seconds: NDArray[np.float64],
        account: NDArray[Any],
        qos: NDArray[Any],
        room: int,
        *,
        called: str = "tasks",
    ) -> dict[int, str]:
        """Return the jobs that this partition refuses, by index, each with its first reason.

        Each job is given by its number of nodes, requested seconds, account and QOS. `room` is the number of nodes of
        this partition. Reasons call the jobs' nodes `called`: "tasks" if each task has a node of its own.
        """
        name = f"partition {self.name!r}"
        most = math.inf if self.max_nodes is None else self.max_nodes
        none = np.zeros(len(nodes), dtype=np.bool_)
        other_accounts = ~np.isin(account, self.accounts) if self.accounts else none
        other_qos = ~np.isin(qos, ("", *self.qos)) if self.qos else none
        rules: tuple[tuple[NDArray[np.bool_], Callable[[int], str]], ...] = (
            (
                seconds > self.max_time,
                lambda i: f"its request of {seconds[i]:g} s is over the {self.max_time:g} s of {name}",
            ),
            (nodes < self.min_nodes, lambda i: f"{called}={nodes[i]} is below the {self.min_nodes} of {name}"),
            (nodes > most, lambda i: f"{called}={nodes[i]} is over the {self.max_nodes} of {name}"),
            (other_accounts, lambda i: f"account {str(account[i])!r} may not use {name}"),
            (other_qos, lambda i: f"QOS {str(qos[i])!r} may not use {name}"),
            (nodes > room, lambda i: f"{called}={nodes[i]} exceeds the {room} nodes of {name}"),
        )
        found: dict[int, str] = {}
        for broken, reason in rules:
            for i in np.flatnonzero(broken).tolist():
                found.setdefault(i, reason(i))
        return found


def check_partitions(federation: str, partitions: Sequence[Partition]) -> None:
    """Raise if two partitions have the same name, or two are the default."""
    names = [partition.name for partition in partitions]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FederationError(f"Federation {federation!r}: two partitions are named {twice!r}; names must differ.")
    if len(defaults := [partition.name for partition in partitions if partition.default]) > 1:
        raise FederationError(
            f"Federation {federation!r}: {defaults[0]!r} and {defaults[1]!r} are both the default; only one may be."
        )
