"""`fedsched generate`: generate a synthetic workload."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Literal

from fedsched.cli.shared import options

if TYPE_CHECKING:
    from fedsched.model.jobs.workload import Workload

TAKEN = {"lublin": ("nodes", "load"), "poisson": ("nodes", "load"), "planted": ("federation", "makespan", "within")}


FIRST = ("--out", "--jobs", "--nodes", "--load", "--federation", "--seed", "--json")  # in the short help


def command(
    model: Literal["lublin", "poisson", "planted"],
    /,
    *,
    out: Path,
    jobs: int = 1000,
    nodes: int | None = None,
    load: float | None = None,
    federation: Path | None = None,
    makespan: float | None = None,
    within: Literal["speed", "cluster"] | None = None,
    estimates: Literal["exact", "tsafrir"] = "exact",
    seed: options.Seed = None,
    json: options.Json = False,
) -> int:
    """Generate a synthetic workload and write it to a file.

    Parameters
    ----------
    model
        lublin, poisson or planted. Lublin and Feitelson's; independent arrivals; jobs with a known best makespan.
    out
        The file: .swf or .csv, also .gz, .xz, .bz2.
    jobs
        How many jobs.
    nodes
        The number of nodes of the machine (lublin, poisson). Default: 128.
    load
        The offered load. Default: the model's own for lublin, 0.7 for poisson.
    federation
        planted: the federation to cut into jobs. A file or a shipped name.
    makespan
        The best makespan, in seconds (planted). Default: 3600.
    within
        Which nodes a job may span (planted): all nodes of one speed (speed, the default), or of one cluster (cluster).
    estimates
        Requested times: the run times (exact), or few round values by Tsafrir's model (tsafrir).

    Examples
    --------
    fedsched generate planted --federation example --jobs 100 --out planted.csv
    fedsched generate lublin --jobs 5000 --nodes 256 --load 0.8 --estimates tsafrir --out made.swf.gz
    """
    from fedsched import generate
    from fedsched.cli.shared.input_output import check_apart, check_output, print_json, refuse, say
    from fedsched.io import write
    from fedsched.study.scenario import Machine

    seed = seed or 0
    check_output(out, (".swf", ".csv"), what="a workload")
    check_apart((federation,), {"--out": out})
    given = {"nodes": nodes, "load": load, "federation": federation, "makespan": makespan, "within": within}
    refuse(model, given, TAKEN[model])
    size = 128 if nodes is None else nodes
    workload: Workload
    optimum = None
    if model == "lublin":
        workload = generate.lublin(jobs, size, load=load, seed=seed)
    elif model == "poisson":
        workload = generate.poisson(jobs, size, load=0.7 if load is None else load, seed=seed)
    else:
        cluster = Machine(federation=str(federation or "example")).cluster()
        optimum = 3600.0 if makespan is None else makespan
        workload, optimum = generate.planted(cluster, jobs=jobs, makespan=optimum, within=within or "speed", seed=seed)
    if estimates == "tsafrir":
        workload = workload.with_estimates("tsafrir", seed=seed)
    write(workload, out)
    if json:
        print_json({"jobs": len(workload), "nodes": workload.nodes, "best_makespan": optimum, "written": [str(out)]})
        return 0
    say(workload)
    if optimum is not None:
        say(f"best makespan: {optimum:g} s")
    say(f"written to {out}")
    return 0
