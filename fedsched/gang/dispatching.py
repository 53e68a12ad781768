"""Kernels of the dispatchers, which choose a job's site, and the processors within it at which its tasks queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.gang.state import NONE, Dispatch, Grid, LocalSite, Routing, remaining, uniform_of

if TYPE_CHECKING:
    from fedsched.gang.state import Inputs, State

TOP = constant(0)  # of a heap
ANY, IDLE, RUNS_GANG = constant(0), constant(1), constant(2)  # the processors that a local job may choose from


# ---- the grid's dispatcher ----------------------------------------------------------------------------------------


@part
def tasks_at(inputs: Inputs, state: State, site: int) -> int:
    """Return the number of tasks that wait or run at a site: the load of eq. 1 times the number of processors."""
    count = 0
    for p in range(inputs.site_first[site], inputs.site_first[site + 1]):
        count += state.queued[p]
    return count + inputs.site_first[site + 1] - inputs.site_first[site] - state.idle[site]


@part
def choose_site(inputs: Inputs, state: State, job: int, at_random: bool) -> int:
    """Return a site with enough processors for a job, or NONE: the least loaded (eq. 1), or any if `at_random`.

    Ties are broken at random.
    """
    size, sites = inputs.size[job], inputs.site_first.size - 1
    ties = 0
    best_tasks, best_processors = 0, 1
    for pick in range(2):  # first count the ties, then return the drawn one
        seen = 0
        wanted = (inputs.drawn[job] >> 31) % ties if ties > 0 else 0
        for s in range(sites):
            processors = inputs.site_first[s + 1] - inputs.site_first[s]
            if processors < size:
                continue
            if at_random:
                tasks, processors = 0, 1
            else:
                tasks = tasks_at(inputs, state, s)
            equal = tasks * best_processors == best_tasks * processors
            if pick == 1:
                if equal:
                    if seen == wanted:
                        return s
                    seen += 1
            elif ties == 0 or tasks * best_processors < best_tasks * processors:
                best_tasks, best_processors, ties = tasks, processors, 1
            elif equal:
                ties += 1
    return NONE


# ---- the local dispatcher of gangs --------------------------------------------------------------------------------


@inlined
def weight_of(inputs: Inputs, state: State, job: int, p: int) -> float:
    """Return the key of a processor by the site's dispatch rule; processors with lower keys get tasks first."""
    rule = inputs.rules.dispatch
    busy = state.running[p] != NONE
    if rule == Dispatch.OLB:  # shuffle(idle) + shuffle(busy)
        return uniform_of(inputs.drawn[job], inputs.salt[p]) + (1.0 if busy else 0.0)
    if rule == Dispatch.JSQ:
        return float(state.queued[p])
    if rule == Dispatch.ALD:  # N(q) = n + t
        return float(state.queued[p] + (1 if busy else 0))
    if rule == Dispatch.JSEQ:
        return remaining(state, p) + state.backlog[p]
    return remaining(state, p)


@inlined
def _after(state: State, a: int, b: int) -> bool:
    return state.weight[a] > state.weight[b] or (state.weight[a] == state.weight[b] and a > b)


@part
def _sift(state: State, root: int, size: int) -> None:
    order, moved = state.order, state.order[root]
    while True:
        child = 2 * root + 1
        if child >= size:
            break
        if child + 1 < size and _after(state, order[child + 1], order[child]):
            child += 1
        if not _after(state, order[child], moved):
            break
        order[root] = order[child]
        root = child
    order[root] = moved


@part
def sort_processors(state: State, count: int) -> None:
    """Sort the first `count` processors of `order` by weight, then number, with a heap sort."""
    order = state.order
    for root in range(count // 2 - 1, -1, -1):
        _sift(state, root, count)
    for last in range(count - 1, 0, -1):
        order[0], order[last] = order[last], order[0]
        _sift(state, TOP, last)


@part
def place_gang(inputs: Inputs, state: State, job: int, first: int, last: int) -> None:
    """Write into state.placed a processor of the range for every task of a gang, by the local dispatcher's rule."""
    for p in range(first, last):
        state.order[p - first] = p
        state.weight[p] = weight_of(inputs, state, job, p)
    sort_processors(state, last - first)
    begin = inputs.offset[job]
    for k in range(inputs.size[job]):
        state.placed[begin + k] = state.order[k]


# ---- the local dispatcher of local jobs ---------------------------------------------------------------------------


@part
def gang_wait(inputs: Inputs, state: State, job: int) -> float:
    """Return a lower bound on a placed gang's wait: until the last of its processors ends its running job."""
    time = 0.0
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        time = max(time, remaining(state, state.placed[task]))
    return time


@inlined
def may_overtake(inputs: Inputs, state: State, local: int, p: int, gang: int) -> bool:
    """Return whether a local job may overtake a gang at its processor: service <= the gang's wait + T."""
    return state.left[local] * inputs.slow[p] <= gang_wait(inputs, state, gang) + inputs.rules.threshold


@part
def may_start_at_once(inputs: Inputs, state: State, job: int, p: int) -> bool:
    """Return whether a processor can start a local job now: it is idle, and the job may overtake its queue's head."""
    if state.running[p] != NONE:
        return False
    if state.queued[p] == 0:
        return True
    multi_site = inputs.rules.grid == Grid.MULTI_SITE
    return multi_site and may_overtake(inputs, state, job, p, inputs.job_of[state.head[p]])


@inlined
def _open_to(inputs: Inputs, state: State, p: int, among: int) -> bool:
    job = state.running[p]
    if among == IDLE:
        return job == NONE
    if among == RUNS_GANG:
        return job != NONE and inputs.local[job] == 0
    return True


@part
def choose_processor(inputs: Inputs, state: State, job: int, first: int, last: int, among: int) -> int:
    """Return the processor in a range that a local job goes to, by the routing rule; NONE if there is none.

    `among` says which processors count: all (ANY), IDLE ones, or those that run a gang (RUNS_GANG).
    """
    routing = inputs.rules.routing
    prefers_idle = routing in (Routing.IDLE_FIRST, Routing.FASTEST)
    best, ties = NONE, 0
    least_class, least = 0, 0.0
    for p in range(first, last):
        if not _open_to(inputs, state, p, among):
            continue
        at_once = prefers_idle and may_start_at_once(inputs, state, job, p)
        rank = 0 if at_once else 1
        if routing == Routing.DISPATCH:
            weight = weight_of(inputs, state, job, p)
        elif routing == Routing.FASTEST:
            weight = inputs.slow[p] if at_once else remaining(state, p) + state.backlog[p]
        else:
            weight = 0.0 if rank == 0 else float(state.queued[p])
        if best == NONE or rank < least_class or (rank == least_class and weight < least):
            best, ties, least_class, least = p, 1, rank, weight
        elif rank == least_class and weight == least:
            ties += 1
            state.order[ties - 1] = p
        if ties == 1:
            state.order[0] = best
    if ties > 1 and routing in (Routing.SHORTEST_WAITING, Routing.IDLE_FIRST):
        return state.order[inputs.drawn[job] % ties]
    return best


@part
def local_range(inputs: Inputs, state: State, job: int) -> tuple[int, int]:
    """Return the range of processors open to a local job: those of its own site, of a chosen site, or of all sites."""
    site = inputs.home[job]
    if site == NONE:
        if inputs.rules.local_site == LocalSite.ANY:
            return inputs.site_first[0], inputs.site_first[-1]
        at_random = inputs.rules.local_site == LocalSite.RANDOM or inputs.rules.grid == Grid.RANDOM
        site = choose_site(inputs, state, job, at_random)
    return inputs.site_first[site], inputs.site_first[site + 1]
