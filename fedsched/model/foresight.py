"""What plans do not know when they are made, in words [48]."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fedsched.text import counted

if TYPE_CHECKING:
    from fedsched.model.federation import Federation
    from fedsched.model.workload import Workload


def foresight(workload: Workload, federation: Federation, t0: float, *, packages: bool = False) -> str:
    """Return what plans made at t0, or from then on in packages, do not know; nothing where all is known.

    A few words, as what is said of a plan's figures.
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
    if not without:
        return ""
    *others, last = without
    whoever = "earlier packages planned" if packages else "planned"
    told = f"{', '.join(others)} and {last}" if others else last
    return f"{whoever} without {told}; figures are of what came"
