"""Jobs of packages and months, drawn in whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedsched.bench.draws import Draws

    Columns = dict[str, Any]  # a list of each, an entry a job; of demands one by resource

DAY = 86_400
# What users ask for, in minutes.
REQUESTS = tuple(60 * m for m in (5, 10, 15, 30, 60, 120, 240, 480, 720, 1080, 1440, 2160, 2880, 4320))
# Of a day's hours, how many of 66 jobs come in each.
BY_HOUR = (1, 1, 1, 1, 1, 1, 1, 2, 3, 5, 5, 5, 4, 5, 5, 5, 4, 3, 3, 2, 2, 2, 2, 2)
HOURS = tuple(hour for hour, many in enumerate(BY_HOUR) for _ in range(many))
SHARES = ("0.5", "0.6", "0.7", "0.8", "0.9")  # of a job's time that it computes, where it communicates
MEGABYTE = 1_000_000


def drawn_jobs(draws: Draws, count: int, *, widest: int, octaves: tuple[int, int]) -> Columns:
    """Return so many jobs: tasks mostly powers of two, run times by octaves of seconds, all as likely."""
    tasks, runtime = [], []
    for _ in range(count):
        power = 1 << draws.below(widest.bit_length())
        odd = draws.below(4) == 0
        tasks.append(min(widest, power + draws.below(power) if odd else power))
        octave = 1 << draws.between(*octaves)
        runtime.append(octave + draws.below(octave))
    return {"submit": [0] * count, "tasks": tasks, "runtime": runtime}


def with_communication(columns: Columns, draws: Draws) -> Columns:
    """Return the jobs with compute fractions, and 1 to 8 MB/s a task."""
    jobs = len(columns["tasks"])
    share = [draws.one_of(SHARES) for _ in range(jobs)]
    sends = [draws.between(1, 8) * MEGABYTE for _ in range(jobs)]
    return columns | {"compute_fraction": share, "task_bandwidth": sends}


def time_of_day(draws: Draws) -> int:
    """Return when in a day a job comes, in seconds."""
    return draws.one_of(HOURS) * 3600 + draws.below(3600)


def requested(draws: Draws, runtime: int) -> int:
    """Return the round time that the user of a job asks for, one to four times as long as it runs, if there is one."""
    hoped = runtime * draws.between(100, 400) // 100
    return next((at for at in REQUESTS if at >= hoped), max(REQUESTS[-1], runtime))


def arrivals(draws: Draws, count: int) -> list[int]:
    """Return when so many jobs come in a day, in order, the first one at 0."""
    times = sorted(time_of_day(draws) for _ in range(count))
    return [at - times[0] for at in times]


def month_of_jobs(draws: Draws, *, widest: int, octaves: tuple[int, int], node_seconds: int) -> Columns:
    """Return the jobs of 30 days that together take so much, in the order in which they come, with round requests."""
    rows, taken = [], 0
    while taken < node_seconds:
        one = drawn_jobs(draws, 1, widest=widest, octaves=octaves)
        tasks, runtime = one["tasks"][0], one["runtime"][0]
        submit = draws.below(30) * DAY + time_of_day(draws)
        rows.append((submit, tasks, runtime, requested(draws, runtime)))
        taken += tasks * runtime
    rows.sort()
    first = rows[0][0]
    columns = dict(zip(("submit", "tasks", "runtime", "estimate"), map(list, zip(*rows, strict=True)), strict=True))
    return columns | {"submit": [at - first for at in columns["submit"]]}


def with_dependencies(columns: Columns, draws: Draws, *, share: int) -> Columns:
    """Return the jobs of which so many per cent wait for one or two of the twelve before them."""
    after = {}
    for row in range(1, len(columns["tasks"])):
        if draws.below(100) < share:
            others = {row - draws.between(1, min(12, row)) for _ in range(draws.between(1, 2))}
            after[str(row + 1)] = ",".join(f"afterok:{other + 1}" for other in sorted(others))
    return columns | {"after": [after.get(str(row + 1), "") for row in range(len(columns["tasks"]))]}


def with_partitions(columns: Columns, draws: Draws, rooms: dict[str, tuple[int, int]]) -> Columns:
    """Return the jobs with a partition each, of those whose nodes and seconds they keep to."""
    named = []
    for tasks, runtime in zip(columns["tasks"], columns["runtime"], strict=True):
        fits = [name for name, (nodes, seconds) in rooms.items() if tasks <= nodes and runtime <= seconds]
        named.append(draws.one_of(fits))
    return columns | {"partition": named}
