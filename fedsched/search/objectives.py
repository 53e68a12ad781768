"""What a search minimises: columns of the metric row, alone or as a weighted sum relative to a reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.errors import unknown_name
from fedsched.metrics import NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.engine.arrays import Floats, Ints

MAXIMISED = frozenset({"utilisation"})
NOT_SOUGHT = frozenset({"user_spread"})  # asks for a workspace of its own; the front reports it, no search seeks it


@dataclass(frozen=True, slots=True)
class Objectives:
    """Names of metric columns to be minimised (utilisation: maximised), with weights for a single value."""

    names: tuple[str, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.names:
            raise ValueError("objectives: name at least one metric column, e.g. 'makespan'.")
        for name in self.names:
            if name not in NAMES or name in NOT_SOUGHT:
                raise unknown_name("objective", name, [known for known in NAMES if known not in NOT_SOUGHT])
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"objectives={self.names}: each may be named once.")
        weights = self.weights or (1.0 / len(self.names),) * len(self.names)
        if len(weights) != len(self.names):
            raise ValueError(f"weights={weights}: {len(weights)} weights for {len(self.names)} objectives.")
        if not all(0.0 <= weight < float("inf") for weight in weights) or sum(weights) <= 0.0:
            raise ValueError(f"weights={weights}: each must be finite and at least 0, and one above 0.")
        object.__setattr__(self, "weights", tuple(float(weight) for weight in weights))

    @classmethod
    def of(cls, names: str | Sequence[str], weights: Sequence[float] | None = None) -> Objectives:
        """Return the objectives of one name or several."""
        return cls((names,) if isinstance(names, str) else tuple(names), () if weights is None else tuple(weights))

    @property
    def columns(self) -> Ints:
        """Return the places of the objectives in a metric row."""
        return np.array([NAMES.index(name) for name in self.names], dtype=np.int64)

    @property
    def signs(self) -> Floats:
        """Return −1 for what is maximised, else 1: values are metrics times signs."""
        return np.array([-1.0 if name in MAXIMISED else 1.0 for name in self.names])

    def values(self, metrics: Floats) -> Floats:
        """Return what is minimised, from metric rows."""
        return metrics[..., self.columns] * self.signs

    def index(self, name: str) -> int:
        """Return the place of an objective among the others."""
        if name not in self.names:
            raise unknown_name("objective", name, self.names)
        return self.names.index(name)
