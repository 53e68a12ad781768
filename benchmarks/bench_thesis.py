"""The claims of the federated-cluster thesis and its papers, each with what our runs say of it.

Packages of HPC2N where the log is at hand, of a Lublin-Feitelson workload where not, on four clusters with shared
uplinks; makespans and energies are means over packages, methods run with the papers' own budgets.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from measuring import Report, arguments, optional_log

import fedsched as fs
from fedsched.generate import lublin

JOBS = 100
HEURISTICS = ("fcfs", "easy", "jpr", "cbs", "sjf-greedy", "ljf-greedy")


def federation(*, idle: float, hungry: float) -> fs.Federation:
    """Return four clusters: `idle` is idle power over busy power, busy power grows with speed to the `hungry`."""
    speeds = (1.0, 1.25, 1.6, 2.0)
    sizes = (64, 48, 32, 32)
    clusters = []
    for k, (nodes, speed) in enumerate(zip(sizes, speeds, strict=True)):
        busy = 200.0 * speed**hungry
        clusters.append(fs.Cluster(f"C{k}", (fs.NodeGroup(nodes, speed, busy, idle * busy),), 1e9))
    return fs.Federation(tuple(clusters), name=f"idle {idle:.0%}, power by speed^{hungry:g}")


def packages(count: int) -> tuple[str, list[fs.Workload]]:
    """Return the log's name and successive packages of it, with communication as in the thesis."""
    path = optional_log("HPC2N-2002-2.2-cln.swf.gz")
    log = lublin(jobs=5000, nodes=128, seed=1) if path is None else fs.read(path)
    log = log.filter((log.tasks <= 128) & (log.runtime >= 60))
    parts = []
    for k in range(count):
        begin = 1000 * (k + 1)
        part = log.take(np.arange(begin, begin + JOBS))
        parts.append(replace(part, compute_fraction=np.full(JOBS, 0.7), task_bandwidth=np.full(JOBS, 2e6)))
    return log.name, parts


def mean_best(
    parts: list[fs.Workload], machine: fs.Federation, method: str, evaluations: int, objectives: object
) -> dict[str, float]:
    """Return the mean over packages of each objective's best value, and of the baselines' best and the seconds."""
    found: dict[str, list[float]] = {}
    for part in parts:
        result = fs.optimize(
            part, machine, method=method, evaluations=evaluations, objectives=objectives, seed=1, baselines=HEURISTICS,
            seeds="random",
        )  # fmt: skip
        plans = [i for i, plan in enumerate(result.front.plans) if not plan.policy]
        own = result.front.values[plans] if plans else result.front.values
        for k, name in enumerate(result.objectives):
            found.setdefault(name, []).append(float(own[:, k].min()))
            found.setdefault(f"heuristics {name}", []).append(min(b.values[k] for b in result.baselines))
            found.setdefault(f"fcfs {name}", []).append(result.baselines[0].values[k])
        found.setdefault("beats all", []).append(
            float(any(all(row[k] < min(b.values[k] for b in result.baselines) for k in range(len(row))) for row in own))
        )
        found.setdefault("plans", []).append(float(len(plans)))
        found.setdefault("seconds", []).append(result.seconds)
        found.setdefault("penalty", []).append(result.energy_penalty)
        span = np.ptp(own, axis=0) / own.min(axis=0)
        found.setdefault("energy span", []).append(float(span[-1]))
    return {name: float(np.mean(values)) for name, values in found.items()}


def main() -> None:
    """Print the table of claims."""
    smoke = arguments(__doc__ or "").smoke
    scale = 20 if smoke else 1
    log, parts = packages(1 if smoke else 5)
    usual = federation(idle=0.5, hungry=1.0)
    report = Report(f"{len(parts)} packages of {JOBS} jobs of {log}; methods begin with random plans, as in the papers")

    mf = mean_best(parts, usual, "ga-mf", 20_000 // scale, ("makespan", "flow"))
    for name in ("makespan", "flow"):
        gain = 100 * (1 - mf[name] / mf[f"fcfs {name}"])
        report.row(f"GA-MF lowers {name} against FCFS, by", gain, "%", 0.0)
        report.row(
            f"GA-MF lowers {name} against the best heuristic, by",
            100 * (1 - mf[name] / mf[f"heuristics {name}"]),
            "%",
            0.0,
        )

    ga = mean_best(parts, usual, "ga-ea", 20_000 // scale, "energy")
    pso = mean_best(parts, usual, "pso-ea", 4_000 // scale, "energy")
    report.row(
        "PSO-EA's energy above GA-EA's (claim: about the same)",
        100 * (pso["energy"] / ga["energy"] - 1),
        "%",
        2.0,
        at_most=True,
    )
    report.row("PSO-EA's time over GA-EA's (claim: less)", pso["seconds"] / ga["seconds"], "×", 1.0, at_most=True)

    moga = mean_best(parts, usual, "moga", 10_000 // scale, ("makespan", "energy"))
    report.row("MOGA beats every heuristic on both objectives, packages", 100 * moga["beats all"], "%", 100.0)

    hybrid = mean_best(parts, usual, "mpso-fga", 1_000 // scale, ("makespan", "energy"))
    report.row("MPSO-FGA's energy above MOGA's", 100 * (hybrid["energy"] / moga["energy"] - 1), "%", 10.0, at_most=True)
    report.row(
        "MPSO-FGA's makespan above MOGA's", 100 * (hybrid["makespan"] / moga["makespan"] - 1), "%", 20.0, at_most=True
    )
    report.row("MPSO-FGA's time over MOGA's (a tenth of the evaluations)", hybrid["seconds"] / moga["seconds"], "×")
    report.row("MPSO-FGA's energy below FCFS's", 100 * (1 - hybrid["energy"] / hybrid["fcfs energy"]), "%", 15.0)
    report.row("MPSO-FGA's makespan below FCFS's", 100 * (1 - hybrid["makespan"] / hybrid["fcfs makespan"]), "%", 10.0)

    for title, machine, target, at_most in (
        ("collapses where idle power dominates", federation(idle=0.7, hungry=1.0), 5.0, True),
        ("opens where fast nodes are hungry", federation(idle=0.05, hungry=2.5), 5.0, False),
    ):
        front = mean_best(parts, machine, "moga", 10_000 // scale, ("makespan", "energy"))
        report.row(f"the front {title}: span of energy", 100 * front["energy span"], "%", target, at_most=at_most)
        report.row("  the LP's energy penalty at least makespan", 100 * front["penalty"], "%")


if __name__ == "__main__":
    main()
