"""Arrays as text: typed, compressed, in base64; the page's script unpacks them."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.model.jobs.layout import layout_of, tasks_on_nodes
from fedsched.model.jobs.uneven import are_uneven, counted_tasks_per_node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule

NEVER = -(2**31)  # the tick of a job that was not started
TICKS = 2**30  # in the period of a schedule, at most
MUCH = 4_000_000  # bytes from which on the strongest compression takes too long
LONG = 1000.0  # seconds from which on milliseconds suffice


def packed(columns: Mapping[str, NDArray[Any]]) -> dict[str, object]:
    """Return columns packed into one text, and a directory of their names, types and lengths."""
    parts = [(name, _narrowed(column)) for name, column in columns.items()]
    parts.sort(key=lambda part: -part[1].itemsize)  # widest types first, so that each column is aligned
    blob = b"".join(column.tobytes() for _, column in parts)
    blob = zlib.compress(blob, 9 if len(blob) < MUCH else 6)
    directory = [[name, column.dtype.str[1:], len(column)] for name, column in parts]
    return {"columns": directory, "bytes": base64.b64encode(blob).decode()}


def _narrowed(column: NDArray[Any]) -> NDArray[Any]:
    # The narrowest array type of JavaScript that holds the values, little-endian like all machines that run it.
    if column.dtype.kind == "f":
        return column.astype("<f4" if column.dtype.itemsize == 4 else "<f8")
    low, high = (int(column.min()), int(column.max())) if column.size else (0, 0)
    for kind in ("<u1", "<u2", "<u4", "<i4"):
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return column.astype(kind)
    return column.astype("<f8")  # whole numbers stay exact to 2^53


def tick_of(schedules: list[Schedule]) -> float:
    """Return a power of ten in seconds in which all times are 32-bit integers; 1 ms suffices for long spans."""
    spans = [np.abs(s.workload.submit - s.t0).max(initial=0.0) for s in schedules]
    spans += [np.nanmax(np.abs(times - s.t0), initial=0.0) for s in schedules for times in (s.start, s.finish)]
    span = max(spans) or 1.0
    exponent = int(np.ceil(np.log10(span / TICKS)))
    return float(10.0 ** (exponent if span < LONG else max(-3, exponent)))


def ticks(times: NDArray[np.float64], tick: float) -> NDArray[np.int64]:
    """Return times in ticks, NEVER for NaN."""
    known = ~np.isnan(times)
    return np.where(known, np.rint(np.where(known, times, 0.0) / tick), NEVER).astype(np.int64)


def jobs_of(schedule: Schedule, tick: float, kept: NDArray[np.bool_] | None = None) -> dict[str, object]:
    """Return the data that all plans share: the jobs, or those that the page keeps."""
    jobs = schedule.workload if kept is None else schedule.workload.take(np.flatnonzero(kept))
    columns: dict[str, NDArray[Any]] = {
        "id": jobs.id,
        "submit": ticks(jobs.submit - schedule.t0, tick),
        "tasks": jobs.tasks,
        "estimate": np.rint(jobs.estimate).astype(np.int64),
        "user": jobs.user,
    }
    if (jobs.task_bandwidth > 0).any():
        columns["bandwidth"] = jobs.task_bandwidth
        if (on_nodes := tasks_on_nodes(jobs)).any():
            columns |= {"each": layout_of(jobs)[0] * (on_nodes > 0), "on_nodes": on_nodes}
            if (uneven := are_uneven(jobs)).any():  # jobs × groups
                each = np.maximum(columns["each"], 1)[:, None]
                fits = counted_tasks_per_node(jobs, schedule.federation)
                columns["fits"] = np.where(uneven[:, None], fits, each).ravel()
    if jobs.watts is not None:
        columns["watts"] = jobs.watts.values
    return packed(columns)
