"""Replay a queue with run times drawn from users' past jobs, within limits of QOS and accounts.

Forecasts are made of these replays. Jobs over a limit are skipped, as in Slurm. A running job counts towards a limit
whether that binds it or not, and may exceed a limit that was wider when it started. A waiting job counts only towards
limits that bind it. Each limit is a limit of the model (reading 43) on a label of its own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import TraceError
from fedsched.core.text import counted, first_of
from fedsched.model.jobs.labels import Labels
from fedsched.model.machine.limits import Limit
from fedsched.site.outlook.account_limits import FullLimits, is_limit
from fedsched.site.outlook.usable_nodes import UsableNodes
from fedsched.site.steer.picture import picture_of
from fedsched.site.steer.queue import ENDING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from fedsched.site.outlook.account_limits import Limits
    from fedsched.site.outlook.habits import Habits
    from fedsched.site.steer import Queue, SlurmJob
    from fedsched.site.steer.picture import Picture

SHORTEST = 1.0  # seconds that a job runs at least


class Replays:
    """Simulations (replays) of one queue; each has run times of its own, drawn once, so that orders can be compared."""

    def __init__(self, picture: Picture, habits: Habits, *, draws: int, seed: int) -> None:
        self.picture = picture
        self.numbers = frozenset(job.number for job in picture.jobs[: picture.waiting])
        rng = np.random.default_rng(seed)
        limits = picture.workload.estimate
        now = picture.queue.now
        self._runs = [habits.drawn(picture.jobs, limits, now, rng) for _ in range(draws)]

    def starts(
        self, order: Sequence[int], progress: Callable[[int, int], None] | None = None
    ) -> dict[int, NDArray[np.float64]]:
        """Return, by job number, each job's starts in all replays, as times of the queue.

        `order` has the numbers of all waiting jobs in the order in which they are scheduled.
        """
        rows = self.picture.rows_of(order)
        found: dict[int, list[float]] = {number: [] for number in order}
        for k, run in enumerate(self._runs):
            for number, start in self.picture.by_job(self._replayed(run, rows)).items():
                found[number].append(start)
            if progress is not None:
                progress(k + 1, len(self._runs))
        return {number: np.array(starts) for number, starts in found.items()}

    def _replayed(self, run: NDArray[np.float64], rows: Sequence[int]) -> NDArray[np.float64]:
        picture = self.picture
        state, n = picture.running, picture.waiting
        # A job that completes, or is over its limit, leaves its nodes at once, whatever is drawn.
        ends = np.minimum(np.maximum(state.start + run[n:], state.time + ENDING), state.planned_end)
        left = ends - state.time
        running = state._replace(finish=ends, work_left=left)
        workload = replace(picture.workload, runtime=np.maximum(run, SHORTEST))
        return picture.simulated(workload, running, rows)


IN_TURN = "PRIORITY"
NOT_AVAILABLE = "REQNODENOTAVAIL"


def in_turn(queue: Queue, limits: Limits | None) -> Queue:
    """Return the queue with the reason PRIORITY for jobs that wait for a known limit, or for nodes that are up by now.

    They then count as waiting in turn; the replays apply the known limits.
    """
    queue = nodes_up_again(queue)
    if limits is None:
        return queue
    full = FullLimits(queue, limits)
    jobs = tuple(replace(job, reason=IN_TURN) if _waits_for_one(job, full) else job for job in queue.jobs)
    return replace(queue, jobs=jobs)


def nodes_up_again(queue: Queue) -> Queue:
    """Return the queue with the reason PRIORITY for jobs with the outdated reason ReqNodeNotAvail.

    For these jobs enough nodes are up. Slurm keeps the reason until it looks at the job anew.
    """
    old = {job.number for job in queue.jobs if has_old_reason(queue, job)}
    if not old:
        return queue
    jobs = tuple(replace(job, reason=IN_TURN) if job.number in old else job for job in queue.jobs)
    return replace(queue, jobs=jobs)


def has_old_reason(queue: Queue, job: SlurmJob) -> bool:
    """Return whether a job waits with the reason ReqNodeNotAvail although enough nodes for it are up and not reserved.

    False for jobs that are held or name their nodes.
    """
    if not job.waits or job.is_held or job.named_nodes or not job.reason.startswith(NOT_AVAILABLE):
        return False
    room = UsableNodes(queue, job)
    return room.size(room.up - room.reserved(queue.now)) >= room.need


def _waits_for_one(job: SlurmJob, limits: FullLimits) -> bool:
    if not job.waits or job.is_held or not is_limit(job.reason):
        return False
    try:
        full = [*limits.of(job)]
    except TraceError:  # no file has its association
        return False
    return bool(full) and all(math.isfinite(one.over) for one in full)


def _never_runs(job: SlurmJob, limits: Limits) -> bool:
    return any(part.binds and part.weight > part.amount for part in limits.known_parts_of(job))


def picture_within(queue: Queue, limits: Limits | None, free: Collection[int] = ()) -> Picture:
    """Return a queue as a problem to simulate, in which limits hold except for the jobs with the numbers in `free`.

    Jobs that a limit never lets run are left out.
    """
    if limits is None:
        return picture_of(queue)
    over = [job for job in queue.waiting if job.number not in free and _never_runs(job, limits)]
    gone = {job.number for job in over}
    picture = picture_of(replace(queue, jobs=tuple(job for job in queue.jobs if job.number not in gone)))
    picture = _with_limits(picture, limits, free)
    if not over:
        return picture
    names = first_of(job.target for job in over)
    note = f"left aside: {counted(len(over), 'job')} that a limit never lets run ({names})"
    return replace(picture, notes=(*picture.notes, note))


@dataclass(frozen=True, slots=True)
class _OfLabel(Limit):
    """A limit on jobs with an internal label, which users do not see."""

    def __post_init__(self) -> None:
        """Skip the check of the label's name, so that any name is allowed."""


def _with_limits(picture: Picture, limits: Limits, free: Collection[int]) -> Picture:
    """Return the problem with all limits that a waiting job may reach, as far as the model can express them.

    Notes say how many limits hold, and which of them the model cannot express.
    """
    amount, takes = _usage_of(picture, limits, free)
    labels: list[dict[int, str]] = []  # by each label, a row counts towards one limit
    there, unsaid = [], []
    for of, most in amount.items():
        if sum(takes[of].values()) <= most:
            continue  # all of them fit at once
        said = _as_model_counts(picture, takes[of], most)
        if said is None:
            unsaid.append(of)
            continue
        place = next((k for k, label in enumerate(labels) if not label.keys() & takes[of].keys()), len(labels))
        labels += [{}] * (place == len(labels))
        labels[place] |= dict.fromkeys(takes[of], of)
        there.append(_OfLabel(f"limit {place}", names=(of,), **said))
    notes = []
    if there:
        hold = "holds" if len(there) == 1 else "hold"
        notes.append(f"{counted(len(there), 'limit')} of QOS and accounts {hold} in the replays")
    if unsaid:
        notes.append(f"not modelled: {first_of(unsaid)}, of which jobs take other than by their nodes")
    rows = range(len(picture.jobs))
    texts = {f"limit {k}": [label.get(row, "") for row in rows] for k, label in enumerate(labels)}
    known = picture.workload.labels.columns() if picture.workload.labels is not None else {}
    return replace(
        picture,
        workload=replace(picture.workload, labels=Labels.of({**known, **texts}, picture.workload.id)),
        federation=replace(picture.federation, limits=tuple(there)),
        notes=(*picture.notes, *notes),
    )


def _usage_of(
    picture: Picture, limits: Limits, free: Collection[int]
) -> tuple[dict[str, int], dict[str, dict[int, int]]]:
    """Return the amount of each limit that binds a waiting job and, by limit and row, how much each job takes of it."""
    waiting, running = picture.jobs[: picture.waiting], picture.jobs[picture.waiting :]
    amount: dict[str, int] = {}
    takes: dict[str, dict[int, int]] = defaultdict(dict)
    for row, job in enumerate(waiting):
        for part in () if job.number in free else limits.known_parts_of(job):
            if part.binds:
                amount[part.of] = math.floor(part.amount)
                takes[part.of][row] = math.ceil(part.weight)
    for row, job in enumerate(running, start=picture.waiting):
        for part in limits.known_parts_of(job):
            if part.weight <= amount.get(part.of, 0):  # a job that alone exceeds it is left out
                takes[part.of][row] = math.ceil(part.weight)
    return amount, takes


def _as_model_counts(picture: Picture, takes: Mapping[int, int], most: int) -> dict[str, int] | None:
    """Return a limit in the model's terms, {"jobs": most} or {"nodes": most}; None if the jobs' amounts fit neither."""
    weights, tasks = set(takes.values()), picture.workload.tasks
    if len(weights) == 1:
        return {"jobs": most // weights.pop()}
    each = {weight / int(tasks[row]) for row, weight in takes.items()}
    return {"nodes": math.floor(most / each.pop() + 1e-9)} if len(each) == 1 else None
