"""What there is to undo makes a process change jobs: nobody else can have put it, or a link in its place, there."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from support.fake_slurm import NOW, FakeFederation, FakeSlurm, Job
from support.steering import crowd

from fedsched.cli.slurm import apply, watch
from fedsched.core.errors import FedschedError, OutputError, SteerError
from fedsched.site.steer import JobChanger, Undo, read_queue
from fedsched.site.steer.commands import restoring
from fedsched.site.steer.placement_changes import PlacementChanger, PlacementUndo
from fedsched.site.steer.state_files import exclusive_lock

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Slurm runs where files have owners and modes")
SOMEBODY = 4711
EMPTY = {"deadlines": {}, "promised": {}}
RAISED = {"target": "10", "nice": -30_000, "given": [0], "begins": []}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a folder that is this user's alone."""
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """Return a file that an attacker wants to have written."""
    path = tmp_path / "victim"
    path.touch(0o600)
    path.write_text("precious", encoding="utf-8")
    return path


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    """Return the Slurm that commands talk to: one job waits in it, so that nothing is planned."""
    fake = crowd(1, jobs=1)
    monkeypatch.setattr("fedsched.cli.slurm.steering.runner_of", lambda *_, **__: fake)
    return fake


def somebodys(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a file, folder or link be somebody else's."""
    from fedsched.core import ownership

    number, before = path.lstat().st_ino, ownership.owner_of

    def owner(there: Path | int | os.stat_result) -> int:
        found = there if isinstance(there, os.stat_result) else os.lstat(there) if isinstance(there, Path) else None
        found = os.fstat(there) if found is None else found  # type: ignore[arg-type]
        return SOMEBODY if found.st_ino == number else before(there)

    monkeypatch.setattr(ownership, "owner_of", owner)


def refused(path: Path) -> str:
    """Return what is said of an undo file by that path, having made sure that it is neither read nor written."""
    with pytest.raises(SteerError) as opened:
        Undo.open(path, "fake")
    with pytest.raises(SteerError):
        PlacementUndo.open(path)
    with pytest.raises(FedschedError):
        Undo(path, "fake", deadlines={10: 1.0}).promise({11: 2.0})
    return str(opened.value)


@pytest.mark.parametrize("undoing", [False, True])
def test_an_undo_file_where_root_stands_does_nothing(
    undoing: bool, own: Path, alone: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack: a user leaves one in his folder, root starts a command there, and his job gets a Nice below 0."""
    monkeypatch.chdir(own)
    monkeypatch.setenv("STATE_DIRECTORY", str(own / "state"))
    user = alone.jobs[10].user
    said = {"cluster": "fake", "jobs": {"10": RAISED | {"user": user, "submit": NOW - 600}}, **EMPTY}
    for kind in (1, 2):
        for name in ("fedsched-undo.json", "undo-fake.json", "undo.json"):
            Path(name).write_text(json.dumps({"kind": f"fedsched undo {kind}"} | said), encoding="utf-8")
        if undoing:
            apply.command(undo=True)
        else:
            watch.command(looks=1)
        assert alone.changed == []
        assert alone.jobs[10].nice == 0


def test_a_folder_that_a_user_has_made_is_not_the_state_s(
    own: Path, alone: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that is told to keep its file in somebody else's folder, as with `--undo-file undo.json`, refuses."""
    monkeypatch.chdir(own)
    somebodys(own, monkeypatch)
    for named in ({"undo_file": Path("undo.json")}, {"state": own}, {"state": own / "new"}):
        with pytest.raises(SteerError, match=f"belongs to {SOMEBODY}"):
            watch.command(looks=1, **named)
        with pytest.raises(SteerError, match=f"belongs to {SOMEBODY}"):
            apply.command(undo=True, **named)
    assert not list(own.iterdir())


@pytest.mark.parametrize("there", [False, True])
def test_an_undo_file_that_is_a_link_is_refused(there: bool, own: Path, victim: Path) -> None:
    """Be there a file that it leads to or none: neither is read, written nor made."""
    leads_to = victim if there else own / "new"
    (own / "undo.json").symlink_to(leads_to)
    assert "symbolic link" in refused(own / "undo.json")
    assert victim.read_text(encoding="utf-8") == "precious"
    assert not (own / "new").exists()


@pytest.mark.parametrize("hard", [False, True])
def test_a_lock_that_is_another_file_is_refused(hard: bool, own: Path, victim: Path) -> None:
    """By a link of either kind: the file is neither emptied nor gets a process's number."""
    lock = own / "undo.json.lock"
    if hard:
        lock.hardlink_to(victim)
    else:
        lock.symlink_to(victim)
    what = r"hard links" if hard else r"symbolic link"
    with pytest.raises(SteerError, match=what), exclusive_lock(own / "undo.json"):
        pass
    assert victim.read_text(encoding="utf-8") == "precious"


def test_an_undo_file_with_a_second_name_is_refused(own: Path, victim: Path) -> None:
    """Somebody may have made a hard link here to a file that is elsewhere."""
    (own / "undo.json").hardlink_to(victim)
    assert "2 names" in refused(own / "undo.json")
    assert victim.read_text(encoding="utf-8") == "precious"


def test_what_is_no_file_is_not_waited_for(own: Path) -> None:
    """A pipe, which nobody writes to, and a folder."""
    os.mkfifo(own / "pipe")
    (own / "folder").mkdir(0o700)
    for name in ("pipe", "folder"):
        assert "no regular file" in refused(own / name)
    os.mkfifo(own / "undo.json.lock")
    with pytest.raises(SteerError, match="no regular file"), exclusive_lock(own / "undo.json"):
        pass


@pytest.mark.parametrize("mode", [0o660, 0o606, 0o666])
def test_a_file_that_others_may_write_is_refused(mode: int, own: Path) -> None:
    """It says what somebody else wants it to say."""
    path = own / "undo.json"
    path.write_text(json.dumps({"kind": "fedsched undo 2", "cluster": "fake", "jobs": {}, **EMPTY}), encoding="utf-8")
    path.chmod(mode)
    assert f"its mode {mode:04o} lets others write it" in refused(path)
    path.chmod(0o644)
    assert Undo.open(path, "fake").jobs == {}


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_may_write_to_is_refused(mode: int, own: Path) -> None:
    """The group's, everybody's, and one as /tmp: they can put a file there before we do."""
    own.chmod(mode)
    assert f"the mode {mode:04o} of this folder lets others put files in it" in refused(own / "undo.json")
    with pytest.raises(SteerError, match="lets others put files"), exclusive_lock(own / "undo.json"):
        pass


def test_a_folder_that_others_may_exchange_is_refused(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders above count: in one as /tmp nobody can move another's, and a group of one's own is oneself."""
    from fedsched.core import ownership

    inner = own / "inner"
    inner.mkdir(mode=0o700)
    own.chmod(0o777)
    assert "its mode 0777 lets others replace" in refused(inner / "undo.json")
    own.chmod(0o770)
    monkeypatch.setattr(ownership, "is_own_group", lambda _: False)
    assert "its mode 0770 lets others replace" in refused(inner / "undo.json")
    monkeypatch.setattr(ownership, "is_own_group", lambda _: True)
    Undo.open(inner / "undo.json", "fake")
    own.chmod(0o1777)
    Undo.open(inner / "undo.json", "fake")


@pytest.mark.parametrize("mode", [0o700, 0o1777])
@pytest.mark.parametrize("whose", ["own", "own/inner", "own/inner/undo.json"])
def test_what_is_somebody_elses_is_refused(
    whose: str, mode: int, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder on the way, the one of the file, and the file; a folder as /tmp of his he can still change himself."""
    path = own / "inner" / "undo.json"
    path.parent.mkdir(mode=0o700)
    path.touch(0o600)
    path.write_text(json.dumps({"kind": "fedsched undo 2", "cluster": "fake", "jobs": {}, **EMPTY}), encoding="utf-8")
    Undo.open(path, "fake")
    if not whose.endswith(".json"):
        (tmp_path / whose).chmod(mode)
    somebodys(tmp_path / whose, monkeypatch)
    assert f"belongs to {SOMEBODY}" in refused(path)


def test_links_on_the_way_are_followed_that_are_our_own(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's and this user's lead where they should; another user's is not followed; a ring leads nowhere."""
    (own / "real").mkdir(mode=0o700)
    (own / "there").symlink_to("real")
    (own / "ring").symlink_to(own / "ring")
    for path in (own / "there" / "undo.json", own / "there" / ".." / "real" / "undo.json"):
        undo = Undo.open(path, "fake")
        undo.promise({10: 1.0})
    assert (own / "real" / "undo.json").exists() is False  # no job is in it
    assert "links are on the path" in refused(own / "ring" / "undo.json")
    somebodys(own / "there", monkeypatch)
    assert "could redirect it" in refused(own / "there" / "undo.json")


def test_what_is_made_is_this_users_alone(own: Path, alone: FakeSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders 0700, files 0600, whatever the umask; in the end the folder is there and empty."""
    monkeypatch.setenv("STATE_DIRECTORY", f"{own}/new/state:/else")
    seen: list[tuple[str, int]] = []

    def look(_: object) -> None:
        seen.extend((one.name, stat.S_IMODE(one.stat().st_mode)) for one in sorted(own.rglob("*")))

    before = os.umask(0)
    try:
        alone.before = look
        apply.command(undo=True)
        path = own / "new" / "state" / "undo-fake.json"
        Undo.open(path, "fake").remember(read_queue(alone).job("10"), nice=5)
    finally:
        os.umask(before)
    assert {("new", 0o700), ("state", 0o700), ("undo-fake.json.lock", 0o600)} <= set(seen)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    JobChanger(alone, Undo.open(path, "fake")).restore()
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("named", [True, False])
def test_where_the_state_is(named: bool, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is named, systemd's, root's, the user's: in this order, and never where a command is started."""
    from fedsched.site.steer.state_files import state_file, state_folder

    monkeypatch.delenv("STATE_DIRECTORY")
    monkeypatch.setenv("HOME", str(own))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    if named:
        assert state_folder(own / "x") == own / "x"
        with pytest.raises(SteerError, match="two places"):
            state_file("undo", "c", file=own / "f", folder=own)
        assert state_file("undo", "../c", folder=own) == own / "undo-.._c.json"
        return
    monkeypatch.setattr("fedsched.site.steer.state_files.user", lambda: SOMEBODY)
    assert state_folder() == own / ".local" / "state" / "fedsched"
    monkeypatch.setenv("XDG_STATE_HOME", "not/from/the/root")
    assert state_folder() == own / ".local" / "state" / "fedsched"
    monkeypatch.setenv("XDG_STATE_HOME", str(own / "xdg"))
    assert state_folder() == own / "xdg" / "fedsched"
    monkeypatch.setattr("fedsched.site.steer.state_files.user", lambda: 0)
    assert state_folder() == Path("/var/lib/fedsched")
    monkeypatch.setenv("STATE_DIRECTORY", f"{own}:/else")
    assert state_folder() == own
    monkeypatch.setenv("STATE_DIRECTORY", "here")
    with pytest.raises(SteerError, match="STATE_DIRECTORY='here'"):
        state_folder()


def test_a_user_has_a_state_as_root_has(own: Path, alone: FakeSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator's is below the home; a folder that is not there for a file that is named is said, with the cure."""
    monkeypatch.delenv("STATE_DIRECTORY")
    monkeypatch.setattr("fedsched.site.steer.state_files.user", lambda: SOMEBODY)
    monkeypatch.setenv("XDG_STATE_HOME", str(own))
    alone.me, alone.admins = "eve", {"eve": "Operator"}
    watch.command(looks=1)
    apply.command(undo=True, dry_run=True)
    assert [one.name for one in own.iterdir()] == ["fedsched"]
    with pytest.raises(SteerError, match=r"there is no such folder; make it first \(mkdir -m 700\)"):
        watch.command(looks=1, undo_file=own / "none" / "undo.json")


def test_a_rehearsal_makes_no_state(
    own: Path, alone: FakeSlurm, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dry run reads what there is, and makes neither a folder nor a file."""
    monkeypatch.setenv("STATE_DIRECTORY", str(own / "state"))
    apply.command(undo=True, dry_run=True)
    watch.command(looks=1, dry_run=True)
    assert not list(own.iterdir())
    Undo.open(own / "undo-fake.json", "fake").remember(read_queue(alone).job("10"), nice=5)
    alone.jobs[10] = replace(alone.jobs[10], nice=5)
    capsys.readouterr()
    apply.command(undo=True, dry_run=True, state=own)
    assert "scontrol update JobId=10 Nice=0\nto undo: 1 command" in capsys.readouterr().out
    assert [one.name for one in own.iterdir()] == ["undo-fake.json"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_said(own: Path) -> None:
    """Before any job is changed."""
    own.chmod(0o500)
    with pytest.raises(OutputError, match="Cannot write"):
        Undo.open(own / "undo.json", "fake")


def test_another_users_job_is_left_alone_and_said(own: Path) -> None:
    """What was ann's is not undone to a job of eve's with that number, neither Nice nor begin time, nor planned by."""
    fake = crowd(1, jobs=2)
    fake.jobs[10] = replace(fake.jobs[10], nice=100, user="ann")
    undo = Undo.open(own / "undo.json", "fake")
    undo.remember(replace(read_queue(fake).job("10"), nice=-500), nice=100)
    undo.remember_begin(read_queue(fake).job("10"), NOW + 500, NOW)
    undo.promise({10: NOW + 9_000.0})
    fake.jobs[10] = replace(fake.jobs[10], user="eve", begin=NOW + 500, reason="BeginTime")
    told: list[str] = []
    hand = JobChanger(fake, Undo.open(own / "undo.json", "fake"), told.append)
    assert list(restoring(read_queue(fake), hand.undo)) == []
    assert hand.undo.follow(read_queue(fake).jobs, told.append) == []
    assert hand.undo.former == {}
    assert hand.undo.deadlines == {}
    assert hand.restore() == (0, [])
    assert fake.changed == []
    assert told == ["job 10: it belongs to eve, but the change was made to a job of ann; left alone"]
    fake.jobs[10] = replace(fake.jobs[10], user="ann")  # names could not be looked up for a while
    assert JobChanger(fake, Undo.open(own / "undo.json", "fake")).restore() == (1, [])
    assert (fake.jobs[10].nice, fake.jobs[10].begin) == (-500, NOW)
    assert not (own / "undo.json").exists()


@pytest.mark.parametrize(("later", "nice"), [(0.0, -500), (60.0, 0), (-60.0, 0)])
def test_a_nice_below_0_is_given_back_to_the_job_that_had_it(later: float, nice: int, own: Path) -> None:
    """One that was submitted at another time gets back 0, by undoing and by plans: nobody but root may give less."""
    fake = crowd(1, jobs=1)
    fake.jobs[10] = replace(fake.jobs[10], nice=100)
    Undo.open(own / "undo.json", "fake").remember(replace(read_queue(fake).job("10"), nice=-500), nice=100)
    fake.jobs[10] = replace(fake.jobs[10], submit=fake.jobs[10].submit + later)
    told: list[str] = []
    hand = JobChanger(fake, Undo.open(own / "undo.json", "fake"), told.append)
    hand.undo.follow(read_queue(fake).jobs, told.append)
    assert hand.undo.former == {10: nice}
    assert hand.restore()[0] == 1
    assert fake.jobs[10].nice == nice
    assert ("job 10: it was submitted again, so it gets back Nice 0 and not -500" in told) == bool(later)


def test_a_placed_job_of_another_user_is_left_alone_and_said(own: Path) -> None:
    """Neither its cluster nor its begin time is taken for what ann's had; when it is hers, both are."""
    job = Job(5, user="eve", siblings="a", comment="fedsched")
    fake = FakeFederation({"a": FakeSlurm.of(job), "b": FakeSlurm.of(replace(job, state="REVOKED"))})
    path = own / "placed.json"
    path.touch(0o600)
    entry = {"user": "ann", "clusters": "a,b", "begin": NOW + 900.0, "cluster": "a"}
    for kind in (1, 2):
        said = {"kind": f"fedsched placed {kind}", "jobs": {"5": entry}}
        path.write_text(json.dumps(said), encoding="utf-8")
        if kind == 1:
            with pytest.raises(SteerError, match="undo it with the version that wrote it"):
                PlacementUndo.open(path)
    told: list[str] = []
    assert PlacementChanger(fake, PlacementUndo.open(path), told.append).undo() == []
    assert fake.changed == []
    assert told == ["job 5: it belongs to eve, but the change was made to a job of ann; left alone"]
    for one in fake.clusters.values():
        one.jobs[5] = replace(one.jobs[5], user="ann")
    assert len(PlacementChanger(fake, PlacementUndo.open(path), told.append).undo()) == 2
    assert not path.exists()


@pytest.mark.parametrize("name", ["undo.json", ""])
def test_a_name_that_is_none(name: str) -> None:
    """The root of all files is no file, and one below it is not this user's to write, but root's."""
    if not name:
        assert "a folder" in refused(Path("/"))
    elif os.geteuid():
        assert "root's" in refused(Path("/") / name)

