"""Off spans: when which nodes of a schedule shut down, are off and boot [66]."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.model.schedule.lost import held
from fedsched.model.schedule.switched import spans_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.schedule.node_numbers import NodeRuns
    from fedsched.model.schedule.schedule import Schedule


class OffSpans(NamedTuple):
    """Nodes that are not on, as columns: from the begin of their shutdown until they are on again."""

    start: NDArray[np.float64]
    finish: NDArray[np.float64]  # infinite if they stay off
    counts: NDArray[np.int64]  # span × group
    down: NDArray[np.float64]  # when the shutdown is over
    boots: NDArray[np.float64]  # when the boot begins


class Bands(NamedTuple):
    """Runs of neighbouring nodes in one state other than on, one per row."""

    start: NDArray[np.float64]
    finish: NDArray[np.float64]  # at most the last job's finish
    first: NDArray[np.int64]
    last: NDArray[np.int64]  # included
    changes: NDArray[np.bool_]  # True: shuts down or boots; False: is off

    def only(self, which: NDArray[np.bool_]) -> Bands:
        """Return the bands selected by a mask."""
        return Bands(self.start[which], self.finish[which], self.first[which], self.last[which], self.changes[which])


def off_spans(schedule: Schedule) -> OffSpans:
    """Return when how many nodes are not on; empty without power saving."""
    groups = schedule.federation.groups
    found = spans_of(schedule.federation, held(schedule), schedule.promises, schedule.t0)
    seconds = np.array([(group.shutdown_seconds, group.boot_seconds) for group in groups])[found.group]
    counts = np.zeros((found.group.size, len(groups)), dtype=np.int64)
    counts[np.arange(found.group.size), found.group] = found.nodes
    return OffSpans(found.off_at, found.boot_at + seconds[:, 1], counts, found.off_at + seconds[:, 0], found.boot_at)


def bands(spans: OffSpans, runs: NodeRuns, last: float) -> Bands:
    """Return the states of these runs of nodes over time, until the last job ends."""
    of_run = [np.repeat(times, runs.pieces) for times in (spans.start, spans.down, spans.boots, spans.finish)]
    start, finish = (np.minimum(np.concatenate(times), last) for times in (of_run[:3], of_run[1:]))
    changes = np.repeat([True, False, True], runs.first.size)
    there = finish > start
    return Bands(start, finish, np.tile(runs.first, 3), np.tile(runs.last, 3), changes).only(there)
