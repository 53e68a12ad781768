"""Runs with other clocks: when passes and ticks began, how long passes and nodes take, none of which a conf says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fedsched.slurm.loop.structs import Setting
from fedsched.slurm.priority.priorities import Moment, Weight

if TYPE_CHECKING:
    from fedsched.slurm.loop.pack import Packed

T = TypeVar("T", bound=tuple[Any, ...])
LONGER = 2  # seconds that a pass may take and a node may clear later or sooner
PACE = 2.0  # times as many tests a second, or as few


def drawn(packed: Packed, member: int) -> tuple[Packed, int]:
    """Return the problem with drawn clocks, and by how many seconds its first main pass of all comes sooner.

    The member 0 is the problem as it is; every other one is drawn by its number.
    """
    if member == 0:
        return packed._replace(priorities=copied(packed.priorities)), 0
    random = np.random.default_rng(member)
    settings, priorities = packed.problem.settings.copy(), copied(packed.priorities)
    interval = max(1, int(settings[Setting.BF_INTERVAL]))
    settings[Setting.PHASE] = random.integers(interval)
    settings[Setting.BF_INTERVAL] += random.integers(LONGER + 1)
    settings[Setting.RATE] = max(1, round(float(settings[Setting.RATE] * PACE ** random.uniform(-1.0, 1.0))))
    priorities.moment[Moment.NEXT] -= np.floor(random.uniform(0.0, priorities.weight[Weight.PERIOD]))
    jobs = packed.problem.jobs
    later = random.integers(-LONGER, LONGER + 1, jobs.completing.size)
    completing = np.where(jobs.completing > 0, np.maximum(1, jobs.completing + later), 0)
    problem = packed.problem._replace(jobs=jobs._replace(completing=completing), settings=settings)
    sooner = int(random.integers(max(1, int(settings[Setting.SCHED_INTERVAL]))))
    return packed._replace(problem=problem, priorities=priorities), sooner


def copied(arrays: T) -> T:
    """Return the same named arrays, of which a run may change each."""
    made = (one.copy() if isinstance(one, np.ndarray) else copied(one) for one in arrays)
    return type(arrays)(*made)
