"""Power caps as arrays for the event loop, and checks that jobs can run under them [70]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.core.text import counted
from fedsched.engine.arrays.read_only import floats, ints
from fedsched.engine.optional_features.power_caps import PowerCaps, period_of
from fedsched.model.power.power_cap import NOW, caps_of, planned_needs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.power.power_cap import PowerCap


def power_caps_of(workload: Workload, federation: Federation, t0: float) -> PowerCaps | None:
    """Return the arrays of a federation's power caps from `t0` on, and the milliwatts that each job plans per node.

    Return None if there are no caps. Raise an error if a cap does not cover the time after t0, or a job never fits
    under one.
    """
    caps = caps_of(federation)
    if not caps:
        return None
    for cap in caps:
        _refuse_out_of_reach(cap, t0)
    times = [np.array(cap.signal.times) for cap in caps]
    turns = [period_of(t0, float(own[0]), cap.period) for own, cap in zip(times, caps, strict=True)]
    shifts = [turn * cap.period if turn else 0.0 for turn, cap in zip(turns, caps, strict=True)]
    begun = [int((own + shift <= t0).sum()) for own, shift in zip(times, shifts, strict=True)]
    need = planned_needs(workload, federation)
    refuse_jobs_over_caps(workload, federation, t0)
    return PowerCaps(
        first=ints(np.cumsum([0, *(own.size for own in times)])),
        time=floats(np.concatenate(times)),
        left=ints(np.concatenate([cap.left for cap in caps])),
        period=floats([cap.period for cap in caps]),
        turn=ints(turns),
        begun=ints(begun),
        covers=ints([cap.covers for cap in caps]),
        need=ints(need),
        looks=ints([1 if federation.cap == NOW else 0]),
    )


def power_caps_of_jobs(power_caps: PowerCaps, jobs: Ints, t0: float) -> PowerCaps:
    """Return the arrays of power caps with only the given jobs' needs, and with steps counted from another `t0`."""
    parts = [slice(*ends) for ends in zip(power_caps.first[:-1], power_caps.first[1:], strict=True)]
    turns, begun = [], []
    for part, period in zip(parts, power_caps.period.tolist(), strict=True):
        own = power_caps.time[part]
        turns.append(period_of(t0, float(own[0]), period))
        begun.append(int((own + (turns[-1] * period if turns[-1] else 0.0) <= t0).sum()))
    return power_caps._replace(
        need=ints(power_caps.need[jobs]), turn=ints(turns), begun=ints(begun)
    )


def may_starve(power_caps: PowerCaps, tasks: Ints) -> bool:
    """Return whether some job may never find enough power under a cap, on the nodes where it takes the most.

    A cap counts with its lowest value if it recurs, else with its last one.
    """
    for c in range(power_caps.period.size):
        own = power_caps.left[power_caps.first[c] : power_caps.first[c + 1]]
        at_last = int(own[-1]) if np.isinf(power_caps.period[c]) else int(own.min())
        most = tasks * (power_caps.need * power_caps.covers[c]).max(axis=1)
        if (most > at_last).any():
            return True
    return False


def _refuse_out_of_reach(cap: PowerCap, t0: float) -> None:
    signal = cap.signal
    if signal.beyond == "refuse" and signal.until != np.inf:
        raise InfeasibleError(
            f"{signal.where} ends at {signal.until:g} s, and plans look beyond that; give beyond='repeat' or 'last' "
            "(fedsched: --beyond)."
        )
    if signal.beyond != "repeat" and signal.times[0] > t0:
        raise InfeasibleError(
            f"{signal.where} begins at {signal.times[0]:g} s, after the schedule's begin at {t0:g} s; give one that "
            "reaches back, or beyond='repeat' (fedsched: --beyond repeat)."
        )


def refuse_jobs_over_caps(workload: Workload, federation: Federation, t0: float) -> None:
    """Raise InfeasibleError if a job needs more power than a cap on all nodes ever leaves from `t0` on.

    The need is that on the nodes where it is least.
    """
    least, most = _taken_and_left(workload, federation, t0)
    if (hungry := np.flatnonzero(least > most)).size:
        row = int(hungry[0])
        nodes = counted(int(workload.tasks[row]), "node")
        raise InfeasibleError(
            f"Job {workload.id[row]}: its {nodes} draw {least[row] / 1000:g} W more "
            f"than idle ones, and the power cap leaves {most / 1000:g} W beside these; drop the job, or raise the cap."
        )


def exceed_caps(workload: Workload, federation: Federation, t0: float) -> NDArray[np.bool_]:
    """Return for each job whether it needs more power than a cap on all nodes ever leaves from `t0` on.

    The need is that on the nodes where it is least.
    """
    least, most = _taken_and_left(workload, federation, t0)
    return np.asarray(least > most)


def _taken_and_left(workload: Workload, federation: Federation, t0: float) -> tuple[Floats, float]:
    # What each job takes on the nodes where that is least, and the most that a cap on all nodes leaves from t0 on.
    most = np.inf
    for cap in caps_of(federation):
        if cap.covers.all():
            begun = 0 if cap.period < np.inf else int((np.array(cap.signal.times) <= t0).sum()) - 1
            most = min(most, float(cap.left[max(begun, 0) :].max()))
    if most == np.inf:
        return np.zeros(len(workload)), most
    return np.asarray(workload.tasks * planned_needs(workload, federation).min(axis=1), dtype=np.float64), most
