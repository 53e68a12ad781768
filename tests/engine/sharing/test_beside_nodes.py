"""Jobs that share nodes and are kept back by something else: cases by hand, and what the check finds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import InfeasibleError, ScheduleError
from fedsched.engine.sharing.result import SharedSchedule

NODE = fs.NodeGroup(1, resources={"cpu": 4}, off_watts=0.0)


def machine(nodes: int = 1, **others: Any) -> fs.Federation:
    """Return nodes of 4 cores."""
    return fs.Federation((fs.Cluster("m", (replace(NODE, count=nodes),)),), **others)


def sized(least: int, most: int | None) -> fs.Partition:
    """Return a partition of all nodes whose jobs are on so many."""
    return fs.Partition("P", {"m": "all"}, min_nodes=least, max_nodes=most)


def jobs(*rows: tuple[float, int, float], **others: Any) -> fs.Workload:
    """Return jobs by submit, tasks and run time."""
    submit, tasks, runtime = zip(*rows, strict=True)
    return fs.Workload(submit=submit, tasks=tasks, runtime=runtime, **others)


def shared(workload: fs.Workload, federation: fs.Federation, policy: str | fs.Rolling = "easy") -> SharedSchedule:
    """Return the schedule, which is checked."""
    schedule = fs.simulate(workload, federation, policy, sharing="first")
    assert isinstance(schedule, SharedSchedule)
    schedule.verify(claimed=schedule.metrics())
    return schedule


def spoilt(schedule: SharedSchedule, **columns: Any) -> SharedSchedule:
    """Return the schedule with other columns, which are those of its nodes too."""
    given = {name: getattr(schedule, name) for name in fs.Schedule.__slots__} | columns
    known = {name: value for name, value in columns.items() if name in ("workload", "federation", "start", "finish")}
    return SharedSchedule(**given, played=schedule.played._replace(use=replace(schedule.use, **known)))


def test_the_head_reserves_the_licence_it_waits_for() -> None:
    """Tests that who would hold a licence beyond the head's turn is not let past it, and who gives it back is."""
    workload = jobs((0, 1, 10), (1, 1, 5), (2, 1, 20), (3, 1, 7), pools={"lic": [1, 2, 1, 1]})
    federation = machine(pools=(fs.Pool("lic", 2),))
    assert shared(workload, federation).start.tolist() == [0, 10, 15, 3]
    assert shared(workload, federation, "greedy").start.tolist() == [0, 22, 2, 10]


def test_who_is_over_a_limit_is_passed_over() -> None:
    """Tests that a user at the limit of CPUs waits without a reservation, and others go on."""
    workload = jobs((0, 2, 10), (1, 1, 5), (2, 2, 30), user=[1, 1, 2], demand={"cpu": [1, 1, 1]})
    federation = machine(limits=(fs.Limit("user", cpus=2),))
    assert shared(workload, federation, "fcfs").start.tolist() == [0, 10, 2]


def test_an_array_has_so_many_tasks_at_a_time() -> None:
    """Tests that of an array no more run together than it says, though there is room."""
    workload = jobs(*[(0, 1, 5)] * 4, labels={"array": ["a%2"] * 4})
    assert shared(workload, machine()).start.tolist() == [0, 0, 5, 5]


def test_jobs_wait_for_others_and_for_their_time() -> None:
    """Tests that conditions, earliest starts and cancellations are as on whole nodes, and who never starts is named."""
    workload = jobs(
        (0, 1, 10), (0, 1, 5), (0, 1, 5), (0, 1, 5), (1, 4, 5),
        after={2: "afterok:1+3s", 3: "afternotok:1"}, begin=[0, 0, 0, 4, 0], cancel_at=[-1, -1, -1, -1, 9],
    )  # fmt: skip
    schedule = shared(workload, machine())
    assert np.array_equal(schedule.start, [0, 13, np.nan, 4, np.nan], equal_nan=True)
    assert schedule.complete
    assert schedule.cancelled.tolist() == [False] * 4 + [True]
    assert schedule.hopeless.tolist() == [False, False, True, False, False]
    assert schedule.use.utilisation("cpu") == pytest.approx(20 / (4 * 18))


def test_users_think_before_they_submit() -> None:
    """Tests that a job which follows another is submitted when that one has ended and its user has thought."""
    workload = jobs((0, 1, 10), (3, 1, 5), feedback={"preceding": [-1, 1], "think_time": [-1, 2]})
    schedule = shared(workload, machine())
    assert schedule.workload.submit.tolist() == [0, 12]
    assert schedule.start.tolist() == [0, 12]


def test_the_check_finds_what_is_broken_beside_nodes() -> None:
    """Tests that too much of a pool, too many under a limit, and starts before their time do not pass."""
    two = shared(jobs((0, 1, 10), (0, 1, 10), pools={"lic": [1, 1]}), machine(pools=(fs.Pool("lic", 2),)))
    with pytest.raises(ScheduleError, match="at 0 2 of pool 'lic' are in use, but there are only 1"):
        spoilt(two, federation=machine(pools=(fs.Pool("lic", 1),))).verify()
    limited = spoilt(
        two, federation=machine(limits=(fs.Limit("user", jobs=1),)), workload=replace(two.workload, user=[1, 1])
    )
    with pytest.raises(ScheduleError, match="at 0 2 are in use under the limit of 1 of user '1'"):
        limited.verify()
    with pytest.raises(ScheduleError, match=r"Job 2: it starts at 0, before after:1\+5.* holds at 5"):
        spoilt(two, workload=replace(two.workload, after={2: "after:1+5s"})).verify()
    with pytest.raises(ScheduleError, match="Job 1: it starts at 0, before its earliest start at 3"):
        spoilt(two, workload=replace(two.workload, begin=[3, 0])).verify()
    with pytest.raises(ScheduleError, match="Job 2: it starts at 0, but was cancelled at 0"):
        spoilt(two, workload=replace(two.workload, cancel_at=[-1, 0])).verify()


def test_a_record_is_checked_for_pools_and_limits() -> None:
    """Tests that a record is checked for what is held beside nodes, and for limits that count these."""
    use = shared(jobs((0, 1, 10), (0, 1, 10), pools={"lic": [1, 1]}), machine(pools=(fs.Pool("lic", 2),))).use
    use.verify()
    assert "of pool 'lic'" in replace(use, federation=machine(pools=(fs.Pool("lic", 1),))).violations()[0]
    labels = {"partition": ["P", "", ""]}
    of_any_size = machine(nodes=3, partitions=(sized(1, None),))
    two = shared(jobs((0, 4, 10), (0, 4, 10), (0, 1, 5), user=[1, 1, 2], labels=labels), of_any_size).use
    replace(two, federation=replace(of_any_size, limits=(fs.Limit("user", nodes=2),))).verify()
    with pytest.raises(ScheduleError, match="Job 2: at 0 2 nodes are in use under the limit of 1 of user '1'"):
        replace(two, federation=replace(of_any_size, limits=(fs.Limit("user", nodes=1),))).verify()
    with pytest.raises(ScheduleError, match="nodes=1 is below the 2 of partition 'P'"):
        replace(two, federation=machine(nodes=3, partitions=(sized(2, None),))).verify()


def test_a_node_counts_once_under_a_limit() -> None:
    """Tests that a user's jobs on one node have one, that who would need another waits, and others go on meanwhile."""
    rows = [(0, 2, 10), (1, 2, 20), (2, 1, 5), (3, 4, 5)]
    limited = machine(nodes=2, limits=(fs.Limit("user", nodes=1, names=("1",)),))
    for policy in ("fcfs", "greedy", "easy"):
        schedule = shared(jobs(*rows, user=[1, 1, 1, 2]), limited, policy)
        assert schedule.start.tolist() == [0, 1, 10, 3]  # job 3 finds node 0 full, and node 1 is one too many
        assert [schedule.nodes_of(row) for row in range(4)] == [(0,), (0,), (0,), (1,)]


def test_whom_a_limit_on_nodes_keeps_back_has_nothing_reserved() -> None:
    """Tests that EASY reserves nothing for who would be on too many nodes, and lets no candidate be on as many."""
    workload = jobs((0, 4, 10), (1, 4, 30), (2, 8, 5), (3, 2, 5), (3, 4, 5), user=[1, 1, 2, 1, 3])
    limited = machine(nodes=2, limits=(fs.Limit("user", nodes=1, names=("1",)),))
    assert shared(workload, limited).start.tolist() == [0, 10, 40, 45, 3]


def test_partitions_count_the_nodes_of_each_job() -> None:
    """Tests that a job waits for as few nodes, or as many, as its partition says, and holds up nobody."""
    rows, labels = [(0, 2, 10), (1, 4, 5), (2, 1, 5)], {"partition": ["", "P", ""]}
    few = machine(nodes=2, partitions=(sized(1, 1),))
    assert shared(jobs(*rows, labels=labels), few, "fcfs").start.tolist() == [0, 10, 2]
    many = machine(nodes=2, partitions=(sized(2, None),))
    workload = jobs((0, 2, 10), (1, 5, 5), (2, 1, 5), labels=labels)
    assert shared(workload, many, "fcfs").start.tolist() == [0, 1, 2]


@pytest.mark.parametrize("parts", [{"partitions": True}, {"limits": (fs.Limit("user", nodes=1),)}])
def test_who_is_given_too_many_nodes_of_the_empty_machine_is_refused(parts: dict[str, Any]) -> None:
    """Tests that a job is named that could never start on the nodes that it would be given, with their number."""
    parts = {"partitions": (sized(1, 1),)} if "partitions" in parts else parts
    workload = jobs((0, 1, 1), (0, 5, 10), user=1, labels={"partition": ["", "P" if "partitions" in parts else ""]})
    with pytest.raises(InfeasibleError, match="Job 2: even on the empty machine its 5 tasks are given 2 nodes"):
        shared(workload, machine(nodes=2, **parts))


def test_who_has_too_few_tasks_for_its_partition_is_refused() -> None:
    """Tests that a job which cannot be on as many nodes as its partition asks for is named."""
    workload = jobs((0, 1, 1), labels={"partition": ["P"]})
    with pytest.raises(InfeasibleError, match="Job 1: nodes=1 is below the 2 of partition 'P'"):
        shared(workload, machine(nodes=2, partitions=(sized(2, None),)))


@pytest.mark.parametrize("policy", [fs.Rolling(method="ga", evaluations=20), "search"])
def test_plans_know_of_limits_on_nodes(policy: fs.Rolling | str) -> None:
    """Tests that a rolling plan and a search go with limits and partitions that count nodes."""
    rows = [(0, 4, 10), (0, 3, 20), (0, 2, 5), (0, 6, 5), (0, 1, 7)]
    parts = {"limits": (fs.Limit("user", nodes=2),), "partitions": (sized(1, 2),)}
    workload = jobs(*rows, user=[1, 1, 1, 2, 2], labels={"partition": ["P", "", "P", "P", ""]})
    if policy == "search":
        found = fs.optimize(workload, machine(nodes=3, **parts), sharing="first", method="ga", evaluations=60)
        found.best("makespan").verify()
    else:
        assert shared(workload, machine(nodes=3, **parts), policy).complete
