"""Changes by the round: where only so many may be made at once, those that are worth most go first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.site.steer.plan import TELLING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Changes = Mapping[int, int]  # what jobs are given, by their numbers


def worth_most(
    offered: Callable[[Changes], Iterable[tuple[int, int]]],
    most: int,
    score: Callable[[Changes], float],
    goes_on: Callable[[], bool] = lambda: True,
) -> dict[int, int]:
    """Return so many changes at most, with which the score is least; none where no such few save a second.

    One after the other is taken that leaves the least score beside those taken before. It may leave more than there
    was, for some are worth something only together; in the end as many of them are returned as are best.

    Parameters
    ----------
    offered
        Which jobs may be given what beside the changes that are taken; of equal worth the first goes first.
    score
        What is to be small once some changes are made.
    goes_on
        Asked before each try.
    """
    taken = dict[int, int]()
    best, least = dict[int, int](), score({})
    while len(taken) < most:
        tried: dict[tuple[int, int], float] = {}
        for number, change in offered(taken):
            if number in taken:
                continue
            if not goes_on():
                break
            tried[number, change] = score({**taken, number: change})
        if not tried:
            break
        number, change = min(tried, key=lambda one: tried[one])
        taken[number] = change
        if tried[number, change] < least - TELLING:
            best, least = dict(taken), tried[number, change]
    return best
