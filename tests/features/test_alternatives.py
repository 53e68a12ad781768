"""Jobs that may have several shapes: the noun, its files, the rules that choose, and what verify() says [49]."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import OutputError, ScheduleError, TraceError
from fedsched.model.jobs.alternatives import Alternatives, Shape, present_shapes, shapes_of
from fedsched.model.jobs.assumed import assumptions
from fedsched.model.jobs.shaping import every_shape, with_chosen_shapes, with_shapes
from fedsched.model.reading import CLAIRVOYANT, USUAL
from fedsched.optimize.rolling import Rolling

if TYPE_CHECKING:
    from pathlib import Path

FOUR = fs.Federation.homogeneous(4)
JOBS = fs.Workload(
    submit=[0.0, 5.0, 5.0, 9.0],
    tasks=[4, 2, 3, 1],
    runtime=[10.0, 8.0, 6.5, 2.0],
    estimate=[12.0, 9.0, 6.5, 4.0],
    id=[7, 3, 11, 4],
    alternatives={7: [(4, 10, 12), (2, 18, 20), (1, 32, 40)], 11: "3x6.5|4x5/5.5"},
)


def test_shapes_are_read_from_texts_and_lists() -> None:
    """A text and a list say the same; without a request it is the run time."""
    assert shapes_of("4x10/12 | 2x1.5e1", "") == [Shape(4, 10.0, 12.0), Shape(2, 15.0, 15.0)]
    assert shapes_of([(4, 10, 12), (2, 15)], "") == shapes_of("4x10/12|2x15", "")
    assert [str(shape) for shape in shapes_of("4x10/12|3x6.5", "")] == ["4x10/12", "3x6.5"]
    assert shapes_of("", "") == shapes_of(None, "") == shapes_of(float("nan"), "") == []
    assert JOBS.alternatives.columns()["alternatives"].tolist() == ["4x10/12|2x18/20|1x32/40", "", "3x6.5|4x5/5.5", ""]
    assert JOBS[0].alternatives == "4x10/12|2x18/20|1x32/40"
    assert JOBS[1].alternatives is None
    assert str(JOBS.alternatives) == "2 jobs of several shapes to choose from, at most 3"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({7: "4x10/12|4x"}, "Job 7: alternative '4x' must be like '8x2000'"),
        ({7: "4x10/12|0x5"}, "Job 7: alternative 0x5: it must have at least 1 task"),
        ({7: "4x10/12|2x0"}, "Job 7: alternative 2x0: .* above 0"),
        ({7: "4x10/12|2x1e999"}, "finite"),
        ({7: "4x10/12|4x10/12"}, "Job 7: alternative 4x10/12 occurs twice"),
        ({7: "2x18"}, r"Job 7: it is 4x10/12 .* none of its alternatives 2x18; list its own shape first"),
        ({7: [(4, 10, 12), (2.5, 9)]}, r"Job 7: alternative \(2.5, 9\) must be \(tasks, runtime\)"),
        ({7: [(4, 10, 12), (2,)]}, "must be"),
        ({8: "2x18"}, "alternatives: there is no job 8"),
        (["4x10/12"], "alternatives: 1 entries for 4 jobs"),
    ],
)
def test_what_is_no_shape_is_refused_by_name(given: object, said: str) -> None:
    """The error names the job and says what is wrong."""
    with pytest.raises(ValueError, match=said):
        replace(JOBS, alternatives=given)


def test_a_single_text_is_no_table() -> None:
    """It would say of which job it is."""
    with pytest.raises(TypeError, match="must give shapes by job"):
        replace(JOBS, alternatives="4x10/12")


def test_jobs_that_say_nothing_have_none() -> None:
    """Empty entries are no column."""
    assert replace(JOBS, alternatives={}).alternatives is None
    assert replace(JOBS, alternatives=["", None, [], ""]).alternatives is None


def test_they_go_with_their_jobs() -> None:
    """Rows that are taken, sorted, renumbered, merged, pickled and moved keep their shapes."""
    assert JOBS.take([2, 0]).alternatives.shapes(0) == JOBS.alternatives.shapes(2)
    assert JOBS.take([1, 3]).alternatives is None
    assert JOBS.renumbered().alternatives == JOBS.alternatives
    assert JOBS.rebased(100.0).alternatives == JOBS.alternatives
    again = pickle.loads(pickle.dumps(JOBS))
    assert again == JOBS
    assert not again.alternatives.tasks.flags.writeable
    both = fs.Workload.merge(JOBS, replace(JOBS, alternatives=None), sites=("a", "b"))
    assert both.alternatives.jobs == 2
    texts = both.alternatives.columns()["alternatives"].tolist()
    assert sorted(texts) == ["", "", "", "", "", "", "3x6.5|4x5/5.5", "4x10/12|2x18/20|1x32/40"]
    assert replace(JOBS, alternatives=None) != JOBS


def test_files_keep_them(tmp_path: Path) -> None:
    """CSV, tables and Batsim's JSON there and back; a log of the SWF says that it cannot hold them."""
    JOBS.write(tmp_path / "jobs.csv")
    assert "4x10/12|2x18/20|1x32/40" in (tmp_path / "jobs.csv").read_text()
    assert fs.read(tmp_path / "jobs.csv") == JOBS
    assert fs.Workload.from_frame(JOBS.to_frame()) == JOBS
    assert fs.Workload.from_jobs(list(JOBS)) == JOBS
    JOBS.write(tmp_path / "jobs.json")
    assert fs.read(tmp_path / "jobs.json").alternatives == JOBS.alternatives
    with pytest.raises(OutputError, match="alternatives"):
        JOBS.write(tmp_path / "jobs.swf")


def test_a_wrong_shape_in_a_file_names_it(tmp_path: Path) -> None:
    """The error names file and job."""
    (tmp_path / "jobs.csv").write_text("submit,tasks,runtime,alternatives\n0,4,10,4x11|2x18\n")
    with pytest.raises(TraceError, match=r"jobs.csv: Job 1: it is 4x10 .* none of its alternatives 4x11\|2x18"):
        fs.read(tmp_path / "jobs.csv")


def test_the_smallest_area_is_that_of_requests() -> None:
    """Least tasks × request; of equals the fewest tasks. Where run times are known, of run times."""
    # 7: areas 48, 40, 40 by requests, 40, 36, 32 by run times; 11: 19.5 and 22 by requests.
    def shapes(jobs: fs.Workload, reading: fs.Reading) -> list[int]:
        return present_shapes(with_chosen_shapes(jobs, FOUR, reading)).tolist()

    usual = USUAL.but(alternatives="smallest_area")
    assert shapes(JOBS, usual) == [2, 0, 0, 0]
    short = replace(JOBS, alternatives={7: [(4, 10, 12), (2, 18, 20), (1, 39, 40)], 11: "3x6.5|4x4/5.5"})
    assert shapes(short, usual) == [2, 0, 0, 0]
    assert shapes(short, CLAIRVOYANT.but(alternatives="smallest_area")) == [1, 0, 1, 0]
    killed = replace(JOBS, alternatives={7: [(4, 10, 12), (2, 30, 18)]})
    knowing = CLAIRVOYANT.but(alternatives="smallest_area", kill_at_estimate=True)
    assert shapes(killed, knowing) == [1, 0, 0, 0]  # it runs 18 s, and is killed
    assert shapes(killed, knowing.but(kill_at_estimate=False)) == [0, 0, 0, 0]


def test_a_rule_chooses_before_anything_runs() -> None:
    """The schedule is that of jobs which have no other shapes, and says which ones they had."""
    for policy in ("fcfs", "easy", "conservative", "lookahead", "min-min", Rolling(evaluations=20)):
        schedule = fs.simulate(JOBS, FOUR, policy, alternatives="smallest_area")
        schedule.verify(claimed=schedule.metrics())
        assert schedule.workload.tasks.tolist() == [1, 2, 3, 1]
        assert schedule.alternatives == "smallest_area"
        plain = fs.simulate(replace(schedule.workload, alternatives=None), FOUR, policy)
        assert schedule.start.tolist() == plain.start.tolist()
        back = fs.simulate(schedule.workload, FOUR, policy)  # the rule of the one that runs is the one that counts
        assert back.workload == JOBS
    assert "the shapes of least area" in str(schedule.reading)


def test_recorded_shapes_are_said_to_be_so() -> None:
    """Where alternatives are there and none is taken, one line says it."""
    assert assumptions(FOUR, JOBS)[-1].startswith("recorded shapes for 2 jobs with alternatives")
    narrow = with_chosen_shapes(JOBS, FOUR, USUAL.but(alternatives="smallest_area"))
    assert not any("shapes" in fact for fact in assumptions(FOUR, narrow))
    assert not any("shapes" in fact for fact in assumptions(FOUR, replace(JOBS, alternatives=None)))


def test_verify_knows_which_shape_a_job_must_have() -> None:
    """A schedule of other shapes than its reading's is refused; where plans choose, each of a job's own will do."""
    schedule = fs.simulate(JOBS, FOUR, "easy", alternatives="smallest_area")
    fixed = replace(schedule, reading=schedule.reading.but(alternatives="fixed"))
    assert "Job 7: its shape is not the recorded one, 4x10/12." in fixed.violations()
    recorded = fs.simulate(JOBS, FOUR, "easy")
    least = replace(recorded, reading=recorded.reading.but(alternatives="smallest_area"))
    assert "Job 7: its shape is not the one of least area, 1x32/40." in least.violations()
    for one in (schedule, recorded):
        replace(one, reading=one.reading.but(alternatives="free")).verify()
        replace(one, reading=replace(one.reading, alternatives=None)).verify()


def test_a_schedule_is_read_back_in_its_shapes(tmp_path: Path) -> None:
    """The file tells each job's tasks, run time and request; a shape that is none of a job's is refused."""
    schedule = fs.simulate(JOBS, FOUR, "easy", alternatives="smallest_area")
    path = tmp_path / "plan.csv"
    schedule.to_csv(path)
    back = fs.Schedule.read(path, JOBS, FOUR, reading=schedule.reading)
    back.verify()
    assert back.workload == schedule.workload
    path.write_text(path.read_text().replace("7,0,1,32,40", "7,0,1,33,40"))
    with pytest.raises(ScheduleError, match="Job 7: it is 1x33/40"):
        fs.Schedule.read(path, JOBS, FOUR)


def test_every_shape_is_a_job_of_its_own() -> None:
    """Its own first, then the others in their order."""
    narrow = with_shapes(JOBS, FOUR, np.array([1, 0, 0, 0]))
    each, owner, which = every_shape(narrow, FOUR)
    assert owner.tolist() == [0, 0, 0, 1, 2, 2, 3]
    assert which.tolist() == [1, 0, 2, 0, 0, 1, 0]
    assert each.tasks.tolist() == [2, 4, 1, 2, 3, 4, 1]
    assert each.submit.tolist() == [0.0, 0.0, 0.0, 5.0, 5.0, 5.0, 9.0]


def test_shapes_by_amdahl() -> None:
    """Half of the work spread: (0.5 + 0.5/t) of the time on one node; requests keep their ratio."""
    made = fs.generate.alternatives(JOBS.take([1, 3]), factors=(0.5, 2.0, 1.0), parallel=0.5)
    by_hand = [(2, 8.0, 9.0), (1, 8 / 0.75, 9 / 0.75), (4, 8 * 0.625 / 0.75, 9 * 0.625 / 0.75)]
    np.testing.assert_allclose([shape[:3] for shape in made.alternatives.shapes(0)], by_hand)
    assert [shape.tasks for shape in made.alternatives.shapes(1)] == [1, 2]
    drawn = [fs.generate.alternatives(JOBS.take([1, 3]), seed=seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    narrow = fs.generate.alternatives(JOBS.take([1, 3]), factors=(2.0, 4.0), most=4)
    assert max(narrow.alternatives.tasks) == 4
    for wrong in ({"factors": ()}, {"factors": (0.0,)}, {"parallel": 1.5}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            fs.generate.alternatives(JOBS.take([1, 3]), **wrong)
    with pytest.raises(ValueError, match="have some"):
        fs.generate.alternatives(JOBS)


def test_estimates_are_drawn_before_alternatives() -> None:
    """Other requests would make shapes that nobody listed."""
    with pytest.raises(ValueError, match="draw estimates first"):
        JOBS.with_estimates("exact")
    assert replace(JOBS, alternatives=None).with_estimates("exact").estimate.tolist() == JOBS.runtime.tolist()


def test_what_is_no_rule_is_refused() -> None:
    """The nearest is offered."""
    with pytest.raises(ValueError, match="smallest_area"):
        fs.simulate(JOBS, FOUR, alternatives="smallest")


def test_columns_of_others_are_taken_as_they_are() -> None:
    """A column that was checked is not read again, but must be of as many jobs."""
    assert replace(JOBS, alternatives=JOBS.alternatives) == JOBS
    with pytest.raises(ValueError, match="2 entries for 4 jobs"):
        replace(JOBS, alternatives=JOBS.alternatives.take(np.array([0, 2])))
    assert Alternatives.of(JOBS.alternatives, JOBS.id) is JOBS.alternatives
