"""The parts of a scenario: each describes jobs or a machine, and builds the workload or federation on request."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from fedsched.core.errors import FieldError, unknown_name
from fedsched.core.values import bytes_a_second as rate_of
from fedsched.core.values import is_number, whole
from fedsched.generate.feedback import feedback, feedback_named
from fedsched.io.examples import names_shipped
from fedsched.io.files import STDIN
from fedsched.model.jobs.layout import with_tasks_per_node
from fedsched.study.scenario.signals import Told, cap_files, caps_told, with_forecasts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.signal import Signal

Unit = Literal["cpus", "nodes"]
Sites = Literal["auto", "partition", "none"]
Queues = Literal["auto", "partition", "none"]
Cancelled = Literal["drop", "keep"]
OverRequest = Literal["raise", "cap", "keep"]
OnError = Literal["raise", "skip"]
# Passed on to `fedsched.read`.
_AS_GIVEN = ("descriptor", "unit", "over_request", "cancelled", "on_error", "statuses", "nodes")
OnRunning = Literal["wait", "requeue", "kill"]
Victims = Literal["latest", "random", "recorded"]
Beyond = Literal["refuse", "repeat", "last"]
Looks = Literal["run", "now"]
Model = Literal["lublin", "poisson"]
Estimates = Literal["exact", "tsafrir"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The jobs of a log: which file, how it is read, and which of its jobs are used.

    Parameters
    ----------
    file
        A workload file, or the name of a shipped one.
    format, sites, queues, descriptor, unit, over_request, cancelled, on_error, statuses
        As in `fedsched.read`, which sets the defaults; sites or queues "none" is None there: a log's partitions do not
        become sites, and its queues do not become partitions.
    feedback
        "swf" or "sessions[:gap]": jobs are submitted after others have ended, as in `fedsched.generate.feedback`.
    window, scale_load, head, sample
        Applied in this order: keep the jobs submitted between two seconds of the log, compress submits by a factor,
        keep this many first jobs, draw this many jobs by the scenario's seed.
    communication
        Draw the jobs' communication: a task's median in bytes a second, as a number or with k, M, G, T ("10M").
    tasks_per_node
        The number of tasks on each node for jobs that do not say it.
    nodes
        The machine's size, if the log's header is missing or wrong.

    Examples
    --------
    >>> from fedsched.study import Log
    >>> fs.Scenario(jobs=Log(file="sample", head=50, scale_load=1.2)).workload().history[-1]
    'head(50)'
    """

    file: str
    format: str | None = None
    sites: Sites | None = None
    queues: Queues | None = None
    descriptor: str | None = None
    unit: Unit | None = None
    over_request: OverRequest | None = None
    cancelled: Cancelled | None = None
    on_error: OnError | None = None
    statuses: tuple[int, ...] | None = None
    window: tuple[float, float] | None = None
    scale_load: float | None = None
    head: int | None = None
    sample: int | None = None
    communication: str | float | None = None
    feedback: str | None = None
    tasks_per_node: int | None = None
    nodes: int | None = None

    def __post_init__(self) -> None:
        if self.nodes is not None:
            whole("Log", "nodes", self.nodes, least=1)
        if self.feedback is not None:
            feedback_named(self.feedback)
        if self.tasks_per_node is not None:
            whole("Log", "tasks_per_node", self.tasks_per_node, least=1)
        choices: dict[str, Any] = {"sites": Sites, "queues": Queues, "unit": Unit}
        choices |= {"over_request": OverRequest, "cancelled": Cancelled, "on_error": OnError}
        for name, known in choices.items():
            _check_choice(name, getattr(self, name), get_args(known))
        for name in ("head", "sample"):
            if getattr(self, name) is not None:
                whole("Log", name, getattr(self, name), least=0)
        if self.scale_load is not None and not (is_number(self.scale_load) and self.scale_load > 0):
            raise FieldError("{scale_load}={!r} must be finite and above 0.", self.scale_load)
        if self.window is not None and not (all(map(is_number, self.window)) and self.window[0] < self.window[1]):
            raise FieldError(
                "{window}={!r} must be two finite numbers of seconds, the first below the second.", self.window
            )
        if self.communication is not None:
            bytes_a_second(self.communication, "communication")

    @property
    def ships(self) -> bool:
        """Return whether `file` is the name of a shipped log rather than a path."""
        return names_shipped(self.file)

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the path of the log; empty for a shipped log or the standard input."""
        return () if self.ships or self.file == STDIN else (self.file,)

    @property
    def options(self) -> dict[str, Any]:
        """Return the given options as arguments of `fedsched.read`, without file and format."""
        said = {name: getattr(self, name) for name in _AS_GIVEN}
        said = {name: value for name, value in said.items() if value is not None}
        words = {name: word for name in ("sites", "queues") if (word := getattr(self, name)) is not None}
        return said | {name: None if word == "none" else word for name, word in words.items()}

    def workload(self, seed: int = 0) -> Workload:
        """Read the log and return the jobs that these settings leave; the seed draws the sample."""
        from fedsched.io import read

        found = read(self.file, self.format, **self.options)
        found = found if self.feedback is None else feedback(found, feedback_named(self.feedback))
        found = found if self.window is None else found.window(*self.window)
        found = found if self.scale_load is None else found.scale_load(self.scale_load)
        found = found if self.head is None else found.head(self.head)
        found = found if self.sample is None else found.sample(self.sample, seed=seed)
        found = found if self.tasks_per_node is None else with_tasks_per_node(found, self.tasks_per_node)
        return _sending(found, self.communication)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Jobs generated by a model, drawn by the scenario's seed.

    Parameters
    ----------
    model
        "lublin" or "poisson", as in `fedsched.generate`.
    jobs, nodes, load
        The number of jobs, the machine's nodes, and the offered load; without a load, the model's own.
    estimates
        Requested times: the run times ("exact"), or "tsafrir"'s few round values.
    communication
        As in `Log`.

    Examples
    --------
    >>> from fedsched.study import Made
    >>> len(fs.Scenario(jobs=Made(model="lublin", jobs=40, nodes=64), seed=1).workload())
    40
    """

    model: Model
    jobs: int = 1000
    nodes: int = 128
    load: float | None = None
    estimates: Estimates = "exact"
    communication: str | float | None = None

    def __post_init__(self) -> None:
        _check_choice("model", self.model, get_args(Model))
        _check_choice("estimates", self.estimates, get_args(Estimates))
        for name in ("jobs", "nodes"):
            whole("Made", name, getattr(self, name), least=1)
        if self.load is not None and not (is_number(self.load) and self.load > 0):
            raise FieldError("{load}={!r} must be finite and above 0.", self.load)
        if self.communication is not None:
            bytes_a_second(self.communication, "communication")

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the files that are read: none."""
        return ()

    def workload(self, seed: int = 0) -> Workload:
        """Return the jobs that the model draws with this seed."""
        from fedsched import generate

        if self.model == "lublin":
            made = generate.lublin(self.jobs, self.nodes, load=self.load, seed=seed)
        else:
            made = generate.poisson(self.jobs, self.nodes, load=0.7 if self.load is None else self.load, seed=seed)
        made = made.with_estimates("tsafrir", seed=seed) if self.estimates == "tsafrir" else made
        return _sending(made, self.communication)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine that the jobs run on: a federation, its file or name, or one cluster; by default the log's own.

    Parameters
    ----------
    federation
        A federation, a file with one, or the name of a shipped one.
    nodes
        Instead of a federation: one cluster with this number of equal nodes.
    uplink
        Replaces the federation's uplinks: bytes a second of every cluster ("1.25G"), or of one ("north=1.25G").
    pool
        Adds a pool, or replaces the one of that name: "matlab=40", or on one cluster "scratch@north=500".
    partitions
        Replaces the federation's partitions: a TOML file of [[partition]] tables.
    calendar
        Replaces the federation's downtimes: a file for `fedsched.io.read_calendar`.
    hosts
        If the calendar names hosts: a file that says which nodes they are.
    calendar_origin, calendar_until
        If the calendar has wall-clock times: the time at second 0, in place of the log header's, and the end of
        recurring downtimes.
    calendar_on_running, calendar_victims
        For outages: what happens to running jobs that are hit, and which jobs these are; "recorded" means all jobs on
        the outage's own nodes.
    tariff, carbon
        Adds signals, or replaces those of the kind: a CSV file for `fedsched.io.tables.signals.read_signal`, for all
        clusters, or "north=prices.csv" for one.
    tariff_forecast, carbon_forecast
        Forecasts of these signals that plans use, given in the same way; without them, plans know the signals exactly.
    cap, cap_at
        `cap` replaces the federation's power caps: "80%" of the power of all busy nodes, "50kW", a signal file in
        watts, or "north=50kW" for one cluster; "none". `cap_at` says when a job must fit under the caps: throughout its
        planned "run", or "now", at its start.
    beyond, signal_origin, signal_zone
        For these signals, as `beyond`, `origin` and `zone` of `read_signal`.
    power
        Replaces the federation's power saving (idle nodes go off): "always" (on), "timeout:10m",
        "timeout:10m:4:suspend=20", "reserve:4" or "planned".

    Examples
    --------
    >>> from fedsched.study import Made, Machine
    >>> scenario = fs.Scenario(jobs=Made(model="lublin", jobs=40, nodes=64), machine=Machine(nodes=96))
    >>> scenario.cluster(scenario.workload()).nodes
    96
    """

    federation: Federation | str | None = None
    nodes: int | None = None
    uplink: tuple[str, ...] = ()
    pool: tuple[str, ...] = ()
    partitions: str | None = None
    calendar: str | None = None
    hosts: str | None = None
    calendar_origin: str | None = None
    calendar_until: str | None = None
    calendar_on_running: OnRunning | None = None
    calendar_victims: Victims | None = None
    tariff: tuple[str, ...] = ()
    carbon: tuple[str, ...] = ()
    tariff_forecast: tuple[str, ...] = ()
    carbon_forecast: tuple[str, ...] = ()
    cap: tuple[str, ...] = ()
    cap_at: Looks | None = None
    beyond: Beyond | None = None
    signal_origin: str | None = None
    signal_zone: str | None = None
    power: str | None = None

    def __post_init__(self) -> None:
        from fedsched.model.machine.federation import MOST_NODES

        if self.federation is not None and self.nodes is not None:
            raise FieldError("Give {federation} or {nodes}, not both.")
        if self.nodes is not None:
            nodes = whole("Machine", "nodes", self.nodes)
            if not 1 <= nodes <= MOST_NODES:
                raise FieldError("{nodes}={!r} must be at least 1 and at most {}.", nodes, MOST_NODES)
        for field in ("hosts", *(one.name for one in fields(self) if one.name.startswith("calendar_"))):
            if getattr(self, field) is not None and self.calendar is None:
                raise FieldError(f"{{{field}}} is for a {{calendar}}; give one, or leave it out.")
        _check_choice("calendar_on_running", self.calendar_on_running, get_args(OnRunning))
        _check_choice("calendar_victims", self.calendar_victims, get_args(Victims))
        _check_choice("beyond", self.beyond, get_args(Beyond))
        _check_choice("cap_at", self.cap_at, get_args(Looks))
        for field in ("beyond", "signal_origin", "signal_zone"):
            if getattr(self, field) is not None and not self._signal_files + cap_files(self.cap):
                raise FieldError(f"{{{field}}} is for a {{tariff}}, {{carbon}} or {{cap}}; give one, or leave it out.")
        for one in self.uplink:
            bytes_a_second(one.rpartition("=")[2], "uplink")

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the paths of the files that describe the machine, its calendar, its signals and its caps."""
        own = isinstance(self.federation, str) and self.federation != STDIN and not names_shipped(self.federation)
        signals = (*(one.rpartition("=")[2] for one in self._signal_files), *cap_files(self.cap))
        named = tuple(filter(None, (self.partitions, self.calendar, self.hosts)))
        return (str(self.federation),) * own + named + signals

    @property
    def _signal_files(self) -> tuple[str, ...]:
        return self.tariff + self.carbon + self.tariff_forecast + self.carbon_forecast

    def cluster(self, workload: Workload | None = None) -> Federation:
        """Return the federation with all replacements; by default, it begins with the machine of the workload's log."""
        from fedsched.io.platforms.toml import read_partitions
        from fedsched.io.tables.downtimes import read_calendar
        from fedsched.model.power.switching import power_saving_named

        whole = with_pools(with_uplinks(self._nodes(workload), self.uplink), self.pool)
        if self.partitions is not None:
            whole = replace(whole, partitions=read_partitions(self.partitions))
        if self.power is not None:
            whole = replace(whole, power=power_saving_named(self.power))
        if self._signal_files or self.cap:
            whole = replace(whole, signals=self._signals(whole, workload))
        if self.cap_at is not None:
            whole = replace(whole, cap=self.cap_at)
        if self.calendar is None:
            return whole
        downtimes = read_calendar(
            self.calendar,
            federation=whole,
            workload=workload,
            origin=self.calendar_origin,
            hosts=self.hosts,
            until=self.calendar_until,
            on_running=self.calendar_on_running,
            victims=self.calendar_victims,
        )
        return replace(whole, calendar=downtimes)

    def _signals(self, federation: Federation, workload: Workload | None) -> tuple[Signal, ...]:
        given = {"price": self.tariff, "carbon": self.carbon, "cap": self.cap}
        told = Told(workload, self.signal_origin, self.signal_zone, self.beyond)
        found = [signal for signal in federation.signals if not given[signal.kind]]
        found += caps_told(self.cap, federation, told)
        found += told.signals(self.tariff, "price") + told.signals(self.carbon, "carbon")
        forecasts = told.signals(self.tariff_forecast, "price") + told.signals(self.carbon_forecast, "carbon")
        return tuple(with_forecasts(found, forecasts))

    def _nodes(self, workload: Workload | None) -> Federation:
        from fedsched.io import read_federation
        from fedsched.model.machine.federation import Federation

        if isinstance(self.federation, Federation):
            return self.federation
        if self.federation is not None:
            return read_federation(self.federation)
        size = self.nodes if self.nodes is not None else workload.nodes if workload is not None else 0
        if not size:
            name = "The log" if workload is None else f"{workload.name}: the log"
            raise FieldError("{} does not say how many nodes its machine has; give {nodes} or {federation}.", name)
        return Federation.homogeneous(size)


def bytes_a_second(given: str | float, field: str) -> float:
    """Return a text like 1.25G as bytes a second (k, M, G, T: powers of 1000); raise FieldError for other texts."""
    text = str(given)
    rate = rate_of(text)
    if rate is None:
        raise FieldError(f"{{{field}}}={{!r}} must be bytes a second, e.g. 125M or 1.25G (k, M, G, T).", text)
    if field == "communication" and math.isinf(rate):
        raise FieldError("{communication}={!r} must be finite: bytes a second of a task.", text)
    return rate


def _sending(jobs: Workload, communication: str | float | None) -> Workload:
    """Return the jobs, with communication drawn at random if its median in bytes a second is given."""
    if communication is None:
        return jobs
    return jobs.with_communication(bandwidth=bytes_a_second(communication, "communication"))


def with_uplinks(federation: Federation, uplink: Sequence[str]) -> Federation:
    """Return the federation with these uplinks, each bytes a second for all clusters or name=bytes for one."""
    if not uplink:
        return federation
    names = [cluster.name for cluster in federation.clusters]
    given = dict.fromkeys(names, "") | {name: one for one in uplink if "=" not in one for name in names}
    for one in uplink:
        name, sign, value = one.rpartition("=")
        if sign and name not in names:
            raise FieldError("{uplink}={!r}: {}", one, unknown_name("cluster", name, names))
        given |= {name: value} if sign else {}
    clusters = [
        replace(cluster, uplink=bytes_a_second(given[cluster.name], "uplink")) if given[cluster.name] else cluster
        for cluster in federation.clusters
    ]
    return replace(federation, clusters=tuple(clusters))


def with_pools(federation: Federation, pool: Sequence[str]) -> Federation:
    """Return the federation with these pools added; a pool replaces one of the same name.

    A pool is name=amount, or name@cluster=amount on one cluster. Without a cluster, a replaced pool keeps its own.
    """
    from fedsched.model.machine.federation import Pool

    pools = {one.name: one for one in federation.pools}
    for one in pool:
        called, sign, amount = one.rpartition("=")
        if not sign or not re.fullmatch(r"\d{1,10}", amount, re.ASCII):
            raise FieldError("{pool}={!r} must be a name and a whole number: matlab=40.", one)
        name, at, where = map(str.strip, called.rpartition("@") if "@" in called else (called, "", ""))
        there = where if at else pools[name].cluster if name in pools else None
        pools[name] = Pool(name, int(amount), there)
    return replace(federation, pools=tuple(pools.values())) if pool else federation


def _check_choice(name: str, value: object, known: Sequence[str]) -> None:
    if value is not None and value not in known:
        raise unknown_name(name, value, known)


def words_of(part: object) -> dict[str, Any]:
    """Return, by name, the values of a part's fields that differ from their defaults."""
    usual = {field.name: field.default for field in fields(part)}  # type: ignore[arg-type]
    return {name: getattr(part, name) for name in usual if getattr(part, name) != usual[name]}
