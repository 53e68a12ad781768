"""The printed form of a schedule: remarks, and metrics with their units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted
from fedsched.model.jobs import assumed, implausible, unmodelled
from fedsched.model.jobs.recorded import of_some, recorded
from fedsched.model.schedule.metrics import METRICS

if TYPE_CHECKING:
    from fedsched.model.schedule.metrics import Metric
    from fedsched.model.schedule.schedule import Schedule


def printed(schedule: Schedule) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the lines above a schedule's metrics, and the metrics with their units."""
    values, found = schedule.metrics().telling(), recorded(schedule.workload)
    log = {} if found is None else found.figures()

    def text(metric: Metric, of: dict[str, float]) -> str:
        return f"{of[metric.name]:,.6g} {metric.unit}".strip()

    def beside(metric: Metric) -> str:
        return f"  (recorded: {text(metric, log)})" if metric.name in log else ""

    rows = [
        (metric.name, assumed.marked(text(metric, values), metric.name, schedule.federation) + beside(metric))
        for metric in METRICS
        if metric.name in values
    ]
    done = int((~np.isnan(schedule.finish)).sum())
    head = f"{schedule.policy}: {done} of {counted(len(schedule), 'job')} on {schedule.federation.name}"
    said = [*schedule.notes, *schedule.remarks]
    said += [partly] if (partly := of_some(schedule)) else []
    said += [unmodelled.sentence(facts)] if (facts := schedule.unmodelled) else []
    said += [assumed.sentence(facts)] if (facts := schedule.assumed) else []
    said += implausible.lines(schedule.workload, schedule.federation)
    return [head, f"  {schedule.question}", *(f"  note: {note}" for note in said)], rows
