"""List heuristics on shared nodes: they bind jobs to cores as they bind jobs to nodes of a federation of cores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.sharing_cases import case
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import InfeasibleError
from fedsched.engine.sharing.binding import bound_to_groups
from fedsched.policies.list_heuristics import HEURISTICS, assign


def of_cores(jobs: fs.Workload, machine: fs.Federation) -> tuple[fs.Workload, fs.Federation, np.ndarray]:
    """Return jobs that take nodes where these take cores, on a federation of such nodes, and who may go where."""
    need = np.maximum(jobs.demand.columns()["cpu"], 1)  # type: ignore[union-attr]
    clusters = []
    for cluster in machine.clusters:
        groups = []
        for one in cluster.groups:
            cores = dict(one.resources)["cpu"]
            watts = {name: getattr(one, name) / cores for name in ("busy_watts", "idle_watts")}
            groups.append(fs.NodeGroup(one.count * cores, one.speed, **watts))
        clusters.append(fs.Cluster(cluster.name, tuple(groups)))
    bare = replace(jobs, tasks=jobs.tasks * need, demand=None, layout=None, labels={})
    return bare, fs.Federation(tuple(clusters)), need


@pytest.mark.parametrize("heuristic", HEURISTICS)
@pytest.mark.parametrize("seed", range(tries(12)))
def test_jobs_are_bound_to_cores_as_to_nodes(seed: int, heuristic: str) -> None:
    """Orders and groups are those of a federation that has a node for each core; the run follows them."""
    one = case(51_000 + seed)
    jobs = replace(one.workload, demand={"cpu": one.workload.demand.columns()["cpu"]}, layout=None, labels={})  # type: ignore[union-attr]
    policy, reading = fs.ListHeuristic(heuristic), fs.Reading()
    rules = bound_to_groups(policy, jobs, one.federation, one.sharing, reading, caps=None, t0=None, running=None)
    same, cores, need = of_cores(jobs, one.federation)
    large = np.array([[dict(group.resources)["cpu"] for group in one.federation.groups]]) >= need[:, None]
    nodes = np.array([group.count for group in cores.groups])
    found = assign(same, cores, heuristic, caps=np.where(large, nodes, 0))
    assert np.array_equal(rules.order, found.order)
    bound = np.asarray(rules.caps) > 0
    lifted = bound.all(axis=1)
    assert np.array_equal(bound[~lifted], (found.caps > 0)[~lifted])
    schedule = fs.simulate(jobs, one.federation, policy, sharing=one.sharing)
    schedule.verify(caps=np.asarray(rules.caps), claimed=schedule.metrics())
    by_hand = fs.Rules(order=rules.order, dispatch="local")
    assert np.array_equal(
        fs.simulate(jobs, one.federation, by_hand, sharing=one.sharing, caps=np.asarray(rules.caps)).start,
        schedule.start,
    )


def test_who_fits_on_no_chosen_group_is_not_bound() -> None:
    """Each task takes the memory of a node, and the cluster with cores for both has one: the job takes both."""
    fast = fs.NodeGroup(1, 2.0, resources={"cpu": 16, "memory": 10})
    groups = (fast, fs.NodeGroup(1, resources={"cpu": 8, "memory": 10}))
    machine = fs.Federation(tuple(fs.Cluster(name, (group,)) for name, group in zip("ab", groups, strict=True)))
    jobs = fs.Workload(submit=[0], tasks=[2], runtime=[60], demand={"cpu": [6], "memory": [10]})
    schedule = fs.simulate(jobs, machine, "mct", sharing="first")
    assert schedule.start.tolist() == [0.0]
    assert schedule.counts.tolist() == [[1, 1]]


def in_two(*groups: fs.NodeGroup, **others: object) -> fs.Federation:
    """Return a federation of clusters a and b with these groups."""
    clusters = tuple(fs.Cluster(name, (group,)) for name, group in zip("ab", groups, strict=True))
    return fs.Federation(clusters, **others)


def test_bindings_leave_what_caps_allow() -> None:
    """A job runs if its caps divide it between both clusters, or if a partition counts its nodes."""
    jobs = fs.Workload(submit=[0, 0, 0], tasks=[4, 4, 2], runtime=[10, 20, 30])
    caps = np.full((3, 2), 2)
    machine = in_two(fs.NodeGroup(3, resources={"cpu": 2}), fs.NodeGroup(3, 2.0, resources={"cpu": 2}))
    schedule = fs.simulate(jobs, machine, "min-min", sharing="first", caps=caps)
    schedule.verify(caps=caps, claimed=schedule.metrics())
    with pytest.raises(InfeasibleError, match="Job 1: 4 tasks of cpu 1 do not fit on the nodes that it may use"):
        fs.simulate(jobs, machine, "min-min", sharing="first", caps=np.full((3, 2), 1))
    few = fs.Partition("p", {"a": "all", "b": "all"}, max_nodes=2, default=True)
    narrow = in_two(fs.NodeGroup(1, resources={"cpu": 4}), fs.NodeGroup(4, resources={"cpu": 1}), partitions=(few,))
    wide = jobs.take(np.array([0, 1]))
    found = [fs.simulate(wide, narrow, policy, sharing="first").start.tolist() for policy in ("easy", "min-min")]
    assert found[0] == found[1]


def test_caps_of_jobs_with_tasks_per_node_are_whole_nodes() -> None:
    """Of at most six tasks on the first cluster, four to a node, the job gets one node there and one on the other."""
    machine = in_two(*(fs.NodeGroup(2, resources={"cpu": 4}) for _ in "ab"))
    jobs = fs.Workload(submit=[0], tasks=[8], runtime=[10], layout={"tasks_per_node": [4]})
    schedule = fs.simulate(jobs, machine, sharing="first", caps=np.array([[6, 6]]))
    assert schedule.counts.tolist() == [[4, 4]]
    schedule.verify(caps=np.array([[6, 6]]), claimed=schedule.metrics())
