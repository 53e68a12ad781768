"""Limits under each dispatch rule: cases worked out by hand from reading 43."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest
from support.plain import begun, jobs, plain

import fedsched as fs
from fedsched.core.errors import InfeasibleError
from fedsched.engine.numbers import Counter
from fedsched.simulate import prepare

limits = plain("fedsched.engine.optional_features.limits")
FOUR = fs.Federation.homogeneous(4)
RULES = ("strict", "greedy", "local", "easy", "conservative", "lookahead")


def starts(workload: fs.Workload, *bound: fs.Limit, rule: str = "greedy", **options: object) -> list[float]:
    """Return when each job starts; the check and the metrics must agree."""
    schedule = fs.simulate(workload, replace(FOUR, limits=bound), fs.Rules(dispatch=rule), **options)
    schedule.verify(claimed=schedule.metrics())
    return schedule.start.tolist()


def test_without_extras_nothing_is_done() -> None:
    """Where a problem has no extras, every hook does nothing, and nobody is over a limit."""
    hooks = {
        "reset": None, "has_limits": False, "is_over_limit": False, "note_joined": True, "take": None, "give_back": None
    }
    for name, expected in hooks.items():
        hook = getattr(limits, name)
        assert hook(*[None] * len(inspect.signature(hook).parameters)) is expected


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("same_time", ["batch", "sequential"])
def test_who_is_over_a_limit_holds_up_nobody(rule: str, same_time: str) -> None:
    """One user may run one job: the second one waits for the first to end, those of others pass it."""
    queue = jobs([1, 1, 1, 1], [10.0] * 4, user=[1, 1, 1, 2])
    assert starts(queue, fs.Limit("user", jobs=1), rule=rule, same_time=same_time) == [0.0, 10.0, 20.0, 0.0]


@pytest.mark.parametrize("rule", RULES)
def test_nothing_is_reserved_for_them(rule: str) -> None:
    """The wide job of a user who is at the limit keeps no nodes from the small ones behind it."""
    queue = jobs([2, 4, 1, 1], [10.0, 5.0, 30.0, 30.0], user=[1, 1, 2, 3])
    assert starts(queue, fs.Limit("user", jobs=1), rule=rule) == [0.0, 30.0, 0.0, 0.0]


def test_nodes_may_be_limited_too() -> None:
    """What would go beyond the nodes of an account waits, and a smaller job of the same account may pass it."""
    queue = jobs([2, 2, 1], [10.0, 5.0, 5.0], labels={"account": ["a", "a", "a"]})
    assert starts(queue, fs.Limit("account", nodes=3), rule="strict") == [0.0, 10.0, 0.0]
    assert starts(queue, fs.Limit("account", nodes=3, names=("b",)), rule="strict") == [0.0, 0.0, 5.0]
    assert starts(queue, fs.Limit("account", nodes=3, jobs=1), rule="strict") == [0.0, 10.0, 15.0]


def test_each_has_a_limit_of_its_own() -> None:
    """Users whose jobs say none have no limit; a name says whose limit it is."""
    queue = jobs([1] * 4, [10.0] * 4, user=[-1, -1, 3, 3])
    assert starts(queue, fs.Limit("user", jobs=1)) == [0.0, 0.0, 0.0, 10.0]
    assert starts(queue, fs.Limit("user", jobs=1, names=("7",))) == [0.0] * 4


@pytest.mark.parametrize("rule", RULES)
def test_so_many_tasks_of_an_array_run_together(rule: str) -> None:
    """Of five tasks two run at a time, in their order; a job behind them is not held up."""
    queue = jobs([1] * 6, [10.0] * 6, labels={"array": ["17%2"] * 5 + [""]})
    assert starts(queue, rule=rule) == [0.0, 0.0, 10.0, 10.0, 20.0, 0.0]
    assert starts(replace(queue, labels={"array": ["17"] * 6}), rule=rule) == [0.0] * 4 + [10.0] * 2


def test_a_start_may_fill_a_limit_for_those_behind_it() -> None:
    """EASY: the head of a user at the limit is no head; whom a backfilled job puts over it is passed over then."""
    queue = jobs([3, 4, 1, 1], [10.0, 5.0, 8.0, 8.0], user=[1, 2, 3, 3])
    assert starts(queue, fs.Limit("user", jobs=1), rule="easy") == [0.0, 10.0, 0.0, 15.0]
    assert starts(queue, fs.Limit("user", jobs=1), rule="lookahead") == [0.0, 10.0, 0.0, 15.0]


def test_no_capacity_is_lost_to_who_may_not_start() -> None:
    """Idle nodes beside a queue of one user at the limit are idle for want of work."""
    queue = jobs([1, 1], [10.0, 10.0], user=[1, 1])
    schedule = fs.simulate(queue, replace(FOUR, limits=(fs.Limit("user", jobs=1),)), "fcfs")
    assert schedule.loss_of_capacity == 0.0
    assert schedule.wait.tolist() == [0.0, 10.0]


@pytest.mark.parametrize("order", ["xfactor", "wfp3", "unicef"])
@pytest.mark.parametrize("rule", RULES)
def test_orders_that_change_with_time_pass_them_over_too(order: str, rule: str) -> None:
    """Sorted anew at each instant, they are still not in the queue."""
    queue = jobs([1] * 4, [10.0] * 4, user=[1, 1, 2, 2], submit=[0.0, 1.0, 2.0, 3.0])
    schedule = fs.simulate(queue, replace(FOUR, limits=(fs.Limit("user", jobs=1),)), fs.Rules(order, rule))
    schedule.verify(claimed=schedule.metrics())
    assert schedule.start.tolist() == [0.0, 10.0, 2.0, 12.0]


def test_who_is_queued_again_may_be_over_its_limit_then() -> None:
    """An outage frees the user's share; the one that starts first has it."""
    queue = jobs([1, 1], [20.0, 20.0], user=[1, 1])
    outage = fs.Downtime("cluster", 5.0, 8.0, "4 of all", "outage", on_running="requeue")
    schedule = fs.simulate(queue, replace(FOUR, limits=(fs.Limit("user", jobs=1),), calendar=(outage,)), "easy")
    schedule.verify(claimed=schedule.metrics())
    assert schedule.start.tolist() == [8.0, 28.0]


def test_running_jobs_have_their_share_from_the_beginning() -> None:
    """A run that goes on from a later time counts who runs already."""
    queue = jobs([1, 1, 1], [10.0] * 3, user=[1, 1, 2])
    bound = replace(FOUR, limits=(fs.Limit("user", jobs=1),))
    later = prepare(queue, bound, "fcfs").advance(until=5.0)
    assert later.state.counter[Counter.QUEUED] == 0
    assert fs.simulate(queue, bound, "fcfs", running=later.running()).start.tolist() == [0.0, 10.0, 0.0]
    problem, plan, state = begun(queue, bound)
    limits.reset(problem.extras, state.extras, plan, state)
    assert state.extras.limited.left.tolist() == [1, 1]


def test_searches_and_rolling_plans_keep_to_limits() -> None:
    """Whatever the plan, the loop passes over whose limit is full."""
    log = fs.Workload.example().filter(fs.Workload.example().tasks <= 4).head(30)
    log = replace(log, user=np.arange(30) % 3)
    bound = replace(fs.Federation.homogeneous(16), limits=(fs.Limit("user", jobs=2), fs.Limit("user", nodes=6)))
    for made in (
        fs.optimize(log, bound, evaluations=200, submits="keep").best(),
        fs.simulate(log, bound, fs.Rolling(evaluations=40, seed=1)),
        fs.simulate(log, bound, "min-min"),
    ):
        made.verify(claimed=made.metrics())
        assert made.complete
    assert fs.bounds.lower_bounds(log, bound).flow <= made.metrics().flow


def test_a_job_over_a_limit_by_itself_is_refused() -> None:
    """So is an array whose tasks say different limits."""
    with pytest.raises(InfeasibleError, match=r"Job 1: its 3 nodes are over the limit of 2 of user '5'"):
        starts(jobs([3], [1.0], user=[5]), fs.Limit("user", nodes=2))
    with pytest.raises(InfeasibleError, match=r"Array 'a': 'a%2' and 'a%3'"):
        starts(jobs([1, 1], [1.0, 1.0], labels={"array": ["a%2", "a%3"]}))
    for texts in (["a%0", "a%0"], ["a%2", "a"], ["1 % 2", "1 % 2"], ["%2", "%2"]):
        with pytest.raises(InfeasibleError, match=r"all of its tasks must give the same limit of at least 1"):
            starts(jobs([1, 1], [1.0, 1.0], labels={"array": texts}))
