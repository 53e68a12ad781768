"""The small logs that a real Slurm played, beside ours."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from slurm.logs import LOGS, NODES
from slurm.on_named_nodes import numbered

import fedsched as fs
from fedsched.slurm import Clocks
from fedsched.slurm.associations import Associations
from fedsched.slurm.clocks import seconds_to_clear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from fedsched.slurm import SlurmSchedule

CLOSE = 60.0
PERIOD = 300  # of the ticks
RECORDED = Path(__file__).parent / "recorded" / "logs"


@dataclass(frozen=True)
class Played:
    """A log as Slurm had it: its jobs, when and where each ran, and its clocks."""

    name: str
    jobs: fs.Workload
    start: NDArray[np.float64]
    nodes: tuple[frozenset[int], ...]
    clocks: Clocks
    over: int  # seconds that jobs ran over what they were asked to, by their median

    @classmethod
    def read(cls, name: str) -> Played:
        """Return a recorded log."""
        said = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
        with (RECORDED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        columns = {key: np.array([int(row[key]) for row in rows])
                   for key in ("job", "nodes", "limit", "runs", "submit", "start", "end")}  # fmt: skip
        run = columns["end"] - columns["start"]
        passes = {int(row["start"]) for row in rows if row["by"] == "Backfill"}
        labels = {key: [row[key] for row in rows] for key in ("user", "account", "partition", "qos")}
        jobs = fs.Workload(
            submit=columns["submit"], tasks=columns["nodes"], runtime=np.maximum(run, 1), estimate=columns["limit"],
            id=columns["job"], user=np.unique(labels["user"], return_inverse=True)[1], labels=labels, name=name,
        )  # fmt: skip
        return cls(
            name=name,
            jobs=jobs,
            start=columns["start"].astype(float),
            nodes=tuple(numbered(row["on"]) for row in rows),
            clocks=Clocks(epoch=said["epoch"], passes=tuple(passes) or None, ticks=_first_tick(said["tick"])),
            over=int(np.median(run - columns["runs"])),
        )

    def on_ours(
        self, *, with_clocks: bool = True, ensemble: int = 1, changed: Callable[..., tuple[str, ...]] | None = None
    ) -> SlurmSchedule:
        """Return what ours makes of it, with a conf and accounts that are `changed`, if they are to be.

        With the recording's clocks each job's nodes clear when they did.
        """
        log = LOGS[self.name]
        lines = [log.settings, *(f"NodeName=n{k} CPUs=1" for k in range(1, NODES + 1)), log.partitions]
        clocks = self.clocks if with_clocks else Clocks(epoch=self.clocks.epoch, ticks=self.clocks.ticks)
        end = self.start + self.jobs.runtime
        each = seconds_to_clear(self.start.tolist(), end.tolist(), self.nodes, most=self.over)
        with TemporaryDirectory() as folder:
            conf, script = Path(folder) / "slurm.conf", Path(folder) / "accounts.script"
            texts = "\n".join(lines) + "\n", f"{log.accounts}\n"
            for path, text in zip((conf, script), texts if changed is None else changed(*texts), strict=True):
                path.write_text(text, encoding="utf-8")
            policy = fs.policies.Slurm(
                conf,
                assoc=Associations.read(script) if log.accounts else None,
                clocks=clocks,
                completing=dict(zip(self.jobs.id.tolist(), each, strict=True)) if with_clocks else self.over,
                ensemble=ensemble,
            )
            return fs.simulate(self.jobs, fs.read_federation(conf), policy)  # type: ignore[return-value]

    def apart(self, schedule: fs.Schedule) -> NDArray[np.float64]:
        """Return how far each start is from the recorded one."""
        return np.abs(schedule.start - self.start)


def _first_tick(last: int | None) -> float | None:
    """Return the last tick before the first job, of one that came later."""
    return None if last is None else float(last % PERIOD - PERIOD)


def table() -> Iterator[str]:
    """Give the lines of a table of how near each log is."""
    yield "| log | ours | mean apart | within 60 s | at most |"
    yield "|---|---|---|---|---|"
    for name in LOGS:
        played = Played.read(name)
        machine = fs.Federation.homogeneous(NODES)
        bare = replace(played.jobs, labels=None)
        for ours, schedule in (
            ("its clocks", played.on_ours()),
            (f"clocks of its own, nodes clear in {played.over} s", played.on_ours(with_clocks=False)),
            ("EASY", fs.simulate(bare, machine, "easy")),
            ("conservative", fs.simulate(bare, machine, "conservative")),
        ):
            apart = played.apart(schedule)
            yield f"| {name} | {ours} | {apart.mean():.1f} s | {(apart <= CLOSE).mean():.0%} | {apart.max():,.0f} s |"


if __name__ == "__main__":
    print("\n".join(table()))
