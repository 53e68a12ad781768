"""Read the queue of a Slurm cluster, or of all clusters of its federation, from what Slurm's commands print.

Failed or inconsistent output raises, and is never taken for an empty queue.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from fedsched.core.errors import SteerError
from fedsched.core.text import counted, first_of
from fedsched.site.steer import jobs_read, machine_read
from fedsched.site.steer.commands import CommandError, WrappedRunner
from fedsched.site.steer.queue import OCCUPIED, Queue, Unread
from fedsched.site.steer.rights import check_federation

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.site.steer.commands import Command, Runner

Found = TypeVar("Found")
CLOCKS = 5.0  # seconds that two clocks may differ, besides the time that a command takes
READS = (
    machine_read.CONFIG, machine_read.FEDERATION, machine_read.PARTITIONS, machine_read.RESERVATIONS,
    machine_read.SINFO, jobs_read.SQUEUE,
)  # fmt: skip


def read_queue(runner: Runner, *, clocks: bool = True) -> Queue:
    """Return the queue of the cluster that Slurm's commands talk to here; nothing is changed.

    Parameters
    ----------
    clocks
        Whether to raise if the clocks of the controller and this machine differ, or were set back. To undo changes, the
        time need not be known.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.site import steer
    >>> from fedsched.site.steer.runners import RecordedRunner
    >>> len(steer.read_queue(RecordedRunner(Path("sample"))).jobs)
    17
    """
    before = runner.now()
    settings, now = machine_read.settings_of(runner.run(machine_read.CONFIG))
    if clocks:
        check_clock(before, now, runner.now())
    partitions = machine_read.partitions_of(runner.run(machine_read.PARTITIONS))
    nodes = _first_supported(
        runner, (machine_read.SINFO, machine_read.nodes_of_json), (machine_read.NODES, machine_read.nodes_of_text)
    )
    jobs, unread = _first_supported(
        runner, (jobs_read.SQUEUE, jobs_read.jobs_of_json), (jobs_read.SCONTROL, jobs_read.jobs_of_text)
    )
    if not nodes:
        raise SteerError("sinfo: it lists no node; check that this cluster is configured.")
    queue = Queue(
        cluster=settings.get("clustername", "cluster"),
        now=now,
        jobs=jobs,
        nodes=nodes,
        partitions=partitions,
        settings=settings,
        federation=machine_read.siblings_of(runner.run(machine_read.FEDERATION)),
        reservations=machine_read.reservations_of(runner.run(machine_read.RESERVATIONS)),
        unread=unread,
    )
    return _consistent(queue, runner.now() - before if clocks else math.inf)


def _first_supported(runner: Runner, *ways: tuple[Command, Callable[[str], Found]]) -> Found:
    """Return what the first of these commands that this Slurm supports printed, read by its function.

    A command is not supported if it fails because this Slurm cannot write JSON.
    """
    for command, read in ways[:-1]:
        try:
            return read(runner.run(command))
        except CommandError as error:
            if not error.lacks_json:
                raise
    command, read = ways[-1]
    return read(runner.run(command))


def check_clock(before: float, there: float, after: float) -> None:
    """Raise if the controller's clock differs by more than `CLOCKS` from this machine's, read before and after it."""
    if not before - CLOCKS <= there <= after + CLOCKS:
        difference = there - (before + after) / 2
        raise SteerError(
            f"The controller's clock is {difference:+.0f} s from this machine's, more than {CLOCKS:g} s, so their "
            "times cannot be compared; set the clocks (ntp), or run fedsched where slurmctld runs."
        )


def _consistent(queue: Queue, took: float) -> Queue:
    """Return the queue with jobs on unknown nodes moved to `unread`; a busy node that no readable job uses is not up.

    Raise if a job started in the future, or if nodes are busy although every job is readable: jobs are hidden then.
    """
    there = {node.name for node in queue.nodes}
    # For a requeued job that is still completing, Slurm may report when it is to start again.
    jobs = tuple(
        replace(job, start=min(job.start, queue.now)) if "COMPLETING" in job.states else job for job in queue.jobs
    )
    queue = replace(queue, jobs=jobs)
    for job in queue.running:
        if not job.start <= queue.now + took + CLOCKS:
            raise SteerError(
                f"Job {job.target} started at {job.start:.0f}, but the controller's clock shows {queue.now:.0f}: "
                "it was set back; wait until it has passed that time."
            )
    unread = dict(queue.unread)
    for job in queue.running:
        if not set(job.hosts) <= there or not job.hosts:
            stranger = first_of(sorted(set(job.hosts) - there)) or "none at all"
            unread[job.number] = Unread(f"job {job.target} has nodes that sinfo does not list ({stranger})", False)
    seen = {host for job in queue.jobs for host in job.hosts}  # including jobs that have just ended
    hidden = sorted(node.name for node in queue.nodes if node.states & OCCUPIED and node.name not in seen)
    if hidden and all(one.waits for one in unread.values()):
        raise SteerError(
            f"{counted(len(hidden), 'node')} (as {hidden[0]}) with jobs that squeue does not show: they are hidden "
            "from you (PrivateData, hidden partitions); run it as an operator, or as root."
        )
    return replace(
        queue,
        jobs=tuple(job for job in queue.jobs if job.number not in unread),
        nodes=tuple(
            replace(node, states=node.states | {"UNKNOWN"}) if node.name in hidden else node for node in queue.nodes
        ),
        unread=unread,
    )


OF_A_CLUSTER = ("squeue", "sinfo", "scontrol")


class ClusterRunner(WrappedRunner):
    """A runner that sends squeue, sinfo and scontrol to another cluster of the federation (option -M)."""

    def __init__(self, runner: Runner, cluster: str) -> None:
        super().__init__(runner)
        self._cluster = cluster

    def run(self, command: Command) -> str:
        """Return what a command prints, run for the other cluster."""
        program, *others = command
        there = (program, "-M", self._cluster, *others) if program in OF_A_CLUSTER else command
        return self._runner.run(there)


def read_siblings(runner: Runner) -> dict[str, Queue]:
    """Return, by name, the queue of each cluster of this cluster's federation, its own first; nothing is changed.

    Raise if the cluster is in no federation, or if a cluster of it is not synced.
    """
    here = read_queue(runner)
    if not here.federation:
        raise SteerError(
            f"{here.cluster} is in no federation (`scontrol show federation`), so there is no cluster to choose."
        )
    check_federation(here)
    found = {here.cluster: here}
    for name in here.federation:
        found[name] = read_queue(ClusterRunner(runner, name))
        check_federation(found[name])
    return found
