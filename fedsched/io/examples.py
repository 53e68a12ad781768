"""The example files that ship with the package, and their names, which may be given in place of a file."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fedsched.core.errors import FederationError, TraceError, nearest, shown, unknown_name
from fedsched.io.files import STDIN
from fedsched.io.slurm_files.slurm_records import JOBS, dump_of

if TYPE_CHECKING:
    from os import PathLike

Kind = Literal["federation", "workload"]

_SUFFIXES = {"federation": (".toml",), "workload": (".swf.gz", ".csv")}
_FOLDERS = {"federation": "federations", "workload": "workloads"}


def example_names(kind: Kind) -> dict[str, Path]:
    """Return the paths of all shipped federations, or of all shipped workloads, by name."""
    folder = Path(str(files("fedsched"))) / "data" / _FOLDERS[kind]
    return {
        path.name.removesuffix(suffix): path
        for path in sorted(folder.iterdir())
        for suffix in _SUFFIXES[kind]
        if path.name.endswith(suffix)
    }


def example_file(kind: Kind, name: str) -> Path:
    """Return the path of the shipped federation or workload of this name; an unknown name is an UnknownNameError."""
    known = example_names(kind)
    if name not in known:
        raise unknown_name(f"example {kind}", name, known)
    return known[name]


def slurm_files() -> dict[str, Path]:
    """Return the paths of the files that describe the shipped Slurm cluster, by file name."""
    folder = Path(str(files("fedsched"))) / "data" / "slurm"
    return {path.name: path for path in sorted(folder.iterdir())}


def queue_folder(name: str) -> Path:
    """Return the path of the folder of the shipped queue of this name; it need not exist."""
    return Path(str(files("fedsched"))) / "data" / "queues" / name


def names_shipped(name: str | PathLike[str], folder: Path = Path()) -> bool:
    """Return whether this can be the name of a shipped file: a plain name without suffix, and no file in `folder`."""
    path = Path(name)
    return str(name) != STDIN and path.name == str(name) and not path.suffix and _is_missing(folder / path)


def workload_path(path: str | PathLike[str]) -> str | PathLike[str]:
    """Return the file to read jobs from: the given path if it exists, else that of the shipped workload of this name.

    Raise a TraceError for a folder, and if there is neither.
    """
    return _located(path, "workload")


def federation_path(path: str | PathLike[str]) -> str | PathLike[str]:
    """Return the file to read a federation from: the given path if it exists, else that of the shipped one so named.

    Raise a FederationError for a folder, and if there is neither.
    """
    return _located(path, "federation")


def _located(path: str | PathLike[str], kind: Kind) -> str | PathLike[str]:
    error = TraceError if kind == "workload" else FederationError
    if not isinstance(path, str | os.PathLike):  # numbers would mean open files
        raise TypeError(f"read: path={shown(path)} is no path; give the file of a {kind}, as 'log.swf' or 'site.toml'.")
    if str(path) != STDIN and os.path.isdir(path):
        which = f'its jobs are in {JOBS}, to be read with unit="nodes" (fedsched: --unit nodes)'
        raise error(f"{path}: it is a folder; {which if dump_of(path) else 'give a file in it'}.")
    if str(path) == STDIN or not _is_missing(path):
        return path
    known = example_names(kind)
    if str(path) in known:
        return known[str(path)]
    near = nearest(path, known) if names_shipped(path) else None
    hint = f" Did you mean {near!r}?" if near else ""
    raise error(f"{path}: there is no such file; check the path, or name a shipped {kind}: {', '.join(known)}.{hint}")


def _is_missing(path: str | PathLike[str]) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: no file can have such a name
        return True
    except OSError:  # it may exist: opening it tells what is wrong
        return False
    return False
