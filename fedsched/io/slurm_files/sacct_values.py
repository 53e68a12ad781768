"""Functions that convert texts of sacct to floats: amounts, durations, times and states.

NaN is an unreadable text, infinity means no limit, and minus infinity (`UNKNOWN`) not known, or not known yet.
"""

from __future__ import annotations

import math
import re
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.jobs.log import CANCELLED, DONE, FAILED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Column = NDArray[np.float64]

# Special values of numbers: NaN is an unreadable text, infinity no limit, minus infinity not known (yet).
UNKNOWN = -math.inf
UNLIMITED = math.inf
WORDS = dict.fromkeys(("", "unknown", "none", "n/a", "invalid", "not_set"), UNKNOWN)
WORDS |= dict.fromkeys(("unlimited", "partition_limit", "infinite"), UNLIMITED)
WORDS |= {str(2**bits - 2): UNKNOWN for bits in (32, 64)}  # Slurm's NO_VAL and NO_VAL64

# The status in the Standard Workload Format for each state of Slurm; UNKNOWN: the job has not ended.
STATES = {
    "COMPLETED": DONE, "COMPLETING": DONE,
    "FAILED": FAILED, "TIMEOUT": FAILED, "NODE_FAIL": FAILED, "OUT_OF_MEMORY": FAILED, "BOOT_FAIL": FAILED,
    "DEADLINE": FAILED, "LAUNCH_FAILED": FAILED, "RECONFIG_FAIL": FAILED, "SPECIAL_EXIT": FAILED,
    "CANCELLED": CANCELLED, "PREEMPTED": CANCELLED, "REVOKED": CANCELLED, "REQUEUED": CANCELLED,
    "REQUEUE": CANCELLED, "REQUEUE_HOLD": CANCELLED, "STOPPED": CANCELLED,
    "RUNNING": UNKNOWN, "PENDING": UNKNOWN, "SUSPENDED": UNKNOWN, "RESIZING": UNKNOWN, "CONFIGURING": UNKNOWN,
    "STAGE_OUT": UNKNOWN, "SIGNALING": UNKNOWN, "RESV_DEL_HOLD": UNKNOWN,
}  # fmt: skip
# Without -P `sacct` cuts states to ten characters, the last of which is a plus; other programs cut without a plus.
_WHOLE = {name[:length]: name for name in STATES for length in (9, 10)} | {name: name for name in STATES}
_DURATION = re.compile(r"(?:(\d{1,9})-)?(\d{1,9})(?::(\d\d)(?::(\d\d))?(?:\.\d+)?)?", re.ASCII)
_CLOCK = re.compile(r"[T ](\d\d):(\d\d):(\d\d)", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d*)?", re.ASCII)
_EPOCH = date(1970, 1, 1).toordinal()
_DIGITS = [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18]
_SEPARATORS = [4, 7, 10, 13, 16]


def number_of(text: str) -> float:
    """Return the number in a text; -infinity for "Unknown" and the like, infinity for "UNLIMITED", NaN for others."""
    return WORDS.get(text.lower(), float(text) if _NUMBER.fullmatch(text) else math.nan)


def minutes_of(text: str) -> float:
    """Return the seconds for a text with a number of minutes; words such as "UNLIMITED" as in `number_of`."""
    return 60.0 * number_of(text)


def duration_of(text: str) -> float:
    """Return the seconds of a text [days-]hours:minutes:seconds, or minutes:seconds.

    Return -infinity for a word such as "Unknown", infinity for "UNLIMITED", and NaN for any other text.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        return WORDS.get(text.lower(), math.nan)
    days, a, b, c = (int(part) if part else 0 for part in match.groups())
    if match[1] or match[4]:  # hours lead
        return float(86400 * days + 3600 * a + 60 * b + c)
    return float(60 * a + b) if match[3] else math.nan


def state_of(text: str) -> float:
    """Return the status in the Standard Workload Format for a state of Slurm, such as `CANCELLED by 1000`.

    Return -infinity if the job has not ended, and NaN if it is no state of Slurm.
    """
    return STATES.get(whole_state(text), math.nan)


def whole_state(text: str) -> str:
    """Return the full word of a state, such as `CANCELLED` for `CANCELLED by 1000` or the cut `CANCELLED+`.

    For any other text return its first word in upper case.
    """
    word = text.split(" ")[0].rstrip("+").upper()
    return _WHOLE.get(word, word)


def day_of(text: str) -> float:
    """Return the seconds from 1970 to the begin of a day like 2027-01-12; NaN for a day that does not exist.

    For any other text return its number, which is seconds since 1970 already (`SLURM_TIME_FORMAT=%s`), -infinity for a
    word such as "Unknown", or NaN.
    """
    if not _DAY.fullmatch(text):
        return number_of(text)
    try:
        return 86400.0 * (date.fromisoformat(text).toordinal() - _EPOCH)
    except ValueError:
        return math.nan


def clock_of(text: str) -> float:
    """Return the seconds since midnight for a text like T08:00:00; 0 for an empty text, NaN for any other one."""
    if not text:
        return 0.0
    match = _CLOCK.fullmatch(text)
    hours, minutes, seconds = map(int, match.groups()) if match else (99, 0, 0)
    return 3600.0 * hours + 60 * minutes + seconds if hours < 24 and minutes < 60 and seconds <= 60 else math.nan


def values_of(texts: list[str], value: Callable[[str], float]) -> Column:
    """Return what `value` returns for each text, as an array; each distinct text is converted once."""
    whole = value is number_of and (joined := "".join(texts)).isdigit() and joined.isascii()
    if whole and max(map(len, texts)) < 19 and WORDS.keys().isdisjoint(texts):
        return np.array(list(map(int, texts)), dtype=np.float64)
    known = {text: value(text) for text in dict.fromkeys(texts)}
    if len(known) == 1:
        return np.full(len(texts), known[texts[0]], dtype=np.float64)
    return np.fromiter(map(known.__getitem__, texts), dtype=np.float64, count=len(texts))


def times_of(texts: list[str]) -> Column:
    """Return the seconds since 1970 for each time as written, without time zones.

    A word such as "Unknown" gives -infinity, and an unreadable text NaN.
    """
    if set(map(len, texts)) == {19} and (joined := "".join(texts)).isascii():
        signs = np.frombuffer(joined.encode(), dtype=np.uint8).reshape(-1, 19).astype(np.int64)
        digits = signs[:, _DIGITS] - ord("0")
        shaped = (signs[:, _SEPARATORS] == np.frombuffer(b"--T::", dtype=np.uint8)).all()
        year, month, day, hour, minute, second = np.split(digits, (4, 6, 8, 10, 12), axis=1)
        months = (_whole(year) - 1970) * 12 + _whole(month) - 1
        first, next_first = ((months + k).astype("datetime64[M]").astype("datetime64[D]").astype(int) for k in (0, 1))
        days, hours, minutes, seconds = (_whole(part) for part in (day, hour, minute, second))
        good = shaped and ((digits >= 0) & (digits <= 9)).all() and (_whole(year) > 0).all()
        good = (
            good and ((_whole(month) >= 1) & (_whole(month) <= 12) & (days >= 1) & (days <= next_first - first)).all()
        )
        if good and ((hours < 24) & (minutes < 60) & (seconds <= 60)).all():
            return (86400 * (first + days - 1) + 3600 * hours + 60 * minutes + seconds).astype(np.float64)
    # Some are unknown, or seconds since 1970, or wrong.
    return values_of([text[:10] for text in texts], day_of) + values_of([text[10:] for text in texts], clock_of)


def _whole(digits: NDArray[np.int64]) -> NDArray[np.int64]:
    value: NDArray[np.int64] = digits @ (10 ** np.arange(digits.shape[1])[::-1])
    return value


def known_or_none(values: Column) -> Column:
    """Return the values, but -1, as in the Standard Workload Format, in place of each unknown or infinite one."""
    return np.where(np.isfinite(values), values, -1.0)


def nodes_differ(read: Mapping[str, Column]) -> bool:
    """Return whether some job had more CPUs than nodes; False if the dump lacks the column of either."""
    cpus, nodes = read.get("cpus", read.get("requested_cpus")), read.get("nodes", read.get("requested_nodes"))
    return cpus is not None and nodes is not None and bool((np.isfinite(nodes) & (cpus > nodes)).any())


def own_ids(ids: Column) -> Column:
    """Return the ids that are whole numbers from 0 on, and NaN for the others."""
    return np.where(np.isfinite(ids) & (ids >= 0) & (ids == np.floor(ids)) & (ids < 2.0**53), ids, np.nan)
