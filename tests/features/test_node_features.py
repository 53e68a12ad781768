"""Features of nodes, and jobs that ask for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import FederationError, InfeasibleError, ScheduleError
from fedsched.io import read_federation
from fedsched.model.machine.node_features import alternatives

if TYPE_CHECKING:
    from pathlib import Path

MIXED = fs.Federation(
    (
        fs.Cluster("a", (fs.NodeGroup(4, 1.0, features=("ib",)), fs.NodeGroup(2, 1.0, features=("ib", "gpu")))),
        fs.Cluster("b", (fs.NodeGroup(6, 2.0),), 1e9),
    )
)


def jobs(*features: str, **columns: Any) -> fs.Workload:
    """Return a job of one node for each of the texts."""
    count = len(features)
    given = {"tasks": [1] * count, "runtime": [10.0] * count, "labels": {"features": features}, **columns}
    return fs.Workload(submit=[0.0] * count, **given)


def test_words_of_slurm() -> None:
    """& binds more than |; spaces do not count; what is not modelled is named."""
    assert alternatives("") == alternatives("  ") == ()
    assert alternatives("ib & gpu|bigmem") == (frozenset(("ib", "gpu")), frozenset(("bigmem",)))
    for odd in ("[rack1|rack2]", "ib*4", "ib&&gpu", "a,b", "|"):
        with pytest.raises(ValueError, match="is not a feature's name; join names by &"):
            alternatives(odd)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "min-min", "sufferage-easy"])
def test_jobs_run_where_the_features_are(policy: str) -> None:
    """Under rules and list heuristics; who asks for nothing may have every node."""
    schedule = fs.simulate(jobs("gpu", "ib", "gpu|ib", "", tasks=[2, 6, 5, 12]), MIXED, policy)
    schedule.verify(claimed=schedule.metrics())
    used = schedule.counts > 0
    assert used.tolist() == [[False, True, False], [True, True, False], [True, True, False], [True, True, True]]


def test_searches_keep_to_features() -> None:
    """Every plan gives jobs nodes that have what they ask for."""
    result = fs.optimize(jobs("gpu", "gpu", "ib", "ib", "", ""), MIXED, evaluations=200, seed=1)
    schedule = result.schedule(0)
    schedule.verify(claimed=schedule.metrics())


def test_who_finds_too_few_nodes_is_refused_by_name() -> None:
    """In all, and within its partition; `admits` says who; an odd text is named with its job."""
    wide = jobs("gpu", "ib", tasks=[3, 6])
    with pytest.raises(InfeasibleError, match=r"Job 1: tasks=3 exceeds the 2 nodes with features 'gpu'"):
        fs.simulate(wide, MIXED)
    assert MIXED.admits(wide).tolist() == [False, True]
    parted = replace(MIXED, partitions=(fs.Partition("p", {"a": "2-5"}),))
    inside = jobs("ib", "ib", tasks=[5, 4], labels={"features": ["ib", "ib"], "partition": ["p", "p"]})
    assert parted.admits(inside).tolist() == [False, True]
    with pytest.raises(InfeasibleError, match=r"Job 2: features='ib\*4'"):
        fs.simulate(jobs("ib", "ib*4"), MIXED)


def test_where_no_node_has_features_they_bind_nobody() -> None:
    """Which is said."""
    plain = fs.Federation.homogeneous(4)
    schedule = fs.simulate(jobs("gpu", ""), plain)
    assert schedule.unmodelled == ("1 job with features (the machine's nodes have none)",)
    np.testing.assert_array_equal(schedule.start, [0.0, 0.0])
    assert fs.simulate(jobs("gpu", ""), MIXED).unmodelled == ()


def test_the_check_names_nodes_without_the_features() -> None:
    """A schedule of the same jobs that asked for nothing runs elsewhere."""
    asked, free = jobs("gpu"), jobs("")
    elsewhere = fs.simulate(free, MIXED, "fcfs")
    with pytest.raises(ScheduleError, match="Job 1: it has nodes of group 2 without the features 'gpu'"):
        replace(elsewhere, workload=asked).verify()


def test_files_keep_features(tmp_path: Path) -> None:
    """A federation's, and the labels of jobs."""
    MIXED.write(tmp_path / "m.toml")
    again = read_federation(tmp_path / "m.toml")
    assert [group.features for group in again.groups] == [("ib",), ("ib", "gpu"), ()]
    fs.write(jobs("ib", "a|b"), tmp_path / "j.csv")
    assert fs.read(tmp_path / "j.csv").label("features").tolist() == ["ib", "a|b"]


@pytest.mark.parametrize("features", ["ib", ("a b",), ("a&b",), (3,)])
def test_features_are_names(features: Any) -> None:
    """One text is no sequence of names, and signs of expressions are none of a name."""
    with pytest.raises(FederationError, match="NodeGroup: feature"):
        fs.NodeGroup(1, features=features)
