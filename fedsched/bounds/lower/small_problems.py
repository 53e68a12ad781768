"""The least makespan of few jobs: CP-SAT's bound, where OR-tools is installed and a list schedule leaves a gap."""

from __future__ import annotations

import functools
import math
from dataclasses import astuple, dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.lower.relaxation import hidden_by_clock

if TYPE_CHECKING:
    from fedsched.bounds.lower.relaxation import Floats, Relaxation

JOBS = 50  # no solver has said anything about more in the time that bounds have
EFFORT = 0.1  # in the solver's own units, some second or two: its answer depends on no clock
ENTRIES = 250  # jobs × classes, above which building and presolving take more than they bring, unless seconds are given
MET = 1e-9
KEPT = 64  # answers that a comparison's next run over the same jobs, or a search's after the first, need not wait for


def solved_makespan(relaxation: Relaxation, floor: float, seconds: float = math.inf) -> float:
    """Return a bound on the makespan by CP-SAT, in true times without contention; `floor` where it has nothing to say.

    `floor` is a bound already known, `seconds` what the solver may take; pools are not looked at.
    """
    jobs, classes = relaxation.caps.shape
    too_large = jobs > JOBS or (jobs * classes > ENTRIES and seconds == math.inf)
    if too_large or seconds <= 0.0 or find_spec("ortools") is None:
        return floor
    reached = min(list_makespan(relaxation, by) for by in (relaxation.shortest, relaxation.shortest * relaxation.tasks))
    if reached <= floor * (1.0 + MET):
        return floor
    # What is found within a time depends on it; all else is found once.
    find = proven if seconds == math.inf else proven.__wrapped__
    found = find(_Asked.of(relaxation), floor, reached, seconds)
    return max(floor, min(found, reached) - hidden_by_clock(relaxation, (1.0, 0.0)))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A relaxation, equal to another one where every number is."""

    numbers: tuple[tuple[tuple[int, ...], bytes], ...]
    relaxation: Relaxation = field(compare=False)

    @classmethod
    def of(cls, relaxation: Relaxation) -> _Asked:
        """Return the relaxation as what is compared."""
        arrays = map(np.asarray, astuple(relaxation))
        return cls(tuple((array.shape, array.tobytes()) for array in arrays), relaxation)


@functools.lru_cache(maxsize=KEPT)
def proven(asked: _Asked, floor: float, reached: float, seconds: float) -> float:
    """Return what the solver proves of schedules between a bound already known and what a list schedule reaches."""
    from fedsched.bounds.exact_answers.cp_sat_model import build

    model = build(asked.relaxation, scale=reached, horizon=reached)
    model.minimise(1.0, 0.0, at_least=floor)
    return model.solve(seconds=seconds, workers=1, seed=0, effort=EFFORT).bound


def list_makespan(relaxation: Relaxation, priority: Floats) -> float:
    """Return the makespan of a list schedule without contention and pools: whatever fits starts, the greatest first."""
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
            filled = np.minimum(room.cumsum(), relaxation.tasks[j])  # classes are the fastest first
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
