"""The example files that the package carries."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fedsched.errors import FederationError, unknown_name
from fedsched.io.files import STDIN

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.model.federation import Federation

_SUFFIXES = {"federation": (".toml",), "workload": (".swf.gz", ".csv")}
_FOLDERS = {"federation": "federations", "workload": "workloads"}


def example_names(kind: Literal["federation", "workload"]) -> dict[str, Path]:
    """Return the examples of that kind: name to file."""
    folder = Path(str(files("fedsched"))) / "data" / _FOLDERS[kind]
    return {
        path.name.removesuffix(suffix): path
        for path in sorted(folder.iterdir())
        for suffix in _SUFFIXES[kind]
        if path.name.endswith(suffix)
    }


def example_file(kind: Literal["federation", "workload"], name: str) -> Path:
    """Return the file of the example with that name."""
    known = example_names(kind)
    if name not in known:
        raise unknown_name(f"example {kind}", name, known)
    return known[name]


def slurm_files() -> dict[str, Path]:
    """Return the files of the cluster of Slurm's that ships, by name."""
    folder = Path(str(files("fedsched"))) / "data" / "slurm"
    return {path.name: path for path in sorted(folder.iterdir())}


def queue_folder(name: str) -> Path:
    """Return the folder of a queue that ships."""
    return Path(str(files("fedsched"))) / "data" / "queues" / name


def names_shipped(name: str | PathLike[str], folder: Path = Path()) -> bool:
    """Return whether this is the name of a shipped log, not that of a file, seen from this folder."""
    path = Path(name)
    return str(name) != STDIN and path.name == str(name) and not path.suffix and not (folder / path).exists()


def federation_file(path: str | PathLike[str], kind: str | None = None) -> Federation:
    """Return the federation in a file; where there is none, the error names the shipped ones."""
    from fedsched.io import read_federation

    if str(path) != STDIN and not Path(path).exists():
        names = ", ".join(example_names("federation"))
        raise FederationError(f"{path}: there is no such file; check the path, or name a shipped federation: {names}.")
    return read_federation(path, kind)


def names_federation_file(name: str) -> bool:
    """Return whether this is a federation's file, not the name of a shipped one."""
    from fedsched.io import FEDERATION_FORMATS, plain_suffix

    return plain_suffix(name) in FEDERATION_FORMATS or Path(name).exists()
