"""Record small logs anew on a real Slurm: `PYTHONPATH=tests python -m slurm.record_logs backfill`."""

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
from slurm.cluster import InvalidRun, SlurmCluster
from slurm.logs import LOGS, LONG_LOGS, NODES, Log
from slurm.on_named_nodes import numbered
from slurm.record_memory import TOLD
from slurm.record_priorities import last_tick
from slurm.seen import Told

RECORDED = Path(__file__).parent / "recorded" / "logs"
FACTOR = 12.0
LEAD = 20.0
LATE = 60.0  # seconds of Slurm's clock by which a command may be slow
_FIELD = re.compile(r"(\S+?)=(\S*)")
COLUMNS = ("job", "user", "account", "partition", "qos", "nodes", "limit", "runs", "submit", "start", "end", "priority",
           "by", "on")  # fmt: skip
WATCHED = ("came", "began", "gone", "clear")


def play(log: Log, slurm: SlurmCluster) -> tuple[int, list[dict[str, object]], int | None]:
    """Submit everything in turn; return when that began, what became of the jobs, and when a tick was."""
    begin = int(slurm.clock.now() + LEAD)
    asked = {}
    for job in log.jobs():
        slurm.clock.sleep_until(begin + job.at)
        asked[slurm.tell(*job.command())] = job
    while slurm.ask("squeue", "-h", "-o", "%i"):
        slurm.check()
        time.sleep(1.0)
    tick = last_tick(slurm) if log.accounts else None  # type: ignore[arg-type]
    rows: list[dict[str, object]] = []
    for line in slurm.ask("scontrol", "-o", "show", "job").splitlines():
        told = dict(_FIELD.findall(line))
        if told["JobState"] not in ("COMPLETED", "TIMEOUT") or int(told["Restarts"]):
            raise InvalidRun(f"job {told['JobId']} is {told['JobState']}")
        job = asked[told["JobId"]]
        times = [_second(told[name]) - begin for name in ("SubmitTime", "StartTime", "EndTime")]
        said = (told["JobId"], job.user, job.account, told["Partition"], job.qos, job.nodes, 60 * job.minutes, job.runs,
                *times, told["Priority"], told.get("Scheduler", ""), told["NodeList"])  # fmt: skip
        rows.append(dict(zip(COLUMNS, said, strict=True)))
    return begin, sorted(rows, key=lambda row: int(str(row["job"]))), tick


def record(name: str, factor: float, kept: Path | None) -> None:
    """Record a log; what slurmctld told of a watched one is kept in a folder, where one is given."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        _record(name, Path(folder), factor, kept)


def _record(name: str, folder: Path, factor: float, kept: Path | None) -> None:
    log = (LOGS | LONG_LOGS)[name]
    settings = f"{log.settings}\n{TOLD}" if log.watched else log.settings
    cluster = {"nodes": NODES, "settings": settings, "partitions": log.partitions, "factor": factor}
    if log.accounts:
        slurm: SlurmCluster = AccountedCluster(folder, accounts=log.accounts.splitlines(), **cluster)
    else:
        slurm = SlurmCluster(folder, **cluster)  # type: ignore[arg-type]
    with slurm:
        begin, rows, tick = play(log, slurm)
        said = {
            "command": f"PYTHONPATH=tests python -m slurm.record_logs {name} --factor {factor:g}",
            "version": slurm.ask("slurmctld", "-V"),
            "factor": factor,
            "slowest_command": round(slurm.slowest, 1),
            "epoch": begin,
            "tick": None if tick is None else tick - begin,
        }
        if log.watched:
            text = (folder / "slurmctld.log").read_text(encoding="utf-8", errors="replace")
            if kept:
                kept.mkdir(parents=True, exist_ok=True)
                (kept / f"{name}.log").write_text(text, encoding="utf-8")
                (kept / f"{name}.rows").write_text(json.dumps([begin, tick, rows]), encoding="utf-8")
            said |= watched(text, begin, rows)
        slurm.check()
        if slurm.slowest > LATE:
            raise InvalidRun(f"a command took {slurm.slowest:.0f} s of Slurm's clock")
    RECORDED.mkdir(parents=True, exist_ok=True)
    text = json.dumps(said) if log.watched else json.dumps(said, indent=1)
    (RECORDED / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    with (RECORDED / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, (*COLUMNS, *(WATCHED if log.watched else ())), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    print(f"{name}: {len(rows)} jobs; the slowest command took {said['slowest_command']} s", flush=True)


def watched(text: str, begin: int, rows: list[dict[str, object]]) -> dict[str, object]:
    """Return the passes of a slurmctld's log, and let the jobs' rows say in which seconds passes saw them."""
    told = Told.read(
        text,
        {int(str(row["job"])): int(str(row["start"])) + begin for row in rows},
        {int(str(row["job"])): sorted(numbered(str(row["on"]))) for row in rows},
    )
    for row in rows:
        row.update((name, second - begin) for name, second in told.seen(int(str(row["job"]))).items())
    passes = told.of_backfill()
    return {
        "passes": [second - begin for second in passes],
        "turns": [one.turns for one in passes.values()],
        "broke_off": [one.broke_off for one in passes.values()],
        "full": [second - begin for second in told.over_all()],
    }


def _second(text: str) -> int:
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))


def main() -> None:
    """Record what is asked for."""
    known = LOGS | LONG_LOGS
    parser = parser_of(__doc__, known, FACTOR)
    parser.add_argument("--log", type=Path, metavar="FOLDER", help="keep what slurmctld tells, and what became of jobs")
    asked = asked_of(parser, known)
    for name in asked.names:
        tried(name, partial(record, name, asked.factor, asked.log))


if __name__ == "__main__":
    main()
