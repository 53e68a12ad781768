"""Submissions to a Slurm simulator: what becomes of each option of sbatch, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import fedsched as fs
from fedsched.core.errors import FedschedError

EVENTS = """\
# jobs
-dt 10.50 -e submit_batch_job | -sim-walltime 84805.00 --uid=u1 -J one -N 1 -n 32 -t 3-00:00:00 -q q -p p --mem=500G x
-dt 11 -e submit_batch_job | -J two -sim-walltime 90 --uid=u2 -t 00:07:00 -n 24 --ntasks-per-node=12 -A a -C IB x

-e submit_batch_job -dt 12 | -J three -sim-walltime -1 -t 30 -N 2 -n 8 --gres=gpu:a:1 --gres=gpu:2 --exclusive=user x
-dt 13 -e submit_batch_job | -sim-walltime 0 -t 30 -n 5 -c 2 --mem-per-cpu=1000 --begin=now x
-dt 13 -e submit_batch_job | -t 1:30 -N2 --ntasks-per-node 3 --exclusive x
"""
WEEK = Path(__file__).resolve().parents[2].parent / "shared" / "slurm" / "ub-medium" / "workload_week.events.gz"


def written(folder: Path, text: str, name: str = "jobs.events") -> Path:
    """Return a file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_options_become_columns(tmp_path: Path) -> None:
    """Tests that memory and GPUs of a node are those of one task there, and that other jobs keep their own tasks."""
    jobs = fs.read(written(tmp_path, EVENTS))
    assert jobs.submit.tolist() == [10.5, 11.0, 12.0, 13.0, 13.0]
    assert jobs.runtime.tolist() == [84805.0, 90.0, 1800.0, 1.0, 90.0]
    assert jobs.estimate.tolist() == [259200.0, 420.0, 1800.0, 1800.0, 90.0]
    assert jobs.tasks.tolist() == [1, 24, 2, 5, 6]
    assert jobs.demand is not None
    assert jobs.layout is not None
    assert {name: amounts.tolist() for name, amounts in jobs.demand.columns().items()} == {
        "cpu": [32, 1, 4, 2, 1], "memory": [512_000, 0, 0, 2000, 0], "gpu": [0, 0, 2, 0, 0],
    }  # fmt: skip
    assert {name: amounts.tolist() for name, amounts in jobs.layout.columns().items()} == {
        "tasks_per_node": [1, 12, 1, 0, 3], "exclusive": [0, 0, 1, 0, 1], "nodes": [1, 0, 2, 0, 2],
    }  # fmt: skip
    for name, texts in {
        "user": ["u1", "u2", "", "", ""], "account": ["", "a", "", "", ""], "partition": ["p", "", "", "", ""],
        "qos": ["q", "", "", "", ""], "features": ["", "IB", "", "", ""], "name": ["one", "two", "three", "", ""],
    }.items():  # fmt: skip
        assert jobs.label(name).tolist() == texts
    assert jobs.history == (
        "read jobs.events",
        "2 jobs end at their limits",
    )
    assert jobs.unmodelled == ("1 job with --begin", "1 job with --exclusive=user (read as --exclusive)")


def test_a_range_of_nodes_costs_no_file(tmp_path: Path) -> None:
    """Tests that of a range of nodes the fewest are taken, which is said."""
    jobs = fs.read(written(tmp_path, "-dt 1 -e submit_batch_job | -t 1 -N 2-8 -n 4 -sim-walltime 5\n"))
    assert jobs.layout is not None
    assert jobs.layout.columns()["nodes"].tolist() == [2]
    assert jobs.unmodelled == ("1 job with --nodes with a range (the fewest are taken)",)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("-dt 1 -e cancel_job | -J one", "line 1: '-dt 1 -e cancel_job' is not a submission"),
        ("-dt 1 -e submit_batch_job", "is not a submission like"),
        ("-dt x -e submit_batch_job | -t 1 -n 1", "-dt='x' must be seconds"),
        ("-dt 1 -e submit_batch_job | -n 1", "it has no --time"),
        ("-dt 1 -e submit_batch_job | -t soon -n 1", "--time: 'soon' is not a time"),
        ("-dt 1 -e submit_batch_job | -t 1 -n none", "--ntasks='none' must be a whole number"),
        ("-dt 1 -e submit_batch_job | -t 1 -N 0-2 -n 2", "--nodes='0' must be a whole number"),
        ("-dt 1 -e submit_batch_job | -t 1 -N 3 -n 2", "--nodes=3 exceeds its 2 tasks"),
        ("-dt 1 -e submit_batch_job | -t 1 -N 2 -n 5", "its 5 tasks cannot be spread evenly"),
        ("-dt 1 -e submit_batch_job | -t 1 -n 5 --mem=4G", "--mem and --gres are per node"),
        ("-dt 1 -e submit_batch_job | -t 1 -n 1 --mem=lots", "--mem='lots' is not an amount of memory"),
        ("-dt 1 -e submit_batch_job | -t 1 -n 1 --gres=fpga:1", "--gres=fpga:1 is not a number of GPUs; give gpu:N"),
        ("-dt 1 -e submit_batch_job | -t 1 -n 1 'x", "line 1: No closing quotation"),
        ("# nobody", "it submits no job; give lines like '-dt 10.5"),
    ],
)
def test_what_it_cannot_tell_is_refused(tmp_path: Path, line: str, says: str) -> None:
    """Tests that the line and what is wrong with it are said."""
    with pytest.raises(FedschedError, match=says):
        fs.read(written(tmp_path, line + "\n"))


def test_cleaning_is_for_logs(tmp_path: Path) -> None:
    """Tests that what cleans logs is refused."""
    with pytest.raises(ValueError, match="is a file of submissions"):
        fs.read(written(tmp_path, EVENTS), over_request="cap")


@pytest.mark.needs_traces
@pytest.mark.skipif(not WEEK.is_file(), reason="../shared/slurm is not beside this checkout")
def test_a_week_of_a_cluster_is_read_whole() -> None:
    """Tests the sums of a published week, counted by other means: jobs, nodes, cores, GPUs and who is alone."""
    jobs = fs.read(WEEK)
    assert jobs.demand is not None
    assert jobs.layout is not None
    columns, alone = jobs.demand.columns(), jobs.layout.columns()["exclusive"]
    assert (len(jobs), int(alone.sum()), int((columns["gpu"] > 0).sum())) == (19_579, 179, 73)
    assert int((jobs.label("features") != "").sum()) == 1457
    assert int((jobs.tasks * columns["cpu"]).sum()) == 187_498
