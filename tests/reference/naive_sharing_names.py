"""Which nodes close on shared nodes, for the naive reference: each closure gets names, and groups are split by them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from reference import naive

if TYPE_CHECKING:
    from reference.naive_sharing import Run


def name_nodes(run: Run) -> None:
    """Let each closure name its nodes, and have all of a group: groups are split by who closes their nodes.

    A reservation of so many has the last ones; another closure of so many the last, or drawn ones, that no other closes
    meanwhile. One that takes nodes from jobs takes them from whoever is on those.
    """
    closures, members = run.machine.closures, members_of(run)
    named = {
        c: members[one.group][-one.nodes :] for c, one in enumerate(closures)
        if one.reservation is not None or one.nodes == len(members[one.group])
    }  # fmt: skip
    split(run, named)
    closures, members = run.machine.closures, members_of(run)
    here: dict[int, list[int]] = {}
    some = [one.nodes < len(members[one.group]) for one in closures]
    for c in sorted(range(len(closures)), key=lambda c: (some[c], closures[c].begin, c)):
        one = closures[c]
        taken = {
            n for other in here if closures[other].begin < one.end and one.begin < closures[other].end
            for n in here[other]
        }  # fmt: skip
        free = [n for n in members[one.group] if n not in taken]
        if one.victims == "random":
            for k in range(len(free)):
                place = k + naive.scrambled(one.seed, c, k) % (len(free) - k)
                free[k], free[place] = free[place], free[k]
        else:
            free.reverse()
        here[c] = (free + [n for n in reversed(members[one.group]) if n in taken])[: one.nodes]
    split(run, here)
    found = tuple(replace(one, victims="recorded") for one in run.machine.closures)
    run.machine = replace(run.machine, closures=found)


def members_of(run: Run) -> list[list[int]]:
    return [[n for n, node in enumerate(run.nodes) if node.group == g] for g in range(len(run.machine.groups))]


def split(run: Run, named: dict[int, list[int]]) -> None:
    """Split groups into those of nodes that the same closures name; the others' are so many of the last ones.

    Of closures that nobody foresees nodes must be neighbours too, among those alike in all else.
    """
    closures = run.machine.closures
    foreseen = [c for c in named if closures[c].known_from == -math.inf]
    others = [c for c in named if c not in foreseen]
    parts: list[tuple[int, list[int]]] = []
    for g, nodes in enumerate(members_of(run)):
        alike: dict[tuple[bool, ...], list[list[int]]] = {}
        for n in nodes:
            stretches = alike.setdefault(tuple(n in named[c] for c in foreseen), [[]])
            if stretches[-1] and any((n in named[c]) != (stretches[-1][-1] in named[c]) for c in others):
                stretches.append([])
            stretches[-1].append(n)
        parts += sorted(((g, one) for several in alike.values() for one in several), key=lambda part: part[1][0])
    groups = [replace(run.machine.groups[g], count=len(nodes)) for g, nodes in parts]
    for new, (_, nodes) in enumerate(parts):
        for n in nodes:
            run.nodes[n].group = new
    run.asks = [
        replace(ask, closed=frozenset(new for new, (g, _) in enumerate(parts) if g in ask.closed)) for ask in run.asks
    ]
    found = []
    for c, one in enumerate(closures):
        left = one.nodes
        for new, (g, nodes) in reversed([*enumerate(parts)]):
            if g == one.group and (nodes[0] in named[c] if c in named else left > 0):
                found.append(replace(one, group=new, nodes=min(left, len(nodes))))
                left -= found[-1].nodes
    partitions = [frozenset(new for new, (g, _) in enumerate(parts) if g in one) for one in run.machine.partitions]
    run.machine = replace(run.machine, groups=groups, closures=tuple(found), partitions=tuple(partitions))
