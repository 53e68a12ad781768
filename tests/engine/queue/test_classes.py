"""The classes of a long queue: who is in which, what a scan hands out, and that the same jobs start as without."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference import naive
from support import strategies
from support.grouped import scanned
from support.plain import arrived, clusters, jobs, plain
from support.tiers import tries

import fedsched as fs
from fedsched.engine.arrays import new_state
from fedsched.engine.codes import Dispatch, Placement, Status, needs_of
from fedsched.engine.loop import event_loop
from fedsched.engine.numbers import ClassNumber, Counter
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import State

classes = plain("fedsched.engine.queue.classes")
tables = plain("fedsched.engine.queue.class_tables")
backfill = plain("fedsched.engine.dispatch.easy")
dispatching = plain("fedsched.engine.dispatch.greedy")
events = plain("fedsched.engine.loop.events")
plain_loop = plain("fedsched.engine.loop.event_loop")
decisions = plain("fedsched.engine.run.decisions")
MANY = 4000  # jobs: a long queue
PAIR = clusters(((6, 1.0),), ((3, 1.0), (3, 0.5)))


@pytest.fixture(autouse=True)
def _short_queues_have_room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "compiled" not in request.keywords:
        monkeypatch.setattr(new_state, "LONG_QUEUE", 1)


def grouped(tasks: list[int], runtime: list[float], *, dispatch: str = "easy", **options: object):
    """Return problem, plan and state of a queue in which so many jobs wait, grouped although it is short."""
    problem, plan, state = arrived(jobs(tasks, runtime), PAIR, dispatch=dispatch, **options)
    classes.group(problem, plan, state, state.queue)
    return problem, plan, state


def test_cells_hold_about_as_many_nodes() -> None:
    """Up to 16 nodes each number has a cell, beyond that eight share a power of two; cells grow with tasks."""
    assert [classes._cell(tasks) for tasks in range(17)] == list(range(17))
    cells = [classes._cell(tasks) for tasks in range(1, 5000)]
    assert cells == sorted(cells)
    assert len(set(cells[63:127])) == 8
    assert classes._cell(2**62) < tables.CELLS


def test_a_scan_hands_out_who_may_start_in_queue_order() -> None:
    """Small and short, or small enough to run on beside the reservation; the rooms are those of the groups allowed."""
    problem, plan, state = grouped([2, 9, 6, 1, 12, 3], [5.0, 1.0, 90.0, 90.0, 1.0, 9.0])
    state.free[:], state.scratch.extra[:] = [6, 3, 0], [0, 1, 3]
    state.counter[Counter.FREE] = 9
    assert scanned(problem, plan, state, 10.0) == [0, 1, 3, 5]
    assert scanned(problem, plan, state, 5.0) == [0, 1, 3]
    assert scanned(problem, plan, state, 0.0) == [3]


def test_a_scan_may_begin_in_the_midst_of_the_queue() -> None:
    """Nobody before the position is handed out, whatever may start there."""
    problem, plan, state = grouped([2, 9, 6, 1, 12, 3], [5.0, 1.0, 90.0, 90.0, 1.0, 9.0])
    state.free[:], state.scratch.extra[:] = [6, 3, 0], [0, 1, 3]
    state.counter[Counter.FREE] = 9
    found = [classes.first_of_classes(problem, plan, state, state.queue, position, 10.0) for position in range(7)]
    assert found == [0, 1, 3, 3, 5, 5, -1]


def test_classes_are_sets_of_usable_groups() -> None:
    """A job that its caps bind to a full cluster is not handed out, though as many nodes are free elsewhere."""
    caps = np.array([[6, 0, 0], [0, 3, 3], [6, 3, 3], [0, 0, 2], [6, 0, 0]])
    problem, plan, state = grouped([2, 2, 2, 2, 4], [1.0] * 5, dispatch="greedy", caps=caps)
    assert state.classes.number[ClassNumber.CLASSES] == 4
    state.free[:], state.counter[Counter.FREE] = [3, 1, 0], 4
    assert scanned(problem, plan, state, np.inf) == [0, 2]
    state.free[:], state.counter[Counter.FREE] = [0, 2, 2], 4
    assert scanned(problem, plan, state, np.inf) == [1, 2, 3]


def test_more_sets_than_are_kept_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs beyond the last set of their own are handed out by what is free in all."""
    monkeypatch.setattr(classes, "MOST_SETS", 2)
    caps = np.array([[6, 0, 0], [0, 3, 3], [0, 0, 2]])
    problem, plan, state = grouped([2, 2, 2], [1.0] * 3, dispatch="greedy", caps=caps)
    state.free[:], state.counter[Counter.FREE] = [1, 2, 0], 3
    assert scanned(problem, plan, state, np.inf) == [1, 2]


LICENSED = replace(clusters(((6, 1.0),)), pools=(fs.Pool("a", 5), fs.Pool("b", 5)))


def licensed(dispatch: str = "easy"):
    """Return a grouped queue of jobs that need nothing, one pool or both; all nodes are free."""
    needs = {"a": [0, 2, 3, 0, 1], "b": [0, 0, 0, 1, 2]}
    problem, plan, state = arrived(jobs([1] * 5, [9.0] * 5, pools=needs), LICENSED, dispatch=dispatch)
    classes.group(problem, plan, state, state.queue)
    return problem, plan, state


def test_who_needs_a_pool_that_is_empty_is_not_looked_at() -> None:
    """Jobs that need the same pools are one set: none is handed out while less is left than the least of them needs."""
    problem, plan, state = licensed()
    left, beside = state.extras.pools.free, state.extras.pools.extra
    state.scratch.extra[:] = 6
    for some, handed_out in (((5, 5), [0, 1, 2, 3, 4]), ((1, 1), [0, 3]), ((0, 5), [0, 3]), ((1, 2), [0, 3, 4])):
        left[:] = beside[:] = some
        assert scanned(problem, plan, state, 0.0) == handed_out
    left[:], beside[:] = (5, 5), (0, 0)
    assert scanned(problem, plan, state, 0.0) == [0]
    assert scanned(problem, plan, state, 9.0) == [0, 1, 2, 3, 4]  # brief ones need nothing beside the reservation
    problem, plan, state = licensed("greedy")
    state.extras.pools.free[:] = (2, 0)
    assert scanned(problem, plan, state, np.inf) == [0, 1, 2]  # the third is asked for more than is left when placed


def test_the_set_of_anybody_needs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are more sets than are kept, those that share one are looked at whatever is left of pools."""
    monkeypatch.setattr(classes, "MOST_SETS", 2)
    problem, plan, state = licensed("greedy")
    state.extras.pools.free[:] = 0
    assert scanned(problem, plan, state, np.inf) == [0, 1, 2, 3, 4]


def test_rooms_shrink_within_a_scan() -> None:
    """After a start only those are handed out who fit what is left, the candidates found before among them."""
    caps = np.array([[6, 0, 0], [0, 3, 3], [6, 0, 0], [0, 3, 3]])
    problem, plan, state = grouped([2, 5, 6, 6], [1.0] * 4, dispatch="greedy", caps=caps)
    assert classes.first_of_classes(problem, plan, state, state.queue, 0, np.inf) == 0
    state.scratch.chosen[:] = [2, 0, 0]
    dispatching.start_job(problem, plan, state, 0)
    assert classes.next_of_classes(problem, plan, state, state.queue, np.inf) == 1
    state.scratch.chosen[:] = [0, 3, 2]
    dispatching.start_job(problem, plan, state, 1)
    assert classes.next_of_classes(problem, plan, state, state.queue, np.inf) == -1


def test_who_has_started_leaves_and_who_arrives_joins() -> None:
    """A scan hands out neither those that started since the last one, nor those that are yet to be submitted."""
    workload = jobs([2, 2, 2], [1.0] * 3, submit=[0.0, 0.0, 7.0])
    problem, plan, state = arrived(workload, PAIR, dispatch="easy", order="ljf")
    classes.group(problem, plan, state, state.queue)
    assert scanned(problem, plan, state, np.inf) == [0, 1]
    state.scratch.chosen[:] = [2, 0, 0]
    dispatching.start_job(problem, plan, state, int(state.queue.order[0]))
    assert scanned(problem, plan, state, np.inf) == [1]
    state.clock[0] = 7.0
    events.arrive_all(problem, plan, state)
    assert scanned(problem, plan, state, np.inf) == [1, 2]


def test_a_queue_is_grouped_where_many_were_placed_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass takes one off the queue's patience for each job that it placed in vain; one without any groups it."""
    monkeypatch.setattr(classes, "PATIENCE", 1)
    caps = np.array([[1, 0, 0]] * 4)
    problem, plan, state = arrived(jobs([1] * 4, [1.0] * 4), PAIR, dispatch="greedy", caps=caps)
    state.free[:] = [0, 3, 3]
    for left in (4, 0, -4):
        assert state.classes.number[ClassNumber.PATIENCE] == left
        assert state.classes.number[ClassNumber.CLASSES] == 0
        dispatching.start_all_that_fit(problem, plan, state)
    assert state.classes.number[ClassNumber.CLASSES] == 1
    assert state.classes.number[ClassNumber.PATIENCE] == -4


def test_the_order_that_is_scanned_says_whether_a_queue_may_be_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Greedy plans scan the queue, the others the backfill's order; none that changes with time, nor a short one."""
    workload = jobs([1] * 10, [1.0] * 10)

    def patience(dispatch: str, order: str, backfill_order: str | None = None) -> int:
        state = arrived(workload, PAIR, dispatch=dispatch, order=order, backfill_order=backfill_order)[2]
        return int(state.classes.number[ClassNumber.PATIENCE])

    assert patience("greedy", "fcfs") == patience("easy", "sjf") == patience("easy", "wfp3", "fcfs") == 10
    endless = patience("greedy", "wfp3")
    assert endless == patience("lookahead", "fcfs", "xfactor") == np.iinfo(np.int64).max
    monkeypatch.setattr(new_state, "LONG_QUEUE", 11)
    assert patience("greedy", "fcfs") == endless


def test_a_new_plan_and_a_new_run_begin_ungrouped() -> None:
    """Places, caps and rule of a plan that came in between are none that the queue was grouped by."""
    problem, plan, state = grouped([2, 2], [1.0, 1.0])
    decisions.reorder_queued(problem, plan, state, np.array([1, 0]), np.array([0, 1]), np.array([], dtype=int))
    assert state.classes.number[ClassNumber.CLASSES] == 0
    problem, plan, state = grouped([2, 2], [1.0, 1.0])
    plain_loop.begin(problem, plan, state)
    assert state.classes.number[ClassNumber.CLASSES] == 0


def bound(scenario: strategies.Scenario, draw: random.Random) -> strategies.Scenario:
    """Return the scenario with most jobs bound to some of the groups, and a dispatch rule that scans."""
    groups, bounded = scenario.machine.groups, []
    for job in scenario.jobs:
        if draw.random() < 0.7:
            some = [group.count if draw.random() < 0.5 else draw.randint(0, 1) for group in groups]
            fewer = replace(job, caps=some, tasks=max(1, min(job.tasks, sum(some))))
            bounded.append(strategies.made_feasible(fewer, scenario.machine, scenario.settings.placement))
        else:
            bounded.append(job)
    rules = {"dispatch": draw.choice(("greedy", "easy", "lookahead")), "order": draw.choice(("fcfs", "sjf", "largest"))}
    # Limits in nodes and CPUs are of jobs as large as they were.
    machine = replace(scenario.machine, limits=tuple(one for one in scenario.machine.limits if one.about[2] == "jobs"))
    return replace(scenario, jobs=bounded, machine=machine, settings=replace(scenario.settings, **rules))


def test_grouped_queues_start_whom_the_reference_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small systems, some with pools, grouped from the first pass or in their midst: every start as without classes."""
    was_grouped = with_pools = 0
    for seed in range(tries(150)):
        draw = random.Random(seed)
        scenario = bound(strategies.random_scenario(seed).as_chosen(), draw)
        expected = scenario.simulate()
        monkeypatch.setattr(classes, "PATIENCE", draw.choice((-1, 0)))
        monkeypatch.setattr(backfill, "CHEAP", draw.choice((0, 1)))
        monkeypatch.setattr(classes, "MOST_SETS", draw.choice((1, 2, 16)))
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        chosen = scenario.settings
        rules = fs.Rules(chosen.order, chosen.dispatch, chosen.placement, chosen.backfill_order)
        run = prepare(workload, federation, rules, caps=caps, same_time=chosen.same_time, saturation=chosen.saturation,
                      kill_at_estimate=chosen.kill_at_estimate, alternatives=chosen.alternatives)  # fmt: skip
        plain_loop.begin(run.problem, run.plan, run.state)
        status = Status.STUCK if missed(scenario, expected) else Status.DONE  # some missed a reservation
        assert plain_loop.run(run.problem, run.plan, run.state, 10**6, np.inf) == status
        was_grouped += run.state.classes.number[ClassNumber.CLASSES] > 0
        with_pools += run.state.classes.number[ClassNumber.CLASSES] > 0 and len(scenario.machine.pools) > 0
        np.testing.assert_array_equal(run.schedule().start, expected.start, err_msg=f"{seed}, {chosen}")
        assert run.state.counts.tolist() == [list(counts) for counts in expected.counts], (seed, chosen)
    assert was_grouped > tries(150) // 3
    assert with_pools > tries(150) // 8


def missed(scenario: strategies.Scenario, expected: naive.Result) -> bool:
    """Return whether some job never started that has nothing to wait for but its reservation."""
    hopeless = naive.never_start(scenario.jobs, scenario.settings.kill_at_estimate)
    killed = {one.job for one in expected.lost if not one.requeued}
    return any(np.isnan(start) and j not in hopeless | killed for j, start in enumerate(expected.start))


def tried(dispatch: Dispatch, placement: Placement, *, may_group: bool) -> tuple[State, bool]:
    """Return the end of a run over many jobs that all wait, the small ones long and bound to clusters by their caps."""
    rng = np.random.default_rng(7)
    small = rng.random(MANY) < 0.5
    tasks = np.where(small, rng.integers(1, 3, MANY), rng.integers(6, 11, MANY))
    runtime = np.where(small, rng.integers(500, 900, MANY), rng.integers(1, 20, MANY)).astype(float)
    workload = fs.Workload(submit=np.zeros(MANY), tasks=tasks, runtime=runtime, origin=rng.integers(0, 3, MANY),
                           sites=("C1", "C2", "C3"), task_bandwidth=rng.integers(0, 2, MANY) * 1.0)  # fmt: skip
    machine = clusters(((6, 1.0),), ((5, 2.0), (3, 1.0)), ((10, 0.5),), uplinks=[40.0] * 3)
    caps = np.minimum(np.array([6, 5, 3, 10]), tasks[:, None])
    fixed = small & (rng.random(MANY) < 0.6)
    caps[fixed] *= np.array([[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]])[rng.integers(0, 3, fixed.sum())]
    rules = fs.Rules(order=rng.permutation(MANY), dispatch=dispatch.name.lower(), placement=placement.name.lower())
    run = prepare(workload, machine, rules, caps=caps)
    state = run.state
    state.classes.number[ClassNumber.PATIENCE] = MANY  # so that all of these are grouped in their midst
    if not may_group:
        state = state._replace(classes=new_state._new_classes(1, 4, 0, needs_of(dispatch), None))
        event_loop.begin(run.problem, run.plan, state)
    assert event_loop.run(run.problem, run.plan, state, np.iinfo(np.int64).max, np.inf) == Status.DONE
    return state, bool(state.classes.number[ClassNumber.CLASSES] > 0)


@pytest.mark.compiled
@pytest.mark.parametrize("dispatch", [Dispatch.GREEDY, Dispatch.EASY, Dispatch.LOOKAHEAD])
@pytest.mark.parametrize(
    "placement", [Placement.FASTEST, Placement.SINGLE, Placement.BIG_SMALL, Placement.EFFICIENT, Placement.LINK_AWARE]
)
def test_every_start_is_that_of_a_queue_that_is_not_grouped(dispatch: Dispatch, placement: Placement) -> None:
    """A grouped queue starts the same jobs on the same nodes at the same instants."""
    with_classes, was_grouped = tried(dispatch, placement, may_group=True)
    without, was_not = tried(dispatch, placement, may_group=False)
    assert (was_grouped, was_not) == (True, False)
    assert np.array_equal(with_classes.start, without.start)
    assert np.array_equal(with_classes.counts, without.counts)
