"""Nodes of one group that are not side by side: as files have them, and where partitions and downtimes scatter them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import FederationError
from fedsched.io.platforms.toml import federation_text, read_federation
from fedsched.market.environment import Environment
from fedsched.model.machine.node_ranges import ranges_text
from fedsched.model.schedule.node_numbers import by_their_numbers, node_runs, number_nodes
from fedsched.model.schedule.node_use import NodeUse
from fedsched.model.time.downtimes import closures_of
from fedsched.plot.gantt import figure
from fedsched.study.machine_sizes import _scaled

if TYPE_CHECKING:
    from pathlib import Path

ODD = fs.Federation(
    [
        fs.Cluster("a", (fs.NodeGroup(3, 1.0), fs.NodeGroup(1, 2.0))),
        fs.Cluster("b", (fs.NodeGroup(4, 2.0, nodes="0-1,6-7"), fs.NodeGroup(4, 1.0, nodes="2-5", name="slow"))),
    ],
    partitions=[fs.Partition("p", {"a": "all", "b": "1-3,7"})],
    calendar=[fs.Downtime("b", 10.0, 20.0, nodes="0,5", name="works")],
)


def scattered(rng: np.random.Generator) -> fs.Federation:
    """Return clusters of groups whose nodes are anywhere, with partitions and downtimes of nodes that are anywhere."""
    clusters, calendar, sizes = [], [], {}
    for k in range(int(rng.integers(1, 3))):
        of_node = rng.permutation(np.repeat(np.arange(3), rng.integers(1, 5, 3)))
        sizes[f"c{k}"] = of_node.size
        named = [(int((of_node == g).sum()), ranges_text(np.flatnonzero(of_node == g).tolist())) for g in range(3)]
        groups = [fs.NodeGroup(count, float(g % 2 + 1), nodes=nodes) for g, (count, nodes) in enumerate(named)]
        clusters.append(fs.Cluster(f"c{k}", tuple(groups)))
        for w in range(int(rng.integers(0, 4))):
            begin = float(rng.integers(0, 200))
            nodes = some_of(rng, of_node.size)
            calendar.append(
                fs.Downtime(f"c{k}", begin, begin + float(rng.integers(1, 100)), nodes=nodes, name=f"w{w}", **hit(rng))
            )
    partitions = [fs.Partition(f"p{q}", {name: some_of(rng, nodes) for name, nodes in sizes.items()}) for q in range(2)]
    return fs.Federation(clusters, partitions=partitions, calendar=calendar)


def hit(rng: np.random.Generator) -> dict[str, str]:
    """Return what becomes of the jobs in the way of a downtime."""
    if rng.random() < 0.5:
        return {}
    victims = ("latest", "random", "recorded")[int(rng.integers(3))]
    return {"kind": "outage", "on_running": "requeue", "victims": victims}


def some_of(rng: np.random.Generator, nodes: int) -> str:
    """Return some nodes of so many, at least one, as text."""
    members = rng.random(nodes) < 0.5
    members[rng.integers(nodes)] = True
    return ranges_text(np.flatnonzero(members).tolist())


def side_by_side(machine: fs.Federation) -> fs.Federation:
    """Return the same machine whose nodes are numbered group by group."""
    place, clusters = {}, []
    for cluster in machine.clusters:
        there = [node for group in cluster.groups for node in nodes_in(group.nodes, cluster.nodes)]
        if cluster.groups[0].nodes is None:
            there = list(range(cluster.nodes))
        place[cluster.name] = {node: k for k, node in enumerate(there)}
        clusters.append(replace(cluster, groups=tuple(replace(group, nodes=None) for group in cluster.groups)))

    def renumbered(cluster: str, text: str) -> str:
        return ranges_text(sorted(place[cluster][node] for node in nodes_in(text, len(place[cluster]))))

    return replace(
        machine,
        clusters=tuple(clusters),
        partitions=tuple(
            replace(one, nodes=tuple((name, renumbered(name, text)) for name, text in one.nodes))
            for one in machine.partitions
        ),
        calendar=tuple(replace(one, nodes=renumbered(one.cluster, one.nodes)) for one in machine.calendar),
    )


def nodes_in(text: str | None, nodes: int) -> list[int]:
    """Return the nodes that a text names, one by one."""
    if text is None or text == "all":
        return list(range(nodes))
    parts = [part.split("-") for part in text.split(",")]
    return [node for part in parts for node in range(int(part[0]), int(part[-1]) + 1)]


def jobs(rng: np.random.Generator, machine: fs.Federation, count: int = 25) -> fs.Workload:
    """Return jobs, some in partitions, that fit."""
    asked = rng.integers(0, 1 + len(machine.partitions), count)
    most = [machine.nodes] + [
        sum(len(nodes_in(text, 99)) for _, text in partition.nodes) for partition in machine.partitions
    ]
    runtime = rng.integers(1, 60, count).astype(float)
    return fs.Workload(
        submit=np.sort(rng.integers(0, 200, count)).astype(float),
        tasks=[int(rng.integers(1, most[q] + 1)) for q in asked],
        runtime=runtime,
        estimate=runtime * rng.choice([0.5, 1.0, 2.0], count),
        labels={"partition": ["" if q == 0 else f"p{q - 1}" for q in asked]},
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("policy", ["easy", "conservative", "sjf-greedy"])
def test_where_nodes_stand_moves_no_start(seed: int, policy: str) -> None:
    """Jobs start as on the same machine whose nodes are numbered group by group; so do their groups."""
    rng = np.random.default_rng(seed)
    machine = scattered(rng)
    log = jobs(rng, machine)
    run, other = (fs.simulate(log, one, policy) for one in (machine, side_by_side(machine)))
    np.testing.assert_array_equal(run.start, other.start)
    np.testing.assert_array_equal(run.counts, other.counts)
    run.verify(claimed=run.metrics())
    # Each job has nodes of its own that are there, in its partition and not closed by the numbers in the texts.
    of_node, first = machine.group_of_node, {"c0": 0, "c1": machine.clusters[0].nodes}
    allowed = {
        f"p{q}": {first[name] + node for name, text in one.nodes for node in nodes_in(text, 99)}
        for q, one in enumerate(machine.partitions)
    }
    for row, runs in enumerate(run.node_numbers()):
        mine = [node for begin, end in runs for node in range(begin, end + 1)]
        wanted = run.counts[row] if run.start[row] == run.start[row] else 0 * run.counts[row]
        assert np.bincount(of_node[mine], minlength=len(machine.groups)).tolist() == wanted.tolist()
        name = log.label("partition")[row]
        assert not name or set(mine) <= allowed[name]


def test_groups_are_of_nodes_in_the_same_sets_wherever_they_stand() -> None:
    """Nodes of a group that are in the same partitions and downtimes are one group, in the order of first nodes."""
    b = ODD.clusters[1]
    assert [(group.count, group.nodes, group.name) for group in b.groups] == [
        (1, "0", ""), (2, "1,7", ""), (1, "6", ""), (2, "2-3", "slow[2-3]"), (1, "4", "slow[4]"), (1, "5", "slow[5]"),
    ]  # fmt: skip
    assert ODD.group_of_node.tolist() == [0, 0, 0, 1, 2, 3, 5, 5, 6, 7, 4, 3]
    assert ODD.node_order is not None
    assert ODD.node_order.tolist() == [0, 1, 2, 3, 4, 5, 11, 10, 6, 7, 8, 9]
    assert ODD.groups_of_partitions().astype(int).tolist() == [[1, 1, 0, 1, 0, 1, 0, 0]]
    assert closures_of(ODD).group.tolist() == [7, 2]
    assert replace(ODD) == ODD
    assert (
        len(
            {
                fs.Instance("x", jobs(np.random.default_rng(1), ODD), one).fingerprint()
                for one in (ODD, side_by_side(ODD))
            }
        )
        == 2
    )


def closed_now_and_then(nodes: list[int], **words: str) -> list[fs.Downtime]:
    """Return a downtime of each node, one after the other."""
    return [
        fs.Downtime("c", 200.0 + 10.0 * k, 205.0 + 10.0 * k, nodes=str(node), **words) for k, node in enumerate(nodes)
    ]


def test_many_nodes_that_close_one_by_one_are_a_group_each_and_the_others_one() -> None:
    """Fifty scattered nodes make fifty groups and one of all the others, where their downtimes are foreseen."""
    machine = fs.Federation(
        [fs.Cluster("c", (fs.NodeGroup(500, name="n"),))], calendar=closed_now_and_then(list(range(3, 500, 10)))
    )
    assert sorted(group.count for group in machine.groups) == [1] * 50 + [450]
    assert max(machine.groups, key=lambda group: group.count).name == "n[0-2, … 450 nodes]"


@pytest.mark.parametrize("policy", ["fcfs", "greedy"])
def test_nobody_is_kept_off_nodes_that_will_fail(policy: str) -> None:
    """Until nodes fail jobs are where they would be if none did, which nobody foresees."""
    plain = fs.Federation([fs.Cluster("c", (fs.NodeGroup(30),))])
    log = jobs(np.random.default_rng(5), plain, 60)
    log = replace(log, tasks=np.minimum(log.tasks, 9))
    weak = replace(plain, calendar=closed_now_and_then([2, 3, 11, 20], kind="outage"))
    assert [group.count for group in weak.groups] == [2, 1, 1, 7, 1, 8, 1, 9]
    runs = [fs.simulate(log, machine, policy) for machine in (plain, weak)]
    before = np.flatnonzero(runs[0].start < 200.0).tolist()
    assert len(before) > 10
    numbers = [[nodes_in(",".join(f"{a}-{b}" for a, b in one), 30) for one in run.node_numbers()] for run in runs]
    assert [numbers[0][row] for row in before] == [numbers[1][row] for row in before]


def test_a_plain_machine_has_its_nodes_in_order() -> None:
    """Where no group says otherwise, or all say what holds anyway, nodes stand group by group."""
    plain = fs.Cluster("c", (fs.NodeGroup(2), fs.NodeGroup(3, 2.0)))
    said = fs.Cluster("c", (fs.NodeGroup(2, nodes="0-1"), fs.NodeGroup(3, 2.0, nodes="2-4")))
    for cluster in (plain, said):
        machine = fs.Federation([cluster])
        assert machine.node_order is None
        assert machine.group_of_node.tolist() == [0, 0, 1, 1, 1]
        assert cluster.first_nodes.tolist() == [0, 2]


def test_federation_files_keep_which_nodes_a_group_has(tmp_path: Path) -> None:
    """What is written is read again, whoever scattered the nodes."""
    for machine in (ODD, *(scattered(np.random.default_rng(seed)) for seed in range(6))):
        path = tmp_path / "federation.toml"
        path.write_text(federation_text(machine), encoding="utf-8")
        again = read_federation(path)
        assert again == machine
        assert repr([group.nodes for group in again.groups]) == repr([group.nodes for group in machine.groups])


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([fs.NodeGroup(2, nodes="0-1"), fs.NodeGroup(2)], "group 1: nodes= is missing, but other groups have it"),
        ([fs.NodeGroup(2, nodes="0-2"), fs.NodeGroup(2, nodes="3")], "nodes='0-2' are 3 nodes; its count=2"),
        ([fs.NodeGroup(2, nodes="0-1"), fs.NodeGroup(2, nodes="1-2")], "node 1 is in group 0 too"),
        ([fs.NodeGroup(2, nodes="0-1"), fs.NodeGroup(2, nodes="4-5")], "node 5 is not one of its 4 nodes, 0 to 3"),
        ([fs.NodeGroup(2, nodes="x")], "'x' must be 'all', or node numbers like 0-15,20"),
    ],
)
def test_nodes_that_do_not_add_up_are_refused(groups: list[fs.NodeGroup], said: str) -> None:
    """Groups that say which nodes they have say it of all, each node once."""
    with pytest.raises(FederationError, match=said.replace("(", "\\(")):
        fs.Cluster("c", tuple(groups))


def test_numbers_of_nodes_are_those_in_the_texts() -> None:
    """Whoever tells of nodes tells their own numbers: the schedule, the market's slots, the use of shared nodes."""
    log = fs.Workload(submit=[0.0], tasks=[6], runtime=[5.0], estimate=[5.0], labels={"partition": ["p"]})
    run = fs.simulate(log, ODD, "fcfs")
    mine = sorted(node for first, last in run.node_numbers()[0] for node in range(first, last + 1))
    assert set(mine) <= {0, 1, 2, 3, 5, 6, 7, 11}
    market = Environment.of_schedule(run, begin=0.0, end=20.0)
    assert market.performance.tolist() == [1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 2, 2]
    free = {int(node) for node, begin in zip(market.slots.node, market.slots.start, strict=True) if begin < 5.0}
    assert sorted(set(range(12)) - free) == mine
    closed = {int(node) for node, end in zip(market.slots.node, market.slots.end, strict=True) if end == 10.0}
    assert closed == {4, 9}
    use = NodeUse(workload=log, federation=ODD, start=[0.0], finish=[5.0], alone=[True], job=[0, 0], node=[5, 8],
                  tasks=[4, 2])  # fmt: skip
    assert use.counts.tolist() == [[0, 0, 0, 4, 0, 0, 2, 0]]
    figure(run)


def test_a_machine_of_another_size_keeps_its_kinds_in_proportion() -> None:
    """Twice the nodes are twice each group's, in the same partitions; each node finds itself among its own kind."""
    twice, places = _scaled(replace(ODD, calendar=()), "", "24")
    assert sorted(group.count for group in twice.groups) == sorted(2 * group.count for group in ODD.groups)
    sizes = np.array([group.count for group in twice.groups])
    assert (twice.groups_of_partitions() @ sizes).tolist() == [2 * 8]
    for old, new in zip(ODD.clusters, twice.clusters, strict=True):
        same = new.group_of_node[places[old.name]]
        assert [new.groups[k].speed for k in same] == [old.groups[k].speed for k in old.group_of_node]


def test_runs_through_the_groups_are_runs_of_the_nodes_own_numbers() -> None:
    """Numbers that neighbour each other in the groups need not be neighbours, and others may become some."""
    found = number_nodes(ODD, np.zeros(1), np.ones(1), np.array([[3, 0, 1, 2, 0, 0, 0, 0]]))
    assert found == [((0, 2), (4, 6))]  # group by group
    runs = node_runs(ODD, np.zeros(1), np.ones(1), np.array([[3, 0, 1, 2, 0, 0, 0, 0]]))
    assert by_their_numbers(runs, ODD.node_order).intervals() == [((0, 2), (4, 5), (11, 11))]
    assert by_their_numbers(runs, None) is runs
