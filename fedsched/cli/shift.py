"""`fedsched shift`: what is saved by putting jobs off, by running them elsewhere, and by both."""

from __future__ import annotations

from fedsched.cli import groups, options
from fedsched.cli.shared import load_workload, print_json, reading_of, say
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
    put_off: options.PutOff = None,
    seconds: options.Seconds = None,
    evaluations: options.Evaluations = None,
    seed: options.Seed = None,
    reading: groups.Reading = groups.READING,
    json: options.Json = False,
) -> int:
    """Say what is saved by putting jobs off, by running them elsewhere, and by both.

    Three searches of equal budgets: in time jobs stay at the cluster that they were submitted to, and may be put off
    within their slack; in space they may run elsewhere, as soon as there is room. Beside them stand EASY with every job
    at home, and what no schedule saves more than. A job's home is its column `origin`; where no job has one, jobs are
    at home at the clusters in turn.

    Parameters
    ----------
    objective
        What is to be saved: carbon, cost or peak_watts.
    method
        ga, moga, pso-ea or another method that seeks it.

    Examples
    --------
    fedsched shift sample --head 40 --federation example --carbon carbon.csv --put-off 4h --evaluations 2000
    """
    from fedsched.optimize.shifting import shifts

    asked = groups.scenario_of(scenario, trace, log=log, machine=machine, reading=reading, seed=seed, usual=CLAIRVOYANT)
    groups.say_unused(scenario, asked, "shift", used=())
    workload = load_workload(asked.jobs, asked.seed, put_off=put_off)
    cluster = asked.cluster(workload)
    found = shifts(
        workload, cluster, objective, reading=asked.reading, method=method, seconds=seconds, evaluations=evaluations,
        seed=asked.seed,
    )  # fmt: skip
    if json:
        rows = [row._asdict() | {"bound": row.bound if row.bound == row.bound else None} for row in found.rows]
        print_json(reading_of(workload, cluster) | {"objective": objective, "rows": rows, "notes": list(found.remarks)})
    else:
        say(found)
    return 0
