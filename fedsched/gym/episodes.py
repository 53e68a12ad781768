"""Episodes: simulations of stretches of a log, side by side; the caller makes their decisions, job by job."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import ScheduleError, unknown_name
from fedsched.core.jit import row
from fedsched.core.values import whole
from fedsched.engine.arrays.new_state import new_state
from fedsched.engine.codes import Needs, QueueKey
from fedsched.engine.compatibility import Use, usage_note
from fedsched.engine.loop.metric_integrals import integrals
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features.moldable import moldable_of
from fedsched.engine.orders import queue_order
from fedsched.engine.pack.node_caps import checked_caps
from fedsched.engine.pack.problem import frozen
from fedsched.engine.pack.shape_arrays import read_only
from fedsched.engine.placement.tasks_per_node import rows_of
from fedsched.engine.run.simulation import (
    Simulation,
    actual_submits,
    cancelled_jobs,
    held_jobs,
    lost_in,
    promises_in,
    refuse_foreign_running,
    set_running,
    unfinished_note,
    until_the_last_end,
)
from fedsched.engine.sharing import NodeSharing
from fedsched.engine.sharing.pack import freeze
from fedsched.engine.sharing.run import schedule_of
from fedsched.gym.chosen_shapes import ChosenShapes
from fedsched.gym.features import ProgressFeature, RunningFeature, WaitingFeature, of_jobs
from fedsched.gym.kernel import Answer, advance_runs
from fedsched.gym.runs import MetricScratch, Observations, Runs, StepOutcome, side_by_side
from fedsched.io.arguments import nouns_of
from fedsched.model.constraints.dependencies import replace_singletons
from fedsched.model.jobs.admission import count_in_nodes, with_default_times
from fedsched.model.jobs.shaping import with_chosen_shapes, with_shapes
from fedsched.model.power.power_cap import is_capped
from fedsched.model.power.switching import Planned
from fedsched.model.reading import USUAL, Reading
from fedsched.model.schedule.integrals import Integrals
from fedsched.model.schedule.metrics import Column
from fedsched.model.schedule.promises import Promises
from fedsched.model.schedule.schedule import Schedule
from fedsched.policies import Rules
from fedsched.policies.named import ORDERS
from fedsched.search.problem.objectives import Objectives
from fedsched.simulate import prepare, with_named_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.core.names import PlacementName, SharingName
    from fedsched.engine.arrays.structs import Extras, Ints, Plan, Problem, RunningJobs, State
    from fedsched.io.arguments import AnyJobs, AnyMachine
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

# Columns of one table hold these for the whole log. They tie jobs together, or caps have another value as a part of the
# log begins. So a part is packed by itself.
OF_THE_LOG = (
    "conditions and begins", "feedback", "limits", "cancellations", "holds", "jobs in reservations", "power caps",
)  # fmt: skip

# Metrics that a schedule on shared nodes has from the cores that jobs take of each node, or does not know.
BY_SHARES = ("utilisation", "energy", "busy_energy", "idle_energy", "loss_of_capacity", "wasted_node_seconds")


class Episodes:
    """Simulations ("runs") of stretches of one log that stop at every decision (docs/readings 32).

    Parameters are those of the environments; gymnasium is not needed. `begin` starts a run. The caller then fills
    `answers` with the place in the queue that each run chooses. `advance_runs` advances all runs to their next
    decisions.
    """

    def __init__(
        self,
        workload: AnyJobs,
        federation: AnyMachine,
        *,
        runs: int,
        jobs: int | None = None,
        objective: str | Sequence[str] = "bounded_slowdown",
        weights: Sequence[float] | None = None,
        order: str = "fcfs",
        placement: PlacementName = "fastest",
        reading: Reading = USUAL,
        caps: NDArray[np.int64] | None = None,
        t0: float | None = None,
        running: RunningJobs | None = None,
        sharing: NodeSharing | SharingName | None = None,
        waiting_places: int = 128,
        running_places: int = 64,
    ) -> None:
        noun = "environment"
        workload, federation = nouns_of(noun, workload, federation, second="federation")
        already = () if running is None else tuple(running.rows.tolist())
        workload = with_default_times(workload, federation)
        if sharing is None:
            workload = count_in_nodes(workload, federation)
        else:
            federation, caps = with_named_nodes(federation, caps)
        workload = with_chosen_shapes(workload, federation, reading, running=already)
        runs = whole(noun, "num_envs", runs, least=1)
        places = whole(noun, "waiting_places", waiting_places, least=1)
        others = whole(noun, "running_places", running_places, least=0)
        self.jobs = len(workload) if jobs is None else whole(noun, "jobs", jobs, least=1, most=len(workload))
        self._whole = jobs is None
        if not self._whole and (t0 is not None or running is not None):
            field = "t0" if running is None else "running"
            raise ValueError(f"{noun}: {field} is that of the whole workload; leave out {field}=…, or jobs={jobs}.")
        if not isinstance(order, str) or order not in ORDERS:
            raise unknown_name("queue order", order, ORDERS)
        use = Use(workload, federation, reading)
        self.sharing = None if sharing is None else NodeSharing.of(sharing)
        objectives = _objectives(objective, weights, federation, shared=sharing is not None)
        # EASY's rules keep the planned ends, which are observed.
        rules = Rules(order=order, dispatch="easy", placement=placement)
        self._rows = np.lexsort((workload.id, workload.submit))
        if running is not None:
            refuse_foreign_running(noun, running, workload, federation, shared=sharing is not None)
            if len(running.rows) == len(workload):
                raise ValueError(f"{noun}: all {len(workload)} jobs run already; there is nothing to decide.")
            running = running if self.sharing is not None else running.renumbered(self._rows)
        self._rules, self._t0, self._running = rules, t0, running
        self._caps = None if caps is None else checked_caps(caps, len(workload), len(federation.groups))
        self.workload, self.federation, self.reading = workload, federation, reading
        run = self._prepared(self._rows if self.sharing is None else np.arange(len(workload)))
        self.reading = run.reading
        self.order, self.placement = order, placement
        self._tiers = run.problem.extras is not None and run.problem.extras.tier.size > 0
        self.runs = self._new_runs(run.problem, run.plan, objectives, runs, places, others)
        packed = not self._whole and any(usage_note(name, use) is not None for name in OF_THE_LOG)
        self._parts: list[Runs | None] | None = [None] * runs if packed or sharing is not None else None
        self.answers: Ints = self.runs.answer
        self.seen: Observations = self.runs.seen
        self.told: StepOutcome = self.runs.told

    def _new_runs(self, log: Problem, plan: Plan, objectives: Objectives, runs: int, places: int, others: int) -> Runs:
        groups, jobs = log.groups.nodes.size, self.jobs
        pools = 0 if log.extras is None else log.extras.pools.amount.size
        submit, states = np.zeros(1), side_by_side(_new_state(self._stretch(log, 0)), runs)
        return Runs(
            log=log,
            plan=plan,
            of_job=of_jobs(log),
            states=states,
            chosen=ChosenShapes.in_states(states, runs),
            order=np.tile(np.arange(jobs), (runs, 1)),
            first=np.zeros(runs, dtype=np.int64),
            t0=np.full(runs, log.t0),
            answer=np.full(runs, Answer.REST, dtype=np.int64),
            waiting=np.full((runs, places), -1, dtype=np.int64),
            ended=np.zeros((runs, len(Column))),
            room=MetricScratch(np.zeros(len(Column)), np.zeros((0, 2)), submit, read_only(submit)),
            columns=objectives.columns,
            weights=objectives.signs * np.array(objectives.weights),
            seen=Observations(
                waiting=np.zeros((runs, places, len(WaitingFeature)), dtype=np.float32),
                running=np.zeros((runs, others, len(RunningFeature)), dtype=np.float32),
                free=np.zeros((runs, groups + pools), dtype=np.float32),
                progress=np.zeros((runs, len(ProgressFeature)), dtype=np.float32),
                action_mask=np.zeros((runs, places + 1), dtype=np.int8),
            ),
            told=StepOutcome(reward=np.zeros(runs), cost=np.zeros(runs), over=np.ones(runs, dtype=np.int64)),
        )

    def __setstate__(self, state: dict[str, object]) -> None:
        # Kernels are compiled for read-only arrays of the log, and would be compiled anew for writable copies. The same
        # holds for the views of the submit in `room` and of the shapes in the states.
        self.__dict__.update(state)
        frozen(self.runs.log)
        self.runs = _with_views(self.runs)
        if self._parts is not None:
            for b, part in enumerate(self._parts):
                if part is not None:
                    frozen(part.log)
                    if part.log.sharing is not None:
                        freeze(part.log.sharing)
                    self._parts[b] = _with_views(part._replace(**self._common(b)))

    @property
    def starts(self) -> int:
        """Return the number of rows of the log at which a run can begin."""
        return len(self.workload) - self.jobs + 1

    def _stretch(self, log: Problem, first: int) -> Problem:
        # Only what a queue order, a state and the integrals read; kernels use `problem_of`.
        if log.submit.size == self.jobs:
            return log
        rows = slice(first, first + self.jobs)
        columns = ("submit", "tasks", "runtime", "estimate", "sigma", "bandwidth", "origin", "user")
        return log._replace(
            **{name: getattr(log, name)[rows] for name in columns},
            arrival=log.arrival[: self.jobs],
            arrival_rank=log.arrival_rank[: self.jobs],
            t0=float(log.submit[first]),
            extras=None if log.extras is None else _stretch_of(log.extras, first, first + self.jobs),
        )

    def begin(self, b: int, first: int) -> None:
        """Set run b to begin at row `first` of the log, in order of arrival; it begins at the next `advance_runs`."""
        runs = self.runs
        runs.answer[b] = Answer.BEGIN
        runs.first[b] = first
        if not self._whole:
            runs.t0[b] = runs.log.submit[first]
        if self._parts is not None:
            self._parts[b] = part = self._packed(b)
            runs.t0[b] = part.log.t0
        by_arrival = self.order == "fcfs" and not self._tiers and self.sharing is None
        if runs.plan.order_key == QueueKey.FIXED and not by_arrival:
            runs.order[b] = queue_order(self._problem(b), self.order)[0]
        if self._running is not None:
            set_running(self.state(b), self._running.rows, self._running)

    def _packed(self, b: int) -> Runs:
        # Run b alone, with its part of the log packed as a workload of its own.
        run = self._prepared(self._rows_of(b))
        log, state = run.problem, run.state if self.sharing is not None else _new_state(run.problem)
        states = side_by_side(state, 1)
        return self.runs._replace(
            log=log,
            plan=run.plan,
            of_job=of_jobs(log),
            states=states,
            chosen=ChosenShapes.in_states(states, 1),
            first=np.zeros(1, dtype=np.int64),
            **self._common(b),
        )

    def _prepared(self, rows: NDArray[np.int64]) -> Simulation:
        # These jobs of the workload as a run of their own.
        caps = None if self._caps is None else self._caps[rows]
        return prepare(
            self.workload.take(rows), self.federation, self._rules, reading=self.reading, sharing=self.sharing,
            caps=caps, t0=self._t0, running=self._running,
        )  # fmt: skip

    def _rows_of(self, b: int) -> NDArray[np.int64]:
        # The rows of the workload in run b, as its arrays have them: by arrival, on shared nodes as in the workload.
        first = int(self.runs.first[b])
        rows = self._rows[first : first + self.jobs]
        return rows if self.sharing is None else np.sort(rows)

    def _common(self, b: int) -> dict[str, Any]:
        # What a run that is packed by itself shares with the others: views of its rows.
        runs, own = self.runs, slice(b, b + 1)
        shared = {name: getattr(runs, name)[own] for name in ("order", "t0", "answer", "waiting", "ended")}
        seen = Observations._make(array[own] for array in runs.seen)
        return {**shared, "seen": seen, "told": StepOutcome._make(array[own] for array in runs.told)}

    def _runs_of(self, b: int) -> tuple[Runs, int]:
        # The arrays of run b, and its place in them.
        part = None if self._parts is None else self._parts[b]
        return (self.runs, b) if part is None else (part, 0)

    def _problem(self, b: int) -> Problem:
        runs, place = self._runs_of(b)
        return self._stretch(runs.log, int(runs.first[place]))

    def rest(self) -> None:
        """Set every run's answer so that the next `advance_runs` leaves the run as it is.

        An answer set after this call replaces it.
        """
        self.runs.answer[:] = Answer.REST

    def advance_runs(self) -> None:
        """Apply each run's answer, and advance the run to its next decision or to its end.

        Raise ScheduleError if a queued job can never start, and no closed nodes or power caps explain it.
        """
        together = [self.runs] if self._parts is None else [part for part in self._parts if part is not None]
        stuck = [advance_runs(runs) >= 0 for runs in together]
        if any(stuck) and not self.federation.calendar and not is_capped(self.federation):
            raise ScheduleError("A queued job can never start: please report this workload, it should be refused.")

    def state(self, b: int) -> State:
        """Return the state of run b, made of views of the common arrays."""
        runs, place = self._runs_of(b)
        return row(runs.states, place)

    def _jobs(self, b: int) -> Workload:
        return self.workload.take(self._rows_of(b))

    def waiting(self, b: int) -> NDArray[np.int64]:
        """Return the ids of the jobs that run b can choose from, in the order of their places."""
        places = self.runs.waiting[b]
        ids: NDArray[np.int64] = self._jobs(b).id[places[places >= 0]]
        return ids

    def integrals(self, b: int) -> Integrals:
        """Return the sums over time of run b so far, such as saturated seconds."""
        problem, state = self._problem(b), self.state(b)
        found = Integrals(*map(float, integrals(problem, state)))
        return until_the_last_end(found, problem, state) if self._is_stuck(b) else found

    def _is_stuck(self, b: int) -> bool:
        # Whether the run is over although some jobs have not ended: closed nodes leave them no room.
        counter = self.state(b).counter
        has_begun = counter[Counter.TRACK_ENDS] == 1
        return bool(has_begun and self.told.over[b] == 1 and counter[Counter.FINISHED] < self._most(b))

    def _most(self, b: int) -> int:
        # The number of jobs that may start in run b, or run from its begin on.
        problem = self._problem(b)
        return problem.arrival.size + problem.running.size

    def objective(self, b: int) -> float:
        """Return the objective of run b over the jobs finished so far; at the end of the run it is the final value.

        Objectives are minimised, so maximised ones count negatively; if all are maximised, the sign is turned
        back.
        """
        return float(self.told.cost[b]) * (-1.0 if (self.runs.weights < 0.0).all() else 1.0)

    def schedule(self, b: int) -> Schedule:
        """Return the schedule of run b so far, its jobs in the order of the workload.

        Jobs that have not finished have no end; cancelled jobs have no start.
        """
        state, rows = self.state(b), self._rows_of(b)
        back = np.argsort(rows)  # the workload's own order
        finished = int(state.counter[Counter.FINISHED])
        over = state.finish <= state.clock[0]
        jobs, stuck = self._most(b), self._is_stuck(b)
        done = stuck or finished == jobs
        policy = f"decisions, {self.order} on {self.placement}"
        if self.sharing is not None:
            problem, interrupted = self._problem(b), not done
            return schedule_of(
                self._jobs(b), self.federation, self.sharing, self.reading, problem, state, policy=policy,
                interrupted=interrupted,
            )  # fmt: skip
        lost, promises = lost_in(state), promises_in(state)
        start = np.where(cancelled_jobs(state) | held_jobs(state), np.nan, state.start)
        if lost is not None:
            start[lost.killed] = np.nan
        if promises is not None:  # others have those of another episode
            never = np.isnan(start)
            promises = Promises(np.where(never, np.nan, promises.time), np.where(never, 0, promises.turn))
        note = f"during an episode: {finished} of {jobs} jobs finished"
        if stuck:
            waits = np.isnan(start) & np.isin(np.arange(start.size), self._problem(b).arrival)
            left = self.workload.id[rows[back][waits[back]]]
            note = unfinished_note(finished, jobs, left=left if is_capped(self.federation) else None)
        workload = self.workload if self._whole else self.workload.take(rows[back])
        if (moldable := moldable_of(self._problem(b))) is not None and state.extras is not None:
            workload = with_shapes(workload, self.federation, moldable.which[state.extras.molded.at][back])
        if workload.feedback is not None:
            submit = actual_submits(self.workload.take(rows), state, lost)[back]
            workload = replace(workload, submit=submit, after=replace_singletons(workload))
        return Schedule(
            workload=workload,
            federation=self.federation,
            start=start[back],
            finish=np.where(over, state.finish, np.nan)[back],
            counts=np.where(np.isnan(start)[:, None], 0, state.counts)[back],  # of others, those of another episode
            t0=float(self.runs.t0[b]),
            reading=self.reading,
            policy=policy,
            integrals=self.integrals(b),
            lost=None if lost is None else lost.of_rows(back),
            promises=None if promises is None else promises.of_rows(back),
            notes=() if finished == jobs else (note,),
            until=np.inf if done else float(state.clock[Clock.NOW]),
        )


def _new_state(problem: Problem) -> State:
    return new_state(problem, needs=Needs.ENDS, separate_backfill=False)


def _with_views(runs: Runs) -> Runs:
    room = runs.room._replace(submit_seen=read_only(runs.room.submit))
    return runs._replace(room=room, chosen=ChosenShapes.in_states(runs.states, runs.states.start.shape[0]))


def _stretch_of(extras: Extras, first: int, last: int) -> Extras:
    moldable = extras.moldable._replace(first=extras.moldable.first[first : last + 1])
    standing = rows_of(extras.standing, slice(first, last))
    return extras._replace(tier=extras.tier[first:last], moldable=moldable, standing=standing)


def _objectives(
    objective: str | Sequence[str], weights: Sequence[float] | None, federation: Federation, *, shared: bool
) -> Objectives:
    if callable(objective) or (not isinstance(objective, str) and any(callable(one) for one in objective)):
        raise ValueError(
            "environment: objective is a function of metrics and has no running sum; name metrics and weights."
        )
    found = Objectives.of(objective, weights)
    for name in found.uncompiled[:1]:
        what = "depends on signals and a whole schedule" if name in found.priced else "is a quantile of all jobs"
        raise ValueError(
            f"environment: objective={name!r} {what}, and has no running sum; name another metric, e.g. "
            "'energy' or 'mean_wait'."
        )
    for name in found.names:
        if name in ("energy", "idle_energy") and isinstance(federation.power, Planned):
            raise ValueError(
                f"environment: objective={name!r} depends on the whole schedule with power={federation.power}, and has "
                "no running sum; take 'busy_energy', or power=timeout:… or reserve:…."
            )
        if shared and name in BY_SHARES:
            raise ValueError(
                f"environment: objective={name!r} goes by the shares of nodes that jobs take, and has no running sum "
                "on shared nodes; name another metric, e.g. 'mean_wait'."
            )
    return found
