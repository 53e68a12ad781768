"""What jobs used on shared nodes as a CSV file: it comes back as it was, and what is wrong is named by its line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import FedschedError
from fedsched.io.recorded_nodes import recorded_nodes
from fedsched.io.tables.node_use import read_node_use, write_node_use
from fedsched.model.schedule.node_use import NodeUse

if TYPE_CHECKING:
    from pathlib import Path

JOBS = fs.Workload(submit=[0.0, 0.1], tasks=[3, 2], runtime=[10.5, 4.0], id=[7, 5])
MACHINE = fs.Federation(
    (
        fs.Cluster("=a", (fs.NodeGroup(1, resources={"cpu": 4}), fs.NodeGroup(1, resources={"cpu": 8}))),
        fs.Cluster("b", (fs.NodeGroup(2, resources={"cpu": 4}),)),
    )
)
USE = NodeUse(
    workload=JOBS,
    federation=MACHINE,
    start=[0.0, 0.30000000000000004],
    finish=[10.5, 4.3],
    alone=[False, True],
    job=[0, 0, 1],
    node=[1, 3, 2],
    tasks=[2, 1, 2],
)
FILE = """id,start,finish,cluster,node,tasks,alone
7,0,10.5,'=a,1,2,no
7,0,10.5,b,1,1,no
5,0.30000000000000004,4.3,b,0,2,yes
"""
OF_ROWS = ("start", "finish", "alone", "job", "node", "tasks")


def same(one: NodeUse, other: NodeUse) -> bool:
    """Return whether two uses have equal columns."""
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in OF_ROWS)


def test_a_use_comes_back(tmp_path: Path) -> None:
    """Tests that the file is as documented, to the last bit, and that who is alone is left out where nobody is."""
    write_node_use(USE, tmp_path / "use.csv")
    assert (tmp_path / "use.csv").read_text() == FILE
    assert same(read_node_use(tmp_path / "use.csv", JOBS, MACHINE), USE)
    USE.verify()
    together = replace(USE, alone=[False, False])
    write_node_use(together, tmp_path / "use.csv.gz")
    assert same(read_node_use(tmp_path / "use.csv.gz", JOBS, MACHINE), together)


def test_a_spreadsheets_file_is_read(tmp_path: Path) -> None:
    """Tests that semicolons and decimal commas are read, in any order, and other columns left alone."""
    lines = ["note;tasks;node;cluster;id;finish;start", "x;2;0;b;5;4,3;0,5", ";1;1;b;7;10,5;0", ";2;1;'=a;7;10,5;0"]
    (tmp_path / "use.csv").write_text("\n".join(lines) + "\n")
    found = read_node_use(tmp_path / "use.csv", JOBS, MACHINE)
    assert (found.start.tolist(), found.finish.tolist()) == ([0.0, 0.5], [10.5, 4.3])
    assert list(zip(found.job, found.node, found.tasks, strict=True)) == [(1, 2, 2), (0, 3, 1), (0, 1, 2)]
    assert not found.alone.any()


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("tasks,alone", "jobs,alone", "it has no column 'tasks'; it needs id, start, finish, cluster, node, tasks"),
        ("7,0,10.5,b", "8,0,10.5,b", "line 3: the workload has no job 8"),
        ("7,0,10.5,b", "seven,0,10.5,b", "line 3: id='seven' is not a number"),
        ("10.5,b,1", "10.5,c,1", "line 3: Unknown cluster 'c'"),
        ("10.5,b,1", "10.5,b,2", "line 3: node=2 must be a whole number from 0 to 1"),
        ("10.5,b,1", "10.5,b,0.5", "line 3: node=0.5 must be a whole number"),
        ("b,1,1,no", "b,1,-1,no", "line 3: tasks=-1 must be a whole number"),
        ("b,1,1,no", "b,1,1,perhaps", "line 3: alone='perhaps' must be yes or no"),
        ("7,0,10.5,b", "7,1,10.5,b", "line 3: another row of job 7 has another start, finish or alone"),
        ("5,0.30000000000000004,4.3,b,0,2,yes\n", "", "it lacks 1 of the jobs, the first is job 5"),
        ("b,1,1,no", "b,1,1", "line 3: 6 fields, but 7 columns"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, error: str) -> None:
    """Tests that a file that does not fit jobs and machine is an error with its line."""
    assert FILE.count(old) == 1
    (tmp_path / "use.csv").write_text(FILE.replace(old, new))
    with pytest.raises(FedschedError, match=error):
        read_node_use(tmp_path / "use.csv", JOBS, MACHINE)


def test_a_real_record_comes_back(tmp_path: Path, nodes_dir: Path) -> None:
    """Tests that a real machine's record is the same from a file, and found as full."""
    jobs = fs.read(nodes_dir / "CERIT-2013.swf.gz", descriptor="metacentrum").head(3000)
    names = sorted({node for text in set(jobs.label("nodes")) for node in text.strip("{}").split(",")}, key=int)
    machine = fs.Federation((fs.Cluster("c", (fs.NodeGroup(len(names), resources={"cpu": 80}),)),))
    use = recorded_nodes(jobs, machine, hosts={name: ("c", k) for k, name in enumerate(names)})
    write_node_use(use, tmp_path / "use.csv")
    again = read_node_use(tmp_path / "use.csv", jobs, machine)
    assert same(again, use)
    assert again.violations() == []
