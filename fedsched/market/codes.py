"""The names of criteria, window choices and problems, and their numbers in the kernels."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypeVar

from fedsched.core.errors import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

C = TypeVar("C", bound=IntEnum)


class Criterion(IntEnum):
    """What a window minimises."""

    MIN_START = 0
    MIN_FINISH = 1
    MIN_RUNTIME = 2
    MIN_COST = 3
    MIN_CPU = 4
    MIN_ENERGY = 5


class Choice(IntEnum):
    """How the scan chooses a sub-window if no greedy choice is optimal (CPU time, energy)."""

    CHEAPEST = 0
    RANDOM = 1
    EXACT = 2


class Rule(IntEnum):
    """When the scan stops: first window within budget (AMP), within each slot's share of it (ALP), last slot (AEP)."""

    AMP = 0
    ALP = 1
    AEP = 2


class Figure(IntEnum):
    """The columns of a window's row of figures."""

    START = 0
    RUNTIME = 1
    COST = 2
    CPU = 3
    ENERGY = 4


class Place(IntEnum):
    """The counters of the search for alternatives."""

    NEXT = 0  # the next job
    PASS = 1  # finished passes
    TAKEN = 2  # windows found in this pass


class Status(IntEnum):
    """Whether a kernel is done, or needs larger arrays to continue."""

    DONE = 0
    MORE = 1


class Problem(IntEnum):
    """What the combination of alternatives optimises (eqs. 6-9)."""

    PROFIT = 6
    TIME = 7
    COST = 8
    IDLENESS = 9


class Budget(IntEnum):
    """How the VO's budget b* is computed."""

    MEAN = 0
    PROFIT = 1


class Selection(IntEnum):
    """Which jobs BSF gives to the slicer first."""

    ORDER = 0
    COST = 1
    PERFORMANCE = 2


CRITERIA: dict[str, Criterion] = {criterion.name.lower(): criterion for criterion in Criterion}
CHOICES: dict[str, Choice] = {choice.name.lower(): choice for choice in Choice}
RULES: dict[str, Rule] = {rule.name.lower(): rule for rule in Rule}
BUDGETS: dict[str, Budget] = {budget.name.lower(): budget for budget in Budget}
SELECTIONS: dict[str, Selection] = {selection.name.lower(): selection for selection in Selection}
PROBLEMS: dict[str, Problem] = {problem.name.lower(): problem for problem in Problem}


def code_of(kind: str, name: str, known: Mapping[str, C]) -> C:
    """Return the number of a name; an unknown name raises an error that suggests the nearest one."""
    if name not in known:
        raise unknown_name(kind, name, known)
    return known[name]
