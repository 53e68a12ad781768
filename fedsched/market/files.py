"""Read markets (nodes with their local tasks, and jobs) from TOML files, and write assignments as CSV."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import FedschedError, shortened, unknown_name
from fedsched.io.atomic import atomic_text
from fedsched.io.files import parse_toml, read_text
from fedsched.io.tables.csv import escaped
from fedsched.market.environment import WATTS, Environment
from fedsched.market.requests import Request
from fedsched.market.slots import Timetable
from fedsched.market.tariff import Tariff

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.market.assignment import Assignment

MARKET = {"interval": list, "reference": float, "node": list, "job": list}
NODE = {"performance": float, "price": float, "prices": list, "watts": float, "busy": list, "count": int}
JOB = {
    "nodes": int,
    "length": float,
    "budget": float,
    "deadline": float,
    "min_performance": float,
    "criterion": str,
    "name": str,
}
MOST_NODES = 1_000_000
MOST = 2**63
KINDS = {float: "a number", int: "a whole number", str: "a text in quotes", list: "a list"}


class MarketFileError(FedschedError, ValueError):
    """Raised if a market file cannot be read; the message names file, table, key and value."""


def read_market(path: str | PathLike[str]) -> tuple[list[Request], Environment]:
    r"""Return the batch and the environment from a TOML file.

    Keys of the file: `interval` (two times), `reference` (the performance for which lengths are stated, by default 1),
    `[[node]]`, `[[job]]`. Of a node: `performance`, `price`, `prices` (a list of [time, price]; each price holds from
    its time on), `watts`, `busy` (a list of [start, end] of local tasks) and `count` (how many such nodes). Of a job:
    the fields of `Request`.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> from pathlib import Path
    >>> nodes = "interval = [0, 100]\n[[node]]\nperformance = 1.0\nprice = 2.0\n"
    >>> written = Path("market.toml").write_text(nodes + "[[job]]\nnodes = 1\nlength = 40\n")
    >>> batch, environment = fs.market.read_market("market.toml")
    >>> fs.market.schedule(batch, environment, method="backfilling").cost
    array([80.])
    """
    try:
        data = parse_toml(read_text(path))
    except (ValueError, RecursionError) as error:  # also for numbers of thousands of digits, or deep nesting
        raise MarketFileError(f"{path}: not valid TOML: {shortened(str(error), 200)}.") from error
    _check(data, MARKET, ("interval", "node", "job"), str(path))
    interval = _pair(data["interval"], f"{path}: interval")
    columns: dict[str, list[float]] = {"performance": [], "price": [], "watts": []}
    busy: list[tuple[int, float, float]] = []
    changes: list[tuple[int, float, float]] = []
    for k, node in enumerate(data["node"]):
        where = f"{path}, node {k + 1}"
        _check(node, NODE, ("performance", "price"), where)
        if node.get("count", 1) < 1:
            raise MarketFileError(f"{where}: count={node['count']!r} must be at least 1.")
        if len(columns["price"]) + node.get("count", 1) > MOST_NODES:
            raise MarketFileError(f"{where}: that makes more than {MOST_NODES:,} nodes; give fewer.")
        spans = [_pair(span, f"{where}: busy") for span in node.get("busy", [])]
        asked = [_pair(row, f"{where}: prices", "[time, price]") for row in node.get("prices", [])]
        for _ in range(node.get("count", 1)):
            busy += [(len(columns["price"]), *span) for span in spans]
            changes += [(len(columns["price"]), *row) for row in asked]
            for name, column in columns.items():
                column.append(float(node.get(name, WATTS)))
    jobs = data["job"]
    for k, job in enumerate(jobs):
        _check(job, JOB, ("nodes", "length"), f"{path}, job {k + 1}")
    try:
        number, start, end = np.array(busy, dtype=np.float64).reshape(-1, 3).T
        taken = Timetable(number.astype(np.int64), start, end)
        node_of, since, price = np.array(changes, dtype=np.float64).reshape(-1, 3).T
        environment = Environment(
            slots=taken.free(len(columns["price"]), *interval),
            performance=columns["performance"],
            price=columns["price"],
            watts=columns["watts"],
            interval=interval,
            reference=float(data.get("reference", 1.0)),
            tariff=Tariff(node_of.astype(np.int64), since, price),
        )
        batch = [Request(**{"name": str(k + 1), **job}) for k, job in enumerate(jobs)]
    except (ValueError, ArithmeticError) as error:
        raise MarketFileError(f"{path}: {shortened(str(error), 1000)}") from error
    return batch, environment


def write_windows(assignment: Assignment, path: str | PathLike[str]) -> None:
    """Write a CSV file with a row for each slot of each job: job, node, start, end, cost.

    Parameters
    ----------
    assignment
        The windows of a batch.
    path
        The file to write.

    Examples
    --------
    >>> plan = fs.market.schedule(fs.market.Jobs(jobs=2).batch(seed=1), fs.market.Domain().environment(seed=1))
    >>> fs.market.write_windows(plan, "windows.csv")
    >>> from pathlib import Path
    >>> Path("windows.csv").read_text().splitlines()[0]
    'job,node,start,end,cost'
    """
    environment = assignment.environment
    with atomic_text(path) as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(("job", "node", "start", "end", "cost"))
        for request, window in zip(assignment.batch, assignment.windows, strict=True):
            for node, start, end in () if window is None else window.slots:
                name = escaped(request.name or str(window.job if window else ""))
                length = request.length * environment.reference / environment.performance[node]
                cost = float(environment.cost_of(node, start, length))
                rows.writerow((name, node, start, end, cost))


def _check(table: object, known: Mapping[str, type], needed: tuple[str, ...], where: str) -> None:
    """Raise MarketFileError for a table with an unknown key, a missing key, or a value of the wrong type."""
    if not isinstance(table, Mapping):
        raise MarketFileError(
            f"{where}: {shortened(repr(table))} is not a table; write [[node]] and [[job]] for lists of tables."
        )
    for key, value in table.items():
        if key not in known:
            raise MarketFileError(f"{where}: {unknown_name('key', key, known)}")
        kind = known[key]
        if isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else kind):
            raise MarketFileError(f"{where}: {key}={shortened(repr(value))} must be {KINDS[kind]}.")
        if isinstance(value, int) and abs(value) >= MOST:
            raise MarketFileError(f"{where}: {key}={shortened(repr(value))} has more than 64 bits.")
    for key in needed:
        if key not in table:
            raise MarketFileError(f"{where}: the key {key!r} is missing.")


def _pair(value: Any, where: str, what: str = "[start, end]") -> tuple[float, float]:
    numbers = isinstance(value, list) and all(
        isinstance(x, float) or (isinstance(x, int) and not isinstance(x, bool) and abs(x) < MOST) for x in value
    )
    if not numbers or len(value) != 2:
        raise MarketFileError(f"{where}: {shortened(repr(value))} must be {what}, two numbers.")
    return float(value[0]), float(value[1])
