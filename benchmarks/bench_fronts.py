"""How much of the best front the searches find: makespan and energy, and with mean wait or a user's cost as a third.

Tiny problems have fronts that are proven by trying everything. On packages of logs the reference is what no plan
dominates of long runs of every method and of all runs of the table. Shares are of the reference's hypervolume (where
its best and worst value are 0 and 1, up to 1.1). All budgets are evaluations: figures repeat exactly.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from enumerated_fronts import enumerated_front, tiny
from instances import hungry_federation, thesis_packages
from measuring import arguments

import fedsched as fs
from fedsched.comparison.fronts import Reference
from fedsched.search.methods import METHODS
from fedsched.search.objectives import Objectives

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fedsched.engine.arrays import Floats

    Aim: TypeAlias = str | Callable[[Mapping[str, Floats]], Floats]

EVALUATIONS = 10_000
LONG = 60_000
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


def methods_for(aims: tuple[Aim, ...]) -> list[str]:
    """Return the methods that can seek such objectives."""
    return [name for name in NAMES if not (name in COMPILED and any(callable(aim) for aim in aims))]


def front(
    workload: fs.Workload, machine: fs.Federation, aims: tuple[Aim, ...], method: str, evaluations: int, seed: int
) -> Floats:
    """Return the values of the front that a search finds."""
    result = fs.optimize(
        workload, machine, objectives=aims, method=method, evaluations=evaluations, seed=seed, progress=False
    )
    return result.front.values


def named(aims: tuple[Aim, ...]) -> str:
    """Return the objectives in words."""
    return ", ".join(Objectives.of(aims).names)


def line(problem: str, objectives: str, points: object, cells: Iterable[str]) -> str:
    """Return a line of a table."""
    return f"{problem:<20}{objectives:<28}{points:>7}" + "".join(f"{cell:>12}" for cell in cells)


def exact(vectors: Sequence[tuple[Aim, ...]], seeds: tuple[int, ...], sizes: tuple[int, ...], evaluations: int) -> None:
    """Print how much of proven fronts every method finds."""
    print(f"proven fronts: {evaluations:,} evaluations, a run a problem; points found of those there are\n")
    print(line("problem", "objectives", "points", NAMES), flush=True)
    for jobs, seed, aims in product(sizes, seeds, vectors):
        workload, machine = tiny(seed, jobs)
        known = enumerated_front(workload, machine, Objectives.of(aims))
        cells = dict.fromkeys(NAMES, "–")
        for method in methods_for(aims):
            found = front(workload, machine, aims, method, evaluations, 1)
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
    evaluations: int,
    long: int,
    most: int | None = None,
) -> None:
    """Print the share of the reference's hypervolume that each method finds."""
    print(
        f"\npackages of {jobs} jobs: share of the reference's hypervolume, median of seeds {seeds}, {evaluations:,} "
        f"evaluations each; reference: these, and {long:,} evaluations of every method\n"
    )
    print(line("package", "objectives", "points", NAMES), flush=True)
    shown: dict[str, dict[str, list[float]]] = {}
    for (name, (part, machine)), aims in product(list(packages(jobs).items())[:most], vectors):
        methods = methods_for(aims)
        runs = {m: [front(part, machine, aims, m, evaluations, seed) for seed in seeds] for m in methods}
        far = [front(part, machine, aims, m, long, 1 + max(seeds)) for m in methods]
        reference = Reference.of(np.concatenate([*(rows for some in runs.values() for rows in some), *far]))
        cells = dict.fromkeys(NAMES, "–")
        for method, fronts in runs.items():
            share = float(np.median([reference.measure(rows, "hypervolume") for rows in fronts]))
            shown.setdefault(named(aims), {}).setdefault(method, []).append(share)
            cells[method] = f"{share:.3f}"
        print(line(name, named(aims), len(reference.front), cells.values()), flush=True)
    for aims_named, of_methods in shown.items():
        means = {method: float(np.mean(values)) for method, values in of_methods.items()}
        print(f"\n{aims_named}, mean over packages: " + ", ".join(f"{name} {means[name]:.3f}" for name in means))


def main() -> None:
    """Print both tables."""
    if arguments(__doc__ or "").smoke:
        exact(VECTORS[:1], (1,), (4,), 100)
        shares(VECTORS[1:], (1,), 12, 100, 150, most=1)
        return
    exact(VECTORS, (1, 2), (5, 6), 3_000)
    shares(VECTORS, SEEDS, 60, EVALUATIONS, LONG)


if __name__ == "__main__":
    main()
