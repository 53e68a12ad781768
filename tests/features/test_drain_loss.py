"""What known downtimes cost: idle nodes before them while somebody waits whom they keep away [47]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine.test_against_naive import run_engine
from reference import naive_measures
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.model.schedule.eligible import eligible_since

FOUR = fs.NodeGroup(4)


def machine(*downtimes: fs.Downtime, **more: object) -> fs.Federation:
    """Return four nodes that close so."""
    return fs.Federation((fs.Cluster("a", (FOUR,)),), calendar=downtimes, **more)


def window(begin: float, end: float, nodes: object = "all", **more: object) -> fs.Downtime:
    """Return a downtime of the four nodes, or of some."""
    return fs.Downtime("a", begin, end, nodes=nodes, **more)


def jobs(*rows: tuple[float, int, float], **more: object) -> fs.Workload:
    """Return jobs by submit, tasks and run time."""
    return fs.Workload(**dict(zip(("submit", "tasks", "runtime"), zip(*rows, strict=True), strict=True)), **more)


def loss(workload: fs.Workload, federation: fs.Federation, policy: object = "easy", **options: object) -> float:
    """Return the loss of a schedule whose check accepts it, and refuses another one."""
    schedule = fs.simulate(workload, federation, policy, **options)
    row = schedule.metrics()
    schedule.verify(claimed=row)
    (line,) = schedule.violations(claimed=replace(row, drain_loss=row.drain_loss + 1.0))
    assert line.startswith("Schedule: drain_loss is given as")
    return row.drain_loss


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "lookahead"])
def test_nodes_that_idle_before_a_window_are_lost_while_a_job_is_too_long(policy: str) -> None:
    """Two nodes are used until 100, two idle; who would run for 200 s and needs two waits for the window at 150."""
    log = jobs((0, 2, 100), (10, 2, 200))
    assert loss(log, machine(window(150, 160)), policy) == 2 * 140  # of four from 100 on it needs two
    assert loss(log, machine(window(250, 260)), policy) == 0
    assert loss(log, machine(), policy) == 0


def test_as_many_nodes_are_lost_as_those_who_wait_could_have_used() -> None:
    """Of four idle nodes a job of one loses one, two jobs of three all four; those who would not fit lose none."""
    closing = machine(window(100, 110))
    assert loss(jobs((0, 1, 200)), closing) == 100
    assert loss(jobs((0, 3, 200), (0, 3, 200)), closing) == 400
    assert loss(jobs((0, 3, 60), (0, 2, 200)), closing) == 2 * 40  # they idle from 60 on, and one before


def test_only_nodes_that_close_in_time_keep_jobs_away() -> None:
    """Nodes beside a window do, where they are too few; where a job finds enough it starts on them."""
    some = machine(window(100, 110, "2-3"))
    assert loss(jobs((0, 2, 200), (0, 2, 200)), some) == 2 * 100
    assert loss(jobs((0, 4, 200)), some) == 4 * 100
    assert loss(jobs((0, 2, 200), (0, 1, 90)), some) == 0


def test_who_waits_for_the_heads_reservation_loses_nothing_to_the_window() -> None:
    """Until the head has taken the nodes they idle for it; what it leaves is lost to the window."""
    # The head waits for four nodes until 50 and runs until 90; the third job, of 200 s, could not be passed anyway.
    log = jobs((0, 3, 50), (0, 4, 40), (0, 1, 200))
    assert loss(log, machine(window(100, 110))) == 10  # from 90 on
    smaller = jobs((0, 3, 50), (0, 3, 40), (0, 1, 200))
    assert loss(smaller, machine(window(100, 110))) == 100  # one node idles all the time


def test_nobody_is_kept_away_by_what_is_not_known_or_not_in_the_way() -> None:
    """Outages that nobody sees coming cost nothing before they begin; announced ones do from then on."""
    log = jobs((0, 4, 10), (5, 2, 200))
    assert loss(log, machine(window(100, 110, kind="outage"))) == 0
    announced = window(100, 110, kind="outage", known_from=30)
    assert loss(jobs((0, 3, 60), (5, 2, 200)), machine(announced)) == 2 * 40
    assert loss(jobs((0, 2, 60), (70, 2, 40)), machine(replace(announced, known_from=65))) == 2 * 30


def test_limits_pools_and_reservations_are_no_loss_of_a_window() -> None:
    """Who is held up by a limit or lacks a licence waits for those; nodes that a reservation keeps are lost to it."""
    log = jobs((0, 1, 90), (0, 1, 200), user=[7, 7])
    closing = window(100, 110)
    assert loss(log, machine(closing)) == 100
    assert loss(log, machine(closing, limits=(fs.Limit("user", jobs=1),))) == 10
    licensed = replace(log, pools={"ansys": [1, 1]})
    assert loss(licensed, machine(closing, pools=(fs.Pool("ansys", 1),))) == 10
    kept = machine(window(100, 200, kind="reservation", name="course"))
    assert loss(jobs((0, 1, 150)), kept) == 100
    member = jobs((0, 1, 90), (0, 1, 50), labels={"reservation": ["", "course"]})
    assert loss(member, kept) == 0


def test_a_cancelled_job_waited_until_then_and_one_that_never_starts_did_not() -> None:
    """What idled until a job was taken back is lost; a schedule's metrics are of those who have an end."""
    log = jobs((0, 1, 20), (0, 4, 200), cancel_at=[-1, 15])
    assert loss(log, machine(window(100, 110))) == 0  # it lacks a node
    log = jobs((0, 1, 20), (0, 3, 200), cancel_at=[-1, 15])
    assert loss(log, machine(window(100, 110))) == 3 * 15
    endless = fs.simulate(jobs((0, 1, 20), (0, 3, 200)), machine(window(100, np.inf)), "easy")
    assert np.isnan(endless.start[1])
    assert endless.metrics().drain_loss == 0.0


@pytest.mark.parametrize(("kind", "lost"), [("afterok", 0), ("afterany", 3 * 35)])
def test_who_waits_for_what_can_never_be_loses_nothing_until_it_is_cancelled(kind: str, lost: float) -> None:
    """A job killed at 25 ends badly: who waits for that it ends well never might start, who waits for its end might."""
    log = jobs(
        (0, 1, 90), (0, 1, 30), (0, 3, 200),
        estimate=[90, 25, 200], cancel_at=[-1, -1, 60], after=["", "", f"{kind}:2"],
    )  # fmt: skip
    assert loss(log, machine(window(100, 110)), kill_at_estimate=True) == lost
    since = eligible_since(fs.simulate(log, machine(window(100, 110)), kill_at_estimate=True))
    assert np.isnan(since[2]) == (kind == "afterok")


def test_random_systems_lose_what_the_reference_says() -> None:
    """Schedules of every kind, under every rule, give the reference's loss, and some of them any."""
    lost = 0
    for seed in range(40_000, 40_000 + tries(200)):
        scenario = strategies.random_scenario(seed, restless=True)
        if not scenario.machine.closures:
            continue
        row, expected = run_engine(scenario).metrics(), scenario.simulate()
        assert row.drain_loss == pytest.approx(naive_measures.drain_loss(expected), rel=1e-9, abs=1e-9), seed
        lost += row.drain_loss > 0
    assert lost > tries(200) / 40
