"""The partitions that jobs ask for as the queues of a log in the Standard Workload Format."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.io.swf.cleaning import partition_names
from fedsched.model.jobs.texts import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload

NONE = -1.0


class Queued(NamedTuple):
    """The names of queues by their numbers, and every job's number."""

    names: dict[int, str]
    of_jobs: NDArray[np.float64]


def queues_of(workload: Workload) -> Queued | None:
    """Return the jobs' partitions as queues; None where they ask for none, or a header has no place for the names.

    What the log said stands where its header names its queues as the jobs name their partitions.
    """
    asked = workload.label("partition")
    names, which = distinct(asked)
    if names in ([], [""]) or any(name != name.strip() or set("|\r\n") & set(name) for name in names):
        return None
    known = partition_names(workload.header, "Queue")
    if workload.log is not None:
        numbers = np.unique(workload.log.queue).tolist()
        told = {number: (known.get(number) or f"{number:g}") if number >= 0 else "" for number in numbers}
        if [told[number] for number in workload.log.queue.tolist()] == asked.tolist():
            return Queued({int(number): name for number, name in told.items() if name}, workload.log.queue)
    number = {name: k for k, name in enumerate(filter(None, names), start=1)}
    places = np.array([number.get(name, NONE) for name in names])
    return Queued({k: name for name, k in number.items()}, places[which])
