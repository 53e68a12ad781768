"""In which second ours has to have an event so that the same passes see it as in a log of slurmctld.

A pass sees what came before it began, be it in the same second; ours has all events of a second before its passes.
A second turns in the midst of some passes, as the log's moments and the StartTime of the jobs that they started say,
so that these end when Slurm expects them to; an end that a pass missed comes a second later at the earliest, and a
submission counts from the pass after it.
The log is one with SlurmctldDebug=debug2 and DebugFlags=Backfill, which tells of every pass.
"""

from __future__ import annotations

import calendar
import re
import time
from bisect import bisect_right
from dataclasses import dataclass, field

LINE = re.compile(r"\[(\S+)\.(\d+)\] (.*)")
MAIN = re.compile(r"debug:  sched: Running job scheduler( for full queue)?")
BACKFILL = re.compile(r"sched/backfill: _attempt_backfill: beginning")
TEST = re.compile(r"sched/backfill: _attempt_backfill: BACKFILL: test for JobId=")
YIELDS = re.compile(r"sched/backfill: _attempt_backfill: yielding locks after testing \d+\(\d+\) jobs( tested)?")
BROKE_OFF = re.compile(r"sched/backfill: _attempt_backfill: BACKFILL: system state changed, breaking out")
SUBMITTED = re.compile(r"_slurm_rpc_submit_batch_job: JobId=(\d+)")
STARTED = re.compile(r"sched(?:/backfill)?: (?:_start_job: Started|Allocate) JobId=(\d+)")
RESPONDED = re.compile(r"debug2: node_did_resp n(\d+)")
DONE = re.compile(r"_job_complete: JobId=(\d+) done|Time limit exhausted for JobId=(\d+)")
SECOND = 1000  # moments are in milliseconds
SOON = 6 * SECOND  # after a submission, or when nodes are clear, there is a pass


@dataclass
class Pass:
    """A pass: when it began, in milliseconds, whose it is, its second, and how many jobs it had tested as it turned."""

    begin: int
    backfill: bool
    second: int
    tested: int = 0
    whole: int = 0  # jobs that it had tested to the end as it yielded its locks
    turns: list[int] = field(default_factory=list)
    started: list[int] = field(default_factory=list)  # jobs
    broke_off: int | None = None
    full: bool = False  # of the main scheduler's, over all jobs

    @property
    def now(self) -> int:
        """Return the second in which it is."""
        return self.second + len(self.turns)

    def turn_to(self, second: int, tested: int) -> None:
        """Let it be in a second, in which the jobs are tested that come after so many; a main pass is in its first."""
        if tested > 0 and self.backfill:
            self.turns += [tested] * (second - self.now)
        elif not self.started:
            self.second = max(self.second, second)


@dataclass
class Told:
    """What a log tells, in milliseconds since 1970, in turn."""

    where: dict[int, list[int]]  # the nodes of each job
    passes: list[Pass] = field(default_factory=list)
    came: dict[int, int] = field(default_factory=dict)
    by: dict[int, int] = field(default_factory=dict)  # the second of the pass that started a job
    done: dict[int, int] = field(default_factory=dict)
    responded: dict[int, list[int]] = field(default_factory=dict)  # of each node

    @classmethod
    def read(cls, log: str, starts: dict[int, int], where: dict[int, list[int]]) -> Told:
        """Return what a log tells; `starts` has the StartTime of each job, `where` its nodes."""
        told = cls(where)
        last: dict[bool, Pass] = {}
        for line in log.splitlines():
            if not (parts := LINE.match(line)):
                continue
            moment = SECOND * calendar.timegm(time.strptime(parts[1], "%Y-%m-%dT%H:%M:%S")) + int(parts[2])
            what = parts[3]
            if (main := MAIN.match(what)) or BACKFILL.match(what):
                one = Pass(moment, "backfill" in what, moment // SECOND, full=bool(main and main[1]))
                told.passes.append(one)
                last[one.backfill] = one
            elif job := SUBMITTED.match(what):
                told.came[int(job[1])] = moment
            elif job := STARTED.match(what):
                one = last["backfill" in what]
                one.turn_to(starts[int(job[1])], max(0, one.tested - 1))
                one.started.append(int(job[1]))
                told.by[int(job[1])] = one.now
            elif TEST.match(what):
                one = last[True]
                one.turn_to(moment // SECOND, one.tested)
                one.tested += 1
            elif yields := YIELDS.match(what):
                last[True].whole = last[True].tested - bool(yields[1])  # in the midst of a job's tests
            elif BROKE_OFF.match(what):
                last[True].broke_off = last[True].whole
            elif node := RESPONDED.match(what):
                told.responded.setdefault(int(node[1]), []).append(moment)
            elif job := DONE.match(what):
                told.done[int(job[1] or job[2])] = moment
        for one, other in zip(told.passes, told.passes[1:], strict=False):
            if one.backfill and not one.started and not other.backfill and other.second == one.second:
                one.second -= 1  # ours has the main scheduler's pass first
            elif one.full and not one.started and other.backfill and told._divides(one, other):
                one.second -= 1  # and what comes in a second before all its passes
        return told

    def _divides(self, one: Pass, other: Pass) -> bool:
        """Return whether a job ended in a second between its two passes, and nothing happened in it before them."""
        first, moments = SECOND * one.second, [*self.came.values(), *self.done.values()]
        between = any(one.begin <= moment < other.begin for moment in self.done.values())
        return one.second == other.second and between and not any(first <= at < one.begin for at in moments)

    def of_backfill(self) -> dict[int, Pass]:
        """Return backfill's passes, by their seconds."""
        return {one.second: one for one in self.passes if one.backfill}

    def over_all(self) -> list[int]:
        """Return the seconds of the main passes over all jobs."""
        return [one.second for one in self.passes if one.full]

    def seen(self, job: int) -> dict[str, int]:
        """Return when a job came, began and was gone, and when its nodes were clear."""
        came, done, began = self.came[job], self.done[job], self.by[job]
        gone = max(done // SECOND, began + 1)
        for one in self._before(done):
            gone = max(gone, one.second + 1)
        return {"came": self._seen_at(came), "began": began, "gone": gone, "clear": max(self._clear(job), gone)}

    def _clear(self, job: int) -> int:
        """Return the second of the first pass for which a job's nodes were clear.

        They are once all have responded, and before that where the pass starts somebody there.
        """
        done, nodes = self.done[job], self.where[job]
        responded = max(_next(self.responded.get(node, []), done) for node in nodes)
        for one in self.passes[bisect_right(self.passes, done, key=lambda one: one.begin) :]:
            if one.begin > responded or any(set(nodes) & set(self.where[other]) for other in one.started):
                return one.second if one.begin - responded < SOON else responded // SECOND
        return responded // SECOND

    def _before(self, moment: int) -> list[Pass]:
        """Return the last passes that began before a moment."""
        place = bisect_right(self.passes, moment, key=lambda one: one.begin)
        return self.passes[max(0, place - 3) : place]

    def _seen_at(self, moment: int) -> int:
        """Return the second of the first pass that began after a moment, where that was soon.

        It is none in which one started somebody before that.
        """
        place = bisect_right(self.passes, moment, key=lambda one: one.begin)
        second = moment // SECOND
        if place < len(self.passes) and self.passes[place].begin - moment < SOON:
            second = self.passes[place].second
        return max([second, *(one.now + 1 for one in self._before(moment) if one.started)])


def _next(moments: list[int], moment: int) -> int:
    """Return the first that comes after a moment, or that moment."""
    place = bisect_right(moments, moment)
    return moments[place] if place < len(moments) else moment
