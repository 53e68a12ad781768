"""Compiled operators on rows: crossover of two plans, and the random moves of mutation and local search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import flag, inlined, kernel, part
from fedsched.core.random import begin_stream, below, uniform
from fedsched.engine.pack.shape_arrays import choices_begin, inherit_shape, tasks_in
from fedsched.search.encoding.genome import keep_placeable, make_placeable, takes_any_nodes

if TYPE_CHECKING:
    from fedsched.core.random import Stream
    from fedsched.engine.arrays.structs import Floats, Ints, Problem, State
    from fedsched.engine.pack.shape_arrays import Shapes
    from fedsched.search.encoding.genome import Space

LONGEST_BLOCK = 8  # most jobs that an insertion moves together
CAP_SHARE = 0.2  # share of the moves that change caps; 0 if there is one group
JOB_SHARE = 0.3  # share of the moves that change order and caps
RULE_SHARE = 0.03  # share of the moves that change the rules
SWAP_SHARE = 0.25  # share of the moves of order that swap two jobs; the others insert
SHAPE_SHARE = 0.2  # share of the moves that change a shape, if plans choose shapes
NEAR_SHARE = 0.5  # share of the insertions that stay near
LATE_SHARE = 0.5  # share of the moves with the job that ends last among LATE_AMONG random ones
LATE_AMONG = 6
OPEN = flag(True)


# ---- crossover ------------------------------------------------------------------------------------------------------


@part
def _cross(space: Space, first: Ints, second: Ints, child: Ints, taken: Ints, stream: Stream) -> None:
    # Order crossover: a section of the first parent stays in place, the rest follows the second parent's order.
    # Caps: each job's row comes from one parent, at random.
    jobs, groups = space.limits.shape
    begin = below(stream, jobs)
    end = begin + 1 + below(stream, jobs - begin)
    for j in range(jobs):
        taken[j] = 0
    for i in range(begin, end):
        child[i] = first[i]
        taken[first[i]] = 1
    place = 0
    for i in range(jobs):
        j = second[i]
        if taken[j] == 1:
            continue
        if place == begin:
            place = end
        child[place] = j
        place += 1
    for j in range(jobs):
        base = jobs + j * groups
        from_first = uniform(stream) < 0.5
        for g in range(groups):
            child[base + g] = first[base + g] if from_first else second[base + g]
        inherit_shape(space.common.shapes, groups, first if from_first else second, child, j)
    from_first = uniform(stream) < 0.5
    for i in range(jobs * (1 + groups), choices_begin(jobs, groups)):
        child[i] = first[i] if from_first else second[i]


@part
def _repair_for_rule(problem: Problem, space: Space, row: Ints, state: State) -> None:
    # Caps that are feasible under one placement rule may be infeasible under another.
    jobs, groups = space.limits.shape
    if not takes_any_nodes(row[jobs * (1 + groups) + 1]):
        for j in range(jobs):
            keep_placeable(problem, space, row, j, state)


@kernel
def cross_rows(
    problem: Problem,
    space: Space,
    parents: Ints,
    pairs: Ints,
    children: Ints,
    taken: Ints,
    stream: Stream,
    seed: int,
    generation: int,
    state: State,
) -> None:
    """Fill one row of `children` for each pair of parents (pairs × 2 row numbers), and make it feasible.

    The order is crossed; each job's caps and shape, and the rules, come from either parent. Each pair has its own
    random stream.
    """
    jobs, groups = space.limits.shape
    placement = jobs * (1 + groups) + 1
    for c in range(pairs.shape[0]):
        begin_stream(stream, seed, generation, c)
        first, second = parents[pairs[c, 0]], parents[pairs[c, 1]]
        _cross(space, first, second, children[c], taken, stream)
        if first[placement] != second[placement]:  # else all caps are feasible under the common rule
            _repair_for_rule(problem, space, children[c], state)


# ---- moves ----------------------------------------------------------------------------------------------------------


@inlined
def _reverse(order: Ints, begin: int, end: int) -> None:
    low, high = begin, end - 1
    while low < high:
        order[low], order[high] = order[high], order[low]
        low += 1
        high -= 1


@inlined
def _place_of_one(row: Ints, ends: Floats, jobs: int, stream: Stream) -> int:
    # A place in the queue: a random one, or that of a job that ends late, as moving it helps most.
    place = below(stream, jobs)
    if uniform(stream) < LATE_SHARE:
        for _ in range(LATE_AMONG - 1):
            other = below(stream, jobs)
            if ends[row[other]] > ends[row[place]]:
                place = other
    return place


@part
def _insert(row: Ints, ends: Floats, jobs: int, stream: Stream) -> None:
    # Moves a block of jobs to another place, as a rotation of the section between the two.
    length = 1
    while length < LONGEST_BLOCK and length < jobs - 1 and uniform(stream) < 0.4:
        length += 1
    begin = min(_place_of_one(row, ends, jobs, stream), jobs - length)
    places = jobs - length + 1  # where the block may begin
    if uniform(stream) < NEAR_SHARE:
        reach = 1 + jobs // 10
        to = min(max(begin - reach + below(stream, 2 * reach + 1), 0), places - 1)
    else:
        to = below(stream, places)
    if to < begin:
        low, middle, high = to, begin, begin + length
    else:
        low, middle, high = begin, begin + length, to + length
    _reverse(row, low, middle)
    _reverse(row, middle, high)
    _reverse(row, low, high)


@inlined
def _swap(row: Ints, ends: Floats, jobs: int, stream: Stream) -> None:
    a, b = _place_of_one(row, ends, jobs, stream), below(stream, jobs)
    row[a], row[b] = row[b], row[a]


@inlined
def _set_cluster(problem: Problem, space: Space, row: Ints, j: int, cluster: int, open_it: bool, state: State) -> None:
    # Forbids or allows a cluster to a job.
    jobs, groups = space.limits.shape
    base = jobs + j * groups
    for g in range(problem.groups.cluster_begin[cluster], problem.groups.cluster_begin[cluster + 1]):
        row[base + g] = space.limits[j, g] if open_it else 0
    keep_placeable(problem, space, row, j, state)


@part
def _move_caps(problem: Problem, space: Space, row: Ints, ends: Floats, stream: Stream, state: State) -> None:
    jobs, groups = space.limits.shape
    cluster = below(stream, problem.groups.uplink.size)
    open_it = uniform(stream) < 0.5
    kind = uniform(stream)
    if kind < 0.25:  # a cluster, for a section of the queue
        length = 1 + below(stream, 1 + jobs // 8)
        begin = below(stream, jobs - length + 1)
        for i in range(begin, begin + length):
            _set_cluster(problem, space, row, row[i], cluster, open_it, state)
    elif kind < 0.4:  # a cluster, for one job
        _set_cluster(problem, space, row, row[_place_of_one(row, ends, jobs, stream)], cluster, open_it, state)
    elif kind < 0.65:  # one job bound to a cluster
        j = row[_place_of_one(row, ends, jobs, stream)]
        for g in range(groups):
            row[jobs + j * groups + g] = 0
        _set_cluster(problem, space, row, j, cluster, OPEN, state)
    elif kind < 0.85:  # two jobs exchange their caps
        a, b = row[_place_of_one(row, ends, jobs, stream)], below(stream, jobs)
        for g in range(groups):
            x, y = jobs + a * groups + g, jobs + b * groups + g
            row[x], row[y] = row[y], row[x]
        make_placeable(problem, space, row, a, state)
        make_placeable(problem, space, row, b, state)
    elif kind < 0.9:  # a cluster, for all jobs up to a size, or from it on
        size = tasks_in(space.common.shapes, problem, groups, row, below(stream, jobs))
        small = uniform(stream) < 0.5
        for j in range(jobs):
            tasks = tasks_in(space.common.shapes, problem, groups, row, j)
            if (small and tasks <= size) or (not small and tasks >= size):
                _set_cluster(problem, space, row, j, cluster, open_it, state)
    elif kind < 0.95:  # all nodes allowed to one job
        j = below(stream, jobs)
        for g in range(groups):
            row[jobs + j * groups + g] = space.limits[j, g]
    else:  # a random number of one group's nodes, for one job
        j, g = below(stream, jobs), below(stream, groups)
        row[jobs + j * groups + g] = below(stream, space.limits[j, g] + 1)
        make_placeable(problem, space, row, j, state)


@inlined
def move_within(queue: Ints, place: int, to: int) -> None:
    """Move the job at a place of a queue to another place; the jobs between shift."""
    j = queue[place]
    step = 1 if to > place else -1
    while place != to:
        queue[place] = queue[place + step]
        place += step
    queue[to] = j


@part
def _move_jobs(problem: Problem, space: Space, row: Ints, ends: Floats, stream: Stream, state: State) -> None:
    # Order and caps change together, as the value of a place in the queue depends on the nodes.
    jobs, groups = space.limits.shape
    a = _place_of_one(row, ends, jobs, stream)
    b = below(stream, jobs)
    if uniform(stream) < 0.5:  # two jobs exchange places and caps
        first, second = row[a], row[b]
        row[a], row[b] = second, first
        for g in range(groups):
            x, y = jobs + first * groups + g, jobs + second * groups + g
            row[x], row[y] = row[y], row[x]
        make_placeable(problem, space, row, first, state)
        make_placeable(problem, space, row, second, state)
    else:  # a job is bound to a cluster, at another place
        j = row[a]
        move_within(row, a, b)
        for g in range(groups):
            row[jobs + j * groups + g] = 0
        _set_cluster(problem, space, row, j, below(stream, problem.groups.uplink.size), OPEN, state)


@part
def _move_rules(problem: Problem, space: Space, row: Ints, stream: Stream, state: State) -> None:
    jobs, groups = space.limits.shape
    end = jobs * (1 + groups)
    if space.placements.size > 1 and uniform(stream) < 0.8:
        row[end + 1] = space.placements[below(stream, space.placements.size)]
        _repair_for_rule(problem, space, row, state)
    else:
        row[end] = space.dispatches[below(stream, space.dispatches.size)]


@inlined
def _move_shape(
    shapes: Shapes | None, problem: Problem, space: Space, row: Ints, ends: Floats, stream: Stream, state: State
) -> bool:
    # Gives one job another shape; returns False if this move is of another kind, or plans do not choose shapes.
    if shapes is None:
        return False
    if uniform(stream) >= SHAPE_SHARE:
        return False
    jobs, groups = space.limits.shape
    j = shapes.choosers[below(stream, shapes.choosers.size)]
    if uniform(stream) < LATE_SHARE:
        for _ in range(LATE_AMONG - 1):
            other = shapes.choosers[below(stream, shapes.choosers.size)]
            if ends[other] > ends[j]:
                j = other
    at = choices_begin(jobs, groups) + j
    choice = below(stream, shapes.first[j + 1] - shapes.first[j] - 1)
    row[at] = choice + 1 if choice >= row[at] else choice
    keep_placeable(problem, space, row, j, state)
    return True


@part
def move(problem: Problem, space: Space, row: Ints, ends: Floats, stream: Stream, state: State) -> None:
    """Change a plan in place by one random move of order, caps, rules or a shape; it stays feasible.

    `ends` holds the jobs' ends as far as known: jobs that end late are moved more often.
    """
    jobs, groups = space.limits.shape
    if _move_shape(space.common.shapes, problem, space, row, ends, stream, state):
        return
    kind = uniform(stream)
    if kind < RULE_SHARE:
        _move_rules(problem, space, row, stream, state)
    elif (groups > 1 and kind < RULE_SHARE + CAP_SHARE) or jobs == 1:
        _move_caps(problem, space, row, ends, stream, state)
    elif groups > 1 and kind < RULE_SHARE + CAP_SHARE + JOB_SHARE:
        _move_jobs(problem, space, row, ends, stream, state)
    elif uniform(stream) < SWAP_SHARE:
        _swap(row, ends, jobs, stream)
    else:
        _insert(row, ends, jobs, stream)


@kernel
def mutate_rows(
    problem: Problem,
    space: Space,
    rows: Ints,
    moves: Ints,
    ends: Floats,
    stream: Stream,
    seed: int,
    generation: int,
    state: State,
) -> None:
    """Change each row in place by its number of random moves, `moves[row]`; each row has its own random stream."""
    for c in range(rows.shape[0]):
        begin_stream(stream, seed, generation, c)
        for _ in range(moves[c]):
            move(problem, space, rows[c], ends, stream, state)
