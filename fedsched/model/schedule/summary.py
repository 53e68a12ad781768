"""The printed form of a schedule: its metrics with their units, and remarks.

Remarks name the jobs that the metrics leave out, and tell what jobs waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted, first_of
from fedsched.model.constraints import cancellations, slack
from fedsched.model.jobs import assumed, unmodelled, whole_nodes
from fedsched.model.jobs.recorded import partial_record_in_words, recorded
from fedsched.model.jobs.summary import implausible_lines
from fedsched.model.schedule import closed_spans, workflows
from fedsched.model.schedule.metrics import METRICS
from fedsched.model.time import reservations

if TYPE_CHECKING:
    from fedsched.model.schedule.metrics import Metric
    from fedsched.model.schedule.schedule import Schedule


def summary_lines(schedule: Schedule) -> tuple[list[str], list[tuple[str, str]]]:
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
    said += [partly] if (partly := partial_record_in_words(schedule)) else []
    said += [unmodelled.sentence(facts)] if (facts := schedule.unmodelled) else []
    said += [assumed.sentence(facts)] if (facts := schedule.assumed) else []
    said += implausible_lines(schedule.workload, schedule.federation)
    return [head, f"  {schedule.question}", *(f"  note: {note}" for note in said)], rows


def remarks(schedule: Schedule) -> tuple[str, ...]:
    """Return, in words: jobs without an end and why, delayed jobs, workflows, lost runs, closed and reserved nodes."""
    workload, said = schedule.workload, cancellations.in_words(schedule)
    if (hopeless := schedule.hopeless & ~reservations.missed_reservation(schedule)).any():
        jobs = f"{counted(int(hopeless.sum()), 'job')} ({first_of(workload.id[hopeless])})"
        said.append(f"never started, because their conditions cannot hold: {jobs}")
    said += [*whole_nodes.in_words(workload), *slack.in_words(schedule), *workflows.in_words(schedule)]
    said += [*schedule.lost.in_words(workload), *closed_spans.in_words(schedule)]
    return (*said, *reservations.in_words(schedule))
