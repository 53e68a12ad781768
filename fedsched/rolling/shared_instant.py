"""What is known at one instant of a run on nodes that jobs share, as a search problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.codes import Placement
from fedsched.engine.plans import plan_in_order
from fedsched.rolling.instant import Instant
from fedsched.search.shared import SharedRows
from fedsched.sharing.arrays import Held
from fedsched.sharing.asked import PLACEMENT
from fedsched.sharing.pack import part_of
from fedsched.sharing.trials import Trials

if TYPE_CHECKING:
    from fedsched.engine.arrays import Ints
    from fedsched.rolling.instant import Workspaces
    from fedsched.search.objectives import Objectives
    from fedsched.sharing.run import SharedRun


class SharedInstant(SharedRows, Instant):
    """A run on shared nodes as its planner sees it: who runs holds its nodes until its estimate is over."""

    def __init__(
        self, run: SharedRun, waiting: Ints, objectives: Objectives, *, placements: Ints, spaces: Workspaces
    ) -> None:
        Instant.__init__(self, run, waiting, objectives, placements=placements, spaces=spaces)
        self.federation = run.federation
        jobs, held = self.jobs, run.work.held
        present = Held(
            first=held.first[jobs],
            pieces=held.pieces[jobs],
            node=held.node,
            tasks=held.tasks,
            first_device=held.first_device[jobs],
            devices=held.devices[jobs],
            device_node=held.device_node,
            device=held.device,
            amount=held.amount,
        )
        running = self.space.common.running
        self.share(part_of(run.nodes, jobs), run.state.shortest[jobs], running=running, present=present)


def placements_on_shared(run: SharedRun) -> Ints:
    """Return the placement rules under which every job of a run fits somewhere while all nodes are free."""
    if run.problem.groups.nodes.size == 1:
        return np.array([Placement.FASTEST], dtype=np.int64)
    jobs = np.arange(run.problem.submit.size)
    empty = Trials(run.problem, run.nodes, run.state.shortest)
    plan = plan_in_order(jobs, run.limits(jobs))
    rules = sorted(int(Placement[name.upper()]) for name in PLACEMENT)
    return np.array([rule for rule in rules if empty.fit(plan._replace(placement=rule))], dtype=np.int64)
