"""Dependencies and earliest begins of Slurm's jobs as columns of a workload, and those that are not modelled."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.io.slurm_files.sacct_begin import begin_of
from fedsched.io.slurm_files.sacct_conditions import Jobs, conditions_on
from fedsched.io.slurm_files.sacct_json import BAR
from fedsched.io.slurm_files.sacct_texts import PREFIX
from fedsched.model.jobs.log import Demand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fedsched.io.slurm_files.sacct_texts import Texts

    Column = NDArray[np.float64]

_OF_AN_ARRAY = re.compile(r"(\d{1,15})_(\d{1,9})", re.ASCII)


class Waits(NamedTuple):
    """What the jobs of a dump wait for besides nodes; None if no job does."""

    after: NDArray[Any] | None  # dependencies, written as in a workload
    begin: Column | None  # seconds since 1970
    lacking: NDArray[np.int64]  # `Demand` bits of what is not modelled
    why: NDArray[np.bool_]  # jobs that these conditions may hold beyond their submit


def arrays_of(texts: list[str] | None, jobs: int) -> dict[str, Column]:
    """Return the number of each job's array and its task number, from a JobID like 17_3; -1 if it is in no array."""
    array, task = np.full(jobs, -1.0), np.full(jobs, -1.0)
    if texts is not None and "_" in "".join(texts):
        for k, text in enumerate(texts):
            if "_" in text and (match := _OF_AN_ARRAY.fullmatch(text)):
                array[k], task[k] = float(match[1]), float(match[2])
    return {"array": array, "task": task}


def waits_of(read: Mapping[str, Column], texts: Texts, *, ids: Column, names_known: bool, local: bool) -> Waits:
    """Return what the jobs wait for besides nodes.

    Parameters
    ----------
    read, texts
        The numeric columns of the dump, and the texts that their codes stand for.
    ids
        The jobs' ids in the workload.
    names_known
        Whether the dump has job names; a singleton dependency needs them, and users.
    local
        Whether times are local times.
    """
    jobs = len(ids)
    lacking, why = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.bool_)
    if PREFIX + "dependency" not in read:
        return Waits(None, None, lacking, why)
    dependency, begin = (read[PREFIX + name].astype(np.int64) for name in ("dependency", "begin"))
    known = Jobs(
        id=ids,
        raw=read["id"],
        master=np.where(read["task"] >= 0, read["array"], read["id"]),
        task=read["task"],
        cluster=read.get("cluster", np.zeros(jobs)),
        submit=read["submit"],
        status=read.get("state", np.full(jobs, -1.0)),
    )
    after, told = None, np.flatnonzero(dependency)
    if told.size:
        words = texts.texts("dependency")
        said, missing = conditions_on(
            known,
            told,
            [words[code].replace(BAR, "|") for code in dependency[told].tolist()],
            names_known=names_known and "user" in read,
        )
        for row, bits in missing.items():
            lacking[row] |= bits
        if said:
            after = np.full(jobs, "", dtype=object)
            after[list(said)] = list(said.values())
            why[list(said)] = True
    starts, told = None, np.flatnonzero(begin)
    if told.size:
        words = texts.texts("begin")
        first = known.first_submits(told).tolist()
        times = [begin_of(words[code], at, local=local) for code, at in zip(begin[told].tolist(), first, strict=True)]
        starts = np.zeros(jobs)
        starts[told] = np.nan_to_num(times, nan=0.0)
        lacking[told[np.isnan(times)]] |= Demand.BEGIN
        why |= starts > read["submit"]
    return Waits(after, starts, lacking, why)
