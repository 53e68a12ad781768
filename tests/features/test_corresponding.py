"""Tasks of an array that wait for those of their number in another one: aftercorr, by labels and as dumps have it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched.io.slurm_files.sacct import read_sacct

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = fs.Federation.homogeneous(8)


def two_arrays(**changes: Any) -> fs.Workload:
    """Return tasks 0 to 2 of an array, tasks 1 to 3 of another one that waits for it, and a job that does so, too."""
    given: dict[str, Any] = {
        "submit": [0.0] * 7,
        "tasks": [1] * 7,
        "runtime": [5.0, 9.0, 3.0, 1.0, 1.0, 1.0, 1.0],
        "labels": {"array": ["a%3"] * 3 + ["b"] * 3 + [""], "task": ["0", "1", "2", "1", "2", "3", ""]},
        "after": {4: "aftercorr:1", 5: "AFTERCORR:3+2s", 6: "aftercorr:1", 7: "aftercorr:2"},
    }
    return fs.Workload(**given | changes)


def after(jobs: fs.Workload) -> dict[int, str]:
    """Return what each job waits for, of those that do."""
    return {job.id: job.after for job in jobs if job.after is not None}


def test_a_task_waits_for_that_of_its_number() -> None:
    """Any job of the other array names it; who has no counterpart there, or is of no array, waits for all of it."""
    jobs = two_arrays()
    everybody = "afterok:1,afterok:2,afterok:3"
    assert after(jobs) == {4: "afterok:2", 5: "afterok:3+2.0s", 6: everybody, 7: everybody}
    schedule = fs.simulate(jobs, MACHINE)
    assert schedule.start.tolist() == [0.0, 0.0, 0.0, 9.0, 5.0, 9.0, 9.0]
    schedule.verify()


def test_the_other_may_be_no_array_or_away() -> None:
    """A job of no array is waited for itself, and one that is not here as by any condition; others' words stay."""
    jobs = two_arrays(after={4: "aftercorr:7:99, singleton", 5: "afterany:1,aftercorr:2:1"})
    assert after(jobs) == {4: "afterok:7,afterok:99,singleton", 5: "afterany:1,afterok:3"}
    assert "1 job after jobs that are not here (taken to have ended before)" in str(fs.simulate(jobs, MACHINE))


def test_what_it_comes_to_stays_when_jobs_are_taken_apart() -> None:
    """It is spelled out as the workload is made: the tasks that are left wait for the same ones under new numbers."""
    some = two_arrays().take([1, 3, 5]).renumbered()
    assert after(some) == {2: "afterok:1", 3: "afterok:1"}


def test_who_waits_for_a_task_that_fails_never_starts() -> None:
    """It is an afterok: one task that fails leaves its counterpart out, and whoever waits for all of the array."""
    status = [1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    schedule = fs.simulate(two_arrays(log={"status": status}), MACHINE)
    assert schedule.workload.id[schedule.hopeless].tolist() == [4, 6, 7]


def test_files_have_what_it_means(tmp_path: Path) -> None:
    """A table may say aftercorr; what is written says the afterok of each task, and reads as the same jobs."""
    jobs = two_arrays()
    table = jobs.to_frame()
    table["after"] = ["", "", "", "aftercorr:1", "aftercorr:3+2s", "aftercorr:1", "aftercorr:2"]
    assert fs.Workload.from_frame(table) == jobs
    table.to_csv(tmp_path / "asked.csv", index=False)
    assert fs.read(tmp_path / "asked.csv").after == jobs.after
    for name in ("jobs.csv", "jobs.json"):
        jobs.write(tmp_path / name)
        assert "aftercorr" not in (tmp_path / name).read_text(encoding="utf-8")
        assert fs.read(tmp_path / name).extras == jobs.extras


@pytest.mark.parametrize(
    ("array", "task", "said"),
    [
        (["a", "a", "b"], ["1", "", "1"], "Job 2: its label 'task', '', must be its number in array 'a'"),
        (["a", "a", "b%2"], ["1", "2", "x"], "Job 3: its label 'task', 'x', must be its number in array 'b'"),
        (["a", "a", "b"], ["1", "1", "1"], "Jobs 1 and 2: both are task 1 of array 'a'; give each task"),
    ],
)
def test_tasks_need_numbers(array: list[str], task: list[str], said: str) -> None:
    """Tasks without a number, or with one number, are named, where aftercorr goes by it."""
    plain = {"submit": [0.0] * 3, "tasks": 1, "runtime": 1.0, "labels": {"array": array, "task": task}}
    assert len(fs.Workload(**plain)) == 3
    with pytest.raises(ValueError, match=r"^") as caught:
        fs.Workload(**plain, after={3: "aftercorr:1"})
    assert said in str(caught.value)


def test_there_are_not_more_conditions_than_can_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of which no numbers meet would wait each for all of the other."""
    monkeypatch.setattr("fedsched.model.constraints.corresponding.MOST", 8)
    labels = {"array": ["a"] * 3 + ["b"] * 3, "task": ["0", "1", "2", "7", "8", "9"]}
    jobs = fs.Workload(submit=[0.0] * 6, tasks=[1] * 6, runtime=[1.0] * 6, labels=labels)
    waiting = dict.fromkeys((4, 5, 6), "aftercorr:1")
    with pytest.raises(ValueError, match="Job 6: its aftercorr makes over 8 conditions"):
        replace(jobs, after=waiting)
    assert after(replace(jobs, after={4: "aftercorr:1"})) == {4: "afterok:1,afterok:2,afterok:3"}


def test_labels_and_dumps_mean_the_same(tmp_path: Path) -> None:
    """Random arrays, as Slurm's accounting has them and by labels: each of their tasks waits for the same jobs."""
    alone = together = 0
    for seed in range(30):
        rng = random.Random(seed)
        first, second = ({k for k in range(6) if rng.random() < 0.6} or {0} for _ in range(2))
        named = [(20, "20", k) for k in sorted(first)] + [(40, "40", k) for k in sorted(second)]
        if rng.random() < 0.5:
            named.append((60, "", -1))
        rows, array, task, waits = [], [], [], {}
        for number, (master, text, k) in enumerate(named, start=100):
            line = "" if master == 20 else "sbatch -d aftercorr:20 x"
            minute = master // 20
            job = f"{text}_{k}" if text else str(number)
            rows.append(f"{number}|{job}|2024-03-01T10:0{minute}:00|60|COMPLETED|1|{line}")
            array.append(text)
            task.append(str(k) if text else "")
            if line:
                waits[number] = "aftercorr:100"
        dump = tmp_path / f"{seed}.sacct"
        dump.write_text("\n".join(["JobIDRaw|JobID|Submit|ElapsedRaw|State|AllocCPUS|SubmitLine", *rows]) + "\n")
        read = read_sacct(dump)
        made = fs.Workload(
            submit=read.submit, tasks=read.tasks, runtime=read.runtime, id=read.id,
            labels={"array": array, "task": task}, after=waits,
        )  # fmt: skip
        assert after(read) == after(made), f"seed {seed}"
        alone += any("," not in text for text in after(made).values())
        together += any("," in text for text in after(made).values())
    assert min(alone, together) > 10
