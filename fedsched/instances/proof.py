"""Proves a lower bound from an instance's file and a certificate, in exact fractions; it needs Python and nothing else.

python proof.py INSTANCE.json CERTIFICATE.json

It knows of no solver and no simulator; docs/bench.md has the inequalities. Group g has m nodes of speed s; nodes of a
group that are in the same partitions count as one. Job j of τ tasks is released at r (submitted, and all that it waits
for has run as fast as it can), has nodes of its partition, and takes d = runtime·(σ/s + 1 − σ) on nodes none slower
than s, or longer where links are full. Downtimes only take nodes away: what holds without them holds.
"""

import hashlib
import json
import sys
from fractions import Fraction
from itertools import accumulate, groupby, pairwise
from math import floor
from pathlib import Path
from typing import Any

KNOWN = """format name version family about machine submits knowledge objectives clusters jobs downtimes partitions
signals submit tasks runtime estimate compute_fraction task_bandwidth after partition"""
ZERO = Fraction(0)


class Refused(Exception):
    """What is not proven, and why."""


def cells(data: Any) -> Any:
    """Give groups, the partitions that some nodes of each are in, and how many nodes those are."""
    for cluster in data["clusters"]:
        own = [(part["name"], text.replace("all", "0-999999").split("-")) for part in data.get("partitions", ())
               for name, text in part["nodes"] if name == cluster["name"]]  # fmt: skip
        first = 0
        for group in cluster["groups"]:
            nodes = range(first, first := first + group["nodes"])
            homes = [{name for name, (a, b) in own if int(a) <= node <= int(b)} for node in nodes]
            yield from ((group, home, len([*run])) for home, run in groupby(homes))


class Problem:
    """The jobs and groups of an instance's file."""

    def __init__(self, text: str) -> None:
        data = json.loads(text)
        if data["format"] != "fedsched instance 1" or {*data, *data["jobs"]} - {*KNOWN.split()}:
            raise Refused("the instance holds what this program does not know")
        groups, homes, self.nodes = zip(*cells(data), strict=True)
        self.speed = [Fraction(group["speed"]) for group in groups]
        self.idle = [Fraction(group["idle_watts"]) for group in groups]
        self.extra = [Fraction(group["busy_watts"]) - Fraction(group["idle_watts"]) for group in groups]
        caps = [max(one["values"]) for one in data.get("signals", ())
                if one["unit"] == "W" and "cluster" not in one and one["beyond"] in ("last", "repeat")]  # fmt: skip
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
                i = int(other) - 1
                if kind not in ("afterok", "afterany") or not 0 <= i < j:
                    raise Refused(f"the condition {kind}:{other} is not known")
                self.release[j] = max(self.release[j], self.release[i] + min(self.takes[i].values()))

    def ways(self, home: str, speed: Fraction, price: list[Fraction]) -> list[tuple[Fraction, int]]:
        """Return prices and numbers of the nodes, none slower, that jobs of a partition may have."""
        found = zip(price, self.nodes, self.speed, self.own[home], strict=True)
        return [(cost, nodes) for cost, nodes, own, opened in found if opened and own >= speed]

    def cheapest(self, j: int, speed: Fraction, price: list[Fraction]) -> Fraction:
        """Return the least price of a job's nodes, none slower."""
        left, paid = self.tasks[j], ZERO
        for cost, nodes in sorted(self.ways(self.home[j], speed, price)):
            taken = min(left, nodes)
            left, paid = left - taken, paid + taken * cost
        return paid


def dot(first: Any, second: Any) -> Fraction:
    """Return the sum of products."""
    return sum((x * y for x, y in zip(first, second, strict=True)), start=ZERO)


def weights(values: list[Any]) -> list[Fraction]:
    """Return numbers, none below 0."""
    found = [Fraction(value) for value in values]
    if any(value < 0 for value in found):
        raise Refused("a multiplier is below 0")
    return found


def by_prices(problem: Problem, proof: dict[str, Any], objective: str) -> tuple[Fraction, Fraction]:
    """Return what weights of areas, wide jobs and single jobs prove, and their sum."""
    of_energy = {"makespan": False, "energy": True}[objective]
    if "branch" in proof:
        j, limit, *parts = proof["branch"]
        takes, found = problem.takes[j], []
        for part, fast in zip(parts, (True, False), strict=True):
            problem.takes[j] = {s: d for s, d in takes.items() if (s >= Fraction(limit)) is fast}
            found.append(by_prices(problem, part, objective))
        problem.takes[j] = takes
        return min(value for value, _ in found), sum((spent for _, spent in found), start=ZERO)
    levels, area = weights(proof["levels"]), [weights(row) for row in proof["area"]]
    single = {int(j): weights([w])[0] for j, w in proof["job"].items()}
    first, groups, wide = levels[0], range(len(problem.nodes)), []
    for key, weight in zip(proof["wide"], weights([*proof["wide"].values()]), strict=True):
        p, slowest, home = f"{key}:0:".split(":")[:3]
        pool = sum(n for _, n in problem.ways(home, Fraction(slowest), problem.speed))
        if not 0 < int(p) <= (pool + 1) // 2:
            raise Refused(f"there is no family {key}")
        wide.append((int(p), Fraction(slowest), home, pool, weight))
    if first > min(problem.release):
        raise Refused("the first level is after the first release")
    dear, roomy = [dot(row, problem.nodes) for row in area], dot((one[-2] for one in wide), (one[-1] for one in wide))
    watt = weights([proof.get("watt", 0)])[0]
    if watt and problem.left <= 0:
        raise Refused("no cap is known")
    watts, roomy = [watt * max(extra, ZERO) for extra in problem.extra], roomy + watt * problem.left
    spent = sum(dear, start=roomy) + sum(single.values())
    scale = (dot(problem.idle, problem.nodes) if of_energy else Fraction(1)) / spent
    before = Fraction(proof["before"]) if "before" in proof and not of_energy else None
    value = scale * (dot(dear, levels) + roomy * first)
    for j, tasks in enumerate(problem.tasks):
        here = [row for row, at in zip(area, levels, strict=True) if at <= problem.release[j]]
        own = [scale * sum((row[g] for row in here), watts[g]) + of_energy * problem.extra[g] for g in groups]
        sized = [(slowest, w * (pool if tasks > pool - p else tasks)) for p, slowest, home, pool, w in wide
                 if tasks >= p and home in ("", problem.home[j])]  # fmt: skip
        ways = [d * (problem.cheapest(j, s, own) + scale * sum((w for at, w in sized if at <= s), single.get(j, ZERO)))
                for s, d in problem.takes[j].items() if before is None or problem.release[j] + d < before]  # fmt: skip
        if not ways and before is not None:
            return before, spent
        value += min(ways) + scale * single.get(j, ZERO) * problem.release[j]
    return (value if before is None else min(value, before)), spent


def by_times(problem: Problem, proof: dict[str, Any], objective: str) -> tuple[Fraction, Fraction]:
    """Return what prices of nodes over time prove of a sum over jobs, and the price of all that there is."""
    if objective == "bounded_slowdown" and problem.talks:
        raise Refused("full links make runs longer, and slowdowns less")
    edges, unit = weights(proof["edges"]), Fraction(proof["unit"])
    lengths, prices = [b - a for a, b in pairwise(edges)], [weights(row) for row in proof["prices"]]
    if any(at <= 0 for at in (*lengths, unit)) or edges[0] != 0:
        raise Refused("stretches of time must follow one another from 0 on")
    costs = ((price * at for price, at in zip(row, lengths, strict=True)) for row in prices)
    sums = [list(accumulate(row, initial=ZERO)) for row in costs]

    def until(at: Fraction) -> list[Fraction]:
        k = max(k for k in range(len(lengths)) if edges[k] <= at)
        into = min(at, edges[k + 1]) - edges[k]
        return [of[k] + row[k] * into for of, row in zip(sums, prices, strict=True)]

    def charge(j: int, start: Fraction, d: Fraction) -> Fraction:
        wait = start - problem.submit[j]
        slowdown = max(Fraction(1), (wait + d) / max(d, Fraction(10)))
        return {"flow": wait + d, "mean_wait": wait, "bounded_slowdown": slowdown}[objective]

    paid = dot((row[-1] for row in sums), problem.nodes) / unit
    at_edge, value = {at: until(at) for at in edges}, -paid
    for j, release in enumerate(problem.release):
        least = None
        for s, d in problem.takes[j].items():
            starts = {release, *edges, *(at - d for at in edges), problem.submit[j] + 10 - d, problem.submit[j]}
            for start in sorted(at for at in starts if at >= release):
                if least is not None and charge(j, start, d) >= least:
                    break  # charges rise with the start, and no price is below 0
                begin, end = (at_edge.get(at) or until(at) for at in (start, start + d))
                price = [(b - a) / unit for a, b in zip(begin, end, strict=True)]
                cost = charge(j, start, d) + problem.cheapest(j, s, price)
                least = cost if least is None else min(least, cost)
        value += least or 0
    return (value if objective == "flow" else value / len(problem.tasks)), paid


def by_plan(problem: Problem, proof: dict[str, Any], objective: str) -> tuple[Fraction, Fraction]:
    """Return the end of a full schedule, and all work, where no schedule can be shorter."""
    starts, events = weights(proof["start"]), []
    for j, (start, text) in enumerate(zip(starts, proof["nodes"], strict=True)):
        counts = {int(g): int(n) for g, n in (part.split(":") for part in text.split("+"))}
        if sum(counts.values()) != problem.tasks[j] or min(counts.values()) < 1 or start < problem.release[j]:
            raise Refused(f"job {j + 1} has not its nodes, or starts too early")
        end = start + problem.takes[j][min(problem.speed[g] for g in counts)]
        events += [(at, kind, g, n) for g, n in counts.items() for at, kind in ((start, 1), (end, 0))]
    free, last = list(problem.nodes), max(events)[0]
    for _, begins, g, n in sorted(events):  # ends come first
        free[g] += -n if begins else n
        if free[g] < 0:
            raise Refused(f"group {g} has too few nodes")
    work = dot(problem.tasks, (min(s * d for s, d in takes.items()) for takes in problem.takes))
    if work != last * dot(problem.nodes, problem.speed) or len(starts) != len(problem.tasks):
        raise Refused("the schedule leaves something idle, or jobs out")
    return last, work


WAYS = {("prices", "makespan"): by_prices, ("prices", "energy"): by_prices, ("plan", "makespan"): by_plan}
WAYS |= {("times", objective): by_times for objective in ("flow", "mean_wait", "bounded_slowdown")}


def proven(instance: str, certificate: str) -> Fraction:
    """Return the bound that a certificate proves of an instance, both as their files' texts; raise Refused if none."""
    proof = json.loads(certificate)
    kind, objective = proof["kind"], proof["objective"]
    if proof["sha256"] != hashlib.sha256(instance.encode()).hexdigest():
        raise Refused("the certificate is for another instance")
    if (kind, objective) not in WAYS:
        raise Refused(f"no certificate of kind {kind!r} proves anything of {objective!r}")
    value, spent = WAYS[kind, objective](Problem(instance), proof, objective)
    if spent != Fraction(proof["spent"]):
        raise Refused(f"the multipliers add up to {spent}, not to {proof['spent']}")
    if value != Fraction(proof["value"]):
        raise Refused(f"what is proven is {value}, not {proof['value']}")
    bound, places = Fraction(proof["bound"]), 10 ** len(proof["bound"].partition(".")[2])
    if bound != Fraction(floor(value * places), places):
        raise Refused("the bound is not the value rounded down")
    return bound


if __name__ == "__main__":
    try:
        texts = (Path(name).read_text(encoding="ascii") for name in sys.argv[1:3])
        sys.stdout.write(f"PROVED: at least {proven(*texts)}\n")
    except (Refused, LookupError, ValueError, TypeError, ZeroDivisionError) as error:
        sys.exit(f"REFUSED: {error}")
