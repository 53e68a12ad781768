"""The kernel that searches alternatives: in each pass over the jobs, each job takes a window from the slots left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined, kernel
from fedsched.market.codes import Choice, Figure, Place, Status
from fedsched.market.scan import scan
from fedsched.market.slot_list_kernels import cut

if TYPE_CHECKING:
    from fedsched.market.arrays import Found, Needs, Rounds, Scratch, SlotList

OWN = -1  # in place of a criterion: each job's own


@inlined
def _record(needs: Needs, j: int, work: Scratch, found: Found) -> None:
    row = found.used[0]
    found.used[0] = row + 1
    found.job[row] = j
    for k in range(found.figures.shape[1]):
        found.figures[row, k] = work.figures[k]
    for k in range(needs.nodes[j]):
        found.nodes[row, k] = work.best[k]


@kernel
def search(
    slots: SlotList,
    needs: Needs,
    first: int,
    last: int,
    rule: int,
    criterion: int,
    choice: int,
    seed: int,
    most: int,
    work: Scratch,
    found: Found,
    rounds: Rounds,
) -> int:
    """Search for disjoint windows of jobs first to last − 1, pass after pass, and return a Status.

    DONE: a pass found none, or there were `most` passes. MORE: the arrays are full; called again with larger arrays,
    the search continues. The windows are appended to `found`, and their slots are cut from `slots`.
    """
    place = rounds.place
    while True:
        while place[Place.NEXT] < last:
            j = place[Place.NEXT]
            if not rounds.done[j]:
                row = found.used[0]
                if row == found.job.size or slots.used[0] + needs.nodes[j] > slots.start.size:
                    return Status.MORE
                wanted = needs.criterion[j] if criterion == OWN else criterion
                if scan(slots, needs, j, rule, wanted, choice, seed + row, work):
                    cut(slots, needs, j, work.figures[Figure.START], work.best)
                    _record(needs, j, work, found)
                    place[Place.TAKEN] += 1
                elif choice != Choice.RANDOM:
                    rounds.done[j] = True  # slots only shrink
            place[Place.NEXT] += 1
        place[Place.PASS] += 1
        if place[Place.TAKEN] == 0 or place[Place.PASS] == most:
            return Status.DONE
        place[Place.NEXT] = first
        place[Place.TAKEN] = 0
