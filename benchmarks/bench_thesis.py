"""The claims of the federated-cluster thesis and its papers, each with what our runs say of it, log by log.

Packages of three archive logs where they are at hand, as in the papers, of a Lublin-Feitelson workload where not, on
four clusters with shared uplinks; makespans and energies are means over a log's packages. Methods begin with random
plans, as in the papers, and have the budgets that the papers' ratios of cost ask for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from checks import MISSED, REACHED, Aims, Ledger
from instances import hungry_federation, of_policies, thesis_packages
from measuring import arguments, record

import fedsched as fs
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.simulate import POLICIES

JOBS = 100
PUBLISHED = ("fcfs", "easy", "jpr", "cbs")  # what the papers compare with
METRICS = ("makespan", "flow", "energy")


@dataclass(frozen=True)
class Case:
    """Packages of a log on a machine, with what every policy of the library makes of each."""

    log: str
    parts: list[fs.Workload]
    machine: fs.Federation

    @cached_property
    def rules(self) -> list[dict[str, dict[str, float]]]:
        """Return the metrics of every policy that can place all jobs, package by package."""
        found = []
        for part in self.parts:
            schedules = of_policies(SearchProblem(part, self.machine, Objectives(METRICS)), tuple(POLICIES))
            rows = {policy: schedule.metrics(users=False).as_dict() for policy, schedule in schedules.items()}
            found.append({policy: {name: row[name] for name in METRICS} for policy, row in rows.items()})
        return found

    def best_rule(self, name: str) -> str:
        """Return the policy whose mean over the packages is least, among those that can place every package."""
        everywhere = set.intersection(*(set(rules) for rules in self.rules))
        return min(sorted(everywhere), key=lambda policy: sum(rules[policy][name] for rules in self.rules))

    def searched(
        self, method: str, evaluations: int, objectives: str | tuple[str, ...], *, seeds: str = "random"
    ) -> dict[str, float]:
        """Return means over packages: each objective's best value by the method and by rules; and the seconds."""
        found: dict[str, list[float]] = {}

        def note(name: str, value: float) -> None:
            found.setdefault(name, []).append(float(value))

        for part, rules in zip(self.parts, self.rules, strict=True):
            result = fs.optimize(
                part, self.machine, method=method, evaluations=evaluations, objectives=objectives, seed=1, seeds=seeds
            )
            plans = [i for i, plan in enumerate(result.front.plans) if not plan.policy]
            own = result.front.values[plans] if plans else result.front.values
            rivals = {policy: np.array([row[name] for name in result.objectives]) for policy, row in rules.items()}
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
    """Return by how many percent a mean is lower than what some rules give."""
    return 100 * (1 - found[name] / found[f"{than} {name}"])


def time_and_flow(report: Aims, case: Case, scale: int) -> None:
    """Print what GA-MF claims: less makespan and less flow than the usual rules."""
    both = ("makespan", "flow")
    found = case.searched("ga-mf", 20_000 // scale, both)
    seeded = case.searched("ga-mf", 20_000 // scale, both, seeds="structured")
    for name in both:
        report.row(f"GA-MF: {name} below FCFS's, by", lower(found, name, "fcfs"), "%", 0.0)
        report.row(f"  below the best of {', '.join(PUBLISHED)}", lower(found, name, "published"), "%", 0.0)
        report.row("  below the best of every rule", lower(found, name, "every"), "%", 0.0)
        report.row("  the same from structured seeds", lower(seeded, name, "every"), "%", 0.0)


def energy(report: Aims, case: Case, scale: int) -> None:
    """Print what PSO-EA claims: the energy of a genetic algorithm in less time."""
    ga = case.searched("ga-ea", 20_000 // scale, "energy")
    pso = case.searched("pso-ea", 4_000 // scale, "energy")
    above = 100 * (pso["energy"] / ga["energy"] - 1)
    report.row("PSO-EA: energy above GA-EA's (claim: alike)", above, "%", 2.0, at_most=True)
    report.row("  time over GA-EA's (claim: less)", pso["seconds"] / ga["seconds"], "×", 1.0, at_most=True)


def fronts(report: Aims, case: Case, scale: int) -> None:
    """Print what MOGA and MPSO-FGA claim: better on both objectives, the hybrid at a hundredth of the cost."""
    both = ("makespan", "energy")
    moga = case.searched("moga", 10_000 // scale, both)
    seeded = case.searched("moga", 10_000 // scale, both, seeds="structured")
    report.row("MOGA: a plan dominates the best published values, packages", 100 * moga["beats published"], "%", 100.0)
    report.row("  a plan dominates the best values of every rule", 100 * moga["beats every"], "%", 100.0)
    report.row("  the same from structured seeds", 100 * seeded["beats every"], "%", 100.0)
    for share, evaluations in (("a hundredth", 100), ("a tenth", 1_000)):
        hybrid = case.searched("mpso-fga", max(evaluations // scale, 20), both)
        for name, most in (("energy", 10.0), ("makespan", 20.0)):
            above = 100 * (hybrid[name] / moga[name] - 1)
            report.row(f"MPSO-FGA, {share} of MOGA's evaluations: {name} above", above, "%", most, at_most=True)
        report.row("  time over MOGA's", hybrid["seconds"] / moga["seconds"], "×")
        for name, least in (("energy", 15.0), ("makespan", 10.0)):
            report.row(f"  {name} below FCFS's", lower(hybrid, name, "fcfs"), "%", least)
            report.row(f"  {name} below the best published one's", lower(hybrid, name, "published"), "%", least)


def power(report: Aims, log: str, parts: list[fs.Workload], scale: int) -> None:
    """Print where makespan and energy part: not where idle power dominates, but where fast nodes are hungry."""
    for title, machine, target, at_most in (
        ("collapses where idle power dominates", hungry_federation(idle=0.7, hungry=1.0), 5.0, True),
        ("opens where fast nodes are hungry", hungry_federation(idle=0.05, hungry=2.5), 5.0, False),
    ):
        front = Case(log, parts, machine).searched("moga", 10_000 // scale, ("makespan", "energy"))
        report.row(f"the front {title}: span of energy", 100 * front["energy span"], "%", target, at_most=at_most)
        report.row("  the LP's energy penalty at least makespan", 100 * front["penalty"], "%")


def main() -> None:
    """Print the table of claims of each log."""
    smoke = arguments(__doc__ or "").smoke
    scale = 20 if smoke else 1
    packages = thesis_packages(1 if smoke else 5, JOBS)
    ledger = Ledger("bench_thesis", "the thesis on federated clusters")
    for log, parts in list(packages.items())[: 1 if smoke else None]:
        case = Case(log, parts, hungry_federation(idle=0.5, hungry=1.0))
        report = ledger.aims(f"{len(parts)} packages of {JOBS} jobs of {log}, beside {len(case.rules[0])} rules")
        time_and_flow(report, case, scale)
        energy(report, case, scale)
        fronts(report, case, scale)
        power(report, log, parts, scale)
        print("Best of the rules: " + "; ".join(f"{name} {case.best_rule(name)}" for name in METRICS) + "\n")
    if not smoke:
        ledger.save()
        reached, aimed = ledger.count(REACHED), ledger.count(REACHED, MISSED)
        record("bench_thesis", {"reached": reached, "aimed": aimed, "logs": len(packages)})


if __name__ == "__main__":
    main()
