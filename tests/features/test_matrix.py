"""Whatever machines and jobs may have, in every place that takes them: it works there, or is refused by name."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stderr
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.feature_parts import CONF, JOBS
from support.tiers import INTERPRETED

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.cli import run
from fedsched.core.errors import FedschedError
from fedsched.engine.compatibility import FEATURES, Use, refused, unsupported, usage_note
from fedsched.generate import gears
from fedsched.generate.feedback import Sessions, feedback
from fedsched.gym.episodes import Episodes
from fedsched.io import read_federation
from fedsched.io.schedules import write_csv
from fedsched.model.jobs.admission import count_in_nodes, with_default_times
from fedsched.model.schedule.metrics import NAMES
from fedsched.optimize.result.files import as_data, of_data
from fedsched.policies import Planned, Reserve, Slurm, Timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

RULES = ("strict", "greedy", "local", "easy", "conservative", "lookahead")
METHODS = ("ga",)
LISTS = ("mct", "min-min", "max-min", "sufferage", "least-energy")


@dataclass(frozen=True)
class Case:
    """Six jobs and a machine, one of which has something more."""

    workload: fs.Workload
    machine: fs.Federation
    reading: Mapping[str, Any] = field(default_factory=dict)


NODES = fs.NodeGroup(6, busy_watts=200.0, idle_watts=90.0, resources={"cpu": 2, "memory": 10}, features=("ib",))
MACHINE = fs.Federation((fs.Cluster("m", (NODES,)),))
ASLEEP = fs.Federation((fs.Cluster("m", (replace(NODES, off_watts=9.0, boot_seconds=3.0, shutdown_seconds=2.0),)),))
GEARED = fs.Federation((fs.Cluster("m", (replace(NODES, gears=((0.8, 150.0), (0.5, 100.0))),)),))
TWO = [fs.Cluster(name, (replace(NODES, count=4),)) for name in "mn"]


def labelled(**labels: list[str]) -> fs.Workload:
    """Return the jobs with more labels."""
    assert JOBS.labels is not None
    return replace(JOBS, labels=JOBS.labels.columns() | labels)


def has(**parts: Any) -> fs.Federation:
    """Return the machine with more."""
    return replace(MACHINE, **parts)


def signal(values: tuple[float, float, float], unit: str) -> fs.Signal:
    """Return a signal that changes twice."""
    return fs.Signal((0.0, 10.0, 20.0), values, unit, beyond="last")


def closes(*, begin: float = 12.0, end: float = 18.0, **words: Any) -> Case:
    """Return the case of a downtime."""
    return Case(JOBS, has(calendar=(fs.Downtime("m", begin, end, **words),)))


def waits(text: str) -> Case:
    """Return the case of two jobs that wait for others."""
    return Case(replace(JOBS, after=["", "", text, "", "", text]), MACHINE)


def in_partitions(**words: Any) -> Case:
    """Return the case of two partitions, of which the jobs ask for one or the other."""
    parts = (fs.Partition("low", {"m": "all"}, default=True), fs.Partition("high", {"m": "0-3"}, **words))
    return Case(labelled(partition=["low", "high", "", "high", "low", ""]), has(partitions=parts))


def shapes(rule: str) -> Case:
    """Return the case of jobs of several shapes."""
    among = {1: [(2, 10, 20), (1, 18), (4, 6)], 5: [(1, 4, 8), (2, 3)]}
    return Case(replace(JOBS, alternatives=among), MACHINE, {"alternatives": rule})


def of_several_sizes(rule: str = "", **parts: Any) -> Case:
    """Return the case of jobs alone on nodes of two and of four CPUs, on so many as their placement makes them.

    By a rule two of them have one of several shapes.
    """
    groups = tuple(replace(NODES, count=n, resources={"cpu": cpus, "memory": 10}) for n, cpus in ((4, 2), (2, 4)))
    machine = fs.Federation((fs.Cluster("m", groups),), **parts)
    jobs = replace(JOBS, tasks=[6, 1, 9, 4, 3, 2], layout={"exclusive": [1, 0, 1, 1, 0, 1]})
    among = {1: [(6, 10, 20), (3, 18), (12, 6)], 4: [(4, 8, 9), (9, 3, 4), (2, 20)]}
    return Case(replace(jobs, alternatives=among), machine, {"alternatives": rule}) if rule else Case(jobs, machine)


CASES: dict[str, Case] = {
    "nothing": Case(JOBS, MACHINE),
    "partitions": in_partitions(),
    "tiers": in_partitions(tier=5),
    "factor": in_partitions(factor=5),
    "partition limits": in_partitions(max_time=100.0, max_nodes=3, accounts=("x", "y"), qos=("q",)),
    "features": Case(labelled(features=["ib", "", "ib", "", "", ""]), MACHINE),
    "demand": Case(replace(JOBS, demand={"cpu": [2, 1, 1, 0, 2, 1], "memory": [5, 0, 0, 10, 0, 0]}), MACHINE),
    "tasks_per_node": Case(replace(JOBS, layout={"tasks_per_node": [2, 0, 1, 2, 0, 1]}), MACHINE),
    "exclusive": Case(replace(JOBS, layout={"exclusive": [0, 1, 0, 0, 0, 0]}), MACHINE),
    "nodes of several sizes": of_several_sizes(),
    "limits on these": of_several_sizes(limits=(fs.Limit("user", nodes=5), fs.Limit("account", cpus=14))),
    "shapes on these": of_several_sizes("fixed"),
    "least shapes on these": of_several_sizes("smallest_area"),
    "first shapes on these": of_several_sizes("earliest_finish"),
    "pools": Case(replace(JOBS, pools={"ansys": [1, 1, 0, 2, 1, 0]}), has(pools=(fs.Pool("ansys", 2),))),
    "pool of a cluster": Case(
        replace(JOBS, pools={"buffer": [1, 1, 0, 2, 1, 0]}), fs.Federation(TWO, pools=(fs.Pool("buffer", 2, "n"),))
    ),
    "limit of users": Case(JOBS, has(limits=(fs.Limit("user", jobs=1),))),
    "limit of accounts": Case(JOBS, has(limits=(fs.Limit("account", nodes=3),))),
    "limit of qos": Case(JOBS, has(limits=(fs.Limit("qos", cpus=3),))),
    "array": Case(labelled(array=["7%1", "7%1", "7%1", "", "", ""]), MACHINE),
    "maintenance": closes(),
    "part of the nodes": closes(nodes="2 of all"),
    "outage": closes(kind="outage"),
    "outage that kills": closes(begin=4.0, kind="outage", on_running="kill"),
    "outage that requeues": closes(begin=4.0, kind="outage", on_running="requeue"),
    "random victims": closes(begin=4.0, nodes="2 of all", kind="outage", on_running="requeue", victims="random"),
    "recorded victims": closes(begin=4.0, nodes="0-1", kind="outage", on_running="requeue", victims="recorded"),
    "drain": closes(kind="drain", nodes="0-1"),
    "for good": closes(kind="drain", nodes="0-1", end=np.inf),
    "known late": closes(known_from=8.0),
    "end that is not known": closes(end_known=False),
    "reservation": Case(
        labelled(reservation=["", "r", "", "", "", "r"]),
        has(calendar=(fs.Downtime("m", 3.0, 60.0, "3 of all", kind="reservation", name="r", accounts=("x", "y")),)),
    ),
    "after": waits("after:1"),
    "afterany": waits("afterany:1"),
    "afterok": waits("afterok:1+5s"),
    "afternotok": waits("afternotok:1"),
    "singleton": waits("singleton"),
    "feedback": Case(
        replace(JOBS, feedback={"preceding": [-1, 1, -1, -1, 4, -1], "think_time": [-1, 3, -1, -1, 0, -1]}), MACHINE
    ),
    "sessions": Case(feedback(replace(JOBS, log={"wait": [0.0, 0.0, 1.0, 2.0, 0.0, 0.0]}), Sessions(10.0)), MACHINE),
    "cancel_at": Case(replace(JOBS, cancel_at=[-1, -1, 2.5, 4.0, -1, -1]), MACHINE),
    "alternatives": shapes("fixed"),
    "smallest area": shapes("smallest_area"),
    "earliest finish": shapes("earliest_finish"),
    "status": Case(replace(JOBS, log={"status": [1, 0, 5, 1, 1, 0]}), MACHINE),
    "begin": Case(replace(JOBS, begin=[0, 9, 0, 0, 30, 0]), MACHINE),
    "held": Case(replace(JOBS, held={1: [(0, 4)], 3: "2.5-9|11-12", 5: [(25, 30)]}), MACHINE),
    "nice": Case(replace(JOBS, nice=[0, 100, 0, -5, 0, 0]), MACHINE),
    "watts": Case(replace(JOBS, watts=[150.0, -1, 100.0, -1, 300.0, -1]), MACHINE),
    "gear": Case(replace(JOBS, gear=[1, 0, 2, 0, 1, 0]), GEARED),
    "gears to choose from": Case(gears(JOBS, GEARED), GEARED, {"alternatives": "fixed"}),
    "the fastest gear": Case(gears(JOBS, GEARED), GEARED, {"alternatives": "smallest_area"}),
    "timeout": Case(JOBS, replace(ASLEEP, power=Timeout(2.0))),
    "reserve": Case(JOBS, replace(ASLEEP, power=Reserve(1, 2.0))),
    "planned": Case(JOBS, replace(ASLEEP, power=Planned())),
    "prices": Case(JOBS, has(signals=(signal((50.0, 100.0, 70.0), "EUR/MWh"), signal((90.0, 20.0, 200.0), "g/kWh")))),
    "cap": Case(JOBS, has(signals=(signal((2000.0, 900.0, 1300.0), "W"),))),
    "cap at starts": Case(JOBS, has(signals=(signal((2000.0, 900.0, 1300.0), "W"),), cap="now")),
    "slack": Case(replace(JOBS, slack=[5.0, 0, 3600.0, 0, 0, 0]), MACHINE),
}


def checked(schedule: fs.Schedule) -> fs.Schedule:
    """Return a schedule that is right, and says so."""
    schedule.verify(claimed=schedule.metrics())
    assert str(schedule)
    return schedule


def on(dispatch: str, **options: Any) -> Callable[[Case, Path], None]:
    """Return the place of a dispatch rule."""

    def place(case: Case, _: Path) -> None:
        rules = fs.Rules(dispatch=dispatch)
        checked(fs.simulate(case.workload, case.machine, rules, **{**case.reading, **options}))

    return place


def by(policy: Any, **options: Any) -> Callable[[Case, Path], None]:
    """Return the place of a policy."""

    def place(case: Case, _: Path) -> None:
        checked(fs.simulate(case.workload, case.machine, policy, **{**case.reading, **options}))

    return place


def searched(method: str, **options: Any) -> Callable[[Case, Path], None]:
    """Return the place of a search."""

    def place(case: Case, _: Path) -> None:
        result = fs.optimize(
            case.workload, case.machine, method=method, evaluations=40, seed=1, **{**case.reading, **options}
        )
        assert str(result)
        checked(result.schedule(0))
        again = of_data(json.loads(json.dumps(as_data(result))))
        assert again.workload == result.workload
        assert again.federation == result.federation

    return place


def on_slurm(case: Case, tmp_path: Path) -> None:
    """Slurm's own scheduler."""
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    checked(fs.simulate(case.workload, case.machine, Slurm(path), **case.reading))


def proven(case: Case, _: Path) -> None:
    """No bound is above what a schedule has that knows run times, as bounds do."""
    bounds = lower_bounds(case.workload, case.machine, **case.reading)
    called = next(name for name, one in CASES.items() if one is case)
    for dispatch in RULES:
        if (case.reading and dispatch == "local") or expected(dispatch, called, case) is not None:
            continue
        rules = fs.Rules(dispatch=dispatch)
        schedule = fs.simulate(case.workload, case.machine, rules, knowledge="runtime", **case.reading)
        row = schedule.metrics()
        for name in NAMES:
            known, value = bounds.of(name), getattr(row, name)
            if schedule.complete and not np.isnan(known) and not np.isnan(value):
                assert value >= known - 1e-9 * max(1.0, abs(known)), (dispatch, name)


def solved(case: Case, _: Path) -> None:
    """The exact model's schedule is right."""
    answer = fs.bounds.exact(case.workload, case.machine, reading=fs.Reading(**case.reading), seconds=60.0, workers=1)
    if answer.schedule is not None:
        answer.schedule.verify()


def learned(case: Case, _: Path) -> None:
    """An environment brings an episode to its end."""
    Episodes(case.workload, case.machine, runs=1, reading=fs.Reading(**case.reading))


def shared(case: Case, _: Path) -> None:
    """Nodes that are shared."""
    schedule = fs.simulate(case.workload, case.machine, "easy", sharing="first", **case.reading)
    schedule.verify()


def compared(case: Case, _: Path) -> None:
    """A comparison of a search with a policy."""
    instance = fs.Instance("i", case.workload, case.machine, **case.reading)
    found = fs.compare([instance], ["easy", "ga"], [1], fs.Budget(evaluations=30))
    for one in found.records:
        if one.error:
            raise FedschedError(one.error)


def drawn(case: Case, tmp_path: Path) -> None:
    """A report's page and a chart."""
    schedule = fs.simulate(case.workload, case.machine, "easy", **case.reading)
    schedule.report(tmp_path / "a.html")
    schedule.gantt(tmp_path / "a.svg")


def kept(case: Case, tmp_path: Path) -> None:
    """Files that are read again."""
    case.machine.write(tmp_path / "m.toml")
    assert read_federation(tmp_path / "m.toml") == case.machine
    for name in ("a.csv", "a.csv.gz"):
        case.workload.write(tmp_path / name)
        assert fs.read(tmp_path / name).extras == case.workload.extras
    schedule = fs.simulate(case.workload, case.machine, "easy", **case.reading)
    write_csv(schedule, tmp_path / "s.csv")
    again = fs.Schedule.read(tmp_path / "s.csv", case.workload, case.machine)
    assert np.array_equal(again.start, schedule.start, equal_nan=True)


def for_batsim(case: Case, tmp_path: Path) -> None:
    """Batsim's files."""
    case.workload.write(tmp_path / "a.json")
    assert fs.read(tmp_path / "a.json").extras == case.workload.extras


def told(case: Case, tmp_path: Path) -> None:
    """The command line."""
    case.machine.write(tmp_path / "m.toml")
    case.workload.write(tmp_path / "a.csv")
    options = [f"--{name.replace('_', '-')}={value}" for name, value in case.reading.items()]
    for command in (["simulate", "--json"], ["simulate"], ["bounds"], ["optimize", "--evaluations", "30"]):
        said = io.StringIO()
        with redirect_stderr(said):
            code = run([*command, str(tmp_path / "a.csv"), "--federation", str(tmp_path / "m.toml"), *options])
        if code != 0:
            raise FedschedError(said.getvalue())


PLACES: dict[str, Callable[[Case, Path], None]] = {
    **{dispatch: on(dispatch) for dispatch in RULES},
    **{f"{dispatch}, sequential": on(dispatch, same_time="sequential") for dispatch in RULES},
    **{one: by(one) for one in LISTS},
    "min-min-easy": by("min-min-easy"),
    "wfp3-easy": by("wfp3-easy"),
    "rolling": by(fs.Rolling(evaluations=20)),
    **{method: searched(method) for method in METHODS},
    "as submitted": searched("ga", submits="keep"),
    "packages": searched("ga", package=3),
    "bounds": proven,
    "exact": solved,
    "environment": learned,
    "slurm": on_slurm,
    "shared nodes": shared,
    "compare": compared,
    "report": drawn,
    "files": kept,
    "batsim": for_batsim,
    "command line": told,
}

# The places of the table of what goes with what (engine/compatibility.py) that each of these stands for.
ON_WHOLE_NODES = ("boots", "power caps")
AT: dict[str, tuple[str, ...]] = {
    **{rule: (f"dispatch {rule}", *ON_WHOLE_NODES) for rule in RULES},
    **{f"{rule}, sequential": (f"dispatch {rule}", *ON_WHOLE_NODES) for rule in RULES},
    **dict.fromkeys(LISTS, ("dispatch local", "boots")),
    "rolling": ON_WHOLE_NODES,
    **dict.fromkeys(("ga", "as submitted", "compare"), ("optimize", "optimize with boots", *ON_WHOLE_NODES)),
    "packages": ("optimize", "optimize with boots", "packages with boots", *ON_WHOLE_NODES),
    "command line": (*ON_WHOLE_NODES, "bounds", "optimize"),
    "slurm": ("slurm", "slurm with limits"),
    "shared nodes": ("shared nodes",),
    "bounds": ("bounds", "bounds of shapes"),
    "environment": ON_WHOLE_NODES,
    "exact": ("exact",),
}
# What is refused for another reason than the table's.
NO_DELAY = {"slack": "none of these gains by a delay"}
OTHERWISE: dict[str, dict[str, str]] = {
    **dict.fromkeys(("ga", "as submitted", "packages", "compare", "command line"), NO_DELAY),
    "exact": {"afternotok": "2 jobs can never start"},
}


def expected(place: str, name: str, case: Case) -> str | None:
    """Return what the error says that a case meets in a place; None if it runs there."""
    jobs = count_in_nodes(with_default_times(case.workload, case.machine), case.machine)
    same_time = "sequential" if place.endswith("sequential") else "batch"
    places = AT.get(place, ())
    use = Use(jobs, case.machine, fs.Reading(same_time=same_time, **case.reading), t0=0.0, given=places)
    said: list[str] = []
    for where in places:
        if where == "slurm with limits" and not any(limit.by_shape for limit in case.machine.limits):
            continue
        own = "boots" if where.endswith(" with boots") else where
        if own not in FEATURES or usage_note(own, use) is not None:
            errors = [str(refused(where, feature, "?")) for feature, _ in unsupported(where, use)]
            said += [re.escape(error.split(" (?)")[0]) for error in errors]
    return "|".join(said) or OTHERWISE.get(place, {}).get(name)


@pytest.mark.filterwarnings("ignore:overflow encountered")  # of the random numbers, where nothing is compiled
@pytest.mark.skipif(not INTERPRETED, reason="each case compiles kernels of its own, for an hour: make nojit runs it")
@pytest.mark.parametrize("place", PLACES)
def test_it_works_or_is_refused_by_name(place: str, tmp_path: Path) -> None:
    """Each case in turn: nothing is lost in silence, nothing fails but by an error that says what does not go there."""
    for name, case in CASES.items():
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        if (said := expected(place, name, case)) is not None:
            with pytest.raises((ValueError, FedschedError), match=said):
                PLACES[place](case, folder)
            continue
        try:
            PLACES[place](case, folder)
        except (ValueError, FedschedError) as error:
            pytest.fail(f"{name}: {error}")
