"""The report in a real browser: drawn, pointed at, walked by keyboard, zoomed, printed, on a narrow screen."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.report_cases import all_drawn

import fedsched as fs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fedsched.model.schedule.schedule import Schedule
    from fedsched.optimize.result import Result

pytestmark = pytest.mark.compiled  # what the browser does is the same with and without the compiler
Open = Any  # (name of a report, or its path; options of the browser's context) -> the page


def picture(page: Any, canvas: str = "gantt") -> str:
    """Return what a canvas shows, once what was asked for is drawn."""
    all_drawn(page)
    return str(page.evaluate("(id) => document.getElementById(id).toDataURL()", canvas))


def window(page: Any) -> tuple[str, str]:
    """Return from when to when the Gantt chart shows, as its label says."""
    picture(page)
    found = re.search(r"from (.+) to (.+)$", page.get_attribute("#gantt", "aria-label"))
    assert found
    return found[1], found[2]


def shown(page: Any) -> str:
    """Return the name of the plan that is shown."""
    return str(page.evaluate("document.getElementById('shown-plan').selectedOptions[0].textContent"))


def choose(page: Any, act: Callable[[], None]) -> None:
    """Do something that shows another plan, and wait for it."""
    before = page.get_attribute("html", "data-shown")
    act()
    page.wait_for_function("(before) => document.documentElement.dataset.shown !== before", arg=before)


def test_a_click_shows_a_plans_schedule(open_page: Open, result: Result) -> None:
    """Tests that the front has a point a plan, and that a click on one draws that plan's Gantt chart."""
    page = open_page("result")
    assert page.locator(".point.plan").count() == len(result.front) >= 3
    assert page.locator(".curve").count() == 3
    before, name = picture(page), shown(page)
    index = page.locator(".point.plan[aria-selected=false]").last.get_attribute("data-index")
    other = page.locator(f".point[data-index='{index}']")
    choose(page, lambda: other.locator(".dot").click())
    assert shown(page) != name
    assert picture(page) != before
    assert other.get_attribute("aria-selected") == "true"
    assert page.get_attribute("html", "data-shown") == index
    assert shown(page) in page.inner_text("#readout")


def test_pointing_says_the_metrics(open_page: Open, result: Result) -> None:
    """Tests that a point under the pointer shows its plan's metrics, and away from it the shown plan's again."""
    page = open_page("result")
    index = page.locator(".point.plan[aria-selected=false]").first.get_attribute("data-index")
    point = page.locator(f".point[data-index='{index}']")
    label = point.get_attribute("aria-label").split(":")[0]
    point.locator(".dot").hover()
    assert label == page.inner_text("#readout h3")
    assert label in page.inner_text("#front-tip")
    makespan = result.front.values[int(index), 0]
    assert f"{makespan / 3600:.4g}\u00a0h" in page.inner_text("#readout")
    page.mouse.move(5, 5)
    assert page.inner_text("#readout h3") == shown(page)


def test_the_keyboard_alone_shows_a_plan(open_page: Open) -> None:
    """Tests that Tab reaches the front, arrow keys walk it, and Enter shows the plan, each with a visible focus."""
    page = open_page("result")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.getAttribute('role')"))
        if reached[-1] == "option":
            break
    assert reached[-1] == "option"
    before, name = picture(page), shown(page)
    page.keyboard.press("Home")
    key = "ArrowRight" if page.evaluate("document.activeElement.getAttribute('aria-selected')") == "true" else "Home"
    page.keyboard.press(key)
    width = page.evaluate("getComputedStyle(document.activeElement.querySelector('.halo')).strokeWidth")
    assert float(width.removesuffix("px")) >= 3
    choose(page, lambda: page.keyboard.press("Enter"))
    assert shown(page) != name
    assert picture(page) != before
    while page.evaluate("document.activeElement.id") != "gantt":
        page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_baselines_can_be_looked_at(open_page: Open) -> None:
    """Tests that a policy beside the front is a plan that can be shown, from the list as from the table."""
    page = open_page("result")
    choose(page, lambda: page.select_option("#shown-plan", label="easy"))
    assert "easy" in page.inner_text("#shown-words")
    page.click("#front summary")
    choose(page, lambda: page.click("button[data-entry]:text-is('fcfs')"))
    assert shown(page) == "fcfs"


def test_zoom_and_pan_at_ten_thousand_jobs(open_page: Open) -> None:
    """Tests that wheel, keys, buttons and drag change the window of ten thousand jobs, and 0 gives all of it back."""
    page = open_page("many")
    everything, whole = picture(page), window(page)
    page.locator("#gantt").scroll_into_view_if_needed()
    box = page.locator("#gantt").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.move(middle[0] + 3, middle[1])
    page.mouse.wheel(0, -600)
    page.wait_for_function("(text) => !document.getElementById('gantt').getAttribute('aria-label').endsWith(text)",
                           arg=f"to {whole[1]}")  # fmt: skip
    wheeled = window(page)
    assert picture(page) != everything
    page.mouse.down()
    page.mouse.move(middle[0] - 200, middle[1], steps=4)
    page.mouse.up()
    dragged = window(page)
    assert dragged != wheeled
    page.focus("#gantt")
    page.keyboard.press("+")
    closer = window(page)
    page.keyboard.press("ArrowRight")
    assert len({whole, wheeled, dragged, closer, window(page)}) == 5
    tall = picture(page)
    page.click("#rows-in")
    assert picture(page) != tall
    page.keyboard.press("Tab")
    page.focus("#gantt")
    page.keyboard.press("0")
    page.mouse.move(5, 5)
    assert window(page) == whole


def test_a_page_scrolled_past_is_not_caught(open_page: Open) -> None:
    """Tests that the wheel scrolls the page over a Gantt chart that slid under a resting pointer."""
    page = open_page("many")
    whole = window(page)
    page.mouse.move(600, 880)
    for _ in range(4):
        page.mouse.wheel(0, 200)
        page.evaluate("() => new Promise((done) => setTimeout(done, 30))")
    assert page.evaluate("scrollY") > 300
    assert window(page) == whole


def test_jobs_are_named(open_page: Open, many_jobs: Schedule) -> None:
    """Tests that the job under the pointer, the next by key, and one found by its number are said."""
    page = open_page("many")
    page.fill("#find", "4321")
    page.press("#find", "Enter")
    start = many_jobs.start[4320]
    assert "Job 4321" in page.inner_text("#job-tip")
    assert f"starts at {start / 86400:.4g}\u00a0d" in page.inner_text("#job-tip")
    assert "Job 4321" in page.inner_text("#said")
    page.keyboard.press("n")
    assert "Job 4321" not in page.inner_text("#said")
    page.keyboard.press("p")
    assert "Job 4321" in page.inner_text("#said")
    page.keyboard.press("Escape")
    page.keyboard.press("0")
    box = page.locator("#gantt").bounding_box()
    page.mouse.move(box["x"] + 150, box["y"] + 60)
    assert page.inner_text("#job-tip").startswith("Job ")
    page.fill("#find", "99999")
    page.press("#find", "Enter")
    assert "no job 99999" in page.inner_text("#found")


def test_the_strips_say_what_is_under_the_pointer(open_page: Open) -> None:
    """Tests that watts and loads are said for the moment under the pointer, on whichever chart it is."""
    page = open_page("result")
    assert "mean" in page.inner_text("#power-said")
    for canvas in ("#power", "#loads", "#gantt"):
        page.locator(canvas).hover(position={"x": 400, "y": 20})
        picture(page)
        assert re.match(r"at .+: .+W \(north .+W, south .+W\)", page.inner_text("#power-said"))
        assert re.match(r"at .+: (north|south) .+%, (north|south) .+%", page.inner_text("#loads-said"))
        page.mouse.move(5, 5)
        picture(page)
        assert "mean" in page.inner_text("#power-said")


def test_the_jobs_are_a_table_too(open_page: Open) -> None:
    """Tests that the table beside the Gantt chart goes through the jobs by pages."""
    page = open_page("many")
    page.click("#jobs summary")
    page.wait_for_selector("#job-rows tr")
    assert page.locator("#job-rows tr").count() == 50
    assert "1 to 50 of 10,000" in page.inner_text("#jobs-caption")
    assert page.is_disabled("#jobs-before")
    page.click("#jobs-after")
    assert "51 to 100" in page.inner_text("#jobs-caption")


def test_energy_is_that_of_the_metrics(open_page: Open, result: Result) -> None:
    """Tests that the kWh drawn from the bars are those of the metric row, and price and CO2 follow the fields."""
    page = open_page("result")
    chosen = result.schedule(result.front.knee_index()).metrics()
    kwh = chosen.energy / 3.6e6
    assert page.input_value("#price") == "0.5"
    page.fill("#price", "1000")
    page.fill("#co2", "1000")
    price = page.inner_text("#energy-rows tr.total td:nth-child(9)")
    assert float(price.replace(",", "")) == pytest.approx(1000 * kwh, abs=1)
    assert f"{kwh:.4g}\u00a0t" in page.inner_text("#energy-rows tr.total td:nth-child(10)")
    busy = page.inner_text("#energy-rows tr.total td:nth-child(3)")
    assert busy == f"{100 * chosen.utilisation:.1f}\u00a0%"
    page.fill("#price", "")
    assert page.inner_text("#energy-rows tr.total td:nth-child(9)") == "–"


def test_saturation_is_that_of_the_pictures(open_page: Open, result: Result) -> None:
    """Tests that the seconds over an uplink's bandwidth are those that the library's own pictures show."""
    from fedsched.plot.load import saturations

    page = open_page("result")
    schedule = result.schedule(result.front.knee_index())
    cells = page.locator("#energy-rows tr:not(.total) td:last-child").all_inner_texts()
    for cell, row in zip(cells, saturations(schedule), strict=True):
        assert ("over for" in cell) == (row.seconds > 0)
        if row.seconds > 7200:
            assert f"over for {row.seconds / 3600:.4g}\u00a0h" in cell


def test_paper_shows_what_the_screen_hides(open_page: Open) -> None:
    """Tests that in print the tables are open and filled, controls gone, and a dark screen's charts drawn light."""
    page = open_page("result", color_scheme="dark")
    dark = picture(page)
    page.emulate_media(media="print")
    page.wait_for_selector("#job-rows tr")
    assert picture(page) != dark
    assert page.locator("#job-rows tr").count() == 60
    assert page.is_visible("#front table")
    assert page.is_visible("#progress table")
    assert not page.is_visible("nav")
    assert not page.is_visible("#find-form")
    corner = "() => [...document.getElementById('gantt').getContext('2d').getImageData(400, 4, 1, 1).data]"
    assert page.evaluate(corner)[3] > 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf(format="A4")) > 50_000
    page.emulate_media(media="screen")
    page.wait_for_function("() => !document.getElementById('jobs').open")


@pytest.mark.parametrize("name", ["result", "many"])
def test_a_narrow_screen_needs_no_scrolling_across(open_page: Open, name: str) -> None:
    """Tests that nothing is wider than the screen of a telephone."""
    page = open_page(name, viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.set_viewport_size({"width": 1000, "height": 740})
    page.wait_for_function("() => document.getElementById('gantt').clientWidth > 800")


def test_the_window_of_time_is_kept_across_plans(open_page: Open) -> None:
    """Tests that a plan chosen while all was shown is shown whole too, and while a part was shown, the same part."""
    page = open_page("result")
    names = [page.get_attribute(f"#shown-plan option >> nth={k}", "value") for k in (0, 1)]
    whole = window(page)
    choose(page, lambda: page.select_option("#shown-plan", label="fcfs"))
    assert window(page)[0] == "0\u00a0s"
    assert window(page)[1] != whole[1]
    page.click("#time-in")
    part = window(page)
    choose(page, lambda: page.select_option("#shown-plan", names[0]))
    assert window(page) == part


def test_names_cannot_do_anything(open_page: Open, hostile: Path) -> None:
    """Tests that markup in every name stays text, in the page's own elements as in what the script makes."""
    page = open_page(hostile)
    assert page.evaluate("window.harmed") is None
    assert "</script><script>" in page.inner_text("h1")
    assert page.locator("img").count() == 0
    assert "<img" in page.inner_text("#energy-rows")


def test_a_schedule_without_a_finished_job(open_page: Open, tmp_path: Path) -> None:
    """Tests that a run cut off before anything finished, of one cluster, makes a page that holds."""
    workload = fs.Workload(submit=[0.0], tasks=[1], runtime=[5.0])
    whole = fs.simulate(workload, fs.Federation.of(3))
    nothing = replace(whole, finish=np.array([np.nan]), notes=("interrupted",))
    nothing.report(tmp_path / "nothing.html")
    page = open_page(tmp_path / "nothing.html")
    page.click("#time-in")
    page.click("#jobs summary")
    assert "0 of 1 job" in page.inner_text(".lede")


def test_one_objective_is_drawn_as_bars(open_page: Open, result: Result, tmp_path: Path) -> None:
    """Tests that plans and policies of a single objective are bars, which are chosen like points."""
    front = replace(result.front, objectives=("energy",), values=result.front.values[-1:, 1:],
                    plans=result.front.plans[-1:])  # fmt: skip
    baselines = tuple(replace(one, values=one.values[1:]) for one in result.baselines)
    replace(result, objectives=("energy",), front=front, baselines=baselines, history=()).report(tmp_path / "one.html")
    page = open_page(tmp_path / "one.html")
    assert page.locator(".point .bar").count() == 4
    choose(page, lambda: page.locator(".point.baseline:not(.fixed) .bar").first.click())
    assert shown(page) in ("easy", "fcfs")


def test_without_scripts_the_tables_stand(open_page: Open) -> None:
    """Tests that where scripts are off the page says so and still has its tables."""
    page = open_page("result", java_script_enabled=False)
    assert "Scripts are off" in page.inner_text("main")
    assert "lower bound" in page.inner_text("#summary table >> nth=0")
    assert "fs.optimize" in page.inner_text("#repeat pre >> nth=0")
