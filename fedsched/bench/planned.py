"""Plans in files, and their values: schedules, windows of a market's cycle, rules for gangs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.bench.gangs import GangDocument, GangPlan
from fedsched.bench.markets import MarketDocument
from fedsched.bench.placing import placed
from fedsched.core.errors import FedschedError, shortened
from fedsched.core.values import is_number
from fedsched.engine.sharing.result import SharedSchedule
from fedsched.market.assignment import Assignment
from fedsched.model.schedule.schedule import Schedule

if TYPE_CHECKING:
    from fedsched.bench.documents import Document

Planned = Schedule | Assignment | GangPlan


class PlanError(FedschedError):
    """A plan's file is refused; the message says why."""


def values_of(one: Planned, ask: str) -> list[float]:
    """Return a plan's values of these objectives."""
    row = one.totals() if isinstance(one, Assignment) else one.metrics(users=False)
    return [float(getattr(row, name)) for name in ask.split("+")]


def columns_of(one: Planned) -> dict[str, Any]:
    """Return a plan's content for a file, without its values."""
    if isinstance(one, GangPlan):
        return {"rules": one.rules, "seed": one.seed}
    start = [_short(at) for at in one.start.tolist()]
    if isinstance(one, Assignment):
        return {"start": start, "nodes": ["+".join(str(n) for n in row if n >= 0) for row in one.nodes.tolist()]}
    return {"start": start, "finish": [_short(at) for at in one.finish.tolist()], "nodes": _nodes(one)}


def planned(document: Document, data: dict[str, Any], where: str) -> Planned:
    """Return the plan of a file's data; its `verify` tells whether it keeps to the instance."""
    if isinstance(document, GangDocument):
        try:
            return document.plan(data.get("rules"), data.get("seed"))
        except (FedschedError, TypeError, ValueError) as error:
            raise PlanError(f"{where}: {shortened(str(error), 300)}") from None
    names = ("start", "nodes") if isinstance(document, MarketDocument) else ("start", "finish", "nodes")
    columns = {}
    for name in names:
        column = data.get(name)
        if not isinstance(column, list) or len(column) != document.size:
            raise PlanError(f"{where}: {name!r} must be a list, an entry for each of the {document.size} jobs.")
        columns[name] = column
    if not all(is_number(at) for name in names[:-1] for at in columns[name]):
        raise PlanError(f"{where}: every start and finish must be a finite number of seconds.")
    if isinstance(document, MarketDocument):
        nodes = [
            [node for node, _ in _places(text, len(document.environment), "NODE", "nodes", f"{where}, job {row}")]
            for row, text in enumerate(columns["nodes"], 1)
        ]
        return document.assignment(columns["start"], nodes)
    shared = document.sharing is not None
    places = document.federation.nodes if shared else len(document.federation.groups)
    words = ("NODE:TASKS", "nodes") if shared else ("GROUP:COUNT", "groups")
    given = np.zeros((document.size, places), dtype=np.int64)
    for row, text in enumerate(columns["nodes"]):
        for place, count in _places(text, places, *words, f"{where}, job {row + 1}"):
            given[row, place] += count
    return placed(document, columns["start"], columns["finish"], given, policy="a plan from a file")


def _places(text: object, places: int, called: str, what: str, where: str) -> list[tuple[int, int]]:
    # A job's nodes or groups, each with a number of nodes, or of tasks there.
    found = []
    try:
        for part in str(text).split("+"):
            place, colon, count = part.partition(":")
            if not 0 <= int(place) < places or bool(colon) != (":" in called):
                raise ValueError(part)
            found.append((int(place), int(np.int64(int(count or 1)))))
    except (ValueError, OverflowError):
        raise PlanError(
            f"{where}: nodes={shortened(repr(text))} must be {called}, several joined by +, "
            f"with {what} from 0 to {places - 1}."
        ) from None
    return found


def _short(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _nodes(schedule: Schedule) -> list[str]:
    # Each job's number of nodes by group, or of tasks by shared node.
    if not isinstance(schedule, SharedSchedule):
        return ["+".join(f"{g}:{count}" for g, count in enumerate(row) if count) for row in schedule.counts.tolist()]
    use = schedule.use
    found: list[list[str]] = [[] for _ in range(len(schedule))]
    for k in np.lexsort((use.node, use.job)).tolist():
        found[use.job[k]].append(f"{use.node[k]}:{use.tasks[k]}")
    return ["+".join(parts) for parts in found]
