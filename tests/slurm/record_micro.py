"""Record the first hours of UB's small cluster on a real Slurm: `PYTHONPATH=tests python -m slurm.record_micro`.

The jobs are not ours to keep: what is written says of each line of their file when and where it ran.
"""

from __future__ import annotations

import calendar
import csv
import json
import re
import tempfile
import time
from functools import partial
from pathlib import Path

from slurm.accounted import AccountedCluster
from slurm.asking import asked_of, parser_of, tried
from slurm.cluster import InvalidRun
from slurm.micro import ACCOUNTS, NODES, PARTITIONS, SETTINGS, sent
from slurm.record_memory import LATE, LEAD, LOOK, TOLD
from slurm.record_packing import placed
from slurm.record_priorities import last_tick
from slurm.seen import Told

RECORDED = Path(__file__).parent / "recorded" / "micro"
FACTOR = 12.0
DAYS = ("first", "again")
FIELD = re.compile(r"(\S+?)=(\S*)")
COLUMNS = ("line", "job", "submit", "start", "end", "priority", "by", "where", "came", "began", "gone", "clear")


def play(slurm: AccountedCluster) -> tuple[int, int, list[dict[str, object]]]:
    """Submit everything in turn; return when that began, when a tick was, and what became of the jobs."""
    begin, asked = int(slurm.clock.now() + LEAD), {}
    for job in sent():
        slurm.clock.sleep_until(begin + job.at)
        asked[slurm.tell(*job.command())] = job
    while slurm.ask("squeue", "-h", "-o", "%i"):
        slurm.check()
        time.sleep(LOOK)
    tick = last_tick(slurm)
    rows: list[dict[str, object]] = []
    for line in slurm.ask("scontrol", "-d", "-o", "show", "job").splitlines():
        told = dict(FIELD.findall(line))
        if told["JobState"] not in ("COMPLETED", "TIMEOUT") or int(told["Restarts"]):
            raise InvalidRun(f"job {told['JobId']} is {told['JobState']}")
        times = [_second(told[name]) - begin for name in ("SubmitTime", "StartTime", "EndTime")]
        said = (asked[told["JobId"]].line, told["JobId"], *times, told["Priority"], told.get("Scheduler", ""),
                placed(line))  # fmt: skip
        rows.append(dict(zip(COLUMNS, said, strict=False)))
    return begin, tick, sorted(rows, key=lambda row: int(str(row["job"])))


def record(name: str, factor: float, kept: Path | None) -> None:
    """Record it under a name; what slurmctld told is kept in a folder, where one is given."""
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        AccountedCluster(
            Path(folder), nodes=len(NODES), settings=f"{SETTINGS}\n{TOLD}", factor=factor, node=NODES,
            partitions=PARTITIONS, accounts=ACCOUNTS.splitlines(),
        ) as slurm,
    ):  # fmt: skip
        begin, tick, rows = play(slurm)
        text = (Path(folder) / "slurmctld.log").read_text(encoding="utf-8", errors="replace")
        if kept:
            kept.mkdir(parents=True, exist_ok=True)
            (kept / f"{name}.log").write_text(text, encoding="utf-8")
            (kept / f"{name}.rows").write_text(json.dumps([begin, tick, rows]), encoding="utf-8")
        told = Told.read(
            text,
            {int(str(row["job"])): int(str(row["start"])) + begin for row in rows},
            {int(str(row["job"])): [int(node) for node in re.findall(r"n(\d+):", str(row["where"]))] for row in rows},
        )
        said = {
            "command": f"PYTHONPATH=tests python -m slurm.record_micro {name} --factor {factor:g}",
            "version": slurm.ask("slurmctld", "-V"),
            "factor": factor,
            "slowest_command": round(slurm.slowest, 1),
            "epoch": begin,
            "tick": tick - begin,
            "passes": [second - begin for second in told.of_backfill()],
            "turns": [one.turns for one in told.of_backfill().values()],
            "broke_off": [one.broke_off for one in told.of_backfill().values()],
            "full": [second - begin for second in told.over_all()],
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


def _second(text: str) -> int:
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))


def main() -> None:
    """Record what is asked for."""
    parser = parser_of(__doc__, DAYS, FACTOR)
    parser.add_argument("--log", type=Path, metavar="FOLDER", help="keep what slurmctld tells, and what became of jobs")
    asked = asked_of(parser, DAYS)
    for name in asked.names:
        tried(name, partial(record, name, asked.factor, asked.log))


if __name__ == "__main__":
    main()
