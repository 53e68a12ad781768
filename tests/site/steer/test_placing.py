"""Which cluster of a federation jobs are given: the best one, nobody's start taken, and all of it undone."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest
from support.fake_slurm import NOW, FakeFederation, FakeSlurm, Job, running

from fedsched.core.errors import SteerError
from fedsched.site.steer import Aims, Choice
from fedsched.site.steer.placement_changes import PlacementChanger, PlacementUndo, placing_commands
from fedsched.site.steer.placing import Placing, place
from fedsched.site.steer.reading import read_siblings

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400.0
SLACK = 900.0


def ours(number: int, siblings: str = "a,b", **others: object) -> Job:
    """Return a job that leaves its cluster to us."""
    usual = {"comment": "mine fedsched", "siblings": siblings, "begin": NOW + DAY, "reason": "BeginTime"}
    return Job(number, **{**usual, **others})  # type: ignore[arg-type]


def federation(own: dict[str, list[Job]], *shared: Job, nodes: int = 4) -> FakeFederation:
    """Return clusters with jobs of their own, and others that may start on several."""
    return FakeFederation({
        name: FakeSlurm.of(*jobs, *(job for job in shared if name in job.siblings.split(",")), nodes=nodes)
        for name, jobs in own.items()
    })  # fmt: skip


def placed(fake: FakeFederation, **aims: object) -> Placing:
    """Return where jobs would best start."""
    return place(read_siblings(fake), Aims(seconds=1e9, slack=SLACK, **aims))  # type: ignore[arg-type]


def crowd(seed: int, jobs: int) -> FakeFederation:
    """Return two busy clusters, jobs that wait there, and so many that may go to either."""
    draw = random.Random(seed)
    own = {
        name: [
            running(1 + 100 * k, "1-3", minutes=draw.choice([10, 20, 40])),
            *(
                Job(10 + j + 100 * k, nodes=draw.randint(1, 3), minutes=draw.choice([10, 30]), base=9_000 + j)
                for j in range(draw.randint(0, 2))
            ),
        ]
        for k, name in enumerate("ab")
    }
    shared = [
        ours(1000 + j, nodes=draw.randint(1, 4), minutes=draw.choice([5, 20, 60]), base=8_000 + draw.randint(0, 50))
        for j in range(jobs)
    ]
    return federation(own, *shared)


def total(placing: Placing, fake: FakeFederation, where: dict[int, str]) -> float | None:
    """Return the sum of the starts of all that wait, if jobs go there; None if one that waits there is late by it.

    By plans of a fake whose jobs are bound to these clusters and need not wait.
    """
    found = 0.0
    for name, one in fake.clusters.items():
        starts = [starts_on(one, {n for n, cluster in where.items() if cluster == name}), starts_on(one, set())]
        if any(starts[0][number] > when + SLACK + 1.0 for number, when in starts[1].items()):
            return None
        found += sum(when - NOW for when in starts[0].values())
    return found


def starts_on(one: FakeSlurm, come: set[int]) -> dict[int, float]:
    """Return when jobs start on a cluster: conservative backfilling in the order of priorities, by counts of nodes."""
    taken = [(0.0, job.start + 60 * job.minutes, job.nodes) for job in one.jobs.values() if job.hosts]
    waiting = [job for job in one.jobs.values() if job.state == "PENDING" and (job.id in come or not job.comment)]
    found = {}
    for job in sorted(waiting, key=lambda job: (-job.priority, job.submit, job.id)):
        for when in sorted({NOW, *(end for _, end, _ in taken)}):
            over = when + 60 * job.minutes
            moments = [when, *(begin for begin, _, _ in taken if when < begin < over)]
            used = (sum(nodes for begin, end, nodes in taken if begin <= at < end) for at in moments)
            if max(used) + job.nodes <= one.nodes:
                taken.append((when, over, job.nodes))
                found[job.id] = when
                break
    return found


@pytest.mark.parametrize(("jobs", "evaluations"), [(4, 32), (8, 511)])
@pytest.mark.parametrize("seed", range(20))
def test_no_other_choice_is_better(seed: int, jobs: int, evaluations: int) -> None:
    """Every choice of clusters is tried in a model of its own: none has less in sum, nobody is late, starts agree.

    Where there is no time for all choices, what moves and swaps come to is at most a tenth above.
    """
    fake = crowd(seed, jobs)
    found = placed(fake, evaluations=evaluations)
    chosen = {one.job.number: one.cluster for one in found.placements}
    assert len(chosen) + len(found.left) == jobs
    best = total(found, fake, chosen)
    assert best is not None
    for one in found.placements:
        come = {number for number, cluster in chosen.items() if cluster == one.cluster}
        assert one.start == pytest.approx(starts_on(fake.clusters[one.cluster], come)[one.job.number], abs=1.0)
    numbers = [job.id for job in fake.clusters["a"].jobs.values() if job.comment]
    sums = [total(found, fake, dict(zip(numbers, where, strict=True))) for where in product("ab", repeat=jobs)]
    known = [one for one in sums if one is not None]
    assert not found.left or not known
    assert all(best <= (one + 1.0 if evaluations == 2 * 2**jobs else 1.1 * one) for one in known)


def test_who_does_not_ask_is_left() -> None:
    """Neither jobs without the word, nor those that may begin at once, nor arrays; the page says how one asks."""
    silent = ours(5, comment="fedschedule")
    at_once = ours(6, begin=0.0, reason="Priority")
    array = ours(7, tasks="0-3")
    held = ours(8, held=True)
    fake = federation({"a": [running(1, "1-4")], "b": []}, silent, at_once, array, held)
    found = placed(fake)
    assert found.placements == ()
    assert [job.number for job in found.left] == [7]
    (how,) = placed(federation({"a": [], "b": []}, silent)).notes
    assert "sbatch --begin=now+7days --comment=fedsched" in how
    (twice,) = placed(federation({"a": [], "b": []}, at_once, ours(9))).notes
    assert "planned on each of them" in twice


def test_an_array_begins_where_it_was_submitted(tmp_path: Path) -> None:
    """Its tasks can be on no other cluster, so that it gets its start alone, when the first of them has nodes."""
    array = ours(5, "b", tasks="0-5", nodes=2, minutes=60)
    fake = federation({"a": [], "b": [running(1, "1-4", minutes=10)]}, array, ours(6, nodes=4, minutes=30, base=9_000))
    found = placed(fake)
    assert {(one.job.number, one.cluster) for one in found.placements} == {(5, "b"), (6, "a")}
    [first] = [one for one in found.placements if one.job.number == 5]
    assert first.start == NOW + 300.0
    assert [one.job.number for one in found.due(400.0)] == [6, 5]
    path = tmp_path / "placed.json"
    placer = PlacementChanger(fake, PlacementUndo.open(path))
    assert placer.carry_out(found, [first]) == 1
    assert fake.changed == [("scontrol", "update", "JobId=5_[0-5]", f"StartTime=uts{NOW}")]
    undone = PlacementChanger(fake, PlacementUndo.open(path)).undo()
    assert [command[-1] for command in undone] == [f"StartTime=uts{NOW + DAY:.0f}"]


def test_every_task_of_an_array_counts() -> None:
    """Who might go before or behind it goes elsewhere where six tasks would wait for him, and one would not."""
    single = ours(6, nodes=4, minutes=60, base=9_999)
    for tasks, where in (("0-7", "a"), ("", "b")):
        array = ours(5, "b", tasks=tasks, nodes=1, minutes=10, base=9_000)
        fake = federation({"a": [running(1, "1-4", minutes=90)], "b": []}, array, single)
        assert {one.job.number: one.cluster for one in placed(fake).placements}[6] == where


def test_only_those_that_are_chosen() -> None:
    """A job of somebody else's is left alone, and no plan has it elsewhere than it is."""
    fake = federation({"a": [], "b": []}, ours(5, user="ann"), ours(6, user="bob"))
    found = placed(fake, choice=Choice(user=("ann",)))
    assert [one.job.number for one in found.placements] == [5]
    assert found.left == ()


def test_nobody_is_made_late() -> None:
    """A job that would keep one that waits from its start is left, on whichever cluster; with more slack it is not."""
    own = {"a": [running(1, "1-4", minutes=10), Job(2, nodes=4, base=9_000)], "b": [running(3, "1-4", minutes=300)]}
    fake = federation(own, ours(5, "a", nodes=4, minutes=60, base=9_500))
    assert [job.number for job in placed(fake).left] == [5]
    found = place(read_siblings(fake), Aims(slack=2 * 3600.0))
    assert [(one.job.number, one.cluster) for one in found.placements] == [(5, "a")]


def test_placed_and_undone(tmp_path: Path) -> None:
    """A cluster first, then the start; who waits gets both back, who runs is left; the file is gone in the end."""
    shared = ours(5, nodes=4), ours(6, "b", nodes=4, base=9_000)
    fake = federation({"a": [running(1, "1-4", minutes=30)], "b": []}, *shared)
    found = placed(fake)
    path = tmp_path / "placed.json"
    placer = PlacementChanger(fake, PlacementUndo.open(path))
    assert placer.carry_out(found, found.due(0.0)) == 1
    assert path.exists()
    assert [one.job.number for one in found.placements] == [5, 6]
    assert [command[-1] for command in fake.changed] == ["Clusters=b", f"StartTime=uts{NOW}"]
    assert fake.clusters["a"].jobs[5].state == "REVOKED"
    assert placing_commands(found.placements[1], NOW) == [("scontrol", "update", "JobId=6", f"StartTime=uts{NOW}")]
    again = placed(fake)
    assert [one.job.number for one in again.placements] == [6]
    back = [command[-1] for command in PlacementChanger(fake, PlacementUndo.open(path)).undo()]
    assert back == [f"StartTime=uts{NOW + DAY:.0f}", "Clusters=a,b"]
    assert not path.exists()
    assert {name: one.jobs[5].state for name, one in fake.clusters.items()} == {"a": "PENDING", "b": "PENDING"}
    placer = PlacementChanger(fake, PlacementUndo.open(path))
    placer.carry_out(found, found.due(0.0))
    fake.clusters["b"].jobs[5] = running(5, "1-4", since=0.0)
    assert PlacementChanger(fake, PlacementUndo.open(path)).undo() == []


def test_who_was_bound_when_it_was_killed_gets_all_back(tmp_path: Path) -> None:
    """Between its cluster and its start a job waits for its time; placed again and undone, it may go to both."""
    fake = federation({"a": [running(1, "1-4")], "b": [running(2, "1-4")]}, ours(5))
    path = tmp_path / "placed.json"

    def dies(command: tuple[str, ...]) -> None:
        if command[-1] == f"StartTime=uts{NOW}":
            raise KeyboardInterrupt

    for one in fake.clusters.values():
        one.before = dies
    found = placed(fake)
    with pytest.raises(KeyboardInterrupt):
        PlacementChanger(fake, PlacementUndo.open(path)).carry_out(found, found.placements)
    for one in fake.clusters.values():
        one.before = lambda _: None
    again = placed(fake)
    assert [one.job.siblings for one in again.placements] == [(found.placements[0].cluster,)]
    assert PlacementChanger(fake, PlacementUndo.open(path)).carry_out(again, again.placements) == 1
    PlacementChanger(fake, PlacementUndo.open(path)).undo()
    assert {one.jobs[5].siblings for one in fake.clusters.values()} == {"a,b"}
    assert {one.jobs[5].begin for one in fake.clusters.values()} == {NOW + DAY}


def test_a_cluster_that_does_not_have_it_stops() -> None:
    """Where a job is another cluster's after all, it is said, and nobody else is placed."""
    fake = federation({"a": [], "b": []}, ours(5), ours(6))
    found = placed(fake)

    def revoked(command: tuple[str, ...]) -> None:
        if "-j" in command:
            for one in fake.clusters.values():
                one.before = lambda _: None
                one.jobs[5] = ours(5, state="REVOKED")

    for one in fake.clusters.values():
        one.before = revoked
    with pytest.raises(SteerError, match="another cluster, after Clusters="):
        PlacementChanger(fake, PlacementUndo(None)).carry_out(found, found.placements)
    assert len(fake.changed) == 2


def test_a_job_that_cannot_be_placed_is_left_alone_and_said() -> None:
    """Slurm refuses one job: the others are placed; if none is, that is the error, and from then on it is not tried."""
    fake = federation({"a": [], "b": []}, ours(5), ours(6))
    for one in fake.clusters.values():
        one.fails = lambda command: "Access/permission denied" if "JobId=5" in command else None
    found = placed(fake)
    told: list[str] = []
    placer = PlacementChanger(fake, PlacementUndo(None), told.append)
    assert placer.carry_out(found, found.placements) == 1
    assert "Job 5 is left alone from now on." in " ".join(told)
    assert placer.carry_out(found, found.placements[:0]) == 0
    only = [one for one in found.placements if one.job.number == 5]
    with pytest.raises(SteerError, match="Access/permission denied"):
        PlacementChanger(fake, PlacementUndo(None)).carry_out(found, only)
    assert placer.carry_out(found, only) == 0


def test_what_a_placed_job_had_is_kept_while_it_cannot_be_read(tmp_path: Path) -> None:
    """Its entry stays in the file, which is said once, and is carried out when it can be read again."""
    fake = federation({"a": [], "b": []}, ours(5), ours(6, base=9_000))
    found = placed(fake)
    path = tmp_path / "placed.json"
    PlacementChanger(fake, PlacementUndo.open(path)).carry_out(found, found.placements)
    there = {name: one.jobs[5] for name, one in fake.clusters.items()}
    for name, one in fake.clusters.items():
        one.jobs[5] = replace(there[name], tasks="x")
    told: list[str] = []
    PlacementChanger(fake, PlacementUndo.open(path), told.append).undo()
    assert "job 5: it cannot be read, so the file of placed jobs keeps what it had" in told
    assert list(PlacementUndo.open(path).jobs) == [5]
    for name, one in fake.clusters.items():
        one.jobs[5] = there[name]
    PlacementChanger(fake, PlacementUndo.open(path)).undo()
    assert {one.jobs[5].begin for one in fake.clusters.values()} == {NOW + DAY}
    assert not path.exists()


def test_files_that_are_none(tmp_path: Path) -> None:
    """What is no file of placed jobs is an error that says so."""
    path = tmp_path / "placed.json"
    for text, said in (("{", "is no file"), (json.dumps({"kind": "other", "jobs": {}}), "the version that wrote it")):
        path.touch(0o600)
        path.write_text(text, encoding="utf-8")
        with pytest.raises(SteerError, match=said):
            PlacementUndo.open(path)


def test_no_federation_has_no_cluster_to_choose() -> None:
    """A cluster that is alone, and one whose sibling is not whole, are refused."""
    with pytest.raises(SteerError, match="is in no federation"):
        read_siblings(FakeSlurm.of())
    fake = federation({"a": [], "b": []}, ours(5))
    fake.first.siblings["b"] = "No"
    with pytest.raises(SteerError, match="not Synced:Yes"):
        read_siblings(fake)
