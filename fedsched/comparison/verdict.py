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


def in_brief(
    comparison: Comparison, measure: str | None, *, by: Blocks, alpha: float, against: str | None = None
) -> str:
    """Return a few lines: which method ranks first, what tests show, failures, and the reading."""
    check_alpha(alpha)
    if not comparison.records:
        return str(comparison)
    lines = verdict_of(comparison, measure, by=by, alpha=alpha, against=against).splitlines()
    if failed := comparison.failed:
        lines.append(f"{counted(len(failed), 'run')} failed and {'count' if len(failed) > 1 else 'counts'} as worst:")
        lines += failures(failed)
    return "\n".join(map(one_line, filter(None, [*lines, comparison.reading])))


def verdict_of(
    comparison: Comparison, measure: str | None, *, by: Blocks, alpha: float, against: str | None = None
) -> str:
    """Return in two lines which method ranks first by a measure, and whether a test shows it.

    With `against` the second line says what tests show of that method against each other one.
    """
    scores = comparison.scores(measure, by=by)
    return "\n".join(map(one_line, filter(None, (_ranking(scores), _tested(scores, alpha, against)))))


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


def _tested(scores: Scores, alpha: float, against: str | None) -> str:
    """Return what Wilcoxon's tests show of the first method, or of `against`, and the others; "" if there are none."""
    if len(scores.methods) < 2:
        return ""
    try:
        tests = pairs(scores, against=against, alpha=alpha)
    except TooFewRunsError as error:
        return f"No test shows a difference: {str(error).removeprefix('no test: ')}."
    ranked = list(scores.average_ranks())
    one = against or ranked[0]
    found: dict[str, list[str]] = {"ahead": [], "behind": [], "no difference shown": []}
    for name in ranked:
        if name != one:
            found[tests.verdict(one, name)].append(name)
    of = counted(len(tests.pairs), "pair")
    over = f"Wilcoxon over {counted(tests.blocks, tests.of)}, Holm's correction over {of}"
    how = f"({over}, alpha = {alpha:g})"
    rest = found.pop("no difference shown")
    shown = {"better": found["ahead"], "worse": found["behind"]}
    if len(rest) == len(ranked) - 1:
        what = "is better than" if against is None else "differs from"
        return f"No test shows that {one} {what} another method {how}."
    said = " and ".join(
        f"{word} than {'every other method' if len(names) == len(ranked) - 1 else first_of(names)}"
        for word, names in shown.items() if names
    )  # fmt: skip
    if rest:
        joined = "; none shows a difference to" if all(shown.values()) else ", but not than"
        said += f"{joined} {first_of(rest)}"
    return f"A test shows that {one} is {said} {how}."


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
