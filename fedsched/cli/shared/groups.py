"""Groups of options, each passed as one value: how a log is read, the machine, the policy, the reading."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import NotTakenError, option, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.engine.sharing import NodeSharing
    from fedsched.model.reading import Reading as Words
    from fedsched.policies import Policy as OwnPolicy
    from fedsched.study import scenario as parts


class Group:
    """A group of options as one object; for an option that is not given (None or ()), a scenario or default decides."""

    __slots__ = ()

    def given(self) -> dict[str, Any]:
        """Return the values of the options that were given, by field name (`from` for `from_`)."""
        words = {field.name.rstrip("_"): getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in words.items() if value is not None and value != ()}


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class HowRead(Group):
    """The options that say how a log is read."""

    from_: options.From = None
    sites: options.Sites = None
    queues: options.Queues = None
    descriptor: options.Descriptor = None
    unit: options.Unit = None
    over_request: options.OverRequest = None
    cancelled: options.Cancelled = None
    on_error: options.OnError = None

    def log(self, file: Path | str) -> parts.Log:
        """Return the description of a log in a file, to be read with these options; the file is not read yet."""
        from fedsched.study.scenario import Log

        words = self.given()
        return Log(file=str(file), format=words.pop("from", None), **words)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Log(HowRead):
    """The options that say how a log is read, and which of its jobs are used."""

    feedback: options.Feedback = None
    tasks_per_node: options.TasksPerNode = None
    communication: options.Communication = None
    head: options.Head = None

    def over(self, before: parts.Log | parts.Made) -> parts.Log | parts.Made:
        """Return a scenario's description of its jobs, altered by the options that were given.

        Raise NotTakenError if an option for logs is given and the scenario's jobs are generated.
        """
        from fedsched.study.scenario import Made

        words = self.given()
        if "from" in words:
            words["format"] = words.pop("from")
        if isinstance(before, Made) and (strange := [*words.keys() - {"communication"}]):
            why = "is for logs, and the scenario's jobs are generated"
            raise NotTakenError(strange, f"{option(strange[0])} {why}; leave it out.")
        return replace(before, **words)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled(Log):
    """The options that say how a log is read, and which of its jobs are used: the first ones, or a random sample."""

    sample: options.Sample = None


FILES = ("partitions", "calendar", "hosts")  # options of the machine that name further files
# Options that may name a file for one cluster: NAME=FILE.
SIGNALS = ("tariff", "carbon", "tariff_forecast", "carbon_forecast")


class OneMachine(Group):
    """The base class of groups of options that describe the machine."""

    __slots__ = ()

    @property
    def files(self) -> list[Path]:
        """Return the paths that the options name: federations, partitions, calendar, hosts, signals and power caps."""
        words = self.given()
        federations = words.get("federation", ())
        named = federations if isinstance(federations, tuple) else (federations,)
        signals = [Path(one.rpartition("=")[2]) for name in SIGNALS for one in words.get(name, ())]
        if words.get("cap"):
            from fedsched.study.scenario.signals import cap_files

            signals += map(Path, cap_files(words["cap"]))
        return [*named, *(words[name] for name in FILES if name in words), *signals]

    def over(self, before: parts.Machine) -> parts.Machine:
        """Return a scenario's description of its machine, altered by the options that were given.

        Either of --federation and --nodes replaces both values of the scenario.
        """
        words = self.given()
        words |= {field: str(words[field]) for field in ("federation", *FILES) if field in words}
        if {"federation", "nodes"} & words.keys():  # either one replaces both of the scenario's
            words = {"federation": None, "nodes": None, **words}
        return replace(before, **words)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Machine(OneMachine):
    """The options that describe the machine that jobs run on."""

    federation: options.Federation = None
    nodes: options.Nodes = None
    uplink: options.Uplink = ()
    pool: options.Pool = ()
    partitions: options.Partitions = None
    calendar: options.Calendar = None
    hosts: options.Hosts = None
    calendar_origin: options.CalendarOrigin = None
    calendar_until: options.CalendarUntil = None
    calendar_on_running: options.CalendarOnRunning = None
    calendar_victims: options.CalendarVictims = None
    tariff: options.Tariff = ()
    carbon: options.Carbon = ()
    tariff_forecast: options.TariffForecast = ()
    carbon_forecast: options.CarbonForecast = ()
    cap: options.Cap = ()
    cap_at: options.CapAt = None
    beyond: options.Beyond = None
    signal_origin: options.SignalOrigin = None
    signal_zone: options.SignalZone = None
    power: options.Power = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Machines(OneMachine):
    """The options that describe one machine, or several federations that are used one after the other."""

    federation: Annotated[
        tuple[Path, ...],
        Parameter(
            group=options.MACHINE,
            help=f"{options.FEDERATION_NAMES}. Each log runs on each federation. {options.REPEATABLE}",
        ),
    ] = ()
    nodes: options.Nodes = None
    uplink: options.Uplink = ()
    pool: options.Pool = ()
    partitions: options.Partitions = None
    calendar: options.Calendar = None
    hosts: options.Hosts = None
    calendar_origin: options.CalendarOrigin = None
    calendar_until: options.CalendarUntil = None
    calendar_on_running: options.CalendarOnRunning = None
    calendar_victims: options.CalendarVictims = None
    tariff: options.Tariff = ()
    carbon: options.Carbon = ()
    tariff_forecast: options.TariffForecast = ()
    carbon_forecast: options.CarbonForecast = ()
    cap: options.Cap = ()
    cap_at: options.CapAt = None
    beyond: options.Beyond = None
    signal_origin: options.SignalOrigin = None
    signal_zone: options.SignalZone = None
    power: options.Power = None

    def each(self) -> list[Machine]:
        """Return a `Machine` for each federation, all with the same other options; one `Machine` if none is named."""
        same = {field.name: getattr(self, field.name) for field in fields(Machine) if field.name != "federation"}
        return [Machine(federation=one, **same) for one in self.federation or (None,)]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Known(Group):
    """The options on what plans know of run times, whether jobs end at their estimates, and how shapes are chosen."""

    knowledge: options.Knowledge = None
    kill_at_estimate: options.KillAtEstimate = None
    alternatives: options.Alternatives = None

    def over(self, before: Words) -> Words:
        """Return a copy of a reading in which the options that were given replace its values."""
        return before.but(**self.given())


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Known):
    """The options of `Known`, and the one on communication over saturated uplinks."""

    saturation: options.Saturation = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class WholeReading(Reading):
    """The options of `Reading`, and how events at the same time are read; searches always take them as one batch."""

    same_time: options.SameTime = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Group):
    """The options that choose the policy (rules, rolling search or Slurm's scheduler) and how jobs share nodes."""

    policy: Annotated[
        str | None,
        Parameter(
            group=options.POLICY,
            help="The policy: easy (default), fcfs, easy-sjbf, slurm, …. Others: min-min, list-saf, …, any "
            "ORDER-DISPATCH or HEURISTIC-DISPATCH; FILE.py:NAME for your own. "
            "rolling searches a new plan again and again during the simulation. slurm is Slurm's own scheduler and "
            "needs --conf."
        ),
    ] = None
    order: Annotated[
        str | None,
        Parameter(
            group=options.POLICY,
            help="The queue order, which replaces the policy's: fcfs, sjf, ljf, smallest, largest, saf, laf, xfactor, "
            "wfp3, unicef, f1."
        ),
    ] = None
    dispatch: Annotated[
        str | None,
        Parameter(
            group=options.POLICY,
            help="The dispatch rule, which replaces the policy's: strict, greedy, local, easy, conservative or "
            "lookahead."
        ),
    ] = None
    backfill_order: Annotated[
        str | None,
        Parameter(
            group=options.POLICY,
            help="The order of backfilling, which replaces the policy's: a name of --order.",
        ),
    ] = None
    placement: Annotated[
        str | None,
        Parameter(
            group=options.POLICY,
            help="The placement rule, which chooses each job's nodes: fastest, single, home, best_fit, efficient, "
            "powerful, big_small or link_aware."
        ),
    ] = None
    method: Annotated[
        str | None, Parameter(group=options.SEARCH, help="rolling: the search method (memetic, ga, sa, …).")
    ] = None
    window: Annotated[
        int | None,
        Parameter(
            group=options.SEARCH,
            help="rolling: the number of waiting jobs that are planned; the others come after them.",
        ),
    ] = None
    evaluations: Annotated[
        int | None, Parameter(group=options.SEARCH, help="rolling: the number of plans that each search simulates.")
    ] = None
    every: Annotated[
        str | None,
        Parameter(
            group=options.SEARCH,
            help="rolling: plan whenever the queue or the running jobs change (`change`), or at most once in this many "
            "simulated seconds."
        ),
    ] = None
    objective: Annotated[str | None, Parameter(group=options.SEARCH, help="rolling: the metric to minimise.")] = None
    conf: options.SlurmConf = None
    slurm_version: options.SlurmVersion = None
    assoc: options.SlurmAccounts = ()
    clocks: Annotated[
        Path | None,
        Parameter(
            group=options.SLURM,
            help="slurm: the recorded times of a Slurm's passes (.json); backfill begins at them.",
        ),
    ] = None
    passes: Annotated[
        Literal["instant", "timed"] | None,
        Parameter(
            group=options.SLURM,
            help="slurm: backfill passes take no time (instant, the default), or the time of their tests (timed)."
        ),
    ] = None
    completing: options.Completing = None
    sharing: options.Sharing = None
    reservation: options.Reservation = None

    def over(self, before: parts.PolicyChoice) -> parts.PolicyChoice:
        """Return a scenario's policy, altered by the options that were given; --policy replaces all of it."""
        from fedsched.core.own_files import is_own
        from fedsched.study.scenario import PolicyChoice

        words: dict[str, Any] = {
            name: str(word) if isinstance(word, Path) else word for name, word in self.given().items()
        }
        if self.assoc:
            words["assoc"] = tuple(map(str, self.assoc))
        if "policy" not in words:
            return replace(before, **words)
        if is_own(words["policy"]):
            words["policy"] = PolicyChoice().name  # stands in for it
        return PolicyChoice(name=words.pop("policy"), **words)

    def own(self) -> OwnPolicy | None:
        """Return the policy in a user's file that --policy names (FILE.py:NAME); None if it is a name.

        Raise NotTakenError for options that change a named policy.
        """
        from fedsched.core.own_files import is_own

        if self.policy is None or not is_own(self.policy):
            return None
        from fedsched.policies import own_policy

        for name in self.given().keys() - {"policy", "sharing", "reservation"}:
            why = f"changes a named policy, and --policy {self.policy} is one of your own"
            raise NotTakenError((name,), f"{option(name)} {why}; leave it out.")
        return own_policy(self.policy)


# The groups without any option given: defaults of the commands, which must each be one value.
HOW_READ, LOG, SAMPLED, MACHINE, MACHINES = HowRead(), Log(), Sampled(), Machine(), Machines()
KNOWN, READING, WHOLE_READING, POLICY = Known(), Reading(), WholeReading(), Policy()


def scenario_of(
    file: Path | None,
    trace: Path | str | None,
    *,
    log: Log = LOG,
    machine: Machine = MACHINE,
    policy: Policy = POLICY,
    reading: Known = KNOWN,
    seed: int | None = None,
    usual: Words,
) -> parts.Scenario:
    """Return the scenario to run: from a scenario's file, or a log (`trace`) under the reading `usual`.

    Options that were given override it. A log on the command line replaces the jobs of the scenario's file, with the
    file's options about them. Raise ValueError if there is neither a log nor a file.
    """
    from fedsched.study.scenario import Scenario

    if trace is not None:
        jobs: parts.Log | parts.Made = log.log(trace)
        base = Scenario(jobs=jobs, reading=usual) if file is None else replace(Scenario.load(file), jobs=jobs)
    elif file is not None:
        base = Scenario.load(file)
        base = replace(base, jobs=log.over(base.jobs))
    else:
        raise ValueError("There are no jobs to read; name a log, e.g. sample, or give --scenario FILE.")
    return replace(
        base,
        jobs=_for_nodes(base.jobs, machine.nodes),
        machine=machine.over(base.machine),
        policy=policy.over(base.policy),
        reading=reading.over(base.reading),
        seed=base.seed if seed is None else seed,
    )


def _for_nodes(jobs: parts.Log | parts.Made, nodes: int | None) -> parts.Log | parts.Made:
    """Return the jobs to be read for --nodes: those wider than a log's header says are kept if they fit there."""
    from fedsched.io.swf.cleaning import MinimumNodes
    from fedsched.study.scenario import Made

    if isinstance(jobs, Made) or jobs.nodes is not None or nodes is None or nodes < 1:
        return jobs
    return replace(jobs, nodes=MinimumNodes(nodes))


def sharing_of(
    policy: parts.PolicyChoice, sharing: options.Sharing, reservation: options.Reservation
) -> NodeSharing | None:
    """Return how jobs share nodes, by the options or else by a scenario's policy; None if nodes are not shared.

    Raise NotTakenError if the options do not go together.
    """
    from fedsched.study.scenario import PolicyChoice
    from fedsched.study.scenario.policy_choice import NotOfPolicyError

    given = PolicyChoice(sharing=sharing or policy.sharing, reservation=reservation or policy.reservation)
    try:
        return given.shared
    except NotOfPolicyError as error:
        raise NotTakenError(error.fields[:1], error.told(option)) from None


def files_read(file: Path | None, *scenarios: parts.Scenario) -> list[str]:
    """Return the paths of all files that scenarios read, and first that of the scenario file, if there is one."""
    return [*([] if file is None else [str(file)]), *(source for one in scenarios for source in one.sources)]


def say_unused(file: Path | None, scenario: parts.Scenario, command: str, *, used: Sequence[str] = ()) -> None:
    """Warn on stderr that the command ignores the policy in a scenario's file, unless it only sets names in `used`."""
    from fedsched.study.scenario import PolicyChoice

    usual = PolicyChoice()
    said = [one.name for one in fields(usual) if getattr(scenario.policy, one.name) != getattr(usual, one.name)]
    if file is not None and not {*said} <= {*used}:
        say(f"fedsched: {file}: [policy] is for simulate and report; {command} ignores it.", err=True)
