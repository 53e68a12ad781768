"""A real Slurm, brought up here: a short day on it now, and that nothing of it is left over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from slurm.busy import played
from slurm.cluster import SlurmCluster, SlurmError
from slurm.days import short
from slurm.recorder import record, settings_of
from slurm.replay import compare

if TYPE_CHECKING:
    from pathlib import Path

    from slurm.recording import Recording

FACTOR = 20.0
pytestmark = pytest.mark.usefixtures("slurm_is_here")


def short_day(folder: Path) -> Recording:
    """Return the short day, played in this folder."""
    return record(short(), folder, settings=settings_of("backfill"), factor=FACTOR)


def test_a_day_now_goes_as_ours(tmp_path: Path) -> None:
    """A chain of each kind, an array, an earliest start, maintenance: Slurm's order, and starts within its clocks."""
    found = compare(played(short_day, tmp_path, FACTOR), "conservative")
    assert found.unexplained() == {}, f"clocks: {found.clocks:g} s"
    assert found.swapped() == []


def test_nothing_is_left_over(tmp_path: Path) -> None:
    """Whatever happens while it runs, no daemon and no job of it runs afterwards, and errors say what it said."""
    cluster = SlurmCluster(tmp_path / "slurm", nodes=2, settings=settings_of("builtin"), factor=FACTOR)

    def run_into_an_error() -> None:
        with cluster:
            cluster.tell("sbatch", "--parsable", "--time=9", "--output=/dev/null", "--wrap=sleep 500")
            assert cluster.processes()
            cluster.tell("sbatch", "--nodes=3", "--dependency=wrong", "--wrap=true")

    with pytest.raises(SlurmError, match=r"sbatch --nodes=3 .*: sbatch: error"):
        run_into_an_error()
    assert cluster.processes() == []


def test_what_slurm_takes(tmp_path: Path) -> None:
    """A condition on a job that it does not know holds at once; a singleton has no lag."""
    job = ("sbatch", "--parsable", "--time=9", "--output=/dev/null", "--wrap=true")
    with SlurmCluster(tmp_path / "slurm", nodes=1, settings=settings_of("builtin"), factor=FACTOR) as cluster:
        number = cluster.tell(*job, "--dependency=afterok:4711")
        assert "Dependency=(null)" in cluster.ask("scontrol", "-o", "show", "job", number)
        with pytest.raises(SlurmError, match="Job dependency problem"):
            cluster.tell(*job, "--dependency=singleton+2")
