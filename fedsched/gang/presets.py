"""The configurations of published experiments, named after their authors.

The papers leave some values out (run times and arrivals in the two by Pinto et al., which come from unnamed parts of
logs). They are chosen here; docs/explanation/gang.md says how.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.core.text import counted
from fedsched.core.values import is_number, whole
from fedsched.gang.run import simulate
from fedsched.gang.schedule import GangSchedule  # noqa: TC001 a public type of this module's functions
from fedsched.gang.system import GangSystem
from fedsched.model.jobs.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

# Pinto et al. 2019, section 8.1: processors per job -> jobs, of 3000. The list has 139,170 tasks; the text says
# 140,441. Section 3: the clocks.
SIZES_2019 = {1: 30, 2: 90, 4: 60, 8: 60, 32: 1860, 64: 570, 128: 330}
CLOCKS_2019 = (1500, 1600, 1700, 1800, 1900, 2000, 2500, 3000, 3500)
# Pinto et al. 2014, section VII: 1500 jobs, 24,152 tasks, sizes of 1 to 64; the paper says no more.
JOBS_2014, TASKS_2014, SEQUENTIAL_2014, LARGEST_2014, DENSITY_2014 = 1500, 24_152, 450, 64, 0.69
LEAST_SECONDS, MOST_SECONDS = 10.0, 64_800.0


class Preset(Protocol):
    """The protocol of what `replicate` takes: any object that makes a run of a gang simulation from a seed.

    Examples
    --------
    >>> class OneGang:
    ...     def run(self, seed=0):
    ...         jobs = fs.Workload(submit=[0], tasks=[4], runtime=[10 + seed])
    ...         return fs.gang.simulate(jobs, fs.gang.GangSystem(processors=(4,)), seed=seed)
    >>> fs.gang.replicate(OneGang(), replications=3)["gangs"]["mean_response"].mean
    11.0
    """

    def run(self, seed: int = 0) -> GangSchedule:
        """Return the schedule of one run with this seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DimitriadouKaratza:
    """The experiment of "Multi-Site Allocation Policies on a Grid": two sites of 16 processors, Poisson arrivals.

    Parameters
    ----------
    approach, overhead, threshold, routing
        See GangSystem.
    local_rate
        λ: the arrivals of local jobs at each site in a unit of time.
    gang_rate
        λ3: the arrivals of gangs at the grid.
    completions
        A run ends after this number of completed jobs.

    Examples
    --------
    >>> preset = fs.gang.presets.DimitriadouKaratza(approach=2, completions=200)
    >>> preset.system().processors
    (16, 16)
    >>> int(preset.run(seed=1).completed.sum())
    200
    """

    approach: int = 1
    local_rate: float = 12.5
    gang_rate: float = 0.5
    overhead: float = 0.1
    threshold: float = 0.0
    routing: str = "shortest_waiting"
    completions: int = 40_000

    def __post_init__(self) -> None:
        for name in ("local_rate", "gang_rate"):
            value = getattr(self, name)
            if not (is_number(value) and value > 0):
                raise ValueError(f"DimitriadouKaratza: {name}={value!r} must be finite and above 0.")
        whole("DimitriadouKaratza", "completions", self.completions, least=1)
        self.system()

    def system(self, seed: int = 0) -> GangSystem:
        """Return the system of this experiment; it is the same for every seed."""
        return GangSystem(
            processors=(16, 16),
            approach=self.approach,
            overhead=self.overhead,
            threshold=self.threshold,
            routing=self.routing,
        )

    def workload(self, seed: int = 0) -> Workload:
        """Return random local jobs of both sites and gangs of 2 to 16 tasks: enough for a run if processors keep up."""
        return self._jobs(seed, self._period())

    def _period(self) -> float:
        """Return a period in which more jobs arrive than a run completes, unless they arrive faster than they end."""
        return 1.25 * self.completions / (2 * self.local_rate + self.gang_rate) + 50.0

    def _jobs(self, seed: int, horizon: float) -> Workload:
        rng = _generator(seed)
        streams = []
        for site, rate in ((0, self.local_rate), (1, self.local_rate), (-1, self.gang_rate)):
            count = int(horizon * rate + 10.0 * np.sqrt(horizon * rate) + 10)
            submit = np.cumsum(rng.exponential(1.0 / rate, count))
            tasks = np.ones(count, dtype=np.int64) if site >= 0 else rng.choice([2, 4, 8, 16], count)
            streams.append((submit, tasks, rng.exponential(1.0, count), np.full(count, site)))
        submit, tasks, service, origin = (np.concatenate(columns) for columns in zip(*streams, strict=True))
        early = submit <= min(stream[0][-1] for stream in streams)
        order = np.flatnonzero(early)[np.argsort(submit[early], kind="stable")]
        return Workload(
            submit=submit[order],
            tasks=tasks[order],
            runtime=service[order],
            origin=origin[order],
            sites=("site1", "site2"),
            name=f"locals {self.local_rate:g}, gangs {self.gang_rate:g}",
        )

    def run(self, seed: int = 0) -> GangSchedule:
        """Return the schedule of one run, in which jobs keep arriving until the last completion."""
        period = self._period()
        while True:
            workload = self._jobs(seed, period)
            schedule = simulate(workload, self.system(), max_completions=self.completions, seed=seed)
            if schedule.end <= workload.submit[-1]:  # jobs kept arriving until the last completion
                return schedule
            period *= 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinto2019:
    """The experiment of Pinto et al. 2019: 3000 jobs on two sites of 128 and 256 processors.

    F. A. P. Pinto, H. J. A. Holanda, C. K. de M. Marques and G. C. Barroso, "Efficient Methods for Scheduling Jobs in a
    Simulation Model Using a Multicore Multicluster Architecture", Computing and Informatics 38, 2019.

    Parameters
    ----------
    scheduler
        AFCFS, LXF or LJFS; a final m adds local and external migration.
    scenario
        1: tasks are dispatched by OLB; 2: by JSEQ.
    runtime, power, spread
        Run times are lognormal with mean runtime · (size/32)^power and coefficient of variation `spread`.
    load
        Work that arrives per second, per processor at the reference clock.
    arrivals
        Submit times, as of a log (`read(...).submit`): the first of them, one a job, stretched to the load; default:
        uniformly drawn times.

    Examples
    --------
    >>> preset = fs.gang.presets.Pinto2019(scheduler="LXF")
    >>> len(preset.workload(seed=1)), preset.system(seed=1).processors
    (3000, (128, 256))
    """

    scheduler: str = "AFCFSm"
    scenario: int = 1
    runtime: float = 1715.0
    power: float = 0.5
    spread: float = 0.3
    load: float = 0.9
    arrivals: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        names = ("AFCFS", "AFCFSm", "LXF", "LXFm", "LJFS", "LJFSm")
        if self.scheduler not in names:
            raise unknown_name("scheduler", self.scheduler, names)
        _check_scenario(self, 2)
        _check_work(self)
        _check_arrivals(self)

    def system(self, seed: int = 0) -> GangSystem:
        """Return the system, with the processors' clock rates drawn by the seed."""
        migrates = self.scheduler.endswith("m")
        rng = _generator(seed, 2)
        return GangSystem(
            processors=(128, 256),
            clocks=tuple(rng.choice(CLOCKS_2019, 384).tolist()),
            grid="load",
            dispatch=("olb", "jseq")[self.scenario - 1],
            routing="fastest",
            local_site="any",
            discipline=self.scheduler.removesuffix("m").lower(),
            claim="hold" if migrates else "skip",
            local_migration=migrates,
            external_migration=migrates,
        )

    def workload(self, seed: int = 0) -> Workload:
        """Return the 3000 jobs: the published sizes, shuffled, with drawn run times and arrivals."""
        sizes = np.repeat(list(SIZES_2019), list(SIZES_2019.values()))
        return _drawn_jobs(sizes, 32, self, processors=384, seed=seed)

    def run(self, seed: int = 0) -> GangSchedule:
        """Return the schedule of one run of the experiment, with jobs, clock rates and ties drawn by the seed."""
        return simulate(self.workload(seed), self.system(seed), seed=seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinto2014:
    """The experiment of Pinto et al. 2014: 1500 jobs on two sites of 32 and 64 processors.

    F. A. P. Pinto, C. B. Chaves, L. G. de M. Leite, F. H. L. Vasconcelos and G. C. Barroso, "Analysis of Scheduling
    Algorithms with Migration Strategies in Distributed Systems", ICNS 2014. Sequential jobs preempt gangs if "all
    processors are busy".

    Parameters
    ----------
    scheduler
        AFCFS or LGFS.
    scenario
        1: without migration; 2: with migration; 3: with migration, and tasks dispatched by aLD instead of JSQ.
    runtime, power, spread
        Run times are lognormal with mean runtime · (size/16)^power and coefficient of variation `spread`.
    load
        Work that arrives per second, per processor at the reference clock.
    arrivals
        Submit times, as of a log (`read(...).submit`): the first of them, one a job, stretched to the load; default:
        uniformly drawn times.
    preempts, preempted, aging
        See GangSystem; aging 0 = never.

    Examples
    --------
    >>> preset = fs.gang.presets.Pinto2014(scheduler="LGFS", scenario=1)
    >>> len(preset.workload(seed=1)), preset.system(seed=1).processors
    (1500, (32, 64))
    """

    scheduler: str = "AFCFS"
    scenario: int = 2
    runtime: float = 3000.0
    power: float = 0.25
    spread: float = 0.5
    load: float = 0.8
    preempts: str = "system"
    preempted: str = "restart"
    aging: int = 0
    arrivals: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.scheduler not in ("AFCFS", "LGFS"):
            raise unknown_name("scheduler", self.scheduler, ("AFCFS", "LGFS"))
        _check_scenario(self, 3)
        _check_work(self)
        _check_arrivals(self)
        self.system()

    def system(self, seed: int = 0) -> GangSystem:
        """Return the system, with the processors' clock rates, from 1500 to 3000 MHz, drawn by the seed."""
        rng = _generator(seed, 2)
        return GangSystem(
            processors=(32, 64),
            clocks=tuple(rng.uniform(1500, 3000, 96).tolist()),
            grid="load",
            dispatch="ald" if self.scenario == 3 else "jsq",
            routing="dispatch",
            discipline=self.scheduler.lower(),
            claim="hold",
            local_migration=self.scenario > 1,
            external_migration=self.scenario > 1,
            preempts=self.preempts,
            preempted=self.preempted,
            aging=self.aging,
        )

    def workload(self, seed: int = 0) -> Workload:
        """Return 1500 jobs of 24,152 tasks with drawn run times and arrivals."""
        return _drawn_jobs(_sizes_2014(), 16, self, processors=96, seed=seed)

    def run(self, seed: int = 0) -> GangSchedule:
        """Return the schedule of one run of the experiment, with jobs, clock rates and ties drawn by the seed."""
        return simulate(self.workload(seed), self.system(seed), seed=seed)


def _check_scenario(preset: Pinto2014 | Pinto2019, scenarios: int) -> None:
    if not 1 <= whole(type(preset).__name__, "scenario", preset.scenario) <= scenarios:
        raise ValueError(f"{type(preset).__name__}: scenario={preset.scenario!r} must be 1 to {scenarios}.")


def _generator(seed: int, *stream: int) -> np.random.Generator:
    return np.random.default_rng([whole("presets", "seed", seed, least=0), *stream])


def _check_work(preset: Pinto2014 | Pinto2019) -> None:
    for name, least in (("runtime", "above"), ("load", "above"), ("spread", "at least"), ("power", "any")):
        value = getattr(preset, name)
        if not is_number(value) or not {"above": value > 0, "at least": value >= 0, "any": True}[least]:
            rule = "finite" if least == "any" else f"finite and {least} 0"
            raise ValueError(f"{type(preset).__name__}: {name}={value!r} must be {rule}.")


def _check_arrivals(preset: Pinto2014 | Pinto2019) -> None:
    """Store the submit times as plain numbers, or raise if they are too few, not finite, or all equal."""
    if preset.arrivals is None:
        return
    noun, jobs = type(preset).__name__, JOBS_2014 if isinstance(preset, Pinto2014) else sum(SIZES_2019.values())
    times = np.asarray(preset.arrivals)
    if times.ndim != 1 or times.dtype.kind not in "iuf":
        raise TypeError(f"{noun}: arrivals={preset.arrivals!r} must list submit times, like those of a log's `submit`.")
    if times.size < jobs:
        raise ValueError(f"{noun}: arrivals has {times.size} times; each of the {jobs} jobs needs one.")
    times = np.sort(times.astype(np.float64))[:jobs]
    if not np.isfinite(times).all() or times[0] == times[-1]:
        raise ValueError(f"{noun}: arrivals={preset.arrivals!r} must be finite, and not all at one time.")
    object.__setattr__(preset, "arrivals", tuple(times.tolist()))


def _drawn_jobs(
    sizes: NDArray[np.int64], typical: int, preset: Pinto2014 | Pinto2019, *, processors: int, seed: int
) -> Workload:
    """Return jobs of these sizes, shuffled, with lognormal run times; arrivals span work / (processors · load)."""
    rng = _generator(seed, 1)
    sizes = rng.permutation(sizes)
    variance = np.log1p(preset.spread**2)
    factor = np.exp(rng.normal(-variance / 2.0, np.sqrt(variance), sizes.size))
    seconds = np.clip(preset.runtime * (sizes / typical) ** preset.power * factor, LEAST_SECONDS, MOST_SECONDS)
    span = float((sizes * seconds).sum()) / (processors * preset.load)
    if preset.arrivals is None:
        submit, how = np.sort(rng.uniform(0.0, span, sizes.size)), ""
    else:
        times = np.array(preset.arrivals) - preset.arrivals[0]
        submit, how = times * (span / times[-1]), ", arrivals given"
    return Workload(
        submit=submit,
        tasks=sizes,
        runtime=seconds,
        name=f"{counted(sizes.size, 'job')}, {counted(int(sizes.sum()), 'task')}, load {preset.load:g}{how}",
    )


def _sizes_2014() -> NDArray[np.int64]:
    """Return the sizes of 1500 jobs with 24,152 tasks: 450 sequential ones, and gangs as frequent as size^−0.69."""
    gangs, rest = JOBS_2014 - SEQUENTIAL_2014, 1.0 - DENSITY_2014
    share = (np.arange(gangs) + 0.5) / gangs
    low, high = 2.0**rest, (LARGEST_2014 + 1.0) ** rest
    sizes = np.floor((low + share * (high - low)) ** (1.0 / rest)).astype(np.int64)
    lacking = TASKS_2014 - SEQUENTIAL_2014 - int(sizes.sum())
    middle = np.linspace(gangs // 4, 3 * gangs // 4, abs(lacking)).astype(np.int64)
    sizes[middle] += np.sign(lacking)
    return np.concatenate((np.ones(SEQUENTIAL_2014, dtype=np.int64), sizes))


NAMED: Mapping[str, Preset] = MappingProxyType(
    {
        **{f"dimitriadou-karatza-{k}": DimitriadouKaratza(approach=k) for k in (1, 2, 3)},
        **{f"pinto-2014-s{k}": Pinto2014(scenario=k) for k in (1, 2, 3)},
        **{f"pinto-2019-s{k}": Pinto2019(scenario=k) for k in (1, 2)},
    }
)


def named(name: str) -> Preset:
    """Return the published scenario of this name; dataclasses.replace() changes its parameters.

    Parameters
    ----------
    name
        The scenario's name, as "pinto-2019-s1".

    Examples
    --------
    >>> fs.gang.presets.named("dimitriadou-karatza-2").approach
    2
    """
    if name not in NAMED:
        raise unknown_name("scenario", name, NAMED)
    return NAMED[name]
