"""Batsim's workloads, there and back, and what cannot be mapped; jobs.csv as evalys opens it."""

from __future__ import annotations

import csv
import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedsched.core.errors import ScheduleError, TraceError
from fedsched.io import read, write
from fedsched.io.batsim.evalys import COLUMNS, interval_set
from fedsched.io.batsim.workloads import read_batsim, write_batsim
from fedsched.model.jobs.workload import Workload
from fedsched.model.machine.federation import Cluster, Federation, NodeGroup
from fedsched.simulate import simulate

if TYPE_CHECKING:
    from pathlib import Path

DELAY = {"type": "delay", "delay": 20.25}


def save(path: Path, jobs: list[Any], profiles: dict[str, Any], **others: Any) -> Path:
    """Write a Batsim workload."""
    path.write_text(json.dumps({"nb_res": 8, "jobs": jobs, "profiles": profiles} | others))
    return path


def job(number: object = 1, **others: Any) -> dict[str, Any]:
    """Return a job of one node."""
    return {"id": number, "subtime": 0, "res": 1, "profile": "p"} | others


def test_delays_are_run_times(tmp_path: Path) -> None:
    """Tests that delay, walltime, res, subtime and nb_res are read, whatever form the id has."""
    jobs = [job(3, subtime=5.5, res=2, walltime=30), job("w0!7", walltime=-1), job("12")]
    workload = read(save(tmp_path / "a.json", jobs, {"p": DELAY}))
    assert workload.id.tolist() == [7, 12, 3]
    assert workload.submit.tolist() == [0, 0, 5.5]
    assert workload.runtime.tolist() == [20.25] * 3
    assert workload.estimate.tolist() == [20.25, 20.25, 30]
    assert workload.nodes == 8
    assert workload.log is None
    assert workload.cleaning is not None
    assert workload.cleaning.missing_request == 2


def test_fields_that_are_not_read_are_counted(tmp_path: Path) -> None:
    """Tests that what jobs and profiles hold beyond the model is said of the very jobs, and nothings are not."""
    jobs = [
        job(1, priority=3, qos="", depends=[]),
        job(2, profile="q", priority=0),
        job(3, extra_data='{"fedsched": {"user": 4}}', description="words"),
        job(4, extra_data='{"colour": "red"}', **{"<b>\x1b[31m" + "x" * 50: 1}),
    ]
    path = save(tmp_path / "a.json", jobs, {"p": DELAY | {"np": 1}, "q": DELAY | {"ret": 1}})
    workload = read(path)
    names = "<b>\\x1b[31m" + "x" * 31 + "…, extra_data, priority, profile's ret"
    assert workload.unmodelled == (f"3 jobs with fields that are not read ({names})",)
    assert workload.take([2]).unmodelled == ()
    assert workload.take([1]).unmodelled == (f"1 job with fields that are not read ({names})",)
    many = save(tmp_path / "b.json", [job(1, **{f"k{i}": i for i in range(1, 9)})], {"p": DELAY})
    assert read(many).unmodelled == ("1 job with fields that are not read (k1, k2, k3, k4, k5 and 3 more)",)
    write(workload, tmp_path / "a.csv")
    assert read(tmp_path / "a.csv").unmodelled == workload.unmodelled


def test_names_become_numbers(tmp_path: Path) -> None:
    """Tests that ids that are no numbers are counted as numbered anew."""
    workload = read(save(tmp_path / "a.json", [job("first"), job(9)], {"p": DELAY}))
    assert workload.id.tolist() == [1, 2]
    assert workload.cleaning is not None
    assert workload.cleaning.renumbered == 2


@pytest.mark.parametrize(
    ("profile", "runtime", "bandwidth"),
    [
        ({"type": "parallel_homogeneous", "cpu": 1e9, "com": 5e5}, 10, 150_000),
        ({"type": "ParallelTaskHomogeneousProfile", "cpu": 1e9, "com": 0}, 10, 0),
        ({"type": "parallel_homogeneous_total", "cpu": 4e9, "com": 6e6}, 10, 150_000),
        (
            {
                "type": "parallel_homogeneous", "cpu": 4e9, "com": 6e6,
                "generation_strategy": "DefinedAmountsSpreadUniformly",
            },
            10,
            150_000,
        ),
        ({"type": "ptask_homogeneous", "cpu": 1e9, "com": 5e5}, 10, 150_000),
        (
            {
                "type": "ptask_homogeneous", "cpu": 4e9, "com": 6e6,
                "generation_strategy": "defined_amount_spread_uniformly",
            },
            10,
            150_000,
        ),
    ],
)  # fmt: skip
def test_flops_and_bytes(tmp_path: Path, profile: dict[str, Any], runtime: float, bandwidth: float) -> None:
    """Tests that flops over a node's speed are the run time, and a task's bytes over it its bandwidth."""
    path = save(tmp_path / "a.json", [job(res=4)], {"p": profile})
    workload = read_batsim(path, node_speed=1e8)
    assert workload.runtime.tolist() == [runtime]
    assert workload.task_bandwidth.tolist() == [bandwidth]
    assert workload.compute_fraction.tolist() == [1]
    with pytest.raises(TraceError, match=r"it counts flops: give read_batsim\(..., node_speed"):
        read(path)


@pytest.mark.parametrize(
    "profile",
    [
        {"type": "parallel", "cpu": [1, 2], "com": [0, 0, 0, 0]},
        {"type": "composed", "seq": ["p"]},
        {"type": "TraceReplayProfile", "filename": "x"},
        {"type": "parallel_homogeneous", "cpu": 0, "com": 1e6},
        {"type": ["delay"]},
        {},
        17,
    ],
)
def test_what_says_no_run_time_is_named_or_counted(tmp_path: Path, profile: object) -> None:
    """Tests that a profile that cannot be mapped is an error that names it, and counted with on_error="skip"."""
    path = save(tmp_path / "a.json", [job(1), job(2, profile="q")], {"p": profile, "q": DELAY})
    with pytest.raises(TraceError, match=r"job 1 \(id 1\), profile 'p'"):
        read_batsim(path, node_speed=1e8)
    workload = read_batsim(path, node_speed=1e8, on_error="skip")
    assert workload.id.tolist() == [2]
    assert workload.cleaning is not None
    assert workload.cleaning.unmapped == 1
    assert "1 dropped: profiles that say no run time" in str(workload.cleaning)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"res": 0}, "res=0 must be a whole number of at least 1"),
        ({"res": 1.5}, "res=1.5 must be a whole number"),
        ({"res": "2"}, "res='2' must be a number"),
        ({"subtime": None}, "subtime=None must be a number"),
        ({"subtime": float("nan")}, "subtime=nan must be a number"),
        ({"walltime": True}, "walltime=True must be a number"),
        ({"profile": "q"}, "Unknown profile 'q'"),
        ({"profile": 4}, "Unknown profile '4'"),
    ],
)
def test_a_damaged_job_is_named(tmp_path: Path, damage: dict[str, Any], message: str) -> None:
    """Tests that an error names file, job, field and value."""
    path = save(tmp_path / "a.json", [job(1), job(2, **damage)], {"p": DELAY})
    with pytest.raises(TraceError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}, job 2 (id 2): ")
    assert message in str(caught.value)
    assert len(read(path, on_error="skip")) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "it has no 'jobs', a list"),
        ('{"jobs": []}', "it has no 'profiles', an object"),
        ('{"jobs": [], "profiles": {}}', "it has no job"),
        ('{"jobs": [1], "profiles": {}}', "job 1: 1 is no object"),
        ('{"jobs": [{"id": 1}], "profiles": {}}', "job 1: it has no 'subtime'"),
        ('{"jobs": [], "profiles": {}, "nb_res": -1}', "nb_res=-1 must be a whole number"),
        ('{"jobs": [\n1,,]}', "line 2: not valid JSON"),
        ("[" * 100_000, "its brackets are nested too deeply"),
        ("9" * 5000, "not valid JSON"),
    ],
)
def test_what_is_no_workload_is_said(tmp_path: Path, text: str, message: str) -> None:
    """Tests that a file that is no Batsim workload is an error that says what is missing."""
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(TraceError, match=message):
        read(path)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Draw workloads that use every field, in the order of their submits."""
    jobs, sites = draw(st.integers(1, 9)), draw(st.lists(st.sampled_from(["north", "7", "a b", "é"]), unique=True))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=jobs, max_size=jobs))

    seconds = st.floats(1e-6, 1e9)
    allowed = draw(st.none() | st.just(np.array([column(st.booleans()) for _ in sites]).reshape(len(sites), jobs).T))
    if allowed is not None and sites:
        allowed[:, 0] = True
    return Workload(
        submit=sorted(column(st.floats(0, 1e9))),
        tasks=column(st.integers(1, 64)),
        runtime=column(seconds),
        estimate=column(seconds),
        id=draw(st.lists(st.integers(-99, 10**14), min_size=jobs, max_size=jobs, unique=True)),
        compute_fraction=column(st.floats(0, 1)),
        task_bandwidth=column(st.floats(0, 1e9)),
        origin=column(st.integers(-1, len(sites) - 1)),
        user=column(st.integers(-1, 10**9)),
        allowed=allowed if sites else None,
        sites=sites,
        nodes=draw(st.sampled_from((0, 64))),
    )


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=workloads())
def test_written_jobs_come_back(tmp_path: Path, made: Workload) -> None:
    """Tests that every field of the model comes back to the last bit, sites and allowed sites included."""
    write(made, tmp_path / "a.json")
    back = read_batsim(tmp_path / "a.json", over_request="keep")
    assert back == made.sorted()


def test_talkative_jobs_come_back_as_flops_and_bytes(tmp_path: Path) -> None:
    """Tests that with a node's speed talkative jobs are written as tasks Batsim computes, which give the run time."""
    made = Workload(
        submit=[0, 1, 2], tasks=[4, 1, 2], runtime=[30, 20, 10], compute_fraction=[0.7, 1, 1],
        task_bandwidth=[1e5, 2e5, 0], nodes=8,
    )  # fmt: skip
    write_batsim(made, tmp_path / "a.json", node_speed=2e8)
    data = json.loads((tmp_path / "a.json").read_text())
    assert data["profiles"]["task1"] == {"type": "parallel_homogeneous", "cpu": 6e9, "com": 1e6}
    assert data["profiles"]["delay20.0"] == {"type": "delay", "delay": 20.0}
    back = read_batsim(tmp_path / "a.json", node_speed=2e8)
    assert back == made
    with pytest.raises(ValueError, match="node_speed=0 must be finite and above 0"):
        write_batsim(made, tmp_path / "b.json", node_speed=0)


# ---- jobs.csv -----------------------------------------------------------------------------------------------------


def planned() -> Any:
    """Return a schedule on two clusters with two groups, one job of which is ended at its estimate."""
    federation = Federation(
        (
            Cluster("a", (NodeGroup(3, 1.0, 100, 50), NodeGroup(2, 1.0, 200, 90))),
            Cluster("b", (NodeGroup(4, 1.0, 300, 100),)),
        )
    )
    workload = Workload(submit=[0, 0, 5, 6], tasks=[4, 5, 2, 9], runtime=[10, 20, 30, 5], estimate=[10, 15, 30, 5])
    return simulate(workload, federation, "fcfs", kill_at_estimate=True)


def test_jobs_csv_says_what_the_schedule_says(tmp_path: Path) -> None:
    """Tests each column of jobs.csv against the schedule, energy and interval sets included."""
    schedule = planned()
    schedule.to_evalys(tmp_path / "jobs.csv")
    with (tmp_path / "jobs.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == COLUMNS
    for j, row in enumerate(rows):
        start, finish, submit = (float(row[name]) for name in ("starting_time", "finish_time", "submission_time"))
        assert (start, finish) == (schedule.start[j], schedule.finish[j])
        assert float(row["waiting_time"]) == start - submit
        assert float(row["turnaround_time"]) == finish - submit
        assert float(row["execution_time"]) == finish - start
        assert float(row["stretch"]) == pytest.approx((finish - submit) / (finish - start))
        watts = schedule.counts[j] @ [100, 200, 300]
        assert float(row["consumed_energy"]) == pytest.approx(watts * (finish - start))
        nodes = [n for part in row["allocated_resources"].split() for n in _numbers(part)]
        assert len(nodes) == len(set(nodes)) == int(row["requested_number_of_resources"])
    assert [row["final_state"] for row in rows] == ["COMPLETED_SUCCESSFULLY", "COMPLETED_WALLTIME_REACHED"] + [
        "COMPLETED_SUCCESSFULLY"
    ] * 2
    assert [row["success"] for row in rows] == ["1", "0", "1", "1"]


def _numbers(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)


def test_interval_sets_are_canonical() -> None:
    """Tests that a single node has no bar, and that intervals are parted by blanks."""
    assert interval_set(((0, 3), (5, 5), (8, 9))) == "0-3 5 8-9"
    assert interval_set(()) == ""


def test_nothing_finished_is_nothing_to_write(tmp_path: Path) -> None:
    """Tests that a schedule in which nothing finished is an error, and that unfinished jobs are left out."""
    from dataclasses import replace

    schedule = planned()
    nothing = np.full(4, np.nan)
    with pytest.raises(ScheduleError, match="no job of the schedule has finished"):
        replace(schedule, start=nothing, finish=nothing).to_evalys(tmp_path / "a.csv")
    replace(schedule, finish=np.where([0, 1, 0, 0], np.nan, schedule.finish)).to_evalys(tmp_path / "b.csv")
    assert [line.split(",")[0] for line in (tmp_path / "b.csv").read_text().splitlines()] == ["job_id", "1", "3", "4"]


@pytest.mark.needs("evalys")
def test_evalys_opens_it(tmp_path: Path) -> None:
    """Tests that evalys itself reads jobs.csv, and finds the schedule's nodes in use at every moment."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it uses what pandas and matplotlib will drop
        from evalys import jobset

        schedule = planned()
        schedule.to_evalys(tmp_path / "jobs.csv")
        jobs = jobset.JobSet.from_csv(str(tmp_path / "jobs.csv"))
        load = jobs.utilisation["load"]
    assert jobs.df.proc_alloc.tolist() == schedule.workload.tasks.tolist()
    assert jobs.MaxProcs == 9
    for moment, busy in load.items():
        running = (schedule.start <= moment) & (schedule.finish > moment)
        assert busy == schedule.workload.tasks[running].sum()
