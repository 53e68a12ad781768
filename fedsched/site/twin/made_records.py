"""What sacct and squeue print of a made cluster's jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.site.twin import commands, made_queue
from fedsched.site.twin.made_facts import called, labels_of, limit_of, numbers_of, recorded_limit
from fedsched.site.twin.made_files import CLUSTER, CORES, EPOCH, clock

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.model.schedule.schedule import Schedule
    from fedsched.site.twin.made_facts import Facts

COLUMNS = (
    "JobIDRaw", "JobID", "Cluster", "Partition", "User", "Account", "QOS", "JobName", "Submit", "Eligible", "Start",
    "End", "ElapsedRaw", "TimelimitRaw", "State", "AllocCPUS", "ReqCPUS", "NNodes", "Reason", "Flags", "SubmitLine",
)  # fmt: skip
FLAGS = {"backfill": "SchedBackfill", "main": "SchedMain"}


def write_jobs(
    folder: Path,
    facts: Facts,
    schedule: Schedule,
    since: float,
    until: float,
    reasons: list[str],
    elsewhere: list[str],
) -> None:
    """Write what sacct prints of the runs between two times, of this cluster and of the clusters in `elsewhere`."""
    start, finish = schedule.start, schedule.finish
    begun = start <= until
    over = finish <= until
    gone = np.isnan(start) & (facts.gone >= 0) & (facts.gone <= until)
    ended = np.where(over, finish, np.where(gone, facts.gone, np.nan))
    there = (facts.submit <= until) & ~(ended < since)
    number = numbers_of(facts)
    lost = np.zeros(len(start), dtype=np.bool_)
    lost[facts.again[facts.again >= 0]] = True
    state = np.where(gone, "CANCELLED by 1000", np.where(~begun, "PENDING", np.where(~over, "RUNNING", "COMPLETED")))
    state = np.where(lost & over, "NODE_FAIL", state)
    state = np.where(over & (finish - start >= facts.limit) & ~lost, "TIMEOUT", state)
    texts = {
        "submit": clock(facts.submit + EPOCH),
        "eligible": clock(facts.eligible + EPOCH),
        "start": clock(np.where(begun, start, np.nan) + EPOCH),
        "end": clock(ended + EPOCH),
    }
    elapsed = np.where(begun, np.minimum(np.where(over, finish, until), until) - start, 0.0)
    by = getattr(schedule, "started_by", [""] * len(start))
    labels, letters = labels_of(facts), facts.site.letters
    lines = ["|".join(COLUMNS)]
    for row in np.flatnonzero(there).tolist():
        name = called(facts, number, row)
        other, nodes = int(facts.depends[row]), int(facts.work.tasks[row])
        cells = (
            number[row], name, CLUSTER, *(labels[one][row] for one in ("partition", "user", "account", "qos")),
            "job", texts["submit"][row], texts["eligible"][row],
            texts["start"][row], texts["end"][row], int(elapsed[row]), recorded_limit(facts, row), state[row][:letters],
            CORES * nodes if begun[row] else 0, CORES * nodes, nodes, reasons[row],
            FLAGS.get(by[row], "SchedSubmit") if begun[row] else "",
            f"sbatch --dependency=afterany:{number[other]} job" if other >= 0 else "sbatch job",
        )  # fmt: skip
        lines.append("|".join(map(str, cells)))
        for step in (".batch", ".extern", ".0") if facts.site.steps and begun[row] else ():
            lines.append("|".join(map(str, (f"{cells[0]}{step}", f"{name}{step}", CLUSTER, "", "", *cells[5:]))))
        # Other clusters' jobs differ only in the cluster's name: a reader must not mix them up with these.
        lines += ["|".join(map(str, (*cells[:2], other, *cells[3:]))) for other in elsewhere]
    (folder / commands.JOBS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_queue(
    folder: Path, facts: Facts, schedule: Schedule, until: float, reasons: list[str], *, in_order: bool
) -> None:
    """Write what squeue prints of the jobs that run or wait at a time."""
    number = numbers_of(facts)
    begun, over = schedule.start <= until, schedule.finish <= until
    gone = (facts.gone >= 0) & (facts.gone <= until)
    runs = np.flatnonzero(begun & ~over)
    waits = np.flatnonzero(~begun & ~gone & (facts.submit <= until))
    later = facts.eligible[waits] > until
    depends = later & (facts.depends[waits] >= 0)
    held = later & ~depends & (facts.held[waits] > until)
    priority = made_queue.priorities(
        facts.submit[waits],
        facts.eligible[waits],
        facts.site.points(facts.queue, facts.quality)[waits],
        until,
        in_order=in_order,
    )
    enough = facts.work.tasks[waits] <= facts.work.nodes - facts.work.tasks[runs].sum()
    why = made_queue.reasons(priority, held, depends, [reasons[row] for row in waits.tolist()], enough)
    priority[held] = 0
    bounds = [facts.site.queues[k].of(facts.work.nodes) for k in facts.queue[runs].tolist()]
    hosts = made_queue.node_lists(facts.work.tasks[runs].tolist(), bounds)
    submit, start = clock(facts.submit + EPOCH), clock(schedule.start + EPOCH)
    end = clock(schedule.start + facts.limit + EPOCH)
    labels, lines = labels_of(facts), [made_queue.HEAD]

    def line(row: int, *, state: str, reason: str, priority: int, hosts: str) -> str:
        nodes, other = int(facts.work.tasks[row]), int(facts.depends[row])
        runs = state == "RUNNING"
        condition = f"afterany:{number[other]}(unfulfilled)" if reason == "Dependency" else "(null)"
        cells = (
            called(facts, number, row), labels["partition"][row], labels["user"][row], state, reason, priority,
            submit[row], end[row] if runs else "N/A", start[row] if runs else "N/A", limit_of(facts, row), nodes,
            labels["account"][row], labels["qos"][row], condition, "(null)", "(null)", hosts, 0,
            CORES * nodes, "", "", "N/A", "(null)",
        )  # fmt: skip
        return commands.PARTED.join(map(str, cells))

    for row, names in zip(runs.tolist(), hosts, strict=True):
        lines.append(line(row, state="RUNNING", reason="None", priority=1, hosts=names))
    for k, row in enumerate(waits.tolist()):
        lines.append(line(row, state="PENDING", reason=why[k], priority=int(priority[k]), hosts=""))
    (folder / commands.QUEUE).write_text("\n".join(lines) + "\n", encoding="utf-8")
