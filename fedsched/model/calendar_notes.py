"""What is to be said of a calendar from a file of another program: what was left out, and what was assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.model.calendar import Downtime


class NotedCalendar(tuple["Downtime", ...]):
    """Downtimes like any others, with facts of a few words each; equal to the bare ones, and written as those."""

    left_out: tuple[str, ...]
    assumed: tuple[str, ...]

    def __new__(
        cls, downtimes: Iterable[Downtime] = (), *, left_out: Iterable[str] = (), assumed: Iterable[str] = ()
    ) -> Self:
        """Return the downtimes with what is to be said of them."""
        made = super().__new__(cls, downtimes)
        made.left_out, made.assumed = tuple(left_out), tuple(assumed)
        return made


def left_out_of(calendar: tuple[Downtime, ...]) -> tuple[str, ...]:
    """Return what the calendar's file holds and the model does not."""
    return calendar.left_out if isinstance(calendar, NotedCalendar) else ()


def assumed_of(calendar: tuple[Downtime, ...]) -> tuple[str, ...]:
    """Return what was assumed where the calendar's file says nothing."""
    return calendar.assumed if isinstance(calendar, NotedCalendar) else ()
