"""What caps leave: steps that come, some of them again, what jobs take, and what is left of a whole run [70]."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest
from support.plain import begun, jobs, plain

import fedsched as fs
from fedsched.engine.numbers import Clock
from fedsched.engine.optional_features.power_caps import period_of

power_caps = plain("fedsched.engine.optional_features.power_caps")
FALLS = fs.Signal((0.0, 7.0), (400.0, 240.0), "W", "A", beyond="last")
NODES = fs.Federation((fs.Cluster("A", (fs.NodeGroup(4, 1.0, 100.0, 20.0),)),))  # 80 W idle, 80 more a busy node


def capped(*signals: fs.Signal, cap: str = "run") -> fs.Federation:
    """Return four nodes under caps."""
    return replace(NODES, signals=signals, cap=cap)


def daily(*watts: float) -> fs.Signal:
    """Return a cap of steps of 10 s that come again."""
    times = tuple(10.0 * k for k in range(len(watts)))
    return fs.Signal(times, watts, "W", until=10.0 * len(watts), beyond="repeat")


def hooks() -> list[str]:
    """Return the names of the functions that the engine calls of plain problems, too."""
    functions = inspect.getmembers(power_caps, inspect.isfunction)
    own = [one for _, one in functions if one.__module__ == power_caps.__name__]
    return [one.__name__ for one in own if "extras: 'Extras | None'" in str(inspect.signature(one))]


@pytest.mark.parametrize("name", hooks())
def test_without_extras_nothing_is_done(name: str) -> None:
    """Where a problem has no extras, every hook does nothing, and says that nothing stands in the way."""
    hook = getattr(power_caps, name)
    rest = [None] * len(inspect.signature(hook).parameters)
    assert hook(*rest) in ((False,) if name == "has_caps" else (None, True, np.inf))
    assert len(hooks()) > 10


def test_steps_come_again_with_the_period_of_their_signal() -> None:
    """A cap that repeats has its steps in each turn, from the turn of t0 on; one that does not ends with its last."""
    problem, _, state = begun(jobs([1], [5.0]), capped(daily(200.0, 300.0), FALLS))
    times = []
    for _ in range(4):
        times.append(power_caps._next_step(problem.extras.ceilings, state.extras.beneath, True))
        power_caps.take_steps(problem.extras.ceilings, state.extras.beneath, times[-1], True)
    assert times == [7.0, 10.0, 20.0, 30.0]
    assert period_of(25.0, 0.0, 10.0) == 2
    assert period_of(-1.0, 0.0, 10.0) == -1
    assert period_of(3.0, 0.0, np.inf) == 0


def test_a_turn_in_which_nothing_happens_is_the_last() -> None:
    """Where nobody runs caps are followed for a whole turn after all else, and no further."""
    problem, _, state = begun(jobs([1], [5.0]), capped(daily(200.0, 300.0)))
    own, beneath = problem.extras.ceilings, state.extras.beneath
    for now in (10.0, 20.0):
        assert power_caps._next_step(own, beneath, False) == now
        power_caps.take_steps(own, beneath, now, True)
    assert power_caps._next_step(own, beneath, False) == np.inf
    assert power_caps._next_step(own, beneath, True) == 30.0
    assert not power_caps.take_steps(own, beneath, 25.0, False)
    assert power_caps._next_step(own, beneath, False) == 30.0


def test_what_a_job_takes_is_missing_until_it_gives_it_back() -> None:
    """Milliwatts beyond idle nodes are taken by the nodes that a job has, and come back."""
    problem, _, state = begun(replace(jobs([1, 2], [5.0, 5.0]), watts=[-1.0, 60.5]), capped(daily(400.0)))
    counts = np.array([2])
    power_caps.take(problem.extras, state.extras, 1, counts)
    assert state.extras.beneath.taken.tolist() == [2 * 40_500]
    power_caps.give_back(problem.extras, state.extras, 1, counts)
    assert state.extras.beneath.taken.tolist() == [0]


@pytest.mark.parametrize(("cap", "borne"), [("run", [True, False, True, False]), ("now", [True, True, True, False])])
def test_a_run_is_borne_where_each_moment_of_it_is(cap: str, borne: list[bool]) -> None:
    """A job of two nodes needs 160 W beside 80 until its end; under "now" it needs them as it starts."""
    falls = fs.Signal((0.0, 10.0, 20.0), (240.0, 160.0, 400.0), "W", beyond="last")
    problem, _, state = begun(jobs([2, 2], [10.0, 10.5]), capped(falls, cap=cap))
    own, beneath = problem.extras.ceilings, state.extras.beneath
    state.scratch.chosen[:] = 2
    found = [power_caps.allow_now(problem.extras, state.extras, problem, state, j) for j in (0, 1)]
    found.append(power_caps.allow(own, beneath, state, 0, 20.0, 30.0, power_caps.WITHOUT_HEAD))
    found.append(power_caps.allow(own, beneath, state, 0, 10.0, 20.0, power_caps.WITHOUT_HEAD))
    assert found == borne
    assert state.clock[Clock.NOW] == 0.0


def test_the_head_keeps_its_watts() -> None:
    """Beside the head's reservation a job that lasts gets what is left then; without a reservation all is free."""
    problem, _, state = begun(jobs([2, 2], [10.0, 10.0]), capped(daily(240.0)))
    state.scratch.chosen[:] = 2
    power_caps.reserve(problem.extras, state.extras, 0, state.scratch.chosen, 30.0)
    assert not power_caps.keeps_head_power(problem.extras, state.extras, state, 1, 20.0, 25.0)
    power_caps.reserve_nothing(state.extras)
    assert power_caps.keeps_head_power(problem.extras, state.extras, state, 1, 20.0, 25.0)


def test_changes_for_good_are_told_from_those_that_come_again() -> None:
    """Where caps come again a shadow time is looked for in a whole turn after all that changes for good."""
    problem, _, state = begun(jobs([1], [5.0]), capped(daily(200.0, 300.0), FALLS))
    assert [power_caps.changes_for_good(problem.extras, time) for time in (7.0, 10.0)] == [True, False]
    assert [power_caps.any_for_good_after(problem.extras, time) for time in (0.0, 7.0)] == [True, False]
    assert power_caps.longest_period(problem.extras) == 20.0
    assert [power_caps.next_after(problem.extras, state.extras, time) for time in (0.0, 7.0, 10.0)] == [7.0, 10.0, 20.0]
