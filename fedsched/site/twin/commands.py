"""The commands that a dump is made of: each only reads, and its output is one file of the folder."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsched.core.errors import unknown_name
from fedsched.io.slurm_files.dump_files import ACCOUNTS as ACCOUNTS
from fedsched.io.slurm_files.dump_files import CONFIG as CONFIG
from fedsched.io.slurm_files.dump_files import JOBS as JOBS
from fedsched.io.slurm_files.dump_files import NODES as NODES
from fedsched.io.slurm_files.dump_files import PARTITIONS as PARTITIONS
from fedsched.io.slurm_files.dump_files import QOS as QOS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

SINCE = "now-28days"
MANIFEST = "dump.txt"
# What is asked of each job; a Slurm that does not know some of it is not asked for that.
FIELDS = (
    "JobIDRaw", "JobID", "Cluster", "Partition", "User", "Account", "QOS", "JobName", "Submit", "Eligible", "Start",
    "End", "ElapsedRaw", "TimelimitRaw", "State", "AllocCPUS", "ReqCPUS", "NNodes", "ReqTRES", "AllocTRES", "Priority",
    "Reason", "Reservation", "Constraints", "Suspended", "Restarts", "NodeList", "Flags", "SubmitLine",
    "Licenses", "Exclusive", "OverSubscribe", "QOSREQ", "ReqReservation", "SegmentSize",
)  # fmt: skip
NEEDED = ("JobIDRaw", "Submit", "Eligible", "Start", "End", "ElapsedRaw", "TimelimitRaw", "State", "NNodes")
RESERVATIONS, PAST_RESERVATIONS, EVENTS = "reservations.txt", "past-reservations.txt", "events.txt"
SHARES, QUEUE, STATES = "shares.txt", "queue.txt", "states.txt"
# Not parted by bars: features that a job asks for, `a|b`, and what people write of nodes may have them.
PARTED, BAR = "\t", "|"
QUEUED = PARTED.join(f"%{letter}" for letter in "iPuTrQVeSlDaqEfvNyCnxbW")
STANDING = PARTED.join(f"%{letter}" for letter in "NPTEH")
RESERVED = "Cluster,Name,TRES,Start,End,NodeNames,Flags"


def mark_in(text: str) -> str:
    """Return what parts the cells of a table of a dump: tabs, or bars as in older dumps."""
    return PARTED if PARTED in text else BAR


@dataclass(frozen=True, slots=True)
class Command:
    """A command that only reads, and the file that holds what it printed."""

    file: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return shlex.join(self.words)

    @property
    def name(self) -> str:
        """Return the part of a dump that it is: its file without the suffix."""
        return self.file.partition(".")[0]


KNOWN_FIELDS = Command("", ("sacct", "--helpformat"))  # asked before the others, and kept in no file


def commands_of(
    since: str = SINCE, *, fields: Sequence[str] = FIELDS, without: Collection[str] = ()
) -> tuple[Command, ...]:
    """Return the commands of a dump, in the order in which they run.

    Parameters
    ----------
    since
        From when on jobs and events are asked for, as Slurm reads times: 2027-01-12, or now-28days.
    fields
        What is asked of each job.
    without
        The parts that are left out: "shares", "events", …; "config", "partitions", "nodes" and "jobs" are needed.
    """
    if not re.fullmatch(r"[\w:+.-]{1,40}", since, re.ASCII):
        raise ValueError(f"since={since!r} must be a time as Slurm reads it: 2027-01-12, 2027-01-12T08:00:00, {SINCE}.")
    asked = ",".join(fields)
    every = (
        Command(CONFIG, ("scontrol", "show", "config")),
        Command(PARTITIONS, ("scontrol", "-o", "show", "partition")),
        Command(NODES, ("scontrol", "-o", "show", "node")),
        Command(RESERVATIONS, ("scontrol", "-o", "show", "reservation")),
        Command(QUEUE, ("squeue", "--all", "--array", "--noconvert", f"--format={QUEUED}")),
        Command(STATES, ("sinfo", "--all", "-N", f"--format={STANDING}")),
        Command(ACCOUNTS, ("sacctmgr", "-P", "show", "assoc", "tree")),
        Command(QOS, ("sacctmgr", "-P", "show", "qos")),
        Command(SHARES, ("sshare", "-a", "-l", "-P")),
        Command(EVENTS, ("sacctmgr", "-P", "show", "events", f"Start={since}")),
        Command(
            PAST_RESERVATIONS,
            ("sacctmgr", "-P", "show", "reservation", f"Start={since}", f"format={RESERVED}"),
        ),
        Command(JOBS, ("sacct", "-a", "-X", "-D", "-P", "--noconvert", "-S", since, "-E", "now", f"--format={asked}")),
    )
    names = [one.name for one in every]
    for part in without:
        if part not in names:
            raise unknown_name("part of a dump", part, names)
        if f"{part}.txt" in (CONFIG, PARTITIONS, NODES) or part == "jobs":
            raise ValueError(f"without={part!r}: a dump without it is none; leave out others.")
    return tuple(one for one in every if one.name not in without)


def script(since: str = SINCE, *, without: Collection[str] = ()) -> str:
    """Return a shell script that makes the same dump where fedsched is not at hand."""
    lines = [
        "#!/bin/sh",
        "# Reads what Slurm tells of a cluster into a new folder; changes nothing. usage: sh dump.sh FOLDER",
        "set -eu",
        'folder=${1:?name a new folder}; mkdir "$folder"',
        "export SLURM_TIME_FORMAT=standard LC_ALL=C SLURM_BITSTR_LEN=0",
        f"wanted='{'|'.join(FIELDS)}'",
        'fields=$(sacct --helpformat | tr -s " \\t" "\\n" | grep -ixE "$wanted" | paste -sd, -)',
    ]
    for one in commands_of(since, fields=("FIELDS",), without=without):
        words = str(one).replace("FIELDS", '"$fields"')
        lines.append(f'{words} > "$folder/{one.file}"')
    lines.append(f'printf "fedsched dump 1\\nsince {since}\\n" > "$folder/{MANIFEST}"')
    return "\n".join(lines) + "\n"
