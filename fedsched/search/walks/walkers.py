"""Several parallel descents (walkers): their arrays and goals, and one stretch of walking on all threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.core.random import begin_stream
from fedsched.engine.codes import Status
from fedsched.model.schedule.metrics import Column
from fedsched.search.run.checkpoint_arrays import saved_plans
from fedsched.search.walks.descent import Accept, Goal, Walker, descend

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Plain, Saved
    from fedsched.search.problem.packed import PackedProblem
    from fedsched.search.run.run import Run

LATE = 100  # most trials that late acceptance looks back
POCKET = 64  # most non-dominated plans that a walker keeps in one stretch
GREATEST_SHARE = 0.9  # share of the greatest distance in a walker's value: it finds parts of a front that sums miss
REMEMBERED = ("current", "best", "value", "objectives", "late", "steps", "heat", "ends", "stream")  # saved fields
DRIFT = 0.05  # changes of ideal and scale, relative to the scale, that are ignored


class Walkers:
    """Walkers on one problem; each has its own random stream, so results do not depend on threads."""

    def __init__(
        self,
        run: Run,
        *,
        members: int,
        accept: Accept = Accept.LATE,
        greatest_share: float = GREATEST_SHARE,
        late: int = LATE,
    ) -> None:
        objectives = run.problem.objectives
        m = len(objectives.names)
        self.accept = accept
        self._greatest_share = greatest_share
        self.weights = np.tile(np.array(objectives.weights) / sum(objectives.weights), (members, 1))
        self.ideal = np.zeros(m)
        self.scale = np.abs(run.reference)
        self._columns, self._signs = objectives.columns, objectives.signs
        self.walkers = [_nowhere(run.problem, late) for _ in range(members)]
        for k, walker in enumerate(self.walkers):
            begin_stream(walker.stream, run.seed, 0, k)

    def __len__(self) -> int:
        return len(self.walkers)

    def state(self) -> dict[str, Plain]:
        """Return the walkers' states and goals for a checkpoint.

        The plans that they keep in a stretch are not saved: after it the archive has them.
        """
        of_all: dict[str, Plain] = {
            name: np.stack([getattr(walker, name) for walker in self.walkers]) for name in REMEMBERED
        }
        return {"weights": self.weights, "ideal": self.ideal, "scale": self.scale, **of_all}

    def restore(self, saved: Saved, run: Run, *, most: int) -> None:
        """Replace the walkers by saved ones, 1 to `most` of them; raise UnfitError if they do not fit."""
        objectives = len(self.ideal)
        self.weights = saved.floats("weights", (None, objectives), 0.0)
        members = len(self.weights)
        if not 1 <= members <= most:
            raise saved.unfit("weights", f"must be those of 1 to {most} walkers")
        self.ideal = saved.floats("ideal", (objectives,))
        self.scale = saved.floats("scale", (objectives,), 0.0)
        jobs = run.problem.layout.jobs
        late = saved.floats("late", (members, None))
        if not 1 <= late.shape[1] <= LATE:
            raise saved.unfit("late", f"must be 1 to {LATE} values a walker")
        of_all = {
            "current": saved_plans(saved, "current", run.problem, members),
            "best": saved_plans(saved, "best", run.problem, members),
            "value": saved.floats("value", (members, 2)),
            "objectives": saved.floats("objectives", (members, 2, objectives)),
            "late": late,
            "steps": saved.ints("steps", (members, 2)),
            "heat": saved.floats("heat", (members, 2), 0.0),
            "ends": saved.floats("ends", (members, jobs)),
            "stream": saved.streams("stream", members),
        }
        self.walkers = [_nowhere(run.problem, late.shape[1]) for _ in range(members)]
        for k, walker in enumerate(self.walkers):
            for name, values in of_all.items():
                getattr(walker, name)[:] = values[k]

    def goal(self, k: int) -> Goal:
        """Return the Goal of a walker, which says to the kernel what value to minimise."""
        return Goal(
            columns=self._columns,
            signs=self._signs,
            ideal=self.ideal,
            scale=self.scale,
            weights=self.weights[k],
            greatest_share=self._greatest_share,
            sum_share=1.0 - self._greatest_share,
            accept=int(self.accept),
        )

    def aim(self, ideal: Floats, scale: Floats) -> None:
        """Set the ideal and scale of all walkers' values, and compute their values anew.

        Do nothing if ideal and scale have changed by less than 5 % of the scale.
        """
        if np.all(np.abs(ideal - self.ideal) < DRIFT * scale) and np.all(np.abs(scale - self.scale) < DRIFT * scale):
            return
        self.ideal, self.scale = np.array(ideal), np.array(scale)
        for k, walker in enumerate(self.walkers):
            walker.value[:] = self.scalar(k, walker.objectives)
            walker.late[:] = walker.value[0]

    def scalar(self, k: int, values: Floats) -> Floats:
        """Return a walker's single value of each plan from its objective values, as the kernel's `scalar` does."""
        distance = self.weights[k] * ((values - self.ideal) / self.scale)
        share = self._greatest_share
        return share * distance.max(axis=-1) + (1.0 - share) * distance.sum(axis=-1)

    def place(self, k: int, row: Ints, values: Floats, *, slack: float = 0.0) -> None:
        """Start a walker from a plan with known values: the plan becomes its current and its best one.

        With `slack` it at first accepts plans that are worse by up to this relative amount.
        """
        walker = self.walkers[k]
        value = float(self.scalar(k, values))
        walker.current[:] = row
        walker.best[:] = row
        walker.value[:] = value
        walker.objectives[:] = values
        walker.late[:] = value * (1.0 + slack)
        walker.ends[:] = 0.0
        walker.steps[1] = walker.steps[0]

    def cool(self, k: int, hot: float, factor: float) -> None:
        """Set a walker's temperature, and the factor that multiplies it at each trial."""
        self.walkers[k].heat[:] = hot, factor

    def best(self, k: int) -> float:
        """Return the value of a walker's best plan since its last start; inf before its first start."""
        return float(self.walkers[k].value[1])

    def stale(self, k: int) -> int:
        """Return the number of a walker's trials since its last improvement."""
        steps = self.walkers[k].steps
        return int(steps[0] - steps[1])

    def walk(self, run: Run, trials: int) -> None:
        """Divide `trials` trials among the walkers and make them, on all threads.

        Then count them, and move the walkers' kept plans to the archive.
        """
        share, more = divmod(trials, len(self))
        lengths = [share + (k < more) for k in range(len(self))]
        threads = min(run.problem.threads, len(self))

        def work(thread: int) -> int:
            return sum(self.walk_one(run, k, lengths[k], thread) for k in range(thread, len(self), threads))

        if threads == 1:
            walked = work(0)
        else:
            with ThreadPoolExecutor(threads) as pool:
                walked = sum(pool.map(work, range(threads)))
        met = [(walker, i) for walker in self.walkers for i in range(int(walker.pocket_size[0]))]
        values = np.array([walker.pocket_values[i] for walker, i in met]).reshape(len(met), len(self.ideal))
        run.account(walked, values, [walker.pocket_rows[i] for walker, i in met])  # views: the archive copies few
        for walker in self.walkers:
            walker.pocket_size[0] = 0

    def walk_one(self, run: Run, k: int, trials: int, thread: int) -> int:
        """Let one walker make up to `trials` trials with a thread's workspace; return for how many there was time.

        Raise InfeasibleError if a job of a plan can never start.
        """
        problem, metrics = run.problem, np.zeros(len(Column))
        goal, walker = self.goal(k), self.walkers[k]
        packed, space, state = problem.seat(thread)
        done = 0
        while step := run.trials(trials - done):
            began = run.seconds
            status = descend(
                packed,
                space,
                goal,
                walker,
                state,
                problem.no_users,
                metrics,
                step,
            )
            if status != Status.DONE:
                raise InfeasibleError("A plan has a job that its caps and placement never let start.")
            run.note_trials(step, began)
            done += step
        return done


def _nowhere(problem: PackedProblem, late: int) -> Walker:
    """Return a walker without a start plan; `late` is the length of its late-acceptance history."""
    length, objectives = problem.layout.length, len(problem.objectives.names)
    pocket = POCKET if objectives > 1 else 1
    return Walker(
        current=np.zeros(length, dtype=np.int64),
        trial=np.zeros(length, dtype=np.int64),
        best=np.zeros(length, dtype=np.int64),
        value=np.full(2, np.inf),
        objectives=np.full((2, objectives), np.inf),
        late=np.full(late, np.inf),
        steps=np.zeros(2, dtype=np.int64),
        heat=np.array([0.0, 1.0]),
        ends=np.zeros(problem.layout.jobs),
        stream=np.zeros(1, dtype=np.uint64),
        pocket_values=np.zeros((pocket, objectives)),
        pocket_rows=np.zeros((pocket, length), dtype=np.int64),
        pocket_size=np.zeros(1, dtype=np.int64),
    )
