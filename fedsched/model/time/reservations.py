"""Reservations: intervals in which nodes are kept for jobs that name the reservation [46].

A reservation may be open to some users and accounts only.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import FederationError
from fedsched.core.text import counted, first_of, one_line
from fedsched.model.constraints.feedback import followers_of
from fedsched.model.jobs.labels import distinct
from fedsched.model.jobs.log import Demand
from fedsched.model.machine.limits import users_of
from fedsched.model.time.downtimes import RESERVATION, closures_of, reserved_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.node_use import NodeUse
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.downtimes import Downtime

NO_RESERVATION = -1
# These fields are equal in all downtimes of one reservation.
COMMON_FIELDS = ("begin", "end", "known_from", "users", "accounts", "on_running")


class Reservation(NamedTuple):
    """A reservation: all downtimes of kind "reservation" with one name together.

    Nodes of `groups` (a mask) are kept for its jobs from `begin` to `end`, in seconds. No users or accounts = all.
    """

    name: str
    begin: float
    end: float
    users: tuple[str, ...]
    accounts: tuple[str, ...]
    groups: NDArray[np.bool_]


def reservations_of(federation: Federation) -> tuple[Reservation, ...]:
    """Return the federation's reservations in the order of its calendar."""
    names = reserved_names(federation)
    if not names:
        return ()
    closures = closures_of(federation)
    kept = np.zeros((len(names), len(federation.groups)), dtype=np.bool_)
    mine = closures.reservation != NO_RESERVATION
    kept[closures.reservation[mine], closures.group[mine]] = True
    first = {name: next(one for one in federation.calendar if _belongs_to(one, name)) for name in names}
    return tuple(
        Reservation(name, one.begin, one.end, one.users, one.accounts, kept[r])
        for r, (name, one) in enumerate(first.items())
    )


def _belongs_to(downtime: Downtime, name: str) -> bool:
    return downtime.kind == RESERVATION and downtime.name == name


class ReservedNodes(NamedTuple):
    """A range of neighbouring nodes that a reservation keeps: its first node, and the number of nodes.

    Nodes are numbered through the federation: see `reserved_nodes`.
    """

    reservation: Reservation
    first: int
    nodes: int


def reserved_nodes(federation: Federation, *, own: bool = False) -> list[ReservedNodes]:
    """Return the ranges of neighbouring nodes that the federation's reservations keep.

    `own`: by the nodes' own numbers, which run through the clusters in order, whatever the nodes' groups.
    """
    of_node = federation.group_of_node
    of_node = of_node if own else np.sort(of_node)
    found: list[ReservedNodes] = []
    for one in reservations_of(federation):
        edges = np.flatnonzero(np.diff([0, *one.groups[of_node].astype(int), 0])).tolist()
        found += [ReservedNodes(one, begin, end - begin) for begin, end in zip(edges[::2], edges[1::2], strict=True)]
    return found


def in_words(schedule: Schedule) -> list[str]:
    """Return a text for each reservation: its share of the nodes' time until the last end, and how much its jobs used.

    A further text counts the jobs that never started because they missed their reservation.
    """
    said, done = [], ~np.isnan(schedule.finish)
    use: NodeUse | None = getattr(schedule, "use", None)  # for schedules with counts of tasks
    counts = schedule.counts if use is None else use.shares
    sizes, inside = np.array([group.count for group in schedule.federation.groups]), None
    for r, one in enumerate(reservations_of(schedule.federation)):
        inside = reservation_of_jobs(schedule.workload, schedule.federation) if inside is None else inside
        seconds = min(one.end, schedule.t0 + schedule.makespan) - max(one.begin, schedule.t0)
        if not seconds > 0:
            continue
        mine = done & (inside == r)
        held = np.maximum(schedule.finish - np.maximum(schedule.start, schedule.t0), 0.0)
        used = float(held[mine] @ counts[mine].sum(axis=1))
        kept = float(sizes[one.groups].sum()) * seconds
        share = kept / (schedule.makespan * schedule.federation.nodes)
        said.append(
            f"kept by reservation {one_line(one.name)}: {share:.2%} of the nodes' time until the last job ends, of "
            f"which its {counted(int(mine.sum()), 'job')} used {used / kept:.2%}"
        )
    if rows := np.flatnonzero(missed_reservation(schedule)).tolist():
        names, jobs = first_of(schedule.workload.id[rows]), counted(len(rows), "job")
        said.append(f"never started, because their reservation was over or had too few nodes: {jobs} ({names})")
    return said


def check_reservations(federation: Federation) -> None:
    """Raise if downtimes of one reservation differ in times, users, …, or if two reservations overlap on a node."""
    for name in reserved_names(federation):
        first, *others = (one for one in federation.calendar if _belongs_to(one, name))
        for other in others:
            for field in COMMON_FIELDS:
                given, expected = getattr(other, field), getattr(first, field)
                if given != expected:
                    raise FederationError(
                        f"{other.where}: {field}={given!r} differs from the {expected!r} of reservation {name!r}; give "
                        "one of them another name."
                    )
    closures = closures_of(federation)
    rows = np.flatnonzero(closures.reservation != NO_RESERVATION).tolist()
    rows.sort(key=lambda row: (closures.group[row], closures.begin[row]))
    for _, several in groupby(rows, key=lambda row: closures.group[row]):
        last = None
        for row in several:
            if last is not None and closures.begin[row] < closures.end[last]:
                names = reserved_names(federation)
                one, other = (names[closures.reservation[which]] for which in (last, row))
                raise FederationError(
                    f"Federation {federation.name!r}: reservations {one!r} and {other!r} have the same nodes at "
                    f"{closures.begin[row]:g}; a node may be in one reservation at a time."
                )
            last = row


def reservation_of_jobs(workload: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return the index in `reserved_names` of each job's reservation; -1 if it names none, or an unknown one."""
    place = {name: r for r, name in enumerate(reserved_names(federation))}
    if not place:
        return np.full(len(workload), NO_RESERVATION, dtype=np.int64)
    names, which = distinct(workload.label(RESERVATION))
    return np.array([place.get(name, NO_RESERVATION) for name in names], dtype=np.int64)[which]


def in_reservations(workload: Workload, federation: Federation) -> NDArray[np.bool_]:
    """Return which jobs name one of the federation's reservations."""
    return np.asarray(reservation_of_jobs(workload, federation) != NO_RESERVATION)


def earliest_starts(workload: Workload, federation: Federation) -> NDArray[np.float64] | None:
    """Return each job's earliest start: the latest of its user's wish, its reservation's begin, and the end of a hold.

    A hold counts if it covers the later of the submit and the other two times. It does not count for a job with a
    preceding job, because its submit is not known yet. None if no job has such a bound.
    """
    earliest = _earliest_without_holds(workload, federation)
    if workload.held is None:
        return earliest
    earliest = np.zeros(len(workload)) if earliest is None else earliest
    moment = np.maximum(workload.submit, earliest)
    released = workload.held.after_holds(moment)
    moved = released > moment
    moved[followers_of(workload)[0]] = False
    return np.where(moved, released, earliest)


def _earliest_without_holds(workload: Workload, federation: Federation) -> NDArray[np.float64] | None:
    begin = None if workload.begin is None else workload.begin.begin
    of_jobs = reservation_of_jobs(workload, federation)
    if not (of_jobs != NO_RESERVATION).any():
        return begin
    begins = np.array([*(one.begin for one in reservations_of(federation)), 0.0])  # the last one: no reservation
    return np.asarray(begins[of_jobs] if begin is None else np.maximum(begin, begins[of_jobs]))


def jobs_not_admitted(workload: Workload, federation: Federation) -> Iterator[tuple[int, str]]:
    """Yield (row, reason) for each job that may not use the reservation that it names.

    The reservation is unknown, or not open to the job's user or account. Nothing is yielded if the federation has no
    reservations.
    """
    reservations = reservations_of(federation)
    if not reservations:
        return
    named, of_jobs = workload.label(RESERVATION), reservation_of_jobs(workload, federation)
    known = ", ".join(repr(one_line(one.name)) for one in reservations)
    for row in np.flatnonzero((named != "") & (of_jobs == NO_RESERVATION)).tolist():
        yield row, f"reservation {str(named[row])!r} is not in the federation; known: {known}"
    users, account = users_of(workload), workload.label("account")
    for r, one in enumerate(reservations):
        rows = np.flatnonzero(of_jobs == r)
        for what, texts, may in (("user", users, one.users), ("account", account, one.accounts)):
            if may and not (what == "user" and cannot_check_users(one, workload)):
                for row in rows[~np.isin(texts[rows].astype(np.str_), may)].tolist():
                    yield row, f"{what} {str(texts[row])!r} may not use reservation {one.name!r}"


def cannot_check_users(one: Reservation, workload: Workload) -> bool:
    """Return whether a reservation lists users by name while the jobs have user numbers only."""
    by_name = any(not user.isdecimal() for user in one.users)
    return by_name and not (workload.label("user") != "").any()


def unmodelled_reservations(workload: Workload, federation: Federation) -> list[str]:
    """Return, in words, what is not modelled of reservations.

    With reservations, these are the ones with users by name although the jobs have user numbers only. Without, it is
    the number of jobs that name one, except jobs for which the log's demands say so already.
    """
    reservations = reservations_of(federation)
    if not reservations:
        naming = workload.label(RESERVATION) != ""
        if workload.log is not None:
            naming &= (np.maximum(workload.log.demands, 0.0).astype(np.int64) & int(Demand.RESERVATION)) == 0
        jobs = int(naming.sum())
        return [f"{counted(jobs, 'job')} in reservations (the machine has none)"] if jobs else []
    of_jobs = reservation_of_jobs(workload, federation)
    unchecked = [r in of_jobs and cannot_check_users(one, workload) for r, one in enumerate(reservations)]
    names = [one_line(one.name) for one, so in zip(reservations, unchecked, strict=True) if so]
    return [f"which users may use {', '.join(names)} (the jobs' users are numbers)"] if names else []


def missed_reservation(schedule: Schedule) -> NDArray[np.bool_]:
    """Return which jobs name a reservation of the federation and never started, and were neither killed nor cancelled.

    Their reservation was over, or had too few nodes.
    """
    inside = in_reservations(schedule.workload, schedule.federation)
    inside[schedule.lost.killed] = False
    return inside & np.isnan(schedule.start) & ~schedule.cancelled
