"""What switching nodes off saves and whom it delays, what plans make of it, and what it costs the simulation.

HPC2N under EASY with each way to switch; a month of METACENTRUM on its federation, where plans made on the way
(`Rolling`) that know power=planned stand beside EASY with timeouts of as long mean waits; and CPU time with a timeout
beside nodes that are always on, in alternating rounds.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from measuring import ROOT, Report, arguments, optional_log, record

import fedsched as fs
from fedsched.policies import Planned, Reserve, Timeout
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.model.switching import PowerSaving

MONTH = 30 * 86_400.0
STATES = {"boot_seconds": 240.0, "shutdown_seconds": 60.0}
OFF = 0.05  # watts of a node that is off, of a busy one's
WAYS: tuple[PowerSaving, ...] = (
    *(Timeout(600, keep) for keep in (0, 4, 16, 64)),
    *(Reserve(4, 600), Reserve(16), Reserve(16, 600), Reserve(64, 600), Timeout(3600), Planned()),
)
TIMEOUTS = (60, 300, 600, 1800, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 48 * 3600)
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


def main() -> None:
    """Print the tables."""
    smoke = arguments(__doc__ or "").smoke
    if smoke:
        sample = fs.Workload.example().head(200)
        ways(sample)
        plans(sample.head(40), fs.Federation.of(64, 96), 20)
        speed(sample, 1)
        return
    figures: dict[str, float] = {}
    if (path := optional_log("HPC2N-2002-2.2-cln.swf.gz")) is not None:
        log = fs.read(path)
        figures |= speed(log, ROUNDS)
        ways(log)
    if (path := optional_log("METACENTRUM-2009-2.swf.gz")) is not None:
        machine = fs.read_federation(ROOT / "traces" / "federations" / "metacentrum-2009.toml")
        log = fs.read(path)
        month = log.take(np.flatnonzero((log.submit >= MONTH) & (log.submit < 2 * MONTH)))
        figures |= plans(month, machine, 50)
    if figures:
        record("bench_power", figures)


if __name__ == "__main__":
    main()
