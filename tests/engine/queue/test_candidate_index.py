"""Rooms: a scan passes over jobs whose nodes are not free, and the same jobs start as where it looks at them."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.backfilled import outrunning, rules
from support.plain import arrived, begun, jobs, plain
from support.tiers import tries

import fedsched as fs
from fedsched.engine.numbers import ClassNumber, Counter
from fedsched.engine.queue.queue_tree import ABSENT

if TYPE_CHECKING:
    from types import ModuleType

    from fedsched.engine.arrays.structs import Plan, Problem, State

backfill = plain("fedsched.engine.dispatch.easy")
dispatch = plain("fedsched.engine.dispatch.greedy")
loop = plain("fedsched.engine.loop.event_loop")
queues = plain("fedsched.engine.queue.queue_tree")
decisions = plain("fedsched.engine.run.decisions")
candidate_index = plain("fedsched.engine.queue.candidate_index")
PARTS = (fs.Partition("left", {"cluster": "0-3"}), fs.Partition("right", {"cluster": "4-9"}))
NESTED = (fs.Partition("left", {"cluster": "all"}), PARTS[1])
EVERYBODYS = tuple(fs.Partition(name, {"cluster": "all"}) for name in ("left", "right"))
GREEDY = {"dispatch": "greedy"}
TEN = replace(fs.Federation.homogeneous(10), partitions=PARTS)


def waiting(
    tasks: list[int], where: list[str], federation: fs.Federation = TEN, **options: object
) -> tuple[Problem, Plan, State]:
    """Return jobs of partitions that have joined the queue, of 10 s, 20 s and so on."""
    work = jobs(tasks, [float(10 * k + 10) for k in range(len(tasks))], labels={"partition": where})
    problem, plan, state = arrived(work, federation, **{"dispatch": "easy", **options})
    candidate_index.add_new_jobs(problem, plan, state)
    return problem, plan, state


def found(problem: Problem, plan: Plan, state: State, window: float | None = None) -> list[int]:
    """Return the positions that a scan meets."""
    positions, position = [], -1
    while True:
        if window is None:
            position = candidate_index.next_small(problem, plan, state, state.queue, position + 1, 10)
        else:
            position = candidate_index.next_candidate(problem, plan, state, state.queue, position + 1, 10, window, 10)
        if position < 0:
            return positions
        positions.append(position)


@pytest.mark.parametrize("rules", [{}, {"dispatch": "greedy"}, {"dispatch": "greedy", "backfill_order": "saf"}])
def test_a_scan_meets_those_whose_nodes_are_free(rules: dict[str, object]) -> None:
    """Four nodes are free on the left and one on the right: jobs of the right that need two are passed over."""
    problem, plan, state = waiting([4, 2, 1, 5, 2], ["left", "right", "right", "right", "left"], **rules)
    assert state.classes.number[ClassNumber.ROWS] == 2
    assert found(problem, plan, state) == [0, 1, 2, 3, 4]
    state.free[:] = [4, 1]
    assert found(problem, plan, state) == [0, 2, 4]
    state.free[:] = [3, 0]
    assert found(problem, plan, state) == [4]


def test_beside_a_reservation_they_are_short_or_small_enough() -> None:
    """Jobs of 10 to 50 s: within 25 s the first two are done, of the others one has what stays free."""
    problem, plan, state = waiting([4, 2, 1, 5, 2], ["left", "right", "right", "right", "left"])
    state.scratch.extra[:] = [1, 1]
    assert found(problem, plan, state, 25.0) == [0, 1, 2]
    state.scratch.extra[:] = [2, 0]
    assert found(problem, plan, state, 25.0) == [0, 1, 4]


def test_whoever_is_queued_no_more_is_forgotten_when_it_is_met() -> None:
    """Two leave: a scan does not hand them out, and takes them out of the trees; one that starts is out at once."""
    problem, plan, state = waiting([1, 2, 3, 1], ["left", "right", "right", "left"])
    queues.dequeue(problem, plan, state, 1)
    queues.dequeue(problem, plan, state, 0)
    assert found(problem, plan, state) == [2, 3]
    trees = state.classes.rooms[candidate_index.TREES : candidate_index.TREES + 16].reshape(8, 2)
    assert trees[4:].tolist() == [[ABSENT, ABSENT], [ABSENT, ABSENT], [3, ABSENT], [ABSENT, 1]]
    assert dispatch.fits_now(problem, plan, state, 3)
    dispatch.start_job(problem, plan, state, 3)
    assert trees[1:4].tolist() == [[3, ABSENT], [ABSENT, ABSENT], [3, ABSENT]]


def test_whoever_comes_back_is_met_again() -> None:
    """A job that left and was forgotten joins once more, at its place."""
    problem, plan, state = waiting([1, 2, 3], ["left", "right", "right"])
    queues.dequeue(problem, plan, state, 1)
    assert found(problem, plan, state) == [0, 2]
    queues.rejoin(problem, plan, state, 1)
    candidate_index.note_joined(problem, plan, state, 1)
    assert found(problem, plan, state) == [0, 1, 2]


def licensed(needs: list[list[int]], **options: object) -> tuple[Problem, Plan, State]:
    """Return jobs of one node that need so much of each of two pools, of which there are 3 and 2, on ten nodes."""
    machine = replace(fs.Federation.homogeneous(10), pools=(fs.Pool("a", 3), fs.Pool("b", 2)))
    pools = {name: [need[p] for need in needs] for p, name in enumerate("ab")}
    work = jobs([1] * len(needs), [10.0] * len(needs), pools=pools)
    problem, plan, state = arrived(work, machine, **{"dispatch": "easy", **options})
    candidate_index.add_new_jobs(problem, plan, state)
    return problem, plan, state


@pytest.mark.parametrize("rules", [{}, GREEDY])
def test_who_needs_what_is_used_up_is_passed_over(rules: dict[str, object]) -> None:
    """Of a pool of which nothing is left nobody can have any; whoever needs more than is left is looked at in vain."""
    problem, plan, state = licensed([[0, 0], [2, 0], [0, 1], [1, 1], [0, 0]], **rules)
    assert state.classes.number[ClassNumber.ROWS] == 4
    assert state.extras is not None
    assert found(problem, plan, state) == [0, 1, 2, 3, 4]
    state.extras.pools.free[:] = [1, 0]
    assert found(problem, plan, state) == [0, 1, 4]
    state.extras.pools.free[:] = [0, 0]
    assert found(problem, plan, state) == [0, 4]
    dispatch.start_job(problem, plan, state, 4)
    assert found(problem, plan, state) == [0]


def test_beside_a_reservation_something_of_the_pool_is_left_or_they_are_short() -> None:
    """Jobs of ten seconds may all be done before the reservation; beyond it those run that leave the head its own."""
    problem, plan, state = licensed([[0, 0], [2, 0], [0, 1], [1, 1]])
    assert state.extras is not None
    state.scratch.extra[:] = 5
    state.extras.pools.extra[:] = [0, 2]
    assert found(problem, plan, state, 10.0) == [0, 1, 2, 3]
    assert found(problem, plan, state, 5.0) == [0, 2]


def newcomers(tasks: list[int], where: list[str], order: str = "fcfs") -> tuple[Problem, Plan, State]:
    """Return jobs under greedy of which none has been met by a scan yet."""
    work = jobs(tasks, [float(10 * k + 10) for k in range(len(tasks))], labels={"partition": where})
    return arrived(work, TEN, dispatch="greedy", order=order)  # type: ignore[no-any-return]


def test_newcomers_start_without_a_scan_where_nobody_else_may() -> None:
    """Three come: two have room and never join the trees; the third, of nine nodes, does, and waits for its room."""
    problem, plan, state = newcomers([2, 1, 9], ["left", "right", ""])
    state.free[:] = [4, 2]
    state.counter[Counter.FREE] = 6
    assert candidate_index.only_new_jobs_may_fit(problem, plan, state)
    dispatch.start_all_that_fit(problem, plan, state)
    assert np.isnan(state.start).tolist() == [False, False, True]
    trees, rows = state.classes.rooms[candidate_index.TREES :], state.classes.number[ClassNumber.ROWS]
    leaves = trees[4 * rows : 7 * rows].reshape(3, rows)
    assert (leaves[:2] == ABSENT).all()
    assert leaves[2].min() == 9
    assert candidate_index.next_new_job(problem, state) == -1
    assert candidate_index.only_new_jobs_may_fit(problem, plan, state)
    state.free[:] = [4, 6]
    assert not candidate_index.only_new_jobs_may_fit(problem, plan, state)


def test_newcomers_that_come_out_of_order_are_scanned() -> None:
    """The widest first: who came last is the first in the queue, and has the nodes."""
    problem, plan, state = newcomers([1, 4], ["left", "left"], order="largest")
    assert not candidate_index.only_new_jobs_may_fit(problem, plan, state)
    dispatch.start_all_that_fit(problem, plan, state)
    assert np.isnan(state.start).tolist() == [True, False]


def test_another_order_begins_anew() -> None:
    """Jobs that change places in the midst of a run are met at their new ones."""
    problem, plan, state = waiting([1, 5], ["left", "right"])
    decisions.reorder_queued(problem, plan, state, np.array([1, 0]), np.array([0, 1]), np.array([], dtype=int))
    candidate_index.add_new_jobs(problem, plan, state)
    state.free[:] = [4, 0]
    assert found(problem, plan, state) == [1]
    state.free[:] = [0, 6]
    assert found(problem, plan, state) == [0]


@pytest.mark.parametrize(
    ("federation", "options"),
    [
        (replace(TEN, partitions=EVERYBODYS), {}),
        (TEN, {"dispatch": "local"}),
        (TEN, {"order": "wfp3"}),
        (TEN, {"dispatch": "greedy", "order": "wfp3"}),
        (TEN, {"backfill_order": "wfp3"}),
        (replace(TEN, partitions=NESTED), {"caps": [[4, 6], [4, 5], [3, 6], [3, 5], *([4, k] for k in range(2, 7))]}),
        (replace(TEN, limits=(fs.Limit("user", jobs=3),)), {}),
    ],
)
def test_elsewhere_rows_are_not_told_apart(federation: fs.Federation, options: dict[str, object]) -> None:
    """One row or many, another rule, an order that changes, and jobs that sleep with their kind."""
    work = jobs([2] * 9, [1.0] * 9, labels={"partition": ["left"] * 4 + ["right"] * 5}, user=[1] * 9)
    *_, state = arrived(work, federation, **{"dispatch": "easy", **options})
    assert state.classes.number[ClassNumber.ROWS] == 0


def drawn(rng: random.Random) -> tuple[fs.Workload, fs.Federation, dict[str, object]]:
    """Return jobs of overlapping partitions, some of which lose their nodes, are held or cancelled; and rules."""
    count = rng.randint(5, 40)
    runtime = [float(rng.randint(1, 30)) for _ in range(count)]
    groups = (fs.NodeGroup(5, rng.choice((1.0, 2.0))), fs.NodeGroup(5))
    other = (fs.Cluster("other", (fs.NodeGroup(4),)),) if rng.random() < 0.3 else ()
    machine = fs.Federation((fs.Cluster("cluster", groups), *other), pools=(fs.Pool("licence", 3),))
    spans = [sorted(rng.sample(range(10), 2)) for _ in range(rng.randint(1, 3))]
    parts = [fs.Partition(f"p{k}", {"cluster": f"{a}-{b}"}) for k, (a, b) in enumerate(spans)]
    parts.append(fs.Partition("all", {cluster.name: "all" for cluster in machine.clusters}))
    machine = replace(machine, partitions=tuple(parts))
    tasks, where = [], []
    for _ in range(count):
        k = rng.randrange(len(parts))
        tasks.append(rng.randint(1, 10 if k == len(spans) else 1 + spans[k][1] - spans[k][0]))
        where.append(parts[k].name)
    columns: dict[str, object] = {"labels": {"partition": where}}
    if rng.random() < 0.3:
        columns["pools"] = {"licence": [rng.choice((0, 0, 1, 2)) for _ in range(count)]}
    if rng.random() < 0.3:
        columns["after"] = {k + 1: f"afterany:{rng.randint(1, k)}" for k in range(1, count) if rng.random() < 0.3}
    if rng.random() < 0.4:
        times = sorted(float(rng.randint(1, 80)) for _ in range(3))
        loses = rng.choice(({"on_running": "requeue"}, {"on_running": "wait"}))
        nodes = f"{rng.randint(1, 5)} of all"
        closures = (fs.Downtime("cluster", at, at + 9.0, nodes, "outage", **loses) for at in times)
        machine = replace(machine, calendar=tuple(closures))
    work = outrunning(rng, tasks, runtime, **columns)
    chosen = rules(rng, (None, None, "sjf"))
    if chosen["placement"] == "single":
        work = replace(work, tasks=np.minimum(work.tasks, 10))
    return work, machine, chosen


@pytest.mark.parametrize(
    ("module", "look", "greedy"), [(backfill, "could_not_start", {}), (dispatch, "fits_now", GREEDY)]
)
def test_the_same_jobs_start_as_where_all_are_looked_at(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, look: str, greedy: dict[str, object]
) -> None:
    """Random logs: every start is that of scans that tell no rows apart, which look at many more jobs in vain."""
    rng, looks = random.Random(0), [0, 0]
    begin, looked_at = candidate_index.begin, getattr(module, look)

    def untold(problem: Problem, plan: Plan, state: State) -> None:
        begin(problem, plan, state)
        state.classes.number[ClassNumber.ROWS] = 0

    for _ in range(tries(160)):
        work, machine, chosen = drawn(rng)
        chosen |= greedy
        starts = []
        for way, answer in enumerate((begin, untold)):

            def counted(problem: Problem, plan: Plan, state: State, j: int, way: int = way) -> bool:
                found = bool(looked_at(problem, plan, state, j))
                looks[way] += found == (look == "could_not_start")
                return found

            monkeypatch.setattr(candidate_index, "begin", answer)
            monkeypatch.setattr(module, look, counted)
            problem, plan, state = begun(work, machine, **chosen)
            told = state.classes.number[ClassNumber.ROWS]
            rows = len(plan.caps) << (0 if problem.extras is None else problem.extras.pools.amount.size)
            assert told == (0 if way or rows == 1 else rows)
            loop.run(problem, plan, state, 10_000, np.inf)
            starts.append(state.start.tolist())
        assert starts[0] == starts[1]
    assert 2 * looks[0] < looks[1]
