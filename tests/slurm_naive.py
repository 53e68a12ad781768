"""Slurm's two schedulers on whole nodes, second by second, with sets of node numbers: slow, plain, independent."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

FOREVER = 10**9


@dataclass(eq=False)
class Job:
    submit: int
    earliest: int
    tasks: int
    limit: int
    planned: int
    runtime: int
    completing: int
    user: int
    partition: int
    may: frozenset[int]
    reservation: int | None = None
    after: list[tuple[str, Job, int]] = field(default_factory=list)
    ends: str = "well"  # badly, cancelled
    cancel: int | None = None
    array: str = ""
    limits: dict[int, int] = field(default_factory=dict)  # what it takes of each
    account: str = ""
    qos: str = ""
    priority: int = 0
    start: int | None = None
    by: str = ""
    nodes: frozenset[int] = frozenset()
    since: int = 0  # in the list
    moment: int = 0  # since when it may start
    gone: int | None = None  # when it was cancelled, or could never start


@dataclass
class Window:
    """Nodes that are closed; whose end nobody knows, it is endless until it comes."""

    nodes: frozenset[int]
    begin: int
    end: int
    planned_end: int
    known: int
    reservation: int | None
    broken: bool


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
    bf_max_job_array_resv: int = 20
    bf_min_age_reserve: int = 0
    bf_min_prio_reserve: int = 0
    bf_job_part_count_reserve: int = 0
    bf_max_job_assoc: int = 0
    bf_max_job_user_part: int = 0
    partition_job_depth: int = 0
    sched_max_job_start: int = 0
    limits_stop: bool = False
    qos: dict[str, dict[str, float]] = field(default_factory=dict)  # the limits of each; "noreserve", "overpartqos"
    of_partitions: list[str] = field(default_factory=list)  # the QOS of each partition
    accounts: dict[str, tuple[str, dict[str, float]]] = field(default_factory=dict)  # the account above, and limits
    users: dict[tuple[int, str], dict[str, float]] = field(default_factory=dict)
    cpus: int = 1
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
    windows: list[Window] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)
    array_limits: dict[str, int] = field(default_factory=dict)  # the place of each among the limits
    fifo: bool = False
    lines: list[frozenset[int]] = field(default_factory=list)


@dataclass
class Play:
    site: Site
    jobs: list[Job]
    waiting: list[Job] = field(default_factory=list)
    hopeless: set[int] = field(default_factory=set)
    tests: int = 0

    def run(self) -> None:
        site, first = self.site, min(job.submit for job in self.jobs)
        interval = max(1, site.sched_interval)
        last_main, wanted, next_main = -site.batch_sched_delay, FOREVER, first + site.sched_interval
        next_pass, last_pass, changed, blocked = first + site.phase, first - 1, first, 0
        next_tick, given = site.first_tick if site.period else FOREVER, list(site.given or ())
        cleared: set[int] = set()
        submitted: set[int] = set()
        before, self.now, quiet = -1, -1, 0
        for job in self.jobs:
            job.since, job.moment = job.submit, max(job.submit, job.earliest)
        last = max([*(job.submit for job in self.jobs), *(job.cancel or 0 for job in self.jobs), *given,
                    *(edge for one in site.windows for edge in (one.begin, one.end) if edge < FOREVER)])  # fmt: skip
        while quiet < 700:
            self.now += 1
            now = self.now
            if now < blocked:
                continue
            edges = [e for one in site.windows for e in (one.known, one.begin, one.end) if before < e <= now]
            for job in self.jobs:
                if job.cancel is not None and job.cancel <= now and job.start is None and job.gone is None:
                    self._leaves(job, job.cancel)
            freed = any(before < one.end <= now and one.broken for one in site.windows)
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
            self._drop_the_hopeless()
            while next_tick <= now:
                for job in self.waiting:
                    self._prioritise(job, next_tick)
                next_tick += site.period
            came = False
            for number, job in enumerate(self.jobs):
                if job.submit <= now and number not in submitted:
                    submitted.add(number)
                    came = came or (job.gone is None and id(job) not in self.hopeless)
            joined = False
            for job in self.jobs:
                if job.start is not None or job.gone is not None or job in self.waiting or job.submit > now:
                    continue
                if id(job) in self.hopeless:
                    continue
                moment = self._moment(job)
                if moment is not None and moment <= now:
                    job.moment, joined = moment, True
                    self._prioritise(job, now)
                    while not self.waiting and next_main < now:
                        next_main += interval
                    self.waiting.append(job)
            if came:
                wanted = min(wanted, max(now, last_main + site.batch_sched_delay))
            if came or freed or joined or edges:
                changed = now
            busy = any(job.start is not None and self._end(job) + job.completing > now for job in self.jobs)
            quiet = 0 if now <= last or busy or came or freed or joined else quiet + 1
            before = now
            if site.sched_interval >= 0 and (freed or wanted <= now or (next_main <= now and self.waiting)):
                self._main(now, len(self.jobs) if next_main <= now else site.default_queue_depth)
                last_main = now
                wanted = FOREVER if wanted <= now else wanted
                next_main = now + interval if next_main <= now else next_main
            if not site.backfill:
                continue
            if site.given is not None:
                if given and given[0] <= now:
                    given = [one for one in given if one > now]
                    self._backfill(now)
            elif next_pass <= now and (self.waiting or changed >= last_pass):
                tests = self.tests
                self._backfill(now)
                seconds = (self.tests - tests) // site.rate if site.rate else 0
                last_pass, blocked = now, now + seconds
                next_pass = now + seconds + site.bf_interval

    # ---- who may start ------------------------------------------------------------------------------------------

    def _moment(self, job: Job) -> int | None:
        """Return from when on a job may start; None: it waits for something that has not come."""
        moments = [job.submit, job.earliest]
        for kind, other, lag in job.after:
            if kind == "after":
                come = other.start
            elif other.gone is not None:
                come = other.gone
            else:
                come = self._end(other) if other.start is not None and self._end(other) <= self.now else None
            if come is None:
                return None
            moments.append(come + (max(lag, 1) if kind == "after" else lag))
        return max(moments)

    def _leaves(self, job: Job, when: int) -> None:
        job.gone = when
        if job in self.waiting:
            self.waiting.remove(job)

    def _drop_the_hopeless(self) -> None:
        """Let those go who wait for what cannot happen, or whose reservation is over."""
        ends = {one.reservation: one.end for one in self.site.windows if one.reservation is not None}
        changed = True
        while changed:
            changed = False
            for job in self.jobs:
                if job.start is not None or job.gone is not None:
                    continue
                never = job.reservation is not None and ends[job.reservation] <= self.now
                if never or any(self._cannot_hold(kind, other) for kind, other, _ in job.after):
                    self.hopeless.add(id(job))
                    if job in self.waiting:
                        self.waiting.remove(job)
                    if job.cancel is None:  # else that is its end
                        job.gone, changed = self.now, True

    def _cannot_hold(self, kind: str, other: Job) -> bool:
        if other.gone is not None:
            told = other.cancel is not None and other.gone == other.cancel
            return not (told and kind == "afterany")
        over = other.start is not None and self._end(other) <= self.now
        wanted = {"afterok": "well", "afternotok": "badly"}.get(kind)
        return over and wanted is not None and other.ends != wanted

    def _is_full(self, job: Job) -> bool:
        held = [one for one in self.jobs if one.start is not None and self._end(one) > self.now]
        own = any(
            part + sum(one.limits.get(c, 0) for one in held) > self.site.limits[c] for c, part in job.limits.items()
        )
        return own or (bool(self.site.accounts) and self._is_over_of_accounts(job, held))

    def _qualities(self, job: Job) -> list[str]:
        of_partition = self.site.of_partitions[job.partition]
        if of_partition in ("", job.qos):
            return [job.qos]
        both = [of_partition, job.qos]
        return both[::-1] if "overpartqos" in self.site.qos[job.qos] else both

    def _above(self, account: str) -> list[str]:
        return [account, *(self._above(self.site.accounts[account][0]) if self.site.accounts[account][0] else ())]

    def _is_over_of_accounts(self, job: Job, held: list[Job]) -> bool:
        """Return whether one more job like this would be over a limit of its QOS, its user or an account."""
        site, qualities, above = self.site, self._qualities(job), self._above(job.account)

        def amount(one: Job, what: str) -> float:
            return {"jobs": 1, "node": one.tasks, "cpu": one.tasks * site.cpus}[what]

        def over(most: float, what: str, others: list[Job]) -> bool:
            return sum(amount(one, what) for one in others) + amount(job, what) > most

        def same(one: Job, whose: str) -> bool:
            return {"": True, "user": one.user == job.user, "account": one.account == job.account}[whose]

        for what in ("jobs", "node", "cpu"):
            for kind, whose in (("grp", ""), ("pu", "user"), ("pa", "account")):
                name = f"{kind}{what}"
                q = next((q for q in qualities if name in site.qos[q]), None)
                if q is not None:
                    mine = [one for one in held if q in self._qualities(one) and same(one, whose)]
                    if over(site.qos[q][name], what, mine):
                        return True
                    continue
                if kind == "grp":
                    for account in above:
                        inside = [one for one in held if account in self._above(one.account)]
                        if over(site.accounts[account][1].get(name, math.inf), what, inside):
                            return True
                if name == "pujobs":
                    places = [site.users[job.user, job.account], *(site.accounts[one][1] for one in above)]
                    most = next((place["maxjobs"] for place in places if "maxjobs" in place), math.inf)
                    if over(most, what, [one for one in held if same(one, "user") and same(one, "account")]):
                        return True
        return False

    def _holds_up(self, job: Job, now: int) -> bool:
        least = self.site.bf_min_prio_reserve
        return now - job.moment >= self.site.bf_min_age_reserve and (not least or job.priority >= least)

    def _closed(self, job: Job, since: int) -> tuple[set[int], bool]:
        """Return the nodes that are closed while a job would run from then on, and whether reservations close some."""
        shut: set[int] = set()
        reserved = False
        for one in self.site.windows:
            if one.reservation is not None and one.reservation == job.reservation:
                continue
            if one.known <= self.now < one.end and one.begin < since + job.limit and one.planned_end > since:
                reserved = reserved or (not one.broken and bool(one.nodes & (set(job.may) - shut)))
                shut |= one.nodes
        return shut, reserved

    def _in_time(self, job: Job) -> bool:
        ends = {one.reservation: one.end for one in self.site.windows}
        return job.reservation is None or self.now + job.planned <= ends[job.reservation]

    def _end(self, job: Job) -> int:
        assert job.start is not None
        return job.start + job.runtime

    def _prioritise(self, job: Job, now: int) -> None:
        if not self.site.period:
            return
        size = (job.tasks / self.site.nodes + job.tasks / self.site.nodes) / 2
        age = min(1.0, (now - job.moment) / self.site.max_age)
        job.priority = max(1, int(age * self.site.age + size * self.site.size))

    def _in_order(self) -> list[Job]:
        number = {id(job): k for k, job in enumerate(self.jobs)}
        firsts: dict[str, Job] = {}
        for job in self.waiting:
            record = job.array or str(number[id(job)])
            firsts[record] = min(firsts.get(record, job), job, key=lambda one: number[id(one)])
        if self.site.fifo:
            return sorted(firsts.values(), key=lambda job: (job.since, number[id(job)]))
        return sorted(
            firsts.values(),
            key=lambda job: (job.reservation is None, -self.site.tiers[job.partition], -job.priority, number[id(job)]),
        )

    def _next_task(self, job: Job) -> Job | None:
        number = {id(one): k for k, one in enumerate(self.jobs)}
        mine = [one for one in self.waiting if job.array and one.array == job.array]
        return min(mine, key=lambda one: number[id(one)], default=None)

    def _begin(self, job: Job, now: int, nodes: set[int], by: str) -> None:
        job.start, job.nodes, job.by = now, frozenset(nodes), by
        self.busy |= nodes
        self.waiting.remove(job)
        for one in self.waiting:
            if job.array and one.array == job.array:
                one.since = now

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
        failed_in: set[int] = set()
        started = 0
        of_part: dict[int, int] = {}
        for head in self._in_order():
            if depth < 0:
                return
            if head.reservation is None and head.partition in failed:
                continue
            if head.reservation is not None and (head.reservation in failed_in or not self._in_time(head)):
                continue
            if self._is_full(head):
                if self.site.limits_stop and head.reservation is None:
                    failed.add(head.partition)
                    withdrawn |= self.site.partitions[head.partition]
                continue
            if self.site.partition_job_depth and of_part.get(head.partition, 0) >= self.site.partition_job_depth:
                continue
            of_part[head.partition] = of_part.get(head.partition, 0) + 1
            depth -= 1
            job: Job | None = head
            while job is not None and not self._is_full(job):
                up = set(job.may) - self._closed(job, now)[0]
                free = up - withdrawn - self.busy
                if len(free) >= job.tasks:
                    self._begin(job, now, self._choose(self._first_lines(free, job.tasks), job.tasks), "main")
                    started += 1
                    if started == self.site.sched_max_job_start:
                        return
                    job = self._next_task(job)
                    continue
                if len(up) >= job.tasks or up & self.busy:
                    if job.reservation is not None:
                        failed_in.add(job.reservation)
                    elif self._holds_up(job, now):
                        failed.add(job.partition)
                        withdrawn |= self.site.partitions[job.partition]
                break

    def _first_lines(self, free: set[int], tasks: int) -> set[int]:
        if self.site.cons_tres:
            return free
        some: set[int] = set()
        for line in self.site.lines:
            some |= free & line
            if len(some) >= tasks:
                break
        return some

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
        of_there: dict[tuple[int, int], int] = {}
        of_assoc: dict[tuple[int, str], int] = {}
        self.reserved_in: dict[int, int] = {}
        for job in self._in_order():
            if looked >= site.bf_max_job_test or (site.rate and self.tests - before >= site.bf_max_time * site.rate):
                return
            if self._is_full(job) or not self._in_time(job):
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
            while task is not None and not self._is_full(task):
                outcome = self._try(task, now)
                if outcome == "started":
                    started += 1
                    if started == site.bf_max_job_start:
                        return
                    task = self._next_task(task)
                    continue
                reserved += 1
                tasks = sum(one is task or bool(task.array and one.array == task.array) for one in self.waiting)
                if outcome == "nothing" or reserved >= min(tasks, site.bf_max_job_array_resv, self._left(task)):
                    break

    def _left(self, job: Job) -> int:
        """Return how many more tasks of a job's array may run."""
        if job.array not in self.site.array_limits:
            return FOREVER
        held = [one for one in self.jobs if one.start is not None and self._end(one) > self.now]
        return self.site.limits[self.site.array_limits[job.array]] - sum(one.array == job.array for one in held)

    def _try(self, job: Job, now: int) -> str:
        site = self.site
        most = site.bf_job_part_count_reserve
        may_reserve = self._holds_up(job, now) and "noreserve" not in site.qos.get(job.qos, ())
        may_reserve = may_reserve and (not most or self.reserved_in.get(job.partition, 0) < most)
        later: int | None = now
        while later is not None:
            self.tests += 1
            since, later = later, None
            until = max(since, now) + job.limit
            shut, reserved = self._closed(job, since)
            may = set(job.may) - shut
            avail = set(may)
            for k, (begin, end, left) in enumerate(self.records):
                if end <= since:
                    continue
                if later is None and k + 1 < len(self.records) and may & self.records[k + 1][2] - (avail & left):
                    later = end
                if begin > until:
                    break
                avail &= left
            over = self._next_end(since) if reserved else None
            if over is not None and over < now + site.bf_window and (later is None or over < later):
                later = over
            time, nodes = self._will_run(now, avail, job.tasks) if len(avail) >= job.tasks else (None, set())
            if time is None:
                if not may_reserve:
                    return "nothing"
                continue
            time = max(time, since)
            if time <= now and nodes & self.completing:
                time, later = now + 1, None
            if time <= now:
                self._begin(job, now, nodes, "backfill")
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
        standing = [one for one in self.site.windows if not one.broken and one.known <= self.now < one.end]
        ends = [one.planned_end for one in standing if since <= one.planned_end < FOREVER]
        if not ends:
            return None
        resolution = self.site.bf_resolution
        return -(-(min(ends) + self.site.epoch) // resolution) * resolution - self.site.epoch + 1


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
