"""The least makespan of few jobs: CP-SAT's bound, used if OR-tools is installed and a list schedule leaves a gap."""

from __future__ import annotations

import functools
import math
from dataclasses import astuple, dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.lower.relaxation import hidden_by_clock
from fedsched.core.errors import MissingExtraError

if TYPE_CHECKING:
    from fedsched.bounds.lower.relaxation import Floats, Relaxation

JOBS = 50  # with more, no solver finds anything in the time for bounds
EFFORT = 0.1  # in the solver's own units, about one or two seconds: its answer depends on no clock
ENTRIES = 250  # jobs × classes, above which building and presolving cost more than they gain, unless seconds are given
MET = 1e-9
WITHOUT_SOLVER = "a solver's bound on the makespan, which needs OR-tools: pip install 'fedsched[exact]'"
KEPT = 64  # answers kept for later runs of a comparison, or of a search, over the same jobs


def solved_makespan(relaxation: Relaxation, floor: float, seconds: float = math.inf) -> float:
    """Return CP-SAT's bound on the makespan in seconds, without contention; `floor` if it finds nothing better.

    `floor` is a known bound, and `seconds` the solver's time; pools are ignored. With over 50 jobs no solver is
    called. Raise MissingExtraError if the solver is missing and may have found more.
    """
    jobs, classes = relaxation.caps.shape
    too_large = jobs > JOBS or (jobs * classes > ENTRIES and seconds == math.inf)
    if too_large or seconds <= 0.0:
        return floor
    reached = min(list_makespan(relaxation, by) for by in (relaxation.shortest, relaxation.shortest * relaxation.tasks))
    if reached <= floor * (1.0 + MET):
        return floor
    if find_spec("ortools") is None:
        raise MissingExtraError(WITHOUT_SOLVER)
    # An answer within a time limit depends on it and is not cached; others are computed once.
    find = solver_bound if seconds == math.inf else solver_bound.__wrapped__
    found = find(_RelaxationKey.of(relaxation), floor, reached, seconds)
    return max(floor, min(found, reached) - hidden_by_clock(relaxation, (1.0, 0.0)))


@dataclass(frozen=True, slots=True)
class _RelaxationKey:
    """A relaxation as a cache key: two keys are equal if all numbers of their relaxations are."""

    numbers: tuple[tuple[tuple[int, ...], bytes], ...]
    relaxation: Relaxation = field(compare=False)

    @classmethod
    def of(cls, relaxation: Relaxation) -> _RelaxationKey:
        """Return the key of a relaxation."""
        arrays = map(np.asarray, astuple(relaxation))
        return cls(tuple((array.shape, array.tobytes()) for array in arrays), relaxation)


@functools.lru_cache(maxsize=KEPT)
def solver_bound(asked: _RelaxationKey, floor: float, reached: float, seconds: float) -> float:
    """Return CP-SAT's lower bound on the makespan, between a known bound and the makespan of a list schedule.

    Answers are cached.
    """
    from fedsched.bounds.exact_answers.cp_sat_model import build

    model = build(asked.relaxation, scale=reached, horizon=reached)
    model.minimise(1.0, 0.0, at_least=floor)
    return model.solve(seconds=seconds, workers=1, seed=0, effort=EFFORT).bound


def list_makespan(relaxation: Relaxation, priority: Floats) -> float:
    """Return the makespan of a list schedule without contention and pools, in seconds.

    Any job that fits starts, the greatest `priority` first, on its fastest free nodes.
    """
    order = np.argsort(-priority, kind="stable").tolist()
    free = relaxation.nodes.copy()
    ends: list[tuple[float, int]] = []
    taken = np.zeros_like(relaxation.caps)
    now = last = 0.0
    while order:
        for j in list(order):
            room = np.minimum(free, relaxation.caps[j])
            if relaxation.release[j] > now or room.sum() < relaxation.tasks[j]:
                continue
            filled = np.minimum(room.cumsum(), relaxation.tasks[j])  # classes are sorted fastest first
            taken[j] = np.diff(filled, prepend=0)
            free -= taken[j]
            slowest = int(relaxation.class_slowdown[taken[j] > 0].max())
            ends.append((now + float(relaxation.duration[j, slowest]), j))
            last = max(last, ends[-1][0])
            order.remove(j)
        ends.sort()
        later = [float(at) for at in relaxation.release[order] if at > now]
        if ends and (not later or ends[0][0] <= min(later)):
            now, ended = ends.pop(0)
            free += taken[ended]
        elif later:
            now = min(later)
    return last
