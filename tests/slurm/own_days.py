"""Our recorded days by Slurm's own scheduler: how far its starts are from the recorded ones."""

from __future__ import annotations

import math
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from slurm.on_named_nodes import numbered
from slurm.replay import Start, compared, federation_of, number, shares_nodes, workload_of

import fedsched as fs
from fedsched.slurm import Clocks
from fedsched.slurm.result.clocks import seconds_to_clear

if TYPE_CHECKING:
    from slurm.recording import Recording

COMPLETING = 1  # measured: the shortest from an end to the next start on the same nodes


def clocks_of_day(recording: Recording, *, own: bool = False) -> Clocks:
    """Return when backfill started somebody, where it did and passes do not keep their `own` time, and the ticks."""
    passes = {job.start for job in recording.jobs if job.started_by == "Backfill" and job.start is not None}
    ticks = None
    if recording.tick is not None:
        period = 60 * int(re.findall(r"PriorityCalcPeriod=(\d+)", recording.settings)[0])
        ticks = float(recording.tick % period - period)
    return Clocks(epoch=recording.epoch, passes=None if own else tuple(passes) or None, ticks=ticks)


def clearing(recording: Recording) -> dict[int, int]:
    """Return how long the nodes of each job completed."""
    ran = [job for job in recording.jobs if job.start is not None and job.end is not None]
    times = [job.start for job in ran], [job.end for job in ran]
    each = seconds_to_clear(*times, (numbered(job.on) for job in ran), most=COMPLETING)
    return dict.fromkeys(map(number, recording.jobs), COMPLETING) | dict(zip(map(number, ran), each, strict=True))


def on_slurm(recording: Recording, *, own_clocks: bool = False, rate: int = 0) -> fs.Schedule:
    """Return what Slurm's own scheduler makes of a recorded day, by the recording's backfill passes or its own.

    With a rate passes make so many tests a second.
    """
    each = recording.each or ("CPUs=1",) * recording.nodes
    nodes = [f"NodeName=n{k} {words}" for k, words in enumerate(each, 1)]  # a line each, as it was recorded
    lines = [recording.settings, *nodes, recording.partitions or "PartitionName=p Nodes=ALL Default=YES"]
    with TemporaryDirectory() as folder:
        conf, script = Path(folder) / "slurm.conf", Path(folder) / "accounts.script"
        conf.write_text("\n".join(lines) + "\n", encoding="utf-8")
        script.write_text("\n".join(recording.accounts) + "\n", encoding="utf-8")
        policy = fs.policies.Slurm(
            conf,
            slurm_version="22.05",
            assoc=script if recording.accounts else None,
            completing=clearing(recording),
            clocks=clocks_of_day(recording, own=own_clocks),
            **({"passes": "timed", "rate": rate} if rate else {}),  # type: ignore[arg-type]
        )
        plain = not (recording.each or recording.partitions)
        machine = federation_of(recording) if plain else fs.read_federation(conf)
        sharing = "block" if shares_nodes(recording) else None
        return fs.simulate(workload_of(recording), machine, policy, sharing=sharing)


def own_starts(recording: Recording, *, own_clocks: bool = False, rate: int = 0) -> list[Start]:
    """Return when each job started on Slurm and here."""
    schedule = on_slurm(recording, own_clocks=own_clocks, rate=rate)
    nan = math.nan
    columns = zip(compared(recording), schedule.start.tolist(), schedule.finish.tolist(), strict=True)
    return [
        Start(job.called, nan if job.start is None else job.start, nan if job.end is None else job.end, start, finish)
        for job, start, finish in columns
    ]
