"""Foreign text is seen, never obeyed: hostile names through every reader, noun and picture."""

from __future__ import annotations

import ast
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import hostile
from support.tiers import some

import fedsched as fs
from fedsched import market as markets
from fedsched.bench.standing import Standing
from fedsched.comparison.record import Comparison, RunRecord
from fedsched.comparison.statistics import Pair, Pairs
from fedsched.comparison.table import Row, Table
from fedsched.core import text
from fedsched.core.errors import FedschedError, FieldError, TraceError
from fedsched.gang import GangSystem
from fedsched.gang import simulate as gang_simulate
from fedsched.io.fetch import Fetched
from fedsched.io.slurm_files.slurm_conf import SlurmConf
from fedsched.model.jobs.demands import PoolNeeds
from fedsched.model.jobs.labels import Labels
from fedsched.model.jobs.workload import Workload
from fedsched.model.machine.federation import Cluster, Federation, NodeGroup, Pool
from fedsched.model.schedule.node_use import NodeUse
from fedsched.model.schedule.schedule import Schedule
from fedsched.optimize.result.record import Baseline, Front, PlannedQueue, Result, Settings
from fedsched.optimize.shifting import Shift, Shifts
from fedsched.plot import attainment, convergence, cycle, gantt, load, pareto, profile, ranks, style, surface
from fedsched.plot import result as result_plots
from fedsched.policies import Rules
from fedsched.report import of_schedules, write
from fedsched.search.run.run import Moment
from fedsched.site.tuning.record import Tuned, Tuning
from fedsched.slurm import Slurm
from fedsched.study.record import Outcome, Study

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Path(fs.__file__).parent
names = pytest.mark.parametrize("name", hostile.EVERY.values(), ids=hostile.EVERY)
# Those that break what is drawn or marked up; a picture takes half a second.
SHOWN = ("colour", "zero", "no character", "script", "image", "formula", "private", "long", "half")
shown_names = pytest.mark.parametrize("name", [hostile.EVERY[key] for key in SHOWN], ids=SHOWN)


def workload(name: str) -> Workload:
    """Return jobs of a log and a site of that name."""
    site = "of " + re.sub(r"[\r\n|]", " ", name).strip()  # never a cluster's name, whatever was put in its place
    return Workload(
        submit=[0, 1, 2],
        tasks=[1, 2, 1],
        runtime=[10, 5, 7],
        sites=[site, "other"],
        origin=[0, 1, 0],
        name=name,
        nodes=3,
    )


def federation(name: str) -> Federation:
    """Return two clusters, one of that name, with a contended uplink."""
    groups = (NodeGroup(2, name=name),)
    return Federation((Cluster(name, groups, 1e6), Cluster("other", (NodeGroup(1),))), name=name, description=name)


def plan(name: str) -> Schedule:
    """Return a schedule whose every text is that name."""
    return Schedule(
        workload=workload(name), federation=federation(name), start=[0, 10, 1], finish=[10, 15, 8],  # type: ignore[arg-type]
        counts=[[1, 0], [1, 1], [0, 1]], t0=0.0, policy=name, notes=(name,),  # type: ignore[arg-type]
    )  # fmt: skip


def node_use(name: str) -> NodeUse:
    """Return what its jobs used on each node."""
    schedule = plan(name)
    return NodeUse(
        workload=schedule.workload, federation=schedule.federation, start=schedule.start, finish=schedule.finish,
        alone=[False] * 3, job=[0, 1, 1, 2], node=[0, 0, 1, 2], tasks=[1, 1, 1, 1],  # type: ignore[arg-type]
    )  # fmt: skip


def result(name: str) -> Result:
    """Return a search's result on it."""
    objectives = ("makespan", "energy")
    plans = (PlannedQueue(policy="easy"), PlannedQueue(schedule=plan(name)))
    return Result(
        workload=workload(name), federation=federation(name), settings=Settings(), method=name, seed=1,
        objectives=objectives, weights=(1.0, 1.0), front=Front(objectives, np.array([[5.0, 9.0], [6.0, 8.0]]), plans),
        baselines=(Baseline(name, (8.0, 9.5)),), lower_bounds={"makespan": 4.5, "energy": 1.0},
        bound_front=np.array([[4.5, 7.0]]), energy_penalty=0.1, history=(Moment(4, 0.5, (5.0, 7.0), 0.25),),
        evaluations=8, seconds=0.5, stop_reason=name, versions={"fedsched": "1"},
    )  # fmt: skip


def run(name: str) -> RunRecord:
    """Return a run of a comparison with it."""
    return RunRecord(
        instance=name, fingerprint="f", method=name, seed=1, evaluations_allowed=5, seconds_allowed=None,
        objectives=("makespan",), baselines=("fcfs",), front=((1.0,),), bounds=(1.0,), error=name,
    )  # fmt: skip


def market(name: str) -> Any:
    """Return the windows of a job of that name, and of one that finds none."""
    batch = [
        markets.Request(nodes=1, length=10.0, name=name),
        markets.Request(nodes=1, length=90.0, deadline=1.0, name=name + "!"),
    ]
    return markets.schedule(batch, markets.Domain(nodes=6, interval=200.0).environment(1), method="backfilling")


def tuning(name: str) -> Tuning:
    """Return what a tuning found that changes a parameter to it."""
    conf = SlurmConf("slurm.conf", {"clustername": name}, {}, {}, {})
    one = Tuned(conf, {"bf_interval": name}, (1.0,), (0.0,))
    return Tuning(("mean_wait",), one, (one,), ("bf_interval",), 2, 0, (0,), 3, 0.5, notes=(name,))


def study(name: str) -> Study:
    """Return a study of a scenario of that name."""
    waits = np.zeros(2)
    base, other = (Outcome(one, name, name, 4, {"mean_wait": 0.0}, waits, np.nan) for one in ("what is", name))
    return Study(base, (other,), np.ones(2, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64), 7, 0, (name,))


PAIR = ("win", 1, 0, 0, 0.5, 0.5, 0.5, "", False)
# Every class that prints itself, with hostile names in whatever it prints; None: it prints numbers and our own words.
PRINTED: dict[str, Callable[[str], object] | None] = {
    "FedschedError": lambda name: TraceError(f"{name}: wrong."),
    "FieldError": lambda name: FieldError("{nodes}={} is wrong.", name),
    "PoolNeeds": lambda name: PoolNeeds((name,), np.array([[1]])),
    "Labels": lambda name: Labels({name: np.array(["x"])}),
    "Limit": None,
    "Waits": None,
    "Dependencies": None,
    "Condition": None,
    "EarliestStarts": None,
    "JobAmounts": None,
    "Alternatives": None,
    "JobWatts": None,
    "Slack": None,
    "Shape": None,
    "Cancellations": None,
    "Hold": None,
    "Holds": None,
    "Nice": None,
    "Gear": None,
    "Feedback": None,
    "Sessions": None,
    "Workload": workload,
    "Federation": federation,
    "Pool": lambda name: Pool("lm", 2, name),
    "Schedule": plan,
    "NodeUse": node_use,
    "Slurm": lambda name: Slurm(SlurmConf("slurm.conf", {"clustername": name}, {}, {}, {})),
    "Result": result,
    "Front": lambda name: Front(("makespan",), np.array([[5.0]]), (PlannedQueue(policy=name),)),
    "PlannedQueue": lambda name: PlannedQueue(policy=name),
    "Rules": lambda name: Rules(name=name),
    "RunRecord": run,
    "Pair": lambda name: Pair(name, *PAIR),
    "Pairs": lambda name: Pairs(name, 0.05, 1, (Pair(name, *PAIR),)),
    "Table": lambda name: Table(name, (Row(name, name, 1, 0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, name, True),)),
    "Fetched": lambda name: Fetched(Path(name.replace("\0", "")), name, "0", 1, 1, "given"),
    "Assignment": market,
    "GangSchedule": lambda name: replace(
        gang_simulate(fs.Workload(submit=[0], tasks=[1], runtime=[1], name=name), GangSystem(processors=(2,))),
        notes=(name,),
    ),
    "Comparison": lambda name: Comparison((run(name),)),
    "Shifts": lambda name: Shifts(name, (Shift(name, 2.0, 1.0, 3.0),), (name,), (), workload(name), {}),
    "Tuned": lambda name: tuning(name).current,
    "Tuning": tuning,
    "Standing": lambda name: Standing("makespan", 5.0, 1, 4.0, name),
    "Study": study,
    "ListHeuristic": None,
    "Compilation": None,
    "Flow": None,
    "Rolling": None,
    "LowerBounds": None,
    "ExactAnswer": None,
    "Backfilling": None,
    "Bsf": None,
    "Slicer": None,
    "Budget": None,
    "Friedman": None,
    "CleaningReport": None,
    "Reading": None,
    "Recorded": None,
    "Interval": None,
    "Cleaning": None,
    "Slots": None,
    "Environment": None,
    "WallTime": None,
    "Command": None,
    "Document": None,
    "Verdict": None,
    "NodeSharing": None,
    "Timeout": None,
    "Reserve": None,
    "Planned": None,
    "Part": None,
}


def test_every_class_that_prints_itself_is_here() -> None:
    """Tests that no class is given a `__str__` or a `_repr_html_` without its turn in the tests below."""
    found = {
        node.name.removesuffix("Convenience")
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, ast.FunctionDef) and part.name in ("__str__", "_repr_html_")
    }
    assert found - PRINTED.keys() == set()


@names
@pytest.mark.parametrize("kind", [kind for kind, make in PRINTED.items() if make])
def test_nouns_print_names_that_do_nothing(kind: str, name: str) -> None:
    """Tests that what a noun prints, or shows of itself at a prompt, holds nothing that a terminal acts on."""
    noun = PRINTED[kind](name)  # type: ignore[misc]
    said = str(noun)
    assert hostile.acting(said, lines="\n") == []
    assert said.count("\n") == str(PRINTED[kind]("plain")).count("\n")  # type: ignore[misc]
    assert hostile.acting(repr(noun)) == []


@names
@pytest.mark.parametrize("kind", ["Schedule", "Result", "Front", "Comparison"])
def test_summaries_show_names_that_do_nothing(kind: str, name: str) -> None:
    """Tests that no name adds a line, or a sign that a terminal acts on, to a summary of at most five lines."""
    said = PRINTED[kind](name).summary()  # type: ignore[misc]
    assert hostile.acting(said, lines="\n") == []
    assert said.count("\n") == PRINTED[kind]("plain").summary().count("\n") < 5  # type: ignore[misc]


@names
@pytest.mark.parametrize("kind", ["Schedule", "Result", "Front", "Table"])
def test_notebooks_show_names_as_text(kind: str, name: str) -> None:
    """Tests that a name brings no tag, no handler and no control sign into a notebook, and is there to be read."""
    noun: Any = PRINTED[kind](name)  # type: ignore[misc]
    plain: Any = PRINTED[kind]("plain")  # type: ignore[misc]
    page, usual = hostile.Tags(noun._repr_html_()), hostile.Tags(plain._repr_html_())
    assert page.tags == usual.tags
    assert not page.handlers
    assert hostile.acting(noun._repr_html_()) == []
    assert text.one_line(name) in "".join(page.texts).replace("\n", r"\n").replace("\t", r"\t")


@shown_names
def test_a_report_shows_names_as_text(name: str, tmp_path: Path) -> None:
    """Tests that a page about hostile names has the tags of any other, and that its data stay data."""
    for what in (name, "plain"):
        write(of_schedules([plan(what)]), tmp_path / f"{len(what)}.html", title=what)
    page, usual = ((tmp_path / f"{len(what)}.html").read_text(encoding="utf-8") for what in (name, "plain"))
    assert hostile.Tags(page).tags == hostile.Tags(usual).tags
    assert not hostile.Tags(page).handlers
    assert hostile.acting(page) == []
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert data
    assert {cluster["name"] for cluster in json.loads(data[1])["clusters"]} == {text.terminal(name), "other"}


FRONTS = [np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[1.0, 3.0], [3.0, 1.0]])]
# Every module of pictures: what draws a figure with hostile names; None: it draws nothing of its own.
DRAWN: dict[str, Callable[[str], Any] | None] = {
    "gantt": lambda name: gantt.figure(plan(name)),
    "load": lambda name: (load.power(plan(name)).figure, load.saturated(plan(name)).figure),
    "attainment": lambda name: attainment.draw({name: FRONTS}, objectives=(name, "energy")).figure,
    "convergence": lambda name: (
        convergence.draw(
            {name: [((1, 2), (5.0, 4.0))], f"{name}2": [((1, 2), (5.0, 4.0)), ((1, 2), (5.0, 3.0))]}, value=name
        ).figure
    ),
    "cycle": lambda name: cycle.draw(market(name)).figure,
    "pareto": lambda name: pareto.draw({name: FRONTS[0]}, objectives=(name, "b"), baselines={name: [[4, 4]]}).figure,
    "profile": lambda name: profile.draw({name: [1.0, 2.0], "plain": [2.0, 1.0]}).figure,
    "ranks": lambda name: ranks.draw({name: 1.2, "plain": 2.4, "other": 2.5}, difference=0.5).figure,
    "result": lambda name: result_plots.draw_result(result(name)),
    "style": lambda name: style.dress(None or style.axes(), x=style.label_of(name), y="y").figure,
    "surface": None,
    "shading": None,
}


def test_every_module_of_pictures_is_here() -> None:
    """Tests that no module of pictures is added without its turn below."""
    modules = {path.stem for path in PACKAGE.glob("plot/*.py")} - {"__init__"}
    assert modules == DRAWN.keys()
    assert surface.__name__
    assert style.__name__


@shown_names
@pytest.mark.parametrize("module", some([module for module, draw in DRAWN.items() if draw], 5))
def test_pictures_hold_names_as_text(module: str, name: str, tmp_path: Path) -> None:
    """Tests that a name neither breaks a picture nor its XML, nor becomes a formula."""
    figures = DRAWN[module](name)  # type: ignore[misc]
    for figure in figures if isinstance(figures, tuple) else (figures,):
        style.save(figure, tmp_path / "a.svg")
        picture = (tmp_path / "a.svg").read_text(encoding="utf-8")
        ElementTree.fromstring(picture)
        assert hostile.acting(picture) == []


def test_a_private_name_is_in_the_legend() -> None:
    """Tests that matplotlib's rule for labels that begin with _ does not take a site out of a legend."""
    axes = pareto.draw({"_hidden": FRONTS[0]}, objectives=("a", "b"))
    assert [entry.get_text() for entry in axes.get_legend().get_texts()] == [" _hidden"]


def test_dollars_are_dollars() -> None:
    """Tests that a name with dollars is drawn as it is, none of it as a formula and with no backslash added."""
    axes = pareto.draw({r"$a$ \$": FRONTS[0]}, objectives=("a", "b"))
    (entry,) = axes.get_legend().get_texts()
    shown, formula = entry._preprocess_math(entry.get_text())
    assert (shown, formula) == (r"$a$ \$", False)


@given(st.text(st.characters(codec=None)))
def test_what_leaves_acts_on_nothing(any_text: str) -> None:
    """Tests of any text at all that nothing in it acts, and that text which does not act stays as it is."""
    assert hostile.acting(text.terminal(any_text)) == []
    assert hostile.acting(text.one_line(any_text), lines="") == []
    page = hostile.Tags(f'<p title="{text.html(any_text)}">{text.html(any_text)}</p>')
    assert page.tags == ["p"]
    assert "".join(page.texts) == text.terminal(any_text)
    if not hostile.acting(any_text):
        assert text.terminal(any_text) == any_text
    ElementTree.fromstring(f"<a>{text.html(any_text)}</a>")


def test_every_sign_acts_or_stays() -> None:
    """Tests of each sign there is that it is spelled out where it acts, and left alone where it does not."""
    wrong = [
        hex(point)
        for point, sign in enumerate(map(chr, range(sys.maxunicode + 1)))
        if (text.terminal(sign) == sign) != (hostile.acting(sign) == [])
    ]
    assert wrong == []


def test_letters_of_all_scripts_stay() -> None:
    """Tests that names in the world's scripts, with the joiners that these need, are left alone."""
    for name in ("Zürich", "Ångström", "東京", "مشهد", "می\u200cخواهم", "ක්\u200dෂ", "é́", "👩\u200d🔬", "a b·c"):
        assert text.one_line(name) == name


def test_errors_are_one_line() -> None:
    """Tests that every error of ours prints on one line, whatever it quotes."""
    for kind in FedschedError.__subclasses__():
        assert str(kind("a\nb\x1b[2J")) == r"a\nb\x1b[2J"


@pytest.mark.deep
def test_names_leave_by_one_door() -> None:
    """Tests that only the one module escapes HTML, and that only the command line's one function prints."""
    printing, escaping = set(), set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = path.relative_to(PACKAGE).as_posix()
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                printing.add(name)
            if isinstance(node, ast.Import | ast.ImportFrom):
                imported = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                if "html" in imported and not str(getattr(node, "module", None)).startswith("fedsched."):
                    escaping.add(name)
    # The latter moves a line of its own words.
    assert printing == {"cli/shared/input_output.py", "cli/shared/compile_progress.py"}
    assert escaping == {"core/text.py"}
