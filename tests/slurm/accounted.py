"""A real Slurm that keeps accounts: beside its daemons slurmdbd and a database, in the same folder."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from slurm.cluster import WAYS, SlurmCluster, SlurmError, free_ports

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PROGRAMS = ("slurmdbd", "sacctmgr", "sprio", "sshare", "mariadbd", "mariadb", "mariadb-install-db")
SETTINGS = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge.socket"""
DAEMON = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,ttl=360000
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
MessageTimeout=100
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={storage}
StorageUser=slurm
StoragePass=slurm
StorageLoc=accounts
"""
USERS = (
    "create database accounts; create user slurm@'127.0.0.1' identified by 'slurm'; "
    "grant all on accounts.* to slurm@'127.0.0.1'"
)


def missing() -> list[str]:
    """Return which programs are not here."""
    return [name for name in PROGRAMS if shutil.which(name, path=WAYS) is None]


class AccountedCluster(SlurmCluster):
    """A running Slurm with accounts.

    Parameters
    ----------
    accounts
        The commands of sacctmgr that make them, a line each.
    """

    def __init__(self, folder: Path, *, accounts: Sequence[str], **cluster: object) -> None:
        super().__init__(folder, **cluster)  # type: ignore[arg-type]
        self.accounts = accounts
        self._port, self._storage = free_ports(2)
        self.settings += self.kept_here

    @property
    def kept_here(self) -> str:
        """Return the lines of slurm.conf by which a cluster's accounts are kept here."""
        return SETTINGS.format(port=self._port, folder=self.folder)

    def _begin_accounting(self) -> None:
        self._begin_database()
        dbd = self.folder / "slurmdbd.conf"
        dbd.write_text(
            DAEMON.format(folder=self.folder, port=self._port, storage=self._storage, user=getpass.getuser()),
            encoding="utf-8",
        )
        dbd.chmod(0o600)
        self._start("slurmdbd", "-D")
        self._wait_for("slurmdbd", self._keeps_accounts)
        for command in self.accounts:
            self.tell("sacctmgr", "-i", *command.split())

    def _begin_database(self) -> None:
        """Start a database on the world's clock."""
        away = ("LD_PRELOAD", "FAKETIME")
        own = {name: text for name, text in self._environment.items() if not name.startswith(away)}
        data = self.folder / "data"
        here = ("--no-defaults", f"--datadir={data}", f"--user={getpass.getuser()}")
        made = subprocess.run(
            ("mariadb-install-db", *here, "--auth-root-authentication-method=normal", "--skip-test-db"),
            env=own, capture_output=True, text=True,
        )  # fmt: skip
        if made.returncode:
            raise SlurmError(f"mariadb-install-db: {made.stderr[-500:] or made.stdout[-500:]}")
        door = self.folder / "database.socket"
        self._start_in(
            own, "mariadbd", *here, f"--socket={door}", "--bind-address=127.0.0.1", f"--port={self._storage}",
            "--skip-name-resolve", "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M",
            f"--pid-file={self.folder}/database.pid",
        )  # fmt: skip
        self._wait_for("the database", lambda: door.exists() and os.access(door, os.W_OK))
        ask = ("mariadb", "--no-defaults", "-u", "root", "-S", str(door), "-e", USERS)
        said = subprocess.run(ask, env=own, capture_output=True, text=True)
        if said.returncode:
            raise SlurmError(f"mariadb: {said.stderr}")

    def _keeps_accounts(self) -> bool:
        try:
            self.tell("sacctmgr", "-n", "list", "cluster")
        except SlurmError:
            return False
        return True
