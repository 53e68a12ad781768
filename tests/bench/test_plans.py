"""Best known plans: each is replayed and accepted, each corrupted one refused, and a better one is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.tiers import some

import fedsched as fs
from fedsched.bench import load, names
from fedsched.bench.catalogue import PLANTED, planted_name, planted_pieces
from fedsched.bench.gangs import GangDocument
from fedsched.bench.plans import FOLDER, Plan, PlanError, judged, read_plan, replaced
from fedsched.bench.sharing import PLANTED as PLANTED_CORES
from fedsched.bench.sharing import planted_pieces as planted_cores
from fedsched.bench.standing import checked, standings
from fedsched.core.errors import FedschedError, ScheduleError
from fedsched.engine.sharing.result import SharedSchedule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = sorted(FOLDER.glob("*.json"))
STUDIES = [path for path in FILES if path.name.startswith(("market-", "gang-"))]
SCHEDULES = [path for path in FILES if path not in STUDIES]


def saved(data: dict[str, Any], folder: Path) -> Path:
    """Return a file that holds this."""
    path = folder / "plan.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_best_known_plan_is_accepted(path: Path) -> None:
    """Tests that each file is named as its ask, and has the values that it claims when it is replayed."""
    plan = read_plan(path)
    assert plan.file_name == path.name
    assert plan.text() == path.read_text()
    assert not judged(plan).is_new_best


def test_plans_are_of_what_is_asked() -> None:
    """Tests that there is a plan of each thing that is asked, and of nothing else."""
    wanted = {f"{name}.{ask}.json" for name in names() for ask in load(name).asks}
    assert {path.name for path in FILES} == wanted


def later(plan: dict[str, Any], row: int) -> None:
    plan["start"][row] -= 1


def swapped(plan: dict[str, Any], row: int) -> None:
    other = next(k for k, at in enumerate(plan["start"]) if at != plan["start"][row])
    plan["start"][row], plan["start"][other] = plan["start"][other], plan["start"][row]


def shifted(plan: dict[str, Any], row: int) -> None:
    plan["start"][row] -= 1
    plan["finish"][row] -= 1


def widened(plan: dict[str, Any], row: int) -> None:
    parts = [part.split(":") for part in plan["nodes"][row].split("+")]
    plan["nodes"][row] = f"{parts[0][0]}:{sum(int(count) for _, count in parts) + 1}"


def moved(plan: dict[str, Any], row: int) -> None:
    plan["nodes"][row] = "0:1000000"


def shortened(plan: dict[str, Any], row: int) -> None:
    plan["finish"][row] = plan["start"][row] + 1


def praised(plan: dict[str, Any], row: int) -> None:
    plan["values"][0] *= 0.999


@pytest.mark.parametrize("path", some(SCHEDULES, 3), ids=lambda path: path.stem)
@pytest.mark.parametrize("spoil", [later, swapped, widened, moved, shortened, praised], ids=lambda one: one.__name__)
def test_every_corrupted_plan_is_refused(path: Path, spoil: Callable[..., None], tmp_path: Path) -> None:
    """Tests that an earlier start, a swap, other nodes, a shorter run and a better value are refused of every plan."""
    data = json.loads(path.read_text())
    plan = data["plans"][-1]
    spoil(plan, int(np.argmax(plan["start"])))
    with pytest.raises(PlanError):
        read_plan(saved(data, tmp_path))


def before(plan: dict[str, Any], row: int) -> None:
    plan["start"][row] = -1


def crowded(plan: dict[str, Any], row: int) -> None:
    plan["nodes"][row] = plan["nodes"][row - 1]
    plan["start"][row] = plan["start"][row - 1]


def twice(plan: dict[str, Any], row: int) -> None:
    plan["nodes"][row] = "+".join([plan["nodes"][row].split("+")[0]] * len(plan["nodes"][row].split("+")))


def fewer(plan: dict[str, Any], row: int) -> None:
    plan["nodes"][row] = plan["nodes"][row].rpartition("+")[0]


def counted(plan: dict[str, Any], row: int) -> None:
    plan["nodes"][row] = "0:1+1:1"


@pytest.mark.parametrize("path", [path for path in STUDIES if "market" in path.name], ids=lambda path: path.stem)
@pytest.mark.parametrize("spoil", [before, crowded, twice, fewer, counted, praised], ids=lambda one: one.__name__)
def test_every_corrupted_cycle_is_refused(path: Path, spoil: Callable[..., None], tmp_path: Path) -> None:
    """Tests that windows out of free time, on another job's nodes, on a node twice or on too few are refused."""
    data = json.loads(path.read_text())
    plan = data["plans"][-1]
    spoil(plan, int(np.argmax(plan["start"])))
    with pytest.raises(PlanError):
        read_plan(saved(data, tmp_path))


@pytest.mark.parametrize("path", [path for path in STUDIES if "gang" in path.name], ids=lambda path: path.stem)
def test_every_corrupted_run_is_refused(path: Path, tmp_path: Path) -> None:
    """Tests that other rules, rules that there are not, the machine's own, and a better value are refused."""
    data = json.loads(path.read_text())
    plan = data["plans"][0]
    lxf = "lxf" if plan["rules"].get("discipline") != "lxf" else "ljfs"
    for change in (
        {"rules": plan["rules"] | {"grid": "load", "discipline": lxf}}, {"rules": {"disciplin": "fcfs"}},
        {"rules": plan["rules"] | {"processors": [999, 999]}}, {"rules": 3}, {"seed": -1}, {"seed": None},
        {"rules": plan["rules"] | {"discipline": "best"}}, {"values": [plan["values"][0] * 0.999]},
    ):  # fmt: skip
        with pytest.raises(PlanError):
            read_plan(saved(data | {"plans": [plan | change]}, tmp_path))


def test_rules_that_leave_jobs_undone_are_refused() -> None:
    """Tests that a run without some job is no plan: its means would be of others."""
    document = load("gang-sites-200")
    assert isinstance(document, GangDocument)
    wide = GangDocument(document.data | {"jobs": document.data["jobs"] | {"tasks": [40] + [1] * 199}})
    with pytest.raises(ScheduleError, match="leave 1 jobs undone"):
        wide.plan({"grid": "load"}, 0).verify()


def test_what_starts_before_its_nodes_are_free_is_refused(tmp_path: Path) -> None:
    """Tests that a whole run moved forward into another one's nodes is refused, on a machine that is always full."""
    data = json.loads((FOLDER / "planted-one-200.makespan.json").read_text())
    shifted(data["plans"][0], int(np.argmax(data["plans"][0]["start"])))
    with pytest.raises(PlanError, match="nodes in use"):
        read_plan(saved(data, tmp_path))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "fedsched plan 0"}, "its format must be"),
        ({"sha256": "0" * 64}, "which figure-1-5-20 is not"),
        ({"instance": "figure-1-5-2O"}, "Did you mean 'figure-1-5-20'"),
        ({"objectives": "beauty"}, "Unknown objective of figure-1-5-20"),
        ({"who": " "}, "'who' must be a text that is not empty"),
        ({"plans": []}, "a list of one plan or more"),
        ({"plans": [3]}, "must be a table"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    """Tests that a file that is no plan of an instance is refused with the reason."""
    data = json.loads((FOLDER / "figure-1-5-20.makespan.json").read_text()) | change
    with pytest.raises(FedschedError, match=said):
        read_plan(saved(data, tmp_path))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"start": [0]}, "an entry for each of the 20 jobs"),
        ({"finish": ["soon"] * 20}, "finite number of seconds"),
        ({"nodes": ["C1"] * 20}, "GROUP:COUNT"),
        ({"nodes": ["7:1"] * 20}, "with groups from 0 to 0"),
        ({"values": []}, "'values' must be 1 numbers"),
    ],
)
def test_what_is_wrong_with_a_plan_is_said(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    """Tests that a plan that cannot be read says where and why."""
    data = json.loads((FOLDER / "figure-1-5-20.makespan.json").read_text())
    data["plans"][0] |= change
    with pytest.raises(PlanError, match=said):
        read_plan(saved(data, tmp_path))


def test_tasks_beside_each_other_must_fit(tmp_path: Path) -> None:
    """Tests that on shared nodes tasks that crowd a node are refused, and nodes that are not there are said."""
    path = FOLDER / "shared-planted-100.makespan.json"
    data = json.loads(path.read_text())
    crowded = data["plans"][0] | {"nodes": ["0:1"] * 100}
    with pytest.raises(PlanError, match="in use, but only"):
        read_plan(saved(data | {"plans": [crowded]}, tmp_path))
    nowhere = data["plans"][0] | {"nodes": ["8:1"] * 100}
    with pytest.raises(PlanError, match=r"must be NODE:TASKS, several joined by .*, with nodes from 0 to 7"):
        read_plan(saved(data | {"plans": [nowhere]}, tmp_path))


def test_a_plan_of_whole_nodes_says_nothing_of_shared_ones() -> None:
    """Tests that a schedule without sharing is refused where jobs share nodes, and one with it keeps its nodes."""
    document = load("shared-even-50")
    jobs, machine = document.workload, document.federation
    shared = fs.simulate(jobs, machine, "easy", sharing=document.sharing, reading=document.reading)
    assert isinstance(shared, SharedSchedule)
    again = replaced(document, shared)
    again.verify()
    assert isinstance(again, SharedSchedule)
    assert [again.nodes_of(row) for row in range(50)] == [shared.nodes_of(row) for row in range(50)]
    columns = {name: getattr(shared, name) for name in ("workload", "federation", "start", "finish", "counts", "t0")}
    with pytest.raises(FedschedError, match=r"make it with sharing=instance\.sharing"):
        replaced(document, fs.Schedule(**columns))


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    """Tests that a file without one of its keys says which."""
    data = json.loads((FOLDER / "figure-1-5-20.makespan.json").read_text())
    del data["when"]
    with pytest.raises(PlanError, match="when is missing"):
        read_plan(saved(data, tmp_path))


def test_a_worse_plan_is_no_new_best_and_a_better_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a policy's plan is accepted and told to be worse, and new where nobody had one."""
    document = load("figure-1-5-20")
    schedule = fs.simulate(document.workload, document.federation, "fcfs", reading=document.reading)
    plan = Plan.of(document, "makespan", [schedule], who="me", method="fcfs", when="2026-11-24")
    path = tmp_path / "mine.json"
    path.write_text(plan.text())
    assert not checked(path)["new"]
    assert "no new best: the best known is" in checked(path)["said"]
    monkeypatch.setattr("fedsched.bench.plans.FOLDER", tmp_path / "nobody")
    assert checked(path)["new"]
    assert "no plan was known" in checked(path)["said"]


def test_a_front_keeps_what_no_other_plan_dominates() -> None:
    """Tests that of several plans for several objectives those stay that are best by one, each once."""
    document = load("example-20")
    schedules = [
        fs.simulate(document.workload, document.federation, policy, reading=document.reading)
        for policy in ("easy", "easy", "fcfs", "easy-sjf")
    ]
    plan = Plan.of(document, "makespan+energy", schedules, who="me", method="policies", when="today")
    values = plan.values
    assert (np.diff(values[:, 0]) > 0).all()
    assert (np.diff(values[:, 1]) < 0).all()


def test_a_dominated_plan_in_a_front_is_refused(tmp_path: Path) -> None:
    """Tests that a front's file may hold no plan that another one of it beats."""
    data = json.loads((FOLDER / "example-20.makespan+energy.json").read_text())
    data["plans"].append(data["plans"][0])
    with pytest.raises(PlanError, match="not better than another"):
        read_plan(saved(data, tmp_path))


@pytest.mark.parametrize(("name", "jobs", "seed", "apart"), PLANTED)
def test_planted_plans_reach_the_planted_end(name: str, jobs: int, seed: int, apart: bool) -> None:
    """Tests that what was planted is what is known: no plan can be better."""
    makespan = planted_pieces(name, jobs, seed, apart=apart)[2]
    standing = standings(load(planted_name(name, jobs, apart=apart)))[0]
    assert (standing.ask, standing.best, standing.bound) == ("makespan", makespan, makespan)


def test_planted_cores_reach_the_planted_end() -> None:
    """Tests that of nodes whose cores are all in use the planted plan is known, and proven to be the best."""
    [(name, row)] = PLANTED_CORES.items()
    makespan, energy = standings(load(name))
    assert makespan.best == makespan.bound == planted_cores(*row)[1]
    assert energy.best == energy.bound
