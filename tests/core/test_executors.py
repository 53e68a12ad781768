"""The same searches and comparisons on threads, processes, Dask and MPI, and what a worker's death costs there."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from support.executor_cases import EVALUATIONS, Mortal, broken_within, found, mortals, search

from fedsched import cli
from fedsched.compare import read_records
from fedsched.core.errors import FedschedError
from fedsched.core.executors import LateError, Processes, executor_named, result_of, unknown_to_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager

    from fedsched.search.run.run import Run

pytestmark = pytest.mark.needs("distributed", "mpi4py")

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    """Return the client of a Dask cluster of two worker processes on this machine."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    """Return two worker processes that are started from a server."""
    with Processes(2, start="forkserver") as executor:
        yield executor


@pytest.fixture(scope="module")
def undisturbed() -> list[object]:
    """Return what is found one after the other, here."""
    return found(None)


@pytest.fixture
def executor_of(request: pytest.FixtureRequest) -> Callable[[str], AbstractContextManager[Executor]]:
    """Return the function that gives an executor of a kind."""

    def made(kind: str) -> AbstractContextManager[Executor]:
        if kind == "threads":
            return ThreadPoolExecutor(2)
        if kind == "spawn":
            return Processes(1, start="spawn")
        if kind == "forkserver":
            return nullcontext(request.getfixturevalue("processes"))
        return request.getfixturevalue("dask").get_executor()

    return made


# ---- the same everywhere --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["threads", "forkserver", "dask"])
def test_the_same_everywhere(kind: str, executor_of: Callable[..., Any], undisturbed: list[object]) -> None:
    """Tests that islands and comparisons give on every executor what they give one after the other."""
    with executor_of(kind) as executor:
        assert found(executor) == undisturbed


def mpi(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Return what a program says that ran on two workers of MPI and a master."""
    launcher = Path(sys.executable).parent / "mpiexec"  # the one whose library mpi4py finds
    if not launcher.exists():
        pytest.skip("MPI's mpiexec is not installed")
    command = [str(launcher), "-n", "3", sys.executable, "-m", "mpi4py.futures", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT, cwd=ROOT)


CASES = str(ROOT / "tests" / "support" / "executor_cases.py")


@pytest.mark.slow
@pytest.mark.compiled
def test_the_same_under_mpi(undisturbed: list[object]) -> None:
    """Tests that two ranks of MPI give what is found one after the other."""
    done = mpi(CASES, "found")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [False, undisturbed]


# ---- a worker dies --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["forkserver", "dask"])
def test_a_death_costs_a_search_nothing(kind: str, executor_of: Callable[..., Any], undisturbed: list[object]) -> None:
    """Tests that when a worker is killed between two epochs the islands go on, and end as if it had not been."""
    with executor_of(kind) as executor:

        def kill(run: Run) -> None:
            if run.steps == 2:
                os.kill(executor.submit(os.getpid).result(), signal.SIGKILL)

        result = search(executor, callback=kill)
    assert [result.front.values.tolist(), result.evaluations] == undisturbed[:2]
    assert result.evaluations == EVALUATIONS


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["forkserver", "dask"])
def test_a_death_costs_a_comparison_nothing(kind: str, executor_of: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that a run whose worker is killed is run again by another one, and every run is in the file once."""
    with executor_of(kind) as executor:
        ended = mortals(executor, Mortal(str(tmp_path), 3, spared=os.getpid()), path=tmp_path / "runs.jsonl")
    assert (tmp_path / "died").exists()
    assert ended == mortals(None, Mortal(str(tmp_path)))
    assert sorted(record.seed for record in read_records(tmp_path / "runs.jsonl")) == [*range(6)]


@pytest.mark.slow
def test_a_run_that_kills_every_worker_is_named(dask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that such a run costs no other one, and that on the same cluster a mended method does what it owes."""
    path, executor = tmp_path / "runs.jsonl", dask.get_executor()
    # A worker's death is blamed on all that it had been given; by default they get three more chances.
    monkeypatch.setattr(dask.cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(FedschedError, match=r"the run of mortal on a, seed 0 .*KilledWorker.*call again") as caught:
        mortals(executor, Mortal(str(tmp_path), 0, always=True, spared=os.getpid()), path=path)
    assert "\n" not in str(caught.value)
    kept = path.read_text()
    assert 0 < kept.count("\n") < 6
    monkeypatch.undo()
    assert mortals(executor, Mortal(str(tmp_path)), path=path) == mortals(None, Mortal(str(tmp_path)))
    assert path.read_text().startswith(kept)
    assert path.read_text().count("\n") == 6


@pytest.mark.slow
def test_a_rank_that_dies_takes_mpi_along(tmp_path: Path) -> None:
    """Tests that MPI ends as a whole when a rank is killed, that what ended is kept, and that a rerun goes on."""
    path = tmp_path / "runs.jsonl"
    done = mpi(CASES, "mortals", str(tmp_path))
    assert done.returncode != 0
    assert (tmp_path / "died").exists()
    kept = path.read_text() if path.exists() else ""
    assert kept.count("\n") < 6
    assert mortals(None, Mortal(str(tmp_path)), path=path) == mortals(None, Mortal(str(tmp_path)))
    assert path.read_text().startswith(kept[: kept.rfind("\n") + 1])
    assert sorted(record.seed for record in read_records(path)) == [*range(6)]


def test_processes_replace_their_dead(tmp_path: Path) -> None:
    """Tests that deaths are counted, one worker's is no other's, and results and errors of all kinds come back."""
    with Processes(2, start="forkserver") as executor:
        first = executor.submit(os.getpid).result()
        assert first != os.getpid()
        with pytest.raises(ZeroDivisionError):
            executor.submit(divmod, 1, 0).result()
        assert executor.submit(divmod, 7, 2).result() == (3, 1)
        with pytest.raises(BrokenExecutor, match="mine has broken"):
            executor.submit(broken_within).result()
        assert executor.deaths == 0
        with pytest.raises(BrokenExecutor, match="3 worker processes died at this task"):
            executor.submit(os._exit, 1).result()
        assert executor.deaths == 3
        assert executor.submit(divmod, 7, 2).result() == (3, 1)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(os.getpid)
    with pytest.raises(ValueError, match="workers=0"):
        Processes(0)
    with pytest.raises(ValueError, match="Did you mean 'forkserver'"):
        Processes(1, start="fork")


ORPHANS = """
import os, signal, sys, time
from fedsched.core.executors import Processes

if __name__ == "__main__":
    executor = Processes(1, start=sys.argv[1])
    executor.submit(print, "a worker is here", flush=True).result()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_no_worker_begins_where_another_is_idle() -> None:
    """Tests that one task after the other is done by one process, however many there may be."""
    with Processes(3) as executor:
        assert len({executor.submit(os.getpid).result() for _ in range(3)}) == 1


def test_nobody_waits_longer_than_he_says() -> None:
    """Tests that what has not come in time is late, and what has come, or failed, is not."""
    future: Future[int] = Future()
    for executor in (None, SimpleNamespace(_client=SimpleNamespace(status="running"))):
        with pytest.raises(LateError):
            result_of(executor, future, seconds=0.0)
    future.set_result(3)
    assert result_of(None, future, seconds=1e6) == result_of(None, future) == 3
    with pytest.raises(BrokenExecutor):
        result_of(SimpleNamespace(_client=SimpleNamespace(status="closed")), Future(), seconds=1e6)


@pytest.mark.slow
@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_workers_end_with_their_master(start: str, tmp_path: Path) -> None:
    """Tests that if the master is killed, no worker is left that holds its output open."""
    script = tmp_path / "master.py"
    script.write_text(ORPHANS)
    # communicate() ends when the last process that inherited the pipe has ended.
    done = subprocess.run(
        [sys.executable, str(script), start], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        check=False, env=ENVIRONMENT, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "a worker is here\n")


# ---- the executor goes ----------------------------------------------------------------------------------------------


@dataclass
class Gate:
    """A pipe at which runs wait until it is opened."""

    path: Path
    _other_end: int = -1

    def open(self) -> None:
        """Let all through that wait, and that come later."""
        self._other_end = os.open(self.path, os.O_RDWR)
        self.path.unlink()

    def close(self) -> None:
        """Give back what it took."""
        os.close(self._other_end)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """Return a gate that is closed."""
    made = Gate(tmp_path / "gate")
    os.mkfifo(made.path)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["threads", "spawn", "dask"])
@pytest.mark.parametrize("when", [0, 1])
def test_an_executor_that_goes_leaves_what_ended(
    kind: str, when: int, executor_of: Callable[..., Any], gate: Gate, tmp_path: Path
) -> None:
    """Tests that an executor shut down before or within a comparison is an error of one line, and a rerun goes on."""
    path = tmp_path / "runs.jsonl"
    options = {} if kind == "dask" else {"cancel_futures": True}
    with executor_of(kind) as executor:

        def watch(done: int, _total: int) -> None:
            if done == when:
                executor.shutdown(wait=False, **options)
                gate.open()

        with pytest.raises(
            FedschedError, match=r"failed at the run of mortal on a, seed \d and .*call again"
        ) as caught:
            mortals(executor, Mortal(str(tmp_path), gate=str(gate.path)), path=path, progress=watch)
    assert "\n" not in str(caught.value)
    kept = path.read_text()
    assert when <= kept.count("\n") < 6
    assert mortals(None, Mortal(str(tmp_path)), path=path) == mortals(None, Mortal(str(tmp_path)))
    assert path.read_text().startswith(kept)


@pytest.mark.slow
@pytest.mark.compiled
def test_a_cluster_that_is_gone(tmp_path: Path) -> None:
    """Tests that where the scheduler has closed a comparison says so, and a search ends with what it began with."""
    import distributed

    cluster = distributed.LocalCluster(
        n_workers=1, processes=False, protocol="tcp://", dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL
    )
    with distributed.Client(cluster, set_as_default=False) as client:
        cluster.close()
        with pytest.raises(FedschedError, match="the run of mortal on a, seed 0 and 5 others"):
            mortals(client.get_executor(), Mortal(str(tmp_path)))
        with pytest.warns(RuntimeWarning, match="island 1 of 3 was lost with its worker"):
            result = search(client.get_executor())
    assert result.evaluations < EVALUATIONS
    result.best().verify()


@pytest.mark.slow
def test_a_cluster_keeps_nothing_that_ended(dask: Any, tmp_path: Path) -> None:
    """Tests that runs are let go as they are kept, so that a worker's death does not make the cluster repeat them."""
    held = []

    async def turn() -> None: ...

    def watch(done: int, total: int) -> None:
        for _ in range(2):  # the client's loop forgets in two turns
            dask.sync(turn)
        held.append(len(dask.futures) - (total - done))

    mortals(dask.get_executor(), Mortal(str(tmp_path)), progress=watch)
    assert held[0] + 6 == max(held[1:])


# ---- by name --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.compiled
def test_the_command_line_names_executors(dask: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Tests that --executor changes nothing but where the work is done, and that Dask is found by its file too."""
    log = ("sample", "--federation", "example", "--head", "15", "--evaluations", "300", "--json")
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": dask.scheduler.address}))

    def said(*words: str) -> Any:
        assert cli.run(words) == 0
        answer = json.loads(capsys.readouterr().out)
        return {name: value for name, value in answer.items() if name not in ("seconds", "warm_up")}

    compared = ("compare", *log, "--method", "hc", "--method", "easy", "--seeds", "2")
    plain = said(*compared)
    for name in ("threads", f"dask:{dask.scheduler.address}", f"dask:{file}"):
        assert said(*compared, "--executor", name, "--workers", "2") == plain
    searched = ("optimize", *log, "--islands", "2")
    assert said(*searched, "--executor", f"dask:{file}") == said(*searched)


def test_names_that_lead_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that an executor that is not known or not there is an error of one line that says what to do."""
    import dask

    words = ("compare", "sample", "--federation", "example", "--head", "5", "--method", "fcfs", "--evaluations", "1")
    with dask.config.set({"distributed.comm.timeouts.connect": "100ms"}):
        for name, message in (
            ("cloud", "Unknown executor 'cloud'"),
            ("dask", "dask:ADDRESS"),
            ("dask:tcp://127.0.0.1:1", "Cannot reach Dask's scheduler at tcp://127.0.0.1:1"),
            ("dask:nowhere.json", "Dask's scheduler file nowhere.json is not there"),
            ("dask:nowhere", "Cannot reach Dask's scheduler at nowhere"),
            ("mpi", "mpiexec -n N python -m mpi4py.futures"),
        ):
            assert cli.run((*words, "--executor", name)) == 2
            error = capsys.readouterr().err
            assert message in error
            assert error.count("\n") == 1
    with pytest.raises(ValueError, match="workers=0"), executor_named("processes", 0):
        pass


def test_the_cluster_pages_scripts_are_sound(tmp_path: Path) -> None:
    """Tests that the batch scripts, which need a site to run, are shell that parses, with options that Dask knows."""
    page = (ROOT / "docs" / "how-to" / "run-under-slurm.md").read_text(encoding="utf-8")
    scripts = re.findall(r"```bash\n(.*?)```", page, flags=re.DOTALL)
    assert len(scripts) >= 4
    for script in scripts:
        done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), script
    from distributed.cli import dask_scheduler, dask_worker

    known = {
        kind: {option for parameter in module.main.params for option in parameter.opts + parameter.secondary_opts}
        for kind, module in (("scheduler", dask_scheduler), ("worker", dask_worker))
    }
    commands = re.findall(r"dask (scheduler|worker)((?: .*\\\n)* .*)", "\n".join(scripts))
    assert len(commands) >= 2
    for kind, words in commands:
        assert set(re.findall(r"--[a-z-]+", words)) <= known[kind]


class Leaving(ThreadPoolExecutor):
    """A Dask client's executor; its client is closed after some tasks have ended, and the others never report."""

    def __init__(self, answered: int) -> None:
        super().__init__(1)
        self.answered = answered
        self._client = SimpleNamespace(status="running")

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return a future that ends, or never."""
        if self.answered:
            self.answered -= 1
            return super().submit(fn, *args, **kwargs)
        self._client.status = "closed"
        return Future()


def test_a_client_that_is_closed_leaves_nobody_waiting(tmp_path: Path) -> None:
    """A Dask client that is closed while results are on their way ends a comparison with an error, not never."""
    path = tmp_path / "runs.jsonl"
    with (
        Leaving(2) as executor,
        pytest.raises(FedschedError, match=r"and 3 others \(BrokenExecutor: Dask's client was"),
    ):
        mortals(executor, Mortal(str(tmp_path)), path=path)
    assert len(read_records(path)) == 2


@pytest.mark.compiled
def test_a_search_ends_where_the_client_is_closed() -> None:
    """A search on islands whose Dask client is closed ends with the best that it began with, and a warning."""
    with Leaving(0) as executor, pytest.warns(RuntimeWarning, match=r"lost with its worker \(BrokenExecutor: Dask's"):
        assert search(executor).evaluations < EVALUATIONS


NOTEBOOK = """
import fedsched as fs
from fedsched.compare import Budget, Instance, Outcome, compare
from fedsched.core.executors import Processes

class Own:
    name = "own"
    def run(self, instance, seed, budget):
        return Outcome(((1.0,),))

def late(metrics):
    return metrics["makespan"]

jobs, cluster = fs.Workload.example().head(5), fs.Federation.example()
with Processes(1) as executor:
    for call in (
        lambda: executor.submit(late, {}),
        lambda: compare([Instance("a", jobs, cluster)], [Own()], [0, 1], Budget(1), executor=executor),
    ):
        try:
            call()
        except Exception as error:
            print(type(error).__name__, error)
    print(executor.submit(int, "7").result(), executor.deaths)
"""


def test_what_a_notebook_defines_is_named_before_it_is_sent() -> None:
    """A function or class of a notebook that worker processes cannot find is one clear error, and no worker dies."""
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    first, second, third = done.stdout.splitlines()
    assert first.startswith(
        "TypeError 'late' is defined in a notebook or at a prompt, where worker processes cannot find"
    )
    assert "'Own' is defined in a notebook or at a prompt" in second
    assert "write it into a module" in second
    assert second.startswith("FedschedError The executor failed at the run of own on a, seed 0 and 1 others")
    assert third == "7 0"


def test_the_functions_of_a_program_and_of_modules_travel() -> None:
    """What worker processes can import is no stranger to them, nor is what a library made on the way."""
    assert unknown_to_workers((search, mortals, Mortal("."), len)) == ""
