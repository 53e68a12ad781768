"""`fedsched verify`: recompute a log's known schedules on your copy of it, and report each that differs."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Any

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.input_output import (
    CHECK_FAILED,
    INTERRUPTED,
    NotTakenError,
    load_workload,
    print_json,
    print_table,
    progress_bar,
    reading_of,
    refuse,
    say,
)
from fedsched.core.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.bench.known_schedules import Outcome
    from fedsched.study.scenario import Log

SHOWN = 20  # violations that are printed, one line each


FIRST = ("--nodes", "--json")  # in the short help


def command(
    trace: Path | None = None,
    /,
    *,
    from_: options.From = None,
    nodes: int | None = None,
    descriptor: options.Descriptor = None,
    federation: options.Federation = None,
    hosts: options.Hosts = None,
    json: options.Json = False,
) -> int:
    """Recompute a log's known schedules on your copy of it; exit with 1 if one differs.

    An unknown log is simulated under every policy and reading of the table, and the schedules are checked against the
    model. Without a log, the table of known schedules is printed.

    With --federation and --hosts, the schedule that the log records is checked instead: whether its jobs can have
    shared the nodes that it records for them, given what these nodes have (for logs of MetaCentrum: --descriptor
    metacentrum).

    Parameters
    ----------
    trace
        A log in the Standard Workload Format, or a shipped name. The file may also be .gz, .xz or .bz2.
    nodes
        The machine's number of nodes, if the log does not say it.

    Examples
    --------
    fedsched verify
    fedsched verify made.swf.gz --nodes 256
    """
    from fedsched.bench.known_schedules import plan_checks, read_raw, run_check

    if nodes is not None and nodes < 1:
        raise ValueError(f"--nodes={nodes} must be at least 1.")
    if (federation is None) != (hosts is None):
        missing, there = ("hosts", "federation") if hosts is None else ("federation", "hosts")
        raise NotTakenError((there,), f"--{there} needs --{missing} too; give both, or leave --{there} out.")
    if federation is None:
        refuse("verify without --federation", {"descriptor": descriptor}, ())
    else:
        refuse("verify with --federation", {"nodes": nodes}, ())
        refuse("verify without a log", {"federation": federation if trace is None else None}, ())
    if trace is None:
        _print_known(as_json=json)
        return 0
    if federation is not None and hosts is not None:
        return _recorded(groups.HowRead(from_=from_, descriptor=descriptor).log(trace), federation, hosts, as_json=json)
    outcomes: list[Outcome] = []
    interrupted = False
    try:
        for check in plan_checks(read_raw(str(trace), from_), nodes=nodes or 0):
            with progress_bar(f"{check.recipe.label}, {check.recipe.reading.same_time}") as progress:
                outcomes.append(run_check(check, progress=progress))
    except KeyboardInterrupt:
        interrupted = True
    if json:
        print_json([_told(asdict(one)) | {"verdict": one.verdict, "passed": one.passed} for one in outcomes])
    elif outcomes:
        _print_outcomes(outcomes)
    if interrupted:
        say(f"fedsched: interrupted; {counted(len(outcomes), 'schedule')} checked until then.", err=True)
        return INTERRUPTED
    return 0 if all(outcome.passed for outcome in outcomes) else CHECK_FAILED


def _recorded(log: Log, machine: Path, hosts: Path, *, as_json: bool) -> int:
    """Print whether the jobs of a log can have shared the nodes that it records for them; return the exit status."""
    from fedsched.io import read_federation
    from fedsched.io.recorded_nodes import recorded_nodes
    from fedsched.model.jobs.demands import stated_resources
    from fedsched.model.jobs.unmodelled import sentence

    federation = read_federation(machine)
    workload = load_workload(log, announced=False)
    use = recorded_nodes(workload, federation, hosts=hosts)
    found = use.violations()
    peaks = {}
    for resource in sorted(stated_resources(federation)):
        nodes_at = Counter(use.peaks(resource).tolist())
        peaks[resource] = [(amount, nodes_at[amount]) for amount in sorted(nodes_at, reverse=True) if amount]
    if as_json:
        said = {resource: {str(amount): count for amount, count in rows} for resource, rows in peaks.items()}
        about = {"log": use.workload.name, "jobs": len(use.workload), "federation": federation.name}
        used = {resource: use.utilisation(resource) for resource in peaks}
        about |= {"rows": len(use), "nodes_by_peak": said, "utilisation": used, "violations": found}
        print_json(about | reading_of(workload) | {"not_modelled": list(use.unmodelled)})
        return CHECK_FAILED if found else 0
    say(use)
    if workload.cleaning is not None and workload.cleaning.altered:
        say(one_line(f"cleaning: {workload.cleaning}"))
    if use.unmodelled:
        say(one_line(sentence(use.unmodelled)))
    for resource, rows in peaks.items():
        said_of = ", ".join(f"{amount:,} on {counted(count, 'node')}" for amount, count in rows)
        share = use.utilisation(resource)
        say(one_line(f"{resource}: {share:.1%} in use; most at a time: {said_of or 'none'}"))
    for line in found[:SHOWN]:
        say(one_line(line))
    if len(found) > SHOWN:
        say(f"and {len(found) - SHOWN:,} more")
    say("the recorded schedule is impossible" if found else "the recorded schedule is possible: no node is overused")
    return CHECK_FAILED if found else 0


def _told(found: dict[str, Any]) -> dict[str, Any]:
    """Return a record for --json: its recipe, and that recipe's reading, become one flat dictionary under `reading`."""
    recipe = found.pop("recipe")
    return found | {"reading": recipe | recipe.pop("reading")}


def _print_outcomes(outcomes: Sequence[Outcome]) -> None:
    columns = ("log", "policy", "reading", "our hash", "known hash", "also from", "mean wait s",
               "bounded slowdown", "verdict")  # fmt: skip
    rows = [
        (
            outcome.name,
            outcome.recipe.label,
            str(outcome.recipe.reading.same_time),
            outcome.start_hash,
            outcome.known_hash or "—",
            outcome.also or "—",
            f"{outcome.mean_wait:,.3f}",
            f"{outcome.bounded_slowdown:,.4f}",
            outcome.verdict,
        )
        for outcome in outcomes
    ]
    print_table(counted(outcomes[0].jobs, "job"), columns, rows, align="llllllrrl")


def _print_known(*, as_json: bool) -> None:
    from fedsched.bench.known_schedules import KNOWN_LOGS

    if as_json:
        print_json(
            [asdict(log) | {"schedules": [_told(asdict(known)) for known in log.schedules]} for log in KNOWN_LOGS]
        )
        return
    rows = [
        (log.name, known.recipe.label, str(known.recipe.reading.same_time), known.start_hash, known.also, log.source)
        for log in KNOWN_LOGS
        for known in log.schedules
    ]
    columns = ("log", "policy", "reading", "known hash", "also from", "file")
    print_table("Known schedules (fedsched verify TRACE computes them on your copy)", columns, rows, align="l" * 6)
