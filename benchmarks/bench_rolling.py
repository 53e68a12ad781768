"""Rolling horizon against the usual policies, month by month, estimates only: waits, bounded slowdowns, energy, speed.

KTH-SP2 by months of 30 days; a month of MetaCentrum on its federation, whose log has no requested times, so that every
policy there knows the run times. Runs go to out/rolling.jsonl, and each saves itself: a rerun does only what is missing
and goes on where it was killed.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from measuring import ROOT, Report, optional_log, record

import fedsched as fs
from fedsched.model.schedule.schedule import Schedule
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.model.jobs.workload import Workload

OUT = ROOT / "out"
RUNS = OUT / "rolling.jsonl"
MONTH = 30 * 86_400
USUAL = ("fcfs", "easy", "easy-sjbf", "easy-saf", "wfp3-easy", "saf-easy", "sjf-easy")
RECORDED = 200  # evaluations: the table's row says so
WARMING = 50  # jobs, all at once: enough to be planned, few enough to cost nothing
SHOWN = ("bounded_slowdown", "mean_wait", "mean_response", "max_wait", "energy")


@dataclass(frozen=True)
class Contest:
    """A stretch of a log on a machine, and who competes there."""

    name: str
    workload: Workload
    machine: fs.Federation
    policies: dict[str, str | fs.Rolling]


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="some days of the shipped trace; the figures mean nothing")
    parser.add_argument("--evaluations", type=int, default=2000, help="of each search, for KTH (default: 2000)")
    parser.add_argument("--months", default="", help="only these months of KTH, e.g. 0,3,8 (default: all whole ones)")
    return parser.parse_args()


def competitors(evaluations: int, *objectives: str) -> dict[str, str | fs.Rolling]:
    """Return the usual policies and one rolling search an objective."""
    searches = {f"rolling, {name}": fs.Rolling(evaluations=evaluations, objective=name) for name in objectives}
    return {name: name for name in USUAL} | searches


def months(log: Workload, which: range | list[int]) -> Iterator[tuple[str, Workload]]:
    """Return months of 30 days of a log."""
    for k in which:
        part = log.take(np.flatnonzero((log.submit >= k * MONTH) & (log.submit < (k + 1) * MONTH)))
        if len(part):
            yield f"month {k}", part


def whole_lines() -> bytes:
    """Return what is in the file, but for a last line that a kill left half-written."""
    written = RUNS.read_bytes() if RUNS.exists() else b""
    return written[: written.rfind(b"\n") + 1]


def recorded() -> dict[str, dict[str, float]]:
    """Return the runs that are in the file."""
    lines = [json.loads(line) for line in whole_lines().splitlines()]
    return {line.pop("run"): line for line in lines}


def warm_up(contest: Contest, policy: str | fs.Rolling) -> None:
    """Run some jobs that all come at once: the policy's kernels are compiled and loaded before a clock runs."""
    few = contest.workload.head(WARMING)
    few = replace(few, submit=np.full(len(few), few.submit.min()))
    prepare(few, contest.machine, policy).advance()


def run_of(contest: Contest, policy: str | fs.Rolling, *, keep: bool) -> dict[str, float]:
    """Return what a policy makes of a contest; kept runs are done once."""
    name = f"{contest.name} | {contest.machine.name} | {len(contest.workload)} jobs | {policy}"
    if isinstance(policy, fs.Rolling) and policy.placement is not None:
        name += f" on {policy.placement}"
    known = recorded() if keep else {}
    if name in known:
        return known[name]
    warm_up(contest, policy)
    file = None
    if keep and isinstance(policy, fs.Rolling):
        file = OUT / f"rolling-{abs(hash_of(name)):012x}.npz"
        policy = replace(policy, checkpoint=file)
    whole = float(file is None or not file.exists())
    run = prepare(contest.workload, contest.machine, policy)
    begun = time.process_time()
    run.advance()
    seconds = time.process_time() - begun
    schedule = Schedule(
        workload=contest.workload,
        federation=contest.machine,
        start=run.state.start,
        finish=run.state.finish,
        counts=run.state.counts,
        t0=run.problem.t0,
    )
    schedule.verify()
    row = schedule.metrics().as_dict()
    replans = 0 if run.planner is None else run.planner.replans  # type: ignore[attr-defined]
    line = {metric: row[metric] for metric in SHOWN} | {"seconds": seconds, "plans": replans, "whole": whole}
    if keep:
        with RUNS.open("ab") as out:
            out.truncate(len(whole_lines()))
            out.write(json.dumps({"run": name} | line).encode() + b"\n")
        if file is not None:
            file.unlink(missing_ok=True)
    return line


def hash_of(name: str) -> int:
    """Return a number that names a run on every day alike."""
    import zlib

    return zlib.crc32(name.encode())


def hold(contests: list[Contest], *, keep: bool) -> dict[str, list[dict[str, float]]]:
    """Print a table a contest and one of the means over all; return the runs, policy by policy."""
    found: dict[str, list[dict[str, float]]] = {}
    for contest in contests:
        print(f"\n{contest.name}: {contest.workload.name}, {len(contest.workload):,} jobs on {contest.machine}")
        heading()
        for name, policy in contest.policies.items():
            found.setdefault(name, []).append(run_of(contest, policy, keep=keep))
            show(name, found[name][-1])
    if len(contests) > 1:
        print(f"\nmeans over the {len(contests)}")
        heading()
        for name, runs in found.items():
            show(name, {key: float(np.mean([run[key] for run in runs])) for key in runs[0]})
    return found


def heading() -> None:
    """Print the columns' names."""
    print(
        f"{'':<32}{'bounded slowdown':>18}{'mean wait, s':>14}{'response, s':>13}{'longest, s':>12}{'energy, MWh':>13}"
        f"{'plans':>9}"
    )


def show(name: str, run: dict[str, float]) -> None:
    """Print one line of a table."""
    print(
        f"{name:<32}{run['bounded_slowdown']:>18.2f}{run['mean_wait']:>14,.0f}{run['mean_response']:>13,.0f}{run['max_wait']:>12,.0f}"
        f"{run['energy'] / 3.6e9:>13.3f}{run['plans']:>9,.0f}",
        flush=True,
    )


def verdicts(report: Report, contests: list[Contest], found: dict[str, list[dict[str, float]]]) -> None:
    """Print how the searches stand beside the usual policies, and how fast they are."""
    jobs = sum(len(contest.workload) for contest in contests)
    for name, runs in found.items():
        if not name.startswith("rolling"):
            continue
        for metric in dict.fromkeys((name.split(", ")[1], "bounded_slowdown")):
            ours = np.array([run[metric] for run in runs])
            for other in ("easy", "easy-sjbf", "sjf-easy", "saf-easy"):
                theirs = np.array([run[metric] for run in found[other]])
                what = f"{name}: {metric} over {other}'s"
                report.row(what, ours.mean() / theirs.mean(), "", 1.0, at_most=True)
                if len(runs) > 1:
                    report.row(f"  below it in so many of {len(runs)}", float((ours < theirs).sum()), "")
        if all(run["whole"] for run in runs):
            seconds, plans = sum(run["seconds"] for run in runs), sum(run["plans"] for run in runs)
            report.row(f"{name}: jobs a second", jobs / seconds, "/s")
            report.row(f"{name}: plans a second", plans / seconds, "/s")


def figures_of(found: dict[str, list[dict[str, float]]]) -> dict[str, float]:
    """Return what the page on performance says of the months: means, and how often the search is ahead of EASY-SJBF."""
    slowdowns = {name: np.array([run["bounded_slowdown"] for run in runs]) for name, runs in found.items()}
    ours = slowdowns["rolling, mean_wait"]
    shown = {"easy": "easy", "easy-sjbf": "sjbf", "sjf-easy": "sjf", "rolling, mean_wait": "ours"}
    return {
        **{f"slowdown_{short}": float(slowdowns[name].mean()) for name, short in shown.items()},
        "months": ours.size,
        "ahead": int((ours < slowdowns["easy-sjbf"]).sum()),
    }


def main() -> None:
    """Print the tables."""
    options = arguments()
    OUT.mkdir(exist_ok=True)
    if options.smoke:
        part = fs.read(ROOT / "traces" / "lublin-128.swf.gz").head(120)
        contest = Contest("sample", part, fs.Federation.homogeneous(part.nodes), competitors(40, "bounded_slowdown"))
        found = hold([contest], keep=False)
        verdicts(Report("\nrolling, smoke"), [contest], found)
        return
    if (path := optional_log("KTH-SP2-1996-2.1-cln.swf.gz")) is not None:
        log = fs.read(path)
        which = [int(k) for k in options.months.split(",")] if options.months else list(range(11))
        rivals = competitors(options.evaluations, "bounded_slowdown", "mean_wait")
        contests = [
            Contest(name, part, fs.Federation.homogeneous(100, busy_watts=200, idle_watts=90), rivals)
            for name, part in months(log, which)
        ]
        found = hold(contests, keep=True)
        verdicts(Report(f"\nKTH, {options.evaluations} evaluations a plan, CPU seconds"), contests, found)
        if not options.months and options.evaluations == RECORDED:
            record("bench_rolling", figures_of(found) | {"evaluations": options.evaluations})
    if not options.months and (path := optional_log("METACENTRUM-2009-2.swf.gz")) is not None:
        machine = fs.read_federation(ROOT / "traces" / "federations" / "metacentrum-2009.toml")
        few = fs.Rolling(evaluations=50, placement="fastest")
        rivals = competitors(50, "energy") | {
            "rolling, bounded_slowdown, 100": few,
            "rolling, bounded_slowdown, 1000": replace(few, window=1000),
        }
        contests = [Contest(name, part, machine, rivals) for name, part in months(fs.read(path), [1])]
        print("\nMetaCentrum: no requested times, so every policy knows the run times")
        found = hold(contests, keep=True)
        verdicts(Report("\nMetaCentrum, 50 evaluations a plan, CPU seconds"), contests, found)


if __name__ == "__main__":
    main()
