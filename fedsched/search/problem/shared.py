"""SharedProblem: a package of jobs on shared nodes, as searches see it."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.bounds.lower.shared_nodes import SharedBounds, shared_bounds
from fedsched.core.errors import InfeasibleError
from fedsched.core.values import whole
from fedsched.engine.codes import Placement, Status
from fedsched.engine.numbers import Counter
from fedsched.engine.plans import plan_in_order
from fedsched.engine.run.evaluate import unpack_row
from fedsched.engine.sharing.asked import asked_of, refuse_unsupported
from fedsched.engine.sharing.counting import are_counted, counted_nodes
from fedsched.engine.sharing.naming import with_names
from fedsched.engine.sharing.pack import (
    Packed,
    closures_by_group,
    freeze,
    kinds_apart,
    kinds_of,
    parts_of_sharing,
    shared,
    shortest_on,
    with_watts_per_core,
)
from fedsched.engine.sharing.present import present_of
from fedsched.engine.sharing.run import SharedRun, integrals_of, prepared
from fedsched.engine.sharing.trials import Trials
from fedsched.model.constraints.slack import with_delays
from fedsched.model.foresight import with_forecasts
from fedsched.model.jobs.shaping import with_chosen_shapes
from fedsched.model.machine.limits import without_node_limits
from fedsched.model.power.watts import shared_node_measures
from fedsched.model.reading import CLAIRVOYANT, Reading
from fedsched.model.schedule.integrals import Integrals
from fedsched.model.schedule.metrics import Column, metrics_of
from fedsched.model.time.downtimes import kills
from fedsched.policies import Rules, policy_named
from fedsched.search.encoding.delays import delays_on, with_writable_begins
from fedsched.search.problem.deadline import latest_makespan
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
    from fedsched.policies import Policy
    from fedsched.search.encoding.delays import Delays
    from fedsched.search.methods.methods import MethodInfo
    from fedsched.search.problem.objectives import Objectives
    from fedsched.simulate import RunningJobs

BASELINES = (
    "fcfs", "easy", "easy-sjbf", "greedy", "sjf-greedy", "saf-easy", "laf-greedy", "ljf-greedy", "wfp3-easy",
)  # fmt: skip

NOT_MEASURED = tuple(name for name in Integrals._fields if name != "saturated_seconds")


class SharedRows(PackedProblem):
    """The evaluation of plans on shared nodes: caps count tasks, and each plan is one run of the event loop.

    A job with a fixed number of tasks per node may use a whole group or none of it. A cap on part of a group has no
    effect on such a job.
    """

    whole_nodes = False
    federation: Federation
    _knows_sharing = False

    def set_sharing(self, sharing: Sharing, shortest: Floats, **present: Any) -> None:
        """Set how nodes are shared, and the penalties for jobs without an end; drop earlier workspaces.

        `shortest` has each job's least planned run time; `present` describes the running jobs, as in `Trials`.
        """
        self._shared, self._shortest, self._present = sharing, shortest, present
        self._trials: list[Trials] = []
        self._states, self._seats = [], []
        kinds = sharing.kinds
        self._in_chunks = kinds.chunk[kinds.of_job][: self.layout.jobs] > 0
        # Jobs under limits or partitions that count their nodes have no caps: these might keep them from ever starting.
        self._uncapped = are_counted(sharing.counted, self.layout.jobs)
        self.space = self.space._replace(nodes=np.maximum(self.space.limits.max(axis=0), 1))
        self._knows_sharing = True
        self.rank_by_ends()

    def rank_by_ends(self) -> None:
        """Set the penalty for jobs without an end; do nothing before `set_sharing` is called."""
        if self._knows_sharing:
            super().rank_by_ends()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_trials": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        freeze(self._shared)

    @property
    def states(self) -> list[State]:
        """Return the states of the threads' workspaces, as kernels for counted nodes take them."""
        if not self._states:
            self._trials = [
                Trials(self.problem, self._shared, self._shortest, **self._present) for _ in range(self.threads)
            ]
            self._states = [one.state._replace(work=None) for one in self._trials]
        return self._states

    @property
    def key_parts(self) -> tuple[object, ...]:
        """Return also how nodes are shared, and what running jobs hold."""
        return (*super().key_parts, *parts_of_sharing(self._shared, self._present.get("present")))

    def trials(self, thread: int = 0) -> Trials:
        """Return a thread's workspace for runs on shared nodes; its jobs begin as the thread's plan delays them."""
        problem, trials = self.seat(thread).problem, self._trials[thread]
        trials.problem = problem._replace(sharing=trials.sharing)
        return trials

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
            found = metrics_of(
                self.seat(thread).space.common.measured,
                self.problem.t0,
                state.start,
                state.finish,
                state.counts,
                wasted=wasted_in(state),
                integrals=integrals_of(state),
            )
            metrics[:] = tuple(found.as_dict().values())
            more = trials.joules_beyond(self.federation, self.problem.watts)
            taken = shared_node_measures(self.federation, trials.taken(self.federation), found.makespan, more)
            for name, value in taken.items():
                metrics[Column[name.upper()]] = value
        return status == Status.DONE

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
    workload, federation, objectives, submits, reading, t0, running, threads, delays, delays_since, deadline
        As in `SearchProblem`.
    """

    sharing: NodeSharing

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
        running: RunningJobs | None = None,
        threads: int = 1,
        delays: bool = False,
        delays_since: Floats | None = None,
        deadline: float | None = None,
    ) -> None:
        for name in objectives.names:
            if name in NOT_MEASURED and name not in objectives.functions:
                raise InfeasibleError(
                    f"optimize: objective {name!r} is not measured on nodes that jobs share; choose another metric."
                )
        federation = with_names(federation)
        self.reading = reading.settled("optimize", whole_instants=True)
        workload, t0 = as_package(workload, federation, submits, t0, running, shared=True)
        threads = whole("optimize", "threads", threads, least=1)
        rows = () if running is None else tuple(running.rows.tolist())
        self.workload = workload = with_chosen_shapes(workload, federation, self.reading, running=rows)
        refuse_unsupported(workload, federation, Rules(dispatch="greedy"), self.reading)
        self.federation = with_forecasts(federation) if objectives.priced else federation
        self.sharing, self.submits, self.running = sharing, submits, running
        self._which, self._truth = None, None
        begin = float(workload.submit.min()) if t0 is None else t0
        run = np.array(rows, dtype=np.int64)
        late = delays_on(workload, federation, begin, run, delays_since) if delays else None
        true, problem = self._pack(without_node_limits(federation), t0, begin, rows, late)
        if deadline is not None:
            objectives = replace(objectives, latest=latest_makespan(deadline, problem.t0))
        self._asked, first_come = asked_of(workload, federation), np.arange(len(workload))
        one_group = len(federation.groups) == 1
        kinds = kinds_apart(workload, self._asked)
        if one_group:
            kinds = kinds_of(workload, federation, self._asked, problem, home=False)
        shortest = shortest_on(problem, self._asked)
        nodes = shared(federation, self._asked, kinds, sharing, first_come, problem.extras)
        nodes = nodes._replace(counted=counted_nodes(workload, federation))
        empty = Trials(problem, nodes, shortest)
        limits = empty.rooms()
        placements = empty.placements(limits)
        if not placements.size:
            # No rule places all jobs: let the simulation name the job and the reason.
            prepared(workload, federation, Rules(dispatch="greedy"), sharing, self.reading, problem.t0, running)
            raise InfeasibleError(f"Workload {workload.name!r}: no placement rule places all of its jobs.")
        PackedProblem.__init__(
            self,
            problem,
            limits=limits,
            placements=placements,
            dispatches=PLAN_DISPATCH,
            objectives=objectives,
            ids=workload.id,
            running=running,
            threads=threads,
            pricing=pricing_for(objectives, self.federation),
            delays=late,
        )
        self.set_sharing(nodes, shortest, running=running, present=present_of("optimize", running, nodes))
        all_known = problem is true and self.federation is federation
        self._truth = None if all_known else self._as_it_is(true, federation)
        self._refuse_to_price_what_may_not_end()

    def _pack(
        self, federation: Federation, t0: float | None, begin: float, running: tuple[int, ...], late: Delays | None
    ) -> tuple[Problem, Problem]:
        true, known = super()._pack(federation, t0, begin, running, late)
        of_cores = with_watts_per_core(true, federation)
        return of_cores, of_cores if known is true else with_watts_per_core(known, federation)

    def _as_it_is(self, true: Problem, federation: Federation) -> SharedProblem:
        other = copy(self)
        other.problem, other._jobs = true, self.workload
        other.federation, other.pricing = federation, pricing_for(self.objectives, federation)
        closures = closures_by_group(true.extras, len(self.federation.groups))
        other.set_sharing(self._shared._replace(closures=closures), self._shortest, **self._present)
        return other

    def bounds(self) -> SharedBounds | None:
        """Return lower bounds on all schedules; None if they are not proven for these jobs.

        That is if some job runs at t0, follows another, may never start, may have no end, or may be killed.
        """
        some_never_start = self._able.size < self.layout.jobs
        if some_never_start or self.may_miss or kills(self.federation, self.problem.t0):
            return None
        if self.running is not None or self.workload.feedback is not None:
            return None
        return shared_bounds(self.problem, self._shared, self.federation)

    def started(self, row: Ints, *, policy: str = "plan") -> SharedRun:
        """Return the simulation of a plan at its begin; the plan's delays become the jobs' earliest starts."""
        plan, workload, problem = self.plan(row[: self.layout.read]), self._jobs, self.problem
        if self.delays is not None and (delays := self.delays_of(row)) is not None:
            workload = with_delays(workload, self.delays.since, delays)
            problem, moments = with_writable_begins(problem, self.delays)
            moments[:] = self.delays.moments(delays)
        trials = Trials(problem, self._shared, self._shortest, **self._present)
        trials.line_up(plan)
        packed = Packed(trials.problem, plan, trials.state, self._asked)
        description = f"{policy} on {Placement(plan.placement).name.lower()}"
        run = SharedRun(workload, self.federation, packed, self.sharing, self.reading, description)
        run._again = partial(self.started, row, policy=policy)
        return run

    def begun(
        self,
        policy: str | Policy,
        caps: Ints | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> SharedRun:
        """Return the simulation of a policy on the package, at its begin.

        `caps` (jobs × groups) are the most tasks of each job on each group.
        """
        return prepared(
            self._jobs,
            self.federation,
            policy_named(policy),
            self.sharing,
            self.reading,
            self.problem.t0,
            self.running,
            caps=caps,
            as_known=self._truth is not None,
            look=None if progress is None else partial(progress, 0, len(self.workload)),
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
    **how: Any,
) -> SearchProblem:
    """Return a SearchProblem on whole nodes, or with `sharing` a SharedProblem on shared nodes."""
    if sharing is None:
        return SearchProblem(workload, federation, objectives, **how)
    return SharedProblem(workload, federation, objectives, sharing=sharing, **how)
