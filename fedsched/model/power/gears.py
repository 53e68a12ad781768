"""Gears: lower speeds at which nodes draw less power; each job runs in one gear, the same on all its nodes [77].

Gear 0 is full speed, at a node's busy watts. The part of a job that does not compute lasts equally long in any gear.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import FederationError, InfeasibleError, shortened
from fedsched.core.text import counted
from fedsched.core.values import LEAST_SPEED, MOST_SPEED, MOST_WATTS, is_number
from fedsched.model.jobs.columns import JobNumbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import NodeGroup

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

FULL_SPEED = 0
MOST = 2.0**31 - 1


class Gear(JobNumbers):
    """The gear in which each job runs; its run time and estimate are for this gear; 0 = full speed."""

    __slots__ = ()
    NAMES = ("gear",)
    CELL = int
    KIND = np.int64
    NOTHING = FULL_SPEED
    RANGE = (0.0, MOST)
    RULE = "a whole number of at least 0"

    def __str__(self) -> str:
        return f"{counted(self.jobs, 'job')} in a gear below full speed"


# ---- of nodes


def checked_gears(given: Any, idle_watts: float) -> tuple[tuple[float, float], ...]:
    """Return a group's gears as pairs of a share of full speed and watts; raise if they are invalid."""
    try:
        gears = tuple((float(speed), float(watts)) for speed, watts in given)
    except (TypeError, ValueError):
        raise FederationError(
            f"NodeGroup: gears={shortened(repr(given))} must be pairs of a share of the full speed and watts: "
            "((0.8, 160.0), (0.6, 130.0))."
        ) from None
    for speed, watts in gears:
        if not (is_number(speed) and speed > 0.0):
            raise FederationError(f"NodeGroup: gears: the share {speed!r} of the speed must be finite and above 0.")
        if not LEAST_SPEED <= speed <= MOST_SPEED:
            raise FederationError(
                f"NodeGroup: gears: the share {speed!r} of the speed must lie between {LEAST_SPEED:g} and "
                f"{MOST_SPEED:g}."
            )
        if not (is_number(watts) and watts >= idle_watts):
            raise FederationError(
                f"NodeGroup: gears: {watts!r} W must be finite and at least idle_watts={idle_watts!r}."
            )
        if watts > MOST_WATTS:
            raise FederationError(f"NodeGroup: gears: {watts!r} W must be at most {MOST_WATTS:g} W.")
    return gears


def check_gears(name: str, groups: Sequence[NodeGroup]) -> None:
    """Raise if two groups have different gear speeds, because all nodes of a job run in the same gear."""
    first = [speed for speed, _ in groups[0].gears]
    for group in groups:
        if (own := [speed for speed, _ in group.gears]) != first:
            raise FederationError(
                f"Federation {name!r}: its groups must have the same gears, because a job runs in one gear on all of "
                f"its nodes: one group has the speeds {first}, another {own}."
            )


def speeds_of(groups: Sequence[NodeGroup]) -> Floats:
    """Return the speed of each gear as a share of full speed; gear 0 comes first, with 1."""
    return np.array([1.0, *(speed for speed, _ in groups[0].gears)])


def watts_in_gears(groups: Sequence[NodeGroup]) -> Floats:
    """Return gears × groups: the watts that a node of the group draws while it runs a job in the gear."""
    return np.array([[group.busy_watts, *(watts for _, watts in group.gears)] for group in groups], dtype=np.float64).T


# ---- of jobs


def gears_of(workload: Workload) -> Ints:
    """Return the gear of each job; 0 if the workload states none."""
    return np.zeros(len(workload), dtype=np.int64) if workload.gear is None else workload.gear.values


def check_job_gears(workload: Workload, groups: Sequence[NodeGroup]) -> None:
    """Raise if a job is in a gear that the nodes lack."""
    if workload.gear is None:
        return
    given, last = workload.gear.values, len(groups[0].gears)
    if (strange := np.flatnonzero(given > last)).size:
        row = int(strange[0])
        known = f"gears 0 to {last}" if last else "no gear but full speed"
        raise InfeasibleError(
            f"Job {workload.id[row]}: gear={given[row]}, but the nodes have {known}; give NodeGroup gears=, or the job "
            "another gear."
        )


def stretch_computing(workload: Workload, ratio: Floats) -> dict[str, Floats]:
    """Return the jobs' columns runtime, estimate and compute_fraction if computing lasts `ratio` times as long.

    The part of a job that does not compute lasts as long as before.
    """
    share = workload.compute_fraction
    longer = share * ratio + (1.0 - share)
    same = ratio == 1.0
    return {
        "runtime": np.where(same, workload.runtime, workload.runtime * longer),
        "estimate": np.where(same, workload.estimate, workload.estimate * longer),
        "compute_fraction": np.where(same, share, share * ratio / longer),
    }


def in_gear(workload: Workload, groups: Sequence[NodeGroup], gear: ArrayLike) -> Workload:
    """Return the jobs in another gear (one for all, or one per job), with run times and estimates for this gear.

    Raise if the nodes lack the gear, or if jobs have alternatives or their own watts.
    """
    check_gear_change(workload)
    own = gears_of(workload)
    wanted = np.broadcast_to(np.asarray(gear, dtype=np.int64), own.shape)
    moved = replace(workload, gear=Gear.of(wanted, workload.id))
    check_job_gears(workload, groups)
    check_job_gears(moved, groups)
    speeds = speeds_of(groups)
    columns: dict[str, Any] = stretch_computing(workload, speeds[own] / speeds[wanted])
    return replace(moved, **columns)


def check_gear_change(workload: Workload) -> None:
    """Raise if jobs have alternatives or their own watts, which are not known for other gears."""
    if workload.alternatives is not None:
        raise ValueError(
            "Gears: the jobs have alternatives; leave them out first: dataclasses.replace(workload, alternatives=None)."
        )
    if workload.watts is not None:
        raise ValueError(
            "Gears: the jobs state their own watts, which are not known for other gears; leave them out: "
            "dataclasses.replace(workload, watts=None)."
        )
