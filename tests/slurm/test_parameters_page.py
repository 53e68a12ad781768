"""The page that tells what of a slurm.conf counts: each of its lines is tried, and no parameter is missing there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from slurm.record import TRIED

import fedsched as fs
from fedsched.core.errors import FederationError, InfeasibleError
from fedsched.io.slurm_files.slurm_keys import GLOBAL, Treatment, names_of
from fedsched.slurm.conf.memory import with_memory
from fedsched.slurm.conf.parameters import tiers_of
from fedsched.slurm.priority.associations import Association, Associations

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "slurm-parameters.md"
NODES, PARTITION = "NodeName=n[1-4] CPUs=8", "PartitionName=p Nodes=ALL Default=YES"
OLD = "SelectType=select/linear PriorityType=priority/basic"  # the defaults before 23.11
MULTIFACTOR = "PriorityType=priority/multifactor"
ACCOUNTS = Associations((Association("root"), Association("root", user="root", parent=0)), {})
CALLED = {"State": "not up", "Gres": "no GPUs"}  # what facts call these


def lines_of(section: str, *, shared: bool = False) -> list[str]:
    """Return what stands in the first column of a section's table, or of that for nodes that jobs share."""
    text = PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    text = text.partition("\nIf jobs share nodes")[2 * shared]
    return re.findall(r"^\| `([^`]+)` \|", text, flags=re.MULTILINE)


def policy_of(folder: Path, *lines: str) -> fs.policies.Slurm:
    """Return the policy of a conf of these lines, and of what it cannot be without."""
    needed = [line for line in (NODES, PARTITION) if not any(one.startswith(line.split("=")[0]) for one in lines)]
    path = folder / "slurm.conf"
    path.write_text("\n".join([OLD, *needed, *lines, ""]), encoding="utf-8")
    return fs.policies.Slurm(path, assoc=ACCOUNTS)


def around(line: str) -> tuple[str, ...]:
    """Return what a line says nothing without."""
    return (MULTIFACTOR,) if line.startswith("Priority") and "PriorityType" not in line else ()


def decided_by(policy: fs.policies.Slurm) -> object:
    """Return all that was read where nodes are given whole, but for what is only named."""
    machine = fs.read_federation(policy.conf.path)
    return (
        replace(policy.parameters, not_modelled=(), selection=()), replace(policy.priority, left_out=()),
        tiers_of(policy.conf), machine.clusters, tuple(machine.partitions),
    )  # fmt: skip


def facts_of(policy: fs.policies.Slurm) -> str:
    """Return what is said not to be modelled."""
    machine = fs.read_federation(policy.conf.path)
    return "\n".join([*policy.notes, *machine.partitions.left_out])  # type: ignore[attr-defined]


@pytest.mark.parametrize("line", lines_of("Modelled"))
def test_what_is_modelled_is_read(line: str, tmp_path: Path) -> None:
    """Something else is read with it than without it, and no note says that it is not modelled."""
    before = decided_by(policy_of(tmp_path, *around(line)))
    policy = policy_of(tmp_path, *around(line), line)
    assert decided_by(policy) != before
    assert policy.notes == ()


@pytest.mark.parametrize("line", lines_of("Modelled"))
def test_what_is_modelled_has_been_seen_to_decide_on_a_real_slurm(line: str) -> None:
    """A day is recorded on which it changes what Slurm does; another test sees that ours changes likewise."""
    word, _, value = line.rpartition(" ")[2].partition("=")
    assert (value.partition("=")[0] if word in ("SchedulerParameters", "PriorityFlags") else word) in TRIED


@pytest.mark.parametrize("line", lines_of("Modelled", shared=True))
def test_what_is_modelled_on_shared_nodes_decides_there(line: str, tmp_path: Path) -> None:
    """Jobs are given other memory or refused, nodes may be shared, and no note says that it is not modelled."""
    usual = ["SelectType=select/cons_tres", "DefMemPerCPU=10" if "Max" in line else ""]
    usual += [] if "SelectType" in line else ["SelectTypeParameters=CR_Core_Memory"]
    before, after = policy_of(tmp_path, *usual), policy_of(tmp_path, *usual, line)
    if "SelectType" in line:
        assert (before.parameters.shares_memory, after.parameters.shares_memory) == (False, True)
    else:
        assert memory_by(before) != memory_by(after)
    assert after.notes_on(shared=True) == ()


def memory_by(policy: fs.policies.Slurm) -> object:
    """Return the memory of jobs of which one asks for much and one for none, or why that is refused."""
    jobs = fs.Workload(submit=[0.0] * 2, tasks=[1] * 2, runtime=[9.0] * 2, layout={"tasks_per_node": [1, 1]},
                       demand={"memory": [0, 500]})  # fmt: skip
    try:
        demand = with_memory(jobs, policy)[0].demand
    except InfeasibleError as error:
        return str(error)
    return None if demand is None else demand.columns()["memory"].tolist()


@pytest.mark.parametrize("line", [*lines_of("Named as not modelled"), *lines_of("Assumed")])
def test_what_is_not_modelled_is_named(line: str, tmp_path: Path) -> None:
    """Nothing else is read with it, and a note or a fact names it."""
    word = re.findall(r"(\w+)=", line.rpartition(" ")[2])[0]
    before = policy_of(tmp_path, *around(line))
    read, said = decided_by(before), facts_of(before)
    policy = policy_of(tmp_path, *around(line), line)
    assert decided_by(policy) == read
    named = CALLED.get(word, line.partition("=")[2] if word == "SchedulerParameters" else word)
    assert named not in said
    assert named in facts_of(policy)


@pytest.mark.parametrize("line", lines_of("Refused"))
def test_what_is_refused_is_an_error(line: str, tmp_path: Path) -> None:
    """It names the file."""
    with pytest.raises(FederationError, match=r"slurm\.conf"):
        fs.read_federation(policy_of(tmp_path, *around(line), line).conf.path)


@pytest.mark.parametrize("line", lines_of("Ignored"))
def test_what_says_nothing_changes_nothing(line: str, tmp_path: Path) -> None:
    """Neither what is read nor what is named."""
    before = policy_of(tmp_path, *around(line))
    read, said = decided_by(before), facts_of(before)
    policy = policy_of(tmp_path, *around(line), line)
    assert (decided_by(policy), policy.notes) == (read, before.notes)
    assert line not in facts_of(policy).removeprefix(said)


def test_every_parameter_is_there() -> None:
    """Whatever decides on starts, or is assumed, has a line on the page."""
    words = {word.lower() for word in re.findall(r"\w+", PAGE.read_text(encoding="utf-8"))}
    decisive = [one for one in Treatment if one is not Treatment.IGNORED]
    names = {name for section in (GLOBAL, "NodeName", "PartitionName") for name in names_of(section, *decisive)}
    names |= {name for words in ("SchedulerParameters", "PriorityFlags", "SelectTypeParameters")
              for name in names_of(words, Treatment.MODELLED)}  # fmt: skip
    names -= {"ClusterName", "SLURM_VERSION", "NodeSet", "Features"}  # whose a file is, and other spellings
    assert {name for name in names if name.lower() not in words} == set()
