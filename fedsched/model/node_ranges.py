"""Nodes of a cluster by their numbers, counted from 0 through its groups: "all", "0-15,20"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from fedsched.errors import FederationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

ALL = "all"
_RANGE = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?", re.ASCII)


def ranges_of(text: str, where: str) -> Iterator[tuple[int, int]]:
    """Give the first and last node of each range of a text; of all nodes 0 and -1."""
    if text.lower() == ALL:
        yield 0, -1
        return
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first:
            raise FederationError(f"{where}: {part!r} must be 'all', or node numbers like 0-15,20.")
        yield first, last


def named_nodes(cluster: str, text: str, clusters: Mapping[str, int], where: str) -> NDArray[np.bool_]:
    """Return which nodes of a cluster a text names; `clusters` are the numbers of nodes by name."""
    if cluster not in clusters:
        raise FederationError(f"{where}: there is no such cluster; known: {', '.join(clusters)}.")
    nodes = clusters[cluster]
    found = np.zeros(nodes, dtype=np.bool_)
    for first, last in ranges_of(text, where):
        last = nodes - 1 if last < 0 else last
        if last >= nodes:
            raise FederationError(f"{where}: node {last} is none of its {nodes}, 0 to {nodes - 1}.")
        found[first : last + 1] = True
    return found
