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
SHARED = """SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/basic
NodeName=n1 CPUs=2 RealMemory=900
PartitionName=p Nodes=ALL Default=YES """


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


def test_memory_of_partitions_is_not_named_where_it_is_modelled(tmp_path: Path) -> None:
    """Policy slurm gives it to jobs that share nodes; of others the machine's facts say that they do not."""
    path = tmp_path / "slurm.conf"
    path.write_text(SHARED + "DefMemPerCPU=500\n", encoding="utf-8")
    machine = fs.read_federation(path)
    jobs = fs.Workload(submit=[0.0] * 2, tasks=[1] * 2, runtime=[9.0] * 2)
    for policy, there in ((fs.policies.Slurm(path), False), ("easy", True)):
        facts = fs.simulate(jobs, machine, policy, sharing="block").unmodelled
        assert any("DefMemPerCPU of 1 partition (p)" in fact for fact in facts) == there
    found = fs.simulate(jobs, machine, fs.policies.Slurm(path), sharing="block")
    assert found.start.tolist() == [0.0, 9.0]  # of 900 MB


def test_jobs_on_more_nodes_than_their_partition_allows_are_said(tmp_path: Path) -> None:
    """MaxNodes is not asked for jobs that share nodes and name no number of them; a note counts those on more."""
    path = tmp_path / "slurm.conf"
    path.write_text(SHARED.replace("n1 ", "n[1-2] ") + "MaxNodes=1\n", encoding="utf-8")
    machine, policy = fs.read_federation(path), fs.policies.Slurm(path)
    for tasks, there in ((2, False), (3, True)):
        jobs = fs.Workload(submit=[0.0], tasks=[tasks], runtime=[9.0], demand={"memory": [1]})
        found = fs.simulate(jobs, machine, policy, sharing="block")
        told = (
            "MaxNodes=1 of partition 'p' (1 job on more, job 1 first; give its tasks_per_node, or leave sharing= out)"
        )
        assert any(told in note for note in found.notes) == there


@pytest.mark.parametrize("said", ["", "OverSubscribe=EXCLUSIVE", "Exclusive=NODE"])
def test_jobs_of_an_exclusive_partition_have_their_nodes_to_themselves(said: str, tmp_path: Path) -> None:
    """They are exclusive as if they had asked for it, by the old word and by the new one."""
    path = tmp_path / "slurm.conf"
    path.write_text(f"{SHARED}{said}\n", encoding="utf-8")
    jobs = fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[60.0, 9.0], demand={"memory": [1, 1]})
    schedule = fs.simulate(jobs, fs.read_federation(path), fs.policies.Slurm(path), sharing="block")
    schedule.verify()
    beside = schedule.nodes_of(0) == schedule.nodes_of(1) and schedule.start[1] < 60.0
    assert beside == (said == "")
    assert (schedule.workload.layout is not None) == (said != "")


def test_a_weight_of_what_no_node_has_is_said(tmp_path: Path) -> None:
    """A mistyped resource weighs nothing."""
    weights = "PriorityType=priority/multifactor\nPriorityWeightTRES=CPU=10,GRES/gpus=5"
    assert "PriorityWeightTRES of gres/gpus, which no node has" in said_of(tmp_path, weights)


def test_nodes_are_said_to_be_free_at_once_unless_it_is_told_how_long_they_are_not(tmp_path: Path) -> None:
    """An Epilog takes time, which completing= says."""
    said = said_of(tmp_path, "Epilog=/etc/e.sh")
    assert "nodes are free as soon as a job ends; completing= says how long they are not (Epilog)" in said
    assert "Epilog" not in "".join(fs.policies.Slurm(tmp_path / "slurm.conf", completing=5).notes)
