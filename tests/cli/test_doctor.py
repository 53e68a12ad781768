"""`fedsched doctor`: what it knows is right, and what is wrong it finds."""

from __future__ import annotations

import json
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest
from reference import naive

import fedsched as fs
from fedsched.cli.data import doctor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("policy", doctor.KNOWN)
def test_the_known_answers_are_those_of_the_slow_reference(policy: str) -> None:
    """Tests the stored makespans, saturated seconds and energies against plain Python that shares no code."""
    workload, federation = doctor.instance()
    clusters = enumerate(federation.clusters)
    groups = [
        naive.Group(k, g.count, g.speed, g.busy_watts, g.idle_watts) for k, cluster in clusters for g in cluster.groups
    ]
    machine = naive.Machine(groups, [cluster.uplink for cluster in federation.clusters])
    columns = (workload.id, workload.submit, workload.tasks, workload.runtime, workload.estimate)
    jobs = [
        naive.Job(*row, sigma=doctor.COMPUTE_FRACTION, bandwidth=doctor.TASK_BANDWIDTH)
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]
    dispatch = {"fcfs": "strict"}.get(policy, policy)
    expected = naive.simulate(jobs, machine, dispatch=dispatch)
    _, makespan, saturated, _ = doctor.KNOWN[policy]
    assert max(expected.finish) - expected.t0 == pytest.approx(makespan, rel=1e-9)
    assert expected.saturated_seconds == pytest.approx(saturated, rel=1e-9)
    assert saturated > 0


def test_a_sound_installation(call: Callable[..., Any]) -> None:
    """Tests that here nothing fails, that the table has every check, and the JSON says the same."""
    status, out, err = call("doctor")
    said = json.loads(call("doctor", "--json")[1])
    assert (status, err) == (0, "")
    assert said["sound"] is True
    names = [check["name"] for check in said["checks"]]
    assert {"fedsched", "numba", "numpy", "extra exact", "cores", "memory", "terminal", "kernel cache",
            "self-test conservative"} <= set(names)  # fmt: skip
    assert all(name in out for name in names)
    assert f"{len(names)} checks, none failed." in out
    assert all(check["cure"] for check in said["checks"] if check["verdict"] != "ok")


def test_a_wrong_answer_is_found(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a schedule unlike the known one fails with exit status 1, both values and a cure."""
    known = dict(doctor.KNOWN)
    known["easy"] = (known["easy"][0], known["easy"][1] * (1 + 1e-6), *known["easy"][2:])
    monkeypatch.setattr(doctor, "KNOWN", known)
    status, out, _ = call("doctor", "--json")
    said = json.loads(out)
    (failed,) = (check for check in said["checks"] if check["verdict"] == "fail")
    assert (status, said["sound"]) == (1, False)
    assert failed["name"] == "self-test easy"
    assert failed["found"].startswith("makespan 113438.12")
    assert "kernel cache" in failed["cure"]


def test_a_broken_engine_is_found(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a schedule which breaks the model fails even where its figures are not looked at."""

    def broken(_: fs.Schedule) -> None:
        raise fs.errors.ScheduleError("Job 3: starts before it is submitted.")

    monkeypatch.setattr(fs.Schedule, "verify", broken)
    status, out, _ = call("doctor")
    assert status == 1
    assert "Job 3: starts before it is submitted." in out
    assert "1 failed" in out


def test_missing_and_old_libraries_are_named(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a library that is absent or too old fails with the command that installs it; an extra is a note."""
    version = metadata.version

    def changed(name: str) -> str:
        if name in ("pymoo", "ortools"):
            raise metadata.PackageNotFoundError(name)
        return "0.59.1" if name == "numba" else version(name)

    monkeypatch.setattr(metadata, "version", changed)
    status, out, _ = call("doctor", "--json")
    by_name = {check["name"]: check for check in json.loads(out)["checks"]}
    assert status == 1
    assert by_name["pymoo"]["found"].startswith("absent, needs 0.6.1")
    assert by_name["numba"]["verdict"] == by_name["pymoo"]["verdict"] == "fail"
    assert by_name["numba"]["cure"] == "pip install 'numba>=0.68'"
    assert by_name["extra exact"] == {
        "name": "extra exact",
        "found": "ortools absent",
        "verdict": "note",
        "cure": "if you want it: pip install 'fedsched[exact]'",
    }
    assert "pip install 'fedsched[exact]'" in call("doctor")[1]


def test_the_cache_is_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests a folder with its size and what it holds, and that no folder at all is a note that says what to set."""
    monkeypatch.setattr("fedsched.core.jit.cache.FOLDER", tmp_path)
    assert ", writable, 0.0 MiB, empty" in doctor.cache().found
    (tmp_path / "kernel.0123").write_bytes(bytes(3 << 20))
    assert f"{tmp_path}, writable, 3.0 MiB, 1 function:" in doctor.cache().found
    monkeypatch.setattr("fedsched.core.jit.cache.FOLDER", None)
    check = doctor.cache()
    assert check.verdict == "note"
    assert "FEDSCHED_CACHE" in check.cure


def test_a_named_cache_that_is_not_used_is_a_note(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests that the report names the folder of FEDSCHED_CACHE that is not used, and the one that is."""
    monkeypatch.setenv("FEDSCHED_CACHE", "/everybodys")
    monkeypatch.setattr("fedsched.core.jit.cache.READ_ONLY", [])
    monkeypatch.setattr("fedsched.core.jit.cache.REFUSED", {"/everybodys": "others may write to it"})
    for folder in (tmp_path, None):
        monkeypatch.setattr("fedsched.core.jit.cache.FOLDER", folder)
        check = doctor.cache()
        assert check.verdict == "note"
        assert "FEDSCHED_CACHE is not used: others may write to it" in check.found
        assert folder is None or str(folder) in check.found


def test_extras_for_developers_are_not_offered() -> None:
    """Tests that the report has the extras that users install, and no others."""
    assert [one.name for one in doctor.extras()] == ["extra distributed", "extra exact", "extra gym", "extra notebook"]


def test_versions_are_compared_by_their_numbers() -> None:
    """Tests that 0.10 is later than 0.9, and that letters after the numbers are not looked at."""
    assert doctor.numbers("0.10.2") > doctor.numbers("0.9")
    assert doctor.numbers("2.0.0rc1")[:2] == [2, 0]
