"""Instances of shared nodes, turned into instances of whole nodes by a resource: each unit of it becomes a node.

A bound proven for the reduced instance holds for the instance itself: a job has at least its tasks' units for as long
as it runs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fedsched.bench.documents import Document
from fedsched.bench.exact_numbers import decimal


def resources_of(document: Document) -> tuple[str, ...]:
    """Return the names of the resources that tasks take of shared nodes; empty if each task has a node of its own."""
    return tuple(document.data["jobs"].get("demand", ()))


class Units:
    """An instance reduced to one of its resources: each unit of it is a node, in `document`.

    Nodes without the resource, and jobs that take none of it, are left out.
    """

    def __init__(self, document: Document, of: str) -> None:
        data, demand = document.data, document.data["jobs"]["demand"]
        groups = [group for cluster in data["clusters"] for group in cluster["groups"]]
        self.of, self.all_groups = of, len(groups)
        self.groups = [g for g, group in enumerate(groups) if group["resources"][of]]
        self.jobs = [j for j, amount in enumerate(demand[of]) if amount]
        rooms = []
        for j in self.jobs:
            fits = [g for g in self.groups if all(demand[r][j] <= groups[g]["resources"][r] for r in demand)]
            rooms.append("+".join(map(str, fits)))
        columns = {name: [column[j] for j in self.jobs] for name, column in data["jobs"].items() if name != "demand"}
        columns["tasks"] = [tasks * demand[of][j] for tasks, j in zip(columns["tasks"], self.jobs, strict=True)]
        clusters = [self._cluster(cluster) for cluster in data["clusters"]]
        clusters = [cluster for cluster in clusters if cluster["groups"]]
        left = {name: part for name, part in data.items() if name != "sharing"}
        parts = {"partitions": self._parts(data, rooms)}
        self.document = Document(left | parts | {"clusters": clusters, "jobs": columns | {"partition": rooms}})

    def _cluster(self, cluster: dict[str, Any]) -> dict[str, Any]:
        groups = []
        for group in cluster["groups"]:
            units = group["resources"][self.of]
            idle, busy = (Fraction(group[name]) / (units or 1) for name in ("idle_watts", "busy_watts"))
            watts = {"idle_watts": decimal(idle), "busy_watts": decimal(busy if self.of == "cpu" else idle)}
            if units:
                groups.append({"nodes": group["nodes"] * units, "speed": group["speed"], **watts})
        return cluster | {"groups": groups}

    def _parts(self, data: dict[str, Any], rooms: list[str]) -> list[dict[str, Any]]:
        # The units on which each job's tasks fit: numbers within their cluster, group by group.
        spans = []
        for cluster in data["clusters"]:
            end = 0
            for group in cluster["groups"]:
                units = group["nodes"] * group["resources"][self.of]
                spans.append([cluster["name"], f"{end}-{end + units - 1}"])
                end += units
        return [{"name": room, "nodes": [spans[int(g)] for g in room.split("+")]} for room in sorted(set(rooms))]

    def back(self, one: dict[str, Any]) -> dict[str, Any]:
        """Return a proof for the reduced instance as one for the instance itself.

        Groups and jobs get the numbers that they have in the instance.
        """
        prices = [[0] * len(one["edges"]) for _ in range(self.all_groups)]
        for g, row in zip(self.groups, one["prices"], strict=True):
            prices[g] = row
        packs = [[[[self.groups[g] for g in room], of] for room, of in pools] for pools in one["packs"]]
        job = {str(self.jobs[int(j)]): price for j, price in one["job"].items()}
        return one | {"of": self.of, "prices": prices, "packs": packs, "job": job}
