"""Studies over many generated cycles: the same batches by several methods, or one request by several strategies."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.core.values import LARGEST_SEED, whole
from fedsched.market.codes import CRITERIA, code_of
from fedsched.market.flow import schedule_flow
from fedsched.market.generator import Domain, Jobs
from fedsched.market.methods import Method, schedule
from fedsched.market.replay import replay
from fedsched.market.windows import best_of, find_window, find_windows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from fedsched.market.environment import Environment
    from fedsched.market.flow import Flow
    from fedsched.market.requests import Request
    from fedsched.market.windows import Window

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

COLUMNS = ("start", "runtime", "finish", "cost", "cpu", "energy", "alternatives")


@dataclass(frozen=True, slots=True, eq=False)
class Cycles:
    """The results of one method in many cycles: a row a cycle, a column a job, NaN if a job found no window.

    Parameters
    ----------
    start, runtime, finish, cost, cpu, energy, alternatives
        As of `Users`, a row a cycle.
    criterion
        The number of each job's criterion.
    real_start, real_runtime, real_cpu
        The same as replayed; all NaN without a replay.

    Examples
    --------
    >>> found = fs.market.cycles_of({"css": "css"}, jobs=fs.market.Jobs(jobs=5), cycles=3)["css"]
    >>> found.start.shape, found.failures
    ((3, 5), 0.0)
    """

    start: Floats
    runtime: Floats
    finish: Floats
    cost: Floats
    cpu: Floats
    energy: Floats
    alternatives: Floats
    criterion: Ints
    real_start: Floats  # as replayed; all NaN without a replay
    real_runtime: Floats
    real_cpu: Floats

    @property
    def failed(self) -> Bools:
        """Return, for each cycle, whether a job found no window in it."""
        return np.asarray(np.isnan(self.start).any(axis=1))

    @property
    def failures(self) -> float:
        """Return the share of failed cycles (Y)."""
        return float(self.failed.mean())

    def mean(self, column: str, *, criterion: str | None = None, cycles: Bools | None = None) -> float:
        """Return a column's mean over the jobs with a window, of all chosen cycles; NaN if there are none.

        Parameters
        ----------
        column
            A field's name.
        criterion
            Only jobs with this criterion.
        cycles
            Only these cycles.
        """
        if column not in (known := [field.name for field in fields(self)]):
            raise unknown_name("column", column, known)
        values = getattr(self, column)
        kept = ~np.isnan(self.start)
        if criterion is not None:
            kept &= self.criterion == code_of("criterion", criterion, CRITERIA)
        if cycles is not None:
            kept &= cycles[:, None]
        return float(values[kept].mean()) if kept.any() else float("nan")


def cycles_of(
    methods: Mapping[str, str | Method],
    *,
    domain: Domain | None = None,
    jobs: Jobs | None = None,
    cycles: int = 1000,
    first: int = 0,
    shortest: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Cycles]:
    """Return the results of each method in the same generated cycles.

    Parameters
    ----------
    methods
        Method names or instances, by their names in the result.
    domain, jobs
        Generators of the cycles; by default the paper's.
    cycles, first
        The number of cycles, and the seed of the first.
    shortest
        Replay each cycle; jobs use from this share of their reservations to all of it. By default no replay.
    progress
        Called with cycles done and cycles in all.

    Examples
    --------
    >>> found = fs.market.cycles_of({"css": "css", "bf": "backfilling"}, jobs=fs.market.Jobs(jobs=5), cycles=3)
    >>> found["bf"].mean("start") <= found["css"].mean("start")
    True
    """
    domain, jobs = domain or Domain(), jobs or Jobs()
    whole("", "cycles", cycles, least=1)
    whole("", "first", first, least=0, most=LARGEST_SEED - cycles)
    shape = (cycles, jobs.jobs)
    names = [*COLUMNS, "real_start", "real_runtime", "real_cpu"]
    tables = {name: {column: np.full(shape, np.nan) for column in names} for name in methods}
    wanted = np.zeros(shape, np.int64)
    for c in range(cycles):
        environment = domain.environment(first + c)
        batch = jobs.batch(first + c, domain=domain)
        wanted[c] = [CRITERIA[request.criterion] for request in batch]
        for name, method in methods.items():
            plan = schedule(batch, environment, method=method, seed=first + c)
            for column in COLUMNS:
                tables[name][column][c] = getattr(plan, column)
            if shortest is not None:
                done = replay(plan, shortest=shortest, seed=first + c)
                for column in ("start", "runtime", "cpu"):
                    tables[name][f"real_{column}"][c] = getattr(done, column)
        if progress is not None:
            progress(c + 1, cycles)
    return {name: Cycles(criterion=wanted, **table) for name, table in tables.items()}


def flows_of(
    methods: Mapping[str, str | Method],
    *,
    domain: Domain | None = None,
    jobs: Jobs | None = None,
    cycles: int = 20,
    period: float | None = None,
    order: str = "oldest",
    patience: int | None = None,
    first: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Flow]:
    """Return, by method, the flow of the same generated jobs over successive cycles of one generated domain.

    Parameters
    ----------
    methods
        Method names or instances, by their names in the result.
    domain, jobs
        Generators of the domain and the jobs; by default the paper's. A cycle sees as much time as the domain's
        interval; after it the owners' local tasks continue in the same way.
    cycles
        The number of cycles; each has its own batch.
    period
        The time from one cycle to the next; by default the domain's interval.
    order, patience
        See `schedule_flow`.
    first
        The seed of the domain and of the first batch.
    progress
        Called with cycles done and cycles in all, over all methods.

    Examples
    --------
    >>> flows = fs.market.flows_of({"bf": "backfilling"}, jobs=fs.market.Jobs(jobs=5), cycles=2)
    >>> len(flows["bf"].jobs)
    10
    """
    domain, jobs = domain or Domain(), jobs or Jobs()
    if cycles < 1:
        raise ValueError(f"cycles={cycles!r} must be at least 1.")
    period = domain.interval if period is None else period
    whole = replace(domain, interval=(cycles - 1) * period + domain.interval, prices=None).environment(first)
    batches = [
        [replace(request, name=f"{c + 1}.{request.name}") for request in jobs.batch(first + c, domain=domain)]
        for c in range(cycles)
    ]
    done = {}
    for k, (name, method) in enumerate(methods.items()):

        def note(cycle: int, _: int, before: int = k * cycles) -> None:
            if progress is not None:
                progress(before + cycle, cycles * len(methods))

        done[name] = schedule_flow(
            batches,
            whole,
            method=method,
            period=period,
            horizon=domain.interval,
            order=order,
            patience=patience,
            prices=domain.prices,
            seed=first,
            progress=note,
        )
    return done


@dataclass(frozen=True, slots=True)
class Strategy:
    """A search for one window: the rule of the scan, what it minimises, and how sub-windows are chosen.

    Parameters
    ----------
    method, criterion, window
        As of `find_window`.

    Examples
    --------
    >>> domain = fs.market.Domain().environment(seed=1)
    >>> window = fs.market.Strategy(criterion="min_cost").find(domain, fs.market.Request(nodes=2, length=100))
    >>> len(window.nodes)
    2
    """

    method: str = "aep"
    criterion: str = "min_start"
    window: str = "cheapest"

    def find(self, environment: Environment, request: Request, *, seed: int = 0) -> Window | None:
        """Return the window that this strategy finds for a request; None if it finds none.

        Parameters
        ----------
        environment, request, seed
            As of `find_window`.
        """
        return find_window(
            environment, request, method=self.method, criterion=self.criterion, window=self.window, seed=seed
        )


STRATEGIES = {
    "AMP": Strategy("amp"),
    "MinRunTime": Strategy(criterion="min_runtime"),
    "MinFinish": Strategy(criterion="min_finish"),
    "MinCost": Strategy(criterion="min_cost"),
    "MinProcTime": Strategy(criterion="min_cpu"),
}
CSA = "CSA"
WINDOW_COLUMNS = ("min_start", "min_runtime", "min_finish", "min_cost", "min_cpu")


@dataclass(frozen=True, slots=True, eq=False)
class Searches:
    """The figures of the windows that strategies found for one request in many domains; NaN if none was found.

    CSA finds many windows: each of its figures is the least among them, so a row may combine several windows.

    Parameters
    ----------
    found
        By strategy: a row a domain, a column a figure of `WINDOW_COLUMNS`.
    alternatives
        The number of disjoint AMP windows in each domain; 0 without CSA.

    Examples
    --------
    >>> found = fs.market.searches_of(fs.market.Request(nodes=2, length=100), cycles=3, csa=False)
    >>> found.mean("MinCost", "min_cost") <= found.mean("AMP", "min_cost")
    True
    """

    found: Mapping[str, Floats]
    alternatives: Ints  # disjoint AMP windows in each domain; 0 without CSA

    def mean(self, strategy: str, criterion: str) -> float:
        """Return a figure's mean over the domains in which the strategy found a window; NaN if there are none.

        Parameters
        ----------
        strategy
            The strategy's name.
        criterion
            The figure's name, in `WINDOW_COLUMNS`.
        """
        if strategy not in self.found:
            raise unknown_name("strategy", strategy, self.found)
        if criterion not in WINDOW_COLUMNS:
            raise unknown_name("figure", criterion, WINDOW_COLUMNS)
        values = self.found[strategy][:, WINDOW_COLUMNS.index(criterion)]
        there = values[~np.isnan(values)]
        return float(there.mean()) if len(there) else float("nan")


def searches_of(
    request: Request,
    *,
    domain: Domain | None = None,
    strategies: Mapping[str, Strategy] | None = None,
    csa: bool = True,
    cycles: int = 1000,
    first: int = 0,
) -> Searches:
    """Return what each strategy finds for a request in the same generated domains.

    Parameters
    ----------
    request, domain
        The request, and the generator of the domains; by default one of 100 nodes, as in the paper's study.
    strategies
        Strategies by name; by default those of the paper.
    csa
        Also search for all disjoint AMP windows, and choose among them by each criterion.
    cycles, first
        The number of domains, and the seed of the first.

    Examples
    --------
    >>> found = fs.market.searches_of(fs.market.Request(nodes=2, length=100), cycles=3, csa=False)
    >>> sorted(found.found)
    ['AMP', 'MinCost', 'MinFinish', 'MinProcTime', 'MinRunTime']
    """
    domain = domain or Domain(nodes=100)
    strategies = STRATEGIES if strategies is None else strategies
    whole("", "cycles", cycles, least=1)
    whole("", "first", first, least=0, most=LARGEST_SEED - cycles)
    found = {name: np.full((cycles, len(WINDOW_COLUMNS)), np.nan) for name in (*strategies, *([CSA] if csa else []))}
    alternatives = np.zeros(cycles, np.int64)
    for c in range(cycles):
        environment = domain.environment(first + c)
        for name, strategy in strategies.items():
            window = strategy.find(environment, request, seed=first + c)
            if window is not None:
                found[name][c] = [window.value(criterion) for criterion in WINDOW_COLUMNS]
        if csa:
            windows = find_windows(environment, request, method="amp")
            alternatives[c] = len(windows)
            if windows:
                found[CSA][c] = [best_of(windows, criterion).value(criterion) for criterion in WINDOW_COLUMNS]
    return Searches(found, alternatives)
