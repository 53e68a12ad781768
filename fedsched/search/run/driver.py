"""The loop around every method: do a step, record it, ask the stopping rules; until one gives a reason."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from fedsched.search.run.run import BudgetSpent, CutShort
from fedsched.search.run.stopping import MaxSeconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.search.methods.methods import Method
    from fedsched.search.run.run import Run

INTERRUPTED = "interrupted"
CUT_SHORT = "cut short: "


def ended_early(reason: str) -> bool:
    """Return whether a search that ended for this reason had more to do."""
    return reason == INTERRUPTED or reason.startswith(CUT_SHORT)


def drive(run: Run, method: Method, *, after_step: Callable[[Run, Method], None] | None = None) -> str:
    """Step the method until a rule stops it, its budget ends, it has no more to do, or Ctrl-C; return why."""
    try:
        return _driven(run, method, after_step)
    except CutShort as why:
        run.note()
        warnings.warn(f"The search ended early: {why}; the best until then is kept.", RuntimeWarning, stacklevel=2)
        return f"{CUT_SHORT}{why}"
    except KeyboardInterrupt:  # it may come at any time, even after the last evaluation
        run.note()
        return INTERRUPTED


def _driven(run: Run, method: Method, after_step: Callable[[Run, Method], None] | None) -> str:
    reason = run.reason_to_stop() if len(run.archive) else None  # at least one plan, even without time
    try:
        while reason is None:
            more = method.step(run)
            run.steps += 1
            run.remember()
            if after_step is not None:
                after_step(run, method)
            reason = run.reason_to_stop()
            if reason is None and not more:
                reason = "the method has ended"
    except BudgetSpent:
        run.remember()
        reason = run.reason_to_stop() or _of_time(run) or "the budget is spent"
    return reason


def _of_time(run: Run) -> str | None:
    # A method without time for another generation ends before its budget in seconds does.
    return next((rule.reason for rule in run.stop if isinstance(rule, MaxSeconds)), None)
