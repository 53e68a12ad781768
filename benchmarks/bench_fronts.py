"""How much of the best front the searches find: makespan and energy, and with mean wait or a user's cost as a third.

Tiny problems have fronts that are proven by trying everything. On packages of logs the reference is what no plan
dominates of long runs of every method and of all runs of the table. Shares are of the reference's hypervolume (where
its best and worst value are 0 and 1, up to 1.1). All budgets are evaluations, and figures repeat exactly, unless
--seconds asks what methods find in so much time on one core: then of packages alone, with the same reference.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from enumerated_fronts import enumerated_front, tiny
from instances import hungry_federation, thesis_packages

import fedsched as fs
from fedsched.compare import Budget
from fedsched.comparison.fronts import Reference
from fedsched.search.methods.methods import METHODS
from fedsched.search.problem.objectives import Objectives

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fedsched.engine.arrays.structs import Floats

    Aim: TypeAlias = str | Callable[[Mapping[str, Floats]], Floats]

EVALUATIONS = Budget(10_000)
LONG = Budget(60_000)
SEEDS = (1, 2, 3)
NAMES = [name for name in METHODS if name not in ("ga-mf", "ga-ea")]  # which are ga, once objectives are named
COMPILED = frozenset({"memetic", "sa", "hc"})  # walks that cannot call a function
SAME = 1e-9


def bill(metrics: Mapping[str, Floats]) -> Floats:
    """Return euros: energy at 25 cent a kWh, and a euro for every five hours that the jobs wait in the mean."""
    return 0.25 * metrics["energy"] / 3.6e6 + metrics["mean_wait"] / 18_000.0


VECTORS: tuple[tuple[Aim, ...], ...] = (
    ("makespan", "energy"),
    ("makespan", "energy", "mean_wait"),
    ("makespan", "energy", bill),
)


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes; the figures mean nothing")
    parser.add_argument("--seconds", type=float, help="of each run on packages, in the place of 10,000 evaluations")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="these methods' runs on packages alone")
    return parser.parse_args()


def methods_for(aims: tuple[Aim, ...]) -> list[str]:
    """Return the methods that can seek such objectives."""
    return [name for name in NAMES if not (name in COMPILED and any(callable(aim) for aim in aims))]


def front(
    workload: fs.Workload, machine: fs.Federation, aims: tuple[Aim, ...], method: str, budget: Budget, seed: int
) -> Floats:
    """Return the values of the front that a search finds."""
    result = fs.optimize(
        workload,
        machine,
        objectives=aims,
        method=method,
        evaluations=budget.evaluations,
        seconds=budget.seconds,
        seed=seed,
        progress=False,
    )
    return result.front.values


def named(aims: tuple[Aim, ...]) -> str:
    """Return the objectives in words."""
    return ", ".join(Objectives.of(aims).names)


def line(problem: str, objectives: str, points: object, cells: Iterable[str]) -> str:
    """Return a line of a table."""
    return f"{problem:<20}{objectives:<28}{points:>7}" + "".join(f"{cell:>12}" for cell in cells)


def exact(vectors: Sequence[tuple[Aim, ...]], seeds: tuple[int, ...], sizes: tuple[int, ...], budget: Budget) -> None:
    """Print how much of proven fronts every method finds."""
    print(f"proven fronts: {budget} a problem; points found of those there are\n")
    print(line("problem", "objectives", "points", NAMES), flush=True)
    for jobs, seed, aims in product(sizes, seeds, vectors):
        workload, machine = tiny(seed, jobs)
        known = enumerated_front(workload, machine, Objectives.of(aims))
        cells = dict.fromkeys(NAMES, "–")
        for method in methods_for(aims):
            found = front(workload, machine, aims, method, budget, 1)
            hits = np.isclose(found[None], known[:, None], rtol=SAME, atol=0.0).all(axis=2).any(axis=1)
            cells[method] = str(int(hits.sum()))
        print(line(f"{jobs} jobs #{seed}", named(aims), len(known), cells.values()), flush=True)


def packages(jobs: int) -> dict[str, tuple[fs.Workload, fs.Federation]]:
    """Return a package of each log, on clusters whose fast nodes are hungry, and one where all want the same plan."""
    open_front = hungry_federation(idle=0.05, hungry=2.5)
    found = {log: (part, open_front) for log, (part,) in thesis_packages(1, jobs).items()}
    first = next(iter(found))
    return {**found, f"{first}, idle power": (found[first][0], hungry_federation(idle=0.5, hungry=1.0))}


def shares(
    vectors: Sequence[tuple[Aim, ...]],
    seeds: tuple[int, ...],
    jobs: int,
    budget: Budget,
    long: Budget,
    names: Sequence[str] = NAMES,
    most: int | None = None,
) -> None:
    """Print the share of the reference's hypervolume that each of the named methods finds."""
    print(
        f"\npackages of {jobs} jobs: share of the reference's hypervolume, median of seeds {seeds}, {budget}; "
        f"reference: these, and {long} of every method\n"
    )
    print(line("package", "objectives", "points", names), flush=True)
    shown: dict[str, dict[str, list[float]]] = {}
    for (name, (part, machine)), aims in product(list(packages(jobs).items())[:most], vectors):
        able = methods_for(aims)
        runs = {m: [front(part, machine, aims, m, budget, seed) for seed in seeds] for m in able if m in names}
        far = [front(part, machine, aims, m, long, 1 + max(seeds)) for m in able]
        reference = Reference.of(np.concatenate([*(rows for some in runs.values() for rows in some), *far]))
        cells = dict.fromkeys(names, "–")
        for method, fronts in runs.items():
            share = float(np.median([reference.measure(rows, "hypervolume") for rows in fronts]))
            shown.setdefault(named(aims), {}).setdefault(method, []).append(share)
            cells[method] = f"{share:.3f}"
        print(line(name, named(aims), len(reference.front), cells.values()), flush=True)
    for aims_named, of_methods in shown.items():
        means = {method: float(np.mean(values)) for method, values in of_methods.items()}
        print(f"\n{aims_named}, mean over packages: " + ", ".join(f"{name} {means[name]:.3f}" for name in means))


def main() -> None:
    """Print both tables, or that of packages alone where the budget is in seconds."""
    options = arguments()
    if options.smoke:
        exact(VECTORS[:1], (1,), (4,), Budget(100))
        shares(VECTORS[1:], (1,), 12, Budget(100), Budget(150), most=1)
        shares(VECTORS[:1], (1,), 12, Budget(seconds=0.3), Budget(150), ["memetic"], most=1)
        return
    if options.seconds is None:
        exact(VECTORS, (1, 2), (5, 6), Budget(3_000))
    budget = EVALUATIONS if options.seconds is None else Budget(seconds=options.seconds)
    shares(VECTORS, SEEDS, 60, budget, LONG, options.only)


if __name__ == "__main__":
    main()
