"""Stopping rules of a search; each returns its reason to stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from fedsched.core.text import counted
from fedsched.core.values import is_number, whole

if TYPE_CHECKING:
    from fedsched.search.run.run import Run


@runtime_checkable
class StoppingRule(Protocol):
    """A callable that returns, between two steps of a search, the reason to stop, or None to go on."""

    def __call__(self, run: Run) -> str | None:
        """Return the reason to stop, or None."""
        ...


@dataclass(frozen=True, slots=True)
class MaxEvaluations:
    """Stop after `evaluations` simulated plans; the last batch is cut to fit."""

    evaluations: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "evaluations", whole("MaxEvaluations", "evaluations", self.evaluations, least=1))

    def __call__(self, run: Run) -> str | None:
        """Return the reason to stop, or None."""
        return counted(run.evaluations, "evaluation") if run.evaluations >= self.evaluations else None


@dataclass(frozen=True, slots=True)
class MaxSeconds:
    """Stop after `seconds` seconds of searching, without compiling."""

    seconds: float

    def __post_init__(self) -> None:
        if not is_number(self.seconds) or not self.seconds > 0:
            raise ValueError(f"MaxSeconds: seconds={self.seconds!r} must be finite and above 0.")

    def __call__(self, run: Run) -> str | None:
        """Return the reason to stop, or None."""
        return self.reason if run.beyond(self.seconds) else None

    @property
    def reason(self) -> str:
        """Return the reason as text."""
        return f"{self.seconds:g} s"


@dataclass(frozen=True, slots=True)
class Target:
    """Stop when the first objective has reached a value."""

    value: float

    def __post_init__(self) -> None:
        if not is_number(self.value):
            raise ValueError(f"Target: target={self.value!r} must be a finite number.")

    def __call__(self, run: Run) -> str | None:
        """Return the reason to stop, or None."""
        sign = float(run.problem.objectives.signs[0])
        best = float(run.archive.best()[0])
        return f"target {self.value:g} reached" if best <= sign * self.value else None


@dataclass(frozen=True, slots=True)
class NoProgress:
    """Stop after `evaluations` evaluations without a new plan in the archive."""

    evaluations: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "evaluations", whole("NoProgress", "evaluations", self.evaluations, least=1))

    def __call__(self, run: Run) -> str | None:
        """Return the reason to stop, or None."""
        still = run.evaluations - run.improved_at
        return f"no progress in {counted(self.evaluations, 'evaluation')}" if still >= self.evaluations else None


@dataclass(frozen=True, slots=True)
class GapReached:
    """Stop when the first objective is proven to be within `gap` (0.01 is one percent) of the optimum."""

    gap: float

    def __post_init__(self) -> None:
        if not is_number(self.gap) or not self.gap >= 0:
            raise ValueError(f"GapReached: gap={self.gap!r} must be a finite share of at least 0.")

    def __call__(self, run: Run) -> str | None:
        """Return the reason to stop, or None."""
        bound = float(run.bounds[0])
        best = float(run.archive.best()[0])
        return f"within {self.gap:.2%} of the bound" if bound > 0 and best <= bound * (1.0 + self.gap) else None
