"""Every key that Slurm's own lists have is in the one table, and is said as the table tells.

`io/slurm_names/` has the keys of slurm.conf and the words of its lists, a line each, as the manual pages and parsers of
two versions of Slurm have them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from slurm.test_said import said_of

from fedsched.io.slurm_files.slurm_conf import KINDS
from fedsched.io.slurm_files.slurm_keys import FIRST, GLOBAL, KEYS, LAST, SECTIONS, Treatment, keys_of, names_of
from fedsched.slurm.conf.parameters import NUMBERS, SWITCHES

NAMES = Path(__file__).parents[1] / "io" / "slurm_names"
LISTS = [section for section in KEYS if section != GLOBAL and section not in SECTIONS]
# How keys of nodes and partitions are called in what is said of them.
CALLED = {"Shared": "OverSubscribe"}


@pytest.mark.parametrize("version", [FIRST, LAST])
def test_every_key_of_slurm_is_in_the_table(version: str) -> None:
    """Whatever Slurm reads has a standing; a name without one is a key that we pass over in silence."""
    lines = (NAMES / f"slurm.conf-{version}.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 400
    assert [line for line in lines if line.split()[1].lower() not in KEYS[line.split()[0]]] == []


def test_the_table_and_the_readers_agree() -> None:
    """The words that are numbers here are those that are modelled; lists of words and kinds of lines are known."""
    assert {*NUMBERS, *SWITCHES} - {"bf_continue"} == set(names_of("SchedulerParameters", Treatment.MODELLED))
    assert set(LISTS) == set(names_of(GLOBAL, Treatment.BY_WORD)) | {"SchedulerParameters"}
    assert set(KINDS) <= {section.lower() for section in SECTIONS}


def test_a_key_of_the_cluster_is_said_as_it_stands(tmp_path: Path) -> None:
    """What is not modelled or assumed is named where it occurs, and what decides nothing is not."""
    of_priorities = "PriorityType=priority/multifactor\n"
    for key in KEYS[GLOBAL].values():
        if key.standing in (Treatment.BY_WORD, Treatment.MODELLED) or key.name == "DownNodes":
            continue
        said = said_of(tmp_path, f"{of_priorities}{key.name}=77")
        assert (key.name in said) == (key.standing is not Treatment.IGNORED), key
        if key.standing is not Treatment.IGNORED:
            assert all(key.name not in said_of(tmp_path, f"{key.name}={value}") for value in key.usual), key


def test_a_word_of_a_list_is_said_as_it_stands(tmp_path: Path) -> None:
    """As a key is; of what is chosen by cores and memory all words are named where nodes are given whole."""
    for section in (one for one in LISTS if one != "SelectTypeParameters"):
        for key in keys_of(section, Treatment.NOT_MODELLED, Treatment.IGNORED):
            said = said_of(tmp_path, f"PriorityType=priority/multifactor\n{section}={key.name}")
            assert (key.name in said) == (key.standing is Treatment.NOT_MODELLED), key


def test_keys_of_nodes_and_partitions_are_said_as_they_stand(tmp_path: Path) -> None:
    """The facts of the machine name what is not modelled, and what policy slurm alone takes note of."""
    for where in ("NodeName", "PartitionName"):
        for key in keys_of(where, Treatment.NOT_MODELLED, Treatment.IGNORED):
            words = {"node" if where == "NodeName" else "partition": f"{key.name}=77"}
            named = f"{CALLED.get(key.name, key.name)} of " in said_of(tmp_path, **words)
            assert named == (key.standing is Treatment.NOT_MODELLED), key


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"lines": "ScheduleParameters=defer"}, "ScheduleParameters (no word of Slurm's; did you mean SchedulerPara"),
        ({"lines": "SchedulerParameters=bf_intervall=9"}, "bf_intervall=9 (no word of Slurm's; did you mean bf_interv"),
        ({"lines": "Qxz=1"}, "not read of CONF: Qxz (no word of Slurm's)"),
        ({"node": "Featrue=x"}, "words of NodeName lines that are not read: Featrue (no word of Slurm's; did you mean"),
        ({"partition": "PriorityTeir=5"}, "words of PartitionName lines that are not read: PriorityTeir (no word of"),
    ],
)  # fmt: skip
def test_a_key_that_slurm_does_not_have_is_said(tmp_path: Path, words: dict[str, str], told: str) -> None:
    """With the one that is like it, if one is."""
    assert told in said_of(tmp_path, **words).replace(str(tmp_path / "slurm.conf"), "CONF")


def test_lines_of_daemons_are_no_parameters(tmp_path: Path) -> None:
    """The words of FrontendName and PowerAction lines are theirs, not the cluster's."""
    said = said_of(tmp_path, "FrontendName=f1 State=DOWN Port=7\nPowerAction=x Program=/x Nodes=n1")
    assert "not read" not in said
    assert "not up" not in said
