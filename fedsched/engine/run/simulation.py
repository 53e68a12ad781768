"""Simulation: one run of the event loop that can be advanced, inspected, stopped and resumed.

Further functions here read or change the state of a run.
"""

from __future__ import annotations

import time as clock
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fedsched.core.errors import InfeasibleError, ScheduleError
from fedsched.core.text import counted, first_of
from fedsched.core.values import origin
from fedsched.engine.arrays.new_state import new_state
from fedsched.engine.arrays.structs import Rates, RunningJobs, State
from fedsched.engine.codes import Dispatch, Needs, Placement, Status, needs_of
from fedsched.engine.loop.event_loop import begin, change_until, first_unplaceable, run
from fedsched.engine.loop.metric_integrals import integrals, joules_spared
from fedsched.engine.numbers import Clock, Counter, LostNumber, WaitingNumber
from fedsched.engine.optional_features.cancellations import GONE
from fedsched.engine.optional_features.holds import AWAY
from fedsched.engine.optional_features.moldable import moldable_of, with_current_shapes
from fedsched.engine.pack.problem import clusters_of_sites
from fedsched.engine.placement.tasks_per_node import most_of_groups
from fedsched.engine.run.decisions import queued_rows, reorder_queued
from fedsched.model.constraints.dependencies import replace_singletons
from fedsched.model.constraints.feedback import submits_after
from fedsched.model.jobs.shaping import with_shapes
from fedsched.model.jobs.uneven import are_uneven, counted_tasks, counted_tasks_per_node
from fedsched.model.machine.counters import limit_exceeded_alone
from fedsched.model.power.power_cap import is_capped
from fedsched.model.schedule.integrals import Integrals
from fedsched.model.schedule.lost import LostRuns
from fedsched.model.schedule.node_stack import as_begun
from fedsched.model.schedule.promises import Promises
from fedsched.model.schedule.schedule import Schedule
from fedsched.model.time.downtimes import takes_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Floats, Ints, Plan, Problem
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.model.schedule.node_stack import NodeStacks

OF_STATE = [name for name in RunningJobs._fields if name in State._fields]  # fields of running jobs in a State
OF_RATES = [name for name in RunningJobs._fields if name in Rates._fields]  # and in its rates
SLICE_SECONDS = 0.05  # how long the compiled loop runs between two looks at Ctrl-C and progress


def set_running(state: State, rows: Ints, running: RunningJobs) -> None:
    """Write running jobs into these rows of a state that has not begun: their starts, nodes, ends and rates."""
    for name in OF_STATE:
        getattr(state, name)[rows] = getattr(running, name)
    for name in OF_RATES:
        getattr(state.rates, name)[rows] = getattr(running, name)


def running_in(state: State) -> RunningJobs:
    """Return the jobs that run in a state, in start order, with their nodes and what is left of them.

    Jobs that are about to finish do not run if their nodes count as free already [3].
    """
    rows = np.sort(state.heap.job[: int(state.counter[Counter.RUNNING])])
    rows = rows[state.ends.released[rows] == 0]
    rows = rows[np.argsort(state.heap.sequence[rows])]
    columns = {name: getattr(state, name)[rows] for name in OF_STATE}
    rates = {name: getattr(state.rates, name)[rows] for name in OF_RATES}
    held = None if state.work is None else state.work.held.of(rows)
    return RunningJobs(time=float(state.clock[Clock.NOW]), rows=rows, **columns, **rates, held=held)


def joined_in(problem: Problem, state: State) -> Ints:
    """Return the jobs that have joined the queue in a state, in order of joining."""
    if state.extras is None or not state.extras.waiting.open.size:
        return problem.arrival[: int(state.counter[Counter.ARRIVED])]
    waiting = state.extras.waiting
    return waiting.joined[: int(waiting.number[WaitingNumber.JOINED])]


def submits_in(problem: Problem, state: State) -> Floats:
    """Return the submit of each job; for a job that follows another, the actual one if it has been submitted [45].

    If it has not been submitted, it is t0.
    """
    if state.extras is None or not state.extras.waiting.open.size:
        return problem.submit
    return state.extras.waiting.submitted


def refuse_foreign_running(
    noun: str, running: RunningJobs, workload: Workload, federation: Federation, *, shared: bool = False
) -> None:
    """Raise ValueError unless the running jobs are jobs of this workload on nodes of this federation.

    `shared`: jobs share nodes, so `counts` are tasks. Whether the nodes have what the jobs hold is checked later.
    """
    if shared != (running.held is not None):
        raise ValueError(
            f"{noun}: running= must be of a run {'with' if shared else 'without'} sharing=, as the jobs share "
            f"{'' if shared else 'no '}nodes here."
        )
    rows, counts = running.rows, running.counts
    groups = np.array([group.count for group in federation.groups])
    if rows.size and not 0 <= int(rows.min()) <= int(rows.max()) < len(workload):
        odd = f"row {int(rows.max())} is none of this workload's {counted(len(workload), 'job')}"
    elif counts.shape[1] != len(groups):
        odd = f"nodes in {counted(counts.shape[1], 'group')} are none of this federation's {len(groups)}"
    elif (wrong := have_other_sizes(counts, workload.take(rows), federation, shared=shared)).size:
        many, row = counted(int(counts[wrong[0]].sum()), "task" if shared else "node"), int(rows[wrong[0]])
        odd = f"{many} of row {row} are not its {counted(int(workload.tasks[row]), 'task')}"
    elif not shared and (counts.sum(axis=0) > groups).any():
        odd = "more nodes are in use than this federation has"
    else:
        return
    raise ValueError(f"{noun}: running= belongs to another workload or federation ({odd}); give its own.")


def have_other_sizes(counts: Ints, jobs: Workload, federation: Federation, *, shared: bool = False) -> Ints:
    """Return the indices of the jobs with nodes (`counts`: jobs × groups) that do not match their tasks.

    `shared`: jobs share nodes, so `counts` are tasks.
    """
    if shared:
        return np.flatnonzero(counts.sum(axis=1) != jobs.tasks)
    held = (counts * counted_tasks_per_node(jobs, federation)).sum(axis=1)
    wanted = counted_tasks(jobs)
    return np.flatnonzero(np.where(are_uneven(jobs), held < wanted, held != wanted))


def start_of(
    noun: str,
    t0: float | None,
    running: RunningJobs | None,
    workload: Workload,
    federation: Federation,
    *,
    shared: bool = False,
) -> float | None:
    """Return the begin of a schedule: the time of the running jobs if given, else `t0` (None: the first submit).

    Raise ValueError if `t0` is another time than that, or the running jobs are of another workload or federation.
    """
    t0 = origin(noun, t0)
    if running is None:
        return t0
    refuse_foreign_running(noun, running, workload, federation, shared=shared)
    if (late := np.flatnonzero(running.start > running.time)).size:
        raise InfeasibleError(
            f"Job {workload.id[running.rows[late[0]]]}: its nodes still boot as the run begins, at {running.time:g} s; "
            "begin at a time at which no job waits for boots."
        )
    if t0 is not None and t0 != running.time:
        # Before a later t0, running jobs could end and others run faster, which is not known here.
        raise ValueError(f"{noun}: t0={t0!r} is not the running jobs' time, {running.time!r}; leave it out.")
    return running.time


class Planner(Protocol):
    """An object that a run asks for a new plan before its passes (see `Simulation.consult`).

    Examples
    --------
    >>> class Watcher:
    ...     passes = 0
    ...     def replan(self, run):
    ...         self.passes += 1
    >>> from fedsched.simulate import prepare
    >>> run, watcher = prepare(fs.read("sample").head(50), 128), Watcher()
    >>> run.consult(watcher, jobs=50)
    >>> run.advance().done, watcher.passes > 0
    (True, True)
    """

    def replan(self, run: Simulation) -> None:
        """Look at the run before the dispatch pass of this instant; change its plan by `run.follow`, or do nothing."""
        ...


class Simulation:
    """A run of a plan over a workload on a federation, resumable at any instant; `prepare` returns one.

    Examples
    --------
    >>> from fedsched.simulate import prepare
    >>> run = prepare(fs.read("sample").head(50), fs.read_federation("example"))
    >>> run.advance(until=20_000).finished, len(run.queued())
    (28, 9)
    >>> run.advance().done
    True
    """

    _again: Callable[[], Simulation] | None  # makes this run anew; None after its queue was ordered by hand

    def __init__(
        self,
        workload: Workload,
        federation: Federation,
        problem: Problem,
        plan: Plan,
        *,
        reading: Reading,
        description: str = "plan",
        running: RunningJobs | None = None,
    ) -> None:
        _refuse_unplaceable(workload, federation, problem, plan)
        state = new_state(problem, needs=needs_of(plan.dispatch), separate_backfill=plan.separate_backfill)
        problem = with_current_shapes(problem, state)
        if running is not None:
            set_running(state, running.rows, running)
        self._begin(workload, federation, problem, plan, state, reading, description)
        self._again = partial(
            Simulation, workload, federation, problem, plan, reading=reading, description=description, running=running
        )

    def _begin(
        self,
        workload: Workload,
        federation: Federation,
        problem: Problem,
        plan: Plan,
        state: State,
        reading: Reading,
        description: str,
    ) -> None:
        self.actual, self.federation = workload, federation
        self.problem, self.plan, self.state = problem, plan, state
        self.reading, self.description = reading, description
        begin(problem, plan, state)
        self.planner: Planner | None = None
        self._again = None
        self._own_row = self.plan.cap_row  # each job's row of caps without those of a planner
        self._planned_rows = len(self.plan.caps)  # rows of caps from here on are the planner's
        self._jobs = self.problem.arrival.size + self.problem.running.size  # others wait for what cannot happen
        self._over = False  # True: nothing more can happen, but closures or power caps keep jobs from ever starting
        self._all_started = 0  # the number of the first arrivals that have all started
        self.all_stay = not takes_nodes(federation) and workload.held is None  # no started job is queued again
        self._slice = 64

    @cached_property
    def workload(self) -> Workload:
        """Return the jobs as the policy may know them: estimates are run times if these are known."""
        return self.reading.seen(self.actual)

    @property
    def time(self) -> float:
        """Return the time of the last instant that was processed, in seconds."""
        return float(self.state.clock[Clock.NOW])

    @property
    def finished(self) -> int:
        """Return how many jobs have finished."""
        return int(self.state.counter[Counter.FINISHED])

    @property
    def done(self) -> bool:
        """Return whether the run is over: every job has finished, or the others can never start."""
        return self.finished == self._jobs or self._over

    def advance(self, *, until: float = np.inf, progress: Callable[[int, int], None] | None = None) -> Simulation:
        """Run to the end, or to the last instant that is not after `until`; return itself.

        The compiled loop returns every few hundredths of a second, so that Ctrl-C works and `progress` is called;
        what was done until then is kept. Raise ScheduleError if jobs can never start for no known reason.

        Parameters
        ----------
        until
            The instant; nothing after it happens.
        progress
            Called with (jobs finished, jobs in all).
        """
        while True:
            if self.planner is not None and self.state.counter[Counter.PASS_DUE] == 1:
                self.planner.replan(self)
            began = clock.perf_counter()
            status = run(self.problem, self.plan, self.state, self._slice, float(until))
            elapsed = clock.perf_counter() - began
            if progress is not None:
                progress(self.finished, self._jobs)
            if status in (Status.DONE, Status.PAUSED):
                return self
            if status == Status.ASKED:
                continue
            if status == Status.STUCK:
                if self.federation.calendar or is_capped(self.federation):
                    self._over = True
                    return self
                raise ScheduleError(
                    f"At {self.time:g} s no queued job can ever start although no job runs: "
                    "please report this workload: it should have been refused."
                )
            if elapsed < SLICE_SECONDS / 2:
                self._slice *= 2
            elif elapsed > SLICE_SECONDS * 2:
                self._slice = max(1, self._slice // 2)

    # ---- new plans on the way -----------------------------------------------------------------------------------

    def consult(self, planner: Planner, *, jobs: int) -> None:
        """Register a planner: from now on `advance` asks it for a plan before every pass that may start something.

        Parameters
        ----------
        planner
            The planner.
        jobs
            The most jobs to which a plan gives caps.
        """
        room = np.zeros((jobs, self.plan.caps.shape[1]), dtype=np.int64)
        self.plan = self.plan._replace(caps=np.concatenate([self.plan.caps, room]), cap_row=self._own_row.copy())
        self.planner = planner
        self.state.counter[Counter.ASKS] = 1

    def queued(self) -> Ints:
        """Return the jobs that wait in the general queue now, not in a reservation's, in order of joining."""
        arrived = self.joined()[self._all_started :]
        waits = np.isnan(self.state.start[arrived])
        if self.problem.extras is not None and (of_job := self.problem.extras.reserved.of_job).size:
            waits &= of_job[arrived] < 0
        places = np.flatnonzero(waits)
        if self.all_stay:
            self._all_started += int(places[0]) if places.size else arrived.size
        return arrived[places]

    def joined(self) -> Ints:
        """Return the jobs that have joined the queue, in order of joining."""
        return joined_in(self.problem, self.state)

    def submits(self, jobs: Ints) -> Floats:
        """Return the submits of these jobs; of jobs that follow others, the actual ones if they were submitted [45]."""
        return submits_in(self.problem, self.state)[jobs]

    def in_queue_order(self, jobs: Ints) -> Ints:
        """Return these queued jobs, sorted by their positions in the queue."""
        return jobs[np.argsort(self.state.queue.position[jobs])]

    def limits(self, jobs: Ints) -> Ints:
        """Return the most nodes of each group that these jobs may use and can fill, jobs × groups.

        Caps that a planner gave are ignored.
        """
        most = most_of_groups(self.problem, jobs, self.problem.tasks[jobs])
        return np.minimum(self.plan.caps[self._own_row[jobs]], most)

    def unplanned(self) -> Plan:
        """Return the current plan with the caps that jobs had before a planner gave them others."""
        return self.plan._replace(cap_row=self._own_row)

    def follow(self, planned: Ints, caps: Ints, behind: Ints, *, dispatch: int, placement: int) -> None:
        """Change the plan for the rest of the run: new order and caps of queued jobs, and other rules.

        The other queued jobs stand behind the planned ones, without a planner's caps.

        Parameters
        ----------
        planned
            The planned jobs of the queue, in their new order.
        caps
            Planned jobs × groups: how many nodes of each group each may use.
        behind
            The other jobs of the queue.
        dispatch, placement
            The numbers of the rules.
        """
        rows = np.arange(self._planned_rows, self._planned_rows + planned.size)
        self.plan.caps[rows] = caps
        self.plan.cap_row[planned] = rows
        self.plan.cap_row[behind] = self._own_row[behind]
        self.plan = self.plan._replace(dispatch=int(Dispatch(dispatch)), placement=int(Placement(placement)))
        self._line_up(np.concatenate([planned, behind]))
        self._again = None

    def line_up(self, jobs: Ints | Sequence[int]) -> None:
        """Put these queued jobs into this order, within the places that they hold in the queue.

        Raise if a row is given twice or is not of `queued()`.
        """
        self._line_up(queued_rows(jobs, self.queued()))
        self._again = None

    def _line_up(self, jobs: Ints) -> None:
        places = np.sort(self.state.queue.position[jobs])
        reorder_queued(self.problem, self.plan, self.state, jobs, places, self._waiting_in_reservations())

    def _waiting_in_reservations(self) -> Ints:
        extras = self.problem.extras
        if extras is None or not extras.reserved.of_job.size:
            return np.zeros(0, dtype=np.int64)
        arrived = self.joined()
        return arrived[np.isnan(self.state.start[arrived]) & (extras.reserved.of_job[arrived] >= 0)]

    @property
    def integrals(self) -> Integrals:
        """Return what is summed up over the run until now: loss of capacity, saturated time, wasted work, and requeues.

        If the remaining jobs can never start, loss of capacity counts until the last end.
        """
        found = Integrals(*map(float, integrals(self.problem, self.state)))
        return until_the_last_end(found, self.problem, self.state) if self._over else found

    def running(self) -> RunningJobs:
        """Return the jobs that run now, in start order, with their nodes and what is left of them."""
        return running_in(self.state)

    def schedule(self) -> Schedule:
        """Return the schedule so far: all starts until now, and the ends by now; of a finished run, all ends.

        Starts of cancelled, held and killed jobs are NaN.
        """
        state = self.state
        over = state.finish <= self.time
        notes: tuple[str, ...] = ()
        lost = lost_in(state)
        start = np.array(state.start)
        start[cancelled_jobs(state) | held_jobs(state)] = np.nan
        if lost is not None:
            start[lost.killed] = np.nan
        if self.finished < self._jobs:
            interrupted = f"interrupted at {self.time:g} s: {self.finished} of {counted(self._jobs, 'job')} finished"
            left = self.actual.id[np.isnan(start) & np.isin(np.arange(start.size), self.problem.arrival)]
            room = unfinished_note(self.finished, self._jobs, left=left if is_capped(self.federation) else None)
            notes = (room if self._over else interrupted,)
        return Schedule(
            workload=self._as_submitted(lost),
            federation=self.federation,
            start=start,
            finish=state.finish if self.done else np.where(over, state.finish, np.nan),
            counts=state.counts,
            t0=self.problem.t0,
            reading=self.reading,
            policy=self.description,
            integrals=self.integrals,
            lost=lost,
            until=np.inf if self.done else self.time,
            promises=promises_in(self.state),
            notes=notes,
            replay=self.replay,
        )

    @property
    def replay(self) -> Callable[[], Simulation] | None:
        """Return a function that makes this run anew, at its begin; None if a planner has changed the plan."""
        return None if self.planner is not None else self._again

    def _as_submitted(self, lost: LostRuns | None) -> Workload:
        """Return the workload with the shapes that jobs have taken, and with actual submits.

        Submits differ from the workload's if they depend on the ends of other jobs.
        """
        if self.actual.feedback is None or self.state.extras is None:
            return self._in_shapes()
        submit = actual_submits(self.actual, self.state, lost)
        return replace(self._in_shapes(), submit=submit, after=replace_singletons(self.actual))

    def _in_shapes(self) -> Workload:
        """Return the workload with the shapes that jobs have taken; the workload itself if none chooses."""
        moldable = moldable_of(self.problem)
        if moldable is None or self.state.extras is None:
            return self.actual
        return with_shapes(self.actual, self.federation, moldable.which[self.state.extras.molded.at])


def promises_in(state: State) -> Promises | None:
    """Return when each job got its nodes, if nodes may have to boot before a job starts; else None."""
    if state.extras is None or not state.extras.powered.promised.size:
        return None
    return Promises(state.extras.powered.promised, state.heap.sequence)


def spared_in(problem: Problem, state: State, makespan: float) -> float:
    """Return the joules that nodes took less than nodes that are always on; 0 if nodes do not go off and boot."""
    return 0.0 if promises_in(state) is None else float(joules_spared(problem, state, makespan))


def idle_nodes(run: Simulation, time: float) -> NodeStacks | None:
    """Return the nodes without jobs at a time up to which a run has advanced, as another run begins with.

    A run ends with its last job: downtimes close and open nodes until that time. None if nodes do not go off and boot.
    """
    extras = run.state.extras
    if extras is None or not extras.powered.promised.size:
        return None
    change_until(run.problem, run.state, time)
    return as_begun(extras.powered.stacks)


def lost_in(state: State) -> LostRuns | None:
    """Return the runs that downtimes have ended so far; None if there are none."""
    if state.extras is None or not (runs := int(state.extras.lost.number[LostNumber.RUNS])):
        return None
    lost = state.extras.lost
    return LostRuns(lost.job[:runs], lost.start[:runs], lost.end[:runs], lost.counts[:runs], lost.requeued[:runs] == 1)


def actual_submits(workload: Workload, state: State, lost: LostRuns | None = None) -> Floats:
    """Return when each job was submitted, given the ends up to the state's time, which submits may follow [45]."""
    over = np.where(state.finish <= state.clock[Clock.NOW], state.finish, np.nan)
    if lost is not None:
        over[lost.killed] = lost.end[~lost.requeued]
    gone = cancelled_jobs(state)
    if workload.cancel_at is not None:
        over[gone] = workload.cancel_at.times[gone]
    return submits_after(workload, over, gone)


def cancelled_jobs(state: State) -> NDArray[np.bool_]:
    """Return for each job whether it has been cancelled."""
    if state.extras is None or not state.extras.cancelled.what.size:
        return np.zeros(state.start.size, dtype=np.bool_)
    return state.extras.cancelled.what == GONE


def held_jobs(state: State) -> NDArray[np.bool_]:
    """Return for each job whether it was in the queue and is held now."""
    if state.extras is None or not state.extras.held.what.size:
        return np.zeros(state.start.size, dtype=np.bool_)
    return state.extras.held.what == AWAY


def until_the_last_end(found: Integrals, problem: Problem, state: State) -> Integrals:
    """Return the integrals with the loss of capacity counted only until the last end of a job.

    It is used if the remaining jobs can never start.
    """
    if state.extras is None:
        return found
    last, lost = state.extras.closed.last_end.tolist()
    elapsed = last - problem.t0
    return found._replace(loss_of_capacity=lost / (problem.nodes * elapsed) if elapsed > 0.0 else 0.0)


def unfinished_note(finished: int, jobs: int, *, left: Ints | None = None) -> str:
    """Return a note for a run in which some jobs can never start: how many have finished, and why not all [40, 70].

    With `left`, the ids of the others, the reason is a power cap or closed nodes; else it is closed nodes.
    """
    if left is not None:
        done = f"{finished} of {counted(jobs, 'job')} finished"
        return f"the power cap, or nodes that stay closed, leave jobs {first_of(left)} no room: {done}"
    return f"nodes that stay closed leave the others no room: {finished} of {counted(jobs, 'job')} finished"


def _refuse_unplaceable(workload: Workload, federation: Federation, problem: Problem, plan: Plan) -> None:
    state = new_state(problem, needs=Needs.NOTHING, separate_backfill=False)
    row = first_unplaceable(problem, plan, state)
    if row < 0:
        return
    tasks = int(workload.tasks[row])
    usable = np.minimum(plan.caps[plan.cap_row[row]], problem.groups.nodes)
    job = f"Job {workload.id[row]}: tasks={tasks}"
    if tasks > federation.nodes:
        raise InfeasibleError(
            f"{job} exceeds the federation's {counted(federation.nodes, 'node')}; drop it or use a larger one."
        )
    placement = Placement(plan.placement).name.lower()
    if plan.placement == Placement.HOME and problem.origin[row] < 0:
        clusters_of_sites(workload, federation)  # raises an error if no cluster has the site's name
        raise InfeasibleError(f"{job} has no origin, which placement='home' needs; set it or use another placement.")
    if usable.sum() < tasks:
        raise InfeasibleError(
            f"{job} exceeds the {usable.sum()} nodes that its caps and allowed clusters leave (per group: "
            f"{usable.tolist()}); loosen them."
        )
    taken, alone = state.scratch.chosen, workload.take([row])
    placed = not have_other_sizes(taken[None], alone, federation).size
    if placed and (over := limit_exceeded_alone(alone, federation, 0, taken)):
        raise InfeasibleError(
            f"{job}: placement={placement!r} gives it {counted(int(taken.sum()), 'node')} of the empty federation, and "
            f"{over}; use another placement, give a wider limit, or drop it."
        )
    per_cluster = np.bincount(problem.groups.cluster, weights=usable).astype(int).tolist()
    raise InfeasibleError(
        f"{job} fits on no node set that placement={placement!r} accepts, even on the empty federation "
        f"(usable nodes per cluster: {per_cluster}); use another placement or drop it."
    )
