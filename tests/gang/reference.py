"""Gangs on sites with a queue per processor, in plain Python from the papers; shares nothing with the package."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mixed(x: int) -> int:
    """Return the last step of splitmix64."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def draw(seed: int, index: int) -> int:
    """Return splitmix64 of (seed, index), without its two lowest bits."""
    return mixed((seed * 0xD1342543DE82EF95 + (index + 1) * GOLDEN) & MASK) >> 2


@dataclass(eq=False)
class Job:
    number: int  # its place by (arrival, id)
    id: int
    submit: float
    size: int
    service: float
    local: bool
    home: int | None
    left: float = 0.0
    site: int | None = None
    processors: list[Processor] = field(default_factory=list)
    begun: float | None = None
    finish: float | None = None
    done: bool = False
    factor: float = 0.0
    moved: bool = False
    reserved: bool = False
    overtaken: int = 0
    aged: bool = False
    preemptions: int = 0
    migrations: int = 0


@dataclass(eq=False)
class Processor:
    index: int
    site: int
    slow: float
    job: Job | None = None
    queue: list[Job] = field(default_factory=list)
    backlog: float = 0.0
    held_for: Job | None = None

    @property
    def idle(self):
        return self.job is None

    def add(self, job):
        self.queue.append(job)
        self.backlog += job.left

    def drop(self, job):
        self.queue.remove(job)
        self.backlog = self.backlog - job.left if self.queue else 0.0


class System:
    """The whole grid; `jobs` are (id, submit, size, service, local, home or None), `options` those of a GangSystem."""

    def __init__(self, jobs, options, *, seed):
        self.o = options
        ordered = sorted(jobs, key=lambda job: (job[1], job[0]))
        self.jobs = [Job(number, *job) for number, job in enumerate(ordered)]
        for job in self.jobs:
            job.left = job.service
        total = sum(options.processors)
        clocks = options.clocks or [options.reference_clock] * total
        self.sites = []
        for site, count in enumerate(options.processors):
            begin = sum(options.processors[:site])
            self.sites.append(
                [Processor(begin + k, site, options.reference_clock / clocks[begin + k]) for k in range(count)]
            )
        self.everywhere = [p for site in self.sites for p in site]
        self.draws = [draw(seed, number) for number in range(len(self.jobs))]
        self.salts = [draw(seed + 1, index) for index in range(total)]
        self.multi_site = options.grid == "multi_site"
        self.priority = options.preempts != "never"
        self.at_grid: list[Job] = []
        self.waiting: list[list[Job]] = [[] for _ in self.sites]  # under the other rules
        self.now = 0.0
        self.lost = self.lost_by_site = 0.0
        self.completed = self.backfilled = 0
        self.local_migrations = self.external_migrations = self.moved_tasks = 0
        self.events = []
        self.segments = []

    # ---- one job -----------------------------------------------------------------------------------------------

    def latency(self, job):
        """T(z) = α + z/ρ, for gangs."""
        return self.o.latency + self.o.megabytes / self.o.bandwidth * job.size if job.size > 1 else 0.0

    def launch(self, job):
        """Start a job on its processors, of whose queues it is taken."""
        for p in job.processors:
            assert p.idle
            if job in p.queue:
                p.drop(job)
            p.job = job
            if p.held_for is job:
                p.held_for = None
        for waiting in (self.at_grid, *self.waiting):
            if job in waiting:
                waiting.remove(job)
        job.reserved = job.aged = False
        length = job.left * max(p.slow for p in job.processors)
        if len({p.site for p in job.processors}) > 1:
            length *= 1.0 + self.o.overhead
        job.begun, job.finish = self.now, self.now + (length + self.latency(job) if job.size > 1 else length)

    def stop(self, job):
        """Free a job's processors; what it ran since its start is a segment."""
        self.segments.append((job.number, job.begun, self.now, [p.index for p in job.processors]))
        for p in job.processors:
            p.job = None

    def rest(self, p):
        return 0.0 if p.idle else p.job.finish - self.now

    # ---- dispatchers ---------------------------------------------------------------------------------------------

    def weight(self, job, p):
        match self.o.dispatch:
            case "olb":
                z = (self.draws[job.number] ^ self.salts[p.index]) + GOLDEN & MASK
                return (mixed(z) >> 11) * 2.0**-53 + (0.0 if p.idle else 1.0)
            case "jsq":
                return float(len(p.queue))
            case "ald":
                return float(len(p.queue) + (not p.idle))
            case "jseq":
                return self.rest(p) + p.backlog
        return self.rest(p)

    def by_dispatch(self, job, candidates):
        return sorted(candidates, key=lambda p: (self.weight(job, p), p.index))

    def site_for(self, job, *, at_random):
        """Algorithm 1: among the sites that are large enough the least loaded (eq. 1), ties at random."""
        large = [site for site in self.sites if len(site) >= job.size]
        if not at_random:

            def load(site):
                return Fraction(sum(len(p.queue) + (not p.idle) for p in site), len(site))

            least = min(load(site) for site in large)
            large = [site for site in large if load(site) == least]
        return large[(self.draws[job.number] >> 31) % len(large)]

    def local_candidates(self, job):
        if job.home is not None:
            return self.sites[job.home]
        if self.o.local_site == "any":
            return self.everywhere
        return self.site_for(job, at_random=self.o.local_site == "random" or self.o.grid == "random")

    def elapsed(self, gang):
        return max(self.rest(p) for p in gang.processors)

    def may_overtake(self, local, p, gang):
        return local.left * p.slow <= self.elapsed(gang) + self.o.threshold

    def takes_at_once(self, p, local):
        if not p.idle:
            return False
        return not p.queue or (self.multi_site and self.may_overtake(local, p, p.queue[0]))

    def processor_for(self, job, candidates):
        if not candidates:
            return None
        at_once = [p for p in candidates if self.takes_at_once(p, job)]
        luck = self.draws[job.number]
        match self.o.routing:
            case "dispatch":
                return self.by_dispatch(job, candidates)[0]
            case "fastest":
                if at_once:
                    return min(at_once, key=lambda p: (p.slow, p.index))
                return min(candidates, key=lambda p: (self.rest(p) + p.backlog, p.index))
            case "idle_first" if at_once:
                return at_once[luck % len(at_once)]
        shortest = min(len(p.queue) for p in candidates)
        equal = [p for p in candidates if len(p.queue) == shortest]
        return equal[luck % len(equal)]

    def processor_at_once(self, job, candidates):
        """Where a job of the priority class starts: an idle processor, else one of a gang; None where it must wait."""
        wherever = self.everywhere if self.o.preempts == "system" and job.home is None else []
        for group in (candidates, wherever):
            if idle := [p for p in group if p.idle]:
                return self.processor_for(job, idle)
        if self.o.preempts == "system" and any(p.idle for p in self.everywhere):
            return None
        for group in (candidates, wherever):
            if of_gangs := [p for p in group if not p.job.local]:
                return self.processor_for(job, of_gangs)
        return None

    # ---- gangs over several sites ----------------------------------------------------------------------------------

    def place(self, gang, candidates):
        gang.processors = self.by_dispatch(gang, candidates)[: gang.size]
        for p in gang.processors:
            p.add(gang)
        if all(p.idle for p in gang.processors):
            self.launch(gang)

    def open_to(self, gang):
        """The first set of processors that takes an arriving gang, or None."""
        empty = [[p for p in site if not p.queue] for site in self.sites]
        idle = [[p for p in site if p.idle] for site in empty]
        choices = idle + empty
        if self.o.approach >= 2:
            choices.append([p for site in idle for p in site])
        if self.o.approach == 3:
            choices.append([p for site in empty for p in site])
        return next((choice for choice in choices if len(choice) >= gang.size), None)

    def take_largest(self, processors, *, idle):
        candidates = [p for p in processors if not p.queue and (p.idle or not idle)]
        fitting = [gang for gang in self.at_grid if gang.size <= len(candidates)]
        if not fitting:
            return False
        gang = max(fitting, key=lambda gang: (gang.size, -gang.number))
        self.at_grid.remove(gang)
        self.place(gang, candidates)
        return True

    def scan(self):
        while True:
            found = [self.take_largest(site, idle=False) for site in self.sites]
            if any(found):
                continue
            if self.o.approach >= 2 and self.take_largest(self.everywhere, idle=True):
                continue
            if self.o.approach == 3 and self.take_largest(self.everywhere, idle=False):
                continue
            return

    def serve(self, p):
        if not p.idle or not p.queue:
            return
        first = p.queue[0]
        if first.local or all(q.idle for q in first.processors):
            self.launch(first)
            return
        for local in p.queue[1:]:
            if self.may_overtake(local, p, first):
                self.backfilled += 1
                self.launch(local)
                return

    # ---- disciplines -----------------------------------------------------------------------------------------------

    def open(self, p, job=None):
        """Whether a processor is idle and not reserved from this job."""
        if not p.idle:
            return False
        return p.held_for in (None, job) or (self.priority and job is not None and job.local)

    def key(self, job, *, by_arrival=False):
        first = (self.priority and not job.local, not job.aged)
        rule = "fcfs" if by_arrival else self.o.discipline
        match rule:
            case "afcfs":
                return (*first, job.size, job.number)
            case "ljfs":
                return (*first, -job.size, job.number)
            case "lxf" | "sxf":
                factor = (job.service + self.now - job.submit) / job.service if job.service > 0 else float("inf")
                return (*first, -factor if rule == "lxf" else factor, job.number)
        return (*first, job.number)

    def one_pass(self, site, *, by_arrival=False):
        """Start whom the claims let start; `self.heads` are then the claims of those that did not."""
        started = False
        self.heads[site] = {}
        for job in sorted(self.waiting[site], key=lambda job: self.key(job, by_arrival=by_arrival)):
            idle = [p for p in job.processors if self.open(p, job)]
            unclaimed = [p for p in idle if p not in self.heads[site]]
            if len(unclaimed if self.o.claim == "hold" else idle) == job.size:
                self.launch(job)
                started = True
            else:
                self.heads[site] |= dict.fromkeys(unclaimed, job)
        if self.o.discipline == "fcfs" and self.o.claim == "hold":
            for job in sorted(self.waiting[site], key=self.key):
                if not job.local:
                    continue
                (p,) = job.processors
                gang = self.heads[site].get(p)
                if self.open(p, job) and gang is not None and not gang.local and self.may_overtake(job, p, gang):
                    self.backfilled += 1
                    self.launch(job)
                    started = True
        return started

    def discipline(self, site):
        if self.o.discipline == "afcfs" and self.o.order == "head" and self.one_pass(site, by_arrival=True):
            return True
        return self.one_pass(site)

    def may_move(self, site, jobs):
        """Those that hold no reservation; where a job has aged, only such."""
        has_aged = any(job.aged for job in self.waiting[site])
        return {job for job in jobs if not job.reserved and (job.aged or not has_aged)}

    def move_and_start(self, job, moves):
        job.moved = True
        job.migrations += 1
        self.moved_tasks += moves
        site = job.processors[0].site
        self.launch(job)
        for other in self.waiting[site]:
            if self.o.aging and other.number < job.number and not other.aged:
                other.overtaken += 1
                other.aged = other.overtaken >= self.o.aging

    def migrate_locally(self, site):
        idle = [p for p in self.sites[site] if self.open(p)]
        heads = [job for p, job in self.heads[site].items() if self.open(p)]
        fitting = [job for job in self.may_move(site, heads) if job.size <= len(idle)]
        if not fitting:
            return False

        def moves(job):
            return sum(not self.open(p, job) for p in job.processors)

        job = min(fitting, key=lambda job: (moves(job), job.id))
        count = moves(job)
        for task, p in enumerate(job.processors):
            if self.open(p, job):
                continue
            free = [q for q in idle if q not in job.processors]
            target = min(free, key=lambda q: (len(q.queue), q.index))
            p.drop(job)
            target.add(job)
            job.processors[task] = target
        self.local_migrations += 1
        self.move_and_start(job, count)
        return True

    def migrate_externally(self):
        choices = []
        for site in range(len(self.sites)):
            touching = [job for job in self.waiting[site] if any(self.open(p, job) for p in job.processors)]
            for job in self.may_move(site, [job for job in touching if job.home is None]):
                targets = []
                for other, processors in enumerate(self.sites):
                    idle = [p for p in processors if self.open(p)]
                    blocked = any(w.aged for w in self.waiting[other]) and not job.aged
                    if other != site and len(idle) >= job.size and not blocked:
                        targets.append((len(idle), other, idle))
                if targets:
                    choices.append((job.size, job.number, job, min(targets)[2]))
        if not choices:
            return False
        *_, job, idle = min(choices)
        for p in job.processors:
            p.drop(job)
        self.waiting[job.site].remove(job)
        job.processors = idle[: job.size]
        job.site = idle[0].site
        self.waiting[job.site].append(job)
        for p in job.processors:
            p.add(job)
        self.external_migrations += 1
        self.move_and_start(job, job.size)
        return True

    def settle(self):
        self.heads = [{} for _ in self.sites]
        changed = True
        while changed:
            changed = False
            for site in range(len(self.sites)):
                changed |= self.discipline(site)
                if self.o.local_migration:
                    changed |= self.migrate_locally(site)
            if not changed and self.o.external_migration:
                changed = self.migrate_externally()

    # ---- arrivals and completions --------------------------------------------------------------------------------

    def queue_up(self, job):
        job.site = job.processors[0].site
        for p in job.processors:
            p.add(job)
        self.waiting[job.site].append(job)

    def preempt(self, gang):
        if self.o.preempted == "resume":
            ran = max(self.now - gang.begun - self.latency(gang), 0.0)
            gang.left = max(gang.left - ran / max(p.slow for p in gang.processors), 0.0)
        self.stop(gang)
        gang.preemptions += 1
        if gang.moved:
            gang.reserved = True
            for p in gang.processors:
                p.held_for = gang
        self.queue_up(gang)

    def arrive(self, job):
        if self.multi_site:
            if job.local:
                p = self.processor_for(job, self.local_candidates(job))
                job.processors = [p]
                if self.takes_at_once(p, job):
                    self.backfilled += bool(p.queue)
                    self.launch(job)
                else:
                    p.add(job)
            elif (room := self.open_to(job)) is not None:
                self.place(job, room)
            else:
                self.at_grid.append(job)
            return
        if not job.local:
            site = self.site_for(job, at_random=self.o.grid == "random")
            job.processors = self.by_dispatch(job, site)[: job.size]
            self.queue_up(job)
            return
        candidates = self.local_candidates(job)
        if self.priority:
            p = self.processor_at_once(job, candidates)
            if p is not None:
                if not p.idle:
                    self.preempt(p.job)
                job.processors, job.site = [p], p.site
                self.launch(job)
                return
        job.processors = [self.processor_for(job, candidates)]
        self.queue_up(job)

    def complete(self, job):
        self.completed += 1
        job.done = True
        self.stop(job)
        if self.multi_site:
            for p in job.processors:
                self.serve(p)
            if any(not p.queue for p in job.processors):
                self.scan()

    # ---- time ------------------------------------------------------------------------------------------------------

    def queued_jobs(self):
        return {job for p in self.everywhere for job in p.queue} | set(self.at_grid)

    def advance(self, time):
        idle = [sum(p.idle for p in site) for site in self.sites]
        waiting = self.queued_jobs()
        elapsed = time - self.now
        if any(job.size <= sum(idle) for job in waiting):
            self.lost += sum(idle) * elapsed
        for site, count in enumerate(idle):
            # Gangs of a multi-site grid belong to no site.
            here = [job for job in waiting if (not job.local and self.multi_site) or job.processors[0].site == site]
            if any(job.size <= count for job in here):
                self.lost_by_site += count * elapsed
        self.now = time

    def run(self, completions=None):
        pending = list(self.jobs)
        self.now = pending[0].submit
        completions = len(pending) if completions is None else completions
        while self.completed < completions:
            running = {p.job.number: p.job for p in self.everywhere if not p.idle}
            first = min(running.values(), key=lambda job: (job.finish, job.id), default=None)
            if first is not None and (not pending or first.finish <= pending[0].submit):
                self.advance(first.finish)
                self.complete(first)
                event = ("ends", first.number)
                more = any(not p.idle and p.job.finish == self.now for p in self.everywhere)
            elif pending:
                self.advance(pending[0].submit)
                event = ("arrives", pending[0].number)
                self.arrive(pending.pop(0))
                more = False
            else:
                return self
            if not self.multi_site and not more:
                self.settle()
            idle = sum(p.idle for p in self.everywhere)
            self.events.append((self.now, *event, idle, len(self.queued_jobs())))
        return self
