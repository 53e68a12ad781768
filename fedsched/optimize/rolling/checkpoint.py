"""The checkpoint file of a rolling run: the state of the loop and the planner, written completely or not at all."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.codes import Placement
from fedsched.engine.numbers import Counter
from fedsched.engine.pack.problem import parts_of
from fedsched.engine.sharing.run import SharedRun
from fedsched.io.sealed import SealedFile, key_of
from fedsched.io.trees import Saved, UnfitError, pack, unpack
from fedsched.optimize.rolling.shared_file import held_in, held_of, restore_held, what_is_shared
from fedsched.search.problem.packed import PLAN_DISPATCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Ints
    from fedsched.engine.run.simulation import Simulation
    from fedsched.io.trees import Plain
    from fedsched.optimize.rolling.policy import Rolling

EVERY_SECONDS = 10.0
MARK = b"fedsched rolling checkpoint 9\n"
WORDS = 1 << 20  # bytes beside arrays: names, and the planner's memory
# A planner's run has no separate backfill order; the other fields are scratch space.
SCRATCH = ("backfill", "packing", "scratch", "classes", "draw")
RESERVATIONS = tuple(f"state.extras.{name}" for name in ("apart.of_job", "apart.turn", "closed.holder"))
UNKNOWN = ("state.start", "state.finish")  # may be NaN
OF_JOBS = (
    *("heap.job", "heap.place", "ends.job", "rates.spanning", "queue.order", "queue.position"),
    *("extras.waiting.timer", "extras.waiting.joined", "extras.waiting.doomed", "extras.lost.job"),
    "extras.apart.waits",
)
# May be negative: what is owed, and usage beyond a limit.
BELOW_NOTHING = tuple(f"state.extras.{name}" for name in ("closed.left", "closed.low", "closed.beyond", "limited.left"))


class RunFile:
    """The checkpoint of one run; without a path it does nothing."""

    def __init__(self, policy: Rolling, run: Simulation) -> None:
        path = policy.checkpoint
        self._file = None if path is None else SealedFile(Path(path), MARK, "a rolling run")
        self._key = "" if path is None else _key(policy, run)
        self._saved_at = time.monotonic()

    def resume(self, run: Simulation) -> dict[str, float] | None:
        """Restore the run and return the planner's memory; None if there is no checkpoint yet."""
        if self._file is None:
            return None
        most = WORDS + 2 * sum(array.nbytes for _, array in _arrays(run))
        if isinstance(run, SharedRun):
            most += 2 * sum(array.nbytes for array in (*run.work.held, *run.work.gone))
        if (content := self._file.read(most)) is None:
            return None
        try:
            saved = Saved(unpack(content, most))
            if saved.text("key") == self._key:
                self._file.check_writable()
                return _restore(run, saved)
        except UnfitError as error:
            raise self._file.refusal(f"not a checkpoint as a rolling run leaves it ({error})") from None
        raise self._file.refusal(
            "the checkpoint of another run (other jobs, federation, settings or policy)", others=True
        )

    def save_sometimes(self, run: Simulation, memory: dict[str, float]) -> None:
        """Save if the last save is long enough ago."""
        if self._file is not None and time.monotonic() - self._saved_at >= EVERY_SECONDS:
            self.save(run, memory)

    def save(self, run: Simulation, memory: dict[str, float]) -> None:
        """Save now; the file is never left half-written."""
        if self._file is None:
            return
        arrays: dict[str, Plain] = dict(_arrays(run))
        rules = np.array([run.plan.dispatch, run.plan.placement])
        content: dict[str, Plain] = {"key": self._key, "rules": rules, "memory": memory, "arrays": arrays}
        if isinstance(run, SharedRun):
            content["held"] = held_of(run)
        self._file.write(pack(content))
        self._saved_at = time.monotonic()


def _restore(run: Simulation, saved: Saved) -> dict[str, float]:
    """Restore the run once everything is read and checked: kernels check no array bounds."""
    arrays, rules = saved.part("arrays"), saved.ints("rules", (2,)).tolist()
    if rules[0] not in tuple(PLAN_DISPATCH) or rules[1] not in tuple(Placement):
        raise saved.unfit("rules", "must be a dispatch and a placement rule of plans")
    now = dict(_arrays(run))
    read = {name: _read(arrays, name, array, run) for name, array in now.items()}
    memory = saved.part("memory")
    remembered: dict[str, float] = {name: memory.whole(name) for name in ("replans", "evaluations", "joined")}
    remembered["due"] = memory.number("due", -np.inf)
    held = held_in(saved.part("held"), run) if isinstance(run, SharedRun) else None
    for name, array in now.items():
        array[...] = read[name]
    run.state.counter[Counter.PLAN_HOLDS] = 0  # the free nodes beside a reservation are not saved
    run.plan = run.plan._replace(dispatch=rules[0], placement=rules[1])
    if held is not None:
        restore_held(run, held)
    return remembered


def _read(arrays: Saved, name: str, like: NDArray[np.generic], run: Simulation) -> NDArray[np.generic]:
    if like.dtype == np.int64:
        return arrays.ints(name, like.shape, _least(name, run), _most(name, run))
    return arrays.floats(name, like.shape, unknown=name in UNKNOWN)


def _least(name: str, run: Simulation) -> int | Ints:
    """Return the least number that an array may hold; on shared nodes counts of free whole nodes are not used."""
    below = np.iinfo(np.int64).min
    if name == "state.counter" and isinstance(run, SharedRun):
        least = np.full(len(Counter), -1)
        least[Counter.FREE] = below
        return least
    return below if name in BELOW_NOTHING or (name == "state.free" and isinstance(run, SharedRun)) else -1


def _most(name: str, run: Simulation) -> int | Ints:
    """Return the greatest number that an array may hold: many are indices into other arrays."""
    jobs, nodes = run.problem.submit.size, run.problem.nodes
    if name == "cap_row":
        return len(run.plan.caps) - 1
    if name == "state.counter":
        most = np.full(len(Counter), jobs)
        most[[Counter.FREE, Counter.FREE_BEFORE]] = nodes
        most[Counter.SATURATED_LINKS] = run.problem.groups.uplink.size
        most[Counter.BREAKPOINTS] = run.state.profile.time.size
        return most
    if name == "state.extras.waiting.number":
        return jobs
    if name == "state.extras.lost.number" and run.state.extras is not None:
        return run.state.extras.lost.job.size
    if name == "state.extras.apart.number" and run.problem.extras is not None:
        return np.diff(run.problem.extras.reserved.first)
    if name == "state.extras.molded.at" and run.problem.extras is not None:
        return run.problem.extras.moldable.which.size - 1
    if name == "state.extras.molded.tasks":
        return nodes
    if name == "state.extras.molded.number":
        return jobs
    if name in RESERVATIONS and run.problem.extras is not None:
        return int(run.problem.extras.calendar.reservation.max(initial=-1))
    if name == "state.extras.closed.number" and run.problem.extras is not None:
        calendar = run.problem.extras.calendar
        return np.array([calendar.change.size, calendar.learned.size, calendar.lookout.size, calendar.change.size])
    if name.removeprefix("state.") in OF_JOBS:
        return jobs - 1
    return np.iinfo(np.int64).max


def _arrays(run: Simulation) -> Iterator[tuple[str, NDArray[np.generic]]]:
    # Everything that changes during a run: the loop's state, and the caps of the current plan.
    yield "caps", run.plan.caps
    yield "cap_row", run.plan.cap_row
    yield from _fields("state", run.state)


def _fields(name: str, value: object) -> Iterator[tuple[str, NDArray[np.generic]]]:
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for field in value._fields:
            if field not in SCRATCH:
                yield from _fields(f"{name}.{field}", getattr(value, field))


def _key(policy: Rolling, run: Simulation) -> str:
    own = (run.plan.caps, run.plan.cap_row, *run.running())
    if isinstance(run, SharedRun):
        own = (*own, *what_is_shared(run))
    return key_of(repr(replace(policy, checkpoint=None)), (*parts_of(run.problem), *own))
