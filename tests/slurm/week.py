"""UB's published week by Slurm's own scheduler: who waits how long, by QOS and by account."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fedsched as fs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

WEEK = Path(__file__).resolve().parents[3] / "shared" / "slurm" / "ub-medium"
COMPLETING = 1  # seconds
SHOWN = 10  # accounts


def read_week() -> tuple[fs.Workload, fs.Federation, fs.policies.Slurm]:
    """Return the jobs, the machine and its scheduler."""
    policy = fs.policies.Slurm(WEEK / "slurm.conf", assoc=WEEK / "sacctmgr.script", completing=COMPLETING)
    return fs.read(WEEK / "workload_week.events.gz"), fs.read_federation(WEEK / "slurm.conf"), policy


def account_of(jobs: fs.Workload, policy: fs.policies.Slurm) -> NDArray[np.str_]:
    """Return the account of each job: it says none, so that it is its user's."""
    accounts = policy.assoc
    assert accounts is not None
    of = {user: accounts.members[accounts.place(user)].account for user in set(jobs.label("user").tolist())}
    return np.array([of[user] for user in jobs.label("user").tolist()])


def lines(wait: NDArray[np.float64], kind: NDArray[np.str_], *, most: int) -> Iterator[str]:
    """Give a line for each kind of job, those that have the most jobs first."""
    names, jobs = np.unique(kind, return_counts=True)
    for k in np.argsort(-jobs, kind="stable")[:most].tolist():
        mine = wait[kind == names[k]]
        yield f"| {names[k]} | {jobs[k]:,} | {mine.mean():,.0f} s | {np.median(mine):,.0f} s | {mine.max():,.0f} s |"


def main() -> None:
    """Print the tables."""
    jobs, machine, policy = read_week()
    fs.simulate(jobs.head(10), machine, policy, sharing="block")
    begun = time.process_time()
    schedule = fs.simulate(jobs, machine, policy, sharing="block")
    print(f"{len(jobs):,} jobs in {time.process_time() - begun:.1f} s")
    schedule.verify()
    wait = schedule.start - jobs.submit
    for what, kind, most in (("QOS", jobs.label("qos"), len(jobs)), ("account", account_of(jobs, policy), SHOWN)):
        print(f"| {what} | jobs | mean wait | median | longest |\n|---|---|---|---|---|")
        print("\n".join(lines(wait, kind.astype(np.str_), most=most)))


if __name__ == "__main__":
    main()
