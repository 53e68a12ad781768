"""Record days beside `fedsched watch` anew on a real Slurm: `PYTHONPATH=tests python -m slurm.record_watched wide`.

Without a name all of them, each as Slurm plays it alone, with a watch that makes the order by Nice, and with one that
makes it by begin times; some five minutes each.
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from slurm.asking import asked_of, parser_of, tried
from slurm.cluster import InvalidRun
from slurm.recorder import record
from slurm.watched_days import DAYS, MEANS, RECORDED
from slurm.watcher import Watcher

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from slurm.cluster import SlurmCluster

FACTOR = 30.0


def recorded(name: str, means: str, factor: float) -> None:
    """Play a day once, and keep what becomes of it, beside a watch with what that promised."""
    command = f"PYTHONPATH=tests python -m slurm.record_watched {name} --means {means} --factor {factor:g}"
    watchers: list[Watcher] = []

    def steered(slurm: SlurmCluster, begin: float, numbers: dict[str, str]) -> AbstractContextManager[object]:
        watchers.append(Watcher(slurm, begin, numbers, lease=means == "lease"))
        return watchers[-1]

    day = DAYS[name]
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        play = partial(record, day.day, Path(folder), settings=day.settings, factor=factor, command=command)
        made = play() if means == "alone" else play(beside=steered)
    if cut := [job.key for job in made.jobs if job.state != "COMPLETED"]:
        raise InvalidRun(f"{', '.join(cut)}: not begun in time by a busy node, or ended otherwise than by itself")
    RECORDED.mkdir(parents=True, exist_ok=True)
    made.write(RECORDED / f"{name}-{means}")
    for watcher in watchers:
        said = {"plans": watcher.watch.plans, "slowest": round(watcher.watch.slowest * factor, 1)}
        promises = RECORDED / f"{name}-{means}.promised.json"
        told = {**said, "promised": watcher.deadlines(), "at_first": watcher.deadlines(first=True)}
        promises.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    waits = [job.start - job.submit for job in made.jobs if job.start is not None]
    print(f"{name}, {means}: {len(waits)} jobs, mean wait {sum(waits) / len(waits):.0f} s", flush=True)


def main() -> None:
    """Record what is asked for."""
    parser = parser_of(__doc__, DAYS, FACTOR)
    parser.add_argument("--means", choices=MEANS, action="append", help="only that one")
    asked = asked_of(parser, DAYS)
    for name in asked.names:
        for means in asked.means or MEANS:
            tried(f"{name}, {means}", partial(recorded, name, means, asked.factor))


if __name__ == "__main__":
    main()
