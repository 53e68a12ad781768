"""Closed forms: the single machine that is never faster."""

from __future__ import annotations

import numpy as np
import pytest

from fedsched.bounds import closed


@pytest.mark.parametrize("remaining", [True, False])
def test_what_is_released_at_once_goes_in_order_of_priority(remaining: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that jobs released together are worked off as by the rule for jobs released whenever, ties by position."""
    rng = np.random.default_rng(1)
    for jobs in (1, 2, 30):
        work = rng.integers(0, 6, jobs).astype(float)
        release = np.full(jobs, 3.0)
        priority = work if remaining else work / rng.integers(1, 4, jobs)
        expected = closed._preempted(release, work, priority, remaining=remaining)
        with monkeypatch.context() as patch:
            patch.delattr(closed, "_preempted")  # no heap where nothing can be preempted
            found = closed.squashed(release, work, priority, remaining=remaining)
        np.testing.assert_allclose(found.completion, expected.completion, rtol=1e-14)
        np.testing.assert_allclose(found.mean_busy, expected.mean_busy, rtol=1e-14)
    late = closed.squashed(np.array([0.0, 1.0]), np.array([5.0, 1.0]), np.array([5.0, 1.0]), remaining=True)
    assert late.completion.tolist() == [6.0, 2.0]
