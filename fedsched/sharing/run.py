"""A workload through the event loop of shared nodes, from nouns to a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.codes import Status
from fedsched.engine.numbers import Counter
from fedsched.engine.simulation import without_end
from fedsched.errors import InfeasibleError
from fedsched.model.integrals import NOT_KNOWN
from fedsched.model.layout import layout_of
from fedsched.model.node_use import NodeUse
from fedsched.sharing import loop
from fedsched.sharing.arrays import Number
from fedsched.sharing.asked import asks_in_words
from fedsched.sharing.pack import pack
from fedsched.sharing.result import Played, SharedSchedule
from fedsched.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.engine.arrays import Problem, State
    from fedsched.model.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.model.workload import Workload
    from fedsched.policies import Rules
    from fedsched.sharing.arrays import Work
    from fedsched.sharing.noun import NodeSharing
    from fedsched.sharing.pack import Packed

SLICE = 2_000  # instants between two looks at Ctrl-C and progress
NOTHING_SATURATES = NOT_KNOWN._replace(saturated_seconds=0.0)


def scheduled(
    workload: Workload,
    federation: Federation,
    rules: Rules,
    sharing: NodeSharing,
    reading: Reading,
    *,
    t0: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SharedSchedule:
    """Return what comes of these rules on shared nodes, or of what there was until Ctrl-C."""
    packed = pack(workload, federation, rules, sharing, reading, t0)
    row = loop.begin(packed.problem, packed.plan, packed.state, packed.sharing, packed.work)
    if row >= 0:
        raise InfeasibleError(
            f"Job {workload.id[row]}: {asks_in_words(workload, packed.asked, row)} fit on no nodes that placement "
            f"{rules.placement!r} may take, even on the empty machine; drop it, or give it more, or larger, nodes."
        )
    interrupted = not _to_the_end(packed, workload, progress)
    problem, state, work = packed.problem, packed.state, packed.work
    return schedule_of(
        workload, federation, sharing, reading, problem, state, work, policy=str(rules), interrupted=interrupted
    )


def _to_the_end(packed: Packed, workload: Workload, progress: Callable[[int, int], None] | None) -> bool:
    problem, plan, state = packed.problem, packed.plan, packed.state
    try:
        while True:
            status = loop.run(problem, plan, state, packed.sharing, packed.work, SLICE, np.inf)
            if progress is not None:
                progress(int(state.counter[Counter.FINISHED]), problem.arrival.size)
            if status == Status.DONE:
                return True
            if status == Status.STUCK:
                row = int(state.heap.job[0])
                raise InfeasibleError(f"Job {workload.id[row]}: {without_end(problem, row)}")
    except KeyboardInterrupt:
        return False


def schedule_of(
    workload: Workload,
    federation: Federation,
    sharing: NodeSharing,
    reading: Reading,
    problem: Problem,
    state: State,
    work: Work,
    *,
    policy: str,
    interrupted: bool = False,
) -> SharedSchedule:
    """Return what a run has started, and when it ended."""
    now, notes, finish = float(state.clock[0]), [], np.array(state.finish)
    if interrupted:
        finish = np.where(finish <= now, finish, np.nan)
        done = int(state.counter[Counter.FINISHED])
        notes.append(f"interrupted at {now:g} s: {done} of {counted(len(workload), 'job')} finished")
    return SharedSchedule(
        workload=workload,
        federation=federation,
        start=np.array(state.start),
        finish=finish,
        counts=np.array(state.counts),
        t0=problem.t0,
        reading=reading,
        policy=f"{policy}, {sharing}",
        integrals=NOTHING_SATURATES,
        notes=tuple(notes),
        until=now if interrupted else np.inf,
        played=Played(sharing, _use(workload, federation, state, finish, work)),
    )


def _use(workload: Workload, federation: Federation, state: State, finish: np.ndarray, work: Work) -> NodeUse:
    held, number = work.held, work.number
    pieces, devices = int(number[Number.PIECES]), int(number[Number.DEVICES])
    begun = np.flatnonzero(~np.isnan(state.start))
    by_start = begun[np.argsort(held.first[begun], kind="stable")]
    job = np.repeat(by_start, held.pieces[by_start])
    by_device = begun[np.argsort(held.first_device[begun], kind="stable")]
    of_device = np.repeat(by_device, held.devices[by_device])
    numbers = federation.node_order  # nodes are played group by group
    node, device_node = held.node[:pieces], held.device_node[:devices]
    if numbers is not None:
        node, device_node = numbers[node], numbers[device_node]
    order = np.lexsort((node, job))
    grants = np.stack([of_device, device_node, held.device[:devices], held.amount[:devices]], axis=1)
    return NodeUse(
        workload=workload,
        federation=federation,
        start=state.start,
        finish=finish,
        alone=layout_of(workload)[1],
        job=job[order],
        node=node[order],
        tasks=held.tasks[:pieces][order],
        devices=grants[np.lexsort((grants[:, 2], grants[:, 1], grants[:, 0]))],
    )
