"""Check of power saving in a schedule: when each node goes off and boots, and its energy, are computed anew [66].

It shares no code with what computes the schedule's figures. With planned power saving, any free node may be used next,
and which choice saves most is hard to say. Then the schedule's own off times are accepted unless others save more.
"""

from __future__ import annotations

import math
from bisect import insort
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.model.power.switching import Planned, Reserve, Timeout, is_switching
from fedsched.model.time.downtimes import closures_of
from fedsched.model.verify.lost_nodes_check import job_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import NodeGroup
    OffTime = tuple[float, float]  # of a node: when it goes off, when it begins to boot
    from collections.abc import Iterator

    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.verify.lost_nodes_check import Runs

ENDS, OPENS, CLOSES, STARTS = range(4)  # events, in this order at one instant
MOST = 400  # the most ends of uses for which each pair of an end and a use is compared
NEAR = 1e-9


def best_off_times(
    group: NodeGroup, freed: Sequence[float], used: Sequence[float], last: float,
    usual: list[OffTime], claimed: list[OffTime],
) -> list[OffTime]:  # fmt: skip
    """Return the off times that the schedule claims for a group if they are possible and no others save more energy.

    Otherwise return better ones. An off time is (when one node goes off, when it begins to boot). `freed` are the times
    at which nodes become idle, and `used` the times at which nodes are needed. `usual` are the off times if the node
    freed last is used first; with more than 400 freed nodes, only these are compared.
    """
    own = usual if len(freed) > MOST else _matched(group, np.array(freed), np.array(used), last)
    least = _energy_saved(group, own, last)
    possible = _are_possible(group, freed, used, claimed, last)
    if possible and _energy_saved(group, claimed, last) >= least - NEAR * abs(least):
        return claimed
    return own


def _matched(group: NodeGroup, freed: NDArray[np.float64], used: NDArray[np.float64], last: float) -> list[OffTime]:
    # Match each use with an earlier end, to save the most energy; the remaining nodes idle to the end.
    from scipy.optimize import linear_sum_assignment

    gain = np.full((freed.size, freed.size), -np.inf)
    for k, since in enumerate(freed.tolist()):
        gain[k, : used.size] = [
            max(0.0, _gain(group, since, time - group.boot_seconds, last)) if since <= time else -math.inf
            for time in used.tolist()
        ]
        gain[k, used.size :] = max(0.0, _gain(group, since, math.inf, last))
    rows, columns = linear_sum_assignment(gain, maximize=True)
    off_times = []
    for k, use in zip(rows.tolist(), columns.tolist(), strict=True):
        if gain[k, use] > 0.0:
            off_times.append((float(freed[k]), float(used[use]) - group.boot_seconds if use < used.size else math.inf))
    return off_times


def _gain(group: NodeGroup, went: float, boot: float, last: float) -> float:
    # The energy that an off time saves compared to idling; −inf if the time is too short.
    off = group.idle_watts if group.off_watts is None else group.off_watts
    closing = group.idle_watts if group.shutdown_watts is None else group.shutdown_watts
    booting = group.busy_watts if group.boot_watts is None else group.boot_watts
    for_good = math.isinf(boot)
    shut = min(group.shutdown_seconds, last - went) if for_good else group.shutdown_seconds
    asleep = (last if for_good else boot) - went - shut
    up = 0.0 if for_good else group.boot_seconds
    if asleep < 0.0:
        return -math.inf
    return group.idle_watts * (shut + asleep + up) - closing * shut - off * asleep - booting * up


def _energy_saved(group: NodeGroup, off_times: list[OffTime], last: float) -> float:
    return math.fsum(_gain(group, went, boot, last) for went, boot in off_times)


def _are_possible(
    group: NodeGroup, freed: Sequence[float], used: Sequence[float], off_times: list[OffTime], last: float
) -> bool:
    # Whether there is always an idle node for each off time that begins and each use.
    early = 4.0 * float(np.spacing(abs(last)))
    events = [(time - early, 0, 1) for time in freed] + [(time, 1, -1) for time in used]
    events += [(went, 1, -1) for went, _ in off_times]
    events += [(boot + group.boot_seconds - early, 0, 1) for _, boot in off_times if boot < math.inf]
    idle = 0
    for _, _, change in sorted(events):
        idle += change
        if idle < 0:
            return False
    return True


class Stretch(NamedTuple):
    """An interval in which one node of a cluster draws `watts` more than an idle node, or less if below 0."""

    cluster: int
    begin: float
    end: float
    watts: float


class OffTimes(NamedTuple):
    """The recomputed effects of power saving: what nodes drew while not on, how often they went off, and boots.

    `ready` is the time at which all nodes of each run were on.
    """

    stretches: list[Stretch]
    switches: int
    ready: list[float]
    short: list[int]  # runs that found too few nodes
    promised: NDArray[np.float64]  # since when each run had its nodes


def off_times_of(runs: Runs, schedule: Schedule) -> OffTimes:
    """Return the effects of power saving, computed anew node by node, for all runs of a schedule.

    Without power saving no node is off. If a run finds too few nodes, it is put into `short` and the rest is left out.
    """
    federation, of_all = schedule.federation, runs.all
    since = np.maximum(runs.given, schedule.t0).tolist()
    found = OffTimes([], 0, list(since), [], runs.given)
    if federation.power is None or not since:
        return found
    turn = list(range(len(since))) if schedule.promises is None else schedule.promises.turn[runs.job].tolist()
    last = float(of_all.finish.max())
    switches = 0
    for cluster in range(len(federation.clusters)):
        inside = [g for g, its in enumerate(federation.group_cluster) if its == cluster]
        follow = _Cluster([federation.groups[g] for g in inside], federation.power, schedule.t0, last)
        counts = of_all.counts[:, inside]
        mine = np.flatnonzero(counts.any(axis=1)).tolist()
        events = [(float(of_all.finish[i]), ENDS, 0, i) for i in mine]
        events += [(since[i], STARTS, -1 if of_all.start[i] < schedule.t0 else turn[i], i) for i in mine]
        closing = _closing_events(schedule, inside, last)
        events += [(time, kind, which, -1) for which, (time, kind, _, _) in enumerate(closing)]
        for time, kind, which, i in sorted(events):
            if i < 0:
                _, _, g, some = closing[which]
                follow.change(inside.index(g), some if kind == CLOSES else -some, time)
                continue
            nodes = counts[i].tolist()
            if kind == STARTS and not follow.can_take(nodes):
                found.short.append(i)
                return found
            if kind == STARTS:
                found.ready[i] = max(found.ready[i], follow.take(nodes, time))
            else:
                follow.free(nodes, time)
        follow.end()
        for g, one in zip(inside, follow.groups, strict=True):
            if isinstance(federation.power, Planned) and one.saves_energy:
                claimed = _claimed(schedule, g)
                one.off_times = best_off_times(one.group, one.freed, one.used, last, one.off_times, claimed)
        switches += sum(len(one.off_times) + len(one.cut_off) for one in follow.groups)
        for one in follow.groups:
            off_times = [(went, boot, last) for went, boot in one.off_times] + one.cut_off
            found.stretches.extend(_drawn(one.group, cluster, off_times))
    return found._replace(switches=switches)


def _closing_events(schedule: Schedule, inside: list[int], last: float) -> list[tuple[float, int, int, int]]:
    # Downtimes, without reservations, that open or close nodes of these groups: time, kind, group and nodes.
    found: list[tuple[float, int, int, int]] = []
    if not is_switching(schedule.federation.power):
        return found  # Planned power saving takes closed nodes for idle ones
    closures = closures_of(schedule.federation)
    closures = closures.take((closures.reservation < 0) & (closures.end > schedule.t0) & (closures.begin <= last))
    for c in range(closures.begin.size):
        g, nodes = int(closures.group[c]), int(closures.nodes[c])
        if g in inside:
            found.append((max(float(closures.begin[c]), schedule.t0), CLOSES, g, nodes))
            found += [(float(closures.end[c]), OPENS, g, nodes)] * int(closures.end[c] <= last)
    return found


def _claimed(schedule: Schedule, g: int) -> list[tuple[float, float]]:
    # The times at which nodes of a group are claimed to go off and to begin to boot.
    from fedsched.model.schedule.lost import finished_runs
    from fedsched.model.schedule.off_spans import spans_of

    spans = spans_of(schedule.federation, finished_runs(schedule), schedule.promises, schedule.t0)
    own = np.flatnonzero(spans.group == g)
    return [(float(spans.off_at[i]), float(spans.boot_at[i])) for i in own.tolist() for _ in range(spans.nodes[i])]


class _Gate:
    # A rate limit: a burst of `rate` nodes may pass, then one each 60 / rate seconds; without a rate, any number.

    def __init__(self, rate: int | None) -> None:
        self.rate, self.first, self.passed = rate, -math.inf, 0
        self.to_come: list[float] = []

    def opens(self) -> float:
        return self.first + (self.passed + 1 - self.rate) * (60.0 / self.rate) if self.rate else -math.inf

    def let_pass(self, at: float) -> float:
        if self.rate:
            if at >= self.first + self.passed * (60.0 / self.rate):
                self.first, self.passed = at, 0
            self.passed += 1
        return at

    def admit(self, now: float, wanted: float) -> float:
        """Book one more node and return when it begins: the first time from `wanted` on that delays no booked node."""
        if not self.rate:
            return wanted
        while self.to_come and self.to_come[0] <= now:
            self.let_pass(self.to_come.pop(0))
        ahead = copy(self)
        for k in range(len(self.to_come) + 1):
            at, behind = max(wanted, ahead.opens()), self.to_come[k:]
            trial = copy(ahead)
            if at <= min(behind, default=at) and all(begin >= trial.opens() for begin in _after(trial, at, behind)):
                break
            ahead.let_pass(behind[0])
        self.to_come.insert(k, at)
        return at


def _after(gate: _Gate, at: float, behind: list[float]) -> Iterator[float]:
    for before, begin in zip([at, *behind], behind, strict=False):
        gate.let_pass(before)
        yield begin


class _Cluster:
    # The groups of a cluster; nodes go off and boot by the cluster's rates.

    def __init__(self, groups: list[NodeGroup], power: object, t0: float, last: float) -> None:
        self.power, self.last, self.changed = power, last, t0
        rates = (power.suspend_rate, power.resume_rate) if isinstance(power, Timeout) else (None, None)
        self.off_gate, boots = map(_Gate, rates)
        self.groups = [_Followed(group, power, t0, boots) for group in groups]

    def can_take(self, nodes: list[int]) -> bool:
        return all(group.can_take(some) for group, some in zip(self.groups, nodes, strict=True))

    def free(self, nodes: list[int], now: float) -> None:
        self._doze(now)
        for group, some in zip(self.groups, nodes, strict=True):
            group.idle += [now] * some
            group.freed += [now] * some
            owed = min(some, group.owed)
            group.owed -= owed
            group.change(owed, now)

    def change(self, which: int, closed: int, now: float) -> None:
        # Nodes of a group close, or open (below 0).
        self._doze(now)
        self.groups[which].change(closed, now)

    def take(self, nodes: list[int], now: float) -> float:
        self._doze(now)
        return max([now, *(group.take(some, now) for group, some in zip(self.groups, nodes, strict=True) if some)])

    def end(self) -> None:
        self._doze(self.last)
        for group in self.groups:
            group.end(self.last)

    def _doze(self, now: float) -> None:
        power = self.power
        for group in self.groups:
            group.come(now)
        if is_switching(power):
            while waiting := [(one.idle[0], k) for k, one in enumerate(self.groups) if one.awake() > power.keep]:
                since, k = min(waiting)
                due = max(since + power.seconds, self.changed, self.off_gate.opens())
                if due >= now:
                    break
                self.groups[k].idle.pop(0)
                self.groups[k].off.append(self.off_gate.let_pass(due))
        self.changed = now


class _Followed:
    # The nodes of a group without a job: idle ones by when they became idle, off ones by when they began to go off, and
    # booting ones without a job yet by when they will be on.

    def __init__(self, group: NodeGroup, power: object, t0: float, boots: _Gate) -> None:
        self.group, self.power, self.boots = group, power, boots
        self.idle, self.off, self.coming = [t0] * group.count, list[float](), list[float]()
        self.off_times: list[tuple[float, float]] = []  # of a node: when it goes off, when it begins to boot
        self.freed, self.used = [t0] * group.count, list[float]()
        self.cut_off: list[tuple[float, float, float]] = []  # the same of a node that a downtime closes, and when
        self.owed = 0  # nodes that downtimes close as soon as jobs release them

    @property
    def saves_energy(self) -> bool:
        """Return whether shutting down and booting a node take less energy than idling for the same time."""
        group = self.group
        both_ways = _closing(group) * group.shutdown_seconds + _booting(group) * group.boot_seconds
        return both_ways < group.idle_watts * (group.shutdown_seconds + group.boot_seconds)

    def can_take(self, nodes: int) -> bool:
        return nodes <= len(self.idle) + len(self.off) + len(self.coming)

    def change(self, closed: int, now: float) -> None:
        opened = max(-closed, 0)
        paid = min(opened, self.owed)
        self.owed -= paid
        self.idle += [now] * (opened - paid)
        for _ in range(closed):
            if self.off:
                self.cut_off.append((self.off.pop(), math.inf, now))
            elif self.idle:
                self.idle.pop(0)
            elif self.coming:
                ready = self.coming.pop()
                cut = next(one for one in reversed(self.off_times) if one[1] + self.group.boot_seconds == ready)
                self.off_times.remove(cut)
                self.cut_off.append((*cut, now))
            else:
                self.owed += 1

    def awake(self) -> int:
        return len(self.idle) + len(self.coming)

    def come(self, now: float) -> None:
        while self.coming and self.coming[0] <= now:
            insort(self.idle, self.coming.pop(0))

    def take(self, nodes: int, now: float) -> float:
        ready = now
        self.used += [now] * nodes
        for _ in range(nodes):
            if self.idle:
                self._used(self.idle.pop(), now)
                continue
            ready = max(ready, self.coming.pop(0) if self.coming else self._boot(now))
        while isinstance(self.power, Reserve) and self.off and self.awake() < self.power.nodes:
            self.coming.append(self._boot(now))
        return ready

    def _boot(self, now: float) -> float:
        went = self.off.pop(0)
        boot = self.boots.admit(now, max(now, went + self.group.shutdown_seconds))
        self.off_times.append((went, boot))
        return boot + self.group.boot_seconds

    def _used(self, since: float, now: float) -> None:
        group = self.group
        if is_switching(self.power):
            return
        asleep = now - since - group.shutdown_seconds - group.boot_seconds
        closing, boot = _closing(group) * group.shutdown_seconds, _booting(group) * group.boot_seconds
        if asleep >= 0 and closing + boot + _off(group) * asleep < group.idle_watts * (now - since):
            self.off_times.append((since, now - group.boot_seconds))

    def end(self, last: float) -> None:
        self.off_times += [(went, math.inf) for went in self.off]
        if is_switching(self.power):
            return
        for since in self.idle:
            gap, closing = last - since, min(last - since, self.group.shutdown_seconds)
            if _closing(self.group) * closing + _off(self.group) * (gap - closing) < self.group.idle_watts * gap:
                self.off_times.append((since, math.inf))


def _off(group: NodeGroup) -> float:
    return group.idle_watts if group.off_watts is None else group.off_watts


def _booting(group: NodeGroup) -> float:
    return group.busy_watts if group.boot_watts is None else group.boot_watts


def _closing(group: NodeGroup) -> float:
    return group.idle_watts if group.shutdown_watts is None else group.shutdown_watts


def _drawn(group: NodeGroup, cluster: int, off_times: list[tuple[float, float, float]]) -> Iterator[Stretch]:
    for went, boot, last in off_times:
        down = went + group.shutdown_seconds
        up = boot + group.boot_seconds
        states = ((went, down, _closing(group)), (down, boot, _off(group)), (boot, up, _booting(group)))
        for begin, end, watts in states:
            if begin < min(end, last):
                yield Stretch(cluster, begin, min(end, last), watts - group.idle_watts)


def broken_boots(runs: Runs, schedule: Schedule, off_times: OffTimes) -> Iterator[str]:
    """Yield an error for each run that does not start at the time at which its nodes are on.

    Also for each job that is promised more nodes than are free or off, or promised nodes before its submit.
    """
    if schedule.federation.power is None:
        return
    for i in off_times.short:
        yield f"{job_name(schedule, runs.job[i])}: it is promised more nodes than are free or off."
    if off_times.short:
        return
    start, promises = runs.all.start, schedule.promises
    for i in np.flatnonzero(np.maximum(start, schedule.t0) != np.array(off_times.ready)).tolist():
        job, ready = job_name(schedule, runs.job[i]), off_times.ready[i]
        yield f"{job}: it starts at {start[i]:.17g}, but its nodes are on at {ready:.17g}."
    if promises is not None:
        for row in np.flatnonzero(promises.time < schedule.workload.submit).tolist():
            yield f"{job_name(schedule, row)}: it is promised nodes at {promises.time[row]:g}, before its submit."


def switching_measures(runs: Runs, schedule: Schedule, off_times: OffTimes) -> dict[str, float]:
    """Return the metrics `switches`, how often nodes went off, and `boot_wait`, the mean wait for boots in seconds.

    Empty without power saving.
    """
    if schedule.federation.power is None:
        return {}
    since = runs.all.start if schedule.promises is None else schedule.promises.time[runs.job]
    return {"switches": float(off_times.switches), "boot_wait": float((runs.all.start - since).mean())}
