"""`fedsched tune`: search for better parameters of a slurm.conf on the site's own log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.input_output import (
    check_apart,
    figure,
    load_workload,
    print_json,
    print_table,
    progress_bar,
    say,
)
from fedsched.core.errors import OutputError
from fedsched.core.text import counted
from fedsched.core.values import digits_of
from fedsched.model.reading import USUAL

if TYPE_CHECKING:
    from fedsched.site.tuning import Tuned, Tuning


# In the short help.
FIRST = (
    "--conf", "--simulations", "--seconds", "--objective",
    "--gene", "--head", "--into", "--json",
)  # fmt: skip


def command(
    trace: options.Trace = None,
    /,
    *,
    conf: options.SlurmConf = None,
    slurm_version: options.SlurmVersion = None,
    assoc: options.SlurmAccounts = (),
    completing: options.Completing = None,
    sharing: options.Sharing = None,
    log: groups.Sampled = groups.SAMPLED,
    machine: groups.Machine = groups.MACHINE,
    objective: options.Objectives = ("mean_wait", "bounded_slowdown", "max_wait"),
    gene: Annotated[
        tuple[str, ...],
        Parameter(
            group=options.SEARCH,
            help="A parameter that may change, e.g. bf_interval. With its range, e.g. bf_max_job_test=50:2000; or a "
            f"job limit of a QOS, e.g. normal/MaxJobsPerUser. {options.REPEATABLE} Default: all that matter here."
        ),
    ] = (),
    simulations: Annotated[int | None, Parameter(group=options.SEARCH)] = None,
    seconds: options.Seconds = None,
    phases: Annotated[int, Parameter(group=options.SEARCH)] = 2,
    check: Annotated[float, Parameter(group=options.SEARCH)] = 0.5,
    seed: options.Seed = None,
    reading: groups.Known = groups.KNOWN,
    into: Annotated[Path | None, Parameter(group=options.OUTPUT)] = None,
    json: options.Json = False,
) -> int:
    """Search for better parameters of a slurm.conf on the site's own log; each configuration found is a diff.

    The folder of a dump is a log with its own slurm.conf and accounts; --conf and --assoc replace them.

    The first row is the current configuration. What improves on the first part of the log is checked on the rest, which
    the search does not see.

    Parameters
    ----------
    simulations
        The budget, in simulations. Default: 600, if no --seconds are given.
    phases
        The number of phases of Slurm's clocks in which each configuration is simulated; its values are their means.
    check
        The share of the log, at its end, that the search does not see.
    into
        A new folder for each configuration's files. These are the changed files, and their diff.

    Examples
    --------
    fedsched tune sample --head 400 --conf slurm.conf --simulations 200 --into tuned
    fedsched tune sample --head 400 --conf slurm.conf --objective mean_wait --objective max_wait
        --gene bf_max_job_test=50:2000 --gene bf_window --simulations 200
    """
    from fedsched.io.slurm_files.slurm_conf import read_slurm_conf
    from fedsched.io.slurm_files.slurm_records import ACCOUNTS, JOBS, QOS, dump_of
    from fedsched.site.tuning import tune
    from fedsched.slurm.conf.parameters import with_version

    if trace is not None and (folder := dump_of(trace)) is not None:
        conf = conf or folder
        assoc = assoc or tuple(path for path in (folder / ACCOUNTS, folder / QOS) if path.is_file())
        trace, log = folder / JOBS, replace(log, unit="nodes")
    if conf is None:
        raise ValueError("tune needs --conf, the path of a slurm.conf or of a dump's folder.")
    if into is not None and into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise OutputError(f"--into {into} exists and is not an empty folder; give a new folder.")
    check_apart((trace, conf, *assoc, *machine.files), {"--into": into})
    asked = groups.scenario_of(None, trace, log=log, machine=machine, reading=reading, seed=seed, usual=USUAL)
    workload = load_workload(asked.jobs, asked.seed, announced=json)
    given = bool({"federation", "nodes"} & machine.given().keys())
    with progress_bar("tuning", unit="simulations") as progress:
        tuning = tune(
            with_version(read_slurm_conf(conf), slurm_version),
            workload,
            asked.cluster(workload) if given else None,
            objectives=objective,
            genes=_limits(gene) if gene else None,
            simulations=simulations,
            seconds=seconds,
            phases=phases,
            check=check,
            seed=asked.seed,
            assoc=tuple(assoc) or None,
            completing=completing or 0,
            sharing=sharing,
            reading=asked.reading,
            progress=progress,
        )
    folders = [] if into is None else [(one, into / str(k)) for k, one in enumerate(tuning, 1)]
    files = [str(path) for one, folder in folders for path in one.write(folder)]
    if json:
        print_json(_as_json(tuning, files))
        return 0
    say(verdict(tuning))
    say(tuning.summary)
    for note in tuning.notes:
        say(note)
    head, *rows = tuning.rows()
    numbered = [[str(k) if k else "", *row] for k, row in enumerate(rows)]
    print_table("Configurations: the current one, then the front", ["", *head], numbered, align="r" * len(head) + "l")
    return 0


def verdict(tuning: Tuning) -> str:
    """Return the answer in a sentence: how many configurations are better, and the best by the first objective.

    The best is chosen among those that hold on later jobs, if there are any.
    """
    if not tuning.front:
        return "No configuration that was tried is better in any objective."
    holding = [one for one in tuning if one.holds]
    best = min(holding or [*tuning], key=lambda one: one.values[0])
    name, was, now = tuning.objectives[0], tuning.current.values[0], best.values[0]
    share = f" ({(now - was) / was:+.1%})" if was else ""
    values = f"{name.replace('_', ' ')} {figure(name, now)} instead of {figure(name, was)}{share}"
    later = f"; {len(holding)} of {len(tuning)} hold on later jobs" if tuning.checked_jobs else ""
    return f"{counted(len(tuning), 'configuration')} better in an objective{later}. {best}: {values}."


def _limits(genes: tuple[str, ...]) -> dict[str, tuple[int, int] | None]:
    found: dict[str, tuple[int, int] | None] = {}
    for text in genes:
        name, mark, limits = text.partition("=")
        low, between, high = limits.partition(":")
        least, most = digits_of(low), digits_of(high)
        if mark and (not between or least is None or most is None):
            raise ValueError(f"--gene {text}: a range must be two whole numbers, e.g. bf_max_job_test=50:2000.")
        found[name] = None if least is None or most is None else (least, most)
    return found


def _as_json(tuning: Tuning, files: list[str]) -> dict[str, object]:
    def one(tuned: Tuned) -> dict[str, object]:
        return {
            "changes": dict(tuned.changes),
            "values": dict(zip(tuning.objectives, tuned.values, strict=True)),
            "spread": dict(zip(tuning.objectives, tuned.spread, strict=True)),
            "checked": None if tuned.checked is None else dict(zip(tuning.objectives, tuned.checked, strict=True)),
            "holds": tuned.holds,
            "diff": tuned.diff,
            "commands": list(tuned.commands),
        }

    return {
        "objectives": list(tuning.objectives),
        "current": one(tuning.current),
        "front": [one(tuned) for tuned in tuning],
        "genes": list(tuning.genes),
        "jobs": tuning.jobs,
        "checked_jobs": tuning.checked_jobs,
        "simulations": tuning.simulations,
        "seconds": tuning.seconds,
        "notes": list(tuning.notes),
        "written": files,
    }
