"""The commands that make a dump: each only reads, and its output becomes one file of the folder."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsched.core.errors import unknown_name
from fedsched.io.slurm_files.slurm_records import ACCOUNTS as ACCOUNTS
from fedsched.io.slurm_files.slurm_records import CONFIG as CONFIG
from fedsched.io.slurm_files.slurm_records import EVENTS as EVENTS
from fedsched.io.slurm_files.slurm_records import JOBS as JOBS
from fedsched.io.slurm_files.slurm_records import NODES as NODES
from fedsched.io.slurm_files.slurm_records import PARTITIONS as PARTITIONS
from fedsched.io.slurm_files.slurm_records import PAST_RESERVATIONS as PAST_RESERVATIONS
from fedsched.io.slurm_files.slurm_records import QOS as QOS
from fedsched.io.slurm_files.slurm_records import RESERVATIONS as RESERVATIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

SINCE = "now-28days"
MANIFEST = "dump.txt"
# The fields of sacct that are asked for; those that a Slurm does not know are left out.
FIELDS = (
    "JobIDRaw", "JobID", "Cluster", "Partition", "User", "Account", "QOS", "JobName", "Submit", "Eligible", "Start",
    "End", "ElapsedRaw", "TimelimitRaw", "State", "AllocCPUS", "ReqCPUS", "NNodes", "ReqTRES", "AllocTRES", "Priority",
    "Reason", "Reservation", "Constraints", "Suspended", "Restarts", "NodeList", "Flags", "SubmitLine",
    "Licenses", "Exclusive", "OverSubscribe", "QOSREQ", "ReqReservation", "SegmentSize",
)  # fmt: skip
NEEDED = ("JobIDRaw", "Submit", "Eligible", "Start", "End", "ElapsedRaw", "TimelimitRaw", "State", "NNodes")
SHARES, QUEUE, STATES = "shares.txt", "queue.txt", "states.txt"
# Cells are separated by tabs, not bars: requested features, `a|b`, and texts about nodes may have bars in them.
PARTED, BAR = "\t", "|"
QUEUED = PARTED.join(f"%{letter}" for letter in "iPuTrQVeSlDaqEfvNyCnxbW")
STANDING = PARTED.join(f"%{letter}" for letter in "NPTEH")
RESERVED = "Cluster,Name,TRES,Start,End,NodeNames,Flags"


def separator_in(text: str) -> str:
    """Return what separates the cells of a dump's table: tabs, or bars in older dumps."""
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
        """Return the name of its part of the dump: the file without the suffix."""
        return self.file.partition(".")[0]


KNOWN_FIELDS = Command("", ("sacct", "--helpformat"))  # asked before the others, and kept in no file


def commands_of(
    since: str = SINCE, *, fields: Sequence[str] = FIELDS, without: Collection[str] = ()
) -> tuple[Command, ...]:
    """Return the commands of a dump, in the order in which they run; raise if a needed part is to be left out.

    Parameters
    ----------
    since
        The earliest time of jobs and events, as Slurm reads times: 2027-01-12, or now-28days.
    fields
        The fields of sacct to ask for.
    without
        The parts to leave out: "shares", "events", …; "config", "partitions", "nodes" and "jobs" are needed.
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
            raise ValueError(f"without={part!r}: every dump needs it; leave out other parts.")
    return tuple(one for one in every if one.name not in without)


def script(since: str = SINCE, *, without: Collection[str] = ()) -> str:
    """Return a shell script that makes the same dump without fedsched.

    Parameters
    ----------
    since, without
        As of `dump`.

    Examples
    --------
    >>> from fedsched.site import twin
    >>> twin.script(since="now-7days").splitlines()[0]
    '#!/bin/sh'
    """
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
