"""The documentation's code runs as printed."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from fedsched import cli

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if "```python" in path.read_text(encoding="utf-8")
]


@pytest.fixture
def beside_the_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder that has the shipped traces, as a reader in a clone does."""
    shutil.copytree(ROOT / "traces", tmp_path / "traces")
    monkeypatch.chdir(tmp_path)


def test_the_pages_that_show_code_are_known() -> None:
    """Tests that the pages below are there: a search for blocks that finds none would test nothing."""
    assert {"README.md", "searches.md"} <= {path.name for path in PAGES}


@pytest.mark.compiled
@pytest.mark.usefixtures("beside_the_traces")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_runs_as_printed(page: Path) -> None:
    """Tests every Python block of a page, one after the other, as a reader would type them."""
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        # Seconds are the reader's to spend; what is printed must run, not last.
        exec(compile(block.replace("seconds=10", "seconds=1"), str(page), "exec"), names)


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.usefixtures("beside_the_traces")
def test_the_readmes_commands_run_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Tests every `fedsched` command of the README but the one that needs an archive log, in their order."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith("fedsched ")]
    assert len(commands) > 8
    for _, *words in commands:
        if "KTH-SP2.swf.gz" in words:
            continue
        if "--seconds" in words:
            words[words.index("--seconds") + 1] = "1"
        assert cli.run(words) == 0, (words, capsys.readouterr().err)
