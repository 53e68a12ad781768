"""A site (a real cluster) as its dump describes it: machine, runs of jobs, accounts and downtimes, each read once."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import FederationError, TwinError
from fedsched.core.text import counted, first_of
from fedsched.io.slurm_files.slurm_conf import SlurmConf, read_slurm_conf
from fedsched.io.slurm_files.slurm_machine import federation_of
from fedsched.model.jobs.assumed import GIVEN_WHOLE, assumed_of, left_out_of
from fedsched.site.twin.calendar import downtimes_of, downtimes_with_nodes, reservations_of
from fedsched.site.twin.commands import ACCOUNTS, JOBS, QOS
from fedsched.site.twin.folder import dump_in
from fedsched.site.twin.records import YEAR, records_of
from fedsched.slurm.conf.parameters import OF_MEMORY, value_or_default
from fedsched.slurm.priority.associations import Association, Associations, Qos

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.downtimes import Downtime
    from fedsched.site.twin.folder import Dump
    from fedsched.site.twin.records import Records


@dataclass(frozen=True, slots=True)
class Machine:
    """The nodes that jobs run on, and the settings by which Slurm allocates them."""

    conf: SlurmConf
    federation: Federation

    @property
    def shared(self) -> bool:
        """Return whether several jobs may share a node."""
        select = value_or_default(self.conf, "SelectType")
        whole = [
            line.words.get("oversubscribe", line.words.get("shared", "")).lower().startswith("exclusive")
            for line in self.conf.partitions.values()
        ]
        return "cons" in select and not all(whole)


def machine_of(dump: Dump, changes: Mapping[str, str] | None = None) -> Machine:
    """Return the machine of a dump; `changes` replace parameters of its configuration, by name in small letters."""
    try:
        conf = read_slurm_conf(dump.folder)
    except FederationError as error:
        raise TwinError(str(error)) from error
    conf = replace(conf, parameters={**conf.parameters, **(changes or {})})
    return Machine(conf, federation_of(conf))


QOS_OF_PARTITIONS = "QOS of "


def accounts_of(dump: Dump, records: Records, cluster: str) -> tuple[Associations | None, list[str]]:
    """Return a dump's accounts (None if it has none), and notes on what was added to them.

    Users, accounts and QOS that jobs name but sacctmgr no longer has are added: users and accounts with one share, QOS
    with priority 0.
    """
    files = [dump.path(file) for file in (ACCOUNTS, QOS) if dump.has(file)]
    if not dump.has(ACCOUNTS):
        return None, []
    known = Associations.read(*files, cluster=cluster)
    members = list(known.members)
    place = {one.account: k for k, one in enumerate(members) if not one.user}
    there = {(one.user, one.account) for one in members if one.user}
    called = np.where(records.labels["user"] == "", records.user.astype(np.str_), records.labels["user"])  # by number
    asked = dict.fromkeys(zip(called.tolist(), records.labels["account"].tolist(), strict=True))
    users, accounts = [], []
    for user, account in asked:
        named = account or known.default_accounts.get(user, "")
        if (user, named) in there:
            continue
        if named not in place:
            place[named] = len(members)
            members.append(Association(named, parent=0))
            accounts.append(named)
        users.append(user)
        there.add((user, named))
        members.append(Association(named, user, parent=place[named]))
    qualities = dict(known.qos)
    strange = [name for name in dict.fromkeys(records.labels["qos"].tolist()) if name and name.lower() not in qualities]
    qualities |= {name.lower(): Qos(name) for name in strange}
    users = list(dict.fromkeys(users))
    said = [f"{counted(len(users), 'user')} that sacctmgr no longer has ({first_of(users)}) with one share each"]
    said = said * bool(users)
    said += [f"{counted(len(accounts), 'account')} likewise ({first_of(accounts)})"] * bool(accounts)
    said += [f"priority 0 of {counted(len(strange), 'QOS', '')} that it no longer has ({first_of(strange)})"] * bool(
        strange
    )
    defaults = dict(known.default_accounts)
    return replace(known, members=tuple(members), qos=qualities, default_accounts=defaults), said


@dataclass(frozen=True, slots=True)
class Site:
    """A real cluster as its dump describes it: its machine, recorded runs, accounts, downtimes and reservations.

    Downtimes and reservations are on the jobs' clock; so is the dump's span, from `begin` to `end`. Its second 0 is
    `zero`. `zero` and `since` are wall-clock times, in seconds from 1970 on.
    """

    dump: Dump
    machine: Machine
    records: Records
    accounts: Associations | None
    down: tuple[Downtime, ...]
    down_named: tuple[Downtime, ...]  # the same, each with the numbers of its nodes
    reserved: tuple[Downtime, ...]
    zero: float
    since: float  # a replay begins here, with the jobs that ran and waited then
    notes: tuple[str, ...]

    @property
    def federation(self) -> Federation:
        """Return the machine that the jobs run on."""
        return self.machine.federation

    @property
    def begin(self) -> float:
        """Return the beginning of the dump's span, in seconds of the jobs' clock."""
        return self.since - self.zero

    @property
    def recorded_from(self) -> float:
        """Return when the first of the jobs waited or ran in the dump's span, in seconds of the jobs' clock."""
        first = np.fmin(self.records.submit, self.records.start).min(initial=np.inf) - self.zero
        return max(self.begin, first) if first < self.end else self.begin

    @property
    def end(self) -> float:
        """Return when the dump was taken, in seconds of the jobs' clock."""
        return self.dump.taken - self.zero

    @property
    def interval(self) -> float:
        """Return the tolerance in seconds within which two starts count as equal: the time between backfill passes."""
        words = self.machine.conf.parameters.get("schedulerparameters", "")
        given = dict(one.strip().partition("=")[::2] for one in words.lower().split(","))
        try:
            return max(1.0, float(given.get("bf_interval", "30")))
        except ValueError:
            return 30.0

    @property
    def limits(self) -> NDArray[np.float64]:
        """Return the time limit of every run in seconds: its own, else its partition's, else a year; at most a year."""
        longest = {one.name: one.max_time for one in self.federation.partitions}
        usual = [longest.get(name, np.inf) for name in self.records.labels["partition"].tolist()]
        own = self.records.limit
        # sacct prints Partition_Limit for a job that names no limit; it is read like UNLIMITED, as a year.
        none = np.isnan(own) | ((own >= YEAR) & ~(self.records.end - self.records.start > usual))
        return np.minimum(np.where(none, usual, own), YEAR)

    def at(self, since: float, until: float) -> Site:
        """Return the site as if its dump began at `since`, with only the jobs that wait or run from then to `until`.

        Both are wall-clock times. The time at which the dump was taken does not change; second 0 of the jobs may.
        """
        records = self.records
        there = (records.submit <= until) & ~(records.end <= since)
        first = np.where(np.isnan(records.start), records.submit, np.minimum(records.submit, records.start))[there]
        zero = float(np.floor(min(first.min(initial=since), since)))
        moved = self.zero - zero
        return replace(
            self,
            records=records.take(np.flatnonzero(there)),
            down=tuple(_moved(one, moved) for one in self.down),
            down_named=tuple(_moved(one, moved) for one in self.down_named),
            reserved=tuple(_moved(one, moved) for one in self.reserved),
            zero=zero,
            since=since,
        )


def _moved(downtime: Downtime, seconds: float) -> Downtime:
    known = downtime.known_from
    return replace(
        downtime,
        begin=downtime.begin + seconds,
        end=downtime.end + seconds,
        known_from=known if known is None or np.isinf(known) else known + seconds,
    )


def read_site(folder: str | PathLike[str] | Dump, changes: Mapping[str, str] | None = None) -> Site:
    """Return the site that the dump in a folder describes; raise if the dump is incomplete or has no jobs.

    Parameters
    ----------
    folder
        The folder that `fedsched twin dump` has written.
    changes
        Parameters that replace those of the configuration, by name in small letters.

    Examples
    --------
    >>> from fedsched.site import twin
    >>> site = twin.read_site(twin.made_dump("dump", jobs=40, nodes=8, seed=1))
    >>> site.federation.nodes
    8
    """
    dump = dump_in(folder)
    machine = machine_of(dump, changes)
    records = records_of(dump, machine.conf.name)
    if dump.since >= dump.taken:
        raise TwinError(f"{dump.folder}: it was made before the earliest time of its jobs (since); dump it again.")
    first = np.where(np.isnan(records.start), records.submit, np.minimum(records.submit, records.start))
    zero = float(np.floor(min(first.min(), dump.since)))
    accounts, added = accounts_of(dump, records, machine.conf.name)
    down, said_of_down = downtimes_of(dump, machine.federation, zero)
    named = downtimes_with_nodes(dump, machine.federation, zero) if down else ()
    reserved, said_of_reserved = reservations_of(dump, machine.federation, zero)
    notes = [f"left out: {note}" for note in records.notes]
    notes += notes_on_jobs(records)
    if left := _unmodelled_of_machine(machine):
        notes.append(f"not modelled of the machine: {', '.join(left)}")
    notes += [f"assumed of the accounts: {', '.join(added)}"] * bool(added)
    notes += [f"of nodes' events: {'; '.join(said_of_down)}"] * bool(said_of_down)
    notes += [f"of reservations: {'; '.join(said_of_reserved)}"] * bool(said_of_reserved)
    if machine.shared:
        given = "nodes that several jobs share are given whole: waits are then longer than recorded ones"
        notes.append(f"{given}; on shared nodes: {_on_shared_nodes(dump, machine.conf)}")
    return Site(dump, machine, records, accounts, down, named, reserved, zero, dump.since, tuple(notes))


def _on_shared_nodes(dump: Dump, conf: SlurmConf) -> str:
    """Return the command that simulates a dump's jobs on shared nodes; under EASY if policy slurm would refuse it."""
    folder = shlex.quote(str(dump.folder))
    words = conf.parameters.get("selecttypeparameters", "").upper().split(",")
    how = f"--federation {folder}/config.txt"
    if not set(words).isdisjoint(OF_MEMORY):
        accounts = "".join(f" --assoc {folder}/{file}" for file in (ACCOUNTS, QOS) if dump.has(file))
        how = f"--policy slurm --conf {folder}{accounts}"
    return f"fedsched simulate {folder}/{JOBS} {how} --sharing block --calendar {folder}"


def notes_on_jobs(records: Records) -> list[str]:
    """Return a list with one note that names the requests of jobs that replays ignore; empty if there are none."""
    return [f"not modelled of the jobs: {'; '.join(records.beyond)}"] if records.beyond else []


def _unmodelled_of_machine(machine: Machine) -> list[str]:
    """Return notes on what the model leaves out of the machine, without what the policy's own notes say."""
    facts = (*left_out_of(machine.federation.partitions), *assumed_of(machine.federation.partitions))
    mine = [one for one in facts if "of Slurm's own scheduler" not in one and not one.endswith(GIVEN_WHOLE)]
    return [one for one in mine if not one.startswith(QOS_OF_PARTITIONS)]


def qos_of_partitions(machine: Machine) -> list[str]:
    """Return notes on partitions with a QOS; Slurm's own policy enforces the limits of these, others do not."""
    return [one for one in left_out_of(machine.federation.partitions) if one.startswith(QOS_OF_PARTITIONS)]


def admitting_all_jobs(federation: Federation) -> Federation:
    """Return the machine with partitions that admit every job, whatever its time limit, size, account or QOS.

    Slurm has already admitted the recorded jobs.
    """
    partitions = tuple(
        replace(one, max_time=float("inf"), default_time=None, min_nodes=1, max_nodes=None, accounts=(), qos=())
        for one in federation.partitions
    )
    return replace(federation, partitions=partitions)


def span_in_words(site: Site) -> str:
    """Return in words how many runs and nodes a dump has, and which days it spans."""
    from fedsched.io.wall_clock import WallTime

    return (
        f"{counted(len(site.records), 'run')} of jobs on {counted(site.federation.nodes, 'node')}, "
        f"{WallTime(site.dump.since)} to {WallTime(site.dump.taken)}"
    )
