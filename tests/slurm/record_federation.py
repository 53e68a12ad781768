"""Records what Slurm's commands tell of a federation of two clusters: the queues that ship as `federation`.

python -m slurm.record_federation FOLDER
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from slurm.federated import federated
from slurm.test_federated import LATER, OURS, submit, until_it_runs
from slurm.test_steering import FACTOR, SETTINGS
from support.beside_slurm import Beside

from fedsched.site.steer import read_queue
from fedsched.site.steer.reading import read_siblings
from fedsched.site.steer.runners import RecordingRunner

KEPT = {
    "jobs": (
        "account", "array_job_id", "array_task_id", "array_task_string", "cluster", "comment", "cpus", "dependency",
        "eligible_time", "excluded_nodes", "features", "federation_origin", "federation_siblings_viable", "het_job_id",
        "job_id", "job_state", "name", "nice", "node_count", "nodes", "partition", "priority", "qos", "required_nodes",
        "resv_name", "start_time", "state_reason", "submit_time", "time_limit", "user_name",
    ),
    "nodes": ("name", "state", "state_flags", "partitions", "cpus", "active_features", "features"),
}  # fmt: skip
SETTING = ("AccountingStorageEnforce", "AccountingStorageType", "ClusterName", "Priority", "Scheduler", "Select")
OWN = {"north": [(6, 60), (4, 30)], "south": [(2, 120), (4, 45)]}  # nodes and minutes
SHARED = [(2, 20, "games"), (4, 30, "lp"), (1, 60, "games"), (2, 45, "lp"), (6, 15, "games"), (1, 10, "lp")]


def main() -> None:
    """Record them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    with (
        tempfile.TemporaryDirectory(prefix="fed-") as scratch,
        federated(Path(scratch) / "s", nodes=(6, 4), settings=SETTINGS, factor=FACTOR) as (north, south),
    ):
        for slurm, jobs in zip((north, south), OWN.values(), strict=True):
            first, *others = (
                submit(slurm, nodes, minutes, f"--clusters={slurm.name}", f"--job-name={slurm.name}")
                for nodes, minutes in jobs
            )
            until_it_runs(north, first)
            assert others
        for k, (nodes, minutes, user) in enumerate(SHARED):
            submit(north, nodes, minutes, LATER, OURS, f"--uid={user}", f"--job-name=job{k}")
        submit(north, 1, 30, LATER, "--uid=lp", "--job-name=its-own-time")
        read_queue(Beside(north))
        read_siblings(RecordingRunner(Beside(north), folder))
    for path in folder.iterdir():
        path.write_text(_shorter(path), encoding="utf-8")


def _shorter(path: Path) -> str:
    """Return what of a file is read, without what tells of the machine."""
    text = path.read_text(encoding="utf-8")
    if path.name.endswith("-json.txt"):
        said = json.loads(text)
        for key, names in KEPT.items():
            if key in said:
                said[key] = [{name: one[name] for name in names if name in one} for one in said[key]]
        return json.dumps(said, indent=1) + "\n"
    if path.name.endswith("-config.txt"):
        lines = text.splitlines()
        return "\n".join([lines[0], *(line for line in lines[1:] if line.startswith(SETTING))]) + "\n"
    return text


if __name__ == "__main__":
    main()
