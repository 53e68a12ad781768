"""The table of a comparison: median, range and gap to a bound or optimum for every instance and method."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.bounds.cost.charges import is_useful
from fedsched.comparison.scores import FIRST, SAME, is_maximised, measured
from fedsched.comparison.verdict import failures
from fedsched.core.frames import frame_of
from fedsched.core.moved import Renamed
from fedsched.core.text import html as escape
from fedsched.core.text import latex, one_line
from fedsched.model.schedule.metrics import UNITS
from fedsched.optimize.result.printed import number, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.comparison.record import Comparison, RunRecord

HEADS = ("instance", "method", "runs", "failed", "median", "quartiles", "range", "gap", "to")
MEDIAN = HEADS.index("median")
LEFT = (0, 1, len(HEADS) - 1)  # columns of words


@dataclass(frozen=True, slots=True)
class Row:
    """One method on one instance.

    Parameters
    ----------
    instance, method
        Their names.
    runs, failed
        The number of runs, and of failed ones.
    median, low, high, least, most
        The median of the values, the quartiles, and the range.
    gap
        The median's relative distance to `reference`; NaN if there is none.
    reference, kind
        What the median is compared with, and whether it is an "optimum" or a "bound".
    best
        Whether no method has a better median on this instance.
    clairvoyant
        Whether the method knew all submissions in advance.

    Examples
    --------
    >>> problem = fs.Instance("fifty", fs.read("sample").head(50), 128)
    >>> row = fs.compare(problem, "easy", [0], fs.Budget(evaluations=10)).table().rows[0]
    >>> row.method, row.runs, round(row.median)
    ('easy', 1, 109614)
    """

    instance: str
    method: str
    runs: int
    failed: int
    median: float
    low: float
    high: float
    least: float
    most: float
    gap: float
    reference: float
    kind: str  # of the reference: "optimum", "bound" or ""
    best: bool  # no method has a better median on this instance
    clairvoyant: bool = False  # the method knew all submissions in advance

    def cells(self) -> tuple[str, ...]:
        """Return the row as text."""
        failed = str(self.failed) if self.failed else ""
        several = self.runs - self.failed > 1
        quartiles = f"{number(self.low)} – {number(self.high)}" if several else ""
        spread = f"{number(self.least)} – {number(self.most)}" if several else ""
        gap = share(self.gap) if self.kind else ""
        median = number(self.median) + (" *" if self.best else "  ")
        method = f"{self.method} (clairvoyant)" if self.clairvoyant else self.method
        return (self.instance, method, str(self.runs), failed, median, quartiles, spread, gap, self.kind)


@dataclass(frozen=True, slots=True)
class Table:
    """All rows, in the comparison's order; printed as text, shown as HTML in notebooks.

    Parameters
    ----------
    measure
        What is compared.
    rows
        A row for each instance and method.
    facts
        Which runs failed and why; what is not modelled and what is assumed.
    mark
        A mark for values computed from assumed watts.
    reading
        The runs' common reading, in words.

    Examples
    --------
    >>> problem = fs.Instance("fifty", fs.read("sample").head(50), 128)
    >>> table = fs.compare(problem, ["easy", "sjf"], [0], fs.Budget(evaluations=10)).table()
    >>> table.title()
    'makespan, s (less is better)'
    >>> [row.method for row in table.rows]
    ['easy', 'sjf']
    """

    measure: str
    rows: tuple[Row, ...]
    facts: tuple[str, ...] = ()  # which runs failed and why; what is not modelled and what is assumed
    mark: str = ""  # a mark for values computed from assumed watts
    reading: str = ""  # the runs' common reading, in words

    def __str__(self) -> str:
        lines = [HEADS, *(tuple(map(one_line, row.cells())) for row in self.rows)]
        widths = [max(len(line[k]) for line in lines) for k in range(len(HEADS))]

        def text(cells: Sequence[str]) -> str:
            sides = [str.ljust if k in LEFT else str.rjust for k in range(len(HEADS))]
            return "  ".join(side(c, w) for side, c, w in zip(sides, cells, widths, strict=True)).rstrip()

        head = f"{one_line(self.title())}; * = best median of the instance"
        said = [*filter(None, [one_line(self.reading)]), head, *(text(line) for line in lines)]
        return "\n".join([*said, *map(one_line, self.facts)])

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{name}</th>' for name in HEADS)
        body = "".join(
            f"<tr{' class=best' if row.best else ''}>"
            + f'<th scope="row">{escape(row.instance)}</th>'
            + "".join(f"<td>{escape(cell.strip())}</td>" for cell in row.cells()[1:])
            + "</tr>"
            for row in self.rows
        )
        title = f"{self.title()}; * = best median of the instance"
        caption = "<br>".join(escape(line) for line in (self.reading, title) if line)
        facts = "".join(f"<p>{escape(fact)}</p>" for fact in self.facts)
        return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{facts}"

    def title(self) -> str:
        """Return the measure with its unit and direction."""
        mark = f" ({self.mark})" if self.mark else ""
        if self.measure == FIRST:
            return f"first objective of each instance{mark}"
        unit = f", {UNITS[self.measure]}" if UNITS.get(self.measure) else ""
        return f"{self.measure}{unit}{mark} ({'more' if is_maximised(self.measure) else 'less'} is better)"

    def to_frame(self) -> Any:
        """Return one row per instance and method: see `Schedule.to_frame`."""
        columns = {one.name: [getattr(row, one.name) for row in self.rows] for one in fields(Row)}
        return frame_of(columns, {"reading": self.reading})

    to_pandas = Renamed("to_frame")

    def to_latex(self) -> str:
        r"""Return the table in LaTeX, for \usepackage{booktabs}; the best medians of each instance are bold.

        Columns without any value are left out. Measure and reading stand above it as comments.
        """
        rows = [[latex(cell.strip()) for cell in replace(row, best=False).cells()] for row in self.rows]
        for row, cells in zip(self.rows, rows, strict=True):
            if row.best:
                cells[MEDIAN] = rf"\textbf{{{cells[MEDIAN]}}}"
        kept = [k for k in range(len(HEADS)) if any(cells[k] for cells in rows)]
        lines, above = [], ""
        for row, cells in zip(self.rows, rows, strict=True):
            if above and row.instance != above:
                lines.append(r"\addlinespace")
            if row.instance == above:
                cells[0] = ""
            lines.append(" & ".join(cells[k] for k in kept).lstrip() + r" \\")
            above = row.instance
        said = [f"% {one_line(line)}" for line in (self.reading, self.title(), *self.facts) if line]
        sides = "".join("l" if k in LEFT else "r" for k in kept)
        head = " & ".join(HEADS[k] for k in kept) + r" \\"
        return "\n".join([
            *said, rf"\begin{{tabular}}{{{sides}}}", r"\toprule", head, r"\midrule", *lines, r"\bottomrule",
            r"\end{tabular}",
        ])  # fmt: skip


def table_of(comparison: Comparison, measure: str | None = None) -> Table:
    """Return the table of a measure."""
    name, values = measured(comparison, measure)
    cells: dict[tuple[str, str], list[tuple[RunRecord, float]]] = {}
    instances: dict[str, list[RunRecord]] = {}
    for record, value in zip(comparison.records, values, strict=True):
        cells.setdefault((record.instance, record.method), []).append((record, value))
        instances.setdefault(record.instance, []).append(record)
    quartiles = {key: _quartiles([value for _, value in runs]) for key, runs in cells.items()}
    more = {where: is_maximised(of[0].objectives[0] if name == FIRST else name) for where, of in instances.items()}
    references = {instance: _reference(of, name) for instance, of in instances.items()}
    best: dict[str, float] = {}
    for (instance, _), (_, _, middle, _, _) in quartiles.items():
        if middle == middle:
            best[instance] = (max if more[instance] else min)(best.get(instance, middle), middle)
    rows = []
    for (instance, method), runs in cells.items():
        least, low, middle, high, most = quartiles[instance, method]
        kind, reference = references[instance]
        above = reference - middle if more[instance] else middle - reference
        rows.append(
            Row(
                instance, method, len(runs), sum(bool(record.error) for record, _ in runs), middle, low, high,
                least=least, most=most,
                gap=above / abs(reference) if kind else float("nan"), reference=reference, kind=kind,
                best=middle == middle and math.isclose(middle, best[instance], rel_tol=SAME),
                clairvoyant=any(record.clairvoyant for record, _ in runs),
            )
        )  # fmt: skip
    facts = (*failures(comparison.failed), *comparison.facts)
    return Table(name, tuple(rows), facts, comparison.mark(name), comparison.reading)


def _quartiles(values: Sequence[float]) -> tuple[float, ...]:
    good = [value for value in values if value == value]
    return tuple(np.quantile(good, (0.0, 0.25, 0.5, 0.75, 1.0)).tolist()) if good else (float("nan"),) * 5


def _reference(records: Sequence[RunRecord], measure: str) -> tuple[str, float]:
    # The reference of the gap: the optimum, known only for the first objective, else the tightest proven bound.
    names = records[0].objectives
    objective = names[0] if measure == FIRST else measure
    if objective not in names:
        return "", float("nan")
    k = names.index(objective)
    optimum = records[0].optimum
    if k == 0 and optimum:
        return "optimum", optimum
    proven = [record.bounds[k] for record in records if len(record.bounds) > k]
    bounds = [bound for bound in proven if bound is not None and is_useful(objective, bound)]
    if not bounds:
        return "", float("nan")
    return "bound", (min if is_maximised(objective) else max)(bounds)
