"""What no real log or machine has is said wherever the result is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import fedsched as fs
from fedsched.model.jobs.summary import implausible_values

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

JOBS = fs.Workload(submit=np.arange(100.0), tasks=[1] * 100, runtime=[10.0] * 100, nodes=20)
MACHINE = fs.Federation.of(10, 10)


def with_uplinks(rate: float) -> fs.Federation:
    """Return the machine with these uplinks."""
    return replace(MACHINE, clusters=tuple(replace(cluster, uplink=rate) for cluster in MACHINE.clusters))


def test_what_no_machine_has_is_implausible() -> None:
    """A load of hundreds, an uplink of 10 B/s, a run of years and a node of 200 kW are facts; real figures are none."""
    assert implausible_values(JOBS) == implausible_values(JOBS, MACHINE) == ()
    assert implausible_values(JOBS, with_uplinks(1.25e8)) == ()
    dense = JOBS.scale_load(800)
    assert implausible_values(dense)[0].startswith("an offered load of 404 ")
    assert implausible_values(dense.head(99), MACHINE) == ()  # a load of a few jobs says nothing
    assert implausible_values(JOBS, with_uplinks(10.0))[0].startswith("an uplink of 10 bytes/s, of C1 ")
    teaching = replace(JOBS, task_bandwidth=np.full(100, 0.5), compute_fraction=np.full(100, 0.5))
    assert implausible_values(teaching, with_uplinks(1.5)) == ()
    assert implausible_values(teaching.with_communication(bandwidth="10M"), with_uplinks(1.5))
    assert implausible_values(replace(JOBS, runtime=np.full(100, 1e8)), None)[-1].startswith("a run time of 1157.4 d")
    assert implausible_values(JOBS, fs.Federation.homogeneous(4, busy_watts=2e5)) == ("a node of 200,000 W",)


def test_it_is_said_wherever_a_result_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log's summary, a schedule, a search, a comparison and the command each have the line."""
    from fedsched import cli

    dense, line = JOBS.scale_load(800), "implausible: an offered load of 404"
    schedule = fs.simulate(dense, MACHINE)
    result = fs.optimize(dense, MACHINE, submits="keep", method="random", evaluations=3, baselines=("fcfs",))
    compared = fs.compare([fs.Instance("a", dense, MACHINE)], ["fcfs"], [0], fs.Budget(1))
    for said in map(str, (dense, schedule, result, compared)):
        assert line in said
    assert schedule.to_json()["implausible"]
    monkeypatch.chdir(tmp_path)
    dense.write("dense.csv")
    assert cli.run(["simulate", "dense.csv", "--nodes", "20"]) == 0
    assert capsys.readouterr().out.count(line) == 1


def test_generated_jobs_are_told_apart_from_recorded_ones(tmp_path: Path) -> None:
    """Tests that a summary names the model and seeds of jobs that no cluster recorded, also after a file."""
    made = fs.generate.lublin(50, 16, seed=3).with_estimates("tsafrir", seed=4)
    line = str(made).splitlines()[1]
    assert line.startswith("generated, not recorded: lublin(jobs=50, nodes=16, ")
    assert line.endswith("seed=3); estimates: tsafrir, maximum=None, seed=4")
    fs.write(made, tmp_path / "made.swf")
    fs.write(made, tmp_path / "made.csv")
    for name in ("made.swf", "made.csv"):
        assert line in str(fs.read(tmp_path / name).head(20))
    assert "generated, not recorded: lublin" in str(fs.read("sample"))
    assert "generated" not in str(JOBS)
