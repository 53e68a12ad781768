"""Small jobs on shared nodes: ours beside where a real Slurm's `cons_tres` put them."""

from __future__ import annotations

import numpy as np
import pytest
from slurm.packing_days import CORES, DAYS, MEMORY, NODES, Step, recorded

import fedsched as fs
from fedsched.engine.sharing import CHOICES

NODE = fs.NodeGroup(NODES, resources={"cpu": CORES, "memory": MEMORY})
MACHINE = fs.Federation((fs.Cluster("C", (NODE,)),))


def simulated(steps: list[Step], choice: str = "block") -> fs.Schedule:
    """Return the schedule of those that found room, who come and go in the same order."""
    placed = [step for step in steps if step.where]
    ends = {step.ends - 1: float(step.job) for step in steps if step.ends}
    submit = np.array([step.job for step in placed], dtype=float)
    return fs.simulate(
        fs.Workload(
            submit=submit,
            tasks=[step.tasks for step in placed],
            runtime=np.array([ends.get(step.job, float(len(steps))) for step in placed]) - submit,
            demand={
                "cpu": [step.cores for step in placed],
                "memory": [step.cores * step.memory for step in placed],
            },
            layout={
                "tasks_per_node": [step.per_node for step in placed],
                "exclusive": [int(step.exclusive) for step in placed],
            },
        ),
        MACHINE,
        "fcfs",
        sharing=choice,
    )


def on_ours(steps: list[Step], choice: str = "block") -> list[str]:
    """Return where they are then."""
    placed = [step for step in steps if step.where]
    schedule = simulated(steps, choice)
    schedule.verify()
    assert (schedule.start == schedule.workload.submit).all()  # each found room when it came
    use = schedule.use
    assert use is not None
    rows: list[list[str]] = [[] for _ in placed]
    for row, node, tasks in zip(use.job.tolist(), use.node.tolist(), use.tasks.tolist(), strict=True):
        step = placed[row]
        held = CORES if step.exclusive else (step.per_node or tasks) * step.cores
        rows[row].append(f"n{node + 1}:{held}")
    return [" ".join(one) for one in rows]


@pytest.mark.parametrize("name", ["cores", "memory", "wide_tasks", "laid_out"])
def test_blocks_are_where_slurm_puts_small_jobs(name: str) -> None:
    """Tests that every job of the day has the very cores of each node that Slurm gave it."""
    steps = recorded(name)
    assert sum(step.tasks > 0 for step in steps) == DAYS[name].jobs
    assert on_ours(steps) == [step.where for step in steps if step.where]


def test_without_memory_slurm_cuts_wide_tasks_short() -> None:
    """Tests that where cores alone are shared it differs on jobs with several cores a task only: some get too few."""
    placed = [step for step in recorded("wide_cores") if step.where]
    got = [sum(int(part.partition(":")[2]) for part in step.where.split()) for step in placed]
    short = [cores < step.tasks * step.cores for cores, step in zip(got, placed, strict=True)]
    assert any(short)
    assert all(step.cores > 1 for step, less in zip(placed, short, strict=True) if less)


@pytest.mark.parametrize("choice", [name for name in CHOICES if name != "block"])
def test_no_other_choice_is_slurms(choice: str) -> None:
    """Tests that the comparison tells choices apart."""
    steps = recorded("cores")
    apart = [a != b for a, b in zip(on_ours(steps, choice), [step.where for step in steps if step.where], strict=True)]
    assert np.mean(apart) > 0.1
