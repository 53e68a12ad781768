"""SearchProblem: a package of jobs on a federation, as searches plan it, and the schedules of plans."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import InfeasibleError, TraceError
from fedsched.core.moved import Renamed
from fedsched.core.values import whole
from fedsched.engine.codes import Placement
from fedsched.engine.compatibility import Use, refuse
from fedsched.engine.optional_features.moldable import widest_of
from fedsched.engine.pack.choices import refuse_open_sizes
from fedsched.engine.pack.extras import going_on_from
from fedsched.engine.pack.foresight import jobs_as_known, known_problem
from fedsched.engine.pack.node_caps import caps_table
from fedsched.engine.pack.problem import pack
from fedsched.engine.placement.tasks_per_node import most_of_groups
from fedsched.engine.plans import plan_in_order
from fedsched.engine.run.evaluate import unpack_row
from fedsched.engine.run.simulation import Simulation, start_of
from fedsched.model.constraints.slack import slack_of, with_delays
from fedsched.model.foresight import depend_on_idle_power, with_forecasts
from fedsched.model.jobs.admission import count_in_nodes, with_default_times
from fedsched.model.jobs.shaping import with_chosen_shapes, with_shapes
from fedsched.model.jobs.transformations import with_submits
from fedsched.model.machine.node_ranges import check_node_count
from fedsched.model.power.switching import is_switching, with_planned_idle_watts
from fedsched.model.reading import CLAIRVOYANT, Read, Reading
from fedsched.policies import Rules, policy_named
from fedsched.search.encoding.delays import delays_on, with_writable_begins
from fedsched.search.encoding.shapes import choices_on, with_limits_of_shapes
from fedsched.search.problem.deadline import latest_makespan
from fedsched.search.problem.objectives import pricing_for
from fedsched.search.problem.packed import PLAN_DISPATCH, PackedProblem, usable_placements
from fedsched.simulate import begun, prepare, to_the_end

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.core.names import Alternatives, Knowledge, Saturation, Submits
    from fedsched.engine.arrays.structs import Floats, Ints, Problem
    from fedsched.engine.sharing import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.node_stack import NodeStacks
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.policies import Policy
    from fedsched.search.encoding.delays import Delays
    from fedsched.search.problem.objectives import Objectives
    from fedsched.simulate import RunningJobs


class SearchProblem(PackedProblem, Read):
    """A package of jobs on a federation, as searches see it: plans (rows) in, objective values out.

    It contains what is known at t0. If more happens later (downtimes, cancellations, signals unlike their
    forecasts), `truth` is the same problem with all of that.

    Parameters
    ----------
    workload, federation
        The jobs to plan, and the federation that they run on.
    objectives
        The values to minimise.
    submits
        "now": all jobs wait at t0, as a package, except those that follow others. "keep": jobs keep their submit
        times, and plans know them.
    reading, knowledge, saturation, kill_at_estimate, alternatives
        As in `simulate`; but by default plans know true run times, and each instant is handled as a whole.
    t0
        The origin of time; the earliest submit when not given.
    running
        Jobs of the workload that already run.
    threads
        How many threads evaluate plans; results do not depend on it.
    delays
        Whether plans may put off jobs with slack.
    delays_since
        The time from which the delay of each job counts; by default as in reading 71.
    deadline
        The time by which all jobs of a plan must end.
    idle
        The nodes without jobs at t0, if they go off and boot; by default all are on.

    Examples
    --------
    >>> objectives = fs.search.Objectives.of(["makespan", "energy"])
    >>> problem = fs.search.SearchProblem(fs.read("sample").head(20), fs.Federation.of(128), objectives)
    >>> rows = problem.row(range(20)).reshape(1, -1)
    >>> problem.values(rows).shape
    (1, 2)
    """

    sharing: NodeSharing | None = None  # None: jobs do not share nodes
    _idle: NodeStacks | None = None  # None: all nodes are on at t0

    def __init__(
        self,
        workload: Workload,
        federation: Federation,
        objectives: Objectives,
        *,
        submits: Submits = "now",
        reading: Reading = CLAIRVOYANT,
        knowledge: Knowledge | None = None,
        saturation: Saturation | None = None,
        kill_at_estimate: bool | None = None,
        alternatives: Alternatives | None = None,
        t0: float | None = None,
        running: RunningJobs | None = None,
        threads: int = 1,
        delays: bool = False,
        delays_since: Floats | None = None,
        deadline: float | None = None,
        idle: NodeStacks | None = None,
    ) -> None:
        self._idle = idle
        words = reading.but(
            knowledge=knowledge, saturation=saturation, kill_at_estimate=kill_at_estimate, alternatives=alternatives
        )
        self.reading = words.settled("optimize", whole_instants=True)
        workload, t0 = as_package(count_in_nodes(workload, federation), federation, submits, t0, running)
        threads = whole("optimize", "threads", threads, least=1)
        for cluster in federation.clusters:
            check_node_count(cluster.name, cluster.nodes)
        known = with_forecasts(federation) if objectives.priced else federation
        self.federation = with_planned_idle_watts(known) if depend_on_idle_power(objectives.names) else known
        self.submits = submits
        self.running = running
        if self.reading.is_free(workload):
            if running is not None and workload.alternatives is not None:  # these keep the shapes in which they run
                workload = replace(workload, alternatives=workload.alternatives.without(running.rows))
            refuse_open_sizes("optimize", workload, federation)
        free = self.reading.is_free(workload)
        workload = with_chosen_shapes(workload, federation, self.reading)
        rows = () if running is None else tuple(running.rows.tolist())
        run = np.array(rows, dtype=np.int64)
        self.workload = workload
        begin = float(workload.submit.min()) if t0 is None else t0
        if is_switching(federation.power):
            refuse("optimize with boots", Use(workload, federation, self.reading, begin))
        late = delays_on(workload, federation, begin, run, delays_since) if delays else None
        true, problem = self._pack(federation, t0, begin, rows, late)
        if deadline is not None:
            objectives = replace(objectives, latest=latest_makespan(deadline, problem.t0))
        table, row_of = caps_table(workload, federation)
        choice = choices_on(workload, federation, self.reading, problem.t0, run) if free else None
        if choice is not None:
            known_so = problem is true
            true = with_limits_of_shapes(true, choice)
            problem = true if known_so else with_limits_of_shapes(problem, choice)
        self._which = None if choice is None else choice.which
        most = most_of_groups(problem, np.arange(len(row_of)), widest_of(problem)) if choice is None else choice.most
        limits = np.ascontiguousarray(np.minimum(table[row_of], most))
        placements = usable_placements(problem, plan_in_order(np.arange(len(limits)), limits))
        if choice is not None:
            placements = np.intersect1d(placements, choice.placements)
        if not placements.size:
            # No rule places all jobs: let the simulation name the job and the reason.
            prepare(workload, federation, Rules(dispatch="greedy"), t0=problem.t0, running=running)
            raise InfeasibleError(f"Workload {workload.name!r}: no placement rule places all of its jobs.")
        super().__init__(
            problem,
            limits=limits,
            placements=placements,
            dispatches=PLAN_DISPATCH,
            objectives=objectives,
            ids=workload.id,
            running=running,
            threads=threads,
            shapes=None if choice is None else choice.shapes,
            pricing=pricing_for(objectives, self.federation),
            delays=late,
            may_starve=choice is not None and choice.may_starve,
        )
        self._truth = None if problem is true and self.federation is federation else self._of(true, federation)
        self._refuse_to_price_what_may_not_end()

    def _pack(
        self, federation: Federation, t0: float | None, begin: float, running: tuple[int, ...], late: Delays | None
    ) -> tuple[Problem, Problem]:
        """Return the jobs on this federation as arrays, as they are and as they are known at the begin."""

        def packed(jobs: Workload) -> Problem:
            if late is None:
                return going_on_from(pack(jobs, federation, reading=self.reading, t0=t0, running=running), self._idle)
            able = with_delays(jobs, late.since, slack_of(jobs))  # plans write the earliest starts
            found = pack(able, federation, reading=self.reading, t0=begin, running=running)
            return with_writable_begins(going_on_from(found, self._idle), late)[0]

        true = packed(self.workload)
        self._jobs = jobs_as_known(self.workload, true.t0)
        return true, known_problem(true if self._jobs is self.workload else packed(self._jobs), true.t0)

    def _refuse_to_price_what_may_not_end(self) -> None:
        if self.pricing is not None and (self.may_miss or self.truth.may_miss):
            priced = " and ".join(self.pricing.tariffs) or "peak_watts"
            raise InfeasibleError(
                f"optimize: {priced} of plans need the ends of all jobs, and some may have none here; leave out "
                "what prevents them."
            )

    def _of(self, problem: Problem, federation: Federation) -> SearchProblem:
        other = copy(self)
        other.problem, other._jobs, other._states, other._truth = problem, self.workload, [], None
        other.federation = federation
        other.pricing = pricing_for(self.objectives, federation)
        other.rank_by_ends()
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_truth": None}  # only the process that scores plans needs it

    @property
    def truth(self) -> SearchProblem:
        """Return the problem with all that really happens, by which plans are scored at last.

        It is this problem itself if everything is known at t0 [48].
        """
        return self if self._truth is None else self._truth

    @property
    def scores_differ(self) -> bool:
        """Return whether the values that choose plans may differ from the figures of their schedules.

        They may if not everything is known at t0, or if jobs may have no end.
        """
        return self._truth is not None or self.may_miss

    scores_apart = Renamed("scores_differ")

    def alternatives_of(self, row: Ints) -> Ints | None:
        """Return the index of each job's chosen shape among its alternatives; None if plans do not choose shapes."""
        if self.shapes is None or self._which is None:
            return None
        return np.asarray(self._which[self.shapes.first[:-1] + self.layout.choices(row[None])[0]])

    def choices_of(self, alternatives: Ints | None, *, strict: bool = True) -> Ints | None:
        """Return a row's choices for these indices of alternatives: the inverse of `alternatives_of`.

        None if plans do not choose shapes or `alternatives` is None. For an alternative that a job cannot have,
        raise ValueError, or take the present shape if not `strict`.
        """
        if self.shapes is None or self._which is None or alternatives is None:
            return None
        first = self.shapes.first
        found = np.zeros(first.size - 1, dtype=np.int64)
        for job, one in enumerate(np.asarray(alternatives).tolist()):
            at = np.flatnonzero(self._which[first[job] : first[job + 1]] == one)
            if at.size:
                found[job] = at[0]
            elif strict:
                raise ValueError(f"Job {self.ids[job]}: it cannot have alternative {one} here.")
        return found

    def delays_of(self, row: Ints) -> Ints | None:
        """Return each job's delay in a plan, in seconds; None if plans do not put off jobs."""
        return None if self.delays is None else self.layout.delays(row[None])[0].copy()

    def schedule(self, row: Ints, *, policy: str = "plan") -> Schedule:
        """Return the complete schedule of a plan.

        Parameters
        ----------
        row
            The plan.
        policy
            The name of the schedule's policy.
        """
        ended = to_the_end(self.started(row, policy=policy))
        if (delays := self.delays_of(row)) is None:
            return ended
        return ended.put_off(replace(ended.workload, begin=self.workload.begin), delays.astype(np.float64))

    def started(self, row: Ints, *, policy: str = "plan") -> Simulation:
        """Return the simulation of a plan at its begin; the plan's delays become the jobs' earliest starts."""
        order, caps, dispatch, placement = unpack_row(self.layout, row)
        workload, problem = self._jobs, self.problem
        alternatives, delays = self.alternatives_of(row), self.delays_of(row)
        if alternatives is not None:
            workload = with_shapes(workload, self.federation, alternatives)
        if delays is not None and self.delays is not None:
            workload = with_delays(workload, self.delays.since, delays)
        if workload is not self._jobs:
            rows = () if self.running is None else tuple(self.running.rows.tolist())
            own = pack(workload, self.federation, reading=self.reading, t0=problem.t0, running=rows)
            own = going_on_from(own, self._idle)
            problem = own if self._truth is None else known_problem(own, own.t0)
        return Simulation(
            workload,
            self.federation,
            problem,
            plan_in_order(order, caps, dispatch=dispatch, placement=placement),
            reading=self.reading,
            description=f"{policy} on {Placement(placement).name.lower()}",
            running=self.running,
        )

    def simulated(
        self,
        policy: str | Policy,
        caps: Ints | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Schedule:
        """Return a policy's schedule of the package, made with the same knowledge as plans.

        Parameters
        ----------
        policy
            The policy, or its name.
        caps
            Jobs × groups: how many nodes of each group a job may use.
        progress
            Called with (jobs finished, jobs in all).
        """
        return to_the_end(self.begun(policy, caps, progress=progress), progress)

    def begun(
        self,
        policy: str | Policy,
        caps: Ints | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Simulation:
        """Return the simulation of a policy on the package, at its begin.

        Parameters are those of `simulated`.
        """
        chosen = policy_named(policy)
        return begun(self._jobs, self.federation, chosen, self.problem, self.reading, caps, self.running, progress)


def as_package(
    workload: Workload,
    federation: Federation,
    submits: str,
    t0: float | None,
    running: RunningJobs | None,
    *,
    shared: bool = False,
) -> tuple[Workload, float | None]:
    """Return the jobs as they wait when a search begins, and the origin of time (None: the earliest submit).

    `shared`: jobs share nodes. Raise if the workload is empty or has a feature that searches do not support.
    """
    if len(workload) == 0:
        raise TraceError(f"Workload {workload.name!r} is empty: there is nothing to plan.")
    refuse("optimize", Use(workload, federation))
    t0 = start_of("optimize", t0, running, workload, federation, shared=shared)
    workload = with_submits("optimize", workload, submits, t0, some_run=running is not None)
    return with_default_times(workload, federation), t0
