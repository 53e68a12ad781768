"""Proves a lower bound from an instance's file and a certificate, in exact fractions; it needs Python and nothing else.

python proof.py INSTANCE.json CERTIFICATE.json

docs/bench.md has the inequalities. Group g has m nodes of speed s; nodes of a group that are in the same partitions
count as one. Job j of τ tasks is released at r (submitted, and all that it waits for has run as fast as it can), has
nodes of its partition, and takes d = runtime·(σ/s + 1 − σ) on nodes none slower than s, or longer where links are full.
Downtimes only take nodes away: what holds without them holds.
"""

import hashlib
import json
import sys
from fractions import Fraction
from itertools import accumulate, cycle, groupby, pairwise
from math import ceil, floor, inf
from pathlib import Path
from typing import Any

KNOWN = """format name version family about machine submits knowledge objectives clusters jobs downtimes partitions
signals submit tasks runtime estimate compute_fraction task_bandwidth after partition"""
OF_GROUPS, ZERO = ("speed", "idle_watts", "busy_watts"), Fraction(0)


class Refused(Exception):
    """What is not proven, and why."""


def require(holds: bool, why: str) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise Refused(why)


class Problem:
    """The jobs and groups of an instance's file."""

    def __init__(self, text: str) -> None:
        data = json.loads(text)
        known = data["format"] == "fedsched instance 1" and {*data, *data["jobs"]} <= {*KNOWN.split()}
        require(known, "the instance holds what this program does not know")
        cells = []
        for cluster in data["clusters"]:
            own = [(part["name"], text.replace("all", "0-999999").split("-")) for part in data.get("partitions", ())
                   for name, text in part["nodes"] if name == cluster["name"]]  # fmt: skip
            first = 0
            for group in cluster["groups"]:
                nodes = range(first, first := first + group["nodes"])
                inside = [{name for name, (a, b) in own if int(a) <= node <= int(b)} for node in nodes]
                cells += [(group, home, len([*run])) for home, run in groupby(inside)]
        groups, homes, self.nodes = zip(*cells, strict=True)
        self.speed, self.idle, busy = ([Fraction(one[key]) for one in groups] for key in OF_GROUPS)
        self.extra = [watts - idle for watts, idle in zip(busy, self.idle, strict=True)]
        caps = [max(one["values"]) for one in data.get("signals", ())
                if one["unit"] == "W" and "cluster" not in one and one["beyond"] in ("last", "repeat")]  # fmt: skip
        self.green = [one for one in data.get("signals", ()) if one["unit"] == "g/kWh"]
        self.left = min(map(Fraction, caps), default=ZERO) - dot(self.idle, self.nodes)  # watts beside idle nodes
        jobs, self.tasks = data["jobs"], data["jobs"]["tasks"]
        self.home = jobs.get("partition", [""] * len(self.tasks))
        self.own = {name: [not name or name in home for home in homes] for name in ("", *self.home)}
        rooms = {name: {s: sum(n for _, n in self.ways(name, s, self.speed)) for s in self.speed} for name in self.own}
        self.submit = [Fraction(at) for at in jobs["submit"]]
        self.talks, self.release = any(jobs.get("task_bandwidth", ())), list(self.submit)
        shares = [Fraction(share) for share in jobs.get("compute_fraction", [1] * len(self.tasks))]
        self.takes = [
            {s: Fraction(runtime) * (share / s + 1 - share) for s, room in rooms[home].items() if room >= tasks}
            for runtime, share, tasks, home in zip(jobs["runtime"], shares, self.tasks, self.home, strict=True)
        ]
        for j, text in enumerate(jobs.get("after", ())):
            for kind, other in (condition.split(":") for condition in filter(None, text.split(","))):
                known = kind in ("afterok", "afterany") and 0 <= (i := int(other) - 1) < j
                require(known, f"the condition {kind}:{other} is not known")
                self.release[j] = max(self.release[j], self.release[i] + min(self.takes[i].values()))

    def ways(self, home: str, speed: Fraction, price: list[Fraction]) -> list[tuple[Fraction, int]]:
        """Return prices and numbers of the nodes, none slower, that jobs of a partition may have."""
        found = zip(price, self.nodes, self.speed, self.own[home], strict=True)
        return [(cost, nodes) for cost, nodes, own, opened in found if opened and own >= speed]

    def greenest(self, begin: Fraction, end: Fraction) -> Fraction:
        """Return the least that a kilowatt-hour stands for in a stretch of time, in grams."""
        [one] = self.green
        require("cluster" not in one and one["times"][0] == 0 and one["beyond"] == "repeat", "the signal is not known")
        times = [turn * one["until"] + at for turn in range(ceil(end / one["until"])) for at in one["times"]]
        steps = zip(pairwise([*times, end]), cycle(one["values"]), strict=False)
        return min(Fraction(value) for (a, b), value in steps if a < end and b > begin)

    def cheapest(self, j: int, speed: Fraction, price: list[Fraction]) -> Fraction:
        """Return the least price of a job's nodes, none slower."""
        ways = sorted(self.ways(self.home[j], speed, price))
        taken = pairwise(min(n, self.tasks[j]) for n in accumulate((nodes for _, nodes in ways), initial=0))
        return dot((b - a for a, b in taken), (cost for cost, _ in ways))


def dot(first: Any, second: Any) -> Fraction:
    """Return the sum of products."""
    return sum((x * y for x, y in zip(first, second, strict=True)), start=ZERO)


def weights(values: list[Any]) -> list[Fraction]:
    """Return numbers, none below 0."""
    require(min(found := [Fraction(value) for value in values], default=ZERO) >= 0, "a multiplier is below 0")
    return found


def by_prices(problem: Problem, proof: dict[str, Any], objective: str) -> tuple[Fraction, Fraction]:
    """Return what weights of areas, wide jobs and single jobs prove, and their sum."""
    of_energy = {"makespan": False, "energy": True}[objective]
    levels, area = weights(proof["levels"]), [weights(row) for row in proof["area"]]
    single = {int(j): weights([w])[0] for j, w in proof["job"].items()}
    first, groups, wide = levels[0], range(len(problem.nodes)), []
    for key, weight in zip(proof["wide"], weights([*proof["wide"].values()]), strict=True):
        p, slowest, home = f"{key}:0:".split(":")[:3]
        pool = sum(n for _, n in problem.ways(home, Fraction(slowest), problem.speed))
        require(0 < int(p) <= (pool + 1) // 2, f"there is no family {key}")
        wide.append((int(p), Fraction(slowest), home, pool, weight))
    require(first <= min(problem.release), "the first level is after the first release")
    dear, roomy = [dot(row, problem.nodes) for row in area], dot((one[-2] for one in wide), (one[-1] for one in wide))
    watt = weights([proof.get("watt", 0)])[0]
    require(watt == 0 or problem.left > 0, "no cap is known")
    watts, roomy = [watt * max(extra, ZERO) for extra in problem.extra], roomy + watt * problem.left
    spent = sum(dear, start=roomy) + sum(single.values())
    scale = (dot(problem.idle, problem.nodes) if of_energy else Fraction(1)) / spent
    before: Any = Fraction(proof["before"]) if "before" in proof and not of_energy else inf
    value = scale * (dot(dear, levels) + roomy * first)
    for j, tasks in enumerate(problem.tasks):
        here = [row for row, at in zip(area, levels, strict=True) if at <= problem.release[j]]
        own = [scale * sum((row[g] for row in here), watts[g]) + of_energy * problem.extra[g] for g in groups]
        sized = [(slowest, w * (pool if tasks > pool - p else tasks)) for p, slowest, home, pool, w in wide
                 if tasks >= p and home in ("", problem.home[j])]  # fmt: skip
        ways = [d * (problem.cheapest(j, s, own) + scale * sum((w for at, w in sized if at <= s), single.get(j, ZERO)))
                for s, d in problem.takes[j].items() if problem.release[j] + d < before]  # fmt: skip
        if not ways:
            return before, spent
        value += min(ways) + scale * single.get(j, ZERO) * problem.release[j]
    return min(value, before), spent


def by_times(problem: Problem, proof: dict[str, Any], objective: str) -> tuple[Fraction, Fraction]:
    """Return what prices of nodes over time prove of a sum, and the price of all that there is, less what idles."""
    require(objective != "bounded_slowdown" or not problem.talks, "full links make runs longer, and slowdowns less")
    edges, unit, idle = weights(proof["edges"]), Fraction(proof["unit"]), dot(problem.idle, problem.nodes)
    lengths, prices = [b - a for a, b in pairwise(edges)], [weights(row) for row in proof["prices"]]
    require(min(*lengths, unit) > 0 == edges[0], "stretches of time must follow one another from 0 on")
    green = [problem.greenest(a, b) if objective == "carbon" else ZERO for a, b in pairwise(edges)]
    horizon, most = (edges[-1], idle * dot(green, lengths)) if objective == "carbon" else (inf, inf)
    rows = [[x / unit + extra * at for x, at in zip(row, green, strict=True)]
            for row, extra in zip(prices, problem.extra, strict=True)]  # fmt: skip
    sums = [[*accumulate((x * at for x, at in zip(row, lengths, strict=True)), initial=ZERO)] for row in rows]
    worth = [dot(row, problem.nodes) / unit - idle * at for *row, at in zip(*prices, green, strict=True)]
    paid = max(accumulate((x * at for x, at in zip(worth, lengths, strict=True)), initial=ZERO))

    def until(at: Fraction) -> list[Fraction]:
        k = max(k for k in range(len(lengths)) if edges[k] <= at)
        return [of[k] + row[k] * (min(at, edges[k + 1]) - edges[k]) for of, row in zip(sums, rows, strict=True)]

    def charge(j: int, start: Fraction, d: Fraction) -> Fraction:
        wait = start - problem.submit[j]
        slowdown = max(Fraction(1), (wait + d) / max(d, Fraction(10)))
        return {"flow": wait + d, "mean_wait": wait, "bounded_slowdown": slowdown, "carbon": ZERO}[objective]

    known, value = {at: until(at) for at in edges}, -paid
    for j, release in enumerate(problem.release):
        least: Any = inf
        for s, d in problem.takes[j].items():
            starts = {release, *edges, *(at - d for at in edges), problem.submit[j] + 10 - d, problem.submit[j]}
            for start in sorted(at for at in starts if release <= at <= horizon - d):
                if charge(j, start, d) >= least:
                    break  # charges rise with the start, and no price is below 0
                price = [b - a for a, b in zip(*(known.get(at) or until(at) for at in (start, start + d)), strict=True)]
                least = min(least, charge(j, start, d) + problem.cheapest(j, s, price))
        value += least
    spent = dot((dot(row, lengths) for row in prices), problem.nodes) / unit
    return min(value, most) / {"flow": 1, "carbon": 3_600_000_000}.get(objective, len(problem.tasks)), spent


WAYS = {("prices", objective): by_prices for objective in ("makespan", "energy")}
WAYS |= {("times", objective): by_times for objective in ("flow", "mean_wait", "bounded_slowdown", "carbon")}


def proven(instance: str, certificate: str) -> Fraction:
    """Return the bound that a certificate proves of an instance, both as their files' texts; raise Refused if none."""
    proof = json.loads(certificate)
    kind, objective, bound = proof["kind"], proof["objective"], Fraction(proof["bound"])
    require(proof["sha256"] == hashlib.sha256(instance.encode()).hexdigest(), "the certificate is for another instance")
    require((kind, objective) in WAYS, f"no certificate of kind {kind!r} proves anything of {objective!r}")
    value, spent = WAYS[kind, objective](Problem(instance), proof, objective)
    require(spent == Fraction(proof["spent"]), f"the multipliers add up to {spent}, not to {proof['spent']}")
    require(value == Fraction(proof["value"]), f"what is proven is {value}, not {proof['value']}")
    places = 10 ** len(proof["bound"].partition(".")[2])
    require(bound == Fraction(floor(value * places), places), "the bound is not the value rounded down")
    return bound


if __name__ == "__main__":
    try:
        sys.stdout.write(f"PROVED: at least {proven(*(Path(name).read_text('ascii') for name in sys.argv[1:3]))}\n")
    except (Refused, LookupError, ValueError, TypeError, ZeroDivisionError) as error:
        sys.exit(f"REFUSED: {error}")
