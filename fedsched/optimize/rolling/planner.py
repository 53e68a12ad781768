"""The planner of one rolling run: it decides when to plan anew, searches for a plan, and gives it to the run."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.random import begin_stream
from fedsched.engine.codes import Dispatch, Placement
from fedsched.engine.numbers import Counter
from fedsched.engine.pack.limit_classes import by_their_nodes
from fedsched.engine.run.evaluate import unpack_row
from fedsched.engine.shared_nodes.arrays import Held
from fedsched.engine.sharing.counting import are_counted
from fedsched.engine.sharing.pack import part_of
from fedsched.engine.sharing.run import SharedRun
from fedsched.model.power.switching import is_switching
from fedsched.optimize.rolling.checkpoint import RunFile
from fedsched.optimize.rolling.instant import Instant, Workspaces, incumbents, placements_for_all
from fedsched.search.methods.methods import method_named
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.shared import SharedRows
from fedsched.search.run.run import INTERRUPTED, Run, drive
from fedsched.search.run.stopping import MaxEvaluations

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints
    from fedsched.engine.run.simulation import Simulation
    from fedsched.optimize.rolling.policy import Rolling
    from fedsched.search.methods.methods import MethodInfo

ALL_PLANS = 6  # the most waiting jobs of which all orders may be tried
ENOUGH = 200  # evaluations per waiting job: more find almost nothing in a short queue


class SharedInstant(SharedRows, Instant):
    """The search problem of a run on shared nodes at one instant, as its planner sees it.

    Running jobs hold their nodes until their estimates end.
    """

    def __init__(
        self, run: SharedRun, waiting: Ints, objectives: Objectives, *, placements: Ints, spaces: Workspaces
    ) -> None:
        Instant.__init__(self, run, waiting, objectives, placements=placements, spaces=spaces)
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
        self.set_sharing(sharing, run.state.shortest[jobs], running=running, present=present)


class RollingPlanner:
    """The planner of one run: it plans anew whenever its policy says so, and counts plans and evaluations."""

    def __init__(self, policy: Rolling, run: Simulation) -> None:
        self.policy = policy
        self.replans = 0  # searches so far
        self.evaluations = 0
        self._shared = run if isinstance(run, SharedRun) else None
        self._info = method_named(policy.method)
        if self._shared is not None:
            self._info = refuse_on_shared(policy)
        self._objectives = Objectives.of(policy.objective)
        self._due = -np.inf  # no new plan before this time
        self._joined = 0  # number of jobs that have joined the queue at their places
        self._spaces = Workspaces()
        # A plan for this instant alone may keep strictly to its order; a lasting one must let jobs pass others.
        self._own_dispatch = Dispatch.EASY if policy.seconds > 0.0 else Dispatch.STRICT
        self._one_group = run.problem.groups.nodes.size == 1
        # Jobs with limits on their nodes: caps that make these more might block such jobs for ever.
        self._uncapped = np.zeros(0, dtype=np.bool_)
        if run.problem.extras is not None:
            self._uncapped = by_their_nodes(run.problem.extras.limits)
        if self._shared is not None:
            self._uncapped = are_counted(self._shared.nodes.counted, run.problem.submit.size)
        run.consult(self, jobs=min(policy.window, run.problem.submit.size))
        if policy.placement is not None:
            self._placements = np.array([Placement[policy.placement.upper()]], dtype=np.int64)
        elif self._shared is not None:
            self._placements = self._shared.placements()
        else:
            self._placements = placements_for_all(run)
        self._file = RunFile(policy, run)
        memory = self._file.resume(run)
        if memory is None:
            self._file.save(run, self._memory())  # fail early if the path cannot be written
        else:
            self.replans, self.evaluations = int(memory["replans"]), int(memory["evaluations"])
            self._due, self._joined = memory["due"], int(memory["joined"])

    def _memory(self) -> dict[str, float]:
        return {"replans": self.replans, "evaluations": self.evaluations, "due": self._due, "joined": self._joined}

    def replan(self, run: Simulation) -> None:
        """Search for a new plan and let the run follow it, if one is due and jobs wait.

        Nothing is planned if all waiting jobs start under any plan. The checkpoint is saved every ten seconds,
        and at Ctrl-C.
        """
        before = self._memory()
        self._file.save_sometimes(run, before)
        if run.actual.feedback is not None:
            self._let_join(run)
        if run.time < self._due:
            return
        queued = run.queued()
        if not queued.size:
            return  # all waiting jobs are in a reservation's queue
        all_fit = self._shared is None and run.problem.tasks[queued].sum() <= run.state.counter[Counter.FREE]
        if self._one_group and all_fit and not run.federation.calendar and not is_switching(run.federation.power):
            return  # all of them start under any plan
        planned, behind = queued[: self.policy.window], queued[self.policy.window :]
        try:
            instant = self._instant(run, planned)
            row = self._best(instant, self._plan_at_hand(run, instant, planned))
            order, caps, dispatch, placement = unpack_row(instant.layout, row)
            if self._uncapped.size:
                caps = np.where(self._uncapped[planned, None], instant.space.limits, caps)
        except KeyboardInterrupt:
            self._file.save(run, before)
            raise
        run.follow(planned[order], caps[order], behind, dispatch=dispatch, placement=placement)
        self._due = run.time + self.policy.seconds

    def _instant(self, run: Simulation, planned: Ints) -> Instant:
        how: dict[str, Any] = {"placements": self._placements, "spaces": self._spaces}
        if self._shared is not None:
            return SharedInstant(self._shared, planned, self._objectives, **how)
        return Instant(run, planned, self._objectives, **how)

    def _let_join(self, run: Simulation) -> None:
        """Put the jobs that have joined the queue since the last call behind the earlier ones [45].

        Places in the queue follow recorded submits. If submits move, a job that comes late may have an early
        place.
        """
        queued, joined = run.queued(), run.joined()
        came = np.isin(queued, joined[self._joined :])
        self._joined = joined.size
        if came.any() and not came.all():
            run.line_up(np.concatenate([run.in_queue_order(queued[~came]), queued[came]]))

    def _plan_at_hand(self, run: Simulation, instant: Instant, planned: Ints) -> Ints:
        """Return, as a row, the plan that the run would follow without a new one: the last one, new jobs at the end."""
        order = np.argsort(run.state.queue.position[planned], kind="stable")
        caps = np.minimum(run.plan.caps[run.plan.cap_row[planned]], instant.space.limits)
        rules = np.array([[run.plan.dispatch, run.plan.placement]])
        return instant.repaired(instant.layout.pack(order[None], caps[None], rules))[0]

    def _best(self, instant: Instant, at_hand: Ints) -> Ints:
        count = instant.layout.jobs
        if self._one_group and count <= ALL_PLANS and _orders(count) <= self.policy.evaluations:
            rows = _all_plans(instant, self._own_dispatch)
            best = int(np.argmin(instant.values(rows)[:, 0]))
            self.replans += 1
            self.evaluations += len(rows)
            return rows[best]
        seeds = np.concatenate([at_hand[None], incumbents(instant, self._spaces, by_starts=self._own_dispatch)])
        strict = (int(Dispatch.STRICT), instant.default_rules()[1])
        # Under strict dispatch a job that fits nowhere on the open nodes would block all others.
        first_come = instant.row(np.arange(count), rules=None if instant.may_miss else strict)
        reference = instant.values(first_come[None])[0]
        search = Run(
            problem=instant,
            seed=self._seed(),
            stop=(MaxEvaluations(min(self.policy.evaluations, ENOUGH * count)),),
            reference=np.where(reference == 0.0, 1.0, reference),
            seeds=seeds,
            bounds=np.zeros(1),
        )
        if drive(search, self._info.make(search)) == INTERRUPTED:
            raise KeyboardInterrupt
        self.replans += 1
        self.evaluations += search.evaluations
        return search.archive.rows()[0]

    def _seed(self) -> int:
        # This search's seed, from the run's seed and the number of plans so far.
        stream = np.zeros(1, dtype=np.uint64)
        begin_stream(stream, self.policy.seed, self.replans, 0)
        return int(stream[0]) >> 2


def refuse_on_shared(policy: Rolling) -> MethodInfo:
    """Return the policy's search method; raise ValueError if it cannot plan on shared nodes."""
    info = method_named(policy.method)
    if not info.shares_nodes:
        raise ValueError(
            f"Rolling: method={policy.method!r} plans whole nodes; if jobs share nodes, use 'ga' or 'moga' "
            "(fedsched: --method ga)."
        )
    return info


def _orders(count: int) -> int:
    return int(np.prod(np.arange(1, count + 1)))


def _all_plans(instant: Instant, dispatch: Dispatch) -> Ints:
    """Return rows with all orders of the waiting jobs under one dispatch rule and the first placement rule.

    On equal nodes one of them under strict dispatch is the best of all schedules.
    """
    orders = np.array(list(permutations(range(instant.layout.jobs))), dtype=np.int64)
    caps = np.broadcast_to(instant.space.limits, (len(orders), *instant.space.limits.shape))
    rules = np.tile(np.array([[dispatch, instant.space.placements[0]]], dtype=np.int64), (len(orders), 1))
    return instant.layout.pack(orders, caps, rules)
