"""Machines as a slurm.conf describes them, and as scontrol shows them; what is wrong in one is told by its line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import FederationError
from fedsched.io import read_federation
from fedsched.io.slurm_files.hosts import read_hosts
from fedsched.io.slurm_files.slurm_values import gpus_of, seconds_of
from fedsched.model.jobs.unmodelled import ignored_in_files
from fedsched.slurm import SlurmConf

if TYPE_CHECKING:
    from pathlib import Path

CONF = """\
# a site's
ClusterName=hill   SlurmctldHost=here(10.0.0.1)
SelectType=select/cons_tres
SchedulerParameters=bf_window=4320,\\
bf_continue
NodeName=DEFAULT Sockets=2 CoresPerSocket=16 RealMemory=187000 Weight=60
NodeName=n[001-004] Feature=opa,thin
NodeName=DEFAULT CPUs=40
Include more.conf
NodeName=x1 State=FUTURE
NodeSet=fast Feature=v100
NodeSet=odd Nodes=n002,g2
PartitionName=DEFAULT MaxTime=3-00:00:00 State=UP
PartitionName=all Nodes=ALL Default=YES AllowQos=normal
PartitionName=short Nodes=n[001-002],g2 MaxTime=60 MaxNodes=2 AllowAccounts=phys,chem
PartitionName=gpu Nodes=fast MinNodes=1 DefaultTime=12:00:00 PriorityTier=10 PriorityJobFactor=3
partitionname=mixed nodes=odd maxtime=INFINITE State=DOWN
"""
MORE = """\
NodeName=g[1-2] Gres=gpu:v100:2(S:0-1),craynetwork:4 Feature=ib,v100 Weight=190 MemSpecLimit=7000
NodeName=d1 State=DOWN Reason="fan, again"
"""


@pytest.fixture
def hill(tmp_path: Path) -> Path:
    """Return a slurm.conf that includes another file."""
    (tmp_path / "more.conf").write_text(MORE)
    (tmp_path / "slurm.conf").write_text(CONF)
    return tmp_path / "slurm.conf"


def test_groups_are_runs_of_like_nodes(hill: Path) -> None:
    """In the order of the file, split where a partition has a part; what DEFAULT lines say adds up."""
    machine = read_federation(hill)
    assert [(group.count, group.name, group.weight) for group in machine.groups] == [
        (1, "n001..n004[0]", 60),
        (1, "n001..n004[1]", 60),
        (2, "n001..n004[2-3]", 60),
        (1, "g1..g2[4]", 190),
        (1, "g1..g2[5]", 190),
        (1, "d1", 60),
    ]
    thin, fat, last = machine.groups[0], machine.groups[3], machine.groups[5]
    assert (thin.features, dict(thin.resources)) == (("opa", "thin"), {"cpu": 32, "memory": 187_000})
    assert dict(fat.resources) == {"cpu": 40, "memory": 180_000, "gpu": 2, "gpu:v100": 2}
    assert (last.features, dict(last.resources)) == ((), {"cpu": 40, "memory": 187_000})
    assert (machine.name, [cluster.name for cluster in machine.clusters]) == ("hill", ["hill"])


def test_partitions_are_the_models(hill: Path) -> None:
    """With sets of nodes by name and by feature; a partition that has none yet is left out."""
    rows = [
        (one.name, dict(one.nodes)["hill"], one.max_time, one.max_nodes) for one in read_federation(hill).partitions
    ]
    assert rows == [
        ("all", "0-6", 259_200.0, None),
        ("short", "0-1,5", 3600.0, 2),
        ("gpu", "4-5", 259_200.0, None),
        ("mixed", "1,5", np.inf, None),
    ]
    whole, short = read_federation(hill).partitions[:2]
    assert [one.tier for one in read_federation(hill).partitions] == [1, 1, 10, 1]
    assert [one.default_time for one in read_federation(hill).partitions] == [None, None, 43_200.0, None]
    assert (whole.default, short.default, short.accounts) == (True, False, ("phys", "chem"))
    assert (whole.qos, short.qos) == (("normal",), ())


def test_what_the_model_does_not_have_is_said(hill: Path) -> None:
    """With whom it is about, wherever results are shown; read as TOML again the machine is the same."""
    machine = read_federation(hill)
    (said,) = ignored_in_files(machine)
    assert said.removeprefix("of the machine's file: ").split("; ") == [
        "devices that are no GPUs (craynetwork)",
        "1 FUTURE node",
        "1 node not up (d1), taken as up",
        "1 partition not up (mixed), taken as up",
        "nodes shared by several jobs (select/cons_tres), given whole here",
        "1 parameter of Slurm's own scheduler (--policy says what is simulated)",
    ]
    jobs = fs.Workload(submit=[0.0], tasks=[1], runtime=[5.0])
    assert [one.factor for one in machine.partitions if one.name == "gpu"] == [3]
    facts = fs.simulate(jobs, machine).unmodelled
    assert said in facts
    assert "the priority factor of 1 partition, which only policy slurm uses" in facts
    machine.write(hill.parent / "m.toml")
    assert read_federation(hill.parent / "m.toml") == machine


def test_jobs_find_their_nodes(hill: Path) -> None:
    """By partition, features, demands and weight."""
    machine = read_federation(hill)
    jobs = fs.Workload(
        submit=[0.0] * 4,
        tasks=[1] * 4,
        runtime=[10.0] * 4,
        labels={"partition": ["", "short", "gpu", ""], "features": ["", "", "", "ib"], "account": ["", "phys", "", ""]},
        demand={"gpu": [0, 2, 0, 0]},
    )
    schedule = fs.simulate(jobs, machine, "easy")
    schedule.verify(claimed=schedule.metrics())
    assert [np.flatnonzero(row).tolist() for row in schedule.counts] == [[2], [4], [3], [3]]


def test_hosts_are_the_same_nodes(hill: Path) -> None:
    """A calendar's hosts are found by the file that the machine came from."""
    (hill.parent / "flat.conf").write_text(CONF.replace("Include more.conf\n", MORE))
    machine = read_federation(hill.parent / "flat.conf")
    hosts = read_hosts(hill.parent / "flat.conf", machine)
    assert machine == read_federation(hill)
    assert (hosts.places["g2"].first, hosts.places["d1"].first) == (5, 6)
    assert (hosts.cpus["n001"], hosts.cpus["d1"]) == (32, 40)


def test_what_scontrol_shows_reads_the_same_way(tmp_path: Path) -> None:
    """`scontrol show node; scontrol show partition`, of one line a record or of several."""
    (tmp_path / "hill.conf").write_text("""\
NodeName=n1 Arch=x86_64 CoresPerSocket=1
   CPUAlloc=0 CPUEfctv=4 CPUTot=4 CPULoad=0.26
   AvailableFeatures=opa,thin
   ActiveFeatures=opa,thin
   Gres=(null)
   RealMemory=1000 AllocMem=0 FreeMem=N/A Sockets=4 Boards=1
   State=IDLE+PLANNED ThreadsPerCore=1 TmpDisk=0 Weight=7 Owner=N/A MCS_label=N/A
   Partitions=p

NodeName=n2 CPUTot=4 AvailableFeatures=(null) Gres=gpu:1 RealMemory=1000 State=DOWN*+DRAIN Weight=7
PartitionName=p
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=YES QoS=N/A
   DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO
   MaxNodes=UNLIMITED MaxTime=1-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=n[1-2]
   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO
   OverTimeLimit=NONE PreemptMode=OFF
   State=UP TotalCPUs=8 TotalNodes=2 SelectTypeParameters=NONE
   JobDefaults=(null)
   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED
""")
    machine = read_federation(tmp_path / "hill.conf")
    assert [(group.features, dict(group.resources)) for group in machine.groups] == [
        (("opa", "thin"), {"cpu": 4, "memory": 1000}),
        ((), {"cpu": 4, "memory": 1000, "gpu": 1}),
    ]
    assert machine.partitions == (fs.Partition("p", {"cluster": "0-1"}, max_time=86_400.0, default=True),)
    assert ignored_in_files(machine) == ["of the machine's file: 1 node not up (n2), taken as up"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("ClusterName=a", "no NodeName line names a node"),
        ("NodeName=n1 CPUs=4\nKillWait 30", r"line 2: 'KillWait 30' is not NAME=VALUE"),
        ("NodeName=n1\nSchedulerParameters=bf_window=1,\\\n  bf_continue", "line 2: 'bf_continue' is not NAME=VALUE"),
        ("NodeName=n[3-1]", r"line 1: .* is not a list of hosts"),
        ("NodeName=n1\nNodeName=n[1-2]", "line 2: node 'n1' is already in .*line 1"),
        ("NodeName=n1\nPartitionName=p Nodes=n[1-2]", "line 2: partition 'p' has 'n2', which no NodeName line names"),
        ("NodeName=n1\nPartitionName=p Nodes=n1 MaxTime=soon", "line 2: 'soon' is not a time like 60"),
        ("NodeName=n1\nPartitionName=p Nodes=n1 MaxNodes=few", "line 2: MaxNodes=few is not a whole number"),
        ("NodeName=n1\nPartitionName=p Nodes=n1 Default=maybe", "line 2: Default=maybe must be YES or NO"),
        ("NodeName=n1\nPartitionName=p Nodes=n1 MinNodes=3 MaxNodes=2", "line 2: Partition 'p': max_nodes=2 is below"),
        ("NodeName=n1 CPUs=four", "line 1: cpus=four is not a whole number"),
        ("NodeName=n1 State=FUTURE", "all of its nodes are FUTURE nodes"),
        ("Include slurm.conf\nNodeName=n1", "line 1: more than 8 levels of files"),
        ("Include %c.conf\nNodeName=n1", "line 1: '%c.conf' contains %"),
        ("Include other.conf\nNodeName=n1", "other.conf"),
    ],
)
def test_damage_is_told_by_its_line(tmp_path: Path, text: str, wrong: str) -> None:
    """And by the file that is included, where it is there."""
    (tmp_path / "slurm.conf").write_text(text + "\n")
    with pytest.raises(FederationError, match=wrong):
        read_federation(tmp_path / "slurm.conf")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60", 3600), ("0:30", 30), ("1:00:00", 3600), ("2-0", 172_800), ("1-12:30", 131_400), ("UNLIMITED", np.inf)],
)
def test_times(text: str, seconds: float) -> None:
    """Minutes where there is one number, days before a hyphen."""
    assert seconds_of(text, "here") == seconds


def test_gpus() -> None:
    """With and without a kind or a number; other devices are none."""
    assert gpus_of("gpu") == gpus_of("gpu:1") == {"gpu": 1}
    assert gpus_of("gpu:A100:4(S:0,1),mps:400,gpu:v100:1") == {"gpu": 5, "gpu:a100": 4, "gpu:v100": 1}
    assert gpus_of("(null)") == {}
    assert gpus_of(f"gpu:{'9' * 5000}")["gpu"] == 1  # no number that anything has


def test_a_partition_without_nodes_is_left_out(hill: Path) -> None:
    """Which is said."""
    text = CONF + "PartitionName=later Nodes=x1\n"
    hill.write_text(text)
    machine = read_federation(hill)
    assert "later" not in [one.name for one in machine.partitions]
    assert "1 partition without nodes (later)" in ignored_in_files(machine)[0]
    assert replace(machine, partitions=()).groups[0].count == 1


WRITTEN = {
    "blanks around =": "SchedulerParameters = bf_window=4320,bf_continue\n NodeName = n[1-2] CPUs= 4\nKillWait =9\n",
    "continued": "SchedulerParameters=bf_window=4320,\\  \nbf_continue\nNodeName=n[1-2] \\\n  CPUs=4\nKillWait=\\\n9\n",
    "comments": "# all \\\nSchedulerParameters=bf_window=4320,bf_continue# x\nNodeName=n[1-2] CPUs=4\nKillWait=9#\n",
    "indented": "NodeName=n[1-2] CPUs=4\n  SchedulerParameters=bf_window=4320,bf_continue\n\tKillWait=9",
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_a_conf_is_read_as_slurm_reads_it(tmp_path: Path, text: str) -> None:
    """Blanks around `=`, lines that go on, comments and indentation change nothing of what a conf says."""
    (tmp_path / "slurm.conf").write_text(text)
    conf = SlurmConf.read(tmp_path / "slurm.conf")
    assert conf.parameters == {"schedulerparameters": "bf_window=4320,bf_continue", "killwait": "9"}
    assert [(host, line.words["cpus"]) for host, line in conf.nodes.items()] == [("n1", "4"), ("n2", "4")]
    assert list(read_hosts(tmp_path / "slurm.conf", read_federation(tmp_path / "slurm.conf")).cpus.values()) == [4, 4]


def test_a_line_that_goes_on_may_include_and_is_told_by_its_first(tmp_path: Path) -> None:
    """What stands below a long line has the number that an editor shows."""
    (tmp_path / "more.conf").write_text("NodeName=n1\n")
    (tmp_path / "slurm.conf").write_text("Include \\\nmore.conf\nKillWait=\\\n30\nPartitionName=p Nodes=n1\n")
    conf = SlurmConf.read(tmp_path / "slurm.conf")
    assert conf.nodes.keys() == {"n1"}
    assert conf.partitions["p"].where.endswith("slurm.conf, line 5")


def test_a_conf_is_read_by_its_noun(hill: Path) -> None:
    """Tests that the noun reads the file that policies and federations are made of."""
    conf = SlurmConf.read(hill)
    assert (conf.name, len(conf.partitions)) == ("hill", 4)
    assert fs.policies.Slurm(conf).parameters == fs.policies.Slurm(hill).parameters
