"""Recompute the claimed drain loss (nodes that idle before known downtimes) from starts, ends and the calendar.

It shares no code with what computes the claims; reading 47 is implemented anew.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.jobs.admission import usable_groups
from fedsched.model.jobs.pool_demands import needs_on
from fedsched.model.time.downtimes import closures_of
from fedsched.model.verify.tasks_per_node_check import of_different_numbers, places_in, tasks_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.verify.limits_check import Shares
    from fedsched.model.verify.lost_nodes_check import Runs


class Drains:
    """A schedule that is replayed, with the number of nodes lost from each instant until the next."""

    def __init__(self, schedule: Schedule, runs: Runs, shares: Shares, inside: NDArray[np.bool_]) -> None:
        federation, workload, gone = schedule.federation, schedule.workload, runs.in_vain
        self.closures = closures_of(federation)
        self.start, self.end = runs.all.start.tolist(), runs.all.finish.tolist()
        self.since = np.minimum(runs.since, runs.all.start).tolist() + gone.since.tolist()
        self.leaves = gone.until.tolist()
        self.job = runs.job.tolist() + gone.job.tolist()
        self.counts = runs.all.counts
        self.asked = [not inside[job] for job in self.job]
        self.tasks, self.wanted = workload.tasks, workload.tasks.copy()
        self.usable = usable_groups(workload, federation)
        self.places = self.usable.astype(np.int64)  # per node: 1, or the tasks that it holds (reading 76)
        for row in of_different_numbers(workload).tolist():
            self.wanted[row] = tasks_of(workload)[row]
            self.places[row] *= places_in(workload, federation, row, self.places[row])
        self.planned = self._least(schedule)
        self.needs, self.shares = needs_on(workload, federation), shares
        self.nodes = np.array([group.count for group in federation.groups])
        self.held, self.closed = np.zeros_like(self.nodes), np.zeros_like(self.nodes)
        self.pools = np.array([pool.amount for pool in federation.pools], dtype=np.int64)
        self.waiting: set[int] = set()
        self.begins = np.sort(self.closures.begin).tolist()
        self.ahead = sorted(self._ahead())
        self.ahead_times = [time for time, _, _ in self.ahead]

    def loss(self, t0: float) -> float:
        """Return the node-seconds that are lost from t0 to the last end."""
        last = max(self.end)
        events = [(time, 2, run) for run, time in enumerate(self.since)]
        events += [(time, 4, len(self.start) + k) for k, time in enumerate(self.leaves)]
        events += [(time, 5, 0) for time in (t0, *self.closures.known_from[np.isfinite(self.closures.known_from)])]
        events = sorted([*self.ahead, *events])
        total = 0.0
        for (time, kind, which), (then, _, _) in zip(events, [*events[1:], (last, 5, 0)], strict=True):
            if time >= last:
                break
            self._take(kind, which)
            if then > time >= t0:
                total += self._lost(time) * (min(then, last) - time)
        return total

    def _ahead(self) -> list[tuple[float, int, int]]:
        # Events that free or take nodes: 0 ends, 1 downtimes (openings before closings), 3 starts.
        found = [(time, 0, run) for run, time in enumerate(self.end)]
        found += [(time, 3, run) for run, time in enumerate(self.start)]
        found += [(time, 1, ~c) for c, time in enumerate(self.closures.end.tolist())]
        return found + [(time, 1, c) for c, time in enumerate(self.closures.begin.tolist())]

    def _take(self, kind: int, which: int) -> None:
        if kind == 2:
            self.waiting.add(which)
        if kind in (3, 4):
            self.waiting.discard(which)
        if kind in (0, 3):
            times = 1 if kind == 3 else -1
            self.held += times * self.counts[which]
            self.pools -= times * self.needs[self.job[which]]
            self.shares.give(self.job[which], self.counts[which].tolist(), times)
        if kind == 1:
            c, sign = (which, 1) if which >= 0 else (~which, -1)
            self.closed[self.closures.group[c]] += sign * self.closures.nodes[c]

    def _lost(self, now: float) -> int:
        free = np.maximum(0, self.nodes - self.held - self.closed)
        coming = bisect_right(self.begins, now)
        if not self.waiting or not free.any() or coming == len(self.begins):
            return 0
        fits = {
            wait: now + self.planned[job]
            for wait in self.waiting
            if self.asked[wait]
            and now + self.planned[job := self.job[wait]] > self.begins[coming]
            and free @ self.places[job] >= self.wanted[job]
            and not (self.needs[job] > self.pools).any()
            and not self.shares.full_for(job)
        }
        return self._kept(now, free, fits) if fits else 0

    def _kept(self, now: float, free: NDArray[np.int64], fits: dict[int, float]) -> int:
        held, closed, place = self.held.copy(), self.closed.copy(), bisect_right(self.ahead_times, now)
        lost, tasks, known = np.zeros_like(free), 0, self.closures.known_from
        while fits and place < len(self.ahead) and (time := self.ahead_times[place]) < max(fits.values()):
            for kinds, by_downtimes in (((0, 1), True), ((3,), False)):
                while place < len(self.ahead) and self.ahead_times[place] == time and self.ahead[place][1] in kinds:
                    _, kind, which = self.ahead[place]
                    place += 1
                    c = max(which, ~which)
                    if kind == 1 and known[c] <= now:
                        closed[self.closures.group[c]] += self.closures.nodes[c] * (1 if which >= 0 else -1)
                    elif kind != 1 and self.since[which] <= now:
                        held += self.counts[which] * (1 if kind == 3 else -1)
                less = np.minimum(free, np.maximum(0, self.nodes - held - closed))
                if (less == free).all():
                    continue
                for wait, until in list(fits.items()):
                    job = self.job[wait]
                    if less @ self.places[job] < self.wanted[job]:
                        del fits[wait]
                        if by_downtimes and time < until:
                            tasks += int(self.tasks[job])
                            lost = np.maximum(lost, free * self.usable[job])
                free = less
        return min(tasks, int(lost.sum()))

    def _least(self, schedule: Schedule) -> list[float]:
        # The least planned run time of each job (reading 12).
        workload, groups = schedule.workload, schedule.federation.groups
        planned = schedule.reading.planned(workload)
        by_speed = sorted(range(len(groups)), key=lambda g: -groups[g].speed)
        room = np.cumsum(self.places[:, by_speed] * [groups[g].count for g in by_speed], axis=1)
        enough = (room < self.wanted[:, None]).sum(axis=1) % len(groups)  # a job that fits nowhere is never counted
        slowest = np.array([groups[g].speed for g in by_speed])[enough]
        sigma = workload.compute_fraction
        least: list[float] = (planned * (sigma / slowest + (1.0 - sigma))).tolist()
        return least


def drain_loss(schedule: Schedule, runs: Runs, shares: Shares, inside: NDArray[np.bool_]) -> float:
    """Return the node-seconds that idled because of known downtimes; `inside`: whether each job is in a reservation."""
    return Drains(schedule, runs, shares, inside).loss(schedule.t0) if schedule.federation.calendar else 0.0
