"""Proves a lower bound in fractions (docs/explanation/bench.md): python proof.py INSTANCE.json CERTIFICATE.json."""

import hashlib
import json
import sys
from bisect import bisect
from fractions import Fraction
from functools import cache
from itertools import accumulate, chain, combinations, count, cycle, groupby, islice, pairwise, product, repeat
from math import ceil, inf
from operator import mul, sub
from pathlib import Path
from typing import Any

KNOWN = """format name version family about machine submits knowledge objectives clusters jobs downtimes partitions
signals submit tasks runtime estimate compute_fraction task_bandwidth after partition cluster begin end nodes sharing
demand"""
PER = {"makespan": 1, "energy": 1, "carbon": 3_600_000_000, "flow": 1, "mean_wait": 0, "bounded_slowdown": 0}
USUAL = (("task_bandwidth", 0), ("partition", ""), ("compute_fraction", 1))
OF_GROUPS, ZERO, FOREVER = ("speed", "idle_watts", "busy_watts"), Fraction(0), Fraction(10**12)


def require(holds: bool, why: str) -> None:
    """Raise ValueError with this text unless the condition holds."""
    if not holds:
        raise ValueError(why)


def numbers(text: str) -> range:
    """Return the node numbers that a text such as "0-31" or "all" names, as a range."""
    first, last = text.replace("all", "0-999999").split("-")
    return range(int(first), int(last) + 1)


class Problem:
    """The jobs and groups of an instance's text; of shared nodes, one resource's units count as nodes and as tasks."""

    def __init__(self, text: str, of: str = "") -> None:
        data = json.loads(text)
        jobs, down, cells, demand = data["jobs"], data.get("downtimes", ()), list[Any](), data["jobs"].get("demand", {})
        require(bool(demand) == ("sharing" in data) == (of in demand) <= (not down), f"nodes do not share {of!r} here")
        self.tasks = [tasks * n for tasks, n in zip(jobs["tasks"], demand.get(of, repeat(1)), strict=False)]
        require({data["format"], *data, *jobs, *chain(*down)} <= {*KNOWN.split(), "fedsched instance 1"}, "new parts")
        own = [(part["name"], at, numbers(text)) for part in data.get("partitions", ()) for at, text in part["nodes"]]
        for cluster in data["clusters"]:
            name, ids = cluster["name"], count()
            for group in cluster["groups"]:
                inside = [(n, {"", *(part for part, at, of in own if at == name and n in of)})
                          for n in islice(ids, group["nodes"])]  # fmt: skip
                for homes, run in groupby(inside, lambda one: one[1]):
                    cells.append((group, homes, (name, [n for n, _ in run])))
        groups, self.homes, self.which = zip(*cells, strict=True)
        each = [one["resources"][of] if demand else 1 for one in groups]
        self.nodes = [len(nodes) * n for (_, nodes), n in zip(self.which, each, strict=True)]
        self.speed, *watts = ([Fraction(one[key]) for one in groups] for key in OF_GROUPS)
        self.idle, busy = ([x / (n or 1) for x, n in zip(row, each, strict=True)] for row in watts)
        self.extra = [x * (of in ("", "cpu")) for x in map(sub, busy, self.idle)]
        self.down = [(*map(Fraction, (it["begin"], it["end"])), it["cluster"], numbers(it["nodes"])) for it in down]
        caps, self.green = ([one for one in data.get("signals", ()) if one["unit"] == unit] for unit in ("W", "g/kWh"))
        known = [max(one["values"]) for one in caps if "cluster" not in one and one["beyond"] in ("last", "repeat")]
        self.left = min(map(Fraction, known), default=FOREVER) - sum(map(mul, self.idle, self.nodes))
        self.talks, self.submit = any(jobs.get("task_bandwidth", ())), [Fraction(at) for at in jobs["submit"]]
        self.release, self.ways, names = [*self.submit], list[Any](), {name for name, _ in self.which}
        links = [(one["name"], Fraction(one["uplink"])) for one in data["clusters"] if one["uplink"] != "inf"]
        columns = [map(Fraction, jobs["runtime"]), *(jobs.get(x, [usual] * len(self.tasks)) for x, usual in USUAL)]
        for j, (tasks, time, sends, part, share) in enumerate(zip(self.tasks, *columns, strict=True)):
            cut = {name: sends / link for name, link in links if sends > link and jobs["tasks"][j] > 1}  # full of it
            places = [(names - {*cut}, 1), *(({name}, 1) for name in cut), *product([names], sorted(cut.values())[:1])]
            self.ways.append([])
            for speed, (among, stretch) in product({*self.speed}, places):
                room = frozenset(g for g, (homes, (name, _)) in enumerate(zip(self.homes, self.which, strict=True))
                                 if part in homes and name in among and self.speed[g] >= speed
                                 and all(x[j] <= groups[g]["resources"][r] for r, x in demand.items()))  # fmt: skip
                if sum(self.nodes[g] for g in room) >= tasks:
                    self.ways[-1].append((time * (Fraction(share) / speed + (1 - Fraction(share)) * stretch), room))
        for j, text in enumerate(jobs.get("after", ())):
            for kind, other in (condition.split(":") for condition in filter(None, text.split(","))):
                require(kind in ("afterok", "afterany") and 0 <= (i := int(other) - 1) < j, f"{kind} is not known")
                self.release[j] = max(self.release[j], self.release[i] + min(d for d, _ in self.ways[i]))

    def opened(self, begin: Fraction, end: Fraction) -> list[int]:
        """Return for each group the fewest nodes that are open at any instant between these times."""
        instants = {begin, *(down[0] for down in self.down if begin < down[0] < end)}
        shut = [[down[2:] for down in self.down if down[0] <= at < down[1]] for at in instants]
        return [min(sum(not any(c == name and n in of for c, of in here) for n in nodes) for here in shut)
                for name, nodes in self.which]  # fmt: skip

    def greenest(self, begin: Fraction, end: Fraction) -> Fraction:
        """Return the least carbon intensity between these times, in grams a kilowatt-hour."""
        [one] = self.green
        require("cluster" not in one and one["times"][0] == 0 and one["beyond"] == "repeat", "the signal is not known")
        end = min(end, begin + one["until"])
        times = [turn * one["until"] + at for turn in range(ceil(end / one["until"])) for at in one["times"]]
        steps = zip(pairwise([*times, end]), cycle(one["values"]), strict=False)
        return min(Fraction(value) for (a, b), value in steps if a < end and b > begin)

    def cheapest(self, j: int, room: frozenset[int], price: list[Any], nodes: list[int]) -> Any:
        """Return the least price of a job's nodes in a room, by groups' prices and nodes; inf if they are too few."""
        found = sorted((price[g], nodes[g]) for g in room)
        taken = [min(n, self.tasks[j]) for n in accumulate((n for _, n in found), initial=0)]
        paid = sum((b - a) * x for (a, b), (x, _) in zip(pairwise(taken), found, strict=True))
        return paid if taken[-1] == self.tasks[j] else inf


def fullest(pools: list[tuple[set[int], dict[str, tuple[Fraction, int]]]], nodes: list[int]) -> Fraction:
    """Return the most that jobs running at once pay a second, each in a pool that is part of the next one."""
    best = [ZERO]  # by the number of nodes that jobs may use
    for room, price in pools:
        most = sum(nodes[g] for g in room)
        best += best[-1:] * (most + 1 - len(best))
        for key, (pays, tasks) in price.items():
            for n in range(tasks, most + 1)[:: 1 if key.isdigit() else -1]:  # a single job counts once
                best[n] = max(best[n], best[n - tasks] + pays)
    return best[-1]


def follows(problem: Problem, proof: dict[str, Any], objective: str, *known: Any) -> tuple[Fraction, Fraction]:
    """Return the lower bound on the objective that a proof's prices prove, and the sum of the prices.

    Prices are of nodes in stretches of time, of jobs by their width or singly, and of watts. `known` is given only for
    the cases of a proof by cases: the imaginary nodes of each job, and the nodes of all groups, imaginary ones too.
    Raise ValueError if the proof is not valid.
    """
    shared, nodes = known or ([set[int]()] * len(problem.tasks), problem.nodes)

    def fewest(j: int, pool: set[int]) -> Any:
        inside = [g in pool for g in range(len(nodes))]
        return max(len(shared[j] & pool), min(problem.cheapest(j, room, inside, nodes) for _, room in problem.ways[j]))

    if "apart" in proof:  # two of three jobs that are too wide for a pool share an imaginary node
        jobs, pool, *each = proof["apart"]
        full = sum(fewest(j, {*pool}) for j in jobs) > sum(nodes[g] for g in pool)
        require(full and len({*jobs} & {*range(len(shared))}) == 3 == len(jobs), "there is room for the three jobs")
        cases = [[has | {len(nodes)} if j in pair else has for j, has in enumerate(shared)]
                 for pair in combinations(jobs, 2)]  # fmt: skip
        found = [follows(problem, one, objective, case, [*nodes, 1]) for one, case in zip(each, cases, strict=True)]
        return min(found)[0], sum((spent for _, spent in found), ZERO)
    unit, watt, before = (Fraction(x) for x in (proof["unit"], proof["watt"], proof.get("before", FOREVER)))
    edges, rows = [*map(Fraction, proof["edges"])], [[*map(Fraction, row)] for row in proof["prices"]]
    single, idle = {int(j): Fraction(x) for j, x in proof["job"].items()}, sum(map(mul, problem.idle, problem.nodes))
    packs = [[({*room}, {key: (Fraction(x), int(key) if key.isdigit() else fewest(int(key[1:]), {*room}))
                         for key, x in of.items()}) for room, of in pools] for pools in proof["packs"]]  # fmt: skip
    every = [watt, *single.values(), *chain(*rows), *(x for one in packs for _, of in one for x, _ in of.values())]
    stretches, turns = [*pairwise([*edges, FOREVER])], [*edges, *(at for down in problem.down for at in down[:2])]
    opened = cache(problem.opened) if problem.down else lambda *_: nodes
    require(edges[0] == 0 < unit and all(a < b for a, b in stretches), "stretches must follow one another from 0 on")
    require(all(a <= b for pools in packs for (a, _), (b, _) in pairwise(pools)), "a pool is no part of the next one")
    require(objective != "bounded_slowdown" or not problem.talks, "full links make runs longer, and slowdowns less")
    green = [problem.greenest(a, b) if objective == "carbon" else Fraction(objective == "energy") for a, b in stretches]
    price = [[(x + watt * extra) / unit + extra * of for x, of in zip(row, green, strict=True)]
             for row, extra in zip(rows, problem.extra, strict=True)]  # fmt: skip
    require(min(*every, *chain(*price)) >= 0, "a price is below 0")
    until_edge = [[*accumulate(map(mul, row, (b - a for a, b in stretches)), initial=ZERO)] for row in price]
    until = cache(lambda at: [of[k] + row[k] * (at - edges[k]) for k in [bisect(edges, at) - 1]
                              for of, row in zip(until_edge, price, strict=True)])  # fmt: skip

    def rate(at: Fraction, nodes: list[int]) -> Fraction:
        others = [watt * problem.left, *single.values(), *(fullest(pools, nodes) for pools in packs)]
        return Fraction(sum(map(mul, (row[bisect(edges, at) - 1] for row in rows), nodes)) + sum(others)) / unit

    def least(j: int) -> Any:
        first, submit, best, me, wide = problem.release[j], problem.submit[j], inf, f"#{j}", str(problem.tasks[j] or "")
        for d, room in problem.ways[j]:
            sized = sum((next((of.get(me, of.get(wide, [ZERO]))[0] for p, of in pools if room <= p or me in of), ZERO)
                         for pools in packs), start=single.get(j, ZERO))  # fmt: skip
            starts = {first, before - d, submit, submit + 10 - d, *turns, *(at - d for at in turns)}
            for start in sorted(at for at in starts if first <= at <= before - d and first + d < before):
                wait, slowdown = start - submit, max(1, (start - submit + d) / max(10, d))
                costs = {"flow": wait + d, "mean_wait": wait, "bounded_slowdown": slowdown}.get(objective, ZERO)
                sure = costs + d * sized / unit
                if sure >= best:
                    break  # later starts cost no less, and no price is below 0
                paid = [b - a for a, b in zip(until(start), until(start + d), strict=True)]
                best = min(best, sure + problem.cheapest(j, room, paid, opened(start, start + d)))
        return best + first * single.get(j, ZERO) / unit

    value = sum(map(least, range(len(problem.tasks))))
    if objective == "makespan":
        for a, b in pairwise([*sorted({*turns}), FOREVER]):
            if value <= (second := rate(a, opened(a, a))) * (b - a) or b == FOREVER:
                return min(before, a + value / second), sum(every, ZERO)
            value -= second * (b - a)
    worth = [(b - a) * (rate(a, nodes) - idle * of) for (a, b), of in zip(stretches, green, strict=True)]
    late = [(min(b, before) - a) * idle * of for (a, b), of in zip(stretches, green, strict=True) if a < before]
    value = min(value - max(accumulate(worth, initial=ZERO)), sum(late) if before < FOREVER else inf)
    return value / (PER[objective] or len(problem.tasks)), sum(every, ZERO)


def proven(instance: str, certificate: str) -> Fraction:
    """Return the bound that a certificate proves for an instance, both as texts; raise ValueError if it does not."""
    proof = json.loads(certificate)
    objective, bound = proof["objective"], Fraction(proof["bound"])
    require(proof["sha256"] == hashlib.sha256(instance.encode()).hexdigest(), "the certificate is for another instance")
    value, spent = follows(Problem(instance, proof.get("of", "")), proof, objective)
    require((Fraction(proof["value"]), Fraction(proof["spent"])) == (value, spent), f"{spent} in all prove {value}")
    require(bound <= value < bound + Fraction(1, 10 ** len(proof["bound"].partition(".")[2])), "it is not rounded down")
    return bound


if __name__ == "__main__":
    try:
        sys.stdout.write(f"PROVED: at least {proven(*(Path(name).read_text('ascii') for name in sys.argv[1:3]))}\n")
    except (LookupError, ValueError, TypeError, ArithmeticError) as error:
        sys.exit(f"REFUSED: {error if type(error) is ValueError else f'it is not well formed, {error!r}'}")
