"""The form of certificates: multipliers of areas and wide jobs become prices over time and of job widths.

Widths are priced in pools of nodes.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from fedsched.bench import proof as checker

if TYPE_CHECKING:
    from fedsched.bench.documents import Document


def written(document: Document, problem: checker.Problem, found: dict[str, Any], objective: str) -> dict[str, Any]:
    """Return multipliers (`levels`, `area`, `wide`, `job`, perhaps `watt` and `before`) in the form of a certificate.

    An area's multiplier is a price from its level on. Wide jobs of a family f_p have p tasks or more on a pool of N
    nodes. They pay for their tasks, or for all N nodes if they are too wide for each other.
    """
    edges = [Fraction(level) for level in found["levels"]]
    rows = [[*accumulate(Fraction(row[g]) for row in found["area"])] for g in range(len(problem.nodes))]
    if edges[0] > 0:
        edges, rows = [Fraction(0), *edges], [[Fraction(0), *row] for row in rows]
    one = {
        "edges": [shortest(at) for at in edges], "unit": 1,
        "prices": [[shortest(price) for price in row] for row in rows],
        "packs": [[family(document, problem, key, weight)] for key, weight in found["wide"].items()],
        "job": found["job"], "watt": found.get("watt", 0),
    }  # fmt: skip
    return in_units(problem, one, objective) | ({"before": found["before"]} if "before" in found else {})


def family(document: Document, problem: checker.Problem, key: str, weight: int) -> list[Any]:
    """Return the pool (its groups) of a family of wide jobs, and the price of jobs of each width in it.

    `key` names the family: threshold:speed:partition.
    """
    p, speed, home = f"{key}:0:".split(":")[:3]
    jobs, room = document.data["jobs"], room_of(problem, home, Fraction(speed))
    pool = sum(problem.nodes[g] for g in room)
    parts = jobs.get("partition", [""] * len(jobs["tasks"]))
    mine = {tasks for tasks, part in zip(jobs["tasks"], parts, strict=True) if tasks >= int(p) and home in ("", part)}
    return [room, {str(n): weight * (pool if n > pool - int(p) else n) for n in sorted(mine)}]


def room_of(problem: checker.Problem, home: str, speed: Fraction) -> list[int]:
    """Return the groups of at least this speed that jobs of a partition may use; with "" those of all groups."""
    return [g for g, homes in enumerate(problem.homes) if home in homes and problem.speed[g] >= speed]


def in_units(problem: checker.Problem, one: dict[str, Any], objective: str) -> dict[str, Any]:
    """Return a proof for energy with a unit by which jobs running at once pay at most all nodes' idle power.

    A proof for another objective is returned unchanged.
    """
    if objective != "energy":
        return one
    idle = sum(watts * nodes for watts, nodes in zip(problem.idle, problem.nodes, strict=True))
    return one | {"unit": shortest(rate_of(problem, one) / idle)}


def rate_of(problem: checker.Problem, one: dict[str, Any]) -> Fraction:
    """Return the most that all jobs running at once pay a second, at the last prices, not divided by the unit."""
    packs = [
        [({*room}, {n: (Fraction(x), int(n)) for n, x in of.items()}) for room, of in pools] for pools in one["packs"]
    ]
    rate = Fraction(sum(Fraction(row[-1]) * n for row, n in zip(one["prices"], problem.nodes, strict=True)))
    rate += sum(map(Fraction, one["job"].values())) + sum(checker.fullest(pools, problem.nodes) for pools in packs)
    return rate + (Fraction(one["watt"]) * problem.left if one["watt"] else 0)


def shortest(value: Fraction) -> int | str:
    """Return a fraction in the form of certificates: an int if it is whole, else a text such as "1/3"."""
    return int(value) if value.denominator == 1 else str(value)
