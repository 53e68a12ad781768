"""Schedules that other programs computed, reproduced job by job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.bench.known_schedules import plan_checks, read_raw, run_checks
from fedsched.io.swf.log import read_swf

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.needs_traces, pytest.mark.slow]


@pytest.mark.parametrize(
    ("name", "policy", "knowledge"),
    [
        ("easy", "easy", "estimate"),
        ("easy-clairvoyant", "easy", "runtime"),
        ("easy-sjbf-clairvoyant", "easy-sjbf", "runtime"),
    ],
)
def test_every_wait_of_pyss(traces_dir: Path, name: str, policy: str, knowledge: str) -> None:
    """The sequential reading gives the wait of each of 28,481 jobs that pyss gives."""
    log = read_swf(traces_dir.parent / "oracles" / f"KTH-SP2.pyss-{name}.swf.gz", statuses=None)
    assert log.log is not None
    workload = fs.Workload(
        submit=log.submit,
        tasks=log.log.requested.astype(int),
        runtime=log.runtime,
        estimate=np.where(log.log.requested_time > 0, log.log.requested_time, log.runtime),
        id=log.id,
    )
    schedule = fs.simulate(
        workload, fs.Federation.homogeneous(100), policy, same_time="sequential", knowledge=knowledge
    )
    assert len(workload) == 28_481
    np.testing.assert_array_equal(schedule.wait, log.log.wait)


@pytest.mark.parametrize(
    ("file", "nodes"),
    [("kth-clean-28481", None), ("NASA-iPSC-1993-3.1-cln", None), ("lublin_256", 256)],
)
def test_known_schedules(traces_dir: Path, file: str, nodes: int | None) -> None:
    """FCFS, EASY and conservative under the batch reading start every job when the published programs do."""
    checks = plan_checks(read_raw(str(traces_dir / f"{file}.swf.gz")), nodes=nodes or 0)
    outcomes = list(run_checks(checks))
    assert [outcome.verdict for outcome in outcomes] == ["same, every start"] * 3
