"""Functions that put jobs into one of their alternative shapes [49, 76].

If a job counts whole nodes, the number of nodes of a shape may depend on the federation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.model.jobs.admission import usable_groups
from fedsched.model.jobs.alternatives import OWN, may_change_gear, present_shapes
from fedsched.model.jobs.layout import layout_of, own_tasks, tasks_on_nodes, with_task_counts
from fedsched.model.jobs.uneven import fewest_nodes, uneven_fits
from fedsched.model.power.gears import gears_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.model.jobs.alternatives import Alternatives
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.power.gears import Floats, Ints
    from fedsched.model.reading import Reading


def nodes_for(workload: Workload, federation: Federation, rows: Ints, tasks: Ints) -> Ints:
    """Return numbers of tasks of the jobs in `rows`, converted into the unit of the workload's column `tasks`.

    The result is a number of whole nodes if the job counts these, else the number of tasks. If nodes may hold different
    numbers of the job's tasks, it is the fewest nodes of the empty federation that hold them.
    """
    each = np.where(tasks_on_nodes(workload) > 0, layout_of(workload)[0], 1)[rows]
    found = -(-tasks // np.maximum(each, 1))
    odd = np.flatnonzero(each == 0)
    if odd.size:
        jobs, place = np.unique(rows[odd], return_inverse=True)
        part = workload.take(jobs)
        usable = usable_groups(part, federation)
        fits = np.where(usable, uneven_fits(part, federation)[1], 0)[place]
        sizes = np.where(usable, [group.count for group in federation.groups], 0)[place]
        found[odd] = fewest_nodes(fits, sizes, tasks[odd])[0]
    return np.asarray(found)


def with_shapes(workload: Workload, federation: Federation, which: NDArray[np.int64]) -> Workload:
    """Return the workload with each job's columns set to one of its alternatives, of index `which`.

    Jobs without alternatives are unchanged.
    """
    among = workload.alternatives
    if among is None:
        return workload
    rows = np.flatnonzero(np.diff(among.first))
    at = among.first[rows] + which[rows]
    columns: dict[str, Any] = {"tasks": own_tasks(workload).copy(), "gear": gears_of(workload).copy()}
    for name in ("runtime", "estimate"):
        columns[name] = getattr(workload, name).copy()
    for name, column in columns.items():
        column[rows] = getattr(among, name)[at]
    columns["compute_fraction"] = _shares(among, at, workload.compute_fraction, rows)
    layout = with_task_counts(workload.layout, columns["tasks"], workload.id)
    columns["tasks"] = nodes_for(workload, federation, np.arange(len(workload)), columns["tasks"])
    return replace(workload, **columns, layout=layout)


def _shares(among: Alternatives, at: Ints, shares: Floats, rows: Ints) -> Floats:
    # The compute fractions of all jobs if the jobs in these rows take these shapes.
    found = shares.copy()
    said = among.compute_fraction[at]
    found[rows] = np.where(said == OWN, found[rows], said)
    return found


def every_shape(workload: Workload, federation: Federation) -> tuple[Workload, NDArray[np.int64], NDArray[np.int64]]:
    """Return a workload with one job per shape of each job, and, per shape, its job's row and its alternative's index.

    A job's present shape comes first. A job without alternatives has one shape. Ids are new; dependencies, earliest
    starts, alternatives and log columns are dropped.
    """
    now = present_shapes(workload)
    among = workload.alternatives
    listed = np.zeros(len(workload), dtype=np.int64) if among is None else np.diff(among.first)
    owner = np.repeat(np.arange(len(workload)), np.maximum(listed, 1))
    begin = np.cumsum(np.maximum(listed, 1)) - np.maximum(listed, 1)
    place = np.arange(owner.size) - begin[owner]
    which = np.where(place == 0, now[owner], np.where(place <= now[owner], place - 1, place))
    columns: dict[str, Any] = {name: getattr(workload, name)[owner] for name in ("runtime", "estimate")}
    columns |= {"tasks": own_tasks(workload)[owner], "gear": gears_of(workload)[owner]}
    if among is not None:
        several = listed[owner] > 0
        at = (among.first[owner] + which)[several]
        for name, column in columns.items():
            column[several] = getattr(among, name)[at]
    columns["compute_fraction"] = workload.compute_fraction[owner]
    if among is not None:
        columns["compute_fraction"] = _shares(among, at, columns["compute_fraction"], np.flatnonzero(several))
    for name in ("submit", "task_bandwidth", "origin", "user", "allowed"):
        if (values := getattr(workload, name)) is not None:
            columns[name] = values[owner]
    parts: dict[str, Any] = {name: part.take(owner) for name, part in workload.optional.items()}
    parts |= dict.fromkeys(("after", "begin", "alternatives", "log"))
    ids = np.arange(1, owner.size + 1)
    if tasks_on_nodes(workload).any():
        parts["layout"] = with_task_counts(parts["layout"], columns["tasks"], ids)
        columns["tasks"] = nodes_for(workload, federation, owner, columns["tasks"])
    return replace(workload, id=ids, **(parts | columns)), owner, which


def least_area_shapes(workload: Workload, federation: Federation, reading: Reading) -> NDArray[np.int64]:
    """Return, for each job, the index of its alternative with the least tasks × planned time.

    Ties go to the fewest tasks, then to the first alternative. If a job counts whole nodes, nodes replace tasks here.
    The index is 0 if the job has no alternatives.
    """
    found = np.zeros(len(workload), dtype=np.int64)
    if (among := workload.alternatives) is not None:
        owner = among.owner
        tasks = nodes_for(workload, federation, owner, among.tasks)
        order = np.lexsort((tasks, tasks * reading.planned(among), owner))
        rows, first = np.unique(owner[order], return_index=True)
        found[rows] = order[first] - among.first[rows]
    return found


def with_chosen_shapes(
    workload: Workload, federation: Federation, reading: Reading, *, running: Sequence[int] = ()
) -> Workload:
    """Return the jobs in the shapes that `reading.alternatives` chooses in advance; unchanged for "free" and None.

    "fixed" gives the recorded shape, the first; "smallest_area" the shape of the least area. "earliest_finish"
    chooses later, when a job joins the queue: until then each job gets its recorded shape, and jobs in the rows
    `running` keep theirs. Raise if jobs of "earliest_finish" may change gear.
    """
    if workload.alternatives is None or reading.alternatives in ("free", None):
        return workload
    if reading.alternatives == "earliest_finish" and may_change_gear(workload):
        raise InfeasibleError(
            "alternatives='earliest_finish': jobs may run in several gears, and none is chosen when they join the "
            "queue; let plans choose (alternatives='free'), or take 'fixed' or 'smallest_area'."
        )
    by_rule, now = reading.alternatives == "smallest_area", present_shapes(workload)
    which = least_area_shapes(workload, federation, reading) if by_rule else np.zeros(len(workload), dtype=np.int64)
    if reading.alternatives == "earliest_finish":
        which[list(running)] = now[list(running)]
    return workload if np.array_equal(which, now) else with_shapes(workload, federation, which)
