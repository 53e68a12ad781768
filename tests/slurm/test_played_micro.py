"""The first hours of UB's small cluster, as a real Slurm played them, beside ours; where its jobs are at hand."""

from __future__ import annotations

import numpy as np
import pytest
from slurm.micro import SENT
from slurm.played_micro import CLOSE, Played


@pytest.mark.skipif(not SENT.exists(), reason="jobs500.events of UB's micro cluster are not here; they are not ours")
def test_the_first_starts_are_slurms() -> None:
    """Tests that 103 starts, of the first 8,151 seconds, are Slurm's; of all 134 nine in ten are within a minute."""
    played = Played.read()
    schedule = played.on_ours()
    schedule.verify()
    apart = played.apart(schedule)
    both = np.minimum(played.start, schedule.start)
    assert len(apart) == 134
    assert (both < both[apart > 1.0].min(initial=np.inf)).sum() >= 103
    assert (apart <= CLOSE).mean() > 0.9
