"""Runs as lines of a file: each line is written whole or not at all, even if the writer is killed or the disk full."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from errno import EACCES, EAGAIN, EINVAL
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedsched.comparison.record import FORMER, RunRecord
from fedsched.core.errors import FedschedError, OutputError
from fedsched.model.reading import SUBMITS, Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import FileIO
    from os import PathLike

BEGINNING = b'{"instance": '


def read_records(path: str | PathLike[str]) -> list[RunRecord]:
    """Return the runs in a file; a last line that was cut off is skipped, any other damage is an error.

    Old lines without a reading are runs with all jobs waiting and run times known: all were made like that.

    Parameters
    ----------
    path
        The file of runs, which `compare(path=)` has written.

    Examples
    --------
    >>> from fedsched.compare import read_records
    >>> problem = fs.Instance("fifty", fs.read("sample").head(50), 128)
    >>> runs = fs.compare(problem, "easy", [0], fs.Budget(evaluations=10), path="runs.jsonl")
    >>> [record.method for record in read_records("runs.jsonl")]
    ['easy']
    """
    if not Path(path).exists():
        return []
    try:
        _check_regular(Path(path))
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise FedschedError(f"Cannot read {path}: {error.strerror or error}; name a file of runs.") from error
    records = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            records.append(_record_of(line))
        except (ValueError, TypeError, KeyError):
            if number == len(lines) and _is_ours(line):  # no line feed follows: the writer was killed
                break
            raise FedschedError(f"{path}, line {number}: not a run of a comparison; mend or delete it.") from None
    return records


def _record_of(line: bytes) -> RunRecord:
    """Return the run in a line; any other line raises a ValueError, a TypeError or a KeyError."""
    try:
        data: dict[str, Any] = json.loads(line)
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None
    if not isinstance(data, dict):
        raise TypeError("a run must be an object")
    baselines = data.get("baselines")
    submits, reading = _reading_of(data)
    record = RunRecord(
        **{
            **data,
            "objectives": tuple(data["objectives"]),
            "baselines": None if baselines is None else tuple(baselines),
            "front": tuple(tuple(values) for values in data["front"]),
            "bounds": tuple(data["bounds"]),
            "facts": tuple(data.get("facts", ())),
            "history": tuple(tuple(map(float, row)) for row in data.get("history", ())),
            "submits": submits,
            "reading": reading,
        }
    )
    texts = [record.instance, record.fingerprint, record.method, record.stop_reason, record.error, record.code]
    texts += [*record.objectives, *record.facts]
    numbers = [record.seed, record.evaluations, record.seconds, *(value for row in record.front for value in row)]
    if not all(isinstance(text, str) for text in (*texts, *(baselines or ()))) or not record.objectives:
        raise TypeError("a name must be a text")
    if not all(isinstance(number, int | float) for number in numbers):
        raise TypeError("a value must be a number")
    for answer in (record.drawn, record.watts_assumed, record.clairvoyant, record.deterministic):
        if not isinstance(answer, bool):
            raise TypeError("whether seeds draw, watts are assumed, a method is clairvoyant or seedless, is yes or no")
    if any(len(row) != len(record.objectives) for row in record.front):
        raise ValueError("a plan must have one value for each objective")
    return record


def _reading_of(data: dict[str, Any]) -> tuple[str, Reading | None]:
    if "reading" not in data:
        return ("", None) if data.get("drawn") else FORMER
    if data["reading"] is None:
        return "", None
    if data["submits"] not in SUBMITS:
        raise ValueError(f"submits must be {' or '.join(SUBMITS)}")
    return data["submits"], Reading(**data["reading"])


def _is_run(line: bytes) -> bool:
    try:
        _record_of(line)
    except (ValueError, TypeError, KeyError):
        return False
    return True


def _is_ours(line: bytes) -> bool:
    # Whether a broken line is the beginning of a run: other files must not be cut.
    return line.startswith(BEGINNING[: len(line)])


def _check_regular(path: Path) -> None:
    if path.exists() and not (path.is_file() or path.is_dir()):  # reading a device may never end
        raise OSError(EINVAL, "it is no regular file")


@contextmanager
def _alone(path: Path, own: FileIO) -> Iterator[None]:
    """Lock the file so that only one process writes to it; raise if another one does.

    The locked file is `.NAME.lock` beside it, which is removed at the end. The file itself would not do: a process
    loses its locks on a file as soon as it closes the file, even after only reading it, and the lock file is never
    read. The lock (`lockf`) ends with the process, however it dies, is not inherited by forked workers, and works on
    NFS. It does not exclude other threads of the same process. On systems without such locks, no process is excluded.
    If the folder takes no new file, the file itself is locked.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.lock")
    with ExitStack() as opened:
        while True:
            try:
                stream = opened.enter_context(beside.open("ab", buffering=0))
            except OSError:
                _lock(own, path)
                yield
                return
            _lock(stream, path)
            if _is_at(stream, beside):  # else the last holder has just removed it
                break
        try:
            yield
        finally:
            if _is_at(stream, beside):
                beside.unlink()


def _lock(stream: FileIO, path: Path) -> None:
    try:
        from fcntl import LOCK_EX, LOCK_NB, lockf
    except ImportError:
        return
    try:
        lockf(stream, LOCK_EX | LOCK_NB)
    except OSError as error:
        if error.errno in (EACCES, EAGAIN):
            raise OutputError(
                f"Cannot write {path}: another comparison is writing to it; give each its own file."
            ) from None


def _is_at(stream: FileIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False


class RunFile:
    """A file of runs to which one comparison at a time adds lines; `read_records` must have read it without error."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self.added = 0
        try:
            _check_regular(self.path)
            with ExitStack() as opened:
                self._stream = opened.enter_context(self.path.open("ab+", buffering=0))
                opened.enter_context(_alone(self.path, self._stream))
                # A half-written last line is cut away first, or the next line would be appended to it.
                self._stream.seek(0)
                content = self._stream.read()
                whole = content.rfind(b"\n") + 1
                if _is_run(content[whole:]):
                    self._stream.write(b"\n")
                else:
                    self._stream.truncate(whole)
                self._opened = opened.pop_all()
        except OSError as error:
            raise OutputError(
                f"Cannot write {path}: {error.strerror or error}; choose a file in a folder that you may write to."
            ) from error

    def __enter__(self) -> RunFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def add(self, record: RunRecord) -> None:
        """Write a run's line, or nothing of it if the disk cannot take all of it."""
        line = json.dumps(asdict(record)).encode() + b"\n"
        before = os.fstat(self._stream.fileno()).st_size
        try:
            while line:
                line = line[self._stream.write(line) :]
        except OSError as error:
            with suppress(OSError):
                self._stream.truncate(before)
            raise OutputError(
                f"Cannot add {record} to {self.path}: {error.strerror or error}; the runs before it are there "
                f"({self.added} of this call): make room, then call again for the rest."
            ) from error
        self.added += 1


def merge_records(sources: Iterable[str | PathLike[str]], path: str | PathLike[str]) -> int:
    """Add runs of other files to a file, and return how many: those that it did not have, or only as failed.

    Parameters
    ----------
    sources
        Files of runs; last lines that were cut off are skipped.
    path
        The file to add to. Another merge adds only what is new.

    Examples
    --------
    >>> from fedsched.compare import merge_records
    >>> problem = fs.Instance("fifty", fs.read("sample").head(50), 128)
    >>> runs = fs.compare(problem, "easy", [0], fs.Budget(evaluations=10), path="here.jsonl")
    >>> merge_records(["here.jsonl"], "all.jsonl"), merge_records(["here.jsonl"], "all.jsonl")
    (1, 0)
    """
    known = {record.key: bool(record.error) for record in read_records(path)}
    found = [record for source in sources for record in read_records(source)]
    added = 0
    with RunFile(path) as file:
        for record in found:
            if known.get(record.key, True) and (record.key not in known or not record.error):
                file.add(record)
                known[record.key] = bool(record.error)
                added += 1
    return added
