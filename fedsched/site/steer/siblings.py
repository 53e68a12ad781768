"""Read the queue of each cluster of a federation, by the commands of this cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.errors import SteerError
from fedsched.site.steer.commands import Behind
from fedsched.site.steer.reading import read_queue
from fedsched.site.steer.rights import check_federation

if TYPE_CHECKING:
    from fedsched.site.steer.commands import Command, Runner
    from fedsched.site.steer.queue import Queue

OF_A_CLUSTER = ("squeue", "sinfo", "scontrol")


class On(Behind):
    """A runner that sends its commands to another cluster."""

    def __init__(self, runner: Runner, cluster: str) -> None:
        super().__init__(runner)
        self._cluster = cluster

    def run(self, command: Command) -> str:
        """Return what a command prints there."""
        program, *others = command
        there = (program, "-M", self._cluster, *others) if program in OF_A_CLUSTER else command
        return self._runner.run(there)


def read_siblings(runner: Runner) -> dict[str, Queue]:
    """Return the queue of each cluster of the federation that the one here is in, this one's first; only reads."""
    here = read_queue(runner)
    if not here.federation:
        raise SteerError(
            f"{here.cluster} is in no federation (`scontrol show federation`), so that there is no cluster to choose."
        )
    check_federation(here)
    found = {here.cluster: here}
    for name in here.federation:
        found[name] = read_queue(On(runner, name))
        check_federation(found[name])
    return found
