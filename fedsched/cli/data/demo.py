"""`fedsched demo`: compare policies on the shipped trace, and write a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import check_no_link, number_text, print_json, print_table, progress_bar, say

if TYPE_CHECKING:
    from fedsched.model.schedule.schedule import Schedule

POLICIES = ("fcfs", "easy", "easy-sjbf", "conservative", "wfp3-easy")
SHOWN = ("mean_wait", "bounded_slowdown", "makespan", "utilisation", "energy", "loss_of_capacity", "coallocated")
CHECKED = "Every schedule was checked again, independently of the engine, from its start times and node counts"
USUAL = Path("demo-report")


FIRST = ("--out", "--json")  # in the short help


def command(*, out: Path = USUAL, json: options.Json = False) -> int:
    """Compare policies on the shipped trace and example federation, and write an HTML report.

    Parameters
    ----------
    out
        The report's folder.

    Examples
    --------
    fedsched demo
    fedsched demo --out report --json
    """
    from fedsched.core.errors import OutputError
    from fedsched.io import read_example
    from fedsched.io.atomic import check_writable
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.metrics import METRICS
    from fedsched.report import of_schedules, write
    from fedsched.simulate import simulate

    page = out / "report.html"
    if out == USUAL:
        check_no_link(out)
        check_no_link(page)
    there = next(folder for folder in (out, *out.parents) if folder.exists())
    if not there.is_dir():
        raise OutputError(f"Cannot write {out}: {there} is a file; choose another folder with --out.")
    check_writable(there / "report.html")
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
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot write {out}: {error.strerror}; choose another folder with --out.") from error
    write(replace(of_schedules(schedules), notes=(CHECKED,)), page, repeat="\n".join([*_commands(), _report(page)]))
    if json:
        print_json({"written": [str(page)], "schedules": [schedule.to_json() for schedule in schedules]})
        return 0
    units = {metric.name: metric.unit for metric in METRICS}
    heads = [" ".join(filter(None, (name, units[name]))) for name in SHOWN]
    print_table(f"{workload.name} on {federation}", ("policy", *heads), _rows(schedules), align="l")
    say(f"Report: {page}")
    return 0


def _rows(schedules: list[Schedule]) -> list[list[str]]:
    values = [schedule.metrics().as_dict() for schedule in schedules]
    return [[policy, *(number_text(row[name]) for name in SHOWN)] for policy, row in zip(POLICIES, values, strict=True)]


def _commands() -> list[str]:
    return [f"fedsched simulate sample --federation example --policy {policy} --out plan.csv" for policy in POLICIES]


def _report(page: Path) -> str:
    chosen = " ".join(f"--policy {policy}" for policy in POLICIES)
    return f"fedsched report sample --federation example {chosen} --out {page.name}"
