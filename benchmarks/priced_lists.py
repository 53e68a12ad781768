"""Lists of jobs, each job where it ends soonest after what its nodes cost by a bound's prices; annealed.

A job that pays more than its cheapest way to run raises the bound by that much: what it pays more is weighed against
its end. What a list's plan is, free_blocks.py says; an evaluation takes a fraction of a millisecond.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from free_blocks import Blocks, Lines, Lists, planned

from fedsched.bench import proof as checker
from fedsched.bench.certificates import certificate_path
from fedsched.bench.forms import rate_of
from fedsched.model.jobs.admission import admitted_groups
from fedsched.model.time.downtimes import closures_of

if TYPE_CHECKING:
    from fedsched.bench import Document
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.schedule import Schedule


PERIODS = 40  # of a cap that comes and goes, of which lists know


@numba.njit(cache=True)
def place_around(a, jobs, reach, rng):
    """Return a place of a list that is no further from a than that."""
    return min(jobs - 1, max(0, a + rng.integers(-reach, reach + 1)))


@numba.njit(cache=True)
def with_other_place(order, a, b, both):
    """Return a list in which who was at a is at b, and who was there is at a, if both move, or one place along."""
    new = order.copy()
    if both:
        new[a] = order[b]
    elif a < b:
        new[a:b] = order[a + 1 : b + 1]
    else:
        new[b + 1 : a + 1] = order[b:a]
    new[b] = order[a]
    return new


@numba.njit(cache=True)
def other_order(order, last, rng):
    """Return a list in which a job, often the one that ends last, is elsewhere, or has changed places with another."""
    jobs, what = order.size, rng.random()
    a = np.argmax(order == last) if what < 0.2 else rng.integers(0, jobs)
    reach = jobs if what < 0.45 else max(2, jobs // 10)
    b = rng.integers(0, a + 1) if what < 0.2 else place_around(a, jobs, reach, rng)
    return with_other_place(order, a, b, what > 0.75)


@numba.njit(cache=True)
def annealed(of, order, forced, weight, heat, tries, rng):
    """Return the best list that is found by moving one job at a time, and its value."""
    jobs, rooms = of.tasks.size, of.room.shape[0]
    plan = Lines(np.zeros(jobs), np.zeros(jobs), np.zeros((jobs, of.slow.size), dtype=np.int64))
    most = 2 * (of.free.since.size + jobs * (of.slow.size + 2))
    blocks = Blocks(np.zeros(most), np.zeros(most), np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64))
    value = planned(of, order, forced, weight, blocks, plan, np.inf)
    last = plan.finish.argmax()
    best, best_order, best_forced, best_weight = value, order, forced, weight
    for n in range(tries):
        new_order, new_forced, new_weight = order, forced, weight
        what = rng.random()
        if what < 0.05:
            new_weight = weight * np.exp(rng.normal(0.0, 0.3))
        elif what < 0.25:
            j, r = rng.integers(0, jobs) if what < 0.2 else last, rng.integers(-1, rooms)
            if r >= 0 and not of.fits[j, r]:
                continue
            new_forced = forced.copy()
            new_forced[j] = r
        else:
            new_order = other_order(order, last, rng)
        limit = value - heat * best * (1.0 - n / tries) ** 2 * np.log(1.0 - rng.random())
        found = planned(of, new_order, new_forced, new_weight, blocks, plan, limit)
        if found <= limit:
            value, order, forced, weight = found, new_order, new_forced, new_weight
            last = plan.finish.argmax()
            if value < best:
                best, best_order, best_forced, best_weight = value, order, forced, weight
    planned(of, best_order, best_forced, best_weight, blocks, plan, np.inf)
    return best, best_order, best_forced, best_weight, plan


def clusters_of(federation: Federation) -> np.ndarray:
    """Return the cluster of each group."""
    return np.repeat(np.arange(len(federation.clusters)), [len(one.groups) for one in federation.clusters])


def rooms_of(document: Document, opened: np.ndarray) -> np.ndarray:
    """Return which groups are taken together: of a pool and a range of speeds; of one cluster too, where jobs talk."""
    workload, federation = document.workload, document.federation
    speed = np.array([one.speed for one in federation.groups])
    where, wide = clusters_of(federation), np.isinf([one.uplink for one in federation.clusters])
    wholes = [np.ones(len(speed), dtype=bool)]
    if workload.task_bandwidth.any():
        wholes += [wide[where], *(where == k for k in range(len(federation.clusters)))]
    rooms = {
        tuple(whole & pool & (speed >= slow) & (speed <= fast))
        for whole in wholes for pool in np.unique(opened, axis=0)
        for slow in np.unique(speed) for fast in np.unique(speed[speed >= slow])
    }  # fmt: skip
    return np.array(sorted(rooms, reverse=True))


def priced(document: Document, ask: str, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what jobs pay for a second by the certificate that is kept: of a group's node, and in a room beside it."""
    groups, workload = document.federation.groups, document.workload
    jobs, tasks = len(workload), workload.tasks
    price, second = np.zeros((jobs, len(groups))), np.zeros((jobs, len(room)))
    path = certificate_path(document.name, ask)
    if not path.is_file():
        return price, second
    proof: dict[str, Any] = json.loads(path.read_text(encoding="ascii"))
    problem = checker.Problem(document.text)
    if ask == "carbon" or len(proof.get("prices", ())) != len(groups):  # none of a proof by cases, each with its own
        return price, second
    rate = float(rate_of(problem, proof))
    edges = [float(Fraction(at)) for at in proof["edges"]]
    when = np.searchsorted(edges, workload.submit, side="right") - 1
    price += np.array([[float(Fraction(x)) for x in row] for row in proof["prices"]])[:, when].T / rate
    for pools in proof["packs"]:
        rooms = [{*one} for one, _ in pools]
        for r, members in enumerate(room[:, : len(groups)]):
            pool = next((k for k, one in enumerate(rooms) if {*np.flatnonzero(members).tolist()} <= one), None)
            if pool is not None:
                second[:, r] += [float(Fraction(pools[pool][1].get(str(n), 0))) / rate for n in tasks.tolist()]
    for j, w in proof["job"].items():
        second[int(j)] += float(Fraction(w)) / rate
    return price, second


def least_paid(of: Lists, nodes: np.ndarray) -> np.ndarray:
    """Return what each job pays at least, wherever it runs."""
    least = np.full(of.tasks.size, np.inf)
    for r, members in enumerate(of.room[:, : of.slow.size]):
        for j in np.flatnonzero(of.fits[:, r]):
            order = np.flatnonzero(members)[np.argsort(of.price[j, members], kind="stable")]
            filled = np.minimum(np.cumsum(nodes[order]), of.tasks[j])
            paid = float(np.diff(filled, prepend=0) @ of.price[j, order]) + of.second[j, r]
            least[j] = min(least[j], paid * of.takes[j, r])
    return least


def free_at_first(document: Document, idle: float) -> Blocks:
    """Return what is free before the first job: nodes between downtimes, watts beside idle nodes', uplinks."""
    federation, rows = document.federation, []
    closures = closures_of(federation)
    for g, group in enumerate(federation.groups):
        begin = 0.0
        for k in np.flatnonzero(closures.group == g)[np.argsort(closures.begin[closures.group == g])]:
            rows.append((begin, closures.begin[k], group.count, g))
            begin = max(begin, closures.end[k])
        rows.append((begin, np.inf, group.count, g))
    for c, cluster in enumerate(federation.clusters):
        if np.isfinite(cluster.uplink):
            rows.append((0.0, np.inf, int(cluster.uplink / 1000), len(federation.groups) + 1 + c))
    for cap in document.data.get("signals", ()):
        if cap["unit"] == "W":
            rows += [(*row, len(federation.groups)) for row in layers(cap, idle)]
    rows = sorted(row for row in rows if row[0] < row[1])
    since, until, many, of = map(np.array, zip(*rows, strict=True))
    return Blocks(since, until, many.astype(np.int64), of.astype(np.int64))


def layers(cap: dict[str, Any], idle: float) -> list[tuple[float, float, int]]:
    """Return the milliwatts that a cap leaves, in layers: all the time what is always left, and more while there is."""
    times, values = [float(at) for at in cap["times"]], [float(one) for one in cap["values"]]
    periods = PERIODS if cap["beyond"] == "repeat" else 1
    span = float(cap.get("until", np.inf))
    edges = [at + span * k if k else at for k in range(periods) for at in times] + [span * periods]
    left = [round(1000 * (value - idle)) for value in values] * periods
    found, below = [(0.0, np.inf, min(left))], min(left)
    for level in sorted({*left})[1:]:
        found += [(a, b, level - below) for (a, b), here in zip(pairwise(edges), left, strict=True) if here >= level]
        below = level
    return found


def waits_of(document: Document) -> np.ndarray:
    """Return job × some: the jobs that it waits for, or -1."""
    waits = [
        [int(condition.partition(":")[2]) - 1 for condition in filter(None, text.split(","))]
        for text in document.data["jobs"].get("after", [""] * len(document.workload))
    ]
    most = max(map(len, waits))
    return np.array([one + [-1] * (most - len(one)) for one in waits], dtype=np.int64).reshape(len(waits), most)


def every_room(rooms: np.ndarray) -> np.ndarray:
    """Return these rooms, and behind them all that are a part of one."""
    groups = rooms.shape[1]
    parts = (np.arange(1, 1 << groups)[:, None] >> np.arange(groups)) % 2 == 1
    inside = (parts[:, None] & ~rooms[None]).any(axis=2).all(axis=1)
    known = (parts[:, None] == rooms[None]).all(axis=2).any(axis=1)
    return np.vstack([rooms, parts[~inside & ~known]])


def problem_of(document: Document, ask: str, *, every: bool = False) -> Lists:
    """Return what lists are evaluated on, with the prices of the certificate that is kept."""
    federation, workload = document.federation, document.workload
    groups, opened = federation.groups, admitted_groups(workload, federation)
    room, nodes = rooms_of(document, opened), np.array([one.count for one in groups])
    room = every_room(room) if every else room
    fits = (room @ nodes >= workload.tasks[:, None]) & ~(room[None] & ~opened[:, None, :]).any(axis=2)
    idle = sum(one.count * one.idle_watts for one in groups)
    extra = np.array([one.busy_watts - one.idle_watts for one in groups])
    price, second = priced(document, ask, room)
    if ask == "energy":
        price += extra / idle
    free = free_at_first(document, idle)
    capped = bool((free.of == len(groups)).any())
    slow = np.array([1 / one.speed for one in groups])
    slowest = np.where(room, slow, 0.0).max(axis=1)
    share, more = workload.compute_fraction[:, None], 1 + len(federation.clusters)
    of = Lists(
        slow=slow, watts=extra / idle, price=price, second=second,
        takes=workload.runtime[:, None] * (share * slowest + 1 - share), least=np.zeros(0),
        tasks=workload.tasks.astype(np.int64), run=workload.runtime, share=workload.compute_fraction,
        release=workload.submit, before=waits_of(document), room=np.pad(room, ((0, 0), (0, more))), fits=fits,
        only=np.eye(len(groups) + more, dtype=bool), cluster=clusters_of(federation),
        sends=workload.task_bandwidth / 1000, narrow=np.isfinite([one.uplink for one in federation.clusters]),
        draw=np.rint(1000 * extra * capped).astype(np.int64), free=free, of_energy=float(ask == "energy"),
    )  # fmt: skip
    return of._replace(least=least_paid(of, nodes))


def first_orders(of: Lists) -> list[np.ndarray]:
    """Return lists to begin with: large jobs first, by several measures; what waits for a job counts with it."""
    tails = np.array(of.run)
    for j in range(tails.size - 1, -1, -1):
        for i in of.before[j]:
            if i >= 0:
                tails[i] = max(tails[i], of.run[i] + tails[j])
    return [
        np.argsort(-(of.tasks.astype(float) ** wide) * tails**long, kind="stable")
        for wide, long in ((1, 0.001), (1, 1), (0.5, 1), (0.2, 1), (1, 0.5), (2, 1))
    ]


def list_of(of: Lists, schedule: Schedule) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of a schedule's starts, and a room for each job in which its nodes are."""
    order, forced = np.argsort(schedule.start, kind="stable"), np.full(of.tasks.size, -1)
    room = of.room[:, : of.slow.size]
    for j, has in enumerate(schedule.counts > 0):
        holds = of.fits[j] & ~(has & ~room).any(axis=1)
        forced[j] = min(np.flatnonzero(holds), key=lambda r: (of.slow[room[r]].max(), room[r].sum()), default=-1)
    return order, forced


def some_of(of: Any, rows: np.ndarray) -> Any:
    """Return the problem of some jobs, where none waits for another."""
    per_job = {"price", "second", "takes", "least", "tasks", "run", "share", "release", "before", "fits", "sends"}
    return of._replace(**{name: getattr(of, name)[rows] for name in per_job & {*of._fields}})


def best_list(document: Document, ask: str, tries: int, seed: int, begin: Schedule | None = None) -> Lines:
    """Return the plan of the best of so many lists: those near a schedule, or near the best of some usual ones.

    Jobs that pay nothing have nodes of which there are enough: they are put behind those that pay, and not moved.
    """
    whole, rng = problem_of(document, ask), np.random.default_rng(seed)
    alone = (whole.before < 0).all() and whole.least.any()
    pays = np.flatnonzero(whole.least > 0) if alone else np.arange(whole.tasks.size)
    of = some_of(whole, pays)
    if begin is not None:
        order, forced = list_of(whole, begin)
        place = np.argsort(order)
        first, heat = (np.argsort(place[pays], kind="stable"), forced[pays], 1.0), 0.0005
    else:
        free = np.full(pays.size, -1)
        begun = [(order, free, weight) for order in first_orders(of) for weight in (0.1, 0.5, 1.0, 3.0, 10.0)]
        first, heat = min(begun, key=lambda one: annealed(of, *one, 0.0, 0, rng)[0]), 0.003
    _, order, forced, weight, plan = annealed(of, *first, heat, tries, rng)
    if pays.size == whole.tasks.size:
        return plan
    behind = first_orders(whole)[0]
    everyone = np.concatenate([pays[order], behind[whole.least[behind] == 0]])
    where = np.full(whole.tasks.size, -1)
    where[pays] = forced
    return annealed(whole, everyone, where, weight, 0.0, 0, rng)[-1]
