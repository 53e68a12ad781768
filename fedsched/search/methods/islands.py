"""Islands: parallel searches with different seeds on any executor, which exchange their best plans."""

from __future__ import annotations

import math
import pickle
import platform
import time
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, replace
from textwrap import shorten
from traceback import format_exception
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from fedsched.core.compilation import compiling
from fedsched.core.executors import LateError, result_of, unknown_to_workers
from fedsched.io.trees import Saved, pack, unpack
from fedsched.search.methods.methods import Welcoming
from fedsched.search.run.archive import least_crowded
from fedsched.search.run.checkpoint_arrays import saved_plans, saved_values
from fedsched.search.run.clock import Clock
from fedsched.search.run.run import BudgetSpent, CutShort, Run, drive
from fedsched.search.run.stopping import MaxEvaluations, MaxSeconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor, Future

    from fedsched.core.compilation import Compilation
    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Plain
    from fedsched.search.methods.methods import Method, MethodInfo
    from fedsched.search.problem.packed import PackedProblem
    from fedsched.search.run.stopping import StoppingRule

EPOCHS = 20  # epochs of a budget; the islands exchange plans after each
SHORTEST = 200  # least evaluations of an island's epoch
WORK = 6_000_000  # most job placements of an island's epoch: about two seconds, which Ctrl-C may have to wait
EMIGRANTS = 4  # plans that an island sends to the next one after each epoch
TRIALS = 2  # attempts at an epoch before its island is given up
SEARCHED = 4  # least seconds of search in an epoch for each second of sending an island and collecting it
AT_FIRST = 50  # expected plans of an island's archive, until the first has come
GRACE, GRACE_SHARE = 0.05, 0.025  # seconds, and share of the budget, to wait for a late epoch
NOTHING = pack({})


@dataclass(frozen=True, slots=True)
class Island:
    """The state of one search between two epochs (stretches of its budget), which is sent to a worker and back."""

    seed: int
    done: int = 0  # evaluations
    ended: bool = False  # the method has no more to do, whatever is left of the budget
    state: bytes = b""  # packed state of its run and its method after the last epoch


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch of an island (a stretch of its budget), as a task for a worker; large parts are packed."""

    problem: PackedProblem
    info: MethodInfo
    island: Island
    reference: Floats
    seeds: bytes
    bounds: Floats
    share: int | None  # the island's share of the budget in evaluations, over all epochs
    evaluations: int
    seconds: float | None
    left: float | None  # seconds left of the whole budget: then the search is cut short even within a step
    since: tuple[str, float]  # machine and time of submitting: the wait for a worker counts
    immigrants: bytes
    plan_takes: float = 0.0  # recent seconds for each plan
    home: float = 0.0  # seconds reserved for collecting all islands
    saves: bool = True  # whether an island's state is needed after its time is over

    def __dask_tokenize__(self) -> str:
        # By default Dask answers a task equal to an earlier one with the earlier result or failure.
        return uuid4().hex


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """A stopping rule that ends an epoch when the island has made `evaluations` in all; its budget goes on."""

    evaluations: int

    def __call__(self, run: Run) -> str | None:
        """Return "the epoch ends" if the run has made `evaluations` or more; else None."""
        return "the epoch ends" if run.evaluations >= self.evaluations else None


class Archipelago:
    """Several islands of one method; it is itself a method, and its step is one epoch of all islands.

    The same seed and evaluations give the same plans on any executor. After each epoch every island sends the best
    plans of its archive to the next one, in a ring.
    """

    def __init__(self, run: Run, info: MethodInfo, islands: int) -> None:
        self.info = info
        self._length = run.problem.layout.length
        self.executor: Executor | None = None  # set before the first step, and again after a checkpoint
        seeds = np.random.SeedSequence(run.seed).generate_state(islands, dtype=np.uint32).tolist()
        # Set before the first step as well: whether late tasks may be left to the executor, which outlives the search;
        # and whether the search writes checkpoints.
        self.may_be_left, self.saves = False, False
        self.late = 0  # epochs that were given up when the time was over
        self._home = 0.0  # seconds that collecting all islands took; they are reserved in the next epoch
        self._plan_takes = self._carried = 0.0
        self._seeds = NOTHING
        self._islands = [Island(seed) for seed in seeds]
        nothing: tuple[list[Ints], Floats] = ([], np.zeros((0, len(run.problem.objectives.names))))
        self._found = [nothing] * islands  # each island's archive, from which the next one gets plans

    def step(self, run: Run) -> bool:
        """Run one epoch of every island that has not ended, collect the plans found, and return whether one goes on.

        Raise BudgetSpent if no epoch had time, and CutShort if an island was lost with its worker.
        """
        alive = self._alive(run)
        self._leave_in_time(run)
        seeds = self._packed(run, alive)
        self._leave_in_time(run)  # packing plans of many jobs may have used up the time left
        epochs = {k: self._epoch(run, k, seeds) for k in alive}
        futures = {k: self._submit(k, epochs[k]) for k in alive}
        lost, landed, packing, unpacking = None, 0, 0.0, 0.0
        for k in alive:
            try:
                landing = self._result(run, k, epochs[k], futures[k])
            except CutShort as error:
                lost = lost or error  # the others are still collected
                continue
            if isinstance(landing, EpochError):
                raise landing.error
            if landing is None:
                self.late += 1
            elif landing.archive:  # else its time was over before a worker was free
                began = run.seconds
                self._collect(run, k, epochs[k], landing)
                packing, unpacking = max(packing, landing.home), unpacking + run.seconds - began
                landed += 1
        self._home = packing + unpacking
        if lost is not None:
            raise lost
        if alive and not landed:
            raise BudgetSpent  # no epoch had time
        return bool(self._alive(run))

    def _leave_in_time(self, run: Run) -> None:
        """Raise BudgetSpent if less time is left than the last epoch took to send and collect islands.

        Do nothing while the archive is empty.
        """
        if run.beyond(run.cut_at - self._home - self._carried) and len(run.archive):
            raise BudgetSpent

    def _collect(self, run: Run, k: int, epoch: Epoch, landing: EpochResult) -> None:
        self._islands[k] = landing.island
        self._found[k] = rows, values = _plans(Saved(unpack(landing.archive), own=True), run.problem)
        run.account(landing.island.done - epoch.island.done, values, rows)
        self._plan_takes, self._carried = landing.plan_takes, landing.carried

    def _packed(self, run: Run, alive: Sequence[int]) -> bytes:
        """Return the seeds, packed for the islands; an empty pack if each has begun, as only first epochs need seeds.

        The time for packing is the first estimate of the time for collecting plans.
        """
        if all(self._islands[k].state for k in alive):
            self._seeds = NOTHING  # they are needed only in an island's first epoch
        elif self._seeds is NOTHING:
            began = run.seconds
            self._seeds = pack({"rows": run.seeds})
            packing = run.seconds - began
            self._home = self._home or packing * AT_FIRST / max(len(run.seeds), 1)
            self._carried = self._carried or packing  # unpacking takes about as long
        return self._seeds

    def _patience(self, run: Run) -> float:
        """Return for how many seconds to wait for an epoch.

        It is inf without a budget in seconds, or if late tasks may not be left to the executor.
        """
        if run.seconds_given is None or not self.may_be_left:
            return math.inf
        return max(run.seconds_given - run.seconds, 0.0) + GRACE + GRACE_SHARE * run.seconds_given

    def _alive(self, run: Run) -> list[int]:
        return [
            k
            for k, island in enumerate(self._islands)
            if not island.ended and ((share := self._share(run, k)) is None or island.done < share)
        ]

    def _share(self, run: Run, k: int) -> int | None:
        # Computed from the current budget, which may be larger after a checkpoint.
        total, islands = run.total, len(self._islands)
        return None if total is None else total // islands + (k < total % islands)

    def _epoch(self, run: Run, k: int, seeds: bytes) -> Epoch:
        island, share = self._islands[k], self._share(run, k)
        most = max(SHORTEST, WORK // run.problem.layout.jobs)
        length = most if share is None else max(SHORTEST, min(most, share // EPOCHS))
        seconds = None
        if run.seconds_given is not None:
            usual = max(run.seconds_given / EPOCHS, SEARCHED * self._carried)
            seconds = max(0.05, min(usual, run.seconds_given - run.seconds))
        return Epoch(
            problem=run.problem,
            info=self.info,
            island=island,
            reference=run.reference,
            seeds=NOTHING if island.state else seeds,
            bounds=run.bounds,
            share=share,
            evaluations=island.done + length,
            seconds=seconds,
            left=None if run.seconds_given is None else run.seconds_given - run.seconds,
            since=(platform.node(), time.time()),
            immigrants=pack(_as_arrays(self._length, *emigrants(*self._found[k - 1]))),
            plan_takes=self._plan_takes or run.plan_takes,
            home=self._home,
            saves=self.saves,
        )

    # ---- state --------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Plain]:
        """Return every island's progress, and the plans that it has found."""
        islands: list[Plain] = [
            {
                "done": island.done,
                "ended": island.ended,
                "state": unpack(island.state) if island.state else None,
                **_as_arrays(self._length, *found),
            }
            for island, found in zip(self._islands, self._found, strict=True)
        ]
        return {"islands": islands}

    def restore(self, saved: Saved, run: Run) -> None:
        """Continue with saved islands; all are checked before one of them runs."""
        islands = saved.parts("islands")
        if len(islands) != len(self._islands):
            raise saved.unfit("islands", f"must be {len(self._islands)}, not {len(islands)}")
        for k, one in enumerate(islands):
            state = one.maybe("state")
            if state is not None:
                _resume(state, Run(run.problem, run.seed, run.stop, run.reference, run.seeds, run.bounds), self.info)
            self._islands[k] = replace(
                self._islands[k],
                done=one.whole("done"),
                ended=one.flag("ended"),
                state=b"" if state is None else pack(state.fields),
            )
            self._found[k] = _plans(one, run.problem)

    # ---- epochs on an executor ----------------------------------------------------------------------------------

    def _submit(self, k: int, epoch: Epoch) -> Future[EpochResult | EpochError]:
        if self.executor is None:
            raise CutShort("the islands have no executor")
        try:
            return self.executor.submit(run_epoch, epoch)
        except Exception as error:  # a closed executor may raise anything
            raise self._lost(k, epoch, error) from error

    def _result(
        self, run: Run, k: int, epoch: Epoch, future: Future[EpochResult | EpochError]
    ) -> EpochResult | EpochError | None:
        """Return the result of an epoch; None if it comes too late.

        If a worker or the executor fails, the epoch is submitted once more; then raise.
        """
        for trial in range(1, TRIALS + 1):
            try:
                return result_of(self.executor, future, seconds=self._patience(run))
            except LateError:
                future.cancel()
                return None
            except Exception as error:  # the executor's error; one of the search itself is a result
                if trial == TRIALS:
                    raise self._lost(k, epoch, error) from error
            future = self._submit(k, epoch)  # a lost epoch is repeated
        return None

    def _lost(self, k: int, epoch: Epoch, error: Exception) -> Exception:
        stranger = unknown_to_workers(epoch)
        if stranger and isinstance(error, BrokenExecutor | TypeError):
            return TypeError(stranger)
        why = shorten(f"{type(error).__name__}: {error}", 200, placeholder=" …").rstrip(".: ")
        if isinstance(error, pickle.PicklingError | AttributeError | TypeError) and not _pickles(epoch):
            return TypeError(
                f"The search cannot be sent to the executor's workers ({why}); define its objective functions at the "
                "top of a module, or take threads."
            )
        return CutShort(f"island {k + 1} of {len(self._islands)} was lost with its worker ({why})")


@dataclass(frozen=True, slots=True)
class EpochResult:
    """A worker's result: the island after the epoch, and its archive's packed plans; empty bytes if time was over."""

    island: Island
    archive: bytes = b""
    plan_takes: float = 0.0  # recent seconds for each plan
    home: float = 0.0  # seconds for packing what the last epoch must return too
    carried: float = 0.0  # seconds for all except the search


@dataclass(frozen=True, slots=True)
class EpochError:
    """A worker's result if the search itself raised an error, mostly in a user's objective.

    The worker did not fail, so the epoch is not repeated.
    """

    error: Exception

    def __reduce__(self) -> tuple[type[EpochError], tuple[Exception]]:
        # Pickle drops tracebacks, and fails for errors that take other arguments than they keep.
        error = self.error
        trace = "".join(format_exception(error))
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        error.add_note(f"In the worker:\n{trace}")
        return EpochError, (error,)


def run_epoch(epoch: Epoch) -> EpochResult | EpochError:
    """Run an epoch in a worker; return the island after it, or the error that the search raised.

    A MemoryError is raised, as another worker may have more memory.
    """
    try:
        with compiling() as compiled:
            return _run_epoch(epoch, EpochClock(epoch, compiled))
    except MemoryError:
        raise  # counts as a lost worker: another one may have more memory
    except Exception as error:
        return EpochError(error)


class EpochClock:
    """The time of one epoch, by the clock of the worker's machine; compiling does not count."""

    def __init__(self, epoch: Epoch, compiled: Compilation) -> None:
        machine, asked = epoch.since
        waited = max(time.time() - asked, 0.0) if machine == platform.node() else 0.0  # other clocks differ
        self.clock = Clock(None, compiled)
        self._over = math.inf if epoch.left is None else epoch.left - waited - epoch.home
        self._ended = 0.0
        self.before = 0.0  # seconds for restoring the island

    @property
    def left(self) -> float:
        """Return the seconds left for searching; inf without a budget in seconds."""
        return self._over - self.clock.elapsed

    def end(self) -> None:
        """Store the present time as the end of the search."""
        self._ended = self.clock.elapsed

    @property
    def since_end(self) -> float:
        """Return the seconds since the search ended."""
        return self.clock.elapsed - self._ended


def _run_epoch(epoch: Epoch, turn: EpochClock) -> EpochResult:
    island = epoch.island
    if turn.left <= 0.0:
        return EpochResult(island)
    rules: list[StoppingRule] = [EpochEnd(epoch.evaluations)]
    if epoch.share is not None:
        rules.append(MaxEvaluations(epoch.share))
    problem = epoch.problem.with_own_workspaces()
    seeds = _rows(Saved(unpack(epoch.seeds), own=True), problem)
    run = Run(problem, island.seed, rules, epoch.reference, seeds, epoch.bounds, plan_takes=epoch.plan_takes)
    run.begin_clock(turn.clock)
    if island.state:
        method = _resume(Saved(unpack(island.state), own=True), run, epoch.info)
    else:
        run.cut_at = run.seconds + turn.left
        method = epoch.info.make(run)
    immigrants, values = _plans(Saved(unpack(epoch.immigrants), own=True), problem)
    if immigrants:
        run.archive.add(values, immigrants)
        if isinstance(method, Welcoming):
            method.welcome(immigrants, values)
    if epoch.seconds is not None:
        run.stop = [*rules, MaxSeconds(run.seconds + epoch.seconds)]
    run.cut_at = run.seconds + turn.left
    if turn.left <= 0.0:
        return EpochResult(island)
    turn.before = turn.clock.elapsed
    drive(run, method)
    turn.end()
    ended = run.left > 0 and run.evaluations < epoch.evaluations and epoch.seconds is None
    state = b""
    if turn.left > 0.0 or epoch.saves:
        state = pack({"run": run.state(), "method": method.state()})
    else:
        ended = True  # without its state another epoch would start from the beginning
    state_packed = turn.since_end
    archive = pack(_as_arrays(problem.layout.length, *run.archive.plans()))
    return EpochResult(
        island=replace(island, done=run.evaluations, ended=ended, state=state),
        archive=archive,
        plan_takes=run.plan_takes,
        home=turn.since_end - (0.0 if epoch.saves else state_packed),
        carried=turn.since_end + turn.before,
    )


def _resume(saved: Saved, run: Run, info: MethodInfo) -> Method:
    """Restore a run from the saved state of its last epoch, and return its method, restored too."""
    run.restore(saved.part("run"))
    method = info.make(run)
    method.restore(saved.part("method"), run)
    return method


def _as_arrays(length: int, rows: list[Ints], values: Floats) -> dict[str, Plain]:
    return {"rows": np.array(rows, dtype=np.int64).reshape(-1, length), "values": values}


def _rows(saved: Saved, problem: PackedProblem) -> Ints:
    return saved_plans(saved, "rows", problem) if saved.fields else np.zeros((0, problem.layout.length), dtype=np.int64)


def _plans(saved: Saved, problem: PackedProblem) -> tuple[list[Ints], Floats]:
    rows = saved_plans(saved, "rows", problem)
    return list(rows), saved_values(saved, "values", problem, len(rows))


def _pickles(epoch: Epoch) -> bool:
    try:
        pickle.dumps(epoch)
    except Exception:
        return False
    return True


def emigrants(rows: list[Ints], values: Floats) -> tuple[list[Ints], Floats]:
    """Return at most four plans of an archive and their values: the extremes and the least crowded ones."""
    chosen = least_crowded(values, EMIGRANTS)
    return [rows[k] for k in chosen.tolist()], values[chosen]
