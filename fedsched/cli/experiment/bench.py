"""`fedsched bench`: list benchmark instances, check plans and proofs for them, and run methods on them."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import (
    CHECK_FAILED,
    INTERRUPTED,
    check_output,
    chosen_executor,
    print_json,
    print_table,
    progress_bar,
    refuse,
    say,
)
from fedsched.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.bench import Document


# In the short help.
FIRST = (
    "--family", "--instance", "--seeds", "--seconds",
    "--evaluations", "--out", "--report", "--json",
)  # fmt: skip


def command(
    action: Literal["list", "show", "check", "run"],
    /,
    *names: str,
    family: str | None = None,
    instance: tuple[str, ...] = (),
    seeds: int = 5,
    evaluations: options.Evaluations = None,
    seconds: options.Seconds = None,
    workers: options.Workers = 1,
    executor: options.Executor = None,
    logs: Path | None = None,
    out: Annotated[Path | None, Parameter(group=options.OUTPUT)] = None,
    report: Annotated[Path | None, Parameter(group=options.OUTPUT)] = None,
    table: Annotated[Path | None, Parameter(group=options.OUTPUT)] = None,
    json: options.Json = False,
) -> int:
    """List or show benchmark instances, check plans and proofs for them, or run methods on them.

    `check` replays each plan of a file. It says whether the plan is feasible for the instance, has the values that it
    claims, and is a new best. For a certificate, it says which bound is proven. It exits with 1 if a file is refused.
    `run` measures how far methods stay above the best known plans and above proven bounds, at the end and during the
    run. Instances of the families shared, market and gang, which few methods support, run only with --family or
    --instance.

    Parameters
    ----------
    action
        list, show, check or run. list: instances and hashes; show: one; check: plans and certificates; run: methods.
    names
        Instances to list or show, files to check, methods to run. A method: a name, or FILE.py:NAME for your own.
    family
        Only instances of this family: planted, package, month, …. Others: windows, partitions, shared, … (see `list`).
    instance
        NAME (all its objectives) or NAME/OBJECTIVE. May be repeated. Default: all of --family.
    seeds
        Run every method with this many seeds: 0, 1, …
    logs
        A folder with logs of the Parallel Workloads Archive. Instances that are made from these logs are then included.
    out
        show: the instance's file (.json); run: the runs' (.jsonl). run adds only those that the file lacks.
    report
        Write the whole comparison as one HTML page: .html.
    table
        Write the results as a table, one row per run: .csv.

    Examples
    --------
    fedsched bench list --family planted
    fedsched bench show example-50 --out example-50.json
    fedsched bench run memetic easy --instance example-20/makespan --evaluations 2000 --seeds 2 --report bench.html
    """
    if action == "run":
        budget = None if evaluations is None and seconds is None else (evaluations, seconds)
        asked = (instance, family, seeds, budget, workers, executor, logs, out, report, table)
        return _run(names, *asked, as_json=json)
    given = {"instance": instance or None, "evaluations": evaluations, "seconds": seconds, "executor": executor,
             "report": report, "table": table}  # fmt: skip
    refuse(f"bench {action}", given, ())
    return {"list": _list, "show": _show, "check": _check}[action](names, family, logs, out, as_json=json)


def _chosen(names: Sequence[str], family: str | None, logs: Path | None) -> list[Document]:
    from fedsched import bench

    wanted = names or bench.names(logs=logs is not None)
    found = [bench.load(name, logs=logs) for name in wanted]
    families = {document.family for document in found}
    if family is not None and family not in families:
        from fedsched.core.errors import unknown_name

        raise unknown_name("family", family, families)
    return [document for document in found if family in (None, document.family)]


def _told(document: Document) -> dict[str, Any]:
    from fedsched.bench.standing import standings

    data = document.data
    return {
        "name": document.name,
        "version": data["version"],
        "family": document.family,
        "machine": data["machine"],
        "jobs": document.size,
        "objectives": list(document.asks),
        "about": data["about"],
        "sha256": document.sha256,
        "best_known": {one.ask: one.best for one in standings(document)},
        "bounds": {one.ask: one.bound for one in standings(document)},
    }


def _list(names: Sequence[str], family: str | None, logs: Path | None, out: Path | None, *, as_json: bool) -> int:
    if out is not None:
        raise ValueError("bench list takes no --out; to write one instance: fedsched bench show NAME --out FILE.json.")
    found = [_told(document) for document in _chosen(names, family, logs)]
    if as_json:
        print_json(found)
        return 0
    rows = [
        (one["name"], one["version"], one["family"], one["machine"], one["jobs"], " ".join(one["objectives"]),
         one["sha256"][:12])
        for one in found
    ]  # fmt: skip
    columns = ("name", "version", "family", "machine", "jobs", "objectives", "sha256")
    print_table(counted(len(rows), "instance"), columns, [tuple(map(str, row)) for row in rows], align="lrllrll")
    return 0


def _show(names: Sequence[str], family: str | None, logs: Path | None, out: Path | None, *, as_json: bool) -> int:
    from fedsched.bench.standing import standings
    from fedsched.io.atomic import atomic_text

    if len(names) != 1 or family is not None:
        raise ValueError("bench show: name one instance, e.g. fedsched bench show example-50.")
    check_output(out, (".json",), what="an instance")
    [document] = _chosen(names, None, logs)
    if out is not None:
        with atomic_text(out) as stream:
            stream.write(document.text)
    if as_json:
        print_json(_told(document))
        return 0
    say(document)
    for part in document.parts:
        say(part)
    for one in standings(document):
        say(one)
    if out is not None:
        say(f"Written: {out}")
    return 0


def _check(names: Sequence[str], family: str | None, logs: Path | None, out: Path | None, *, as_json: bool) -> int:
    from fedsched.bench.standing import checked
    from fedsched.core.errors import FedschedError

    if not names or family is not None or out is not None:
        raise ValueError("bench check: name files of plans or certificates, e.g. fedsched bench check mine.json.")
    found, refused = [], 0
    for name in names:
        try:
            found.append({"file": name, "accepted": True} | checked(name, logs=logs))
        except FedschedError as error:
            refused += 1
            found.append({"file": name, "accepted": False, "said": str(error)})
    if as_json:
        print_json(found)
    else:
        say(f"{len(found) - refused} of {counted(len(found), 'file')} accepted.")
        for one in found:
            say(one["said"] if one["accepted"] else f"REFUSED: {one['said']}")
    return CHECK_FAILED if refused else 0


def _run(
    names: Sequence[str],
    wanted: Sequence[str],
    family: str | None,
    seeds: int,
    budget: tuple[int | None, float | None] | None,
    workers: int,
    executor: str | None,
    logs: Path | None,
    out: Path | None,
    report: Path | None,
    table: Path | None,
    *,
    as_json: bool,
) -> int:
    import shlex
    import sys
    from dataclasses import asdict

    from fedsched.bench import scoring
    from fedsched.bench.methods import methods_of
    from fedsched.compare import Budget, compare

    if not names:
        raise ValueError("bench run: name methods, e.g. fedsched bench run memetic easy.")
    if budget is None:
        raise ValueError("bench run: give --seconds, e.g. 60, or --evaluations, or both.")
    if seeds < 1:
        raise ValueError(f"--seeds={seeds} must be at least 1.")
    for path, kind, what in (
        (out, ".jsonl", "a list of runs"),
        (report, ".html", "a page"),
        (table, ".csv", "a table"),
    ):
        check_output(path, (kind,), what=what)
    methods = methods_of(names)
    problems = scoring.problems_of(wanted, family=family, logs=logs)
    with progress_bar("bench", unit="runs") as bar, chosen_executor(executor, workers) as chosen:
        try:
            found = compare(problems, methods, range(seeds), Budget(*budget), path=out, executor=chosen, progress=bar)
        except KeyboardInterrupt:
            say(
                f"fedsched: interrupted; {f'the same command goes on from {out}' if out else 'nothing was kept'}.",
                err=True,
            )
            return INTERRUPTED
    if report is not None:
        scoring.write_page(found, report, repeat=f"fedsched {shlex.join(sys.argv[1:])}")
    if table is not None:
        scoring.write_table(found, table)
    if as_json:
        print_json({"reading": found.reading, "methods": [asdict(one) for one in scoring.summary(found)],
                    "runs": [asdict(one) for one in scoring.scores_of(found)]})  # fmt: skip
    else:
        title = f"{counted(len(problems), 'problem')}, {counted(seeds, 'seed')}, {Budget(*budget)}"
        say(scoring.verdict(scoring.summary(found)))
        for one in scoring.scores_of(found):
            if one.new_best:
                say(f"NEW BEST on {one.instance}: {one.value:.10g} by {one.method}, seed {one.seed}")
        for note in found.notes:
            say(note)
        print_table(title, scoring.COLUMNS, scoring.rows_of(found), align="l")
    for record in found.failed:
        say(f"fedsched: {record} failed: {record.error}", err=True)
    return CHECK_FAILED if found.failed else 0
