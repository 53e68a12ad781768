"""Methods for comparison: simulated annealing, hill climbing and random plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.search.walks.descent import Accept
from fedsched.search.walks.walkers import Walkers

if TYPE_CHECKING:
    from fedsched.io.trees import Plain, Saved
    from fedsched.search.run.run import Run

TRIALS = 500  # trials of a step
BATCH = 100
FIRST = 50  # first plans; the walk begins at the best of them
HOT, COLD = 0.01, 0.0001  # first and last temperature, relative to the reference
STALE = 5000  # trials without a better plan after which hill climbing restarts


class SingleWalk:
    """A method of one walk, from the best of the first plans; hill climbing restarts from a random plan when stuck."""

    def __init__(self, run: Run, accept: Accept) -> None:
        self._walkers = Walkers(run, members=1, accept=accept, greatest_share=0.0)
        self._begun = False
        self._restarts = 0
        if accept == Accept.ANNEALED:
            budget = run.total or 100_000
            self._walkers.cool(0, HOT, (COLD / HOT) ** (1.0 / budget))

    def step(self, run: Run) -> bool:
        """Evaluate the first plans, or continue the walk by some trials; return True.

        Hill climbing first restarts if it has found nothing better for 5000 trials.
        """
        if not self._begun:
            rows = run.first_rows(max(len(run.seeds), FIRST))
            values = run.evaluate(rows)
            best = int(run.scalar(values).argmin())
            self._walkers.place(0, rows[best], values[best])
            self._begun = True
            return True
        walkers = self._walkers
        if walkers.accept == Accept.BETTER and walkers.stale(0) > STALE:
            self._restarts += 1
            row = run.problem.random_rows(1, run.generator(self._restarts))
            walkers.place(0, row[0], run.evaluate(row)[0])
        walkers.walk(run, min(TRIALS, run.left))
        return True

    def state(self) -> dict[str, Plain]:
        """Return the number of restarts and the walker's state, which is None before the first plans."""
        return {"restarts": self._restarts, "walkers": self._walkers.state() if self._begun else None}

    def restore(self, saved: Saved, run: Run) -> None:
        """Continue a saved walk."""
        self._restarts = saved.whole("restarts")
        walkers = saved.maybe("walkers")
        self._begun = walkers is not None
        if walkers is not None:
            self._walkers.restore(walkers, run, most=1)


def annealing(run: Run) -> SingleWalk:
    """Return simulated annealing; it cools over the evaluation budget, or over 100,000 evaluations without one."""
    return SingleWalk(run, Accept.ANNEALED)


def hill_climbing(run: Run) -> SingleWalk:
    """Return hill climbing, which restarts from a random plan when it is stuck."""
    return SingleWalk(run, Accept.BETTER)


class RandomPlans:
    """The method that evaluates random plans, one batch a step: a baseline for every search."""

    def __init__(self, run: Run) -> None:
        self._batch = 0

    def step(self, run: Run) -> bool:
        """Evaluate another batch of random plans; return True."""
        self._batch += 1
        run.evaluate(run.problem.random_rows(run.plans_in_time(BATCH), run.generator(self._batch)))
        return True

    def state(self) -> dict[str, Plain]:
        """Return the number of batches so far."""
        return {"batch": self._batch}

    def restore(self, saved: Saved, run: Run) -> None:
        """Restore the number of batches, so that the next step draws the next batch."""
        self._batch = saved.whole("batch")
