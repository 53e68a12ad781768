"""`fedsched sprio`: the table that Slurm prints, out of its own dumps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = Path(__file__).parents[1] / "slurm" / "recorded" / "priorities" / "relative"
FILES = (DAY / "8.jobs", "--conf", DAY / "slurm.conf", "--assoc", DAY / "accounts.cfg", DAY / "qos.txt")


def test_the_table_is_slurm_s(call: Callable[..., Any]) -> None:
    """Every column of `sprio -l` stands as Slurm printed it, in its order."""
    ticks = json.loads((DAY / "recording.json").read_text(encoding="utf-8"))["ticks"]
    status, out, err = call("sprio", *FILES, "--shares", DAY / "8.shares", "--at", ticks[8])
    assert (status, err) == (0, "")
    printed = [line.split() for line in out.splitlines() if line.split() and line.split()[0].isdigit()]
    seen = [line.split("|")[:13] for line in (DAY / "8.exact").read_text(encoding="utf-8").splitlines()[1:]]
    assert printed[: len(seen)] == seen
    assert f"{len(seen)} of {len(seen)} priorities equal those in the queue's dump." in out


def test_json_says_all_in_full(call: Callable[..., Any]) -> None:
    """The sample that ships: the moment that is found, factors unrounded, and what was told of."""
    status, out, _ = call("sprio", "sample", "--json")
    said = json.loads(out)
    assert status == 0
    assert said["same"] == len(said["jobs"]) == 16
    assert said["notes"] == []
    first = said["jobs"][0]
    parts = [first[name] for name in ("age", "assoc", "fairshare", "jobsize", "partition_factor", "qos", "site")]
    assert first["priority"] == max(1, int(sum(parts) + sum(first["tres"].values()) - first["nice"]))


def test_without_shares_that_is_assumed(call: Callable[..., Any]) -> None:
    """Whoever gives no uses is told what was taken for them."""
    status, out, _ = call("sprio", *FILES)
    assert status == 0
    assert "assumed: no usage so far, as --shares is not given" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((DAY / "8.jobs",), "sprio needs --conf, the slurm.conf, and --assoc"),
        ((*FILES, "--at", "soon"), "--at=soon must be a time like 2027-01-12T08:00:00"),
        ((*FILES, "--shares", "nowhere"), "nowhere: there is no such file"),
        (("nowhere", *FILES[1:]), "nowhere: there is no such file"),
    ],
)
def test_mistakes_are_one_line(words: tuple[object, ...], said: str, call: Callable[..., Any]) -> None:
    """What is missing or wrong is said with its cure."""
    status, out, err = call("sprio", *words)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
