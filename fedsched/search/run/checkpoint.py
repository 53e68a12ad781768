"""Checkpoints: a search saves itself between steps, and a later process resumes it with the same results."""

from __future__ import annotations

import math
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import OutputError
from fedsched.engine.pack.problem import parts_of
from fedsched.io.checkpoint_file import SealedFile, check_checkpoint, key_of
from fedsched.io.trees import Saved, UnfitError, pack, unpack
from fedsched.search.run.archive import least_crowded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from fedsched.engine.arrays.structs import Floats
    from fedsched.io.trees import Plain
    from fedsched.search.methods.methods import Method
    from fedsched.search.problem.objectives import Objectives
    from fedsched.search.problem.problem import SearchProblem
    from fedsched.search.run.archive import Entry
    from fedsched.search.run.run import Run

EVERY_SECONDS = 10.0
MARK = b"fedsched checkpoint 5\n"
AGAIN = 1_000_000  # job placements, about, to spend on evaluating plans again when a search is resumed
LEAST_AGAIN = 4  # least plans to evaluate again, however many jobs they have
ROUNDING = 1e-9  # relative difference of values that another machine may have
PLANS = 2500  # most plans of a search, or of one island: archive, population, walkers, swarm
KEPT = 200  # usual number of plans besides the archive
AHEAD = 2  # a step may take this many times as long as the longest one before
PACKED = 2e7  # least numbers saved a second, to estimate the time of the first save
HISTORY = 64 << 20  # most bytes besides plans: history, values, names


class Checkpoint:
    """The checkpoint file of a search, or of the searches of successive packages of a long log.

    Without a path it writes nothing and only collects the packages' results.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None,
        problem: SearchProblem,
        method: str,
        seed: int,
        *,
        islands: int = 1,
        releases: Sequence[str] = (),
    ) -> None:
        if path is not None:
            check_checkpoint(path, "checkpoint")
        self._file = None if path is None else SealedFile(Path(path), MARK, "a search")
        self._key = "" if path is None else _key(problem, method, seed)
        self._releases = sorted({*releases})  # names and versions of other packages that offer the method or baselines
        self._most = HISTORY + 8 * problem.layout.length * PLANS * (1 + islands)
        self._saved = self._read()  # the search to resume, until it has been resumed
        if self._file is not None:
            self._file.check_writable()
        self._saved_at = time.monotonic()
        self._takes: float | None = None  # seconds that the last save took
        self._saved_steps = 0  # steps of the search when it was saved last
        self._spent = np.zeros(2)  # evaluations and seconds of the search after its last whole step
        self._longest = np.zeros(2)  # most evaluations and seconds of a step
        self._plans = KEPT * islands
        self.packages: list[Saved] = [] if self._saved is None else self._saved.parts("packages")  # finished

    def _read(self) -> Saved | None:
        if self._file is None or (content := self._file.read(self._most)) is None:
            return None
        with self.reading():
            saved = Saved(unpack(content, self._most))
            if saved.text("key") == self._key:
                saved.parts("packages")
                self._check_releases(saved.words("releases") if "releases" in saved.fields else [])
                return saved
        raise self._file.refusal(
            "the checkpoint of another search (other jobs, federation, objectives, method or seed)", others=True
        )

    def _check_releases(self, before: Sequence[str]) -> None:
        """Raise if other packages' methods or policies had another version when the file was written."""
        if self._file is not None and before != self._releases:
            was, now = (", ".join(releases) or "an unknown version" for releases in (before, self._releases))
            raise self._file.refusal(f"the checkpoint of a search by {was}, and {now} is installed", others=True)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A context that turns an UnfitError about the content into an error that names the file."""
        try:
            yield
        except UnfitError as error:
            if self._file is None:
                raise
            raise self._file.refusal(f"not a checkpoint as a search leaves it ({error})") from None

    def resume(self, run: Run, method: Method, problem: SearchProblem) -> None:
        """Restore run and method from the file; if it has no state of this search, leave them unchanged.

        Then evaluate some of the archive's plans again, and raise if their values have changed.
        """
        saved, self._saved, self._spent = self._saved, None, _spent(run)
        if saved is None:
            return
        with self.reading():
            now, its_state = saved.maybe("run"), saved.maybe("method")
            if now is None or its_state is None:
                return
            run.restore(now)
            method.restore(its_state, run)
        self._saved_steps, self._spent = run.steps, _spent(run)
        archive = run.archive
        kept = least_crowded(archive.values, max(LEAST_AGAIN, AGAIN // run.problem.layout.jobs))
        values = [_value_of(archive.entries[k], problem) for k in kept.tolist()]
        if values:
            self.check(run.problem.objectives, archive.values[kept], np.array(values))

    def check(self, objectives: Objectives, before: Floats, now: Floats) -> None:
        """Raise if plans have other values than saved ones; do nothing without a file.

        The file's key has only the names of objectives, so it does not notice a changed function.
        """
        same = np.isclose(now, before, rtol=ROUNDING, atol=0.0).all(axis=0)
        if self._file is not None and not same.all():
            name = objectives.names[int(np.argmin(same))]
            raise self._file.refusal(
                f"the checkpoint of another search (by {name!r} its plans have other values now)", others=True
            )

    @property
    def saves(self) -> bool:
        """Return whether there is a file to save to."""
        return self._file is not None

    def end_package(self, given: dict[str, Plain]) -> None:
        """Add the result of a package's search and save it, so that a resumed call does not repeat that search."""
        self.packages.append(Saved(given))
        self._write(None, None)

    def save_sometimes(self, run: Run, method: Method) -> None:
        """Save if the last save is at least ten seconds ago, or if the budget may end within the next step.

        A step that the end cuts off cannot be saved, so the search then goes on from before it. Nothing is saved
        for which the budget leaves no time.
        """
        if self._file is None:
            return
        spent = _spent(run)
        self._longest, self._spent = np.maximum(self._longest, spent - self._spent), spent
        evaluations, seconds = AHEAD * self._longest
        due = time.monotonic() - self._saved_at >= EVERY_SECONDS
        if due or run.left <= evaluations or run.beyond(run.cut_at - seconds):
            self._save_in_time(run, method)

    def save_end(self, run: Run, method: Method) -> None:
        """Save the search as it ended, so that the same call with a larger budget goes on from there.

        If its last step was cut off, the file keeps what was saved before that step.
        """
        if self._file is None:
            return
        if not run.in_step and run.steps != self._saved_steps:
            self._save_in_time(run, method)
        elif not self._file.path.exists():
            self._write(None, None)  # it ended in its first step: the same call begins anew

    def _save_in_time(self, run: Run, method: Method) -> None:
        takes = self._takes
        if takes is None:
            takes = (len(run.archive) + self._plans) * run.problem.layout.length / PACKED
        if not run.beyond(run.cut_at - takes):
            self.save(run, method)

    def save(self, run: Run, method: Method) -> None:
        """Save run and method now, and note how long it took; the file is never half-written."""
        began = time.monotonic()
        self._write(run.state(), method.state())
        self._takes, self._saved_steps = time.monotonic() - began, run.steps

    def _write(self, run: dict[str, Plain] | None, method: dict[str, Plain] | None) -> None:
        if self._file is None:
            return
        packages: list[Plain] = [package.fields for package in self.packages]
        tree: dict[str, Plain] = {"key": self._key, "packages": packages, "run": run, "method": method}
        content = pack(tree | {"releases": self._releases} if self._releases else tree)
        try:
            self._file.write(content)
        except OutputError as error:  # the search is worth more than its file, and the next save may succeed
            warnings.warn(f"The search goes on, but it is not saved: {error}", RuntimeWarning, stacklevel=2)
        self._saved_at = time.monotonic()


def _spent(run: Run) -> Floats:
    return np.array([run.evaluations, run.seconds])


def _value_of(entry: Entry, problem: SearchProblem) -> Floats:
    """Return the objective values of an archive's plan, or of its policy's schedule, evaluated again."""
    if entry.row is not None:
        return problem.values(entry.row[None])[0]
    schedule = problem.simulated(entry.policy)
    row = np.array(tuple(schedule.metrics(users=False).as_dict().values()))
    return problem.objectives.sought(problem.ranked(row, schedule.finish)[None])[0]


def _key(problem: SearchProblem, method: str, seed: int) -> str:
    aims = problem.objectives
    words = f"{method} {seed} {aims.names} {aims.weights}" + (f" {aims.latest}" if aims.latest < math.inf else "")
    parts = (*parts_of(problem.problem), problem.space.limits, *(problem.shapes or ()), *problem.key_parts)
    return key_of(words, parts)
