"""Replay: how a cycle's assignment runs if jobs end before their reservations do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.values import seed_of
from fedsched.io.arguments import noun_of
from fedsched.market.arrays import needs_of, scratch, slot_list
from fedsched.market.codes import Figure

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fedsched.market.assignment import Assignment

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SHORTEST = 0.2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replay:
    """The real course of a cycle: starts, nodes, and the used share of each job's reservation.

    Parameters
    ----------
    planned
        The assignment.
    share
        The real run time of each job over its reserved one.
    figures, nodes
        Like those of the assignment, but of the reservations that were really used.
    moves
        How often a job moved to an earlier window.

    Examples
    --------
    >>> batch = fs.market.Jobs(jobs=5).batch(seed=1)
    >>> plan = fs.market.schedule(batch, fs.market.Domain().environment(seed=1), method="css")
    >>> fs.market.replay(plan, share=1.0).moves
    0
    """

    planned: Assignment
    share: Floats  # real run time over reserved run time
    figures: Floats  # as of the assignment, of the reservations that were really used
    nodes: Ints
    moves: int  # how often a job moved to an earlier window

    @property
    def start(self) -> Floats:
        """Return the real start of every job; NaN without a window, as in the other figures."""
        return self.figures[:, Figure.START]

    @property
    def runtime(self) -> Floats:
        """Return the real run time of every job: its share of its longest slot."""
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
    """Return how an assignment runs if jobs use only a share of their reservations.

    At each early release, the backfilled jobs that have not started move, in batch order, to their earliest window
    within budget if it starts earlier than their present one. Windows that the VO chose stay.

    Parameters
    ----------
    assignment
        The planned cycle.
    share
        Each job's real run time over its reservation, in (0, 1]; by default drawn uniformly from `shortest` to 1.
    shortest
        See `share`.
    seed
        The seed of the drawn shares.

    Examples
    --------
    >>> batch = fs.market.Jobs(jobs=5).batch(seed=1)
    >>> plan = fs.market.schedule(batch, fs.market.Domain().environment(seed=1), method="backfilling")
    >>> bool((fs.market.replay(plan, share=0.5).start <= plan.start).all())
    True
    """
    from fedsched.market.assignment import Assignment
    from fedsched.market.replay_kernel import run_through
    from fedsched.market.slot_list_kernels import cut

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
