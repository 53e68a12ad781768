"""Slots: the free time of each node of a domain; Timetable: the time that its owner's local tasks take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """Free spans [start, end) of nodes, by (start, node); adjacent spans of a node are merged, and none overlap.

    Parameters
    ----------
    node
        The node of each span, counted from 0.
    start, end
        When each span begins and ends, `end` excluded.

    Examples
    --------
    >>> slots = fs.market.Slots(node=[0, 0, 1], start=[0, 60, 10], end=[50, 120, 90])
    >>> slots.length
    array([50., 80., 60.])
    >>> slots.on_node(0)
    [(0.0, 50.0), (60.0, 120.0)]
    """

    node: Ints
    start: Floats
    end: Floats

    def __post_init__(self) -> None:
        node, start, end = _spans("Slots", self.node, self.start, self.end)
        node, start, end = _merged(node, start, end)
        order = np.lexsort((node, start))
        _keep(self, node[order], start[order], end[order])

    def __len__(self) -> int:
        return len(self.node)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Slots):
            return NotImplemented
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ("node", "start", "end"))

    __hash__ = None  # type: ignore[assignment]

    @property
    def length(self) -> Floats:
        """Return end − start of every slot."""
        return self.end - self.start

    def on_node(self, node: int) -> list[tuple[float, float]]:
        """Return the free spans of one node, in order."""
        rows = self.node == node
        return list(zip(self.start[rows].tolist(), self.end[rows].tolist(), strict=True))

    def __str__(self) -> str:
        nodes = counted(len(np.unique(self.node)), "node")
        return f"{counted(len(self), 'slot')} on {nodes}, {self.length.sum():,.6g} node-time units free"


@dataclass(frozen=True, slots=True, eq=False)
class Timetable:
    """The spans [start, end) of local tasks on each node, by (node, start); those of a node never overlap.

    Parameters
    ----------
    node
        The node of each span, counted from 0.
    start, end
        When each local task begins and ends.

    Examples
    --------
    >>> tasks = fs.market.Timetable(node=[0], start=[20.0], end=[50.0])
    >>> tasks.free(2, 0, 100).on_node(0)
    [(0.0, 20.0), (50.0, 100.0)]
    """

    node: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    start: Floats = field(default_factory=lambda: np.zeros(0))
    end: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        _keep(self, *_spans("Timetable", self.node, self.start, self.end))

    def __len__(self) -> int:
        return len(self.node)

    def free(self, nodes: int, begin: float, end: float) -> Slots:
        """Return the free slots of this many nodes between two times.

        Parameters
        ----------
        nodes
            The number of nodes.
        begin, end
            The two times.
        """
        if not begin < end:
            raise ValueError(f"Timetable: the interval {begin!r}..{end!r} must have begin before end.")
        if len(self) and int(self.node.max()) >= nodes:
            raise ValueError(f"Timetable: node {self.node.max()} must be below nodes={nodes}.")
        # A node is free between two tasks, before its first and after its last.
        every = np.arange(nodes)
        node = np.concatenate([self.node, every])
        free_from = np.concatenate([np.maximum(self.end, begin), np.full(nodes, begin)])
        order = np.lexsort((free_from, node))
        node, free_from = node[order], free_from[order]
        busy_node = np.concatenate([self.node, every])
        busy_from = np.concatenate([np.minimum(self.start, end), np.full(nodes, end)])
        order = np.lexsort((busy_from, busy_node))
        free_to = busy_from[order]
        some = free_to > free_from
        return Slots(node[some], free_from[some], free_to[some])


def _spans(noun: str, node: ArrayLike, start: ArrayLike, end: ArrayLike) -> tuple[Ints, Floats, Floats]:
    """Return the three columns as arrays sorted by (node, start); raise if a span is malformed or two overlap."""
    given = np.asarray(node)
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"{noun}: node must hold whole numbers, not {given.dtype}.")
    nodes = given.astype(np.int64)
    begins, ends = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    if nodes.ndim != 1 or nodes.shape != begins.shape or nodes.shape != ends.shape:
        raise ValueError(f"{noun}: node, start and end have shapes {nodes.shape}, {begins.shape} and {ends.shape}; "
                         "they must be rows of one length.")  # fmt: skip
    for name, column, holds, rule in (
        ("node", nodes, nodes >= 0, "must be at least 0"),
        ("start", begins, np.isfinite(begins), "must be finite"),
        ("end", ends, np.isfinite(ends) & (ends > begins), "must be finite and behind its start"),
    ):
        if not holds.all():
            row = int(np.argmin(holds))
            raise ValueError(f"{noun}: row {row} on node {nodes[row]}: {name}={column[row].item()!r} {rule}.")
    order = np.lexsort((begins, nodes))
    nodes, begins, ends = nodes[order], begins[order], ends[order]
    overlap = (nodes[1:] == nodes[:-1]) & (begins[1:] < ends[:-1])
    if overlap.any():
        i = int(np.argmax(overlap))
        raise ValueError(
            f"{noun}: node {nodes[i]} has overlapping spans {begins[i]:g}..{ends[i]:g} and "
            f"{begins[i + 1]:g}..{ends[i + 1]:g}; the spans of a node must be disjoint."
        )
    return nodes, begins, ends


def _merged(node: Ints, start: Floats, end: Floats) -> tuple[Ints, Floats, Floats]:
    if not len(node):
        return node, start, end
    goes_on = np.concatenate([[False], (node[1:] == node[:-1]) & (start[1:] == end[:-1])])
    first = np.flatnonzero(~goes_on)
    last = np.concatenate([first[1:], [len(node)]]) - 1
    return node[first], start[first], end[last]


def _keep(noun: Slots | Timetable, node: Ints, start: Floats, end: Floats) -> None:
    for name, column in (("node", node), ("start", start), ("end", end)):
        kept = np.ascontiguousarray(column)
        kept.setflags(write=False)
        object.__setattr__(noun, name, kept)
