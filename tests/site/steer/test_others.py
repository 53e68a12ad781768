"""Beside others: who changes what we gave, whose jobs are begun anew, who hides theirs, and who steers as well."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.fake_slurm import NOW, FakeSlurm, Job, running
from support.steering import FEW, LEASE, crowd, left_alone, watching

from fedsched.cli.shared.input_output import INTERRUPTED
from fedsched.cli.slurm import apply
from fedsched.cli.slurm import watch as watch_command
from fedsched.cli.slurm.steering import Steered
from fedsched.core.errors import SteerError
from fedsched.site.steer import Undo, read_queue
from fedsched.site.steer.picture import picture_of
from fedsched.site.steer.state_files import exclusive_lock
from fedsched.site.steer.undo import Former

RUNS_A_COMMAND = """
import sys
from pathlib import Path
from fedsched.site.steer.commands import Shell
from fedsched.site.steer.state_files import exclusive_lock
with exclusive_lock(Path(sys.argv[1])):
    Shell().run(("sh", "-c", ': > "$0"; cat "$1"', *sys.argv[2:]))
"""
HAS_LOCK = """
import sys
from pathlib import Path
from fedsched.site.steer.state_files import exclusive_lock
with exclusive_lock(Path(sys.argv[1])):
    print("has it", flush=True)
    sys.stdin.read()
"""


def test_a_nice_that_somebody_changed_is_theirs_from_then_on(tmp_path: Path) -> None:
    """It is said once, the job is not steered any more, and what they gave is there at the end."""
    fake = crowd(1)
    told: list[str] = []
    watch = watching(fake, tmp_path / "undo.json", told=told.append)
    first = watch.look()
    assert first is not None
    job = first.changes[0].number
    fake.jobs[job] = replace(fake.jobs[job], nice=3_333)
    again = watch.look()
    assert again is not None
    assert job not in again.steered
    fake.jobs[40] = Job(40, minutes=1, base=9_000, submit=NOW)
    last = watch.look()
    assert last is not None
    assert job not in last.steered
    assert sum(f"job {job}: its Nice was changed outside fedsched" in line for line in told) == 1
    watch.close()
    assert fake.jobs[job].nice == 3_333
    assert all(one.nice == 0 for one in fake.jobs.values() if one.id != job)


def test_a_nice_of_their_own_by_lease_is_only_another_place(tmp_path: Path) -> None:
    """Where we give no Nice, theirs is none of our business: the job is steered on by its new priority."""
    fake = crowd(1)
    watch = watching(fake, tmp_path / "undo.json", lease=LEASE)
    first = watch.look()
    assert first is not None
    job = next(one.id for one in fake.jobs.values() if one.begin > NOW)
    fake.jobs[job] = replace(fake.jobs[job], nice=50)
    fake.jobs[40] = Job(40, minutes=1, base=9_000, submit=NOW)
    again = watch.look()
    assert again is not None
    assert job in again.steered
    watch.close()
    assert fake.jobs[job].nice == 50


@pytest.mark.parametrize("later", [100_000.0, 90.0])
def test_a_begin_time_that_its_owner_has_set_stays(later: float, tmp_path: Path) -> None:
    """Be it later or sooner than ours: it is neither moved on nor taken back, and not taken for ours."""
    fake = crowd(1)
    watch = watching(fake, tmp_path / "undo.json", lease=LEASE)
    watch.look()
    job = next(one.id for one in fake.jobs.values() if one.begin > NOW)
    fake.jobs[job] = replace(fake.jobs[job], begin=NOW + later, reason="BeginTime")
    for _ in range(3):
        fake.time += 60.0
        if fake.jobs[job].begin < fake.time:
            break
        watch.look()
        assert fake.jobs[job].begin == NOW + later
    watch.close()
    assert fake.jobs[job].begin == NOW + later


@pytest.mark.parametrize("begun_anew", [False, True])
def test_who_runs_and_is_begun_anew_has_what_he_had(begun_anew: bool, tmp_path: Path) -> None:
    """A steered job starts, and fails with its node: what it had is known, be it taken back before that or after."""
    fake = crowd(1)
    path = tmp_path / "undo.json"
    watch = watching(fake, path)
    first = watch.look()
    assert first is not None
    job = first.changes[0]
    waited = fake.jobs[job.number]
    assert waited.nice
    for number in (1, 2):
        del fake.jobs[number]
    hosts = tuple(f"n{k}" for k in range(1, waited.nodes + 1))
    fake.jobs[job.number] = replace(waited, state="RUNNING", start=fake.time, hosts=hosts)
    watch.look()
    assert job.number not in watch.undo.deadlines
    if begun_anew:
        fake.jobs[job.number] = waited
        again = watch.look()
        assert again is not None
        [start] = [one for one in again.starts if one.job.number == job.number]
        assert start.deadline == start.before + watch.aims.slack  # what was promised was kept when it started
    watching(fake, path).close()
    assert left_alone(fake)
    assert not path.exists()


def test_tasks_that_have_left_their_array_are_known(tmp_path: Path) -> None:
    """A task that starts has another number from then on, and its array's Nice."""
    fake = crowd(1, jobs=2)
    read = read_queue(fake).job("10")
    array = replace(read, number=70, target="70_[0-3]", nice=500, tasks=4)
    undo = Undo.open(tmp_path / "undo.json", "fake")
    before = Former("70_[0-3]", array.user, array.submit, 20, (500,))
    undo.jobs = {70: before}
    task = replace(array, number=71, target="70_0", tasks=1)
    stranger = replace(array, number=80, target="80", nice=500)
    own = replace(array, number=72, target="70_1", nice=499)
    assert undo.follow([array, task, stranger, own]) == []
    assert undo.jobs == {70: before, 71: replace(before, target="70_0")}
    assert Undo.open(tmp_path / "undo.json", "fake").jobs == undo.jobs
    assert undo.follow([task]) == []
    assert undo.jobs.keys() == {71}


def test_jobs_that_are_hidden_stop_it(tmp_path: Path) -> None:
    """Nodes with jobs that squeue does not show are no free nodes: nothing is planned, and it is said why."""
    fake = crowd(1, jobs=6)
    del fake.jobs[2]
    fake.jobs[90] = hidden = running(90, "4")
    read_queue(fake)

    class Private(FakeSlurm):
        def _squeue(self, command: tuple[str, ...]) -> str:
            whole = self.jobs
            self.jobs = {number: job for number, job in whole.items() if number != 90}
            try:
                return super()._squeue(command)
            finally:
                self.jobs = whole

    private = Private(fake.jobs, nodes=fake.nodes)
    with pytest.raises(SteerError, match=r"1 node \(as n4\) with jobs that squeue does not show.*PrivateData"):
        read_queue(private)
    told: list[str] = []
    assert watching(private, tmp_path / "undo.json", told=told.append).look() is None
    assert private.changed == []
    fake.jobs[90] = replace(hidden, state="COMPLETED")  # it has ended since sinfo was asked, and is still shown
    assert [job.number for job in read_queue(fake).running] == [1]


def test_jobs_that_may_start_elsewhere_are_said() -> None:
    """Only the first of several partitions is planned with."""
    fake = crowd(1, partitions={"p": (1, 4), "q": (1, 2)})
    fake.jobs[11] = replace(fake.jobs[11], partition="p,q")
    queue = read_queue(fake)
    assert queue.job("11").partition == "p"
    assert "not modelled: 1 job for one of several partitions (the first is taken)" in picture_of(queue).notes


def test_one_at_a_time(tmp_path: Path) -> None:
    """Who steers by an undo file keeps others from it, and leaves nothing; who is killed keeps nobody."""
    path = tmp_path / "undo.json"
    for kill in (False, True):
        other = subprocess.Popen(
            (sys.executable, "-c", HAS_LOCK, str(path)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert other.stdout is not None
        assert other.stdout.readline() == "has it\n"
        fake = crowd(1)
        with pytest.raises(SteerError, match=rf"undo\.json: another fedsched \(process {other.pid}\) uses it"):
            watching(fake, path).run(lambda _: None, looks=1)
        assert fake.changed == []
        if kill:
            other.kill()
        other.communicate()
        assert (tmp_path / "undo.json.lock").exists() == kill
    watching(fake, path).run(lambda _: None, looks=1)
    assert fake.changed
    assert not list(tmp_path.iterdir())
    with exclusive_lock(None):
        pass


def test_a_command_of_one_that_was_killed_keeps_others(tmp_path: Path) -> None:
    """What it changes may come late: nobody steers or undoes before it has ended."""
    path, begun, goes_on = (tmp_path / name for name in ("undo.json", "begun", "goes on"))
    os.mkfifo(begun)
    os.mkfifo(goes_on)
    other = subprocess.Popen((sys.executable, "-c", RUNS_A_COMMAND, str(path), str(begun), str(goes_on)))
    begun.read_bytes()  # until the command runs
    other.kill()
    other.wait()
    with (
        pytest.raises(SteerError, match=rf"fedsched that was killed \(process {other.pid}\) has not ended yet"),
        exclusive_lock(path),
    ):
        pass
    with Path(f"{path}.lock").open("rb") as lock:
        goes_on.write_bytes(b"")
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it has ended
    with exclusive_lock(path):
        pass
    assert not Path(f"{path}.lock").exists()


def test_it_ends_with_its_terminal_and_undoes_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that breaks is an end as any other; under nohup it is none."""
    before = signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        assert watch_command._ends() == [signal.SIGTERM]
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert watch_command._ends() == [signal.SIGTERM, signal.SIGHUP]
        fake = crowd(1, jobs=4)
        monkeypatch.setattr("fedsched.cli.slurm.steering.runner_of", lambda *_, **__: fake)

        def gone(seconds: float) -> None:
            assert not left_alone(fake)
            signal.raise_signal(signal.SIGHUP)

        monkeypatch.setattr("time.sleep", gone)
        assert watch_command.command(undo_file=tmp_path / "undo.json") == INTERRUPTED
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
    assert left_alone(fake)
    assert not list(tmp_path.iterdir())


def test_the_command_applies_and_undoes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dry run writes nothing; undone, all have what they had, but for others' Nice; a record is refused."""
    fake = crowd(1)
    monkeypatch.setattr("fedsched.cli.slurm.steering.runner_of", lambda *_, **__: fake)
    path = tmp_path / "undo.json"
    steered = Steered(evaluations=FEW)
    apply.command(steered=steered, undo_file=path, dry_run=True)
    assert fake.changed == []
    assert not list(tmp_path.iterdir())
    apply.command(steered=steered, undo_file=path)
    job = next(one for one in fake.jobs.values() if one.nice)
    fake.jobs[job.id] = replace(job, nice=3_333)
    many = len(fake.changed)
    apply.command(undo=True, undo_file=path, dry_run=True)
    assert len(fake.changed) == many
    assert path.exists()
    with exclusive_lock(path), pytest.raises(SteerError, match="another fedsched"):
        apply.command(undo=True, undo_file=path)
    apply.command(undo=True, undo_file=path)
    assert {one.nice for one in fake.jobs.values()} == {0, 3_333}
    assert not list(tmp_path.iterdir())
    with pytest.raises(SteerError, match="a record cannot be changed"):
        apply.command(recorded=tmp_path)
