"""What shifting work saves in carbon, in time, in space and in both, by how much slack jobs grant; and what is proven.

Four days of a month of a log, a week apart, a hundred jobs of each, half of them at home in Great Britain, half in
Germany, on as many nodes as make the load 0.7; carbon of 2020. At home every job runs as EASY has it. In time jobs
stay where they are and may be put off within their slack, in space they may run in the other country, at once; or both.
The bound is of all schedules, those that put jobs off by more included. The floor is what idle nodes alone cost until
the least makespan, which nothing avoids. All budgets are evaluations: figures repeat exactly.

With --proven no search runs: what no schedule saves more than, by how much idle nodes draw.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from measuring import LOGS, optional_log, record

import fedsched as fs
from fedsched.io.tables.signals import read_signal
from fedsched.optimize.shifting import shifts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ARCHIVE = {
    "METACENTRUM": "METACENTRUM-2009-2.swf.gz",
    "HPC2N": "HPC2N-2002-2.2-cln.swf.gz",
    "KTH": "KTH-SP2-1996-2.1-cln.swf.gz",
}
COUNTRIES = ("gb", "ger")
HOUR, DAY, WEEK = 3600.0, 86400.0, 7 * 86400.0
JOBS, LOAD = 100, 0.7
BUSY = 350.0
SHARES = (0.1, 0.5)  # idle watts of busy ones
PROVEN = (0.0, 0.1, 0.25, 0.5, 0.75)  # the same, where nothing is sought
SLACKS = (1, 4, 12)  # hours
LONGEST = 12 * HOUR  # jobs beyond are left out: their day would be another's
MONTH = 30 * DAY  # when it begins in the log, whose second 0 is taken for the first of January 2020
EVALUATIONS = 30000
METHOD = "moga"  # the better half of old and new plans stays, where ga replaces all but two


class Case(NamedTuple):
    """A day's jobs, each with its home, and what they run on."""

    jobs: fs.Workload
    machine: fs.Federation


def days(log: fs.Workload, count: int, jobs: int) -> Iterator[fs.Workload]:
    """Give so many jobs of a day, evenly taken, of days that have so many, each the next one after a week."""
    begin = MONTH
    while count and begin < log.submit.max():
        rows = np.flatnonzero((log.submit >= begin) & (log.submit < begin + DAY) & (log.runtime <= LONGEST))
        if rows.size >= jobs:
            yield log.take(rows[np.linspace(0, rows.size - 1, jobs).astype(np.int64)])
            count -= 1
        begin += WEEK if rows.size >= jobs else DAY


def case(jobs: fs.Workload, signals: tuple[fs.Signal, ...], share: float) -> Case:
    """Return a day's jobs on two countries' nodes that idle at a share of their busy watts."""
    area = float((jobs.tasks * jobs.runtime).sum())
    nodes = max(math.ceil(area / (LOAD * DAY * len(signals))), int(jobs.tasks.max()))
    group = fs.NodeGroup(nodes, 1.0, BUSY, share * BUSY)
    clusters = tuple(fs.Cluster(signal.cluster, (group,)) for signal in signals)
    names = tuple(signal.cluster for signal in signals)
    home = np.arange(len(jobs)) % len(names)
    settled = fs.Workload(
        submit=jobs.submit, tasks=jobs.tasks, runtime=jobs.runtime, sites=names, origin=home, name=jobs.name
    )
    return Case(settled, fs.Federation(clusters, signals=signals))


def carbon_of_idle(case: Case) -> float:
    """Return what the idle nodes cost at least."""
    idle = [replace(one, groups=tuple(replace(g, busy_watts=g.idle_watts) for g in one.groups))
            for one in case.machine.clusters]  # fmt: skip
    return fs.bounds.lower_bounds(case.jobs, replace(case.machine, clusters=tuple(idle)), method="closed").of("carbon")


def story(case: Case, slacks: Sequence[int], evaluations: int) -> dict[str, tuple[float, float, float, float]]:
    """Return the carbon saved, the least that is proven, the mean wait, and the gap above the floor, by what moves."""
    floor = carbon_of_idle(case)
    found = shifts(
        case.jobs, case.machine, slacks=[hours * HOUR for hours in slacks], method=METHOD,
        evaluations=evaluations, seed=1, baselines=("fcfs", "easy"), progress=False,
    )  # fmt: skip
    return {
        row.name: (*found.saved(row), row.mean_wait, (row.value - row.bound) / (row.value - floor))
        for row in found.rows
    }


def limits(case: Case) -> dict[str, float]:
    """Return what share of the carbon at home no schedule saves more than, in time and in both; nothing is sought."""
    at_home = replace(case.jobs, allowed=case.jobs.origin[:, None] == np.arange(len(case.machine.clusters)))
    usual = fs.simulate(at_home, case.machine, "easy").metrics().carbon
    least = {
        name: fs.bounds.lower_bounds(jobs, case.machine).of("carbon")
        for name, jobs in (("time", at_home), ("both", case.jobs))
    }
    return {name: 1 - bound / usual for name, bound in least.items()}


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes; the figures mean nothing")
    parser.add_argument("--logs", nargs="+", choices=ARCHIVE, default=list(ARCHIVE), help="these alone")
    parser.add_argument("--countries", nargs="+", choices=COUNTRIES, default=COUNTRIES, help="these alone")
    parser.add_argument("--idle", nargs="+", type=float, help="idle watts, shares of busy ones")
    parser.add_argument("--proven", action="store_true", help="search nothing: what no schedule saves more than")
    parser.add_argument("--hours", nargs="+", type=int, default=SLACKS, help="of slack")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS, help=f"of each search (default: {EVALUATIONS})")
    options = parser.parse_args()
    options.idle = options.idle or (PROVEN if options.proven else SHARES)
    if options.smoke:
        options.idle, options.hours, options.evaluations = SHARES[:1], SLACKS[:1], 20
    return options


def table(name: str, log: fs.Workload, signals: tuple[fs.Signal, ...], options: argparse.Namespace) -> dict[str, float]:
    """Print what a log's days save, by how much idle nodes draw, and return the figures."""
    weeks, jobs = (1, 10) if options.smoke else (4, JOBS)
    figures: dict[str, float] = {}
    for share in options.idle:
        found = [story(case(day, signals, share), options.hours, options.evaluations) for day in days(log, weeks, jobs)]
        print(f"\n{name}: idle nodes draw {share:.0%} of busy ones; means of {len(found)} days, {jobs} jobs each")
        print(f"{'':<22}{'saved':>9}{'at most':>9}{'mean wait':>11}{'gap':>8}   (gap: of what lies above the floor)")
        for what in found[0]:
            saved, most, wait, gap = np.mean([one[what] for one in found], axis=0).tolist()
            print(f"{what:<22}{saved:>9.1%}{most:>9.1%}{wait:>9.0f} s{gap:>8.1%}", flush=True)
            kind = f"{name} {share} {what}"
            figures |= {f"saved {kind}": saved, f"most {kind}": most, f"gap {kind}": gap}
    return figures


def proven(
    name: str, log: fs.Workload, signals: tuple[fs.Signal, ...], options: argparse.Namespace
) -> dict[str, float]:
    """Print what no schedule of a log's days saves more than, by how much idle nodes draw, and return the figures."""
    weeks, jobs = (1, 10) if options.smoke else (4, JOBS)
    figures: dict[str, float] = {}
    print(f"\n{name}: no schedule saves more than; means of {weeks} days, {jobs} jobs each")
    print(f"{'idle nodes draw':<22}{'in time':>9}{'in both':>9}")
    for share in options.idle:
        found = [limits(case(day, signals, share)) for day in days(log, weeks, jobs)]
        time, both = (float(np.mean([one[what] for one in found])) for what in ("time", "both"))
        print(f"{f'{share:.0%} of busy ones':<22}{time:>9.1%}{both:>9.1%}", flush=True)
        figures |= {f"most {name} {share} time": time, f"most {name} {share} both": both}
    return figures


def main() -> None:
    """Print the tables."""
    options = arguments()
    files = [LOGS.parent / "signals" / f"{country}_ci.csv.gz" for country in options.countries]
    if not all(file.exists() for file in files):
        print("skipped: the carbon signals are not at hand")
        return
    signals = tuple(
        read_signal(file, "g/kWh", origin="2020-01-01T00:00:00", cluster=country, beyond="repeat")
        for file, country in zip(files, options.countries, strict=True)
    )
    figures: dict[str, float] = {}
    for name in options.logs:
        if (path := optional_log(ARCHIVE[name])) is not None:
            figures |= (proven if options.proven else table)(name, fs.read(path), signals, options)
    if figures and not options.smoke:
        record("bench_carbon", figures)


if __name__ == "__main__":
    main()
