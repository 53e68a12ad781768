"""Every notebook is a pair: a script to read and compare, and the same cells to open, with their outputs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
SCRIPTS = sorted(FOLDER.glob("*.py"))
pytestmark = pytest.mark.needs("jupytext")


def test_there_are_notebooks() -> None:
    """Tests that the scripts below are found, and that none of the two halves is alone."""
    assert {path.stem for path in SCRIPTS} >= {"quickstart", "pareto", "your_trace", "your_algorithm"}
    assert {path.stem for path in SCRIPTS} == {path.stem for path in FOLDER.glob("*.ipynb")}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_both_halves_of_a_notebook_say_the_same(script: Path) -> None:
    """Tests that script and notebook have the same cells; `python tools/notebooks.py NAME` renews the notebook."""
    import jupytext
    import nbformat

    cells = nbformat.read(script.with_suffix(".ipynb"), as_version=4).cells
    expected = jupytext.read(script).cells
    assert [(cell.cell_type, cell.source) for cell in cells] == [(cell.cell_type, cell.source) for cell in expected]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_outputs(script: Path) -> None:
    """Tests that outputs are stored and none is an error; `python tools/notebooks.py NAME` stores them."""
    import nbformat

    notebook = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert all(cell.execution_count for cell in code)
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_begins_with_what_one_needs_to_know(script: Path) -> None:
    """Tests that title, lessons, duration and command stand first, that links lead to files, and budgets can be cut."""
    text = script.read_text(encoding="utf-8")
    first = text.split("# %% [markdown]\n")[1].split("# %%")[0]
    assert re.match(r"# # [A-Z]", first)
    assert 2 <= len(re.findall(r"^# - ", first, flags=re.MULTILINE)) <= 3
    assert int(re.search(r"(\d+) seconds cold", first)[1]) <= 120
    assert f"jupyter lab notebooks/{script.stem}.ipynb" in first
    for target in re.findall(r"\]\(([^)#\s]+)\)", text):
        assert (FOLDER / target).exists(), target
    assert "FEDSCHED_BUDGET" in text


def test_the_notebooks_are_small() -> None:
    """Tests that the folder stays below 1.5 MB."""
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 1_500_000
