"""Readers of a trace of 2023 with pods and nodes with GPUs: openb_pod_list.csv and openb_node_list.csv.

Cores are in thousandths, memory is in MiB, and a pod that requests one GPU says how many thousandths of it.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import FederationError, TraceError, shortened
from fedsched.core.text import counted
from fedsched.io.files import read_text, stem_of
from fedsched.io.tables.csv import table_of

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.io.tables.csv import Table
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

PODS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "deletion_time", "scheduled_time")
NODES = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
LABELS = {"name": "name", "qos": "qos", "pod_phase": "pod_phase", "gpu_spec": "features"}
WHOLE = 1000  # thousandths of a GPU
NEVER = -1
LARGEST = 2**53  # beyond it floats cannot represent every second


def read_pods(path: str | PathLike[str]) -> Workload:
    """Return the pods that ran, each as a job of one task that demands cpu, memory and gpu or gpu_share.

    A pod's submit is its creation; it ran from its scheduling to its deletion, and has no estimate. `name`, `qos` and
    `pod_phase` are labels, and the GPUs that `gpu_spec` allows ("V100M16|V100M32") are features.
    """
    from fedsched.model.jobs.workload import Workload

    table = _table(path, PODS)
    number = {name: _numbers(table, name, path) for name in PODS[1:]}
    lasted, scheduled = number["deletion_time"] - number["scheduled_time"], number["scheduled_time"] != NEVER
    gpus, part = number["num_gpu"], number["gpu_milli"]
    shared = (gpus == 1) & (part < WHOLE)
    _refuse(scheduled & (lasted < 0), table, path, "its deletion_time is before its scheduled_time")
    _refuse((gpus > 0) & ((part < 1) | (part > WHOLE)), table, path, f"its gpu_milli must be 1 to {WHOLE}")
    ran = scheduled & (lasted > 0)
    if not ran.any():
        raise TraceError(f"{path}: none of its pods ever ran; there is nothing to replay.")
    labels = {LABELS[name]: np.array(_column(table, name))[ran] for name in table.names if name in LABELS}
    labels = {name: texts for name, texts in labels.items() if (texts != "").any()}
    left = {"never scheduled": ~scheduled, "that ran no second": scheduled & ~ran}
    return Workload(
        submit=number["creation_time"][ran],
        tasks=1,
        runtime=lasted[ran],
        demand={
            "cpu": np.maximum(number["cpu_milli"], 1)[ran],
            "memory": number["memory_mib"][ran],
            "gpu": np.where(shared, 0, gpus)[ran],
            "gpu_share": np.where(shared, part, 0)[ran],
        },
        labels=labels or None,
        id=1 + np.flatnonzero(ran),
        name=stem_of(path),
        history=(
            f"read {Path(path).name}",
            *(f"left out {counted(int(who.sum()), 'pod')} {why}" for why, who in left.items() if who.any()),
        ),
    )


def read_nodes(path: str | PathLike[str]) -> Federation:
    """Return a federation of one cluster with the file's nodes; neighbouring equal nodes are a group.

    Groups have cpu (in thousandths), memory (MiB) and gpu as resources; the GPU's model is a feature.
    """
    from fedsched.model.machine.federation import Cluster, Federation, NodeGroup

    table = _table(path, NODES)
    cores, memory, gpus = (_numbers(table, name, path).tolist() for name in NODES[1:4])
    groups = []
    for (cpu, mib, gpu, model), alike in groupby(zip(cores, memory, gpus, _column(table, "model"), strict=True)):
        if cpu < 1:
            raise FederationError(f"{path}: a node has cpu_milli={cpu}; it must be above 0.")
        resources = (("cpu", cpu), ("memory", mib), *((("gpu", gpu),) if gpu > 0 else ()))
        features = (model,) if model else ()
        groups.append(NodeGroup(sum(1 for _ in alike), name=model, features=features, resources=resources))
    return Federation((Cluster(stem_of(path), tuple(groups)),), name=stem_of(path))


def _table(path: str | PathLike[str], columns: tuple[str, ...]) -> Table:
    table = table_of(read_text(path), path)
    if lacking := [name for name in columns if name not in table.names]:
        raise TraceError(f"{path}: it has no column {lacking[0]!r}; such a trace has {', '.join(columns)}.")
    if not table.rows:
        raise TraceError(f"{path}: it has no line below the line of column names.")
    return table


def _column(table: Table, name: str) -> list[str]:
    at = table.names.index(name)
    return [row[at].strip() for row in table.rows]


def _numbers(table: Table, name: str, path: str | PathLike[str]) -> NDArray[np.int64]:
    values = []
    for line, text in zip(table.lines, _column(table, name), strict=True):
        if not text and name == "scheduled_time":
            values.append(NEVER)
            continue
        try:
            values.append(int(float(text or "0")))
        except (ValueError, OverflowError):
            values.append(NEVER)
        if not 0 <= values[-1] < LARGEST:
            raise TraceError(f"{path}, line {line}: {name}={shortened(repr(text))} must be a number, 0 or above.")
    return np.array(values, dtype=np.int64)


def _refuse(bad: NDArray[np.bool_], table: Table, path: str | PathLike[str], why: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        pod = table.rows[row][table.names.index("name")]
        raise TraceError(f"{path}, line {table.lines[row]}: pod {shortened(pod)}: {why}.")
