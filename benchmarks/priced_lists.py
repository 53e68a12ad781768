"""Lists of jobs, each job where it ends soonest after what its nodes cost by a bound's prices; annealed.

A job that pays more than its cheapest way to run raises the bound by that much: what it pays more is weighed against
its end. Lists take nodes that are free and are never filled up behind: an evaluation takes a fraction of a millisecond.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np

from fedsched.instances.certificates import certificate_path
from fedsched.model.admission import open_groups

if TYPE_CHECKING:
    from fedsched.instances import Document


class Lists(NamedTuple):
    """What a list is evaluated on: groups, rooms (groups that are taken together), jobs × rooms."""

    nodes: np.ndarray
    slow: np.ndarray  # group: 1 / speed
    watts: np.ndarray  # group: of a busy node more than of an idle one, by all idle watts
    price: np.ndarray  # job × group: of a node-second
    second: np.ndarray  # job × room: of a second, whatever its nodes
    least: np.ndarray  # job: what it pays at least
    tasks: np.ndarray
    run: np.ndarray
    share: np.ndarray
    release: np.ndarray
    before: np.ndarray  # job × 2: jobs that it waits for, or -1
    room: np.ndarray  # room × group
    fits: np.ndarray  # job × room
    draw: np.ndarray  # group: of a busy node more than of an idle one, in milliwatts
    left: int  # of that, at a time, where power is capped; else 0


@numba.njit(cache=True)
def evaluated(of, order, forced, weight, start, finish, counts):
    """Fill in the schedule of a list; return its end, and what its nodes draw in seconds of all idle watts."""
    jobs, groups = of.tasks.size, of.nodes.size
    most = of.nodes.max() + 2
    free = np.zeros((groups, most))
    many = np.zeros((groups, most), dtype=np.int64)
    blocks = np.ones(groups, dtype=np.int64)
    many[:, 0] = of.nodes
    watts_free, watts = np.zeros(jobs + 2), np.zeros(jobs + 2, dtype=np.int64)
    watts[0], pieces = of.left, 1
    place = np.zeros(groups, dtype=np.int64)
    taken = np.zeros(groups, dtype=np.int64)
    best_taken = np.zeros(groups, dtype=np.int64)
    finish[:] = -1.0
    drawn, end_of_all, left = 0.0, 0.0, jobs
    while left > 0:
        for j in order:
            if finish[j] >= 0.0:
                continue
            ready = of.release[j]
            waits = False
            for k in range(of.before.shape[1]):
                i = of.before[j, k]
                if i >= 0:
                    if finish[i] < 0.0:
                        waits = True
                    ready = max(ready, finish[i])
            if waits:
                continue
            best = np.inf
            best_begin, best_end, best_drawn = 0.0, 0.0, 0.0
            for r in range(of.room.shape[0]):
                if not of.fits[j, r] or (forced[j] >= 0 and forced[j] != r):
                    continue
                place[:] = 0
                got, begin = 0, ready
                while got < of.tasks[j]:
                    soonest, at = -1, np.inf
                    for g in range(groups):
                        if of.room[r, g] and place[g] < blocks[g] and free[g, place[g]] < at:
                            soonest, at = g, free[g, place[g]]
                    got += many[soonest, place[soonest]]
                    place[soonest] += 1
                    begin = max(begin, at)
                # blocks that are free at no later instant are there to choose from; the latest are taken
                for g in range(groups):
                    if of.room[r, g]:
                        while place[g] < blocks[g] and free[g, place[g]] <= begin:
                            place[g] += 1
                taken[:] = 0
                need = of.tasks[j]
                slowest = 0.0
                while need > 0:
                    latest, at = -1, -1.0
                    for g in range(groups):
                        if of.room[r, g] and place[g] > 0 and free[g, place[g] - 1] > at:
                            latest, at = g, free[g, place[g] - 1]
                    here = min(need, many[latest, place[latest] - 1])
                    taken[latest] += here
                    need -= here
                    place[latest] -= 1
                    slowest = max(slowest, of.slow[latest])
                takes = of.run[j] * (of.share[j] * slowest + 1.0 - of.share[j])
                if of.left > 0:
                    got, k = 0, 0
                    while got < (taken * of.draw).sum():
                        got += watts[k]
                        begin = max(begin, watts_free[k])
                        k += 1
                paid = of.second[j, r] + (taken * of.price[j]).sum()
                score = begin + takes + weight * (paid * takes - of.least[j])
                if score < best:
                    best, best_begin, best_end, best_drawn = (
                        score,
                        begin,
                        begin + takes,
                        (taken * of.watts).sum() * takes,
                    )
                    best_taken[:] = taken
            start[j], finish[j] = best_begin, best_end
            drawn += best_drawn
            end_of_all = max(end_of_all, best_end)
            left -= 1
            need = (best_taken * of.draw).sum() if of.left > 0 else 0
            k = pieces - 1
            while need > 0:  # of what is free by then, what is so latest
                if watts_free[k] <= best_begin:
                    here = min(need, watts[k])
                    watts[k] -= here
                    need -= here
                k -= 1
            if of.left > 0:
                k, kept = pieces, (best_taken * of.draw).sum()
                while watts_free[k - 1] > best_end:
                    watts_free[k], watts[k] = watts_free[k - 1], watts[k - 1]
                    k -= 1
                watts_free[k], watts[k] = best_end, kept
                pieces += 1
            for g in range(groups):
                counts[j, g] = best_taken[g]
                need = best_taken[g]
                if need == 0:
                    continue
                k = blocks[g] - 1
                while free[g, k] > best_begin:
                    k -= 1
                while need > 0:  # the latest that are free
                    here = min(need, many[g, k])
                    many[g, k] -= here
                    need -= here
                    if many[g, k] == 0:
                        for m in range(k, blocks[g] - 1):
                            free[g, m], many[g, m] = free[g, m + 1], many[g, m + 1]
                        blocks[g] -= 1
                    k -= 1
                k = blocks[g]
                while k > 0 and free[g, k - 1] > best_end:
                    free[g, k], many[g, k] = free[g, k - 1], many[g, k - 1]
                    k -= 1
                free[g, k], many[g, k] = best_end, best_taken[g]
                blocks[g] += 1
    return end_of_all, drawn


@numba.njit(cache=True)
def annealed(of, order, weight, of_energy, tries, rng):
    """Return the best list that is found by moving one job at a time, and its value."""
    jobs, rooms = of.tasks.size, of.room.shape[0]
    start, finish = np.zeros(jobs), np.zeros(jobs)
    counts = np.zeros((jobs, of.nodes.size), dtype=np.int64)
    forced = np.full(jobs, -1)
    end, drawn = evaluated(of, order, forced, weight, start, finish, counts)
    value = end + drawn * of_energy + 1e-2 * finish.mean()
    best, best_order, best_forced, best_weight = value, order.copy(), forced.copy(), weight
    for n in range(tries):
        heat = 0.003 * value * (1.0 - n / tries) ** 2
        new_order, new_forced, new_weight = order.copy(), forced.copy(), weight
        what = rng.random()
        last = finish.argmax()
        if what < 0.05:
            new_weight = weight * np.exp(rng.normal(0.0, 0.3))
        elif what < 0.25:
            j = rng.integers(0, jobs) if what < 0.2 else last
            r = rng.integers(-1, rooms)
            if r < 0 or of.fits[j, r]:
                new_forced[j] = r
        else:
            a = rng.integers(0, jobs)
            if what < 0.45:
                for k in range(jobs):
                    if order[k] == last:
                        a = k
            reach = jobs if what < 0.6 else max(2, jobs // 10)
            b = min(jobs - 1, max(0, a + rng.integers(-reach, reach + 1)))
            if what < 0.45:
                b = rng.integers(0, a + 1)
            if what > 0.8:
                new_order[a], new_order[b] = order[b], order[a]
            else:
                moved = order[a]
                if a < b:
                    new_order[a:b] = order[a + 1 : b + 1]
                else:
                    new_order[b + 1 : a + 1] = order[b:a]
                new_order[b] = moved
        end, drawn = evaluated(of, new_order, new_forced, new_weight, start, finish, counts)
        found = end + drawn * of_energy + 1e-2 * finish.mean()
        if found <= value or rng.random() < np.exp((value - found) / heat):
            value, order, forced, weight = found, new_order, new_forced, new_weight
            if value < best:
                best, best_order, best_forced, best_weight = value, order.copy(), forced.copy(), weight
    return best, best_order, best_forced, best_weight


def problem_of(document: Document, ask: str) -> Lists:
    """Return what lists are evaluated on, with the prices of the certificate that is kept."""
    groups, workload, federation = document.federation.groups, document.workload, document.federation
    jobs = len(workload)
    speed = np.array([one.speed for one in groups])
    opened = open_groups(workload, federation)
    where = np.repeat(np.arange(len(federation.clusters)), [len(one.groups) for one in federation.clusters])
    apart = bool(workload.task_bandwidth.any())
    wholes = [where == k for k in range(len(federation.clusters))] if apart else [np.ones(len(groups), dtype=bool)]
    rooms = {
        tuple(whole & pool & (speed >= slow) & (speed <= fast))
        for whole in wholes for pool in np.unique(opened, axis=0)
        for slow in np.unique(speed) for fast in np.unique(speed[speed >= slow])
    }  # fmt: skip
    room = np.array(sorted(rooms, reverse=True))
    nodes = np.array([one.count for one in groups])
    fits = (room @ nodes >= workload.tasks[:, None]) & ~(room[None] & ~opened[:, None, :]).any(axis=2)
    idle = sum(one.count * one.idle_watts for one in groups)
    watts = np.array([one.busy_watts - one.idle_watts for one in groups]) / idle
    price, second = np.tile(watts if ask == "energy" else np.zeros(len(groups)), (jobs, 1)), np.zeros((jobs, len(room)))
    path = certificate_path(document.name, ask)
    if path.is_file():
        proof = json.loads(path.read_text(encoding="ascii"))
        if proof["kind"] == "prices" and len(proof["area"][0]) == len(groups):
            spent = float(proof["spent"])
            for level, row in zip(proof["levels"], proof["area"], strict=True):
                price += np.where(workload.submit[:, None] >= float(Fraction(level)), np.array(row) / spent, 0.0)
            homes = np.array(document.data["jobs"].get("partition", [""] * jobs))
            for key, w in proof["wide"].items():
                p, slowest, home = f"{key}:0:".split(":")[:3]
                mine = (workload.tasks >= int(p)) & ((homes == home) | (home == ""))
                fast = speed >= float(Fraction(slowest)) - 1e-9
                total = int(nodes[fast & opened[np.argmax(mine)]].sum() if home else nodes[fast].sum())
                sized = np.where(workload.tasks > total - int(p), total, workload.tasks) * mine
                second += np.outer(sized * w / spent, ~(room & ~fast).any(axis=1))
            for j, w in proof["job"].items():
                second[int(j)] += w / spent
    least = np.full(jobs, np.inf)
    for r, members in enumerate(room):
        slowest = (1 / speed[members]).max() if members.any() else 1.0
        takes = workload.runtime * (workload.compute_fraction * slowest + 1 - workload.compute_fraction)
        for j in np.flatnonzero(fits[:, r]):
            order = np.flatnonzero(members)[np.argsort(price[j, members], kind="stable")]
            filled = np.minimum(np.cumsum(nodes[order]), workload.tasks[j])
            paid = float(np.diff(filled, prepend=0) @ price[j, order]) + second[j, r]
            least[j] = min(least[j], paid * takes[j])
    cap = min((value for one in federation.signals for value in one.values), default=0.0)
    before = np.full((jobs, 2), -1)
    for j, text in enumerate(document.data["jobs"].get("after", ())):
        for k, condition in enumerate(filter(None, text.split(","))):
            before[j, k] = int(condition.partition(":")[2]) - 1
    return Lists(
        nodes, 1 / speed, watts, price, second, least, workload.tasks.astype(np.int64), workload.runtime,
        workload.compute_fraction, workload.submit, before, room, fits,
        np.rint(1000 * watts * idle).astype(np.int64), max(0, round(1000 * (cap - idle))),
    )  # fmt: skip


def best_list(document: Document, ask: str, tries: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return start, finish and counts of the best of so many lists."""
    of = problem_of(document, ask)
    jobs = of.tasks.size
    rng = np.random.default_rng(seed)
    of_energy = 1.0 if ask == "energy" else 0.0
    tails = np.array(of.run)
    for j in range(jobs - 1, -1, -1):  # what waits for a job counts with it
        for i in of.before[j]:
            if i >= 0:
                tails[i] = max(tails[i], of.run[i] + tails[j])
    orders = [
        np.argsort(-(of.tasks.astype(float) ** wide) * tails**long, kind="stable")
        for wide, long in ((1, 0.001), (1, 1), (0.5, 1), (0.2, 1), (1, 0.5), (2, 1))
    ]
    begun = [
        (annealed(of, order, weight, of_energy, 0, rng)[0], k, weight)
        for k, order in enumerate(orders) for weight in (0.1, 0.5, 1.0, 3.0, 10.0)
    ]  # fmt: skip
    _, k, weight = min(begun)
    _, order, forced, weight = annealed(of, orders[k], weight, of_energy, tries, rng)
    start, finish = np.zeros(jobs), np.zeros(jobs)
    counts = np.zeros((jobs, of.nodes.size), dtype=np.int64)
    evaluated(of, order, forced, weight, start, finish, counts)
    return start, finish, counts
