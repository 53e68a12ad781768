"""Printed forms of a Result and its front: a few sentences, text for a terminal, HTML for a notebook, columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.bounds.lower.small_problems import WITHOUT_SOLVER
from fedsched.core.text import counted, duration, html_table, one_line
from fedsched.core.text import html as escape
from fedsched.model.jobs import assumed, unmodelled
from fedsched.model.jobs.summary import implausible_lines
from fedsched.model.schedule.metrics import SHARES, UNITS, scale_of, with_unit
from fedsched.optimize.result.record import BASELINES
from fedsched.search.problem.objectives import MAXIMISED

if TYPE_CHECKING:
    from fedsched.optimize.result.record import Front, Result

SHOWN = 8  # plans of a front that are shown
TOLD = 2  # objectives with a line of their own in the summary
OPTIMAL = 1e-9  # a smaller gap counts as none
WEAK = 1.0  # with a larger gap a bound tells nothing
NEARLY_ONE = 0.02  # an energy penalty below this share leaves almost no trade-off


def text(result: Result) -> str:
    """Return the Result as text: the search, the table of plans, baselines, bounds and gaps, and remarks."""
    header, *body = (tuple(map(one_line, row)) for row in table(result))
    widths = [max(len(row[i]) for row in (header, *body)) for i in range(len(header))]

    def line(row: tuple[str, ...]) -> str:
        first, *rest = row
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        return "  " + "  ".join(cells).rstrip()

    rows = (line(row) for row in (header, *body))
    return "\n".join([title(result), reading(result), *rows, *map(one_line, remarks(result))])


def html(result: Result) -> str:
    """Return the Result as HTML: the search, the table of plans, baselines, bounds and gaps, and remarks."""
    header, *body = table(result)
    notes = "".join(f"<p>{escape(remark)}</p>" for remark in remarks(result))
    head = f"{escape(title(result))}<br>{escape(reading(result))}"
    return f"<div><p>{head}</p>{html_table(header, body)}{notes}</div>"


def verdicts(result: Result) -> str:
    """Return a line for each of the first objectives: the best value beside a policy and a proven bound."""
    return "\n".join(one_line(_verdict(result, name)) for name in result.objectives[:TOLD])


def in_brief(result: Result) -> str:
    """Return at most five lines: the best values beside a policy and a bound, the front, the search, the reading."""
    names, front = result.objectives, result.front
    lines = verdicts(result).splitlines()
    if len(names) > 1:
        others = f"; the front has {counted(len(names) - TOLD, 'further objective')}" if len(names) > TOLD else ""
        choice = " to choose from, each better than another in some objective" if len(front) > 1 else " is best in all"
        lines.append(f"{counted(len(front), 'plan')}{choice}{others}.")
    plans, took = counted(result.evaluations, "plan"), with_unit("makespan", result.seconds)
    parts = f", in {counted(result.packages, 'package')}," if result.packages else ""
    lines.append(
        f"The {result.searched_by} search simulated {plans}{parts} in {took} with seed {result.seed} "
        f"({result.stop_reason})."
    )
    return "\n".join(map(one_line, [*lines, reading(result)]))


def _verdict(result: Result, name: str) -> str:
    """Return the best value of an objective, its gain over a policy, and how far it can be from the optimum."""
    said = name.replace("_", " ")
    said = f"Best plan: {said}" if len(result.objectives) == 1 else f"Best {said}:"
    value = assumed.marked(in_own_unit(name, result.value(name)), name, result.federation)
    parts = [f"{said} {value}"]
    more, less = ("below", "above") if name in MAXIMISED else ("above", "below")
    known = [baseline.policy for baseline in result.baselines]
    policy = next((one for one in ("easy", "fcfs") if one in known), known[0] if known else None)
    if policy is not None and (gain := result.gain(policy, name)) == gain:
        better = less if gain > 0 else more
        theirs = f"{policy.upper() if policy in ('easy', 'fcfs') else policy}{result.mark}"
        parts.append(f"as much as {theirs}" if gain == 0 else f"{100 * abs(gain):.1f} % {better} {theirs}")
    if (gap := result.gap(name)) != gap:
        return f"{', '.join(parts)}; no bound is proven."
    if abs(gap) > WEAK:
        bound = in_own_unit(name, result.bound(name))
        return f"{', '.join(parts)}; the proven bound, {bound}, is too weak to tell how far it is from the best."
    share = f"at most {100 * abs(gap):.1f}" if abs(gap) >= 1e-3 else "less than 0.1"
    far = "" if abs(gap) < OPTIMAL else f"{share} % {more} "
    return f"{', '.join(parts)}, and {far}the best possible."


def front_in_brief(front: Front) -> str:
    """Return three lines: the number of plans, the range of each objective, and the knee; one line for one plan."""
    low, high, knee = front.values.min(axis=0), front.values.max(axis=0), front.knee_index()
    values = [f"{name} {in_own_unit(name, value)}" for name, value in
              zip(front.objectives, front.values[knee].tolist(), strict=True)]  # fmt: skip
    if len(front) == 1:
        return one_line(f"One plan: {', '.join(values)}.")
    ranges = [
        f"{name} from {in_own_unit(name, least)} to {in_own_unit(name, most)}"
        for name, least, most in zip(front.objectives, low.tolist(), high.tolist(), strict=True)
    ]
    balanced = f"Knee, the balanced plan: plan {knee + 1} with {', '.join(values)}."
    head = f"{len(front):,} plans, each better than any other in some objective."
    return "\n".join(map(one_line, [head, f"{'; '.join(ranges)}.", balanced]))


def front_columns(front: Front) -> dict[str, Any]:
    """Return the columns of a table of plans: number, values, policy (if a policy made the plan), and knee.

    `knee` is true for one plan. If plans were chosen by other values than came out, columns `planned:NAME` have
    those. A column `missing` counts jobs without an end.
    """
    columns: dict[str, Any] = {"plan": np.arange(1, len(front) + 1)}
    columns |= {name: front.values[:, k] for k, name in enumerate(front.objectives)}
    if front.planned is not None:
        columns |= {f"planned:{name}": front.planned[:, k] for k, name in enumerate(front.objectives)}
    if front.missing:
        columns["missing"] = np.array(front.missing)
    knee = np.arange(len(front)) == front.knee_index()
    return {**columns, "policy": np.array([plan.policy for plan in front.plans], dtype=object), "knee": knee}


def front_html(front: Front) -> str:
    """Return the front as HTML: its summary and a table of its plans."""
    named = [" ".join(filter(None, (name, UNITS.get(name)))) for name in front.objectives]
    shown = np.unique(np.linspace(0, len(front) - 1, min(len(front), SHOWN)).round().astype(int)).tolist()
    rows = [(f"plan {i + 1}", *map(number, front.values[i].tolist()), front.plans[i].policy) for i in shown]
    head = "<br>".join(map(escape, front_in_brief(front).splitlines()))
    return f"<div><p>{head}</p>{html_table(('', *named, 'policy'), rows)}</div>"


def columns_of(result: Result) -> dict[str, Any]:
    """Return the columns of a table with one row per plan, baseline and bound: its kind, its name and its values."""
    rows = [("plan", plan.policy or f"plan {i + 1}", values) for i, (plan, values) in
            enumerate(zip(result.front.plans, result.front.values.tolist(), strict=True))]  # fmt: skip
    rows += [("baseline", baseline.policy, list(baseline.values)) for baseline in result.baselines]
    rows += [("bound", "lower bound", [result.bound(name) for name in result.objectives])]
    kinds, names, values = zip(*rows, strict=True)
    columns: dict[str, Any] = {"kind": np.array(kinds, dtype=object), "name": np.array(names, dtype=object)}
    return columns | {name: np.array([row[k] for row in values]) for k, name in enumerate(result.objectives)}


def title(result: Result) -> str:
    """Return one line: the method, the seed, the problem, the evaluations and seconds spent, and the reason to stop."""
    jobs, evaluations = len(result.workload), counted(result.evaluations, "evaluation")
    packages = f" in {counted(result.packages, 'package')}" if result.packages else ""
    return one_line(
        f"{result.searched_by}, seed {result.seed}: {counted(jobs, 'job')} of {result.workload.name}{packages} on "
        f"{result.federation}; {evaluations} in {result.seconds:.1f} s ({result.stop_reason})"
    )


def reading(result: Result) -> str:
    """Return one line, "Reading: ….": which jobs waited, and what plans and baselines knew."""
    return f"Reading: {result.reading}."


def table(result: Result) -> list[tuple[str, ...]]:
    """Return the rows of the printed table, header first: at most 8 plans, then baselines, bounds and gaps."""
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
    """Return the lines below the table: gains, energy penalty, what was left out or assumed, and notes."""
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
        lines.append(
            f"estimated from the bounds, the least makespan takes {share(result.energy_penalty)} more {energy}: {why}"
        )
    lines += notes(result)
    lines += left_out_lines(result)
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


def left_out_lines(result: Result) -> list[str]:
    """Return what was left out for want of time, and a proof for want of a solver if it may have closed a gap."""
    in_haste = [one for one in result.left_out if one != WITHOUT_SOLVER]
    lines = [f"left out for want of time: {', '.join(in_haste)}"] if in_haste else []
    if WITHOUT_SOLVER in result.left_out and not result.gap("makespan") < OPTIMAL:
        lines.append(f"left out: {WITHOUT_SOLVER}")
    return lines


def notes(result: Result) -> list[str]:
    """Return sentences on what plans did not know, jobs without an end, and policies that cannot place every job."""
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
    """Return " (without N jobs)" for jobs that have no end, as an addition to a plan's name; "" for 0 jobs."""
    return f" (without {counted(jobs, 'job')})" if jobs else ""


def too_late(seconds: float) -> str:
    """Return " (ends … late)", as an addition to a baseline's name; "" if it keeps the deadline."""
    return f" (ends {duration(seconds)} late)" if seconds > 0 else ""


def from_file(result: Result) -> str:
    """Return a remark on a result from a file: what was simulated again, and what is unverified."""
    *others, last = result.unverified
    made = "front" if BASELINES in others else "front and baselines"
    return f"from a file: {made} made again; unverified: {', '.join(others)} and {last}"


def in_own_unit(name: str, value: float) -> str:
    """Return a value as text in the metric's own unit, and in a larger one if that suits it: 107,482 s (29.86 h)."""
    unit = UNITS.get(name, "")
    if name in SHARES:
        return with_unit(name, value)
    exact = f"{number(value)} {unit}".strip()
    return exact if scale_of(name, value) == (unit, 1.0) else f"{exact} ({with_unit(name, value)})"


def number(value: float) -> str:
    """Return a number as text: four digits, or thousands with commas; "-" for NaN."""
    if value != value:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def share(value: float) -> str:
    """Return a share as text in percent, such as "4.2%"; "-" for NaN."""
    return "-" if value != value else f"{value:.1%}"
