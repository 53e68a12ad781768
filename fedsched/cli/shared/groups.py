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
    from fedsched.study import scenario as parts


class Group:
    """A group of options; None or an empty value means that the scenario's value or the default holds."""

    __slots__ = ()

    def given(self) -> dict[str, Any]:
        """Return the options that were given, by name."""
        words = {field.name.rstrip("_"): getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in words.items() if value is not None and value != ()}


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class HowRead(Group):
    """How a log is read."""

    from_: options.From = None
    sites: options.Sites = None
    queues: options.Queues = None
    descriptor: options.Descriptor = None
    unit: options.Unit = None
    over_request: options.OverRequest = None
    cancelled: options.Cancelled = None
    on_error: options.OnError = None

    def log(self, file: Path | str) -> parts.Log:
        """Return the log in a file, to be read with these options."""
        from fedsched.study.scenario import Log

        words = self.given()
        return Log(file=str(file), format=words.pop("from", None), **words)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Log(HowRead):
    """How a log is read, and which of its jobs are used."""

    feedback: options.Feedback = None
    tasks_per_node: options.TasksPerNode = None
    communication: options.Communication = None
    head: options.Head = None

    def over(self, before: parts.Log | parts.Made) -> parts.Log | parts.Made:
        """Return a scenario's jobs; the options that were given replace its own."""
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
    """How a log is read, and which of its jobs are used, or drawn at random."""

    sample: options.Sample = None


FILES = ("partitions", "calendar", "hosts")  # options of the machine that name further files
# Options that may name a file for one cluster: NAME=FILE.
SIGNALS = ("tariff", "carbon", "tariff_forecast", "carbon_forecast")


class OneMachine(Group):
    """Options that describe the machine."""

    __slots__ = ()

    @property
    def files(self) -> list[Path]:
        """Return the files that the options name."""
        words = self.given()
        federations = words.get("federation", ())
        named = federations if isinstance(federations, tuple) else (federations,)
        signals = [Path(one.rpartition("=")[2]) for name in SIGNALS for one in words.get(name, ())]
        if words.get("cap"):
            from fedsched.study.scenario.signals import cap_files

            signals += map(Path, cap_files(words["cap"]))
        return [*named, *(words[name] for name in FILES if name in words), *signals]

    def over(self, before: parts.Machine) -> parts.Machine:
        """Return a scenario's machine; the options that were given replace its own."""
        words = self.given()
        words |= {field: str(words[field]) for field in ("federation", *FILES) if field in words}
        if {"federation", "nodes"} & words.keys():  # either one replaces both of the scenario's
            words = {"federation": None, "nodes": None, **words}
        return replace(before, **words)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Machine(OneMachine):
    """The machine that jobs run on."""

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
    """The machine that jobs run on, or several federations, one after the other."""

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
        """Return one machine for each federation; a single one if no federation is named."""
        same = {field.name: getattr(self, field.name) for field in fields(Machine) if field.name != "federation"}
        return [Machine(federation=one, **same) for one in self.federation or (None,)]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Known(Group):
    """What plans know of run times, whether jobs end at their estimates, and how the shapes of jobs are chosen."""

    knowledge: options.Knowledge = None
    kill_at_estimate: options.KillAtEstimate = None
    alternatives: options.Alternatives = None

    def over(self, before: Words) -> Words:
        """Return a reading; the options that were given replace its own values."""
        return before.but(**self.given())


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Known):
    """What plans know, and how the machine behaves."""

    saturation: options.Saturation = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class WholeReading(Reading):
    """The same, and how events of one instant are read: searches always take them as one batch."""

    same_time: options.SameTime = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Group):
    """The rules by which jobs are scheduled."""

    policy: Annotated[
        str | None,
        Parameter(
            group=options.POLICY,
            help="The policy: easy (default), fcfs, easy-sjbf, slurm, …. Others: min-min, …, any ORDER-DISPATCH or "
            "HEURISTIC-DISPATCH. "
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
        """Return a scenario's policy; the options that were given replace its own, and --policy replaces all of it."""
        from fedsched.study.scenario import PolicyChoice

        words: dict[str, Any] = {
            name: str(word) if isinstance(word, Path) else word for name, word in self.given().items()
        }
        if self.assoc:
            words["assoc"] = tuple(map(str, self.assoc))
        if "policy" not in words:
            return replace(before, **words)
        return PolicyChoice(name=words.pop("policy"), **words)


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
    """Return what to run: a scenario's file, or a log under the usual reading; options that were given override it.

    A log on the command line replaces the scenario's jobs, and the file's options about them.
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
        machine=machine.over(base.machine),
        policy=policy.over(base.policy),
        reading=reading.over(base.reading),
        seed=base.seed if seed is None else seed,
    )


def sharing_of(
    policy: parts.PolicyChoice, sharing: options.Sharing, reservation: options.Reservation
) -> NodeSharing | None:
    """Return how nodes are shared, by the options or else by a scenario's policy; None if they are not shared."""
    from fedsched.study.scenario import PolicyChoice
    from fedsched.study.scenario.policy_choice import NotOfPolicyError

    given = PolicyChoice(sharing=sharing or policy.sharing, reservation=reservation or policy.reservation)
    try:
        return given.shared
    except NotOfPolicyError as error:
        raise NotTakenError(error.fields[:1], error.told(option)) from None


def refuse_chart(sharing: NodeSharing | None, gantt: Path | None) -> None:
    """Refuse a chart if jobs share nodes."""
    if sharing is not None and gantt is not None:
        raise NotTakenError(("gantt",), f"--gantt {gantt} is not supported with --sharing yet; leave one of them out.")


def files_read(file: Path | None, *scenarios: parts.Scenario) -> list[str]:
    """Return the files that are read for scenarios, including the file of the scenario itself."""
    return [*([] if file is None else [str(file)]), *(source for one in scenarios for source in one.sources)]


def say_unused(file: Path | None, scenario: parts.Scenario, command: str, *, used: Sequence[str] = ()) -> None:
    """Warn if the command ignores the policy in a scenario's file; options in `used` are not ignored."""
    from fedsched.study.scenario import PolicyChoice

    usual = PolicyChoice()
    said = [one.name for one in fields(usual) if getattr(scenario.policy, one.name) != getattr(usual, one.name)]
    if file is not None and not {*said} <= {*used}:
        say(f"fedsched: {file}: [policy] is for simulate and report; {command} ignores it.", err=True)
