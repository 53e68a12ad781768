"""`fedsched bounds` says what the library says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.bounds import lower_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = ("bounds", "sample", "--head", "40", "--federation", "example")


def test_json_is_what_the_library_gives(call: Callable[..., tuple[int, str, str]]) -> None:
    """Tests that bounds, front and penalty are those of `lower_bounds`, as submitted and as a package."""
    jobs = fs.Workload.example().head(40)
    waiting = replace(jobs, submit=np.full(40, jobs.submit.min()))
    for workload, more in ((jobs, ()), (waiting, ("--submits", "now"))):
        status, out, err = call(*SMALL, *more, "--json")
        said = json.loads(out)
        bounds = lower_bounds(workload, fs.Federation.example())
        assert (status, err) == (0, "")
        assert said["bounds"]["makespan"] == bounds.makespan
        assert said["bounds"]["energy"] == bounds.energy
        assert said["penalty"] == pytest.approx(bounds.penalty)
        assert [[row["makespan"], row["energy"]] for row in said["front"]] == bounds.front(5).tolist()


def test_the_table_names_method_and_penalty(call: Callable[..., tuple[int, str, str]]) -> None:
    """Tests that the table says by what method, which columns are bounded, and the diagnosis."""
    status, out, _ = call(*SMALL, "--submits", "now", "--method", "closed")
    assert status == 0
    assert "by closed forms" in out
    assert "Energy penalty at the least makespan, estimated from the bounds" in out
    assert "makespan" in out
    assert "utilisation" not in out
    assert "slowdown" not in out  # that it is at least 1 says nothing


def test_errors_are_one_line(call: Callable[..., tuple[int, str, str]]) -> None:
    """Tests that jobs that cannot fit and empty logs end in one line and status 2."""
    status, _, err = call("bounds", "sample", "--nodes", 1)
    assert status == 2
    assert err.startswith("fedsched: Job ")
    assert call("bounds", "sample", "--head", 0, "--nodes", 4)[0] == 2


def test_the_reading_is_said(call: Callable[..., tuple[int, str, str]]) -> None:
    """Tests that text and JSON say, after the verdict, which jobs wait and what plans know."""
    for words, said in (
        ((), "jobs arrive at their submit times; run times are known (clairvoyant)"),
        (
            ("--submits", "now", "--knowledge", "estimate", "--kill-at-estimate"),
            "all jobs wait from the start; run times are unknown, estimates known; jobs end at their estimate",
        ),
    ):
        assert call(*SMALL, "--method", "closed", *words)[1].splitlines()[1] == f"Reading: {said}."
        assert json.loads(call(*SMALL, "--method", "closed", *words, "--json")[1])["reading"] == said
