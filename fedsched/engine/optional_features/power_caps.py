"""Power caps: a job starts only if planned watts stay under the caps from its start to its planned end [70].

A cap leaves some power beside idle nodes. A job takes some of that as long as it holds nodes, until its planned end.
What running jobs take now is stored. What they take later is summed over their planned ends, and only if a cap changes
within the run in question: between two changes, what is left can only grow.

Every function takes the extras first, and is compiled to nothing if a problem has none.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, constant, inlined, part
from fedsched.engine.clock import end_after
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import power_states
from fedsched.engine.placement.node_choice import planned_duration

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ends, Extras, ExtraState, Floats, Ints, Problem, State

WITHOUT_HEAD, BESIDE_HEAD = constant(-1), constant(0)  # `head` of `allow`: without EASY's head, or beside it
AT_START = constant(1)  # in `PowerCaps.looks`
ANY, LASTING = constant(0), constant(1)  # in `PowerCapState.least`
NO_CANDIDATE = constant(1 << 62)


@by_reference
class PowerCaps(NamedTuple):
    """Power caps as step functions of time, and what each node of a job takes of them (mW); empty without caps."""

    first: Ints  # cap: its steps are from here to the next one's
    time: Floats
    left: Ints  # what the cap leaves beside idle nodes from then on
    period: Floats  # cap: the seconds after which its steps recur; infinite: they do not
    turn: Ints  # cap: the number of the period that contains t0
    begun: Ints  # cap: how many steps of that period have begun by t0, at least one
    covers: Ints  # cap x group: 1: it applies to these nodes
    need: Ints  # job x group: what each node takes
    looks: Ints  # [0]: 1: caps are checked at a job's start alone


@by_reference
class PowerCapState(NamedTuple):
    """What jobs take of each power cap, in milliwatts, and how far the clock has come in its steps."""

    taken: Ints  # by jobs that hold nodes now
    step: Ints  # steps since the begin of the period that contains t0
    quiet: Floats  # [0]: time of the last event other than a change of a recurring cap
    head: Ints  # what EASY's head takes in its reservation
    head_until: Floats  # [0]: its planned end
    least: Ints  # what a node of lookahead's candidates takes at least, [1]: of those that last
    until: Floats  # [0]: the last time in a conservative plan, apart from changes of recurring caps


@inlined
def has_caps(extras: Extras | None) -> bool:
    """Return whether there are power caps at all."""
    if extras is None:
        return False
    return extras.ceilings.period.size > 0


# ---- as the clock goes on


@inlined
def reset(extras: Extras | None, state: ExtraState | None, t0: float) -> None:
    """Reset for a run from `t0` on: jobs take nothing of the caps, and each cap has its value of t0."""
    if extras is None or state is None:
        return
    cap_state = state.beneath
    cap_state.quiet[0] = t0
    for c in range(cap_state.taken.size):
        cap_state.taken[c] = 0
        cap_state.step[c] = extras.ceilings.begun[c]


@inlined
def _time_of(caps: PowerCaps, c: int, step: int) -> float:
    # When the cap's next step begins after `step` steps.
    first, steps = caps.first[c], caps.first[c + 1] - caps.first[c]
    if caps.period[c] == np.inf:
        return caps.time[first + step] if step < steps else np.inf
    return caps.time[first + step % steps] + (caps.turn[c] + step // steps) * caps.period[c]


@inlined
def _left_after(caps: PowerCaps, c: int, step: int) -> int:
    # What the cap leaves after `step` steps.
    return caps.left[caps.first[c] + (step - 1) % (caps.first[c + 1] - caps.first[c])]


@inlined
def _step_at(caps: PowerCaps, cap_state: PowerCapState, c: int, time: float) -> int:
    # How many steps have begun by `time`, which is not before now: whole periods at once, then one by one.
    step = cap_state.step[c]
    if caps.period[c] < np.inf:
        periods = int((time - _time_of(caps, c, step)) / caps.period[c]) - 1
        step += max(0, periods) * (caps.first[c + 1] - caps.first[c])
    while _time_of(caps, c, step) <= time:
        step += 1
    return step


@inlined
def next_step(extras: Extras | None, extra_state: ExtraState | None, state: State) -> float:
    """Return when a cap next changes; infinite if no change is to come.

    Changes of recurring caps do not count if no job runs, and nothing else has happened for a whole period.
    """
    if extras is None or extra_state is None:
        return np.inf
    return _next_step(extras.ceilings, extra_state.beneath, state.counter[Counter.RUNNING] > 0)


@inlined
def _next_step(caps: PowerCaps, cap_state: PowerCapState, anybody_runs: bool) -> float:
    again, once, longest = np.inf, np.inf, 0.0
    for c in range(caps.period.size):
        time = _time_of(caps, c, cap_state.step[c])
        if caps.period[c] == np.inf:
            once = min(once, time)
        else:
            again = min(again, time)
            longest = max(longest, caps.period[c])
    if not anybody_runs and again > cap_state.quiet[0] + longest:
        again = np.inf  # nothing has happened in a whole period, so nothing will
    return min(again, once)


@inlined
def next_lasting_step(extras: Extras | None, extra_state: ExtraState | None) -> float:
    """Return when a cap that does not recur next changes; infinite if none does."""
    if extras is None or extra_state is None:
        return np.inf
    caps, found = extras.ceilings, np.inf
    for c in range(caps.period.size):
        if caps.period[c] == np.inf:
            found = min(found, _time_of(caps, c, extra_state.beneath.step[c]))
    return found


@part
def take_steps(caps: PowerCaps, cap_state: PowerCapState, now: float, quiet: bool) -> bool:
    """Advance each cap to its step at `now`; return whether any cap changes.

    Store `now` as the time of the last event, unless nothing else happens at this instant (`quiet`) and only recurring
    caps change.
    """
    changed = False
    for c in range(caps.period.size):
        while _time_of(caps, c, cap_state.step[c]) <= now:
            cap_state.step[c] += 1
            changed = True
            quiet = quiet and caps.period[c] < np.inf
    if not quiet:
        cap_state.quiet[0] = now
    return changed


@inlined
def taken_by(caps: PowerCaps, c: int, j: int, counts: Ints) -> int:
    """Return what a job on these nodes (`counts` per group) takes of cap `c`, in milliwatts."""
    taken = 0
    for g in range(counts.size):
        if caps.covers[c, g] == 1:
            taken += counts[g] * caps.need[j, g]
    return taken


@inlined
def take(extras: Extras | None, state: ExtraState | None, j: int, counts: Ints) -> None:
    """Add what a starting job takes of each cap, on these nodes (`counts` per group)."""
    if extras is None or state is None:
        return
    for c in range(state.beneath.taken.size):
        state.beneath.taken[c] += taken_by(extras.ceilings, c, j, counts)


@inlined
def give_back(extras: Extras | None, state: ExtraState | None, j: int, counts: Ints) -> None:
    """Subtract what an ending job took of each cap, on these nodes (`counts` per group)."""
    if extras is None or state is None:
        return
    for c in range(state.beneath.taken.size):
        state.beneath.taken[c] -= taken_by(extras.ceilings, c, j, counts)


# ---- what is left over a whole run


@inlined
def allow_now(extras: Extras | None, extra_state: ExtraState | None, problem: Problem, state: State, j: int) -> bool:
    """Return whether the caps allow a job from now to its planned end, on the nodes in `state.scratch.chosen`.

    The planned end is later if these nodes have to boot first.
    """
    if extras is None or extra_state is None:
        return True
    if extras.ceilings.period.size == 0:
        return True
    now = state.clock[Clock.NOW]
    start = power_states.on_at(extras, extra_state, state.scratch.chosen, now, now)
    end = end_after(start + planned_duration(problem, j, state.scratch.chosen), start)
    return allow(extras.ceilings, extra_state.beneath, state, j, now, end, WITHOUT_HEAD)


@part
def allow(
    caps: PowerCaps, cap_state: PowerCapState, state: State, j: int, begin: float, end: float, head: int
) -> bool:
    """Return whether the caps allow a job from `begin` (now or later) to `end`, on the nodes in `state.scratch.chosen`.

    If `head` is at least 0, what EASY's head reserves counts too; then `begin` is not before the head's start.
    """
    for c in range(caps.period.size):
        need = taken_by(caps, c, j, state.scratch.chosen) + (cap_state.head[c] if head >= 0 else 0)
        step = _step_at(caps, cap_state, c, begin)
        if need > _left_at(caps, cap_state, state, c, step, begin):
            return False
        time = _time_of(caps, c, step)
        while caps.looks[0] != AT_START and time < end:
            step += 1
            if need > _left_at(caps, cap_state, state, c, step, time):
                return False
            time = _time_of(caps, c, step)
    return True


@inlined
def _left_at(caps: PowerCaps, cap_state: PowerCapState, state: State, c: int, step: int, time: float) -> int:
    # What the cap leaves after `step` steps, less what jobs take that run at `time` as planned.
    left = _left_after(caps, c, step)
    if time <= state.clock[Clock.NOW]:
        return left - cap_state.taken[c]
    return left - _taken_at(caps, state, state.ends, c, time)


@inlined
def _taken_at(caps: PowerCaps, state: State, ends: Ends, c: int, time: float) -> int:
    taken, i = 0, 0
    while i < state.counter[Counter.ENDS] and ends.time[i] > time:
        taken += taken_by(caps, c, ends.job[i], state.counts[ends.job[i]])
        i += 1
    return taken


# ---- beside the reservation of EASY's head


@inlined
def next_after(extras: Extras, extra_state: ExtraState, time: float) -> float:
    """Return when a cap next changes after `time`, which is not before now; infinite if none does."""
    caps, found = extras.ceilings, np.inf
    for c in range(caps.period.size):
        found = min(found, _time_of(caps, c, _step_at(caps, extra_state.beneath, c, time)))
    return found


@inlined
def changes_for_good(extras: Extras, time: float) -> bool:
    """Return whether a cap that does not recur changes at exactly `time`."""
    caps, found = extras.ceilings, False
    for c in range(caps.period.size):
        if caps.period[c] == np.inf:
            for i in range(caps.first[c], caps.first[c + 1]):
                found = found or caps.time[i] == time
    return found


@inlined
def any_for_good_after(extras: Extras, time: float) -> bool:
    """Return whether a cap that does not recur changes after `time`."""
    caps, found = extras.ceilings, False
    for c in range(caps.period.size):
        found = found or (caps.period[c] == np.inf and caps.time[caps.first[c + 1] - 1] > time)
    return found


@inlined
def longest_period(extras: Extras) -> float:
    """Return the longest period of the recurring caps, in seconds; 0 if there are none."""
    longest = 0.0
    for c in range(extras.ceilings.period.size):
        if extras.ceilings.period[c] < np.inf:
            longest = max(longest, extras.ceilings.period[c])
    return longest


@inlined
def reserve(extras: Extras, extra_state: ExtraState, head: int, counts: Ints, until: float) -> None:
    """Store what EASY's head takes of each cap on these nodes (`counts` per group), and its planned end `until`."""
    for c in range(extra_state.beneath.head.size):
        extra_state.beneath.head[c] = taken_by(extras.ceilings, c, head, counts)
    extra_state.beneath.head_until[0] = until


@inlined
def reserve_nothing(extra_state: ExtraState) -> None:
    """Drop the power that is reserved for EASY's head."""
    extra_state.beneath.head[:] = 0
    extra_state.beneath.head_until[0] = -np.inf


@inlined
def keeps_head_power(
    extras: Extras | None, extra_state: ExtraState | None, state: State, j: int, shadow: float, end: float
) -> bool:
    """Return whether EASY's head keeps its reserved power if a job runs on the chosen nodes until `end`.

    This is checked from the shadow time until either ends; it holds if nothing is reserved.
    """
    if extras is None or extra_state is None:
        return True
    until = extra_state.beneath.head_until[0]
    if extras.ceilings.period.size == 0 or until == -np.inf:
        return True
    return allow(extras.ceilings, extra_state.beneath, state, j, shadow, min(end, until), BESIDE_HEAD)


# ---- over the breakpoints of a conservative plan: in `PoolsLeft.planned`, a row for what is taken of each cap, behind
# those of the pools, and a last row with 1 if a reservation begins there


@inlined
def begin_profile(extras: Extras | None, extra_state: ExtraState | None) -> None:
    """Set what is taken of each cap at the profile's first breakpoint to what jobs take now."""
    if extras is None or extra_state is None:
        return
    caps, planned, first = extras.ceilings.period.size, extra_state.pools.planned, extra_state.pools.free.size
    for c in range(caps):
        planned[first + c, 0] = extra_state.beneath.taken[c]
    if caps > 0:
        planned[first + caps, 0] = 0


@inlined
def end_at(extras: Extras | None, extra_state: ExtraState | None, row: int, j: int, counts: Ints) -> None:
    """Subtract what a running job takes of each cap from what is taken at breakpoint `row`, at its planned end."""
    if extras is None or extra_state is None:
        return
    for c in range(extras.ceilings.period.size):
        extra_state.pools.planned[extra_state.pools.free.size + c, row] -= taken_by(extras.ceilings, c, j, counts)


@inlined
def insert_breakpoint(extras: Extras | None, extra_state: ExtraState | None, place: int) -> None:
    """Note that no reservation begins at `place`, into which the breakpoint before was copied."""
    if extras is None or extra_state is None:
        return
    if extras.ceilings.period.size > 0:
        extra_state.pools.planned[extra_state.pools.planned.shape[0] - 1, place] = 0


@inlined
def reserve_over(
    extras: Extras | None, extra_state: ExtraState | None, j: int, counts: Ints, begin: int, end: int, time: float
) -> None:
    """Add what a job takes of each cap at breakpoints `begin` to `end` − 1, the last of which is at `time`."""
    if extras is None or extra_state is None:
        return
    caps, planned, first = extras.ceilings, extra_state.pools.planned, extra_state.pools.free.size
    for c in range(caps.period.size):
        taken = taken_by(caps, c, j, counts)
        for b in range(begin, end):
            planned[first + c, b] += taken
    if caps.period.size > 0:
        planned[planned.shape[0] - 1, begin] = 1
        extra_state.beneath.until[0] = max(extra_state.beneath.until[0], time)


@inlined
def begin_plan(extras: Extras, extra_state: ExtraState, last: float) -> None:
    """Store until when a plan without reservations looks: to its last breakpoint, or the last change for good."""
    caps = extras.ceilings
    for c in range(caps.period.size):
        if caps.period[c] == np.inf:
            last = max(last, caps.time[caps.first[c + 1] - 1])
    extra_state.beneath.until[0] = last


@inlined
def looks_until(extras: Extras, extra_state: ExtraState) -> float:
    """Return the last time at which the plan considers a change of a cap: one longest period past all else."""
    return extra_state.beneath.until[0] + longest_period(extras)


@inlined
def may_start(extras: Extras | None, extra_state: ExtraState | None, tasks: int, j: int) -> bool:
    """Return whether caps on all nodes may leave enough now, beside what is planned, for `tasks` nodes of a job."""
    if extras is None or extra_state is None:
        return True
    if extras.ceilings.period.size == 0:
        return True
    planned, pools = extra_state.pools.planned, extra_state.pools.free.size
    return _may_start(extras.ceilings, extra_state.beneath, planned, pools, tasks, j)


@part
def _may_start(caps: PowerCaps, cap_state: PowerCapState, planned: Ints, pools: int, tasks: int, j: int) -> bool:
    for c in range(caps.period.size):
        if _covers_all(caps, c):
            least = caps.need[j, 0]
            for g in range(1, caps.need.shape[1]):
                least = min(least, caps.need[j, g])
            if tasks * least > _left_after(caps, c, cap_state.step[c]) - planned[pools + c, 0]:
                return False
    return True


@inlined
def allow_planned(
    extras: Extras, extra_state: ExtraState, state: State, j: int, row: int, begin: float, end: float
) -> bool:
    """Return whether the caps allow a job from `begin`, at or after breakpoint `row`, to `end`, beside all plans.

    The job's nodes are in `state.scratch.chosen`.
    """
    planned, pools = extra_state.pools.planned, extra_state.pools.free.size
    return _allow_planned(extras.ceilings, extra_state.beneath, planned, pools, state, j, row, begin, end)


@part
def _allow_planned(
    caps: PowerCaps,
    cap_state: PowerCapState,
    planned: Ints,
    pools: int,
    state: State,
    j: int,
    row: int,
    begin: float,
    end: float,
) -> bool:
    times, rows, begins = state.profile.time, state.counter[Counter.BREAKPOINTS], planned.shape[0] - 1
    for c in range(caps.period.size):
        need, step, b = taken_by(caps, c, j, state.scratch.chosen), _step_at(caps, cap_state, c, begin), row
        if need > _left_after(caps, c, step) - planned[pools + c, b]:
            return False
        change, following = _time_of(caps, c, step), times[b + 1] if b + 1 < rows else np.inf
        while min(change, following) < end:
            time, counts = min(change, following), caps.looks[0] != AT_START
            if change == time:
                step += 1
                change = _time_of(caps, c, step)
            if following == time:
                b += 1
                counts = counts or planned[begins, b] == 1  # its watts are kept, also if caps count at starts alone
                following = times[b + 1] if b + 1 < rows else np.inf
            if counts and need > _left_after(caps, c, step) - planned[pools + c, b]:
                return False
    return True


# ---- around lookahead's candidates


@inlined
def begin_packing(extra_state: ExtraState | None) -> None:
    """Note that lookahead has no candidates yet."""
    if extra_state is None:
        return
    extra_state.beneath.least[:] = NO_CANDIDATE


@inlined
def note_candidate(extras: Extras | None, extra_state: ExtraState | None, j: int, counts: Ints, lasts: bool) -> None:
    """Note what each node takes that one of lookahead's candidates would get (`counts` per group)."""
    if extras is None or extra_state is None:
        return
    if extras.ceilings.period.size == 0:
        return
    least = extra_state.beneath.least
    for g in range(counts.size):
        if counts[g] > 0:
            least[ANY] = min(least[ANY], extras.ceilings.need[j, g])
            if lasts:
                least[LASTING] = min(least[LASTING], extras.ceilings.need[j, g])


@inlined
def nodes_under_caps(extras: Extras | None, extra_state: ExtraState | None, state: State, nodes: int) -> int:
    """Return how many of these nodes lookahead's candidates may take now under the caps on all nodes."""
    if extras is None or extra_state is None:
        return nodes
    return _nodes_under_caps(extras.ceilings, extra_state.beneath, state, ANY, state.clock[Clock.NOW], nodes)


@inlined
def nodes_beside_head(
    extras: Extras | None, extra_state: ExtraState | None, state: State, shadow: float, nodes: int
) -> int:
    """Return how many of these nodes candidates that last may take at the shadow time, beside EASY's head."""
    if extras is None or extra_state is None:
        return nodes
    if extra_state.beneath.head_until[0] == -np.inf:  # nothing is reserved
        return nodes
    return _nodes_under_caps(extras.ceilings, extra_state.beneath, state, LASTING, shadow, nodes)


@inlined
def _covers_all(caps: PowerCaps, c: int) -> bool:
    found = True
    for g in range(caps.covers.shape[1]):
        found = found and caps.covers[c, g] == 1
    return found


@part
def _nodes_under_caps(
    caps: PowerCaps, cap_state: PowerCapState, state: State, which: int, time: float, nodes: int
) -> int:
    least = cap_state.least[which]
    for c in range(caps.period.size):
        if least > 0 and _covers_all(caps, c):
            step = _step_at(caps, cap_state, c, time)
            left = _left_at(caps, cap_state, state, c, step, time) - (cap_state.head[c] if which == LASTING else 0)
            nodes = min(nodes, max(0, left) // least)
    return nodes


def period_of(time: float, first: float, period: float) -> int:
    """Return the number of the period of a recurring signal that contains `time`: 0 begins at `first`.

    Its begin is never after `time`, in spite of rounding. If the period is infinite, it is 0.
    """
    if math.isinf(period):
        return 0
    turn = math.floor((time - first) / period)
    return turn if first + turn * period <= time else turn - 1
