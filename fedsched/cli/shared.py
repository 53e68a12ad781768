"""What the commands share: finding workloads and federations, drawing tables, showing progress."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedsched.errors import FederationError, TraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fedsched.federation import Federation
    from fedsched.workload import Workload


def load_workload(trace: str, head: int | None = None) -> Workload:
    """Return the workload in a file, or one that ships with the package, by name."""
    from fedsched.io import read, read_example

    if Path(trace).exists() or Path(trace).suffix:
        if not Path(trace).exists():
            raise TraceError(f"{trace}: there is no such file; check the path, or name a shipped workload: sample.")
        workload = read(trace)
    else:
        workload = read_example(trace)
    return workload if head is None else workload.head(head)


def load_federation(federation: str | None, nodes: int | None, workload: Workload) -> Federation:
    """Return the federation in a file or by name; or one cluster of `nodes` nodes, by default the log's machine."""
    from fedsched.federation import Federation
    from fedsched.io import read_federation

    if federation is not None and nodes is not None:
        raise FederationError("Give --federation or --nodes, not both.")
    if federation is not None:
        is_file = Path(federation).suffix == ".toml" or Path(federation).exists()
        return read_federation(federation) if is_file else Federation.example(federation)
    size = nodes or workload.nodes
    if not size:
        raise FederationError(
            f"{workload.name}: the log does not say how many nodes its machine has; give --nodes or --federation."
        )
    return Federation.homogeneous(size)


def print_json(value: object) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print a table; the first `left` columns are aligned left, the others right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else 160
    Console(width=width).print(table)


@contextlib.contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Return a callback that moves a bar on a terminal's stderr; None where there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TextColumn("jobs"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def write_schedule(schedule: Any, path: Path) -> None:
    """Write a schedule in the format that the suffix names: .csv, .swf (also compressed) or .json."""
    from fedsched.errors import OutputError
    from fedsched.io.atomic import atomic_text

    suffixes = [suffix for suffix in path.suffixes if suffix not in (".gz", ".xz", ".bz2")]
    match suffixes[-1] if suffixes else "":
        case ".csv":
            schedule.to_csv(path)
        case ".swf":
            schedule.to_swf(path)
        case ".json":
            with atomic_text(path) as out:
                json.dump(schedule.to_json(), out, indent=2)
                out.write("\n")
        case other:
            raise OutputError(f"Cannot write {path}: {other or 'no suffix'} is no format; use .csv, .swf or .json.")
