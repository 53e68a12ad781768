"""Record the golden values anew and say which have changed: `PYTHONPATH=.:tests python -m golden.record [group ...]`.

Groups are chosen by the begin of their names; without one, all are recorded. Every value that changes is to be told
in the change that causes it, old and new, with the reason.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from golden.cases import GROUPS, values

import fedsched

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[2]
VALUES = Path(__file__).with_name("values.json")
TOLERANCE = 1e-9  # of numbers that are no hashes: relative


def recorded() -> dict[str, dict[str, str]]:
    """Return the values that are kept, by group and case."""
    return json.loads(VALUES.read_text(encoding="utf-8")) if VALUES.exists() else {}


def changed(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return a line for each case whose value is another one, or that only one of both has."""
    return [
        f"{name}: {old.get(name, 'none')} → {new.get(name, 'none')}"
        for name in dict.fromkeys((*old, *new))
        if not _same(old.get(name, ""), new.get(name, ""))
    ]


def _same(one: str, other: str) -> bool:
    if one == other or "=" not in one or "=" not in other:
        return one == other
    numbers = ({key: float(text) for key, text in (pair.split("=") for pair in words.split())}
               for words in (one, other))  # fmt: skip
    mine, theirs = numbers
    return mine.keys() == theirs.keys() and all(_near(mine[key], theirs[key]) for key in mine)


def _near(one: float, other: float) -> bool:
    return one == other or (one != one and other != other) or abs(one - other) <= TOLERANCE * abs(one)


def main(names: list[str]) -> None:
    """Record the groups and print what has changed."""
    if not Path(fedsched.__file__).is_relative_to(ROOT):
        raise SystemExit(f"fedsched is not the one of {ROOT.name}: run with PYTHONPATH=.:tests, from its folder.")
    kept = recorded()
    known = {group: kept[group] for group in GROUPS if group in kept}  # in the order of the groups
    for group in GROUPS:
        if names and not any(group.startswith(name) for name in names):
            continue
        begun = time.process_time()
        found = values(group)
        lines = changed(known.get(group, {}), found)
        refused = sum(value.startswith("refused") for value in found.values())
        print(f"{group}: {len(found)} cases, {refused} refused, {len(lines)} changed, "
              f"{time.process_time() - begun:.1f} s of the processor", flush=True)  # fmt: skip
        print("".join(f"  {line}\n" for line in lines if group in known), end="")
        known[group] = found
    ordered = {group: known[group] for group in GROUPS if group in known}
    VALUES.write_text(json.dumps(ordered, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("error")
    main(sys.argv[1:])
