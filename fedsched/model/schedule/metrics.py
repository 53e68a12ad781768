"""The metrics of a schedule in one row: their names, units and meanings, and the compiled code that computes them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum, auto
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.core.errors import Named
from fedsched.core.jit import by_reference, inlined, kernel
from fedsched.model.schedule.integrals import NOT_KNOWN, NOTHING_WASTED, Eligible, Integrals, Wasted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation


@dataclass(frozen=True, slots=True)
class Metric:
    """The description of one metric, which is a column of the metric row.

    Parameters
    ----------
    name, unit, meaning
        The metric's name, its unit ("" if it has none), and how it is computed.

    Examples
    --------
    >>> from fedsched.model.schedule.metrics import METRICS
    >>> METRICS[0]
    Metric(name='makespan', unit='s', meaning='last finish − t0')
    """

    name: str
    unit: str
    meaning: str


class Column(IntEnum):
    """The index of each metric in the metric row."""

    MAKESPAN = 0
    FLOW = auto()
    MEAN_WAIT = auto()
    MEAN_WAIT_ELIGIBLE = auto()
    MAX_WAIT = auto()
    MEAN_RESPONSE = auto()
    MEAN_SLOWDOWN = auto()
    BOUNDED_SLOWDOWN = auto()
    WEIGHTED_RESPONSE = auto()
    WEIGHTED_SLOWDOWN = auto()
    UTILISATION = auto()
    ENERGY = auto()
    BUSY_ENERGY = auto()
    IDLE_ENERGY = auto()
    COALLOCATED = auto()
    SATURATED_SECONDS = auto()
    LOSS_OF_CAPACITY = auto()
    WASTED_NODE_SECONDS = auto()
    REQUEUES = auto()
    DRAIN_LOSS = auto()
    WORKFLOW_MAKESPAN = auto()
    MEAN_STRETCH = auto()
    MAX_STRETCH = auto()
    COST = auto()
    CARBON = auto()
    PEAK_WATTS = auto()
    SWITCHES = auto()
    BOOT_WAIT = auto()
    USER_SPREAD = auto()
    P95_WAIT = auto()


def _metric(unit: str, meaning: str) -> Any:
    return field(metadata={"unit": unit, "meaning": meaning})


@dataclass(frozen=True, slots=True, eq=False)
class Metrics:
    """All metrics of one schedule, the metric row; a value is NaN if it was not requested or is not known.

    Two rows are equal if all their values are equal; NaN equals NaN here.

    Examples
    --------
    >>> metrics = fs.simulate(fs.read("sample").head(50), fs.read_federation("example")).metrics()
    >>> round(metrics.mean_wait), round(metrics.utilisation, 3)
    (9935, 0.655)
    """

    makespan: float = _metric("s", "last finish − t0")
    flow: float = _metric("s", "Σ(finish − submit)")
    mean_wait: float = _metric("s", "mean of start − submit")
    mean_wait_eligible: float = _metric("s", "mean of start − since when the job might start")
    max_wait: float = _metric("s", "greatest start − submit")
    mean_response: float = _metric("s", "mean of finish − submit")
    mean_slowdown: float = _metric("", "mean of (wait + run)/run")
    bounded_slowdown: float = _metric("", "mean of max(1, (wait + run)/max(run, 10 s))")
    weighted_response: float = _metric("s", "response weighted by tasks")
    weighted_slowdown: float = _metric("", "slowdown weighted by tasks")
    utilisation: float = _metric("", "busy node-seconds/(nodes·makespan)")
    energy: float = _metric("J", "busy energy + idle energy (eq. 1.8)")
    busy_energy: float = _metric("J", "Σ busy watts · busy node-seconds")
    idle_energy: float = _metric("J", "Σ idle watts · idle node-seconds over the makespan")
    coallocated: float = _metric("jobs", "jobs that ran on more than one cluster")
    saturated_seconds: float = _metric("s", "seconds of saturated uplink, summed over uplinks")
    loss_of_capacity: float = _metric("", "share of the machine idle while a job that fits waits")
    wasted_node_seconds: float = _metric("s", "node-seconds of runs that lost their nodes to downtimes")
    requeues: float = _metric("jobs", "runs that were begun anew after that")
    drain_loss: float = _metric("s", "node-seconds idle before known downtimes, which kept jobs away (of a schedule)")
    workflow_makespan: float = _metric("s", "mean over workflows of last end − first submit (of a schedule)")
    mean_stretch: float = _metric("", "mean over workflows of makespan/critical path (of a schedule)")
    max_stretch: float = _metric("", "greatest of these")
    cost: float = _metric("", "energy × price over time, in the price's money (of a schedule)")
    carbon: float = _metric("kg", "energy × carbon intensity over time (of a schedule)")
    peak_watts: float = _metric("W", "greatest power at a time, where signals or switching ask (of a schedule)")
    switches: float = _metric("nodes", "how often a node was switched off (of a schedule)")
    boot_wait: float = _metric("s", "mean of start − since when a job had its nodes, which booted (of a schedule)")
    user_spread: float = _metric("", "standard deviation over users of their mean bounded slowdown (on request)")
    p95_wait: float = _metric("s", "the wait that 95 % of the jobs do not exceed, interpolated (of a schedule)")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Metrics):
            return NotImplemented
        pairs = zip(self.as_dict().values(), other.as_dict().values(), strict=True)
        return all(a == b or (a != a and b != b) for a, b in pairs)

    def __hash__(self) -> int:
        return hash(tuple(value if value == value else None for value in self.as_dict().values()))

    @classmethod
    def from_row(cls, row: NDArray[np.float64]) -> Metrics:
        """Return the metrics in an array with one value per metric, as `fill_row` fills it."""
        return cls(*(float(value) for value in row))

    def as_dict(self) -> dict[str, float]:
        """Return the row as a mapping from metric name to value."""
        return Named("metric", {name: getattr(self, name) for name in NAMES})

    def __getitem__(self, name: str) -> float:
        return self.as_dict()[name]

    def telling(self) -> dict[str, float]:
        """Return the metrics worth showing, by name: known values only.

        Losses of 0 are left out, and `mean_wait_eligible` if it equals `mean_wait`.
        """
        known = {name: value for name, value in self.as_dict().items() if value == value}
        if self.mean_wait_eligible == self.mean_wait:
            known.pop("mean_wait_eligible", None)
        return {name: value for name, value in known.items() if value or name not in LOSSES}


PRICED = ("cost", "carbon", "peak_watts")  # metrics that need a federation's signals
# Kernels leave these columns empty; only a schedule's metrics have them.
OF_A_SCHEDULE = (
    "drain_loss", "workflow_makespan", "mean_stretch", "max_stretch", *PRICED, "switches", "boot_wait", "p95_wait",
)  # fmt: skip
LOSSES = ("wasted_node_seconds", "requeues", "drain_loss")
METRICS: tuple[Metric, ...] = tuple(Metric(column.name, **column.metadata) for column in fields(Metrics))
NAMES: tuple[str, ...] = tuple(metric.name for metric in METRICS)
FIRST_INTEGRAL = int(Column[Integrals._fields[0].upper()])  # the columns of the other integrals follow
QUANTILES = {"p95_wait": 0.95}  # metrics that are quantiles of the waits of the finished jobs
BOUND_SECONDS = 10.0  # the floor of the run time in the bounded slowdown


@by_reference
class Measured(NamedTuple):
    """The columns of a workload and a federation that `fill_row` reads, as arrays."""

    submit: NDArray[np.float64]
    tasks: NDArray[np.int64]
    user: NDArray[np.int64]  # user index 0..U-1 of each job
    group_nodes: NDArray[np.int64]
    group_cluster: NDArray[np.int64]
    busy_watts: NDArray[np.float64]
    idle_watts: NDArray[np.float64]
    watts: NDArray[np.float64]  # job × group: each node's watts under a job; empty if all draw busy_watts


@kernel
def fill_row(
    measured: Measured,
    t0: float,
    start: NDArray[np.float64],
    finish: NDArray[np.float64],
    counts: NDArray[np.int64],
    eligible: Eligible,
    wasted: Wasted,
    integrals: Integrals,
    user_sums: NDArray[np.float64],
    row: NDArray[np.float64],
) -> None:
    """Fill `row` with the metrics of the jobs that have finished (a finish that is not NaN).

    Lost runs count as busy time, and extend the makespan. Without finished jobs, waits and slowdowns are NaN; without
    lost runs too, all metrics are. `eligible` has the times from which jobs might start. `user_sums` is a workspace
    with a row per user; with no rows, the user spread is NaN.
    """
    jobs, groups = counts.shape
    done = 0
    last_finish = t0
    flow = wait_sum = in_queue = wait_max = slowdown = bounded = 0.0
    weight = weighted_response = weighted_slowdown = 0.0
    busy_seconds = busy_energy = idle_saved = 0.0
    coallocated = 0
    user_sums[:, :] = 0.0
    for j in range(jobs):
        if np.isnan(finish[j]):
            continue
        done += 1
        run = finish[j] - start[j]
        busy = max(0.0, finish[j] - max(start[j], t0))  # of a job that ran before t0, only the time from t0 on counts
        wait = start[j] - measured.submit[j]
        response = finish[j] - measured.submit[j]
        last_finish = max(last_finish, finish[j])
        flow += response
        wait_sum += wait
        if eligible.since.size > 0:
            in_queue += start[j] - eligible.since[j]
        wait_max = max(wait_max, wait)
        slowdown += response / run
        job_bounded = max(1.0, response / max(run, BOUND_SECONDS))
        bounded += job_bounded
        weight += measured.tasks[j]
        weighted_response += measured.tasks[j] * response
        weighted_slowdown += measured.tasks[j] * (response / run)
        first_cluster = -1
        spans = False
        own = measured.watts.size > 0
        for g in range(groups):
            used = counts[j, g]
            if used > 0:
                busy_seconds += used * busy
                watts = measured.watts[j, g] if own else measured.busy_watts[g]
                busy_energy += watts * (used * busy)
                idle_saved += measured.idle_watts[g] * (used * busy)
                if first_cluster < 0:
                    first_cluster = measured.group_cluster[g]
                elif measured.group_cluster[g] != first_cluster:
                    spans = True
        if spans:
            coallocated += 1
        if user_sums.shape[0] > 0:
            user_sums[measured.user[j], 0] += job_bounded
            user_sums[measured.user[j], 1] += 1.0
    row[:] = np.nan
    if done == 0 and wasted.until < t0:
        return
    for g in range(wasted.seconds.size):
        busy_seconds += wasted.seconds[g]
        busy_energy += measured.busy_watts[g] * wasted.seconds[g]
        idle_saved += measured.idle_watts[g] * wasted.seconds[g]
    busy_energy += wasted.more
    makespan = max(last_finish, wasted.until) - t0
    nodes = 0
    idle_total = 0.0
    for g in range(groups):
        nodes += measured.group_nodes[g]
        idle_total += measured.idle_watts[g] * measured.group_nodes[g]
    idle_energy = idle_total * makespan - idle_saved
    row[Column.MAKESPAN] = makespan
    if done > 0:
        row[Column.FLOW] = flow
        row[Column.MEAN_WAIT] = wait_sum / done
        row[Column.MEAN_WAIT_ELIGIBLE] = (in_queue if eligible.since.size > 0 else wait_sum) / done
        row[Column.MAX_WAIT] = wait_max
        row[Column.MEAN_RESPONSE] = flow / done
        row[Column.MEAN_SLOWDOWN] = slowdown / done
        row[Column.BOUNDED_SLOWDOWN] = bounded / done
        row[Column.WEIGHTED_RESPONSE] = weighted_response / weight
        row[Column.WEIGHTED_SLOWDOWN] = weighted_slowdown / weight
    row[Column.UTILISATION] = busy_seconds / (nodes * makespan)
    row[Column.ENERGY] = busy_energy + idle_energy
    row[Column.BUSY_ENERGY] = busy_energy
    row[Column.IDLE_ENERGY] = idle_energy
    row[Column.COALLOCATED] = coallocated
    for i in range(len(integrals)):
        row[FIRST_INTEGRAL + i] = integrals[i]
    row[Column.USER_SPREAD] = _spread(user_sums)


@inlined
def _spread(user_sums: NDArray[np.float64]) -> float:
    users = 0
    total = square = 0.0
    for u in range(user_sums.shape[0]):
        if user_sums[u, 1] > 0:
            mean = user_sums[u, 0] / user_sums[u, 1]
            users += 1
            total += mean
    if users == 0:
        return np.nan
    centre = total / users
    for u in range(user_sums.shape[0]):
        if user_sums[u, 1] > 0:
            square += (user_sums[u, 0] / user_sums[u, 1] - centre) ** 2
    return np.sqrt(square / users)


def quantiles_of(
    submit: NDArray[np.float64], start: NDArray[np.float64], finish: NDArray[np.float64]
) -> dict[str, float]:
    """Return the quantiles of the waits of the jobs that have finished, by name; NaN if none has."""
    waits = (start - submit)[~np.isnan(finish)]
    return {name: float(np.quantile(waits, q)) if waits.size else float("nan") for name, q in QUANTILES.items()}


def measured(workload: Workload, federation: Federation) -> Measured:
    """Return the arrays of this workload and this federation that `fill_row` reads, read-only."""
    from fedsched.model.power.watts import watts_of  # not a source of the kernel

    groups = federation.groups
    inputs = Measured(
        submit=np.array(workload.submit, dtype=np.float64),
        tasks=np.array(workload.tasks, dtype=np.int64),
        user=np.unique(workload.user, return_inverse=True)[1].astype(np.int64),
        group_nodes=np.array([group.count for group in groups], dtype=np.int64),
        group_cluster=np.array(federation.group_cluster, dtype=np.int64),
        busy_watts=np.array([group.busy_watts for group in groups], dtype=np.float64),
        idle_watts=np.array([group.idle_watts for group in groups], dtype=np.float64),
        watts=np.array(watts_of(workload, groups), dtype=np.float64),
    )
    for array in inputs:
        array.setflags(write=False)  # as in a Problem: the kernel is compiled for one type
    return inputs


def metrics_of(
    inputs: Measured,
    t0: float,
    start: NDArray[np.float64],
    finish: NDArray[np.float64],
    counts: NDArray[np.int64],
    *,
    eligible: NDArray[np.float64] | None = None,
    wasted: Wasted = NOTHING_WASTED,
    integrals: Integrals = NOT_KNOWN,
    users: bool = False,
) -> Metrics:
    """Return the metrics of a schedule, given by start times, finish times and node counts: see `fill_row`.

    The user spread is computed only if `users` is true. Metrics that need a whole `Schedule` are NaN.
    """
    row = np.full(len(Column), np.nan)
    user_sums = np.zeros((int(inputs.user.max(initial=-1)) + 1 if users else 0, 2))
    with np.errstate(divide="ignore", invalid="ignore"):  # a job of no length; without the compiler numpy would warn
        fill_row(
            inputs,
            float(t0),
            np.array(start, dtype=np.float64),
            np.array(finish, dtype=np.float64),
            np.array(counts, dtype=np.int64),
            Eligible(np.zeros(0) if eligible is None else np.array(eligible, dtype=np.float64)),
            Wasted(np.array(wasted.seconds, dtype=np.float64), float(wasted.until), float(wasted.more)),
            Integrals(*map(float, integrals)),
            user_sums,
            row,
        )
    return Metrics.from_row(row)


# Unit -> (name, size, least value for which it is used), the largest first.
SCALES = {
    "s": (("d", 86400.0, 259200.0), ("h", 3600.0, 7200.0), ("min", 60.0, 120.0), ("s", 1.0, 0.0)),
    "J": (("GWh", 3.6e12, 3.6e12), ("MWh", 3.6e9, 3.6e9), ("kWh", 3.6e6, 3.6e6), ("Wh", 3600.0, 3600.0),
          ("J", 1.0, 0.0)),
    "W": (("MW", 1e6, 2e6), ("kW", 1e3, 2e3), ("W", 1.0, 0.0)),
}  # fmt: skip
UNITS = {metric.name: metric.unit for metric in METRICS}
SHARES = ("utilisation", "loss_of_capacity")


def scaled(unit: str, most: float) -> tuple[str, float]:
    """Return the unit in which to show values up to `most` of a base unit ("s", "J" or "W"): its name and its size.

    For example ("h", 3600.0) for 8000 s.
    """
    return next((name, size) for name, size, least in SCALES[unit] if abs(most) >= least)


def scale_of(name: str, most: float) -> tuple[str, float]:
    """Return the unit in which to show a metric's values up to `most`: its name and its size in the metric's unit.

    It is ("%", 0.01) for shares; a unit without larger ones has size 1.
    """
    if name in SHARES:
        return "%", 0.01
    unit = UNITS.get(name, "")
    return scaled(unit, most) if unit in SCALES else (unit, 1.0)


def with_unit(name: str, value: float, *, gap: str = " ") -> str:
    """Return a metric's value as text in a suitable unit, "5.2 h" or "63.1 %"; a dash for NaN.

    `gap` stands between number and unit.
    """
    if value != value:
        return "–"
    unit, size = scale_of(name, value)
    if name in SHARES:
        small = 0.0 < abs(value) < 0.001
        return f"{100 * value:.{'2g' if small else '1f'}}{gap}%"
    value /= size
    return f"{f'{value:,.0f}' if abs(value) >= 1000 else f'{value:.4g}'}{gap if unit else ''}{unit}"
