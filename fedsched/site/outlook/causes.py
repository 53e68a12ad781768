"""Finds why a job does not start now: each cause, the jobs in its way, and when it would start without that cause."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedsched.core.errors import SteerError
from fedsched.core.text import counted
from fedsched.core.values import digits_of
from fedsched.site.outlook.blocking_reasons import (
    LIMIT,
    NODES_DOWN,
    NOT_MODELLED,
    BlockingReason,
    blocking_reasons_of,
    unexplained_reason,
)
from fedsched.site.outlook.forecast import DRAWS, SHARE, forecast, ranged
from fedsched.site.outlook.replays import Replays, has_old_reason, in_turn, nodes_up_again, picture_within
from fedsched.site.outlook.usable_nodes import UsableNodes
from fedsched.site.steer.picture import can_be_modelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.site.outlook.forecast import Forecast, Outlook
    from fedsched.site.outlook.present import Present
    from fedsched.site.steer import Queue, SlurmJob

RESOURCES, AHEAD = "resources", "jobs ahead"
SAME = 1.0  # seconds within which two starts count as the same
IN_TURN = "PRIORITY"
LAST = 1  # the least priority: behind all other jobs


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that keeps a job from starting.

    Parameters
    ----------
    kind
        "held", "dependency", "begin time", "partition", "limit", "reservation", "nodes down", "too large",
        "resources", "jobs ahead", "not modelled" or "other".
    what
        The cause in words.
    jobs
        The jobs in the way of this job, by their names in squeue.
    over
        When the cause ends, by what is known and by the limits of the jobs in its way; NaN if unknown, infinite if it
        never ends by itself.
    without
        When the job would start without this cause; None if another cause has no known end.

    Examples
    --------
    >>> from fedsched.site import outlook
    >>> now = outlook.present("sample")
    >>> cause = outlook.why(now, now.queue.waiting[-1].target, draws=20).causes[0]
    >>> cause.kind, len(cause.jobs)
    ('jobs ahead', 14)
    """

    kind: str
    what: str
    jobs: tuple[str, ...]
    over: float
    without: Forecast | None


@dataclass(frozen=True, slots=True)
class Why:
    """What keeps a job from starting, the deciding cause first; without any cause, it starts in Slurm's next pass.

    Parameters
    ----------
    reason
        The reason that Slurm itself reports.
    forecast
        When the job will start as things are; None if some cause has no known end.

    Examples
    --------
    >>> from fedsched.site import outlook
    >>> now = outlook.present("sample")
    >>> outlook.why(now, now.queue.waiting[-1].target, draws=20).reason
    'PRIORITY'
    """

    present: Present
    job: SlurmJob
    reason: str
    causes: tuple[Cause, ...]
    forecast: Forecast | None
    notes: tuple[str, ...]


def why(present: Present, job: str | int, *, draws: int = DRAWS, share: float = SHARE, seed: int = 0) -> Why:
    """Return what keeps a job from starting now, and when it would start without each of these causes.

    Raise `SteerError` if the queue has no such job, or if the job does not wait.

    Parameters
    ----------
    present
        A cluster as it is now.
    job
        The job's number, or the name of an array's task: 17, "17_3". The number of an array means its task that comes
        first in the queue.
    draws, share, seed
        As in `forecast`.

    Examples
    --------
    >>> from fedsched.site import outlook
    >>> now = outlook.present("sample")
    >>> found = outlook.why(now, now.queue.waiting[-1].target, draws=20)
    >>> [cause.kind for cause in found.causes]
    ['jobs ahead', 'resources']
    """
    one = job_called(present.queue, str(job))
    if not one.waits:
        since = f"since {present.clock(one.start)}" if one.start == one.start else "now"
        raise SteerError(
            f"Job {one.target}: it has nodes {since} and does not wait; name a job that squeue shows as PD."
        )
    up = replace(present, queue=nodes_up_again(present.queue))
    found = _CauseFinder(up, up.queue.job(one.target), draws, share, seed).answer()
    if not has_old_reason(present.queue, one):
        return found
    told = "its reason ReqNodeNotAvail is old: enough nodes for it are up, so it waits in turn"
    return replace(found, reason=one.reason, notes=(*found.notes, told))


def job_called(queue: Queue, name: str) -> SlurmJob:
    """Return a job of a queue by its number or its name in squeue; raise `SteerError` if there is none.

    The number of an array means its task that comes first in the queue. A task that waits together with others of its
    array, as in 7_[0-4], is found by its own name 7_3.
    """
    exact = [one for one in queue.jobs if name in (one.target, str(one.number))]
    tasks = [one for one in queue.jobs if one.target.startswith(f"{name}_")]
    inside = [one for one in queue.jobs if _is_in(name, one.target)]
    found = exact or sorted(tasks, key=lambda one: (not one.waits, *queue.turn(one))) or inside
    return found[0] if found else queue.job(name)


def _is_in(name: str, target: str) -> bool:
    """Return whether a task like 7_3 is among those of an array like 7_[0-4,9]."""
    base, _, task = name.partition("_")
    array, _, tasks = target.partition("_[")
    if base != array or (number := digits_of(task)) is None or not tasks:
        return False
    for part in tasks.rstrip("]").split(","):
        first, _, last = part.partition("-")
        last = last.partition(":")[0] or first
        low, high = digits_of(first), digits_of(last)
        if low is not None and high is not None and low <= number <= high:
            return True
    return False


class _CauseFinder:
    """Finds what keeps one waiting job of a queue from starting."""

    def __init__(self, present: Present, job: SlurmJob, draws: int, share: float, seed: int) -> None:
        self.present, self.job = present, job
        self.draws, self.share, self.seed = draws, share, seed
        self.free: frozenset[int] = frozenset()
        self.outlook = self._outlook(present)

    def _outlook(self, present: Present) -> Outlook:
        return forecast(present, draws=self.draws, share=self.share, seed=self.seed)

    def answer(self) -> Why:
        """Return all causes that keep the job from starting, and its forecast as things are."""
        reasons = [*blocking_reasons_of(self.present, self.job, self.outlook)]
        own = self.outlook.of(self.job)
        in_turn = self.job.waits_its_turn(self.present.queue.now)
        if not reasons and not in_turn:
            reasons = [unexplained_reason(self.job)]
        if any(reason.kind == LIMIT for reason in reasons):  # they say when limits end: replays skip them
            self.free = frozenset({self.job.number})
        causes = [Cause(*reason, self._without(reasons, k)) for k, reason in enumerate(reasons)]
        if reasons:
            found = self._opened(reasons, self.present.queue)
            if in_turn and {reason.kind for reason in reasons} == {NOT_MODELLED}:  # its other causes are known
                causes += self._in_turn(causes[0].without)
        else:
            causes, found = self._in_turn(own), own
        notes = list(self.outlook.notes)
        if self.job.is_held:
            notes.append("assumed: once it is released it has its turn behind all others")
        return Why(self.present, self.job, self.job.reason, tuple(causes), found, tuple(notes))

    # ---- what blocks it whatever nodes are free
    def _without(self, reasons: Sequence[BlockingReason], k: int) -> Forecast | None:
        """Return the job's forecast without blocking reason number `k`; None if another reason has no known end."""
        queue = self.present.queue
        if reasons[k].kind == NODES_DOWN:
            up = {name for name in UsableNodes(queue, self.job).all}
            nodes = tuple(replace(node, states=frozenset({"IDLE"})) if node.name in up and not node.is_up else node
                          for node in queue.nodes)  # fmt: skip
            queue = replace(queue, nodes=nodes)
        job = self.job
        if reasons[k].kind == NOT_MODELLED:
            features = job.features if can_be_modelled(job.features) else ""
            job = replace(job, other_resources=(), named_nodes=False, features=features)
            queue = replace(queue, reservations=())
        return self._opened([*reasons[:k], *reasons[k + 1 :]], queue, job)

    def _opened(self, reasons: Sequence[BlockingReason], queue: Queue, job: SlurmJob | None = None) -> Forecast | None:
        """Return the forecast of the job (or of `job` in its place) if it waits in turn once these reasons have ended.

        None if the end of a reason is unknown or never comes.
        """
        if not all(math.isfinite(reason.over) for reason in reasons):
            return None
        begin = max((reason.over for reason in reasons), default=queue.now)
        there = replace(
            job or self.job,
            reason=IN_TURN,
            dependency="",
            eligible=begin if begin > queue.now else self.job.submit,
            priority=self.job.priority or LAST,
        )
        jobs = tuple(there if one.number == there.number else one for one in queue.jobs)
        return self._outlook(replace(self.present, queue=replace(queue, jobs=jobs), free=self.free)).of(there)

    # ---- what keeps it once nothing blocks it
    def _in_turn(self, own: Forecast | None) -> list[Cause]:
        queue, job = self.present.queue, self.job
        room = UsableNodes(queue, job)
        free = room.free()
        before = self._ahead(room)
        causes = []
        if free < room.need:
            usable = room.size(room.up - room.reserved(queue.now))
            who, over = room.until_enough()
            what = f"it needs {room.said(room.need)}, and {free} of {usable} that it may have are free"
            causes.append(Cause(RESOURCES, what, who, over, None))
        if before and own is not None:
            first, front = self._first_delay(before)
            delays = own.by_limits - front.by_limits > SAME
            named = f"{counted(len(before), 'job')} that may have the same nodes {_have(len(before))} before it"
            if first is not None and delays:
                named += f"; it starts later from the turn of job {first.target} on"
            elif not delays:
                named += ", and does not delay it" if len(before) == 1 else ", and none of them delays it"
            ahead = Cause(AHEAD, named, tuple(one.target for one in before), math.nan, front)
            if delays or not causes:
                causes.insert(0, ahead)
            else:
                causes.append(ahead)
        return causes

    def _ahead(self, room: UsableNodes) -> list[SlurmJob]:
        """Return the jobs that wait in turn ahead of the job in the queue, and may use some of its nodes."""
        queue = self.present.queue
        of_partition = {one.name: one.nodes for one in queue.partitions}
        found = []
        for one in queue.waiting:
            if one.number == self.job.number:
                break
            if one.waits_its_turn(queue.now) and of_partition.get(one.partition, frozenset[str]()) & room.all:
                found.append(one)
        return found

    def _first_delay(self, before: Sequence[SlurmJob]) -> tuple[SlurmJob | None, Forecast]:
        """Return the first of the jobs ahead that delays the job, or None, and the job's forecast ahead of all of them.

        The further ahead the job is placed, the sooner it starts, so the first that delays it is found by bisection.
        """
        queue = in_turn(self.present.queue, self.present.limits)
        picture = picture_within(queue, self.present.limits, self.present.free)
        replays = Replays(picture, self.present.habits, draws=self.draws, seed=self.seed)
        order = [one.number for one in queue.waiting if one.number in replays.numbers]
        order.remove(self.job.number)
        there = [one for one in before if one.number in replays.numbers]
        places = [order.index(one.number) for one in there]

        def at(place: int) -> list[int]:
            return [*order[:place], self.job.number, *order[place:]]

        def start(place: int) -> float:
            return picture.starts(picture.rows_of(at(place)))[self.job.number]

        front = start(places[0]) if places else start(0)
        later = bisect_left(places, True, key=lambda place: start(place + 1) > front + SAME)
        first = there[later] if later < len(there) else None
        starts = replays.starts(at(places[0] if places else 0))
        by_limits = {number: front for number in starts}
        calibration = self.present.calibration(self.draws, self.seed)
        found = ranged(queue, starts, by_limits, self.share, calibration)
        return first, next(one for one in found if one.job.number == self.job.number)


def _have(count: int) -> str:
    return "has its turn" if count == 1 else "have their turn"
