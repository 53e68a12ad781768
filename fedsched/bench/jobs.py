"""The random jobs of instances, in whole numbers: packages, months, communication, dependencies and partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedsched.bench.exact_numbers import Draws

    Columns = dict[str, Any]  # a list of each, an entry a job; of demands one by resource

DAY = 86_400
# Users' requested times, given in minutes.
REQUESTS = tuple(60 * m for m in (5, 10, 15, 30, 60, 120, 240, 480, 720, 1080, 1440, 2160, 2880, 4320))
# Arrivals by hour of the day, of 66 jobs.
BY_HOUR = (1, 1, 1, 1, 1, 1, 1, 2, 3, 5, 5, 5, 4, 5, 5, 5, 4, 3, 3, 2, 2, 2, 2, 2)
HOURS = tuple(hour for hour, many in enumerate(BY_HOUR) for _ in range(many))
SHARES = ("0.5", "0.6", "0.7", "0.8", "0.9")  # the share of a communicating job's time in which it computes
MEGABYTE = 1_000_000


def drawn_jobs(draws: Draws, count: int, *, widest: int, octaves: tuple[int, int]) -> Columns:
    """Return the columns of random jobs, all submitted at 0; tasks are mostly powers of two, up to `widest`.

    Run times are uniform within random octaves of seconds: 2^k to 2^(k+1), with k in `octaves`.
    """
    tasks, runtime = [], []
    for _ in range(count):
        power = 1 << draws.below(widest.bit_length())
        odd = draws.below(4) == 0
        tasks.append(min(widest, power + draws.below(power) if odd else power))
        octave = 1 << draws.between(*octaves)
        runtime.append(octave + draws.below(octave))
    return {"submit": [0] * count, "tasks": tasks, "runtime": runtime}


def with_communication(columns: Columns, draws: Draws) -> Columns:
    """Return the jobs with random compute fractions (0.5 to 0.9) and bandwidths of 1 to 8 MB/s for each task."""
    jobs = len(columns["tasks"])
    share = [draws.one_of(SHARES) for _ in range(jobs)]
    sends = [draws.between(1, 8) * MEGABYTE for _ in range(jobs)]
    return columns | {"compute_fraction": share, "task_bandwidth": sends}


def time_of_day(draws: Draws) -> int:
    """Return a random arrival time within a day in seconds; working hours are more frequent."""
    return draws.one_of(HOURS) * 3600 + draws.below(3600)


def requested(draws: Draws, runtime: int) -> int:
    """Return a job's random requested time in seconds: one to four times its run time, rounded up to a usual request.

    If none is long enough, it is the longest usual request or the run time, whichever is longer.
    """
    hoped = runtime * draws.between(100, 400) // 100
    return next((at for at in REQUESTS if at >= hoped), max(REQUESTS[-1], runtime))


def arrivals(draws: Draws, count: int) -> list[int]:
    """Return the random arrival times of this many jobs in a day, in seconds and in order, the first at 0."""
    times = sorted(time_of_day(draws) for _ in range(count))
    return [at - times[0] for at in times]


def month_of_jobs(draws: Draws, *, widest: int, octaves: tuple[int, int], node_seconds: int) -> Columns:
    """Return random jobs that arrive within 30 days, in order, with requested times.

    Jobs are added until their work (tasks × run time) is at least `node_seconds`. The first arrives at 0.
    """
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
    """Return the jobs; about `share` per cent of them wait for one or two of the twelve jobs before them."""
    after = {}
    for row in range(1, len(columns["tasks"])):
        if draws.below(100) < share:
            others = {row - draws.between(1, min(12, row)) for _ in range(draws.between(1, 2))}
            after[str(row + 1)] = ",".join(f"afterok:{other + 1}" for other in sorted(others))
    return columns | {"after": [after.get(str(row + 1), "") for row in range(len(columns["tasks"]))]}


def with_partitions(columns: Columns, draws: Draws, rooms: dict[str, tuple[int, int]]) -> Columns:
    """Return the jobs, each with a random partition among those with limits that the job keeps.

    `rooms` has each partition's most nodes and seconds.
    """
    named = []
    for tasks, runtime in zip(columns["tasks"], columns["runtime"], strict=True):
        fits = [name for name, (nodes, seconds) in rooms.items() if tasks <= nodes and runtime <= seconds]
        named.append(draws.one_of(fits))
    return columns | {"partition": named}
