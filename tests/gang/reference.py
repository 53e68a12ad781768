"""The multi-site gang model in plain Python, written from the paper; shares nothing with the package's kernel."""

from __future__ import annotations

from dataclasses import dataclass, field

MASK = 2**64 - 1


def draw(seed: int, index: int) -> int:
    """Return splitmix64 of (seed, index), without its two lowest bits."""
    x = (seed * 0xD1342543DE82EF95 + (index + 1) * 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return (x ^ (x >> 31)) >> 2


@dataclass(eq=False)
class Task:
    number: int
    submit: float
    size: int
    service: float
    site: int | None
    processors: list[Processor] = field(default_factory=list)
    length: float = 0.0
    start: float | None = None
    finish: float | None = None


@dataclass(eq=False)
class Processor:
    index: int
    site: int
    job: Task | None = None
    queue: list[Task] = field(default_factory=list)

    @property
    def idle(self):
        return self.job is None


class Grid:
    """The whole system; `jobs` are (submit, size, service, site or None) in the order of arrival."""

    def __init__(self, jobs, processors, *, approach, overhead, threshold, routing, seed):
        self.jobs = [Task(number, *job) for number, job in enumerate(jobs)]
        self.sites = []
        for site, count in enumerate(processors):
            begin = sum(processors[:site])
            self.sites.append([Processor(begin + k, site) for k in range(count)])
        self.everywhere = [p for site in self.sites for p in site]
        self.approach, self.overhead, self.threshold = approach, overhead, threshold
        self.routing, self.seed = routing, seed
        self.waiting: list[Task] = []
        self.now = 0.0
        self.lost = 0.0
        self.completed = 0
        self.backfilled = 0

    # one processor

    def launch(self, job):
        for p in job.processors:
            assert p.idle
            p.job = job
            if job in p.queue:
                p.queue.remove(job)
        job.start, job.finish = self.now, self.now + job.length

    def elapsed(self, gang):
        return max([p.job.finish for p in gang.processors if not p.idle], default=self.now) - self.now

    def accepts(self, p, local):
        """Whether a local job that is new to this processor may start on it now."""
        if not p.idle:
            return False
        return not p.queue or local.service <= self.elapsed(p.queue[0]) + self.threshold

    def serve(self, p):
        if not p.idle or not p.queue:
            return
        first = p.queue[0]
        if first.site is not None or all(q.idle for q in first.processors):
            self.launch(first)
            return
        for local in p.queue[1:]:
            if local.service <= self.elapsed(first) + self.threshold:
                self.backfilled += 1
                self.launch(local)
                return

    # the grid

    def place(self, gang, candidates):
        rest = {p.index: 0.0 if p.idle else p.job.finish - self.now for p in candidates}
        gang.processors = sorted(candidates, key=lambda p: (rest[p.index], p.index))[: gang.size]
        spans = len({p.site for p in gang.processors}) > 1
        gang.length = gang.service * (1.0 + self.overhead) if spans else gang.service
        for p in gang.processors:
            p.queue.append(gang)
        if all(p.idle for p in gang.processors):
            self.launch(gang)

    def open_to(self, gang):
        """The first set of processors that takes an arriving gang, or None."""
        empty = [[p for p in site if not p.queue] for site in self.sites]
        idle = [[p for p in site if p.idle] for site in empty]
        choices = idle + empty
        if self.approach >= 2:
            choices.append([p for site in idle for p in site])
        if self.approach == 3:
            choices.append([p for site in empty for p in site])
        return next((choice for choice in choices if len(choice) >= gang.size), None)

    def take_largest(self, processors, *, idle):
        candidates = [p for p in processors if not p.queue and (p.idle or not idle)]
        fitting = [gang for gang in self.waiting if gang.size <= len(candidates)]
        if not fitting:
            return False
        gang = max(fitting, key=lambda gang: (gang.size, -gang.number))
        self.waiting.remove(gang)
        self.place(gang, candidates)
        return True

    def scan(self):
        while True:
            found = [self.take_largest(site, idle=False) for site in self.sites]
            if any(found):
                continue
            if self.approach >= 2 and self.take_largest(self.everywhere, idle=True):
                continue
            if self.approach == 3 and self.take_largest(self.everywhere, idle=False):
                continue
            return

    # events

    def arrive(self, job):
        job.length = job.service
        if job.site is None:
            room = self.open_to(job)
            if room is None:
                self.waiting.append(job)
            else:
                self.place(job, room)
            return
        site = self.sites[job.site]
        choices = [p for p in site if self.accepts(p, job)] if self.routing == "idle_first" else []
        if not choices:
            shortest = min(len(p.queue) for p in site)
            choices = [p for p in site if len(p.queue) == shortest]
        p = choices[draw(self.seed, job.number) % len(choices)]
        job.processors = [p]
        if self.accepts(p, job):
            self.backfilled += bool(p.queue)
            self.launch(job)
        else:
            p.queue.append(job)

    def complete(self, job):
        self.completed += 1
        for p in job.processors:
            p.job = None
        for p in job.processors:
            self.serve(p)
        if any(not p.queue for p in job.processors):
            self.scan()

    def advance(self, time):
        idle = sum(p.idle for p in self.everywhere)
        waiting = self.waiting + [job for p in self.everywhere for job in p.queue]
        if any(job.size <= idle for job in waiting):
            self.lost += idle * (time - self.now)
        self.now = time

    def run(self, completions=None):
        pending = list(self.jobs)
        self.now = pending[0].submit
        completions = len(pending) if completions is None else completions
        while self.completed < completions:
            running = {p.job.number: p.job for p in self.everywhere if not p.idle}
            first = min(running.values(), key=lambda job: (job.finish, job.number), default=None)
            if first is not None and (not pending or first.finish <= pending[0].submit):
                self.advance(first.finish)
                self.complete(first)
            elif pending:
                self.advance(pending[0].submit)
                self.arrive(pending.pop(0))
            else:
                return self
        return self
