"""The plain references' domains and requests as the package's, and small random ones."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import market_naive as naive
import numpy as np

from fedsched import market

if TYPE_CHECKING:
    from collections.abc import Sequence


def environment_of(domain: naive.Domain) -> market.Environment:
    """Return the package's environment."""
    start, node, end = zip(*domain.slots, strict=True)
    return market.Environment(
        slots=market.Slots(np.array(node), np.array(start), np.array(end)),
        performance=domain.performance,
        price=domain.price,
        watts=domain.watts,
        reference=domain.reference,
    )


def request_of(ask: naive.Ask) -> market.Request:
    """Return the package's request."""
    return market.Request(
        nodes=ask.m,
        length=ask.length,
        budget=ask.budget,
        deadline=ask.deadline,
        min_performance=ask.least,
        criterion=ask.criterion,
    )


def batch_of(asks: Sequence[naive.Ask]) -> list[market.Request]:
    """Return the package's batch."""
    return [request_of(ask) for ask in asks]


def cases(count: int, *, nodes: int = 6) -> list[tuple[naive.Domain, naive.Ask]]:
    """Return small random slot lists and requests."""
    made = []
    for seed in range(count):
        rng = random.Random(seed)
        size = rng.randrange(2, nodes + 1)
        made.append((naive.random_domain(rng, size), naive.random_ask(rng, size)))
    return made
