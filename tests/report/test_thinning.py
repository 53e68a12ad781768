"""A page of more jobs than an eye resolves: the largest are drawn, the others shaded, and every sum is of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.report_cases import all_drawn, data_of, unpacked

import fedsched as fs
from fedsched.model.schedule.schedule import Schedule
from fedsched.report import of_schedules, page, plan_data
from fedsched.report.plan_data import tick_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROOM = 4000


@pytest.fixture
def thinned(many_jobs: Schedule, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the page of ten thousand jobs where there is room for four thousand."""
    monkeypatch.setattr(plan_data, "MOST_DRAWN", ROOM)
    return page(of_schedules([many_jobs]))


def test_the_largest_jobs_are_kept(many_jobs: Schedule, thinned: str) -> None:
    """Tests that the page holds start, finish and nodes of the jobs of most node-seconds, and says how many."""
    data = data_of(thinned)
    jobs, plan = unpacked(data["jobs"]), unpacked(data["entries"][0]["plan"])
    work = many_jobs.workload.tasks * many_jobs.workload.runtime
    kept = np.sort(np.argsort(-work, kind="stable")[: ROOM // 2])
    np.testing.assert_array_equal(jobs["id"], many_jobs.workload.id[kept])
    np.testing.assert_allclose(plan["start"] * data["tick"], (many_jobs.start - many_jobs.t0)[kept], atol=data["tick"])
    assert plan["pieces"].min() == 1
    share = f"{100 * work[kept].sum() / work.sum():.1f}\u00a0%"
    assert f"Of 10,000 jobs the 2,000 of most node-hours, {share} of the work, are drawn" in thinned
    assert "every sum is of all jobs" in thinned


def test_bars_and_shading_hold_all_the_work(many_jobs: Schedule, thinned: str) -> None:
    """Tests that what the bars and the shaded cells cover are the node-seconds of all jobs, cluster by cluster."""
    plan = data_of(thinned)["entries"][0]["plan"]
    about, columns = plan["thinned"], unpacked(plan)
    cells = columns["shade"].reshape(about["firstRows"][-1], about["columns"]) / (plan_data.LEVELS - 1)
    shaded = cells.sum(axis=1) * about["nodes"] * about["seconds"]
    run = (columns["finish"] - columns["start"]) * data_of(thinned)["tick"]
    drawn = np.repeat(run, columns["pieces"]) * columns["nodes"]
    for cluster in range(2):
        first, last = about["firstRows"][cluster : cluster + 2]
        bars = drawn[(columns["first"] >= 100) == bool(cluster)].sum()
        all_of_it = (many_jobs.run * many_jobs.counts[:, cluster]).sum()
        assert bars + shaded[first:last].sum() == pytest.approx(all_of_it, rel=0.01)


def test_sums_and_strips_are_of_all_jobs(many_jobs: Schedule, thinned: str) -> None:
    """Tests that joules, node-seconds and the power strip's area are the metric row's, though jobs are left out."""
    plan = data_of(thinned)["entries"][0]["plan"]
    metrics = many_jobs.metrics()
    clusters = plan["sums"]["clusters"]
    assert sum(one["busyEnergy"] + one["idleEnergy"] for one in clusters) == pytest.approx(metrics.energy)
    assert sum(one["busySeconds"] for one in clusters) == pytest.approx((many_jobs.run * 4).sum())
    columns = unpacked(plan)
    area = sum(columns[f"power{k}"].astype(float).mean() for k in range(2)) * plan["sums"]["until"]
    assert area == pytest.approx(metrics.energy, rel=1e-5)


def test_bars_too_many_are_shading_too() -> None:
    """Tests that of few jobs in very many pieces each keeps its widest piece, and the largest are drawn."""
    lanes = 200
    rng = np.random.default_rng(1)
    start = np.concatenate([np.zeros(lanes), np.full(lanes, 10.0), [100.0]])
    long = np.concatenate([np.where(np.arange(lanes) % 2, 10.0, 200.0), np.full(lanes, 20.0), [5.0]])
    workload = fs.Workload(submit=np.zeros(401), tasks=[1] * 400 + [130], runtime=rng.uniform(1, 9, 401), name="comb")
    made = Schedule(workload=workload, federation=fs.Federation.of(lanes + 100), start=start, finish=start + long,
                    counts=np.array([[1]] * 400 + [[130]]), t0=0.0)  # fmt: skip
    assert len(made.node_numbers()[-1]) == 100
    plan = plan_data.plan_of(made, tick_of([made]), room=150)
    columns = unpacked(plan)
    assert plan["thinned"]["bars"] == columns["first"].size == 401
    assert columns["pieces"].tolist() == [1] * 401
    assert columns["nodes"][-1] == 31
    assert columns["on0"][-1] == 130


@pytest.mark.parametrize("seed", range(3))
def test_parts_of_the_time_keep_mean_and_most(seed: int) -> None:
    """Tests that the mean and the most of a step function in equal parts are those found instant by instant."""
    rng = np.random.default_rng(seed)
    times = np.unique(rng.integers(0, 100, 30)).astype(float)
    values = rng.uniform(0, 5, times.size)
    values[-1] = 0.0
    fine = np.arange(0, 100, 1.0)
    at = np.searchsorted(times, fine, side="right") - 1
    every = np.where(at >= 0, values[at], 0.0).reshape(20, 5)
    mean, most = plan_data.in_parts(times, values, np.linspace(0.0, 100.0, 21))
    np.testing.assert_allclose(mean, every.mean(axis=1))
    np.testing.assert_allclose(most, every.max(axis=1))


@pytest.mark.deep
def test_a_log_of_any_length_makes_a_small_page(tmp_path: Path) -> None:
    """Tests that the page of three hundred thousand jobs whose times are noise is below ten megabytes."""
    jobs, lanes = 300_000, 1000
    rng = np.random.default_rng(5)
    row = np.arange(jobs)
    start = (row // lanes) * 36_000.0 + rng.uniform(0, 6000, jobs)
    runtime = rng.uniform(60, 30_000, jobs)
    workload = fs.Workload(submit=np.zeros(jobs), tasks=np.full(jobs, 4), runtime=runtime, name="noise",
                           user=rng.integers(0, 500, jobs), estimate=runtime + rng.integers(0, 9000, jobs))  # fmt: skip
    made = Schedule(workload=workload, federation=fs.Federation.of(4 * lanes), start=start, finish=start + runtime,
                    counts=np.full((jobs, 1), 4), t0=0.0)  # fmt: skip
    told: list[tuple[int, int]] = []
    text = page(of_schedules([made, made]), progress=lambda done, total: told.append((done, total)))
    assert len(text) < 10_000_000
    assert told == sorted(told)
    assert {total for _, total in told} == {2 * jobs}
    assert len(told) > 100


# ---- in a browser ----------------------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_what_is_kept_is_found_and_what_is_not_is_said(
    open_page: Callable[..., Any], many_jobs: Schedule, thinned: str, tmp_path: Path
) -> None:
    """Tests that a kept job is found by number, of another the page says that it holds the largest alone."""
    path = tmp_path / "thinned.html"
    path.write_text(thinned, encoding="utf-8")
    view = open_page(path)
    order = np.argsort(-many_jobs.workload.runtime, kind="stable")
    kept, other = many_jobs.workload.id[order[[0, -1]]].tolist()
    view.fill("#find", str(kept))
    view.press("#find", "Enter")
    assert f"Job {kept}" in view.inner_text("#said")
    view.fill("#find", str(other))
    view.press("#find", "Enter")
    assert f"no job {other} among the largest" in view.inner_text("#found")
    assert "too small to be drawn" in view.inner_text("#gantt-legend")
    assert view.get_attribute("#gantt", "aria-label").startswith("Gantt chart of lanes: 10,000 jobs")
    view.click("#jobs summary")
    view.wait_for_selector("#job-rows tr")
    assert "The largest of 10,000 jobs of lanes by start: 1 to 50 of 2,000" in view.inner_text("#jobs-caption")
    energy = many_jobs.metrics().energy
    assert f"{energy / 3.6e9:.4g}\u00a0MWh" in view.inner_text("#energy-cards")


@pytest.mark.compiled
def test_the_zoom_ends_where_the_shading_does(open_page: Callable[..., Any], thinned: str, tmp_path: Path) -> None:
    """Tests that no window is narrower than the cells that the shading has, and that shading is drawn."""
    path = tmp_path / "thinned.html"
    path.write_text(thinned, encoding="utf-8")
    about = data_of(thinned)["entries"][0]["plan"]["thinned"]
    view = open_page(path)
    for _ in range(40):
        view.click("#time-in")
    all_drawn(view)
    label = view.get_attribute("#gantt", "aria-label")
    begin, end = (float(part.split("\u00a0")[0]) * 86400 for part in label.rpartition("from ")[2].split(" to "))
    assert end - begin == pytest.approx(256 * about["seconds"], rel=0.02)
