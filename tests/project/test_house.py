"""The house itself: layout, lazy names, imports that go one way, and files that say what is true."""

from __future__ import annotations

import ast
import io
import re
import runpy
import subprocess
import sys
import tokenize
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fedsched

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
HEAVY = ("numba", "pandas", "matplotlib", "scipy", "numpy", "pymoo", "deap", "cyclopts", "rich")
# In pieces, so that this file does not break its own rule.
HOSTS = ["py" + "pi.org", "python" + "hosted.org", "npm" + "js.org", "debian" + ".org", "ana" + "conda.org"]
ABSOLUTE = re.compile(r"(?<![\w./~}-])/(?:work|root|home|Users|opt)/\w")


def run_python(code: str) -> str:
    """Return what the code prints in an interpreter of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.strip()


def project_files() -> list[Path]:
    """Return the text files that are tracked or about to be."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip("not a git checkout: there is no list of the project's files")
    paths = [ROOT / name for name in done.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:4096]]


def make_targets() -> set[str]:
    """Return the targets that the Makefile offers."""
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))


def normal(name: str) -> str:
    """Return a distribution's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize(
    "path",
    ["README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "SECURITY.md", "Makefile",
     "constraints.txt", ".ci/run", "fedsched/py.typed", "docs/readings/index.md"],
)  # fmt: skip
def test_what_a_reader_looks_for_is_there(path: str) -> None:
    """Tests that every file a newcomer looks for exists and is not a stub."""
    assert (ROOT / path).is_file()
    if path != "fedsched/py.typed":
        assert len((ROOT / path).read_text(encoding="utf-8")) > 200


def test_version_is_said_once() -> None:
    """Tests that package, metadata, changelog, citation and the README name the same version."""
    assert fedsched.__version__ == PROJECT["version"] == version("fedsched")
    for name, line in (("CHANGELOG.md", "## {}"), ("CITATION.cff", "\nversion: {}\n"), ("README.md", "version {}, ")):
        assert line.format(fedsched.__version__) in (ROOT / name).read_text(encoding="utf-8")


def test_the_readme_is_short() -> None:
    """Tests that the README has at most 120 lines."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_import_is_light() -> None:
    """Tests that `import fedsched` loads none of the heavy libraries, numpy included."""
    loaded = run_python("import fedsched, sys; print(*sorted(sys.modules))").split()
    assert "fedsched" in loaded
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)


def test_import_starts_little_of_the_standard_library() -> None:
    """Tests that `import fedsched` stays far below 0.2 s by loading only a handful of modules."""
    fresh = "import sys; before = set(sys.modules); import fedsched; print(len(set(sys.modules) - before))"
    assert int(run_python(fresh)) < 60


def test_public_names_are_all_there() -> None:
    """Tests that every name in __all__ can be had, and that dir() lists it."""
    for name in fedsched.__all__:
        assert getattr(fedsched, name) is not None
    assert set(fedsched.__all__) <= set(dir(fedsched))


def test_type_checkers_see_what_users_get() -> None:
    """Tests that the names imported for type checkers are those of the lazy table, from the same modules."""
    tree = ast.parse((ROOT / "fedsched/__init__.py").read_text(encoding="utf-8"))
    guarded = next(n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    seen = {}
    for node in guarded.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            home = (node.module or "").removeprefix("fedsched").lstrip(".")
            seen[alias.asname or alias.name] = home or None
    assert seen == fedsched._HOME
    assert {*seen, "__version__"} == set(fedsched.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    """Tests that a name the package does not have fails as in any module."""
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = fedsched.simulat


@pytest.mark.parametrize("first", ["import fedsched.simulate", "from fedsched.simulate import Rules", "fs.simulate"])
def test_a_verb_stays_a_function(first: str) -> None:
    """Tests that `fs.simulate` is the function whether or not its module was imported before."""
    assert run_python(f"import fedsched as fs\n{first}\nprint(type(fs.simulate).__name__)") == "function"


def test_no_registry_and_no_path_of_a_machine() -> None:
    """Tests that no file of the project names a package registry's host or a path of somebody's machine."""
    found = []
    for path in project_files():
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{path.name}: {host}" for host in HOSTS if host in text]
        found += [f"{path.name}: {match[0]}" for match in ABSOLUTE.finditer(text)]
    assert not found


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_documented_make_targets_exist(document: str) -> None:
    """Tests that every `make …` that a document mentions is a target of the Makefile."""
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / document).read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert {"demo", "test"} <= named or document != "README.md"
    assert named
    assert named <= make_targets()


def test_what_the_makefile_names_is_there() -> None:
    """Tests that each file, folder and pattern by which the Makefile chooses what runs matches something."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    named = [word for line in re.findall(r"^[A-Z]+ = (.*)$", text, flags=re.MULTILINE) for word in line.split()]
    paths = [path for word in named if "/" in (path := word.removeprefix("$(wildcard").strip("()"))]
    assert {"tests/engine", "benchmarks/bench_*.py"} <= set(paths)
    assert [path for path in paths if not any(ROOT.glob(path.partition("::")[0]))] == []
    for file, test in (path.split("::") for path in paths if "::" in path):
        assert f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8")


def test_everything_compiled_is_tested_uncompiled_and_with_bounds_checked() -> None:
    """Tests that `make nojit` and `make boundscheck` run the tests of each room that holds kernels."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    [kernels] = re.findall(r"^KERNELS = (.*)$", text, flags=re.MULTILINE)
    modules = runpy.run_path(str(ROOT / "tools/coverage_settings.py"))["modules"]()
    within = {Path(path).relative_to("fedsched").with_suffix("").parts for path in modules}
    named = [Path(word) for word in kernels.split()]
    there = {Path("tests", *parts[:-1], f"test_{parts[-1]}.py") for parts in within}
    there = {path for path in there if (ROOT / path).is_file()}
    assert {"engine", "core"} <= {path.parts[1] for path in there}
    assert [path for path in there if not any(path.is_relative_to(one) for one in named)] == []
    assert {parts[0] for parts in within} - {"core", "model"} <= {path.parts[1] for path in named}
    for pass_ in ("nojit", "boundscheck"):
        assert re.search(rf"^{pass_}:.*\n\t.*\$\(KERNELS\) ", text, flags=re.MULTILINE)


def test_ci_runs_targets_that_exist() -> None:
    """Tests that the gate calls `make test` first, then its rest, and only targets of the Makefile."""
    called = re.findall(r"\bmake ([a-z-]+)", (ROOT / ".ci/run").read_text(encoding="utf-8"))
    assert called[:2] == ["test", "test-deep"]
    assert set(called) <= make_targets()


def test_constraints_cover_the_dependencies() -> None:
    """Tests that every dependency of the library and its extras is pinned, at or above its lower bound."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9.-]+==[\w.+!]+", line) for line in lines)
    pins = dict(line.split("==") for line in lines)
    wanted = [*PROJECT["dependencies"], *(d for extra in PROJECT["optional-dependencies"].values() for d in extra)]
    for requirement in wanted:
        if requirement.startswith("fedsched["):
            continue  # other extras, each of whose dependencies is here itself
        match = re.fullmatch(r"([\w.-]+)(?:\[\w+\])?>=([\d.]+)(?:; sys_platform == '\w+')?", requirement)
        assert match, f"{requirement}: a dependency has a lower bound, where need be a platform, and nothing else"
        pinned, lowest = pins[normal(match[1])], match[2]
        assert [int(p) for p in pinned.split(".")[:3]] >= [int(p) for p in lowest.split(".")]


def kernels_of(tree: ast.Module) -> list[ast.FunctionDef]:
    """Return the functions of a module that are compiled."""
    ways = {"kernel", "part", "inlined"}
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [f for f in functions if ways & {d.id for d in f.decorator_list if isinstance(d, ast.Name)}]


def literals(tree: ast.Module, kernels: set[str]) -> Iterator[str]:
    """Return the calls by which the kernels of a module hand plain numbers or truth values to kernels."""
    for call in (node for kernel in kernels_of(tree) for node in ast.walk(kernel) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func).rpartition(".")[2]
        if name in kernels and not ast.unparse(call.func).startswith("np."):
            values = [arg.operand if isinstance(arg, ast.UnaryOp) else arg for arg in call.args]
            if any(isinstance(value, ast.Constant) for value in values):
                yield ast.unparse(call)


@pytest.mark.deep
def test_no_kernel_hands_another_a_literal() -> None:
    """Tests that kernels call each other with constants of one type: a literal makes the compiler compile once more."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "fedsched").rglob("*.py")]
    kernels = {function.name for tree in trees for function in kernels_of(tree)}
    assert len(kernels) > 150
    assert [call for tree in trees for call in literals(tree, kernels)] == []
    wrong = ast.parse("@part\ndef a(x):\n    return b(x, -1) + b(x, x) + b(x, True)\n")
    assert sorted(literals(wrong, {"b"})) == ["b(x, -1)", "b(x, True)"]


def test_library_never_prints() -> None:
    """Tests that nothing but the command line and the kernels' comments calls print."""
    for path in sorted((ROOT / "fedsched").rglob("*.py")):
        if "cli" in path.relative_to(ROOT / "fedsched").parts[0]:
            continue
        calls = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
        assert not [n for n in calls if isinstance(n.func, ast.Name) and n.func.id == "print"], path


RUNS_WHAT_IT_READS = {
    "pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml", "jsonpickle",
    "torch", "runpy", "code", "codeop", "imp",
}  # fmt: skip


def opened(tree: ast.AST) -> Iterator[str]:
    """Return what of a module could run what it reads, by its text."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found = {name.name.partition(".")[0] for name in names} & RUNS_WHAT_IT_READS
                yield from sorted(f"import {name}" for name in found)
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in RUNS_WHAT_IT_READS:
                yield f"from {module}"
            case ast.Call(func=ast.Name(id="eval" | "exec" | "compile" | "__import__" as name)):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id="pickle"), attr="loads" | "load" | "Unpickler")):
                yield ast.unparse(node)
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=False)):
                pass
            case ast.keyword(arg="allow_pickle"):
                yield "allow_pickle"
            case ast.Call(func=ast.Attribute(attr="load" | "fromfile", value=ast.Name(id="np" | "numpy"))):
                yield "np.load"


def test_nothing_that_is_opened_is_run() -> None:
    """Tests that no module can run what it reads, but compiled code from the user's own cache."""
    found = {}
    for path in sorted((ROOT / "fedsched").rglob("*.py")):
        ways = sorted(opened(ast.parse(path.read_text(encoding="utf-8"))))
        if ways:
            found[path.relative_to(ROOT).as_posix()] = ways
    assert found == {
        "fedsched/core/executors.py": ["import pickle"],  # looks at what would be sent, and opens nothing
        # Compiled code, from folders in which only this user or root can write; types that this process has pickled.
        "fedsched/core/jit/cache.py": ["import pickle", "pickle.loads(kept[_DIGEST:])"],
        "fedsched/core/jit/lean.py": ["compile", "exec"],  # a function of the same arguments
        "fedsched/core/jit/parts.py": ["import pickle", "pickle.loads(pickled)"],
        "fedsched/core/jit/unboxing.py": ["import pickle", "pickle.loads(pickled)"],
        "fedsched/search/methods/islands.py": ["import pickle", "pickle.loads(pickle.dumps(error))"],
    }


@pytest.mark.parametrize(
    "code",
    ["import pickle", "from yaml import load", "import numpy as np\nnp.load(path, allow_pickle=True)", "eval(text)",
     "np.load(path)", "import dill as d", "exec(compile(text, '', 'exec'))", "from pickle import loads"],
)  # fmt: skip
def test_the_rule_sees_what_runs(code: str) -> None:
    """Tests that the ways by which a file could be run are seen."""
    assert any(opened(ast.parse(code)))


def test_every_engine_module_has_tests_of_its_name() -> None:
    """Tests that what fails in an engine module fails in the test file of the same place and name."""
    engine = ROOT / "fedsched/engine"
    modules = {path.relative_to(engine) for path in engine.rglob("*.py")}
    beside = {"sharing", "shared_nodes"}  # tested against a reference as a whole: tests/engine/sharing
    modules = {path for path in modules if not beside & {*path.parts} and path.stem != "__init__"}
    tests = {path.relative_to(ROOT / "tests/engine") for path in (ROOT / "tests/engine").rglob("test_*.py")}
    assert modules - {path.with_name(path.name.removeprefix("test_")) for path in tests} == set()


def test_the_contract_of_the_model_names_each_of_its_modules() -> None:
    """Tests that a new module of the model has to be given its place among the layers."""
    contracts = {one["id"]: one for one in SETTINGS["tool"]["importlinter"]["contracts"]}
    layers = contracts["inside-the-model"]["layers"]
    folder = ROOT / "fedsched/model"
    files = [path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py") if path.stem != "__init__"]
    assert sorted(re.findall(r"[\w.]+", " ".join(layers))) == sorted(".".join(file.parts) for file in files)


@pytest.mark.needs("importlinter")
def test_imports_go_one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the import contract of pyproject.toml holds."""
    from importlinter.cli import lint_imports

    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True, is_debug_mode=False, show_timings=False, verbose=False) == 0


def test_no_imports_go_in_a_circle() -> None:
    """Tests that no modules import each other, inside functions either; convenience methods of nouns are excepted."""
    files = {path.relative_to(ROOT).with_suffix("") for path in (ROOT / "fedsched").rglob("*.py")}
    named = {".".join(file.parts).removesuffix(".__init__"): file.with_suffix(".py") for file in files}
    imports = {name: _imported(ROOT / file) & named.keys() - {name} for name, file in named.items()}
    left = {name: those for name, those in imports.items() if not name.endswith(".convenience")}
    while free := [name for name, those in left.items() if not those & left.keys()]:
        for name in free:
            del left[name]
    assert sorted(left) == []


def _imported(path: Path) -> set[str]:
    """Return what a module imports when it runs: modules, and names that may be modules."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    unseen = {id(part) for node in checks for part in ast.walk(node)}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in unseen:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in names if _is_module(name)} or {str(node.module)}
        elif isinstance(node, ast.Import) and id(node) not in unseen:
            found |= {alias.name for alias in node.names}
    return found


def _is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


# Jobs, nodes and limits are "it". What the next rebuilding of the loops rewrites is left out until then.
PERSONAL = re.compile(
    r"\b(who|whom|whose|whoever|he|his|him|himself|(no|some|any|every)body|someone|everyone)\b", re.IGNORECASE
)
REBUILT = ("slurm/loop",)
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef
EXCEPTED = "With `everybody`, jobs that may leave"  # the name of a parameter


def test_jobs_are_no_persons() -> None:
    """Tests that docstrings and comments of the library use no personal pronouns, by line excepted."""
    found = []
    for path in sorted((ROOT / "fedsched").rglob("*.py")):
        place = path.relative_to(ROOT / "fedsched").as_posix()
        text = path.read_text(encoding="utf-8")
        if place.startswith(REBUILT) or not PERSONAL.search(text):
            continue
        nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED))
        said = [line for node in nodes for line in (ast.get_docstring(node) or "").splitlines()]
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        said += [token.string for token in tokens if token.type == tokenize.COMMENT]
        found += [f"{place}: {line.strip()}" for line in said if PERSONAL.search(line)]
    assert [line for line in found if EXCEPTED not in line] == []
