"""`fedsched plot`: which plan is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a result whose front has more than one plan: the fast nodes waste energy."""
    fast = fs.NodeGroup(64, speed=2.0, busy_watts=900.0, idle_watts=5.0)
    slow = fs.NodeGroup(64, speed=1.0, busy_watts=80.0, idle_watts=5.0)
    machine = fs.Federation((fs.Cluster("fast", (fast,)), fs.Cluster("slow", (slow,))))
    jobs = fs.Workload.example().head(20)
    result = fs.optimize(jobs, machine, objectives=("makespan", "energy"), evaluations=200, baselines=("fcfs",))
    assert len(result.front) > 1
    path = tmp_path_factory.mktemp("saved") / "result.json"
    result.save(path)
    return path


def test_the_chosen_plan_is_drawn(
    saved: Path, call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that the whole picture and the Gantt chart alone show the plan that --choose names."""
    drawn = []
    monkeypatch.setattr("fedsched.plot.gantt.draw", lambda schedule, *_, **__: drawn.append(schedule))
    result = fs.Result.load(saved)
    for choose, plan in (("energy", result.best("energy")), ("makespan", result.best()), ("knee", result.knee())):
        assert call("plot", saved, "--out", tmp_path / "x.svg", "--choose", choose)[0] == 0
        assert drawn.pop().start_hash() == plan.start_hash()
    assert result.best("energy").start_hash() != result.best("makespan").start_hash()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--choose", "energie"), "Did you mean 'energy'"),
        (("--choose", "energie", "--what", "gantt"), "Did you mean 'energy'"),
        (("--choose", "energy", "--what", "front"), "--choose energy is for a picture that shows a plan"),
    ],
)
def test_a_choice_of_nothing_is_refused(
    options: tuple[str, ...], said: str, saved: Path, call: Callable[..., Any], tmp_path: Path
) -> None:
    """Tests that an unknown plan, and a plan for a picture without one, are refused before anything is drawn."""
    status, _, err = call("plot", saved, "--out", tmp_path / "x.svg", *options)
    assert status == 2
    assert said in err
    assert not (tmp_path / "x.svg").exists()
