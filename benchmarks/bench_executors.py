"""What executors cost: milliseconds a task, and how much of two workers islands and comparisons put to use.

Every figure stands against the same work done one task after the other in the same run, in turn with it. The first row
says what two processes that share nothing reach on this machine just then; the others are judged against that.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_evaluation import instance
from measuring import Report, arguments, best_of, record

import fedsched as fs
from fedsched.compare import Budget, Instance, Outcome, compare
from fedsched.core.executors import Processes, executor_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WORKERS = 2
UNDER_MPI = "--under-mpi"
COSTS = {"threads": 1.0, "processes": 5.0, "dask": 10.0, "mpi": 5.0}  # milliseconds a task at most
LONGER = 5  # times the budget, for what is worth spreading over machines
SHARE = 0.85  # of what the machine gives to two processes


class Here(Executor):
    """Do every task at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@dataclass(frozen=True)
class Nothing:
    """An entrant whose runs take no time."""

    name: str = "nothing"

    def run(self, _instance: Instance, seed: int, _budget: Budget) -> Outcome:
        return Outcome(front=[[1.0 + seed]])


@dataclass(frozen=True)
class Work:
    """How much is done."""

    instance: Instance
    tasks: int
    runs: int
    evaluations: int
    rounds: int

    @classmethod
    def of(cls, smoke: bool) -> Work:
        if smoke:
            return cls(Instance("a", fs.Workload.example().head(20), fs.Federation.example()), 20, 2, 100, 1)
        return cls(Instance("a", *instance(0.0)), 300, 4, 4000, 2)

    def nothing(self, executor: Executor) -> None:
        """Compare what takes no time: all that is left is the executor's cost. The jobs travel with every task."""
        compare([self.instance], [Nothing()], range(self.tasks), Budget(1), executor=executor)

    def comparison(self, executor: Executor) -> None:
        """Compare one search with several seeds."""
        budget = Budget(self.evaluations)
        found = compare([self.instance], ["memetic"], range(self.runs), budget, executor=executor, baselines=("fcfs",))
        assert not found.failed, found.failed

    def islands(self, executor: Executor, times: int = 1) -> None:
        """Search on as many islands as there are workers."""
        fs.optimize(
            self.instance.workload,
            self.instance.federation,
            evaluations=self.evaluations * self.runs * times,
            islands=WORKERS,
            executor=executor,
            baselines=("fcfs",),
        )

    def longer_islands(self, executor: Executor) -> None:
        """Search on islands for longer: their epochs are longer, not more."""
        self.islands(executor, times=LONGER)


def spin(turns: int) -> int:
    """Return a sum that takes a while: work that needs nothing but a core."""
    total = 0
    for k in range(turns):
        total += k & 7
    return total


def ceiling(executor: Executor, work: Work) -> float:
    """Return how much of two cores two processes get that share nothing: the most that any executor can reach."""
    turns = 100_000 * work.runs * work.rounds
    one, two = best_of(
        5 * work.rounds,  # neighbours come and go
        lambda: executor.submit(spin, turns).result(),
        lambda: list(executor.map(spin, [turns] * WORKERS)),
    )
    return min(1.0, one / two)


def measure(report: Report, name: str, executor: Executor, work: Work, most: float) -> dict[str, float]:
    """Print what one executor costs, and what it makes of two workers; return the costs and shares by name."""
    here = Here()
    list(executor.map(spin, [1000] * WORKERS))
    for task in (work.islands, work.comparison, work.nothing):
        task(executor)  # every worker imports and loads its kernels once
    alone, away = best_of(work.rounds, lambda: work.nothing(here), lambda: work.nothing(executor))
    cost = 1000 * (away - alone) / work.tasks
    jobs = len(work.instance.workload)
    report.row(f"{name}: a task of {jobs} jobs beyond its work", cost, "ms", COSTS[name], at_most=True)
    found = {f"{name}_cost": cost}
    for key, what, task in (
        ("islands", "islands", work.islands),
        ("longer", f"islands, {LONGER} times longer", work.longer_islands),
        ("comparison", "comparison", work.comparison),
    ):
        alone, away = best_of(work.rounds, lambda: task(here), lambda: task(executor))  # noqa: B023 called at once
        report.row(f"{name}: {what}, one after the other", alone, "s")
        report.row(f"{name}: {what}, two workers", away, "s")
        share = alone / away / WORKERS
        report.row(f"{name}: {what}, share of two workers used", share, "", SHARE * most)
        found[f"{name}_{key}"] = share
    return found


@contextmanager
def dask() -> Iterator[Executor]:
    """Return the executor of two Dask workers on this machine."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client.get_executor()


def under_mpi(smoke: bool, most: float) -> None:
    """Measure MPI in a program of its own: a master and two workers."""
    launcher = Path(sys.executable).parent / "mpiexec"
    if not launcher.exists():
        print("skipped: mpiexec is not at hand")
        return
    command = [launcher, "-n", str(WORKERS + 1), sys.executable, "-m", "mpi4py.futures", __file__, UNDER_MPI, str(most)]
    subprocess.run([*command, "--smoke"] if smoke else command, check=True)


def main() -> None:
    if UNDER_MPI in sys.argv:
        with executor_named("mpi", WORKERS) as executor:
            most = float(sys.argv[sys.argv.index(UNDER_MPI) + 1])
            smoke = "--smoke" in sys.argv
            found = measure(Report("under mpiexec"), "mpi", executor, Work.of(smoke), most)
        if not smoke:
            record("bench_executors", found)
        return
    smoke = arguments("What executors cost").smoke
    work = Work.of(smoke)
    report = Report("what executors cost, with two workers")
    begun = time.perf_counter()
    with Processes(WORKERS) as processes:
        list(processes.map(spin, [1000] * WORKERS))
        report.row("processes: until two of them answer", time.perf_counter() - begun, "s")
        most = ceiling(processes, work)
        report.row("the machine: share of two cores that two processes get", most, "")
        found = {"machine": most} | measure(report, "processes", processes, work, most)
    with ThreadPoolExecutor(WORKERS) as threads:
        found |= measure(report, "threads", threads, work, most)
    with dask() as cluster:
        found |= measure(report, "dask", cluster, work, most)
    if not smoke:
        record("bench_executors", found)
    under_mpi(smoke, most)


if __name__ == "__main__":
    main()
