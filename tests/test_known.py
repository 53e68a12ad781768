"""The table of known schedules: logs are recognised, strangers are run and checked all the same."""

from __future__ import annotations

import numpy as np

import fedsched as fs
from fedsched.known import ALL_READINGS, KNOWN_LOGS, cleaned, fingerprint, plan_checks, run_checks, start_hash


def workload() -> fs.Workload:
    """Return a few jobs on a machine of four nodes."""
    return fs.Workload(submit=[5, 5, 9], tasks=[2, 3, 9], runtime=[7, 2, 2], estimate=[3, 4, 2], nodes=4)


def test_cleaning_drops_rebases_and_renumbers() -> None:
    """Jobs larger than the machine go, time begins at 0, requests are raised, numbers are 1..n."""
    jobs = cleaned(workload(), 4)
    assert jobs.submit.tolist() == [0, 0]
    assert jobs.estimate.tolist() == [7, 4]
    assert jobs.id.tolist() == [1, 2]


def test_the_fingerprint_sees_every_job() -> None:
    """Another run time is another log."""
    jobs = cleaned(workload(), 4)
    other = fs.Workload(submit=jobs.submit, tasks=jobs.tasks, runtime=jobs.runtime + 1, estimate=jobs.estimate + 1)
    assert fingerprint(jobs) != fingerprint(other)


def test_an_unknown_log_is_run_under_every_reading() -> None:
    """A stranger has no known hash, but its schedules are checked against the model."""
    outcomes = list(run_checks(plan_checks(workload())))
    assert len(outcomes) == len(ALL_READINGS)
    assert all(outcome.passed and outcome.verdict == "keeps the model" for outcome in outcomes)


def test_the_hash_is_that_of_a_schedule() -> None:
    """The table's hash and `Schedule.start_hash` are one definition."""
    schedule = fs.simulate(cleaned(workload(), 4), fs.Federation.homogeneous(4), "easy")
    assert start_hash(schedule.start) == schedule.start_hash()
    assert start_hash(schedule.start) != start_hash(np.asarray(schedule.start) + 1)


def test_known_logs_differ() -> None:
    """No fingerprint stands twice in the table."""
    prints = [known.fingerprint for known in KNOWN_LOGS]
    assert len(set(prints)) == len(prints)
