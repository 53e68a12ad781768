"""How many dispatch tests a run makes: how often it is asked whether a job, a head or a candidate, can start now.

The compiled loop counts none. Here it runs as plain Python, in a process of its own, in which whatever tests a job is
exchanged for what counts as well: the same loop, so the count is that of the compiled run.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench_machine import Case

    Function = Callable[..., Any]


def tests_of(cases: Sequence[Case]) -> list[int]:
    """Return how many dispatch tests the run of each case makes."""
    counted = subprocess.run(  # our own file, and cases that this process made
        [sys.executable, __file__],
        input=pickle.dumps(list(cases)),
        stdout=subprocess.PIPE,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        check=True,
    )
    found: list[int] = json.loads(counted.stdout)
    return found


class _Tally:
    """A count of tests, which those functions keep that are exchanged for counting ones."""

    def __init__(self) -> None:
        self.tests = 0

    def each(self, test: Function) -> Function:
        """Return a function that tests one job in each of its calls, and counts them."""

        def counted(*given: Any) -> Any:
            self.tests += 1
            return test(*given)

        return counted

    def larger_heads(self, start_from_head: Function) -> Function:
        """Return a function that starts from the head, and counts a head that it finds larger than what is free."""
        from fedsched.engine.numbers import Counter

        def counted(problem: Any, plan: Any, state: Any) -> Any:
            head = start_from_head(problem, plan, state)
            self.tests += bool(head >= 0 and problem.tasks[head] > state.counter[Counter.FREE])
            return head

        return counted


def _exchange(function: Function, other: Function) -> None:
    # Wherever a module of the engine knows it by its name.
    for name, module in list(sys.modules.items()):
        if name.startswith("fedsched.engine.") and getattr(module, function.__name__, None) is function:
            setattr(module, function.__name__, other)


def _count(cases: Sequence[Case]) -> list[int]:
    from fedsched.engine.dispatch import greedy, head_reservation
    from fedsched.simulate import prepare

    tally, found = _Tally(), []
    for test in (greedy.fits_now, head_reservation.place_beside_reservation):
        _exchange(test, tally.each(test))
    _exchange(greedy.start_from_head, tally.larger_heads(greedy.start_from_head))
    for case in cases:
        before = tally.tests
        prepare(*case).advance()
        found.append(tally.tests - before)
    return found


if __name__ == "__main__":
    print(json.dumps(_count(pickle.load(sys.stdin.buffer))))
