"""The sums of runs that came to nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from support.plain import begun, jobs, plain

import fedsched as fs

lost = plain("fedsched.engine.optional_features.lost_runs")


def test_without_extras_nothing_is_lost() -> None:
    """A plain problem wastes nothing, until the beginning of time."""
    assert lost.reset(None) is None
    assert lost.wasted(None, np.zeros(0)).until == -np.inf
    assert lost.wasted(None, np.zeros(0)).seconds.size == 0
    assert (lost.wasted_node_seconds(None), lost.requeues(None)) == (0.0, 0.0)


def test_what_was_held_before_t0_does_not_count() -> None:
    """Node-seconds count from t0 on, by group; who was killed is not queued again."""
    calendar = (fs.Downtime("cluster", 5.0, 9.0, on_running="kill"),)
    four = replace(fs.Federation.homogeneous(4), calendar=calendar)
    problem, _, state = begun(replace(jobs([3, 1], [20.0, 20.0]), watts=[-1.0, 300.0]), four)
    state.start[:], state.counts[:, 0] = [-10.0, 2.0], [3, 1]
    lost.note_lost(state.extras, problem, state, 0, 5.0, False)
    lost.note_lost(state.extras, problem, state, 1, 5.0, True)
    assert lost.wasted(state.extras, state.load).seconds.tolist() == [3 * 5.0 + 1 * 3.0]
    assert lost.wasted(state.extras, state.load).until == 5.0
    assert lost.wasted(state.extras, state.load).more == 3.0 * (300.0 - four.groups[0].busy_watts)
    assert (lost.wasted_node_seconds(state.extras), lost.requeues(state.extras)) == (18.0, 1.0)
    lost.reset(state.extras)
    assert (lost.wasted_node_seconds(state.extras), lost.requeues(state.extras)) == (0.0, 0.0)
