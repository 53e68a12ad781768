"""The methods that a comparison takes: by name, or from a user's file (a function that plans, or an entrant)."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fedsched.bench.plans import replaced
from fedsched.comparison.entrants import Entrant, Outcome
from fedsched.comparison.instances import Budget, Instance
from fedsched.comparison.method_names import check_names
from fedsched.core.errors import FedschedError
from fedsched.model.schedule.schedule import Schedule
from fedsched.optimize.result import Result
from fedsched.optimize.searching import versions

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
        file, _, name = word.rpartition(":")
        if not file.endswith(".py"):
            if word.endswith(".py"):
                raise FedschedError(f"{word}: name a function or an entrant in the file: {word}:NAME.")
            check_names((word,))
            found.append(word)
        else:
            found.append(_own(Path(file), name))
    return found


def _own(file: Path, name: str) -> Entrant:
    if not file.is_file():
        raise FedschedError(f"{file}: there is no such file; a method of your own is FILE.py:NAME.")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise FedschedError(f"{file} must be a Python file (.py).")
    module = sys.modules.get(file.stem)
    if module is None or getattr(module, "__file__", None) != str(file):
        module = importlib.util.module_from_spec(spec)
        sys.modules[file.stem] = module
        folder = str(file.resolve().parent)
        if folder not in sys.path:
            sys.path.append(folder)  # as for a script, the file's neighbours can be imported, also later when it runs
        spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise FedschedError(f"{file} has no {name!r}; name a function or an entrant in it: {file.name}:NAME.")
    made: Any = getattr(module, name)
    made = made() if isinstance(made, type) else made
    if isinstance(made, Entrant):
        return made
    if callable(made):
        return Planner(name, made)
    raise FedschedError(f"{file}: {name!r} must be a function of (instance, seed, budget), or have name and run.")
