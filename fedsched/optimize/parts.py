"""Packages of a workload whose jobs know each other: what a package's jobs wait for in those before it [34, 53]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.model.constraints.dependencies import End, Kind, edges_of, ends_of
from fedsched.model.constraints.feedback import followers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.reading import Reading

WANTED = {Kind.AFTEROK: End.WELL, Kind.AFTERNOTOK: End.BADLY}


def refuse_knots(workload: Workload, packages: Sequence[Ints]) -> None:
    """Refuse jobs that wait for jobs of a later package, or follow them."""
    number = np.full(len(workload), -1)  # of who runs already, or never starts
    for k, rows in enumerate(packages):
        number[rows] = k
    edges = edges_of(workload)
    for job, on in zip(edges.job.tolist(), edges.on.tolist(), strict=True):
        if 0 <= number[job] < number[on]:
            raise InfeasibleError(
                f"optimize: job {workload.id[job]} waits for job {workload.id[on]}, which is in a later package; "
                "leave package= out, or make packages larger."
            )


def last_submit(workload: Workload, rows: Ints, earliest: float) -> float:
    """Return when the last of these jobs is submitted that follow nobody, no earlier than this."""
    alone = rows[~np.isin(rows, followers_of(workload)[0])]
    return float(workload.submit[alone].max(initial=earliest))


class Before:
    """What became of the jobs of the packages before: when they started and ended, NaN where they did not."""

    def __init__(self, workload: Workload, reading: Reading, start: Floats, finish: Floats) -> None:
        self._workload, self._start, self._finish = workload, start, finish
        self._ends, self._edges = ends_of(workload, reading), edges_of(workload)
        self._following = followers_of(workload)[0].size  # these edges come last
        self._gone = np.full(len(workload), np.inf) if workload.cancel_at is None else workload.cancel_at.times

    def part(self, fresh: Ints, still: Ints) -> tuple[Workload, Ints]:
        """Return who still runs, and the fresh jobs that can start, as a workload and its rows.

        Whom these wait for beyond them has ended, was cancelled, or never starts: they may start so much later, or not
        at all. Whom they follow likewise: they were submitted so much later.
        """
        rows, submit = np.concatenate([still, fresh]), self._workload.submit.copy()
        begin = np.zeros(len(self._workload)) if self._workload.begin is None else self._workload.begin.begin.copy()
        hopeless = np.zeros(begin.size, dtype=np.bool_)
        mine = np.isin(self._edges.job, fresh) & ~np.isin(self._edges.on, rows)
        ties = self._edges.job.size - self._following
        for nth in np.flatnonzero(mine).tolist():
            job, on, kind, lag = (column[nth] for column in self._edges)
            moment = self._moment(on, Kind(kind)) + lag
            hopeless[job] |= np.isnan(moment)
            if nth < ties:
                begin[job] = np.fmax(begin[job], moment)
            else:
                submit[job] = moment
                hopeless[job] |= moment > self._gone[job]  # it had left before its user would have submitted it
        rows = rows[~hopeless[rows]]
        part = self._workload.take(rows)
        return (replace(part, begin=begin[rows], submit=submit[rows]) if mine.any() and rows.size else part), rows

    def _moment(self, on: int, kind: Kind) -> float:
        # When what is waited for held; NaN where it never can.
        ran, ended = not np.isnan(self._start[on]), float(self._finish[on])
        if kind is Kind.AFTER:
            return float(self._start[on])
        if not ran:
            gone = float(self._gone[on])
            return gone if kind not in WANTED and gone < np.inf else float("nan")
        return ended if kind not in WANTED or self._ends[on] == WANTED[kind] else float("nan")
