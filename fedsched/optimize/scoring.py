"""Plans that were chosen by what was known, with the values that came; and the baselines likewise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.codes import Dispatch, Placement
from fedsched.engine.run.evaluate import unpack_row
from fedsched.optimize.baselines import measured
from fedsched.optimize.result import Baseline, Front, PlannedQueue
from fedsched.search.problem.objectives import lateness

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.model.schedule.schedule import Schedule
    from fedsched.optimize.baselines import Yardsticks
    from fedsched.search.problem.problem import SearchProblem
    from fedsched.search.run.archive import Archive, Entry


def front_of(archive: Archive, problem: SearchProblem, measures: Yardsticks) -> tuple[Front, list[Schedule]]:
    """Return an archive's plans sorted by the first objective, with the values by which they were chosen and that came.

    Also return the schedules that came, if they may differ from the planned ones.
    """
    signs, names = problem.objectives.signs, problem.objectives.names
    order = np.argsort(archive.values[:, 0], kind="stable").tolist()
    entries = [archive.entries[k] for k in order]
    front = Front(names, archive.values[order] * signs, tuple(_plan(problem, entry) for entry in entries))
    if not problem.scores_differ:
        return front, []
    schedules = [_came(problem.truth, entry, measures) for entry in entries]
    came = measured(problem, schedules) * signs
    return replace(front, values=came, planned=front.values, missing=_missing(problem, schedules)), schedules


def baselines_of(measures: Yardsticks, problem: SearchProblem) -> tuple[Baseline, ...]:
    """Return the baselines for a Result."""
    signs = problem.objectives.signs
    planned = [tuple(row) for row in (measures.values * signs).tolist()]
    latest, schedules = problem.objectives.latest, measures.came.values()
    late = [float(lateness(np.nan_to_num(schedule.makespan), latest)) for schedule in schedules]
    if not problem.scores_differ:
        rows = zip(measures.names, planned, late, strict=True)
        return tuple(Baseline(name, values, late=seconds) for name, values, seconds in rows)
    came = [tuple(row) for row in (measured(problem, schedules) * signs).tolist()]
    return tuple(map(Baseline, measures.names, came, planned, _missing(problem, schedules), late))


def comparable(measures: Yardsticks, problem: SearchProblem, schedules: Iterable[Schedule]) -> Yardsticks:
    """Return the yardsticks, without bounds if some schedule lacks jobs that the bounds count."""
    if not problem.truth.misses_sure_jobs(*schedules, *measures.came.values()):
        return measures
    return replace(measures, bounds=None, bound_front=np.zeros((0, 2)), energy_penalty=math.nan)


def _came(truth: SearchProblem, entry: Entry, measures: Yardsticks) -> Schedule:
    if entry.row is not None:
        return truth.schedule(entry.row)
    return measures.came[entry.policy] if entry.policy in measures.came else truth.simulated(entry.policy)


def _missing(problem: SearchProblem, schedules: Iterable[Schedule]) -> tuple[int, ...]:
    return tuple(problem.truth.missed(schedule.finish) for schedule in schedules)


def _plan(problem: SearchProblem, entry: Entry) -> PlannedQueue:
    if entry.row is None:
        return PlannedQueue(policy=entry.policy)
    order, caps, dispatch, placement = unpack_row(problem.layout, entry.row)
    return PlannedQueue(
        order=order,
        caps=caps,
        alternatives=problem.alternatives_of(entry.row),
        delays=problem.delays_of(entry.row),
        dispatch=Dispatch(dispatch).name.lower(),
        placement=Placement(placement).name.lower(),
    )
