"""An instance as a document: canonical text with a SHA-256, which identifies the problem on any machine."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fedsched.bench.exact_numbers import decimal

if TYPE_CHECKING:
    from fedsched.bench.jobs import Columns
    from fedsched.comparison.instances import Comparable
    from fedsched.engine.sharing import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading

FORMAT = "fedsched instance 1"
NUMBERS = ("submit", "tasks", "runtime", "estimate", "compute_fraction", "task_bandwidth")


def canonical(data: object) -> str:
    """Return data as JSON text that is equal for equal content: keys sorted, no blanks, ASCII, one line."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False) + "\n"


def digest_of(text: str) -> str:
    """Return the SHA-256 of an ASCII text, in hexadecimal."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def clusters_of(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the clusters of a federation's TOML file in a document's form, with decimals as text."""
    return [
        {
            "name": cluster["name"],
            "uplink": decimal(cluster["uplink"]),
            "groups": [
                {"nodes": group["count"]}
                | {name: decimal(group[name]) for name in ("speed", "busy_watts", "idle_watts")}
                for group in cluster["group"]
            ],
        }
        for cluster in tables
    ]


@dataclass(frozen=True)
class Document:
    """An instance with all its data: jobs, machine, reading, and objectives.

    Each of `asks` is a problem of its own: an objective, or several joined by "+" for a front.

    Examples
    --------
    >>> from fedsched import bench
    >>> problem = bench.load("example-20")
    >>> problem.asks, problem.size
    (('makespan', 'energy', 'makespan+energy'), 20)
    """

    data: dict[str, Any]

    @classmethod
    def of(
        cls,
        name: str,
        *,
        family: str,
        about: str,
        machine: str,
        clusters: list[dict[str, Any]],
        jobs: Columns,
        asks: tuple[str, ...],
        version: int = 1,
        online: bool = False,
        downtimes: list[dict[str, Any]] | None = None,
        partitions: list[dict[str, Any]] | None = None,
        signals: list[dict[str, Any]] | None = None,
        sharing: str | None = None,
    ) -> Document:
        """Return the document of these parts.

        With `online` jobs arrive over time and only estimates are known; else all wait at 0 and run times are
        known. `sharing` is the order in which tasks take nodes, if jobs share them.
        """
        data: dict[str, Any] = {
            "format": FORMAT, "name": name, "version": version, "family": family, "about": about, "machine": machine,
            "submits": "keep" if online else "now", "knowledge": "estimate" if online else "runtime",
            "objectives": list(asks), "clusters": clusters, "jobs": jobs,
        }  # fmt: skip
        more = {"downtimes": downtimes, "partitions": partitions, "signals": signals, "sharing": sharing}
        return cls(data | {part: given for part, given in more.items() if given is not None})

    @property
    def name(self) -> str:
        """Return the name of the instance, by which it is cited together with its version."""
        return str(self.data["name"])

    @property
    def family(self) -> str:
        """Return the family of instances that this one belongs to, such as "planted"."""
        return str(self.data["family"])

    @property
    def asks(self) -> tuple[str, ...]:
        """Return the objectives, each of which is a problem of its own; several joined by "+" ask for a front."""
        return tuple(self.data["objectives"])

    @cached_property
    def text(self) -> str:
        """Return the instance as canonical text."""
        return canonical(self.data)

    @cached_property
    def sha256(self) -> str:
        """Return the SHA-256 of the canonical text."""
        return digest_of(self.text)

    @cached_property
    def federation(self) -> Federation:
        """Return the instance's machine as a Federation."""
        from fedsched.model.machine.federation import Cluster, Federation, NodeGroup
        from fedsched.model.machine.partition import Partition
        from fedsched.model.time.downtimes import Downtime
        from fedsched.model.time.signal import Signal

        clusters = tuple(
            Cluster(
                cluster["name"],
                tuple(
                    NodeGroup(
                        group["nodes"], float(group["speed"]), float(group["busy_watts"]), float(group["idle_watts"]),
                        resources=group.get("resources", ()),
                    )
                    for group in cluster["groups"]
                ),
                float(cluster["uplink"]),
            )
            for cluster in self.data["clusters"]
        )
        return Federation(
            clusters,
            name=self.data["machine"],
            partitions=tuple(Partition(**one) for one in self.data.get("partitions", ())),
            calendar=tuple(Downtime(**one) for one in self.data.get("downtimes", ())),
            signals=tuple(Signal(**one) for one in self.data.get("signals", ())),
        )

    @cached_property
    def workload(self) -> Workload:
        """Return the instance's jobs as a Workload."""
        import numpy as np

        from fedsched.model.jobs.workload import Workload

        jobs = self.data["jobs"]
        columns: dict[str, Any] = {
            name: np.array([float(value) for value in jobs[name]]) for name in NUMBERS if name in jobs
        }
        columns |= {"after": jobs["after"]} if "after" in jobs else {}
        columns |= {"labels": {"partition": jobs["partition"]}} if "partition" in jobs else {}
        columns |= {"demand": jobs["demand"]} if "demand" in jobs else {}
        return Workload(**columns, name=self.name, nodes=self.federation.nodes)

    @property
    def reading(self) -> Reading:
        """Return a Reading with what plans know of run times: estimates or true run times."""
        from fedsched.model.reading import Reading

        return Reading(knowledge=self.data["knowledge"])

    @property
    def sharing(self) -> NodeSharing | None:
        """Return how jobs share nodes; None: each task has a node of its own."""
        from fedsched.engine.sharing import NodeSharing

        return NodeSharing.of(self.data["sharing"]) if "sharing" in self.data else None

    @property
    def size(self) -> int:
        """Return the number of jobs of the instance."""
        return len(self.data["jobs"]["tasks"])

    @property
    def parts(self) -> tuple[object, ...]:
        """Return the machine and the jobs, as `bench show` prints them."""
        return self.federation, self.workload

    def check(self, ask: str) -> None:
        """Raise an error if this objective is not among `asks`."""
        if ask not in self.asks:
            from fedsched.core.errors import unknown_name

            raise unknown_name(f"objective of {self.name}", ask, self.asks)

    def instance(self, ask: str, optimum: float | None = None) -> Comparable:
        """Return the problem of one objective, as `compare` takes it.

        Parameters
        ----------
        ask
            The objective, or several joined by "+".
        optimum
            The best possible value, if it is known.

        Examples
        --------
        >>> from fedsched import bench
        >>> bench.load("example-20").instance("makespan").objectives
        ('makespan',)
        """
        from fedsched.comparison.instances import Instance

        self.check(ask)
        return Instance(
            f"{self.name}/{ask}", self.workload, self.federation, tuple(ask.split("+")), optimum,
            submits=self.data["submits"], reading=self.reading, sharing=self.sharing,
        )  # fmt: skip

    def __str__(self) -> str:
        version = f"{self.name}, version {self.data['version']}: {self.data['about']}"
        return f"{version}\nsha256 {self.sha256}\nobjectives: {', '.join(self.asks)}"
