"""What a conf does not name has the defaults of its Slurm's version, which is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched.cli import run
from fedsched.core.errors import FederationError
from fedsched.site.twin import made_dump
from fedsched.site.twin.folder import Dump
from fedsched.site.twin.site import machine_of
from fedsched.slurm.conf.parameters import with_version

if TYPE_CHECKING:
    from pathlib import Path

BARE = "NodeName=n[1-4] CPUs=8\nPartitionName=p Nodes=ALL Default=YES\n"


def bare(folder: Path, text: str = "") -> Path:
    """Return a conf that names neither SelectType nor PriorityType."""
    (folder / "slurm.conf").write_text(text + BARE, encoding="utf-8")
    return folder / "slurm.conf"


@pytest.mark.parametrize(
    ("version", "newest"),
    [(None, True), ("25.05.1", True), ("23.11.0-rc1", True), ("23.02", False), ("22.05.8", False)],
)
def test_the_version_decides_what_is_not_named(tmp_path: Path, version: str | None, *, newest: bool) -> None:
    """From 23.11 on nodes are chosen by cons_tres and priorities have factors; a bare file is taken for the newest."""
    policy = fs.policies.Slurm(bare(tmp_path), slurm_version=version)
    assert (policy.parameters.cons_tres, policy.parameters.multifactor) == (newest, newest)
    assert policy.priority.multifactor == newest
    names = ("cons_tres", "multifactor") if newest else ("linear", "basic")
    why = "the newest defaults; slurm_version=" if version is None else f"the defaults of Slurm {version})"
    assert f"SelectType=select/{names[0]}, PriorityType=priority/{names[1]} ({why}" in policy.notes[0]


def test_what_is_named_is_not_assumed(tmp_path: Path) -> None:
    """A conf that says both has no note, whatever its version."""
    path = bare(tmp_path, "SelectType=select/linear\nPriorityType=priority/basic\n")
    for version in (None, "22.05", "24.11"):
        policy = fs.policies.Slurm(path, slurm_version=version)
        assert (policy.parameters.cons_tres, policy.parameters.multifactor, policy.notes) == (False, False, ())


def test_another_conf_of_the_policy_is_of_its_version(tmp_path: Path) -> None:
    """A conf that is tried in place of the site's own has the same defaults, but where it tells its version itself."""
    policy = fs.policies.Slurm(bare(tmp_path), slurm_version="22.05")
    other = fs.policies.Slurm(bare(tmp_path)).conf
    assert not policy.on_another(other).parameters.cons_tres
    assert policy.on_another(with_version(other, "24.05")).parameters.cons_tres


def test_a_dump_tells_its_version(tmp_path: Path) -> None:
    """What `scontrol show config` prints has SLURM_VERSION, by which the rest is read."""
    folder = made_dump(tmp_path / "dump", kind="ub", jobs=20, nodes=8, seed=1)
    config = folder / "config.txt"
    kept = [line for line in config.read_text(encoding="utf-8").splitlines() if not line.startswith("SelectType")]
    config.write_text("\n".join(kept), encoding="utf-8")
    assert not machine_of(Dump(folder)).shared
    config.write_text("\n".join(kept).replace("22.05.8", "24.05.1"), encoding="utf-8")
    assert machine_of(Dump(folder)).shared


def test_a_version_that_is_none_is_refused(tmp_path: Path) -> None:
    """The error names the value and what one looks like."""
    with pytest.raises(FederationError, match=r"Slurm's version 'new' is none like 22\.05"):
        fs.policies.Slurm(bare(tmp_path), slurm_version="new")


def test_the_command_takes_a_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --slurm-version no newest default is assumed."""
    command = ["simulate", "sample", "--head", "10", "--nodes", "100", "--policy", "slurm", "--conf"]
    (tmp_path / "slurm.conf").write_text("NodeName=n[1-100]\nPartitionName=p Nodes=ALL Default=YES\n", encoding="utf-8")
    for more, said in (([], "--slurm-version"), (["--slurm-version", "22.05"], "defaults of Slurm 22.05")):
        assert run([*command, str(tmp_path / "slurm.conf"), *more]) == 0
        printed = capsys.readouterr()
        assert said in " ".join((printed.out + printed.err).split())
