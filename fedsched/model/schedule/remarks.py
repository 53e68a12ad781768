"""Remarks on a schedule beside its metrics: jobs that the metrics leave out, and what jobs waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.text import counted, first_of
from fedsched.model.constraints import cancellations
from fedsched.model.jobs import whole_nodes
from fedsched.model.schedule import closed_spans, delays, workflows
from fedsched.model.time import reservations

if TYPE_CHECKING:
    from fedsched.model.schedule.schedule import Schedule


def remarks(schedule: Schedule) -> tuple[str, ...]:
    """Return, in words: jobs without an end and why, delayed jobs, workflows, lost runs, closed and reserved nodes."""
    workload, said = schedule.workload, cancellations.in_words(schedule)
    if (hopeless := schedule.hopeless & ~reservations.missed(schedule)).any():
        jobs = f"{counted(int(hopeless.sum()), 'job')} ({first_of(workload.id[hopeless])})"
        said.append(f"never started, for they wait for what cannot happen: {jobs}")
    said += [*whole_nodes.in_words(workload), *delays.in_words(schedule), *workflows.in_words(schedule)]
    said += [*schedule.lost.in_words(workload), *closed_spans.in_words(schedule)]
    return (*said, *reservations.in_words(schedule))
