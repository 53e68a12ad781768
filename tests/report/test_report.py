"""The report's page: what is in it, that nothing gets out of its place, and how large it is."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.report_cases import data_of, unpacked

import fedsched as fs
from fedsched import cli
from fedsched.model.reading import UNRECORDED, Reading
from fedsched.optimize.result import Result
from fedsched.report import formatting, material, of_result, of_schedules, page, plan_data, repeat_code, summary
from fedsched.report.plan_data import NEVER, jobs_of, packed, plan_of, tick_of

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.model.schedule.schedule import Schedule


@pytest.fixture(scope="module")
def text(result: Result) -> str:
    """Return the small result's page."""
    return page(of_result(result))


def test_only_the_pages_own_script_and_style_run(text: str) -> None:
    """Tests that the policy forbids everything but the style and the script whose hashes it names."""
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    assert policy
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        body = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
        assert len(body) == 1
        name = base64.b64encode(hashlib.sha256(body[0].encode()).digest()).decode()
        assert f"{rule} 'sha256-{name}'" in policy[1]
    assert "unsafe" not in policy[1]
    assert not re.search(r"(?:src|href)=['\"](?!#)", text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_markup_in_names_stays_text(hostile: Path) -> None:
    """Tests that a name which ends scripts and begins others ends up in no element of the page but as text."""
    text = hostile.read_text(encoding="utf-8")
    assert text.count("</script>") == 2  # the data's and the code's own
    assert "<img" not in text
    assert "<svg" not in text
    assert data_of(text)["clusters"][0]["name"] == "<img src=x onerror=window.harmed=1> one"


def test_a_saved_result_gives_the_same_page(result: Result, text: str, tmp_path: Path) -> None:
    """Tests that the page of a result read back from its file is the same, byte for byte, but for what that says."""
    result.save(tmp_path / "result.json.gz")
    Result.load(tmp_path / "result.json.gz").report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    said = "From a file: front and baselines made again; unverified: bounds, history and what the search took."
    assert page.count(said) == 1
    assert page.replace(f"<p>{said}</p>", "") == text


def test_the_sizes_are_those_of_the_jobs() -> None:
    """Tests that the least job's nodes are said as they are, and not as one."""
    workload = fs.Workload(submit=[0.0] * 4, tasks=[8, 16, 24, 32], runtime=[5.0] * 4, name="wide")
    text = page(of_schedules([fs.simulate(workload, fs.Federation.of(32))]))
    assert "wide: 4 jobs, 8 to 32 nodes each" in text
    alike = fs.Workload(submit=[0.0] * 2, tasks=[4, 4], runtime=[5.0] * 2, name="alike")
    assert "alike: 2 jobs, 4 nodes each" in page(of_schedules([fs.simulate(alike, fs.Federation.of(32))]))


def test_what_is_optimal_is_said_to_be(tmp_path: Path) -> None:
    """Tests that a plan as good as the bound, but for rounding, is optimal, and no tiny share above it."""
    two = fs.Workload(submit=[0.0] * 2, tasks=[4, 4], runtime=[100.0] * 2, name="two")
    fs.optimize(two, fs.Federation.of(64), evaluations=200, progress=False).report(tmp_path / "two.html")
    text = (tmp_path / "two.html").read_text(encoding="utf-8")
    assert "<strong>optimal</strong> as the bound proves" in text
    assert "no gap" in text
    assert "gap ≤" not in text


def test_every_plan_and_baseline_is_there(result: Result, text: str) -> None:
    """Tests that plans and baselines are entries with their values, and that plans have the metrics of their values."""
    entries = data_of(text)["entries"]
    assert [one["kind"] for one in entries] == ["plan"] * len(result.front) + ["baseline"] * 3
    for one, values in zip(entries, result.front.values.tolist(), strict=False):
        assert one["values"] == values == [one["metrics"]["makespan"], one["metrics"]["energy"]]
    assert all(one["plan"] for one in entries if one["label"] != "sjf-greedy")
    for policy in ("fcfs", "easy", "sjf-greedy"):
        assert f">{policy}</th>" in text
    assert "≤\u00a0" not in text
    assert f"≤ {formatting.share(result.gap('energy'))}" in text


def test_times_and_nodes_come_back(result: Result) -> None:
    """Tests that starts, finishes and node numbers packed into the page are those of the schedule."""
    schedule = result.knee()
    tick = tick_of([schedule])
    plan, jobs = unpacked(plan_of(schedule, tick)), unpacked(jobs_of(schedule, tick))
    np.testing.assert_allclose(plan["start"] * tick, schedule.start - schedule.t0, atol=tick / 2)
    np.testing.assert_allclose(plan["finish"] * tick, schedule.finish - schedule.t0, atol=tick / 2)
    np.testing.assert_array_equal(jobs["id"], schedule.workload.id)
    np.testing.assert_array_equal(jobs["bandwidth"], schedule.workload.task_bandwidth)
    ends = np.cumsum(plan["pieces"])
    for job, runs in enumerate(schedule.node_numbers()):
        here = slice(ends[job] - plan["pieces"][job], ends[job])
        assert list(zip(plan["first"][here], plan["first"][here] + plan["nodes"][here] - 1, strict=True)) == list(runs)


def test_jobs_that_did_not_run_have_no_bar() -> None:
    """Tests that a job never started, and one cut off, are packed without nodes, and the page counts the others."""
    workload = fs.Workload(submit=[0.0, 0.0, 0.0], tasks=[1, 1, 1], runtime=[5.0, 6.0, 7.0])
    whole = fs.simulate(workload, fs.Federation.of(3))
    start, finish = whole.start.copy(), whole.finish.copy()
    start[1] = finish[1] = finish[2] = np.nan
    part = replace(whole, start=start, finish=finish, notes=("cut off",))
    plan = unpacked(plan_of(part, tick_of([part])))
    assert plan["pieces"].tolist() == [1, 0, 0]
    assert plan["start"].tolist() == [0, NEVER, NEVER]
    text = page(of_schedules([part]))
    assert "1 of 3 jobs finish" in text
    assert "Cut off." in text


def test_short_times_keep_their_digits() -> None:
    """Tests that a schedule of microseconds is packed as finely as one of years is whole."""
    workload = fs.Workload(submit=[0.0, 1e-6], tasks=[1, 1], runtime=[3e-6, 5e-6])
    short = fs.simulate(workload, fs.Federation.of(2))
    tick = tick_of([short])
    np.testing.assert_allclose(unpacked(plan_of(short, tick))["finish"] * tick, short.finish, rtol=1e-6)
    years = replace(short, finish=np.array([3e9, 4e9]))
    assert unpacked(plan_of(years, tick_of([years])))["finish"].max() < 2**31


@pytest.mark.parametrize("values", [[], [0, 255], [0, 256], [70_000], [-1, 3], [2**40], [0.5, 1e300]])
def test_columns_take_the_narrowest_type(values: list[float]) -> None:
    """Tests that whatever is packed comes back exactly."""
    column = np.array(values) if values else np.zeros(0, dtype=np.int64)
    back = unpacked(packed({"one": column, "two": column[:1]}))
    np.testing.assert_array_equal(back["one"], column)
    np.testing.assert_array_equal(back["two"], column[:1])


def test_ten_thousand_jobs_stay_small(many_jobs: Schedule, pages: dict[str, Path]) -> None:
    """Tests that the page of ten thousand jobs is well under three megabytes, a whole front of them too."""
    assert pages["many"].stat().st_size < 600_000
    one = len(plan_of(many_jobs, tick_of([many_jobs]))["bytes"])
    assert pages["many"].stat().st_size + one * (plan_data.MOST_DRAWN // len(many_jobs)) < 3_000_000


def test_what_has_no_room_is_said(many_jobs: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that above the page's limit only some plans are drawn, the first among them, and that the page says so."""
    monkeypatch.setattr(plan_data, "MOST_DRAWN", 25_000)
    monkeypatch.setattr(material, "LEAST_DRAWN", 1)
    found = of_schedules([replace(many_jobs, policy=f"plan {k}") for k in range(4)])
    assert [entry.drawn for entry in found.entries] == [True, True, False, False]
    assert "2 of 4 plans are listed without their Gantt charts" in page(found)


def test_the_knee_and_the_ends_are_drawn_first(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that of a front too large for the page the knee, both ends and the usual baselines are kept."""
    monkeypatch.setattr(plan_data, "MOST_DRAWN", 5 * 60)
    found = of_result(result)
    drawn = [entry.label for entry in found.entries if entry.drawn]
    knee = found.entries[result.front.knee_index()].label
    assert set(drawn) == {knee, "plan 1", f"plan {len(result.front)}", "fcfs", "easy"}


def test_one_objective_and_one_schedule(result: Result) -> None:
    """Tests that a search for one objective, and a schedule alone, make pages of the sections that they have."""
    one = replace(
        result,
        objectives=("makespan",),
        weights=(1.0,),
        front=replace(result.front, objectives=("makespan",), values=result.front.values[:1, :1],
                      plans=result.front.plans[:1]),
        baselines=tuple(replace(b, values=b.values[:1]) for b in result.baselines),
        energy_penalty=float("nan"),
        bound_front=np.zeros((0, 2)),
        history=(),
    )  # fmt: skip
    text = page(of_result(one))
    assert 'id="front"' in text
    assert 'id="progress"' not in text
    assert "front-across" not in text.replace(re.search(r"<script>.*</script>", text, flags=re.DOTALL)[0], "")
    alone = page(of_schedules([result.knee()]))
    assert 'section id="front"' not in alone
    assert 'section id="schedule"' in alone


def test_schedules_of_different_jobs_are_refused(result: Result, many_jobs: Schedule) -> None:
    """Tests that schedules side by side must be of the same jobs on the same nodes."""
    with pytest.raises(ValueError, match="another workload or federation than"):
        of_schedules([result.knee(), many_jobs])


def test_what_comes_out_in_each_schedule_does_not_make_other_jobs_of_them() -> None:
    """Tests that jobs that follow others, and jobs of several shapes, are drawn side by side, each as it came out."""
    machine = fs.Federation.homogeneous(4)
    follows = {"preceding": [0, 0, 0, 2], "think_time": [0.0, 0.0, 0.0, 1.0]}
    waiting = fs.Workload(submit=[0, 0, 0, 1], tasks=[3, 4, 1, 1], runtime=[9, 5, 5, 2], feedback=follows)
    schedules = [fs.simulate(waiting, machine, policy) for policy in ("fcfs", "greedy", "sjf-greedy")]
    assert schedules[0].workload.submit[3] != schedules[2].workload.submit[3]
    jobs = fs.Workload(submit=[0, 0], tasks=[3, 2], runtime=[4, 5], alternatives={2: "2x5|4x3|1x8"})
    molded = [fs.simulate(jobs, machine, policy, alternatives="earliest_finish") for policy in ("fcfs", "easy")]
    molded.append(fs.simulate(jobs, machine, "fcfs"))
    assert molded[0].workload.tasks[1] != molded[2].workload.tasks[1]
    for several in (schedules, molded):
        text = page(of_schedules(several))
        assert all(one.policy.partition(" on ")[0] in text for one in several)


def test_policies_alike_in_energy_are_told_apart_by_slowdown() -> None:
    """Tests that schedules whose energies read the same are drawn by wait and slowdown, others by wait and energy."""
    group = fs.NodeGroup(8, busy_watts=200.0, idle_watts=0.0)
    federation = fs.Federation((fs.Cluster("one", (group,)),))
    workload = fs.Workload(submit=[0.0, 1.0, 2.0], tasks=[6, 8, 2], runtime=[50.0, 60.0, 40.0])
    alike = [fs.simulate(workload, federation, policy) for policy in ("easy", "fcfs")]
    assert of_schedules(alike).objectives == ("mean_wait", "bounded_slowdown")
    idle = replace(federation, clusters=(fs.Cluster("one", (replace(group, idle_watts=100.0),)),))
    assert alike[0].makespan != alike[1].makespan
    unlike = [fs.simulate(workload, idle, policy) for policy in ("easy", "fcfs")]
    assert of_schedules(unlike).objectives == ("mean_wait", "energy")


def test_the_page_says_how_many_of_the_records_it_holds(tmp_path: Path) -> None:
    """Tests that of a log's part the page says how many of the records kept are here, and of a whole log nothing."""
    fs.write(fs.Workload.example(), tmp_path / "log.swf")
    whole = fs.read(tmp_path / "log.swf")
    assert whole.cleaning is not None
    said = f"{whole.cleaning.kept:,} of {whole.cleaning.records:,} records kept"
    for part, told in ((whole.head(30), "; of those, 30 are here"), (whole, "")):
        text = page(of_schedules([fs.simulate(part, fs.Federation.example())]))
        assert said in text
        assert ("are here" in text) == bool(told)
        assert told in text


@pytest.mark.parametrize("option", ["price_per_kwh", "co2_per_kwh"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_factors_must_be_numbers(many_jobs: Schedule, tmp_path: Path, option: str, value: float) -> None:
    """Tests that a price or a factor below zero or not finite is refused, by its name, before anything is written."""
    with pytest.raises(ValueError, match=f"{option}=.* must be a finite number of at least 0"):
        many_jobs.report(tmp_path / "report.html", **{option: value})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("gain", "number"), [(2.8e-5, "0.0028 %"), (-123.4567, "−12345.7 %"), (0.5, "50.0 %")])
def test_a_gain_is_text_that_nothing_cuts(gain: float, number: str) -> None:
    """Tests that however long a gain's number is, it stands beside its bar and not within the plan_data."""
    text, mark, drawing = str(summary._bar(gain)).partition("<svg")
    assert (text.replace("\u202f", " ").replace("\xa0", " "), mark) == (number, "<svg")
    assert "<text" not in drawing


def test_numbers_read_well() -> None:
    """Tests the units that numbers are said in."""
    gap = formatting.GAP
    assert formatting.duration(0.25) == f"0.25{gap}s"
    assert formatting.duration(151_458) == f"42.07{gap}h"
    assert formatting.duration(40 * 86400) == f"40{gap}d"
    assert formatting.measure("energy", 3.7859e9) == f"1.052{gap}MWh"
    assert formatting.measure("utilisation", 0.5) == f"50.0{gap}%"
    assert formatting.share(0.0001234) == f"0.012{gap}%"
    assert formatting.measure("my own", 1234567.0) == "1,234,567"
    assert formatting.measure("makespan", float("nan")) == "–"
    assert formatting.column("makespan", [7200.0, 36000.0, float("nan")]) == ("makespan, h", ["2.00", "10.00", "–"])
    assert formatting.column("mean_wait", [0.0, 0.0]) == ("mean wait, s", ["0", "0"])
    assert formatting.listed(["a", "b", "c"]) == "a, b and c"


# ---- how to repeat it ------------------------------------------------------------------------------------------------


def test_the_code_for_a_schedule_makes_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the Python in the page of a simulated schedule runs and gives the schedule of the same hash."""
    monkeypatch.chdir(tmp_path)
    schedule = fs.simulate(fs.Workload.example().head(40).scale_load(2.0), fs.Federation.example(), "fcfs")
    code = repeat_code.python_of(of_schedules([schedule]))
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["schedule"] == schedule
    assert schedule.start_hash() in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_what_no_policy_makes_has_no_code(tmp_path: Path) -> None:
    """Tests that schedules whose makers are no policies' names are named, and that no Python is given that fails."""
    schedule = fs.simulate(fs.Workload.example().head(20), fs.Federation.example(), "fcfs")
    home = replace(schedule, policy="at home")
    both = of_schedules([schedule, home])
    assert "'fcfs'" in repeat_code.python_of(both)
    assert "at home" not in repeat_code.python_of(both)
    assert "no Python is given: at home." in " ".join(repeat_code.warnings_of(both))
    assert not repeat_code.python_of(of_schedules([home]))
    home.report(tmp_path / "home.html")
    assert "In Python" not in (tmp_path / "home.html").read_text(encoding="utf-8")


@pytest.mark.compiled
def test_the_code_for_a_result_makes_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Python and command in the page of a search run and give the same front."""
    monkeypatch.chdir(tmp_path)
    found = fs.optimize(fs.Workload.example().head(30), fs.Federation.example(), evaluations=300, seed=5)
    found.save("result.json")
    loaded = Result.load("result.json")
    assert loaded.settings == found.settings
    names: dict[str, Any] = {}
    exec(repeat_code.python_of(of_result(loaded)), names)
    np.testing.assert_array_equal(names["result"].front.values, found.front.values)
    first, second = repeat_code.command_of(loaded).splitlines()
    assert cli.run(first.split()[1:]) == 0
    np.testing.assert_array_equal(Result.load("result.json").front.values, found.front.values)
    assert cli.run(second.split()[1:]) == 0


@pytest.fixture
def own_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a log of somebody's own, in the folder at hand, which bears the name of a shipped one."""
    monkeypatch.chdir(tmp_path)
    jobs = fs.Workload.example().head(30)
    fs.write(replace(jobs, runtime=jobs.runtime + 1, estimate=jobs.runtime), tmp_path / "sample.swf.gz")
    return tmp_path / "sample.swf.gz"


@pytest.mark.parametrize("options", [{}, {"over_request": "cap"}])
@pytest.mark.parametrize("name", ["sample.swf.gz", "my log (1).csv"])
def test_the_code_reads_the_file_that_was_read(options: dict[str, Any], name: str, own_log: Path) -> None:
    """Tests that the file read last is named, with the options of that reading, and no shipped log for its name."""
    workload = fs.read(own_log, **options)
    if name.endswith(".csv"):
        fs.write(workload.head(20), name)  # what was done before the file was written, it holds
        workload = fs.read(name)
    talks = workload.head(10).with_communication(bandwidth=2e8, spread=2.0, seed=3)
    schedule = fs.simulate(talks, fs.Federation.example(), "fcfs")
    names: dict[str, Any] = {}
    exec(repeat_code.python_of(of_schedules([schedule])), names)
    assert names["schedule"] == schedule


@pytest.mark.compiled
def test_the_command_reads_the_file_that_was_read(own_log: Path) -> None:
    """Tests that the command names the file read last, and that there is none for what the command cannot read."""

    def command(workload: fs.Workload) -> str:
        found = fs.optimize(workload, fs.Federation.example(), method="random", evaluations=5)
        return repeat_code.command_of(found).partition(" --federation")[0]

    workload = fs.read(own_log)
    fs.write(workload.head(20), "my log.csv")
    assert command(workload) == "fedsched optimize sample.swf.gz"
    assert command(fs.read("my log.csv").head(12).head(10)) == "fedsched optimize 'my log.csv' --head 10"
    assert command(fs.Workload.example().head(10)) == "fedsched optimize sample --head 10"
    talks = fs.Workload.example().head(10).with_communication(bandwidth=2e6)
    assert command(talks) == "fedsched optimize sample --head 10 --communication 2e+06"
    assert command(talks.with_communication(bandwidth=2e6, seed=3)) == ""
    for without in (fs.read(own_log, over_request="cap"), workload.scale_load(2), replace(workload, history=())):
        assert command(without) == ""


def test_what_a_repetition_lacks_is_said(result: Result) -> None:
    """Tests that logs, seconds, given plans and rules that the record does not hold are named."""
    asked = replace(result.settings, seconds=10.0, evaluations=None, initial=3, own_rules=True)
    said = " ".join(repeat_code.warnings_of(of_result(replace(result, settings=asked))))
    for part in ("'sixty'", "budget in seconds", "3 plans", "stopping rules of its own"):
        assert part in said
    old = replace(result, settings=replace(result.settings, evaluations=None), stop_reason="10 s")
    assert "old one" in " ".join(repeat_code.warnings_of(of_result(old)))


def test_a_schedule_s_reading_is_in_the_call_and_on_the_page() -> None:
    """Tests that what a policy knew and how it read instants is repeated and shown, and named where it is not known."""
    workload, machine = fs.Workload.example().head(20), fs.Federation.example()
    schedule = fs.simulate(workload, machine, same_time="sequential", knowledge="runtime")
    seen = of_schedules([schedule])
    assert "same_time='sequential', knowledge='runtime'" in repeat_code.python_of(seen)
    assert not any("not recorded" in line for line in repeat_code.warnings_of(seen))
    assert "run times are known (clairvoyant); events of one instant" in summary.facts(seen)
    foreign = of_schedules([replace(schedule, reading=UNRECORDED)])
    assert any("not recorded what a policy knew" in line for line in repeat_code.warnings_of(foreign))


def test_what_differs_from_the_defaults_is_in_the_call(result: Result) -> None:
    """Tests that weights, baselines and time's origin are passed again where they are not the usual ones."""
    plain = repeat_code.python_of(of_result(result))
    assert "baselines=('fcfs', 'easy', 'sjf-greedy')" in plain
    assert repeat_code.command_of(result) == ""
    assert "weights" not in plain
    weighted = replace(result, weights=(0.9, 0.1))
    assert "weights=(0.9, 0.1)" in repeat_code.python_of(of_result(weighted))
    settings = replace(result.settings, submits="keep", t0=-5.0, package=20, reading=Reading())
    kept = replace(result, settings=settings)
    code = repeat_code.python_of(of_result(kept))
    assert all(part in code for part in ("submits='keep'", "t0=-5.0", "package=20", "knowledge='estimate'"))
    own = replace(
        result, objectives=("my cost", "energy"), front=replace(result.front, objectives=("my cost", "energy"))
    )
    assert "functions of your own: my cost" in " ".join(repeat_code.warnings_of(of_result(own)))


def test_what_is_maximised_keeps_its_sign(result: Result) -> None:
    """Tests that a search's history of utilisation, kept negative, is shown as it is measured, and gains count up."""
    front = replace(result.front, objectives=("utilisation", "energy"))
    moments = tuple(replace(moment, best=(-0.5, moment.best[1])) for moment in result.history)
    found = replace(result, objectives=("utilisation", "energy"), front=front, history=moments, lower_bounds={})
    text = page(of_result(found))
    assert data_of(text)["history"][0][2][0] == 0.5
    assert f"50.0{formatting.GAP}%" in text
    best = found.value("utilisation")
    assert f"{formatting.share(best / found.baselines[0].values[0] - 1)}" in text


def test_the_federation_travels_with_the_page(result: Result, text: str, tmp_path: Path) -> None:
    """Tests that the page holds the federation's file, from which the same federation is read."""
    toml = re.search(r"The federation as a file</summary><pre>(.*?)</pre>", text, flags=re.DOTALL)
    assert toml
    (tmp_path / "federation.toml").write_text(toml[1].replace("&quot;", '"'), encoding="utf-8")
    assert fs.read_federation(tmp_path / "federation.toml").clusters == result.federation.clusters


# ---- the command -----------------------------------------------------------------------------------------------------


def test_the_command_reports_a_saved_result(result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that `fedsched report` writes the page of a saved result, and says as JSON what it wrote."""
    result.save(tmp_path / "result.json")
    out = tmp_path / "report.html"
    words_ = ["report", str(tmp_path / "result.json"), "--out", str(out), "--price", "0.3", "--co2", "0.4", "--json"]
    assert cli.run(words_) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["report"] == str(out)
    assert said["bytes"] == out.stat().st_size
    assert len(said["plans"]) == len(result.front) + 3
    assert 'value="0.3"' in out.read_text(encoding="utf-8")


def test_the_command_reports_policies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that `fedsched report` of a log simulates the policies, and that the page holds the command."""
    out = tmp_path / "report.html"
    words_ = ["report", "sample", "--federation", "example", "--head", "30", "--policy", "easy", "--policy", "fcfs"]
    assert cli.run([*words_, "--out", str(out)]) == 0
    assert "2 schedules)" in capsys.readouterr().out
    text = out.read_text(encoding="utf-8")
    assert f"fedsched {' '.join(words_)} --out report.html" in text
    assert {one["label"] for one in data_of(text)["entries"]} == {"easy", "fcfs"}


def test_a_file_is_taken_apart_once(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that telling a result from a Batsim workload costs no parsing: each file's JSON is read once."""
    from fedsched.io import files

    result.save(tmp_path / "result.json.gz")
    fs.write(result.workload, tmp_path / "jobs.json")
    loads = json.loads
    for name, options in (("result.json.gz", []), ("jobs.json", ["--nodes", "64"])):
        counted: list[int] = []

        def read(text: str, counted: list[int] = counted, **how: Any) -> Any:
            counted.append(len(text))
            return loads(text, **how)

        monkeypatch.setattr(json, "loads", read)
        assert cli.run(["report", str(tmp_path / name), *options, "--out", str(tmp_path / "report.html")]) == 0
        size = len(files.read_text(tmp_path / name))
        assert [length for length in counted if length == size] == [size]
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["result.json", "--out", "x.html", "--head", "3"], "out, which is for logs"),
        (["sample", "--out", "x.png"], "is no format; a report must be .html"),
        (["missing.json", "--out", "x.html"], "missing.json"),
        (["sample", "--nodes", "128", "--out", "x.html", "--price", "-1"], "price_per_kwh=-1.0 must be"),
    ],
)
def test_the_command_refuses_in_a_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that what cannot be reported is refused in one line, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    assert cli.run(["report", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
