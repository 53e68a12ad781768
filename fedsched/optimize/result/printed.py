"""Printed forms of a Result: text for a terminal, HTML for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted, duration, one_line
from fedsched.core.text import html as escape
from fedsched.model.jobs import assumed, unmodelled
from fedsched.model.jobs.summary import implausible_lines
from fedsched.model.schedule.metrics import METRICS
from fedsched.optimize.result.record import BASELINES
from fedsched.search.problem.objectives import MAXIMISED

if TYPE_CHECKING:
    from fedsched.optimize.result.record import Result

SHOWN = 8  # plans of a front that are shown
UNITS = {metric.name: metric.unit for metric in METRICS}
NEARLY_ONE = 0.02  # an energy penalty below this share leaves almost no trade-off


def text(result: Result) -> str:
    """Return the summary: the search, the table of plans and baselines, bounds and gaps, the diagnosis."""
    header, *body = (tuple(map(one_line, row)) for row in table(result))
    widths = [max(len(row[i]) for row in (header, *body)) for i in range(len(header))]

    def line(row: tuple[str, ...]) -> str:
        first, *rest = row
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        return "  " + "  ".join(cells).rstrip()

    rows = (line(row) for row in (header, *body))
    return "\n".join([title(result), reading(result), *rows, *map(one_line, remarks(result))])


def html(result: Result) -> str:
    """Return the summary as HTML."""
    header, *body = table(result)

    def cells(row: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"

    rows = "".join(cells(row, "td") for row in body)
    notes = "".join(f"<p>{escape(remark)}</p>" for remark in remarks(result))
    head = f"{escape(title(result))}<br>{escape(reading(result))}"
    return f"<div><p>{head}</p><table>{cells(header, 'th')}{rows}</table>{notes}</div>"


def title(result: Result) -> str:
    """Return one line: the method, the problem, the budget."""
    jobs, evaluations = len(result.workload), counted(result.evaluations, "evaluation")
    packages = f" in {counted(result.packages, 'package')}" if result.packages else ""
    return one_line(
        f"{result.searched_by}, seed {result.seed}: {counted(jobs, 'job')} of {result.workload.name}{packages} on "
        f"{result.federation}; {evaluations} in {result.seconds:.1f} s ({result.stop_reason})"
    )


def reading(result: Result) -> str:
    """Return one line: which jobs waited, and what plans and baselines knew."""
    return f"Reading: {result.reading}."


def table(result: Result) -> list[tuple[str, ...]]:
    """Return the rows of the summary, header first."""
    names = result.objectives
    named = [" ".join(filter(None, (name, UNITS.get(name)))) for name in names]
    rows = [("", *(assumed.marked(said, name, result.federation) for said, name in zip(named, names, strict=True)))]
    front = result.front
    chosen = np.unique(np.linspace(0, len(front) - 1, min(len(front), SHOWN)).round().astype(int))
    for i in chosen.tolist():
        what = f"plan {i + 1} of {len(front)}" if len(front) > 1 else "best plan"
        if front.plans[i].policy:
            what += f" ({front.plans[i].policy})"
        what += without_end(front.missing[i] if front.missing else 0)
        rows.append((what, *(number(value) for value in front.values[i])))
    for baseline in result.baselines:
        label = f"{baseline.policy}{result.mark}{without_end(baseline.missing)}{too_late(baseline.late)}"
        rows.append((label, *(number(value) for value in baseline.values)))
    if any(result.bound(name) == result.bound(name) for name in names):
        rows.append(("lower bound", *(number(result.bound(name)) for name in names)))
        rows.append(("gap of the best", *(share(result.gap(name)) for name in names)))
    return rows


def remarks(result: Result) -> list[str]:
    """Return the remarks on the table."""
    lines = []
    named = {name: assumed.marked(name, name, result.federation) for name in result.objectives}
    sense = {name: "above" if name in MAXIMISED else "below" for name in result.objectives}
    gains = [
        f"{share(gain)} {named[name]} {sense[name]} {baseline.policy}{result.mark}"
        for baseline in result.baselines
        if baseline.policy in ("fcfs", "easy")
        for name in result.objectives
        if (gain := result.gain(baseline.policy, name)) == gain
    ]
    if gains:
        lines.append("best plans: " + ", ".join(gains))
    if result.energy_penalty == result.energy_penalty:
        nearly = result.energy_penalty < NEARLY_ONE
        why = "idle power dominates, so both want the same plan" if nearly else "there is something to trade"
        energy = assumed.marked("energy", "energy", result.federation)
        lines.append(f"the least makespan costs at least {share(result.energy_penalty)} {energy}: {why}")
    lines += notes(result)
    if result.left_out:
        lines.append(f"left out for want of time: {', '.join(result.left_out)}")
    if result.settings.seconds is not None:
        lines.append(f"compiling and loading took {result.warm_up:.1f} s more, which the budget does not count")
    if result.running is not None:
        lines.append(f"{len(result.running.rows)} of the jobs ran already at its begin")
    if facts := result.unmodelled:
        lines.append(unmodelled.sentence(facts))
    if facts := result.assumed:
        lines.append(assumed.sentence(facts))
    lines += implausible_lines(result.workload, result.federation)
    if result.unverified:
        lines.append(from_file(result))
    return lines


def notes(result: Result) -> list[str]:
    """Return notes: what plans did not know, jobs that figures leave out, and policies that cannot place every job."""
    lines = [result.foresight] if result.foresight else []
    if any(result.front.missing) or any(baseline.missing for baseline in result.baselines):
        proven = any(bound == bound for bound in result.lower_bounds.values())
        bounds = "bounds are of jobs that start in any case" if proven else "so nothing is proven of them"
        lines.append(f"figures leave out jobs that have no end, {bounds}")
    if result.refused:
        why, *others = dict.fromkeys(reason.partition(";")[0].rstrip(".") for reason in result.refused.values())
        more = f", and {counted(len(others), 'reason')} more in .refused" if others else ""
        lines.append(f"no baseline, for they cannot place every job: {', '.join(result.refused)} ({why}{more})")
    return lines


def without_end(jobs: int) -> str:
    """Return the number of jobs without an end, as an addition to a plan's name."""
    return f" (without {counted(jobs, 'job')})" if jobs else ""


def too_late(seconds: float) -> str:
    """Return a baseline's lateness, as an addition to its name."""
    return f" (ends {duration(seconds)} late)" if seconds > 0 else ""


def from_file(result: Result) -> str:
    """Return a remark on a result from a file: what was simulated again, and what is unverified."""
    *others, last = result.unverified
    made = "front" if BASELINES in others else "front and baselines"
    return f"from a file: {made} made again; unverified: {', '.join(others)} and {last}"


def number(value: float) -> str:
    """Return a number as a table shows it."""
    if value != value:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def share(value: float) -> str:
    """Return a share in percent."""
    return "-" if value != value else f"{value:.1%}"
