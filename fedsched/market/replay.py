"""Replay: a cycle's assignment as it really runs, when jobs end before their reservations do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, kernel
from fedsched.core.values import seed_of
from fedsched.io.handed import noun_of
from fedsched.market.arrays import needs_of, scratch, slot_list
from fedsched.market.codes import Choice, Criterion, Figure, Rule
from fedsched.market.listing import cut, forget, give_back
from fedsched.market.scan import scan

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fedsched.market.arrays import Bools, Floats, Ints, Needs, Scratch, SlotList
    from fedsched.market.assignment import Assignment


SHORTEST = 0.2
AMP = constant(Rule.AMP)
MIN_START = constant(Criterion.MIN_START)
CHEAPEST = constant(Choice.CHEAPEST)
ZERO = constant(0)


@inlined
def _next_release(needs: Needs, figures: Floats, nodes: Ints, share: Floats, released: Bools, now: float) -> float:
    # The earliest end of a task before the end of its reservation that is still to come.
    earliest = np.inf
    for j in range(share.size):
        if np.isnan(figures[j, Figure.START]):
            continue
        for k in range(needs.nodes[j]):
            if not released[j, k]:
                end = figures[j, Figure.START] + share[j] * needs.length[j, nodes[j, k]]
                earliest = min(earliest, max(end, now))
    return earliest


@inlined
def _release(
    slots: SlotList, needs: Needs, figures: Floats, nodes: Ints, share: Floats, released: Bools, now: float
) -> None:
    # The rest of every reservation whose task has ended is free.
    for j in range(share.size):
        if np.isnan(figures[j, Figure.START]):
            continue
        for k in range(needs.nodes[j]):
            length = needs.length[j, nodes[j, k]]
            if not released[j, k] and figures[j, Figure.START] + share[j] * length <= now:
                released[j, k] = True
                give_back(slots, nodes[j, k], now, figures[j, Figure.START] + length)


@inlined
def _move(slots: SlotList, needs: Needs, j: int, figures: Floats, nodes: Ints, work: Scratch) -> None:
    # Job j takes its earliest window of what is free and what it holds itself.
    start = figures[j, Figure.START]
    for k in range(needs.nodes[j]):
        give_back(slots, nodes[j, k], start, start + needs.length[j, nodes[j, k]])
    if scan(slots, needs, j, AMP, MIN_START, CHEAPEST, ZERO, work) and work.figures[Figure.START] < start:
        for k in range(work.figures.size):
            figures[j, k] = work.figures[k]
        for k in range(needs.nodes[j]):
            nodes[j, k] = work.best[k]
    cut(slots, needs, j, figures[j, Figure.START], nodes[j])


@kernel
def run_through(
    slots: SlotList,
    needs: Needs,
    figures: Floats,
    nodes: Ints,
    share: Floats,
    movable: Bools,
    released: Bools,
    work: Scratch,
) -> int:
    """Let every task of job j end at share[j] of its reservation; return how often a job moved to an earlier window.

    At each release the movable jobs that have not started are looked at once, in batch order; each keeps clear of the
    reservations of all others. `figures` and `nodes` become what really happens.
    """
    moves = 0
    now = -np.inf
    while True:
        now = _next_release(needs, figures, nodes, share, released, now)
        if now == np.inf:
            return moves
        _release(slots, needs, figures, nodes, share, released, now)
        forget(slots, now)
        for j in range(share.size):
            if movable[j] and figures[j, Figure.START] > now:
                before = figures[j, Figure.START]
                _move(slots, needs, j, figures, nodes, work)
                if figures[j, Figure.START] < before:
                    moves += 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replay:
    """What really happened: starts, nodes, and how much of its reservation each job used."""

    planned: Assignment
    share: Floats  # real run time over reserved run time
    figures: Floats  # as of the assignment, of the reservations that were really used
    nodes: Ints
    moves: int  # how often a job moved to an earlier window

    @property
    def start(self) -> Floats:
        """Return the real start of every job."""
        return self.figures[:, Figure.START]

    @property
    def runtime(self) -> Floats:
        """Return the real run time of every job."""
        return self.share * self.figures[:, Figure.RUNTIME]

    @property
    def finish(self) -> Floats:
        """Return the real finish of every job."""
        return self.start + self.runtime

    @property
    def cpu(self) -> Floats:
        """Return the node time that every job really used."""
        return self.share * self.figures[:, Figure.CPU]


def replay(
    assignment: Assignment, *, share: ArrayLike | None = None, shortest: float = SHORTEST, seed: int = 0
) -> Replay:
    """Return how an assignment runs when jobs use only a share of their reservations.

    At each early release the backfilled jobs that have not started move, in batch order, to their earliest window
    within budget if it starts earlier than the one they hold. Windows that the VO chose stay where they are.

    Parameters
    ----------
    assignment
        The planned cycle.
    share
        Each job's real run time over its reservation, in (0, 1]; drawn uniformly from `shortest` to 1 when not given.
    shortest
        See `share`.
    seed
        What the shares are drawn by.
    """
    from fedsched.market.assignment import Assignment
    from fedsched.market.listing import cut

    noun_of("replay", "assignment", assignment, Assignment, "what market.schedule() returns")
    jobs = len(assignment)
    if share is None:
        if not 0 < shortest <= 1:
            raise ValueError(f"replay: shortest={shortest!r} must lie above 0 and at most at 1.")
        used = np.random.default_rng([seed_of("replay", seed), 2]).uniform(shortest, 1.0, jobs)
    else:
        used = np.array(np.broadcast_to(np.asarray(share, dtype=np.float64), (jobs,)))
        if not ((used > 0) & (used <= 1)).all():
            row = int(np.argmin((used > 0) & (used <= 1)))
            raise ValueError(f"replay: share={used[row].item()!r} of job {row} must lie above 0 and at most at 1.")
    needs = needs_of(assignment.batch, assignment.environment)
    figures, nodes = assignment.figures.copy(), assignment.nodes.copy()
    slots = slot_list(assignment.environment, spare=4 * int(needs.nodes.sum()))
    for j in np.flatnonzero(assignment.scheduled).tolist():
        cut(slots, needs, j, float(figures[j, Figure.START]), nodes[j])
    moves = run_through(
        slots,
        needs,
        figures,
        nodes,
        used,
        assignment.backfilled.copy(),
        np.zeros(nodes.shape, np.bool_),
        scratch(needs, slots),
    )
    for column in (used, figures, nodes):
        column.setflags(write=False)
    return Replay(planned=assignment, share=used, figures=figures, nodes=nodes, moves=moves)
