"""The verdict of a comparison in a few sentences, and its runs as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.comparison.statistics import check_alpha, pairs
from fedsched.core.errors import TooFewRunsError
from fedsched.core.text import counted, first_of, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.comparison.record import Blocks, Comparison, RunRecord
    from fedsched.comparison.scores import Scores

ALIKE = 1e-9  # difference of average ranks that counts as rounding


def in_brief(comparison: Comparison, measure: str | None, *, by: Blocks, alpha: float) -> str:
    """Return a few lines: which method ranks first, whether a test shows it, failures, and the reading."""
    check_alpha(alpha)
    if not comparison.records:
        return str(comparison)
    lines = verdict_of(comparison, measure, by=by, alpha=alpha).splitlines()
    if failed := comparison.failed:
        lines.append(f"{counted(len(failed), 'run')} failed and {'count' if len(failed) > 1 else 'counts'} as worst:")
        lines += failures(failed)
    return "\n".join(map(one_line, filter(None, [*lines, comparison.reading])))


def verdict_of(comparison: Comparison, measure: str | None, *, by: Blocks, alpha: float) -> str:
    """Return in two lines which method ranks first by a measure, and whether a test shows it."""
    scores = comparison.scores(measure, by=by)
    return "\n".join(map(one_line, filter(None, (_ranking(scores), _tested(scores, alpha)))))


def failures(failed: Sequence[RunRecord]) -> list[str]:
    """Return a line for each method and reason of failed runs, with the number of runs and the first one."""
    runs: dict[tuple[str, str], list[RunRecord]] = {}
    for record in failed:
        runs.setdefault((record.method, record.error), []).append(record)
    return [
        f"failed: {of[0]}{f' and {len(of) - 1} more' if len(of) > 1 else ''}: {error}"
        for (_, error), of in runs.items()
    ]


def _ranking(scores: Scores) -> str:
    ranks = scores.average_ranks()
    best, *others = ranks.items()
    where = f"on {counted(len(scores.blocks), scores.of)} by {scores.measure}"
    if not others:
        return f"{best[0]} is the only method {where}."
    first = [name for name, rank in ranks.items() if rank - best[1] < ALIKE]
    if len(first) == len(ranks):
        return f"All {len(ranks)} methods rank alike {where}."
    behind = next((name, rank) for name, rank in ranks.items() if name not in first)
    verb = "ranks first" if len(first) == 1 else "rank first together"
    return (
        f"{' and '.join(first)} {verb} of {len(ranks)} methods {where}: average rank {best[1]:.2f}, then "
        f"{behind[0]} with {behind[1]:.2f}."
    )


def _tested(scores: Scores, alpha: float) -> str:
    """Return whether Wilcoxon's tests of all pairs show the first method ahead; "" if there is one method."""
    if len(scores.methods) < 2:
        return ""
    try:
        tests = pairs(scores, alpha=alpha)
    except TooFewRunsError as error:
        return f"No test shows a difference: {str(error).removeprefix('no test: ')}."
    first, *others = scores.average_ranks()
    ahead = [name for name in others if tests.verdict(first, name) == "ahead"]
    how = f"(Wilcoxon over {counted(tests.blocks, tests.of)}, Holm's correction, alpha = {alpha:g})"
    if not ahead:
        return f"No test shows that {first} is better than another method {how}."
    if len(ahead) == len(others):
        return f"A test shows that {first} is better than every other method {how}."
    return f"A test shows that {first} is better than {first_of(ahead)}, but not than the others {how}."


def columns_of(comparison: Comparison) -> dict[str, Any]:
    """Return one row per run: instance, method, seed, the best value of each objective, budget used, error."""
    records = comparison.records
    objectives = dict.fromkeys(name for record in records for name in record.objectives)
    columns: dict[str, Any] = {
        name: np.array([getattr(record, name) for record in records], dtype=object) for name in ("instance", "method")
    }
    columns["seed"] = np.array([record.seed for record in records], dtype=np.int64)
    for name in objectives:
        columns[name] = np.array([record.best(name) if name in record.objectives else np.nan for record in records])
    columns["evaluations"] = np.array([record.evaluations for record in records], dtype=np.int64)
    columns["seconds"] = np.array([record.seconds for record in records], dtype=np.float64)
    for name in ("stop_reason", "error"):
        columns[name] = np.array([getattr(record, name) for record in records], dtype=object)
    return columns
