"""Files: workloads and federations, by suffix, from plain or compressed files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fedsched.errors import unknown_name
from fedsched.io.files import COMPRESSION_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Collection
    from os import PathLike

    from fedsched.federation import Federation
    from fedsched.workload import Workload

__all__ = ["read", "read_example", "read_federation", "write", "write_federation"]

# Completed, failed, cancelled, unknown; 2, 3 and 4 are partial records of jobs that have a line of their own.
WHOLE_JOBS = (0, 1, 5, -1)
FORMATS = {".swf": "swf", ".csv": "csv"}


def read(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    clean: Literal["standard", "none"] = "standard",
    nodes: int | None = None,
    over_request: Literal["raise", "cap", "keep"] = "raise",
    statuses: Collection[int] | None = WHOLE_JOBS,
    sites: Literal["auto", "partition"] | None = "auto",
    rebase: bool = False,
    renumber: bool = False,
    on_error: Literal["raise", "skip"] = "raise",
    name: str | None = None,
) -> Workload:
    """Return the workload in a file; the suffix tells the format unless `format` does.

    Parameters
    ----------
    path
        A file that ends in .swf or .csv, plain or with .gz, .xz or .bz2 after it.
    format
        "swf" or "csv", for a file with another name.
    clean, over_request, statuses, sites, on_error
        How a log in the Standard Workload Format is cleaned: see `fedsched.io.swf.read_swf`. A CSV file is written
        clean, so that for one these must be left alone.
    nodes, name
        The machine's size and the workload's name; default: what the file says.
    rebase, renumber
        Shift submits so that the earliest is 0; number the jobs 1..n.
    """
    if _format(path, format) == "swf":
        from fedsched.io.swf import read_swf

        return read_swf(
            path,
            clean=clean,
            nodes=nodes,
            over_request=over_request,
            statuses=statuses,
            sites=sites,
            rebase=rebase,
            renumber=renumber,
            on_error=on_error,
            name=name,
        )
    from fedsched.io.csv import read_csv

    for option, value, default in (
        ("clean", clean, "standard"),
        ("over_request", over_request, "raise"),
        ("statuses", statuses, WHOLE_JOBS),
        ("sites", sites, "auto"),
        ("on_error", on_error, "raise"),
    ):
        if value != default:
            raise ValueError(f"{option}={value!r}: it is for logs in the Standard Workload Format; {path} is CSV.")
    workload = read_csv(path)
    if nodes is not None or name is not None:
        workload = replace(workload, nodes=workload.nodes if nodes is None else nodes, name=name or workload.name)
    workload = workload.rebased() if rebase else workload
    return workload.renumbered() if renumber else workload


def write(workload: Workload, path: str | PathLike[str], format: str | None = None) -> None:
    """Write a workload to a file that `read` gives back unchanged; the suffix tells the format unless `format` does."""
    if _format(path, format) == "swf":
        from fedsched.io.swf import write_swf

        write_swf(workload, path)
    else:
        from fedsched.io.csv import write_csv

        write_csv(workload, path)


def read_federation(path: str | PathLike[str]) -> Federation:
    """Return the federation in a TOML file."""
    from fedsched.io import toml

    return toml.read_federation(path)


def write_federation(federation: Federation, path: str | PathLike[str]) -> None:
    """Write a federation to a TOML file that `read_federation` gives back unchanged."""
    from fedsched.io import toml

    toml.write_federation(federation, path)


def read_example(name: str = "sample") -> Workload:
    """Return a workload that ships with the package."""
    from fedsched.io.examples import example_file

    return read(example_file("workload", name))


def _format(path: str | PathLike[str], format: str | None) -> str:
    if format is not None:
        if format not in FORMATS.values():
            raise unknown_name("workload format", format, FORMATS.values())
        return format
    named = Path(path)
    inner = Path(named.stem) if named.suffix.lower() in COMPRESSION_SUFFIXES else named
    suffix = inner.suffix.lower()
    if suffix in FORMATS:
        return FORMATS[suffix]
    if suffix == ".toml":
        raise ValueError(f"{path}: TOML files hold federations: use read_federation and write_federation.")
    error = unknown_name("workload suffix", suffix, FORMATS)
    raise type(error)(f'{path}: {error} Name the file so, or give format="swf" or "csv".')
