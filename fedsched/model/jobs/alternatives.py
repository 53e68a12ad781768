"""The alternative shapes of a job, each with tasks, run time, requested time and gear; a job runs in one [49, 77].

The size of a shape is in tasks, even if the workload's `tasks` counts whole nodes for the job [76].
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.core.text import NUMBER, counted, one_line, seconds_text
from fedsched.core.values import LEAST_SECONDS, MOST_SECONDS
from fedsched.model.jobs.columns import JobLists, split_entries
from fedsched.model.jobs.layout import own_tasks
from fedsched.model.power.gears import FULL_SPEED, gears_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload

OWN = -1.0  # compute fraction of a shape: the job's own
_SHAPE = re.compile(rf"(\d{{1,19}})x({NUMBER})(?:/({NUMBER}))?(?:@(\d{{1,19}}))?(?:~({NUMBER}))?")


class Shape(NamedTuple):
    """One way to run a job: number of tasks, run time and requested time in seconds, gear and compute fraction.

    Gear 0 is full speed. A compute fraction of -1 is that of the job itself.
    """

    tasks: int
    runtime: float
    estimate: float
    gear: int = FULL_SPEED
    compute_fraction: float = OWN

    def __str__(self) -> str:
        asked = "" if self.estimate == self.runtime else f"/{seconds_text(self.estimate)}"
        geared = f"@{self.gear}" if self.gear else ""
        share = "" if self.compute_fraction == OWN else f"~{self.compute_fraction!r}"
        return f"{self.tasks}x{seconds_text(self.runtime)}{asked}{geared}{share}"


@dataclass(frozen=True, slots=True, eq=False)
class Alternatives(JobLists):
    """The shapes that each job may run in, the recorded shape first.

    The text of two shapes is "4x3600/7200|8x2000": tasks x run time/requested time, in seconds. A shape without a
    requested time requests its run time. "4x4000/8000@1~0.9" runs in gear 1 with compute fraction 0.9. A job without
    alternatives has no shapes here: its columns in the workload are its only shape.
    """

    NAMES = ("alternatives",)
    ENTRY = Shape
    KINDS = (np.int64, np.float64, np.float64, np.int64, np.float64)
    GIVE = "shapes by job: {12: [(4, 3600, 7200), (8, 2000)]}"

    tasks: NDArray[np.int64]
    runtime: NDArray[np.float64]
    estimate: NDArray[np.float64]
    gear: NDArray[np.int64]
    compute_fraction: NDArray[np.float64]

    @classmethod
    def listed(cls, given: Any, whose: str) -> list[Shape]:
        """Return the shapes in a text or in a list of tuples: see `shapes_of`."""
        return shapes_of(given, whose)

    @property
    def jobs(self) -> int:
        """Return the number of jobs with several shapes to choose from."""
        return int((np.diff(self.first) > 1).sum())

    def are_recorded(self, workload: Workload) -> bool:
        """Return whether every job's columns in the workload are those of the first of its shapes."""
        return not present_shapes(workload).any()

    def shapes(self, row: int) -> list[Shape]:
        """Return the shapes of the job in this row; empty if it has no alternatives."""
        return self.entries(row)

    def __str__(self) -> str:
        most = int(np.diff(self.first).max())
        return f"{counted(self.jobs, 'job')} of several shapes to choose from, at most {most}"


def shapes_of(entry: Any, whose: str) -> list[Shape]:
    """Return the shapes in a text, or in (tasks, runtime[, estimate[, gear[, share]]]) tuples; [] for None or NaN.

    Raise an error that names the job if a shape is invalid or occurs twice.
    """
    if entry is None or entry != entry:
        return []
    shapes = _read(entry, whose) if isinstance(entry, str) else [_shape(one, whose) for one in entry]
    for k, shape in enumerate(shapes):
        if shape.tasks < 1 or not (0.0 < shape.runtime < np.inf and 0.0 < shape.estimate < np.inf):
            raise ValueError(
                f"{whose}: alternative {shape}: it must have at least 1 task, and finite times above 0 seconds."
            )
        if max(shape.tasks, shape.gear) >= 2**63:
            raise ValueError(f"{whose}: alternative {shape}: its tasks and its gear must be below 2**63.")
        if not all(LEAST_SECONDS <= time <= MOST_SECONDS for time in (shape.runtime, shape.estimate)):
            raise ValueError(
                f"{whose}: alternative {shape}: its times must lie between {LEAST_SECONDS:g} and {MOST_SECONDS:g} s."
            )
        if shape.gear < 0 or not (shape.compute_fraction == OWN or 0.0 <= shape.compute_fraction <= 1.0):
            raise ValueError(
                f"{whose}: alternative {shape}: its gear must be a whole number of at least 0, and its compute "
                "fraction from 0 to 1."
            )
        if shape in shapes[:k]:
            raise ValueError(f"{whose}: alternative {shape} occurs twice; list it once.")
    if len({shape.compute_fraction == OWN for shape in shapes}) > 1:
        raise ValueError(f"{whose}: all of its alternatives must state a compute fraction (~0.9), or none.")
    return shapes


def _read(text: str, whose: str) -> list[Shape]:
    shapes = []
    for part in split_entries(text):
        match = _SHAPE.fullmatch(part.strip())
        if match is None:
            raise ValueError(
                f"{whose}: alternative {one_line(part)!r} must be like '8x2000', tasks x seconds, or '8x2000/3600' "
                "with the requested time; it may end in a gear and a compute fraction: '8x2500@1~0.9'."
            )
        runtime, asked, gear, share = float(match[2]), match[3], match[4], match[5]
        shape = Shape(int(match[1]), runtime, float(asked) if asked else runtime)
        shapes.append(shape._replace(gear=int(gear or FULL_SPEED), compute_fraction=float(share) if share else OWN))
    return shapes


def _shape(given: Any, whose: str) -> Shape:
    try:
        tasks, runtime, *more = given
        others: list[Any] = [*more, *(runtime, FULL_SPEED, OWN)[len(more) :]]
        estimate, gear, share = others
        shape = Shape(int(tasks), float(runtime), float(estimate), int(gear), float(share))
        if shape.tasks != tasks or shape.gear != gear:
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"{whose}: alternative {given!r} must be (tasks, runtime) or (tasks, runtime, estimate), followed by a "
            "gear and a compute fraction if needed; tasks and gear are whole numbers."
        ) from None
    return shape


# ---- a workload's shapes


def present_shapes(workload: Workload) -> NDArray[np.int64]:
    """Return which of its alternatives, by index, each job's columns show now; 0 if the job has no alternatives."""
    found = np.zeros(len(workload), dtype=np.int64)
    if (among := workload.alternatives) is not None:
        at, owner = np.flatnonzero(_present(workload, among)), among.owner
        found[owner[at]] = at - among.first[owner[at]]
    return found


def _present(workload: Workload, among: Alternatives) -> NDArray[np.bool_]:
    owner = among.owner
    return np.asarray(
        (among.tasks == own_tasks(workload)[owner])
        & (among.runtime == workload.runtime[owner])
        & (among.estimate == workload.estimate[owner])
        & (among.gear == gears_of(workload)[owner])
        & ((among.compute_fraction == OWN) | (among.compute_fraction == workload.compute_fraction[owner]))
    )


def may_change_gear(workload: Workload) -> bool:
    """Return whether some job's shape has a gear below full speed, or states its own compute fraction."""
    among = workload.alternatives
    return among is not None and bool(among.gear.any() or (among.compute_fraction != OWN).any())


def check_shapes(workload: Workload) -> None:
    """Raise if a job has alternatives and its columns in the workload are none of them."""
    among = workload.alternatives
    if among is None:
        return
    if among.first.size != len(workload) + 1:
        raise ValueError(f"alternatives: {among.first.size - 1} entries for {counted(len(workload), 'job')}.")
    held = np.bincount(among.owner[_present(workload, among)], minlength=len(workload)) > 0
    strangers = np.flatnonzero((np.diff(among.first) > 0) & ~held)
    if strangers.size:
        row = int(strangers[0])
        now = Shape(
            int(own_tasks(workload)[row]), float(workload.runtime[row]), float(workload.estimate[row]),
            int(gears_of(workload)[row]),
            OWN if among.compute_fraction[among.first[row]] == OWN else float(workload.compute_fraction[row]),
        )  # fmt: skip
        raise ValueError(
            f"Job {workload.id[row]}: it is {now} (tasks x seconds/request), which is none of its alternatives "
            f"{among.text(row)}; list its own shape first."
        )
