"""What the report's tests look at: a small result made by hand, ten thousand jobs, and a browser where there is one."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.model.schedule.schedule import Schedule
from fedsched.optimize.result import Baseline, Front, PlannedQueue, Result, Settings
from fedsched.search.run.run import Moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Quiet: a browser that calls home would hide what the page itself asks for.
SWITCHES = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync")  # fmt: skip


def trade() -> fs.Federation:
    """Return two clusters between which speed and energy are traded."""
    fast = fs.NodeGroup(32, speed=2.0, busy_watts=900.0, idle_watts=5.0)
    slow = fs.NodeGroup(16, speed=1.0, busy_watts=80.0, idle_watts=5.0, name="old")
    slower = fs.NodeGroup(16, speed=0.8, busy_watts=70.0, idle_watts=5.0, name="older")
    return fs.Federation((fs.Cluster("north", (fast,), 1e9), fs.Cluster("south", (slow, slower), 2e7)), name="trade")


def result_of(workload: fs.Workload, federation: fs.Federation) -> Result:
    """Return a result as a search would make it, its plans being random orders that no other one beats."""
    rng = np.random.default_rng(7)
    found = []
    for k in range(24):
        order = rng.permutation(len(workload))
        placement = ("fastest", "efficient")[k % 2]
        rules = fs.Rules(order=order, dispatch="greedy", placement=placement)
        metrics = fs.simulate(workload, federation, rules, knowledge="runtime", t0=0.0).metrics()
        found.append(((metrics.makespan, metrics.energy), PlannedQueue(order=order, placement=placement)))
    found.sort(key=lambda one: one[0])
    front = [one for k, one in enumerate(found) if all(one[0][1] < other[0][1] for other in found[:k])]
    baselines = []
    for policy in ("fcfs", "easy", "sjf-greedy"):
        metrics = fs.simulate(workload, federation, policy, knowledge="runtime", t0=0.0).metrics()
        baselines.append(Baseline(policy, (metrics.makespan, metrics.energy)))
    values = np.array([value for value, _ in front])
    low = values.min(axis=0)
    return Result(
        workload=workload,
        federation=federation,
        settings=Settings(t0=0.0, evaluations=60),
        method="random",
        seed=7,
        objectives=("makespan", "energy"),
        weights=(0.5, 0.5),
        front=Front(("makespan", "energy"), values, tuple(plan for _, plan in front)),
        baselines=tuple(baselines),
        lower_bounds={"makespan": 0.9 * low[0], "energy": 0.95 * low[1]},
        bound_front=np.array([[0.9 * low[0], low[1]], [low[0], 0.95 * low[1]]]),
        energy_penalty=0.003,
        history=(Moment(10, 0.1, (1.3 * low[0], 1.2 * low[1]), 0.5), Moment(60, 0.4, tuple(low.tolist()), 0.7)),
        evaluations=60,
        seconds=0.4,
        stop_reason="60 evaluations",
        versions={"fedsched": "0.1.0", "python": "3.11.0"},
    )


@pytest.fixture(scope="session")
def result() -> Result:
    """Return a small result: sixty jobs that communicate and wait, where speed and energy are traded."""
    jobs = fs.Workload.example().head(60).with_communication(bandwidth=4e6, seed=1)
    names = ("id", "runtime", "compute_fraction", "task_bandwidth", "user")
    kept = {name: getattr(jobs, name) for name in names}
    waiting = fs.Workload(submit=np.zeros(60), tasks=np.minimum(jobs.tasks, 40), name="sixty", **kept)
    return result_of(waiting, trade())


@pytest.fixture(scope="session")
def many_jobs() -> Schedule:
    """Return a schedule of ten thousand jobs in lanes of four nodes, made without simulating."""
    jobs, lanes = 10_000, 40
    rng = np.random.default_rng(3)
    row = np.arange(jobs)
    start = (row // lanes) * 3600.0 + rng.integers(0, 600, jobs)
    runtime = rng.integers(60, 3000, jobs).astype(float)
    federation = fs.Federation.of(100, 60, name="two")
    counts = np.where((row % lanes < 25)[:, None], [4, 0], [0, 4])
    workload = fs.Workload(submit=np.zeros(jobs), tasks=np.full(jobs, 4), runtime=runtime, name="ten thousand")
    return Schedule(workload=workload, federation=federation, start=start, finish=start + runtime, counts=counts,
                    t0=0.0, policy="lanes")  # fmt: skip


@pytest.fixture(scope="session")
def executable() -> str:
    """Return the path of a Chromium; without one the tests are skipped, in CI they fail."""
    asked = os.environ.get("FEDSCHED_BROWSER", "")
    found = asked if asked not in ("", "none") else next(filter(None, map(shutil.which, BROWSERS)), "")
    if found and asked != "none":
        return found
    cure = "install one (on Debian and Ubuntu: apt-get install chromium), or give its path as FEDSCHED_BROWSER"
    reason = f"no Chromium here: {cure}"
    if os.environ.get("CI", "").lower() in ("1", "true") and asked != "none":
        pytest.fail(f"{reason}. In CI this is an error; FEDSCHED_BROWSER=none goes without.")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser(executable: str) -> Iterator[Any]:
    """Return a running browser without a window."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed: make test")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=executable, args=list(SWITCHES))
        yield running
        running.close()


@pytest.fixture(scope="session")
def pages(result: Result, many_jobs: Schedule, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the written reports by name."""
    folder = tmp_path_factory.mktemp("reports")
    result.report(folder / "result.html", price_per_kwh=0.5)
    many_jobs.report(folder / "many.html")
    return {name: folder / f"{name}.html" for name in ("result", "many")}


@pytest.fixture
def open_page(browser: Any, pages: dict[str, Path]) -> Iterator[Callable[..., Any]]:
    """Return what opens a report; at the end, nothing may have been said on the console or asked of a network."""
    contexts, complaints = [], []

    def opened(name: str | Path, *, drawn: bool = True, **options: Any) -> Any:
        context = browser.new_context(**({"viewport": {"width": 1200, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda asked: asked.url.startswith("file:") or complaints.append(f"asked for {asked.url}"))
        page.goto((pages[name] if isinstance(name, str) else name).as_uri())
        if drawn and options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-shown]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints


HARM = "<img src=x onerror=window.harmed=1>"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a workload, a federation and a policy whose names are markup."""
    name = f"<svg onload=window.harmed=1></svg></script><script>window.harmed=1;alert(1)</script>{HARM}"
    group = fs.NodeGroup(4, name=f"{HARM} group")
    clusters = fs.Cluster(f"{HARM} one", (group, group)), fs.Cluster(f"{HARM} two", (group,))
    federation = fs.Federation(clusters, name=name)
    workload = fs.Workload(submit=[0.0, 1.0], tasks=[9, 1], runtime=[5.0, 6.0], name=name, history=(name,))
    schedule = fs.simulate(workload, federation)
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    replace(schedule, policy=name, notes=(name,)).report(path)
    return path


@pytest.fixture
def power_said(open_page: Callable[..., Any], tmp_path: Path) -> Callable[..., str]:
    """Return what says a schedule's watts under the pointer on its page, where the mean is that of the metrics."""

    def said(schedule: Schedule, *, x: int) -> str:
        schedule.report(tmp_path / "power.html")
        page = open_page(tmp_path / "power.html")
        mean = schedule.metrics().energy / schedule.makespan
        assert f"mean {mean:.4g}\u00a0W" in page.inner_text("#power-said")
        page.locator("#power").hover(position={"x": x, "y": 20})
        page.wait_for_function("document.getElementById('power-said').textContent.startsWith('at')")
        return str(page.inner_text("#power-said"))

    return said
