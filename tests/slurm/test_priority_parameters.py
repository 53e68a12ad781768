"""What a slurm.conf says of priorities, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fedsched.core.errors import FederationError, TraceError
from fedsched.io.slurm_files.slurm_conf import read_slurm_conf
from fedsched.slurm.conf.job_factors import JobRequest, Scales, billing_of, size_factor
from fedsched.slurm.priority.priority_parameters import PriorityParameters
from fedsched.slurm.priority.sprio import weigh

if TYPE_CHECKING:
    from pathlib import Path

NODES = "NodeName=n[1-4] CPUs=8 RealMemory=1000 Gres=gpu:a100:2\nPartitionName=p Nodes=ALL Default=YES\n"


KIND = "PriorityType=priority/multifactor\n"


def parameters(folder: Path, text: str = KIND, nodes: str = NODES) -> PriorityParameters:
    """Return what a slurm.conf with these lines says."""
    path = folder / "slurm.conf"
    path.write_text(f"{text}\n{nodes}", encoding="utf-8")
    return PriorityParameters.of(read_slurm_conf(path))


def test_what_is_not_said_is_as_slurm_has_it(tmp_path: Path) -> None:
    """The defaults of the documentation."""
    found = parameters(tmp_path, "")
    assert (found.multifactor, found.fair_tree, found.reset, found.left_out) == (True, True, "NONE", ())
    assert (found.max_age, found.half_life, found.calc_period, found.damping) == (604_800, 604_800, 300, 1)
    assert (found.nodes, found.cpus, found.charges_ends) == (4, 32, False)
    assert found.partitions["p"].amounts == {"node": 4, "cpu": 32, "mem": 4000, "gres/gpu": 8, "gres/gpu:a100": 8}
    assert (found.partitions["p"].job_factor, found.partitions["p"].tier) == (1, 1)


def test_what_is_not_modelled_is_named(tmp_path: Path) -> None:
    """Flags and plugins that change priorities and are not followed stand in one line."""
    text = (
        "PriorityType=priority/multifactor\nPriorityFlags=DEPTH_OBLIVIOUS,CALCULATE_RUNNING,ACCRUE_ALWAYS,MAX_TRES\n"
        "PrioritySiteFactorPlugin=site_factor/ours\nPriorityParameters=x\nAccountingStorageEnforce=associations,limits\n"
    )
    found = parameters(tmp_path, text)
    assert found.left_out == (
        "PriorityFlags=DEPTH_OBLIVIOUS", "PriorityFlags=CALCULATE_RUNNING", "PriorityFlags=ACCRUE_ALWAYS",
        "PrioritySiteFactorPlugin=site_factor/ours (a job's SiteFactor is taken as its file has it)",
        "PriorityParameters=x",
    )  # fmt: skip
    assert not found.fair_tree
    assert found.charges_ends


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("PriorityType=priority/mine", "PriorityType=priority/mine is neither priority/basic nor"),
        ("PriorityWeightAge=much", "PriorityWeightAge=much is not a whole number"),
        ("PriorityMaxAge=old", "PriorityMaxAge: 'old' is not a time"),
        ("PriorityCalcPeriod=0", "PriorityCalcPeriod=0 is no period"),
        ("PriorityFavorSmall=maybe", "PriorityFavorSmall=maybe must be YES or NO"),
        ("PriorityUsageResetPeriod=HOURLY", "PriorityUsageResetPeriod=HOURLY is none of NONE, NOW"),
        ("FairShareDampeningFactor=0", "FairShareDampeningFactor=0 is no number above 0"),
        ("PriorityWeightTRES=CPU", "PriorityWeightTRES has 'CPU', which is no weight like Mem=0.25G"),
        ("PriorityWeightTRES=CPU=3K", "PriorityWeightTRES has 'CPU=3K', but only memory has units"),
    ],
)
def test_what_is_wrong_is_said(line: str, complaint: str, tmp_path: Path) -> None:
    """Each error names the file, the parameter and its value."""
    with pytest.raises(FederationError) as caught:
        parameters(tmp_path, f"PriorityType=priority/multifactor\n{line}" if "Type" not in line else line)
    assert "slurm.conf" in str(caught.value)
    assert complaint in str(caught.value)


def test_what_a_second_costs(tmp_path: Path) -> None:
    """Its CPUs; or the sum of its partition's weights; or the dearest of what nodes have, and all else beside."""
    job = JobRequest(partition="p", cpus=2, amounts={"cpu": 2.0, "mem": 8192.0, "license/x": 3.0})
    plain = parameters(tmp_path)
    assert billing_of(job, plain.partitions["p"], plain) == 2.0
    nodes = NODES.replace("Default=YES", 'TRESBillingWeights="CPU=1.0,Mem=0.25G,license/x=2"')
    added = parameters(tmp_path, nodes=nodes)
    assert billing_of(job, added.partitions["p"], added) == 2.0 + 2.0 + 6.0
    most = parameters(tmp_path, "PriorityType=priority/multifactor\nPriorityFlags=MAX_TRES", nodes)
    assert billing_of(JobRequest(given={"cpu": 5.0, "mem": 4096.0}), most.partitions["p"], most) == 5.0


def test_how_large_a_job_is(tmp_path: Path) -> None:
    """The mean of its shares of nodes and CPUs; or what is left of them; or its CPUs over its minutes."""
    job = JobRequest(nodes=1, cpus=16, limit=600.0)
    assert size_factor(job, parameters(tmp_path, KIND)) == (0.25 + 0.5) / 2
    assert size_factor(job, parameters(tmp_path, f"{KIND}PriorityFavorSmall=YES")) == (0.75 + 0.5) / 2
    flag = "PriorityFlags=SMALL_RELATIVE_TO_TIME\n"
    assert size_factor(job, parameters(tmp_path, f"{KIND}{flag}")) == 0.05
    assert size_factor(job, parameters(tmp_path, f"{KIND}{flag}PriorityFavorSmall=YES")) == 0.95
    assert size_factor(JobRequest(nodes=4), parameters(tmp_path, f"{KIND}{flag}")) < 1e-9


def test_jobs_of_other_partitions_are_refused(tmp_path: Path) -> None:
    """A partition that the slurm.conf does not have is an error that names those that it has."""
    with pytest.raises(TraceError, match=r"the partition 'q', which the slurm.conf does not have; it has p"):
        Scales(parameters(tmp_path), None).fixed_factors(JobRequest(partition="q"))


def test_basic_has_no_factors(tmp_path: Path) -> None:
    """Where priorities are the order of ids there is nothing to show."""
    with pytest.raises(TraceError, match="priority/basic"):
        weigh(parameters(tmp_path, "PriorityType=priority/basic"), None, {}, [])  # type: ignore[arg-type]
