"""Short hashes of results: exact bytes of numbers, whatever memory they came from."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import fedsched as fs

DIGITS, FEWER = 16, 8
# Compiled sums in a fixed order, and counts: equal on every machine.
EXACT = (
    "makespan", "flow", "mean_wait", "mean_wait_eligible", "max_wait", "mean_response", "mean_slowdown",
    "bounded_slowdown", "weighted_response", "weighted_slowdown", "utilisation", "coallocated", "saturated_seconds",
    "loss_of_capacity", "requeues", "switches", "user_spread",
)  # fmt: skip
# numpy multiplies matrices for these, by a library whose order of sums is the processor's: hashed if sums are exact.
SUMMED = (
    "energy", "busy_energy", "idle_energy", "wasted_node_seconds", "drain_loss", "workflow_makespan", "mean_stretch",
    "max_stretch", "cost", "carbon", "peak_watts", "boot_wait",
)  # fmt: skip
DERIVED = ("p95_wait",)  # of starts and submits, which are hashed


def digest(*parts: Any) -> str:
    """Return the first hex digits of the SHA-256 of numbers and texts; -0.0 is 0.0, and there is one NaN."""
    found = hashlib.sha256()
    for part in parts:
        if part is None or isinstance(part, str):
            found.update(repr(part).encode())
            continue
        array = np.asarray(part)
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), np.nan, array.astype("<f8") + 0.0)
        else:
            array = array.astype("<i8")
        found.update(repr(array.shape).encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:DIGITS]


def of_schedule(schedule: fs.Schedule, *, rough: bool = False, metrics: bool = True) -> str:
    """Return three hashes: of starts and ends, of nodes and all else that was decided, and of the metric row."""
    work, lost = schedule.workload, schedule.lost
    where: list[Any] = [schedule.counts, work.tasks, work.submit, *lost]
    where += [None] if schedule.promises is None else [*schedule.promises]
    where += [schedule.delays, *nodes_of(schedule)]
    values = [digest(schedule.start, schedule.finish), digest(*where)[:FEWER]]
    if metrics:
        row = schedule.metrics().as_dict()
        values.append(digest([row[name] for name in (EXACT if rough else EXACT + SUMMED)])[:FEWER])
    return " ".join(values)


def nodes_of(schedule: fs.Schedule) -> Iterable[Any]:
    """Return on which nodes a schedule's jobs are, where it says that."""
    use = getattr(schedule, "use", None)
    if use is not None:
        yield from (use.job, use.node, use.tasks, use.alone, use.devices)
    elif hasattr(schedule, "nodes_of"):
        for row in range(len(schedule)):
            yield schedule.nodes_of(row)
    if hasattr(schedule, "started_by"):
        yield from schedule.started_by


def of_result(result: fs.Result) -> str:
    """Return two hashes: of the values that a search found, and of its plans and the schedule of the first."""
    front = result.front
    values = [front.values, [] if front.planned is None else front.planned, list(front.missing), result.evaluations]
    for one in result.baselines:
        values += [one.policy, list(one.values), one.missing]
    plans: list[Any] = []
    for plan in front.plans:
        plans += [plan.order, plan.caps, plan.alternatives, plan.delays, plan.dispatch, plan.placement, plan.policy]
    first = result.schedule(0)
    return f"{digest(*values)} {digest(*plans, first.start, first.finish, first.counts, *nodes_of(first))}"
