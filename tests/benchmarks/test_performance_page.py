"""The figures of README and of the page on performance are what the benchmarks recorded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support import outside

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

BENCHMARKS = outside.BENCHMARKS


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the generator, found as when it is run from its folder."""
    return outside.benchmark(monkeypatch, "performance_page", "measuring")


@pytest.fixture
def apart(generator: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the generator over copies of its files, with nothing measured yet."""
    for name, path in (("README", generator.README), ("PAGE", generator.PAGE), ("KEPT", generator.KEPT)):
        copy = tmp_path / path.name
        copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
        monkeypatch.setattr(generator, name, copy)
    monkeypatch.setattr(generator, "MEASURED", tmp_path / "out" / "figures.json")
    return generator


def test_pages_have_the_recorded_figures(generator: ModuleType) -> None:
    """Tests that README's figures and the page's table are what benchmarks/figures.json gives, in the repository."""
    assert generator.main(["--check"]) == 0


def test_the_readme_has_five_figures(generator: ModuleType) -> None:
    """Tests that README shows five figures, and each is in the table too, with its command."""
    readme = generator.README.read_text(encoding="utf-8")
    begin, end = generator.LINES
    assert readme.partition(begin)[2].partition(end)[0].count("\n- **") == 5

    def named(texts: list[str]) -> set[tuple[str, str]]:
        return {match.group(1, 2) for text in texts for match in generator.FIELD.finditer(text)}

    assert named(generator.FIVE) <= named([row.what + row.figure for row in generator.ROWS])


def test_every_row_names_a_command_that_is_there(generator: ModuleType) -> None:
    """Tests that the benchmark beside each figure exists."""
    commands = [generator.command_of(row) for row in generator.ROWS if not row.command]
    scripts = [command.removeprefix("python benchmarks/") for command in commands]
    assert len(scripts) > 10
    assert [name for name in scripts if not (BENCHMARKS / name).exists()] == []


def test_a_figure_edited_by_hand_is_found(apart: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that --check refuses a figure that was not recorded, on either page, and leaves the page as it is."""
    for path in (apart.README, apart.PAGE):
        page = path.read_text(encoding="utf-8")
        edited = page.replace(" jobs a second", "0 jobs a second", 1)
        assert edited != page
        path.write_text(edited, encoding="utf-8")
        assert apart.main(["--check"]) == 1
        out = capsys.readouterr().out
        assert path.name in out
        assert "performance_page.py" in out
        assert path.read_text(encoding="utf-8") == edited
        assert apart.main(["--keep"]) == 0
        assert path.read_text(encoding="utf-8") == page


def test_new_figures_take_the_place_of_old_ones(apart: ModuleType) -> None:
    """Tests the way of a figure: recorded by a run, kept beside the benchmarks, shown on both pages."""
    from measuring import record

    record("bench_replay", {"hpc2n_easy": 7_654_321.0, "new": [0.123456, 2]}, apart.MEASURED)
    assert apart.main([]) == 0
    kept = json.loads(apart.KEPT.read_text(encoding="utf-8"))
    assert kept["bench_replay"]["hpc2n_easy"] == 7_654_000
    assert kept["bench_replay"]["new"] == [0.1235, 2]
    assert "hpc2n_jobs" in kept["bench_replay"]
    assert "bench_startup" in kept
    assert "| 7.7 million jobs a second |" in apart.PAGE.read_text(encoding="utf-8")
    assert " 7.7 million jobs a second " in apart.README.read_text(encoding="utf-8")
    assert apart.main(["--check"]) == 0


def test_what_a_benchmark_recorded_before_stays(generator: ModuleType, tmp_path: Path) -> None:
    """Tests that a second record adds names, and exchanges those it has."""
    from measuring import record, recorded

    path = tmp_path / "out" / "figures.json"
    assert recorded(path) == {}
    record("one", {"a": 1.0, "b": 2.0}, path)
    record("one", {"b": 3.0}, path)
    record("two", {"a": 4.5}, path)
    assert recorded(path) == {"one": {"a": 1.0, "b": 3.0}, "two": {"a": 4.5}}


def test_a_figure_that_nobody_recorded_is_named(generator: ModuleType) -> None:
    """Tests that a row without its figure says which benchmark to run."""
    with pytest.raises(SystemExit, match=r"'hpc2n_jobs' of bench_replay .* run python benchmarks/bench_replay"):
        generator.table({})


def test_a_page_without_markers_is_refused(apart: ModuleType) -> None:
    """Tests that the table goes nowhere but between its markers."""
    apart.PAGE.write_text("# A page\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="table: begin"):
        apart.main(["--keep"])


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (202871, "whole", "202,871"),
        (2_512_000, "big", "2.5 million"),
        (158_900, "big", "159,000"),
        (2534, "big", "2,500"),
        (0.4, "1", "0.4"),
        (0.996, "2", "1.0"),
        (267.4, "3", "267"),
        (238.1, "2", "240"),
        (-3.14, "2", "-3.1"),
        (0, "2", "0"),
        (1.2e-7, "2", "0"),
        ([0.93, 0.612, 1.0], "range", "0.6–1.0"),
        ([670, 3210.4], "range", "670–3,210"),
        ([2.0, 2.0], "range", "2.0"),
    ],
)
def test_figures_are_rounded_as_their_form_says(
    generator: ModuleType, value: float | list[float], form: str, text: str
) -> None:
    """Tests how figures are written."""
    assert generator.shown(value, form) == text
