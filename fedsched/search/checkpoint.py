"""Checkpoints: a search that saves itself between steps, and goes on from there as if nothing had happened."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fedsched.io.sealed import SealedFile, check_checkpoint, key_of
from fedsched.search.crowding import least_crowded
from fedsched.search.packing import pack, unpack

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.engine.arrays import Floats
    from fedsched.search.archive import Entry
    from fedsched.search.methods import Method
    from fedsched.search.objectives import Objectives
    from fedsched.search.problem import SearchProblem
    from fedsched.search.run import Run

EVERY_SECONDS = 10.0
MARK = b"fedsched checkpoint 4\n"
AGAIN = 4  # plans that are evaluated again when a search goes on
ROUNDING = 1e-9  # by which another machine's values may differ


class Checkpoint:
    """The file of one search, or of one package after the other; with no path it only remembers the packages."""

    def __init__(self, path: str | PathLike[str] | None, problem: SearchProblem, method: str, seed: int) -> None:
        if path is not None:
            check_checkpoint(path, "checkpoint")
        self._file = None if path is None else SealedFile(Path(path), MARK, "a search")
        self._key = "" if path is None else _key(problem, method, seed)
        self._saved = self._read()  # the search that goes on, until it has begun
        self._saved_at = time.monotonic()
        self.packages: list[Any] = [] if self._saved is None else self._saved["packages"]  # what those gave that ended

    def _read(self) -> dict[str, Any] | None:
        if self._file is None or (content := self._file.read()) is None:
            return None
        try:
            saved: dict[str, Any] = unpack(content)
        except Exception as error:  # whatever other versions of what is in it raise
            raise self._file.refusal(f"not a checkpoint ({error})") from None
        if saved["key"] != self._key:
            raise self._file.refusal(
                "the checkpoint of another search (other jobs, federation, objectives, method or seed)", others=True
            )
        return saved

    def resume(self, run: Run) -> Method | None:
        """Return the method as it was saved, its run restored; None where nothing has been saved of this search."""
        saved, self._saved = self._saved, None
        if saved is None or saved["method"] is None:
            return None
        run.restore(saved["run"])
        kept = least_crowded(run.archive.values, AGAIN)
        now = [_value_of(run.archive.entries[k], run.problem) for k in kept.tolist()]
        if now:
            self.check(run.problem.objectives, run.archive.values[kept], np.array(now))
        return cast("Method", saved["method"])

    def check(self, objectives: Objectives, before: Floats, now: Floats) -> None:
        """Raise where plans have other values now: the key knows the objectives by their names, functions too."""
        same = np.isclose(now, before, rtol=ROUNDING, atol=0.0).all(axis=0)
        if self._file is not None and not same.all():
            name = objectives.names[int(np.argmin(same))]
            raise self._file.refusal(
                f"the checkpoint of another search (by {name!r} its plans have other values now)", others=True
            )

    def end_package(self, given: object) -> None:
        """Keep what a package's search gave: it is not searched again."""
        self.packages.append(given)
        self._write(None, None)

    def save_sometimes(self, run: Run, method: Method) -> None:
        """Save where the last time is long enough ago."""
        if self._file is not None and time.monotonic() - self._saved_at >= EVERY_SECONDS:
            self.save(run, method)

    def save(self, run: Run, method: Method) -> None:
        """Save now; the file is never half-written."""
        self._write(run.checkpoint(), method)

    def _write(self, run: dict[str, object] | None, method: Method | None) -> None:
        if self._file is None:
            return
        self._file.write(pack({"key": self._key, "packages": self.packages, "run": run, "method": method}))
        self._saved_at = time.monotonic()


def _value_of(entry: Entry, problem: SearchProblem) -> Floats:
    """Return what a plan of an archive is worth, evaluated again."""
    if entry.row is not None:
        return problem.values(entry.row[None])[0]
    metrics = problem.simulated(entry.policy).metrics(users=False)
    return problem.objectives.values(np.array([tuple(metrics.as_dict().values())]))[0]


def _key(problem: SearchProblem, method: str, seed: int) -> str:
    words = f"{method} {seed} {problem.objectives.names} {problem.objectives.weights}"
    return key_of(words, (*problem.problem, *problem.problem.groups, problem.space.limits))
