"""Fair share as it was before fair trees: 2 to the power of use over shares, use being drawn towards the account's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined, part
from fedsched.slurm.priority.priorities import Weight

if TYPE_CHECKING:
    from fedsched.slurm.priority.priorities import Priorities, Tree


@part
def look(tree: Tree) -> None:
    """Note how much accounts use; of users that is looked at with one of their jobs, and kept until the next tick."""
    for k in range(tree.parent.size):
        if k == 0:
            tree.effective[0] = 1.0
        elif tree.is_user[k]:
            tree.effective[k] = np.nan
        else:
            tree.effective[k] = _effective(tree, k)


@inlined
def _effective(tree: Tree, k: int) -> float:
    # Use as a part of all use, and of the account's as much as of its shares; the root's is nobody's.
    own = min(1.0, tree.usage[k] / tree.usage[0]) if tree.usage[0] != 0.0 else 0.0
    if tree.of_parent[k] or tree.above[k] == 0:
        return own
    account = tree.effective[tree.above[k]]
    if tree.level[k] == 0.0:
        return account
    return own + (account - own) * (tree.raw[k] / tree.level[k])


@part
def share(priorities: Priorities, association: int) -> float:
    """Return the factor of an association."""
    tree = priorities.tree
    k = tree.above[association] if tree.of_parent[association] else association
    if np.isnan(tree.effective[k]):
        tree.effective[k] = _effective(tree, k)
    if tree.part[k] <= 0.0:
        return 0.0
    return 2.0 ** (-((tree.effective[k] / tree.part[k]) / priorities.weight[Weight.DAMPING]))
