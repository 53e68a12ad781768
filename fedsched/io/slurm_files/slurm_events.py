"""A reader of the event files of Slurm's simulator: lines like `-dt 10.5 -e submit_batch_job | -N 1 -n 32 ...`.

`-dt` is the submit in seconds. After the bar are options of sbatch, and `-sim-walltime`, the run time of the job.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import FedschedError, TraceError, shortened
from fedsched.core.text import counted
from fedsched.io.files import read_text, stem_of
from fedsched.io.slurm_files.sacct_demands import MEBIBYTES
from fedsched.io.slurm_files.sacct_submit import options_of
from fedsched.io.slurm_files.slurm_options import RANGE_OF_NODES, SILENT
from fedsched.io.slurm_files.slurm_values import gpus_of, seconds_of
from fedsched.model.jobs.log import OPTIONS, SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from fedsched.model.jobs.workload import Workload

SUBMIT = "submit_batch_job"
_LABELS = {"partition": "partition", "qos": "qos", "account": "account", "constraint": "features", "uid": "user",
           "job-name": "name"}  # fmt: skip
_READ = (*_LABELS, "nodes", "ntasks", "cpus-per-task", "ntasks-per-node", "time", "mem", "mem-per-cpu", "gres",
         "exclusive")  # fmt: skip
_RUNS = re.compile(r"-sim-walltime\s+(-?\d+(?:\.\d*)?)", re.ASCII)
_RANGE = re.compile(r"(\d+)-\d+")
_SECOND = re.compile(r"\d{1,12}(?:\.\d*)?", re.ASCII)
_MEMORY = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)([KMGT]?)B?", re.ASCII | re.IGNORECASE)


class Submission(NamedTuple):
    """A job of an event file: times in seconds, and the cores, memory (MiB) and GPUs of each task.

    One task may stand for everything that the job has on a node. `together` is the number of tasks per node; 0 means
    that any number will do.
    """

    submit: float
    runtime: float
    limit: float
    tasks: int
    cores: int
    memory: int
    gpus: int
    together: int
    nodes: int
    exclusive: int
    labels: dict[str, str]


def read_events(path: str | PathLike[str]) -> Workload:
    """Return the jobs that an event file submits, numbered in the order of their lines.

    A job that requests memory per node (`--mem`) or GPUs is read as one task on each of its nodes, with all that the
    job has there; other jobs keep their tasks. Names of users become the label "user". A job runs until its time limit
    if its run time is longer, missing or below 0; a run takes at least one second.
    """
    from fedsched.model.jobs.workload import Workload

    sent: list[Submission] = []
    unread: list[str] = []
    cut = 0
    for k, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        job, ignored, is_cut = _job(line, f"{path}, line {k}")
        sent.append(job)
        unread.append(SEPARATOR.join(sorted(ignored)))
        cut += is_cut
    if not sent:
        raise TraceError(f"{path}: it submits no job; give lines like '-dt 10.5 -e {SUBMIT} | ...'.")
    labels = {name: [job.labels.get(name, "") for job in sent] for name in _LABELS.values()} | {OPTIONS: unread}
    return Workload(
        submit=[job.submit for job in sent],
        tasks=[job.tasks for job in sent],
        runtime=[job.runtime for job in sent],
        estimate=[job.limit for job in sent],
        demand={
            "cpu": [job.cores for job in sent],
            "memory": [job.memory for job in sent],
            "gpu": [job.gpus for job in sent],
        },
        layout={
            "tasks_per_node": [job.together for job in sent],
            "nodes": [job.nodes for job in sent],
            "exclusive": [job.exclusive for job in sent],
        },
        labels={name: np.array(texts) for name, texts in labels.items() if any(texts)} or None,
        name=stem_of(path),
        history=(
            f"read {Path(path).name}",
            *([f"{counted(cut, 'job')} end at their limits"] if cut else []),
        ),
    )


def _job(line: str, where: str) -> tuple[Submission, set[str], bool]:
    """Return the job of a line, the names of its options that are not read, and whether its time limit ends it.

    Raise a TraceError, which begins with `where`, if the line is invalid.
    """
    event, bar, command = line.partition("|")
    told = dict(zip(words := event.split(), words[1:], strict=False))
    if told.get("-e") != SUBMIT or not bar:
        raise TraceError(
            f"{where}: {shortened(event.strip())!r} is not a submission like '-dt 10.5 -e {SUBMIT} | ...'."
        )
    if not _SECOND.fullmatch(told.get("-dt", "")):
        raise TraceError(f"{where}: -dt={told.get('-dt', '')!r} must be seconds, 0 or more.")
    try:
        said = {name: value for name, value, _ in _options(command) if name}
    except ValueError as error:
        raise TraceError(f"{where}: {error}.") from None
    ranged = _RANGE.fullmatch(said.get("nodes", ""))
    if ranged:
        said["nodes"] = ranged[1]
    limit = _limit(said, where)
    lasts = _RUNS.search(command)
    seconds = float(lasts[1]) if lasts else -1.0
    runtime = max(1.0, limit if seconds < 0 else min(seconds, limit))
    tasks, cores, memory, gpus, together = _sizes(said, where)
    job = Submission(
        submit=float(told["-dt"]),
        runtime=runtime,
        limit=limit,
        tasks=tasks,
        cores=cores,
        memory=memory,
        gpus=gpus,
        together=together,
        nodes=_count(said, "nodes", where),
        exclusive=int("exclusive" in said),
        labels={name: said.get(option, "") for option, name in _LABELS.items()},
    )
    ignored = {f"--{name}" for name in said if name not in (*_READ, *SILENT)}
    if said.get("exclusive"):
        ignored.add(f"--exclusive={said['exclusive']} (read as --exclusive)")
    if ranged:
        ignored.add(f"{RANGE_OF_NODES} (the fewest are taken)")
    return job, ignored, seconds < 0 or seconds > limit


def _options(command: str) -> Iterable[tuple[str, str, list[str]]]:
    return options_of(shlex.split(_RUNS.sub("", command)), alone=True)


def _limit(said: Mapping[str, str], where: str) -> float:
    if not said.get("time"):
        raise TraceError(f"{where}: it has no --time, and a partition's default is not known here; add --time.")
    try:
        return max(1.0, seconds_of(said["time"], f"{where}: --time"))
    except FedschedError as error:
        raise TraceError(str(error)) from None


def _sizes(said: Mapping[str, str], where: str) -> tuple[int, int, int, int, int]:
    """Return a job's number of tasks, the cores, memory (MiB) and GPUs of each task, and the tasks per node (0: any).

    With memory or GPUs per node a task stands for all that the job has on a node. Raise a TraceError if options clash.
    """
    nodes, each = _count(said, "nodes", where), _count(said, "ntasks-per-node", where)
    cores = _count(said, "cpus-per-task", where) or 1
    tasks = _count(said, "ntasks", where) or max(1, nodes) * max(1, each)
    if nodes > tasks:
        raise TraceError(f"{where}: --nodes={nodes} exceeds its {counted(tasks, 'task')}; give fewer nodes.")
    together = min(each or (-(-tasks // nodes) if nodes else 0), tasks) or (tasks if tasks == 1 else 0)
    if together and tasks % together:
        raise TraceError(
            f"{where}: its {counted(tasks, 'task')} cannot be spread evenly over nodes, which is not modelled."
        )
    of_node, of_core = _memory(said, "mem", where), _memory(said, "mem-per-cpu", where)
    gpus = gpus_of(said["gres"]).get("gpu", 0) if said.get("gres") else 0
    if said.get("gres") and not gpus:
        raise TraceError(f"{where}: --gres={shortened(said['gres'])} is not a number of GPUs; give gpu:N.")
    if not of_node and not gpus:
        return tasks, cores, of_core * cores, 0, together
    if not together:
        raise TraceError(
            f"{where}: --mem and --gres are per node; give the tasks of a node (--nodes, --ntasks-per-node)."
        )
    return tasks // together, together * cores, of_node or of_core * together * cores, gpus, 1


def _count(said: Mapping[str, str], name: str, where: str) -> int:
    text = said.get(name, "")
    if name in said and not re.fullmatch(r"[1-9]\d{0,8}", text, re.ASCII):
        raise TraceError(f"{where}: --{name}={shortened(repr(text))} must be a whole number, 1 or more.")
    return int(text or "0")


def _memory(said: Mapping[str, str], name: str, where: str) -> int:
    if name not in said:
        return 0
    match = _MEMORY.fullmatch(said[name])
    if match is None:
        raise TraceError(
            f"{where}: --{name}={shortened(repr(said[name]))} is not an amount of memory like 4000, 187000M or 2G."
        )
    return int(np.ceil(float(match[1]) * MEBIBYTES[match[2].upper()]))
