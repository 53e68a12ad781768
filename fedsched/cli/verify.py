"""`fedsched verify`: recompute the known schedules of a log on your copy of it."""

from __future__ import annotations

from dataclasses import asdict

from fedsched.cli.shared import print_json, print_table, progress_bar


def command(trace: str, *, nodes: int | None = None, json: bool = False) -> int:
    """Recompute the known schedules of a log on your copy of it; exit 1 if one differs.

    A log that is not known is run under every reading, and the schedules are checked against the model.

    Example: fedsched verify KTH-SP2-1996-2.swf.gz

    Parameters
    ----------
    trace
        A log in the Standard Workload Format, also .gz, .xz, .bz2.
    nodes
        The machine's size, where the log does not say it.
    json
        Print JSON instead of a table.
    """
    from fedsched.known import plan_checks, read_raw, run_check

    checks = plan_checks(read_raw(trace), nodes=nodes or 0)
    outcomes = []
    for check in checks:
        with progress_bar(f"{check.reading.label}, {check.reading.same_time}") as progress:
            outcomes.append(run_check(check, progress=progress))
    if json:
        print_json([asdict(outcome) | {"verdict": outcome.verdict, "passed": outcome.passed} for outcome in outcomes])
    else:
        rows = [
            (
                outcome.name,
                outcome.reading.label,
                outcome.reading.same_time,
                outcome.start_hash,
                outcome.known_hash or "—",
                outcome.also or "—",
                f"{outcome.mean_wait:,.3f}",
                f"{outcome.bounded_slowdown:,.4f}",
                outcome.verdict,
            )
            for outcome in outcomes
        ]
        columns = ("log", "policy", "reading", "our hash", "known hash", "who gets it too", "mean wait s",
                   "bounded slowdown", "verdict")  # fmt: skip
        print_table(f"{outcomes[0].jobs:,} jobs", columns, rows, left=6)
    return 0 if all(outcome.passed for outcome in outcomes) else 1
