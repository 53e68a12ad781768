"""Record the logs in which memory decides on a real Slurm: `PYTHONPATH=tests python -m slurm.record_memory`."""

from __future__ import annotations

import calendar
import csv
import json
import re
import tempfile
import time
from functools import partial
from pathlib import Path

from slurm.asking import asked_of, parser_of, tried
from slurm.cluster import InvalidRun, SlurmCluster
from slurm.memory_logs import LOGS, NODE, NODES, PARTITION, SMALL, Log
from slurm.record_packing import placed
from slurm.seen import Told

RECORDED = Path(__file__).parent / "recorded" / "logs"
FACTOR = 20.0
LEAD = 20.0
LATE = 60.0  # seconds of Slurm's clock by which a command may be slow
LOOK = 5.0  # seconds of the world: looking through a long log takes the machine from those who write it
FIELD = re.compile(r"(\S+?)=(\S*)")
ALL = LOGS | SMALL
TOLD = "DebugFlags=Backfill\nSlurmctldDebug=debug2"
COLUMNS = ("job", "tasks", "cores", "memory", "per_node", "nodes", "exclusive", "limit", "runs", "submit", "start",
           "end", "by", "where", "came", "began", "gone", "clear")  # fmt: skip


def play(log: Log, slurm: SlurmCluster) -> tuple[int, list[dict[str, object]]]:
    """Submit everything in turn; return when that began, and what became of the jobs."""
    begin, asked = int(slurm.clock.now() + LEAD), {}
    for job in log.jobs():
        slurm.clock.sleep_until(begin + job.at)
        asked[slurm.tell(*job.command())] = job
    while slurm.ask("squeue", "-h", "-o", "%i"):
        slurm.check()
        time.sleep(LOOK)
    rows: list[dict[str, object]] = []
    for line in slurm.ask("scontrol", "-d", "-o", "show", "job").splitlines():
        told = dict(FIELD.findall(line))
        if told["JobState"] not in ("COMPLETED", "TIMEOUT") or int(told["Restarts"]):
            raise InvalidRun(f"job {told['JobId']} is {told['JobState']}")
        job = asked[told["JobId"]]
        times = [_second(told[name]) - begin for name in ("SubmitTime", "StartTime", "EndTime")]
        said = (told["JobId"], job.tasks, job.cores, job.memory, job.per_node, job.nodes, int(job.exclusive),
                60 * job.minutes, job.runs, *times, told.get("Scheduler", ""),
                placed(line) or told["NodeList"])  # fmt: skip
        rows.append(dict(zip(COLUMNS, said, strict=False)))
    return begin, sorted(rows, key=lambda row: int(str(row["job"])))


def record(name: str, factor: float, kept: Path | None) -> None:
    """Record a log; what slurmctld tells of backfill's plans is kept in a folder, where one is given."""
    log = ALL[name]
    settings = f"{log.settings}\n{TOLD}"
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        SlurmCluster(
            Path(folder), nodes=NODES, settings=settings, factor=factor, node=NODE, partitions=PARTITION
        ) as slurm,
    ):
        begin, rows = play(log, slurm)
        text = (Path(folder) / "slurmctld.log").read_text(encoding="utf-8", errors="replace")
        if kept:
            kept.mkdir(parents=True, exist_ok=True)
            (kept / f"{name}.log").write_text(text, encoding="utf-8")
        told = Told.read(
            text,
            {int(str(row["job"])): int(str(row["start"])) + begin for row in rows},
            {int(str(row["job"])): _numbers(str(row["where"])) for row in rows},
        )
        said = {
            "command": f"PYTHONPATH=tests python -m slurm.record_memory {name} --factor {factor:g}",
            "version": slurm.ask("slurmctld", "-V"),
            "factor": factor,
            "slowest_command": round(slurm.slowest, 1),
            "epoch": begin,
            "passes": [second - begin for second in told.of_backfill()],
            "turns": [one.turns for one in told.of_backfill().values()],
            "broke_off": [one.broke_off for one in told.of_backfill().values()],
        }
        for row in rows:
            row.update((name, second - begin) for name, second in told.seen(int(str(row["job"]))).items())
        slurm.check()
        if slurm.slowest > LATE:
            raise InvalidRun(f"a command took {slurm.slowest:.0f} s of Slurm's clock")
    RECORDED.mkdir(parents=True, exist_ok=True)
    (RECORDED / f"{name}.json").write_text(json.dumps(said) + "\n", encoding="utf-8")
    with (RECORDED / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    print(f"{name}: {len(rows)} jobs; the slowest command took {said['slowest_command']} s", flush=True)


def _numbers(where: str) -> list[int]:
    return [int(part.partition(":")[0].removeprefix("n")) for part in where.split()]


def _second(text: str) -> int:
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))


def main() -> None:
    """Record what is asked for."""
    parser = parser_of(__doc__, ALL, FACTOR)
    parser.add_argument("--log", type=Path, metavar="FOLDER", help="keep what slurmctld tells of backfill's plans")
    asked = asked_of(parser, ALL)
    for name in asked.names:
        tried(name, partial(record, name, asked.factor, asked.log))


if __name__ == "__main__":
    main()
