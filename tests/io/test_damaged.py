"""Files whose values no machine has, or whose brackets have no end: an error of one line, soon."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched.core.errors import FedschedError, SteerError, TraceError
from fedsched.io import read, read_federation
from fedsched.io.files import parse_json
from fedsched.io.slurm_files.hosts import read_hosts
from fedsched.io.slurm_files.reservations import reservations_in
from fedsched.io.slurm_files.slurm_records import records_of
from fedsched.io.tables.downtimes import read_calendar
from fedsched.site.steer.jobs_read import jobs_of_json, jobs_of_text
from fedsched.site.steer.machine_read import nodes_of_json, nodes_of_text, partitions_of, settings_of
from fedsched.site.steer.undo import KIND, Undo
from fedsched.slurm.result.clocks import Clocks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEEP = "[" * 100_000
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n"
HUGE = [10**400, float("inf"), float("nan"), 2**64 - 2]


def test_a_pods_time_that_no_clock_reaches_is_refused(tmp_path: Path) -> None:
    """A number of a table of pods is below 2**53, and the error names its line and column."""
    file = tmp_path / "a.openb"
    file.write_text(f"{PODS}p,1000,512,0,0,1e308,10,0\n")
    with pytest.raises(TraceError, match=r"line 2: creation_time=.1e308. must be a number, 0 or above"):
        read(file)


@pytest.mark.parametrize("content", [DEEP, '{"epoch": ' + "9" * 5000 + "}"])
def test_clocks_that_are_no_json_are_refused(content: str, tmp_path: Path) -> None:
    """Brackets without end and numbers of thousands of digits are no JSON."""
    file = tmp_path / "clocks.json"
    file.write_text(content)
    with pytest.raises(TraceError, match="it is not valid JSON"):
        Clocks.read(file)


def undo(**changed: Any) -> str:
    """Return an undo file with something changed in its one job."""
    job = {"target": "7", "user": "u", "submit": 1.0, "nice": 3, "given": [5], "begins": [1700000000]} | changed
    return json.dumps({"kind": KIND, "cluster": "c", "jobs": {"7": job}, "deadlines": {}, "promised": {}})


@pytest.mark.parametrize(
    "content", [undo(nice=float("inf")), undo(given=[float("inf")]), undo(submit=10**400), undo(nice="x"), DEEP]
)
def test_an_undo_file_of_values_that_are_none_is_refused(content: str, tmp_path: Path) -> None:
    """An undo file is read whole or refused in one line, whatever its numbers are."""
    file = tmp_path / "undo.json"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(SteerError, match="it is not an undo file"):
        Undo.open(file, "c")


def printed(**changed: Any) -> str:
    """Return what squeue prints of one job, with something changed in it."""
    job = {"job_id": 4, "job_state": ["PENDING"], "priority": 1} | changed
    return json.dumps({"jobs": [job]})


@pytest.mark.parametrize("value", HUGE)
@pytest.mark.parametrize("name", ["array_job_id", "nice", "cpus", "node_count", "time_limit"])
def test_a_number_of_squeue_that_is_none_counts_as_not_said(name: str, value: float) -> None:
    """A number of a job that is infinite or beyond all floats is taken as none."""
    [found] = jobs_of_json(printed(**{name: value})).read
    assert (found.number, found.nice, found.nodes, found.cpus) == (4, 0, 1, 1)


@pytest.mark.parametrize("value", HUGE)
@pytest.mark.parametrize("name", ["priority", "job_id"])
def test_a_number_of_squeue_that_must_be_said_is_named(name: str, value: float) -> None:
    """Where a job cannot be without a number, one that is infinite or beyond all floats is named."""
    with pytest.raises(SteerError, match=f" {name} is missing or not a number"):
        jobs_of_json(printed(**{name: value}))


def test_a_value_of_text_that_is_no_number_is_named() -> None:
    """A nice value or a count of CPUs that is no number is named with its line."""
    job = "JobId=4 JobState=RUNNING UserId=u(1) Priority=1 Nice=-x NumNodes=1 NumCPUs=1 Partition=p Account=a QOS=q "
    job += "SubmitTime=5 EligibleTime=5 StartTime=5 TimeLimit=01:00:00 Reason=None"
    with pytest.raises(SteerError, match="line 1: Nice=-x is not a whole number"):
        jobs_of_text(job)
    with pytest.raises(SteerError, match="line 1: CPUTot=many is not a whole number"):
        nodes_of_text("NodeName=n1 State=IDLE CPUTot=many")


def test_a_tier_of_more_digits_than_any_number_is_named() -> None:
    """A partition's tier that no whole number of Slurm's can be is named with its line."""
    with pytest.raises(SteerError, match=r"line 1: PriorityTier=9.* is not a whole number"):
        partitions_of(f"PartitionName=p Nodes=n1 PriorityTier={'9' * 5000}")


def test_a_limit_of_0_is_none() -> None:
    """As for sbatch, a limit of 0 minutes is no limit, in JSON and in text."""
    job = "JobId=4 JobState=PENDING UserId=u(1) Priority=1 Nice=0 NumNodes=1 NumCPUs=1 Partition=p TimeLimit=00:00:00"
    for [found], _ in (jobs_of_json(printed(time_limit=0)), jobs_of_text(job)):
        assert found.limit == float("inf")


@pytest.mark.parametrize("read_it", [jobs_of_json, nodes_of_json])
def test_deep_json_of_slurm_is_no_json(read_it: Callable[[str], object]) -> None:
    """What Slurm prints is refused where its brackets have no end."""
    with pytest.raises(FedschedError, match="is not JSON"):
        read_it(DEEP)


LONG = "9" * 5000
JOB = "JobId=4 JobState=PENDING Priority=1 Nice=0 NumNodes=1 NumCPUs=1 Partition=p Account=a QOS=q UserId=u(1) "
DIGITS: dict[str, Callable[[Path], object]] = {
    "reservations": lambda _: [
        one.count() for one in reservations_in(f"ReservationName=r StartTime=2027-01-01T00:00:00 NodeCnt={LONG}", "")
    ],
    "a calendar's seed": lambda file: read_calendar(written(file, f"cluster,begin,end,seed\nC1,0,9,{LONG}\n")),
    "a partition": lambda _: partitions_of(f"PartitionName=p Nodes=n1 PriorityTier={LONG}"),
    "an array's tasks": lambda _: jobs_of_text(f"{JOB} ArrayJobId=4 ArrayTaskId=0-{LONG} SubmitTime=5 EligibleTime=5"),
    "the clock": lambda _: settings_of(f"Configuration data as of {LONG}\nPriorityType = priority/basic\n"),
    "sites": lambda _: fs.Federation.of(2, 2).clusters_of_sites([LONG]),
}


def written(file: Path, text: str) -> Path:
    """Return the file, with this text in it."""
    file.write_text(text)
    return file


@pytest.mark.parametrize("kind", DIGITS)
def test_numbers_of_thousands_of_digits_are_refused(kind: str, tmp_path: Path) -> None:
    """Python converts no text of over 4,300 digits; readers refuse it in a short line of their own."""
    with pytest.raises(FedschedError, match=r"^[^\n]{10,500}$") as caught:
        DIGITS[kind](tmp_path / "a.csv")
    assert "4300" not in str(caught.value)


def test_hosts_of_thousands_of_digits_of_cpus_are_hosts(tmp_path: Path) -> None:
    """A number of CPUs that no machine has counts as not said."""
    for text in (f"NodeName=n[1-2] CPUs={LONG}\n", f"NODELIST CPUS\nn1 {LONG}\nn2 {LONG}\n"):
        hosts = read_hosts(written(tmp_path / "a.txt", text), fs.Federation.of(2))
        assert {*hosts.places} == {"n1", "n2"}


def test_a_plan_of_more_nodes_than_numbers_hold_is_refused(tmp_path: Path) -> None:
    """A number of nodes in a schedule's file is one that arrays hold, and the error names its line."""
    log, there = fs.Workload(submit=[0], tasks=[1], runtime=[5]), fs.Federation.of(4)
    fs.simulate(log, there).to_csv(tmp_path / "plan.csv")
    text = (tmp_path / "plan.csv").read_text()
    (tmp_path / "plan.csv").write_text(text.rstrip("\n").rpartition(",")[0] + ",1e300\n")
    with pytest.raises(fs.errors.ScheduleError, match="line 2: a field is missing or no number"):
        fs.Schedule.read(tmp_path / "plan.csv", log, there)


def test_readers_take_no_time_that_grows_with_the_square(tmp_path: Path) -> None:
    """Equal names, a long word, a key of many parts and a long line are read or refused, else it takes hours."""
    pairs = ",".join(f'"k{k}":1' for k in range(300_000))
    with pytest.raises(FedschedError):
        parse_json(f'{{{pairs},"k299999":2}}', "x")
    assert records_of("NodeName=n1 " + "a" * 2_000_000)[0].words == {"nodename": "n1"}
    log, site = tmp_path / "a.swf", tmp_path / "a.toml"
    log.write_text("1 0 -1 10 1 -1 -1 1 20 -1 1 7 -1 -1 -1 -1 -1 -1" + " 1" * 1_000_000 + "\n")
    with pytest.raises(FedschedError):
        read(log)
    site.write_text("a" + ".a" * 200_000 + " = 1\n")
    with pytest.raises(FedschedError):
        read_federation(site)


def test_what_has_too_many_parts_is_told_so(tmp_path: Path) -> None:
    """The error for a key of many parts, or a job of many fields, says how many there may be."""
    log, site = tmp_path / "a.swf", tmp_path / "a.toml"
    log.write_text("1 0 -1 10 1 -1 -1 1 20 -1 1 7 -1 -1 -1 -1 -1 -1" + " 1" * 1000 + "\n")
    with pytest.raises(TraceError, match="its first job has 1,018 fields, more than 1000 and any log; check the"):
        read(log)
    site.write_text("x = { a" + ".a" * 200 + " = 1 }\n")
    with pytest.raises(FedschedError, match="a key of more than 100 parts"):
        read_federation(site)
    text = "a description of one. " * 200
    site.write_text(f'description = """\n{text}\n"""\n[[cluster]]\nname = "a"\n[[cluster.group]]\ncount = 1\n')
    assert read_federation(site).nodes == 1
