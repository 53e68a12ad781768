"""What workloads may say of their jobs beside the plain model, the same way through everything that handles jobs."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.comparison.instances import Instance
from fedsched.core.errors import OutputError, TraceError
from fedsched.gang import GangSystem
from fedsched.gang import simulate as gang_simulate
from fedsched.io.tables.frame import cell_of, field_of, optional_in
from fedsched.model.jobs.columns import JobColumns
from fedsched.model.jobs.job import EXTRAS, OPTIONAL, Job
from fedsched.optimize.result.files import as_data, of_data

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

# Two different sets of four jobs' columns; a column that is added stands here too.
GIVEN: dict[str, tuple[Any, Any]] = {
    "pools": ({"ansys": [2, 0, 1, 1], "scratch GB": [0, 500, 0, 10]}, {"ansys": [0, 0, 0, 3]}),
    "after": (["", "afterok:1+5", "", "after:1,afterany:2"], {3: "afterany:2"}),
    "begin": ([0.0, 2.5, 0.0, 3600.0], 7.0),
    "held": (["", "0-2.5|3600-7200", "", "9-10"], {2: [(1, 2)]}),
    "cancel_at": ([-1.0, 2.5, -1.0, 3600.0], 70.0),
    "feedback": (
        {"preceding": [-1, 1, -1, 2], "think_time": [-1, 5.0, -1, 0.0]},
        {"preceding": [-1, -1, 2, -1], "think_time": [-1, -1, 60.0, -1]},
    ),
    "labels": ({"name": ["fit", "", "fit", "plot"], "account": ["x", "x", "", "y"]}, {"name": "fit"}),
    "demand": ({"gpu": [2, 0, 0, 1], "memory": [0, 187_000, 64, 0]}, {"memory": 1}),
    "layout": ({"tasks_per_node": [2, 0, 1, 1], "exclusive": [0, 1, 0, 0]}, {"exclusive": [0, 0, 0, 1]}),
    "alternatives": ({2: "2x5|1x9.5/12|3x4", 4: [(1, 3), (2, 2)]}, {3: "1x4|2x3"}),
    "watts": ([-1.0, 250.5, 0.0, 90.0], 120.0),
    "slack": ([0.0, 3600.0, 0.0, 90.5], 120.0),
    "nice": ([0, 100, 0, -50], 7),
    "gear": ([0, 1, 0, 2], 1),
    "log": ({"wait": [1.5, 2.0, 0.0, 7.0], "status": 1.0}, {"wait": 3.0}),
}
PLAIN = fs.Workload(submit=[0.0, 1.0, 2.0, 3.0], tasks=[1, 2, 1, 1], runtime=[10.0, 5.0, 4.0, 3.0], nodes=8)

each = pytest.mark.parametrize("field", OPTIONAL)
each_extra = pytest.mark.parametrize("field", EXTRAS)


def given(field: str, which: int = 0) -> fs.Workload:
    """Return the jobs with these columns."""
    return replace(PLAIN, **{field: GIVEN[field][which]})


def test_every_optional_column_is_here() -> None:
    """Tests that a column that is added goes through the tests below, and that jobs tell of what they ask for."""
    assert GIVEN.keys() == OPTIONAL.keys()
    assert {field.name for field in fields(Job)} >= EXTRAS.keys()


@each
def test_columns_make_the_jobs_others(field: str) -> None:
    """Tests that jobs are equal where their columns are, and only there."""
    assert given(field) == given(field)
    assert given(field) != given(field, 1)
    assert given(field) != PLAIN


@each
def test_columns_stay_with_their_jobs(field: str) -> None:
    """Tests that taking, sorting and pickling jobs takes their columns along."""
    jobs = given(field)
    whole, some = (getattr(one, field).columns() for one in (jobs, jobs.take([3, 0])))
    assert {name: values.tolist() for name, values in some.items()} == {
        name: values[[3, 0]].tolist() for name, values in whole.items()
    }
    assert jobs.take([3, 2, 1, 0]).take([3, 2, 1, 0]) == jobs
    assert jobs.take([3, 2, 1, 0]).sorted().take([0, 1, 2, 3]) == jobs.take(range(4))
    assert pickle.loads(pickle.dumps(jobs)) == jobs


@each
def test_columns_of_several_logs_are_joined(field: str) -> None:
    """Tests that merged logs hold the columns of each, and nothing for the jobs of a log that has none."""
    logs = [replace(given(field, k), submit=PLAIN.submit + 10 * k) for k in (0, 1)]
    logs.append(replace(PLAIN, submit=PLAIN.submit + 20))
    merged = fs.Workload.merge(*logs, sites=("a", "b", "c"))
    for k, log in enumerate(logs):
        part = replace(merged.take(range(4 * k, 4 * k + 4)).renumbered(), sites=(), origin=-1, nodes=8)
        assert to_table(part, field) == to_table(log, field)
    assert getattr(fs.Workload.merge(PLAIN, name="plain"), field) is None


def to_table(jobs: fs.Workload, field: str) -> dict[str, list[object]]:
    """Return the columns that say something."""
    kind, part = OPTIONAL[field], getattr(jobs, field)
    columns = {} if part is None else part.columns()
    return {name: values.tolist() for name, values in columns.items() if (values != kind.NOTHING).any()}


@each
def test_columns_come_back_from_tables(field: str, tmp_path: Path) -> None:
    """Tests that CSV files and tables of pandas give the columns back, under names that are theirs alone."""
    jobs = given(field)
    jobs.write(tmp_path / "a.csv")
    assert fs.read(tmp_path / "a.csv") == jobs
    frame = jobs.to_frame()
    assert fs.Workload.from_frame(frame) == jobs
    assert {field_of(name) for name in frame.columns} == {None, field}
    assert optional_in({name: frame[name].to_numpy() for name in frame.columns}).keys() == {field}


@each
def test_columns_come_back_from_saved_results(field: str) -> None:
    """Tests that a saved result gives the columns back."""
    lost = ("cancel_at", "feedback", "slack", "gear")  # no such search, or machine, takes such jobs
    searched = PLAIN if field in lost else given(field)
    result = replace(fs.optimize(searched, fs.Federation.of(4, 4), evaluations=20, seed=1), workload=given(field))
    data = json.loads(json.dumps(as_data(result)))
    again = of_data(data).workload
    assert again == result.workload
    assert to_table(again, field) == to_table(given(field), field) != {}
    del data["workload"][field]  # as in files of before there was such a column
    assert getattr(of_data(data).workload, field) is None


@each_extra
def test_jobs_tell_what_they_ask_for(field: str, tmp_path: Path) -> None:
    """Tests that single jobs, and the jobs of a Batsim file, give back what they ask for; sums of it are shown."""
    jobs = given(field)
    assert fs.Workload.from_jobs(list(jobs), nodes=8) == jobs
    assert all(getattr(job, field) is None for job in PLAIN)
    jobs.write(tmp_path / "a.json")
    assert getattr(fs.read(tmp_path / "a.json"), field) == getattr(jobs, field)
    assert f"\n{field}: " in str(jobs)
    assert list(jobs.extras) == [field]


@each_extra
def test_what_jobs_ask_for_is_never_lost_in_silence(field: str, tmp_path: Path) -> None:
    """Tests that formats and simulators without a place for it name what they leave out."""
    if field == "feedback":  # which is what two of a log's fields are for
        given(field).write(tmp_path / "a.swf")
        assert fs.generate.feedback(fs.read(tmp_path / "a.swf"), "swf").feedback == given(field).feedback
    else:
        with pytest.raises(OutputError, match=rf"no place for {field}( \(name, account\))?;"):
            given(field).write(tmp_path / "a.swf")
    system = GangSystem(processors=(4,))
    assert any(field in note for note in gang_simulate(given(field), system).notes)
    assert not any(field in note for note in gang_simulate(PLAIN, system).notes)


@each_extra
def test_what_jobs_ask_for_makes_another_problem(field: str) -> None:
    """Tests that the runs of a comparison are told apart by what jobs ask for."""
    machine = fs.Federation.of(4, 4)
    jobs = (PLAIN, given(field), given(field, 1), given(field).take([3, 1, 2, 0]))
    assert len({Instance("i", one, machine).fingerprint() for one in jobs}) == len(jobs)


def test_fingerprints_of_pools_are_as_they_were() -> None:
    """Tests that comparisons that were saved go on: the fingerprint of a problem with pools does not change."""
    assert Instance("i", given("pools"), fs.Federation.of(4, 4)).fingerprint() == "affec6c3ceb3"


@pytest.mark.parametrize(
    "said", ['{"pools": 3}', '{"pools": {"a": "x"}}', '{"pools": {"a": -1}}', '{"allowed": ["nowhere"]}']
)
def test_nonsense_in_a_batsim_file_is_named(said: str, tmp_path: Path) -> None:
    """Tests that a job that asks for nonsense is an error that says which, or left out and counted."""
    path = tmp_path / "a.json"
    given("pools").write(path)
    text = path.read_text()
    wrong = text.replace('{\\"pools\\": {\\"ansys\\": 2}}', said.replace('"', '\\"'))
    assert wrong != text
    path.write_text(wrong)
    with pytest.raises(TraceError, match=r"job 1: (pools|allowed)="):
        fs.read(path)
    read = fs.read(path, on_error="skip")
    assert len(read) == 3
    assert read.cleaning is not None
    assert read.cleaning.malformed == 1
    assert read.pools.columns()["scratch GB"].tolist() == [500, 0, 10]


class Accounts(JobColumns):
    """A text a job, as a column of texts would be."""

    NAMES = ("account",)
    CELL = str
    NOTHING = ""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values

    @classmethod
    def of(cls, given: Any, ids: NDArray[np.int64]) -> Accounts:
        """Return the accounts."""
        return cls(np.asarray(given["account"], dtype=object))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the one column."""
        return {"account": self.values}


def test_a_column_of_texts_needs_no_more_than_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a kind of columns says what it holds, and is taken, joined, told apart and found in tables."""
    some = Accounts.of({"account": ["cms", "", "cms", "lhcb"]}, PLAIN.id)
    assert [some.of_job(row) for row in range(2)] == [{"account": "cms"}, None]
    back: Mapping[str, NDArray[Any]] = Accounts.of_jobs([some.of_job(row) for row in range(4)])
    assert Accounts.of(back, PLAIN.id) == some
    assert some.take(np.array([3, 0])) == Accounts.of({"account": ["lhcb", "cms"]}, PLAIN.id)
    joined = Accounts.joined([(some, 4), (None, 1)])
    assert joined == Accounts.of({"account": ["cms", "", "cms", "lhcb", ""]}, PLAIN.id)
    assert Accounts.joined([(None, 4)]) is None
    again = Accounts.of({"account": ["c" + "ms", "", "cms", "".join(("lh", "cb"))]}, PLAIN.id)
    other = Accounts.of({"account": ["cms", "", "cms", "cms"]}, PLAIN.id)
    assert some.fingerprint() == again.fingerprint() != other.fingerprint()
    assert some != given("log").log
    monkeypatch.setitem(OPTIONAL, "account", Accounts)
    assert (field_of("account"), field_of("accounts"), cell_of("account")) == ("account", None, str)
    assert optional_in({"account": some.values, "submit": PLAIN.submit})["account"] == {"account": some.values}


def test_a_long_text_takes_no_room_in_the_others_rows() -> None:
    """Tests that one long name, or one job after thousands, costs itself, not as much for every other job."""
    jobs = 100_000
    names = ["fit"] * jobs
    names[7] = "x" * 10_000
    after = [""] * jobs
    after[9] = "afterok:" + ":".join(map(str, range(10, 3_000)))
    many = fs.Workload(submit=0.0 * np.arange(jobs), tasks=1, runtime=1.0, labels={"name": names}, after=after)
    assert many.labels is not None
    assert many.after is not None
    for texts in (many.labels.texts["name"], many.after.texts, many.take(range(50)).after.texts):
        assert texts.nbytes <= 8 * jobs
    assert many[7].labels == {"name": "x" * 10_000}
    assert many.take([9])[0].after == "afterok:10" + "".join(f",afterok:{k}" for k in range(11, 3_000))
