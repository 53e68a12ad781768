"""Workload: a table of jobs as arrays, one row per job, with a record of where it came from."""

from __future__ import annotations

import operator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import counted
from fedsched.core.values import seed_of, whole
from fedsched.model.constraints.corresponding import expand_aftercorr
from fedsched.model.jobs.alternatives import check_shapes
from fedsched.model.jobs.convenience import WorkloadConvenience
from fedsched.model.jobs.job import EXTRAS, NO_SITE, OPTIONAL, UNKNOWN_USER, Job
from fedsched.model.jobs.validation import check_jobs, check_sites, row_mask, row_numbers, site_table, table_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.constraints.cancellations import Cancellations
    from fedsched.model.constraints.dependencies import Dependencies
    from fedsched.model.constraints.feedback import Feedback
    from fedsched.model.constraints.holds import Holds
    from fedsched.model.constraints.slack import Slack
    from fedsched.model.jobs.alternatives import Alternatives
    from fedsched.model.jobs.columns import JobColumns
    from fedsched.model.jobs.demands import NodeDemands, PoolNeeds
    from fedsched.model.jobs.labels import Labels
    from fedsched.model.jobs.layout import NodeLayout
    from fedsched.model.jobs.log import CleaningReport, LogColumns
    from fedsched.model.jobs.recorded import Recorded
    from fedsched.model.jobs.requests import EarliestStarts, Nice
    from fedsched.model.power.gears import Gear
    from fedsched.model.power.watts import JobWatts


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Workload(WorkloadConvenience):
    """A workload: jobs as a table of read-only arrays, checked at construction; every change gives a new workload.

    Two workloads are equal if they hold the same jobs: the same arrays, sites, machine size and log columns. Name,
    header, cleaning report and history describe their origin and are not compared.

    Parameters
    ----------
    submit, tasks, runtime
        The submit time in seconds, the number of tasks, and the run time in seconds on reference nodes inside one
        cluster. A task takes a node for itself unless `layout` or the sharing of nodes says otherwise.
    estimate
        The requested time in seconds, on the same basis as `runtime`, which is also its default.
    id
        Distinct whole numbers; default 1..n.
    compute_fraction, task_bandwidth
        The share of the run time that computes (default 1), and the bytes a second that a task sends (default 0).
    origin
        The index in `sites` of the site at which each job was submitted; -1 (default) = none.
    user
        The number of each job's user; -1 (default) = unknown.
    allowed
        Which sites each job may use: booleans of shape (jobs, sites); None (default) = all.
    sites
        Names of the sites; they match a federation's clusters by name, or by position if all are the numbers 1..K.
    pools
        How much of each of a federation's pools the jobs hold while they run, by name: {"matlab": [1, 0, 2]}; None
        (default) = nothing.
    after
        What jobs wait for, as Slurm's --dependency: "afterok:12+5,singleton", texts or {id: text}; None = nothing.
        `aftercorr` uses the labels "array" and "task", and is stored as the `afterok` that it means.
    begin, held
        The earliest start that each job's user asked for; 0 = its submit. The intervals in which a job is held, as by
        `scontrol hold`, and may not start: {12: [(3600, 7200)]}, or a text per job: "3600-7200|9000-9600". None
        (default) = nothing.
    cancel_at
        When each job leaves the queue if it has not started; -1 = never. None (default) = never for all.
    feedback
        The job that each job follows (`generate.feedback`): {"preceding": ids, "think_time": seconds}; -1 = none.
    labels
        Texts of each job by name; singletons compare the label "name": {"name": ["fit", "fit", "plot"]}.
    demand
        How much of each resource every node of a job must have, by name: {"memory": [0, 250_000], "gpu": [2, 0]};
        what each task takes if jobs share nodes or several of a job's tasks are on one node.
    layout
        How tasks are laid out on nodes: {"tasks_per_node": [4, 0], "exclusive": [0, 1]}; 0 = any.
    alternatives
        Shapes of which each job takes one, its own first, by id: {12: [(4, 3600, 7200), (8, 2000)]} for tasks,
        runtime and estimate, or a text per job: "4x3600/7200|8x2000". None (default) = no job has a choice.
    watts, slack, nice
        The watts of each node of a job while it runs; -1 = the busy watts of its group. The seconds by which plans may
        delay the job, and what its user subtracts from its priority; 0 = nothing. None (default) = -1, 0 and 0.
    gear
        The gear of its nodes in which each job runs, for its given times; 0, or None for all, = full speed.
    log, name, nodes, header, cleaning, history
        The log's other columns, the workload's name, and its machine's number of nodes (0 = unknown). The log's header,
        what reading dropped or altered, and the operations that made this workload.

    Examples
    --------
    >>> fs.Workload(submit=[0, 60], tasks=[4, 8], runtime=[600, 900], estimate=[1200, 1200])
    <Workload 'workload': 2 jobs>
    >>> log = fs.read("sample")
    >>> log.head(3).tasks
    array([ 1,  8, 16])
    >>> len(log), round(log.load(), 2), round(log.scale_load(1.2).load(), 2)
    (1000, 0.8, 0.96)
    """

    submit: NDArray[np.float64]
    tasks: NDArray[np.int64]
    runtime: NDArray[np.float64]
    estimate: NDArray[np.float64]
    id: NDArray[np.int64]
    compute_fraction: NDArray[np.float64]
    task_bandwidth: NDArray[np.float64]
    origin: NDArray[np.int64]
    user: NDArray[np.int64]
    allowed: NDArray[np.bool_] | None
    sites: tuple[str, ...]
    pools: PoolNeeds | None
    after: Dependencies | None
    begin: EarliestStarts | None
    held: Holds | None
    cancel_at: Cancellations | None
    feedback: Feedback | None
    labels: Labels | None
    demand: NodeDemands | None
    layout: NodeLayout | None
    alternatives: Alternatives | None
    watts: JobWatts | None
    slack: Slack | None
    nice: Nice | None
    gear: Gear | None
    log: LogColumns | None
    name: str
    nodes: int
    header: tuple[tuple[str, str], ...]
    cleaning: CleaningReport | None
    history: tuple[str, ...]

    def __init__(
        self,
        *,
        submit: ArrayLike,
        tasks: ArrayLike,
        runtime: ArrayLike,
        estimate: ArrayLike | None = None,
        id: ArrayLike | None = None,
        compute_fraction: ArrayLike = 1.0,
        task_bandwidth: ArrayLike = 0.0,
        origin: ArrayLike = NO_SITE,
        user: ArrayLike = UNKNOWN_USER,
        allowed: ArrayLike | None = None,
        sites: Iterable[str] = (),
        pools: PoolNeeds | Mapping[str, ArrayLike] | None = None,
        after: Dependencies | Mapping[int, str] | Sequence[str] | None = None,
        begin: EarliestStarts | ArrayLike | None = None,
        held: Holds | Mapping[int, Any] | Sequence[Any] | None = None,
        cancel_at: Cancellations | ArrayLike | None = None,
        feedback: Feedback | Mapping[str, ArrayLike] | None = None,
        labels: Labels | Mapping[str, ArrayLike] | None = None,
        demand: NodeDemands | Mapping[str, ArrayLike] | None = None,
        layout: NodeLayout | Mapping[str, ArrayLike] | None = None,
        alternatives: Alternatives | Mapping[int, Any] | Sequence[Any] | None = None,
        watts: JobWatts | ArrayLike | None = None,
        slack: Slack | ArrayLike | None = None,
        nice: Nice | ArrayLike | None = None,
        gear: Gear | ArrayLike | None = None,
        log: LogColumns | Mapping[str, ArrayLike] | None = None,
        name: str = "workload",
        nodes: int = 0,
        header: Iterable[tuple[str, str]] = (),
        cleaning: CleaningReport | None = None,
        history: Iterable[str] = (),
    ) -> None:
        jobs = np.size(submit)
        ids = table_column("id", np.arange(1, jobs + 1) if id is None else id, jobs, np.int64)
        sites = check_sites(sites)
        estimate = runtime if estimate is None else estimate
        plain = {"submit": submit, "tasks": tasks, "runtime": runtime, "estimate": estimate, "id": ids}
        plain |= {"compute_fraction": compute_fraction, "task_bandwidth": task_bandwidth}
        for field, values in (plain | {"origin": origin, "user": user}).items():
            kind = np.int64 if field in ("tasks", "id", "origin", "user") else np.float64
            object.__setattr__(self, field, table_column(field, values, jobs, kind, ids))
        object.__setattr__(self, "allowed", None if allowed is None else site_table(allowed, jobs, len(sites)))
        optional = (pools, after, begin, held, cancel_at, feedback, labels, demand, layout, alternatives, watts, slack,
                    nice, gear, log)  # fmt: skip
        for field, given in zip(OPTIONAL, optional, strict=True):
            object.__setattr__(self, field, None if given is None else OPTIONAL[field].of(given, ids))
        for field, value in (
            ("sites", sites), ("name", str(name)),
            ("nodes", whole("Workload", "nodes", nodes)),
            ("header", tuple((str(label), str(text)) for label, text in header)),
            ("cleaning", cleaning), ("history", tuple(history)),
        ):  # fmt: skip
            object.__setattr__(self, field, value)
        check_jobs(self)
        check_shapes(self)
        object.__setattr__(self, "after", expand_aftercorr(self))

    def __len__(self) -> int:
        return len(self.submit)

    def __getitem__(self, row: int) -> Job:
        i = operator.index(row)
        site = int(self.origin[i])
        may_use = None if self.allowed is None else tuple(np.asarray(self.sites)[self.allowed[i]].tolist())
        own: dict[str, Any] = {name: getattr(self, name)[i].item() for name in _ARRAYS if name != "allowed"}
        own |= {"origin": None if site == NO_SITE else self.sites[site], "allowed": may_use}
        return Job(**own, **{field: part.of_job(i) for field, part in self.extras.items()})

    def __iter__(self) -> Iterator[Job]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        if (self.sites, self.nodes, self.allowed is None) != (other.sites, other.nodes, other.allowed is None):
            return False
        return all(getattr(self, field) == getattr(other, field) for field in OPTIONAL) and all(
            np.array_equal(getattr(self, field), getattr(other, field)) for field in _ARRAYS
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[partial[Workload], tuple[()]]:
        # Unpickled arrays come back writable; the constructor makes them read-only again.
        return partial(type(self), **{field.name: getattr(self, field.name) for field in fields(self)}), ()

    def take(self, rows: ArrayLike) -> Workload:
        """Return the workload of the jobs in these rows, in this order."""
        index = row_numbers("take", rows)
        parts: dict[str, Any] = {name: part.take(index) for name, part in self.optional.items()}
        return replace(
            self, **{name: values[index] for name in _ARRAYS if (values := getattr(self, name)) is not None}, **parts
        )

    def head(self, jobs: int) -> Workload:
        """Return the workload of the first `jobs` jobs in the order of the table; all if there are fewer."""
        jobs = whole("head", "jobs", jobs, least=0)
        return self.take(np.arange(min(jobs, len(self))))._noted(f"head({jobs})")

    def window(self, begin: float, end: float) -> Workload:
        """Return the jobs with begin <= submit < end.

        Parameters
        ----------
        begin, end
            Seconds of the log's clock, `end` excluded.

        Examples
        --------
        >>> len(fs.read("sample").window(0, 86_400))
        214
        """
        if not begin < end:
            raise ValueError(f"window({begin}, {end}): the window must begin before it ends.")
        return self.take(np.flatnonzero((self.submit >= begin) & (self.submit < end)))._noted(f"window({begin}, {end})")

    def filter(self, mask: ArrayLike | Callable[[Workload], ArrayLike]) -> Workload:
        """Return the jobs for which the mask is true: booleans, or a function that maps the workload to booleans.

        Examples
        --------
        >>> log = fs.read("sample")
        >>> len(log.filter(lambda jobs: jobs.tasks >= 64)), len(log.filter(log.runtime < 60))
        (54, 422)
        """
        kept = row_mask("filter", mask(self) if callable(mask) else mask, len(self))
        return self.take(np.flatnonzero(kept))._noted(f"filter: {int(kept.sum())} of {counted(len(self), 'job')} kept")

    def sample(self, jobs: int, *, seed: int = 0) -> Workload:
        """Return this many jobs, drawn at random without replacement, in the order of the table.

        Parameters
        ----------
        jobs
            The number of jobs.
        seed
            The seed of the draw.

        Examples
        --------
        >>> len(fs.read("sample").sample(100, seed=1))
        100
        """
        jobs, seed = whole("sample", "jobs", jobs), seed_of("sample", seed)
        if not 0 <= jobs <= len(self):
            raise ValueError(f"sample({jobs}): the number of jobs must lie between 0 and the workload's {len(self)}.")
        rows = np.sort(np.random.default_rng(seed).choice(len(self), size=jobs, replace=False))
        return self.take(rows)._noted(f"sample({jobs}, seed={seed})")

    def sorted(self) -> Workload:
        """Return the jobs in the order of submit, then id."""
        return self.take(np.lexsort((self.id, self.submit)))._noted("sorted")

    def renumbered(self) -> Workload:
        """Return the jobs with the ids 1..n in the order of the table; fields that refer to jobs are changed alike."""
        new = {job: k for k, job in enumerate(self.id.tolist(), start=1)}
        parts: dict[str, Any] = {field: part.renumbered(new) for field, part in self.optional.items()}
        return replace(self, id=np.arange(1, len(self) + 1), **parts)._noted("renumbered")

    def rebased(self, start: float = 0.0) -> Workload:
        """Return the jobs with all submits and other clock times shifted so that the earliest submit is `start`."""
        if not len(self):
            return self
        return self._moved(lambda time: time - self.submit.min() + start)._noted(f"rebased to {start:g}")

    def scale_load(self, factor: float) -> Workload:
        """Return the jobs with all times between submits divided by the factor: 2 doubles the load.

        Other clock times, such as earliest starts and cancellations, are moved alike. The log's recorded waits are
        dropped because they belong to another load.

        Examples
        --------
        >>> log = fs.read("sample")
        >>> round(log.scale_load(2).load() / log.load(), 6)
        2.0
        """
        if not (np.isfinite(factor) and factor > 0):
            raise ValueError(f"scale_load({factor}): the factor must be finite and above 0.")
        first = self.submit.min(initial=np.inf)
        moved = self._moved(lambda time: first + (time - first) / factor)
        log = moved.log if moved.log is None or factor == 1 else moved.log.without_waits()
        return replace(moved, log=log)._noted(f"scale_load({factor})")

    def with_sites(
        self, sites: Sequence[str], *, origin: ArrayLike | None = None, allowed: ArrayLike | None = None
    ) -> Workload:
        """Return the jobs with these sites.

        Parameters
        ----------
        sites
            The names of the sites.
        origin
            The index of each job's site; None: the present sites are renamed in their order.
        allowed
            Which sites each job may use: booleans of shape (jobs, sites); None: all with `origin`, else as before.

        Examples
        --------
        >>> jobs = fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[60, 60])
        >>> jobs.with_sites(["north", "south"], origin=[0, 1])[1].origin
        'south'
        """
        from fedsched.model.jobs.transformations import with_sites

        return with_sites(self, sites, origin, allowed)._noted(f"with_sites({', '.join(sites)})")

    def rename_sites(self, names: Mapping[str, str]) -> Workload:
        """Return the jobs with some sites renamed: {present name: new name}; raise if a present name is unknown."""
        from fedsched.model.jobs.transformations import renamed_sites

        return self.with_sites(renamed_sites(self.sites, names))

    def label(self, name: str) -> NDArray[Any]:
        """Return each job's text of the label with this name; '' if the job has none."""
        nothing = np.full(len(self), "")
        return nothing if self.labels is None else self.labels.columns().get(name, nothing)

    @property
    def partition(self) -> NDArray[Any]:
        """Return the partition of each job, '' if it names none; the first if it names several, as "a,b"."""
        asked = self.label("partition")
        first = {text: text.partition(",")[0] for text in set(asked.tolist()) if "," in text}
        return np.array([first.get(text, text) for text in asked.tolist()], dtype=object) if first else asked

    @property
    def extras(self) -> dict[str, JobColumns]:
        """Return the optional fields that state requests of jobs, such as `pools`; without fields that are None."""
        return {field: part for field in EXTRAS if (part := getattr(self, field)) is not None}

    @property
    def optional(self) -> dict[str, JobColumns]:
        """Return the optional fields of the workload by name: those of `extras` and `log`; None is left out."""
        return {field: part for field in OPTIONAL if (part := getattr(self, field)) is not None}

    @property
    def area(self) -> float:
        """Return the sum of tasks × run time over all jobs, in node-seconds on reference nodes."""
        return float(np.dot(self.tasks, self.runtime))

    def load(self, nodes: int | None = None) -> float:
        """Return the offered load: area / (nodes × time between the first and the last submit); inf without such time.

        Examples
        --------
        >>> round(fs.read("sample").load(), 2), round(fs.read("sample").load(256), 2)
        (0.8, 0.4)
        """
        size = self.nodes if nodes is None else nodes
        if size < 1:
            raise ValueError(f"load: nodes={size}; the machine's size is unknown: give load(nodes=...).")
        period = float(np.ptp(self.submit)) if len(self) else 0.0
        return self.area / (size * period) if period > 0 else float("inf")

    @property
    def unmodelled(self) -> tuple[str, ...]:
        """Return what the jobs' log has and the model ignores, a few words each: "5 partitions pooled"."""
        from fedsched.model.jobs.unmodelled import unmodelled

        return unmodelled(self)

    @property
    def recorded(self) -> Recorded | None:
        """Return metrics of waits and slowdowns by the starts that the log records; None if it records no start."""
        from fedsched.model.jobs.recorded import recorded

        return recorded(self)

    def __str__(self) -> str:
        from fedsched.model.jobs.summary import summary

        return summary(self)

    def __repr__(self) -> str:
        return f"<Workload {self.name!r}: {counted(len(self), 'job')}>"

    def _moved(self, onto: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Workload:
        # The jobs on another clock.
        parts: dict[str, Any] = {field: part.moved(onto) for field, part in self.optional.items()}
        return replace(self, submit=onto(self.submit), **parts)

    def _noted(self, line: str) -> Workload:
        return replace(self, history=(*self.history, line))


_ARRAYS = ("submit", "tasks", "runtime", "estimate", "id", "compute_fraction", "task_bandwidth", "origin", "user",
           "allowed")  # fmt: skip
