"""Markets from files: read whole, refused with file, table, key and value; windows written as a table."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from fedsched import market

if TYPE_CHECKING:
    from pathlib import Path

RIGHT = """
interval = [0, 100]
reference = 2.0

[[node]]
performance = 4
price = 3.0
busy = [[10, 20], [50.5, 60]]

[[node]]
performance = 2.0
price = 1.5
watts = 90.0
count = 2

[[job]]
nodes = 2
length = 10
budget = 60.0
criterion = "min_cost"
name = "a,b"

[[job]]
nodes = 3
length = 5
"""


def test_a_market_is_what_its_file_says(tmp_path: Path) -> None:
    """Nodes, their tasks, equal nodes and jobs come out as written; what is left out has its default."""
    path = tmp_path / "market.toml"
    path.write_text(RIGHT)
    batch, environment = market.read_market(path)
    assert batch == [
        market.Request(nodes=2, length=10, budget=60.0, criterion="min_cost", name="a,b"),
        market.Request(nodes=3, length=5, name="2"),
    ]
    assert environment.performance.tolist() == [4.0, 2.0, 2.0]
    assert environment.price.tolist() == [3.0, 1.5, 1.5]
    assert environment.watts.tolist() == [135.0, 90.0, 90.0]
    assert environment.interval == (0.0, 100.0)
    assert environment.reference == 2.0
    assert environment.slots.on_node(0) == [(0.0, 10.0), (20.0, 50.5), (60.0, 100.0)]
    assert environment.slots.on_node(2) == [(0.0, 100.0)]


def test_windows_are_written_slot_by_slot(tmp_path: Path) -> None:
    """Every slot is a row; costs add up to what jobs pay; a comma in a name does not break the table."""
    path = tmp_path / "market.toml"
    path.write_text(RIGHT)
    plan = market.schedule(*market.read_market(path), method="backfilling")
    market.write_windows(plan, tmp_path / "windows.csv")
    with (tmp_path / "windows.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert [row["job"] for row in rows] == ["a,b"] * 2 + ["2"] * 3
    expected = [slot for window in plan.windows if window is not None for slot in window.slots]
    assert [(int(row["node"]), float(row["start"]), float(row["end"])) for row in rows] == expected
    assert sum(float(row["cost"]) for row in rows) == pytest.approx(plan.totals().cost)


def test_a_job_is_no_formula_in_the_table_of_windows(tmp_path: Path) -> None:
    """A name that a spreadsheet would take for a formula stands behind an apostrophe."""
    path = tmp_path / "market.toml"
    path.write_text(RIGHT.replace('"a,b"', """"=cmd|' /C calc'!A0\""""))
    market.write_windows(market.schedule(*market.read_market(path), method="backfilling"), tmp_path / "windows.csv")
    with (tmp_path / "windows.csv").open(newline="") as table:
        assert next(csv.DictReader(table))["job"] == "'=cmd|' /C calc'!A0"


def test_prices_of_a_file_change_from_their_times_on(tmp_path: Path) -> None:
    """`prices` of a node hold from their times on, for all nodes that it counts, and windows cost accordingly."""
    path = tmp_path / "market.toml"
    path.write_text(RIGHT.replace("price = 1.5", "price = 1.5\nprices = [[40, 9.0], [20, 0.5]]"))
    batch, environment = market.read_market(path)
    assert environment.cost_of([0, 1, 2], 15.0, 30.0).tolist() == [90.0, 62.5, 62.5]
    plan = market.schedule(batch[1:], environment, method="backfilling")
    market.write_windows(plan, tmp_path / "windows.csv")
    with (tmp_path / "windows.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert sum(float(row["cost"]) for row in rows) == pytest.approx(plan.totals().cost)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("price = 1.5", "price = 1.5\nprices = [[1]]", r"node 2: prices: \[1\] must be \[time, price\], two numbers"),
        ("price = 1.5", "price = 1.5\nprices = [[1, -2]]", r"price=-2\.0 must be finite and at least 0"),
        ("[50.5, 60]", "[15, 60]", r"node 0 has overlapping spans 10\.\.20 and 15\.\.60"),
        ("performance = 4", "performance = 0", r"node 0: performance=0\.0 must be finite and above 0"),
        ("performance = 4", "performance = -4", r"node 0: performance=-4\.0 must be finite and above 0"),
        ("performance = 4", "perfomance = 4", "node 1: Unknown key 'perfomance'. Did you mean 'performance'"),
        ("price = 3.0", "price = 'dear'", "node 1: price='dear' must be a number"),
        ("count = 2", "count = 0", "node 2: count=0 must be at least 1"),
        ("price = 3.0", "", "node 1: the key 'price' is missing"),
        ("count = 2", "count = 2.5", r"node 2: count=2\.5 must be a whole number"),
        ("[[10, 20], [50.5, 60]]", "[[10, 20, 30]]", r"busy: \[10, 20, 30\] must be \[start, end\], two numbers"),
        ('criterion = "min_cost"', 'criterion = "min_costs"', "Unknown criterion 'min_costs'. Did you mean 'min_cost'"),
        ("nodes = 2", "nodes = 0", "Request a,b: nodes=0 must be a whole number"),
        ("[0, 100]", "[100, 0]", "must have begin before end"),
        ("[[job]]\nnodes = 3", "[[jobs]]\nnodes = 3", "Unknown key 'jobs'. Did you mean 'job'"),
        ("interval = [0, 100]", "interval = ", "not valid TOML"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    """The error names the file, the table, the key and the cure."""
    path = tmp_path / "market.toml"
    assert old in RIGHT
    path.write_text(RIGHT.replace(old, new, 1))
    with pytest.raises(market.MarketFileError, match=message) as caught:
        market.read_market(path)
    assert "market.toml" in str(caught.value)
