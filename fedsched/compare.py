"""compare(): methods on instances over seeds, one line of JSON a run, so that a killed comparison goes on."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.baselines import baseline_schedules, values_of
from fedsched.errors import FedschedError, InfeasibleError, unknown_name
from fedsched.optimize import bounds_of, optimize, versions
from fedsched.policies import POLICIES
from fedsched.search.methods import ALIASES, METHODS
from fedsched.search.objectives import Objectives
from fedsched.search.problem import SearchProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Executor
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.federation import Federation
    from fedsched.workload import Workload


@dataclass(frozen=True, slots=True)
class Instance:
    """A problem to compare methods on; `optimum` is the first objective's best value where it is known."""

    name: str
    workload: Workload
    federation: Federation
    objectives: tuple[str, ...] = ("makespan",)
    optimum: float | None = None

    def fingerprint(self) -> str:
        """Return a short name of everything that makes the problem."""
        digest = hashlib.sha256(repr((self.federation, self.objectives)).encode())
        w = self.workload
        for column in (w.submit, w.tasks, w.runtime, w.estimate, w.compute_fraction, w.task_bandwidth, w.origin):
            digest.update(column.tobytes())
        return digest.hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Budget:
    """What each run may use."""

    evaluations: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.evaluations is None and self.seconds is None:
            raise ValueError("Budget: give evaluations, seconds or both.")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run: what it was, and what came out. A run that failed says why and has no values."""

    instance: str
    fingerprint: str
    method: str
    seed: int
    evaluations_allowed: int | None
    seconds_allowed: float | None
    objectives: tuple[str, ...]
    front: tuple[tuple[float, ...], ...] = ()
    bounds: tuple[float | None, ...] = ()
    evaluations: int = 0
    seconds: float = 0.0
    stop_reason: str = ""
    error: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[object, ...]:
        """Return what makes this run the same as another."""
        return (
            self.instance, self.fingerprint, self.method, self.seed, self.evaluations_allowed, self.seconds_allowed,
        )  # fmt: skip

    def best(self, objective: str | None = None) -> float:
        """Return the least value of an objective, by default the first; NaN where the run failed."""
        k = 0 if objective is None else self.objectives.index(objective)
        return min((values[k] for values in self.front), default=float("nan"))


@dataclass(frozen=True, slots=True)
class Comparison:
    """All runs asked for, in the order asked: instances, methods, seeds."""

    records: tuple[RunRecord, ...]

    def values(self, objective: str | None = None) -> dict[str, dict[str, NDArray[np.float64]]]:
        """Return the best values of every instance and method, one a seed."""
        table: dict[str, dict[str, list[float]]] = {}
        for record in self.records:
            table.setdefault(record.instance, {}).setdefault(record.method, []).append(record.best(objective))
        return {name: {m: np.array(v) for m, v in methods.items()} for name, methods in table.items()}

    def medians(self, objective: str | None = None) -> dict[str, dict[str, float]]:
        """Return the median over the seeds of the best values, failed runs left out."""

        def median(values: NDArray[np.float64]) -> float:
            good = values[~np.isnan(values)]
            return float(np.median(good)) if good.size else float("nan")

        return {name: {m: median(v) for m, v in row.items()} for name, row in self.values(objective).items()}


def compare(
    instances: Iterable[Instance],
    methods: Sequence[str],
    seeds: Iterable[int],
    budget: Budget,
    *,
    path: str | PathLike[str] | None = None,
    executor: Executor | None = None,
    baselines: Sequence[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Return every method's runs on every instance with every seed.

    Parameters
    ----------
    instances, methods, seeds, budget
        What is run: all combinations. A method is a search (a name of `fedsched.search.METHODS`), or a policy (of
        `fedsched.simulate.POLICIES`), which is simulated with what a search knows: all jobs wait, run times are known.
    path
        A file to which each run is added as it ends, one line of JSON. Called again, only what is missing is run; a
        line that a kill left half-written is run anew.
    executor
        Any `concurrent.futures.Executor`; runs are its tasks. None: one after the other, here.
    baselines
        Policies whose schedules every search starts with; by default those of `optimize`.
    progress
        Called with (runs done, runs in all).
    """
    known = {record.key: record for record in read_records(path)} if path is not None else {}
    wanted = [
        (instance, _blank(instance, method, seed, budget))
        for instance in instances
        for method in methods
        for seed in seeds
    ]
    missing = [(instance, blank, baselines) for instance, blank in wanted if blank.key not in known]
    done = len(wanted) - len(missing)
    if progress is not None:
        progress(done, len(wanted))
    for record in executor.map(_run, missing) if executor is not None else map(_run, missing):
        known[record.key] = record
        if path is not None:
            _add_line(Path(path), record)
        done += 1
        if progress is not None:
            progress(done, len(wanted))
    return Comparison(tuple(known[blank.key] for _, blank in wanted))


def read_records(path: str | PathLike[str]) -> list[RunRecord]:
    """Return the runs in a file; a last line that was cut off is left out, any other damage is an error."""
    if not Path(path).exists():
        return []
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    records = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            records.append(_record_of(json.loads(line)))
        except (ValueError, TypeError, KeyError):
            if number == len(lines):  # no line feed behind it: the writer was killed
                break
            raise FedschedError(f"{path}, line {number}: not a run of a comparison; mend or delete the line.") from None
    return records


def _blank(instance: Instance, method: str, seed: int, budget: Budget) -> RunRecord:
    return RunRecord(
        instance=instance.name,
        fingerprint=instance.fingerprint(),
        method=method,
        seed=seed,
        evaluations_allowed=budget.evaluations,
        seconds_allowed=budget.seconds,
        objectives=instance.objectives,
    )


def _run(task: tuple[Instance, RunRecord, Sequence[str] | None]) -> RunRecord:
    instance, blank, baselines = task
    data = asdict(blank)
    name = blank.method.lower()
    try:
        if name not in METHODS and name not in ALIASES:
            return RunRecord(**{**data, **_simulated(instance, name)})
        result = optimize(
            instance.workload,
            instance.federation,
            objectives=instance.objectives,
            method=blank.method,
            seed=blank.seed,
            evaluations=blank.evaluations_allowed,
            seconds=blank.seconds_allowed,
            baselines=baselines,
        )
    except Exception as error:  # a method that fails is a finding; the others go on
        return RunRecord(**{**data, "error": f"{type(error).__name__}: {error}"})
    if result.stop_reason == "interrupted":
        raise KeyboardInterrupt
    bounds = [result.lower_bounds[name] for name in result.objectives]
    return RunRecord(
        **{
            **data,
            "front": tuple(tuple(values) for values in result.front.values.tolist()),
            "bounds": tuple(None if bound != bound else bound for bound in bounds),
            "evaluations": result.evaluations,
            "seconds": result.seconds,
            "stop_reason": result.stop_reason,
            "versions": result.versions,
        }
    )


def _simulated(instance: Instance, policy: str) -> dict[str, Any]:
    # What a record says of a policy's one schedule.
    if policy not in POLICIES:
        raise unknown_name("method or policy", policy, [*METHODS, *ALIASES, *POLICIES])
    began = time.perf_counter()
    problem = SearchProblem(instance.workload, instance.federation, Objectives.of(instance.objectives))
    schedules = baseline_schedules(problem, (policy,))
    values = values_of(problem, schedules.values())
    seconds = time.perf_counter() - began
    if not schedules:
        raise InfeasibleError(f"Policy {policy!r} cannot place every job of {instance.name!r}; leave one of them out.")
    bounds = [bounds_of(problem).of(name) for name in problem.objectives.names]
    return {
        "front": tuple(tuple(row) for row in (values * problem.objectives.signs).tolist()),
        "bounds": tuple(None if bound != bound else bound for bound in bounds),
        "evaluations": 1,
        "seconds": seconds,
        "stop_reason": "policy",
        "versions": versions(),
    }


def _add_line(path: Path, record: RunRecord) -> None:
    # A line that a kill left half-written is cut away first, or the new one would be glued to it.
    with path.open("ab+") as stream:
        stream.seek(0)
        content = stream.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            stream.truncate(whole)
        stream.write(json.dumps(asdict(record)).encode() + b"\n")


def _record_of(data: dict[str, Any]) -> RunRecord:
    return RunRecord(
        **{
            **data,
            "objectives": tuple(data["objectives"]),
            "front": tuple(tuple(values) for values in data["front"]),
            "bounds": tuple(data["bounds"]),
        }
    )
