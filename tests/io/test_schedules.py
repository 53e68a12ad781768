"""Schedules read from CSV files: what is in the file is compared with the jobs, and what is not is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fedsched as fs

if TYPE_CHECKING:
    from pathlib import Path

JOBS = fs.Workload(submit=[0, 5.25, 20], tasks=[2, 3, 1], runtime=[100, 50, 70], estimate=[120, 60, 80])
FOUR = fs.Federation.of(4)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Return the file of a schedule of the jobs."""
    path = tmp_path / "plan.csv"
    fs.simulate(JOBS, FOUR, "easy").to_csv(path)
    return path


def test_a_second_row_of_a_job_is_refused(plan: Path) -> None:
    """Tests that no row of a job takes the place of another one in silence."""
    lines = plan.read_text().splitlines()
    plan.write_text("\n".join([*lines, lines[2]]) + "\n")
    with pytest.raises(fs.errors.ScheduleError, match=r"plan\.csv, line 5: job 2 has a row already, line 3"):
        fs.Schedule.read(plan, JOBS, FOUR)


def test_jobs_without_a_row_are_counted(plan: Path) -> None:
    """Tests that a schedule of some of the jobs says so, in its notes, its remarks and its printed form."""
    plan.write_text("".join(plan.read_text().splitlines(keepends=True)[:3]))
    some = fs.Schedule.read(plan, JOBS, FOUR)
    assert some.notes == (f"2 of 3 jobs have a row in {plan}",)
    assert some.remarks == ("2 of 3 jobs have a finish; the metrics are of these",)
    assert all(line in str(some) for line in (*some.notes, *some.remarks))


@pytest.mark.parametrize(
    ("name", "value"), [("submit", "6"), ("tasks", "4"), ("runtime", "51"), ("estimate", "61"), ("wait", "0.5")]
)
def test_a_column_that_differs_from_the_workload_is_refused(name: str, value: str, plan: Path) -> None:
    """Tests that a file of other jobs, or with a wait that start and submit do not make, is an error with its line."""
    rows = [line.split(",") for line in plan.read_text().splitlines()]
    rows[2][rows[0].index(name)] = value
    plan.write_text("\n".join(map(",".join, rows)) + "\n")
    with pytest.raises(fs.errors.ScheduleError, match=rf"line 3: {name}={value} of job 2, but the workload makes it"):
        fs.Schedule.read(plan, JOBS, FOUR)


def test_a_plan_for_jobs_that_all_wait_is_read_as_such(plan: Path) -> None:
    """Tests that the submits of a plan are those of its file: kept, or now."""
    made = fs.simulate(JOBS, FOUR, "easy", submits="now", knowledge="runtime")
    made.to_csv(plan)
    with pytest.raises(fs.errors.ScheduleError, match=r'line 3: submit=0 of job 2.*, with submits="now" if all jobs'):
        fs.Schedule.read(plan, JOBS, FOUR)
    assert fs.Schedule.read(plan, JOBS, FOUR, submits="now", reading=made.reading) == made


def test_fewer_digits_and_columns_are_read(plan: Path) -> None:
    """Tests that a program may print times to a thousandth, leave cells empty, and leave columns out."""
    made = fs.Schedule.read(plan, JOBS, FOUR)
    plan.write_text(plan.read_text().replace("\n2,5.25,3,50,", "\n2,5.2502,,50.0,"))
    assert fs.Schedule.read(plan, JOBS, FOUR) == made
    plan.write_text("id,start,finish,nodes:C1\n1,0,100,2\n2,100,150,3\n3,20,90,1\n")
    assert len(fs.Schedule.read(plan, JOBS, FOUR).notes) == 0


@pytest.mark.parametrize("row", ["2.5,100,150,3", "2,100,150,3.5"])
def test_half_a_job_and_half_a_node_are_refused(row: str, plan: Path) -> None:
    """Tests that ids and numbers of nodes are whole numbers."""
    plan.write_text(f"id,start,finish,nodes:C1\n{row}\n")
    with pytest.raises(fs.errors.ScheduleError, match=r"line 2: .*\(\d\.5 must be a whole number\)"):
        fs.Schedule.read(plan, JOBS, FOUR)


def test_an_unknown_option_names_itself(plan: Path) -> None:
    """Tests that options are those of the signature, which the reference shows."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'origin'"):
        fs.Schedule.read(plan, JOBS, FOUR, origin=0)  # type: ignore[call-arg]
