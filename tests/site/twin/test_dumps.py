"""Dumps: commands that only read, other names for people, and errors instead of half a dump."""

from __future__ import annotations

import re
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched.core.errors import OutputError, TwinError, UnknownNameError
from fedsched.io.slurm_files.sacct_submit import requests_in
from fedsched.site.outlook import forecast, present
from fedsched.site.twin import commands_of, dump, made_dump, replay, script
from fedsched.site.twin.disguise import Disguise
from fedsched.site.twin.folder import Dump
from fedsched.site.twin.site import machine_of
from fedsched.study.study_case import case_of

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.site.twin.commands import Command

READING = re.compile(r"(scontrol (-o )?show \w+|sacctmgr -P show .*|sacct .*|squeue .*|sinfo .*|sshare .*)")
JOBS = """\
JobIDRaw|JobID|User|Account|JobName|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|NNodes|SubmitLine
7|7|alice|physics|secret|2027-01-12T08:00:00|2027-01-12T08:00:00|2027-01-12T08:00:01|2027-01-12T08:01:01|60|10|\
COMPLETED|2|sbatch --dependency=afterok:5 /scratch/alice/secret.sh | cat
"""


def fake_slurm(folder: Path, *, broken: str = "", without: str = "") -> Path:
    """Return a folder with commands that print what Slurm's would, but for one that fails, or one that is missing."""
    bin_ = folder / "bin"
    bin_.mkdir()
    (folder / "jobs").write_text(JOBS, encoding="utf-8")
    for name in ("sacct", "scontrol", "sacctmgr", "sshare", "squeue", "sinfo"):
        if name == without:
            continue
        body = 'echo "Configuration data as of 2027-01-12T09:00:00"'
        if name == "sacct":
            body = f'case "$1" in --helpformat) head -1 {folder}/jobs | tr "|" " ";; *) cat {folder}/jobs;; esac'
        if name == broken:
            body = 'echo "slurmdbd: Connection refused" >&2; exit 1'
        path = bin_ / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return bin_


def test_every_command_only_reads() -> None:
    """Tests that no command of a dump could change anything, and that each writes a file of its own."""
    commands = commands_of("2027-01-12")
    assert all(READING.fullmatch(str(one)) for one in commands)
    assert len({one.file for one in commands}) == len(commands)


def test_times_are_no_way_into_a_command() -> None:
    """Tests that a time with signs of the shell's in it is refused."""
    with pytest.raises(ValueError, match="since='now; reboot' must be a time as Slurm reads it"):
        commands_of("now; reboot")


def test_a_dump_is_made_of_what_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that each command is told before it runs, and that its output is a file of the new folder."""
    monkeypatch.setenv("PATH", f"{fake_slurm(tmp_path)}:/usr/bin:/bin")
    told: list[Command] = []
    files = dump(tmp_path / "dump", since="2027-01-12", told=told.append)
    assert str(told[0]) == "sacct --helpformat"
    assert {path.name for path in files} == {*(one.file for one in told[1:]), "dump.txt"}
    assert (tmp_path / "dump/jobs.sacct").read_text(encoding="utf-8") == JOBS
    assert "since 2027-01-12\n" in (tmp_path / "dump/dump.txt").read_text(encoding="utf-8")


def test_the_script_makes_the_same_dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what --print-commands prints runs, and leaves the files that a dump has."""
    monkeypatch.setenv("PATH", f"{fake_slurm(tmp_path)}:/usr/bin:/bin")
    (tmp_path / "dump.sh").write_text(script("2027-01-12"), encoding="utf-8")
    subprocess.run(["sh", tmp_path / "dump.sh", tmp_path / "by-script"], check=True)
    ours = dump(tmp_path / "ours", since="2027-01-12")
    assert {path.name for path in (tmp_path / "by-script").iterdir()} == {path.name for path in ours}


@pytest.mark.parametrize("broken", ["scontrol", "sacctmgr", "sshare", "sacct", "squeue"])
def test_a_command_that_fails_is_the_error(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a failed read stops with what the command said, and leaves nothing that looks like a dump."""
    monkeypatch.setenv("PATH", f"{fake_slurm(tmp_path, broken=broken)}:/usr/bin:/bin")
    with pytest.raises(TwinError, match=rf"^{broken} .*: slurmdbd: Connection refused.* Nothing was written."):
        dump(tmp_path / "dump")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "jobs"]


def test_a_command_that_is_missing_is_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a missing command is named, with what to do."""
    monkeypatch.setenv("PATH", f"{fake_slurm(tmp_path, without='sshare')}:/bin")
    monkeypatch.setattr("shutil.which", lambda name: None if name == "sshare" else f"/bin/{name}")
    with pytest.raises(TwinError, match=r"sshare: there is no such command here; .*--print-commands"):
        dump(tmp_path / "dump")


def test_squeue_is_asked_for_cells_that_no_bar_parts() -> None:
    """Squeue and sinfo leave bars of features and reasons as they are, so none parts what they print."""
    asked = {one.name: one.words[-1] for one in commands_of()}
    assert "|" not in asked["queue"] + asked["states"]
    line = "n1\tp\tdown\tby bob | eve\tnow\n"
    disguised = Disguise("salt").lines("states.txt", ["NODELIST\tPARTITION\tSTATE\tREASON\tTIMESTAMP\n", line])
    assert list(disguised)[1] == "n1\tp\tdown\t\tnow\n"


def test_a_part_is_left_out_by_name_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a cluster without fair shares can be dumped without them, and without jobs not at all."""
    monkeypatch.setenv("PATH", f"{fake_slurm(tmp_path, broken='sshare')}:/usr/bin:/bin")
    dump(tmp_path / "dump", without=("shares",))
    assert not (tmp_path / "dump/shares.txt").exists()
    assert "without shares\n" in (tmp_path / "dump/dump.txt").read_text(encoding="utf-8")
    with pytest.raises(UnknownNameError, match=r"Unknown part of a dump 'share'\. Did you mean 'shares'"):
        dump(tmp_path / "other", without=("share",))
    with pytest.raises(ValueError, match="without='jobs': every dump needs it"):
        dump(tmp_path / "other", without=("jobs",))


def test_a_dump_takes_the_place_of_nothing(tmp_path: Path) -> None:
    """Tests that a folder with files in it is left alone."""
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump/precious").touch()
    with pytest.raises(OutputError, match="it is there already; give a new folder"):
        dump(tmp_path / "dump")


def test_disguised_names_are_the_same_everywhere_and_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no name, path or command of a user's is in an anonymised dump, and conditions between jobs are."""
    monkeypatch.setenv("PATH", f"{fake_slurm(tmp_path)}:/usr/bin:/bin")
    dump(tmp_path / "dump", anonymise="salt")
    text = (tmp_path / "dump/jobs.sacct").read_text(encoding="utf-8")
    assert not re.search("alice|physics|secret|/scratch", text)
    assert text.endswith("|sbatch --dependency=afterok:5 job\n")
    assert "anonymised\n" in (tmp_path / "dump/dump.txt").read_text(encoding="utf-8")
    disguise = Disguise("salt")
    assert disguise.name("u", "alice") in text
    assert disguise.name("u", "alice") != Disguise("other").name("u", "alice")
    assert disguise.name("u", "root") == "root"


def test_records_keep_what_a_replay_needs() -> None:
    """Tests that in records of scontrol's people are exchanged, reasons go, and all else stays."""
    record = (
        "NodeName=n1 CPUTot=8 State=DOWN Owner=alice Reason=ask alice [root@2027-01-12T08:00:00] "
        "Comment=her node Weight=1\n"
    )
    [line] = Disguise("salt").lines("nodes.txt", [record])
    assert "alice" not in line
    assert "her node" not in line
    assert "NodeName=n1 CPUTot=8 State=DOWN" in line
    assert "Weight=1" in line


def test_whoever_cancelled_or_wrote_a_reason_is_not_told() -> None:
    """Tests that a number of a user's in a state goes, and that of reasons Slurm's own alone stay, of jobs."""
    jobs = ["User|State|Reason\n", "1000|CANCELLED by 1000|QOSMaxJobsPerUserLimit\n", "bob|FAILED|as bob said\n"]
    found = list(Disguise("salt").lines("jobs.sacct", jobs))
    assert found[1].endswith("|CANCELLED|QOSMaxJobsPerUserLimit\n")
    assert found[2].endswith("|FAILED|\n")
    assert "1000" not in found[1]
    events = list(Disguise("salt").lines("events.txt", ["NodeName|Reason|User\n", "n1|Smith|smith\n"]))
    assert events[1].startswith("n1||u")


def test_an_accounts_tree_keeps_its_shape() -> None:
    """Tests that who stands in whom is still told by the blanks before other names."""
    lines = ["Cluster|Account|User|Share\n", "c|root||1\n", "c| physics||5\n", "c|  physics|alice|1\n"]
    found = list(Disguise("salt").lines("accounts.txt", lines))
    assert [len(line.split("|")[1]) - len(line.split("|")[1].lstrip()) for line in found[1:]] == [0, 1, 2]
    assert found[2].split("|")[1].strip() == found[3].split("|")[1].strip() != "physics"
    assert found[3].split("|")[2].startswith("u")


def test_a_disguise_keeps_the_parameters_that_decide() -> None:
    """A dump with other names says what the real one does of how priorities are made and memory is given."""
    kept = ["FairShareDampeningFactor = 5\n", "DefMemPerNode           = 100\n", "MCSPlugin = mcs/account\n"]
    gone = ["SlurmctldHost = alice\n", "JobCompLoc = /srv/alice\n"]
    assert list(Disguise("salt").lines("config.txt", [*kept, *gone])) == kept


def test_a_disguise_keeps_that_there_is_a_program_and_not_its_path() -> None:
    """An Epilog decides how long nodes stay busy, and its path may name the site; newer Slurms number several."""
    lines = [
        "Epilog[0]               = /scratch/alice/e.sh\n",
        "PreemptParameters = youngest_first\n",
        "MailProg = /bin/x\n",
    ]
    said = list(Disguise("salt").lines("config.txt", lines))
    assert said == ["Epilog[0]               = /program\n", "PreemptParameters = youngest_first\n"]


def test_a_config_that_scontrol_prints_has_the_defaults_that_say_nothing(tmp_path: Path) -> None:
    """Slurm's usual values are no notes, units and numbered names are read, and what is set is said."""
    folder = made_dump(tmp_path / "dump", jobs=20, nodes=8, seed=1)
    config = folder / "config.txt"
    before = config.read_text(encoding="utf-8")
    usual = (
        "EpilogMsgTime = 2000 usec\nMaxJobCount = 10000\nMaxTasksPerNode = 512\nPreemptMode = OFF\nMCSPlugin = (null)\n"
        "PreemptExemptTime = 00:00:00\nAllowSpecResourcesUsage = No\nEpilog = (null)\nTopologyParam = (null)\n"
    )
    for more, there in ((usual, False), (usual + "Epilog[0] = /e.sh\n", True)):
        config.write_text(before + more, encoding="utf-8")
        notes = "".join(fs.policies.Slurm(machine_of(Dump(folder)).conf).notes)
        assert ("not modelled" in notes, "(Epilog)" in notes) == (False, there)


def test_what_only_command_lines_ask_for_is_said_wherever_a_dump_is_shown(tmp_path: Path) -> None:
    """Tests that a dump's options, licences and partitions that a replay lacks are said by replay, study and now."""
    folder = made_dump(tmp_path / "dump", jobs=60, nodes=8, policy="easy", seed=3)
    jobs, queue = folder / "jobs.sacct", folder / "queue.txt"
    lines = jobs.read_text(encoding="utf-8").splitlines()
    rows = [k for k, line in enumerate(lines) if line.endswith("|sbatch job")][:4]
    asked = ("--switches=1", "--exclusive --time-min=5", "-L matlab:2", "-p main,long")
    for k, options in zip(rows, asked, strict=True):
        lines[k] = lines[k].removesuffix("job") + f"{options} job"
    jobs.write_text("\n".join(lines) + "\n", encoding="utf-8")
    head, *waiting = queue.read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in waiting]
    first = next(row for row in cells if row[3] == "PENDING")
    first[1] += ",other"
    queue.write_text("\n".join([head, *map("\t".join, cells)]) + "\n", encoding="utf-8")
    said = (
        "not modelled of the jobs: 2 runs in heterogeneous jobs; 1 run for one of several partitions (the first is "
        "taken); 1 run with --switches; 1 run with --time-min; 1 run with licences (matlab)"
    )
    assert said in replay(folder, "easy").notes
    assert said in case_of(folder, policy="easy").notes
    outlook = forecast(present(folder), draws=1)
    assert said in outlook.notes
    assert "not modelled: 1 job for one of several partitions (the first is taken)" in outlook.notes


def test_runs_without_a_user_cost_no_dump(tmp_path: Path) -> None:
    """Tests that Slurm's own policy takes runs without a user, as sacct prints those of removed ones, for one's."""
    folder = made_dump(tmp_path / "dump", jobs=60, nodes=8, seed=3)
    jobs = folder / "jobs.sacct"
    head, *lines = jobs.read_text(encoding="utf-8").splitlines()
    at = head.split("|").index("User")
    rows = [line.split("|") for line in lines]
    for row in rows[10:20]:
        row[at] = ""
    jobs.write_text("\n".join([head, *map("|".join, rows)]) + "\n", encoding="utf-8")
    found = replay(folder)
    assert "1 user that sacctmgr no longer has (0) with one share each" in "".join(found.notes)
    assert len(found.schedule) == len(replay(made_dump(tmp_path / "same", jobs=60, nodes=8, seed=3)).schedule)


def test_a_disguise_keeps_what_a_command_line_asks_for() -> None:
    """Tests that options that decide when a job starts are those of the real line, and that nothing else is in it."""
    line = (
        "sbatch --nice=7 -p gpu,secret --exclusive -L mat:2 -w alice1 -N 2-3 --switches=1 --qos=x,y "
        "/scratch/alice/run.sh"
    )
    head = "JobID|SubmitLine\n"
    _, told = Disguise("salt").lines("jobs.sacct", [head, f"7|{line}\n"])
    assert requests_in(told.partition("|")[2].strip()) == requests_in(line)
    assert not re.search("alice|secret|run.sh|x,y", told)
