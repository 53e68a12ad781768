"""What executors are tried with: a search on islands, a comparison, and entrants whose runs kill their worker.

Worker processes import this module by its name; what they are sent must not live in a file of tests.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fedsched as fs
from fedsched.compare import Budget, Comparison, Instance, Outcome, compare

if TYPE_CHECKING:
    from concurrent.futures import Executor

EVALUATIONS = 2401


def search(executor: Executor | None, **options: Any) -> fs.Result:
    """Return what three islands find for a small package."""
    given = {"evaluations": EVALUATIONS, "islands": 3, "seed": 5, "baselines": ("fcfs",), **options}
    return fs.optimize(fs.Workload.example().head(30), fs.Federation.example(), executor=executor, **given)


def runs(executor: Executor | None, **options: Any) -> Comparison:
    """Return three methods' runs on two small instances."""
    log, cluster = fs.Workload.example(), fs.Federation.example()
    instances = [Instance(f"from {k}", log.take(range(k, k + 15)), cluster) for k in (0, 100)]
    methods, budget = ("hc", "random", "easy"), Budget(evaluations=150)
    return compare(instances, methods, range(2), budget, executor=executor, baselines=("fcfs",), **options)


def found(executor: Executor | None) -> list[object]:
    """Return all that must be the same on every executor, as JSON gives it back."""
    front = search(executor)
    return json.loads(
        json.dumps([
            front.front.values.tolist(),
            front.evaluations,
            front.stop_reason,
            [(str(run), run.front, run.evaluations, run.error) for run in runs(executor).records],
        ])
    )  # fmt: skip


class Mortal:
    """An entrant that with one seed kills the process it is in, once or always, or does nothing but wait at a gate.

    How it does so is in a dict, and so not in the hash of its code: a mended one owes only the runs that are missing.
    """

    def __init__(
        self,
        folder: str,
        deadly: int | None = None,
        *,
        always: bool = False,
        spared: int = 0,  # the process that is not to die: the tests' own
        gate: str = "",  # a pipe: all seeds but the first wait until somebody opens its other end and removes it
    ) -> None:
        self.folder, self.name = folder, "mortal"
        self.how: dict[str, Any] = {"deadly": deadly, "always": always, "spared": spared, "gate": gate}

    def run(self, instance: Instance, seed: int, budget: Budget) -> Outcome:
        """Return a front of one row, unless this process dies."""
        died, how = Path(self.folder) / "died", self.how
        if seed == how["deadly"] and (how["always"] or not died.exists()):
            if os.getpid() == how["spared"]:
                raise RuntimeError("this run is for workers")
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if how["gate"] and seed > 0:
            with suppress(FileNotFoundError):
                Path(how["gate"]).open().close()
        return Outcome(front=[[1.0 + seed]], evaluations=budget.evaluations or 0)


def broken_within() -> None:
    """Raise what a task does whose own executor has broken."""
    raise BrokenExecutor("mine has broken")


def mortals(executor: Executor | None, entrant: Mortal, **options: Any) -> Comparison:
    """Return an entrant's six runs on one instance."""
    jobs = fs.Workload(submit=[0.0], tasks=[1], runtime=[10.0])
    instance = Instance("a", jobs, fs.Federation.of(2))
    return compare([instance], [entrant], range(6), Budget(evaluations=1), executor=executor, **options)


def under_mpi() -> None:
    """Do what the command line says on MPI's workers: `found`, or the runs of a mortal that kills its rank."""
    from fedsched.core.executors import executor_named

    with executor_named("mpi", 0) as executor:
        if sys.argv[1] == "found":
            workers = {executor.submit(os.getpid).result() for _ in range(20)}
            print(json.dumps([os.getpid() in workers, found(executor)]))
        else:
            mortals(executor, Mortal(sys.argv[2], 3, spared=os.getpid()), path=f"{sys.argv[2]}/runs.jsonl")


if __name__ == "__main__":
    under_mpi()
