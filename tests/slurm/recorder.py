"""Plays a scripted day on a real Slurm, and records what becomes of it."""

from __future__ import annotations

import calendar
import re
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from slurm.accounted import AccountedCluster
from slurm.cluster import ALL, InvalidRun, SlurmCluster
from slurm.record_priorities import last_tick
from slurm.recording import Job, Maintenance, Recording
from slurm.script import MINUTE, Cancel, Day, Reserve, Submit

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    # What goes on beside a day: given the cluster, when the day begins, and Slurm's numbers of jobs as they come.
    Beside = Callable[[SlurmCluster, float, dict[str, str]], AbstractContextManager[object]]

LEAD = 5.0  # seconds of Slurm's clock between its coming up and the day's begin
COMES_UP = 40 * MINUTE  # between the begin of its clock and that of a day that begins at a certain time
QUIET = 4 * MINUTE  # how long nobody runs before those who still wait are taken to wait for ever
BUSY = 20.0  # seconds of Slurm's clock for one command, above which a day's starts say little
LOOK = 0.3  # seconds of the world between two looks
HOPELESS = ("Dependency", "PartitionTimeLimit", "PartitionNodeLimit", "Job's account not", "Job's QOS not")  # as begins
# Slurm's schedulers, with clocks that tick often: first come, first served; jobs that are started by the main scheduler
# and backfilled between its passes, as usual; and backfilling alone, the main scheduler being off.
SCHEDULERS = {
    "builtin": ("builtin", "sched_interval=10"),
    "backfill": ("backfill", "sched_interval=10,bf_interval=10,bf_resolution=1"),
    "alone": ("backfill", "sched_interval=-1,bf_interval=10,bf_resolution=1"),
}
SETTINGS = """\
SchedulerType=sched/{}
SchedulerParameters=batch_sched_delay=1,{}
PriorityType=priority/basic
SelectType=select/linear
KillWait=5
OverTimeLimit=0
EpilogMsgTime=0"""


def settings_of(scheduler: str) -> str:
    """Return the lines of slurm.conf that decisions depend on."""
    return SETTINGS.format(*SCHEDULERS[scheduler])


def record(
    day: Day,
    folder: Path,
    *,
    settings: str,
    factor: float,
    command: str = "",
    beside: Beside = lambda *_: nullcontext(),
    cluster: type[SlurmCluster] = SlurmCluster,
    partitions: str = "",
    each: tuple[str, ...] = (),
    accounts: tuple[str, ...] = (),
    begins: int = 0,
) -> Recording:
    """Play a day on a Slurm of its own in a folder, with these lines of slurm.conf, and something beside it."""
    made: dict[str, object] = {"nodes": day.nodes, "settings": settings, "factor": factor}
    made |= {"partitions": partitions or ALL} | ({"node": list(each)} if each else {})
    made |= {"begins": begins - COMES_UP} if begins else {}
    slurm = AccountedCluster(folder, accounts=accounts, **made) if accounts else cluster(folder, **made)  # type: ignore
    with slurm:
        begin = float(max(begins, int(slurm.clock.now() + LEAD)))
        if 0 < begins < begin:
            raise InvalidRun(f"the day was to begin {begin - begins:.0f} s before")
        slurm.clock.sleep_until(begin - LEAD)
        numbers: dict[str, str] = {}
        with beside(slurm, begin, numbers):
            _play(day, slurm, begin, numbers)
            _wait_for_the_end(slurm)
        jobs = [dict(_FIELD.findall(line)) for line in slurm.ask("scontrol", "-o", "show", "job").splitlines()]
        slurm.check()
        if slurm.slowest > BUSY:
            raise InvalidRun(f"a command took {slurm.slowest:.0f} s of Slurm's clock")
        return Recording(
            command=command,
            version=slurm.ask("slurmctld", "-V"),
            nodes=day.nodes,
            factor=factor,
            settings=settings,
            slowest_command=round(slurm.slowest, 1),
            maintenance=tuple(
                _maintenance(slurm, one, begin, numbers) for one in day.events if isinstance(one, Reserve)
            ),
            jobs=tuple(sorted(_jobs(day, jobs, numbers, begin), key=lambda job: (job.job, job.task or 0))),
            partitions=partitions,
            each=each,
            accounts=accounts,
            epoch=int(begin),
            tick=last_tick(slurm) - int(begin) if last_tick(slurm) else None,
        )


_FIELD = re.compile(r"(\S+?)=(\S*)")


def _play(day: Day, slurm: SlurmCluster, begin: float, numbers: dict[str, str]) -> None:
    """Do all in turn, and note Slurm's numbers of jobs, and the moments at which reservations were made, by keys."""
    for event in sorted(day.events, key=lambda event: event.at):
        slurm.clock.sleep_until(begin + event.at)
        said = slurm.tell(*event.command(numbers))
        if isinstance(event, Submit):
            numbers[event.key] = said.partition(";")[0]
        elif isinstance(event, Reserve):
            numbers[event.key] = str(round(slurm.clock.now() - begin, 1))
        else:
            assert isinstance(event, Cancel)


def _wait_for_the_end(slurm: SlurmCluster) -> None:
    """Wait until nobody runs, and nobody waits but those who have waited long for jobs that will not do."""
    quiet_since = slurm.clock.now()
    while True:
        slurm.check()
        waiting = slurm.ask("squeue", "-h", "-o", "%r").splitlines()
        if not waiting:
            return
        if not all(reason.startswith(HOPELESS) for reason in waiting):
            quiet_since = slurm.clock.now()
        elif slurm.clock.now() - quiet_since > QUIET:
            return
        time.sleep(LOOK)


def _jobs(day: Day, told: list[dict[str, str]], numbers: dict[str, str], begin: float) -> list[Job]:
    scripted = {int(numbers[one.key]): one for one in day.events if isinstance(one, Submit)}
    found = []
    for job in told:
        number = int(job.get("ArrayJobId", job["JobId"]))
        asked = scripted[number]
        submit = _moment(job["SubmitTime"], begin)
        assert submit is not None
        ran = job["NodeList"] not in ("", "(null)")
        if int(job["Restarts"]):
            raise InvalidRun(f"job {number} was begun anew")
        found.append(
            Job(
                key=asked.key,
                job=number,
                task=int(job["ArrayTaskId"]) if "ArrayTaskId" in job else None,
                name=job["JobName"],
                nodes=asked.nodes,
                limit=asked.minutes * MINUTE,
                submit=submit,
                begin=None if asked.begin is None else submit + asked.begin,
                after=asked.after.format(**numbers),
                at_once=int(asked.array.partition("%")[2] or 0) or None,
                eligible=_moment(job["EligibleTime"], begin),
                start=_moment(job["StartTime"], begin) if ran else None,
                end=_moment(job["EndTime"], begin) if ran else None,
                state=job["JobState"],
                reason=job["Reason"],
                waits_for=job["Dependency"].replace("(null)", ""),
                started_by=job.get("Scheduler", "") if ran else "",
                on=job["NodeList"].replace("(null)", ""),
                reservation=asked.reservation,
                user=asked.user,
                partition=asked.partition,
                account=asked.account,
                qos=asked.qos,
                features=asked.features,
                cores=asked.cores or None,
                memory=asked.memory or None,
                gpus=asked.gpus or None,
            )
        )
    return found


def _maintenance(slurm: SlurmCluster, asked: Reserve, begin: float, numbers: dict[str, str]) -> Maintenance:
    """Return what Slurm says of a reservation; one that is over it has forgotten: then what was asked for."""
    said = float(numbers[asked.key])
    from_ = said + asked.begin - asked.at
    log = (slurm.folder / "slurmctld.log").read_text(encoding="utf-8", errors="replace")
    told = r"reservation=(\S+) users=\S+ .*?nodes=(\S+) .*?start=(\S+) end=(\S+)"
    for name, on, since, until in re.findall(told, log):
        if name == asked.key:
            times = (_moment(since, begin) or 0.0, _moment(until, begin) or 0.0)
            return Maintenance(asked.key, said, *times, on, asked.user)
    return Maintenance(asked.key, said, from_, from_ + asked.minutes * MINUTE, asked.nodes, asked.user)


def _moment(text: str, begin: float) -> float | None:
    if text in ("Unknown", "N/A", "(null)"):
        return None
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S")) - begin
