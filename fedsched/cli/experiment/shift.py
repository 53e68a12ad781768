"""`fedsched shift`: compute what is saved by delaying jobs, by running them on other clusters, and by both."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.input_output import (
    check_apart,
    check_output,
    figure,
    load_workload,
    print_json,
    reading_of,
    repeat_command,
    say,
)
from fedsched.core.text import one_line
from fedsched.model.reading import CLAIRVOYANT

if TYPE_CHECKING:
    from fedsched.optimize.shifting import Shifts

# In the short help.
FIRST = (
    "--carbon", "--tariff", "--put-off", "--objective", "--federation",
    "--seconds", "--evaluations", "--head", "--out", "--json",
)  # fmt: skip


def command(
    trace: options.Trace = None,
    /,
    *,
    scenario: options.Scenario = None,
    log: groups.Log = groups.LOG,
    machine: groups.Machine = groups.MACHINE,
    objective: Annotated[str, Parameter(group=options.SEARCH)] = "carbon",
    method: Annotated[str, Parameter(group=options.SEARCH)] = "ga",
    put_off: options.PutOffs = (),
    seconds: options.Seconds = None,
    evaluations: options.Evaluations = None,
    seed: options.Seed = None,
    reading: groups.Reading = groups.READING,
    out: Annotated[Path | None, Parameter(group=options.OUTPUT)] = None,
    json: options.Json = False,
) -> int:
    """Compute what is saved by delaying jobs, by running them on other clusters, and by both.

    Searches with equal budgets are compared. In time, jobs stay on their home cluster and may be delayed within their
    slack. In space, they may run on other clusters, as soon as there is room. The table also has EASY with every job at
    home, and an upper bound on what any schedule can save. On one cluster, jobs move in time only. A job's home is the
    cluster in its column `origin`; if no job has one, jobs are assigned to the clusters in turn. With several slacks,
    the searches in time and in both are repeated for each slack.

    Parameters
    ----------
    objective
        The metric to reduce: carbon, cost or peak_watts.
    method
        The search method: ga, moga, pso-ea or another that can minimise the objective.
    out
        Also write a page (.html). It has the schedules, their power over time, and prices and carbon below.

    Examples
    --------
    fedsched shift sample --head 40 --federation example --carbon carbon.csv --put-off 4h --evaluations 2000
        --out shift.html
    fedsched shift sample --head 40 --federation example --carbon carbon.csv --put-off 1h --put-off 12h --seconds 10
    """
    from fedsched.model.constraints.slack import parse_slack
    from fedsched.optimize.shifting import shifts

    check_output(out, (".html", ".htm"), what="a report")
    check_apart((trace, scenario, *machine.files), {"--out": out})
    asked = groups.scenario_of(scenario, trace, log=log, machine=machine, reading=reading, seed=seed, usual=CLAIRVOYANT)
    check_apart(groups.files_read(scenario, asked), {"--out": out})
    groups.say_unused(scenario, asked, "shift", used=())
    workload = load_workload(asked.jobs, asked.seed)
    cluster = asked.cluster(workload)
    found = shifts(
        workload, cluster, objective, slacks=[parse_slack(text) for text in put_off], reading=asked.reading,
        method=method, seconds=seconds, evaluations=evaluations, seed=asked.seed,
    )  # fmt: skip
    if out is not None:
        sought = {"objective": objective, "method": method, "put_off": put_off, "seconds": seconds}
        given = {"scenario": scenario} | log.given() | machine.given() | reading.given() | sought
        given |= {"evaluations": evaluations, "seed": seed}
        found.report(out, repeat=repeat_command("shift", trace, given, out))
    if json:
        rows = [row._asdict() | {"bound": row.bound if row.bound == row.bound else None} for row in found.rows]
        written = [] if out is None else [str(out)]
        told = {"objective": objective, "rows": rows, "notes": list(found.remarks), "written": written}
        print_json(reading_of(workload, cluster) | told)
    else:
        say(verdict(found))
        say(found)
        if out is not None:
            say(f"Report: {out}")
    return 0


def verdict(found: Shifts) -> str:
    """Return the answer in a sentence: the most that a way of moving jobs saves, and that any schedule can save."""
    home, *moved = found.rows
    best = max(moved, key=lambda row: found.saved(row)[0])
    saved, most = found.saved(best)
    name = found.objective.replace("_", " ")
    values = f"{figure(found.objective, best.value)} instead of {figure(found.objective, home.value)}"
    proven = f"; no schedule saves more than {most:.1%}" if most == most else ""
    if saved <= 0.0:
        return one_line(f"Moving jobs saves no {name}{proven}.")
    return one_line(f"Moving jobs ({best.name}) saves {saved:.1%} of {name}: {values}{proven}.")
