"""Who stands below whom when shares are compared, and which part of a level's shares everybody has."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.slurm.priority.associations import Association

NOWHERE = -1


class Shares(NamedTuple):
    """The tree of accounts as arrays; whoever has the shares of the account above stands for it.

    `above` is the account that somebody is compared in: the nearest one that has shares of its own. `first` and `below`
    list who is compared in an account.
    """

    parent: NDArray[np.int64]
    above: NDArray[np.int64]
    first: NDArray[np.int64]
    below: NDArray[np.int64]
    is_user: NDArray[np.bool_]
    of_parent: NDArray[np.bool_]
    raw: NDArray[np.float64]
    level: NDArray[np.float64]  # of all that are compared with one


def shares_of(members: Sequence[Association]) -> Shares:
    """Return the tree of accounts, the root first and everybody after the account that he stands in."""
    count = len(members)
    parent = np.array([one.parent for one in members], np.int64)
    of_parent = np.array([one.shares is None for one in members], np.bool_)
    raw = np.array([0 if one.shares is None else one.shares for one in members], np.float64)
    above = np.full(count, NOWHERE, np.int64)
    for k in range(1, count):
        at = parent[k]
        while of_parent[at] and at > 0:
            at = parent[at]
        above[k] = at
    below = _below(above)
    sums = np.array([sum(raw[k] for k in inner) for inner in below], np.float64)
    level = np.where(above >= 0, sums[above], 0.0) if count else np.zeros(0)
    first = np.concatenate(([0], np.cumsum([len(inner) for inner in below]))).astype(np.int64)
    flat = np.array([k for inner in below for k in inner], np.int64)
    is_user = np.array([bool(one.user) for one in members], np.bool_)
    return Shares(parent, above, first, flat, is_user, of_parent, raw, level)


def _below(above: NDArray[np.int64]) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in above]
    for k in range(1, above.size):
        found[above[k]].append(k)
    return found


def in_level(shares: Shares) -> NDArray[np.float64]:
    """Return everybody's part of the shares that he is compared with, as fair trees have it."""
    with np.errstate(invalid="ignore", divide="ignore"):
        own = np.where(shares.level > 0.0, shares.raw / shares.level, 0.0)
    return np.where(shares.of_parent & (shares.above >= 0), own[shares.above], own)


def in_all(shares: Shares) -> NDArray[np.float64]:
    """Return everybody's part of the whole machine, as classic fair share has it."""
    part = np.ones(shares.parent.size)
    for k in range(1, shares.parent.size):
        if shares.of_parent[k]:
            part[k] = part[shares.above[k]]
        else:
            own = shares.raw[k] / shares.level[k] if shares.level[k] > 0.0 else 0.0
            part[k] = part[shares.parent[k]] * own
    return part
