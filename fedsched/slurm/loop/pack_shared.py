"""From nouns to the arrays of nodes that Slurm's jobs share; what is not modelled there is refused by name [75]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.engine.arrays.read_only import ints
from fedsched.engine.compatibility import Use, refuse
from fedsched.engine.sharing.asked import asked_of, asks_in_words
from fedsched.engine.sharing.counting import node_limits
from fedsched.engine.sharing.noun import NodeSharing
from fedsched.engine.sharing.pack import kinds_alike, shared
from fedsched.engine.sharing.present import present_of
from fedsched.engine.sharing.room import new_work
from fedsched.model.jobs.demands import WHOLE
from fedsched.model.jobs.layout import layout_of
from fedsched.slurm.nodes.shared_nodes import Shared
from fedsched.slurm.passes.gpu_node_order import SPAN
from fedsched.slurm.passes.limits_of_accounts import are_enforced_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import RunningJobs
    from fedsched.engine.shared_nodes.arrays import Kinds, Sharing
    from fedsched.engine.sharing.asked import Asked
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.slurm.conf.policy import Slurm

    Ints = NDArray[np.int64]

CHOICE = NodeSharing(choice="block")


def refuse_on_shared_nodes(workload: Workload, federation: Federation, slurm: Slurm, sharing: NodeSharing) -> None:
    """Refuse what jobs, nodes or accounts have beyond what is modelled where jobs share nodes."""
    if sharing.choice != CHOICE.choice:
        raise ValueError(f"sharing={sharing.choice!r} is not how {slurm} chooses nodes; give sharing='block'.")
    uneven = bool(np.any(layout_of(workload)[1]))  # whose CPUs are those of the nodes that they are given
    given = {
        "node limits of accounts": are_enforced_of(slurm, "node"),
        "CPU limits of exclusive jobs": uneven and are_enforced_of(slurm, "cpu"),
    }
    refuse("slurm on shared nodes", Use(workload, federation, given=tuple(name for name in given if given[name])))


def opened_on(workload: Workload, federation: Federation) -> tuple[Ints, Ints]:
    """Return the distinct rows of the groups that jobs may use, 1 = may, and each job's row."""
    rows, of_job = np.unique(asked_of(workload, federation).opened, axis=0, return_inverse=True)
    return rows, of_job.reshape(-1)


def shared_of(
    workload: Workload,
    federation: Federation,
    by_node: Ints,
    weight: Ints,
    taking: NDArray[np.bool_],
    running: RunningJobs | None,
) -> Shared:
    """Return what these jobs, in their order, share, nobody being there; `by_node`: whose memory is asked of a node.

    `taking` (downtimes × nodes) says which nodes each downtime closes that takes nodes from jobs. Jobs that are
    `running` at the begin hold nodes by their numbers.
    """
    asked = asked_of(workload, federation)
    kinds = kinds_alike(workload, asked)
    _refuse_who_has_no_room(workload, federation, asked, kinds)
    sharing, of_node = shared(federation, asked, kinds, CHOICE, np.arange(len(workload))), federation.group_of_node
    sharing = sharing._replace(counted=node_limits(workload, federation))
    by_their_own = sharing.nodes._replace(group=ints(of_node), number=ints(np.arange(of_node.size)))
    sharing = sharing._replace(nodes=by_their_own)
    if running is not None and running.held is not None:
        there = running.held.of(np.arange(running.rows.size))
        counts = np.zeros((running.rows.size, len(federation.groups)), dtype=np.int64)
        np.add.at(counts, (np.repeat(np.arange(running.rows.size), there.pieces), of_node[there.node]), there.tasks)
        running = running._replace(counts=counts)
    present = present_of("simulate", running, sharing)
    work = new_work(sharing, present, lost=np.minimum(taking @ sharing.nodes.has[0, of_node], len(workload)))
    work.now.free[:] = sharing.nodes.has[:, of_node]
    devices = np.arange(work.now.left.shape[1])
    work.now.left[:] = np.where(devices < sharing.nodes.gpus[of_node][:, None], WHOLE, 0)
    completing, refused = (np.zeros(many, dtype=np.int64) for many in (federation.nodes, kinds.tasks.size))
    return Shared(sharing, work, completing, ints(by_node), refused, *_for_gpus(sharing, weight))


def _for_gpus(sharing: Sharing, weight: Ints) -> tuple[Ints, Ints, Ints]:
    """Return of how many GPUs of a node each kind's tasks are, which nodes have any, and the nodes' weights."""
    kinds, nodes, nothing = sharing.kinds, sharing.nodes, np.zeros(0, dtype=np.int64)
    if sharing.gpu < 0 or not kinds.need[:, sharing.gpu].any():
        return ints(nothing), ints(nothing), weight
    asked = kinds.need[:, sharing.gpu] * np.maximum(kinds.chunk, 1)
    some = np.flatnonzero(nodes.gpus[nodes.group] > 0)
    return ints(asked), ints(some), weight * SPAN + SPAN - 1


def _refuse_who_has_no_room(workload: Workload, federation: Federation, asked: Asked, kinds: Kinds) -> None:
    counts = np.array([group.count for group in federation.groups])
    room = (_fit_on_empty(federation, asked, kinds) * np.where(kinds.opened > 0, counts, 0)).sum(axis=1)[kinds.of_job]
    for row in np.flatnonzero(room < workload.tasks)[:1].tolist():
        raise InfeasibleError(
            f"Job {workload.id[row]}: {asks_in_words(workload, asked, row)} fit on no nodes that it may have, even on "
            "the empty machine; drop it, or use a larger machine."
        )


def _fit_on_empty(federation: Federation, asked: Asked, kinds: Kinds) -> Ints:
    """Return kind x group: how many tasks a node takes on which nobody is."""
    has = np.array([[dict(group.resources).get(name, 0) for name in asked.names] for group in federation.groups])
    need = kinds.need[:, None, :]
    each = np.where(need > 0, has[None, :, :] // np.maximum(need, 1), np.iinfo(np.int64).max)
    fit = each.min(axis=2)
    if (kinds.share > 0).any():
        gpus = np.array([dict(group.resources).get("gpu", 0) for group in federation.groups])
        parts = gpus[None, :] * (WHOLE // np.maximum(kinds.share, 1))[:, None]
        fit = np.where(kinds.share[:, None] > 0, np.minimum(fit, parts), fit)
    chunk = kinds.chunk[:, None]
    return np.asarray(np.where(chunk > 0, np.where(fit >= chunk, chunk, 0), fit))
