"""Checks of the arguments of `compare`; one instance or method stands for a list of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fedsched.comparison.entrants import Entrant
from fedsched.comparison.instances import Budget
from fedsched.core.errors import shown
from fedsched.core.values import seed_of

if TYPE_CHECKING:
    from fedsched.comparison.instances import Comparable


def instances_of(given: Any) -> list[Comparable]:
    """Return the instances as a list, from one or several; raise if they are none."""
    several = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    for one in several:
        if not callable(getattr(one, "fingerprint", None)) or isinstance(one, type):
            raise TypeError(
                f"compare: instances={shown(given)} must be instances, as "
                "[fedsched.Instance('log', workload, federation)]."
            )
    return several


def methods_of(given: Any) -> list[str | Entrant]:
    """Return the methods as a list, from one or several; raise if they are none."""
    if isinstance(given, str | Entrant):
        return [given]
    if not isinstance(given, Iterable):
        raise TypeError(f"compare: methods={shown(given)} must be names or entrants, as ['memetic', 'easy'].")
    return list(given)


def seeds_of(given: Any) -> list[int]:
    """Return the seeds as a list; raise if they are none."""
    if not isinstance(given, Iterable) or isinstance(given, str):
        several = f"range({given!r}) for {given} seeds" if type(given) is int else "range(10)"
        raise TypeError(f"compare: seeds={shown(given)} must be a list of seeds, as [0, 1, 2], or {several}.")
    return [seed_of("compare", seed) for seed in given]


def budget_of(given: Any) -> Budget:
    """Return the budget of each run; raise if it is no `Budget`."""
    if not isinstance(given, Budget):
        number = given if type(given) in (int, float) and given > 0 else 1000
        raise TypeError(
            f"compare: budget={shown(given)} must say of what: fedsched.Budget(evaluations={int(number) or 1}) or "
            f"fedsched.Budget(seconds={number})."
        )
    return given
