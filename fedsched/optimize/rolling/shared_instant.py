"""What is known at one instant of a run on nodes that jobs share, as a search problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.engine.sharing.arrays import Held
from fedsched.engine.sharing.pack import part_of
from fedsched.optimize.rolling.instant import Instant
from fedsched.search.problem.shared import SharedRows

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints
    from fedsched.engine.sharing.run import SharedRun
    from fedsched.optimize.rolling.instant import Workspaces
    from fedsched.search.problem.objectives import Objectives


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
        sharing = part_of(run.nodes, jobs, self.problem.extras)
        self.share(sharing, run.state.shortest[jobs], running=running, present=present)
