"""Conversion of workloads from and to named columns: job objects, pandas tables, and tables of CSV files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import LONG_NAME, nearest
from fedsched.core.frames import frame_of
from fedsched.model.jobs.job import EXTRAS, OPTIONAL
from fedsched.model.jobs.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.jobs.columns import JobColumns
    from fedsched.model.jobs.job import Job

SITE_SEPARATOR = "|"
WHOLE = ("id", "tasks", "user")
REAL = ("submit", "runtime", "estimate", "compute_fraction", "task_bandwidth")
NAMED = ("origin", "allowed")
REQUIRED = ("submit", "tasks", "runtime")
COLUMNS = (
    *("id", "submit", "tasks", "runtime", "estimate", "origin", "user"),
    *("compute_fraction", "task_bandwidth", "allowed"),
    *(kind.PREFIX + name for kind in OPTIONAL.values() for name in kind.NAMES or ("NAME",)),
)
# Words that other programs use for these columns.
MEANT = {
    "id": ("jobid", "job", "job_number"),
    "submit": ("submit_time", "submitted", "arrival"),
    "tasks": ("nodes", "nnodes", "procs", "processors", "cores", "cpus", "ncpus", "size"),
    "runtime": ("duration", "run", "run_time", "time", "elapsed"),
    "estimate": ("request", "requested", "requested_time", "walltime", "timelimit", "time_limit", "limit"),
    "label.partition": ("partition", "queue"),
    "label.account": ("account",),
    "label.qos": ("qos",),
}
OF_CORES = ("cores", "cpus", "ncpus")


def columns_of_workload(workload: Workload) -> dict[str, NDArray[Any]]:
    """Return the workload's columns by their names in tables, without optional columns that it lacks.

    Sites are given by name, '' for none; the sites that a job may use are one text, joined by "|".
    """
    w = workload
    names = np.array([*w.sites, ""], dtype=object)
    table: dict[str, NDArray[Any]] = {name: getattr(w, name) for name in COLUMNS[:5]}
    table["origin"] = names[w.origin]
    table |= {name: getattr(w, name) for name in ("user", "compute_fraction", "task_bandwidth")}
    if w.allowed is not None:
        table["allowed"] = np.array([SITE_SEPARATOR.join(names[:-1][row]) for row in w.allowed], dtype=object)
    for field in OPTIONAL:
        if (part := getattr(w, field)) is not None:
            table |= named(part, part.columns())
    return table


def named(kind: JobColumns | type[JobColumns], columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return optional columns by their names in tables: the prefix of their kind, then their own name."""
    return {kind.PREFIX + name: values for name, values in columns.items()}


def optional_in(table: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return a table's optional columns by the workload's field, and within a field by name without its prefix."""
    found: dict[str, Any] = {}
    for name, values in table.items():
        if field := field_of(name):
            found.setdefault(field, {})[name.removeprefix(OPTIONAL[field].PREFIX)] = values
    return found


def field_of(column: str) -> str | None:
    """Return the optional field of a workload to which a table's column belongs; None if there is none."""
    return next((field for field, kind in OPTIONAL.items() if kind.owns(column)), None)


def cell_of(column: str) -> type[int] | type[float] | type[str]:
    """Return the type of the cells in a table's column of this name: int, float or str."""
    if field := field_of(column):
        return OPTIONAL[field].CELL
    return int if column in WHOLE else str if column in NAMED else float


def workload_of_columns(
    table: Mapping[str, NDArray[Any]],
    *,
    sites: Sequence[str] | None = None,
    name: str = "workload",
    nodes: int = 0,
    history: Iterable[str] = (),
) -> Workload:
    """Return the workload in named columns; its sites are in the given order, else in order of appearance.

    Without the column "origin" jobs have no site; a job with an empty cell in "allowed" may use all sites. Raise a
    ValueError for an unknown column, a missing one, or a site that is not among `sites`.
    """
    check_names(table)
    jobs = len(table["submit"])
    origin = [_site(text) for text in table["origin"]] if "origin" in table else [""] * jobs
    may_use = [_parts(text) for text in table["allowed"]] if "allowed" in table else None
    if sites is None:
        seen = dict.fromkeys(origin) | dict.fromkeys(site for parts in may_use or () for site in parts)
        sites = tuple(site for site in seen if site)
    number = {site: k for k, site in enumerate(sites)} | {"": -1}
    allowed = None
    if may_use is not None:
        allowed = np.zeros((jobs, len(sites)), dtype=np.bool_)
        for row, parts in enumerate(may_use):
            allowed[row, [_number(site, number) for site in parts] or slice(None)] = True
    numeric: dict[str, Any] = {key: table[key] for key in (*WHOLE, *REAL) if key in table}
    return Workload(
        **numeric,
        origin=np.array([_number(site, number) for site in origin], dtype=np.int64),
        allowed=allowed,
        sites=sites,
        **optional_in(table),
        name=name,
        nodes=nodes,
        history=history,
    )


def check_names(names: Iterable[str]) -> None:
    """Raise a ValueError if a column's name is unknown (it offers the nearest one) or a required column is missing."""
    given = list(names)
    for name in given:
        if name not in COLUMNS and not field_of(str(name)):
            plain = "_".join(str(name).lower().replace("-", "_").split())
            meant = next((column for column, words in MEANT.items() if plain in words), None)
            near = meant or nearest(name, COLUMNS)
            hint = f" Did you mean {near!r}?" if near else ""
            if plain in OF_CORES:
                hint += " (A task takes a node of its own; where nodes are shared, 'demand.cpu' has each task's cores.)"
            raise ValueError(f"Unknown column {str(name)[:LONG_NAME]!r}.{hint} Known: {', '.join(COLUMNS)}.")
    for name in REQUIRED:
        if name not in given:
            raise ValueError(f"Column {name!r} is missing; {', '.join(REQUIRED)} are needed.")


def workload_of_rows(jobs: Sequence[Job], *, name: str, nodes: int) -> Workload:
    """Return the workload of these `Job` objects, with sites in order of appearance."""
    table: dict[str, NDArray[Any]] = {
        field: np.array([getattr(job, field) for job in jobs]) for field in (*WHOLE, *REAL)
    }
    table["origin"] = np.array([job.origin or "" for job in jobs], dtype=object)
    if any(job.allowed is not None for job in jobs):
        table["allowed"] = np.array([SITE_SEPARATOR.join(job.allowed or ()) for job in jobs], dtype=object)
    for field, kind in EXTRAS.items():
        table |= named(kind, kind.of_jobs([getattr(job, field) for job in jobs]))
    return workload_of_columns(table, name=name, nodes=nodes)


def frame_of_workload(workload: Workload) -> Any:
    """Return the workload's columns, copied, as a pandas table with name, nodes, sites and history in its `attrs`.

    Without pandas, return a dictionary of the columns alone.
    """
    columns = {name: np.array(values) for name, values in columns_of_workload(workload).items()}
    whole = {
        "name": workload.name,
        "nodes": workload.nodes,
        "sites": list(workload.sites),
        "history": list(workload.history),
    }
    return frame_of(columns, whole)


def workload_of_frame(
    frame: pd.DataFrame | Mapping[str, ArrayLike], *, name: str | None, nodes: int | None
) -> Workload:
    """Return the workload in a pandas table or a dictionary of columns; `name` and `nodes` override its `attrs`."""
    attrs: Mapping[str, Any] = getattr(frame, "attrs", {})
    return workload_of_columns(
        {str(column): np.asarray(frame[column]) for column in frame},
        sites=attrs.get("sites"),
        name=name or str(attrs.get("name", "workload")),
        nodes=int(attrs.get("nodes", 0)) if nodes is None else nodes,
        history=(*attrs.get("history", ()), "from_frame"),
    )


def _site(value: object) -> str:
    """Return a site's name from a cell, without spaces around; '' for a missing value, which is None or NaN."""
    return "" if value is None or value != value else str(value).strip()


def _parts(value: object) -> list[str]:
    return [part for part in _site(value).split(SITE_SEPARATOR) if part]


def _number(site: str, numbers: Mapping[str, int]) -> int:
    if site not in numbers:
        known = ", ".join(name for name in numbers if name)
        raise ValueError(f"Site {site!r} is not among the workload's sites: {known}.")
    return numbers[site]
