"""The first hours of UB's small cluster as a real Slurm played them, beside ours."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from slurm.micro import ACCOUNTS, NODES, PARTITIONS, PEOPLE, SENT, SETTINGS
from slurm.record_micro import DAYS, RECORDED

import fedsched as fs
from fedsched.slurm import Clocks
from fedsched.slurm.result.schedule import SharedSlurmSchedule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


CLOSE = 60.0
PERIOD = 300  # of the ticks


@dataclass(frozen=True)
class Played:
    """The jobs, when each ran and on how many cores of which nodes, and Slurm's clocks."""

    jobs: fs.Workload
    start: NDArray[np.float64]
    cores: tuple[dict[int, int], ...]
    clocks: Clocks
    clear: tuple[int, ...]  # seconds for which each job's nodes completed

    @classmethod
    def read(cls, name: str = "first") -> Played:
        """Return what was recorded."""
        said = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
        with (RECORDED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        of = {key: np.array([int(row[key]) for row in rows]) for key in rows[0] if key not in ("by", "where")}
        sent = fs.read(SENT)
        jobs = sent.take(of["line"] - 1)
        users = [PEOPLE[name] for name in jobs.label("user").tolist()]
        labels = {name: jobs.label(name) for name in ("account", "partition", "qos", "features")}
        jobs = replace(
            jobs, submit=of["came"].astype(float), runtime=np.maximum(of["gone"] - of["began"], 1).astype(float),
            id=of["job"], labels={**labels, "user": np.array(users)},
        )  # fmt: skip
        return cls(
            jobs=jobs,
            start=of["start"].astype(float),
            cores=tuple(_cores(row["where"]) for row in rows),
            clocks=Clocks(
                epoch=said["epoch"], passes=tuple(said["passes"]), turns=tuple(map(tuple, said["turns"])),
                broke_off=tuple(said["broke_off"]), ticks=float(said["tick"] % PERIOD - PERIOD),
                full=tuple(said["full"]),
            ),
            clear=tuple((of["clear"] - of["gone"]).tolist()),
        )  # fmt: skip

    def on_ours(self, *, with_clocks: bool = True, said: str = SETTINGS) -> SharedSlurmSchedule:
        """Return what ours makes of it; with the recording's clocks each job's nodes clear when they did."""
        lines = [said, *(f"NodeName=n{k} {node}" for k, node in enumerate(NODES, 1)), PARTITIONS]
        with TemporaryDirectory() as folder:
            conf, script = Path(folder) / "slurm.conf", Path(folder) / "accounts"
            conf.write_text("\n".join(lines) + "\n", encoding="utf-8")
            script.write_text(ACCOUNTS + "\n", encoding="utf-8")
            policy = fs.policies.Slurm(
                conf,
                slurm_version="22.05",
                assoc=script,
                clocks=self.clocks if with_clocks else Clocks(epoch=self.clocks.epoch, ticks=self.clocks.ticks),
                completing=dict(zip(self.jobs.id.tolist(), self.clear, strict=True))
                if with_clocks else int(np.median(self.clear)),
            )  # fmt: skip
            return fs.simulate(self.jobs, fs.read_federation(conf), policy, sharing="block")  # type: ignore[return-value]

    def apart(self, schedule: fs.Schedule) -> NDArray[np.float64]:
        """Return how far each start is from the recorded one."""
        return np.abs(schedule.start - self.start)

    def on_the_same(self, schedule: SharedSlurmSchedule) -> float:
        """Return the share of the jobs that are on the very nodes."""
        return float(np.mean([set(schedule.nodes_of(row)) == set(one) for row, one in enumerate(self.cores)]))


def _cores(where: str) -> dict[int, int]:
    return {int(node) - 1: int(cores) for node, cores in re.findall(r"n(\d+):(\d+)", where)}


def table() -> Iterator[str]:
    """Give the lines of a table of how near it is."""
    yield "| recording | beside it | mean apart | within 60 s | at most | very nodes |"
    yield "|---|---|---|---|---|---|"
    for name in DAYS:
        played = Played.read(name)
        for ours, schedule in (
            ("ours, its clocks", played.on_ours()),
            ("ours, clocks of its own", played.on_ours(with_clocks=False)),
            ("EASY", fs.simulate(played.jobs, schedule_machine(), "easy", sharing="block")),
        ):
            very = f"{played.on_the_same(schedule):.0%}" if isinstance(schedule, SharedSlurmSchedule) else ""
            yield f"| {name} | {ours} | {_near(played.apart(schedule))} | {very} |"
    yield f"| {name} | the same jobs on Slurm before | {_near(np.abs(played.start - Played.read().start))} | |"


def _near(apart: NDArray[np.float64]) -> str:
    return f"{apart.mean():.1f} s | {(apart <= CLOSE).mean():.1%} | {apart.max():,.0f} s"


def schedule_machine() -> fs.Federation:
    """Return the cluster."""
    with TemporaryDirectory() as folder:
        conf = Path(folder) / "slurm.conf"
        lines = [*(f"NodeName=n{k} {node}" for k, node in enumerate(NODES, 1)), PARTITIONS]
        conf.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return fs.read_federation(conf)


if __name__ == "__main__":
    print("\n".join(table()))
