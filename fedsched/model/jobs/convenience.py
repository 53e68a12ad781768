"""The methods of `Workload` that read and write files, convert tables and call generators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fedsched.core.moved import Renamed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    from numpy.typing import ArrayLike

    from fedsched.model.jobs.job import Job
    from fedsched.model.jobs.workload import Workload


class WorkloadConvenience:
    """Base class of `Workload` with the methods that read and write files, convert tables and call generators."""

    __slots__ = ()

    def with_communication(
        self: Workload,
        *,
        bandwidth: float | str,
        compute_fraction: float | tuple[float, float] = (0.5, 1.0),
        spread: float = 4.0,
        seed: int = 0,
    ) -> Workload:
        """Return the jobs with drawn compute fractions and task bandwidths: see `generate.communication`.

        Parameters
        ----------
        bandwidth, compute_fraction, spread, seed
            As of `generate.communication`.
        """
        from fedsched.generate.communication import communication

        return communication(self, bandwidth=bandwidth, compute_fraction=compute_fraction, spread=spread, seed=seed)

    def with_estimates(
        self: Workload,
        model: Literal["exact", "factor", "tsafrir"],
        *,
        factor: float | tuple[float, float] = 2.0,
        maximum: float | None = None,
        seed: int = 0,
    ) -> Workload:
        """Return the jobs with requested times replaced by those of a model: see `generate.estimates`.

        Parameters
        ----------
        model, factor, maximum, seed
            As of `generate.estimates`.

        Examples
        --------
        >>> exact = fs.read("sample").with_estimates("exact")
        >>> bool((exact.estimate == exact.runtime).all())
        True
        """
        from fedsched.generate.estimates import estimates

        return estimates(self, model, factor=factor, maximum=maximum, seed=seed)

    @classmethod
    def from_jobs(cls, jobs: Iterable[Job], *, name: str = "workload", nodes: int = 0) -> Workload:
        """Return the workload of these jobs; its sites are those that the jobs name, in order of appearance.

        Parameters
        ----------
        jobs
            The jobs.
        name, nodes
            The workload's name, and the number of nodes of its machine (0 = unknown).

        Examples
        --------
        >>> fs.Workload.from_jobs([fs.Job(id=1, submit=0, tasks=4, runtime=600, estimate=900)], name="one").name
        'one'
        """
        from fedsched.io.tables.frame import workload_of_rows

        return workload_of_rows(list(jobs), name=name, nodes=nodes)

    @staticmethod
    def merge(*workloads: Workload, sites: Sequence[str] | None = None, name: str = "merged") -> Workload:
        """Return the jobs of several logs as one workload, sorted by submit and renumbered.

        Each log becomes a site. Users of different logs stay different users.

        Parameters
        ----------
        workloads
            The logs.
        sites
            The name of each log's site; None: the names of the logs.
        name
            The name of the merged workload.

        Examples
        --------
        >>> log = fs.read("sample").head(50)
        >>> both = fs.Workload.merge(log, log, sites=["north", "south"])
        >>> len(both), both.sites
        (100, ('north', 'south'))
        """
        from fedsched.generate.merge import merged

        return merged(workloads, sites=sites, name=name)

    @classmethod
    def read(cls, path: str | Path, *, format: str | None = None) -> Workload:
        """Return the workload in a file; the suffix tells the format unless `format` does.

        Parameters
        ----------
        path, format
            As of `fedsched.read`.
        """
        from fedsched.io import read

        return read(path, format=format)

    def write(self: Workload, path: str | Path, *, format: str | None = None) -> None:
        """Write the workload to a file; the suffix tells the format unless `format` does.

        Parameters
        ----------
        path, format
            As of `fedsched.write`.
        """
        from fedsched.io import write

        write(self, path, format=format)

    @classmethod
    def example(cls, name: str = "sample") -> Workload:
        """Return the workload of this name that ships with the package: `sample`, or a small teaching example."""
        from fedsched.io import read_example

        return read_example(name)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame | Mapping[str, ArrayLike], *, name: str | None = None, nodes: int | None = None
    ) -> Workload:
        """Return the workload in a table with the columns that `to_frame` returns; submit, tasks and runtime suffice.

        Parameters
        ----------
        frame
            The table, one row per job: a DataFrame, or a dict of columns.
        name, nodes
            The workload's name, and the number of nodes of its machine; None: those that `to_frame` wrote down.
        """
        from fedsched.io.tables.frame import workload_of_frame

        return workload_of_frame(frame, name=name, nodes=nodes)

    def to_frame(self: Workload) -> Any:
        """Return a pandas table with one row per job; a dict of columns if pandas is not installed.

        Sites are given by name, and the columns that only a log has as `log.*`.
        """
        from fedsched.io.tables.frame import frame_of_workload

        return frame_of_workload(self)

    from_pandas = Renamed("from_frame")
    to_pandas = Renamed("to_frame")
