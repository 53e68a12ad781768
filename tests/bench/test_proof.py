"""Certificates: each is proven by the checker alone, and refused where a multiplier, a job or the bound is changed."""

from __future__ import annotations

import ast
import copy
import hashlib
import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.tiers import INTERPRETED, tries

import fedsched as fs
from fedsched.bench import load, names
from fedsched.bench import proof as checker
from fedsched.bench.cases import by_cases
from fedsched.bench.certificates import FOLDER, PROVABLE, certificate
from fedsched.bench.documents import Document
from fedsched.bench.proof import proven
from fedsched.bench.standing import checked, standings
from fedsched.bounds import lower_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = sorted(FOLDER.glob("*.json"), key=lambda path: path.stat().st_size)
SMALL = [path for path in FILES if path.stat().st_size < 4000]
FEW = SMALL[: tries(len(SMALL), 6)]
REFUSED = (LookupError, ValueError, TypeError, ArithmeticError)


def test_the_checker_knows_nothing_else() -> None:
    """Tests that the checker imports nothing but Python's own library."""
    text = Path(checker.__file__).read_text(encoding="utf-8")
    modules = {
        alias.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    own = {"bisect", "fractions", "functools", "hashlib", "itertools", "json", "math", "operator", "pathlib", "sys"}
    assert modules == own | {"typing"}


@pytest.mark.parametrize("path", FILES[: tries(len(FILES), 6)], ids=lambda path: path.stem)
def test_every_certificate_is_proven(path: Path) -> None:
    """Tests that each bound follows from the instance's text in exact fractions, and that no known plan is below it."""
    data = json.loads(path.read_text())
    document = load(data["instance"])
    assert path.name == f"{data['instance']}.{data['objective']}.json"
    bound = proven(document.text, path.read_text())
    for one in standings(document):
        if one.ask == data["objective"] and one.best is not None:
            assert one.best >= float(bound) * (1 - 1e-12)


def test_certificates_are_of_what_is_asked() -> None:
    """Tests that no certificate is of something that no instance asks, and that few objectives are without one."""
    wanted = {
        f"{name}.{one}.json" for name in names() for ask in load(name).asks for one in ask.split("+") if one in PROVABLE
    }
    assert {path.name for path in FILES} <= wanted
    assert len(FILES) >= 0.9 * len(wanted)


def test_half_of_makespans_and_energies_are_closed() -> None:
    """Tests that of half of these the best known plan is proven to be within a hundredth of the optimum."""
    found = [one for name in names() for one in standings(load(name)) if one.ask in ("makespan", "energy")]
    assert len(found) > 60
    assert sum(one.is_closed for one in found) >= len(found) / 2


def multipliers(data: dict[str, Any]) -> Iterator[tuple[list[Any] | dict[str, Any], Any]]:
    """Give the place of each multiplier of a certificate: what holds it, and its key."""
    if "apart" in data:
        for leaf in data["apart"][2:]:
            yield from multipliers(leaf)
        return
    for table in data["prices"]:
        for k in range(len(table)):
            yield table, k
    for table in (data["job"], *(of for pools in data["packs"] for _, of in pools)):
        for key in table:
            yield table, key


def accepts(text: str, data: dict[str, Any]) -> bool:
    """Return whether the checker takes a certificate for an instance's text."""
    try:
        proven(text, json.dumps(data))
    except REFUSED:
        return False
    return True


@pytest.mark.parametrize("path", FEW, ids=lambda path: path.stem)
def test_a_changed_certificate_is_refused(path: Path) -> None:
    """Tests that one multiplier, the bound or the value, a little other, is refused."""
    data = json.loads(path.read_text())
    text = load(data["instance"]).text
    assert accepts(text, data)
    changes = list(multipliers(data))
    tried = 6 if int(re.findall(r"-(\d+)", path.stem)[-1]) <= 50 else 1  # of more jobs each proof takes seconds
    for place in range(0, len(changes), max(1, len(changes) // tried)):
        for step in (1, -1):
            other = copy.deepcopy(data)
            table, key = list(multipliers(other))[place]
            table[key] = str(Fraction(table[key]) + step)
            assert not accepts(text, other), (place, step)
    last = data["bound"][-1]
    for name, value in (("bound", data["bound"][:-1] + ("1" if last != "1" else "2")), ("value", data["value"] + "1")):
        assert not accepts(text, data | {name: value})
    if "apart" not in data:
        assert not accepts(text, data | {"edges": ["1", *data["edges"][1:]]})
    assert not accepts(text, data | {"objective": "utilisation"})
    if data["objective"] in ("makespan", "energy"):
        assert not accepts(text, data | {"objective": "flow"})


@pytest.mark.parametrize("path", FEW, ids=lambda path: path.stem)
def test_a_certificate_of_other_jobs_is_refused(path: Path) -> None:
    """Tests that one job changed is another instance, and proves another value where that is said to be the same."""
    data = json.loads(path.read_text())
    document = json.loads(load(data["instance"]).text)
    jobs = document["jobs"]
    takes = jobs["demand"][data["of"]] if "of" in data else [1] * len(jobs["tasks"])
    work = [Fraction(runtime) * n * x for runtime, n, x in zip(jobs["runtime"], jobs["tasks"], takes, strict=True)]
    # By themselves; others' work may be of no account beside theirs.
    named = [int(j) for j in data.get("job", ())] or data.get("apart", [[]])[0][:2]
    some = [j for j, amount in enumerate(work) if amount]
    # Where waits are charged, much work is put behind all prices: how much it is, is of no account there.
    counts = (min if data["objective"] == "mean_wait" and "of" in data else max)(named or some, key=work.__getitem__)
    jobs["runtime"][counts] = str(Fraction(jobs["runtime"][counts]) + 1)
    text = json.dumps(document)
    assert not accepts(text, data)
    assert not accepts(text, data | {"sha256": hashlib.sha256(text.encode()).hexdigest()})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"prices": [[-1]]}, "below 0"),
        ({"job": {"0": -1}}, "below 0"),
        ({"spent": "5"}, "in all prove"),
        ({"objective": "faith"}, "faith"),
        ({"edges": [1]}, "follow one another from 0 on"),
        ({"edges": [0, 0], "prices": [[1, 1]]}, "follow one another from 0 on"),
        ({"unit": 0}, "from 0 on"),
    ],
)
def test_what_is_refused_is_said(change: dict[str, Any], said: str) -> None:
    """Tests that the reason stands in the error."""
    document = load("planted-one-20")
    data = json.loads((FOLDER / "planted-one-20.energy.json").read_text())
    with pytest.raises(REFUSED, match=said):
        proven(document.text, json.dumps(data | change))


def small(clusters: list[list[tuple[int, int]]], jobs: list[tuple[int, int, str]]) -> Document:
    """Return an instance of clusters of (nodes, speed) and jobs of (tasks, run time, partition)."""
    names = sorted({home for _, _, home in jobs})
    columns = {"submit": [0] * len(jobs), "tasks": [job[0] for job in jobs], "runtime": [job[1] for job in jobs]}
    return Document.of(
        "small", family="partitions", about="by hand", machine="small", asks=("makespan",),
        clusters=[
            {"name": f"C{k}", "uplink": "inf", "groups": [
                {"nodes": nodes, "speed": speed, "busy_watts": 200, "idle_watts": 90} for nodes, speed in groups
            ]}
            for k, groups in enumerate(clusters)
        ],
        partitions=[{"name": name, "nodes": [["C0", f"{k}-3"]]} for k, name in enumerate(names)],
        jobs=columns | {"partition": [home for _, _, home in jobs]},
    )  # fmt: skip


def value_of(document: Document, proof: dict[str, Any], objective: str = "makespan") -> Fraction:
    """Return what a certificate's part proves."""
    whole = {"edges": [0], "unit": 1, "packs": [], "job": {}, "watt": 0} | proof
    return checker.follows(checker.Problem(document.text), whole, objective)[0]


def test_jobs_have_nodes_of_their_partition_alone() -> None:
    """Tests that nodes of one group in different partitions are priced apart, in the order of their numbers."""
    document = small([[(3, 1), (3, 2)]], [(1, 40, "a"), (1, 12, "b")])  # "a": 0-3, "b": 1-3: all but one of the slow
    problem = checker.Problem(document.text)
    assert problem.nodes == [1, 2, 1, 2]
    assert [{*room} for _, room in problem.ways[0]] in ([{0, 1, 2}, {2}], [{2}, {0, 1, 2}])
    assert value_of(document, {"prices": [[0], [1], [1], [0]]}) == Fraction(6, 3)  # "a" has node 0 for nothing
    assert value_of(document, {"prices": [[1], [1], [1], [0]]}) == Fraction(20 + 6, 4)


def test_wide_jobs_of_a_pool_exclude_one_another() -> None:
    """Tests that two jobs that each need more than half of their partition's nodes run one after the other."""
    document = small([[(5, 1)]], [(2, 10, "b"), (2, 20, "b"), (1, 7, "a")])  # "b": nodes 1-3
    free: dict[str, Any] = {"prices": [[0]] * 3}
    assert value_of(document, free | {"packs": [[[[1], {"2": 1}]]]}) == 30
    assert value_of(document, free | {"packs": [[[[0, 1, 2], {"2": 1}]]]}) == Fraction(10 + 20, 2)
    assert value_of(document, free | {"packs": [[[[0], {"1": 1, "2": 1}]]]}) == 0  # "b" has nodes elsewhere


def test_pools_of_a_chain_are_filled_together() -> None:
    """Tests that what a pool pays counts with the next one's, of which it is part, and that others are refused."""
    document = small([[(2, 2), (3, 1)]], [(2, 20, ""), (3, 30, ""), (4, 8, "")])
    free: dict[str, Any] = {"prices": [[0], [0]]}
    # On all five nodes there is room for a job of two on the fast ones beside one of three, not beside one of four.
    both = free | {"packs": [[[[0], {"2": 1}], [[0, 1], {"2": 1, "3": 1, "4": 2}]]]}
    assert value_of(document, both) == Fraction(10 + 30 + 2 * 8, 2)
    with pytest.raises(ValueError, match="no part of the next one"):
        value_of(document, free | {"packs": [[[[0], {"2": 1}], [[1], {"3": 1}]]]})


def test_a_job_by_itself_fills_a_pool_once() -> None:
    """Tests that what a job that is named pays counts once in its pool, with the fewest nodes that it has there."""
    document = small([[(3, 1), (2, 2)]], [(2, 20, ""), (2, 30, ""), (4, 8, "")])
    free: dict[str, Any] = {"prices": [[0], [0]]}
    # The job of four tasks has two of the slow nodes at least, beside which none of two tasks need have a slow one.
    assert value_of(document, free | {"packs": [[[[0, 1], {"#0": 1, "#1": 1}]]]}) == Fraction(10 + 15, 2)
    assert value_of(document, free | {"packs": [[[[0, 1], {"#0": 1, "#1": 1, "#2": 2}]]]}) == Fraction(25 + 16, 2)
    assert value_of(document, free | {"packs": [[[[0], {"#0": 1, "#2": 1}]]]}) == Fraction(10 + 8, 2)  # none at least
    assert value_of(document, free | {"packs": [[[[1], {"#0": 1, "#2": 1}]]]}) == Fraction(10 + 8, 2)
    # A width's price is paid by all that have it, a job's own by that job in its stead.
    assert value_of(document, free | {"packs": [[[[0, 1], {"2": 1, "#0": 3}]]]}) == Fraction(3 * 10 + 15, 3 + 1)


def test_of_three_jobs_without_room_two_run_one_after_the_other() -> None:
    """Tests that the least of three cases holds, each a pair that shares a node, and only of jobs without room."""
    jobs = [(2, 10, ""), (2, 20, ""), (1, 40, "")]
    document, wider = small([[(4, 1)]], jobs), small([[(5, 1)]], jobs)

    def after(i: int, j: int) -> dict[str, Any]:
        one = {"edges": [0], "unit": 1, "packs": [[[[1], {f"#{i}": 1, f"#{j}": 1}]]], "job": {}, "watt": 0}
        return one | {"prices": [[0]]}

    leaves = [after(0, 1), after(0, 2), after(1, 2)]
    assert value_of(document, {"apart": [[0, 1, 2], [0], *leaves]}) == min(10 + 20, 10 + 40, 20 + 40)
    assert value_of(document, {"apart": [[0, 1, 2], [0], leaves[0], leaves[2], leaves[1]]}) < 30  # others are apart
    refused = (
        (wider, {"apart": [[0, 1, 2], [0], *leaves]}),
        (document, {"apart": [[0, 0, 2], [0], *leaves]}),
        (document, {"apart": [[0, 1, -3], [0], *leaves]}),
        (document, {"apart": [[0, 1, 2, 2], [0], *leaves]}),
    )
    for instance, proof in refused:
        with pytest.raises(ValueError, match="room for the three"):
            value_of(instance, proof)
    with pytest.raises(ValueError, match="zip"):
        value_of(document, {"apart": [[0, 1, 2], [0], *leaves[:2]]})
    with pytest.raises(IndexError):  # without a case, there is no such node
        value_of(document, after(0, 1))


def test_cases_are_found_where_no_prices_prove_as_much() -> None:
    """Tests that the library finds three jobs without room by itself, of makespans and of energy."""
    jobs = [(2, 10, ""), (2, 20, ""), (1, 25, "")]
    problem = checker.Problem(small([[(4, 1)]], jobs).text)
    for objective, least in (("makespan", 30), ("energy", 30 * 4 * 90 + (20 + 40 + 25) * 110)):
        found = by_cases(problem, objective)
        assert found is not None
        assert float(checker.follows(problem, found, objective)[0]) == pytest.approx(least)
    assert by_cases(checker.Problem(small([[(5, 1)]], jobs).text), "energy") is None


def test_who_fills_a_link_alone_keeps_to_one_side_of_it() -> None:
    """Tests that a job whose one task sends more than an uplink carries runs beside it, or as slowly as it carries."""
    document = small([[(2, 1)], [(2, 1)]], [(2, 10, ""), (2, 10, "")])
    talk = {"task_bandwidth": [30, 0], "compute_fraction": ["0.5", "0.5"]}
    data = document.data | {"jobs": document.data["jobs"] | talk}
    data["clusters"][1]["uplink"] = 10
    ways = checker.Problem(Document(data).text).ways
    assert sorted((d, sorted(room)) for d, room in ways[0]) == [(10, [0]), (10, [1]), (20, [0, 1])]
    assert [(d, sorted(room)) for d, room in ways[1]] == [(10, [0, 1])]


def test_no_job_runs_on_closed_nodes() -> None:
    """Tests that what downtimes take of nodes until the end is added to a makespan, and that no job spans one."""
    whole = small([[(2, 1)]], [(1, 6, ""), (1, 6, ""), (1, 6, "")])
    shut = Document(whole.data | {"downtimes": [{"cluster": "C0", "begin": 4, "end": 9, "nodes": "0-0"}]})
    assert value_of(whole, {"prices": [[1]]}) == 9
    assert value_of(shut, {"prices": [[1]]}) == Fraction(18 + 5, 2)  # five node-seconds are closed by then
    every = Document(whole.data | {"downtimes": [{"cluster": "C0", "begin": 4, "end": 9, "nodes": "all"}]})
    assert value_of(every, {"prices": [[1]]}) == 9 + Fraction(18 - 8, 2)
    # Before the downtime none of six seconds ends: nothing is paid for what is left over there.
    assert value_of(every, {"edges": [0, 9], "prices": [[0, 1]]}) == 9 + 9


def test_a_stretch_after_all_is_released_proves_nothing() -> None:
    """Tests that prices of a time when no job need run are paid by none, and move no makespan up to that time."""
    document = small([[(2, 1)]], [(1, 6, ""), (1, 6, "")])
    assert value_of(document, {"edges": [0, 10**6], "prices": [[1, 5]]}) == 6
    with pytest.raises(ZeroDivisionError):
        value_of(document, {"edges": [0, 10**6], "prices": [[0, 1]]})


def test_a_late_end_costs_what_idle_nodes_draw() -> None:
    """Tests that a bound on schedules that end before some time is none on all, of energy and of makespans."""
    document = small([[(2, 1)]], [(1, 6, ""), (1, 6, "")])
    assert value_of(document, {"prices": [[1]], "before": 5}) == 5
    assert value_of(document, {"prices": [[1]], "before": 7}) == 6
    idle = Fraction(2 * 90)
    assert value_of(document, {"prices": [[90]], "before": 5}, "energy") == 5 * idle
    assert value_of(document, {"prices": [[90]], "before": 99}, "energy") == 6 * idle + 12 * 110
    assert value_of(document, {"prices": [[0]], "before": 5}, "flow") <= 0


def test_what_a_cap_leaves_is_shared_like_nodes() -> None:
    """Tests that jobs together draw no more than the highest cap leaves beside idle nodes; none proves nothing."""
    document = small([[(4, 1)]], [(1, 10, "a"), (2, 20, "a")])  # a busy node draws 110 W more than an idle one
    cap = {"times": [0, 9], "values": [500, 580], "unit": "W", "beyond": "last"}
    capped = Document(document.data | {"signals": [cap]})
    assert value_of(capped, {"prices": [[0]], "watt": 3}) == Fraction(110 * (10 + 40), 580 - 4 * 90)
    assert value_of(document, {"prices": [[0]], "watt": 3}) < Fraction(1, 10**6)


def test_of_shared_nodes_a_resource_is_proven() -> None:
    """Tests by hand the areas of each resource, and that a certificate says of which one, and of no other nodes."""
    whole = small([[(2, 1)]], [(1, 10, ""), (2, 10, ""), (1, 20, "")])  # two nodes, each of three cores and four GiB
    [cluster] = whole.data["clusters"]
    group = cluster["groups"][0] | {"resources": {"cpu": 3, "memory": 4, "gpu": 0}}
    demand = {"cpu": [3, 1, 1], "memory": [1, 4, 1], "gpu": [0, 0, 0]}
    jobs = {name: column for name, column in whole.data["jobs"].items() if name != "partition"} | {"demand": demand}
    parts = {"clusters": [cluster | {"groups": [group]}], "jobs": jobs, "sharing": "pack"}
    left = {name: part for name, part in whole.data.items() if name != "partitions"}
    shared = Document(left | parts)
    one = {"edges": [0], "unit": 1, "prices": [[1]], "packs": [], "job": {}, "watt": 0}
    by = {of: checker.Problem(shared.text, of) for of in ("cpu", "memory")}
    assert by["cpu"].nodes == [6]
    assert checker.follows(by["cpu"], one, "makespan")[0] == Fraction(10 * 3 + 10 * 2 + 20, 6)
    assert checker.follows(by["memory"], one, "makespan")[0] == Fraction(10 + 10 * 8 + 20, 8)
    # Idle nodes draw 2·90 W until the end; a core in use a third of 110 W more.
    priced = one | {"prices": [[30]]}
    energy = checker.follows(by["cpu"], priced, "energy")[0]
    assert energy == 10 * 3 * 30 + 10 * 2 * 30 + 20 * 30 + Fraction(110, 3) * 70
    assert checker.follows(by["memory"], one | {"prices": [["45/2"]]}, "energy")[0] == Fraction(110 * 45, 2)
    with pytest.raises(ValueError, match="do not share 'disk' here"):
        checker.Problem(shared.text, "disk")
    with pytest.raises(ValueError, match="do not share '' here"):
        checker.Problem(shared.text)
    with pytest.raises(ValueError, match="here"):
        checker.Problem(Document(left | parts | {"jobs": whole.data["jobs"]}).text)
    with pytest.raises(ValueError, match="here"):
        checker.Problem(Document(shared.data | {"downtimes": [{"cluster": "C0", "begin": 4, "end": 9}]}).text, "cpu")
    # Who takes none of a resource fills no pool of it.
    pools = [[[[0], {"0": 7, "3": 1}]]]
    empty = checker.follows(checker.Problem(shared.text, "gpu"), one | {"packs": pools, "job": {"0": 1}}, "makespan")
    assert empty[0] <= 20


def test_an_instance_with_something_new_is_refused() -> None:
    """Tests that a part of an instance that the checker does not know is no detail: nothing is proven."""
    data = json.loads((FOLDER / "planted-one-20.energy.json").read_text())
    document = json.loads(load("planted-one-20").text)
    column, down = {"deadline": [1] * 20}, {"cluster": "C1", "begin": 0, "end": 9, "nodes": "all", "on_running": "kill"}
    for more in ({"jobs": document["jobs"] | column}, {"downtimes": [down]}, {"slack": 9}):
        text = json.dumps(document | more)
        with pytest.raises(ValueError, match="new parts"):
            proven(text, json.dumps(data | {"sha256": hashlib.sha256(text.encode()).hexdigest()}))


def test_the_checker_runs_by_itself(tmp_path: Path) -> None:
    """Tests that the file proves and refuses as a program does: a copy without the package, and where it lies."""
    program = tmp_path / "proof.py"
    program.write_text(Path(checker.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "instance.json").write_text(load("example-20").text)
    for name, status in (("example-20.makespan", 0), ("example-20.energy", 0), ("example-50.energy", 1)):
        for where in (["-I", program], [checker.__file__]):  # there, its neighbours come before Python's own modules
            words = [sys.executable, *where, tmp_path / "instance.json", FOLDER / f"{name}.json"]
            done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
            assert done.returncode == status
            assert ("PROVED: at least" in done.stdout) == (status == 0)
            assert ("REFUSED" in done.stderr) == (status == 1)


@pytest.mark.parametrize("objective", ["makespan", "energy", "flow", "mean_wait"])
def test_the_proof_agrees_with_the_librarys_bound(objective: str) -> None:
    """Tests that what fractions prove is what the library's floating point says, as near as it was rounded."""
    document = load("figure-1-6-20")
    text = certificate(document, objective)
    bound = float(proven(document.text, text))
    library = lower_bounds(document.workload, document.federation, reading=document.reading).of(objective)
    assert bound <= library * (1 + 1e-9) or objective != "makespan"
    assert bound == pytest.approx(library, rel=0.02)


@pytest.mark.deep
@pytest.mark.skipif(INTERPRETED, reason="searches take minutes without the compiler")
@pytest.mark.parametrize("objective", ["makespan", "energy", "flow", "mean_wait", "bounded_slowdown"])
def test_no_schedule_is_below_a_proof(objective: str) -> None:
    """Tests that policies' schedules of an instance with waits between its jobs are above what is proven of it."""
    document = load("workflows-example-50")
    text = certificate(document, objective)
    bound = float(proven(document.text, text))
    assert bound > 0
    for policy in ("fcfs", "easy", "conservative", "easy-sjf"):
        schedule = fs.simulate(document.workload, document.federation, policy, reading=document.reading)
        assert getattr(schedule.metrics(), objective) >= bound * (1 - 1e-12)


def test_a_certificate_that_is_sent_is_judged(tmp_path: Path) -> None:
    """Tests that `bench check` tells what a certificate proves, that it is no news, and why another is refused."""
    path = FOLDER / "example-20.makespan.json"
    assert not checked(path)["new"]
    assert "PROVEN, at least" in checked(path)["said"]
    other = tmp_path / "mine.json"
    other.write_text(json.dumps(json.loads(path.read_text()) | {"bound": "999999.000"}))
    with pytest.raises(fs.errors.FedschedError, match="not rounded down"):
        checked(other)
