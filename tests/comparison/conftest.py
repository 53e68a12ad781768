"""What tests of comparisons share: records and entrants made by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched.comparison import Budget, Comparison, Instance, Outcome, RunRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def record(instance: str, method: str, seed: int, *rows: Sequence[float], **details: object) -> RunRecord:
    """Return a run of so many rows, of makespan and energy where they are of two values; without rows it failed."""
    wide = len(rows[0]) if rows else 1
    given = {"objectives": ("makespan", "energy", "flow")[:wide], "error": "" if rows else "ValueError: it broke"}
    front = tuple(tuple(float(value) for value in row) for row in rows)
    return RunRecord(instance, "f" + instance, method, seed, 100, None, **{**given, **details}, front=front)


@pytest.fixture
def makespans() -> Callable[..., Comparison]:
    """Return a function that makes a comparison from {(instance, method): values, one a seed; None failed}."""

    def made(values: Mapping[tuple[str, str], Sequence[float | None]], **details: object) -> Comparison:
        return Comparison(
            tuple(
                record(instance, method, seed, *([] if value is None else [[value]]), **details)
                for (instance, method), row in values.items()
                for seed, value in enumerate(row)
            )
        )

    return made


@dataclass(frozen=True)
class Fixed:
    """An entrant that gives a known value, but fails where it is told to."""

    name: str
    value: float = 1.0
    fails: frozenset[tuple[str, int]] = frozenset()
    calls: list[tuple[str, int]] = field(default_factory=list)

    def run(self, instance: Instance, seed: int, budget: Budget) -> Outcome:
        """Return a front of one row."""
        self.calls.append((instance.name, seed))
        if (instance.name, seed) in self.fails:
            raise RuntimeError("it broke")
        row = [self.value + seed + k for k in range(len(instance.objectives))]
        return Outcome(
            front=[row], bounds=(self.value / 2,), evaluations=budget.evaluations or 0, versions={"toy": "1"}
        )


@pytest.fixture
def fixed() -> type[Fixed]:
    """Return the class of entrants that give known values."""
    return Fixed


@pytest.fixture(scope="session")
def tiny() -> list[Instance]:
    """Return two instances that are quickly made."""
    jobs = [fs.Workload(submit=[0.0] * n, tasks=[1] * n, runtime=[10.0] * n) for n in (2, 3)]
    return [Instance(name, one, fs.Federation.of(2), optimum=2.0) for name, one in zip("ab", jobs, strict=True)]


@pytest.fixture(scope="session")
def run_of() -> Callable[..., RunRecord]:
    """Return the function that makes a run by hand."""
    return record
