"""What machines and jobs as they are cost: windows, outages, chains, partitions, pools, arrays and feedback.

Each is timed in turn with a plain run, of the same jobs; the ratio is the median of the rounds'. With windows a run has
more dispatch tests to make, too: what it takes is also shown per test.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from dispatch_tests import tests_of
from measuring import ROOT, Report, arguments, optional_log, record

import fedsched as fs
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

    Case = tuple[fs.Workload, fs.Federation, str]

NODES = 240  # of HPC2N
DAY = 86_400.0


def seconds_of(case: Case) -> float:
    """Return how many processor seconds the loop takes: the machine may be shared."""
    run = prepare(*case)
    begun = time.process_time()
    run.advance()
    return time.process_time() - begun


def in_turn(rounds: int, first: Case, other: Case) -> tuple[float, float, float]:
    """Return the least seconds of two cases that are run in turn, and the median of the rounds' ratios."""
    for case in (first, other):
        seconds_of((case[0].head(50), *case[1:]))  # compiled by now
    pairs = [(seconds_of(first), seconds_of(other)) for _ in range(rounds)]
    return min(a for a, _ in pairs), min(b for _, b in pairs), statistics.median(b / a for a, b in pairs)


def windows(log: fs.Workload, machine: fs.Federation, *, count: int, seconds: float) -> fs.Federation:
    """Return the machine with so many windows of one node each, known beforehand, over all of the log."""
    begins = np.linspace(float(log.submit.min()), float(log.submit.max()), count, endpoint=False)
    name = machine.clusters[0].name
    calendar = [fs.Downtime(name, float(at), float(at) + seconds, "1 of all", "maintenance") for at in begins]
    return replace(machine, calendar=tuple(calendar))


def outages(log: fs.Workload, machine: fs.Federation, *, count: int, nodes: int, victims: str) -> fs.Federation:
    """Return the machine with so many outages of an hour of one of some nodes, by count or as recorded."""
    rng, name = np.random.default_rng(3), machine.clusters[0].name
    weak = rng.choice(machine.nodes, nodes, replace=False)
    begins = np.sort(rng.uniform(float(log.submit.min()), float(log.submit.max()), count)).tolist()
    where = [str(node) if victims == "recorded" else "1 of all" for node in rng.choice(weak, count)]
    loses = {"on_running": "requeue", "victims": victims}
    calendar = [
        fs.Downtime(name, at, at + 3_600.0, nodes, "outage", **loses) for at, nodes in zip(begins, where, strict=True)
    ]
    return replace(machine, calendar=tuple(calendar))


def chained(log: fs.Workload, length: int) -> fs.Workload:
    """Return the log in which each user's jobs wait for the one before, chains of so many."""
    before: dict[int, list[int]] = {}
    after = {}
    for row in np.lexsort((log.id, log.submit)).tolist():
        mine = before.setdefault(int(log.user[row]), [])
        if len(mine) % length:
            after[int(log.id[row])] = f"afterany:{mine[-1]}"
        mine.append(int(log.id[row]))
    return replace(log, after=after)


def in_two_partitions(log: fs.Workload, machine: fs.Federation) -> tuple[fs.Workload, fs.Federation]:
    """Return jobs of which the short ones ask for all nodes, the others for nine tenths of them."""
    nodes, name = machine.nodes, machine.clusters[0].name
    parts = (
        fs.Partition("short", {name: "all"}, max_time=3_600.0),
        fs.Partition("long", {name: f"0-{nodes * 9 // 10 - 1}"}),
    )
    brief = (log.estimate <= 3_600.0) | (log.tasks > nodes * 9 // 10)
    fits = log.take(np.flatnonzero((log.tasks <= nodes * 9 // 10) | (log.estimate <= 3_600.0)))
    labels = {"partition": np.where(brief[np.isin(log.id, fits.id)], "short", "long").tolist()}
    return replace(fits, labels=labels), replace(machine, partitions=parts)


def with_licences(log: fs.Workload, machine: fs.Federation) -> tuple[fs.Workload, fs.Federation]:
    """Return jobs of which every fifth needs one of twenty licences."""
    needs = (np.arange(len(log)) % 5 == 0).astype(int)
    return replace(log, pools={"licence": needs}), replace(machine, pools=(fs.Pool("licence", 20),))


def array(tasks: int) -> fs.Workload:
    """Return an array of so many tasks, of which sixteen may run together."""
    rng = np.random.default_rng(1)
    return fs.Workload(
        submit=np.zeros(tasks),
        tasks=np.ones(tasks, dtype=int),
        runtime=rng.integers(10, 100, tasks).astype(float),
        estimate=np.full(tasks, 200.0),
        labels={"array": ["1%16"] * tasks},
    )


def crowd(jobs: int) -> fs.Workload:
    """Return jobs of which half follow one before them, for which the machine is far too small."""
    rng = np.random.default_rng(2)
    follows = (np.arange(jobs) % 2 == 1) & (np.arange(jobs) >= 100)
    preceding = np.where(follows, np.arange(jobs) - 99 + 1, -1)
    return fs.Workload(
        submit=np.sort(rng.uniform(0.0, 10.0 * jobs, jobs)),
        tasks=rng.integers(1, 33, jobs),
        runtime=rng.integers(10, 2_000, jobs).astype(float),
        estimate=np.full(jobs, 3_000.0),
        feedback={"preceding": preceding, "think_time": np.where(follows, 60.0, -1.0)},
    )


def beside(
    report: Report, rounds: int, what: str, plain: Case, case: Case, most: float | None, than: str = "plain"
) -> None:
    """Show how long a case takes beside a plain one, and how many jobs a second it is."""
    show(report, what, case, in_turn(rounds, plain, case), most, than)


def show(
    report: Report, what: str, case: Case, timed: tuple[float, float, float], most: float | None, than: str = "plain"
) -> None:
    """Show what was timed."""
    _, least, ratio = timed
    name = f"{what.replace(' ', '_')}_{case[2]}"
    report.row(f"{what}, {case[2]}: time beside {than}", ratio, "x", most, at_most=True)
    record("bench_machine", {name: ratio, f"{name}_rate": len(case[0]) / least})


def beside_windows(report: Report, rounds: int, count: int, plain: Case, case: Case) -> None:
    """Show how long a run with windows takes beside a plain one, as a whole and per dispatch test that it makes."""
    timed, (before, tests) = in_turn(rounds, plain, case), tests_of((plain, case))
    each = timed[2] * before / tests
    show(report, f"{count} windows", case, timed, 1.1)
    report.row(f"{count} windows, {case[2]}: time per test beside plain", each, "x", 1.1, at_most=True)
    report.row(f"{count} windows, {case[2]}: tests beside plain", tests / before, "x")
    name = f"{count}_windows_{case[2]}"
    record("bench_machine", {f"{name}_per_test": each, f"{name}_tests": tests, f"{name}_plain_tests": before})


def beside_feedback(report: Report, rounds: int, jobs: fs.Workload) -> None:
    """Show how long jobs take that follow others, beside none that do and beside the submits that came out, given."""
    machine = fs.Federation.homogeneous(32)
    case, alone = (jobs, machine, "fcfs"), (replace(jobs, feedback=None), machine, "fcfs")
    came_out = prepare(*case).advance().schedule().workload
    given = (replace(came_out, feedback=None, after=None), machine, "fcfs")
    beside(report, rounds, "feedback", alone, case, 1.5)
    beside(report, rounds, "submits by feedback", given, case, None, "the same, given")
    before, tests, _ = counts = tests_of((alone, case, given))
    report.row("feedback, fcfs: tests beside plain", tests / before, "x")
    record("bench_machine", dict(zip(("alone_tests", "feedback_tests", "given_tests"), counts, strict=True)))


def on_log(report: Report, rounds: int, log: fs.Workload, policies: Sequence[str]) -> None:
    """Show what a real log costs with each."""
    machine = fs.Federation.homogeneous(NODES)
    span = float(log.submit.max() - log.submit.min())
    count = min(1_000, int(span / DAY))
    length = 0.01 * NODES * span / count / 1.01  # a hundredth of capacity
    closing = windows(log, machine, count=count, seconds=length)
    few = log.head(10_000)
    counted, named = (
        outages(few, machine, count=1_000, nodes=50, victims=victims) for victims in ("latest", "recorded")
    )
    for policy in policies:
        plain = (log, machine, policy)
        beside(report, rounds, "outages of 50 nodes", (few, counted, policy), (few, named, policy), None, "counted")
        beside_windows(report, rounds, count, plain, (log, closing, policy))
        parted, parts = in_two_partitions(log, machine)
        whole = (replace(parted, labels=None), machine, policy)
        beside(report, rounds, "two partitions", whole, (parted, parts, policy), 1.5)
        beside(report, rounds, "licences", plain, (*with_licences(log, machine), policy), 1.5)
        chains = (chained(log, 4), machine, policy)
        _, least, _ = in_turn(rounds, plain, chains)
        report.row(f"chains of four, {policy}: jobs a second", len(log) / least, "/s", 500_000)
        record("bench_machine", {f"chains_{policy}_rate": len(log) / least})


def main() -> None:
    """Print the table."""
    smoke = arguments(__doc__ or "").smoke
    rounds = 1 if smoke else 20
    report = Report("machines and jobs as they are, one core")
    sample = fs.read(ROOT / "traces" / "lublin-128.swf.gz")
    path = None if smoke else optional_log("HPC2N-2002-2.2-cln.swf.gz")
    log = sample.head(300) if smoke else sample if path is None else fs.read(path, nodes=NODES)
    on_log(report, rounds, log, ("fcfs", "greedy") if smoke else ("fcfs", "greedy", "easy"))
    machine = fs.Federation.homogeneous(256)
    for policy in ("easy",) if smoke else ("fcfs", "easy", "conservative"):
        few, many = (500, 1_000) if smoke else (16_000, 64_000)
        (short, long, ratio) = in_turn(min(rounds, 5), (array(few), machine, policy), (array(many), machine, policy))
        report.row(f"an array of {many:,} beside {few:,} tasks, {policy}", ratio, "x", 1.5 * many / few, at_most=True)
        record("bench_machine", {f"array_{policy}_seconds": long, f"array_{policy}_few_seconds": short})
    beside_feedback(report, rounds, crowd(1_000 if smoke else 100_000))


if __name__ == "__main__":
    main()
