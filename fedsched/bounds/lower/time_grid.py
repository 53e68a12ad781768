"""The clock of a problem: whether floats round any of its times, and how far it may count.

If all times are whole steps of one grid (1/1024 s), sums of them are exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.model.constraints.slack import latest_delayed_time
from fedsched.model.power.switch_rates import MINUTE
from fedsched.model.schedule.off_spans import saving_of
from fedsched.model.time.signal import CAP

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, Floats, Problem
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

STEPS = 1024.0  # of the grid, a second
FAR = 2.0**40  # seconds: below it, sums of grid times are exact floats


def is_exact(problem: Problem, durations: Floats) -> bool:
    """Return whether submits, durations, and all other times that starts depend on are whole steps of the grid."""
    times = [_instants(problem), _lags(problem.extras), np.ravel(durations)]
    steps = np.concatenate(times) * STEPS
    return bool((steps == np.floor(steps)).all()) and float(np.abs(steps).sum()) < FAR * STEPS


class StartDelays(NamedTuple):
    """How long starts may be delayed by things other than a problem's jobs and calendar.

    It has a time, until which all may be delayed, and seconds for each job.
    """

    until: float = -np.inf  # by power caps, or by the longest delay that a plan may give a job
    each: float = 0.0  # for each job, by nodes that are off, and by repeating caps


NO_DELAYS = StartDelays()


def start_delays_of(workload: Workload, federation: Federation, t0: float) -> StartDelays:
    """Return how long plans' delays, nodes that are switched off, and power caps may delay the starts of a workload."""
    saving, each, until = saving_of(federation), 0.0, latest_delayed_time(workload, t0)
    if saving.boot.size:
        rates = saving.rate[saving.rate > 0]  # nodes that may switch in one minute
        each = float((saving.boot + saving.shutdown).max()) + federation.nodes * float((MINUTE / rates).sum())
    for signal in federation.signals:
        if signal.kind == CAP:
            if signal.beyond == "repeat" and signal.until is not None and np.isfinite(signal.until):
                each += signal.until - signal.times[0]
            else:
                until = max(until, signal.times[-1])
    return StartDelays(until, each)


def last_instant(problem: Problem, runs: Floats, delays: StartDelays = NO_DELAYS) -> float:
    """Return an upper limit on the clock's distance from 0 in seconds, while jobs run at most the times `runs`.

    It holds for any schedule in which the machine idles only if no job may start. It idles until the last submit,
    begin, hold, closure or cancellation, and after that during lags, boots and similar delays.
    """
    latest = max(problem.t0, float(_instants(problem).max()), delays.until)
    waiting = problem.submit.size * delays.each + float(_lags(problem.extras).sum())
    return max(abs(problem.t0), abs(latest)) + waiting + float(runs.sum())


def _instants(problem: Problem) -> Floats:
    """Return the finite times on which starts depend: t0, submits, closures, begins, cancellations and holds."""
    times = [np.array([problem.t0]), problem.submit]
    if problem.extras is not None:
        calendar, precedence, holds = problem.extras.calendar, problem.extras.precedence, problem.extras.holds
        times += [calendar.begin, calendar.end, precedence.earliest, problem.extras.cancellations.time, holds.end]
    every = np.concatenate(times)
    return np.asarray(every[np.isfinite(every)])


def _lags(extras: Extras | None) -> Floats:
    return np.zeros(0) if extras is None else extras.precedence.lag
