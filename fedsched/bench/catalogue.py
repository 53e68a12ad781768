"""The catalogue of instances: each is a name with the recipe (function) that makes its document.

Documents are generated from seeds (`RECIPES`), or made from archive logs that the user has (`SLICES`). A new family is
a list in `RECIPES`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fedsched.bench.documents import Document, clusters_of
from fedsched.bench.exact_numbers import Draws, decimal
from fedsched.bench.gangs import RECIPES as GANGS
from fedsched.bench.jobs import drawn_jobs, month_of_jobs, with_communication, with_dependencies, with_partitions
from fedsched.bench.markets import RECIPES as MARKETS
from fedsched.bench.planted import Piece, Room, cut, jobs_of
from fedsched.bench.sharing import RECIPES as SHARED
from fedsched.core.errors import TraceError

if TYPE_CHECKING:
    from os import PathLike

Recipe = Callable[[], Document]

SINGLE = ("makespan", "energy")
TWO, THREE = "makespan+energy", "makespan+energy+flow"
LINK = 125_000_000  # bytes a second of a planted machine's uplinks, if jobs communicate
MONTH = 30 * 86_400
HOUR = 3600
# Nodes and speed of each cluster. Speeds are powers of two, so that the planted plan is exact in floating point.
PLANTED_MACHINES: dict[str, tuple[tuple[int, str], ...]] = {
    "one": ((64, "1"),),
    "two": ((32, "1"), (32, "1")),
    "speeds": ((32, "0.5"), (32, "1"), (32, "2")),
    "four": ((32, "1"), (16, "2"), (24, "0.5"), (16, "4")),
    "das-2": (),
}


@cache
def machine(name: str) -> list[dict[str, Any]]:
    """Return the clusters of a federation that comes with fedsched, in a document's form."""
    text = (files("fedsched") / "data" / "federations" / f"{name}.toml").read_text(encoding="utf-8")
    return clusters_of(tomllib.loads(text, parse_float=str)["cluster"])


def _widest(clusters: list[dict[str, Any]]) -> int:
    """Return the number of nodes of the largest cluster."""
    return max(sum(int(group["nodes"]) for group in cluster["groups"]) for cluster in clusters)


# ---- planted optima ---------------------------------------------------------------------------------------------


def _planted_clusters(name: str, *, communicating: bool) -> list[dict[str, Any]]:
    if name == "das-2":
        return machine(name)
    return [
        {
            "name": f"C{k}",
            "uplink": LINK if communicating else "inf",
            "groups": [{"nodes": nodes, "speed": decimal(speed), "busy_watts": 200, "idle_watts": 90}],
        }
        for k, (nodes, speed) in enumerate(PLANTED_MACHINES[name], 1)
    ]


def _rooms(clusters: list[dict[str, Any]], *, apart: bool) -> list[Room]:
    """Return the node sets that are cut into jobs: each group if `apart`, else all groups of one speed together."""
    groups = [group for cluster in clusters for group in cluster["groups"]]
    if apart:
        return [Room(str(group["speed"]), ((g, group["nodes"]),)) for g, group in enumerate(groups)]
    speeds = dict.fromkeys(str(group["speed"]) for group in groups)
    return [
        Room(speed, tuple((g, group["nodes"]) for g, group in enumerate(groups) if str(group["speed"]) == speed))
        for speed in speeds
    ]


def planted_pieces(name: str, jobs: int, seed: int, *, apart: bool) -> tuple[list[Piece], list[Room], int]:
    """Return the planted schedule (a piece for each job), the node sets that it fills, and its makespan in seconds."""
    rooms = _rooms(_planted_clusters(name, communicating=apart), apart=apart)
    makespan = 4 * HOUR + 60 * jobs
    return cut(Draws(seed, jobs), rooms, jobs, makespan), rooms, makespan


def _planted(name: str, jobs: int, seed: int, *, apart: bool) -> Document:
    clusters = _planted_clusters(name, communicating=apart)
    pieces, rooms, _ = planted_pieces(name, jobs, seed, apart=apart)
    columns = jobs_of(pieces, rooms)
    if apart:
        columns = with_communication(columns, Draws(seed, jobs, 1))
    equal = len({room.speed for room in rooms}) == 1
    return Document.of(
        planted_name(name, jobs, apart=apart),
        family="planted",
        about=f"{jobs} jobs cut from a full machine{', none across clusters, which communicate' * apart}",
        machine=name,
        clusters=clusters,
        jobs=columns,
        asks=SINGLE if equal else ("makespan",),
    )


def planted_name(name: str, jobs: int, *, apart: bool) -> str:
    """Return the name of a planted instance: planted-MACHINE-JOBS, with "-comm" at the end if `apart`."""
    return f"planted-{name}-{jobs}{'-comm' * apart}"


# machine, jobs, seed, and whether jobs stay within clusters and communicate
PLANTED = (
    ("one", 20, 1, False), ("one", 50, 2, False), ("one", 200, 3, False), ("one", 1000, 4, False),
    ("two", 100, 5, False), ("two", 100, 6, True), ("two", 500, 7, True),
    ("das-2", 200, 8, True), ("das-2", 2000, 9, True),
    ("speeds", 50, 10, False), ("speeds", 200, 11, False), ("four", 100, 12, False), ("four", 1000, 13, False),
)  # fmt: skip


# ---- packages -----------------------------------------------------------------------------------------------------


def _package(
    where: str, jobs: int, seed: int, *, communicating: bool, octaves: tuple[int, int], asks: tuple[str, ...]
) -> Document:
    clusters = machine(where)
    columns = drawn_jobs(Draws(seed, jobs), jobs, widest=_widest(clusters), octaves=octaves)
    if communicating:
        columns = with_communication(columns, Draws(seed, jobs, 1))
    return Document.of(
        f"{where}-{jobs}{'-comm' * communicating}",
        family="package",
        about=f"{jobs} jobs that all wait{', and communicate' * communicating}",
        machine=where,
        clusters=clusters,
        jobs=columns,
        asks=asks,
    )


SHORT, USUAL, EVEN = (4, 9), (6, 13), (9, 11)
FLOW = ("flow",)
# federation, jobs, seed, communicating, octaves of the run times, objectives
PACKAGES = (
    ("figure-1-5", 20, 101, False, SHORT, ("makespan", "flow")),
    ("figure-1-6", 20, 102, False, SHORT, (*SINGLE, TWO)),
    ("figure-1-6", 50, 103, False, USUAL, ("makespan", "flow")),
    ("figure-1-7", 20, 104, False, SHORT, ("makespan",)),
    ("figure-1-7", 50, 105, True, EVEN, SINGLE),
    ("das-2", 50, 106, False, EVEN, (*SINGLE, *FLOW)),
    ("das-2", 200, 107, False, USUAL, (*SINGLE, *FLOW)),
    ("das-2", 200, 108, True, USUAL, SINGLE),
    ("das-2", 1000, 109, False, USUAL, ("makespan",)),
    ("example", 20, 110, False, EVEN, (*SINGLE, TWO)),
    ("example", 50, 111, False, EVEN, (*SINGLE, TWO)),
    ("example", 50, 112, True, EVEN, (*SINGLE, THREE)),
    ("example", 100, 113, False, USUAL, (*SINGLE, *FLOW, TWO)),
    ("example", 200, 114, False, USUAL, (*SINGLE, "mean_wait", THREE)),
    ("example", 200, 115, True, USUAL, SINGLE),
    ("example", 500, 116, False, USUAL, SINGLE),
    ("example", 1000, 117, True, USUAL, SINGLE),
    ("grid5000-2011", 100, 118, False, EVEN, (*SINGLE, TWO)),
    ("grid5000-2011", 200, 119, True, USUAL, (*SINGLE, THREE)),
    ("grid5000-2011", 500, 120, False, USUAL, SINGLE),
    ("grid5000-2011", 2000, 121, False, USUAL, SINGLE),
    ("grid5000-2026", 100, 122, False, EVEN, (*SINGLE, TWO)),
    ("grid5000-2026", 500, 123, False, USUAL, SINGLE),
    ("grid5000-2026", 1000, 124, True, USUAL, SINGLE),
    ("metacentrum-2009", 100, 125, False, EVEN, (*SINGLE, *FLOW)),
    ("metacentrum-2009", 500, 126, False, USUAL, SINGLE),
    ("metacentrum-2009", 1000, 127, False, USUAL, SINGLE),
)


# ---- on-line months -----------------------------------------------------------------------------------------------


def _month(where: str, seed: int, *, load: int, octaves: tuple[int, int], asks: tuple[str, ...]) -> Document:
    clusters = machine(where)
    nodes = sum(group["nodes"] for cluster in clusters for group in cluster["groups"])
    columns = month_of_jobs(
        Draws(seed), widest=_widest(clusters), octaves=octaves, node_seconds=nodes * MONTH * load // 100
    )
    return Document.of(
        f"month-{where}",
        family="month",
        about=f"{len(columns['tasks'])} jobs that arrive in 30 days, {load} % of the machine; estimates are known",
        machine=where,
        clusters=clusters,
        jobs=columns,
        asks=asks,
        online=True,
    )


MONTHS = (
    ("das-2", 201, 80, (9, 17), ("mean_wait",)),
    ("example", 202, 70, (9, 16), ("mean_wait", "bounded_slowdown")),
    ("grid5000-2011", 203, 55, (12, 18), ("mean_wait",)),
    ("grid5000-2026", 204, 70, (11, 18), ("bounded_slowdown",)),
)


# ---- windows, partitions, dependencies ------------------------------------------------------------------------------


def _windows(jobs: int, seed: int) -> Document:
    draws = Draws(seed, jobs)
    downtimes = [
        {"cluster": name, "begin": begin, "end": begin + HOUR * draws.between(1, 3), "nodes": nodes}
        for name, nodes, begin in (
            ("north", "0-31", HOUR * draws.between(1, 3)),
            ("south", "all", HOUR * draws.between(1, 2)),
            ("east", "all", HOUR * draws.between(3, 4)),
            ("west", "0-7", HOUR),
        )
    ]
    return Document.of(
        f"windows-{jobs}",
        family="windows",
        about=f"{jobs} jobs around four downtimes that are known beforehand",
        machine="example",
        clusters=machine("example"),
        jobs=drawn_jobs(Draws(seed, jobs, 1), jobs, widest=32, octaves=EVEN),
        asks=("makespan",),
        downtimes=downtimes,
    )


def _partitions(jobs: int, seed: int) -> Document:
    parts: list[dict[str, Any]] = [
        {"name": "short", "nodes": [["north", "all"], ["west", "all"]], "max_time": HOUR},
        {"name": "long", "nodes": [["north", "32-63"], ["east", "all"]]},
        {"name": "fast", "nodes": [["south", "all"]], "max_nodes": 24},
    ]
    drawn = drawn_jobs(Draws(seed, jobs), jobs, widest=32, octaves=USUAL)
    rooms = {"short": (64, HOUR), "long": (32, 1 << 20), "fast": (24, 1 << 20)}
    return Document.of(
        f"partitions-{jobs}",
        family="partitions",
        about=f"{jobs} jobs of three partitions that overlap",
        machine="example",
        clusters=machine("example"),
        jobs=with_partitions(drawn, Draws(seed, jobs, 1), rooms),
        asks=SINGLE,
        partitions=parts,
    )


def _dependencies(where: str, jobs: int, seed: int, share: int) -> Document:
    clusters = machine(where)
    drawn = drawn_jobs(Draws(seed, jobs), jobs, widest=_widest(clusters) // 2, octaves=EVEN)
    return Document.of(
        f"workflows-{where}-{jobs}",
        family="dependencies",
        about=f"{jobs} jobs, of which {share} % wait for one or two others to end",
        machine=where,
        clusters=clusters,
        jobs=with_dependencies(drawn, Draws(seed, jobs, 1), share=share),
        asks=("makespan",),
    )


def _power(where: str, jobs: int, seed: int, shares: tuple[int, ...]) -> Document:
    clusters = machine(where)
    groups = [group for cluster in clusters for group in cluster["groups"]]
    idle, busy = (sum(one["nodes"] * Fraction(one[key]) for one in groups) for key in ("idle_watts", "busy_watts"))
    caps = [int(idle + (busy - idle) * share / 100) for share in shares]
    left = " and ".join(map(str, shares))
    cap: dict[str, Any] = {"times": [2 * HOUR * k for k in range(len(caps))], "values": caps, "unit": "W"}
    cap |= {"until": 2 * HOUR * len(caps), "beyond": "repeat"} if len(caps) > 1 else {"beyond": "last"}
    return Document.of(
        f"power-{where}-{jobs}",
        family="power",
        about=f"{jobs} jobs under a cap that leaves {left} % of what busy nodes add to idle ones",
        machine=where,
        clusters=clusters,
        jobs=drawn_jobs(Draws(seed, jobs), jobs, widest=_widest(clusters) // 4, octaves=EVEN),
        asks=("makespan",),
        signals=[cap],
    )


def _carbon(where: str, jobs: int, seed: int) -> Document:
    clusters, draws = machine(where), Draws(seed, jobs, 1)
    grams = [draws.between(1, 9) * 50 for _ in range(12)]
    return Document.of(
        f"carbon-{where}-{jobs}",
        family="carbon",
        about=f"{jobs} jobs on a grid whose carbon changes every hour, and is the same again after twelve",
        machine=where,
        clusters=clusters,
        jobs=drawn_jobs(Draws(seed, jobs), jobs, widest=_widest(clusters) // 2, octaves=EVEN),
        asks=("carbon", "makespan+carbon"),
        signals=[
            {"times": [HOUR * k for k in range(12)], "values": grams, "unit": "g/kWh", "until": 12 * HOUR}
            | {"beyond": "repeat"}
        ],
    )


WINDOWS = ((50, 301), (100, 302), (200, 303))
PARTITIONS = ((50, 311), (100, 312), (500, 313))
DEPENDENCIES = (("example", 50, 321, 40), ("example", 200, 322, 30), ("das-2", 100, 323, 60), ("das-2", 500, 324, 20))
# federation, jobs, seed, and the cap by turns, in per cent of the power that busy nodes add to idle ones
POWER = (("example", 50, 331, (50,)), ("example", 200, 332, (60, 30)), ("das-2", 100, 333, (40,)))
CARBON = (("example", 20, 341), ("das-2", 50, 342), ("das-2", 200, 343))

RECIPES: dict[str, Recipe] = {
    **{
        planted_name(name, jobs, apart=apart): partial(_planted, name, jobs, seed, apart=apart)
        for name, jobs, seed, apart in PLANTED
    },
    **{
        f"{where}-{jobs}{'-comm' * comm}": partial(
            _package, where, jobs, seed, communicating=comm, octaves=octaves, asks=asks
        )
        for where, jobs, seed, comm, octaves, asks in PACKAGES
    },
    **{
        f"month-{where}": partial(_month, where, seed, load=load, octaves=octaves, asks=asks)
        for where, seed, load, octaves, asks in MONTHS
    },
    **{f"windows-{jobs}": partial(_windows, jobs, seed) for jobs, seed in WINDOWS},
    **{f"partitions-{jobs}": partial(_partitions, jobs, seed) for jobs, seed in PARTITIONS},
    **{
        f"workflows-{where}-{jobs}": partial(_dependencies, where, jobs, seed, share)
        for where, jobs, seed, share in DEPENDENCIES
    },
    **{f"carbon-{where}-{jobs}": partial(_carbon, where, jobs, seed) for where, jobs, seed in CARBON},
    **{f"power-{where}-{jobs}": partial(_power, where, jobs, seed, shares) for where, jobs, seed, shares in POWER},
    **SHARED,
    **MARKETS,
    **GANGS,
}


class Slice(NamedTuple):
    """The consecutive jobs of a log, from a third of it on, on a federation that comes with fedsched."""

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
    """Return the document made from the log of the instance `name` in a folder.

    Only its hash tells whether it is the instance. Raise TraceError if the log is not there.
    """
    import fedsched as fs
    from fedsched.io.fetch import LOGS

    part = SLICES[name]
    path = Path(folder) / LOGS[part.log].file
    if not path.is_file():
        raise TraceError(
            f"{name}: {path} does not exist; get it by `fedsched fetch {part.log}`, and give its folder as --logs."
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
