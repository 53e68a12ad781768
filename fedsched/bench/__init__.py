"""Benchmark problems ("instances") with a name and a hash, on which scheduling methods can be compared."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.bench.catalogue import RECIPES, SLICES, document_of
from fedsched.bench.documents import Document
from fedsched.core.errors import FedschedError, unknown_name

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["DATA", "Document", "known_hashes", "load", "names"]

DATA = Path(str(files("fedsched"))) / "data" / "bench"
HASHES = DATA / "instances.sha256"


def names(*, logs: bool = False) -> tuple[str, ...]:
    """Return the names of all instances that are generated; with `logs` also of those made from archive logs.

    Parameters
    ----------
    logs
        Whether to name the instances that are made from archive logs too.

    Examples
    --------
    >>> from fedsched import bench
    >>> "example-20" in bench.names()
    True
    """
    return (*RECIPES, *SLICES) if logs else tuple(RECIPES)


@cache
def known_hashes() -> dict[str, str]:
    """Return the SHA-256 of each instance's canonical text, by name.

    Examples
    --------
    >>> from fedsched import bench
    >>> len(bench.known_hashes()["example-20"])
    64
    """
    lines = HASHES.read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def load(name: str, *, logs: str | PathLike[str] | None = None) -> Document:
    """Return an instance, generated anew and checked against its known hash.

    Raise FedschedError if its hash is another one.

    Parameters
    ----------
    name
        One of `names(logs=True)`.
    logs
        The folder with the archive's logs, for an instance made from one.

    Examples
    --------
    >>> from fedsched import bench
    >>> bench.load("example-20").workload
    <Workload 'example-20': 20 jobs>
    """
    if name not in (*RECIPES, *SLICES):
        raise unknown_name("instance", name, names(logs=True))
    if name in SLICES and logs is None:
        raise FedschedError(f"{name} is made from the log {SLICES[name].log}; give the folder that it is in: logs=….")
    found = _made(name) if name in RECIPES else document_of(name, logs or ".")
    if found.sha256 != known_hashes()[name]:
        raise FedschedError(
            f"{name}: sha256={found.sha256[:12]}… must be {known_hashes()[name][:12]}…; this is another problem (from "
            "another log or version of fedsched), and its figures cannot be compared."
        )
    return found


@cache
def _made(name: str) -> Document:
    return RECIPES[name]()
