"""What is compared with what, and the table of it: `PYTHONPATH=tests python -m slurm.compared` prints that."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from slurm.differences import BECAUSE
from slurm.on_named_nodes import starts_on_named_nodes
from slurm.own_days import own_starts
from slurm.recording import Recording
from slurm.replay import Comparison, Start, clocks_of, compare

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDED = Path(__file__).parent / "recorded"


class Scheduler(NamedTuple):
    """A scheduler of Slurm's, and the policy of ours that it is compared with."""

    title: str
    ours: str


DAYS = {
    "chains": "conditions of every kind, singletons",
    "begin": "earliest starts",
    "maintenance": "maintenance of some nodes, then of all",
    "overtaken": "a wide job behind a maintenance",
    "array": "arrays, of which three and one may run",
    "maintenance_again": "held out: maintenance, other jobs",
    "array_again": "held out: arrays, other jobs",
}
SCHEDULERS = {
    "builtin": Scheduler("first come, first served", "fcfs"),
    "backfill": Scheduler("backfill", "conservative"),
    "alone": Scheduler("backfill, no main scheduler", "conservative"),
}
WITHOUT_MAIN = ("maintenance", "overtaken")  # where it matters who of both starts a job
NAMES = [f"{day}-{one}" for day in DAYS for one in SCHEDULERS if one != "alone" or day in WITHOUT_MAIN]
COURSE = "course-builtin"  # with a reservation
HELD_OUT = [name for name in NAMES if "_again-" in name]  # played when all else stood; shown, and not explained


def scheduler_of(name: str) -> str:
    """Return the scheduler under which a day was recorded."""
    return name.partition("-")[2]


def with_ours(name: str) -> Comparison:
    """Return how the starts of a recorded day are apart from those of our policy."""
    return compare(Recording.read(RECORDED / name), SCHEDULERS[scheduler_of(name)].ours)


def on_named_nodes(name: str) -> Comparison:
    """Return how they are apart from a plan on nodes that have names."""
    recording = Recording.read(RECORDED / name)
    begun, ended = starts_on_named_nodes(recording, scheduler_of(name))
    starts = (
        Start(job.called, _known(job.start), _known(job.end), _known(begun.get(row)), _known(ended.get(row)))
        for row, job in enumerate(recording.jobs)
    )
    return Comparison(tuple(starts), clocks_of(recording))


def by_slurm(name: str) -> Comparison:
    """Return how they are apart from those of Slurm's own scheduler here."""
    recording = Recording.read(RECORDED / name)
    return Comparison(tuple(own_starts(recording)), clocks_of(recording))


def _known(moment: float | None) -> float:
    return math.nan if moment is None else moment


def table() -> Iterator[str]:
    """Give the lines of the table of all that is compared."""
    yield "| day | Slurm's scheduler | jobs | its clocks | ours | within them | at most apart | decided otherwise |"
    yield "|---|---|---|---|---|---|---|---|"
    for name in NAMES:
        its = SCHEDULERS[scheduler_of(name)]
        rows = ((its.ours, with_ours(name)), ("on named nodes", on_named_nodes(name)), ("slurm", by_slurm(name)))
        for k, (ours, found) in enumerate(rows):
            first = (DAYS[name.partition("-")[0]], its.title, len(found.starts), f"{found.clocks:.0f} s")
            what = "".join(f"| {cell} " for cell in first) if not k else "| | | | "
            others = ", ".join(found.unexplained()) or "none"
            yield f"{what}| {ours} | {found.within:.0%} | {found.largest:.0f} s | {others} |"
    yield ""
    for reason in dict.fromkeys(reason for named in BECAUSE.values() for reason in named.values()):
        where = (
            f"{', '.join(job for job, why in named.items() if why == reason)} ({name})"
            for name, named in BECAUSE.items()
            if reason in named.values()
        )
        yield f"* {'; '.join(where)}: {reason}."


if __name__ == "__main__":
    print("\n".join(table()))
