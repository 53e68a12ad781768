"""Requests: checked, and made of a workload's jobs."""

from __future__ import annotations

import pytest

import fedsched as fs
from fedsched.core.errors import UnknownNameError
from fedsched.market import Request, requests_of


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": 0}, "Request 5: nodes=0 must be a whole number of at least 1"),
        ({"nodes": 1.5}, r"nodes=1\.5 must be a whole number"),
        ({"nodes": float("inf")}, "nodes=inf must be a whole number"),
        ({"nodes": "3"}, "nodes='3' must be a whole number"),
        ({"length": 0.0}, r"length=0\.0 must be finite and above 0"),
        ({"budget": -1.0}, r"budget=-1\.0 must be at least 0"),
        ({"budget": float("nan")}, "budget must not be nan"),
        ({"deadline": float("nan")}, "deadline must not be nan"),
        ({"min_performance": -1.0}, r"min_performance=-1\.0 must be finite and at least 0"),
    ],
)
def test_wrong_requests_are_refused(options: dict[str, object], message: str) -> None:
    """The error names the job, the field, the value and the rule."""
    with pytest.raises(ValueError, match=message):
        Request(**{"nodes": 1, "length": 5.0, "name": "5", **options})


def test_an_unknown_criterion_offers_the_nearest() -> None:
    """A misspelt criterion is an error that names the one meant."""
    with pytest.raises(UnknownNameError, match="Did you mean 'min_finish'"):
        Request(nodes=1, length=1, criterion="min_finnish")


def test_a_free_market_needs_no_budget() -> None:
    """Where a node costs nothing, a job without a budget has none, not an unknown one."""
    free = requests_of(fs.Workload(submit=[0], tasks=[2], runtime=[10]), price=0.0)
    assert free[0].budget == float("inf")
    with pytest.raises(ValueError, match=r"requests_of: price=-1\.0 must be finite and at least 0"):
        requests_of(fs.Workload(submit=[0], tasks=[2], runtime=[10]), price=-1.0)


def test_jobs_become_requests() -> None:
    """Tasks, estimate and a multiple of the market value; the name is the job's id."""
    workload = fs.Workload(submit=[0, 5], tasks=[2, 3], runtime=[10, 20], estimate=[15, 20], id=[7, 9])
    made = requests_of(workload, price=2.0, budget=1.5, criterion="min_cost", deadline=100.0)
    assert made == [
        Request(nodes=2, length=15, budget=90, criterion="min_cost", deadline=100, name="7"),
        Request(nodes=3, length=20, budget=180, criterion="min_cost", deadline=100, name="9"),
    ]
