"""Stretches in which hosts are closed: once each, by what is strongest, and as many nodes as they are."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

import fedsched as fs
from fedsched.io.slurm_files.hosts import Hosts, Place
from fedsched.io.tables.closed_hosts import KINDS, Host, SiteHosts, Stretch, downtimes_of, name_of, without_overlaps
from fedsched.model.time.downtimes import closures_of

LATEST = 12
STRETCHES = st.lists(
    st.tuples(st.integers(0, 8), st.integers(1, 4), st.sampled_from(KINDS[:-1]), st.sampled_from("ab")).map(
        lambda drawn: Stretch(float(drawn[0]), float(drawn[0] + drawn[1]), drawn[2], drawn[3])
    ),
    max_size=6,
)


def strongest(stretches: list[Stretch], time: float) -> str | None:
    """Return what a host is at a time, as slowly as can be."""
    kinds = {one.kind for one in stretches if one.begin <= time < one.end}
    return next((kind for kind in KINDS if kind in kinds), None)


@given(STRETCHES)
def test_a_host_is_at_each_time_what_is_strongest(stretches: list[Stretch]) -> None:
    """No two of what comes out overlap, none is empty, and no two of one kind touch that one could be."""
    found = without_overlaps(stretches)
    for time in range(LATEST):
        assert strongest(found, time) == strongest(stretches, time)
        assert sum(one.begin <= time < one.end for one in found) <= 1
    assert all(one.begin < one.end for one in found)
    touching = {(one.end, one.kind) for one in found} & {(one.begin, one.kind) for one in found}
    assert not touching
    assert without_overlaps(found) == found


@given(st.lists(STRETCHES, min_size=1, max_size=5))
def test_nodes_are_closed_as_their_hosts_are(hosts: list[list[Stretch]]) -> None:
    """At each time as many nodes of each group are closed as hosts there, by counts and by names."""
    bare = fs.Federation((fs.Cluster("a", (fs.NodeGroup(3), fs.NodeGroup(2))),))
    places = Hosts({f"h{k}": Place("a", 4 - k, 4 - k) for k in range(5)}, "here")
    closed = {Host(f"h{k}"): stretches for k, stretches in enumerate(hosts)}
    found = downtimes_of(closed, SiteHosts(bare, places), "here")
    closures = closures_of(fs.Federation(bare.clusters, calendar=found))
    groups = fs.Federation(bare.clusters, calendar=found).groups
    firsts = [sum(group.count for group in groups[:g]) for g in range(len(groups))]
    for time in range(LATEST):
        now = (closures.begin <= time) & (time < closures.end)
        for low, high in ((0, 3), (3, 5)):
            inside = [g for g, first in enumerate(firsts) if low <= first < high]
            count = sum(int(closures.nodes[now & (closures.group == g)].sum()) for g in inside)
            assert count == sum(
                strongest(stretches, time) is not None for k, stretches in enumerate(hosts) if low <= 4 - k < high
            )


def test_what_touches_keeps_its_names() -> None:
    """Names stand side by side, each once; many are told by their number, and long ones are cut."""
    drains = [Stretch(0, 5, "drain", "a"), Stretch(5, math.inf, "drain", "b"), Stretch(2, 3, "drain", "a")]
    assert without_overlaps(drains) == [Stretch(0, math.inf, "drain", "a, b")]
    assert name_of(["a|b", "", "a|b", " c\td "]) == "a/b, c\\td"
    assert name_of("abcde") == "a, b, c and 2 more"
    assert len(name_of(["x" * 200])) == 80
    assert name_of([]) == ""
