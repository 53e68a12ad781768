"""What a log holds and the model does not: said in one line, of the very jobs at hand."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import TYPE_CHECKING

import fedsched as fs
from fedsched.io.slurm_files.sacct import read_sacct
from fedsched.model.jobs.unmodelled import CPUS_AS_NODES, sentence, unmodelled
from fedsched.optimize.result import Result

if TYPE_CHECKING:
    from pathlib import Path

HEAD = (
    "JobIDRaw|JobID|Cluster|Partition|User|Submit|Start|ElapsedRaw|TimelimitRaw|State|AllocCPUS|ReqTRES|ReqMem|QOS"
    "|Reservation|Constraints|Suspended"
)
LICENSED = replace(fs.Federation.homogeneous(8), pools=(fs.Pool("x", 9),))
DAY = "2024-03-01T"
GPU, LARGE = "billing=4,cpu=4,gres/gpu:a100=2,mem=8G,node=1", "cpu=4,gres/gpu=0,license/x=1,mem=0,node=1"
DUMP = (
    f"1|1|east|batch|ada|{DAY}10:00:00|{DAY}10:05:00|3600|120|COMPLETED|4|{GPU}|8G|normal|||00:00:00",
    f"2|2_7|east|long|bob|{DAY}10:01:00|{DAY}10:09:00|60|10|FAILED|4|{LARGE}|0|high|||00:10:00",
    f"3|3+1|east|gpu|bob|{DAY}10:02:00|{DAY}10:09:00|60|10|COMPLETED|4|cpu=4,gres/gpu=1||normal|r1|ib|00:00:00",
    f"4|4|east|batch|bob|{DAY}10:03:00|{DAY}10:09:00|60|10|COMPLETED|4|cpu=4,node=1|0n|||(null)|INVALID",
)


def dump(path: Path, rows: tuple[str, ...] = DUMP) -> fs.Workload:
    """Return the jobs of a dump of these rows."""
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return fs.read(path)


def swf(path: Path, *rows: str) -> fs.Workload:
    """Return the jobs of a log of these rows, none of whose partitions is a site."""
    path.write_text("; MaxProcs: 8\n" + "\n".join(rows) + "\n")
    return fs.read(path, sites=None)


def test_what_slurms_jobs_ask_for_is_counted(tmp_path: Path) -> None:
    """Tests that GPUs and all else that a dump says of its jobs is counted, zeros, words and known memory not."""
    assert dump(tmp_path / "a.sacct").unmodelled == (
        "2 jobs with GPUs",
        "1 job of arrays (how many tasks run together is not known)",
        "1 job in heterogeneous jobs",
        "1 job of another quality of service than normal",
        "1 job in reservations",
        "1 job suspended on the way",
        "1 job failed or cancelled (run as long as they did)",
    )


def test_licences_with_a_unit_are_counted(tmp_path: Path) -> None:
    """Tests that licences of which only a rounded number is known are no need of a pool, and are said to be there."""
    rounded, exact = (DUMP[1].replace("license/x=1", f"license/x={amount}") for amount in ("2K", "2000"))
    said = "1 job with other devices, or licences of which one will do or whose number has a unit"
    jobs = dump(tmp_path / "a.sacct", (rounded,))
    assert said in jobs.unmodelled
    assert jobs.pools is None
    jobs = dump(tmp_path / "b.sacct", (exact,))
    assert said not in jobs.unmodelled
    assert jobs.pools.names == ("x",)


def test_that_cpus_stand_for_nodes_is_said(tmp_path: Path) -> None:
    """Tests that a dump whose jobs have more CPUs than nodes says that a CPU is a node here, unless nodes count."""
    head, said = "JobIDRaw|Submit|Start|ElapsedRaw|State|NNodes|AllocCPUS\n", CPUS_AS_NODES
    row = f"1|{DAY}10:00:00|{DAY}10:05:00|3600|COMPLETED|2|"
    path, narrow = tmp_path / "a.sacct", tmp_path / "b.sacct"
    path.write_text(f"{head}{row}16\n")
    narrow.write_text(f"{head}{row}2\n")
    jobs = fs.read(path)
    assert jobs.unmodelled == (said,)
    assert said in str(fs.simulate(jobs, fs.Federation.homogeneous(16)))
    assert fs.Workload.merge(jobs, fs.read(narrow), sites=("a", "b")).unmodelled == (said,)
    assert fs.read(narrow).unmodelled == read_sacct(path, unit="nodes").unmodelled == ()
    jobs.write(tmp_path / "a.csv")
    assert fs.read(tmp_path / "a.csv").unmodelled == (said,)


def test_what_an_archive_log_holds_is_counted(tmp_path: Path) -> None:
    """Tests that pooled partitions and queues, memory, dependencies and failures of a log are counted."""
    jobs = swf(
        tmp_path / "a.swf",
        "1 0 5 60 4 -1 -1 4 90 2048 1 1 1 -1 0 1 -1 -1",
        "2 9 5 60 4 -1 77 4 90 -1 5 1 1 -1 1 2 1 10",
        "3 9 5 60 4 -1 -1 4 90 -1 1 1 1 -1 1 2 -1 -1",
    )
    assert jobs.unmodelled == (
        "2 partitions pooled",
        "2 queues pooled",
        "2 jobs with memory needs",
        "1 job after other jobs",
        "1 job with think times",
        "1 job failed or cancelled (run as long as they did)",
    )
    assert swf(tmp_path / "b.swf", "1 0 5 60 4 -1 -1 4 90 -1 1 1 1 -1 0 1 -1 -1").unmodelled == ()
    assert fs.Workload.example().unmodelled == ()


def test_partitions_that_are_sites_are_not_pooled(tmp_path: Path) -> None:
    """Tests that what became a site is not said to be lost, until a single cluster takes all of them."""
    rows = (*DUMP, DUMP[1].replace("2|2_7|east", "5|5|west"))
    jobs = dump(tmp_path / "a.sacct", rows)
    assert jobs.sites == ("east", "west")
    assert unmodelled(jobs, fs.Federation.of(4, 4))[1] == "4 partitions pooled"
    apart = fs.read(tmp_path / "a.sacct", sites="partition")
    assert not any("pooled" in fact for fact in apart.unmodelled)
    assert unmodelled(apart, fs.Federation.homogeneous(8))[0] == "4 sites pooled into one cluster"
    assert unmodelled(apart, fs.Federation.of(4, 4))[0] == "4 sites pooled into 2 clusters of other names"
    known = jobs.rename_sites({"east": "C1", "west": "C2"}).filter(lambda w: (w.id == 1) | (w.id == 5))
    assert not any("pooled" in fact for fact in unmodelled(known, fs.Federation.of(4, 4)))


def test_the_line_is_of_the_jobs_at_hand(tmp_path: Path) -> None:
    """Tests that a head, a sample and a merger say what they hold, not what the file does."""
    jobs = dump(tmp_path / "a.sacct")
    assert jobs.head(1).unmodelled == ("1 job with GPUs",)
    assert jobs.take([3]).unmodelled == ()
    merged = fs.Workload.merge(jobs, jobs.head(1), sites=("a", "b"))
    assert merged.unmodelled[0] == "3 jobs with GPUs"
    assert unmodelled(merged, fs.Federation.of(4, 4))[1] == "4 partitions pooled"


def test_files_keep_the_line(tmp_path: Path) -> None:
    """Tests that a CSV copy and a saved result hold what is not modelled, and an SWF copy says that it loses it."""
    jobs = dump(tmp_path / "a.sacct")
    jobs.write(tmp_path / "a.csv")
    assert fs.read(tmp_path / "a.csv") == jobs
    assert fs.read(tmp_path / "a.csv").unmodelled == jobs.unmodelled
    result = fs.optimize(jobs, LICENSED, evaluations=20)
    result.save(tmp_path / "r.json")
    again = Result.load(tmp_path / "r.json")
    assert again.unmodelled == result.unmodelled == unmodelled(jobs, LICENSED)
    assert sentence(again.unmodelled) in str(again)


def test_schedules_and_results_say_it(tmp_path: Path) -> None:
    """Tests that whatever is printed of a log with GPUs and partitions has the line, and nothing else has one."""
    jobs, machine = dump(tmp_path / "a.sacct"), LICENSED
    schedule = fs.simulate(jobs, machine)
    facts = unmodelled(jobs, machine)
    said = sentence(facts)
    assert facts[3:] == jobs.unmodelled
    assert said in str(schedule)
    assert html.escape(said) in schedule._repr_html_()
    assert schedule.to_json()["not_modelled"] == list(facts)
    schedule.report(tmp_path / "r.html")
    assert html.escape("; ".join(facts)) in (tmp_path / "r.html").read_text(encoding="utf-8")
    plain = replace(jobs, log=None, labels=None, demand=None)
    assert "not modelled" not in str(fs.simulate(plain, machine))
    assert "not modelled" not in str(plain)
