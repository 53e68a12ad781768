"""Calls as people make them: what is plain in meaning is accepted, all else refused with the call that works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_rate_has_one_reader_for_python_files_and_the_command(tmp_path: Path) -> None:
    """A text like 1.25G is the same uplink in Python, in a file and on the command line."""
    asked = fs.Federation.of(4, uplink="1.25G")
    assert fs.Cluster("north", 4, uplink="1.25G").uplink == asked.clusters[0].uplink == 1.25e9
    file = tmp_path / "machine.toml"
    file.write_text('[[cluster]]\nname = "north"\nuplink = "1.25G"\n[[cluster.group]]\ncount = 4\n')
    assert fs.read_federation(file).clusters[0].uplink == 1.25e9
    from fedsched.scenario.parts import with_uplinks

    assert with_uplinks(fs.Federation.of(4), ["1.25G"]).clusters[0].uplink == 1.25e9
    jobs = fs.Workload(submit=[0, 0], tasks=[1, 2], runtime=[1, 2])
    assert jobs.with_communication(bandwidth="10M") == jobs.with_communication(bandwidth=1e7)


@pytest.mark.parametrize("uplink", ["10 parsecs", "1.25g", None, True, [1e9]])
def test_what_is_no_rate_is_refused_with_one_that_is(uplink: Any, tmp_path: Path) -> None:
    """What is no rate is named as it was given, beside one that is."""
    for call in (
        lambda: fs.Cluster("north", (fs.NodeGroup(4),), uplink=uplink), lambda: fs.Federation.of(4, uplink=uplink),
    ):  # fmt: skip
        with pytest.raises(fs.errors.FederationError, match=r"uplink=.* must be bytes a second, as 1.25e9 or '1.25G'"):
            call()


def test_one_of_a_kind_stands_for_a_row_of_one() -> None:
    """A cluster may be given its one group, or so many nodes, and a federation its one cluster."""
    plain = fs.Cluster("a", (fs.NodeGroup(4),))
    assert fs.Cluster("a", fs.NodeGroup(4)) == fs.Cluster("a", 4) == plain
    assert fs.Federation(plain) == fs.Federation((plain,))


NO_NOUNS: dict[str, tuple[Callable[[], object], str]] = {
    "groups": (lambda: fs.Cluster("a", "4"), r"Cluster 'a': groups=4 must be node groups, as \(NodeGroup\(64\),\)"),
    "name": (lambda: fs.Cluster(4, "a"), r"Cluster: name=4 must be a text, as Cluster\('north', groups\)"),
    "no nodes": (lambda: fs.Cluster("a", 0), "count=0 must be a whole number of at least 1"),
    "sizes": (lambda: fs.Federation((4, 8)), r"clusters=4 must be clusters.*Federation.of\(64, 128\)"),
    "speed": (lambda: fs.NodeGroup(4, speed="fast"), "speed='fast' must be finite and above 0"),
    "watts": (lambda: fs.NodeGroup(4, busy_watts="135"), "watts '135'/.* must be finite"),
}


@pytest.mark.parametrize("case", NO_NOUNS)
def test_a_noun_says_what_it_is_made_of(case: str) -> None:
    """A cluster, a federation or a node group made of something else names the field, the value and the cure."""
    call, words = NO_NOUNS[case]
    with pytest.raises(fs.errors.FederationError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
