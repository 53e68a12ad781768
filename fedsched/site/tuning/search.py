"""Searches parameters of Slurm (genes): tries confs by simulation, breeds new ones by NSGA-II, drops needless changes.

A "conf" is the site's slurm.conf with some parameters changed. Each conf is simulated once per phase (shift) of Slurm's
clocks, and its objectives are kept.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fedsched.search.run.archive import least_crowded
from fedsched.simulate import simulate
from fedsched.site.tuning.confs import changed, value_in
from fedsched.site.tuning.genes import with_limits
from fedsched.slurm.loop.pack import epoch_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fedsched.core.names import SharingName
    from fedsched.engine.arrays.structs import Floats
    from fedsched.engine.sharing import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.site.tuning.genes import Gene
    from fedsched.slurm import Slurm

Changes: TypeAlias = "tuple[tuple[str, str], ...]"  # (gene, value) of each change to the site's conf


@dataclass(slots=True)
class Budget:
    """The budget of a search: at most `most` simulations, begun before `until` on the monotonic clock.

    `made` counts the simulations so far.
    """

    most: int | None
    until: float
    made: int = 0

    def is_spent(self) -> bool:
        """Return whether no further simulation may begin."""
        return (self.most is not None and self.made >= self.most) or time.monotonic() >= self.until


@dataclass(slots=True)
class Trials:
    """Simulates confs on given jobs and a machine, and keeps the objectives of each in `known`.

    A conf is named by its changes to the site's conf.
    """

    policy: Slurm
    workload: Workload
    federation: Federation
    reading: Reading
    objectives: tuple[str, ...]
    phases: tuple[int, ...]
    budget: Budget
    sharing: NodeSharing | SharingName | None = None
    known: dict[Changes, Floats] = field(default_factory=dict)

    def values(self, changes: Changes) -> Floats:
        """Return the objectives of a conf, as an array of phases × objectives; simulate it if it is not known yet."""
        if changes not in self.known:
            self.known[changes] = np.array([self._run(changes, phase) for phase in self.phases])
        return self.known[changes]

    def mean(self, changes: Changes) -> Floats:
        """Return the mean over the phases of each objective of a conf."""
        return np.asarray(self.values(changes).mean(axis=0))

    def spread(self, changes: Changes) -> Floats:
        """Return the greatest minus the least value over the phases of each objective of a conf."""
        return np.asarray(np.ptp(self.values(changes), axis=0))

    def _run(self, changes: Changes, phase: int) -> list[float]:
        # A phase delays the first backfill pass, and moves the epoch's seconds, to which passes round their times.
        self.budget.made += 1
        base = self.policy
        accounts = None if base.assoc is None else with_limits(base.assoc, dict(changes))
        policy = replace(
            base.on_another(changed(base.conf, dict(changes))),
            assoc=accounts, phase=base.phase + phase, epoch=epoch_of(self.workload, base) + phase,
        )  # fmt: skip
        schedule = simulate(self.workload, self.federation, policy, sharing=self.sharing, reading=self.reading)
        row = schedule.metrics()
        return [float(getattr(row, name)) for name in self.objectives]

    def on(self, workload: Workload) -> Trials:
        """Return trials on other jobs, with the same budget and nothing known yet."""
        return replace(self, workload=workload, known={})


BREED = 24  # confs per generation
SHOWN = 6  # confs of a front, at most
NEAR = 0.04  # a gene moved by less than this keeps the site's value
LITTLE = 1e-3  # relative improvement of some objective below which a change is dropped
PATIENCE = 5  # generations without a new conf


def search(
    trials: Trials, genes: Sequence[Gene], seed: int, look: Callable[[int], None] | None = None
) -> None:
    """Try confs until the budget is spent or no new ones appear in `PATIENCE` generations; nothing is returned.

    `trials.known` gets their objectives. The first generation is the conf as it is, confs with one gene at its least or
    greatest value, and random confs. `look` is called after each conf with the number of simulations made.
    """
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem
    from pymoo.core.termination import NoTermination

    policy, budget = trials.policy, trials.budget
    stands = [value_in(policy.conf, gene.name, policy.assoc) for gene in genes]
    here = np.array([gene.place(text) for gene, text in zip(genes, stands, strict=True)])
    rng = np.random.default_rng(seed)

    def changes_at(places: Floats) -> Changes:
        moved = np.flatnonzero(np.abs(places - here) >= NEAR)
        said = [(genes[k].name, genes[k].said(places[k]), stands[k]) for k in moved.tolist()]
        return tuple((name, new) for name, new, was in said if new.lower() != was.lower())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pymoo warns about its compiled parts
        problem = Problem(n_var=len(genes), n_obj=len(trials.objectives), xl=0.0, xu=1.0)
        method = NSGA2(pop_size=BREED, sampling=_first(here, rng), eliminate_duplicates=True)
        method.setup(problem, termination=NoTermination(), seed=seed, verbose=False)
    idle = 0
    while idle < PATIENCE and not budget.is_spent():
        bred = method.ask()
        places = bred.get("X")
        before = budget.made
        values = np.empty((len(bred), len(trials.objectives)))
        for k, one in enumerate(places):
            changes = changes_at(one)
            if budget.is_spent() and trials.known and changes not in trials.known:
                return  # a generation that is evaluated in part breeds no next one
            values[k] = trials.mean(changes)
            if look is not None:
                look(budget.made)
        bred.set("F", values)
        method.tell(infills=bred)
        idle = idle + 1 if budget.made == before else 0


def undominated(trials: Trials) -> list[Changes]:
    """Return the non-dominated confs among those tried, sorted by objectives; at most `SHOWN`, the least crowded ones.

    Of confs with equal objectives, the one with the fewest changes is kept.
    """
    tried = sorted(trials.known, key=lambda changes: (len(changes), changes))
    values = np.array([trials.mean(changes) for changes in tried])
    kept: list[int] = []
    for k in range(len(tried)):
        others = (values <= values[k]).all(axis=1) & (values < values[k]).any(axis=1)
        again = (values[:k] == values[k]).all(axis=1)
        if not others.any() and not again.any():
            kept.append(k)
    kept = [kept[i] for i in least_crowded(values[kept], SHOWN)]
    return [tried[k] for k in sorted(kept, key=lambda k: values[k].tolist())]


def pruned(trials: Trials, changes: Changes) -> Changes:
    """Return a conf's changes without those that improve the objectives by next to nothing.

    Each change is left out in turn, and stays out if no objective gets worse by more than `LITTLE`.
    """
    most = trials.mean(changes) * (1.0 + LITTLE)
    for one in changes:
        fewer = tuple(other for other in changes if other != one)
        if fewer not in trials.known and trials.budget.is_spent():
            break
        if (trials.mean(fewer) <= most).all():
            changes = fewer
    return changes


def balanced(trials: Trials) -> list[Changes]:
    """Return the front of the confs tried, each without needless changes; the site's own conf is left out."""
    small = [pruned(trials, changes) for changes in undominated(trials) if changes]
    return [changes for changes in dict.fromkeys(small) if changes and not _is_beaten(trials, changes, small)]


def _is_beaten(trials: Trials, changes: Changes, others: Sequence[Changes]) -> bool:
    mine = trials.mean(changes)
    found = (trials.mean(other) for other in others if other != changes)
    return any((one <= mine).all() and (one < mine).any() for one in found)


def _first(here: Floats, rng: np.random.Generator) -> Floats:
    each = [here]
    for k in rng.permutation(here.size):
        for end in (0.0, 1.0):
            moved = here.copy()
            moved[k] = end
            each.append(moved)
    each = each[: 1 + (BREED - 1) // 2]
    while len(each) < BREED:
        strange = rng.random(here.size)
        kept = rng.random(here.size) < 0.5
        each.append(np.where(kept, here, strange))
    return np.array(each)
