"""What a comparison's figures rest on: its tables, pages and files say what is assumed and what is not modelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import fedsched as fs
from fedsched.model.jobs.log import Demand, LogColumns

if TYPE_CHECKING:
    from pathlib import Path

BARE = fs.Federation.homogeneous(8)
GIVEN = fs.Federation.homogeneous(8, busy_watts=200.0, idle_watts=90.0)
JOBS = fs.Workload(
    submit=[0, 0, 5], tasks=[8, 6, 8], runtime=[30, 4, 15], log=LogColumns(3, {"demands": np.array([Demand.GPU, 0, 0])})
)
ASSUMED = "assumed: 135 W busy and 93.7 W idle for each node"


def compared(objective: str, **federations: fs.Federation) -> fs.Comparison:
    """Return one policy on the jobs on each federation."""
    instances = [fs.Instance(name, JOBS, machine, (objective,)) for name, machine in federations.items()]
    return fs.compare(instances, ("easy",), range(1), fs.Budget(evaluations=1))


def test_energies_of_assumed_watts_are_marked(tmp_path: Path) -> None:
    """Tests that table, notebook view, page and profile mark an energy of assumed watts, and nothing else."""
    for objective, machine, marked in (("energy", BARE, True), ("energy", GIVEN, False), ("makespan", BARE, False)):
        found = compared(objective, one=machine)
        found.report(tmp_path / "c.html")
        page = (tmp_path / "c.html").read_text(encoding="utf-8")
        for text in (str(found.table()), found.table()._repr_html_(), page):
            assert ("(assumed watts)" in text) == marked
            assert (ASSUMED in text) == (machine is BARE)
            assert "not modelled: 1 job with GPUs" in text
        assert ("assumed watts" in found.plot_profile().get_xlabel()) == marked


def test_facts_of_some_instances_name_them(tmp_path: Path) -> None:
    """Tests that what holds for one instance alone is said with its name, and that a file of runs keeps it."""
    found = compared("energy", bare=BARE, given=GIVEN)
    assert found.facts == ("not modelled: 1 job with GPUs", f"bare: {ASSUMED}")
    instances = [fs.Instance("bare", JOBS, BARE, ("energy",))]
    kept = fs.compare(instances, ("easy",), range(1), fs.Budget(evaluations=1), path=tmp_path / "r.jsonl")
    again = fs.compare(instances, ("easy",), range(1), fs.Budget(evaluations=1), path=tmp_path / "r.jsonl")
    assert again.facts == kept.facts == ("not modelled: 1 job with GPUs", ASSUMED)
