"""What a comparison's runs had in common: which jobs waited, what was known; its first line everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.model.reading import CLAIRVOYANT, in_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.comparison.record import RunRecord
    from fedsched.model.reading import Reading

# Runs in files were all made so before their lines said how.
FORMER = ("now", CLAIRVOYANT)


def reading_of(records: Iterable[RunRecord]) -> str:
    """Return the line that says it, of each instance where they differ; "" where the runs are no plans of jobs."""
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
