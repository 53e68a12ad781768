"""Stopping rules of a search; each returns its reason to stop, or None."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from fedsched.core.text import counted
from fedsched.core.values import is_number, whole

if TYPE_CHECKING:
    from fedsched.search.run.run import Run


@runtime_checkable
class StoppingRule(Protocol):
    """A callable that returns, between two steps of a search, the reason to stop, or None to go on.

    Examples
    --------
    >>> def good_enough(run):
    ...     return "good enough" if run.archive.best()[0] < 200_000 else None
    >>> result = fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1, stop=good_enough)
    >>> result.stop_reason
    'good enough'
    """

    def __call__(self, run: Run) -> str | None:
        """Return the reason to stop, or None."""
        ...


@dataclass(frozen=True, slots=True)
class MaxEvaluations:
    """The rule to stop after `evaluations` simulated plans; the last batch is cut to fit.

    Parameters
    ----------
    evaluations
        The number of plans.

    Examples
    --------
    >>> from fedsched.search import MaxEvaluations
    >>> rule = MaxEvaluations(300)
    >>> fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1, stop=rule).stop_reason
    '300 evaluations'
    """

    evaluations: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "evaluations", whole("MaxEvaluations", "evaluations", self.evaluations, least=1))

    def __call__(self, run: Run) -> str | None:
        """Return "N evaluations" if the run has made as many as allowed; else None."""
        return counted(run.evaluations, "evaluation") if run.evaluations >= self.evaluations else None


@dataclass(frozen=True, slots=True)
class MaxSeconds:
    """The rule to stop after `seconds` seconds of searching, without compiling.

    Parameters
    ----------
    seconds
        The number of seconds.

    Examples
    --------
    >>> from fedsched.search import MaxSeconds
    >>> MaxSeconds(2.5).reason
    '2.5 s'
    """

    seconds: float

    def __post_init__(self) -> None:
        if not is_number(self.seconds) or not self.seconds > 0:
            raise ValueError(f"MaxSeconds: seconds={self.seconds!r} must be finite and above 0.")

    def __call__(self, run: Run) -> str | None:
        """Return the reason if the seconds are used, or would be by another slice of plans; else None."""
        return self.reason if run.beyond(self.seconds) else None

    @property
    def reason(self) -> str:
        """Return the reason to stop as text, such as "2.5 s"."""
        return f"{self.seconds:g} s"


@dataclass(frozen=True, slots=True)
class Target:
    """The rule to stop when the best value of the first objective has reached `value`.

    Parameters
    ----------
    value
        The value of the first objective.

    Examples
    --------
    >>> from fedsched.search import Target
    >>> rule = Target(1e9)
    >>> fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1, stop=rule).stop_reason
    'target 1e+09 reached'
    """

    value: float

    def __post_init__(self) -> None:
        if not is_number(self.value):
            raise ValueError(f"Target: target={self.value!r} must be a finite number.")

    def __call__(self, run: Run) -> str | None:
        """Return the reason to stop if the best value is at most the target (at least, if maximised); else None."""
        sign = float(run.problem.objectives.signs[0])
        best = float(run.archive.best()[0])
        return f"target {self.value:g} reached" if best <= sign * self.value else None


@dataclass(frozen=True, slots=True)
class NoProgress:
    """The rule to stop after `evaluations` evaluations without a new plan in the archive.

    Parameters
    ----------
    evaluations
        The number of evaluations.

    Examples
    --------
    >>> from fedsched.search import NoProgress
    >>> rule = NoProgress(100)
    >>> fs.optimize(fs.read("sample").head(20), 128, evaluations=2000, seed=1, stop=rule).evaluations < 2000
    True
    """

    evaluations: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "evaluations", whole("NoProgress", "evaluations", self.evaluations, least=1))

    def __call__(self, run: Run) -> str | None:
        """Return the reason to stop if none of the last `evaluations` plans entered the archive; else None."""
        still = run.evaluations - run.improved_at
        return f"no progress in {counted(self.evaluations, 'evaluation')}" if still >= self.evaluations else None


@dataclass(frozen=True, slots=True)
class GapReached:
    """The rule to stop when the first objective is proven to be within `gap` (0.01 is one percent) of the optimum.

    Without a positive lower bound it never stops.

    Parameters
    ----------
    gap
        The share above the proven bound: 0.01 is one percent.

    Examples
    --------
    >>> from fedsched.search import GapReached
    >>> rule = GapReached(0.5)
    >>> fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1, stop=rule).gap() <= 0.5
    True
    """

    gap: float

    def __post_init__(self) -> None:
        if not is_number(self.gap) or not self.gap >= 0:
            raise ValueError(f"GapReached: gap={self.gap!r} must be a finite share of at least 0.")

    def __call__(self, run: Run) -> str | None:
        """Return the reason to stop if the best value is at most the bound × (1 + gap); else None.

        It is None too if the bound is not above 0.
        """
        bound = float(run.bounds[0])
        best = float(run.archive.best()[0])
        return f"within {self.gap:.2%} of the bound" if bound > 0 and best <= bound * (1.0 + self.gap) else None
