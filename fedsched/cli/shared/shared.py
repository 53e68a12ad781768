"""What the commands share: finding workloads and federations, drawing tables, showing progress."""

from __future__ import annotations

import contextlib
import json
import math
import re
import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.core.errors import OutputError, TraceError, unknown_name
from fedsched.core.text import one_line, terminal
from fedsched.io.atomic import is_stdout
from fedsched.io.files import STDIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.optimize.result import Result
    from fedsched.study.scenario import Log, Made

# What a command exits with; 0 is done.
CHECK_FAILED, FAILED, INTERRUPTED = 1, 2, 130
KNEE = "knee"
PLAN_FORMATS = (".csv", ".swf", ".json")
CHART_FORMATS = (".svg", ".png", ".pdf")


class NotTakenError(ValueError):
    """Options were given that do not go with what is asked; those that a file gave are then left out."""

    def __init__(self, options: Iterable[str], message: str) -> None:
        super().__init__(message)
        self.options = frozenset(option.replace("_", "-") for option in options)


def option(field: str) -> str:
    """Return the option that gives a noun's field its value."""
    return f"--{field.replace('_', '-')}"


def say(text: object, *, err: bool = False) -> None:
    """Print text: the one place where commands do, so that nothing foreign in it acts on the terminal."""
    print(terminal(text), file=sys.stderr if err else sys.stdout)


def refuse(what: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    """Raise the error that says which options there are for what is asked, where others are given: not None."""
    others = [name for name, value in given.items() if value is not None and name not in known]
    if others:
        taken = ", ".join(f"--{one.replace('_', '-')}" for one in known if one in given) or "none of this kind"
        raise NotTakenError(others, f"{what} takes no --{others[0].replace('_', '-')}; it takes {taken}.")


def refuse_sharing(what: str, sharing: str | None) -> None:
    """Raise the error that says what to do where jobs are to share nodes that are given whole."""
    if sharing is not None:
        raise NotTakenError(
            ("sharing",),
            f"{what} takes no --sharing={sharing} yet: its jobs have whole nodes; leave it out, or let them share nodes"
            " in: fedsched simulate LOG --policy slurm --conf CONF --sharing block.",
        )


def check_input(path: Path | str) -> None:
    """Raise the error that says what to do where a path names no file that can be read."""
    if str(path) == STDIN:
        return
    if Path(path).is_dir():
        raise TraceError(f"{path}: it is a folder; give a file in it.")
    if not Path(path).exists():
        raise TraceError(f"{path}: there is no such file; check the path.")


def file_labels(paths: Sequence[Path]) -> list[str]:
    """Return what files are called side by side: a file's name says enough, unless two have the same."""
    kinds = r"\.(swf|csv|toml|sacct|json)(\.(gz|xz|bz2))?$"
    names = [re.sub(kinds, "", path.name, flags=re.IGNORECASE) for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def load_workload(jobs: Log | Made, seed: int = 0, *, announced: bool = True) -> Workload:
    """Return the workload in a file, or one that ships with the package, by name; or the jobs that a model makes.

    What reading left out or altered, and what the log holds beyond the model, is said on stderr, unless the caller says
    it.
    """
    from fedsched.model.jobs.unmodelled import sentence
    from fedsched.study.scenario import Log

    workload = jobs.workload(seed)
    source = jobs.file if isinstance(jobs, Log) else jobs.model
    if announced and workload.cleaning is not None and workload.cleaning.altered:
        say(f"fedsched: {source}: {workload.cleaning}.", err=True)
    if announced and (facts := workload.unmodelled):
        say(f"fedsched: {source}: {sentence(facts)}.", err=True)
    return workload


def again(command: str, source: Path | Sequence[Path] | None, given: Mapping[str, object], out: Path) -> str:
    """Return what to type to make a page again: the command, its files, and the options that were given."""
    words = ["fedsched", command, *map(str, [source] if isinstance(source, Path) else source or [])]
    for name, value in given.items():
        if isinstance(value, bool):
            words.append(option(name) if value else option(name).replace("--", "--no-", 1))
        elif value is not None:
            values = value if isinstance(value, tuple) else (value,)
            words += [word for one in values for word in (option(name), str(one))]
    return shlex.join([*words, "--out", out.name])


def reading_of(workload: Workload, federation: Federation | None = None) -> dict[str, object]:
    """Return what reading left out or altered, what is not modelled and what is assumed, as --json says it."""
    from fedsched.model.jobs.assumed import assumptions
    from fedsched.model.jobs.unmodelled import unmodelled

    cleaning = None if workload.cleaning is None else asdict(workload.cleaning)
    said: dict[str, object] = {"cleaning": cleaning, "not_modelled": list(unmodelled(workload, federation))}
    return said if federation is None else said | {"assumed": list(assumptions(federation, workload))}


def facts_of(workload: Workload, federation: Federation) -> list[str]:
    """Return, a line each, what this federation has no place for, what is assumed, and what is implausible."""
    from fedsched.model.jobs import implausible
    from fedsched.model.jobs.assumed import assumptions, sentence
    from fedsched.model.jobs.unmodelled import without_place

    facts = assumptions(federation, workload)
    said = without_place(workload, federation) + ([sentence(facts)] if facts else [])
    return said + implausible.lines(workload, federation)


def plain(value: object) -> object:
    """Return the value as JSON knows it, which has no NaN and no infinity: null, however deep they stand."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {name: plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case _:
            return value


def print_json(value: object) -> None:
    """Print a value as JSON; what is no finite number is null."""
    # JSON escapes every sign beyond ASCII, and every control but one.
    say(json.dumps(plain(value), indent=2, allow_nan=False).replace("\x7f", "\\u007f"))


def number_text(value: float) -> str:
    """Return a number as a person reads it in a table."""
    if value != value:
        return "—"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, align: str = "") -> None:
    """Print a table; `align` has an l or an r for each column, as far as it goes: the others are aligned right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for column, side in zip(columns, align.ljust(len(columns), "r"), strict=True):
        table.add_column(one_line(column), justify="left" if side == "l" else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(one_line, row))
    width = None if sys.stdout.isatty() else 160
    # No markup: a file may be named [a], and "fedsched[notebook]" is to be read as it stands.
    console = Console(width=width, markup=False, emoji=False)
    console.print(Text(one_line(title), style="italic"), soft_wrap=True)  # a table's own title wraps at its width
    console.print(table)


@contextlib.contextmanager
def chosen_executor(name: str | None, workers: int) -> Iterator[Executor | None]:
    """Return the executor that --executor and --workers ask for; None where they ask for none."""
    if workers < 1:
        raise ValueError(f"--workers={workers} must be at least 1.")
    if name is None and workers == 1:
        yield None
        return
    from fedsched.core.executors import Processes, executor_named

    with executor_named(name or "processes", workers) as executor:
        yield executor
        if isinstance(executor, Processes) and executor.deaths:
            say(f"fedsched: worker processes that died and were replaced: {executor.deaths}.", err=True)


@contextlib.contextmanager
def progress_bar(label: str, *, unit: str = "jobs") -> Iterator[Callable[[int, int], None] | None]:
    """Return a callback that moves a bar on a terminal's stderr; None where there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from fedsched.core.compilation import Compilation, compiling

    def renamed(watch: Compilation) -> None:
        bar.update(task, description=watch.status if watch.active else label)

    said = TextColumn("{task.description}", markup=False)
    columns = (said, BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar, compiling(renamed):
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextlib.contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Return a function that says how many seconds the block has taken, without compiling, which is said by itself."""
    from fedsched.core.compilation import compiling

    began = time.perf_counter()
    with compiling() as watch:
        yield lambda: time.perf_counter() - began - watch.seconds


def check_output(path: Path | None, kinds: Sequence[str], *, what: str = "a plan") -> str:
    """Return the suffix that names the format, having made sure, before any work, that the path can be written."""
    if path is None:
        return ""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".xz", ".bz2")]
    kind = suffixes[-1] if suffixes else ""
    if kind not in kinds:
        known = " or ".join(part for part in (", ".join(kinds[:-1]), kinds[-1]) if part)
        raise OutputError(f"Cannot write {path}: {kind or 'no suffix'} is no format; {what} is {known}.")
    from fedsched.io.atomic import check_writable

    check_writable(path)
    return kind


def check_no_link(path: Path) -> None:
    """Refuse to write by a link under a name that nobody gave: who made it may mean to have another file written."""
    if path.is_symlink():
        raise OutputError(f"Cannot write {path}: it is a link to {path.readlink()}; say by --out what to write.")


def check_apart(sources: Iterable[Path | str | None], written: Mapping[str, Path | None]) -> None:
    """Refuse to write a file that is read, or two options' one file: one would take the other's place."""
    taken = {
        Path(source).resolve(): "the file that is read"
        for source in sources
        if source is not None and str(source) != STDIN and Path(source).is_file()
    }
    for option, path in written.items():
        if path is None or is_stdout(path):
            continue
        before = taken.setdefault(path.resolve(), option)
        if before != option:
            raise OutputError(f"Cannot write {path}: {option} and {before} are one file; name another.")


def check_choice(choose: str, objectives: Sequence[str]) -> None:
    """Raise the error that offers what --choose takes, where it is neither the knee nor one of the objectives."""
    if choose not in (KNEE, *objectives):
        raise NotTakenError(("choose",), str(unknown_name("choice of a plan", choose, (KNEE, *objectives))))


def chosen_plan(result: Result, choose: str) -> Schedule:
    """Return the schedule that --choose names."""
    return result.knee() if choose == KNEE else result.best(choose)


def written(*paths: Path | None) -> list[str]:
    """Return the files that are there of those that were asked for, as --json lists them."""
    return [str(path) for path in paths if path is not None and path.exists()]


def write_schedule(schedule: Schedule, path: Path) -> None:
    """Write a schedule in the format that the suffix names: .csv, .swf (also compressed) or .json."""
    from fedsched.io.atomic import atomic_text

    match check_output(path, PLAN_FORMATS):
        case ".csv" if ".evalys" in path.suffixes:
            schedule.to_evalys(path)
        case ".csv":
            schedule.to_csv(path)
        case ".swf":
            schedule.to_swf(path)
        case _:
            with atomic_text(path) as out:
                json.dump(plain(schedule.to_json() | {"rows": _rows(schedule)}), out, indent=1, allow_nan=False)
                out.write("\n")


def _rows(schedule: Schedule) -> list[dict[str, object]]:
    from fedsched.io.schedules import columns_of

    table = {name: column.tolist() for name, column in columns_of(schedule).items()}
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
