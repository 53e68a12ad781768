"""The parts of a report's summary, as text or HTML: jobs, machine and method, gains over baselines, gaps to bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted
from fedsched.core.text import html as escape
from fedsched.model.jobs.assumed import are_assumed, assumptions, marked
from fedsched.model.jobs.unmodelled import unmodelled
from fedsched.optimize.result.printed import OPTIMAL, in_brief, without_end
from fedsched.report.formatting import column, listed, measure, number, share, title
from fedsched.report.material import policies_with_schedules
from fedsched.report.skeleton import Markup, table

if TYPE_CHECKING:
    from fedsched.model.jobs.recorded import Recorded
    from fedsched.optimize.result import Result
    from fedsched.report.material import Material

WIDTH = 72  # of the small bars of gains, in pixels
OFTEN = ("easy", "fcfs")  # baselines that cards mention


def heading(material: Material) -> str:
    """Return the page's default title: the jobs, the machine, and the policy of a single schedule."""
    jobs = counted(len(material.workload), "job")
    federation = material.federation
    place = federation.name if len(federation.clusters) > 1 else counted(federation.nodes, "node")
    under = f" under {material.entries[0].label}" if len(material.entries) == 1 and material.result is None else ""
    return f"{jobs} of {material.workload.name} on {place}{under}"


def lede(material: Material) -> str:
    """Return the text at the top of the page: the best values that a search reached, then how it was run.

    For schedules without a search it says which one has the least mean wait, or the metrics of a single one.
    """
    result = material.result
    if result is None:
        return _schedules_in_words(material)
    return " ".join(in_brief(result).splitlines())


def _schedules_in_words(material: Material) -> str:
    metrics = material.schedules[0].metrics(users=False)
    if len(material.entries) > 1:
        waits = [one.metrics(users=False).mean_wait for one in material.schedules]
        least = min(range(len(waits)), key=lambda k: (waits[k] != waits[k], waits[k]))
        labels = [entry.label for entry in material.entries if entry.schedule is not None]
        of = f"{counted(len(material.entries), 'schedule')} of the same jobs"
        return f"Of {of}, {labels[least]} has the least mean wait: {measure('mean_wait', waits[least])}."
    done = int((~np.isnan(material.schedules[0].finish)).sum())
    jobs = (
        f"All {counted(done, 'job')}"
        if done == len(material.workload)
        else f"{done:,} of {counted(len(material.workload), 'job')}"
    )
    return (
        f"{jobs} finish within {measure('makespan', metrics.makespan)}, keep the nodes busy for "
        f"{measure('utilisation', metrics.utilisation)} of that time, and wait "
        f"{measure('mean_wait', metrics.mean_wait)} on average."
    )


def cards(material: Material) -> str:
    """Return the cards at the top as HTML: one for each objective of a search, or the main metrics of one schedule.

    Return "" for several schedules.
    """
    result = material.result
    if result is not None:
        found = [_objective_card(result, name) for name in result.objectives]
        if result.energy_penalty == result.energy_penalty and not result.federation.watts_assumed:
            found.append(_penalty_card(result))
    elif len(material.entries) > 1:
        return ""
    else:
        row = material.schedules[0].metrics(users=False).as_dict()
        # Energy from assumed watts is not shown at the top; the tables have it, marked.
        energy = () if material.federation.watts_assumed else ("energy",)
        names = ("makespan", *energy, "mean_wait", "bounded_slowdown")
        log = material.workload.recorded
        said = {} if log is None else {name: [_as_recorded(log, name, one)] for name, one in log.figures().items()}
        found = [_card(title(name), measure(name, row[name]), said.get(name, [])) for name in names]
    return f'<div class="cards">{"".join(found)}</div>'


def _as_recorded(log: Recorded, name: str, value: float) -> tuple[str, str]:
    return measure(name, value), f"as the log records {log.coverage}"


def _card(name: str, figure: str, lines: list[tuple[str, str]]) -> str:
    rest = "".join(f"<li><strong>{escape(strong)}</strong> {escape(text)}</li>" for strong, text in lines)
    return f'<div class="card"><h3>{escape(name)}</h3><p class="figure">{escape(figure)}</p><ul>{rest}</ul></div>'


def _objective_card(result: Result, name: str) -> str:
    lines = [
        (share(abs(gain)), f"{'better' if gain >= 0 else 'worse'} than {baseline.policy}")
        for baseline in result.baselines
        if baseline.policy in OFTEN
        if (gain := result.gain(baseline.policy, name)) == gain
    ]
    gap = result.gap(name)
    if gap <= OPTIMAL:
        lines.append(("optimal", "as the bound proves"))
    elif gap == gap:
        lines.append((f"≤ {share(gap)}", "above the optimum: proven"))
    return _card(marked(f"best {title(name)}", name, result.federation), measure(name, result.value(name)), lines)


def _penalty_card(result: Result) -> str:
    from fedsched.optimize.result.printed import NEARLY_ONE

    nearly = result.energy_penalty < NEARLY_ONE
    why = "idle power dominates, so both aims want the same plan" if nearly else "there is something to trade"
    lines = [("", f"estimated from the bounds: {why}")]
    return _card("energy that the least makespan costs", f"about {share(result.energy_penalty)}", lines)


def gains(result: Result) -> str:
    """Return an HTML table of the lower bound, the best plan and the baselines, by objective.

    Beside each baseline is the best plan's gain over it, and beside the bound the proven gap.
    """
    baselines = sorted(result.baselines, key=lambda one: one.values)
    bounded = any(result.gap(name) == result.gap(name) for name in result.objectives)
    labels = ["lower bound"] * bounded + ["best plan" if len(result.front) == 1 else "best of the plans"]
    again = policies_with_schedules(result)
    marks = {one.policy: "" if one.policy in again else result.mark for one in baselines}
    labels += [f"{one.policy}{marks[one.policy]}{without_end(one.missing)}" for one in baselines]
    head, columns = [""], [labels]
    for k, name in enumerate(result.objectives):
        values = [result.bound(name)] * bounded + [result.value(name)]
        heading, texts = column(name, values + [baseline.values[k] for baseline in baselines])
        heading = marked(heading, name, result.federation)
        gap = result.gap(name)
        proven = "" if gap != gap else f"gap ≤ {share(gap)}" if gap > OPTIMAL else "no gap"
        beside = [proven] * bounded + [""]
        head += [heading, "gain"]
        bars = [_bar(result.gain(baseline.policy, name)) for baseline in baselines]
        columns += [texts, [*beside, *bars]]
    caption = "Rules on the same problem, and the best plan's gain"
    return table(caption, head, list(zip(*columns, strict=True)), marked=int(bounded))


def _bar(gain: float) -> Markup:
    # A number with a bar beside it, as SVG: the page's security policy allows no inline styles.
    if gain != gain:
        return Markup("")
    kind, sign = ("gain", "") if gain >= 0 else ("loss", "−")
    return Markup(
        f'{sign}{share(abs(gain))}<svg class="gauge" width="{WIDTH}" height="12" aria-hidden="true">'
        f'<rect class="ground" y="3" width="{WIDTH}" height="6" rx="1"/>'
        f'<rect class="{kind}" y="3" width="{min(abs(gain), 1.0) * WIDTH:.1f}" height="6" rx="1"/></svg>'
    )


def facts(material: Material) -> str:
    """Return an HTML table of what was scheduled: workload, what is not modelled or assumed, method and reading."""
    workload, result = material.workload, material.result
    jobs, unit = counted(len(workload), "job"), "task" if material.shared else "node"
    if len(workload):
        least, most = int(workload.tasks.min()), int(workload.tasks.max())
        jobs += f", {counted(most, unit)} each" if least == most else f", {least:,} to {most:,} {unit}s each"
    rows = [("workload", f"{workload.name}: {jobs}")]
    if workload.history:
        rows.append(("made by", ", ".join(workload.history)))
    if workload.cleaning is not None:
        part = "" if workload.cleaning.kept == len(workload) else f"; of those, {len(workload):,} are here"
        rows.append(("cleaning", f"{workload.cleaning}{part}"))
    if (log := workload.recorded) is not None:
        rows.append(("recorded", str(log)))
    facts = unmodelled(workload, material.federation)
    if material.shared:
        facts = tuple(dict.fromkeys(fact for schedule in material.schedules for fact in schedule.unmodelled))
    if facts:
        rows.append(("not modelled", "; ".join(facts)))
    if facts := assumptions(material.federation, workload):
        rows.append(("assumed", "; ".join(facts)))
    if remarks := dict.fromkeys(remark for schedule in material.schedules for remark in schedule.remarks):
        rows.append(("to know", "; ".join(remarks)))
    if result is not None:
        islands = f", {result.islands} islands" if result.islands > 1 else ""
        rows += [
            ("method", f"{result.searched_by}{islands}, seed {result.seed}"),
            ("objectives", ", ".join(title(name) for name in result.objectives)),
            ("reading", result.reading),
        ]
    else:
        placements = sorted({schedule.policy.partition(" on ")[2] for schedule in material.schedules} - {""})
        rows += [("placement", ", ".join(placements))] if placements else []
        readings = sorted({str(schedule.reading) for schedule in material.schedules})
        rows += [("reading", "; or ".join(readings))]
    return table("What was scheduled", ("", ""), rows, numbers=False)


def machine(material: Material) -> str:
    """Return an HTML table of the federation's node groups by cluster: nodes, speed, watts and uplink."""
    rows, saves = [], material.federation.power is not None
    for cluster in material.federation.clusters:
        uplink = f"{number(cluster.uplink * 8 / 1e9)} Gbit/s" if np.isfinite(cluster.uplink) else "unlimited"
        for k, group in enumerate(cluster.groups):
            name = cluster.name if len(cluster.groups) == 1 else f"{cluster.name} {group.name or k + 1}"
            watts = [f"{number(one)} W{' *' * are_assumed(one)}" for one in (group.busy_watts, group.idle_watts)]
            watts += [f"{number(group.idle_watts if group.off_watts is None else group.off_watts)} W"] if saves else []
            rows.append((name, f"{group.count:,}", number(group.speed), *watts, uplink))
    head = ("cluster", "nodes", "speed", "busy node", "idle node", *(["node off"] if saves else []), "uplink")
    said = "; * = assumed" if material.federation.watts_assumed else ""
    return table(f"On what: {counted(material.federation.nodes, 'node')}{said}", head, rows)


def diagnosis(result: Result) -> str:
    """Return a sentence on how far each objective differs over the front; "" for a single plan or objective."""
    if len(result.front) < 2 or len(result.objectives) < 2:
        return ""
    spans = []
    for k, name in enumerate(result.objectives):
        low, high = result.front.values[:, k].min(), result.front.values[:, k].max()
        span = share(high / low - 1.0) if low > 0 else number(high - low)
        spans.append(f"{marked(title(name), name, result.federation)} differs by {span}")
    return f"Over the whole front {listed(spans)}."
