"""The face of gang scheduling: options, limits, metrics and the published table."""

from __future__ import annotations

import numpy as np
import pytest

import fedsched as fs
from fedsched.errors import ScheduleError, UnknownNameError
from fedsched.gang import GangSystem, presets, simulate


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
    with pytest.raises(ValueError, match="names no site of this system"):
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


def test_the_command_prints_a_table_and_json(capsys):
    """`fedsched gang` runs the published experiment; bad options are one line."""
    import json

    from fedsched.cli import run

    assert run(["gang", "--approach", "2", "--completions", "200", "--replications", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["all"]["utilisation"]["mean"] > 0
    assert run(["gang", "--completions", "200", "--replications", "2"]) == 0
    assert "mean_response" in capsys.readouterr().out
    assert run(["gang", "--approach", "7"]) == 2
    assert "must be 1, 2 or 3" in capsys.readouterr().err


def test_the_gantt_shows_a_bar_for_every_task():
    """A gang of two and a local: three bars."""
    import matplotlib.pyplot as plt

    ax = simulate(jobs((0, 2, 3, -1), (0, 1, 1, 1)), GangSystem(processors=(2, 2))).gantt()
    assert len(ax.collections[0].get_paths()) == 3
    plt.close(ax.figure)
