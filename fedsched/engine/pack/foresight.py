"""The problem as it is known at a time: plans are made with it, while the true problem decides what happens [48].

Only this module derives the known problem from the true one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.codes import OnRunning
from fedsched.engine.pack.extras import calendar_of
from fedsched.engine.pack.power_cap_arrays import may_starve
from fedsched.engine.placement.tasks_per_node import most_nodes
from fedsched.model.constraints.cancellations import until
from fedsched.model.constraints.holds import holds_begun_by
from fedsched.model.time.downtimes import Closures

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, Problem
    from fedsched.model.jobs.workload import Workload


def jobs_as_known(workload: Workload, time: float) -> Workload:
    """Return the jobs as they are known at `time`: without cancellations and holds that come later [44, 73]."""
    leaving, held = until(workload, time), holds_begun_by(workload, time)
    if leaving is workload.cancel_at and held is workload.held:
        return workload
    return replace(workload, cancel_at=leaving, held=held)


def known_problem(problem: Problem, time: float) -> Problem:
    """Return the problem with only the closures of nodes that are known at `time`, each until its planned end.

    Return the problem itself if nothing is unknown.
    """
    if problem.extras is None or not problem.extras.calendar.begin.size:
        return problem
    extras = _known_extras(problem.extras, problem, time)
    return problem if extras is None else problem._replace(extras=extras)


def _known_extras(extras: Extras, problem: Problem, time: float) -> Extras | None:
    # The known closures, each until its known end; None if that is all of them, unchanged.
    closures = Closures(*(getattr(extras.calendar, name) for name in Closures._fields))
    known = (closures.known_from <= time) & (closures.end > time)
    if known.all() and (closures.planned_end == closures.end).all():
        return None
    kept = closures.take(known)
    kept = kept._replace(end=kept.planned_end)
    return extras._replace(calendar=calendar_of(kept, problem.groups.nodes, time))


def may_miss(problem: Problem) -> bool:
    """Return whether some jobs may never finish.

    Nodes may stay closed for good; downtimes may kill jobs; jobs may be in reservations or be cancelled; a power cap
    may leave too little.
    """
    if problem.extras is None:
        return False
    extras, calendar = problem.extras, problem.extras.calendar
    kills = (calendar.on_running == OnRunning.KILL) & (calendar.begin > problem.t0)
    missed = extras.reserved.of_job.size or extras.cancellations.place.size
    shapes = extras.moldable.which.size and extras.ceilings.period.size  # a wide one may be chosen before a cap falls
    missed = missed or shapes or may_starve(extras.ceilings, most_nodes(problem))
    return bool(missed or (np.isinf(calendar.end) | kills).any())
