"""Results are those that were recorded, to the last bit: schedules, plans, recorded days, bounds."""

from __future__ import annotations

import pytest
from golden.cases import GROUPS, values
from golden.hashes import DERIVED, EXACT, SUMMED
from golden.record import changed, recorded
from support.tiers import DEEP, SHARE

from fedsched.model.schedule.metrics import NAMES

pytestmark = pytest.mark.compiled
VALUES = recorded()


def test_every_metric_is_hashed() -> None:
    """Tests that no metric is left out of the hashes."""
    assert {*EXACT, *SUMMED, *DERIVED} == {*NAMES}


@pytest.mark.parametrize("group", GROUPS)
def test_results_are_those_recorded(group: str) -> None:
    """Each case gives what it gave; who changes one records it anew and says old, new and why (CONTRIBUTING.md)."""
    known, found = VALUES.get(group, {}), values(group, every=1 if DEEP else SHARE)
    lines = changed(known if DEEP else {name: known.get(name, "none") for name in found}, found)
    assert not lines, f"{len(lines)} of {group!r} changed:\n" + "\n".join(lines)


def test_nothing_is_recorded_that_is_not_asked_for() -> None:
    """A group or case that is gone is gone from the file too."""
    assert VALUES.keys() == GROUPS.keys()
