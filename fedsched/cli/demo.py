"""`fedsched demo`: compare policies on the shipped trace; writes a report."""

from __future__ import annotations

import html
import io
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.cli import options  # noqa: TC001 the command line reads the types
from fedsched.cli.shared import number_text, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from fedsched.schedule import Schedule

POLICIES = ("fcfs", "easy", "easy-sjbf", "conservative", "wfp3-easy")
SHOWN = ("mean_wait", "bounded_slowdown", "makespan", "utilisation", "energy", "loss_of_capacity", "coallocated")
DRAWN_JOBS = 300


def command(*, out: Path = Path("demo-report"), json: options.Json = False) -> int:
    """Compare policies on the shipped trace and example federation; write a report to open in a browser.

    Parameters
    ----------
    out
        The report's folder.

    Examples
    --------
    fedsched demo
    fedsched demo --out report --json
    """
    from fedsched.errors import OutputError
    from fedsched.federation import Federation
    from fedsched.io import read_example
    from fedsched.io.atomic import atomic_text
    from fedsched.simulate import simulate

    there = next(folder for folder in (out, *out.parents) if folder.exists())
    if not there.is_dir():
        raise OutputError(f"Cannot write {out}: {there} is a file; choose another folder with --out.")
    workload = read_example("sample")
    federation = Federation.example()
    schedules = []
    for policy in POLICIES:
        with progress_bar(policy) as progress:
            schedule = simulate(workload, federation, policy, progress=progress)
        if not schedule.complete:
            raise KeyboardInterrupt  # a report on part of a run would mislead
        schedule.verify()
        schedules.append(schedule)
    picture = _svg(simulate(workload.head(DRAWN_JOBS), federation, "easy"))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot write {out}: {error.strerror}; choose another folder with --out.") from error
    page = out / "report.html"
    with atomic_text(page) as stream:
        stream.write(_page(schedules, picture))
    if json:
        print_json({"written": [str(page)], "schedules": [schedule.to_json() for schedule in schedules]})
        return 0
    print_table(f"{workload.name} on {federation}", ("policy", *SHOWN), _rows(schedules), align="l")
    print(f"Report: {page}")
    return 0


def _rows(schedules: list[Schedule]) -> list[list[str]]:
    values = [schedule.metrics().as_dict() for schedule in schedules]
    return [[policy, *(number_text(row[name]) for name in SHOWN)] for policy, row in zip(POLICIES, values, strict=True)]


def _svg(schedule: Schedule) -> str:
    import matplotlib as mpl

    from fedsched.plot.gantt import figure

    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "fedsched", "hatch.linewidth": 0.5}):
        figure(schedule).savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def _page(schedules: list[Schedule], picture: str) -> str:
    from fedsched.metrics import METRICS

    workload, federation = schedules[0].workload, schedules[0].federation
    units = {metric.name: metric.unit for metric in METRICS}
    meanings = {metric.name: metric.meaning for metric in METRICS}
    heads = "".join(
        f'<th scope="col" title="{html.escape(meanings[name])}">{name}{f" ({units[name]})" if units[name] else ""}</th>'
        for name in SHOWN
    )
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>'
        for row in _rows(schedules)
    )
    commands = "\n".join(f"fedsched simulate sample --federation example --policy {policy}" for policy in POLICIES)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>fedsched: {html.escape(workload.name)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #111; }}
table {{ border-collapse: collapse; }} th, td {{ padding: .3rem .7rem; border-bottom: 1px solid #ccc; }}
td {{ text-align: right; font-variant-numeric: tabular-nums; }} th {{ text-align: left; }}
svg {{ max-width: 100%; height: auto; }} pre {{ background: #f4f4f4; padding: .7rem; overflow-x: auto; }}
</style></head><body>
<h1>{html.escape(workload.name)} on {html.escape(str(federation))}</h1>
<pre>{html.escape(str(workload))}</pre>
<h2>What each policy costs</h2>
<table><thead><tr><th scope="col">policy</th>{heads}</tr></thead><tbody>{body}</tbody></table>
<p>Every schedule was checked again, independently of the engine, from its start times and node counts.</p>
<h2>The first {DRAWN_JOBS} jobs under EASY</h2>
{picture}
<h2>How to reproduce</h2>
<p>The table, a row a command; --out plan.csv adds the schedule itself:</p>
<pre>{commands}</pre>
<p>The picture:</p>
<pre>fedsched simulate sample --federation example --policy easy --head {DRAWN_JOBS} --gantt plan.svg</pre>
</body></html>
"""
