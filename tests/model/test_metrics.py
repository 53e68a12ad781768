"""The metric row, on three jobs that can be measured by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.plain import plain

import fedsched as fs
from fedsched.core.errors import ScheduleError
from fedsched.model.schedule.integrals import NOTHING_WASTED, Eligible, Integrals, Wasted
from fedsched.model.schedule.metrics import FIRST_INTEGRAL, METRICS, NAMES, OF_A_SCHEDULE, Column, Metrics

metrics = plain("fedsched.model.schedule.metrics")
MEASURED = metrics.Measured(
    submit=np.array([0.0, 10.0, 20.0]),
    tasks=np.array([2, 1, 3]),
    user=np.array([0, 1, 0]),
    group_nodes=np.array([2, 4, 2]),
    group_cluster=np.array([0, 0, 1]),
    busy_watts=np.array([200.0, 300.0, 400.0]),
    idle_watts=np.array([100.0, 50.0, 80.0]),
    watts=np.zeros((0, 0)),
)
START = np.array([0.0, 30.0, 40.0])
FINISH = np.array([40.0, 35.0, 60.0])
NOBODY = np.zeros(0)
COUNTS = np.array([[2, 0, 0], [0, 1, 0], [0, 1, 2]])


def row_of(
    t0: float = 0.0, start=START, finish=FINISH, counts=COUNTS, users: int = 2, wasted: Wasted = NOTHING_WASTED,
    eligible=NOBODY, watts=MEASURED.watts,
) -> dict[str, float]:
    """Return the metric row by name."""
    row = np.full(len(Column), 77.0)
    measured = MEASURED._replace(watts=watts)
    metrics.fill_row(measured, t0, np.array(start), np.array(finish), np.array(counts), Eligible(eligible), wasted,
                     Integrals(12.0, 0.25, 0.0, 0.0), np.full((users, 2), 9.0), row)  # fmt: skip
    return dict(zip(NAMES, row.tolist(), strict=True))


def test_places_and_names_agree() -> None:
    """Tests that every metric has a column of its name, and that the integrals' columns follow on each other."""
    assert [column.name.lower() for column in Column] == list(NAMES)
    assert NAMES[FIRST_INTEGRAL:][: len(Integrals._fields)] == Integrals._fields


def test_every_column_by_hand() -> None:
    """Three jobs of 40, 5 and 20 s that waited 0, 20 and 20 s: each metric as its formula gives it."""
    bounded = [1.0, 25.0 / 10.0, 2.0]
    energy = 80 * 200.0 + (5 + 20) * 300.0 + 40 * 400.0
    idle = (200.0 + 200.0 + 160.0) * 60.0 - (80 * 100.0 + 25 * 50.0 + 40 * 80.0)
    assert row_of() == pytest.approx({
        "makespan": 60.0,
        "flow": 40.0 + 25.0 + 40.0,
        "mean_wait": 40.0 / 3,
        "mean_wait_eligible": 40.0 / 3,
        "max_wait": 20.0,
        "mean_response": 105.0 / 3,
        "mean_slowdown": (1.0 + 5.0 + 2.0) / 3,
        "bounded_slowdown": sum(bounded) / 3,
        "weighted_response": (2 * 40.0 + 25.0 + 3 * 40.0) / 6,
        "weighted_slowdown": (2 * 1.0 + 5.0 + 3 * 2.0) / 6,
        "utilisation": 145.0 / (8 * 60.0),
        "energy": energy + idle,
        "busy_energy": energy,
        "idle_energy": idle,
        "coallocated": 1.0,
        "saturated_seconds": 12.0,
        "loss_of_capacity": 0.25,
        "wasted_node_seconds": 0.0,
        "requeues": 0.0,
        **dict.fromkeys(OF_A_SCHEDULE, math.nan),
        "user_spread": abs(1.5 - 2.5) / 2,
    }, rel=1e-15, nan_ok=True)  # fmt: skip
    assert list(row_of()) == [metric.name for metric in METRICS]


def test_the_p95_wait_lies_between_two_jobs_in_proportion() -> None:
    """By hand: of the waits 0, 10 and 30 the 95 % quantile is at 1.9 of 2, so 0.9 of the way from 10 to 30."""
    jobs = fs.Workload(submit=[0.0, 0.0, 0.0], tasks=[1, 1, 1], runtime=[10.0, 20.0, 5.0])
    schedule = fs.simulate(jobs, 1, "fcfs")
    assert schedule.wait.tolist() == [0.0, 10.0, 30.0]
    assert schedule.metrics().p95_wait == pytest.approx(28.0)
    schedule.verify(claimed=schedule.metrics())
    with pytest.raises(ScheduleError, match="p95_wait is given as 30, but start times and nodes make it 28"):
        schedule.verify(claimed=replace(schedule.metrics(), p95_wait=30.0))


def test_waits_may_be_counted_from_when_jobs_might_start() -> None:
    """Of the three waits two begin later than their submits; the metric is told only where it differs."""
    assert row_of(eligible=np.array([0.0, 25.0, 20.0]))["mean_wait_eligible"] == 25.0 / 3
    assert row_of(eligible=np.array([0.0, 25.0, 20.0]))["mean_wait"] == 40.0 / 3
    row = row_of() | {"mean_wait_eligible": 25.0 / 3}
    assert "mean_wait_eligible" in Metrics(**row).telling()
    assert "mean_wait_eligible" not in Metrics(**row_of()).telling()


def test_what_runs_held_in_vain_was_busy() -> None:
    """Node-seconds that came to nothing count in utilisation and energy, and their end as one of the run."""
    row = row_of(wasted=Wasted(np.array([10.0, 0.0, 5.0]), 70.0))
    assert row["makespan"] == 70.0
    assert row["utilisation"] == (145.0 + 15.0) / (8 * 70.0)
    assert row["busy_energy"] == row_of()["busy_energy"] + 10 * 200.0 + 5 * 400.0
    assert row["idle_energy"] == 560.0 * 70.0 - (80 * 100.0 + 25 * 50.0 + 40 * 80.0) - (10 * 100.0 + 5 * 80.0)
    assert row["flow"] == row_of()["flow"]
    assert row_of(wasted=Wasted(np.array([10.0, 0.0, 5.0]), 50.0))["makespan"] == 60.0


def test_a_job_that_says_what_it_draws_is_counted_by_that() -> None:
    """Its nodes' watts take the place of their groups', idle ones stay; lost runs tell how much more they took."""
    watts = np.stack([MEASURED.busy_watts, np.full(3, 120.0), np.zeros(3)])
    row = row_of(watts=watts, wasted=Wasted(np.array([10.0, 0.0, 5.0]), 50.0, -300.0))
    assert row["busy_energy"] == 80 * 200.0 + 5 * 120.0 + 10 * 200.0 + 5 * 400.0 - 300.0
    assert row["idle_energy"] == row_of(wasted=Wasted(np.array([10.0, 0.0, 5.0]), 50.0))["idle_energy"]
    assert row["energy"] == row["busy_energy"] + row["idle_energy"]


def test_what_says_something() -> None:
    """What is not known says nothing, nor that nothing was lost."""
    row = Metrics.from_row(np.array([0.0] * len(Column)))
    assert set(NAMES) - set(row.telling()) == {"mean_wait_eligible", "wasted_node_seconds", "requeues", "drain_loss"}
    assert Metrics.from_row(np.array([np.nan] * len(Column))).telling() == {}
    assert "requeues" in Metrics.from_row(np.array([1.0] * len(Column))).telling()


def test_a_job_begun_before_t0_costs_from_then_on() -> None:
    """Energy and utilisation count from t0 = 30 s: of the first job's 40 s only 10 are left, its waiting stays."""
    row = row_of(t0=30.0)
    assert row["makespan"] == 30.0
    assert row["busy_energy"] == 2 * 10 * 200.0 + 25 * 300.0 + 40 * 400.0
    assert row["idle_energy"] == 560.0 * 30.0 - (20 * 100.0 + 25 * 50.0 + 40 * 80.0)
    assert row["energy"] == row["busy_energy"] + row["idle_energy"]
    assert row["utilisation"] == pytest.approx(85.0 / (8 * 30.0))
    assert (row["mean_wait"], row["flow"]) == (row_of()["mean_wait"], row_of()["flow"])


def test_a_job_that_ended_before_t0_costs_nothing() -> None:
    """From t0 = 38 s on the second job, which ended at 35 s, draws nothing, and never less than nothing."""
    assert row_of(t0=38.0)["busy_energy"] == 2 * 2 * 200.0 + 20 * 300.0 + 40 * 400.0


def test_jobs_that_have_not_finished_are_left_out() -> None:
    """Means are over the finished jobs; a schedule without any has no metrics."""
    row = row_of(finish=[40.0, math.nan, 60.0])
    assert (row["mean_response"], row["coallocated"], row["user_spread"]) == (40.0, 1.0, 0.0)
    assert all(math.isnan(value) for value in row_of(finish=[math.nan] * 3).values())


def test_two_groups_of_one_cluster_are_no_coallocation() -> None:
    """A job on two groups of the same cluster is not co-allocated, whichever groups these are."""
    assert row_of(counts=[[1, 1, 0], [0, 1, 0], [2, 1, 0]])["coallocated"] == 0.0
    assert row_of(counts=[[1, 0, 1], [0, 0, 1], [1, 1, 1]])["coallocated"] == 2.0


def test_users_are_measured_on_request() -> None:
    """Without room for users their spread is no number."""
    assert math.isnan(row_of(users=0)["user_spread"])
    assert math.isnan(Metrics.from_row(np.array(list(row_of(users=0).values()))).user_spread)
    assert Metrics.from_row(np.arange(float(len(Column)))).user_spread == Column.USER_SPREAD


def test_rows_are_equal_where_the_same_is_not_known() -> None:
    """What is not known is no difference; a value that only one of them has is."""
    schedule = fs.simulate(fs.Workload(submit=[0.0], tasks=[1], runtime=[5.0]), fs.Federation.homogeneous(1))
    known = schedule.metrics(users=False)
    again = schedule.metrics(users=False)
    assert np.isnan(known.workflow_makespan)
    assert known == again
    assert hash(known) == hash(again)
    assert known != schedule.metrics(users=True)
    assert known != known.as_dict()
