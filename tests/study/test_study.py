"""Studies: scenarios on the same jobs, their differences, intervals over resampled weeks, and who gains and pays."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import FieldError, TraceError, UnknownNameError
from fedsched.io.slurm_files.slurm_conf import read_slurm_conf
from fedsched.io.slurm_files.slurm_machine import federation_of
from fedsched.site.twin import figures, made_dump, replay
from fedsched.site.twin.site import admitting_all_jobs
from fedsched.slurm import Slurm
from fedsched.study import Case, change_of, sweep_of
from fedsched.study.page import energies, verdict
from fedsched.study.record import DAY, WEEK, blocks_of
from fedsched.study.study_case import case_of, federated

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def jobs() -> fs.Workload:
    """Return some jobs that wait."""
    return fs.generate.lublin(70, 32, load=1.1, seed=2)


def test_a_policy_gives_the_numbers_of_simulate(jobs: fs.Workload) -> None:
    """Tests that a scenario's mean wait is the one that `simulate` gives for the same policy and machine."""
    found = fs.study(jobs, {"first come": "policy=fcfs", "larger": "nodes=+25%"}, bounds=False)
    for outcome, policy, nodes in zip(found.outcomes, ("easy", "fcfs", "easy"), (32, 32, 40), strict=True):
        plain = fs.simulate(jobs, fs.Federation.homogeneous(nodes), policy)
        assert outcome.metrics["mean_wait"] == pytest.approx(plain.metrics().mean_wait)
        assert outcome.nodes == nodes


def test_a_study_of_shared_nodes_simulates_them() -> None:
    """Tests that jobs share nodes as in `simulate`, that a job without room is left out, and what is then not said."""
    draw = np.random.default_rng(1)
    cores, tasks = draw.choice([1, 2, 4], 60), draw.choice([1, 1, 1, 2, 9], 60)
    memory = np.where(np.arange(60) == 7, 99, cores)  # no node has as much
    columns = {"submit": np.arange(60.0), "tasks": tasks, "runtime": draw.integers(10, 200, 60).astype(float)}
    some = fs.Workload(**columns, demand={"cpu": cores, "memory": memory})
    machine = fs.Federation((fs.Cluster("C", (fs.NodeGroup(8, resources={"cpu": 8, "memory": 32}),)),))
    sharing = fs.NodeSharing(choice="best")
    found = fs.study(Case(workload=some, federation=machine, sharing=sharing), {"half": "nodes=50%"})
    room = np.delete(some.tasks * cores <= 32, 7)
    kept = some.take(np.delete(np.arange(60), 7)[room])
    assert len(kept) < 59
    for outcome, nodes in zip(found.outcomes, (8, 4), strict=True):
        cluster = fs.Federation((fs.Cluster("C", (fs.NodeGroup(nodes, resources={"cpu": 8, "memory": 32}),)),))
        plain = fs.simulate(kept, cluster, "easy", sharing=sharing)
        assert outcome.wait.tolist() == plain.wait.tolist()
        assert outcome.metrics["utilisation"] == plain.metrics().utilisation
        assert outcome.notes == ("no bound: nodes are shared",)
        assert np.isnan(outcome.bound)


def test_clusters_of_shared_nodes_are_federated() -> None:
    """Tests that a federation of cases shares nodes as they do, and that ones that differ are refused."""
    some = fs.Workload(submit=[0, 0, 1], tasks=[4, 4, 4], runtime=[60, 60, 60], demand={"cpu": [1, 1, 1]})
    machine = fs.Federation((fs.Cluster("C", (fs.NodeGroup(2, resources={"cpu": 4}),)),))
    case = Case(workload=some, federation=machine, sharing=fs.NodeSharing())
    found = fs.study([case, case], {"one": "federate=single"})
    assert [len(one.wait) for one in found.outcomes] == [6, 6]
    assert all(0.0 < one.metrics["utilisation"] <= 1.0 for one in found.outcomes)
    with pytest.raises(TraceError, match="give all clusters the same sharing of nodes"):
        fs.study([case, replace(case, sharing=None)], {"one": "federate=single"})


def test_a_job_that_a_partition_gives_too_few_nodes_is_left_out() -> None:
    """A job is left out if it would get more nodes than its partition allows. Sizes of jobs are numbers of tasks."""
    few = fs.Partition("p", {"c": "all"}, max_nodes=2, default=True)
    nodes = fs.NodeGroup(4, resources={"cpu": 2})
    machine = fs.Federation((fs.Cluster("c", (nodes,)),), partitions=(few,))
    jobs = fs.Workload(submit=[0, 0, 0, 1], tasks=[4, 6, 8, 1], runtime=[5, 5, 5, 5])
    found = fs.study(Case(workload=jobs, federation=machine, sharing=fs.NodeSharing()), {"sjf": "policy=sjf"})
    assert found.size.tolist() == [4, 1]
    assert any(note.startswith("left out of all scenarios: 2 jobs") for note in found.notes)
    assert [share.name for share in found.by_size(found.scenarios[0])] == ["1 task", "2 to 4 tasks"]


def test_a_scenario_of_shared_nodes_is_studied_and_compared(tmp_path: Path) -> None:
    """Tests that the sharing of a scenario's file reaches its study and its instance."""
    fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[60, 60], demand={"cpu": [2, 2]}).write(tmp_path / "jobs.csv")
    fs.Federation((fs.Cluster("C", (fs.NodeGroup(1, resources={"cpu": 4}),)),)).write(tmp_path / "m.toml")
    lines = '[log]\nfile = "jobs.csv"\n[machine]\nfederation = "m.toml"\n[policy]\nname = "easy"\nsharing = "best"\n'
    (tmp_path / "site.toml").write_text(lines, encoding="utf-8")
    found = fs.study(tmp_path / "site.toml", {"fcfs": "policy=fcfs"})
    assert [one.wait.tolist() for one in found.outcomes] == [[0.0, 0.0], [0.0, 0.0]]
    assert fs.Scenario.load(tmp_path / "site.toml").instance().sharing == fs.NodeSharing(choice="best")


def test_differences_are_of_the_same_jobs(jobs: fs.Workload) -> None:
    """Tests that jobs that one scenario has no room for are left out of all, and that this is said."""
    found = fs.study(jobs, {"half": "nodes=50%"}, bounds=False)
    narrow = int((jobs.tasks <= 16).sum())
    assert narrow < len(jobs)
    assert {len(one.wait) for one in found.outcomes} == {narrow}
    assert f"left out of all scenarios: {len(jobs) - narrow} job" in found.notes[0]


def test_an_interval_holds_the_difference_and_repeats() -> None:
    """Tests that the interval is over resampled weeks, holds the value, and is the same for the same seed."""
    many = fs.generate.lublin(300, 32, load=0.8, seed=3)
    slow = replace(many, submit=many.submit * (35 * DAY / np.ptp(many.submit)))
    found = fs.study(slow, {"fewer": "nodes=75%"}, bounds=False, seed=5)
    again = fs.study(slow, {"fewer": "nodes=75%"}, bounds=False, seed=5)
    interval = found.difference(found.scenarios[0])
    assert (found.days_of_block, found.blocks) == (7, 6)
    assert interval.low <= interval.value <= interval.high
    assert interval == again.difference(again.scenarios[0])


def test_few_weeks_are_resampled_by_days_and_few_days_not_at_all() -> None:
    """Tests which jobs belong together, and that there is no interval where there is nothing to resample."""
    assert blocks_of(np.arange(5) * WEEK)[1] == 7
    assert blocks_of(np.arange(5) * DAY)[1] == 1
    short = fs.generate.lublin(40, 16, load=1.0, seed=1)
    short = replace(short, submit=short.submit * (DAY / np.ptp(short.submit)))
    found = fs.study(short, {"more": "nodes=+50%"}, bounds=False)
    value, low, high = found.difference(found.scenarios[0])
    assert value <= 0
    assert np.isnan([low, high]).all()


def test_who_gains_and_who_pays_adds_up(jobs: fs.Workload) -> None:
    """Tests that sizes and users count every job, and that who pays most waits longer."""
    users = replace(jobs, user=np.arange(len(jobs)) % 7)
    found = fs.study(users, {"first come": "policy=fcfs"}, bounds=False)
    [outcome] = found.scenarios
    assert sum(one.of for one in found.by_size(outcome)) == len(jobs)
    assert found.by_user(outcome).of == 7
    assert found.by_user(outcome).more == len(found.paying(outcome, most=7)) > 0
    change = outcome.wait - found.base.wait
    user, _, seconds = found.paying(outcome)[0]
    assert seconds == pytest.approx(change[users.user == user].mean())
    nobody = fs.study(replace(jobs, user=-1), {"first come": "policy=fcfs"}, bounds=False)
    assert nobody.by_user(nobody.scenarios[0]).of == len(nobody.paying(nobody.scenarios[0])) == 0


def test_no_scenario_is_below_its_bound(jobs: fs.Workload) -> None:
    """Tests that what is proven lies below what policies do, as it is and on more nodes."""
    found = fs.study(jobs.head(30), {"more": "nodes=+25%"})
    for outcome in found.outcomes:
        assert outcome.bound <= outcome.metrics["mean_wait"]


def test_requests_and_maintenance_change_what_they_say(jobs: fs.Workload) -> None:
    """Tests that exact requests are the run times, and that nothing runs while all nodes are in maintenance."""
    case = case_of(jobs)
    exact = change_of("estimates=exact")(case)
    assert np.array_equal(exact.workload.estimate, jobs.runtime)
    assert (change_of("estimates=x0.5")(case).workload.estimate >= jobs.runtime).all()
    closed = change_of("maintenance=1h..3h")(case)
    schedule = fs.simulate(closed.workload, closed.federation, "easy")
    first = float(jobs.submit.min())
    running = (schedule.start < first + 3 * 3600) & (schedule.finish > first + 3600)
    assert not running.any()


def test_maintenance_says_when_it_is(jobs: fs.Workload, tmp_path: Path) -> None:
    """Tests that clock times are printed if they are known, and that a closure after the last end changes nothing."""
    first = float(jobs.submit.min())
    dated = replace(jobs, header=(("StartTime", "2027-01-12 08:00:00"),), history=(), submit=jobs.submit - first)
    [note] = change_of("maintenance=1h..3h")(case_of(dated)).notes
    closed = "all nodes closed from 2027-01-12 09:00:00 to 2027-01-12 11:00:00"
    assert note == f"maintenance=1h..3h: {closed}, counted from the first submit"
    told = "all nodes closed from second 3,600 to second 10,800"
    for other in ("load=1.2 maintenance=1h..3h", "load=1 maintenance=1h..3h"):
        assert told in change_of(other)(case_of(dated)).notes[0]
    assert told in change_of("maintenance=1h..3h")(case_of(replace(dated, header=()))).notes[0]
    folder = made_dump(tmp_path / "dump", jobs=60, nodes=8, policy="easy", seed=2)
    assert "closed from 2026-01-05 " in change_of("maintenance=1h..3h")(case_of(folder, policy="easy")).notes[-1]
    found = fs.study(jobs, {"late": "maintenance=5200w..5201w", "soon": "maintenance=1h..3h"}, bounds=False)
    nothing = "changes nothing: no job starts at another time, as no node-time is taken from jobs"
    assert [line for line in found.lines if "changes nothing" in line] == [f"late: {nothing}"]


def test_works_on_all_nodes_stay_where_there_are_more(jobs: fs.Workload) -> None:
    """Tests that a downtime of all nodes is one of all nodes of a larger machine."""
    closed = change_of("maintenance=1h..3h")(case_of(jobs))
    larger = change_of("nodes=+50%")(closed)
    assert larger.federation.nodes == 48
    assert larger.federation.calendar == closed.federation.calendar


@pytest.mark.parametrize(
    ("nodes", "size", "there", "fewer"),
    [("28-31", "100%", "28-31", False), ("0-3", "+50%", "0-3", False), ("2 of 0-3", "50%", "2 of 0-1", False),
     ("12-19", "50%", "12-15", True), ("20 of all", "50%", "16 of all", True), ("0-31", "+50%", "all", False)],
)  # fmt: skip
def test_nodes_that_stay_keep_their_downtimes(
    nodes: str, size: str, there: str, fewer: bool, jobs: fs.Workload
) -> None:
    """Tests that only removed nodes lose their downtimes, and that note and verdict say so of the difference."""
    case = case_of(jobs)
    closed = fs.Downtime(case.federation.clusters[0].name, 0.0, 9000.0, nodes=nodes)
    base = replace(case, federation=replace(case.federation, calendar=(closed,)))
    [kept] = change_of(f"nodes={size}")(base).federation.calendar
    assert kept == replace(closed, nodes=there)
    found = fs.study(base, {"other": f"nodes={size}"}, bounds=False)
    said = [line for line in found.lines if "the difference includes 1 downtime on fewer nodes" in line]
    assert len(said) == fewer
    assert (", which includes 1 downtime on fewer nodes" in verdict(found)) == fewer
    assert (", which includes 1 downtime on fewer nodes" in str(found)) == fewer


def test_the_same_machine_makes_no_difference(tmp_path: Path) -> None:
    """Tests that a dump with downtimes and reservations of single nodes is as it is on 100 % of its nodes."""
    folder = made_dump(tmp_path / "dump", jobs=60, nodes=8, policy="easy", seed=2)
    for policy in ("easy", "slurm"):
        case = case_of(folder, policy=policy)
        calendar = [fs.Downtime("made", 0.0, 9000.0, nodes="5"), fs.Downtime("made", 0.0, 9000.0, nodes="2-3")]
        case = replace(case, federation=replace(case.federation, calendar=tuple(calendar)))
        assert change_of("nodes=100%")(case).federation.calendar == case.federation.calendar
        found = fs.study(case, {"same": "nodes=100%"}, bounds=False)
        assert np.array_equal(found.base.wait, found.scenarios[0].wait, equal_nan=True)


def test_jobs_go_to_another_partition() -> None:
    """Tests that jobs of one partition ask for another one, where there are more nodes."""
    jobs = fs.Workload(submit=np.zeros(4), tasks=np.full(4, 2), runtime=np.full(4, 100.0), nodes=8,
                       labels={"partition": ["small", "small", "small", "large"]})  # fmt: skip
    machine = fs.Federation(
        (fs.Cluster("here", (fs.NodeGroup(8),)),),
        partitions=(fs.Partition("small", (("here", "0-1"),)), fs.Partition("large", (("here", "2-7"),))),
    )
    case = Case(workload=jobs, federation=machine)
    found = fs.study(case, {"all in large": "partition=small>large"}, bounds=False)
    assert sorted(found.base.wait.tolist()) == [0.0, 0.0, 100.0, 200.0]
    assert sorted(found.scenarios[0].wait.tolist()) == [0.0, 0.0, 0.0, 100.0]
    for change in ("partition=small", "partition=small>larg"):
        with pytest.raises(UnknownNameError, match="partition \\(as in partition=FROM>TO\\)"):
            fs.study(case, {"mine": change})
    with pytest.raises(FieldError, match="no job requests a partition"):
        fs.study(replace(case, workload=replace(jobs, labels=None)), {"mine": "partition=small>large"})


def test_idle_nodes_go_off(jobs: fs.Workload) -> None:
    """Tests that power saving is a change: all draw what simulate says, less than what is, and who boots waits."""
    group = fs.NodeGroup(32, busy_watts=300.0, idle_watts=100.0, off_watts=5.0, boot_seconds=240.0)
    machine = fs.Federation((fs.Cluster("here", (group,)),))
    calm = jobs.scale_load(0.3)
    case = Case(workload=calm, federation=machine)
    found = fs.study(case, {"off": "power=timeout:10m", "never": "power=always"}, bounds=False)
    saving = fs.simulate(calm, replace(machine, power=fs.policies.Timeout(600)), "easy")
    assert found.scenarios[0].metrics["energy"] == saving.metrics().energy
    assert found.scenarios[0].metrics["energy"] < found.base.metrics["energy"]
    assert found.scenarios[1].metrics["energy"] == found.base.metrics["energy"]
    assert found.difference(found.scenarios[0]).value > 0.0
    assert [row[0] for row in energies(found)] == ["as it is", "off", "never"]
    assert energies(fs.study(case, {"more": "nodes=+4"}, bounds=False)) == []


def test_clusters_that_are_federated_share_their_jobs() -> None:
    """Tests that several logs are clusters beside each other first, and then one whose jobs may go anywhere."""
    busy, idle = fs.generate.lublin(60, 32, load=1.3, seed=1), fs.generate.lublin(20, 64, load=0.1, seed=2)
    found = fs.study([busy, idle], {"one": "federate=single", "both": "federate=co"}, bounds=False)
    assert found.base.nodes == 96
    assert not any("left out" in note for note in found.notes)
    assert found.scenarios[0].metrics["mean_wait"] < found.base.metrics["mean_wait"]
    alone = [fs.simulate(jobs, fs.Federation.homogeneous(jobs.nodes), "easy") for jobs in (busy, idle)]
    waits = np.concatenate([one.start - one.workload.submit for one in alone])
    assert np.sort(found.base.wait) == pytest.approx(np.sort(waits))


def test_what_a_federation_leaves_out_is_said() -> None:
    """Tests that signals and power saving of one cluster are named where it becomes one of several."""
    jobs = fs.generate.lublin(5, 8, seed=1)
    cluster = fs.Cluster("A", (fs.NodeGroup(8, off_watts=1.0, boot_seconds=60.0),))
    price = fs.Signal((0.0,), (100.0,), "EUR/MWh", beyond="last")
    plain = case_of(jobs)
    saving = replace(plain, federation=fs.Federation((cluster,), signals=(price,), power=fs.policies.Timeout(600)))
    (said,) = federated([saving, plain]).notes
    assert said.endswith("left out in a federation: power saving, signals and caps")


def test_a_function_is_a_change(jobs: fs.Workload) -> None:
    """Tests that whatever words do not say a function can."""

    def no_wide_jobs_first(case: Case) -> Case:
        return replace(case, policy="sjf-easy")

    found = fs.study(jobs, {"mine": no_wide_jobs_first}, bounds=False)
    assert found.scenarios[0].change == "no_wide_jobs_first"
    assert found.scenarios[0].metrics["mean_wait"] != found.base.metrics["mean_wait"]


@pytest.mark.parametrize(
    ("text", "names"),
    [("nodes=80%..140%:20", ["nodes=80%", "nodes=100%", "nodes=120%", "nodes=140%"]),
     ("load=0.8..1.2:0.2", ["load=0.8", "load=1", "load=1.2"]),
     ("estimates=x1..x2:0.5", ["estimates=x1", "estimates=x1.5", "estimates=x2"])],
)  # fmt: skip
def test_a_sweep_is_scenarios_at_several_values(text: str, names: list[str]) -> None:
    """Tests that a sweep goes from the first value to the last one."""
    assert list(sweep_of(text)) == names


@pytest.mark.parametrize(
    ("change", "told"),
    [("nodes", "'nodes' must be NAME=VALUE"), ("nodes=-100%", "leaves no node of 32"),
     ("nodes=many", "must be a number"),
     ("estimates=x0", "must be exact, or a factor"), ("maintenance=3h", "must be a span"),
     ("federate=single", "needs several clusters"), ("set.bf_interval=60", "begin with a dump"),
     ("policy=slurm", "needs the configuration of a dump"), ("load=0", "must be a factor"),
     ("power=never", "power='never' must be always"), ("power=timeout:5m", "give off_watts= of each NodeGroup")],
)  # fmt: skip
def test_a_change_that_cannot_be_is_refused(change: str, told: str, jobs: fs.Workload) -> None:
    """Tests that the error names scenario and value, and the cure."""
    with pytest.raises(FieldError, match=rf"^Scenario mine: .*{told}"):
        fs.study(jobs, {"mine": change})


def test_scenarios_without_names_are_called_by_their_words(jobs: fs.Workload) -> None:
    """Tests that texts and functions alone, or in a list, are what they are under names; a text may say its name."""

    def first_come(case: Case) -> Case:
        return change_of("policy=fcfs")(case)

    named = fs.study(jobs, {"nodes=+25%": "nodes=+25%", "quick": "policy=fcfs"}, bounds=False)
    listed = fs.study(jobs, scenarios=["nodes=+25%", "quick: policy=fcfs"], bounds=False)
    assert str(listed) == str(named)
    for given in (first_come, [first_come]):
        (one,) = fs.study(jobs, given, bounds=False).scenarios
        assert (one.name, one.metrics) == ("first_come", named.scenarios[1].metrics)
    for wrong in (5, [5], {"more": 5}, {3: "nodes=+25%"}, None):
        told = f"study: scenarios={wrong} must be words or functions, by name or not: fs.study(base, {{'more nodes'"
        with pytest.raises(TypeError, match=f"^{re.escape(told)}"):
            fs.study(jobs, wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Two scenarios are named 'policy=fcfs'"):
        fs.study(jobs, ["policy=fcfs"] * 2)


def test_what_is_no_change_is_named(jobs: fs.Workload) -> None:
    """Tests that unknown words, and no scenario at all, are errors."""
    with pytest.raises(UnknownNameError, match=r"Unknown change 'node'\. Did you mean 'nodes'"):
        fs.study(jobs, {"mine": "node=3"})
    with pytest.raises(UnknownNameError, match=r"Unknown change 'order'"):
        fs.study(jobs, {"mine": "order=sjf"})
    with pytest.raises(ValueError, match="there is no scenario"):
        fs.study(jobs, {})
    with pytest.raises(FieldError, match="must be NAME=FROM"):
        sweep_of("nodes=80%")
    with pytest.raises(TraceError, match="does not say how many nodes"):
        fs.study(replace(jobs, nodes=0), {"mine": "policy=fcfs"})


def test_a_dump_is_a_base(tmp_path: Path) -> None:
    """Tests that a dump's jobs are studied under its own policy with its facts given, and as others would."""
    folder = made_dump(tmp_path / "dump", jobs=60, nodes=8, policy="easy", seed=2)
    found = fs.study(folder, {"more": "nodes=+50%", "first come": "policy=fcfs"}, policy="easy", bounds=False)
    assert any(note.startswith("taken as given: ") for note in found.notes)
    assert found.scenarios[0].nodes == 12
    assert len(found.size) < 60


def test_a_dump_stands_beside_its_record(tmp_path: Path, call: Callable[..., Any]) -> None:
    """Tests that the mean wait on record stands beside that of the same jobs here, and that later ones are counted."""
    folder = made_dump(tmp_path / "dump", jobs=60, nodes=8, policy="easy", load=1.5, seed=2)
    found = fs.study(folder, {"first come": "policy=fcfs"}, policy="easy", bounds=False)
    record = replay(folder, "easy")
    recorded, _ = figures.waits(record)
    assert found.recorded is not None
    assert found.recorded.jobs == len(recorded)
    assert found.recorded.wait == pytest.approx(float(recorded.mean()))
    assert found.recorded.jobs + found.recorded.later == len(found.size)
    assert found.recorded.later > 0
    told = str(found.recorded)
    assert f"{found.recorded.later} jobs that begin later: the queue is simulated until it is empty" in told
    assert told in str(found)
    words = ("study", folder, "--policy", "easy", "--no-bounds", "--scenario", "policy=fcfs")
    page = tmp_path / "study.html"
    assert " ".join(told.split()) in " ".join(call(*words, "--out", page)[1].split())
    assert told in page.read_text("utf-8")
    assert json.loads(call(*words, "--json")[1])["recorded"]["jobs"] == found.recorded.jobs


def test_what_a_log_lacks_is_cured_by_a_scenarios_file(tmp_path: Path, call: Callable[..., Any]) -> None:
    """Tests that errors name only what a study takes, and that a scenario's file gives machine and slurm.conf."""
    log, conf, file = (tmp_path / name for name in ("jobs.csv", "slurm.conf", "s.toml"))
    log.write_text("submit,tasks,runtime\n0,2,60\n0,2,60\n0,2,60\n", encoding="utf-8")
    conf.write_text(CONF, encoding="utf-8")
    words = ("--no-bounds", "--scenario", "nodes=+4")
    code, _, err = call("study", log, *words)
    assert (code, err.count("\n")) == (2, 1)
    assert "or a scenario (a TOML file with nodes = N or federation = FILE under [machine])" in err
    code, _, err = call("study", log, "--policy", "slurm", *words)
    assert (code, err.count("\n")) == (2, 1)
    assert "a scenario's TOML file with name = 'slurm' and conf = FILE under [policy]" in err
    file.write_text('[log]\nfile = "jobs.csv"\n[machine]\nnodes = 2\n', encoding="utf-8")
    assert [one["nodes"] for one in json.loads(call("study", file, *words, "--json")[1])["outcomes"]] == [2, 6]
    file.write_text('[log]\nfile = "jobs.csv"\n[policy]\nname = "slurm"\nconf = "slurm.conf"\n', encoding="utf-8")
    for policy in ((), ("--policy", "slurm")):
        said = json.loads(call("study", file, *policy, *words, "--json")[1])["outcomes"]
        assert [one["nodes"] for one in said] == [8, 12]


CONF = """\
ClusterName=here
SchedulerType=sched/backfill
SelectType=select/linear
PriorityType=priority/basic
NodeName=n[1-6] CPUs=8 RealMemory=16000
NodeName=g[1-2] CPUs=8 RealMemory=16000 Feature=fast
PartitionName=main Nodes=ALL Default=YES
PartitionName=gpu Nodes=g[1-2]
"""


@pytest.fixture
def under_slurm(jobs: fs.Workload, tmp_path: Path) -> Case:
    """Return a case under Slurm's policy, on nodes of two kinds in two partitions."""
    path = tmp_path / "slurm.conf"
    path.write_text(CONF, encoding="utf-8")
    policy = Slurm(read_slurm_conf(path))
    return Case(workload=jobs, federation=admitting_all_jobs(federation_of(policy.conf)), policy=policy)


@pytest.mark.parametrize(
    ("size", "main", "gpu", "told"),
    [
        ("+4", 12, 3, "3 more like n1, 1 more like g1"),
        ("50%", 4, 1, "3 fewer like n1, 1 fewer like g1"),
        ("gpu:+4", 12, 6, "4 more like g1"),
        ("gpu:50%", 7, 1, "1 fewer like g1"),
        ("fast:3", 9, 3, "1 more like g1"),
        ("main:+0", 8, 2, "as many as before"),
    ],
)
def test_nodes_of_a_slurm_conf_change_in_proportion_or_as_chosen(
    size: str, main: int, gpu: int, told: str, under_slurm: Case
) -> None:
    """Tests that all kinds of hosts have their share, that some can be chosen, and that it is said which they are."""
    changed = change_of(f"nodes={size}")(under_slurm)
    assert isinstance(changed.policy, Slurm)
    conf = changed.policy.conf
    assert changed.federation.nodes == main
    assert [len(conf.hosts_of_partition(name)) for name in ("main", "gpu")] == [main, gpu]
    assert changed.notes == (f"nodes={size}: {told}",)


def test_hosts_that_stay_keep_their_downtimes(under_slurm: Case, tmp_path: Path) -> None:
    """Tests that downtimes go by hosts' names, and that jobs lose reservations that go with their hosts."""
    closed = (
        fs.Downtime("here", 0.0, 60.0, nodes="5"),
        fs.Downtime("here", 0.0, 60.0, nodes="6-7"),
        fs.Downtime("here", 0.0, 60.0, nodes="7", kind="reservation", name="course"),
    )
    labels = {"reservation": ["course", *[""] * (len(under_slurm.workload) - 1)]}
    case = replace(
        under_slurm,
        workload=replace(under_slurm.workload, labels=labels),
        federation=replace(under_slurm.federation, calendar=closed),
    )
    smaller = change_of("nodes=50%")(case)  # n1 to n3 and g1
    assert [one.nodes for one in smaller.federation.calendar] == ["3"]
    said = "2 downtimes gone with its nodes and 1 downtime on fewer nodes and 1 job without the reservation"
    assert smaller.dropped == (said.replace("its", "their"),)
    assert (smaller.workload.label("reservation") == "").all()
    larger = change_of("nodes=+8")(case)
    assert (larger.federation.calendar, larger.dropped) == (closed, ())
    path = tmp_path / "other.conf"
    path.write_text(CONF.replace("n[1-6]", "n[5-6]").replace("g[1-2]", "g[2,1]"), encoding="utf-8")
    other = change_of(f"conf={path}")(case)  # n5, n6, g1, g2
    assert [one.nodes for one in other.federation.calendar] == ["1", "2-3", "3"]
    with pytest.raises(FieldError, match=r"leaves partition 'gpu' no node"):
        change_of("nodes=1")(case)


def test_a_note_names_its_scenario_once(under_slurm: Case) -> None:
    """A note begins with the scenario's name, which is not said twice where the note itself begins with it."""
    said = fs.study(under_slurm, {"nodes=+4": "nodes=+4"}, bounds=False).lines
    assert [line for line in said if "like n1" in line] == ["nodes=+4: 3 more like n1, 1 more like g1"]


def test_nodes_of_one_cluster_can_be_chosen() -> None:
    """Tests that a cluster's name before a size leaves the others as they are."""
    groups = (fs.NodeGroup(6), fs.NodeGroup(2))
    machine = fs.Federation((fs.Cluster("a", groups), fs.Cluster("b", (fs.NodeGroup(5),))))
    case = Case(workload=fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0]), federation=machine)
    assert [group.count for group in change_of("nodes=a:+50%")(case).federation.groups] == [9, 3, 5]
    with pytest.raises(UnknownNameError, match=r"Unknown cluster .* 'c'"):
        change_of("nodes=c:+1")(case)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("set.bf_windo=10", "Unknown parameter of slurm.conf .* 'bf_windo'. Did you mean 'bf_window'"),
        ("set.PriorityTyp=priority/basic", "'PriorityTyp'. Did you mean 'PriorityType'"),
        ("set.PreemptType=preempt/qos", "changes nothing: PreemptType is not modelled; leave it out"),
        ("set.SlurmdPort=7", "changes nothing: SlurmdPort decides on no start; leave it out"),
        ("set.bf_continue=yes", "changes nothing: bf_continue decides on no start; leave it out"),
        ("set.PartitionName=a", "changes nothing: PartitionName is of a whole file"),
        ("nodes=gpus:+4", "Unknown partition or feature of nodes .* 'gpus'. Did you mean 'gpu'"),
    ],
)
def test_what_would_change_nothing_is_refused(change: str, told: str, under_slurm: Case) -> None:
    """Tests that names that Slurm does not have, and parameters that no start depends on here, are errors."""
    with pytest.raises((FieldError, UnknownNameError), match=told):
        change_of(change)(under_slurm)


def test_a_switch_is_set_and_unset(under_slurm: Case) -> None:
    """Tests that a word of SchedulerParameters that is no number comes and goes, and that a number replaces another."""
    on = change_of("set.assoc_limit_stop=yes set.bf_interval=60 set.BF_INTERVAL=90")(under_slurm)
    assert isinstance(on.policy, Slurm)
    assert on.policy.conf.parameters["schedulerparameters"] == "assoc_limit_stop,bf_interval=90"
    off = change_of("set.assoc_limit_stop=no")(on)
    assert isinstance(off.policy, Slurm)
    assert off.policy.conf.parameters["schedulerparameters"] == "bf_interval=90"


@pytest.mark.slow
def test_a_slurm_conf_is_turned(tmp_path: Path) -> None:
    """Tests that parameters of a dump's slurm.conf, and its nodes, can be others."""
    folder = made_dump(tmp_path / "dump", jobs=40, nodes=8, troubles=False, seed=2)
    changes = {"no backfilling": "set.SchedulerType=sched/builtin", "rare": "set.bf_interval=600", "more": "nodes=+4"}
    found = fs.study(folder, changes, bounds=False)
    assert "builtin" in found.scenarios[0].policy
    conf = tmp_path / "slurm.conf"
    lines = ["ClusterName=made", "NodeName=n[1-8] CPUs=8 RealMemory=16000", "PartitionName=main Nodes=ALL Default=YES",
             "SchedulerType=sched/builtin", "PriorityType=priority/multifactor", "PriorityWeightAge=1000",
             "PriorityWeightQOS=500", "SelectType=select/linear"]  # fmt: skip
    conf.write_text("\n".join(lines) + "\n", encoding="utf-8")
    [whole] = fs.study(folder, {"a file": f"conf={conf}"}, bounds=False).scenarios
    assert whole.policy == found.scenarios[0].policy
    assert np.array_equal(whole.wait, found.scenarios[0].wait, equal_nan=True)
    assert found.scenarios[1].metrics != found.base.metrics
    assert found.scenarios[2].nodes == 12
    conf.write_text("\n".join(lines).replace("n[1-8]", "n[1-6]").replace("WeightQOS", "WeightQQS"), encoding="utf-8")
    smaller = change_of(f"conf={conf}")(case_of(folder))
    assert smaller.federation.nodes == 6
    assert "PriorityWeightQQS (no word of Slurm's; did you mean PriorityWeightQOS?)" in " ".join(smaller.notes)


def test_the_command_says_the_same(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that the command's table, page and JSON are those of the study."""
    page = tmp_path / "study.html"
    words = ("study", "sample", "--no-bounds", "--scenario", "bigger: nodes=+20%", "--sweep", "load=0.5..0.6:0.1")
    status, out, _ = call(*words, "--out", page)
    assert status == 0
    assert "bigger" in out
    assert "Who gains, who pays" in page.read_text(encoding="utf-8")
    said = json.loads(call(*words, "--json")[1])
    assert [one["name"] for one in said["outcomes"]] == ["as it is", "bigger", "load=0.5", "load=0.6"]
    assert said["outcomes"][1]["difference"]["value"] <= 0
