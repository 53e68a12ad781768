"""Generator of feedback: jobs are submitted some time after other jobs end, as a log records it or sessions imply."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedsched.core.errors import FieldError, TraceError
from fedsched.core.values import is_number
from fedsched.io.arguments import workload_of
from fedsched.model.constraints.feedback import Feedback

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.io.arguments import AnyJobs
    from fedsched.model.jobs.workload import Workload

NOBODY = -1.0


@dataclass(frozen=True, slots=True)
class Sessions:
    """A rule that splits each user's submits into sessions: a session ends after more than `gap` seconds without one.

    The rule is that of Zakay and Feitelson (MASCOTS 2014), as in reading 45.

    Parameters
    ----------
    gap
        The seconds between two submits of a user above which the second begins a new session.

    Examples
    --------
    >>> fs.generate.Sessions(gap=1200).gap
    1200
    """

    gap: float = 3600.0

    def __post_init__(self) -> None:
        if not (is_number(self.gap) and self.gap > 0):
            raise ValueError(f"Sessions: gap={self.gap!r} must be finite and above 0 seconds.")

    def __str__(self) -> str:
        return f"sessions:{self.gap:g}"


def feedback_named(text: str) -> Literal["swf"] | Sessions:
    """Return "swf", or the `Sessions` that a text "sessions" or "sessions:GAP" (in seconds) names; else raise."""
    word, _, gap = text.partition(":")
    if text == "swf":
        return "swf"
    try:
        if word == "sessions":
            return Sessions(float(gap)) if gap else Sessions()
    except ValueError:
        pass
    raise FieldError("{feedback}={!r} must be swf, sessions or sessions:GAP, in seconds.", text)


def feedback(workload: AnyJobs, how: Literal["swf"] | Sessions) -> Workload:
    """Return the jobs with feedback: a job with a preceding job is submitted one think time after that job's end.

    A job without a preceding job keeps its submit time. Raise `TraceError` if the log lacks what `how` needs.

    Parameters
    ----------
    workload
        Jobs of a log: with fields 17 and 18 of the Standard Workload Format, or with recorded waits.
    how
        "swf": the log's preceding jobs and think times. `Sessions(gap)`: both are inferred from users' sessions. The
        jobs of a session that a user submits before the earlier ones have ended are a batch. Each job of the next batch
        follows the job that ended last in this one.

    Examples
    --------
    >>> from fedsched.generate import Sessions, feedback
    >>> waited = {"wait": [0, 0]}
    >>> log = fs.Workload(submit=[0, 900], tasks=[1, 1], runtime=[600, 600], user=[7, 7], log=waited)
    >>> feedback(log, Sessions(gap=3600)).feedback.think_time
    array([ -1., 300.])
    """
    workload = workload_of("feedback", "workload", workload)
    log = workload.log
    if isinstance(how, Sessions):
        if log is None or (log.wait < 0).all():
            raise TraceError(f"Workload {workload.name!r}: no waits are recorded, but sessions need them.")
        preceding, think = _by_sessions(workload, log.wait, how.gap)
    elif how == "swf":
        if log is None or not (log.preceding > 0).any():
            raise TraceError(f"Workload {workload.name!r}: no job has a preceding one (field 17); try Sessions(gap).")
        preceding = np.where(log.preceding > 0, log.preceding, NOBODY)
        think = np.where(log.preceding > 0, np.maximum(log.think_time, 0.0), NOBODY)
    else:
        raise ValueError(f'feedback: {how!r} must be "swf" or Sessions(gap).')
    found = Feedback.of({"preceding": preceding, "think_time": think}, workload.id)
    return replace(workload, feedback=found, history=(*workload.history, f"feedback: {how}"))


def _by_sessions(
    workload: Workload, wait: NDArray[np.float64], gap: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # A batch is a set of jobs of one user, each submitted before the batch's last end so far. The jobs of the next
    # batch follow the job that ends last.
    preceding, think = (np.full(len(workload), NOBODY) for _ in range(2))
    ends = (workload.submit + np.maximum(wait, 0.0) + workload.runtime).tolist()
    submits, users = workload.submit.tolist(), workload.user.tolist()
    latest: dict[int, float] = {}  # each user's last submit
    batch: dict[int, int] = {}  # each user's job that ends last in the current batch
    before: dict[int, int] = {}  # the same in the batch before, of the same session
    for row in np.lexsort((workload.id, workload.submit)).tolist():
        user, now = users[row], submits[row]
        if user < 0:
            continue  # the user is unknown
        if user not in latest or now - latest[user] > gap:
            before.pop(user, None)
            batch[user] = row
        elif now >= ends[batch[user]]:
            before[user], batch[user] = batch[user], row
        elif ends[row] > ends[batch[user]]:
            batch[user] = row
        latest[user] = now
        if user in before:
            preceding[row], think[row] = workload.id[before[user]], now - ends[before[user]]
    return preceding, think
