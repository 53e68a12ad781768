"""The checkpoint file of a rolling run, with the state of the loop and of the planner; it is never half-written."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.engine.codes import Placement
from fedsched.engine.loop.event_loop import UNCOUNTED
from fedsched.engine.numbers import Counter
from fedsched.engine.pack.problem import parts_of
from fedsched.engine.run.simulation import lost_in
from fedsched.engine.shared_nodes.arrays import WHOLE, Number
from fedsched.engine.sharing.pack import parts_of_sharing
from fedsched.engine.sharing.run import SharedRun
from fedsched.io.checkpoint_file import SealedFile, key_of
from fedsched.io.trees import Saved, UnfitError, pack, unpack
from fedsched.model.power.switch_rates import RateState
from fedsched.model.schedule.node_stack import Place
from fedsched.search.problem.packed import PLAN_DISPATCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Ints
    from fedsched.engine.run.simulation import Simulation
    from fedsched.io.trees import Plain
    from fedsched.optimize.rolling.policy import Rolling

EVERY_SECONDS = 10.0
MARK = b"fedsched rolling checkpoint 10\n"
WORDS = 1 << 20  # bytes beside arrays: names, and the planner's memory
# A planner's run has no separate backfill order; the other fields are scratch space.
SCRATCH = ("backfill", "packing", "scratch", "classes", "draw", "work")
RESERVATIONS = tuple(f"state.extras.{name}" for name in ("apart.of_job", "apart.turn", "closed.holder"))
UNKNOWN = ("state.start", "state.finish", "state.extras.powered.promised")  # may be NaN
STACKS, EDGES = "state.extras.powered.stacks", ("FIRST", "END")
OF_JOBS = (
    *("heap.job", "heap.place", "ends.job", "rates.spanning", "queue.order", "queue.position"),
    *("extras.waiting.timer", "extras.waiting.joined", "extras.waiting.doomed", "extras.lost.job"),
    "extras.apart.waits",
)
# May be negative: what is owed, and usage beyond a limit.
BELOW_NOTHING = tuple(f"state.extras.{name}" for name in ("closed.left", "closed.low", "closed.beyond", "limited.left"))
# On shared nodes: the arrays of what jobs hold, by job, by piece and by device.
HELD_OF_JOBS = ("first", "pieces", "first_device", "devices")
OF_PIECES, OF_DEVICES = ("node", "tasks"), ("device_node", "device", "amount")


class RunFile:
    """The checkpoint file of one run; without a path nothing is read or written."""

    def __init__(self, policy: Rolling, run: Simulation) -> None:
        path = policy.checkpoint
        self._file = None if path is None else SealedFile(Path(path), MARK, "a rolling run")
        self._key = "" if path is None else _key(policy, run)
        self._saved_at = time.monotonic()

    def resume(self, run: Simulation) -> dict[str, float] | None:
        """Restore the run from the file and return the planner's memory; None if there is no checkpoint yet.

        Raise an error if the file is damaged or belongs to another run.
        """
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
            "the checkpoint of another run (other jobs, federation, settings, policy, or version of its package)",
            others=True,
        )

    def save_sometimes(self, run: Simulation, memory: dict[str, float]) -> None:
        """Save run and memory if the last save is at least ten seconds ago."""
        if self._file is not None and time.monotonic() - self._saved_at >= EVERY_SECONDS:
            self.save(run, memory)

    def save(self, run: Simulation, memory: dict[str, float]) -> None:
        """Save run and memory now; the file is never half-written. Do nothing without a path."""
        if self._file is None:
            return
        arrays: dict[str, Plain] = dict(_arrays(run))
        rules = np.array([run.plan.dispatch, run.plan.placement])
        content: dict[str, Plain] = {"key": self._key, "rules": rules, "memory": memory, "arrays": arrays}
        if isinstance(run, SharedRun):
            content["held"] = _allocations_of(run)
        self._file.write(pack(content))
        self._saved_at = time.monotonic()


def _restore(run: Simulation, saved: Saved) -> dict[str, float]:
    """Restore the run from checked data, and return the planner's memory.

    Nothing changes before all is checked: kernels check no array bounds.
    """
    arrays, rules = saved.part("arrays"), saved.ints("rules", (2,)).tolist()
    if rules[0] not in tuple(PLAN_DISPATCH) or rules[1] not in tuple(Placement):
        raise saved.unfit("rules", "must be a dispatch and a placement rule of plans")
    now = dict(_arrays(run))
    read = {name: _read(arrays, name, array, run) for name, array in now.items()}
    _check_stacks(arrays, read, run)
    memory = saved.part("memory")
    remembered: dict[str, float] = {name: memory.whole(name) for name in ("replans", "evaluations", "joined")}
    remembered["due"] = memory.number("due", -np.inf)
    held = {}
    if isinstance(run, SharedRun):
        held = _allocations_in(saved.part("held"), run)
    for name, array in now.items():
        array[...] = read[name]
    run.state.counter[Counter.PLAN_HOLDS] = 0  # the free nodes beside a reservation are not saved
    run.plan = run.plan._replace(dispatch=rules[0], placement=rules[1])
    if isinstance(run, SharedRun):
        _restore_allocations(run, held)
    return remembered


def _check_stacks(arrays: Saved, read: dict[str, NDArray[Any]], run: Simulation) -> None:
    """Raise UnfitError unless each node without a job, under power saving, is counted at most once."""
    if run.state.extras is None or not run.state.extras.powered.promised.size:
        return
    place = read[f"{STACKS}.place"]
    found: dict[str, Ints] = {}
    for name in ("on", "off", "booting"):
        nodes, first, end = read[f"{STACKS}.{name}_count"], *(place[:, Place[f"{name.upper()}_{k}"]] for k in EDGES)
        column = np.arange(nodes.shape[1])
        inside = (column >= first[:, None]) & (column < end[:, None])
        if first.min() < 0 or end.min() < 0 or end.max() > column.size or (nodes[inside] < 1).any():
            raise arrays.unfit(f"{STACKS}.place", "must be places of nodes")
        found[name] = np.where(inside, nodes, 0).sum(axis=1)
    awake, running = found["on"] + found["booting"], read["state.heap.job"][: read["state.counter"][Counter.RUNNING]]
    there, most = awake + found["off"], run.problem.groups.nodes - read["state.counts"][running].sum(axis=0)
    if (there < read["state.free"]).any() or (there > most).any() or (place[:, Place.ON] != awake).any():
        raise arrays.unfit(f"{STACKS}.place", "must count each node without a job at most once")
    booked = read[f"{STACKS}.pace"][..., RateState.TO_COME]
    if booked.min() < 0 or booked.max() > read[f"{STACKS}.to_boot"].shape[1]:
        raise arrays.unfit(f"{STACKS}.pace", "must count boots to come")


def _read(arrays: Saved, name: str, like: NDArray[np.generic], run: Simulation) -> NDArray[np.generic]:
    if like.dtype == np.int64:
        return arrays.ints(name, like.shape, _least(name), _most(name, run))
    return arrays.floats(name, like.shape, unknown=name in UNKNOWN)


def _least(name: str) -> int:
    """Return the least number that an integer array of the state may hold: −1, or no limit for some."""
    return int(np.iinfo(np.int64).min) if name in BELOW_NOTHING else -1


def _most(name: str, run: Simulation) -> int | Ints:
    """Return the greatest number that an integer array of the state may hold: many are indices into other arrays."""
    jobs, nodes = run.problem.submit.size, run.problem.nodes
    if name == "cap_row":
        return len(run.plan.caps) - 1
    if name == "state.counter":
        most = np.full(len(Counter), jobs)
        most[[Counter.FREE, Counter.FREE_BEFORE]] = UNCOUNTED if isinstance(run, SharedRun) else nodes
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
        extras = run.problem.extras
        return max(extras.reserved.end.size - 1, int(extras.calendar.reservation.max(initial=-1)))
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
    own: tuple[object, ...] = (run.plan.caps, run.plan.cap_row, *run.running())
    if isinstance(run, SharedRun):
        own = (*own, *parts_of_sharing(run.nodes, run.running().held))
    words = "".join((repr(replace(policy, checkpoint=None)), *policy.releases))
    return key_of(words, (*parts_of(run.problem._replace(sharing=None)), *own))


def _allocations_of(run: SharedRun) -> dict[str, Plain]:
    """Return the arrays of nodes and devices that running jobs and lost runs hold, for a checkpoint."""
    held, number = run.work.held, run.work.number
    pieces, devices = int(number[Number.PIECES]), int(number[Number.DEVICES])
    found: dict[str, Plain] = {name: getattr(held, name) for name in HELD_OF_JOBS}
    found |= {name: getattr(held, name)[:pieces] for name in OF_PIECES}
    found |= {name: getattr(held, name)[:devices] for name in OF_DEVICES}
    lost = lost_in(run.state)
    runs = 0 if lost is None else lost.runs
    return found | {f"lost_{name}": getattr(run.work.gone, name)[:runs] for name in HELD_OF_JOBS}


def _allocations_in(saved: Saved, run: SharedRun) -> dict[str, Ints]:
    """Return a file's arrays of nodes and devices, checked to be valid indices; raise UnfitError if they are not."""
    jobs, held, nodes = (run.problem.submit.size,), run.work.held, run.nodes.nodes
    most = {"node": nodes.group.size - 1, "device_node": nodes.group.size - 1, "amount": int(WHOLE)}
    most |= {"device": int(nodes.gpus.max()) - 1, "tasks": int(run.problem.tasks.max())}
    found = {name: saved.ints(name, (None,), 0, most[name]) for name in (*OF_PIECES, *OF_DEVICES)}
    for first, count, names in (("first", "pieces", OF_PIECES), ("first_device", "devices", OF_DEVICES)):
        sizes = {found[name].size for name in names}
        size = max(sizes)
        if len(sizes) > 1 or size > getattr(held, names[0]).size:
            raise saved.unfit(names[0], "must have a place for each that jobs hold")
        found |= {name: saved.ints(name, jobs, 0, size) for name in (first, count)}
        if (found[first] + found[count] > size).any():
            raise saved.unfit(count, f"and {first} point beyond the {size} entries in the file")
        _read_lost(saved, run, found, (f"lost_{first}", f"lost_{count}"), size)
    return found


def _read_lost(saved: Saved, run: SharedRun, found: dict[str, Ints], names: tuple[str, str], size: int) -> None:
    # What lost runs held, a row a run.
    first, count = (saved.ints(name, (None,), 0, size) for name in names)
    if not first.size == count.size <= run.work.gone.first.size:
        raise saved.unfit(names[1], "must have a row for each run that may be lost")
    if (first + count > size).any():
        raise saved.unfit(names[1], f"and {names[0]} point beyond the {size} entries in the file")
    found |= dict(zip(names, (first, count), strict=True))


def _restore_allocations(run: SharedRun, found: dict[str, Ints]) -> None:
    """Write the nodes and devices of jobs and lost runs into the run, after its state is restored."""
    for name, array in found.items():
        where = run.work.gone if name.startswith("lost_") else run.work.held
        getattr(where, name.removeprefix("lost_"))[: array.size] = array
    run.work.number[Number.PIECES], run.work.number[Number.DEVICES] = found["node"].size, found["device"].size
    run.take_up()
