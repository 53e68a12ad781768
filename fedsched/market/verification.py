"""Find violations of the market's model in an assignment, from its windows alone, whatever method made it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from fedsched.market.codes import Figure
from fedsched.market.requests import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.market.assignment import Assignment

TOLERANCE = 1e-9  # relative tolerance of times and amounts


def violations(assignment: Assignment) -> Iterator[str]:
    """Yield a line for every violation of the model: jobs without a window, wrong nodes, times, costs and overlaps."""
    taken: dict[int, list[tuple[float, float, str]]] = {}
    for j in range(len(assignment)):
        yield from _window(assignment, j, taken)
    for node, spans in taken.items():
        for (_, end, one), (start, _, other) in pairwise(sorted(spans)):
            if start < end - TOLERANCE * max(1.0, end):
                yield f"Job {other}: it has node {node} from {start:.15g} on, which job {one} has until {end:.15g}."


def _window(assignment: Assignment, j: int, taken: dict[int, list[tuple[float, float, str]]]) -> Iterator[str]:
    # One job's slots: their number, that each lies in free time, and the figures that follow from them.
    environment, request, name = assignment.environment, assignment.batch[j], name_of(assignment.batch, j)
    if not assignment.scheduled[j]:
        yield f"Job {name}: it has no window."
        return
    start, nodes = float(assignment.start[j]), [node for node in assignment.nodes[j].tolist() if node >= 0]
    if len(nodes) != request.nodes or len(set(nodes)) != len(nodes) or max(nodes) >= len(environment):
        yield f"Job {name}: it asks for {request.nodes} nodes of {len(environment)}, each once, and has {nodes}."
        return
    lengths, cost, energy = [], 0.0, 0.0
    for node in nodes:
        performance = float(environment.performance[node])
        if performance < request.min_performance:
            yield f"Job {name}: node {node} has performance {performance:g}, below {request.min_performance:g}."
        length = request.length * environment.reference / performance
        end, slots = start + length, environment.slots
        slack = TOLERANCE * max(1.0, abs(end))
        free = (slots.node == node) & (slots.start <= start + slack) & (slots.end >= end - slack)
        if not free.any():
            yield f"Job {name}: node {node} is not free from {start:.15g} to {end:.15g}."
        if end > request.deadline + slack:
            yield f"Job {name}: it ends on node {node} at {end:.15g}, after its deadline of {request.deadline:g}."
        taken.setdefault(node, []).append((start, end, name))
        lengths.append(length)
        cost += float(environment.cost_of(node, start, length))
        energy += length * float(environment.watts[node])
    if cost > request.budget * (1 + TOLERANCE):
        yield f"Job {name}: its window costs {cost:.15g}, above its budget of {request.budget:.15g}."
    worth = {
        Figure.RUNTIME: max(lengths), Figure.COST: cost, Figure.CPU: sum(lengths), Figure.ENERGY: energy,
    }  # fmt: skip
    for figure, value in worth.items():
        given = float(assignment.figures[j, figure])
        if not abs(given - value) <= TOLERANCE * max(1.0, abs(value)):
            yield f"Job {name}: its {figure.name.lower()} is given as {given:.15g}, but its slots make it {value:.15g}."
