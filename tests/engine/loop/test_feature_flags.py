"""Whether anything beyond the plain model but nodes that close is in use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.plain import begun

import fedsched as fs

JOBS = fs.Workload(submit=[0.0, 1.0], tasks=[1, 2], runtime=[5.0, 5.0], user=[1, 1])
CLOSING = fs.Federation.homogeneous(4, name="m")
CLOSING = replace(CLOSING, calendar=[fs.Downtime("m", 20.0, 30.0)])
MORE = {
    "pools": (replace(JOBS, pools={"p": [1, 0]}), replace(CLOSING, pools=(fs.Pool("p", 1),))),
    "limits": (JOBS, replace(CLOSING, limits=(fs.Limit("user", jobs=1),))),
    "conditions": (replace(JOBS, after=["", "afterany:1"]), CLOSING),
    "earliest starts": (replace(JOBS, begin=[0.0, 3.0]), CLOSING),
    "cancellations": (replace(JOBS, cancel_at=[-1.0, 9.0]), CLOSING),
}


def says(jobs: fs.Workload, federation: fs.Federation) -> int | None:
    """Return what the extras say of what else is in use."""
    extras = begun(jobs, federation)[0].extras
    assert extras is not None
    return extras.more


def test_nodes_that_close_are_asked_about_alone() -> None:
    """Where nodes close and nothing else is in use kernels are compiled without the rest."""
    assert says(JOBS, CLOSING) is None


@pytest.mark.parametrize("what", MORE)
def test_whatever_else_is_in_use_is_asked_about(what: str) -> None:
    """Beside nodes that close."""
    assert says(*MORE[what]) == 1


def test_a_reservation_of_jobs_is_more_than_nodes_that_close() -> None:
    """One that no job names is a closure to all."""
    kept = replace(CLOSING, calendar=[fs.Downtime("m", 2.0, 30.0, "0-1", kind="reservation", name="r")])
    inside = replace(JOBS, labels={"reservation": ["r", ""]})
    assert [says(jobs, kept) for jobs in (JOBS, inside)] == [None, 1]
    assert np.isnan(begun(inside, kept)[2].start).all()
