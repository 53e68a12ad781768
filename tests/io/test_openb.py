"""Tables of pods and of nodes with GPUs: what becomes of each column, what is refused, and a whole trace replayed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import FedschedError

NODES = """sn,cpu_milli,memory_mib,gpu,model
n0,32000,262144,0,
n1,96000,393216,8,G2
n2,96000,393216,8,G2
"""
PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
a,12000,16384,1,1000,,LS,Running,0,100,10
b,6000,12288,1,460,G2|P100,BE,Failed,5,50,5
c,6000,12288,1,460,,BE,Pending,6,60,
d,20000,65536,4,1000,,LS,Running,7,70,8
e,0,0,0,0,,LS,Succeeded,9,9,9
"""
TRACE = Path(__file__).resolve().parents[2].parent / "shared" / "nodes"


def written(folder: Path, text: str, name: str = "openb_pods.csv") -> Path:
    """Return a file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_pod_is_a_job_of_one_task(tmp_path: Path) -> None:
    """Tests what becomes of each column; who never ran is left out, and that is said."""
    jobs = fs.read(written(tmp_path, PODS))
    assert jobs.id.tolist() == [1, 2, 4]
    assert jobs.submit.tolist() == [0, 5, 7]
    assert jobs.runtime.tolist() == jobs.estimate.tolist() == [90, 45, 62]
    assert jobs.tasks.tolist() == [1, 1, 1]
    assert jobs.demand is not None
    assert {name: amounts.tolist() for name, amounts in jobs.demand.columns().items()} == {
        "cpu": [12000, 6000, 20000],
        "memory": [16384, 12288, 65536],
        "gpu": [1, 0, 4],
        "gpu_share": [0, 460, 0],
    }
    assert jobs.label("features").tolist() == ["", "G2|P100", ""]
    assert jobs.label("name").tolist() == ["a", "b", "d"]
    assert jobs.label("qos").tolist() == ["LS", "BE", "LS"]
    assert jobs.history[1:] == ("left out 1 pod never scheduled", "left out 1 pod that ran no second")


def test_nodes_are_groups_of_one_cluster(tmp_path: Path) -> None:
    """Tests that nodes alike are a group, and that a GPU's model is what its pods may ask for."""
    machine = fs.read_federation(written(tmp_path, NODES, "openb_nodes.csv"))
    assert [(group.count, group.features, dict(group.resources)) for group in machine.groups] == [
        (1, (), {"cpu": 32000, "memory": 262144}),
        (2, ("G2",), {"cpu": 96000, "memory": 393216, "gpu": 8}),
    ]
    schedule = fs.simulate(fs.read(written(tmp_path, PODS)), machine, "easy", sharing="pack")
    schedule.verify()
    assert schedule.start.tolist() == [0, 5, 7]
    assert schedule.counts[1].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (",creation_time", ",created", "'creation_time'"),
        ("0,100,10", "0,100,x", "line 2: scheduled_time='x' must be a number"),
        ("0,100,10", "-3,100,10", "line 2: creation_time='-3' must be a number"),
        ("5,50,5", "5,50,55", "line 3: pod b: its deletion_time is before its scheduled_time"),
        ("4,1000", "4,0", "line 5: pod d: its gpu_milli must be 1 to 1000"),
        (PODS[PODS.index("a,12000") :], "", "it has no line below"),
        (PODS[PODS.index("a,12000") :], "c,1,1,0,0,,BE,Pending,6,60,\n", "none of its pods ever ran"),
    ],
)
def test_what_is_no_such_table_is_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    """Tests that the line, the column and what it should be are said."""
    with pytest.raises(FedschedError, match=says):
        fs.read(written(tmp_path, PODS.replace(old, new)), format="openb")


def test_nodes_without_cores_are_refused(tmp_path: Path) -> None:
    """Tests that a node of no cores is an error, and a table of something else."""
    with pytest.raises(FedschedError, match="cpu_milli=0"):
        fs.read_federation(written(tmp_path, NODES.replace("32000", "0"), "openb_nodes.csv"))
    with pytest.raises(FedschedError, match="no column 'sn'"):
        fs.read_federation(written(tmp_path, PODS, "pods.openb"))


def test_cleaning_is_for_logs(tmp_path: Path) -> None:
    """Tests that what cleans logs is refused."""
    with pytest.raises(ValueError, match="is a table of pods"):
        fs.read(written(tmp_path, PODS), over_request="cap")


@pytest.mark.compiled
@pytest.mark.needs_traces
@pytest.mark.skipif(not (TRACE / "openb_pods.csv.gz").is_file(), reason="../shared/nodes is not beside this checkout")
def test_a_whole_trace_finds_room_as_it_did() -> None:
    """Tests that 7,255 pods on the 1,523 nodes of the trace start at once, as they did there, and that it verifies."""
    pods, machine = fs.read(TRACE / "openb_pods.csv.gz"), fs.read_federation(TRACE / "openb_nodes.csv.gz")
    assert (len(pods), machine.nodes, len(pods.history)) == (7255, 1523, 2)
    schedule = fs.simulate(pods, machine, "easy", sharing="pack")
    schedule.verify()
    assert np.array_equal(schedule.start, pods.submit)
