"""`--most`: no more than so many jobs are changed at once, and one line says what is left."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

WHOLE = ("--recorded", "sample", "--seconds", 1e6, "--evaluations", 200)


def commands_in(text: str) -> list[str]:
    """Return the commands of a dry run that would change something."""
    return [line for line in text.splitlines() if line.startswith("scontrol update")]


def test_apply_changes_no_more(call: Callable[..., Any]) -> None:
    """What these few and all of the best order's would bring is said; JSON has how many more that takes."""
    whole = commands_in(call("apply", *WHOLE, "--dry-run")[1])
    out = call("apply", *WHOLE, "--dry-run", "--most", 2)[1]
    assert 0 < len(commands_in(out)) <= 2 < len(whole)
    said = json.loads(call("plan", *WHOLE, "--most", 2, "--json")[1])
    assert said["commands"] == commands_in(out)
    assert len(whole) - 2 <= said["left"] <= len(whole)
    assert f"by these; {said['left']} more would make it" in out


def test_place_places_no_more(call: Callable[..., Any]) -> None:
    """Those that would start first."""
    out = call("place", "--recorded", "federation", "--dry-run", "--most", 2)[1]
    assert len(commands_in(out)) == 4
    assert "to place: 2 jobs of 6" in out


def test_what_it_refuses(call: Callable[..., Any]) -> None:
    """No change at all, and an order by begin times, of which all are needed."""
    assert "most=0 must be at least 1" in call("apply", *WHOLE, "--dry-run", "--most", 0)[2]
    said = call("watch", "--recorded", "sample", "--looks", 1, "--strict", "--most", 3)[2]
    assert "most=3 cannot be combined with a lease" in said
