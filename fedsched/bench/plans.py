"""The best known plans, in files that can be replayed: schedules, windows of a market's cycle, or rules for gangs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.bench import DATA, load
from fedsched.bench.gangs import GangDocument, GangPlan
from fedsched.bench.markets import MarketDocument
from fedsched.core.errors import FedschedError, ScheduleError, shortened
from fedsched.core.values import is_number
from fedsched.engine.sharing.result import Played, SharedSchedule
from fedsched.market.assignment import Assignment
from fedsched.model.schedule.node_use import NodeUse
from fedsched.model.schedule.schedule import Schedule
from fedsched.search.problem.objectives import signs_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from fedsched.bench.documents import Document
    from fedsched.comparison.instances import Instance

FORMAT = "fedsched plan 1"
FOLDER = DATA / "plans"
SAME = 1e-9  # relative tolerance between machines, and the least relative gain of a better value
FIELDS = ("format", "instance", "version", "sha256", "objectives", "who", "with", "when", "plans")
DECIMALS = 12  # of a value in a plan's file


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The plans for one objective of an instance, or a front for several objectives, sorted by the first."""

    document: Document
    ask: str
    who: str
    method: str
    when: str
    schedules: tuple[Planned, ...]

    @property
    def values(self) -> NDArray[np.float64]:
        """Return the objective values (plans × objectives), computed by replaying the plans."""
        return np.array([values_of(schedule, self.ask) for schedule in self.schedules])

    @property
    def file_name(self) -> str:
        """Return the name of the plans' file: INSTANCE.OBJECTIVE.json."""
        return f"{self.document.name}.{self.ask}.json"

    def text(self) -> str:
        """Return the content of the plans' file, JSON with one line for each plan."""
        plans = [
            {
                "values": [round(value, DECIMALS) for value in values],
                **columns_of(schedule),
            }
            for schedule, values in zip(self.schedules, self.values.tolist(), strict=True)
        ]
        head = {
            "format": FORMAT, "instance": self.document.name, "version": self.document.data["version"],
            "sha256": self.document.sha256, "objectives": self.ask, "who": self.who, "with": self.method,
            "when": self.when,
        }  # fmt: skip
        lines = [json.dumps(plan, separators=(",", ":"), allow_nan=False) for plan in plans]
        return json.dumps(head, indent=0)[:-2] + ',\n"plans": [\n' + ",\n".join(lines) + "\n]\n}\n"

    @classmethod
    def of(
        cls, document: Document, ask: str, schedules: Iterable[Planned], *, who: str, method: str, when: str
    ) -> Plan:
        """Verify these plans and return them; of a front only distinct ones that no other plan dominates.

        Raise ScheduleError if a plan breaks the model.
        """
        found = list(schedules)
        for schedule in found:
            schedule.verify()
        values = np.array([values_of(schedule, ask) for schedule in found]) * signs_of(ask.split("+"))
        kept = [k for k in np.lexsort(values.T[::-1]).tolist() if not _dominated(values[k], np.delete(values, k, 0))]
        distinct = [k for n, k in enumerate(kept) if not any(_same(values[k], values[other]) for other in kept[:n])]
        return cls(document, ask, who, method, when, tuple(found[k] for k in distinct))


def _dominated(one: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    return bool(((others <= one).all(axis=1) & (others < one).any(axis=1)).any())


def _same(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    return bool((np.abs(one - other) <= SAME * np.maximum(np.abs(one), np.abs(other))).all())


def read_plan(path: str | PathLike[str], *, logs: str | PathLike[str] | None = None) -> Plan:
    """Return the plans of a file, each replayed, verified, and checked to have the values that it claims.

    Raise PlanError if the file is not well formed or a check fails.
    """
    from fedsched.io.files import read_json

    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise PlanError(f"{path} is not a plan; its format must be {FORMAT!r}.")
    if missing := [name for name in FIELDS if name not in data]:
        raise PlanError(f"{path}: {', '.join(missing)} is missing; a plan has {', '.join(FIELDS)}.")
    document = load(str(data["instance"]), logs=logs)
    if data["sha256"] != document.sha256:
        raise PlanError(f"{path}: it is for a problem with sha256 {shortened(data['sha256'], 12)}…, which "
                        f"{document.name} is not; its is {document.sha256[:12]}….")  # fmt: skip
    ask = str(data["objectives"])
    document.instance(ask)
    for name in ("who", "with", "when"):
        if not isinstance(data[name], str) or not data[name].strip():
            raise PlanError(f"{path}: {name!r} must be a text that is not empty.")
    if not isinstance(data["plans"], list) or not data["plans"]:
        raise PlanError(f"{path}: 'plans' must be a list of one plan or more.")
    schedules = []
    for k, plan in enumerate(data["plans"], 1):
        where = f"{path}, plan {k}"
        if not isinstance(plan, dict):
            raise PlanError(f"{where} must be a table.")
        schedule = planned(document, plan, where)
        try:
            schedule.verify()
        except ScheduleError as error:
            raise PlanError(f"{where}: it breaks the model: {shortened(str(error), 300)}") from None
        replayed = values_of(schedule, ask)
        claimed = plan.get("values")
        if not isinstance(claimed, list) or len(claimed) != len(replayed) or not all(map(is_number, claimed)):
            raise PlanError(f"{where}: 'values' must be {len(replayed)} numbers, one an objective.")
        if not _same(np.array(claimed, dtype=np.float64), np.array(replayed)):
            raise PlanError(f"{where}: it claims {claimed}, but its replay gives {replayed}.")
        schedules.append(schedule)
    found = Plan.of(document, ask, schedules, who=data["who"], method=data["with"], when=data["when"])
    if len(found.schedules) < len(schedules):
        raise PlanError(f"{path}: one of its plans is not better than another plan in any objective; leave it out.")
    return found


def known_path(name: str, ask: str) -> Path:
    """Return the path of the file of the best known plans for an objective, whether it exists or not."""
    return FOLDER / f"{name}.{ask}.json"


def known_values(document: Document, ask: str) -> NDArray[np.float64] | None:
    """Return the values (plans × objectives) that the file of the best known plans states; None if there is no file.

    The plans are not replayed here; the tests do that.
    """
    path = known_path(document.name, ask)
    if not path.is_file():
        return None
    data = json.loads(path.read_text(encoding="utf-8"))
    return np.array([plan["values"] for plan in data["plans"]], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The comparison of a plan with the best known one: better or not; of a front, the number of new points."""

    plan: Plan
    known: NDArray[np.float64] | None
    bound: float | None
    new: int

    @property
    def is_new_best(self) -> bool:
        """Return whether the plan, or a point of the front, belongs among the best known plans."""
        return self.new > 0

    def __str__(self) -> str:
        values, ask = self.plan.values, self.plan.ask
        jobs = f"{self.plan.document.name}, {ask}"
        if values.shape[1] > 1:
            said = f"{jobs}: {len(values)} plans that keep to the instance"
            return f"{said}; {f'NEW: {self.new} not dominated by the best known front' if self.new else 'none is new'}"
        value = float(values[0, 0])
        lines = [f"{jobs}: {value:.10g}, replayed"]
        if self.known is None:
            lines.append("NEW BEST: no plan was known")
        else:
            best = float(self.known[0, 0])
            lines.append(f"{'NEW BEST' if self.new else 'no new best'}: the best known is {best:.10g}")
        if self.bound is not None and self.bound > 0:
            lines.append(f"at most {value / self.bound - 1:.3%} above the optimum, as the certificate proves")
        return "; ".join(lines)


def judged(plan: Plan, bound: float | None = None) -> Verdict:
    """Return the comparison of plans with the best known ones.

    A value must be better by more than a rounding error to be new; without known plans all are.
    """
    known = known_values(plan.document, plan.ask)
    signs = signs_of(plan.ask.split("+"))
    values = plan.values * signs
    if known is None:
        return Verdict(plan, None, bound, len(values))
    beside = known * signs
    margin = SAME * np.abs(beside)
    new = [row for row in values if not ((beside <= row + margin).all(axis=1)).any()]
    return Verdict(plan, known, bound, len(new))


Planned = Schedule | Assignment | GangPlan


class PlanError(FedschedError):
    """The error that refuses a plan's file; the message says why."""


def values_of(one: Planned, ask: str) -> list[float]:
    """Return a plan's values of the objectives in `ask`, which are joined by "+"."""
    row = one.totals() if isinstance(one, Assignment) else one.metrics(users=False)
    return [float(getattr(row, name)) for name in ask.split("+")]


def columns_of(one: Planned) -> dict[str, Any]:
    """Return a plan's content for a file, without its values: starts, ends and nodes, or rules and seed."""
    if isinstance(one, GangPlan):
        return {"rules": one.rules, "seed": one.seed}
    start = [_short(at) for at in one.start.tolist()]
    if isinstance(one, Assignment):
        return {"start": start, "nodes": ["+".join(str(n) for n in row if n >= 0) for row in one.nodes.tolist()]}
    return {"start": start, "finish": [_short(at) for at in one.finish.tolist()], "nodes": _nodes(one)}


def planned(document: Document, data: dict[str, Any], where: str) -> Planned:
    """Return the plan made from a file's data, not yet verified.

    Raise PlanError, with `where` in the message, if the data are not well formed.
    """
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


def placed(
    problem: Document | Instance, start: ArrayLike, finish: ArrayLike, given: NDArray[np.int64], *, policy: str = ""
) -> Schedule:
    """Return the schedule of a problem's jobs with these starts and finishes, not verified.

    `given` is the number of nodes of each group that each job has. If jobs share nodes, it is the number of its
    tasks on each node.
    """
    workload, federation = problem.workload, problem.federation
    columns: dict[str, Any] = {
        "workload": workload, "federation": federation, "start": start, "finish": finish, "t0": 0.0,
        "reading": problem.reading, "policy": policy,
    }  # fmt: skip
    if problem.sharing is None:
        return Schedule(counts=given, **columns)
    job, node = np.nonzero(given)
    use = NodeUse(
        workload=workload, federation=federation, start=np.array(start, dtype=np.float64),
        finish=np.array(finish, dtype=np.float64), alone=np.zeros(len(workload), dtype=np.bool_), job=job, node=node,
        tasks=given[job, node],
    )  # fmt: skip
    return SharedSchedule(counts=use.counts, played=Played(problem.sharing, use), **columns)


def replaced(problem: Document | Instance, schedule: Schedule) -> Schedule:
    """Return a schedule anew as one of the problem's own jobs and machine, on the same nodes.

    Raise FedschedError if jobs share nodes in the problem, but not in the schedule.
    """
    given = schedule.counts
    if problem.sharing is not None:
        if not isinstance(schedule, SharedSchedule):
            raise FedschedError(
                "The schedule has whole nodes, but here jobs share nodes; make it with sharing=instance.sharing."
            )
        given = np.zeros((len(schedule), problem.federation.nodes), dtype=np.int64)
        np.add.at(given, (schedule.use.job, schedule.use.node), schedule.use.tasks)
    return placed(problem, schedule.start, schedule.finish, given)
