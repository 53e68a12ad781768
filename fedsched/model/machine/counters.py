"""Counters: what running jobs use of each limit, such as the nodes of one user's jobs [43].

Each limit of a user, account, QOS or partition makes counters. A job array that limits how many of its tasks run at a
time makes one too. If a job's nodes may hold different numbers of its tasks, the amount that it uses depends on its
placement [76]. The entry's `weight` is then a lower bound.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.core.text import one_line
from fedsched.model.jobs.labels import distinct
from fedsched.model.jobs.layout import own_tasks
from fedsched.model.jobs.uneven import are_uneven, counted_tasks, most_nodes, uneven_fits
from fedsched.model.machine.limits import limited_names, names_limited_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

JOBS, NODES, CPUS = "jobs", "nodes", "CPUs"  # what is counted
_ARRAY = re.compile(r"(.+)%(\d{1,9})")


class Counters(NamedTuple):
    """All counters of a workload on a federation, as arrays.

    `amount` is the most that the jobs of a counter may use together, and `names` says what each counter limits. There
    is one entry for each job and each counter that it uses: its `counter`, its `job` (a row), and `weight`, which is
    how much the job uses.
    """

    amount: NDArray[np.int64]
    counter: NDArray[np.int64]  # in ascending order
    job: NDArray[np.int64]
    weight: NDArray[np.int64]  # a lower bound if it depends on the placement
    row: NDArray[np.int64]  # of `of_node` if it depends on the placement, else -1
    of_node: NDArray[np.int64]  # row x group: what the job uses per node there
    names: tuple[str, ...]

    def amounts_used(self, entries: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how much each of these entries uses of its counter if its job runs on `counts` (entries × groups)."""
        found, row = self.weight[entries], self.row[entries]
        found[row >= 0] = (counts[row >= 0] * self.of_node[row[row >= 0]]).sum(axis=1)
        return found


def counters_of(workload: Workload, federation: Federation) -> Counters:
    """Return the counters that limit these jobs; raise if a job alone exceeds a limit."""
    found = [*_every_counter(workload, federation)]
    for name, what, amount, rows, weights in found:
        for k in np.flatnonzero(weights > amount)[:1]:
            raise InfeasibleError(
                f"Job {workload.id[rows[k]]}: its {weights[k]} {what} are over the limit of {amount} of {name}; drop "
                "it, or give a higher limit."
            )
    no_rows = np.zeros(0, dtype=np.int64)
    job = np.concatenate([no_rows, *(rows for *_, rows, _ in found)])
    sizes = [rows.size for *_, rows, _ in found]
    row, of_node = _by_nodes(workload, federation, job, np.repeat([what for _, what, *_ in found], sizes))
    return Counters(
        np.array([amount for _, _, amount, _, _ in found], dtype=np.int64),
        np.repeat(np.arange(len(found)), sizes),
        job,
        np.concatenate([no_rows, *(weights for *_, weights in found)]),
        row,
        of_node,
        tuple(name for name, *_ in found),
    )


def exceed_limits(workload: Workload, federation: Federation) -> NDArray[np.bool_]:
    """Return which jobs exceed a limit alone, wherever they run."""
    found = np.zeros(len(workload), dtype=np.bool_)
    for _, _, amount, rows, weights in _every_counter(workload, federation):
        found[rows[weights > amount]] = True
    return found


def first_counter(workload: Workload, federation: Federation) -> str:
    """Return the name of the first counter that limits some of these jobs, such as "user '7'"; '' if there is none."""
    return next(iter(counters_of(workload, federation).names), "")


def limit_exceeded_alone(workload: Workload, federation: Federation, row: int, counts: NDArray[np.int64]) -> str:
    """Return, in words, a limit that the job in this row exceeds alone if it runs on `counts` nodes of each group.

    '' if it exceeds none.
    """
    counters = counters_of(workload, federation)
    entries = np.flatnonzero(counters.job == row)
    taken = counters.amounts_used(entries, np.tile(counts, (entries.size, 1)))
    for entry, much in zip(entries.tolist(), taken.tolist(), strict=True):
        if much > counters.amount[c := counters.counter[entry]]:
            return f"{much} are over the limit of {counters.amount[c]} of {counters.names[c]}"
    return ""


_Counter = tuple[str, str, int, "NDArray[np.int64]", "NDArray[np.int64]"]


def _every_counter(workload: Workload, federation: Federation) -> Iterator[_Counter]:
    yield from _of_limits(workload, federation)
    yield from _of_arrays(workload)
    yield from _of_partitions(workload, federation)


def _of_limits(workload: Workload, federation: Federation) -> Iterator[_Counter]:
    parts = _parts(workload)
    for limit in federation.limits:
        names, rows_of = _grouped(limited_names(limit, workload, federation))
        for name, rows in zip(names, rows_of, strict=True):
            if name:
                called = f"{limit.of} {one_line(name)!r}"
                for what, most in limit.most:
                    if most is not None:
                        yield called, CPUS if what == "cpus" else what, most, rows, parts[what][rows]


def _parts(workload: Workload) -> dict[str, NDArray[np.int64]]:
    """Return, for "jobs", "nodes" and "cpus", the least amount that each job uses while it runs."""
    cpus = counted_tasks(workload) * _cpus(workload)
    return {"jobs": np.ones(len(workload), dtype=np.int64), "nodes": workload.tasks, "cpus": cpus}


def _cpus(workload: Workload) -> NDArray[np.int64]:
    """Return, for each job, the CPUs of one of its `counted_tasks`, at least 1.

    If the job counts whole nodes and is not uneven, these are the CPUs of all tasks of a node.
    """
    demand = {} if workload.demand is None else workload.demand.columns()
    one = np.ones(len(workload), dtype=np.int64)
    return np.maximum(np.asarray(demand.get("cpu", one), dtype=np.int64), 1)


def _by_nodes(
    workload: Workload, federation: Federation, job: NDArray[np.int64], what: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each entry's row in a table of amounts per node (-1 = none), and the table (rows × groups).

    Only entries of uneven jobs for nodes or CPUs have a row: what the job uses on one node of each group. `job` and
    `what` are the entries' jobs and counted things.
    """
    uneven, fits = uneven_fits(workload, federation)
    place, row = np.full(len(workload), -1), np.full(job.size, -1)
    place[uneven] = np.arange(uneven.size)
    some = np.flatnonzero((place[job] >= 0) & (what != JOBS))
    held, cpus = fits[place[job[some]]], _cpus(workload)[job[some], None]
    each = np.where((what[some] == NODES)[:, None], held > 0, held * cpus)
    of_node, which = np.unique(each, axis=0, return_inverse=True)
    row[some] = which.reshape(-1)
    return row, np.ascontiguousarray(of_node, dtype=np.int64)


def _grouped(texts: NDArray[Any]) -> tuple[list[str], list[NDArray[np.int64]]]:
    """Return the distinct texts, sorted, and for each of them the rows that have it."""
    names, which = distinct(texts)
    order = np.argsort(which, kind="stable")
    return names, np.split(order, np.cumsum(np.bincount(which, minlength=len(names)))[:-1])


def _of_arrays(workload: Workload) -> Iterator[_Counter]:
    if workload.labels is None or "array" not in workload.labels.texts:
        return
    limited: dict[str, str] = {}
    for text, rows in zip(*_grouped(workload.label("array")), strict=True):
        match = _ARRAY.fullmatch(text)
        name = text if match is None else match[1]
        if limited.setdefault(name, text) != text or ("%" in text and (match is None or int(match[2]) < 1)):
            raise InfeasibleError(
                f"Array {one_line(name)!r}: {limited[name]!r} and {text!r}; all of its tasks must give the same limit "
                "of at least 1, as 'name%5', or none."
            )
        if match is not None:
            yield f"array {one_line(name)!r}", JOBS, int(match[2]), rows, np.ones(rows.size, dtype=np.int64)


def _of_partitions(workload: Workload, federation: Federation) -> Iterator[_Counter]:
    """Yield a counter for each uneven job that some placement puts on more nodes than its partition allows."""
    uneven = are_uneven(workload)
    most = {one.name: one.max_nodes for one in federation.partitions if one.max_nodes is not None}
    if not uneven.any() or not most:
        return
    may = most_nodes(workload, federation, own_tasks(workload))
    of_job = names_limited_by(workload, federation, "partition")
    for row in np.flatnonzero(uneven).tolist():
        name = str(of_job[row])
        if name in most and may[row] > most[name] >= workload.tasks[row]:
            yield f"partition {one_line(name)!r} (max_nodes)", NODES, most[name], np.array([row]), workload.tasks[[row]]
