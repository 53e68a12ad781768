"""Bounds that say nothing are not printed, and no gap is measured to them; those that say something are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.bounds.cost.charges import is_useful

if TYPE_CHECKING:
    from pathlib import Path

CLUSTER = fs.Federation.homogeneous(4)


@pytest.fixture
def free() -> fs.Workload:
    """Return jobs none of which needs to wait."""
    return fs.Workload(submit=[0, 100], tasks=[4, 4], runtime=[30, 20])


@pytest.fixture
def crowded() -> fs.Workload:
    """Return jobs of which only one can run at a time."""
    return fs.Workload(submit=[0, 0, 0], tasks=[4, 4, 4], runtime=[30, 20, 10])


def test_what_every_schedule_meets_says_nothing() -> None:
    """Tests that a wait of 0, a slowdown of 1 and what is not known are trivial, and all above them is not."""
    assert not any(is_useful(name, 1.0) for name in ("mean_slowdown", "bounded_slowdown", "weighted_slowdown"))
    assert not is_useful("mean_wait", 0.0)
    assert not is_useful("makespan", float("nan"))
    assert is_useful("makespan", 1.0)
    assert is_useful("bounded_slowdown", 1.5)


def test_no_gap_to_a_trivial_bound(free: fs.Workload, crowded: fs.Workload) -> None:
    """Tests that gaps exist where jobs must wait, and to a wait of nothing or a slowdown of 1 never."""
    easy, hard = lower_bounds(free, CLUSTER), lower_bounds(crowded, CLUSTER)
    assert easy.gap("mean_wait", 5.0) != easy.gap("mean_wait", 5.0)
    assert hard.gap("mean_wait", 2 * hard.of("mean_wait")) == pytest.approx(1.0)
    assert easy.of("bounded_slowdown") == 1.0
    assert easy.gap("bounded_slowdown", 3.0) != easy.gap("bounded_slowdown", 3.0)
    assert hard.gap("bounded_slowdown", 3.0) == pytest.approx(1.0, rel=0.05)


def test_results_print_what_says_something(free: fs.Workload, crowded: fs.Workload, tmp_path: Path) -> None:
    """Tests that a result's table, page and picture have a bound and a gap where they are proof of anything only."""
    for jobs, name, shown in (
        (free, "bounded_slowdown", False), (crowded, "bounded_slowdown", True),
        (free, "mean_wait", False), (crowded, "mean_wait", True),
    ):  # fmt: skip
        result = fs.optimize(jobs, CLUSTER, objectives=name, evaluations=50, submits="keep")
        result = replace(result, front=replace(result.front, values=result.front.values + 1.0))
        assert ("lower bound" in str(result)) == shown
        assert ("gap of the best" in str(result)) == shown
        assert (result.gap() == result.gap()) == shown
        result.report(tmp_path / "r.html")
        page = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert ("<td>lower bound" in page or 'row">lower bound' in page) == shown
        assert ("above the optimum" in page) == shown
        assert (f'"bounds":{{"{name}"' in page.replace('": ', '":')) == shown
        lines = [line.get_label() for ax in result.plot().axes for line in ax.lines]
        assert ("lower bound" in lines) == shown


def test_a_comparison_measures_no_gap_to_a_trivial_bound(crowded: fs.Workload) -> None:
    """Tests that a table of methods has a gap where jobs must wait and none where they need not."""
    alone = crowded.head(1)
    instances = [fs.Instance(f"{len(jobs)} jobs", jobs, CLUSTER, ("bounded_slowdown",)) for jobs in (crowded, alone)]
    rows = fs.compare(instances, ("easy",), range(1), fs.Budget(evaluations=1)).table().rows
    assert [row.kind for row in rows] == ["bound", ""]
