"""How time and memory grow: with jobs (100 to 1,000,000), with nodes (10 to 100,000), with groups (1 to 256).

Jobs are Lublin and Feitelson's, at a load of 0.7 that keeps the queue's depth bounded however many there are: the loop
of a simulation (FCFS, EASY, conservative). Where all jobs wait at once the queue is as long as the workload: a plan's
evaluation in a random order (a conservative one's on one group of as many nodes), the same where caps bind each job to
one group that it is not too wide for, a memetic search of 100 evaluations (bounds and first plans included), a
comparison of three policies. A search in packages of 200 has 100 evaluations a package and keeps the submits; both
searches have one baseline, FCFS. A table of runs is what a comparison says of as many runs. Times are the processor's,
so that other programs do not count.
Exponents are slopes of least squares in log-log, of time alone and of time over log n. Each point of the first table
is a process of its own, whose peak memory counts; a curve ends where its next point would take longer than --limit.
Draws out/scaling.png.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from measuring import ROOT, Report, record
from scaling_points import CASES

from fedsched.generate import lublin

CHILD = Path(__file__).with_name("scaling_points.py")
NODES, GROUPS, JOBS, LOAD = 256, 4, 10_000, 0.7
LONG = 1000  # from here on a point's time is the algorithm's more than the call's
TARGET = 1.15  # the exponent up to which growth is called linear
LINEAR = ("fcfs", "easy", "conservative", "evaluate strict", "search in packages", "table of runs")
# Where every pass has a whole queue to look through: aimed at up to so many jobs, beyond which memory's latency shows.
WAITING = ("evaluate easy", "evaluate conservative", "evaluate greedy bound", "evaluate easy bound")
WAITING_TARGET, WAITING_MOST = 1.3, 100_000
SLOW_START = ("search", "search in packages", "compare", "table of runs")  # timed with one call a point


@dataclass(slots=True)
class Curve:
    """One case: sizes, seconds, and peak memory of the processes in bytes."""

    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    peaks: list[float] = field(default_factory=list)

    def exponent(self, least: int = 0, most: int = sys.maxsize, *, over_log: bool = False) -> float:
        """Return the slope of log time (over log n) on log n."""
        pairs = [pair for pair in zip(self.sizes, self.seconds, strict=True) if least <= pair[0] <= most]
        if len(pairs) < 2:
            return float("nan")
        n, seconds = np.array(pairs).T
        return float(np.polyfit(np.log(n), np.log(seconds / np.log(n) if over_log else seconds), 1)[0])

    def bytes_a_job(self) -> float:
        """Return the growth of peak memory between the two largest sizes."""
        if len(self.sizes) < 2:
            return float("nan")
        return (self.peaks[-1] - self.peaks[-2]) / (self.sizes[-1] - self.sizes[-2])

    def next_seconds(self, size: int) -> float:
        """Return what a larger size may take, if time goes on growing as it did last, at least linearly."""
        if len(self.sizes) < 2:
            return 0.0
        (n1, n2), (t1, t2) = self.sizes[-2:], self.seconds[-2:]
        return t2 * (size / n2) ** max(1.0, np.log(t2 / t1) / np.log(n2 / n1))


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    decades = [100, 1000, 10_000, 100_000, 1_000_000]
    parser.add_argument("--smoke", action="store_true", help="two small sizes; the figures mean nothing")
    parser.add_argument("--jobs", type=int, nargs="+", default=decades, help="workload sizes")
    parser.add_argument("--nodes", type=int, nargs="+", default=[10, 100, 1000, 10_000, 100_000], help="machine sizes")
    parser.add_argument("--groups", type=int, nargs="+", default=[1, 4, 16, 64, 256], help="numbers of groups")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="what is measured")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a point may take (default: %(default)s)")
    parser.add_argument("--draw", type=Path, default=ROOT / "out" / "scaling.png", help="the picture's file")
    options = parser.parse_args()
    if min(options.jobs) < 2:
        parser.error(f"--jobs {min(options.jobs)}: sizes begin at 2 jobs")
    decisive = ("jobs", "nodes", "groups", "cases", "limit")  # the recorded figures are of all sizes and cases
    options.recorded = all(getattr(options, name) == parser.get_default(name) for name in decisive)
    options.jobs = sorted(set(options.jobs))
    return options


class Workloads:
    """Generated workloads in files, each made once."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def path(self, jobs: int, nodes: int) -> str:
        """Return the file of a workload."""
        path = self.folder / f"{jobs}-{nodes}.npz"
        if not path.exists():
            made = lublin(jobs, nodes, load=LOAD, seed=1)
            np.savez(path, submit=made.submit, tasks=made.tasks, runtime=made.runtime)
        return str(path)


def split(nodes: int, groups: int) -> list[int]:
    """Return so many nodes in so many groups, as equal as may be."""
    groups = min(groups, nodes)
    return [nodes // groups + (k < nodes % groups) for k in range(groups)]


def measured(points: list[tuple[str, str, list[int]]], spend: float) -> list[dict[str, float]]:
    """Return what a process of its own measured."""
    command = [sys.executable, str(CHILD), json.dumps(points), str(spend)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        words = done.stderr.strip().splitlines() or ["it said nothing; was it killed, out of memory?"]
        raise SystemExit(f"{points[0][0]}: ended with status {done.returncode}: {words[-1]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def spend_on(case: str, smoke: bool) -> float:
    """Return for how many seconds a point is repeated."""
    return 1e-9 if smoke or case in SLOW_START else 0.2


def by_jobs(options: argparse.Namespace, workloads: Workloads) -> dict[str, Curve]:
    """Return every case's curve over the number of jobs, printed as it grows."""
    report = Report(f"{NODES} nodes in {GROUPS} groups: time by jobs")
    curves = {case: Curve() for case in options.cases}
    for case, curve in curves.items():
        if options.smoke:
            points = [(case, workloads.path(jobs, NODES), split(NODES, GROUPS)) for jobs in options.jobs]
            for jobs, found in zip(options.jobs, measured(points, 1e-9), strict=True):
                report.row(f"{case}, {jobs:,} jobs", 1e6 * found["seconds"] / jobs, "µs a job")
            continue
        for jobs in options.jobs:
            expected = curve.next_seconds(jobs)
            if expected > options.limit:
                print(f"{case}: ends before {jobs:,} jobs, which would take some {expected:,.0f} s", flush=True)
                break
            point = (case, workloads.path(jobs, NODES), split(NODES, GROUPS))
            (found,) = measured([point], spend_on(case, options.smoke))
            curve.sizes.append(jobs)
            curve.seconds.append(found["seconds"])
            curve.peaks.append(found["peak"])
            report.row(f"{case}, {jobs:,} jobs", 1e6 * found["seconds"] / jobs, "µs a job")
    return curves


def by_machine(
    options: argparse.Namespace, workloads: Workloads, cases: list[str]
) -> tuple[dict[str, Curve], dict[str, Curve]]:
    """Return curves over the number of nodes, and over the number of groups of one machine."""
    jobs, several = (500, 64) if options.smoke else (JOBS, 1024)
    found: list[dict[str, Curve]] = []
    for what, sizes, machines in (
        ("nodes", options.nodes, [(n, split(n, GROUPS)) for n in options.nodes]),
        ("groups", options.groups, [(several, split(several, g)) for g in options.groups]),
    ):
        report = Report(f"\n{jobs:,} jobs: time by {what}")
        curves = {}
        for case in cases:
            points = [(case, workloads.path(jobs, nodes), parts) for nodes, parts in machines]
            rows = measured(points, spend_on(case, options.smoke))
            curves[case] = Curve(list(sizes), [row["seconds"] for row in rows], [row["peak"] for row in rows])
            for size, row in zip(sizes, rows, strict=True):
                report.row(f"{case}, {size:,} {what}", 1e6 * row["seconds"] / jobs, "µs a job")
            report.row(f"{case}: exponent of {what}", curves[case].exponent(), "")
        found.append(curves)
    return found[0], found[1]


def growth(curves: dict[str, Curve]) -> dict[str, float]:
    """Print exponents and memory, and return the exponents."""
    report = Report("\ngrowth with jobs")
    for case, curve in curves.items():
        exponent = curve.exponent(LONG)
        target = TARGET if case in LINEAR and not np.isnan(exponent) else None
        report.row(f"{case}: exponent, all sizes", curve.exponent(), "")
        report.row(f"  from {LONG:,} jobs on", exponent, "", target, at_most=True)
        if case in WAITING:
            so_far = curve.exponent(LONG, WAITING_MOST)
            target = None if np.isnan(so_far) else WAITING_TARGET
            report.row(f"  from {LONG:,} to {WAITING_MOST:,} jobs", so_far, "", target, at_most=True)
        report.row("  of time over log n, all sizes", curve.exponent(over_log=True), "")
        report.row(f"  of time over log n, from {LONG:,} jobs on", curve.exponent(LONG, over_log=True), "")
        report.row("  peak memory by job between the two largest sizes", curve.bytes_a_job(), "bytes")
        report.row(f"  peak memory at {curve.sizes[-1]:,} jobs", curve.peaks[-1] / 1e6, "MB")
    return {case: curve.exponent(LONG) for case, curve in curves.items()}


def draw(panels: dict[str, dict[str, Curve]], jobs: int, path: Path) -> None:
    """Draw microseconds a job over jobs, nodes and groups."""
    from matplotlib.figure import Figure

    from fedsched.plot import style
    from fedsched.plot.style import save

    figure = Figure(figsize=(10, 4.4), layout="constrained")
    cases = list(next(iter(panels.values())))
    axes = figure.subplots(1, len(panels), width_ratios=[1.6, 1, 1], sharey=True)
    for ax, (what, curves) in zip(axes, panels.items(), strict=True):
        for case, curve in curves.items():
            k = cases.index(case)
            each = np.array(curve.sizes) if what == "jobs" else jobs
            ax.loglog(
                curve.sizes, 1e6 * np.array(curve.seconds) / each, color=style.LINES[k % 8],
                linestyle=style.DASHES[(k + k // 8) % 4], marker=style.MARKERS[(k + 3 * (k // 8)) % 8],
                markersize=4, linewidth=1.4, label=case,
            )  # fmt: skip
        fixed = {"jobs": "", "nodes": f"{jobs:,} jobs", "groups": f"{jobs:,} jobs, 1,024 nodes"}[what]
        style.dress(ax, x=what, y="µs a job" if what == "jobs" else "", title=fixed)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    path.parent.mkdir(exist_ok=True)
    save(figure, path)
    print(f"drawn: {path}")


def main() -> None:
    """Print the tables and draw the picture."""
    options = arguments()
    if options.smoke:
        options.jobs, options.nodes, options.groups = [100, 300], [10, 100], [1, 4]
        options.cases = ["evaluate greedy", "table of runs"]
    with tempfile.TemporaryDirectory() as folder:
        workloads = Workloads(folder)
        curves = by_jobs(options, workloads)
        whole = ("search", "search in packages", "compare", "table of runs")
        nodes, groups = by_machine(options, workloads, [case for case in options.cases if case not in whole])
    if options.smoke:
        return
    exponents = growth(curves)
    draw({"jobs": curves, "nodes": nodes, "groups": groups}, JOBS, options.draw)
    if not options.recorded:
        print("not recorded: the recorded figures are of all sizes and cases")
        return
    names = {case: case.replace(" ", "_") for case in curves}
    record("bench_scaling", {f"{names[case]}_exponent": value for case, value in exponents.items()})
    record("bench_scaling", {f"{names[case]}_waiting": curves[case].exponent(LONG, WAITING_MOST) for case in WAITING})
    record("bench_scaling", {f"{names[case]}_largest": curve.sizes[-1] for case, curve in curves.items()})
    record("bench_scaling", {f"{names[case]}_bytes": curve.bytes_a_job() for case, curve in curves.items()})


if __name__ == "__main__":
    main()
