"""Jobs that leave unless they start in time, in the CP-SAT model: who is there, until when, and who waits in vain [44].

A job that leaves has ended then, for those who wait for any end of it; who waits for its run never starts [35].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fedsched.bounds.exact_answers.integers import TimeUnit
    from fedsched.bounds.exact_answers.rules import ExactRules
    from fedsched.bounds.lower.relaxation import Ints, Relaxation

THERE = 1  # in place of a variable: a job that starts in every schedule


def presence(cp: Any, rules: ExactRules, jobs: int) -> list[Any]:
    """Return for each job whether it starts: a variable, or `THERE`."""
    optional = rules.optional
    there: list[Any] = [cp.new_bool_var(f"there{j}") if j in optional else THERE for j in range(jobs)]
    for j in sorted(optional):
        needed = [there[wait.on] for wait in rules.of_job(j) if wait.on in optional and rules.needs(wait)]
        for one in needed:
            cp.add_implication(there[j], one)
        if j in rules.barred:
            cp.add(there[j] == 0)
        elif not rules.may_leave(j):  # it is left out for that reason only
            cp.add_bool_or(there[j], *(one.negated() for one in needed))
    return there


def let_leave(
    cp: Any,
    rules: ExactRules,
    relaxation: Relaxation,
    unit: TimeUnit,
    starts: list[Any],
    there: list[Any],
    *,
    strict: bool,
) -> None:
    """Let jobs start before they leave, and others wait until those have left that do not start."""
    if not rules.leaves:
        return
    for j, latest in enumerate(latest_starts(rules, relaxation, unit, strict=strict).tolist()):
        if rules.may_leave(j):
            cp.add(starts[j] <= latest).only_enforce_if(there[j])
    for wait in rules.waits:
        if rules.needs(wait):
            continue
        gone = rules.leaves_at(wait.on) + wait.lag - relaxation.t0 - relaxation.tick
        waits = cp.add(starts[wait.job] >= int(unit.down(np.array(gone))))
        waits.only_enforce_if(variables(there[wait.job], there[wait.on].negated()))


def latest_starts(rules: ExactRules, relaxation: Relaxation, unit: TimeUnit, *, strict: bool) -> Ints:
    """Return the last unit in which each job may start; 0 where it never leaves.

    A start is before that time. In whole units that is the unit before, where all times are whole units and the clock
    rounds none. Elsewhere a schedule's start may come there when it is put off and rounded down as all is, and is
    let; `strict` takes the unit before all the same, which is no bound then, but keeps to the times.
    """
    leaves = np.array(rules.leaves) - relaxation.t0
    leaves[np.isinf(leaves)] = 0.0
    if strict or (unit.exact and relaxation.tick == 0.0):
        return np.asarray(unit.down(leaves) - 1)
    return unit.down(leaves + relaxation.tasks.size * relaxation.tick)


def variables(*there: Any) -> list[Any]:
    """Return what is open of these: the variables among them."""
    return [one for one in there if not isinstance(one, int)]
