"""A reader of logs in the Standard Workload Format that returns their rows and header unaltered."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fedsched.core.errors import TraceError
from fedsched.io.examples import workload_path
from fedsched.io.files import SKIP, TruncatedError, decode, open_bytes
from fedsched.model.jobs.log import CleaningReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from numpy.typing import NDArray

OnError = Literal["raise", "skip"]

FIELDS = (
    *("job id", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory"),
    *("requested processors", "requested time", "requested memory", "status", "user", "group", "executable"),
    *("queue", "partition", "preceding job", "think time"),
)
LABELS = (
    *("Version", "Computer", "Installation", "Acknowledge", "Information", "Conversion", "MaxJobs", "MaxRecords"),
    *("Preemption", "UnixStartTime", "TimeZone", "TimeZoneString", "StartTime", "EndTime", "MaxNodes", "MaxProcs"),
    *("MaxRuntime", "MaxMemory", "AllowOveruse", "MaxQueues", "Queues", "Queue", "MaxPartitions", "Partitions"),
    *("Partition", "Note"),
)
_KNOWN_LABELS = {label.lower(): label for label in LABELS}
_LABELLED = re.compile(r"(\s*)([A-Za-z]\w*)\s*:(?!//)\s*(.*)")
_CHUNK = 1 << 20
MAX_LINE = 4 << 20
MOST_FIELDS = 1000  # fields of a line; logs with further fields have a few dozen
# Blanks by numpy's rules, which are more than those of bytes.strip.
_BLANKS = b" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0"


@dataclass(frozen=True, slots=True)
class RawLog:
    """A log's content before cleaning.

    Parameters
    ----------
    table
        `table[f]` is field f + 1 of every job line.
    header
        The header's labels and texts.
    malformed, truncated
        The number of malformed lines that were skipped, and whether the file was cut off.
    further
        The texts of the fields from the nineteenth on, one row for each field.
    columns
        Data without a field in the format.
    found
        What the reader left out or altered.
    logged
        Whether the fields that the model does not use contain data.
    partitions_are_queues
        Whether field 15 has the machine's partitions; then field 16 has its clusters.

    Examples
    --------
    >>> from fedsched.io import read_table
    >>> raw = read_table("sample")
    >>> raw.rows, raw.malformed
    (1000, 0)
    >>> raw.table[3, :3]
    array([10171.,    91.,   378.])
    """

    table: NDArray[np.float64]
    header: tuple[tuple[str, str], ...]
    malformed: int = 0
    truncated: bool = False
    further: NDArray[Any] = field(default_factory=lambda: np.empty((0, 0), dtype=object))
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    found: CleaningReport = CleaningReport(records=0, kept=0)  # noqa: RUF009 it is frozen
    logged: bool = True
    partitions_are_queues: bool = False

    @property
    def rows(self) -> int:
        """Return the number of well-formed job lines."""
        return int(self.table.shape[1])


def read_table(path: str | PathLike[str], *, on_error: OnError = "raise") -> RawLog:
    """Return all job lines of a log, unaltered, and its header.

    Parameters
    ----------
    path
        A plain, gzip, xz or bzip2 file, or the name of a shipped log.
    on_error
        What a malformed line causes: "raise" a `TraceError` that names file, line and field, or "skip" and count it.

    Examples
    --------
    >>> from fedsched.io import read_table
    >>> raw = read_table("sample")
    >>> raw.table.shape
    (18, 1000)
    """
    if on_error not in ("raise", "skip"):
        raise ValueError(f'on_error={on_error!r} must be "raise" or "skip".')
    path = workload_path(path)
    parser = _Parser(str(path), skip=on_error == "skip")
    held = pending = b""
    try:
        with open_bytes(path) as stream:
            for block in _blocks(stream.read1):
                whole, newline, rest = block.rpartition(b"\n")
                if newline:
                    parser.feed(held)
                    held, pending = pending + whole + newline, rest
                elif len(pending) > MAX_LINE:
                    raise TraceError(
                        f"{path}: a line of more than {MAX_LINE >> 20} MiB, more than any log; check the file."
                    )
                else:
                    pending += block
            parser.feed(held + pending, last=True)
    except TruncatedError:
        if on_error == "raise":
            raise
        # The text after the last complete line is an unfinished line, however many fields it seems to have.
        parser.feed(held)
        parser.truncated = True
    if not parser.parts:
        raise TraceError(f"{path}: it has no job; a log needs at least one line of {len(FIELDS)} numbers.")
    further = _further(parser.further, parser.width)
    header = parse_header(parser.comments)
    return RawLog(_joined(parser.parts), header, parser.malformed, parser.truncated, further)


def _blocks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Give a stream's content in blocks of 1 MiB or more, the last one shorter.

    If compressed data end in the middle, give what was read before, then raise the EOFError.
    """
    parts: list[bytes] = []
    size = 0
    try:
        while part := read(_CHUNK):
            parts.append(part)
            size += len(part)
            if size >= _CHUNK:
                yield b"".join(parts)
                parts, size = [], 0
    except EOFError:
        yield b"".join(parts)
        raise
    yield b"".join(parts)


class _Parser:
    """A parser of a log's lines, fed block by block; it collects rows, further fields and comments.

    A block is parsed by numpy; if that fails, line by line in Python, which finds the malformed line.
    """

    def __init__(self, path: str, *, skip: bool) -> None:
        self.path = path
        self.skip = skip
        self.parts: deque[NDArray[np.float64]] = deque()
        self.further: list[list[str]] = []
        self.comments: list[str] = []
        self.malformed = 0
        self.truncated = False
        self.width = 0  # fields of a job line: as many as the first one has
        self._line = 0
        self._known: dict[str, str] = {}  # texts of further fields; equal texts share one object

    def feed(self, block: bytes, *, last: bool = False) -> None:
        if self._line == 0:
            block = block.removeprefix(b"\xef\xbb\xbf")
        if b"\0" in block:
            raise TraceError(f"{self.path}: it holds zero bytes; it is not a text file.")
        lines = block.splitlines()
        first, self._line = self._line + 1, self._line + len(lines)
        if b";" in block:
            lines = [self._without_comment(line) for line in lines]
        if not any(line.strip(_BLANKS) for line in lines):
            return
        self.width = self.width or _width(lines)
        if self.width > MOST_FIELDS:
            raise TraceError(
                f"{self.path}: its first job has {self.width:,} fields, more than {MOST_FIELDS} and any log; check the "
                "file."
            )
        further: list[list[str]] = []
        wide = self.width > len(FIELDS)
        try:
            columns = range(len(FIELDS)) if wide else None
            rows = np.loadtxt(lines, dtype=np.float64, comments=None, ndmin=2, usecols=columns)
            good = rows.shape[1] == len(FIELDS) and bool(np.isfinite(rows).all())
            if good and wide:
                further = [texts[len(FIELDS) :] for line in lines if (texts := decode(line).split())]
                good = {len(FIELDS) + len(texts) for texts in further} == {self.width}
        except ValueError:
            good = False
        if not good:
            rows, further = self._line_by_line(lines, first, last)
        if len(rows):
            self.parts.append(rows)
            if wide:
                self.further += [[self._known.setdefault(text, text) for text in texts] for texts in further]

    def _without_comment(self, line: bytes) -> bytes:
        job, mark, comment = line.partition(b";")
        if mark and not job.strip():
            self.comments.append(decode(comment))
        return job

    def _line_by_line(self, lines: list[bytes], first: int, last: bool) -> tuple[NDArray[np.float64], list[list[str]]]:
        rows, further, width = [], [], self.width or len(FIELDS)
        final = max(k for k, line in enumerate(lines) if line.strip(_BLANKS))
        for k, line in enumerate(lines):
            texts = decode(line).split()
            if not texts:
                continue
            problem = _problem(texts, width)
            if problem is None:
                rows.append([float(text) for text in texts[: len(FIELDS)]])
                further.append(texts[len(FIELDS) :])
                continue
            # The file can only be cut off if a complete job line came before: else its lines never had these fields.
            cut = last and k == final and len(texts) < width and bool(rows or self.parts)
            if not self.skip:
                why = "; the file seems to be cut off: get it again" if cut else ""
                raise TraceError(f"{self.path}, line {first + k}{problem}{why}. {SKIP} counts such lines and goes on.")
            self.malformed += 1
            self.truncated |= cut
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(FIELDS)), further


def _width(lines: list[bytes]) -> int:
    """Return the number of fields of the first complete job line; 0 if there is none."""
    fields = (decode(line).split() for line in lines)
    return next((len(texts) for texts in fields if _problem(texts, max(len(texts), len(FIELDS))) is None), 0)


def _problem(texts: list[str], width: int) -> str | None:
    """Return in words what is wrong with the fields of a job line, which must be `width` many; None if nothing is."""
    for number, text in enumerate(texts[: len(FIELDS)]):
        try:
            finite = "_" not in text and bool(np.isfinite(float(text)))
        except ValueError:
            finite = False
        if not finite:
            return f", field {number + 1} ({FIELDS[number]}): {text[:40]!r} is not a number"
    if len(texts) != width:
        missing = f", field {len(texts) + 1} ({FIELDS[len(texts)]})" if len(texts) < len(FIELDS) else ""
        as_there = "" if width == len(FIELDS) else ", as many as the first job has"
        return f"{missing}: {len(texts)} fields where {width} are needed{as_there}"
    return None


def _further(rows: list[list[str]], width: int) -> NDArray[Any]:
    """Return the texts of the fields after the eighteenth as an array: a row for each field, a column for each job."""
    table = np.empty((max(0, width - len(FIELDS)), len(rows)), dtype=object)
    for k, texts in enumerate(rows):
        table[:, k] = texts
    return table


def _joined(parts: deque[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the parts joined as one table with a row for each field; `parts` is emptied to free memory."""
    table = np.empty((len(FIELDS), sum(len(part) for part in parts)))
    done = 0
    while parts:
        part = parts.popleft()
        table[:, done : done + len(part)] = part.T
        done += len(part)
    return table


def parse_header(comments: list[str]) -> tuple[tuple[str, str], ...]:
    """Return the (label, text) pairs of a log's comment lines; a line without a label continues the one before.

    A known label may be indented and repeated. An unknown one counts only at the start of the line, so that
    "see http://..." or an indented "Warning: ..." stays text.
    """
    pairs: list[tuple[str, list[str]]] = []
    for comment in comments:
        if not comment.strip():
            continue
        match = _LABELLED.fullmatch(comment.rstrip())
        if match:
            indent, word, text = match.groups()
            label = _KNOWN_LABELS.get(word.lower())
            if label or len(indent) <= 1:
                pairs.append((label or word, [text]))
                continue
        if pairs:
            pairs[-1][1].append(comment.strip())
        else:
            pairs.append(("", [comment.strip()]))
    return tuple((label, "\n".join(lines)) for label, lines in pairs)


def header_number(header: tuple[tuple[str, str], ...], label: str) -> int:
    """Return the greatest number with which a text under this label of a header begins; 0 if there is none."""
    return max((_number_at(text) or 0 for name, text in header if name == label), default=0)


def _number_at(text: str) -> int | None:
    """Return the number at a text's start; None if there is none, or one with more than 15 digits."""
    match = re.match(r"\d[\d,]*", text)
    digits = match.group().replace(",", "") if match else ""
    return int(digits) if 0 < len(digits) < 16 else None


NUMBERED = ("MaxProcs", "MaxNodes", "MaxRecords")  # labels with a number in their texts
NO_NUMBER = ("", "-1")  # the format's words for an unknown value


def unread_numbers(header: tuple[tuple[str, str], ...]) -> int:
    """Return how many lines MaxProcs, MaxNodes and MaxRecords of a header lack a number; "" and -1 mean unknown."""
    return sum(
        label in NUMBERED and text.strip() not in NO_NUMBER and _number_at(text) is None for label, text in header
    )
