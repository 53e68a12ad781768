"""Record the logs in which memory decides on a real Slurm: `PYTHONPATH=tests python -m slurm.record_memory`."""

from __future__ import annotations

import calendar
import csv
import json
import re
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path

from slurm.asking import asked_of, parser_of, tried
from slurm.cluster import InvalidRun, SlurmCluster
from slurm.memory_logs import LOGS, NODE, NODES, PARTITION, Log
from slurm.record_packing import placed

RECORDED = Path(__file__).parent / "recorded" / "logs"
FACTOR = 20.0
LEAD = 20.0
LATE = 60.0  # seconds of Slurm's clock by which a command may be slow
LOOK = 1.0  # seconds of the world
FIELD = re.compile(r"(\S+?)=(\S*)")
COLUMNS = ("job", "tasks", "cores", "memory", "per_node", "exclusive", "limit", "runs", "submit", "start", "end", "by",
           "where")  # fmt: skip


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
        said = (told["JobId"], job.tasks, job.cores, job.memory, job.per_node, int(job.exclusive), 60 * job.minutes,
                job.runs, *times, told.get("Scheduler", ""), placed(line) or told["NodeList"])  # fmt: skip
        rows.append(dict(zip(COLUMNS, said, strict=True)))
    return begin, sorted(rows, key=lambda row: int(str(row["job"])))


def record(name: str, factor: float, told: Path | None) -> None:
    """Record a log; what slurmctld tells of backfill's plans is kept in a folder, where one is given."""
    log = LOGS[name]
    settings = f"{log.settings}\nDebugFlags=Backfill" if told else log.settings
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        SlurmCluster(
            Path(folder), nodes=NODES, settings=settings, factor=factor, node=NODE, partitions=PARTITION
        ) as slurm,
    ):
        begin, rows = play(log, slurm)
        how = f"--factor {factor:g}{' --log .' if told else ''}"
        said = {
            "command": f"PYTHONPATH=tests python -m slurm.record_memory {name} {how}",
            "version": slurm.ask("slurmctld", "-V"),
            "factor": factor,
            "slowest_command": round(slurm.slowest, 1),
            "epoch": begin,
        }
        slurm.check()
        if told:
            told.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(folder) / "slurmctld.log", told / f"{name}.log")
        if slurm.slowest > LATE:
            raise InvalidRun(f"a command took {slurm.slowest:.0f} s of Slurm's clock")
    RECORDED.mkdir(parents=True, exist_ok=True)
    (RECORDED / f"{name}.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    with (RECORDED / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    print(f"{name}: {len(rows)} jobs; the slowest command took {said['slowest_command']} s", flush=True)


def _second(text: str) -> int:
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))


def main() -> None:
    """Record what is asked for."""
    parser = parser_of(__doc__, LOGS, FACTOR)
    parser.add_argument("--log", type=Path, metavar="FOLDER", help="keep what slurmctld tells of backfill's plans")
    asked = asked_of(parser, LOGS)
    for name in asked.names:
        tried(name, partial(record, name, asked.factor, asked.log))


if __name__ == "__main__":
    main()
