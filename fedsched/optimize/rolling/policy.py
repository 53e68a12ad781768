"""Rolling: the search as an online policy, for `simulate(workload, cluster, policy=Rolling(...))`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.io.checkpoint_file import check_checkpoint
from fedsched.model.schedule.metrics import QUANTILES
from fedsched.policies import PLACEMENTS, Rules
from fedsched.search.methods.methods import METHODS, method_named
from fedsched.search.problem.objectives import Objectives

if TYPE_CHECKING:
    from fedsched.core.names import MethodName, ObjectiveName, PlacementName
    from fedsched.engine.run.simulation import Simulation
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.optimize.rolling.planner import RollingPlanner

CHANGE = "change"
OF_SEVERAL = frozenset({"mpso-fga"})  # methods for several objectives; a plan here has one


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolling:
    """A policy that searches for the best plan of the waiting jobs whenever it plans anew, and then follows it.

    Parameters
    ----------
    method
        A name of `fedsched.search.METHODS`; "auto" is "memetic". "mpso-fga", which needs two objectives, is refused.
    window
        The number of waiting jobs that are planned, those that have waited longest; the others stand behind them, first
        come first served.
    evaluations
        The number of plans that each search may simulate.
    every
        "change": plan whenever the queue or the running jobs have changed and a job could start. A number: at most once
        in this many seconds of simulated time.
    objective
        The metric column to minimise over the waiting and running jobs, with waits counted from their true submits.
    placement
        Plans use this placement rule; by default any.
    seed
        The seed of all random numbers.
    checkpoint
        A file where the run saves itself every ten seconds, and from which it continues when called again.

    Notes
    -----
    Plans see only the users' estimates, of waiting and running jobs alike (with `simulate(..., knowledge="runtime")`:
    true run times).

    Examples
    --------
    >>> policy = fs.Rolling(evaluations=50, window=10)
    >>> fs.simulate(fs.read("sample").head(30), 128, policy).complete
    True
    """

    method: MethodName | str = "memetic"
    window: int = 100
    evaluations: int = 2000
    every: str | float = CHANGE
    objective: ObjectiveName = "bounded_slowdown"
    placement: PlacementName | None = None
    seed: int = 0
    checkpoint: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        for field in ("window", "evaluations", "seed"):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, Integral):
                raise TypeError(f"Rolling: {field}={value!r} must be a whole number.")
            object.__setattr__(self, field, int(value))
        for field, unit in (("window", "waiting job"), ("evaluations", "simulated plan")):
            if getattr(self, field) < 1:
                raise ValueError(f"Rolling: {field}={getattr(self, field)} must be at least 1 {unit}.")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"Rolling: seed={self.seed} must lie between 0 and 2**63 − 1.")
        if isinstance(self.every, str):
            if self.every != CHANGE:
                raise ValueError(f"Rolling: every={self.every!r} must be 'change' or a number of seconds.")
        elif isinstance(self.every, bool) or not isinstance(self.every, Real):
            raise TypeError(f"Rolling: every={self.every!r} must be 'change' or a number of seconds.")
        elif not 0.0 < self.every < math.inf:
            raise ValueError(f"Rolling: every={self.every} must be finite and above 0 seconds, or 'change'.")
        for field, kind in (("objective", "one metric column"), ("method", "a search method")):
            if not isinstance(getattr(self, field), str):
                raise TypeError(f"Rolling: {field}={getattr(self, field)!r} must be the name of {kind}.")
        if not isinstance(self.every, str):
            object.__setattr__(self, "every", float(self.every))
        if Objectives.of(self.objective).uncompiled:
            why = "is a quantile, which rolling plans do not minimise"
            if self.objective not in QUANTILES:
                why = "needs signals, which plans do not see"
            raise ValueError(f"Rolling: objective={self.objective!r} {why}.")
        if method_named(self.method).name in OF_SEVERAL:
            usable = ", ".join(name for name in METHODS if name not in OF_SEVERAL)
            raise ValueError(
                f"Rolling: method={self.method!r} needs two objectives, a rolling plan has one; use one of {usable}."
            )
        if self.placement is not None and self.placement not in PLACEMENTS:
            raise unknown_name("placement rule", self.placement, PLACEMENTS)
        if self.checkpoint is not None:
            if not isinstance(self.checkpoint, str | PathLike):
                raise TypeError(f"Rolling: checkpoint={self.checkpoint!r} must be the path of a file.")
            check_checkpoint(self.checkpoint, "Rolling: checkpoint")

    @property
    def seconds(self) -> float:
        """Return the least simulated seconds between two plans; 0 with every="change"."""
        return 0.0 if isinstance(self.every, str) else float(self.every)

    @property
    def releases(self) -> tuple[str, ...]:
        """Return the name and version of the package that offers the method; nothing for fedsched's own."""
        return tuple(filter(None, (method_named(self.method).release,)))

    def rules(self, workload: Workload, federation: Federation) -> Rules:
        """Return the rules that apply until the first plan: EASY, first come first served.

        Parameters
        ----------
        workload, federation
            The jobs and the machine; not used.
        """
        order = "fcfs" if workload.feedback is None else np.lexsort((workload.id, workload.submit))  # a plan's order
        return Rules(order=order, dispatch="easy", placement=self.placement or "fastest", name=str(self))

    def planner(self, run: Simulation) -> RollingPlanner:
        """Return the planner of a run that has not begun; if its checkpoint file exists, set the run to that state."""
        from fedsched.optimize.rolling.planner import RollingPlanner

        return RollingPlanner(self, run)

    def __str__(self) -> str:
        often = "at each change" if isinstance(self.every, str) else f"every {self.every:g} s"
        name = method_named(self.method).name
        return f"rolling {name} ({self.objective}, {self.window} jobs, {self.evaluations} evaluations, {often})"
