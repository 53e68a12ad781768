"""What jobs wait for beside nodes: how it is said, who never starts, and what becomes of it where jobs are handled."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.bounds.lower.lower_bounds import lower_bounds
from fedsched.core.errors import InfeasibleError, UnknownNameError
from fedsched.model.constraints.dependencies import (
    Kind,
    conditions_of,
    conditions_on_absent_jobs,
    edges_of,
    never_start,
)
from fedsched.model.reading import CLAIRVOYANT
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem

if TYPE_CHECKING:
    from pathlib import Path

FOUR = fs.Workload(submit=[0.0, 1.0, 2.0, 3.0], tasks=[1, 1, 1, 1], runtime=[10.0, 5.0, 4.0, 3.0], id=[11, 12, 13, 14])
ONE_NODE = fs.Federation.homogeneous(4)


def edges(workload: fs.Workload) -> set[tuple[int, int, str, float]]:
    """Return who waits for whom, by ids."""
    found = edges_of(workload)
    ids = workload.id
    return {
        (int(ids[job]), int(ids[on]), Kind(kind).name.lower(), lag)
        for job, on, kind, lag in zip(*(column.tolist() for column in found), strict=True)
    }


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("afterok:12", "afterok:12"),
        (" afterok:12:13+5 , singleton", "afterok:12,afterok:13+5,singleton"),
        ("AFTER:7+1.5", "after:7+90.0s"),
        ("afterany:7+90s", "afterany:7+90.0s"),
        ("afternotok:7+120s", "afternotok:7+2"),
        ("singleton+60s", "singleton+1"),
        ("", ""),
    ],
)
def test_what_slurm_says_is_read(text: str, normal: str) -> None:
    """Kinds in any case, several jobs, lags in minutes or in seconds, and nothing at all."""
    said = ",".join(map(str, conditions_of(text)))
    assert said == normal
    assert ",".join(map(str, conditions_of(said))) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("afterok:12?afterok:13", "Job 11: 'afterok:12?afterok:13': either-or conditions"),
        ("afterok", "Job 11: 'afterok' must be like 'afterok:12'"),
        ("afterok:x", "Job 11: 'afterok:x' must be like"),
        ("afterok:12+-5", "must be minutes, or seconds with an s; at least 0"),
        ("afterok:12+1e999", "must be minutes, or seconds with an s; at least 0"),
        ("singleton+x", "Job 11: 'singleton+x': what follows + must be minutes"),
        ("afterok+5:12", "Job 11: 'afterok+5:12' must be like"),
        (f"afterok:{10**19}", "must be like 'afterok:12'"),
    ],
)
def test_what_cannot_be_read_is_refused_by_job(text: str, said: str) -> None:
    """Whatever is wrong with a text is said of the job that has it."""
    with pytest.raises(ValueError, match=r"^") as caught:
        replace(FOUR, after=[text, "", "", ""])
    assert said in str(caught.value)


def test_an_unknown_kind_offers_the_nearest() -> None:
    """A condition of no kind that is known is refused, and the nearest is offered."""
    with pytest.raises(UnknownNameError, match=r"Job 12: condition 'aftrok'.*afterok"):
        replace(FOUR, after={12: "aftrok:11"})


def test_texts_go_by_job_or_one_each() -> None:
    """Texts are given for all jobs, or by the ids of those that wait; too few of them are refused."""
    by_id, each = replace(FOUR, after={13: "afterok:11:12+1"}), replace(FOUR, after=["", "", "afterok:11:12+1", ""])
    assert by_id == each
    assert edges(each) == {(13, 11, "afterok", 0.0), (13, 12, "afterok", 60.0)}
    assert replace(FOUR, after=["", "", "", ""]).after is None
    with pytest.raises(ValueError, match="after: 2 texts for 4 jobs"):
        replace(FOUR, after=["", "afterok:11"])


def test_a_singleton_waits_for_its_like_before_it() -> None:
    """Who precedes it by submit and id, with its user and name, has ended; others of that user do not matter."""
    like = replace(
        FOUR,
        user=[1, 1, 1, 2],
        labels={"name": ["fit", "plot", "fit", "fit"]},
        after={13: "singleton+30s", 14: "singleton", 11: "singleton"},
    )
    assert edges(like) == {(13, 11, "afterany", 30.0)}
    # Three in a row wait each for the one before: that one has waited for the others.
    row = replace(FOUR, after=dict.fromkeys((12, 13, 14), "singleton"))
    assert edges(row) == {(12, 11, "afterany", 0.0), (13, 12, "afterany", 0.0), (14, 13, "afterany", 0.0)}
    late = replace(FOUR, after={14: "singleton"})
    assert {on for _, on, _, _ in edges(late)} == {11, 12, 13}


def test_who_waits_for_what_cannot_happen_never_starts() -> None:
    """Failed and killed jobs end badly, cancelled ones neither way; who waits for one without hope has none."""
    log = {"status": [0.0, 1.0, 5.0, 1.0]}

    def hopeless(after: dict[int, str], **changes: object) -> list[int]:
        jobs = replace(FOUR, after=after, log=log)
        return jobs.id[never_start(jobs, CLAIRVOYANT.but(**changes))].tolist()

    assert hopeless({12: "afterok:11", 13: "afternotok:11", 14: "afterany:11"}) == [12]
    assert hopeless({11: "afterok:13", 12: "afternotok:13", 14: "afterany:13"}) == [11, 12]
    assert hopeless({13: "afternotok:12", 14: "after:13"}) == [13, 14]
    short = {"estimate": [10.0, 1.0, 4.0, 3.0]}
    jobs = replace(FOUR, after={13: "afterok:12", 14: "afternotok:12"}, **short)
    assert jobs.id[never_start(jobs, CLAIRVOYANT.but(kill_at_estimate=True))].tolist() == [13]
    assert jobs.id[never_start(jobs, CLAIRVOYANT)].tolist() == [14]


def test_a_circle_is_refused_by_name() -> None:
    """Jobs that wait for each other are named, in the order in which they wait, and nobody beside them."""
    after = {11: "after:12", 12: "afterok:14", 13: "singleton", 14: "afterany:13"}
    with pytest.raises(InfeasibleError, match=r"Job 12: it waits for itself through 12, 14, 13 \(after\)"):
        fs.simulate(replace(FOUR, after=after), ONE_NODE)
    with pytest.raises(InfeasibleError, match="Job 11: it waits for itself through 11"):
        fs.simulate(replace(FOUR, after={11: "after:11"}), ONE_NODE)


def test_jobs_that_are_not_here_have_ended_and_that_is_said() -> None:
    """A condition on a job that was left out holds, and whoever is shown the jobs is told."""
    part = replace(FOUR, after={13: "afterok:11", 14: "afterok:99"}).take([2, 3])
    assert edges(part) == set()
    assert conditions_on_absent_jobs(part) == "2 jobs after jobs that are not here (taken to have ended before)"
    schedule = fs.simulate(part, ONE_NODE)
    assert "2 jobs after jobs that are not here" in str(schedule)
    assert schedule.start.tolist() == [2.0, 3.0]


def test_new_numbers_keep_who_waits_for_whom() -> None:
    """Renumbered and merged jobs wait for the same jobs as before."""
    chained = replace(FOUR, after={13: "afterok:11+1", 14: "after:13"})
    assert edges(chained.renumbered()) == {(3, 1, "afterok", 60.0), (4, 3, "after", 0.0)}
    merged = fs.Workload.merge(chained, replace(chained, submit=FOUR.submit + 0.5), sites=("a", "b"))
    ends, starts = {(5, 1, "afterok", 60.0), (6, 2, "afterok", 60.0)}, {(7, 5, "after", 0.0), (8, 6, "after", 0.0)}
    assert edges(merged) == ends | starts


def test_earliest_starts_move_with_the_clock() -> None:
    """Rebasing and scaling move when jobs may begin as they move submits; a job that has no such time gets none."""
    jobs = replace(FOUR, submit=FOUR.submit + 100.0, begin=[0.0, 150.0, 0.0, 103.0])
    assert jobs.rebased(10.0).begin.begin.tolist() == [0.0, 60.0, 0.0, 13.0]
    assert jobs.scale_load(2.0).begin.begin.tolist() == [0.0, 125.0, 0.0, 101.5]
    assert replace(FOUR, begin=0.0).begin is None
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"Job 12: begin=.* must be finite and at least 0 seconds"):
            replace(FOUR, begin=[0.0, wrong, 0.0, 0.0])


def test_a_file_keeps_what_jobs_wait_for(tmp_path: Path) -> None:
    """Conditions, earliest starts and labels come back from a table as they went."""
    jobs = replace(
        FOUR,
        after={13: "afterok:11+1", 14: "singleton"},
        begin=[0.0, 9.5, 0.0, 0.0],
        labels={"name": ["a", "", "b", "a"]},
    )
    jobs.write(tmp_path / "jobs.csv")
    assert fs.Workload.read(tmp_path / "jobs.csv") == jobs
    assert "after: 2 jobs after others" in str(jobs)
    assert "begin: 1 job with an earliest start" in str(jobs)
    assert "labels: name of 3 jobs" in str(jobs)


def test_a_schedule_says_who_never_starts_and_how_long_the_others_waited(tmp_path: Path) -> None:
    """Jobs without hope are counted and named; a schedule without them is complete, and its check accepts it."""
    jobs = replace(FOUR, after={12: "afterok:11", 13: "afternotok:12", 14: "afterok:13"})
    schedule = fs.simulate(jobs, ONE_NODE)
    assert schedule.start.tolist()[:2] == [0.0, 10.0]
    assert np.isnan(schedule.start[2:]).all()
    assert schedule.complete
    assert schedule.workload.id[schedule.hopeless].tolist() == [13, 14]
    assert "never started, because their conditions cannot hold: 2 jobs (13, 14)" in str(schedule)
    assert schedule.metrics().mean_wait_eligible == 0.0 < schedule.metrics().mean_wait
    assert "mean_wait_eligible 0 s" in str(schedule)
    assert "mean_wait_eligible" not in str(fs.simulate(FOUR, ONE_NODE))
    assert schedule.to_json()["never_start"] == [13, 14]
    schedule.to_swf(tmp_path / "as_run.swf")
    assert "; Note: left out: 2 jobs that did not finish" in (tmp_path / "as_run.swf").read_text(encoding="utf-8")
    assert list(schedule.fairness()) == [-1]
    schedule.verify(claimed=schedule.metrics())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"start": [0.0, 9.0, np.nan], "finish": [10.0, 14.0, np.nan]},
            "Job 12: it starts at 9, before afterok:11 holds at 10.",
        ),
        ({"start": [0.0, np.nan, np.nan], "finish": [10.0, np.nan, np.nan]}, "Job 12: it was never started."),
        (
            {"start": [0.0, 10.0, 15.0], "finish": [10.0, 15.0, 19.0]},
            "Job 13: it starts at 15, but its conditions cannot hold.",
        ),
    ],
)
def test_the_check_sees_what_waits_for_nothing(changes: dict[str, list[float]], said: str) -> None:
    """A start before its condition, a job that never starts without need, and one that starts without hope."""
    jobs = replace(FOUR.take([0, 1, 2]), after={12: "afterok:11", 13: "afternotok:12"})
    good = fs.simulate(jobs, ONE_NODE)
    wrong = replace(good, counts=np.where(np.isnan(changes["start"]), 0, 1).reshape(3, 1), **changes)
    assert said in wrong.violations()


def test_the_check_sees_a_start_before_its_time() -> None:
    """A job that starts before the time that its user asked for breaks the model."""
    jobs = replace(FOUR, begin=[5.0, 0.0, 0.0, 0.0])
    good = fs.simulate(jobs, ONE_NODE)
    assert good.start[0] == 5.0
    early = replace(good, start=[0.0, *good.start[1:]], finish=[10.0, *good.finish[1:]])
    assert early.violations() == ["Job 11: it starts at 0, before its earliest start at 5."]


def test_waits_from_eligibility_by_hand() -> None:
    """What jobs wait for is no part of it: conditions with lags, an earliest start; a search may seek it."""
    jobs = replace(FOUR, after={12: "afterok:11+2s", 13: "after:12"}, begin=[0.0, 0.0, 0.0, 15.0])
    machine = fs.Federation.homogeneous(1)
    schedule = fs.simulate(jobs, machine, "fcfs")
    # On one node 11 runs over [0, 10), 12 from 12 on; 13 and 14 might start at 12 and 15, and do at 17 and 21.
    assert schedule.start.tolist() == [0.0, 12.0, 17.0, 21.0]
    assert schedule.eligible.tolist() == [0.0, 12.0, 12.0, 15.0]
    row = schedule.metrics()
    assert (row.mean_wait_eligible, row.mean_wait) == ((5.0 + 6.0) / 4, (11.0 + 15.0 + 18.0) / 4)
    schedule.verify(claimed=row)
    lines = schedule.violations(claimed=replace(row, mean_wait_eligible=row.mean_wait))
    assert lines == ["Schedule: mean_wait_eligible is given as 11, but start times and nodes make it 2.75."]
    found = fs.optimize(jobs, machine, objectives="mean_wait_eligible", evaluations=200, seed=1, submits="keep")
    assert found.value() == found.best().metrics().mean_wait_eligible == 2.5  # 14 before 13
    assert lower_bounds(jobs, machine).of("mean_wait_eligible") == 0.0
    plain = lower_bounds(FOUR, machine)
    assert plain.of("mean_wait_eligible") == plain.of("mean_wait") > 0.0


def test_a_search_counts_waits_from_eligibility_as_its_schedules_do() -> None:
    """Rows of compiled evaluations hold what the schedule's metrics say."""
    jobs = replace(FOUR, after={12: "afterok:11+2s", 13: "after:12"}, begin=[0.0, 0.0, 0.0, 15.0])
    problem = SearchProblem(jobs, fs.Federation.homogeneous(1), Objectives(("mean_wait_eligible", "mean_wait")),
                            submits="keep")  # fmt: skip
    rows = np.stack([problem.row(np.array(order)) for order in ([0, 1, 2, 3], [3, 0, 2, 1])])
    for row, values in zip(rows, problem.values(rows), strict=True):
        metrics = problem.schedule(row).metrics()
        assert values.tolist() == [metrics.mean_wait_eligible, metrics.mean_wait]
