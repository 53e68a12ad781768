"""Instances in which jobs share nodes: each task has a random demand for a node's cores, memory and GPUs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from fedsched.bench.documents import Document
from fedsched.bench.exact_numbers import Draws
from fedsched.bench.jobs import arrivals, drawn_jobs, requested
from fedsched.bench.planted import Piece, Room, cut

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.bench.jobs import Columns

CHOICE = "pack"  # the rule by which policies, and plans by default, take nodes
CORES, MEMORY = (1, 1, 2, 2, 4, 8), (1, 2, 4, 4, 8, 16)  # cores of a task; memory in GiB a core
WIDEST = 8  # tasks
# Of each cluster: nodes, speed, busy and idle watts, and a node's resources (memory in GiB). Watts are whole by core.
MACHINES: dict[str, tuple[tuple[str, int, int | str, int, int, dict[str, int]], ...]] = {
    "even": (("even", 8, 1, 256, 96, {"cpu": 16, "memory": 64}),),
    "gpus": (
        ("plain", 8, 1, 416, 128, {"cpu": 32, "memory": 128, "gpu": 0}),
        ("gpus", 4, 1, 960, 320, {"cpu": 32, "memory": 256, "gpu": 4}),
    ),
    "speeds": (
        ("old", 12, 1, 256, 96, {"cpu": 16, "memory": 64}),
        ("new", 4, 2, 640, 192, {"cpu": 64, "memory": 512}),
    ),
}


def _of_family(
    name: str, machine: str, about: str, jobs: Columns, asks: tuple[str, ...], *, online: bool = False
) -> Document:
    return Document.of(
        name,
        family="shared",
        about=about,
        machine=f"shared-{machine}",
        clusters=_clusters(machine),
        jobs=jobs,
        asks=asks,
        online=online,
        sharing=CHOICE,
    )


def _memory(machine: str) -> int:
    # The memory of the smallest node, in GiB.
    return min(resources["memory"] for *_, resources in MACHINES[machine])


def _clusters(name: str) -> list[dict[str, Any]]:
    return [
        {
            "name": cluster,
            "uplink": "inf",
            "groups": [
                {"nodes": nodes, "speed": speed, "busy_watts": busy, "idle_watts": idle, "resources": resources}
            ],
        }
        for cluster, nodes, speed, busy, idle, resources in MACHINES[name]
    ]


def with_demands(columns: Columns, draws: Draws, *, memory: int, gpus: int) -> Columns:
    """Return the jobs with a random demand for each of their tasks.

    A task needs at most `memory` GiB; about `gpus` per cent of the jobs take GPUs.
    """
    cores = [draws.one_of(CORES) for _ in columns["tasks"]]
    demand = {"cpu": cores, "memory": [min(memory, each * draws.one_of(MEMORY)) for each in cores]}
    if gpus:
        demand["gpu"] = [draws.one_of((1, 1, 2)) if draws.below(100) < gpus else 0 for _ in cores]
    return columns | {"demand": demand}


def _package(name: str, machine: str, jobs: int, seed: int, gpus: int, asks: tuple[str, ...]) -> Document:
    drawn = drawn_jobs(Draws(seed, jobs), jobs, widest=WIDEST, octaves=(8, 11))
    drawn = with_demands(drawn, Draws(seed, jobs, 1), memory=_memory(machine), gpus=gpus)
    about = f"{jobs} jobs that all wait, on nodes that they share{', some with GPUs' * bool(gpus)}"
    return _of_family(name, machine, about, drawn, asks)


def _day(name: str, machine: str, jobs: int, seed: int) -> Document:
    draws = Draws(seed, jobs)
    drawn = drawn_jobs(draws, jobs, widest=WIDEST, octaves=(10, 12))
    drawn |= {"submit": arrivals(draws, jobs), "estimate": [requested(draws, at) for at in drawn["runtime"]]}
    drawn = with_demands(drawn, Draws(seed, jobs, 1), memory=_memory(machine), gpus=15)
    about = f"{jobs} jobs that arrive in a day, on nodes that they share, some with GPUs; estimates are known"
    return _of_family(name, machine, about, drawn, ("mean_wait",), online=True)


def planted_pieces(machine: str, jobs: int, seed: int) -> tuple[list[Piece], int]:
    """Return the planted schedule, a piece for each job, and its makespan in seconds.

    Each node is cut up on its own, with its cores as the width.
    """
    [(_, nodes, _, _, _, resources)] = MACHINES[machine]
    makespan = 3600 + 60 * jobs
    rooms = [Room("1", ((node, resources["cpu"]),)) for node in range(nodes)]
    return cut(Draws(seed, jobs), rooms, jobs, makespan), makespan


def _planted(name: str, machine: str, jobs: int, seed: int) -> Document:
    [(_, _, _, _, _, resources)] = MACHINES[machine]
    pieces, _ = planted_pieces(machine, jobs, seed)
    each, draws = resources["memory"] // resources["cpu"], Draws(seed, jobs, 1)
    memory = [piece.width * draws.between(1, each) for piece in pieces]
    columns: Columns = {
        "submit": [0] * jobs,
        "tasks": [1] * jobs,
        "runtime": [piece.seconds for piece in pieces],
        "demand": {"cpu": [piece.width for piece in pieces], "memory": memory},
    }
    about = f"{jobs} jobs cut from nodes whose cores are all in use"
    return _of_family(name, machine, about, columns, ("makespan", "energy"))


# name, machine, jobs, seed, per cent of the jobs with GPUs, objectives
PACKAGES = (
    ("shared-even-50", "even", 50, 401, 0, ("makespan", "flow")),
    ("shared-gpus-100", "gpus", 100, 402, 8, ("makespan", "energy", "makespan+mean_wait")),
    ("shared-speeds-200", "speeds", 200, 403, 0, ("makespan", "energy")),
)
PLANTED = {"shared-planted-100": ("even", 100, 404)}
RECIPES: dict[str, Callable[[], Document]] = {
    **{row[0]: partial(_package, *row) for row in PACKAGES},
    **{name: partial(_planted, name, *row) for name, row in PLANTED.items()},
    "shared-day-300": partial(_day, "shared-day-300", "gpus", 300, 405),
}
