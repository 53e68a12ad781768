"""PackedProblem: the jobs and nodes of a search as arrays, with batch evaluation of plans."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.bounds.lower.longest_paths import may_not_start
from fedsched.core.errors import InfeasibleError
from fedsched.core.jit import constant
from fedsched.engine.arrays.new_state import new_state
from fedsched.engine.arrays.structs import RunningJobs
from fedsched.engine.codes import Dispatch, Needs, Placement, Status, needs_of
from fedsched.engine.loop.event_loop import first_unplaceable
from fedsched.engine.optional_features.moldable import with_current_shapes
from fedsched.engine.pack.foresight import may_miss
from fedsched.engine.pack.problem import frozen, measured_of
from fedsched.engine.pack.shape_arrays import Shapes, read_only, with_writable_shapes
from fedsched.engine.plans import plan_in_order
from fedsched.engine.run.batch import in_slices
from fedsched.engine.run.evaluate import NO_JOB_IS_MISSING, Common, evaluate_rows, no_running_jobs
from fedsched.engine.run.simulation import promises_in, spared_in
from fedsched.model.schedule.lost import RunTable
from fedsched.model.schedule.metrics import NAMES, QUANTILES, Column, quantiles_of
from fedsched.search.encoding import delays as put_off
from fedsched.search.encoding.genome import (
    CAP_FAULT,
    FAULTS,
    ORDER_FAULT,
    RULE_FAULT,
    SHAPE_FAULT,
    PlanLayout,
    Space,
    decode_weights,
    first_fault,
    repair,
)
from fedsched.search.problem.objectives import signs_of
from fedsched.search.run.interruptible_evaluation import metrics_unless

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from fedsched.engine.arrays.structs import Floats, Ints, Plan, Problem, State
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.power_draw import Pricing
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.search.encoding.delays import Delays
    from fedsched.search.problem.objectives import Objectives

LEAST_CAP, ANY_CAP = constant(0), constant(np.iinfo(np.int64).min)
FAULT_TEXTS = {
    ORDER_FAULT: "order must hold each of the rows 0..{jobs} − 1 exactly once",
    RULE_FAULT: "rules must be numbers of a dispatch rule and a placement rule of plans, as problem.default_rules()",
    CAP_FAULT: "caps must be at least 0; problem.repaired sets them within their limits",
    SHAPE_FAULT: "shapes must be indices of the jobs' shapes",
}
PLAN_DISPATCH = (Dispatch.GREEDY, Dispatch.STRICT, Dispatch.EASY, Dispatch.LOCAL)
FAR = 2.0**30  # factor of the penalty on each metric for each further job without an end


class Seat(NamedTuple):
    """What one thread needs to evaluate plans: its problem, space and workspace."""

    problem: Problem
    space: Space
    state: State


class PackedProblem:
    """Jobs to plan on nodes, as arrays: `values` takes plans as rows, and returns their objective values.

    Parameters
    ----------
    problem
        The jobs, those to plan first, and the nodes.
    limits
        Jobs to plan × groups: caps that forbid nothing.
    placements, dispatches
        The rules that plans may have: under each placement every job fits on the empty federation.
    objectives
        The values to minimise.
    ids
        The jobs' numbers in errors.
    running
        The jobs of `problem.running`, as they run at its t0.
    threads
        How many threads evaluate plans; results do not depend on it.
    states
        The threads' workspaces, if the caller has some.
    shapes
        The shapes that plans may choose; None: plans do not choose shapes.
    pricing
        Prices of runs by the federation's signals, if objectives need them.
    delays
        The limits of delays; None: plans do not delay jobs.
    """

    whole_nodes = True  # each task has a node of its own
    workload: Workload  # the jobs; row j is job j of plans
    federation: Federation

    def __init__(
        self,
        problem: Problem,
        *,
        limits: Ints,
        placements: Ints,
        dispatches: Sequence[Dispatch],
        objectives: Objectives,
        ids: Ints,
        running: RunningJobs | None,
        threads: int = 1,
        states: Sequence[State] = (),
        shapes: Shapes | None = None,
        pricing: Pricing | None = None,
        delays: Delays | None = None,
        may_starve: bool = False,
    ) -> None:
        self.problem, self._may_starve = problem, may_starve
        self.delays, self.pricing, self.shapes = delays, pricing, shapes
        self.objectives = objectives
        self.ids = ids
        self.layout = PlanLayout(len(limits), limits.shape[1], shapes is not None, delays is not None)
        self.space = Space(
            common=Common(
                shared=plan_in_order(np.arange(len(limits)), limits, dispatch=dispatches[0]),
                running=_running_rows(running, self.layout.groups),
                measured=measured_of(problem),
                missing=NO_JOB_IS_MISSING,
                missed=0,
            ),
            limits=limits,
            nodes=np.array(problem.groups.nodes),
            no_load=np.zeros(problem.groups.uplink.size),
            placements=placements,
            dispatches=np.array(dispatches, dtype=np.int64),
        )
        self.threads = threads
        self._states = list(states)
        self._seats: list[Seat] = []
        self._moments: list[Floats] = []  # each seat's array for delays
        self._lacking = np.zeros(0, dtype=np.int64)
        self.no_users = np.zeros((0, 2))
        self._quantiles = bool(objectives.functions) or not QUANTILES.keys().isdisjoint(objectives.names)
        self.rank_by_ends()

    def rank_by_ends(self) -> None:
        """Set the penalty for each job without an end beyond the number under first come, first served [48].

        The penalty is zero for all plans if no job may miss its end.
        """
        common = self.space.common._replace(missing=NO_JOB_IS_MISSING, missed=0)
        self._seats, self._lacking = [], self._lacking[:0]
        if self._may_starve or may_miss(self.problem):
            self.space = self.space._replace(common=common._replace(missing=np.zeros(len(Column))))
            first_come = np.argsort(self.problem.arrival_rank[: self.layout.jobs], kind="stable")
            (row,) = self.metrics(self.row(first_come)[None])
            self._lacking = self._without_end(self.ends())
            common = common._replace(
                missing=signs_of(NAMES) * FAR * np.maximum(1.0, np.abs(row)), missed=self._lacking.size
            )
        self.space = self.space._replace(common=common)
        self._seats = []

    @property
    def key_parts(self) -> tuple[object, ...]:
        """Return what distinguishes a problem besides its packed arrays, for the keys of checkpoints."""
        running = self.space.common.running
        return tuple(running) if running.rows.size else ()

    @property
    def may_miss(self) -> bool:
        """Return whether some plan may leave jobs without an end."""
        return self.space.common.missing.size > 0

    def missed(self, finish: Floats) -> int:
        """Return the number of jobs that may start or run and have no end: NaN in `finish`."""
        return self._without_end(finish).size

    def misses_sure_jobs(self, *schedules: Schedule) -> bool:
        """Return whether a job that is sure to start has no end in a schedule, or under first come, first served."""
        lacking = {*self._lacking.tolist(), *(j for one in schedules for j in self._without_end(one.finish).tolist())}
        return bool(lacking and not may_not_start(self.problem)[sorted(lacking)].all())

    @property
    def no_sure_starts(self) -> bool:
        """Return whether every job may be cancelled, may miss a reservation, or waits for a job that may."""
        return bool(may_not_start(self.problem)[self._able].all())

    @property
    def _able(self) -> Ints:
        return np.concatenate([self.problem.arrival, self.problem.running])

    def _without_end(self, finish: Floats) -> Ints:
        return self._able[np.isnan(finish[self._able])]

    def ranked(self, metrics: Floats, finish: Floats) -> Floats:
        """Return a run's metric row, plus a penalty for each job more without an end than first come, first served has.

        With fewer such jobs the penalty is negative. If no job may miss its end, the row is returned unchanged.
        """
        common = self.space.common
        if not self.may_miss:
            return metrics
        return np.nan_to_num(metrics, nan=0.0) + (self.missed(finish) - common.missed) * common.missing

    def ends(self, thread: int = 0) -> Floats:
        """Return each job's end in the plan that a thread has simulated last; NaN if the job has none."""
        return self.seat(thread).state.finish

    @property
    def states(self) -> list[State]:
        """Return the workspaces, one for each thread, made at the first call."""
        if not self._states:
            needs = needs_of(*PLAN_DISPATCH)
            self._states = [new_state(self.problem, needs=needs, separate_backfill=False) for _ in range(self.threads)]
        return self._states

    def seat(self, thread: int = 0) -> Seat:
        """Return a thread's problem, space and workspace, with the thread's own arrays for shapes and delays."""
        if not self._seats:
            self._moments = []
            self._seats = [self._seat(state) for state in self.states]
        return self._seats[thread]

    def _seat(self, state: State) -> Seat:
        problem, common = with_current_shapes(self.problem, state), self.space.common
        if self.shapes is None:
            common = common._replace(measured=measured_of(problem))
        else:
            problem, shapes = with_writable_shapes(problem, self.shapes)
            common = common._replace(measured=measured_of(problem), shapes=shapes)
        if self.delays is not None:
            problem, moments = put_off.with_writable_begins(problem, self.delays)
            self._moments.append(moments)
        if state.extras is not None and np.isinf(problem.submit).any():  # as they follow in each plan [45]
            common = common._replace(
                measured=common.measured._replace(submit=read_only(state.extras.waiting.submitted))
            )
        return Seat(problem, self.space._replace(common=common), state)

    def with_own_workspaces(self, threads: int = 1) -> Self:
        """Return a copy of the problem for another thread or process, which makes its own workspaces."""
        other = copy(self)
        other.threads = threads
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_states": [], "_seats": [], "_moments": []}  # workspaces are not pickled

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Unpickled arrays are writable, but kernels are compiled for read-only ones.
        self.problem = frozen(self.problem)
        common = self.space.common._replace(measured=measured_of(self.problem))
        self.space = self.space._replace(common=common)
        if self.shapes is not None:
            self.shapes = Shapes(*map(_frozen, self.shapes))

    # ---- evaluation ---------------------------------------------------------------------------------------------

    def metrics(self, rows: Ints) -> Floats:
        """Return the metric rows of feasible plans (plans × metrics), simulated on all threads.

        Raise InfeasibleError if a job of a plan can never start, and ValueError if a row is no plan.
        """
        rows = self.checked(rows)
        read = np.ascontiguousarray(rows[:, : self.layout.read])
        metrics = np.full((len(rows), len(Column)), np.nan)
        self.seat()

        def work(thread: int, first: int, last: int) -> None:
            one_by_one = [(k, k + 1) for k in range(first, last)]
            at_once = self.pricing is None and self.delays is None and not self._quantiles
            for begin, end in [(first, last)] if at_once else one_by_one:
                self._put_off(rows[begin], thread)
                self._measure(thread, read, metrics, begin, end)
                self._price(metrics[begin], thread)

        in_slices(work, len(rows), jobs=self.layout.jobs, threads=self.threads)
        return metrics

    def _measure(self, thread: int, rows: Ints, metrics: Floats, begin: int, end: int) -> None:
        # Fills the metric rows of plans begin .. end − 1.
        problem, space, state = self.seat(thread)
        failed = evaluate_rows(problem, space.common, rows, state, self.no_users, metrics, begin, end)
        if failed >= 0:
            raise self._stuck(failed)

    def _put_off(self, row: Ints, thread: int) -> None:
        # Writes a plan's delays to the seat of a thread, before it is simulated.
        if self.delays is not None:
            self._moments[thread][:] = self.delays.moments(self.layout.delays(row[None])[0])

    def _price(self, row: Floats, thread: int) -> None:
        # Fills the metrics that need all jobs of the plan that a thread has just simulated: priced ones and quantiles.
        if self._quantiles:
            submit, state = self.seat(thread)[1].common.measured.submit, self._last_state(thread)
            for name, value in quantiles_of(submit, state.start, state.finish).items():
                column = Column[name.upper()]
                penalty = 0.0 if np.isnan(row[column]) else row[column]  # for jobs that have no end
                row[column] = (0.0 if self.may_miss and np.isnan(value) else value) + penalty
        if self.pricing is not None:
            problem, _, state = self.seat(thread)
            spared = spared_in(problem, state, float(row[Column.MAKESPAN]))
            energies = float(row[Column.ENERGY]) + spared, float(row[Column.IDLE_ENERGY]) + spared
            promises = promises_in(state)
            for name, value in self.pricing.measures(*self._drawing(thread), problem.t0, *energies, promises).items():
                row[Column[name.upper()]] = value

    def _last_state(self, thread: int) -> State:
        # The state at the end of the plan that a thread has simulated last.
        return self.seat(thread)[2]

    def _drawing(self, thread: int) -> tuple[RunTable, Floats]:
        # Jobs' times and nodes in the plan that a thread has simulated last, and the watts of each node under each job.
        problem, _, state = self.seat(thread)
        ran = np.flatnonzero(~np.isnan(state.finish))  # others never start in any plan
        return RunTable(ran, state.start[ran], state.finish[ran], state.counts[ran]), problem.watts

    def _stuck(self, plan: int) -> InfeasibleError:
        return InfeasibleError(f"Plan {plan} has a job that its caps and placement never let start.")

    def values(self, rows: Ints) -> Floats:
        """Return the values to minimise, plans × objectives; plans that miss a deadline are ranked by lateness."""
        return self.objectives.sought(self.metrics(rows))

    def values_unless(self, rows: Ints, over: Callable[[], bool]) -> tuple[Floats, Ints]:
        """Return the values of the rows evaluated before `over` returns True, and the indices of these rows.

        `over` is also called while a row is simulated, which then does not count.
        """
        rows = self.checked(rows)
        metrics = np.full((len(rows), len(Column)), np.nan)
        self.seat()

        def work(thread: int, first: int, last: int) -> None:
            for k in range(first, last):
                if over():
                    return
                self._put_off(rows[k], thread)
                if self._measure_unless(thread, k, rows[k][: self.layout.read], metrics[k], over):
                    self._price(metrics[k], thread)
                    metrics[k] = self.ranked(metrics[k], self.ends(thread))

        in_slices(work, len(rows), jobs=self.layout.jobs, threads=self.threads)
        ended = np.flatnonzero(~np.isnan(metrics[:, Column.MAKESPAN]))
        if not ended.size:  # users' functions get no empty arrays
            return np.zeros((0, len(self.objectives.names))), ended
        return self.objectives.sought(metrics[ended]), ended

    def _measure_unless(self, thread: int, plan: int, row: Ints, metrics: Floats, over: Callable[[], bool]) -> bool:
        # Fills a plan's metric row; returns whether the plan ended before `over` was true.
        problem, space, state = self.seat(thread)
        status = metrics_unless(problem, space.common, self.layout, row, state, metrics, over)
        if status == Status.STUCK:
            raise self._stuck(plan)
        return status == Status.DONE

    # ---- rows ---------------------------------------------------------------------------------------------------

    def repaired(self, rows: Ints) -> Ints:
        """Make the rows feasible in place, and return them.

        Then caps are within limits, delays within slack, and every job fits on the empty federation. Raise ValueError
        if a row's order is no permutation, or if its rules or shapes are none: these are not repaired.
        """
        self.checked(rows, least=ANY_CAP)
        problem, space, state = self.seat()
        repair(problem, space, rows, state)
        if self.delays is not None:
            delays = self.layout.delays(rows)
            np.clip(delays, 0, self.delays.slack, out=delays)
        return rows

    def checked(self, rows: Ints, *, least: int = LEAST_CAP) -> Ints:
        """Return the rows as an array of int64; raise ValueError for the first one that kernels could not read.

        Caps below `least` are a fault.
        """
        given, layout = np.asarray(rows), self.layout
        if given.ndim != 2 or given.shape[1] not in (layout.length, layout.read) or given.dtype.kind not in "iu":
            raise ValueError(
                f"rows: shape {given.shape} of {given.dtype} must be plans × {layout.length} whole numbers; "
                "problem.row and problem.random_rows make such rows."
            )
        read = np.ascontiguousarray(given, dtype=np.int64)  # kernels are compiled for no other layout
        place = self._first_fault(read, least)
        if place >= 0:
            plan, kind = divmod(place, FAULTS)
            raise ValueError(f"rows: the {FAULT_TEXTS[kind].format(jobs=layout.jobs)} (plan {plan}).")
        return read

    def _first_fault(self, rows: Ints, least: int) -> int:
        shapes = np.zeros(0, dtype=np.int64) if self.shapes is None else np.diff(self.shapes.first)
        marks = np.zeros(self.layout.jobs, dtype=np.int64)
        known = np.array(PLAN_DISPATCH)  # of a rolling instant, more than its own rules
        return first_fault(rows, self.layout.groups, known, len(Placement), shapes, least, marks)

    def holds(self, rows: Ints) -> bool:
        """Return whether all rows are feasible plans: `repaired` would leave them unchanged."""
        layout, space = self.layout, self.space
        rules = layout.rules(rows)
        return bool(
            self._first_fault(rows, LEAST_CAP) < 0
            and (layout.caps(rows) <= space.limits).all()
            and np.isin(rules[:, 0], space.dispatches).all()
            and np.isin(rules[:, 1], space.placements).all()
            and np.array_equal(self.repaired(rows.copy()), rows)
        )

    def rows_of_keys(self, keys: Floats) -> Ints:
        """Return the plans of genomes of keys; the repaired weights are written back to the genomes.

        A genome is n keys (the queue order is their ascending rank) and n·G weights, for n jobs and G groups. A
        weight is the share of the group's nodes that is forbidden to the job.
        """
        jobs = self.layout.jobs
        rows = np.zeros((len(keys), self.layout.length), dtype=np.int64)
        rows[:, :jobs] = np.argsort(keys[:, :jobs], axis=1, kind="stable")
        self.layout.rules(rows)[:] = self.default_rules()
        weights = np.ascontiguousarray(keys[:, jobs:])
        problem, space, state = self.seat()
        decode_weights(problem, space, weights, rows, state)
        keys[:, jobs:] = weights
        return rows

    def keys_of_rows(self, rows: Ints) -> Floats:
        """Return genomes of keys that decode to these orders and caps; dispatch and placement are lost."""
        jobs = self.layout.jobs
        keys = np.empty((len(rows), self.layout.keys_length))
        np.put_along_axis(keys[:, :jobs], rows[:, :jobs], (np.arange(jobs) + 0.5) / jobs, axis=1)
        caps = self.layout.caps(rows)
        keys[:, jobs:] = ((self.space.nodes - caps) / self.space.nodes).reshape(len(rows), -1)
        return keys

    def default_rules(self) -> tuple[int, int]:
        """Return the numbers of greedy dispatch and of `fastest` placement.

        If not every job fits under `fastest`, the first usable placement rule takes its place.
        """
        placements = self.space.placements.tolist()
        fastest = int(Placement.FASTEST)
        return int(Dispatch.GREEDY), fastest if fastest in placements else placements[0]

    def row(
        self,
        order: Sequence[int] | Ints,
        caps: Ints | None = None,
        rules: tuple[int, int] | None = None,
        choices: Ints | None = None,
        delays: Ints | Floats | None = None,
    ) -> Ints:
        """Return one feasible plan made of its parts.

        Without `caps` nothing is forbidden; without `rules` the plan has the default ones. Without `choices`
        jobs keep their present shapes; without `delays` (in seconds) no job is put off.

        Parameters
        ----------
        order
            The jobs' rows in the order of the queue.
        caps
            Jobs × groups: how many nodes of each group each job may use.
        rules
            The numbers of the dispatch and the placement rule.
        choices
            What each job chooses of its shapes.
        delays
            The seconds by which each job with slack is put off.
        """
        jobs = self.layout.jobs
        permutation = np.asarray(order, dtype=np.int64)
        if permutation.shape != (jobs,) or not np.array_equal(np.sort(permutation), np.arange(jobs)):
            raise ValueError(f"order: it must hold each of the rows 0..{jobs - 1} exactly once.")
        if caps is not None and np.shape(caps) != self.space.limits.shape:
            raise ValueError(f"caps: shape {np.shape(caps)} must be (jobs, groups) = {self.space.limits.shape}.")
        limits = self.space.limits if caps is None else np.asarray(caps, dtype=np.int64)
        chosen = np.array(self.default_rules() if rules is None else rules, dtype=np.int64)
        if chosen[0] not in PLAN_DISPATCH:  # the workspaces lack the arrays of other rules
            known = ", ".join(rule.name.lower() for rule in PLAN_DISPATCH)
            raise ValueError(f"rules: a plan's dispatch must be {known}, not {Dispatch(chosen[0]).name.lower()}.")
        shapes = None if choices is None else choices[None]
        late = None if delays is None else np.asarray(delays, dtype=np.int64)[None]
        return self.repaired(self.layout.pack(permutation[None], limits[None], chosen[None], shapes, late))[0]

    def random_rows(self, count: int, rng: np.random.Generator) -> Ints:
        """Return random feasible plans: random orders, and random whole groups forbidden to about half of the jobs.

        Shapes and delays are random too, if plans choose them.

        Parameters
        ----------
        count
            The number of plans.
        rng
            The generator that draws them.
        """
        jobs, groups = self.space.limits.shape
        orders = rng.permuted(np.tile(np.arange(jobs), (count, 1)), axis=1)
        forbidden = (rng.random((count, jobs, 1)) < 0.5) & (rng.random((count, jobs, groups)) < 0.5)
        caps = np.where(forbidden, 0, self.space.limits)
        rules = np.tile(np.array(self.default_rules(), dtype=np.int64), (count, 1))
        choices = None
        if self.shapes is not None:
            drawn = rng.integers(0, np.diff(self.shapes.first), size=orders.shape)
            choices = np.where(rng.random(orders.shape) < 0.5, drawn, 0)
        late = None if self.delays is None else put_off.random_delays(self.delays, count, rng)
        return self.repaired(self.layout.pack(orders, caps, rules, choices, late))


def usable_placements(problem: Problem, plan: Plan) -> Ints:
    """Return the placement rules under which, with the plan's caps, every job fits on the empty federation.

    The rules are returned as an array of their numbers.
    """
    state = new_state(problem, needs=Needs.NOTHING, separate_backfill=False)
    rules = [int(rule) for rule in Placement]
    fits = [rule for rule in rules if first_unplaceable(problem, plan._replace(placement=rule), state) < 0]
    return np.array(fits, dtype=np.int64)


def _frozen(array: Any) -> Any:
    array.setflags(write=False)
    return array


def _running_rows(running: RunningJobs | None, groups: int) -> RunningJobs:
    if running is None:
        return no_running_jobs(groups)
    columns = {name: np.array(getattr(running, name)) for name in RunningJobs._fields if name not in ("time", "held")}
    return running._replace(**columns, held=None)  # type: ignore[arg-type]
