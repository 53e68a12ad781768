"""A queue out of what Slurm prints: every form says the same, and whatever is wrong stops the reading."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from support.fake_slurm import NOW, FakeSlurm, Job, running

from fedsched.core.errors import FedschedError, SteerError
from fedsched.site.steer import Shell, read_queue, shell_line
from fedsched.site.steer.commands import give_nice, look_at
from fedsched.site.steer.jobs_read import SCONTROL, SQUEUE, jobs_of_json, jobs_of_text
from fedsched.site.steer.machine_read import nodes_of_json, nodes_of_text, partitions_of, settings_of
from fedsched.site.steer.picture import picture_of
from fedsched.site.steer.reading import READS
from fedsched.site.steer.runners import AnnouncingRunner


def full() -> FakeSlurm:
    """Return a cluster with jobs of every kind."""
    return FakeSlurm.of(
        running(1, "1-2"),
        running(2, "3", minutes=4, since=300),  # over its limit
        running(3, "4", account="biology"),
        Job(4, nodes=2, minutes=math.inf, nice=7),
        Job(5, tasks="0-3,7%2"),
        Job(6, begin=NOW + 500, reason="BeginTime"),
        Job(7, held=True, reason="JobHeldUser"),
        Job(8, reason="Dependency"),
        Job(9, state="COMPLETED", reason="None"),
    )


def test_every_form_says_the_same() -> None:
    """The JSON of old and new data parsers, and text where there is none, give one queue."""
    fake = full()
    old = read_queue(fake)
    fake.newer = True
    new = read_queue(fake)
    fake.without_json = True
    text = read_queue(fake)
    assert old.jobs == new.jobs == text.jobs
    assert [node.name for node in old.nodes] == [node.name for node in new.nodes] == [node.name for node in text.nodes]
    assert [node.is_up for node in old.nodes] == [node.is_up for node in new.nodes] == [True] * 4
    assert [job.number for job in old.waiting] == [5, 6, 4]
    assert [job.number for job in old.aside] == [7, 8]
    assert [job.number for job in old.running] == [1, 2, 3]


def test_who_shares_its_nodes_with_none_is_read() -> None:
    """Tests that each form tells of exclusive jobs: as text, as a text in JSON, and as a list in JSON."""
    fake = full()
    rows = json.loads(fake.run(SQUEUE))
    for shared in ("NO", ["none"], "OK", [], ["oversubscribe"]):
        rows["jobs"][0]["shared"] = shared
        assert [job.exclusive for job in jobs_of_json(json.dumps(rows))[0][:2]] == [shared in ("NO", ["none"]), False]
    first, *others = fake.run(SCONTROL).splitlines()
    text = "\n".join([f"{first} OverSubscribe=NO", *others])
    assert [job.exclusive for job in jobs_of_text(text)[0][:2]] == [True, False]


def test_reading_only_reads() -> None:
    """No command of a reading changes anything, and all are among those that are told beforehand."""
    fake = full()
    read_queue(fake)
    assert fake.changed == []
    assert set(fake.asked) == set(READS)


@pytest.mark.parametrize("sparing", [False, True])
def test_each_command_is_said_before_it_is_run(sparing: bool) -> None:
    """Where a queue is looked at again and again, what reads it is said once, and what changes a job by who does."""
    fake = full()
    told: list[str] = []
    fake.before = lambda command: heard.append(told[-1] == shell_line(command))
    heard: list[bool] = []
    runner = AnnouncingRunner(fake, told.append, sparing=sparing)
    read_queue(runner)
    assert heard == [True] * len(fake.asked)
    assert told == [shell_line(command) for command in fake.asked]
    for _ in range(2):
        read_queue(runner)
        runner.run(give_nice("4", 9))
        runner.run(look_at(4))
    looks = [shell_line(look_at(4))] * 2
    assert [line for line in told if " -j " in line] == looks
    assert len(told) == len(fake.asked) if not sparing else told[len(READS) :] == looks


@pytest.mark.parametrize("command", READS, ids=" ".join)
def test_a_command_that_fails_is_no_empty_queue(command: tuple[str, ...]) -> None:
    """Whichever command fails, with Slurm's words: nothing is guessed."""
    fake = full()
    fake.fails = lambda asked: "Unable to contact slurm controller" if asked == command else None
    with pytest.raises(SteerError, match=f"{command[0]} .*Unable to contact slurm controller"):
        read_queue(fake)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is not JSON"),
        ("[]", "is not a table"),
        ('{"jobs": [], "errors": [{"error": "x"}]}', "it reports errors"),
        ('{"errors": []}', "no list of jobs"),
        ('{"jobs": [{"job_id": 4, "job_state": ""}]}', "job 4: it has no job_state"),
        ('{"jobs": [{"job_state": "PENDING"}]}', r"job \?: job_id is missing"),
        ('{"jobs": [{"job_id": 4, "job_state": "PENDING", "priority": "high"}]}', "priority is missing or not"),
        ('{"jobs": [{"job_id": 4, "job_state": "PENDING", "priority": 1, "array_task_string": "x"}]}', "are not tasks"),
    ],
)
def test_what_is_no_queue_is_refused(text: str, complaint: str) -> None:
    """Half a document, one that tells of errors, jobs without what is needed."""
    with pytest.raises(SteerError, match=complaint):
        jobs_of_json(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("JobId=1 JobState=PENDING", "is missing"),
        ("JobId=x JobState=PENDING NumCPUs=1 NumNodes=1 Priority=1 Nice=0 Partition=p", "JobId=x is not a whole"),
        (
            "JobId=1 JobState=PENDING NumCPUs=1 NumNodes=1 Priority=1 Nice=0 Partition=p SubmitTime=today",
            "SubmitTime=today is not a time in seconds",
        ),
    ],
)
def test_wrong_text_is_refused(text: str, complaint: str) -> None:
    """The same of the text."""
    with pytest.raises(SteerError, match=complaint):
        jobs_of_text(text)


def test_wrong_machines_are_refused() -> None:
    """No partition, a node without a state, a configuration without a time."""
    for read, text in ((partitions_of, "nothing"), (nodes_of_text, "NodeName=n1"), (settings_of, "a = b")):
        with pytest.raises(FedschedError):
            read(text)  # type: ignore[operator]


@pytest.mark.parametrize("apart", [-60.0, 60.0])
def test_clocks_that_differ_are_refused(apart: float) -> None:
    """The controller's clock is not this machine's."""
    fake = full()
    fake.here = NOW + apart
    with pytest.raises(SteerError, match=r"The controller's clock is [+-]60 s from this machine's"):
        read_queue(fake)


def test_a_clock_set_back_is_refused() -> None:
    """Both clocks were set back, and jobs have started in what is now the future."""
    fake = full()
    fake.time = NOW - 3600
    with pytest.raises(SteerError, match=r"Job 1 started at .* it was set back"):
        read_queue(fake)


def test_what_runs_holds_its_nodes_until_its_limit_or_for_a_second() -> None:
    """A job over its limit, or completing, counts as ending at now + 1; nodes that are down are not there."""
    fake = full()
    fake.jobs[3] = running(3, "4", minutes=600)
    fake.jobs[3] = fake.jobs[3].__class__(**{**fake.jobs[3].__dict__, "state": "COMPLETING"})
    queue = read_queue(fake)
    assert [job.expected_end(queue.now) - NOW for job in queue.running] == [1500.0, 1.0, 1.0]
    picture = picture_of(queue)
    assert picture.federation.nodes == 4
    assert picture.running.counts.sum() == 4
    assert "assumed: a year for 1 job without a limit" in picture.notes
    assert picture.waiting == 1 + 5 + 1
    fake.down = frozenset({"n2"})
    drained = picture_of(read_queue(fake))
    assert drained.federation.nodes == 3
    assert drained.running.counts.sum() == 3


def test_arrays_are_named_by_the_tasks_that_wait() -> None:
    """An update must not reach tasks that run, or have a record of their own."""
    [job] = [job for job in read_queue(full()).jobs if job.number == 5]
    assert (job.target, job.tasks) == ("5_[0-3,7]", 5)
    one = '{"jobs": [{"job_id": 9, "job_state": "PENDING", "priority": 1, "array_job_id": 5, "array_task_id": 7}]}'
    assert jobs_of_json(one).read[0].target == "5_7"
    many = one.replace('"array_task_id": 7', '"array_task_string": "0-98:7,..."')
    assert (jobs_of_json(many).read[0].target, jobs_of_json(many).read[0].tasks) == ("5_[0-98:7,...]", 15)


def test_jobs_that_share_nodes_are_planned_by_cpus() -> None:
    """Two jobs of two CPUs run beside one another on a node of four, and it is said what is not modelled."""
    fake = FakeSlurm.of(running(1, "1"), Job(2), settings={"SelectType": "select/cons_tres"})
    queue = read_queue(fake)
    assert picture_of(queue).notes == ()  # nodes of one CPU cannot be shared
    nodes = tuple(replace(node, cpus=4) for node in queue.nodes)
    shared = replace(queue, nodes=nodes, jobs=tuple(replace(job, cpus=2) for job in queue.jobs))
    picture = picture_of(shared)
    assert picture.federation.nodes == 16
    assert picture.running.counts.sum() == 2
    assert picture.starts([0]) == {2: NOW}
    assert "by CPUs" in picture.notes[0]


def test_a_node_with_a_kernel_has_a_state() -> None:
    """What `scontrol show node` tells of the system has a # in it, which begins no comment."""
    line = (
        "NodeName=n1 Arch=x86_64 CPUTot=4 ActiveFeatures=(null) NodeAddr=127.0.0.1 Version=22.05.8 "
        "OS=Linux 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01) RealMemory=1000 Boards=1 "
        "State=IDLE+DRAIN ThreadsPerCore=1 Partitions=p,q"
    )
    [node] = nodes_of_text(line)
    assert (node.states, node.partitions, node.cpus) == ({"IDLE", "DRAIN"}, {"p", "q"}, 4)
    assert not node.is_up


@pytest.mark.parametrize("newer", [False, True])
def test_a_nice_below_0_is_read(newer: bool) -> None:
    """22.05 writes -100 without a sign, newer versions with one, and text with one: the queue is the same."""
    fake = FakeSlurm.of(Job(4, nice=-100), newer=newer)
    assert read_queue(fake).job("4").nice == -100
    fake.without_json = True
    assert read_queue(fake).job("4").nice == -100


# What a Slurm 22.05 tells of a job that was requeued and still leaves its node.
REQUEUED = {
    "job_id": 21, "job_state": "COMPLETING", "state_reason": "None", "start_time": 0, "end_time": 0, "time_limit": 60,
    "nodes": "n1", "node_count": 1, "submit_time": NOW - 20, "eligible_time": NOW - 20, "priority": 10250, "nice": None,
    "partition": "p", "user_name": "ann", "cpus": 1,
}  # fmt: skip


@pytest.mark.parametrize("states", ["COMPLETING", ["PENDING", "COMPLETING"]])
def test_a_requeued_job_that_completes_holds_its_nodes(states: object) -> None:
    """Nobody says any more when it started: it has its nodes for a second, and the clock was not set back."""
    [job] = jobs_of_json(json.dumps({"jobs": [REQUEUED | {"job_state": states}]})).read
    assert (job.hosts, job.holds_nodes, job.waits, job.start) == (("n1",), True, False, NOW - 20)
    assert job.expected_end(NOW) == NOW + 1
    line = "JobId=21 JobState=COMPLETING Priority=1 Nice=0 NumNodes=1 NumCPUs=1 Partition=p NodeList=n1 TimeLimit=1:00 "
    [same] = jobs_of_text(f"{line}SubmitTime={NOW - 20} StartTime=Unknown").read
    assert (same.hosts, same.start) == (job.hosts, job.start)
    fake = FakeSlurm.of(Job(4), replace(running(21, "1"), state="COMPLETING", start=0.0))
    assert picture_of(read_queue(fake)).running.counts.sum() == 1
    fake.jobs[21] = replace(fake.jobs[21], start=NOW + 900.0)  # when it is to start again
    assert [job.start for job in read_queue(fake).running] == [NOW]


def test_a_job_that_runs_and_has_no_start_is_left_out() -> None:
    """Its nodes count as away, for nobody knows until when it has them, and the others are planned."""
    queue = read_queue(FakeSlurm.of(Job(4), running(1, "1"), replace(running(2, "3"), start=0.0)))
    assert list(queue.unread) == [2]
    picture = picture_of(queue)
    assert picture.federation.nodes == 3
    assert picture.notes[0] == (
        "left out: 1 job that cannot be read (squeue --json, job 2: it has nodes but no start time.)"
    )


def test_a_job_that_cannot_be_read_is_left_out_and_said() -> None:
    """The others are read; what one cannot be read for is said, in both forms."""
    fake = FakeSlurm.of(Job(4), Job(5, tasks="x"), Job(6))
    for fake.without_json in (False, True):
        queue = read_queue(fake)
        assert [job.number for job in queue.jobs] == [4, 6]
        assert "x are not tasks of an array" in queue.unread[5].why
        assert queue.unread[5].waits


def test_a_queue_of_which_nothing_can_be_read_is_no_empty_one() -> None:
    """If no job can be read, the format is another one; and a job without a number may be any."""
    fake = FakeSlurm.of(Job(4, tasks="x"), Job(5, tasks="x"))
    with pytest.raises(SteerError, match="job 4: x are not tasks"):
        read_queue(fake)
    text = json.dumps({"jobs": [REQUEUED, REQUEUED | {"job_id": None}]})
    with pytest.raises(SteerError, match=r"job \?: job_id is missing"):
        jobs_of_json(text)


def test_nodes_that_no_job_is_on_are_away_only_beside_jobs_that_may_have_them() -> None:
    """A job that waits explains no busy node: somebody else's jobs are hidden, and nothing is planned."""
    fake = FakeSlurm.of(Job(4), running(1, "1"), replace(running(2, "3"), state="COMPLETED", hosts=()))
    fake.busy = frozenset({"n3"})
    fake.jobs[5] = Job(5, tasks="x")
    with pytest.raises(SteerError, match="squeue does not show"):
        read_queue(fake)
    fake.jobs[2] = replace(running(2, "3"), hosts=("m9",))
    queue = read_queue(fake)
    assert queue.unread[2].why == "job 2 has nodes that sinfo does not list (m9)"
    assert [node.is_up for node in queue.nodes] == [True, True, False, True]


@pytest.mark.parametrize(
    "text",
    [
        '{"nodes": [{"name": "n1", "state": "idle", "partitions": 5}]}',
        '{"nodes": [{"name": "n1", "state": "idle", "partitions": {}, "cpus": [], "features": 7, "state_flags": 1}]}',
        '{"sinfo": [{"nodes": {"nodes": ["n1"]}, "node": {"state": ["IDLE"]}, "partition": 5, "cpus": 4}]}',
        '{"sinfo": [{"nodes": {"nodes": ["n1"]}, "state": "IDLE", "partition": [], "features": [1]}, {"nodes": 5}]}',
    ],
)
def test_a_node_has_what_is_of_the_right_type(text: str) -> None:
    """What sinfo prints as something else counts as not said."""
    [node] = nodes_of_json(text)
    assert (node.name, node.states, node.partitions, node.cpus) == ("n1", {"IDLE"}, frozenset(), 1)


def test_commands_print_lists_of_tasks_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Squeue cuts a long list at 64 signs unless it is told not to, whatever the user's own setting is."""
    monkeypatch.setenv("SLURM_BITSTR_LEN", "64")
    assert "SLURM_BITSTR_LEN=0" in Shell().run(("env",)).split()
