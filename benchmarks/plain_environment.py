"""A peer in plain Python: an environment as RLScheduler (Zhang et al., 2020) describes its own.

One pool of equal nodes. At a step the chosen job starts, or all wait until it can; then time goes on until somebody
waits. What is seen is 128 jobs × 8 numbers: wait, requested time, requested nodes, four that a log may lack (memory,
user, group, executable), and whether the job could start now. Written after its description, not copied from its code.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

SEEN, FEATURES = 128, 8
LONGEST_WAIT = 12 * 3600.0


@dataclass(slots=True)
class PlainJob:
    """A job of the log, and what became of it."""

    row: int
    submit: float
    tasks: int
    runtime: float
    requested: float
    start: float = -1.0

    @property
    def end(self) -> float:
        return self.start + self.runtime


@dataclass
class PlainEnvironment:
    """An episode over some jobs, in order of submission, on so many equal nodes."""

    jobs: list[PlainJob]
    nodes: int
    longest: float
    waiting: list[PlainJob] = field(default_factory=list)
    running: list[PlainJob] = field(default_factory=list)
    to_come: int = 0
    free: int = 0
    now: float = 0.0

    def reset(self) -> np.ndarray:
        """Return what is seen first."""
        for job in self.jobs:
            job.start = -1.0
        self.running, self.free = [], self.nodes
        self.now, self.waiting, self.to_come = self.jobs[0].submit, [self.jobs[0]], 1
        return self.observation()

    def next_event(self) -> None:
        """Let the next job come, or the next one end."""
        self.running.sort(key=lambda job: job.end)
        ending = self.running[0].end if self.running else float("inf")
        if self.to_come < len(self.jobs) and self.jobs[self.to_come].submit <= ending:
            self.now = max(self.now, self.jobs[self.to_come].submit)
            self.waiting.append(self.jobs[self.to_come])
            self.to_come += 1
        else:
            self.now = max(self.now, ending)
            self.free += self.running.pop(0).tasks

    def step(self, action: int) -> tuple[np.ndarray, float, bool]:
        """Return what is seen next, the reward (at the end, all of it), and whether all jobs have been started."""
        chosen = self.waiting[action]
        while chosen.tasks > self.free:
            self.next_event()
        chosen.start = self.now
        self.free -= chosen.tasks
        self.running.append(chosen)
        self.waiting.remove(chosen)
        while not self.waiting:
            if self.to_come == len(self.jobs):
                return self.observation(), -self.bounded_slowdown(), True
            self.next_event()
        return self.observation(), 0.0, False

    def bounded_slowdown(self) -> float:
        """Return the mean bounded slowdown of the jobs."""
        return sum(max(1.0, (job.end - job.submit) / max(job.runtime, 10.0)) for job in self.jobs) / len(self.jobs)

    def observation(self) -> np.ndarray:
        """Return the numbers of the first jobs that wait, between 0 and 1, and of nobody in the other places."""
        self.waiting.sort(key=lambda job: job.submit)
        seen = np.zeros(SEEN * FEATURES)
        for place in range(SEEN):
            if place < len(self.waiting):
                job = self.waiting[place]
                row = [
                    min((self.now - job.submit) / LONGEST_WAIT, 1.0),
                    min(job.requested / self.longest, 1.0),
                    min(job.tasks / self.nodes, 1.0),
                    1.0,
                    1.0,
                    1.0,
                    1.0,
                    1.0 if job.tasks <= self.free else 0.0,
                ]
            else:
                row = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
            seen[place * FEATURES : (place + 1) * FEATURES] = row
        return seen
