"""Record which nodes of several sizes a real Slurm gives jobs alone: `PYTHONPATH=tests python -m slurm.record_sizes`.

Jobs come and go one by one, each only once the one before is where it will be: no clock decides anything. A job that
does not find room at once is taken back. `tests/slurm/test_sizes.py` gives the same jobs nodes of the same machine.
"""

from __future__ import annotations

import csv
import json
import re
import tempfile
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path

import numpy as np
from slurm.asking import asked_of, parser_of, tried
from slurm.cluster import SlurmCluster, missing
from slurm.record_packing import FACTOR, placed, until
from slurm.sizes_days import CORES, DAYS, RECORDED, Day, Step

ALONE = "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE"


def play(slurm: SlurmCluster, day: Day, seed: int) -> list[Step]:
    """Submit and cancel so many jobs, and return what became of each."""
    random, steps, there = np.random.default_rng(seed), [], {}
    while sum(step.ends == 0 for step in steps) < day.jobs:
        busy = sum(step.tasks * step.cores for step in there.values()) / sum(CORES)
        if there and random.random() < 0.15 + 0.6 * busy:
            job = int(random.choice(sorted(there)))
            slurm.tell("scancel", str(there[job].slurm))
            until(slurm, there.pop(job).slurm, "JobState=CANCELLED")
            steps.append(Step(job=len(steps), ends=job + 1))
            continue
        held = sum(int(cores) for one in there.values() for cores in re.findall(r":(\d+)", one.where))
        step = day.drawn(random, len(steps), sum(CORES) - held)
        if step is None:
            continue
        options = (f"-n{step.tasks}", f"-c{step.cores}", "-o/dev/null", "-e/dev/null")
        slurm_job = int(slurm.tell("sbatch", "--parsable", *options, "--wrap=exec sleep 1000000"))
        where = placed(until(slurm, slurm_job, "JobState=RUNNING", "Reason=Resources"))
        if where:
            there[step.job] = step = Step(**{**asdict(step), "slurm": slurm_job, "where": where})
        else:
            slurm.tell("scancel", str(slurm_job))
        steps.append(step)
    return steps


def record(name: str, factor: float) -> None:
    """Play a day and write down what became of it."""
    day = DAYS[name]
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        SlurmCluster(
            Path(folder), nodes=len(CORES), settings=day.settings, factor=factor, node=day.nodes, partitions=ALONE,
            together=day.together,
        ) as slurm,  # fmt: skip
    ):
        steps = play(slurm, day, seed=1)
        slurm.check()
        said = {
            "command": f"PYTHONPATH=tests python -m slurm.record_sizes {name} --factor {factor:g}",
            "version": slurm.ask("slurmctld", "-V"),
            "nodes": day.nodes,
            "partition": ALONE,
            "settings": day.settings.split("\n"),
        }
    RECORDED.mkdir(parents=True, exist_ok=True)
    (RECORDED / f"{name}.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    with (RECORDED / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [field.name for field in fields(Step)], lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(step) for step in steps)
    print(f"{name}: {sum(bool(step.where) for step in steps)} of {day.jobs} jobs found room", flush=True)


def main() -> None:
    """Record what is asked for."""
    parser = parser_of(__doc__, DAYS, FACTOR)
    asked = asked_of(parser, DAYS)
    if absent := missing():
        parser.error(f"no {', '.join(absent)} here (on Debian and Ubuntu: apt-get install slurm-wlm munge faketime)")
    for name in asked.names:
        tried(name, partial(record, name, asked.factor))


if __name__ == "__main__":
    main()
