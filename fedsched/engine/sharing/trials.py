"""Trials: a workspace in which plans are simulated on shared nodes, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.arrays.new_state import new_state
from fedsched.engine.codes import Needs, Placement, Status
from fedsched.engine.compatibility import placements_on
from fedsched.engine.loop.event_loop import begin
from fedsched.engine.loop.event_loop import run as run_loop
from fedsched.engine.pack.problem import pack as pack_engine
from fedsched.engine.pack.shape_arrays import read_only
from fedsched.engine.plans import plan_in_order
from fedsched.engine.run.simulation import lost_in, set_running
from fedsched.engine.shared_nodes import all_free
from fedsched.engine.sharing.asked import asked_of, refusals
from fedsched.engine.sharing.counting import counted_nodes
from fedsched.engine.sharing.pack import kinds_of, leaves, shared, shortest_on, that_may_lose
from fedsched.engine.sharing.room import new_work, runs_to_lose
from fedsched.model.jobs.admission import with_default_times
from fedsched.model.machine.limits import without_node_limits
from fedsched.model.power.watts import extra_joules, node_seconds, node_shares
from fedsched.model.schedule.lost import RunTable as Runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.engine.arrays.structs import Floats, Ints, Plan, Problem, RunningJobs
    from fedsched.engine.shared_nodes.arrays import Gone, Held, Sharing
    from fedsched.engine.sharing.noun import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading

LOOK = 64  # instants between two calls of `over`
ALL = int(np.iinfo(np.int64).max)


class Trials:
    """A workspace for simulations of one problem's jobs; some of them may run at t0.

    `shortest` is each job's shortest planned duration in seconds. `running` is the state of the jobs that run at t0,
    and `present` is what they hold.
    """

    def __init__(
        self,
        problem: Problem,
        sharing: Sharing,
        shortest: Floats,
        *,
        running: RunningJobs | None = None,
        present: Held | None = None,
    ) -> None:
        self._leaf = np.array(sharing.leaf)
        self.sharing = sharing._replace(leaf=read_only(self._leaf))
        self.problem = problem._replace(sharing=self.sharing)
        lost = runs_to_lose(problem, sharing)
        self.work = new_work(sharing, present, lost)
        state = new_state(problem, needs=Needs.ENDS, separate_backfill=False)
        self.state = that_may_lose(state, int(lost.sum()))._replace(work=self.work)
        self.state.shortest[:] = shortest
        self._running = running
        self._restore_running()

    def _restore_running(self) -> None:
        # A run changes the entries of running jobs; the next one needs them as they were.
        if self._running is not None:
            set_running(self.state, self.problem.running, self._running)

    def rooms(self) -> Ints:
        """Return jobs × groups: how many of the job's tasks fit on the group while all nodes are free."""
        kinds = self.sharing.kinds
        room = np.zeros((kinds.tasks.size, self.sharing.nodes.gpus.size), dtype=np.int64)
        all_free.rooms(self.sharing, self.work, room)
        return np.ascontiguousarray(np.minimum(room, kinds.tasks[:, None])[kinds.of_job])

    def without_wrong_nodes(self, rooms: Ints) -> Ints:
        """Set the rooms of jobs to 0 that get more or fewer nodes than they may have, and return the rooms."""
        plan, kind = plan_in_order(np.arange(len(rooms)), rooms), self.sharing.kinds.of_job
        able, row = rooms.sum(axis=1) >= self.sharing.kinds.tasks[kind], 0
        while self.sharing.counted.first.size and row >= 0:
            problem = self.problem._replace(arrival=read_only(np.flatnonzero(able)))
            row = all_free.first_over(problem, plan, self.state, self.sharing, self.work)
            if row >= 0:
                rooms[kind == kind[row]] = 0
                able[kind == kind[row]] = False
        return rooms

    def placements(self, limits: Ints) -> Ints:
        """Return the placement rules (numbers) under which every job fits while all nodes are free.

        `limits` (jobs × groups) are the most tasks of a job on a group.
        """
        known = placements_on("shared nodes")
        names = known if limits.shape[1] > 1 else known[:1]  # on one group all rules do the same
        plan = plan_in_order(np.arange(len(limits)), limits)
        rules = sorted(int(Placement[name.upper()]) for name in names)
        return np.array([rule for rule in rules if self._fit(plan._replace(placement=rule))], dtype=np.int64)

    def _fit(self, plan: Plan) -> bool:
        if all_free.first_unfit(self.problem, plan, self.state, self.sharing, self.work) >= 0:
            return False
        if not self.sharing.counted.first.size:
            return True
        return all_free.first_over(self.problem, plan, self.state, self.sharing, self.work) < 0

    def line_up(self, plan: Plan) -> None:
        """Give the waiting jobs of each kind the order of a plan."""
        self._leaf[:] = leaves(self.sharing.kinds.of_job, plan.order)

    def run(self, plan: Plan, over: Callable[[], bool] | None = None) -> int:
        """Simulate a plan under which each job fits; return a Status.

        It is MORE if `over` returned True before the end: then the simulation was stopped.
        """
        self.line_up(plan)
        self._restore_running()
        begin(self.problem, plan, self.state)
        status = int(Status.MORE)
        while status == Status.MORE:
            status = run_loop(self.problem, plan, self.state, ALL if over is None else LOOK, np.inf)
            if status == Status.MORE and over is not None and over():
                return status
        return status

    def taken(self, federation: Federation) -> Floats:
        """Return the node-seconds that jobs used in each group during the last simulation, lost runs included."""
        state, jobs = self.state, np.arange(self.state.start.size)
        taken = self._taken(federation, jobs, state.counts, state.start, state.finish, self.work.held)
        if (lost := lost_in(state)) is not None:
            taken = taken + self._taken(federation, lost.job, lost.counts, lost.start, lost.end, self.work.gone)
        return taken

    def drawing(self, federation: Federation) -> Runs:
        """Return the jobs with a finish in the last simulation, with their times and shares of nodes in each group."""
        state = self.state
        shares = self._shares(federation, np.arange(state.start.size), state.counts, self.work.held)
        ran = np.flatnonzero(~np.isnan(state.finish))
        return Runs(ran, state.start[ran], state.finish[ran], shares[ran])

    def joules_beyond(self, federation: Federation, watts: Floats) -> float:
        """Return the joules of the last simulation beyond those at the busy watts of the groups.

        `watts` (jobs × groups) are those of a node under each job; if it is empty, the result is 0. Lost runs count.
        """
        if watts.size == 0:
            return 0.0
        runs = self.drawing(federation)
        if (lost := lost_in(self.state)) is not None:
            also = Runs(lost.job, lost.start, lost.end, self._shares(federation, lost.job, lost.counts, self.work.gone))
            runs = runs.joined_with(also)
        return float(extra_joules(watts, federation.groups, runs, self.problem.t0).sum())

    def _taken(
        self, federation: Federation, jobs: Ints, counts: Ints, start: Floats, finish: Floats, where: Held | Gone
    ) -> Floats:
        return node_seconds(self._shares(federation, jobs, counts, where), start, finish, self.problem.t0)

    def _shares(self, federation: Federation, jobs: Ints, counts: Ints, where: Held | Gone) -> Floats:
        # `where` has the first and the number of the pieces of each run, in `work.held`.
        kinds, node = self.sharing.kinds, self.work.held.node
        shares = node_shares(federation, kinds.need[kinds.of_job[jobs], 0], counts)
        for run in np.flatnonzero(kinds.alone[kinds.of_job[jobs]]).tolist():
            nodes = node[where.first[run] : where.first[run] + where.pieces[run]]
            shares[run] = np.bincount(self.sharing.nodes.group[nodes], minlength=shares.shape[1])
        return shares


def room_when_free(workload: Workload, federation: Federation, sharing: NodeSharing, reading: Reading) -> Ints:
    """Return jobs × groups: how many of the job's tasks fit on the group while all nodes are free.

    It is 0 everywhere for a job that its partition or reservation does not admit, and for one that under placement
    `fastest` gets more or fewer nodes than its partition or a limit allows.
    """
    room = np.zeros((len(workload), len(federation.groups)), dtype=np.int64)
    workload = with_default_times(workload, federation)
    rows = np.setdiff1d(np.arange(len(workload)), list(refusals(workload, federation)))
    if rows.size:
        jobs = workload.take(rows)
        asked = asked_of(jobs, federation)
        problem = pack_engine(jobs, without_node_limits(federation), reading=reading)
        kinds = kinds_of(jobs, federation, asked, problem, home=False)
        nodes = shared(federation, asked, kinds, sharing, np.arange(rows.size), problem.extras)
        nodes = nodes._replace(counted=counted_nodes(jobs, federation))
        trials = Trials(problem, nodes, shortest_on(problem, asked))
        room[rows] = trials.without_wrong_nodes(trials.rooms())
    return room
