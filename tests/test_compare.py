"""compare(): all combinations, one line a run, resumable, failures recorded."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.compare import Budget, Comparison, Instance, compare, read_records
from fedsched.errors import FedschedError

if TYPE_CHECKING:
    from pathlib import Path

SMALL = Budget(evaluations=150)
pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def instances() -> list[Instance]:
    """Return two small instances."""
    log, cluster = fs.Workload.example(), fs.Federation.example()
    return [Instance("a", log.head(15), cluster), Instance("b", log.head(25), cluster, ("makespan", "energy"))]


def all_of(instances: list[Instance], **options: object) -> Comparison:
    """Return the comparison that all tests make."""
    return compare(instances, ("random", "hc"), (1, 2), SMALL, baselines=("fcfs",), **options)


def test_a_rerun_does_only_what_is_missing(instances: list[Instance], tmp_path: Path) -> None:
    """Tests that after the loss of lines, the last of them in its middle, exactly these runs are made again."""
    path = tmp_path / "runs.jsonl"
    whole = all_of(instances, path=path)
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 8
    path.write_text("".join(lines[:5]) + lines[5][:40])
    calls: list[tuple[int, int]] = []
    again = all_of(instances, path=path, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(5, 8), (6, 8), (7, 8), (8, 8)]
    assert [r.front for r in again.records] == [r.front for r in whole.records]
    assert [r.key for r in read_records(path)] == [r.key for r in whole.records]


def test_an_executor_changes_nothing(instances: list[Instance]) -> None:
    """Tests that runs on two threads give the same records in the same order."""
    with ThreadPoolExecutor(2) as pool:
        parallel = all_of(instances, executor=pool)
    assert [(r.key, r.front) for r in parallel.records] == [(r.key, r.front) for r in all_of(instances).records]


def test_a_method_that_fails_is_recorded(instances: list[Instance]) -> None:
    """Tests that mpso-fga on one objective is a failed run with its reason, and the others go on."""
    found = compare(instances[:1], ("mpso-fga", "hc"), (1,), SMALL, baselines=("fcfs",))
    failed, good = found.records
    assert "two objectives" in failed.error
    assert np.isnan(failed.best())
    assert good.error == ""
    assert np.isnan(found.medians()["a"]["mpso-fga"])
    assert found.medians()["a"]["hc"] == good.best()


def test_policies_are_compared_with_searches(instances: list[Instance], tmp_path: Path) -> None:
    """Tests that a policy's values are those of its schedule with the search's knowledge, and are kept in the file."""
    names, path = ("min-min", "lookahead", "hc"), tmp_path / "runs.jsonl"
    found = compare(instances[1:], names, (1,), SMALL, path=path, baselines=("fcfs",))
    jobs = replace(instances[1].workload, submit=np.zeros(len(instances[1].workload)))
    for record, name in zip(found.records, names[:2], strict=False):
        schedule = fs.simulate(jobs, instances[1].federation, name, knowledge="runtime").metrics()
        assert record.front[0] == pytest.approx((schedule.makespan, schedule.energy), rel=1e-12)
        assert (record.error, record.stop_reason, record.evaluations) == ("", "policy", 1)
    assert len({record.bounds for record in found.records}) == 1
    assert compare(instances[1:], names, (1,), SMALL, path=path, baselines=("fcfs",)).records == found.records


def test_a_name_that_is_nearly_a_policy_is_offered(instances: list[Instance]) -> None:
    """Tests that the failed run of an unknown name says which of the methods and policies is near."""
    found = compare(instances[:1], ("sufrage", "memetik"), (1,), SMALL)
    assert all(name in record.error for record, name in zip(found.records, ("'sufferage'", "'memetic'"), strict=True))
    assert all("Unknown method or policy" in record.error for record in found.records)


def test_another_problem_is_another_run(instances: list[Instance], tmp_path: Path) -> None:
    """Tests that an instance of the same name but other jobs is not taken from the file."""
    path = tmp_path / "runs.jsonl"
    first = compare(instances[:1], ("hc",), (1,), SMALL, path=path, baselines=("fcfs",))
    other = Instance("a", instances[1].workload, instances[1].federation)
    second = compare([other], ("hc",), (1,), SMALL, path=path, baselines=("fcfs",))
    assert first.records[0].fingerprint != second.records[0].fingerprint
    assert len(read_records(path)) == 2


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    """Tests that damage anywhere but at the end is an error with its place."""
    path = tmp_path / "runs.jsonl"
    path.write_text("{}\n[1]\n")
    with pytest.raises(FedschedError, match="line 1"):
        read_records(path)


def test_a_budget_is_needed() -> None:
    """Tests that neither evaluations nor seconds is refused."""
    with pytest.raises(ValueError, match="evaluations, seconds"):
        Budget()
