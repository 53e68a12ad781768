"""The recorded facts that a replay may take as given, by name; a job's own start is never one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import unknown_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from fedsched.site.twin.records import Records
    from fedsched.site.twin.site import Site

    Column = NDArray[np.float64]
    Mask = NDArray[np.bool_]

# Each fact's name, in the order of reports, and what is taken from the record.
REPLAY_FACTS = {
    "clocks": "when the backfill passes that started jobs, the decays of usage and the main passes took place",
    "node down": "when nodes were down or drained",
    "reservation": "when nodes were reserved, and for which users",
    "requeued": "when the later runs of requeued jobs became eligible",
    "dependency": "when the dependencies of a job were met",
    "held": "until when a job was held",
    "limit reached": "when the recorded runs of other jobs left room in the same limit",
    "preempted": "when preempted runs ended",
    "submitted before the dump": "when jobs started that already waited as the dump begins",
}
BEFORE, LIMIT = "submitted before the dump", "limit reached"
JITTER = 1.0  # seconds by which Slurm's times of one event may differ
# Words in a reason that tell a limit on nodes or other resources from a limit on the number of jobs.
OF_SIZES = ("cpu", "node", "tres", "mem", "gres", "billing")


def default_facts(site: Site, *, clocks: bool = True, limits: bool = True) -> tuple[str, ...]:
    """Return the names of the facts that a replay takes as given by default: those that matter for this dump.

    The starts of jobs submitted before the dump are never among them. `clocks` and `limits` say whether the clocks and
    the effects of limits may be among them: only Slurm's own scheduler has clocks, and a policy that enforces limits
    must not get their effects as well.
    """
    left = {BEFORE, *(() if clocks else ("clocks",)), *(() if limits else (LIMIT,))}
    return tuple(name for name in REPLAY_FACTS if name not in left and matters(site, name))


def checked_facts(given: Collection[str]) -> tuple[str, ...]:
    """Return these names in the order of `REPLAY_FACTS`; raise if one is unknown."""
    for name in given:
        if name not in REPLAY_FACTS:
            raise unknown_name("fact to take as given", name, REPLAY_FACTS)
    return tuple(name for name in REPLAY_FACTS if name in given)


def matters(site: Site, name: str) -> bool:
    """Return whether a dump has something on record for a fact, so that taking it as given may change a replay."""
    if name == "clocks":
        return bool(passes_of(site).size)
    if name == "node down":
        return bool(site.down)
    if name == "reservation":
        return bool(site.reserved)
    return bool(runs_with_fact(site, name).any())


def runs_with_fact(site: Site, name: str) -> Mask:
    """Return which runs a fact is about: taking it as given tells a replay something about these runs themselves.

    There are none for "clocks" and "node down", which are about the whole cluster.
    """
    records = site.records
    begun = np.where(np.isnan(records.begin), records.submit, np.maximum(records.begin, records.submit))
    later = records.eligible > begun + JITTER
    depends = np.zeros(len(records), dtype=np.bool_) if records.after is None else records.after != ""
    match name:
        case "clocks" | "node down":
            return np.zeros(len(records), dtype=np.bool_)
        case "reservation":
            return np.asarray(records.labels["reservation"] != "")
        case "requeued":
            return records.again & later
        case "dependency":
            return depends & ~records.again
        case "held":
            return later & ~records.again & ~depends
        case "limit reached":
            return _limited(records)
        case "preempted":
            return records.preempted & ~np.isnan(records.end)
        case _:
            waited = (records.submit < site.since) & ~(records.start < site.since)
            return waited & ~np.isnan(records.start)


def held_runs(site: Site) -> Mask:
    """Return which runs were held until they became eligible, as Slurm's reason JobHeld… says."""
    by_hand = np.array([text.startswith("JobHeld") for text in site.records.reason.tolist()], dtype=np.bool_)
    return by_hand & runs_with_fact(site, "held")


def begins_of(site: Site, given: Collection[str]) -> Column:
    """Return the earliest start of each run, in seconds of the jobs' clock; 0 if unrestricted.

    It follows from the run's own begin time and from the recorded facts that `given` names. Runs that waited as the
    dump begins start no earlier than that.
    """
    records, zero = site.records, site.zero
    begin = np.where(np.isnan(records.begin), 0.0, records.begin - zero)
    waited = (records.submit < site.since) & ~(records.start < site.since)
    begin = np.where(waited, np.maximum(begin, site.begin), begin)
    for name in ("requeued", "dependency", "held"):
        if name in given:
            mine = runs_with_fact(site, name)
            begin = np.where(mine, np.maximum(begin, records.eligible - zero), begin)
    if "limit reached" in given:
        begin = np.maximum(begin, _times_with_room(records) - zero)
    if BEFORE in given:
        mine = runs_with_fact(site, BEFORE)
        begin = np.where(mine, records.start - zero, begin)
    return begin


def passes_of(site: Site) -> Column:
    """Return the times of backfill passes that started a job, by the jobs' flags, on the jobs' clock in seconds.

    If no job has such a flag, each start counts as a pass.
    """
    records = site.records
    flagged = np.array(["SchedBackfill" in text for text in records.flags.tolist()], dtype=np.bool_)
    if not flagged.any():
        flagged[:] = True
    return np.unique(records.start[flagged & ~np.isnan(records.start)] - site.zero)


def _limited(records: Records) -> Mask:
    said = {text: _is_limit(text) for text in dict.fromkeys(records.reason.tolist())}
    return np.array([said[text] for text in records.reason.tolist()], dtype=np.bool_)


def _is_limit(reason: str) -> bool:
    small = reason.lower()
    return "limit" in small and "timelimit" not in small and "partition" not in small


def _times_with_room(records: Records) -> Column:
    """Return, for each run that waited for a limit, when recorded runs of other jobs left enough of the limit for it.

    It is a wall-clock time. The value of a limit is unknown: the greatest recorded use at once is taken for it. Runs
    that waited for no limit, and those for which there is no such time, get −∞.
    """
    found = np.full(len(records), -np.inf)
    rows = np.flatnonzero(_limited(records))
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row in rows.tolist():
        groups.setdefault(_limit_key(records, row), []).append(row)
    for (kind, of_sizes, *_), limited in groups.items():
        members = _members(records, kind, limited[0])
        for row, moment in zip(limited, _room_times(records, members, limited, of_sizes), strict=True):
            found[row] = moment
    return found


def _limit_key(records: Records, row: int) -> tuple[Any, ...]:
    """Return a key of the limit that a run waited for, by user, account, QOS or array; runs with one key share it."""
    small = records.reason[row].lower()
    of_sizes = any(word in small for word in OF_SIZES)
    label = {name: values[row] for name, values in records.labels.items()}
    if "array" in small:
        return ("array", of_sizes, float(records.array[row]))
    if "qos" in small:
        user = label["user"] if "user" in small else ""
        return ("qos", of_sizes, label["qos"], user)
    if "grp" in small:
        return ("account", of_sizes, label["account"])
    return ("user", of_sizes, label["account"], label["user"])


def _members(records: Records, kind: str, row: int) -> NDArray[np.int64]:
    labels = records.labels
    started = ~np.isnan(records.start)
    if kind == "array":
        return np.flatnonzero(started & (records.array == records.array[row]))
    if kind == "qos":
        mine = labels["qos"] == labels["qos"][row]
        if "user" in records.reason[row].lower():
            mine &= labels["user"] == labels["user"][row]
    else:
        mine = labels["account"] == labels["account"][row]
        if kind == "user":
            mine &= labels["user"] == labels["user"][row]
    return np.flatnonzero(started & np.asarray(mine, dtype=np.bool_))


def _room_times(records: Records, members: NDArray[np.int64], limited: list[int], of_sizes: bool) -> list[float]:
    size = records.nodes if of_sizes else np.ones(len(records), dtype=np.int64)
    start, end = records.start[members], np.where(np.isnan(records.end[members]), np.inf, records.end[members])
    times, which = np.unique(np.concatenate([start, end]), return_inverse=True)
    change = np.zeros(len(times), dtype=np.int64)
    np.add.at(change, which, np.concatenate([size[members], -size[members]]))
    level = np.cumsum(change)  # from each time on
    most = int(level.max(initial=0))
    found = []
    for row in limited:
        own = np.where(times >= records.start[row], size[row], 0) if not np.isnan(records.start[row]) else 0
        free = level - own + size[row] <= most
        at = max(0, int(np.searchsorted(times, records.eligible[row], side="right")) - 1)
        later = times[at:][free[at:]]
        known = later.size and np.isfinite(later[0])  # else the runs that fill the limit go on after the dump's end
        found.append(max(float(records.eligible[row]), float(later[0])) if known else -np.inf)
    return found
