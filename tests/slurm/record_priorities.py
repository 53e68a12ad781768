"""Record priorities anew on a real Slurm: `PYTHONPATH=tests python -m slurm.record_priorities fair-tree`.

Without a name all days. At some of the ticks at which Slurm computes them anew it keeps what `sprio`, `sshare` and
`scontrol` print; and once its accounts, in every form in which it tells of them.
"""

from __future__ import annotations

import json
import struct
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from slurm.accounted import AccountedCluster, missing
from slurm.asking import asked_of, parser_of
from slurm.priority_days import ACCOUNTS, COMMON, NODE, NODES, PARTITIONS, SETTINGS, Submit, jobs

if TYPE_CHECKING:
    from slurm.cluster import SlurmCluster

RECORDED = Path(__file__).parent / "recorded" / "priorities"
FACTOR = 50.0
SEED = 3
KEPT = (2, 4, 6, 8, 9)  # of the ticks
LEAD = 20.0
LOOK = 0.1  # seconds of the world
# Every column of sprio's in full, then those of the factors without their weights.
WIDE = "|".join(f"%{letter}" for letter in "iruYSABFJPQNTabfjpqt")
PARENTS = "Cluster,Account,User,Partition,ParentName,Share,Priority,QOS,DefaultQOS,MaxJobs"
TOLD = {
    "sprio": ("sprio", "-l"),
    "shares": ("sshare", "-a", "-l", "-P"),
    "exact": ("sprio", "-o", WIDE),
    "jobs": ("scontrol", "-o", "show", "job"),
}


def last_tick(slurm: SlurmCluster) -> int:
    """Return when the last tick was, in seconds since 1970; 0: there was none."""
    try:
        kept = (slurm.folder / "state" / "priority_last_decay_ran").read_bytes()
    except FileNotFoundError:
        return 0
    return struct.unpack(">qq", kept)[0] if len(kept) == 16 else 0


def snapshot(slurm: AccountedCluster) -> dict[str, str] | None:
    """Return what is told between two ticks; None where a tick came between."""
    before = last_tick(slurm)
    told = {name: slurm.ask(*command) for name, command in TOLD.items()}
    return told if last_tick(slurm) == before else None


def play(slurm: AccountedCluster, script: list[Submit]) -> tuple[list[int], dict[int, dict[str, str]]]:
    """Submit everything in turn; return the ticks, and what was told after some of them."""
    begin = slurm.clock.now() + LEAD
    ticks, kept, waiting = [last_tick(slurm)], {}, list(script)
    while len(ticks) <= max(KEPT):
        if waiting and slurm.clock.now() >= begin + waiting[0].at:
            slurm.tell(*waiting.pop(0).command())
        if (tick := last_tick(slurm)) != ticks[-1] and tick:
            ticks.append(tick)
        if len(ticks) - 1 in KEPT and len(ticks) - 1 not in kept and (told := snapshot(slurm)):
            kept[len(ticks) - 1] = told
        time.sleep(LOOK)
    return ticks, kept


def record(name: str, folder: Path, factor: float) -> None:
    """Record a day."""
    settings = COMMON + SETTINGS[name]
    slurm = AccountedCluster(
        folder, accounts=ACCOUNTS.splitlines(), nodes=NODES, node=NODE, partitions=PARTITIONS,
        settings=settings, factor=factor,
    )  # fmt: skip
    with slurm:
        ticks, kept = play(slurm, jobs(SEED))
        slurm.tell("sacctmgr", "dump", "referee", "File=accounts.cfg")
        whole = {
            "accounts.cfg": (folder / "accounts.cfg").read_text(encoding="utf-8"),
            "accounts.script": f"{ACCOUNTS}\n",
            "assoc.txt": slurm.ask("sacctmgr", "-P", "show", "assoc") + "\n",
            "tree.txt": slurm.ask("sacctmgr", "-P", "show", "assoc", "tree") + "\n",
            "parents.txt": slurm.ask("sacctmgr", "-P", "show", "assoc", f"format={PARENTS}") + "\n",
            "qos.txt": slurm.ask("sacctmgr", "-P", "show", "qos") + "\n",
            "slurm.conf": f"ClusterName=referee\n{settings}\nNodeName=n[1-{NODES}] {NODE}\n{PARTITIONS}\n",
        }
        said = {
            "command": f"PYTHONPATH=tests python -m slurm.record_priorities {name} --factor {factor:g}",
            "version": slurm.ask("slurmctld", "-V"),
            "factor": factor,
            "seed": SEED,
            "slowest_command": round(slurm.slowest, 1),
            "ticks": ticks,
            "kept": sorted(kept),
            "complaints": slurm.complaints(),
        }
    place = RECORDED / name
    place.mkdir(parents=True, exist_ok=True)
    for file, text in whole.items():
        (place / file).write_text(text, encoding="utf-8")
    for tick, told in kept.items():
        for what, text in told.items():
            (place / f"{tick}.{what}").write_text(f"{text}\n", encoding="utf-8")
    (place / "recording.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    print(f"{name}: {len(ticks)} ticks, {len(kept)} kept", flush=True)


def main() -> None:
    """Record what is asked for."""
    parser = parser_of(__doc__, SETTINGS, FACTOR)
    asked = asked_of(parser, SETTINGS)
    if absent := missing():
        parser.error(f"no {', '.join(absent)} here (on Debian and Ubuntu: apt-get install slurmdbd mariadb-server)")
    for name in asked.names:
        with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
            record(name, Path(folder), asked.factor)


if __name__ == "__main__":
    main()
