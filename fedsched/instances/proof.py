"""Proves a lower bound from an instance's file and a certificate, in exact fractions; it needs Python and nothing else.

python proof.py INSTANCE.json CERTIFICATE.json

It knows of no solver and no simulator. Notation: group g has m nodes of speed s; job j of τ tasks is released at r
(submitted, and all that it waits for has run as fast as it can), and takes d = runtime·(σ/s + 1 − σ) on nodes no slower
than s, or longer where links are full. Downtimes and partitions only take nodes away, so what holds without them holds.

"prices", for makespan T and energy: Σ d·q <= m·(T − r_l) for the jobs released from r_l on, Σ f_p(τ)·d <= N·(T − r_0)
with f_p(τ) = N if τ > N − p, τ if τ >= p, else 0, and r + d <= T. With any weights >= 0 of these, scaled so that they
spend what a second of T costs (1, or all idle watts), each job paying its cheapest way to run proves a bound. With
"before": in a schedule with T < before no job can run so that it ends later; so T >= the lesser of before and what the
others prove. "times", for sums over starts: in a stretch of time no more than m nodes are busy; each job pays its
charge and its nodes' prices at its cheapest start. "plan": a schedule that leaves nothing idle until its end.
"""

import hashlib
import json
import sys
from fractions import Fraction
from itertools import accumulate, pairwise
from math import floor
from pathlib import Path
from typing import Any

KNOWN = """format name version family about machine submits knowledge objectives clusters jobs downtimes partitions
submit tasks runtime estimate compute_fraction task_bandwidth after partition"""


class Refused(Exception):
    """What is not proven, and why."""


class Problem:
    """The jobs and groups of an instance's file."""

    def __init__(self, text: str) -> None:
        data = json.loads(text)
        if data["format"] != "fedsched instance 1" or {*data, *data["jobs"]} - {*KNOWN.split()}:
            raise Refused("the instance holds what this program does not know")
        groups = [group for cluster in data["clusters"] for group in cluster["groups"]]
        self.nodes = [group["nodes"] for group in groups]
        self.speed = [Fraction(group["speed"]) for group in groups]
        self.idle = [Fraction(group["idle_watts"]) for group in groups]
        self.extra = [Fraction(group["busy_watts"]) - Fraction(group["idle_watts"]) for group in groups]
        rooms = {s: sum(group["nodes"] for group in groups if Fraction(group["speed"]) >= s) for s in self.speed}
        jobs, self.tasks = data["jobs"], data["jobs"]["tasks"]
        self.submit = [Fraction(at) for at in jobs["submit"]]
        self.talks, self.release = any(jobs.get("task_bandwidth", ())), list(self.submit)
        shares = [Fraction(share) for share in jobs.get("compute_fraction", [1] * len(self.tasks))]
        self.takes = [
            {s: Fraction(runtime) * (share / s + 1 - share) for s, room in rooms.items() if room >= tasks}
            for runtime, share, tasks in zip(jobs["runtime"], shares, self.tasks, strict=True)
        ]
        for j, text in enumerate(jobs.get("after", ())):
            for condition in filter(None, text.split(",")):
                kind, other = condition.split(":")
                i = int(other) - 1
                if kind not in ("afterok", "afterany") or not 0 <= i < j:
                    raise Refused(f"the condition {condition!r} is not known")
                self.release[j] = max(self.release[j], self.release[i] + min(self.takes[i].values()))

    def cheapest(self, j: int, speed: Fraction, price: list[Fraction]) -> Fraction:
        """Return the least price of a job's nodes, none slower."""
        left, paid = self.tasks[j], Fraction(0)
        ways = zip(price, self.nodes, self.speed, strict=True)
        for cost, nodes in sorted((cost, nodes) for cost, nodes, own in ways if own >= speed):
            taken = min(left, nodes)
            left, paid = left - taken, paid + taken * cost
        return paid


def dot(first: Any, second: Any) -> Fraction:
    """Return the sum of products."""
    return sum((x * y for x, y in zip(first, second, strict=True)), start=Fraction(0))


def weights(values: list[Any]) -> list[Fraction]:
    """Return numbers, none below 0."""
    found = [Fraction(value) for value in values]
    if any(value < 0 for value in found):
        raise Refused("a multiplier is below 0")
    return found


def by_prices(problem: Problem, proof: dict[str, Any], objective: str) -> tuple[Fraction, Fraction]:
    """Return what weights of areas, wide jobs and single jobs prove, and their sum."""
    of_energy = {"makespan": False, "energy": True}[objective]
    levels, area = weights(proof["levels"]), [weights(row) for row in proof["area"]]
    wide = {int(p): weights([w])[0] for p, w in proof["wide"].items()}
    single = {int(j): weights([w])[0] for j, w in proof["job"].items()}
    total, first, groups = sum(problem.nodes), levels[0], range(len(problem.nodes))
    if first > min(problem.release) or any(not 0 < p <= (total + 1) // 2 for p in wide):
        raise Refused("the first level is after the first release, or a family does not exist")
    dear = [dot(row, problem.nodes) for row in area]  # all nodes, by level
    spent = sum(dear) + total * sum(wide.values()) + sum(single.values())
    scale = (dot(problem.idle, problem.nodes) if of_energy else 1) / spent
    before = Fraction(proof["before"]) if "before" in proof and not of_energy else None
    value = scale * (dot(dear, levels) + total * first * sum(wide.values()))
    for j, tasks in enumerate(problem.tasks):
        here = [row for row, at in zip(area, levels, strict=True) if at <= problem.release[j]]
        own = [scale * sum(row[g] for row in here) + (problem.extra[g] if of_energy else 0) for g in groups]
        sized = {p: total if tasks > total - p else tasks if tasks >= p else 0 for p in wide}
        second = scale * (single.get(j, Fraction(0)) + sum(w * sized[p] for p, w in wide.items()))
        ways = [d * (problem.cheapest(j, s, own) + second) for s, d in problem.takes[j].items()
                if before is None or problem.release[j] + d < before]  # fmt: skip
        if not ways and before is not None:
            return before, spent
        value += min(ways) + scale * single.get(j, Fraction(0)) * problem.release[j]
    return (value if before is None else min(value, before)), spent


def by_times(problem: Problem, proof: dict[str, Any], objective: str) -> tuple[Fraction, Fraction]:
    """Return what prices of nodes over time prove of a sum over jobs, and the price of all that there is."""
    if objective == "bounded_slowdown" and problem.talks:
        raise Refused("full links make runs longer, and slowdowns less")
    edges, unit, jobs = weights(proof["edges"]), Fraction(proof["unit"]), len(problem.tasks)
    lengths, prices = [b - a for a, b in pairwise(edges)], [weights(row) for row in proof["prices"]]
    if any(at <= 0 for at in (*lengths, unit)) or edges[0] != 0:
        raise Refused("stretches of time must follow one another from 0 on")
    costs = [[price * at for price, at in zip(row, lengths, strict=True)] for row in prices]
    sums = [list(accumulate(row, initial=Fraction(0))) for row in costs]

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
    return (value if objective == "flow" else value / jobs), paid


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
