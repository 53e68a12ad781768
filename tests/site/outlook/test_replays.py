"""Forecasts within limits of QOS and accounts: who waits for one has a range, and nobody starts beyond it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from slurm.as_dump import recorded
from support.fake_slurm import NOW, Job, running
from support.slurm_history import seen

from fedsched.site.outlook import forecast, why
from fedsched.site.outlook.dump_queue import queue_at
from fedsched.site.outlook.past import Past
from fedsched.site.outlook.replays import in_turn, picture_within
from fedsched.site.twin import read_site

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.site.outlook import Present

ENFORCED = {"AccountingStorageEnforce": "associations,limits,qos"}


def ends(here: Present) -> dict[int, float]:
    """Return by when each job starts if all run to their limits, in seconds from now on."""
    return {one.job.number: one.by_limits - NOW for one in forecast(here, draws=2).forecasts}


def test_jobs_of_a_user_run_one_after_the_other_where_he_may_have_one() -> None:
    """Nodes are free, and his limit is not: without limits enforced all start at once."""
    jobs = [Job(k, user="eve", minutes=10.0 * k) for k in (1, 2, 3)]
    assert ends(seen(*jobs)) == {1: 0.0, 2: 0.0, 3: 0.0}
    assert ends(seen(*jobs, settings=ENFORCED)) == {1: 0.0, 2: 600.0, 3: 1800.0}
    found = forecast(seen(*jobs, settings=ENFORCED), draws=2)
    assert "1 limit of QOS and accounts holds in the replays" in found.notes


def test_who_waits_for_a_limit_has_a_range() -> None:
    """He did not, for nobody was said to know when it comes; others are not kept by his limit."""
    jobs = (
        running(1, "1-2", minutes=20, qos="narrow"), Job(2, qos="narrow", reason="QOSMaxNodePerUserLimit"),
        Job(3, user="bob", qos="narrow", nodes=2),
    )  # fmt: skip
    assert ends(seen(*jobs)) == {3: 0.0}
    assert ends(seen(*jobs, settings=ENFORCED)) == {2: 900.0, 3: 0.0}


def test_who_waits_for_what_is_not_modelled_has_none() -> None:
    """So it is with limits of minutes, with a hold beside the limit, and for a user whom no file has."""
    minutes = Job(2, user="eve", reason="AssocGrpCPUMinutesLimit")
    held = Job(3, user="eve", reason="AssocMaxJobsLimit", held=True)
    strange = Job(4, user="zoe", reason="AssocMaxJobsLimit")
    assert ends(seen(minutes, held, strange, settings=ENFORCED)) == {}
    assert ends(seen(running(1, "1", user="eve"), held, strange, settings=ENFORCED)) == {}


def test_who_asks_for_more_than_there_ever_is_is_left_aside() -> None:
    """It is said who that is; the others have their ranges."""
    found = forecast(seen(Job(1, nodes=3, qos="narrow"), Job(2), settings=ENFORCED), draws=2)
    assert [one.job.number for one in found.forecasts] == [2]
    assert "left aside: 1 job that a limit never lets run (1)" in found.notes


def test_who_is_over_a_limit_that_was_wider_before_goes_on() -> None:
    """Three run where one may: the next begins when the last of them has ended."""
    others = [running(k, str(k), minutes=20.0 * k, user="eve") for k in (1, 2, 3)]
    last = max(one.start + one.minutes * 60.0 for one in others) - NOW
    assert ends(seen(*others, Job(9, user="eve"), settings=ENFORCED)) == {9: last}


def test_first_come_first_served_passes_over_who_is_over_a_limit() -> None:
    """Under sched/builtin, too, nobody behind him waits for that."""
    builtin = {**ENFORCED, "SchedulerType": "sched/builtin"}
    jobs = (running(1, "1", user="eve"), Job(2, user="eve", reason="AssocMaxJobsLimit"), Job(3))
    assert ends(seen(*jobs, settings=builtin)) == {2: 1500.0, 3: 0.0}


def test_without_its_limit_a_job_starts_as_if_there_were_none() -> None:
    """Others of the same user stay within theirs."""
    here = seen(running(1, "1-3", user="eve", minutes=20), Job(2, user="eve", reason="AssocMaxJobsLimit"),
                settings=ENFORCED)  # fmt: skip
    found = why(here, 2, draws=2)
    [cause] = found.causes
    assert cause.kind == "limit"
    assert cause.without is not None
    assert cause.without.latest == NOW
    assert found.forecast is not None
    assert found.forecast.by_limits == cause.over == ends(here)[2] + NOW


@pytest.mark.compiled
def test_nobody_of_a_recorded_day_is_planned_beyond_limits(tmp_path: Path) -> None:
    """At any second of the starts by limits no limit has more than it lets, whoever ran and waited at the moment."""
    site = read_site(recorded("log limits").write(tmp_path / "dump"))
    limits = Past(site).limits
    assert limits is not None
    bound = 0
    for moment in np.linspace(site.since, site.dump.taken, 6, endpoint=False)[1:].tolist():
        queue = in_turn(queue_at(site, moment)[0], limits)
        picture = picture_within(queue, limits)
        starts = picture.starts(picture.rows_of([job.number for job in queue.waiting]))
        spans = [(starts[job.number], starts[job.number] + job.limit, job) for job in queue.waiting]
        spans += [(moment, job.expected_end(moment), job) for job in queue.running]
        for instant in sorted(starts.values()):
            taken: dict[str, list[tuple[float, float]]] = {}
            for begin, end, job in spans:
                for part in limits.parts_of(job) if begin <= instant < end else ():
                    taken.setdefault(part.of, []).append((part.weight, part.amount))
            for parts in taken.values():
                bound += len(parts) > 1
                assert sum(weight for weight, _ in parts) <= parts[0][1]
    assert bound > 20
