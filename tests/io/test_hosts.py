"""Hosts and lists of hosts: which nodes they are, by what each program prints."""

from __future__ import annotations

from pathlib import Path

import pytest

import fedsched as fs
from fedsched.core.errors import FederationError
from fedsched.io.slurm_files.hosts import Place, hosts_from, hosts_of, read_hosts
from fedsched.io.slurm_files.slurm_records import records_of

SLURM = Path(__file__).parent / "slurm"
NORTH = fs.Federation((fs.Cluster("north", (fs.NodeGroup(10), fs.NodeGroup(4))),))
TWO = fs.Federation((fs.Cluster("a", (fs.NodeGroup(2),)), fs.Cluster("b", (fs.NodeGroup(3),))))


def test_lists_of_hosts_are_expanded() -> None:
    """Zeros stay, several brackets multiply, what stands twice is one, and the order is the list's."""
    assert hosts_of("cn[001-003,010],gpu1", "x") == ["cn001", "cn002", "cn003", "cn010", "gpu1"]
    assert hosts_of("r[1-2]n[08-09]-ib", "x") == ["r1n08-ib", "r1n09-ib", "r2n08-ib", "r2n09-ib"]
    assert hosts_of("[7-8]", "x") == ["7", "8"]
    assert hosts_of("b,a,b", "x") == ["b", "a"]
    assert hosts_of("n[9-11]", "x") == ["n9", "n10", "n11"]


@pytest.mark.parametrize("text", ["a,", ",a", "a b", "a[1-2", "a]", "a[]", "a[2-1]", "a[x]", "a[1-2]]"])
def test_what_is_no_list_of_hosts_is_refused(text: str) -> None:
    """Each slip is named with its place."""
    with pytest.raises(FederationError, match=r"line 7: .* is not a list of hosts like"):
        hosts_of(text, "line 7")


@pytest.mark.parametrize("text", ["a[0-1000000]", "a[0-9999][0-9999]", ",".join(f"x{k}[0-999999]" for k in range(3))])
def test_lists_have_an_end(text: str) -> None:
    """A slip in a range fills no memory."""
    with pytest.raises(FederationError, match="more than 1,000,000 hosts"):
        hosts_of(text, "x")


@pytest.mark.parametrize("file", ["nodes-o.txt", "nodes.txt", "sinfo-cpus.txt", "slurm.conf"])
def test_files_of_slurm_name_hosts_in_the_order_of_nodes(file: str) -> None:
    """What scontrol, sinfo and a slurm.conf say of the same machine is the same, CPUs too."""
    hosts = read_hosts(SLURM / file, NORTH)
    assert list(hosts.places) == hosts_of("cn[001-010],gpu[1-4]", "x")
    assert list(hosts.places.values()) == [Place("north", k, k) for k in range(14)]
    assert set(hosts.cpus.values()) == {4, 8}


def test_a_slurm_conf_has_defaults_comments_and_long_lines(tmp_path: Path) -> None:
    """Names in any letters; the cluster that it names is one of several, a line may go on, and a shape gives CPUs."""
    path = tmp_path / "slurm.conf"
    path.write_text(
        "clustername=b # ours\nNodeName=DEFAULT Sockets=2 CoresPerSocket=4\n# NodeName=x9\n"
        "nodename=x[1-2] \\\n   ThreadsPerCore=2\nNodeName=y1 CPUs=3\nPartitionName=p Nodes=ALL\n",
        encoding="utf-8",
    )
    hosts = read_hosts(path, TWO)
    assert hosts.places == {"x1": Place("b", 0, 0), "x2": Place("b", 1, 1), "y1": Place("b", 2, 2)}
    assert hosts.cpus == {"x1": 16, "x2": 16, "y1": 3}


def test_a_kernel_is_no_comment() -> None:
    """What follows the # in the name of a node's system is told of the node, too; elsewhere it is a comment."""
    first = "NodeName=x1 CPUTot=4 OS=Linux 6.1.0-18-amd64 #1 SMP Debian 6.1.76-1 (2024-02-01) State=DOWN Partitions=p"
    second = "NodeName=x2 State=UP # OS=Linux State=DOWN"
    said = [record.words for record in records_of(f"{first}\n{second}\n")]
    assert [(one["nodename"], one["state"]) for one in said] == [("x1", "DOWN"), ("x2", "UP")]
    assert said[0]["partitions"] == "p"


def test_sinfo_may_name_hosts_anywhere_and_often(tmp_path: Path) -> None:
    """A host of several partitions stands there several times; the column is found by its name."""
    path = tmp_path / "sinfo.txt"
    path.write_text("PARTITION NODELIST\np* a1\np* a[2-3]\nq a1\n", encoding="utf-8")
    assert list(read_hosts(path, fs.Federation.homogeneous(3)).places) == ["a1", "a2", "a3"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"it has no host; give `scontrol show node -o`"),
        ("what is this\n", r"line 1: 'what is this' names no hosts; give"),
        ("c = x[1-2]\n", r"line 1: 'c = x\[1-2\]' names no hosts"),
        ("a = x[1-2]\n\nb = x[2-4]\n", r"host 'x2' occurs twice; leave one"),
        ("a = x[1-3]\n", r"it lists 3 hosts, but the cluster 'a' has 2 nodes; .* \(--nodes"),
        (
            "NODELIST STATE\nx1 idle\n",
            r"does not say which cluster its hosts are in \(a, b\); write lines like",
        ),
        ("PARTITION NODELIST\np\n", r"does not say which cluster its hosts"),
        ("NodeName=x[1-3] CPUs=1\n", r"does not say which cluster its hosts"),
        ("ClusterName=a\nNodeName=x[1-3] CPUs=4\n", r"it lists 3 hosts with 12 CPUs, but the cluster 'a' has 2"),
    ],
)
def test_hosts_that_cannot_be_placed_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """The error names file, line and cure."""
    path = tmp_path / "hosts.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FederationError, match=message):
        read_hosts(path, TWO)


def test_a_table_is_checked_and_a_short_row_refused(tmp_path: Path) -> None:
    """Nodes that are not there, and a file that is not there."""
    assert hosts_from({"x": ("b", 2)}, TWO).places == {"x": Place("b", 2, 2)}
    for wrong in (("b", 3), ("c", 0), ("a", -1)):
        with pytest.raises(FederationError, match=r"hosts: 'x' is node .* which the federation does not have"):
            hosts_from({"x": wrong}, TWO)
    (tmp_path / "s.txt").write_text("PARTITION NODELIST\np\n", encoding="utf-8")
    with pytest.raises(FederationError, match="line 2: it has no column NODELIST"):
        read_hosts(tmp_path / "s.txt", fs.Federation.homogeneous(1))
    with pytest.raises(FederationError, match="there is no such file"):
        read_hosts(tmp_path / "none.txt", TWO)
