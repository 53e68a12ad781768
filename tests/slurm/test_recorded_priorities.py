"""Every factor of every job, every use and every rank, as a real Slurm printed them."""

from __future__ import annotations

import math

import pytest
from slurm.recorded_priorities import DAYS, Recorded, kth, replay, rows_of

from fedsched.slurm.priority.priorities import Factor
from fedsched.slurm.priority.sprio import weigh

SHOWN = (Factor.AGE, Factor.ASSOC, Factor.FAIRSHARE, Factor.SIZE, Factor.PARTITION, Factor.QOS)


@pytest.mark.parametrize("name", DAYS)
def test_a_day_s_priorities_are_slurm_s(name: str) -> None:
    """From the jobs' times alone: at each tick that was kept every use, fair share and factor is the same."""
    day = Recorded(name)
    zero, jobs = day.said["ticks"][0], 0
    for kept, packed, queue in replay(day):
        if kept not in day.said["kept"]:
            continue
        now = float(day.said["ticks"][kept] - zero)
        rows, number = rows_of(packed, queue, now), {str(job.number): k for k, job in enumerate(queue)}
        for words, _ in day.seen(kept):
            row, job = rows[words[0]], number[words[0]]
            assert [f"{row[factor]:.0f}" for factor in SHOWN] == words[5:11], (kept, words[0])
            assert int(words[4]) == row[Factor.SITE]
            assert int(words[11]) == -row[Factor.NICE]
            assert int(words[3]) == max(1, math.floor(sum(row)))
            if queue[job].submit < day.said["ticks"][kept]:
                assert int(words[3]) == packed.value[job]
            jobs += 1
        over = any(job.state not in ("PENDING", "RUNNING") and job.end > day.said["ticks"][kept] for job in
                   day.queue(kept))  # fmt: skip
        if not (over and day.parameters.charges_ends):  # what ended between the tick and the look is charged by then
            used = day.usage(kept)
            for one, amount in zip(day.associations.members, packed.tree.usage.tolist(), strict=True):
                assert int(amount) == used[one.account, one.user].raw, (kept, one)
        if day.parameters.fair_tree:
            shares = day.fair_shares(kept)
            for one, factor in zip(day.associations.members, packed.tree.factor.tolist(), strict=True):
                assert not one.user or f"{factor:.6f}" == shares[one.account, one.user]
    assert jobs > 100


@pytest.mark.parametrize("name", DAYS)
def test_dumps_are_enough_for_sprio(name: str) -> None:
    """From the queue, the accounts and what everybody used: each column of `sprio -l`, and factors without weights."""
    day = Recorded(name)
    conf = day.parameters
    exact = 1e-6 if conf.fair_tree else 1e-5  # sshare tells of use in six decimals, which the classic way divides
    weights = (conf.age, conf.assoc, conf.fairshare, conf.size, conf.partition, conf.qos)
    for kept in day.said["kept"]:
        found, at = weigh(conf, day.associations, day.usage(kept), day.queue(kept), day.said["ticks"][kept])
        assert at == day.said["ticks"][kept]
        assert len(found) == len(day.seen(kept))
        for one, (words, bare) in zip(found, day.seen(kept), strict=True):
            values = (one.age, one.assoc, one.fairshare, one.size, one.of_partition, one.qos)
            tres = ",".join(f"{resource}={value:.0f}" for resource, value in one.tres.items() if value)
            ours = [one.job, one.partition, one.user, str(one.priority), str(one.site)]
            assert [*ours, *(f"{value:.0f}" for value in values), str(one.nice), tres] == words
            assert one.told == one.priority
            for value, weight, text in zip(values, weights, bare, strict=False):
                assert value / weight == pytest.approx(float(text), abs=exact)


@pytest.mark.parametrize("name", DAYS)
def test_the_moment_of_a_dump_is_found(name: str) -> None:
    """Without a time it is one at which every priority is the one told of: the tick, or a second from it."""
    day = Recorded(name)
    kept = day.said["kept"][-1]
    found, at = weigh(day.parameters, day.associations, day.usage(kept), day.queue(kept))
    assert all(one.told == one.priority for one in found)
    assert abs(at - day.said["ticks"][kept]) <= 1


def test_days_are_whole() -> None:
    """A day says how it was made, no node failed on it, and its ticks are one period apart."""
    for name in DAYS:
        said = Recorded(name).said
        assert said["command"] == f"PYTHONPATH=tests python -m slurm.record_priorities {name} --factor 50"
        assert said["version"] == "slurm-wlm 22.05.8"
        assert said["complaints"] == []
        assert {after - before for before, after in zip(said["ticks"], said["ticks"][1:], strict=False)} == {300}


def test_every_priority_of_a_recorded_log() -> None:
    """150 jobs of KTH on 100 nodes: with the real starts and ticks, all start with the priorities that they had."""
    found = kth()
    assert len(found) == 150
    assert [one for one in found if one[1] != one[2]] == []


def test_the_phase_of_the_ticks_is_seen() -> None:
    """Had the ticks come three seconds later or sooner, some of those priorities would be others."""
    for phase in (-3.0, 3.0):
        assert any(ours != theirs for _, ours, theirs in kth(phase))
