"""Instances made from archive logs that the user has (`fedsched fetch`), identified by hash."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fedsched.bench.catalogue import SINGLE, TWO, machine
from fedsched.bench.decimals import decimal
from fedsched.bench.documents import Document
from fedsched.core.errors import TraceError

if TYPE_CHECKING:
    from os import PathLike


class Slice(NamedTuple):
    """Consecutive jobs of a log, from a third of it on, on a federation that comes with fedsched."""

    log: str
    jobs: int
    machine: str
    asks: tuple[str, ...]


SLICES = {
    "log-kth-50": Slice("KTH-SP2", 50, "example", (*SINGLE, TWO)),
    "log-kth-200": Slice("KTH-SP2", 200, "das-2", (*SINGLE, "flow")),
    "log-hpc2n-100": Slice("HPC2N", 100, "example", SINGLE),
    "log-hpc2n-500": Slice("HPC2N", 500, "grid5000-2026", SINGLE),
    "log-nasa-100": Slice("NASA-iPSC", 100, "das-2", SINGLE),
    "log-metacentrum-1000": Slice("METACENTRUM", 1000, "metacentrum-2009", SINGLE),
}


def document_of(name: str, folder: str | PathLike[str]) -> Document:
    """Return the document made from a log in a folder; its hash tells whether it is the instance."""
    import fedsched as fs
    from fedsched.io.fetch import LOGS

    part = SLICES[name]
    path = Path(folder) / LOGS[part.log].file
    if not path.is_file():
        raise TraceError(
            f"{name}: {path} is not there; get it by `fedsched fetch {part.log}`, and give its folder as --logs."
        )
    clusters = machine(part.machine)
    widest = max(sum(group["nodes"] for group in cluster["groups"]) for cluster in clusters)
    log = fs.read(path)
    fits = log.filter((log.tasks <= widest) & (log.runtime > 0))
    begin = len(fits) // 3
    jobs = fits.take(range(begin, begin + part.jobs))
    return Document.of(
        name,
        family="log",
        about=f"{part.jobs} successive jobs of {LOGS[part.log].file}, all waiting",
        machine=part.machine,
        clusters=clusters,
        jobs={
            "submit": [0] * part.jobs,
            "tasks": jobs.tasks.tolist(),
            "runtime": [decimal(value) for value in jobs.runtime.tolist()],
        },
        asks=part.asks,
    )
