"""Finds what blocks a job even if nodes are free: holds, begin times, dependencies, limits, reservations and so on."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.errors import TraceError
from fedsched.core.text import counted, first_of
from fedsched.site.outlook.account_limits import OF_PARTITIONS, FullLimits, is_limit
from fedsched.site.outlook.forecast import expected_end
from fedsched.site.outlook.unmodelled import not_modelled, unmodelled_obstacle
from fedsched.site.outlook.usable_nodes import UsableNodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.site.outlook.forecast import Outlook
    from fedsched.site.outlook.present import Present
    from fedsched.site.steer import Queue, SlurmJob

HELD, DEPENDENCY, BEGIN, PARTITION = "held", "dependency", "begin time", "partition"
LIMIT, RESERVATION, NODES_DOWN, TOO_LARGE, OTHER = "limit", "reservation", "nodes down", "too large", "other"
NOT_MODELLED = "not modelled"
NEVER = math.inf
_CONDITION = re.compile(r"(\w+)((?::[\d_*+]+)*)(?:\((\w+)\))?", re.ASCII)


class BlockingReason(NamedTuple):
    """A reason that blocks a job before it competes for free nodes.

    Parameters
    ----------
    kind, what
        The kind, such as "held" or "limit", and the reason in words.
    jobs
        The jobs in its way, by their names in squeue.
    over
        When the reason ends, as a time of the queue; NaN if unknown, infinite if it never ends by itself.
    """

    kind: str
    what: str
    jobs: tuple[str, ...] = ()
    over: float = math.nan


def blocking_reasons_of(present: Present, job: SlurmJob, outlook: Outlook) -> Iterator[BlockingReason]:
    """Give the reasons that block a waiting job; none if it waits only for free nodes or for jobs ahead of it."""
    queue = present.queue
    reason = job.reason.replace(" ", "")
    if job.is_held:
        who = "an administrator" if "ADMIN" in reason else "its user" if "USER" in reason else "somebody"
        yield BlockingReason(HELD, f"{who} holds it, until `scontrol release {job.target}`", over=NEVER)
    found = [*_dependencies(queue, job, outlook)]
    yield from found
    if job.eligible > queue.now and not job.is_held and not found:
        yield BlockingReason(BEGIN, f"it may not begin before {present.clock(job.eligible)}", over=job.eligible)
    yield from _of_partition(queue, job)
    yield from _limits(present, job)
    room = UsableNodes(queue, job)
    yield from _of_nodes(room)
    reserved = [*_reservations(present, job, room)]
    yield from reserved
    asked = not_modelled(job)
    if asked or not reserved:
        words = outlook.unknown.get(job.number) or (unmodelled_obstacle(queue, job, math.inf) if asked else "")
        if words:
            yield BlockingReason(NOT_MODELLED, words)


def unexplained_reason(job: SlurmJob) -> BlockingReason:
    """Return a blocking reason that quotes what Slurm reports; for a job without any known reason to wait."""
    return BlockingReason(OTHER, f"Slurm says {job.reason or 'nothing'}, and nothing else is known of that")


def _dependencies(queue: Queue, job: SlurmJob, outlook: Outlook) -> Iterator[BlockingReason]:
    text = job.dependency
    reason = job.reason
    if not text and not reason.startswith("DEPENDENCY"):
        return
    if reason.startswith("DEPENDENCYNEVER"):
        yield BlockingReason(DEPENDENCY, f"what it depends on ({text or 'no longer known'}) can never come", over=NEVER)
        return
    others: list[str] = []
    ends: list[float] = []
    lost: list[str] = []
    for match in _CONDITION.finditer(text):
        kind, numbers, state = match[1].lower(), match[2], (match[3] or "unfulfilled").lower()
        if state == "fulfilled":
            continue
        if kind == "singleton":
            before = [one for one in queue.jobs if one.user == job.user and one.name == job.name != ""
                      and one.number < job.number]  # fmt: skip
            others += [one.target for one in before]
            ends += [expected_end(one, queue, outlook.of(one)) for one in before]
        for number in filter(None, (part.partition("_")[0].partition("+")[0] for part in numbers.split(":"))):
            named = [one for one in queue.jobs if number in (str(one.number), one.target.partition("_")[0])]
            others += [one.target for one in named]
            if not named:
                lost.append(number)
            for one in named:
                waits_for_start = kind == "after" and one.waits
                found = outlook.of(one)
                ends.append((found.by_limits if found else math.nan) if waits_for_start else
                            expected_end(one, queue, found))  # fmt: skip
    if not others and not lost and not reason.startswith("DEPENDENCY"):
        return  # all its dependencies are met
    told = f"it waits for {counted(len(others), 'job')} ({first_of(others)})" if others else "it depends on others"
    told += f"; {first_of(lost)} no longer in the queue" if lost else ""
    told += f": {text}" if text else ""
    pick = min if "?" in text else max
    known = bool(ends) and not any(math.isnan(end) for end in ends) and (not lost or "?" in text)
    yield BlockingReason(DEPENDENCY, told, tuple(others), pick(ends) if known else math.nan)


def _of_partition(queue: Queue, job: SlurmJob) -> Iterator[BlockingReason]:
    here = next((one for one in queue.partitions if one.name == job.partition), None)
    if here is not None and not here.is_up:
        yield BlockingReason(PARTITION, f"no job starts in its partition {here.name} while that is not UP")
    elif job.reason in OF_PARTITIONS:
        told = f"its partition {job.partition} does not take it as it is (Slurm: {job.reason})"
        yield BlockingReason(PARTITION, told, over=NEVER)


def _limits(present: Present, job: SlurmJob) -> Iterator[BlockingReason]:
    told = False
    try:
        for full in FullLimits(present.queue, present.limits).of(job):
            told = True
            yield BlockingReason(LIMIT, full.words, full.jobs, full.over)
    except TraceError as error:  # no file has its association
        told = True
        if is_limit(job.reason):
            yield BlockingReason(LIMIT, f"its limits are not known: {error}")
    if not told and is_limit(job.reason):
        unknown = "which limit that is, and which jobs use it up, is not known here"
        yield BlockingReason(LIMIT, f"Slurm says {job.reason}; {unknown}")


def _of_nodes(room: UsableNodes) -> Iterator[BlockingReason]:
    job, need = room.job, room.need
    if room.size(room.all) < need:
        has = f"its partition {job.partition} has {room.size(room.all)} that it may use"
        yield BlockingReason(TOO_LARGE, f"it needs {room.said(need)}, and {has}", over=NEVER)
    elif room.size(room.up) < need:
        away = sorted(room.all - room.up)
        up = f"{room.size(room.up)} of {room.size(room.all)} are up"
        yield BlockingReason(NODES_DOWN, f"it needs {room.said(need)}, and {up} (not {first_of(away)})")


def _reservations(present: Present, job: SlurmJob, room: UsableNodes) -> Iterator[BlockingReason]:
    queue = present.queue
    own = [one for one in queue.reservations if one.name == job.reservation]
    if job.reservation and not own:
        yield BlockingReason(RESERVATION, f"its reservation {job.reservation} is not there", over=NEVER)
    for one in own:
        if one.begin > queue.now:
            when = present.clock(one.begin)
            yield BlockingReason(RESERVATION, f"its reservation {one.name} begins at {when}", over=one.begin)
    if room.size(room.up) < room.need or room.size(room.up - room.reserved(queue.now)) >= room.need:
        return
    taking = [one for one in room.reservations(queue.now) if one.nodes & room.up]
    over = math.nan
    for one in sorted(taking, key=lambda one: one.end):
        if room.size(room.up - room.reserved(max(queue.now, one.end))) >= room.need:
            over = one.end
            break
    first = min(taking, key=lambda one: one.begin)
    begins = "" if first.begin <= queue.now else f" from {present.clock(first.begin)} on, before it would have ended"
    names = first_of(one.name for one in taking)
    left = room.size(room.up - room.reserved(queue.now))
    yield BlockingReason(
        RESERVATION, f"{names} {'keep' if len(taking) > 1 else 'keeps'} nodes from others{begins}: {left} are left, "
        f"and it needs {room.said(room.need)}", over=over,
    )  # fmt: skip
