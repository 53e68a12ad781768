"""What jobs of Slurm's dumps are called, ask for and wait for: labels, conditions on each other, earliest starts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import InfeasibleError, OutputError, TraceError
from fedsched.io.slurm_files.sacct import read_sacct
from fedsched.io.slurm_files.sacct_waits import MOST, wanted_in
from fedsched.model.jobs.log import Demand
from fedsched.model.jobs.unmodelled import unmodelled

if TYPE_CHECKING:
    from pathlib import Path

HEAD = (
    "JobIDRaw|JobID|Cluster|Partition|Account|User|Submit|Eligible|JobName|Start|ElapsedRaw|State|AllocCPUS|QOS|"
    "Reservation|Constraints|SubmitLine"
)
DAY = "2024-03-01T"


def row(
    job: int,
    line: str = "",
    *,
    at: str = "10:00:00",
    id: str = "",
    cluster: str = "east",
    partition: str = "batch",
    state: str = "COMPLETED",
    features: str = "",
    name: str = "fit",
    eligible: str = "",
    user: str = "ada",
    reservation: str = "",
) -> str:
    """Return a line of a dump."""
    return (
        f"{job}|{id or job}|{cluster}|{partition}|phys|{user}|{DAY}{at}|{DAY}{eligible or at}|{name}|{DAY}23:00:00|60|"
        f"{state}|2|normal|{reservation}|{features}|{line}"
    )


def read(path: Path, *rows: str, head: str = HEAD) -> fs.Workload:
    """Return the jobs of a dump of these lines."""
    path.write_text("\n".join([head, *rows]) + "\n")
    return fs.read(path)


def after(jobs: fs.Workload) -> dict[int, str]:
    """Return what each job waits for, of those that do."""
    return {job.id: job.after for job in jobs if job.after is not None}


def test_what_jobs_are_called_is_kept(tmp_path: Path) -> None:
    """Tests that each column becomes a label; words for nothing become none, but a job may be called so."""
    jobs = read(
        tmp_path / "a.sacct",
        row(1, partition="batch", features="ib&v100", name="none", reservation="r1"),
        row(2, partition="long,batch", features="(null)", name="plot it"),
        row(3, partition="long", features="[rack1*2]", reservation="(null)"),
    )
    assert [job.labels for job in jobs] == [
        {"partition": "batch", "user": "ada", "account": "phys", "qos": "normal", "name": "none", "features": "ib&v100",
         "reservation": "r1"},
        {"partition": "long", "user": "ada", "account": "phys", "qos": "normal", "name": "plot it"},
        {"partition": "long", "user": "ada", "account": "phys", "qos": "normal", "name": "fit"},
    ]  # fmt: skip
    assert jobs.unmodelled == (
        "1 job in reservations",
        "1 job for nodes of features in words that are not read",
        "1 job for one of several partitions (the first is taken)",
    )
    assert "labels: partition of 3 jobs (long, batch), user of 3 jobs (ada), account of 3 jobs (phys)" in str(jobs)


def test_what_came_of_jobs_is_kept(tmp_path: Path) -> None:
    """Tests that why jobs waited, how often they came back and who started them become labels that bind nobody."""
    lines = (
        f"1|{DAY}10:00:00|60|COMPLETED|2|Priority|0|SchedMain|a|4294901757|n[1-2]",
        f"2|{DAY}10:00:00|60|COMPLETED|2|None|2|SchedBackfill,Other|b|0|None assigned",
        f"3|{DAY}10:00:00|60|COMPLETED|2|Resources|1||c||n7",
    )
    jobs = read(
        tmp_path / "a.sacct", *lines,
        head="JobIDRaw|Submit|ElapsedRaw|State|AllocCPUS|Reason|Restarts|Flags|JobName|Priority|NodeList",
    )  # fmt: skip
    assert [job.labels for job in jobs] == [
        {"name": "a", "reason": "Priority", "started_by": "main", "priority": "4294901757", "nodes": "n[1-2]"},
        {"name": "b", "restarts": "2", "started_by": "backfill"},
        {"name": "c", "reason": "Resources", "restarts": "1", "nodes": "n7"},
    ]
    assert jobs.unmodelled == ()
    machine = fs.Federation.of(2)  # fewer nodes than the log's, which bind nobody
    assert fs.simulate(jobs, machine).start.tolist() == fs.simulate(replace(jobs, labels=None), machine).start.tolist()
    data = {"jobs": [{"job_id": 7, "time": {"submission": 1, "eligible": 1, "start": 5, "end": 9, "elapsed": 4},
                      "state": {"current": ["COMPLETED"], "reason": "Priority"}, "restart_cnt": 1,
                      "priority": {"set": True, "infinite": False, "number": 12}, "nodes": "n[3,5]",
                      "required": {"CPUs": 2}, "tres": {"allocated": [{"type": "cpu", "count": 2}]},
                      "flags": ["CLEAR_SCHEDULING", "STARTED_ON_BACKFILL"]}]}  # fmt: skip
    (tmp_path / "b.json").write_text(json.dumps(data))
    [job] = read_sacct(tmp_path / "b.json")
    assert job.labels == {"reason": "Priority", "restarts": "1", "started_by": "backfill", "priority": "12",
                          "nodes": "n[3,5]"}  # fmt: skip


def test_labels_bind_only_where_the_machine_has_what_they_name(tmp_path: Path) -> None:
    """Tests that partitions and features hold on a machine that has them, and that it is said where it has none."""
    jobs = read(tmp_path / "a.sacct", row(1, features="ib"), row(2, partition="long"), row(3, partition="long"))
    plain = fs.Federation.homogeneous(4)
    assert (fs.simulate(jobs, plain).start == fs.simulate(replace(jobs, labels=None), plain).start).all()
    assert unmodelled(jobs, plain) == ("2 partitions pooled", "1 job with features (the machine's nodes have none)")
    cluster = fs.Cluster("east", (fs.NodeGroup(2, features=("ib",)), fs.NodeGroup(2)))
    halves = (fs.Partition("batch", {"east": "0-1"}), fs.Partition("long", {"east": "2-3"}))
    machine = fs.Federation((cluster,), partitions=halves)
    schedule = fs.simulate(jobs, machine)
    assert schedule.start.tolist() == [0, 0, 60]
    assert schedule.unmodelled == ()
    with pytest.raises(InfeasibleError, match="exceeds the 0 nodes with features 'v100'"):
        fs.simulate(read(tmp_path / "b.sacct", row(1, features="v100")), machine)


def test_sites_and_labels_stand_side_by_side(tmp_path: Path) -> None:
    """Tests that partitions that are sites keep their own names as labels, and are not said to be pooled then."""
    rows = (row(1), row(2, partition="long"), row(3, cluster="west"))
    jobs = read(tmp_path / "a.sacct", *rows)
    assert jobs.sites == ("east", "west")
    assert "3 partitions pooled" in unmodelled(jobs, fs.Federation.of(4, 4))
    apart = fs.read(tmp_path / "a.sacct", sites="partition")
    assert apart.sites == ("east/batch", "east/long", "west/batch")
    assert apart.label("partition").tolist() == ["batch", "long", "batch"]
    assert not any("partitions" in fact for fact in unmodelled(apart, fs.Federation.of(4, 4)))


@pytest.mark.parametrize("features", ["ib|v100", "[a|b]", "ib&x|v100"])
def test_bars_inside_of_texts_part_no_fields(features: str, tmp_path: Path) -> None:
    """Tests that a bar in a text, which Slurm leaves as it is, is that text's, wherever its column stands."""
    jobs = read(tmp_path / "a.sacct", row(1, features=features), row(2, "sbatch --wrap=cat x | sort | uniq"), row(3))
    assert len(jobs) == 3
    assert jobs.label("features").tolist() == ["" if "[" in features else features, "", ""]
    both = read(tmp_path / "f.sacct", row(1, f"sbatch -C {features} x | y", features=features, name="u|v"))
    assert both[0].labels == jobs[0].labels | {"name": "u|v"}
    named = read(tmp_path / "b.sacct", row(1, "sbatch x", name="a|b"), row(2, "sbatch -d afterok:1 x", name="c|d"))
    assert named.label("name").tolist() == ["a|b", "c|d"]
    assert after(named) == {2: "afterok:1"}
    beside = HEAD.replace("JobName|", "").replace("Constraints|", "Constraints|JobName|")
    fields = row(1, features="ib|v100").replace("|fit|", "|").replace("ib|v100|", "ib|v100|fit|")
    assert read(tmp_path / "e.sacct", fields, head=beside)[0].labels["features"] == "ib|v100"
    with pytest.raises(TraceError, match="18 fields, but 17 columns"):
        read(tmp_path / "c.sacct", row(1, user="a|b"))
    head, other = HEAD.replace("|", "\t"), row(1, features="\x1f").replace("|", "\t").replace("\x1f", "ib|v100")
    assert read(tmp_path / "d.sacct", other, head=head).label("features").tolist() == ["ib|v100"]


def test_conditions_are_on_the_jobs_of_the_dump(tmp_path: Path) -> None:
    """Tests that jobs wait for others, their arrays' tasks, those of their own number, and lags in minutes."""
    tasks = [row(20 + k, id=f"20_{k}", at="10:00:10", state="FAILED" if k == 2 else "COMPLETED") for k in (1, 2, 3)]
    line, late = "sbatch --dependency={} job.sh", "10:01:00"
    jobs = read(
        tmp_path / "a.sacct",
        row(10),
        *tasks,
        row(30, line.format("afterok:10"), at=late, eligible="10:05:00"),
        row(31, line.format("afterany:20"), at=late),
        row(32, line.format("after:10+5,singleton"), at=late),
        row(33, line.format("20_3"), at=late),
        row(34, line.format("afternotok:20"), at=late),
        row(35, line.format("afterok:20_[1,3]:10"), at=late),
        row(41, line.format("aftercorr:20"), at=late, id="40_1"),
        row(42, line.format("aftercorr:20"), at=late, id="40_9"),
        row(43, line.format("aftercorr:20_3"), at=late, id="40_2"),
        row(44, line.format("aftercorr:20_3"), at=late, id="40_8"),
        row(50, line.format("afterok:99"), at=late, eligible="11:00:00"),
        row(51, at=late, eligible="11:00:00"),
    )
    assert after(jobs) == {
        30: "afterok:10",
        31: "afterany:21,afterany:22,afterany:23",
        32: "after:10+5,singleton",
        33: "afterany:23",
        34: "afterany:21,afternotok:22,afterany:23",
        35: "afterok:21,afterok:23,afterok:10",
        41: "afterok:21",
        42: "afterok:21,afterok:22,afterok:23",
        43: "afterok:22",
        44: "afterok:23",
        50: "afterok:99",
    }
    assert jobs.cleaning is not None
    assert jobs.cleaning.held == 1  # the others say why
    assert "1 job after jobs that are not here (taken to have ended before)" in unmodelled(jobs, fs.Federation.of(9))
    assert not any("words that are not read" in fact for fact in jobs.unmodelled)


def test_a_requeued_job_ends_with_its_last_record(tmp_path: Path) -> None:
    """Tests that whoever waits for a job waits for its last run, and that a number used again is another job's."""
    jobs = read(
        tmp_path / "a.sacct",
        row(10, state="NODE_FAIL"),
        row(11, "sbatch -d afterok:10 x", at="10:10:00"),
        row(10, at="10:20:00"),
        row(9, "sbatch -d afterok:12 x", at="10:30:00"),
        row(12, at="10:40:00"),
    )
    assert after(jobs) == {11: "afterok:13", 9: "afterok:14"}
    assert jobs.cleaning is not None
    assert jobs.cleaning.renumbered == 1
    assert {job.id: job.submit for job in jobs}[13] == 1200
    assert not any(job.id == 14 for job in jobs)


def test_clusters_have_numbers_of_their_own(tmp_path: Path) -> None:
    """Tests that a number is of a job of the same cluster, unless Slurm's federation gave it."""
    far = (3 << 26) + 1
    jobs = read(
        tmp_path / "a.sacct",
        row(10),
        row(10, cluster="west", at="10:00:01"),
        row(far, cluster="west"),
        row(11, "sbatch -d afterok:10 x", cluster="west", at="10:10:00"),
        row(12, f"sbatch -d afterok:{far} x", at="10:10:00"),
        row(13, "sbatch -d afterok:11 x", at="10:20:00"),
    )
    west = next(job.id for job in jobs if job.submit == 1)
    said = after(jobs)
    assert (said[11], said[12]) == (f"afterok:{west}", f"afterok:{far}")
    assert int(said[13].partition(":")[2]) not in jobs.id


def test_what_is_not_modelled_of_conditions_is_counted_by_name(tmp_path: Path) -> None:
    """Tests that each kind of condition that is not read is said by its own words, and the others are read."""
    line = "sbatch -d {} x"
    texts = ("afterok:1?afterok:2", "afterburstbuffer:1,afterok:1", "expand:1", "when:1", "afterok:x")
    rows = [row(10 + k, line.format(text), at="10:10:00") for k, text in enumerate(texts)]
    jobs = read(
        tmp_path / "a.sacct",
        row(1),
        *rows,
        row(20, "sbatch x -d afterok:1", at="10:10:00"),
        row(21, "sbatch --begin=whenever x", at="10:10:00"),
    )
    assert after(jobs) == {11: "afterok:1"}
    assert jobs.unmodelled == (
        "3 jobs after other jobs in words that are not read",
        "1 job after one of several others (? in a dependency)",
        "1 job after others' burst buffers (afterburstbuffer)",
        "1 job that expand others (expand)",
        "1 job with an earliest start (--begin) that is not read",
    )
    nameless = read(
        tmp_path / "b.sacct",
        *(one.replace("|fit|", "|") for one in (row(1), row(2, line.format("singleton")))),
        head=HEAD.replace("JobName|", ""),
    )
    assert nameless.after is None
    assert nameless.unmodelled == ("1 job alone of their name (singleton), in a log without names or users",)


def test_a_column_of_dependencies_holds_before_the_command_line(tmp_path: Path) -> None:
    """Tests that a column Dependency, as squeue shows it, is read, and what it leaves open the command line says."""
    rows = (row(1), row(2, "sbatch -d afterok:7 x", at="10:10:00"), row(3, "sbatch -d afterok:1 x", at="10:20:00"))
    ends = ("(null)", "afterany:1_*(unfulfilled)", "")
    jobs = read(
        tmp_path / "a.sacct",
        *(f"{one}|{end}" for one, end in zip(rows, ends, strict=True)),
        head=f"{HEAD}|Dependency",
    )
    assert after(jobs) == {2: "afterany:1", 3: "afterok:1"}


def test_earliest_starts_are_after_the_submit(tmp_path: Path) -> None:
    """Tests that a begin is on the clock of the submits, that one in the past is none, and what is unknown counted."""
    texts = ("now+1hour", "16:00", "2024-03-02", "now", "2023-01-01")
    jobs = read(
        tmp_path / "a.sacct",
        row(1),
        *(row(2 + k, f"sbatch -b {text} x", at="10:10:00") for k, text in enumerate(texts)),
    )
    assert [job.begin for job in jobs] == [None, 4200, 21600, 50400, None, None]
    assert jobs.unmodelled == ()
    assert fs.read(tmp_path / "a.sacct", rebase=True) == jobs
    later = read_sacct(tmp_path / "a.sacct", rebase=True).filter(lambda w: w.id > 1).rebased()
    assert [job.begin for job in later] == [3600, 21000, 49800, None, None]
    head = "JobIDRaw|Submit|ElapsedRaw|AllocCPUS|SubmitLine"
    since = read(
        tmp_path / "b.sacct", "1|1700000000|60|1|sbatch -b 16:00 x", "2|1700000000|60|1|sbatch -b now+9 x", head=head
    )
    assert [job.begin for job in since] == [None, 9]
    assert since.unmodelled == ("1 job with an earliest start (--begin) that is not read",)


def test_numbering_anew_takes_conditions_along(tmp_path: Path) -> None:
    """Tests that jobs that are read with numbers 1..n wait for the same jobs as before."""
    read(tmp_path / "a.sacct", row(70), row(80, "sbatch -d afterok:70:5,singleton x", at="10:10:00"))
    assert after(read_sacct(tmp_path / "a.sacct", renumber=True)) == {2: "afterok:1,singleton"}


def test_arrays_that_wait_for_arrays_are_listed_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the tasks of two arrays do not make conditions without end; those left out are counted."""
    monkeypatch.setattr("fedsched.io.slurm_files.sacct_waits.MOST", 100)
    first = [row(100 + k, id=f"100_{k}") for k in range(20)]
    second = [row(200 + k, "sbatch -a 0-9 -d afterany:100 x", id=f"200_{k}", at="10:10:00") for k in range(10)]
    jobs = read(tmp_path / "a.sacct", *first, *second)
    assert jobs.after is not None
    assert jobs.after.waits.job.size == 100 < MOST
    assert "5 jobs after arrays of too many tasks to list" in jobs.unmodelled


@pytest.mark.parametrize(
    ("text", "found", "lacking"),
    [
        ("", 0, 0),
        ("0", 0, 0),
        ("(null)", 0, 0),
        ("AFTEROK:1,Singleton", 2, 0),
        ("afterok:1:2:3", 3, 0),
        ("1,2_3,4_*", 3, 0),
        ("afterany:5_[1-9:2,20%3]", 6, 0),
        ("afterok:", 0, Demand.DEPENDENCY),
        ("afterok:1,,afterok:2", 2, Demand.DEPENDENCY),
        ("singleton:3", 0, Demand.DEPENDENCY),
        ("12+5", 0, Demand.DEPENDENCY),
        ("afterok:1+x", 0, Demand.DEPENDENCY),
        ("afterok:١", 0, Demand.DEPENDENCY),
        ("after:1_[0-99999999]", 100_000, 0),
        ("expand:1?afterok:2", 0, Demand.EITHER_OR),
    ],
)
def test_words_of_conditions(text: str, found: int, lacking: int) -> None:
    """Tests that each form counts as many conditions, and what is none is named."""
    wanted, missing = wanted_in(text)
    assert (len(wanted), missing) == (found, lacking)


def test_json_says_the_same(tmp_path: Path) -> None:
    """Tests that names, features with bars and command lines of sacct --json become what those of its lines do."""
    job = {
        "job_id": 7, "cluster": "a", "partition": "p", "user": "u", "account": "x", "name": "a|b",
        "constraints": "ib|gpu",
        "state": {"current": "COMPLETED"},
        "submit_line": "sbatch " + "--comment=long " * 40 + "-d afterok:6 x",
        "time": {"elapsed": 60, "eligible": 1700000010, "end": 1700000160, "start": 1700000100,
                 "submission": 1700000010},
        "tres": {"allocated": [{"type": "cpu", "name": None, "count": 2}], "requested": []},
    }  # fmt: skip
    first = job | {"job_id": 6, "submit_line": "", "time": job["time"] | {"submission": 1700000000}}  # type: ignore[operator]
    (tmp_path / "a.json").write_text(json.dumps({"jobs": [first, job]}))
    jobs = fs.read(tmp_path / "a.json")
    assert jobs[1].labels == {"partition": "p", "user": "u", "account": "x", "name": "a|b", "features": "ib|gpu"}
    assert after(jobs) == {7: "afterok:6"}


def test_files_give_back_what_was_read(tmp_path: Path) -> None:
    """Tests that CSV and Batsim files keep labels, conditions and starts, and SWF the partitions, as queues."""
    jobs = read(
        tmp_path / "a.sacct", row(1), row(2, "sbatch -d afterok:1 -b now+60 x", at="10:10:00", partition="long")
    )
    for suffix in (".csv", ".json"):
        jobs.write(tmp_path / f"a{suffix}")
        assert fs.read(tmp_path / f"a{suffix}").extras == jobs.extras
    with pytest.raises(OutputError, match=r"no place for after and begin and labels \(qos, name\);"):
        jobs.write(tmp_path / "a.swf")
    plain = replace(jobs, after=None, begin=None, labels={"partition": jobs.label("partition")})
    plain.write(tmp_path / "a.swf")
    assert fs.read(tmp_path / "a.swf").labels == plain.labels
    assert fs.read(tmp_path / "a.swf", queues=None).labels is None
    assert np.unique(fs.read(tmp_path / "a.swf").log.queue).tolist() == [1, 2]


def test_queues_of_a_log_may_be_partitions(tmp_path: Path) -> None:
    """Tests that the queues of an SWF log are partitions where that is asked, by their names or their numbers."""
    rows = (f"{k} {k} 5 60 1 -1 -1 1 90 -1 1 1 1 -1 {queue} 1 -1 -1" for k, queue in enumerate((0, 1, 7, -1), start=1))
    (tmp_path / "a.swf").write_text(
        "; MaxProcs: 4\n; Queue: 0 express\n; Queue:  1  [long one]  \n" + "\n".join(rows) + "\n"
    )
    assert fs.read(tmp_path / "a.swf").labels is None
    jobs = fs.read(tmp_path / "a.swf", queues="partition")
    assert jobs.label("partition").tolist() == ["express", "[long one]", "7", ""]
    assert unmodelled(jobs, fs.Federation.of(4)) == ("3 partitions pooled",)
    assert fs.read(tmp_path / "a.swf").unmodelled == ("3 queues pooled",)
    jobs.write(tmp_path / "b.swf")
    assert fs.read(tmp_path / "b.swf") == jobs
    renamed = replace(jobs, labels={"partition": ["x", "y", "", "x"]})
    renamed.write(tmp_path / "c.swf")
    assert fs.read(tmp_path / "c.swf").label("partition").tolist() == ["x", "y", "", "x"]
    (tmp_path / "d.swf").write_text("1 1 5 60 1 -1 -1 1 90 -1 1 1 1 -1 -1 1 -1 -1\n")
    with pytest.raises(TraceError, match=r"no job has a queue \(field 15\)"):
        fs.read(tmp_path / "d.swf", queues="partition")
    (tmp_path / "d.csv").write_text("submit,tasks,runtime\n0,1,5\n")
    with pytest.raises(ValueError, match="is for logs in the Standard Workload Format"):
        fs.read(tmp_path / "d.csv", queues="partition")
    with pytest.raises(ValueError, match='must be "auto", "partition" or None'):
        fs.read(tmp_path / "d.swf", queues="all")  # type: ignore[arg-type]


def test_so_many_tasks_of_an_array_run_together(tmp_path: Path) -> None:
    """The command line tells the limit, JobID the array; each cluster has arrays of its own, and others have none."""
    dump = tmp_path / "jobs.sacct"
    lines = [
        row(1234570, "sbatch --array=1-3%2 a.sh", id="1234567_1"),
        row(1234571, "sbatch --array=1-3%2 a.sh", id="1234567_2"),
        row(1234567, "sbatch --array=1-3%2 a.sh", id="1234567_3"),
        row(5, "sbatch -a 0-9:2%1 a.sh", id="4_0", cluster="west"),
        row(6, "sbatch --array=1-3 a.sh", id="7_1"),
        row(8, "sbatch --array=1-3%2 a.sh", id="8"),  # a job that is of no array
        row(9, "sbatch --comment=1%2 a.sh", id="9_1"),
    ]
    jobs = read(dump, *lines)
    told = dict(zip(jobs.id.tolist(), jobs.label("array").tolist(), strict=True))
    assert [told[job] for job in (1234570, 1234571, 1234567)] == ["1234567%2"] * 3
    assert told[5] == "4.2%1"
    assert [told[job] for job in (6, 8, 9)] == [""] * 3
    assert not any("arrays" in fact for fact in jobs.unmodelled)
    starts = fs.simulate(jobs.filter(jobs.label("array") == "1234567%2"), fs.Federation.homogeneous(64)).start
    assert sorted(starts) == [0.0, 0.0, 60.0]


def test_users_keep_their_names(tmp_path: Path) -> None:
    """Tests that accounts find the users of a dump by name, from the dump itself and from a log made of it."""
    head = "JobIDRaw|User|UID|Account|Submit|ElapsedRaw|State|AllocCPUS"
    path, log, assoc = tmp_path / "a.sacct", tmp_path / "a.swf", tmp_path / "assoc.txt"
    rows = [f"{job}|{user}|{uid}|phys|{DAY}10:00:0{job}|60|COMPLETED|1"
            for job, user, uid in ((1, "ada", 1001), (2, "bob", 17), (3, "ada", 1001))]  # fmt: skip
    jobs = read(path, *rows, head=head)
    assert jobs.user.tolist() == [1001, 17, 1001]
    assert jobs.label("user").tolist() == ["ada", "bob", "ada"]
    jobs.write(log)
    assert "; Note: fedsched: user 1001 is ada\n" in log.read_text()
    again = fs.read(log)
    for name in ("user", "account"):
        assert again.label(name).tolist() == jobs.label(name).tolist()
    again.write(tmp_path / "b.swf")
    assert (tmp_path / "b.swf").read_text().count("user 1001 is ada") == 1
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "ClusterName=c\nSchedulerType=sched/backfill\nSelectType=select/linear\nPriorityType=priority/multifactor\n"
        "PriorityWeightFairshare=100\nNodeName=n[1-4]\nPartitionName=p Nodes=ALL Default=YES\n"
    )
    names = "Cluster|Account|User|Par Name|Share\nc|root|||1\nc|phys||root|1\nc|phys|ada||1\n"
    assoc.write_text(names + "c|phys|bob||1\n")
    machine = fs.read_federation(conf)
    for workload in (jobs, again):
        assert fs.simulate(workload, machine, fs.policies.Slurm(conf, assoc=assoc)).complete
        assoc.write_text(names)
        with pytest.raises(TraceError, match="user 'bob' is not in the account 'phys': no file tells of it"):
            fs.simulate(workload, machine, fs.policies.Slurm(conf, assoc=assoc))
        assoc.write_text(names + "c|phys|bob||1\n")


def test_how_many_tasks_stand_on_a_node_is_told_by_how_many_nodes_a_job_has(tmp_path: Path) -> None:
    """Tests that --ntasks-per-node is no fact that jobs lack whose size is their nodes; of CPUs it is."""
    path = tmp_path / "jobs.sacct"
    path.write_text(
        "JobID|Submit|ElapsedRaw|AllocCPUS|NNodes|SubmitLine\n"
        "1|2026-11-27T16:00:00|60|8|2|sbatch -N2 --ntasks-per-node=4 job\n"
        "2|2026-11-27T16:01:00|60|8|2|sbatch -N2 --tasks-per-node 4 --switches=1 job\n",
        encoding="utf-8",
    )
    for unit, there in (("nodes", False), ("cpus", True)):
        said = "; ".join(fs.read(path, unit=unit).unmodelled)
        assert "1 job with --switches" in said
        assert ("--ntasks-per-node" in said, "--tasks-per-node" in said) == (there, there)
