"""Replaces names of people, accounts and jobs before a dump is written; the same salt gives the same replacements."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import TYPE_CHECKING

from fedsched.io.slurm_files.sacct_submit import requests_in
from fedsched.io.slurm_files.slurm_keys import GLOBAL, Treatment, names_of
from fedsched.io.slurm_files.slurm_options import example_of
from fedsched.site.twin.commands import BAR, CONFIG, JOBS, QUEUE, separator_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What each column of a table, or word of a record, names: replacements begin with this letter.
KINDS = {
    "user": "u", "userid": "u", "users": "u", "owner": "u", "reasonsetby": "u",
    "account": "a", "accounts": "a", "parentname": "a", "par name": "a", "def acct": "a", "allowaccounts": "a",
    "denyaccounts": "a", "groupid": "g", "allowgroups": "g", "group": "g", "groups": "g",
    "jobname": "j", "name": "j",
}  # fmt: skip
# Columns that are left out: texts written by people, and paths.
GONE = ("reason", "comment", "workdir", "stderr", "stdin", "stdout", "command", "mailuser", "extra")
KEPT = ("", "root", "all", "none", "n/a", "(null)", "unknown", "parent")
# The parameters that scheduling depends on; all others of a configuration name hosts, paths and people.
DECISIVE = names_of(GLOBAL, *(one for one in Treatment if one is not Treatment.IGNORED))
OF_CONFIG = re.compile(
    rf"(?:{'|'.join(DECISIVE)}|(?:Priority|Scheduler|Select|Preempt)\w*|MinJobAge)(?:\[\d+\])?\s*=", re.IGNORECASE
)
PATH = re.compile(r"(=\s*)/.*")  # a program's path is hidden; that there is one is kept
OF_SLURM = re.compile(r"(?:None|Priority|Resources|[A-Z][A-Za-z]*Limit\w*|[A-Z]\w+)")
_WORD = re.compile(r"(^|\s)([A-Za-z]+)=(\S*)")


class Disguise:
    """Replaces names in a dump's lines by hashes with a salt that only the site knows."""

    def __init__(self, salt: str) -> None:
        if not salt:
            raise ValueError("anonymise='' must be a salt: some text that only you know.")
        self._key = salt.encode()
        self._known: dict[tuple[str, str], str] = {}

    def name(self, kind: str, text: str) -> str:
        """Return the replacement of a name: the letter `kind` and a hash; "root", "none" and the like stay."""
        if text.strip().lower() in KEPT:
            return text
        found = self._known.get((kind, text))
        if found is None:
            digest = hmac.new(self._key, f"{kind}:{text.strip()}".encode(), hashlib.sha256).hexdigest()
            found = self._known[kind, text] = f"{kind}{digest[:10]}"
        return found

    def lines(self, file: str, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines of a file of the dump with names replaced, and comments and paths left out.

        Of the configuration, only parameters that scheduling depends on are kept.
        """
        if file == CONFIG:
            kept = (one for one in lines if OF_CONFIG.match(one) or one.startswith("Configuration data"))
            yield from (PATH.sub(r"\1/program", one) for one in kept)
            return
        header: list[str] | None = None
        mark = BAR
        for line in lines:
            if header is None and (mark := separator_in(line)) in line:
                header = [name.strip().lower() for name in line.rstrip("\n").split(mark)]
                yield line
            elif header is not None:
                yield self._row(file, header, line, mark)
            else:
                yield self._record(line)

    def _row(self, file: str, header: list[str], line: str, mark: str) -> str:
        # The command line is the last column, and may have bars in it.
        cells = line.rstrip("\n").split(mark, len(header) - 1)
        for k, name in enumerate(header[: len(cells)]):
            text = cells[k]
            if name == "submitline":
                cells[k] = _asked(text)
            elif name == "reason":  # a job's reason is Slurm's own word, a node's is text of an administrator
                known = file in (JOBS, QUEUE) and OF_SLURM.fullmatch(text.strip("()"))
                cells[k] = text if known else ""
            elif name == "state":
                cells[k] = text.partition(" by ")[0]  # CANCELLED by a user's number
            elif name in GONE:
                cells[k] = ""
            elif kind := self._kind(file, name):
                indent = text[: len(text) - len(text.lstrip())]  # shows the depth in the tree of accounts
                cells[k] = indent + ",".join(self.name(kind, one) for one in text.strip().split(","))
        return mark.join(cells) + "\n"

    def _kind(self, file: str, column: str) -> str:
        if column == "name" and not file.startswith("jobs"):
            return ""  # of a QOS or a reservation
        return KINDS.get(column, "")

    def _record(self, line: str) -> str:
        def other(match: re.Match[str]) -> str:
            before, word, text = match.groups()
            small = word.lower()
            if small in GONE:
                return f"{before}{word}="
            if small in KINDS and small != "name":
                names = (f"{self.name(KINDS[small], one.partition('(')[0])}" for one in text.split(","))
                return f"{before}{word}={','.join(names)}"
            return match[0]

        # These texts have blanks in them: they end before the next word with "=", or with the line.
        line = re.sub(r"(^|\s)(Reason|Comment|Extra)=.*?(?=\s[A-Z]\w*=|\s*$)", r"\1\2=", line.rstrip("\n"))
        return _WORD.sub(other, line) + "\n"


def _asked(text: str) -> str:
    """Return a command line with only the options that decide when a job starts; names in them are replaced."""
    if not text.strip():
        return ""
    asked = requests_in(text)
    options = [f"--dependency={asked.dependency}"] * bool(asked.dependency)
    options += [f"--begin={asked.begin}"] * bool(asked.begin)
    options += [f"--array=0-1%{asked.together}"] * bool(asked.together)
    options += [f"--nice={asked.nice}"] * bool(asked.nice)
    options += ["--exclusive"] * asked.exclusive
    options += [f"--licenses={asked.licenses}"] * bool(asked.licenses)
    options += ["--partition=a,b"] * asked.partitions
    options += map(example_of, asked.beyond)
    return " ".join(("sbatch", *options, "job"))
