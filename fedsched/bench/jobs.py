"""Jobs of packages and months, drawn in whole numbers."""

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
    """Return this many jobs; tasks are mostly powers of two, run times uniform over octaves of seconds."""
    tasks, runtime = [], []
    for _ in range(count):
        power = 1 << draws.below(widest.bit_length())
        odd = draws.below(4) == 0
        tasks.append(min(widest, power + draws.below(power) if odd else power))
        octave = 1 << draws.between(*octaves)
        runtime.append(octave + draws.below(octave))
    return {"submit": [0] * count, "tasks": tasks, "runtime": runtime}


def with_communication(columns: Columns, draws: Draws) -> Columns:
    """Return the jobs with compute fractions, and bandwidths of 1 to 8 MB/s a task."""
    jobs = len(columns["tasks"])
    share = [draws.one_of(SHARES) for _ in range(jobs)]
    sends = [draws.between(1, 8) * MEGABYTE for _ in range(jobs)]
    return columns | {"compute_fraction": share, "task_bandwidth": sends}


def time_of_day(draws: Draws) -> int:
    """Return a drawn arrival time within a day, in seconds."""
    return draws.one_of(HOURS) * 3600 + draws.below(3600)


def requested(draws: Draws, runtime: int) -> int:
    """Return a job's requested time: one to four times its run time, rounded up to a usual request if there is one."""
    hoped = runtime * draws.between(100, 400) // 100
    return next((at for at in REQUESTS if at >= hoped), max(REQUESTS[-1], runtime))


def arrivals(draws: Draws, count: int) -> list[int]:
    """Return the arrival times of this many jobs in a day, in order, the first at 0."""
    times = sorted(time_of_day(draws) for _ in range(count))
    return [at - times[0] for at in times]


def month_of_jobs(draws: Draws, *, widest: int, octaves: tuple[int, int], node_seconds: int) -> Columns:
    """Return jobs of 30 days with at least this much work in all, in order of arrival, with rounded requested times."""
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
    """Return the jobs; this percentage of them waits for one or two of the twelve jobs before it."""
    after = {}
    for row in range(1, len(columns["tasks"])):
        if draws.below(100) < share:
            others = {row - draws.between(1, min(12, row)) for _ in range(draws.between(1, 2))}
            after[str(row + 1)] = ",".join(f"afterok:{other + 1}" for other in sorted(others))
    return columns | {"after": [after.get(str(row + 1), "") for row in range(len(columns["tasks"]))]}


def with_partitions(columns: Columns, draws: Draws, rooms: dict[str, tuple[int, int]]) -> Columns:
    """Return the jobs with a partition each, among those with limits on nodes and seconds that the job keeps."""
    named = []
    for tasks, runtime in zip(columns["tasks"], columns["runtime"], strict=True):
        fits = [name for name, (nodes, seconds) in rooms.items() if tasks <= nodes and runtime <= seconds]
        named.append(draws.one_of(fits))
    return columns | {"partition": named}
