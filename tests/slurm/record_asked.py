"""Record what sacct tells of for how many nodes jobs asked: `PYTHONPATH=tests python -m slurm.record_asked`.

Jobs say how many nodes they want, in their command or in their script, or how many tasks to a node, or neither. Beside
each is its priority, which is its size alone.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from slurm.accounted import AccountedCluster
from slurm.asking import tried

RECORDED = Path(__file__).parent / "recorded" / "sizes" / "asked.sacct"
WEIGHT, NODES, NODE = 10_000, 4, "CPUs=8 RealMemory=16000"
SETTINGS = f"""\
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=1,sched_interval=10
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
PriorityType=priority/multifactor
PriorityWeightJobSize={WEIGHT}
AccountingStorageEnforce=associations"""
ACCOUNTS = ("add cluster referee", "add account physics", "add user daemon account=physics")
ASKED = (
    ("-n8", "--ntasks-per-node=2"), ("-n8",), ("--nodes=2",), ("-N", "2", "-n", "6"), ("-n24",), ("-n8", "-N4-4"), (),
)  # fmt: skip
COLUMNS = "JobIDRaw,Submit,Start,End,ElapsedRaw,State,AllocCPUS,NNodes,ReqNodes,ReqTRES,Priority,SubmitLine"
WORDS = ("sbatch", "--parsable", "--output=/dev/null", "--chdir=/", "--uid=daemon", "--time=2")
FACTOR = 10.0


def record() -> None:
    """Play the jobs once, and keep what sacct prints of them."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        slurm = AccountedCluster(
            Path(folder), accounts=ACCOUNTS, nodes=NODES, settings=SETTINGS, factor=FACTOR, node=NODE
        )
        with slurm:
            for asked in ASKED:
                slurm.tell(*WORDS, *asked, "--wrap=sleep 5")
            script = Path(folder) / "three"
            script.write_text("#!/bin/sh\n#SBATCH --nodes=3\nsleep 5\n", encoding="utf-8")
            slurm.tell(*WORDS, "--job-name=three", str(script))
            told, jobs = "", len(ASKED) + 1
            while told.count("|COMPLETED|") < jobs:
                time.sleep(1.0)
                slurm.check()
                told = slurm.ask("sacct", "-a", "-X", "-P", "--noconvert", f"--format={COLUMNS}")
            RECORDED.write_text(told.replace(f"{script}", "three") + "\n", encoding="utf-8")


if __name__ == "__main__":
    tried("asked", record)
