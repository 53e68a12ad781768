"""The arrays from which compiled code computes Slurm's priorities: jobs, accounts, and the times of ticks.

At a tick, usage decays and all priorities are computed again (PriorityCalcPeriod).
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference
from fedsched.slurm.conf.job_factors import Scales
from fedsched.slurm.priority.shares import level_fractions, machine_fractions, shares_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fedsched.slurm.conf.job_factors import JobRequest
    from fedsched.slurm.priority.associations import Associations
    from fedsched.slurm.priority.priority_parameters import PriorityParameters

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


class Weight(IntEnum):
    """Settings of priorities that are numbers, as indices into `Priorities.weight`."""

    AGE, MAX_AGE, FAIRSHARE, DECAY, PERIOD, DAMPING = range(6)


class Switch(IntEnum):
    """Settings of priorities that are on or off, as indices into `Priorities.switch`."""

    MULTIFACTOR, FAIR_TREE, CHARGES_ENDS, ONLY_UP = range(4)


class Moment(IntEnum):
    """The times of the last tick (NaN: there was none) and of the next one, as indices into `Priorities.moment`."""

    LAST, NEXT = range(2)


class Count(IntEnum):
    """Counters of waiting jobs, resets of usage so far, and users, as indices into `Priorities.counts`."""

    WAITING, RESETS, USERS = range(3)


class Factor(IntEnum):
    """The summands of a multifactor priority, as indices, in the order in which Slurm adds them."""

    AGE, ASSOC, FAIRSHARE, SIZE, PARTITION, QOS, TRES, SITE, NICE = range(9)


@by_reference
class Tree(NamedTuple):
    """The tree of accounts and users as arrays: shares, usage, and the fair-share factors that follow.

    `parent` to `level` are those of `Shares`.
    """

    parent: Ints
    above: Ints
    first: Ints
    below: Ints
    is_user: Ints
    of_parent: Ints
    raw: Floats
    level: Floats
    part: Floats  # its fraction of shares: of its level's in a fair tree, of the whole machine's in classic fair share
    usage: Floats
    level_fs: Floats
    effective: Floats  # effective usage of classic fair share; NaN: not computed since the last tick
    factor: Floats
    line: Ints  # scratch: the associations that are being ranked
    frame: Ints  # scratch: the stack of the ranking, four numbers for each depth
    seen: Floats  # scratch: the value ranked last at each depth


@by_reference
class Priorities(NamedTuple):
    """The priorities of jobs and all that they depend on; jobs are in the order of their ids.

    `fixed` has the factors of a job that do not change with time, by `Factor`. `accrue` is the time from which a job's
    age counts: NaN until it is submitted, infinite while its age may not grow. `aged` is how many seconds before its
    first eligible second that time lies. `number` is its sequence number for `priority/basic`.
    """

    association: Ints
    billing: Floats
    limit: Floats
    accrue: Floats
    aged: Floats
    fixed: Floats
    value: Floats
    number: Ints
    waiting: Ints
    is_waiting: Ints
    order: Ints  # scratch: the running jobs, sorted
    tree: Tree
    moment: Floats
    counts: Ints
    weight: Floats
    switch: Ints
    resets: Floats


def pack(
    parameters: PriorityParameters,
    associations: Associations | None,
    jobs: Sequence[JobRequest],
    *,
    phase: float = 0.0,
    origin: float = 0.0,
    usage: Floats | None = None,
    last_tick: float = math.nan,
) -> Priorities:
    """Return the arrays from which priorities are computed, for jobs that are not submitted yet.

    Parameters
    ----------
    phase
        Second of the first tick: when slurmctld came up.
    origin
        Seconds since 1970 at second 0, in local time: usage is reset at the begin of a local day or month.
    usage
        Usage of each association so far, in their order.
    last_tick
        When `usage` was computed; NaN: never.
    """
    scales = Scales(parameters, associations)
    facts = [scales.fixed_factors(job) for job in jobs]
    fixed = np.zeros((len(jobs), len(Factor)))
    for factor, name in ((Factor.ASSOC, "assoc"), (Factor.SIZE, "size"), (Factor.PARTITION, "partition"),
                         (Factor.QOS, "qos")):  # fmt: skip
        fixed[:, factor] = [getattr(one, name) for one in facts]
    fixed[:, Factor.TRES] = [sum(one.tres.values()) for one in facts]
    fixed[:, Factor.SITE], fixed[:, Factor.NICE] = [job.site for job in jobs], [-job.nice for job in jobs]
    weight = np.zeros(len(Weight))
    weight[Weight.AGE], weight[Weight.MAX_AGE] = parameters.age, parameters.max_age
    weight[Weight.FAIRSHARE], weight[Weight.DECAY] = parameters.fairshare, parameters.decay
    weight[Weight.PERIOD], weight[Weight.DAMPING] = parameters.calc_period, parameters.damping
    switch = np.zeros(len(Switch), np.int64)
    switch[Switch.MULTIFACTOR], switch[Switch.FAIR_TREE] = parameters.multifactor, parameters.fair_tree
    switch[Switch.CHARGES_ENDS] = parameters.charges_ends
    switch[Switch.ONLY_UP] = "INCR_ONLY" in parameters.flags
    tree = tree_of(associations, fair_tree=parameters.fair_tree)
    if usage is not None:
        tree.usage[:] = usage
    counts = np.zeros(len(Count), np.int64)
    counts[Count.USERS] = tree.is_user.sum()
    n = len(jobs)
    return Priorities(
        association=np.array([one.association for one in facts], np.int64),
        billing=np.array([one.billing * one.usage_factor for one in facts], np.float64),
        limit=np.array([job.limit for job in jobs], np.float64),
        accrue=np.full(n, math.nan),
        aged=np.array([job.aged for job in jobs], np.float64),
        fixed=fixed,
        value=np.zeros(n),
        number=np.arange(n),
        waiting=np.zeros(n, np.int64),
        is_waiting=np.zeros(n, np.int64),
        order=np.zeros(n, np.int64),
        tree=tree,
        moment=np.array([last_tick, phase]),
        counts=counts,
        weight=weight,
        switch=switch,
        resets=resets_from(parameters.reset, origin, phase),
    )


def tree_of(associations: Associations | None, *, fair_tree: bool) -> Tree:
    """Return the tree of accounts as arrays, without usage; without accounts the arrays are empty."""
    members = () if associations is None else associations.members
    shares = shares_of(members)
    n = len(members)
    return Tree(
        parent=shares.parent,
        above=shares.above,
        first=shares.first,
        below=shares.below,
        is_user=shares.is_user.astype(np.int64),
        of_parent=shares.of_parent.astype(np.int64),
        raw=shares.raw,
        level=shares.level,
        part=level_fractions(shares) if fair_tree else machine_fractions(shares),
        usage=np.zeros(n),
        level_fs=np.zeros(n),
        effective=np.full(n, math.nan),
        factor=np.zeros(n),
        line=np.zeros(n, np.int64),
        frame=np.zeros(4 * (n + 1), np.int64),
        seen=np.zeros(n + 1),
    )


YEARS = 20  # the years for which resets are listed
_ZERO = datetime(1970, 1, 1)  # without a time zone: all times are local


def resets_from(period: str, origin: float, phase: float) -> NDArray[np.float64]:
    """Return the times at which usage is reset, in seconds of the log, for `YEARS` years from the first tick on.

    `period` is one of PriorityUsageResetPeriod's words. The last entry is infinite.
    """
    begin = _ZERO + timedelta(seconds=origin + phase)
    times = [(one - _ZERO).total_seconds() - origin for one in _moments(period, begin)]
    return np.array([*times, np.inf])


def _moments(period: str, begin: datetime) -> Iterator[datetime]:
    midnight = begin.replace(hour=0, minute=0, second=0, microsecond=0)
    end = begin.year + YEARS
    match period:
        case "DAILY" | "WEEKLY":
            sunday = (midnight.weekday() + 1) % 7
            step = timedelta(days=1 if period == "DAILY" else 7)
            at = midnight + (step if period == "DAILY" else timedelta(days=7 - sunday))
            while at.year <= end:
                yield at
                at += step
        case "MONTHLY" | "QUARTERLY" | "YEARLY":
            months = {"MONTHLY": 1, "QUARTERLY": 3, "YEARLY": 12}[period]
            at = midnight.replace(day=1)
            while at.year <= end:
                if at > begin and (at.month - 1) % months == 0:
                    yield at
                at = at.replace(year=at.year + at.month // 12, month=at.month % 12 + 1)
