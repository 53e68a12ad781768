"""Caps as arrays, and jobs that never fit under one [70]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.plain import jobs

import fedsched as fs
from fedsched.core.errors import InfeasibleError
from fedsched.engine.pack.power_cap_arrays import may_starve, power_caps_of, power_caps_of_jobs

GROUP = fs.NodeGroup(4, 1.0, 100.0, 20.0, off_watts=5.0)
NODES = fs.Federation((fs.Cluster("A", (GROUP,)), fs.Cluster("B", (fs.NodeGroup(2, 1.0, 60.5, 30.25),))))
STEPS = fs.Signal((0.0, 10.0), (500.0, 300.0), "W", until=20.0, beyond="repeat")


def test_caps_are_what_they_leave_beside_idle_nodes() -> None:
    """Milliwatts beside those of the nodes that a cap covers; each node of a job takes what it draws more."""
    caps = (STEPS, fs.Signal((0.0,), (0.1,), "kW", "B"))
    some = replace(jobs([1, 1], [5.0, 5.0]), watts=[-1.0, 25.0])
    found = power_caps_of(some, replace(NODES, signals=caps), 35.0)
    assert found.left.tolist() == [359_500, 159_500, 39_500]
    assert (found.turn.tolist(), found.begun.tolist()) == ([1, 0], [2, 1])
    assert found.covers.tolist() == [[1, 1], [0, 1]]
    assert found.need.tolist() == [[80_000, 30_250], [5_000, 0]]
    assert found.looks.tolist() == [0]
    seen = power_caps_of_jobs(found, np.array([1]), 41.0)
    assert (seen.need.tolist(), seen.turn.tolist(), seen.begun.tolist()) == ([[5_000, 0]], [2, 0], [1, 1])


def test_without_caps_there_are_no_arrays() -> None:
    """A federation without caps has none."""
    assert power_caps_of(jobs([1], [5.0]), NODES, 0.0) is None


@pytest.mark.parametrize(("watts", "starves"), [((550.0, 461.0), False), ((550.0, 460.0), True)])
def test_jobs_may_starve_where_a_cap_is_below_what_they_may_need(watts: tuple[float, float], starves: bool) -> None:
    """Four nodes of A draw 320 W more than idle ones, 140.5 W in all; of a cap that comes again the least counts."""
    signal = fs.Signal((0.0, 10.0), watts, "W", until=20.0, beyond="repeat")
    found = power_caps_of(jobs([4], [5.0]), replace(NODES, signals=(signal,)), 0.0)
    assert may_starve(found, np.array([4])) == starves


def test_what_plans_cannot_see_is_refused() -> None:
    """A cap must hold from t0 on, and for ever; each error says what helps."""
    for signal, words in (
        (fs.Signal((0.0, 5.0), (400.0, 300.0), "W"), "The power cap ends at 10 s"),
        (fs.Signal((3.0, 5.0), (400.0, 300.0), "W", beyond="last"), "The power cap begins at 3 s"),
    ):
        with pytest.raises(InfeasibleError, match=words):
            power_caps_of(jobs([1], [5.0]), replace(NODES, signals=(signal,)), 0.0)


def test_a_job_that_draws_more_than_is_ever_left_is_refused() -> None:
    """The least that it may draw is too much, of what is to come; what came before t0 does not help."""
    low = replace(NODES, signals=(fs.Signal((0.0, 50.0), (900.0, 250.0), "W", beyond="last"),))
    power_caps_of(jobs([4], [5.0]), low, 0.0)
    with pytest.raises(InfeasibleError, match=r"Job 1: its 4 nodes draw 121 W more than idle ones, and the power cap"):
        power_caps_of(jobs([4], [5.0]), low, 60.0)
