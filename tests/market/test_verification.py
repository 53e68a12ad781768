"""What breaks a market's model: every assignment that methods make is accepted, each corrupted one refused by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedsched import market
from fedsched.core.errors import ScheduleError
from fedsched.market.codes import Figure


@pytest.fixture(scope="module")
def cycle() -> market.Assignment:
    """Return a cycle whose jobs all have windows."""
    domain, jobs = market.Domain(), market.Jobs(jobs=8)
    done = market.schedule(jobs.batch(3, domain=domain), domain.environment(3), method="backfilling")
    assert not done.failed
    return done


def remade(cycle: market.Assignment, start: list[float], nodes: list[list[int]]) -> market.Assignment:
    """Return the same batch with other windows."""
    return market.Assignment.of_windows(cycle.batch, cycle.environment, start, nodes)


def windows(cycle: market.Assignment) -> tuple[list[float], list[list[int]]]:
    """Return starts and nodes, to be changed."""
    return cycle.start.tolist(), [[node for node in row if node >= 0] for row in cycle.nodes.tolist()]


@pytest.mark.parametrize("method", ["css", "slicer", "backfilling", "bsf"])
def test_what_methods_make_is_accepted(method: str) -> None:
    """Tests that windows of each method keep to the model, at prices that change too, and can be made anew."""
    domain = market.Domain(prices=market.Hours(((0.0, 1.0), (300.0, 1.5))))
    for seed in range(4):
        jobs = market.Jobs(jobs=6, min_performance=(0.0, 4.0))
        done = market.schedule(jobs.batch(seed, domain=domain), domain.environment(seed), method=method)
        if done.failed:
            with pytest.raises(ScheduleError, match="it has no window"):
                done.verify()
            continue
        done.verify()
        again = remade(done, *windows(done))
        again.verify()
        assert again.figures == pytest.approx(done.figures)
        assert again.totals().cost == pytest.approx(done.totals().cost)


def test_what_breaks_the_model_is_said(cycle: market.Assignment) -> None:
    """Tests an earlier start, a swap, nodes twice, too few, too slow, too dear, too late, and other figures."""
    start, nodes = windows(cycle)
    last = int(np.argmax(start))
    with pytest.raises(ScheduleError, match="is not free from"):
        remade(cycle, [at - 1e6 for at in start], nodes).verify()
    same = [at if j != last else start[0] for j, at in enumerate(start)]
    with pytest.raises(ScheduleError, match=r"is not free from|which job .* has until|above its budget|each once"):
        remade(cycle, same, [nodes[0] if j == last else mine for j, mine in enumerate(nodes)]).verify()
    for wrong in (nodes[0][:-1], [nodes[0][0]] * len(nodes[0])):
        with pytest.raises(ScheduleError, match="each once"):
            remade(cycle, start, [wrong, *nodes[1:]]).verify()
    for field, value, said in (
        ("min_performance", 99.0, "has performance"), ("budget", 1.0, "above its budget"),
        ("deadline", 1.0, "after its deadline"),
    ):  # fmt: skip
        batch = (replace(cycle.batch[0], **{field: value}), *cycle.batch[1:])
        with pytest.raises(ScheduleError, match=said):
            market.Assignment.of_windows(batch, cycle.environment, start, nodes).verify()
    for figure in (Figure.RUNTIME, Figure.COST, Figure.CPU, Figure.ENERGY):
        figures = cycle.figures.copy()
        figures[0, figure] *= 0.99
        with pytest.raises(ScheduleError, match=f"its {figure.name.lower()} is given as"):
            replace(cycle, figures=figures).verify()


def test_two_jobs_on_one_node_are_refused() -> None:
    """Tests that windows that overlap on a node are named, and that those that only touch are not."""
    free = market.Slots(np.array([0]), np.array([0.0]), np.array([30.0]))
    one = market.Environment(slots=free, performance=[1.0], price=[1.0], interval=(0.0, 30.0))
    batch = [market.Request(nodes=1, length=10.0, name=name) for name in "ab"]
    market.Assignment.of_windows(batch, one, [0.0, 10.0], [[0], [0]]).verify()
    with pytest.raises(ScheduleError, match="Job b: it has node 0 from 9 on, which job a has until 10"):
        market.Assignment.of_windows(batch, one, [0.0, 9.0], [[0], [0]]).verify()
