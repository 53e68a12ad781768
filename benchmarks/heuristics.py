"""Every baseline and every search on every shipped federation, for makespan, energy and flow.

On each federation, one package of each log: jobs no wider than its largest cluster, so that every rule can place all
of them, and so many that the federation is asked for --rounds times its nodes. All jobs wait, run times are known.
A search is after the objective of the table and, as in the library, begins with the baselines' plans; mpso-fga, which
needs two objectives, has makespan and energy (or flow and energy) and answers with the one that is asked for. Runs go
to out/heuristics.jsonl (a rerun does only what is missing), reports to out/heuristics-*.html. --full: all logs, five
seeds, 20,000 evaluations.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from instances import all_logs, package_for
from measuring import ROOT, record

import fedsched as fs
from fedsched.compare import Budget, Comparison, Instance, Outcome, compare
from fedsched.comparison.statistics import critical_difference
from fedsched.core.errors import TooFewRunsError
from fedsched.optimize.baselines import BASELINES, DEAR_BASELINES
from fedsched.search.methods.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Sequence

POLICIES = (*BASELINES, *DEAR_BASELINES)
OBJECTIVES = ("makespan", "energy", "flow")
RUNS = ROOT / "out" / "heuristics.jsonl"
COMMAND = "python benchmarks/heuristics.py"


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="two tiny instances; the figures mean nothing")
    parser.add_argument("--full", action="store_true", help="all logs, five seeds, 20,000 evaluations: hours")
    parser.add_argument("--evaluations", type=int, default=2000, help="of each search (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=1, help="of each search (default: %(default)s)")
    parser.add_argument("--rounds", type=float, default=4.0, help="a package's tasks over nodes (default: %(default)s)")
    return parser.parse_args()


@dataclass(frozen=True, slots=True)
class OfTwo:
    """A search that needs two objectives, judged by the first."""

    name: str

    def run(self, instance: Instance, seed: int, budget: Budget) -> Outcome:
        """Return the best value of the instance's objective on the front."""
        (wanted,) = instance.objectives
        result = fs.optimize(
            instance.workload,
            instance.federation,
            objectives=(wanted, "makespan" if wanted == "energy" else "energy"),
            method=self.name,
            seed=seed,
            evaluations=budget.evaluations,
            seconds=budget.seconds,
        )
        found = Outcome.of(result)
        best = min(row[0] for row in found.front)
        return Outcome(
            ((best,),), found.bounds[:1], found.evaluations, found.seconds, found.stop_reason, found.versions
        )


def instances(objective: str, *, rounds: float, logs: Sequence[str] | None, smoke: bool) -> list[Instance]:
    """Return a package of each log for each federation."""
    found = []
    for name, log in all_logs(logs).items():
        for path in sorted((ROOT / "traces" / "federations").glob("*.toml")):
            machine = fs.read_federation(path)
            part = package_for(log, machine, rounds=rounds, most=20 if smoke else 300)
            found.append(Instance(f"{name} on {machine.name}", part, machine, (objective,)))
    return found[:2] if smoke else found


def above(comparison: Comparison) -> dict[str, dict[str, np.ndarray]]:
    """Return, by method, one figure an instance: above the best known and the bound, below FCFS and the best policy."""
    medians, values = comparison.medians(), comparison.values()
    bounds = {row.instance: row.reference for row in comparison.table().rows if row.kind}
    columns: dict[str, dict[str, list[float]]] = {method: {} for method in comparison.methods}
    for name, row in medians.items():
        best = min(np.nanmin(runs) for runs in values[name].values())
        policy = np.nanmin([row[method] for method in POLICIES])
        for method, value in row.items():
            figures = {
                "known": value / best - 1.0,
                "fcfs": 1.0 - value / row["fcfs"],
                "easy": 1.0 - value / row["easy"],
                "policy": 1.0 - value / policy,
                "bound": value / bounds[name] - 1.0 if bounds.get(name) else np.nan,
            }
            for what, figure in figures.items():
                columns[method].setdefault(what, []).append(100.0 * float(figure))
    return {method: {what: np.array(row) for what, row in of.items()} for method, of in columns.items()}


def standing(comparison: Comparison) -> str:
    """Return the critical difference, and whom memetic is ahead of and behind over the instances."""
    try:
        difference = critical_difference(len(comparison.methods), len(comparison.instances))
        pairs = comparison.pairs(by="instance", against="memetic")
    except TooFewRunsError as error:
        return str(error)
    ahead, open_, behind = (
        [pair.first if pair.second == "memetic" else pair.second for pair in pairs.pairs if verdict(pair) == wanted]
        for wanted in ("ahead", "no difference shown", "behind")
    )
    return (
        f"critical difference of ranks {difference:.2f} (Nemenyi, {len(comparison.instances)} instances); by Wilcoxon "
        f"with Holm, memetic is ahead of {len(ahead)}, behind {', '.join(behind) or 'none'}; no difference shown to "
        f"{', '.join(open_) or 'none'}"
    )


def verdict(pair: object) -> str:
    """Return memetic's verdict of a pair."""
    mirrored = {"ahead": "behind", "behind": "ahead"}
    return pair.verdict if pair.first == "memetic" else mirrored.get(pair.verdict, pair.verdict)


def show(comparison: Comparison, figures: dict[str, dict[str, np.ndarray]]) -> None:
    """Print the table of one objective, methods by their average rank over the instances."""
    heads = ("rank", "above best", "at best", "below FCFS", "below EASY", "below policies", "above bound")
    print(f"{'method':<14}" + "".join(f"{head:>16}" for head in heads))
    for method, rank in comparison.ranks(by="instance").items():
        row = figures[method]
        found = row["known"][np.isfinite(row["known"])]
        middle = {what: np.nanmedian(values) if np.isfinite(values).any() else np.nan for what, values in row.items()}
        print(
            f"{method:<14}{rank:>16.2f}{middle['known']:>14.2f} %{100 * (found < 1e-7).mean():>14.0f} %"
            f"{middle['fcfs']:>14.2f} %{middle['easy']:>14.2f} %{middle['policy']:>14.2f} %{middle['bound']:>14.2f} %"
        )


def main() -> None:
    """Print a table an objective."""
    options = arguments()
    smoke, full = options.smoke, options.full
    searches: list[object] = [OfTwo(name) if name == "mpso-fga" else name for name in METHODS]
    methods = [*POLICIES, *searches]
    budget = Budget(100 if smoke else 20_000 if full else options.evaluations)
    seeds = range(1 if smoke else 5 if full else options.seeds)
    path = None if smoke else RUNS
    RUNS.parent.mkdir(exist_ok=True)
    kept: dict[str, float | list[float]] = {}
    for objective in OBJECTIVES[:1] if smoke else OBJECTIVES:
        tried = instances(objective, rounds=options.rounds, logs=None if full else ("sample", "HPC2N"), smoke=smoke)
        comparison = compare(tried, methods, seeds, budget, path=path)
        jobs = [len(one.workload) for one in tried]
        print(f"\n{comparison.reading}")
        print(
            f"{objective}: {len(POLICIES)} policies and {len(searches)} searches on {len(tried)} packages of "
            f"{min(jobs)} to {max(jobs)} jobs, {len(seeds)} seed{'s' * (len(seeds) > 1)}, {budget}; medians"
        )
        figures = above(comparison)
        show(comparison, figures)
        print(standing(comparison))
        for failure in dict.fromkeys(f"{one.method} on {one.instance}: {one.error}" for one in comparison.failed):
            print(f"failed: {failure}")
        if smoke:
            continue
        comparison.report(
            ROOT / "out" / f"heuristics-{objective}.html",
            title=f"Heuristics: {objective}",
            repeat=COMMAND,
            by="instance",
        )
        best = next(name for name in comparison.ranks(by="instance") if name in POLICIES)
        print(f"the policy with the best average rank: {best}")
        for what in ("fcfs", "easy", "policy", "bound"):
            kept[f"{objective}_{what}"] = float(np.nanmedian(figures["memetic"][what]))
        kept |= {"policies": len(POLICIES), "searches": len(searches), "packages": len(tried)}
        kept |= {"evaluations": budget.evaluations or 0, "seeds": len(seeds)}
    if not smoke and not full:
        record("heuristics", kept)


if __name__ == "__main__":
    main()
