"""The plain references' domains and requests as the package's, and small random ones."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
from reference import market_naive as naive

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
        tariff=tariff_of(domain),
    )


def tariff_of(domain: naive.Domain) -> market.Tariff | None:
    """Return the package's tariff; None where no price changes."""
    rows = [(node, since, price) for node, changes in domain.changes.items() for since, price in changes]
    if not rows:
        return None
    node, since, price = zip(*rows, strict=True)
    return market.Tariff(np.array(node), np.array(since), np.array(price))


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
