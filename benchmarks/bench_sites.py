"""Two questions of an administrator on a real log, HPC2N: what eight hours of maintenance cost, by when they are, and
what nodes that are kept for short jobs are worth.

The maintenance is at each sixth hour of ten weeks in turn, of the whole machine, known from the outset or six hours
before, and simulated among all jobs from two weeks before to three weeks after those. EASY knows users' requests alone.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import numpy as np
from measuring import ROOT, arguments, optional_log, record

import fedsched as fs

NODES = 240  # of HPC2N
HOUR, DAY, WEEK = 3600.0, 86_400.0, 7 * 86_400.0
FIRST, WEEKS = 60, 10  # weeks after the first Monday of the log
OPEN = 8 * HOUR
KEPT = (0, 4, 8, 16, 32)  # nodes, for jobs of at most an hour on at most 16
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def first_monday(log: fs.Workload) -> float:
    """Return when the log's first Monday begins, in seconds of its clock, by the time zone that its header tells."""
    head = dict(log.header)
    zone = timezone(timedelta(seconds=int(head.get("TimeZone", 0))))
    begin = datetime.fromtimestamp(int(head.get("UnixStartTime", 0)), zone)
    since = timedelta(hours=begin.hour, minutes=begin.minute, seconds=begin.second).total_seconds()
    return (7 - begin.weekday()) % 7 * DAY - since


def maintained(log: fs.Workload, machine: fs.Federation, begins: list[float], notice: float | None) -> np.ndarray:
    """Return how much longer jobs wait, how many node-hours idle before it and how many jobs still run, by begin."""
    usual = fs.simulate(log, machine, "easy").metrics().mean_wait
    rows = []
    for at in begins:
        words = {} if notice is None else {"known_from": at - notice}
        closed = replace(machine, calendar=[fs.Downtime(machine.clusters[0].name, at, at + OPEN, **words)])
        schedule = fs.simulate(log, closed, "easy")
        run_on = int(((schedule.start < at) & (schedule.finish > at)).sum())
        metrics = schedule.metrics()
        rows.append((metrics.mean_wait - usual, metrics.drain_loss / HOUR, run_on))
    return np.array(rows)


def maintenance(log: fs.Workload, machine: fs.Federation, *, weeks: int, step: float) -> None:
    """Print what a maintenance costs by the time of the week, and how much that differs from week to week."""
    begin = first_monday(log) + (FIRST * WEEK if weeks > 1 else 0.0)
    near = log.filter((log.submit >= begin - 2 * WEEK) & (log.submit < begin + (weeks + 3) * WEEK))
    times = np.arange(0.0, WEEK, step)
    for words, notice in (("known from the outset", None), ("known six hours before", 6 * HOUR)):
        begins = [begin + week * WEEK + at for week in range(weeks) for at in times.tolist()]
        found = maintained(near, machine, begins, notice).reshape(weeks, times.size, 3)
        wait, idle = found[..., 0].mean(axis=0), found[..., 1].mean(axis=0)
        print(f"\n{OPEN / HOUR:g} h, all nodes, {words}: {len(near):,} jobs, means of {weeks} weeks")
        print(f"in the mean {wait.mean():,.0f} s longer, {idle.mean():,.0f} node-hours idle, "
              f"{found[..., 2].mean():.1f} jobs still run")  # fmt: skip
        by_cost = np.argsort(wait)
        for k in (*by_cost[:3].tolist(), *by_cost[-3:].tolist()):
            when = f"{DAYS[int(times[k] // DAY)]} {times[k] % DAY / HOUR:02.0f} h"
            print(f"{when}: {wait[k]:>6,.0f} s {idle[k]:>8,.0f} node-hours")
        by_week = found[..., 0].mean(axis=1)
        print(f"by week {by_week.min():,.0f} to {by_week.max():,.0f} s; one by one {found[..., 0].min():,.0f} to "
              f"{found[..., 0].max():,.0f} s")  # fmt: skip
        name = words.replace(" ", "_")
        record("bench_sites", {f"{name}_wait": float(wait.mean()), f"{name}_idle": float(idle.mean())})


def short_jobs(log: fs.Workload, machine: fs.Federation) -> None:
    """Print what nodes that are kept for short jobs do to these and to all others."""
    name, nodes = machine.clusters[0].name, machine.nodes
    brief = (log.estimate <= HOUR) & (log.tasks <= 16)
    asked = replace(log, labels={"partition": np.where(brief, "short", "long")})
    print(f"\nnodes kept for jobs that ask for at most an hour and 16 nodes, {brief.mean():.0%} of {len(log):,}")
    for kept in KEPT:
        parts = (
            fs.Partition("short", {name: "all"}, max_time=HOUR, max_nodes=16),
            fs.Partition("long", {name: f"{kept}-{nodes - 1}"}),
        )
        apart = replace(machine, partitions=parts)
        admitted = asked.filter(apart.admits)
        schedule = fs.simulate(admitted, apart, "easy")
        waits = [schedule.wait[admitted.labels.texts["partition"] == one].mean() for one in ("short", "long")]
        print(f"{kept:>3} kept: {len(log) - len(admitted)} refused, mean waits {waits[0]:,.0f} s and {waits[1]:,.0f} s")
        record("bench_sites", {f"kept_{kept}": [float(wait) for wait in waits]})


def main() -> None:
    """Print both."""
    smoke = arguments(__doc__ or "").smoke
    path = None if smoke else optional_log("HPC2N-2002-2.2-cln.swf.gz")
    if path is None:
        log, nodes = fs.read(ROOT / "traces" / "lublin-128.swf.gz").head(300), 128
    else:
        log, nodes = fs.read(path, nodes=NODES), NODES
    machine = fs.Federation.homogeneous(nodes, name="main")
    maintenance(log, machine, weeks=1 if path is None else WEEKS, step=DAY if path is None else 6 * HOUR)
    short_jobs(log, machine)


if __name__ == "__main__":
    main()
