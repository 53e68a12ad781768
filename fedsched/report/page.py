"""The report's HTML page: its sections, and the data that its script draws."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import html as escape
from fedsched.io.arguments import noun_of
from fedsched.model.jobs.assumed import mark, marked, watts_sentence
from fedsched.model.jobs.demands import CORES
from fedsched.model.schedule.metrics import METRICS, SCALES
from fedsched.optimize.result.printed import from_file, left_out_lines
from fedsched.optimize.result.printed import notes as notes_of
from fedsched.plot.pareto import beside
from fedsched.report import repeat_code, summary
from fedsched.report.formatting import column, measure, title
from fedsched.report.material import Material, metrics_of
from fedsched.report.plan_data import (
    individual_jobs,
    jobs_of,
    plan_of,
    row_blocks,
    thinned_in_words,
    tick_of,
    work_of,
)
from fedsched.report.skeleton import Markup, chapters, data_block, document, filled, script, table

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.optimize.result import Result

COLUMNS = ("makespan", "energy", "mean_wait", "bounded_slowdown", "utilisation")  # of the table of plans
NO_SCRIPT = "<noscript><p class='notice'>Scripts are off: the charts are not drawn; the tables stand.</p></noscript>"


def write(
    material: Material,
    path: str | PathLike[str],
    *,
    title: str = "",
    repeat: str = "",
    python: str = "",
    price_per_kwh: float | None = None,
    co2_per_kwh: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write the page made by `page`; after an error the file is unchanged.

    Parameters
    ----------
    material, path
        The content, and the file to write (.html).
    title, repeat, python, price_per_kwh, co2_per_kwh, progress
        As of `page`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched import report
    >>> plans = [fs.simulate(fs.read("sample").head(50), 128, name) for name in ("easy", "sjf")]
    >>> report.write(report.of_schedules(plans), "two.html", title="Two policies")
    >>> "Two policies" in Path("two.html").read_text(encoding="utf-8")
    True
    """
    from fedsched.io.atomic import atomic_text

    factors = {"price_per_kwh": price_per_kwh, "co2_per_kwh": co2_per_kwh}
    text = page(material, title=title, repeat=repeat, python=python, progress=progress, **factors)
    with atomic_text(path) as out:
        out.write(text)


def page(
    material: Material,
    *,
    title: str = "",
    repeat: str = "",
    python: str = "",
    price_per_kwh: float | None = None,
    co2_per_kwh: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """Return the report's page as one HTML text, with its styles, script and data.

    Parameters
    ----------
    material
        The report's content, from `of_result` or `of_schedules`.
    title
        The heading; by default it names the jobs and the machine.
    repeat, python
        The command and the Python code that made the material, if the caller knows them.
    price_per_kwh, co2_per_kwh
        Initial values of the page's fields; by default empty.
    progress
        Called with (jobs placed on nodes, jobs in all), over all plans together.

    Examples
    --------
    >>> from fedsched import report
    >>> material = report.of_schedules([fs.simulate(fs.read("sample").head(50), 128)])
    >>> "<title>EASY</title>" in report.page(material, title="EASY")
    True
    """
    noun_of("report", "material", material, Material, "what of_result or of_schedules returns")
    for name, value in (("price_per_kwh", price_per_kwh), ("co2_per_kwh", co2_per_kwh)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise ValueError(f"report: {name}={value!r} must be a finite number of at least 0.")
    heading = title or summary.heading(material)
    kept = individual_jobs(work_of(material.schedules[0]), material.room)
    data = _data(material, kept, progress)
    sections = {
        "summary": ("Summary", _summary(material, _thinned(material, kept, data))),
        "front": ("Plans", _front(material)),
        "schedule": ("Schedule", _schedule(material)),
        "energy": ("Energy", _energy(material, price_per_kwh, co2_per_kwh)),
        "progress": ("Search", _progress(material)),
        "repeat": ("Repeat it", _repeat(material, repeat, python)),
    }
    links, parts = chapters(sections)
    body = f"""<header><p class="eyebrow">fedsched report</p><h1>{escape(heading)}</h1>
<p class="lede">{escape(summary.lede(material))}</p></header>
{links}
<main>{NO_SCRIPT}
{parts}
</main>
<p id="said" class="hidden" aria-live="polite"></p>
{data_block(data)}"""
    return document(heading, body, code=script())


# ---- the data that the script draws from ----------------------------------------------------------------------------


def _data(
    material: Material, kept: NDArray[np.bool_] | None, progress: Callable[[int, int], None] | None
) -> dict[str, Any]:
    from fedsched.search.problem.objectives import MAXIMISED

    result = material.result
    tick = tick_of(material.schedules)
    both = result is not None and result.objectives == ("makespan", "energy")
    return {
        "metrics": [
            {
                "name": metric.name,
                "unit": metric.unit,
                "meaning": metric.meaning,
                "mark": mark(metric.name, material.federation),
            }
            for metric in METRICS
        ],
        "scales": SCALES,
        "maximised": sorted(MAXIMISED),
        "objectives": material.objectives,
        "clusters": _clusters(material),
        "tick": tick,
        "jobs": jobs_of(material.schedules[0], tick, kept),
        "entries": _entries(material, tick, kept, progress),
        "chosen": material.chosen,
        "knee": material.chosen if result is not None and len(result.front) > 2 else -1,
        "bounds": _bounds(result) if result is not None else {},
        "boundFront": result.bound_front if both and result else [],
        "history": _history(result) if result is not None else [],
    }


def _clusters(material: Material) -> list[dict[str, object]]:
    # The clusters with the blocks of their rows. If jobs share nodes, a block says how many cores its nodes have.
    federation = material.schedules[0].federation if material.shared else material.federation
    found: list[dict[str, object]] = []
    blocks: list[list[dict[str, object]]] = [[] for _ in federation.clusters]
    for g, count in row_blocks(federation, own=material.shared):
        group = federation.groups[g]
        about: dict[str, object] = {"name": group.name, "count": count}
        about |= {"busy": group.busy_watts, "idle": group.idle_watts}
        about |= {"gears": [watts for _, watts in group.gears]} if group.gears else {}
        about |= {"cores": dict(group.resources).get(CORES, 0)} if material.shared else {}
        blocks[federation.group_cluster[g]].append(about)
    for cluster, rows in zip(federation.clusters, blocks, strict=True):
        about = {"name": cluster.name, "uplink": cluster.uplink if math.isfinite(cluster.uplink) else None}
        found.append(about | {"groups": rows} | ({"scattered": True} if len(rows) > len(cluster.groups) else {}))
    return found


def _bounds(result: Result) -> dict[str, float]:
    return {name: bound for name in result.objectives if (bound := result.bound(name)) == bound}


def _history(result: Result) -> list[tuple[int, float, list[float], float]]:
    # A search minimises: maximised objectives, such as utilisation, get their sign back.
    from fedsched.search.problem.objectives import MAXIMISED

    signs = np.array([-1.0 if name in MAXIMISED else 1.0 for name in result.objectives])
    return [(m.evaluations, m.seconds, (signs * m.best).tolist(), m.hypervolume) for m in result.history]


def _entries(
    material: Material, tick: float, kept: NDArray[np.bool_] | None, progress: Callable[[int, int], None] | None
) -> list[dict[str, object]]:
    plans = sum(entry.drawn for entry in material.entries)
    jobs = len(material.workload)
    found: list[dict[str, object]] = []
    drawn = 0
    for entry in material.entries:
        plan = None
        if entry.schedule is not None and entry.drawn:
            told = None if progress is None else _from(progress, drawn * jobs, plans * jobs)
            plan = plan_of(
                entry.schedule, tick, kept=kept, room=material.room, plans=plans, own=material.shared, progress=told
            )
            drawn += 1
        metrics = metrics_of(entry) if entry.schedule is not None else None
        about = {"label": entry.label, "kind": entry.kind, "about": entry.about, "values": entry.values}
        found.append(about | {"metrics": metrics, "plan": plan})
    return found


def _from(progress: Callable[[int, int], None], before: int, total: int) -> Callable[[int, int], None]:
    return lambda done, _: progress(before + done, total)


def _thinned(material: Material, kept: NDArray[np.bool_] | None, data: dict[str, Any]) -> list[str]:
    # This describes the plan that is shown first: cells of other plans differ with their makespans.
    plans = [data["entries"][i]["plan"] for i in (material.chosen, *range(len(material.entries)))]
    abouts = [plan["thinned"] for plan in plans if plan is not None and "thinned" in plan]
    return [thinned_in_words(work_of(material.schedules[0]), kept, abouts[0])] if abouts else []


# ---- the sections ---------------------------------------------------------------------------------------------------


def _summary(material: Material, thinned: list[str]) -> str:
    result = material.result
    notes = [*material.notes, *thinned]
    if result is not None and result.settings.submits == "keep":
        notes.append("The plans are clairvoyant: they know future submits.")
    if result is not None:
        notes += notes_of(result)
        notes += left_out_lines(result)
    if result is not None and result.unverified:
        notes.append(from_file(result))
    notes += [note for entry in material.entries if entry.kind == "schedule" for note in [entry.about] if note]
    lines = "".join(f"<p>{escape(note[:1].upper() + note[1:])}.</p>" for note in (n.rstrip(".") for n in notes))
    left, right = summary.facts(material), summary.machine(material)
    if result is not None and result.baselines:
        left, right = summary.gains(result), left + right
    elif len(material.entries) > 1:
        left, right = _plans_table(material), left + right
    pair = f"<div>{left}</div><div>{right}</div>"
    return f"""<h2>Summary</h2>{summary.cards(material)}{lines}
<div class="pair">{pair}</div>"""


def _front(material: Material) -> str:
    if len(material.entries) < 2:
        return ""
    several = len(material.objectives) > 1
    result = material.result
    known = [*dict.fromkeys([*material.objectives, *(metric.name for metric in METRICS)])]
    tools = ""
    if several:
        across, up = (_select(f"front-{key}", known, material.objectives[k]) for k, key in enumerate(("across", "up")))
        checked = " checked" if result is not None and _crowded(material) else ""
        alone = f'<label><input type="checkbox" id="front-only"{checked}> the front large</label>' if result else ""
        tools = (
            f'<div class="tools"><label for="front-across">across</label>{across}'
            f'<label for="front-up">upwards</label>{up}{alone}</div>'
        )
    heading = "The front" if result is not None and several else "Plans" if result is not None else "The schedules"
    words = summary.diagnosis(result) if result is not None else ""
    same = ""
    if result is not None:  # else the summary has it
        same = f'<details class="printed"><summary>The same as a table</summary>{_plans_table(material)}</details>'
    return filled("front.html", heading=heading, words=escape(words), tools=tools, table=same)


def _select(key: str, names: list[str], chosen: str) -> str:
    options = "".join(
        f'<option value="{escape(name)}"{" selected" if name == chosen else ""}>{escape(title(name))}</option>'
        for name in names
    )
    return f'<select id="{key}">{options}</select>'


def _crowded(material: Material) -> bool:
    # Whether some baseline is so far off that a picture with it would squeeze the front into a corner.
    result = material.result
    if result is None or len(result.front) < 2:
        return False
    return not bool(beside(result.front.values, np.array([b.values for b in result.baselines])).all())


def _plans_table(material: Material) -> str:
    names = [*material.objectives, *(name for name in COLUMNS if name not in material.objectives)]
    known = [(i, entry) for i, entry in enumerate(material.entries) if entry.schedule is not None]
    metrics = [metrics_of(entry) | dict(zip(material.objectives, entry.values, strict=True)) for _, entry in known]
    # Recorded waits are comparable with simulated ones only under the same submits, not with those of a package.
    log = material.workload.recorded if material.result is None else None
    if log is not None:
        metrics.append(dict.fromkeys(names, float("nan")) | log.figures())
    columns = [_column(material, name, [row[name] for row in metrics]) for name in names]
    labels = [_button(i, entry.label) if entry.drawn else entry.label for i, entry in known]
    if log is not None:
        labels.append(f"as the log records {log.coverage}")
    rows = list(zip(labels, *(texts for _, texts in columns), strict=True))
    caption = "A name shows its schedule below"
    return table(caption, ["", *(heading for heading, _ in columns)], rows)


def _column(material: Material, name: str, values: list[float]) -> tuple[str, list[str]]:
    heading, texts = column(name, values)
    return marked(heading, name, material.federation), texts


def _button(index: int, label: str) -> Markup:
    button = f'<button class="link" type="button" data-entry="{index}" aria-pressed="false">'
    return Markup(f"{button}{escape(label)}</button>")


def _schedule(material: Material) -> str:
    options = "".join(
        f'<option value="{i}"{" selected" if i == material.chosen else ""}>{escape(entry.label)}</option>'
        for i, entry in enumerate(material.entries)
        if entry.drawn
    )
    hidden = ' class="hidden"' if options.count("<option") == 1 else ""
    return filled("schedule.html", plans=options, hidden=hidden, unit="tasks" if material.shared else "nodes")


def _energy(material: Material, price: float | None, co2: float | None) -> str:
    given = {name: "" if value is None else f"{value:g}" for name, value in (("price", price), ("co2", co2))}
    return filled("energy.html", assumed=escape(watts_sentence(material.federation)), **given)


def _progress(material: Material) -> str:
    result = material.result
    if result is None or len(result.history) < 2:
        return ""
    heads = ["evaluations", "seconds", *(f"best {title(name)}" for name in result.objectives), "hypervolume"]
    rows = [
        (
            f"{evaluations:,}", f"{seconds:.2f}",
            *(measure(name, value) for name, value in zip(result.objectives, best, strict=True)),
            f"{hypervolume:.5f}",
        )
        for evaluations, seconds, best, hypervolume in _history(result)
    ]  # fmt: skip
    listed = table("Best value found, by number of evaluations", heads, rows)
    return f"""<h2>How the search went</h2>
<div id="progress-charts" class="multiples"></div>
<details class="printed"><summary>The same as a table</summary>{listed}</details>"""


def _repeat(material: Material, repeat: str, python: str) -> str:
    from fedsched.io.platforms.toml import federation_text

    result = material.result
    command = repeat or (repeat_code.command_of(result) if result is not None else "")
    parts = ["<h2>How to repeat it</h2>"]
    if code := python or repeat_code.python_of(material):
        parts.append(f"<h3>In Python</h3><pre>{escape(code)}</pre>")
    if command:
        parts.append(f"<h3>On the command line</h3><pre>{escape(command)}</pre>")
    parts += [f"<p>{escape(warning)}</p>" for warning in repeat_code.warnings_of(material, python=bool(python))]
    versions = result.versions if result is not None else repeat_code.versions()
    rows = [*versions.items()]
    if result is not None:
        rows += [("seed", str(result.seed)), ("evaluations", f"{result.evaluations:,}")]
    for entry in material.entries:
        if entry.kind == "schedule" and entry.schedule is not None and entry.schedule.complete:
            rows.append((f"start hash of {entry.label}", entry.schedule.start_hash()))
    parts.append(table("Made with", ("", ""), rows, numbers=False))
    toml = escape(federation_text(material.federation))
    parts.append(f'<details class="printed"><summary>The federation as a file</summary><pre>{toml}</pre></details>')
    return "\n".join(parts)
