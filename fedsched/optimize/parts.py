"""Packages of a workload whose jobs know each other: what a package's jobs wait for in those before it [34, 53]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.errors import InfeasibleError
from fedsched.model.dependencies import End, Kind, edges_of, ends_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.engine.arrays import Floats, Ints
    from fedsched.model.reading import Reading
    from fedsched.model.workload import Workload

WANTED = {Kind.AFTEROK: End.WELL, Kind.AFTERNOTOK: End.BADLY}


def refuse_knots(workload: Workload, packages: Sequence[Ints]) -> None:
    """Refuse jobs that are submitted when others have ended, and those that wait for jobs of a later package."""
    cure = "leave package= out"
    if workload.feedback is not None:
        raise InfeasibleError(
            "optimize: jobs are submitted when others have ended (feedback), so that which of them make a package is "
            f"open; {cure}, or that: dataclasses.replace(workload, feedback=None)."
        )
    number = np.full(len(workload), -1)  # of who runs already, or never starts
    for k, rows in enumerate(packages):
        number[rows] = k
    edges = edges_of(workload)
    for job, on in zip(edges.job.tolist(), edges.on.tolist(), strict=True):
        if 0 <= number[job] < number[on]:
            raise InfeasibleError(
                f"optimize: job {workload.id[job]} waits for job {workload.id[on]}, which is in a later package; "
                f"{cure}, or make packages larger."
            )


class Before:
    """What became of the jobs of the packages before: when they started and ended, NaN where they did not."""

    def __init__(self, workload: Workload, reading: Reading, start: Floats, finish: Floats) -> None:
        self._workload, self._start, self._finish = workload, start, finish
        self._ends, self._edges = ends_of(workload, reading), edges_of(workload)
        self._gone = np.full(len(workload), np.inf) if workload.cancel_at is None else workload.cancel_at.times

    def part(self, fresh: Ints, still: Ints) -> tuple[Workload, Ints]:
        """Return who still runs, and the fresh jobs that can start, as a workload and its rows.

        Whom these wait for beyond them has ended, was cancelled, or never starts: they may start so much later, or not
        at all.
        """
        rows = np.concatenate([still, fresh])
        begin = np.zeros(len(self._workload)) if self._workload.begin is None else self._workload.begin.begin.copy()
        hopeless = np.zeros(begin.size, dtype=np.bool_)
        mine = np.isin(self._edges.job, fresh) & ~np.isin(self._edges.on, rows)
        for job, on, kind, lag in zip(*(column[mine].tolist() for column in self._edges), strict=True):
            moment = self._moment(on, Kind(kind)) + lag
            hopeless[job] |= np.isnan(moment)
            begin[job] = np.fmax(begin[job], moment)
        rows = rows[~hopeless[rows]]
        part = self._workload.take(rows)
        return (replace(part, begin=begin[rows]) if mine.any() and rows.size else part), rows

    def _moment(self, on: int, kind: Kind) -> float:
        # When what is waited for held; NaN where it never can.
        ran, ended = not np.isnan(self._start[on]), float(self._finish[on])
        if kind is Kind.AFTER:
            return float(self._start[on])
        if not ran:
            gone = float(self._gone[on])
            return gone if kind not in WANTED and gone < np.inf else float("nan")
        return ended if kind not in WANTED or self._ends[on] == WANTED[kind] else float("nan")
