"""What each node of a job must have, as dumps of Slurm's say it in several ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fedsched as fs

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = fs.Federation((fs.Cluster("x", (fs.NodeGroup(4, resources={"cpu": 64, "memory": 2**20, "gpu": 4}),)),))


def read(path: Path, header: str, *rows: str, unit: str = "nodes") -> fs.Workload:
    """Return the jobs of a dump with these columns after the job, its time and its nodes and CPUs."""
    lines = [f"JobIDRaw|Submit|ElapsedRaw|NNodes|AllocCPUS|{header}"]
    lines += [f"{k}|2024-03-01T10:00:0{k}|60|{row}" for k, row in enumerate(rows, 1)]
    (path / "d.sacct").write_text("\n".join(lines) + "\n")
    return fs.read(path / "d.sacct", unit=unit)


def demands(workload: fs.Workload) -> dict[str, list[int]]:
    """Return what nodes must have, by name."""
    return {} if workload.demand is None else workload.demand.data()


def test_totals_are_shared_out_over_nodes(tmp_path: Path) -> None:
    """Rounded up; GPUs of a kind count as GPUs too; what Slurm only bills or measures is no demand."""
    log = read(
        tmp_path,
        "ReqTRES|AllocTRES",
        "2|64|billing=64,cpu=5,mem=32G,node=2|cpu=64,mem=64G,node=2",
        "1|8|cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=1500M,node=1,energy=7|cpu=8",
        "4|8|cpu=8,gres/gpu:v100=6,node=4|",
        "1|1||cpu=1,mem=9G",
    )
    assert demands(log) == {
        "cpu": [3, 8, 2, 0],
        "gpu": [0, 2, 2, 0],
        "gpu:a100": [0, 2, 0, 0],
        "gpu:v100": [0, 0, 2, 0],
        "memory": [16384, 1500, 0, 0],
    }


@pytest.mark.parametrize(
    ("said", "memory"), [("4000Mc", 16000), ("16Gn", 16384), ("3G", 1536), ("0n", 0), ("", 0), ("512K", 1)]
)
def test_memory_of_older_versions(tmp_path: Path, said: str, memory: int) -> None:
    """Over a CPU, over a node, or over all nodes; here two nodes of four CPUs."""
    assert demands(read(tmp_path, "ReqMem", f"2|8|{said}")) == ({"memory": [memory]} if memory else {})


@pytest.mark.parametrize(
    ("header", "row", "memory"),
    [("ReqTRES|AllocTRES", "2|8|cpu=2,mem=3000M,node=2|cpu=8,mem=12000M", 1500), ("AllocTRES", "2|8|mem=12000M", 1500),
     ("ReqMem", "2|8|4000Mc", 4000), ("ReqMem", "2|8|16Gn", 4096), ("ReqMem", "2|8|3G", 384), ("ReqMem", "2|8|0n", 0)],
)  # fmt: skip
def test_a_cpu_has_its_share_of_the_memory(tmp_path: Path, header: str, row: str, memory: int) -> None:
    """Tests that tasks that are CPUs have the memory of one; an exclusive job's is shared among the CPUs requested."""
    assert demands(read(tmp_path, header, row, unit="cpus")) == ({"memory": [memory]} if memory else {})


def test_shared_nodes_know_memory_and_exclusive_jobs_by_either_unit(tmp_path: Path) -> None:
    """Tests that on shared nodes a job waits for memory, and that an exclusive job shares its nodes with no other."""
    full = "1|8|cpu=8,mem=900G,node=1|sbatch a.sh"
    rows = (full, "1|8|cpu=8,mem=200G,node=1|sbatch a.sh", "1|64|cpu=1,mem=1G,node=1|sbatch --exclusive a.sh")
    one = fs.Federation((fs.Cluster("x", (fs.NodeGroup(1, resources={"cpu": 64, "memory": 2**20}),)),))
    for unit in ("cpus", "nodes"):
        log = read(tmp_path, "ReqTRES|SubmitLine", *rows, unit=unit)
        assert fs.simulate(log, one, "fcfs", sharing="block").start.tolist() == [0, 60, 120]


def test_generic_resources_of_older_versions_are_over_a_node(tmp_path: Path) -> None:
    """`gpu:2`, with a kind, in Slurm's newer spelling too."""
    log = read(tmp_path, "ReqGRES", "2|8|gpu:2", "2|8|gpu:tesla:1,craynetwork:1", "2|8|gres:gpu:3", "2|8|")
    assert demands(log) == {"gpu": [2, 1, 3, 0], "gpu:tesla": [0, 1, 0, 0]}


def test_what_is_known_is_not_said_to_be_lacking(tmp_path: Path) -> None:
    """On a machine whose nodes tell; on another one the resources are named, and CPUs as nodes demand memory alone."""
    rows = ("1|8|cpu=8,gres/gpu=2,mem=4G,node=1", "1|8|cpu=8,node=1")
    log = read(tmp_path, "ReqTRES", *rows)
    assert fs.simulate(log, MACHINE).unmodelled == ()
    assert fs.simulate(log, fs.Federation.homogeneous(4)).unmodelled == (
        "2 jobs with a demand of 'cpu' (the machine's nodes do not say)",
        "1 job with a demand of 'gpu' (the machine's nodes do not say)",
        "1 job with a demand of 'memory' (the machine's nodes do not say)",
    )
    by_cpus = read(tmp_path, "ReqTRES", *rows, unit="cpus")
    assert demands(by_cpus) == {"memory": [512, 0]}
    assert "1 job with GPUs" in by_cpus.unmodelled
