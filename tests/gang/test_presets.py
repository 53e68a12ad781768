"""The published experiments as presets: their numbers, their names, and the orderings that come out."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from fedsched.core.errors import UnknownNameError
from fedsched.gang import presets, replicate


def test_the_jobs_of_2019_are_the_published_ones():
    """3000 jobs of seven sizes, 139,170 tasks; clocks of section 3; 128 and 256 processors."""
    preset = presets.Pinto2019()
    workload, system = preset.workload(3), preset.system(3)
    sizes, counts = np.unique(workload.tasks, return_counts=True)
    assert dict(zip(sizes.tolist(), counts.tolist(), strict=True)) == {
        1: 30, 2: 90, 4: 60, 8: 60, 32: 1860, 64: 570, 128: 330
    }  # fmt: skip
    assert workload.tasks.sum() == 139_170
    assert system.processors == (128, 256)
    assert set(system.clocks) == {1500, 1600, 1700, 1800, 1900, 2000, 2500, 3000, 3500}
    area = float((workload.tasks * workload.runtime).sum())
    assert area / (384 * workload.submit.max()) == pytest.approx(preset.load, rel=0.01)


def test_the_jobs_of_2014_are_as_many_as_published():
    """1500 jobs, 24,152 tasks, sizes of 1 to 64; clocks between 1500 and 3000 MHz."""
    workload, system = presets.Pinto2014().workload(3), presets.Pinto2014().system(3)
    assert (len(workload), int(workload.tasks.sum())) == (1500, 24_152)
    assert (workload.tasks.min(), workload.tasks.max()) == (1, 64)
    assert min(system.clocks) >= 1500
    assert max(system.clocks) <= 3000
    assert system.preempts == "system"  # "disruption only occurs when all processors are busy"


@pytest.mark.parametrize("preempts", ["site", "system"])
@pytest.mark.compiled
def test_the_limit_of_64_sequential_jobs_that_2014_names_would_change_nothing(preempts):
    """The model leaves it out: hardly a tenth as many are ever in the system at once."""
    for seed in range(3):
        run = presets.Pinto2014(scheduler="LGFS", preempts=preempts).run(seed)
        run.verify()
        begins, ends = np.sort(run.workload.submit[run.local]), np.sort(run.finish[run.local])
        assert (np.arange(1, begins.size + 1) - np.searchsorted(ends, begins)).max() < 7


@pytest.mark.parametrize("experiment", [presets.Pinto2014, presets.Pinto2019])
def test_jobs_can_arrive_as_a_log_does(experiment):
    """The first submits of the log in their order, shifted and stretched to the load; sizes and run times as ever."""
    rng = np.random.default_rng(5)
    log = 1e6 + np.cumsum(rng.exponential(1.0, 3100) ** 3)
    plain, preset = experiment(), experiment(arrivals=rng.permutation(log))
    usual, workload = plain.workload(2), preset.workload(2)
    assert np.array_equal(workload.tasks, usual.tasks)
    assert np.array_equal(workload.runtime, usual.runtime)
    times = log[: len(workload)]
    gaps = np.diff(workload.submit)
    assert gaps / gaps.sum() == pytest.approx(np.diff(times) / np.ptp(times))
    area = float((workload.tasks * workload.runtime).sum())
    assert area / (sum(preset.system().processors) * np.ptp(workload.submit)) == pytest.approx(preset.load)
    assert workload.submit[0] == 0.0
    assert workload.name.endswith(", arrivals given")


@pytest.mark.parametrize("name", presets.NAMED)
def test_every_scenario_runs_by_name(name):
    """Each named scenario gives a run that verifies; a stretch of it is enough here."""
    from fedsched.gang import simulate

    preset = presets.named(name)
    schedule = simulate(preset.workload(1).head(120), preset.system(1), seed=1)
    schedule.verify()
    assert schedule.complete


def test_unknown_names_offer_the_nearest():
    """Scenarios, schedulers and their numbers."""
    with pytest.raises(UnknownNameError, match="Did you mean 'pinto-2014-s3'"):
        presets.named("pinto-2014-s33")
    with pytest.raises(UnknownNameError, match="Did you mean 'LJFSm'"):
        presets.Pinto2019(scheduler="LJSFm")
    with pytest.raises(UnknownNameError, match="Did you mean 'LGFS'"):
        presets.Pinto2014(scheduler="LGFSm")
    with pytest.raises(ValueError, match="scenario=3 must be 1 to 2"):
        presets.Pinto2019(scenario=3)
    with pytest.raises(ValueError, match="load=0 must be finite and above 0"):
        presets.Pinto2019(load=0)
    with pytest.raises(ValueError, match="arrivals has 2 times; each of the 3000 jobs needs one"):
        presets.Pinto2019(arrivals=(0.0, 1.0))
    with pytest.raises(ValueError, match="not all at one time"):
        presets.Pinto2014(arrivals=[7.0] * 1500)
    with pytest.raises(TypeError, match=r"arrivals='log\.swf' must list submit times"):
        presets.Pinto2014(arrivals="log.swf")
    with pytest.raises(ValueError, match="completions=0 must be at least 1"):
        presets.DimitriadouKaratza(completions=0)


@pytest.mark.compiled
def test_replications_run_in_processes():
    """Presets can be pickled, and another process gives the same interval."""
    preset = presets.DimitriadouKaratza(completions=200)
    assert pickle.loads(pickle.dumps(preset)) == preset
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert replicate(preset, replications=2, executor=pool) == replicate(preset, replications=2)


@pytest.mark.compiled
def test_the_published_orderings_of_2019_come_out():
    """Means of two runs under OLB: response times AFCFS < LXF < LJFS, plain and migrating; LoC of 50 and of 4 %."""
    names = ("AFCFS", "LXF", "LJFS", "AFCFSm", "LXFm", "LJFSm")
    found = {name: [presets.Pinto2019(scheduler=name).run(seed).metrics() for seed in range(2)] for name in names}
    art = [np.mean([run.mean_response for run in found[name]]) for name in names]
    loss = [np.mean([run.loss_of_capacity for run in found[name]]) for name in names]
    assert art[0] < art[1] < art[2]
    assert art[3] < art[4] < art[5]
    assert max(art[3] / art[0], art[4] / art[1], art[5] / art[2]) < 1.0
    assert loss[:3] == pytest.approx([0.5] * 3, abs=0.05)
    assert loss[3] == pytest.approx(0.0348, abs=0.03)
    assert loss[3] < min(loss[4:])


@pytest.mark.compiled
def test_the_published_orderings_of_2014_come_out():
    """Means of three runs: AFCFS loses less than LGFS, and migration lessens both losses and response times."""
    found = {
        (name, scenario): [presets.Pinto2014(scheduler=name, scenario=scenario).run(k).metrics() for k in range(3)]
        for name in ("AFCFS", "LGFS")
        for scenario in (1, 2)
    }
    loss = {key: np.mean([run.loss_of_capacity for run in runs]) for key, runs in found.items()}
    art = {key: np.mean([run.mean_response for run in runs]) for key, runs in found.items()}
    assert loss["AFCFS", 2] < 0.5 * loss["AFCFS", 1]
    assert loss["AFCFS", 2] < loss["LGFS", 2] < loss["LGFS", 1]
    assert art["AFCFS", 2] < art["AFCFS", 1] < art["LGFS", 1]
    assert sum(run.preemptions for runs in found.values() for run in runs) > 0


@pytest.mark.compiled
@pytest.mark.parametrize("discipline", ["fcfs", "afcfs", "ljfs", "lxf", "sxf"])
def test_logs_run_under_every_discipline(discipline):
    """The shipped log on two sites, with migration, preemption and aging: everything completes and verifies."""
    from fedsched.gang import GangSystem, simulate
    from fedsched.io import read_example

    system = GangSystem(
        processors=(128, 64), grid="load", dispatch="jseq", routing="fastest", discipline=discipline, aging=20,
        local_migration=True, external_migration=True, preempts="site", preempted="resume",
    )  # fmt: skip
    schedule = simulate(read_example("sample").head(150), system)
    assert schedule.complete
    assert schedule.local_migrations + schedule.external_migrations > 0
    schedule.verify()


@pytest.mark.compiled
@pytest.mark.parametrize(("local_rate", "gang_rate"), [(1.0, 20.0), (25.0, 0.5)])
def test_jobs_go_on_arriving_until_the_last_completion(local_rate, gang_rate):
    """Under more work than the processors can do, the run still ends with arrivals to come."""
    schedule = presets.DimitriadouKaratza(local_rate=local_rate, gang_rate=gang_rate, completions=3000).run(0)
    assert int(schedule.completed.sum()) == 3000
    assert schedule.end < schedule.workload.submit[-1]
