"""Base classes of a workload's optional fields; each field offers its data as columns by name.

Other code uses this interface and need not know each field. `JobColumns` is the interface. `JobNumbers` has one number
per job and `JobTimes` one time per job. `JobAmounts` has whole numbers by name (how much of each named thing a job
needs). `JobLists` has a list per job, empty for most jobs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fedsched.core.text import counted, one_line
from fedsched.core.values import MOST_SECONDS
from fedsched.model.jobs.validation import check_labels, table_column

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.machine.federation import Federation

LEAST = 0.0  # of a number or a time, by default


class JobColumns(ABC):
    """Base class of a workload's optional fields: columns by name, one row per job.

    Code that selects, merges, compares, fingerprints, reads or writes jobs uses these methods only. `str` of a field
    is its line in a workload's summary.
    """

    __slots__ = ()
    PREFIX: ClassVar[str] = ""  # of a column's name in tables and files
    NAMES: ClassVar[tuple[str, ...] | None] = None  # the names that may follow the prefix; None = any
    CELL: ClassVar[type[int] | type[float] | type[str]]  # the type of a file's cell
    NOTHING: ClassVar[int | float | str]  # the value for a job of which nothing is known

    @classmethod
    @abstractmethod
    def of(cls, given: Any, ids: NDArray[np.int64]) -> Self | None:
        """Return the checked columns for the jobs with these ids; None if all are empty.

        `given` are columns by name, or what users give for this field.
        """

    @abstractmethod
    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name."""

    def of_job(self, row: int) -> Any:
        """Return one job's values by name, ready for JSON, without empty values; None if all are empty."""
        said = {name: values[row : row + 1].tolist()[0] for name, values in self.columns().items()}
        return {name: value for name, value in said.items() if value != self.NOTHING} or None

    @classmethod
    def of_jobs(cls, said: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Return the columns by name from each job's values, in order: the inverse of `of_job`."""
        if (wrong := next((one for one in said if not isinstance(one, Mapping | None)), None)) is not None:
            raise TypeError(f"{wrong!r} must give values by name.")
        names = dict.fromkeys(name for one in said for name in one or ())
        kind = object if cls.CELL is str else None  # a text takes its own length, not the longest one's
        return {name: np.array([(one or {}).get(name, cls.NOTHING) for one in said], dtype=kind) for name in names}

    def take(self, rows: NDArray[np.int64]) -> Self | None:
        """Return the columns of the jobs in these rows, in this order; None if all are empty."""
        return self.of({name: values[rows] for name, values in self.columns().items()}, rows)

    @classmethod
    def joined(cls, parts: Sequence[tuple[JobColumns | None, int]]) -> Self | None:
        """Return the columns of several workloads, one after the other; None if all are empty.

        Each part is a workload's columns (None: empty) and its number of jobs.
        """
        tables = [({} if part is None else part.columns(), jobs) for part, jobs in parts]
        names = dict.fromkeys(name for table, _ in tables for name in table)
        columns = {
            name: np.concatenate([table.get(name, np.full(jobs, cls.NOTHING)) for table, jobs in tables])
            for name in names
        }
        return cls.of(columns, np.arange(sum(jobs for _, jobs in parts))) if columns else None

    @classmethod
    def owns(cls, column: str) -> bool:
        """Return whether a table's column of this name belongs to this class, by prefix and names."""
        return column.startswith(cls.PREFIX) and (cls.NAMES is None or column.removeprefix(cls.PREFIX) in cls.NAMES)

    def data(self) -> dict[str, Any]:
        """Return the columns by name as lists, ready for JSON."""
        return {name: values.tolist() for name, values in self.columns().items()}

    def fingerprint(self) -> bytes:
        """Return bytes that differ if the columns differ."""
        columns = self.columns()
        table = np.stack(list(columns.values()), axis=1)
        told = repr(table.tolist()).encode() if self.CELL is str else table.tobytes()
        return told + repr(tuple(columns)).encode()

    def renumbered(self, new: Mapping[int, int]) -> Self | None:
        """Return the columns for new job ids; `new` maps old ids to new ones.

        Here the columns are unchanged; subclasses that store job ids override this.
        """
        return self

    def moved(self, onto: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Self:
        """Return the columns with all clock times mapped by `onto`, a function of times in seconds.

        Here the columns are unchanged; subclasses that store clock times override this.
        """
        return self

    def unmodelled(self, federation: Federation) -> list[str]:
        """Return which values have no effect on this federation, a few words each; none unless overridden."""
        return []

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        ours, theirs = self.columns(), other.columns()
        return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class JobNumbers(JobColumns):
    """A field with one column of one number per job; `NOTHING` if the job has none."""

    PREFIX = ""
    NAMES: ClassVar[tuple[str]]  # the column's only name
    CELL: ClassVar[type[int] | type[float] | type[str]] = float
    KIND: ClassVar[type[np.int64] | type[np.float64]] = np.float64
    NOTHING: ClassVar[float]
    RANGE: ClassVar[tuple[float, float]] = (LEAST, MOST_SECONDS)
    RULE: ClassVar[str]  # the condition on a number, for errors

    values: NDArray[Any]

    @classmethod
    def of(cls, given: JobNumbers | Mapping[str, ArrayLike] | ArrayLike, ids: NDArray[np.int64]) -> Self | None:
        """Return the checked numbers of these jobs; None if no job has a number; raise if one is out of range."""
        if isinstance(given, JobNumbers):
            return cls(given.values)
        (name,) = cls.NAMES
        values = table_column(name, given[name] if isinstance(given, Mapping) else given, len(ids), cls.KIND, ids)
        least, most = cls.RANGE
        sound = (values == cls.NOTHING) | ((values >= least) & (values <= most) & np.isfinite(values))
        if (wrong := np.flatnonzero(~sound)).size:
            above = f", and at most {most:g}" if least <= values[wrong[0]] < np.inf else ""
            raise ValueError(f"Job {ids[wrong[0]]}: {name}={values[wrong[0]]:g} must be {cls.RULE}{above}.")
        return cls(values) if (values != cls.NOTHING).any() else None

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the one column by its name."""
        return {self.NAMES[0]: self.values}

    def of_job(self, row: int) -> float | None:
        """Return the number of one job; None if it has none."""
        value: float = self.values[row].item()
        return None if value == self.NOTHING else value

    @classmethod
    def of_jobs(cls, said: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Return the one column by its name from each job's number, in order; {} if all are None."""
        known = any(value is not None for value in said)
        return {cls.NAMES[0]: np.array([cls.NOTHING if value is None else value for value in said])} if known else {}

    @property
    def jobs(self) -> int:
        """Return how many jobs have a number."""
        return int((self.values != self.NOTHING).sum())


class JobTimes(JobNumbers):
    """A field with one clock time per job, in seconds and at least 0; `NOTHING` if the job has none."""

    __slots__ = ()

    def moved(self, onto: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Self:
        """Return the times mapped by `onto`, raised to at least 0; jobs without a time still have none."""
        none = self.values == self.NOTHING
        moved = np.where(none, self.NOTHING, np.maximum(onto(self.values), LEAST))
        moved.setflags(write=False)
        return type(self)(moved)


@dataclass(frozen=True, slots=True, eq=False)
class JobAmounts(JobColumns):
    """A field that says how much of each named thing every job needs: one column per name, one row per job."""

    CELL = int
    NOTHING = 0
    FIELD: ClassVar[str]  # the field of a workload
    OF: ClassVar[str]  # the noun for one of them, for errors
    WHAT: ClassVar[str]  # the noun for the numbers, for errors

    names: tuple[str, ...]
    amounts: NDArray[np.int64]

    @classmethod
    def of(cls, given: JobAmounts | Mapping[str, ArrayLike], ids: NDArray[np.int64]) -> Self | None:
        """Return the checked amounts of these jobs; None if all are 0; raise if one is below 0.

        For each name, `given` has one number for all jobs or one per job.
        """
        if isinstance(given, JobAmounts):
            given = given.columns()
        if not isinstance(given, Mapping):
            raise TypeError(f"Workload: {cls.FIELD}={given!r} must give {cls.WHAT} by the {cls.OF}s' names.")
        names = check_labels(f"Workload: {cls.OF}", given)
        columns = [table_column(f"{cls.FIELD}[{name!r}]", given[name], len(ids), np.int64, ids) for name in names]
        for name, column in zip(names, columns, strict=True):
            if (short := np.flatnonzero(column < 0)).size:
                raise ValueError(f"Job {ids[short[0]]}: it needs {column[short[0]]} of {cls.OF} {name!r}; at least 0.")
        if not any(column.any() for column in columns):
            return None
        amounts = np.stack(columns, axis=1)
        amounts.setflags(write=False)
        return cls(names, amounts)

    def columns(self) -> dict[str, NDArray[np.int64]]:
        """Return the amounts as columns by name."""
        return {name: self.amounts[:, p] for p, name in enumerate(self.names)}

    def jobs_with(self) -> dict[str, int]:
        """Return, by name, the number of jobs that need more than 0 of the named thing."""
        return {name: int((column > 0).sum()) for name, column in self.columns().items()}

    def __str__(self) -> str:
        return ", ".join(f"{one_line(name)} by {counted(jobs, 'job')}" for name, jobs in self.jobs_with().items())


@dataclass(frozen=True, slots=True, eq=False)
class JobLists(JobColumns):
    """A field with a list of entries per job; the jobs' lists are stored one after the other.

    Each field of an entry is an array. `first` says where each job's entries begin.
    """

    PREFIX = ""
    NAMES: ClassVar[tuple[str]]  # the column's only name
    CELL = str
    NOTHING = ""
    ENTRY: ClassVar[Any]  # the named tuple of an entry; each of its fields is a column of the same name
    KINDS: ClassVar[tuple[type[np.int64] | type[np.float64], ...]]  # the fields' types
    GIVE: ClassVar[str]  # how users give the lists, for errors

    first: NDArray[np.int64]  # where the entries of each job begin, and where the last job's entries end

    @classmethod
    @abstractmethod
    def listed(cls, given: Any, whose: str) -> Sequence[tuple[Any, ...]]:
        """Return the entries of one job's list, from a text or from what users give; errors name the job."""

    @classmethod
    def of(cls, given: Any, ids: NDArray[np.int64]) -> Self | None:
        """Return the checked lists of these jobs; None if no job has an entry.

        `given` has one item per job, or items by job id. An item is a text or a list as users write it.
        """
        if isinstance(given, cls):
            return given
        (name,) = cls.NAMES
        if isinstance(given, Mapping) and set(given) == {name}:
            given = given[name]
        elif isinstance(given, Mapping):
            unknown = [job for job in given if job not in set(ids.tolist())]
            if unknown:
                raise ValueError(f"{name}: there is no job {unknown[0]!r}.")
            given = [given.get(job) for job in ids.tolist()]
        if isinstance(given, str) or np.ndim(np.asarray(given, dtype=object)) == 0:
            raise TypeError(f"{name}={given!r} must give {cls.GIVE}.")
        lists = list(given)
        if len(lists) != ids.size:
            raise ValueError(f"{name}: {len(lists)} entries for {counted(ids.size, 'job')}; give one for each.")
        found = [cls.listed(one, f"Job {job}") for one, job in zip(lists, ids.tolist(), strict=True)]
        return cls._of_lists(found) if any(found) else None

    @classmethod
    def _of_lists(cls, lists: Sequence[Sequence[tuple[Any, ...]]]) -> Self:
        flat = [entry for one in lists for entry in one]
        first = np.concatenate([[0], np.cumsum([len(one) for one in lists], dtype=np.int64)])
        columns = (np.array([one[k] for one in flat], dtype=kind) for k, kind in enumerate(cls.KINDS))
        return cls._of_arrays(first, *columns)

    @classmethod
    def _of_arrays(cls, *arrays: NDArray[Any]) -> Self:
        for array in arrays:
            array.setflags(write=False)
        return cls(*arrays)

    def _of_entries(self) -> tuple[NDArray[Any], ...]:
        return tuple(getattr(self, name) for name in self.ENTRY._fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._of_arrays, (self.first, *self._of_entries())  # read-only again

    @property
    def owner(self) -> NDArray[np.int64]:
        """Return, for each entry, the row of its job."""
        return np.repeat(np.arange(self.first.size - 1), np.diff(self.first))

    def entries(self, row: int) -> list[Any]:
        """Return the entries of the job in this row, as named tuples."""
        own = slice(int(self.first[row]), int(self.first[row + 1]))
        columns = (values[own].tolist() for values in self._of_entries())
        return [self.ENTRY(*entry) for entry in zip(*columns, strict=True)]

    def text(self, row: int) -> str:
        """Return the entries of one job as the text of a file's cell, separated by "|"; "" if it has none."""
        return "|".join(map(str, self.entries(row)))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the lists as one column of texts, by its name; "" for a job without entries."""
        texts = np.full(self.first.size - 1, "", dtype=object)
        for row in np.flatnonzero(np.diff(self.first)).tolist():
            texts[row] = self.text(row)
        return {self.NAMES[0]: texts}

    def of_job(self, row: int) -> str | None:
        """Return the entries of one job as a text; None if it has none."""
        return self.text(row) or None

    @classmethod
    def of_jobs(cls, said: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Return the column of texts by its name from each job's text, in order; {} if all are empty."""
        if not any(said):
            return {}
        column = np.empty(len(said), dtype=object)
        column[:] = [one or "" for one in said]
        return {cls.NAMES[0]: column}

    def take(self, rows: NDArray[np.int64]) -> Self | None:
        """Return the lists of the jobs in these rows, in this order; None if none of these has an entry."""
        begin, many = self.first[rows], np.diff(self.first)[rows]
        first = np.concatenate([[0], np.cumsum(many, dtype=np.int64)])
        if not first[-1]:
            return None
        index = np.arange(first[-1]) + np.repeat(begin - first[:-1], many)
        return self._of_arrays(first, *(values[index] for values in self._of_entries()))

    def without(self, rows: NDArray[np.int64]) -> Self | None:
        """Return the lists in which the jobs in these rows have no entries; None if no other job has one."""
        many = np.diff(self.first)
        many[rows] = 0
        if not many.any():
            return None
        kept = ~np.isin(np.repeat(np.arange(many.size), np.diff(self.first)), rows)
        first = np.concatenate([[0], np.cumsum(many, dtype=np.int64)])
        return self._of_arrays(first, *(values[kept] for values in self._of_entries()))


def split_entries(text: str) -> list[str]:
    """Return the text of each entry in a file's cell, which separates entries by "|"; [] if the cell is blank."""
    return text.split("|") if text.strip() else []
