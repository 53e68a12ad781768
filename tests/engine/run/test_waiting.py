"""Waits of jobs: stretches that cover the wait, with free nodes counted anew; and schedules that do not know."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import ScheduleError


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("policy", ["easy", "fcfs", "sjf-greedy", "conservative"])
def test_free_nodes_are_as_the_schedule_has_them(policy: str, seed: int) -> None:
    """Tests that reasons cover the wait, and that nodes are too few, or enough, at each instant of their stretch."""
    draw = Random(seed)
    many = 12
    some = fs.Workload(
        submit=[float(draw.randint(0, 9)) for _ in range(many)],
        tasks=[draw.randint(1, 8) for _ in range(many)],
        runtime=[float(draw.randint(1, 9)) for _ in range(many)],
        estimate=[float(draw.randint(5, 20)) for _ in range(many)],
    )
    schedule = fs.simulate(some, 8, policy)
    times = np.unique([schedule.start, schedule.finish, some.submit])
    for row in range(many):
        found = schedule.why(int(some.id[row]))
        assert (found.submit, found.start) == (some.submit[row], schedule.start[row])
        edges = [found.submit, *(one.end for one in found.waits)]
        assert edges[-1] == found.start
        assert [one.begin for one in found.waits] == edges[:-1]
        for one in found.waits:
            for time in times[(times >= one.begin) & (times < one.end)]:
                runs = (schedule.start <= time) & (time < schedule.finish)
                free = 8 - int(some.tasks[runs].sum())
                assert (free < some.tasks[row]) == one.reason.startswith("it needs"), (one, time, free)


def test_a_schedule_that_is_not_of_a_simulation_does_not_know(tmp_path: Any) -> None:
    """Tests that one from a file, and an id that no job has, are refused, and that a plan of optimize knows."""
    some, four = fs.Workload(submit=[0, 0, 0], tasks=[3, 4, 1], runtime=[600, 600, 900]), fs.Federation.homogeneous(4)
    schedule = fs.simulate(some, four)
    schedule.to_csv(tmp_path / "s.csv")
    with pytest.raises(ScheduleError, match="why: this schedule does not say how it was made"):
        fs.Schedule.read(tmp_path / "s.csv", some, four).why(1)
    with pytest.raises(ScheduleError, match="why: no job has the id 9"):
        schedule.why(9)
    best = fs.optimize(some, four, evaluations=50, seed=1).best()
    assert all(best.why(job).start == best.start[job - 1] for job in (1, 2, 3))
