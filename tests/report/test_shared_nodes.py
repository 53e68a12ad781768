"""The report of jobs that share nodes: bars as high as their shares, sums of the metrics, and what the pointer says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.report_cases import all_drawn, data_of, unpacked

import fedsched as fs
from fedsched.plot.gantt import link_load
from fedsched.report import of_schedules, page, plan_data, repeat_code, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fedsched.engine.sharing.result import SharedSchedule

CALENDAR = (
    fs.Downtime("a", 400.0, 900.0, nodes="1-2"),
    fs.Downtime("b", 600.0, 1000.0, nodes="0", kind="outage", on_running="requeue"),
)


def jobs(many: int, seed: int = 3) -> fs.Workload:
    """Return random jobs, each of which takes some cores per task."""
    draw = np.random.default_rng(seed)
    return fs.Workload(
        submit=np.sort(draw.integers(0, 12 * many, many)),
        tasks=draw.choice([1, 2, 6], many),
        runtime=draw.integers(60, 500, many),
        demand={"cpu": draw.choice([1, 2, 4], many)},
        name="shares",
    )


def machine(*calendar: fs.Downtime, watts: tuple[float, float] = (200.0, 80.0)) -> fs.Federation:
    """Return two clusters: four nodes of 8 cores, and two of 12."""
    busy, idle = watts
    groups = [fs.NodeGroup(n, 1.0, busy, idle, resources={"cpu": cores}) for n, cores in ((4, 8), (2, 12))]
    return fs.Federation((fs.Cluster("a", groups[:1]), fs.Cluster("b", groups[1:])), name="m", calendar=calendar)


@pytest.fixture(scope="module")
def schedule() -> SharedSchedule:
    """Return forty jobs on nodes some of which close, and lose jobs."""
    return fs.simulate(jobs(40), machine(*CALENDAR), "easy", sharing="best")


def test_ranges_are_the_shares(schedule: SharedSchedule) -> None:
    """Tests that the page's ranges of nodes and cores are those that jobs took, with their tasks."""
    data = data_of(page(of_schedules([schedule])))
    columns, use = unpacked(data["entries"][0]["plan"]), schedule.use
    assert [(one["name"], [(g["count"], g["cores"]) for g in one["groups"]]) for one in data["clusters"]] == [
        ("a", [(1, 8), (2, 8), (1, 8)]), ("b", [(1, 12), (1, 12)])
    ]  # fmt: skip
    assert "scattered" in data["clusters"][0]
    found: dict[tuple[int, int], int] = {}
    row = np.repeat(np.arange(len(schedule)), columns["pieces"]).tolist()
    names = ("first", "nodes", "low", "high", "tasks")
    for job, first, nodes, low, high, tasks in zip(row, *(columns[name].tolist() for name in names), strict=True):
        for node in range(first, first + nodes):
            found[job, node] = found.get((job, node), 0) + high - low
            assert use.tasks[(use.job == job) & (use.node == node)].tolist() == [tasks]
    each = schedule.workload.demand.columns()["cpu"]
    rows = zip(use.job.tolist(), use.node.tolist(), use.tasks.tolist(), strict=True)
    assert found == {(job, node): tasks * int(each[job]) for job, node, tasks in rows}
    assert columns["lostJob"].size >= schedule.lost.runs > 0
    assert columns["closedFirst"].size
    for k, nodes in enumerate((range(4), range(4, 6))):
        counts = [len({*schedule.nodes_of(job)} & {*nodes}) for job in range(len(schedule))]
        assert columns[f"on{k}"].tolist() == counts


@pytest.mark.parametrize("room", [plan_data.MOST_DRAWN, 20])
def test_sums_are_those_of_the_metrics(schedule: SharedSchedule, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that node-seconds and joules are the metric row's, also on a page with room for few of the jobs."""
    monkeypatch.setattr(plan_data, "MOST_DRAWN", room)
    plan, row = data_of(page(of_schedules([schedule])))["entries"][0]["plan"], schedule.metrics()
    clusters = plan["sums"]["clusters"]
    assert sum(one["busyEnergy"] + one["idleEnergy"] for one in clusters) == pytest.approx(row.energy)
    busy = row.utilisation * row.makespan * schedule.federation.nodes
    assert sum(one["busySeconds"] for one in clusters) == pytest.approx(busy)
    assert plan["sums"]["peak"] == pytest.approx(schedule.power().peak)
    assert ("thinned" in plan) == (room == 20)


def test_bars_and_shading_hold_all_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that on a page with room for few jobs, bars and shaded cells together cover the jobs' share-seconds."""
    schedule = fs.simulate(jobs(300), machine(), "easy", sharing="best")
    monkeypatch.setattr(plan_data, "MOST_DRAWN", 60)
    text = page(of_schedules([schedule]))
    data = data_of(text)
    plan = data["entries"][0]["plan"]
    about, columns = plan["thinned"], unpacked(plan)
    cells = columns["shade"].reshape(about["firstRows"][-1], about["columns"]) / (plan_data.LEVELS - 1)
    shaded = cells.sum() * about["nodes"] * about["seconds"]
    run = np.repeat((columns["finish"] - columns["start"]) * data["tick"], columns["pieces"])
    cores = np.where(columns["first"] < 4, 8, 12)
    bars = (run * columns["nodes"] * (columns["high"].astype(int) - columns["low"]) / cores).sum()
    work = schedule.use.shares.sum(axis=1) * schedule.run
    assert bars + shaded == pytest.approx(work.sum(), rel=0.02)
    kept = np.sort(np.argsort(-work, kind="stable")[:30])
    assert unpacked(data["jobs"])["id"].tolist() == schedule.workload.id[kept].tolist()
    assert f"the 30 of most node-hours, {100 * work[kept].sum() / work.sum():.1f}\u00a0% of the work" in text


def test_words_count_tasks(schedule: SharedSchedule) -> None:
    """Tests that the page says tasks, not nodes, of what jobs ask for, and how much of each resource was in use."""
    text = page(of_schedules([schedule]))
    assert "40 jobs, 1 to 6 tasks each" in text
    assert '<th scope="col">tasks</th>' in text
    assert re.search(r"cpu: [\d.]+% in use", text)
    assert "40 jobs, 1 to 6 nodes each" in page(of_schedules([fs.simulate(jobs(40), machine(), "easy")]))


@pytest.mark.parametrize("sharing", ["best", fs.NodeSharing(choice="pack", reservation="nodes")])
def test_the_code_shares_nodes(sharing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the page's Python makes the schedule again, with its rules of sharing."""
    monkeypatch.chdir(tmp_path)
    fs.write(jobs(20), "log.csv")
    machine().write("federation.toml")
    workload, federation = fs.read("log.csv"), fs.read_federation("federation.toml")
    schedule = fs.simulate(workload, federation, "easy", placement="best_fit", sharing=sharing)
    names: dict[str, Any] = {}
    exec(repeat_code.python_of(of_schedules([schedule])), names)
    assert names["schedule"] == schedule
    assert names["schedule"].sharing == schedule.sharing


def test_whole_and_shared_nodes_stand_on_the_same_rows() -> None:
    """Tests that schedules with and without sharing are on one page, each node in its own row."""
    workload, calendar = jobs(20), (fs.Downtime("a", 10.0, 2000.0, nodes="1"),)
    whole = fs.simulate(workload, machine(*calendar), "easy")
    shared = fs.simulate(workload, machine(*calendar), "easy", sharing="first")
    plans = [unpacked(one["plan"]) for one in data_of(page(of_schedules([whole, shared])))["entries"]]
    assert ["low" in plan for plan in plans] == [False, True]
    for plan in plans:
        assert (plan["closedFirst"].tolist(), plan["closedNodes"].tolist()) == ([1], [1])
    numbers = [node for first, last in whole.node_numbers()[0] for node in range(first, last + 1)]
    ranges = [(plans[0]["first"][k], plans[0]["nodes"][k]) for k in range(plans[0]["pieces"][0])]
    assert [node for first, nodes in ranges for node in range(first, first + nodes)] == numbers


# ---- in a browser ----------------------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_pointing_says_the_share(schedule: SharedSchedule, open_page: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that the job under the pointer is told with its tasks and cores on that node, and by keyboard without."""
    one = fs.Workload(submit=[0, 0], tasks=[5, 1], runtime=[100, 100], demand={"cpu": [2, 4]})
    node = fs.NodeGroup(2, resources={"cpu": 8})
    fs.simulate(one, node, "fcfs", sharing="first").report(tmp_path / "two.html")
    canvas = (opened := open_page(tmp_path / "two.html")).locator("#gantt")
    height = canvas.bounding_box()["height"] - 24
    for share, told in (
        (0.25, ("Job 1", "5 tasks on 2 nodes", "node 0 of cluster: 4 tasks, 8 of 8 cores")),
        (0.55, ("Job 1", "node 1 of cluster: 1 task, 2 of 8 cores")),
        (0.75, ("Job 2", "1 task on 1 node", "node 1 of cluster: 1 task, 4 of 8 cores")),
    ):
        canvas.hover(position={"x": 500, "y": round(height * share)})
        opened.wait_for_function(
            "(text) => document.getElementById('job-tip').textContent.includes(text)", arg=told[-1]
        )
        assert all(text in opened.inner_text("#job-tip") for text in told)
    canvas.hover(position={"x": 500, "y": round(height * 0.95)})
    opened.wait_for_function("() => document.getElementById('job-tip').hidden")
    assert "height: the job's share of the node's cores" in opened.inner_text("#gantt-legend")
    canvas.focus()
    opened.keyboard.press("n")
    assert re.search(r"Job 1.*; 5 tasks on 2 nodes: cluster 2; starts", opened.inner_text("#said"))


@pytest.mark.compiled
def test_the_power_under_the_pointer_is_by_share(power_said: Callable[..., str]) -> None:
    """Tests that watts follow the cores in use: half a node of 100 W to 200 W beside one that is idle."""
    node = fs.NodeGroup(2, 1.0, 200.0, 100.0, resources={"cpu": 8})
    schedule = fs.simulate(fs.Workload(submit=[0], tasks=[4], runtime=[100]), node, "fcfs", sharing="first")
    assert power_said(schedule, x=400).endswith("250\u00a0W")


def talking() -> SharedSchedule:
    """Return a job of 14 tasks, 12 of them on a and 2 on b, beside one on b alone; uplinks carry 5e6 bytes/s."""
    groups = [fs.NodeGroup(1, resources={"cpu": cores}) for cores in (12, 4)]
    clusters = (fs.Cluster("a", groups[:1], 5e6), fs.Cluster("b", groups[1:], 5e6))
    jobs = fs.Workload(submit=[0, 0], tasks=[14, 1], runtime=[100, 100], task_bandwidth=1e6, compute_fraction=1.0)
    schedule = fs.simulate(jobs, fs.Federation(clusters), "fcfs", sharing="first")
    assert schedule.counts.tolist() == [[12, 2], [0, 1]]
    return schedule


def test_loads_count_tasks() -> None:
    """Tests that an uplink's load in the strip and in the sums follows from tasks: 12 x 2 / 13 of 1e6 bytes/s."""
    schedule, expected = talking(), 12 * 2 / 13 * 1e6
    for k in range(2):
        times, load = link_load(schedule, k, 1.0)
        assert (times.tolist(), load.tolist()) == ([0.0, 100.0], [pytest.approx(expected), pytest.approx(0.0)])
    plan = data_of(page(of_schedules([schedule])))["entries"][0]["plan"]
    assert [one["peakLoad"] for one in plan["sums"]["clusters"]] == [pytest.approx(expected)] * 2
    assert unpacked(plan)["loadBy1"].tolist() == [pytest.approx(expected), pytest.approx(-expected)]


@pytest.mark.compiled
def test_the_load_under_the_pointer_counts_tasks(open_page: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that the page says the load of uplinks by tasks: 36.9 % of their bandwidth."""
    talking().report(tmp_path / "load.html")
    opened = open_page(tmp_path / "load.html")
    opened.locator("#loads").hover(position={"x": 400, "y": 20})
    opened.wait_for_function("() => document.getElementById('loads-said').textContent.startsWith('at')")
    assert "a 36.9\u00a0%, b 36.9\u00a0%" in opened.inner_text("#loads-said")


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["shared", "whole"])
def test_reserved_nodes_are_drawn(name: str, open_page: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that a page with a reservation is drawn, also if jobs share nodes, and says what frames are."""
    course = fs.Downtime("a", 100.0, 500.0, nodes="1,3", kind="reservation", name="course")
    sharing = {"sharing": "first"} if name == "shared" else {}
    fs.simulate(jobs(20), machine(course), "easy", **sharing).report(tmp_path / "kept.html")
    opened = open_page(tmp_path / "kept.html")
    all_drawn(opened)
    assert "framed ground: kept by a reservation" in opened.inner_text("#gantt-legend")


@pytest.mark.compiled
def test_a_page_of_both_changes_between_them(open_page: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that the chart of shared nodes and that of whole ones can be chosen in turn, and zoomed to one node."""
    workload = jobs(20)
    plans = [fs.simulate(workload, machine(), "easy", **more) for more in ({}, {"sharing": "first"})]
    write(of_schedules(plans), tmp_path / "both.html")
    opened = open_page(tmp_path / "both.html")
    assert "the node's cores" not in opened.inner_text("#gantt-legend")
    opened.select_option("#shown-plan", index=1)
    opened.wait_for_function("() => document.documentElement.dataset.shown === '1'")
    assert "the node's cores" in opened.inner_text("#gantt-legend")
    before = opened.evaluate("document.getElementById('gantt').toDataURL()")
    for _ in range(3):
        opened.click("#rows-in")
    all_drawn(opened)
    assert opened.evaluate("document.getElementById('gantt').toDataURL()") != before
