"""Promises: by when jobs must have started, what moves that, and whether simulated days keep it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.fake_slurm import NOW, Job
from support.steering import FEW, crowd

from fedsched.core.errors import SteerError
from fedsched.site.steer import Aims, Undo, Watch, plan, read_queue
from fedsched.site.steer.picture import OrderSimulator, picture_of
from fedsched.site.steer.plan import Promises

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

AIMS = Aims(evaluations=FEW, seconds=1e9, slack=900.0)


def one_by_one(order: Sequence[int]) -> dict[int, float]:
    """Return starts of jobs of ten seconds that each need the only node."""
    return {number: 10.0 * k for k, number in enumerate(order)}


@pytest.mark.parametrize(
    ("turn", "until", "expected"),
    [
        # 4 comes with less priority than all others: it moves nobody.
        ((1, 2, 3, 4), {1: 100.0, 2: 100.0, 3: 100.0}, {1: 100.0, 2: 100.0, 3: 100.0, 4: 35.0}),
        # With more than 2 and 3 have: these get as much later as it delays them.
        ((1, 4, 2, 3), {1: 100.0, 2: 100.0, 3: 100.0}, {1: 100.0, 4: 15.0, 2: 110.0, 3: 110.0}),
        # 3 has come past 2, which is moved; that 3 is sooner takes nothing of what it was promised first.
        ((1, 3, 2), {1: 100.0, 2: 100.0, 3: 100.0}, {1: 100.0, 3: 100.0, 2: 110.0}),
        # It had been moved by 30 before, and gets a part of that back.
        ((1, 3, 2), {1: 100.0, 2: 100.0, 3: 130.0}, {1: 100.0, 3: 120.0, 2: 110.0}),
    ],
)
def test_who_comes_with_more_priority_moves_promises(
    turn: tuple[int, ...], until: dict[int, float], expected: dict[int, float]
) -> None:
    """By as much as he would delay others without us, and so do priorities that move past each other."""
    promises = Promises({number: 100.0 for number in until}, until, (1, 2, 3))
    assert promises.renewed(one_by_one(turn), 5.0, one_by_one) == expected


@pytest.mark.parametrize("seed", range(3))
def test_turns_are_what_the_picture_says(seed: int) -> None:
    """Packed once, each order has the starts that it has when all is packed anew."""
    picture = picture_of(read_queue(crowd(seed, jobs=12)))
    turns, order = OrderSimulator(picture), list(range(picture.waiting))
    draw = random.Random(seed)
    found = set()
    for _ in range(6):
        draw.shuffle(order)
        starts = turns.starts(order)
        assert starts == picture.starts(order)
        found.add(tuple(starts.values()))
    assert len(found) > 1


@pytest.mark.parametrize("base", [9_000, 20_000])
def test_a_watch_moves_promises_by_what_newcomers_delay(base: int, tmp_path: Path) -> None:
    """Who comes with less priority than all moves none; with more, by as much as forecasts without us move."""
    fake = crowd(1)
    watch = Watch(fake, Undo.open(tmp_path / "undo.json", "fake"), AIMS)
    first = watch.look()
    assert first is not None
    before = {one.job.number: one.before for one in first.starts}
    promised = dict(watch.undo.deadlines)
    fake.jobs |= {k: Job(k, nodes=2, minutes=20, base=base, submit=NOW) for k in range(40, 43)}
    again = watch.look()
    assert again is not None
    moved = {one.job.number: one.before - before[one.job.number] for one in again.starts if one.job.number in before}
    assert any(seconds > 60.0 for seconds in moved.values()) == (base > 10_000)
    for number, seconds in moved.items():
        assert watch.undo.deadlines[number] == max(promised[number], promised[number] + seconds)
    assert {number: watch.undo.promised[number] for number in promised} == promised
    assert Undo.open(tmp_path / "undo.json", "fake").promised == watch.undo.promised
    fake.jobs |= {50: Job(50, base=5_000, submit=NOW)}
    until = dict(watch.undo.deadlines)
    watch.look()
    assert {number: watch.undo.deadlines[number] for number in until} == until  # what had moved moves no more


def test_an_undo_file_of_before_is_refused(tmp_path: Path) -> None:
    """It does not say whose jobs they are: who wrote it undoes it."""
    path = tmp_path / "undo.json"
    job = '{"target": "7", "nice": 3, "given": [9], "begin": 1800000200.4}'
    path.touch(0o600)
    path.write_text(
        f'{{"kind": "fedsched undo 1", "cluster": "fake", "jobs": {{"7": {job}}}, "deadlines": {{"7": 12.5}}}}',
        encoding="utf-8",
    )
    with pytest.raises(SteerError, match="undo it with the version that wrote it"):
        Undo.open(path, "fake")


def test_who_is_next_by_lease_may_begin_when_slurm_keeps_its_nodes() -> None:
    """The next to start is let go where Slurm would keep its nodes and start the same jobs now, else nobody."""
    found = 0
    for seed in range(6):
        fake = crowd(seed)
        queue = read_queue(fake)
        made = plan(queue, replace(AIMS, by_nice=False))
        if made.next_due is None:
            continue
        found += 1
        starts = {one.job.number: one.after for one in made.starts}
        later = [start for start in starts.values() if start > made.soon]
        assert starts[made.next_due] == min(later)
        now = [job for job in queue.waiting if starts[job.number] <= made.soon or job.number == made.next_due]
        picture = picture_of(queue)
        rest = [job.number for job in queue.waiting if job not in now]
        alone = picture.starts(picture.rows_of([*(job.number for job in now), *rest]))
        assert alone[made.next_due] > made.soon
        assert all(alone[job.number] <= made.soon for job in now if job.number != made.next_due)
    assert found > 2


def test_the_latest_comes_first() -> None:
    """Of jobs that no order brings in time a wide, long one is not put behind all others."""
    fake = crowd(1, jobs=0)
    fake.jobs |= {k: Job(k, nodes=1, minutes=30, base=9_000, submit=NOW) for k in range(10, 18)}
    fake.jobs[20] = Job(20, nodes=4, minutes=60, base=8_000, submit=NOW - 9_000)
    late = {number: NOW - 60.0 for number in range(10, 18)} | {20: NOW - 6_000.0}
    made = plan(read_queue(fake), AIMS, promises=Promises(late, late))
    starts = {one.job.number: one.after for one in made.starts}
    assert starts[20] == min(starts.values())
