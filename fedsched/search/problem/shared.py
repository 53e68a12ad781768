"""SharedProblem: a package of jobs on shared nodes, as searches see it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.bounds.lower.shared_nodes import SharedBounds, shared_bounds
from fedsched.core.errors import InfeasibleError
from fedsched.core.values import whole
from fedsched.engine.codes import Placement, Status
from fedsched.engine.compatibility import refused
from fedsched.engine.numbers import Counter
from fedsched.engine.pack.foresight import jobs_as_known, known_problem
from fedsched.engine.pack.problem import pack as pack_engine
from fedsched.engine.plans import plan_in_order
from fedsched.engine.run.evaluate import unpack_row
from fedsched.engine.sharing.asked import asked_of, refuse_unsupported
from fedsched.engine.sharing.counting import are_counted, counted_nodes
from fedsched.engine.sharing.naming import with_names
from fedsched.engine.sharing.pack import closures_by_group, freeze, kinds_apart, kinds_of, shared, shortest_on
from fedsched.engine.sharing.run import NOTHING_SATURATES, schedule_of, scheduled
from fedsched.engine.sharing.trials import Trials
from fedsched.model.foresight import with_forecasts
from fedsched.model.jobs.shaping import with_chosen_shapes
from fedsched.model.machine.limits import without_node_limits
from fedsched.model.power.watts import shared_node_measures
from fedsched.model.reading import CLAIRVOYANT, Reading
from fedsched.model.schedule.metrics import Column, metrics_of
from fedsched.model.time.downtimes import kills
from fedsched.policies import Rules, policy_named
from fedsched.search.problem.objectives import pricing_for
from fedsched.search.problem.packed import PLAN_DISPATCH, PackedProblem
from fedsched.search.problem.problem import SearchProblem, as_package
from fedsched.search.run.interruptible_evaluation import wasted_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.core.names import Submits
    from fedsched.engine.arrays.structs import Floats, Ints, Plan, Problem, State
    from fedsched.engine.shared_nodes.arrays import Sharing
    from fedsched.engine.sharing import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.lost import RunTable
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.policies import Policy
    from fedsched.search.methods.methods import MethodInfo
    from fedsched.search.problem.objectives import Objectives
    from fedsched.simulate import RunningJobs

BASELINES = (
    "fcfs", "easy", "easy-sjbf", "greedy", "sjf-greedy", "saf-easy", "laf-greedy", "ljf-greedy", "wfp3-easy",
)  # fmt: skip

NOT_MEASURED = tuple(name for name, value in NOTHING_SATURATES._asdict().items() if np.isnan(value))


class SharedRows(PackedProblem):
    """The evaluation of plans on shared nodes: caps count tasks, and each plan is one run of the event loop.

    A job with a fixed number of tasks per node may use a whole group or none of it. A cap on part of a group has no
    effect on such a job.
    """

    whole_nodes = False
    federation: Federation
    _says_who_shares = False

    def set_sharing(self, sharing: Sharing, shortest: Floats, **present: Any) -> None:
        """Set how nodes are shared, and the penalties for jobs without an end; drop earlier workspaces.

        `shortest` has each job's least planned run time; `present` describes the running jobs, as in `Trials`.
        """
        self._shared, self._shortest, self._present = sharing, shortest, present
        self._trials: list[Trials] = []
        kinds = sharing.kinds
        self._in_chunks = kinds.chunk[kinds.of_job][: self.layout.jobs] > 0
        # Jobs under limits or partitions that count their nodes have no caps: these might keep them from ever starting.
        self._uncapped = are_counted(sharing.counted, self.layout.jobs)
        self.space = self.space._replace(nodes=np.maximum(self.space.limits.max(axis=0), 1))
        self._seats, self._says_who_shares = [], True
        self.rank_by_ends()

    def rank_by_ends(self) -> None:
        """Set the penalty for jobs without an end; do nothing before `set_sharing` is called."""
        if self._says_who_shares:
            super().rank_by_ends()

    def ends(self, thread: int = 0) -> Floats:
        """Return each job's end in the plan that a thread has simulated last; NaN if the job has none."""
        return self.trials(thread).state.finish

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_trials": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        freeze(self._shared)

    def trials(self, thread: int = 0) -> Trials:
        """Return a thread's workspace for runs on shared nodes, made at its first use."""
        while len(self._trials) <= thread:
            self._trials.append(Trials(self.problem, self._shared, self._shortest, **self._present))
        return self._trials[thread]

    def plan(self, row: Ints) -> Plan:
        """Return the Plan that the event loop runs for a row.

        Caps on part of a group are lifted for jobs with a fixed number of tasks per node; jobs under node
        limits get no caps.
        """
        order, caps, dispatch, placement = unpack_row(self.layout, row)
        limits = self.space.limits
        caps = np.where(self._in_chunks[:, None] & (caps > 0) & (caps < limits), limits, caps)
        if self._uncapped.size:
            caps = np.where(self._uncapped[:, None], limits, caps)
        return plan_in_order(order, caps, dispatch=dispatch, placement=placement)

    def _measure(self, thread: int, rows: Ints, metrics: Floats, begin: int, end: int) -> None:
        for k in range(begin, end):
            self._measure_unless(thread, k, rows[k], metrics[k], None)
            metrics[k] = self.ranked(metrics[k], self.ends(thread))

    def _measure_unless(
        self, thread: int, plan: int, row: Ints, metrics: Floats, over: Callable[[], bool] | None
    ) -> bool:
        trials = self.trials(thread)
        status = trials.run(self.plan(row), over)
        state = trials.state
        if status == Status.STUCK and self._ends_so(state):
            status = Status.DONE
        if status == Status.STUCK:
            raise self._stuck(plan)
        if status == Status.DONE:
            measured, t0 = self.space.common.measured, self.problem.t0
            found = metrics_of(
                measured,
                t0,
                state.start,
                state.finish,
                state.counts,
                wasted=wasted_in(state),
                integrals=NOTHING_SATURATES,
            )
            metrics[:] = tuple(found.as_dict().values())
            more = trials.joules_beyond(self.federation, self.problem.watts)
            taken = shared_node_measures(self.federation, trials.taken(self.federation), found.makespan, more)
            for name, value in taken.items():
                metrics[Column[name.upper()]] = value
        return status == Status.DONE

    def _last_state(self, thread: int) -> State:
        return self.trials(thread).state

    def _drawing(self, thread: int) -> tuple[RunTable, Floats]:
        return self.trials(thread).drawing(self.federation), self.problem.watts

    def _ends_so(self, state: State) -> bool:
        # A stuck run is complete if jobs may have no end, and none runs.
        return self.may_miss and state.counter[Counter.RUNNING] == 0


class SharedProblem(SharedRows, SearchProblem):
    """A package of jobs on shared nodes, as searches plan it, and the schedules of plans.

    Parameters
    ----------
    sharing
        How nodes are shared.
    workload, federation, objectives, submits, reading, t0, threads
        As in `SearchProblem`.
    """

    def __init__(
        self,
        workload: Workload,
        federation: Federation,
        objectives: Objectives,
        *,
        sharing: NodeSharing,
        submits: Submits = "now",
        reading: Reading = CLAIRVOYANT,
        t0: float | None = None,
        threads: int = 1,
    ) -> None:
        for name in objectives.names:
            if name in NOT_MEASURED and name not in objectives.functions:
                raise InfeasibleError(
                    f"optimize: objective {name!r} is not measured on nodes that jobs share; choose another metric."
                )
        if workload.feedback is not None:
            raise refused("plans on shared nodes", "feedback")
        federation = with_names(federation)
        self.reading = reading.settled("optimize", whole_instants=True)
        workload, t0 = as_package(workload, federation, submits, t0, None)
        threads = whole("optimize", "threads", threads, least=1)
        workload = with_chosen_shapes(workload, federation, self.reading)
        refuse_unsupported(workload, federation, Rules(dispatch="greedy"), self.reading)
        self.workload = workload
        self.federation = with_forecasts(federation) if objectives.priced else federation
        self.sharing, self.submits = sharing, submits
        self.running, self._which, self._truth = None, None, None
        machine = without_node_limits(federation)
        true = pack_engine(workload, machine, reading=self.reading, t0=t0)
        self._jobs = jobs_as_known(workload, true.t0)
        known = true if self._jobs is workload else pack_engine(self._jobs, machine, reading=self.reading, t0=t0)
        problem = known_problem(known, true.t0)
        asked, first_come = asked_of(workload, federation), np.arange(len(workload))
        one_group = len(federation.groups) == 1
        kinds = kinds_apart(workload, asked)
        if one_group:
            kinds = kinds_of(workload, federation, asked, problem, home=False)
        shortest = shortest_on(problem, asked)
        nodes = shared(federation, asked, kinds, sharing, first_come, problem.extras)
        nodes = nodes._replace(counted=counted_nodes(workload, federation))
        empty = Trials(problem, nodes, shortest)
        limits = empty.rooms()
        placements = empty.placements(limits)
        if not placements.size:
            # No rule places all jobs: let the simulation name the job and the reason.
            scheduled(workload, federation, Rules(dispatch="greedy"), sharing, self.reading, t0=problem.t0)
            raise InfeasibleError(f"Workload {workload.name!r}: no placement rule places all of its jobs.")
        PackedProblem.__init__(
            self,
            problem,
            limits=limits,
            placements=placements,
            dispatches=PLAN_DISPATCH,
            objectives=objectives,
            ids=workload.id,
            running=None,
            threads=threads,
            pricing=pricing_for(objectives, self.federation),
        )
        self.set_sharing(nodes, shortest)
        all_known = problem is true and self.federation is federation
        self._truth = None if all_known else self._as_it_is(true, federation)
        self._refuse_to_price_what_may_not_end()

    def _as_it_is(self, true: Problem, federation: Federation) -> SharedProblem:
        other = copy(self)
        other.problem, other._jobs, other._states = true, self.workload, []
        other.federation, other.pricing = federation, pricing_for(self.objectives, federation)
        closures = closures_by_group(true.extras, len(self.federation.groups))
        other.set_sharing(self._shared._replace(closures=closures), self._shortest)
        return other

    def bounds(self) -> SharedBounds | None:
        """Return lower bounds on all schedules; None if some job may never start, have no end, or be killed."""
        some_never_start = self._able.size < self.layout.jobs
        if some_never_start or self.may_miss or kills(self.federation, self.problem.t0):
            return None
        return shared_bounds(self.problem, self._shared, self.federation)

    def schedule(self, row: Ints, *, policy: str = "plan") -> Schedule:
        """Return the schedule of a plan, with each task's node; raise InfeasibleError if a job can never start."""
        plan, trials = self.plan(row), Trials(self.problem, self._shared, self._shortest)
        if trials.run(plan) == Status.STUCK and not self._ends_so(trials.state):
            raise self._stuck(0)
        return schedule_of(
            self._jobs,
            self.federation,
            self.sharing,
            self.reading,
            self.problem,
            trials.state,
            policy=f"{policy} on {Placement(plan.placement).name.lower()}",
        )

    def simulated(
        self,
        policy: str | Policy,
        caps: Ints | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Schedule:
        """Return a policy's schedule of the package, made with the same knowledge as plans.

        Raise if caps are given or the policy is more than a set of rules.
        """
        chosen = policy_named(policy)
        if caps is not None or not isinstance(chosen, Rules):
            raise refused("shared nodes", "policies that bind", str(chosen))
        return scheduled(
            self._jobs,
            self.federation,
            chosen,
            self.sharing,
            self.reading,
            t0=self.problem.t0,
            as_known=self._truth is not None,
            progress=progress,
        )


def refuse_to_share(info: MethodInfo) -> None:
    """Raise ValueError if the method cannot plan on shared nodes."""
    if not info.shares_nodes:
        raise ValueError(
            f"Method {info.title} plans whole nodes only; on nodes that jobs share (sharing=) take moga, ga or "
            "another one that simulates each plan."
        )


def problem_for(
    workload: Workload,
    federation: Federation,
    objectives: Objectives,
    *,
    sharing: NodeSharing | None,
    running: RunningJobs | None = None,
    delays: bool = False,
    deadline: float | None = None,
    **how: Any,
) -> SearchProblem:
    """Return a SearchProblem on whole nodes, or with `sharing` a SharedProblem on shared nodes.

    Raise ValueError if `running`, `delays` or `deadline` is given with `sharing`.
    """
    if sharing is None:
        return SearchProblem(workload, federation, objectives, running=running, delays=delays, deadline=deadline, **how)
    if running is not None or delays or deadline is not None:
        raise ValueError("problem_for: sharing= goes with none of running=, delays= and deadline=; leave them out.")
    return SharedProblem(workload, federation, objectives, sharing=sharing, **how)
