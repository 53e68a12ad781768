"""The small logs that a real Slurm played, beside ours."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from slurm.logs import AGAIN, LOGS, LONG_LOGS, NODES, Log
from slurm.on_named_nodes import numbered

import fedsched as fs
from fedsched.slurm import Clocks
from fedsched.slurm.priority.associations import Associations
from fedsched.slurm.result.clocks import seconds_to_clear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from fedsched.slurm import SlurmSchedule

CLOSE = 60.0
PERIOD = 300  # of the ticks
RECORDED = Path(__file__).parent / "recorded" / "logs"
WATCHED = ("came", "began", "gone", "clear")


@dataclass(frozen=True)
class Played:
    """A log as Slurm had it: its jobs, when and where each ran, and its clocks."""

    name: str
    jobs: fs.Workload
    start: NDArray[np.float64]
    nodes: tuple[frozenset[int], ...]
    clocks: Clocks
    over: int  # seconds that jobs ran over what they were asked to, by their median
    clear: tuple[int, ...]  # seconds for which each job's nodes completed

    @classmethod
    def read(cls, name: str) -> Played:
        """Return a recorded log."""
        said = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
        with (RECORDED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        columns = {key: np.array([int(row[key]) for row in rows])
                   for key in ("job", "nodes", "limit", "runs", "submit", "start", "end")}  # fmt: skip
        where, run = [numbered(row["on"]) for row in rows], columns["end"] - columns["start"]
        over = int(np.median(run - columns["runs"]))
        if log_of(name).watched:
            seen = {key: np.array([int(row[key]) for row in rows]) for key in WATCHED}
            # Within the second before it is gone a job ends whose EndTime is that one.
            submit, run = seen["came"], seen["gone"] - seen["began"] - 0.5 * (seen["gone"] > columns["end"])
            clear = (seen["clear"] - seen["gone"]).tolist()
            passes, turns = said["passes"], tuple(map(tuple, said["turns"]))
            broke_off = tuple(said["broke_off"])
        else:
            submit, turns, broke_off = columns["submit"], None, None
            clear = seconds_to_clear(columns["start"].tolist(), columns["end"].tolist(), where, most=over)
            passes = {int(row["start"]) for row in rows if row["by"] == "Backfill"}
        labels = {key: [row[key] for row in rows] for key in ("user", "account", "partition", "qos")}
        jobs = fs.Workload(
            submit=submit, tasks=columns["nodes"], runtime=np.maximum(run, 1), estimate=columns["limit"],
            id=columns["job"], user=np.unique(labels["user"], return_inverse=True)[1], labels=labels, name=name,
        )  # fmt: skip
        return cls(
            name=name,
            jobs=jobs,
            start=columns["start"].astype(float),
            nodes=tuple(where),
            clocks=Clocks(
                epoch=said["epoch"], passes=tuple(passes) or None, turns=turns, broke_off=broke_off,
                ticks=_first_tick(said["tick"]), full=tuple(said.get("full", ())) or None,
            ),
            over=over,
            clear=tuple(clear),
        )  # fmt: skip

    def on_ours(
        self, *, with_clocks: bool = True, ensemble: int = 1, changed: Callable[..., tuple[str, ...]] | None = None
    ) -> SlurmSchedule:
        """Return what ours makes of it, with a conf and accounts that are `changed`, if they are to be.

        With the recording's clocks each job's nodes clear when they did.
        """
        log = log_of(self.name)
        lines = [log.settings, *(f"NodeName=n{k} CPUs=1" for k in range(1, NODES + 1)), log.partitions]
        clocks = self.clocks if with_clocks else Clocks(epoch=self.clocks.epoch, ticks=self.clocks.ticks)
        each = dict(zip(self.jobs.id.tolist(), self.clear, strict=True))
        with TemporaryDirectory() as folder:
            conf, script = Path(folder) / "slurm.conf", Path(folder) / "accounts.script"
            texts = "\n".join(lines) + "\n", f"{log.accounts}\n"
            for path, text in zip((conf, script), texts if changed is None else changed(*texts), strict=True):
                path.write_text(text, encoding="utf-8")
            policy = fs.policies.Slurm(
                conf,
                slurm_version="22.05",
                assoc=Associations.read(script) if log.accounts else None,
                clocks=clocks,
                completing=each if with_clocks else self.usual,
                ensemble=ensemble,
            )
            return fs.simulate(self.jobs, fs.read_federation(conf), policy)  # type: ignore[return-value]

    @property
    def usual(self) -> int:
        """Return for how many seconds nodes complete as a rule."""
        return int(np.median(self.clear)) if log_of(self.name).watched else self.over

    def apart(self, schedule: fs.Schedule | Played) -> NDArray[np.float64]:
        """Return how far each start is from the recorded one."""
        return np.abs(schedule.start - self.start)


def log_of(name: str) -> Log:
    """Return what was played."""
    return (LOGS | LONG_LOGS)[name]


def _first_tick(last: int | None) -> float | None:
    """Return the last tick before the first job, of one that came later."""
    return None if last is None else float(last % PERIOD - PERIOD)


def table() -> Iterator[str]:
    """Give the lines of a table of how near each log is."""
    yield "| log | ours | mean apart | within 60 s | at most |"
    yield "|---|---|---|---|---|"
    for name in (*LOGS, *LONG_LOGS):
        played = Played.read(name)
        machine = fs.Federation.homogeneous(NODES)
        bare = replace(played.jobs, labels=None)
        for ours, schedule in (
            ("its clocks", played.on_ours()),
            (f"clocks of its own, nodes clear in {played.usual} s", played.on_ours(with_clocks=False)),
            ("EASY", fs.simulate(bare, machine, "easy")),
            ("conservative", fs.simulate(bare, machine, "conservative")),
        ):
            apart = played.apart(schedule)
            yield f"| {name} | {ours} | {apart.mean():.1f} s | {(apart <= CLOSE).mean():.1%} | {apart.max():,.0f} s |"
        if AGAIN in name:
            apart = played.apart(Played.read(name.removesuffix(AGAIN)))
            near = f"{apart.mean():.1f} s | {(apart <= CLOSE).mean():.1%} | {apart.max():,.0f} s"
            yield f"| {name} | the same jobs on Slurm again | {near} |"


if __name__ == "__main__":
    print("\n".join(table()))
