"""Calls as people make them: what is plain in meaning is accepted, all else refused with the call that works."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched import gang, generate, market, report
from fedsched.bounds import exact, exact_front, lower_bounds
from fedsched.core.errors import nearest, unknown_name
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_rate_has_one_reader_for_python_files_and_the_command(tmp_path: Path) -> None:
    """A text like 1.25G is the same uplink in Python, in a file and on the command line."""
    asked = fs.Federation.of(4, uplink="1.25G")
    assert fs.Cluster("north", 4, uplink="1.25G").uplink == asked.clusters[0].uplink == 1.25e9
    file = tmp_path / "machine.toml"
    file.write_text('[[cluster]]\nname = "north"\nuplink = "1.25G"\n[[cluster.group]]\ncount = 4\n')
    assert fs.read_federation(file).clusters[0].uplink == 1.25e9
    from fedsched.study.scenario.scenario_parts import with_uplinks

    assert with_uplinks(fs.Federation.of(4), ["1.25G"]).clusters[0].uplink == 1.25e9
    jobs = fs.Workload(submit=[0, 0], tasks=[1, 2], runtime=[1, 2])
    assert jobs.with_communication(bandwidth="10M") == jobs.with_communication(bandwidth=1e7)


@pytest.mark.parametrize("uplink", ["10 parsecs", "1.25g", None, True, [1e9]])
def test_what_is_no_rate_is_refused_with_one_that_is(uplink: Any, tmp_path: Path) -> None:
    """What is no rate is named as it was given, beside one that is."""
    for call in (
        lambda: fs.Cluster("north", (fs.NodeGroup(4),), uplink=uplink), lambda: fs.Federation.of(4, uplink=uplink),
    ):  # fmt: skip
        with pytest.raises(fs.errors.FederationError, match=r"uplink=.* must be bytes a second, as 1.25e9 or '1.25G'"):
            call()


def test_one_of_a_kind_stands_for_a_row_of_one() -> None:
    """A cluster takes one node group or a number of nodes in place of several groups, a federation one cluster."""
    plain = fs.Cluster("a", (fs.NodeGroup(4),))
    assert fs.Cluster("a", fs.NodeGroup(4)) == fs.Cluster("a", 4) == plain
    assert fs.Federation(plain) == fs.Federation((plain,))


NO_NOUNS: dict[str, tuple[Callable[[], object], str]] = {
    "groups": (lambda: fs.Cluster("a", "4"), r"Cluster 'a': groups=4 must be node groups, as \(NodeGroup\(64\),\)"),
    "name": (lambda: fs.Cluster(4, "a"), r"Cluster: name=4 must be a text, as Cluster\('north', groups\)"),
    "no nodes": (lambda: fs.Cluster("a", 0), "count=0 must be a whole number of at least 1"),
    "sizes": (lambda: fs.Federation((4, 8)), r"clusters=4 must be clusters.*Federation.of\(64, 128\)"),
    "speed": (lambda: fs.NodeGroup(4, speed="fast"), "speed='fast' must be finite and above 0"),
    "watts": (lambda: fs.NodeGroup(4, busy_watts="135"), "watts '135'/.* must be finite"),
}


@pytest.mark.parametrize("case", NO_NOUNS)
def test_a_noun_says_what_it_is_made_of(case: str) -> None:
    """A cluster, a federation or a node group made of something else names the field, the value and the cure."""
    call, words = NO_NOUNS[case]
    with pytest.raises(fs.errors.FederationError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


JOBS = fs.Workload(submit=[0, 0, 1], tasks=[1, 2, 1], runtime=[10, 20, 30])
MACHINE = fs.Federation.homogeneous(4)
VERBS: dict[str, Callable[[Any, Any], Any]] = {
    "simulate": lambda jobs, machine: fs.simulate(jobs, machine).makespan,
    "optimize": lambda jobs, machine: fs.optimize(jobs, machine, evaluations=1, method="ga", baselines=()).value(),
    "lower_bounds": lambda jobs, machine: lower_bounds(jobs, machine, method="closed").makespan,
    "Instance": lambda jobs, machine: fs.Instance("i", jobs, machine).fingerprint(),
}
VERBS_WITH_SOLVER: dict[str, Callable[[Any, Any], Any]] = {
    "exact": lambda jobs, machine: exact(jobs, machine).value,
    "exact_front": lambda jobs, machine: exact_front(jobs, machine, points=1).points.tolist(),
}
EVERY_VERB = VERBS | VERBS_WITH_SOLVER
NAMES = [*VERBS, *(pytest.param(name, marks=pytest.mark.needs("ortools")) for name in VERBS_WITH_SOLVER)]


@pytest.mark.parametrize("name", NAMES)
def test_every_verb_takes_what_is_plain_in_meaning(name: str, tmp_path: Path) -> None:
    """A path, a table or a list of jobs stands for the workload, and a path, a cluster or a number for the machine."""
    verb = EVERY_VERB[name]
    expected = verb(JOBS, MACHINE)
    log, machine = tmp_path / "log.csv", tmp_path / "site.toml"
    JOBS.write(log)
    MACHINE.write(machine)
    group = MACHINE.groups[0]
    for jobs in (str(log), log, list(JOBS)):
        assert verb(jobs, MACHINE) == expected
    if name == "Instance":  # it tells machines apart by their names
        return
    for nodes in (4, np.int64(4), str(machine), machine, group, fs.Cluster("c", group), [fs.Cluster("c", group)]):
        assert verb(JOBS, nodes) == expected


def test_a_table_of_pandas_stands_for_its_jobs() -> None:
    """A DataFrame with the columns is a workload, and one without them is told which it lacks."""
    table = pytest.importorskip("pandas").DataFrame({"submit": [0, 0, 1], "tasks": [1, 2, 1], "runtime": [10, 20, 30]})
    assert fs.simulate(table, 4).makespan == fs.simulate(JOBS, MACHINE).makespan
    with pytest.raises(ValueError, match="tasks"):
        fs.simulate(table.drop(columns="tasks"), 4)


@pytest.mark.parametrize("name", EVERY_VERB)
@pytest.mark.parametrize("jobs", [None, 3.5, [1, 2], {"submit": [0]}])
def test_every_verb_says_what_a_workload_is(name: str, jobs: Any) -> None:
    """What is no table of jobs is named with the argument, as it was given, beside what is one."""
    with pytest.raises(TypeError, match=r"workload=.* is no table of jobs; give a Workload, a file of one") as caught:
        EVERY_VERB[name](jobs, MACHINE)
    assert f"workload={jobs!r}" in str(caught.value)


@pytest.mark.parametrize("name", EVERY_VERB)
@pytest.mark.parametrize("machine", [4.0, True, [4, 8]])
def test_every_verb_says_what_a_machine_is(name: str, machine: Any) -> None:
    """What is no machine is named with the argument, as it was given, beside what is one."""
    second = "federation" if name not in ("simulate", "optimize") else "cluster"
    with pytest.raises(TypeError, match=rf"{second}=.* is no machine; give a Federation, as Federation.of") as caught:
        EVERY_VERB[name](JOBS, machine)
    assert f"{second}={machine!r}" in str(caught.value)


@pytest.mark.parametrize("name", EVERY_VERB)
@pytest.mark.parametrize("pair", [(MACHINE, JOBS), (4, "log.swf"), ("site.toml", "log.swf"), (fs.NodeGroup(4), JOBS)])
def test_swapped_arguments_are_said_to_be_swapped(name: str, pair: tuple[Any, Any]) -> None:
    """A machine in the place of the jobs, and jobs in that of the machine, is an error that says the order."""
    with pytest.raises(TypeError, match=r"is a machine, and .* are jobs; the jobs come first: ") as caught:
        EVERY_VERB[name](*pair)
    assert "\n" not in str(caught.value)


def test_no_nodes_are_no_machine() -> None:
    """A number of nodes that no machine has is named with the argument."""
    with pytest.raises(ValueError, match="simulate: cluster=0 must be at least 1"):
        fs.simulate(JOBS, 0)


INSTANCE = fs.Instance("i", JOBS, MACHINE)
BUDGET = fs.Budget(evaluations=1)
SITES = gang.GangSystem(processors=(4,))
MARKET, REQUEST = market.Domain(nodes=4).environment(0), market.Request(nodes=1, length=10.0)


def test_a_comparison_takes_one_for_a_row_of_one() -> None:
    """One instance, one method and one objective stand for a row of one."""
    [found] = fs.compare(fs.Instance("i", JOBS, 4, "makespan"), "fcfs", [0], BUDGET).records
    [plain] = fs.compare([fs.Instance("i", JOBS, 4)], ["fcfs"], [0], BUDGET).records
    assert (found.key, found.front) == (plain.key, plain.front)
    [record] = fs.compare(INSTANCE, "memetic", [0], BUDGET, baselines=["easy"]).records
    assert (record.method, record.error) == ("memetic", "")


MISCALLED: dict[str, tuple[Callable[[], object], str]] = {
    "instances": (lambda: fs.compare(JOBS, ["fcfs"], [0], BUDGET),  # type: ignore[arg-type]
                  r"compare: instances=<Workload .* must be instances, as \[fedsched.Instance\("),
    "methods": (lambda: fs.compare(INSTANCE, 3, [0], BUDGET),  # type: ignore[arg-type]
                "compare: methods=3 must be names, policies or entrants"),
    "seeds": (lambda: fs.compare(INSTANCE, "fcfs", 3, BUDGET),  # type: ignore[arg-type]
              r"compare: seeds=3 must be a list of seeds, as \[0, 1, 2\], or range\(3\) for 3 seeds"),
    "budget": (lambda: fs.compare(INSTANCE, "fcfs", [0], 500),  # type: ignore[arg-type]
               r"compare: budget=500 must say of what: .*Budget\(evaluations=500\) or .*Budget\(seconds=500\)"),
    "instance's name": (lambda: fs.Instance(JOBS, MACHINE, "makespan"),  # type: ignore[arg-type]
                        r"Instance: name=<Workload .* must be a text: Instance\('log', workload, federation\)"),
    "a number of seeds": (lambda: fs.optimize(JOBS, 4, seeds=3),  # type: ignore[arg-type]
                          "optimize: seeds=3 must be one of structured, random; a number is seed=3"),
    "no seed": (lambda: fs.generate.poisson(4, 4, load=0.5, seed=None),  # type: ignore[arg-type]
                "poisson: seed=None must be a whole number, as seed=0"),
    "no seed to continue with": (lambda: fs.optimize(JOBS, 4, seed=None, checkpoint="search.ckpt"),
                                 "optimize: seed=None draws another seed in each call, so checkpoint= needs one"),
    "method": (lambda: fs.optimize(JOBS, 4, method=["ga"]),  # type: ignore[arg-type]
               r"method=\['ga'\] must be the name of one search, as 'memetic'"),
    "objectives": (lambda: fs.optimize(JOBS, 4, objectives=3),  # type: ignore[arg-type]
                   r"objectives=3 must be names of metrics, as \('makespan', 'energy'\)"),
    "an instance's objectives": (lambda: fs.Instance("i", JOBS, 4, objectives=3),  # type: ignore[arg-type]
                                 r"objectives=3 must name metrics, as \('makespan', 'energy'\)"),
    "nodes as a text": (lambda: fs.simulate(JOBS, "128"),
                        "cluster='128' is a string; for a machine of 128 nodes, pass the number: cluster=128."),
    "a file": (lambda: fs.read(5), "read: path=5 is no path; give the file of a workload"),  # type: ignore[arg-type]
    "gangs' jobs": (lambda: gang.simulate(5, SITES),  # type: ignore[arg-type]
                    r"simulate: workload=5 is no table of jobs; give a Workload"),
    "gangs' system": (lambda: gang.simulate(JOBS, 16),  # type: ignore[arg-type]
                      r"simulate: system=16 is no GangSystem; give one, as GangSystem\(processors=\(16, 8\)\)"),
    "preset": (lambda: gang.replicate("pinto"), "replicate: preset='pinto' makes no runs"),  # type: ignore[arg-type]
    "requests": (lambda: market.schedule(REQUEST, MARKET),  # type: ignore[arg-type]
                 r"batch=.* must be a list of requests, as \[Request\("),
    "request": (lambda: market.find_window(MARKET, 5),  # type: ignore[arg-type]
                r"batch\[0\]=5 is no Request; give one, as Request\("),
    "environment": (lambda: market.schedule([REQUEST], MACHINE),  # type: ignore[arg-type]
                    r"environment=<Federation of 4 nodes> is no Environment; give one, as Domain\("),
    "assignment": (lambda: market.replay(REQUEST), r"replay: assignment=.* is no Assignment"),  # type: ignore[arg-type]
    "budget of a request": (lambda: market.Request(nodes=1, length=1.0, budget="5"),  # type: ignore[arg-type]
                            "Request: budget='5' must be a number"),
    "planted": (lambda: generate.planted(2.5, jobs=5),  # type: ignore[arg-type]
                "planted: federation=2.5 is no machine; give a Federation"),
    "estimates": (lambda: generate.estimates(5, "factor"),  # type: ignore[arg-type]
                  "estimates: workload=5 is no table of jobs"),
    "run times": (lambda: generate.tsafrir_estimates("many"),  # type: ignore[arg-type]
                  "tsafrir_estimates: runtime='many' must be run times, in seconds"),
    "policy": (lambda: fs.simulate(JOBS, 4, fs.Rules),  # type: ignore[arg-type]
               "policy=<class .* must be a policy's name, or an object with a method rules"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISCALLED)
def test_a_miscall_is_told_the_call_that_works(case: str) -> None:
    """An argument of another kind is named, shown as it was given, and set beside a call that works."""
    call, words = MISCALLED[case]
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_generators_and_gangs_take_what_is_plain_in_meaning() -> None:
    """A table of pandas stands for its jobs, and a number of nodes for a machine, where jobs are made or changed."""
    table = JOBS.to_frame()
    assert generate.estimates(table, "factor") == generate.estimates(JOBS, "factor")
    assert generate.communication(table, bandwidth="1M") == generate.communication(JOBS, bandwidth="1M")
    assert generate.planted(4, jobs=3)[0] == generate.planted(MACHINE, jobs=3)[0]
    assert gang.simulate(table, SITES).finish.tolist() == gang.simulate(JOBS, SITES).finish.tolist()
    assert market.requests_of(table) == market.requests_of(JOBS)


def test_plans_to_begin_with_and_baselines_may_be_one() -> None:
    """One schedule to begin with and one policy to compare with stand for a row of one."""
    found = fs.optimize(JOBS, 4, evaluations=1, method="ga", baselines="fcfs", initial=fs.simulate(JOBS, 4))
    assert [one.policy for one in found.baselines] == ["fcfs"]


def test_a_metric_that_is_none_offers_the_nearest() -> None:
    """Metrics are had by name, and a name of none of them is an error that offers one, in an objective too."""
    metrics = fs.simulate(JOBS, MACHINE).metrics()
    assert metrics["makespan"] == metrics.makespan
    bounds = lower_bounds(JOBS, MACHINE, method="closed")
    assert bounds["makespan"] == bounds.of("makespan")
    for call in (
        lambda: metrics["wait"],
        lambda: bounds["wait"],
        lambda: metrics.as_dict()["wait"],
        lambda: fs.optimize(JOBS, 4, objectives=lambda found: found["wait"], evaluations=1, baselines=()),
    ):
        with pytest.raises(fs.errors.UnknownNameError, match=r"Unknown metric 'wait'\. Did you mean '"):
            call()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("powr", None), ("watts", "peak_watts"), ("wait", "mean_wait"), ("enrgy", "energy"), ("makespann", "makespan"),
        ("slowdwon", None), ("bounded-slowdown", "bounded_slowdown"), ("util", "utilisation"), ("x", None), ("", None),
    ],
)  # fmt: skip
def test_a_suggestion_is_near_in_letters(name: str, meant: str | None) -> None:
    """A slip of the pen, a word or a beginning of a name is offered as that name; what is like none has no offer."""
    known = ("flow", "makespan", "mean_wait", "peak_watts", "energy", "bounded_slowdown", "utilisation")
    assert nearest(name, known) == meant
    said = str(unknown_name("metric", name, known))
    assert ("Did you mean" in said) == (meant is not None)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: fs.write("a", "b.csv"), "write: workload='a' is no Workload"),
        (lambda: report.page(3), "report: material=3 is no Material; give what of_result or of_schedules returns"),
        (lambda: report.of_schedules([]), r"report: schedules=\[\] must be a list of at least one Schedule"),
        (lambda: report.of_schedules(3), "report: schedules=3 must be a list of at least one Schedule"),
    ],
)
def test_what_is_no_noun_is_refused_where_files_and_pages_are_written(call: Callable[[], object], said: str) -> None:
    """A path in place of jobs, and a number or nothing in place of schedules, are named with what to give."""
    with pytest.raises(TypeError, match=said):
        call()


def test_a_log_is_no_machine_and_brings_its_own(tmp_path: Path) -> None:
    """Tests that a log named as a machine is refused with the cure, and that without a machine its own is taken."""
    log = replace(JOBS, nodes=4)
    for name in ("own.swf", "own.csv", "own.json"):
        fs.write(log, tmp_path / name)
        with pytest.raises(fs.errors.FederationError, match=r"a log, which describes no machine; give fs.Federation"):
            fs.read_federation(tmp_path / name)
    assert fs.simulate(log).start.tolist() == fs.simulate(log, 4).start.tolist()
    assert fs.simulate(log, policy="sjf").federation.nodes == 4
    assert prepare(log).federation.nodes == 4
    assert fs.optimize(log, evaluations=5).federation.nodes == 4
    with pytest.raises(TypeError, match="federation=None is no machine"):
        lower_bounds(log, None)
    for call in (fs.simulate, fs.optimize, prepare):
        with pytest.raises(fs.errors.TraceError, match=r"does not say how many nodes its machine has; .*cluster=64"):
            call(JOBS)
