"""Blocks of breakpoints: what is found in them is what a scan of the same breakpoints finds."""

from __future__ import annotations

import numpy as np
import pytest
from support import strategies
from support.plain import arrived, jobs, plain

import fedsched as fs
from fedsched.engine.codes import Status
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.profile import long_profile as compiled
from fedsched.engine.profile.breakpoints import BlockNumber, BlockRow
from fedsched.simulate import prepare

availability = plain("fedsched.engine.profile.free_profile")
blocks = plain("fedsched.engine.profile.long_profile")
conservative = plain("fedsched.engine.dispatch.conservative")
loop = plain("fedsched.engine.loop.event_loop")
NODES = 12


@pytest.fixture(autouse=True)
def _blocks_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (blocks, compiled):
        monkeypatch.setattr(module, "BLOCK", 4)
        monkeypatch.setattr(module, "LONG_PROFILE", 3)


def breakpoints_of(state) -> list[tuple[float, int]]:
    """Return the breakpoints with their free nodes, once what the blocks know of them is seen to be right."""
    profile = state.profile
    if not blocks.are_in_use(profile):
        rows = range(int(state.counter[Counter.BREAKPOINTS]))
        return [(float(profile.time[row]), int(profile.total[row])) for row in rows]
    found, number = [], profile.blocks.number
    for place in range(number[BlockNumber.PAST], number[BlockNumber.PLACES]):
        rows = range(blocks._first_row(profile, place), blocks._end_row(profile, place))
        free = [int(profile.total[row]) for row in rows]
        assert 0 < len(free) <= blocks.BLOCK
        assert profile.blocks.place[BlockRow.LEAST, place] == min(free)
        assert profile.blocks.place[BlockRow.MOST, place] == max(free)
        found += [(float(profile.time[row]), total) for row, total in zip(rows, free, strict=True)]
    times = [time for time, _ in found]
    assert times == sorted(set(times))
    return found


def scanned(points: list[tuple[float, int]], tasks: int, duration: float) -> float | None:
    """Return when the first window begins in which so many nodes are free for so long."""
    for begin, (time, _) in enumerate(points):
        window = [total for at, total in points[begin + 1 :] if at < time + duration]
        if min([points[begin][1], *window]) >= tasks:
            return time
    return None


@pytest.mark.parametrize("seed", range(12))
def test_a_long_profile_is_searched_as_a_scan_would(seed: int) -> None:
    """Reservations, searches and the passing of time leave the breakpoints that a plain list would have."""
    rng = np.random.default_rng(seed)
    many = 120
    tasks, runtime = rng.integers(1, NODES + 1, many), rng.choice([1.0, 2.0, 3.5, 8.0, 1e-17], many)
    workload = jobs(tasks.tolist(), runtime.tolist())
    problem, plan, state = arrived(workload, fs.Federation.homogeneous(NODES), dispatch="conservative")
    state.clock[Clock.NOW] = 0.0
    availability.fill_profile(problem, plan, state)
    in_blocks = False
    for j in range(many):
        points = breakpoints_of(state)
        row = availability.first_fit(problem, plan, state, j)
        begin = float(state.profile.time[row])
        assert begin == scanned(points, tasks[j], runtime[j])
        now = state.clock[Clock.NOW]
        lasts = now + runtime[j] * (1 - 1e-12)
        could = all(total >= tasks[j] for time, total in points if time < lasts)
        assert availability.could_start(problem, state, j, availability.row_of_now(state)) == could
        nodes = int(rng.integers(0, NODES))
        less = availability.next_below(state, nodes)
        expected = next((time for time, total in points[1:] if total < nodes), None)
        assert (None if less < 0 else state.profile.time[less]) == expected
        end = max(begin + runtime[j], np.nextafter(begin, np.inf))
        availability.reserve_window(problem, plan, state, j, row, end)
        cut = sorted({time for time, _ in points} | {end})
        free = {at: [total for time, total in points if time <= at][-1] for at in cut}
        left = [(at, free[at] - (tasks[j] if begin <= at < end else 0)) for at in cut]
        assert breakpoints_of(state) == left
        if j % 9 == 8:
            now = float(rng.choice([time for time, _ in left[: len(left) // 3 + 1]])) + float(rng.choice([0.0, 0.25]))
            state.clock[Clock.NOW] = now
            availability.drop_past(problem, plan, state)
            rest = [(time, total) for time, total in left if time > now]
            assert breakpoints_of(state) == [(now, [total for time, total in left if time <= now][-1]), *rest]
        in_blocks = in_blocks or blocks.are_in_use(state.profile)
    assert in_blocks


def test_plans_in_blocks_start_whom_the_reference_starts() -> None:
    """With pools, closures, limits and estimates too long or short: every start is that of the naive reference."""
    seen = with_pools = with_closures = 0
    for seed in range(80):
        scenario = strategies.random_scenario(
            seed, max_jobs=20, one_group=True, dispatch="conservative", restless=True
        ).as_chosen()
        expected = scenario.simulate()
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        chosen = scenario.settings
        rules = fs.Rules(chosen.order, chosen.dispatch, chosen.placement, chosen.backfill_order)
        run = prepare(workload, federation, rules, caps=caps, same_time=chosen.same_time, saturation=chosen.saturation,
                      kill_at_estimate=chosen.kill_at_estimate, alternatives=chosen.alternatives)  # fmt: skip
        loop.begin(run.problem, run.plan, run.state)
        assert loop.run(run.problem, run.plan, run.state, 10**6, np.inf) in (Status.DONE, Status.STUCK)
        were = run.state.profile.blocks.number[BlockNumber.ROOMS] > 0
        seen += were
        with_pools += were and len(scenario.machine.pools) > 0
        with_closures += were and len(scenario.machine.closures) > 0
        np.testing.assert_array_equal(run.schedule().start, expected.start, err_msg=f"{seed}, {chosen}")
    assert seen > 20
    assert with_pools > 3
    assert with_closures > 3
