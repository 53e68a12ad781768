"""Gang schedulers in a comparison: published settings, each run drawn anew from its seed for all alike."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from fedsched.comparison.entrants import Outcome
from fedsched.errors import unknown_name
from fedsched.gang.presets import NAMED, Preset
from fedsched.gang.schedule import CLASSES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.comparison.instances import Budget

# What less of is better; and utilisation, which comparisons maximise.
OBJECTIVES = (
    "mean_response", "mean_wait", "weighted_response", "mean_slowdown", "weighted_slowdown", "loss_of_capacity",
    "loss_by_site", "wasted", "utilisation",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GangInstance:
    """What gang schedulers are compared on: metrics of a class of jobs, and settings that all presets take.

    A seed draws jobs, arrivals and clocks; presets of one experiment that differ in the scheduler alone draw the same.
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
        """Return a short name of everything that makes the problem."""
        said = (self.objectives, sorted(self.settings.items()), self.jobs, self.warmup)
        return hashlib.sha256(repr(said).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class GangEntrant:
    """A preset of `fedsched.gang.presets`, or one like it."""

    name: str
    preset: Preset
    runs_on: ClassVar[type] = GangInstance

    @classmethod
    def named(cls, name: str) -> GangEntrant:
        """Return the published scenario of this name."""
        return cls(name, NAMED[name])

    def run(self, instance: GangInstance, seed: int, budget: Budget) -> Outcome:
        """Return the metrics of one run; a simulation needs no budget."""
        if not isinstance(instance, GangInstance):
            raise TypeError(f"{self.name} is a gang scheduler: it runs on a GangInstance, not on {instance.name!r}.")
        preset = self._with(instance.settings)
        began = time.perf_counter()
        schedule = preset.run(seed)
        metrics = schedule.metrics(instance.jobs, warmup=instance.warmup)
        return Outcome.of_one(metrics, instance.objectives, seconds=time.perf_counter() - began)

    def _with(self, settings: Mapping[str, object]) -> Preset:
        if not settings:
            return self.preset
        if not is_dataclass(self.preset) or isinstance(self.preset, type):
            raise TypeError(f"{self.name}: only a preset that is a dataclass takes settings.")
        known = [one.name for one in fields(self.preset)]
        for name in settings:
            if name not in known:
                raise unknown_name(f"setting of {self.name}", name, known)
        return replace(self.preset, **settings)
