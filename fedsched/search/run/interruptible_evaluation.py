"""Evaluation of long plans that a clock can interrupt, with the same kernels and bit-identical results.

The batch evaluation is one call of a kernel, which returns when its plans have ended. With many thousand jobs one plan
may take a second and another a hundredth of a second, so the last plan's time does not predict the next one's.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.codes import Status
from fedsched.engine.loop.event_loop import begin, run
from fedsched.engine.loop.metric_integrals import integrals
from fedsched.engine.numbers import Counter
from fedsched.engine.pack.shape_arrays import write_shapes
from fedsched.engine.plans import plan_in_order
from fedsched.engine.run.evaluate import unpack_row
from fedsched.engine.run.simulation import set_running, spared_in, until_the_last_end
from fedsched.model.schedule.integrals import NOTHING_WASTED, Wasted
from fedsched.model.schedule.metrics import Column, metrics_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.engine.arrays.structs import Floats, Ints, Problem, State
    from fedsched.engine.run.evaluate import Common, Layout

LONG = 2000  # least jobs of a plan that may exceed a budget in seconds by too much
LOOK = 0.01  # seconds, about, between two looks at the clock
FIRST_INSTANTS = 64  # instants of a run's first section; later sections are adapted to LOOK


def metrics_unless(
    problem: Problem, common: Common, layout: Layout, row: Ints, state: State, metrics: Floats, over: Callable[[], bool]
) -> int:
    """Simulate a plan and fill its metric row; return a Status: MORE if `over` was true before the plan ended.

    The row is filled only if the Status is DONE. STUCK means that a job can never start. Between sections of about
    0.01 s `over` is asked.
    """
    order, caps, dispatch, placement = unpack_row(layout, row)
    plan = plan_in_order(order, caps, dispatch=dispatch, placement=placement)
    if common.running.rows.size:
        set_running(state, common.running.rows, common.running)
    if common.shapes is not None:
        write_shapes(common.shapes, layout.choices(row[None])[0])
    begin(problem, plan, state)
    instants, status = FIRST_INSTANTS, int(Status.MORE)
    while status == Status.MORE:
        began = time.perf_counter()
        status = run(problem, plan, state, instants, np.inf)
        if status == Status.MORE and over():
            return status
        elapsed = time.perf_counter() - began
        if elapsed < LOOK / 2:
            instants *= 2
        elif elapsed > LOOK:
            instants = max(1, instants // 2)
    sums = integrals(problem, state)
    if status == Status.STUCK and common.missing.size and not state.counter[Counter.RUNNING]:
        status, sums = int(Status.DONE), until_the_last_end(sums, problem, state)  # jobs may have no end
    if status == Status.DONE:
        found = metrics_of(
            common.measured,
            problem.t0,
            state.start,
            state.finish,
            state.counts,
            eligible=_eligible(state),
            wasted=wasted_in(state),
            integrals=sums,
        )
        metrics[:] = tuple(found.as_dict().values())
        metrics[[Column.ENERGY, Column.IDLE_ENERGY]] -= spared_in(problem, state, found.makespan)
    return status


def _eligible(state: State) -> Floats | None:
    since = np.zeros(0) if state.extras is None else state.extras.waiting.moment
    return since if since.size else None


def wasted_in(state: State) -> Wasted:
    """Return the node-seconds of runs that were lost (killed or run again), from a simulation's state."""
    if state.extras is None:
        return NOTHING_WASTED
    lost = state.extras.lost
    return Wasted(lost.seconds, float(lost.until[0]), float(lost.more[0]))
