"""The Gantt chart shows every job where it ran."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import fedsched as fs
from fedsched.generate import lublin
from fedsched.model.schedule.lost import finished_runs
from fedsched.plot import gantt, load

if TYPE_CHECKING:
    from pathlib import Path


def schedule() -> fs.Schedule:
    """Return forty jobs on three clusters, some of them on more than one."""
    jobs = lublin(40, 20, seed=2, load=1.5).with_communication(bandwidth=1e6, seed=1)
    return fs.simulate(jobs, fs.Federation.of(10, 6, 4, uplink=5e6), "easy")


def test_the_bars_cover_the_busy_node_seconds() -> None:
    """The bars' area, in nodes times the axis' unit, is the schedule's busy time."""
    made = schedule()
    assert made.coallocated.any()
    axes = made.plot()
    area = 0.0
    for collection in axes.collections:
        if isinstance(collection, PolyCollection):
            for path in collection.get_paths():
                box = path.get_extents()
                area += box.width * box.height
    unit = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}[axes.get_xlabel().rpartition(" ")[2]]
    assert area * unit == pytest.approx((made.run * made.workload.tasks).sum())


def test_the_same_schedule_gives_the_same_picture(tmp_path: Path) -> None:
    """SVG bytes depend on the schedule alone; a PNG comes out too."""
    for name in ("a.svg", "b.svg", "c.png"):
        schedule().gantt(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_a_wrong_suffix_is_refused(tmp_path: Path) -> None:
    """A picture that is no picture is an error, and nothing is written."""
    with pytest.raises(fs.errors.OutputError, match="a chart must be"):
        schedule().gantt(tmp_path / "plan.txt")
    assert not list(tmp_path.iterdir())


def test_the_strips_show_what_was_there() -> None:
    """Power and link load are those of the jobs that run at each instant: ends and starts of it are one step."""
    made = schedule()
    fig = gantt.figure(made)
    fig.canvas.draw()
    _, load, power = fig.axes
    unit, _ = gantt.time_unit(made.makespan)
    clusters = np.array(made.federation.group_cluster)
    jobs = made.workload
    assert len(set(made.finish) & set(made.start)) > 5
    peaks = []
    for k, cluster in enumerate(made.federation.clusters):
        here = made.counts[:, clusters == k].sum(axis=1)
        share = np.where(here < jobs.tasks, here * (jobs.tasks - here) / np.maximum(jobs.tasks - 1, 1), 0.0)
        line = next(line for line in load.lines if line.get_label() == cluster.name)
        peaks.append(max(line.get_ydata()))
        for time, drawn in zip(*line.get_data(), strict=True):
            # A little after the step, so that rounding of the axis' unit does not matter.
            running = (made.start <= made.t0 + time * unit + 1e-3) & (made.t0 + time * unit + 1e-3 < made.finish)
            expected = (share * jobs.task_bandwidth)[running].sum() / cluster.uplink
            assert drawn == pytest.approx(expected, abs=1e-9)
    assert max(peaks) > 0
    full = sum(group.busy_watts * group.count for group in made.federation.groups)
    watts = {"power, kW": 1e3, "power, W": 1.0}[power.get_ylabel()]
    top = max(path.get_extents().y1 for path in power.collections[0].get_paths())
    assert top * watts <= full * (1 + 1e-9)


def test_the_power_strip_holds_the_energy() -> None:
    """The area under the power is the schedule's energy."""
    made = fs.simulate(
        fs.Workload(submit=[0, 0, 5, 9], tasks=[3, 2, 4, 1], runtime=[5, 5, 4, 2]),
        fs.Federation.homogeneous(4, busy_watts=200, idle_watts=50),
    )
    times, extra = gantt.steps_of(finished_runs(made), made.counts @ np.array([150.0]), made.t0, 1.0)
    assert (np.diff(times) * (extra[:-1] + 4 * 50)).sum() == pytest.approx(made.metrics().energy)


def test_labels_do_not_collide() -> None:
    """A job's number is written only in a bar that has room for it."""
    jobs = fs.Workload.example().head(40)
    axes = gantt.draw(fs.simulate(jobs, fs.Federation.example(), "easy"))
    axes.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert 10 < len(boxes) < 40
    assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]
    many = gantt.draw(fs.simulate(fs.Workload.example().head(gantt.LABELLED_JOBS + 1), fs.Federation.example(), "easy"))
    assert not many.texts


def test_slivers_have_no_edge_of_their_own() -> None:
    """Bars too small to see bear no black edge, which would hide their neighbours; those that are large do."""
    jobs = fs.Workload(submit=[0, 0], tasks=[3, 3], runtime=[1, 9999])
    axes = gantt.draw(fs.simulate(jobs, fs.Federation.of(2, 2), "fcfs"))
    edges = {tuple(bars.get_edgecolor()[0]) for bars in axes.collections if isinstance(bars, PolyCollection)}
    assert len(edges) == 2
    marked = [bars for bars in axes.collections if bars.get_label() == "on more than one cluster"]
    assert [len(bars.get_paths()) for bars in marked] == [2]
    assert "2 on more than one cluster" in axes.get_title(loc="left")


@pytest.mark.parametrize(
    ("joules", "text"), [(0, "0 J"), (3600, "1 Wh"), (9e6, "2.5 kWh"), (6.4e11, "177.8 MWh"), (7.2e12, "2 GWh")]
)
def test_energies_read_well(joules: float, text: str) -> None:
    """Energies are written in a unit that keeps them short."""
    assert gantt.energy_text(joules) == text


def test_a_part_of_a_schedule_is_drawn() -> None:
    """What an interrupted run leaves can be drawn, even where no job has finished yet."""
    made = schedule()
    for done in (0, 7):
        finish = np.where(np.arange(len(made)) < done, made.finish, np.nan)
        part = fs.Schedule(workload=made.workload, federation=made.federation, start=made.start, finish=finish,
                           counts=made.counts, t0=made.t0, policy="easy")  # fmt: skip
        fig = gantt.figure(part)
        fig.canvas.draw()
        assert f"{done} of 40 jobs" in fig.axes[0].get_title(loc="left")


def test_no_state_is_left_behind(tmp_path: Path) -> None:
    """Drawing imports no pyplot, whose figures would pile up, and draws into the axes it is given."""
    code = (
        "import sys, fedsched as fs; jobs = fs.Workload(submit=[0], tasks=[1], runtime=[5]); "
        f"fs.simulate(jobs, fs.Federation.homogeneous(1)).gantt({str(tmp_path / 'a.png')!r}); "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    mine = Figure().add_subplot()
    assert gantt.draw(schedule(), mine) is mine


def test_jobs_that_take_turns_make_no_peak() -> None:
    """Where each job starts at the instant at which another one ends, the strips never show both."""
    jobs = fs.Workload(submit=np.zeros(12), tasks=[4] * 12, runtime=[0.1, 0.3, 1 / 3] * 4)
    made = fs.simulate(jobs, fs.Federation.homogeneous(4, busy_watts=200, idle_watts=50), "fcfs")
    assert len(set(made.start) & set(made.finish)) == 11
    times, extra = gantt.steps_of(finished_runs(made), made.counts @ np.array([150.0]), made.t0, 1.0)
    assert times.size == 13
    assert extra[:-1] == pytest.approx(4 * 150.0)
    assert extra[-1] == pytest.approx(0, abs=1e-9)


def test_jobs_that_never_started_are_left_out() -> None:
    """A schedule whose last jobs have neither start nor finish is drawn with the rest, strips included."""
    made = schedule()
    done = np.arange(len(made)) < 25
    part = fs.Schedule(
        workload=made.workload, federation=made.federation, start=np.where(done, made.start, np.nan),
        finish=np.where(done, made.finish, np.nan), counts=np.where(done[:, None], made.counts, 0), t0=made.t0,
        policy="easy",
    )  # fmt: skip
    fig = gantt.figure(part)
    fig.canvas.draw()
    assert "25 of 40 jobs" in fig.axes[0].get_title(loc="left")
    for ax in fig.axes[1:-1]:
        assert all(np.isfinite(np.column_stack(line.get_data())).all() for line in ax.lines)
    runs = finished_runs(part)
    times, extra = gantt.steps_of(runs, runs.counts.sum(axis=1).astype(float), part.t0, 1.0)
    assert np.isfinite(times).all()
    assert extra.max() <= 20
    area = (np.diff(times) * extra[:-1]).sum()
    assert area == pytest.approx((part.run * part.workload.tasks)[done].sum())


def test_more_bars_than_an_eye_resolves_are_shading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too many bars the largest are drawn, the others shade cells that hold as many node-seconds, and it is said."""
    made = schedule()
    monkeypatch.setattr(gantt, "MOST_BARS", 20)
    axes = made.plot()
    bars = [path.get_extents() for bars in axes.collections if isinstance(bars, PolyCollection)
            for path in bars.get_paths()]  # fmt: skip
    assert len(bars) == 20
    area = sum(box.width * box.height for box in bars)
    for picture in axes.images:
        left, right, low, high = picture.get_extent()
        cells = picture.get_array()[:, :, 3]
        area += cells.mean() * (right - left) * (low - high)
    unit, _ = gantt.time_unit(made.makespan)
    assert area * unit == pytest.approx((made.run * made.workload.tasks).sum(), rel=1e-6)
    assert "the 20 largest of " in axes.get_title(loc="left")


def test_strips_of_many_steps_keep_their_area(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too many steps the mean in equal parts of the time is drawn: the same area under few of them."""
    made = schedule()
    extra = made.counts.sum(axis=1).astype(float)
    monkeypatch.setattr(gantt, "MOST_STEPS", 20)
    times, drawn = gantt.few_steps(*gantt.steps_of(finished_runs(made), extra, made.t0, 1.0), made.makespan)
    assert times.size == 11
    assert (np.diff(times) * drawn[:-1]).sum() == pytest.approx((made.run * made.workload.tasks).sum())
    _, most = gantt.few_steps(*gantt.steps_of(finished_runs(made), extra, made.t0, 1.0), made.makespan, most=True)
    assert most.max() == gantt.steps_of(finished_runs(made), extra, made.t0, 1.0)[1].max()


def test_jobs_that_touch_differ_in_colour() -> None:
    """Tests that neighbours in time or on nodes differ, where the colours of the rows alone are equal for some."""
    jobs = fs.Workload(submit=np.zeros(200), tasks=np.arange(200) % 5 + 1, runtime=np.arange(200) * 7 % 90 + 60)
    made = fs.simulate(jobs, fs.Federation.of(10, 6, 4), "easy")
    collections = [one for one in made.plot().collections if isinstance(one, PolyCollection)]
    boxes = [
        (*path.get_extents().extents, tuple(colour))
        for one in collections
        for path, colour in zip(one.get_paths(), one.get_facecolors(), strict=True)
    ]
    touching = same = 0
    for k, (x0, y0, x1, y1, colour) in enumerate(boxes):
        for a0, b0, a1, b1, other in boxes[:k]:
            beside = min(y1, b1) > max(y0, b0) and (x0 == a1 or x1 == a0)
            above = min(x1, a1) > max(x0, a0) and (y0 == b1 or y1 == b0)
            touching += beside or above
            same += (beside or above) and colour == other
    assert touching > 400
    assert same == 0


def shared(jobs: int = 40, nodes: int = 6) -> fs.Schedule:
    """Return jobs that share nodes of 8 cores, some of them exclusive."""
    draw = np.random.default_rng(4)
    workload = fs.Workload(
        submit=np.sort(draw.integers(0, 3000, jobs)), tasks=draw.choice([1, 2, 5], jobs),
        runtime=draw.integers(60, 900, jobs), demand={"cpu": draw.choice([1, 3, 4], jobs)},
        layout={"exclusive": (draw.random(jobs) < 0.2).astype(int)},
    )  # fmt: skip
    return fs.simulate(workload, fs.NodeGroup(nodes, resources={"cpu": 8}), "easy", sharing="first")


def boxes_of(axes: Any) -> list[tuple[float, float, float, float]]:
    """Return left, right, top and bottom of each bar of a chart."""
    paths = [path for bars in axes.collections if isinstance(bars, PolyCollection) for path in bars.get_paths()]
    return [(box.x0, box.x1, box.y0, box.y1) for box in (path.get_extents() for path in paths)]


def test_bars_of_shared_nodes_cover_their_share() -> None:
    """Bars are as high as their jobs' shares of cores, do not overlap, and cover the busy node-seconds."""
    made = shared()
    axes = made.plot()
    unit, _ = gantt.time_unit(made.makespan)
    boxes = boxes_of(axes)
    area = sum((right - left) * (bottom - top) for left, right, top, bottom in boxes) * unit
    assert area == pytest.approx(made.metrics().utilisation * made.makespan * made.federation.nodes)
    for i, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[:i]:
            beside = right <= other[0] + 1e-9 or other[1] <= left + 1e-9
            assert beside or bottom <= other[2] + 1e-9 or other[3] <= top + 1e-9
    assert "a bar's height is its job's share of the node's cores" in axes.get_title(loc="left")
    assert [text.get_text() for text in axes.get_yticklabels(minor=True)] == ["0", "1", "2", "3", "4", "5"]


def test_bars_that_touch_differ_in_colour() -> None:
    """Bars beside each other on a node, or one after the other, have different colours if eight colours suffice."""
    axes = shared().plot()
    bars = [
        (*boxes, tuple(colour))
        for one in axes.collections if isinstance(one, PolyCollection)
        for boxes, colour in zip(boxes_of(SimpleNamespace(collections=[one])), one.get_facecolor(), strict=True)
    ]  # fmt: skip
    touching = alike = 0
    for i, (left, right, top, bottom, colour) in enumerate(bars):
        for other in bars[:i]:
            if abs(bottom - other[2]) < 1e-9 or abs(top - other[3]) < 1e-9:
                beside = left < other[1] - 1e-9 and other[0] < right - 1e-9
                touching += beside
                alike += beside and colour == other[4]
    assert touching > 20
    assert alike < touching / 5  # the parts of one job, and little else


def test_shared_nodes_can_be_saved(tmp_path: Path) -> None:
    """Equal schedules give equal bytes; the power beneath holds the schedule's energy; bars may be shading."""
    for name in ("a.svg", "b.svg", "c.png"):
        shared().gantt(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    made = shared()
    power = made.power()
    assert (np.diff(power.times) * power.total[:-1]).sum() == pytest.approx(made.metrics().energy)


def test_many_bars_of_shared_nodes_are_shading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too many bars the largest are drawn; the chart of more nodes has neither lines between them nor numbers."""
    monkeypatch.setattr(gantt, "MOST_BARS", 10)
    axes = shared(nodes=70).plot()
    assert len(boxes_of(axes)) == 10
    assert len(axes.images) == 1
    assert "the 10 largest of" in axes.get_title(loc="left")
    assert not axes.get_yticklabels(minor=True)


def test_watts_of_clusters_follow_the_share_of_cores() -> None:
    """The stacked power of jobs that share nodes is that of their shares of cores, not of their tasks."""
    group = fs.NodeGroup(1, resources={"cpu": 8}, busy_watts=180.0, idle_watts=100.0)
    jobs = fs.Workload(submit=[0, 0], tasks=[4, 2], runtime=[60, 60])
    axes = load.power(fs.simulate(jobs, group, "fcfs", sharing="first"))
    assert max(path.get_extents().y1 for path in axes.collections[0].get_paths()) == pytest.approx(160.0)
