"""A policy of the user's own file, FILE.py:NAME, where a command takes a policy by name."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

MINE = """
import numpy as np

import fedsched as fs


class Narrow:
    def rules(self, workload, federation):
        return fs.Rules(order=np.argsort(workload.tasks, kind="stable"), dispatch="easy", name="narrow")


made = Narrow()


def make():
    return made


none = 3
"""
LOG = ("sample", "--head", 30)


@pytest.fixture(autouse=True)
def _mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder with a file of policies."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "narrow_policies", raising=False)
    Path("narrow_policies.py").write_text(MINE, encoding="utf-8")


@pytest.mark.parametrize("name", ["Narrow", "made", "make"])
def test_simulate_runs_it(name: str, call: Callable[..., Any]) -> None:
    """Tests that a class, an object and a function that makes one are the order that they say."""
    own = json.loads(call("simulate", *LOG, "--policy", f"narrow_policies.py:{name}", "--json")[1])
    known = json.loads(call("simulate", *LOG, "--policy", "smallest-easy", "--json")[1])
    assert own["metrics"] == known["metrics"]
    assert own["policy"].startswith("narrow")


def test_what_is_no_policy_is_refused(call: Callable[..., Any]) -> None:
    """Tests that the file, the name and other options of a named policy are named in errors."""
    for words, said in (
        (("narrow_policies.py:none",), "narrow_policies.py:none is 3, which has no method rules"),
        (("narrow_policies.py:absent",), "narrow_policies.py has no 'absent'; name a policy in it"),
        (("narrow_policies.py:made", "--order", "sjf"), "--order changes a named policy"),
    ):
        status, _, err = call("simulate", *LOG, "--policy", *words)
        assert (status, said in err) == (2, True), err


def test_study_and_compare_take_it(call: Callable[..., Any]) -> None:
    """Tests that scenarios, the policy of all scenarios, and methods of a comparison may be of the user's file."""
    mine = "narrow_policies.py:Narrow"
    status, out, _ = call("study", "sample", "--scenario", f"policy={mine}", "--policy", mine, "--no-bounds", "--json")
    told = json.loads(out)
    assert (status, [one["policy"] for one in told["outcomes"]]) == (0, ["narrow on fastest"] * 2)
    methods = ("--method", mine, "--method", "smallest-easy", "--against", "Narrow")
    status, out, _ = call("compare", *LOG, *methods, "--json")
    medians = {row["method"]: row["median"] for row in json.loads(out)["measures"]["makespan"]}
    assert (status, medians["Narrow"]) == (0, medians["smallest-easy"])


def test_files_of_settings_name_no_programs(call: Callable[..., Any]) -> None:
    """Tests that neither a settings file nor a scenario runs a program, as others may have written them."""
    Path("narrow_policies.py").write_text("raise SystemExit(77)", encoding="utf-8")
    Path("theirs.toml").write_text('[simulate]\npolicy = "narrow_policies.py:made"\n', encoding="utf-8")
    text = '[log]\nfile = "sample"\n[policy]\nname = "narrow_policies.py:made"\n'
    Path("site.toml").write_text(text, encoding="utf-8")
    for words, said in (
        (("simulate", *LOG, "--config", "theirs.toml"), "names a program; give it on the command line"),
        (("simulate", "--scenario", "site.toml"), "in a file is named on the command line of fedsched simulate"),
    ):
        status, _, err = call(*words)
        assert (status, said in err) == (2, True), err
