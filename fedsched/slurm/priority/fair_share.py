"""The two rules of Slurm's fair share: the fair tree, and the classic rule that Slurm used before it.

Fair tree: users are ranked level by level of the account tree, by shares over usage. Both are fractions of the level:
shares among siblings, usage within the account above. Classic: the factor is 2 to the power of -(effective usage /
shares).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.slurm.priority.priorities import Count, Weight

if TYPE_CHECKING:
    from fedsched.slurm.priority.priorities import Priorities, Tree

# The value of an account without shares of its own: below all that used nothing, above all others. Its members are
# compared in the account above.
OF_PARENT = 4294967294.0
FIRST, END, AT, TIED = range(4)  # columns of the stack frame of a level
ROOT, UNTIED = constant(0), constant(0)


@part
def rank_users(priorities: Priorities) -> None:
    """Rank all users by the fair tree, and write their fair-share factors: (n − k + 1)/n for the k-th of n users.

    Tied users share a factor; the members of tied accounts are ranked together as one level.
    """
    tree, users = priorities.tree, priorities.counts[Count.USERS]
    if tree.parent.size == 0:
        return
    _level(tree)
    depth, place, free = ROOT, users, users  # the rank given last, and the next free one
    _open(tree, ROOT, ROOT, _listed(tree, ROOT, ROOT), UNTIED)
    while depth >= 0:
        f = 4 * depth
        at = tree.frame[f + AT]
        if at == tree.frame[f + END]:
            depth -= 1
            continue
        one = tree.line[at]
        first = at == tree.frame[f + FIRST]
        tied = (first and tree.frame[f + TIED] == 1) or tree.seen[depth] == tree.level_fs[one]
        tree.seen[depth] = tree.level_fs[one]
        if tree.is_user[one]:
            if not tied:
                place = free
            tree.factor[one] = place / users
            free -= 1
            tree.frame[f + AT] = at + 1
            continue
        end = tree.frame[f + END]
        filled = _listed(tree, one, end)
        at += 1
        while at < end and tree.level_fs[tree.line[at]] == tree.level_fs[one]:  # only accounts follow: users come first
            filled = _listed(tree, tree.line[at], filled)
            at += 1
        tree.frame[f + AT] = at
        depth += 1
        _open(tree, depth, end, filled, int(tied))


@inlined
def _level(tree: Tree) -> None:
    # Shares over usage, each as a fraction of the level's; infinite without usage.
    for k in range(1, tree.parent.size):
        whole = tree.usage[tree.above[k]]
        used = tree.usage[k] / whole if whole != 0.0 else 0.0
        if tree.of_parent[k]:
            tree.level_fs[k] = np.inf if tree.is_user[k] else OF_PARENT
        elif tree.part[k] == 0.0:
            tree.level_fs[k] = 0.0
        else:
            tree.level_fs[k] = tree.part[k] / used if used != 0.0 else np.inf


@inlined
def _listed(tree: Tree, account: int, filled: int) -> int:
    # Appends the members that are compared in an account; returns the new end of the list.
    for i in range(tree.first[account], tree.first[account + 1]):
        tree.line[filled] = tree.below[i]
        filled += 1
    return filled


@inlined
def _open(tree: Tree, depth: int, first: int, end: int, tied: int) -> None:
    # Starts a level: the members in `line` from first to end, which it sorts.
    tree.frame[4 * depth + FIRST], tree.frame[4 * depth + END] = first, end
    tree.frame[4 * depth + AT], tree.frame[4 * depth + TIED] = first, tied
    tree.seen[depth] = OF_PARENT
    _sort(tree, first, end)


@inlined
def _before(tree: Tree, one: int, other: int) -> bool:
    if tree.level_fs[one] != tree.level_fs[other]:
        return tree.level_fs[one] > tree.level_fs[other]
    return tree.is_user[one] > tree.is_user[other]


@part
def _sort(tree: Tree, first: int, end: int) -> None:
    # A heap sort: the highest value first, users before accounts. Ties may come in any order.
    line, count = tree.line, end - first
    for done in range(count // 2 + count):
        if done < count // 2:
            root, last = count // 2 - 1 - done, count
        else:
            last = count - 1 - (done - count // 2)
            line[first], line[first + last] = line[first + last], line[first]
            root = 0
        moved = line[first + root]
        while 2 * root + 1 < last:
            child = 2 * root + 1
            if child + 1 < last and _before(tree, line[first + child], line[first + child + 1]):
                child += 1
            if not _before(tree, moved, line[first + child]):
                break
            line[first + root] = line[first + child]
            root = child
        line[first + root] = moved


@part
def update_effective_usage(tree: Tree) -> None:
    """Compute the effective usage of accounts, for classic fair share.

    That of users is set to NaN: it is computed when `classic_factor` needs it.
    """
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
def classic_factor(priorities: Priorities, association: int) -> float:
    """Return the classic fair-share factor of an association, from 0 to 1; 0 if it has no shares."""
    tree = priorities.tree
    k = tree.above[association] if tree.of_parent[association] else association
    if np.isnan(tree.effective[k]):
        tree.effective[k] = _effective(tree, k)
    if tree.part[k] <= 0.0:
        return 0.0
    return 2.0 ** (-((tree.effective[k] / tree.part[k]) / priorities.weight[Weight.DAMPING]))
