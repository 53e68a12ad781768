"""The function `compare`, which runs methods on instances with seeds; a file of runs lets it continue later."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import BrokenExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from itertools import product
from math import inf, isfinite
from queue import SimpleQueue
from textwrap import shorten
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from fedsched.comparison.entrants import Entrant, Outcome, PolicyEntrant, SearchEntrant, bounds_on, code_of
from fedsched.comparison.files import RunFile, merge_records, read_records
from fedsched.comparison.gangs import GangEntrant, GangInstance
from fedsched.comparison.instances import Budget, Comparable, Instance
from fedsched.comparison.markets import MarketEntrant, MarketInstance
from fedsched.comparison.method_names import check_names, entrant_of
from fedsched.comparison.record import Comparison, RunRecord
from fedsched.comparison.scores import Scores
from fedsched.comparison.statistics import Friedman, Pair, Pairs
from fedsched.comparison.table import Row, Table
from fedsched.core.errors import FedschedError, shown
from fedsched.core.executors import LEFT, ended_of, unknown_to_workers
from fedsched.core.values import seed_of
from fedsched.policies import Policy
from fedsched.search.problem.objectives import MAXIMISED

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from concurrent.futures import Executor, Future
    from os import PathLike

ALIKE = 1e-9  # relative difference of a value and a bound that counts as rounding
LATE, COMPILING = 1.1, 2.0  # a run is late beyond this share of its seconds, and these seconds for compiling

__all__ = [
    "Budget",
    "Comparable",
    "Comparison",
    "Entrant",
    "Friedman",
    "GangEntrant",
    "GangInstance",
    "Instance",
    "MarketEntrant",
    "MarketInstance",
    "Outcome",
    "Pair",
    "Pairs",
    "Row",
    "RunRecord",
    "Scores",
    "Table",
    "compare",
    "merge_records",
    "read_records",
]


def compare(
    instances: Comparable | Iterable[Comparable],
    methods: str | Entrant | Policy | Sequence[str | Entrant | Policy],
    seeds: Iterable[int],
    budget: Budget,
    *,
    path: str | PathLike[str] | None = None,
    executor: Executor | None = None,
    baselines: Sequence[str] | None = None,
    retry: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Run every method on every instance with every seed, deterministic methods once, and return a `Comparison`.

    If several methods coincide, as ga, ga-mf and ga-ea do if objectives are named, only the first is run, with a note.

    Parameters
    ----------
    instances, methods, seeds, budget
        All combinations are run. A method is a search (a name of `fedsched.search.METHODS`; "ga:random" starts from
        random plans, as `optimize(seeds="random")`) or a policy (of `fedsched.policies.POLICIES`, or an object), which
        is simulated.
        Both follow the instance's reading: by default all jobs wait from the start and run times are known, unlike in
        `simulate` (`Instance(submits=, knowledge=)`). On a `GangInstance`, a method is a preset of
        `fedsched.gang.presets`; on a `MarketInstance`, a method of `fedsched.market`. An `Entrant` is also possible:
        any object with a `name` and a `run(instance, seed, budget)` that returns an `Outcome`. A run fails if it
        takes more evaluations than allowed, or gives a value that a proven bound excludes.
    path
        A file to which each run is added as it ends, as one line of JSON. Another call with it runs only what is
        missing; a line that a kill left half-written is run again. A method that is an object runs again if its class
        or its simple attributes have changed, one that another package offers if that has another version. After a
        change elsewhere, take a new file.
    executor
        Any `concurrent.futures.Executor`; runs are its tasks. None: runs are made one after the other in this process.
        If the executor loses runs, the others go on, and the error at the end names the first lost one.
    baselines
        Policies that give every search its first plans; by default those of `optimize`.
    retry
        Repeat the runs that failed according to the file.
    progress
        Called with (runs done, runs in all).

    Examples
    --------
    >>> problem = fs.Instance("fifty", fs.read("sample").head(50), 128)
    >>> runs = fs.compare(problem, ["easy", "sjf"], seeds=[0], budget=fs.Budget(evaluations=100))
    >>> runs.medians()["fifty"]["easy"]
    109614.0
    >>> runs.table().rows[0].best
    True
    """
    named = _methods_of(methods)
    check_names(name for name in named if isinstance(name, str))
    entrants, notes = _without_duplicates([entrant_of(method, baselines) for method in named])
    tasks = _tasks(_instances_of(instances), entrants, _seeds_of(seeds), _budget_of(budget))
    known = {} if path is None else {record.key: record for record in read_records(path)}
    if retry:
        known = {key: record for key, record in known.items() if not record.error}
    missing = [task for task in tasks if task.is_missing_in(known)]
    done = len(tasks) - len(missing)
    if progress is not None:
        progress(done, len(tasks))
    ended = _run_here(missing) if executor is None else _run_on_executor(executor, missing)
    with RunFile(path) if path is not None and missing else nullcontext() as file, closing(ended) as records:
        for record in records:
            if file is not None:
                file.add(record)
            known[record.key] = record
            done += 1
            if progress is not None:
                progress(done, len(tasks))
    # The instance's facts of today replace those recorded with the run.
    found = [_with_current_facts(known[task.blank.key], task) for task in tasks]
    return Comparison(tuple(_with_bounds_checked(found, tasks)), (*notes, *overtime(found)))


@dataclass(frozen=True, slots=True)
class _Task:
    instance: Comparable
    entrant: Entrant
    budget: Budget
    blank: RunRecord
    bounded: bool = False  # the run also computes the bounds of its instance

    def is_missing_in(self, known: Mapping[tuple[object, ...], RunRecord]) -> bool:
        """Return whether the known runs lack this one, or the bounds that it computes."""
        record = known.get(self.blank.key)
        return record is None or (self.bounded and not record.error and not record.bounds)

    def __dask_tokenize__(self) -> str:
        # By default Dask answers a task that looks like an earlier one with the earlier result, or its failure.
        return uuid4().hex


def _without_duplicates(entrants: Sequence[Entrant]) -> tuple[list[Entrant], tuple[str, ...]]:
    """Return the entrants without those that do the same as an earlier one, and a note for each of these."""
    firsts: dict[object, Entrant] = {}
    kept, notes = [], []
    for one in entrants:
        first = firsts.setdefault((type(one), getattr(one, "does", one.name)), one)
        if first is one or first.name == one.name:
            kept.append(one)
            continue
        search = isinstance(one, SearchEntrant)
        why = "with the instances' objectives they are the same search" if search else "they are the same policy"
        notes.append(f"{one.name} is not run beside {first.name}: {why}")
    return kept, tuple(notes)


def _tasks(
    instances: Sequence[Comparable], entrants: Sequence[Entrant], seeds: Sequence[int], budget: Budget
) -> list[_Task]:
    names = ([one.name for one in instances], [one.name for one in entrants], [*map(str, seeds)])
    for what, given in zip(("instance", "method", "seed"), names, strict=True):
        if not given:
            raise ValueError(f"compare: there is no {what}; give at least one.")
        twice = next((name for name in given if given.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"compare: {what} {twice!r} is given twice; each must have a name of its own.")
    fingerprints = {instance.name: instance.fingerprint() for instance in instances}
    codes = {entrant.name: code_of(entrant) for entrant in entrants}
    first_policy = next((one for one in entrants if isinstance(one, PolicyEntrant)), None)
    return [
        _Task(
            instance,
            entrant,
            budget,
            RunRecord(
                instance=instance.name,
                fingerprint=fingerprints[instance.name],
                method=entrant.name,
                seed=seed,
                evaluations_allowed=budget.evaluations,
                seconds_allowed=budget.seconds,
                objectives=instance.objectives,
                baselines=_baselines_of(entrant),
                drawn=getattr(instance, "drawn", False),
                facts=getattr(instance, "facts", ()),
                watts_assumed=getattr(instance, "watts_assumed", False),
                submits=getattr(instance, "submits", ""),
                reading=getattr(instance, "reading", None),
                clairvoyant=getattr(instance, "submits", "") == "keep" and getattr(entrant, "plans_ahead", False),
                deterministic=_is_deterministic(entrant, instance),
                code=codes[entrant.name],
            ),
            bounded=entrant is first_policy,
        )
        for instance, entrant in product(instances, entrants)
        for seed in (seeds[:1] if _is_deterministic(entrant, instance) else seeds)
    ]


def _is_deterministic(entrant: Entrant, instance: Comparable) -> bool:
    """Return whether every seed gives the same run: neither the method nor the instance uses the seed."""
    return getattr(entrant, "deterministic", False) and not getattr(instance, "drawn", False)


def _with_current_facts(record: RunRecord, task: _Task) -> RunRecord:
    blank = task.blank
    return replace(
        record, optimum=task.instance.optimum, drawn=blank.drawn, facts=blank.facts, watts_assumed=blank.watts_assumed,
        submits=blank.submits, reading=blank.reading, clairvoyant=blank.clairvoyant,
        deterministic=blank.deterministic,
    )  # fmt: skip


def _with_bounds_checked(records: Iterable[RunRecord], tasks: Sequence[_Task]) -> list[RunRecord]:
    """Return the records; those with a value that fedsched's own bounds on their instance exclude are failed runs.

    The bounds that one policy's run has computed become those of all policies on the instance.
    """
    pairs = list(zip(records, tasks, strict=True))
    proven: dict[tuple[str, int], list[float]] = {}
    for record, task in pairs:
        if isinstance(task.entrant, PolicyEntrant | SearchEntrant):
            for k, bound in enumerate(record.bounds):
                if bound is not None:
                    proven.setdefault((record.instance, k), []).append(bound)
    first = {record.instance: record.bounds for record, task in pairs if task.bounded}
    found = []
    for record, task in pairs:
        if isinstance(task.entrant, PolicyEntrant) and not record.error:
            record = replace(record, bounds=record.bounds or first[record.instance])
        for k, name in enumerate(record.objectives):
            sign = -1.0 if name in MAXIMISED else 1.0
            bound = max((sign * one for one in proven.get((record.instance, k), ())), default=-inf)
            value = sign * record.best(name)
            if value < bound - ALIKE * abs(bound):
                side = "above" if name in MAXIMISED else "below"
                why = f"it gave {name}={sign * value:g}, {side} the proven bound {sign * bound:g}: no schedule can"
                record = replace(record, error=why, front=())
                break
        found.append(record)
    return found


def overtime(records: Iterable[RunRecord]) -> list[str]:
    """Return a note for each method of which a run took much longer than its budget allows."""
    longest: dict[str, RunRecord] = {}
    for record in records:
        allowed = record.seconds_allowed
        if allowed is not None and record.seconds > LATE * allowed + COMPILING:
            longest[record.method] = max(longest.get(record.method, record), record, key=lambda one: one.seconds)
    return [
        f"{method} took up to {record.seconds:.1f} s of the {record.seconds_allowed:g} s allowed"
        for method, record in longest.items()
    ]


def _baselines_of(entrant: Entrant) -> tuple[str, ...] | None:
    # Baselines change a search; other methods have none.
    given = entrant.baselines if isinstance(entrant, SearchEntrant) else None
    return None if given is None else tuple(given)


_OUTCOME = ("front", "bounds", "evaluations", "seconds", "stop_reason", "versions", "history")


def _run(task: _Task) -> RunRecord:
    wanted = len(task.instance.objectives)
    try:
        outcome = task.entrant.run(task.instance, task.blank.seed, task.budget)
        if not outcome.front or any(len(row) != wanted or not all(map(isfinite, row)) for row in outcome.front):
            raise ValueError(f"{task.blank.method} gave {outcome.front}, not rows of {wanted} finite values.")
        allowed = task.budget.evaluations
        if allowed is not None and outcome.evaluations > allowed:
            raise ValueError(f"{task.blank.method} took {outcome.evaluations} evaluations; the budget is {allowed}.")
        record = replace(task.blank, **{name: getattr(outcome, name) for name in _OUTCOME})
        if task.bounded and isinstance(task.instance, Instance):
            record = replace(record, bounds=bounds_on(task.instance))
        return record
    except Exception as error:  # a method that fails is a finding; the others go on
        return replace(task.blank, error=f"{type(error).__name__}: {error}")


def _run_here(tasks: Sequence[_Task]) -> Generator[RunRecord, None, None]:
    for task in tasks:
        yield _run(task)


def _run_on_executor(executor: Executor, tasks: Sequence[_Task]) -> Generator[RunRecord, None, None]:
    # Runs are yielded as they end, so that none waits behind a slow one. (as_completed would wait for ever if a pool is
    # shut down and cancels runs that have not begun.)
    futures: dict[Future[RunRecord], int] = {}
    ended: SimpleQueue[Future[RunRecord]] = SimpleQueue()
    lost: dict[int, Exception] = {}
    kept = 0
    future: Future[RunRecord] | None
    try:
        for k, task in enumerate(tasks):
            try:
                future = executor.submit(_run, task)
            except Exception as error:  # the executor is broken or shut down, and takes no more runs
                lost[k] = error
                break
            futures[future] = k
            future.add_done_callback(ended.put)
        while futures:
            future = ended_of(executor, ended)
            if future is None:
                lost |= dict.fromkeys(futures.values(), BrokenExecutor(LEFT))
                break
            k = futures.pop(future)
            try:
                record = future.result()
            except Exception as error:  # a run's own failure is in its record; this one is the executor's
                lost[k] = error
                continue
            del future  # a Dask cluster then need not keep its result, nor compute it again if a worker dies
            kept += 1
            yield record
    finally:
        for future in futures:
            future.cancel()
    if lost:
        first = min(lost)
        stranger = unknown_to_workers(tasks[first]) if isinstance(lost[first], BrokenExecutor) else ""
        cause = TypeError(stranger) if stranger else lost[first]
        others = len(tasks) - kept - 1
        why = shorten(f"{type(cause).__name__}: {cause}", 300, placeholder=" …").rstrip(".: ")
        raise FedschedError(
            f"The executor failed at {tasks[first].blank}{f' and {others} others' if others else ''} "
            f"({why}); what ended is kept: call again with the same path for the rest."
        ) from cause


def _instances_of(given: Any) -> list[Comparable]:
    """Return the instances as a list, from one or several; raise if they are none."""
    several = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    for one in several:
        if not callable(getattr(one, "fingerprint", None)) or isinstance(one, type):
            raise TypeError(
                f"compare: instances={shown(given)} must be instances, as "
                "[fedsched.Instance('log', workload, federation)]."
            )
    return several


def _methods_of(given: Any) -> list[str | Entrant | Policy]:
    """Return the methods as a list, from one or several; raise if they are none."""
    if isinstance(given, str | Entrant | Policy):
        return [given]
    if not isinstance(given, Iterable):
        raise TypeError(f"compare: methods={shown(given)} must be names, policies or entrants, as ['memetic', 'easy'].")
    return list(given)


def _seeds_of(given: Any) -> list[int]:
    """Return the seeds as a list; raise if they are none."""
    if not isinstance(given, Iterable) or isinstance(given, str):
        several = f"range({given!r}) for {given} seeds" if type(given) is int else "range(10)"
        raise TypeError(f"compare: seeds={shown(given)} must be a list of seeds, as [0, 1, 2], or {several}.")
    return [seed_of("compare", seed) for seed in given]


def _budget_of(given: Any) -> Budget:
    """Return the budget of each run; raise if it is no `Budget`."""
    if not isinstance(given, Budget):
        number = given if type(given) in (int, float) and given > 0 else 1000
        raise TypeError(
            f"compare: budget={shown(given)} must say of what: fedsched.Budget(evaluations={int(number) or 1}) or "
            f"fedsched.Budget(seconds={number})."
        )
    return given
