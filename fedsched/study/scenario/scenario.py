"""Scenario: everything that a simulation needs (jobs, machine, policy, reading), in one object."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fedsched.core.values import seed_of
from fedsched.model.reading import USUAL, Reading
from fedsched.study.scenario.convenience import ScenarioConvenience
from fedsched.study.scenario.policy_choice import PolicyChoice
from fedsched.study.scenario.scenario_parts import Log, Machine, Made

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from fedsched.compare import Instance
    from fedsched.core.names import Submits
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario(ScenarioConvenience):
    """Everything that a simulation needs: jobs, a machine, a policy and a reading of the model.

    Parameters
    ----------
    jobs
        A `Log` and how it is read, or jobs `Made` by a model.
    machine
        The machine that they run on.
    policy
        The scheduling policy.
    reading
        The model's open choices.
    seed
        The seed of all random draws: made jobs, samples, a rolling policy's plans.
    name
        The scenario's name.

    Examples
    --------
    >>> from fedsched.study import Log, Machine
    >>> scenario = fs.Scenario(jobs=Log(file="sample", head=50), machine=Machine(federation="example"))
    >>> round(scenario.simulate().metrics().mean_wait)
    9935
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
        """Return the paths of all files that the scenario reads: of its jobs, its machine and its policy."""
        return (*self.jobs.sources, *self.machine.sources, *self.policy.sources)

    def workload(self) -> Workload:
        """Return the jobs, read from the log or generated with the scenario's seed."""
        return self.jobs.workload(self.seed)

    def cluster(self, workload: Workload) -> Federation:
        """Return the federation that these jobs run on; by default that of the policy's slurm.conf, else of the log."""
        machine = self.machine
        if self.policy.conf is not None and machine.federation is None and machine.nodes is None:
            machine = replace(machine, federation=self.policy.conf)
        return machine.cluster(workload)

    def simulate(
        self,
        *,
        submits: Submits = "keep",
        progress: Callable[[int, int], None] | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Schedule:
        """Return the schedule of the scenario's jobs under its policy.

        Parameters
        ----------
        submits, progress
            As in `fedsched.simulate`.
        checkpoint
            The checkpoint file of a rolling policy, as in `fedsched.Rolling`.

        Examples
        --------
        >>> from fedsched.study import Made
        >>> scenario = fs.Scenario(jobs=Made(model="poisson", jobs=40, nodes=64, load=0.7))
        >>> scenario.simulate().complete
        True
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

    def instance(self, objectives: tuple[str, ...] = ("makespan",), *, submits: Submits = "keep") -> Instance:
        """Return jobs, machine and reading as an instance to compare methods on; the scenario's policy is not used.

        Parameters
        ----------
        objectives, submits
            As in `fedsched.Instance`.
        """
        from fedsched.compare import Instance

        workload = self.workload()
        name, machine, sharing = self.name or workload.name, self.cluster(workload), self.policy.shared
        return Instance(name, workload, machine, objectives, submits=submits, reading=self.reading, sharing=sharing)
