"""Which alternative shapes (tasks and times) jobs can have on a federation; a check of partitions' max_nodes [49]."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.core.jit import by_reference
from fedsched.engine.compatibility import FIXED_SHAPES
from fedsched.engine.pack.node_caps import caps_table
from fedsched.engine.pack.power_cap_arrays import exceed_caps
from fedsched.model.constraints.dependencies import awaited_ends, ends_of_shapes
from fedsched.model.jobs.admission import refusals
from fedsched.model.jobs.shaping import every_shape
from fedsched.model.jobs.uneven import are_uneven, counted_tasks, counted_tasks_per_node, most_nodes, widest_tasks
from fedsched.model.machine.counters import counters_of, exceed_limits
from fedsched.model.machine.limits import names_limited_by
from fedsched.model.reading import USUAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Ints
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading


def refuse_open_sizes(noun: str, workload: Workload, federation: Federation) -> None:
    """Raise InfeasibleError if a shape chosen later decides whether a job exceeds a max_nodes or a limit alone."""
    if what := _over_by_placement(workload, federation):
        raise InfeasibleError(f"{noun}: {what} depends on the jobs' shapes; {FIXED_SHAPES}.")


def _over_by_placement(workload: Workload, federation: Federation) -> str:
    """Return, in words, a max_nodes or a limit that a job in its widest shape may exceed alone [76]; '' if none.

    Only uneven jobs with several shapes count: their number of nodes depends on the placement.
    """
    several = np.zeros(0, np.bool_) if workload.alternatives is None else np.diff(workload.alternatives.first) > 1
    odd = several & are_uneven(workload) if several.size else several
    if not odd.any():
        return ""
    most = most_nodes(workload, federation, widest_tasks(workload))
    limited = {one.name: one.max_nodes for one in federation.partitions if one.max_nodes is not None}
    of_job = names_limited_by(workload, federation, "partition")
    for row in np.flatnonzero(odd).tolist():
        if (name := str(of_job[row])) in limited and most[row] > limited[name]:
            return f"max_nodes of partition {name!r}"
    counters = counters_of(workload, federation)
    for entry in np.flatnonzero((counters.row >= 0) & odd[counters.job]).tolist():
        counter = counters.counter[entry]
        if most[counters.job[entry]] * counters.of_node[counters.row[entry]].max() > counters.amount[counter]:
            return f"the limit of {counters.names[counter]}"
    return ""


@by_reference
class Possible(NamedTuple):
    """Every possible shape of every job, as a job of its own; shapes are sorted by job, the present shape first."""

    each: Workload
    owner: Ints  # the row of the job with this shape
    which: Ints  # its place among that job's alternatives; 0 if it has none
    caps: Ints  # distinct rows of caps
    row_of: Ints  # the row of caps of each shape

    @property
    def first(self) -> Ints:
        """Return the index at which each job's shapes begin; one more entry is where those of the last job end."""
        return np.searchsorted(self.owner, np.arange(self.owner[-1] + 2))


def possible_shapes(
    workload: Workload,
    federation: Federation,
    caps: NDArray[np.int64] | None = None,
    *,
    reading: Reading = USUAL,
    t0: float | None = None,
) -> Possible:
    """Return the shapes that fit on the federation, under its limits, and under its power caps from `t0` on.

    `t0` None stands for the first submit. A job's present shape is always included. If plans choose shapes and others
    start only if a job ends well, or badly, its shapes are those in which it ends as in its present one. Raise
    InfeasibleError if the federation refuses a job.
    """
    table, row_of_job = caps_table(workload, federation, caps)
    each, owner, which = every_shape(workload, federation)
    row_of = row_of_job[owner]
    held, tasks = table[row_of], each.tasks
    if are_uneven(each).any():  # places for tasks [76]
        held, tasks = held * counted_tasks_per_node(each, federation), counted_tasks(each)
    fits = held.sum(axis=1) >= tasks
    fits &= ~exceed_caps(each, federation, float(workload.submit.min()) if t0 is None else t0)
    fits &= ~exceed_limits(each, federation)
    if reading.is_free(workload):
        fits &= _end_as_awaited(workload, each, owner, reading)
    if federation.binds_by_labels:
        fits[list(refusals(each, federation))] = False
    fits[np.flatnonzero(np.diff(owner, prepend=-1))] = True  # a present shape that does not fit is refused by `pack`
    kept = np.flatnonzero(fits)
    return Possible(each.take(kept), owner[kept], which[kept], table, row_of[kept])


def _end_as_awaited(workload: Workload, each: Workload, owner: Ints, reading: Reading) -> NDArray[np.bool_]:
    """Return which shapes let others start as the present shape does: those in which a job ends as in that one.

    It is True for all shapes of a job if no other waits for its good, or its bad, end.
    """
    ends, present = ends_of_shapes(workload, each, owner, reading), np.flatnonzero(np.diff(owner, prepend=-1))
    return ~awaited_ends(workload)[owner] | (ends == ends[present][owner])
