"""The twin of a large cluster: a dump of 600,000 jobs on 5,860 nodes, read and replayed."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from measuring import Report, arguments, record

from fedsched.site.twin import made_dump, read_site, replay

JOBS, NODES = 600_000, 5_860  # of a year or so of ARCHER2
ALLOWED = 300.0  # seconds; HPE FastSim takes 7 h 20 min for as many
POLICIES = ("easy", "slurm")


def main() -> None:
    """Print the table."""
    smoke = arguments(__doc__ or "").smoke
    jobs, nodes = (300, 32) if smoke else (JOBS, NODES)
    report = Report(f"a made dump of {jobs:,} jobs on {nodes:,} nodes, seconds of one core")
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        small = made_dump(Path(folder) / "small", jobs=60, nodes=8, policy="easy")
        for policy in POLICIES:
            replay(small, policy)  # compiles
        dump = made_dump(Path(folder) / "dump", jobs=jobs, nodes=nodes, policy="easy")
        size = (dump / "jobs.sacct").stat().st_size
        begun = time.process_time()
        site = read_site(dump)
        read = time.process_time() - begun
        report.row(f"read, {size / 1e6:.0f} MB", read, "s")
        for policy in POLICIES:
            begun = time.process_time()
            found = replay(site, policy)
            took = read + time.process_time() - begun
            what = f"read and replayed under {policy}, {len(site.records):,} runs"
            report.row(what, took, "s", None if smoke else ALLOWED, at_most=True)
            figures[f"{policy}_seconds"] = took
            if policy == "easy":
                report.row("and starts that are those of the dump's own policy", found.share, "", 1.0)
    if not smoke:
        record("bench_twin", figures)


if __name__ == "__main__":
    main()
