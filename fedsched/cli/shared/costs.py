"""Tables of the metrics of simulated runs: one run with every metric explained, or several side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsched.cli.shared.shared import facts_of, number_text, print_table, reading_of, say
from fedsched.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedsched.model.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Run:
    """A log's schedule, the log's label beside others, and the seconds that simulating took.

    `notes` says what Slurm's scheduler assumes about its files, and what in them it does not model.
    """

    label: str
    schedule: Schedule
    seconds: float
    notes: Sequence[str] = ()

    @property
    def values(self) -> Mapping[str, float]:
        """Return the metrics by name, without those that say nothing."""
        return self.schedule.metrics().telling()

    @property
    def recorded(self) -> Mapping[str, float]:
        """Return the metrics that the log itself records, by name."""
        found = self.schedule.workload.recorded
        return {} if found is None else found.figures()

    @property
    def ending(self) -> str:
        """Return how many jobs ran in how many seconds, and the hash that identifies the schedule."""
        jobs = len(self.schedule)
        if self.schedule.complete:
            jobs -= int(self.schedule.hopeless.sum()) + self.schedule.lost.killed.size
            return f"{counted(jobs, 'job')} in {self.seconds:.2f} s; start hash {self.schedule.start_hash()}"
        finished = int((self.schedule.finish == self.schedule.finish).sum())
        return (
            f"{finished:,} of {counted(jobs, 'job')} finished in {self.seconds:.2f} s; the metrics are of those alone"
        )

    def to_json(self) -> dict[str, object]:
        """Return the run for --json."""
        about = reading_of(self.schedule.workload, self.schedule.federation) | {"seconds": self.seconds}
        return self.schedule.to_json() | about


def print_costs(run: Run, free: Run | None = None) -> None:
    """Print what is in the log, and a table of the metrics with their meanings; `free` gets a column beside."""
    from fedsched.model.jobs.assumed import marked
    from fedsched.model.jobs.recorded import partial_record_in_words
    from fedsched.model.schedule.metrics import METRICS

    schedule, values, log = run.schedule, run.values, run.recorded
    beside = {} if free is None else {**free.values, "peak_watts": free.schedule.power().peak}
    rows = [
        (
            metric.name,
            *_cells(metric.name, values, log),
            *([] if free is None else _cells(metric.name, beside, {})),
            marked(metric.unit, metric.name, schedule.federation),
            metric.meaning,
        )
        for metric in METRICS
        if metric.name in values
    ]
    say(schedule.workload)
    say(f"Reading: {schedule.question}.")
    for line in facts_of(schedule.workload, schedule.federation):
        if line not in str(schedule.workload):  # printed already
            say(line)
    shown = (*(("simulated", "recorded") if log else ("value",)), *(() if free is None else (free.label,)))
    heads = ("metric", *shown, "unit", "meaning")
    print_table(f"{schedule.policy}, {schedule.federation}", heads, rows, align=f"l{'r' * len(shown)}ll")
    if partly := partial_record_in_words(schedule):
        say(partly)
    for line in (*run.notes, *schedule.remarks):
        say(line)
    say(run.ending)


def print_side_by_side(runs: Sequence[Run]) -> None:
    """Print what is in each log, and one table: a row per metric; a column per log, and one for what it records."""
    from fedsched.model.jobs.assumed import marked
    from fedsched.model.jobs.recorded import partial_record_in_words
    from fedsched.model.schedule.metrics import METRICS

    for run in runs:
        say(run.schedule.workload)
        for line in facts_of(run.schedule.workload, run.schedule.federation):
            say(line)
        say(f"reading of {run.label}: {run.schedule.question}")
        say(f"machine of {run.label}: {run.schedule.federation}")
        for line in (*run.notes, *run.schedule.remarks):
            say(f"{run.label}: {line}")
    found = [(run.values, run.recorded) for run in runs]
    heads = [
        head
        for run, (_, log) in zip(runs, found, strict=True)
        for head in (run.label, *([f"{run.label} recorded"] if log else []))
    ]
    bare = next((run for run in runs if run.schedule.federation.watts_assumed), runs[0])
    rows = [
        (
            metric.name,
            *(cell for values, log in found for cell in _cells(metric.name, values, log)),
            marked(metric.unit, metric.name, bare.schedule.federation),
        )
        for metric in METRICS
        if any(metric.name in values for values, _ in found)
    ]
    print_table(f"{runs[0].schedule.policy}", ("metric", *heads, "unit"), rows, align=f"l{'r' * len(heads)}l")
    for run in runs:
        for line in filter(None, (partial_record_in_words(run.schedule), run.ending)):
            say(f"{run.label}: {line}")


def _cells(metric: str, values: Mapping[str, float], log: Mapping[str, float]) -> list[str]:
    return [number_text(found[metric]) if metric in found else "" for found in (values, *([log] if log else []))]
