"""Best known plans of the bench's market and gang instances: methods of many settings, and rules changed one by one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import fedsched as fs
from fedsched.bench import load
from fedsched.bench.gangs import RULES, GangDocument, GangPlan
from fedsched.bench.markets import MarketDocument
from fedsched.bench.plans import Plan
from fedsched.gang.presets import NAMED
from fedsched.gang.system import CLAIMS, DISCIPLINES, DISPATCHES, GRIDS, LOCAL_SITES, ORDERS, ROUTINGS
from fedsched.market.methods import Backfilling, Bsf, Slicer, schedule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.market.assignment import Assignment
    from fedsched.market.methods import Method

TRIED: dict[str, tuple[Any, ...]] = {
    "grid": GRIDS, "dispatch": DISPATCHES, "discipline": DISCIPLINES, "routing": ROUTINGS, "claim": CLAIMS,
    "local_migration": (False, True), "external_migration": (False, True), "local_site": LOCAL_SITES, "order": ORDERS,
}  # fmt: skip


def methods(jobs: int) -> Iterator[Method]:
    """Give metaschedulers: batches in so many groups, and parts of batches by backfilling."""
    yield Backfilling()
    for groups in (1, 3, 5, 10, jobs):
        for problem in ("time", "cost"):
            yield Slicer(groups=groups, problem=problem)
    yield Slicer(groups=1, search="amp")
    yield from (Bsf(first=part * jobs // 4, slicer=Slicer(groups=1), select="cost") for part in (1, 2, 3))


@cache
def cycles(name: str) -> list[tuple[str, Assignment]]:
    """Return what each metascheduler makes of a cycle, where all jobs have windows."""
    document = load(name)
    assert isinstance(document, MarketDocument)
    made = [(one, schedule(document.batch, document.environment, method=one)) for one in methods(document.size)]
    return [(str(one), done) for one, done in made if not done.failed]


def best_windows(document: MarketDocument, ask: str, who: str, when: str) -> Plan:
    """Return the best cycles that metaschedulers make, of those in which all jobs have windows."""
    kept = cycles(document.name)
    whole = Plan.of(document, ask, [done for _, done in kept], who=who, method="metaschedulers", when=when)
    if "+" in ask:
        return replace(whole, method=f"fedsched {fs.__version__}, metaschedulers")
    said = next(name for name, done in kept if done is whole.schedules[0])
    return replace(whole, method=f"fedsched {fs.__version__}, {said}")


@cache
def figures(name: str, rules: tuple[tuple[str, Any], ...]) -> dict[str, float] | None:
    """Return what comes of gangs under these rules; None where they do not go together, or leave jobs undone."""
    document = load(name)
    assert isinstance(document, GangDocument)
    try:
        plan = document.plan(dict(rules), 0)
        plan.verify()
    except (ValueError, fs.errors.FedschedError):
        return None
    return {ask: getattr(plan.metrics(), ask) for ask in document.asks}


def best_rules(document: GangDocument, ask: str, who: str, when: str) -> Plan:
    """Return the best rules: of those that were published, and of the best of these changed one by one."""

    def value(rules: dict[str, Any]) -> float:
        found = figures(document.name, tuple(sorted(rules.items())))
        return float("inf") if found is None else found[ask]

    best = min(({name: getattr(preset.system(), name) for name in RULES} for preset in NAMED.values()), key=value)
    for name, choices in TRIED.items():
        best = min((best | {name: choice} for choice in (best[name], *choices)), key=value)
    method = f"fedsched {fs.__version__}, rules changed one by one"
    return Plan.of(document, ask, [GangPlan(document, best)], who=who, method=method, when=when)
