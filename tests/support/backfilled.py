"""Random logs and rules around whose heads others are backfilled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.plain import jobs

from fedsched.engine.codes import SameTime

if TYPE_CHECKING:
    import random

    import fedsched as fs


def outrunning(rng: random.Random, tasks: list[int], runtime: list[float], **columns: object) -> fs.Workload:
    """Return jobs that come within a minute, of which some outrun their estimates and some do not only compute."""
    return jobs(
        tasks,
        runtime,
        submit=sorted(float(rng.randint(0, 60)) for _ in tasks),
        estimate=[max(1.0, seconds + rng.randint(-5, 20)) for seconds in runtime],
        compute_fraction=[rng.choice((0.5, 1.0)) for _ in tasks],
        **columns,
    )


def rules(rng: random.Random, backfill_orders: tuple[str | None, ...]) -> dict[str, object]:
    """Return rules that backfill around a head, by one of these orders."""
    return {
        "dispatch": rng.choice(("easy", "easy", "lookahead")),
        "order": rng.choice(("fcfs", "sjf")),
        "backfill_order": rng.choice(backfill_orders),
        "placement": rng.choice(("fastest", "single", "efficient")),
        "same_time": rng.choice((SameTime.BATCH, SameTime.SEQUENTIAL)),
    }
