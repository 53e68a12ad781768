"""Our recorded days by Slurm's own scheduler: how far its starts are from the recorded ones."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from slurm.on_named_nodes import numbered
from slurm.replay import Start, compared, federation_of, number, workload_of

import fedsched as fs
from fedsched.slurm import Clocks
from fedsched.slurm.clocks import seconds_to_clear

if TYPE_CHECKING:
    from slurm.recording import Recording

COMPLETING = 1  # measured: the shortest from an end to the next start on the same nodes


def clocks_of_passes(recording: Recording) -> Clocks | None:
    """Return when backfill started somebody, where it did; None: passes keep their own time."""
    passes = {job.start for job in recording.jobs if job.started_by == "Backfill" and job.start is not None}
    return Clocks(passes=tuple(passes)) if passes else None


def clearing(recording: Recording) -> dict[int, int]:
    """Return how long the nodes of each job completed."""
    ran = [job for job in recording.jobs if job.start is not None and job.end is not None]
    times = [job.start for job in ran], [job.end for job in ran]
    each = seconds_to_clear(*times, (numbered(job.on) for job in ran), most=COMPLETING)
    return dict.fromkeys(map(number, recording.jobs), COMPLETING) | dict(zip(map(number, ran), each, strict=True))


def on_slurm(recording: Recording, *, own_clocks: bool = False) -> fs.Schedule:
    """Return what Slurm's own scheduler makes of a recorded day, by the recording's backfill passes or its own."""
    clocks = None if own_clocks else clocks_of_passes(recording)
    nodes = [f"NodeName=n{k} CPUs=1" for k in range(1, recording.nodes + 1)]  # a line each, as it was recorded
    lines = [recording.settings, *nodes, "PartitionName=p Nodes=ALL Default=YES"]
    with TemporaryDirectory() as folder:
        conf = Path(folder) / "slurm.conf"
        conf.write_text("\n".join(lines) + "\n", encoding="utf-8")
        policy = fs.policies.Slurm(conf, completing=clearing(recording), clocks=clocks)
        return fs.simulate(workload_of(recording), federation_of(recording), policy)


def own_starts(recording: Recording, *, own_clocks: bool = False) -> list[Start]:
    """Return when each job started on Slurm and here."""
    schedule = on_slurm(recording, own_clocks=own_clocks)
    nan = math.nan
    columns = zip(compared(recording), schedule.start.tolist(), schedule.finish.tolist(), strict=True)
    return [
        Start(job.called, nan if job.start is None else job.start, nan if job.end is None else job.end, start, finish)
        for job, start, finish in columns
    ]
