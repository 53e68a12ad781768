"""EASY by hand: who may start beside the head's reservation, and what that leaves for the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.dispatch.test_greedy import started
from support.plain import arrived, clusters, jobs, plain

import fedsched as fs

if TYPE_CHECKING:
    from collections.abc import Sequence

backfill = plain("fedsched.engine.dispatch.easy")
TEN = fs.Federation.homogeneous(10)


def passed(
    tasks: list[int],
    runtime: list[float],
    federation: fs.Federation = TEN,
    *,
    submit: Sequence[float] | None = None,
    **options: object,
) -> list[int]:
    """Return who starts in the first pass of EASY."""
    workload = jobs(tasks, runtime, submit=[0.0] * len(tasks) if submit is None else submit)
    problem, plan, state = arrived(workload, federation, **{"dispatch": "easy", **options})
    backfill.backfill_around_head(problem, plan, state)
    return started(state)


def test_a_brief_job_runs_before_the_shadow_time() -> None:
    """[11] 6 nodes until 10 s, the head wants 8: of the 4 free nodes who ends by 10 s may take all, who lasts 2."""
    assert passed([6, 8, 4], [10.0, 5.0, 10.0]) == [0, 2]
    assert passed([6, 8, 4], [10.0, 5.0, 10.5]) == [0]
    assert passed([6, 8, 2], [10.0, 5.0, 99.0]) == [0, 2]
    assert passed([6, 8, 3], [10.0, 5.0, 99.0]) == [0]


def test_the_extra_nodes_are_given_once() -> None:
    """[11] Who lasts takes of the extra nodes, who is brief does not."""
    assert passed([6, 8, 1, 1, 1], [10.0, 5.0, 99.0, 99.0, 99.0]) == [0, 2, 3]
    assert passed([6, 8, 1, 1, 1], [10.0, 5.0, 99.0, 9.0, 99.0]) == [0, 2, 3, 4]
    assert passed([6, 8, 2, 1, 2], [10.0, 5.0, 9.0, 9.0, 99.0]) == [0, 2, 3]


def test_the_head_is_not_backfilled() -> None:
    """[11] The job with the reservation is not tried again, also where the backfill order has it first."""
    assert passed([6, 8, 4, 2], [10.0, 5.0, 1.0, 1.0], backfill_order=[1, 3, 2, 0]) == [0, 3]


def test_the_backfill_order_decides_who_comes_first() -> None:
    """[11] The scan goes by the backfill order where there is one."""
    assert passed([6, 8, 3, 2], [10.0, 5.0, 9.0, 9.0]) == [0, 2]
    assert passed([6, 8, 3, 2], [10.0, 5.0, 9.0, 9.0], backfill_order=[3, 0, 1, 2]) == [0, 3]


def test_extra_nodes_are_counted_by_group() -> None:
    """[11] What the head leaves on the other cluster may be taken for as long as one likes."""
    pair = clusters(((4, 1.0),), ((3, 1.0),))
    # the head of 4 nodes waits for the first cluster; long jobs go to the second
    assert passed([4, 4, 2, 1], [10.0, 5.0, 99.0, 99.0], pair, placement="single") == [0, 2, 3]
    assert passed([4, 4, 2, 2], [10.0, 5.0, 99.0, 99.0], pair, placement="single") == [0, 2]


def test_the_scan_goes_on_behind_who_is_refused() -> None:
    """[11] A job for which there is room in all, but on no cluster, is passed over; the next one starts."""
    pair = clusters(((4, 1.0),), ((4, 1.0),))
    # 3 + 3 nodes until 10 s, the head wants 4: a node is left on either side, on the head's side none from 10 s on
    assert passed([3, 3, 4, 2, 1], [10.0, 10.0, 5.0, 99.0, 99.0], pair, placement="single") == [0, 1, 4]


def test_the_window_is_from_now_to_the_shadow_time() -> None:
    """[11] The same hours of another day: who is done by the shadow time starts, and who is not does not."""
    for begin in (0.0, 100.0, 1e9):
        for seconds, expected in ((10.0, [0, 2]), (10.5, [0])):
            found = passed([6, 8, 4], [10.0, 5.0, seconds], submit=[begin] * 3)
            assert found == expected


def test_lookahead_packs_before_it_scans() -> None:
    """[24] Two jobs that fill the four free nodes go before the three-node job that is first in the queue."""
    assert passed([6, 8, 3, 2, 2], [10.0, 5.0, 5.0, 5.0, 5.0]) == [0, 2]
    assert passed([6, 8, 3, 2, 2], [10.0, 5.0, 5.0, 5.0, 5.0], dispatch="lookahead") == [0, 3, 4]


def test_nothing_waits_or_nothing_fits() -> None:
    """Where all have started, or no node is free, there is nothing to reserve and nothing to fill."""
    assert passed([5, 5], [1.0, 1.0]) == [0, 1]
    assert passed([5, 5, 1], [1.0, 1.0, 1.0]) == [0, 1]
