"""How early downtimes leave a job room: no start on closed nodes, nor into what is known to close [39]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.bounds.lower.relaxation import Relaxation
    from fedsched.engine.arrays.structs import Calendar, Floats, Problem


def between_downtimes(relaxation: Relaxation, problem: Problem, planned: Floats | None) -> Relaxation:
    """Return the relaxation with each job that is to start released no sooner than it finds nodes enough in all.

    `planned` is the least that any plan takes each job to run on reference nodes; where nothing is said of it, starts
    alone are looked at.
    """
    if problem.extras is None or not problem.extras.calendar.lookout.size:
        return relaxation
    calendar, t0 = problem.extras.calendar, relaxation.t0
    everything = np.ones(calendar.begin.size, dtype=np.bool_)
    seconds = np.zeros(relaxation.tasks.size)
    if planned is not None:
        fastest = np.where(relaxation.usable, relaxation.slowdown, np.inf).min(axis=1)
        seconds = planned * (problem.sigma * fastest + (1.0 - problem.sigma)) * (1.0 - 1e-12)
    release = relaxation.release.copy()
    waiting = np.zeros(release.size, dtype=np.bool_)
    waiting[problem.arrival] = True
    waiting[np.flatnonzero(problem.extras.reserved.of_job >= 0)] = False  # to whom what is kept is open
    kinds, kind_of = np.unique(np.column_stack([relaxation.caps, relaxation.tasks]), axis=0, return_inverse=True)
    for k, kind in enumerate(kinds):
        rows = np.flatnonzero((kind_of.reshape(-1) == k) & waiting)
        always = [(a - t0, b - t0, 0.0) for a, b in _blocked(relaxation, problem, kind[:-1], kind[-1], everything)]
        foreseen = [
            (a - t0, b - t0, 1.0)
            for a, b in _blocked(relaxation, problem, kind[:-1], kind[-1], calendar.known_from <= t0)
        ]
        release[rows] = _pushed(release[rows], seconds[rows], sorted(always + foreseen), relaxation.tick)
    return replace(relaxation, release=release, late=relaxation.late + (release - relaxation.release))


def _pushed(release: Floats, seconds: Floats, blocked: list[tuple[float, float, float]], tick: float) -> Floats:
    # `blocked` are stretches in which there are too few nodes to start in (0.0), or to run in (1.0).
    found, before = release, np.full_like(release, -1.0)
    while (found > before).any():
        before = found
        for begin, end, runs in blocked:
            runs_into_it = (begin + tick < found + seconds * runs) & (found < end - tick)
            found = np.where(runs_into_it, end - tick, found)
    return found


def _blocked(
    relaxation: Relaxation, problem: Problem, caps: NDArray[np.int64], tasks: int, which: NDArray[np.bool_]
) -> list[tuple[float, float]]:
    # The stretches in which some of the closures leave a job fewer nodes than it has tasks.
    assert problem.extras is not None
    calendar: Calendar = problem.extras.calendar
    begin, end = calendar.begin[which], calendar.end[which]
    times = np.unique(np.concatenate([begin, end]))
    open_nodes = np.tile(problem.groups.nodes, (times.size, 1))
    for g, nodes, first, last in zip(calendar.group[which], calendar.nodes[which], begin, end, strict=True):
        open_nodes[np.searchsorted(times, first) : np.searchsorted(times, last), g] -= nodes
    open_nodes = np.maximum(open_nodes, 0)
    of_class = np.stack(
        [open_nodes[:, relaxation.group_class == c].sum(axis=1) for c in range(relaxation.nodes.size)], axis=1
    )
    short = np.minimum(of_class, caps).sum(axis=1) < tasks
    stretches = zip(times.tolist(), times[1:].tolist(), short.tolist(), strict=False)
    # Who never can start is no matter of bounds.
    return [(a, b) for a, b, too_few in stretches if too_few and b < np.inf]
