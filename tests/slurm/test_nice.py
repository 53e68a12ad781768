"""What users take off their jobs' priorities, and what partitions add: Slurm's own scheduler alone looks at it [74]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched.core.errors import FederationError
from fedsched.io import read_federation
from fedsched.model.jobs.requests import SLURM_ONLY
from fedsched.policies import Slurm

if TYPE_CHECKING:
    from pathlib import Path

BASIC = "ClusterName=m\nPriorityType=priority/basic\n"
# Three jobs of both nodes: the first one runs, and the others have priorities of their partitions alone.
JOBS = fs.Workload(
    submit=[0.0, 1.0, 2.0], tasks=2, runtime=60.0, estimate=60.0, labels={"partition": ["low", "low", "high"]}
)
CONF = """ClusterName=m
PriorityType=priority/multifactor
PriorityWeightPartition=1000
NodeName=n[1-2] CPUs=1
PartitionName=low Nodes=ALL Default=YES{low}
PartitionName=high Nodes=ALL{high}
"""


def site(tmp_path: Path, low: str = "", high: str = "") -> tuple[Slurm, fs.Federation]:
    """Return the scheduler and the machine of a slurm.conf."""
    path = tmp_path / "slurm.conf"
    path.write_text(CONF.format(low=low, high=high))
    return Slurm(path), read_federation(path)


def with_factors(machine: fs.Federation, low: int | None, high: int | None) -> fs.Federation:
    """Return the machine with these factors of its partitions."""
    factors = {"low": low, "high": high}
    return replace(machine, partitions=tuple(replace(one, factor=factors[one.name]) for one in machine.partitions))


def order(jobs: fs.Workload, machine: fs.Federation, slurm: Slurm) -> list[int]:
    """Return the ids of the jobs as they start."""
    schedule = fs.simulate(jobs, machine, slurm)
    schedule.verify()
    return schedule.workload.id[schedule.start.argsort()].tolist()


def test_a_partition_counts_as_the_federation_says(tmp_path: Path) -> None:
    """Where the slurm.conf says nothing, and no other way where it does."""
    slurm, machine = site(tmp_path)
    assert [one.factor for one in machine.partitions] == [None, None]
    assert order(JOBS, machine, slurm) == [1, 2, 3]
    assert order(JOBS, with_factors(machine, 1, 9), slurm) == [1, 3, 2]
    assert order(JOBS, with_factors(machine, 9, 1), slurm) == [1, 2, 3]
    slurm, machine = site(tmp_path, high=" PriorityJobFactor=4")
    assert [one.factor for one in machine.partitions] == [None, 4]
    assert order(JOBS, machine, slurm) == [1, 3, 2]
    assert order(JOBS, with_factors(machine, None, 1), slurm) == [1, 3, 2]  # the conf goes before
    assert order(JOBS, with_factors(machine, 9, None), slurm) == [1, 2, 3]


def test_a_nice_value_is_taken_off(tmp_path: Path) -> None:
    """It moves who comes next in Slurm's order, in no other, and that is said."""
    slurm, machine = site(tmp_path)
    alike = replace(JOBS, labels=None)
    assert order(alike, machine, slurm) == [1, 2, 3]
    nice = replace(alike, nice=[0, 300, 0])
    assert order(nice, machine, slurm) == [1, 3, 2]
    assert order(replace(alike, nice=[0, 300, 301]), machine, slurm) == [1, 2, 3]
    assert not any(SLURM_ONLY in fact for fact in fs.simulate(nice, machine, slurm).unmodelled)
    plain = fs.simulate(nice, machine, "easy")
    assert plain.start.tolist() == fs.simulate(alike, machine, "easy").start.tolist()
    assert f"1 job with a nice value, {SLURM_ONLY}" in plain.unmodelled
    counting = fs.simulate(alike, with_factors(machine, 1, 9), "easy")
    assert f"the priority factor of 1 partition, {SLURM_ONLY}" in counting.unmodelled


def test_it_counts_where_priorities_are_the_order_of_submits(tmp_path: Path) -> None:
    """With priority/basic each job has one less than the one before it: who is nice by 2 stands behind one of two."""
    path = tmp_path / "slurm.conf"
    path.write_text(f"{BASIC}NodeName=n[1-2] CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n")
    jobs = fs.Workload(submit=[0.0, 1.0, 2.0, 3.0], tasks=2, runtime=60.0, estimate=60.0, nice=[0, 1, 0, 0])
    machine, slurm = read_federation(path), Slurm(path)
    assert order(jobs, machine, slurm) == [1, 2, 3, 4]  # as much as the third, and of a smaller number
    assert order(replace(jobs, nice=[0, 2, 0, 0]), machine, slurm) == [1, 3, 2, 4]


def test_factors_are_kept_in_files(tmp_path: Path) -> None:
    """And nonsense is named."""
    _, machine = site(tmp_path)
    machine = with_factors(machine, 0, 65_533)
    machine.write(tmp_path / "m.toml")
    assert "factor = 65533" in (tmp_path / "m.toml").read_text()
    assert read_federation(tmp_path / "m.toml") == machine
    for wrong in (-1, 1.5, 65_534):
        with pytest.raises(FederationError, match=r"Partition 'p': factor=.* must be a whole number from 0 to 65533"):
            fs.Partition("p", {"m": "all"}, factor=wrong)


def test_command_lines_of_dumps_say_how_nice_jobs_are(tmp_path: Path) -> None:
    """A hundred by itself; what a script's own words say is not meant."""
    lines = ["sbatch --nice=50 a.sh", "sbatch -n 1 --nice a.sh", "sbatch --ni=-7 a.sh", "sbatch a.sh --nice=9", "x"]
    head = "JobID|Submit|Start|End|State|AllocNodes|Timelimit|SubmitLine\n"
    row = "{}|2026-01-01T00:00:0{}|2026-01-01T00:00:0{}|2026-01-01T01:00:00|COMPLETED|1|02:00:00|{}\n"
    path = tmp_path / "jobs.sacct"
    path.write_text(head + "".join(row.format(k, k, k, line) for k, line in enumerate(lines, start=1)))
    jobs = fs.read(path, unit="nodes")
    assert jobs.nice is not None
    assert jobs.nice.values.tolist() == [50, 100, -7, 0, 0]
    assert jobs[2].nice == -7
    assert "nice: 3 jobs with -7 to 100 off their priority" in str(jobs)


def test_nonsense_is_named() -> None:
    """Beyond what Slurm takes."""
    with pytest.raises(ValueError, match=r"Job 2: nice=3e\+09 must be a whole number from -2147483645 to 2147483645"):
        fs.Workload(submit=[0.0, 1.0], tasks=1, runtime=1.0, nice=[0, 3_000_000_000])
