"""The CP-SAT model: an optional interval for each way in which a job can run, and one cumulative resource per class.

A class is a set of equal nodes.
"""

from __future__ import annotations

import math
import signal
import threading
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.bounds.exact_answers.rules import ExactRules
from fedsched.model.jobs.uneven import drop_spare_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.bounds.exact_answers.rules import Stock
    from fedsched.bounds.lower.relaxation import Floats, Ints, Relaxation
    from fedsched.model.schedule.schedule import Schedule

UNITS = (1.0, 60.0, 0.1, 0.5, 0.01, 1 / 3, 1 / 60, 0.001)  # seconds: tried as common divisors of all times
NEAR = 1e-9
FAR = 2.0**50  # units: holds count until then, which keeps them whole numbers
STEPS = 1 << 21  # of a schedule with times that have no common unit


@dataclass(frozen=True, slots=True)
class TimeUnit:
    """A unit of time: times become whole multiples of `seconds`, rounded down.

    Rounding down starts and durations keeps a schedule feasible (⌊s⌋ + ⌊d⌋ <= ⌊s + d⌋). So the best schedule in
    whole units is no longer than the best in true times. `slack` is the share by which a multiple may exceed its
    time, if that time is a multiple up to rounding.
    """

    seconds: float
    exact: bool
    slack: float

    def down(self, times: Floats) -> Ints:
        """Return the times in whole units, rounded down."""
        return np.floor(np.asarray(times) / self.seconds * (1 + NEAR)).astype(np.int64)

    def truth(self, units: float) -> float:
        """Return the seconds of this many units, or slightly less."""
        return units * self.seconds * (1 - self.slack)


def time_unit(times: Sequence[Floats], scale: float) -> TimeUnit:
    """Return a unit of which all times are multiples, or else the unit of 2^−21 × `scale` seconds."""
    values = np.unique(np.concatenate([np.ravel(part) for part in times]))
    values = values[values > 0]

    def slack(unit: float) -> float:
        whole = np.floor(values / unit * (1 + NEAR)) * unit
        return float(np.max(whole / values - 1.0, initial=0.0)) + 2**-52

    for unit in UNITS:
        ratio = values / unit
        if (abs(ratio - np.round(ratio)) <= NEAR * ratio / 4).all() and scale / unit < STEPS:
            return TimeUnit(unit, True, slack(unit))
    unit = scale / STEPS
    return TimeUnit(unit, False, slack(unit))


NO_RULES = ExactRules()
MANY = 40  # ways to spread a job over the classes; if there are more, node counts are variables
ENERGY_STEPS = 1 << 46
CONFLICTS = 100_000  # per unit of effort, since effort hardly counts the conflicts of three jobs, which take seconds
NEAR_ENOUGH = 5e-6  # relative gap at which the solver stops, finer than the units of irregular times
THERE = 1  # in place of a variable: the job starts in every schedule


def presence(cp: Any, rules: ExactRules, jobs: int) -> list[Any]:
    """Return, for each job, whether it starts: a variable of the model, or `THERE` if it always starts.

    Add the constraints that follow from waits and from jobs that never start.
    """
    optional = rules.optional
    there: list[Any] = [cp.new_bool_var(f"there{j}") if j in optional else THERE for j in range(jobs)]
    for j in sorted(optional):
        needed = [there[wait.on] for wait in rules.of_job(j) if wait.on in optional and rules.needs(wait)]
        for one in needed:
            cp.add_implication(there[j], one)
        if j in rules.barred:
            cp.add(there[j] == 0)
        elif not rules.may_leave(j):  # it is left out for that reason only
            cp.add_bool_or(there[j], *(one.negated() for one in needed))
    return there


def let_leave(
    cp: Any,
    rules: ExactRules,
    relaxation: Relaxation,
    unit: TimeUnit,
    starts: list[Any],
    there: list[Any],
    *,
    strict: bool,
) -> None:
    """Constrain jobs that may leave to start before they do, in the model.

    Jobs that wait for one that never starts wait until it has left.
    """
    if not rules.leaves:
        return
    for j, latest in enumerate(latest_starts(rules, relaxation, unit, strict=strict).tolist()):
        if rules.may_leave(j):
            cp.add(starts[j] <= latest).only_enforce_if(there[j])
    for wait in rules.waits:
        if rules.needs(wait):
            continue
        gone = rules.leaves_at(wait.on) + wait.lag - relaxation.t0 - relaxation.tick
        waits = cp.add(starts[wait.job] >= int(unit.down(np.array(gone))))
        waits.only_enforce_if(variables(there[wait.job], there[wait.on].negated()))


def latest_starts(rules: ExactRules, relaxation: Relaxation, unit: TimeUnit, *, strict: bool) -> Ints:
    """Return the last unit in which each job may start; the entry of a job that never leaves has no meaning.

    A start must be before the time at which the job leaves. If all times are whole units and the clock rounds none,
    that is the unit before. Otherwise a real start may fall into that unit, since the model delays starts and
    rounds them down, so it is allowed. `strict` takes the unit before in any case: the result is no bound then, but
    keeps to the times.
    """
    leaves = np.array(rules.leaves) - relaxation.t0
    leaves[np.isinf(leaves)] = 0.0
    if strict or (unit.exact and relaxation.tick == 0.0):
        return np.asarray(unit.down(leaves) - 1)
    return unit.down(leaves + relaxation.tasks.size * relaxation.tick)


def variables(*there: Any) -> list[Any]:
    """Return those of the arguments that are variables of the model, without the constants."""
    return [one for one in there if not isinstance(one, int)]


class Mode(NamedTuple):
    """A way in which a job can run: its row, whether it is chosen (a variable), its duration, and nodes by class."""

    row: int  # of the job's shape in the relaxation
    chosen: Any
    duration: int
    truth: float  # in seconds, not rounded
    counts: list[Any]  # numbers or variables, one a class


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """The solver's answer: starts and nodes of jobs if it found any, and a bound.

    `bound`, in the objective's own units, holds for every schedule.
    """

    starts: Ints | None
    counts: Ints
    rows: Ints  # each job's row in the relaxation: its shape
    optimal: bool
    infeasible: bool
    bound: float
    makespan: int  # in the model's units
    energy: int
    absent: int  # jobs that do not start
    seconds: float


@dataclass(slots=True, eq=False)
class Model:
    """The CP-SAT model of one relaxation, with what is needed to read the solver's answer."""

    relaxation: Relaxation
    first: Ints  # where each job's rows begin
    unit: TimeUnit
    energy_unit: float
    cp: Any
    starts: list[Any]
    modes: list[list[Mode]]
    horizon: Any
    energy: Any
    absent: Any  # number of jobs that do not start
    weights: tuple[float, float] = (1.0, 0.0)
    objective_unit: float = 1.0

    def minimise(self, makespan: float, energy: float, *, at_least: float = 0.0) -> None:
        """Set the objective: minimise makespan·T + energy·E; T is known to be at least `at_least` seconds.

        T and E are the schedule's makespan and energy.
        """
        self.weights = (makespan, energy)
        units = at_least / self.unit.seconds * (1 - 1e-9)
        # A chain of jobs, each rounded down, is shorter by less than a unit a job.
        self.cp.add(self.horizon >= (math.ceil(units) if self.unit.exact else math.floor(units) - len(self.starts) - 1))
        nothing_drawn = self.relaxation.idle_total == 0 and not self.relaxation.extra_of_jobs.any()
        if energy == 0 or (nothing_drawn and makespan > 0):
            self.objective_unit = makespan * self.unit.seconds
            self.cp.minimize(self.horizon)
        elif makespan == 0:
            self.objective_unit = energy * self.energy_unit
            self.cp.minimize(self.energy)
        else:
            self.objective_unit = energy * self.energy_unit
            self.cp.minimize(
                math.floor(makespan * self.unit.seconds / self.objective_unit) * self.horizon + self.energy
            )

    def leave_out_few(self) -> None:
        """Set the objective: minimise the number of jobs that do not start."""
        self.objective_unit = 1.0
        self.cp.minimize(self.absent)

    def solve(self, *, seconds: float, workers: int, seed: int, effort: float = math.inf) -> Solved:
        """Run the solver and return its answer, found or not; it stops after `seconds` or `effort`.

        `effort` is in the solver's own units, which are the same on every machine.
        """
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.max_deterministic_time = effort
        if effort < math.inf:
            solver.parameters.max_number_of_conflicts = round(effort * CONFLICTS)
        solver.parameters.num_workers = workers
        solver.parameters.random_seed = seed
        solver.parameters.relative_gap_limit = NEAR_ENOUGH
        status = solver.solve(self.cp)
        if threading.current_thread() is threading.main_thread():
            # The solver has replaced the handler of Ctrl-C by the system's default, which would end the process at
            # once.
            signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
        known = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        jobs, classes = len(self.starts), self.relaxation.nodes.size
        rows = self.first[:-1].copy()
        counts = np.zeros((jobs, classes), dtype=np.int64)
        starts = None
        if known:
            starts = np.array([solver.value(start) for start in self.starts], dtype=np.int64)
            for j, modes in enumerate(self.modes):
                for mode in modes:  # one is chosen, unless the job does not start
                    if solver.value(mode.chosen):
                        rows[j] = mode.row
                        counts[j] = [solver.value(count) for count in mode.counts]
        # Energy and weighted sums are rounded down from true seconds; T alone is in units that may be slightly too
        # long.
        bound = max(0.0, float(solver.best_objective_bound)) if math.isfinite(solver.best_objective_bound) else 0.0
        if self.relaxation.fits.size:
            counts = drop_spare_nodes(counts, self.relaxation.fits[rows], self.relaxation.wanted[rows])
        return Solved(
            starts=starts,
            counts=counts,
            rows=rows,
            optimal=status == cp_model.OPTIMAL,
            infeasible=status == cp_model.INFEASIBLE,
            bound=math.floor(bound + 1e-6) * self.objective_unit * (1 - self.unit.slack) * (1 - 1e-12),
            makespan=int(solver.value(self.horizon)) if known else 0,
            energy=int(solver.value(self.energy)) if known else 0,
            absent=int(solver.value(self.absent)) if known else jobs,
            seconds=float(solver.wall_time),
        )


def build(
    relaxation: Relaxation,
    first: Ints | None = None,
    *,
    scale: float,
    horizon: float | None = None,
    hint: Schedule | None = None,
    rules: ExactRules = NO_RULES,
    makespan_at_most: int | None = None,
    energy_at_most: int | None = None,
    absent_at_most: int | None = None,
    strict: bool = False,
) -> Model:
    """Return the CP-SAT model of a relaxation, without an objective.

    Parameters
    ----------
    relaxation
        The shapes of jobs, and node classes; groups that are not open to all jobs are classes of their own.
    first
        Where the rows of each job begin in the relaxation, and where those of the last one end: one row a shape. By
        default each job has one.
    scale
        The approximate length of a schedule in seconds, against which the unit of time is small.
    horizon
        A number of seconds that no better schedule exceeds, if one is known.
    hint
        A schedule to start from.
    rules
        Closures of classes, waits between jobs, and the times at which jobs leave.
    makespan_at_most, energy_at_most, absent_at_most
        Limits in the model's units, from the answer of another model of the same relaxation and scale.
    strict
        Keep exactly to the times at which jobs leave, despite rounding: the result is no bound then.
    """
    from ortools.sat.python import cp_model

    cp = cp_model.CpModel()
    closing = np.array([[one.begin, one.end] for one in rules.breaks]).reshape(-1, 2) - relaxation.t0
    lags = np.array([wait.lag for wait in rules.waits])
    leaves = np.array(rules.leaves)[np.isfinite(rules.leaves)] - relaxation.t0
    held = np.array([span for of_job in rules.holds for span in of_job]).reshape(-1, 2) - relaxation.t0
    ever = np.isinf(closing)  # nodes that do not open again
    closing[ever] = 0.0
    times = [relaxation.release, relaxation.duration[relaxation.usable], closing, lags, leaves, np.maximum(held, 0.0)]
    unit = time_unit(times, scale)
    held = np.minimum(held, FAR * unit.seconds)
    release, duration = unit.down(relaxation.release), unit.down(relaxation.duration)
    first = np.arange(relaxation.tasks.size + 1) if first is None else first
    jobs = first.size - 1
    # If each job runs alone at its slowest, all end by then: no better schedule is excluded.
    closing[:, 0] += jobs * relaxation.tick  # successive measured runs may be longer than true ones by so much
    latest = max(int(release.max()), *(int(unit.down(part).max(initial=0)) for part in (closing, leaves, held)))
    end = latest + int(duration.max(axis=1).sum() + unit.down(lags).sum()) + 1
    end = end if horizon is None else min(end, math.ceil(horizon / unit.seconds * (1 + 1e-9)) + 1)
    last = cp.new_int_var(0, end, "T")
    since = release[first[:-1]]  # the same for all shapes of a job
    starts = [cp.new_int_var(min(int(since[j]), end), end, f"start{j}") for j in range(jobs)]
    there = presence(cp, rules, jobs)
    for j in rules.optional:
        if since[j] > end:  # no better schedule includes it
            cp.add(there[j] == 0)
    modes: list[list[Mode]] = []
    for j in range(jobs):
        ways = [_modes(cp, relaxation, duration, row) for row in range(int(first[j]), int(first[j + 1]))]
        modes.append([mode for of_shape in ways for mode in of_shape])
        _choose_one(cp, modes[j], there[j])
    closed = _closed(cp, rules, np.where(ever, end + 1, unit.down(closing)))
    _schedule(cp, relaxation, starts, modes, last, closed, rules.stocks)
    _keep_held(cp, rules, relaxation, unit, starts, strict=strict)
    _let_wait(cp, rules, unit.down(lags), starts, modes, there)
    let_leave(cp, rules, relaxation, unit, starts, there, strict=strict)
    if unit.exact:
        _order_twins(cp, relaxation, first, duration, starts, rules)
    most = np.abs(relaxation.extra_of_jobs).max()
    busiest = float((relaxation.duration.max(axis=1) * relaxation.most_nodes).sum() * most)
    worst = relaxation.idle_total * end * unit.seconds + busiest
    energy_unit = worst / ENERGY_STEPS if worst > 0 else 1.0
    energy = _energy(relaxation, modes, last, unit, energy_unit)
    if makespan_at_most is not None:
        cp.add(last <= makespan_at_most)
    if energy_at_most is not None:
        cp.add(energy <= energy_at_most)
    absent = sum(1 - one for one in variables(*there))
    if absent_at_most is not None:
        cp.add(absent <= absent_at_most)
    if hint is not None:
        for j in np.flatnonzero(~np.isnan(hint.start)).tolist():
            cp.add_hint(starts[j], int((hint.start[j] - relaxation.t0) / unit.seconds))
        for j in sorted(rules.optional):
            cp.add_hint(there[j], bool(hint.start[j] == hint.start[j]))
        cp.add_hint(last, math.ceil(hint.makespan / unit.seconds))
    return Model(relaxation, first, unit, energy_unit, cp, starts, modes, last, energy, absent)


def _spreads(tasks: int, caps: list[int], fits: list[int], at_most: int) -> list[tuple[int, ...]]:
    """Return the ways to spread `tasks` tasks over the classes within these caps; none if there are over `at_most`.

    A node of class c holds `fits[c]` tasks. No way includes a node that is not needed.
    """
    ways: list[tuple[tuple[int, ...], int]] = [((), tasks)]  # and the number of tasks left
    for c, (cap, fit) in enumerate(zip(caps, fits, strict=True)):
        rest = sum(nodes * each for nodes, each in zip(caps[c + 1 :], fits[c + 1 :], strict=True))
        ways = [
            ((*way, x), left - x * fit)
            for way, left in ways
            for x in range(max(0, -((rest - left) // fit)), min(cap, -(-max(left, 0) // fit)) + 1)
        ]  # fmt: skip
        if len(ways) > at_most:
            return []
    return [way for way, left in ways if all(x == 0 or left + fit > 0 for x, fit in zip(way, fits, strict=True))]


def _places(relaxation: Relaxation, j: int) -> tuple[list[int], int]:
    """Return a job's tasks per node of each class (1 if they are counted in nodes), and its number of tasks."""
    if not relaxation.fits.size:
        return [1] * relaxation.nodes.size, int(relaxation.tasks[j])
    return np.maximum(relaxation.fits[j], 1).tolist(), int(relaxation.wanted[j])


def _modes(cp: Any, relaxation: Relaxation, duration: Ints, j: int) -> list[Mode]:
    """Return the ways in which a job can run in one shape, which is row `j` of the relaxation.

    They are every spread of its tasks if they are few, else one per slowdown, with node counts that are variables.
    """
    classes = relaxation.nodes.size
    caps = np.minimum(relaxation.caps[j], relaxation.nodes).tolist()
    fits, tasks = _places(relaxation, j)
    made: list[Mode] = []
    for way in _spreads(tasks, caps, fits, MANY):
        v = max(int(relaxation.class_slowdown[c]) for c in range(classes) if way[c])
        chosen = cp.new_bool_var(f"way{j}.{len(made)}")
        made.append(Mode(j, chosen, int(duration[j, v]), float(relaxation.duration[j, v]), list(way)))
    if made:
        return made
    for v in np.flatnonzero(relaxation.usable[j]).tolist():
        chosen = cp.new_bool_var(f"mode{j}.{v}")
        counts: list[Any] = []
        for c in range(classes):
            if relaxation.class_slowdown[c] > v or caps[c] == 0:
                counts.append(0)
                continue
            most = min(caps[c], -(-tasks // fits[c]))
            count = cp.new_int_var(0, most, f"nodes{j}.{v}.{c}")
            cp.add(count <= most * chosen)
            counts.append(count)
        if relaxation.fits.size:  # unneeded nodes are given back in the end
            cp.add(sum(count * fit for count, fit in zip(counts, fits, strict=True)) >= tasks * chosen)
        else:
            cp.add(sum(counts) == tasks * chosen)
        made.append(Mode(j, chosen, int(duration[j, v]), float(relaxation.duration[j, v]), counts))
    return made


def _choose_one(cp: Any, modes: list[Mode], there: Any) -> None:
    others = [one.negated() for one in variables(there)]
    cp.add_exactly_one(*(mode.chosen for mode in modes), *others)


def _closed(cp: Any, rules: ExactRules, closing: Ints) -> list[tuple[int, Any, int]]:
    """Return the closures of nodes as class, interval and number of nodes.

    Closures that round down to no time are left out.
    """
    found: list[tuple[int, Any, int]] = []
    for one, (begin, end) in zip(rules.breaks, closing.tolist(), strict=True):
        if begin < end:
            interval = cp.new_fixed_size_interval_var(begin, end - begin, f"break{len(found)}")
            found.append((one.node_class, interval, one.nodes))
    return found


def _let_wait(
    cp: Any, rules: ExactRules, lags: Ints, starts: list[Any], modes: list[list[Mode]], there: list[Any]
) -> None:
    """Constrain jobs in the model to start after those that they wait for, if both start."""
    for wait, lag in zip(rules.waits, lags.tolist(), strict=True):
        ran = 0 if wait.at_start else sum(mode.duration * mode.chosen for mode in modes[wait.on])
        behind = cp.add(starts[wait.job] >= starts[wait.on] + ran + lag)
        if both := variables(there[wait.job], there[wait.on]):
            behind.only_enforce_if(both)


def _schedule(
    cp: Any,
    relaxation: Relaxation,
    starts: list[Any],
    modes: list[list[Mode]],
    last: Any,
    closed: list[tuple[int, Any, int]],
    stocks: tuple[Stock, ...],
) -> None:
    """Add the constraints that every job runs in one of its ways and ends by `last`.

    Jobs exceed neither the nodes of a class nor a stock.
    """
    classes = relaxation.nodes.size
    shared: list[list[tuple[Any, Any]]] = [[] for _ in stocks]  # intervals, each with what is used meanwhile
    intervals: list[list[Any]] = [[] for _ in range(classes)]
    demands: list[list[Any]] = [[] for _ in range(classes)]
    work: list[list[Any]] = [[] for _ in range(classes)]
    for j, ways in enumerate(modes):
        for m, mode in enumerate(ways):
            interval = cp.new_optional_fixed_size_interval_var(starts[j], mode.duration, mode.chosen, f"run{j}.{m}")
            cp.add(starts[j] + mode.duration <= last).only_enforce_if(mode.chosen)
            for stock, uses in zip(stocks, shared, strict=True):
                used = stock.used(mode.row, mode.counts)
                if not isinstance(used, int):  # a variable
                    used, of_nodes = cp.new_int_var(0, stock.amount, f"used{j}.{m}"), used
                    cp.add(used == of_nodes).only_enforce_if(mode.chosen)
                uses.append((interval, used))
            for c in range(classes):
                if isinstance(mode.counts[c], int) and mode.counts[c] == 0:
                    continue
                intervals[c].append(interval)
                demands[c].append(mode.counts[c])
                fixed = isinstance(mode.counts[c], int)
                work[c].append(mode.duration * mode.counts[c] * (mode.chosen if fixed else 1))
    for stock, uses in zip(stocks, shared, strict=True):
        cp.add_cumulative([interval for interval, _ in uses], [used for _, used in uses], stock.amount)
    busy = [bool(of_class) for of_class in intervals]
    for c, interval, nodes in closed:
        intervals[c].append(interval)
        demands[c].append(nodes)
    for c in range(classes):
        if busy[c]:
            cp.add_cumulative(intervals[c], demands[c], int(relaxation.nodes[c]))
            cp.add(sum(work[c]) <= int(relaxation.nodes[c]) * last)  # implied, but it strengthens the solver's LP


def _keep_held(
    cp: Any, rules: ExactRules, relaxation: Relaxation, unit: TimeUnit, starts: list[Any], *, strict: bool
) -> None:
    """Constrain jobs in the model not to start while they are held.

    A real start before a hold may be in the hold's first unit, or later by what the clock rounds; see `latest_starts`.
    """
    late = 0 if strict or (unit.exact and relaxation.tick == 0.0) else 1
    hidden = 0.0 if strict else relaxation.tasks.size * relaxation.tick
    for j, spans in enumerate(rules.holds):
        for begin, end in spans:
            far = FAR * unit.seconds
            first = int(unit.down(np.array(min(begin - relaxation.t0 + hidden, far)))) + late
            last = int(unit.down(np.array(min(end - relaxation.t0 - relaxation.tick, far)))) - 1
            if first <= last and last >= 0:
                from ortools.util.python.sorted_interval_list import Domain

                cp.add_linear_expression_in_domain(starts[j], Domain(first, last).complement())


def _order_twins(
    cp: Any, relaxation: Relaxation, first: Ints, duration: Ints, starts: list[Any], rules: ExactRules
) -> None:
    """Add constraints against symmetry: identical jobs start in the order of their rows, unless the rules tie them."""
    tied = rules.tied
    twins: dict[tuple[bytes, ...], list[int]] = {}
    for j in range(len(starts)):
        rows = slice(int(first[j]), int(first[j + 1]))
        places = [_places(relaxation, row) for row in range(rows.start, rows.stop)]
        key = (
            relaxation.caps[rows].tobytes(),
            duration[rows].tobytes(),
            relaxation.release[rows].tobytes(),
            bytes(f"{places}", "ascii"),
            relaxation.extra_of_jobs[rows].tobytes(),
            *(part[rows].tobytes() for stock in rules.stocks for part in (stock.need, stock.per_node)),
        )
        if j not in tied:
            twins.setdefault(key, []).append(j)
    for alike in twins.values():
        for a, b in pairwise(alike):
            cp.add(starts[a] <= starts[b])


def _energy(relaxation: Relaxation, modes: list[list[Mode]], last: Any, unit: TimeUnit, energy_unit: float) -> Any:
    """Return the energy as an expression in units of `energy_unit`, every coefficient rounded down (eq. 1.8)."""
    total = math.floor(relaxation.idle_total * unit.truth(1.0) / energy_unit) * last
    watts = relaxation.extra_of_jobs
    for ways in modes:
        for mode in ways:
            for c, count in enumerate(mode.counts):
                price = float(watts[mode.row, c]) * mode.truth / energy_unit
                if isinstance(count, int):
                    total = total + math.floor(price * count) * mode.chosen if count else total
                else:
                    total = total + math.floor(price) * count
    return total
