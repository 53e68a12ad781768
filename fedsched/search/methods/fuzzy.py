"""The fuzzy controller of MPSO-FGA: a particle's progress gives its probability of becoming a parent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fedsched.engine.arrays.structs import Floats

SPAN = 0.2  # relative improvements are clipped to ± this and scaled to ± 1
# Zero-order Sugeno rules: rows by the first objective's progress (negative, zero, positive), columns by the second's.
CHANCE = np.array(
    [
        [0.05, 0.2, 0.5],
        [0.2, 0.5, 0.8],
        [0.5, 0.8, 0.95],
    ]
)


def memberships(x: ArrayLike) -> Floats:
    """Return the memberships of inputs in [−1, 1] in negative, zero and positive (triangles), in the last axis."""
    x = np.clip(np.asarray(x, dtype=np.float64), -1.0, 1.0)
    return np.stack([np.maximum(0.0, -x), 1.0 - np.abs(x), np.maximum(0.0, x)], axis=-1)


def promotion(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return the probability of promotion for progress in both objectives, in [−1, 1]: the rules' weighted mean."""
    strength = memberships(first)[..., :, None] * memberships(second)[..., None, :]  # AND is the product
    return (strength * CHANCE).sum(axis=(-2, -1)) / strength.sum(axis=(-2, -1))


def progress(values: Floats, best: Floats) -> Floats:
    """Return the relative improvement over a personal best, clipped and scaled to [−1, 1]."""
    relative = (best - values) / np.where(best == 0.0, 1.0, np.abs(best))
    return np.clip(relative, -SPAN, SPAN) / SPAN
