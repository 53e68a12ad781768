"""The environment generator: distributions as the paper states them, every one a parameter."""

from __future__ import annotations

import numpy as np
import pytest

from fedsched.core.errors import UnknownNameError
from fedsched.market import Domain, Jobs, Pricing


def test_domains_follow_the_paper() -> None:
    """Performance is uniform, the load's mean and spread are those of the hypergeometric shares, tasks are short."""
    domains = [Domain().environment(seed) for seed in range(200)]
    performance = np.concatenate([domain.performance for domain in domains])
    assert performance.min() >= 2
    assert performance.max() <= 10
    assert performance.mean() == pytest.approx(6.0, abs=0.15)
    loads = np.concatenate(
        [
            1 - np.bincount(domain.slots.node, weights=domain.slots.length, minlength=24) / 600.0
            for domain in domains
        ]
    )  # fmt: skip
    assert loads.min() >= 0.1
    assert loads.max() <= 0.5
    assert loads.mean() == pytest.approx(0.3, abs=0.005)
    # H/20 has the variance (1/4)(20/39)/20 of the hypergeometric distribution.
    assert loads.std() == pytest.approx(0.4 * np.sqrt(0.25 * 20 / 39 / 20), rel=0.05)
    assert all(domain.interval == (0.0, 600.0) and domain.reference == 2.0 for domain in domains)


def test_prices_follow_the_market() -> None:
    """A price is the market's times 1 + δ, δ normal within ±clip; without deviation it is the market's."""
    domain = Domain(nodes=5000)
    environment = domain.environment(1)
    extra = environment.price / domain.pricing.of(environment.performance) - 1
    assert np.abs(extra).max() <= 0.6
    assert extra.mean() == pytest.approx(0.0, abs=0.01)
    assert extra.std() == pytest.approx(0.2, abs=0.01)
    assert Pricing().of(np.array([6.0])).tolist() == pytest.approx([6.6])
    exact = Domain(nodes=3, pricing=Pricing(deviation=0.0)).environment(1)
    np.testing.assert_array_equal(exact.price, Pricing().of(exact.performance))
    far = Pricing(deviation=2.0, clip=0.5).of(np.full(1000, 6.0), np.random.default_rng(1)) / 6.6 - 1
    assert np.abs(far).max() <= 0.5


def test_every_number_is_a_parameter() -> None:
    """Another size, interval, load, task length and power are what the environment has."""
    domain = Domain(nodes=7, interval=90.0, busy=(0.0, 0.0), performance=(3.0, 3.0), watts=50.0)
    environment = domain.environment(4)
    assert environment.load == pytest.approx(0.0)
    assert len(environment) == 7
    assert environment.interval == (0.0, 90.0)
    assert environment.performance.tolist() == [3.0] * 7
    assert environment.watts.tolist() == [50.0] * 7
    full = Domain(nodes=3, busy=(1.0, 1.0)).environment(4)
    assert full.load == pytest.approx(1.0)
    long = Domain(nodes=50, local=(100.0, 100.0), busy=(0.5, 0.5)).environment(1).busy
    assert np.allclose(np.bincount(long.node, weights=long.end - long.start), 300.0)


def test_batches_follow_the_paper() -> None:
    """Tasks, lengths and budgets lie in their ranges; the criteria come up alike."""
    batches = [Jobs().batch(seed) for seed in range(100)]
    every = [request for batch in batches for request in batch]
    assert len(every) == 2000
    assert {request.nodes for request in every} == {2, 3, 4, 5}
    assert all(100 <= request.length <= 200 for request in every)
    shares = np.array([request.budget / (request.nodes * request.length * 2.2) for request in every])
    assert shares.min() >= 0.9
    assert shares.max() <= 1.6
    counts = np.unique([request.criterion for request in every], return_counts=True)[1]
    assert len(counts) == 4
    assert counts.min() > 440


def test_same_seed_same_cycle() -> None:
    """A seed names one domain and one batch; another seed another one."""
    assert Jobs().batch(3) == Jobs().batch(3) != Jobs().batch(4)
    assert Domain().environment(3).slots == Domain().environment(3).slots
    assert Domain().environment(3).slots != Domain().environment(4).slots


@pytest.mark.parametrize(
    ("noun", "options", "message"),
    [
        (Domain, {"nodes": 0}, "nodes=0 must be at least 1"),
        (Domain, {"performance": (0.0, 1.0)}, "must be two finite values above 0, in order"),
        (Domain, {"local": (5.0, 1.0)}, "local"),
        (Domain, {"busy": (0.2, 1.2)}, "busy"),
        (Domain, {"interval": 0.0}, "interval"),
        (Domain, {"draws": 50}, "must lie between 1 and 2·good = 40"),
        (Domain, {"watts": -1.0}, "watts"),
        (Pricing, {"level": 0.0}, "level"),
        (Pricing, {"clip": 1.5}, "clip=1.5 must be at most 1"),
        (Pricing, {"deviation": -0.1}, "deviation"),
        (Jobs, {"jobs": 0}, "jobs=0"),
        (Jobs, {"nodes": (3, 2)}, "nodes"),
        (Jobs, {"length": (0.0, 2.0)}, "length"),
        (Jobs, {"budget": (2.0, 1.0)}, "budget"),
        (Jobs, {"criteria": ()}, "criteria is empty"),
    ],
)
def test_senseless_parameters_are_refused(noun: type, options: dict[str, object], message: str) -> None:
    """The error names noun, field, value and rule."""
    with pytest.raises(ValueError, match=message):
        noun(**options)
    with pytest.raises(UnknownNameError, match="Did you mean 'min_cost'"):
        Jobs(criteria=("min_costs",))


@pytest.mark.parametrize("share", [1.0, 0.999999])
def test_owners_may_take_all_the_time(share: float) -> None:
    """Without gaps one local task begins where the last one ended, to the last bit, and nothing is free."""
    for seed in range(20):
        environment = Domain(busy=(share, 1.0)).environment(seed)
        assert environment.load == pytest.approx(1.0, abs=1e-5)


def test_a_budget_that_is_drawn_is_finite() -> None:
    """No uniform draw reaches to infinity, and the error says so."""
    with pytest.raises(ValueError, match="budget"):
        Jobs(budget=(1.0, np.inf))
