"""`fedsched shift`: what is saved by putting jobs off, by running them elsewhere, and by both."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 the command line reads the types

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.shared import again, check_apart, check_output, load_workload, print_json, reading_of, say
from fedsched.model.reading import CLAIRVOYANT


def command(
    trace: options.Trace = None,
    /,
    *,
    scenario: options.Scenario = None,
    log: groups.Log = groups.LOG,
    machine: groups.Machine = groups.MACHINE,
    objective: str = "carbon",
    method: str = "ga",
    put_off: options.PutOffs = (),
    seconds: options.Seconds = None,
    evaluations: options.Evaluations = None,
    seed: options.Seed = None,
    reading: groups.Reading = groups.READING,
    out: Path | None = None,
    json: options.Json = False,
) -> int:
    """Say what is saved by putting jobs off, by running them elsewhere, and by both.

    Searches of equal budgets: in time jobs stay at the cluster that they were submitted to, and may be put off within
    their slack; in space they may run elsewhere, as soon as there is room. Beside them stand EASY with every job at
    home, and what no schedule saves more than. On one cluster jobs move in time alone. A job's home is its column
    `origin`; where no job has one, jobs are at home at the clusters in turn. With several slacks there is a search in
    time, and in both, for each.

    Parameters
    ----------
    objective
        What is to be saved: carbon, cost or peak_watts.
    method
        ga, moga, pso-ea or another method that seeks it.
    out
        A page beside, .html: these schedules, what they draw over time, and prices and carbon beneath.

    Examples
    --------
    fedsched shift sample --head 40 --federation example --carbon carbon.csv --put-off 4h --evaluations 2000
        --out shift.html
    fedsched shift sample --head 40 --federation example --carbon carbon.csv --put-off 1h --put-off 12h --seconds 10
    """
    from fedsched.model.constraints.slack import slack_said
    from fedsched.optimize.shifting import shifts

    check_output(out, (".html", ".htm"), what="a report")
    check_apart((trace, scenario, *machine.files), {"--out": out})
    asked = groups.scenario_of(scenario, trace, log=log, machine=machine, reading=reading, seed=seed, usual=CLAIRVOYANT)
    check_apart(groups.files_read(scenario, asked), {"--out": out})
    groups.say_unused(scenario, asked, "shift", used=())
    workload = load_workload(asked.jobs, asked.seed)
    cluster = asked.cluster(workload)
    found = shifts(
        workload, cluster, objective, slacks=[slack_said(text) for text in put_off], reading=asked.reading,
        method=method, seconds=seconds, evaluations=evaluations, seed=asked.seed,
    )  # fmt: skip
    if out is not None:
        sought = {"objective": objective, "method": method, "put_off": put_off, "seconds": seconds}
        given = {"scenario": scenario} | log.given() | machine.given() | reading.given() | sought
        given |= {"evaluations": evaluations, "seed": seed}
        found.report(out, repeat=again("shift", trace, given, out))
    if json:
        rows = [row._asdict() | {"bound": row.bound if row.bound == row.bound else None} for row in found.rows]
        written = [] if out is None else [str(out)]
        told = {"objective": objective, "rows": rows, "notes": list(found.remarks), "written": written}
        print_json(reading_of(workload, cluster) | told)
    else:
        say(found)
        if out is not None:
            say(f"Report: {out}")
    return 0
