"""Texts that say what a plan does not know at the time when it is made, such as later downtimes [48]."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from fedsched.core.text import counted
from fedsched.model.power.switching import Planned
from fedsched.model.schedule.metrics import NAMES, PRICED
from fedsched.model.time.signal import KIND_OF

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.signal import Signal

WEIGHED = ("energy", "idle_energy", *PRICED)


def with_forecasts(federation: Federation) -> Federation:
    """Return the federation with each signal replaced by its forecast, which is what plans see.

    A signal without a forecast stays as it is.
    """
    if all(signal.forecast is None for signal in federation.signals):
        return federation
    return replace(federation, signals=tuple(signal.known for signal in federation.signals))


def depend_on_idle_power(objectives: Sequence[str]) -> bool:
    """Return whether the power of idle nodes may affect some of these objectives.

    It may affect energy, idle energy, cost, carbon, peak power and every objective that is no metric of the model.
    """
    return any(name in WEIGHED or name not in NAMES for name in objectives)


def signals_needed(federation: Federation, objectives: Sequence[str]) -> list[Signal]:
    """Return the federation's signals that these objectives depend on, such as prices for the cost."""
    kinds = {KIND_OF[name] for name in objectives if name in KIND_OF}
    return [signal for signal in federation.signals if signal.kind in kinds]


def perfect_forecasts(federation: Federation, objectives: Sequence[str]) -> tuple[str, ...]:
    """Return a text for each varying signal that the objectives depend on and that has no forecast.

    Plans know such a signal in advance, which no real plan could: "a perfect forecast of …".
    """
    ahead = [
        one for one in signals_needed(federation, objectives) if one.forecast is None and one.constant is None
    ]
    return tuple(f"a perfect forecast of {one.called}" for one in ahead)


def foresight(
    workload: Workload, federation: Federation, t0: float, objectives: Sequence[str] = (), *, packages: bool = False
) -> str:
    """Return one text that says what plans made at t0 do not know; "" if they know everything.

    Examples are later downtimes, cancellations and holds, and signals known by forecast only. With `packages`, the
    jobs are planned in packages: successive jobs planned together, from t0 on. The text is printed with a plan's
    figures.
    """
    to_come = [downtime for downtime in federation.calendar if downtime.end > t0]
    later = [downtime for downtime in to_come if downtime.known_from > t0]  # type: ignore[operator]
    open_end = [downtime for downtime in to_come if math.isfinite(downtime.end) and not downtime.end_known]
    endless = [downtime for downtime in open_end if downtime not in later]
    leaving = 0 if workload.cancel_at is None else int((workload.cancel_at.cancel_at > t0).sum())
    holds = 0 if workload.held is None else int((workload.held.begin > t0).sum())
    without = [f"{counted(len(later), 'downtime')} that became known later"] * bool(later)
    without += [f"the end of {counted(len(endless), 'downtime')}"] * bool(endless)
    without += [f"{counted(leaving, 'cancellation')} to come"] * bool(leaving)
    without += [f"{counted(holds, 'hold')} to come"] * bool(holds)
    guessed = [one.called for one in signals_needed(federation, objectives) if one.forecast is not None]
    how = [f"without {_listed(without)}"] if without else []
    how += [f"by forecasts of {_listed(guessed)}"] if guessed else []
    if isinstance(federation.power, Planned) and depend_on_idle_power(objectives):
        how.append("as if nodes were off whenever they idle")
    if not how:
        return ""
    planned = "earlier packages planned" if packages and without else "planned"
    return f"{planned} {' and '.join(how)}; figures are of what came"


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
