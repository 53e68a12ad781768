"""What a search gains over FCFS and EASY by the size of the package, and how far it stays from the lower bound.

Successive packages of each log on the example federation, every search with the same evaluations; all jobs wait, run
times are known, and FCFS and EASY know them too. A size's figures are medians over logs (and packages).
Draws out/packages.png; runs go to out/packages.jsonl (a rerun does only what is missing). --full: up to 1000 jobs, all
logs, three seeds, 20,000 evaluations.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from heuristics import OfTwo
from instances import all_logs
from measuring import ROOT, record

import fedsched as fs
from fedsched.compare import Budget, Comparison, Instance, compare
from fedsched.search.methods.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Sequence

RUNS = ROOT / "out" / "packages.jsonl"
SIZES = (10, 20, 50, 100, 200, 500)
RIVALS = ("fcfs", "easy")
Found = dict[str, dict[str, dict[int, float]]]  # what, method, package size


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="two small sizes of one log; the figures mean nothing")
    parser.add_argument("--full", action="store_true", help="all logs, more of everything: hours")
    parser.add_argument("--objective", default="makespan", help="what is minimised (default: %(default)s)")
    parser.add_argument("--evaluations", type=int, default=2000, help="of each search (default: %(default)s)")
    parser.add_argument("--packages", type=int, default=1, help="of a size, from each log (default: %(default)s)")
    parser.add_argument("--draw", type=Path, default=ROOT / "out" / "packages.png", help="the picture's file")
    return parser.parse_args()


def instances(sizes: Sequence[int], count: int, logs: Sequence[str] | None, objective: str) -> list[Instance]:
    """Return so many successive packages of every size of every log."""
    machine = fs.Federation.example()
    widest = max(cluster.nodes for cluster in machine.clusters)
    found = []
    for name, log in all_logs(logs).items():
        fits = log.filter(log.tasks <= widest)
        for jobs in sizes:
            for k in range(count):
                begin = len(fits) // 3 + k * jobs  # not the log's very beginning, where logs are odd
                part = fits.take(range(begin, begin + jobs))
                found.append(Instance(f"{name} {jobs} #{k + 1}", part, machine, (objective,)))
    return found


def by_size(comparison: Comparison, size_of: dict[str, int], methods: Sequence[str]) -> Found:
    """Return medians in percent: gains over each rival, and gaps to the bound of each instance that has one."""
    single: dict[str, dict[str, dict[int, list[float]]]] = {}
    medians = comparison.medians()
    gaps = {(row.instance, row.method): row.gap for row in comparison.table().rows}
    for name, row in medians.items():
        for method in methods:
            figures = {rival: 1.0 - row[method] / row[rival] for rival in RIVALS}
            figures["bound"] = gaps[name, method]
            for what, figure in figures.items():
                single.setdefault(what, {}).setdefault(method, {}).setdefault(size_of[name], []).append(figure)
    return {
        what: {
            method: {size: 100.0 * float(np.nanmedian(values)) for size, values in sizes.items()}
            for method, sizes in of.items()
        }
        for what, of in single.items()
    }


TITLES = {"fcfs": "below FCFS", "easy": "below EASY", "bound": "above the lower bound"}


def show(found: Found, objective: str) -> None:
    """Print a table for each of the three figures."""
    for what, methods in found.items():
        sizes = list(next(iter(methods.values())))
        print(f"\n{objective} {TITLES[what]}, %, by jobs of the package")
        print(f"{'method':<14}" + "".join(f"{size:>9}" for size in sizes))
        for method, row in methods.items():
            print(f"{method:<14}" + "".join(f"{row[size]:>9.2f}" for size in sizes))


def draw(found: Found, objective: str, path: Path, reading: str) -> None:
    """Draw the three figures over package size, with what all runs had in common."""
    from matplotlib.figure import Figure

    from fedsched.plot import style
    from fedsched.plot.style import save

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    figure.suptitle(reading, fontsize=9)
    panels = figure.subplots(1, 3)
    style_of = {method: k for k, method in enumerate(found["bound"])}  # a method looks the same in every panel
    for ax, (what, methods) in zip(panels, found.items(), strict=True):
        for method, row in methods.items():
            k = style_of[method]
            ax.plot(
                list(row), list(row.values()), color=style.LINES[k % 8], linestyle=style.DASHES[k % 3],
                marker=style.MARKERS[k % 8], markersize=4, linewidth=2.2 if method == "memetic" else 1.2, label=method,
                zorder=3 if method == "memetic" else 2,
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set_xticks(list(row), [str(size) for size in row])
        ax.minorticks_off()
        style.dress(ax, x="jobs in the package", y="%", title=f"{objective} {TITLES[what]}")
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=7, fontsize=8, frameon=False)
    path.parent.mkdir(exist_ok=True)
    save(figure, path)
    print(f"drawn: {path}")


def main() -> None:
    """Print the tables and draw the picture."""
    options = arguments()
    smoke, full = options.smoke, options.full
    sizes = (10, 20) if smoke else (*SIZES, 1000) if full else SIZES
    logs = ("sample",) if smoke else None if full else ("sample", "HPC2N", "KTH")
    tried = instances(sizes, 1 if smoke else options.packages, logs, options.objective)
    searches: list[object] = [OfTwo(name) if name == "mpso-fga" else name for name in METHODS]
    budget = Budget(100 if smoke else 20_000 if full else options.evaluations)
    seeds = range(3 if full else 1)
    RUNS.parent.mkdir(exist_ok=True)
    comparison = compare(tried, [*RIVALS, *searches], seeds, budget, path=None if smoke else RUNS)
    size_of = {instance.name: len(instance.workload) for instance in tried}
    found = by_size(comparison, size_of, comparison.methods)
    print(comparison.reading)
    print(f"{len(tried)} packages on the example federation, {budget}")
    for failure in dict.fromkeys(f"{one.method} on {one.instance}: {one.error}" for one in comparison.failed):
        print(f"failed: {failure}")
    show(found, options.objective)
    if smoke:
        return
    draw({what: {name: row for name, row in of.items() if name != what} for what, of in found.items()},
         options.objective, options.draw, comparison.reading)  # fmt: skip
    if not full and options.objective == "makespan":
        figures = {f"{what}_{size}": found[what]["memetic"][size] for what in found for size in (10, 100, 500)}
        record("packages", {**figures, "evaluations": budget.evaluations or 0})


if __name__ == "__main__":
    main()
