"""Windows: times in which nodes are closed by maintenance or reservations, or are drained or down [38 to 40, 46]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.slurm.loop.structs import Counter, Setting
from fedsched.slurm.nodes.node_sets import meet

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Problem, State, Words

NEVER = constant(2**62)
LATE = constant(-1)  # no second of a run is below 0


@part
def next_edge(problem: Problem, state: State) -> int:
    """Return when a window next becomes known, begins or ends; NEVER if none does."""
    edges, passed = problem.windows.edges, state.counter[Counter.EDGES]
    return edges[passed] if passed < edges.size else NEVER


@inlined
def next_hit(problem: Problem, state: State) -> int:
    """Return when a downtime next takes nodes from running jobs; NEVER if none does."""
    windows, taken = problem.windows, state.counter[Counter.TAKEN]
    return windows.hit[windows.taking[taken]] if taken < windows.taking.size else NEVER


@part
def take_edges(problem: Problem, state: State, now: int) -> bool:
    """Update the list of windows that are known and not over, up to `now`.

    Return whether nodes that were down have come up again.
    """
    windows, counter = problem.windows, state.counter
    if next_edge(problem, state) > now:
        return False
    before = windows.edges[counter[Counter.EDGES] - 1] if counter[Counter.EDGES] > 0 else -NEVER
    while next_edge(problem, state) <= now:
        counter[Counter.EDGES] += 1
    visible, up = 0, False
    for w in range(windows.begin.size):
        if windows.known[w] <= now < windows.end[w]:
            state.visible[visible] = w
            visible += 1
        elif windows.broken[w] == 1 and before < windows.end[w] <= now:
            up = True
    counter[Counter.VISIBLE] = visible
    return up


@part
def close(problem: Problem, state: State, job: int, since: int, usable: Words) -> bool:
    """Remove from `usable` the nodes that are closed in a job's time limit from `since` on, by the windows known now.

    Return whether maintenance or a reservation, not a failure, closes some of them.
    """
    windows, taken = problem.windows, False
    until = since + problem.jobs.limit[job]
    for place in range(state.counter[Counter.VISIBLE]):
        w = state.visible[place]
        if windows.begin[w] >= until or windows.planned_end[w] <= since:
            continue
        if windows.reservation[w] >= 0 and windows.reservation[w] == problem.jobs.reservation[job]:
            continue
        if windows.broken[w] == 0 and meet(windows.nodes[w], usable):
            taken = True
        for k in range(usable.size):
            usable[k] &= ~windows.nodes[w, k]
    return taken


@part
def open_nodes(problem: Problem, state: State, job: int, since: int, found: Words) -> None:
    """Set `found` to the nodes of a job's partition and reservation that are not closed during its run from `since` on.

    They include nodes that the job cannot use, as they lack features or are too small.
    """
    windows, reservation = problem.windows, problem.jobs.reservation[job]
    partition = problem.machine.partitions[problem.jobs.partition[job]]
    for k in range(found.size):
        found[k] = partition[k]
    for w in range(windows.begin.size):
        if reservation >= 0 and windows.reservation[w] == reservation:
            for k in range(found.size):
                found[k] &= windows.nodes[w, k]
    close(problem, state, job, since, found)


@part
def ends_in_time(problem: Problem, job: int, now: int) -> bool:
    """Return whether a job that starts now ends within its reservation; True if it has none."""
    reservation = problem.jobs.reservation[job]
    return reservation < 0 or now + problem.jobs.planned[job] <= problem.windows.ends[reservation]


@part
def next_end_of_reservations(problem: Problem, state: State, since: int) -> int:
    """Return the next planned end, `since` or later, of a known maintenance or reservation, or NEVER.

    It is rounded up to bf_resolution in seconds since 1970, plus one second.
    """
    windows, found = problem.windows, NEVER
    for place in range(state.counter[Counter.VISIBLE]):
        w = state.visible[place]
        if windows.broken[w] == 0 and windows.planned_end[w] >= since:
            found = min(found, windows.planned_end[w])
    if found == NEVER:
        return NEVER
    resolution, epoch = problem.settings[Setting.BF_RESOLUTION], problem.settings[Setting.EPOCH]
    return found + (-(found + epoch)) % resolution + 1
