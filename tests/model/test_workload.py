"""Workloads: what the constructor refuses, what changes give, and how jobs come and go as tables and CSV files."""

from __future__ import annotations

import dataclasses
import pickle
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import OutputError, TraceError, UnknownNameError
from fedsched.model.jobs.log import CleaningReport, LogColumns

if TYPE_CHECKING:
    from pathlib import Path


def small(**columns: object) -> fs.Workload:
    """Return three jobs."""
    given: dict[str, object] = {"submit": [0, 10, 5], "tasks": [1, 2, 4], "runtime": [10, 20, 30]} | columns
    return fs.Workload(**given)  # type: ignore[arg-type]


def full() -> fs.Workload:
    """Return three jobs that use every column."""
    return small(
        submit=[0, 0.1, 1 / 3], estimate=[10, 1e9, 30.5], id=[7, -3, 9], user=[-1, 4, 4], sites=["a,b", 'c "d"'],
        origin=[1, -1, 0], compute_fraction=[1, 0.5, 0.1], task_bandwidth=[0, 1e6, 0.3], name="ü", nodes=64,
        allowed=[[True, False], [True, True], [False, True]], log=LogColumns(3, {"wait": [1, 2, 3.5], "status": 1}),
        header=[("Note", "x\ny")], history=["made"],
    )  # fmt: skip


def test_defaults() -> None:
    """Estimates are the run times, ids 1..n; no origin, no user, all computing, no communication."""
    workload = small()
    assert workload.estimate.tolist() == [10, 20, 30]
    assert workload.id.tolist() == [1, 2, 3]
    assert workload.origin.tolist() == workload.user.tolist() == [-1, -1, -1]
    assert workload.compute_fraction.tolist() == [1, 1, 1]
    assert not workload.task_bandwidth.any()


def test_arrays_are_read_only_and_independent() -> None:
    """Neither the workload's arrays nor those it was made from can change it, and unpickled ones neither."""
    submit = np.zeros(3)
    workload = small(submit=submit)
    submit[0] = 5
    assert workload.submit[0] == 0
    for made in (workload, pickle.loads(pickle.dumps(workload))):
        with pytest.raises(ValueError, match="read-only"):
            made.submit[0] = 1


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"submit": [0, -1, 2]}, r"Job 2: submit=-1\.0 must be finite and at least 0"),
        ({"submit": [0, np.nan, 2]}, "Job 2: submit=nan must be finite"),
        ({"submit": [0, np.inf, 2]}, "Job 2: submit=inf must be finite"),
        ({"tasks": [1, 0, 1]}, "Job 2: tasks=0 must be at least 1"),
        ({"tasks": [1, 1.5, 1]}, r"Job 2: tasks=1\.5 must be a whole number"),
        ({"tasks": [1, np.nan, 1]}, "Job 2: tasks=nan must be a whole number"),
        ({"runtime": [1, 0, 1]}, r"Job 2: runtime=0.* above 0"),
        ({"runtime": [1, np.nan, 1], "id": [4, 17, 5]}, "Job 17: runtime=nan must be finite"),
        ({"estimate": [1, 1, -1]}, r"Job 3: estimate=-1.* above 0"),
        ({"compute_fraction": 1.5}, r"Job 1: compute_fraction=1\.5 must lie between 0 and 1"),
        ({"compute_fraction": np.nan}, "compute_fraction=nan must lie"),
        ({"task_bandwidth": -1}, "task_bandwidth=-1"),
        ({"task_bandwidth": np.inf}, "task_bandwidth=inf must be finite"),
        ({"origin": [0, 0, 0]}, "Job 1: origin=0 must be -1 or an index of the 0 sites"),
        ({"id": [1, 2, 1]}, "Job 1: rows 0 and 2 have the same id"),
        ({"nodes": -1}, "nodes=-1 must be at least 0"),
        ({"tasks": [1, 2]}, r"tasks has shape \(2,\), but submit gives 3 jobs"),
        ({"sites": ["a", "a"]}, "two sites are named 'a'"),
        ({"sites": ["a|b"]}, "must not contain"),
        ({"sites": [" a"]}, "without blanks at its ends"),
        ({"sites": ["a"], "allowed": [[True], [False], [True]]}, "Job 2: allowed is false for all 1 sites"),
        ({"sites": ["a"], "allowed": [[True]]}, r"allowed has shape \(1, 1\)"),
        ({"log": LogColumns(2)}, "log has 2 rows, but there are 3 jobs"),
    ],
)  # fmt: skip
def test_what_breaks_the_model_is_refused(columns: dict[str, object], said: str) -> None:
    """The error names the first job, the field, the value and the rule."""
    with pytest.raises(ValueError, match=said):
        small(**columns)


@pytest.mark.parametrize("columns", [{"tasks": ["a", "b", "c"]}, {"sites": "north"}, {"sites": ["a"], "allowed": 1}])
def test_values_of_the_wrong_type_are_refused(columns: dict[str, object]) -> None:
    """Texts for numbers, one text for several, numbers for booleans: a TypeError."""
    with pytest.raises(TypeError, match="Workload: "):
        small(**columns)


def test_rows_are_jobs() -> None:
    """A row is a Job with its site's name, and the workload of all rows is the workload."""
    workload = full()
    job = workload[0]
    assert (job.id, job.origin, job.allowed, job.tasks) == (7, 'c "d"', ("a,b",), 1)
    assert workload[-1].origin == "a,b"
    again = fs.Workload.from_jobs(workload, nodes=64)
    assert again.sites == ('c "d"', "a,b")
    for made, given in zip(again, workload, strict=True):
        assert set(made.allowed or ()) == set(given.allowed or ())
        assert dataclasses.replace(made, allowed=None) == dataclasses.replace(given, allowed=None)
    with pytest.raises(IndexError):
        workload[3]


def test_parts() -> None:
    """head, window, filter, sample and take keep the right rows, in the order of the table."""
    workload = small()
    assert workload.head(2).id.tolist() == [1, 2]
    assert workload.head(9) == workload
    assert workload.window(5, 10).id.tolist() == [3]
    assert workload.filter(lambda w: w.tasks > 1).id.tolist() == [2, 3]
    assert workload.take([2, 0]).id.tolist() == [3, 1]
    assert workload.sample(2, seed=1) == workload.sample(2, seed=1)
    assert len(workload.sample(3)) == 3
    assert full().take([2, 1]).log == LogColumns(2, {"wait": [3.5, 2], "status": 1})


def test_changes() -> None:
    """sorted, renumbered, rebased and scale_load alter what they say and nothing else."""
    workload = small(submit=[10, 30, 20])
    assert workload.sorted().id.tolist() == [1, 3, 2]
    assert workload.sorted().renumbered().id.tolist() == [1, 2, 3]
    assert workload.rebased().submit.tolist() == [0, 20, 10]
    assert workload.scale_load(2).submit.tolist() == [10, 20, 15]
    assert workload.scale_load(2).load(4) == pytest.approx(2 * workload.load(4))
    assert workload.load(10) == workload.area / (10 * 20)
    assert workload.scale_load(2).history == ("scale_load(2)",)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda w: w.head(-1), "at least 0"),
        (lambda w: w.window(5, 5), "must begin before it ends"),
        (lambda w: w.filter([1, 0, 1]), "must hold 3 booleans"),
        (lambda w: w.sample(4), "between 0 and the workload's 3"),
        (lambda w: w.scale_load(0), "finite and above 0"),
        (lambda w: w.load(), "the machine's size is unknown"),
        (lambda w: fs.Workload.merge(), "no workload to merge"),
        (lambda w: fs.Workload.merge(w, w), "two logs are named"),
    ],
)
def test_what_changes_refuse(act: object, said: str) -> None:
    """A ValueError that says the rule."""
    with pytest.raises(ValueError, match=said):
        act(small())  # type: ignore[operator]


def test_sites_are_renamed_by_name() -> None:
    """rename_sites alters one name and keeps origins; an unknown one is answered with the nearest."""
    workload = small(sites=["north", "south"], origin=[0, 1, 0])
    assert workload.rename_sites({"north": "hill"}).sites == ("hill", "south")
    with pytest.raises(UnknownNameError, match="Did you mean 'north'"):
        workload.rename_sites({"nort": "x"})


def test_merged_logs_keep_their_jobs_apart() -> None:
    """Each log is a site, jobs are sorted and renumbered, and users of different logs stay different."""
    one, two = small(user=[1, 2, 1], nodes=4, name="one"), small(user=[1, -1, 3], nodes=8, name="two")
    merged = fs.Workload.merge(one, two)
    assert merged.sites == ("one", "two")
    assert merged.id.tolist() == [1, 2, 3, 4, 5, 6]
    assert merged.submit.tolist() == [0, 0, 5, 5, 10, 10]
    assert merged.origin.tolist() == [0, 1, 0, 1, 0, 1]
    assert merged.nodes == 12
    known = merged.user != -1
    of = [set(merged.user[known & (merged.origin == k)].tolist()) for k in (0, 1)]
    assert of[0].isdisjoint(of[1])
    assert [len(users) for users in of] == [2, 2]


def test_without_pandas_tables_are_dictionaries_with_the_same_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that workloads and schedules give the columns of their pandas tables, and that jobs come back."""
    schedule = fs.simulate(fs.Workload(submit=[0], tasks=[1], runtime=[1]), fs.Federation.homogeneous(1))
    several = (full(), schedule)
    keys = [list(one.to_frame()) for one in several]
    monkeypatch.setitem(sys.modules, "pandas", None)
    plain = [one.to_frame() for one in several]
    assert [type(one) for one in plain] == [dict, dict]
    assert [list(one) for one in plain] == keys
    assert plain[1]["finish"].tolist() == [1.0]
    assert fs.Workload.from_frame(plain[0]).submit.tolist() == full().submit.tolist()


def test_former_names_of_tables_warn() -> None:
    """Tests that `to_pandas` and `from_pandas` are `to_frame` and `from_frame`."""
    with pytest.warns(DeprecationWarning, match=r"Workload\.to_pandas is now to_frame"):
        frame = full().to_pandas()
    with pytest.warns(DeprecationWarning, match=r"Workload\.from_pandas is now from_frame"):
        assert fs.Workload.from_pandas(frame) == full()


def test_tables_of_pandas_go_there_and_back() -> None:
    """Every column comes back, and submit, tasks and runtime are enough."""
    pd = pytest.importorskip("pandas")
    assert fs.Workload.from_frame(full().to_frame()) == full()
    least = pd.DataFrame({"submit": [0.0], "tasks": [1], "runtime": [2.0]})
    assert len(fs.Workload.from_frame(least)) == 1
    with pytest.raises(ValueError, match="Did you mean 'submit'"):
        fs.Workload.from_frame(least.rename(columns={"submit": "submitt"}))
    with pytest.raises(ValueError, match="'runtime' is missing"):
        fs.Workload.from_frame(least.drop(columns="runtime"))


@pytest.mark.parametrize("name", ["w.csv", "w.csv.gz"])
def test_csv_files_go_there_and_back(tmp_path: Path, name: str) -> None:
    """Every column, the name, the size, the header and the history come back."""
    full().write(tmp_path / name)
    again = fs.read(tmp_path / name)
    assert again == full()
    assert (again.name, again.header, again.history) == ("ü", (("Note", "x\ny"),), ("made", f"read {name}"))
    small().write(tmp_path / name)
    assert fs.read(tmp_path / name) == small()


def test_csv_files_of_others(tmp_path: Path) -> None:
    """A line of names and three columns are enough; comments, blank lines, a BOM and CRLF do no harm."""
    path = tmp_path / "w.csv"
    path.write_bytes("\ufeff# mine\r\nruntime,submit,tasks\r\n\r\n5,0,2\r\n".encode())
    workload = fs.read(path, nodes=8, name="mine")
    assert (workload[0].runtime, workload[0].tasks, workload.nodes, workload.name) == (5, 2, 8, "mine")
    with pytest.raises(ValueError, match="clean='none' is for logs"):
        fs.read(path, clean="none")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it has no job"),
        ("submit,tasks,runtime\n", "it has no job"),
        ("submit,task,runtime\n0,1,2\n", "Unknown column 'task'. Did you mean 'tasks'"),
        ("submit,procs,runtime\n0,1,2\n", "Unknown column 'procs'. Did you mean 'tasks'"),
        ("submit,cores,runtime\n0,1,2\n", "Did you mean 'tasks'. .A task takes a node of its own; .*'demand.cpu' has"),
        ("submit,tasks,Run Time\n0,1,2\n", "Unknown column 'Run Time'. Did you mean 'runtime'"),
        ("submit,tasks,runtime,walltime\n0,1,2,3\n", "Did you mean 'estimate'"),
        ("submit,tasks,runtime,queue\n0,1,2,x\n", "Did you mean 'label.partition'"),
        ("JobID,submit,tasks,runtime\n1,0,1,2\n", "Did you mean 'id'"),
        ("submit,tasks\n0,1\n", "Column 'runtime' is missing"),
        ("submit,tasks,runtime,tasks\n0,1,2,1\n", "column 'tasks' occurs twice; leave one"),
        ("# x\nsubmit,tasks,runtime\n0,1,x\n", "line 3, column runtime: 'x' is not a number"),
        ("submit,tasks,runtime\n0,1.5,2\n", r"line 2, column tasks: '1\.5' is not a whole number"),
        ("submit,tasks,runtime\n0,1\n", "line 2: 2 fields, but 3 columns"),
        ("submit,tasks,runtime\n0,1,nan\n", "Job 1: runtime=nan"),
        ("submit,tasks,runtime\n-1,1,1\n", r"Job 1: submit=-1\.0 must be finite and at least 0"),
        ("# fedsched {\nsubmit,tasks,runtime\n0,1,1\n", "line 1: .* is no JSON any more"),
        ("# fedsched [1]\nsubmit,tasks,runtime\n0,1,1\n", "line 1: .* must be an object"),
        ('# fedsched {"nodes": "x"}\nsubmit,tasks,runtime\n0,1,1\n', "line 1: .*nodes"),
        ('# fedsched {"sites": 3}\nsubmit,tasks,runtime\n0,1,1\n', "line 1: .*sites"),
        ("submit,tasks,runtime\n0,1,99999999999999999999\n0,99999999999999999999,1\n", "line 3, column tasks"),
    ],
)
def test_csv_files_with_faults(tmp_path: Path, text: str, said: str) -> None:
    """Every fault is a TraceError that names file, line and column, or the job."""
    path = tmp_path / "w.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TraceError, match=rf"w\.csv.*{said}"):
        fs.read(path)


def test_a_csv_file_that_cannot_be_written(tmp_path: Path) -> None:
    """It is an OutputError, and nothing is left behind."""
    with pytest.raises(OutputError, match="does not exist"):
        small().write(tmp_path / "none" / "w.csv")
    assert not list(tmp_path.iterdir())


def test_the_summary_says_what_cleaning_did() -> None:
    """Printed, a workload tells its jobs, machine, sites and cleaning."""
    report = CleaningReport(records=5, kept=3, negative_submit=2)
    text = str(small(nodes=8, cleaning=report, sites=["a"], origin=0))
    for said in ("3 jobs", "8 nodes", "a 3", "3 of 5 records kept; 2 dropped: submit below 0"):
        assert said in text
    assert str(small().head(0)) == "workload: no jobs"
