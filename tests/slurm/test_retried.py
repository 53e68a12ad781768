"""That backfill tries a job again as nodes of its partition come free: the engine as the plain reference says."""

from __future__ import annotations

import math

import pytest
from reference.slurm_naive import Play
from reference.slurm_naive_site import Job, Site
from slurm.own_days import COMPLETING, clearing, on_slurm
from slurm.parameter_days import OFTEN, RECORDED
from slurm.recording import Recording
from slurm.replay import number
from slurm.retry_days import FREED, OF_RETRIES

NODES = frozenset(range(FREED.nodes))
THERE = {"fast": NODES - {0}, "a": {1}, "b": {2}, "c": {3}}  # who has a feature
PARTITIONS = {"freed_elsewhere": NODES - {0}, "freed_there": NODES}


def naive_of(recording: Recording, partition: frozenset[int]) -> Play:
    """Return the day as plain sets of numbers, with so many nodes in the partition of most jobs."""
    clear = clearing(recording)
    jobs = []
    for job in recording.jobs:
        assert job.start is not None
        assert job.end is not None
        other = job.partition == "other"
        may = frozenset({0}) if other else partition & THERE[job.features]
        jobs.append(Job(
            submit=math.ceil(job.submit), earliest=math.ceil(job.submit), tasks=job.nodes, limit=int(job.limit),
            planned=int(job.limit), runtime=max(1, math.ceil(job.end - job.start)),
            completing=clear.get(number(job), COMPLETING), user=0, partition=int(other), may=may,
        ))  # fmt: skip
    words = {name: value for name, value in OFTEN.items() if value is not None}
    site = Site(
        nodes=FREED.nodes, partitions=[partition, frozenset({0})], tiers=[1, 1], weights=[1] * FREED.nodes,
        bf_max_time=words["bf_interval"], overdue=5, epoch=recording.epoch,
        lines=[frozenset({node}) for node in sorted(NODES)], **words,
    )  # fmt: skip
    return Play(site, jobs)


@pytest.mark.parametrize("name", OF_RETRIES)
def test_the_plain_reference_says_the_same(name: str) -> None:
    """Tests both days, each with passes of its own clock."""
    recording = Recording.read(RECORDED / name)
    play = naive_of(recording, PARTITIONS[name])
    play.run()
    assert [job.start for job in play.jobs] == on_slurm(recording, own_clocks=True).start.tolist()


def test_whether_the_node_is_of_the_partition_decides() -> None:
    """Tests that the last job of one and the same day starts long before in the other partition."""
    recording = Recording.read(RECORDED / "freed_there")
    last = []
    for name in ("freed_there", "freed_elsewhere"):
        play = naive_of(recording, PARTITIONS[name])
        play.run()
        last.append(play.jobs[-1].start)
    assert last[0] - last[1] > 300
