"""Scenario: what is simulated, as one noun."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fedsched.core.values import seed_of
from fedsched.engine.compatibility import refused
from fedsched.model.reading import USUAL, Reading
from fedsched.study.scenario.convenience import ScenarioConvenience
from fedsched.study.scenario.policy_choice import PolicyChoice
from fedsched.study.scenario.scenario_parts import Log, Machine, Made

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from fedsched.compare import Instance
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario(ScenarioConvenience):
    """What is simulated: which jobs, on which machine, under which policy and reading.

    Parameters
    ----------
    jobs
        A `Log` and how it is read, or jobs `Made` by a model.
    machine
        What they run on.
    policy
        By which rules.
    reading
        How the model's open choices are made.
    seed
        What is drawn follows from it: made jobs, samples, a rolling policy's plans.
    name
        What it is called.
    """

    jobs: Log | Made
    machine: Machine = field(default_factory=Machine)
    policy: PolicyChoice = field(default_factory=PolicyChoice)
    reading: Reading = USUAL
    seed: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        for part, kinds in (
            ("jobs", (Log, Made)),
            ("machine", Machine),
            ("policy", PolicyChoice),
            ("reading", Reading),
        ):
            if not isinstance(getattr(self, part), kinds):
                wanted = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
                raise TypeError(f"Scenario: {part}={getattr(self, part)!r} must be a {wanted}.")
        object.__setattr__(self, "seed", seed_of("Scenario", self.seed))

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the files that it reads."""
        return (*self.jobs.sources, *self.machine.sources, *self.policy.sources)

    def workload(self) -> Workload:
        """Return the jobs, read or made."""
        return self.jobs.workload(self.seed)

    def cluster(self, workload: Workload) -> Federation:
        """Return the federation that these jobs of it run on."""
        machine = self.machine
        if self.policy.conf is not None and machine.federation is None and machine.nodes is None:
            machine = replace(machine, federation=self.policy.conf)
        return machine.cluster(workload)

    def simulate(
        self,
        *,
        submits: str = "keep",
        progress: Callable[[int, int], None] | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Schedule:
        """Return the schedule that comes of it.

        Parameters
        ----------
        submits, progress
            As in `fedsched.simulate`.
        checkpoint
            A rolling policy's, as in `fedsched.Rolling`.
        """
        from fedsched.simulate import simulate

        policy = self.policy.policy(seed=self.seed, checkpoint=checkpoint)
        workload = self.workload()
        return simulate(
            workload,
            self.cluster(workload),
            policy,
            sharing=self.policy.shared,
            submits=submits,
            reading=self.reading,
            progress=progress,
        )

    def instance(self, objectives: tuple[str, ...] = ("makespan",), *, submits: str = "keep") -> Instance:
        """Return jobs, machine and reading as a problem to compare methods on; they bring their own policies.

        Parameters
        ----------
        objectives, submits
            As in `fedsched.Instance`.
        """
        from fedsched.compare import Instance

        if self.policy.sharing is not None:
            raise refused("comparisons of scenarios", "shared nodes")
        workload = self.workload()
        name = self.name or workload.name
        return Instance(name, workload, self.cluster(workload), objectives, submits=submits, reading=self.reading)
