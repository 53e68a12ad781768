"""Record where a real Slurm's `cons_tres` puts small jobs: `PYTHONPATH=tests python -m slurm.record_packing`.

Jobs come and go one by one, each only once the one before is where it will be: no clock decides anything. A job that
does not find room at once is taken back. `tests/slurm/test_packing.py` puts the same jobs on the same nodes.
"""

from __future__ import annotations

import csv
import json
import re
import tempfile
import time
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path

import numpy as np
from slurm.asking import asked_of, parser_of, tried
from slurm.cluster import SlurmCluster, SlurmError, missing
from slurm.packing_days import CORES, DAYS, NODE, NODES, RECORDED, Day, Step

FACTOR = 10.0
LOOK = 0.02  # seconds of the world
PATIENCE = 500  # looks


def command(step: Step) -> tuple[str, ...]:
    """Return the command that submits a job."""
    options = [f"-n{step.tasks}", f"-c{step.cores}"]
    options += [f"--mem-per-cpu={step.memory}"] if step.memory else []
    options += [f"--ntasks-per-node={step.per_node}"] if step.per_node else []
    options += ["--exclusive"] if step.exclusive else []
    return ("sbatch", "--parsable", "-o/dev/null", "-e/dev/null", *options, "--wrap=exec sleep 1000000")


def until(slurm: SlurmCluster, job: int, *marks: str) -> str:
    """Wait until one of these is told of a job, and return what is told of it."""
    for _ in range(PATIENCE):
        told = slurm.ask("scontrol", "-d", "-o", "show", "job", str(job))
        if any(mark in told for mark in marks):
            return told
        time.sleep(LOOK)
    raise SlurmError(f"waited for {' or '.join(marks)}: {told}")


def placed(told: str) -> str:
    """Return how many cores of which nodes a job has, as in `n3:4 n4:2`."""
    found = []
    for nodes, cores in re.findall(r"Nodes=(\S+) CPU_IDs=(\S+) Mem", told):
        each = sum(int(last or first) - int(first) + 1 for first, last in re.findall(r"(\d+)(?:-(\d+))?", cores))
        for part in re.sub(r"^n\[?|\]$", "", nodes).split(","):
            first, _, last = part.partition("-")
            found += [(node, each) for node in range(int(first), int(last or first) + 1)]
    return " ".join(f"n{node}:{each}" for node, each in sorted(found))


def play(slurm: SlurmCluster, day: Day, seed: int) -> list[Step]:
    """Submit and cancel so many jobs, and return what became of each."""
    random, steps, there = np.random.default_rng(seed), [], {}
    while sum(step.ends == 0 for step in steps) < day.jobs:
        busy = sum(step.tasks * step.cores for step in there.values()) / (CORES * NODES)
        if there and random.random() < 0.15 + 0.5 * busy:
            job = int(random.choice(sorted(there)))
            slurm.tell("scancel", str(there[job].slurm))
            until(slurm, there.pop(job).slurm, "JobState=CANCELLED")
            steps.append(Step(job=len(steps), ends=job + 1))
            continue
        step = day.drawn(random, len(steps))
        slurm_job = int(slurm.tell(*command(step)))
        told = until(slurm, slurm_job, "JobState=RUNNING", "Reason=Resources")
        where = placed(told)
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
        SlurmCluster(Path(folder), nodes=NODES, settings=day.settings, factor=factor, node=NODE) as slurm,
    ):
        steps = play(slurm, day, seed=1)
        slurm.check()
        said = {
            "command": f"PYTHONPATH=tests python -m slurm.record_packing {name} --factor {factor:g}",
            "version": slurm.ask("slurmctld", "-V"),
            "nodes": NODES,
            "node": NODE,
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
