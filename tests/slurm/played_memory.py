"""The logs in which memory decides and that a real Slurm played, beside ours."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from slurm.memory_logs import AGAIN, CORES, LOGS, MEMORY, NODE, NODES, PARTITION, SMALL

import fedsched as fs
from fedsched.slurm import Clocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.slurm.result.schedule import SharedSlurmSchedule

CLOSE = 60.0
RECORDED = Path(__file__).parent / "recorded" / "logs"


@dataclass(frozen=True)
class Played:
    """A log as Slurm had it: its jobs, when each ran and on how many cores of which nodes, and its clocks."""

    name: str
    jobs: fs.Workload
    start: NDArray[np.float64]
    cores: tuple[dict[int, int], ...]
    clocks: Clocks
    clear: tuple[int, ...]  # seconds for which each job's nodes completed

    @classmethod
    def read(cls, name: str) -> Played:
        """Return a recorded log."""
        said = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
        with (RECORDED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        of = {key: np.array([int(row[key]) for row in rows]) for key in rows[0] if key not in ("by", "where")}
        run, each = of["gone"] - of["began"], np.maximum(of["per_node"], 1)
        jobs = fs.Workload(
            submit=of["came"], tasks=of["tasks"], runtime=run, estimate=of["limit"], id=of["job"],
            name=name, layout={"tasks_per_node": of["per_node"], "exclusive": of["exclusive"],
                               "nodes": of.get("nodes", 0 * run)},
            demand={"cpu": of["cores"], "memory": np.where(of["per_node"] > 0, of["memory"] // each,
                                                           of["memory"] * of["cores"])},
        )  # fmt: skip
        return cls(
            name=name,
            jobs=jobs,
            start=of["start"].astype(float),
            cores=tuple(_cores(row["where"]) for row in rows),
            clocks=Clocks(
                epoch=said["epoch"],
                passes=tuple(said["passes"]) or None,
                turns=tuple(map(tuple, said["turns"])) or None,
                broke_off=tuple(said["broke_off"]) or None,
            ),
            clear=tuple((of["clear"] - of["gone"]).tolist()),
        )

    def on_ours(self, *, with_clocks: bool = True, memory: bool = True) -> SharedSlurmSchedule:
        """Return what ours makes of it; with the recording's clocks each job's nodes clear when they did.

        Without `memory` nodes have as much of it as anybody may ask for.
        """
        node = NODE if memory else re.sub(r"RealMemory=\d+", "RealMemory=10000000", NODE)
        lines = [(LOGS | SMALL)[self.name].settings, *(f"NodeName=n{k} {node}" for k in range(1, NODES + 1)), PARTITION]
        with TemporaryDirectory() as folder:
            conf = Path(folder) / "slurm.conf"
            conf.write_text("\n".join(lines) + "\n", encoding="utf-8")
            policy = fs.policies.Slurm(
                conf,
                slurm_version="22.05",
                clocks=self.clocks if with_clocks else Clocks(epoch=self.clocks.epoch),
                completing=dict(zip(self.jobs.id.tolist(), self.clear, strict=True)) if with_clocks else self.usual,
            )
            return fs.simulate(self.jobs, fs.read_federation(conf), policy, sharing="block")  # type: ignore[return-value]

    def instant(self) -> Played:
        """Return the log with clocks in which no second turns within a pass."""
        return replace(self, clocks=replace(self.clocks, turns=None))

    @property
    def usual(self) -> int:
        """Return for how many seconds nodes complete as a rule."""
        return int(np.median(self.clear))

    def apart(self, schedule: fs.Schedule | Played) -> NDArray[np.float64]:
        """Return how far each start is from the recorded one."""
        return np.abs(schedule.start - self.start)

    def on_the_same(self, schedule: SharedSlurmSchedule) -> float:
        """Return the share of the jobs that have as many cores of the very nodes."""
        use = schedule.use
        held = np.where(use.alone[use.job], CORES, use.amounts("cpu"))
        found: list[dict[int, int]] = [{} for _ in self.cores]
        for job, node, cores in zip(use.job.tolist(), use.node.tolist(), held.tolist(), strict=True):
            found[job][node] = cores
        return float(np.mean([one == other for one, other in zip(found, self.cores, strict=True)]))


def _cores(where: str) -> dict[int, int]:
    pairs = (part.removeprefix("n").split(":") for part in where.split())
    return {int(node) - 1: int(cores) for node, cores in pairs}


def table() -> Iterator[str]:
    """Give the lines of a table of how near each log is."""
    yield "| log | ours | mean apart | within 60 s | at most | very cores |"
    yield "|---|---|---|---|---|---|"
    for name in LOGS:
        played = Played.read(name)
        group = fs.NodeGroup(NODES, resources={"cpu": CORES, "memory": MEMORY})
        machine = fs.Federation((fs.Cluster("C", (group,)),))
        for ours, schedule in (
            ("its clocks", played.on_ours()),
            ("its clocks, passes that take no time", played.instant().on_ours()),
            (f"clocks of its own, nodes clear in {played.usual} s", played.on_ours(with_clocks=False)),
            ("its clocks, no memory", played.on_ours(memory=False)),
            ("EASY", fs.simulate(played.jobs, machine, "easy", sharing="block")),
        ):
            apart = played.apart(schedule)
            same = f"{played.on_the_same(schedule):.0%}"  # type: ignore[arg-type]
            near = f"{apart.mean():.1f} s | {(apart <= CLOSE).mean():.1%} | {apart.max():,.0f} s"
            yield f"| {name} | {ours} | {near} | {same} |"
        if AGAIN in name:
            apart = played.apart(Played.read(name.removesuffix(AGAIN)))
            near = f"{apart.mean():.1f} s | {(apart <= CLOSE).mean():.1%} | {apart.max():,.0f} s"
            yield f"| {name} | Slurm itself, the day before | {near} | |"


if __name__ == "__main__":
    print("\n".join(table()))
