"""The priorities of the waiting jobs of a queue, as `sprio -l` prints them: each factor times its weight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import TraceError
from fedsched.core.text import counted, first_of
from fedsched.slurm.conf.job_factors import Scales
from fedsched.slurm.priority.priorities import Factor, pack
from fedsched.slurm.priority.ticks import factors, tick

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fedsched.io.slurm_files.accounts import Usage
    from fedsched.slurm.priority.associations import Associations
    from fedsched.slurm.priority.priorities import Priorities
    from fedsched.slurm.priority.priority_parameters import PriorityParameters
    from fedsched.slurm.result.queue_dump import QueuedJob

PENDING = "PENDING"
NOTHING = (0.0, 0.0)
HIGHEST = 2**32 - 1
FIRST_RESOURCES = ("cpu", "mem", "energy", "node", "billing")  # as Slurm numbers them


@dataclass(frozen=True, slots=True)
class Weighed:
    """A waiting job with its computed priority and the summands of the priority; `told` is the priority in the dump."""

    job: str
    partition: str
    user: str
    priority: int
    site: int
    age: float
    assoc: float
    fairshare: float
    size: float
    of_partition: float
    qos: float
    nice: int
    tres: Mapping[str, float]
    told: int  # the priority in the dump


def weigh(
    parameters: PriorityParameters,
    associations: Associations,
    usage: Mapping[tuple[str, str], Usage],
    queue: Sequence[QueuedJob],
    at: float | None = None,
) -> tuple[list[Weighed], float]:
    """Return the pending jobs that sprio lists, with their priorities, and the time for which these are computed.

    Parameters
    ----------
    usage
        Usage, by account and user.
    at
        When Slurm last computed priorities, in seconds since 1970 in local time. None: the time at which the most
        priorities equal those in the dump of the queue.
    """
    if not parameters.multifactor:
        raise TraceError("PriorityType is priority/basic: jobs have no factors, the order is that of their ids.")
    waiting = [job for job in queue if is_shown(job)]
    used = [usage.get((one.account, one.user), NOTHING) for one in associations.members]
    raw, effective = (np.array(amounts) for amounts in zip(*used, strict=True))
    packed = pack(parameters, associations, [job.asked for job in waiting], usage=raw)
    packed.accrue[:] = [math.inf if math.isnan(job.accrue) else job.accrue for job in waiting]
    nothing, none = np.zeros(len(waiting), np.int64), np.full(len(waiting), math.nan)
    tick(packed, 0.0, nothing, 0, none)  # ranks all associations
    packed.tree.effective[:] = effective
    if at is None:
        at = _found(packed, waiting, _newest(queue), parameters.calc_period)
    return list(_weighed(packed, waiting, Scales(parameters, associations), at)), at


def notes_of(
    parameters: PriorityParameters, associations: Associations, queue: Sequence[QueuedJob], *, used: bool
) -> Iterator[str]:
    """Yield what is not modelled of the priorities and accounts, and what is assumed, a line each.

    `used` says whether the usage so far is known.
    """
    if parameters.left_out:
        yield f"not modelled of the priorities: {', '.join(parameters.left_out)}"
    yield from associations.notes()
    if several := [job.name for job in queue if len(job.partitions) > 1 and is_shown(job)]:
        yield f"{counted(len(several), 'job')} for one of several partitions (the first is taken): {first_of(several)}"
    if not used:
        yield "assumed: no usage so far, as --shares is not given"


def is_shown(job: QueuedJob) -> bool:
    """Return whether sprio lists a job: it is pending, not held (priority above 0), and past its begin time."""
    return job.state == PENDING and job.priority > 0 and job.reason != "BeginTime"


def _newest(queue: Sequence[QueuedJob]) -> float:
    """Return the latest time in a dump of the queue; expected starts and ends do not count."""
    told = [job.submit for job in queue]
    told += [job.start for job in queue if job.state != PENDING and not math.isnan(job.start)]
    told += [job.end for job in queue if job.state not in (PENDING, "RUNNING") and not math.isnan(job.end)]
    return max(told)


def _found(packed: Priorities, waiting: Sequence[QueuedJob], newest: float, period: float) -> float:
    """Return the time at which the most computed priorities equal those in the dump; of several times the latest.

    Times within `period` seconds of `newest` are tried. Return NaN if no job waits.
    """
    if not waiting:
        return math.nan
    moments = [newest + second for second in range(-math.ceil(period), math.ceil(period) + 1)]
    return max(moments, key=lambda now: (_same(packed, waiting, now), now))


def _same(packed: Priorities, waiting: Sequence[QueuedJob], now: float) -> int:
    row = np.zeros(len(Factor))
    return sum(_priority(packed, k, now, row) == job.priority for k, job in enumerate(waiting))


def _priority(packed: Priorities, k: int, now: float, row: np.ndarray) -> int:
    return min(HIGHEST, max(1, math.floor(factors(packed, k, float(now), row))))


def _weighed(packed: Priorities, waiting: Sequence[QueuedJob], scales: Scales, at: float) -> Iterator[Weighed]:
    row = np.zeros(len(Factor))
    for k, job in enumerate(waiting):
        priority = _priority(packed, k, at, row)
        yield Weighed(
            job=job.name,
            partition=job.asked.partition,
            user=job.asked.user,
            priority=priority,
            site=job.asked.site,
            age=row[Factor.AGE],
            assoc=row[Factor.ASSOC],
            fairshare=row[Factor.FAIRSHARE],
            size=row[Factor.SIZE],
            of_partition=row[Factor.PARTITION],
            qos=row[Factor.QOS],
            nice=job.asked.nice,
            tres=dict(sorted(scales.fixed_factors(job.asked).tres.items(), key=_number)),
            told=job.priority,
        )


def _number(item: tuple[str, float]) -> tuple[int, str]:
    name = item[0]
    return (FIRST_RESOURCES.index(name) if name in FIRST_RESOURCES else len(FIRST_RESOURCES), name)
