"""Dumps looked at: the queue that squeue printed, the same out of the records, and forecasts beside what happened."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fedsched.cli import run
from fedsched.core.errors import SteerError, TwinError
from fedsched.site.outlook import forecast, present, score, why
from fedsched.site.outlook.dump_queue import queue_at, queue_of
from fedsched.site.outlook.scoring import Score
from fedsched.site.twin import made_dump, read_site

if TYPE_CHECKING:
    from pathlib import Path

FIRST, BEGIN, TAKEN = "2026-01-05T08:00:00", 8 * 60, 20 * 60 + 50
HEAD = (
    "JobIDRaw|JobID|Cluster|Partition|User|Account|QOS|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|NNodes|"
    "Reason"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dump with a queue in it."""
    return made_dump(tmp_path_factory.mktemp("made") / "dump", jobs=60, nodes=8, policy="easy", load=1.3, seed=3)


def at(minute: int) -> str:
    """Return a minute of the day as sacct prints it."""
    return f"2026-01-05T{minute // 60:02}:{minute % 60:02}:00"


@pytest.fixture
def halves(tmp_path: Path) -> Path:
    """Return a dump of one node whose users always need half of what they ask for, an hour, and submit them early."""
    folder = made_dump(tmp_path / "dump", jobs=20, nodes=1, policy="easy", troubles=False)
    rows, clock = [HEAD], BEGIN
    for job in range(1, 29):
        submit = max(BEGIN, clock - 95)
        over = clock + 30 <= TAKEN
        begun = clock < TAKEN
        rows.append(
            f"{job}|{job}|made|main|u0|a0|normal|{at(submit)}|{at(submit)}|{at(clock) if begun else 'Unknown'}|"
            f"{at(clock + 30) if over else 'Unknown'}|{1800 if over else 0}|60|"
            f"{'COMPLETED' if over else 'RUNNING' if begun else 'PENDING'}|1|None"
        )
        clock += 30
    (folder / "jobs.sacct").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "dump.txt").write_text(f"fedsched dump 1\nsince {FIRST}\n", encoding="utf-8")
    config = folder / "config.txt"
    first, _, rest = config.read_text("utf-8").partition("\n")
    assert first.startswith("Configuration data as of ")
    config.write_text(f"Configuration data as of {at(TAKEN)}\n{rest}", encoding="utf-8")
    (folder / "queue.txt").unlink()
    return folder


def test_the_queue_is_that_of_the_records(made: Path) -> None:
    """What squeue printed and what sacct has tell of the same jobs with nodes and the same that wait."""
    site = read_site(made)
    printed, notes = queue_of(site)
    recorded, _ = queue_at(site, site.dump.taken)
    assert notes == []
    assert len(printed.running) == len(recorded.running) > 0
    assert len(printed.jobs) == len(recorded.jobs)
    assert sorted(job.nodes for job in printed.waiting) == sorted(job.nodes for job in recorded.waiting)
    assert sum(len(job.hosts) for job in printed.running) == sum(job.nodes for job in printed.running)
    assert {job.target.partition("_")[2] for job in printed.jobs} > {""}  # tasks of arrays have their own names


def test_older_dumps_and_dumps_without_a_queue_are_read(made: Path, tmp_path: Path) -> None:
    """With fewer columns of squeue's, accounts and QOS are those of sacct; with none, the records are all."""
    import shutil

    folder = shutil.copytree(made, tmp_path / "older")
    lines = (folder / "queue.txt").read_text("utf-8").splitlines()
    (folder / "queue.txt").write_text("\n".join("|".join(line.split("\t")[:11]) for line in lines), encoding="utf-8")
    full, older = present(made).queue, present(folder).queue
    assert [job.number for job in older.waiting] == [job.number for job in full.waiting]
    assert {job.account for job in older.waiting} == {job.account for job in full.waiting}
    (folder / "queue.txt").unlink()
    bare = present(folder)
    assert len(bare.queue.waiting) == len(full.waiting)
    assert any("the dump has no queue.txt" in note for note in bare.notes)
    assert any(note.startswith("assumed: the nodes of") for note in bare.notes)


@pytest.mark.parametrize("mark", ["\t", "|"])
def test_a_job_may_ask_for_one_feature_or_another(made: Path, tmp_path: Path, mark: str) -> None:
    """A bar in what `sbatch -C "a|b"` asks for is none between cells, in older dumps that bars part neither."""
    import shutil

    folder = shutil.copytree(made, tmp_path / "choosy")
    text = (folder / "queue.txt").read_text("utf-8").replace("\t", mark)
    cells = "7 main u0 PENDING Priority 1 2026-01-05T09:00:00 N/A N/A 10 1 a0 normal (null) [a|b]&c|d (null)  3 8"
    cells += "   N/A (null)"
    (folder / "queue.txt").write_text(text + cells.replace(" ", mark) + "\n", "utf-8")
    job = next(job for job in queue_of(read_site(folder))[0].waiting if job.number == 7)
    assert (job.features, job.reservation, job.nice, job.cpus) == ("[a|b]&c|d", "", 3, 8)


@pytest.mark.parametrize(
    ("line", "told"),
    [("7|main", "it has 2 cells"), ("x|{}", "x is not a job like 17 or 17_3"),
     ("7|{}", "submit_time=yesterday is not a time")],
)  # fmt: skip
def test_what_is_no_queue_is_refused(made: Path, tmp_path: Path, line: str, told: str) -> None:
    """The line and what is wrong with it are said."""
    import shutil

    folder = shutil.copytree(made, tmp_path / "broken")
    cells = "main|u0|PENDING|Priority|1|yesterday|N/A|N/A|10|1|a0|normal|(null)|(null)|(null)||0|8|||N/A|(null)"
    with (folder / "queue.txt").open("a", encoding="utf-8") as out:
        out.write(line.format(cells).replace("|", "\t") + "\n")
    with pytest.raises(TwinError, match=told):
        present(folder)


def test_a_dump_is_forecast_and_asked(made: Path) -> None:
    """Each job that waits in turn has a range, and a cause or none; ranges lie from now on."""
    here = present(made)
    found = forecast(here, draws=4)
    assert len(found.forecasts) == len(here.queue.waiting) > 3
    assert all(here.queue.now <= one.earliest <= one.median <= one.latest for one in found.forecasts)
    last = why(here, found.forecasts[-1].job.target, draws=2)
    assert {one.kind for one in last.causes} <= {"jobs ahead", "resources"}
    assert last.causes
    with pytest.raises(SteerError, match="Job 99: the queue has no such job"):
        why(here, 99)


def test_forecasts_of_steady_users_come_true(halves: Path) -> None:
    """Where all jobs use half of their limits, forecasts hold to the second, and starts by limits are too late."""
    found = score(halves, moments=5, draws=3)
    assert len(found.wait) >= 5
    assert found.covered == 1.0
    assert found.error == pytest.approx(0.0, abs=1.0)
    assert found.as_drawn is not None
    assert found.as_drawn.covered == 1.0
    assert found.as_drawn.pinball == pytest.approx(0.0, abs=1.0)
    assert found.pinball < 30.0
    assert found.error_by_limits > 600.0
    assert found.pinball_by_limits > 300.0
    assert any("had ended or ran by then" in note for note in found.notes)


def test_how_far_a_coverage_is_known_is_told_by_its_moments() -> None:
    """Jobs of one moment count as one: many at few moments say little, and fewer than four moments nothing."""
    inside = np.repeat([1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0], 50)  # a moment each
    nothing = np.zeros(inside.size)
    many = Score(1e4 * (1.0 - inside), nothing, nothing, nothing + 60.0, nothing, 0.8, 8, (),
                 moment=np.repeat(np.arange(8), 50))  # fmt: skip
    assert many.covered == 0.75
    low, high = many.covered_between
    assert 0.3 < low < 0.55
    assert high == 1.0
    several = replace(many, job=np.arange(400) % 25)  # of 25 jobs, each forecast 16 times
    assert several.by_chance == pytest.approx(0.4 / 5.0)
    assert replace(many, job=np.arange(400)).by_chance == pytest.approx(0.4 / 20.0)
    alone = replace(many, moment=np.arange(400))
    low, high = alone.covered_between
    assert 0.7 < low < 0.75 < high < 0.8
    assert np.isnan(replace(many, moment=np.zeros(400, dtype=np.int64)).covered_between).all()


def test_moments_are_spread_over_recorded_starts(halves: Path) -> None:
    """Tests that a dump that nominally begins weeks before its first start is scored as one that begins with it."""
    site = read_site(halves)
    first = score(replace(site, since=float(np.nanmin(site.records.start))), moments=4, draws=3)
    early = score(replace(site, since=site.since - 28 * 86_400.0), moments=4, draws=3)
    assert early.wait.tolist() == first.wait.tolist()
    assert early.wait.size > 0


def test_nothing_to_score_is_an_error(made: Path) -> None:
    """No moment is none, and a dump in which nobody waited tells nothing."""
    with pytest.raises(TwinError, match="moments=0 must be at least 1"):
        score(made, moments=0)


def test_the_commands_print_it(halves: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`twin now` has a line for each job and a document for programs, --score the figures, `twin why` the causes."""
    assert run(["twin", "now", str(halves), "--draws", "3"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("2 starts forecast, as medians: the first at 01-05 21:00:00, half of them by ")
    assert "2 starts forecast of 3 replays, ranges of 80%" in said
    assert "01-05 21:00:00" in said
    assert "ranges are calibrated by " in said
    assert run(["twin", "now", str(halves), "--draws", "3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [job["job"] for job in document["jobs"]] == ["27", "28"]
    assert document["jobs"][1]["median"] - document["now"] == 2400.0
    assert document["jobs"][1]["by_limits"] - document["now"] == 6000.0
    assert run(["twin", "now", str(halves), "--score", "4", "--draws", "2"]) == 0
    said = capsys.readouterr().out
    assert "100.0%" in said
    assert "as drawn, not calibrated" in said
    assert run(["twin", "now", str(halves), "--score", "4", "--draws", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["covered"] == 1.0
    assert run(["twin", "why", "28", str(halves), "--draws", "2"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Job 28 starts at 01-05 21:30:00, as things are.\nJob 28 of u0, 1 node in main, has waited ")
    assert "resources: it needs 1 node, and 0 of 1 that it may have are free; over by 01-05 21:30:00" in said
    assert run(["twin", "why", "28", str(halves), "--draws", "2", "--json"]) == 0
    causes = json.loads(capsys.readouterr().out)["causes"]
    assert [one["kind"] for one in causes] == ["jobs ahead", "resources"]


@pytest.mark.parametrize(
    ("words", "told"),
    [(["why"], "twin why needs a job"), (["now", "--score", "3"], "twin now --score needs a dump"),
     (["replay", "a", "b"], "twin replay takes one folder; leave b out"),
     (["now", "--jobs", "3"], "twin now takes no --jobs")],
)  # fmt: skip
def test_what_does_not_go_together_is_said(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says what is missing or too much."""
    assert run(["twin", *words]) != 0
    assert told in capsys.readouterr().err


def test_an_exclusive_job_is_told_by_its_command_line(halves: Path) -> None:
    """Tests that --exclusive on record is known of a job in the queue of any moment, and of squeue's queue."""
    head, *rows = (halves / "jobs.sacct").read_text("utf-8").splitlines()
    lines = [f"{row}|sbatch {'--exclusive ' * row.startswith('26|')}a.sh" for row in rows]
    (halves / "jobs.sacct").write_text("\n".join([f"{head}|SubmitLine", *lines, ""]), encoding="utf-8")
    site = read_site(halves)
    assert {job.number for job in queue_at(site, site.dump.taken)[0].jobs if job.exclusive} <= {26}
    (moment,) = site.records.submit[site.records.id == 26]
    assert {job.number for job in queue_at(site, moment)[0].jobs if job.exclusive} == {26}
    cells = {"JOBID": "26", "PARTITION": "main", "USER": "u0", "STATE": "PENDING", "REASON": "Resources"}
    cells |= {"PRIORITY": "7", "SUBMIT_TIME": FIRST, "TIME_LIMIT": "60:00", "NODES": "1", "CPUS": "1"}
    table = ["|".join(cells), "|".join(cells.values()), "|".join(cells.values()).replace("26", "27", 1), ""]
    (halves / "queue.txt").write_text("\n".join(table), encoding="utf-8")
    assert [job.exclusive for job in queue_of(read_site(halves))[0].jobs] == [True, False]
