"""Simulate one queue in many orders; jobs and nodes are packed once for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.engine.run.simulation import Simulation
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fedsched.site.steer.picture import Picture


class Turns:
    """Simulates orders of a picture; the same results as its `starts`, several times as fast."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        as_it_is = range(picture.waiting)
        self._first = prepare(picture.workload, picture.federation, picture.rules(as_it_is), running=picture.running)

    def starts(
        self, order: Sequence[int], of_several: Callable[[float, float], float] = max
    ) -> dict[int, float]:
        """Return each waiting job's start if rows are scheduled in this order; of several tasks by default the last."""
        first, picture = self._first, self.picture
        rows = picture.whole(order)
        plan = first.plan._replace(order=rows, backfill_order=rows)
        run = Simulation(
            first.workload, first.federation, first.problem, plan, reading=first.reading, running=picture.running
        )
        run.advance()
        return picture.by_job(run.state.start[: picture.waiting], of_several)
