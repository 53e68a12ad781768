"""`fedsched verify` with a federation: whether a log's jobs can have shared the nodes that it records for them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def log(folder: Path, *rows: str) -> Path:
    """Return a log of jobs of 3 processors, each with its further fields."""
    path = folder / "log.swf"
    job = "{} {} 5 100 3 -1 -1 3 200 -1 1 7 1 1 1 1 -1 -1"
    path.write_text("".join(f"{job.format(k, 50 * k)} {row}\n" for k, row in enumerate(rows, 1)))
    return path


def test_the_command_says_so(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that `verify` with a federation checks the nodes that a log records, and exits with 1 if it cannot be."""
    path = log(tmp_path, "{7,9,7} q 1", "{9,9,9} q 1")
    (tmp_path / "hosts").write_text("a = 7,9\n")
    words = ("verify", path, "--descriptor", "metacentrum", "--hosts", tmp_path / "hosts", "--federation")
    for cores in (4, 3):
        group = fs.NodeGroup(2, resources={"cpu": cores})
        fs.Federation((fs.Cluster("a", (group,)),), name="m").write(tmp_path / f"{cores}.toml")
    status, out, _ = call(*words, tmp_path / "4.toml")
    assert status == 0
    assert out.splitlines() == [
        "2 jobs on 2 nodes of m: 3 rows",
        "not modelled: further fields kept as labels: queue",
        "cpu: 48.4% in use; most at a time: 4 on 1 node, 2 on 1 node",
        "the recorded schedule is possible: no node is overused",
    ]
    status, out, _ = call(*words, tmp_path / "3.toml", "--json")
    assert status == 1
    told = json.loads(out)
    assert told["violations"] == ["Job 2: at 105 node 1 of 'a' has 4 of 'cpu' in use, but only 3."]
    assert told["utilisation"] == {"cpu": 600 / (6 * 155)}
    assert told["nodes_by_peak"] == {"cpu": {"4": 1, "2": 1}}
    assert call(*words, tmp_path / "3.toml")[1].splitlines()[-1] == "the recorded schedule is impossible"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--federation", "example"), "--federation needs --hosts too"),
        (("--hosts", "x"), "--hosts needs --federation too"),
        (("--descriptor", "metacentrum"), "verify without --federation takes no --descriptor"),
        (("--federation", "example", "--hosts", "x", "--nodes", "4"), "verify with --federation takes no --nodes"),
    ],
)
def test_options_of_the_command_that_do_not_go_together(
    call: Callable[..., Any], tmp_path: Path, words: tuple[str, ...], error: str
) -> None:
    """Tests that half of what a check of nodes needs is an error, and so is what it has no use for."""
    status, _, err = call("verify", log(tmp_path, "{7,9,7} q 1"), *words)
    assert status == 2
    assert error in err
