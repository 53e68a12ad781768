"""Days that were recorded on a real Slurm, start for start: conditions, earliest starts, maintenance, arrays."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from slurm.compared import COURSE, HELD_OUT, NAMES, RECORDED, on_named_nodes, table, with_ours
from slurm.differences import BECAUSE
from slurm.on_named_nodes import numbered
from slurm.recording import Recording
from slurm.replay import compare

if TYPE_CHECKING:
    from pathlib import Path

# What is to be the same as ours, start for start. Maintenance is not: Slurm passes over who waits for it.
SAME = ["chains-builtin", "begin-builtin", "overtaken-alone"]
KILL_WAIT = 5.0


@pytest.mark.parametrize("name", SAME)
def test_slurm_starts_jobs_as_we_do(name: str) -> None:
    """Each start lies within Slurm's clocks of ours, counted from what it waited for, and the order is the same."""
    found = with_ours(name)
    assert found.unexplained() == {}, f"clocks: {found.clocks:g} s"
    assert found.swapped() == []


@pytest.mark.parametrize("name", [name for name in NAMES if name not in HELD_OUT])
def test_slurm_starts_jobs_as_a_plan_on_named_nodes_says(name: str) -> None:
    """The same of a plan on the nodes that Slurm would choose, but for the jobs that are named with a reason.

    It is a record of what was understood of these days: the plan's rules were found in some of them.
    """
    found = on_named_nodes(name)
    because = BECAUSE.get(name, {})
    assert set(found.unexplained()) == set(because), f"clocks: {found.clocks:g} s"
    if not because:
        assert found.swapped() == []


def test_slurm_keeps_nodes_as_we_do() -> None:
    """Jobs of a reservation wait for its begin and for each other, and nobody else for them: start for start.

    Two are decided otherwise. Slurm's main scheduler takes the nodes of a partition out of a pass once a job of it
    waits, those of reservations too, so whoever is behind waits with it; ours are queues apart. And it starts a job
    that asks for more time than a reservation has left, and ends it with that; ours must end within it by its request.
    """
    found = compare(Recording.read(RECORDED / COURSE), "fcfs")
    apart = found.unexplained()
    assert set(apart) == {"held_up", "endless"}, f"clocks: {found.clocks:g} s"
    times = {one.key: one for one in found.starts}
    assert times["held_up"].slurm - times["waits"].slurm <= found.clocks < apart["held_up"]
    assert math.isnan(times["endless"].ours)
    (course,) = Recording.read(RECORDED / COURSE).maintenance
    assert 0.0 <= times["endless"].slurm_end - course.end <= found.clocks + KILL_WAIT
    inside = [one for one in found.starts if one.key not in apart]
    assert max(abs(one.apart) for one in inside) <= 2 * found.clocks


@pytest.mark.parametrize("name", [*NAMES, COURSE])
def test_recorded_days_are_whole(name: str) -> None:
    """A day says how it was made, and by what."""
    recording = Recording.read(RECORDED / name)
    assert recording.version.startswith("slurm-wlm ")
    assert recording.command == f"PYTHONPATH=tests python -m slurm.record {name} --factor {recording.factor:g}"
    assert "SelectType=select/linear" in recording.settings


@pytest.mark.parametrize("name", [name for name in NAMES if "maintenance" in name or "overtaken" in name])
def test_nobody_runs_into_maintenance(name: str) -> None:
    """On Slurm no job is on nodes that are reserved; by their limits none would have come to be."""
    recording = Recording.read(RECORDED / name)
    assert recording.maintenance
    for work in recording.maintenance:
        there = [job for job in recording.jobs if job.start is not None and numbered(job.on) & numbered(work.on)]
        assert there
        for job in there:
            assert job.start is not None
            assert job.start >= work.end or job.start + job.limit <= work.begin


def test_files_read_back_as_they_were_written(tmp_path: Path) -> None:
    """What is written is what is read."""
    for name in (*NAMES, COURSE):
        recording = Recording.read(RECORDED / name)
        recording.write(tmp_path / name)
        assert Recording.read(tmp_path / name) == recording
        for ending in (".csv", ".json"):
            written, kept = ((folder / name).with_suffix(ending).read_bytes() for folder in (tmp_path, RECORDED))
            assert written == kept


@pytest.mark.parametrize("later", [60.0, -60.0])
def test_a_start_that_nothing_explains_is_found(later: float) -> None:
    """Had Slurm started a job a minute later or earlier than it could, the comparison would say so, and who."""
    recording = Recording.read(RECORDED / "chains-builtin")
    [row] = [k for k, job in enumerate(recording.jobs) if job.key == "both"]
    jobs = list(recording.jobs)
    job = jobs[row]
    assert job.start is not None
    assert job.end is not None
    jobs[row] = replace(job, start=job.start + later, end=job.end + later)
    found = compare(replace(recording, jobs=tuple(jobs)), "fcfs")
    assert "both" in found.unexplained()


def test_a_job_that_only_one_of_both_starts_is_found() -> None:
    """A job that never started on Slurm, and does here, is apart by more than any clock; and the other way round."""
    recording = Recording.read(RECORDED / "chains-builtin")
    jobs = tuple(replace(job, start=None, end=None) if job.key == "good" else job for job in recording.jobs)
    found = compare(replace(recording, jobs=jobs), "fcfs")
    assert found.unexplained()["good"] == math.inf
    jobs = tuple(replace(job, after="") if job.key == "good_notok" else job for job in recording.jobs)
    found = compare(replace(recording, jobs=jobs), "fcfs")
    assert found.unexplained()["good_notok"] == math.inf


def test_the_page_has_the_table(root: Path) -> None:
    """The page of evidence shows what the comparison prints."""
    page = (root / "docs/evidence/reproduction.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- slurm: table -->\n")
    assert rest.partition("<!-- slurm: end -->")[0].strip().splitlines() == "\n".join(table()).strip().splitlines()
