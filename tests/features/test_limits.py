"""Limits: what they say, what they are refused for, what becomes of them in files, checks and elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.comparison.instances import Instance
from fedsched.core.errors import FederationError, InfeasibleError
from fedsched.io import read_federation

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = (
    fs.Limit("user", jobs=2, nodes=8, cpus=400),
    fs.Limit("account", nodes=12, names=("physics", "chemistry")),
    fs.Limit("qos", jobs=1, names="long"),
)
MACHINE = replace(fs.Federation.homogeneous(16, name="m"), limits=LIMITS)


def test_a_limit_in_words() -> None:
    """Who may have how much."""
    assert str(LIMITS[0]) == "each user: at most 2 jobs and 8 nodes and 400 CPUs at a time"
    assert str(LIMITS[1]) == "physics, chemistry: at most 12 nodes at a time"
    assert LIMITS[2].names == ("long",)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"of": "group", "jobs": 1}, r"'group'"),
        ({"of": "user"}, "it limits nothing"),
        ({"of": "user", "jobs": 0}, "jobs=0 must be a whole number of at least 1"),
        ({"of": "user", "nodes": 1.5}, "nodes=1.5 must be a whole number"),
        ({"of": "user", "cpus": -1}, "cpus=-1 must be a whole number"),
        ({"of": "user", "jobs": True}, "jobs=True must be a whole number"),
        ({"of": "user", "jobs": 10**30}, "and at most 2147483647"),
        ({"of": "user", "jobs": 1, "names": ("a", "a")}, "two names are named 'a'"),
    ],
)
def test_a_limit_that_says_nothing_sensible_is_refused(words: dict[str, Any], message: str) -> None:
    """The error names the limit and what is wrong with it."""
    with pytest.raises(FederationError, match=message):
        fs.Limit(**words)


def test_files_give_back_what_was_written(tmp_path: Path) -> None:
    """A federation's file has them as [[limit]]; info shows each."""
    MACHINE.write(tmp_path / "m.toml")
    again = read_federation(tmp_path / "m.toml")
    assert again.limits == LIMITS
    assert again == MACHINE
    (tmp_path / "odd.toml").write_text((tmp_path / "m.toml").read_text().replace("jobs = 1", "job = 1"))
    with pytest.raises(FederationError, match=r"limit 3: unknown key 'job'. Did you mean 'jobs'"):
        read_federation(tmp_path / "odd.toml")
    (tmp_path / "odd.toml").write_text((tmp_path / "m.toml").read_text().replace("jobs = 1", "jobs = 0"))
    with pytest.raises(FederationError, match=r"limit 3: Limit of 'qos': jobs=0 must be a whole number"):
        read_federation(tmp_path / "odd.toml")


def test_the_check_names_the_limit_that_is_exceeded() -> None:
    """Of a schedule that was made without it."""
    queue = fs.Workload(submit=[0.0] * 3, tasks=[4, 4, 4], runtime=[10.0] * 3, user=[1, 1, 1], labels={"array": "a%2"})
    free = fs.simulate(replace(queue, labels=None), replace(MACHINE, limits=()), "fcfs")
    said = replace(free, federation=MACHINE).violations()
    assert "at 0 3 are in use under the limit of 2 of user '1'." in said[0]
    assert "at 0 12 are in use under the limit of 8 of user '1'." in said[1]
    assert "under the limit of 2 of array 'a'." in replace(free, workload=queue).violations()[0]
    # One that ends as the next one starts has given its part back.
    fs.simulate(queue, MACHINE, "fcfs").verify()


def test_cpus_are_those_that_jobs_demand() -> None:
    """A job has so many CPUs on each node as it demands, one where it says nothing; all of a user's count together."""
    queue = fs.Workload(
        submit=np.zeros(4), tasks=[1, 2, 3, 1], runtime=np.full(4, 10.0), user=1, demand={"cpu": [4, 0, 2, 1]}
    )
    seven = replace(MACHINE, limits=(fs.Limit("user", cpus=7),))
    made = fs.simulate(queue, seven, "easy")
    assert made.start.tolist() == [0, 0, 10, 0]  # 4 + 2 + 1 of 7; the third has six
    made.verify(claimed=made.metrics())
    free = fs.simulate(queue, replace(MACHINE, limits=()), "easy")
    said = replace(free, federation=seven).violations()
    assert "at 0 12 are in use under the limit of 7 of user '1'." in said[0]
    with pytest.raises(InfeasibleError, match="Job 3: its 6 CPUs are over the limit of 5 of user '1'"):
        fs.simulate(queue, replace(MACHINE, limits=(fs.Limit("user", cpus=5),)), "easy")


def test_loss_of_capacity_is_checked_beside_limits() -> None:
    """Who is over a limit does not wait for nodes; a claim that counts it is refused."""
    queue = fs.Workload(submit=[0.0] * 2, tasks=[1, 1], runtime=[10.0] * 2, user=[1, 1])
    made = fs.simulate(queue, replace(MACHINE, limits=(fs.Limit("user", jobs=1),)), "fcfs")
    made.verify(claimed=made.metrics())
    assert any("loss_of_capacity" in line for line in replace(made, loss_of_capacity=0.4).violations())


def test_the_smallest_job_may_take_the_most_cpus() -> None:
    """Whoever is larger, but takes fewer CPUs, waits for nodes where the smaller one waits for its limit."""
    queue = fs.Workload(
        submit=np.zeros(4), tasks=[2, 4, 1, 2], runtime=np.full(4, 10.0), user=[1, 2, 1, 1],
        demand={"cpu": [2, 1, 8, 1]},
    )
    limited = replace(fs.Federation.homogeneous(4), limits=(fs.Limit("user", cpus=8),))
    made = fs.simulate(queue, limited, "fcfs")
    assert made.start.tolist() == [0.0, 10.0, 20.0, 30.0]
    made.verify(claimed=made.metrics())


def test_comparisons_tell_limits_apart() -> None:
    """An instance with other limits is another instance."""
    log = fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0])
    names = {
        Instance(name="x", workload=log, federation=replace(MACHINE, limits=bound)).fingerprint()
        for bound in ((), LIMITS, LIMITS[:1], (replace(LIMITS[0], cpus=401),))
    }
    assert len(names) == 4


def test_jobs_of_the_default_partition_are_in_it() -> None:
    """Who asks for none has part in the limit of the default one."""
    queue = fs.Workload(submit=[0.0] * 4, tasks=[1] * 4, runtime=[10.0] * 4, labels={"partition": ["p", "p", "", ""]})
    parts = (fs.Partition("p", {"m": "all"}, default=True),)
    machine = replace(MACHINE, limits=(fs.Limit("partition", jobs=1, names="p"),), partitions=parts)
    assert fs.simulate(queue, machine, "fcfs").start.tolist() == [0.0, 10.0, 20.0, 30.0]


def test_limits_that_bind_nobody_are_said() -> None:
    """A user who is none of the jobs', a label that none has; and how many limits a machine has."""
    queue = fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0], user=[3])
    bound = replace(MACHINE, limits=(fs.Limit("user", jobs=1, names=("ada", "3")), fs.Limit("qos", jobs=1)))
    said = fs.simulate(queue, bound, "fcfs").unmodelled
    assert "a limit of user that applies to no job ('ada')" in said
    assert "a limit of qos that applies to no job (no job says its qos)" in said
    known = fs.simulate(queue, replace(MACHINE, limits=LIMITS[:1]), "fcfs").unmodelled
    assert not any("limit" in fact for fact in known)
    assert ", 2 limits" in str(bound)


def test_users_are_limited_and_called_by_their_names_where_these_are_known() -> None:
    """A limit may name a user by name or number; it says the name, and the number where there is none."""
    names = {"user": ["ada", "ada", "", "bob"]}
    queue = fs.Workload(submit=[0.0] * 4, tasks=[2] * 4, runtime=[10.0] * 4, user=[7, 7, 8, 9], labels=names)
    free = fs.simulate(queue, replace(MACHINE, limits=()), "fcfs")
    for whose in ("ada", "7"):
        one = replace(MACHINE, limits=(fs.Limit("user", jobs=1, names=whose),))
        made = fs.simulate(queue, one, "fcfs")
        assert made.start.tolist() == [0, 10, 0, 0]
        assert not any("limit" in fact for fact in made.unmodelled)
        assert "2 are in use under the limit of 1 of user 'ada'." in replace(free, federation=one).violations()[0]
        nodes = fs.Cluster("c", fs.NodeGroup(8, resources={"cpu": 1}))
        two = fs.Federation(nodes, limits=(fs.Limit("user", nodes=2, names=whose),))
        shared = fs.simulate(queue, two, "fcfs", sharing="first")
        assert shared.start.tolist() == [0, 10, 0, 0]
        shared.verify()
    for user, called in ((2, "8"), (3, "bob")):
        with pytest.raises(InfeasibleError, match=f"its 2 nodes are over the limit of 1 of user '{called}'"):
            fs.simulate(queue.take([user]), replace(MACHINE, limits=(fs.Limit("user", nodes=1),)), "fcfs")


def test_arrays_of_different_logs_are_different() -> None:
    """Merged, each log's arrays have the limits that they had."""
    log = fs.Workload(submit=[0.0] * 4, tasks=[1] * 4, runtime=[10.0] * 4, labels={"array": ["1%2"] * 4}, name="a")
    other = replace(log, labels={"array": ["1%1"] * 4}, name="b")
    both = fs.Workload.merge(log, other)
    assert sorted(set(both.label("array").tolist())) == ["a/1%2", "b/1%1"]
    schedule = fs.simulate(both, fs.Federation.homogeneous(16), "fcfs")
    ends = {site: schedule.finish[both.origin == k].max() for k, site in enumerate(both.sites)}
    assert ends == {"a": 20.0, "b": 40.0}


def test_many_arrays_are_checked_in_one_look_each() -> None:
    """Two thousand arrays: each limit is looked at by its own tasks."""
    jobs = 4000
    arrays = [f"{k // 2}%1" for k in range(jobs)]
    queue = fs.Workload(submit=[0.0] * jobs, tasks=[1] * jobs, runtime=[10.0] * jobs, labels={"array": arrays})
    schedule = fs.simulate(queue, fs.Federation.homogeneous(jobs), "fcfs")
    schedule.verify(claimed=schedule.metrics())
    assert schedule.makespan == 20.0
