"""What a slurm.conf says and the model does not have is a note, never silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fedsched as fs

if TYPE_CHECKING:
    from pathlib import Path

CONF = """SelectType=select/{select}
SelectTypeParameters={selection}
PriorityType=priority/basic
{lines}
NodeName=n[1-4] CPUs=8 {node}
PartitionName=p Nodes=ALL Default=YES {partition}
"""


def said_of(
    folder: Path, lines: str = "", *, node: str = "", partition: str = "", selection: str = "", shared: bool = False
) -> str:
    """Return all notes of a conf."""
    path = folder / "slurm.conf"
    select = "cons_tres" if selection else "linear"
    text = CONF.format(lines=lines, node=node, partition=partition, select=select, selection=selection or "NONE")
    path.write_text(text, encoding="utf-8")
    machine = fs.read_federation(path)
    return "\n".join([*fs.policies.Slurm(path).notes_on(shared=shared), *machine.partitions.left_out])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("lines", "node", "partition", "told"),
    [
        ("DownNodes=n[1-2] State=DOWN Reason=fan\nDownNodes=n4", "", "", "3 nodes not up (DownNodes=n[1-2],n4)"),
        ("MCSPlugin=mcs/account", "", "", "MCSPlugin=mcs/account"),
        ("JobDefaults=DefCpuPerGPU=2", "", "", "JobDefaults=DefCpuPerGPU=2"),
        ("DefMemPerGPU=100", "", "", "DefMemPerGPU=100"),
        ("AccountingStorageEnforce=limits", "", "", "AccountingStorageEnforce asks for limits, and no accounts"),
        ("", "State=CLOUD", "", "4 CLOUD nodes not up until jobs need it"),
        ("", "", "Shared=FORCE:2", "OverSubscribe of 1 partition (p)"),
    ],
)
def test_what_was_silent_is_said(tmp_path: Path, lines: str, node: str, partition: str, told: str) -> None:
    """Each of these decides on starts, and stands in the notes of the policy or the facts of the machine."""
    assert told not in said_of(tmp_path)
    assert told in said_of(tmp_path, lines, node=node, partition=partition)


def test_words_of_nodes_that_are_down_are_no_parameters(tmp_path: Path) -> None:
    """A DownNodes line says nothing of the cluster but which nodes these are."""
    said_of(tmp_path, "DownNodes=n1 State=DOWN Reason=x")
    assert {"state", "reason"}.isdisjoint(fs.policies.Slurm(tmp_path / "slurm.conf").conf.parameters)


def test_threads_of_cores_are_said_where_cores_are_given(tmp_path: Path) -> None:
    """Slurm gives whole cores with CR_Core and CPUs with CR_CPU; where nodes are given whole neither matters."""
    for selection, shared, there in (("CR_Core_Memory", True, True), ("CR_CPU_Memory", True, False),
                                     ("CR_Core_Memory", False, False)):  # fmt: skip
        said = said_of(tmp_path, node="Sockets=1 CoresPerSocket=4 ThreadsPerCore=2", selection=selection, shared=shared)
        assert ("ThreadsPerCore=2 (jobs are given CPUs" in said) == there
