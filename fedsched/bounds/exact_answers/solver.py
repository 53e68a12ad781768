"""What CP-SAT is asked of a problem, one question after the other, within the time that all have together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsched.bounds.exact_answers.cp_sat_model import build
from fedsched.bounds.exact_answers.task import left_out

if TYPE_CHECKING:
    from fedsched.bounds.exact_answers.cp_sat_model import Model, Solved
    from fedsched.bounds.exact_answers.task import Task
    from fedsched.model.schedule.schedule import Schedule

LEAST_TIME = 1e-3  # seconds that a question has, whatever those before it took


@dataclass(slots=True, eq=False)
class ExactSolver:
    """The solver at work on a task, and the seconds that it has spent; `weights` are of makespan and energy.

    Where a clock rounds times, jobs may start a little late in the model (`latest_starts`). If such an answer does not
    come true, the model is asked again without that: for a schedule, not for a bound.
    """

    task: Task
    weights: tuple[float, float]
    seconds: float
    workers: int
    seed: int
    spent: float = 0.0

    def fewest(self, best: Schedule) -> tuple[Schedule, int]:
        """Return a schedule that leaves out as few jobs as is found, and how many are left out at least."""
        fewest = len(self.task.rules.barred)
        for strict in (False, True):
            if left_out(best) <= fewest:
                break
            model = self._built(best, None, strict=strict)
            model.leave_out_few()
            solved, best, came_true = self._answer(model, best)
            if not strict:
                fewest = max(fewest, min(round(solved.bound), left_out(best)))
            if came_true:
                break
        return best, fewest

    def cheapest(self, best: Schedule, horizon: float | None, at_least: float) -> tuple[Schedule, float]:
        """Return the cheapest schedule found that leaves out no more jobs than the best known one, and the bound.

        No better one is longer than `horizon`, and none is shorter than `at_least`.
        """
        bound = 0.0
        for strict in (False, True):
            model = self._built(best, horizon, strict=strict)
            model.minimise(*self.weights, at_least=at_least)
            solved, best, came_true = self._answer(model, best)
            bound = bound if strict else solved.bound
            if came_true:
                break
        return best, bound

    def _built(self, best: Schedule, horizon: float | None, *, strict: bool) -> Model:
        task = self.task
        absent = left_out(best) if task.rules.optional else None
        return build(task.relaxation, scale=task.scale(best), horizon=horizon, hint=best, rules=task.rules,
                     absent_at_most=absent, strict=strict)  # fmt: skip

    def _answer(self, model: Model, best: Schedule) -> tuple[Solved, Schedule, bool]:
        """Return the solver's answer, the better schedule, and whether its own leaves out no more than it says."""
        left = max(self.seconds - self.spent, LEAST_TIME)
        solved = model.solve(seconds=left, workers=self.workers, seed=self.seed)
        self.spent += solved.seconds
        if solved.starts is None:
            return solved, best, True
        found = self.task.realised(solved)
        better = min(best, found, key=lambda schedule: self.task.rank(schedule, self.weights))
        return solved, better, left_out(found) <= solved.absent
