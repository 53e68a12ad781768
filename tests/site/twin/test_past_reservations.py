"""Past reservations of a dump: read under the heads that sacctmgr prints, and said where they are not."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from fedsched.site.twin import made_dump, read_site

if TYPE_CHECKING:
    from pathlib import Path

HEADS = {
    "22.05": "Cluster|Name|TRES|TimeStart|TimeEnd|NodeName|Flags",
    "2.6": "Cluster|Name|TRES|TimeStart|TimeEnd|NodeNames|Flags",
    "as asked": "Cluster|Name|TRES|Start|End|NodeNames|Flags",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dump of 100 jobs."""
    return made_dump(tmp_path_factory.mktemp("made") / "dump", kind="ub", jobs=100, nodes=8, seed=1)


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_past_reservations_are_read_under_the_heads_of_each_slurm(made: Path, tmp_path: Path, head: str) -> None:
    """What sacctmgr heads TimeStart, TimeEnd and NodeName is read, and what has no nodes is said to be left out."""
    folder = shutil.copytree(made, tmp_path / "dump")
    rows = ["made|service|cpu=8|2026-01-05T08:00:10|2026-01-05T08:10:10|n[1-2]|MAINT,SPEC_NODES",
            "made|licences||2026-01-05T08:00:10|2026-01-05T08:10:10||ANY_NODES"]  # fmt: skip
    (folder / "past-reservations.txt").write_text("\n".join([head, *rows, ""]), encoding="utf-8")
    site = read_site(folder)
    assert [(one.name, one.end - one.begin) for one in site.reserved] == [("service", 600.0)]
    assert "1 past reservation without nodes left out" in " ".join(site.notes)


def test_a_table_of_past_reservations_without_a_column_is_told(made: Path, tmp_path: Path) -> None:
    """A head that says nothing of when reservations were is a note, never silence."""
    folder = shutil.copytree(made, tmp_path / "dump")
    (folder / "past-reservations.txt").write_text("Cluster|Name|TimeEnd|NodeName\nmade|a|x|n1\n", encoding="utf-8")
    told = "of reservations: 1 past reservation left out, for past-reservations.txt has no column timestart"
    assert told in read_site(folder).notes


def test_what_is_not_told_of_past_reservations_is_told(made: Path, tmp_path: Path) -> None:
    """A time that is none leaves its reservation out, and a table without flags has none: both are notes."""
    folder = shutil.copytree(made, tmp_path / "dump")
    rows = ["made|service|2026-01-05T08:00:10|2026-01-05T08:10:10|n1", "made|odd|2026-01-05T08:00:10|soon|n1",
            "made|odd|None|2026-01-05T08:10:10|n1"]  # fmt: skip
    (folder / "past-reservations.txt").write_text(
        "\n".join(["Cluster|Name|TimeStart|TimeEnd|NodeName", *rows, ""]), encoding="utf-8"
    )
    site = read_site(folder)
    assert [one.name for one in site.reserved] == ["service"]
    said = " ".join(site.notes)
    assert "2 past reservations without a begin and an end left out" in said
    assert "past-reservations.txt has no column Flags: past reservations are taken to have none" in said


def test_a_made_dump_has_the_heads_that_slurm_prints(made: Path) -> None:
    """Of past reservations those of the Slurm that its configuration names."""
    assert "SLURM_VERSION           = 22.05" in (made / "config.txt").read_text(encoding="utf-8")
    assert (made / "past-reservations.txt").read_text(encoding="utf-8").startswith(HEADS["22.05"] + "\n")
