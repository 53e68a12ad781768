"""Downtimes on the command line and in scenarios, and what is said of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import fedsched as fs
from fedsched.io.tables.downtimes import read_calendar
from fedsched.site.twin import made_dump
from fedsched.study.scenario.files import read_scenario, write_scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CALENDAR = "cluster,begin,end,nodes,name\ncluster,10,50,2 of all,switches\ncluster,900,,1 of 0-3,\n"


def test_the_command_line_takes_a_calendar(call: Callable[..., Any], tmp_path: Path) -> None:
    """--calendar closes nodes; how much was closed stands with the metrics."""
    log, works = tmp_path / "jobs.csv", tmp_path / "works.csv"
    log.write_text("submit,tasks,runtime\n0,4,20\n0,2,5\n", encoding="utf-8")
    works.write_text(CALENDAR, encoding="utf-8")
    plain = json.loads(call("simulate", log, "--nodes", "4", "--json")[1])
    closed = json.loads(call("simulate", log, "--nodes", "4", "--calendar", works, "--json")[1])
    assert (plain["metrics"]["makespan"], closed["metrics"]["makespan"]) == (25.0, 70.0)
    said = call("simulate", log, "--nodes", "4", "--calendar", works)[1]
    assert "closed by 2 downtimes: 28.57% of the nodes' time until the last job ends" in said
    status, said, _ = call("optimize", log, "--nodes", "4", "--calendar", works, "--evaluations", "50")
    assert status == 0
    assert "planned without" not in said
    works.write_text("cluster,begin,end,nodes,kind\ncluster,5,30,1 of all,outage\n", encoding="utf-8")
    status, said, _ = call("optimize", log, "--nodes", "4", "--calendar", works, "--evaluations", "50")
    assert status == 0
    assert "planned without 1 downtime that became known later; figures are of what came" in said
    told = json.loads(call("optimize", log, "--nodes", "4", "--calendar", works, "--evaluations", "50", "--json")[1])
    assert told["foresight"].startswith("planned without 1 downtime")
    assert len(told["planned"]) == len(told["front"])


def test_info_shows_downtimes(call: Callable[..., Any], tmp_path: Path) -> None:
    """A federation's downtimes are a table of its page, and a list of its JSON."""
    machine = fs.Federation(
        fs.Federation.homogeneous(4).clusters,
        calendar=(
            fs.Downtime("cluster", 10.0, 50.0, nodes="2 of all", name="switches"),
            fs.Downtime("cluster", 60.0, 80.0, kind="outage"),
            fs.Downtime("cluster", 900.0, kind="drain", known_from=800.0),
        ),
    )
    machine.write(tmp_path / "machine.toml")
    said = call("info", tmp_path / "machine.toml")[1]
    for line in ("2 of all", "maintenance switches", "the outset", "80 (not known)", "drain", "800"):
        assert line in said
    told = json.loads(call("info", tmp_path / "machine.toml", "--json")[1])
    assert [one["kind"] for one in told["calendar"]] == ["maintenance", "outage", "drain"]


def test_scenarios_name_a_calendar(tmp_path: Path) -> None:
    """A scenario's calendar is a file of its folder, and comes back as it was written."""
    (tmp_path / "works.csv").write_text(CALENDAR, encoding="utf-8")
    (tmp_path / "s.toml").write_text(
        '[log]\nfile = "sample"\n[machine]\nnodes = 128\ncalendar = "works.csv"\n', encoding="utf-8"
    )
    scenario = read_scenario(tmp_path / "s.toml")
    assert len(scenario.machine.cluster().calendar) == 2
    write_scenario(scenario, tmp_path / "again.toml")
    assert read_scenario(tmp_path / "again.toml") == scenario


def test_who_lost_a_run_is_said(call: Callable[..., Any], tmp_path: Path) -> None:
    """The one command names who was queued again or killed and what it cost; the other one whom a downtime takes."""
    log, works = tmp_path / "jobs.csv", tmp_path / "works.csv"
    log.write_text("submit,tasks,runtime\n0,2,20\n1,2,20\n", encoding="utf-8")
    works.write_text(
        "cluster,begin,end,nodes,kind,on_running,victims,seed\n"
        "cluster,5,8,1 of all,outage,requeue,,\ncluster,15,18,1 of all,outage,kill,random,3\n", encoding="utf-8"
    )  # fmt: skip
    said = call("simulate", log, "--nodes", "4", "--calendar", works)[1]
    for line in ("queued again by downtimes: 1 job (2)", "killed by downtimes: 1 job (", "wasted_node_seconds"):
        assert line in said
    told = json.loads(call("simulate", log, "--nodes", "4", "--calendar", works, "--json")[1])
    assert told["metrics"]["requeues"] == 1.0
    assert "requeues" not in call("simulate", log, "--nodes", "4")[1]
    works.write_text(works.read_text(encoding="utf-8").replace("15,18,1 of", "15,18,4 of"), encoding="utf-8")
    assert "killed by downtimes: 2 jobs (1, 2)" in call("simulate", log, "--nodes", "4", "--calendar", works)[1]
    machine = fs.Federation(fs.Federation.homogeneous(4).clusters, calendar=read_calendar(works))
    machine.write(tmp_path / "machine.toml")
    said = call("info", tmp_path / "machine.toml")[1]
    assert "outage (requeues the latest jobs)" in said
    assert "outage (kills jobs at random)" in said
    works.write_text(
        "cluster,begin,end,nodes,kind,on_running,victims\ncluster,5,8,0,outage,requeue,recorded\n", encoding="utf-8"
    )
    fs.Federation(machine.clusters, calendar=read_calendar(works)).write(tmp_path / "machine.toml")
    assert "outage (requeues the jobs on them)" in call("info", tmp_path / "machine.toml")[1]


RES = (
    "ReservationName=works StartTime=2027-01-12T08:00:10 EndTime=2027-01-12T08:00:50 Duration=00:00:40 "
    "Nodes=n[1-2] NodeCnt=2 Flags=MAINT,DAILY,SPEC_NODES Users=root\n"
    "ReservationName=course StartTime=2027-01-12T08:00:00 EndTime=2027-01-13T08:00:00 Duration=1-00:00:00 "
    "Nodes=n1 NodeCnt=1 Flags=DAILY,SPEC_NODES Accounts=physics\n"
)
DUMP = "JobID|Submit|Start|End|State|NNodes|NCPUS\n" + "".join(
    f"{job}|2027-01-12T08:00:{submit:02d}|2027-01-12T08:00:{submit:02d}|2027-01-12T08:01:00|COMPLETED|{nodes}|{cpus}\n"
    for job, submit, nodes, cpus in ((1, 5, 2, 8), (2, 6, 2, 8), (3, 7, 4, 16))
)


def test_the_command_line_takes_what_slurm_prints(call: Callable[..., Any], tmp_path: Path) -> None:
    """The dump's first submit is second 0; what was left out and assumed is said, as text and in JSON."""
    log, works, hosts = tmp_path / "log.sacct", tmp_path / "works.txt", tmp_path / "hosts.txt"
    for path, text in ((log, DUMP), (works, RES), (hosts, "cluster = n[1-4]\n")):
        path.write_text(text, encoding="utf-8")
    machine = ("--nodes", 4, "--unit", "nodes", "--calendar", works)
    code, out, err = call("simulate", log, *machine, "--json")
    assert code == 0, err
    said = json.loads(out)
    held = "of the calendar's file: 1 reservation for users or accounts left out, since they repeat (course)"
    assert held in said["not_modelled"]
    taken = "second 0 is 2027-01-12 08:00:05 by the calendar's clock, StartTime of the log's header, so that every"
    assert any(fact.startswith(taken) for fact in said["assumed"])
    code, out, _ = call("simulate", log, *machine, "--hosts", hosts, "--calendar-until", "2027-01-14")
    assert code == 0
    assert f"{held}\n" in out
    assert "2 downtimes" in out
    assert "--hosts says which" not in out
    code, _, err = call("simulate", log, "--calendar", works, "--nodes", 16)
    assert (code, err.count("\n")) == (2, 1)
    assert "the log's tasks are CPUs; read the log with unit='nodes'" in err
    words = {"--calendar-on-running": "kill", "--calendar-victims": "random"}
    for option in ("--hosts", "--calendar-origin", "--calendar-until", *words):
        code, _, err = call("simulate", log, "--nodes", 4, option, words.get(option, hosts))
        assert (code, err) == (2, f"fedsched: {option} is for a --calendar; give one, or leave it out.\n")


EVENTS = (
    "Cluster|NodeName|TimeStart|TimeEnd|State|Reason\n"
    "cluster|n1|2027-01-12T08:00:08|2027-01-12T08:00:20|DOWN|memory\n"
    "cluster|n4|2027-01-12T08:00:09|2027-01-12T08:00:30|DRAIN|disk\n"
)


def test_the_command_line_says_what_outages_do_to_jobs(call: Callable[..., Any], tmp_path: Path) -> None:
    """As counted the free nodes fail; as recorded the first one does, and the job on it loses its run."""
    log, events, hosts = tmp_path / "jobs.csv", tmp_path / "events.txt", tmp_path / "hosts.txt"
    log.write_text("submit,tasks,runtime\n0,1,20\n0,1,30\n", encoding="utf-8")
    events.write_text(EVENTS, encoding="utf-8")
    hosts.write_text("cluster = n[1-4]\n", encoding="utf-8")
    machine = ("--nodes", 4, "--calendar", events, "--calendar-origin", "2027-01-12T08:00:00", "--hosts", hosts)
    for victims, lost in (("latest", 0), ("recorded", 1)):
        words = ("--calendar-on-running", "requeue", "--calendar-victims", victims)
        code, out, err = call("simulate", log, *machine, *words, "--json")
        assert code == 0, err
        assert json.loads(out)["metrics"]["requeues"] == lost
    code, out, _ = call("simulate", log, *machine, "--calendar-victims", "recorded", "--json")
    assert (code, json.loads(out)["metrics"].get("requeues", 0)) == (0, 0)
    code, _, err = call("simulate", log, *machine, "--calendar-victims", "random")
    assert (code, err.count("\n")) == (2, 1)
    assert "give on_running='requeue' or 'kill' (fedsched: --calendar-on-running)" in err
    works = tmp_path / "works.csv"
    for text in (CALENDAR, RES):
        works.write_text(text, encoding="utf-8")
        code, _, err = call("simulate", log, "--nodes", 4, "--calendar", works, "--calendar-on-running", "kill")
        assert (code, err.count("\n")) == (2, 1)
        assert "leave out on_running= (fedsched: --calendar-on-running), which is for Slurm's and" in err


CONF = "NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\nPriorityType=priority/basic\n"


def test_policy_slurm_names_what_events_need(call: Callable[..., Any], tmp_path: Path) -> None:
    """Slurm's scheduler closes named nodes: those that are assumed are said, and with the hosts they are known."""
    log, events, conf = tmp_path / "log.sacct", tmp_path / "events.txt", tmp_path / "slurm.conf"
    for path, text in ((log, DUMP), (events, EVENTS), (conf, CONF)):
        path.write_text(text, encoding="utf-8")
    words = ("simulate", log, "--unit", "nodes", "--policy", "slurm", "--conf", conf, "--calendar", events)
    code, out, err = call(*words)
    assert code == 0, err
    assert out.count("as Slurm closes named nodes") == 2
    code, out, err = call(*words, "--hosts", conf, "--calendar-victims", "recorded")
    assert code == 0, err
    assert "closed by 2 downtimes" in out


def test_a_dumps_folder_is_a_calendar(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that a dump closes the nodes of its events and its reservations, and past ones once."""
    folder = made_dump(tmp_path / "dump", jobs=60, nodes=8, policy="easy", seed=2)
    rows = ["NodeName|TimeStart|TimeEnd|State|Reason", "n3|2026-01-05T08:00:10|2026-01-05T18:00:00|DOWN|disk", ""]
    (folder / "events.txt").write_text("\n".join(rows), encoding="utf-8")
    when = "StartTime=2026-01-05T09:00:00 EndTime=2026-01-05T10:00:00"
    (folder / "reservations.txt").write_text(f"ReservationName=b {when} Nodes=n2 Flags=MAINT,SPEC_NODES\n")
    span = "2026-01-05T09:00:00|2026-01-05T10:00:00"
    past = [f"b|{span}|n2|MAINT", f"a|{span}|n[7-8]|MAINT"]
    (folder / "past-reservations.txt").write_text("\n".join(["Name|TimeStart|TimeEnd|NodeName|Flags", *past, ""]))
    machine = fs.read_federation(folder / "nodes.txt", "slurm")
    found = read_calendar(folder, federation=machine, origin="2026-01-05T08:00:00")
    assert [(one.kind, one.name, one.begin, one.nodes) for one in found] == [
        ("outage", "disk", 10.0, "2"), ("maintenance", "b", 3600.0, "1"), ("maintenance", "a", 3600.0, "6-7"),
    ]  # fmt: skip
    words = ("simulate", folder / "jobs.sacct", "--unit", "nodes", "--policy", "slurm", "--conf", folder)
    code, out, err = call(*words, "--calendar", folder)
    assert code == 0, err
    assert "closed by" in out


def test_scenarios_name_hosts_and_times(tmp_path: Path) -> None:
    """All that says how a calendar is read is of the machine, and its files lead from the scenario's folder."""
    (tmp_path / "works.txt").write_text(RES, encoding="utf-8")
    (tmp_path / "hosts.txt").write_text("cluster = n[1-4]\n", encoding="utf-8")
    (tmp_path / "s.toml").write_text(
        '[log]\nfile = "sample"\n[machine]\nnodes = 4\ncalendar = "works.txt"\nhosts = "hosts.txt"\n'
        'calendar_origin = "2027-01-12T08:00:00"\ncalendar_until = "200000"\n',
        encoding="utf-8",
    )
    scenario = read_scenario(tmp_path / "s.toml")
    found = scenario.machine.cluster().calendar
    assert [(one.begin, one.nodes) for one in found] == [(10.0, "0-1"), (86410.0, "0-1"), (172810.0, "0-1")]
    assert scenario.sources[-1].endswith("hosts.txt")
    write_scenario(scenario, tmp_path / "again.toml")
    assert read_scenario(tmp_path / "again.toml") == scenario
    (tmp_path / "works.txt").write_text(EVENTS, encoding="utf-8")
    asked = 'calendar_on_running = "kill"\ncalendar_victims = "recorded"\n'
    (tmp_path / "s.toml").write_text((tmp_path / "s.toml").read_text(encoding="utf-8") + asked, encoding="utf-8")
    scenario = read_scenario(tmp_path / "s.toml")
    found = scenario.machine.cluster().calendar
    assert [(one.nodes, one.on_running) for one in found] == [("0", "kill"), ("3", "wait")]
    write_scenario(scenario, tmp_path / "again.toml")
    assert read_scenario(tmp_path / "again.toml") == scenario
