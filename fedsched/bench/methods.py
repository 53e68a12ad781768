"""The methods that a comparison takes: by name, or from a user's file (a policy, a function that plans, an entrant)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from fedsched.bench.plans import replaced
from fedsched.comparison.entrants import Entrant, Outcome, policy_entrant
from fedsched.comparison.instances import Budget, Instance
from fedsched.comparison.method_names import check_names
from fedsched.core.errors import FedschedError
from fedsched.core.own_files import is_own, own_object
from fedsched.model.schedule.schedule import Schedule
from fedsched.optimize.result import Result
from fedsched.optimize.searching import versions
from fedsched.policies import Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

Plans = Schedule | Iterable[Schedule] | Result
Function = Callable[[Instance, int, Budget], Plans]


@dataclass(frozen=True, slots=True)
class Planner:
    """An entrant of a comparison: a function (instance, seed, budget) that returns schedules or a search's result.

    Its schedules are verified and measured here; values that a method reports are ignored.
    """

    name: str
    function: Function
    plans_ahead: ClassVar[bool] = True
    runs_on: ClassVar[type] = Instance

    def run(self, instance: Instance, seed: int, budget: Budget) -> Outcome:
        """Call the function, verify its schedules, and return their objective values as an Outcome.

        A search's Result becomes an Outcome as it is. Raise FedschedError for anything but schedules of the
        instance.
        """
        began = time.perf_counter()
        found = self.function(instance, seed, budget)
        seconds = time.perf_counter() - began
        if isinstance(found, Result):
            return Outcome.of(found)
        rows = []
        for schedule in found if isinstance(found, Iterable) else [found]:
            if not isinstance(schedule, Schedule):
                kind = type(schedule).__name__
                raise FedschedError(f"{self.name} returned {kind}; it must return a schedule, several, or a Result.")
            if schedule.federation != instance.federation or len(schedule) != len(instance.workload):
                why = "a schedule of other jobs or for another machine"
                raise FedschedError(f"{self.name} returned {why}; use those of the instance.")
            mine = replaced(instance, schedule)
            mine.verify()
            row = mine.metrics(users=False)
            rows.append(tuple(float(getattr(row, name)) for name in instance.objectives))
        return Outcome(tuple(rows), seconds=seconds, stop_reason="planned", versions=versions())


def methods_of(words: Sequence[str]) -> list[str | Entrant]:
    """Return an entrant for each word: a known method's name as it is, or the user's own loaded from FILE.py:NAME.

    Raise FedschedError if a file or name does not exist.
    """
    found: list[str | Entrant] = []
    for word in words:
        if is_own(word):
            found.append(_own(word))
        else:
            check_names((word,))
            found.append(word)
    return found


def _own(word: str) -> Entrant:
    made = own_object(word, "a policy, a function or an entrant")
    if isinstance(made, Entrant):
        return made
    if isinstance(made, Policy):
        return policy_entrant(made)
    if callable(made):
        return Planner(word.rpartition(":")[2], made)
    raise FedschedError(
        f"{word} must be a policy (with a method rules), a function of (instance, seed, budget), or have name and run."
    )
