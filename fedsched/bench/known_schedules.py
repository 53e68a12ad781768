"""Known schedules of known logs: computed by other programs, recognised by fingerprint and computed again.

Programs that call a policy "EASY" disagree by half on the same log. They break ties differently, take different times
for run times, or group events into different passes. A hash of all starts tells whether two programs agree. This is the
table of hashes that other programs also get. A hash is over the jobs of the log *as cleaned here*, numbered 1..n by
submission.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedsched.core.errors import FieldError, ScheduleError
from fedsched.model.jobs.workload import Workload
from fedsched.model.machine.federation import Federation
from fedsched.model.reading import USUAL, Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule

Size = Literal["allocated", "requested"]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A policy with everything that two programs must agree on to compute the same schedule."""

    label: str
    policy: str
    reading: Reading = USUAL


FCFS = Recipe("FCFS", "fcfs")
EASY = Recipe("EASY", "easy")
CONSERVATIVE = Recipe("conservative", "conservative")
EASY_SEQUENTIAL = Recipe("EASY", "easy", Reading(same_time="sequential"))
ALL_KNOWN = Reading(same_time="sequential", knowledge="runtime")
EASY_CLAIRVOYANT = Recipe("EASY, true run times", "easy", ALL_KNOWN)
SJBF_CLAIRVOYANT = Recipe("EASY-SJBF, true run times", "easy-sjf", ALL_KNOWN)
ALL_RECIPES = (FCFS, EASY, CONSERVATIVE, EASY_SEQUENTIAL, EASY_CLAIRVOYANT, SJBF_CLAIRVOYANT)


@dataclass(frozen=True, slots=True)
class KnownSchedule:
    """A schedule that several programs compute: the recipe, the hash of its starts, and the other programs."""

    recipe: Recipe
    start_hash: str
    also: str


@dataclass(frozen=True, slots=True)
class KnownLog:
    """A log as cleaned here, recognised by its fingerprint, with its known schedules.

    `size` names the field of the log from which a job's size is taken.
    """

    name: str
    nodes: int
    fingerprint: str
    source: str
    schedules: tuple[KnownSchedule, ...]
    size: Size = "allocated"


KNOWN_LOGS: tuple[KnownLog, ...] = (
    KnownLog(
        "KTH-SP2", 100, "564413959793", "KTH-SP2-1996-2.swf, the archive's uncleaned log",
        (
            KnownSchedule(FCFS, "a9f8e7945027", "six other programs"),
            KnownSchedule(EASY, "1e8f26d7a99e", "predictsim"),
            KnownSchedule(CONSERVATIVE, "cba2be03b31a", "predictsim"),
        ),
    ),
    KnownLog(
        "KTH-SP2, requested sizes", 100, "b495356887af", "the same log; a job's size is field 8, not field 5",
        (
            KnownSchedule(EASY_SEQUENTIAL, "17ebd499cd54", "pyss"),
            KnownSchedule(EASY_CLAIRVOYANT, "cdaa007a5ab8", "pyss"),
            KnownSchedule(SJBF_CLAIRVOYANT, "ef2cbce88aeb", "pyss"),
        ),
        "requested",
    ),
    KnownLog(
        "NASA-iPSC", 128, "51b5adb8d24d", "NASA-iPSC-1993-3.1-cln.swf of the archive",
        (
            KnownSchedule(FCFS, "50ce08538288", "six other programs"),
            KnownSchedule(EASY, "a4230033b6c9", "predictsim"),
            KnownSchedule(CONSERVATIVE, "a4230033b6c9", "predictsim"),
        ),
    ),
    KnownLog(
        "lublin_256", 256, "96859da58318", "lublin_256.swf, 10,000 jobs of the Lublin model, overloaded",
        (
            KnownSchedule(FCFS, "70994f04d2f1", "six other programs"),
            KnownSchedule(EASY, "707278e55c59", "predictsim"),
            KnownSchedule(CONSERVATIVE, "336afd39ae4f", "predictsim"),
        ),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Check:
    """A schedule to compute and check: the cleaned log, the recipe, and the known schedule if there is one."""

    name: str
    workload: Workload
    nodes: int
    recipe: Recipe
    known: KnownSchedule | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a check: our hash of the starts and the known one, what `Schedule.verify()` finds, and metrics."""

    name: str
    jobs: int
    recipe: Recipe
    start_hash: str
    known_hash: str | None
    also: str
    fault: str | None
    mean_wait: float
    bounded_slowdown: float
    seconds: float

    @property
    def passed(self) -> bool:
        """Return whether the schedule keeps the model and has the known hash, if there is one."""
        return self.fault is None and self.known_hash in (None, self.start_hash)

    @property
    def verdict(self) -> str:
        """Return the result in a few words, such as "same, every start" or "DIFFERS"."""
        if self.fault is not None:
            return f"breaks the model: {self.fault}"
        if self.known_hash is None:
            return "keeps the model"
        return "same, every start" if self.passed else "DIFFERS"


def read_raw(path: str, format: str | None = None) -> Workload:
    """Return the jobs of a log file, with the records of every status, as the known schedules use them."""
    from fedsched.io import read

    return read(path, format, statuses=None)


def cleaned(workload: Workload, nodes: int, *, size: Size = "allocated") -> Workload:
    """Return the jobs of a log as the known schedules use them, on a machine of `nodes` nodes.

    Times are cut to whole seconds, and the first submit is 0. Jobs without run > 0 and 0 < size <= nodes are left out;
    a request below the run time is raised to it. Jobs are sorted by submit and number and renumbered, so that
    renumbered copies of a log are recognised too. The size is taken from the other field of the log if that of `size`
    is not above 0.
    """
    tasks, request = workload.tasks, workload.estimate
    if workload.log is not None:
        sizes = {"allocated": workload.log.allocated, "requested": workload.log.requested}
        first = sizes.pop(size)
        (second,) = sizes.values()
        tasks = np.where(first > 0, first, second).astype(np.int64)
        request = workload.log.requested_time
    runtime = np.trunc(workload.runtime)
    rows = np.nonzero((runtime > 0) & (tasks > 0) & (tasks <= nodes))[0]
    rows = rows[np.lexsort((workload.id[rows], workload.submit[rows]))]
    submit, runtime = np.trunc(workload.submit[rows]), runtime[rows]
    return Workload(
        submit=submit - submit[:1],
        tasks=tasks[rows],
        runtime=runtime,
        estimate=np.maximum(np.trunc(request[rows]), runtime),
        user=workload.user[rows],
        name=workload.name,
        nodes=nodes,
    )


def fingerprint(workload: Workload) -> str:
    """Return 12 hexadecimal digits of a hash of every job's submit, size, run time and request."""
    table = np.column_stack([workload.submit, workload.tasks, workload.runtime, workload.estimate])
    return hashlib.sha256(np.ascontiguousarray(table.astype("<i8")).tobytes()).hexdigest()[:12]


def start_hash(start: NDArray[np.float64]) -> str:
    """Return 12 hexadecimal digits of the hash of all pairs (job's number, whole second of its start).

    Other programs use the same form.
    """
    pairs = ",".join(f"{number}:{second}" for number, second in enumerate(start.astype(np.int64).tolist(), 1))
    return hashlib.sha256(pairs.encode()).hexdigest()[:12]


def plan_checks(workload: Workload, *, nodes: int = 0) -> list[Check]:
    """Return the checks for a log: its known schedules if it is recognised, else every recipe without a known hash.

    `nodes` is the machine's size; 0: that of the log. Raise FieldError if neither is known, or no job is left.
    """
    machine = nodes or workload.nodes
    copies: dict[tuple[int, Size], tuple[Workload, str]] = {}
    checks: list[Check] = []
    for known in KNOWN_LOGS:
        if machine not in (0, known.nodes):
            continue
        key = (known.nodes, known.size)
        if key not in copies:
            jobs = cleaned(workload, known.nodes, size=known.size)
            copies[key] = jobs, fingerprint(jobs)
        jobs, seen = copies[key]
        if seen == known.fingerprint:
            checks += [Check(known.name, jobs, known.nodes, it.recipe, it) for it in known.schedules]
    if checks:
        return checks
    if not machine:
        raise FieldError("{}: the log does not say how many nodes its machine has; give {nodes}.", workload.name)
    jobs = cleaned(workload, machine)
    if not len(jobs):
        raise FieldError("{}: no job has a run time and a size of 1 to {}; is {nodes} right?", workload.name, machine)
    return [Check(workload.name, jobs, machine, recipe, None) for recipe in ALL_RECIPES]


def run_check(check: Check, *, progress: Progress | None = None) -> Outcome:
    """Simulate the schedule of a check; return its hash and metrics, and what the independent verifier says.

    Raise KeyboardInterrupt if the simulation was interrupted.
    """
    from fedsched.simulate import simulate

    begun = time.perf_counter()
    schedule = simulate(
        check.workload,
        Federation.homogeneous(check.nodes),
        policy=check.recipe.policy,
        reading=check.recipe.reading,
        progress=progress,
    )
    seconds = time.perf_counter() - begun
    if not schedule.complete:
        raise KeyboardInterrupt  # an incomplete schedule proves nothing
    row = schedule.metrics()
    return Outcome(
        name=check.name,
        jobs=len(check.workload),
        recipe=check.recipe,
        start_hash=start_hash(schedule.start),
        known_hash=check.known.start_hash if check.known else None,
        also=check.known.also if check.known else "",
        fault=_fault(schedule),
        mean_wait=row.mean_wait,
        bounded_slowdown=row.bounded_slowdown,
        seconds=seconds,
    )


def run_checks(checks: list[Check], *, progress: Progress | None = None) -> Iterator[Outcome]:
    """Return an iterator of the checks' outcomes, each of which is computed when it is asked for."""
    return (run_check(check, progress=progress) for check in checks)


def _fault(schedule: Schedule) -> str | None:
    try:
        schedule.verify()
    except ScheduleError as error:
        return str(error)
    return None
