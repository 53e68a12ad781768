"""Functions that the commands share: load workloads, check options and paths, print tables and JSON, show progress."""

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
from fedsched.core.text import counted, one_line, terminal
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

# Exit statuses; 0 means done.
CHECK_FAILED, FAILED, INTERRUPTED = 1, 2, 130
KNEE = "knee"
PLAN_FORMATS = (".csv", ".swf", ".json")
CHART_FORMATS = (".svg", ".png", ".pdf")


class NotTakenError(ValueError):
    """The error that options do not fit the call; if a settings file gave them, the call is repeated without them."""

    def __init__(self, options: Iterable[str], message: str) -> None:
        super().__init__(message)
        self.options = frozenset(option.replace("_", "-") for option in options)


def option(field: str) -> str:
    """Return the command-line option of a field or parameter, e.g. `--cap-at` for `cap_at`."""
    return f"--{field.replace('_', '-')}"


def say(text: object, *, err: bool = False) -> None:
    """Print text on stdout (stderr if `err`), with control characters spelled out: they must not act on a terminal."""
    print(terminal(text), file=sys.stderr if err else sys.stdout)


def refuse(what: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    """Raise NotTakenError if an option outside `known` is given (is not None); the message lists the known options."""
    others = [name for name, value in given.items() if value is not None and name not in known]
    if others:
        known_here = ", ".join(option(one) for one in known if one in given)
        cure = f"it takes {known_here}" if known_here else "leave it out"
        raise NotTakenError(others, f"{what} takes no {option(others[0])}; {cure}.")


def refuse_sharing(what: str, sharing: str | None) -> None:
    """Raise NotTakenError if --sharing is given to a command that gives jobs whole nodes; the message has a cure."""
    if sharing is not None:
        raise NotTakenError(
            ("sharing",),
            f"{what} takes no --sharing={sharing} yet, because its jobs have whole nodes; leave it out, or use: "
            "fedsched simulate LOG --policy slurm --conf CONF --sharing block.",
        )


def check_input(path: Path | str) -> None:
    """Raise TraceError if a path is a folder or does not exist; `-`, the standard input, always passes."""
    if str(path) == STDIN:
        return
    if Path(path).is_dir():
        raise TraceError(f"{path}: it is a folder; give a file in it.")
    if not Path(path).exists():
        raise TraceError(f"{path}: there is no such file; check the path.")


def file_labels(paths: Sequence[Path]) -> list[str]:
    """Return a label for each file: its name without suffix, or the path for every file if two names are equal."""
    kinds = r"\.(swf|csv|toml|sacct|json)(\.(gz|xz|bz2))?$"
    names = [re.sub(kinds, "", path.name, flags=re.IGNORECASE) for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def load_workload(jobs: Log | Made, seed: int = 0, *, announced: bool = True) -> Workload:
    """Return the workload that `jobs` describes: a log from a file, a shipped log, or jobs generated from `seed`.

    With `announced`, print on stderr what reading left out or altered, and what is not modelled.
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


def repeat_command(command: str, source: Path | Sequence[Path] | None, given: Mapping[str, object], out: Path) -> str:
    """Return the shell command line that writes a page again: the command, its files, the given options and --out."""
    words = ["fedsched", command, *map(str, [source] if isinstance(source, Path) else source or [])]
    for name, value in given.items():
        if isinstance(value, bool):
            words.append(option(name) if value else option(name).replace("--", "--no-", 1))
        elif value is not None:
            values = value if isinstance(value, tuple) else (value,)
            words += [word for one in values for word in (option(name), str(one))]
    return shlex.join([*words, "--out", out.name])


def reading_of(
    workload: Workload, federation: Federation | None = None, *, shared: bool = False
) -> dict[str, object]:
    """Return, for --json, what reading left out or altered, what is not modelled, and what a federation assumes.

    `shared` says whether jobs share nodes.
    """
    from fedsched.model.jobs.assumed import assumptions
    from fedsched.model.jobs.unmodelled import unmodelled

    cleaning = None if workload.cleaning is None else asdict(workload.cleaning)
    facts = list(unmodelled(workload, federation, shared=shared))
    said: dict[str, object] = {"cleaning": cleaning, "not_modelled": facts}
    return said if federation is None else said | {"assumed": list(assumptions(federation, workload))}


def facts_of(workload: Workload, federation: Federation, *, shared: bool = False) -> list[str]:
    """Return lines of text: which requests of jobs the federation ignores, what is assumed, and what is implausible.

    `shared` says whether jobs share nodes.
    """
    from fedsched.model.jobs.assumed import assumptions, sentence
    from fedsched.model.jobs.summary import implausible_lines
    from fedsched.model.jobs.unmodelled import ignored_by_federation

    facts = assumptions(federation, workload)
    said = ignored_by_federation(workload, federation, shared=shared) + ([sentence(facts)] if facts else [])
    return said + implausible_lines(workload, federation)


def plain(value: object) -> object:
    """Return a copy of the value for JSON, with None for every NaN and infinity in it; tuples become lists."""
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
    """Print a value as JSON; NaN and infinities become null."""
    # json.dumps escapes non-ASCII characters and all control characters but DEL.
    say(json.dumps(plain(value), indent=2, allow_nan=False).replace("\x7f", "\\u007f"))


def number_text(value: float) -> str:
    """Return a number formatted for a table; a dash for NaN."""
    if value != value:
        return "—"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def figure(name: str, value: float) -> str:
    """Return a metric's value with its unit, for a sentence; a dash for NaN."""
    from fedsched.report.formatting import GAP, measure

    return measure(name, value).replace(GAP, " ")


def machine_text(federation: Federation) -> str:
    """Return a machine's name and size, for a sentence."""
    return f"{federation.name} ({counted(federation.nodes, 'node')})"


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, align: str = "") -> None:
    """Print a table; `align` has an l or an r for each column from the left; columns beyond it are aligned right."""
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
    """Give a `with` block the executor that --executor and --workers select; None for one worker and no --executor.

    At the block's end, report on stderr how many worker processes died and were replaced, if any did.
    """
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
    """Give a `with` block a callback (done, total) that moves a bar on stderr; None if stderr is no terminal."""
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
    """Give a `with` block a function that returns the block's seconds so far, without those spent on compilation."""
    from fedsched.core.compilation import compiling

    began = time.perf_counter()
    with compiling() as watch:
        yield lambda: time.perf_counter() - began - watch.seconds


def check_output(path: Path | None, kinds: Sequence[str], *, what: str = "a plan") -> str:
    """Return the suffix that names an output's format, e.g. `.csv` for `a.csv.gz`; "" if there is no path.

    Raise OutputError, before any work, if the suffix is not one of `kinds` or the path is not writable.
    """
    if path is None:
        return ""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".xz", ".bz2")]
    kind = suffixes[-1] if suffixes else ""
    if kind not in kinds:
        known = " or ".join(part for part in (", ".join(kinds[:-1]), kinds[-1]) if part)
        raise OutputError(f"Cannot write {path}: {kind or 'no suffix'} is no format; {what} must be {known}.")
    from fedsched.io.atomic import check_writable

    check_writable(path)
    return kind


def check_no_link(path: Path) -> None:
    """Raise OutputError if a default output path is a symbolic link, which may be planted to overwrite another file."""
    if path.is_symlink():
        raise OutputError(f"Cannot write {path}: it is a link to {path.readlink()}; name the file with --out.")


def check_apart(sources: Iterable[Path | str | None], written: Mapping[str, Path | None]) -> None:
    """Raise OutputError if an output file is also read, or if two options name it; standard streams are exempt."""
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
            raise OutputError(f"Cannot write {path}: {option} and {before} are the same file; name another.")


def check_choice(choose: str, objectives: Sequence[str]) -> None:
    """Raise NotTakenError if --choose is neither "knee" nor the name of an objective; the message lists the choices."""
    if choose not in (KNEE, *objectives):
        raise NotTakenError(("choose",), str(unknown_name("choice of a plan", choose, (KNEE, *objectives))))


def chosen_plan(result: Result, choose: str) -> Schedule:
    """Return the schedule that --choose names: the front's knee, or the schedule that is best in an objective."""
    return result.knee() if choose == KNEE else result.best(choose)


def plan_text(result: Result, choose: str) -> str:
    """Return which plan --choose names, with its values: "the knee of the front (--choose), plan 3 of 7: …"."""
    from fedsched.optimize.result.printed import in_own_unit

    front = result.front
    index = front.knee_index() if choose == KNEE else front.best_index(choose)
    pairs = zip(front.objectives, front.values[index].tolist(), strict=True)
    values = ", ".join(f"{name} {in_own_unit(name, value)}" for name, value in pairs)
    if len(front) == 1:
        return f"the plan found: {values}"
    what = "the knee of the front" if choose == KNEE else f"the plan with the best {choose}"
    return f"{what} (--choose), plan {index + 1} of {len(front)}: {values}"


def written(*paths: Path | None) -> list[str]:
    """Return the paths of the requested files that exist, for --json; None is skipped."""
    return [str(path) for path in paths if path is not None and path.exists()]


def write_schedule(schedule: Schedule, path: Path) -> None:
    """Write a schedule in the format that the suffix names: .csv (or .evalys.csv), .swf (also compressed) or .json."""
    from fedsched.io.atomic import atomic_text

    match check_output(path, PLAN_FORMATS):
        case ".csv" if ".evalys" in path.suffixes:
            schedule.to_evalys(path)
            if getattr(schedule, "shares_nodes", False):
                say(f"fedsched: {path}: jobs share nodes here; the file names the nodes of each job whole.", err=True)
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
