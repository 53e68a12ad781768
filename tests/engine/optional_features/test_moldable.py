"""The shapes of jobs that choose theirs as they join the queue: where they stand, and who looks at which."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from support.plain import plain

import fedsched as fs
from fedsched.engine.optional_features.moldable import in_each_shape, moldable_of, widest_of, with_current_shapes
from fedsched.simulate import prepare

moldable = plain("fedsched.engine.optional_features.moldable")
FOUR = fs.Federation.homogeneous(4)
JOBS = fs.Workload(
    submit=[0.0, 0.0, 1.0],
    tasks=[4, 1, 2],
    runtime=[8.0, 3.0, 6.0],
    alternatives={1: "4x8|2x9|5x1", 3: "2x6|1x7|4x4|3x5"},
)


def hooks() -> list[str]:
    """Return the names of the functions that the engine calls with extras."""
    own = [one for _, one in inspect.getmembers(moldable, inspect.isfunction) if one.__module__ == moldable.__name__]
    first = {one.__name__: [*inspect.signature(one).parameters][:1] for one in own}
    return [name for name, given in first.items() if given in (["extras"], ["state"])]


@pytest.mark.parametrize("name", hooks())
def test_without_extras_nothing_is_done(name: str) -> None:
    """Where a problem has no extras, no job chooses, and each has its own tasks and estimate."""
    hook = getattr(moldable, name)
    rest = {"state": None, "tasks": np.array([7]), "estimate": np.array([7]), "j": 0}
    wanted = [rest[one] for one in [*inspect.signature(hook).parameters][1:]]
    assert hook(None, *wanted) in ((7,) if name.startswith("first_shape") else (False, None))


def test_columns_are_those_of_the_state() -> None:
    """A job that takes a shape has its tasks and times in the problem, which others cannot write."""
    run = prepare(JOBS, FOUR, "easy", alternatives="earliest_finish")
    problem, state = run.problem, run.state
    assert moldable_of(problem).which.tolist() == [0, 1, 0, 0, 1, 2, 3]  # five nodes there are not
    assert problem.tasks.tolist() == [4, 1, 2]
    assert not problem.tasks.flags.writeable
    moldable.take_shape(problem.extras.moldable, state.extras, 2, 5)
    assert (problem.tasks[2], problem.runtime[2], problem.estimate[2]) == (4, 4.0, 4.0)
    assert moldable.first_shape_tasks(problem.extras, problem.tasks, 2) == 2
    assert moldable.first_shape_estimate(problem.extras, problem.estimate, 2) == 6.0
    assert run.schedule().workload.tasks.tolist() == [4, 1, 4]
    moldable.reset(problem.extras, state.extras)
    assert problem.tasks.tolist() == [4, 1, 2]


def test_every_shape_has_its_turn() -> None:
    """Each job's first, second, ... shapes; those wider than it may have are none."""
    problem = prepare(JOBS, FOUR, "easy", alternatives="earliest_finish").problem
    assert widest_of(problem).tolist() == [4, 1, 4]
    turns = [one.tasks.tolist() for one in in_each_shape(problem, np.array([[4], [4], [3]]))]
    assert turns == [[4, 1, 2], [2, 1, 1], [2, 1, 2], [2, 1, 3]]


def test_where_nobody_chooses_a_problem_is_as_it_was() -> None:
    """Nothing is opened, and there is one shape."""
    run = prepare(JOBS, FOUR, "easy")
    assert with_current_shapes(run.problem, run.state) is run.problem
    assert [*in_each_shape(run.problem, run.problem.tasks)] == [run.problem]
    assert widest_of(run.problem) is run.problem.tasks
    assert moldable_of(run.problem) is None


def test_limits_see_the_tasks_that_jobs_have() -> None:
    """A job that was over its user's limit comes back to the trees as wide as it has become."""
    log = fs.Workload(submit=[0.0, 1.0, 1.0], tasks=[4, 2, 1], runtime=[9.0, 8.0, 5.0], user=[1, 1, 2],
                      alternatives={2: "2x8|4x1"})  # fmt: skip
    limited = fs.Federation(FOUR.clusters, limits=(fs.Limit("user", jobs=1),))
    run = prepare(log, limited, "greedy", alternatives="earliest_finish")
    assert run.problem.extras.limits.tasks.base is run.problem.tasks.base
    schedule = run.advance().schedule()
    schedule.verify()
    assert schedule.workload.tasks.tolist() == [4, 4, 1]
