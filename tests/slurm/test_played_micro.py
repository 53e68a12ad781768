"""The first hours of UB's small cluster, as a real Slurm played them, beside ours; where its jobs are at hand."""

from __future__ import annotations

import numpy as np
import pytest
from slurm.micro import SENT
from slurm.played_micro import CLOSE, Played


@pytest.mark.needs_traces
@pytest.mark.skipif(not SENT.exists(), reason="jobs500.events of UB's micro cluster are not here; they are not ours")
@pytest.mark.parametrize(("name", "first", "share"), [("first", 103, 0.9), ("again", 111, 0.98)])
def test_the_first_starts_are_slurms(name: str, first: int, share: float) -> None:
    """Tests that so many starts, of the first 8,151 seconds, are Slurm's; and of all 134 so many within a minute."""
    played = Played.read(name)
    schedule = played.on_ours()
    schedule.verify()
    apart = played.apart(schedule)
    both = np.minimum(played.start, schedule.start)
    assert len(apart) == 134
    assert (both < both[apart > 1.0].min(initial=np.inf)).sum() >= first
    assert (apart <= CLOSE).mean() > share
