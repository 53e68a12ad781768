"""Write docs/reference/compatibility.md from the table in fedsched/engine/compatibility.py."""

from __future__ import annotations

from pathlib import Path

from fedsched.engine.compatibility import FEATURES, PLACES, REFUSED

PAGE = Path(__file__).resolve().parent / "reference" / "compatibility.md"
HEAD = """# What goes with what

<!-- Written by docs/make_compatibility.py: change fedsched/engine/compatibility.py instead. -->

Every combination of features runs unless it is listed here. One that does not run is refused before anything is
computed; the error names the reason and a cure, and is an `IncompatibleError`. Of the {cells} refused combinations each
has a test. A further test takes every pair of features, dispatch rules and placements that `simulate` supports, runs it
among random others and verifies the schedule.

| in this place | this is not supported | because |
|---|---|---|
"""


def page() -> str:
    """Return the page."""
    rows = []
    for place, features in REFUSED.items():
        where = PLACES[place].name.rstrip(",")
        for feature, reason in features.items():
            rows.append(f"| {where} | {FEATURES[feature].name} | {reason} |")
            where = ""
    return HEAD.format(cells=len(rows)) + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
