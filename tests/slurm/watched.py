"""What watches did on the recorded days, beside Slurm alone: waits, slowdowns, the last end, and promises."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
from slurm.recording import Recording
from slurm.script import MINUTE
from slurm.watched_days import DAYS, MEANS, RECORDED

SHORTEST = 10.0  # seconds: what ran for less counts as this long in slowdowns


class Outcome(NamedTuple):
    """How a day went; times in seconds."""

    wait: float
    slowdown: float
    last_end: float

    @classmethod
    def of(cls, recording: Recording) -> Outcome:
        """Return it."""
        told = [(job.submit, job.start, job.end) for job in recording.jobs if job.start is not None]
        submit, start, end = np.array(told, dtype=float).T
        response, runs = end - submit, np.maximum(end - start, SHORTEST)
        return cls(float((start - submit).mean()), float(np.maximum(1.0, response / runs).mean()), float(end.max()))


def promised(name: str, means: str, *, first: bool = False) -> dict[str, float]:
    """Return by when each job was to have started at last, or at first, in seconds since the day began."""
    said = json.loads((RECORDED / f"{name}-{means}.promised.json").read_text(encoding="utf-8"))
    return {key: float(when) for key, when in said["at_first" if first else "promised"].items()}


def lateness(name: str, means: str, *, played: str = "", first: bool = False) -> dict[str, float]:
    """Return by how many seconds jobs started after what they were promised, on that day or on one played otherwise."""
    until = promised(name, means, first=first)
    recording = Recording.read(RECORDED / f"{name}-{played or means}")
    return {job.key: job.start - until[job.key] for job in recording.jobs if job.key in until and job.start is not None}


def told_late(name: str, means: str) -> str:
    """Return how many jobs started after what they were promised, and by how much at most."""
    late = [seconds for seconds in lateness(name, means).values() if seconds > 0.0]
    return f"{len(late)} (by {max(late) / MINUTE:.0f} min)" if late else "0"


def table() -> str:
    """Return what the page has: of each day the mean wait, the slowdown and the last end, alone and watched."""
    head = ("Day", "Jobs", "Mean wait, s", "Mean slowdown", "Last end, s", "Late jobs")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name, day in DAYS.items():
        found = {means: Outcome.of(Recording.read(RECORDED / f"{name}-{means}")) for means in MEANS}
        cells = [" / ".join(f"{value:,.{digits}f}" for value in column) for digits, column in
                 zip((0, 1, 0), zip(*found.values(), strict=True), strict=True)]  # fmt: skip
        late = " / ".join(told_late(name, means) for means in MEANS[1:])
        lines.append(f"| {day.title} | {len(day.day.events)} | {' | '.join(cells)} | {late} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
