"""Causes: each thing that can keep a job is found, with who is in its way and the start without it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from support.fake_slurm import NOW, Job, running
from support.slurm_history import Accounted, seen

from fedsched.core.errors import SteerError
from fedsched.site.outlook import Why, present, why
from fedsched.site.outlook.causes import job_called

LIMITS = {"AccountingStorageEnforce": "associations,limits,qos"}


def asked(*jobs: Job, name: str = "9", dependency: str = "", **others: Any) -> Why:
    """Return why job 9 waits."""
    here = seen(*jobs, **others)
    changed = tuple(replace(one, dependency=dependency) if one.number == 9 else one for one in here.queue.jobs)
    return why(replace(here, queue=replace(here.queue, jobs=changed)), name, draws=2)


def kinds(found: Why) -> list[str]:
    """Return the kinds of the causes, the deciding one first."""
    return [one.kind for one in found.causes]


def test_nodes_that_others_have() -> None:
    """Who needs three of four nodes waits until those who end first by their limits have left enough."""
    found = asked(running(1, "1-2", minutes=30), running(2, "3", minutes=12), Job(9, nodes=3, reason="Resources"))
    [cause] = found.causes
    assert cause.kind == "resources"
    assert cause.what == "it needs 3 nodes, and 1 of 4 that it may have are free"
    assert cause.jobs == ("2", "1")
    assert cause.over == NOW + 1500.0
    assert found.forecast is not None
    assert found.forecast.by_limits == NOW + 1500.0


def test_a_job_ahead_that_delays_it() -> None:
    """Who could have the one free node but for the reservation of one before it is told whose that is."""
    found = asked(
        running(1, "1-3", minutes=15), Job(8, nodes=4, base=10_002), Job(7, nodes=1, minutes=5, base=10_003),
        Job(9, nodes=1, minutes=60),
    )  # fmt: skip
    first = found.causes[0]
    assert kinds(found) == ["jobs ahead"]
    assert first.jobs == ("7", "8")
    assert first.what.endswith("have their turn before it; it starts later from the turn of job 7 on")
    assert first.without is not None
    assert first.without.by_limits == NOW
    assert found.forecast is not None
    assert found.forecast.by_limits == NOW + 600.0 + 600.0


def test_jobs_ahead_that_delay_nobody_come_last() -> None:
    """Where it is the nodes that decide, those before it are told of behind them."""
    found = asked(running(1, "1-4", minutes=15), Job(8, nodes=1, base=10_002), Job(9, nodes=2))
    assert kinds(found) == ["resources", "jobs ahead"]
    assert found.causes[1].what.endswith("has its turn before it, and does not delay it")


def test_nothing_keeps_who_starts_at_once() -> None:
    """With free nodes and nobody before it there is no cause."""
    found = asked(Job(9, nodes=2))
    assert found.causes == ()
    assert found.forecast is not None
    assert found.forecast.latest == NOW


@pytest.mark.parametrize(("reason", "who"), [("JobHeldUser", "its user"), ("JobHeldAdmin", "an administrator")])
def test_a_held_job(reason: str, who: str) -> None:
    """It is said who holds it and what lets it go; without that it starts in its turn, behind all others."""
    found = asked(running(1, "1-4"), Job(8, nodes=4), Job(9, nodes=4, held=True, reason=reason))
    [cause] = found.causes
    assert (cause.kind, cause.what) == ("held", f"{who} holds it, until `scontrol release 9`")
    assert math.isinf(cause.over)
    assert found.forecast is None
    assert cause.without is not None
    assert cause.without.by_limits == NOW + 1500.0 + 600.0
    assert "assumed: once it is released it has its turn behind all others" in found.notes


def test_a_begin_time() -> None:
    """It starts no sooner than its user wanted, and without that in its turn."""
    found = asked(running(1, "1-4"), Job(9, begin=NOW + 4000, reason="BeginTime"))
    [cause] = found.causes
    assert (cause.kind, cause.over) == ("begin time", NOW + 4000.0)
    assert cause.without is not None
    assert cause.without.by_limits == NOW + 1500.0
    assert found.forecast is not None
    assert found.forecast.by_limits == NOW + 4000.0


def test_what_it_depends_on() -> None:
    """It waits for the end of one that runs and of one that waits, by their limits; what has come counts no more."""
    words = "afterok:1(unfulfilled),afterany:8(unfulfilled),afterok:4(fulfilled)"
    found = asked(running(1, "1-4"), Job(8, nodes=4), Job(9, reason="Dependency"), dependency=words)
    [cause] = found.causes
    assert cause.kind == "dependency"
    assert cause.what.startswith("it waits for 2 jobs (1, 8): afterok:1")
    assert cause.jobs == ("1", "8")
    assert cause.over == NOW + 1500.0 + 600.0
    assert found.forecast is not None
    assert found.forecast.by_limits == cause.over
    either = asked(running(1, "1-4"), Job(8, nodes=4), Job(9, reason="Dependency"), dependency=words.replace(",", "?"))
    assert either.causes[0].over == NOW + 1500.0


def test_what_can_never_come() -> None:
    """It has no end by itself; one that is gone from the queue has none that is known."""
    never = asked(Job(9, reason="DependencyNeverSatisfied"), dependency="afterok:4(failed)")
    assert math.isinf(never.causes[0].over)
    assert never.forecast is None
    gone = asked(Job(9, reason="Dependency"), dependency="afterok:4(unfulfilled)")
    assert gone.causes[0].what == "it depends on others; 4 no longer in the queue: afterok:4(unfulfilled)"
    assert math.isnan(gone.causes[0].over)


def test_the_start_of_another() -> None:
    """`after` counts from the other's start, not from its end."""
    found = asked(running(1, "1-4"), Job(8, nodes=4), Job(9, reason="Dependency"), dependency="after:8(unfulfilled)")
    assert found.causes[0].over == NOW + 1500.0


def test_a_limit_of_a_qos() -> None:
    """Who has two nodes of his QOS already is told which limit that is, who has it, and until when."""
    found = asked(
        running(1, "1-2", minutes=20, qos="narrow"), running(2, "3", qos="narrow", user="bob"),
        Job(9, qos="narrow", reason="QOSMaxNodePerUserLimit"), settings=LIMITS,
    )  # fmt: skip
    [cause] = found.causes
    assert cause.kind == "limit"
    assert cause.what == (
        "maxtrespu=node of QOS 'narrow' of user 'ann' is 2, 2 of it taken by 1 running job, and it needs 1"
    )
    assert cause.jobs == ("1",)
    assert cause.over == NOW + 900.0
    assert cause.without is not None
    assert cause.without.latest == NOW
    assert found.forecast is not None
    assert found.forecast.by_limits == NOW + 900.0


def test_limits_of_jobs_and_of_associations() -> None:
    """The jobs of all users count in a QOS's GrpJobs, one user's in the MaxJobs of his association."""
    others = (running(1, "1", qos="two"), running(2, "2", minutes=9, qos="two", user="bob"))
    of_qos = asked(*others, Job(9, qos="two", reason="QOSGrpJobsLimit"), settings=LIMITS)
    assert of_qos.causes[0].what.startswith("grpjobs of QOS 'two' is 2, 2 of it taken by 2 running jobs")
    assert of_qos.causes[0].over == NOW + 240.0
    own = asked(running(1, "1", user="eve"), Job(9, user="eve", reason="AssocMaxJobsLimit"), settings=LIMITS)
    assert own.causes[0].what.startswith("maxjobs of 'eve' in 'physics' is 1, 1 of it taken by 1 running job")


def test_limits_that_nobody_enforces_or_knows() -> None:
    """Without enforcement none is looked up; where Slurm names one all the same, its word is what is said."""
    free = asked(running(1, "1-2", qos="narrow"), Job(9, qos="narrow"))
    assert free.causes == ()
    named = asked(Job(9, reason="QOSGrpBillingMinutes"), settings=LIMITS)
    assert kinds(named) == ["limit"]
    assert named.causes[0].what.startswith("Slurm says QOSGRPBILLINGMINUTES; which limit that is")
    stranger = asked(Job(9, user="zoe", reason="AssocGrpCpuLimit"), settings=LIMITS)
    assert "its limits are not known: user 'zoe' is not in the account" in stranger.causes[0].what
    assert asked(Job(9, user="zoe"), settings=LIMITS).causes == ()


def test_nodes_that_are_down() -> None:
    """It needs more than are up: which are not is said, and when it would start if they were."""
    found = asked(running(1, "1"), Job(9, nodes=3, reason="Resources"), down=frozenset({"n3", "n4"}))
    [cause] = found.causes
    assert (cause.kind, cause.what) == ("nodes down", "it needs 3 nodes, and 2 of 4 are up (not n3, n4)")
    assert found.forecast is None
    assert cause.without is not None
    assert cause.without.latest == NOW


def test_a_partition_that_is_too_small_or_down() -> None:
    """What can never start says so; a partition that takes nobody does so until somebody changes it."""
    large = asked(Job(9, nodes=5, reason="PartitionConfig"))
    assert "too large" in kinds(large)
    assert large.forecast is None
    down = asked(Job(9, reason="PartitionDown"), partition_state="DOWN")
    assert kinds(down) == ["partition"]
    assert down.causes[0].what == "no job starts in its partition p while that is not UP"
    limit = asked(Job(9, reason="PartitionTimeLimit"))
    assert kinds(limit) == ["partition"]
    assert math.isinf(limit.causes[0].over)


RESERVED = "ReservationName={} StartTime={} EndTime={} Nodes={} Users=bob Accounts=(null) Flags=SPEC_NODES\n"


def test_a_reservation_of_others() -> None:
    """Nodes that are kept from a time on are no room for who would still run then."""
    soon = RESERVED.format("maint", NOW + 300, NOW + 3900, "n[1-4]")
    found = asked(Job(9, minutes=10, reason="ReqNodeNotAvail,_Reserved_for_maintenance"), reserved=soon)
    [cause] = found.causes
    assert cause.kind == "reservation"
    assert cause.what.startswith("maint keeps nodes from others from ")
    assert cause.what.endswith("before it would have ended: 0 are left, and it needs 1 node")
    assert cause.over == NOW + 3900.0
    assert found.forecast is not None
    assert found.forecast.by_limits == NOW + 3900.0
    assert asked(Job(9, minutes=5), reserved=soon).causes == ()
    some = RESERVED.format("some", NOW - 60, NOW + 3900, "n[1-2]")
    assert asked(Job(9), reserved=some).causes == ()
    assert kinds(asked(Job(9, nodes=3), reserved=some)) == ["reservation"]


def test_its_own_reservation() -> None:
    """It waits until that begins; one that is not there never does."""
    here = seen(Job(9, reason="Reservation"), reserved=RESERVED.format("mine", NOW + 500, NOW + 3900, "n1"))
    queue = here.queue
    for name, over in (("mine", NOW + 500.0), ("other", math.inf)):
        jobs = tuple(replace(job, reservation=name) for job in queue.jobs)
        found = why(replace(here, queue=replace(queue, jobs=jobs)), 9, draws=2)
        assert [(one.kind, one.over) for one in found.causes] == [("reservation", over)]


def test_several_things_at_once() -> None:
    """Without one of two there is a start only where the other's end is known."""
    held = asked(running(1, "1-4"), Job(9, held=True, reason="JobHeldUser"), dependency="afterany:1(unfulfilled)")
    assert kinds(held) == ["held", "dependency"]
    assert held.causes[0].without is not None
    assert held.causes[0].without.by_limits == NOW + 1500.0
    assert held.causes[1].without is None


def test_what_only_slurm_knows() -> None:
    """Its own word is given where there is no other."""
    found = asked(Job(9, reason="Licenses"))
    assert kinds(found) == ["other"]
    assert found.causes[0].what == "Slurm says LICENSES, and nothing else is known of that"


def test_features_are_looked_at() -> None:
    """Only n1 is fast: others' free nodes are none for who asks for that."""
    found = asked(running(1, "1"), Job(9, features="fast", reason="Resources"))
    assert found.causes[0].what == "it needs 1 node, and 0 of 1 that it may have are free"
    assert kinds(asked(running(1, "2"), Job(9, nodes=2, features="fast"))) == ["too large"]
    assert asked(running(1, "1"), Job(9, features="fast|slow")).causes[0].jobs == ("1",)


def test_jobs_are_named_as_squeue_does() -> None:
    """By number, by an array's task, or by the array; strangers and running ones are refused."""
    here = present(Accounted.of(running(1, "1"), Job(9, tasks="0-2,5", reason="Priority")))
    assert job_called(here.queue, "9_2").number == 9
    assert job_called(here.queue, "9").target == "9_[0-2,5]"
    for stranger in ("9_4", "77", "9_x"):
        with pytest.raises(SteerError, match=f"Job {stranger}: the queue has no such job"):
            why(here, stranger)
    with pytest.raises(SteerError, match=r"Job 1: it has nodes since .* and does not wait"):
        why(here, 1)
