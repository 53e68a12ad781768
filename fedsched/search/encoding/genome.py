"""Plans as rows of whole numbers, for all searches: where the parts of a row are, its decoding, and its repair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, constant, inlined, kernel, part
from fedsched.engine.codes import Placement
from fedsched.engine.optional_features import limits
from fedsched.engine.pack.shape_arrays import shape_job, tasks_in
from fedsched.engine.placement.node_choice import place
from fedsched.engine.placement.tasks_per_node import is_uneven
from fedsched.engine.run.evaluate import Common, Layout, plan_of

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints, Problem, State


@dataclass(frozen=True, slots=True)
class PlanLayout(Layout):
    """The parts of a plan's row of whole numbers (int64), for J jobs and G node groups, in this order.

    - J rows of the workload: the queue order.
    - J × G caps: how many nodes of each group a job may use, at most its tasks; 0 forbids the group.
    - Two numbers: the dispatch rule and the placement rule, of `fedsched.engine.codes`.
    - J indices of the jobs' shapes, if plans choose shapes.
    - J delays in seconds, if plans delay jobs.

    Examples
    --------
    >>> objectives = fs.search.Objectives.of("makespan")
    >>> problem = fs.search.SearchProblem(fs.read("sample").head(3), fs.Federation.of(128), objectives)
    >>> row = problem.row([2, 0, 1])
    >>> row.tolist()
    [2, 0, 1, 1, 8, 16, 1, 0]
    >>> problem.layout.orders(row[None]), problem.layout.caps(row[None]).shape
    (array([[2, 0, 1]]), (1, 3, 1))
    """

    delayed: bool = False  # whether rows have delays

    @property
    def read(self) -> int:
        """Return how many numbers of a row kernels read: all except the delays."""
        return self._unshaped + self.jobs * self.shaped

    @property
    def length(self) -> int:
        """Return the number of elements of a row, delays included."""
        return self.read + self.jobs * self.delayed

    def choices(self, rows: Ints) -> Ints:
        """Return the index of each job's shape in these rows, as a view; 0 is the job's present shape."""
        return rows[:, self._unshaped : self.read]

    def delays(self, rows: Ints) -> Ints:
        """Return each job's delay in seconds in these rows, as a view."""
        return rows[:, self.read :]

    def pack(
        self, orders: Ints, caps: Ints, rules: Ints, choices: Ints | None = None, delays: Ints | None = None
    ) -> Ints:
        """Return rows made of their parts; without `delays` no job is put off. A layout without delays ignores them."""
        rows = Layout.pack(self, orders, caps, rules, choices)
        if not self.delayed:
            return rows
        return np.concatenate([rows, np.zeros_like(orders) if delays is None else delays], axis=1, dtype=np.int64)


ROUNDING = 1e-9
ANY_NODES = tuple(int(x) for x in (Placement.FASTEST, Placement.BEST_FIT, Placement.EFFICIENT, Placement.POWERFUL))


@by_reference
class Space(NamedTuple):
    """What the search kernels read besides the Problem: each job's limits by group, the nodes, the allowed rules."""

    common: Common
    limits: Ints  # jobs × groups: caps that forbid nothing; a row's jobs are the problem's first ones
    nodes: Ints  # nodes of each group, all free
    no_load: Floats
    placements: Ints  # placement rules under which every job fits on the empty federation
    dispatches: Ints


@part
def _fits_empty(problem: Problem, space: Space, row: Ints, j: int, state: State) -> bool:
    shape_job(space.common.shapes, space.limits.shape[1], row, j)
    plan = plan_of(space.common.shared, space.limits.shape[0], space.limits.shape[1], row)
    placed = place(problem, plan, j, space.nodes, space.no_load, state)
    return placed and limits.allow_alone(problem.extras, j, state.scratch.chosen)


@inlined
def takes_any_nodes(placement: int) -> bool:
    """Return whether a placement rule can place every job on any allowed nodes that are enough, wherever they are."""
    return placement in ANY_NODES


@inlined
def keep_placeable(problem: Problem, space: Space, row: Ints, j: int, state: State) -> None:
    """Do as `make_placeable` for a job with caps within their limits, but faster.

    If the sum of its caps shows that the job fits, nothing else is done. Jobs with different numbers of tasks per
    node always go through `make_placeable`.
    """
    jobs, groups = space.limits.shape
    base = jobs + j * groups
    tasks = tasks_in(space.common.shapes, problem, groups, row, j)
    placement = row[jobs * (1 + groups) + 1]
    if is_uneven(problem.extras, j):  # its tasks per node differ, so sums of nodes do not tell
        make_placeable(problem, space, row, j, state)
        return
    begin = problem.groups.cluster_begin
    allowed = 0
    for k in range(begin.size - 1):
        here = 0
        for g in range(begin[k], begin[k + 1]):
            here += row[base + g]
        if here >= tasks and placement != Placement.HOME:
            return  # one cluster holds it, which suffices for every rule but `home`
        allowed += here
    if allowed < tasks or not takes_any_nodes(placement):
        make_placeable(problem, space, row, j, state)


@part
def make_placeable(problem: Problem, space: Space, row: Ints, j: int, state: State) -> None:
    """Clip a job's caps in the row to 0…limit; then raise them until the job fits on the empty federation.

    A group's cap is raised to its limit at once, the group with the smallest forbidden share first.
    """
    jobs, groups = space.limits.shape
    base = jobs + j * groups
    allowed = 0
    for g in range(groups):
        row[base + g] = min(max(row[base + g], 0), space.limits[j, g])
        allowed += row[base + g]
    tasks = tasks_in(space.common.shapes, problem, groups, row, j)
    anywhere = takes_any_nodes(row[jobs * (1 + groups) + 1]) and not is_uneven(problem.extras, j)
    while True:
        if allowed >= tasks and (anywhere or _fits_empty(problem, space, row, j, state)):
            return
        chosen = -1
        least = 2.0
        for g in range(groups):
            limit = space.limits[j, g]
            if row[base + g] < limit:
                weight = (space.nodes[g] - row[base + g]) / space.nodes[g]
                if weight < least:
                    chosen, least = g, weight
        if chosen < 0:
            return  # nothing is forbidden; `space.placements` has only rules under which the job fits
        allowed += space.limits[j, chosen] - row[base + chosen]
        row[base + chosen] = space.limits[j, chosen]


@kernel
def repair(problem: Problem, space: Space, rows: Ints, state: State) -> None:
    """Make every row feasible, in place: caps within their limits, each job placeable on the empty federation."""
    for c in range(rows.shape[0]):
        for j in range(space.limits.shape[0]):
            make_placeable(problem, space, rows[c], j, state)


@kernel
def decode_weights(problem: Problem, space: Space, weights: Floats, rows: Ints, state: State) -> None:
    """Set the rows' caps from weights in [0, 1] (rows × jobs·groups) and write the repaired weights back.

    A weight w forbids ⌊w·count + 1e-9⌋ nodes of the group to the job.
    """
    jobs, groups = space.limits.shape
    for c in range(rows.shape[0]):
        for j in range(jobs):
            for g in range(groups):
                i = j * groups + g
                forbidden = int(np.floor(weights[c, i] * space.nodes[g] + ROUNDING))
                rows[c, jobs + i] = min(space.nodes[g] - forbidden, space.limits[j, g])
            keep_placeable(problem, space, rows[c], j, state)
            for g in range(groups):
                i = j * groups + g
                weights[c, i] = (space.nodes[g] - rows[c, jobs + i]) / space.nodes[g]


# Kinds of faults of a row, and their number.
ORDER_FAULT, RULE_FAULT, CAP_FAULT, SHAPE_FAULT = constant(0), constant(1), constant(2), constant(3)
FAULTS = constant(4)


@kernel
def first_fault(
    rows: Ints, groups: int, dispatches: Ints, placements: int, shapes: Ints, least: int, marks: Ints
) -> int:
    """Return FAULTS·k + the kind of fault of the first row k that kernels could not read as a plan, or -1.

    `shapes` has the number of shapes of each job, or is empty if plans choose none. `least` is the least cap that is
    no fault. `marks` is scratch memory: one number a job.
    """
    jobs = marks.size
    rules = jobs * (1 + groups)
    for k in range(rows.shape[0]):
        marks[:] = 0
        for i in range(jobs):
            j = rows[k, i]
            if j < 0 or j >= jobs or marks[j] == 1:
                return FAULTS * k + ORDER_FAULT
            marks[j] = 1
        known = False
        for dispatch in dispatches:
            known = known or dispatch == rows[k, rules]
        if not known or rows[k, rules + 1] < 0 or rows[k, rules + 1] >= placements:
            return FAULTS * k + RULE_FAULT
        for i in range(jobs, rules):
            if rows[k, i] < least:
                return FAULTS * k + CAP_FAULT
        for j in range(shapes.size):
            if rows[k, rules + 2 + j] < 0 or rows[k, rules + 2 + j] >= shapes[j]:
                return FAULTS * k + SHAPE_FAULT
    return -1
