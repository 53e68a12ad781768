"""The room that each rule needs, and that what is lost may need."""

from __future__ import annotations

from dataclasses import replace

from support.plain import begun, clusters, jobs

import fedsched as fs
from fedsched.engine.arrays.new_state import new_state
from fedsched.engine.codes import LOOKAHEAD, NEEDS, Dispatch, Needs, needs_of

PAIR = clusters(((2, 1.0), (3, 2.0)), ((4, 2.0), (1, 4.0)))
FOUR = fs.Federation.homogeneous(4)


def test_each_rule_has_the_room_that_it_needs() -> None:
    """Only planning rules keep durations and a profile, only lookahead a table; backfill orders make a second queue."""
    problem = begun(jobs([1] * 5, [1.0] * 5), PAIR)[0]
    easy = Dispatch.EASY
    rooms = {rule: new_state(problem, needs=needs_of(rule), separate_backfill=rule == easy) for rule in Dispatch}
    for rule, state in rooms.items():
        assert (state.queue.shortest.size > 0) == (Needs.ENDS in NEEDS[rule])
        assert (state.profile.time.size > 0) == (Needs.PROFILE in NEEDS[rule])
        assert (state.profile.untouched.size > 0) == (Needs.PROFILE in NEEDS[rule])
        assert state.packing.candidate.shape[1] == (LOOKAHEAD if Needs.PACKING in NEEDS[rule] else 0)
        assert (state.backfill is state.queue) == (rule != Dispatch.EASY)
    assert rooms[Dispatch.EASY].queue.tasks.size == 16  # twice the least power of two that holds five
    # a running job has one breakpoint, a reservation two, now one, and one more
    assert rooms[Dispatch.CONSERVATIVE].profile.time.size == 2 * 5 + 5 + 2


def test_room_for_the_runs_that_downtimes_may_end() -> None:
    """A downtime ends no more runs than it closes nodes, nor than there are jobs; one that waits for them ends none."""
    calendar = (
        fs.Downtime("cluster", 1.0, 2.0),
        fs.Downtime("cluster", 3.0, 4.0, nodes="2 of all", on_running="requeue"),
        fs.Downtime("cluster", 5.0, 6.0, nodes="4 of all", on_running="requeue", victims="random"),
    )
    problem, _, _ = begun(jobs([1] * 3, [1.0] * 3), replace(FOUR, calendar=calendar))
    state = new_state(problem, needs=Needs.NOTHING, separate_backfill=False)
    assert state.extras.lost.counts.shape == (2 + 3, 1)
    assert (state.extras.draw.node.size, state.extras.draw.job.size) == (4, 3)
    without, _, _ = begun(jobs([1], [1.0]), replace(FOUR, calendar=calendar[:1]))
    none = new_state(without, needs=Needs.NOTHING, separate_backfill=False).extras
    assert (none.lost.job.size, none.draw.node.size) == (0, 0)
