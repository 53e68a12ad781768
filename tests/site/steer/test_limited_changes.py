"""At most so many changes at once: those that are worth most, the rest in later rounds, and nobody late by it."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import chain, combinations
from typing import TYPE_CHECKING

import pytest
from support.fake_slurm import FakeSlurm, Job, is_update, running
from support.steering import LEASE, crowd, hand_of, left_alone

from fedsched.core.errors import SteerError
from fedsched.site.steer import Aims, Choice, Plan, Undo, Watch, plan, read_queue
from fedsched.site.steer.picture import picture_of
from fedsched.site.steer.planning import most_valuable_changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

AIMS = Aims(evaluations=500, seconds=1e9, slack=900.0)


def planned(fake: FakeSlurm, undo: Undo | None = None, **aims: object) -> Plan:
    """Return a plan for it, after those that the undo file tells of."""
    before = {} if undo is None else {"former": undo.former, "promises": undo.promises()}
    return plan(read_queue(fake), replace(AIMS, **aims), **before)  # type: ignore[arg-type]


def mean_wait(fake: FakeSlurm, changes: Mapping[int, int]) -> float:
    """Return the mean wait once some jobs have such Nice, in an order of its own making."""
    queue = read_queue(fake)
    priority = {job.number: job.priority + job.nice - changes.get(job.number, job.nice) for job in queue.waiting}
    order = sorted(queue.waiting, key=lambda job: (-priority[job.number], job.submit, job.number))
    picture = picture_of(queue)
    starts = picture.starts(picture.rows_of([job.number for job in order]))
    return sum(starts[job.number] - job.submit for job in order) / len(order)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [1, 3, 9])
def test_of_changes_that_add_up_those_that_save_most_are_taken(seed: int, most: int) -> None:
    """No other set of so few saves more; what saves nothing is left out."""
    draw = random.Random(seed)
    saves = {number: draw.choice([-200.0, 0.0, 50.0, 300.0 * draw.random()]) for number in range(6)}

    def score(some: Mapping[int, int]) -> float:
        return 1000.0 - sum(saves[number] for number in some)

    changes = {number: 10 + number for number in saves}
    found = most_valuable_changes(lambda _: changes.items(), most, score)
    assert found.items() <= changes.items()
    assert all(saves[number] > 1.0 for number in found)
    every = chain.from_iterable(combinations(saves, many) for many in range(most + 1))
    least = min(score(dict.fromkeys(some, 0)) for some in every)
    assert score(found) <= least + len(saves)  # seconds that are not worth a change


def test_changes_that_are_worth_something_together_are_found() -> None:
    """The first of two is made though it alone makes things worse; where only one may be, none is."""

    def score(some: Mapping[int, int]) -> float:
        return {0: 100.0, 1: 130.0, 2: 40.0}[len(some)]

    assert most_valuable_changes(lambda _: [(7, 1), (8, 2)], 2, score) == {7: 1, 8: 2}
    assert most_valuable_changes(lambda _: [(7, 1), (8, 2)], 1, score) == {}


def test_no_try_is_made_once_there_is_no_time() -> None:
    """What was tried until then is what there is to choose from."""
    tried: list[Mapping[int, int]] = []

    def score(some: Mapping[int, int]) -> float:
        tried.append(some)
        return 100.0 - 10.0 * sum(some)

    assert most_valuable_changes(lambda _: [(1, 0), (2, 0), (3, 0)], 2, score, lambda: len(tried) < 3) == {2: 0}
    assert tried == [{}, {1: 0}, {2: 0}]


@pytest.mark.parametrize("seed", range(4))
def test_no_other_single_change_saves_more(seed: int) -> None:
    """Each job is tried behind each other one in the picture: none leaves a shorter mean wait than the one change."""
    fake = crowd(seed)
    whole = planned(fake, slack=1e6)
    one = planned(fake, slack=1e6, most=1)
    assert len(whole.changes) > 1
    assert len(one.changes) == 1
    assert one.left >= len(whole.changes) - 1
    assert f"at most 1 change: mean wait {one.waits[1]:,.0f} s by these; {one.left} more would make it" in one.notes[0]
    waiting = read_queue(fake).waiting
    waits = [
        mean_wait(fake, {job.number: job.priority - behind.priority + one.gap})
        for job in waiting for behind in waiting if job.priority > behind.priority
    ]  # fmt: skip
    assert one.waits[1] <= min(waits) + 1e-6
    assert whole.waits[1] < one.waits[1] < one.waits[0]


@pytest.mark.parametrize("most", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_a_plan_says_what_its_few_changes_make(seed: int, most: int, tmp_path: Path) -> None:
    """Applied, priorities have its order; nobody starts later than promised, and waits are no longer than without."""
    fake = crowd(seed)
    found = planned(fake, most=most)
    assert len(found.changes) <= most
    assert found.late == ()
    assert found.gain >= 0.0
    assert found.waits[1] == pytest.approx(mean_wait(fake, found.niceties))
    hand_of(fake, tmp_path / "undo.json").apply(found)
    assert len(fake.changed) == len(found.changes)
    assert [job.number for job in read_queue(fake).waiting] == [job.number for job in found.order]


def rounds(fake: FakeSlurm, most: int, path: Path) -> Iterator[Plan]:
    """Plan and apply again and again, as long as that changes something."""
    while True:
        undo = Undo.open(path, "fake")
        found = planned(fake, undo, most=most)
        if not found.changes:
            return
        hand_of(fake, path).apply(found)
        yield found


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_the_rest_comes_in_later_rounds(seed: int, tmp_path: Path) -> None:
    """Each round sends so many commands at most and makes no wait longer, until none is left; then all is undone."""
    fake = crowd(seed)
    before = dict(fake.jobs)
    whole = planned(fake)
    path = tmp_path / "undo.json"
    waits = [planned(fake).waits[0]]
    for found in rounds(fake, 2, path):
        assert len(found.changes) <= 2
        assert found.waits[1] <= waits[-1] + 1e-6
        waits.append(found.waits[1])
        assert len(waits) < 20
    assert len(waits) > 2
    assert waits[-1] < waits[0] - 0.5 * whole.gain
    hand_of(fake, path).restore()
    assert fake.jobs == before


def test_where_so_few_do_nothing_none_is_made() -> None:
    """It is said how many the best order takes; with these it is made."""
    fake = crowd(2)
    whole = planned(fake)
    found = planned(fake, most=2)
    assert found.changes == ()
    assert found.gain == 0.0
    assert found.left == len(whole.changes) > 2
    assert "at most 2 changes: so few save no second of mean wait; " in found.notes[0]
    assert planned(fake, most=found.left).niceties == whole.niceties


def test_a_watch_goes_on_where_it_left_off(tmp_path: Path) -> None:
    """Though nothing has changed, the next look makes more changes, so many at most; at the end all are undone."""
    fake = crowd(1)
    told: list[str] = []
    watch = Watch(fake, Undo.open(tmp_path / "undo.json", "fake"), replace(AIMS, most=2), told=told.append)
    sent = []
    for _ in range(8):
        many = len(fake.changed)
        watch.look()
        sent.append(len(fake.changed) - many)
    assert max(sent) <= 2
    assert sent[0] > 0
    assert sent[1] > 0
    assert sent[-2:] == [0, 0]
    assert "left for the next look" in next(line for line in told if line.startswith("planned"))
    watch.close()
    assert left_alone(fake)


def test_a_look_that_finds_a_priority_set_by_hand_sends_no_more(tmp_path: Path) -> None:
    """What it gave before it takes back; the next look plans around that job."""
    fake = crowd(1)
    aims = replace(AIMS, most=2)
    found = Watch(crowd(1), Undo.open(tmp_path / "other.json", "fake"), aims).look()
    assert found is not None
    first = found.changes[0].number
    fake.jobs[first] = replace(fake.jobs[first], by_hand=True)
    told: list[str] = []
    watch = Watch(fake, Undo.open(tmp_path / "undo.json", "fake"), aims, told=told.append)
    assert watch.look() is None
    assert any(f"Job {first}: its priority does not follow" in line for line in told)
    assert left_alone(fake)
    assert sum(is_update(command) for command in fake.changed) <= 4
    again = watch.look()
    assert again is not None
    assert first not in again.steered
    assert 0 < len(again.changes) <= 2


def test_leases_are_not_rationed(tmp_path: Path) -> None:
    """An order by begin times holds only where all that are to wait have one; no change at all is none to allow."""
    undo = Undo.open(tmp_path / "undo.json", "fake")
    with pytest.raises(SteerError, match="most=2 cannot be combined with a lease"):
        Watch(crowd(1), undo, replace(AIMS, most=2), lease=LEASE)
    with pytest.raises(SteerError, match="most=0 must be at least 1"):
        Aims(most=0)


def two_in_turn() -> FakeSlurm:
    """Return a cluster that is full, and two jobs that each need all of it: the longer one has its turn first."""
    longer, shorter = (Job(k, nodes=4, minutes=minutes, base=base) for k, minutes, base in
                       ((10, 30, 10_000), (11, 5, 9_990)))  # fmt: skip
    return FakeSlurm.of(running(1, "1-4"), longer, shorter, settings={"PriorityType": "priority/basic"})


@pytest.mark.parametrize("most", [None, 1])
def test_a_nice_that_is_good_for_nothing_any_more_is_given_back(most: int | None, tmp_path: Path) -> None:
    """Once Slurm's own order is the best one again, no job keeps the Nice that another order took."""
    fake = two_in_turn()
    path = tmp_path / "undo.json"
    hand_of(fake, path).apply(planned(fake, most=most))
    assert fake.jobs[10].nice > 0
    fake.jobs[11] = replace(fake.jobs[11], minutes=120)
    undo = Undo.open(path, "fake")
    again = planned(fake, undo, most=most)
    assert [job.number for job in again.order] == [10, 11]
    assert again.niceties == {10: 0}
    hand_of(fake, path).apply(again)
    assert fake.jobs[10].nice == 0
    assert [job.number for job in read_queue(fake).waiting] == [10, 11]


def test_what_stands_and_is_better_than_what_is_found_stays(tmp_path: Path) -> None:
    """A plan that has no time to find an order keeps the one that an earlier one has given."""
    fake = two_in_turn()
    path = tmp_path / "undo.json"
    hand_of(fake, path).apply(planned(fake))
    many = len(fake.changed)
    again = planned(fake, Undo.open(path, "fake"), seconds=0.0)
    assert again.changes == ()
    assert [job.number for job in again.order] == [11, 10]
    assert len(fake.changed) == many


def test_who_is_not_steered_keeps_what_he_has(tmp_path: Path) -> None:
    """Planned for one user only, the other's jobs stand where an earlier plan has put them, and are planned around."""
    fake = crowd(3)
    path = tmp_path / "undo.json"
    hand_of(fake, path).apply(planned(fake))
    before = {number: job.nice for number, job in fake.jobs.items() if job.user == "bob"}
    assert any(before.values())
    again = planned(fake, Undo.open(path, "fake"), choice=Choice(user=("ann",)), slack=1e6)
    hand_of(fake, path).apply(again)
    assert {number: fake.jobs[number].nice for number in before} == before
    assert [job.number for job in read_queue(fake).waiting] == [job.number for job in again.order]
