"""The line on a comparison's common reading (submits, knowledge, …), printed first in all tables and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.model.reading import CLAIRVOYANT, in_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.comparison.record import RunRecord
    from fedsched.model.reading import Reading

# Files written before lines had a reading: all their runs were made like this.
FORMER = ("now", CLAIRVOYANT)


def reading_of(records: Iterable[RunRecord]) -> str:
    """Return the line, with one reading per instance if they differ; "" if runs have no reading (gangs, markets)."""
    instances: dict[tuple[str, Reading], list[str]] = {}
    ahead: list[str] = []
    for record in records:
        if record.reading is not None:
            names = instances.setdefault((record.submits, record.reading), [])
            names += [record.instance] if record.instance not in names else []
            ahead += [record.method] if record.clairvoyant and record.method not in ahead else []
    planners = f"{', '.join(ahead)} {'know' if len(ahead) > 1 else 'knows'}" if ahead else ""
    said = {key: in_words(*key, planners) for key in instances}
    if len(said) < 2:
        return "".join(f"Reading: {text}." for text in said.values())
    each = (f"{', '.join(instances[key])}: {text}" for key, text in said.items())
    return f"Readings differ: {' | '.join(each)}."
