"""Scores of methods on the benchmark instances: gaps to the best known plans and to proven bounds.

Gaps are measured at the end of a run and on the way. A table has all scores, and a page summarises them.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bench import load, names
from fedsched.bench.certificates import certified_bound
from fedsched.bench.plans import known_values
from fedsched.comparison.fronts import Reference
from fedsched.comparison.report import attempt, svg
from fedsched.core.errors import FedschedError
from fedsched.core.text import counted
from fedsched.core.text import html as escape
from fedsched.io.atomic import atomic_text
from fedsched.report.skeleton import document as html_page
from fedsched.report.skeleton import table
from fedsched.search.problem.objectives import signs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.comparison.instances import Comparable
    from fedsched.comparison.record import Comparison, RunRecord


APART = ("shared", "market", "gang")  # families with methods of their own


def problems_of(
    wanted: Sequence[str], *, family: str | None = None, logs: str | PathLike[str] | None = None
) -> list[Comparable]:
    """Return the named problems: NAME for all objectives of an instance, NAME/ASK for one, or those of a family.

    By default they are all instances in which each task has a node of its own, which every search supports. A
    planted makespan comes with its optimum. Raise FedschedError if there is no such problem.
    """
    found = []
    for word in wanted or names():
        name, _, ask = word.partition("/")
        document = load(name, logs=logs)
        if family is not None and document.family != family:
            continue
        if not wanted and family is None and document.family in APART:
            continue
        for one in (ask,) if ask else document.asks:
            best = known_values(document, one) if document.family == "planted" else None
            found.append(document.instance(one, None if best is None else float(best[0, 0])))
    if not found:
        raise FedschedError(f"bench: no named instance is of family {family!r}; name others, or leave the family out.")
    return found


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one run: the gaps of its best value to the best known value and to the proven bound.

    They are NaN if undefined. `primal_integral` is the mean gap to the best known value over the budget, 1 until
    there is a plan. `hypervolume` is a share of the best known front's.
    """

    instance: str
    method: str
    seed: int
    value: float
    gap_to_known: float
    gap_to_bound: float
    primal_integral: float
    hypervolume: float
    new_best: bool
    evaluations: int
    seconds: float
    error: str


def scores_of(comparison: Comparison) -> list[Score]:
    """Return the score of every run of a comparison, in the order of its records."""
    return [_score(record) for record in comparison.records]


def _score(record: RunRecord) -> Score:
    name, _, ask = record.instance.partition("/")
    known, nan = _known(name, ask), float("nan")
    value, several = record.best(), "+" in ask
    best = nan if known is None else float(known[0, 0])
    bound = (certified_bound(name, ask) or nan) if not several else nan
    new = bool(not several and value < best * (1 - 1e-9))
    volume = nan
    if several and known is not None and record.front:
        signs = signs_of(record.objectives)
        volume = Reference.of(known * signs).measure(np.array(record.front) * signs, "hypervolume")
    return Score(
        record.instance, record.method, record.seed, value, nan if several else value / best - 1.0,
        nan if several else value / bound - 1.0, nan if several else primal_integral(record, best), volume, new,
        record.evaluations, record.seconds, record.error,
    )  # fmt: skip


def _known(name: str, ask: str) -> NDArray[np.float64] | None:
    document = load(name) if name in names() else None
    return None if document is None else known_values(document, ask)


def primal_integral(record: RunRecord, best: float) -> float:
    """Return the mean gap of a run's best value to the best known value over the budget.

    The gap is 1 until there is a plan, and never more. The budget is in evaluations if these are limited, else in
    seconds. Without a history only the run's end is known. It is NaN if no value is known, or if evaluations are
    limited and the run counts none.
    """
    if best != best:
        return best
    if record.evaluations_allowed is not None and not record.evaluations and not record.history and not record.error:
        return float("nan")
    axis, most = (1, record.seconds_allowed) if record.evaluations_allowed is None else (0, record.evaluations_allowed)
    most = float(most or 1)
    rows = [(row[axis], row[2]) for row in record.history]
    if not rows and not record.error:
        rows = [((float(record.evaluations), record.seconds)[axis], record.best())]
    spent, gap, total = 0.0, 1.0, 0.0
    for at, value in rows:
        until = min(max(at, spent), most)
        total, spent = total + gap * (until - spent), until
        gap = min(1.0, max(0.0, value - best) / max(abs(value), abs(best), 1e-300))
    return (total + gap * (most - spent)) / most


@dataclass(frozen=True, slots=True)
class Standings:
    """A method's results over all problems: medians over seeds, then means over problems."""

    method: str
    problems: int
    gap_to_known: float
    worst_gap: float
    gap_to_bound: float
    primal_integral: float
    hypervolume: float
    rank: float
    failed: int
    seconds: float


def verdict(standings: Sequence[Standings]) -> str:
    """Return a sentence on the first method of the standings: its mean rank, and its mean gaps."""
    best = standings[0]
    gaps = [
        f"{gap:.2%} above {what} on average"
        for gap, what in ((best.gap_to_known, "the best known plans"), (best.gap_to_bound, "what is proven"))
        if gap == gap
    ]
    rank = f"the best mean rank ({best.rank:.2f} of {len(standings)})" if len(standings) > 1 else ""
    told = ", ".join(filter(None, (rank, *gaps))) or "no value to compare"
    return f"{best.method}: {told}; {counted(best.problems, 'problem')}."


def summary(comparison: Comparison) -> list[Standings]:
    """Return the standing of each method of a comparison, the best mean rank first."""
    scores = scores_of(comparison)
    ranks = comparison.ranks()
    found = []
    for method in comparison.methods:
        mine = [one for one in scores if one.method == method]
        by_problem = [[one for one in mine if one.instance == name] for name in comparison.instances]

        def medians(field: str, runs: Iterable[list[Score]] = by_problem) -> NDArray[np.float64]:
            values = [np.array([getattr(one, field) for one in several if not one.error]) for several in runs]
            return np.array([np.median(several) for several in values if several.size and not np.isnan(several).any()])

        gaps = medians("gap_to_known")
        worst = float(gaps.max()) if gaps.size else float("nan")
        found.append(
            Standings(
                method, len(comparison.instances), _mean(gaps), worst,
                _mean(medians("gap_to_bound")), _mean(medians("primal_integral")), _mean(medians("hypervolume")),
                ranks[method], sum(bool(one.error) for one in mine), sum(one.seconds for one in mine),
            )
        )  # fmt: skip
    return sorted(found, key=lambda one: one.rank)


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else float("nan")


def write_table(comparison: Comparison, path: str | PathLike[str]) -> None:
    """Write a CSV file with a row of scores for each run; NaN becomes an empty cell."""
    with atomic_text(path) as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow([field.name for field in fields(Score)])
        for score in scores_of(comparison):
            row = [getattr(score, field.name) for field in fields(Score)]
            rows.writerow(["" if value != value else value for value in row])


COLUMNS = ("method", "mean rank", "above the best known, mean", "worst", "above what is proven", "primal integral",
           "hypervolume share", "failed", "seconds in all")  # fmt: skip


def rows_of(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return the summary as rows of texts, one for each method, under the headers `COLUMNS`."""
    return [
        (
            one.method, f"{one.rank:.2f}", _share(one.gap_to_known), _share(one.worst_gap), _share(one.gap_to_bound),
            _share(one.primal_integral), _share(one.hypervolume), str(one.failed), f"{one.seconds:,.0f}",
        )
        for one in summary(comparison)
    ]  # fmt: skip


def _share(value: float) -> str:
    return "" if value != value else f"{value:.2%}"


def write_page(comparison: Comparison, path: str | PathLike[str], *, repeat: str) -> None:
    """Write an HTML page with the methods, each problem, the tests and the pictures, and how to repeat it."""
    scores, methods = scores_of(comparison), comparison.methods
    rows = []
    for name in comparison.instances:
        cells = [name]
        for method in methods:
            mine = [one for one in scores if (one.instance, one.method) == (name, method) and not one.error]
            of = "hypervolume" if "+" in name else "gap_to_known"
            values = [getattr(one, of) for one in mine]
            new = "NEW BEST " if any(one.new_best for one in mine) else ""
            cells.append(f"{new}{_share(float(np.median(values)))}" if values else "failed")
        rows.append(cells)
    each = "Above the best known plan, medians over the seeds; of fronts the share of the best known one's hypervolume"
    parts = [
        table("Methods over all problems: medians over the seeds, then means", COLUMNS, rows_of(comparison)),
        attempt(lambda: svg(comparison.plot_ranks(), "ranks")),
        attempt(lambda: svg(comparison.plot_profile(), "profile")),
        attempt(lambda: f"<p>{escape(str(comparison.friedman()))}</p>"),
        attempt(lambda: f"<pre>{escape(str(comparison.pairs()))}</pre>"),
        table(each, ("problem", *methods), rows),
        f"<h2>How to repeat it</h2>\n<pre>{escape(repeat)}</pre>",
    ]
    title = f"The bench of the field: {len(methods)} methods on {len(comparison.instances)} problems"
    header = f'<header><p class="eyebrow">fedsched bench</p><h1>{escape(title)}</h1>'
    header += f'<p class="lede">{escape(verdict(summary(comparison)))}</p><p>{escape(comparison.reading)}</p></header>'
    body = "\n".join(parts)
    with atomic_text(path) as out:
        out.write(html_page(title, f'{header}\n<main class="comparison">{body}</main>', pictures=True))
