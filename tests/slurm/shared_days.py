"""KTH's jobs on a real Slurm in four configurations, beside ours: `PYTHONPATH=tests python -m slurm.shared_days`.

The recordings lie in ../shared/slurm/recorded. How long nodes take to clear is measured before anything is compared: as
much as jobs ran over what they were asked to, by their median; and where another job came sooner to a job's nodes, no
longer than that.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fedsched as fs
from fedsched.slurm import Clocks
from fedsched.slurm.priority.associations import Association, Associations, Qos
from fedsched.slurm.result.clocks import seconds_to_clear

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "slurm" / "recorded"
NAMES = ("kth-builtin", "kth-backfill", "kth-cons_tres", "kth-multifactor")
CLOSE = 60.0


@dataclass(frozen=True)
class Day:
    """The jobs as Slurm had them, with the run times that it measured, and when and where it started them."""

    name: str
    conf: Path
    jobs: fs.Workload
    clocks: Clocks
    over: int  # seconds that jobs ran over what they were asked to, by their median
    start: NDArray[np.float64]
    nodes: tuple[tuple[int, ...], ...]
    accounts: Associations | None

    @classmethod
    def read(cls, name: str, folder: Path = FOLDER) -> Day:
        """Return a recorded day."""
        with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        columns = {key: np.array([int(row[key]) for row in rows])
                   for key in ("job", "user", "tasks", "limit", "submit", "start", "end", "asked_runtime")}  # fmt: skip
        run = columns["end"] - columns["start"]
        users = [row["user"] for row in rows]
        # The recording's jobs are root's, each in an account that is named after its user.
        labels = {"user": ["root"] * len(rows), "account": [f"u{user}" for user in users]}
        return cls(
            name=name,
            conf=folder / f"{name}.conf",
            jobs=fs.Workload(
                submit=columns["submit"], tasks=columns["tasks"], runtime=run, estimate=columns["limit"],
                id=columns["job"], user=columns["user"], labels=labels, name=name,
            ),
            clocks=Clocks.read(folder / f"{name}.clock.json"),
            over=int(np.median(run - columns["asked_runtime"])),
            start=columns["start"].astype(float),
            nodes=tuple(_numbers(row["nodes"]) for row in rows),
            accounts=_accounts(users) if name.endswith("multifactor") else None,
        )  # fmt: skip

    def on_ours(self, *, with_clocks: bool, by_job: bool = True) -> Schedule:
        """Return what ours makes of the day; with the recording's clocks, each job's nodes clear when they did."""
        clocks = self.clocks if with_clocks else Clocks(epoch=self.clocks.epoch, ticks=self.clocks.ticks)
        completing: int | dict[int, int] = self.over
        if with_clocks and by_job:
            end = self.start + self.jobs.runtime
            each = seconds_to_clear(self.start.tolist(), end.tolist(), self.nodes, most=self.over)
            completing = dict(zip(self.jobs.id.tolist(), each, strict=True))
        policy = fs.policies.Slurm(
            self.conf, slurm_version="22.05", clocks=clocks, completing=completing, assoc=self.accounts
        )
        return fs.simulate(self.jobs, fs.read_federation(self.conf), policy)

    def apart(self, schedule: Schedule) -> NDArray[np.float64]:
        """Return how far each start is from the recorded one."""
        return np.abs(schedule.start - self.start)


def _numbers(text: str) -> tuple[int, ...]:
    ranges = re.findall(r"(\d+)(?:-(\d+))?", text)
    return tuple(k - 1 for first, last in ranges for k in range(int(first), int(last or first) + 1))


def _accounts(users: list[str]) -> Associations:
    members = [Association("root"), Association("root", user="root", parent=0)]
    for user in sorted(set(users)):
        members.append(Association(f"u{user}", parent=0))
        members.append(Association(f"u{user}", user="root", parent=len(members) - 1))
    return Associations(tuple(members), {"normal": Qos("normal")}, {"root": "root"})


def table() -> Iterator[str]:
    """Give the lines of the table."""
    yield "| recording | ours | mean apart | within 60 s | at most |"
    yield "|---|---|---|---|---|"
    for name in NAMES:
        day = Day.read(name)
        machine = fs.read_federation(day.conf)
        for ours, schedule in (
            ("its clocks, nodes clear as recorded", day.on_ours(with_clocks=True)),
            (f"its clocks, nodes clear in {day.over} s", day.on_ours(with_clocks=True, by_job=False)),
            (f"clocks of its own, {day.over} s", day.on_ours(with_clocks=False)),
            ("EASY", fs.simulate(day.jobs, machine, "easy")),
            ("conservative", fs.simulate(day.jobs, machine, "conservative")),
            ("FCFS", fs.simulate(day.jobs, machine, "fcfs")),
        ):
            apart = day.apart(schedule)
            yield f"| {name} | {ours} | {apart.mean():.1f} s | {(apart <= CLOSE).mean():.1%} | {apart.max():,.0f} s |"


if __name__ == "__main__":
    print("\n".join(table()))
