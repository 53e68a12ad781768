"""A real Slurm on this machine: a controller and some node daemons on loopback ports, in a folder of their own."""

from __future__ import annotations

import getpass
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from slurm.faster_clock import FasterClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo", "faketime", "setpriv")
WAYS = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))  # daemons are not in every PATH
PORTS = range(20_000, 32_000)  # below those that outgoing connections are given
COME_UP = 60.0  # seconds of the world in which the daemons must have found each other
ASKED = 4  # times
SOCKET, LONGEST_SOCKET = "{folder}/spool.n{node}/n{node}_999999.4294967295", 107
NEVER = 360_000  # seconds, so that no leave to run a job ends on a busy machine
CALM = 10.0  # and in which they must have ended, once they are asked to

# What has nothing to do with decisions: how daemons find and trust each other, and that nobody is given up on who is
# slow, for on a clock that runs faster everybody is.
MACHINERY = """\
ClusterName={name}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={trust}/munge.socket,ttl=360000,cred_expire={anew}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldDebug=info
SlurmdDebug=error
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SlurmdParameters=config_overrides
ReturnToService=2
MessageTimeout=100
TCPTimeout=100
SlurmdTimeout=0
InactiveLimit=0
BatchStartTimeout=36000
UnkillableStepTimeout=36000
MinJobAge=3600000
"""
DEVICES = ("/dev/null", "/dev/zero")  # that do for GPUs
ONE_JOB = "CPUs=1 RealMemory=1000"
ALL = "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP"


class SlurmError(RuntimeError):
    """What a command of Slurm's refused, or what its daemons failed at."""


class InvalidRun(RuntimeError):
    """A node did not answer in time, or could not begin a job: what was decided then says nothing of decisions."""


def missing() -> list[str]:
    """Return which programs are not here."""
    return [name for name in PROGRAMS if shutil.which(name, path=WAYS) is None]


class SlurmCluster:
    """A running Slurm; whatever happens inside the with statement, all its processes have ended after it.

    Parameters
    ----------
    folder
        Where its files go; it may not hold another one's.
    nodes
        How many, of one job each: n1, n2, ...
    settings
        The lines of slurm.conf that decisions depend on.
    factor
        How many times as fast as the world's its clock runs.
    node
        What a node has, or what each of them has.
    partitions
        The lines of its partitions.
    together
        Neighbours that have the same stand in one line of the conf.
    name
        What the cluster is called.
    beside
        A running one, whose clock and keys it shares.
    anew
        For how many seconds the leave to run a job lasts, and for how many Slurm lets one wait that is begun anew.
    begins
        When its clock does, in seconds since 1970; None: now.
    """

    def __init__(
        self,
        folder: Path,
        *,
        nodes: int,
        settings: str,
        factor: float,
        node: str | list[str] = ONE_JOB,
        partitions: str = ALL,
        together: bool = False,
        name: str = "referee",
        beside: SlurmCluster | None = None,
        anew: int = NEVER,
        begins: float | None = None,
    ) -> None:
        self.folder = folder.resolve()
        if len(os.fsencode(SOCKET.format(folder=self.folder, node=nodes))) > LONGEST_SOCKET:
            raise ValueError(f"folder={folder}: Slurm's sockets in it would have too long names; give a shorter one.")
        self.name = name
        self.beside = beside
        self.anew = anew
        self.nodes = nodes
        self.each = node if isinstance(node, list) else [node] * nodes
        self.partitions = partitions
        self.together = together
        self.settings = settings
        self.clock = FasterClock(factor, begins) if beside is None else beside.clock
        self.slowest = 0.0  # seconds of its clock that the slowest command took
        self._daemons: list[tuple[str, subprocess.Popen[bytes]]] = []

    def __enter__(self) -> SlurmCluster:
        with ExitStack() as undo:
            if self.beside is None:
                undo.enter_context(self.clock)
            self._environment = {
                **self.clock.environment,
                "PATH": WAYS,
                "SLURM_CONF": str(self.folder / "slurm.conf"),
                "SLURM_TIME_FORMAT": "standard",
            }
            undo.callback(self._end)
            self._begin()
            self._ended = undo.pop_all()
        self.slowest = 0.0
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.close()

    def tell(self, *command: str) -> str:
        """Run a command of Slurm's, and return what it printed."""
        began = time.monotonic()
        done = subprocess.run(command, env=self._environment, cwd=self.folder, capture_output=True, text=True)
        self.slowest = max(self.slowest, (time.monotonic() - began) * self.clock.factor)
        if done.returncode:
            raise SlurmError(f"{' '.join(command)}: {done.stderr.strip() or f'it ended with {done.returncode}'}")
        return done.stdout.strip()

    def ask(self, *command: str) -> str:
        """Run a command that changes nothing, again where it fails: on a busy machine some do."""
        for _ in range(ASKED):
            try:
                return self.tell(*command)
            except SlurmError:
                time.sleep(0.2)
        return self.tell(*command)

    def complaints(self) -> list[str]:
        """Return what the logs say of nodes that failed and of jobs that were begun anew: such a run says nothing."""
        lines = (self.folder / "slurmctld.log").read_text(encoding="utf-8", errors="replace").splitlines()
        marks = ("not responding", "Nodes down", "Requeue", "requeue", "Communication connection failure", "node_fail")
        return [line for line in lines if any(mark in line for mark in marks)]

    def check(self) -> None:
        """Refuse a run of which there is something to complain: whoever was begun anew may be held for good."""
        if said := self.complaints():
            raise InvalidRun(said[0])

    def processes(self) -> list[int]:
        """Return the ids of the processes that were started with this cluster's own configuration."""
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        found = []
        for place in Path("/proc").iterdir():
            try:
                if place.name.isdigit() and mark in (place / "environ").read_bytes().split(b"\0"):
                    found.append(int(place.name))
            except OSError:  # it has ended, or is somebody else's
                continue
        return found

    def _begin(self) -> None:
        for name in ("state", *(f"spool.n{k}" for k in range(1, self.nodes + 1))):
            (self.folder / name).mkdir(parents=True)
        self.folder.chmod(0o755)  # jobs of other users run in it
        self._write_files()
        if self.beside is None:
            self._begin_trust()
        self._begin_accounting()
        self._start("slurmctld", "-D", "-c")
        for k in range(1, self.nodes + 1):
            self._start("slurmd", "-D", "-N", f"n{k}")
        self._wait_for("all nodes", self._all_idle)

    def _begin_trust(self) -> None:
        """Start munge, by which daemons know each other, on the world's clock.

        It hangs up on whoever takes two seconds to say what he wants, which ends him by SIGPIPE; on a clock that runs
        faster these were a tenth of one. Credentials are as old as it says itself, so nobody sees which clock it has.
        """
        files = {"key-file": "key", "pid-file": "pid", "seed-file": "seed", "log-file": "log", "socket": "socket"}
        munge = [f"--{option}={self.folder}/munge.{name}" for option, name in files.items()]
        self._start_in({**os.environ, "PATH": WAYS}, "munged", "--foreground", "--force", "--num-threads=10", *munge)
        self._wait_for("munge's socket", (self.folder / "munge.socket").exists)

    def _begin_accounting(self) -> None:
        """Start what keeps accounts; here nobody does."""

    def _write_files(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        host = socket.gethostname().partition(".")[0]
        first, *others = free_ports(self.nodes + 1)
        trust = (self.beside or self).folder
        machinery = MACHINERY.format(
            name=self.name, host=host, port=first, user=getpass.getuser(), folder=self.folder, trust=trust,
            anew=self.anew,
        )
        lines = [machinery, self.settings]
        for first, last in self._lines():
            ports = ",".join(map(str, others[first - 1 : last]))
            name, port = (f"n[{first}-{last}]", f"[{ports}]") if last > first else (f"n{first}", ports)
            lines.append(
                f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} {self.each[first - 1]}"
            )
        lines.append(f"{self.partitions}\n")
        (self.folder / "slurm.conf").write_text("\n".join(lines), encoding="utf-8")
        (self.folder / "gres.conf").write_text("\n".join([*self._devices(), ""]), encoding="utf-8")
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n", encoding="utf-8")

    def _devices(self) -> Iterator[str]:
        """Give the lines of gres.conf: what stands for each node's GPUs."""
        for k, node in enumerate(self.each, start=1):
            if found := re.search(r"Gres=gpu:(\d+)", node):
                yield from (f"NodeName=n{k} Name=gpu File={DEVICES[number]}" for number in range(int(found[1])))

    def _lines(self) -> list[tuple[int, int]]:
        """Return the first and the last node of each line of the conf: each has its own, or those alike share one."""
        found: list[tuple[int, int]] = []
        for k, node in enumerate(self.each, start=1):
            if self.together and found and self.each[k - 2] == node:
                found[-1] = found[-1][0], k
            else:
                found.append((k, k))
        return found

    def _start(self, *command: str) -> None:
        self._start_in(self._environment, *command)

    def _start_in(self, environment: dict[str, str], *command: str) -> None:
        with (self.folder / "said").open("ab") as said:
            # They end with this process, even where it is killed.
            running = subprocess.Popen(
                ("setpriv", "--pdeathsig", "TERM", *command), env=environment, cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
            )  # fmt: skip
        self._daemons.append((command[0], running))

    def _wait_for(self, what: str, arrived: object) -> None:
        until = time.monotonic() + COME_UP
        while not arrived():  # type: ignore[operator]
            gone = [name for name, running in self._daemons if running.poll() is not None]
            if gone or time.monotonic() > until:
                said = (self.folder / "said").read_text(encoding="utf-8", errors="replace").strip()
                raise SlurmError(f"waited for {what}; ended: {', '.join(gone) or 'nobody'}: {said[-1000:]}")
            time.sleep(0.1)

    def _all_idle(self) -> bool:
        try:
            idle = self.tell("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split()  # once in each partition
            return len(set(idle)) == self.nodes
        except SlurmError:
            return False

    def _end(self) -> None:
        for _, running in reversed(self._daemons):
            if running.poll() is None:
                running.terminate()
        until = time.monotonic() + CALM
        for _, running in self._daemons:
            try:
                running.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()
        until = time.monotonic() + CALM
        while (left := self.processes()) and time.monotonic() < until:
            for process in left:  # jobs, and who looks after them: those leave the daemons that began them
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.05)  # they may take a moment, or have begun another


def free_ports(how_many: int) -> list[int]:
    """Return ports of the loopback that nobody listens on."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == how_many:
            return found
    raise SlurmError(f"no {how_many} free ports on 127.0.0.1")
