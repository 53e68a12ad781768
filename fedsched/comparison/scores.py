"""Scores: one number for every method in every block, less is better, for ranks and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.comparison.fronts import INDICATORS, indicator_values
from fedsched.core.errors import unknown_name
from fedsched.search.problem.objectives import MAXIMISED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.comparison.record import Blocks, Comparison, RunRecord

SAME = 1e-9  # relative difference, of the values or of their median size, that counts as rounding
NOTHING = 1e-7  # absolute difference (seconds, joules, shares) that counts as rounding if most values are 0
FIRST = "first objective"  # the measure of instances without a common objective


@dataclass(frozen=True, slots=True)
class Scores:
    """Values with a row per block (an instance, or an instance and a seed) and a column per method.

    A failed run has the value infinity. Values are comparable only within one problem: an instance, or the problem that
    a seed draws of it.

    Parameters
    ----------
    measure
        What is compared.
    methods, blocks
        The names of the columns, and the instance and seed of each row.
    problems
        The problem of each row.
    values
        The values, a row per block and a column per method.

    Examples
    --------
    >>> log = fs.read("sample")
    >>> problems = [fs.Instance(f"draw {k}", log.sample(50, seed=k), 128) for k in range(3)]
    >>> runs = fs.compare(problems, ["sjf", "easy"], [0], fs.Budget(evaluations=10))
    >>> runs.scores().values.shape, runs.scores().average_ranks()
    ((3, 2), {'easy': 1.0, 'sjf': 2.0})
    """

    measure: str
    methods: tuple[str, ...]
    blocks: tuple[tuple[str, int | None], ...]
    problems: tuple[tuple[str, int | None], ...]  # one a row
    values: NDArray[np.float64]

    @property
    def of(self) -> str:
        """Return the kind of block: "instance" or "run"."""
        return "instance" if all(seed is None for _, seed in self.blocks) else "run"

    def ranks(self) -> NDArray[np.float64]:
        """Return the methods' ranks within each block, a row per block: 1 is the best, ties are averaged."""
        from scipy.stats import rankdata

        return np.asarray(rankdata(self.values, axis=1), dtype=np.float64)

    def average_ranks(self) -> dict[str, float]:
        """Return each method's average rank, the best first."""
        average = dict(zip(self.methods, self.ranks().mean(axis=0).tolist(), strict=True))
        return dict(sorted(average.items(), key=lambda item: item[1]))

    def relative(self) -> NDArray[np.float64]:
        """Return each value's excess over its problem's best, as a share of the best: comparable between problems."""
        found = np.full_like(self.values, np.inf)
        for rows in rows_of(self.problems):
            values = self.values[rows]
            finite = values[np.isfinite(values)]
            if finite.size:
                best = finite.min()
                scale = abs(best) or np.ptp(finite) or 1.0
                found[rows] = (values - best) / scale
        return found

    def costs(self) -> dict[str, NDArray[np.float64]]:
        """Return each method's values as positive costs, for ratios: maximised values are inverted."""
        with np.errstate(divide="ignore"):
            costs = -1.0 / self.values if is_maximised(self.measure) else self.values
        return {name: np.where(np.isfinite(self.values), costs, np.inf)[:, k] for k, name in enumerate(self.methods)}


def is_maximised(measure: str) -> bool:
    """Return whether more of a measure is better."""
    return measure in MAXIMISED or (measure in INDICATORS and INDICATORS[measure].maximised)


def measures_of(comparison: Comparison) -> tuple[str, ...]:
    """Return the measures that all instances share: indicators of fronts, then objectives."""
    objectives = [record.objectives for record in comparison.records]
    if not objectives:
        raise ValueError("Comparison: it has no runs; give instances, methods and seeds.")
    shared = [name for name in objectives[0] if all(name in names for names in objectives)] or [FIRST]
    indicators = list(INDICATORS) if all(len(names) > 1 for names in objectives) else []
    return (*indicators, *shared)


def measured(comparison: Comparison, measure: str | None) -> tuple[str, list[float]]:
    """Return the measure's name and its value in every run; NaN for failed runs."""
    known = measures_of(comparison)
    name = known[0] if measure is None else measure
    if name == FIRST:
        return name, [record.best() for record in comparison.records]
    if name not in known:
        raise unknown_name("measure", name, known)
    if name in INDICATORS:
        return name, indicator_values(comparison.records, name)
    return name, [record.best(name) for record in comparison.records]


def scores_of(comparison: Comparison, measure: str | None = None, *, by: Blocks = "instance") -> Scores:
    """Return the scores of a comparison; raise unless every method has one run in every block."""
    name, values = measured(comparison, measure)
    methods = comparison.methods
    problem_of = {(record.instance, record.seed): record.problem for record in comparison.records}
    seeds, problems = list(problem_of), tuple(problem_of.values())
    place = {block: k for k, block in enumerate(seeds)}
    matrix = np.full((len(seeds), len(methods)), np.nan)
    seen = np.zeros(matrix.shape, dtype=np.int64)
    for record, value in zip(comparison.records, values, strict=True):
        at = [place[record.instance, record.seed]]
        if record.deterministic:
            at = [row for row, (instance, _) in enumerate(seeds) if instance == record.instance]
        column = methods.index(record.method)
        matrix[at, column] = -value if is_maximised(_objective(name, record)) else value
        seen[at, column] += 1
    if (seen != 1).any():
        row, column = np.argwhere(seen != 1)[0]
        instance, seed = seeds[row]
        raise ValueError(
            f"Comparison: {methods[column]!r} has {seen[row, column]} runs on {instance!r} with seed {seed}; ranks and "
            "tests need one run of every method on every instance with every seed, all with the same budget."
        )
    matrix[np.isnan(matrix)] = np.inf
    for rows in rows_of(problems):
        matrix[rows] = levelled(matrix[rows])
    if by == "run":
        return Scores(name, methods, tuple(seeds), problems, matrix)
    if by != "instance":
        raise ValueError(f"by={by!r} must be 'run' or 'instance'.")
    medians = [levelled(np.median(matrix[rows], axis=0)) for rows in rows_of(problems)]
    blocks = tuple(dict.fromkeys(problems))
    return Scores(name, methods, blocks, blocks, np.array(medians))


def rows_of(labels: Sequence[tuple[str, int | None]]) -> list[NDArray[np.int64]]:
    """Return the row numbers of each label."""
    rows: dict[tuple[str, int | None], list[int]] = {}
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
    return [np.array(of) for of in rows.values()]


def levelled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values with those that differ only by rounding made equal, so that they count as ties."""
    rising, places = np.unique(values, return_inverse=True)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return values
    usual, largest = np.median(np.abs(finite)), np.abs(finite).max()
    # The tolerance follows each value, but not below the median size: huge values, such as penalties, hardly widen it
    # for others, and zeros do not narrow it.
    scale = np.maximum(np.abs(rising[1:]), usual)
    near = np.zeros(len(rising), dtype=np.bool_)
    near[1:] = np.isfinite(rising[1:]) & (np.diff(rising) <= np.maximum(SAME * scale, min(SAME * largest, NOTHING)))
    first = np.maximum.accumulate(np.where(near, 0, np.arange(len(rising))))
    return rising[first][places].reshape(values.shape)


def _objective(measure: str, record: RunRecord) -> str:
    return record.objectives[0] if measure == FIRST else measure
