"""Changes are told in files of their own until a release gathers them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import outside

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
BEFORE = """# Changelog

Words.

## 2.0.0 (unreleased)

The lot.

### Added
- One.

### Fixed
- Two.

## 1.0.0

### Added
- Old.
"""


@pytest.fixture
def tool() -> ModuleType:
    """Return the tool that gathers changes."""
    return outside.program("tools/changelog.py")


def test_changes_go_to_the_end_of_their_kind(tool: ModuleType, tmp_path: Path) -> None:
    """Tests that each change stands behind the others of its kind in the first section, and its file is gone."""
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes/README.md").write_text("How.\n")
    (tmp_path / "changes/b.added.md").write_text("Three, which\nis long.\n")
    (tmp_path / "changes/a.changed.md").write_text("Four " * 40 + "\n")
    (tmp_path / "CHANGELOG.md").write_text(BEFORE)
    assert tool.main(tmp_path) == 0
    said = (tmp_path / "CHANGELOG.md").read_text()
    first = said[: said.index("## 1.0.0")]
    assert "### Added\n- One.\n- Three, which is long.\n\n### Fixed\n- Two.\n" in first
    assert first.count("### Changed\n- Four") == 1
    assert max(map(len, said.splitlines())) <= 120
    assert said.endswith("## 1.0.0\n\n### Added\n- Old.\n")
    assert [path.name for path in (tmp_path / "changes").iterdir()] == ["README.md"]
    assert tool.main(tmp_path) == 0
    assert (tmp_path / "CHANGELOG.md").read_text() == said


def test_a_change_of_no_kind_is_named(tool: ModuleType, tmp_path: Path) -> None:
    """Tests that a file whose name does not say what kind of change it tells of ends the run, nothing lost."""
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes/b.new.md").write_text("Three.\n")
    (tmp_path / "CHANGELOG.md").write_text(BEFORE)
    with pytest.raises(SystemExit, match=r"b\.new\.md: its name must end in one of \.added\.md"):
        tool.main(tmp_path)
    assert (tmp_path / "CHANGELOG.md").read_text() == BEFORE


def test_what_waits_to_be_gathered_can_be(tool: ModuleType) -> None:
    """Tests that each file of this project's own changes is of a kind, and says something."""
    for path in tool.fragments(ROOT):
        assert tool.kind_of(path)
        assert path.read_text(encoding="utf-8").strip().endswith("."), path
