"""`fedsched convert`: convert a log, a workload or a platform to another format, and report what is lost."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.input_output import NotTakenError, check_apart, print_json, reading_of, refuse, say
from fedsched.core.errors import OutputError, TraceError, unknown_name
from fedsched.core.text import counted, one_line
from fedsched.io import (
    FEDERATION_FORMATS,
    FORMATS,
    plain_suffix,
    read,
    read_federation,
    told_by_content,
    write_federation,
)
from fedsched.io.atomic import check_writable, is_stdout
from fedsched.io.examples import Kind, example_file, example_names, names_shipped, workload_path
from fedsched.io.files import STDIN
from fedsched.model.jobs.assumed import assumptions

if TYPE_CHECKING:
    from fedsched.model.jobs.workload import Workload

WRITTEN = ("swf", "csv", "batsim")
ALL_FORMATS = {*FORMATS.values(), *FEDERATION_FORMATS.values()}
# The options that apply to each source format: here of workloads, below of federations.
READINGS = {
    "csv": ("federation",),
    "swf": ("federation", "sites", "queues", "descriptor", "over_request", "cancelled", "on_error"),
    "sacct": ("federation", "sites", "over_request", "cancelled", "on_error", "unit"),
    "batsim": ("federation", "sites", "over_request", "on_error"),
}
OF_FEDERATIONS = {"sacct": ("unit",)}


@dataclass(frozen=True, slots=True)
class _Machine:
    """The size and the node speed of the machine that a workload is for, from a federation file."""

    nodes: int | None = None
    node_speed: float | None = None


FIRST = ("--to", "--from", "--federation", "--lossy", "--json")  # in the short help


def command(
    source: Path,
    target: Path,
    /,
    *,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    to: str | None = None,
    federation: Path | None = None,
    sites: options.Sites = None,
    queues: options.Queues = None,
    descriptor: options.Descriptor = None,
    unit: options.Unit = None,
    over_request: options.OverRequest = None,
    cancelled: options.Cancelled = None,
    on_error: options.OnError = None,
    lossy: bool = False,
    json: options.Json = False,
) -> int:
    """Convert a log, a workload or a platform to another format, and report what is lost.

    Parameters
    ----------
    source
        The file to convert. A log (.swf, .csv, .sacct, .json), a platform (.xml, .toml), shipped, or `-` with --from.
    target
        The file to write. .swf, .csv, .json (also .gz, .xz, .bz2); .toml for a federation; `-` with --to: to stdout.
    from_
        The source's format, if its name does not tell it. swf, csv, sacct, batsim; simgrid, toml.
    to
        The target's format, if its name does not tell it. swf, csv, batsim; toml.
    federation
        The jobs' machine, a file or shipped name. Wider jobs are dropped; a SimGrid platform also gives node speed.
    lossy
        Write the target although it loses data. Without this, losing data that the model uses is an error.

    Examples
    --------
    fedsched convert made.swf.gz made.csv
    fedsched convert sample sample.json
    """
    from fedsched.model.jobs.unmodelled import sentence

    piped = is_stdout(target)
    if piped and json:
        raise NotTakenError(
            ("json",), f"--json prints to the standard output, where {target} puts the data; leave one out."
        )
    into = _format_of(target, to)
    check_writable(target)
    check_apart((source, federation), {"the target": target})
    came_from = from_ or _guess(source, "federation" if into == "toml" else "workload")
    if came_from not in ALL_FORMATS:
        raise unknown_name("format", came_from, ALL_FORMATS)
    how = groups.HowRead(
        sites=sites, queues=queues, descriptor=descriptor, unit=unit, over_request=over_request, cancelled=cancelled,
        on_error=on_error,
    )  # fmt: skip
    given = {field.name: getattr(how, field.name) for field in fields(how)} | {"federation": federation}
    readings = OF_FEDERATIONS if into == "toml" else READINGS
    refuse(f"{source} ({came_from}) to {into}", given, readings.get(came_from, ()))
    if into == "toml":
        return _federation(source, target, came_from, unit or "cpus", as_json=json)
    machine = _machine(federation)
    workload = _workload(source, came_from, machine, how)
    kept, lost = _losses(workload, into)
    if kept is not workload and not lossy:
        raise OutputError(
            f"Cannot write {target}: {into} has no place for {' and '.join(lost)}; write .csv, which keeps everything, "
            "or pass --lossy."
        )
    _write(kept, target, into, machine)
    if json:
        said = {"source": str(source), "target": str(target), "from": came_from, "to": into, "jobs": len(workload)}
        said["written"] = [str(target)]
        print_json(said | {"sites": list(workload.sites), **reading_of(workload), "lost": lost})
        return 0
    lines = [f"{source} ({came_from}) -> {target} ({into}): {counted(len(workload), 'job')}"]
    if workload.cleaning is not None:
        lines.append(f"cleaning: {workload.cleaning}")
    if facts := workload.unmodelled:
        lines.append(sentence(facts))
    if workload.sites:
        lines.append(f"sites: {', '.join(workload.sites)}")
    for line in (*lines, f"lost: {', '.join(lost) or 'nothing'}"):
        say(one_line(line), err=piped)
    return 0


def _format_of(target: Path, to: str | None) -> str:
    writable = {**{suffix: kind for suffix, kind in FORMATS.items() if kind in WRITTEN}, ".toml": "toml"}
    if to is None:
        if plain_suffix(target) not in writable:
            raise OutputError(
                f"Cannot write {target}: {plain_suffix(target) or 'no suffix'} is no format to write; it is "
                f"{', '.join(writable)}, or give --to."
            )
        return writable[plain_suffix(target)]
    if to not in writable.values():
        raise unknown_name("format to write", to, writable.values())
    return to


def _guess(source: Path, kind: Kind) -> str:
    suffix = plain_suffix(source)
    if str(source) == STDIN:
        formats = ", ".join(sorted(ALL_FORMATS))
        raise TraceError(f"-: the standard input has no name that tells its format; give --from one of {formats}.")
    if names_shipped(source):
        only_jobs = str(source) in example_names("workload").keys() - example_names("federation").keys()
        suffix = plain_suffix(example_file("workload" if only_jobs else kind, str(source)))
    known = FEDERATION_FORMATS | FORMATS
    if suffix not in known:
        raise TraceError(
            f"{source}: its name does not tell its format; give --from one of {', '.join(sorted(ALL_FORMATS))}."
        )
    found = known[suffix]
    return told_by_content(source, found) if found in ("csv", "batsim") and source.is_file() else found


def _machine(federation: Path | None) -> _Machine:
    if federation is None:
        return _Machine()
    from fedsched.io.platforms.simgrid import node_speed

    speed = node_speed(federation) if plain_suffix(federation) == ".xml" else None
    return _Machine(read_federation(federation).nodes, speed)


def _federation(source: Path, target: Path, kind: str, unit: Literal["cpus", "nodes"], *, as_json: bool) -> int:
    from fedsched.io.slurm_files import sacct

    if kind not in FEDERATION_FORMATS.values():
        raise OutputError(f"Cannot write {target}: {source} ({kind}) says nothing of clusters.")
    found = sacct.read_federation(source, unit=unit) if kind == "sacct" else read_federation(source, kind)
    write_federation(found, target)
    facts = assumptions(found)
    if as_json:
        sizes = {cluster.name: cluster.nodes for cluster in found.clusters}
        about = {"clusters": sizes, "description": found.description, "assumed": list(facts)}
        said = {"source": str(source), "target": str(target), "from": kind, "to": "toml", "written": [str(target)]}
        print_json(said | about)
    else:
        lines = [f"{source} ({kind}) -> {target} (toml)", str(found), found.description.rstrip()]
        lines += [f"assumed: {'; '.join(facts)}"] if facts else []
        say("\n".join(line for line in lines if line), err=is_stdout(target))
    return 0


def _workload(
    source: Path,
    kind: str,
    machine: _Machine,
    how: groups.HowRead,
) -> Workload:
    from fedsched.io.batsim import workloads

    if kind not in FORMATS.values():
        raise TraceError(f"{source}: {kind} holds a federation, not jobs; write it to a .toml file.")
    file = workload_path(source)
    options = how.log(source).options
    if kind == "csv":
        return _within(read(file, kind, nodes=machine.nodes), machine.nodes)
    if kind == "batsim":
        return workloads.read_batsim(file, nodes=machine.nodes, node_speed=machine.node_speed, **options)
    return read(file, kind, nodes=machine.nodes, **options)


def _within(workload: Workload, nodes: int | None) -> Workload:
    """Return the workload without jobs that need more nodes than the machine has; its cleaning report counts these.

    Raise TraceError if no job is left.
    """
    if nodes is None or (workload.tasks <= nodes).all():
        return workload
    from fedsched.model.jobs.log import CleaningReport

    kept = workload.filter(workload.tasks <= nodes)
    if not len(kept):
        raise TraceError(f"{workload.name}: every job is wider than the federation's {counted(nodes, 'node')}.")
    dropped = len(workload) - len(kept)
    return replace(kept, cleaning=CleaningReport(records=len(workload), kept=len(kept), too_wide=dropped))


def _losses(workload: Workload, into: str) -> tuple[Workload, list[str]]:
    """Return the workload without the model's data that a format cannot hold, and the names of all data that are lost.

    The workload itself is returned if only data that the model does not use are lost.
    """
    if into == "csv":
        return workload, []
    if into == "batsim":
        lost = [] if workload.log is None else ["the log's other columns"]
        return workload, lost + ["the header"] * bool(workload.header)
    from fedsched.io.swf.log import without_what_logs_lack

    kept, lost = without_what_logs_lack(workload)
    if workload.log is not None and (workload.log.demands > 0).any():
        lost = ["log.demands", *lost]  # the model does not use them, so this loss needs no --lossy
    return kept, lost


def _write(workload: Workload, target: Path, into: str, machine: _Machine) -> None:
    if into == "batsim":
        from fedsched.io.batsim.workloads import write_batsim

        write_batsim(workload, target, node_speed=machine.node_speed)
    else:
        from fedsched.io import write

        write(workload, target, into)
