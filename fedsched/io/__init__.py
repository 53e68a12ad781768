"""Reading and writing of workloads and federations; the suffix tells the format, and files may be compressed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fedsched.core.errors import FederationError, OutputError, shown, unknown_name
from fedsched.core.lazy import lazily
from fedsched.io.files import COMPRESSION_SUFFIXES, STDIN
from fedsched.io.swf import WHOLE_JOBS

if TYPE_CHECKING:
    from collections.abc import Collection
    from os import PathLike

    from fedsched.io.batsim.workloads import read_batsim as read_batsim
    from fedsched.io.batsim.workloads import write_batsim as write_batsim
    from fedsched.io.platforms.simgrid import node_speed as node_speed
    from fedsched.io.platforms.simgrid import read_simgrid as read_simgrid
    from fedsched.io.slurm_files.accounts import read_usage as read_usage
    from fedsched.io.slurm_files.hosts import read_hosts as read_hosts
    from fedsched.io.slurm_files.sacct import read_sacct as read_sacct
    from fedsched.io.slurm_files.slurm_conf import read_slurm_conf as read_slurm_conf
    from fedsched.io.swf.log import read_swf as read_swf
    from fedsched.io.swf.log import write_swf as write_swf
    from fedsched.io.swf.swf_table import RawLog as RawLog
    from fedsched.io.swf.swf_table import read_table as read_table
    from fedsched.io.tables.csv import read_csv as read_csv
    from fedsched.io.tables.csv import write_csv as write_csv
    from fedsched.io.tables.downtimes import read_calendar as read_calendar
    from fedsched.io.tables.downtimes import write_calendar as write_calendar
    from fedsched.io.tables.node_use import read_node_use as read_node_use
    from fedsched.io.tables.node_use import write_node_use as write_node_use
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

_HOMES = {
    "RawLog": "io.swf.swf_table",
    "read_table": "io.swf.swf_table",
    "read_swf": "io.swf.log",
    "write_swf": "io.swf.log",
    "read_csv": "io.tables.csv",
    "write_csv": "io.tables.csv",
    "read_sacct": "io.slurm_files.sacct",
    "read_hosts": "io.slurm_files.hosts",
    "read_slurm_conf": "io.slurm_files.slurm_conf",
    "read_usage": "io.slurm_files.accounts",
    "read_batsim": "io.batsim.workloads",
    "write_batsim": "io.batsim.workloads",
    "read_simgrid": "io.platforms.simgrid",
    "node_speed": "io.platforms.simgrid",
    "read_calendar": "io.tables.downtimes",
    "write_calendar": "io.tables.downtimes",
    "read_node_use": "io.tables.node_use",
    "write_node_use": "io.tables.node_use",
}
__all__ = [
    "RawLog",
    "node_speed",
    "read",
    "read_batsim",
    "read_calendar",
    "read_csv",
    "read_example",
    "read_federation",
    "read_hosts",
    "read_node_use",
    "read_sacct",
    "read_simgrid",
    "read_slurm_conf",
    "read_swf",
    "read_table",
    "read_usage",
    "write",
    "write_batsim",
    "write_calendar",
    "write_csv",
    "write_federation",
    "write_node_use",
    "write_swf",
]
__getattr__, __dir__ = lazily(__name__, _HOMES)

FORMATS = {
    ".swf": "swf", ".csv": "csv", ".sacct": "sacct", ".json": "batsim", ".openb": "openb", ".events": "events",
}  # fmt: skip
FEDERATION_FORMATS = {".toml": "toml", ".xml": "simgrid", ".sacct": "sacct", ".conf": "slurm", ".openb": "openb"}
_CLEANED = ("swf", "sacct", "batsim")
_TABLES = {"csv": "CSV", "openb": "a table of pods", "events": "a file of submissions"}


def read(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    clean: Literal["standard", "none"] = "standard",
    nodes: int | None = None,
    over_request: Literal["raise", "cap", "keep"] = "raise",
    statuses: Collection[int] | None = WHOLE_JOBS,
    sites: Literal["auto", "partition"] | None = "auto",
    queues: Literal["auto", "partition"] | None = "auto",
    cancelled: Literal["drop", "keep"] = "drop",
    rebase: bool = False,
    renumber: bool = False,
    on_error: Literal["raise", "skip"] = "raise",
    name: str | None = None,
    unit: Literal["cpus", "nodes"] = "cpus",
    descriptor: str | None = None,
) -> Workload:
    """Return the workload in a file; the suffix tells the format unless `format` does.

    Parameters
    ----------
    path
        A file that ends in .swf, .csv, .sacct (the output of Slurm's sacct -P), .json (a Batsim workload), .openb (a
        table of pods, which may also end in .csv) or .events (submissions to a Slurm simulator), plain or followed by
        .gz, .xz or .bz2. A pipe is read like a file, and "-" is the standard input. If there is no such file, the name
        may be that of a shipped workload: "sample", "lublin-128", "figure-1-5", "figure-1-6", "figure-1-7".
    format
        "swf", "csv", "sacct", "batsim", "openb" or "events", for a file with another name.
    clean, over_request, statuses, sites, cancelled, on_error
        How a log is cleaned: see `fedsched.io.read_swf`. Tables of jobs or pods, and submissions, need no
        cleaning, so these must keep their defaults for them.
    queues
        Whether the queues of an SWF log are the partitions that its jobs ask for: see `fedsched.io.read_swf`.
    nodes, name
        The machine's size and the workload's name; default: those in the file.
    rebase, renumber
        Shift submits so that the earliest is 0; number the jobs 1..n.
    unit
        Whether the tasks of Slurm's jobs are their "cpus" or their "nodes": see
        `fedsched.io.read_sacct`.
    descriptor
        The names of the fields after the eighteenth of an SWF log, as "host,queue", or "metacentrum": see
        `fedsched.io.read_swf`.

    Examples
    --------
    >>> log = fs.read("sample")
    >>> len(log), log.nodes
    (1000, 128)
    >>> fs.read("figure-1-5", name="teaching").name
    'teaching'
    """
    from fedsched.io.examples import workload_path

    file = workload_path(path)
    kind = _format(file, format)
    if format is None and kind in ("csv", "batsim"):
        kind = told_by_content(file, kind)
    if unit != "cpus" and kind != "sacct":
        raise ValueError(f"unit={unit!r} is for Slurm's dumps (sacct), and {path} is {kind}; leave it out.")
    if queues != "auto" and kind != "swf":
        raise ValueError(
            f"queues={queues!r} is for logs in the Standard Workload Format, and {path} is {kind}; leave it out."
        )
    if descriptor is not None and kind != "swf":
        raise ValueError(
            f"descriptor={descriptor!r} is for logs in the Standard Workload Format, and {path} is {kind}; leave "
            "it out."
        )
    if kind in _TABLES:
        for option, value, default in (
            ("clean", clean, "standard"),
            ("over_request", over_request, "raise"),
            ("statuses", statuses, statuses and WHOLE_JOBS),  # None asks for all, which is what there is
            ("sites", sites, "auto"),
            ("cancelled", cancelled, "drop"),
            ("on_error", on_error, "raise"),
        ):
            if value != default:
                logs = ", ".join(_CLEANED)
                raise ValueError(
                    f"{option}={value!r} is for logs ({logs}), and {path} is {_TABLES[kind]}; leave it out."
                )
        return _read_table(file, kind, nodes=nodes, name=name, rebase=rebase, renumber=renumber)
    from fedsched.io.swf.cleaning import Cleaning, workload_of_log

    how = Cleaning(
        clean=clean,
        nodes=nodes,
        over_request=over_request,
        statuses=statuses,
        sites=sites,
        queues=queues,
        cancelled=cancelled,
        rebase=rebase,
        renumber=renumber,
        name=name,
    )
    return workload_of_log(_read_log(file, kind, on_error, unit, descriptor), file, how)


def told_by_content(path: str | PathLike[str], kind: str) -> str:
    """Return "sacct" if a file named .csv or .json is a dump of Slurm's sacct, "openb" if it is a table of pods.

    Otherwise, and for a pipe, return `kind`: the format that the name tells, "csv" or "batsim". A table is a dump if
    its first line has sacct's column names; raise a ValueError if it has fedsched's, too.
    """
    if not Path(path).is_file():
        return kind
    begin = _begin(path)
    if kind == "batsim":
        # Batsim's file has profiles; sacct's has each job's times under "time", and names its writer in "meta".
        dumped = re.search(r'"(?:submission|slurm|Slurm)"\s*:', begin) and '"subtime"' not in begin
        return "sacct" if dumped else kind
    from fedsched.io.platforms.openb import PODS
    from fedsched.io.slurm_files.sacct_lines import is_dump

    header = _header(begin)
    columns = _columns(header)
    if columns >= set(PODS):
        return "openb"
    ours = {"submit", "tasks", "runtime"} <= columns
    if ours and is_dump(header):
        raise ValueError(
            f'{path}: its columns are those of fedsched and of sacct; give format= (--from) "csv" or "sacct".'
        )
    return "sacct" if is_dump(header) else kind


def _begin(path: str | PathLike[str]) -> str:
    from fedsched.io.files import decode, open_bytes

    with open_bytes(path) as stream:
        return decode(stream.read(1 << 16))


def _header(begin: str) -> str:
    return next((line for line in begin.splitlines() if line.strip() and not line.startswith("#")), "")


def _columns(header: str) -> set[str]:
    return {name.strip() for name in re.split("[,;\t]", header)}


def _read_log(
    path: str | PathLike[str],
    kind: str,
    on_error: Literal["raise", "skip"],
    unit: Literal["cpus", "nodes"],
    descriptor: str | None,
) -> RawLog:
    if kind == "sacct":
        from fedsched.io.slurm_files import sacct

        return sacct.read_log(path, on_error=on_error, unit=unit)
    if kind == "batsim":
        from fedsched.io.batsim import workloads

        return workloads.read_log(path, on_error=on_error)
    from fedsched.io.swf import log

    return log.read_log(path, on_error=on_error, descriptor=descriptor)


def _read_table(
    path: str | PathLike[str], kind: str, *, nodes: int | None, name: str | None, rebase: bool, renumber: bool
) -> Workload:
    from fedsched.io.platforms.openb import read_pods
    from fedsched.io.slurm_files.slurm_events import read_events
    from fedsched.io.swf.cleaning import MinimumNodes
    from fedsched.io.tables.csv import read_csv

    workload = {"csv": read_csv, "openb": read_pods, "events": read_events}[kind](path)
    if isinstance(nodes, MinimumNodes):  # no job of a table is dropped for its width
        nodes = None
    if nodes is not None or name is not None:
        workload = replace(workload, nodes=workload.nodes if nodes is None else nodes, name=name or workload.name)
    workload = workload.rebased() if rebase else workload
    return workload.renumbered() if renumber else workload


def write(workload: Workload, path: str | PathLike[str], format: str | None = None) -> None:
    """Write a workload to a file that `read` reads back; the suffix tells the format unless `format` does.

    A .csv file keeps everything. A .swf file does too: what the format has no field for is an error. A .json file, for
    Batsim, keeps the jobs; header, history and the log's other columns are lost.

    Parameters
    ----------
    workload
        The jobs, as a `Workload`.
    path
        The file to write.
    format
        "swf", "csv" or "batsim", for a file with another name.

    Examples
    --------
    >>> log = fs.read("sample").head(50)
    >>> fs.write(log, "first.swf")
    >>> fs.read("first.swf") == log
    True
    """
    from fedsched.model.jobs.workload import Workload

    if not isinstance(workload, Workload):
        raise TypeError(f"write: workload={shown(workload)} is no Workload; give one, as read(...), and then the path.")
    kind = _format(path, format)
    if kind == "swf":
        from fedsched.io.swf.log import write_swf

        write_swf(workload, path)
    elif kind == "batsim":
        from fedsched.io.batsim.workloads import write_batsim

        write_batsim(workload, path)
    elif kind == "csv":
        from fedsched.io.tables.csv import write_csv

        write_csv(workload, path)
    else:
        raise OutputError(f"Cannot write {path}: {kind} is only read; write .swf, .csv or .json.")


def read_federation(path: str | PathLike[str], format: str | None = None) -> Federation:
    """Return the federation in a file; the suffix tells the format unless `format` does.

    Formats by suffix: .toml and any unknown suffix: fedsched's own ("toml"). .xml: a SimGrid platform ("simgrid").
    .sacct: a dump of sacct ("sacct"); each cluster is as large as its jobs ever were at one time. .conf: a slurm.conf
    ("slurm"), with the nodes' resources, features, weights and partitions; so is the folder of a dump by `fedsched twin
    dump`. .openb: a table of nodes with GPUs, which may also end in .csv. If there is no such file, the name may be
    that of a shipped federation: "example", "das-2", "grid5000-2026" and others, which the error for an unknown name
    lists.

    Parameters
    ----------
    path
        The file, or the name of a shipped federation.
    format
        "toml", "simgrid", "sacct", "slurm" or "openb", for a file with another name.

    Examples
    --------
    >>> print(fs.read_federation("example"))
    example: 4 clusters, 160 nodes (north 64, south 48, east 32, west 16)
    >>> fs.read_federation("das-2").nodes
    200
    """
    from fedsched.io.examples import federation_path
    from fedsched.io.slurm_files.slurm_records import dump_of

    if format in (None, "slurm") and dump_of(path) is not None:
        from fedsched.io.slurm_files import slurm_machine

        return slurm_machine.read_federation(path)
    path = federation_path(path)
    kind = format or FEDERATION_FORMATS.get(plain_suffix(path), "toml")
    if format is None and plain_suffix(path) == ".csv" and Path(path).is_file():
        from fedsched.io.platforms.openb import NODES

        kind = "openb" if _columns(_header(_begin(path))) >= set(NODES) else kind
    if kind not in FEDERATION_FORMATS.values():
        raise unknown_name("federation format", kind, FEDERATION_FORMATS.values())
    if kind == "simgrid":
        from fedsched.io.platforms import simgrid

        return simgrid.read_simgrid(path)
    if kind == "sacct":
        from fedsched.io.slurm_files import sacct

        return sacct.read_federation(path)
    if kind == "slurm":
        from fedsched.io.slurm_files import slurm_machine

        return slurm_machine.read_federation(path)
    if kind == "openb":
        from fedsched.io.platforms import openb

        return openb.read_nodes(path)
    if format is None and plain_suffix(path) in FORMATS:
        raise FederationError(
            f"{path}: a log, which describes no machine; give fs.Federation.of(64) or a number of nodes (fedsched: "
            "--nodes 64), or leave it out: then the log's own number of nodes is taken, if it says one."
        )
    from fedsched.io.platforms import toml

    return toml.read_federation(path)


def write_federation(federation: Federation, path: str | PathLike[str]) -> None:
    """Write a federation to a TOML file that `read_federation` reads back unchanged.

    Parameters
    ----------
    federation
        The machine.
    path
        The file to write.

    Examples
    --------
    >>> from fedsched.io import write_federation
    >>> write_federation(fs.Federation.of(64, 32), "two.toml")
    >>> fs.read_federation("two.toml") == fs.Federation.of(64, 32)
    True
    """
    from fedsched.io.platforms import toml

    toml.write_federation(federation, path)


def read_example(name: str = "sample") -> Workload:
    """Return a workload that ships with the package.

    Parameters
    ----------
    name
        "sample", or another shipped workload.

    Examples
    --------
    >>> from fedsched.io import read_example
    >>> len(read_example("sample"))
    1000
    """
    from fedsched.io.examples import example_file

    return read(example_file("workload", name))


def _format(path: str | PathLike[str], format: str | None) -> str:
    if format is not None:
        if format not in FORMATS.values():
            raise unknown_name("workload format", format, FORMATS.values())
        return format
    named = ", ".join(f'"{kind}"' for kind in FORMATS.values())
    if str(path) == STDIN:
        raise ValueError(f"-: the standard input has no name to tell its format; give format= (--from) one of {named}.")
    suffix = plain_suffix(path)
    if suffix in FORMATS:
        return FORMATS[suffix]
    if suffix in FEDERATION_FORMATS:
        raise ValueError(f"{path}: {suffix[1:].upper()} files hold federations; use read_federation.")
    error = unknown_name("workload suffix", suffix, FORMATS)
    raise type(error)(f"{path}: {error} Name the file so, or give format= (fedsched: --from) one of {named}.")


def plain_suffix(path: str | PathLike[str]) -> str:
    """Return a file's suffix in lower case, without the suffix of a compression."""
    named = Path(path)
    return (Path(named.stem) if named.suffix.lower() in COMPRESSION_SUFFIXES else named).suffix.lower()
