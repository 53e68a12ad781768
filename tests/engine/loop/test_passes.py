"""A pass over one queue: when there is nothing to go over."""

from __future__ import annotations

import pytest
from support.plain import plain

import fedsched as fs
from fedsched.engine.codes import Dispatch
from fedsched.engine.numbers import Counter
from fedsched.simulate import prepare

passes = plain("fedsched.engine.loop.passes")


@pytest.mark.parametrize("dispatch", list(Dispatch))
def test_nobody_is_looked_at_where_nothing_fits(dispatch: Dispatch) -> None:
    """But a conservative plan is kept."""
    log = fs.Workload(submit=[0], tasks=[2], runtime=[10])
    run = prepare(log, fs.Federation.homogeneous(2), fs.Rules(dispatch=dispatch.name.lower()))
    run.state.counter[Counter.QUEUED] = 0
    assert passes.may_start_some(run.plan, run.state) is (dispatch == Dispatch.CONSERVATIVE)
