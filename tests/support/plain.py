"""The kernels as plain Python: the parts that only kernels may call can be called one by one, with nothing compiled."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numba.core import config

import fedsched
from fedsched.engine.arrays.new_state import new_state
from fedsched.engine.codes import SameTime, Saturation, needs_of
from fedsched.engine.pack.problem import pack
from fedsched.engine.plans import plan_of_rules
from fedsched.model.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from fedsched.engine.arrays.structs import Plan, Problem, State

PACKAGE = Path(fedsched.__file__).parent
_PLAIN: dict[str, ModuleType] = {}  # modules of kernels that were imported while nothing was compiled


def files_with_kernels() -> list[Path]:
    """Return the files of the package that hold compiled functions."""
    decorated = re.compile(r"^@(kernel|part|step|inlined)$", re.MULTILINE)
    return [path for path in sorted(PACKAGE.rglob("*.py")) if decorated.search(path.read_text(encoding="utf-8"))]


KERNELS = [
    ".".join(["fedsched", *path.relative_to(PACKAGE).with_suffix("").parts]) for path in files_with_kernels()
]  # fmt: skip


def _bind(modules: dict[str, ModuleType], *, away: bool = False) -> None:
    # A module is known by its name, and as an attribute of its package.
    for name, module in modules.items():
        package, _, own = name.rpartition(".")
        if away:
            del sys.modules[name]
            delattr(sys.modules[package], own)
        else:
            sys.modules[name] = module
            setattr(sys.modules[package], own, module)


@contextmanager
def _not_compiled() -> Iterator[None]:
    compiled = {name: sys.modules[name] for name in KERNELS if name in sys.modules}
    _bind(compiled, away=True)
    _bind(_PLAIN)
    before, config.DISABLE_JIT = config.DISABLE_JIT, 1
    try:
        yield
    finally:
        config.DISABLE_JIT = before
        _PLAIN.update({name: sys.modules[name] for name in KERNELS if name in sys.modules})
        _bind(_PLAIN, away=True)
        _bind(compiled)


def plain(name: str) -> ModuleType:
    """Return a module of kernels in which nothing is compiled, nor in those that it imports."""
    with _not_compiled():
        module = import_module(name)
    left = [key for key, value in vars(module).items() if hasattr(value, "py_func")]
    assert not left, f"{name}: {left} are compiled; calling a part from Python would end the process"
    return module


def begun(
    workload: fedsched.Workload,
    federation: fedsched.Federation,
    *,
    caps: object = None,
    running: object = (),
    same_time: SameTime = SameTime.BATCH,
    saturation: Saturation = Saturation.DYNAMIC,
    t0: float | None = None,
    **rules: object,
) -> tuple[Problem, Plan, State]:
    """Return problem, plan and state of a run that has just begun: nothing queued yet."""
    reading = Reading(same_time=same_time.name.lower(), saturation=saturation.name.lower())
    problem = pack(workload, federation, reading=reading, t0=t0, running=running)
    plan = plan_of_rules(workload, federation, fedsched.Rules(**rules), problem, caps=caps)
    state = new_state(problem, needs=needs_of(plan.dispatch), separate_backfill=plan.separate_backfill)
    plain("fedsched.engine.loop.event_loop").begin(problem, plan, state)
    return problem, plan, state


def arrived(workload: fedsched.Workload, federation: fedsched.Federation, **options: object):
    """Return problem, plan and state at t0, the jobs of that instant queued and nothing started yet."""
    problem, plan, state = begun(workload, federation, **options)
    plain("fedsched.engine.loop.events").arrive_all(problem, plan, state)
    return problem, plan, state


def jobs(tasks: list[int], runtime: list[float], **columns: object) -> fedsched.Workload:
    """Return jobs that are all submitted at 0, if nothing else is said."""
    submit = columns.pop("submit", [0.0] * len(tasks))
    return fedsched.Workload(submit=submit, tasks=tasks, runtime=runtime, **columns)


def clusters(*groups: tuple[tuple[int, float], ...], uplinks: list[float] | None = None) -> fedsched.Federation:
    """Return a federation of clusters, each of groups of (nodes, speed); 200 W busy and 100 W idle."""
    return fedsched.Federation(
        tuple(
            fedsched.Cluster(
                f"c{k}",
                tuple(fedsched.NodeGroup(count, speed, 200.0, 100.0) for count, speed in group),
                1e9 if uplinks is None else uplinks[k],
            )
            for k, group in enumerate(groups)
        )
    )


def nodes_given(
    problem: Problem, plan: Plan, state: State, *, free: object = None, load: object = None, caps: object = None
) -> list[int] | None:
    """Return the nodes per group that the first job takes of those that are free, or None where it has to wait."""
    if caps is not None:
        plan = plan._replace(caps=np.array([caps]))
    free = np.array(problem.groups.nodes if free is None else free)
    load = np.zeros(problem.groups.uplink.size) if load is None else np.array(load)
    state.scratch.chosen[:] = 99  # what the job before has left there
    fits = plain("fedsched.engine.placement.node_choice").place(problem, plan, 0, free, load, state)
    return state.scratch.chosen.tolist() if fits else None
