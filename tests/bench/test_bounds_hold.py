"""What the checker proves is never false: beside every schedule of small random instances, with any multipliers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from fedsched.bench import proof as checker
from fedsched.bench.documents import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

SPEEDS, STEP = (1, 2), 4  # runs are whole numbers of seconds; a start is one of the first so many
NODES, IDLE, EXTRA = (2, 1), (90, 70), (110, 150)
UNTIL, GRAMS = 6, (400, 50, 300)
Placed = tuple[int, int, tuple[int, int]]


def drawn(random: Random) -> Document:
    """Return three jobs on two nodes and a faster one, where carbon changes every two seconds."""
    columns = {"submit": [random.randint(0, 1) for _ in range(3)], "tasks": [random.randint(1, 3) for _ in range(3)]}
    return Document.of(
        "tiny", family="carbon", about="at random", machine="tiny", asks=("makespan",),
        jobs=columns | {"runtime": [2 * random.randint(1, 2) for _ in range(3)]},
        clusters=[
            {"name": f"C{g}", "uplink": "inf", "groups": [
                {"nodes": NODES[g], "speed": SPEEDS[g], "busy_watts": IDLE[g] + EXTRA[g], "idle_watts": IDLE[g]}
            ]}
            for g in range(2)
        ],
        signals=[{"times": [0, 2, 4], "values": list(GRAMS), "unit": "g/kWh", "until": UNTIL, "beyond": "repeat"}],
    )  # fmt: skip


def ways(document: Document, j: int) -> Iterator[Placed]:
    """Give every start, end and choice of nodes of a job, by whole seconds."""
    jobs = document.data["jobs"]
    for slow in range(NODES[0] + 1):
        fast = jobs["tasks"][j] - slow
        if 0 <= fast <= NODES[1]:
            takes = jobs["runtime"][j] // (SPEEDS[0] if slow else SPEEDS[1])
            for start in range(jobs["submit"][j], jobs["submit"][j] + STEP * 2):
                yield start, start + takes, (slow, fast)


def schedules(document: Document) -> Iterator[tuple[Placed, ...]]:
    """Give every schedule that never uses more nodes than there are."""
    for plan in product(*(list(ways(document, j)) for j in range(3))):
        busy = ([sum(n[g] for a, b, n in plan if a <= at < b) for g in range(2)] for at in range(16))
        if all(used[g] <= NODES[g] for used in busy for g in range(2)):
            yield plan


def measured(document: Document, plan: tuple[Placed, ...]) -> dict[str, Fraction]:
    """Return what a schedule comes to, second by second."""
    end = max(b for _, b, _ in plan)
    watts = [
        sum(IDLE[g] * NODES[g] + EXTRA[g] * sum(n[g] for a, b, n in plan if a <= at < b) for g in range(2))
        for at in range(end)
    ]
    submit = document.data["jobs"]["submit"]
    return {
        "makespan": Fraction(end),
        "energy": Fraction(sum(watts)),
        "carbon": Fraction(sum(w * GRAMS[at % UNTIL // 2] for at, w in enumerate(watts)), 3_600_000_000),
        "flow": Fraction(sum(b - at for (_, b, _), at in zip(plan, submit, strict=True))),
        "mean_wait": Fraction(sum(a - at for (a, _, _), at in zip(plan, submit, strict=True)), 3),
    }


def multipliers(random: Random, objective: str) -> dict[str, Any]:
    """Return some at random: none, small or large."""
    whole: dict[str, Any] = {"edges": [0], "unit": 1, "packs": [], "job": {}, "watt": 0}
    before = {"before": random.randint(3, 9)} if random.random() < 0.5 else {}
    if objective in ("makespan", "energy"):
        some = {"edges": [0, 1], "prices": [[random.choice((0, 1, 3)) for _ in range(2)] for _ in range(2)]}
        pools = [[room, {n: random.choice((0, 1, 5)) for n in "123"}] for room in ([1], [0, 1])]
        one = whole | some | {"packs": [pools, [pools[1]]], "job": {"0": 1}} | before
        # Where energy is bounded they are worth what idles, or more at a loss.
        return one | ({"unit": str(Fraction(random.randint(1, 20), 100))} if objective == "energy" else {})
    edges = [0, *sorted(random.sample(range(1, 16), 4))]
    scale = {"carbon": 40_000, "flow": 2, "mean_wait": 2}[objective]
    prices = [[*(random.choice((0, 0, 1, 2)) * random.randint(0, scale) for _ in edges[1:]), 0] for _ in range(2)]
    return whole | {"edges": edges, "unit": 4, "prices": prices} | (before if objective == "carbon" else {})


@pytest.mark.parametrize("seed", range(6))
def test_no_schedule_beats_any_multipliers(seed: int) -> None:
    """Tests that the best of all schedules is at or above what is proven, whatever the multipliers."""
    random = Random(seed)
    document = drawn(random)
    every = [measured(document, plan) for plan in schedules(document)]
    problem = checker.Problem(document.text)
    for objective in every[0]:
        best = min(one[objective] for one in every)
        found = [checker.follows(problem, multipliers(random, objective), objective)[0] for _ in range(60)]
        assert max(found) <= best, objective
        assert max(found) > 0 or objective == "mean_wait"


SHARED = ({"cpu": 2, "memory": 3}, {"cpu": 3, "memory": 2})  # of the nodes of each group
ON_NODES = (0, 0, 1)  # the group of each node


def sharing(random: Random) -> Document:
    """Return three jobs whose tasks share two nodes and a faster one."""
    plain = drawn(random).data
    jobs = plain["jobs"] | {"tasks": [random.randint(1, 2) for _ in range(3)]}
    demand = {"cpu": [random.randint(1, 2) for _ in range(3)], "memory": [random.randint(0, 3) for _ in range(3)]}
    clusters = [
        cluster | {"groups": [cluster["groups"][0] | {"resources": has}]}
        for cluster, has in zip(plain["clusters"], SHARED, strict=True)
    ]
    kept = {name: part for name, part in plain.items() if name != "signals"}
    return Document(kept | {"clusters": clusters, "jobs": jobs | {"demand": demand}, "sharing": "pack"})


def beside_each_other(document: Document) -> Iterator[dict[str, Fraction]]:
    """Give what each schedule of the jobs comes to that never takes more of a node than it has."""
    jobs = document.data["jobs"]
    every: list[list[tuple[int, int, tuple[int, ...]]]] = []
    for j in range(3):
        places = [on for on in product(range(3), repeat=3) if sum(on) == jobs["tasks"][j]]
        first = jobs["submit"][j]
        lengths = [jobs["runtime"][j] // min(SPEEDS[ON_NODES[n]] for n in range(3) if on[n]) for on in places]
        ways = zip(places, lengths, strict=True)
        every.append([(at, at + d, on) for on, d in ways for at in range(first, first + 5)])
    for plan in product(*every):
        takes = {r: [[on[n] * jobs["demand"][r][j] for n in range(3)] for j, (_, _, on) in enumerate(plan)]
                 for r in ("cpu", "memory")}  # fmt: skip
        moments = [[j for j, (a, b, _) in enumerate(plan) if a <= at < b] for at in {a for a, _, _ in plan}]
        if all(
            sum(of[j][n] for j in running) <= SHARED[ON_NODES[n]][r]
            for running in moments for r, of in takes.items() for n in range(3)
        ):  # fmt: skip
            end = max(b for _, b, _ in plan)
            busy = sum(
                Fraction(EXTRA[ON_NODES[n]] * takes["cpu"][j][n] * (b - a), SHARED[ON_NODES[n]]["cpu"])
                for j, (a, b, _) in enumerate(plan) for n in range(3)
            )  # fmt: skip
            idle = end * sum(IDLE[g] * NODES[g] for g in range(2))
            waits = Fraction(sum(a - at for (a, _, _), at in zip(plan, jobs["submit"], strict=True)), 3)
            flow = Fraction(sum(b - at for (_, b, _), at in zip(plan, jobs["submit"], strict=True)))
            yield {"makespan": Fraction(end), "energy": idle + busy, "flow": flow, "mean_wait": waits}


@pytest.mark.parametrize("seed", range(3))
def test_no_schedule_on_shared_nodes_beats_any_multipliers(seed: int) -> None:
    """Tests the same where jobs share nodes, by each resource, also where some take none of it or fit on few nodes."""
    random = Random(seed)
    document = sharing(random)
    best: dict[str, Fraction] = {}
    for one in beside_each_other(document):
        best = {name: min(value, best.get(name, value)) for name, value in one.items()}
    assert best
    for of in ("cpu", "memory"):
        problem = checker.Problem(document.text, of)
        for objective, least in best.items():
            found = [checker.follows(problem, multipliers(random, objective), objective)[0] for _ in range(60)]
            assert max(found) <= least, (of, objective)
    found = [checker.follows(checker.Problem(document.text, "cpu"), multipliers(random, "makespan"), "makespan")[0]]
    assert found[0] > 0


def test_the_least_carbon_of_a_stretch() -> None:
    """Tests that a signal's values are those of its steps, again and again, and that a cluster's own are refused."""
    document = drawn(Random(0))
    problem = checker.Problem(document.text)
    spans = ((0, 2), (1, 3), (2, 4), (4, 8), (5, 8), (6, 8), (10, 12), (3, 99))
    assert [problem.greenest(Fraction(a), Fraction(b)) for a, b in spans] == [400, 50, 50, 300, 300, 400, 300, 50]
    [signal] = document.data["signals"]
    own = Document(document.data | {"signals": [signal | {"cluster": "C0"}]})
    with pytest.raises(ValueError, match="signal is not known"):
        checker.Problem(own.text).greenest(Fraction(0), Fraction(1))
