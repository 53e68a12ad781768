"""Writing and reading of workloads as CSV files: all columns of the model, one row for each job, to the last bit."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.core.errors import TraceError, shortened
from fedsched.io.atomic import atomic_text
from fedsched.io.examples import workload_path
from fedsched.io.files import parse_json, read_text, stem_of
from fedsched.io.swf.log import number_texts
from fedsched.io.tables.frame import cell_of, check_names, columns_of_workload, workload_of_columns

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload

# The begin of the first line of a file that fedsched wrote; the rest of that line is one JSON object.
MARK = "# fedsched "
_ABOUT = ("name", "nodes", "sites", "header", "history")


def write_csv(workload: Workload, path: str | PathLike[str]) -> None:
    """Write a workload to a CSV file that `read_csv` reads back unchanged.

    The first line is a comment with name, nodes, sites, header and history as JSON. The cleaning report, which
    describes the file that was read, is not kept.

    Parameters
    ----------
    workload, path
        The jobs, and the file to write.

    Examples
    --------
    >>> from fedsched.io import read_csv, write_csv
    >>> write_csv(fs.read("sample").head(50), "first.csv")
    >>> read_csv("first.csv") == fs.read("sample").head(50)
    True
    """
    about = json.dumps({name: getattr(workload, name) for name in _ABOUT}, ensure_ascii=False)
    table = columns_of_workload(workload)
    columns = [
        list(map(escaped, values.tolist())) if cell_of(name) is str else number_texts(values)
        for name, values in table.items()
    ]
    with atomic_text(path) as out:
        out.write(f"{MARK}{about}\n")
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(table)
        rows.writerows(zip(*columns, strict=True))


FORMULAS = ("=", "+", "-", "@")


def escaped(name: str) -> str:
    """Return a name as a cell that spreadsheets take for text: an apostrophe goes before what looks like a formula."""
    return f"'{name}" if name.lstrip("'").startswith(FORMULAS) else name


def unescaped(cell: str) -> str:
    """Return the name in a cell, without the apostrophe that `escaped` put before it, if there is one."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULAS) else cell


def read_csv(path: str | PathLike[str]) -> Workload:
    r"""Return the workload in a CSV file with a line of column names; submit, tasks and runtime are enough.

    Lines that begin with # are comments. Fields are separated by commas, by tabs, or, as in European spreadsheets, by
    semicolons; with semicolons numbers may have a decimal comma. A shipped workload's name may be given for a file.

    Parameters
    ----------
    path
        The file, plain or compressed, or the name of a shipped workload.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.io import read_csv
    >>> written = Path("jobs.csv").write_text("submit,tasks,runtime\n0,4,600\n60,8,900\n")
    >>> read_csv("jobs.csv").tasks
    array([4, 8])
    """
    path = workload_path(path)
    text = read_text(path)
    about = _about(text, path)
    header, rows, at, decimal = table_of(text, path)
    if not rows:
        raise TraceError(f"{path}: it has no job; a workload needs a line of column names and a line a job.")
    try:
        check_names(header)
        columns = zip(*rows, strict=True)
        table = {
            name: _column(name, texts, at, path, decimal=decimal) for name, texts in zip(header, columns, strict=True)
        }
        workload = workload_of_columns(
            table,
            sites=about.get("sites"),
            name=str(about.get("name", stem_of(path))),
            nodes=int(about.get("nodes", 0)),
            history=(*about.get("history", ()), f"read {Path(path).name}"),
        )
    except (ValueError, TypeError) as error:
        raise TraceError(f"{path}: {shortened(str(error), 1000)}") from error
    return _with_header(workload, about.get("header", ()))


class Table(NamedTuple):
    """A CSV file's content: the names of its columns, its rows, the line of each row, and its decimal mark."""

    names: list[str]
    rows: list[list[str]]
    lines: list[int]
    decimal: str


def table_of(text: str, path: str | PathLike[str]) -> Table:
    """Return the table in a CSV text with a line of column names; empty lines and comments (#) are skipped.

    Commas, semicolons or tabs separate cells, whichever the first line has; with semicolons the decimal mark is a
    comma. Raise a TraceError if a row has not one cell for each column, a quote stays open, or a name occurs twice.
    """
    # Comments become empty lines, which the reader counts and skips; above the names quoted comments, too.
    lines = ["\n" if line.startswith("#") else line for line in text.splitlines(keepends=True)]
    top = next((k for k, line in enumerate(lines) if line.strip() and not line.startswith('"#')), len(lines))
    lines[:top] = ["\n"] * top
    mark = next((mark for mark in ",;\t" if mark in next((line for line in lines if line.strip()), "")), ",")
    reader = csv.reader(lines, strict=True, delimiter=mark)
    table = Table([], [], [], "," if mark == ";" else ".")
    try:
        for row in reader:
            if not any(row):  # spreadsheets fill empty lines with separators
                continue
            if not table.names:
                table.names.extend(name.strip() for name in row)
                continue
            if len(row) != len(table.names):
                raise TraceError(
                    f"{path}, line {reader.line_num}: {len(row)} fields, but {len(table.names)} columns; correct "
                    "the line."
                )
            table.rows.append(row)
            table.lines.append(reader.line_num)
    except csv.Error as error:
        what = "a quote is opened and never closed" if "unexpected end" in str(error) else str(error)
        raise TraceError(f"{path}, line {reader.line_num}: {what}.") from None
    if len(set(table.names)) != len(table.names):
        twice = next(name for name in table.names if table.names.count(name) > 1)
        raise TraceError(f"{path}: column {shortened(twice)!r} occurs twice; leave one.")
    return table


def _with_header(workload: Workload, header: Any) -> Workload:
    return replace(workload, header=tuple((str(label), str(text)) for label, text in header)) if header else workload


def _about(text: str, path: str | PathLike[str]) -> dict[str, Any]:
    first = text.partition("\n")[0]
    if not first.lstrip('"').startswith(MARK.strip()):
        return {}
    where = f"{path}, line 1: what follows {MARK.strip()!r}"
    written = _as_written(first)
    if written is None:
        raise TraceError(
            f"{where} is no JSON any more; write the file anew, or delete that line: name, nodes and sites are then "
            "not known."
        )
    about = parse_json(written, where)
    if not isinstance(about, dict) or not set(about) <= set(_ABOUT):
        raise TraceError(f"{where} must be an object of {', '.join(_ABOUT)}.")
    for name, value in about.items():
        wanted = {"name": str, "nodes": int}.get(name, list)
        if not isinstance(value, wanted):
            raise TraceError(f"{where} says {name}={shortened(repr(value))}; it must be of type {wanted.__name__}.")
    for pair in about.get("header", ()):
        if not isinstance(pair, list) or len(pair) != 2:
            raise TraceError(f"{where} says header={shortened(repr(pair))}; each entry must be a label and a text.")
    return about


def _as_written(line: str) -> str | None:
    """Return the JSON text in a file's first line, without `MARK`; None if there is no valid JSON.

    A spreadsheet may have split the line at its commas and saved it again: quoted, with empty cells behind. The JSON
    is then put together again.
    """
    read_as = [line, *(",".join(_cells(line, mark)) for mark in ",;\t")]
    found = (one.strip().rstrip(",;\t ").removeprefix(MARK.strip()) for one in read_as)
    return next((text for text in found if _is_json(text)), None)


def _cells(line: str, mark: str) -> list[str]:
    """Return the cells of a CSV line separated by `mark`; an empty list if the line is not valid CSV."""
    try:
        return next(csv.reader([line], delimiter=mark), [])
    except csv.Error:
        return []


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _column(
    name: str, texts: tuple[str, ...], at: list[int], path: str | PathLike[str], *, decimal: str
) -> NDArray[Any]:
    if (kind := cell_of(name)) is str:
        return np.array([unescaped(text) for text in texts], dtype=object)
    values: list[Any] = []
    for text, line in zip(texts, at, strict=True):
        try:
            # Spreadsheets that separate fields by semicolons write 1,5 for 1.5.
            values.append(kind(text.replace(",", ".") if decimal == "," else text))
        except ValueError:
            wanted = "a whole number" if kind is int else "a number"
            raise TraceError(f"{path}, line {line}, column {name}: {text[:40]!r} is not {wanted}.") from None
        if kind is int and not -(2**63) <= values[-1] < 2**63:
            raise TraceError(f"{path}, line {line}, column {name}: {text[:40]} has more than 64 bits.")
    return np.array(values, dtype=np.int64 if kind is int else np.float64)
