"""Dumps of clusters like those of sites that there are: every fact that is put in is told, counted and found again."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fedsched.core.errors import UnknownNameError
from fedsched.site.twin import explain, made_dump, read_site, replay
from fedsched.site.twin.causes import UNEXPLAINED
from fedsched.site.twin.made_facts import reason_of
from fedsched.site.twin.made_files import node_lists
from fedsched.site.twin.replay_facts import matters
from fedsched.site.twin.replay_problem import replay_problem_of
from fedsched.slurm import Slurm

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.site.twin.site import Site

pytestmark = pytest.mark.compiled
FACTS = ("reservation", "requeued", "dependency", "held")
LIMITS = {"QOSMaxCpuPerUserLimit", "AssocGrpCpuLimit"}


def table(folder: Path, file: str) -> list[dict[str, str]]:
    """Return the rows of a table that a command printed."""
    head, *rows = (folder / file).read_text(encoding="utf-8").splitlines()
    return [dict(zip(head.split("|"), row.split("|"), strict=True)) for row in rows]


@pytest.fixture(scope="module", params=["cerit", "ub"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dump of each kind, of all that its cluster ever did."""
    folder = tmp_path_factory.mktemp(request.param) / request.param
    return made_dump(folder, kind=request.param, jobs=300, nodes=32, seed=1, before=0.0)


@pytest.fixture(scope="module")
def site(made: Path) -> Site:
    """Return what the dump says."""
    return read_site(made)


def test_a_partitions_qos_is_left_out_where_nobody_keeps_it(tmp_path: Path) -> None:
    """Slurm's own policy keeps its limits, where limits are enforced; another one's notes say that it does not."""
    site = read_site(made_dump(tmp_path / "made", kind="ub", jobs=100, nodes=32, seed=1))
    said = "not modelled of the machine: QOS of 1 partition (debug)"
    assert said not in replay(site).notes
    assert said in replay(site, "easy").notes
    assert said in replay(site, Slurm(site.machine.conf)).notes  # who knows no accounts


@pytest.mark.parametrize(
    ("kind", "seed", "before"),
    [("plain", 0, 0.3), ("plain", 1, 0.3), ("cerit", 1, 0.3), ("cerit", 2, 0.1), ("cerit", 2, 0.3)],
)
def test_who_waited_before_has_the_age_that_he_had(kind: str, seed: int, before: float, tmp_path: Path) -> None:
    """Of a dump that begins as many wait every start is found again: they are ahead of who comes later.

    So are the main scheduler's passes of each interval: they are in step with slurmctld's start.
    """
    site = read_site(made_dump(tmp_path / "made", kind=kind, jobs=400, nodes=32, seed=seed, before=before))
    records = site.records
    waited = (records.submit < site.since) & ~(records.start < site.since)
    assert waited.sum() > 8
    assert replay(site).share == 1.0
    slurm = replay_problem_of(site).policy
    assert isinstance(slurm, Slurm)
    older = waited & (records.eligible < site.since)
    ages = (site.since - records.eligible[older]).tolist()
    assert slurm.aged == dict(zip(records.id[older].tolist(), ages, strict=True))


def test_every_run_is_read_as_it_was_put_in(made: Path, site: Site) -> None:
    """Tests that the twin has as many runs of each queue, QOS, account, array and state as sacct printed of them."""
    runs = [row for row in table(made, "jobs.sacct") if row["Cluster"] == "made" and "." not in row["JobIDRaw"]]
    records = site.records
    assert len(runs) == len(records) > 250
    for column, name in (("Partition", "partition"), ("QOS", "qos"), ("Account", "account"), ("User", "user")):
        assert Counter(row[column] for row in runs) == Counter(records.labels[name].tolist())
        assert len(set(records.labels[name].tolist())) > 1
    states = Counter(row["State"][:9] for row in runs)
    assert {"COMPLETED", "CANCELLED", "NODE_FAIL", "RUNNING"} <= states.keys()
    assert int(records.again.sum()) == len(runs) - len({row["JobIDRaw"] for row in runs}) > 0
    assert int((records.array >= 0).sum()) == sum("_" in row["JobID"] for row in runs) > 0
    assert sum("+" in row["JobID"] for row in runs) > 0
    assert records.after is not None
    assert int((records.after != "").sum()) == sum("dependency" in row["SubmitLine"] for row in runs) > 0


def test_what_is_left_out_is_counted(made: Path, site: Site) -> None:
    """Tests that runs and events of other clusters, and steps, are said with their numbers, and no more is lost."""
    jobs, said = table(made, "jobs.sacct"), list(site.notes)
    others, steps = (row["Cluster"] != "made" for row in jobs), ("." in row["JobIDRaw"] for row in jobs)
    if elsewhere := sum(others):
        assert f"left out: {elsewhere} runs of other clusters" in said
        assert "of nodes' events: 2 events of other clusters left out" in said
    if of_jobs := sum(steps):
        assert f"left out: {of_jobs} steps of jobs" in said
    assert elsewhere or of_jobs
    assert not site.down_named


def test_every_start_is_found_again(site: Site) -> None:
    """Tests that the recorded facts alone bring every start to when it was, and that each is named as given."""
    without = replay(site, given=())
    found = replay(site, given=FACTS)
    assert without.share < 0.9
    assert found.share == 1.0
    assert f"taken as given: {', '.join(FACTS)}" in found.notes


def test_every_start_has_a_cause(site: Site) -> None:
    """Tests that nothing is left unexplained, and that limits are facts that a policy which keeps them is not told."""
    found = explain(site)
    assert found.counts()[UNEXPLAINED] == (0, 0)
    limited = set(site.records.reason.tolist()) >= LIMITS
    assert matters(site, "limit reached") == limited == (site.accounts is not None and _limits(site) > 0)
    assert "limit reached" not in (*found.full.given, *replay(site).given)
    assert found.full.share == replay(site).share == 1.0


def _limits(site: Site) -> int:
    assert site.accounts is not None
    return sum(bool(one.limits) for one in (*site.accounts.members, *site.accounts.qos.values()))


def test_queues_share_nodes_and_bound_their_jobs(tmp_path: Path) -> None:
    """Tests that shorter queues have more nodes, and that who names no limit has his queue's."""
    folder = made_dump(tmp_path / "cerit", kind="cerit", jobs=120, nodes=32, policy="easy", seed=2)
    site = read_site(folder)
    text = (folder / "partitions.txt").read_text(encoding="utf-8")
    sizes = [int(size) for size in re.findall(r"TotalNodes=(\d+)", text)]
    assert sizes == [*sorted(sizes[:-1], reverse=True), 32]
    longest = {one.name: one.max_time for one in site.federation.partitions}
    of_queue = np.array([longest[name] for name in site.records.labels["partition"].tolist()])
    assert (site.limits <= of_queue).all()
    unsaid = [row["Partition"] for row in table(folder, "jobs.sacct")
              if (row["TimelimitRaw"], row["Cluster"]) == ("Partition_Limit", "made")]  # fmt: skip
    assert unsaid
    assert (site.limits == of_queue).sum() >= len(unsaid)
    assert (site.limits == 365 * 86_400.0).any()


def test_nobody_runs_above_a_limit(tmp_path: Path) -> None:
    """Tests that no QOS and no user in one ever has more CPUs than the files say, though somebody waits for that."""
    folder = made_dump(tmp_path / "ub", kind="ub", jobs=200, nodes=32, seed=3)
    records, limits = read_site(folder).records, {row["Name"]: row for row in table(folder, "qos.txt")}
    of_all = int(limits["supporters"]["GrpTRES"].removeprefix("cpu="))
    of_each = int(limits["general-compute"]["MaxTRESPU"].removeprefix("cpu="))
    assert "QOSMaxCpuPerUserLimit" in records.reason
    label = records.labels  # in the queue debug its own QOS goes first
    bound = (label["qos"] == "general-compute") & (label["partition"] == "general-compute")
    begun = ~np.isnan(records.start)
    for moment in records.start[begun]:
        runs = begun & (records.start <= moment) & ~(records.end <= moment)
        assert records.cpus[runs & (records.labels["qos"] == "supporters")].sum() <= of_all
        for user in set(label["user"][runs & bound].tolist()):
            assert records.cpus[runs & bound & (label["user"] == user)].sum() <= of_each


def test_kinds_have_names_and_their_limits_a_scheduler(tmp_path: Path) -> None:
    """Tests that an unknown kind, and limits under a policy that keeps none, are errors that say what to do."""
    with pytest.raises(UnknownNameError, match=r"Unknown kind of a made dump 'cerrit'\. Did you mean 'cerit'"):
        made_dump(tmp_path / "one", kind="cerrit")
    with pytest.raises(ValueError, match="kind='ub' has limits, which policy 'easy' does not enforce; give 'slurm'"):
        made_dump(tmp_path / "two", kind="ub", policy="easy")
    assert not list(tmp_path.iterdir())


def test_limits_and_nodes_are_called_as_slurm_calls_them() -> None:
    """Tests reasons of limits, and lists of nodes within the bounds of queues."""
    told = ["maxtrespu=cpu of QOS 'a' of user 'u'", "maxjobspu of QOS 'a' of user 'u'", "grptres=cpu of QOS 'a'",
            "grptres=node of account 'b'", "maxjobs of 'u' in 'b'", "grpjobs of account 'b'"]  # fmt: skip
    assert [reason_of(one) for one in told] == [
        "QOSMaxCpuPerUserLimit", "QOSMaxJobsPerUserLimit", "QOSGrpCpuLimit", "AssocGrpNodeLimit", "AssocMaxJobsLimit",
        "AssocGrpJobsLimit",
    ]  # fmt: skip
    assert node_lists([2, 1, 3], [(1, 9), (2, 3), (1, 9)]) == ["n[1,3]", "n2", "n[4-6]"]
