"""Pages of all kinds that the library writes beside a result's and a schedule's, of long names and long numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import fedsched as fs
from fedsched.bench.scoring import write_page
from fedsched.compare import Comparison, RunRecord
from fedsched.optimize.shifting import shifts
from fedsched.report import of_schedules, write
from fedsched.site.twin import explain, made_dump, read_site
from fedsched.site.twin.page import write as write_twin
from fedsched.study import Case

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAY, HOUR = 86_400.0, 3600.0
METHODS = ("memetic", "easy", "conservative", "a-method-of-mine-whose-name-is-long", "fcfs")
PROBLEMS = ("figure-1-5-20/makespan", "figure-1-5-20/flow", "example-20/makespan", "example-20/makespan+energy")


def policies(path: Path) -> None:
    """Write the page of four policies on a log of a large machine."""
    jobs = fs.Workload.example().head(60)
    wide = fs.Workload(submit=jobs.submit, tasks=jobs.tasks * 700, runtime=jobs.runtime, user=jobs.user,
                       name="CEA-Curie-2011-2.1-cln.swf", history=("read CEA-Curie-2011-2.1-cln.swf.gz",))  # fmt: skip
    curie = fs.Federation.homogeneous(93_312, name="curie")
    found = [fs.simulate(wide, curie, policy) for policy in ("easy", "fcfs", "sjf-easy", "conservative")]
    write(of_schedules(found), path, price_per_kwh=0.25)


def shift(path: Path) -> None:
    """Write the page of jobs that may be put off and moved between two sites of which one has the sun."""
    node = fs.NodeGroup(96, busy_watts=350.0, idle_watts=90.0)
    sites = (fs.Cluster("south", (node,)), fs.Cluster("north", (node,)))
    sun = fs.Signal((0, 9 * HOUR, 17 * HOUR), (480, 120, 510), "g/kWh", "south", until=DAY, beyond="repeat")
    wind = fs.Signal((0, 7 * HOUR, 21 * HOUR), (140, 330, 160), "g/kWh", "north", until=DAY, beyond="repeat")
    jobs = fs.Workload.example().head(20)
    late = replace(jobs, slack=4 * HOUR, sites=("south", "north"), origin=[k % 2 for k in range(len(jobs))])
    found = shifts(late, fs.Federation(sites, signals=(sun, wind)), method="random", evaluations=20, seed=1)
    found.report(path)


def comparison(path: Path) -> None:
    """Write the page of three methods on two problems."""
    jobs = fs.Workload.example().head(20)
    instances = [fs.Instance(name, jobs, fs.Federation.example()) for name in ("a-log-2011-2.1-cln", "b")]
    methods = ("random", "easy", "fcfs")
    fs.compare(instances, methods, range(2), fs.Budget(evaluations=50)).report(path)


def bench(path: Path) -> None:
    """Write the page of the field's bench: five methods on four problems, of which one has fronts."""
    runs = [
        RunRecord(problem, "f", method, seed, 100, None, tuple(problem.partition("/")[2].split("+")),
                  front=((123_456.0 * (1 + k / 9),) * (1 + ("+" in problem)),), evaluations=100, seconds=1.0)
        for problem in PROBLEMS for seed in range(9) for k, method in enumerate(METHODS)
    ]  # fmt: skip
    write_page(Comparison(tuple(runs)), path, repeat="fedsched bench run " + " ".join(METHODS))


def twin(path: Path) -> None:
    """Write the page of a dump that another policy than its own replays."""
    dump = made_dump(path.with_suffix(""), jobs=150, nodes=16, policy="easy", seed=5)
    write_twin(explain(read_site(dump), "fcfs"), path, repeat=f"fedsched twin report {dump}")


def study(path: Path) -> None:
    """Write the page of scenarios of a year, of which each has an interval."""
    jobs = fs.generate.lublin(300, 64, load=0.9, seed=1)
    spread = replace(jobs, submit=jobs.submit * (40 * DAY / jobs.submit[-1]), user=[k % 9 for k in range(len(jobs))])
    what_if = {"a fifth more of all nodes": "nodes=+20%", "without backfilling": "policy=fcfs", "less": "nodes=-50%"}
    case = Case(workload=spread, federation=fs.Federation.homogeneous(64))
    fs.study(case, what_if).report(path, repeat="fedsched study " + "log " * 40)


WRITTEN: dict[str, Callable[[Path], None]] = {
    "policies": policies, "shift": shift, "comparison": comparison, "bench": bench, "twin": twin, "study": study,
}  # fmt: skip
BARE = ("comparison", "bench", "twin", "study")  # without a script
