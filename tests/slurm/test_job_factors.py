"""For how many nodes jobs asked: what sacct of a real Slurm tells of it, and the sizes that Slurm made of that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from slurm.record_asked import NODE, NODES, RECORDED, SETTINGS

import fedsched as fs
from fedsched.slurm.conf.job_factors import size_factor
from fedsched.slurm.loop.pack import asked_of

if TYPE_CHECKING:
    from pathlib import Path

ONE = "assumed: the size of {} is one node, as the requested number is unknown"
# The first one stands on four nodes, two tasks on each, the fifth one on three; neither asked for a number.
ASKED = [1, 1, 2, 2, 1, 4, 1, 3]


def conf_in(folder: Path) -> fs.policies.Slurm:
    """Return the policy of the recorded Slurm's configuration."""
    nodes = f"NodeName=n[1-{NODES}] {NODE}\nPartitionName=p Nodes=ALL Default=YES\n"
    path = folder / "slurm.conf"
    path.write_text(f"{SETTINGS}\n{nodes}".replace("AccountingStorageEnforce=associations\n", ""), encoding="utf-8")
    return fs.policies.Slurm(path)


def sizes_of(jobs: fs.Workload, policy: fs.policies.Slurm, *, shared: bool) -> list[int]:
    """Return the priorities of jobs that have nothing but their sizes."""
    found = asked_of(jobs, policy, np.arange(len(jobs)), jobs.estimate, shared=shared)
    return [int(policy.priority.size * size_factor(one, policy.priority)) for one in found]


@pytest.mark.parametrize("left_out", ["ReqTRES", "ReqNodes"])
def test_a_log_tells_for_how_many_nodes_jobs_asked(left_out: str, tmp_path: Path) -> None:
    """Tests each of two columns; and that the words of a script count, which SubmitLine does not have."""
    whole = RECORDED.read_text(encoding="utf-8")
    assert "--nodes=3" not in whole
    path = tmp_path / "log.sacct"
    path.write_text(whole.replace(left_out, "Other"), encoding="utf-8")
    for unit in ("cpus", "nodes"):
        jobs = fs.read(path, unit=unit)
        assert jobs.layout is not None
        told = jobs.layout.columns()["nodes"].tolist()
        assert told == [nodes if tasks > 1 else 0 for nodes, tasks in zip(ASKED, jobs.tasks, strict=True)]


def test_sizes_are_slurms(tmp_path: Path) -> None:
    """Tests that each job has the very priority that Slurm gave it for its size, and not without what is told."""
    jobs, policy = fs.read(RECORDED), conf_in(tmp_path)
    recorded = [int(text) for text in jobs.label("priority").tolist()]
    assert sizes_of(jobs, policy, shared=True) == recorded
    assert sizes_of(replace(jobs, layout=None), policy, shared=True) != recorded


def test_what_nobody_tells_is_assumed_and_said(tmp_path: Path) -> None:
    """Tests that a note counts who may stand on several nodes and tells of none, where sizes decide."""
    policy = conf_in(tmp_path)
    machine = fs.read_federation(policy.conf.path)
    untold: tuple[tuple[dict[str, list[int]] | None, str], ...] = (
        (None, "2 jobs"), ({"nodes": [2, 0, 0]}, "1 job"), ({"nodes": [2, 2, 0]}, ""),
    )  # fmt: skip
    for told, whose in untold:
        jobs = fs.Workload(submit=[0, 0, 0], tasks=[8, 6, 1], runtime=10, estimate=60, layout=told)
        notes = fs.simulate(jobs, machine, policy, sharing="block").notes
        assert [note for note in notes if "assumed" in note] == [ONE.format(whose)] * bool(whose)
