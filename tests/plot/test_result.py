"""The picture of a search, and the command that draws it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched import cli
from fedsched.plot.result import draw_front

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def results() -> list[fs.Result]:
    """Return searches for a front and for one value."""
    jobs, cluster = fs.Workload.example().head(30), fs.Federation.example()
    return [
        fs.optimize(jobs, cluster, evaluations=600, objectives=objectives, baselines=("fcfs", "easy"))
        for objectives in (("makespan", "energy"), ("bounded_slowdown",))
    ]


def test_a_result_draws_itself(results: list[fs.Result]) -> None:
    """Tests that the page has the front or the bars, the progress and the Gantt chart, with what they show named."""
    for result in results:
        figure = result.plot()
        labels = [ax.get_xlabel() for ax in figure.axes[:2]]
        assert result.objectives[0].replace("_", " ") in labels[0]
        assert "evaluations" in labels[1]
        assert len(figure.axes) >= 3
    front = draw_front(results[0]).axes[0]
    assert "energy" in front.get_ylabel()
    drawn = {line.get_label() for line in front.lines}
    assert "memetic" in drawn


def test_a_search_that_never_began_says_so(results: list[fs.Result]) -> None:
    """Tests that a result whose time was over before the first evaluation is drawn, with a word in place of a curve."""
    progress = replace(results[0], history=()).plot().axes[1]
    assert [text.get_text() for text in progress.texts] == ["the time was over before the search began"]


def test_what_is_maximised_rises() -> None:
    """Tests that of utilisation the most counts: in the progress, on the front and its knee, and among the bars."""
    jobs, cluster = fs.Workload.example().head(30), fs.Federation.example()
    result = fs.optimize(
        jobs, cluster, evaluations=600, objectives=("utilisation", "energy"), baselines=("fcfs", "easy")
    )  # fmt: skip
    assert len({moment.best[0] for moment in result.history}) > 1
    front, progress = result.plot().axes[:2]
    shown = progress.lines[0].get_ydata()
    assert shown[-1] == result.value("utilisation") > shown[0]
    drawn = next(line for line in front.lines if line.get_label() == "memetic")
    assert sorted(drawn.get_xdata()) == sorted(result.front.values[:, 0])
    assert {"fcfs", "easy"} <= {line.get_label() for line in front.lines}
    single = fs.optimize(jobs, cluster, evaluations=600, objectives="utilisation", baselines=("fcfs", "easy"))
    bars = draw_front(single).axes[0].patches
    assert [bar.get_width() for bar in bars] == sorted(bar.get_width() for bar in bars)  # the best is on top


def test_the_command_draws_a_saved_result(results: list[fs.Result], tmp_path: Path) -> None:
    """Tests each kind of picture, and the error for a file that is no result."""
    path = tmp_path / "result.json"
    results[0].save(path)
    for what in ("all", "front", "gantt"):
        picture = tmp_path / f"{what}.png"
        assert cli.run(["plot", str(path), "--out", str(picture), "--what", what]) == 0
        assert picture.read_bytes().startswith(b"\x89PNG")
    path.write_text("no")
    assert cli.run(["plot", str(path), "--out", str(tmp_path / "x.png")]) == 2


def test_optimize_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that the command's JSON is what the library finds, and that what it wrote can be read."""
    import json

    saved, plan = tmp_path / "result.json", tmp_path / "plan.csv"
    arguments = ["optimize", "sample", "--head", "30", "--federation", "example", "--evaluations", "600", "--json"]
    assert cli.run([*arguments, "--save", str(saved), "--out", str(plan), "--seed", "4"]) == 0
    said = json.loads(capsys.readouterr().out)
    jobs = fs.Workload.example().head(30)
    library = fs.optimize(jobs, fs.Federation.example(), evaluations=600, seed=4)
    assert said["front"] == library.front.values.tolist()
    result = fs.Result.load(saved)
    assert result.front.values.tolist() == said["front"]
    schedule = fs.Schedule.read(plan, result.workload, result.federation)
    assert schedule.start_hash() == result.knee().start_hash()
    assert cli.run(["optimize", "sample", "--objective", "makespn"]) == 2
    assert "Did you mean 'makespan'" in capsys.readouterr().err
