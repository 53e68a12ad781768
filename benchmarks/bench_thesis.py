"""The claims of the federated-cluster thesis and its papers, each with what our runs say of it.

Packages of HPC2N where the log is at hand, of a Lublin-Feitelson workload where not, on four clusters with shared
uplinks; makespans and energies are means over packages, methods run with the papers' own budgets.
"""

from __future__ import annotations

import numpy as np
from checks import Ledger
from instances import hungry_federation, thesis_packages
from measuring import arguments, record

import fedsched as fs

JOBS = 100
PUBLISHED = ("fcfs", "easy", "jpr", "cbs")  # what the papers compare with
HEURISTICS = (*PUBLISHED, "sjf-greedy", "ljf-greedy", "laf-greedy")  # stronger rules, which they do not name


def mean_best(
    parts: list[fs.Workload],
    machine: fs.Federation,
    method: str,
    evaluations: int,
    objectives: str | tuple[str, ...],
    *,
    seeds: str = "random",
) -> dict[str, float]:
    """Return means over packages: each objective's best value by the method, and by heuristics; and the seconds."""
    found: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        found.setdefault(name, []).append(float(value))

    for part in parts:
        result = fs.optimize(
            part, machine, method=method, evaluations=evaluations, objectives=objectives, seed=1, baselines=HEURISTICS,
            seeds=seeds,
        )  # fmt: skip
        plans = [i for i, plan in enumerate(result.front.plans) if not plan.policy]
        own = result.front.values[plans] if plans else result.front.values
        rivals = {one.policy: np.array(one.values) for one in result.baselines}
        published = [policy for policy in PUBLISHED if policy in rivals]  # CBS cannot hold what spans clusters
        for k, name in enumerate(result.objectives):
            note(name, own[:, k].min())
            note(f"fcfs {name}", rivals["fcfs"][k])
            note(f"published {name}", min(rivals[policy][k] for policy in published))
            note(f"every {name}", min(values[k] for values in rivals.values()))
        for whom, policies in (("published", published), ("every", list(rivals))):
            best = np.min([rivals[policy] for policy in policies], axis=0)
            note(f"beats {whom}", ((own <= best).all(axis=1) & (own < best).any(axis=1)).any())
        note("seconds", result.seconds)
        note("penalty", result.energy_penalty)
        note("energy span", np.ptp(own[:, -1]) / own[:, -1].min())
    return {name: float(np.mean(values)) for name, values in found.items()}


def lower(found: dict[str, float], name: str, than: str) -> float:
    """Return by how many percent a mean is lower than what some heuristics give."""
    return 100 * (1 - found[name] / found[f"{than} {name}"])


def main() -> None:
    """Print the table of claims."""
    smoke = arguments(__doc__ or "").smoke
    scale = 20 if smoke else 1
    log, parts = thesis_packages(1 if smoke else 5, JOBS)
    usual = hungry_federation(idle=0.5, hungry=1.0)
    checks = Ledger("bench_thesis", "the thesis on federated clusters")
    title = f"{len(parts)} packages of {JOBS} jobs of {log}; methods begin with random plans, as in the papers"
    report = checks.aims(title)

    both = ("makespan", "flow")
    mf = mean_best(parts, usual, "ga-mf", 20_000 // scale, both)
    seeded = mean_best(parts, usual, "ga-mf", 20_000 // scale, both, seeds="structured")
    for name in both:
        report.row(f"GA-MF: {name} below FCFS's, by", lower(mf, name, "fcfs"), "%", 0.0)
        report.row(f"  below the best of {', '.join(PUBLISHED)}", lower(mf, name, "published"), "%", 0.0)
        report.row("  below every rule's", lower(mf, name, "every"), "%", 0.0)
        report.row("  below every rule's, from structured seeds", lower(seeded, name, "every"), "%", 0.0)

    ga = mean_best(parts, usual, "ga-ea", 20_000 // scale, "energy")
    pso = mean_best(parts, usual, "pso-ea", 4_000 // scale, "energy")
    above = 100 * (pso["energy"] / ga["energy"] - 1)
    report.row("PSO-EA: energy above GA-EA's (claim: alike)", above, "%", 2.0, at_most=True)
    report.row("  time over GA-EA's (claim: less)", pso["seconds"] / ga["seconds"], "×", 1.0, at_most=True)

    both = ("makespan", "energy")
    moga = mean_best(parts, usual, "moga", 10_000 // scale, both)
    seeded = mean_best(parts, usual, "moga", 10_000 // scale, both, seeds="structured")
    report.row("MOGA: a plan dominates the best published values, packages", 100 * moga["beats published"], "%", 100.0)
    report.row("  a plan dominates the best values of every rule", 100 * moga["beats every"], "%", 100.0)
    report.row("  the same from structured seeds", 100 * seeded["beats every"], "%", 100.0)

    hybrid = mean_best(parts, usual, "mpso-fga", 1_000 // scale, both)
    for name, most in (("energy", 10.0), ("makespan", 20.0)):
        report.row(f"MPSO-FGA: {name} above MOGA's", 100 * (hybrid[name] / moga[name] - 1), "%", most, at_most=True)
    report.row("  time over MOGA's (a tenth of the evaluations)", hybrid["seconds"] / moga["seconds"], "×")
    for name, least in (("energy", 15.0), ("makespan", 10.0)):
        report.row(f"  {name} below FCFS's", lower(hybrid, name, "fcfs"), "%", least)
        report.row(f"  {name} below the best published one's", lower(hybrid, name, "published"), "%", least)

    for title, machine, target, at_most in (
        ("collapses where idle power dominates", hungry_federation(idle=0.7, hungry=1.0), 5.0, True),
        ("opens where fast nodes are hungry", hungry_federation(idle=0.05, hungry=2.5), 5.0, False),
    ):
        front = mean_best(parts, machine, "moga", 10_000 // scale, both)
        report.row(f"the front {title}: span of energy", 100 * front["energy span"], "%", target, at_most=at_most)
        report.row("  the LP's energy penalty at least makespan", 100 * front["penalty"], "%")
    if not smoke:
        checks.save()
        record("bench_thesis", {"reached": report.reached, "aimed": report.aimed})


if __name__ == "__main__":
    main()
