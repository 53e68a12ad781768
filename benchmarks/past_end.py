"""Lists of jobs that fill holes, annealed by how much of the plan lies past an end that is wished for; compiled.

A makespan alone says little of a list: of most changes it stays as it is, or grows. What is past the end that is wished
for, each job's nodes at a bound's prices, says how much is still to be put elsewhere; at nothing the wish is fulfilled.
A job is put into the first hole of its room that holds it, so that the best plans have lists. Of energy the end that
is wished for is changed too, and counts with what busy nodes draw more than idle ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np
from free_blocks import Blocks, Lines
from priced_lists import first_orders, list_of, place_around, problem_of, some_of, with_other_place

if TYPE_CHECKING:
    from free_blocks import Lists

    from fedsched.bench import Document
    from fedsched.model.schedule.schedule import Schedule

MOST_PARTED = 6  # groups of which each part is a room
EVERY = 8  # jobs of a list, after which what is free is kept
LATE = 0.02  # what counts of the last end past the one that is wished for, and of nodes that have no price
HOT, COLD = 1e-3, 1e-5  # of the end that is wished for: how much worse a list is taken, at first and at last


class Filled(NamedTuple):
    """What a list is evaluated on: jobs × rooms, and what is free before the first job."""

    takes: np.ndarray  # job × room
    fits: np.ndarray  # job × room
    groups: np.ndarray  # room × place: its groups, those of the least price first, then -1
    usual: int  # how many rooms are looked at for a job that has none
    price: np.ndarray  # job × group
    second: np.ndarray  # job × room
    least: np.ndarray  # job
    slow: np.ndarray  # group: 1 / speed
    watts: np.ndarray  # group: 0 where only the end counts
    tasks: np.ndarray
    run: np.ndarray
    share: np.ndarray
    release: np.ndarray
    before: np.ndarray
    since: np.ndarray  # when what is free changes
    free: np.ndarray  # instant × group


class Holes(NamedTuple):
    """What is free from each instant on, after so many jobs: a row for each that is kept, the last one in work."""

    many: np.ndarray  # row
    since: np.ndarray  # row × instant
    free: np.ndarray  # row × instant × group
    drawn: np.ndarray  # row: what is drawn more until then
    past: np.ndarray  # row: what is past the end that is wished for


@numba.njit(cache=True)
def first_hole(of, since, free, size, j, r, ready, least_free):
    """Return the first instant at which a room holds a job, and fill in each group's fewest free nodes from then on."""
    rooms, need, takes = of.groups[r], of.tasks[j], of.takes[j, r]
    k = np.searchsorted(since[:size], ready, side="right") - 1
    start = ready
    while True:
        end, m, total = start + takes, k, 0
        for g in rooms:
            if g < 0:
                break
            least_free[g] = free[k, g]
            total += free[k, g]
        while total >= need and m + 1 < size and since[m + 1] < end:
            m += 1
            for g in rooms:
                if g < 0:
                    break
                if free[m, g] < least_free[g]:
                    total += free[m, g] - least_free[g]
                    least_free[g] = free[m, g]
        if total >= need:
            return start
        here = 0
        for g in rooms:
            if g < 0:
                break
            here += free[m, g]
        k = m + 1 if here < need else k + 1
        if k >= size:
            return np.inf
        start = since[k]


@numba.njit(cache=True)
def edge(since, free, size, at):
    """See to it that what is free is known from an instant on; return its place and how many there are."""
    k = np.searchsorted(since[:size], at)
    if k < size and since[k] == at:
        return k, size
    for m in range(size, k, -1):
        since[m] = since[m - 1]
        free[m] = free[m - 1]
    since[k] = at
    free[k] = free[k - 1]
    return k, size + 1


@numba.njit(cache=True)
def in_turn(of, order):
    """Return a list in which no job comes before one that it waits for."""
    if of.before.shape[1] == 0:
        return order
    jobs = order.size
    placed, found, many = np.zeros(jobs, dtype=np.bool_), np.empty_like(order), 0
    while many < jobs:
        for j in order:
            ready = not placed[j]
            for i in of.before[j]:
                if i >= 0 and not placed[i]:
                    ready = False
            if ready:
                placed[j] = True
                found[many] = j
                many += 1
    return found


@numba.njit(cache=True)
def filled(of, order, forced, weight, wish, dear, begin, holes, keep, into, limit):
    """Fill in the plan of a list from a place on; return its value, or infinity from a limit on."""
    jobs, groups = order.size, of.slow.size
    row = begin // EVERY
    work = holes.many.size - 1
    since, free = holes.since[work], holes.free[work]
    size, drawn, past = holes.many[row], holes.drawn[row], holes.past[row]
    since[:size] = holes.since[row, :size]
    free[:size] = holes.free[row, :size]
    least_free = np.zeros(groups, dtype=np.int64)
    taken, best_taken = least_free.copy(), least_free.copy()
    last = 0.0
    for place in range(row * EVERY):
        last = max(last, into.finish[order[place]])
    for place in range(row * EVERY, jobs):
        if keep and place % EVERY == 0:
            to = place // EVERY
            holes.many[to], holes.drawn[to], holes.past[to] = size, drawn, past
            holes.since[to, :size] = since[:size]
            holes.free[to, :size] = free[:size]
        j = order[place]
        ready = of.release[j]
        for i in of.before[j]:
            if i >= 0:
                ready = max(ready, into.finish[i])
        best, start, finish, pays, draws = np.inf, np.inf, np.inf, 0.0, 0.0
        first, end = (forced[j], forced[j] + 1) if forced[j] >= 0 else (0, of.usual)
        for r in range(first, end):
            if not of.fits[j, r]:
                continue
            at = first_hole(of, since, free, size, j, r, ready, least_free)
            if at == np.inf:
                continue
            need, slowest, paid, watts = of.tasks[j], 0.0, of.second[j, r], 0.0
            taken[:] = 0
            for g in of.groups[r]:
                if g < 0 or need == 0:
                    break
                here = min(need, least_free[g])
                if here > 0:
                    taken[g] = here
                    need -= here
                    slowest = max(slowest, of.slow[g])
                    paid += here * of.price[j, g]
                    watts += here * of.watts[g]
            takes = of.run[j] * (of.share[j] * slowest + 1.0 - of.share[j])
            score = at + takes + weight * (paid * takes - of.least[j])
            if score < best:
                best, start, finish, pays, draws = score, at, at + takes, paid, watts * takes
                best_taken[:] = taken
        drawn += draws
        past += pays * max(0.0, finish - max(start, wish))
        last = max(last, finish)
        if wish + dear * past + LATE * max(0.0, last - wish) + drawn >= limit:
            return np.inf
        into.start[j], into.finish[j] = start, finish
        into.counts[j] = best_taken
        a, size = edge(since, free, size, start)
        b, size = edge(since, free, size, finish)
        for k in range(a, b):
            for g in range(groups):
                free[k, g] -= best_taken[g]
    return wish + dear * past + LATE * max(0.0, last - wish) + drawn


@numba.njit(cache=True)
def moved(order, mine, rng):
    """Return a list in which a job has another place, or has changed it with another one."""
    jobs, what = order.size, rng.random()
    a = np.argmax(order == mine)
    reach = jobs if what < 0.45 else max(3, jobs // 10)
    b = rng.integers(0, a + 1) if what < 0.25 else place_around(a, jobs, reach, rng)
    return with_other_place(order, a, b, what > 0.7)


@numba.njit(cache=True)
def annealed(of, order, forced, weight, wish, dear, fixed, tries, hot, cold, rng):
    """Return the plan of the least makespan, or energy, and that value, that changing lists finds."""
    jobs, rooms, groups = of.tasks.size, of.groups.shape[0], of.slow.size
    rows, most = jobs // EVERY + 2, of.since.size + 2 * jobs + 2
    holes = Holes(
        np.zeros(rows, dtype=np.int64), np.zeros((rows, most)), np.zeros((rows, most, groups), dtype=np.int64),
        np.zeros(rows), np.zeros(rows),
    )  # fmt: skip
    holes.many[0] = of.since.size
    holes.since[0, : of.since.size] = of.since
    holes.free[0, : of.since.size] = of.free
    now = Lines(np.zeros(jobs), np.zeros(jobs), np.zeros((jobs, groups), dtype=np.int64))
    then = Lines(np.zeros(jobs), np.zeros(jobs), np.zeros((jobs, groups), dtype=np.int64))
    found = Lines(np.zeros(jobs), np.zeros(jobs), np.zeros((jobs, groups), dtype=np.int64))
    order = in_turn(of, order)
    value = filled(of, order, forced, weight, wish, dear, 0, holes, True, now, np.inf)
    best, best_order, best_forced, best_weight = np.inf, order, forced, weight
    for n in range(tries + 1):
        if n > 0:
            new_order, new_forced, new_weight, new_wish, begin = order, forced, weight, wish, 0
            what = rng.random()
            mine = rng.integers(0, jobs)
            if rng.random() < 0.3:
                for _ in range(20):
                    if now.finish[mine] > wish:
                        break
                    mine = rng.integers(0, jobs)
            if what < 0.01:
                new_weight = weight * np.exp(rng.normal(0.0, 0.3))
            elif what < 0.02:
                if fixed:
                    continue
                new_wish = wish * np.exp(rng.normal(0.0, 0.003))
            elif what < 0.25 and rooms > 1:
                r = rng.integers(-1, rooms)
                if r == forced[mine] or (r >= 0 and not of.fits[mine, r]):
                    continue
                new_forced = forced.copy()
                new_forced[mine] = r
                begin = np.argmax(order == mine)
            else:
                new_order = in_turn(of, moved(order, mine, rng))
                begin = np.argmax(new_order != order)
                if new_order[begin] == order[begin]:
                    continue
            heat = wish * hot * (cold / hot) ** (n / tries)
            limit = value - heat * np.log(1.0 - rng.random())
            then.finish[:] = now.finish
            tried = filled(of, new_order, new_forced, new_weight, new_wish, dear, begin, holes, False, then, limit)
            if tried > limit:
                continue
            order, forced, weight, wish = new_order, new_forced, new_weight, new_wish
            value = filled(of, order, forced, weight, wish, dear, begin, holes, True, now, np.inf)
        real = now.finish.max()
        for j in range(jobs):
            for g in range(groups):
                real += now.counts[j, g] * of.watts[g] * (now.finish[j] - now.start[j])
        if real < best:
            best, best_order, best_forced, best_weight = real, order, forced, weight
            found.start[:], found.finish[:], found.counts[:] = now.start, now.finish, now.counts
            if fixed and best <= wish:
                break
    return best, found, best_order, best_forced, best_weight


def problem_to_fill(document: Document, ask: str) -> tuple[Filled, Lists, np.ndarray]:
    """Return what lists are evaluated on, with alike groups as one, and of which of these each group is a part."""
    of = problem_of(document, ask)
    usual, groups = len(of.room), of.slow.size
    if groups <= MOST_PARTED and len({*of.slow}) > 1:
        of = problem_of(document, ask, every=True)
    if of.draw.any() or (of.sends[:, None] * of.narrow > 0).any():
        raise ValueError(f"{document.name}: lists that fill holes know neither caps nor uplinks")
    blocks = Blocks(*(column[of.free.of < groups] for column in of.free))
    price = of.price + LATE / blocks.many[blocks.since == 0].sum()
    since = np.unique(np.concatenate([blocks.since, blocks.until[np.isfinite(blocks.until)]]))
    free = np.zeros((since.size, groups), dtype=np.int64)
    for begin, end, many, g in zip(*blocks, strict=True):
        free[(since >= begin) & (since < end), g] += many
    alike: dict[object, int] = {}
    kinds = [(of.slow[g], of.watts[g], *price[:, g], *of.room[:, g]) for g in range(groups)]
    kinds = [(*kind, g * (since.size > 1)) for g, kind in enumerate(kinds)]
    part = np.array([alike.setdefault(kind, len(alike)) for kind in kinds])
    first = np.array([np.flatnonzero(part == k)[0] for k in range(len(alike))])
    merged = np.stack([free[:, part == k].sum(axis=1) for k in range(len(alike))], axis=1)
    rooms = of.room[:, first]
    places = np.full(rooms.shape, -1)
    dear = price[:, first].sum(axis=0)
    for r, members in enumerate(rooms):
        inside = np.flatnonzero(members)
        places[r, : inside.size] = inside[np.argsort(dear[inside], kind="stable")]
    filled = Filled(
        takes=of.takes, fits=of.fits, groups=places, usual=usual, price=price[:, first].copy(), second=of.second,
        least=of.least, slow=of.slow[first], watts=of.watts[first] * of.of_energy, tasks=of.tasks, run=of.run,
        share=of.share, release=of.release, before=of.before if (of.before >= 0).any() else of.before[:, :0],
        since=since, free=merged,
    )  # fmt: skip
    return filled, of, part


def shared_out(plan: Lines, part: np.ndarray, nodes: np.ndarray) -> Lines:
    """Return a plan with nodes of the groups themselves, whatever is free when a job starts."""
    counts, free = np.zeros((plan.start.size, part.size), dtype=np.int64), nodes.copy()
    order = np.argsort(plan.start, kind="stable")
    running: list[int] = []
    for j in order:
        for i in [i for i in running if plan.finish[i] <= plan.start[j]]:
            free += counts[i]
            running.remove(i)
        for k, need in enumerate(plan.counts[j]):
            for g in np.flatnonzero(part == k):
                here = min(need, free[g])
                counts[j, g], need = here, need - here
        free -= counts[j]
        running.append(j)
    return Lines(plan.start, plan.finish, counts)


def best_filled(
    document: Document, ask: str, tries: int, seed: int, wish: float, begin: Schedule | None = None
) -> Lines:
    """Return the best plan that so many lists have, near a schedule or near the best of some usual lists.

    Of a makespan it ends once the end that is wished for is reached. Jobs that pay nothing have nodes of which there
    are enough: they are put behind those that pay, and not moved.
    """
    whole, lists, part = problem_to_fill(document, ask)
    rng, fixed, jobs = np.random.default_rng(seed), ask == "makespan", whole.tasks.size
    dear = 1.0 if fixed else 3.0
    alone = (whole.before < 0).all() and lists.least.any()
    pays = np.flatnonzero(lists.least > 0) if alone else np.arange(jobs)
    of = some_of(whole, pays)
    if begin is not None:
        order, forced = list_of(lists, begin)
        first = (np.argsort(np.argsort(order)[pays], kind="stable"), forced[pays], 1.0)
    else:
        free = np.full(pays.size, -1)
        lines = first_orders(lists if pays.size == jobs else some_of(lists, pays))
        begun = [(order, free, weight) for order in lines for weight in (0.1, 0.5, 1.0, 3.0, 10.0)]
        first = min(begun, key=lambda one: annealed(of, *one, wish, dear, fixed, 0, HOT, COLD, rng)[0])
    _, plan, order, forced, weight = annealed(of, *first, wish, dear, fixed, tries, HOT, COLD, rng)
    if pays.size < jobs:
        behind = first_orders(lists)[0]
        everyone = np.concatenate([pays[order], behind[lists.least[behind] == 0]])
        where = np.full(jobs, -1)
        where[pays] = forced
        plan = annealed(whole, everyone, where, weight, wish, dear, fixed, 0, HOT, COLD, rng)[1]
    if part.size == of.slow.size:
        return plan
    nodes = np.bincount(lists.free.of, weights=lists.free.many)[: part.size].astype(np.int64)
    return shared_out(plan, part, nodes)
