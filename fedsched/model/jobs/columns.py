"""The interface of a workload's optional fields: columns by name, so that other code need not know each field."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation


class JobColumns(ABC):
    """Base class of optional columns, one row per job. `str` gives their line in a workload's summary.

    Code that takes, merges, compares, fingerprints, reads or writes jobs uses these methods only.
    """

    __slots__ = ()
    PREFIX: ClassVar[str] = ""  # of a column's name in tables and files
    NAMES: ClassVar[tuple[str, ...] | None] = None  # the names that may follow the prefix; None = any
    CELL: ClassVar[type[int] | type[float] | type[str]]  # the type of a file's cell
    NOTHING: ClassVar[int | float | str]  # the value for a job of which nothing is known

    @classmethod
    @abstractmethod
    def of(cls, given: Any, ids: NDArray[np.int64]) -> Self | None:
        """Return the checked columns of these jobs, from columns by name or what users give; None if all are empty."""

    @abstractmethod
    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name."""

    def of_job(self, row: int) -> Any:
        """Return one job's values as JSON; None if it has none."""
        said = {name: values[row : row + 1].tolist()[0] for name, values in self.columns().items()}
        return {name: value for name, value in said.items() if value != self.NOTHING} or None

    @classmethod
    def of_jobs(cls, said: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Return the columns by name, from the jobs' JSON values in order: the inverse of `of_job`."""
        if (wrong := next((one for one in said if not isinstance(one, Mapping | None)), None)) is not None:
            raise TypeError(f"{wrong!r} must give values by name.")
        names = dict.fromkeys(name for one in said for name in one or ())
        kind = object if cls.CELL is str else None  # a text takes its own length, not the longest one's
        return {name: np.array([(one or {}).get(name, cls.NOTHING) for one in said], dtype=kind) for name in names}

    def take(self, rows: NDArray[np.int64]) -> Self | None:
        """Return the columns of the jobs with these row numbers."""
        return self.of({name: values[rows] for name, values in self.columns().items()}, rows)

    @classmethod
    def joined(cls, parts: Sequence[tuple[JobColumns | None, int]]) -> Self | None:
        """Return the columns of several workloads joined in order; each part comes with its number of jobs."""
        tables = [({} if part is None else part.columns(), jobs) for part, jobs in parts]
        names = dict.fromkeys(name for table, _ in tables for name in table)
        columns = {
            name: np.concatenate([table.get(name, np.full(jobs, cls.NOTHING)) for table, jobs in tables])
            for name in names
        }
        return cls.of(columns, np.arange(sum(jobs for _, jobs in parts))) if columns else None

    @classmethod
    def owns(cls, column: str) -> bool:
        """Return whether this class owns a table's column of this name."""
        return column.startswith(cls.PREFIX) and (cls.NAMES is None or column.removeprefix(cls.PREFIX) in cls.NAMES)

    def data(self) -> dict[str, Any]:
        """Return the columns by name as JSON."""
        return {name: values.tolist() for name, values in self.columns().items()}

    def fingerprint(self) -> bytes:
        """Return bytes that differ if the columns differ."""
        columns = self.columns()
        table = np.stack(list(columns.values()), axis=1)
        told = repr(table.tolist()).encode() if self.CELL is str else table.tobytes()
        return told + repr(tuple(columns)).encode()

    def renumbered(self, new: Mapping[int, int]) -> Self | None:
        """Return the columns for new job ids; `new` maps old ids to new ones."""
        return self

    def moved(self, onto: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Self:
        """Return the columns with all times moved onto another clock."""
        return self

    def unmodelled(self, federation: Federation) -> list[str]:
        """Return which values have no effect on this federation, a few words each."""
        return []

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        ours, theirs = self.columns(), other.columns()
        return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)

    __hash__ = None  # type: ignore[assignment]
