"""The list of optional features: what each adds to a problem, and what plans of some jobs see of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.feature_parts import call_with
from support.plain import begun

import fedsched as fs
from fedsched.engine.arrays.structs import Extras
from fedsched.engine.pack.extras import PACKINGS, extras_of_jobs
from fedsched.engine.pack.problem import _flat
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from fedsched.engine.run.simulation import Simulation

# Field of Extras: features of jobs and machines (tests/support/feature_parts.py) that use it, and other fields in use.
USES = {
    "pools": (("pools",), ()),
    "precedence": (("conditions and begins",), ()),
    "calendar": (("downtimes",), ()),
    "limits": (("limits",), ()),
    "reserved": (("jobs in reservations",), ("calendar", "precedence")),
    "cancellations": (("cancellations",), ()),
    "holds": (("holds",), ("precedence",)),
    "moldable": (("shapes at submit",), ()),
    "tier": ((), ()),
    "saving": (("boots",), ()),
    "ceilings": (("power caps",), ()),
    "standing": (("uneven jobs",), ()),
}
PLANS_SEE = {"pools", "calendar", "tier", "saving", "ceilings", "standing"}
CLOSING = {"calendar", "tier", "standing"}  # kernels need not know more


def run_with(name: str) -> Simulation:
    """Return a run that uses the field of this name."""
    call = call_with(USES[name][0])
    if name == "tier":
        tiers = fs.Federation(call.machine.clusters, partitions=[fs.Partition("a", {"m": "all"}, tier=2)])
        call = replace(call, machine=tiers, jobs=replace(call.jobs, labels={"partition": ["a"] + [""] * 5}))
    return prepare(call.jobs, call.machine, "fcfs", alternatives=call.reading.alternatives, t0=0.0)


def in_use(extras: Extras) -> set[str]:
    """Return the names of the features that are in use."""
    return {name for name, packing in PACKINGS.items() if packing.entries(getattr(extras, name)).size}


def test_the_list_has_every_field() -> None:
    """In the order of the fields, which only the flag follows."""
    assert (*PACKINGS, "more") == Extras._fields
    assert list(USES) == list(PACKINGS)


def test_without_any_there_are_no_extras() -> None:
    """Plain problems have kernels of their own."""
    call = call_with(())
    problem, _, state = begun(call.jobs, call.machine)
    assert problem.extras is None
    assert extras_of_jobs(problem, state, np.array([0]), 0.0) is None


@pytest.mark.parametrize("name", PACKINGS)
def test_each_alone_is_in_use_and_no_other(name: str) -> None:
    """Kernels leave out all that only `more` tells of, and plans of some jobs all that they cannot see."""
    run = run_with(name)
    problem = run.problem
    assert problem.extras is not None
    used = {name, *USES[name][1]}
    assert in_use(problem.extras) == used
    assert problem.extras.more == (None if used <= CLOSING else 1)
    plans = extras_of_jobs(problem, run.state, np.array([3, 1]), 2.0)
    seen = used & PLANS_SEE
    assert (set() if plans is None else in_use(plans)) == seen
    if plans is not None:
        assert plans.more == (None if seen <= CLOSING else 1)


@pytest.mark.parametrize("name", PACKINGS)
def test_what_is_not_in_use_has_the_types_of_what_is(name: str) -> None:
    """Kernels are compiled once for both."""
    extras = run_with(name).problem.extras
    assert extras is not None
    used, nothing = (list(_flat((part,))) for part in (getattr(extras, name), PACKINGS[name].nothing))
    for some, none in zip(used, nothing, strict=True):
        assert (some.dtype, some.ndim, some.flags.writeable) == (none.dtype, none.ndim, none.flags.writeable)
        assert some.flags.c_contiguous
        assert none.flags.c_contiguous


def test_a_reservation_that_no_job_names_is_a_closure() -> None:
    """To all jobs."""
    kept = fs.Downtime("m", 2.0, 30.0, "0-1", kind="reservation", name="r")
    problem = begun(call_with(()).jobs, fs.Federation(call_with(()).machine.clusters, calendar=[kept]))[0]
    assert problem.extras is not None
    assert in_use(problem.extras) == {"calendar"}
