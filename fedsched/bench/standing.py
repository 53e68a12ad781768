"""The state of the art of an instance: best known values, proven bounds, and what a new file adds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fedsched.bench import load
from fedsched.bench.certificates import FORMAT as CERTIFICATE
from fedsched.bench.certificates import certified_bound
from fedsched.bench.plans import judged, known_path, known_values, read_plan
from fedsched.bench.proof import proven
from fedsched.core.errors import FedschedError
from fedsched.core.text import one_line

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.bench.documents import Document

CLOSED = 0.01  # an instance with a smaller gap counts as closed


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of one objective of an instance: the best known value, how many plans are known, and the bound.

    Of a front `best` has no meaning. The bound is proven; None: there is none.
    """

    ask: str
    best: float | None
    plans: int
    bound: float | None
    who: str

    @property
    def gap(self) -> float:
        """Return the most by which the best known plan may exceed the optimum, as a share of the bound.

        NaN if a value or the bound is unknown, and for fronts.
        """
        if self.best is None or not self.bound or "+" in self.ask:
            return float("nan")
        return self.best / self.bound - 1.0

    @property
    def is_closed(self) -> bool:
        """Return whether the gap between the best known value and the bound is at most 1 %."""
        return self.gap <= CLOSED

    def __str__(self) -> str:
        if self.plans == 0:
            return f"{self.ask}: no plan is known"
        if "+" in self.ask:
            return f"{self.ask}: a front of {self.plans} ({one_line(self.who)})"
        proved = "" if self.bound is None else f"; proven: at least {self.bound:.10g}"
        gap = "" if self.gap != self.gap else f", so at most {max(self.gap, 0.0):.3%} above the optimum"
        return f"{self.ask}: {self.best:.10g} ({one_line(self.who)}){proved}{gap}"


def standings(document: Document) -> list[Standing]:
    """Return the state of each objective of an instance, from the files of plans and certificates."""
    found = []
    for ask in document.asks:
        values, path = known_values(document, ask), known_path(document.name, ask)
        who = json.loads(path.read_text(encoding="utf-8"))["with"] if path.is_file() else ""
        bound = certified_bound(document.name, ask) if "+" not in ask else None
        best = None if values is None else float(values[0, 0])
        found.append(Standing(ask, best, 0 if values is None else len(values), bound, who))
    return found


def checked(path: str | PathLike[str], *, logs: str | PathLike[str] | None = None) -> dict[str, Any]:
    """Return the verdict on a file of plans or a certificate: a text, values or bound, and whether it is new.

    Raise FedschedError if the file is refused.
    """
    from fedsched.io.files import read_json, read_text

    data = read_json(path)
    if isinstance(data, dict) and data.get("format") == CERTIFICATE:
        document = load(str(data.get("instance")), logs=logs)
        try:
            bound = proven(document.text, read_text(path))
        except (LookupError, ValueError, TypeError, ZeroDivisionError, AttributeError) as error:
            raise FedschedError(f"{path} proves nothing about {document.name}: {error}.") from None
        before = certified_bound(document.name, data["objective"])
        said = f"{document.name}, {data['objective']}: PROVEN, at least {float(bound):.10g}"
        if before is None or float(bound) > before:
            said += f"; MORE than was known ({'nothing' if before is None else f'{before:.10g}'})"
        return {"said": said, "bound": float(bound), "new": before is None or float(bound) > before}
    plan = read_plan(path, logs=logs)
    verdict = judged(plan, certified_bound(plan.document.name, plan.ask))
    return {"said": str(verdict), "values": plan.values.tolist(), "new": verdict.is_new_best}
