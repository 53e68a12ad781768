"""The part of a rolling run's file for shared nodes: the nodes and devices of each job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.run.simulation import lost_in
from fedsched.engine.sharing.arrays import WHOLE, Number

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints
    from fedsched.engine.sharing.run import SharedRun
    from fedsched.io.trees import Plain, Saved

OF_JOBS = ("first", "pieces", "first_device", "devices")
OF_PIECES, OF_DEVICES = ("node", "tasks"), ("device_node", "device", "amount")


def held_of(run: SharedRun) -> dict[str, Plain]:
    """Return the nodes and devices of running jobs, and those of lost runs."""
    held, number = run.work.held, run.work.number
    pieces, devices = int(number[Number.PIECES]), int(number[Number.DEVICES])
    found: dict[str, Plain] = {name: getattr(held, name) for name in OF_JOBS}
    found |= {name: getattr(held, name)[:pieces] for name in OF_PIECES}
    found |= {name: getattr(held, name)[:devices] for name in OF_DEVICES}
    lost = lost_in(run.state)
    runs = 0 if lost is None else lost.runs
    return found | {f"lost_{name}": getattr(run.work.gone, name)[:runs] for name in OF_JOBS}


def held_in(saved: Saved, run: SharedRun) -> dict[str, Ints]:
    """Return the nodes and devices from a file, checked to be valid indices for kernels."""
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
            raise saved.unfit(count, "must be within what jobs hold")
        _lost_in(saved, run, found, (f"lost_{first}", f"lost_{count}"), size)
    return found


def _lost_in(saved: Saved, run: SharedRun, found: dict[str, Ints], names: tuple[str, str], size: int) -> None:
    # What lost runs held, a row a run.
    first, count = (saved.ints(name, (None,), 0, size) for name in names)
    if not first.size == count.size <= run.work.gone.first.size:
        raise saved.unfit(names[1], "must have a row for each run that may be lost")
    if (first + count > size).any():
        raise saved.unfit(names[1], "must be within what jobs hold")
    found |= dict(zip(names, (first, count), strict=True))


def restore_held(run: SharedRun, found: dict[str, Ints]) -> None:
    """Set the nodes and devices of a run's jobs, after its state is set."""
    for name, array in found.items():
        where = run.work.gone if name.startswith("lost_") else run.work.held
        getattr(where, name.removeprefix("lost_"))[: array.size] = array
    run.work.number[Number.PIECES], run.work.number[Number.DEVICES] = found["node"].size, found["device"].size
    run.take_up()


def what_is_shared(run: SharedRun) -> tuple[object, ...]:
    """Return what distinguishes runs on shared nodes, besides their problems."""
    one = run.nodes
    return (*one.nodes, *one.kinds, *one.counted, np.array([one.gpu, one.choice, one.reservation]))
