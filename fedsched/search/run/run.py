"""One search under way: its budget, archive and history, and the loop that steps a method until a rule stops it.

All methods evaluate plans through a run.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.moved import Renamed
from fedsched.engine.run.batch import plans_in_a_slice
from fedsched.search.run.archive import Archive, least_crowded
from fedsched.search.run.clock import Clock
from fedsched.search.run.interruptible_evaluation import LONG, LOOK
from fedsched.search.run.stopping import MaxEvaluations, MaxSeconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Plain, Saved
    from fedsched.search.methods.methods import Method
    from fedsched.search.problem.packed import PackedProblem
    from fedsched.search.run.stopping import StoppingRule

FINER = 4  # slices of plans are this many times shorter with a budget in seconds than without one
FIRST_SHARE = 0.25  # share of the time left for evaluating first plans, as making them takes as long
PACE = 0.5  # weight of the last batch in the mean time for each plan
FEW_POINTS = {6: 200, 7: 60, 8: 30}  # objectives → points with a hypervolume in hundredths of a second; beyond 8:
FEWEST_POINTS = 16


class BudgetSpent(Exception):
    """The exception that ends a search if its budget ends within a batch.

    The plans evaluated so far are in the archive.
    """


class CutShort(Exception):
    """The exception of a method that cannot go on; its text says why.

    The plans found so far are in the archive.
    """


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of a run's history.

    Parameters
    ----------
    evaluations, seconds
        What was spent until then.
    best
        The best value of each objective.
    hypervolume
        The share of the box between bounds and reference that the archive dominates.

    Examples
    --------
    >>> result = fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1)
    >>> result.history[-1].evaluations <= 500
    True
    """

    evaluations: int
    seconds: float
    best: tuple[float, ...]  # of each objective
    hypervolume: float


@dataclass(slots=True)
class Run:
    """One search under way: its problem, budget, archive and history.

    A method asks it for first plans (`first_rows`), evaluates rows by `evaluate`, reports own evaluations by
    `account`, and may read the archive. A checkpoint has all of it except the problem, the rules and the callback.

    Parameters
    ----------
    problem
        What is planned: in `optimize` a `SearchProblem`; in `Rolling` the queue at one instant. Both have `workload`
        (row j is job j of plans; in `Rolling` its run times are estimates), `federation`, `objectives`, `layout`,
        `values`, `repaired`, `holds`, `row`, `random_rows`, `rows_of_keys` and `keys_of_rows`.
    seed
        The seed of `generator`.
    stop
        The stopping rules.
    reference
        The objective values of FCFS, by which `scalar` divides.
    seeds
        First plans as rows: the user's, those of baselines, and those made from queue orders and placements.
    bounds
        A lower bound on each objective, minimised; NaN if none is known.
    callback
        What `remember` calls after each step.
    cut_at
        The seconds at which a step is ended even within its evaluations.
    archive
        The best plans so far.
    evaluations, steps, history
        What was spent so far, the whole steps, and a `Moment` for each improvement.
    improved_at
        The evaluations at the last improvement of the archive.
    in_step
        Whether the method is within a step, or the end of the budget has cut off its last one.
    plan_takes
        The recent seconds for each plan; 0: not known.
    too_few
        Whether time was too short to make all first plans: the method cannot go on.

    Examples
    --------
    >>> bests = []
    >>> def look(run):
    ...     bests.append(float(run.archive.best()[0]))
    >>> result = fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1, callback=look)
    >>> bests == sorted(bests, reverse=True)
    True
    """

    problem: PackedProblem
    seed: int
    stop: Sequence[StoppingRule]
    reference: Floats  # values of FCFS on `fastest`; weighted sums are relative to them
    seeds: Ints  # first plans: the user's, the baselines', and those made from queue orders and placements
    bounds: Floats
    callback: Callable[[Run], None] | None = None
    cut_at: float = math.inf  # seconds at which a step is ended even within its evaluations
    archive: Archive = field(init=False)
    evaluations: int = 0
    improved_at: int = 0
    steps: int = 0
    history: list[Moment] = field(default_factory=list)
    _clock: Clock = field(default_factory=lambda: Clock(None))
    _seconds_before: float = 0.0
    plan_takes: float = 0.0  # recent seconds for each plan; 0: not known
    too_few: bool = False  # whether time was too short to make all first plans of a method: it cannot go on
    _slice: float = 0.0  # seconds of the last slice of plans, if slices cannot be interrupted; else 0
    _slowest: float = 0.0  # most seconds of a plan
    in_step: bool = False  # whether the method is within a step, or its last one was cut off by the end of the budget
    _volume: tuple[int, float] = (-1, 0.0)  # the archive's changes at the last computation, and the hypervolume

    def __post_init__(self) -> None:
        self.archive = Archive(len(self.problem.objectives.names))

    def begin_clock(self, clock: Clock | None = None) -> None:
        """Count the run's seconds from now, or by a clock that has begun before and excludes compiling."""
        self._clock = Clock(None) if clock is None else clock

    # ---- budget -------------------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """Return the seconds searched so far, including those before a checkpoint, without compiling."""
        return self._seconds_before + self._clock.elapsed

    @property
    def left(self) -> int:
        """Return how many evaluations the budget still allows; the greatest integer if it does not limit them."""
        limits = [rule.evaluations for rule in self.stop if isinstance(rule, MaxEvaluations)]
        return max(0, min(limits, default=np.iinfo(np.int64).max) - self.evaluations)

    @property
    def total(self) -> int | None:
        """Return the budget in evaluations, or None if there is none."""
        limits = [rule.evaluations for rule in self.stop if isinstance(rule, MaxEvaluations)]
        return min(limits, default=None)

    @property
    def prospect(self) -> int | None:
        """Return the expected number of evaluations in all, by the budget or the recent pace; None if not known."""
        if self.total is not None or self.cut_at == math.inf or not self.plan_takes:
            return self.total
        return self.evaluations + int(max(self.cut_at - self.seconds, 0.0) / self.plan_takes)

    @property
    def seconds_given(self) -> float | None:
        """Return the budget in seconds, or None if there is none."""
        return min((rule.seconds for rule in self.stop if isinstance(rule, MaxSeconds)), default=None)

    def reason_to_stop(self) -> str | None:
        """Return the reason of the first stopping rule that has one, or None."""
        return next((reason for rule in self.stop if (reason := rule(self)) is not None), None)

    # ---- evaluation ---------------------------------------------------------------------------------------------

    def evaluate(self, rows: Ints) -> Floats:
        """Simulate the rows, count them, offer them to the archive, and return their objective values.

        Raise BudgetSpent if the budget ends before or within them; at least one plan is evaluated if the
        archive is empty.
        """
        if self.out_of_time and len(self.archive):  # an empty archive gets a plan in any case
            raise BudgetSpent
        allowed = min(len(rows), self.left)
        ended: Sequence[Ints] | Ints = rows[:allowed]
        if self.cut_at == math.inf:
            values = self.problem.values(rows[:allowed])
        else:
            values, ended = self._in_time(rows[:allowed])
        self.account(len(values), values, ended)
        if len(values) < len(rows) or self.too_few:
            raise BudgetSpent
        return values

    def _in_time(self, rows: Ints) -> tuple[Floats, Sequence[Ints] | Ints]:
        """Return the values of the rows for which there was time, and these rows.

        If the archive is empty, there is at least one.
        """
        jobs, threads = self.problem.layout.jobs, self.problem.threads
        step = threads * max(1, plans_in_a_slice(jobs) // FINER)
        parts, ended = [np.zeros((0, len(self.problem.objectives.names)))], [np.zeros(0, dtype=np.int64)]
        first = 0
        while first < len(rows) and not (first and self.out_of_time):
            begun = self.seconds
            whole = not (first or len(self.archive))
            part = rows[first : first + (1 if whole else step)]
            if whole or jobs >= LONG:
                values, which = self.problem.values_unless(part, lambda: not whole and self.out_of_time)  # noqa: B023
            else:
                values, which = self.problem.values(part), np.arange(len(part))
            parts.append(values)
            ended.append(first + which)
            self._paced(len(part), self.seconds - begun, threads)
            first += len(part)
        return np.concatenate(parts), _chosen(rows, np.concatenate(ended))

    def _paced(self, plans: int, seconds: float, threads: int = 1) -> None:
        """Update the mean and greatest seconds for each plan by a batch of `plans` that took `seconds`."""
        each = seconds / plans
        self.plan_takes = PACE * each + (1.0 - PACE) * self.plan_takes if self.plan_takes else each
        self._slowest = max(self._slowest, seconds / math.ceil(plans / threads))
        self._slice = seconds if self.problem.layout.jobs < LONG else 0.0

    def plans_in_time(self, plans: int, *, share: float = 0.5) -> int:
        """Return for how many of these plans there is time at the recent pace; raise BudgetSpent if for none.

        Evaluating them may take only a share of the time left, as making them takes time too. Without a budget
        in seconds or a known pace it is all of them. While the archive is empty it is at least 1.
        """
        if self.cut_at == math.inf or not self.plan_takes:
            return plans
        room = int(share * (self.cut_at - self.seconds) / self.plan_takes)
        if room < 1 and len(self.archive):  # an empty archive gets a plan in any case
            raise BudgetSpent
        return max(1, min(plans, room))

    def first_plans_in_time(self, random: int) -> int:
        """Return for how many first plans, the seeds and `random` random ones together, there is time.

        They may take a quarter of the time left, as making a plan may take long.
        """
        return self.plans_in_time(len(self.seeds) + random, share=FIRST_SHARE)

    def trials(self, most: int, *, plans: int = 1) -> int:
        """Return how many trials, at most `most`, a walker makes until it looks at the clock again.

        It is 0 if there is no time for one. The first trial may take as long as `plans` plans.
        """
        slice_of = plans_in_a_slice(self.problem.layout.jobs)
        if self.cut_at == math.inf:
            return min(most, slice_of)
        if self.beyond(self.cut_at - plans * self._slowest):  # a trial cannot be interrupted
            return 0
        return min(most, slice_of, max(1, int(LOOK / self.plan_takes)) if self.plan_takes else slice_of)

    room, first_room, tried = Renamed("plans_in_time"), Renamed("first_plans_in_time"), Renamed("note_trials")

    def note_trials(self, trials: int, began: float) -> None:
        """Update the pace by a number of trials that began at second `began` of the search and end now."""
        self._paced(trials, self.seconds - began)

    @property
    def out_of_time(self) -> bool:
        """Return whether a step must end now: another slice of plans would exceed the time."""
        return self.beyond(self.cut_at)

    def beyond(self, seconds: float) -> bool:
        """Return whether this number of seconds is used, or would be with another slice of plans."""
        return self.seconds + self._slice >= seconds

    def account(self, evaluations: int, values: Floats, rows: Sequence[Ints] | Ints) -> None:
        """Count evaluations that a method has made itself, and offer the plans to the archive.

        Parameters
        ----------
        evaluations
            The number of evaluations.
        values, rows
            The values of the plans, and the plans.
        """
        self.evaluations += evaluations
        if self.archive.add(values, rows):
            self.improved_at = self.evaluations

    def scalar(self, values: Floats) -> Floats:
        """Return each plan's weighted sum of the objectives, each relative to the reference; weights add up to 1."""
        weights = np.array(self.problem.objectives.weights)
        return (values / np.abs(self.reference)) @ (weights / weights.sum())

    # ---- first plans --------------------------------------------------------------------------------------------

    def generator(self, purpose: int = 0) -> np.random.Generator:
        """Return a new random generator by this run's seed; each number `purpose` has its own stream."""
        return np.random.default_rng([self.seed, purpose])

    def first_rows(self, count: int) -> Ints:
        """Return `count` first plans: as many seeds as fit, then random plans."""
        return np.concatenate([self.seeds, self.random_rows(max(count - len(self.seeds), 1))])[:count]

    def random_rows(self, count: int) -> Ints:
        """Return `count` random first plans, or as many as half of the time left allows; at least one.

        Set `too_few` if there are fewer than `count`.
        """
        rng = self.generator()
        if self.cut_at == math.inf:
            return self.problem.random_rows(count, rng)
        until = (self.seconds + self.cut_at) / 2.0  # the other half is for evaluating them
        room = self.plans_in_time(len(self.seeds) + count, share=1.0) - len(self.seeds)  # the seeds come first
        step = 1 if self.out_of_time else plans_in_a_slice(self.problem.layout.jobs)
        parts = [self.problem.random_rows(min(step, count), rng)]
        for first in range(step, count, step):
            if self.seconds >= until or first >= room:
                self.too_few = True
                break
            parts.append(self.problem.random_rows(min(step, count - first), rng))
        return np.concatenate(parts)

    # ---- history and state --------------------------------------------------------------------------------

    def remember(self) -> None:
        """Add a moment to the history if the best values or hypervolume have changed; then call the callback.

        Without a callback nothing is called.
        """
        self.note()
        if self.callback is not None:
            self.callback(self)

    def note(self) -> None:
        """Add a moment to the history if the best values or the hypervolume have changed."""
        best = tuple(float(value) for value in self.archive.best())
        volume = self.hypervolume()
        last = self.history[-1] if self.history else None
        if last is None or (last.best, last.hypervolume) != (best, volume):
            self.history.append(Moment(self.evaluations, self.seconds, best, volume))

    def hypervolume(self) -> float:
        """Return the share, 0 to 1, of the box between bounds and reference that the archive dominates.

        It is 0 if no plan is better than the reference in all objectives.
        """
        if self._volume[0] != self.archive.changes:
            self._volume = (self.archive.changes, self._measured())
        return self._volume[1]

    def _measured(self) -> float:
        box = np.abs(self.reference)
        low = np.where(np.isfinite(self.bounds), self.bounds, 0.0)
        inside = self.archive.values[(self.archive.values < self.reference).all(axis=1)]
        if self.cut_at < math.inf:  # with many objectives all points would take longer than the search
            few = FEW_POINTS.get(inside.shape[1], FEWEST_POINTS if inside.shape[1] > max(FEW_POINTS) else len(inside))
            inside = inside[least_crowded(inside, few)]
        if not len(inside) or (self.reference <= low).any():
            return 0.0
        if inside.shape[1] == 1:
            return float((self.reference[0] - inside[:, 0].min()) / (self.reference[0] - low[0]))
        from moocore import hypervolume

        volume = hypervolume(inside / box, ref=self.reference / box)
        return float(volume / np.prod((self.reference - low) / box))

    def state(self) -> dict[str, Plain]:
        """Return the state that a later process needs to resume, besides the problem and the rules."""
        return {
            "archive": self.archive.state(self.problem.layout.length),
            "evaluations": self.evaluations,
            "improved_at": self.improved_at,
            "steps": self.steps,
            "history": history_state(self.history, len(self.problem.objectives.names)),
            "seconds": self.seconds,
        }

    def restore(self, saved: Saved) -> None:
        """Resume from a checkpoint's state; the clock goes on from the seconds that were saved."""
        self.archive.restore(saved.part("archive"), self.problem)
        self.evaluations = saved.whole("evaluations")
        self.improved_at = saved.whole("improved_at", most=self.evaluations)
        self.steps = saved.whole("steps")
        self.history = history_of(saved.part("history"), len(self.problem.objectives.names))
        self._seconds_before = saved.number("seconds")
        self.begin_clock(self._clock.part(1))
        self._volume = (-1, 0.0)


def _chosen(rows: Ints, which: Ints) -> Sequence[Ints] | Ints:
    # Views: plans of many jobs take about a hundred megabytes, and copying them takes as long as one to ten plans.
    if not which.size or which[-1] == which.size - 1:
        return rows[: which.size]
    return [rows[k] for k in which.tolist()]


def history_state(history: Sequence[Moment], objectives: int) -> dict[str, Plain]:
    """Return a history as arrays."""
    return {
        "evaluations": np.array([moment.evaluations for moment in history], dtype=np.int64),
        "seconds": np.array([moment.seconds for moment in history], dtype=np.float64),
        "best": np.array([moment.best for moment in history], dtype=np.float64).reshape(-1, objectives),
        "hypervolume": np.array([moment.hypervolume for moment in history], dtype=np.float64),
    }


def history_of(saved: Saved, objectives: int) -> list[Moment]:
    """Return the history (a list of moments) of saved arrays."""
    evaluations = saved.ints("evaluations", (None,))
    count = len(evaluations)
    columns = (
        evaluations.tolist(),
        saved.floats("seconds", (count,), 0.0).tolist(),
        map(tuple, saved.floats("best", (count, objectives)).tolist()),
        saved.floats("hypervolume", (count,)).tolist(),
    )
    return [Moment(*line) for line in zip(*columns, strict=True)]


INTERRUPTED = "interrupted"
CUT_SHORT = "cut short: "


def ended_early(reason: str) -> bool:
    """Return whether a stop reason means that the search had more to do: it was interrupted or cut short."""
    return reason == INTERRUPTED or reason.startswith(CUT_SHORT)


def drive(run: Run, method: Method, *, after_step: Callable[[Run, Method], None] | None = None) -> str:
    """Step the method until a rule stops it, its budget ends, it has no more to do, or Ctrl-C; return the reason.

    If the method is cut short, warn and return why. `after_step` is called after each step.
    """
    try:
        return _driven(run, method, after_step)
    except CutShort as why:
        run.note()
        warnings.warn(f"The search ended early: {why}; the best until then is kept.", RuntimeWarning, stacklevel=2)
        return f"{CUT_SHORT}{why}"
    except KeyboardInterrupt:  # it may come at any time, even after the last evaluation
        run.note()
        return INTERRUPTED


def _driven(run: Run, method: Method, after_step: Callable[[Run, Method], None] | None) -> str:
    reason = run.reason_to_stop() if len(run.archive) else None  # at least one plan, even without time
    try:
        while reason is None:
            run.in_step = True
            more = method.step(run)
            run.in_step = False
            run.steps += 1
            run.remember()
            if after_step is not None:
                after_step(run, method)
            reason = run.reason_to_stop()
            if reason is None and not more:
                reason = "the method has ended"
    except BudgetSpent:
        run.remember()
        reason = run.reason_to_stop() or _of_time(run) or "the budget is spent"
    return reason


def _of_time(run: Run) -> str | None:
    # A method without time for another generation ends before its budget in seconds does.
    return next((rule.reason for rule in run.stop if isinstance(rule, MaxSeconds)), None)
