"""Slurm's two schedulers on whole nodes, second by second, with sets of node numbers: slow, plain, independent."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

FOREVER = 10**9


@dataclass
class Job:
    eligible: int
    tasks: int
    limit: int
    runtime: int
    completing: int
    user: int
    partition: int
    may: frozenset[int]
    priority: int = 0
    start: int | None = None
    by: str = ""
    nodes: frozenset[int] = frozenset()


@dataclass
class Site:
    """What a slurm.conf says, in seconds; partitions are sets of nodes with their tiers."""

    nodes: int
    partitions: list[frozenset[int]]
    tiers: list[int]
    weights: list[int]
    backfill: bool = True
    cons_tres: bool = False
    sched_interval: int = 60
    batch_sched_delay: int = 3
    default_queue_depth: int = 100
    bf_interval: int = 30
    bf_resolution: int = 60
    bf_window: int = 86_400
    bf_window_linear: int = 0
    bf_max_job_test: int = 500
    bf_max_job_user: int = 0
    bf_max_job_part: int = 0
    bf_max_job_start: int = 0
    bf_min_age_reserve: int = 0
    bf_max_time: int = 30
    overdue: int = 30
    epoch: int = 0
    phase: int = 0
    rate: int = 0  # tests a second; 0: passes take no time
    given: list[int] | None = None  # when backfill passes are
    age: int = 0  # weight; with that of the size: priorities change at ticks
    size: int = 0
    max_age: int = 1000
    period: int = 0  # of the ticks; 0: priorities are the order of the jobs
    first_tick: int = 0


@dataclass
class Play:
    site: Site
    jobs: list[Job]
    waiting: list[Job] = field(default_factory=list)
    tests: int = 0

    def run(self) -> None:
        site, first = self.site, min(job.eligible for job in self.jobs)
        last_main, wanted, next_main = -site.batch_sched_delay, FOREVER, first + site.sched_interval
        next_pass, last_pass, changed, blocked = first + site.phase, first - 1, first, 0
        next_tick, given = site.first_tick if site.period else FOREVER, list(site.given or ())
        cleared: set[int] = set()
        now = -1
        while any(job.start is None or self._end(job) > now for job in self.jobs):
            now += 1
            if now < blocked:
                continue
            freed = False
            for number, job in enumerate(self.jobs):
                if number not in cleared and job.start is not None and self._end(job) + job.completing <= now:
                    cleared.add(number)
                    freed = True
            self.busy = {
                n for k, job in enumerate(self.jobs) if job.start is not None and k not in cleared for n in job.nodes
            }
            self.completing = {
                n for k, job in enumerate(self.jobs)
                if job.start is not None and k not in cleared and self._end(job) <= now for n in job.nodes
            }  # fmt: skip
            while next_tick <= now:
                for job in self.waiting:
                    self._prioritise(job, next_tick)
                next_tick += site.period
            came = [job for job in self.jobs if job.eligible <= now and job.start is None and job not in self.waiting]
            for job in came:
                self._prioritise(job, now)
            self.waiting += came
            if came:
                wanted = min(wanted, max(now, last_main + site.batch_sched_delay))
            if came or freed:
                changed = now
            if site.sched_interval >= 0 and (freed or wanted <= now or (next_main <= now and self.waiting)):
                self._main(now, len(self.jobs) if next_main <= now else site.default_queue_depth)
                last_main = now
                wanted = FOREVER if wanted <= now else wanted
                next_main = now + site.sched_interval if next_main <= now else next_main
            if not site.backfill:
                continue
            if site.given is not None:
                if given and given[0] <= now:
                    given = [one for one in given if one > now]
                    self._backfill(now)
            elif next_pass <= now and (self.waiting or changed >= last_pass):
                before = self.tests
                self._backfill(now)
                seconds = (self.tests - before) // site.rate if site.rate else 0
                last_pass, blocked = now, now + seconds
                next_pass = now + seconds + site.bf_interval

    def _end(self, job: Job) -> int:
        assert job.start is not None
        return job.start + job.runtime

    def _prioritise(self, job: Job, now: int) -> None:
        if not self.site.period:
            return
        size = (job.tasks / self.site.nodes + job.tasks / self.site.nodes) / 2
        age = min(1.0, (now - job.eligible) / self.site.max_age)
        job.priority = max(1, int(age * self.site.age + size * self.site.size))

    def _in_order(self) -> list[Job]:
        number = {id(job): k for k, job in enumerate(self.jobs)}
        return sorted(self.waiting, key=lambda job: (-self.site.tiers[job.partition], -job.priority, number[id(job)]))

    def _begin(self, job: Job, now: int, nodes: set[int], by: str) -> None:
        job.start, job.nodes, job.by = now, frozenset(nodes), by
        self.busy |= nodes
        self.waiting.remove(job)

    # ---- which nodes --------------------------------------------------------------------------------------------

    def _choose(self, free: set[int], tasks: int) -> set[int]:
        weight = self.site.weights if self.site.cons_tres else [0] * self.site.nodes
        blocks: list[list[int]] = []
        for node in sorted(free):
            if blocks and blocks[-1][-1] == node - 1 and weight[node] == weight[node - 1]:
                blocks[-1].append(node)
            else:
                blocks.append([node])
        chosen: set[int] = set()
        while (left := tasks - len(chosen)) > 0:
            cheap = min(weight[block[0]] for block in blocks)
            among = [block for block in blocks if weight[block[0]] == cheap]
            enough = [block for block in among if len(block) >= left]
            best = min(enough, key=len) if enough else max(among, key=len)  # the first of equal ones
            chosen |= set(best[:left])
            blocks.remove(best)
        return chosen

    # ---- the main scheduler -------------------------------------------------------------------------------------

    def _main(self, now: int, depth: int) -> None:
        withdrawn: set[int] = set()
        failed: set[int] = set()
        for job in self._in_order():
            if job.partition in failed:
                continue
            if depth == 0:
                return
            depth -= 1
            free = set(job.may) - self.busy - withdrawn
            if len(free) >= job.tasks:
                self._begin(job, now, self._choose(free, job.tasks), "main")
            else:
                failed.add(job.partition)
                withdrawn |= self.site.partitions[job.partition]

    # ---- backfill -----------------------------------------------------------------------------------------------

    def _down(self, time: int) -> int:
        resolution = self.site.bf_resolution
        return (time + self.site.epoch) // resolution * resolution - self.site.epoch

    def _backfill(self, now: int) -> None:
        site, everything = self.site, set(range(self.site.nodes))
        self.records = [(self._down(now), self._down(now + site.bf_window), everything)]
        before, looked, started = self.tests, 0, 0
        of_user: dict[int, int] = {}
        of_part: dict[int, int] = {}
        for job in self._in_order():
            if looked >= site.bf_max_job_test or (site.rate and self.tests - before >= site.bf_max_time * site.rate):
                return
            if site.bf_max_job_part:
                if of_part.get(job.partition, 0) >= site.bf_max_job_part:
                    continue
                of_part[job.partition] = of_part.get(job.partition, 0) + 1
            if site.bf_max_job_user:
                if of_user.get(job.user, 0) >= site.bf_max_job_user:
                    continue
                of_user[job.user] = of_user.get(job.user, 0) + 1
            looked += 1
            if self._try(job, now):
                started += 1
                if started == site.bf_max_job_start:
                    return

    def _try(self, job: Job, now: int) -> bool:
        site = self.site
        may_reserve = now - job.eligible >= site.bf_min_age_reserve
        later: int | None = now
        while later is not None:
            self.tests += 1
            since, later = later, None
            until = max(since, now) + job.limit
            avail = set(job.may)
            for k, (begin, end, left) in enumerate(self.records):
                if end <= since:
                    continue
                if later is None and k + 1 < len(self.records) and job.may & self.records[k + 1][2] - (avail & left):
                    later = end
                if begin > until:
                    break
                avail &= left
            time, nodes = self._will_run(now, avail, job.tasks) if len(avail) >= job.tasks else (None, set())
            if time is None:
                if not may_reserve:
                    return False
                continue
            time = max(time, since)
            if time <= now and nodes & self.completing:
                time, later = now + 1, None
            if time <= now:
                self._begin(job, now, nodes, "backfill")
                return True
            if not may_reserve:
                return False
            if later is not None and time > later:
                continue
            if time > now + site.bf_window:
                return False
            begin, end = self._down(time), self._down(time + job.limit)
            if any(a < end and b > begin and nodes - left for a, b, left in self.records):
                later = time
                continue
            self._reserve(nodes, begin, end)
            return False
        return False

    def _reserve(self, nodes: set[int], begin: int, end: int) -> None:
        begin = max(begin, self.records[0][0])
        end = max(end, begin + self.site.bf_resolution)
        cuts = sorted({edge for a, b, _ in self.records for edge in (a, b)} | {
            edge for edge in (begin, end) if self.records[0][0] < edge < self.records[-1][1]
        })  # fmt: skip
        pieces: list[tuple[int, int, set[int]]] = []
        for a, b in itertools.pairwise(cuts):
            [left] = [set(left) for x, y, left in self.records if x <= a and b <= y]
            left -= nodes if a >= begin and b <= end else set()
            if pieces and pieces[-1][2] == left:
                pieces[-1] = (pieces[-1][0], b, left)
            else:
                pieces.append((a, b, left))
        self.records = pieces

    def _will_run(self, now: int, avail: set[int], tasks: int) -> tuple[int | None, set[int]]:
        free = avail - (self.busy - self.completing)
        if len(free) >= tasks:
            return now, self._choose(free, tasks)
        running = [(job.start + job.limit, k, job) for k, job in enumerate(self.jobs)
                   if job.start is not None and job.nodes <= self.busy and self._runs(job, now)]  # fmt: skip
        running.sort(key=lambda one: one[:2])
        ends = [(end, job.nodes) for end, _, job in running]
        if not self.site.cons_tres:
            for end, nodes in ends:
                free |= nodes & avail
                if len(free) >= tasks:
                    return max(end, now + 1), self._choose(free, tasks)
            return None, set()
        mine = [k for k, (_, nodes) in enumerate(ends) if nodes & avail]
        if not mine:
            return None, set()
        epoch = self.site.epoch
        first = (ends[mine[0]][0] + epoch) // 30 * 30 + 30 - epoch
        width, k = 30, 0
        while k < len(ends):
            group: list[int] = []
            while k < len(ends):  # a group ends before the first that is beyond its window
                if ends[k][1] & avail:
                    group.append(k)
                k += 1
                if group and k < len(ends) and group[-1] == k - 1 and ends[k][0] > first + width:
                    break
            if not group:
                break
            for one in group:
                free |= ends[one][1] & avail
            width = self._wider(width)
            while k < len(ends) and ends[k][0] > first + width:
                width = self._wider(width)
            if len(free) >= tasks:
                last = ends[group[-1]][0]
                return (last if last > now else max(now + 1, last + self.site.overdue)), self._choose(free, tasks)
        return None, set()

    def _runs(self, job: Job, now: int) -> bool:
        return job.start is not None and self._end(job) > now

    def _wider(self, width: int) -> int:
        return width + self.site.bf_window_linear if self.site.bf_window_linear else 2 * width


def whole(seconds: float) -> int:
    """Return the first whole second that is not before a time."""
    return math.ceil(seconds)
