"""Slurm's parameters searched on a log: genes, changed files, what is found and whether it holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fedsched as fs
from fedsched.cli import run
from fedsched.core.errors import InfeasibleError, TraceError
from fedsched.io.slurm_files.slurm_conf import read_slurm_conf
from fedsched.site.tuning import GENES
from fedsched.site.tuning.confs import changed, changed_texts, diff_of, value_in
from fedsched.site.twin import made_dump
from fedsched.slurm import Slurm

MACHINE = (
    "SelectType=select/linear PriorityType=priority/basic\nNodeName=n[1-8]\nPartitionName=p Nodes=ALL Default=YES\n"
)
BLIND = f"SchedulerParameters=bf_max_job_test=1,bf_continue,default_queue_depth=1\n{MACHINE}"  # hardly backfills


def conf_in(folder: Path, text: str = BLIND, name: str = "slurm.conf") -> Path:
    """Write a slurm.conf."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def log(jobs: int = 60, seed: int = 1) -> fs.Workload:
    """Return jobs of which wide ones are in the way of narrow, short ones."""
    rng = np.random.default_rng(seed)
    wide = rng.random(jobs) < 0.3
    return fs.Workload(
        submit=np.sort(rng.integers(0, 60 * jobs, jobs)).astype(float),
        tasks=np.where(wide, 7, rng.integers(1, 3, jobs)),
        runtime=np.where(wide, 900, rng.integers(60, 300, jobs)).astype(float),
        estimate=np.where(wide, 1200, 360).astype(float),
    )


@pytest.mark.parametrize("name", GENES)
def test_a_gene_says_what_it_is_told(name: str) -> None:
    """The place of a value says the value again, and every place says one that Slurm reads."""
    gene = GENES[name]
    said = [gene.said(place) for place in np.linspace(0.0, 1.0, 41)]
    for text in said:
        assert gene.said(gene.place(text)) == text
        assert gene.choices or gene.least <= int(text) <= gene.most
    assert len(set(said)) >= min(len(gene.choices) or 20, 20)
    assert gene.place(gene.usual) == pytest.approx(gene.place(gene.said(gene.place(gene.usual))), abs=0.01)


def test_a_conf_is_changed_where_the_parameter_stands_last(tmp_path: Path) -> None:
    """Also in a file that is included; comments stay, and what is new is added at the end."""
    conf_in(tmp_path, "# PriorityMaxAge=1\nprioritymaxage=2-0 # days\n", "more.conf")
    path = conf_in(tmp_path, f"Include more.conf\nSchedulerParameters=nohold,BF_Interval=20\n{MACHINE}")
    conf = read_slurm_conf(path)
    assert [value_in(conf, name) for name in ("PriorityMaxAge", "bf_interval", "bf_window")] == ["2880", "20", "1440"]
    values = {"PriorityMaxAge": "60", "bf_interval": "30", "PriorityWeightAge": "7"}
    texts = changed_texts(conf, values)
    assert texts[str(tmp_path / "more.conf")][1] == "# PriorityMaxAge=1\nprioritymaxage=60 # days\n"
    after = f"Include more.conf\nSchedulerParameters=nohold,bf_interval=30\n{MACHINE}PriorityWeightAge=7\n"
    assert texts[str(path)][1] == after
    for name, (_, text) in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    assert read_slurm_conf(path).parameters == changed(conf, values).parameters
    assert diff_of(conf, {}) == ""


def test_a_value_that_goes_on_is_changed_whole(tmp_path: Path) -> None:
    """What a parameter says on the lines that continue it is replaced with it."""
    text = "SchedulerParameters = bf_interval=60,\\\nbf_window=4320 # long\nNodeName=n1\nPartitionName=p Nodes=ALL\n"
    (tmp_path / "slurm.conf").write_text(text)
    conf = read_slurm_conf(tmp_path / "slurm.conf")
    assert value_in(conf, "bf_window") == "4320"
    [(_, after)] = changed_texts(conf, {"bf_window": "1440"}).values()
    assert after.startswith("SchedulerParameters = bf_interval=60,bf_window=1440 # long\nNodeName=n1\n")


def test_the_diff_of_a_file_without_a_last_line_end_is_whole(tmp_path: Path) -> None:
    """As `diff -u` says it."""
    conf = read_slurm_conf(conf_in(tmp_path, MACHINE.strip()))
    diff = diff_of(conf, {"sched_interval": "30"})
    assert diff.endswith("+SchedulerParameters=sched_interval=30\n")
    assert "-PartitionName=p Nodes=ALL Default=YES\n\\ No newline at end of file\n" in diff


def test_what_keeps_jobs_waiting_is_found_and_holds_on_later_jobs(tmp_path: Path) -> None:
    """Where backfilling looks at one job only, looking at more makes waits shorter, on jobs not seen as well."""
    path, jobs = conf_in(tmp_path), log()
    tuning = fs.tune(path, jobs, objectives=("mean_wait",), simulations=150, seed=3)
    (best,) = tuning.front
    assert best.values[0] < 0.9 * tuning.current.values[0]
    assert best.holds
    assert {"bf_max_job_test", "default_queue_depth"} & set(best.changes)
    assert tuning.simulations <= 150 + 2 * len(tuning.phases)
    assert tuning.choose() is tuning.choose("mean_wait") is best
    # What it says is what simulations say.
    first = jobs.sorted().head(tuning.jobs)
    for one in (tuning.current, best):
        means = [
            fs.simulate(
                first, fs.read_federation(path), Slurm(one.tuned_conf, phase=phase, epoch=phase)
            ).metrics().mean_wait
            for phase in tuning.phases
        ]  # fmt: skip
        assert one.values[0] == pytest.approx(np.mean(means), rel=1e-12)
        assert one.spread[0] == pytest.approx(np.ptp(means))
    # Files that are written are the conf that was tried.
    written = best.write(tmp_path / "tuned")
    assert read_slurm_conf(written[1]).parameters == best.tuned_conf.parameters
    assert "bf_continue" in written[1].read_text(encoding="utf-8")
    assert str(tuning).count("\n") == 3


def test_no_conf_of_the_front_changes_more_than_it_has_to_nor_beats_another(tmp_path: Path) -> None:
    """Each change brings something, and each conf is better than each other one somewhere."""
    tuning = fs.tune(conf_in(tmp_path), log(), objectives=("mean_wait", "max_wait"), simulations=200, check=0.0, seed=1)
    values = np.array([one.values for one in tuning])
    assert len(values) >= 1
    for k, mine in enumerate(values):
        others = np.delete(values, k, axis=0)
        assert not ((others <= mine).all(axis=1) & (others < mine).any(axis=1)).any()
        assert (mine < np.array(tuning.current.values)).any()
    assert tuning.current.checked is None
    assert all(one.holds is None for one in tuning)


def test_the_same_seed_finds_the_same(tmp_path: Path) -> None:
    """A budget of simulations makes no use of the clock."""
    path = conf_in(tmp_path)
    one, again = (fs.tune(path, log(), simulations=80, seed=5) for _ in range(2))
    assert [tuned.changes for tuned in one] == [tuned.changes for tuned in again]


def test_genes_that_change_nothing_are_refused_by_name(tmp_path: Path) -> None:
    """With the reason; names are read without regard to their case, limits are checked."""
    path, builtin = conf_in(tmp_path), conf_in(tmp_path, f"SchedulerType=sched/builtin\n{MACHINE}", "builtin.conf")
    with pytest.raises(ValueError, match=r"bf_interval changes nothing under .*: it is of the backfill scheduler"):
        fs.tune(builtin, log(), genes=["bf_interval"])
    with pytest.raises(ValueError, match=r"PriorityWeightAge changes nothing under .*multifactor"):
        fs.tune(path, log(), genes=["PriorityWeightAge"])
    with pytest.raises(ValueError, match="gene"):
        fs.tune(path, log(), genes=["bf_magic"])
    with pytest.raises(ValueError, match="must be two whole numbers of at least 10"):
        fs.tune(path, log(), genes={"bf_max_job_test": (1, 5)})
    found = fs.tune(path, log(), genes={"BF_MAX_JOB_TEST": (20, 30)}, objectives=("mean_wait",), simulations=40)
    assert found.genes == ("bf_max_job_test",)
    assert all(20 <= int(one.changes["bf_max_job_test"]) <= 30 for one in found)


def test_what_few_set_is_turned_where_it_is_said_or_asked_for(tmp_path: Path) -> None:
    """A conf's own word counts among the genes, another one only by its name; a short period of ticks is found."""
    said = BLIND.replace("SchedulerParameters=", "SchedulerParameters=sched_max_job_start=1,")
    assert said != BLIND
    tuning = fs.tune(conf_in(tmp_path, said), log(), objectives=("mean_wait",), simulations=60)
    assert "sched_max_job_start" in tuning.genes
    assert not {"partition_job_depth", "bf_max_job_assoc"} & {*tuning.genes}
    asked = ["partition_job_depth", "sched_max_job_start"]
    assert fs.tune(conf_in(tmp_path), log(), genes=asked, simulations=8).genes == tuple(asked)
    aged = f"{MACHINE}PriorityType=priority/multifactor\nPriorityWeightAge=1000\nPriorityCalcPeriod=60\n"
    conf = read_slurm_conf(conf_in(tmp_path, aged))
    assert value_in(conf, "PriorityCalcPeriod") == "60"
    assert "PriorityCalcPeriod=1\n" in changed_texts(conf, {"PriorityCalcPeriod": "1"})[conf.path][1]


def test_what_cannot_be_tuned_is_said(tmp_path: Path) -> None:
    """Recorded clocks, too few jobs, and metrics that are not to be small."""
    path = conf_in(tmp_path)
    with pytest.raises(ValueError, match="objective"):
        fs.tune(path, log(), objectives=("utilisation",))
    with pytest.raises(TraceError, match="left to tune on"):
        fs.tune(path, log(3))
    with pytest.raises(ValueError, match="check=1"):
        fs.tune(path, log(), check=1)
    with pytest.raises(ValueError, match="policy's own"):
        fs.tune(Slurm(path), log(), completing=3)


def test_the_command_prints_the_front_and_writes_each_diff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that the current conf is printed first, and that each conf found has a folder."""
    conf_in(tmp_path)
    monkeypatch.chdir(tmp_path)
    log().write("jobs.csv")
    words = ["tune", "jobs.csv", "--conf", "slurm.conf", "--simulations", "60", "--gene", "bf_max_job_test=10:99"]
    assert run([*words, "--objective", "mean_wait", "--into", "tuned"]) == 0
    out = capsys.readouterr().out
    assert "as it is" in out
    assert "bf_max_job_test 1 → " in out
    assert Path("tuned/1/slurm.diff").read_text(encoding="utf-8").startswith("--- slurm.conf\n+++ slurm.conf (tuned)\n")
    assert run([*words, "--into", "tuned"]) == 2
    assert "exists and is not an empty folder" in capsys.readouterr().err
    assert run(["tune", "jobs.csv"]) == 2
    assert "needs --conf" in capsys.readouterr().err


ACCOUNTS = (
    "add cluster c\nadd account all\nadd user u account=all qos=normal\nadd user v account=all qos=normal\n"
    "modify qos normal set MaxJobsPerUser=1\n"
)


def limited(folder: Path) -> Slurm:
    """Return a Slurm whose users may have one job at a time, and the rest of the machine idles."""
    accounts = conf_in(folder, ACCOUNTS, "accounts.script")
    enforced = "SchedulerParameters=bf_interval=30\nAccountingStorageEnforce=associations,limits,qos\n"
    return Slurm(conf_in(folder, enforced + MACHINE), assoc=accounts)


def of_users() -> fs.Workload:
    """Return narrow jobs of two users."""
    jobs = 40
    users = np.array(["u", "v"])[np.arange(jobs) % 2]
    return fs.Workload(
        submit=np.arange(jobs) * 30.0, tasks=np.ones(jobs, dtype=np.int64), runtime=np.full(jobs, 300.0),
        estimate=np.full(jobs, 360.0), labels={"user": users},
    )  # fmt: skip


def test_a_limit_that_keeps_jobs_waiting_is_found_with_its_command(tmp_path: Path) -> None:
    """It is no part of the conf: the accounts change, and a command of sacctmgr's sets it."""
    policy = limited(tmp_path)
    assert policy.assoc is not None
    tuning = fs.tune(policy, of_users(), objectives=("mean_wait",), simulations=120, seed=1)
    assert tuning.genes[-1] == "normal/MaxJobsPerUser"  # as it stands
    best = tuning.choose("mean_wait")
    assert best.values[0] < 0.5 * tuning.current.values[0]
    limit = best.changes["normal/MaxJobsPerUser"]
    assert f"normal/MaxJobsPerUser 1 → {limit}" in str(best)
    told = "-1" if limit == "0" else limit
    assert best.commands == (f"sacctmgr -i modify qos where name=normal set MaxJobsPerUser={told}",)
    written = best.write(tmp_path / "tuned")
    assert written[-1].read_text(encoding="utf-8") == f"{best.commands[0]}\n"
    assert "MaxJobs" not in best.diff
    # What it says is what simulations say by the changed accounts, and by those that the command makes.
    after = ACCOUNTS.replace("MaxJobsPerUser=1", f"MaxJobsPerUser={told}")
    first = of_users().head(tuning.jobs)
    for accounts in (best.tuned_accounts, conf_in(tmp_path, after, "after.script")):
        means = [
            fs.simulate(
                first, fs.read_federation(policy.conf.path),
                Slurm(best.tuned_conf, assoc=accounts, phase=phase, epoch=phase),
            ).metrics().mean_wait
            for phase in tuning.phases
        ]  # fmt: skip
        assert best.values[0] == pytest.approx(np.mean(means), rel=1e-12)


def test_limits_are_asked_for_by_name(tmp_path: Path) -> None:
    """Also such that do not stand yet; a QOS or a limit that is not there, or not enforced, is refused."""
    policy = limited(tmp_path)
    asked = {"Normal/grpjobs": (2, 6)}
    tuning = fs.tune(policy, of_users(), genes=asked, objectives=("max_wait",), simulations=20, check=0.0)
    assert tuning.genes == ("normal/GrpJobs",)
    with pytest.raises(ValueError, match=r"limit.*GrpTRES"):
        fs.tune(policy, of_users(), genes=["normal/GrpTRES"])
    with pytest.raises(ValueError, match=r"QOS.*other"):
        fs.tune(policy, of_users(), genes=["other/GrpJobs"])
    with pytest.raises(ValueError, match="normal/GrpJobs changes nothing under"):
        fs.tune(policy.conf, of_users(), genes=["normal/GrpJobs"])


SHARED = (
    "SchedulerParameters=bf_max_job_test=1,default_queue_depth=1\nSelectType=select/cons_tres\n"
    "SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=500\nNodeName=n[1-8] CPUs=4 RealMemory=8000\n"
    "PartitionName=p Nodes=ALL Default=YES\n"
)


def test_nodes_are_shared_where_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Values are those of jobs that share nodes, on the jobs that are seen and on later ones."""
    path = conf_in(tmp_path, SHARED)
    few = log(40)
    jobs = fs.Workload(
        submit=few.submit, tasks=2 * few.tasks, runtime=few.runtime, estimate=few.estimate,
        demand={"cpu": [1] * len(few), "memory": [900] * len(few)},
    )  # fmt: skip
    tuning = fs.tune(path, jobs, sharing="block", objectives=("mean_wait",), simulations=20, phases=1)
    parts = (jobs.sorted().head(tuning.jobs), jobs.sorted().take(np.arange(tuning.jobs, len(jobs))))
    machine, conf = fs.read_federation(path), tuning.choose("mean_wait").tuned_conf
    for tuned, seen in ((tuning.current, read_slurm_conf(path)), (tuning.choose("mean_wait"), conf)):
        shared = [fs.simulate(part, machine, Slurm(seen), sharing="block").metrics().mean_wait for part in parts]
        assert tuned.checked is not None
        assert [tuned.values[0], tuned.checked[0]] == pytest.approx(shared, rel=1e-12)
    with pytest.raises(InfeasibleError, match="exceeds the 8 nodes"):  # jobs of more tasks than there are nodes
        fs.tune(path, jobs, objectives=("mean_wait",), simulations=20)
    jobs.write(tmp_path / "jobs.csv")
    words = ["tune", str(tmp_path / "jobs.csv"), "--conf", str(conf_in(tmp_path, name="whole.conf")), "--sharing"]
    assert run([*words, "block"]) == 2
    assert "leave sharing= out" in capsys.readouterr().err


def test_a_dumps_folder_is_log_conf_and_accounts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that the command line tunes a dump by its folder alone, as by its parts."""
    folder = made_dump(tmp_path / "dump", jobs=30, nodes=8, policy="easy", seed=3)
    few = ("--simulations", "3", "--phases", "1", "--gene", "bf_interval")
    assert run(["tune", str(folder), *few]) == 0
    whole = capsys.readouterr().out
    parts = ("--unit", "nodes", "--conf", str(folder / "config.txt"), "--assoc", str(folder / "accounts.txt"))
    assert run(["tune", str(folder / "jobs.sacct"), *parts, "--assoc", str(folder / "qos.txt"), *few]) == 0
    assert capsys.readouterr().out == whole
