"""What jobs used on nodes that several share: a random use against a plain count, and the record of a real machine."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import FederationError, ScheduleError
from fedsched.io.recorded_nodes import recorded_nodes
from fedsched.model.schedule.node_use import NodeUse

if TYPE_CHECKING:
    from pathlib import Path

BIG, SMALL = 18, 26  # of CERIT's nodes those that its jobs ran on: with 80 cores, and with 12
ANY = 1250  # the names of the first are numbers below this one


def machine(*sizes: tuple[int, dict[str, int]], **others: Any) -> fs.Federation:
    """Return a federation of clusters a, b, … of so many nodes that have so much."""
    sized = zip("abcd", sizes, strict=False)
    clusters = [fs.Cluster(name, (fs.NodeGroup(count, resources=has),)) for name, (count, has) in sized]
    return fs.Federation(tuple(clusters), name="m", **others)


def use_of(federation: fs.Federation, *jobs: tuple[float, float, dict[int, int]], **others: Any) -> NodeUse:
    """Return the use of nodes by jobs, each from when, how long, and how many tasks on which nodes."""
    alone = others.pop("alone", [False] * len(jobs))
    workload = fs.Workload(
        submit=[0.0] * len(jobs),
        tasks=[sum(nodes.values()) for _, _, nodes in jobs],
        runtime=[length for _, length, _ in jobs],
        **others,
    )
    rows = [(job, node, tasks) for job, (_, _, nodes) in enumerate(jobs) for node, tasks in nodes.items()]
    job, node, tasks = zip(*rows, strict=True)
    start = np.array([begin for begin, _, _ in jobs])
    columns = {"start": start, "finish": start + workload.runtime, "alone": alone}
    return NodeUse(workload=workload, federation=federation, job=job, node=node, tasks=tasks, **columns)


def counted_by_hand(use: NodeUse) -> list[tuple[int, str]]:
    """Return the nodes on which at some start more is in use than there is, and of what; or a lone job has company."""
    found = set()
    has = [dict(group.resources) for group in use.federation.groups for _ in range(group.count)]
    demand = {} if use.workload.demand is None else use.workload.demand.columns()
    for now in use.start.tolist():
        for node in range(use.federation.nodes):
            there = [k for k in range(len(use)) if use.node[k] == node]
            there = [k for k in there if use.start[use.job[k]] <= now < use.finish[use.job[k]]]
            for resource in {name for one in has for name in one}:
                each = [int(demand[resource][use.job[k]]) if resource in demand else 0 for k in there]
                each = [max(1, one) if resource == "cpu" else one for one in each]
                held = sum(one * int(use.tasks[k]) for one, k in zip(each, there, strict=True))
                if held > has[node].get(resource, 0):
                    found.add((node, resource))
            if len(there) > 1 and any(use.alone[use.job[k]] for k in there):
                found.add((node, "alone"))
    return sorted(found)


def named(use: NodeUse) -> list[tuple[int, str]]:
    """Return the same of what is found, out of its words."""
    found = []
    for line in use.violations():
        cluster = line.split("of '")[1][0]
        first = {"a": 0, "b": use.federation.clusters[0].nodes}[cluster]
        what = "alone" if "exclusive" in line else line.split("of '")[2].split("'")[0]
        found.append((first + int(line.split(" node ")[1].split()[0]), what))
    return sorted(found)


def test_a_random_use_is_found_wrong_where_a_plain_count_says_so() -> None:
    """Tests that each node is named once for each thing of which it has too little, and for company, and no other."""
    wrong = 0
    for seed in range(200):
        rng = random.Random(seed)
        federation = machine((2, {"cpu": rng.randint(2, 5), "memory": 8}), (1, {"cpu": 4, "memory": rng.randint(4, 9)}))
        jobs = []
        for _ in range(rng.randint(1, 7)):
            nodes = rng.sample(range(3), rng.randint(1, 3))
            jobs.append((float(rng.randint(0, 8)), float(rng.randint(1, 5)), {n: rng.randint(1, 2) for n in nodes}))
        some = {"memory": [rng.randint(0, 3) for _ in jobs], "cpu": [rng.randint(0, 2) for _ in jobs]}
        demand = {name: values for name, values in some.items() if rng.random() < 0.7}
        alone = [rng.random() < 0.1 for _ in jobs]
        use = use_of(federation, *jobs, demand=demand or None, alone=alone)
        expected = counted_by_hand(use)
        assert named(use) == expected, seed
        wrong += bool(expected)
    assert 40 < wrong < 180


def test_the_first_job_too_many_is_named() -> None:
    """Tests that job, instant, node, what and how much are said, and that ends come before starts."""
    federation = machine((1, {"cpu": 8}), (2, {"cpu": 4}))
    use = use_of(federation, (0, 10, {1: 2}), (10, 5, {1: 4}), (12, 9, {0: 1, 1: 1}), (12, 1, {2: 4}))
    line = "Job 3: at 12 node 0 of 'b' has 5 of 'cpu' in use, but only 4."
    assert use.violations() == [line]
    with pytest.raises(ScheduleError, match=line):
        use.verify()
    assert use.peaks().tolist() == [1, 5, 4]
    assert str(use) == "4 jobs on 3 nodes of m: 5 rows"
    assert use.utilisation() == (10 * 2 + 5 * 4 + 9 * 2 + 1 * 4) / (16 * 21)
    use_of(federation, (0, 10, {1: 2}), (10, 5, {1: 4})).verify()


def test_tasks_hold_what_jobs_demand() -> None:
    """Tests that amounts are those of all tasks, a core at least, and that what nodes do not tell binds nobody."""
    federation = machine((1, {"cpu": 8, "memory": 100}))
    demand = {"memory": [30, 20], "cpu": [3, 0], "licence": [9, 9]}
    use = use_of(federation, (0, 10, {0: 2}), (0, 10, {0: 2}), demand=demand)
    assert (use.peaks().tolist(), use.peaks("memory").tolist()) == ([8], [100])
    use.verify()
    assert (use.utilisation(), use.utilisation("memory")) == (1.0, 1.0)
    assert np.isnan(use.utilisation("gpu"))
    assert use.unmodelled == ("2 jobs with a demand of 'licence' (the machine's nodes do not say)",)
    assert (
        "'memory' in use, but only 99"
        in use_of(machine((1, {"cpu": 8, "memory": 99})), (0, 10, {0: 2}), (0, 10, {0: 2}), demand=demand).violations()[
            0
        ]
    )


def test_amounts_that_cannot_be_added_up_are_refused() -> None:
    """Tests that no sum leaves its range, where a machine would be found to have room for it."""
    demand = {"memory": [2**53, 2**53]}
    federation = machine((1, {"cpu": 2**11, "memory": 2**53}))
    with pytest.raises(ScheduleError, match="the sum of 'memory' is too large; count it in larger units"):
        use_of(federation, (0, 10, {0: 2**9}), (0, 10, {0: 2**9}), demand=demand).verify()
    few = use_of(federation, (0, 10, {0: 2**8}), (0, 10, {0: 2**8}), demand=demand)
    assert few.violations() == [f"Job 1: at 0 node 0 of 'a' has {2**61} of 'memory' in use, but only {2**53}."]
    assert few.peaks("memory").tolist() == [2**62]


def test_a_lone_job_has_its_nodes_to_itself() -> None:
    """Tests that company is found whoever came first, and that before and after it others may be there."""
    federation = machine((2, {"cpu": 8}))
    use_of(federation, (0, 5, {0: 1}), (5, 5, {0: 1}), (10, 5, {0: 1}), alone=[False, True, False]).verify()
    for first in (True, False):
        use = use_of(federation, (0, 6, {0: 1, 1: 1}), (5, 5, {0: 1}), alone=[first, not first])
        assert use.violations() == ["Job 2: at 5 node 0 of 'a' has 2 jobs, one of which is exclusive."]


def test_each_job_is_looked_at_by_itself() -> None:
    """Tests that tasks, times, rows and places of jobs that cannot be are named, and nothing else then."""
    federation = machine((2, {"cpu": 8}))
    good = use_of(federation, (1, 5, {0: 2, 1: 1}), (2, 5, {1: 8}))
    start, finish = good.start, good.finish
    for fields, line in (
        ({"tasks": [2, 2, 8]}, "Job 1: it has nodes for 4 of its 3 tasks."),
        ({"tasks": [3, 0, 8]}, "Job 1: 0 tasks on node 1 of 'a'; at least 1."),
        ({"node": [1, 1, 1]}, "Job 1: node 1 of 'a' occurs in two of its rows."),
        ({"start": [-1.0, 2.0]}, "Job 1: it starts at -1, before its submit at 0."),
        ({"start": [np.nan, 2.0]}, "Job 1: it starts at nan, before its submit at 0."),
        ({"finish": [1.0, 7.0]}, "Job 1: it finishes at 1, no later than its start at 1."),
    ):
        assert replace(good, **fields).violations()[0] == line
    assert (good.start.tolist(), good.finish.tolist()) == (start.tolist(), finish.tolist())
    picky = replace(good, workload=replace(good.workload, labels={"features": ["gpu", ""]}))
    groups = (fs.NodeGroup(1, resources={"cpu": 8}, features=("gpu",)), fs.NodeGroup(1, resources={"cpu": 80}))
    there = replace(picky, federation=fs.Federation((fs.Cluster("a", groups),)))
    assert there.violations() == ["Job 1: it has nodes of group 1 without the features 'gpu'."]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"job": [0, 0, 2]}, "NodeUse: job=2 must be at least 0 and below 2"),
        ({"node": [0, -1, 1]}, "NodeUse: node=-1 must be at least 0 and below 2"),
        ({"node": [0, 1]}, r"NodeUse: node has shape \(2,\), but it must be \(3,\)"),
        ({"alone": [True]}, r"NodeUse: alone has shape \(1,\), but it must be \(2,\)"),
    ],
)
def test_columns_that_do_not_fit_are_refused(fields: dict[str, Any], error: str) -> None:
    """Tests that rows are of the workload's jobs and the federation's nodes."""
    good = use_of(machine((2, {"cpu": 8})), (1, 5, {0: 2, 1: 1}), (2, 5, {1: 8}))
    with pytest.raises(ScheduleError, match=error):
        replace(good, **fields)


def test_what_is_not_checked_is_refused() -> None:
    """Tests that whatever else a machine or its jobs have is refused by name, and a machine that tells of no cores."""
    good = use_of(machine((2, {"cpu": 8})), (1, 5, {0: 2}))
    with pytest.raises(ScheduleError, match="no node group states how many 'cpu' its nodes have; give its"):
        replace(good, federation=machine((2, {"memory": 8}))).verify()
    downtime = fs.Downtime("a", 0.0, end=1.0)
    with pytest.raises(ScheduleError, match=r"calendar is not checked if jobs share.*leave it out.*calendar=\(\)"):
        replace(good, federation=machine((2, {"cpu": 8}), calendar=(downtime,))).verify()
    with pytest.raises(ScheduleError, match=r"begin is not checked if jobs share.*leave it out.*begin=None"):
        replace(good, workload=replace(good.workload, begin=[1.0])).verify()


def log(folder: Path, *rows: str) -> Path:
    """Return a log of jobs of 3 processors, each with its further fields."""
    path = folder / "log.swf"
    job = "{} {} 5 100 3 -1 -1 3 200 -1 1 7 1 1 1 1 -1 -1"
    path.write_text("".join(f"{job.format(k, 50 * k)} {row}\n" for k, row in enumerate(rows, 1)))
    return path


def test_a_log_tells_its_use(tmp_path: Path) -> None:
    """Tests that starts, ends, nodes, tasks and who is alone are the log's."""
    jobs = fs.read(log(tmp_path, "{7,9,7} q 1", "{9,9,9} q 1#excl"), descriptor="metacentrum")
    use = recorded_nodes(jobs, machine((1, {"cpu": 4}), (2, {"cpu": 4})), hosts={"7": ("a", 0), "9": ("b", 1)})
    assert list(zip(use.job, use.node, use.tasks, strict=True)) == [(0, 0, 2), (0, 2, 1), (1, 2, 3)]
    assert (use.start.tolist(), use.finish.tolist()) == ([55.0, 105.0], [155.0, 205.0])
    assert use.alone.tolist() == [False, True]
    assert use.counts.tolist() == [[2, 1], [0, 3]]
    assert use.violations() == ["Job 2: at 105 node 1 of 'b' has 2 jobs, one of which is exclusive."]
    assert use.unmodelled == ("further fields kept as labels: queue",)


def test_a_log_that_does_not_tell_is_refused(tmp_path: Path) -> None:
    """Tests that unknown waits, nodes and hosts are errors that say what to do."""
    jobs = fs.read(log(tmp_path, "{7,9,7} q 1", "{9,9,9} q 1"), descriptor="metacentrum")
    federation, hosts = machine((2, {"cpu": 4})), {"7": ("a", 0), "9": ("a", 1)}
    with pytest.raises(FederationError, match="Job 1: hosts= has no '9'; add it"):
        recorded_nodes(jobs, federation, hosts={"7": ("a", 0)})
    with pytest.raises(ScheduleError, match="start or nodes of 2 jobs are not recorded"):
        recorded_nodes(replace(jobs, labels=None), federation, hosts=hosts)
    with pytest.raises(ScheduleError, match="start or nodes of 2 jobs are not recorded"):
        recorded_nodes(replace(jobs, log=None), federation, hosts=hosts)
    with pytest.raises(ScheduleError, match="Job 1: nodes='cn7' must be the nodes of its processors"):
        recorded_nodes(replace(jobs, labels={"nodes": "cn7"}), federation, hosts=hosts)
    (tmp_path / "hosts").write_text("NodeName=7 CPUs=3\nNodeName=9 CPUs=3\n")
    with pytest.raises(FederationError, match="host '7' stands for several nodes"):
        recorded_nodes(jobs, machine((6, {"cpu": 1})), hosts=tmp_path / "hosts")


# ---- a real machine -------------------------------------------------------------------------------------------------


def cerit(folder: Path) -> tuple[fs.Workload, dict[str, tuple[str, int]]]:
    """Return CERIT's jobs of 2013, and which of their nodes are which."""
    jobs = fs.read(folder / "CERIT-2013.swf.gz", descriptor="metacentrum")
    names = sorted({node for text in set(jobs.label("nodes")) for node in text.strip("{}").split(",")}, key=int)
    big = [name for name in names if int(name) < ANY]
    assert (len(big), len(names)) == (BIG, BIG + SMALL)
    hosts = {name: ("a", k) for k, name in enumerate(big)}
    return jobs, hosts | {name: ("b", k) for k, name in enumerate(names[BIG:])}


def test_what_a_real_machine_did_is_accepted_and_no_core_less(nodes_dir: Path) -> None:
    """Tests that 17,898 jobs shared nodes that were as full as can be, which cannot have been with a core less."""
    jobs, hosts = cerit(nodes_dir)
    use = recorded_nodes(jobs, machine((BIG, {"cpu": 80}), (SMALL, {"cpu": 12})), hosts=hosts)
    use.verify()
    assert use.peaks().tolist() == [80] * BIG + [12] * SMALL
    assert int(use.alone.sum()) == 231
    seconds = np.dot(jobs.tasks, jobs.runtime) / (80 * BIG + 12 * SMALL)
    assert use.utilisation() == pytest.approx(seconds / (use.finish.max() - jobs.submit.min()))
    less = replace(use, federation=machine((BIG, {"cpu": 79}), (SMALL, {"cpu": 12}))).violations()
    assert len(less) == BIG
    assert less[0] == "Job 4157: at 1359976488 node 0 of 'a' has 80 of 'cpu' in use, but only 79."
    less = replace(use, federation=machine((BIG, {"cpu": 80}), (SMALL, {"cpu": 11}))).violations()
    assert len(less) == SMALL
    assert all("has 12 of 'cpu' in use, but only 11." in line for line in less)
    moved = np.where(use.node == 0, 1, use.node)
    assert replace(use, node=moved).violations() != []


def test_a_partition_counts_nodes_not_tasks() -> None:
    """Tests that a job of several tasks on one node keeps to a partition of one node a job, and one on two does not."""
    parts = (fs.Partition("thin", {"a": "all"}, max_nodes=1),)
    site = machine((2, {"cpu": 4}), partitions=parts)
    use_of(site, (0.0, 5.0, {0: 3}), labels={"partition": ["thin"]}).verify()
    with pytest.raises(ScheduleError, match="Job 1: nodes=2 is over the 1 of partition"):
        use_of(site, (0.0, 5.0, {0: 2, 1: 1}), labels={"partition": ["thin"]}).verify()
