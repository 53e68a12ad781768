"""What a search needs is compiled or loaded before its clock begins, and what is compiled later does not count."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.compilation import Compilation, compiling
from fedsched.core.jit import slots
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run.clock import Clock
from fedsched.search.run.run import Run
from fedsched.search.run.stopping import MaxSeconds

TESTS = Path(__file__).resolve().parent.parent
CASES = """
from dataclasses import replace

import numpy as np
from support import signatures

import fedsched as fs
from fedsched.core.jit.parts import Linked, Part
from fedsched.optimize import entry_point
from fedsched.policies import Timeout

ROOMS = [f"fedsched.{room}" for room in ("engine", "model", "policies", "search")]
CLOSED = fs.Downtime("C1", 100.0, 500.0, "1 of all", "maintenance")
PRICES = fs.Signal((0.0, 3600.0), (1.0, 2.0), "EUR/MWh", beyond="last")
jobs = fs.Workload.example()
jobs = jobs.filter(jobs.tasks <= 20).head(12)
machine = fs.Federation.of(20, 20)
waiting = replace(jobs, submit=np.zeros(12))
own = (int(jobs.tasks[0]), float(jobs.runtime[0]), float(jobs.estimate[0]))
node = fs.NodeGroup(2, resources={"cpu": 4})
asleep = fs.NodeGroup(40, off_watts=1.0, boot_seconds=60.0)
shared = fs.Workload(submit=[0, 0, 1, 2], tasks=[1, 2, 1, 3], runtime=[9, 4, 7, 3], demand={"cpu": [3, 1, 2, 1]})
CASES = {
    "plain": (jobs, machine, {}),
    "waiting": (waiting, machine, {}),
    "two objectives": (waiting, machine, {"objectives": ("makespan", "energy")}),
    "one group": (waiting, fs.Federation.homogeneous(40), {}),
    "nodes that close": (jobs, replace(machine, calendar=(CLOSED,)), {}),
    "limits beside them": (jobs, replace(machine, calendar=(CLOSED,), limits=(fs.Limit("user", jobs=9),)), {}),
    "nodes that boot": (jobs, fs.Federation((fs.Cluster("a", (asleep,)),), power=Timeout(60.0)), {"submits": "keep"}),
    "put off": (
        replace(jobs, slack=3600.0),
        replace(machine, signals=(PRICES,)),
        {"method": "ga", "objectives": "cost", "submits": "keep"},
    ),
    "shapes": (
        replace(jobs, alternatives={int(jobs.id[0]): [own, (own[0] + 1, own[1] / 2, own[2])]}),
        machine,
        {"method": "ga", "alternatives": "free"},
    ),
    "shared nodes": (shared, fs.Federation((fs.Cluster("site", (node,)),)), {"method": "ga", "sharing": "first"}),
    "shared nodes that close": (
        shared,
        fs.Federation((fs.Cluster("site", (node,)),), calendar=(replace(CLOSED, cluster="site", nodes="1"),)),
        {"method": "ga", "sharing": "first"},
    ),
}


def loaded():
    functions = [one for one in signatures.functions_of(*ROOMS) if not isinstance(one, (Part, Linked))]
    return {(f"{one.__module__}.{one.__name__}", str(kind)) for one in functions for kind in one.signatures}


def noting(*what, **how):
    warm_up(*what, **how)
    before.update(loaded())


warm_up, before = entry_point.warm_up, set()
entry_point.warm_up = noting
for name, (workload, federation, how) in CASES.items():
    before.clear()
    found = fs.optimize(workload, federation, seconds=600.0, evaluations=2500, progress=False, **how)
    late = sorted(name for name, _ in loaded() - before)
    print(name, "|", found.evaluations, "|", " ".join(late))
"""


@pytest.mark.deep
@pytest.mark.compiled
def test_no_kernel_is_compiled_or_loaded_once_the_clock_has_begun() -> None:
    """Tests, in a process that has loaded nothing, that each kind of problem finds its kernels when warm-up is over.

    Parts of kernels come at their first call, and take no seconds of the search whenever that is.
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])}
    run = subprocess.run([sys.executable, "-c", CASES], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    rows = [line.split(" | ") for line in run.stdout.splitlines()]
    assert len(rows) == 11
    for name, evaluations, late in rows:
        assert int(evaluations) >= 1000, name
        assert not late.strip(), name


@pytest.mark.compiled
def test_what_a_slot_loads_is_no_time_of_a_search() -> None:
    """Tests that a watch runs while a function is made for a slot, and counts no function that was only loaded."""
    seen = []
    with compiling() as watch:

        def made() -> int:
            seen.append(watch.active)
            return 7

        assert slots.Slot("fedsched.test", made, at_once=False).fill() == 7
    assert seen == [True]
    assert watch.seconds > 0
    assert not watch.active
    assert not watch.functions


def test_what_is_compiled_within_a_search_takes_none_of_its_seconds() -> None:
    """Tests that a run's seconds are those of a clock that knows what is compiled."""
    problem = SearchProblem(fs.Workload.example().head(5), fs.Federation.example(), Objectives(("makespan",)))
    compiled = Compilation()
    no_plans = np.zeros((0, problem.layout.length), dtype=np.int64)
    run = Run(problem, 0, [MaxSeconds(50.0)], np.ones(1), no_plans, np.zeros(1), cut_at=50.0)
    run.begin_clock(Clock(50.0, compiled))
    run._clock.spend(100.0)
    assert run.reason_to_stop() is not None
    compiled._before = 70.0  # of these, seconds of a compiler
    assert 30.0 <= run.seconds < 50.0
    assert run.reason_to_stop() is None
    assert not run.out_of_time
