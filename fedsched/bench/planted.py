"""Packages with a planted optimum: a machine that is full up to the makespan is cut into jobs, in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fedsched.bench.exact_numbers import decimal

if TYPE_CHECKING:
    from fedsched.bench.exact_numbers import Draws
    from fedsched.bench.jobs import Columns


class Room(NamedTuple):
    """The nodes of one speed that are cut into jobs together: a number of nodes of each group."""

    speed: str
    groups: tuple[tuple[int, int], ...]  # group, nodes

    @property
    def nodes(self) -> int:
        """Return the number of nodes of the room."""
        return sum(nodes for _, nodes in self.groups)

    def counts(self, first: int, width: int) -> dict[int, int]:
        """Return the number of nodes of each group among the `width` nodes of the room from node `first` on."""
        found, begin = {}, 0
        for group, nodes in self.groups:
            inside = min(first + width, begin + nodes) - max(first, begin)
            if inside > 0:
                found[group] = inside
            begin += nodes
        return found


class Piece(NamedTuple):
    """A job of the planted schedule: its room, first node and width there, and its begin and length in seconds."""

    room: int
    node: int
    begin: int
    width: int
    seconds: int


def cut(draws: Draws, rooms: list[Room], jobs: int, makespan: int) -> list[Piece]:
    """Cut each room into pieces, and return the planted schedule: one piece for each job, in the order of the jobs.

    No node idles before the makespan, in seconds.
    """
    left, pieces = jobs, []
    for k, room in enumerate(rooms):
        behind = rooms[k + 1 :]
        nodes = room.nodes + sum(other.nodes for other in behind)
        parts = max(1, min(left - len(behind), left * room.nodes // nodes))
        pieces += _cut_up(draws, Piece(k, 0, 0, room.nodes, makespan), parts)
        left -= parts
    return draws.shuffled(pieces)


def _cut_up(draws: Draws, whole: Piece, parts: int) -> list[Piece]:
    done, todo = [], [(whole, parts)]
    while todo:
        piece, wanted = todo.pop()
        if wanted == 1:
            done.append(piece)
            continue
        across_time = piece.width == 1 or (piece.seconds > 60 and draws.below(2) == 0)
        size = piece.seconds if across_time else piece.width
        at = min(max(1, size * draws.between(20, 80) // 100), size - 1)
        if across_time:
            one, other = piece._replace(seconds=at), piece._replace(begin=piece.begin + at, seconds=size - at)
        else:
            one, other = piece._replace(width=at), piece._replace(node=piece.node + at, width=size - at)
        cells = [half.width * half.seconds for half in (one, other)]
        share = min(max(1, wanted * cells[0] // sum(cells), wanted - cells[1]), wanted - 1, cells[0])
        todo += [(one, share), (other, wanted - share)]
    return done


def jobs_of(pieces: list[Piece], rooms: list[Room]) -> Columns:
    """Return the jobs of a planted schedule as columns, with run times on reference nodes; all are submitted at 0."""
    return {
        "submit": [0] * len(pieces),
        "tasks": [piece.width for piece in pieces],
        "runtime": [decimal(piece.seconds * Fraction(rooms[piece.room].speed)) for piece in pieces],
    }
