"""Jobs alone on nodes of several sizes: ours on the very nodes that a real Slurm gave them, whoever started them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from slurm.sizes_days import CORES, DAYS, Step, recorded

import fedsched as fs
from fedsched.core.errors import InfeasibleError
from fedsched.slurm import SlurmSchedule

if TYPE_CHECKING:
    from pathlib import Path

APART = 40.0  # seconds between two steps: whoever fits has started, and whoever ended is gone


def on_ours(name: str, steps: list[Step], folder: Path) -> list[str]:
    """Return where those that found room are when they come and go in the same order."""
    day, path = DAYS[name], folder / "slurm.conf"
    lines = ["ClusterName=c", *day.lines, "PartitionName=p Nodes=ALL Default=YES OverSubscribe=EXCLUSIVE", day.settings]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    placed = [step for step in steps if step.where]
    ends = {step.ends - 1: float(step.job) for step in steps if step.ends}
    submit = APART * np.array([step.job for step in placed], dtype=float)
    schedule = fs.simulate(
        fs.Workload(
            submit=submit,
            tasks=[step.tasks for step in placed],
            runtime=APART * np.array([ends.get(step.job, float(len(steps))) for step in placed]) - submit - 10.0,
            demand={"cpu": [step.cores for step in placed]},
            layout={"exclusive": 1},
        ),
        fs.read_federation(path),
        fs.policies.Slurm(path, slurm_version="22.05", completing=0),  # the recorded one
    )
    schedule.verify()
    cores = [f"n{k}:{cores}" for k, cores in enumerate(CORES, start=1)]
    assert isinstance(schedule, SlurmSchedule)
    return [" ".join(cores[node] for node in schedule.nodes_of(row)) for row in range(len(placed))]


@pytest.mark.parametrize("name", [name for name in DAYS if not name.endswith("wide")])
def test_nodes_are_those_that_slurm_gave(name: str, tmp_path: Path) -> None:
    """Tests that every job of the day, begun by the main scheduler or by backfill, has Slurm's own nodes."""
    steps = recorded(name)
    assert sum(step.tasks > 0 for step in steps) == DAYS[name].jobs
    assert on_ours(name, steps, tmp_path) == [step.where for step in steps if step.where]


@pytest.mark.parametrize("name", ["linear_wide", "cons_wide"])
def test_cores_that_make_no_task_are_why_slurm_gives_too_few(name: str, tmp_path: Path) -> None:
    """Tests that real jobs were given cores that hold fewer tasks than they have, and that ours are refused then."""
    steps = recorded(name)
    cores = dict(enumerate(CORES, start=1))
    held = [
        sum(cores[int(part[1:].partition(":")[0])] // step.cores for part in step.where.split()) - step.tasks
        for step in steps
        if step.where
    ]
    assert min(held) < 0
    with pytest.raises(InfeasibleError, match="no multiple of its tasks' cpu"):
        on_ours(name, steps, tmp_path)
