"""Another order and other caps for jobs that wait already."""

from __future__ import annotations

import numpy as np
from support.plain import arrived, clusters, jobs, plain

queues = plain("fedsched.engine.queue.queue_tree")
requeue = plain("fedsched.engine.optional_features.requeue")


def test_jobs_exchange_the_places_that_they_hold() -> None:
    """The jobs take these places in the order given, with the durations that their new caps allow; the rest stays."""
    problem, plan, state = arrived(
        jobs([3, 2, 1, 4], [8.0, 8.0, 8.0, 8.0]), clusters(((4, 4.0),), ((4, 1.0),)), dispatch="easy"
    )
    assert state.shortest.tolist() == [2.0] * 4
    plan = plan._replace(caps=np.array([[4, 4], [0, 4]]), cap_row=np.array([0, 0, 1, 0]))
    requeue.requeue(problem, plan, state, np.array([2, 0]), np.array([0, 2]))
    assert state.queue.order.tolist() == [2, 1, 0, 3]
    assert state.queue.position.tolist() == [2, 1, 0, 3]
    assert state.shortest.tolist() == [2.0, 2.0, 8.0, 2.0]
    assert queues.next_small(state.queue, 0, 2) == 0
    assert queues.next_small(state.queue, 1, 2) == 1
    assert queues.next_candidate(state.queue, 0, 4, 2.0, 0) == 1
