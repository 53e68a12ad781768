"""What Slurm's options and fields ask for: each name of its own lists is known, and what is not modelled is counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fedsched as fs
from fedsched.io.slurm_files.sacct import KNOWN, parse_dump
from fedsched.io.slurm_files.sacct_submit import lines_with_requests, requests_in
from fedsched.io.slurm_files.slurm_options import (
    ASSUMED,
    COUNTED,
    FIELDS_IGNORED,
    FIELDS_MODELLED,
    IGNORED,
    LETTERS,
    MODELLED,
    OF_FIELDS,
    OPTIONS,
    UNMODELLED,
)
from fedsched.site.twin.commands import FIELDS

NAMES = Path(__file__).parent / "slurm_names"
HEAD = "JobIDRaw|Partition|Account|User|Submit|Start|End|ElapsedRaw|State|AllocCPUS|NNodes|QOS|Reservation|Constraints|"
HEAD += "ReqTRES|SubmitLine"


def dump(path: Path, *lines: str) -> Path:
    """Return a dump of a job of four CPUs for each of these command lines."""
    rows = [
        f"{job}|p|a|ada|2024-03-01T10:00:0{job}|2024-03-01T11:00:00|2024-03-01T11:01:00|60|COMPLETED|4|1|normal|||cpu=4|"
        f"{line}"
        for job, line in enumerate(lines, 1)
    ]
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return path


@pytest.mark.parametrize("file", sorted(NAMES.glob("s[bra]*-*.txt"), key=str), ids=lambda file: file.stem)
def test_every_name_of_slurms_own_lists_is_in_the_table(file: Path) -> None:
    """Tests that no option and no field that Slurm's pages list is without a word on what becomes of it."""
    names = set(file.read_text().split())
    assert len(names) > 80
    if file.stem.startswith("sacct"):
        fields = f"{FIELDS_MODELLED} {' '.join(FIELDS_IGNORED.values())}".split()
        assert names - set(fields) - {name for name in names if name.lower() in OF_FIELDS} == set()
    else:
        assert names - OPTIONS == set()


def test_a_name_is_in_one_group_of_the_table() -> None:
    """Tests that no option and no field is said to be two things, and that all fields said to be read are."""
    options = [*MODELLED, *ASSUMED, *" ".join(IGNORED.values()).split(), *UNMODELLED.split()]
    assert len({name.removesuffix("=") for name in options}) == len(options)
    assert set(LETTERS.values()) <= OPTIONS
    read, beside = FIELDS_MODELLED.lower().split(), " ".join(FIELDS_IGNORED.values()).lower().split()
    assert len({*read, *beside}) == len(read) + len(beside)
    assert set(read) == {name for name in KNOWN if name not in OF_FIELDS or name == "exclusive"} - {"dependency"}


def test_dumps_ask_for_what_tells_of_options() -> None:
    """Tests that a dump has each field of newer versions that tells what scripts ask for, but people's words."""
    assert {*OF_FIELDS} - {"extra"} <= {name.lower() for name in FIELDS}
    assert {name.lower() for name in FIELDS} <= KNOWN


@pytest.mark.parametrize("option", sorted(COUNTED))
def test_each_option_that_is_not_modelled_is_counted(option: str) -> None:
    """Tests that a line with such an option is worth reading and says so."""
    line = f"sbatch --{option}=1 job.sh"
    assert lines_with_requests([line]) == [0]
    assert requests_in(line).beyond == (f"--{option}",)


@pytest.mark.parametrize(
    ("line", "beyond"),
    [
        ("sbatch -w n1 -N 2-8 job.sh", ("--nodelist", "--nodes with a range")),
        ("sbatch -N 4-4 job.sh", ()),
        ("sbatch -sOx n3 job.sh", ("--exclude", "--overcommit", "--oversubscribe")),
        ("sbatch --exclusive=user job.sh", ("--exclusive=user",)),
        ("sbatch --qos=a,b --reservation=r,s job.sh", ("--qos with several names", "--reservation with several names")),
        ("sbatch job.sh --exclusive --switches=1", ()),
        ("sbatch -J x -o y -n 4 --mem=4G --wrap=sleep", ()),
    ],
)
def test_letters_ranges_and_values_are_told_apart(line: str, beyond: tuple[str, ...]) -> None:
    """Tests that letters count as the options they stand for, and that a script's own words do not."""
    assert requests_in(line).beyond == beyond
    assert lines_with_requests([line]) == [0] or not beyond


def test_what_only_command_lines_ask_for_is_read_or_counted(tmp_path: Path) -> None:
    """Tests that whole nodes and licences are read, and all else is counted by its name in one line of notes."""
    lines = ("sbatch --exclusive a.sh", "sbatch --licenses=matlab:2 -p p,q a.sh", "sbatch --switches=1 -w n1 a.sh")
    jobs = fs.read(dump(tmp_path / "a.sacct", *lines, "sbatch -n 4 a.sh"))
    assert jobs.layout is not None
    assert jobs.layout.columns()["exclusive"].tolist() == [1, 0, 0, 0]
    assert [job.pools for job in jobs] == [None, {"matlab": 2}, None, None]
    assert jobs.unmodelled == (
        "every CPU taken for a node of its own, unless nodes are shared (--unit nodes counts nodes)",
        "1 job for one of several partitions (the first is taken)",
        "1 job with --nodelist",
        "1 job with --switches",
    )
    by_nodes = parse_dump(tmp_path / "a.sacct", unit="nodes").log().columns
    assert [by_nodes[f"layout.{name}"].tolist() for name in ("exclusive", "tasks_per_node")] == [[1, 0, 0, 0]] * 2


def test_an_option_of_which_a_dump_has_no_field_is_counted(tmp_path: Path) -> None:
    """Tests that features are not lost where the dump lacks the column that tells them."""
    path = dump(tmp_path / "a.sacct", "sbatch -C ib a.sh")
    assert "1 job with --constraint" not in fs.read(path).unmodelled
    path.write_text(path.read_text().replace("Constraints|", "").replace("|||cpu=4", "||cpu=4"))
    assert "1 job with --constraint" in fs.read(path).unmodelled


def test_fields_of_new_versions_say_the_same_as_the_options(tmp_path: Path) -> None:
    """Tests that what newer versions tell in fields of their own is read and counted under the options' names."""
    path = tmp_path / "a.sacct"
    rows = ("1|2024-03-01T10:00:00|60|COMPLETED|4|NODE|NO|0|", "2|2024-03-01T10:00:00|60|COMPLETED|4|USER|YES|2|r,s",
            "3|2024-03-01T10:00:00|60|COMPLETED|4|NO|NO|0|r")  # fmt: skip
    head = "JobIDRaw|Submit|ElapsedRaw|State|AllocCPUS|Exclusive|OverSubscribe|SegmentSize|ReqReservation"
    path.write_text("\n".join([head, *rows]) + "\n")
    jobs = fs.read(path)
    assert jobs.layout is not None
    assert jobs.layout.columns()["exclusive"].tolist() == [1, 0, 0]
    assert jobs.unmodelled == (
        "1 job with --exclusive=user",
        "1 job with --oversubscribe",
        "1 job with --reservation with several names",
        "1 job with --segment",
    )


@pytest.mark.parametrize("policy", ["easy", "conservative", "fcfs"])
def test_the_first_of_several_partitions_is_taken_everywhere(policy: str) -> None:
    """Tests that jobs given in Python and in tables start as those of the first partition, which is said."""
    machine = fs.Federation(
        (fs.Cluster("c", (fs.NodeGroup(4),)),),
        partitions=(fs.Partition("a", (("c", "0-1"),)), fs.Partition("b", (("c", "2-3"),))),
    )

    def start(*asked: str) -> np.ndarray:
        jobs = fs.Workload(submit=[0, 0, 0], tasks=2, runtime=[5, 5, 5], labels={"partition": np.array(asked)})
        schedule = fs.simulate(jobs, machine, policy)
        schedule.verify()
        several_names = sum("," in one for one in asked)
        said = f"{several_names} jobs for one of several partitions (the first is taken)"
        assert (said in schedule.unmodelled) == (several_names > 0)
        return schedule.start

    assert start("a,b", "b", "a,b").tolist() == start("a", "b", "a").tolist() == [0, 0, 5]
