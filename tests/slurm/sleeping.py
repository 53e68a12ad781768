"""A real Slurm that switches idle nodes off: its programs only log, and node daemons end and begin as nodes would."""

from __future__ import annotations

import calendar
import math
import re
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from slurm.cluster import SlurmCluster

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

LOOK = 0.02  # seconds of the world between two looks at what the programs were called for
# What Slurm tells of the switches, and the programs it calls; the last of two lines about the same counts.
PROGRAMS = """
SlurmctldDebug=verbose
DebugFlags=Power
SuspendProgram={folder}/suspend
ResumeProgram={folder}/resume"""
LOGS = """#!/bin/sh
echo "${{0##*/}} $1" >> {folder}/switched
"""
TOLD = {
    "off": re.compile(r"\[(\S+?)\.\d+\] POWER: power_save: pid \d+ suspending nodes (\S+)"),
    "boot": re.compile(r"\[(\S+?)\.\d+\] POWER: power_save: pid \d+ waking nodes (\S+)"),
    "on": re.compile(r"\[(\S+?)\.\d+\] Node (\S+) now responding"),
}


class Switch(NamedTuple):
    """That a node began to go off, or to boot, or was on again, in seconds since the day began."""

    time: float
    what: str
    node: str


class SleepingCluster(SlurmCluster):
    """A Slurm whose nodes go off and boot: so long after its ResumeProgram was called for a node that is there."""

    boot = 40.0

    def _write_files(self) -> None:
        self.settings += PROGRAMS.format(folder=self.folder)
        super()._write_files()
        for name in ("suspend", "resume"):
            program = self.folder / name
            program.write_text(LOGS.format(folder=self.folder), encoding="utf-8")
            program.chmod(0o755)
        (self.folder / "switched").touch()

    def _begin(self) -> None:
        super()._begin()
        self._over = threading.Event()
        self._nodes = threading.Thread(target=self._switch)
        self._nodes.start()

    def _end(self) -> None:
        if hasattr(self, "_nodes"):
            self._over.set()
            self._nodes.join()
        super()._end()

    def _switch(self) -> None:
        done = 0
        booting: list[tuple[float, str]] = []
        while not self._over.wait(LOOK):
            lines = (self.folder / "switched").read_text(encoding="utf-8").split("\n")[:-1]
            for line in lines[done:]:
                what, _, nodes = line.partition(" ")
                for node in named(nodes):
                    if what == "suspend":
                        self._daemon(node).terminate()
                    else:
                        booting.append((self.clock.now() + self.boot, node))
            done = len(lines)
            while booting and booting[0][0] <= self.clock.now():
                _, node = booting.pop(0)
                self._daemon(node).wait()
                self._start("slurmd", "-D", "-b", "-N", node)

    def _daemon(self, node: str) -> subprocess.Popen[bytes]:
        return [one for _, one in self._daemons if list(one.args)[-2:] == ["-N", node]][-1]  # type: ignore[arg-type]


def named(nodes: str) -> list[str]:
    """Return the names that a short form stands for: n[1-3,5]."""
    found = []
    for part in re.sub(r"[n\[\]]", "", nodes).split(","):
        first, _, last = part.partition("-")
        found += [f"n{k}" for k in range(int(first), int(last or first) + 1)]
    return found


class Listener:
    """What goes on beside a day: when it is over, waits until all nodes may be off, and keeps their switches."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.switches: list[Switch] = []

    @contextmanager
    def __call__(self, slurm: SlurmCluster, begin: float, numbers: dict[str, str]) -> Iterator[None]:
        """Listen to a day that begins then."""
        yield
        slurm.clock.sleep_until(slurm.clock.now() + self.patience)
        log = (slurm.folder / "slurmctld.log").read_text(encoding="utf-8", errors="replace")
        found = [
            Switch(calendar.timegm(time.strptime(when, "%Y-%m-%dT%H:%M:%S")) - begin, what, node)
            for what, pattern in TOLD.items()
            for when, nodes in pattern.findall(log)
            for node in named(nodes)
        ]
        booted = {one.node: [b.time for b in found if b.what == "boot" and b.node == one.node] for one in found}
        self.switches = sorted(  # as they came up before the day all told that they are on, too
            one for one in found if one.what != "on" or min(booted[one.node], default=math.inf) <= one.time
        )
