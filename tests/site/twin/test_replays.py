"""Replays of made dumps: with the facts given that the files tell, every start is found again."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched import cli
from fedsched.core.errors import FederationError, TraceError, TwinError, UnknownNameError
from fedsched.site.twin import explain, made_dump, read_site, replay
from fedsched.site.twin.causes import EQUAL, UNEXPLAINED
from fedsched.site.twin.page import verdict
from fedsched.site.twin.replay_problem import replay_problem_of

if TYPE_CHECKING:
    from pathlib import Path


SEED = 5  # some run as the dump begins


@pytest.fixture(scope="module")
def easy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dump whose starts are those of EASY, with all troubles in it."""
    return made_dump(tmp_path_factory.mktemp("easy") / "dump", jobs=150, nodes=16, policy="easy", seed=SEED)


def test_every_start_is_found_with_the_facts_given(easy: Path) -> None:
    """Tests that a dump's own policy finds every start once the recorded facts are given, and not without them."""
    with_all, with_none = replay(easy, "easy"), replay(easy, "easy", given=())
    assert set(with_all.given) >= {"node down", "held"}
    assert with_all.share == 1.0
    assert len(with_all.equal) > 80
    assert with_none.share < 0.9
    with_all.schedule.verify()


def test_every_difference_has_a_cause(easy: Path) -> None:
    """Tests that the causes explain all starts, and that held jobs have their own hold as the cause."""
    found = explain(read_site(easy), "easy")
    counts = found.counts()
    assert found.share == 1.0
    assert counts[UNEXPLAINED] == (0, 0)
    assert counts[EQUAL][0] == int(found.plain.equal.sum())
    assert sum(count for count, _ in counts.values()) == len(found.cause)
    assert 0 < found.given_to < 0.2
    own = found.rows[found.own & (found.cause == "held")]
    records = found.site.records
    assert (records.eligible[own] > records.submit[own]).all()


def test_another_policy_leaves_starts_unexplained(easy: Path) -> None:
    """Tests that causes do not explain whatever they are asked: strict FCFS did not make these starts."""
    found = explain(read_site(easy), "fcfs")
    assert found.full.share < 0.9


def test_jobs_that_ran_before_are_there_and_not_compared(easy: Path) -> None:
    """Tests that runs of before the dump hold their nodes from their own starts on, and count in no comparison."""
    found = replay(easy, "easy")
    before = found.problem.start < found.site.begin
    assert before.any()
    assert not found.problem.compared[before].any()
    assert np.array_equal(found.schedule.start[before], found.problem.start[before])


def test_what_is_assumed_is_said(easy: Path) -> None:
    """Tests that runs without an end, and the facts given, are told."""
    notes = replay(easy, "easy").notes
    assert any("not over at the dump's end run to their limits" in note for note in notes)
    assert any(note.startswith("taken as given: ") for note in notes)


def test_a_fact_that_is_none_is_refused(easy: Path) -> None:
    """Tests that an unknown fact is an error that names those that there are."""
    with pytest.raises(UnknownNameError, match=r"Unknown fact to take as given 'hold'\. Did you mean 'held'"):
        replay(easy, "easy", given=("hold",))


@pytest.mark.parametrize(
    ("file", "told"),
    [("dump.txt", "it has no dump.txt, so the dump is incomplete"), ("jobs.sacct", "it has no jobs.sacct"),
     ("config.txt", "it has no config.txt")],
)  # fmt: skip
def test_half_a_dump_is_none(file: str, told: str, tmp_path: Path) -> None:
    """Tests that a dump without a part of it is refused by the name of that part."""
    folder = made_dump(tmp_path / "dump", jobs=20, nodes=8, policy="easy", troubles=False)
    (folder / file).unlink()
    with pytest.raises(TwinError, match=told):
        replay(folder, "easy")


@pytest.mark.slow
def test_slurms_own_scheduler_finds_its_starts(tmp_path: Path) -> None:
    """Tests that a replay under the dump's own configuration finds the starts that it made, its clocks given."""
    folder = made_dump(tmp_path / "dump", jobs=60, nodes=8, seed=1, priority="basic")
    found = replay(folder)
    assert "clocks" in found.given
    assert found.share == 1.0
    assert found.schedule.policy.startswith("slurm (backfill, linear, basic)")


def test_facts_are_those_that_the_files_tell(easy: Path) -> None:
    """Tests that cut states, runs that follow others, arrays and parts of heterogeneous jobs are read as they are."""
    records = read_site(easy).records
    assert records.again.any()
    assert (np.diff(records.submit) >= 0).all()
    assert len(np.unique(records.id)) == len(records)
    assert (records.array >= 0).any()
    assert records.gone.any()
    assert np.isnan(records.start[records.gone]).all()


LIMITED = """\
JobIDRaw|JobID|Cluster|Partition|User|Account|QOS|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|NNodes|Reason
1|1|made|main|u0|a0|normal|{0:02}:00|{0:02}:00|{0:02}:01|{0:02}:41|2400|60|COMPLETED|1|None
2|2|made|main|u0|a0|normal|{0:02}:05|{0:02}:05|{0:02}:41|{0:02}:51|600|60|COMPLETED|1|QOSMaxJobsPerUserLimit
3|3|made|main|u1|a1|normal|{0:02}:06|{0:02}:06|{0:02}:06|{0:02}:26|1200|60|CANCELLED |1|None
4|4|made|main|u1|a1|normal|{0:02}:07|{0:02}:07|Unknown|{0:02}:09|0|UNLIMITED|CANCELLED+|1|None
5|5|made|main|u1|a1|normal|{0:02}:08|{0:02}:08|{0:02}:08|{0:02}:28|1200|Partition_Limit|COMPLETED|1|None
"""


def test_a_limit_is_given_by_others_runs_alone(tmp_path: Path) -> None:
    """Tests that who waited for a limit begins when another's recorded end made room, and not by its own start."""
    folder = made_dump(tmp_path / "dump", jobs=20, nodes=8, policy="easy", troubles=False)
    text = re.sub(r"(\d\d):(\d\d)(?=[|])", r"2026-01-05T\1:\2:00", LIMITED.format(9))
    (folder / "jobs.sacct").write_text(text, encoding="utf-8")
    (folder / "dump.txt").write_text("fedsched dump 1\nsince 2026-01-05T08:30:00\n", encoding="utf-8")
    config = folder / "config.txt"
    config.write_text(re.sub("as of .*", "as of 2026-01-05T12:00:00", config.read_text("utf-8")), encoding="utf-8")
    site = read_site(folder)
    plain, limited = replay(site, "easy", given=()), replay(site, "easy", given=("limit reached",))
    late = {int(job): value for job, value in zip(plain.problem.rows[plain.problem.compared], plain.later, strict=True)}
    assert late[1] == -36 * 60
    assert limited.share == 1.0
    found = explain(site, "easy")
    assert found.cause.tolist()[1] == "limit reached"
    assert found.own.tolist() == [False, True, False, False]
    assert np.isnan(site.records.start[3])


def test_who_waits_for_a_limit_of_one_that_runs_on_is_not_told_when(tmp_path: Path) -> None:
    """Tests that a limit that is full until the dump's end gives nobody a begin."""
    folder = made_dump(tmp_path / "dump", jobs=20, nodes=8, policy="easy", troubles=False)
    text = re.sub(r"(\d\d):(\d\d)(?=[|])", r"2026-01-05T\1:\2:00", LIMITED.format(9))
    rows = [line.split("|") for line in text.splitlines()]
    for row, state in ((1, "RUNNING"), (2, "PENDING")):
        rows[row][rows[0].index("State")], rows[row][rows[0].index("End")] = state, "Unknown"
    rows[2][rows[0].index("Start")], rows[2][rows[0].index("ElapsedRaw")] = "Unknown", "0"
    (folder / "jobs.sacct").write_text("\n".join("|".join(row) for row in rows) + "\n", encoding="utf-8")
    (folder / "dump.txt").write_text("fedsched dump 1\nsince 2026-01-05T08:30:00\n", encoding="utf-8")
    config = folder / "config.txt"
    config.write_text(re.sub("as of .*", "as of 2026-01-05T09:50:00", config.read_text("utf-8")), encoding="utf-8")
    workload = replay_problem_of(read_site(folder), "easy", given=("limit reached",)).workload
    assert workload.begin is None or np.isfinite(workload.begin).all()
    assert 2 in workload.id


def test_who_was_released_stands_behind_who_came_before(tmp_path: Path) -> None:
    """Tests that holds given are those of reading 73, and that what users took off their priorities is read."""
    folder = made_dump(tmp_path / "dump", jobs=60, nodes=8, seed=1, priority="basic", troubles=False)
    lines = (folder / "jobs.sacct").read_text().splitlines()
    names = lines[0].split("|")
    one, other = (lines[row].split("|") for row in (4, 6))
    one[names.index("Reason")], one[names.index("Eligible")] = "JobHeldUser", other[names.index("Submit")]
    other[names.index("SubmitLine")] = "sbatch --nice=7 job.sh"
    lines[4], lines[6] = "|".join(one), "|".join(other)
    (folder / "jobs.sacct").write_text("\n".join(lines) + "\n")
    site = read_site(folder)
    assert site.records.nice.tolist()[3:7] == [0, 0, 7, 0]
    jobs = replay_problem_of(site, given=("held",)).workload
    assert jobs.nice is not None
    assert jobs.submit[3] == jobs.submit[5]
    for others in (replay_problem_of(site), replay_problem_of(site, "easy", given=("held",))):
        assert others.workload.submit[3] < jobs.submit[3]


def test_states_that_are_cut_jobs_without_limits_and_other_clusters_change_nothing(tmp_path: Path) -> None:
    """Tests that a dump of a database of three clusters, with states of nine letters, has every start found again."""
    words = {"jobs": 60, "nodes": 8, "policy": "easy", "seed": SEED}
    plain = replay(made_dump(tmp_path / "plain", **words), "easy")  # type: ignore[arg-type]
    folder = made_dump(tmp_path / "cut", **words, endless=0.2, letters=9, others=2)  # type: ignore[arg-type]
    text = (folder / "jobs.sacct").read_text(encoding="utf-8")
    assert "|UNLIMITED|" in text
    assert "CANCELLED by" not in text
    site = read_site(folder)
    assert len(site.records) == text.count("|made|") == text.count("|made3|")
    assert (site.records.limit == 365.0 * 86_400).any()
    found = replay(site, "easy")
    assert found.share == 1.0
    assert len(found.equal) == len(plain.equal)


def test_steps_of_jobs_change_nothing(tmp_path: Path) -> None:
    """Tests that a dump of a `sacct` without -X tells of the same runs, and that its steps are said to be left out."""
    words = {"jobs": 60, "nodes": 8, "policy": "easy", "seed": SEED}
    plain = read_site(made_dump(tmp_path / "plain", **words))  # type: ignore[arg-type]
    folder = made_dump(tmp_path / "steps", **words, steps=True)  # type: ignore[arg-type]
    site = read_site(folder)
    steps = len(re.findall(r"(?m)^\d+\.\w+\|", (folder / "jobs.sacct").read_text(encoding="utf-8")))
    assert steps > 3 * len(plain.records) // 2
    assert f"left out: {steps} steps of jobs" in site.notes
    for name in ("id", "submit", "start", "end", "limit", "nodes"):
        values = (getattr(one.records, name) for one in (plain, site))
        assert np.array_equal(*values, equal_nan=name not in ("id", "nodes"))


@pytest.mark.parametrize("letters", [9, 10, None])
def test_who_runs_or_was_requeued_is_known_by_a_cut_state(letters: int | None, tmp_path: Path) -> None:
    """Tests that jobs that were completing, or held after a requeue, as the dump was taken are no ended ones."""
    folder = made_dump(tmp_path / "dump", jobs=40, nodes=8, policy="easy", troubles=False, seed=SEED)
    path = folder / "jobs.sacct"
    rows = [line.split("|") for line in path.read_text(encoding="utf-8").splitlines()]
    state, number = rows[0].index("State"), rows[0].index("JobIDRaw")
    runs = next(row for row in rows if row[state] == "RUNNING")
    ended = next(row for row in rows if row[state] == "COMPLETED")
    runs[state] = "COMPLETING"[:letters] + "+" * (letters == 9)
    ended[state] = "PREEMPTED"[:letters]
    path.write_text("\n".join("|".join(row) for row in rows) + "\n", encoding="utf-8")
    records = read_site(folder).records
    [own] = np.flatnonzero(records.id == int(runs[number]))
    assert np.isnan(records.end[own])
    assert not records.gone[own]
    assert records.preempted.tolist() == (records.id == int(ended[number])).tolist()


def on_shared_nodes(path: Path, **settings: str) -> Path:
    """Return the folder of a dump of jobs that share nodes, with these settings."""
    folder = made_dump(path, jobs=40, nodes=8, policy="easy", seed=3)
    config, partitions = folder / "config.txt", folder / "partitions.txt"
    text = config.read_text(encoding="utf-8")
    for name, value in {"SelectType": "select/cons_tres", **settings}.items():
        text = re.sub(rf"(?m)^{name}\s*=.*\n", "", text) + f"{name} = {value}\n"
    config.write_text(text, encoding="utf-8")
    partitions.write_text(partitions.read_text(encoding="utf-8").replace("OverSubscribe=EXCLUSIVE", "OverSubscribe=NO"))
    return folder


@pytest.mark.parametrize("sharing", ["CR_Core_Memory", "CR_Core"])
def test_a_twin_of_shared_nodes_says_where_to_go(
    tmp_path: Path, sharing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that the note's command runs on shared nodes, and that the verdict does not trust the twin's what-ifs."""
    folder = on_shared_nodes(tmp_path / "a dump", SelectTypeParameters=sharing, DefMemPerCPU="100")
    [note] = [one for one in read_site(folder).notes if "given whole" in one]
    command = shlex.split(note.partition("on shared nodes: ")[2])
    assert ("slurm" in command) == (sharing == "CR_Core_Memory")
    assert cli.run(command[1:]) == 0
    assert "shared nodes (block)" in capsys.readouterr().out
    assert verdict(explain(read_site(folder), "easy")).endswith("do not trust its what-ifs.")


def test_a_job_over_a_limit_costs_no_dump(tmp_path: Path) -> None:
    """Tests that limits count the CPUs of jobs that share nodes, and that jobs over one by themselves are said."""
    folder = on_shared_nodes(tmp_path / "dump", AccountingStorageEnforce="associations,limits")
    qos, jobs = folder / "qos.txt", folder / "jobs.sacct"
    head, *rows = qos.read_text(encoding="utf-8").splitlines()
    at = head.split("|").index("MaxTRESPU")
    cells = [row.split("|") for row in rows]
    for row in cells:
        row[at] = "cpu=12"
    qos.write_text("\n".join([head, *map("|".join, cells)]) + "\n", encoding="utf-8")
    site = read_site(folder)
    assert site.machine.shared
    whole = int((site.records.cpus > 12).sum())
    assert whole > 2
    problem = replay_problem_of(site)
    over = re.findall(r"(\d+) runs? over (?:one|a limit) all by itself", "; ".join(problem.notes))
    assert sum(map(int, over)) == whole
    # Each asks for two CPUs a node: then the limit has room for all.
    lines = [line.split("|") for line in jobs.read_text(encoding="utf-8").splitlines()]
    columns = [lines[0].index(name) for name in ("AllocCPUS", "ReqCPUS", "NNodes")]
    for line in lines[1:]:
        line[columns[0]] = line[columns[1]] = str(min(12, 2 * int(line[columns[2]] or 1)))
    jobs.write_text("\n".join(map("|".join, lines)) + "\n", encoding="utf-8")
    assert not any("all by itself" in note for note in replay(folder).notes)


def test_a_dump_is_a_conf_wherever_one_is_taken(tmp_path: Path) -> None:
    """Tests that a dump's folder, and its config.txt, are read as the slurm.conf and the machine that they tell of."""
    folder = made_dump(tmp_path / "dump", jobs=30, nodes=8, policy="easy", seed=3)
    site = read_site(folder)
    for path in (folder, folder / "config.txt"):
        assert fs.policies.Slurm(path).conf == site.machine.conf
        assert fs.read_federation(path) == site.federation
    jobs = fs.read(folder / "jobs.sacct", unit="nodes")
    accounts = [folder / "accounts.txt", folder / "qos.txt"]
    tuned = fs.tune(folder, jobs, genes=["bf_interval"], simulations=3, phases=1, assoc=accounts)
    assert tuned.current.conf == site.machine.conf
    with pytest.raises(TraceError, match=r'a folder; its jobs are in jobs\.sacct, to be read with unit="nodes"'):
        fs.read(folder)
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "config.txt").write_text((folder / "config.txt").read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(FederationError, match="`scontrol show config` prints names no nodes; give the folder"):
        fs.policies.Slurm(alone / "config.txt")
