"""Functions on the node numbers of a cluster, from 0 on: their texts, such as "all" or "0-15,20", and their groups."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import FederationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

ALL = "all"
MOST_SINGLE_NODES = 10_000_000  # the most nodes of a cluster that are stored one by one: no machine has as many
_RANGE = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?", re.ASCII)


def ranges_of(text: str, where: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last node of each range in a text; 0 and -1 for "all"; raise if it is no such text."""
    if text.lower() == ALL:
        yield 0, -1
        return
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first:
            raise FederationError(f"{where}: {part!r} must be 'all', or node numbers like 0-15,20.")
        yield first, last


def check_node_count(cluster: str, nodes: int) -> None:
    """Raise if a cluster has more than 10 million nodes, which are too many to store one by one."""
    if nodes > MOST_SINGLE_NODES:
        raise FederationError(
            f"Cluster {cluster!r}: its {nodes:,} nodes are more than the {MOST_SINGLE_NODES:,} that partitions, "
            "downtimes, sharing, power saving, searches and policy slurm tell apart; give fewer nodes."
        )


def named_nodes(cluster: str, text: str, clusters: Mapping[str, int], where: str) -> NDArray[np.bool_]:
    """Return, for each node of a cluster, whether a text names it; raise if the cluster or a node is unknown.

    `clusters` maps cluster names to numbers of nodes; `where` begins the errors.
    """
    if cluster not in clusters:
        raise FederationError(f"{where}: there is no such cluster; known: {', '.join(clusters)}.")
    check_node_count(cluster, nodes := clusters[cluster])
    found = np.zeros(nodes, dtype=np.bool_)
    for first, last in ranges_of(text, where):
        last = nodes - 1 if last < 0 else last
        if last >= nodes:
            raise FederationError(f"{where}: node {last} is not one of its {nodes} nodes, 0 to {nodes - 1}.")
        found[first : last + 1] = True
    return found


def groups_of_nodes(cluster: str, groups: Sequence[tuple[int, str | None]]) -> NDArray[np.int64]:
    """Return the index of each node's group, by node number.

    Each group is (its number of nodes, the text of their numbers). If all texts are None, groups take consecutive
    nodes in order. Raise if the texts do not fit the numbers, or name a node twice.
    """
    counts = [count for count, _ in groups]
    check_node_count(cluster, sum(counts))
    if all(text is None for _, text in groups):
        return np.repeat(np.arange(len(groups)), counts)
    found = np.full(sum(counts), -1)
    for g, (count, text) in enumerate(groups):
        where = f"Cluster {cluster!r}: group {g}"
        if text is None:
            raise FederationError(f"{where}: nodes= is missing, but other groups have it; give it here as well.")
        own = named_nodes(cluster, text, {cluster: found.size}, where)
        if int(own.sum()) != count:
            raise FederationError(f"{where}: nodes={text!r} are {own.sum()} nodes; its count={count} must be the same.")
        if (twice := np.flatnonzero(own & (found >= 0))).size:
            raise FederationError(f"{where}: node {twice[0]} is in group {found[twice[0]]} too; name it in one.")
        found[own] = g
    return found


def ranges_text(nodes: Iterable[int]) -> str:
    """Return ascending whole numbers as a text of ranges: "0-15,20"."""
    parts = []
    for _, run in groupby(enumerate(nodes), key=lambda pair: pair[1] - pair[0]):
        members = [node for _, node in run]
        parts.append(f"{members[0]}-{members[-1]}" if len(members) > 1 else f"{members[0]}")
    return ",".join(parts)


def atoms(group: NDArray[np.int64], sets: NDArray[np.bool_], unforeseen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the number of each node's atom: an atom is the nodes of one group that are in the same sets.

    `sets` and `unforeseen` (both sets × nodes) say which nodes are in a set, such as a partition. Nodes of one group
    that are in the same `sets` are listed in order. Successive ones of the list that are also in the same `unforeseen`
    sets are an atom. Atoms are numbered from 0, by group, then by their lowest node.
    """
    rows = np.packbits(sets, axis=0)
    both = np.ascontiguousarray(np.concatenate([group.astype(">i8").view(np.uint8).reshape(-1, 8).T, rows]).T)
    alike = np.unique(both.view(np.dtype((np.void, both.shape[1]))).reshape(-1), return_inverse=True)[1].reshape(-1)
    order = np.argsort(alike, kind="stable")
    alike, ways = alike[order], unforeseen[:, order]
    begins = np.append(True, (alike[1:] != alike[:-1]) | (ways[:, 1:] != ways[:, :-1]).any(axis=0))
    first = order[begins]
    place = np.empty(first.size, dtype=np.int64)
    place[np.lexsort((first, group[first]))] = np.arange(first.size)
    found = np.empty_like(group)
    found[order] = place[np.cumsum(begins) - 1]
    return found
