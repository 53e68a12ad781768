"""`fedsched place` on the federation that ships: what it says, what it would do, what it refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_it_says_what_it_would_do(call: Callable[..., Any], tmp_path: Path) -> None:
    """Two commands a job, its cluster first; nothing is written; what is due is fewer."""
    file = tmp_path / "placed.json"
    code, out, _ = call("place", "--recorded", "federation", "--dry-run", "--undo-file", file)
    assert code == 0
    assert not file.exists()
    commands = [line.split() for line in out.splitlines() if line.startswith("scontrol update")]
    now = json.loads(call("place", "--recorded", "federation", "--dry-run", "--json")[1])["now"]
    assert len(commands) == 12
    for cluster, start in zip(commands[::2], commands[1::2], strict=True):
        assert cluster[2] == start[2]
        assert cluster[3] in ("Clusters=north", "Clusters=south")
        assert start[3] == f"StartTime=uts{now:.0f}"
    assert "to place: 6 jobs of 6" in out
    assert "to place: 1 job of 6" in call("place", "--recorded", "federation", "--dry-run", "--due", 60)[1]
    assert "to place: 3 jobs of 3" in call("place", "--recorded", "federation", "--dry-run", "--user", "games")[1]


def test_as_json(call: Callable[..., Any]) -> None:
    """Each job with its clusters, the one that is chosen and its start."""
    said = json.loads(call("place", "--recorded", "federation", "--dry-run", "--json")[1])
    assert said["clusters"] == ["north", "south"]
    assert said["placed"] == 0
    assert [one["start"] for one in said["jobs"]] == sorted(one["start"] for one in said["jobs"])
    assert all(one["cluster"] in one["clusters"] == ["north", "south"] for one in said["jobs"])


def test_what_it_refuses(call: Callable[..., Any]) -> None:
    """A record that is to be changed, a cluster that is in no federation, no look at all."""
    assert "add --dry-run" in call("place", "--recorded", "federation")[2]
    assert "sample is in no federation" in call("place", "--recorded", "sample", "--dry-run")[2]
    assert "--looks 0 must be at least 1" in call("place", "--recorded", "federation", "--dry-run", "--looks", 0)[2]
