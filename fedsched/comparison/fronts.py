"""Quality of fronts: hypervolume, IGD+ and both epsilons relative to the best known front.

A problem is an instance, or what a seed draws of it. Its best known front is the set of non-dominated points among all
its runs. Objectives are scaled so that this front's best and worst values are 0 and 1. Volumes are measured up to 1.1
in each objective, so that the front's ends count too. A run far from the front has volume 0, and does not change the
figures of other runs. If the front is nearly a point (idle power dominates), its worst value is taken to be a twentieth
above its best. The multiplicative epsilon uses unscaled objectives.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from fedsched.search.problem.objectives import signs_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fedsched.comparison.record import RunRecord

CORNER = 1.1
LEAST_WIDTH = 0.05  # of an objective's range on the best known front, as a share of its best value


@dataclass(frozen=True, slots=True)
class Indicator:
    """An indicator's meaning, and whether more is better."""

    about: str
    maximised: bool = False


INDICATORS: Mapping[str, Indicator] = MappingProxyType(
    {
        "hypervolume": Indicator("share of the best known front's hypervolume", maximised=True),
        "igd_plus": Indicator("mean distance from the best known front to what the run dominates (IGD+)"),
        "epsilon": Indicator("least shift that lets the run dominate the best known front (additive epsilon)"),
        "epsilon_ratio": Indicator("least factor that lets the run dominate the best known front (multiplicative)"),
    }
)


@dataclass(frozen=True, slots=True)
class Reference:
    """The best known front of a problem, all objectives minimised, and the scale of its objectives."""

    front: NDArray[np.float64]
    best: NDArray[np.float64]
    width: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> Reference:
        """Return the best front among these rows, all objectives minimised."""
        import moocore

        front = rows[np.asarray(moocore.is_nondominated(rows))]
        best = front.min(axis=0)
        width = np.maximum(np.ptp(front, axis=0), LEAST_WIDTH * np.abs(best))
        return cls(front, best, np.where(width > 0.0, width, 1.0))

    def scaled(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows with the front's best values at 0 and its worst at 1."""
        return np.asarray((rows - self.best) / self.width)

    def measure(self, rows: NDArray[np.float64], indicator: str) -> float:
        """Return an indicator's value for a front; NaN for a ratio of values that are not positive."""
        import moocore

        scaled, ideal = self.scaled(rows), self.scaled(self.front)
        match indicator:
            case "hypervolume":
                corner = np.full(rows.shape[1], CORNER)
                return float(moocore.hypervolume(scaled, ref=corner) / moocore.hypervolume(ideal, ref=corner))
            case "igd_plus":
                return float(moocore.igd_plus(scaled, ref=ideal))
            case "epsilon":
                return float(moocore.epsilon_additive(scaled, ref=ideal))
            case _:
                if (rows <= 0).any() or (self.front <= 0).any():
                    return float("nan")  # ratios are meaningless at and below zero
                return float(moocore.epsilon_mult(rows, ref=self.front))


def minimised(record: RunRecord) -> NDArray[np.float64]:
    """Return a run's front with maximised objectives negated."""
    signs = signs_of(record.objectives)
    return np.asarray(np.array(record.front, dtype=np.float64).reshape(-1, len(signs)) * signs)


def reference_of(records: Sequence[RunRecord]) -> Reference:
    """Return the best known front of one problem's runs; at least one must have a front."""
    return Reference.of(np.concatenate([minimised(record) for record in records]))


def indicator_values(records: Sequence[RunRecord], indicator: str) -> list[float]:
    """Return every run's indicator relative to its problem's best known front; NaN for failed runs."""
    of_problem: dict[tuple[str, int | None], list[RunRecord]] = {}
    for record in records:
        if record.front:
            of_problem.setdefault(record.problem, []).append(record)
    references = {problem: reference_of(runs) for problem, runs in of_problem.items()}
    return [
        references[record.problem].measure(minimised(record), indicator) if record.front else float("nan")
        for record in records
    ]


def best_known_front(records: Sequence[RunRecord], instance: str) -> NDArray[np.float64]:
    """Return the best known front of an instance: its runs' non-dominated rows, with the objectives' own signs."""
    runs = [record for record in records if record.instance == instance and record.front]
    if not runs:
        raise ValueError(f"Comparison: no run on {instance!r} has a front.")
    if len({record.problem for record in runs}) > 1:
        raise ValueError(f"Comparison: each seed of {instance!r} is another problem; give the runs of one seed.")
    front = reference_of(runs).front
    return np.asarray(front[np.lexsort(front.T[::-1])] * signs_of(runs[0].objectives))
