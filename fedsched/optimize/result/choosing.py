"""Choice of a plan from a front: the balanced one, the best by weights, or the best within limits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.core.values import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fedsched.optimize.result.record import Front, Result

KNEE = "knee"
_BESIDE = re.compile(r"(?P<policy>.+?)(?:(?P<sign>[+-])(?P<percent>\d+(?:\.\d+)?)%)?", re.ASCII)


def chosen_index(
    result: Result, by: str | None, weights: Mapping[str, float] | None, within: Mapping[str, float | str] | None
) -> int:
    """Return the index in the front of the plan chosen by an objective, by weights, or as the knee.

    See `Result.choose`. Only plans within the limits count. Raise an error if there is none, or if `by` and
    `weights` are both given.
    """
    if weights is not None and by is not None:
        raise ValueError(f"choose: by={by!r} and weights={dict(weights)!r} are both given; give only one.")
    front = result.front
    kept = np.flatnonzero(_keeps_to(result, within or {}))
    if weights is not None:
        return int(kept[np.argmin(_weighted(front, weights)[kept])])
    if by is None or by == KNEE:
        return int(kept[front.knee_index(kept)])
    if by not in front.objectives:
        raise unknown_name("choice of a plan", by, (KNEE, *front.objectives))
    return int(kept[np.argmin(front.minimised()[kept, front.objectives.index(by)])])


def _weighted(front: Front, weights: Mapping[str, float]) -> NDArray[np.float64]:
    # Objectives are scaled by the front's extent, so that weights do not depend on units.
    for name, weight in weights.items():
        if name not in front.objectives:
            raise unknown_name("objective", name, front.objectives)
        if not is_number(weight) or weight < 0:
            raise ValueError(f"choose: weights[{name!r}]={weight!r} must be finite and at least 0.")
    if not any(weights.values()):
        raise ValueError(f"choose: weights={dict(weights)!r}; one of them must be above 0.")
    return np.asarray(front.scaled() @ np.array([weights.get(name, 0.0) for name in front.objectives]))


def _keeps_to(result: Result, within: Mapping[str, float | str]) -> NDArray[np.bool_]:
    front = result.front
    kept = np.ones(len(front), dtype=np.bool_)
    for name, limit in within.items():
        if name not in front.objectives:
            raise unknown_name("objective", name, front.objectives)
        place = front.objectives.index(name)
        most = limit_of(result, name, limit)
        sign = front.signs[place]
        values = front.minimised()[:, place]
        good = values <= most * sign
        if not good.any():
            best = float(values.min()) * sign
            raise ValueError(f"choose: no plan of the front keeps {name} to {most:.6g}; the best has {best:.6g}.")
        kept &= good
    if not kept.any():
        raise ValueError(f"choose: no plan of the front keeps to all of {dict(within)!r} together; loosen one.")
    return kept


def limit_of(result: Result, name: str, limit: float | str) -> float:
    """Return a limit on an objective as a number; a text such as "easy+5%" is relative to a baseline's value.

    The baseline's planned value is used, if it has one. Raise an error for a number that is not finite, or an
    unknown baseline.
    """
    if not isinstance(limit, str):
        if not is_number(limit):
            raise ValueError(f"choose: within[{name!r}]={limit!r} must be finite, or a baseline's: 'easy+5%'.")
        return float(limit)
    said = _BESIDE.fullmatch(limit.strip())
    known = {baseline.policy: baseline.planned or baseline.values for baseline in result.baselines}
    if said is None or said["policy"] not in known:
        raise unknown_name("baseline", limit if said is None else said["policy"], known)
    share = float(said["percent"] or 0.0) / 100.0 * (-1.0 if said["sign"] == "-" else 1.0)
    return known[said["policy"]][result.objectives.index(name)] * (1.0 + share)
