"""The names of criteria, window choices and problems, and their numbers in the kernels."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypeVar

from fedsched.core.errors import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

C = TypeVar("C", bound=IntEnum)


class Criterion(IntEnum):
    """The figure of a window that a search minimises."""

    MIN_START = 0
    MIN_FINISH = 1
    MIN_RUNTIME = 2
    MIN_COST = 3
    MIN_CPU = 4
    MIN_ENERGY = 5


class Choice(IntEnum):
    """How AEP chooses a job's m slots among those at hand for least CPU time or energy, where greedy is not optimal."""

    CHEAPEST = 0
    RANDOM = 1
    EXACT = 2


class Rule(IntEnum):
    """When the scan stops: at the first window within budget (AMP), also slot by slot (ALP); after all slots (AEP)."""

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
    """The places in `Rounds.place` of the counters of a search for alternatives."""

    NEXT = 0  # the next job
    PASS = 1  # finished passes
    TAKEN = 2  # windows found in this pass


class Status(IntEnum):
    """What the search kernel returns: it is done, or needs larger arrays to continue."""

    DONE = 0
    MORE = 1


class Problem(IntEnum):
    """What the choice of one alternative window for each job optimises, numbered as eqs. 6-9."""

    PROFIT = 6
    TIME = 7
    COST = 8
    IDLENESS = 9


class Budget(IntEnum):
    """How the virtual organisation's budget b* is computed: from mean costs, or as the greatest profit."""

    MEAN = 0
    PROFIT = 1


class Selection(IntEnum):
    """Which jobs of a batch BSF gives to the slicer: the first, the most expensive, or the most critical."""

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
