"""The printed forms of a schedule: a few sentences, or its metrics with their units and remarks.

Remarks name, for example, the jobs that the metrics leave out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted, first_of, one_line
from fedsched.model.constraints import cancellations, slack
from fedsched.model.jobs import assumed, unmodelled, whole_nodes
from fedsched.model.jobs.recorded import partial_record_in_words, recorded
from fedsched.model.jobs.summary import implausible_lines
from fedsched.model.schedule import closed_spans, workflows
from fedsched.model.schedule.metrics import METRICS, with_unit
from fedsched.model.time import reservations

if TYPE_CHECKING:
    from fedsched.model.schedule.metrics import Metric
    from fedsched.model.schedule.schedule import Schedule


def summary_lines(schedule: Schedule) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the lines to print above a schedule's metrics, and (name, value with unit) for each metric worth showing.

    The lines are the policy, the reading, and notes. A value that the log records is shown beside the simulated one.
    """
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


MOST_CLUSTERS = 4  # that the summary names


def in_brief(schedule: Schedule) -> str:
    """Return a text of at most five lines: makespan and mean wait, slowdown, utilisation and energy, clusters, reading.

    It says so if no job finishes.
    """
    jobs, done = len(schedule), int((~np.isnan(schedule.finish)).sum())
    who, where = one_line(f"{schedule.policy or 'a schedule'}"), one_line(schedule.federation.name)
    what = f"{counted(jobs, 'job')} of {one_line(schedule.workload.name)}"
    reading = f"Reading: {schedule.question}."
    if not done:
        return f"{who}: none of {what} finishes on {where}.\n{reading}"
    row = schedule.metrics(users=False)

    def shown(metric: str) -> str:
        return assumed.marked(with_unit(metric, row[metric]), metric, schedule.federation)

    these = f"all {what}" if done == jobs else f"{done:,} of {what}"
    ends = "finishes" if jobs == 1 else "finish"
    return "\n".join(
        [
            f"{who}: {these} {ends} within {shown('makespan')} on {where}; the mean wait is {shown('mean_wait')}.",
            f"The mean bounded slowdown is {shown('bounded_slowdown')}: wait + run, divided by a run of at least 10 s.",
            f"Nodes are busy for {shown('utilisation')} of the time; the energy is {shown('energy')}.",
            *_places(schedule),
            reading,
        ]
    )


def _places(schedule: Schedule) -> list[str]:
    """Return a list with one line that says how many jobs ran on each cluster; [] if there is one cluster only."""
    clusters = schedule.federation.clusters
    if len(clusters) == 1:
        return []
    of_group = np.array(schedule.federation.group_cluster)
    jobs = [int(schedule.counts[:, of_group == k].any(axis=1).sum()) for k in range(len(clusters))]
    first = sorted(range(len(clusters)), key=lambda k: -jobs[k])
    said = [f"{one_line(clusters[k].name)} {jobs[k]:,}" for k in first[:MOST_CLUSTERS]]
    more = f" and {counted(len(clusters) - MOST_CLUSTERS, 'other cluster')}" if len(clusters) > MOST_CLUSTERS else ""
    several = int(schedule.coallocated.sum())
    both = f"; {counted(several, 'job')} ran on several at once" if several else ""
    return [f"Jobs on each cluster: {', '.join(said)}{more}{both}."]


def remarks(schedule: Schedule) -> tuple[str, ...]:
    """Return texts on jobs without an end and why, delayed jobs, workflows, lost runs, closed and reserved nodes."""
    workload, said = schedule.workload, cancellations.in_words(schedule)
    if schedule.until == np.inf and not schedule.complete:  # of an interrupted simulation a note says so
        jobs, done = counted(len(schedule), "job"), int((~np.isnan(schedule.finish)).sum())
        said.append(f"{done:,} of {jobs} have a finish; the metrics are of these")
    if (hopeless := schedule.hopeless & ~reservations.missed_reservation(schedule)).any():
        jobs = f"{counted(int(hopeless.sum()), 'job')} ({first_of(workload.id[hopeless])})"
        said.append(f"never started, because their conditions cannot hold: {jobs}")
    said += [*whole_nodes.in_words(workload), *slack.in_words(schedule), *workflows.in_words(schedule)]
    said += [*schedule.lost.in_words(workload), *closed_spans.in_words(schedule)]
    return (*said, *reservations.in_words(schedule))
