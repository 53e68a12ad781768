"""Nodes that go off when they idle, one call at a time: cases worked out by hand from reading 66."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.plain import plain

import fedsched as fs
from fedsched.model.schedule.node_stack import Place
from fedsched.policies import Timeout

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState

power = plain("fedsched.engine.optional_features.power_states")
NODES = np.array([3, 2])


def opened(timeout: float = 10.0, keep: int = 0) -> tuple[Extras, ExtraState]:
    """Return two groups of three and two nodes; the first boots in 30 s, the second in 5 s, and both go off in 2 s."""
    from fedsched.simulate import prepare

    groups = tuple(
        fs.NodeGroup(count, off_watts=0.0, boot_seconds=boot, shutdown_seconds=2.0)
        for count, boot in ((3, 30.0), (2, 5.0))
    )
    whole = fs.Federation((fs.Cluster("a", groups),), power=Timeout(timeout, keep))
    run = prepare(fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[1, 1]), whole)
    extras, state = run.problem.extras, run.state.extras
    assert extras is not None
    assert state is not None
    power.reset(extras, state, NODES, 0.0)
    return extras, state


def on(state: ExtraState) -> list[int]:
    """Return how many nodes of each group idle and are on, by when they were last asked for."""
    return state.powered.stacks.place[:, Place.ON].tolist()


@pytest.mark.parametrize(
    ("name", "answer"), [("reset", None), ("ready_at", 7.0), ("give_back", None), ("hold_from_begin", None)]
)
def test_without_extras_nothing_is_done(name: str, answer: float | None) -> None:
    """Where a problem has no extras nodes are always on, and every job starts at once."""
    hook = getattr(power, name)
    others = [parameter for parameter in inspect.signature(hook).parameters if parameter not in ("extras", "state")]
    others = [parameter for parameter in others if parameter != "extra_state"]
    assert hook(None, None, *(7.0 for _ in others)) == answer


def test_extras_without_power_saving_keep_nodes_on() -> None:
    """Where something else is beyond the plain model nobody waits for a boot either."""
    from fedsched.simulate import prepare

    whole = fs.Federation(fs.Federation.homogeneous(2).clusters, pools=[fs.Pool("gpu", 2)])
    run = prepare(fs.Workload(submit=[0], tasks=[1], runtime=[1], pools={"gpu": [1]}), whole)
    extras, state = run.problem.extras, run.state.extras
    power.reset(extras, state, np.array([2]), 0.0)
    assert power.ready_at(extras, state, 0, np.array([1]), 1e6) == 1e6
    power.give_back(extras, state, np.array([1]), 2e6)
    assert on(state) == []


def test_a_job_is_ready_when_its_last_node_is() -> None:
    """Nodes that are on are there at once; of groups that boot the slower one is waited for."""
    extras, state = opened()
    assert power.ready_at(extras, state, 0, np.array([2, 2]), 5.0) == 5.0
    assert on(state) == [1, 0]
    power.give_back(extras, state, np.array([0, 2]), 100.0)
    assert power.ready_at(extras, state, 1, np.array([1, 2]), 105.0) == 135.0  # the first is off since 10
    assert state.powered.promised.tolist() == [5.0, 105.0]


def test_a_boot_begins_when_the_shutdown_is_over() -> None:
    """Who comes in the middle of a shutdown waits for its rest too; who comes at its begin has the node at once."""
    extras, state = opened()
    assert power.ready_at(extras, state, 0, np.array([3, 0]), 11.0) == 42.0
    extras, state = opened()
    assert power.ready_at(extras, state, 0, np.array([0, 2]), 9.0) == 9.0
    extras, state = opened()
    assert power.ready_at(extras, state, 0, np.array([0, 2]), 10.0) == 10.0  # their time has come, but so has a job
    power.give_back(extras, state, np.array([0, 2]), 50.0)
    assert power.ready_at(extras, state, 0, np.array([0, 2]), 60.5) == 67.0


def test_the_longest_idle_go_off_and_the_last_idle_are_taken() -> None:
    """Of those kept on the last freed stays; nodes beyond the kept go off as others come back."""
    extras, state = opened(keep=1)
    assert power.ready_at(extras, state, 0, np.array([1, 0]), 0.0) == 0.0
    power.give_back(extras, state, np.array([1, 0]), 50.0)
    # One went off at 10, one was kept; it goes as the freed one has come.
    assert power.ready_at(extras, state, 0, np.array([1, 0]), 51.0) == 51.0
    assert on(state) == [0, 2]
    assert power.ready_at(extras, state, 1, np.array([1, 0]), 51.0) == 81.0  # off since 10
    assert power.ready_at(extras, state, 1, np.array([1, 0]), 51.0) == 82.0  # off since 50, down at 52


def test_a_stack_goes_on_where_its_room_ends() -> None:
    """Nodes that come and go over and over find room, for what is held moves to its begin."""
    extras, state = opened(timeout=1e9)
    for k in range(40):
        assert power.ready_at(extras, state, 0, np.array([1, 0]), 2.0 * k) == 2.0 * k
        power.give_back(extras, state, np.array([1, 0]), 2.0 * k + 1)
    extras, state = opened(timeout=0.0)
    for k in range(1, 40):
        now = 1000.0 * k
        assert power.ready_at(extras, state, 0, np.array([1, 0]), now) == now + 30.0
        power.give_back(extras, state, np.array([1, 0]), now + 100.0)
    assert on(state)[0] == 1  # freed just now
