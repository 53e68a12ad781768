"""`fedsched info`: summarise a log or a federation."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import inf
from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.input_output import load_workload, print_json, print_table, reading_of, refuse, say

if TYPE_CHECKING:
    from fedsched.model.machine.federation import Federation, NodeGroup
    from fedsched.model.machine.partition import Partition
    from fedsched.model.time.downtimes import Downtime
    from fedsched.model.time.signal import Signal
    from fedsched.study.scenario import Log

OF_FEDERATIONS = ("toml", "simgrid")  # a Slurm dump holds both, and counts as a log


FIRST = ("--nodes", "--from", "--json")  # in the short help


def command(
    source: Path,
    /,
    *,
    nodes: options.Nodes = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    sites: options.Sites = None,
    queues: options.Queues = None,
    descriptor: options.Descriptor = None,
    unit: options.Unit = None,
    over_request: options.OverRequest = None,
    cancelled: options.Cancelled = None,
    on_error: options.OnError = None,
    json: options.Json = False,
) -> int:
    """Summarise a log or a federation.

    Parameters
    ----------
    source
        A log or federation: a file or shipped name. .swf, .csv, .sacct, .json; .toml, .xml; .gz, …; `-` with --from.
    from_
        The format, if the name does not tell it. swf, csv, sacct, batsim; toml, simgrid.

    Examples
    --------
    fedsched info sample
    fedsched info sample --nodes 256
    fedsched info example --json
    """
    from fedsched.io import read_federation
    from fedsched.io.examples import example_names, names_shipped

    how: dict[str, object] = {"sites": sites, "queues": queues, "unit": unit, "over_request": over_request}
    how |= {"cancelled": cancelled, "on_error": on_error, "descriptor": descriptor, "nodes": nodes}
    if from_ in OF_FEDERATIONS or (from_ is None and _is_file_of_federation(source)):
        refuse(f"{source}, a federation,", how, ())
        _federation(read_federation(source, from_), as_json=json)
    elif from_ is None and names_shipped(source) and str(source) in example_names("federation"):
        refuse(f"{source}, a federation,", how, ())
        _federation(read_federation(source), as_json=json)
    else:
        read_so = groups.HowRead(
            from_=from_,
            sites=sites,
            queues=queues,
            descriptor=descriptor,
            unit=unit,
            over_request=over_request,
            cancelled=cancelled,
            on_error=on_error,
        )
        _workload(replace(read_so.log(source), nodes=nodes), as_json=json)
    return 0


def _is_file_of_federation(source: Path) -> bool:
    # By its name alone; a Slurm dump holds both, and counts as a log.
    from fedsched.io import FEDERATION_FORMATS, FORMATS, plain_suffix

    return plain_suffix(source) in FEDERATION_FORMATS.keys() - FORMATS.keys()


def _federation(federation: Federation, *, as_json: bool) -> None:
    from fedsched.model.jobs import unmodelled
    from fedsched.model.jobs.assumed import are_assumed, assumptions, sentence
    from fedsched.model.power.power_cap import is_capped
    from fedsched.model.power.switching import STATES

    groups = [(cluster, group) for cluster in federation.clusters for group in cluster.groups]
    figures = [
        {
            "uplink": cluster.uplink,
            "nodes": group.count,
            "speed": group.speed,
            "busy_watts": group.busy_watts,
            "idle_watts": group.idle_watts,
        }
        for cluster, group in groups
    ]
    facts = assumptions(federation)
    if as_json:
        rows = [
            {"cluster": cluster.name, **row, "features": list(group.features), "resources": dict(group.resources)}
            | {"weight": group.weight, "assumed": [name for name, value in row.items() if are_assumed(value)]}
            for (cluster, group), row in zip(groups, figures, strict=True)
        ]
        said = {"name": federation.name, "description": federation.description, "groups": rows}
        said["pools"] = [asdict(pool) for pool in federation.pools]
        said["partitions"] = [
            asdict(partition) | {"nodes": dict(partition.nodes)} for partition in federation.partitions
        ]
        said["limits"] = [asdict(limit) for limit in federation.limits]
        said["signals"] = [asdict(signal) | {"kind": signal.kind} for signal in federation.signals]
        said["calendar"] = [asdict(downtime) for downtime in federation.calendar]
        if is_capped(federation):
            said["cap"] = federation.cap
        if federation.power is not None:
            said["power"] = str(federation.power)
            for row, (_, group) in zip(rows, groups, strict=True):
                row |= {name: getattr(group, name) for name in STATES}
        if any(group.gears for _, group in groups):
            for row, (_, group) in zip(rows, groups, strict=True):
                row["gears"] = [list(gear) for gear in group.gears]
        print_json(said | {"unmodelled": unmodelled.ignored_in_files(federation), "assumed": list(facts)})
        return
    say(federation)
    if federation.description:
        say(federation.description.rstrip())
    cells = [
        [cluster.name, *(("—" if value == inf else f"{value:g}") + "*" * are_assumed(value) for value in row.values())]
        for (cluster, _), row in zip(groups, figures, strict=True)
    ]
    print_table("node groups", ("cluster", "uplink B/s", "nodes", "speed", "busy W", "idle W"), cells, align="l")
    if any(group.features or group.resources or group.weight != 1 for _, group in groups):
        has = [[cluster.name, group.name, f"{group.count:,}", *_having(group)] for cluster, group in groups]
        print_table(
            "what nodes have", ("cluster", "group", "nodes", "features", "resources", "weight"), has, align="llrllr"
        )
    if gears := groups[0][1].gears:
        lines = [[cluster.name, group.name, *(f"{watts:g}" for _, watts in group.gears)] for cluster, group in groups]
        speeds = [f"{k}: {speed:g} of the speed, W" for k, (speed, _) in enumerate(gears, 1)]
        print_table("gears beside full speed", ("cluster", "group", *speeds), lines, align="ll")
    if federation.partitions:
        sizes = federation.groups_of_partitions() @ [group.count for group in federation.groups]
        limits = [_limits(one, int(size)) for one, size in zip(federation.partitions, sizes, strict=True)]
        asked = ("longest s", "usual s", "fewest", "most", "tier", "factor", "accounts", "QOS")
        print_table("partitions", ("name", "nodes", *asked), limits, align="l")
    for limit in federation.limits:
        say(f"limit: {limit}")
    if federation.calendar:
        lines = [_times(one) for one in federation.calendar]
        print_table("downtimes", ("cluster", "nodes", "begin s", "end s", "kind", "known from s"), lines, align="l")
    if federation.power is not None:
        lines = [[cluster.name, group.name, *_states(group)] for cluster, group in groups]
        states = ("off W", "boot s", "boot W", "shutdown s", "shutdown W")
        print_table("nodes that go off", ("cluster", "group", *states), lines, align="ll")
    if federation.signals:
        lines = [_reach(one) for one in federation.signals]
        names = ("kind", "cluster", "unit", "least", "most", "steps", "begin s", "end s")
        print_table("signals", names, lines, align="lll")
    if any(are_assumed(*row.values()) for row in figures):
        say("* = assumed: not given")
    if lacking := unmodelled.ignored_in_files(federation):
        say(unmodelled.sentence(tuple(lacking)))
    if facts:
        say(sentence(facts))


def _states(group: NodeGroup) -> list[str]:
    """Return as text a group's watts when off, and the seconds and watts of a node's boot and of its shutdown."""
    from fedsched.model.power.switching import watts_off

    off, boot, shutdown = watts_off(group)
    return [f"{one:g}" for one in (off, group.boot_seconds, boot, group.shutdown_seconds, shutdown)]


def _having(group: NodeGroup) -> list[str]:
    """Return as text a node group's features, the amounts of its nodes' resources, and its weight."""
    numbers = ", ".join(f"{name} {amount:,}" for name, amount in group.resources)
    return [", ".join(group.features) or "—", numbers or "—", f"{group.weight}"]


def _limits(partition: Partition, nodes: int) -> list[str]:
    """Return a partition's table row: its size, its limits, its priority, and which accounts and QOS may use it."""
    limits = (partition.max_time, partition.default_time or inf, partition.min_nodes, partition.max_nodes or inf)
    cells = ["—" if value == inf else f"{value:g}" for value in limits]
    whose = (", ".join(names) or "all" for names in (partition.accounts, partition.qos))
    factor = "—" if partition.factor is None else f"{partition.factor}"
    return [partition.name, f"{nodes:,}", *cells, f"{partition.tier}", factor, *whose]


def _reach(signal: Signal) -> list[str]:
    """Return a signal's table row: kind, cluster, unit, smallest and largest value, number of steps, begin and end."""
    figures = [min(signal.values), max(signal.values), len(signal.values), signal.times[0], signal.until]
    cells = ["—" if one == inf else f"{one:.10g}" for one in figures]
    return [signal.kind, signal.cluster or "all", signal.unit, *cells]


def _times(window: Downtime) -> list[str]:
    """Return a downtime's table row: cluster, nodes, begin and end, kind, and from when on it is known, in seconds."""
    times = (window.begin, window.end if window.end_known or window.end == inf else f"{window.end:g} (not known)")
    cells = [one if isinstance(one, str) else "—" if one == inf else f"{one:g}" for one in times]
    known = "the outset" if window.known_from == -inf else f"{window.known_from:g}"
    kind = f"{window.kind} {window.name}".strip()
    if whose := [*window.users, *window.accounts]:
        kind += f" (for {', '.join(whose)})"
    if window.on_running != "wait":
        whom = {"latest": "the latest jobs", "random": "jobs at random"}.get(window.victims, "the jobs on them")
        kind += f" ({window.on_running}s {whom})"
    return [window.cluster, window.nodes, *cells, kind, known]


def _workload(log: Log, *, as_json: bool) -> None:
    workload = load_workload(log, announced=False)
    if as_json:
        print_json(
            {
                "name": workload.name,
                "jobs": len(workload),
                "nodes": workload.nodes,
                "first_submit": float(workload.submit.min()),
                "last_submit": float(workload.submit.max()),
                "load": workload.load() if workload.nodes else None,
                "sites": list(workload.sites),
                "history": list(workload.history),
                **reading_of(workload),
                "recorded": None if (found := workload.recorded) is None else asdict(found),
            }
        )
    else:
        say(workload)
