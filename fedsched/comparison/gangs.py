"""Gang schedulers in a comparison: published presets; each seed draws the same run for all presets."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from fedsched.comparison.entrants import Outcome
from fedsched.core.errors import InfeasibleError, unknown_name
from fedsched.gang.presets import NAMED, Preset
from fedsched.gang.run import simulate
from fedsched.gang.schedule import CLASSES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.comparison.instances import Budget
    from fedsched.gang.schedule import GangSchedule
    from fedsched.model.jobs.workload import Workload

# Metrics to minimise; utilisation is maximised.
OBJECTIVES = (
    "mean_response", "mean_wait", "weighted_response", "mean_slowdown", "weighted_slowdown", "loss_of_capacity",
    "loss_by_site", "wasted", "utilisation",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GangInstance:
    """An instance for gang schedulers: metrics of a class of jobs, and settings for all presets.

    A seed draws the jobs, their arrivals and the processors' clock rates. Presets of one experiment that differ only in
    the scheduler draw the same.

    Parameters
    ----------
    name, objectives
        The name in tables, and the metrics that are objectives.
    settings
        Values for fields of the presets, as {"load": 0.8}.
    jobs, warmup
        The class of jobs and the part of the run that are measured, as in `GangSchedule.metrics`.
    optimum
        The first objective's best possible value, if it is known.

    Examples
    --------
    >>> from fedsched.compare import GangInstance
    >>> problem = GangInstance("gangs", ("mean_response",), jobs="gangs")
    >>> problem.objectives
    ('mean_response',)
    """

    name: str
    objectives: tuple[str, ...] = ("mean_response",)
    settings: Mapping[str, object] = field(default_factory=dict)  # fields of the presets, e.g. {"load": 0.8}
    jobs: str = "all"
    warmup: float = 0.0
    optimum: float | None = None
    drawn: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "objectives", tuple(self.objectives))
        for name in self.objectives:
            if name not in OBJECTIVES:
                raise unknown_name("metric to compare gangs by", name, OBJECTIVES)
        if self.jobs not in CLASSES:
            raise unknown_name("class of jobs", self.jobs, CLASSES)

    def fingerprint(self) -> str:
        """Return a short hash of everything that defines the problem."""
        said = (self.objectives, sorted(self.settings.items()), self.jobs, self.warmup)
        return hashlib.sha256(repr(said).encode()).hexdigest()[:12]

    def schedule(self, preset: Preset, seed: int) -> GangSchedule:
        """Return a preset's schedule of the jobs that the seed draws.

        Parameters
        ----------
        preset
            The scheduler and its system.
        seed
            The seed of the jobs, their arrivals and the processors' clock rates.
        """
        return preset.run(seed)


@dataclass(frozen=True, slots=True)
class FixedGangInstance(GangInstance):
    """Given jobs and sites: presets give only their scheduling rules, and only these draw by the seed.

    `regime` has the fields of `GangSystem` that schedulers do not choose; `source` identifies the data.
    """

    workload: Workload = field(kw_only=True)
    regime: Mapping[str, Any] = field(kw_only=True)
    source: str = field(kw_only=True)
    drawn: ClassVar[bool] = False

    def schedule(self, preset: Preset, seed: int) -> GangSchedule:
        """Return the schedule of the jobs by a preset's rules; raise if a job is left undone."""
        rules = getattr(preset, "system", None)
        if rules is None:
            raise TypeError(f"{type(preset).__name__} has no `system`, so it cannot run on {self.name}.")
        clocks = {"clocks": None, **self.regime}  # without clocks in the regime, all run at the reference clock
        done = simulate(self.workload, replace(rules(seed), **clocks), seed=seed)
        if not done.completed.all():
            raise InfeasibleError(f"{int((~done.completed).sum())} jobs are left undone on {self.name}.")
        return done

    def fingerprint(self) -> str:
        """Return a short hash of everything that defines the problem."""
        return hashlib.sha256(repr((self.objectives, self.source)).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class GangEntrant:
    """A preset of `fedsched.gang.presets`, or a similar one, as an entrant.

    Parameters
    ----------
    name
        The name in tables.
    preset
        The scheduler and its system.

    Examples
    --------
    >>> from fedsched.compare import GangEntrant
    >>> GangEntrant.named("dimitriadou-karatza-1").name
    'dimitriadou-karatza-1'
    """

    name: str
    preset: Preset
    runs_on: ClassVar[type] = GangInstance

    @classmethod
    def named(cls, name: str) -> GangEntrant:
        """Return the published scenario of this name."""
        return cls(name, NAMED[name])

    def run(self, instance: GangInstance, seed: int, budget: Budget) -> Outcome:
        """Return the metrics of one run; the budget is not used.

        Parameters
        ----------
        instance, seed, budget
            The problem, the seed of its jobs, and the budget.
        """
        if not isinstance(instance, GangInstance):
            raise TypeError(f"{self.name} is a gang scheduler: it runs on a GangInstance, not on {instance.name!r}.")
        preset = self._with(instance.settings)
        began = time.perf_counter()
        schedule = instance.schedule(preset, seed)
        metrics = schedule.metrics(instance.jobs, warmup=instance.warmup)
        return Outcome.of_one(metrics, instance.objectives, seconds=time.perf_counter() - began)

    def _with(self, settings: Mapping[str, object]) -> Preset:
        if not settings:
            return self.preset
        if not is_dataclass(self.preset) or isinstance(self.preset, type):
            raise TypeError(f"{self.name}: settings need a preset that is a dataclass.")
        known = [one.name for one in fields(self.preset)]
        for name in settings:
            if name not in known:
                raise unknown_name(f"setting of {self.name}", name, known)
        return replace(self.preset, **settings)
