"""What jobs wait for beside nodes, as Slurm's arrays: conditions, arrays' tasks, limits, windows, times to leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.model.constraints.dependencies import End, Kind, edges_of, ends_of, topological_order
from fedsched.model.constraints.feedback import followers_of
from fedsched.model.jobs.demands import pool_amounts, pool_needs
from fedsched.model.machine.counters import counters_of
from fedsched.model.time.downtimes import KINDS, reserved_names
from fedsched.model.time.reservations import reservation_of_jobs, reservations_of
from fedsched.slurm.loop.structs import NEVER, Conditions, Feedback, Holds, Initial, Limits, Windows
from fedsched.slurm.nodes.node_sets import words_of
from fedsched.slurm.passes.conditions import END, END_BADLY, END_WELL, START

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import RunningJobs
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.model.time.downtimes import Downtime
    from fedsched.slurm.loop.structs import Floats, Ints

NOBODYS = -1
AWAITS = {Kind.AFTER: START, Kind.AFTERANY: END, Kind.AFTEROK: END_WELL, Kind.AFTERNOTOK: END_BADLY}
ENDS = {End.WELL: END_WELL, End.BADLY: END_BADLY, End.CANCELLED: END}
ALIKE = ("account", "qos", "partition", "reservation", "features", "name", "user")  # what tasks of one record agree in


def conditions_on(workload: Workload, reading: Reading, rows: Ints, running: Ints) -> Conditions:
    """Return which job waits for which, by their numbers; rows that are `running` wait for nothing any more."""
    edges, jobs = edges_of(workload), len(workload)
    topological_order(workload, edges)  # refuses circles
    moves = np.arange(edges.job.size) >= edges.job.size - followers_of(workload)[0].size  # those come last
    waits = ~np.isin(edges.job, running)
    edges, moves = edges._replace(**{name: column[waits] for name, column in edges._asdict().items()}), moves[waits]
    number = np.empty(jobs, dtype=np.int64)
    number[rows] = np.arange(jobs)
    by_on = np.argsort(number[edges.on], kind="stable")
    return Conditions(
        first=_ints(np.searchsorted(number[edges.on][by_on], np.arange(jobs + 1))),
        follower=_ints(number[edges.job][by_on]),
        awaits=_ints([AWAITS[Kind(kind)] for kind in edges.kind[by_on]]),
        lag=_ints(np.ceil(edges.lag[by_on])),
        moves=_ints(moves[by_on]),
        open=_ints(1 + np.bincount(number[edges.job[~moves]], minlength=jobs)),
        end=_ints([ENDS[End(end)] for end in ends_of(workload, reading)[rows]]),
    )


def feedback_of(
    workload: Workload, length: Floats, rows: Ints, running: RunningJobs | None, *, takes: bool
) -> Feedback:
    """Return what decides the submits of jobs that follow others, `length` being how long each job runs.

    `takes`: exact ends are needed because downtimes take nodes from running jobs.
    """
    follows, _, think = followers_of(workload)
    if not follows.size and not takes:
        return Feedback(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0))
    thinks = np.zeros(len(workload))
    thinks[follows] = think
    cancel = np.full(len(workload), np.inf) if workload.cancel_at is None else workload.cancel_at.times
    end = np.full(len(workload), np.nan)
    if running is not None:
        end[running.rows] = running.finish
    return Feedback(*(np.ascontiguousarray(column[rows]) for column in (thinks, length, cancel, end)))


def initial_of(
    workload: Workload,
    federation: Federation,
    running: RunningJobs | None,
    of_node: Ints | None,
    windows: Windows,
    base: int,
    rows: Ints,
) -> Initial:
    """Return the jobs that run at the begin, each with nodes of its groups that are free and open to it.

    It gets the free nodes of the lowest numbers, and nodes that are closed to it only if no others are left. On shared
    nodes it is known which nodes they hold.
    """
    nodes, group = federation.nodes, federation.group_of_node if of_node is None else of_node
    if running is None:
        return Initial(_ints(np.zeros(0)), _ints(np.zeros(0)), words_of(np.zeros((0, nodes), dtype=np.bool_)))
    number = np.empty(len(workload), dtype=np.int64)
    number[rows] = np.arange(rows.size)
    if running.held is not None:
        known, on = running.held.of(np.arange(running.rows.size)), np.zeros((running.rows.size, nodes), dtype=np.bool_)
        on[np.repeat(np.arange(running.rows.size), known.pieces), known.node] = True
        return Initial(_ints(number[running.rows]), _ints(np.floor(running.start) - base), words_of(on))
    closed = closed_nodes(federation)
    now = (windows.begin <= 0) & (windows.end > 0)
    of_jobs = reservation_of_jobs(workload, federation)
    free, held = np.ones(nodes, dtype=np.bool_), np.zeros((running.rows.size, nodes), dtype=np.bool_)
    for mine, row, counts in zip(held, running.rows.tolist(), running.counts, strict=True):
        own = windows.reservation == of_jobs[row]
        shut = closed[now & ~own].any(axis=0)
        if of_jobs[row] != NOBODYS:
            shut |= ~closed[own].any(axis=0)
        for g in np.flatnonzero(counts).tolist():
            there = np.flatnonzero(free & (group == g))
            mine[there[np.argsort(shut[there], kind="stable")][: counts[g]]] = True
        free &= ~mine
    return Initial(_ints(number[running.rows]), _ints(np.floor(running.start) - base), words_of(held))


def holds_of(workload: Workload, base: int, rows: Ints) -> Holds:
    """Return when jobs are held, in whole seconds in which they are so at any time."""
    nobody = _ints(np.zeros(0))
    held = None if workload.held is None else workload.held.take(rows)
    if held is None:
        return Holds(nobody, nobody, nobody, nobody, nobody, nobody)
    begin, end = _ints(np.floor(held.begin) - base), _ints(np.ceil(held.end) - base)
    first, owner = (np.array(values, dtype=np.int64) for values in (held.first, held.owner))  # theirs are read-only
    by_begin, by_end = (_ints(np.argsort(times, kind="stable")) for times in (begin, end))
    return Holds(first, begin, end, owner, by_begin, by_end)


def last_releases(workload: Workload, base: int) -> Floats:
    """Return the second of each job's last release from a hold that is over at second 0; its age begins anew then."""
    found = np.full(len(workload), -np.inf)
    if workload.held is not None:
        end = np.ceil(workload.held.end) - base
        over = end <= 0.0
        np.maximum.at(found, workload.held.owner[over], end[over])
    return found


def cancelled_by(workload: Workload, base: int) -> Ints:
    """Return the second in which each job leaves that has not started."""
    if workload.cancel_at is None:
        return np.full(len(workload), NEVER)
    times = workload.cancel_at.cancel_at
    return np.where(times >= 0.0, np.ceil(times).astype(np.int64) - base, NEVER)


def tasks_of_arrays(workload: Workload, federation: Federation, rows: Ints) -> tuple[Ints, Ints]:
    """Return the first task of each job's record, and the next one: tasks of an array that are alike are one record."""
    jobs = len(workload)
    record, successor = np.arange(jobs), np.full(jobs, -1)
    names = workload.label("array")[rows]
    if not (names != "").any():
        return record, successor
    said = [workload.label(name)[rows] for name in ALIKE]
    if workload.after is not None:
        said.append(workload.after.texts[rows])
    said += [column[rows] for column in (workload.submit, workload.tasks, workload.estimate, workload.user)]
    if workload.begin is not None:
        said.append(workload.begin.begin[rows])
    if workload.held is not None:
        said.append(workload.held.columns()["held"][rows])
    if workload.pools is not None:
        said += [column[rows] for column in workload.pools.columns().values()]
    if workload.feedback is not None:
        said += [column[rows] for column in workload.feedback.columns().values()]
    if workload.nice is not None:
        said.append(workload.nice.values[rows])
    last: dict[tuple[Any, ...], int] = {}
    for job in np.flatnonzero(names != "").tolist():
        if workload.after is not None and "singleton" in str(workload.after.texts[rows[job]]):
            continue  # each waits for the one before it
        alike = (names[job], *(column[job] for column in said))
        if alike in last:
            successor[last[alike]] = job
            record[job] = record[last[alike]]
        last[alike] = job
    return _ints(record), _ints(successor)


def limits_of(workload: Workload, federation: Federation, rows: Ints) -> Limits:
    """Return what the federation's limits and those of arrays count, and its pools: a job that lacks one is skipped."""
    counters, jobs = counters_of(workload, federation), len(workload)
    amounts, needs = pool_amounts(workload, federation), pool_needs(workload, federation)
    pool, needing = needs.T.nonzero()
    number = np.empty(jobs, dtype=np.int64)
    number[rows] = np.arange(jobs)
    mine = number[np.concatenate([counters.job, needing])]
    counter = np.concatenate([counters.counter, counters.amount.size + pool])
    weight = np.concatenate([counters.weight, needs[needing, pool]])
    by_job = np.argsort(mine, kind="stable")
    array = np.full(jobs, NOBODYS)
    for c, name in enumerate(counters.names):
        if name.startswith("array "):
            array[mine[counter == c]] = c
    return Limits(
        amount=_ints(np.concatenate([counters.amount, amounts])),
        first=_ints(np.searchsorted(mine[by_job], np.arange(jobs + 1))),
        counter=_ints(counter[by_job]),
        weight=_ints(weight[by_job]),
        binds=np.ones(mine.size, dtype=np.int64),
        array=_ints(array),
        kind=np.zeros(mine.size, dtype=np.int64),
    )


def closed_nodes(federation: Federation) -> NDArray[np.bool_]:
    """Return downtimes × nodes: which nodes each downtime of the calendar closes."""
    sizes = {cluster.name: cluster.nodes for cluster in federation.clusters}
    closed = np.array([one.members(sizes) for one in federation.calendar], dtype=np.bool_)
    return closed.reshape(len(federation.calendar), federation.nodes)


def windows_of(federation: Federation, base: int, t0: float) -> Windows:
    """Return when which nodes are closed; whole seconds in which they are so at any time.

    Downtimes that begin at t0 or before take nothing from jobs [42].
    """
    calendar = federation.calendar
    place = {name: r for r, name in enumerate(reserved_names(federation))}
    kept = reservations_of(federation)
    begin = _ints([_second(one.begin, base, down=True) for one in calendar])
    end = _ints([_second(one.end, base, down=False) for one in calendar])
    known = _ints([_second(float(one.known_from or 0.0), base, down=True) for one in calendar])
    edges = np.unique(np.concatenate([begin, end, known]))
    exact = np.array([one.begin for one in calendar], dtype=np.float64)
    taking = [w for w in np.argsort(exact, kind="stable") if calendar[w].on_running != "wait" and exact[w] > t0]
    return Windows(
        nodes=words_of(closed_nodes(federation)),
        begin=begin,
        end=end,
        planned_end=_ints([end[w] if one.end_known else NEVER for w, one in enumerate(calendar)]),
        known=known,
        reservation=_ints([place[one.name] if _is_kept(one) else NOBODYS for one in calendar]),
        broken=_ints([not KINDS[one.kind][1] for one in calendar]),
        taking=_ints(taking),
        hit=_ints(np.ceil(exact) - base),
        exact=exact,
        kills=_ints([one.on_running == "kill" for one in calendar]),
        edges=_ints(edges[edges < NEVER]),
        begins=_ints([_second(one.begin, base, down=False) for one in kept]),
        ends=_ints([_second(one.end, base, down=True) for one in kept]),
    )


def _is_kept(one: Downtime) -> bool:
    return one.kind == "reservation"


def _second(time: float, base: int, *, down: bool) -> int:
    if time == float("inf"):
        return NEVER
    return max(0, int((np.floor if down else np.ceil)(max(time, float(base)))) - base)


def _ints(values: Any) -> Ints:
    return np.ascontiguousarray(values, dtype=np.int64)
