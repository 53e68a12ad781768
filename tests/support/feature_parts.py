"""A small example of each feature of `engine/compatibility.py`, to be put together with others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import fedsched as fs
from fedsched.model.reading import USUAL
from fedsched.policies import Planned, Timeout
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

GROUP = fs.NodeGroup(
    6, busy_watts=200.0, idle_watts=90.0, resources={"cpu": 2, "memory": 10}, features=("ib",),
    off_watts=9.0, boot_seconds=3.0, shutdown_seconds=2.0, gears=((0.8, 150.0), (0.5, 100.0)),
)  # fmt: skip
JOBS = fs.Workload(
    submit=[0.0, 1.0, 2.0, 3.0, 20.0, 21.0],
    tasks=[2, 1, 3, 2, 1, 2],
    runtime=[10.0, 20.0, 5.0, 8.0, 4.0, 6.0],
    estimate=[20.0, 20.0, 10.0, 9.0, 8.0, 6.0],
    user=[1, 1, 2, 2, 1, 2],
    labels={"account": ["x", "x", "y", "y", "x", "y"], "qos": ["q", "", "q", "", "q", ""], "name": ["a"] * 6},
)
AT_HOME = replace(JOBS, origin=[0] * 6, sites=("m",))
MACHINE = fs.Federation((fs.Cluster("m", (GROUP,)),))
CONF = """ClusterName=m
PriorityType=priority/basic
NodeName=n[1-6] CPUs=2
PartitionName=low Nodes=ALL Default=YES
PartitionName=high Nodes=n[1-4]
"""


@dataclass(frozen=True)
class Call:
    """Jobs, a machine, a reading, and the options of a call."""

    jobs: fs.Workload = field(default_factory=lambda: AT_HOME)
    machine: fs.Federation = MACHINE
    reading: fs.Reading = USUAL
    options: dict[str, Any] = field(default_factory=dict)


def _jobs(**columns: Any) -> Callable[[Call], Call]:
    return lambda call: replace(call, jobs=replace(call.jobs, **columns))


def _labels(**labels: list[str]) -> Callable[[Call], Call]:
    def part(call: Call) -> Call:
        assert call.jobs.labels is not None
        return replace(call, jobs=replace(call.jobs, labels=call.jobs.labels.columns() | labels))

    return part


def _machine(**parts: Any) -> Callable[[Call], Call]:
    """Return what adds to the tuples of a federation, and sets its other fields."""

    def part(call: Call) -> Call:
        added = {
            name: (*getattr(call.machine, name), *value) if isinstance(value, tuple) else value
            for name, value in parts.items()
        }
        return replace(call, machine=replace(call.machine, **added))

    return part


def _closes(*, begin: float = 12.0, end: float = 18.0, **words: Any) -> Callable[[Call], Call]:
    return _machine(calendar=(fs.Downtime("m", begin, end, **words),))


def _groups(**changes: Any) -> Callable[[Call], Call]:
    """Return what adds a group like the others but for some fields to the first cluster."""

    def part(call: Call) -> Call:
        first, *others = call.machine.clusters
        more = replace(first, groups=(*first.groups, replace(GROUP, count=2, **changes)))
        return replace(call, machine=replace(call.machine, clusters=(more, *others)))

    return part


def _clusters(call: Call, **changes: Any) -> Call:
    first = replace(call.machine.clusters[0], **changes)
    machine = replace(call.machine, clusters=(first, replace(first, name="n")))
    return replace(call, machine=machine, jobs=replace(call.jobs, task_bandwidth=1.0))


def _reading(**words: Any) -> Callable[[Call], Call]:
    return lambda call: replace(call, reading=replace(call.reading, **words))


def _options(**options: Any) -> Callable[[Call], Call]:
    return lambda call: replace(call, options=call.options | options)


def _after(*parts: Callable[[Call], Call]) -> Callable[[Call], Call]:
    """Return parts that are put together, one after the other."""

    def all_of(call: Call) -> Call:
        for part in parts:
            call = part(call)
        return call

    return all_of


def _running(call: Call) -> Call:
    run = prepare(call.jobs, call.machine, "easy")
    run.advance(until=1.5)
    return replace(call, options=call.options | {"running": run.running()})


def _shapes(rule: str) -> Callable[[Call], Call]:
    among = {1: [(2, 10, 20), (1, 18), (4, 6)], 5: [(1, 4, 8), (2, 3)]}
    return _after(_jobs(alternatives=among), _reading(alternatives=rule))


_CAP = fs.Signal((0.0, 10.0, 20.0), (2500.0, 1500.0, 1900.0), "W", beyond="last")
PARTS: dict[str, Callable[[Call], Call]] = {
    "power saving": _machine(power=Planned()),
    "boots": _machine(power=Timeout(2.0)),
    "power caps": _machine(signals=(_CAP,)),
    "downtimes": _closes(),
    "downtimes that take nodes": _closes(begin=4.0, kind="outage", on_running="requeue"),
    "downtimes that kill": _closes(begin=4.0, kind="outage", on_running="kill"),
    "downtimes without an end": _closes(begin=40.0, end=np.inf, kind="drain", nodes="0-1", known_from=0.0),
    "surprises": _closes(known_from=8.0),
    "downtimes of a number of nodes": _closes(nodes="2 of all"),
    "jobs in reservations": _after(
        _labels(reservation=["", "r", "", "", "", "r"]),
        _closes(begin=3.0, end=90.0, nodes="3 of all", kind="reservation", name="r", accounts=("x", "y")),
    ),
    "holds": _jobs(held={1: [(0, 4)], 3: "2.5-9|11-12", 5: [(25, 30)]}),
    "feedback": _jobs(feedback={"preceding": [-1, 1, -1, -1, 4, -1], "think_time": [-1, 3, -1, -1, 0, -1]}),
    "conditions and begins": _jobs(after=["", "", "afterok:1+5s", "", "", "after:1"], begin=[0, 9, 0, 0, 30, 0]),
    "cancellations": _jobs(cancel_at=[-1, -1, 2.5, 4.0, -1, -1]),
    "uneven jobs": _after(_groups(resources={"cpu": 4, "memory": 10}), _jobs(layout={"exclusive": [1, 0, 1, 1, 0, 1]})),
    "thrifty uneven jobs": _after(
        _groups(resources={"cpu": 4, "memory": 10}),
        _jobs(layout={"exclusive": [1, 0, 1, 1, 0, 1]}, watts=[-1, -1, 0.0, -1, -1, -1]),
    ),
    "slack": _jobs(slack=[5.0, 0, 3600.0, 0, 0, 0]),
    "limits": _machine(limits=(fs.Limit("user", jobs=1),)),
    "limits of nodes or CPUs": _machine(limits=(fs.Limit("account", nodes=4),)),
    "pools": _after(_jobs(pools={"ansys": [1, 1, 0, 2, 1, 0]}), _machine(pools=(fs.Pool("ansys", 2),))),
    "watts and gears": _jobs(watts=[150.0, -1, 100.0, -1, -1, 300.0], gear=[0, 1, 2, 0, 0, 1]),
    "shapes to choose": _shapes("earliest_finish"),
    "shapes by plans": _shapes("free"),
    "shapes at submit": _shapes("earliest_finish"),
    "ends by shapes": _after(
        _jobs(after=["", "", "afterok:1", "", "", ""], alternatives={1: [(2, 10, 20), (1, 18, 9)]}),
        _reading(kill_at_estimate=True, alternatives="earliest_finish"),
    ),
    "sequential instants": _reading(same_time="sequential"),
    "communication": _clusters,
    "finite uplinks": lambda call: _clusters(call, uplink=5.0),
    "several clusters": lambda call: replace(_clusters(call), jobs=call.jobs),
    "several speeds": _groups(speed=2.0),
    "running jobs": _running,
    "caps": _options(caps=np.full((6, 1), 6)),
    "placements": _options(placement="fastest"),
    "t0": _options(t0=0.0),
    "packages": _options(package=3, objectives="makespan"),
    "packages with boots": _after(_machine(power=Timeout(2.0)), _options(package=3, objectives="makespan")),
    "objectives of signals": _after(
        _machine(signals=(fs.Signal((0.0,), (50.0,), "EUR/MWh"),)), _options(objectives="cost")
    ),
    "deadlines": _options(deadline=1e6),
    "shared nodes": _options(sharing="first"),
}


def call_with(names: Iterable[str]) -> Call:
    """Return the call that has these features."""
    return _after(*(PARTS[name] for name in names))(Call())

