"""The shapes of which a job may take one: so many tasks for so long, by so long a request [49]."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from fedsched.model.job_columns import JobColumns
from fedsched.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.model.reading import Reading
    from fedsched.model.workload import Workload

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SHAPE = re.compile(rf"(\d{{1,18}})x({_NUMBER})(?:/({_NUMBER}))?")


class Shape(NamedTuple):
    """How a job may run: on so many nodes, for so many seconds, of which its user asks for `estimate`."""

    tasks: int
    runtime: float
    estimate: float

    def __str__(self) -> str:
        asked = "" if self.estimate == self.runtime else f"/{_text(self.estimate)}"
        return f"{self.tasks}x{_text(self.runtime)}{asked}"


@dataclass(frozen=True, slots=True, eq=False)
class Alternatives(JobColumns):
    """The shapes that every job may have, the recorded one first: "4x3600/7200|8x2000", tasks x seconds/request.

    Without a request it is the run time. A job without alternatives has no shapes here: it is as its columns say.
    """

    PREFIX = ""
    NAMES = ("alternatives",)
    CELL = str
    NOTHING = ""

    first: NDArray[np.int64]  # where the shapes of each job begin, and where the last one's end
    tasks: NDArray[np.int64]
    runtime: NDArray[np.float64]
    estimate: NDArray[np.float64]

    @classmethod
    def of(cls, given: Any, ids: NDArray[np.int64]) -> Self | None:
        """Return the shapes of these jobs: one entry a job, or entries by ids; an entry is a text or a list of shapes.

        None where no job has any.
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, Mapping) and set(given) == {"alternatives"}:
            given = given["alternatives"]
        elif isinstance(given, Mapping):
            unknown = [job for job in given if job not in set(ids.tolist())]
            if unknown:
                raise ValueError(f"alternatives: there is no job {unknown[0]!r}.")
            given = [given.get(job) for job in ids.tolist()]
        if isinstance(given, str) or np.ndim(np.asarray(given, dtype=object)) == 0:
            raise TypeError(f"alternatives={given!r} must give shapes by job: {{12: [(4, 3600, 7200), (8, 2000)]}}.")
        entries = list(given)
        if len(entries) != ids.size:
            raise ValueError(f"alternatives: {len(entries)} entries for {counted(ids.size, 'job')}; give one for each.")
        shapes = [shapes_of(entry, f"Job {job}") for entry, job in zip(entries, ids.tolist(), strict=True)]
        return cls._of_shapes(shapes) if any(shapes) else None

    @classmethod
    def _of_shapes(cls, shapes: Sequence[Sequence[Shape]]) -> Self:
        flat = [shape for one in shapes for shape in one]
        first = np.concatenate([[0], np.cumsum([len(one) for one in shapes], dtype=np.int64)])
        return cls._of_arrays(
            first,
            np.array([shape.tasks for shape in flat], dtype=np.int64),
            np.array([shape.runtime for shape in flat], dtype=np.float64),
            np.array([shape.estimate for shape in flat], dtype=np.float64),
        )

    @classmethod
    def _of_arrays(cls, *arrays: NDArray[Any]) -> Self:
        for array in arrays:
            array.setflags(write=False)
        return cls(*arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._of_arrays, (self.first, self.tasks, self.runtime, self.estimate)  # read-only again

    @property
    def jobs(self) -> int:
        """Return how many jobs have several shapes to choose from."""
        return int((np.diff(self.first) > 1).sum())

    @property
    def owner(self) -> NDArray[np.int64]:
        """Return the row of the job that may have each shape."""
        return np.repeat(np.arange(self.first.size - 1), np.diff(self.first))

    def are_recorded(self, workload: Workload) -> bool:
        """Return whether these jobs all have the first of their shapes."""
        return not chosen(workload).any()

    def shapes(self, row: int) -> list[Shape]:
        """Return the shapes of one job."""
        own = slice(int(self.first[row]), int(self.first[row + 1]))
        columns = (self.tasks[own].tolist(), self.runtime[own].tolist(), self.estimate[own].tolist())
        return [Shape(*shape) for shape in zip(*columns, strict=True)]

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the texts."""
        texts = np.full(self.first.size - 1, "", dtype=object)
        for row in np.flatnonzero(np.diff(self.first)).tolist():
            texts[row] = self._text(row)
        return {"alternatives": texts}

    def _text(self, row: int) -> str:
        return "|".join(map(str, self.shapes(row)))

    def of_job(self, row: int) -> str | None:
        """Return the shapes of one job as a text."""
        return self._text(row) or None

    @classmethod
    def of_jobs(cls, said: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Return the column of what is said of one job after the other."""
        if not any(said):
            return {}
        column = np.empty(len(said), dtype=object)
        column[:] = [one or "" for one in said]
        return {"alternatives": column}

    def take(self, rows: NDArray[np.int64]) -> Self | None:
        """Return the shapes of the jobs with these row numbers."""
        begin, many = self.first[rows], np.diff(self.first)[rows]
        first = np.concatenate([[0], np.cumsum(many, dtype=np.int64)])
        if not first[-1]:
            return None
        index = np.arange(first[-1]) + np.repeat(begin - first[:-1], many)
        return self._of_arrays(first, self.tasks[index], self.runtime[index], self.estimate[index])

    def __str__(self) -> str:
        most = int(np.diff(self.first).max())
        return f"{counted(self.jobs, 'job')} of several shapes to choose from, at most {most}"


def shapes_of(entry: Any, whose: str) -> list[Shape]:
    """Return the shapes in a text, or of (tasks, runtime) or (tasks, runtime, estimate) each; errors say whose."""
    if entry is None or entry != entry:
        return []
    shapes = _read(entry, whose) if isinstance(entry, str) else [_shape(one, whose) for one in entry]
    for k, shape in enumerate(shapes):
        if shape.tasks < 1 or not (0.0 < shape.runtime < np.inf and 0.0 < shape.estimate < np.inf):
            raise ValueError(
                f"{whose}: alternative {shape}: it must have a task at least, and times that are finite and above 0."
            )
        if shape in shapes[:k]:
            raise ValueError(f"{whose}: alternative {shape} stands there twice.")
    return shapes


def _read(text: str, whose: str) -> list[Shape]:
    shapes = []
    for part in text.split("|") if text.strip() else ():
        match = _SHAPE.fullmatch(part.strip())
        if match is None:
            raise ValueError(
                f"{whose}: alternative {one_line(part)!r} must be like '8x2000', tasks x seconds, or '8x2000/3600' "
                "with the requested time."
            )
        runtime = float(match[2])
        shapes.append(Shape(int(match[1]), runtime, float(match[3]) if match[3] else runtime))
    return shapes


def _shape(given: Any, whose: str) -> Shape:
    try:
        tasks, runtime, *more = given
        (estimate,) = more or (runtime,)
        shape = Shape(int(tasks), float(runtime), float(estimate))
        if shape.tasks != tasks:
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"{whose}: alternative {given!r} must be (tasks, runtime) or (tasks, runtime, estimate), the tasks a whole "
            "number."
        ) from None
    return shape


def _text(seconds: float) -> str:
    return str(int(seconds)) if seconds.is_integer() and seconds < 1e15 else repr(seconds)


# ---- a workload's shapes


def chosen(workload: Workload) -> NDArray[np.int64]:
    """Return which of its alternatives each job has now, by its columns; 0 where it has none."""
    found = np.zeros(len(workload), dtype=np.int64)
    if (among := workload.alternatives) is not None:
        at, owner = np.flatnonzero(_present(workload, among)), among.owner
        found[owner[at]] = at - among.first[owner[at]]
    return found


def _present(workload: Workload, among: Alternatives) -> NDArray[np.bool_]:
    owner = among.owner
    return np.asarray(
        (among.tasks == workload.tasks[owner])
        & (among.runtime == workload.runtime[owner])
        & (among.estimate == workload.estimate[owner])
    )


def check_shapes(workload: Workload) -> None:
    """Refuse jobs whose columns say a shape that is none of their alternatives."""
    among = workload.alternatives
    if among is None:
        return
    if among.first.size != len(workload) + 1:
        raise ValueError(f"alternatives: {among.first.size - 1} entries for {counted(len(workload), 'job')}.")
    held = np.bincount(among.owner[_present(workload, among)], minlength=len(workload)) > 0
    strangers = np.flatnonzero((np.diff(among.first) > 0) & ~held)
    if strangers.size:
        row = int(strangers[0])
        now = Shape(int(workload.tasks[row]), float(workload.runtime[row]), float(workload.estimate[row]))
        raise ValueError(
            f"Job {workload.id[row]}: it is {now} (tasks x seconds/request), which is none of its alternatives "
            f"{among._text(row)}; list its own shape first."
        )


def with_shapes(workload: Workload, which: NDArray[np.int64]) -> Workload:
    """Return the jobs, each in this one of its alternatives."""
    among = workload.alternatives
    if among is None:
        return workload
    rows = np.flatnonzero(np.diff(among.first))
    at = among.first[rows] + which[rows]
    columns = {}
    for name in ("tasks", "runtime", "estimate"):
        columns[name] = getattr(workload, name).copy()
        columns[name][rows] = getattr(among, name)[at]
    return replace(workload, **columns)


def every_shape(workload: Workload) -> tuple[Workload, NDArray[np.int64], NDArray[np.int64]]:
    """Return a job for every shape, its own first, whose job it is, and which of that one's alternatives.

    Conditions and log columns are left behind.
    """
    now = chosen(workload)
    among = workload.alternatives
    listed = np.zeros(len(workload), dtype=np.int64) if among is None else np.diff(among.first)
    owner = np.repeat(np.arange(len(workload)), np.maximum(listed, 1))
    begin = np.cumsum(np.maximum(listed, 1)) - np.maximum(listed, 1)
    place = np.arange(owner.size) - begin[owner]
    which = np.where(place == 0, now[owner], np.where(place <= now[owner], place - 1, place))
    columns = {name: getattr(workload, name)[owner] for name in ("tasks", "runtime", "estimate")}
    if among is not None:
        several = listed[owner] > 0
        at = (among.first[owner] + which)[several]
        for name, column in columns.items():
            column[several] = getattr(among, name)[at]
    for name in ("submit", "compute_fraction", "task_bandwidth", "origin", "user", "allowed"):
        if (values := getattr(workload, name)) is not None:
            columns[name] = values[owner]
    parts: dict[str, Any] = {name: part.take(owner) for name, part in workload.optional.items()}
    parts |= dict.fromkeys(("after", "begin", "alternatives", "log"))
    return replace(workload, id=np.arange(1, owner.size + 1), **columns, **parts), owner, which


def of_least_area(workload: Workload, reading: Reading) -> NDArray[np.int64]:
    """Return for each job the alternative of the least tasks × planned time; of equals fewest tasks, then the first."""
    found = np.zeros(len(workload), dtype=np.int64)
    if (among := workload.alternatives) is not None:
        owner = among.owner
        order = np.lexsort((among.tasks, among.tasks * reading.planned(among), owner))
        rows, first = np.unique(owner[order], return_index=True)
        found[rows] = order[first] - among.first[rows]
    return found


def refuse_late_choice(noun: str, workload: Workload, reading: Reading, cure: str) -> None:
    """Refuse jobs that take their shapes as they join the queue, where those must be known before."""
    if reading.chooses_late(workload):
        raise ValueError(
            f"{noun}: with alternatives='earliest_finish' jobs take their shapes as they join the queue, of which "
            f"nothing is known before; {cure}, or keep the recorded ones: alternatives='fixed'."
        )


def shaped(workload: Workload, reading: Reading, *, running: Sequence[int] = ()) -> Workload:
    """Return the jobs in the shapes that the reading's rule chooses; where plans choose, as they are.

    Where they choose as they join the queue, they come as recorded; those that are running already are as they are.
    """
    if workload.alternatives is None or reading.alternatives in ("free", None):
        return workload
    by_rule, now = reading.alternatives == "smallest_area", chosen(workload)
    which = of_least_area(workload, reading) if by_rule else np.zeros(len(workload), dtype=np.int64)
    if reading.alternatives == "earliest_finish":
        which[list(running)] = now[list(running)]
    return workload if np.array_equal(which, now) else with_shapes(workload, which)
