"""What a page says of prices and carbon: the signals' own steps, and the metrics that come of them."""

from __future__ import annotations

import re
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.model.time.signal import MOST_DRAWN as MOST
from fedsched.report.plan_data import curves_of

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.model.schedule.schedule import Schedule

SUN = fs.Signal((0.0, 100.0, 300.0), (400.0, 80.0, 500.0), "g/kWh", "b", until=400.0, beyond="repeat")
WIND = fs.Signal((0.0,), (150.0,), "g/kWh", "a")
PRICE = fs.Signal((-50.0, 250.0), (60.0, -20.0), "EUR/MWh", beyond="last")


def priced(*signals: fs.Signal, runtime: float = 450.0) -> Schedule:
    """Return one job on two clusters whose power has these signals."""
    node = fs.NodeGroup(1, 1.0, 1e6, 2e5)
    log = fs.Workload(submit=[10.0], tasks=[2], runtime=[runtime])
    return fs.simulate(log, fs.Federation((fs.Cluster("a", (node,)), fs.Cluster("b", (node,))), signals=signals))


def test_curves_are_the_signals_own_steps_since_the_schedule_begins() -> None:
    """Tests that each begins at 0 with what holds then, repeats where it does, and ends with the schedule."""
    wind, sun, price = curves_of(priced(WIND, SUN, PRICE))
    assert (wind["cluster"], wind["at"], wind["value"]) == (0, [0.0], [150.0])
    assert (sun["cluster"], sun["kind"], sun["unit"]) == (1, "carbon", "g/kWh")
    assert sun["at"] == [0.0, 90.0, 290.0, 390.0]
    assert sun["value"] == [400.0, 80.0, 500.0, 400.0]
    assert (price["cluster"], price["at"], price["value"]) == (-1, [0.0, 240.0], [60.0, -20.0])


def test_curves_of_very_many_steps_are_drawn_by_means() -> None:
    """Tests that a page has no more steps of a signal than it can show, and the same mean over them."""
    rng = np.random.default_rng(3)
    fine = fs.Signal(tuple(range(9000)), tuple(rng.uniform(50.0, 500.0, 9000)), "g/kWh", beyond="last")
    schedule = priced(fine, runtime=8000.0)
    (found,) = curves_of(schedule)
    assert len(found["at"]) == len(found["value"]) == MOST  # type: ignore[arg-type]
    carbon = schedule.metrics().carbon
    assert 2e6 * 8000.0 / 3.6e9 * np.mean(found["value"]) == pytest.approx(carbon, rel=1e-9)  # type: ignore[arg-type]


def test_curves_that_come_again_for_ages_are_drawn_by_means() -> None:
    """Tests that a million periods are not listed: each of the curve's parts has their mean."""
    schedule = priced(fs.Signal((0.0, 5.0), (100.0, 300.0), "g/kWh", until=10.0, beyond="repeat"), runtime=1e7)
    tracemalloc.start()
    try:
        (found,) = curves_of(schedule)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert found["at"] == pytest.approx([5000.0 * k for k in range(MOST)])
    assert found["value"] == pytest.approx([200.0] * MOST)


@pytest.mark.compiled
def test_the_page_shows_signals_and_what_they_come_to(open_page: Any, tmp_path: Path) -> None:
    """Tests that lanes, words under the pointer and cards are those of the signals, but for own factors."""
    schedule = priced(SUN, WIND, PRICE)
    row = schedule.metrics()
    schedule.report(tmp_path / "signals.html")
    page = open_page(tmp_path / "signals.html")
    assert page.is_visible("#signals")
    cards = page.inner_text("#energy-cards").replace("\u00a0", " ")
    assert f"{row.cost:.2f} EUR" in cards
    assert f"{row.carbon:.4g} kg" in cards
    page.fill("#co2", "1")
    assert "at 1 kg per kWh" in page.inner_text("#energy-cards")
    page.locator("#signals").hover(position={"x": 400, "y": 20})
    page.wait_for_function("document.getElementById('signals-said').textContent.startsWith('at')")
    said = page.inner_text("#signals-said")
    assert re.fullmatch(r"at .+: b, carbon 80 g/kWh; a, carbon 150 g/kWh; price 60 EUR/MWh", said)


@pytest.mark.compiled
def test_pages_without_signals_have_no_strip_of_them(open_page: Any, tmp_path: Path) -> None:
    """Tests that nothing is drawn or said of what there is not."""
    priced().report(tmp_path / "plain.html")
    page = open_page(tmp_path / "plain.html")
    assert page.is_visible("#power")
    assert not page.is_visible("#signals")
    assert not page.is_visible("#signals-strip")
    assert "enter kg CO₂ per kWh above" in page.inner_text("#energy-cards")


@pytest.mark.compiled
def test_the_page_says_what_is_saved_at_equal_waits(open_page: Any, tmp_path: Path) -> None:
    """Tests that the least of the schedules whose jobs wait no longer is named, with the share that it takes less."""
    lean, hungry = (fs.NodeGroup(2, speed, watts, 10.0) for speed, watts in ((1.0, 50.0), (2.0, 200.0)))
    price = replace(PRICE, values=(60.0, 20.0))
    there = fs.Federation((fs.Cluster("lean", (lean,)), fs.Cluster("hungry", (hungry,))), signals=(price,))
    log = fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[50.0, 50.0])
    result = fs.optimize(
        log, there, objectives="energy", method="ga", evaluations=60, seed=1, submits="keep", baselines=("easy", "fcfs")
    )
    result.report(tmp_path / "waits.html")
    page = open_page(tmp_path / "waits.html")
    page.select_option("#shown-plan", label="easy")
    easy, best = fs.simulate(log, there, "easy").metrics(), result.best().metrics()
    assert (easy.mean_wait, best.mean_wait) == (0.0, 0.0)
    page.wait_for_selector("#energy-plan:text-is('easy')")
    said = page.inner_text("#energy-said").replace("\u00a0", " ")
    assert easy.energy > best.energy
    assert f"take {1 - best.energy / easy.energy:.1%} less energy (best plan)" in said.replace(" %", "%")
