"""No page is cut: on any screen everything lies within what holds it, and the focus is never lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.report_cases import all_drawn
from support.report_pages import BARE, WRITTEN

from fedsched.optimize.result import Front

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fedsched.optimize.result import Result

pytestmark = pytest.mark.compiled
WIDTHS = (1440, 1024, 600, 390)
# What reaches beyond its parent, and what scrolls across; what a scrolling element holds may be wider than it.
CUT = """() => {
  const found = [];
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) found.push("the page");
  for (const one of document.querySelectorAll("body *")) {
    const box = one.getBoundingClientRect();
    if (!box.width || one.closest(".hidden") || one.parentElement.closest("svg, .scroll, pre, table")) continue;
    const holder = one.parentElement.getBoundingClientRect();
    const name = `${one.tagName}#${one.id}.${one.className}`;
    if (box.right > holder.right + 1.5 || box.left < holder.left - 25) found.push(name);
  }
  return found;
}"""
# Words of drawings that reach beyond them: what is there is not shown.
UNSHOWN = """() => [...document.querySelectorAll("svg text")].filter((one) => {
  const [words, drawing] = [one, one.ownerSVGElement].map((it) => it.getBoundingClientRect());
  return words.width && drawing.width && (words.left < drawing.left - 1.5 || words.right > drawing.right + 1.5);
}).map((one) => one.textContent)"""
SCROLLED = """() => [...document.querySelectorAll(".scroll, nav")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => [one.ariaLabel, one.tabIndex, getComputedStyle(one).backgroundImage,
    getComputedStyle(one).backgroundSize.split(", ").map(parseFloat)])"""
# Words and numbers in tables that are broken in two.
BROKEN = """() => {
  const found = [], range = document.createRange();
  for (const cell of document.querySelectorAll("th, td")) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      for (const word of text.data.matchAll(/[^\\s\\-–/+]{2,24}/g)) {
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const tops = [...range.getClientRects()].map((box) => box.top);
        if (Math.max(...tops) - Math.min(...tops) > 8) found.push(word[0]);
      }
    }
  }
  return found;
}"""


@pytest.fixture(scope="module")
def kinds(pages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a page of each kind, of names and numbers that are long."""
    folder = tmp_path_factory.mktemp("kinds")
    for name, written in WRITTEN.items():
        written(folder / f"{name}.html")
    return pages | {name: folder / f"{name}.html" for name in WRITTEN}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["result", "many", *WRITTEN])
def test_nothing_is_wider_than_what_holds_it(
    open_page: Callable[..., Any], kinds: dict[str, Path], kind: str, width: int
) -> None:
    """Tests that all lies within its holder, on a desk without scrolling across, elsewhere with a sign that it can."""
    view = open_page(kinds[kind], viewport={"width": width, "height": 800}, drawn=kind not in BARE)
    view.evaluate("() => { for (const one of document.querySelectorAll('details')) one.open = true; }")
    if view.query_selector("#jobs"):
        view.wait_for_selector("#job-rows tr")
    all_drawn(view)
    assert view.evaluate(CUT) == []
    assert view.evaluate(UNSHOWN) == []
    scrolled = view.evaluate(SCROLLED)
    assert width < 1024 or not scrolled
    for label, index, background, (cover, shadow) in scrolled:
        assert label
        assert index == 0
        assert background.count("gradient") == 2
        assert cover <= shadow  # else it hides the shadow of what is a little too wide
    assert view.evaluate(BROKEN) == []


def test_the_focus_is_never_lost(open_page: Callable[..., Any]) -> None:
    """Tests that from the front to the end of the page each Tab leads to an element, and none is replaced under it."""
    view = open_page("result")
    view.focus(".point[aria-selected=true]")
    reached = []
    for _ in range(30):
        view.keyboard.press("Tab")
        reached.append(view.evaluate("document.activeElement.id || document.activeElement.tagName"))
        if reached[-1] == "gantt":
            break
    assert reached[-1] == "gantt"
    assert reached[0] == "A"
    assert "BODY" not in reached
    view.click("#jobs summary")
    view.wait_for_selector("#job-rows tr")
    view.focus("#jobs-after")
    view.keyboard.press("Enter")
    assert view.is_disabled("#jobs-after")
    assert view.evaluate("document.activeElement.id") == "jobs-before"


@pytest.fixture
def narrow(result: Result) -> Result:
    """Return a result of 23 plans that are alike, far from every policy."""
    best, step = result.front.values.min(axis=0), np.linspace(0, 1, 23)
    values = np.stack([best[0] * (1 + 0.01 * step**2), best[1] * (1 + 0.008 * (1 - step) ** 2)], axis=1)
    baselines = tuple(
        replace(one, values=(best[0] * (1.3 + 0.1 * k), best[1] * (1.2 + 0.05 * k)))
        for k, one in enumerate(result.baselines)
    )
    front = Front(("makespan", "energy"), values, (result.front.plans[0],) * 23)
    return replace(result, front=front, baselines=baselines)


def test_a_narrow_front_fills_its_picture(open_page: Callable[..., Any], narrow: Result, tmp_path: Path) -> None:
    """Tests that plans which differ little take most of the axes, and the policies stand in an inset, to be chosen."""
    narrow.report(tmp_path / "narrow.html")
    view = open_page(tmp_path / "narrow.html")
    places = [dot.bounding_box() for dot in view.locator(".point.plan .dot").all()]
    box = view.locator("#front-chart svg").bounding_box()
    for at, size in (("x", "width"), ("y", "height")):
        assert max(one[at] for one in places) - min(one[at] for one in places) > 0.6 * box[size]
    assert view.locator(".point.baseline").count() == 3
    assert view.locator(".inset").count() == 1
    assert "inset shows the policies" in view.inner_text("#front-away")
    view.locator(".point.baseline:not(.fixed) .dot").first.click()
    view.wait_for_function("() => document.querySelector('.point.baseline[aria-selected=true]') !== null")
    view.uncheck("#front-only")
    assert view.locator(".inset").count() == 0


def test_a_narrow_front_fills_its_drawing(narrow: Result) -> None:
    """Tests that the library's picture of a narrow front has the front's own axes, in hours and kWh, and an inset."""
    axes = narrow.plot().axes[0]
    values = narrow.front.values
    assert np.ptp(axes.get_xlim()) < 2 * np.ptp(values[:, 0])
    assert np.ptp(axes.get_ylim()) < 2 * np.ptp(values[:, 1])
    assert len(axes.child_axes) == 1
    assert axes.get_xlabel() == "makespan, h"
    assert axes.get_ylabel().startswith("energy, ")
    axes.figure.canvas.draw()
    shown = [text.get_text() for text in axes.get_xticklabels()]
    assert any(float(text) * 3600 == pytest.approx(values[:, 0].mean(), rel=0.02) for text in shown)
