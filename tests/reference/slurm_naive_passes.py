"""The passes of Slurm's naive reference, the main scheduler's and backfill's, and which nodes they choose."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reference.slurm_naive_limits import ALL, AMOUNTS, has_too_many_jobs, is_full, is_over, is_still_over, left_of_array
from reference.slurm_naive_site import FOREVER

if TYPE_CHECKING:
    from reference.slurm_naive import Play
    from reference.slurm_naive_site import Job, Site


def chosen_of(site: Site, free: set[int], tasks: int) -> set[int]:
    """Return the nodes that a job of so many tasks is given of the free ones."""
    weight = site.weights if site.cons_tres else [0] * site.nodes
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


def main_pass(play: Play, now: int, depth: int) -> None:
    """Let the main scheduler look at the queue, at one job more than so many."""
    site = play.site
    withdrawn: set[int] = set()
    failed: set[int] = set()
    failed_in: set[int] = set()
    started = 0
    of_part: dict[int, int] = {}
    for head in play.in_order():
        if depth < 0:
            return
        if head.reservation is None and head.partition in failed:
            continue
        if head.reservation is not None and (head.reservation in failed_in or not play.in_time(head, now)):
            continue
        if is_still_over(site, head, play.running()):
            continue
        if site.partition_job_depth and of_part.get(head.partition, 0) >= site.partition_job_depth:
            continue
        of_part[head.partition] = of_part.get(head.partition, 0) + 1
        depth -= 1
        job: Job | None = head
        while job is not None and not is_full(site, job, play.running()):
            left = site.partitions[job.partition] - withdrawn
            if job.reservation is None and play.of_whole_nodes and len(left) < job.tasks:
                failed.add(job.partition)
                withdrawn |= site.partitions[job.partition]
                break
            up = set(job.may) - play.closed(job, now)[0]
            free = play.idle(up) - withdrawn
            play.looks_for(job, free)
            if is_over(site, job, play.running(), ALL):
                if site.limits_stop and job.reservation is not None:
                    failed_in.add(job.reservation)
                elif site.limits_stop and play.holds_up(job, now):
                    failed.add(job.partition)
                    withdrawn |= site.partitions[job.partition]
                break
            if play.fits(free, job):
                nodes = play.chosen(play.first_lines(free, job), job)
                if not play.within_limits(job, nodes):
                    break
                play.begin(job, now, nodes, "main")
                started += 1
                if started == site.sched_max_job_start:
                    return
                job = play.next_task(job)
                continue
            play.finds_none(job)
            if play.fits(up, job) or up & play.busy:
                if job.reservation is not None:
                    failed_in.add(job.reservation)
                elif play.holds_up(job, now):
                    failed.add(job.partition)
                    withdrawn |= site.partitions[job.partition]
            break


@dataclass
class BackfillPass:
    """One pass of backfill, and its table: from when until when which nodes are left."""

    play: Play
    now: int
    turns: list[int] = field(default_factory=list)  # how many jobs have been tested as the next second begins
    most: int | None = None  # jobs, after which it breaks off
    records: list[tuple[int, int, set[int]]] = field(default_factory=list)
    reserved_in: dict[int, int] = field(default_factory=dict)  # each partition

    def run(self) -> None:
        """Look at the queue, job after job."""
        site, play, now = self.play.site, self.play, self.now
        everything = set(range(site.nodes))
        self.records = [(self._down(now), self._down(now + site.bf_window), everything)]
        before, looked, started = play.tests, 0, 0
        of_user: dict[int, int] = {}
        of_part: dict[int, int] = {}
        of_there: dict[tuple[int, int], int] = {}
        of_assoc: dict[tuple[int, str], int] = {}
        for job in play.in_order():
            while self.turns and self.turns[0] <= looked:
                self.now += 1
                self.turns.pop(0)
            if looked == self.most:
                return
            if looked >= site.bf_max_job_test or (site.rate and play.tests - before >= site.bf_max_time * site.rate):
                return
            if has_too_many_jobs(site, job, play.running()) or not play.in_time(job, self.now):
                continue
            if site.bf_max_job_part:
                if of_part.get(job.partition, 0) >= site.bf_max_job_part:
                    continue
                of_part[job.partition] = of_part.get(job.partition, 0) + 1
            there = job.user, job.partition
            if site.bf_max_job_user_part:
                if of_there.get(there, 0) >= site.bf_max_job_user_part:
                    continue
                of_there[there] = of_there.get(there, 0) + 1
            whose = job.user, job.account
            if site.bf_max_job_assoc:
                if of_assoc.get(whose, 0) >= site.bf_max_job_assoc:
                    continue
                of_assoc[whose] = of_assoc.get(whose, 0) + 1
            if site.bf_max_job_user:
                if of_user.get(job.user, 0) >= site.bf_max_job_user:
                    continue
                of_user[job.user] = of_user.get(job.user, 0) + 1
            looked += 1
            task: Job | None = job
            reserved = 0
            while task is not None and not is_full(site, task, play.running()):
                outcome = self._test(task)
                if outcome == "started":
                    started += 1
                    if started == site.bf_max_job_start:
                        return
                    task = play.next_task(task)
                    continue
                reserved += 1
                tasks = sum(
                    one is task or bool(task.array and one.array == task.array and not task.alone and not one.alone)
                    for one in play.waiting
                )
                most = min(tasks, site.bf_max_job_array_resv, left_of_array(site, task, play.running()))
                if outcome == "nothing" or reserved >= most:
                    break

    def _down(self, time: int) -> int:
        resolution, epoch = self.play.site.bf_resolution, self.play.site.epoch
        return (time + epoch) // resolution * resolution - epoch

    def _test(self, job: Job) -> str:
        """Start a job, reserve nodes for it, or neither; return which."""
        site, play, now = self.play.site, self.play, self.now
        most = site.bf_job_part_count_reserve
        may_reserve = play.holds_up(job, now) and "noreserve" not in site.qos.get(job.qos, ())
        may_reserve = may_reserve and (not most or self.reserved_in.get(job.partition, 0) < most)
        if is_over(site, job, play.running(), AMOUNTS):
            play.tests += 1
            return "nothing"
        later: int | None = now
        while later is not None:
            play.tests += 1
            since, later = later, None
            until = max(since, now) + job.limit
            shut, reserved = play.closed(job, since)
            may = set(job.may) - shut
            own = [
                one.nodes for one in site.windows if job.reservation is not None and one.reservation == job.reservation
            ]
            within = site.partitions[job.partition].intersection(*own) - shut
            avail, there = set(may), set(within)
            for k, (begin, end, left) in enumerate(self.records):
                if end <= since:
                    continue
                if later is None and k + 1 < len(self.records) and within & self.records[k + 1][2] - (there & left):
                    later = end
                if begin > until:
                    break
                avail &= left
                there &= left
            over = self._next_end(since) if reserved else None
            if over is not None and over < now + site.bf_window and (later is None or over < later):
                later = over
            time, nodes = self._will_run(avail, job) if play.may_fit(avail, job) else (None, set())
            if time is None:
                if not may_reserve:
                    return "nothing"
                continue
            time = max(time, since)
            if time <= now and nodes & play.completing:
                time, later = now + 1, None
            if time <= now and is_over(site, job, play.running(), ALL):
                return "nothing"
            if time <= now:
                nodes = play.chosen_at_last(avail, job, nodes)
                if not play.within_limits(job, nodes):
                    return "nothing"
                play.begin(job, now, nodes, "backfill")
                return "started"
            if not may_reserve:
                return "nothing"
            if later is not None and time > later:
                continue
            if time > now + site.bf_window:
                return "nothing"
            begin, end = self._down(time), self._down(time + job.limit)
            if any(a < end and b > begin and nodes - left for a, b, left in self.records):
                later = time
                continue
            self._reserve(nodes, begin, end)
            self.reserved_in[job.partition] = self.reserved_in.get(job.partition, 0) + 1
            return "reserved"
        return "nothing"

    def _next_end(self, since: int) -> int | None:
        """Return the second behind the next end of a reservation, that being rounded up."""
        standing = [one for one in self.play.site.windows if not one.broken and one.known <= self.play.now < one.end]
        ends = [one.planned_end for one in standing if since <= one.planned_end < FOREVER]
        if not ends:
            return None
        resolution, epoch = self.play.site.bf_resolution, self.play.site.epoch
        return -(-(min(ends) + epoch) // resolution) * resolution - epoch + 1

    def _reserve(self, nodes: set[int], begin: int, end: int) -> None:
        begin = max(begin, self.records[0][0])
        end = max(end, begin + self.play.site.bf_resolution)
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

    def _fits_then(self, avail: set[int], mine: Job, over: list[Job]) -> bool:
        left = self.play.left(avail, over)
        self.play.looks_ahead(mine, left, over)
        return self.play.fits(left, mine, over)

    def _will_run(self, avail: set[int], mine: Job) -> tuple[int | None, set[int]]:
        site, play, now = self.play.site, self.play, self.now
        over: list[Job] = []
        if self._fits_then(avail, mine, over):
            return now, play.chosen_ahead(play.left(avail, over), mine, over)
        running = [(job.start + job.limit, k, job) for k, job in enumerate(play.jobs)
                   if job.start is not None and job.nodes <= play.busy and play.end(job) > play.now]  # fmt: skip
        running.sort(key=lambda one: one[:2])
        ends = [(end, job.nodes, job) for end, _, job in running]
        if not site.cons_tres:
            for end, _, job in ends:
                over.append(job)
                if self._fits_then(avail, mine, over):
                    return max(end, now + 1), play.chosen_ahead(play.left(avail, over), mine, over)
            return None, set()
        there = [k for k, (_, nodes, _) in enumerate(ends) if nodes & avail]
        if not there:
            return None, set()
        first = (ends[there[0]][0] + site.epoch) // 30 * 30 + 30 - site.epoch
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
            over += [ends[one][2] for one in group]
            width = self._wider(width)
            while k < len(ends) and ends[k][0] > first + width:
                width = self._wider(width)
            if self._fits_then(avail, mine, over):
                last, chosen = ends[group[-1]][0], play.chosen_ahead(play.left(avail, over), mine, over)
                return (last if last > now else max(now + 1, last + site.overdue)), chosen
        return None, set()

    def _wider(self, width: int) -> int:
        linear = self.play.site.bf_window_linear
        return width + linear if linear else 2 * width
