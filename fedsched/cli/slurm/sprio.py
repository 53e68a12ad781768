"""`fedsched sprio`: print the terms that add up to the priorities of Slurm's pending jobs."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import check_input, print_json, print_table, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.slurm.priority.sprio import Weighed

SAMPLE = "sample"
COLUMNS = ("JOBID", "PARTITION", "USER", "PRIORITY", "SITE", "AGE", "ASSOC", "FAIRSHARE", "JOBSIZE", "PARTITION", "QOS",
           "NICE", "TRES")  # fmt: skip


FIRST = ("--conf", "--assoc", "--shares", "--at", "--json")  # in the short help


def command(
    queue: Path,
    /,
    *,
    conf: options.SlurmConf = None,
    slurm_version: options.SlurmVersion = None,
    assoc: options.SlurmAccounts = (),
    shares: Path | None = None,
    at: str | None = None,
    json: options.Json = False,
) -> int:
    """Print the terms that add up to the priorities of Slurm's pending jobs, as `sprio -l` does.

    Parameters
    ----------
    queue
        A file with the output of `scontrol -o show job`. Or `sample`, a shipped queue with all files of its cluster.
    shares
        The output of `sshare -a -l -P`, with the usage of each user. Default: no usage.
    at
        When Slurm last computed priorities, as 2027-01-12T08:00:00. Default: the time that fits most priorities.

    Examples
    --------
    fedsched sprio sample
    fedsched sprio sample --at 2026-11-23T23:32:48 --json
    """
    from fedsched.core.errors import TraceError
    from fedsched.io.slurm_files.accounts import read_usage
    from fedsched.io.slurm_files.slurm_conf import read_slurm_conf
    from fedsched.io.slurm_files.slurm_records import dump_of
    from fedsched.io.wall_clock import WallTime, wall_time_of
    from fedsched.slurm.conf.parameters import with_version
    from fedsched.slurm.priority.associations import Associations
    from fedsched.slurm.priority.priority_parameters import PriorityParameters
    from fedsched.slurm.priority.sprio import notes_of, weigh
    from fedsched.slurm.result.queue_dump import read_queue

    if str(queue) == SAMPLE and not queue.exists():
        queue, conf, assoc, shares = _shipped(conf, assoc, shares)
    if conf is None or not assoc:
        raise TraceError("sprio needs --conf, the slurm.conf, and --assoc, sacctmgr's output on accounts and QOS.")
    for path in (queue, *([] if dump_of(conf) else [conf]), *assoc, *([shares] if shares else [])):
        check_input(path)
    moment = None if at is None else wall_time_of(at)
    if at is not None and (moment is None or moment.seconds != moment.seconds):
        raise TraceError(f"--at={at} must be a time like 2027-01-12T08:00:00.")
    slurm_conf = with_version(read_slurm_conf(conf), slurm_version)
    parameters = PriorityParameters.of(slurm_conf)
    associations = Associations.read(*assoc, cluster=slurm_conf.parameters.get("clustername", ""))
    jobs = read_queue(queue)
    found, when = weigh(
        parameters, associations, read_usage(shares) if shares else {}, jobs, None if moment is None else moment.seconds
    )
    same = sum(one.told == one.priority for one in found)
    notes = list(notes_of(parameters, associations, jobs, used=shares is not None))
    if json:
        print_json({"at": f"{WallTime(when)}" if found else None, "same": same, "notes": notes,
                    "jobs": [_told(one) for one in found]})  # fmt: skip
        return 0
    print_table(f"priorities of {WallTime(when)}" if found else "no job waits", COLUMNS, [_cells(one) for one in found],
                align="rlrrrrrrrrrrl")  # fmt: skip
    say(f"{same} of {len(found)} priorities equal those in the queue's dump.")
    for note in notes:
        say(note)
    return 0


def _shipped(
    conf: Path | None, assoc: Sequence[Path], shares: Path | None
) -> tuple[Path, Path, tuple[Path, ...], Path]:
    """Return the shipped queue with its slurm.conf, accounts and shares; given files replace all but the queue."""
    from fedsched.io.examples import slurm_files

    there = slurm_files()
    accounts = (there["accounts.cfg"], there["qos.txt"])
    return there["jobs.txt"], conf or there["slurm.conf"], tuple(assoc) or accounts, shares or there["shares.txt"]


def _cells(one: Weighed) -> list[str]:
    factors = (one.age, one.assoc, one.fairshare, one.size, one.of_partition, one.qos)
    tres = ",".join(f"{name}={value:.0f}" for name, value in one.tres.items() if value)
    return [one.job, one.partition, one.user, str(one.priority), str(one.site), *(f"{value:.0f}" for value in factors),
            str(one.nice), tres]  # fmt: skip


def _told(one: Weighed) -> dict[str, object]:
    return {
        "job": one.job, "partition": one.partition, "user": one.user, "priority": one.priority, "told": one.told,
        "site": one.site, "age": one.age, "assoc": one.assoc, "fairshare": one.fairshare, "jobsize": one.size,
        "partition_factor": one.of_partition, "qos": one.qos, "nice": one.nice, "tres": dict(one.tres),
    }  # fmt: skip
