"""The Schedule noun: its numbers, its files, its texts."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import ScheduleError
from fedsched.model.reading import Reading
from fedsched.model.schedule.integrals import Integrals
from fedsched.optimize.result.files import _plan_data as plan_data
from fedsched.optimize.result.files import _plan_of as plan_of
from fedsched.optimize.result.record import PlannedQueue

if TYPE_CHECKING:
    from pathlib import Path


def schedule() -> fs.Schedule:
    """Return a small schedule with three users on two clusters."""
    workload = fs.Workload(
        submit=[0, 0, 2, 4], tasks=[3, 2, 1, 5], runtime=[10, 5, 20, 7.5], user=[1, 1, 2, 3], nodes=6
    )
    return fs.simulate(workload, fs.Federation.of(4, 2), "easy")


def test_columns_follow_from_start_and_finish() -> None:
    """Wait, run and response are the differences that their names say."""
    made = schedule()
    np.testing.assert_array_equal(made.wait, made.start - made.workload.submit)
    np.testing.assert_array_equal(made.response, made.wait + made.run)
    assert made.complete
    assert made.makespan == made.finish.max()


def test_node_numbers_are_enough_and_lowest_first() -> None:
    """Every job has as many nodes as tasks, in the clusters that its counts say, the first job from node 0."""
    made = schedule()
    numbers = made.node_numbers()
    assert numbers[0] == ((0, 2),)
    for job, intervals in enumerate(numbers):
        assert sum(last - first + 1 for first, last in intervals) == made.workload.tasks[job]
        in_first_cluster = sum(min(last, 3) - first + 1 for first, last in intervals if first < 4)
        assert in_first_cluster == made.counts[job, 0]


def test_the_summary_says_waits_use_and_places() -> None:
    """Tests every figure of the summary by hand: two clusters, four jobs, one of them on both."""
    jobs = fs.Workload(submit=[0, 0, 2, 4], tasks=[3, 2, 1, 5], runtime=[10, 5, 20, 7.5], name="four")
    made = fs.simulate(jobs, fs.Federation.of(4, 2))
    first, slowdown, use, places, reading = made.summary().splitlines()
    wait, row = made.wait.mean(), made.metrics()
    ends = f"all 4 jobs of four finish within {row.makespan:.4g} s on {made.federation.name}"
    assert first == f"easy on fastest: {ends}; the mean wait is {wait:.4g} s."
    assert f"is {row.bounded_slowdown:.4g}: wait + run" in slowdown
    assert f"{100 * row.utilisation:.1f} % of the time; the energy is " in use
    assert "(assumed watts)" in use
    assert places == "Jobs on each cluster: C1 3, C2 2; 1 job ran on several at once."
    assert reading == f"Reading: {made.question}."


def test_the_summary_of_a_schedule_without_ends_says_so() -> None:
    """Tests that no figure is made up if no job has finished."""
    made = schedule()
    none = replace(made, start=[np.nan] * 4, finish=[np.nan] * 4)
    assert none.summary().startswith("easy on fastest: none of 4 jobs of workload finishes on ")


def test_csv_comes_back_equal(tmp_path: Path) -> None:
    """A schedule read back from its CSV is the same and still passes the check."""
    made = schedule()
    made.to_csv(tmp_path / "plan.csv.gz")
    back = fs.Schedule.read(tmp_path / "plan.csv.gz", made.workload, made.federation)
    assert back == made
    back.verify()


@pytest.mark.parametrize("names", [("Köln, neu", 'a,"b', "c\nd"), ("c", "c/2", "c/2/1"), ("c/1", "c")])
def test_csv_comes_back_whatever_the_clusters_are_called(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Commas, quotes and ends of lines in clusters' names, and names that look like groups, all keep their columns."""
    one, two = (fs.NodeGroup(1),), (fs.NodeGroup(2), fs.NodeGroup(2, 0.5))
    machine = fs.Federation(tuple(fs.Cluster(name, two if name == "c" else one) for name in names))
    workload = fs.Workload(submit=[0, 0, 1], tasks=[3, machine.nodes, 1], runtime=[10, 5, 7])
    made = fs.simulate(workload, machine)
    made.to_csv(tmp_path / "plan.csv")
    assert fs.Schedule.read(tmp_path / "plan.csv", workload, machine) == made
    assert made.to_frame().filter(regex="^nodes:").shape == made.counts.shape


def test_a_damaged_csv_is_named(tmp_path: Path) -> None:
    """A missing column, a strange job and a broken number are errors with file and line."""
    made = schedule()
    path = tmp_path / "plan.csv"
    made.to_csv(path)
    text = path.read_text()
    for damage, message in (
        (text.replace("start", "begin"), "no column 'start'"),
        (text.replace("\n4,", "\n9,"), "line 5: the workload has no job 9"),
        (text.replace(",10,", ",ten,"), "line 2: a field is missing or no number"),
        ("", "it is empty"),
    ):
        path.write_text(damage)
        with pytest.raises(fs.errors.ScheduleError, match=message):
            fs.Schedule.read(path, made.workload, made.federation)


def test_swf_tells_waits_and_runs(tmp_path: Path) -> None:
    """The log of a schedule has each job's wait and the time that it really ran."""
    made = schedule()
    made.to_swf(tmp_path / "run.swf")
    log = fs.read(tmp_path / "run.swf")
    assert log.log is not None
    np.testing.assert_array_equal(log.log.wait, made.wait)
    np.testing.assert_array_equal(log.runtime, made.run)


def test_swf_names_the_machine_that_ran_the_jobs(tmp_path: Path) -> None:
    """The log of a schedule has the size of its own machine, not of the one whose log was read."""
    (tmp_path / "small.swf").write_text("; MaxNodes: 4\n; MaxProcs: 4\n1 0 -1 10 3 -1 -1 3 -1 -1 1 1 1 1 1 1 -1 -1\n")
    workload = fs.read(tmp_path / "small.swf")
    for nodes in (3, 4, 512):
        fs.simulate(workload, fs.Federation.homogeneous(nodes)).to_swf(tmp_path / "run.swf")
        assert fs.read(tmp_path / "run.swf").nodes == nodes
        assert f"; MaxNodes: {nodes}\n" in (tmp_path / "run.swf").read_text()


def test_a_frame_has_a_row_a_job() -> None:
    """The table has the workload's columns, the times, and the nodes of each cluster."""
    frame = schedule().to_frame()
    assert len(frame) == 4
    assert frame["nodes:C1"].tolist() == schedule().counts[:, 0].tolist()


def test_fairness_is_by_user() -> None:
    """Each user has the mean bounded slowdown of his jobs; the spread in the metrics is theirs."""
    made = schedule()
    by_user = made.fairness()
    bounded = np.maximum(1, made.response / np.maximum(made.run, 10))
    assert by_user[1] == pytest.approx(bounded[:2].mean())
    assert made.metrics().user_spread == pytest.approx(np.std(list(by_user.values())))


def test_trimming_leaves_out_the_edges() -> None:
    """Jobs submitted in the warm-up are not in the trimmed metrics; impossible shares are refused."""
    made = schedule()
    late = made.workload.submit >= 2
    assert made.trimmed_metrics(warmup=0.5).mean_wait == pytest.approx(made.wait[late].mean())
    with pytest.raises(ValueError, match="together below 1"):
        made.trimmed_metrics(warmup=0.6, cooldown=0.5)


def test_it_prints_itself() -> None:
    """Text and HTML name the policy and the metrics."""
    made = schedule()
    assert "easy" in str(made)
    assert "mean_wait" in str(made)
    assert "<table>" in made._repr_html_()


def test_wrong_shapes_are_refused() -> None:
    """Arrays that do not fit the workload are an error that says both shapes."""
    made = schedule()
    with pytest.raises(fs.errors.ScheduleError, match=r"counts has shape \(2, 2\)"):
        fs.Schedule(
            workload=made.workload,
            federation=made.federation,
            start=made.start,
            finish=made.finish,
            counts=np.zeros((2, 2)),
            t0=0.0,
        )


def test_it_records_its_reading(tmp_path: Path) -> None:
    """What a policy knew and how instants were read stays with a schedule, and is not made up where a file lacks it."""
    workload, machine = fs.Workload.example().head(10), fs.Federation.example()
    schedule = fs.simulate(workload, machine, "easy", same_time="sequential", knowledge="runtime", saturation="static")
    assert schedule.reading == Reading(same_time="sequential", knowledge="runtime", saturation="static")
    assert schedule.take(np.arange(5)).reading == schedule.reading
    assert "clairvoyant" in str(schedule)
    assert schedule.to_json()["reading"]["same_time"] == "sequential"
    schedule.to_csv(tmp_path / "plan.csv")
    assert fs.Schedule.read(tmp_path / "plan.csv", workload, machine).reading.knowledge is None
    usual = fs.simulate(workload, machine, "easy")
    assert usual.reading == Reading()
    assert "clairvoyant" not in str(usual)
    with pytest.raises(ValueError, match="guess"):
        replace(schedule, knowledge="guess")


def test_what_a_run_added_up_is_kept_whole() -> None:
    """Tests that integrals over time are the run's in the schedule, its metrics and its file; older files know less."""
    jobs = fs.Workload.example().head(60)
    schedule = fs.simulate(jobs, fs.Federation.example(), "easy")
    row = schedule.metrics().as_dict()
    assert {name: row[name] for name in Integrals._fields} == schedule.integrals._asdict()
    assert schedule.loss_of_capacity > 0 == schedule.saturated_seconds
    assert replace(schedule, loss_of_capacity=0.5).integrals == Integrals(0.0, 0.5, 0.0, 0.0)
    assert all(map(math.isnan, schedule.take(np.arange(5)).integrals))
    data = json.loads(json.dumps(plan_data(PlannedQueue(schedule=schedule))))
    again = plan_of(data, jobs, schedule.federation).schedule
    assert again is not None
    assert again.integrals == schedule.integrals
    del data["loss_of_capacity"]
    older = plan_of(data, jobs, schedule.federation).schedule
    assert older is not None
    assert older.saturated_seconds == 0.0
    assert math.isnan(older.loss_of_capacity)


def test_a_schedule_goes_to_other_processes() -> None:
    """Tests that a schedule is the same after pickling, on shared nodes too, and then does not say why a job waited."""
    jobs = fs.Workload(submit=[0, 0, 1], tasks=[1, 1, 2], runtime=[60, 60, 10], demand={"cpu": [2, 2, 3]})
    machine = fs.Federation((fs.Cluster("C", (fs.NodeGroup(2, resources={"cpu": 4}),)),))
    for sharing in (None, "first"):
        schedule = fs.simulate(jobs, machine, sharing=sharing)
        again = pickle.loads(pickle.dumps(schedule))
        assert again == schedule
        again.verify(claimed=schedule.metrics())
        with pytest.raises(ScheduleError, match="does not say how it was made"):
            again.why(1)
    assert again.nodes_of(2) == schedule.nodes_of(2)
