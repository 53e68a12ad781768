"""Choose the changes that help most, if only a limited number may be made at once."""

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
    """Return at most `most` changes, chosen greedily for the least score; none if they do not save a second.

    Each step takes the change that gives the least score together with those taken before. A step may raise the score,
    since some changes help only together. Returned are the changes up to the step with the least score.

    Parameters
    ----------
    offered
        Gives the possible changes besides those taken; of several with the same score, the first is taken.
    score
        Returns the score with these changes made; less is better.
    goes_on
        Asked before each try; False ends the search.
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
