"""The table of known schedules: logs recognised whoever copied them, hashes that can be told apart."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched import cli
from fedsched.bench import known_schedules

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def log() -> fs.Workload:
    """Return a small log of a machine of 16 nodes, whose first submit is not 0."""
    rng = np.random.default_rng(7)
    jobs = fs.generate.lublin(120, 16, seed=1)
    return replace(jobs, submit=jobs.submit + 500, nodes=16, user=rng.integers(0, 5, len(jobs)))


def written(workload: fs.Workload, path: Path) -> fs.Workload:
    """Return the workload as a user has it: from a file."""
    fs.write(workload, path)
    return known_schedules.read_raw(str(path))


def test_the_table_is_well_formed() -> None:
    """Tests that logs and schedules of the table are distinct and every hash is twelve hex digits."""
    assert len({entry.fingerprint for entry in known_schedules.KNOWN_LOGS}) == len(known_schedules.KNOWN_LOGS)
    for entry in known_schedules.KNOWN_LOGS:
        assert entry.nodes > 0
        assert len({it.recipe for it in entry.schedules}) == len(entry.schedules)
        for text in (entry.fingerprint, *(it.start_hash for it in entry.schedules)):
            assert re.fullmatch("[0-9a-f]{12}", text)


def test_the_hash_is_the_published_one() -> None:
    """Tests that the hash of starts is twelve digits of the sha256 over `id:start` pairs, worked out by hand."""
    jobs = fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[5, 5])
    schedule = fs.simulate(jobs, fs.Federation.homogeneous(1), "fcfs")
    # printf '1:0,2:5' | sha256sum
    assert schedule.start_hash() == "d16fbef2bad9"


def test_cleaning_keeps_what_the_known_schedules_keep() -> None:
    """Tests that sizes come from the field asked for, requests are raised, and jobs are sorted, rebased, renumbered."""
    from fedsched.model.jobs.log import LogColumns

    jobs = fs.Workload(
        submit=[70, 50, 60, 50], tasks=[4, 2, 9, 1], runtime=[10, 20, 30, 40], id=[9, 8, 5, 3],
        log=LogColumns(4, {"allocated": [4, 2, 9, -1], "requested": [3, -1, 9, 1], "requested_time": [5, 25, 30, -1]}),
    )  # fmt: skip
    clean = known_schedules.cleaned(jobs, 8)
    assert clean.id.tolist() == [1, 2, 3]
    assert clean.submit.tolist() == [0, 0, 20]
    assert clean.tasks.tolist() == [1, 2, 4]
    assert clean.estimate.tolist() == [40, 25, 10]
    assert known_schedules.cleaned(jobs, 8, size="requested").tasks.tolist() == [1, 2, 3]


def test_a_fingerprint_sees_every_job_and_no_numbering(log: fs.Workload) -> None:
    """Tests that one second more in one field of one job changes the fingerprint, and other numbers do not."""
    clean = known_schedules.cleaned(log, 16)
    seen = {known_schedules.fingerprint(clean)}
    for field in ("submit", "tasks", "runtime", "estimate"):
        column = np.array(getattr(clean, field))
        column[-1] += 1
        seen.add(known_schedules.fingerprint(replace(clean, **{field: column})))
    assert len(seen) == 5
    renumbered = replace(log, id=log.id * 3 + 7)
    assert known_schedules.fingerprint(known_schedules.cleaned(renumbered, 16)) == known_schedules.fingerprint(clean)


def test_an_unknown_log_is_run_under_every_reading(log: fs.Workload, tmp_path: Path) -> None:
    """Tests that a log that nobody published gets hashes and the independent judge's verdict."""
    checks = known_schedules.plan_checks(written(log, tmp_path / "own.swf"))
    assert [check.recipe for check in checks] == list(known_schedules.ALL_RECIPES)
    for check in checks:
        outcome = known_schedules.run_check(check)
        assert outcome.passed
        assert outcome.verdict == "keeps the model"
        assert outcome.known_hash is None


def test_a_difference_is_reported(
    log: fs.Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that `fedsched verify` ends with 0 on the hashes that hold and with 1 when one of them differs."""
    path = tmp_path / "own.swf.gz"
    copy = written(log, path)
    right = [known_schedules.run_check(check) for check in known_schedules.plan_checks(copy)]
    assert len({outcome.start_hash for outcome in right}) > 2

    def table(wrong: int | None) -> tuple[known_schedules.KnownLog, ...]:
        schedules = tuple(
            known_schedules.KnownSchedule(it.recipe, "0" * 12 if k == wrong else it.start_hash, "someone")
            for k, it in enumerate(right)
        )
        fingerprint = known_schedules.fingerprint(known_schedules.cleaned(copy, 16))
        return (known_schedules.KnownLog("own", 16, fingerprint, "here", schedules),)

    for wrong, status in ((None, 0), (1, 1)):
        monkeypatch.setattr(known_schedules, "KNOWN_LOGS", table(wrong))
        assert cli.run(["verify", str(path)]) == status
        out = capsys.readouterr().out
        assert out.count("same, every start") == len(right) - status
        assert out.count("DIFFERS") == status
        assert "someone" in out


def test_a_broken_schedule_is_reported(log: fs.Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a schedule that breaks the model fails, whatever its hash."""
    check = known_schedules.plan_checks(log)[0]
    monkeypatch.setattr(fs.Schedule, "violations", lambda self, **_: ["Job 3: it starts too early."])
    outcome = known_schedules.run_check(check)
    assert not outcome.passed
    assert "too early" in outcome.verdict


def test_the_machine_must_be_known(log: fs.Workload) -> None:
    """Tests that a log without a machine size asks for it, and takes it from the option."""
    nameless = replace(log, nodes=0)
    with pytest.raises(fs.errors.FieldError, match="give nodes"):
        known_schedules.plan_checks(nameless)
    assert known_schedules.plan_checks(nameless, nodes=16)[0].nodes == 16
    narrow = fs.Workload(submit=[0], tasks=[4], runtime=[5])
    with pytest.raises(fs.errors.FieldError, match="size of 1 to 2"):
        known_schedules.plan_checks(narrow, nodes=2)


def test_the_table_can_be_read_without_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that `fedsched verify` alone prints every known hash, as text and as JSON."""
    assert cli.run(["verify"]) == 0
    out = capsys.readouterr().out
    hashes = {it.start_hash for entry in known_schedules.KNOWN_LOGS for it in entry.schedules}
    assert all(text in out for text in hashes)
    assert cli.run(["verify", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(known_schedules.KNOWN_LOGS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kth-clean-28481", "NASA-iPSC-1993-3.1-cln", "lublin_256"])
def test_known_schedules_of_archive_logs(name: str, traces_dir: Path) -> None:
    """Tests that every known schedule of the archive's logs comes out, start for start."""
    checks = known_schedules.plan_checks(known_schedules.read_raw(str(traces_dir / f"{name}.swf.gz")))
    assert len(checks) == 3
    outcomes = [known_schedules.run_check(check) for check in checks]
    assert [outcome.verdict for outcome in outcomes] == ["same, every start"] * 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["easy", "easy-clairvoyant", "easy-sjbf-clairvoyant"])
def test_known_schedules_of_another_simulator(name: str, oracles_dir: Path) -> None:
    """Tests that pyss's output is recognised, and the sequential reading gives the hash of its waits."""
    log = known_schedules.read_raw(str(oracles_dir / f"KTH-SP2.pyss-{name}.swf.gz"))
    checks = {check.recipe: check for check in known_schedules.plan_checks(log)}
    reading = {
        "easy": known_schedules.EASY_SEQUENTIAL,
        "easy-clairvoyant": known_schedules.EASY_CLAIRVOYANT,
        "easy-sjbf-clairvoyant": known_schedules.SJBF_CLAIRVOYANT,
    }[name]
    assert log.log is not None
    theirs = replace(fs.simulate(log.head(1), fs.Federation.homogeneous(100)), workload=checks[reading].workload,
                     start=log.submit + log.log.wait, finish=log.submit + log.log.wait + log.runtime,
                     counts=checks[reading].workload.tasks[:, None])  # fmt: skip
    outcome = known_schedules.run_check(checks[reading])
    assert outcome.start_hash == outcome.known_hash == theirs.start_hash()
