"""The face of gang scheduling: options, limits, metrics and the published table."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import ScheduleError, UnknownNameError
from fedsched.gang import GangSystem, Interval, presets, replicate, simulate


def jobs(*rows):
    """A workload of (submit, tasks, runtime, site or -1)."""
    submit, tasks, runtime, origin = zip(*rows, strict=True)
    return fs.Workload(submit=submit, tasks=tasks, runtime=runtime, origin=origin, sites=("a", "b"))


def test_a_gang_spans_sites_only_from_approach_2_on():
    """Three tasks on two sites of two: turned away, or run with the overhead."""
    workload = jobs((0, 3, 10, -1))
    alone = simulate(workload, GangSystem(processors=(2, 2), approach=1))
    assert alone.rejected.all()
    assert "turned away; the first is job 1" in alone.notes[0]
    both = simulate(workload, GangSystem(processors=(2, 2), approach=2, overhead=0.1))
    assert both.finish[0] == pytest.approx(11.0)


def test_others_go_on_when_a_gang_is_too_large():
    """One job too large does not keep the next from running."""
    schedule = simulate(jobs((0, 9, 10, -1), (1, 2, 5, -1)), GangSystem(processors=(2, 2)))
    assert np.isnan(schedule.start[0])
    assert schedule.finish[1] == 6.0
    assert schedule.complete
    schedule.verify()


def test_a_local_overtakes_a_waiting_gang_within_the_threshold_only():
    """Eq. 1: the service time may exceed the gang's remaining wait by at most T."""
    # The local of 10 holds one processor; the gang of 2 waits for it at the other, where a local of 12 arrives.
    workload = jobs((0, 1, 10, 0), (1, 2, 5, -1), (2, 1, 12, 0))
    for threshold, gang_start in ((0.0, 10.0), (3.9, 10.0), (4.0, 14.0)):
        system = GangSystem(processors=(2,), threshold=threshold, routing="idle_first")
        schedule = simulate(workload.with_sites(["a"], origin=[0, -1, 0]), system)
        assert schedule.start[1] == gang_start
        assert schedule.backfilled == (threshold == 4.0)


def test_an_unstable_load_stops_at_its_limit_and_says_what_was_left():
    """More work than processors: the notes count done, unfinished and yet to arrive."""
    workload = jobs(*((0.1 * k, 1, 10.0, 0) for k in range(100)))
    schedule = simulate(workload, GangSystem(processors=(1, 1)), time_limit=25.0)
    left = "2 of 100 jobs done, 98 arrived and unfinished, 0 yet to arrive"
    assert schedule.notes == (f"stopped at the time limit at 25: {left}",)
    assert schedule.end == 25.0
    assert not schedule.complete
    schedule.verify()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"processors": ()}, ValueError, "every site at least 1"),
        ({"processors": (0, 4)}, ValueError, "every site at least 1"),
        ({"processors": (1.5,)}, TypeError, "whole number"),
        ({"approach": 4}, ValueError, "must be 1, 2 or 3"),
        ({"threshold": -1.0}, ValueError, "threshold=-1.0"),
        ({"overhead": float("nan")}, ValueError, "overhead=nan"),
        ({"routing": "shortest_wating"}, UnknownNameError, "Did you mean 'shortest_waiting'"),
        ({"processors": 16}, TypeError, "processors=16 must list a number for every site"),
        ({"approach": True}, TypeError, "approach=True must be a whole number"),
        ({"grid": "loads"}, UnknownNameError, "Unknown grid 'loads'. Did you mean 'load'"),
        ({"grid": "load", "discipline": "afcs"}, UnknownNameError, "Did you mean 'afcfs'"),
        ({"grid": "load", "dispatch": "jseqs"}, UnknownNameError, "Did you mean 'jseq'"),
        ({"grid": "load", "claim": "holds"}, UnknownNameError, "Did you mean 'hold'"),
        ({"grid": "load", "local_site": "all"}, UnknownNameError, "Unknown local site 'all'"),
        ({"preempted": "restarts"}, UnknownNameError, "Did you mean 'restart'"),
        ({"processors": (2,), "clocks": (2000, 0)}, ValueError, r"clocks\[1\]=0 must be a number of MHz above 0"),
        ({"processors": (2,), "clocks": (2000, "fast")}, ValueError, r"clocks\[1\]='fast' must be"),
        ({"processors": (2,), "clocks": (2000,)}, ValueError, "clocks has 1 entries; the sites have 2 processors"),
        ({"reference_clock": 0}, ValueError, "reference_clock=0 must be"),
        ({"latency": -1}, ValueError, "latency=-1"),
        ({"bandwidth": 0}, ValueError, "bandwidth=0 must be above 0"),
        ({"aging": -1}, ValueError, "aging=-1 must be at least 0"),
        ({"discipline": "ljfs"}, ValueError, "discipline='ljfs' is not for grid='multi_site'"),
        ({"preempts": "site"}, ValueError, "preempts='site' is not for"),
        ({"grid": "load", "preempts": "systm"}, UnknownNameError, "Did you mean 'system'"),
        ({"grid": "load", "preempts": True}, UnknownNameError, "Unknown preempts True"),
        ({"local_migration": True}, ValueError, "local_migration=True is not for"),
    ],
)
def test_bad_systems_are_refused_with_the_value(options, error, text):
    """Every refusal names the field, the value and the rule."""
    with pytest.raises(error, match=text):
        GangSystem(**options)


def test_bad_arguments_are_refused():
    """Limits, seeds, classes and sites are checked."""
    workload, system = jobs((0, 1, 1, 1)), GangSystem(processors=(2, 2))
    for options in ({"max_completions": 0}, {"time_limit": float("nan")}, {"seed": -1}):
        with pytest.raises(ValueError, match="must be"):
            simulate(workload, system, **options)
    with pytest.raises(ValueError, match="must be a site of this system"):
        simulate(workload, GangSystem(processors=(2,)))
    with pytest.raises(UnknownNameError, match="gangs"):
        simulate(workload, system).metrics("gang")


def test_verify_finds_an_overlap_and_a_parted_gang():
    """A schedule altered by hand is found out."""
    from dataclasses import replace

    schedule = simulate(jobs((0, 1, 10, 0), (0, 1, 10, 0)), GangSystem(processors=(2, 2), routing="idle_first"))
    schedule.verify()
    with pytest.raises(ScheduleError, match="still runs there"):
        replace(schedule, segment_processor=np.array([0, 0])).verify()
    with pytest.raises(ScheduleError, match="local job of site 0"):
        replace(schedule, segment_processor=np.array([0, 3])).verify()


def test_verify_finds_a_lost_job_a_short_run_and_a_causeless_stop():
    """A finish that is not the run's, a run that is too short, a job that vanished, a gang that nobody stopped."""
    from dataclasses import replace

    system = GangSystem(processors=(2,), grid="load", preempts="site", dispatch="jsq", routing="dispatch")
    schedule = simulate(jobs((0, 2, 10, -1), (4, 1, 3, -1)), system)
    schedule.verify()
    short = schedule.segment_end - np.array([0.0, 0.0, 1.0])
    cases = {
        "it is said to finish at 18": {"finish": schedule.finish + np.array([1.0, 0.0])},
        "its service is 10.0 s": {"segment_end": short, "finish": schedule.finish - np.array([1.0, 0.0])},
        "no note says why": {"finish": np.array([np.nan, 7.0])},
        "no local job took its place": {"local": np.array([False, False])},
        "2 tasks need as many distinct processors": {"segment_processor": np.array([0, 0, 0, 0, 1])},
    }
    for text, change in cases.items():
        with pytest.raises(ScheduleError, match=text):
            replace(schedule, **change).verify()


def test_verify_finds_a_stop_while_a_processor_was_idle():
    """Of the site, or of the system, as the rule has it; what happens at the same instant is given the benefit."""
    from dataclasses import replace

    options = {"grid": "load", "dispatch": "jsq", "routing": "dispatch"}
    small = GangSystem(processors=(2,), preempts="site", **options)
    schedule = simulate(jobs((0, 2, 10, -1), (4, 1, 3, -1)), small)
    for processors, preempts, broken in (
        ((2,), "system", False), ((3,), "site", True), ((2, 1), "site", False), ((2, 1), "system", True),
    ):  # fmt: skip
        other = replace(schedule, system=replace(small, processors=processors, preempts=preempts))
        if broken:
            with pytest.raises(ScheduleError, match=r"Job 1: it was stopped at 4\.0 with 1 processors idle"):
                other.verify()
        else:
            other.verify()


def test_a_gang_larger_than_every_site_is_turned_away_and_the_others_go_on():
    """With migration and preemption too: 9 tasks do not fit sites of 4 and 8; the rest completes."""
    system = GangSystem(
        processors=(4, 8), grid="load", discipline="afcfs", local_migration=True, external_migration=True,
        preempts="site",
    )  # fmt: skip
    schedule = simulate(jobs((0, 9, 10, -1), (0, 8, 5, -1), (1, 1, 3, -1), (2, 4, 5, -1)), system)
    assert schedule.rejected.tolist() == [True, False, False, False]
    assert schedule.notes[0] == (
        "1 job needs more than the 8 processors that the largest site can give a gang, turned away; the first is job 1"
    )
    assert schedule.complete
    schedule.verify()
    assert schedule.metrics().completed_share == 0.75


@pytest.mark.parametrize("grid", ["multi_site", "load"])
def test_a_workload_of_nothing_or_of_the_impossible_is_a_run_too(grid):
    """No jobs, or only jobs that fit nowhere: no figures, no failure."""
    system = GangSystem(processors=(2, 2), grid=grid)
    for workload in (jobs((0, 1, 1, 0)).take([]), jobs((0, 9, 1, -1))):
        schedule = simulate(workload, system)
        assert schedule.complete
        assert np.isnan(schedule.metrics().mean_response)
        assert schedule.events == 0
        schedule.verify()


def test_a_time_limit_cuts_what_runs_and_keeps_the_record():
    """Gangs that run at the limit have a stretch until then and no finish; verify accepts it."""
    system = GangSystem(processors=(2,), grid="load")
    schedule = simulate(jobs((0, 2, 10, -1), (1, 2, 10, -1)), system, time_limit=15.0)
    assert schedule.finish.tolist()[0] == 10.0
    assert np.isnan(schedule.finish[1])
    assert schedule.segment_end.tolist() == [10.0, 15.0]
    assert schedule.metrics().utilisation == pytest.approx(10 / 15)
    assert "1 of 2 jobs done, 1 arrived and unfinished, 0 yet to arrive" in schedule.notes[0]
    schedule.verify()


def test_warm_up_leaves_out_the_beginning():
    """Jobs, work and losses before it do not count."""
    workload = jobs((0, 2, 10, -1), (20, 1, 10, 0), (20, 1, 10, 0))
    schedule = simulate(workload, GangSystem(processors=(2,), routing="idle_first"))
    whole, rest = schedule.metrics(), schedule.metrics(warmup=15.0)
    assert (whole.completed, rest.completed) == (3, 2)
    assert whole.utilisation == pytest.approx(40 / 60)
    assert rest.utilisation == pytest.approx(20 / 30)
    half = schedule.metrics(warmup=25.0)
    assert half.utilisation == pytest.approx(1.0)
    with pytest.raises(ValueError, match="warmup=-1"):
        schedule.metrics(warmup=-1)


def test_losses_before_the_warm_up_do_not_count():
    """From 1 to 10 one processor of two is lost to a gang that waits; a warm-up of 5 leaves half of it."""
    system = GangSystem(processors=(2, 2), grid="load", dispatch="ald", routing="dispatch")
    schedule = simulate(jobs((0, 1, 10, 0), (0, 1, 10, 1), (1, 2, 5, -1)), system)
    assert schedule.metrics().loss_of_capacity == pytest.approx(2 * 9 / (4 * 15))
    assert schedule.metrics(warmup=5.0).loss_of_capacity == pytest.approx(2 * 5 / (4 * 10))


def test_what_the_model_does_not_know_is_said():
    """Allowed sites and communication of a workload play no part, and the notes say so."""
    workload = fs.Workload(
        submit=[0.0], tasks=[1], runtime=[1.0], sites=("a",), allowed=[[True]], compute_fraction=0.5, task_bandwidth=1.0
    )
    notes = simulate(workload, GangSystem(processors=(2,))).notes
    assert notes == ("the workload's allowed sites and communication play no part in this model",)


def test_metrics_by_hand():
    """Two locals one after the other, and a gang beside them."""
    workload = jobs((0, 1, 4, 0), (1, 1, 4, 0), (0, 2, 8, -1))
    schedule = simulate(workload.with_sites(["a", "b"]), GangSystem(processors=(1, 2)))
    everyone, gangs, locals_ = (schedule.metrics(name) for name in ("all", "gangs", "locals"))
    assert (locals_.mean_response, locals_.mean_wait, locals_.mean_slowdown) == (5.5, 1.5, 1.375)
    assert (gangs.mean_response, gangs.weighted_slowdown) == (8.0, 1.0)
    assert everyone.utilisation == 1.0
    assert everyone.loss_of_capacity == 0.0
    waiting, working = schedule.series(np.array([0.0, 2.0, 7.0, 8.0]))
    assert waiting.tolist() == [0, 1, 0, 0]
    assert working.tolist() == [3, 3, 3, 0]


def test_slowdown_divides_by_the_run_as_it_was():
    """At half the clock a job that never waits has a slowdown of 1."""
    system = GangSystem(processors=(2,), clocks=(1000, 1000), grid="load")
    metrics = simulate(jobs((0, 2, 10, -1), (30, 2, 5, -1)), system).metrics()
    assert (metrics.mean_response, metrics.mean_slowdown, metrics.weighted_slowdown) == (15.0, 1.0, 1.0)


def test_the_same_seed_gives_the_same_run():
    """Seeds decide ties and workloads, and nothing else does."""
    preset = presets.DimitriadouKaratza(completions=500)
    assert np.array_equal(preset.run(3).start, preset.run(3).start, equal_nan=True)
    assert not np.array_equal(preset.run(3).start, preset.run(4).start, equal_nan=True)


@pytest.mark.compiled
@pytest.mark.parametrize(("approach", "published"), [(1, 0.83797), (2, 0.84483), (3, 0.87845)])
def test_the_published_utilisation_comes_out_under_high_load(approach, published):
    """Table 2 of Dimitriadou and Karatza, first row, within 0.01 over ten seeds."""
    preset = presets.DimitriadouKaratza(approach=approach, local_rate=12.5)
    assert np.mean([preset.run(seed).metrics().utilisation for seed in range(10)]) == pytest.approx(published, abs=0.01)


@pytest.mark.compiled
def test_replications_give_means_with_intervals_on_any_executor():
    """The same seeds give the same interval with and without threads; the interval is Student's."""
    from concurrent.futures import ThreadPoolExecutor

    preset = presets.DimitriadouKaratza(completions=300)
    alone = fs.gang.replicate(preset, replications=4, seed=7)
    with ThreadPoolExecutor(2) as pool:
        assert fs.gang.replicate(preset, replications=4, seed=7, executor=pool) == alone
    values = [preset.run(seed).metrics().utilisation for seed in range(7, 11)]
    interval = alone["all"]["utilisation"]
    assert interval.mean == pytest.approx(np.mean(values))
    assert interval.half_width == pytest.approx(3.182446 * np.std(values, ddof=1) / 2.0, rel=1e-6)
    with pytest.raises(ValueError, match="replications=1"):
        fs.gang.replicate(preset, replications=1)


@pytest.mark.compiled
def test_replications_of_two_presets_are_compared_seed_by_seed():
    """The interval is that of the differences of runs of one seed; a preset does not differ from itself."""
    first, second = (presets.DimitriadouKaratza(completions=300, approach=approach) for approach in (1, 3))
    found = replicate(second, against=first, replications=5, seed=2)["all"]["mean_response"]
    by_hand = [second.run(k).metrics().mean_response - first.run(k).metrics().mean_response for k in range(2, 7)]
    assert found.mean == pytest.approx(np.mean(by_hand))
    assert found.half_width == pytest.approx(2.776445 * np.std(by_hand, ddof=1) / np.sqrt(5), rel=1e-6)
    assert (found.low, found.high) == (found.mean - found.half_width, found.mean + found.half_width)
    same = replicate(first, against=first, replications=3)["all"]
    assert {(value.mean, value.half_width) for value in same.values()} == {(0.0, 0.0)}


@pytest.mark.compiled
def test_the_command_prints_a_table_and_json(capsys):
    """`fedsched gang` runs the published experiment; bad options are one line."""
    import json

    from fedsched.cli import run

    assert run(["gang", "--approach", "2", "--completions", "200", "--replications", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["all"]["utilisation"]["mean"] > 0
    assert run(["gang", "--completions", "200", "--replications", "2"]) == 0
    out = capsys.readouterr().out
    assert "mean_response" in out
    assert "of the jobs unfinished" in out  # it stopped at 200, whoever still waited
    assert run(["gang", "--approach", "7"]) == 2
    assert "must be 1, 2 or 3" in capsys.readouterr().err


@pytest.mark.compiled
def test_the_command_runs_logs_and_says_what_does_not_apply(capsys, tmp_path):
    """A log with the rules of one's choice; options that an experiment does not take are named; charts are drawn."""
    from fedsched.cli import run

    chart = tmp_path / "gantt.png"
    words = ["gang", "sample", "--head", "60", "--processors", "64,128", "--discipline", "ljfs", "--migration", "both"]
    assert run([*words, "--gantt", str(chart)]) == 0
    out = capsys.readouterr().out
    assert "note: 64 + 128 processors, ljfs, jseq, migration local and external" in out
    assert chart.stat().st_size > 1000
    for words, text in (
        (["gang", "pinto-2019-s1", "--local-rate", "3"], "pinto-2019-s1 takes no --local-rate; it takes --scheduler"),
        (["gang", "sample", "--scheduler", "AFCFS"], "sample takes no --scheduler"),
        (["gang", "pinto-2019-s9"], "Did you mean 'pinto-2019-s"),
        (["gang", "sample", "--processors", "4,x"], "must be whole numbers with commas"),
    ):
        assert run(words) == 2
        assert text in capsys.readouterr().err


@pytest.mark.compiled
def test_the_command_lets_an_experiments_jobs_arrive_as_a_log_does(capsys, tmp_path):
    """The log's times make other runs than uniform ones, and the table says whose they are."""
    import json

    from fedsched.cli import run

    log = tmp_path / "log.swf"
    fs.write(fs.Workload(submit=np.arange(1600) // 100 * 1000.0, tasks=np.ones(1600), runtime=np.ones(1600)), log)
    words = ["gang", "pinto-2014-s1", "--replications", "2"]
    assert run([*words, "--json"]) == 0
    uniform = json.loads(capsys.readouterr().out)
    assert uniform["arrivals"] is None
    assert run([*words, "--arrivals", str(log), "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["arrivals"] == str(log)
    assert given["all"]["mean_wait"] != uniform["all"]["mean_wait"]
    assert run([*words, "--arrivals", str(log)]) == 0
    assert f"note: the jobs arrive as those of {log} do, stretched" in capsys.readouterr().out
    assert run([*words, "--arrivals", "sample"]) == 2
    assert "arrivals has 1000 times; each of the 1500 jobs needs one" in capsys.readouterr().err
    assert run(["gang", "sample", "--arrivals", str(log)]) == 2
    assert "sample takes no --arrivals" in capsys.readouterr().err


def test_the_gantt_shows_a_bar_for_every_task():
    """A gang of two and a local: three bars."""
    ax = simulate(jobs((0, 2, 3, -1), (0, 1, 1, 1)), GangSystem(processors=(2, 2))).gantt()
    assert len(ax.collections[0].get_paths()) == 3


@pytest.mark.compiled
def test_the_page_on_gangs_runs(root, monkeypatch):
    """Every Python block of docs/explanation/gang.md, one after the other, as a reader would type them."""
    import re

    import matplotlib.pyplot as plt

    monkeypatch.chdir(root)
    blocks = re.findall(r"```python\n(.*?)```", (root / "docs/explanation/gang.md").read_text(), flags=re.DOTALL)
    assert len(blocks) == 1
    names = {}
    for block in blocks:
        exec(compile(block, "docs/explanation/gang.md", "exec"), names)
    assert names["schedule"].complete
    plt.close("all")


def test_a_schedule_cannot_be_altered():
    """Its arrays are read-only."""
    schedule = simulate(jobs((0, 1, 1, 0)), GangSystem(processors=(1, 1)))
    with pytest.raises(ValueError, match="read-only"):
        schedule.finish[0] = 0.0


def test_the_load_picture_shows_work_and_queue():
    """Two lines: processors at work in per cent, and jobs waiting."""
    schedule = simulate(jobs((0, 2, 3, -1), (0, 2, 3, -1)), GangSystem(processors=(2,), grid="load"))
    ax = schedule.plot_load()
    assert ax.lines[0].get_ydata().max() == 100.0
    assert ax.figure.axes[1].lines[0].get_ydata().max() == 1


@pytest.mark.parametrize("row", [(5.0, 9, 1.0, -1), (1.7e9, 1, 1.0, 0)])
def test_a_run_without_events_has_metrics_and_pictures(row):
    """All jobs turned away, or a limit before the first arrival: an empty record, and nothing that breaks."""
    schedule = simulate(jobs(row), GangSystem(processors=(2,) * 2), time_limit=5.0)
    assert schedule.events == 0
    schedule.verify()
    assert np.isnan(schedule.metrics().utilisation)
    assert schedule.series([0.0, 9.0]).working.tolist() == [0, 0]
    assert len(schedule.gantt().collections[0].get_paths()) == 0
    assert schedule.plot_load().lines[0].get_ydata().max() == 0.0


def test_pictures_leave_no_figure_open():
    """A loop over many schedules keeps no figure alive behind the caller's back."""
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    schedule = simulate(jobs((0, 2, 3, -1)), GangSystem(processors=(2,), grid="load"))
    schedule.gantt()
    schedule.plot_load()
    assert plt.get_fignums() == before


def test_any_seed_draws():
    """Seeds beyond 64 bits are seeds too, the same one gives the same run, and small ones are themselves."""
    workload, system = jobs(*((k, 1 + k % 2, 3, -1) for k in range(20))), GangSystem(grid="load", dispatch="olb")
    huge = [simulate(workload, system, seed=seed).segment_processor.tolist() for seed in (2**80 + 3, 2**80 + 3, 3)]
    assert huge[0] == huge[1]
    assert simulate(workload, system, seed=2**63 - 1).complete


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda: GangSystem(clocks=2000.0), r"GangSystem: clocks=2000\.0 must list a number of MHz"),
        (lambda: simulate(jobs((0, 1, 1, 0)), GangSystem(), max_completions=2.5), r"max_completions=2\.5 must"),
        (lambda: simulate(jobs((0, 1, 1, 0)), GangSystem(), seed=0.5), r"simulate: seed=0\.5 must be a whole number"),
        (lambda: presets.DimitriadouKaratza(completions=2.5), r"DimitriadouKaratza: completions=2\.5 must be a whole"),
        (lambda: presets.DimitriadouKaratza(local_rate="2"), r"DimitriadouKaratza: local_rate='2' must be"),
        (lambda: presets.Pinto2019(runtime="2"), r"Pinto2019: runtime='2' must be"),
        (lambda: presets.Pinto2019(scenario=1.0), r"Pinto2019: scenario=1\.0 must be a whole number"),
        (lambda: presets.Pinto2019().run(-1), r"seed=-1 must be at least 0"),
        (lambda: replicate(presets.Pinto2019(), seed=-1), r"seed=-1 must be at least 0"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(wrong, text):
    """Whose field, which value and which rule, for what is no number as for what is out of range."""
    with pytest.raises((TypeError, ValueError), match=text):
        wrong()


def test_a_bandwidth_may_be_any_number():
    """A whole number of numpy's is one too."""
    assert GangSystem(bandwidth=np.int64(5)).bandwidth == 5.0


def test_an_interval_reads_to_its_own_digits() -> None:
    """Two digits of the interval are shown, and as many places of the mean; thousands are parted."""
    said = {
        (108060.4, 5123.0): "108,060 ± 5,123",
        (1375.94, 219.6): "1,376 ± 220",
        (0.925761, 0.00321): "0.9258 ± 0.0032",
        (26.0853, 1.31): "26.1 ± 1.3",
        (3000.0, 0.0): "3,000 ± 0",
        (1.7833e-05, 2e-06): "1.7833e-05 ± 2e-06",
        (2.0, math.inf): "2 ± inf",
    }
    assert {given: str(Interval(*given)) for given in said} == said
