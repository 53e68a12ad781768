"""One search under way: its budget, its archive, its history; what every method evaluates through."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.run.batch import plans_in_a_slice
from fedsched.search.run.archive import Archive
from fedsched.search.run.clock import Clock
from fedsched.search.run.crowding import least_crowded
from fedsched.search.run.interruptible_evaluation import LONG, LOOK
from fedsched.search.run.stopping import MaxEvaluations, MaxSeconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Plain, Saved
    from fedsched.search.problem.packed import PackedProblem
    from fedsched.search.run.stopping import StoppingRule


FINER = 4  # so many looks at the clock, within a budget in seconds, for one at Ctrl-C without
FIRST_SHARE = 0.25  # of the time left, for evaluating first plans that take as long to make
PACE = 0.5  # weight of the last batch in what a plan takes
FEW_POINTS = {6: 200, 7: 60, 8: 30}  # whose hypervolume takes hundredths of a second by so many objectives; beyond 8:
FEWEST_POINTS = 16


class BudgetSpent(Exception):
    """The evaluation budget ended within a batch; what was evaluated is in the archive."""


class CutShort(Exception):
    """A method cannot go on, and says why; what it found until then is in the archive."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of a run's history."""

    evaluations: int
    seconds: float
    best: tuple[float, ...]  # of each objective
    hypervolume: float


@dataclass(slots=True)
class Run:
    """One search under way.

    A method asks it for the first plans (`first_rows`), evaluates rows by `evaluate` or `account`, and may look at
    the archive. Everything in it but the problem, the rules and the callback goes into a checkpoint.
    """

    problem: PackedProblem
    seed: int
    stop: Sequence[StoppingRule]
    reference: Floats  # FCFS on `fastest`: what weighted sums are relative to
    seeds: Ints  # structured seeds and the user's plans, the user's first
    bounds: Floats
    callback: Callable[[Run], None] | None = None
    cut_at: float = math.inf  # seconds at which a step is cut short within its evaluations
    archive: Archive = field(init=False)
    evaluations: int = 0
    improved_at: int = 0
    steps: int = 0
    history: list[Moment] = field(default_factory=list)
    _clock: Clock = field(default_factory=lambda: Clock(None))
    _seconds_before: float = 0.0
    plan_takes: float = 0.0  # seconds, of late; 0: not known
    too_few: bool = False  # whether there was no time to make all plans that a method begins with: it cannot go on
    _slice: float = 0.0  # seconds that the last slice of plans took, where nothing can end one in its midst
    _slowest: float = 0.0  # seconds that a plan took at most
    _volume: tuple[int, float] = (-1, 0.0)  # the archive's changes when it was measured, and what it was

    def __post_init__(self) -> None:
        self.archive = Archive(len(self.problem.objectives.names))

    def begin_clock(self, clock: Clock | None = None) -> None:
        """Count seconds from now, or as a clock does that has begun before and knows what is compiled."""
        self._clock = Clock(None) if clock is None else clock

    # ---- budget -------------------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """Return the seconds searched so far, those before a checkpoint included, and none of compiling."""
        return self._seconds_before + self._clock.elapsed

    @property
    def left(self) -> int:
        """Return how many evaluations the budget still allows."""
        limits = [rule.evaluations for rule in self.stop if isinstance(rule, MaxEvaluations)]
        return max(0, min(limits, default=np.iinfo(np.int64).max) - self.evaluations)

    @property
    def total(self) -> int | None:
        """Return the evaluation budget, or None where there is none."""
        limits = [rule.evaluations for rule in self.stop if isinstance(rule, MaxEvaluations)]
        return min(limits, default=None)

    @property
    def prospect(self) -> int | None:
        """Return how many evaluations there will be in all, by the budget or at the pace of late; None: who knows."""
        if self.total is not None or self.cut_at == math.inf or not self.plan_takes:
            return self.total
        return self.evaluations + int(max(self.cut_at - self.seconds, 0.0) / self.plan_takes)

    @property
    def seconds_given(self) -> float | None:
        """Return the budget in seconds, or None where there is none."""
        return min((rule.seconds for rule in self.stop if isinstance(rule, MaxSeconds)), default=None)

    def reason_to_stop(self) -> str | None:
        """Return the first rule's reason to stop, or None."""
        return next((reason for rule in self.stop if (reason := rule(self)) is not None), None)

    # ---- evaluation ---------------------------------------------------------------------------------------------

    def evaluate(self, rows: Ints) -> Floats:
        """Return the rows' objective values; raise BudgetSpent where the budget ends before or within them."""
        if self.out_of_time and len(self.archive):  # an archive without a plan gets one at any rate
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
        """Return the values of those rows that there was time for, and the rows: one where there is no plan yet."""
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
        """Remember what plans took."""
        each = seconds / plans
        self.plan_takes = PACE * each + (1.0 - PACE) * self.plan_takes if self.plan_takes else each
        self._slowest = max(self._slowest, seconds / math.ceil(plans / threads))
        self._slice = seconds if self.problem.layout.jobs < LONG else 0.0

    def room(self, plans: int, *, share: float = 0.5) -> int:
        """Return how many of so many plans there is time for at the pace of late; raise BudgetSpent where for none.

        Evaluating them is to take a share of what is left: making them may take as long.
        """
        if self.cut_at == math.inf or not self.plan_takes:
            return plans
        room = int(share * (self.cut_at - self.seconds) / self.plan_takes)
        if room < 1 and len(self.archive):  # one plan there is to be at least
            raise BudgetSpent
        return max(1, min(plans, room))

    def first_room(self, random: int) -> int:
        """Return how many of the seeds and so many random plans there is time for, where making one takes long, too."""
        return self.room(len(self.seeds) + random, share=FIRST_SHARE)

    def trials(self, most: int, *, plans: int = 1) -> int:
        """Return how many trials a walker makes until the next look at the clock; 0 where there is no time for one.

        The first may take as long as so many plans.
        """
        slice_of = plans_in_a_slice(self.problem.layout.jobs)
        if self.cut_at == math.inf:
            return min(most, slice_of)
        if self.beyond(self.cut_at - plans * self._slowest):  # nothing ends one in its midst
            return 0
        return min(most, slice_of, max(1, int(LOOK / self.plan_takes)) if self.plan_takes else slice_of)

    def tried(self, trials: int, began: float) -> None:
        """Remember what trials took that began at this second of the search."""
        self._paced(trials, self.seconds - began)

    @property
    def out_of_time(self) -> bool:
        """Return whether a step is to end where it stands: another slice of plans would go beyond the time."""
        return self.beyond(self.cut_at)

    def beyond(self, seconds: float) -> bool:
        """Return whether so many seconds are over, or would be with another slice of plans."""
        return self.seconds + self._slice >= seconds

    def account(self, evaluations: int, values: Floats, rows: Sequence[Ints] | Ints) -> None:
        """Count evaluations that a method made itself, and offer the best of what it met to the archive."""
        self.evaluations += evaluations
        if self.archive.add(values, rows):
            self.improved_at = self.evaluations

    def scalar(self, values: Floats) -> Floats:
        """Return the weighted sum of the objectives, each relative to the reference."""
        weights = np.array(self.problem.objectives.weights)
        return (values / np.abs(self.reference)) @ (weights / weights.sum())

    # ---- first plans --------------------------------------------------------------------------------------------

    def generator(self, purpose: int = 0) -> np.random.Generator:
        """Return a generator of this run's seed; another purpose, another stream."""
        return np.random.default_rng([self.seed, purpose])

    def first_rows(self, count: int) -> Ints:
        """Return so many plans to begin with: the seeds, as many as fit, topped up with random plans."""
        return np.concatenate([self.seeds, self.random_rows(max(count - len(self.seeds), 1))])[:count]

    def random_rows(self, count: int) -> Ints:
        """Return so many random plans to begin with, or what half of the time left is enough for: one at least."""
        rng = self.generator()
        if self.cut_at == math.inf:
            return self.problem.random_rows(count, rng)
        until = (self.seconds + self.cut_at) / 2.0  # the other half is for evaluating them
        room = self.room(len(self.seeds) + count, share=1.0) - len(self.seeds)  # the seeds have their turn first
        step = 1 if self.out_of_time else plans_in_a_slice(self.problem.layout.jobs)
        parts = [self.problem.random_rows(min(step, count), rng)]
        for first in range(step, count, step):
            if self.seconds >= until or first >= room:
                self.too_few = True
                break
            parts.append(self.problem.random_rows(min(step, count - first), rng))
        return np.concatenate(parts)

    # ---- history, and rest --------------------------------------------------------------------------------

    def remember(self) -> None:
        """Add a line to the history, where something has changed, and let the callback look."""
        self.note()
        if self.callback is not None:
            self.callback(self)

    def note(self) -> None:
        """Add a line to the history, where something has changed."""
        best = tuple(float(value) for value in self.archive.best())
        volume = self.hypervolume()
        last = self.history[-1] if self.history else None
        if last is None or (last.best, last.hypervolume) != (best, volume):
            self.history.append(Moment(self.evaluations, self.seconds, best, volume))

    def hypervolume(self) -> float:
        """Return the share of the box between bounds and reference that the archive dominates."""
        if self._volume[0] != self.archive.changes:
            self._volume = (self.archive.changes, self._measured())
        return self._volume[1]

    def _measured(self) -> float:
        box = np.abs(self.reference)
        low = np.where(np.isfinite(self.bounds), self.bounds, 0.0)
        inside = self.archive.values[(self.archive.values < self.reference).all(axis=1)]
        if self.cut_at < math.inf:  # in many dimensions it would take longer than the search
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
        """Return what a later process needs to go on, beside the problem and the rules."""
        return {
            "archive": self.archive.state(self.problem.layout.length),
            "evaluations": self.evaluations,
            "improved_at": self.improved_at,
            "steps": self.steps,
            "history": history_state(self.history, len(self.problem.objectives.names)),
            "seconds": self.seconds,
        }

    def restore(self, saved: Saved) -> None:
        """Go on where a checkpoint was made."""
        self.archive.restore(saved.part("archive"), self.problem)
        self.evaluations = saved.whole("evaluations")
        self.improved_at = saved.whole("improved_at", most=self.evaluations)
        self.steps = saved.whole("steps")
        self.history = history_of(saved.part("history"), len(self.problem.objectives.names))
        self._seconds_before = saved.number("seconds")
        self.begin_clock(self._clock.part(1))
        self._volume = (-1, 0.0)


def _chosen(rows: Ints, which: Ints) -> Sequence[Ints] | Ints:
    # Views: plans of many jobs are some hundred megabytes, and copying these takes as long as a plan or ten.
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
    """Return the history whose arrays these are."""
    evaluations = saved.ints("evaluations", (None,))
    count = len(evaluations)
    columns = (
        evaluations.tolist(),
        saved.floats("seconds", (count,), 0.0).tolist(),
        map(tuple, saved.floats("best", (count, objectives)).tolist()),
        saved.floats("hypervolume", (count,)).tolist(),
    )
    return [Moment(*line) for line in zip(*columns, strict=True)]
