"""Makes best known plans of the field's instances: planted ones as they were planted, others by long searches.

python benchmarks/best_known.py [NAME …] [--effort 1 | --seconds 60] [--seed 1] [--ask ASK] [--open] [--policies]
    [--method NAME] [--lists N | --holes N | --knapsacks N] [--near] [--missing]

A plan that is better than the one in fedsched/data/bench/plans takes its place; markets and gangs have ways of their
own. `--effort 1` allows 10,000,000 / jobs evaluations for each ask, at most 100,000; `--seconds` is the clock's
instead. `--open` leaves out what is closed.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from best_studies import best_rules, best_windows
from knapsack_fills import best_knapsacks
from past_end import best_filled
from priced_lists import best_list

import fedsched as fs
from fedsched.bench import load, names, sharing
from fedsched.bench.catalogue import PLANTED, planted_name, planted_pieces
from fedsched.bench.certificates import certified_bound
from fedsched.bench.gangs import GangDocument
from fedsched.bench.markets import MarketDocument
from fedsched.bench.plans import FOLDER, Plan, judged, known_path, placed, read_plan, replaced, values_of
from fedsched.bench.standing import standings

if TYPE_CHECKING:
    from fedsched.bench import Document
    from fedsched.model.schedule.schedule import Schedule

PER_JOB, MOST = 10_000_000, 100_000
CLOSING = 1.0099  # times what is proven: the end that is wished for of lists that fill holes
WHO = "the fedsched authors"
TRIED = (
    "easy", "easy-sjf", "conservative", "greedy", "max-min-greedy", "max-min", "max-min-conservative",
    "sufferage-greedy", "sufferage", "mct", "mct-greedy", "min-min", "ljf-greedy", "laf-greedy", "largest-greedy",
    "ljf-conservative", "laf-conservative", "least-energy", "least-energy-greedy", "sjf-greedy", "saf-greedy",
    "sjf-conservative", "saf-conservative", "jpr",
)  # fmt: skip


def planted_schedule(document: Document) -> Schedule | None:
    """Return the schedule that an instance was cut from; None where it was not."""
    row = next((row for row in PLANTED if planted_name(row[0], row[1], apart=row[3]) == document.name), None)
    if document.name in sharing.PLANTED:
        pieces, _ = sharing.planted_pieces(*sharing.PLANTED[document.name])
        counts = np.zeros((len(pieces), document.federation.nodes), dtype=np.int64)
        counts[np.arange(len(pieces)), [piece.room for piece in pieces]] = 1
    elif row is None:
        return None
    else:
        pieces, rooms, _ = planted_pieces(*row[:3], apart=row[3])
        counts = np.zeros((len(pieces), len(document.federation.groups)), dtype=np.int64)
        for k, piece in enumerate(pieces):
            for group, nodes in rooms[piece.room].counts(piece.node, piece.width).items():
                counts[k, group] = nodes
    begin = np.array([piece.begin for piece in pieces], dtype=np.float64)
    end = np.array([piece.begin + piece.seconds for piece in pieces], dtype=np.float64)
    return placed(document, begin, end, counts)


def found(document: Document, ask: str, asked: argparse.Namespace) -> Plan:
    """Return what is known at once of an ask, or what a search finds."""
    today = time.strftime("%Y-%m-%d")
    planted = planted_schedule(document)
    if planted is not None:
        return Plan.of(document, ask, [planted], who=WHO, method="planted", when=today)
    most = min(MOST, int(PER_JOB / len(document.workload)))
    evaluations = None if asked.seconds else max(2000, int(most * asked.effort * (0.3 if "+" in ask else 1.0)))
    runs_each = "carbon" in ask or document.sharing is not None
    method = asked.method or ("memetic" if not runs_each else "moga" if "+" in ask else "ga")
    result = fs.optimize(
        document.workload, document.federation, objectives=tuple(ask.split("+")), method=method,
        seed=asked.seed, evaluations=evaluations, seconds=asked.seconds, submits=document.data["submits"],
        reading=replace(document.reading, knowledge="runtime"), sharing=document.sharing,
        baselines=None if document.sharing else ("fcfs", "easy", "easy-sjf", "conservative"),
    )  # fmt: skip
    keep = range(len(result.front)) if "+" not in ask else spread(result.front.values)
    schedules = [result.schedule(k) for k in keep]
    mine = [replaced(document, one) for one in schedules]
    said = f"fedsched {fs.__version__}, {method}, seed {asked.seed}, {result.evaluations:,} evaluations"
    return Plan.of(document, ask, mine, who=WHO, method=said, when=today)


def of_study(document: Document, ask: str) -> Plan | None:
    """Return the best plan of a market's cycle, or of gangs; None of anything else."""
    today = time.strftime("%Y-%m-%d")
    if isinstance(document, MarketDocument):
        return best_windows(document, ask, WHO, today)
    return best_rules(document, ask, WHO, today) if isinstance(document, GangDocument) else None


def best_policy(document: Document, ask: str) -> Plan:
    """Return the best plans that policies have."""
    reading = replace(document.reading, knowledge="runtime")
    schedules, said = [], []
    for policy in TRIED:
        try:
            one = fs.simulate(
                document.workload, document.federation, policy, reading=reading, t0=0.0, sharing=document.sharing
            )
        except (fs.errors.FedschedError, ValueError):
            continue
        schedules.append(replaced(document, one))
        said.append(policy)
    if "+" not in ask:
        best = int(np.argmin([values_of(one, ask)[0] for one in schedules]))
        schedules, said = [schedules[best]], [said[best]]
    method = f"fedsched {fs.__version__}, {said[0] if len(said) == 1 else 'policies'}"
    return Plan.of(document, ask, schedules, who=WHO, method=method, when=time.strftime("%Y-%m-%d"))


def listed(document: Document, ask: str, tries: int, seed: int, *, near: bool = False) -> Plan:
    """Return the best of many lists of jobs that are annealed: from the best known plan on, or from usual lists on."""
    begin = read_plan(known_path(document.name, ask)).schedules[0] if near else None
    of = "makespan" if ask == "carbon" else ask  # idle nodes are most of what carbon is of
    one = placed(document, *best_list(document, of, tries, seed, begin))
    method = f"the best of {tries:,} annealed lists{' near the one before' * near}, seed {seed}"
    return Plan.of(document, ask, [one], who=WHO, method=method, when=time.strftime("%Y-%m-%d"))


def hole_filled(document: Document, ask: str, tries: int, seed: int, *, near: bool = False) -> Plan:
    """Return the best of many lists whose jobs fill holes: from the best known plan on, or from usual lists on."""
    known, bound = read_plan(known_path(document.name, ask)).schedules[0], certified_bound(document.name, ask)
    wish = CLOSING * bound if ask == "makespan" and bound else float(max(known.finish))
    one = placed(document, *best_filled(document, ask, tries, seed, wish, known if near else None))
    method = f"the best of {tries:,} lists that fill holes{', near the one before' * near}, seed {seed}"
    return Plan.of(document, ask, [one], who=WHO, method=method, when=time.strftime("%Y-%m-%d"))


def filled_at_once(document: Document, ask: str, tries: int, seed: int) -> Plan:
    """Return the best of many plans in which knapsacks choose what fills free nodes."""
    one = placed(document, *best_knapsacks(document, ask, tries, seed))
    method = f"the best of {tries:,} plans that knapsacks fill, seed {seed}"
    return Plan.of(document, ask, [one], who=WHO, method=method, when=time.strftime("%Y-%m-%d"))


def spread(values: np.ndarray, most: int = 12) -> list[int]:
    """Return so many rows of a front, evenly by the first objective's order, its ends among them."""
    order = np.argsort(values[:, 0], kind="stable")
    return sorted({int(order[k]) for k in np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(int)})


def joined(plan: Plan) -> Plan:
    """Return a front with what is known already beside it: the front before, and the best plans by one objective."""
    document, ask = plan.document, plan.ask
    paths = [path for one in (ask, *ask.split("+")) if (path := known_path(document.name, one)).is_file()]
    before = [schedule for path in paths for schedule in read_plan(path).schedules]
    said = {"who": plan.who, "method": f"{plan.method}, and what was known before", "when": plan.when}
    every = Plan.of(document, ask, [*plan.schedules, *before], **said)
    return Plan.of(document, ask, [every.schedules[k] for k in spread(every.values)], **said)


def main() -> None:
    """Look for a better plan of each ask, and keep what is one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=names())
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, help="of a search, in place of its effort")
    parser.add_argument("--method", help="of a search, in place of the usual one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ask", help="only this, e.g. makespan")
    parser.add_argument("--open", action="store_true", help="only asks that are not closed")
    parser.add_argument("--policies", action="store_true", help="what policies find, in place of a search")
    parser.add_argument("--lists", type=int, default=0, help="so many annealed lists in place of a search")
    parser.add_argument("--holes", type=int, default=0, help="so many lists whose jobs fill holes in place of a search")
    parser.add_argument("--knapsacks", type=int, default=0, help="so many plans that knapsacks fill, likewise")
    parser.add_argument("--near", action="store_true", help="annealed lists near the best known plan")
    parser.add_argument("--missing", action="store_true", help="only asks without a plan")
    asked = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in asked.names:
        document = load(name)
        for standing in standings(document):
            ask = standing.ask
            path = known_path(name, ask)
            if (asked.open and standing.is_closed) or (asked.missing and path.is_file()):
                continue
            tried = asked.lists or asked.holes or asked.knapsacks
            if asked.ask not in (None, ask) or (tried and ask not in ("makespan", "energy", "carbon")):
                continue
            began = time.process_time()
            try:
                plan = of_study(document, ask) or (
                    listed(document, ask, asked.lists, asked.seed, near=asked.near and path.is_file())
                    if asked.lists
                    else hole_filled(document, ask, asked.holes, asked.seed, near=asked.near)
                    if asked.holes
                    else filled_at_once(document, ask, asked.knapsacks, asked.seed)
                    if asked.knapsacks
                    else best_policy(document, ask)
                    if asked.policies
                    else found(document, ask, asked)
                )
            except Exception as error:
                print(f"{name}/{ask}: {type(error).__name__}: {error}", flush=True)
                continue
            verdict = judged(plan)
            if verdict.is_new_best:
                path.write_text((joined(plan) if "+" in ask else plan).text(), encoding="utf-8")
            print(f"{verdict} ({time.process_time() - began:.0f} s of CPU)", flush=True)


if __name__ == "__main__":
    main()
