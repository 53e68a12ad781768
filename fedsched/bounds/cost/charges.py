"""The charge of a start: what a job adds to a metric that is a sum over jobs, for its start and possible run times.

A run is at least `duration` and at most `most` of the relaxation. Flow falls as the run gets shorter; a slowdown, (wait
+ run)/run = 1 + wait/run, falls as the run gets longer. A wait depends only on the start. `TRIVIAL_BOUNDS` has what
every schedule meets by a metric's definition: a bound up to that says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.schedule.metrics import BOUND_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.bounds.lower.relaxation import Floats, Ints, Relaxation


@dataclass(frozen=True, slots=True, eq=False)
class Charge:
    """A metric that is a sum over jobs: for modes (job, slowdown) and starts, the least that each job adds to the sum.

    It is piecewise linear in the start. Kinks that may be a minimum are among `kinks`; the others are concave.
    """

    of: Callable[[Relaxation, Ints, Ints, Floats], Floats]  # (relaxation, job, v, start): per mode × start
    kinks: Callable[[Relaxation, Ints, Ints], Floats]  # per mode × kink
    weight: Callable[[Relaxation], Floats]  # per job: the approximate price of a second of delay
    share: Callable[[Relaxation], float]  # the factor from the sum to the metric


def _wait(relaxation: Relaxation, job: Ints, start: Floats) -> Floats:
    waited = relaxation.late - relaxation.begun - relaxation.release
    return np.asarray(start + waited[job][:, None])


def _runs(relaxation: Relaxation, job: Ints, v: Ints) -> tuple[Floats, Floats]:
    """Return the least and the greatest run time of each mode, time run before t0 included, as columns."""
    begun = relaxation.begun[job]
    return (begun + relaxation.duration[job, v])[:, None], (begun + relaxation.most[job, v])[:, None]


def _waiting(relaxation: Relaxation, job: Ints, v: Ints, start: Floats) -> Floats:
    return _wait(relaxation, job, start)


def _response(relaxation: Relaxation, job: Ints, v: Ints, start: Floats) -> Floats:
    return _wait(relaxation, job, start) + _runs(relaxation, job, v)[0]


def _slowdown(relaxation: Relaxation, job: Ints, v: Ints, start: Floats) -> Floats:
    return 1.0 + _wait(relaxation, job, start) / _runs(relaxation, job, v)[1]


def _bounded_slowdown(relaxation: Relaxation, job: Ints, v: Ints, start: Floats) -> Floats:
    # As a function of the run it rises until BOUND_SECONDS and then falls, so the least is at one end.
    wait = _wait(relaxation, job, start)
    ends = [np.maximum((wait + run) / np.maximum(run, BOUND_SECONDS), 1.0) for run in _runs(relaxation, job, v)]
    return np.minimum(*ends)


def _no_kinks(relaxation: Relaxation, job: Ints, v: Ints) -> Floats:
    return np.zeros((job.size, 0))


def _bounded_kinks(relaxation: Relaxation, job: Ints, v: Ints) -> Floats:
    """Return the starts at which wait + run is the bound of the bounded slowdown (seconds), for both run times.

    These are the least and the greatest run time of each mode.
    """
    idle = -_wait(relaxation, job, np.zeros((job.size, 1)))  # the start without a wait
    return np.concatenate([idle + BOUND_SECONDS - run for run in _runs(relaxation, job, v)], axis=1)


def _by_tasks(charge: Callable[[Relaxation, Ints, Ints, Floats], Floats]) -> Callable[..., Floats]:
    def of(relaxation: Relaxation, job: Ints, v: Ints, start: Floats) -> Floats:
        return np.asarray(relaxation.tasks[job][:, None] * charge(relaxation, job, v, start))

    return of


def _each(relaxation: Relaxation) -> Floats:
    return np.ones(relaxation.tasks.size)


def _tasks(relaxation: Relaxation) -> Floats:
    return relaxation.tasks.astype(np.float64)


def _per_run(relaxation: Relaxation) -> Floats:
    longest = np.where(relaxation.usable, relaxation.most, np.inf).min(axis=1)
    return np.asarray(1.0 / (relaxation.begun + longest))


def _per_bounded_run(relaxation: Relaxation) -> Floats:
    return np.asarray(1.0 / np.maximum(1.0 / _per_run(relaxation), BOUND_SECONDS))


def _tasks_per_run(relaxation: Relaxation) -> Floats:
    return _tasks(relaxation) * _per_run(relaxation)


def _whole(relaxation: Relaxation) -> float:
    return 1.0


def _of_jobs(relaxation: Relaxation) -> float:
    return 1.0 / relaxation.tasks.size


def _of_tasks(relaxation: Relaxation) -> float:
    return 1.0 / float(relaxation.tasks.sum())


CHARGES: dict[str, Charge] = {
    "flow": Charge(_response, _no_kinks, _each, _whole),
    "mean_wait": Charge(_waiting, _no_kinks, _each, _of_jobs),
    "weighted_response": Charge(_by_tasks(_response), _no_kinks, _tasks, _of_tasks),
    "mean_slowdown": Charge(_slowdown, _no_kinks, _per_run, _of_jobs),
    "weighted_slowdown": Charge(_by_tasks(_slowdown), _no_kinks, _tasks_per_run, _of_tasks),
    "bounded_slowdown": Charge(_bounded_slowdown, _bounded_kinks, _per_bounded_run, _of_jobs),
}


# What every schedule meets by the metric's own definition; 0 for the others.
TRIVIAL_BOUNDS = {"mean_slowdown": 1.0, "bounded_slowdown": 1.0, "weighted_slowdown": 1.0}


def is_useful(metric: str, bound: float) -> bool:
    """Return whether a bound exceeds what every schedule has by definition: 1 for slowdowns, else 0.

    False for NaN.
    """
    return bound > TRIVIAL_BOUNDS.get(metric, 0.0)
