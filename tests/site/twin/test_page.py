"""The page of a replay: its figures are those that were found, and what nothing explains stands there by its size."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fedsched.report.formatting import duration, share
from fedsched.site.twin import explain, figures, made_dump, read_site
from fedsched.site.twin.causes import EQUAL, SEVERAL, STATE, UNEXPLAINED
from fedsched.site.twin.page import LISTED, page

if TYPE_CHECKING:
    from fedsched.site.twin import Explained

HARM = "<img src=x onerror=harm>"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Explained:
    """Return what explains a dump under another policy than its own, or does not."""
    folder = made_dump(tmp_path_factory.mktemp("page") / "dump", jobs=150, nodes=16, policy="easy", seed=5)
    return explain(read_site(folder), "fcfs")


def rows_of(text: str, caption: str) -> list[list[str]]:
    """Return the cells of the table of this caption, without markup."""
    body = re.search(rf"<caption>{re.escape(caption)}[^<]*</caption>.*?<tbody>(.*?)</tbody>", text, re.DOTALL)
    assert body, caption
    lines = re.findall(r"<tr[^>]*>(.*?)</tr>", body[1], re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.DOTALL) for line in lines]
    return [[unescape(re.sub(r"<br>.*|<[^>]+>", "", cell)) for cell in line] for line in cells]


def test_causes_and_shares_are_those_that_were_found(found: Explained) -> None:
    """Every cause with its count and its own, and the shares on the cards."""
    text = page(found, repeat="fedsched twin report month")
    rows = {row[0]: row[1:] for row in rows_of(text, "Causes")}
    counts = found.counts()
    assert rows.keys() == counts.keys()
    for name, (count, own) in counts.items():
        assert rows[name][:2] == [f"{count:,}", share(count / len(found.cause))]
        assert rows[name][2] in (f"{own:,}", "–")
    recorded, _ = figures.waits(found.full)
    for figure in (share(found.plain.share), share(found.given_to), duration(float(recorded.mean()))):
        assert f'<p class="figure">{figure}</p>' in text
    assert "HPE FastSim reports 7.3" in text
    assert [row[0] for row in rows_of(text, "By how much jobs begin later")] == ["nothing given", "all facts given"]
    for name in ("partition", "QOS", "size", "users"):
        kinds = rows_of(text, f"By {name}")
        assert sum(int(row[1].replace(",", "")) for row in kinds) == len(found.cause)
    assert text.count("<svg") >= 3
    assert "fedsched twin report month" in text


def test_equal_starts_stand_apart_from_explained_ones(found: Explained) -> None:
    """The headline is what is equal with nothing given; facts, states before and what is left stand below it."""
    assert found.parts["equal"] == found.plain.share
    assert sum(found.parts.values()) == pytest.approx(1.0)
    cause = np.array([EQUAL] * 5 + ["held", SEVERAL] + [STATE] * 2 + [UNEXPLAINED])
    mixed = replace(found, cause=cause, own=np.zeros(10, dtype=np.bool_))
    assert list(mixed.parts.values()) == [0.5, 0.2, 0.2, 0.1]
    card = page(replace(found, cause=np.resize(cause, found.cause.size))).partition('class="card"')[2]
    card = card.partition('class="card"')[0]
    assert "<h3>equal starts</h3>" in card
    listed = re.findall(r"<li>([^<]*): ", card)
    assert listed == ["explained by a recorded fact", "set right by the state before it", "unexplained"]


def test_every_section_that_is_linked_is_there(found: Explained) -> None:
    """The links above the page lead to its sections, in their order."""
    text = page(found)
    assert re.findall(r'<a href="#(\w+)"', text) == re.findall(r'<section id="(\w+)"', text)


def test_what_nothing_explains_is_listed_the_largest_first(found: Explained) -> None:
    """Fifty at most, by how far apart they are; names of people are text."""
    labels = found.site.records.labels
    hostile = replace(found.site.records, labels=labels | {"user": np.full(len(found.site.records), HARM)})
    none = replace(
        found,
        site=replace(found.site, records=hostile),
        cause=np.where(found.plain.equal, EQUAL, UNEXPLAINED),
        full=found.plain,
    )
    text = page(none)
    left = int((~found.plain.equal).sum())
    rows = rows_of(text, f"{left} starts that nothing explains")
    assert len(rows) == min(left, LISTED) > 3
    apart = [abs(float(row[-1].removesuffix(" s").replace(",", ""))) for row in rows if row[-1].endswith(" s")]
    assert apart == sorted(apart, reverse=True)
    late = np.abs(found.plain.later)[~found.plain.equal]
    assert apart[0] == round(float(late[np.isfinite(late)].max()))
    assert HARM not in text
    assert "Nothing." in page(replace(found, cause=np.full(len(found.cause), EQUAL)))
