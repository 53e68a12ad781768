"""Write README.md's table of figures from what the benchmarks recorded: python benchmarks/readme_table.py.

A benchmark run in full records its figures in out/figures.json. They replace those of its last run in
benchmarks/figures.json, which travels with the code, and from there fill the rows below. --check changes nothing and
exits with 1 when README.md's block is not what benchmarks/figures.json gives; --keep leaves out/figures.json aside.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import MEASURED, ROOT, between, recorded, save_figures

if TYPE_CHECKING:
    from measuring import Figures

README = ROOT / "README.md"
KEPT = Path(__file__).with_name("figures.json")
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
FIELD = re.compile(r"\{(\w+)\.(\w+)(?::(\w+))?\}")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table. `{benchmark.name:form}` in a text stands for a recorded figure, written in that form."""

    what: str
    figure: str
    command: str = ""  # by default the benchmark that the figures are of


ROWS = (
    Row(
        "EASY on HPC2N ({bench_replay.hpc2n_jobs:whole} jobs): simulated",
        "{bench_replay.hpc2n_easy:big} jobs a second",
    ),
    Row(
        "the same: reading, and peak memory of the process",
        "{bench_replay.hpc2n_read:1} s, {bench_replay.hpc2n_peak:3} MB",
    ),
    Row("conservative on lublin_256, overloaded", "{bench_replay.lublin_conservative:big} jobs a second"),
    Row(
        "the twin of a made dump of 600,000 jobs on 5,860 nodes: read and replayed",
        "{bench_twin.easy_seconds:3} s under EASY, {bench_twin.slurm_seconds:3} s under Slurm's own policy",
    ),
    Row(
        "200 jobs × 8 groups, a candidate's evaluation",
        "{bench_evaluation.greedy:2} million placements a second (greedy; {bench_evaluation.greedy_links:2} with "
        "communication; EASY {bench_evaluation.easy:2})",
    ),
    Row(
        "the same against the naive reference",
        "{bench_evaluation.strict_naive:big} × (strict) to {bench_evaluation.greedy_naive:big} × (greedy)",
    ),
    Row(
        "AccaSim on the same 2,000 jobs, log read and schedule written by both: FIFO, {bench_peers.fcfs_same:3} % of "
        "the starts the same; EASY, schedules differ",
        "{bench_peers.fcfs:2} ×; {bench_peers.easy:2} ×",
    ),
    Row(
        "`optimize`, 10 s on one core, packages of 50–200 jobs with a planted optimum: makespan above it",
        "one cluster {bench_search.one:range} %, two {bench_search.two_equal:range} % (where no job needs both "
        "{bench_search.two_apart:range} %), three speeds {bench_search.three_speeds:range} %, four "
        "{bench_search.four_speeds:range} %",
    ),
    Row(
        "`optimize` where CP-SAT proves the optimum (8–12 jobs); beside CP-SAT, 10 s each, 30–100 jobs",
        "{bench_exact.optimal:whole} of {bench_exact.proven:whole} optimal; from {bench_exact.least_ahead:2} to "
        "{bench_exact.most_ahead:2} % ahead",
    ),
    Row(
        "`optimize`, 1 s on one core, beside stock pymoo and DEAP, and CP-SAT and PyJobShop on two cores, five "
        "objectives, {bench_rivals.instances:whole} instances: mean distance above the best of all",
        "{bench_rivals.memetic:range} %; pymoo, DEAP {bench_rivals.frameworks:range} %, CP-SAT, PyJobShop "
        "{bench_rivals.solvers:range} %",
    ),
    Row(
        "{heuristics.policies:whole} policies and {heuristics.searches:whole} searches, {heuristics.packages:whole} "
        "packages on 8 federations, all jobs waiting, run times known, {heuristics.evaluations:whole} evaluations: "
        "memetic below EASY, medians; below the best policy of each package",
        "makespan {heuristics.makespan_easy:2} %, energy {heuristics.energy_easy:2} %, flow {heuristics.flow_easy:2} "
        "%; {heuristics.makespan_policy:1}, {heuristics.energy_policy:1}, {heuristics.flow_policy:1} %",
    ),
    Row(
        "packages of 10, 100, 500 jobs, all waiting, run times known: memetic's makespan below EASY's; above the lower "
        "bound, medians",
        "{packages.easy_10:2}, {packages.easy_100:2}, {packages.easy_500:2} %; {packages.bound_10:2}, "
        "{packages.bound_100:2}, {packages.bound_500:2} %",
    ),
    Row(
        "the search as an on-line policy (`Rolling` for mean waits) on {bench_rolling.months:whole} months of KTH, "
        "users' estimates only: mean bounded slowdown beside EASY, EASY-SJBF and SJF-EASY",
        "{bench_rolling.slowdown_ours:3} beside {bench_rolling.slowdown_easy:3}, {bench_rolling.slowdown_sjbf:3}, "
        "{bench_rolling.slowdown_sjf:3}; below EASY-SJBF in {bench_rolling.ahead:whole} months",
        "python benchmarks/bench_rolling.py --evaluations 200",
    ),
    Row(
        "1,000 to 1,000,000 jobs: exponent of time (FCFS, EASY, conservative); memory with the jobs themselves",
        "{bench_scaling.fcfs_exponent:3}, {bench_scaling.easy_exponent:3}, {bench_scaling.conservative_exponent:3}; "
        "{bench_scaling.easy_bytes:2} bytes a job",
    ),
    Row(
        "one plan's evaluation, 1,000 to 100,000 jobs all waiting: exponent of time under EASY, conservative; each job "
        "bound to one group, greedy and EASY",
        "{bench_scaling.evaluate_easy_waiting:3}, {bench_scaling.evaluate_conservative_waiting:3}; "
        "{bench_scaling.evaluate_greedy_bound_waiting:3}, {bench_scaling.evaluate_easy_bound_waiting:3}",
    ),
    Row(
        "share of two workers that the islands of a search of 8 s, and a comparison's runs, put to use (two processes "
        "that only count: {bench_executors.machine:2})",
        "processes {bench_executors.processes_longer:2}, {bench_executors.processes_comparison:2}; threads "
        "{bench_executors.threads_longer:2}, {bench_executors.threads_comparison:2}; Dask "
        "{bench_executors.dask_longer:2}, {bench_executors.dask_comparison:2}; MPI {bench_executors.mpi_longer:2}, "
        "{bench_executors.mpi_comparison:2}",
    ),
    Row(
        "claims of the federated-cluster thesis, on five packages each of HPC2N, KTH-SP2 and METACENTRUM",
        "{bench_thesis.reached:whole} of {bench_thesis.aimed:whole} checks hold",
    ),
    Row(
        "gangs with a queue per processor against plain Python, same events: 40,000 completions on two sites; "
        "with migration",
        "{bench_gang_multisite.two_sites:2} ×; {bench_gang_multisite.migration:2} ×",
    ),
    Row(
        "slot windows, MinCost, {bench_market_windows.slots:range} slots: time",
        "{bench_market_windows.slope:2} ns a slot, on a straight line (R² {bench_market_windows.fitted:2})",
    ),
    Row(
        "KTH, NASA, Lublin under FCFS, EASY, conservative; KTH as pyss runs it",
        "every start the same as other programs'",
        "fedsched verify TRACE",
    ),
    Row(
        "first simulation in a new environment: compiling",
        "{bench_startup.cold:2} s once, then {bench_startup.cached:1} s a process, {bench_startup.loaded_ms:1} ms a "
        "call",
    ),
    Row(
        "`import fedsched`, `fedsched --help` over Python's own start",
        "{bench_startup.imported:1} s, {bench_startup.help:2} s",
    ),
)


def number(value: float, form: str) -> str:
    """Return a figure as the table shows it: `whole`, `big` (two digits, three in thousands), or so many digits."""
    if form == "whole":
        return f"{value:,.0f}"
    if form == "big":
        rounded = float(f"{value:.2g}") if value >= 1e6 or value < 1e5 else float(f"{value:.3g}")
        return f"{rounded / 1e6:.2g} million" if rounded >= 1e6 else f"{rounded:,.0f}"
    if abs(value) < 1e-5:  # rounding
        return "0"
    digits = int(form)
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10**digits else f"{rounded:#,.{digits}g}".rstrip(".")


def shown(value: float | list[float], form: str) -> str:
    """Return one figure, or the least and the greatest of several."""
    if form != "range":
        if isinstance(value, list):
            raise ValueError(f"{value} are several figures; show them as a range.")
        return number(value, form or "2")
    several = value if isinstance(value, list) else [value]
    low, high = (number(one, "whole") if one >= 100 else f"{one:.1f}" for one in (min(several), max(several)))
    return low if low == high else f"{low}–{high}"


def filled(text: str, figures: Figures) -> str:
    """Return a row's text with its figures in it."""

    def value(match: re.Match[str]) -> str:
        benchmark, name, form = match.groups(default="")
        if name not in figures.get(benchmark, {}):
            raise SystemExit(f"No figure {name!r} of {benchmark} is recorded; run python benchmarks/{benchmark}.py.")
        return shown(figures[benchmark][name], form)

    return FIELD.sub(value, text)


def command_of(row: Row) -> str:
    """Return the command that makes a row's figures."""
    if row.command:
        return row.command
    names = {match[1] for match in FIELD.finditer(row.what + row.figure)}
    if len(names) != 1:
        raise ValueError(f"Row {row.what!r} takes figures of {sorted(names)}; a row is of one benchmark.")
    return f"python benchmarks/{names.pop()}.py"


def table(figures: Figures) -> str:
    """Return the whole table."""
    lines = ["| what | figure | command |", "|---|---|---|"]
    for row in ROWS:
        lines.append(f"| {filled(row.what, figures)} | {filled(row.figure, figures)} | `{command_of(row)}` |")
    return "\n".join(lines)


def replaced(page: str, block: str) -> str:
    """Return the page with the block between its markers exchanged."""
    return between(page, BEGIN, END, block, name=README.name)


def merged(kept: Figures, fresh: Figures) -> Figures:
    """Return the kept figures, exchanged for fresh ones benchmark by benchmark and name by name."""
    return {name: {**kept.get(name, {}), **fresh.get(name, {})} for name in {**kept, **fresh}}


def main(arguments: list[str] | None = None) -> int:
    """Write or check the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when the table is not up to date")
    parser.add_argument("--keep", action="store_true", help="take no new figures, only write the table")
    options = parser.parse_args(arguments)
    kept = recorded(KEPT)
    figures = kept if options.check or options.keep else merged(kept, recorded(MEASURED))
    page = README.read_text(encoding="utf-8")
    wanted = replaced(page, table(figures))
    if options.check:
        if page != wanted:
            print("README.md's table is not what benchmarks/figures.json gives; run python benchmarks/readme_table.py.")
        return int(page != wanted)
    save_figures(figures, KEPT)
    README.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
