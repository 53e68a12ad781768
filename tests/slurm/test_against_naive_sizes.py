"""Slurm's own scheduler on whole nodes of several sizes: that of a naive reference, and what it refuses [76]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference.slurm_naive_sizes import SizedPlay
from support.slurm_cases import case, differences
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import InfeasibleError
from fedsched.slurm.priority.associations import Association, Associations

if TYPE_CHECKING:
    from pathlib import Path

CONF = """ClusterName=c
NodeName=n[1-3] CPUs=4
NodeName=n[4-5] CPUs=8 Weight=5
NodeName=n6 CPUs=2
PartitionName=p Nodes=ALL Default=YES
SelectType=select/{}
PriorityType=priority/basic
"""


@pytest.mark.parametrize("part", range(4))
def test_it_is_the_naive_reference_start_for_start(part: int, tmp_path: Path) -> None:
    """Tests that jobs which ask for CPUs, or for nodes, start in the same second on the same nodes."""
    sized = 0
    for seed in range(part, tries(200), 4):
        one = case(seed, tmp_path, sized=True)
        assert differences(one) == [], f"seed {seed}"
        assert isinstance(one.play, SizedPlay)
        sized += len(one.play.wanted)
    assert sized > 0.8 * tries(200)


def given(
    folder: Path, tasks: list[int], select: str = "linear", conf: str = CONF, **columns: object
) -> list[list[int]]:
    """Return which nodes jobs alone are given that come one by one, and stay."""
    path = folder / "slurm.conf"
    path.write_text(conf.format(select), encoding="utf-8")
    many = len(tasks)
    jobs = fs.Workload(
        submit=100.0 * np.arange(many), tasks=tasks, runtime=np.full(many, 1e5), layout={"exclusive": 1}, **columns
    )
    schedule = fs.simulate(jobs, fs.read_federation(path), fs.policies.Slurm(path))
    schedule.verify(claimed=schedule.metrics())
    return [[node + 1 for node in schedule.nodes_of(row)] for row in range(many)]


def test_linear_drops_what_it_can_do_without(tmp_path: Path) -> None:
    """Tests that of the first lines that are enough the smallest nodes are left out, unless all are of one size."""
    assert given(tmp_path, [14]) == [[1, 2, 3, 6]]
    assert given(tmp_path, [16]) == [[4, 5]]
    assert given(tmp_path, [5, 9]) == [[1, 2], [4, 5]]
    assert given(tmp_path, [4, 4, 4, 2, 8]) == [[1], [2], [3], [6], [4]]


def test_the_smallest_node_takes_alone_what_it_can(tmp_path: Path) -> None:
    """Tests that of cons_tres a block's node of as few CPUs as will do is taken, of those of least weight."""
    assert given(tmp_path, [6], "cons_tres") == [[1, 2]]
    assert given(tmp_path, [1, 3, 14], "cons_tres") == [[6], [1], [2, 3, 4]]
    assert given(tmp_path, [2, 2], "cons_tres") == [[6], [1]]


def test_what_goes_by_nodes_beforehand_is_refused(tmp_path: Path) -> None:
    """Tests that priorities by sizes, accounts, limits of nodes, and cores that make no task are refused by name."""
    jobs_there = r"exclusive jobs on nodes that hold different numbers of their tasks \(job 1\)"
    with pytest.raises(InfeasibleError, match=f"with priority/multifactor does not support {jobs_there}"):
        given(tmp_path, [14], conf=CONF + "PriorityType=priority/multifactor\n")
    with pytest.raises(InfeasibleError, match=f"with partitions of max_nodes does not support {jobs_there}"):
        given(tmp_path, [14], conf=CONF.replace("Default=YES", "Default=YES MaxNodes=5"))
    with pytest.raises(InfeasibleError, match="CPUs are no multiple of its tasks' cpu"):
        given(tmp_path, [4], demand={"cpu": [3]})
    some = CONF.replace("CPUs=8", "CPUs=8 RealMemory=100").replace("CPUs=4", "CPUs=4 RealMemory=500")
    with pytest.raises(InfeasibleError, match="not up to their cpu alone"):
        given(tmp_path, [14], conf=some, demand={"memory": [50]})
    path = tmp_path / "slurm.conf"
    path.write_text(CONF.format("linear"), encoding="utf-8")
    jobs = fs.Workload(submit=[0.0], tasks=[14], runtime=[10.0], layout={"exclusive": 1}, labels={"account": ["a"]})
    accounts = Associations((Association("a"),), {})
    machine = fs.read_federation(path)
    for federation, policy in (
        (machine, fs.policies.Slurm(path, assoc=accounts)),
        (fs.Federation(machine.clusters, partitions=machine.partitions, limits=(fs.Limit("account", nodes=3),)),
         fs.policies.Slurm(path)),
    ):  # fmt: skip
        with pytest.raises(InfeasibleError, match=f"nodes, CPUs or accounts does not support {jobs_there}"):
            fs.simulate(jobs, federation, policy)
