"""Write the measured figures into docs/evidence/performance.md and README.md: python benchmarks/performance_page.py.

A benchmark run in full records its figures in out/figures.json. They replace those of its last run in
benchmarks/figures.json, which is kept with the code. From there they fill the table of the page on performance and the
five lines of README. --check changes nothing and exits with 1 if a page differs from what benchmarks/figures.json
gives; --keep ignores out/figures.json.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import MEASURED, ROOT, between, recorded, save_figures

if TYPE_CHECKING:
    from measuring import Figures

README = ROOT / "README.md"
PAGE = ROOT / "docs" / "evidence" / "performance.md"
KEPT = Path(__file__).with_name("figures.json")
TABLE = "<!-- table: begin -->", "<!-- table: end -->"
LINES = "<!-- figures: begin -->", "<!-- figures: end -->"
FIELD = re.compile(r"\{(\w+)\.(\w+)(?::(\w+))?\}")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table. `{benchmark.name:form}` in a text stands for a recorded figure, written in that form."""

    what: str
    figure: str
    command: str = ""  # by default the benchmark that the figures are of


ROWS = (
    Row(
        "EASY on the log HPC2N ({bench_replay.hpc2n_jobs:whole} jobs): simulation",
        "{bench_replay.hpc2n_easy:big} jobs a second",
    ),
    Row(
        "The same: time to read the log; peak memory of the process",
        "{bench_replay.hpc2n_read:1} s; {bench_replay.hpc2n_peak:3} MB",
    ),
    Row(
        "Conservative backfilling on an overloaded log (lublin_256): simulation",
        "{bench_replay.lublin_conservative:big} jobs a second",
    ),
    Row(
        "The twin of a made `sacct` dump of 600,000 jobs on 5,860 nodes: time to read and replay it",
        "{bench_twin.easy_seconds:3} s under EASY, {bench_twin.slurm_seconds:3} s under Slurm's own policy",
    ),
    Row(
        "Evaluation of a search's candidates: 200 jobs, 8 node groups",
        "{bench_evaluation.greedy:2} million placements a second (greedy), {bench_evaluation.greedy_links:2} (greedy, "
        "with communication), {bench_evaluation.easy:2} (EASY)",
    ),
    Row(
        "The same, beside the slow reference in plain Python",
        "{bench_evaluation.strict_naive:big} times as fast (strict) to {bench_evaluation.greedy_naive:big} times "
        "(greedy)",
    ),
    Row(
        "AccaSim and fedsched on the same 2,000 jobs; both read the log and write the schedule. Under FIFO "
        "{bench_peers.fcfs_same:3} % of the starts are the same, under EASY the schedules differ",
        "{bench_peers.fcfs:2} times as fast under FIFO, {bench_peers.easy:2} times under EASY",
    ),
    Row(
        "`optimize`, 10 s on one core, packages of 50–200 jobs whose optimal makespan is known by construction: "
        "makespan above the optimum",
        "one cluster {bench_search.one:range} %, two {bench_search.two_equal:range} % ({bench_search.two_apart:range} "
        "% if no job needs both), three speeds {bench_search.three_speeds:range} %, four "
        "{bench_search.four_speeds:range} %",
    ),
    Row(
        "`optimize` on packages of 8–12 jobs whose optimum CP-SAT proves; and beside CP-SAT on 30–100 jobs, 10 s each",
        "{bench_exact.optimal:whole} of {bench_exact.proven:whole} optimal; from {bench_exact.least_ahead:2} to "
        "{bench_exact.most_ahead:2} % ahead of CP-SAT",
    ),
    Row(
        "`optimize`, 1 s on one core; stock pymoo and DEAP on one core; CP-SAT and PyJobShop on two cores. Five "
        "objectives, {bench_rivals.instances:whole} instances: mean distance above the best result of all",
        "{bench_rivals.memetic:range} %; pymoo and DEAP {bench_rivals.frameworks:range} %; CP-SAT and PyJobShop "
        "{bench_rivals.solvers:range} %",
    ),
    Row(
        "{heuristics.policies:whole} policies and {heuristics.searches:whole} searches on {heuristics.packages:whole} "
        "packages and 8 federations, {heuristics.evaluations:whole} evaluations; all jobs wait, run times are known. "
        "`memetic` below EASY; and below the best policy of each package; medians",
        "makespan {heuristics.makespan_easy:2} %, energy {heuristics.energy_easy:2} %, flow {heuristics.flow_easy:2} "
        "%; {heuristics.makespan_policy:1}, {heuristics.energy_policy:1}, {heuristics.flow_policy:1} %",
    ),
    Row(
        "Packages of 10, 100 and 500 jobs; all jobs wait, run times are known. Makespan of `memetic` below EASY's; and "
        "above the lower bound; medians",
        "{packages.easy_10:2}, {packages.easy_100:2}, {packages.easy_500:2} %; {packages.bound_10:2}, "
        "{packages.bound_100:2}, {packages.bound_500:2} %",
    ),
    Row(
        "The search as an on-line policy (`Rolling` for mean waits) on {bench_rolling.months:whole} months of KTH, "
        "with users' estimates only: mean bounded slowdown; beside EASY, EASY-SJBF and SJF-EASY",
        "{bench_rolling.slowdown_ours:3}; {bench_rolling.slowdown_easy:3}, {bench_rolling.slowdown_sjbf:3}, "
        "{bench_rolling.slowdown_sjf:3}; below EASY-SJBF in {bench_rolling.ahead:whole} months",
        "python benchmarks/bench_rolling.py --evaluations 200",
    ),
    Row(
        "Growth of time from 1,000 to 1,000,000 jobs, as an exponent (FCFS, EASY, conservative); memory, jobs included",
        "{bench_scaling.fcfs_exponent:3}, {bench_scaling.easy_exponent:3}, {bench_scaling.conservative_exponent:3}; "
        "{bench_scaling.easy_bytes:2} bytes a job",
    ),
    Row(
        "Growth of the time of one plan's evaluation from 1,000 to 100,000 waiting jobs, as an exponent: EASY, "
        "conservative; with each job bound to one group: greedy, EASY",
        "{bench_scaling.evaluate_easy_waiting:3}, {bench_scaling.evaluate_conservative_waiting:3}; "
        "{bench_scaling.evaluate_greedy_bound_waiting:3}, {bench_scaling.evaluate_easy_bound_waiting:3}",
    ),
    Row(
        "Share of two workers in use: by islands of a search of 8 s, by runs of a comparison (by two processes that "
        "only count: {bench_executors.machine:2})",
        "processes {bench_executors.processes_longer:2}, {bench_executors.processes_comparison:2}; threads "
        "{bench_executors.threads_longer:2}, {bench_executors.threads_comparison:2}; Dask "
        "{bench_executors.dask_longer:2}, {bench_executors.dask_comparison:2}; MPI {bench_executors.mpi_longer:2}, "
        "{bench_executors.mpi_comparison:2}",
    ),
    Row(
        "Claims of the thesis on federated clusters, on five packages each of HPC2N, KTH-SP2 and METACENTRUM",
        "{bench_thesis.reached:whole} of {bench_thesis.aimed:whole} checks hold",
    ),
    Row(
        "Gangs with a queue per processor, beside plain Python with the same events: 40,000 completions on two sites; "
        "the same with migration",
        "{bench_gang_multisite.two_sites:2} times as fast; {bench_gang_multisite.migration:2} times",
    ),
    Row(
        "Choice of a window of slots (MinCost) among {bench_market_windows.slots:range} slots",
        "{bench_market_windows.slope:2} ns a slot, linear in the number of slots (R² {bench_market_windows.fitted:2})",
    ),
    Row(
        "Starts of the logs KTH, NASA and Lublin under FCFS, EASY and conservative, and of KTH as pyss runs it",
        "every start is the same as in other programs",
        "fedsched verify TRACE",
    ),
    Row(
        "First simulation in a new environment: compiling",
        "{bench_startup.cold:2} s once; afterwards {bench_startup.cached:1} s a process, {bench_startup.loaded_ms:1} "
        "ms a call",
    ),
    Row(
        "`import fedsched`; `fedsched --help`: time beyond Python's own start",
        "{bench_startup.imported:1} s; {bench_startup.help:2} s",
    ),
)
# The five lines of README, for readers who know none of the benchmarks.
FIVE = (
    "**Speed**: EASY backfilling simulates {bench_replay.hpc2n_easy:big} jobs a second on one core (the log HPC2N, "
    "{bench_replay.hpc2n_jobs:whole} jobs).",
    "**Beside another simulator**: {bench_peers.fcfs:2} times as fast as AccaSim on the same 2,000 jobs under FCFS, "
    "and {bench_peers.fcfs_same:3} % of the starts are the same.",
    "**Gain over EASY**: if 100 jobs wait and run times are known, the best plan found ends {packages.easy_100:2} % "
    "sooner than EASY's (median), and {packages.bound_100:1} % above the proven lower bound.",
    "**Beside other optimisers**: after 1 s the plans are {bench_rivals.memetic:range} % above the best that any "
    "program found; pymoo and DEAP {bench_rivals.frameworks:range} %; CP-SAT and PyJobShop, on two cores, "
    "{bench_rivals.solvers:range} %.",
    "**As an on-line policy**: on {bench_rolling.months:whole} months of the log KTH, the search has a mean bounded "
    "slowdown of {bench_rolling.slowdown_ours:3}, EASY of {bench_rolling.slowdown_easy:3}.",
)


def number(value: float, form: str) -> str:
    """Return a figure as text.

    `form` is `whole`, `big` (two digits; three for thousands), or a number of significant digits.
    """
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
    """Return one figure, or the smallest and the largest of several."""
    if form != "range":
        if isinstance(value, list):
            raise ValueError(f"{value} are several figures; show them as a range.")
        return number(value, form or "2")
    several = value if isinstance(value, list) else [value]
    low, high = (number(one, "whole") if one >= 100 else f"{one:.1f}" for one in (min(several), max(several)))
    return low if low == high else f"{low}–{high}"


def filled(text: str, figures: Figures) -> str:
    """Return a text with its figures filled in."""

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


def five_lines(figures: Figures) -> str:
    """Return README's list of figures."""
    return "\n".join(textwrap.fill(f"- {filled(line, figures)}", 120, subsequent_indent="  ") for line in FIVE)


def pages(figures: Figures) -> dict[Path, str]:
    """Return the two pages as they must be, by path."""
    texts = {path: path.read_text(encoding="utf-8") for path in (PAGE, README)}
    return {
        PAGE: between(texts[PAGE], *TABLE, table(figures), name=PAGE.name),
        README: between(texts[README], *LINES, five_lines(figures), name=README.name),
    }


def merged(kept: Figures, fresh: Figures) -> Figures:
    """Return the kept figures, exchanged for fresh ones benchmark by benchmark and name by name."""
    return {name: {**kept.get(name, {}), **fresh.get(name, {})} for name in {**kept, **fresh}}


def main(arguments: list[str] | None = None) -> int:
    """Write or check both pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a page is not up to date")
    parser.add_argument("--keep", action="store_true", help="take no new figures, only write the pages")
    options = parser.parse_args(arguments)
    kept = recorded(KEPT)
    figures = kept if options.check or options.keep else merged(kept, recorded(MEASURED))
    wanted = pages(figures)
    if options.check:
        stale = [path.name for path, text in wanted.items() if path.read_text(encoding="utf-8") != text]
        if stale:
            names = ", ".join(stale)
            print(f"{names}: not what benchmarks/figures.json gives; run python benchmarks/performance_page.py.")
        return int(bool(stale))
    save_figures(figures, KEPT)
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
