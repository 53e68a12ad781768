"""Executors of searches and runs: worker processes that are replaced when one dies, and executors by name."""

from __future__ import annotations

import atexit
import io
import math
import os
import pickle
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import Empty, LifoQueue, SimpleQueue
from typing import TYPE_CHECKING, Any, Literal

from fedsched.core import compilation
from fedsched.core.errors import FedschedError, MissingExtraError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

KINDS = ("threads", "processes", "dask:ADDRESS", "mpi")
BACKOFF = 1e-4  # most seconds between two polls of MPI: a long message needs many polls to get through
GLANCE = 0.25  # seconds between two polls of what a worker compiles, if that is shown
LEFT = "Dask's client was closed"
TRIALS = 3  # attempts at a task, after which it fails: each attempt has lost its worker


class Processes(Executor):
    """An executor of worker processes; if one dies, a new one takes its place and repeats its task.

    The standard library's pool breaks for good when one worker dies, for example for lack of memory, and all of its
    tasks fail. Here each worker has a pool of its own. A task fails if three workers have died at it; the others go on.
    Workers end when this process ends, even if it is killed.

    Parameters
    ----------
    workers
        How many tasks run at the same time.
    start
        How workers are started: "spawn" starts each one from nothing; "forkserver" copies a prepared process, so that
        further workers start sooner.

    Examples
    --------
    >>> from fedsched.executors import Processes
    >>> with Processes(2) as workers:
    ...     list(workers.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    def __init__(self, workers: int, *, start: Literal["spawn", "forkserver"] = "spawn") -> None:
        if workers < 1:
            raise ValueError(f"workers={workers} must be at least 1.")
        if start not in ("spawn", "forkserver"):
            raise unknown_name("start", start, ("spawn", "forkserver"))
        self.workers = workers
        self._deaths: list[BrokenExecutor] = []
        self._start = start
        self._threads = ThreadPoolExecutor(workers)
        # None: a worker that is not started yet; it is taken only if no started one is idle.
        self._idle: LifoQueue[_Worker | None] = LifoQueue()
        for _ in range(workers):
            self._idle.put(None)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Let a worker process call a function; return the future of the function's result.

        Parameters
        ----------
        fn, args, kwargs
            The function and its arguments; a worker must be able to import it.
        """
        stranger = unknown_to_workers((fn, args, kwargs))
        if stranger:
            raise TypeError(stranger)
        return self._threads.submit(self._run, fn, args, kwargs)

    @property
    def deaths(self) -> int:
        """Return how many workers have died and were replaced."""
        return len(self._deaths)

    def _run(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        worker = self._idle.get()
        try:
            for _ in range(TRIALS):
                worker = worker or _Worker(self._start)
                try:
                    return worker.result(fn, args, kwargs)
                except BrokenExecutor as death:
                    if worker.lives():
                        raise  # the task's own error: an executor within it broke
                    self._deaths.append(death)
                    worker.shutdown()
                    worker = None
            raise BrokenExecutor(
                f"{TRIALS} worker processes died at this task, one after the other; is the memory too small?"
            )
        finally:
            self._idle.put(worker)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers after all submitted tasks, or with `cancel_futures` after the tasks that have begun.

        Parameters
        ----------
        wait
            Whether to wait until the workers have ended.
        cancel_futures
            Whether tasks that have not begun are given up.
        """
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        if wait:  # else each ends after its last task, when this object is deleted
            with suppress(Empty):
                while True:
                    worker = self._idle.get_nowait()
                    if worker is not None:
                        worker.shutdown()


def unknown_to_workers(task: object) -> str:
    """Return the error text for a task with a function that new processes cannot find; "" if they find all.

    Pickle sends a function as a name. One that was defined in a notebook or at a prompt is known to this process alone.
    A worker that cannot find it dies, as if it had been killed.
    """
    main = sys.modules["__main__"]
    if getattr(main, "__spec__", None) is not None or hasattr(main, "__file__"):
        return ""  # a program's file, which workers import too
    found: list[str] = []

    class Search(pickle.Pickler):
        def reducer_override(self, part: Any) -> Any:
            if getattr(part, "__module__", "") == "__main__" and hasattr(part, "__qualname__"):
                found.append(part.__qualname__)
            return NotImplemented

    with suppress(Exception):  # a task that cannot be pickled is another error
        Search(io.BytesIO()).dump(task)
    if not found:
        return ""
    return (
        f"{found[0]!r} is defined in a notebook or at a prompt, where worker processes cannot find it: write it into a "
        "module (a .py file) and import it from there, or take threads."
    )


def has_left(executor: Executor | None) -> bool:
    """Return whether the Dask client behind an executor is closed: its tasks under way may then never end."""
    return getattr(_client_of(executor), "status", "") in ("closing", "closed")


class LateError(Exception):
    """The error for a future that has not ended in time."""


def ended_of(
    executor: Executor | None, ended: SimpleQueue[Future[Any]], *, seconds: float = math.inf
) -> Future[Any] | None:
    """Wait for the next future in the queue of ended ones and return it; None if the Dask client is closed.

    Raise a LateError if no future has ended within the given seconds.
    """
    of_dask, until = _client_of(executor) is not None, time.monotonic() + seconds
    while True:
        gone = of_dask and has_left(executor)
        left = max(until - time.monotonic(), 0.0)
        glance = min(GLANCE, left) if of_dask else None if left == math.inf else left
        with suppress(Empty):
            return ended.get(timeout=glance)
        if gone:
            return None
        if time.monotonic() >= until:
            raise LateError


def result_of(executor: Executor | None, future: Future[Any], *, seconds: float = math.inf) -> Any:
    """Wait for a future's result and return it.

    Raise a BrokenExecutor if the Dask client is closed, so that no result can come, and a LateError if there is none
    within the given seconds.
    """
    ended: SimpleQueue[Future[Any]] = SimpleQueue()
    future.add_done_callback(ended.put)
    if ended_of(executor, ended, seconds=seconds) is None:
        raise BrokenExecutor(LEFT)
    return future.result()


def _client_of(executor: Executor | None) -> object:
    return getattr(executor, "_client", None)


class _Worker:
    """A worker of `Processes`: a pool of one process, with counts of the functions that it has compiled."""

    def __init__(self, start: str) -> None:
        from multiprocessing import get_context

        context = get_context(start)
        self._counts = context.RawArray("d", 3)  # functions, seconds, whether it is compiling now
        self._told = compilation.Count()
        self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=(self._counts,))

    def result(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function in the worker and return its result; report meanwhile what the worker compiles."""
        future = self._pool.submit(fn, *args, **kwargs)
        while not wait([future], GLANCE if compilation.watched() else None).done:
            self._tell()
        self._tell()
        return future.result()

    def _tell(self) -> None:
        functions, seconds, active = self._counts
        now, before = compilation.Count(int(functions), seconds, bool(active)), self._told
        if now != before:
            self._told = now
            more = compilation.Count(now.functions - before.functions, now.seconds - before.seconds, now.active)
            compilation.add_from_worker(id(self), more)

    def lives(self) -> bool:
        """Return whether the process accepts another task."""
        try:
            self._pool.submit(int)
        except BrokenExecutor:
            return False
        return True

    def shutdown(self) -> None:
        """End the process after its present task, and wait for its end."""
        self._pool.shutdown()


def _begin(counts: Any) -> None:
    # Initialises a worker process.
    def tell(watch: compilation.Compilation) -> None:
        counts[:] = (watch.functions, watch.seconds, watch.active)

    _end_with_parent()
    stack = ExitStack()
    stack.enter_context(compilation.compiling(tell))
    atexit.register(stack.close)  # the block lasts as long as the process


def _end_with_parent() -> None:
    # A worker waits for tasks on a pipe and holds both of its ends: the pipe does not tell it that the parent is gone.
    from multiprocessing import parent_process
    from multiprocessing.connection import wait as wait_for

    parent = parent_process()
    if parent is None:
        return

    def follow() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def executor_named(name: str, workers: int) -> Iterator[Executor]:
    """Return an executor by its name; it is shut down at the end of the block.

    Parameters
    ----------
    name
        "threads", "processes", "dask:ADDRESS" with the address of a scheduler or its scheduler file (.json), or "mpi"
        in a program that `mpiexec -n N python -m mpi4py.futures` has started.
    workers
        How many threads or processes; Dask and MPI bring their own workers.

    Examples
    --------
    >>> from fedsched.executors import executor_named
    >>> with executor_named("threads", 2) as workers:
    ...     list(workers.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    kind, _, address = name.partition(":")
    if kind == "dask" and address:
        with _dask(address) as executor:
            yield executor
    elif name == "mpi":
        with _mpi() as executor:
            yield executor
    elif name == "processes":
        with Processes(workers) as executor:
            yield executor
    elif name == "threads":
        with ThreadPoolExecutor(workers) as executor:
            yield executor
    else:
        raise unknown_name("executor", name, KINDS)


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError:
        raise _missing("Dask") from None
    if address.endswith(".json") and not Path(address).exists():  # the client would wait for it for ever
        raise FedschedError(f"Dask's scheduler file {address} is not there; start: dask scheduler --scheduler-file …")
    connect: Any = Client  # its types are incomplete
    try:
        client = connect(scheduler_file=address) if address.endswith(".json") else connect(address)
    except (OSError, ValueError) as error:
        raise FedschedError(
            f"Cannot reach Dask's scheduler at {address}: {' '.join(str(error).split())}; "
            "start one (dask scheduler), then its workers (dask worker), and give its address."
        ) from error
    with client:
        yield client.get_executor()


@contextmanager
def _mpi() -> Iterator[Executor]:
    import sys

    try:
        from mpi4py.futures import MPIPoolExecutor
    except ImportError:
        raise _missing("MPI") from None
    # Without mpi4py.run the pool would spawn processes, which few clusters allow, and every rank would do so.
    if "mpi4py.run" not in sys.modules:
        raise FedschedError(
            "The executor mpi needs MPI's workers; start: mpiexec -n N python -m mpi4py.futures -m fedsched.cli …"
        )
    with MPIPoolExecutor(backoff=BACKOFF) as executor:
        yield executor


def _missing(what: str) -> MissingExtraError:
    return MissingExtraError(f"{what} is not installed; install it: pip install 'fedsched[distributed]'.")
