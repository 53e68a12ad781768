"""Classic fair share, Slurm's rule before fair trees: the factor is 2 to the power of -(effective usage / shares).

Effective usage mixes an association's own usage with that of its account.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined, part
from fedsched.slurm.priority.priorities import Weight

if TYPE_CHECKING:
    from fedsched.slurm.priority.priorities import Priorities, Tree


@part
def look(tree: Tree) -> None:
    """Compute the effective usage of accounts; that of a user is computed with the first job that asks after a tick."""
    for k in range(tree.parent.size):
        if k == 0:
            tree.effective[0] = 1.0
        elif tree.is_user[k]:
            tree.effective[k] = np.nan
        else:
            tree.effective[k] = _effective(tree, k)


@inlined
def _effective(tree: Tree, k: int) -> float:
    # Usage as a fraction of all usage, moved towards the account's by the fraction of the account's shares. Only its
    # own usage counts directly below the root.
    own = min(1.0, tree.usage[k] / tree.usage[0]) if tree.usage[0] != 0.0 else 0.0
    if tree.of_parent[k] or tree.above[k] == 0:
        return own
    account = tree.effective[tree.above[k]]
    if tree.level[k] == 0.0:
        return account
    return own + (account - own) * (tree.raw[k] / tree.level[k])


@part
def share(priorities: Priorities, association: int) -> float:
    """Return the fair-share factor of an association, from 0 to 1."""
    tree = priorities.tree
    k = tree.above[association] if tree.of_parent[association] else association
    if np.isnan(tree.effective[k]):
        tree.effective[k] = _effective(tree, k)
    if tree.part[k] <= 0.0:
        return 0.0
    return 2.0 ** (-((tree.effective[k] / tree.part[k]) / priorities.weight[Weight.DAMPING]))
