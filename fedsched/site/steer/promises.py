"""By when jobs must have started: what was promised them first, and what moves that later."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Starts = Mapping[int, float]


class Promises(NamedTuple):
    """What jobs were promised, by number, in seconds since 1970.

    Who comes later with more priority moves the promises of those whom he would delay without us, by as much as he
    would; so do priorities that move past each other. What moves back later takes that back, but nothing of what was
    promised first.

    Parameters
    ----------
    first
        By when each was to have started as it was seen first: its forecast then, and the slack.
    until
        The same as of the last plan.
    turn
        In which order jobs would have had their turn then, without us.
    """

    first: Starts
    until: Starts
    turn: Sequence[int] = ()

    def renewed(
        self, before: Starts, slack: float, starts_of: Callable[[Sequence[int]], Starts]
    ) -> dict[int, float]:
        """Return by when each job must have started now.

        Parameters
        ----------
        before
            When jobs start as things are without us, in the order in which they have their turn.
        starts_of
            When they would in another order.
        """
        known = [number for number in before if number in self.until]
        place = {number: k for k, number in enumerate(self.turn)}
        known.sort(key=lambda number: place.get(number, len(place)))
        behind = [number for number in before if number not in self.until]
        as_it_was = [*known, *behind]
        alone = before if as_it_was == list(before) else starts_of(as_it_was)
        moved = {number: self.until[number] + before[number] - alone[number] for number in known}
        return {
            number: max(self.first.get(number, self.until[number]), moved[number]) if number in moved
            else start + slack
            for number, start in before.items()
        }  # fmt: skip
