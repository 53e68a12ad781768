"""Limits with other values than the recorded day had: they are named, and starts explained."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from slurm.as_dump import recorded
from slurm.logs import LOGS

from fedsched.site.twin import explain, read_site
from fedsched.site.twin.causes import OTHERWISE
from fedsched.slurm.priority.associations import Associations

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("said", "otherwise", "named"),
    [
        ("", "", ()),
        ("set grpjobs=3", "set grpjobs=30", ("grpjobs of account 'biology' is 30 in the accounts, and 3 on record",)),
        ("set grpjobs=3", "set grpjobs=1", ("grpjobs of account 'biology' is 1 in the accounts, and 3 on record",)),
    ],
)
def test_a_limit_with_another_value_is_named(said: str, otherwise: str, named: tuple[str, ...], tmp_path: Path) -> None:
    """Where one limit is changed, that one is the cause, from either side; where none is, none is named."""
    script = tmp_path / "accounts"
    script.write_text(LOGS["limits"].accounts.replace(said, otherwise) + "\n", encoding="utf-8")
    site = read_site(recorded("log limits").write(tmp_path / "dump"))
    found = explain(replace(site, accounts=Associations.read(script)))
    assert [text.partition(":")[0] for text in found.other_limits] == [*named]
    assert (found.cause == OTHERWISE).any() == bool(named)
