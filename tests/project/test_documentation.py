"""The documentation's code runs as printed, prints what the page says it prints, and names what there is."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import outside

import fedsched as fs
from fedsched import cli, policies
from fedsched.bounds.lower import small_problems
from fedsched.cli.app import arguments_of, build_app
from fedsched.cli.commands import COMMANDS
from fedsched.model.schedule.metrics import METRICS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
EVERY_PAGE = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
# A block of Python or of commands, and the block of text that directly follows it, if one does: what it prints.
BLOCK = re.compile(
    r"```(?:python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?|sh\n(.*?)```\n(?:\n```text\n(.*?)```\n)?)", flags=re.DOTALL
)
FILE = re.compile(r"# (\w+)\.py\n")  # the first line of a block that is a file of the reader's
# Seconds are the reader's to spend, and so are long runs; what is printed must run, not last.
SHORTER = (("seconds=10", "seconds=0.2"),)
SHORTER_COMMANDS = {"--seconds": "0.2", "--evaluations": "200", "--seeds": "2"}
# What a command needs that a clone does not have: archive logs, or somebody's own files.
NOT_OURS = {"KTH-SP2.swf.gz"}
DEEP = "<!-- deep -->"  # on a page that needs another package or compares methods for long


def blocks_of(page: Path) -> list[tuple[str, str, str, str]]:
    """Return a page's blocks: Python, what it prints, commands, what they print; each empty if a block is another."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands_in(block: str) -> list[list[str]]:
    """Return the words of every `fedsched` command of a block, without the program's name."""
    lines = block.replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("fedsched ")]


def missing_in(out: str, shown: str) -> list[str]:
    """Return the lines that a page shows of a command's output and that are not there.

    A page may leave out lines, and columns of a line; what it shows is there in this order.
    """
    lines, missing = iter(out.splitlines()), []
    for line in shown.splitlines():
        wanted = line.replace("─", " ").split()
        if wanted and not any(all(word in words for word in wanted) for words in map(iter, map(str.split, lines))):
            missing.append(line)
    return missing


def mentioned_in(page: Path) -> list[tuple[str, str]]:
    """Return every command that a page mentions with options, in a block or in prose, and each of its options."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = "\n".join(re.findall(r"^```.*?^```", text, flags=re.DOTALL | re.MULTILINE))
    spans = re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    named = re.compile(rf"^(?:fedsched )?({'|'.join(COMMANDS)}) (.*)")
    found = [named.match(line) for line in [*blocks.splitlines(), *(" ".join(span.split()) for span in spans)]]
    return [(match[1], option) for match in found if match for option in re.findall(r"--[\w-]+", match[2])]


def name_of(page: Path) -> str:
    """Return a page's path in the project."""
    return page.relative_to(ROOT).as_posix()


def each_with_code() -> list[Any]:
    """Return the pages that show code, those that take long in the deep tests."""
    pages = {name_of(page): page for page in EVERY_PAGE if blocks_of(page)}
    deep = {name for name, page in pages.items() if DEEP in page.read_text(encoding="utf-8")}
    return [pytest.param(pages[name], id=name, marks=[pytest.mark.deep] * (name in deep)) for name in pages]


@pytest.fixture
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in an empty folder, as whoever has the wheel and no clone does, and from which programs import."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def test_the_pages_that_show_code_are_known() -> None:
    """Tests that the pages below are there: a search for blocks that finds none would test nothing."""
    found = {name_of(page): blocks_of(page) for page in EVERY_PAGE}
    for name in ("README.md", "docs/explanation/searches.md", "docs/tutorials/a-log-and-its-questions.md"):
        assert any(code for code, *_ in found[name])
    for name, least in (("README.md", 5), ("docs/explanation/gang.md", 3), ("docs/how-to/export.md", 2)):
        assert sum(len(commands_in(block)) for _, _, block, _ in found[name]) >= least


def test_a_line_that_a_command_does_not_print_is_found() -> None:
    """Tests that shown output may leave out lines and columns, and may neither change nor move any."""
    out = "first 1 2\n----\nsecond 3 4\nthird 5\n"
    for shown, missing in (("first 2\n──\nthird 5", []), ("second 4 3", ["second 4 3"]), ("second\nfirst", ["first"])):
        assert missing_in(out, shown) == missing


@pytest.mark.compiled
@pytest.mark.usefixtures("in_an_empty_folder")
@pytest.mark.parametrize("page", each_with_code())
def test_a_pages_code_runs_as_printed(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that every block of a page runs as typed, one after the other, in a folder that holds nothing before.

    What the Python prints is what the page says, and what an installation without extras proves. A block that begins
    with the name of a file is saved under it too, and later blocks import it.
    """
    monkeypatch.setattr(small_problems, "find_spec", lambda name: None)
    names: dict[str, object] = {}
    for code, printed, commands, shown in blocks_of(page):
        for long, short in SHORTER:
            code = code.replace(long, short)
        if file := FILE.match(code):
            Path(f"{file[1]}.py").write_text(code, encoding="utf-8")
            sys.modules.pop(file[1], None)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, str(page), "exec"), names)
        if printed:
            assert out.getvalue().rstrip() == printed.rstrip()
        capsys.readouterr()
        in_full = True
        for words in commands_in(commands):
            if NOT_OURS & set(words):
                in_full = False
                continue
            for option, value in SHORTER_COMMANDS.items():
                if option in words:
                    words[words.index(option) + 1], in_full = value, False
            assert cli.run(words) == 0, (words, capsys.readouterr().err)
        if shown and in_full:
            out = capsys.readouterr().out
            assert not missing_in(out, shown), out


def test_a_release_tries_the_readmes_first_program() -> None:
    """Tests that what the wheel is tried with is the first block of Python that README shows, as it stands there."""
    tool = outside.program("tools/release.py")
    first = next(code for code, *_ in blocks_of(ROOT / "README.md") if code)
    assert tool.first_program() == first
    assert "fs.read(" in first


def test_commands_have_the_options_that_pages_give_them() -> None:
    """Tests that each option that a page writes behind a command is one of that command."""
    app = build_app()
    options = {
        command: {name for argument in arguments_of(app, command) for name in argument.names}
        for command in COMMANDS
    }
    mentioned = [(name_of(page), *pair) for page in EVERY_PAGE for pair in mentioned_in(page)]
    everywhere = {"--config", "--debug", "--help", "--help-all"}
    assert not [one for one in mentioned if one[2] not in options[one[1]] | everywhere]
    assert ("docs/reference/formats.md", "fetch", "--out") in mentioned
    assert ("docs/reference/formats.md", "convert", "--federation") in mentioned


def test_links_lead_to_files() -> None:
    """Tests that every relative link of a page leads to a file, as it must where the pages are read unbuilt."""
    for page in EVERY_PAGE:
        prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose):
            if "://" not in target:
                assert (page.parent / target).exists(), (name_of(page), target)


def test_each_reading_has_an_anchor_and_a_line_in_the_list() -> None:
    """Tests that a reading's number leads to one place, that the list names it, and that code cites no other number."""
    folder = DOCS / "readings"
    pages = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    anchor = re.compile(r"^\(reading-(\d+)\)=\n### Reading (\d+)$", flags=re.MULTILINE)
    found = [(name, *pair) for name, text in pages.items() for pair in anchor.findall(text)]
    numbers = {number: name for name, number, _ in found}
    assert len(numbers) == len(found) > 60
    assert all(number == heading for _, number, heading in found)
    listed = re.findall(r"^\| \[(\d+)\]\(([\w-]+\.md)#reading-(\d+)\) \|", pages["index.md"], flags=re.MULTILINE)
    assert sorted(listed) == sorted((number, name, number) for number, name in numbers.items())
    for page in EVERY_PAGE:
        text = page.read_text(encoding="utf-8")
        for target, number in re.findall(r"\]\(([^)#\s]*)#reading-(\d+)\)", text):
            assert Path(target or page.name).name == numbers[number], (name_of(page), number)
    for path in (ROOT / "fedsched").rglob("*.py"):
        for cited in re.findall(r"\breadings? (\d+)", path.read_text(encoding="utf-8")):
            assert cited in numbers, (name_of(path), cited)


def test_the_reference_names_everything_public() -> None:
    """Tests that each public name, and each policy's part with its meaning, has its place in the reference."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md")}
    every = "\n".join(pages.values())
    of_package = {"io": "files", "model": "nouns", "site": "verbs", "slurm": "policies"}
    for name in fs.__all__:
        if isinstance(getattr(fs, name), ModuleType):
            assert of_package.get(name, name) in pages
        elif name != "__version__":
            assert f":: fedsched.{name}\n" in every
    for module in (fs.bounds, fs.gang, fs.generate, fs.io, fs.market, fs.model, fs.search):
        for name in module.__all__:
            assert f"{module.__name__}.{name}" in every or f":: fedsched.{name}\n" in every
    for table in (policies.ORDERS, policies.DISPATCH, policies.list_heuristics.HEURISTICS, policies.PLACEMENTS):
        for name, meaning in table.items():
            assert f"| `{name}` | {meaning} |" in pages["policies"]


def test_what_is_to_be_cited_is_there() -> None:
    """Tests that the BibTeX says what CITATION.cff says, and that each name with a paper is one of the package's."""
    from fedsched.comparison import Comparison
    from fedsched.comparison.statistics import Pair
    from fedsched.policies.list_heuristics import HEURISTICS

    page = (DOCS / "reference/citing.md").read_text(encoding="utf-8")
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for field, key in (("author ", "  - name"), ("title  ", "title"), ("version", "version"), ("license", "license")):
        value = re.search(rf"^{key}: (.*)$", cff, flags=re.MULTILINE)[1]
        assert re.search(rf"^  {field} = {{+{re.escape(value)}}}+,?$", page, flags=re.MULTILINE), key
    assert f"version = {{{fs.__version__}}}" in page
    known = {*policies.POLICIES, *policies.ORDERS, *HEURISTICS, *fs.search.METHODS, *fs.search.__all__}
    known |= {*fs.generate.__all__, "tsafrir", *(f"fedsched {name}" for name in COMMANDS)}
    known |= {*dir(Comparison), *Pair.__dataclass_fields__}
    first = (line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    named = re.findall(r"`([^`]+)`", " ".join(first))
    assert len(named) > 25
    assert not {*named} - known


SUBJECTS = (
    "bench", "bounds", "compare", "engine.sharing", "errors", "executors", "gang", "gang.presets", "generate", "gym",
    "io", "io.fetch", "io.recorded_nodes", "market", "model", "optimize", "policies", "report", "search", "simulate",
    "site.outlook", "site.steer", "site.tuning", "site.twin", "slurm", "study",
)  # fmt: skip


def test_the_reference_imports_from_named_packages() -> None:
    """Tests that what the reference describes comes from `fedsched` or a subject's package, whose `dir` has it."""
    found = set()
    for page in (DOCS / "reference").glob("*.md"):
        found |= set(re.findall(r"^\.\. auto\w+:: fedsched\.(\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert {"simulate", "search.MethodInfo", "model.Metrics"} <= found
    for path in sorted(found):
        home, _, name = path.rpartition(".")
        assert home in ("", *SUBJECTS) or home.startswith("plot."), path
        module = import_module(f"fedsched.{home}" if home else "fedsched")
        assert name in dir(module), path


def test_the_model_names_every_metric() -> None:
    """Tests that the page on the model has a row for each metric, with its unit."""
    model = (DOCS / "explanation" / "model.md").read_text(encoding="utf-8")
    for metric in METRICS:
        assert re.search(rf"^\| `{metric.name}` \| {re.escape(metric.unit or '1')} \|", model, flags=re.MULTILINE)
