"""Base class for a list per job that most jobs leave empty: alternative shapes, intervals of time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fedsched.core.text import counted
from fedsched.model.jobs.columns import JobColumns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class JobLists(JobColumns):
    """A list per job, stored one after the other; one column per field of the entries."""

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
        """Return the entries in a text, or as users give them; errors name the job."""

    @classmethod
    def of(cls, given: Any, ids: NDArray[np.int64]) -> Self | None:
        """Return the lists of these jobs, given per job or by id; each is a text or what users give.

        None if no job has an entry.
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
        """Return the row of each entry's job."""
        return np.repeat(np.arange(self.first.size - 1), np.diff(self.first))

    def entries(self, row: int) -> list[Any]:
        """Return the entries of one job."""
        own = slice(int(self.first[row]), int(self.first[row + 1]))
        columns = (values[own].tolist() for values in self._of_entries())
        return [self.ENTRY(*entry) for entry in zip(*columns, strict=True)]

    def text(self, row: int) -> str:
        """Return the entries of one job as the text of a file's cell."""
        return "|".join(map(str, self.entries(row)))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the lists as one column of texts."""
        texts = np.full(self.first.size - 1, "", dtype=object)
        for row in np.flatnonzero(np.diff(self.first)).tolist():
            texts[row] = self.text(row)
        return {self.NAMES[0]: texts}

    def of_job(self, row: int) -> str | None:
        """Return the entries of one job as a text; None if it has none."""
        return self.text(row) or None

    @classmethod
    def of_jobs(cls, said: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Return the column of texts, from the jobs' texts in order."""
        if not any(said):
            return {}
        column = np.empty(len(said), dtype=object)
        column[:] = [one or "" for one in said]
        return {cls.NAMES[0]: column}

    def take(self, rows: NDArray[np.int64]) -> Self | None:
        """Return the lists of the jobs with these row numbers."""
        begin, many = self.first[rows], np.diff(self.first)[rows]
        first = np.concatenate([[0], np.cumsum(many, dtype=np.int64)])
        if not first[-1]:
            return None
        index = np.arange(first[-1]) + np.repeat(begin - first[:-1], many)
        return self._of_arrays(first, *(values[index] for values in self._of_entries()))


def parts_of(text: str) -> list[str]:
    """Return the texts of the entries in a file's cell."""
    return text.split("|") if text.strip() else []
