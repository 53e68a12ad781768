"""Prices and carbon over a schedule's period, which the page draws beneath the power."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.model.time.signal import CAP, Curve, drawn_over

if TYPE_CHECKING:
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.signal import Signal


def curves_of(schedule: Schedule) -> list[dict[str, object]]:
    """Return kind, unit, cluster and steps since t0 of price and carbon signals.

    Cluster -1 stands for all clusters without a signal of their own.
    """
    names = [cluster.name for cluster in schedule.federation.clusters]
    return [
        {
            "kind": signal.kind,
            "unit": signal.unit,
            "cluster": names.index(signal.cluster) if signal.cluster else -1,
            **_steps(signal, schedule.t0, schedule.t0 + schedule.makespan),
        }
        for signal in schedule.federation.signals
        if signal.kind != CAP
    ]


def _steps(signal: Signal, begin: float, end: float) -> dict[str, list[float]]:
    times, (values,) = drawn_over([Curve(signal)], begin, end)
    return {"at": (times - begin).tolist(), "value": values.tolist()}
