"""Our recorded days by Slurm's own scheduler: those of which it has all that the jobs ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from slurm.compared import RECORDED
from slurm.recording import Recording
from slurm.replay import clocks_of, workload_of

import fedsched as fs

if TYPE_CHECKING:
    from pathlib import Path

COMPLETING = 1  # measured: the shortest from an end to the next start on the same nodes


@pytest.mark.parametrize("name", ["begin-builtin", "begin-backfill"])
def test_earliest_starts_go_as_recorded(name: str, tmp_path: Path) -> None:
    """Each start is within the recording's clocks of Slurm's own, from when on its job might start."""
    recording = Recording.read(RECORDED / name)
    conf = tmp_path / "slurm.conf"
    lines = [recording.settings, f"NodeName=n[1-{recording.nodes}] CPUs=1", "PartitionName=p Nodes=ALL Default=YES"]
    conf.write_text("\n".join(lines) + "\n", encoding="utf-8")
    jobs = replace(workload_of(recording), after=None)
    schedule = fs.simulate(jobs, fs.read_federation(conf), fs.policies.Slurm(conf, completing=COMPLETING))
    schedule.verify()
    recorded = np.array([job.start for job in recording.jobs], dtype=float)
    assert np.abs(schedule.start - recorded).max() <= 2 * clocks_of(recording)
