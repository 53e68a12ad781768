"""Runs of Slurm's scheduler with drawn clocks: when passes and ticks are, and how long passes and clearing take.

No slurm.conf gives these times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fedsched.slurm.loop.structs import Setting
from fedsched.slurm.priority.priorities import Moment, Weight

if TYPE_CHECKING:
    from fedsched.slurm.loop.pack import Packed

T = TypeVar("T", bound=tuple[Any, ...])
LONGER = 2  # most seconds that are added to the interval of passes, or added to or taken from the clearing of nodes
PACE = 2.0  # largest factor by which tests per second are multiplied or divided


def draw_clocks(packed: Packed, member: int) -> tuple[Packed, int]:
    """Return the packed problem with randomly drawn clocks, and how many seconds earlier its first main pass is.

    Member 0 is the problem unchanged, and 0; each other member is drawn with its number as the seed.
    """
    if member == 0:
        return packed._replace(priorities=copy_arrays(packed.priorities)), 0
    random = np.random.default_rng(member)
    settings, priorities = packed.problem.settings.copy(), copy_arrays(packed.priorities)
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


def copy_arrays(arrays: T) -> T:
    """Return a deep copy of a NamedTuple of arrays, nested ones included, which a run may change."""
    made = (one.copy() if isinstance(one, np.ndarray) else copy_arrays(one) for one in arrays)
    return type(arrays)(*made)
