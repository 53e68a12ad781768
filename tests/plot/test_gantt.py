"""The Gantt chart shows every job where it ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from matplotlib.collections import PolyCollection

import fedsched as fs
from fedsched.generate import lublin

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
    with pytest.raises(fs.errors.OutputError, match="a chart is"):
        schedule().gantt(tmp_path / "plan.txt")
    assert not list(tmp_path.iterdir())
