"""Certificates of lower bounds: found by the library's solvers, written as whole numbers, proven by `proof` alone."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import floor, lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.bench import DATA
from fedsched.bench import proof as checker
from fedsched.bench.carbon import priced_by_carbon
from fedsched.bench.cases import by_cases
from fedsched.bench.documents import Document
from fedsched.bench.forms import in_units, written
from fedsched.bench.patterns import packed
from fedsched.bench.programs import UNIT, multipliers, text_of
from fedsched.bench.unit_reduction import Units, resources_of
from fedsched.bounds.cost.buckets import Scarce
from fedsched.bounds.cost.charges import CHARGES
from fedsched.bounds.cost.dual import Multipliers
from fedsched.bounds.cost.prices import find_prices
from fedsched.bounds.cost.prover import Prover
from fedsched.bounds.lower.closed import threshold_of
from fedsched.bounds.lower.downtime_losses import NO_CLOSURES
from fedsched.bounds.lower.relaxation import Relaxation, relax
from fedsched.engine.pack.node_caps import caps_table
from fedsched.engine.pack.problem import pack

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from fedsched.bounds.cost.dual import BoundProblem

FORMAT = "fedsched certificate 1"
FOLDER = DATA / "certificates"
MOST_OF_PROGRAMS, MOST_OF_CASES = 500, 50  # jobs
EFFORT, LEAST_EDGES = 20_000, 17  # the most ways to run × stretches of time, and the fewest stretches
OF_TIMES = ("flow", "mean_wait", "bounded_slowdown")
PROVABLE = ("makespan", "energy", "carbon", *OF_TIMES)
PLACES = {"carbon": 3, "makespan": 3, "energy": 0, "flow": 1, "mean_wait": 4, "bounded_slowdown": 6}


def certificate_path(name: str, objective: str) -> Path:
    """Return the path of the certificate for an objective of an instance, whether the file exists or not."""
    return FOLDER / f"{name}.{objective}.json"


@cache
def certified_bound(name: str, objective: str) -> float | None:
    """Return the bound that a certificate states, without proving it anew; None if there is no certificate.

    The tests prove it.
    """
    path = certificate_path(name, objective)
    return float(json.loads(path.read_text(encoding="ascii"))["bound"]) if path.is_file() else None


def certificate(document: Document, objective: str) -> str:
    """Return the text of a certificate: the proof of the best lower bound found on an objective of an instance."""
    if document.sharing is None:
        proposed = _proposed(document, objective)
    else:
        by_resource = [Units(document, of) for of in resources_of(document)]
        proposed = [units.back(one) for units in by_resource for one in _proposed(units.document, objective)
                    if "apart" not in one]  # fmt: skip
    proofs = [(_valued(document, one), one) for one in proposed if not _is_empty(one)]
    return _sealed(document, *max(proofs, key=lambda found: found[0][0]))


def _proposed(document: Document, objective: str) -> list[dict[str, Any]]:
    if objective == "carbon":
        return [priced_by_carbon(_relaxation(document), _problem(document.text))]
    prover = Prover(_relaxation(document), "lp" if len(document.workload) <= MOST_OF_PROGRAMS else "lagrangian")
    proposed = [*(_by_times if objective in OF_TIMES else _by_prices)(document, prover, objective)]
    if objective == "makespan":
        proposed.append(_by_speeds(document))
    if objective not in OF_TIMES:
        if len(document.workload) <= MOST_OF_PROGRAMS:
            proposed += _by_programs(document, prover, objective)
        proposed += _by_patterns(document, objective)
        if len(document.workload) <= MOST_OF_CASES and "downtimes" not in document.data:
            proposed += filter(None, [by_cases(_problem(document.text), objective)])
    return proposed


def _relaxation(document: Document) -> Relaxation:
    # The checker accounts for downtimes itself, whatever the multipliers; caps are part of the certificate.
    always_up = Document({name: part for name, part in document.data.items() if name not in ("downtimes", "signals")})
    federation, workload = always_up.federation, document.workload
    problem = pack(workload, federation, reading=document.reading, t0=0.0)
    return relax(problem, caps_table(workload, federation, None), workload.id, runtime=workload.runtime, separate=True)


def _whole(values: NDArray[np.float64], largest: float) -> list[Any]:
    scaled: list[Any] = np.rint(values / largest * UNIT).astype(np.int64).tolist()
    return scaled


def _by_prices(document: Document, prover: Prover, objective: str) -> Iterator[dict[str, Any]]:
    """Yield proofs by the multipliers of each of the library's bounds on the makespan or energy."""

    def weighed(multipliers: Multipliers) -> dict[str, Any]:
        found = _weights(problem, multipliers)
        return {"objective": objective, **written(document, _problem(document.text), found, objective)}

    problem, tried = prover.problem, [*prover.fixed_prices()]
    if objective == "energy":
        # The unspent part of the price of time goes to the best proof of the makespan.
        best = prover.best_makespan.multipliers
        relaxation = prover.relaxation
        prover.energy()
        for line in prover.energy_lines:
            if line.slope == 0:
                yield weighed(_filled(relaxation, line.multipliers, best))
        for prices in (*tried, best):
            yield weighed(prices)
        return
    lone = np.zeros(len(document.workload))
    lone[np.argmax(prover.relaxation.release + prover.relaxation.shortest)] = 1.0
    nothing = tried[0].scaled(0.0)
    tried += [Multipliers(nothing.area, nothing.wide, lone), prover.best_makespan.multipliers]
    for prices in tried:
        yield weighed(prices)


def _by_speeds(document: Document) -> dict[str, Any]:
    """Return a proof of a makespan by total work over total speed, which is the optimum of a planted machine."""
    speeds = _problem(document.text).speed
    unit = lcm(*(speed.denominator for speed in speeds))
    found = {"levels": [0], "area": [[int(unit * speed) for speed in speeds]], "wide": {}, "job": {}}
    return {"objective": "makespan", **written(document, _problem(document.text), found, "makespan")}


def _by_programs(document: Document, prover: Prover, objective: str) -> Iterator[dict[str, Any]]:
    """Yield proofs by the multipliers of linear programs with wide jobs on every pool of nodes.

    For makespans also by bisection: if T < t, no job ends at t or later; so T >= min(t, the bound under that
    condition).
    """
    relaxation, levels = prover.relaxation, prover.problem.levels
    homes = document.data["jobs"].get("partition", [""] * len(document.workload))
    left = float(_problem(document.text).left)
    watts = left if left > 0 else None

    def proof(before: Fraction | None) -> dict[str, Any]:
        until = None if before is None else float(before)
        found = multipliers(relaxation, levels, homes, of_energy=objective == "energy", before=until, left=watts)
        if found is None:  # some job cannot end by then: any multiplier will do
            found = multipliers(relaxation, levels, homes, of_energy=False)
        limit = {} if before is None else {"before": str(before)}
        whole = written(document, _problem(document.text), {**(found or {}), **limit}, objective)
        return {"objective": objective, **whole}

    best = proof(None)
    yield best
    if objective == "energy":
        return
    ends = (relaxation.release[:, None] + relaxation.duration)[relaxation.usable]
    instants = np.unique(ends[ends > float(_valued(document, best)[0])])
    low, high = 0, instants.size
    while low < high:
        middle = (low + high) // 2
        before = Fraction(floor(float(instants[middle]) * 1000), 1000)
        one = proof(before)
        yield one
        low, high = (middle + 1, high) if _valued(document, one)[0] >= before else (low, middle)


def _by_patterns(document: Document, objective: str) -> Iterator[dict[str, Any]]:
    """Yield the proof by job widths that fill pools of nodes together (`patterns`)."""
    problem = _problem(document.text)
    one = packed(document, problem, of_energy=objective == "energy")
    yield {"objective": objective, **in_units(problem, one, objective)}


def _filled(relaxation: Relaxation, some: Multipliers, rest: Multipliers) -> Multipliers:
    """Return multipliers plus a share of others, so that together they spend the idle watts of all nodes."""

    def spent(one: Multipliers) -> float:
        nodes = float((one.area @ relaxation.nodes).sum())
        return nodes + float(one.wide.sum()) * relaxation.total_nodes + float(one.job.sum())

    left, all_of_rest = relaxation.idle_total - spent(some), spent(rest)
    share = max(0.0, left) / all_of_rest if all_of_rest > 0 else 0.0
    return Multipliers(some.area + share * rest.area, some.wide + share * rest.wide, some.job + share * rest.job)


def _weights(problem: BoundProblem, multipliers: Multipliers) -> dict[str, Any]:
    multipliers = multipliers.clipped()
    parts = (multipliers.area, multipliers.wide, multipliers.job)
    largest = max(float(part.max(initial=0.0)) for part in parts) or 1.0
    area, wide, job = (_whole(part, largest) for part in parts)
    total = problem.relaxation.total_nodes
    thresholds = [threshold_of(row, problem.relaxation.tasks, total) for row in problem.wide]
    group_class = problem.relaxation.group_class.tolist()
    return {
        "levels": [text_of(level) for level in problem.levels.tolist()],
        "area": [[row[c] for c in group_class] for row in area],
        "wide": {str(p): w for p, w in zip(thresholds, wide, strict=True) if w},
        "job": {str(j): w for j, w in enumerate(job) if w},
    }


def _by_times(document: Document, prover: Prover, objective: str) -> Iterator[dict[str, Any]]:
    """Yield the proof of a bound on waits or responses by the library's prices over time."""
    # The checker does not account for closed nodes here.
    always_open = replace(prover.relaxation, shut=NO_CLOSURES)
    scarce, charge = Scarce.of(always_open, np.zeros((0, len(document.workload)))), CHARGES[objective]
    prices = find_prices(scarce, charge, np.inf)
    # Whole seconds, and few enough stretches for fast exact fractions; each stretch has its mean price.
    few = max(LEAST_EDGES, EFFORT // int(prover.relaxation.usable.sum()))
    several = np.linspace(0, len(prices.edges) - 1, min(few, len(prices.edges))).round().astype(np.int64)
    edges = sorted({0, *(round(at) for at in prices.edges[several].tolist())})
    spent = np.vstack([np.zeros(prices.node.shape[1]), np.cumsum(prices.node * prices.lengths[:, None], axis=0)])
    until = np.stack([np.interp(edges, prices.edges, column) for column in spent.T], axis=1)
    mean = np.diff(until, axis=0) / np.diff(edges)[:, None]
    unit = round(UNIT / (float(mean.max(initial=0.0)) or 1.0))
    weights = np.vstack([np.rint(mean * unit).astype(np.int64), np.zeros((1, mean.shape[1]), dtype=np.int64)])
    slowdown = prover.relaxation.class_slowdown[prover.relaxation.group_class]
    of_group = np.searchsorted(np.unique(prover.relaxation.class_slowdown), slowdown).tolist()
    columns = [weights[:, k].tolist() for k in of_group]
    yield {"objective": objective, "edges": edges, "unit": unit, "prices": columns, "packs": [], "job": {}, "watt": 0}


def _is_empty(one: dict[str, Any]) -> bool:
    """Return whether a proof has no multiplier above 0, which is so if its solver gave up."""
    return "apart" not in one and not (any(map(any, one["prices"])) or one["packs"] or one["job"] or one["watt"])


def _valued(document: Document, one: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """Return the bound that the checker finds for a proof, and the sum of the proof's prices."""
    return checker.follows(_problem(document.text, one.get("of", "")), one, one["objective"])


@cache
def _problem(text: str, of: str = "") -> checker.Problem:
    return checker.Problem(text, of)


def _sealed(document: Document, found: tuple[Fraction, Fraction], one: dict[str, Any]) -> str:
    value, spent = found
    places = PLACES[one["objective"]]
    scaled = floor(value * 10**places)
    bound = f"{scaled // 10**places}.{scaled % 10**places:0{places}d}" if places else str(scaled)
    data = {
        "format": FORMAT, "instance": document.name, "version": document.data["version"], "sha256": document.sha256,
        "bound": bound, "value": str(value), "spent": str(spent), **one,
    }  # fmt: skip
    lines = (f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in data.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"
