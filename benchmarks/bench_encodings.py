"""What plans are written in, by package size: assignments of every task to nodes, or blacklists, at equal evaluations.

The thesis says of its first genetic algorithms, before the blacklist, that they do not work correctly with large
packages. Both begin with random plans; packages of three archive logs where they are at hand, of a Lublin-Feitelson
workload where not, on four clusters with shared uplinks.
"""

from __future__ import annotations

from checks import Ledger
from instances import hungry_federation, thesis_packages
from measuring import arguments

import fedsched as fs

SIZES = (10, 20, 50, 100, 200)
METHODS = {"ga": "makespan", "ga-mf": ("makespan", "flow")}
EVALUATIONS = 3_000


def found(method: str, part: fs.Workload, machine: fs.Federation, encoding: str, evaluations: int) -> float:
    """Return the mean over two seeds of the last objective's best value."""
    values = []
    for seed in (1, 2):
        result = fs.optimize(
            part,
            machine,
            method=method,
            encoding=encoding,
            objectives=METHODS[method],
            evaluations=evaluations,
            seed=seed,
            seeds="random",
            baselines=("fcfs",),
        )
        # Where no plan that was found is as good as FCFS's own schedule, which is none of the encoding's, FCFS counts.
        plans = [i for i, plan in enumerate(result.front.plans) if not plan.policy]
        values.append(float(min(result.front.values[plans, -1], default=result.baselines[0].values[-1])))
    return sum(values) / len(values)


def main() -> None:
    """Print a table a log: by how much the values of assignments lie above those of blacklists."""
    smoke = arguments(__doc__ or "").smoke
    sizes, evaluations, count = ((5, 20), 300, 1) if smoke else (SIZES, EVALUATIONS, 3)
    machine = hungry_federation(idle=0.5, hungry=1.0)
    ledger = Ledger("bench_encodings", "the thesis on federated clusters")
    packages = {size: thesis_packages(count, size) for size in sizes}
    for log in list(packages[sizes[0]])[: 1 if smoke else None]:
        title = f"{count} packages of {log} a size, {evaluations:,} evaluations, random first plans, two seeds"
        report = ledger.aims(title)
        for method, objectives in METHODS.items():
            name = objectives if isinstance(objectives, str) else objectives[-1]
            above = {}
            for size in sizes:
                ratios = [
                    found(method, part, machine, "assignment", evaluations)
                    / found(method, part, machine, "blacklist", evaluations)
                    for part in packages[size][log]
                ]
                above[size] = 100 * (sum(ratios) / len(ratios) - 1)
                report.row(f"{method} by assignments, {size} jobs: {name} above that by blacklists", above[size], "%")
            more = above[sizes[-1]] - above[sizes[0]]
            report.row(f"  more with {sizes[-1]} jobs than with {sizes[0]}", more, "points", 1.0)
    if not smoke:
        ledger.save()


if __name__ == "__main__":
    main()
