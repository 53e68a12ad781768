"""Schedule: when and where each job runs, with methods for metrics, checks, node numbers and files."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import ScheduleError
from fedsched.core.text import counted, html, one_line
from fedsched.core.values import MOST_SECONDS, is_number, is_time
from fedsched.model.reading import UNRECORDED, Read, Reading, in_words
from fedsched.model.schedule.convenience import ScheduleConvenience
from fedsched.model.schedule.integrals import NOT_KNOWN, Integrals
from fedsched.model.schedule.lost import LostRuns, no_runs
from fedsched.model.schedule.promises import Promises, same_delays, same_promises

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from fedsched.core.names import Alternatives, Knowledge, SameTime, Saturation
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.metrics import Metrics
    from fedsched.model.schedule.node_numbers import Intervals
    from fedsched.model.schedule.power_draw import Power
    from fedsched.model.schedule.workflows import Workflow


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Schedule(Read, ScheduleConvenience):
    """The result of a simulation: start, finish and number of nodes in each group of every job of a workload.

    Times are in seconds; `counts` is jobs × groups. A job that was not started has NaN as start and finish; a job that
    still ran at the end of the simulation has NaN as finish. `lost` has the runs that downtimes aborted; a killed job
    has no other run. `reading` says what the policy knew, and how simultaneous events, uplinks and estimates were
    treated; its fields may be given one by one, and so may two of the `integrals`, which the simulation summed up. The
    schedule says what happened up to the time `until`; infinite = to the end. `promises` says from when on jobs had
    their nodes, if nodes may have had to boot. `delays` has the seconds by which a plan delayed each job. `replay`
    makes the simulation anew, for `why`; None if the schedule is not of one.

    Examples
    --------
    >>> schedule = fs.simulate(fs.read("sample").head(50), fs.read_federation("example"), "easy")
    >>> round(schedule.makespan), schedule.wait[:3]
    (109599, array([0., 0., 0.]))
    >>> schedule.verify()
    """

    workload: Workload
    federation: Federation
    start: NDArray[np.float64]
    finish: NDArray[np.float64]
    counts: NDArray[np.int64]
    t0: float
    reading: Reading
    policy: str
    integrals: Integrals
    notes: tuple[str, ...]
    lost: LostRuns
    until: float
    promises: Promises | None
    delays: NDArray[np.float64] | None
    replay: Callable[[], Any] | None

    def __init__(
        self,
        *,
        workload: Workload,
        federation: Federation,
        start: ArrayLike,
        finish: ArrayLike,
        counts: ArrayLike,
        t0: float,
        reading: Reading = UNRECORDED,
        policy: str = "",
        integrals: Integrals = NOT_KNOWN,
        loss_of_capacity: float | None = None,
        saturated_seconds: float | None = None,
        notes: tuple[str, ...] = (),
        lost: LostRuns | None = None,
        until: float = np.inf,
        promises: Promises | None = None,
        delays: ArrayLike | None = None,
        replay: Callable[[], Any] | None = None,
        same_time: SameTime | None = None,
        knowledge: Knowledge | None = None,
        saturation: Saturation | None = None,
        kill_at_estimate: bool | None = None,
        alternatives: Alternatives | None = None,
    ) -> None:
        reading = reading.but(
            same_time=same_time, knowledge=knowledge, saturation=saturation, kill_at_estimate=kill_at_estimate,
            alternatives=alternatives,
        )  # fmt: skip
        alone = {"loss_of_capacity": loss_of_capacity, "saturated_seconds": saturated_seconds}
        integrals = integrals._replace(**{name: value for name, value in alone.items() if value is not None})
        lost = no_runs(len(federation.groups)) if lost is None else lost.frozen()
        promises = None if promises is None else promises.frozen()
        given = (workload, federation, start, finish, counts, t0, reading, policy, integrals, notes, lost, until,
                 promises, delays, replay)  # fmt: skip
        for name, value in zip(Schedule.__slots__, given, strict=True):
            object.__setattr__(self, name, value)
        jobs, groups = len(workload), len(federation.groups)
        shapes: dict[str, tuple[int, ...]] = {"start": (jobs,), "finish": (jobs,), "counts": (jobs, groups)}
        for name, shape in (shapes | ({} if delays is None else {"delays": (jobs,)})).items():
            dtype = np.int64 if name == "counts" else np.float64
            array = np.array(getattr(self, name), dtype=dtype, order="C")
            if array.shape != shape:
                raise ScheduleError(f"Schedule: {name} has shape {array.shape}, but jobs and groups make it {shape}.")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if not is_number(self.t0):
            raise ScheduleError(f"Schedule: t0={self.t0!r} must be finite.")
        if not is_time(self.t0):
            raise ScheduleError(f"Schedule: t0={self.t0!r} must be at most {MOST_SECONDS:g} s from 0.")

    def __getstate__(self) -> dict[str, Any]:
        slots = (name for one in type(self).__mro__ for name in getattr(one, "__slots__", ()))
        return {name: getattr(self, name) for name in slots if name != "replay"}  # another process runs nothing again

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in (state | {"replay": None}).items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.workload)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        return (
            (self.workload, self.federation, self.t0) == (other.workload, other.federation, other.t0)
            and all(
                np.array_equal(getattr(self, name), getattr(other, name), equal_nan=name != "counts")
                for name in ("start", "finish", "counts")
            )
            and all(map(np.array_equal, self.lost, other.lost))
            and same_promises(self.promises, other.promises)
            and same_delays(self.delays, other.delays)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def complete(self) -> bool:
        """Return whether all jobs have finished; jobs that never start, were killed or were cancelled do not count."""
        away = self.hopeless | self.cancelled
        away[self.lost.killed] = True
        return not bool((np.isnan(self.finish) & ~away).any())

    @property
    def hopeless(self) -> NDArray[np.bool_]:
        """Return which jobs never start: their conditions cannot hold, or they missed their reservation."""
        from fedsched.model.constraints.dependencies import never_start
        from fedsched.model.time.reservations import missed_reservation

        missed, killed, begun = missed_reservation(self), self.lost.killed, self.lost.job
        return never_start(
            self.workload, self.reading, killed=killed, missed=missed, cancelled=self.cancelled, begun=begun
        )

    @property
    def cancelled(self) -> NDArray[np.bool_]:
        """Return which jobs were cancelled before they started."""
        from fedsched.model.constraints.cancellations import cancelled_in

        return cancelled_in(self)

    @property
    def eligible(self) -> NDArray[np.float64]:
        """Return the time in seconds from which each job might start: it is submitted, and all its conditions hold.

        NaN if the time is not known or never came.
        """
        from fedsched.model.schedule.eligible import eligible_since

        return eligible_since(self)

    @property
    def submits(self) -> str:
        """Return "now" if all jobs are submitted at t0 or before, else "keep"; jobs that follow others do not count."""
        leading = np.ones(len(self), dtype=np.bool_)
        if self.workload.feedback is not None:
            leading = self.workload.feedback.preceding < 0
        return "now" if bool((self.workload.submit[leading] <= self.t0).all()) else "keep"

    @property
    def question(self) -> str:
        """Return, in words, how jobs arrived in the schedule, and the choices of its reading."""
        return in_words(self.submits, self.reading, jobs=self.workload)

    @property
    def wait(self) -> NDArray[np.float64]:
        """Return start − submit of every job, in seconds; NaN without a start."""
        return self.start - self.workload.submit

    @property
    def run(self) -> NDArray[np.float64]:
        """Return finish − start of every job, in seconds; NaN without a finish."""
        return self.finish - self.start

    @property
    def response(self) -> NDArray[np.float64]:
        """Return finish − submit of every job, in seconds; NaN without a finish."""
        return self.finish - self.workload.submit

    @property
    def makespan(self) -> float:
        """Return the last end of a job or lost run, minus t0, in seconds."""
        return float(max(np.nanmax(self.finish, initial=self.t0), self.lost.end.max(initial=self.t0))) - self.t0

    @property
    def saturated_seconds(self) -> float:
        """Return the seconds of saturated uplink, summed over the uplinks; NaN if not known."""
        return self.integrals.saturated_seconds

    @property
    def loss_of_capacity(self) -> float:
        """Return the share of the machine that idled while a waiting job would have fit; NaN if not known."""
        return self.integrals.loss_of_capacity

    @property
    def energy(self) -> float:
        """Return the energy in joules of all nodes, busy or idle, from t0 to the last end."""
        return self.metrics(users=False).energy

    @property
    def coallocated(self) -> NDArray[np.bool_]:
        """Return which jobs run on more than one cluster."""
        clusters = np.array(self.federation.group_cluster)
        used = np.stack([self.counts[:, clusters == k].any(axis=1) for k in range(clusters.max() + 1)])
        return np.asarray(used.sum(axis=0) > 1)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return, in words: jobs without an end and why, delays, workflows, and how much was closed or reserved."""
        from fedsched.model.schedule.summary import remarks

        return remarks(self)

    @property
    def unmodelled(self) -> tuple[str, ...]:
        """Return what the jobs' log has and the model or the federation ignores, a few words each."""
        from fedsched.model.jobs.unmodelled import unmodelled

        return unmodelled(self.workload, self.federation)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Return what is assumed of the machine and of the jobs because it was not given, a few words each."""
        from fedsched.model.jobs.assumed import assumptions

        return assumptions(self.federation, self.workload)

    @property
    def implausible(self) -> tuple[str, ...]:
        """Return implausible values of jobs and machine, a few words each; a wrong unit often causes them."""
        from fedsched.model.jobs.summary import implausible_values

        return implausible_values(self.workload, self.federation)

    def metrics(self, *, users: bool = True) -> Metrics:
        """Return the metrics of the jobs that have finished; without `users`, the user spread is NaN.

        Examples
        --------
        >>> schedule = fs.simulate(fs.read("sample").head(50), fs.read_federation("example"), "easy")
        >>> round(schedule.metrics().mean_wait)
        9935
        """
        from fedsched.model.power.watts import wasted_by
        from fedsched.model.schedule.drained import drain_loss
        from fedsched.model.schedule.metrics import measured, metrics_of, quantiles_of
        from fedsched.model.schedule.power_draw import power_measures
        from fedsched.model.schedule.workflows import measures_of

        row = metrics_of(
            measured(self.workload, self.federation),
            self.t0,
            self.start,
            self.finish,
            self.counts,
            eligible=self.eligible,
            wasted=wasted_by(self),
            integrals=self.lost.added_to(self.integrals, self.t0),
            users=users,
        )
        waits = quantiles_of(self.workload.submit, self.start, self.finish)
        of_all = {"drain_loss": drain_loss(self), **waits, **measures_of(self.workflows()), **power_measures(self, row)}
        return replace(row, **of_all)

    def power(self) -> Power:
        """Return the watts that each cluster draws over time, from t0 to the last end."""
        from fedsched.model.schedule.power_draw import power_of

        return power_of(self)

    def workflows(self) -> tuple[Workflow, ...]:
        """Return the workflows (jobs tied by conditions), with their makespans and critical paths."""
        from fedsched.model.schedule.workflows import workflows_of

        return workflows_of(self)

    def trimmed_metrics(self, *, warmup: float = 0.0, cooldown: float = 0.0) -> Metrics:
        """Return the metrics of only the jobs that are submitted in the middle of the submission period.

        Energy and makespan are those of a schedule with these jobs alone.

        Parameters
        ----------
        warmup, cooldown
            Shares of the submission period, at its begin and at its end; jobs submitted in these are left out.
        """
        if not 0 <= warmup < 1 or not 0 <= cooldown < 1 or warmup + cooldown >= 1:
            raise ValueError(f"warmup={warmup}, cooldown={cooldown}: both must be shares, together below 1.")
        first, last = float(self.workload.submit.min()), float(self.workload.submit.max())
        begin, end = first + warmup * (last - first), last - cooldown * (last - first)
        return self.take((self.workload.submit >= begin) & (self.workload.submit <= end)).metrics()

    def put_off(self, workload: Workload, delays: NDArray[np.float64]) -> Schedule:
        """Return the schedule of a plan that puts off jobs: of these jobs, with their delays in seconds."""
        return replace(self, workload=workload, delays=delays)

    def take(self, rows: NDArray[Any]) -> Schedule:
        """Return the schedule of some of the jobs, by mask or by row; t0 becomes their earliest submit.

        What the simulation summed up over all jobs, such as loss of capacity, is not known for them.
        """
        rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        workload = self.workload.take(rows)
        return Schedule(
            workload=workload,
            federation=self.federation,
            start=self.start[rows],
            finish=self.finish[rows],
            counts=self.counts[rows],
            t0=float(workload.submit.min()),
            reading=self.reading,
            policy=self.policy,
            notes=(*self.notes, f"{len(rows)} of {counted(len(self), 'job')}"),
            lost=self.lost.of_rows(rows),
            until=self.until,
            promises=None if self.promises is None else self.promises.of_rows(rows),
            delays=None if self.delays is None else self.delays[rows],
        )

    def fairness(self) -> dict[int, float]:
        """Return, by user number, the mean bounded slowdown of the user's jobs that have finished."""
        done = ~np.isnan(self.finish)
        bounded = np.maximum(1.0, self.response[done] / np.maximum(self.run[done], 10.0))
        users, of_job = np.unique(self.workload.user[done], return_inverse=True)
        means = np.bincount(of_job, weights=bounded) / np.bincount(of_job)
        return {int(user): float(mean) for user, mean in zip(users, means, strict=True)}

    def node_numbers(self) -> list[Intervals]:
        """Return the nodes of every job as (first, last) intervals of node numbers, both included.

        Each job takes the lowest free numbers of each group. Numbers run through the clusters in order. If jobs share
        nodes, these are the nodes that the simulation chose, and a node may be in the intervals of several jobs.
        """
        from fedsched.model.schedule.closed_spans import own_numbers

        return own_numbers(self)

    def violations(
        self, *, tolerance: float = 1e-9, caps: NDArray[np.int64] | None = None, claimed: Metrics | None = None
    ) -> list[str]:
        """Return all ways in which the schedule violates the model, one line each; [] if it is valid.

        Parameters
        ----------
        tolerance, caps, claimed
            As of `verify`.
        """
        from fedsched.model.verify.verification import violations

        return violations(self, tolerance=tolerance, caps=caps, claimed=claimed)

    def verify(
        self, *, tolerance: float = 1e-9, caps: NDArray[np.int64] | None = None, claimed: Metrics | None = None
    ) -> None:
        """Raise a ScheduleError that names the first violation of the model, if there is one.

        Parameters
        ----------
        tolerance
            The largest relative error of times.
        caps
            Jobs × groups: how many nodes of each group a job may use; None: no caps.
        claimed
            Metrics to check against recomputed ones.
        """
        if found := self.violations(tolerance=tolerance, caps=caps, claimed=claimed):
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            raise ScheduleError(f"{found[0]}{more}")

    def start_hash(self) -> str:
        """Return twelve hex digits of a hash of the started jobs' (id, start) pairs, starts cut to whole seconds."""
        rows = np.argsort(self.workload.id, kind="stable")
        rows = rows[~np.isnan(self.start[rows])]
        pairs = zip(self.workload.id[rows].tolist(), self.start[rows].tolist(), strict=True)
        text = ",".join(f"{job}:{int(start)}" for job, start in pairs)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def to_json(self) -> dict[str, object]:
        """Return policy, reading, notes and metrics as plain values, ready for JSON; NaN becomes None."""
        from fedsched.model.jobs.recorded import recorded_and_simulated

        return {
            "policy": self.policy,
            "federation": self.federation.name,
            "workload": self.workload.name,
            "jobs": len(self),
            "complete": self.complete,
            "reading": {**asdict(self.reading), "words": self.question},
            "notes": list(self.notes),
            "never_start": self.workload.id[self.hopeless].tolist(),
            "cancelled": self.workload.id[self.cancelled].tolist(),
            "killed": self.workload.id[self.lost.killed].tolist(),
            "queued_again": self.workload.id[np.unique(self.lost.job[self.lost.requeued])].tolist(),
            "unfinished_workflows": [one.first for one in self.workflows() if one.unfinished],
            "not_modelled": list(self.unmodelled),
            "assumed": list(self.assumed),
            "implausible": list(self.implausible),
            "recorded": recorded_and_simulated(self),
            "start_hash": self.start_hash() if self.complete else None,
            "metrics": {name: None if value != value else value for name, value in self.metrics().as_dict().items()},
        }

    def summary(self) -> str:
        """Return a text of at most five lines: waits, slowdown, utilisation and energy, clusters, and the reading."""
        from fedsched.model.schedule.summary import in_brief

        return in_brief(self)

    def __str__(self) -> str:
        from fedsched.model.schedule.summary import summary_lines

        head, rows = summary_lines(self)
        width = max(18, *(len(name) for name, _ in rows)) if rows else 18
        return "\n".join([*map(one_line, head), *(f"  {name:<{width}} {value}" for name, value in rows)])

    def _repr_html_(self) -> str:
        from fedsched.model.schedule.summary import summary_lines

        head, rows = summary_lines(self)
        notes = "".join(f"<p>{html(one_line(line).strip())}</p>" for line in head)
        cells = "".join(f"<tr><th>{html(name)}</th><td>{html(value)}</td></tr>" for name, value in rows)
        return f"<div>{notes}<table>{cells}</table></div>"
