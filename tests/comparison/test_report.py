"""The report: one page that stands alone, says what was found, and how to repeat it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from fedsched.comparison import Comparison
from fedsched.comparison.report import page
from fedsched.core.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

METHODS = ("good", "middling", "bad")
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Follows the page: that tags close in order, which ids there are, and what would be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag."""
        self.tags.append(tag)
        self.open += [tag] * (tag not in VOID)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "data") and not (value or "").startswith("#"):
                self.fetched.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that closes itself."""
        self.handle_starttag(tag, attrs)
        self.open = self.open[: -1 if tag not in VOID else None]

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost tag, which this must be."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Gather the text."""
        self.text += data


def read(text: str) -> Reader:
    """Return the page, read, all its tags closed."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def text(run_of: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the report of three methods with fronts, the first the best, on eight instances with a seed each."""
    runs = [
        run_of(name, method, seed, [10 + 3 * k + seed / 10, 20 + 2 * k], [20 + k, 10 + k + seed / 5],
               versions={"toy": "1"}, bounds=(9.0, None))
        for name, seed in zip(("<first>", *"bcdefgh"), [0, 1, 2, 3] * 2, strict=True)
        for k, method in enumerate(METHODS)
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("report") / "report.html"
    Comparison(tuple(runs)).report(path, title="Good & bad")
    return path.read_text(encoding="utf-8")


@pytest.fixture
def single(makespans: Callable[..., Comparison]) -> Comparison:
    """Return the same methods with one objective on one instance."""
    values = {("second", name): [10.0 + k + seed / 10 for seed in range(8)] for k, name in enumerate(METHODS)}
    return makespans(values, versions={"toy": "1"})


def test_the_page_stands_alone(text: str) -> None:
    """Tests that the page is well-formed, fetches nothing, needs no script, and uses no id twice."""
    found = read(text)
    assert found.fetched == []
    assert not {"script", "link", "img", "iframe"} & set(found.tags)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert len(found.ids) == len(set(found.ids))
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', text)) <= set(found.ids)
    assert "<h1>Good &amp; bad</h1>" in text
    assert "<first>" not in text
    assert "&lt;first&gt;" in text


def test_the_page_says_what_was_found(text: str) -> None:
    """Tests that every measure has its table, tests and both pictures, and that the statements are there."""
    found = read(text)
    measures = ("hypervolume", "igd plus", "epsilon", "epsilon ratio", "makespan", "energy")
    assert found.tags.count("h2") == len(measures) + 1
    assert found.tags.count("svg") == 2 * len(measures)
    assert all(name in found.text for name in measures)
    assert "Friedman over 8 instances and 3 methods" in found.text
    assert found.text.count("ahead") >= len(measures)
    assert "critical difference" in found.text
    assert "Not shown" not in found.text


def test_the_verdict_stands_before_all_tables(text: str, single: Comparison) -> None:
    """The first thing on the page says which method is best and whom it is ahead of, or that there is no test."""
    found, alone = read(text).text, read(page(single)).text
    assert "good ranks first of 3 methods on 8 instances by hypervolume: average rank 1.00, then " in found
    assert "A test shows that good is better than every other method (Wilcoxon" in found
    assert found.index("The verdict") < found.index("What was compared") < found.index("Friedman")
    assert found.index("Wilcoxon's signed-rank test") < found.index("median")
    assert "No test shows a difference: one instance" in alone


def test_methods_that_share_the_best_rank_are_named_together(makespans: Callable[..., Comparison]) -> None:
    """Of methods with equal ranks the verdict prefers none."""
    worse = {"good": 0.0, "level": 0.0, "bad": 5.0}
    values = {(f"i{k}", name): [10.0 + k + more] for k in range(8) for name, more in worse.items()}
    assert "good and level rank first together of 3 methods" in read(page(makespans(values))).text


def test_the_page_says_how_to_repeat_it(single: Comparison) -> None:
    """Tests that methods, seeds, budget, versions and fingerprints are there, or the command that was given."""
    text = read(page(single)).text
    assert "('good', 'middling', 'bad')" in text
    assert "(0, 1, 2, 3, 4, 5, 6, 7)" in text
    assert "Budget(evaluations=100, seconds=None)" in text
    assert "toy 1" in text
    assert "fsecond" in text
    given = read(page(single, repeat="fedsched compare <me>")).text
    assert "fedsched compare <me>" in given
    assert "Budget(" not in given


def test_the_same_comparison_gives_the_same_page(single: Comparison) -> None:
    """Tests that no date and no chance is in the page."""
    assert page(single) == page(single)


def test_failures_and_too_few_runs_are_said(makespans: Callable[..., Comparison]) -> None:
    """Tests that a page on few runs, some failed, says why there are no tests, and lists the failures."""
    found = read(page(makespans({("x", "a"): [1.0, None], ("x", "b"): [2.0, 3.0]}, versions={"toy": "1"})))
    assert "Failed runs" in found.text
    assert "ValueError: it broke" in found.text
    assert found.text.count("Not shown: ") == 3
    assert "no test: one instance" in found.text
    nothing = read(page(makespans({("x", "a"): [None], ("x", "b"): [None]})))
    assert "of which 2 failed" in nothing.text
    alone = read(page(makespans({("x", "a"): [1.0, 2.0]})))
    assert "at least 2 methods" in alone.text


def test_mixed_versions_are_said(run_of: Callable[..., Any]) -> None:
    """Tests that runs made by two versions are not passed off as one."""
    runs = tuple(run_of("x", "a", seed, [1.0], versions={"toy": str(seed)}) for seed in range(2))
    assert "more than one version" in page(Comparison(runs))
    assert "more than one version" not in page(Comparison(runs[:1]))
    other = run_of("x", "b", 0, [1.0], versions={"toy": "0", "package": "2"})
    alike = page(Comparison((runs[0], other)))  # a method of another package beside one of ours
    assert "more than one version" not in alike
    assert "Made with toy 0, package 2." in alike


def test_a_page_that_cannot_be_written_is_an_error(single: Comparison, tmp_path: Path) -> None:
    """Tests that a folder that is not there is said in one line, and so are wrong options."""
    for wrong in ({"alpha": 2.0}, {"by": "seed"}):
        with pytest.raises(ValueError, match="must"):
            single.report(tmp_path / "report.html", **wrong)
    with pytest.raises(OutputError, match="does not exist"):
        single.report(tmp_path / "no" / "report.html")


def test_pictures_can_be_drawn_alone(single: Comparison) -> None:
    """Tests that both pictures take a measure and give axes, named after what they show."""
    assert set(METHODS) == {line.get_label() for line in single.plot_profile("makespan").lines}
    assert single.plot_profile("makespan").get_xlabel() == "makespan, times the best"
    assert any("(1.00)" in text.get_text() for text in single.plot_ranks(by="run").texts)
