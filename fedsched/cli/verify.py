"""`fedsched verify`: recompute the known schedules of a log on your copy of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Any

from fedsched.cli import options  # noqa: TC001 the command line reads the types
from fedsched.cli.shared import CHECK_FAILED, INTERRUPTED, check_input, print_json, print_table, progress_bar, say
from fedsched.io.files import STDIN
from fedsched.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.known import Outcome


def command(
    trace: Path | None = None, /, *, from_: options.From = None, nodes: int | None = None, json: options.Json = False
) -> int:
    """Recompute the known schedules of a log on your copy of it; exit 1 if one differs.

    A log that is not known is run under every reading, and the schedules are checked against the model. Without a
    log, the table of known schedules is printed.

    Parameters
    ----------
    trace
        A log in the Standard Workload Format, also .gz, .xz, .bz2.
    nodes
        The machine's size, where the log does not say it.

    Examples
    --------
    fedsched verify
    fedsched verify made.swf.gz --nodes 256
    """
    from fedsched.errors import TraceError
    from fedsched.known import plan_checks, read_raw, run_check

    if nodes is not None and nodes < 1:
        raise ValueError(f"--nodes={nodes} must be at least 1.")
    if trace is None:
        _print_known(as_json=json)
        return 0
    if str(trace) != STDIN and not trace.exists():
        raise TraceError(f"{trace}: there is no such file; check the path. Without one, the known logs are listed.")
    check_input(trace)
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


def _told(found: dict[str, Any]) -> dict[str, Any]:
    """Return a record with its recipe as --json says it: policy and reading side by side."""
    recipe = found.pop("recipe")
    return found | {"reading": recipe | recipe.pop("reading")}


def _print_outcomes(outcomes: Sequence[Outcome]) -> None:
    columns = ("log", "policy", "reading", "our hash", "known hash", "who gets it too", "mean wait s",
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
    from fedsched.known import KNOWN_LOGS

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
    columns = ("log", "policy", "reading", "known hash", "who gets it", "which file")
    print_table("Known schedules (fedsched verify TRACE computes them on your copy)", columns, rows, align="l" * 6)
