"""What switching nodes off saves and whom it delays, what plans make of it, what a cap costs, and how fast it goes.

HPC2N under EASY with each way to switch; the sample, KTH, HPC2N and a month of METACENTRUM by how much idle nodes draw,
with the best timeout beside what knowing all gaps would save; HPC2N under caps; the month on its federation, where
plans made on the way (`Rolling`) that know power=planned stand beside EASY with timeouts of as long mean waits; and CPU
time with a timeout beside nodes that are always on, in alternating rounds. --part says which of these.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
from measuring import ROOT, Report, optional_log, record

import fedsched as fs
from fedsched.policies import Planned, Reserve, Timeout
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.model.power.switching import PowerSaving

MONTH = 30 * 86_400.0
STATES = {"boot_seconds": 240.0, "shutdown_seconds": 60.0}
OFF = 0.05  # watts of a node that is off, of a busy one's
WAYS: tuple[PowerSaving, ...] = (
    *(Timeout(600, keep) for keep in (0, 4, 16, 64)),
    *(Reserve(4, 600), Reserve(16), Reserve(16, 600), Reserve(64, 600), Timeout(3600), Planned()),
)
TIMEOUTS = (60, 300, 600, 1800, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 48 * 3600)
BRIEF = (60, 300, 600, 900, 1800, 3600)  # timeouts of which the best stands beside `planned`
IDLE = (0.1, 0.25, 0.5, 0.75)  # idle watts, shares of busy ones
CAPS = (0.9, 0.8, 0.7)  # of what all nodes draw when busy
KTH, HPC2N, METACENTRUM = "KTH-SP2-1996-2.1-cln.swf.gz", "HPC2N-2002-2.2-cln.swf.gz", "METACENTRUM-2009-2.swf.gz"
PARTS = ("speed", "ways", "idle", "caps", "plans")
JOBS_A_SECOND = 1e6
ROUNDS = 9


def asleep(group: fs.NodeGroup) -> fs.NodeGroup:
    """Return a group whose nodes can go off."""
    return replace(group, off_watts=OFF * group.busy_watts, **STATES)


def able(machine: fs.Federation) -> fs.Federation:
    """Return a federation whose nodes can all go off."""
    clusters = [replace(one, groups=tuple(map(asleep, one.groups))) for one in machine.clusters]
    return replace(machine, clusters=tuple(clusters))


def ways(log: fs.Workload) -> None:
    """Print what each way to switch saves under EASY, and whom it delays."""
    machine = able(fs.Federation.homogeneous(log.nodes or 240, busy_watts=100, idle_watts=50))
    always = fs.simulate(log, machine, "easy").metrics()
    print(f"\n{log.name}, {len(log):,} jobs under EASY; waits on nodes that are always on {always.mean_wait:,.0f} s")
    print(f"{'':<20}{'energy saved':>14}{'wait for a boot':>17}{'boot_wait':>11}{'mean wait':>12}")
    for power in WAYS:
        schedule = fs.simulate(log, replace(machine, power=power), "easy")
        row, promised = schedule.metrics(), schedule.promises
        late = 0.0 if promised is None else float((schedule.start > promised.time).mean())
        waits = f"{late:>17.1%}{row.boot_wait:>9.0f} s{row.mean_wait:>10,.0f} s"
        print(f"{power!s:<20}{1 - row.energy / always.energy:>14.1%}{waits}", flush=True)


def idling(machine: fs.Federation, share: float) -> fs.Federation:
    """Return a federation whose idle nodes draw a share of what busy ones do."""
    clusters = [
        replace(one, groups=tuple(replace(group, idle_watts=share * group.busy_watts) for group in one.groups))
        for one in machine.clusters
    ]
    return replace(machine, clusters=tuple(clusters))


def by_idle(log: fs.Workload, machine: fs.Federation) -> dict[str, float]:
    """Print what the best timeout saves under EASY, and what knowing all gaps does, by how much idle nodes draw."""
    print(f"\n{log.name}, {len(log):,} jobs under EASY on {machine.nodes:,} nodes; {OFF:.0%} of busy watts when off")
    head = f"{'idle nodes draw':<18}{'best timeout':>14}{'saves':>9}{'mean wait':>12}{'planned saves':>15}"
    print(f"{head}{'than it':>9}{'idle energy':>13}")
    figures = {}
    for share in IDLE:
        there = able(idling(machine, share))
        ways = {str(power): power for power in (*map(Timeout, BRIEF), Planned())}
        rows = {name: fs.simulate(log, replace(there, power=power), "easy").metrics() for name, power in ways.items()}
        always = fs.simulate(log, there, "easy").metrics()
        planned = rows.pop(str(Planned()))
        best = min(rows, key=lambda name: rows[name].energy)
        saved, more = 1 - rows[best].energy / always.energy, rows[best].mean_wait - always.mean_wait
        known, less = 1 - planned.energy / always.energy, 1 - planned.energy / rows[best].energy
        idle = 1 - planned.idle_energy / rows[best].idle_energy
        told = f"{share:<18.0%}{best:>14}{saved:>9.1%}{more:>+10,.0f} s{known:>15.1%}"
        print(f"{told}{less:>9.2%}{idle:>13.1%}", flush=True)
        figures |= {f"{log.name} {share} timeout": saved, f"{log.name} {share} planned": known}
    return figures


def capped(log: fs.Workload) -> None:
    """Print what caps on power cost in waits, and save in energy, under EASY, by how much idle nodes draw.

    Jobs that are too wide for the lowest cap are left out of all runs.
    """
    nodes = log.nodes or 240
    for share in (0.1, 0.5):
        busy = {part: int((part - share) * nodes / (1 - share) + 1e-9) for part in CAPS}
        jobs = log.filter(log.tasks <= min(busy.values()))
        machine = fs.Federation.homogeneous(nodes, busy_watts=100, idle_watts=100 * share)
        free = fs.simulate(jobs, machine, "easy").metrics()
        told = f"{len(jobs):,} of {len(log):,} jobs under EASY on {nodes} nodes that idle at {share:.0%} of busy watts"
        print(f"\n{log.name}, {told}\n{'cap':<6}{'nodes busy':>12}{'mean wait':>12}{'last end':>11}{'energy':>9}")
        print(f"{'none':<6}{nodes:>12}{free.mean_wait:>10,.0f} s", flush=True)
        for part, most in busy.items():
            cap = fs.Signal((0.0,), (part * 100 * nodes,), "W")
            row = fs.simulate(jobs, replace(machine, signals=(cap,)), "easy").metrics()
            late, joules = row.makespan / free.makespan - 1, row.energy / free.energy - 1
            print(f"{part:<6.0%}{most:>12}{row.mean_wait:>10,.0f} s{late:>+11.2%}{joules:>+9.2%}", flush=True)


def plans(log: fs.Workload, machine: fs.Federation, evaluations: int) -> dict[str, float]:
    """Print energy and mean wait of timeouts, and of policies and plans on the way whose nodes are off by plan."""
    machine = able(machine)
    planned = replace(machine, power=Planned())
    rolling = fs.Rolling(evaluations=evaluations, objective="energy")
    on_fastest = replace(rolling, placement="fastest")
    runs: dict[str, tuple[str | fs.Rolling, fs.Federation]] = {
        "EASY, always on": ("easy", machine),
        **{f"EASY, {Timeout(seconds)}": ("easy", replace(machine, power=Timeout(seconds))) for seconds in TIMEOUTS},
        "EASY, planned": ("easy", planned),
        "SAF with EASY, planned": ("saf-easy", planned),
        "Rolling(energy), planned": (rolling, planned),
        "Rolling(energy) on fastest, planned": (on_fastest, planned),
        "Rolling(mean_wait) on fastest, planned": (replace(on_fastest, objective="mean_wait", window=1000), planned),
    }
    print(f"\n{log.name}, {len(log):,} jobs on {machine}; {evaluations} evaluations a plan")
    print(f"{'':<42}{'energy':>12}{'mean wait':>12}{'response':>12}")
    found: dict[str, tuple[float, float]] = {}
    for name, (policy, there) in runs.items():
        schedule = fs.simulate(log, there, policy)
        schedule.verify()
        row = schedule.metrics()
        found[name] = energy, wait = row.energy / 3.6e9, row.mean_wait
        print(f"{name:<42}{energy:>8.2f} MWh{wait:>10,.0f} s{row.mean_response:>10,.0f} s", flush=True)
    return beside(found, ("Rolling(energy), planned", "Rolling(energy) on fastest, planned"))


def beside(found: dict[str, tuple[float, float]], names: tuple[str, ...]) -> dict[str, float]:
    """Print how plans on the way stand beside EASY with timeouts, those of as long waits above all."""
    usual = [one for name, one in found.items() if name.startswith("EASY") and "planned" not in name]
    figures = {}
    report = Report("\nplans on the way with power=planned")
    for name in names:
        energy, wait = found[name]
        most = max(wait, min(waited for _, waited in usual))
        equal = min(joules for joules, waited in usual if waited <= most)
        report.row(f"{name}: energy", energy / min(usual)[0], "× EASY's with the thriftiest timeout")
        report.row("  where EASY's mean wait is no longer", energy / equal, "×", 1.0, at_most=True)
        report.row("  where EASY's nodes are off by plan", energy / found["EASY, planned"][0], "×")
        figures |= {f"{name}, equal waits": energy / equal, f"{name}, thriftiest": energy / min(usual)[0]}
    return figures


def speed(log: fs.Workload, rounds: int) -> dict[str, float]:
    """Print jobs a second with a timeout, and beside the same run on nodes that are always on."""
    machine = able(fs.Federation.homogeneous(log.nodes or 240, busy_watts=100, idle_watts=50))
    pair = [replace(machine, power=power) for power in (None, Timeout(600))]
    seconds = np.array([[_cpu(partial(prepare, log, one, "easy")) for one in pair] for _ in range(rounds + 1)])[1:]
    report = Report(f"\n{log.name}, EASY, CPU time of {rounds} alternating rounds")
    jobs_a_second = len(log) / float(np.median(seconds[:, 1]))
    report.row("jobs a second with timeout:600", jobs_a_second, "/s", JOBS_A_SECOND)
    report.row("times the run on nodes that are always on", float(np.median(seconds[:, 1] / seconds[:, 0])), "×")
    return {"timeout_jobs": jobs_a_second}


def _cpu(make: Callable[[], object]) -> float:
    run = make()
    begun = time.process_time()
    run.advance()  # type: ignore[attr-defined]
    return time.process_time() - begun


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes; the figures mean nothing")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS, help="these alone")
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    options = arguments()
    if options.smoke:
        sample = fs.Workload.example().head(200)
        ways(sample)
        by_idle(sample, fs.Federation.homogeneous(128))
        capped(sample)
        plans(sample.head(40), fs.Federation.of(64, 96), 20)
        speed(sample, 1)
        return
    machine = fs.read_federation(ROOT / "traces" / "federations" / "metacentrum-2009.toml")
    figures: dict[str, float] = {}
    for part in options.part:
        print(f"\n== {part}")
        if part == "idle":
            figures |= by_idle(fs.Workload.example(), fs.Federation.homogeneous(128))
            for log in filter(None, map(archived, (KTH, HPC2N))):
                figures |= by_idle(log, fs.Federation.homogeneous(log.nodes or 240))
            if (log := archived(METACENTRUM)) is not None:
                figures |= by_idle(month_of(log), machine)
        elif part == "plans":
            if (log := archived(METACENTRUM)) is not None:
                figures |= plans(month_of(log), machine, 50)
        elif (log := archived(HPC2N)) is not None:
            if part == "speed":
                figures |= speed(log, ROUNDS)
            else:
                (ways if part == "ways" else capped)(log)
    if figures:
        record("bench_power", figures)


@cache
def archived(name: str) -> fs.Workload | None:
    """Return an archive log; None where it is not at hand."""
    path = optional_log(name)
    return None if path is None else fs.read(path)


def month_of(log: fs.Workload) -> fs.Workload:
    """Return the jobs of a log's second month."""
    return log.take(np.flatnonzero((log.submit >= MONTH) & (log.submit < 2 * MONTH)))


if __name__ == "__main__":
    main()
