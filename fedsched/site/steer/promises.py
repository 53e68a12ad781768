"""Deadlines by which jobs must have started: the first promise, and what moves it later."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Starts = Mapping[int, float]


class Promises(NamedTuple):
    """The deadlines promised to jobs, by number, in seconds since 1970.

    A job that comes later with a higher priority moves the deadlines of the jobs that it would delay without fedsched,
    by that delay. So does a priority that overtakes another. If that is reversed later, the deadlines move back, but
    never before the first promise.

    Parameters
    ----------
    first
        Each job's first deadline: its forecast when the job was first seen, plus the slack.
    until
        Each job's deadline as of the last plan.
    turn
        The order of the jobs at the last plan, without fedsched's changes.
    """

    first: Starts
    until: Starts
    turn: Sequence[int] = ()

    def renewed(
        self, before: Starts, slack: float, starts_of: Callable[[Sequence[int]], Starts]
    ) -> dict[int, float]:
        """Return the current deadline of each job.

        Parameters
        ----------
        before
            The jobs' starts without fedsched's changes, in the order of the queue.
        starts_of
            Returns their starts in another order.
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
