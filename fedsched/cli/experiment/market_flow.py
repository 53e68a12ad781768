"""What `fedsched market --flow` prints: jobs over successive cycles, whole and cycle by cycle."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from fedsched.cli.shared.shared import number_text, print_json, print_table, say
from fedsched.core.text import counted

if TYPE_CHECKING:
    from fedsched.market import Flow

TOTALS = {
    "jobs": "that arrived",
    "served": "got a window",
    "gone": "gave up, or their deadline passed",
    "waiting": "wait at the end",
    "wait": "cycles that served jobs waited, mean",
    "longest": "cycles, the longest wait of all",
    "waited": "share not served in their first cycle",
    "overtaken": "later jobs served earlier, mean over all jobs",
    "delay": "from arrival to start, mean",
    "runtime": "mean run time (longest slot)",
    "cost": "mean cost of a job",
    "cpu": "mean node time of a job",
    "sold": "share of all node time that windows take",
}


def print_flows(flows: dict[str, Flow], *, json: bool, show: bool) -> None:
    """Print what became of the jobs under each method; with `show` every cycle too."""
    totals = {name: flow.totals().as_dict() for name, flow in flows.items()}
    if json:
        cycles = {
            name: {field.name: getattr(rows, field.name).tolist() for field in fields(rows)}
            for name, rows in ((name, flow.cycles()) for name, flow in flows.items())
        }
        print_json({"totals": totals, "cycles": cycles})
        return
    first = next(iter(flows.values()))
    say(f"{counted(len(first.begin), 'successive cycle')}, one every {first.period:g}, each sees {first.horizon:g}")
    rows = [(name, *(number_text(totals[of][name]) for of in totals), text) for name, text in TOTALS.items()]
    print_table("flow", ("metric", *totals, "meaning"), rows, align="l" + "r" * len(totals) + "l")
    if show:
        for name, flow in flows.items():
            of_cycle = flow.cycles()
            names = [field.name for field in fields(of_cycle)]
            columns = [getattr(of_cycle, column).tolist() for column in names]
            lines = [(str(c + 1), *map(number_text, row)) for c, row in enumerate(zip(*columns, strict=True))]
            print_table(name, ("cycle", *names), lines, align="r" * (len(names) + 1))
