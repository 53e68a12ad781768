"""Replacement of `aftercorr` conditions by `afterok` conditions [34].

In Slurm, `aftercorr` makes task k of a job array wait for task k of another array.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from fedsched.core.text import one_line
from fedsched.model.constraints.dependencies import Condition, Dependencies, Kind, conditions_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fedsched.model.jobs.workload import Workload

Task = TypeVar("Task")

MOST = 2_000_000  # the most conditions: each task of an array may wait for each of another one
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


def counterparts(number: int, others: Mapping[int, Task], named: Mapping[int, Task]) -> list[Task]:
    """Return the tasks of another array that the task of this number waits for.

    That is the task of the same number in `others`; if there is none, all tasks in `named`. Both map numbers to tasks.
    """
    return [others[number]] if number in others else list(named.values())


def expand_aftercorr(workload: Workload) -> Dependencies | None:
    """Return the workload's dependencies with each `aftercorr` replaced by `afterok` conditions on job ids.

    The dependencies are unchanged if no job has `aftercorr`. Raise if more than two million conditions result.
    """
    after = workload.after
    if after is None or not (corresponding := after.waits.kind == Kind.AFTERCORR).any():
        return after
    arrays, texts, listed = _Arrays(workload), after.texts.copy(), 0
    parsed = cache(conditions_of)  # the tasks of an array share one text
    for row in np.unique(after.waits.job[corresponding]).tolist():
        found = [one for condition in parsed(texts[row]) for one in arrays.expand(condition, row)]
        texts[row] = ",".join(dict.fromkeys(map(str, found)))
        listed += len(found)
        if listed > MOST:
            raise ValueError(
                f"Job {workload.id[row]}: its aftercorr makes over {MOST:,} conditions, because a task without a "
                "counterpart waits for the whole array; give both arrays the same task numbers (label 'task')."
            )
    return Dependencies.of({"after": texts}, workload.id)


class _Arrays:
    """The array and task number of each job of a workload, by the job's labels `array` and `task`."""

    def __init__(self, workload: Workload) -> None:
        self._id = workload.id.tolist()
        self._row = {job: row for row, job in enumerate(self._id)}
        self._array, self._task = workload.label("array").tolist(), workload.label("task").tolist()
        self._rows: dict[str, list[int]] = {}
        for row, array in enumerate(self._array):
            self._rows.setdefault(array, []).append(row)
        self._numbered: dict[str, dict[int, int]] = {}

    def expand(self, condition: Condition, row: int) -> Iterable[Condition]:
        """Return the conditions that a condition of the job in this row stands for.

        An `aftercorr` gives one or more `afterok`; any other condition is returned as it is.
        """
        if condition.kind is not Kind.AFTERCORR:
            return [condition]
        array = self._array[self._row[condition.on]] if condition.on in self._row else ""
        if not array:
            jobs = [condition.on]
        elif not self._array[row]:
            jobs = [self._id[other] for other in self._rows[array]]
        else:
            tasks = self._tasks(array)
            jobs = counterparts(self._number(row), tasks, tasks)
        return [condition._replace(kind=Kind.AFTEROK, on=job) for job in jobs]

    def _tasks(self, array: str) -> dict[int, int]:
        """Return the job ids of an array's tasks, by task number; raise if two tasks have the same number."""
        if array not in self._numbered:
            tasks = self._numbered[array] = {}
            for row in self._rows[array]:
                if (first := tasks.setdefault(self._number(row), self._id[row])) != self._id[row]:
                    both = f"Jobs {first} and {self._id[row]}"
                    raise ValueError(
                        f"{both}: both are task {self._task[row]} of {self._of(row)}; give each task its own number."
                    )
        return self._numbered[array]

    def _number(self, row: int) -> int:
        if not _NUMBER.fullmatch(self._task[row]):
            raise ValueError(
                f"Job {self._id[row]}: its label 'task', {one_line(self._task[row])!r}, must be its number in "
                f"{self._of(row)}: aftercorr pairs tasks by these numbers."
            )
        return int(self._task[row])

    def _of(self, row: int) -> str:
        return f"array {one_line(self._array[row].partition('%')[0])!r}"
