"""Values of Slurm's JSON by each of its versions, and answers with anything in the place of anything."""

from __future__ import annotations

import json
import math
import random
from typing import TYPE_CHECKING, Any

import pytest
from support.fake_slurm import FakeSlurm, Job, running
from support.tiers import tries

from fedsched.core.errors import FedschedError
from fedsched.io import read
from fedsched.io.slurm_files.slurm_json import count, number, signed, text, texts, words
from fedsched.site.steer import read_queue
from fedsched.site.steer.picture import picture_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fedsched.site.steer.commands import Command

JUNK = (
    "null", "true", "0", "-1", "5", "1.5", "4294967295", "4294967294", "4294967196", "18446744073709551615", "1e400",
    "NaN", "-1e308", "9" * 400, '""', '"x"', '"n[1-"', '"n[1-3]"', '"n[1-2147483647]"', '"PENDING"', '"COMPLETING"',
    '"a\\nb"', "[]", "{}", "[5]", '["x"]', "[[]]", '{"set": true, "infinite": false, "number": 7}',
    '{"set": true, "infinite": true, "number": 0}', '{"set": false}', '{"number": {}}', '{"set": "x", "number": []}',
)  # fmt: skip
SACCT = {
    "jobs": [
        {
            "job_id": 7, "array": {"job_id": 7, "task_id": {"set": True, "infinite": False, "number": 3}},
            "time": {"submission": 100, "eligible": 100, "start": 200, "end": 260, "elapsed": 60, "suspended": 0,
                     "limit": {"set": True, "infinite": False, "number": 10}},
            "state": {"current": ["COMPLETED"], "reason": "None"}, "user": "ann", "account": "a", "partition": "p",
            "tres": {"allocated": [{"type": "cpu", "name": "", "count": 4}, {"type": "node", "name": "", "count": 2}],
                     "requested": [{"type": "cpu", "name": "", "count": 4}]},
            "required": {"CPUs": 4}, "association": {"user": "ann"}, "reservation": {"name": ""}, "flags": ["BACKFILL"],
            "restart_cnt": 0, "priority": {"set": True, "infinite": False, "number": 9}, "nodes": "n[1-2]",
        },
        {
            "job_id": 8, "time": {"submission": 100, "eligible": 150, "start": 150, "end": 0, "elapsed": 0, "limit": 5},
            "state": {"current": "RUNNING"}, "user": "bob", "priority": 5, "allocation_nodes": 1, "nodes": "n3",
        },
    ]
}  # fmt: skip


def wrapped(value: float, *, infinite: bool = False, there: bool = True) -> dict[str, Any]:
    """Return a number as newer versions write it."""
    return {"set": there, "infinite": infinite, "number": value}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (7, 7), (1.5, 1.5), (0, 0), (None, None), (2**32 - 1, math.inf), (2**32 - 2, None), (2**64 - 1, math.inf),
        (2**64 - 2, None), (10**400, None), (math.inf, math.inf), (math.nan, None), (True, None), ("7", None),
        ([7], None), ({}, None),
        (wrapped(7), 7), (wrapped(0, infinite=True), math.inf), (wrapped(7, there=False), None),
        (wrapped(0, infinite=True, there=False), math.inf), ({"number": 7}, 7), ({"number": {"number": 7}}, None),
    ],
)  # fmt: skip
def test_a_number_is_bare_or_in_a_table(value: Any, found: float | None) -> None:
    """Numbers of 32 and 64 bits have two words for "infinite" and "none"; newer versions say so beside the number."""
    assert number(value) == found
    assert count(value, 3) == (int(found) if found and math.isfinite(found) else 3)


@pytest.mark.parametrize(
    ("value", "found"),
    [(4294967196, -100), (2**32 - 1, -1), (2**31, -(2**31)), (2**31 - 1, 2**31 - 1), (-100, -100), (7, 7), (None, None),
     (wrapped(-100), -100), (wrapped(7, there=False), None), ("x", None), ([], None), (10**400, None)],
)  # fmt: skip
def test_a_nice_below_0_is_read_from_both_layouts(value: Any, found: int | None) -> None:
    """22.05 writes a Nice of -100 as 4294967196, and newer versions as -100."""
    assert signed(value) == found


def test_texts_are_lists_or_have_commas() -> None:
    """A list of partitions, features or words of a state is a list, or one text; what is neither is nothing."""
    assert texts("a,b") == texts(["a", "b"]) == texts(["a", 5, "b"]) == ("a", "b")
    assert texts(5) == texts(None) == texts({}) == texts("(null)") == ()
    assert text("N/A") == text(5) == ""
    assert words("idle+drain") == words(["IDLE", "DRAIN"]) == {"IDLE", "DRAIN"}
    assert words({"x": 1}) == words(5) == frozenset()


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Give each place in a document that has a value: what it is in, and its key there."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from spots(value[key])


def mutated(document: str, draw: random.Random) -> str:
    """Return a document in which some values are gone, or others."""
    found = json.loads(document)
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        if not (there := list(spots(found))):
            break
        table, key = draw.choice(there)
        if draw.random() < 0.2:
            del table[key]
        else:
            table[key] = json.loads(draw.choice(JUNK))
    return json.dumps(found)


class Mutating(FakeSlurm):
    """A fake whose JSON is mutated."""

    draw: random.Random
    program: str

    def run(self, command: Command) -> str:
        """Answer a command."""
        said = super().run(command)
        return mutated(said, self.draw) if command == (self.program, "--json") else said


@pytest.mark.parametrize("program", ["squeue", "sinfo"])
@pytest.mark.parametrize("newer", [False, True])
def test_a_mutated_answer_is_read_or_refused_in_one_line(program: str, newer: bool) -> None:
    """Whatever stands in the place of whatever: a queue that can be planned for, or one line of what is wrong."""
    refused: list[str] = []
    for seed in range(tries(400)):
        fake = Mutating.of(
            running(1, "1-2"), running(2, "3"), Job(4, nodes=2, nice=-7),
            Job(5, tasks="0-3,7%2"), Job(6, features="fast"), newer=newer,
        )  # fmt: skip
        fake.draw, fake.program = random.Random(seed), program
        try:
            picture_of(read_queue(fake))
        except FedschedError as error:
            refused.append(str(error))
    assert 0 < len(refused) < tries(400)
    assert not [line for line in refused if "\n" in line]


def test_a_mutated_dump_is_read_or_refused_in_one_line(tmp_path: Path) -> None:
    """The same of what sacct prints."""
    refused: list[str] = []
    for seed in range(tries(400)):
        (tmp_path / "a.json").write_text(mutated(json.dumps(SACCT), random.Random(seed)), encoding="utf-8")
        try:
            read(tmp_path / "a.json")
        except FedschedError as error:
            refused.append(str(error))
    assert 0 < len(refused) < tries(400)
    assert not [line for line in refused if "\n" in line]
