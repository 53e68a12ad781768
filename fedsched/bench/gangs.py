"""Instances of the gang studies: jobs that arrive at sites with a queue for each processor, after the papers' settings.

A plan is the rules of the schedulers and the seed of their draws; their run is replayed. The instance fixes the machine
and its regime: processors, clocks, and what a local job may do to a gang. The objectives are the run's metrics.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from fedsched.bench.documents import FORMAT, Document
from fedsched.bench.exact_numbers import Draws
from fedsched.core.errors import ScheduleError, unknown_name
from fedsched.core.values import whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.comparison.gangs import FixedGangInstance
    from fedsched.gang.schedule import GangMetrics, GangSchedule
    from fedsched.gang.system import GangSystem
    from fedsched.model.jobs.workload import Workload

# The rules that a plan may set: fields of `GangSystem`.
RULES = (
    "grid", "approach", "dispatch", "routing", "local_site", "discipline", "order", "claim", "threshold",
    "local_migration", "external_migration", "aging",
)  # fmt: skip
REGIME: dict[str, Any] = {"reference_clock": 2000, "overhead": 0, "preempts": "never", "preempted": "restart"}
AMOUNTS = ("overhead",)  # decimals are allowed
CLOCKS = (1500, 1600, 1700, 1800, 1900, 2000, 2500, 3000, 3500)  # Pinto et al. 2019


class GangDocument(Document):
    """An instance of gang scheduling with all its data: jobs, sites, and the fixed settings ("regime")."""

    @cached_property
    def workload(self) -> Workload:
        """Return the instance's jobs as a Workload."""
        import numpy as np

        from fedsched.model.jobs.workload import Workload

        jobs, sites = self.data["jobs"], len(self.data["gang"]["processors"])
        columns: dict[str, Any] = {
            name: np.array([float(value) for value in jobs[name]]) for name in ("submit", "tasks", "runtime")
        }
        if "origin" in jobs:
            columns |= {"origin": jobs["origin"], "sites": tuple(f"site{k + 1}" for k in range(sites))}
        return Workload(**columns, name=self.name)

    def system(self, rules: dict[str, Any]) -> GangSystem:
        """Return the instance's sites as a GangSystem with the given rules of the schedulers."""
        from fedsched.gang.system import GangSystem

        return GangSystem(**self.regime, **rules)

    def plan(self, rules: object, seed: object) -> GangPlan:
        """Return the plan of these rules and this seed.

        Raise an error for rules that a plan may not set, and for invalid combinations.
        """
        if not isinstance(rules, dict):
            raise TypeError(f"'rules' must be a table of rules of the schedulers: {', '.join(RULES)}.")
        for name in rules:
            if name not in RULES:
                raise unknown_name("rule of a plan", str(name), RULES)
        found = GangPlan(self, rules, whole("a plan", "seed", seed, least=0))
        self.system(rules)
        return found

    @property
    def regime(self) -> dict[str, Any]:
        """Return the fields of `GangSystem` that the instance fixes."""
        given = self.data["gang"]
        amounts = {name: float(given[name]) for name in AMOUNTS if name in given}
        return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()} | amounts

    @property
    def parts(self) -> tuple[object, ...]:
        """Return a description of the sites, and the jobs, as `bench show` prints them."""
        sites = " and ".join(map(str, self.data["gang"]["processors"]))
        return f"sites of {sites} processors, each with a queue of its own", self.workload

    def instance(self, ask: str, optimum: float | None = None) -> FixedGangInstance:
        """Return the problem of one objective, as `compare` takes it."""
        from fedsched.comparison.gangs import FixedGangInstance

        self.check(ask)
        return FixedGangInstance(
            f"{self.name}/{ask}", tuple(ask.split("+")), optimum=optimum, workload=self.workload, regime=self.regime,
            source=self.sha256,
        )  # fmt: skip


@dataclass(frozen=True)
class GangPlan:
    """A plan for a gang instance: the schedulers' rules with which it is run, and the seed of their draws."""

    document: GangDocument
    rules: dict[str, Any]
    seed: int = 0

    @cached_property
    def schedule(self) -> GangSchedule:
        """Return the schedule of the plan: the instance is simulated with these rules, once."""
        from fedsched.gang.run import simulate

        return simulate(self.document.workload, self.document.system(self.rules), seed=self.seed)

    def verify(self) -> None:
        """Raise ScheduleError if the plan's schedule breaks the model, or leaves a job undone."""
        self.schedule.verify()
        if not self.schedule.completed.all():
            raise ScheduleError(f"these rules leave {int((~self.schedule.completed).sum())} jobs undone")

    def metrics(self, *, users: bool = False) -> GangMetrics:
        """Return the metrics of the plan's schedule, over all jobs; `users` is not used."""
        return self.schedule.metrics()


def _jobs(draws: Draws, rows: list[tuple[int, int, int]], work: int, load: int) -> dict[str, list[int]]:
    # Jobs of (tasks, seconds, site), in the order of arrivals, spread over the time that makes the load, in per cent.
    span = sum(tasks * seconds for tasks, seconds, _ in rows) * 100 // (work * load)
    submit = sorted(draws.below(span) for _ in rows)
    tasks, runtime, origin = (list(column) for column in zip(*draws.shuffled(rows), strict=True))
    return {"submit": [at - submit[0] for at in submit], "tasks": tasks, "runtime": runtime, "origin": origin}


def _two_sites(name: str, jobs: int, seed: int, load: int) -> Document:
    draws = Draws(seed, jobs)
    rows = [
        (1, draws.between(60, 1800), draws.below(2)) if draws.below(100) < 85
        else (2 << draws.below(4), draws.between(60, 1800), -1)
        for _ in range(jobs)
    ]  # fmt: skip
    return _document(
        name, f"{jobs} local jobs and gangs on two sites of 16 processors, {load} % of them; gangs may span both",
        REGIME | {"processors": [16, 16], "overhead": "0.1"}, _jobs(draws, rows, 32, load),
    )  # fmt: skip


def _clocks(name: str, processors: tuple[int, int], jobs: int, seed: int, load: int, *, stops: bool) -> Document:
    draws = Draws(seed, jobs)
    rows = []
    for _ in range(jobs):
        alone = draws.below(100) < (30 if stops else 5)
        tasks = 1 if alone else draws.between(2, 1 << draws.between(2, processors[0].bit_length() - 1))
        rows.append((tasks, draws.between(600, 7200), -1))
    columns = _jobs(draws, rows, sum(processors), load)
    regime = REGIME | {"processors": list(processors), "clocks": [draws.one_of(CLOCKS) for _ in range(sum(processors))]}
    regime |= {"preempts": "system"} if stops else {}
    what = ", which sequential jobs stop" if stops else ""
    return _document(
        name, f"{jobs} jobs, most of them gangs{what}, on {sum(processors)} processors of several clocks, {load} %",
        regime, {name: column for name, column in columns.items() if name != "origin"},
    )  # fmt: skip


def _document(name: str, about: str, regime: dict[str, Any], jobs: dict[str, list[int]]) -> Document:
    data = {"format": FORMAT, "name": name, "version": 1, "family": "gang", "about": about, "jobs": jobs}
    data |= {"machine": "+".join(map(str, regime["processors"])), "gang": regime}
    return GangDocument(data | {"objectives": ["mean_response", "weighted_response"]})


RECIPES: dict[str, Callable[[], Document]] = {
    "gang-sites-200": partial(_two_sites, "gang-sites-200", 200, 601, 80),
    "gang-clocks-200": partial(_clocks, "gang-clocks-200", (32, 64), 200, 602, 80, stops=False),
    "gang-stops-200": partial(_clocks, "gang-stops-200", (32, 64), 200, 603, 80, stops=True),
}
