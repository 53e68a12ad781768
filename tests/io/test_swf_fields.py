"""Logs with more than eighteen fields: kept by place or name, read as MetaCentrum writes them, and written again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import OutputError, TraceError
from fedsched.io.platforms.metacentrum import nodes_of, request_of
from fedsched.io.swf.log import write_swf
from fedsched.io.swf.swf_table import read_table
from fedsched.model.jobs.log import Demand
from fedsched.study.scenario import Log

if TYPE_CHECKING:
    from pathlib import Path

JOB = "{} {} 5 100 4 -1 -1 4 200 -1 1 7 1 1 1 1 -1 -1"


def log(folder: Path, *further: str) -> Path:
    """Return a log of a job for each text of further fields."""
    path = folder / "log.swf"
    path.write_text("".join(f"{JOB.format(k, k)} {text}\n" for k, text in enumerate(further, 1)))
    return path


def jobs_of(path: Path) -> list[str]:
    """Return the lines of a log that are jobs."""
    return [line for line in path.read_text().splitlines() if not line.startswith(";")]


def test_further_fields_are_labels_by_their_places(tmp_path: Path) -> None:
    """Tests that texts and numbers beyond the eighteenth field are labels, and come back signs and all."""
    path = log(tmp_path, "blue 007 -1", "-1 1e3 -1", "blue é -1")
    jobs = fs.read(path)
    assert jobs[0].labels == {"field 19": "blue", "field 20": "007"}
    assert jobs.label("field 20").tolist() == ["007", "1e3", "é"]
    assert jobs.label("field 19").tolist() == ["blue", "", "blue"]
    assert jobs.unmodelled == ("further fields kept as labels: field 19, field 20",)
    jobs.write(tmp_path / "again.swf")
    assert jobs_of(tmp_path / "again.swf") == [line.removesuffix(" -1") for line in jobs_of(path)]
    assert fs.read(tmp_path / "again.swf") == jobs
    jobs.write(tmp_path / "again.csv")
    assert fs.read(tmp_path / "again.csv") == jobs


def test_names_are_kept_in_the_header(tmp_path: Path) -> None:
    """Tests that fields may have names, that a log written again keeps them, and that new ones replace them."""
    jobs = fs.read(log(tmp_path, "a b c", "d e f"), descriptor="host,,colour")
    assert jobs.labels is not None
    assert list(jobs.labels.texts) == ["host", "field 20", "colour"]
    jobs.write(tmp_path / "again.swf")
    assert "; Note: fedsched: field 21 is colour\n" in (tmp_path / "again.swf").read_text()
    assert fs.read(tmp_path / "again.swf") == jobs
    renamed = fs.read(tmp_path / "again.swf", descriptor="node,x,y")
    assert renamed.label("node").tolist() == ["a", "d"]
    assert fs.read(tmp_path / "again.swf", descriptor="node,x,y").header == renamed.header
    assert not any("host" in text for _, text in renamed.header)


def test_fields_between_stay_where_they_are(tmp_path: Path) -> None:
    """Tests that a field of which the jobs left say nothing is written as unknown, so that others keep their places."""
    jobs = fs.read(log(tmp_path, "a -1 x", "b c y")).head(1)
    jobs.write(tmp_path / "again.swf")
    assert jobs_of(tmp_path / "again.swf")[0].endswith(" a -1 x")
    assert fs.read(tmp_path / "again.swf") == jobs


def test_a_field_may_be_the_partition(tmp_path: Path) -> None:
    """Tests that a name that the model knows gives a field its meaning, and that queues cannot be the same."""
    path = log(tmp_path, "long", "short")
    jobs = fs.read(path, descriptor="partition")
    assert jobs.label("partition").tolist() == ["long", "short"]
    assert jobs.unmodelled == ()
    jobs.write(tmp_path / "again.swf")
    again = fs.read(tmp_path / "again.swf")
    assert again.labels == jobs.labels
    with pytest.raises(TraceError, match='a further field is already named "partition"'):
        fs.read(path, descriptor="partition", queues="partition")


@pytest.mark.parametrize("text", ["two words", "a;b", "-1", "line\nbreak"])
def test_texts_that_are_no_field_are_lost_by_name(tmp_path: Path, text: str) -> None:
    """Tests that a text that would not come back as one field is refused, and left out where that is allowed."""
    jobs = fs.read(log(tmp_path, "a b", "c d"), descriptor="one,two")
    changed = replace(jobs, labels={"one": ["a", text], "two": ["b", "d"], "other": ["x", "y"]})
    with pytest.raises(OutputError, match=r"no place for labels \(one, other\);"):
        changed.write(tmp_path / "again.swf")
    write_swf(changed, tmp_path / "again.swf", lossy=True)
    assert [line.split()[18:] for line in jobs_of(tmp_path / "again.swf")] == [["-1", "b"], ["-1", "d"]]


@pytest.mark.parametrize(
    ("descriptor", "error"),
    [
        ("a", "describes fields 19 to 19, but the log has fields 19 to 20 beyond the 18th; give as many names"),
        ("a,b,c", "describes fields 19 to 21, but the log has fields 19 to 20"),
        ("metacentrum", "describes fields 19 to 21, but the log has fields 19 to 20"),
        ("a,a", "two fields are named 'a'"),
        ("a, b", "field ' b' must be a non-empty text without blanks"),
    ],
)
def test_a_descriptor_that_does_not_fit_is_refused(tmp_path: Path, descriptor: str, error: str) -> None:
    """Tests that names must be as many as fields, and names."""
    with pytest.raises(TraceError, match=error):
        fs.read(log(tmp_path, "x y"), descriptor=descriptor)


def test_only_such_logs_have_descriptors(tmp_path: Path) -> None:
    """Tests that a log of eighteen fields has nothing to describe, and other formats no fields beyond them."""
    with pytest.raises(TraceError, match="but the log has no field beyond the 18th"):
        fs.read(log(tmp_path, ""), descriptor="a")
    (tmp_path / "a.csv").write_text("submit,tasks,runtime\n0,1,1\n")
    with pytest.raises(ValueError, match="Standard Workload Format"):
        fs.read(tmp_path / "a.csv", descriptor="a")


def test_lines_with_other_numbers_of_fields_are_skipped_and_counted(tmp_path: Path) -> None:
    """Tests that what is skipped is no job with the fields of others, and that the rest keep theirs."""
    path = log(tmp_path, "a b", "c", "d e", "f g h")
    jobs = fs.read(path, on_error="skip")
    assert jobs.label("field 19").tolist() == ["a", "d"]
    assert jobs.label("field 20").tolist() == ["b", "e"]
    assert jobs.cleaning is not None
    assert jobs.cleaning.malformed == 2


def test_long_logs_are_read_in_blocks(tmp_path: Path) -> None:
    """Tests that fields stay with their jobs over many blocks, whether a block is read at once or line by line."""
    many = [f"text{k % 7} {k}" for k in range(40_000)]
    path = log(tmp_path, *many)
    with path.open("a") as more:
        more.write("x\n")
    raw = read_table(path, on_error="skip")
    assert raw.malformed == 1
    assert [f"{one} {two}" for one, two in raw.further.T] == many
    assert len(set(map(id, raw.further[0]))) == 7


@pytest.mark.parametrize(
    ("text", "features", "demands"),
    [
        ("1", "", Demand(0)),
        ("1:ppn=1", "", Demand(0)),
        ("1:ppn=64:x86_64:cl_zewura#excl", "x86_64&cl_zewura", Demand.PER_NODE | Demand.ALONE),
        ("2:ppn=12:cl_zewura:cl_zewura", "cl_zewura", Demand.PER_NODE),
        ("1:ppn=1+3:ppn=2", "", Demand.PER_NODE | Demand.KINDS),
        ("1:brno+1:nfs4", "", Demand.KINDS),
        ("1:ppn=1:^zewura5.cerit-sc.cz", "", Demand.FEATURES),
        ("1:ppn=1.5:brno", "brno", Demand.FEATURES),
        ("1:ppn=5:host=zewura10", "", Demand.PER_NODE | Demand.FEATURES),
        ("1:ppn=12:mem=2gb", "", Demand.PER_NODE | Demand.MEMORY),
        ("zewura19.cerit-sc.cz:ppn=12:brno", "zewura19.cerit-sc.cz&brno", Demand.PER_NODE),
        ("1:ppn=1#excl#shared", "", Demand.ALONE | Demand.FEATURES),
        ("1:a&b", "", Demand.FEATURES),
    ],
)
def test_requests_of_metacentrum(text: str, features: str, demands: Demand) -> None:
    """Tests that properties are features, and that each of the other words is counted by what it asks for."""
    assert request_of(text) == (features, demands)


def test_nodes_of_metacentrum() -> None:
    """Tests that processors are counted by node, and that what is no list of nodes is none."""
    assert nodes_of("{1241,1255,1241}") == {"1241": 2, "1255": 1}
    assert [nodes_of(text) for text in ("{}", "1241", "{1241", "{1241,,7}", "")] == [None] * 5


def test_a_log_of_metacentrum_is_described_once(tmp_path: Path) -> None:
    """Tests that what requests say comes back from a log that is written again, without its being described anew."""
    path = log(tmp_path, "{7,7,7,7} q_1d 1:ppn=4:brno#excl", "{7,8,8,9} q_2h 4:ppn=1:nfs4")
    jobs = fs.read(path, descriptor="metacentrum")
    assert jobs.label("features").tolist() == ["brno", "nfs4"]
    assert jobs.unmodelled == (
        "further fields kept as labels: queue",
        "1 job with several processors on a node (each taken for a node of its own)",
        "1 job alone on their nodes (#excl)",
    )
    jobs.write(tmp_path / "again.swf")
    assert jobs_of(tmp_path / "again.swf") == jobs_of(path)
    assert fs.read(tmp_path / "again.swf") == jobs
    assert fs.read(tmp_path / "again.swf").unmodelled == jobs.unmodelled
    others = replace(jobs, labels={**jobs.labels.columns(), "features": ["brno", "gpu"]})
    with pytest.raises(OutputError, match=r"no place for labels \(features\);"):
        others.write(tmp_path / "x.swf")
    with pytest.raises(TraceError, match="field 19 is 'blue'; MetaCentrum names the node"):
        fs.read(log(tmp_path, "blue q_1d 1"), descriptor="metacentrum")


def test_features_of_requests_bind(tmp_path: Path) -> None:
    """Tests that a job of a log of MetaCentrum's runs where the nodes have what it asks for."""
    jobs = fs.read(log(tmp_path, "{1} q 4:a", "{2} q 4:b"), descriptor="metacentrum")
    groups = [fs.NodeGroup(count=4, features=(name,)) for name in "ba"]
    schedule = fs.simulate(jobs, fs.Federation([fs.Cluster("c", groups)]), "fcfs")
    assert schedule.counts.tolist() == [[0, 4], [4, 0]]


def test_a_scenario_describes_its_log(tmp_path: Path) -> None:
    """Tests that a scenario's log takes a descriptor as `fedsched.read` does."""
    path = log(tmp_path, "a")
    assert Log(file=str(path), descriptor="host").workload().label("host").tolist() == ["a"]


def test_the_log_of_cerit(tmp_path: Path, nodes_dir: Path) -> None:
    """Tests that a real log of shared nodes is read, what is not modelled counted, and all of it written again."""
    jobs = fs.read(nodes_dir / "CERIT-2013.swf.gz", descriptor="metacentrum", over_request="keep")
    assert (len(jobs), jobs.cleaning.no_runtime) == (17_898, 2)
    names = jobs.label("nodes").tolist()
    assert [sum(nodes_of(text).values()) for text in names] == jobs.tasks.tolist()
    assert len({node for text in names for node in nodes_of(text)}) == 44
    bits = jobs.log.demands.astype(np.int64)
    told = {demand: int(((bits & demand) != 0).sum()) for demand in (Demand.ALONE, Demand.KINDS, Demand.FEATURES)}
    assert told == {Demand.ALONE: 231, Demand.KINDS: 12, Demand.FEATURES: 107}
    jobs.write(tmp_path / "again.swf")
    assert fs.read(tmp_path / "again.swf", over_request="keep") == jobs
