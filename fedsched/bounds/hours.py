"""What any schedule costs at least by the signals of its federation: every job in the cheapest hours that it may have.

Jobs are looked at one by one: each node of one costs at least what the cheapest stretch of its length costs, from the
job's release on, on the cheapest nodes that it may have. The nodes beside them draw what idle ones do until the last
end, which no schedule has before the bound of the makespan. Values below 0 would make a longer schedule a cheaper one:
of such signals nothing is proven.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.power import Pricing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.bounds.relaxation import Relaxation
    from fedsched.model.federation import Federation
    from fedsched.model.power import Tariff
    from fedsched.model.signal import Curve

    Floats = NDArray[np.float64]

ROUNDING = 1e-9  # sums of integrals are by less than this share too high


def least_costs(federation: Federation, relaxation: Relaxation, makespan: float) -> dict[str, float]:
    """Return the bounds on cost and carbon, as far as there are signals of which something is proven."""
    found = {}
    for metric, tariff in Pricing(federation).tariffs.items():
        if all(min(signal.values) >= 0.0 for signal in tariff.signals):
            found[metric] = _least(federation, relaxation, makespan, tariff)
    return found


def _least(federation: Federation, relaxation: Relaxation, makespan: float, tariff: Tariff) -> float:
    t0, groups, of_cluster = relaxation.t0, federation.groups, federation.group_cluster
    ends = np.array([t0, t0 + makespan])
    dearest = np.full(relaxation.caps.shape, np.inf)  # of a node of each job in each class: the least
    total = 0.0
    for g, group in enumerate(groups):
        curve = tariff.curves[of_cluster[g]]
        begin, end = curve.integral(ends).tolist()
        c = int(relaxation.group_class[g])
        total += curve.signal.priced(float(relaxation.idle_watts[c]) * group.count * (end - begin))
        lasts = relaxation.duration[:, relaxation.class_slowdown[c]]
        stretch = _cheapest(curve, t0 + relaxation.release, lasts)
        extra = relaxation.extra_watts[c] + (relaxation.more_watts[:, c] if relaxation.more_watts.size else 0.0)
        more = curve.signal.priced(1.0) * extra
        dearest[:, c] = np.minimum(dearest[:, c], more * stretch)
    order = np.argsort(dearest, axis=1)
    caps = np.take_along_axis(np.minimum(relaxation.caps, relaxation.nodes), order, axis=1)
    before = np.cumsum(caps, axis=1) - caps
    taken = np.clip(relaxation.tasks[:, None] - before, 0, caps)
    costs = np.where(taken > 0, np.take_along_axis(dearest, order, axis=1), 0.0) * taken
    return float(total + costs.sum()) * (1.0 - ROUNDING)


def _cheapest(curve: Curve, release: Floats, lasts: Floats) -> Floats:
    # The least integral over a stretch of each length from its release on. It changes its slope only where the stretch
    # begins or ends at a step, so the least is at one of these, at the release, or as late as the signal reaches.
    signal = curve.signal
    assert signal.until is not None
    found = np.empty(release.size)
    steps = np.unique(np.append(curve.times, signal.until if math.isfinite(signal.until) else curve.times[-1]))
    period = signal.until - signal.times[0]
    for j, (first, length) in enumerate(zip(release.tolist(), lasts.tolist(), strict=True)):
        edges = steps
        if signal.beyond == "repeat" and math.isfinite(period):
            edges = np.append(curve.changes(first, first + period + length + 1.0), first + period)
        begins = np.concatenate([[first], edges, edges - length])
        begins = begins[begins >= first]
        if signal.beyond == "refuse":
            reached = signal.until + ROUNDING * max(1.0, abs(signal.until))
            begins = np.append(begins[begins + length <= reached], first)
        found[j] = (curve.integral(begins + length) - curve.integral(begins)).min()
    return np.maximum(found, 0.0)
