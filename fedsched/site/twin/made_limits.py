"""Which limit of a QOS or an account kept a made job waiting, by the name that Slurm gives as a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.slurm.passes.limits_of_accounts import Part

    Column = NDArray[np.float64]


def full_limits(parts: Sequence[Sequence[Part]], start: Column, finish: Column, moment: Column) -> list[str]:
    """Return which limit was full for each job at a given moment, "" if none was.

    Parameters
    ----------
    parts
        What each job takes of which limits.
    start, finish
        When it ran; NaN if it did not.
    moment
        The moment of each job; NaN: the job is skipped.
    """
    members: dict[str, list[tuple[int, float]]] = {}
    for row, taken in enumerate(parts):
        for part in taken:
            members.setdefault(part.of, []).append((row, part.weight))
    of = {name: (np.array([row for row, _ in rows]), np.array([weight for _, weight in rows]))
          for name, rows in members.items()}  # fmt: skip
    found = [""] * len(parts)
    for row in np.flatnonzero(np.isfinite(moment)).tolist():
        for part in parts[row]:
            rows, weights = of[part.of]
            runs = (start[rows] <= moment[row]) & ~(finish[rows] <= moment[row]) & (rows != row)
            if part.binds and weights[runs].sum() + part.weight > part.amount:
                found[row] = reason_of(part.of)
                break
    return found


def reason_of(limit: str) -> str:
    """Return Slurm's reason for a job that waits for a limit named like `grptres=cpu of account 'a1'`."""
    name, _, whose = limit.partition(" of ")
    field, _, resource = name.partition("=")
    of = "QOS" if whose.startswith("QOS") else "Assoc"
    kind = "Grp" if field.startswith("grp") else "Max"
    what = resource.capitalize() or "Jobs"
    each = "PerUser" if field.endswith("pu") else "PerAccount" if field.endswith("pa") else ""
    return f"{of}{kind}{what}{each}Limit"
