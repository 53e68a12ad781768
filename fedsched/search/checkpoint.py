"""Checkpoints: a search that saves itself between steps, and goes on from there as if nothing had happened."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fedsched.errors import FedschedError
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
        self._path = None if path is None else Path(path)
        self._key = _key(problem, method, seed) if path is not None else ""
        self._saved = self._read()  # the search that goes on, until it has begun
        self._saved_at = time.monotonic()
        self.packages: list[Any] = [] if self._saved is None else self._saved["packages"]  # what those gave that ended

    def _read(self) -> dict[str, Any] | None:
        if self._path is None or not self._path.exists():
            return None
        mark, digest, content = _parts(self._path.read_bytes())
        if mark != MARK:
            raise FedschedError(f"{self._path}: not a checkpoint of this version; delete it to begin anew.")
        # A pickle can run anything: one that is not as it was written is not opened.
        if digest != hashlib.sha256(content).digest():
            raise FedschedError(f"{self._path}: not a checkpoint as it was written; delete it to begin anew.")
        try:
            saved: dict[str, Any] = unpack(content)
        except Exception as error:  # whatever other versions of what is in it raise
            raise FedschedError(f"{self._path}: not a checkpoint ({error}); delete it to begin anew.") from None
        if saved["key"] != self._key:
            raise FedschedError(
                f"{self._path}: the checkpoint of another search (other jobs, federation, objectives, method or seed); "
                "name another file, or delete it to begin anew."
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
        if not same.all():
            name = objectives.names[int(np.argmin(same))]
            raise FedschedError(
                f"{self._path}: the checkpoint of another search (by {name!r} its plans have other values now); "
                "name another file, or delete it to begin anew."
            )

    def end_package(self, given: object) -> None:
        """Keep what a package's search gave: it is not searched again."""
        self.packages.append(given)
        self._write(None, None)

    def save_sometimes(self, run: Run, method: Method) -> None:
        """Save where the last time is long enough ago."""
        if self._path is not None and time.monotonic() - self._saved_at >= EVERY_SECONDS:
            self.save(run, method)

    def save(self, run: Run, method: Method) -> None:
        """Save now; the file is never half-written."""
        self._write(run.checkpoint(), method)

    def _write(self, run: dict[str, object] | None, method: Method | None) -> None:
        if self._path is None:
            return
        from fedsched.io.atomic import atomic_bytes

        content = pack({"key": self._key, "packages": self.packages, "run": run, "method": method})
        with atomic_bytes(self._path) as stream:
            stream.write(MARK + hashlib.sha256(content).digest() + content)
        self._saved_at = time.monotonic()


def _parts(content: bytes) -> tuple[bytes, bytes, bytes]:
    """Return a checkpoint's mark, the digest of what follows, and what follows."""
    end = len(MARK) + hashlib.sha256().digest_size
    return content[: len(MARK)], content[len(MARK) : end], content[end:]


def _value_of(entry: Entry, problem: SearchProblem) -> Floats:
    """Return what a plan of an archive is worth, evaluated again."""
    if entry.row is not None:
        return problem.values(entry.row[None])[0]
    metrics = problem.simulated(entry.policy).metrics(users=False)
    return problem.objectives.values(np.array([tuple(metrics.as_dict().values())]))[0]


def _key(problem: SearchProblem, method: str, seed: int) -> str:
    # What must be the same for a checkpoint to make sense.
    digest = hashlib.sha256(f"{method} {seed} {problem.objectives.names} {problem.objectives.weights}".encode())
    for value in (*problem.problem, *problem.problem.groups):
        if isinstance(value, np.ndarray | float | int):
            digest.update(np.asarray(value).tobytes())
    digest.update(problem.space.limits.tobytes())
    return digest.hexdigest()
