"""Every notebook is a pair: a script to read and compare, and the same cells to open, without their outputs."""

from __future__ import annotations

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
    """Tests that script and notebook have the same cells; `jupytext --to ipynb SCRIPT` renews the notebook."""
    import jupytext
    import nbformat

    cells = nbformat.read(script.with_suffix(".ipynb"), as_version=4).cells
    expected = jupytext.read(script).cells
    assert [(cell.cell_type, cell.source) for cell in cells] == [(cell.cell_type, cell.source) for cell in expected]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(script: Path) -> None:
    """Tests that a notebook holds neither outputs nor counts, and reduces itself for the gate."""
    import nbformat

    notebook = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert "FEDSCHED_BUDGET" in script.read_text(encoding="utf-8")
