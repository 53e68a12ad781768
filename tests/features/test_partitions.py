"""Partitions: nodes under a name, who may have them, and what becomes of them in files, searches and checks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.bounds import exact, lower_bounds
from fedsched.core.errors import FederationError, InfeasibleError, UnknownNameError
from fedsched.gym.episodes import Episodes
from fedsched.io import read_federation
from fedsched.model.jobs.admission import tiers_of_jobs, with_default_times
from fedsched.model.jobs.assumed import assumptions
from fedsched.optimize.rolling import Rolling
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = fs.Federation(
    (
        fs.Cluster("a", (fs.NodeGroup(6, 1.0, 200, 90, name="old"), fs.NodeGroup(4, 2.0, 300, 90))),
        fs.Cluster("b", (fs.NodeGroup(8, 1.0, 200, 90),), 1e9),
    ),
    name="two",
)
PARTED = replace(
    PLAIN,
    partitions=(
        fs.Partition("short", {"a": "all", "b": "0-1,7"}, max_time=100.0, max_nodes=5),
        fs.Partition("long", {"b": "1-7"}, min_nodes=2, factor=0),
        fs.Partition("ours", {"a": "4-7"}, accounts=("x", "y"), qos=("urgent", "normal")),
    ),
)
OURS = {"partition": "ours", "account": "x"}


def jobs(**columns: Any) -> fs.Workload:
    """Return four jobs in partitions."""
    labels = {"partition": ["short", "long", "ours", ""], "account": ["", "", "x", ""]}
    given = {"tasks": [5, 7, 4, 18], "runtime": [100.0, 500.0, 50.0, 10.0], "labels": labels, **columns}
    return fs.Workload(submit=[0.0] * 4, **given)


def test_groups_are_split_where_partitions_end() -> None:
    """Nodes of one group are apart where they are in other partitions; a name gets their numbers."""
    a, b = PARTED.clusters
    assert [(group.count, group.name) for group in a.groups] == [(4, "old[0-3]"), (2, "old[4-5]"), (2, ""), (2, "")]
    assert [group.count for group in b.groups] == [1, 2, 5]
    assert [group.speed for group in a.groups] == [1.0, 1.0, 2.0, 2.0]
    assert PARTED.groups_of_partitions().astype(int).tolist() == [
        [1, 1, 1, 1, 1, 1, 0],
        [0, 0, 0, 0, 0, 1, 1],
        [0, 1, 1, 0, 0, 0, 0],
    ]
    assert replace(PARTED) == PARTED
    assert PARTED.nodes == PLAIN.nodes
    assert "partitions short, long, ours" in str(PARTED)


def test_jobs_keep_to_the_nodes_of_their_partition() -> None:
    """Each job runs on its partition's nodes; one that asks for none has all of them, in the end."""
    schedule = fs.simulate(jobs(), PARTED, "fcfs")
    schedule.verify(claimed=schedule.metrics())
    used, inside = schedule.counts > 0, PARTED.groups_of_partitions()
    for row in range(3):
        assert not (used[row] & ~inside[row]).any()
    assert schedule.counts[3].sum() == 18


def test_a_split_group_is_one_group_to_whoever_may_have_all_of_it() -> None:
    """Where nobody asks for a partition, jobs start as on the undivided machine under rules that reserve nothing."""
    log = fs.Workload.example().filter(fs.Workload.example().tasks <= 8).head(60)
    for policy in ("fcfs", "sjf-greedy", "min-min"):
        for placement in ("fastest", "single", "powerful", "best_fit", "efficient", "big_small"):
            if policy == "min-min" and placement != "fastest":
                continue
            kept = {} if policy == "min-min" else {"placement": placement}
            whole, parts = (fs.simulate(log, one, policy, **kept) for one in (PLAIN, PARTED))
            np.testing.assert_array_equal(whole.start, parts.start)


def test_nodes_in_few_partitions_go_first() -> None:
    """Among equal nodes of a cluster a job takes those that are in the fewest partitions."""
    parts = replace(
        fs.Federation.homogeneous(8, name="m"),
        partitions=(fs.Partition("q", {"m": "all"}), fs.Partition("r", {"m": "0-3"})),
    )
    one = fs.Workload(submit=[0.0], tasks=[3], runtime=[10.0], labels={"partition": "q"})
    for placement in ("fastest", "efficient", "powerful", "best_fit"):
        assert fs.simulate(one, parts, "fcfs", placement=placement).counts.tolist() == [[0, 3]]


def test_the_default_partition_takes_who_asks_for_none() -> None:
    """Without a default a job that names no partition may have every node; with one it is there."""
    usual = replace(PARTED, partitions=(*PARTED.partitions, fs.Partition("rest", {"b": "all"}, default=True)))
    small = jobs(tasks=[5, 7, 4, 8])
    assert fs.simulate(small, usual, "fcfs").counts[3, :4].sum() == 0
    with pytest.raises(InfeasibleError, match="Job 4: tasks=18 exceeds the 8 nodes of partition 'rest'"):
        fs.simulate(jobs(), usual, "fcfs")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"runtime": [101.0, 500.0, 50.0, 10.0]}, "Job 1: its request of 101 s is over the 100 s of partition 'short'"),
        ({"tasks": [6, 7, 4, 18]}, "Job 1: tasks=6 is over the 5 of partition 'short'"),
        ({"tasks": [5, 1, 4, 18]}, "Job 2: tasks=1 is below the 2 of partition 'long'"),
        ({"tasks": [5, 8, 4, 18]}, "Job 2: tasks=8 exceeds the 7 nodes of partition 'long'"),
        ({"labels": {"partition": "ours", "account": "z"}}, "Job 1: account 'z' may not use partition 'ours'"),
        ({"labels": {"partition": "ours"}}, "Job 1: account '' may not use partition 'ours'"),
        ({"labels": {**OURS, "qos": "low"}}, "Job 1: QOS 'low' may not use partition 'ours'"),
    ],
)
def test_who_does_not_belong_is_refused_by_name(columns: dict[str, Any], said: str) -> None:
    """Whoever asks for too long, too few, too many, or has no right to it; `admits` says who they are."""
    wrong = jobs(**columns)
    with pytest.raises(InfeasibleError) as caught:
        fs.simulate(wrong, PARTED, "fcfs")
    assert str(caught.value).startswith(said)
    assert "workload.filter(federation.admits(workload))" in str(caught.value)
    admitted = wrong.filter(PARTED.admits)
    assert 1 not in admitted.id if said.startswith("Job 1") else 2 not in admitted.id
    if len(admitted):
        fs.simulate(admitted, PARTED, "fcfs").verify()


def test_an_unknown_partition_offers_the_nearest() -> None:
    """A job that asks for a partition which does not exist is refused, with the nearest name."""
    with pytest.raises(UnknownNameError, match=r"Job 1: partition 'shrt'.*short"):
        fs.simulate(jobs(labels={"partition": ["shrt", "", "", ""]}), PARTED, "fcfs")


def test_the_check_sees_who_is_outside() -> None:
    """A job on nodes of another partition, or in one that does not take it, breaks the model."""
    good = fs.simulate(jobs(), PARTED, "fcfs")
    moved = np.array(good.counts)
    moved[1] = [0, 0, 0, 0, 1, 1, 5]
    assert "Job 2: it has nodes outside its partition 'long'." in replace(good, counts=moved).violations()
    late = replace(good, workload=jobs(estimate=[101.0, 500.0, 50.0, 10.0]))
    assert "Job 1: its request of 101 s is over the 100 s of partition 'short'." in late.violations()


@pytest.mark.parametrize(
    ("partition", "said"),
    [
        ({"nodes": {"c": "all"}}, "there is no such cluster; known: a, b"),
        ({"nodes": {"a": "8-10"}}, "node 10 is not one of its 10 nodes, 0 to 9"),
        ({"nodes": {"a": "5-3"}}, "'5-3' must be 'all', or node numbers like 0-15,20"),
        ({"nodes": {"a": "x"}}, "'x' must be 'all', or node numbers"),
        ({"nodes": {}}, "it has no nodes"),
        ({"nodes": {"a": "all"}, "max_time": 0.0}, "max_time=0.0 must be above 0 seconds"),
        ({"nodes": {"a": "all"}, "min_nodes": 0}, "min_nodes=0 must be a whole number of at least 1"),
        ({"nodes": {"a": "all"}, "min_nodes": 4, "max_nodes": 2}, "max_nodes=2 is below min_nodes=4"),
    ],
)
def test_what_is_no_partition_is_refused(partition: dict[str, Any], said: str) -> None:
    """Clusters and nodes that do not exist, ranges that run backwards and limits that nobody can keep."""
    with pytest.raises(FederationError) as caught:
        replace(PLAIN, partitions=(fs.Partition("p", **partition),))
    assert said in str(caught.value)


def test_names_and_defaults_differ() -> None:
    """Two partitions of one name, or two defaults, are refused."""
    one = fs.Partition("p", {"a": "all"}, default=True)
    with pytest.raises(FederationError, match="two partitions are named 'p'"):
        replace(PLAIN, partitions=(one, one))
    with pytest.raises(FederationError, match="'p' and 'q' are both the default"):
        replace(PLAIN, partitions=(one, replace(one, name="q")))


def test_a_file_keeps_partitions(tmp_path: Path) -> None:
    """A federation with partitions comes back from its file as it went."""
    PARTED.write(tmp_path / "two.toml")
    assert read_federation(tmp_path / "two.toml") == PARTED
    assert replace(PARTED, partitions=()).groups == PARTED.groups


UNASKED = jobs(log={"requested_time": [-1, 900, -1, -1]}, estimate=[100.0, 900.0, 50.0, 10.0])
USUAL = replace(
    PARTED,
    partitions=tuple(
        replace(one, default_time=seconds) for one, seconds in zip(PARTED.partitions, (60, 4000, None), strict=True)
    ),
)


def test_who_asks_for_no_time_has_that_of_its_partition() -> None:
    """Where the log gives no request, and the partition has a default time; one line says of how many."""
    said = "the default time of its partition as the request of 1 job"
    for policy in ("easy", "conservative", "mct"):
        schedule = fs.simulate(UNASKED, USUAL, policy)
        schedule.verify()
        assert schedule.workload.estimate.tolist() == [60.0, 900.0, 50.0, 10.0]
        assert said in assumptions(USUAL, schedule.workload)
    assert said in assumptions(USUAL, UNASKED)
    assert not any("default time" in fact for fact in assumptions(PARTED, UNASKED))
    assert fs.simulate(UNASKED, PARTED, "easy").workload.estimate.tolist() == [100.0, 900.0, 50.0, 10.0]
    told = replace(UNASKED, log=None)  # nothing says that these are no requests
    assert fs.simulate(told, USUAL, "easy").workload.estimate.tolist() == [100.0, 900.0, 50.0, 10.0]
    own = replace(UNASKED, estimate=[99.0, 900.0, 50.0, 10.0])  # somebody gave it one since
    assert with_default_times(own, USUAL) is own


@pytest.mark.needs("ortools")
def test_jobs_without_a_request_are_killed_at_the_default_time() -> None:
    """Everything that runs, bounds or searches takes that for the request."""
    killed = fs.simulate(UNASKED, USUAL, "easy", kill_at_estimate=True)
    killed.verify()
    assert killed.run[0] == 60.0
    assert fs.simulate(killed.workload, USUAL, "easy", kill_at_estimate=True) == killed
    alone, words = UNASKED.take(np.array([0])), {"knowledge": "runtime", "kill_at_estimate": True}
    assert lower_bounds(alone, USUAL, **words).makespan == pytest.approx(60.0)
    assert exact(alone, USUAL, seconds=5, **words).value == 60.0
    found = fs.optimize(alone, USUAL, objectives="makespan", evaluations=20, **words).best()
    assert found.metrics().makespan == 60.0
    episodes = Episodes(UNASKED.take(np.array([0, 1])), USUAL, runs=1)
    assert episodes.workload.estimate.tolist() == [60.0, 900.0]


def test_a_run_time_over_the_longest_is_no_request() -> None:
    """A job that ran for longer than a partition lets ask, and asked for nothing, is not refused."""
    longer = replace(UNASKED, runtime=[150.0, 500.0, 50.0, 10.0], estimate=[150.0, 900.0, 50.0, 10.0])
    assert PARTED.admits(longer).tolist() == [False, True, True, True]
    assert USUAL.admits(longer).all()
    fs.simulate(longer, USUAL, "easy").verify()


def test_shapes_say_their_requests_themselves() -> None:
    """Jobs with alternatives keep what these say."""
    shaped = replace(UNASKED, alternatives={1: "5x100|2x90"})
    assert fs.simulate(shaped, USUAL, "easy").workload.estimate[0] == 100.0


def test_default_times_are_kept_in_files_and_refused_by_name(tmp_path: Path) -> None:
    """TOML there and back, slurm.conf, and a schedule that is read back; no time above the longest."""
    USUAL.write(tmp_path / "two.toml")
    assert "default_time = 4000.0" in (tmp_path / "two.toml").read_text()
    assert read_federation(tmp_path / "two.toml") == USUAL
    schedule = fs.simulate(UNASKED, USUAL, "easy", kill_at_estimate=True)
    schedule.to_csv(tmp_path / "plan.csv")
    back = fs.Schedule.read(tmp_path / "plan.csv", UNASKED, USUAL, reading=schedule.reading)
    back.verify()
    assert back.workload == schedule.workload
    for wrong in (0, 101.0, -5, "1"):
        with pytest.raises(FederationError, match=r"Partition 'short': default_time=.* no longer than its"):
            replace(PARTED.partitions[0], default_time=wrong)


TIERED = fs.Federation(
    fs.Federation.homogeneous(4, name="m").clusters,
    partitions=(fs.Partition("low", {"m": "all"}, tier=0), fs.Partition("high", {"m": "all"}, tier=9)),
)
# All wait until 10; the last is of the high tier, the third of none.
QUEUE = fs.Workload(
    submit=[0.0, 1.0, 2.0, 3.0],
    tasks=[4] * 4,
    runtime=[10.0, 5.0, 6.0, 7.0],
    labels={"partition": ["low", "low", "", "high"]},
)


@pytest.mark.parametrize("order", ["fcfs", "sjf", "largest", "saf", "xfactor", "wfp3", "unicef", "f1"])
@pytest.mark.parametrize("dispatch", ["strict", "greedy", "local", "easy", "conservative", "lookahead"])
def test_jobs_of_a_higher_tier_come_first(order: str, dispatch: str) -> None:
    """In every order; who is in no partition is in tier 1."""
    schedule = fs.simulate(QUEUE, TIERED, fs.Rules(order=order, dispatch=dispatch))
    schedule.verify()
    assert schedule.start.tolist() == [0.0, 23.0, 17.0, 10.0]


def test_candidates_come_by_tier_too() -> None:
    """Beside the head's reservation there is room for one until 10: it is the longer one of the higher tier."""
    jobs = fs.Workload(
        submit=[0.0, 1.0, 2.0, 2.0],
        tasks=[3, 4, 1, 1],
        runtime=[10.0, 5.0, 4.0, 8.0],
        labels={"partition": ["high", "high", "low", "high"]},
    )
    for backfill in (None, "sjf", "xfactor"):
        start = fs.simulate(jobs, TIERED, fs.Rules(dispatch="easy", backfill_order=backfill)).start
        assert start.tolist() == [0.0, 10.0, 15.0, 2.0]


def test_orders_that_are_given_stay_as_they_are() -> None:
    """A permutation is a plan, whatever the tiers."""
    assert fs.simulate(QUEUE, TIERED, fs.Rules(order=(0, 1, 2, 3), dispatch="strict")).start.tolist() == [
        0.0, 10.0, 15.0, 21.0,
    ]  # fmt: skip
    found = fs.optimize(QUEUE, TIERED, objectives="mean_wait", evaluations=200)
    assert found.best().start.tolist() == [18.0, 0.0, 5.0, 11.0]


def test_one_tier_is_none() -> None:
    """Where all jobs are in one, nothing of it is in the problem."""
    low = QUEUE.take(np.array([0, 1]))
    assert tiers_of_jobs(low, TIERED).size == 0
    assert prepare(low, TIERED, "easy").problem.extras is None
    assert prepare(QUEUE, TIERED, "easy").problem.extras.tier.tolist() == [0, 0, 1, 9]


def test_rolling_plans_and_environments_have_tiers() -> None:
    """Rolling plans begin from orders by tier and may do better; an environment shows the higher tier first."""
    schedule = fs.simulate(QUEUE, TIERED, Rolling(evaluations=50))
    schedule.verify()
    assert schedule.complete
    episodes = Episodes(QUEUE, TIERED, runs=1, order="sjf")
    assert episodes.jobs == 4


def test_tiers_are_kept_in_files_and_refused_by_name(tmp_path: Path) -> None:
    """TOML there and back; whole numbers as Slurm has them."""
    TIERED.write(tmp_path / "m.toml")
    assert "tier = 9" in (tmp_path / "m.toml").read_text()
    assert read_federation(tmp_path / "m.toml") == TIERED
    for wrong in (-1, 1.5, 70_000, "high"):
        with pytest.raises(FederationError, match=r"Partition 'p': tier=.* must be a whole number from 0 to 65533"):
            fs.Partition("p", {"m": "all"}, tier=wrong)
