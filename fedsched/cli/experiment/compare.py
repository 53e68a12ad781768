"""`fedsched compare`: compare methods and policies on logs over seeds, with significance tests; it can be resumed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.input_output import (
    CHECK_FAILED,
    INTERRUPTED,
    NotTakenError,
    check_apart,
    check_output,
    chosen_executor,
    file_labels,
    load_workload,
    print_json,
    progress_bar,
    reading_of,
    say,
    written,
)
from fedsched.core.text import counted
from fedsched.model.reading import CLAIRVOYANT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.comparison.instances import Comparable
    from fedsched.comparison.record import Blocks, Comparison
    from fedsched.comparison.statistics import Friedman, Pairs
    from fedsched.core.names import Submits


# Groups of options in the long help.
STATISTICS = Group("Significance tests", sort_key=1)
# In the short help.
FIRST = (
    "--federation", "--nodes", "--method", "--objective", "--seeds",
    "--evaluations", "--seconds", "--package", "--out", "--report", "--json",
)  # fmt: skip


def command(
    *traces: options.Traces,
    scenario: options.Scenario = None,
    log: groups.Log = groups.LOG,
    machine: groups.Machines = groups.MACHINES,
    package: Annotated[int | None, Parameter(group=options.LOG)] = None,
    method: tuple[str, ...] = ("memetic", "ga", "easy", "fcfs"),
    objective: options.Objectives = ("makespan",),
    seeds: int = 10,
    evaluations: options.Evaluations = None,
    seconds: options.Seconds = None,
    baseline: tuple[str, ...] = (),
    submits: options.Submits = "now",
    reading: groups.Reading = groups.READING,
    workers: options.Workers = 1,
    executor: options.Executor = None,
    against: Annotated[str | None, Parameter(group=STATISTICS)] = None,
    by: Annotated[Literal["instance", "run"], Parameter(group=STATISTICS)] = "instance",
    alpha: Annotated[float, Parameter(group=STATISTICS)] = 0.05,
    out: Annotated[Path | None, Parameter(group=options.OUTPUT)] = None,
    retry: Annotated[bool, Parameter(group=options.OUTPUT)] = False,
    report: Annotated[Path | None, Parameter(group=options.OUTPUT)] = None,
    json: options.Json = False,
) -> int:
    """Compare methods and policies on logs over seeds: medians, gaps to proven bounds, ranks, significance tests.

    By default all jobs wait from the start and their run times are known, to searches and policies alike. For the
    conditions of `simulate`, give --submits keep --knowledge estimate; searches then still know all submissions in
    advance (clairvoyant). The first line of the output states the conditions.

    Parameters
    ----------
    package
        Cut each log into packages of this many jobs. Each is an instance; an incomplete last one is left out.
    method
        A search or a policy, or FILE.py:NAME for your own. For several: --method easy,ga, or repeat the option.
        ga:random starts from random plans.
    seeds
        Run every method with this many seeds: 0, 1, …
    baseline
        A policy; every search starts from its schedule. May be repeated. Default: the baselines of `optimize`.
    against
        Test this method against each other method, instead of all pairs of methods.
    by
        The tests' unit: instance (its seeds' median), or run (conclusions hold for these instances only).
    alpha
        The accepted probability of at least one false conclusion.
    out
        Keep the runs in this file, one JSON line each (.jsonl). The same call made again runs only what is missing.
    retry
        Repeat the runs that are recorded in the file of --out as failed.
    report
        Write the whole comparison as one HTML page: .html.

    Examples
    --------
    fedsched compare sample --federation example --head 200 --package 20 --method memetic --method ga --seeds 5
        --evaluations 2000 --out runs.jsonl --report report.html
    fedsched compare sample --nodes 128 --method easy --method fcfs --objective mean_wait --seeds 1 --submits keep
        --knowledge estimate
    fedsched compare gang --method pinto-2014-s1 --method pinto-2014-s3 --objective mean_response --seeds 5
    """
    from fedsched.bench.methods import methods_of
    from fedsched.compare import Budget, compare
    from fedsched.comparison.method_names import check_kinds, is_search
    from fedsched.comparison.statistics import check_alpha
    from fedsched.core.errors import unknown_name
    from fedsched.policies import check_policy_name

    check_output(out, (".jsonl",), what="a list of runs")
    check_output(report, (".html",), what="a report")
    check_apart((*traces, scenario, *machine.files), {"--out": out, "--report": report})
    methods = methods_of(method)
    names = [one if isinstance(one, str) else one.name for one in methods]
    check_alpha(alpha)
    if seeds < 1:
        raise ValueError(f"--seeds={seeds} must be at least 1.")
    if retry and out is None:
        raise NotTakenError(("retry",), "--retry repeats the failed runs in the file of --out; give --out too.")
    for name in baseline:
        check_policy_name(name)
    if against is not None and against not in names:
        raise unknown_name("method", against, names)
    simulated = evaluations is None and seconds is None and not any(is_search(name) for name in names)
    if evaluations is None and seconds is None and not simulated:
        raise ValueError("compare: a search needs a budget; give --evaluations, --seconds or both.")
    budget = Budget(1 if simulated else evaluations, seconds)
    instances = instances_of(traces, scenario, log, machine, reading, package, objective, submits)
    check_kinds(methods, instances)
    done = total = 0
    with progress_bar("compare", unit="runs") as bar, chosen_executor(executor, workers) as chosen:

        def progress(so_far: int, of: int) -> None:
            nonlocal done, total
            done, total = so_far, of
            if bar is not None:
                bar(so_far, of)

        try:
            found = compare(
                instances,
                methods,
                range(seeds),
                budget,
                path=out,
                executor=chosen,
                baselines=baseline or None,
                retry=retry,
                progress=progress,
            )
        except KeyboardInterrupt:
            kept = (
                f"{done} of {counted(total, 'run')} are in {out}; the same command goes on"
                if out
                else "nothing was kept"
            )
            say(f"fedsched: interrupted; {kept}.", err=True)
            return INTERRUPTED
    if report is not None:
        found.report(report, by=by, repeat=f"fedsched {shlex.join(_arguments())}", alpha=alpha, against=against)
    if json:
        print_json(as_json(found, against, by, alpha, written(out, report)) | {"instances": _read(instances)})
    else:
        say(summary(found, against, by, alpha))
        if report is not None:
            say(f"Report: {report}")
    return CHECK_FAILED if found.failed else 0


def instances_of(
    traces: Sequence[Path],
    scenario: Path | None,
    log: groups.Log,
    machines: groups.Machines,
    reading: groups.Reading,
    package: int | None,
    objectives: tuple[str, ...],
    submits: Submits,
) -> list[Comparable]:
    """Return the instances to compare on: one for each log (or each package of it) on each federation.

    The words `gang` and `market` among the logs give an instance of that command's experiments each.
    """
    from fedsched.compare import GangInstance, Instance, MarketInstance
    from fedsched.search.problem.objectives import Objectives

    if not traces and scenario is None:
        raise ValueError("compare: name at least one log, e.g. sample, or give --scenario FILE.")
    if package is not None and package < 1:
        raise ValueError(f"--package={package} must be at least 1.")
    others = {"gang": GangInstance, "market": MarketInstance}
    found: list[Comparable] = [others[str(trace)](str(trace), objectives) for trace in traces if str(trace) in others]
    logs = [trace for trace in traces if str(trace) not in others]
    if traces and not logs:
        given = [option for option, value in reading.given().items() if value != getattr(CLAIRVOYANT, option)]
        given += ["submits"] * (submits != "now")
        if given:
            name = given[0].replace("_", "-")
            raise NotTakenError(given, f"--{name} is for logs; gang and market draw their own jobs; leave it out.")
        return found
    Objectives.of(objectives)
    wanted: list[Path | None] = [*logs] or [None]
    asked = [groups.scenario_of(scenario, one, log=log, reading=reading, usual=CLAIRVOYANT) for one in wanted]
    groups.say_unused(scenario, asked[0], "compare")
    labels = file_labels(logs) if logs else [asked[0].name or Path(scenario or "").stem]
    places = machines.each()
    where_labels = file_labels(machines.federation) if len(places) > 1 else [""]
    for one, label in zip(asked, labels, strict=True):
        workload = load_workload(one.jobs, one.seed)
        size = len(workload) if package is None else package
        if len(workload) < size:
            raise ValueError(f"{label}: its {len(workload)} jobs do not fill one package of {package}.")
        parts = [workload.take(range(begin, begin + size)) for begin in range(0, len(workload) - size + 1, size)]
        for where, where_label in zip(places, where_labels, strict=True):
            cluster = where.over(one.machine).cluster(workload)
            base = f"{label} on {where_label}" if where_label else label
            for k, part in enumerate(parts, 1):
                name = f"{base} {size} #{k}" if len(parts) > 1 else f"{base} {size}"
                found.append(Instance(name, part, cluster, tuple(objectives), submits=submits, reading=one.reading))
    return found


def summary(found: Comparison, against: str | None, by: Blocks, alpha: float) -> str:
    """Return as text the verdict, the table of the first measure, the ranks, and the results of the tests."""
    from fedsched.comparison.verdict import verdict_of

    ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in found.ranks(by=by).items())
    overall, pairs = _tests(found, against, by, alpha)
    verdict = verdict_of(found, None, by=by, alpha=alpha, against=against)
    lines = [verdict, str(found.table()), "", f"average ranks: {ranks}", str(overall), str(pairs)]
    return "\n".join(lines)


def as_json(found: Comparison, against: str | None, by: Blocks, alpha: float, files: list[str]) -> dict[str, object]:
    """Return the comparison as a dictionary for --json: tables, ranks, results of tests, failed runs, written files."""
    from dataclasses import asdict

    from fedsched.comparison.scores import measures_of

    overall, pairs = _tests(found, against, by, alpha)
    return {
        "reading": found.reading,
        "notes": list(found.notes),
        "measures": {measure: [asdict(row) for row in found.table(measure).rows] for measure in measures_of(found)},
        "measure": measures_of(found)[0],
        "ranks": found.ranks(by=by),
        "friedman": overall if isinstance(overall, str) else asdict(overall),
        "pairs": pairs
        if isinstance(pairs, str)
        else [asdict(pair) | {"verdict": pair.verdict, "size": pair.size} for pair in pairs.pairs],
        "failed": [{"run": str(record), "error": record.error} for record in found.failed],
        "written": files,
    }


def _read(instances: Sequence[Comparable]) -> list[dict[str, object]]:
    # Instances of logs only: gang and market draw their own jobs.
    from dataclasses import asdict

    from fedsched.compare import Instance

    logs = [one for one in instances if isinstance(one, Instance)]
    return [
        {
            "name": one.name, "jobs": len(one.workload), "submits": one.submits, **asdict(one.reading),
            **reading_of(one.workload, one.federation),
        }
        for one in logs
    ]  # fmt: skip


def _tests(found: Comparison, against: str | None, by: Blocks, alpha: float) -> tuple[Friedman | str, Pairs | str]:
    # Without the reading, which the first line of the output states.
    from dataclasses import replace

    from fedsched.core.errors import TooFewRunsError

    overall: Friedman | str
    pairs: Pairs | str
    try:
        overall = replace(found.friedman(by=by), reading="")
    except TooFewRunsError as error:
        overall = str(error)
    try:
        pairs = replace(found.pairs(by=by, against=against, alpha=alpha), reading="")
    except TooFewRunsError as error:
        pairs = str(error)
    return overall, pairs


def _arguments() -> list[str]:
    return sys.argv[1:]
