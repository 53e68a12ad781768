"""A replay: the jobs of a dump simulated anew, beside their recorded starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fedsched.simulate import simulate
from fedsched.site.twin.replay_facts import checked_facts, default_facts
from fedsched.site.twin.replay_problem import SLURM, enforces_limits, is_slurm, replay_problem_of
from fedsched.site.twin.site import Site, read_site

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule
    from fedsched.policies import Policy
    from fedsched.site.twin.folder import Dump
    from fedsched.site.twin.replay_problem import ReplayProblem
    from fedsched.slurm import Slurm


@dataclass(frozen=True)
class Replayed:
    """A simulated schedule of a dump's jobs beside the recorded one; times are seconds of the workload's clock.

    Examples
    --------
    >>> from fedsched.site import twin
    >>> replayed = twin.replay(twin.made_dump("dump", jobs=40, nodes=8, seed=1), "easy")
    >>> len(replayed.later) == len(replayed.equal)
    True
    """

    site: Site
    problem: ReplayProblem
    schedule: Schedule
    given: tuple[str, ...]

    @cached_property
    def later(self) -> NDArray[np.float64]:
        """Return by how many seconds each compared job starts later than recorded; infinite if it does not start."""
        here = self.schedule.start[self.problem.compared]
        return np.where(np.isnan(here), np.inf, here - self.problem.start[self.problem.compared])

    @cached_property
    def equal(self) -> NDArray[np.bool_]:
        """Return, for each compared job, whether it starts as recorded, within one interval of backfill passes."""
        return np.abs(self.later) <= self.site.interval

    @property
    def share(self) -> float:
        """Return the share of the compared starts that are equal to the recorded ones; 1 if none is compared."""
        return float(self.equal.mean()) if self.equal.size else 1.0

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what was left out, assumed or taken as given, one line each."""
        taken = f"taken as given: {', '.join(self.given)}" if self.given else "nothing is taken as given"
        return (*self.site.notes, *self.problem.notes, *self.schedule.notes, taken)


def replay(
    dump: str | PathLike[str] | Dump | Site,
    policy: str | Policy | Slurm = SLURM,
    *,
    given: Collection[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Replayed:
    """Simulate the jobs of a dump anew, from those that ran and waited as it begins, and return both schedules.

    Parameters
    ----------
    dump
        The folder, or what was read from it.
    policy
        "slurm" is Slurm's own scheduler with the dump's own configuration; or any other policy of `simulate`.
    given
        The recorded facts to take as given, of `fedsched.site.twin.REPLAY_FACTS`. None: all that matter, except the
        starts of jobs that were submitted before the dump begins, and effects of limits that the policy enforces.
    progress
        As in `fedsched.simulate`.

    Examples
    --------
    >>> from fedsched.site import twin
    >>> folder = twin.made_dump("dump", jobs=40, nodes=8, seed=1)
    >>> replayed = twin.replay(folder)
    >>> round(replayed.share, 2)
    1.0
    """
    site = dump if isinstance(dump, Site) else read_site(dump)
    if given is None:
        taken = default_facts(site, clocks=is_slurm(policy), limits=not enforces_limits(site, policy))
    else:
        taken = checked_facts(given)
    problem = replay_problem_of(site, policy, given=taken)
    schedule = simulate(problem.workload, problem.federation, problem.policy, progress=progress)
    return Replayed(site, problem, schedule, taken)
