"""Slurm's two schedulers on whole nodes, second by second, with sets of node numbers: slow, plain, independent."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reference.slurm_naive_passes import BackfillPass, chosen_of, main_pass
from reference.slurm_naive_site import FOREVER, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference.slurm_naive_site import Job, Site

FIRST = 4294901759  # the priority of the first job, to priority/basic


@dataclass
class Play:
    site: Site
    jobs: list[Job]
    waiting: list[Job] = field(default_factory=list)
    hopeless: set[int] = field(default_factory=set)
    tests: int = 0
    clearing: list[tuple[frozenset[int], int]] = field(default_factory=list)  # nodes of runs that were lost
    numbered: int = 0  # how many numbers of priority/basic have been given

    def run(self) -> None:
        site, sooner = self.site, min(job.submit for job in self.jobs)
        first = 0 if site.from_zero else sooner
        last_main, wanted = -site.batch_sched_delay, FOREVER
        next_main = min((one for one in site.full if one >= first), default=first + site.sched_interval)
        next_pass, last_pass, changed, blocked = first + site.phase, first - 1, first, 0
        next_tick, given = site.first_tick if site.period else FOREVER, list(site.given or ())
        cleared: set[int] = set()
        submitted: set[int] = set()
        before, self.now, quiet = -1, -1, 0
        for job in self.jobs:
            job.since, job.moment = job.submit, max(job.submit, job.earliest)
        last = max([*(job.submit for job in self.jobs if job.follows is None),
                    *(job.cancel or 0 for job in self.jobs), *given, *site.full,
                    *(end for job in self.jobs for _, end in job.held),
                    *(edge for one in site.windows for edge in (one.begin, one.end) if edge < FOREVER)])  # fmt: skip
        for self.now in range(sooner, 0):  # what happens before Slurm is looked at
            self._submit_followers()
            self._number(self.now)
        self.now = -1
        while quiet < 700:
            self.now += 1
            now = self.now
            self._cut(now)
            self._submit_followers()
            self._number(now)
            if now < blocked:
                continue
            edges = [e for one in site.windows for e in (one.known, one.begin, one.end) if before < e <= now]
            for job in self.jobs:
                if job.cancel is not None and job.cancel <= now and not job.spared and job.gone is None:
                    self._leaves(job, job.cancel)
            for job in list(self.waiting):
                begun = [begin for begin, _ in job.held if before < begin <= now]
                if begun:
                    self.waiting.remove(job)
                    job.freed, job.aged = job.released(begun[0]), 0.0
            freed = any(before < one.end <= now and one.broken for one in site.windows)
            for number, job in enumerate(self.jobs):
                if number not in cleared and job.start is not None and self.end(job) + job.completing <= now:
                    cleared.add(number)
                    freed = True
            freed = freed or any(before < until <= now for _, until in self.clearing)
            self.busy = {n for nodes, until in self.clearing for n in nodes if until > now} | {
                n for k, job in enumerate(self.jobs) if job.start is not None and k not in cleared for n in job.nodes
            }
            self.completing = {n for nodes, until in self.clearing for n in nodes if until > now} | {
                n for k, job in enumerate(self.jobs)
                if job.start is not None and k not in cleared and self.end(job) <= now for n in job.nodes
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
                    if job.start is not None:
                        continue  # it runs from the begin on
                    self.looks_for(job, set())
                    self.finds_none(job)
                    came = came or (job.gone is None and id(job) not in self.hopeless)
            joined = False
            for job in self.jobs:
                if job.start is not None or job.gone is not None or job in self.waiting or job.submit > now:
                    continue
                if id(job) in self.hopeless:
                    continue
                moment = self._moment(job)
                if moment is not None and moment <= now and job.released(now) > now:
                    job.freed = job.released(now)
                elif moment is not None and moment <= now:
                    job.moment, joined = moment, True
                    self._prioritise(job, now)
                    next_main = self._not_idle(next_main, now)
                    self.waiting.append(job)
            if came:
                wanted = min(wanted, max(now, last_main + site.batch_sched_delay))
            if came or freed or joined or edges:
                changed = now
            busy = any(job.start is not None and self.end(job) + job.completing > now for job in self.jobs)
            quiet = 0 if now <= last or busy or came or freed or joined else quiet + 1
            before, next_main = now, self._not_idle(next_main, now)
            if site.sched_interval >= 0 and (freed or wanted <= now or (next_main <= now and self.waiting)):
                main_pass(self, now, len(self.jobs) if next_main <= now else site.default_queue_depth)
                last_main = now
                wanted = FOREVER if wanted <= now else wanted
                later = min((one for one in site.full if one > now), default=now + max(1, site.sched_interval))
                next_main = later if next_main <= now else next_main
            if not site.backfill:
                continue
            if site.given is not None:
                if given and given[0] <= now:
                    which = len(site.given) - len(given)
                    turns = list(site.turns[which]) if site.turns else []
                    most = site.broke_off[which] if site.broke_off else None
                    given = [one for one in given if one > now]
                    blocked = now + len(turns)
                    BackfillPass(self, now, turns, most).run()
            elif next_pass <= now and (self.waiting or changed >= last_pass):
                tests = self.tests
                BackfillPass(self, now).run()
                seconds = (self.tests - tests) // site.rate if site.rate else 0
                last_pass, blocked = now, now + seconds
                next_pass = now + seconds + site.bf_interval

    def _not_idle(self, next_main: int, now: int) -> int:
        """Return when the next main pass over all jobs is: those that nobody waited for have been, each in its time."""
        if not self.waiting:
            next_main = min((one for one in self.site.full if one >= now), default=next_main)
        while not self.waiting and next_main < now:
            next_main += max(1, self.site.sched_interval)
        return next_main

    def _moment(self, job: Job) -> int | None:
        """Return from when on a job may start; None: it waits for something that has not come."""
        if job.freed is not None:
            return job.freed
        moments = [job.submit, job.earliest]
        for kind, other, lag in job.after:
            if kind == "after":
                come = other.begun
            elif other.gone is not None:
                come = other.gone
            else:
                come = self.end(other) if other.start is not None and self.end(other) <= self.now else None
            if come is None:
                return None
            moments.append(come + (max(lag, 1) if kind == "after" else lag))
        moment = max(moments)
        for begin, end in job.held:  # one that began before Slurm is looked at counts by its end
            moment = max(moment, end) if moment < 0 and begin <= 0 else moment
        return job.released(moment)

    def within_limits(self, job: Job, nodes: set[int]) -> bool:
        """Return whether limits that are known with the nodes alone let a job have these."""
        return True

    def loses(self, job: Job) -> None:
        """Note what a job holds that loses it."""

    def _cut(self, second: int) -> None:
        """Let downtimes take their nodes from jobs; and note whom a cancellation comes too late for."""
        site = self.site
        due = [one for one in site.windows if one.becomes != "wait" and whole(one.exact) - site.zero == second]
        for one in sorted(due, key=lambda each: each.exact):
            for job in self.jobs:
                if job.start is None or job.killed is not None or not job.nodes & one.nodes:
                    continue
                if one.reservation is not None and one.reservation == job.reservation:
                    continue
                begun = site.zero + job.start
                if not begun < one.exact < (job.over or begun + job.length) or one.exact <= site.t0:
                    continue
                self.loses(job)
                job.lost.append((job.start, one.exact, job.nodes, one.becomes == "requeue"))
                if one.becomes == "kill":
                    job.killed, job.ends, job.runtime = one.exact, "badly", second - job.start
                    continue
                self.clearing.append((job.nodes, second + job.completing))
                job.freed, job.alone = second + max(site.requeue, job.completing), True
                job.start, job.by, job.nodes, job.aged, job.over = None, "", frozenset(), 0.0, None
        for job in self.jobs:
            job.spared = job.spared or (job.cancel == second and job.start is not None)

    def _submit_followers(self) -> None:
        """Learn when jobs are submitted whose preceding jobs have ended."""
        for job in self.jobs:
            other = job.follows
            if other is None or job.submit < FOREVER or job.gone is not None:
                continue
            if other.cancel is not None and other.cancel <= self.now and not other.spared and other.start is None:
                over = other.leaves_at
            elif other.killed is not None:
                over = other.killed
            elif other.start is not None and self.end(other) <= self.now:
                begun = float(self.site.zero + other.start)
                over = max(begun + other.length, math.nextafter(begun, math.inf))
            else:
                continue
            second = whole(over + job.think) - self.site.zero
            if job.cancel is None or job.cancel > second:
                job.submit = job.since = second

    def _number(self, second: int) -> None:
        """Give numbers to who is released in a second, then to who is submitted in it and not held."""

        def waits(job: Job) -> bool:
            return job.submit < second and job.start is None and (job.cancel is None or job.cancel >= second)

        let_go = [job for job in self.jobs if waits(job) and any(end == second for _, end in job.held)]
        came = [job for job in self.jobs if job.submit == second and job.released(second) == second]
        for jobs in (let_go, came):
            records: dict[str, int] = {}
            for k, job in enumerate(jobs):
                record = job.array or f"job {k}"
                if record not in records:
                    records[record], self.numbered = self.numbered, self.numbered + 1
                job.number = records[record]

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
                other = job.follows
                if other is not None and job.submit == FOREVER and other.gone is not None:
                    never = never or other.gone != other.cancel
                if never or any(self._cannot_hold(kind, other) for kind, other, _ in job.after):
                    self.hopeless.add(id(job))
                    if job in self.waiting:
                        self.waiting.remove(job)
                    if job.cancel is None:  # else that is its end
                        job.gone, changed = self.now, True

    def _cannot_hold(self, kind: str, other: Job) -> bool:
        if kind == "after" and other.begun is not None:
            return False
        if other.gone is not None:
            told = other.cancel is not None and other.gone == other.cancel
            return not (told and kind == "afterany")
        over = other.start is not None and self.end(other) <= self.now
        wanted = {"afterok": "well", "afternotok": "badly"}.get(kind)
        return over and wanted is not None and other.ends != wanted

    def holds_up(self, job: Job, now: int) -> bool:
        least = self.site.bf_min_prio_reserve
        return now - job.moment >= self.site.bf_min_age_reserve and (not least or job.priority >= least)

    def closed(self, job: Job, since: int) -> tuple[set[int], bool]:
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

    def in_time(self, job: Job, now: int) -> bool:
        ends = {one.reservation: one.end for one in self.site.windows}
        return job.reservation is None or now + job.planned <= ends[job.reservation]

    def end(self, job: Job) -> int:
        assert job.start is not None
        return job.start + job.runtime

    def _prioritise(self, job: Job, now: int) -> None:
        if not self.site.period:
            job.priority = max(1, FIRST - job.number - job.nice)
            return
        size = self.size_of(job)
        age = min(1.0, (now - job.moment + job.aged) / self.site.max_age)
        job.priority = max(1, int(age * self.site.age + size * self.site.size - job.nice))

    def size_of(self, job: Job) -> float:
        """Return which part of the machine a job asks for."""
        return job.tasks / self.site.nodes

    def idle(self, nodes: set[int]) -> set[int]:
        """Return those of the nodes on which the main scheduler may start somebody."""
        return nodes - self.busy

    def left(self, nodes: set[int], over: list[Job]) -> set[int]:
        """Return those that are free once these jobs are over, and those that complete."""
        return nodes - (self.busy - self.completing - {n for job in over for n in job.nodes})

    @property
    def of_whole_nodes(self) -> bool:
        """Return whether jobs ask for nodes."""
        return True

    def fits(self, nodes: set[int], job: Job, over: Sequence[Job] = ()) -> bool:
        """Return whether a job fits on the nodes, these others being over."""
        return len(nodes) >= job.tasks

    def first_lines(self, free: set[int], job: Job) -> set[int]:
        """Return the free nodes of as many lines of the conf as are enough: of those the main scheduler chooses."""
        if self.site.cons_tres:
            return free
        some: set[int] = set()
        for line in self.site.lines:
            some |= free & line
            if self.fits(some, job):
                break
        return some

    def may_fit(self, nodes: set[int], job: Job) -> bool:
        return len(nodes) >= job.tasks

    def chosen(self, nodes: set[int], job: Job, over: Sequence[Job] = ()) -> set[int]:
        """Return the nodes that it is given of these."""
        return chosen_of(self.site, nodes, job.tasks)

    def chosen_ahead(self, nodes: set[int], job: Job, over: Sequence[Job]) -> set[int]:
        """Return those that backfill would give it, these others being over."""
        return self.chosen(nodes, job, over)

    def looks_for(self, job: Job, free: set[int]) -> None:
        """Slurm looks for nodes for a job to start it now; where they are shared that leaves something behind."""

    def finds_none(self, job: Job) -> None:
        """It looks whether there would be enough if nobody else ran."""

    def looks_ahead(self, job: Job, nodes: set[int], over: Sequence[Job]) -> None:
        """Backfill looks at these nodes for it, as they will be when these others are over."""

    def chosen_at_last(self, avail: set[int], job: Job, chosen: set[int]) -> set[int]:
        """Return the nodes on which backfill starts a job that had others chosen of these: select/linear asks anew."""
        return chosen if self.site.cons_tres else self.chosen(self.first_lines(self.idle(avail), job), job)

    def running(self) -> list[Job]:
        """Return the jobs that have started and not ended."""
        return [job for job in self.jobs if job.start is not None and self.end(job) > self.now]

    def in_order(self) -> list[Job]:
        number = {id(job): k for k, job in enumerate(self.jobs)}
        firsts: dict[str, Job] = {}
        for job in self.waiting:
            record = str(number[id(job)]) if job.alone or not job.array else job.array
            firsts[record] = min(firsts.get(record, job), job, key=lambda one: number[id(one)])
        if self.site.fifo:
            return sorted(firsts.values(), key=lambda job: (job.since, number[id(job)]))
        return sorted(
            firsts.values(),
            key=lambda job: (job.reservation is None, -self.site.tiers[job.partition], -job.priority, job.submit,
                             number[id(job)]),
        )

    def next_task(self, job: Job) -> Job | None:
        number = {id(one): k for k, one in enumerate(self.jobs)}
        mine = [one for one in self.waiting if job.array and one.array == job.array and not job.alone and not one.alone]
        return min(mine, key=lambda one: number[id(one)], default=None)

    def begin(self, job: Job, now: int, nodes: set[int], by: str) -> None:
        job.start, job.nodes, job.by = now, frozenset(nodes), by
        job.begun = now if job.begun is None else job.begun
        self.busy |= nodes
        self.waiting.remove(job)
        for one in self.waiting:
            if job.array and one.array == job.array and not job.alone and not one.alone:
                one.since = now
