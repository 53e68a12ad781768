"""The tree in which Slurm compares shares of accounts and users, and each association's fraction of the shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.slurm.priority.associations import Association

NOWHERE = -1


class Shares(NamedTuple):
    """The tree of accounts and users (associations) as arrays, for comparing their shares.

    `above` is the account in which an association is compared: the nearest one above it with shares of its own. `first`
    and `below` list the associations that are compared in each account. `of_parent` marks those that use the shares of
    the account above.
    """

    parent: NDArray[np.int64]
    above: NDArray[np.int64]
    first: NDArray[np.int64]
    below: NDArray[np.int64]
    is_user: NDArray[np.bool_]
    of_parent: NDArray[np.bool_]
    raw: NDArray[np.float64]
    level: NDArray[np.float64]  # the sum of `raw` over all that are compared in the same account


def shares_of(members: Sequence[Association]) -> Shares:
    """Return the tree of accounts and users as arrays, with the account in which each is compared.

    `members` has the root first, and each after the account above it.
    """
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


def level_fractions(shares: Shares) -> NDArray[np.float64]:
    """Return each association's fraction of the shares compared in the same account, as the fair tree needs it.

    An association that uses the account's shares has the account's fraction.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        own = np.where(shares.level > 0.0, shares.raw / shares.level, 0.0)
    return np.where(shares.of_parent & (shares.above >= 0), own[shares.above], own)


def machine_fractions(shares: Shares) -> NDArray[np.float64]:
    """Return each association's fraction of the whole machine, as classic fair share needs it.

    It is the fraction of its level times that of the account above.
    """
    part = np.ones(shares.parent.size)
    for k in range(1, shares.parent.size):
        if shares.of_parent[k]:
            part[k] = part[shares.above[k]]
        else:
            own = shares.raw[k] / shares.level[k] if shares.level[k] > 0.0 else 0.0
            part[k] = part[shares.parent[k]] * own
    return part
